"""Stride-2 windows whose first or last element is padding: computed in whole vectors, with a neighbouring element in
place of the padding, forward and backward. Row lengths around a vector's, padded at one end, at both, at none."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from cases import Array, same_bits
from cenote import core
from cenote.geometry.axes import Geometry
from cenote.geometry.window import parse_window
from cenote.reference import pooling as reference
from path_checks import check_picks, check_scatter, ties, ways, with_nans

WINDOWS_IN_A_ROW = [4, 7, 8, 9, 10, 15, 16, 17, 23, 24, 32, 40]


def geometries(k: int, rows: int) -> list[Geometry]:
    """Of windows that lack no element above or below, and of those that do."""
    made = []
    for n, low, high in itertools.product(WINDOWS_IN_A_ROW, (0, 1, 2, 3), (0, 1, 2)):
        elements = (n - 1) * 2 + k - low - high
        if elements > 0:
            made.append(parse_window((rows, k), (2, 2), ((low % 2, 0), (low, high))).on((3, 2 * rows + 1, elements)))
    return made


def data(geometry: Geometry, dtype: np.dtype[Any]) -> Array:
    """Many equal elements, the least among them, zeros of both signs, and NaN."""
    rng = np.random.default_rng(sum(geometry.shape))
    x = ties(rng, geometry.shape, dtype)
    x[rng.random(x.shape) < 0.1] = -0.0
    return with_nans(rng, x, 9)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_values_and_indices(k: int, rows: int) -> None:
    for geometry in geometries(k, rows):
        check_picks(data(geometry, np.dtype("f")), geometry)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scatter_at_row_ends(k: int, rows: int, dtype: str) -> None:
    for i, geometry in enumerate(geometries(k, rows)):
        check_scatter(data(geometry, np.dtype("f")), geometry, dtype, bool(i % 2), bool(i % 3))


@pytest.mark.parametrize("value", [-np.inf, np.inf, -0.0, np.nan, 1.0])
def test_the_first_of_tied_elements_is_selected(value: float) -> None:
    """A missing element is read as its neighbour, and must never be selected."""
    x = np.full((2, 5, 38), value, np.float32)
    for low, high in itertools.product((0, 1), (0, 1)):
        geometry = parse_window((3, 3), 2, ((1, 1), (low, high))).on(x.shape)
        for largest in (True, False):
            expected, indices = reference.select(x, geometry, largest, False)
            for case in ways(x, geometry):
                with case.setting():
                    found, where = core.select_with_indices(x, geometry, largest, False)
                assert where is not None
                assert same_bits(found, expected)
                assert same_bits(where, indices)
