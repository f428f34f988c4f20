"""A microscopy volume and its cell labels as OME-Zarr image pyramids, which viewers open at any zoom.

Intensities are averaged from level to level. A label names a cell: the pyramid of labels takes the most frequent
one, because the average of cell 3 and cell 9 is not cell 6.

Needs:  cenote, NumPy, zarr (python -m pip install '.[files]')
Run:    python examples/microscopy_pyramid.py [--out FOLDER]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from cenote.cli import main as cenote

PIXEL = (2.0, 0.65, 0.65)  # micrometers on z, y, x: a microscope resolves depth less well
Array = np.ndarray[Any, np.dtype[Any]]


def make_cells(shape: tuple[int, int, int], number: int, seed: int = 0) -> tuple[Array, Array]:
    """Round cells of different brightness in noise, and which cell each voxel belongs to (0: none)."""
    rng = np.random.default_rng(seed)
    z, y, x = (size * np.arange(n, dtype=np.float32) for n, size in zip(shape, PIXEL, strict=True))
    labels = np.zeros(shape, np.uint16)
    light = np.full(shape, 100.0, np.float32)
    for cell in range(1, number + 1):
        centre = rng.uniform(0, (z[-1], y[-1], x[-1]))
        radius, brightness = rng.uniform(6, 12), rng.uniform(300, 900)
        parts = [np.abs(axis - c) <= radius for axis, c in zip((z, y, x), centre, strict=True)]
        box = np.ix_(*parts)
        squares = [(axis[part] - c) ** 2 for axis, part, c in zip((z, y, x), parts, centre, strict=True)]
        distance = squares[0][:, None, None] + squares[1][:, None] + squares[2]
        inside = distance <= radius**2
        labels[box] = np.where(inside, cell, labels[box])
        light[box] += np.where(inside, brightness * (1 - distance / radius**2 / 2), 0)
    return rng.poisson(light).astype(np.uint16), labels


def pyramid(source: Path, out: Path, op: str) -> None:
    """z is twice as coarse as y and x, so the first steps could leave it out; here all axes are halved alike."""
    pixel = ",".join(map(str, PIXEL))
    code = cenote(
        ["pyramid", str(source), str(out), "--op", op, "--axes", "zyx", "--pixel-size", pixel, "--unit", "micrometer",
         "--levels", "4", "--quiet", "--overwrite"]
    )  # fmt: skip
    if code != 0:
        sys.exit(code)


def describe(out: Path) -> list[str]:
    """The levels of a pyramid, as its metadata says: shape, size of a voxel, centre of the first one."""
    group = zarr.open_group(out, mode="r")
    attributes: Any = group.attrs["ome"]
    lines = []
    for dataset in attributes["multiscales"][0]["datasets"]:
        array: Any = group[dataset["path"]]
        scale, translation = (list(step.values())[1] for step in dataset["coordinateTransformations"])
        shape = "×".join(map(str, array.shape))
        lines.append(f"  level {dataset['path']}: {shape:>12}, voxels of {scale} µm, the first at {translation}")
    return lines


def run(folder: Path, shape: tuple[int, int, int] = (64, 256, 256), cells: int = 40) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    volume, labels = make_cells(shape, cells)
    for name, data, op in (("cells", volume, "avg"), ("labels", labels, "mode")):
        source = folder / f"{name}-raw.zarr"
        zarr.create_array(source, data=data, chunks=(32, 64, 64), overwrite=True)
        pyramid(source, folder / f"{name}.zarr", op)
        print(f"{folder / f'{name}.zarr'}, by {op}:", *describe(folder / f"{name}.zarr"), sep="\n")
    coarsest: Any = zarr.open_group(folder / "labels.zarr", mode="r")["3"]
    seen = np.unique(coarsest[...])
    print(f"{len(seen) - 1} of {cells} cells are still there at level 3, none that was not there before:", end=" ")
    print(bool(np.isin(seen, labels).all()))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="where the pyramids go (default: a folder that is removed at the end)")
    out = parser.parse_args().out
    if out is not None:
        run(out)
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))


if __name__ == "__main__":
    main()
