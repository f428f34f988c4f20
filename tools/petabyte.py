"""A simulation of ``cenote pool`` and ``cenote pyramid`` on a cluster: what a petabyte takes, and what limits it.

What a task reads, writes and holds in memory comes from the planner that the command itself uses, what it costs from
benchmarks/scale.json. The simulation adds what machines share: the scheduler, the network of a machine, the storage.

A task waits for its turn at the scheduler, at the storage and at its machine's network, computes, and writes the same
way. Each of these serves one request after another; a core runs one task at a time.

Run:  python tools/petabyte.py
"""

from __future__ import annotations

import heapq
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr

import cenote as cn
from cenote.files.lazy import FileArray
from cenote.files.streaming import bytes_per_element, plan_blocks
from cenote.files.zarr_files import ZarrSource

RECORD = Path(__file__).parents[1] / "benchmarks" / "scale.json"
SHAPE, DTYPE, CHUNK = (20_000, 160_000, 160_000), "u2", 128  # 1.02 PB of uint16
SPREAD = 0.2  # of the logarithm of a task's computing time
MONTH = 720.0  # hours


@dataclass(frozen=True)
class Machine:
    """What is assumed of a machine, and of the storage that all of them share."""

    cores: int = 32
    memory: float = 128e9  # bytes
    network: float = 25e9 / 8  # bytes per second, each way
    storage: float = 20e9  # bytes per second, of all machines together
    lost: float = 1 / MONTH  # machines that fail per machine and hour


@dataclass(frozen=True)
class Costs:
    """What was measured: CPU seconds per byte of uncompressed input, per task in the scheduler, and compression."""

    pool: float
    copy: float
    task: float
    graph: float
    compression: float


def measured() -> Costs:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    files, graph = record["zarr"], record["graph"]
    seconds = {name: files["cpu"][name] / files["bytes"] for name in ("avg 2×2×2 to uint16", "copy")}
    return Costs(
        seconds["avg 2×2×2 to uint16"], seconds["copy"], graph["task"], graph["graph"] / 10_000, files["compression"]
    )


@dataclass(frozen=True)
class Plan:
    """A level of a pyramid from the one before: shards of 128³ chunks, or none, and the tasks that write them."""

    shard: int | None
    tasks: int
    memory: float  # bytes of input and output of a task
    read: float  # uncompressed bytes of a task
    written: float
    files: int  # of the input


def plan(shard: int | None) -> Plan:
    """What the command's planner does with a petabyte in shards of this side."""
    sides = {"chunks": (CHUNK,) * 3} | ({"shards": (shard,) * 3} if shard else {})
    volume = zarr.create_array({}, shape=SHAPE, dtype=DTYPE, **sides)  # type: ignore[arg-type]
    pending: Any = cn.avg_pool(FileArray(ZarrSource(volume, "")), (2, 2, 2), dtype=DTYPE)
    grid = plan_blocks(pending, (shard or CHUNK,) * 3)
    each = bytes_per_element(pending)
    written = volume.dtype.itemsize * grid.largest
    files = math.prod(math.ceil(n / (shard or CHUNK)) for n in SHAPE)
    return Plan(shard, len(grid), grid.largest * each, grid.largest * each - written, written, files)


# ----------------------------------------------------------------------------------------------- the simulation


@dataclass(frozen=True)
class Outcome:
    hours: float
    limit: str  # what was busy most of the time
    storage: float  # bytes per second, of all machines
    network: float  # bytes per second, of one machine, the busier way


class Server:
    """Serves one request after another."""

    def __init__(self) -> None:
        self.free = self.busy = 0.0

    def serve(self, now: float, seconds: float) -> float:
        self.free = max(self.free, now) + seconds
        self.busy += seconds
        return self.free


def simulate(read: float, written: float, cpu: float, total: float, costs: Costs, machine: Machine, n: int) -> Outcome:
    """``total`` tasks that read and write so many uncompressed bytes each and compute for ``cpu`` seconds, on ``n``
    machines. A part of them is simulated, twelve for each core, in order of time, from the first to the last."""
    cores = n * machine.cores
    number = int(min(total, max(4_000, 12 * cores)))
    noise = np.random.default_rng(n).lognormal(0.0, SPREAD, number)
    read, written = read / costs.compression, written / costs.compression
    scheduler, storage = Server(), Server()
    incoming, outgoing = [Server() for _ in range(n)], [Server() for _ in range(n)]
    begun, ended, computing = 0, [], 0.0
    events: list[tuple[float, int, str, int]] = []

    def begin(now: float, place: int) -> None:
        nonlocal begun
        if begun < number:
            heapq.heappush(events, (scheduler.serve(now, costs.task), begun, "read", place))
            begun += 1

    for core in range(min(cores, number)):
        begin(0.0, core % n)
    while events:
        now, task, stage, place = heapq.heappop(events)
        if stage == "read":
            arrived = max(
                storage.serve(now, read / machine.storage), incoming[place].serve(now, read / machine.network)
            )
            heapq.heappush(events, (arrived, task, "compute", place))
        elif stage == "compute":
            seconds = cpu * noise[task]
            computing += seconds
            heapq.heappush(events, (now + seconds, task, "write", place))
        elif stage == "write":
            done = max(
                storage.serve(now, written / machine.storage), outgoing[place].serve(now, written / machine.network)
            )
            heapq.heappush(events, (done, task, "end", place))
        else:
            ended.append(now)
            begin(now, place)
    whole = float(ended[-1])
    seconds = whole / number * total
    shares = {
        "CPUs": computing / whole / cores, "storage": storage.busy / whole, "scheduler": scheduler.busy / whole,
        "network": max(s.busy for s in (*incoming, *outgoing)) / whole,
    }  # fmt: skip
    rate = total * max(read, written) / seconds / n
    return Outcome(seconds / 3600, max(shares, key=shares.__getitem__), total * (read + written) / seconds, rate)


def pool(layout: Plan, costs: Costs, machine: Machine, n: int) -> Outcome:
    """One level: a petabyte read, an eighth of it written."""
    return simulate(layout.read, layout.written, costs.pool * layout.read, layout.tasks, costs, machine, n)


def pyramid(layout: Plan, costs: Costs, machine: Machine, n: int) -> Outcome:
    """All levels: the copy that is level 0, and each from the one before."""
    levels = 8 / 7  # 1 + 1/8 + 1/64 + …
    tasks = layout.tasks * (1 + levels)
    cpu = (costs.copy + costs.pool * levels) / (1 + levels) * layout.read
    written = (layout.read + layout.written * levels) / (1 + levels)
    return simulate(layout.read, written, cpu, tasks, costs, machine, n)


def main() -> None:
    costs, machine = measured(), Machine()
    for side in (None, 256, 512, 1024):
        print(plan(side))
    for n in (1, 4, 16, 64, 256):
        print(n, pool(plan(256), costs, machine, n), pyramid(plan(256), costs, machine, n), sep="\n  ")


if __name__ == "__main__":
    main()
