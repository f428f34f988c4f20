"""Write the pictures of docs/internals.md. The numbers in them are computed when this runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

import cenote as cn
from cenote.explanation.style import DARK, FONT, LIGHT, variables

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "internals"
SIDE = 30  # of an element
MARGIN, TITLE = 20, 34
# Kinds of elements: colour, how opaque its surface is, the width of its stroke, its dashes. Every kind has a shape of
# its own besides its colour, and a text that names it.
KINDS = {
    "element": ("grid", 0.0, 1.0, ""),
    "seen": ("window", 0.14, 2.5, ""),
    "part": ("chosen", 0.25, 2.5, "5 3"),
    "result": ("out", 0.25, 3.5, ""),
    "idle": ("grid", 0.0, 1.0, "2 3"),
}
Point = tuple[float, float]
Values = NDArray[Any]

X = np.array([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8], [9, 7, 9, 3, 2, 3], [8, 4, 6, 2, 6, 4], [3, 3, 8, 3, 2, 7]])
COLUMN = np.array([3, 5, 2, 4, 1, 6, 7, 2])
TAPS, STRIDE = 3, 2  # of the transpose


def style() -> str:
    rules = [
        f".inside{{{variables(LIGHT)}font-family:{FONT};font-size:13px}}",
        f"@media (prefers-color-scheme:dark){{.inside{{{variables(DARK)}}}}}",
        ".inside text{fill:var(--ink)}.inside .note{fill:var(--muted);font-size:12px}",
        ".inside .name{font-weight:600}.inside .middle{text-anchor:middle}",
        ".inside .line{stroke:var(--muted);stroke-width:1.5;fill:none}",
        ".inside .paper{fill:var(--paper)}.inside .idle-text{fill:var(--muted)}",
    ]
    for kind, (colour, opacity, width, dashes) in KINDS.items():
        dash = f";stroke-dasharray:{dashes}" if dashes else ""
        rules.append(
            f".inside .{kind}{{fill:var(--{colour});fill-opacity:{opacity};stroke:var(--{colour});"
            f"stroke-width:{width}{dash}}}"
        )
    return "".join(rules)


class Picture:
    """A picture that grows with what is drawn."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.parts: list[str] = []
        self.right = self.bottom = 0.0

    def extend(self, x: float, y: float) -> None:
        self.right, self.bottom = max(self.right, x), max(self.bottom, y)

    def text(self, x: float, y: float, words: str, role: str = "") -> None:
        attribute = f' class="{role}"' if role else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}"{attribute}>{escape(words)}</text>')
        self.extend(x + (0 if "middle" in role else 7.3 * len(words)), y + 4)

    def box(self, x: float, y: float, width: float, height: float, kind: str, words: str = "") -> None:
        inset = KINDS[kind][2] / 2
        self.parts.append(
            f'<rect class="{kind}" x="{x + inset:g}" y="{y + inset:g}" width="{width - 2 * inset:g}" '
            f'height="{height - 2 * inset:g}"/>'
        )
        if words:
            self.text(x + width / 2, y + height / 2 + 5, words, "middle idle-text" if kind == "idle" else "middle")
        self.extend(x + width, y + height)

    def arrow(self, a: Point, b: Point) -> None:
        """A line whose end has a head."""
        (x0, y0), (x1, y1) = a, b
        length = float(np.hypot(x1 - x0, y1 - y0))
        u, v = 7 * (x1 - x0) / length, 7 * (y1 - y0) / length
        head = f"M{x1 - u - v / 2:.1f} {y1 - v + u / 2:.1f}L{x1:g} {y1:g}L{x1 - u + v / 2:.1f} {y1 - v - u / 2:.1f}"
        self.parts.append(f'<path class="line" d="M{x0:g} {y0:g}L{x1:g} {y1:g}{head}"/>')

    def matrix(self, x: float, y: float, values: Values, kinds: Callable[[int, int], str]) -> None:
        """The elements of a matrix; those that stand out are drawn over the others."""
        places = [(i, j) for i in range(len(values)) for j in range(len(values[i]))]
        for i, j in sorted(places, key=lambda at: list(KINDS).index(kinds(*at)) if kinds(*at) != "idle" else -1):
            self.box(x + j * SIDE, y + i * SIDE, SIDE, SIDE, kinds(i, j), str(values[i][j]))

    def svg(self) -> str:
        width, height = self.right + MARGIN, self.bottom + MARGIN
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="inside" viewBox="0 0 {width:g} {height:g}" '
                f'width="{width:g}" height="{height:g}" role="img">',
                f"<title>{escape(self.title)}</title>",
                f"<style>{style()}</style>",
                f'<rect class="paper" width="{width:g}" height="{height:g}" rx="8"/>',
                *self.parts,
                "</svg>",
                "",
            ]
        )


def separable() -> Picture:
    """Windows of 3×3: the maxima of three elements along rows, then of three of those along columns."""
    out = Picture("A maximum over 3×3 elements in two passes: along rows, then along columns")
    rows = cn.max_pool(X, (1, 3), stride=1)
    y = cn.max_pool(rows, (3, 1), stride=1)
    row, column = 1, 2  # of the window that is marked
    top = MARGIN + TITLE
    places = [MARGIN, MARGIN + 6 * SIDE + 70, MARGIN + 10 * SIDE + 140]

    def in_x(i: int, j: int) -> str:
        return "seen" if row <= i < row + 3 and column <= j < column + 3 else "element"

    def in_rows(i: int, j: int) -> str:
        return "part" if row <= i < row + 3 and j == column else "element"

    def in_y(i: int, j: int) -> str:
        return "result" if (i, j) == (row, column) else "element"

    for left, name, values, kinds in zip(
        places,
        ("x", "along rows", "along columns: y"),
        (X, rows, y),
        (in_x, in_rows, in_y),
        strict=True,
    ):
        out.text(left, top - 12, name, "name")
        out.matrix(left, top, values, kinds)
    for i in range(3):
        level = top + (row + i + 0.5) * SIDE
        out.arrow((places[0] + 6 * SIDE + 8, level), (places[1] - 8, level))
        target = top + (row + 0.5) * SIDE + 4 * i
        out.arrow((places[1] + 4 * SIDE + 8, level), (places[2] - 8, target))
    foot = top + 5 * SIDE + 24
    out.text(MARGIN, foot, "Each maximum along a row (dashed) is used by three windows, one below the other.", "note")
    out.text(MARGIN, foot + 18, "A result costs 2 + 2 combinations. Nine elements at once would cost 8.", "note")
    return out


def line_buffer() -> Picture:
    """The ring of the last three rows, just after row 3 has replaced row 0."""
    out = Picture("A line buffer: a ring of the last three rows, each reduced along itself, gives a row of results")
    rows = cn.max_pool(X, (1, 3), stride=1)
    y = cn.max_pool(rows, (3, 1), stride=1)
    newest = 3
    top = MARGIN + TITLE
    left, ring, right = MARGIN + 54, MARGIN + 6 * SIDE + 160, MARGIN + 10 * SIDE + 270
    out.text(left, top - 12, "x, read row by row", "name")
    out.matrix(left, top, X, lambda i, j: "seen" if i == newest else "idle" if i > newest else "element")
    for i in range(len(X)):
        out.text(MARGIN, top + i * SIDE + 20, f"row {i}", "note")
    out.text(ring, top - 12, "ring in the L1 cache", "name")
    slots = [max(r for r in range(newest + 1) if r % 3 == slot) for slot in range(3)]
    for slot, r in enumerate(slots):
        height = top + (slot + 1) * SIDE
        for j, value in enumerate(rows[r]):
            out.box(ring + j * SIDE, height, SIDE, SIDE, "part" if r == newest else "element", str(value))
        out.text(ring + 4 * SIDE + 8, height + 20, f"row {r}", "note")
        level = height + SIDE / 2
        target = top + (newest - 2) * SIDE + SIDE / 2
        out.arrow((ring + 4 * SIDE + 56, level), (right - 6, target + (level - target) / 5))
    out.arrow((left + 6 * SIDE + 6, top + newest * SIDE + 15), (ring - 6, top + SIDE * 1.5))
    out.text(right, top - 12, "y", "name")
    out.matrix(right, top, y, lambda i, _: ("element", "result", "idle")[(i > newest - 3) + (i > newest - 2)])
    foot = top + 5 * SIDE + 24
    out.text(MARGIN, foot, f"Row {newest} is reduced along itself and takes the place of row 0 (dashed).", "note")
    out.text(MARGIN, foot + 18, "Combined with the other two rows of the ring, it gives the next row of y.", "note")
    return out


def column_strips() -> Picture:
    """Strips of a plane, and van Herk/Gil-Werman down one column of a strip with windows of four rows."""
    out = Picture("Column strips, and how a maximum down a strip is put together of a suffix and a prefix")
    top = MARGIN + TITLE
    out.text(MARGIN, top - 12, "a plane in strips", "name")
    for i in range(4):
        out.box(MARGIN + i * 40, top, 40, 8 * SIDE, "seen" if i == 1 else "idle")
    out.arrow((MARGIN + 60, top + 20), (MARGIN + 60, top + 8 * SIDE - 20))
    k, first = 4, 2  # rows of a window, and where the one that is marked begins
    left = MARGIN + 230
    places = [left + i * 100 for i in range(4)]
    suffix = np.maximum.accumulate(COLUMN[:k][::-1])[::-1]
    prefix = np.maximum.accumulate(COLUMN[k:])
    y = np.maximum(suffix[1:], prefix[: k - 1])
    for x, name in zip(places, ("column", "suffix", "prefix", "y"), strict=True):
        out.text(x, top - 12, name, "name")
    out.matrix(places[0], top, COLUMN[:, None], lambda i, _: "seen" if first <= i < first + k else "element")
    out.matrix(places[1], top, suffix[:, None], lambda i, _: "part" if i == first else "element")
    out.matrix(places[2], top + k * SIDE, prefix[:, None], lambda i, _: "part" if i == first - 1 else "element")
    out.matrix(places[3], top + SIDE, y[:, None], lambda i, _: "result" if i == first - 1 else "element")
    for begin, end, to, row in ((first, k, places[1], first), (k, first + k, places[2], first + k - 1)):
        out.arrow((places[0] + SIDE + 5, top + (begin + end) / 2 * SIDE), (to - 6, top + (row + 0.5) * SIDE))
    level = top + (first + 0.5) * SIDE
    out.arrow((places[1] + SIDE + 5, level), (places[3] - 6, level - 4))
    out.arrow((places[2] + SIDE + 5, level + (k - 1) * SIDE), (places[3] - 6, level + 4))
    for block in range(2):
        out.text(places[0] - 62, top + (block * k + 0.5) * SIDE + 4, f"block {block}", "note")
    foot = top + 8 * SIDE + 24
    out.text(
        MARGIN,
        foot,
        "Suffixes of a block are combined from below, prefixes of the next one from above. A window",
        "note",
    )
    out.text(
        MARGIN, foot + 18, "is one of each: three combinations for each result, however large the window is.", "note"
    )
    return out


def sum_tree() -> Picture:
    """Seven elements: four by halves, then the same of the three that are left."""
    out = Picture("The order of a sum of seven elements, as a tree")
    top, gap = MARGIN + 10, 64

    def draw(begin: int, count: int, kind: str = "part") -> tuple[Point, int]:
        """Draws the sum of some elements; where its box stands, and how high it reaches."""
        if count == 1:
            left = MARGIN + begin * gap
            out.box(left, top + 3 * gap, 44, SIDE, "seen", f"x[{begin}]")
            return (left + 22, top + 3 * gap), 0
        half = 2 ** ((count - 1).bit_length() - 1)  # the largest power of two below
        (ax, ay), a = draw(begin, half)
        (bx, by), b = draw(begin + half, count - half)
        level = max(a, b) + 1
        x, y = (ax + bx) / 2, top + (3 - level) * gap
        for child in ((ax, ay), (bx, by)):
            out.arrow((child[0], child[1] - 2), (x + (8 if child[0] > x else -8), y + SIDE + 3))
        out.box(x - 22, y, 44, SIDE, kind, "+")
        return (x, y), level

    draw(0, 7, "result")
    out.text(MARGIN, top + 3 * gap + SIDE + 26, "((x[0]+x[1]) + (x[2]+x[3])) + ((x[4]+x[5]) + x[6])", "note")
    return out


def phases() -> Picture:
    """A transpose with stride 2 and three taps: even outputs have two taps, odd ones have one."""
    out = Picture("A transposed convolution with stride 2 as two phases, without zeros between the elements")
    n, width, step = 4, 40, 48
    outputs = (n - 1) * STRIDE + TAPS
    left, top = MARGIN + 60, MARGIN + 4
    levels = [top, top + 110]
    out.text(MARGIN, levels[0] + 20, "x", "name")
    out.text(MARGIN, levels[1] + 20, "y", "name")
    for j in range(n):
        out.box(left + (STRIDE * j + 1) * step, levels[0], width, SIDE, "seen", f"x[{j}]")
    for o in range(outputs):
        phase = o % STRIDE
        out.box(left + o * step, levels[1], width, SIDE, "result" if phase == 0 else "part", f"y[{o}]")
    for j in range(n):
        for t in range(TAPS):
            start = (left + (STRIDE * j + 1) * step + width / 2 + (t - 1) * 8, levels[0] + SIDE + 2)
            end = (left + (STRIDE * j + t) * step + width / 2 + (1 - t) * 7, levels[1] - 3)
            out.arrow(start, end)
            x, y = (a + 0.4 * (b - a) for a, b in zip(start, end, strict=True))
            out.text(x + (-22, 4, 8)[t], y + (0, 30, 0)[t], f"w{t}", "note")
    foot = levels[1] + SIDE + 26
    out.text(MARGIN, foot, "even outputs: y[2u] = w0·x[u] + w2·x[u-1]", "note")
    out.text(MARGIN, foot + 18, "odd outputs (dashed): y[2u+1] = w1·x[u]", "note")
    return out


def overlap_save() -> Picture:
    """16 elements and 5 taps in blocks of 8, each of which gives 4 outputs."""
    out = Picture("Overlap-save: blocks of 8 elements that overlap by 4, each of which gives 4 results")
    n, taps, block = 16, 5, 8
    good = block - taps + 1
    left, top = MARGIN + 80, MARGIN + 4

    def line(y: float, name: str, kinds: Sequence[str], names: Sequence[str], begin: int = 0) -> None:
        out.text(MARGIN, y + 20, name, "name" if len(name) == 1 else "note")
        for i, (kind, words) in enumerate(zip(kinds, names, strict=True)):
            out.box(left + (begin + i) * SIDE, y, SIDE, SIDE, kind, words)

    line(top, "x", ["seen"] * n, [str(i) for i in range(n)])
    for b in range((n - taps + 1) // good):
        kinds = ["part"] * good + ["idle"] * (block - good)
        line(top + (b + 1) * 44, f"block {b}", kinds, [str(b * good + i) for i in range(block)], b * good)
    line(top + 4 * 44, "y", ["result"] * (n - taps + 1), [str(i) for i in range(n - taps + 1)])
    foot = top + 4 * 44 + SIDE + 26
    out.text(
        MARGIN, foot, "Blocks of 8 elements and 5 taps: the first 8 - 5 + 1 = 4 results of a block are right.", "note"
    )
    out.text(
        MARGIN, foot + 18, "At the others (pale) the taps wrap around its end. The next block computes those.", "note"
    )
    return out


PICTURES: dict[str, Callable[[], Picture]] = {
    "separable": separable,
    "line_buffer": line_buffer,
    "column_strips": column_strips,
    "sum_tree": sum_tree,
    "phases": phases,
    "overlap_save": overlap_save,
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")
    print(f"{len(PICTURES)} pictures written to {FOLDER}")
