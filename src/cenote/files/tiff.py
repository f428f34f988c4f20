"""TIFF through tifffile: uncompressed files through a memory map, others in memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..dtypes import is_bool, is_complex
from .base import FileError, Layout, needs
from .numpy_files import ArraySource, ArrayTarget, reserve


@contextmanager
def nothing_missing(path: Path) -> Iterator[None]:
    """tifffile logs what it finds wrong, and leaves out pages that a truncated file does not have."""
    found: list[str] = []

    def note(record: logging.LogRecord) -> bool:
        found.append(record.getMessage())
        return False

    logger = logging.getLogger("tifffile")
    logger.addFilter(note)
    try:
        yield
    finally:
        logger.removeFilter(note)
    if any("invalid page offset" in text for text in found):
        raise FileError(f"{path} cannot be read: it is truncated, pages are missing")


def open_source(path: Path, name: str | None) -> ArraySource:
    tifffile = needs("tifffile", "tifffile", "files")
    with nothing_missing(path), tifffile.TiffFile(path) as file:
        if not file.series:
            raise FileError(f"{path} has no image")
        if len(file.series) > 1:
            shapes = ", ".join(str(series.shape) for series in file.series[:4])
            raise FileError(f"{path} has {len(file.series)} images of different shapes, {shapes}: one is needed")
        series = file.series[0]
        axes: str = series.axes
        if series.dataoffset is not None and series.keyframe.is_final:
            array: Array = tifffile.memmap(path, mode="r")
            array, how = array.reshape(series.shape), "memory-mapped"
        else:
            array, how = series.asarray(), "in memory"
    source = ArraySource(array, f"TIFF, axes {axes}, {how}")
    source.dims = tuple(axes.lower()) if len(set(axes)) == array.ndim else None
    if axes.endswith("YXS"):
        source.picture = (array.ndim - 3, array.ndim - 2)
    elif axes.endswith("YX"):
        source.picture = (array.ndim - 2, array.ndim - 1)
    return source


def create_target(path: Path, name: str | None, layout: Layout) -> ArrayTarget:
    tifffile = needs("tifffile", "tifffile", "files")
    if is_complex(layout.dtype) or layout.dtype.name == "bfloat16":
        raise FileError(f"a TIFF holds integers and floats, the result is {layout.dtype}: write a .npy file")
    if not layout.shape or 0 in layout.shape:
        raise FileError(f"a TIFF has at least one pixel, the result has shape {layout.shape}")
    dims = layout.dims or ()
    if dims[-3:] == ("y", "x", "c") and layout.shape[-1] in (3, 4):  # colours, as PNG and JPEG have them
        dims = (*dims[:-1], "s")
    colours = dims[-1:] == ("s",) and layout.shape[-1] in (3, 4)
    axes = "".join(dims).upper() if dims and all(len(d) == 1 for d in dims) else None
    options: dict[str, Any] = {
        "metadata": {"axes": axes} if axes else {},  # with the shape, which pages alone do not tell
        "bigtiff": layout.dtype.itemsize * int(np.prod(layout.shape, dtype=object)) > 2**31,
    }
    if len(layout.shape) > 1:  # tifffile takes no photometric interpretation of a vector
        options["photometric"] = "rgb" if colours and not is_bool(layout.dtype) else "minisblack"
    if is_bool(layout.dtype):  # eight pixels in a byte, which cannot be mapped
        return ArrayTarget(np.empty(layout.shape, bool), lambda a: tifffile.imwrite(path, a, **options))
    array = tifffile.memmap(path, shape=layout.shape, dtype=layout.dtype, **options)
    reserve(path)
    return ArrayTarget(array, lambda a: a.flush())
