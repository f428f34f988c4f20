"""OME-Zarr's metadata (NGFF 0.4 and 0.5): axes, scales and translations of the levels of a pyramid."""

from __future__ import annotations

from typing import Any

from .base import FileError, Source

TYPES = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
BY_RANK = {2: "yx", 3: "zyx", 4: "czyx", 5: "tczyx"}
SMALL = 256  # elements: the last level of a pyramid is no longer than this on its pooled axes


def axes_of(source: Source) -> str:
    """The names of the axes of a file: its own if it has usable ones, by the rank otherwise."""
    if source.dims is not None:
        names = "".join("c" if name == "s" else name for name in source.dims)
        usable = len(names) == len(source.shape) == len(set(names)) and set(names) <= set("tczyx")
        if usable and {"y", "x"} <= set(names):
            return names
    rank = len(source.shape)
    if rank not in BY_RANK:
        raise FileError(f"a pyramid has 2 to 5 axes, the input has {rank}: its shape is {source.shape}")
    return BY_RANK[rank]


def default_levels(shape: tuple[int, ...], window: tuple[int, ...]) -> int:
    """Until every pooled axis is small."""
    levels = 1
    while any(k > 1 and n > SMALL for n, k in zip(shape, window, strict=True)):
        shape = tuple(-(-n // k) for n, k in zip(shape, window, strict=True))
        levels += 1
    return levels


def image_attributes(
    version: str,
    axes: str,
    pixel: tuple[float, ...],
    window: tuple[int, ...],
    levels: int,
    unit: str | None,
    op: str,
    name: str,
) -> dict[str, Any]:
    """The attributes of the group that holds the levels.

    The centre of a pixel of level N lies (pixel_N − pixel_0)/2 behind that of the first pixel of level 0.
    """
    datasets = []
    for level in range(levels):
        scale = [p * k**level for p, k in zip(pixel, window, strict=True)]
        shift = [(s - p) / 2 for s, p in zip(scale, pixel, strict=True)]
        transformations = [{"type": "scale", "scale": scale}, {"type": "translation", "translation": shift}]
        datasets.append({"path": str(level), "coordinateTransformations": transformations})
    described = [{"name": a, "type": TYPES[a]} | ({"unit": unit} if unit and TYPES[a] == "space" else {}) for a in axes]
    multiscale = {"name": name, "axes": described, "datasets": datasets, "type": op}
    if version == "0.4":
        return {"multiscales": [{"version": "0.4", **multiscale}]}
    return {"ome": {"version": version, "multiscales": [multiscale]}}
