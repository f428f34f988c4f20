"""``out=`` of every function, and ``dtype=`` of convolutions: where results go, and how they are rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cenote as cn

X = np.random.default_rng(0).standard_normal((6, 8, 3)).astype(np.float32)
W = np.random.default_rng(1).standard_normal((3, 3, 3, 2)).astype(np.float32)
WHERE = cn.max_pool(X, (2, 2), axes=(0, 1), return_indices=True)

CALLS: dict[str, Callable[..., Any]] = {
    "max_pool": lambda **o: cn.max_pool(X, (2, 2), **o),
    "min_pool": lambda **o: cn.min_pool(X, (3, 2), stride=1, axes=(0, 1), **o),
    "sum_pool": lambda **o: cn.sum_pool(X, (2, 2), **o),
    "avg_pool": lambda **o: cn.avg_pool(X, (2, 2), dtype=np.int8, **o),
    "lp_pool": lambda **o: cn.lp_pool(X, (2, 2), **o),
    "smooth_max_pool": lambda **o: cn.smooth_max_pool(X, (2, 2), dtype=np.float64, **o),
    "median_pool": lambda **o: cn.median_pool(X, (3, 2), stride=1, axes=(0, 1), dtype=np.float16, **o),
    "mode_pool": lambda **o: cn.mode_pool(np.rint(X).astype(np.int16), (2, 2), **o),
    "adaptive_max_pool": lambda **o: cn.adaptive_max_pool(X, (3, 2), **o),
    "adaptive_avg_pool": lambda **o: cn.adaptive_avg_pool(X, (3, 2), **o),
    "global_max_pool": lambda **o: cn.global_max_pool(X, axes=(0, 1), **o),
    "global_avg_pool": lambda **o: cn.global_avg_pool(X, axes=(0, 1), **o),
    "max_unpool": lambda **o: cn.max_unpool(*WHERE, (2, 2), axes=(0, 1), **o),
    "pool": lambda **o: cn.pool(X, (2, 2), 1.0, np.multiply, **o),
    "correlate": lambda **o: cn.correlate(X, [1.0, 2.0], mode="same", axes=1, **o),
    "convolve": lambda **o: cn.convolve(X, np.ones((2, 2)), **o),
    "conv": lambda **o: cn.conv(X, W, **o),
    "conv_transpose": lambda **o: cn.conv_transpose(X[..., :2], W, **o),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_result_goes_there_whatever_its_strides_are(name: str) -> None:
    expected = CALLS[name]()
    big = np.full([2 * n for n in expected.shape], 77, expected.dtype)
    targets = [
        np.empty_like(expected),
        np.empty_like(expected, order="F"),
        big[tuple(slice(None, None, -2) for _ in X.shape)],
    ]
    for out in targets:
        assert CALLS[name](out=out) is out
        np.testing.assert_array_equal(out, expected)
    assert (big == 77).sum() >= big.size - expected.size  # nothing else is written


def test_a_pair_with_indices() -> None:
    values, indices = cn.max_pool(X, (2, 2), return_indices=True)
    out = np.empty_like(values), np.empty_like(indices)
    got = cn.max_pool(X, (2, 2), return_indices=True, out=out)
    assert got[0] is out[0]
    assert got[1] is out[1]
    np.testing.assert_array_equal(out[0], values)
    np.testing.assert_array_equal(out[1], indices)


def test_after_an_error_nothing_is_written() -> None:
    out = np.full((6, 4, 2), 5, np.float32)
    with pytest.raises(ValueError, match="out has shape"):
        cn.max_pool(X, (2, 2), out=out)
    assert (out == 5).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_convolutions_round_to_nearest_and_clip(dtype: str) -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 254.5, 1e5, -1e5, 3e9, 1e19, 1e30, -1e30, np.inf, -np.inf, np.nan])
    got = cn.conv(x[:, None], np.ones((1, 1, 1)), dtype=dtype)[:, 0]
    ends = np.iinfo(dtype)
    for value, result in zip(x.tolist(), got.tolist(), strict=True):
        expected = (
            0 if value != value else ends.max if value == np.inf else ends.min if value == -np.inf else round(value)
        )
        assert result == min(max(expected, ends.min), ends.max), value


def test_convolutions_of_integers_clip() -> None:
    x = np.array([[300], [-300], [5]])
    np.testing.assert_array_equal(cn.conv(x, np.ones((1, 1, 1), int), dtype=np.uint8)[:, 0], [255, 0, 5])
    big = np.array([[2**64 - 1]], np.uint64)
    np.testing.assert_array_equal(cn.conv(big, np.ones((1, 1, 1), np.uint64), dtype=np.int64), [[2**63 - 1]])
    assert cn.conv(x, np.ones((1, 1, 1), int), dtype=np.float32).dtype == np.float32


def test_derivatives_through_another_dtype() -> None:
    for f in (
        lambda x: cn.avg_pool(x, (2, 2), axes=(0, 1), dtype=np.float64),
        lambda x: cn.sum_pool(x, (3, 2), axes=(0, 1), padding=1, dtype=np.float64),
        lambda x: cn.conv(x, W, dtype=np.float64),
        lambda x: cn.lp_pool(x, (2, 2), p=3.0, dtype=np.float64),
    ):
        y, pull = cn.vjp(f, X)
        assert y.dtype == np.float64
        (dx,) = pull(np.ones_like(y))
        assert dx.dtype == np.float32
        dy = cn.jvp(f, (X,), (X,))[1]
        assert dy.dtype == np.float64
        np.testing.assert_allclose(np.sum(dx * X), np.sum(dy), rtol=1e-4)
