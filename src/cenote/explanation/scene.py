"""A picture as data: squares with texts, marks on them, boxes, lines and words. ``svg.py`` and ``png.py`` draw it.

A picture has a base, which all windows share, and one overlay for each window: the marks on the elements that it sees.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..arguments.arrays import Array
from ..geometry.axes import Axis
from .calls import Call, channel_axis
from .faults import MEANINGS, SUMMARIES, focus_of_channels, role
from .formula import formula, place, remarks, result, shares, short
from .layout import Grid, arrange, grids, result_of
from .rounding import number
from .shapes import Box, Cell, Label, Mark, Overlay, boxes_around, labels_of, links_between
from .sizes import describe
from .style import SIZES
from .windows import Element, Index, Window, pad_value, places_of, reaching, windows_that_see

MARGIN = 20
LINE = 19  # height of a line of text
NARROWEST = 620
ADVANCE = 0.6  # width of a character of a monospaced font, of its size
# The marks, and what a legend says of them.
MARKS = {
    "seen": "seen by the window",
    "chosen": "chosen",
    "tied": "ties, is not chosen",
    "middle": "decides the result",
    "flow": "gets gradient",
    "omitted": "NaN, omitted",
    "pad": "padding in the window",
    "hang": "beyond the end: not counted",
    "tap": "weight that is used",
    "out": "its output",
}
KINDS = {
    "padding": "padding",
    "unseen": "seen by no window",
    "cropped": "cut off by padding",
}


def percentage(value: float) -> str:
    """``99.97`` is 100 %, and what is less than a hundredth has no room."""
    if abs(value) >= 10:
        return f"{value:.0f}%"
    return f"{value:.2g}%" if abs(value) >= 0.01 or not value else "<.01%"


GRADIENTS = "Large numbers: what an element gets of all outputs; small ones: of this one."


@dataclass
class Scene:
    """A picture of a call.

    Parameters
    ----------
    call : Call
        What is drawn.
    windows : sequence of Window
        The windows that get overlays; the picture shows the part of the arrays around ``windows[focus]``.
    gradient : array or None
        Draw the derivatives: what each element of ``x`` gets if every output has a cotangent of 1.
    """

    call: Call
    windows: Sequence[Window]
    gradient: Array | None = None
    notices: Sequence[str] = field(default_factory=tuple)
    focus: int = 0
    left_out_of_window: int = 0  # how many elements the window has, where it has more than are listed

    @cached_property
    def _arranged(self) -> tuple[list[Grid], float, float]:
        call = self.call
        ndim = call.x.ndim
        focus, first, tap = (0,) * ndim, [0] * ndim, None
        words = {"x": "input x", "w": "filters w", "y": "output y"}
        if self.gradient is not None:
            words |= {"x": "gradient of x", "y": "cotangent of y"}
        if self.windows:
            window = self.windows[self.focus]
            focus = window.index if call.y is not None else focus
            seen = (*window.elements, *window.padding, *window.overhang)
            if seen:
                first = [min(e.index[i] for e in seen) for i in range(ndim)]
                tap = seen[0].tap
            if call.fault is not None and call.fault.subject == "channels":  # around the last one with a partner
                first[channel_axis(call)], tap = focus_of_channels(call, call.fault)
            elif call.y is None:  # the window does not fit: around the end of the input
                for axis in call.axes:
                    inside = axis.d * (axis.k - 1) < axis.n + axis.low + axis.high
                    end = -axis.low if inside else axis.n + axis.high - 5
                    first[axis.position] = max(first[axis.position], end)
        return arrange(grids(call, focus, tuple(first), tap, words), MARGIN, 0)

    @cached_property
    def grids(self) -> list[Grid]:
        return [replace(grid, top=grid.top + self.panel_top) for grid in self._arranged[0]]

    @cached_property
    def heading(self) -> list[str]:
        """The call, in as many lines as it needs."""
        return self.wrapped(self.call.text, "title")

    @property
    def panel_top(self) -> float:
        return MARGIN + LINE * len(self.heading)

    def grid(self, name: str) -> Grid | None:
        return next((g for g in self.grids if g.name == name), None)

    def contains(self, index: Index) -> bool:
        """Whether all elements that an output sees are drawn, on each axis of the window; channels may be left out."""
        grid = self.grids[0]
        where = reaching if self.call.op == "conv_transpose" else places_of
        for axis in self.call.axes:
            begin, end = grid.ranges[grid.order.index(axis.position)]
            places = [at for at, _ in where(axis, index[axis.position])]
            if places and not begin <= min(places) <= max(places) < end:
                return False
        return True

    def shows(self, window: Window) -> bool:
        """Whether something is drawn of what an output is made of: of the elements that it sees, and of its weights."""
        seen = (*window.elements, *window.padding, *window.overhang)
        x, w = self.grid("x"), self.grid("w")
        elements = x is None or any(x.place(e.index) for e in seen)
        weights = w is None or any(w.place(e.tap) for e in seen if e.tap is not None)
        return not seen or (elements and weights)

    @property
    def width(self) -> float:
        return max(self._arranged[1], NARROWEST) + 2 * MARGIN

    @property
    def panel_bottom(self) -> float:
        """Where the panels end, and text begins."""
        return self._arranged[2] + self.panel_top

    # ---------------------------------------------------------------------------------------------- the base

    @cached_property
    def cells(self) -> list[Cell]:
        out = []
        for grid in self.grids:
            array = self.arrays[grid.name]
            for index in grid.indices():
                corner = grid.place(index)
                if corner is not None and array is not None:
                    kind = self.kind_of(grid.name, array, index)
                    out.append(Cell(*corner, grid.name, index, kind, self.text_of(grid.name, array, index, kind)))
        return out

    @cached_property
    def arrays(self) -> dict[str, Array | None]:
        return {"x": self.call.x, "w": self.call.w, "y": result_of(self.call)}

    def kind_of(self, name: str, array: Array, index: Index) -> str:
        inside = all(0 <= at < n for at, n in zip(index, array.shape, strict=True))
        if name == "y":
            return "real" if inside and self.call.y is not None else "cropped"
        if name == "w":
            return "real"
        if inside:
            return "real" if all(self.is_seen(axis, index[axis.position]) for axis in self.call.axes) else "unseen"
        if self.call.w is not None and index[channel_axis(self.call)] >= array.shape[channel_axis(self.call)]:
            return "overhang"
        padded = all(-a.low <= index[a.position] < a.n + a.high for a in self.call.axes)
        return "padding" if padded else "overhang"

    def is_seen(self, axis: Axis, at: int) -> bool:
        """Whether a window sees elements at this coordinate; yes, where that is not asked."""
        key = axis.position, at
        if key not in self._seen:
            asked = self.call.y is not None and self.call.y.size > 0 and self.call.op != "conv_transpose"
            self._seen[key] = not asked or any(True for _ in windows_that_see(axis, at))
        return self._seen[key]

    @cached_property
    def _seen(self) -> dict[tuple[int, int], bool]:
        return {}

    def text_of(self, name: str, array: Array, index: Index, kind: str) -> str:
        if kind == "padding":
            return short(pad_value(self.call)) if self.gradient is None else ""
        if kind == "cropped" and self.call.fault is not None:
            lows = {axis.position: axis.low for axis in self.call.axes}
            return short(number(array[tuple(at + lows.get(i, 0) for i, at in enumerate(index))]))
        if kind not in ("real", "unseen"):
            return ""
        if self.gradient is None or name == "w":
            return short(number(array[index]))
        return short(float(self.gradient[index])) if name == "x" else "1"

    @cached_property
    def labels(self) -> list[Label]:
        """The call, headings, names of slices, and indices along the axes."""
        out = [Label(MARGIN, MARGIN + 6 + i * LINE, line, "title") for i, line in enumerate(self.heading)]
        return out + [label for grid in self.grids for label in labels_of(grid)]

    # ------------------------------------------------------------------------------------------- the overlays

    @cached_property
    def overlays(self) -> list[Overlay]:
        return [self.overlay(window) for window in self.windows]

    def step_of(self, cell: Cell) -> int | None:
        """The number of the overlay of an output; None if it has none, or is no output."""
        return self._steps.get(cell.index) if cell.array == "y" else None

    @cached_property
    def _steps(self) -> dict[Index, int]:
        return {window.index: i for i, window in enumerate(self.windows)} if self.call.y is not None else {}

    def overlay(self, window: Window) -> Overlay:
        x, w, y = self.grid("x"), self.grid("w"), self.grid("y")
        if self.call.fault is not None and self.call.fault.subject != "window":
            roles = ((cell, role(self.call, cell.array, cell.index)) for cell in self.cells)
            found = [Mark(cell.x, cell.y, kind, cell.array, cell.index) for cell, kind in roles if kind is not None]
            return Overlay(window, tuple(found), boxes_around([m for m in found if m.array == "x"], x), (), ())
        marks = []
        if x is not None:
            for kind, elements in (("", window.elements), ("pad", window.padding), ("hang", window.overhang)):
                for e in elements:
                    corner = x.place(e.index)
                    if corner is not None:
                        marks.append(Mark(*corner, kind or self.mark_of(e, window), "x", e.index, self.note_of(e)))
        if w is not None:
            taps = {e.tap for e in (*window.elements, *window.padding) if e.tap is not None}
            places = ((tap, w.place(tap)) for tap in sorted(taps))
            marks += [Mark(*corner, "tap", "w", tap) for tap, corner in places if corner is not None]
        boxes = boxes_around([m for m in marks if m.array == "x"], x)
        links: tuple[Box, ...] = ()
        out = None if y is None else y.place(window.index)
        if y is not None and out is not None:
            marks.append(Mark(*out, "out", "y", window.index))
            if x is not None and w is None and len(boxes) == 1:
                links = links_between(boxes[0], out, x, y)
        return Overlay(window, tuple(marks), boxes, links, tuple(self.lines_of(window)))

    def mark_of(self, e: Element, window: Window) -> str:
        if e.index in window.omitted:
            return "omitted"
        if self.gradient is not None:
            return "flow" if e.gradient else "seen"
        if e.index == window.chosen:
            return "chosen"
        if e.index in window.selected:
            return "tied" if window.chosen is not None else "middle"
        return "seen"

    def note_of(self, e: Element) -> str:
        """The small text below the value: a weight, or what an element gets of the gradient."""
        if self.gradient is not None:
            return f"{'' if e.gradient < 0 else '+'}{short(e.gradient)}" if e.gradient else ""  # type: ignore[operator]
        if e.weight is not None:
            return f"*{short(e.weight)}"
        if self.call.op == "smooth_max_pool" and isinstance(e.gradient, float) and e.gradient == e.gradient:
            return percentage(100 * e.gradient)
        return ""

    def lines_of(self, window: Window) -> list[str]:
        call = self.call
        if call.y is None:
            return []
        if self.left_out_of_window:
            text = f"{place('y', window.index)} = {call.op} of {self.left_out_of_window} elements"
            return [f"{text} = {result(call, window)}" if self.gradient is None else text, ""]
        if self.gradient is None:
            return [formula(call, window), "; ".join(remarks(call, window))]
        got = [e for e in window.elements if e.gradient]
        gets = [f"{place('x', e.index)} gets {short(e.gradient)}" for e in got]
        more = f", ... ({len(gets)} elements)" if len(gets) > 6 else ""
        where = ", ".join(gets[:6]) + more if gets else "no element gets any of it"
        return [f"A cotangent of 1 on {place('y', window.index)}: {where}.", GRADIENTS]

    # -------------------------------------------------------------------------------------------------- words

    def wrapped(self, text: str, role: str = "text") -> list[str]:
        """A text in lines that fit the picture."""
        most = int((self.width - 2 * MARGIN) / (ADVANCE * SIZES[role]))
        return textwrap.wrap(text, most) or [""]

    @cached_property
    def footer(self) -> list[str]:
        """The size arithmetic, what is not drawn."""
        texts = describe(self.call).splitlines()[1 if self.call.problem is None else 2 :]
        return [line for text in (*texts, *self.left_out, *self.notices) for line in self.wrapped(text)]

    @cached_property
    def overlay_lines(self) -> list[list[str]]:
        """Of every overlay: its formula and remarks; of a call that fails, why it does."""
        if self.call.problem is not None:
            return [self.wrapped(self.call.problem, "problem")]
        return [[part for line in o.lines if line for part in self.wrapped(line, "formula")] for o in self.overlays]

    @cached_property
    def left_out(self) -> list[str]:
        """What is not drawn, in words."""
        out = []
        for grid in self.grids:
            array = self.arrays[grid.name]
            shape = () if array is None else array.shape
            if array is not None and not array.size and not any(grid.indices()):
                out.append(f"{grid.name} has no elements.")
                continue
            parts = []
            for axis, whole, (begin, end) in zip(grid.order, grid.whole, grid.ranges, strict=True):
                n = shape[axis]
                if grid.name == "y" and self.call.y is None:  # all of it is cut off, from below 0 on
                    begin, end = begin - whole[0], end - whole[0]
                shown = max(0, min(end, n) - max(begin, 0))
                if 0 < shown < n:
                    part = f"{max(begin, 0)} to {min(end, n) - 1}" if shown > 1 else f"index {max(begin, 0)}"
                    parts.append(f"{part} of {n} on axis {axis}")
                elif not shown and n:
                    parts.append(f"none of {n} on axis {axis}")
                beyond = whole[1] - whole[0] - n
                if end - begin - shown < beyond:
                    parts.append(f"{end - begin - shown} of {beyond} positions beyond it on axis {axis}")
            parts += [
                f"index {grid.fixed[axis]} of {n} on axis {axis}"
                for axis, n in enumerate(shape)
                if axis not in grid.order and n > 1
            ]
            if parts:
                out.append(f"Drawn of {grid.name}: {', '.join(parts)}.")
        return out

    @cached_property
    def legend(self) -> list[tuple[str, str]]:
        """The marks and kinds of squares in the picture, with their meaning."""
        marks = {mark.role for overlay in self.overlays for mark in overlay.marks}
        kinds = {cell.role for cell in self.cells if cell.role != "cropped" or self.call.fault is None}
        found = [(kind, words) for kind, words in self.meanings.items() if kind in marks]
        absent = (
            {"overhang": "not in x"} if self.call.fault is not None and self.call.fault.subject == "channels" else {}
        )
        return found + [(kind, words) for kind, words in (KINDS | absent).items() if kind in kinds]

    @property
    def meanings(self) -> dict[str, str]:
        """What the marks of this call mean."""
        if self.call.fault is not None:
            return MARKS | MEANINGS[self.call.fault.subject]
        return MARKS | {"tied": "ties, shares the gradient equally"} if shares(self.call) else MARKS

    @property
    def title(self) -> str:
        return f"cenote: {self.call.text}"

    @property
    def summary(self) -> str:
        shape = f"Input of shape {self.call.x.shape}"
        if self.call.fault is not None:
            return f"{shape}; {SUMMARIES[self.call.fault.subject]}"
        return shape if self.call.y is None else f"{shape}, output of shape {self.call.y.shape}"

    @property
    def description(self) -> str:
        """The summary, and the formula of the first window."""
        first = [line for overlay in self.overlays[:1] for line in overlay.lines if line]
        return ". ".join([self.summary, *first])
