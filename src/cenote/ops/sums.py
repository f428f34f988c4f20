"""Sums and averages: linear in the data, but for elements that are NaN and left out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from .. import core
from ..arguments.arrays import Array
from ..dtypes import DType, accumulator
from .base import Applied, Bind, Derivatives, PlannedOp, Value, WindowOp
from .elementwise import IsNan


class SumPool(PlannedOp):
    """The sum of each window. Its transpose is the sum over the transposed geometry."""

    name = "sum_pool"
    linear = True

    def plan_for(self, dtype: DType) -> core.Plan | None:
        return core.sum_plan(self.geometry, dtype, False, self.after)

    def evaluate_without_plan(self, x: Array) -> tuple[Array, ...]:
        return (core.sum_pool(x, self.geometry, False, result=self.after),)

    @cached_property
    def T(self) -> SumPool:  # noqa: N802
        return SumPool(self.geometry.transposed, self.after, self.before)


class AvgPool(PlannedOp):
    """The sum of each window divided by ``divisor``, or by its number of elements."""

    name = "avg_pool"
    linear = True
    divisor: float | None
    include_pad: bool

    def plan_for(self, dtype: DType) -> core.Plan | None:
        return core.avg_plan(self.geometry, dtype, False, self.divisor, self.include_pad, self.after)

    def evaluate_without_plan(self, x: Array) -> tuple[Array, ...]:
        return (core.avg_pool(x, self.geometry, False, self.divisor, self.include_pad, result=self.after),)

    @cached_property
    def T(self) -> AvgPool | AvgSpread:  # noqa: N802
        even = self.geometry.even_count(self.include_pad) if self.divisor is None else self.divisor
        if even:
            return AvgPool(self.geometry.transposed, self.after, self.before, float(even), True)
        return AvgSpread(self.geometry, self.after, self.before, self.include_pad)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        if self.divisor is None and self.geometry.empty_windows[self.include_pad]:
            tangent = AvgSpread(self.geometry, self.after, self.before, self.include_pad).T
            return bind(self, *operands), [Applied(bind, tangent)]
        return super().linearize(bind, wanted, *operands)


class AvgTangent(WindowOp):
    """The average of each window, but 0 instead of NaN for one that has no element."""

    name = "avg_tangent"
    linear = True
    include_pad: bool

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        total = core.sum_pool(operands[0], self.geometry, False, result=accumulator(self.before))
        return ((total / at_least_one(self.geometry.counts(self.include_pad))).astype(self.after),)

    @cached_property
    def T(self) -> AvgSpread:  # noqa: N802
        return AvgSpread(self.geometry, self.after, self.before, self.include_pad)


class AvgSpread(WindowOp):
    """Each window's value, divided by its number of elements, to all of them: the transpose of an average."""

    name = "avg_spread"
    linear = True
    operands = ("windows",)
    result = "elements"
    include_pad: bool

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        (g,) = operands
        part = (g / at_least_one(self.geometry.counts(self.include_pad))).astype(g.dtype)
        return (core.sum_pool(part, self.geometry.transposed, False, result=self.after),)

    @cached_property
    def T(self) -> AvgTangent:  # noqa: N802
        return AvgTangent(self.geometry, self.after, self.before, self.include_pad)


# ------------------------------------------------------------------------------------------- NaN left out


class NanSumPool(PlannedOp):
    """The sum of the elements of each window that are not NaN; NaN where there are others only."""

    name = "nan_sum_pool"

    def plan_for(self, dtype: DType) -> core.Plan | None:
        return core.sum_plan(self.geometry, dtype, True, self.after)

    def evaluate_without_plan(self, x: Array) -> tuple[Array, ...]:
        return (core.sum_pool(x, self.geometry, True, result=self.after),)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        (x,) = operands
        (nan,) = bind(IsNan(self.geometry.shape), x)
        return bind(self, x), [Applied(bind, ValidSum(self.geometry, self.before, self.after), nan)]


class NanAvgPool(PlannedOp):
    """The average of the elements of each window that are not NaN."""

    name = "nan_avg_pool"
    divisor: float | None
    include_pad: bool

    def plan_for(self, dtype: DType) -> core.Plan | None:
        return core.avg_plan(self.geometry, dtype, True, self.divisor, self.include_pad, self.after)

    def evaluate_without_plan(self, x: Array) -> tuple[Array, ...]:
        return (core.avg_pool(x, self.geometry, True, self.divisor, self.include_pad, result=self.after),)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        (x,) = operands
        (nan,) = bind(IsNan(self.geometry.shape), x)
        average = ValidAvg(self.geometry, self.before, self.after, self.divisor, self.include_pad)
        return bind(self, x), [Applied(bind, average, nan)]


class ValidSum(WindowOp):
    """The sum of t over the elements that are not NaN: operands t, nan."""

    name = "valid_sum"
    linear = True
    operands = ("elements", "elements")

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        t, nan = operands
        return (core.sum_pool(valid(t, nan), self.geometry, False, result=self.after),)

    @cached_property
    def T(self) -> ValidSpread:  # noqa: N802
        return ValidSpread(self.geometry, self.after, self.before)


class ValidSpread(WindowOp):
    """Each window's value to all of its elements that are not NaN: operands g, nan."""

    name = "valid_spread"
    linear = True
    operands = ("windows", "elements")
    result = "elements"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        g, nan = operands
        return (valid(core.sum_pool(g, self.geometry.transposed, False, result=self.after), nan),)

    @cached_property
    def T(self) -> ValidSum:  # noqa: N802
        return ValidSum(self.geometry, self.after, self.before)


class ValidAvg(WindowOp):
    """The average of t over the elements that are not NaN: operands t, nan."""

    name = "valid_avg"
    linear = True
    operands = ("elements", "elements")
    divisor: float | None
    include_pad: bool

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        t, nan = operands
        total = core.sum_pool(valid(t, nan), self.geometry, False, result=accumulator(self.before))
        return ((total / self.number(nan)).astype(self.after),)

    def number(self, nan: Array) -> Array:
        """What each window is divided by."""
        if self.divisor is not None:
            return np.asarray(self.divisor)
        omitted = core.sum_pool(nan, self.geometry, False)
        return at_least_one(self.geometry.counts(self.include_pad) - omitted)

    @cached_property
    def T(self) -> ValidAvgSpread:  # noqa: N802
        return ValidAvgSpread(self.geometry, self.after, self.before, self.divisor, self.include_pad)


class ValidAvgSpread(WindowOp):
    """Each window's value, divided, to all of its elements that are not NaN: operands g, nan."""

    name = "valid_avg_spread"
    linear = True
    operands = ("windows", "elements")
    result = "elements"
    divisor: float | None
    include_pad: bool

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        g, nan = operands
        part = (g / self.T.number(nan)).astype(g.dtype)
        return (valid(core.sum_pool(part, self.geometry.transposed, False, result=self.after), nan),)

    @cached_property
    def T(self) -> ValidAvg:  # noqa: N802
        return ValidAvg(self.geometry, self.after, self.before, self.divisor, self.include_pad)


def valid(t: Array, nan: Array) -> Array:
    """``t`` where an element is not NaN, 0 elsewhere: not a product, which would make NaN of an infinity."""
    return np.where(nan, np.zeros((), t.dtype), t)


def at_least_one(count: Array) -> Array:
    """Numbers of elements to divide by: a window that has none has nothing to divide, and any number but 0 will do."""
    return np.maximum(count, 1)
