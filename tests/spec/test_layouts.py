"""Every way through the core on arrays that lie in memory as few do: rows that are one row, columns that are one
element, reversed, not at a multiple of their size. The results are to the bit those of a plain copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cases import DEFAULT_LIMITS, LEVELS, STREAMED, Array, same_bits
from cenote import _core

# Window, stride, padding: direct, line buffers, cut ends, tiles of halves, strided, summed, column strips.
WINDOWS: list[tuple[int, int | None, int]] = [
    (2, None, 0),
    (2, 1, 0),
    (3, 1, 1),
    (3, 2, 1),
    (4, None, 0),
    (5, None, 2),
    (8, None, 0),
    (11, 1, 0),
]


def layouts(dtype: str) -> Iterator[Array]:
    rng = np.random.default_rng(7)
    x = (rng.standard_normal((2, 40, 72)) * 50).astype(dtype)
    yield np.broadcast_to(x[:, :1], x.shape)
    yield np.broadcast_to(x[:, :, :1], x.shape)
    yield np.broadcast_to(x[:1], x.shape)
    yield np.broadcast_to(x.flat[0], x.shape)
    yield x[:, ::-1]
    yield x[:, :, ::-1]
    yield x[:, ::3, ::2]
    memory = bytearray(x.nbytes + 1)
    crooked = np.ndarray(x.shape, x.dtype, memory, 1)
    crooked[...] = x
    yield crooked
    wide = np.zeros(2 * 40 * (72 * x.itemsize + 1), np.uint8)  # rows that are not a multiple of an element apart
    askew = np.lib.stride_tricks.as_strided(
        wide.view(np.uint8)[: x.itemsize].view(x.dtype),
        x.shape,
        (40 * (72 * x.itemsize + 1), 72 * x.itemsize + 1, x.itemsize),
    )
    askew[...] = x
    yield askew


@pytest.mark.parametrize("dtype", ["f", "B", "h", "e", "d"])
@pytest.mark.parametrize(("k", "stride", "padding"), WINDOWS)
def test_layouts(dtype: str, k: int, stride: int | None, padding: int) -> None:
    pools: list[Any] = [cn.max_pool, cn.avg_pool, cn.lp_pool, cn.smooth_max_pool]
    level = _core.level()
    try:
        for tried in LEVELS:
            _core.use_level(tried)
            for threshold in (STREAMED, 0):
                _core.set_limits(*DEFAULT_LIMITS, threshold)
                for i, x in enumerate(layouts(dtype)):
                    for axes in ((1, 2), (0, 1)) if k == 2 else ((1, 2),):
                        for pool in pools:
                            how: dict[str, Any] = {"stride": stride, "padding": padding, "axes": axes}
                            found, expected = pool(x, (k, k), **how), pool(x.copy(), (k, k), **how)
                            assert same_bits(found, expected), (pool.__name__, i, tried, axes)
    finally:
        _core.use_level(level)
        _core.set_limits(*DEFAULT_LIMITS, STREAMED)
