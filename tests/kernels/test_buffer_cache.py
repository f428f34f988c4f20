"""Memory of large results is kept for the next ones: nobody else sees it, and the system may take it back."""

from __future__ import annotations

import multiprocessing
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from test_runtime import in_a_fresh_python

import cenote as cn
from cenote import _core
from cenote.arguments.arrays import Array

MIB = 2**20
LARGE = 4 * MIB  # bytes from which on memory is kept
IMAGE = np.random.default_rng(0).standard_normal((2048, 2048)).astype(np.float32)


@pytest.fixture(autouse=True)
def keep_64_mib() -> Iterator[None]:
    before = _core.cache_limit()
    _core.set_cache_limit(0)
    _core.set_cache_limit(64 * MIB)
    yield
    _core.set_cache_limit(0)
    _core.set_cache_limit(before)


def make(size: int) -> Array:
    return _core.empty((size,), np.dtype(np.uint8))


def pooled() -> Array:
    return np.asarray(cn.max_pool(IMAGE, (3, 3), stride=1))


def address(x: Array) -> int:
    return int(x.ctypes.data)


def in_whole_pages(size: int) -> int:
    return (size + 64 + 4095) // 4096 * 4096


def test_the_next_result_reuses_the_buffer() -> None:
    first = pooled()
    expected, where = first.copy(), address(first)
    del first
    assert _core.cached_bytes() == in_whole_pages(expected.nbytes)
    again = pooled()
    assert address(again) == where
    assert _core.cached_bytes() == 0
    np.testing.assert_array_equal(again, expected)


@pytest.mark.parametrize(("size", "kept"), [(LARGE - 1, False), (LARGE, True), (LARGE + 1, True)])
def test_only_large_results_are_cached(size: int, kept: bool) -> None:
    x = make(size)
    assert address(x) % (64 if kept else 16) == 0
    del x
    assert _core.cached_bytes() == (in_whole_pages(size) if kept else 0)


@pytest.mark.parametrize(
    ("wanted", "again"),
    [(16 * MIB, True), (15 * MIB, True), (14 * MIB, False), (16 * MIB + 4096, False), (LARGE, False)],
)
def test_which_buffers_fit(wanted: int, again: bool) -> None:
    """As many bytes, or up to an eighth more."""
    x = make(16 * MIB)
    where = address(x)
    del x
    y = make(wanted)
    assert (address(y) == where) is again
    y[:] = 7  # all of it is there
    assert _core.cached_bytes() == (0 if again else in_whole_pages(16 * MIB))


def test_the_best_fit_is_taken() -> None:
    tight, loose = make(20 * MIB), make(21 * MIB)
    where = address(tight)
    del tight, loose
    assert address(make(20 * MIB)) == where


def free(arrays: list[Array]) -> None:
    """The first one first."""
    while arrays:
        arrays.pop(0)


def test_the_limit() -> None:
    free([make(size * MIB) for size in (24, 25, 26)])
    newer = in_whole_pages(25 * MIB) + in_whole_pages(26 * MIB)
    assert _core.cached_bytes() == newer  # the oldest went
    free([make(70 * MIB)])
    assert _core.cached_bytes() == newer  # nothing goes for one that is more than the limit
    _core.set_cache_limit(30 * MIB)
    assert _core.cached_bytes() == in_whole_pages(26 * MIB)
    _core.set_cache_limit(0)
    assert _core.cached_bytes() == 0
    free([make(LARGE)])
    assert _core.cached_bytes() == 0


def test_not_more_than_16_blocks() -> None:
    _core.set_cache_limit(1024 * MIB)
    free([make(LARGE) for _ in range(20)])
    assert _core.cached_bytes() == 16 * in_whole_pages(LARGE)


def test_a_view_holds_its_memory() -> None:
    y = pooled()
    view, expected = y[1:], y[1:].copy()
    del y
    assert _core.cached_bytes() == 0
    other = pooled()
    other[:] = 0
    np.testing.assert_array_equal(view, expected)


def test_a_result_is_an_array_like_any_other() -> None:
    y = pooled()
    assert y.flags.owndata
    assert y.base is None
    assert y.flags.writeable
    expected = y.ravel()[: 5 * MIB].copy()
    for size in (5 * MIB, 6 * MIB, MIB, 3):  # across the size from which on memory is kept
        y.resize(size, refcheck=False)
        n = min(size, len(expected))
        np.testing.assert_array_equal(y[:n], expected[:n])
        np.testing.assert_array_equal(y[len(expected) :], 0)
        expected = expected[:n]


def test_tracemalloc_counts_it() -> None:
    tracemalloc.start()
    try:
        x = make(10 * MIB)
        assert tracemalloc.get_traced_memory()[0] >= 10 * MIB
        del x
        assert tracemalloc.get_traced_memory()[0] < MIB
    finally:
        tracemalloc.stop()


def test_more_memory_than_there_is() -> None:
    with pytest.raises(MemoryError):
        _core.empty((2**56,), np.dtype(np.uint8))
    with pytest.raises(ValueError, match=r"array is too big|Maximum allowed"):
        _core.empty((2**40, 2**40), np.dtype(np.float64))
    with pytest.raises(ValueError, match="negative"):
        _core.empty((-1,), np.dtype(np.float64))
    assert np.empty(8 * MIB, np.uint8).flags.owndata  # arrays of others are made as ever
    assert _core.cached_bytes() == 0


def test_cached_buffers_make_room() -> None:
    """Where the address space is limited, the cache frees its buffers for new allocations."""
    code = """
import resource
import numpy as np
from cenote import _core
MIB, dtype = 2**20, np.dtype(np.uint8)
import cenote
kept = _core.empty((200 * MIB,), dtype)
del kept
(line,) = [line for line in open("/proc/self/status") if line.startswith("VmSize:")]
used = int(line.split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + 150 * MIB, used + 150 * MIB))
x = _core.empty((300 * MIB,), dtype)
x[-1] = 1
try:
    _core.empty((300 * MIB,), dtype)
except MemoryError:
    print("refused", _core.cached_bytes())
"""
    done = in_a_fresh_python(code)
    assert done.stdout.strip() == "refused 0", done.stderr


@pytest.mark.parametrize(
    ("shape", "dtype"), [([4], np.dtype(float)), ((4,), float), ((1,) * 65, np.dtype(float)), ((4.0,), np.dtype(float))]
)
def test_what_is_no_shape_or_dtype(shape: object, dtype: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        _core.empty(shape, dtype)  # type: ignore[arg-type]


def test_arrays_of_others_are_not_touched() -> None:
    x = np.empty(32 * MIB, np.uint8)
    del x
    assert _core.cached_bytes() == 0


def lazily_free() -> int:
    """Bytes of this process that the system may take without asking."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("LazyFree:")]
    return int(line.split()[1]) * 1024


def test_the_system_may_reclaim_cached_pages() -> None:
    before = lazily_free()
    x = make(32 * MIB)
    x[:] = 1
    assert lazily_free() <= before
    del x
    assert lazily_free() - before >= 30 * MIB
    x = make(32 * MIB)
    x[:] = 1
    assert lazily_free() <= before + MIB


def test_many_threads_at_once() -> None:
    expected = pooled().tobytes()

    def work(_: int) -> bool:
        return all(pooled().tobytes() == expected for _ in range(5))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


def child(queue: multiprocessing.SimpleQueue[tuple[int, bool]], given: Array) -> None:
    """What was kept before the fork is the child's own copy."""
    kept = _core.cached_bytes()
    mine = pooled()
    mine[:] = 5
    queue.put((kept, bool((given == 3).all())))


def test_a_forked_child_has_its_own_cache() -> None:
    x, given = make(20 * MIB), make(20 * MIB)
    given[:] = 3
    del x
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.SimpleQueue[tuple[int, bool]] = context.SimpleQueue()
    process = context.Process(target=child, args=(queue, given))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert queue.get() == (in_whole_pages(20 * MIB), True)
    assert (given == 3).all()


def test_arrays_that_outlive_the_module() -> None:
    code = """
import builtins, numpy as np, cenote as cn
builtins.held = cn.max_pool(np.ones((2048, 2048), np.float32), (2, 2), stride=1)
"""
    done = in_a_fresh_python(code)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("environment", "limit"), [({}, 256), ({"CENOTE_KEPT_MIB": "0"}, 0), ({"CENOTE_KEPT_MIB": "7"}, 7)]
)
def test_the_limit_from_the_environment(environment: dict[str, str], limit: int) -> None:
    code = "import cenote; from cenote import _core; print(_core.cache_limit() >> 20); cenote.show_config()"
    done = in_a_fresh_python(code, **environment)
    assert done.stdout.splitlines()[0] == str(limit), done.stderr
    assert f"up to {limit} MiB" in done.stdout
