"""Where NaN are left out and a window has nothing else, the result is the one NaN of the reference, and not one of the
window's own, each of which has other bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cases import FLOATS, Array, lay_out, same_bits
from cenote import core
from cenote.geometry.window import parse_window
from cenote.reference import pooling as reference
from path_checks import check_pick, rough, ways

# Window, stride, padding, dilation: small and large, side by side and overlapping.
WINDOWS: list[tuple[Any, Any, Any, Any]] = [
    (1, 1, 0, 1),
    (2, 2, 0, 1),
    (2, 1, 0, 1),
    (3, 1, 1, 1),
    (3, 2, 1, 1),
    (3, 1, 4, 2),
    ((1, 3), 1, 0, 1),
    ((3, 1), 1, 0, 1),
    (5, 1, 2, 1),
    (5, 5, 0, 1),
    (13, 1, 6, 1),
    (20, 20, 0, 1),
]
# Shapes and pooled axes: channels first, few and many channels last, axes that lie the other way round in memory.
PLACES: list[tuple[tuple[int, ...], tuple[int, int]]] = [
    ((2, 21, 40), (1, 2)),
    ((21, 40, 3), (0, 1)),
    ((21, 22, 17), (0, 1)),
    ((21, 40), (1, 0)),
]


def mostly_nan(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A number here and there, among NaN of both signs and any payload."""
    word = np.dtype(f"u{dtype.itemsize}")
    payload = int(np.array(np.nan, dtype).view(word)) ^ int(np.array(np.inf, dtype).view(word))  # its highest bit
    bits = rng.integers(1, 2 * payload, shape, dtype=word) | np.array(np.inf, dtype).view(word)
    bits |= rng.integers(0, 2, shape, dtype=word) << word.type(8 * dtype.itemsize - 1)
    return np.where(rng.random(shape) < 0.02, rough(rng, shape, dtype), bits.view(dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("shape", "axes"), PLACES, ids=str)
def test_a_window_of_nan_is_the_one_nan(shape: tuple[int, ...], axes: tuple[int, int], dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(len(shape))
    for i, (window, stride, padding, dilation) in enumerate(WINDOWS):
        geometry = parse_window(window, stride, padding, dilation, False, axes).on(shape)
        x = lay_out(mostly_nan(rng, shape, dtype), ["c", "fortran", "big endian", "every other"][i % 4], rng)
        for largest in (True, False):
            check_pick(x, geometry, largest, True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_so_it_is_where_offsets_are_asked_for(dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(2)
    for window, stride, padding, dilation in WINDOWS:
        geometry = parse_window(window, stride, padding, dilation, False, (0, 1)).on((21, 40))
        x = mostly_nan(rng, (21, 40), dtype)
        expected, _ = reference.select(x, geometry, True, True)
        for case in ways(x, geometry):
            with case.setting():
                values, _ = core.select_with_offsets(x, geometry, True, True)
            assert same_bits(values, expected), (window, stride, case.level, case.limits)
