"""Linear maps on arrays: each knows how to apply itself and which map is its transpose, and nothing else.

This is all that a derivative consists of. A map is called with an array and gives an array of the same dtype;
``T`` is its transpose, and the transpose of that is the map again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from . import primitives
from .arrays import Array, DType
from .geometry import Geometry

Shape: TypeAlias = tuple[int, ...]


class LinearMap(Protocol):
    def __call__(self, x: Array) -> Array: ...
    @property
    def T(self) -> LinearMap: ...  # noqa: N802  the name that NumPy has for it


# ------------------------------------------------------------------------------------------------- windows


@dataclass(eq=False)
class WindowSum:
    """The sum of each window; its transpose gives each cell the sum of the windows that see it."""

    geometry: Geometry

    def __call__(self, x: Array) -> Array:
        return primitives.sum_pool(x, self.geometry, False)

    @property
    def T(self) -> WindowSum:  # noqa: N802
        return WindowSum(self.geometry.transposed)


@dataclass(eq=False)
class WindowAverage:
    """The sum of each window over one number for all of them; so is its transpose."""

    geometry: Geometry
    by: float

    def __call__(self, x: Array) -> Array:
        return primitives.avg_pool(x, self.geometry, False, self.by, True)

    @property
    def T(self) -> WindowAverage:  # noqa: N802
        return WindowAverage(self.geometry.transposed, self.by)


@dataclass(eq=False)
class Winner:
    """The chosen cell of each window, 0 where there is none."""

    geometry: Geometry
    offsets: Array

    def __call__(self, x: Array) -> Array:
        return primitives.gather(x, self.offsets, self.geometry)

    @property
    def T(self) -> ToWinner:  # noqa: N802
        return ToWinner(self)


@dataclass(eq=False)
class ToWinner:
    """Each window's value to its chosen cell, added up where a cell is chosen more than once."""

    T: Winner

    def __call__(self, g: Array) -> Array:
        return primitives.scatter(g, self.T.offsets, self.T.geometry)


@dataclass(eq=False)
class Tied:
    """The mean over all cells of each window that equal its result; of NaN results the winner's cell."""

    geometry: Geometry
    x: Array
    values: Array
    winner: Winner

    @cached_property
    def share(self) -> Array:
        """1 / the number of tied cells, 0 where the winner alone is followed."""
        number = np.zeros(self.values.shape, np.int64)
        for to, of in self.geometry.taps():
            number[to] += self.x[of] == self.values[to]
        with np.errstate(divide="ignore"):
            return np.where(number > 0, 1.0 / number, 0.0)

    def __call__(self, t: Array) -> Array:
        out = np.zeros(self.values.shape, t.dtype)
        for to, of in self.geometry.taps():
            out[to] += np.where(self.x[of] == self.values[to], t[of], np.zeros((), t.dtype))
        return np.where(self.share > 0, out * self.share, self.winner(t)).astype(t.dtype)

    @property
    def T(self) -> ToTied:  # noqa: N802
        return ToTied(self)


@dataclass(eq=False)
class ToTied:
    T: Tied

    def __call__(self, g: Array) -> Array:
        tied = self.T
        part = (g * tied.share).astype(g.dtype)
        out = tied.winner.T(np.where(tied.share > 0, np.zeros((), g.dtype), g))
        for to, of in tied.geometry.taps():
            out[of] += np.where(tied.x[of] == tied.values[to], part[to], np.zeros((), g.dtype))
        return out


@dataclass(eq=False)
class Unpooled:
    """Values to their places in zeros; of several for one place the last one stays."""

    indices: Array
    positions: tuple[int, ...]
    sizes: tuple[int, ...]

    def __call__(self, y: Array) -> Array:
        return primitives.unpool(y, self.indices, self.positions, self.sizes)

    @cached_property
    def stays(self) -> Array:
        """The values that are not overwritten, and not skipped."""
        names = np.arange(1, self.indices.size + 1, dtype=np.int64).reshape(self.indices.shape)
        kept: Array = (self.collect(self(names)) == names) & (np.asarray(self.indices, np.int64) >= 0)
        return kept

    def collect(self, g: Array) -> Array:
        rank = len(self.positions)
        last = tuple(range(-rank, 0))
        where = np.moveaxis(np.asarray(self.indices, np.int64), self.positions, last)
        if where.size == 0 or g.size == 0:
            return np.zeros(self.indices.shape, g.dtype)
        flat = np.moveaxis(g, self.positions, last).reshape(*where.shape[: where.ndim - rank], -1)
        rows = where.reshape(*where.shape[: where.ndim - rank], -1)
        taken = np.take_along_axis(flat, np.maximum(rows, 0), -1).reshape(where.shape)
        return np.moveaxis(taken, last, self.positions)

    @property
    def T(self) -> FromPlaces:  # noqa: N802
        return FromPlaces(self)


@dataclass(eq=False)
class FromPlaces:
    T: Unpooled

    def __call__(self, g: Array) -> Array:
        return np.where(self.T.stays, self.T.collect(g), np.zeros((), g.dtype))


# ---------------------------------------------------------------------------------------- elements and shapes


@dataclass(eq=False)
class Mask:
    """``x`` where ``mask`` holds and 0 elsewhere: not a product, which would make NaN of an infinity."""

    mask: Array

    def __call__(self, x: Array) -> Array:
        return np.where(self.mask, x, np.zeros((), x.dtype))

    @property
    def T(self) -> Mask:  # noqa: N802
        return self


@dataclass(eq=False)
class Divide:
    """``x / by``, in the dtype of ``x``."""

    by: Array

    def __call__(self, x: Array) -> Array:
        return (x / self.by).astype(x.dtype)

    @property
    def T(self) -> Divide:  # noqa: N802
        return self


@dataclass(eq=False)
class Cast:
    """To another dtype; numbers of the first are numbers of the second, or nearly."""

    before: DType
    after: DType

    def __call__(self, x: Array) -> Array:
        if x.dtype.kind == "c" and self.after.kind != "c":
            x = x.real  # the imaginary part of a real input's cotangent has nowhere to go
        with np.errstate(over="ignore"):
            return x.astype(self.after)

    @property
    def T(self) -> Cast:  # noqa: N802
        return Cast(self.after, self.before)


@dataclass(eq=False)
class Reshape:
    before: Shape
    after: Shape

    def __call__(self, x: Array) -> Array:
        return x.reshape(self.after)

    @property
    def T(self) -> Reshape:  # noqa: N802
        return Reshape(self.after, self.before)


@dataclass(eq=False)
class Permute:
    order: tuple[int, ...]

    def __call__(self, x: Array) -> Array:
        return x.transpose(self.order)

    @property
    def T(self) -> Permute:  # noqa: N802
        return Permute(tuple(int(i) for i in np.argsort(self.order)))


FEW = 1024  # elements: a view of one that repeats them takes longer to make than their copies


@dataclass(eq=False)
class Broadcast:
    before: Shape
    after: Shape

    def __call__(self, x: Array) -> Array:
        if math.prod(self.after) > FEW:
            return np.broadcast_to(x, self.after)
        out = np.empty(self.after, x.dtype)
        out[...] = x
        return out

    @property
    def T(self) -> SumTo:  # noqa: N802
        return SumTo(self.after, self.before)


@dataclass(eq=False)
class SumTo:
    """Sum over the axes along which ``after`` would have to be repeated to give ``before``."""

    before: Shape
    after: Shape

    def __call__(self, x: Array) -> Array:
        if not self.after:
            return np.asarray(np.add.reduce(x, None))
        extra = len(self.before) - len(self.after)
        kept = tuple(i + extra for i, n in enumerate(self.after) if n == 1 and self.before[i + extra] != 1)
        return np.add.reduce(x, axis=(*range(extra), *kept), keepdims=True).reshape(self.after)

    @property
    def T(self) -> Broadcast:  # noqa: N802
        return Broadcast(self.after, self.before)


@dataclass(eq=False)
class Take:
    """``x[key]`` for any key that NumPy takes."""

    shape: Shape
    key: Any

    def __call__(self, x: Array) -> Array:
        return np.asarray(x[self.key])

    @property
    def T(self) -> Put:  # noqa: N802
        return Put(self.shape, self.key)


@dataclass(eq=False)
class Put:
    """Zeros with ``x`` added at ``key``."""

    shape: Shape
    key: Any

    def __call__(self, x: Array) -> Array:
        out = np.zeros(self.shape, x.dtype)
        if is_basic(self.key):
            out[self.key] = x
        else:  # an index may occur more than once
            np.add.at(out, self.key, x)
        return out

    @property
    def T(self) -> Take:  # noqa: N802
        return Take(self.shape, self.key)


def is_basic(key: Any) -> bool:
    entries = key if isinstance(key, tuple) else (key,)
    return all(e is None or e is Ellipsis or isinstance(e, (slice, int, np.integer)) for e in entries) and not any(
        isinstance(e, bool) for e in entries
    )


@dataclass(eq=False)
class CumulativeSum:
    axis: int
    backwards: bool = False

    def __call__(self, x: Array) -> Array:
        if self.backwards:
            return np.flip(np.cumsum(np.flip(x, self.axis), self.axis, dtype=x.dtype), self.axis)
        return np.cumsum(x, self.axis, dtype=x.dtype)

    @property
    def T(self) -> CumulativeSum:  # noqa: N802
        return CumulativeSum(self.axis, not self.backwards)
