"""Linear maps on arrays: each knows how to apply itself and which map is its transpose, and nothing else.

This is all that a derivative consists of. A map is called with an array and gives an array of the same dtype;
``T`` is its transpose, and the transpose of that is the map again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from ..arguments.arrays import Array
from ..dtypes import DType, is_complex

Shape: TypeAlias = tuple[int, ...]


class LinearMap(Protocol):
    def __call__(self, x: Array) -> Array: ...
    @property
    def T(self) -> LinearMap: ...  # noqa: N802  the name that NumPy has for it


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
class Cast:
    """To another dtype; numbers of the first are numbers of the second, or nearly."""

    before: DType
    after: DType

    def __call__(self, x: Array) -> Array:
        if is_complex(x.dtype) and not is_complex(self.after):
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
class Gather:
    """``x[key]`` for any key that NumPy takes."""

    shape: Shape
    key: Any

    def __call__(self, x: Array) -> Array:
        return np.asarray(x[self.key])

    @property
    def T(self) -> ScatterAdd:  # noqa: N802
        return ScatterAdd(self.shape, self.key)


@dataclass(eq=False)
class ScatterAdd:
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
    def T(self) -> Gather:  # noqa: N802
        return Gather(self.shape, self.key)


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
