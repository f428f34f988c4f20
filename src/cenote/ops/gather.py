"""max_unpool: values to the places that indices say, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from .. import core
from ..arguments.arrays import Array
from ..arguments.errors import BadValue
from ..dtypes import DType
from .base import Crop, Op, Places, Ranges, Shape, Slices, Spec, finest
from .record import replace


class Unpool(Op):
    """Values to their places in zeros; of several for one place the last one stays: operands y, indices."""

    name = "unpool"
    linear = True
    shape: Shape  # of y and of indices
    positions: tuple[int, ...]  # the pooled axes
    sizes: tuple[int, ...]  # of the pooled axes of the result
    dtype: DType

    @property
    def label(self) -> str:
        return "max_unpool"

    @property
    def out_shape(self) -> Shape:
        out = list(self.shape)
        for position, size in zip(self.positions, self.sizes, strict=True):
            out[position] = size
        return tuple(out)

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.out_shape, self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        y, indices = operands
        self.check(indices)
        return (core.unpool(y, indices, self.positions, self.sizes),)

    def check(self, indices: Array) -> None:
        if not indices.size:
            return
        low, high = int(indices.min()), int(indices.max())
        number = 1
        for size in self.sizes:
            number *= size
        if low < -1 or high >= number:
            raise BadValue(
                f"indices has values from {low} to {high}, the pooled axes of the result have "
                f"{'*'.join(map(str, self.sizes))} = {number} elements: -1 (skipped) to {number - 1} is possible"
            )

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        """An index may lead anywhere: a part needs all values, and keeps those that are for it."""
        needed = tuple(slice(0, n) if i in self.positions else slice(*ranges[i]) for i, n in enumerate(self.shape))
        part = replace(self, shape=tuple(s.stop - s.start for s in needed))
        pooled = tuple((ranges[i][0], ranges[i][1]) for i in self.positions)
        return UnpoolBlock(part, pooled), (needed, needed)

    def cuts(self, *operands: Sequence[Places]) -> tuple[Places | None, ...]:
        out = [finest(*(places[i] for places in operands)) for i in range(len(self.shape))]
        for i, size in zip(self.positions, self.sizes, strict=True):
            out[i] = [place * size // max(self.shape[i], 1) for place in out[i]]
        return tuple(out)

    def batched(self, size: int, mapped: Sequence[bool]) -> tuple[Op, tuple[bool, ...]]:
        return one_more_axis(self, size), (True,) * len(mapped)

    @cached_property
    def T(self) -> UnpoolGather:  # noqa: N802
        return UnpoolGather(self.shape, self.positions, self.sizes, self.dtype)


class UnpoolBlock(Op):
    """A part of the result of an :class:`Unpool`: ``ranges`` of its pooled axes."""

    name = "unpool_block"
    op: Unpool
    ranges: tuple[tuple[int, int], ...]

    @cached_property
    def part(self) -> Unpool:
        return replace(self.op, sizes=tuple(end - begin for begin, end in self.ranges))

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return self.part.infer(*operands)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        y, indices = operands
        self.op.check(indices)
        rest = indices.astype(np.int64)
        inside, here, stride = rest >= 0, np.zeros(rest.shape, np.int64), 1
        for size, (begin, end) in zip(reversed(self.op.sizes), reversed(self.ranges), strict=True):
            at = rest % max(size, 1) - begin
            rest //= max(size, 1)
            inside &= (at >= 0) & (at < end - begin)
            here += at * stride
            stride *= end - begin
        return (core.unpool(y, np.where(inside, here, -1), self.op.positions, self.part.sizes),)


class UnpoolGather(Op):
    """The values at their places, 0 for one that was overwritten or skipped: operands g, indices."""

    name = "unpool_gather"
    linear = True
    shape: Shape
    positions: tuple[int, ...]
    sizes: tuple[int, ...]
    dtype: DType

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        g, indices = operands
        self.T.check(indices)
        return (core.unpool_gather(g, indices, self.positions, self.sizes),)

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        return whole_planes(self, ranges)

    def cuts(self, *operands: Sequence[Places]) -> tuple[Places | None, ...]:
        axes = range(len(self.shape))
        return tuple(None if i in self.positions else finest(*(places[i] for places in operands)) for i in axes)

    def batched(self, size: int, mapped: Sequence[bool]) -> tuple[Op, tuple[bool, ...]]:
        return one_more_axis(self, size), (True,) * len(mapped)

    @cached_property
    def T(self) -> Unpool:  # noqa: N802
        return Unpool(self.shape, self.positions, self.sizes, self.dtype)


def one_more_axis(op: Unpool | UnpoolGather, size: int) -> Op:
    return replace(op, shape=(size, *op.shape), positions=tuple(i + 1 for i in op.positions))


def whole_planes(op: UnpoolGather, ranges: Ranges) -> tuple[Op, tuple[Slices, ...]]:
    """A part of the result. Which of several values is the last one, only all indices say: pooled axes are computed as
    a whole."""
    batch = {i: r for i, r in enumerate(ranges) if i not in op.positions}

    def needed(sizes: Shape) -> Slices:
        return tuple(slice(*batch.get(i, (0, n))) for i, n in enumerate(sizes))

    sizes = tuple(batch[i][1] - batch[i][0] if i in batch else n for i, n in enumerate(op.shape))
    crop = tuple((0, end - begin) if i in batch else (begin, end) for i, (begin, end) in enumerate(ranges))
    return Crop(replace(op, shape=sizes), crop), (needed(op.T.out_shape), needed(op.shape))
