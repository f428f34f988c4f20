"""Which cells each window sees: one axis at a time, and all of them laid on an array.

Notation per axis: ``n`` input size, ``o`` output size, ``k`` taps, ``s`` stride, ``d`` dilation, ``low``/``high``
padding; output ``j`` sees the cells ``j*s - low + t*d`` for ``t`` in ``0 … k-1``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Axis:
    """One pooled axis: ``o`` windows of ``k`` cells on ``n`` cells.

    Windows without a common stride (the bins of adaptive pooling, transposes) are listed instead: window ``j``
    sees ``lengths[j]`` cells from ``starts[j]`` on, ``d`` apart, and ``k`` is the largest length.
    """

    position: int
    n: int
    o: int
    k: int
    s: int
    d: int
    low: int
    high: int
    starts: tuple[int, ...] | None = None
    lengths: tuple[int, ...] | None = None
    spread: tuple[int, int, int] | None = None  # of a transpose: stride, taps and low padding of what it is of

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """(o, k): the coordinate of each window's cells, outside of 0 … n-1 where it is not a real one."""
        taps = np.arange(self.k, dtype=np.int64)
        if self.starts is None or self.lengths is None:
            first = np.arange(self.o, dtype=np.int64) * self.s - self.low
            return first[:, None] + taps * self.d
        cells = np.array(self.starts, dtype=np.int64)[:, None] + taps * self.d
        cells[taps >= np.array(self.lengths, dtype=np.int64)[:, None]] = self.n
        return cells

    @property
    def live(self) -> range:
        """The taps that fall on a real cell for some window: however large the padding is, they are few."""
        if self.starts is not None or not self.o or not self.n:
            return range(self.k)
        begin = max(0, -(((self.o - 1) * self.s - self.low) // self.d))
        return range(begin, min(self.k, (self.n - 1 + self.low) // self.d + 1))

    def number(self, padded: bool) -> NDArray[np.int64]:
        """(o,): how many cells of each window are real, or inside the padded input."""
        if self.lengths is not None:
            return np.array(self.lengths, np.int64)
        first = np.arange(self.o, dtype=np.int64) * self.s - self.low
        low, high = (-self.low, self.n + self.high) if padded else (0, self.n)
        begin = np.maximum(0, -((first - low) // self.d))
        end = np.minimum(self.k, (high - 1 - first) // self.d + 1)
        found: NDArray[np.int64] = np.maximum(0, end - begin)
        return found

    def tap(self, t: int) -> tuple[slice, slice]:
        """The windows for which cell ``t`` is a real one, and those cells."""
        begin = max(0, -((t * self.d - self.low) // self.s))
        end = min(self.o, (self.n - 1 + self.low - t * self.d) // self.s + 1)
        if end <= begin:
            return slice(0, 0), slice(0, 0)
        first = begin * self.s - self.low + t * self.d
        return slice(begin, end), slice(first, first + (end - begin - 1) * self.s + 1, self.s)

    @cached_property
    def transposed(self) -> Axis:
        """The axis with the roles of cells and windows exchanged."""
        if self.starts is None and self.s == 1:  # window c sees outputs c + low - t·d: the taps in reverse order
            low = (self.k - 1) * self.d - self.low
            if low >= 0:
                high = self.n + (self.k - 1) * self.d - low - self.o
                return Axis(self.position, self.o, self.n, self.k, 1, self.d, low, max(high, 0))
        first = np.full(self.n, self.o, np.int64)
        number = np.zeros(self.n, np.int64)
        if self.starts is None:
            for tap in self.live:
                windows, cells = self.tap(tap)
                first[cells] = np.minimum(first[cells], np.arange(windows.start, windows.stop))
                number[cells] += 1
        else:
            hits = self.real
            np.minimum.at(first, self.cells[hits], np.nonzero(hits)[0])
            np.add.at(number, self.cells[hits], 1)
        first[number == 0] = 0
        spread = self.starts is None and self.d == 1
        return Axis(
            self.position,
            n=self.o,
            o=self.n,
            k=int(number.max(initial=1)),
            s=1,
            d=1 if self.starts is not None else self.d // math.gcd(self.s, self.d),
            low=0,
            high=0,
            starts=tuple(first.tolist()),
            lengths=tuple(number.tolist()),
            spread=(self.s, self.k, self.low) if spread else None,
        )

    @cached_property
    def real(self) -> NDArray[np.bool_]:
        """(o, k): the cells that are cells of the input."""
        cells = self.cells
        return (cells >= 0) & (cells < self.n)

    @cached_property
    def padded(self) -> NDArray[np.bool_]:
        """(o, k): the cells inside the padded input; the overhang of ``ceil_mode`` is not."""
        cells = self.cells
        return (cells >= -self.low) & (cells < self.n + self.high)


@dataclass(frozen=True)
class Geometry:
    """A window laid on an array of a given shape: its axes in the window's order, and the result's shape."""

    shape: tuple[int, ...]
    axes: tuple[Axis, ...]
    made: dict[object, object] = field(default_factory=dict, compare=False, repr=False)  # kept here by other layers

    @cached_property
    def out_shape(self) -> tuple[int, ...]:
        out = list(self.shape)
        for axis in self.axes:
            out[axis.position] = axis.o
        return tuple(out)

    @cached_property
    def positions(self) -> tuple[int, ...]:
        return tuple(axis.position for axis in self.axes)

    def counts(self, padded: bool) -> NDArray[np.int64]:
        """How many cells of each window are real, or inside the padded input; broadcasts against the output."""
        out = np.ones((1,) * len(self.shape), np.int64)
        for axis in self.axes:
            out = out * axis.number(padded).reshape([-1 if i == axis.position else 1 for i in range(len(self.shape))])
        return out

    def even_count(self, padded: bool) -> int | None:
        """The count of all windows, where it is the same for all."""
        key = f"even {padded}"
        if key not in self.made:
            numbers = [axis.number(padded) for axis in self.axes]
            even = all(number.size and (number == number[0]).all() for number in numbers)
            self.made[key] = math.prod(int(number[0]) for number in numbers) if even else None
        return self.made[key]  # type: ignore[return-value]

    def taps(self) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
        """For each cell of the window, in row-major order: the windows for which it is real, and those cells.

        Slices of the output and of the input, for windows with a stride.
        """
        for taps in itertools.product(*(axis.live for axis in self.axes)):
            to: list[slice] = [slice(None)] * len(self.shape)
            of: list[slice] = [slice(None)] * len(self.shape)
            for axis, tap in zip(self.axes, taps, strict=True):
                to[axis.position], of[axis.position] = axis.tap(tap)
            if all(to[axis.position].stop > to[axis.position].start for axis in self.axes):
                yield tuple(to), tuple(of)

    @cached_property
    def transposed(self) -> Geometry:
        """The geometry whose window ``c`` sees the outputs that see cell ``c`` here: sums over it are the adjoint."""
        back = Geometry(self.out_shape, tuple(axis.transposed for axis in self.axes))
        back.__dict__["transposed"] = self  # a cached property: the adjoint of the adjoint is this one
        return back
