"""Pictures as pixels, drawn with Pillow from the same layout as the SVG: the extra ``demo``."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence

from PIL import Image, ImageColor, ImageDraw, ImageFont

from .layout import CELL
from .scene import LINE, MARGIN, Scene
from .shapes import Cell, Label, Mark
from .style import LIGHT, SIZES, SPACING, STROKES
from .svg import CORNER, CORNERS, CROSSED, SWATCH, font_size, frame, legend_rows, strikes

SCALE = 2  # pixels per unit of the layout
Colour = tuple[int, int, int]


def colour(name: str) -> Colour:
    red, green, blue = ImageColor.getrgb(LIGHT[name])[:3]
    return red, green, blue


class Canvas:
    """Shapes of a scene on an image."""

    def __init__(self, width: float, height: float) -> None:
        self.image = Image.new("RGB", (round(width * SCALE), round(height * SCALE)), colour("paper"))
        self.draw = ImageDraw.Draw(self.image)
        self.fonts: dict[int, ImageFont.FreeTypeFont | ImageFont.ImageFont] = {}

    def text(self, x: float, y: float, words: str, size: float, ink: str = "ink", anchor: str = "ls") -> None:
        """Words on a base line; ``anchor`` is l, m or r, then s."""
        pixels = max(1, round(size * SCALE))
        if pixels not in self.fonts:
            self.fonts[pixels] = ImageFont.load_default(pixels)
        self.draw.text((x * SCALE, y * SCALE), words, colour(ink), self.fonts[pixels], anchor=anchor)

    def spaced(self, x: float, y: float, words: str, size: float, ink: str, spacing: float) -> None:
        """Words whose characters do not move towards each other."""
        for character in words:
            self.text(x, y, character, size, ink)
            x += self.fonts[round(size * SCALE)].getlength(character) / SCALE + spacing

    def line(self, points: Sequence[tuple[float, float]], ink: str, width: float, dashes: str = "") -> None:
        pixels = max(1, round(width * SCALE))
        for (a, b), (c, d) in itertools.pairwise(points):
            for begin, end in dashed(((c - a) ** 2 + (d - b) ** 2) ** 0.5, dashes):
                ends = [(a + (c - a) * t, b + (d - b) * t) for t in (begin, end)]
                self.draw.line([(x * SCALE, y * SCALE) for x, y in ends], colour(ink), pixels)

    def rectangle(self, x: float, y: float, w: float, h: float, ink: str, width: float = 1, dashes: str = "") -> None:
        if dashes:
            self.line([(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)], ink, width, dashes)
        else:
            half = width / 2
            box = [(x - half) * SCALE, (y - half) * SCALE, (x + w + half) * SCALE, (y + h + half) * SCALE]
            self.draw.rectangle(box, outline=colour(ink), width=max(1, round(width * SCALE)))

    def fill(self, x: float, y: float, w: float, h: float, paint: str, opacity: float = 1.0) -> None:
        box = (round(x * SCALE), round(y * SCALE), round((x + w) * SCALE), round((y + h) * SCALE))
        under = self.image.crop(box)
        over = Image.new("RGB", under.size, colour(paint))
        self.image.paste(Image.blend(under, over, opacity), box[:2])

    # ------------------------------------------------------------------------------------------ of a scene

    def cell(self, cell: Cell, size: float = CELL) -> None:
        x, y = cell.x, cell.y
        if cell.role in ("overhang", "cropped"):
            self.rectangle(x, y, size, size, "grid", 1, "2 5")
        else:
            self.fill(x, y, size, size, "pad" if cell.role == "padding" else "fill")
            self.rectangle(x, y, size, size, "grid", 1, "2 3" if cell.role == "padding" else "")
        if cell.role == "unseen":
            for side in (size / 4, size / 2):
                self.line([(x, y + side), (x + side, y)], "muted", 1)
        ink = "ink" if cell.role == "real" else "muted"
        points = font_size(cell.text)
        self.text(x + size / 2, y + size / 2 + points * 0.36, cell.text, points, ink, "ms")

    def mark(self, mark: Mark, size: float = CELL) -> None:
        name, opacity, width, dashes = STROKES[mark.role]
        x, y = mark.x, mark.y
        if opacity:
            self.fill(x, y, size, size, name, opacity)
        inset = width / 2
        self.rectangle(x + inset, y + inset, size - width, size - width, name, width, dashes)
        if mark.role in CORNERS:
            side = size * CORNER
            corner = [(x * SCALE, y * SCALE), ((x + side) * SCALE, y * SCALE), (x * SCALE, (y + side) * SCALE)]
            self.draw.polygon(corner, colour(name))
        if mark.role in CROSSED:
            for a, b, c, d in strikes(mark.role, size):
                self.line([(x + a * size, y + b * size), (x + c * size, y + d * size)], "muted", 1)
        self.text(x + size / 2, y + size - 4, mark.note, SIZES["note"], "ink", "ms")

    def label(self, label: Label) -> None:
        inks = {"index": "muted", "slice": "muted", "problem": "chosen"}
        anchor = {"start": "ls", "middle": "ms", "end": "rs"}[label.anchor]
        if label.role in SPACING:
            spacing = SPACING[label.role]
            self.spaced(label.x, label.y, label.text, SIZES[label.role], inks.get(label.role, "ink"), spacing)
            return
        self.text(label.x, label.y, label.text, SIZES[label.role], inks.get(label.role, "ink"), anchor)


def dashed(length: float, dashes: str) -> list[tuple[float, float]]:
    """The parts of a line that are drawn, from 0 to 1."""
    if not dashes or not length:
        return [(0, 1)]
    on, off = map(float, dashes.split())
    parts, at = [], 0.0
    while at < length:
        parts.append((at / length, min(at + on, length) / length))
        at += on + off
    return parts


def picture(scene: Scene) -> bytes:
    """The picture of the first window of a scene, as a PNG file."""
    tops = frame(scene)
    canvas = Canvas(scene.width, tops.bottom)
    for cell in scene.cells:
        canvas.cell(cell)
    for overlay in scene.overlays[:1]:
        for a, b, c, d in overlay.links:
            canvas.line([(a, b), (c, d)], "window", 1.5, "6 4")
        for mark in overlay.marks:
            canvas.mark(mark)
        for x, y, w, h in overlay.boxes:
            canvas.rectangle(x - 2, y - 2, w + 4, h + 4, "window", 3.5)
    for label in scene.labels:
        canvas.label(label)
    role = "formula" if scene.call.problem is None else "problem"
    words = [(role, tops.formula, scene.overlay_lines[0] if scene.overlay_lines else [])]
    for name, top, lines in (*words, ("text", tops.footer, scene.footer)):
        for i, line in enumerate(lines):
            canvas.label(Label(MARGIN, top + i * LINE, line, name))
    for i, row in enumerate(legend_rows(scene)):
        for x, kind, meaning in row:
            y = tops.legend + i * (LINE + 3)
            if kind in STROKES:
                canvas.mark(Mark(x, y - SWATCH + 2, kind, "", ()), SWATCH)
            else:
                canvas.cell(Cell(x, y - SWATCH + 2, "", (), kind, ""), SWATCH)
            canvas.label(Label(x + SWATCH + 8, y, meaning, "text"))
    file = io.BytesIO()
    canvas.image.save(file, "PNG", optimize=True)
    return file.getvalue()
