"""What a picture is made of: squares, texts, marks and boxes, and where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .layout import CELL, HEADING, LEFT, Grid
from .windows import Index, Window

Box = tuple[float, float, float, float]  # left, top, width, height
TOP_OF_INDEX = 14


@dataclass(frozen=True)
class Cell:
    """One element: a square with its value."""

    x: float
    y: float
    array: str
    index: Index
    role: str  # real, unseen, padding, overhang, cropped
    text: str


@dataclass(frozen=True)
class Label:
    x: float
    y: float
    text: str
    role: str  # title, heading, index, slice, text, formula, problem
    anchor: str = "start"


@dataclass(frozen=True)
class Mark:
    """What a window does with one element."""

    x: float
    y: float
    role: str  # a key of MARKS
    array: str
    index: Index
    note: str = ""


@dataclass(frozen=True)
class Overlay:
    """What is drawn of one window."""

    window: Window | None
    marks: tuple[Mark, ...]
    boxes: tuple[Box, ...]  # left, top, width, height
    links: tuple[Box, ...]
    lines: tuple[str, ...]  # formula and remarks


def labels_of(grid: Grid) -> list[Label]:
    """Its heading, the names of its slices, and the indices along its axes."""
    slices = (label for i in range(len(grid.slice_names())) for label in labels_of_slice(grid, i))
    return [Label(grid.left, grid.top - 6, grid.caption, "heading"), *slices]


def labels_of_slice(grid: Grid, i: int) -> list[Label]:
    x, y = grid.slice_corner(i)
    out = [Label(x, y - TOP_OF_INDEX - 6, grid.slice_names()[i], "slice")] if grid.has_slices else []
    for j, at in enumerate(range(*grid.ranges[-1])):
        out.append(Label(x + j * CELL + CELL / 2, y - 5, str(at), "index", "middle"))
    if len(grid.order) > 1:
        for j, at in enumerate(range(*grid.ranges[-2])):
            out.append(Label(x - 5, y + j * CELL + CELL / 2 + 4, str(at), "index", "end"))
    return out


def boxes_around(marks: Sequence[Mark], grid: Grid | None) -> tuple[Box, ...]:
    """One box around the marks of each slice."""
    if grid is None:
        return ()
    slices: dict[int, list[Mark]] = {}
    for mark in marks:
        slices.setdefault(grid.slice_of(mark.index), []).append(mark)
    boxes = []
    for group in slices.values():
        left, top = min(m.x for m in group), min(m.y for m in group)
        right, bottom = max(m.x for m in group) + CELL, max(m.y for m in group) + CELL
        boxes.append((left, top, right - left, bottom - top))
    return tuple(boxes)


def links_between(box: Box, out: tuple[float, float], source: Grid, target: Grid) -> tuple[Box, ...]:
    """Two lines from a window to its output, as far as they lie between the arrays: none runs over a value."""
    left, top, width, height = box
    x, y = out
    if target.left > source.left:  # side by side
        ends = (left + width, top, x, y), (left + width, top + height, x, y + CELL)
        begin, end = far_corner(source)[0], target.slice_corner(0)[0] - LEFT + 4  # before the indices
        shares = [((begin - a) / (c - a), (end - a) / (c - a)) for a, _, c, _ in ends]
    else:
        ends = (left, top + height, x, y), (left + width, top + height, x + CELL, y)
        begin, end = far_corner(source)[1], target.top - HEADING + 2  # before its heading
        shares = [((begin - b) / (d - b), (end - b) / (d - b)) for _, b, _, d in ends]
    return tuple(part_of(line, *share) for line, share in zip(ends, shares, strict=True))


def far_corner(grid: Grid) -> tuple[float, float]:
    """The lower right corner of its elements."""
    corners = [grid.slice_corner(i) for i in range(max(1, grid.slices))]
    return max(x for x, _ in corners) + grid.columns * CELL, max(y for _, y in corners) + grid.rows * CELL


def part_of(line: Box, begin: float, end: float) -> Box:
    """A line from one share of its length to another."""
    a, b, c, d = line
    return a + (c - a) * begin, b + (d - b) * begin, a + (c - a) * end, b + (d - b) * end
