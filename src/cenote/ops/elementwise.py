"""Products and casts: what derivatives of the other Ops need between windows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..arguments.arrays import Array
from ..dtypes import DType, is_complex
from .base import Applied, Bind, LinearOperator, Op, Places, Ranges, Shape, Slices, Spec, Value, finest
from .record import replace

DOUBLE: DType = np.dtype(np.float64)
BOOL: DType = np.dtype(np.bool_)


class ElementOp(Op):
    """An Op whose result at a place needs the operands at that place, all of one shape."""

    shape: Shape

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        part = tuple(slice(*r) for r in ranges)
        shape = tuple(end - begin for begin, end in ranges)
        return replace(self, shape=shape), (part,) * len(operands)

    def cuts(self, *operands: Sequence[Places]) -> tuple[Places | None, ...]:
        return tuple(finest(*(p[i] for p in operands)) for i in range(len(self.shape)))

    def batched(self, size: int, mapped: Sequence[bool]) -> tuple[Op, tuple[bool, ...]]:
        return replace(self, shape=(size, *self.shape)), (True,) * len(mapped)


class Multiply(ElementOp):
    """t·factor, in the dtype of t."""

    name = "multiply"
    linear = True
    dtype: DType

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        t, factor = operands
        with np.errstate(all="ignore"):
            return (np.asarray(np.multiply(t, factor)).astype(self.dtype, copy=False),)

    @cached_property
    def T(self) -> Multiply:  # noqa: N802
        return self

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        return Applied(bind, self, operands[0])


class Add(ElementOp):
    """a + b, of one shape and dtype."""

    name = "add"
    dtype: DType

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        return (np.asarray(operands[0] + operands[1]),)


class Scale(ElementOp):
    """t times a number."""

    name = "scale"
    linear = True
    dtype: DType
    by: float

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return (np.multiply(operands[0], self.by).astype(self.dtype, copy=False),)

    @cached_property
    def T(self) -> Scale:  # noqa: N802
        return self


class Cast(ElementOp):
    """To another dtype; a complex number to a real one drops the imaginary part, which has nowhere to go."""

    name = "cast"
    linear = True
    before: DType
    after: DType

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, self.after),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        x = operands[0]
        if is_complex(x.dtype) and not is_complex(self.after):
            x = x.real
        with np.errstate(over="ignore"):
            return (x.astype(self.after),)

    @cached_property
    def T(self) -> Cast:  # noqa: N802
        return Cast(self.shape, self.after, self.before)


class Sign(ElementOp):
    """The sign of each element; its derivative is zero."""

    name = "sign"
    dtype: DType

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        return (np.sign(operands[0]).astype(self.dtype, copy=False),)

    def linearize(
        self, bind: Bind, wanted: object, *operands: Value
    ) -> tuple[tuple[Value, ...], tuple[LinearOperator | None, ...]]:
        return bind(self, *operands), (None,)


class IsNan(ElementOp):
    """Where x is NaN; it counts as a constant."""

    name = "is_nan"

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, BOOL),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        return (np.isnan(operands[0]),)

    def linearize(
        self, bind: Bind, wanted: object, *operands: Value
    ) -> tuple[tuple[Value, ...], tuple[LinearOperator | None, ...]]:
        return bind(self, *operands), (None,)


class ZerosLike(ElementOp):
    """Zeros in the shape of an array, of which nothing is needed."""

    name = "zeros_like"
    dtype: DType

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        return (np.zeros(self.shape, self.dtype),)

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        part, _ = super().block(ranges, *operands)
        return part, tuple((slice(0, 0),) * len(spec.shape) for spec in operands)

    def linearize(
        self, bind: Bind, wanted: object, *operands: Value
    ) -> tuple[tuple[Value, ...], tuple[LinearOperator | None, ...]]:
        return bind(self, *operands), (None,)


def widened(bind: Bind, x: Value, shape: Shape, dtype: DType) -> Value:
    """``x`` in double precision."""
    return x if dtype == DOUBLE else bind(Cast(shape, dtype, DOUBLE), x)[0]


def cast_between(
    bind: Bind, operator: LinearOperator, before: tuple[Shape, DType], after: tuple[Shape, DType]
) -> LinearOperator:
    """An operator in double precision as one from arrays of one dtype to arrays of another."""
    if before[1] != DOUBLE:
        operator = operator @ Applied(bind, Cast(before[0], before[1], DOUBLE))
    return operator if after[1] == DOUBLE else Applied(bind, Cast(after[0], DOUBLE, after[1])) @ operator
