"""Second derivatives as one Op.

The rules of smooth maxima and norms compute second derivatives in double precision, whose range holds products of
numbers of the other dtypes, and of which differences are taken. JAX has no float64 arrays unless x64 is on. So a
rule is not spelled out in JAX's arrays: all of it is one Op, from arrays in the operands' dtypes to one in theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...arguments.arrays import Array
from ...autodiff.transforms import jvp, vjp
from ...ops.base import Applied, Bind, LinearOperator, Op, Spec, Value
from ..dispatch import bind as bind_anywhere


class ByResidual(Op):
    """The derivative of a linear Op by operand ``i``, which is not its first: operands t, then those of ``op``.

    Transposed, t is a cotangent of the Op's result.
    """

    name = "by_residual"
    linear = True
    wide = True
    op: Op
    i: int
    transposed: bool

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (operands[1 + self.i],) if self.transposed else (self.op.infer(*operands[1:])[0],)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        (spec,) = self.infer(*(Spec(x.shape, x.dtype) for x in operands))
        out = self.value(*operands)
        return (np.zeros(*spec) if out is None else np.asarray(out).astype(spec.dtype, copy=False),)

    def value(self, t: Value, *operands: Value) -> Value:
        """On arrays or Tensors; None stands for zeros."""
        operator = derivative(self.op, self.i, operands)
        if operator is None:
            return None
        return operator.transpose(t) if self.transposed else operator(t)

    @cached_property
    def T(self) -> ByResidual:  # noqa: N802
        return ByResidual(self.op, self.i, not self.transposed)

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        return Applied(bind, ByResidual(self, i, False), *operands)

    def batched(self, size: int, mapped: Sequence[bool]) -> tuple[Op, tuple[bool, ...]]:
        every = (True,) * len(mapped)
        return ByResidual(self.op.batched(size, every[1:])[0], self.i, self.transposed), every


def derivative(op: Op, i: int, operands: Sequence[Value]) -> LinearOperator | None:
    """None stands for zero."""
    if not isinstance(op, ByResidual):
        return op.by_residual(bind_anywhere, i, *operands)
    if derivative(op.op, op.i, operands[1:]) is None:
        return None
    return OfFunction(op, i, operands)  # of third and higher order


class OfFunction(LinearOperator):
    """The derivative by operand ``i`` of what an Op computes, by our own engine."""

    __slots__ = ("i", "op", "operands")

    def __init__(self, op: ByResidual, i: int, operands: Sequence[Value]) -> None:
        self.op, self.i, self.operands = op, i, operands

    def function(self, x: Any) -> Any:
        operands = list(self.operands)
        operands[self.i] = x
        return self.op.value(*operands)

    def __call__(self, t: Value) -> Value:
        return jvp(self.function, (self.operands[self.i],), (t,))[1]

    def transpose(self, g: Value) -> Value:
        return vjp(self.function, self.operands[self.i])[1](g)[0]
