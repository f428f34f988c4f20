"""Compute an Op from files into a file, one block of the output after another.

A block covers whole chunks of the target, so that no two writes touch the same chunk or shard, and is made of just the
part of the input that it needs. Several blocks are computed at a time, as many as there are threads and as fit into
memory; where those are fewer, the core computes a block on several threads.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeAlias

import numpy as np

from .. import runtime
from ..arguments.arrays import Array
from ..ops.base import Op, Spec
from .base import Target
from .interrupts import deferred
from .lazy import FileArray, Pending

Ranges: TypeAlias = tuple[tuple[int, int], ...]

BLOCK_BYTES = 32 << 20  # of input and output of a block, unless one chunk of the target takes more
LEAST_BYTES = 2 << 20
MOST_BYTES = 128 << 20  # of a block that is enlarged so that it reads whole chunks
WASTE = 1.25
MEMORY = 512 << 20  # of all blocks that are computed at a time
BLOCKS = 32


class Grid(Iterable[Ranges]):
    """The blocks that these cuts of the axes make, in row-major order. A petabyte has millions: they are not listed."""

    def __init__(self, cuts: Sequence[Sequence[tuple[int, int]]]) -> None:
        self.cuts = cuts

    def __len__(self) -> int:
        return math.prod(map(len, self.cuts))

    def __iter__(self) -> Iterator[Ranges]:
        return itertools.product(*self.cuts)

    @property
    def largest(self) -> int:
        """Elements of a block: all but the last ones of an axis are equally long."""
        return math.prod(b - a for a, b in (of_axis[0] for of_axis in self.cuts))


def compute(op: Op, operands: tuple[Any, ...], ranges: Ranges) -> Array:
    """One block of the first output."""
    specs = [Spec(x.shape, x.dtype) for x in operands]
    part, needed = op.block(ranges, *specs)
    given = []
    for x, slices in zip(operands, needed, strict=True):
        given.append(np.asarray(x.source.read(slices) if isinstance(x, FileArray) else x[slices]))
    return part.evaluate(*given)[0]


def plan_blocks(pending: Pending, unit: Sequence[int]) -> Grid:
    """Blocks that are made of whole units of the target and read few chunks of the input more than once."""
    elements, each = max(1, math.prod(pending.shape)), bytes_per_element(pending)
    # Small arrays are cut too, so that every thread has work until the end.
    limit = min(BLOCK_BYTES, max(LEAST_BYTES, each * elements / BLOCKS))
    size = clipped(unit, pending.shape)
    for candidate in aligned_units(pending, unit):
        if math.prod(clipped(candidate, pending.shape)) * each <= MOST_BYTES:
            size = clipped(candidate, pending.shape)
            break
    size = grown(pending, size, limit / each)
    if chunks_per_element(pending, size) > WASTE * chunks_per_element(pending, pending.shape):
        # Windows that overlap: the larger a block, the smaller the share of chunks that its neighbours read again.
        limit = min(4 * BLOCK_BYTES, max(LEAST_BYTES, each * elements / (BLOCKS // 4)))
        size = grown(pending, size, limit / each)
    cuts = [[(b, min(b + s, n)) for b in range(0, n, s)] or [(0, 0)] for n, s in zip(pending.shape, size, strict=True)]
    return Grid(cuts)


def bytes_per_element(pending: Pending) -> float:
    """Of input and output, for each element of the output."""
    read = sum(math.prod(x.shape) * x.dtype.itemsize for x in pending.operands if isinstance(x, FileArray))
    return pending.dtype.itemsize + read / max(1, math.prod(pending.shape))


def clipped(size: Sequence[int], shape: Sequence[int]) -> list[int]:
    return [max(1, min(u, n)) for u, n in zip(size, shape, strict=True)]


def grown(pending: Pending, size: list[int], most: float) -> list[int]:
    """A multiple of a block's size with at most so many elements. It is doubled on the axis on which it then reads the
    fewest chunks for each element, the last one if that is the same for several: neighbours in memory first."""
    while True:
        larger = []
        for axis in reversed(range(len(size))):
            new = [
                *size[:axis],
                min(2 * size[axis], max(1, -(-pending.shape[axis] // size[axis])) * size[axis]),
                *size[axis + 1 :],
            ]
            if new != size and math.prod(clipped(new, pending.shape)) <= most:
                larger.append(new)
        if not larger:
            return size
        size = min(larger, key=lambda new: chunks_per_element(pending, new))


def chunks_per_element(pending: Pending, size: Sequence[int]) -> float:
    """How many bytes of whole chunks a block in the middle reads for each of its elements."""
    size = clipped(size, pending.shape)
    starts = [min(n - s, n // 2 // s * s) for n, s in zip(pending.shape, size, strict=True)]
    specs = [Spec(x.shape, x.dtype) for x in pending.operands]
    _, slices = pending.op.block(tuple((a, a + s) for a, s in zip(starts, size, strict=True)), *specs)
    read = 0
    for x, part in zip(pending.operands, slices, strict=True):
        if isinstance(x, FileArray):
            chunks = x.source.chunks or (1,) * len(x.shape)
            spans = [(-(-s.stop // c) - s.start // c) * c for s, c in zip(part, chunks, strict=True)]
            read += math.prod(spans) * x.dtype.itemsize
    return read / max(1, math.prod(size))


def aligned_units(pending: Pending, unit: Sequence[int]) -> Iterator[list[int]]:
    """Multiples of ``unit`` whose blocks read whole chunks of the input, or whole chunks on the first axes: a chunk
    that several blocks share is decompressed for each of them."""
    places = []
    for x in pending.operands:
        chunks = getattr(getattr(x, "source", None), "chunks", None) or x.shape
        places.append([list(range(c, n, c)) if c else [] for c, n in zip(chunks, x.shape, strict=True)])
    cuts = [*pending.op.cuts(*places), *[()] * len(pending.shape)]
    steps = []
    for u, n, cut in zip(unit, pending.shape, cuts, strict=False):
        if cut is None:  # parts cost as much as the whole
            step = n
        else:
            ends = sorted({p for p in cut if 0 < p < n})
            step = max(b - a for a, b in itertools.pairwise([0, *ends, n])) if ends else 1
        steps.append(max(1, -(-step // u)) * u)
    for kept in range(len(steps), 0, -1):
        yield [*steps[:kept], *unit[kept:]]


def stream(
    pending: Pending,
    target: Target,
    threads: int,
    blocks: Grid,
    done: Callable[[Ranges], None],
    skip: Callable[[Ranges], bool] = lambda _: False,
) -> None:
    """Compute the blocks and write them, but those to skip; ``done`` is called for each, in the calling thread."""

    def one(ranges: Ranges) -> Ranges:
        data = compute(pending.op, pending.operands, ranges)
        target.write(tuple(slice(*r) for r in ranges), data)
        return ranges

    workers = max(1, min(threads, len(blocks), int(MEMORY / max(1.0, largest_block(pending, blocks)))))
    # Also a single one has a thread of its own: after an interrupt of this thread, the block that is being written is
    # waited for.
    with runtime.num_threads(max(1, threads // workers)), ThreadPoolExecutor(workers) as pool:
        try:
            for finished in bounded(pool, one, itertools.filterfalse(skip, blocks), 2 * workers):
                done(finished)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # those that run are waited for
            raise


def largest_block(pending: Pending, blocks: Grid) -> float:
    """Bytes of input and output."""
    return blocks.largest * bytes_per_element(pending)


def bounded(
    pool: ThreadPoolExecutor, f: Callable[[Ranges], Ranges], work: Iterable[Ranges], most: int
) -> Iterator[Ranges]:
    """Results as they come, with at most ``most`` calls under way."""
    waiting: set[Future[Ranges]] = set()
    for item in work:
        with deferred():  # an interrupted start of a thread would not be waited for
            waiting.add(pool.submit(f, item))
        if len(waiting) >= most:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
    for future in waiting:
        yield future.result()
