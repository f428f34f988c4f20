"""Timing that is fair on a machine with other work.

The candidates of a row are interleaved in one process, in alternating order, so that other load hits all of them alike.
A pause precedes each turn, because the threads of some libraries keep spinning after a call and would take a CPU from
the next candidate. A turn is a few calls, each timed including the allocation and release of its result. The fastest
call counts.
"""

from __future__ import annotations

import gc
import itertools
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from cenote import _core
from rows import THREADS

Work = Callable[[], Any]

STAT = Path("/proc/stat")
PAUSE = 0.003  # seconds: longer than threads spin
SAMPLE = 0.0005  # shorter calls are timed in batches
TURN = 0.03  # length of a turn, at least one call: a CPU that was idle is not at full speed for the first 5 ms


def seconds(work: Work, calls: int, clock: Callable[[], float] | None = None) -> float:
    clock = clock or time.perf_counter
    start = clock()
    for _ in range(calls):
        work()
    return (clock() - start) / calls


def measure(
    candidates: dict[str, Work], rounds: int, budget: float, clock: Callable[[], float] | None = None
) -> dict[str, float]:
    """The fastest call of each candidate, in milliseconds.

    The first call of each is not timed. A candidate that has spent its budget, in seconds, skips the remaining rounds,
    but has at least one.
    """
    calls, samples, spent = {}, {}, dict.fromkeys(candidates, 0.0)
    best = dict.fromkeys(candidates, math.inf)
    for name, work in candidates.items():
        work()
        once = seconds(work, 1)
        calls[name] = max(1, math.ceil(SAMPLE / once))
        samples[name] = max(1, int(TURN / (calls[name] * once)))
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            names = list(candidates) if turn % 2 == 0 else list(candidates)[::-1]
            for name in names:
                if turn and spent[name] > budget:
                    continue
                time.sleep(PAUSE)
                start = time.perf_counter()
                for _ in range(samples[name]):
                    best[name] = min(best[name], 1e3 * seconds(candidates[name], calls[name], clock))
                spent[name] += time.perf_counter() - start
    finally:
        gc.enable()
    return best


class Others:
    """The share of the CPUs that other processes have used since this was made; None where the system does not say."""

    def __init__(self) -> None:
        self.start = self.now()

    def now(self) -> tuple[float, float]:
        """CPU seconds of all processes, and of this one."""
        if not STAT.exists():
            return math.nan, 0.0
        user, nice, system, _, _, *rest = map(int, STAT.read_text().split("\n")[0].split()[1:9])
        mine = os.times()
        return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK"), sum(mine[:4])

    def share(self, elapsed: float) -> float | None:
        everybody, mine = (b - a for a, b in zip(self.start, self.now(), strict=True))
        used = (everybody - mine) / elapsed / (os.cpu_count() or 1)
        return None if math.isnan(used) else min(1.0, max(0.0, used))


HELPERS = ThreadPoolExecutor(THREADS - 1)


def copy_of(moved: int) -> Work:
    """A copy that moves ``moved`` bytes, half read and half written, into memory as cenote's results have it.

    Each thread copies an equal part with np.copyto, which releases the GIL.
    """
    source = np.ones(moved // 2 // 4, np.float32)
    edges = [len(source) * i // THREADS for i in range(THREADS + 1)]
    parts = [slice(a, b) for a, b in itertools.pairwise(edges)]

    def run() -> Any:
        out = _core.empty(source.shape, source.dtype)
        others = [HELPERS.submit(np.copyto, out[part], source[part]) for part in parts[1:]]
        np.copyto(out[parts[0]], source[parts[0]])
        for other in others:
            other.result()
        return out

    return run
