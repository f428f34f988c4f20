"""Where the elements of the arrays of a call are drawn, and which part of them.

The last axis that is drawn goes from left to right, the one before it from top to bottom, and the others are slices
side by side. Axes that no window lies on are drawn up to two in all: of other batch axes one index is shown.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..arguments.arrays import Array
from ..geometry.axes import Axis
from .calls import Call, channel_axis
from .faults import drawn_parts
from .windows import Index, Range

CELL = 40  # width and height of an element
LEFT, TOP = 26, 18  # room for indices beside the elements, and above
CAPTION = 18  # height of the line above a slice
GAP = 18  # between slices
CHARACTER = 8  # width of one of a caption
OF_NAME = 9  # of the name of a slice
NAME = 12  # characters of the name of a slice, about: w[:, :, 0, 1]
WIDEST = 1120  # of the panels of a picture side by side
ROW = 28  # elements of the widest row, which has that width
# How many elements are drawn along a row or column, and how many slices: the first that makes an array small enough.
LIMITS = ((ROW, 32), (12, 9), (10, 6), (8, 4))
ENOUGH = 500  # elements


@dataclass(frozen=True)
class Grid:
    """The elements of one array that are drawn, and where."""

    name: str  # of the array: x, w or y
    order: tuple[int, ...]  # the axes that are drawn, outermost first
    whole: tuple[Range, ...]  # all of each; it may reach beyond the array: padding
    ranges: tuple[Range, ...]  # what is drawn of it
    fixed: Index  # the index on the other axes
    across: int  # slices in a row
    caption: str  # above it
    left: float = 0
    top: float = 0

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(end - begin for begin, end in self.ranges)

    @property
    def rows(self) -> int:
        return self.lengths[-2] if len(self.order) > 1 else 1

    @property
    def columns(self) -> int:
        return self.lengths[-1]

    @property
    def slices(self) -> int:
        return math.prod(self.lengths[:-2])

    @property
    def has_slices(self) -> bool:
        return len(self.order) > 2

    @cached_property
    def slice_width(self) -> int:
        names = [len(name) for name in self.slice_names()] if self.has_slices else []
        return max(max(self.columns, 1) * CELL, max(names, default=0) * OF_NAME) + LEFT

    @property
    def slice_height(self) -> int:
        return max(self.rows, 1) * CELL + TOP + (CAPTION if self.has_slices else 0)

    @property
    def width(self) -> int:
        number = max(1, min(self.across, self.slices))
        return max(number * self.slice_width + (number - 1) * GAP, math.ceil(len(self.caption) * CHARACTER))

    @property
    def height(self) -> int:
        number = max(1, -(-self.slices // self.across))
        return number * self.slice_height + (number - 1) * GAP

    def slice_corner(self, number: int) -> tuple[float, float]:
        """Of the first element of a slice."""
        row, column = divmod(number, self.across)
        x = self.left + column * (self.slice_width + GAP) + LEFT
        return x, self.top + row * (self.slice_height + GAP) + self.slice_height - max(self.rows, 1) * CELL

    def slice_of(self, index: Index) -> int:
        number = 0
        for axis, (begin, end) in zip(self.order[:-2], self.ranges[:-2], strict=True):
            number = number * (end - begin) + index[axis] - begin
        return number

    def place(self, index: Index) -> tuple[float, float] | None:
        """The upper left corner of an element, None if it is not drawn."""
        drawn = dict(zip(self.order, self.ranges, strict=True))
        for axis, at in enumerate(index):
            begin, end = drawn.get(axis, (self.fixed[axis], self.fixed[axis] + 1))
            if not begin <= at < end:
                return None
        x, y = self.slice_corner(self.slice_of(index))
        x += (index[self.order[-1]] - self.ranges[-1][0]) * CELL
        if len(self.order) > 1:
            y += (index[self.order[-2]] - self.ranges[-2][0]) * CELL
        return x, y

    def indices(self) -> Iterator[Index]:
        """Of all elements that are drawn, in the order of reading."""
        for places in itertools.product(*(range(*r) for r in self.ranges)):
            index = list(self.fixed)
            for axis, at in zip(self.order, places, strict=True):
                index[axis] = at
            yield tuple(index)

    def slice_names(self) -> list[str]:
        """``x[1, :, :]``"""
        names = []
        for places in itertools.product(*(range(*r) for r in self.ranges[:-2])):
            index = [str(i) for i in self.fixed]
            for axis in self.order[-2:]:
                index[axis] = ":"
            for axis, at in zip(self.order[:-2], places, strict=True):
                index[axis] = str(at)
            names.append(f"{self.name}[{', '.join(index)}]")
        return names


def drawn_axes(call: Call) -> tuple[int, ...]:
    """The axes of ``x`` and ``y`` that are drawn, outermost first."""
    spatial = sorted(axis.position for axis in call.axes)
    if call.w is not None:
        return (channel_axis(call), *spatial)
    others = [i for i in reversed(range(call.x.ndim)) if i not in spatial]
    return tuple(sorted(spatial + others[: max(0, 2 - len(spatial))]))


def crop(whole: Range, most: int, focus: int) -> Range:
    """At most so many, with ``focus`` near the begin."""
    begin, end = whole
    if end - begin <= most:
        return whole
    lead = 1 if most > 4 else 0  # an element before it, where there is room
    first = min(max(begin, focus - lead), end - most)
    return first, first + most


def cropped(whole: Sequence[Range], focus: Sequence[int]) -> tuple[Range, ...]:
    """What is drawn of the axes of an array, outermost first: all, or a part that can be looked at around ``focus``."""
    outer = max(0, len(whole) - 2)
    ranges: tuple[Range, ...] = ()
    for level, (line, slices) in enumerate(LIMITS):
        most = [*slices_of(whole[:outer], slices), *([line] * 2 if len(whole) > 1 else [ROW])]
        ranges = tuple(crop(*of_axis) for of_axis in zip(whole, most, focus, strict=True))
        is_small = math.prod(max(1, end - begin) for begin, end in ranges) <= ENOUGH
        if is_small and (level or ranges == tuple(whole)):  # of the largest, all or nothing
            break
    return ranges


def slices_of(whole: Sequence[Range], most: int) -> list[int]:
    """How many are drawn along each axis of slices, of ``most`` in all: some of each, those of the innermost first."""
    if math.prod(max(1, end - begin) for begin, end in whole) <= most:
        return [end - begin for begin, end in whole]
    each = max(2, int(most ** (1 / len(whole)))) if len(whole) > 1 else most
    out: list[int] = []
    for i, (begin, end) in reversed(list(enumerate(whole))):
        out.insert(0, max(1, min(end - begin, each if i else most, most)))
        most //= out[0]
    return out


def slices_across(ranges: tuple[Range, ...]) -> int:
    """How many slices stand side by side: all of the innermost axis that has several, if they fit."""
    if len(ranges) < 3:
        return 1
    width = max(max(1, ranges[-1][1] - ranges[-1][0]) * CELL, NAME * OF_NAME) + LEFT + GAP
    inner = next((end - begin for begin, end in reversed(ranges[:-2]) if end - begin > 1), 1)
    most = max(1, min(inner, WIDEST // width))
    return -(-inner // -(-inner // most))  # as many in every row


def spanned(axis: Axis) -> Range:
    """The elements along one axis, with padding and what the windows see beyond it."""
    reach = axis.d * (axis.k - 1) + 1
    if axis.starts is not None:
        return 0, axis.n
    last = (max(axis.o, 1) - 1) * axis.s - axis.low + reach
    return -axis.low, max(axis.n + axis.high, last)


def scattered(axis: Axis) -> Range:
    """The outputs of a transposed convolution along one axis, with those that padding cuts off."""
    last = (axis.o - 1) * axis.s - axis.low + axis.d * (axis.k - 1) + 1 if axis.o else 0
    return -axis.low if axis.o else 0, max(axis.n, last)


def grids(call: Call, focus: Index, first: Index, tap: Index | None, words: Mapping[str, str]) -> list[Grid]:
    """What is drawn: around output ``focus``, element ``first`` of x and element ``tap`` of w. ``words`` are what the
    arrays are called."""
    order = drawn_axes(call)
    most_of_x, most_of_w = drawn_parts(call)
    axes = {axis.position: axis for axis in call.axes}
    transposed = call.op == "conv_transpose"
    y = result_of(call)
    out_shape = call.x.shape if y is None else y.shape
    whole_inputs, whole_outputs = [], []
    for position in order:
        axis = axes.get(position)
        whole_x, whole_y = (0, call.x.shape[position]), (0, out_shape[position])
        if axis is not None and transposed:
            whole_y = scattered(axis)
        elif axis is not None:
            whole_x = (-axis.low, axis.n + axis.high) if most_of_x else spanned(axis)
        elif call.fault is not None:  # channels that are not there
            whole_x = (
                (0, max(call.x.shape[position], call.fault.needed)) if call.fault.subject == "channels" else whole_x
            )
        whole_inputs.append(whole_x)
        whole_outputs.append(whole_y)
    inputs = cropped(within(whole_inputs, order, most_of_x), [first[position] for position in order])
    outputs = cropped(whole_outputs, [focus[position] for position in order])
    if any(not n for i, n in enumerate(call.x.shape) if i not in order):  # no batch has no elements, and no padding
        inputs, outputs = (tuple((begin, begin) for begin, _ in ranges) for ranges in (inputs, outputs))
    rows = "; rows are channels" if call.w is not None and len(call.axes) == 1 else ""  # an axis of x is no column then
    caption = f"{words['x']}, shape {call.x.shape}{rows}"
    out = [Grid("x", order, tuple(whole_inputs), inputs, focus, slices_across(inputs), caption)]
    if call.w is not None:
        out.append(filters(call, call.w.shape, tap, words["w"], most_of_w))
    if y is not None:
        when = "" if call.fault is None else ", before padding cuts it off"
        caption = f"{words['y']}, shape {y.shape}{when}{rows}"
        out.append(Grid("y", order, tuple(whole_outputs), outputs, focus, slices_across(outputs), caption))
    return out


def within(whole: Sequence[Range], order: Sequence[int], most: Mapping[int, Range]) -> list[Range]:
    """Each range as far as it lies in the one that there is for its axis."""
    limits = [most.get(axis, of_axis) for axis, of_axis in zip(order, whole, strict=True)]
    return [(max(a, c), max(a, min(b, d))) for (a, b), (c, d) in zip(whole, limits, strict=True)]


def filters(call: Call, shape: Index, tap: Index | None, word: str, most: Mapping[int, Range]) -> Grid:
    rank = len(shape) - 2
    leading = call.arguments["layout"] == "channels_first"
    outer, inner, kernel = (0, 1, range(2, rank + 2)) if leading else (rank + 1, rank, range(rank))
    is_matrix = all(shape[axis] == 1 for axis in kernel)  # of a pointwise convolution
    order = (*kernel, inner, outer) if is_matrix else (outer, inner, *kernel)
    focus = tap or (0,) * len(shape)
    whole = tuple((0, shape[axis]) for axis in order)
    ranges = cropped(within(whole, order, most), [focus[axis] for axis in order])
    of_inner, of_outer = ("output", "input") if call.op == "conv_transpose" else ("input", "output")
    rows = f"; rows are {of_inner} channels" if rank == 1 or is_matrix else ""
    rows += f", columns {of_outer} channels" if is_matrix else ""
    return Grid("w", order, whole, ranges, (0,) * len(shape), slices_across(ranges), f"{word}, shape {shape}{rows}")


def result_of(call: Call) -> Array | None:
    """The result that is drawn: of a call that fails because padding cuts it off, all of it."""
    return call.y if call.fault is None else call.fault.whole


HEADING = 22  # height of the line above a panel
BETWEEN = 44  # panels


def arrange(panels: list[Grid], left: float, top: float) -> tuple[list[Grid], float, float]:
    """The panels where they take little room, and how wide and high they are together.

    Side by side; or the first one on the left and the others below one another on its right; or all below one another.
    """
    first, others = panels[0], panels[1:]
    flat = any(len(p.order) == 1 for p in panels)
    if not flat and sum(p.width for p in panels) + BETWEEN * len(others) <= WIDEST:
        columns = [[p] for p in panels]
    elif not flat and others and first.width + BETWEEN + max(p.width for p in others) <= WIDEST:
        columns = [[first], others]
    else:
        columns = [panels]
    placed, x, bottom = [], left, top
    for column in columns:
        y = top
        for panel in column:
            placed.append(replace(panel, left=x, top=y + HEADING))
            y += HEADING + panel.height + GAP
        x += max(p.width for p in column) + BETWEEN
        bottom = max(bottom, y - GAP)
    return placed, x - BETWEEN - left, bottom - top
