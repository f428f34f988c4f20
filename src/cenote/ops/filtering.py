"""Correlation and convolution without channel axes: a :class:`Contract` seen through views."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..arguments.arrays import Array
from ..dtypes import native
from .base import Applied, Bind, Crop, Derivatives, LinearOperator, Op, Places, Ranges, Shape, Slices, Spec, Value
from .conv import Contract, Role
from .record import replace


class Filter(Op):
    """``contract`` on arrays without channels, along ``axes``; a convolution flips the filter.

    The Contract has its batch axes in front, then the filtered axes in the order of the filter's, then one channel.
    """

    name = "filter"
    linear = True
    contract: Contract
    axes: tuple[int, ...]
    flip: bool

    @property
    def label(self) -> str:
        return "convolve" if self.flip else "correlate"

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The axes of the data in the order of the Contract's."""
        ndim = len(self.contract.geometry.x) - 1
        return (*(i for i in range(ndim) if i not in self.axes), *self.axes)

    def inside(self, x: Array, role: Role) -> Array:
        """An array of the user's as the Contract has it: a view."""
        if role == "w":
            return (np.flip(x) if self.flip else x)[..., None, None]
        return x.transpose(self.order)[..., None]

    def outside(self, x: Array, role: Role) -> Array:
        if role == "w":
            return np.ascontiguousarray(np.flip(x[..., 0, 0])) if self.flip else x[..., 0, 0]
        return np.ascontiguousarray(x[..., 0].transpose(np.argsort(self.order)))

    def shape_of(self, role: Role) -> Shape:
        inner: Shape = getattr(self.contract.geometry, role)
        if role == "w":
            return inner[:-2]
        return tuple(inner[self.order.index(i)] for i in range(len(inner) - 1))

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape_of(self.contract.result), self.contract.after),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        inner = [self.inside(x, role) for x, role in zip(operands, self.contract.given, strict=True)]
        return (self.outside(self.contract.evaluate(*inner)[0], self.contract.result),)

    @cached_property
    def T(self) -> Filter:  # noqa: N802
        return replace(self, contract=self.contract.T)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        form = self.contract
        by: list[LinearOperator | None] = []
        for i, want in enumerate(wanted):
            if not want:
                by.append(None)
                continue
            role, fixed = form.given[i], operands[1 - i]
            given, dtypes = (role, form.given[1 - i]), (native(form.dtypes[i]), form.dtypes[1 - i])
            operator = Applied(bind, replace(self, contract=replace(form, given=given, dtypes=dtypes)), fixed)
            by.append(operator)
        return bind(self, *operands), by

    def batched(self, size: int, mapped: Sequence[bool]) -> tuple[Op, tuple[bool, ...]]:
        contract, needed = self.contract.batched(size, mapped)
        if not isinstance(contract, Contract):
            return super().batched(size, mapped)
        return replace(self, contract=contract, axes=tuple(i + 1 for i in self.axes)), needed

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        if self.contract.result == "w":  # as a whole
            part, needed = Crop(self, tuple((begin, end) for begin, end in ranges)), self.contract.given
            return part, tuple(tuple(slice(0, n) for n in self.shape_of(role)) for role in needed)
        inner = [*(ranges[i] for i in self.order), (0, 1)]
        block, slices = self.contract.block(inner)
        out: list[Slices] = []
        for role, part_of in zip(self.contract.given, slices, strict=True):
            if role == "w":
                out.append(tuple(slice(0, n) for n in self.shape_of("w")))
            else:
                out.append(tuple(part_of[self.order.index(i)] for i in range(len(self.order))))
        return FilterBlock(self, block), tuple(out)

    def cuts(self, *operands: Sequence[Places]) -> tuple[Places | None, ...]:
        if self.contract.result == "w":
            return (None,) * len(self.axes)
        inner = []
        for role, places in zip(self.contract.given, operands, strict=True):
            inner.append([*places, (0, 1), (0, 1)] if role == "w" else [*(places[i] for i in self.order), (0, 1)])
        out = self.contract.cuts(*inner)
        return tuple(out[self.order.index(i)] for i in range(len(self.order)))


class FilterBlock(Op):
    """A part of the result of a :class:`Filter`."""

    name = "filter_block"
    whole: Filter
    block_op: Op

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        (inner,) = self.block_op.infer()
        order = self.whole.order
        return (Spec(tuple(inner.shape[order.index(i)] for i in range(len(order))), inner.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        form = self.whole.contract
        inner = [self.whole.inside(x, role) for x, role in zip(operands, form.given, strict=True)]
        return (self.whole.outside(self.block_op.evaluate(*inner)[0], form.result),)
