"""Every algorithm of medians and modes against the reference, to the bit, around the sizes where one takes over from
another: windows, rows and lanes next to a vector's length, borders, dilation, strides, ties, NaN."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cenote as cn
from cases import (
    DEFAULT_LIMITS,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    LEVELS,
    REALS,
    Case,
    examples,
    lay_out,
    make_data,
    same_bits,
)
from cenote import _core, core
from cenote.arguments.errors import BadValue
from cenote.geometry.window import parse_window
from cenote.reference import order as reference

# (window, stride): squares that share columns, windows that tile, lines, volumes, on both sides of 64 elements.
SMALL: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3, 3), (1, 1)), ((5, 5), (1, 1)), ((3, 5), (1, 1)), ((3, 3), (2, 1)), ((2, 2), (2, 2)), ((3, 3), (3, 3)),
    ((4, 4), (2, 2)), ((1, 3), (1, 1)), ((5, 1), (1, 1)), ((8, 8), (1, 1)), ((2, 3), (3, 5)), ((7, 7), (1, 1)),
    ((3,), (1,)), ((9,), (1,)), ((10,), (3,)), ((64,), (1,)), ((2, 2, 2), (2, 2, 2)), ((3, 3, 3), (1, 1, 1)),
]  # fmt: skip
LARGE: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((13, 5), (1, 1)), ((9, 9), (1, 1)), ((15, 15), (2, 3)), ((5, 14), (1, 7)), ((65,), (1,)), ((90,), (11,)),
    ((5, 5, 5), (1, 1, 1)), ((2, 5, 7), (2, 1, 3)), ((1, 66), (1, 4)), ((70, 2), (3, 1)),
]  # fmt: skip
HALVES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 2), (2, 2)), ((2, 2, 2), (2, 2, 2)), ((2, 2, 1), (2, 2, 1)), ((2,), (2,)), ((4, 2), (4, 2)), ((1, 2), (1, 2)),
    ((2, 1, 2), (2, 1, 2)), ((2, 2), (1, 2)), ((8, 1), (8, 1)), ((2, 4), (2, 4)), ((3, 3, 3), (3, 3, 3)),
]  # fmt: skip


@st.composite
def windows(draw: st.DrawFn, dtypes: list[np.dtype[Any]], choices: list[Any]) -> Case:
    """A window on an array whose rows have about as many elements as one, two or four vectors."""
    window, stride = draw(st.sampled_from(choices))
    rank = len(window)
    dtype = draw(st.sampled_from(dtypes))
    dilation = draw(st.sampled_from([1, 1, (1,) * (rank - 1) + (2,), (2,) + (1,) * (rank - 1)]))
    steps = dilation if isinstance(dilation, tuple) else (1,) * rank
    lanes = draw(st.sampled_from([1, 1, 1, 2, 3, 8, 33]))
    vectors = draw(st.sampled_from([0, 1, 2, 4])) * 32 // dtype.itemsize // lanes * stride[-1]
    extents = [(k - 1) * d + 1 + draw(st.integers(-2, 4)) for k, d in zip(window, steps, strict=True)]
    extents[-1] += vectors + draw(st.integers(-2, 2))
    assume(min(extents) > 0)
    outer = draw(st.sampled_from([(), (), (2,)]))
    shape = (*outer, *extents, lanes) if lanes > 1 else (*outer, *extents)
    arguments: dict[str, Any] = {
        "window": window,
        "stride": stride,
        "padding": draw(st.sampled_from(["valid", "same", (1,) * rank, tuple((i % 2, 2) for i in range(rank))])),
        "dilation": dilation,
        "ceil_mode": draw(st.booleans()),
        "axes": tuple(range(len(outer), len(outer) + rank)),
    }
    try:
        geometry = parse_window(**arguments).on(shape)
    except BadValue:
        assume(False)
        raise
    assume(np.prod(geometry.out_shape) * np.prod(window) <= 400_000)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = make_data(rng, shape, dtype, draw(st.booleans()))
    if dtype.kind == "f" and draw(st.booleans()):  # a few NaN only: most windows have none
        x = rng.standard_normal(shape).astype(dtype)
        x[rng.random(shape) < 0.01] = np.nan
    x = lay_out(x, draw(st.sampled_from([*LAYOUTS, *["c"] * 8])), rng)
    limits = draw(st.sampled_from([DEFAULT_LIMITS, DEFAULT_LIMITS, (1, 1), (2048, 64)]))
    return Case(x, arguments, geometry, draw(st.sampled_from(LEVELS)), draw(st.integers(1, 3)), limits)


def check_median(case: Case, omit: bool, own: bool) -> None:
    """``own``: in the dtype of the elements, in which most results are elements."""
    omit = omit and case.x.dtype in FLOATS
    result = case.x.dtype.newbyteorder("=") if own and case.x.dtype.kind != "b" else None
    values = reference.median(case.x, case.geometry, omit, result)[0]
    with case.setting():
        got = core.median_pool(case.x, case.geometry, omit, result=values.dtype)
    assert same_bits(got, values)


@examples(300)
@given(windows(REALS, SMALL), st.booleans(), st.booleans())
def test_medians_of_small_windows(case: Case, omit: bool, own: bool) -> None:
    check_median(case, omit, own)


@examples(200)
@given(windows(REALS, LARGE), st.booleans(), st.booleans())
def test_medians_of_large_windows(case: Case, omit: bool, own: bool) -> None:
    check_median(case, omit, own)


@examples(120)
@given(windows([np.dtype(t) for t in "?bB"], LARGE), st.booleans())
def test_medians_of_bytes(case: Case, own: bool) -> None:
    check_median(case, False, own)


@examples(300)
@given(windows([np.dtype("?"), *INTEGERS], [*HALVES, *SMALL]))
def test_modes(case: Case) -> None:
    with case.setting():
        got = core.mode_pool(case.x, case.geometry)
    assert same_bits(got, reference.mode(case.x, case.geometry))


@pytest.mark.parametrize("level", LEVELS)
def test_every_number_of_elements(level: str) -> None:
    """Networks sort every 0-1 sequence if they sort all: here all of up to 12 elements, and random ones of more."""
    rng = np.random.default_rng(5)
    before = _core.level()
    assert _core.use_level(level)
    try:
        for n in range(1, 68):
            x = np.array(list(itertools.product((0, 1), repeat=n)), np.uint8) if n <= 12 else None
            x = rng.integers(0, 2, (400, n)).astype(np.uint8) if x is None else x
            for dtype in (np.uint8, np.uint64):
                columns = np.ascontiguousarray(x.T.astype(dtype))
                geometry = parse_window((n,), None, "valid", 1, False, 0).on(columns.shape)
                got = core.median_pool(columns, geometry, False)
                assert same_bits(got, np.median(columns, axis=0)[None].astype(np.float64)), (n, dtype)
                assert same_bits(core.mode_pool(columns, geometry), reference.mode(columns, geometry)), (n, dtype)
    finally:
        _core.use_level(before)


PLANE = (512, 512)
# (what, the arguments of which_kernel, …) on either side of a threshold of registry.cpp.
SIDES: dict[str, list[tuple[str, tuple[Any, ...], dict[str, Any]]]] = {
    "elements of a network": [
        ("sorting_network", ("median_pool", PLANE, (8, 8)), {"stride": 1}),
        ("sliding_ranks", ("median_pool", PLANE, (5, 13)), {"stride": 1}),
    ],
    "of bytes": [
        ("sorting_network", ("median_pool", PLANE, (8, 8)), {"stride": 1, "dtype": "uint8"}),
        ("threshold_counts", ("median_pool", PLANE, (5, 13)), {"stride": 1, "dtype": "uint8"}),
    ],
    "columns that are counted": [
        ("threshold_counts", ("median_pool", PLANE, (3, 127)), {"stride": 1, "dtype": "int8"}),
        ("sliding_ranks", ("median_pool", PLANE, (3, 128)), {"stride": 1, "dtype": "int8"}),
    ],
    "rows that are counted": [
        ("threshold_counts", ("median_pool", PLANE, (127, 3)), {"stride": 1, "dtype": "int8"}),
        ("sliding_ranks", ("median_pool", PLANE, (128, 3)), {"stride": 1, "dtype": "int8"}),
    ],
    "steps along a row": [
        ("threshold_counts", ("median_pool", PLANE, (9, 9)), {"stride": (2, 1), "dtype": "uint8"}),
        ("sliding_ranks", ("median_pool", PLANE, (9, 9)), {"stride": (1, 2), "dtype": "uint8"}),
    ],
    "windows that share half of their elements": [
        ("sliding_ranks", ("median_pool", PLANE, (9, 10)), {"stride": (9, 5)}),
        ("window_sort", ("median_pool", PLANE, (9, 10)), {"stride": (9, 6)}),
    ],
    "dilation along a row": [
        ("sliding_ranks", ("median_pool", PLANE, (9, 9)), {"stride": 1, "dilation": (2, 1)}),
        ("window_sort", ("median_pool", PLANE, (9, 9)), {"stride": 1, "dilation": (1, 2)}),
    ],
    "elements of a mode in place": [
        ("direct_mode", ("mode_pool", PLANE, (4, 2)), {"dtype": "uint64"}),
        ("sorting_network", ("mode_pool", PLANE, (3, 2)), {"dtype": "uint64"}),
    ],
    "a vector of modes": [
        ("direct_mode", ("mode_pool", (64, 64), (2, 2)), {"dtype": "uint8"}),
        ("sorting_network", ("mode_pool", (64, 62), (2, 2)), {"dtype": "uint8"}),
    ],
    "lanes of a mode": [
        ("direct_mode", ("mode_pool", (64, 64, 32), (2, 2)), {"dtype": "uint8", "axes": (0, 1)}),
        ("sorting_network", ("mode_pool", (64, 64, 31), (2, 2)), {"dtype": "uint8", "axes": (0, 1)}),
    ],
    "large modes": [
        ("sorting_network", ("mode_pool", PLANE, (8, 8)), {"dtype": "uint8"}),
        ("window_sort", ("mode_pool", PLANE, (8, 9)), {"dtype": "uint8"}),
    ],
}


@pytest.mark.parametrize("what", SIDES)
def test_both_sides_of_a_threshold(what: str) -> None:
    before = _core.level()
    try:
        for level in (name for name in LEVELS if name in ("avx2", "avx512")):
            assert _core.use_level(level)
            for name, (operation, *arguments), options in SIDES[what]:
                assert cn.which_kernel(operation, *arguments, **options) == name, (level, arguments, options)
    finally:
        _core.use_level(before)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_tiles_of_padding_only(level: str, dtype: str) -> None:
    """Windows of one row, two of which are above the array and two below: each row of windows is a tile."""
    rng = np.random.default_rng(7)
    x = rng.integers(0, 50, (3, 80)).astype(dtype)
    for k in (3, 9, 40, 70):
        arguments: dict[str, Any] = {
            "window": (1, k),
            "stride": 1,
            "padding": (2, 0),
            "dilation": 1,
            "ceil_mode": False,
        }
        geometry = parse_window(**arguments, axes=None).on(x.shape)
        case = Case(x, arguments, geometry, level, 2, (1, 1))
        check_median(case, False, True)
        check_median(case, False, False)


@pytest.mark.parametrize("stride", [2**31, 2**53, 2**62])
def test_a_single_window_with_a_vast_stride(stride: int) -> None:
    x = np.array([3, 1, 1], np.uint8)
    assert cn.mode_pool(x, (3,), stride=stride, padding=((1, 2),), ceil_mode=True).tolist() == [1]
    assert cn.median_pool(x, (3,), stride=stride).tolist() == [1.0]
    assert np.isnan(cn.median_pool(x[:0].astype("u2"), (4,), stride=stride, padding=((7, 6),))).all()
