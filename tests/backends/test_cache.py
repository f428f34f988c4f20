"""The one cache: keyed by value, bounded in bytes, for every function."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cenote import cache

X = np.arange(48.0).reshape(6, 8)
W = np.ones((2, 2, 1, 1))

CALLS: dict[str, Callable[[int], Any]] = {
    "max_pool": lambda n: cn.max_pool(cn.Tensor(X), (n, n), stride=(1, n)),
    "lp_pool": lambda n: cn.lp_pool(X, (n, n), padding=((n, n), (0, n)), p=4.0),
    "adaptive_avg_pool": lambda n: cn.adaptive_avg_pool(X, (n + 2, n + 1), axes=(0, 1)),
    "global_max_pool": lambda n: cn.global_max_pool(X, axes=(0, n - 1)),
    "conv": lambda n: cn.conv(cn.Tensor(X[..., None]), W, stride=(n, n)),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_equal_call_inserts_nothing(name: str) -> None:
    """The tuples of the second call are new objects."""
    cn.clear_cache()
    assert not cache.entries
    first = np.asarray(CALLS[name](2))
    held = len(cache.entries)
    assert held > 0
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(CALLS[name](int("2"))), first)
    assert len(cache.entries) == held


def test_arguments_are_the_same_only_if_their_types_are() -> None:
    cn.clear_cache()
    assert cn.lp_pool(X, (1, 2)).shape == (6, 4)
    with pytest.raises(TypeError, match=r"window=\(True, 2\)"):
        cn.lp_pool(X, (True, 2))
    with pytest.raises(TypeError, match=r"window=\(1.0, 2\)"):
        cn.lp_pool(X, (1.0, 2))  # type: ignore[arg-type]


def test_the_oldest_leave_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    cn.clear_cache()
    monkeypatch.setattr(cache, "LIMIT", 20 * cache.ENTRY)
    for n in range(100):
        cache.insert(("test", n), n, size=3 * cache.ENTRY)
        assert cache.used <= 20 * cache.ENTRY
    assert list(cache.entries) == [("test", n) for n in range(95, 100)]
    assert cache.lookup(("test", 99)) == 99
    assert cache.lookup(("test", 0)) is None
    cache.insert(("test", 99), -1, size=0)  # in the place of the other one
    assert cache.used == 17 * cache.ENTRY
    cn.clear_cache()
    assert cache.used == 0


def test_one_that_is_larger_than_the_cache_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    cn.clear_cache()
    cache.insert("small", 1)
    monkeypatch.setattr(cache, "LIMIT", 2 * cache.ENTRY)
    cache.insert("large", 2, size=2 * cache.ENTRY)
    assert list(cache.entries) == ["small"]
    assert cn.adaptive_avg_pool(X, (5, 5)).shape == (5, 5)
    cn.clear_cache()


def test_large_strides_are_small_entries() -> None:
    cn.clear_cache()
    for i in range(20):
        cn.smooth_max_pool(X, (2, 2), beta=1.0 + i)
    held = len(cache.entries)
    cn.lp_pool(np.ones(2_000_000, np.float32), (2,))
    assert len(cache.entries) > held


def test_a_destructor_may_call_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 1 << 14)
    calls: list[tuple[int, ...]] = []

    class Noisy(int):
        def __del__(self) -> None:
            calls.append(cn.lp_pool(np.ones(8), (2,), p=100.0 + len(calls)).shape)

    for i in range(50):
        cn.lp_pool(np.ones(8), (Noisy(2),), p=2.0 + i)
    assert len(calls) > 30  # the last ones are still held
    cn.clear_cache()


def test_a_child_that_was_forked_in_the_middle_of_an_insert() -> None:
    with cache.lock:
        pid = os.fork()
        if pid == 0:
            cn.lp_pool(np.ones(8), (2,), p=77.0)
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.slow
def test_thousands_of_shapes_take_little_memory() -> None:
    """Forward and with a VJP, for windows with a stride, bins and filters."""
    code = """
import resource
import numpy as np, cenote as cn

def run(n):
    x = np.ones((1 + n % 50, 200 + n // 50, 2), np.float32)
    for f in (
        lambda x: cn.max_pool(x, (2, 3), axes=(0, 1), ceil_mode=True),
        lambda x: cn.avg_pool(x, (3,), stride=2, axes=1),
        lambda x: cn.adaptive_avg_pool(x, (7,), axes=1),
        lambda x: cn.conv(x, np.ones((1, 3, 2, 2), np.float32), padding="same"),
    ):
        y, pull = cn.vjp(f, x)
        pull(y)

run(0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for n in range(3000):
    run(n)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert int(done.stdout) < 64, f"{done.stdout} MiB"


@pytest.mark.parametrize("shape", [(2, 3, 6, 8), (1, 4, 6, 6), (2, 1, 7, 9), (1, 1, 8, 8), (2, 5, 8, 1), (0, 3, 4, 4)])
def test_repeated_calls_on_transposed_arrays(shape: tuple[int, ...]) -> None:
    """The first call and the next, which takes it from the cache, give the same bits in the same memory order."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    window = (2, 2) if shape[-1] > 1 else (2, 1)
    for order in itertools.permutations(range(4)):
        stored = np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
        views = [stored, stored[:, :, ::-1], np.broadcast_to(stored[:1], shape) if shape[0] else stored]
        every: list[dict[str, Any]] = [{}, {"padding": (1, 0)}, {"stride": 1}]
        for view in views:
            for options in every:
                cn.clear_cache()
                first, again = (cn.avg_pool(view, window, **options) for _ in range(2))
                np.testing.assert_array_equal(first, again)
                np.testing.assert_array_equal(first, cn.avg_pool(view.copy("C"), window, **options))
                assert first.strides == again.strides
