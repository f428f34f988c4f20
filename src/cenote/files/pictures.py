"""PNG, and JPEG for reading, through Pillow. Rows and columns are the first two axes, colours the last."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..arguments.arrays import Array
from .base import FileError, Layout, needs
from .numpy_files import ArraySource, ArrayTarget

DEEP = {2, 6}  # PNG's colour types RGB and RGBA: with 16 bits Pillow would silently drop the lower 8


def open_source(path: Path, name: str | None) -> ArraySource:
    pillow = needs("PIL.Image", "Pillow", "files")
    with path.open("rb") as file:
        head = file.read(26)
    if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) == 26 and head[24] == 16 and head[25] in DEEP:
        raise FileError(f"{path} has 16 bits per colour, which Pillow reads as 8: save it as TIFF, which keeps them")
    pillow.MAX_IMAGE_PIXELS = None  # a microscope's pictures are larger than what a web server should open
    with pillow.open(path) as image:
        kind = image.format
        turned = needs("PIL.ImageOps", "Pillow", "files").exif_transpose(image)  # a camera's "this side up"
        if turned.mode in ("P", "PA"):
            turned = turned.convert("RGBA" if "transparency" in turned.info or turned.mode == "PA" else "RGB")
        elif turned.mode not in ("1", "L", "LA", "RGB", "RGBA", "I;16", "I", "F"):
            turned = turned.convert("RGB")  # CMYK, YCbCr, …
        array = np.asarray(turned)
    source = ArraySource(array, f"{kind} picture, {turned.mode}")
    source.picture = (0, 1)
    source.dims = ("y", "x", "c")[: array.ndim]
    return source


def create_target(path: Path, name: str | None, layout: Layout) -> ArrayTarget:
    pillow = needs("PIL.Image", "Pillow", "files")
    check(path, layout)
    array: Array = np.empty(layout.shape, layout.dtype)

    def save(a: Array) -> None:
        pillow.fromarray(a).save(path, format="PNG")

    return ArrayTarget(array, save)


def check(path: Path, layout: Layout) -> None:
    shape, dtype = layout.shape, layout.dtype
    gray = len(shape) == 2
    if not gray and not (len(shape) == 3 and shape[2] in (2, 3, 4)):
        raise FileError(f"a PNG has shape (rows, columns) or (rows, columns, 2, 3 or 4), the result has shape {shape}")
    fits = dtype == np.uint8 or (gray and dtype in (np.dtype(bool), np.dtype(np.uint16)))
    if not fits:
        raise FileError(
            f"a PNG holds uint8, or uint16 or bool without colours, the result is {dtype}: write a .npy or .tif file, "
            "or, with avg, sum, lp, smooth_max or median, add --dtype uint8"
        )
    if 0 in shape:
        raise FileError(f"a PNG has at least one pixel, the result has shape {shape}")
