"""All panels on one page, with captions, drawn with Pillow: the extra ``demo``."""

from __future__ import annotations

import math
from collections.abc import Sequence

import PIL
from PIL import Image, ImageDraw, ImageFont, ImageOps

from .panels import Panel

if tuple(map(int, PIL.__version__.split(".")[:2])) < (10, 1):
    raise ImportError("Pillow before 10.1 has no font that scales")

PAPER, INK, FAINT = (13, 18, 24), (232, 240, 240), (150, 172, 184)


def blank(width: int, height: int) -> Image.Image:
    return Image.new("RGB", (width, height), PAPER)


def text(line: str, size: int = 20, colour: tuple[int, int, int] = INK) -> Image.Image:
    """``line`` in Pillow's own font, which has ASCII only."""
    font = ImageFont.load_default(size)
    right, bottom = font.getbbox(line)[2], font.getbbox("gT_")[3]  # every line is equally high
    out = blank(math.ceil(right), math.ceil(bottom))
    ImageDraw.Draw(out).text((0, 0), line, colour, font)
    return out


def stack(parts: Sequence[Image.Image], gap: int) -> Image.Image:
    """From top to bottom, aligned on the left."""
    out = blank(max(part.width for part in parts), sum(part.height for part in parts) + gap * (len(parts) - 1))
    top = 0
    for part in parts:
        out.paste(part, (0, top))
        top += part.height + gap
    return out


def beside(parts: Sequence[Image.Image], gap: int) -> Image.Image:
    """From left to right, aligned at the top."""
    out = blank(sum(part.width for part in parts) + gap * (len(parts) - 1), max(part.height for part in parts))
    left = 0
    for part in parts:
        out.paste(part, (left, 0))
        left += part.width + gap
    return out


def draw(panel: Panel, width: int, height: int) -> Image.Image:
    """``panel`` in a box of that size, its caption below."""
    # A box filter averages what shrinks; what grows keeps its pixels as squares, so that pooled ones can be seen.
    fitted = ImageOps.pad(Image.fromarray(panel.pixels), (width, height), Image.Resampling.BOX, PAPER)
    return stack([fitted, stack([text(panel.title), text(panel.detail, 17, FAINT)], 4)], 8)


def page(flat: Sequence[Panel], solid: Sequence[Panel]) -> Image.Image:
    """The input image large, its results around it at half that size, the volumes in the last row."""
    given, *results = flat
    small = [draw(panel, 384, 256) for panel in results]
    upper = beside([stack([draw(given, 768, 512), text("cenote", 44)], 16), stack(small[:2], 16)], 32)
    rows = [upper, beside(small[2:], 16), beside([draw(panel, 224, 224) for panel in solid], 16)]
    return ImageOps.expand(stack(rows, 28), 24, PAPER)
