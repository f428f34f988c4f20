"""An Op on arrays that are cut into blocks: how its output is cut, and which blocks each part of it needs.

Nothing here knows dask: blocks are NumPy arrays, and arrays are described by their chunks, the sizes of the blocks
along each axis.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from ... import core
from ...arguments.arrays import Array
from ...arguments.errors import BadValue
from ...ops.base import Op, Spec
from ...ops.record import Record

Chunks: TypeAlias = tuple[tuple[int, ...], ...]
Index: TypeAlias = tuple[int, ...]
Ranges: TypeAlias = tuple[tuple[int, int], ...]
# Of the blocks that hold a slab: along each axis, from where to where each of them is needed.
Layout: TypeAlias = tuple[tuple[tuple[int, int], ...], ...]

SMALL = 4 << 20  # bytes: blocks up to this size are not worth being cut


class Work(Record):
    """An Op with what it is applied to: all that the tasks of one graph share."""

    op: Op
    specs: tuple[Spec, ...]


def compute(work: Work, ranges: Ranges, layouts: tuple[Layout, ...], *blocks: Any) -> Any:
    """One block of the output, or a tuple of them: what a task runs."""
    part, _ = work.op.block(ranges, *work.specs)
    rest = iter(blocks)
    slabs = [slab(layout, spec, rest) for layout, spec in zip(layouts, work.specs, strict=True)]
    limit = core.limit_threads(1)  # the scheduler runs as many tasks at a time as there are CPUs
    try:
        outputs = part.evaluate(*slabs)
    except BadValue as cause:
        raise ValueError(f"{work.op.label}: {cause}") from None
    finally:
        core.limit_threads(limit)
    kept = tuple(map(own, outputs))
    return kept[0] if len(kept) == 1 else kept


def slab(layout: Layout, spec: Spec, blocks: Iterator[Any]) -> Array:
    """The part of an operand that a block of the output needs: a view where one block holds it."""
    shape = tuple(sum(end - begin for begin, end in pieces) for pieces in layout)
    numbers = tuple(map(len, layout))
    if math.prod(numbers) == 1:
        return piece(next(blocks), [pieces[0] for pieces in layout], spec)
    out: Array | None = None
    for index in itertools.product(*map(range, numbers)):
        found = piece(next(blocks), [pieces[i] for pieces, i in zip(layout, index, strict=True)], spec)
        if out is None:
            out = np.empty_like(found, shape=shape)  # in the memory order of the blocks
        to = []
        for pieces, i in zip(layout, index, strict=True):
            begin = sum(e - b for b, e in pieces[:i])
            to.append(slice(begin, begin + pieces[i][1] - pieces[i][0]))
        out[tuple(to)] = found
    return np.empty(shape, spec.dtype) if out is None else out


def piece(block: Any, ranges: Sequence[tuple[int, int]], spec: Spec) -> Array:
    x = np.asarray(block)
    if isinstance(block, np.ma.MaskedArray):
        raise TypeError("a block is a masked array, and its mask would be lost: fill it first")
    fits = x.ndim == len(ranges) and all(end <= n for (_, end), n in zip(ranges, x.shape, strict=True))
    if x.dtype != spec.dtype or not fits:
        raise TypeError(
            f"a block has dtype {x.dtype} and shape {x.shape}, which is not what the array says: dtype {spec.dtype}, "
            f"of which {', '.join(f'{begin}:{end}' for begin, end in ranges)} is needed"
        )
    return x[tuple(slice(*r) for r in ranges)]


def own(x: Array) -> Array:
    """``x`` without the rest of a larger array that it is a view of, which would stay in memory with it."""
    base = x.base
    return x.copy() if isinstance(base, np.ndarray) and base.nbytes > x.nbytes else x


class Blocks:
    """The blocks of an output, and the blocks of the operands that each of them needs."""

    def __init__(self, work: Work, operands: Sequence[Chunks], output: Chunks) -> None:
        self.work = work
        self.places = [[edges(sizes) for sizes in chunks] for chunks in operands]
        self.ranges = [list(itertools.pairwise(edges(sizes))) for sizes in output]
        self.found: dict[tuple[int, int, int, int], tuple[int, tuple[tuple[int, int], ...]]] = {}

    def needed(self, index: Index) -> tuple[Ranges, tuple[Layout, ...], Iterator[tuple[int, Index]]]:
        """Of the output's block ``index``: its range on each axis, how the slabs lie on blocks, and those blocks, each
        as the number of its operand and its own index."""
        ranges = tuple(of_axis[i] for of_axis, i in zip(self.ranges, index, strict=True))
        _, slices = self.work.op.block(ranges, *self.work.specs)
        layouts, grids = [], []
        for operand, part in enumerate(slices):
            found = [self.along(operand, axis, s.start, s.stop) for axis, s in enumerate(part)]
            layouts.append(tuple(pieces for _, pieces in found))
            grids.append([range(first, first + len(pieces)) for first, pieces in found])
        blocks = ((operand, block) for operand, grid in enumerate(grids) for block in itertools.product(*grid))
        return ranges, tuple(layouts), blocks

    def along(self, operand: int, axis: int, begin: int, end: int) -> tuple[int, tuple[tuple[int, int], ...]]:
        """The first block that has elements from ``begin`` to ``end`` on an axis, and where they are in it and in those
        after it."""
        key = (operand, axis, begin, end)
        known = self.found.get(key)
        if known is None:
            places = self.places[operand][axis]
            if end <= begin:
                known = 0, ()
            else:
                first, last = bisect_right(places, begin) - 1, bisect_left(places, end)
                known = (
                    first,
                    tuple(
                        (max(begin - a, 0), min(end, b) - a) for a, b in itertools.pairwise(places[first : last + 1])
                    ),
                )
            self.found[key] = known
        return known


def edges(sizes: Sequence[int]) -> list[int]:
    return [0, *itertools.accumulate(sizes)]


def inner_edges(sizes: Sequence[int]) -> list[int]:
    places = edges(sizes)
    return [place for place in places if 0 < place < places[-1]]


def output_chunks(op: Op, outputs: Sequence[Spec], operands: Sequence[Chunks], limit: int) -> Chunks:
    """The chunks of the outputs of an Op on operands with these chunks. They follow those of the operands, and a block
    is not much larger than ``limit`` bytes."""
    shape = outputs[0].shape
    cuts = list(op.cuts(*([inner_edges(sizes) for sizes in chunks] for chunks in operands)))
    cuts += [None] * (len(shape) - len(cuts))
    places = [sorted({0, n, *(p for p in cut or () if 0 < p < n)}) for cut, n in zip(cuts, shape, strict=True)]
    chunks = [[b - a for a, b in itertools.pairwise(of_axis)] or [0] for of_axis in places]
    each = sum(spec.dtype.itemsize for spec in outputs)
    free = [i for i, cut in enumerate(cuts) if cut is not None]
    while each * math.prod(map(max, chunks)) > max(limit, SMALL):
        largest, i = max(((max(chunks[i]), -i) for i in free), default=(1, 0))
        if largest == 1:
            break
        chunks[-i] = [part for size in chunks[-i] for part in evenly(size, -(-largest // 2))]
    return tuple(map(tuple, chunks))


def evenly(size: int, most: int) -> list[int]:
    """``size`` as a sum of equal parts, or nearly equal ones, of at most ``most``."""
    number = -(-size // most)
    return [(i + 1) * size // number - i * size // number for i in range(number)]
