"""Sums and averages of small windows that overlap slide along a row of totals: to the bit of the reference, around all
lengths of a row where that changes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from cases import BFLOAT16
from cenote.geometry.axes import Geometry
from cenote.geometry.window import parse_window
from path_checks import check_sums, rough, with_nans

FLOATS = [np.dtype("f"), np.dtype("d")]
SMALL = [np.dtype("e"), BFLOAT16, np.dtype("b"), np.dtype("H")]


def check(shape: tuple[int, ...], geometry: Geometry, dtype: np.dtype[Any]) -> None:
    """Sums, and averages by counts and by divisors, of elements among which are -0.0 and NaN."""
    rng = np.random.default_rng(sum(shape))
    x = rough(rng, shape, dtype)
    if dtype.kind in "fV":
        x = np.where(rng.random(shape) < 0.4, np.array(-0.0, dtype), x)  # a sum of them is -0.0, but not with padding
        x = with_nans(rng, x, 9)
    check_sums(x, geometry)


@pytest.mark.parametrize("dtype", [*FLOATS, *SMALL], ids=str)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_rows_around_the_limits_of_line_buffer_sums(k: int, dtype: np.dtype[Any]) -> None:
    """Rows of about 192 bytes; windows of up to three rows and elements, and of more; every kind of cut."""
    item = dtype.itemsize
    for i, o in enumerate((192 // item - 1, 192 // item, 192 // item + 1, 70)):
        for j, (lead, step) in enumerate(((3, 1), (2, 1), (3, 2), (1, 1), (4, 1), (2, 3))):
            padding = [(0, 0), (1, 0), (k - 1, k - 1), (k + 2, k + 3)][(i + j) % 4]
            d = 1 + (i + j) % 3 // 2
            shape = (2, 9, max(1, o + (k - 1) * d - sum(padding)))
            window = parse_window((lead, k), (step, 1), (((i + j) % 3, 1), padding), (1 + i % 2, d), bool(j % 2))
            check(shape, window.on(shape), dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, *SMALL], ids=str)
def test_sums_over_lanes(dtype: np.dtype[Any]) -> None:
    for i, (lanes, s) in enumerate(itertools.product((5, 16, 17, 40), (1, 2))):
        shape = (2, 9, 12, lanes)
        window = parse_window((3, 1 + i % 3), (1, s), (i % 3, i % 4), (1, 1 + i % 2), False, (1, 2))
        check(shape, window.on(shape), dtype)


@pytest.mark.parametrize("dtype", [np.dtype("f"), np.dtype("e"), np.dtype("b")], ids=str)
@pytest.mark.parametrize("more", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("totals", [4 * 1024, 32 * 1024, 70_000])
def test_long_rows(totals: int, more: int, dtype: np.dtype[Any]) -> None:
    """Up to 4 KiB of totals there are two rows of them. From 32 KiB on a row is cut in pieces: the windows across its
    end see elements of the next."""
    n = totals // (2 if dtype.kind == "i" else 4) + more
    for shape, axes in (((4, n), (0, 1)), ((3, 3, n), (0, 1)), ((n,), (0,))):
        k = (3, 3) if len(axes) == 2 else (3,)
        check(shape, parse_window(k, 1, 1, 1, False, axes).on(shape), dtype)
    shape = (3, max(3, n // 90), 40)
    check(shape, parse_window((3, 3), 1, 1, 1, False, (0, 2)).on(shape), dtype)  # an axis between the pooled ones


@pytest.mark.parametrize("dtype", [np.dtype("f"), np.dtype("H")], ids=str)
def test_a_large_dilation(dtype: np.dtype[Any]) -> None:
    for d in (31, 32, 33, 40):
        shape = (2, 5, 150)
        check(shape, parse_window((2, 3), 1, (1, d), (1, d), False).on(shape), dtype)
