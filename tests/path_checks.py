"""Checks of a fast path: the bits of the reference on all levels, for any number of threads and size of tiles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from cases import DEFAULT_LIMITS, LEVELS, Array, Case, make_data, same_bits
from cenote import core
from cenote.core import memory_order
from cenote.geometry.axes import Geometry
from cenote.reference import pooling as reference

DTYPES = [np.dtype(t) for t in "fBdhieb"]


def ways(x: Array, geometry: Geometry, grain: int = 64) -> Iterator[Case]:
    """Large and tiny tiles on every level; several threads on the best one, because all levels share tasks by the same
    code, and threads that wait for a busy machine would take most of the time."""
    for level in LEVELS:
        best = level == LEVELS[-1]
        for threads, limits in ((1, DEFAULT_LIMITS), (2, (2048, grain)), (3, (1, 1))):
            yield Case(x, {}, geometry, level, threads if best else 1, limits)


def ties(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Few different values, the least and the largest of the dtype among them: padding must not win a tie."""
    few = np.array([reference.least(dtype, True), 0, 1, reference.least(dtype, False)], dtype)
    return rng.choice(few, shape, p=[0.4, 0.3, 0.2, 0.1])


def rough(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Values whose sums depend on their order."""
    return make_data(rng, shape, dtype, False)


def with_nans(rng: np.random.Generator, x: Array, elements: int) -> Array:
    """A NaN in about every third window of ``elements`` elements."""
    return np.where(rng.random(x.shape) < 0.4 / elements, np.array(np.nan, x.dtype), x)


def omissions(x: Array) -> tuple[bool, ...]:
    return (False, True) if x.dtype.kind in "fV" else (False,)


def check_pick(x: Array, geometry: Geometry, largest: bool, omit: bool) -> None:
    expected, expected_where = reference.select(x, geometry, largest, omit)
    for case in ways(x, geometry):
        with case.setting():
            values, where = core.select_with_indices(x, geometry, largest, omit)
            only = core.select(x, geometry, largest, omit)
        what = (largest, omit, x.dtype, case.level, case.threads, geometry)
        assert where is not None
        assert same_bits(values, expected), what
        assert same_bits(only, expected), what
        assert same_bits(where, expected_where), what


def check_picks(x: Array, geometry: Geometry) -> None:
    for omit in omissions(x):
        for largest in (True, False):
            check_pick(x, geometry, largest, omit)


def check_sums(x: Array, geometry: Geometry) -> None:
    for omit in omissions(x):
        total = reference.sum_pool(x, geometry, omit)
        averages = {
            (divisor, pad): reference.avg_pool(x, geometry, omit, divisor, pad)
            for divisor, pad in ((None, True), (None, False), (0.3, True))
        }
        for case in ways(x, geometry):
            what = (omit, x.dtype, case.level, case.threads, geometry)
            with case.setting():
                assert same_bits(core.sum_pool(x, geometry, omit), total), what
                for (divisor, pad), expected in averages.items():
                    assert same_bits(core.avg_pool(x, geometry, omit, divisor, pad), expected), (
                        divisor,
                        pad,
                        what,
                    )


def check_all(geometry: Geometry, dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(sum(geometry.shape))
    tied, x = ties(rng, geometry.shape, dtype), rough(rng, geometry.shape, dtype)
    if dtype.kind == "f":
        elements = math.prod(axis.k for axis in geometry.axes)
        tied, x = with_nans(rng, tied, elements), with_nans(rng, x, elements)
    check_picks(tied, geometry)
    check_sums(x, geometry)


# --------------------------------------------------------------------------- cotangents to selected elements


def selected_elements(where: Array, geometry: Geometry) -> list[Array]:
    """The index in x of each window's selected element."""
    index: list[Array] = list(np.indices(where.shape))
    sizes = tuple(axis.n for axis in geometry.axes)
    for axis, element in zip(geometry.axes, np.unravel_index(np.maximum(where, 0), sizes), strict=True):
        index[axis.position] = element
    return index


def scattered(g: Array, where: Array, geometry: Geometry, order: tuple[int, ...] | None) -> Array:
    """Each value added to the element with its flat index, window after window as they lie in memory."""
    out = np.zeros(geometry.shape, g.dtype)
    turned = [v.transpose(order or range(v.ndim)).ravel() for v in (*selected_elements(where, geometry), g, where)]
    chosen = turned[-1] >= 0
    np.add.at(out, tuple(v[chosen] for v in turned[:-2]), turned[-2][chosen])
    return out


def check_scatter(x: Array, geometry: Geometry, dtype: str, largest: bool = True, omit: bool = False) -> None:
    """To the bit, on every level, with any number of threads: a sum does not depend on how the plane is cut."""
    g = np.random.default_rng(4).standard_normal(geometry.out_shape).astype(dtype)
    values, where = reference.select(x, geometry, largest, omit)
    expected = scattered(g, where, geometry, memory_order(core.select_with_offsets(x, geometry, largest, omit)[1]))
    gathered = np.where(where < 0, np.zeros((), dtype), expected[tuple(selected_elements(where, geometry))])
    for case in ways(x, geometry, 1):
        with case.setting():
            found, offsets = core.select_with_offsets(x, geometry, largest, omit)
            got = core.scatter_add(g, offsets, geometry)
            back = core.gather(got, offsets, geometry)
        what = (case.level, case.threads, dtype, omit, geometry)
        assert same_bits(found, values), what
        assert same_bits(got, expected), what
        assert same_bits(back, gathered), what
