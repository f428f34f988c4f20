"""Pictures as SVG: one window, or all of them one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from .formula import place
from .layout import CELL, Grid
from .scene import ADVANCE, LINE, MARGIN, Scene
from .shapes import Box, Cell, Label, Mark, Overlay, boxes_around
from .style import SIZES, STROKES, css

VALUE = 14  # size of the font of values
CORNERS = ("chosen", "middle", "flow")  # marks with a filled corner, which is seen without colours
CORNER = 0.35  # of the side
CROSSED = {"hang": 2, "omitted": 1}  # marks that are crossed out, by one line or two
STRIKE = 0.28  # of the side: a line begins at either corner, and leaves the value free
SWATCH = 14  # of a legend


def plain(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def font_size(text: str) -> float:
    """That of a value, so that it fits its square."""
    return min(VALUE, (CELL - 5) / (ADVANCE * max(len(text), 1)))


def cell_svg(cell: Cell, number: int | None = None) -> str:
    """A square and its value; ``number`` is that of the window of an output."""
    which = "" if number is None else f' data-window="{number}"'
    classes = f"cell {cell.array}" + ("" if cell.role == "real" else f" {cell.role}")
    out = f'<g class="{classes}"{which} data-index="{",".join(map(str, cell.index))}">'
    out += f'<rect x="{plain(cell.x)}" y="{plain(cell.y)}" width="{CELL}" height="{CELL}"/>'
    if cell.text:
        size = font_size(cell.text)
        out += (
            f'<text x="{plain(cell.x + CELL / 2)}" y="{plain(cell.y + CELL / 2 + size * 0.36)}" '
            f'font-size="{plain(size)}">{escape(cell.text)}</text>'
        )
    if cell.role == "unseen":
        x, y = cell.x, cell.y
        out += f'<path class="strike" d="M{plain(x)} {plain(y + 10)}l10 -10M{plain(x)} {plain(y + 20)}l20 -20"/>'
    return out + "</g>"


def strikes(role: str, size: float) -> list[Box]:
    """The lines that cross a mark out, in parts of its side, from corner to corner; whole ones in a legend."""
    ends = ((0.0, STRIKE), (1 - STRIKE, 1.0)) if size == CELL else ((0.0, 1.0),)
    falling = [(a, a, b, b) for a, b in ends]
    return falling + [(1 - a, b, 1 - c, d) for a, b, c, d in falling] if CROSSED[role] > 1 else falling


def label_svg(label: Label) -> str:
    anchor = "" if label.anchor == "start" else f' text-anchor="{label.anchor}"'
    return f'<text class="{label.role}" x="{plain(label.x)}" y="{plain(label.y)}"{anchor}>{escape(label.text)}</text>'


def mark_svg(mark: Mark, size: float = CELL) -> str:
    inset = 1 if size < CELL else STROKES[mark.role][2] / 2
    side = plain(size - 2 * inset)
    out = (
        f'<rect class="mark {mark.role}" x="{plain(mark.x + inset)}" y="{plain(mark.y + inset)}" '
        f'width="{side}" height="{side}"/>'
    )
    if mark.role in CORNERS:
        side = plain(size * CORNER)
        out += f'<path class="corner {mark.role}" d="M{plain(mark.x)} {plain(mark.y)}h{side}l-{side} {side}z"/>'
    if mark.role in CROSSED:
        corner = (mark.x, mark.y) * 2
        parts = strikes(mark.role, size)
        lines = ([plain(at + part * size) for at, part in zip(corner, line, strict=True)] for line in parts)
        path = "".join(f"M{a} {b}L{c} {d}" for a, b, c, d in lines)
        out += f'<path class="strike" d="{path}"/>'
    if mark.note:
        x, y = mark.x + CELL / 2, mark.y + CELL - 4
        out += f'<text class="note" x="{plain(x)}" y="{plain(y)}">{escape(mark.note)}</text>'
    return out


def marks_svg(overlay: Overlay, grid: Grid, i: int) -> str:
    """What is drawn of a window on one slice of an array."""
    marks = [mark for mark in overlay.marks if mark.array == grid.name and grid.slice_of(mark.index) == i]
    boxes = boxes_around(marks, grid) if grid.name == "x" else ()
    return "".join([*map(mark_svg, marks), *boxes_svg(boxes)])


def overlay_svg(overlay: Overlay) -> str:
    """Marks, boxes and lines, without the formula."""
    return "".join([links_svg(overlay), *map(mark_svg, overlay.marks), *boxes_svg(overlay.boxes)])


def links_svg(overlay: Overlay) -> str:
    return "".join(
        f'<line class="link" x1="{plain(a)}" y1="{plain(b)}" x2="{plain(c)}" y2="{plain(d)}"/>'
        for a, b, c, d in overlay.links
    )


def boxes_svg(boxes: Sequence[Box]) -> list[str]:
    return [
        f'<rect class="box" x="{plain(x - 2)}" y="{plain(y - 2)}" '
        f'width="{plain(w + 4)}" height="{plain(h + 4)}" rx="3"/>'
        for x, y, w, h in boxes
    ]


def base_svg(scene: Scene) -> str:
    return "\n".join([*map(label_svg, scene.labels), *(cell_svg(c, scene.step_of(c)) for c in scene.cells)])


def text_lines(lines: Sequence[str], role: str, top: float) -> list[str]:
    return [label_svg(Label(MARGIN, top + i * LINE, line, role)) for i, line in enumerate(lines)]


def legend_rows(scene: Scene) -> list[list[tuple[float, str, str]]]:
    """The legend in rows: where each entry begins, its mark, and what it means."""
    rows: list[list[tuple[float, str, str]]] = []
    x = scene.width
    for kind, words in scene.legend:
        width = SWATCH + 8 + len(words) * ADVANCE * SIZES["text"] + 22
        if x + width > scene.width:
            rows.append([])
            x = MARGIN
        rows[-1].append((x, kind, words))
        x += width
    return rows


def legend_svg(scene: Scene, top: float) -> list[str]:
    out = []
    for i, row in enumerate(legend_rows(scene)):
        for x, kind, words in row:
            y = top + i * (LINE + 3) - SWATCH + 2
            if kind in STROKES:
                out.append(mark_svg(Mark(x, y, kind, "", ()), SWATCH))
            else:
                out.append(
                    f'<g class="cell {kind}"><rect x="{plain(x)}" y="{plain(y)}" width="{SWATCH}" height="{SWATCH}"/>'
                    "</g>"
                )
                if kind == "unseen":
                    out.append(f'<path class="strike" d="M{plain(x)} {plain(y + 8)}l8 -8"/>')
            out.append(label_svg(Label(x + SWATCH + 8, top + i * (LINE + 3), words, "text")))
    return out


def opened(scene: Scene, box: tuple[float, float, float, float], rules: str, more: str = "") -> list[str]:
    """The begin of a picture: its size, its name for those who do not see it, its style and its ground."""
    left, top, width, height = map(plain, box)
    size = f'viewBox="{left} {top} {width} {height}" width="{width}" height="{height}"'
    name = quoteattr(f"{scene.title}. {scene.description}")
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cenote" {size} role="img" aria-label={name}{more}>',
        f"<title>{escape(scene.title)}</title>",
        f"<desc>{escape(scene.description)}</desc>",
        f"<style>{rules}</style>" if rules else "",
        f'<rect class="paper" x="{left}" y="{top}" width="{width}" height="{height}" rx="8"/>',
    ]


class Frame(NamedTuple):
    """Where the parts of a picture begin, from top to bottom; of texts their first base line."""

    formula: float
    footer: float
    legend: float
    bottom: float


def frame(scene: Scene) -> Frame:
    lines = max((len(lines) for lines in scene.overlay_lines), default=0)
    formula = scene.panel_bottom + 30
    footer = formula + lines * LINE + (8 if lines else 0)
    legend = footer + len(scene.footer) * LINE + (12 if scene.footer else 0)
    return Frame(formula, footer, legend, legend + len(legend_rows(scene)) * (LINE + 3))


def picture(scene: Scene) -> str:
    """The picture of the first window of a scene."""
    return drawing(scene, ["" for _ in scene.overlays[:1]], "")


def drawing(scene: Scene, attributes: Sequence[str], rules: str) -> str:
    """A scene with as many overlays as there are attributes for their groups."""
    tops = frame(scene)
    out = opened(scene, (0, 0, scene.width, tops.bottom), css() + rules)
    out.append(base_svg(scene))
    for overlay, lines, attribute in zip(scene.overlays, scene.overlay_lines, attributes, strict=False):
        name = "" if overlay.window is None else quoteattr(place("y", overlay.window.index))
        label = f" data-output={name}" if name else ""
        words = text_lines(lines, "formula" if scene.call.problem is None else "problem", tops.formula)
        out += [f'<g class="overlay"{label}{attribute}>', overlay_svg(overlay), *words, "</g>"]
    out += text_lines(scene.footer, "text", tops.footer)
    out += legend_svg(scene, tops.legend)
    return "\n".join([line for line in out if line] + ["</svg>", ""])


def shell(scene: Scene) -> str:
    """A picture without its elements and its window, which the script of a page puts into the two empty groups."""
    tops = frame(scene)
    own = [label_svg(label) for label in scene.labels if label.role in ("title", "heading")]
    groups = ['<g class="elements"/>', '<g class="overlay"/>']
    words = [*text_lines(scene.footer, "text", tops.footer), *legend_svg(scene, tops.legend)]
    return "\n".join([*opened(scene, (0, 0, scene.width, tops.bottom), css()), *own, *groups, *words, "</svg>", ""])


def with_hover(scene: Scene) -> str:
    """The picture of the first window; pointing at another output shows its window. It needs no script."""
    text = picture(scene)
    if len(scene.overlays) < 2:
        return text
    top = frame(scene).formula
    parts = []
    for overlay, lines in zip(scene.overlays, scene.overlay_lines, strict=True):
        mark = next(mark for mark in overlay.marks if mark.array == "y")
        parts += [
            f'<g class="spot"><rect x="{plain(mark.x)}" y="{plain(mark.y)}" width="{CELL}" height="{CELL}"/>',
            f'<g class="shown">{overlay_svg(overlay)}{"".join(text_lines(lines, "formula", top))}</g></g>',
        ]
    rules = (
        ".cenote .spot>rect{fill:transparent}.cenote .shown{visibility:hidden;pointer-events:none}"
        ".cenote .spot:hover .shown{visibility:visible}.cenote:has(.spot:hover) .overlay{visibility:hidden}"
    )
    return text.replace("</style>", f"{rules}</style>", 1).replace("\n</svg>", "\n" + "\n".join([*parts, "</svg>"]))


def animation(scene: Scene, seconds: float) -> str:
    """All windows of a scene one after the other; who asks for less motion sees the first one."""
    number = len(scene.overlays)
    total = number * seconds
    rules = (
        f"@keyframes cenote-step{{0%{{visibility:visible}}{100 / max(number, 1):.4f}%,100%{{visibility:hidden}}}}"
        f".cenote .overlay{{visibility:hidden;animation:cenote-step {total:g}s step-end infinite}}"
        "@media (prefers-reduced-motion:reduce){.cenote .overlay{animation:none}"
        ".cenote .overlay.first{visibility:visible}}"
    )
    if number < 2:
        return picture(scene)
    attributes = [f' style="animation-delay:{i * seconds:g}s"' for i in range(number)]
    return drawing(scene, attributes, rules).replace('<g class="overlay"', '<g class="overlay first"', 1)
