"""Medians and modes: what the elements of each window are when they are sorted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from .. import core
from ..arguments.arrays import Array
from ..dtypes import DType, is_double
from .base import Applied, Bind, Derivatives, PlannedOp, Shape, Spec, Value, WindowOp
from .record import replace
from .selection import relabelled


class MedianPool(PlannedOp):
    """The median of each window: the element in the middle, or the mean of the two.

    With ``offsets`` there are two outputs more: the offsets inside the windows of the lower and the upper of these
    two, the same one twice for an odd number of elements. A derivative needs them.
    """

    name = "median_pool"
    omit: bool
    offsets: bool = False

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        values = Spec(self.geometry.out_shape, self.after)
        if not self.offsets:
            return (values,)
        where = Spec(self.geometry.out_shape, core.offset_dtype(self.geometry))
        return values, where, where

    def plan_for(self, dtype: DType) -> core.Plan | None:
        return None if self.offsets else core.median_plan(self.geometry, dtype, self.omit, self.after)

    def evaluate_without_plan(self, x: Array) -> tuple[Array, ...]:
        return core.median_with_offsets(x, self.geometry, self.omit, result=self.after)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        values, lower, upper = bind(self.with_offsets, *operands)
        outputs = (values, lower, upper) if self.offsets else (values,)
        return outputs, [Applied(bind, SelectMiddle(self.geometry, self.before, self.after), lower, upper)]

    def outputs_in(self, whole: WindowOp, start: Shape, *outputs: Array) -> tuple[Array, ...]:
        return outputs[0], *(relabelled(offsets, self.geometry, whole.geometry) for offsets in outputs[1:])

    @cached_property
    def with_offsets(self) -> MedianPool:
        return replace(self, offsets=True)


class SelectMiddle(WindowOp):
    """The mean of the two elements of each window that the offsets say, 0 where there is none: operands t, lower,
    upper."""

    name = "select_middle"
    linear = True
    operands = ("elements", "windows", "windows")

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        t, lower, upper = operands
        t = t.astype(precision(self.before, self.after), copy=False)
        out = core.gather(t, lower, self.geometry)
        if not (lower == upper).all():
            # A product by 1/2 is not taken where both are the same: it would lose the last bit of a subnormal number.
            both = 0.5 * out + 0.5 * core.gather(t, upper, self.geometry)
            out = np.where(lower == upper, out, both)
        return (core.convert(out, self.after),)

    def operands_in(self, whole: WindowOp, *operands: Array) -> tuple[Array, ...]:
        return operands[0], *(relabelled(offsets, whole.geometry, self.geometry) for offsets in operands[1:])

    @cached_property
    def T(self) -> ScatterMiddle:  # noqa: N802
        return ScatterMiddle(self.geometry, self.after, self.before)


class ScatterMiddle(WindowOp):
    """Half of each window's value added to each of two elements, or all of it to one: operands g, lower, upper."""

    name = "scatter_middle"
    linear = True
    operands = ("windows", "windows", "windows")
    result = "elements"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        g, lower, upper = operands
        g = g.astype(precision(self.before, self.after), copy=False)
        same = lower == upper
        if same.all():
            return (core.convert(core.scatter_add(g, lower, self.geometry), self.after),)
        part = np.where(same, g, 0.5 * g)
        out = core.scatter_add(part, lower, self.geometry)
        out += core.scatter_add(np.where(same, np.zeros((), g.dtype), part), upper, self.geometry)
        return (core.convert(out, self.after),)

    def operands_in(self, whole: WindowOp, *operands: Array) -> tuple[Array, ...]:
        return operands[0], *(relabelled(offsets, whole.geometry, self.geometry) for offsets in operands[1:])

    @cached_property
    def T(self) -> SelectMiddle:  # noqa: N802
        return SelectMiddle(self.geometry, self.after, self.before)


def precision(before: DType, after: DType) -> DType:
    """The dtype of derivatives between two dtypes: half precision would lose bits of a half."""
    return np.dtype(np.float64 if is_double(before) or is_double(after) else np.float32)


class ModePool(PlannedOp):
    """The most frequent value of each window, the smallest of several. Of integers, which are constants: there is no
    derivative."""

    name = "mode_pool"

    def plan_for(self, dtype: DType) -> core.Plan | None:
        return core.mode_plan(self.geometry, dtype)
