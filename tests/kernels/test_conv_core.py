"""The core of convolution against its reference: all three forms, every dtype, layout, level and thread count."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cases import BFLOAT16, COMPLEX, DEFAULT_LIMITS, FLOATS, INTEGERS, LEVELS, Case, examples, same_bits
from cenote.core.conv import convolve
from cenote.geometry.axes import Axis
from cenote.geometry.conv import conv_geometry
from cenote.reference import conv as slow
from conv_cases import DTYPES, ConvCase, conv_cases, reference

thorough = examples(400)
RESULTS = ["y", "x", "w"]


def biased(case: ConvCase, result: str, wanted: bool) -> Any:
    return {"y": case.bias, "x": case.back, "w": None}[result] if wanted else None


# ------------------------------------------------------------------------------------------------- the reference


def test_the_reference_by_its_definition() -> None:
    """T(x, w, y) added up number by number, and each of the three forms against it."""
    rng = np.random.default_rng(0)
    axes = (Axis(1, 7, 4, 3, 2, 1, 1, 1), Axis(2, 5, 4, 2, 1, 2, 0, 1))
    groups, c_in, c_out = 2, 3, 2
    x, w, y = (rng.integers(-4, 5, s).astype(float) for s in ((2, 7, 5, 6), (3, 2, 3, 4), (2, 4, 4, 4)))
    by_x, by_w, by_y = np.zeros_like(x), np.zeros_like(w), np.zeros_like(y)
    for b, i, j, s, t, g, c, o in np.ndindex(2, 4, 4, 3, 2, groups, c_in, c_out):
        row, column = i * 2 - 1 + s, j + 2 * t
        if 0 <= row < 7 and column < 5:
            at_x, at_w, at_y = (b, row, column, g * 3 + c), (s, t, c, g * 2 + o), (b, i, j, g * 2 + o)
            by_x[at_x] += w[at_w] * y[at_y]
            by_w[at_w] += x[at_x] * y[at_y]
            by_y[at_y] += x[at_x] * w[at_w]
    np.testing.assert_array_equal(slow.conv(x, w, axes, groups), by_y)
    np.testing.assert_array_equal(slow.conv_input(w, y, axes, groups), by_x)
    np.testing.assert_array_equal(slow.conv_filter(x, y, axes, groups), by_w)


# --------------------------------------------------------------------------------------------------- to the bit


@thorough
@given(conv_cases(DTYPES), st.sampled_from(RESULTS), st.booleans())
def test_whole_numbers_are_exact(case: ConvCase, result: str, with_bias: bool) -> None:
    bias = biased(case, result, with_bias)
    operands = case.operands(result)
    with case.setting():
        got = convolve(case.frame, result, operands, bias)
    assert got.flags.c_contiguous
    assert same_bits(got + 0, reference(case.frame, result, operands, bias) + 0)  # no difference between 0 and -0


@thorough
@given(conv_cases(INTEGERS, rounded=True), st.sampled_from(RESULTS), st.booleans())
def test_integers_wrap_around(case: ConvCase, result: str, with_bias: bool) -> None:
    """Numbers of the whole range: in arithmetic modulo 2ⁿ the order of a sum makes no difference."""
    bias = biased(case, result, with_bias)
    with case.setting():
        got = convolve(case.frame, result, case.operands(result), bias)
    assert same_bits(got, reference(case.frame, result, case.operands(result), bias))


@thorough
@given(conv_cases(FLOATS + COMPLEX, rounded=True), st.sampled_from(RESULTS), st.integers(1, 4))
def test_the_number_of_threads_makes_no_difference(case: ConvCase, result: str, threads: int) -> None:
    bias = biased(case, result, True)
    operands = case.operands(result)
    with case.setting():
        got = convolve(case.frame, result, operands, bias)
    with Case(case.x, {}, case.geometry, case.level, threads, case.limits).setting():
        assert same_bits(got, convolve(case.frame, result, operands, bias))


# --------------------------------------------------------------------------------------------- within an error

UNIT = {"e": 2.0**-24, "f": 2.0**-24, "d": 2.0**-53, "F": 2.0**-24, "D": 2.0**-53}  # of what sums are held in
LAST = {"e": 2.0**-11, "f": 2.0**-24, "d": 2.0**-53, "F": 2.0**-24, "D": 2.0**-53}  # of the result


def wide(x: Any) -> Any:
    held = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    # Of doubles the exact sum is taken in the widest floats there are.
    return held.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble) if x.dtype.itemsize >= 8 else held


@thorough
@given(conv_cases(FLOATS + COMPLEX, rounded=True), st.sampled_from(RESULTS), st.booleans())
def test_sums_are_as_exact_as_their_number_of_terms_allows(case: ConvCase, result: str, with_bias: bool) -> None:
    """|error| ≤ (terms + 1)·u·Σ|x||w|, whichever way the terms are added, and half a unit of the result's own."""
    bias = biased(case, result, with_bias)
    operands = case.operands(result)
    with case.setting():
        got = convolve(case.frame, result, operands, bias)
    exact = reference(
        case.frame, result, {k: wide(v) for k, v in operands.items()}, None if bias is None else wide(bias)
    )
    sizes = reference(
        case.frame,
        result,
        {k: np.abs(wide(v)) for k, v in operands.items()},
        None if bias is None else np.abs(wide(bias)),
    )
    ones = {k: np.ones(v.shape) for k, v in operands.items()}
    terms = reference(case.frame, result, ones) + 2
    char = "f" if case.x.dtype == BFLOAT16 else case.x.dtype.char
    rounding = 2.0**-8 if case.x.dtype == BFLOAT16 else LAST[char]
    # A complex product is four products and two sums.
    allowed = terms * UNIT[char] * sizes * (3 if char in "FD" else 1) * 1.01 + rounding * np.abs(exact) + 1e-30
    if char == "e":
        allowed = allowed + 2.0**-25  # below 2⁻¹⁴ float16 has no more digits
    assert got.dtype == case.x.dtype.newbyteorder("=")
    assert (np.abs(got.astype(exact.dtype) - exact) <= allowed).all()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("result", ["y", "x"])
def test_many_channels_are_as_exact_as_a_plain_sum(level: str, result: str) -> None:
    """3x3 on 64 channels, where a faster method may be taken: its error is at most twice that of adding one by one."""
    rng = np.random.default_rng(1)
    frame = conv_geometry((2, 13, 14, 64), (3, 3, 64, 64), 1, "same", 1, 1, "channels_last")
    source, w = (rng.standard_normal(shape).astype(np.float32) for shape in (frame.x, frame.w))
    padded = np.pad(source, ((0, 0), (1, 1), (1, 1), (0, 0)))
    turned = w if result == "y" else w[::-1, ::-1].swapaxes(2, 3)
    plain = np.zeros(frame.y, np.float32)
    for i, j, c in np.ndindex(3, 3, 64):
        plain += padded[:, i : i + 13, j : j + 14, c, None] * turned[i, j, c]
    operands = {"w": w, "x" if result == "y" else "y": source}
    exact = reference(frame, result, {name: a.astype(np.float64) for name, a in operands.items()})
    with Case(source, {}, None, level, 2, DEFAULT_LIMITS).setting():  # type: ignore[arg-type]
        got = convolve(frame, result, operands)
    assert np.sqrt(np.mean((plain - exact) ** 2)) > 1e-6  # the same sum, rounded
    assert np.sqrt(np.mean((got - exact) ** 2)) <= 2 * np.sqrt(np.mean((plain - exact) ** 2))
    assert np.max(np.abs(got - exact)) <= 3 * np.max(np.abs(plain - exact))


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("result", ["y", "x"])
def test_large_filters_are_as_exact_as_a_plain_sum(dtype: str, result: str) -> None:
    """25x26 on one channel, where a faster method may be taken, and what is not finite stays in its windows."""
    rng = np.random.default_rng(2)
    frame = conv_geometry((1, 124, 125, 1), (25, 26, 1, 1), 1, 0, 1, 1, "channels_last")
    source, w = (rng.standard_normal(shape).astype(dtype) for shape in (getattr(frame, "xy"[result == "x"]), frame.w))
    padded = source[0, :, :, 0] if result == "y" else np.pad(source[0, :, :, 0], ((24, 24), (25, 25)))
    turned = w[:, :, 0, 0] if result == "y" else w[::-1, ::-1, 0, 0]
    rows, columns = getattr(frame, result)[1:3]
    plain = np.zeros((rows, columns), dtype)
    exact = np.zeros((rows, columns), np.longdouble)
    for i, j in np.ndindex(25, 26):
        elements = padded[i : i + rows, j : j + columns]
        plain += elements * turned[i, j]
        exact += elements.astype(np.longdouble) * turned[i, j].astype(np.longdouble)
    other = "x" if result == "y" else "y"
    got = convolve(frame, result, {"w": w, other: source})[0, :, :, 0]
    assert np.sqrt(np.mean((got - exact) ** 2)) <= 2 * np.sqrt(np.mean((plain - exact) ** 2))
    source[0, 50, 60, 0] = np.nan
    finite = np.isfinite(convolve(frame, result, {"w": w, other: source})[0, :, :, 0])
    seen = np.zeros((rows, columns), bool)
    seen[slice(26, 51) if result == "y" else slice(50, 75), slice(35, 61) if result == "y" else slice(60, 86)] = True
    np.testing.assert_array_equal(finite, ~seen)


# ------------------------------------------------------------------------------------------ every size in between


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["f", "d", "i", "F"])
@pytest.mark.parametrize("first", [False, True])
def test_every_number_of_channels_around_the_vector_widths(level: str, dtype: str, first: bool) -> None:
    rng = np.random.default_rng(2)
    for channels in [*range(1, 20), 31, 32, 33, 64, 65]:
        for shape in ((channels, 3, 1), (3, channels, 1), (channels, channels, channels)):
            c_in, c_out, groups = shape
            x_shape = (2, c_in, 5, 9) if first else (2, 5, 9, c_in)
            w_shape = (c_out, c_in // groups, 3, 2) if first else (3, 2, c_in // groups, c_out)
            layout = "channels_first" if first else "channels_last"
            frame = conv_geometry(x_shape, w_shape, (1, 2), "same", 1, groups, layout)
            arrays = {n: rng.integers(-3, 4, getattr(frame, n)).astype(dtype) for n in "xwy"}
            for result in RESULTS:
                operands = {n: a for n, a in arrays.items() if n != result}
                with Case(arrays["x"], {}, None, level, 2, DEFAULT_LIMITS).setting():  # type: ignore[arg-type]
                    got = convolve(frame, result, operands)
                assert same_bits(got + 0, reference(frame, result, operands) + 0), (shape, result)


@pytest.mark.parametrize("level", LEVELS)
def test_every_length_of_a_row(level: str) -> None:
    """Rows of 1 to 70 elements, filters of 1 to 9, strides, dilations, one channel and several."""
    rng = np.random.default_rng(3)
    for n in range(1, 71):
        for k, s, d, channels, groups in ((1, 1, 1, 4, 1), (3, 1, 1, 1, 1), (3, 2, 1, 3, 1), (9, 1, 1, 2, 2),
                                          (4, 3, 2, 2, 1), (5, 1, 1, 6, 6), (2, 5, 3, 4, 4)):  # fmt: skip
            frame = conv_geometry(
                (1, channels, n), (2 * channels, channels // groups, k), s, k, d, groups, "channels_first"
            )
            arrays = {name: rng.integers(-3, 4, getattr(frame, name)).astype("f") for name in "xwy"}
            for result in RESULTS:
                operands = {name: a for name, a in arrays.items() if name != result}
                with Case(arrays["x"], {}, None, level, 1, DEFAULT_LIMITS).setting():  # type: ignore[arg-type]
                    got = convolve(frame, result, operands)
                assert same_bits(got + 0, reference(frame, result, operands) + 0), (n, k, s, d, channels, result)


@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
def test_large_enough_to_be_cut_into_blocks(layout: str) -> None:
    """Many channels, many outputs, several threads: all borders of blocks are inside of it."""
    rng = np.random.default_rng(4)
    first = layout == "channels_first"
    x_shape, w_shape = ((3, 70, 37, 41), (130, 70, 3, 3)) if first else ((3, 37, 41, 70), (3, 3, 70, 130))
    frame = conv_geometry(x_shape, w_shape, 1, ((1, 1), (0, 3)), 1, 1, layout)
    arrays = {n: rng.integers(-3, 4, getattr(frame, n)).astype("f") for n in "xwy"}
    for result in RESULTS:
        operands = {n: a for n, a in arrays.items() if n != result}
        bias = None if result == "w" else rng.integers(-3, 4, 130 if result == "y" else 70).astype("f")
        expected = reference(frame, result, operands, bias)
        for threads in (1, 2, 3):
            with cn.num_threads(threads):
                np.testing.assert_array_equal(convolve(frame, result, operands, bias), expected)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
def test_small_planes_of_many_channels(layout: str, level: str) -> None:
    """3x3 filters on 64 channels and more: planes of every size from one element on, and padding of every kind."""
    rng = np.random.default_rng(7)
    for rows, columns, pads, channels in ((1, 1, 1, 64), (1, 70, 1, 64), (2, 3, "same", 65), (6, 6, 0, 40),
                                          (4, 4, 1, 33), (4, 5, ((0, 1), (2, 0)), 64), (5, 6, 2, 140),
                                          (7, 9, 3, 64)):  # fmt: skip
        first = layout == "channels_first"
        x_shape = (8, channels, rows, columns) if first else (8, rows, columns, channels)
        w_shape = (72, channels, 3, 3) if first else (3, 3, channels, 72)
        frame = conv_geometry(x_shape, w_shape, 1, pads, 1, 1, layout)
        arrays = {n: rng.integers(-3, 4, getattr(frame, n)).astype("f") for n in "xwy"}
        for result in RESULTS:
            operands = {n: a for n, a in arrays.items() if n != result}
            with Case(arrays["x"], {}, None, level, 2, (256, 16)).setting():  # type: ignore[arg-type]
                got = convolve(frame, result, operands)
            assert same_bits(got + 0, reference(frame, result, operands) + 0), (rows, columns, pads, channels, result)


@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
@pytest.mark.parametrize("level", LEVELS)
def test_the_strides_of_axes_of_one_element_mean_nothing(level: str, layout: str) -> None:
    """NumPy leaves anything there: what a reversed slice had, or a larger array."""
    rng = np.random.default_rng(6)
    first = layout == "channels_first"
    x_shape, w_shape = ((1, 1, 2, 2, 3), (5, 1, 1, 2, 2, 1)) if first else ((1, 2, 2, 3, 1), (1, 2, 2, 1, 1, 5))
    frame = conv_geometry(x_shape, w_shape, 1, 0, 1, 1, layout)
    arrays = {name: rng.integers(-3, 4, getattr(frame, name)).astype("f") for name in "xwy"}
    for result, name, stride in itertools.product(RESULTS, "xwy", (-4, 4, 8, -12, 0, 4096)):
        operands = {n: a for n, a in arrays.items() if n != result}
        if name == result:
            continue
        plain = operands[name]
        strides = [stride if size == 1 else usual for size, usual in zip(plain.shape, plain.strides, strict=True)]
        operands[name] = np.lib.stride_tricks.as_strided(plain, plain.shape, strides)
        with Case(arrays["x"], {}, None, level, 1, DEFAULT_LIMITS).setting():  # type: ignore[arg-type]
            got = convolve(frame, result, operands)
        assert same_bits(got + 0, reference(frame, result, operands) + 0), (result, name, stride)


def test_the_memory_of_operands_is_not_written() -> None:
    rng = np.random.default_rng(5)
    x, w = rng.standard_normal((2, 8, 8, 3)), rng.standard_normal((3, 3, 3, 4))
    held = x.copy(), w.copy()
    y = cn.conv(x, w, padding=1)
    cn.conv_transpose(y, w, padding=1)
    np.testing.assert_array_equal(x, held[0])
    np.testing.assert_array_equal(w, held[1])


def test_as_many_axes_as_numpy_has() -> None:
    x = np.arange(4.0).reshape((1,) * 61 + (2, 2, 1))
    assert cn.conv(x, np.ones((2, 2, 1, 1))).item() == 6
    many = np.ones((1,) * 62 + (2, 1))
    assert cn.conv(np.arange(2.0).reshape((1,) * 62 + (2,)), many).item() == 1


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["f", "d", "e", "F"])
def test_what_is_not_finite_stays_in_its_group(dtype: str, level: str) -> None:
    """Groups of fewer channels than a vector has lanes, which may be taken together with zeros in between."""
    for layout, (groups, into, out), threads in itertools.product(
        ("channels_last", "channels_first"), ((2, 4, 8), (4, 2, 4), (4, 3, 2), (8, 2, 2), (3, 5, 1)), (1, 2)
    ):
        first = layout == "channels_first"
        x_shape = (2, groups * into, 5, 6) if first else (2, 5, 6, groups * into)
        w_shape = (groups * out, into, 2, 3) if first else (2, 3, into, groups * out)
        frame = conv_geometry(x_shape, w_shape, (1, 2), 1, 1, groups, layout)
        for result, value in itertools.product("yx", (np.nan, np.inf)):
            operands = {name: np.ones(getattr(frame, name), dtype) for name in "xwy" if name != result}
            source = operands["x" if result == "y" else "y"]
            source[(1, 1, 2, 2) if first else (1, 2, 2, 1)] = value
            with Case(source, {}, None, level, threads, (256, 16)).setting(), np.errstate(invalid="ignore"):  # type: ignore[arg-type]
                got, expected = convolve(frame, result, operands), reference(frame, result, operands)
            assert (np.isfinite(got) == np.isfinite(expected)).all(), (layout, groups, into, out, result, value)
            assert not np.isfinite(got).all()
