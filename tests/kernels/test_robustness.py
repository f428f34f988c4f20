"""What goes on around a call: the end of the process, other threads, floating-point modes, forks."""

from __future__ import annotations

import ctypes
import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from test_runtime import in_a_fresh_python

import cenote as cn
from cenote import _core
from cenote.arguments.arrays import Array

IMAGE = np.random.default_rng(0).standard_normal((512, 512)).astype(np.float32)

# ------------------------------------------------------------------------------------- the end of the process


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_daemon_thread_in_a_call_does_not_disturb_the_end(threads: str) -> None:
    code = """
import threading, time
import numpy as np, cenote as cn
x = np.ones((64, 64, 64), np.float32)
def work():
    while True:
        cn.max_pool(x, (2, 2))
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""
    for _ in range(3):
        done = in_a_fresh_python(code, CENOTE_NUM_THREADS=threads)
        assert (done.returncode, done.stderr) == (0, "")


# ------------------------------------------------------------------------------------- floating-point modes

LIBM = ctypes.CDLL(None)
NEAREST = LIBM.fegetround()
X86 = {"to the nearest": 0, "down": 0x400, "up": 0x800, "to zero": 0xC00}


# What NumPy makes of a number depends on the mode.
TINY, LINE = np.full((512, 512), 3e-39, np.float32), np.linspace(-1, 1, 9, dtype=np.float32)
HALVES = IMAGE.astype(np.float16)


def all_sorts() -> list[bytes]:
    tiny, image, line, picture = TINY, IMAGE, LINE, IMAGE[None, :, :, None]
    results = [
        cn.sum_pool(tiny[:4, :4], (2, 2)),
        cn.sum_pool(tiny, (3, 3), stride=1),
        cn.max_pool(tiny, (2, 2)),
        cn.avg_pool(image, (3, 3), stride=1),
        cn.avg_pool(HALVES, (5, 5), stride=1),
        cn.smooth_max_pool(image, (5, 5), stride=1),
        cn.lp_pool(image, (31, 31), p=3, stride=1),
        cn.conv(picture, line.reshape(3, 3, 1, 1)),
        cn.conv(picture, np.resize(line, (33, 33, 1, 1))),  # by a Fourier transform
        cn.conv(np.resize(image, (1, 64, 64, 32)), np.resize(line, (3, 3, 32, 32))),  # Winograd's
        cn.conv_transpose(picture, line.reshape(3, 3, 1, 1), stride=2),
        cn.vjp(lambda w: cn.conv(picture, w), line.reshape(3, 3, 1, 1))[1](picture[:, 2:, 2:])[0],
    ]
    return [np.asarray(r).tobytes() for r in results]


def on_each_number_of_threads() -> list[list[bytes]]:
    found = []
    for threads in (1, 2):
        with cn.num_threads(threads):
            found.append(all_sorts())
    return found


@pytest.fixture
def restored_mode() -> Iterator[None]:
    yield
    LIBM.fesetround(NEAREST)
    torch.set_flush_denormal(False)


@pytest.mark.usefixtures("restored_mode")
def test_subnormals_are_not_flushed_on_any_thread() -> None:
    expected = on_each_number_of_threads()
    assert expected[0] == expected[1]
    if not torch.set_flush_denormal(True):
        raise AssertionError("this processor cannot flush subnormals: find one that can")
    assert np.float32(3e-39) * np.float32(0.5) == 0
    assert on_each_number_of_threads() == expected
    assert np.float32(3e-39) * np.float32(0.5) == 0  # the caller's mode is what it was


@pytest.mark.usefixtures("restored_mode")
@pytest.mark.parametrize("mode", [m for name, m in X86.items() if m] if sys.platform == "linux" else [])
def test_rounding_is_to_the_nearest_on_every_thread(mode: int) -> None:
    expected = on_each_number_of_threads()
    assert LIBM.fesetround(mode) == 0
    found = on_each_number_of_threads()
    assert LIBM.fegetround() == mode
    LIBM.fesetround(NEAREST)
    assert found == expected


# --------------------------------------------------------------------------------------------- other threads


def test_indices_that_change_in_the_middle_of_a_call() -> None:
    """Which values result is open, but nothing outside of the result is written."""
    code = """
import threading, time
import numpy as np, cenote as cn
n = 2_000_000
y, good = np.ones(n, np.float32), np.arange(n)
index = good.copy()
stop = False
def work():
    while not stop:
        index[n // 2 :] = 2**40
        index[n // 2 :] = good[n // 2 :]
thread = threading.Thread(target=work)
thread.start()
found, end = set(), time.monotonic() + 60
while "an index is outside of the result" not in found and time.monotonic() < end:
    try:
        cn.max_unpool(y, index, (1,), axes=(0,))
    except ValueError as error:
        found.add(str(error).split(":")[0])
stop = True
thread.join()
print("an index is outside of the result" in found)
"""
    done = in_a_fresh_python(code)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr


@pytest.mark.parametrize("wrong", [-2, 6, 2**62, -(2**62)])
def test_an_index_outside_of_the_result(wrong: int) -> None:
    index = np.arange(6)
    index[4] = wrong
    for width in "bhfdD":
        with pytest.raises(ValueError, match="an index is outside of the result"):
            _core.put(np.zeros(6, width), np.ones(6, width), index, 1)
    out = np.zeros(6)
    _core.put(out, np.arange(1.0, 7), np.array([-1, 5, 0, -1, 5, 1]), 1)
    assert out.tolist() == [3, 6, 0, 0, 0, 5]


def test_indices_at_any_address() -> None:
    raw = np.zeros(6 * 8 + 1, np.uint8)
    index = raw[1:].view(np.int64)
    index[:] = [5, 4, 3, 2, 1, 0]
    out = np.zeros(6)
    _core.put(out, np.arange(6.0), index, 1)
    assert out.tolist() == [5, 4, 3, 2, 1, 0]


def test_arguments_that_change_while_others_call() -> None:
    """The call cache, limits, threads, the buffer cache and the graph, all at once."""
    arrays = [np.random.default_rng(n).standard_normal((n, n)) for n in range(8, 40)]
    windows = [(2, 2), (3, 3), (3, 2), (2, 3)]

    def results(x: Array) -> list[bytes]:
        found = [f(x, w, stride=s) for w in windows for s in (1, 2) for f in (cn.max_pool, cn.sum_pool, cn.avg_pool)]
        found.append(cn.vjp(lambda v: cn.smooth_max_pool(v * v, (3, 3)), x)[1](np.ones(np.array(x.shape) // 3))[0])
        found.append(np.asarray(_core.empty((5 * 2**20,), np.dtype(np.uint8))[:0]))
        return [r.tobytes() for r in found]

    expected = [results(x) for x in arrays]
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            _core.set_limits(64, 16, 64)
            _core.set_limits(192 * 1024, 32 * 1024, 2**24)
            _core.cached_bytes()
            cn.set_num_threads(2)
            cn.set_num_threads(1)

    before, interval = cn.get_num_threads(), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        with ThreadPoolExecutor(6) as pool:
            for _ in range(3):
                assert list(pool.map(results, arrays)) == expected
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
        cn.set_num_threads(before)


# ------------------------------------------------------------------------------------------------- processes


def fork_while(work: Callable[[], object], times: int) -> list[int]:
    """The exit codes of children that use the buffer cache, forked while another thread is at work."""
    stop = threading.Event()

    def loop() -> None:
        while not stop.is_set():
            work()

    context = multiprocessing.get_context("fork")
    thread = threading.Thread(target=loop)
    thread.start()
    codes = []
    try:
        for _ in range(times):
            process = context.Process(target=use_memory)
            process.start()
            process.join(20)
            if process.exitcode is None:
                process.kill()
                process.join()
            codes.append(process.exitcode or 0)
    finally:
        stop.set()
        thread.join()
    return codes


def use_memory() -> None:
    limit = _core.cache_limit()
    _core.set_cache_limit(limit)
    x = _core.empty((2**23,), np.dtype(np.uint8))
    x[:] = 1
    del x
    _core.cached_bytes()


def test_a_child_forked_while_the_buffer_cache_is_in_use() -> None:
    def work() -> None:
        held = [_core.empty((2**25,), np.dtype(np.uint8)) for _ in range(8)]
        for x in held:
            x[:: 2**12] = 1
        del held, x
        _core.set_cache_limit(0)  # unmapped with the lock held
        _core.set_cache_limit(2**28)

    before = _core.cache_limit()
    try:
        assert fork_while(work, 40) == [0] * 40
    finally:
        _core.set_cache_limit(before)


# ------------------------------------------------------------------------------------------- what is not there


def test_a_reduction_without_a_kernel_is_an_error() -> None:
    code = """
import numpy as np
from cenote import _core
axes = _core.Axes([4])
axes.add(0, 4, 2, 2, 2, 1, 0, 0, [], [], 0, 0, 0)
complex64, nothing = _core.DType.c64, (_core.Prologue.none, _core.Epilogue.none)
for reduce in _core.Reduce:
    plan = _core.PoolPlan(axes, complex64, complex64, complex64, False, reduce, *nothing, False, True, None, None, 0.0)
    try:
        plan.run(np.zeros(4, "F"), np.zeros(2, "F"), None, None)
    except RuntimeError as error:
        print(error)
"""
    done = in_a_fresh_python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["there is no kernel for this reduction and these dtypes"] * 3
