"""Max and min pooling: an element of each window is chosen, and derivatives follow it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from .. import core
from ..arguments.arrays import Array
from ..dtypes import DType
from ..geometry.axes import Geometry
from .base import Applied, Bind, Derivatives, PlannedOp, Shape, Spec, Value, WindowOp
from .elementwise import Multiply, Sign
from .record import replace

Argmax = Literal["", "indices", "offsets"]


class SelectPool(PlannedOp):
    """The largest or smallest element of each window, and where it is.

    ``argmax`` adds an output: flat int64 indices over the pooled axes, or the offsets inside the windows, in as few
    bytes as hold them, that a derivative needs. With ``magnitude`` it is the largest absolute value, 0 for an empty
    window.
    """

    name = "select_pool"
    largest: bool
    omit: bool = False
    split: bool = False
    magnitude: bool = False
    argmax: Argmax = ""

    @property
    def label(self) -> str:
        return "lp_pool" if self.magnitude else "max_pool" if self.largest else "min_pool"

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        shape = self.geometry.out_shape
        if self.argmax_dtype is None:
            return (Spec(shape, self.after),)
        return Spec(shape, self.after), Spec(shape, self.argmax_dtype)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        (x,) = operands
        plan = self.plan if x.dtype == self.before else self.plan_for(x.dtype)
        if plan is None:
            return self.evaluate_without_plan(x)
        return core.run(x, plan, self.argmax_dtype)

    def plan_for(self, dtype: DType) -> core.Plan | None:
        return None if self.magnitude else core.select_plan(self.geometry, dtype, self.largest, self.omit)

    @cached_property
    def argmax_dtype(self) -> DType | None:
        if not self.argmax:
            return None
        return np.dtype(np.int64) if self.argmax == "indices" else core.offset_dtype(self.geometry)

    def evaluate_without_plan(self, x: Array) -> tuple[Array, ...]:
        if not self.argmax:
            return (core.lp_pool(x, self.geometry, np.inf, result=self.after),)
        values, offsets = core.select_with_offsets(np.abs(x), self.geometry, True, False)
        return core.convert(np.maximum(values, np.zeros((), values.dtype), out=values), self.after), offsets

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        (x,) = operands
        values, offsets = bind(self.with_offsets, x)
        outputs: tuple[Value, ...] = (values,)
        if self.argmax == "offsets":
            outputs = values, offsets
        elif self.argmax == "indices":
            outputs = (
                values,
                *bind(Indices(self.geometry, core.offset_dtype(self.geometry), np.dtype(np.int64)), offsets),
            )
        if self.split:
            return outputs, [Applied(bind, SelectTied(self.geometry, self.after, self.after), x, values, offsets)]
        if self.magnitude:
            (sign,) = bind(Sign(self.geometry.shape, self.before), x)
            signed = Applied(bind, Multiply(self.geometry.shape, self.before), sign)
            return outputs, [Applied(bind, self.follow, offsets) @ signed]
        return outputs, [Applied(bind, self.follow, offsets)]

    def outputs_in(self, whole: WindowOp, start: Shape, *outputs: Array) -> tuple[Array, ...]:
        if self.argmax == "offsets":
            return outputs[0], relabelled(outputs[1], self.geometry, whole.geometry)
        if self.argmax == "indices":
            return outputs[0], shifted(outputs[1], self.geometry, whole.geometry, start)
        return outputs

    @cached_property
    def with_offsets(self) -> SelectPool:
        return replace(self, argmax="offsets")

    @cached_property
    def follow(self) -> Select:
        return Select(self.geometry, self.before, self.after)


class Indices(WindowOp):
    """Offsets inside the windows as flat indices over the pooled axes, −1 for a window without an element."""

    name = "indices"
    operands = ("windows",)

    def operands_in(self, whole: WindowOp, *operands: Array) -> tuple[Array, ...]:
        return (relabelled(operands[0], whole.geometry, self.geometry),)

    def outputs_in(self, whole: WindowOp, start: Shape, *outputs: Array) -> tuple[Array, ...]:
        return (shifted(outputs[0], self.geometry, whole.geometry, start),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        (offsets,) = operands
        # The index of a window's first element, which may be a padded one, and how far from it that of each offset is.
        first, further, stride = np.zeros((1,) * offsets.ndim, np.int64), np.zeros(1, np.int64), 1
        for axis in reversed(self.geometry.axes):
            first = first + stride * axis.first.reshape([-1 if i == axis.position else 1 for i in range(offsets.ndim)])
            taps = np.arange(axis.valid_taps.start, axis.valid_taps.stop)
            further = (stride * axis.d * taps[:, None] + further).ravel()
            stride *= axis.n
        flat = np.take(further if further.size else np.zeros(1, np.int64), offsets, mode="clip")
        flat += first
        none = offsets == np.iinfo(offsets.dtype).max
        if none.any():
            flat[none] = -1
        return (flat,)


class Select(WindowOp):
    """The element of each window that the offsets say, 0 where there is none: operands t, offsets."""

    name = "select"
    linear = True
    operands = ("elements", "windows")

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        t, offsets = operands
        return (core.convert(core.gather(t, offsets, self.geometry), self.after),)

    def operands_in(self, whole: WindowOp, *operands: Array) -> tuple[Array, ...]:
        return operands[0], relabelled(operands[1], whole.geometry, self.geometry)

    @cached_property
    def T(self) -> Scatter:  # noqa: N802
        return Scatter(self.geometry, self.after, self.before)


class Scatter(WindowOp):
    """Each window's value added to its element: operands g, offsets."""

    name = "scatter"
    linear = True
    operands = ("windows", "windows")
    result = "elements"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        g, offsets = operands
        return (core.convert(core.scatter_add(g, offsets, self.geometry), self.after),)

    def operands_in(self, whole: WindowOp, *operands: Array) -> tuple[Array, ...]:
        return operands[0], relabelled(operands[1], whole.geometry, self.geometry)

    @cached_property
    def T(self) -> Select:  # noqa: N802
        return Select(self.geometry, self.after, self.before)


class SelectTied(WindowOp):
    """The mean over all elements of each window that equal its result: operands t, x, values, offsets.

    Of a NaN result the chosen element alone.
    """

    name = "select_tied"
    linear = True
    operands = ("elements", "elements", "windows", "windows")

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        t, x, values, offsets = operands
        t = t.astype(self.before, copy=False)
        out = np.zeros(values.shape, t.dtype)
        for to, of in self.geometry.taps():
            out[to] += np.where(x[of] == values[to], t[of], np.zeros((), t.dtype))
        share = tied_share(self.geometry, x, values)
        return (np.where(share > 0, out * share, core.gather(t, offsets, self.geometry)).astype(t.dtype),)

    def operands_in(self, whole: WindowOp, *operands: Array) -> tuple[Array, ...]:
        return *operands[:3], relabelled(operands[3], whole.geometry, self.geometry)

    @cached_property
    def T(self) -> ScatterTied:  # noqa: N802
        return ScatterTied(self.geometry, self.after, self.before)


class ScatterTied(WindowOp):
    """Each window's value to all elements that equal its result, in equal parts: operands g, x, values, offsets."""

    name = "scatter_tied"
    linear = True
    operands = ("windows", "elements", "windows", "windows")
    result = "elements"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        g, x, values, offsets = operands
        g = g.astype(self.before, copy=False)
        share = tied_share(self.geometry, x, values)
        with np.errstate(invalid="ignore"):
            part = (g * share).astype(g.dtype)
        out = core.scatter_add(np.where(share > 0, np.zeros((), g.dtype), g), offsets, self.geometry)
        for to, of in self.geometry.taps():
            out[of] += np.where(x[of] == values[to], part[to], np.zeros((), g.dtype))
        return (out,)

    def operands_in(self, whole: WindowOp, *operands: Array) -> tuple[Array, ...]:
        return *operands[:3], relabelled(operands[3], whole.geometry, self.geometry)

    @cached_property
    def T(self) -> SelectTied:  # noqa: N802
        return SelectTied(self.geometry, self.after, self.before)


def tied_share(geometry: Geometry, x: Array, values: Array) -> Array:
    """1 / the number of elements that equal the result, 0 where none does."""
    number = np.zeros(values.shape, np.int64)
    for to, of in geometry.taps():
        number[to] += x[of] == values[to]
    with np.errstate(divide="ignore"):
        return np.where(number > 0, 1.0 / number, 0.0)


# -------------------------------------------------------------------------------------------------- blocks


def relabelled(offsets: Array, of: Geometry, to: Geometry) -> Array:
    """Offsets that count the valid taps of one geometry as those of another: a part may have fewer than the whole."""
    dtype = core.offset_dtype(to)
    none = offsets == np.iinfo(offsets.dtype).max
    if all(a.valid_taps == b.valid_taps for a, b in zip(of.axes, to.axes, strict=True)):
        return offsets.astype(dtype, copy=False)
    rest, out, stride = offsets.astype(np.int64), np.zeros(offsets.shape, np.int64), 1
    for a, b in zip(reversed(of.axes), reversed(to.axes), strict=True):
        out += (rest % max(len(a.valid_taps), 1) + a.valid_taps.start - b.valid_taps.start) * stride
        rest //= max(len(a.valid_taps), 1)
        stride *= max(len(b.valid_taps), 1)
    out[none] = np.iinfo(dtype).max
    return out.astype(dtype)


def shifted(indices: Array, of: Geometry, to: Geometry, start: Shape) -> Array:
    """Flat indices into a slab that begins at ``start`` as indices into the whole."""
    none = indices < 0
    rest, out, stride = indices.copy(), np.zeros(indices.shape, np.int64), 1
    for a, b in zip(reversed(of.axes), reversed(to.axes), strict=True):
        out += (rest % max(a.n, 1) + start[a.position]) * stride
        rest //= max(a.n, 1)
        stride *= b.n
    out[none] = -1
    return out
