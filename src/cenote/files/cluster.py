"""Blocks on a dask.distributed cluster: a task for each, on one thread, that reads, computes and writes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import runtime
from .base import FileError, Target, needs
from .lazy import Pending
from .streaming import Ranges, compute
from .zarr_files import ZarrSource, ZarrTarget


def one_block(op: Any, operands: tuple[Any, ...], target: ZarrTarget, ranges: Ranges) -> Ranges:
    with runtime.num_threads(1):
        target.write(tuple(slice(*r) for r in ranges), compute(op, operands, ranges))
    return ranges


def stream_on_cluster(
    address: str, pending: Pending, target: Target, blocks: Sequence[Ranges], done: Callable[[Ranges], None]
) -> None:
    distributed = needs("distributed", "dask.distributed", "dask")
    files = [getattr(x, "source", None) for x in pending.operands]
    if not isinstance(target, ZarrTarget) or not all(isinstance(s, ZarrSource) for s in files if s is not None):
        raise FileError("--scheduler needs zarr files for IN and OUT, which every worker can read and write by itself")
    try:
        client = distributed.Client(address, timeout="10s")
    except OSError as error:
        raise FileError(f"--scheduler {address}: {' '.join(str(error).split())}") from None
    with client:
        shared = client.scatter((pending.op, pending.operands, target), broadcast=True, hash=False)
        futures = client.map(run_shared, list(blocks), shared=shared, pure=False)
        try:
            for future in distributed.as_completed(futures):
                done(future.result())
        except BaseException:
            client.cancel(futures)
            raise


def run_shared(ranges: Ranges, shared: Any) -> Ranges:
    op, operands, target = shared
    return one_block(op, operands, target, ranges)
