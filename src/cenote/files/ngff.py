"""OME-Zarr's metadata (NGFF 0.4 and 0.5): axes, scales and translations of the levels of a pyramid."""

from __future__ import annotations

from typing import Any

from .base import FileError, Source

TYPES = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
SMALL = 256  # elements: the last level of a pyramid is no longer than this on its pooled axes


def axes_of(source: Source) -> str:
    """The names of the axes of a file: its own, and by the rank where it has none. An axis without a usable name is c
    if it is the last one and follows y and x, which are colours. Another one is z, one before it c, and one before
    that t, as far as those are free: a stack of colour pictures is zyxc."""
    rank = len(source.shape)
    if not 2 <= rank <= 5:
        raise FileError(f"a pyramid has 2 to 5 axes, the input has {rank}: its shape is {source.shape}")
    dims = getattr(source, "names", None) or source.dims or ("",) * rank
    names = ["c" if name == "s" else name if name in TYPES else "" for name in dims]
    if source.dims is None and source.picture is not None:
        rows, columns = source.picture
        names[rows], names[columns] = "y", "x"
        names[columns + 1 :] = ["c"] * (rank - columns - 1)
    if not names[-1] and {"y", "x"} <= set(names):
        names[-1] = "c"
    named = [name for name in names if name]
    if named.count("c") > 1 and {"y", "x"} <= set(named):
        free = [name for name in "tz" if name not in named]
        kept = [name if name != "c" or i == rank - 1 else "" for i, name in enumerate(names)]
        advice = "".join(name or free.pop() for name in kept)
        given = ", ".join(map(str, dims))
        raise FileError(f"the input has channels and colours, {given}, and a pyramid one axis c: write --axes {advice}")
    if len(set(named)) < len(named) or not {"y", "x"} <= set(named):
        return "tczyx"[-rank:]
    free = [name for name in "tcz" if name not in named][len(named) - rank :]
    return "".join(name or free.pop(0) for name in names)


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
