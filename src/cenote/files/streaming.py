"""Compute an Op from files into a file, one block of the output after another.

A block covers whole chunks of the target, so that no two writes touch the same chunk or shard, and is made of just the
part of the input that it needs. Several blocks are computed at a time, each on one thread; of one block the core makes
use of all threads itself.
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
from .lazy import FileArray, Pending

Ranges: TypeAlias = tuple[tuple[int, int], ...]

BLOCK_BYTES = 32 << 20  # of input and output of a block, unless one chunk of the target takes more
LEAST_BYTES = 2 << 20
BLOCKS = 32


def blocks_of(shape: Sequence[int], unit: Sequence[int], bytes_per_element: float, limit: float) -> list[Ranges]:
    """Ranges that cover an array, each made of whole units: as many as fit the memory of a block."""
    size = [max(1, min(u, n)) for u, n in zip(unit, shape, strict=True)]
    for axis in reversed(range(len(shape))):  # neighbours in memory first
        room = int(limit / max(1.0, math.prod(size) * bytes_per_element))
        if room > 1:
            size[axis] = min(size[axis] * room, max(1, -(-shape[axis] // size[axis])) * size[axis])
    cuts = [[(b, min(b + s, n)) for b in range(0, n, s)] or [(0, 0)] for n, s in zip(shape, size, strict=True)]
    return list(itertools.product(*cuts))


def compute(op: Op, operands: tuple[Any, ...], ranges: Ranges) -> Array:
    """One block of the first output."""
    specs = [Spec(x.shape, x.dtype) for x in operands]
    part, needed = op.block(ranges, *specs)
    given = []
    for x, slices in zip(operands, needed, strict=True):
        given.append(np.asarray(x.source.read(slices) if isinstance(x, FileArray) else x[slices]))
    return part.evaluate(*given)[0]


def plan_blocks(pending: Pending, unit: Sequence[int]) -> list[Ranges]:
    read = sum(math.prod(x.shape) * x.dtype.itemsize for x in pending.operands if isinstance(x, FileArray))
    elements = max(1, math.prod(pending.shape))
    each = pending.dtype.itemsize + read / elements
    # Small arrays are cut too, so that every thread has work until the end.
    return blocks_of(pending.shape, unit, each, min(BLOCK_BYTES, max(LEAST_BYTES, each * elements / BLOCKS)))


def stream(
    pending: Pending,
    target: Target,
    threads: int,
    blocks: Sequence[Ranges],
    done: Callable[[Ranges], None],
) -> None:
    """Compute the blocks and write them; ``done`` is called for each, in the calling thread."""

    def one(ranges: Ranges) -> Ranges:
        data = compute(pending.op, pending.operands, ranges)
        target.write(tuple(slice(*r) for r in ranges), data)
        return ranges

    workers = min(threads, len(blocks))
    with runtime.num_threads(threads if workers <= 1 else 1):
        if workers <= 1:
            for ranges in blocks:
                done(one(ranges))
            return
        with ThreadPoolExecutor(workers) as pool:
            for finished in bounded(pool, one, blocks, 2 * workers):
                done(finished)


def bounded(
    pool: ThreadPoolExecutor, f: Callable[[Ranges], Ranges], work: Iterable[Ranges], most: int
) -> Iterator[Any]:
    """Results as they come, with at most ``most`` calls under way; after an exception no further one is begun."""
    waiting: set[Future[Ranges]] = set()
    try:
        for item in work:
            waiting.add(pool.submit(f, item))
            if len(waiting) >= most:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        for future in waiting:
            yield future.result()
    except BaseException:
        for future in waiting:
            future.cancel()
        raise
