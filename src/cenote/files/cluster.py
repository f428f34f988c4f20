"""Blocks on a dask.distributed cluster: a task for each, on one thread, that reads, computes and writes it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from typing import Any

from .. import core
from .base import FileError, Target, in_one_line, needs
from .lazy import Pending
from .streaming import Grid, Ranges, compute
from .zarr_files import ZarrSource, ZarrTarget

PREFIX = "cenote-block"
QUEUED = 20_000  # tasks that the scheduler knows at a time: a petabyte has millions, of a kilobyte each
CONNECTING = 10  # seconds
PATIENCE = 60.0  # seconds: how long tasks that cannot be stopped are waited for


def run_shared(ranges: Ranges, shared: Any) -> Ranges:
    """What a task does. ``shared`` is the result of another task, which a worker that takes over can run again."""
    op, operands, target = shared
    limit = core.limit_threads(1)  # of this thread: a worker runs other tasks at the same time
    try:
        target.write(tuple(slice(*r) for r in ranges), compute(op, operands, ranges))
    finally:
        core.limit_threads(limit)
    return ranges


def share(*parts: Any) -> Any:
    return parts


def stream_on_cluster(
    address: str,
    pending: Pending,
    target: Target,
    blocks: Grid,
    done: Callable[[Ranges], None],
    skip: Callable[[Ranges], bool] = lambda _: False,
) -> None:
    distributed = needs("distributed", "dask.distributed", "dask")
    files = [source_of(x) for x in pending.operands]
    if not isinstance(target, ZarrTarget) or not all(isinstance(s, ZarrSource) for s in files if s is not None):
        raise FileError("--scheduler needs zarr files for IN and OUT, which every worker can read and write by itself")
    with connect(distributed, address) as client:
        shared = client.submit(share, pending.op, pending.operands, target, pure=False)
        left = itertools.filterfalse(skip, blocks)
        waiting: set[Any] = set()

        def submit(number: int) -> list[Any]:
            futures = client.map(
                run_shared, list(itertools.islice(left, number)), shared=shared, pure=False, key=PREFIX
            )
            waiting.update(futures)
            return futures  # type: ignore[no-any-return]

        try:
            queue = distributed.as_completed(submit(QUEUED), loop=client.loop)
            wait_for_a_worker(client, shared)
            for future in queue:
                done(future.result())
                waiting.remove(future)
                if len(waiting) <= QUEUED // 2:
                    queue.update(submit(QUEUED // 2))
        except BaseException as error:
            client.cancel(list(waiting), force=True)
            wait_until_idle(client)
            if isinstance(error, (OSError, MemoryError)) or not isinstance(error, Exception):
                raise
            raise FileError(f"--scheduler {address}: {in_one_line(error)}") from None


def source_of(x: Any) -> Any:
    source = getattr(x, "source", None)
    return getattr(source, "source", source)  # of a transposed one: the file itself


def connect(distributed: Any, address: str) -> Any:
    try:
        # A client that cannot connect is not closed for 20 s, and then prints a traceback.
        if not dask_has("distributed.client.security-loader"):
            asyncio.run(probe(distributed, address))
        return distributed.Client(address, timeout=f"{CONNECTING}s", set_as_default=False)
    except Exception as error:  # no scheduler there, a wrong address, another version
        raise FileError(f"--scheduler {address}: {in_one_line(error)}") from None


async def probe(distributed: Any, address: str) -> None:
    """Connect once, as the client will."""
    settings = distributed.Security().get_connection_args("client")
    connection = await distributed.core.connect(address, timeout=CONNECTING, **settings)
    await connection.close()


def dask_has(setting: str) -> bool:
    return bool(needs("dask", "dask", "dask").config.get(setting, None))


def wait_for_a_worker(client: Any, first: Any) -> None:
    """Some clusters start workers when there is work. A cluster that has none after a while is an error."""
    deadline = time.monotonic() + PATIENCE
    while first.status == "pending" and not client.ncores():
        if time.monotonic() > deadline:
            raise FileError(f"the cluster has no worker, and none has joined in {PATIENCE:.0f} s")
        time.sleep(0.05)


def wait_until_idle(client: Any) -> None:
    """A task that runs cannot be stopped: wait for it, so that it does not write into a folder that is removed."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if not any(client.run(is_busy, on_error="ignore").values()):
                return
        except Exception:  # the cluster is gone, and with it the tasks
            return
        time.sleep(0.05)


def is_busy(dask_worker: Any) -> bool:
    return any(PREFIX in str(task.key) for task in dask_worker.state.executing | dask_worker.state.long_running)
