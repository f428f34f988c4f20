"""Linear maps on arrays of one argument: what derivatives of NumPy's functions consist of, besides products.

A map is a :class:`LinearOperator` whose transpose ``T`` is a map too, and the transpose of that is the map again. It is
applied to an array or to a Tensor, and records itself there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..arguments.arrays import Array
from ..backends.dispatch import bind, dispatch, is_foreign
from ..dtypes import DType, is_complex, native
from ..ops.base import LinearOperator
from ..ops.elementwise import Cast as ElementCast
from .graph import Node, Value, active_levels
from .mixtures import refusal
from .tensor import Tensor, current, make

Shape: TypeAlias = tuple[int, ...]


class LinearMap(LinearOperator):
    __slots__ = ()

    def evaluate(self, x: Array) -> Array:
        """The result, of the dtype of ``x``."""
        raise NotImplementedError

    def evaluate_foreign(self, x: Any) -> Any:
        """The same of an array of another library, where that is possible."""
        raise TypeError(refusal(x))

    @property
    def T(self) -> LinearMap:  # noqa: N802
        raise NotImplementedError

    def __call__(self, t: Value) -> Any:
        if type(t) is np.ndarray:
            return self.evaluate(t)
        if not isinstance(t, Tensor):
            return self.evaluate_foreign(t) if is_foreign(t) else self.evaluate(np.asarray(t))
        if t._level and t._level not in active_levels:
            return self(current(t))
        out = self.evaluate(t._value) if type(t._value) is np.ndarray else self(t._value)
        if t._node is None:
            return make(out if is_foreign(out) else np.asarray(out), 0, None)
        if t._level == 0:
            t.grad = None  # it takes part in something new
        return make(out, t._level, Node(((t._node, self),)))

    def transpose(self, g: Value) -> Any:
        return self.T(g)


@dataclass(eq=False, slots=True)
class Mask(LinearMap):
    """``x`` where ``mask`` holds and 0 elsewhere: not a product, which would make NaN of an infinity."""

    mask: Array

    def evaluate(self, x: Array) -> Array:
        return np.where(self.mask, x, np.zeros((), x.dtype))

    evaluate_foreign = evaluate

    @property
    def T(self) -> Mask:  # noqa: N802
        return self


@dataclass(eq=False, slots=True)
class Cast(LinearMap):
    """To another dtype; numbers of the first are numbers of the second, or nearly."""

    before: DType
    after: DType

    def evaluate(self, x: Array) -> Array:
        if is_complex(x.dtype) and not is_complex(self.after):
            x = x.real  # the imaginary part of a real input's cotangent has nowhere to go
        with np.errstate(over="ignore"):
            return x.astype(self.after)

    def evaluate_foreign(self, x: Any) -> Any:
        return bind(ElementCast(x.shape, x.dtype, self.after), x)[0]

    @property
    def T(self) -> Cast:  # noqa: N802
        return Cast(self.after, self.before)


@dataclass(eq=False, slots=True)
class Reshape(LinearMap):
    before: Shape
    after: Shape

    def evaluate(self, x: Array) -> Array:
        return x.reshape(self.after)

    evaluate_foreign = evaluate

    @property
    def T(self) -> Reshape:  # noqa: N802
        return Reshape(self.after, self.before)


@dataclass(eq=False, slots=True)
class Permute(LinearMap):
    order: tuple[int, ...]

    def evaluate(self, x: Array) -> Array:
        return x.transpose(self.order)

    evaluate_foreign = evaluate

    @property
    def T(self) -> Permute:  # noqa: N802
        return Permute(tuple(int(i) for i in np.argsort(self.order)))


FEW = 1024  # elements: a view of one that repeats them takes longer to make than their copies


@dataclass(eq=False, slots=True)
class Broadcast(LinearMap):
    before: Shape
    after: Shape

    def evaluate(self, x: Array) -> Array:
        if math.prod(self.after) > FEW:
            return np.broadcast_to(x, self.after)
        out = np.empty(self.after, x.dtype)
        out[...] = x
        return out

    def evaluate_foreign(self, x: Any) -> Any:
        other: Any = dispatch(x)
        return other.broadcast(x, self.after) if hasattr(other, "broadcast") else np.broadcast_to(x, self.after)

    @property
    def T(self) -> SumTo:  # noqa: N802
        return SumTo(self.after, self.before)


@dataclass(eq=False, slots=True)
class SumTo(LinearMap):
    """Sum over the axes along which ``after`` would have to be repeated to give ``before``."""

    before: Shape
    after: Shape

    def evaluate(self, x: Array) -> Array:
        if not self.after:
            return np.add.reduce(x, None, out=np.empty((), native(x.dtype)))
        return np.add.reduce(x, axis=self.axes, keepdims=True).reshape(self.after)

    def evaluate_foreign(self, x: Any) -> Any:
        # Indexed, because dask's expressions cannot be reshaped.
        extra = (0,) * (len(self.before) - len(self.after))
        return x.sum(axis=self.axes, keepdims=True)[extra] if self.after else x.sum()

    @property
    def axes(self) -> tuple[int, ...]:
        extra = len(self.before) - len(self.after)
        kept = (i + extra for i, n in enumerate(self.after) if n == 1 and self.before[i + extra] != 1)
        return (*range(extra), *kept)

    @property
    def T(self) -> Broadcast:  # noqa: N802
        return Broadcast(self.after, self.before)


@dataclass(eq=False, slots=True)
class Gather(LinearMap):
    """``x[key]`` for any key that NumPy takes."""

    shape: Shape
    key: Any

    def evaluate(self, x: Array) -> Array:
        return np.asarray(x[self.key])

    @property
    def T(self) -> ScatterAdd:  # noqa: N802
        return ScatterAdd(self.shape, self.key)


@dataclass(eq=False, slots=True)
class ScatterAdd(LinearMap):
    """Zeros with ``x`` added at ``key``."""

    shape: Shape
    key: Any

    def evaluate(self, x: Array) -> Array:
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


@dataclass(eq=False, slots=True)
class CumulativeSum(LinearMap):
    axis: int
    backwards: bool = False

    def evaluate(self, x: Array) -> Array:
        if self.backwards:
            return np.flip(np.cumsum(np.flip(x, self.axis), self.axis, dtype=x.dtype), self.axis)
        return np.cumsum(x, self.axis, dtype=x.dtype)

    @property
    def T(self) -> CumulativeSum:  # noqa: N802
        return CumulativeSum(self.axis, not self.backwards)
