"""The transpose of weighted sums over windows that do not overlap: its own kernels, at every size where they switch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cases import DEFAULT_LIMITS, LEVELS, STREAMED, Array, same_bits
from cenote import _core, core
from cenote.geometry.axes import Geometry
from cenote.geometry.window import parse_window
from cenote.reference import weighted as reference
from cenote.reference.pooling import gather
from weighted_checks import check, exact

SOFTMAX, EUCLIDEAN = ("softmax", (1.5, 0.0)), ("power", (2.0, 1.0, True))
BEST = [level for level in LEVELS if level != "baseline"]


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = _core.level(), _core.num_threads()
    yield
    _core.use_level(before[0])
    _core.set_num_threads(before[1])
    _core.set_limits(*DEFAULT_LIMITS, STREAMED)


def spread(how: tuple[str, tuple[Any, ...]], g: Array, x: Array, geometry: Geometry) -> Array:
    found: Array = getattr(core, f"{how[0]}_spread")(g, x, geometry, *how[1])
    return found


def name_of(how: tuple[str, tuple[Any, ...]], x: Array, geometry: Geometry) -> str:
    g = np.zeros(geometry.out_shape, x.dtype)
    (name,) = _core.trace(lambda: spread(how, g, x, geometry))
    return str(name)


def check_windows(how: tuple[str, tuple[Any, ...]], x: Array, geometry: Geometry, g_type: Any = None) -> None:
    """Against the definition, and against what is computed if one window needs the shifted form: in two stages."""
    rng = np.random.default_rng(1)
    g = rng.standard_normal(geometry.out_shape).astype(x.dtype if g_type is None else g_type)
    found = spread(how, g, x, geometry)
    check(found, *exact(*how, True, g, x, geometry), g.dtype)
    wild = x.copy()
    wild.flat[rng.integers(x.size)] = np.inf
    seen, real = gather(wild != x, geometry)
    touched = (seen & real).any(axis=reference.last_axes(geometry))
    ones = np.ones(real.shape, np.longdouble)
    beside = reference.weighted_spread(touched.astype(float), ones * real, geometry) == 0
    for threads, limits in ((1, (*DEFAULT_LIMITS, STREAMED)), (3, (4096, 64, 0))):
        _core.set_num_threads(threads)
        _core.set_limits(*limits)
        assert same_bits(spread(how, g, x, geometry), found)
        assert same_bits(spread(how, g, wild, geometry)[beside], found[beside])


OPTIONS: list[dict[str, Any]] = [
    {}, {"padding": 1}, {"ceil_mode": True}, {"padding": 3, "ceil_mode": True}, {"stride": 5},
    {"stride": 9, "padding": 4},
]  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("how", [SOFTMAX, EUCLIDEAN, ("softmax", (-0.7, None)), ("softmax", (1.0, 1e4))], ids=str)
def test_lanes(level: str, how: tuple[str, tuple[Any, ...]]) -> None:
    rng = np.random.default_rng(0)
    _core.use_level(level)
    windows = [(2, 2), (1, 1), (3, 2), (2, 1), (4, 1), (8, 8), (5, 7), (5, 13)]
    for window, options in itertools.product(windows, OPTIONS):
        lanes = int(rng.choice([2, 7, 8, 9, 15, 16, 17, 33]))
        axes = [(1, 2), (2, 1)][int(rng.integers(2))]
        shape = (2, *rng.integers(max(window), 2 * max(window) + 4, 2).tolist(), lanes)
        for dtype in (np.float32, np.float64):
            geometry = parse_window(window, axes=axes, **{"stride": window, **rising(options, window)}).on(shape)
            check_windows(how, rng.standard_normal(shape).astype(dtype), geometry)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("how", [SOFTMAX, EUCLIDEAN, ("softmax", (-0.7, None))], ids=str)
def test_pairs_along_rows(level: str, how: tuple[str, tuple[Any, ...]]) -> None:
    rng = np.random.default_rng(0)
    _core.use_level(level)
    windows = [(2, 2), (1, 2), (3, 2), (2, 2, 2), (2,)]
    for window, options, count in itertools.product(windows, OPTIONS, (7, 8, 9, 10, 16, 17, 33)):
        shape = (2, *rng.integers(3, 8, len(window) - 1).tolist(), 2 * count + int(rng.integers(2)))
        axes = range(1, 1 + len(window))
        if rng.integers(2):
            axes, window = axes[::-1], window[::-1]
        options = {"stride": window, **rising(options, window)}
        strides = dict(zip(axes, np.broadcast_to(options["stride"], len(window)).tolist(), strict=True))
        options["stride"] = tuple({**strides, len(window): 2}.values())  # pairs are neighbours along the last axis
        geometry = parse_window(window, axes=tuple(axes), **options).on(shape)
        for dtype in (np.float32, np.float64):
            check_windows(how, rng.standard_normal(shape).astype(dtype), geometry)


def rising(options: dict[str, Any], window: tuple[int, ...]) -> dict[str, Any]:
    """With strides that are at least the window."""
    if "stride" not in options:
        return options
    return {**options, "stride": tuple(max(k, options["stride"] - i) for i, k in enumerate(window))}


@pytest.mark.parametrize("level", LEVELS)
def test_dtypes(level: str) -> None:
    rng = np.random.default_rng(0)
    _core.use_level(level)
    types = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
    for x_type, g_type, how in itertools.product(types, types, (SOFTMAX, EUCLIDEAN)):
        for shape, axes in (((2, 5, 6, 19), (1, 2)), ((3, 4, 38), (1, 2))):
            x = rng.standard_normal(shape).astype(x_type)
            check_windows(how, x, parse_window((2, 2), axes=axes).on(shape), g_type)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("how", [SOFTMAX, EUCLIDEAN], ids=str)
def test_both_layouts_have_the_same_bits(level: str, how: tuple[str, tuple[Any, ...]]) -> None:
    """With streaming stores too, for which rows have to be aligned, as in a buffer of the cache."""
    rng = np.random.default_rng(0)
    _core.use_level(level)
    for dtype in (np.float32, np.float64):
        first = rng.standard_normal((2, 16, 224, 224)).astype(dtype)
        geometry = parse_window((2, 2)).on(first.shape)
        g = rng.standard_normal(geometry.out_shape).astype(dtype)
        last = np.ascontiguousarray(first.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
        results = []
        for streaming_from in (2**50, 0):
            _core.set_limits(*DEFAULT_LIMITS, streaming_from)
            results += [spread(how, g, x, geometry) for x in (first, last)]
        assert results[1].strides == last.strides
        for found in results[1:]:
            assert same_bits(found, results[0])


def test_which_windows_they_serve() -> None:
    def name(shape: tuple[int, ...], window: tuple[int, ...], how: Any = SOFTMAX, **options: Any) -> str:
        return name_of(how, np.zeros(shape, np.float32), parse_window(window, **options).on(shape))

    lanes = {"axes": (0, 1)}
    for level in BEST:
        _core.use_level(level)
        for served, general in [
            (name((9, 9, 8), (2, 2), **lanes), name((9, 9, 7), (2, 2), **lanes)),
            (name((99, 99, 8), (8, 8), **lanes), name((99, 99, 8), (5, 13), **lanes)),
            (name((9, 9, 8), (2, 2), **lanes), name((9, 9, 8), (2, 2), stride=(1, 2), **lanes)),
            (name((9, 9, 8), (1, 2), dilation=(2, 1), **lanes), name((9, 9, 8), (2, 2), dilation=(2, 1), **lanes)),
            (name((9, 16), (2, 2)), name((9, 14), (2, 2))),
            (name((9, 16), (3, 2)), name((9, 40), (2, 3))),
            (name((9, 40), (2, 2), EUCLIDEAN), name((9, 40), (2, 2), ("power", (3.0, 2.0, True)))),
            (name((9, 40), (2, 2), EUCLIDEAN), name((9, 40), (2, 2), ("power", (2.0, 0.0, True)))),
        ]:
            assert (served, general) == ("weighted_disjoint", "weighted_spread")
    _core.use_level("baseline")
    assert name((9, 16), (2, 2)) == "weighted_spread"
