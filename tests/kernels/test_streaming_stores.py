"""Results in streaming stores have the same bits as those in plain stores, which all other tests are about. Only whole
aligned vectors are streamed: rows and lanes of every length about that of a vector, and results at every alignment."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cases import DEFAULT_LIMITS, LEVELS, STREAMED, Array, same_bits
from cenote import _core

DTYPES = [np.dtype(c) for c in "fdBHhlLe"]
PLANES: list[dict[str, Any]] = [
    {"window": (2, 2)},
    {"window": (3, 3), "stride": 2, "padding": 1},
    {"window": (3, 2), "stride": 2, "padding": ((1, 0), (0, 0))},
    {"window": (2, 2), "padding": ((0, 0), (1, 0))},
    {"window": (3, 3), "stride": 1, "padding": 1},
    {"window": (3, 3), "stride": 1, "padding": ((0, 1), (1, 1)), "dilation": (2, 1)},
]


def results(x: Array, **window: Any) -> list[Array]:
    """What small windows give, there and back."""
    functions: list[Any] = [functools.partial(f, **window) for f in (cn.max_pool, cn.avg_pool, cn.sum_pool)]
    if x.dtype.kind != "f":
        return [f(x) for f in functions]
    given = []
    for f in functions:
        y, pull = cn.vjp(f, x)
        g = np.random.default_rng(y.size).integers(-9, 9, y.shape).astype(y.dtype)
        order = sorted(range(y.ndim), key=lambda i: -y.strides[i])  # in the memory order of the result
        given += [y, pull(g.transpose(order).copy().transpose(np.argsort(order)))[0]]
    return given


def check(x: Array, **window: Any) -> None:
    level, threads = _core.level(), _core.num_threads()
    expected = results(x, **window)
    try:
        for tried in LEVELS:
            _core.use_level(tried)
            for count in (1, 3):
                _core.set_num_threads(count)
                _core.set_limits(DEFAULT_LIMITS[0], 16, 0)
                got = results(x, **window)
                for a, b in zip(got, expected, strict=True):
                    assert same_bits(a, b), (x.dtype, x.shape, x.strides, tried, count, window)
    finally:
        _core.use_level(level)
        _core.set_num_threads(threads)
        _core.set_limits(*DEFAULT_LIMITS, STREAMED)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("window", PLANES, ids=str)
def test_rows(window: dict[str, Any], dtype: np.dtype[Any]) -> None:
    for columns in (7, 8, 15, 16, 17, 32, 33, 48, 64, 80, 128):
        x = np.random.default_rng(columns).integers(-50, 50, (3, 6, columns)).astype(dtype)
        check(x, **window)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("window", PLANES, ids=str)
def test_lanes(window: dict[str, Any], dtype: np.dtype[Any]) -> None:
    for lanes in (8, 16, 20, 24, 32, 40, 64, 100, 700):
        x = np.random.default_rng(lanes).integers(-50, 50, (2, 5, 6, lanes)).astype(dtype)
        check(x, axes=(1, 2), **window)


def test_volumes_and_lines() -> None:
    rng = np.random.default_rng(0)
    for shape in ((2, 4, 6, 32), (2, 5, 4, 36)):
        check(rng.integers(-50, 50, shape).astype("f"), window=(2, 2, 2))
        check(rng.integers(-50, 50, shape).astype("f"), window=(2, 2, 2), axes=(0, 1, 2))
    for n in (64, 65, 4000):
        check(rng.integers(-50, 50, (3, n)).astype("f"), window=(3,), stride=2)
        check(rng.integers(-50, 50, (3, n)).astype("d"), window=(2,))


@pytest.mark.parametrize("layout", ["first", "last"])
def test_large_results_are_page_aligned(layout: str) -> None:
    """Of 4 MiB and more, so that everything that can be streamed is."""
    x = np.random.default_rng(0).integers(-50, 50, (8, 32, 128, 128)).astype("f")
    axes = (2, 3)
    if layout == "last":
        x, axes = x.reshape(8, 128, 128, 32), (1, 2)
    check(x, window=(2, 2), axes=axes)
    check(x, window=(3, 3), stride=2, padding=1, axes=axes)
    check(x, window=(3, 3), stride=1, padding=1, axes=axes)
    check(x.astype("B"), window=(2, 2), axes=axes)
