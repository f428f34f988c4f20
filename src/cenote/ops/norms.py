"""Lp pooling, y = (Σ|x|ᵖ)^(1/p), and the family that its derivatives of every order belong to.

With w(x) = s(x)·|x/y|^q, where s is the sign for ``odd`` weights and 1 for even ones, let
N(t; x) = y^(−r)·Σ w(xᵢ)·tᵢ. The norm's derivative has q = p − 1, odd weights and r = 0. The derivative of N with
respect to x is q·N'(t·dx) − (q + r)·N(t)·D(dx), with one less in q, the other parity and one more in r for N', and the
derivative of the norm over y for D: sums of the same kind. Weights are at most 1 for q ≥ 0, whatever the data. t·dx in
N'(t·dx) may leave the range of double precision where the sum does not: where x is extreme, w(x)·(t/x)·dx takes its
place, which is N again.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .. import core
from ..arguments.arrays import Array
from ..dtypes import DType
from .base import (
    Applied,
    Bind,
    Derivatives,
    LinearOperator,
    PlannedOp,
    Shape,
    Spec,
    Value,
    WindowOp,
)
from .elementwise import DOUBLE, ElementOp, Multiply, Scale, cast_between, widened
from .record import replace

MODERATE = 2.0**300


class LpPool(PlannedOp):
    """Of a finite p: the norm with p = inf is a :class:`SelectPool`."""

    name = "lp_pool"
    p: float

    def plan_for(self, dtype: DType) -> core.Plan | None:
        return core.lp_plan(self.geometry, dtype, self.p, self.after)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        (x,) = operands
        weights = PowerSum(self.geometry, self.before, self.after, self.p, self.p - 1, True, 0)
        return bind(self, x), [Applied(bind, weights, x)]


class PowerSum(WindowOp):
    """N(t; x) of the top of this file: operands t, x."""

    name = "power_sum"
    linear = True
    wide = True
    operands = ("elements", "elements")
    p: float
    q: float
    odd: bool
    r: int

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        t, x = operands
        out = core.power_sum(t, x, self.geometry, self.p, self.q, self.odd)
        return (over_norm(out, x, self).astype(self.after, copy=False),)

    @cached_property
    def T(self) -> PowerSpread:  # noqa: N802
        return PowerSpread(self.geometry, self.after, self.before, self.p, self.q, self.odd, self.r)

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        """In double precision, whose range holds products of numbers of the other dtypes."""
        shape, out = self.geometry.shape, self.geometry.out_shape
        t, x = (widened(bind, v, shape, self.before) for v in operands)
        form = replace(self, before=DOUBLE, after=DOUBLE)
        parts: list[LinearOperator] = []
        multiply, scale = Multiply(shape, DOUBLE), Scale(out, DOUBLE, self.q)
        if self.q:
            lower = Applied(bind, replace(form, q=self.q - 1, odd=not self.odd, r=self.r + 1), x)
            if self.before == DOUBLE:  # t·dx may overflow where t·dx/y does not
                (extreme,) = bind(DivideByExtreme(shape, DOUBLE), t, x)
                parts.append(Applied(bind, scale) @ Applied(bind, form, x) @ Applied(bind, multiply, extreme))
                (t_moderate,) = bind(KeepModerate(shape, DOUBLE), t, x)
                parts.append(Applied(bind, scale) @ lower @ Applied(bind, multiply, t_moderate))
            else:
                parts.append(Applied(bind, scale) @ lower @ Applied(bind, multiply, t))
        if self.q + self.r:
            relative = Applied(bind, replace(form, q=self.p - 1, odd=True, r=1), x)
            second = Applied(bind, Multiply(out, DOUBLE), *bind(form, t, x)) @ relative
            parts.append(Applied(bind, Scale(out, DOUBLE, -(self.q + self.r))) @ second)
        return between(bind, parts, (shape, self.before), (out, self.after))


class PowerSpread(WindowOp):
    """The transpose of :class:`PowerSum` in t: operands g, x."""

    name = "power_spread"
    linear = True
    wide = True
    operands = ("windows", "elements")
    result = "elements"
    p: float
    q: float
    odd: bool
    r: int

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        g, x = operands
        quotient = over_norm(g, x, self).astype(g.dtype, copy=False)
        return (core.power_spread(quotient, x, self.geometry, self.p, self.q, self.odd).astype(self.after, copy=False),)

    @cached_property
    def T(self) -> PowerSum:  # noqa: N802
        return PowerSum(self.geometry, self.after, self.before, self.p, self.q, self.odd, self.r)

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        """dx ↦ q·dx·N'ᵀ(g) − (q + r)·Nᵀ(g·D(dx)), in double precision"""
        shape, out = self.geometry.shape, self.geometry.out_shape
        g, x = widened(bind, operands[0], out, self.before), widened(bind, operands[1], shape, self.after)
        form = replace(self, before=DOUBLE, after=DOUBLE)
        parts: list[LinearOperator] = []
        multiply, scale = Multiply(shape, DOUBLE), Scale(shape, DOUBLE, self.q)
        if self.q:
            (factor,) = bind(replace(form, q=self.q - 1, odd=not self.odd, r=self.r + 1), g, x)
            if self.after == DOUBLE:  # g/y may underflow where g·dx/y does not
                quotient = Applied(bind, DivideByExtreme(shape, DOUBLE), x)
                parts.append(Applied(bind, scale) @ Applied(bind, multiply, *bind(form, g, x)) @ quotient)
                (factor,) = bind(KeepModerate(shape, DOUBLE), factor, x)
            parts.append(Applied(bind, scale) @ Applied(bind, multiply, factor))
        if self.q + self.r:
            relative = Applied(bind, replace(form.T, q=self.p - 1, odd=True, r=1), x)
            second = Applied(bind, form, x) @ Applied(bind, Multiply(out, DOUBLE), g) @ relative
            parts.append(Applied(bind, Scale(shape, DOUBLE, -(self.q + self.r))) @ second)
        return between(bind, parts, (shape, self.after), (shape, self.after))


class ExtremeOp(ElementOp):
    """t where x is neither very large nor very small, or t/x where it is: products of three moderate numbers, and their
    quotients, stay in the range of double precision."""

    linear = True
    dtype: DType

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, self.dtype),)

    @cached_property
    def T(self) -> Self:  # noqa: N802
        return self


class KeepModerate(ExtremeOp):
    """t where x is moderate, 0, infinite or NaN; 0 elsewhere: operands t, x."""

    name = "keep_moderate"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        t, x = operands
        return (np.where(is_extreme(x), 0.0, t),)


class DivideByExtreme(ExtremeOp):
    """t/x where x is extreme, 0 elsewhere: operands t, x."""

    name = "divide_by_extreme"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        t, x = operands
        with np.errstate(all="ignore"):
            return (np.divide(t, x, out=np.zeros(np.shape(x)), where=is_extreme(x)),)

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        """dx ↦ −(t/x)·(dx/x)"""
        (quotient,) = bind(self, *operands)
        product = Applied(bind, Multiply(self.shape, self.dtype), quotient)
        return Applied(bind, Scale(self.shape, self.dtype, -1.0)) @ product @ Applied(bind, self, operands[1])


def is_extreme(x: Array) -> NDArray[np.bool_]:
    size = np.abs(x)
    return ((size > 0) & (size < 1 / MODERATE)) | ((size > MODERATE) & (size < np.inf))


def over_norm(y: Array, x: Array, op: PowerSum | PowerSpread) -> Array:
    """``y`` over the norm of each window to the power ``op.r``; 0 for an all-zero window, which has no derivative."""
    if op.r == 0:
        return y
    norm = core.lp_pool(x, op.geometry, op.p, result=DOUBLE)
    with np.errstate(all="ignore"):
        by = np.where(norm == 0, 1.0, norm)
        for _ in range(op.r):  # its power may overflow
            y = y / by
        return np.where(norm == 0, 0.0, y)


def between(
    bind: Bind, parts: list[LinearOperator], before: tuple[Shape, DType], after: tuple[Shape, DType]
) -> LinearOperator | None:
    """The sum of operators in double precision, from arrays of one dtype to arrays of another."""
    if not parts:
        return None
    return cast_between(bind, functools.reduce(operator.add, parts), before, after)
