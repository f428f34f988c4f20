"""From one file to another: what ``cenote pool`` and ``cenote conv`` do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .base import FileError, Layout, Source, Target
from .formats import create_target, split_zarr
from .lazy import FileArray, Pending
from .streaming import Grid, Ranges, plan_blocks, stream

# total blocks, bytes that a block reads and writes → what to call when a block is done
Progress = Callable[[int, float], AbstractContextManager[Callable[[Ranges], None]]]


def transform(
    source: Source,
    out: str,
    call: Callable[[FileArray], Pending],
    progress: Progress,
    *,
    overwrite: bool,
    chunks: tuple[int, ...] | None,
    threads: int,
    scheduler: str | None = None,
) -> Pending:
    """Write ``call`` of the array in ``source`` to ``out``, block by block; returns what was computed."""
    pending = call(FileArray(source))
    kept = source.dims if source.dims is not None and len(source.dims) == len(pending.shape) else None
    if chunks is not None and split_zarr(out) is None:
        raise FileError(f"--chunks {','.join(map(str, chunks))}: {out} has no chunks, they are for zarr and netCDF")
    layout = Layout(pending.shape, pending.dtype, kept, check_chunks(chunks, pending.shape), source.attributes, source)
    with create_target(out, layout, overwrite) as target:
        run_blocks(pending, target, plan_blocks(pending, target.unit), progress, threads, scheduler)
    return pending


def run_blocks(
    pending: Pending,
    target: Target,
    blocks: Grid,
    progress: Progress,
    threads: int,
    scheduler: str | None,
) -> None:
    moved = sum(_bytes(x) for x in (*pending.operands, pending)) / max(1, len(blocks))
    with progress(len(blocks), moved) as done:
        if scheduler is None:
            stream(pending, target, threads, blocks, done)
        else:
            from .cluster import stream_on_cluster

            stream_on_cluster(scheduler, pending, target, blocks, done)


def check_chunks(chunks: tuple[int, ...] | None, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    if chunks is not None and (len(chunks) != len(shape) or min(chunks) < 1):
        raise ValueError(
            f"--chunks {','.join(map(str, chunks))}: the result has {len(shape)} axes, one size of at least 1 for each "
            "is needed"
        )
    return chunks


def _bytes(x: Any) -> int:
    size: int = x.dtype.itemsize
    for n in x.shape:
        size *= n
    return size
