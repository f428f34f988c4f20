"""Small pictures for people: PNG files, pictures in a terminal, and captions, with nothing but NumPy.

An image here is a uint8 array, (rows, columns) for grey or (rows, columns, 3) for RGB. The functions that
lay images out take images and give a new one, so that a page is an expression of :func:`beside`,
:func:`stack` and :func:`captioned`. Shrinking uses NumPy and not Cenote: a picture that is to show what
a pooling function did must not depend on one.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from typing import Any, TextIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

Image: TypeAlias = NDArray[np.uint8]
Floats: TypeAlias = NDArray[np.float64]
Colour: TypeAlias = tuple[int, int, int]

PAPER: Colour = (13, 18, 24)
INK: Colour = (232, 240, 240)
FAINT: Colour = (132, 156, 168)

SHADES = " .:-=+*#%@"
HALF_BLOCK = "\N{UPPER HALF BLOCK}"
RESET = "\x1b[0m"

# Captions need these characters only; capitals are drawn small. Rows 1-7 stand on the line, 8-9 hang below.
GLYPHS = "abcdefghijklmnopqrstuvwxyz0123456789_(),.:=-+/>"
DRAWN = """
..... #.... ..... ....# ..... ..##. ..... #.... ..#.. ...#. #.... .##.. ..... ..... ..... .....
..... #.... ..... ....# ..... .#... ..... #.... ..... ..... #.... ..#.. ..... ..... ..... .....
.###. ####. .#### .#### .###. ####. .#### ####. .##.. ..##. #..#. ..#.. ##.#. ####. .###. ####.
....# #...# #.... #...# #...# .#... #...# #...# ..#.. ...#. #.#.. ..#.. #.#.# #...# #...# #...#
.#### #...# #.... #...# ##### .#... #...# #...# ..#.. ...#. ##... ..#.. #.#.# #...# #...# #...#
#...# #...# #.... #...# #.... .#... #...# #...# ..#.. ...#. #.#.. ..#.. #.#.# #...# #...# #...#
.#### ####. .#### .#### .#### .#... .#### #...# .###. ...#. #..#. .###. #.#.# #...# .###. ####.
..... ..... ..... ..... ..... ..... ....# ..... ..... ...#. ..... ..... ..... ..... ..... #....
..... ..... ..... ..... ..... ..... .###. ..... ..... .##.. ..... ..... ..... ..... ..... #....
..... ..... ..... .#... ..... ..... ..... ..... ..... ..... .###. ..#.. .###. ####. #..#. #####
..... ..... ..... .#... ..... ..... ..... ..... ..... ..... #...# .##.. #...# ....# #..#. #....
.#### #.##. .#### ####. #...# #...# #.#.# #...# #...# ##### #..## ..#.. ....# ....# #..#. ####.
#...# ##... #.... .#... #...# #...# #.#.# .#.#. #...# ...#. #.#.# ..#.. ...#. .###. ##### ....#
#...# #.... .###. .#... #...# .#.#. #.#.# ..#.. #...# ..#.. ##..# ..#.. ..#.. ....# ...#. ....#
#...# #.... ....# .#... #...# .#.#. #.#.# .#.#. #...# .#... #...# ..#.. .#... ....# ...#. #...#
.#### #.... ####. ..##. .#### ..#.. .#.#. #...# .#### ##### .###. .###. ##### ####. ...#. .###.
....# ..... ..... ..... ..... ..... ..... ..... ....# ..... ..... ..... ..... ..... ..... .....
....# ..... ..... ..... ..... ..... ..... ..... .###. ..... ..... ..... ..... ..... ..... .....
..##. ##### .###. .###. ..... ...#. .#... ..... ..... ..... ..... ..... ..... ....# .....
.#... ....# #...# #...# ..... ..#.. ..#.. ..... ..... ..... ..... ..... ..... ....# .....
#.... ...#. #...# #...# ..... .#... ...#. ..... ..... ..#.. ..... ..... ..#.. ...#. .#...
####. ..#.. .###. .#### ..... .#... ...#. ..... ..... ..#.. ##### ..... ..#.. ..#.. ..#..
#...# ..#.. #...# ....# ..... .#... ...#. ..... ..... ..... ..... .###. ##### .#... ...#.
#...# .#... #...# ...#. ..... ..#.. ..#.. ..#.. .##.. ..#.. ##### ..... ..#.. #.... ..#..
.###. .#... .###. .##.. ..... ...#. .#... ..#.. .##.. ..#.. ..... ..... ..#.. #.... .#...
..... ..... ..... ..... ##### ..... ..... .#... ..... ..... ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
"""


def cut_font() -> dict[str, NDArray[np.bool_]]:
    """Each character's 9 x 5 cells, cut out of the drawing above."""
    lines = DRAWN.split("\n")[1:-1]
    ink = np.array([[cell == "#" for cell in line.ljust(96)] for line in lines])
    # (3 banks, 9 rows, 16 glyphs, 5 cells and a gap) → (48 glyphs, 9, 5)
    cells = ink.reshape(3, 9, 16, 6)[..., :5].transpose(0, 2, 1, 3).reshape(48, 9, 5)
    return {" ": np.zeros((9, 5), bool), **dict(zip(GLYPHS, cells, strict=False))}


FONT = cut_font()
UNKNOWN = np.pad(np.ones((7, 5), bool), ((0, 2), (0, 0)))


# ------------------------------------------------------------------------------------------------------- PNG


def as_image(image: NDArray[Any]) -> Image:
    """``image`` itself when it is one; the cause when it is not."""
    grey_or_rgb = image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 3)
    if image.dtype != np.uint8 or not grey_or_rgb or image.size == 0:
        raise ValueError(
            f"an image has dtype uint8 and shape (rows, columns) or (rows, columns, 3), none of them 0: "
            f"this has {image.dtype} and {image.shape}"
        )
    return image


def rgb(image: NDArray[Any]) -> Image:
    """``image`` with three channels."""
    image = as_image(image)
    return np.repeat(image[:, :, None], 3, axis=2) if image.ndim == 2 else image


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def encode_png(image: NDArray[Any]) -> bytes:
    """The bytes of a PNG file that holds ``image``, grey or RGB, 8 bits per channel."""
    image = as_image(image)
    rows, columns = image.shape[:2]
    colour_type = 0 if image.ndim == 2 else 2
    flat = image.reshape(rows, -1)
    # Filter 2, the difference to the row above, on every row: enlarged pixels become zeros.
    filtered = np.full((rows, flat.shape[1] + 1), 2, np.uint8)
    filtered[0, 1:] = flat[0]
    np.subtract(flat[1:], flat[:-1], out=filtered[1:, 1:])
    header = struct.pack(">IIBBBBB", columns, rows, 8, colour_type, 0, 0, 0)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", header),
            chunk(b"IDAT", zlib.compress(filtered.tobytes(), 6)),
            chunk(b"IEND", b""),
        )
    )


# ---------------------------------------------------------------------------------------------------- layout


def enlarge(image: NDArray[Any], factor: int) -> Image:
    """Every pixel as a square of ``factor`` x ``factor``: pooled cells stay visible as cells."""
    return np.repeat(np.repeat(as_image(image), factor, axis=0), factor, axis=1)


def sheet(rows: int, columns: int) -> Image:
    """Empty paper."""
    return np.full((rows, columns, 3), PAPER, np.uint8)


def fit(image: NDArray[Any], rows: int, columns: int) -> Image:
    """All of ``image`` in the middle of a sheet, enlarged or, if it is too large, divided by a whole factor."""
    high, wide = image.shape[:2]
    divisor = max(-(-high // rows), -(-wide // columns))
    if divisor > 1:
        image = np.rint(shrink(image, max(1, high // divisor), max(1, wide // divisor))).astype(np.uint8)
    fitting = rgb(enlarge(image, min(rows // image.shape[0], columns // image.shape[1])))
    out = sheet(rows, columns)
    top, left = (rows - fitting.shape[0]) // 2, (columns - fitting.shape[1]) // 2
    out[top : top + fitting.shape[0], left : left + fitting.shape[1]] = fitting
    return out


def text(line: str, scale: int = 2, colour: Colour = INK) -> Image:
    """``line`` as an image, 9 x ``scale`` pixels high; a character that the font lacks is a filled box."""
    out = sheet(9 * scale, max(1, 6 * len(line)) * scale)
    for i, character in enumerate(line.lower()):
        cells = FONT.get(character, UNKNOWN).repeat(scale, axis=0).repeat(scale, axis=1)
        out[:, 6 * i * scale : (6 * i + 5) * scale][cells] = colour
    return out


def stack(images: Sequence[NDArray[Any]], gap: int) -> Image:
    """Images from top to bottom, their left edges in line."""
    columns = max(image.shape[1] for image in images)
    parts: list[Image] = []
    for image in images:
        if parts:
            parts.append(sheet(gap, columns))
        wide = sheet(image.shape[0], columns)
        wide[:, : image.shape[1]] = rgb(image)
        parts.append(wide)
    return np.concatenate(parts)


def beside(images: Sequence[NDArray[Any]], gap: int) -> Image:
    """Images from left to right, their upper edges in line."""
    return stack([rgb(image).swapaxes(0, 1) for image in images], gap).swapaxes(0, 1)


def captioned(image: NDArray[Any], title: str, detail: str) -> Image:
    """``image`` over two lines of text."""
    return stack([image, stack([text(title), text(detail, colour=FAINT)], 4)], 8)


def framed(image: NDArray[Any], margin: int) -> Image:
    """``image`` with paper around it."""
    out = sheet(image.shape[0] + 2 * margin, image.shape[1] + 2 * margin)
    out[margin : margin + image.shape[0], margin : margin + image.shape[1]] = rgb(image)
    return out


# -------------------------------------------------------------------------------------------------- terminal


def colour_wanted(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal that shows 24-bit colour and its user has not said no (no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return False
    try:
        HALF_BLOCK.encode(getattr(stream, "encoding", None) or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def shrink(image: NDArray[Any], rows: int, columns: int) -> Floats:
    """``image`` averaged into ``rows`` x ``columns`` cells, which are repeated where there are more than pixels."""
    out = image.astype(np.float64)
    for axis, size in ((0, rows), (1, columns)):
        n = image.shape[axis]
        if size >= n:
            out = out.take(np.arange(size) * n // size, axis)
            continue
        starts = np.arange(size) * n // size
        lengths = np.diff(starts, append=n).reshape([-1 if i == axis else 1 for i in range(out.ndim)])
        out = np.add.reduceat(out, starts, axis=axis) / lengths
    return out


def render(image: NDArray[Any], columns: int, colour: bool) -> list[str]:
    """``image`` as lines of ``columns`` characters: coloured half blocks, or shades of plain ASCII."""
    image = rgb(image)
    # A character is about twice as high as wide: one half block is one square cell.
    lines = max(1, round(columns * image.shape[0] / image.shape[1] / 2))
    if not colour:
        luma = shrink(image, lines, columns) @ np.array([0.299, 0.587, 0.114])
        shade = np.clip(luma / 256 * len(SHADES), 0, len(SHADES) - 1).astype(int)
        return ["".join(SHADES[s] for s in row) for row in shade]
    cells = np.rint(shrink(image, 2 * lines, columns)).astype(int).reshape(lines, 2, columns, 3)
    out = []
    for upper, lower in cells:
        marks = (
            f"\x1b[38;2;{r};{g};{b};48;2;{R};{G};{B}m{HALF_BLOCK}"
            for (r, g, b), (R, G, B) in zip(upper.tolist(), lower.tolist(), strict=True)
        )
        out.append("".join(marks) + RESET)
    return out


def render_beside(panels: Sequence[tuple[str, NDArray[Any]]], width: int, colour: bool) -> str:
    """Images with their captions below, abreast, in at most ``width`` columns."""
    gap = 2
    columns = max(1, (width - gap * (len(panels) - 1)) // len(panels))
    drawn = [render(image, columns, colour) for _, image in panels]
    lines = max(map(len, drawn))
    for block in drawn:
        block += [" " * columns] * (lines - len(block))
    rows = [(" " * gap).join(parts) for parts in zip(*drawn, strict=True)]
    rows.append((" " * gap).join(caption[:columns].center(columns) for caption, _ in panels).rstrip())
    return "\n".join(rows)
