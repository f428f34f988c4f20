"""Threads, SIMD levels, processes: what does not change a result, and must not hang or crash."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import cenote as cn
from cenote import _core

BIG = np.random.default_rng(0).standard_normal((4, 16, 96, 96)).astype(np.float32)


def in_a_fresh_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    ours = ("CENOTE_NUM_THREADS", "OMP_NUM_THREADS", "CENOTE_SIMD", "CENOTE_KEPT_MIB", "PYTHONDONTWRITEBYTECODE")
    kept = {k: v for k, v in os.environ.items() if k not in ours}
    return subprocess.run(
        [sys.executable, "-c", code], env=kept | environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("level", _core.levels())
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_results_do_not_depend_on_threads_or_level(level: str, threads: int) -> None:
    before = _core.level()
    with cn.num_threads(1):
        expected = [f(BIG, (3, 3), stride=2, padding=1) for f in (cn.max_pool, cn.min_pool, cn.sum_pool, cn.avg_pool)]
    assert _core.use_level(level)
    try:
        with cn.num_threads(threads):
            got = [f(BIG, (3, 3), stride=2, padding=1) for f in (cn.max_pool, cn.min_pool, cn.sum_pool, cn.avg_pool)]
    finally:
        assert _core.use_level(before)
    for a, b in zip(got, expected, strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("threads", [2, 63, 64, 65, 150])
def test_every_task_is_done_once(threads: int) -> None:
    """Tasks are shared out among up to 64 threads, and others join in: fewer tasks than that, as many, and more."""
    code = f"""if True:
        import numpy as np, cenote as cn
        from cenote import _core
        for rows in (1, 2, 3, 62, 63, 64, 65, 66, 129, 1000):
            x = np.arange(rows * 64.0).reshape(rows, 64)
            g = np.ones((rows, 16))
            cn.set_num_threads(1)
            expected = cn.avg_pool(x, 4, axes=1), cn.vjp(lambda a: cn.sum_pool(a, 4, axes=1), x)[1](g)
            cn.set_num_threads({threads})
            _core.set_limits(512, 1, 0)
            got = cn.avg_pool(x, 4, axes=1), cn.vjp(lambda a: cn.sum_pool(a, 4, axes=1), x)[1](g)
            assert all(np.array_equal(a, b) for a, b in zip(got, expected))
        print("done")
    """
    done = in_a_fresh_python(code)
    assert done.stdout.strip() == "done", done.stderr


def test_an_unknown_level_changes_nothing() -> None:
    before = _core.level()
    assert not _core.use_level("abacus")
    assert _core.level() == before


def test_the_number_of_threads_is_put_back() -> None:
    before = cn.get_num_threads()
    seen = []

    def fail() -> None:
        with cn.num_threads(before + 3):
            seen.append(cn.get_num_threads())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert seen == [before + 3]
    assert cn.get_num_threads() == before
    cn.set_num_threads(before + 1)
    assert cn.get_num_threads() == before + 1
    cn.set_num_threads(before)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"CENOTE_NUM_THREADS": "3"}, "3"),
        ({"OMP_NUM_THREADS": "5,2"}, "5"),
        ({"CENOTE_NUM_THREADS": "2", "OMP_NUM_THREADS": "7"}, "2"),
        ({}, str(len(os.sched_getaffinity(0)))),
    ],
)
def test_threads_from_the_environment(environment: dict[str, str], expected: str) -> None:
    done = in_a_fresh_python("import cenote; print(cenote.get_num_threads())", **environment)
    assert done.stdout.strip() == expected, done.stderr


def test_a_bad_number_of_threads_warns_and_is_ignored() -> None:
    done = in_a_fresh_python("import cenote; print(cenote.get_num_threads())", CENOTE_NUM_THREADS="many")
    assert "CENOTE_NUM_THREADS='many' is not a number of threads" in done.stderr
    assert done.stdout.strip() == str(len(os.sched_getaffinity(0)))


@pytest.mark.parametrize("level", _core.levels())
def test_level_from_the_environment(level: str) -> None:
    done = in_a_fresh_python("import cenote; cenote.show_config()", CENOTE_SIMD=level)
    assert f"SIMD level    {level} " in done.stdout, done.stderr
    assert "threads" in done.stdout


def test_an_unsupported_level() -> None:
    done = in_a_fresh_python("import cenote", CENOTE_SIMD="mmx")
    assert done.returncode == 1
    assert "CENOTE_SIMD='mmx': this build on this CPU has baseline" in done.stderr


def child(queue: multiprocessing.SimpleQueue[bytes]) -> None:
    with cn.num_threads(2):
        queue.put(cn.max_pool(BIG, (2, 2)).tobytes()[:64])


def test_a_forked_child_has_threads_of_its_own() -> None:
    """A pool whose threads did not survive the fork would wait for them for ever."""
    with cn.num_threads(2):
        expected = cn.max_pool(BIG, (2, 2)).tobytes()[:64]
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.SimpleQueue[bytes] = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    process.join(30)
    assert process.exitcode == 0
    assert queue.get() == expected


def test_calls_from_many_threads_at_once() -> None:
    expected = cn.avg_pool(BIG, (3, 3), stride=1).tobytes()
    with ThreadPoolExecutor(8) as pool, cn.num_threads(2):
        results = list(pool.map(lambda _: cn.avg_pool(BIG, (3, 3), stride=1).tobytes(), range(32)))
    assert all(r == expected for r in results)


def test_import_is_quick(tmp_path: Path) -> None:
    """Within 50 ms of NumPy's own import: of CPU time, for the machine may be busy, and the best of several.

    With bytecode, which an installed package has, and which the first of the runs makes.
    """
    code = """
import time
import numpy
middle = time.process_time()
import cenote
print(time.process_time() - middle)
"""
    best = min(float(in_a_fresh_python(code, PYTHONPYCACHEPREFIX=str(tmp_path)).stdout) for _ in range(7))
    assert best < 0.050


def test_memory_that_cannot_be_had_is_a_memory_error() -> None:
    with pytest.raises(MemoryError):
        cn.max_pool(np.zeros(1), (1,), stride=1, padding=2**55)


def test_a_limit_of_one_thread_holds_for_that_thread_alone() -> None:
    """What a task of a scheduler sets: no thread of the pool is started for it, and other threads keep theirs."""
    code = """if True:
        import os, threading
        import numpy as np, cenote as cn
        from cenote import _core

        def started():
            return len(os.listdir("/proc/self/task"))

        x = np.random.default_rng(0).standard_normal((64, 256, 256)).astype(np.float32)
        cn.set_num_threads(3)
        before = started()
        assert _core.limit_threads(1) == 0 and cn.get_num_threads() == 1
        alone = cn.avg_pool(x, (3, 3), stride=1)
        assert started() == before
        with cn.num_threads(2):  # of the process, not of this thread
            assert cn.get_num_threads() == 1
        seen = []
        other = threading.Thread(target=lambda: seen.append(cn.get_num_threads()))
        other.start()
        other.join()
        assert seen == [3]
        assert _core.limit_threads(0) == 1 and cn.get_num_threads() == 3
        assert cn.avg_pool(x, (3, 3), stride=1).tobytes() == alone.tobytes()
        assert started() == before + 2
        print("done")
    """
    done = in_a_fresh_python(code)
    assert done.stdout.strip() == "done", done.stderr
