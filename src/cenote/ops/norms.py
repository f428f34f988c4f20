"""Lp pooling, y = (Σ|x|ᵖ)^(1/p), and the family that its derivatives of every order belong to.

With w(x) = s(x)·|x/y|^q, where s is the sign for ``odd`` weights and 1 for even ones, let
N(t; x) = y^(−r)·Σ w(xᵢ)·tᵢ. The norm's derivative has q = p − 1, odd weights and r = 0. The derivative of N with
respect to x is q·N'(t·dx) − (q + r)·N(t)·D(dx), with one less in q, the other parity and one more in r for N', and the
derivative of the norm over y for D: sums of the same kind. Weights are at most 1 for q ≥ 0, whatever the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from .. import core
from ..arguments.arrays import Array
from ..dtypes import DType
from .base import (
    Applied,
    Bind,
    Derivatives,
    LinearOperator,
    Op,
    PlannedOp,
    Ranges,
    Shape,
    Slices,
    Spec,
    Value,
    WindowOp,
)
from .elementwise import DOUBLE, Multiply, Scale, cast_between, widened
from .record import replace

MODERATE = 300  # an exponent of two


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
        if self.q:
            # t·dx may overflow where t·dx/y does not: it is formed of numbers a known power of two smaller.
            (up,), (down,) = (bind(Magnitude(shape, DOUBLE, sign), x) for sign in (1, -1))
            (smaller,) = bind(Multiply(shape, DOUBLE), t, down)
            lower = replace(form, q=self.q - 1, odd=not self.odd, r=self.r + 1)
            first = Applied(bind, lower, x) @ Applied(bind, Multiply(shape, DOUBLE), smaller)
            larger = Applied(bind, Multiply(out, DOUBLE), up)
            parts.append(Applied(bind, Scale(out, DOUBLE, self.q)) @ larger @ first)
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
        held = over_norm(g, x, self).astype(g.dtype, copy=False)
        return (core.power_spread(held, x, self.geometry, self.p, self.q, self.odd).astype(self.after, copy=False),)

    @cached_property
    def T(self) -> PowerSum:  # noqa: N802
        return PowerSum(self.geometry, self.after, self.before, self.p, self.q, self.odd, self.r)

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        """dx ↦ q·dx·N'ᵀ(g) − (q + r)·Nᵀ(g·D(dx)), in double precision"""
        shape, out = self.geometry.shape, self.geometry.out_shape
        g, x = widened(bind, operands[0], out, self.before), widened(bind, operands[1], shape, self.after)
        form = replace(self, before=DOUBLE, after=DOUBLE)
        parts: list[LinearOperator] = []
        if self.q:
            (up,), (down,) = (bind(Magnitude(shape, DOUBLE, sign), x) for sign in (1, -1))  # g/y may underflow
            (larger,) = bind(Multiply(out, DOUBLE), g, up)
            lower = replace(form, q=self.q - 1, odd=not self.odd, r=self.r + 1)
            first = Applied(bind, Multiply(shape, DOUBLE), *bind(lower, larger, x))
            smaller = Applied(bind, Multiply(shape, DOUBLE), down)
            parts.append(Applied(bind, Scale(shape, DOUBLE, self.q)) @ first @ smaller)
        if self.q + self.r:
            relative = Applied(bind, replace(form.T, q=self.p - 1, odd=True, r=1), x)
            second = Applied(bind, form, x) @ Applied(bind, Multiply(out, DOUBLE), g) @ relative
            parts.append(Applied(bind, Scale(shape, DOUBLE, -(self.q + self.r))) @ second)
        return between(bind, parts, (shape, self.after), (shape, self.after))


class Magnitude(Op):
    """The power of two next to the largest finite |x|, or its reciprocal, as a 0-d array; it counts as a constant."""

    name = "magnitude"
    shape: Shape
    dtype: DType
    sign: int

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec((), self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        (x,) = operands
        finite = np.abs(x)[np.isfinite(x)]
        largest = float(finite.max()) if finite.size else 0.0
        exponent = math.frexp(largest)[1] if largest else 0
        if abs(exponent) < MODERATE:  # neither a product nor a quotient leaves the range
            exponent = 0
        return (np.asarray(np.ldexp(1.0, self.sign * max(-1022, min(exponent, 1022)))).astype(self.dtype),)

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        return self, (tuple(slice(0, n) for n in self.shape),)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        return bind(self, *operands), (None,)


def over_norm(y: Array, x: Array, op: PowerSum | PowerSpread) -> Array:
    """``y`` over the norm of each window to the power ``op.r``; 0 for an all-zero window, which has no derivative."""
    if op.r == 0:
        return y
    norm = core.lp_pool(x, op.geometry, op.p, result=DOUBLE)
    with np.errstate(all="ignore"):
        out: Array = np.where(norm == 0, 0.0, y / np.where(norm == 0, 1.0, norm) ** op.r)
    return out


def between(
    bind: Bind, parts: list[LinearOperator], before: tuple[Shape, DType], after: tuple[Shape, DType]
) -> LinearOperator | None:
    """The sum of operators in double precision, from arrays of one dtype to arrays of another."""
    if not parts:
        return None
    return cast_between(bind, parts[0] if len(parts) == 1 else parts[0] + parts[1], before, after)
