"""Which elements each window sees: one axis at a time, and all axes of an array.

Notation per axis: ``n`` input size, ``o`` output size, ``k`` taps, ``s`` stride, ``d`` dilation, ``low``/``high``
padding; output ``j`` sees the elements ``j*s - low + t*d`` for ``t`` in ``0 … k-1``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import cache

MOST_BLOCKS = 1024  # of an axis that are remembered
MOST_LISTED = 2**22  # elements of the transpose of a single window


@dataclass(frozen=True)
class Axis:
    """One pooled axis: ``o`` windows of ``k`` elements on ``n`` elements.

    Windows without a common stride (the bins of adaptive pooling, transposes) are listed instead: window ``j``
    sees ``lengths[j]`` elements from ``starts[j]`` on, ``d`` apart, and ``k`` is the largest length.
    """

    position: int
    n: int
    o: int
    k: int
    s: int
    d: int
    low: int
    high: int
    starts: tuple[int, ...] | None = field(default=None, hash=False)  # long: left to the comparison
    lengths: tuple[int, ...] | None = field(default=None, hash=False)
    spread: tuple[int, int, int] | None = None  # of a transpose: stride, taps and low padding of what it is of

    def __reduce__(self) -> tuple[Any, ...]:
        if self.are_bins:  # lists that are long, and quick to make again
            return bins, (self.position, self.n, self.o)
        return Axis, tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        lists = (b"" if array is None else np.array(array, np.int64).tobytes() for array in (self.starts, self.lengths))
        return "cenote.Axis", self.position, self.n, self.o, self.k, self.s, self.d, self.low, self.high, *lists

    @cached_property
    def are_bins(self) -> bool:
        return self.starts is not None and self.o > 0 and self == bins(self.position, self.n, self.o)

    @property
    def first(self) -> NDArray[np.int64]:
        """(o,): the coordinate of each window's first element."""
        if self.starts is not None:
            return np.array(self.starts, dtype=np.int64)
        return np.arange(self.o, dtype=np.int64) * self.s - self.low

    @property
    def elements(self) -> NDArray[np.int64]:
        """(o, k): the coordinate of each window's elements, outside of 0 … n-1 where it is not a real one."""
        taps = np.arange(self.k, dtype=np.int64)
        elements = self.first[:, None] + taps * self.d
        if self.lengths is not None:
            elements[taps >= np.array(self.lengths, dtype=np.int64)[:, None]] = self.n
        return elements

    @property
    def valid_taps(self) -> range:
        """The taps that fall on a real element for some window: however large the padding is, they are few."""
        if self.starts is not None or not self.o or not self.n:
            return range(self.k)
        begin = max(0, -(((self.o - 1) * self.s - self.low) // self.d))
        return range(begin, min(self.k, (self.n - 1 + self.low) // self.d + 1))

    def number(self, padded: bool) -> NDArray[np.int64]:
        """(o,): how many elements of each window are real, or inside the padded input."""
        if self.lengths is not None:
            return np.array(self.lengths, np.int64)
        first = self.first
        low, high = (-self.low, self.n + self.high) if padded else (0, self.n)
        begin = np.maximum(0, -((first - low) // self.d))
        end = np.minimum(self.k, (high - 1 - first) // self.d + 1)
        found: NDArray[np.int64] = np.maximum(0, end - begin)
        return found

    def tap(self, t: int) -> tuple[slice, slice]:
        """The windows for which element ``t`` is a real one, and those elements."""
        begin = max(0, -((t * self.d - self.low) // self.s))
        end = min(self.o, (self.n - 1 + self.low - t * self.d) // self.s + 1)
        if end <= begin:
            return slice(0, 0), slice(0, 0)
        first = begin * self.s - self.low + t * self.d
        return slice(begin, end), slice(first, first + (end - begin - 1) * self.s + 1, self.s)

    @property
    def transposed(self) -> Axis:
        """The axis with the roles of elements and windows exchanged."""
        # A single window has no next one that its stride would lead to. Lists as long as a large one take seconds.
        strided = self.s == 1 or (self.o == 1 and self.n > MOST_LISTED)
        if self.starts is None and strided:  # window c sees outputs c + low - t·d: the taps in reverse order
            low = (self.k - 1) * self.d - self.low
            if low >= 0:
                high = self.n + (self.k - 1) * self.d - low - self.o
                return Axis(self.position, self.o, self.n, self.k, 1, self.d, low, max(high, 0))
        first = np.full(self.n, self.o, np.int64)
        number = np.zeros(self.n, np.int64)
        if self.starts is None and self.o < len(self.valid_taps):
            for j in range(self.o):
                begin = j * self.s - self.low
                skipped = max(0, -(begin // self.d))
                elements = slice(begin + skipped * self.d, max(0, begin + (self.k - 1) * self.d + 1), self.d)
                first[elements] = np.minimum(first[elements], j)
                number[elements] += 1
        elif self.starts is None:
            for tap in self.valid_taps:
                windows, elements = self.tap(tap)
                first[elements] = np.minimum(first[elements], np.arange(windows.start, windows.stop))
                number[elements] += 1
        else:
            hits = self.real
            seen = self.elements[hits]
            np.minimum.at(first, seen, np.nonzero(hits)[0])
            np.add.at(number, seen, 1)
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

    def block(self, begin: int, end: int) -> tuple[slice, Axis]:
        """Windows ``begin`` … ``end``−1 alone: the elements that they need, and the axis of those elements."""
        if self.starts is not None and self.lengths is not None:
            return self.listed_block(begin, end)
        first = begin * self.s - self.low
        last = max(first, (end - 1) * self.s - self.low + (self.k - 1) * self.d)
        start, stop = min(max(first, 0), self.n), max(0, min(last + 1, self.n))
        if end <= begin or stop <= start:  # nothing but padding, all of it in front: behind it lies the overhang only
            low = max(0, min(last + 1, self.n + self.high) - first)
            return slice(start, start), replace(self, n=0, o=max(end - begin, 0), low=low, high=0)
        high = max(0, min(last + 1, self.n + self.high) - stop)
        axis = replace(self, n=stop - start, o=end - begin, low=start - first, high=high)
        return slice(start, stop), axis

    def listed_block(self, begin: int, end: int) -> tuple[slice, Axis]:
        starts = np.array(self.starts[begin:end], np.int64)  # type: ignore[index]
        lengths = np.array(self.lengths[begin:end], np.int64)  # type: ignore[index]
        seen = lengths > 0
        start = int(starts[seen].min()) if seen.any() else 0
        stop = int((starts + (lengths - 1) * self.d)[seen].max()) + 1 if seen.any() else 0
        spread = None
        if self.spread is not None:
            stride, taps, low = self.spread
            low += begin - start * stride
            spread = (stride, taps, low) if low >= 0 else None
        axis = replace(
            self,
            n=stop - start,
            o=len(starts),
            starts=tuple(np.where(seen, starts - start, 0).tolist()),
            lengths=tuple(lengths.tolist()),
            spread=spread,
        )
        return slice(start, stop), axis

    def windows_of(self, begin: int, end: int) -> tuple[int, int]:
        """A range of windows with all that see one of the elements ``begin`` … ``end``−1."""
        if self.starts is not None:
            first, last = self.ends
            hits = np.nonzero((first < end) & (last >= begin))[0]
            return (int(hits[0]), int(hits[-1]) + 1) if hits.size and end > begin else (0, 0)
        low = max(0, -((-(begin + self.low - (self.k - 1) * self.d)) // self.s))
        high = min(self.o, (end - 1 + self.low) // self.s + 1)
        return (low, high) if end > begin and low < high else (0, 0)

    @cached_property
    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(o,) each, of windows that are listed: the first and the last element, in wrong order for an empty one."""
        first, lengths = self.first, np.array(self.lengths, np.int64)
        last = first + (lengths - 1) * self.d
        return np.where(lengths > 0, first, self.n), np.where(lengths > 0, last, -1)

    def cut_windows(self, places: Sequence[int]) -> list[int]:
        """Where to cut the windows if the elements are cut at ``places``: a window goes where its centre lies."""
        if self.starts is not None:
            centres = np.maximum.accumulate(np.add(*self.ends))  # in order also where one is empty
            return [int(j) for j in np.searchsorted(centres, 2 * np.array(places, np.int64) - 1)]
        if self.s == 1 and self.o == self.n:
            return list(places)
        span = (self.k - 1) * self.d
        return [min(max(0, -((span + 1 - 2 * (b + self.low)) // (2 * self.s))), self.o) for b in places]

    def cut_elements(self, places: Sequence[int]) -> list[int]:
        """Where to cut the elements if the windows are cut at ``places``: an element goes to the window around it."""
        if self.starts is not None:
            return [self.starts[j] if j < self.o else self.n for j in places]
        if self.s == 1 and self.o == self.n:
            return list(places)
        span = (self.k - 1) * self.d
        return [min(max(0, -((self.s - span - 2 * (j * self.s - self.low)) // 2)), self.n) for j in places]

    @property
    def real(self) -> NDArray[np.bool_]:
        """(o, k): the elements that are elements of the input."""
        elements = self.elements
        return (elements >= 0) & (elements < self.n)

    @property
    def padded(self) -> NDArray[np.bool_]:
        """(o, k): the elements inside the padded input; the overhang of ``ceil_mode`` is not."""
        elements = self.elements
        return (elements >= -self.low) & (elements < self.n + self.high)


def bins(position: int, n: int, o: int) -> Axis:
    """The axis of adaptive pooling: window ``i`` sees the elements floor(i·n/o) … ceil((i+1)·n/o)."""
    if o and n % o == 0:
        return Axis(position, n, o, n // o, n // o, 1, 0, 0)
    axis: Axis | None = cache.lookup(("bins", position, n, o))
    if axis is None:
        # Room for all of them is asked for first, so that far too many are a MemoryError and not a machine that swaps.
        first = np.fromiter((i * n // o for i in range(o)), np.int64, o)
        starts = tuple(first.tolist())
        lengths = tuple(-(-(i + 1) * n // o) - start for i, start in enumerate(starts))
        axis = Axis(position, n, o, max(lengths, default=1), 1, 1, 0, 0, starts, lengths)
        cache.insert(("bins", position, n, o), axis, 128 * o)
    return axis


@dataclass(frozen=True)
class Geometry:
    """A window on an array of a given shape: its axes in the window's order, and the result's shape."""

    shape: tuple[int, ...]
    axes: tuple[Axis, ...]
    of: Geometry | None = field(default=None, compare=False, repr=False)  # what this is the transpose of
    over_colours: bool = field(default=False, compare=False, repr=False)  # of a picture, and nobody named the axes

    @cached_property
    def key(self) -> int:
        return hash((self.shape, self.axes))

    def __hash__(self) -> int:  # geometries are keys of the cache
        return self.key

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "cenote.Geometry", self.shape, self.axes

    def __reduce__(self) -> tuple[Any, ...]:
        if self.of is not None:
            return transpose_of, (self.of,)
        return Geometry, (self.shape, self.axes)

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
        """How many elements of each window are real, or inside the padded input; broadcasts against the output."""
        out = np.ones((1,) * len(self.shape), np.int64)
        for axis in self.axes:
            out = out * axis.number(padded).reshape([-1 if i == axis.position else 1 for i in range(len(self.shape))])
        return out

    def even_count(self, padded: bool) -> int | None:
        """The count of all windows, where it is the same for all."""
        return self.even_counts[padded]

    @cached_property
    def even_counts(self) -> tuple[int | None, int | None]:
        """Of real elements, and of those inside the padded input."""
        found: list[int | None] = []
        for padded in (False, True):
            numbers = [axis.number(padded) for axis in self.axes]
            even = all(number.size and (number == number[0]).all() for number in numbers)
            found.append(math.prod(int(number[0]) for number in numbers) if even else None)
        return found[0], found[1]

    @cached_property
    def valid_tap_count(self) -> int:
        """How many elements of a window are real for some window."""
        return math.prod(len(axis.valid_taps) for axis in self.axes)

    @property
    def bytes(self) -> int:
        """About what it takes in memory, in Python and in the core."""
        return 2048 + 128 * sum(axis.o for axis in self.axes if axis.starts is not None)

    @cached_property
    def empty_windows(self) -> tuple[bool, bool]:
        """Whether a window has no real element, and none inside the padded input."""
        real, padded = (any(0 in axis.number(p) for axis in self.axes) for p in (False, True))
        return real, padded

    def taps(self) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
        """For each element of the window, in row-major order: the windows for which it is real, and those elements.

        Slices of the output and of the input, for windows with a stride.
        """
        for taps in itertools.product(*(axis.valid_taps for axis in self.axes)):
            to: list[slice] = [slice(None)] * len(self.shape)
            of: list[slice] = [slice(None)] * len(self.shape)
            for axis, tap in zip(self.axes, taps, strict=True):
                to[axis.position], of[axis.position] = axis.tap(tap)
            if all(to[axis.position].stop > to[axis.position].start for axis in self.axes):
                yield tuple(to), tuple(of)

    def block(self, ranges: Sequence[tuple[int, int]]) -> tuple[tuple[slice, ...], Geometry]:
        """A part of the output, given as a range on each of its axes: the slab of the input that it needs, and the
        geometry of that slab with its share of the padding."""
        slab = [slice(*r) for r in ranges]
        shape = [max(r[1] - r[0], 0) for r in ranges]
        axes = []
        known = self.blocks_of_axes
        for axis in self.axes:
            key = axis.position, *ranges[axis.position]
            found = known.get(key)
            if found is None:
                if len(known) >= MOST_BLOCKS:
                    known.clear()
                found = known[key] = axis.block(*ranges[axis.position])
            elements, part = found
            slab[axis.position], shape[axis.position] = elements, part.n
            axes.append(part)
        return tuple(slab), Geometry(tuple(shape), tuple(axes))

    @cached_property
    def blocks_of_axes(self) -> dict[tuple[int, int, int], tuple[slice, Axis]]:
        """Of axes by position and range: 10,000 blocks of a plane are 100 of each of its axes."""
        return {}

    def batched(self, size: int) -> Geometry:
        """The same windows on an array with one more leading axis."""
        axes = tuple(replace(axis, position=axis.position + 1) for axis in self.axes)
        of = None if self.of is None else self.of.batched(size)
        return Geometry((size, *self.shape), axes, of)

    def windows_of(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """The part of the output whose windows see a part of the input: a range on each axis."""
        out = list(ranges)
        for axis in self.axes:
            out[axis.position] = axis.windows_of(*ranges[axis.position])
        return out

    @property
    def transposed(self) -> Geometry:
        """The geometry whose window ``i`` sees the outputs that see element ``i`` here: its sums are the adjoint."""
        if self.of is not None:
            return self.of
        back: Geometry | None = cache.lookup(("transposed", self))
        if back is None:
            back = Geometry(self.out_shape, tuple(axis.transposed for axis in self.axes), self)
            cache.insert(("transposed", self), back, back.bytes)
        return back


def transpose_of(geometry: Geometry) -> Geometry:
    return geometry.transposed
