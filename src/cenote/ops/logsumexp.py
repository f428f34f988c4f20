"""Smooth max pooling, (1/β)·log Σ exp(β·x), and the family that its derivatives of every order belong to.

With the softmax weights of a window, pᵢ = exp(β·xᵢ) / Σ exp(β·x), the derivative is the weighted sum S(t; x) = Σ pᵢ·tᵢ,
and the derivative of that with respect to x is β·(S(t·dx) − S(t)·S(dx)): sums of the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from .. import core
from ..arguments.arrays import Array
from ..dtypes import DType
from .base import Applied, Bind, Derivatives, LinearOperator, PlannedOp, Value, WindowOp
from .elementwise import DOUBLE, Multiply, Scale, cast_between, widened
from .record import replace


class SmoothMaxPool(PlannedOp):
    name = "smooth_max_pool"
    beta: float
    pad_value: float | None

    def plan_for(self, dtype: DType) -> core.Plan | None:
        return core.smooth_max_plan(self.geometry, dtype, self.beta, self.pad_value, self.after)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        (x,) = operands
        weights = SoftmaxSum(self.geometry, self.before, self.after, self.beta, self.pad_value)
        return bind(self, x), [Applied(bind, weights, x)]


class SoftmaxSum(WindowOp):
    """S(t; x), the sum of t weighted with the softmax of x: operands t, x."""

    name = "softmax_sum"
    linear = True
    wide = True
    operands = ("elements", "elements")
    beta: float
    pad_value: float | None

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        t, x = operands
        return (core.softmax_sum(t, x, self.geometry, self.beta, self.pad_value).astype(self.after, copy=False),)

    @cached_property
    def T(self) -> SoftmaxSpread:  # noqa: N802
        return SoftmaxSpread(self.geometry, self.after, self.before, self.beta, self.pad_value)

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        """dx ↦ β·(S(t·dx) − S(t)·S(dx)), in double precision; 0 where the weights are shared among infinities"""
        shape, out = self.geometry.shape, self.geometry.out_shape
        t, x = (widened(bind, v, shape, self.before) for v in operands)
        form = replace(self, before=DOUBLE, after=DOUBLE)
        sums = Applied(bind, form, x)
        first = sums @ Applied(bind, Multiply(shape, DOUBLE), t)
        second = Applied(bind, Multiply(out, DOUBLE), *bind(form, t, x)) @ sums
        plus, minus = (Applied(bind, Scale(out, DOUBLE, b)) for b in (self.beta, -self.beta))
        (finite,) = bind(FiniteWindows(self.geometry, DOUBLE, DOUBLE, self.beta, self.pad_value), x)
        total = Applied(bind, Multiply(out, DOUBLE), finite) @ (plus @ first + minus @ second)
        return cast_between(bind, total, (shape, self.before), (out, self.after))


class SoftmaxSpread(WindowOp):
    """Each window's value to its elements by their weights, the transpose of :class:`SoftmaxSum`: operands g, x."""

    name = "softmax_spread"
    linear = True
    wide = True
    operands = ("windows", "elements")
    result = "elements"
    beta: float
    pad_value: float | None

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        g, x = operands
        return (core.softmax_spread(g, x, self.geometry, self.beta, self.pad_value).astype(self.after, copy=False),)

    @cached_property
    def T(self) -> SoftmaxSum:  # noqa: N802
        return SoftmaxSum(self.geometry, self.after, self.before, self.beta, self.pad_value)

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        """dx ↦ β·(Sᵀ(g)·dx − Sᵀ(g·S(dx))), in double precision"""
        shape, out = self.geometry.shape, self.geometry.out_shape
        g, x = widened(bind, operands[0], out, self.before), widened(bind, operands[1], shape, self.after)
        form = replace(self, before=DOUBLE, after=DOUBLE)
        (finite,) = bind(FiniteWindows(self.geometry, DOUBLE, DOUBLE, self.beta, self.pad_value), x)
        (g,) = bind(Multiply(out, DOUBLE), g, finite)
        first = Applied(bind, Multiply(shape, DOUBLE), *bind(form, g, x))
        second = Applied(bind, form, x) @ Applied(bind, Multiply(out, DOUBLE), g) @ Applied(bind, form.T, x)
        plus, minus = (Applied(bind, Scale(shape, DOUBLE, b)) for b in (self.beta, -self.beta))
        return cast_between(bind, plus @ first + minus @ second, (shape, self.after), (shape, self.after))


class FiniteWindows(WindowOp):
    """1 for a window whose smooth maximum is finite or NaN, 0 for one that is infinite; it counts as a constant."""

    name = "finite_windows"
    beta: float
    pad_value: float | None

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        y = core.smooth_max_pool(operands[0], self.geometry, self.beta, self.pad_value, result=DOUBLE)
        return ((~np.isinf(y)).astype(self.after),)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        return bind(self, *operands), (None,)
