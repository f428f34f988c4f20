"""Convolution: one form of three arrays, linear in each, so that its derivatives are itself.

F(x, w, y) = Σ x·w·y over the elements that meet. Without y it is a convolution, without x a transposed one, without w
the gradient of a filter. Whichever of the three is computed, the derivative with respect to one of the other two is the
same form with a tangent in that one's place, and its transpose is the form that computes that one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from .. import core
from ..arguments.arrays import Array
from ..dtypes import DType, native
from ..geometry.axes import Axis, Geometry
from ..geometry.conv import ConvGeometry
from .base import Applied, Bind, Derivatives, LinearOperator, Op, Places, Ranges, Shape, Slices, Spec, Value, pasted
from .record import replace

Role = Literal["x", "w", "y"]


class Contract(Op):
    """x, w or y of the other two, in the order of ``given``, and a bias for each channel if ``bias``.

    ``dtypes`` are those of the operands; the result is computed in ``work`` and given as ``after``.
    """

    name = "contract"
    linear = True
    geometry: ConvGeometry
    result: Role
    given: tuple[Role, Role]
    dtypes: tuple[DType, ...]
    work: DType
    after: DType

    @property
    def label(self) -> str:
        return {"y": "conv", "x": "conv_transpose", "w": "conv_filter_gradient"}[self.result]

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(getattr(self.geometry, self.result), self.after),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        a, b, *bias = (operand.astype(self.work, copy=False) for operand in operands)
        out = core.convolve(self.geometry, self.result, {self.given[0]: a, self.given[1]: b}, *bias)
        return (core.convert(out, self.after),)

    @cached_property
    def T(self) -> Contract:  # noqa: N802
        first, second = self.given
        dtypes = (self.after, self.dtypes[1])
        return Contract(self.geometry, first, (self.result, second), dtypes, self.work, native(self.dtypes[0]))

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        """By batch and spatial axes; channels, and the taps of a filter, are computed as a whole and cropped."""
        geometry = self.geometry
        parts = {name: [(0, n) for n in getattr(geometry, name)] for name in ("x", "w", "y")}
        axes = list(geometry.axes)
        if self.result != "w":
            spatial = {axis.position: q for q, axis in enumerate(axes)}
            for i in range(len(geometry.x)):
                if i in spatial:
                    axis = axes[spatial[i]]
                    windows = ranges[i] if self.result == "y" else axis.windows_of(*ranges[i])
                    elements, axes[spatial[i]] = axis.block(*windows)
                    parts["x"][i], parts["y"][i] = (elements.start, elements.stop), windows
                elif i != geometry.channel_axis:
                    parts["x"][i] = parts["y"][i] = ranges[i]
        shapes = {name: tuple(end - begin for begin, end in part) for name, part in parts.items()}
        part = dataclasses.replace(geometry, axes=tuple(axes), x=shapes["x"], y=shapes["y"])
        offset = tuple(begin for begin, _ in parts[self.result])
        slices = {name: tuple(slice(*r) for r in part_) for name, part_ in parts.items()}
        wanted = tuple((begin, end) for begin, end in ranges)
        needed = [slices[name] for name in self.given]
        if len(self.dtypes) > 2:
            needed.append((slice(0, getattr(geometry, self.result)[geometry.channel_axis]),))
        return ContractBlock(replace(self, geometry=part), offset, wanted), tuple(needed)

    def cuts(self, *operands: Sequence[Places]) -> tuple[Places | None, ...]:
        geometry = self.geometry
        if self.result == "w":
            return (None,) * len(geometry.w)
        spatial = {axis.position: axis for axis in geometry.axes}
        data = operands[self.given.index("y" if self.result == "x" else "x")]
        out: list[Places | None] = []
        for i, places in enumerate(data):
            if i in spatial:
                out.append((spatial[i].cut_windows if self.result == "y" else spatial[i].cut_elements)(places))
            else:
                out.append(None if i == geometry.channel_axis else places)
        return tuple(out)

    def batched(self, size: int, mapped: Sequence[bool]) -> tuple[Op, tuple[bool, ...]]:
        """Data that share a filter have one more batch axis; everything else is computed slice by slice."""
        shared = tuple(role == "w" for role in self.given) + (True,) * (len(self.dtypes) - 2)
        if self.result == "w" or any(m and s for m, s in zip(mapped, shared, strict=True)):
            return super().batched(size, mapped)
        return replace(self, geometry=self.geometry.batched(size)), tuple(not s for s in shared)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        a, b = operands[:2]
        first, second = self.given
        by = [self.by(bind, first, self.dtypes[0], second, b, self.dtypes[1]) if wanted[0] else None]
        by.append(self.by(bind, second, self.dtypes[1], first, a, self.dtypes[0]) if wanted[1] else None)
        if len(operands) > 2:
            by.append(self.by_bias(bind) if wanted[2] else None)
        return bind(self, *operands), by

    def by(self, bind: Bind, role: Role, dtype: DType, other: Role, fixed: Value, fixed_dtype: DType) -> LinearOperator:
        """The derivative with respect to one operand, the other one fixed."""
        dtypes = (native(dtype), fixed_dtype)
        return Applied(bind, Contract(self.geometry, self.result, (role, other), dtypes, self.work, self.after), fixed)

    def by_bias(self, bind: Bind) -> LinearOperator:
        shape: Shape = getattr(self.geometry, self.result)
        axis = self.geometry.channel_axis
        return Applied(bind, ChannelSpread(shape, axis, native(self.dtypes[2]), self.after))


class ContractBlock(Op):
    """A part of a :class:`Contract`, which computes ``op`` from ``start`` on."""

    name = "contract_block"
    op: Contract
    start: Shape
    ranges: tuple[tuple[int, int], ...]

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(tuple(end - begin for begin, end in self.ranges), self.op.after),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        (whole,) = self.op.evaluate(*operands)
        out = np.zeros([end - begin for begin, end in self.ranges], whole.dtype)
        if self.op.result == "x" and len(operands) > 2:  # the bias is there also where no filter lies
            channel = self.op.geometry.channel_axis
            begin, end = self.ranges[channel]
            bias = core.convert(operands[2][begin:end], self.op.after)
            out += bias.reshape(-1, *(1,) * (out.ndim - channel - 1))
        return (pasted(out, whole, self),)


# ------------------------------------------------------------------------------------------------- the bias


class ChannelSum(Op):
    """The sum over all axes but one: as exact, as fast and as reproducible as one large window."""

    name = "channel_sum"
    linear = True
    shape: Shape
    axis: int
    before: DType
    after: DType

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec((self.shape[self.axis],), self.after),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        (x,) = operands
        if len(self.shape) == 1:
            return (core.convert(x.copy(), self.after),)
        if not x.size:
            return (np.zeros(self.shape[self.axis], self.after),)
        axes = tuple(Axis(i, n, 1, n, n, 1, 0, 0) for i, n in enumerate(self.shape) if i != self.axis)
        total = core.sum_pool(x, Geometry(self.shape, axes), False)
        return (core.convert(total.reshape(-1), self.after),)

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        ((begin, end),) = ranges
        part = tuple(slice(begin, end) if i == self.axis else slice(0, n) for i, n in enumerate(self.shape))
        shape = tuple(end - begin if i == self.axis else n for i, n in enumerate(self.shape))
        return replace(self, shape=shape), (part,)

    def cuts(self, *operands: Sequence[Places]) -> tuple[Places | None, ...]:
        return (operands[0][self.axis],)

    @cached_property
    def T(self) -> ChannelSpread:  # noqa: N802
        return ChannelSpread(self.shape, self.axis, self.after, self.before)


class ChannelSpread(Op):
    """One number per channel to all elements of its channel."""

    name = "channel_spread"
    linear = True
    shape: Shape
    axis: int
    before: DType
    after: DType

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, self.after),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        after = len(self.shape) - self.axis - 1
        bias = core.convert(operands[0], self.after)
        return (np.broadcast_to(bias.reshape(-1, *(1,) * after), self.shape).copy(),)

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        shape = tuple(end - begin for begin, end in ranges)
        return replace(self, shape=shape), ((slice(*ranges[self.axis]),),)

    @cached_property
    def T(self) -> ChannelSum:  # noqa: N802
        return ChannelSum(self.shape, self.axis, self.after, self.before)
