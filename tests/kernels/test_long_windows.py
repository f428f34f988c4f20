"""Windows of more elements than a task works on between two checkpoints, which are read and reduced in parts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cases import LEVELS, same_bits
from cenote import _core, core
from cenote.arguments.arrays import Array
from cenote.geometry import axes
from cenote.geometry.axes import Axis, Geometry
from cenote.reference.pooling import tree_sum

PART = 2**18  # kCheckpointElements in cpp/core/geometry.hpp
BLOCK = 2**13
N = 2 * PART + 3 * BLOCK + 77


@pytest.fixture(autouse=True, params=LEVELS)
def level(request: pytest.FixtureRequest) -> Any:
    before = _core.level()
    assert _core.use_level(request.param)
    yield
    _core.use_level(before)


def numbers(dtype: Any, *shape: int) -> Array:
    rng = np.random.default_rng(0)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return rng.standard_normal(shape).astype(dtype)


def tree(x: Array, before: int = 0) -> Array:
    """The sum of a row behind ``before`` elements of padding: blocks of a power of two, then the tree of their sums."""
    x = np.concatenate([np.zeros(before, x.dtype), x])
    blocks = [cn.sum_pool(x[i : i + BLOCK], (min(BLOCK, len(x) - i),)) for i in range(0, len(x), BLOCK)]
    return tree_sum(np.concatenate(blocks), 0)


def layouts(x: Array) -> list[Array]:
    """The same elements: in one piece, apart, and of the other byte order."""
    apart = np.zeros(2 * len(x), x.dtype)
    apart[::2] = x
    return [x, apart[::2], x.astype(x.dtype.newbyteorder())]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums(dtype: str) -> None:
    row = numbers(dtype, N)
    for x in layouts(row):
        assert same_bits(cn.sum_pool(x, (N,)), tree(row)[None])
    assert same_bits(cn.sum_pool(row, (N // 2,), dilation=2, stride=N)[0], tree(row[: N // 2 * 2 : 2]))
    for before in (1, BLOCK, BLOCK + 5):
        assert same_bits(cn.sum_pool(row, (N + before,), padding=[(before, 0)])[0], tree(row, before))
        assert same_bits(cn.sum_pool(row[::-1], (N + before,), padding=[(before, 0)])[0], tree(row[::-1], before))
    rows = numbers(dtype, 3, N // 3)
    assert same_bits(cn.sum_pool(rows, rows.shape)[0, 0], tree(tree_sum(rows, 0)))
    assert same_bits(cn.sum_pool(rows.T, rows.T.shape)[0, 0], tree_sum(np.stack([tree(r) for r in rows]), 0))


def test_exact_averages() -> None:
    for dtype in ("i1", "u2", "i8", "u8"):  # of 64 bits in 128
        row = numbers(dtype, N)
        expected = round(Fraction(sum(row.tolist()), N))
        for x in layouts(row):
            assert cn.avg_pool(x, (N,), dtype=dtype).tolist() == [expected]
        assert cn.avg_pool(row.reshape(1, N), (1, N), dtype=dtype).tolist() == [[expected]]
        lanes = np.stack([row] * 3, 1)
        assert cn.avg_pool(lanes, (N,), axes=0, dtype=dtype).tolist() == [[expected] * 3]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i8"])
def test_first_of_the_largest(dtype: str) -> None:
    row = numbers(dtype, N)
    at = PART + 12345
    row[[at, at + 7, N - 1]] = np.finfo(dtype).max if row.dtype.kind == "f" else np.iinfo(row.dtype).max
    first = int(row.argmax())
    for x in layouts(row):
        y, where = cn.max_pool(x, (N,), return_indices=True)
        assert (y.tolist(), where.tolist()) == ([row[first]], [first])
        assert cn.max_pool(x, (N,)).tolist() == [row[first]]
        assert cn.min_pool(x, (N,)).tolist() == [row.min()]
    y, where = cn.max_pool(row, (N // 2,), dilation=2, stride=N, return_indices=True)
    first = 2 * int(row[: N // 2 * 2 : 2].argmax())
    assert (y.tolist(), where.tolist()) == ([row[first]], [first])


def test_omitted_elements() -> None:
    row = numbers("f4", N)
    row[::3] = np.nan
    for x in layouts(row):
        assert same_bits(cn.sum_pool(x, (N,), nan="omit"), tree(np.where(np.isnan(row), np.float32(0), row))[None])
        assert cn.max_pool(x, (N,), nan="omit") == np.nanmax(row)
    rows = row[: N // 4 * 4].reshape(4, -1)
    np.testing.assert_allclose(cn.avg_pool(rows, rows.shape, nan="omit"), np.nanmean(rows.astype(float)), rtol=1e-5)


@pytest.mark.parametrize("scale", [1, 3e4], ids=["in range", "out of range"])
def test_norms(scale: float) -> None:
    row = numbers("f4", N) * np.float32(scale)
    exact = row.astype(np.float64)
    top = exact.max()
    terms = np.exp(exact - top)
    for x in layouts(row):
        np.testing.assert_allclose(cn.smooth_max_pool(x, (N,)), top + np.log(terms.sum()), rtol=1e-6)
        np.testing.assert_allclose(cn.lp_pool(x, (N,), p=2.5), (abs(exact) ** 2.5).sum() ** 0.4, rtol=1e-6)


@pytest.mark.parametrize(("k", "d", "low"), [(9, 1, 0), (9, 1, 2), (9, 1, 11), (4, 2, 0), (4, 2, 3), (3, 5, 1)])
def test_the_transpose_of_a_single_window_without_lists(
    monkeypatch: pytest.MonkeyPatch, k: int, d: int, low: int
) -> None:
    """As a long one has it, for lists as long take seconds."""
    axis = Axis(0, n=9, o=1, k=k, s=7, d=d, low=low, high=4)
    listed = axis.transposed
    monkeypatch.setattr(axes, "MOST_LISTED", 8)
    strided = axis.transposed
    assert (listed.starts is None, strided.starts is None) == (False, low <= (k - 1) * d)
    for shape in ((1,), (1, 3), (1, 40)):
        g = -numbers("f4", *shape)
        expected, found = (core.sum_pool(g, Geometry(shape, (back,)), False) for back in (listed, strided))
        assert same_bits(found, expected)
        expected, found = (core.avg_pool(g, Geometry(shape, (back,)), False, 3.0, True) for back in (listed, strided))
        assert same_bits(found, expected)


def test_the_transpose_of_few_long_windows() -> None:
    """Listed window by window: tap by tap it took minutes."""
    n, k = 10**6, 4 * 10**5
    back = Axis(0, n=n, o=3, k=k, s=3 * 10**5, d=1, low=5, high=0).transposed
    first = [0] * (k - 5) + [1] * (3 * 10**5) + [2] * (3 * 10**5) + [0] * 5
    assert list(back.starts or ()) == first
    assert sum(back.lengths or ()) == 3 * k - 5


def test_derivatives_of_one_window_over_millions_of_elements() -> None:
    n = axes.MOST_LISTED + 5
    x = np.ones(n, np.float32)
    for function, expected in ((cn.sum_pool, 3.0), (cn.avg_pool, np.float32(3.0) / np.float32(n))):
        _, pull = cn.vjp(lambda v, f=function: f(v, (n,)), x)
        (found,) = pull(np.full(1, 3.0, np.float32))
        assert found.shape == (n,)
        assert (found == np.float32(expected)).all()
