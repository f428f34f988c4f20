"""Images in a terminal, as coloured half blocks or as shades of ASCII.

Shrinking uses NumPy and not cenote: what shows the results of pooling must not depend on them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

import numpy as np

from .panels import Panel
from .scene import Floats, Pixels

SHADES = " .:-=+*#%@"
HALF_BLOCK = "\N{UPPER HALF BLOCK}"
RESET = "\x1b[0m"


def wants_colour(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal that shows 24-bit colour and its user has not said no (no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return False
    try:
        HALF_BLOCK.encode(getattr(stream, "encoding", None) or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def resample(image: Pixels, rows: int, columns: int) -> Floats:
    """``image`` averaged into ``rows`` x ``columns`` elements; an axis with fewer pixels repeats them."""
    out = image.astype(np.float64)
    for axis, size in ((0, rows), (1, columns)):
        n = image.shape[axis]
        starts = np.arange(size) * n // size
        if size >= n:
            out = out.take(starts, axis)
            continue
        lengths = np.diff(starts, append=n).reshape([-1 if i == axis else 1 for i in range(out.ndim)])
        out = np.add.reduceat(out, starts, axis=axis) / lengths
    return out


def render(image: Pixels, columns: int, colour: bool) -> list[str]:
    """``image``, (rows, columns, 3), as lines of ``columns`` characters."""
    # A character is about twice as high as wide: one half block is one square pixel.
    lines = max(1, round(columns * image.shape[0] / image.shape[1] / 2))
    if not colour:
        luma = resample(image, lines, columns) @ np.array([0.299, 0.587, 0.114])
        shade = np.clip(luma / 256 * len(SHADES), 0, len(SHADES) - 1).astype(int)
        return ["".join(SHADES[s] for s in row) for row in shade]
    pixels = np.rint(resample(image, 2 * lines, columns)).astype(int).reshape(lines, 2, columns, 3)
    out = []
    for upper, lower in pixels:
        marks = (
            f"\x1b[38;2;{r};{g};{b};48;2;{R};{G};{B}m{HALF_BLOCK}"
            for (r, g, b), (R, G, B) in zip(upper.tolist(), lower.tolist(), strict=True)
        )
        out.append("".join(marks) + RESET)
    return out


def render_row(panels: Sequence[Panel], width: int, colour: bool) -> str:
    """Panels side by side, their labels below, in at most ``width`` columns."""
    gap = 2
    columns = max(1, (width - gap * (len(panels) - 1)) // len(panels))
    drawn = [render(panel.pixels, columns, colour) for panel in panels]
    lines = max(map(len, drawn))
    for block in drawn:
        block += [" " * columns] * (lines - len(block))
    rows = [(" " * gap).join(parts) for parts in zip(*drawn, strict=True)]
    rows.append((" " * gap).join(panel.label[:columns].center(columns) for panel in panels).rstrip())
    return "\n".join(rows)
