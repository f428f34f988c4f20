"""The cells that are drawn: arrays of any rank as panels of rows and columns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..explanation.calls import Call
from ..explanation.limits import cells_of_input

PADDING, OVERHANG = -1, -2


@dataclass(frozen=True)
class Grid:
    """An array with its padding. A cell has the number that its index has in ``extended``, row-major."""

    name: str
    shape: tuple[int, ...]  # of the array
    extended: tuple[int, ...]  # with padding
    origin: tuple[int, ...]  # where the array begins in it
    ends: tuple[int, ...]  # where the padding ends; what comes after is seen by windows that hang over
    positions: tuple[int, ...]  # the axes that windows lie on

    def cell(self, index: Sequence[int]) -> int:
        """The number of a cell; the index may lie in the padding."""
        out = 0
        for at, n, first in zip(index, self.extended, self.origin, strict=True):
            out = out * n + at + first
        return out

    def as_json(self) -> dict[str, Any]:
        placed = sorted(self.positions)
        columns = placed[-1] if placed else len(self.shape) - 1
        rows = placed[-2] if len(placed) > 1 else None
        others = [i for i in range(len(self.shape)) if i not in (rows, columns)]
        panels = []
        for fixed in itertools.product(*(range(self.extended[i]) for i in others)):
            names = [":"] * len(self.shape)
            index = [-first for first in self.origin]
            for i, at in zip(others, fixed, strict=True):
                index[i] = at - self.origin[i]
                names[i] = str(index[i])
            panels.append({"label": f"{self.name}[{', '.join(names)}]" if others else "", "first": self.cell(index)})
        steps = np.cumprod([1, *self.extended[:0:-1]])[::-1].tolist()
        return {
            "name": self.name,
            "shape": list(self.shape),
            "rows": None if rows is None else self.line(rows, steps),
            "columns": self.line(columns, steps),
            "panels": panels,
            "elements": self.elements(),
        }

    def line(self, axis: int, steps: list[int]) -> dict[str, Any]:
        """Rows or columns: how many, how far apart their cells' numbers are, and the index of the first."""
        return {"number": self.extended[axis], "step": steps[axis], "first": -self.origin[axis], "axis": axis}

    def elements(self) -> list[int]:
        """For each cell its flat index in the array, or PADDING, or OVERHANG."""
        lines = []
        for n, size, first, end in zip(self.shape, self.extended, self.origin, self.ends, strict=True):
            at = np.arange(size) - first
            lines.append(np.where((at >= 0) & (at < n), at, np.where(at < end, PADDING, OVERHANG)))
        places = np.meshgrid(*lines, indexing="ij") if lines else [np.zeros(())]
        worst = np.minimum.reduce(places)
        flat = np.zeros(self.extended, np.int64)
        for place, n in zip(places, self.shape, strict=True):
            flat = flat * n + place
        out: list[int] = np.where(worst < 0, worst, flat).ravel().tolist()
        return out


def input_grid(call: Call) -> Grid:
    """Of x: with its padding, and with the channels that filters take and it does not have."""
    shape = call.x.shape
    origin, ends = [0] * len(shape), list(shape)
    if call.op != "conv_transpose":
        for axis in call.axes:
            origin[axis.position] = axis.low
            ends[axis.position] = axis.n + axis.high
    extended, positions = cells_of_input(call), tuple(axis.position for axis in call.axes)
    return Grid("x", shape, tuple(extended), tuple(origin), tuple(ends), positions)


def plain_grid(name: str, shape: tuple[int, ...], positions: Sequence[int]) -> Grid:
    return Grid(name, shape, shape, (0,) * len(shape), shape, tuple(positions))
