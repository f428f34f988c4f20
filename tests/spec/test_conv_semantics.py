"""What conv and conv_transpose mean, as numbers that can be checked by hand."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cenote as cn
from cenote.core.conv import convolve
from cenote.geometry.conv import conv_geometry

W = np.array([1, 10, 100])


def row(x: Any, w: Any = W, **options: Any) -> list[Any]:
    """One channel in, one out."""
    x, w = np.asarray(x), np.asarray(w)
    y = cn.conv(x[:, None], w[:, None, None], **options)
    assert y.shape[1:] == (1,)
    return list(y[:, 0].tolist())


def back(x: Any, w: Any = W, **options: Any) -> list[Any]:
    x, w = np.asarray(x), np.asarray(w)
    return list(cn.conv_transpose(x[:, None], w[:, None, None], **options)[:, 0].tolist())


# ---------------------------------------------------------------------------------------------------- conv


def test_nothing_is_flipped() -> None:
    assert row([1, 2, 3, 4]) == [321, 432]


@pytest.mark.parametrize(
    ("padding", "stride", "expected"),
    [
        ("valid", 1, [321, 432, 543]),
        ("VALID", 2, [321, 543]),
        (0, 3, [321]),
        (1, 1, [210, 321, 432, 543, 54]),
        ((1,), 2, [210, 432, 54]),
        ([(2, 0)], 1, [100, 210, 321, 432, 543]),
        (((0, 2),), 2, [321, 543, 5]),
        ("same", 1, [210, 321, 432, 543, 54]),
        ("same", 2, [210, 432, 54]),
        ("same", 3, [321, 54]),
        ("same_lower", 3, [210, 543]),
        ("Same", 4, [210, 54]),
        ("same", 7, [321]),
        (4, 5, [0, 432, 0]),
    ],
)
def test_paddings(padding: Any, stride: int, expected: list[int]) -> None:
    assert row([1, 2, 3, 4, 5], padding=padding, stride=stride) == expected


def test_the_odd_element_of_same_is_at_the_high_end() -> None:
    assert row([1, 2, 3], [1, 10], padding="same") == [21, 32, 3]
    assert row([1, 2, 3], [1, 10], padding="same_lower") == [10, 21, 32]
    assert row([1, 2, 3, 4], padding="same", dilation=2) == [310, 420, 31 + 0, 42]


def test_dilation_and_stride_together() -> None:
    assert row([1, 2, 3, 4, 5, 6, 7], dilation=2, stride=2) == [531, 753]
    assert row([1, 2, 3, 4, 5, 6, 7, 8], dilation=3, stride=1) == [741, 852]


def test_groups_and_dilation_of_torchlean() -> None:
    """The literal of TorchLean's own test: 4 channels in 2 groups, dilation 2, one zero in front."""
    x = np.array([[1, 2, 3, 4]]) * np.array([[1], [10], [100], [1000]])
    w = np.zeros((4, 2, 2), int)
    w[[0, 1, 2, 3], [0, 1, 0, 1]] = 1
    y = cn.conv(x, w, bias=[1, 2, 3, 4], padding=[(1, 0)], dilation=2, groups=2, layout="channels_first")
    assert y.tolist() == [[3, 5, 7], [22, 42, 62], [203, 403, 603], [2004, 4004, 6004]]


def test_a_group_sees_its_channels_only() -> None:
    x = np.array([[1, 10, 100, 1000]])  # one element, four channels
    w = np.ones((1, 2, 6), int) * np.array([1, 2, 3, 4, 5, 6])
    assert cn.conv(x, w, groups=2).tolist() == [[11, 22, 33, 4400, 5500, 6600]]
    depthwise = np.array([1, 2, 3, 4, 5, 6, 7, 8]).reshape(1, 1, 8)
    assert cn.conv(x, depthwise, groups=4).tolist() == [[1, 2, 30, 40, 500, 600, 7000, 8000]]
    assert cn.conv_transpose(x, np.ones((1, 3, 4), int), groups=2).tolist() == [[11, 11, 11, 1100, 1100, 1100]]


def test_layouts_are_transposes_of_each_other() -> None:
    rng = np.random.default_rng(0)
    x, w, b = rng.integers(-5, 6, (2, 7, 6, 4)), rng.integers(-5, 6, (3, 2, 2, 6)), rng.integers(-5, 6, 6)
    options: dict[str, Any] = {"stride": (1, 2), "padding": ((1, 0), (0, 2)), "dilation": (2, 1), "groups": 2}
    last = cn.conv(x, w, bias=b, **options)
    first = cn.conv(np.moveaxis(x, -1, 1), w.transpose(3, 2, 0, 1), bias=b, **options, layout="channels_first")
    np.testing.assert_array_equal(np.moveaxis(first, 1, -1), last)
    assert first.flags.c_contiguous
    assert last.flags.c_contiguous
    there = cn.conv_transpose(last, w, bias=b[:4], **options)
    here = cn.conv_transpose(first, w.transpose(3, 2, 0, 1), bias=b[:4], **options, layout="channels_first")
    np.testing.assert_array_equal(np.moveaxis(here, 1, -1), there)


@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
@pytest.mark.parametrize("function", [cn.conv, cn.conv_transpose])
def test_any_number_of_batch_axes(function: Any, layout: str) -> None:
    rng = np.random.default_rng(1)
    x, w = rng.integers(-5, 6, (2, 3, 4, 5, 5)), rng.integers(-5, 6, (5, 5, 3))
    if layout == "channels_last":
        w = w.transpose(2, 1, 0)
    many = function(x, w, layout=layout)
    assert many.shape[:3] == (2, 3, 4)
    for i in np.ndindex(2, 3, 4):
        np.testing.assert_array_equal(many[i], function(x[i], w, layout=layout))
    # Axes that do not lie in memory as one.
    np.testing.assert_array_equal(function(x.swapaxes(0, 2), w, layout=layout), many.swapaxes(0, 2))
    np.testing.assert_array_equal(function(x[:, ::2], w, layout=layout), many[:, ::2])
    np.testing.assert_array_equal(
        function(np.broadcast_to(x[:1], x.shape), w, layout=layout), np.broadcast_to(many[:1], many.shape)
    )


def test_matrices_are_not_multiplied_silently() -> None:
    for x, w in (((5, 5), (5, 5)), ((4, 3, 6), (6, 2))):
        with pytest.raises(ValueError, match=r"at least 3 axes are needed, .*; correlate and convolve filter without"):
            cn.conv(np.zeros(x), np.zeros(w))


# --------------------------------------------------------------------------------------------------- transpose


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 12, 123, 230, 300]),
        ({"stride": 2}, [1, 10, 102, 20, 203, 30, 300]),
        ({"stride": 2, "padding": 1}, [10, 102, 20, 203, 30]),
        # What is added at the end still gets the tail of the filter, where padding cut it off.
        ({"stride": 2, "padding": 1, "output_padding": 1}, [10, 102, 20, 203, 30, 300]),
        ({"stride": 2, "output_padding": 1}, [1, 10, 102, 20, 203, 30, 300, 0]),
        ({"stride": 2, "padding": [(0, 1)]}, [1, 10, 102, 20, 203, 30]),
        ({"stride": 2, "padding": "same"}, [1, 10, 102, 20, 203, 30]),
        ({"stride": 2, "padding": "same_lower"}, [10, 102, 20, 203, 30, 300]),
        ({"stride": 2, "padding": "same", "output_padding": 1}, [1, 10, 102, 20, 203, 30, 300]),
        ({"stride": 2, "padding": "same", "output_shape": (6,)}, [1, 10, 102, 20, 203, 30]),
        ({"stride": 2, "padding": "same", "output_shape": (5,)}, [10, 102, 20, 203, 30]),
        ({"stride": 2, "padding": 1, "output_shape": (6,)}, [10, 102, 20, 203, 30, 300]),
        ({"stride": 2, "padding": 1, "output_shape": 5}, [10, 102, 20, 203, 30]),
        ({"dilation": 2}, [1, 2, 13, 20, 130, 200, 300]),
        ({"dilation": 3, "output_padding": 2}, [1, 2, 3, 10, 20, 30, 100, 200, 300, 0, 0]),
        ({"stride": 4, "bias": [5]}, [6, 15, 105, 5, 7, 25, 205, 5, 8, 35, 305]),
        ({"stride": 4, "bias": [5], "output_padding": 1}, [6, 15, 105, 5, 7, 25, 205, 5, 8, 35, 305, 5]),
        ({"stride": 1, "padding": 2}, [123]),
    ],
)
def test_transposed(options: dict[str, Any], expected: list[int]) -> None:
    assert back([1, 2, 3], **options) == expected


@pytest.mark.parametrize("padding", ["same", "same_lower", "valid", 1, ((2, 0),)])
@pytest.mark.parametrize(("stride", "dilation", "k"), list(itertools.product([1, 2, 3, 5], [1, 2, 3], [1, 2, 3, 4])))
def test_the_adjoint_of_every_size(padding: Any, stride: int, dilation: int, k: int) -> None:
    """⟨conv(a, w), b⟩ = ⟨a, conv_transpose(b, w)⟩ for every size of a, the remainder of a stride included."""
    rng = np.random.default_rng(3)
    options: dict[str, Any] = {"stride": stride, "dilation": dilation, "padding": padding}
    w = rng.integers(-9, 10, (k, 2, 3))
    for n in range(dilation * (k - 1) + 1, 14):
        a = rng.integers(-9, 10, (2, n, 2))
        y = cn.conv(a, w, **options)
        b = rng.integers(-9, 10, y.shape)
        there = cn.conv_transpose(b, w, **options, output_shape=(n,))
        assert there.shape == a.shape
        assert np.sum(y * b) == np.sum(a * there)
        if padding in ("same", "same_lower"):
            plain = cn.conv_transpose(b, w, **options)
            assert plain.shape == (2, y.shape[1] * stride, 2)
        else:
            pads = {"valid": 0, 1: 2}.get(padding, 2)
            least = (y.shape[1] - 1) * stride - pads + dilation * (k - 1) + 1
            assert least <= n < least + stride
            assert least < 1 or cn.conv_transpose(b, w, **options).shape[1] == least
            more = cn.conv_transpose(b, w, **options, output_padding=n - least)
            np.testing.assert_array_equal(more, there)


# ------------------------------------------------------------------------------------------------------ dtypes

BF = np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize(
    ("x", "w", "bias", "result"),
    [
        ("f4", "f4", None, "f4"), ("f4", "f8", None, "f8"), ("f2", "f4", None, "f4"), ("i1", "i1", None, "i1"),
        ("i1", "u1", None, "i2"), ("i8", "f4", None, "f8"), ("i8", "u8", None, "f8"), ("f4", "c8", None, "c8"),
        ("f8", "c8", None, "c16"), ("i4", "i4", "f4", "f8"), ("f4", "f4", "f8", "f8"), (BF, BF, None, BF),
        (BF, "f4", None, "f4"), ("i1", BF, None, BF), (BF, BF, "f8", "f8"), (">f4", "<f4", None, "f4"),
        (">i2", ">i2", ">i2", "i2"), (">c16", "f4", None, "c16"),
    ],
)  # fmt: skip
def test_the_dtype_is_numpys(x: Any, w: Any, bias: Any, result: Any) -> None:
    for function in (cn.conv, cn.conv_transpose):
        b = None if bias is None else np.ones(1, bias)
        y = function(np.ones((4, 1), x), np.ones((3, 1, 1), w), bias=b)
        assert y.dtype == np.dtype(result)
        assert y.dtype.isnative
        assert y.astype(complex)[2, 0] == 3 + (bias is not None) if function is cn.conv_transpose else y.shape == (2, 1)


def test_integers_wrap_and_halves_are_held_in_float32() -> None:
    assert row(np.array([100, 100, 100], np.int8), np.ones(3, np.int8)) == [44]
    assert row(np.array([2**63, 2**63, 3], np.uint64), np.ones(3, np.uint64)) == [3]
    assert row(np.array([2**53, 1, -(2**53)]), [1, 1, 1]) == [1]
    # Products past the largest float16, and sums that float16 would round.
    assert row(np.array([2048, 1, -2048], np.float16), np.ones(3, np.float16)) == [1]
    assert row(np.array([300, -300, 1], np.float16), np.array([300, 300, 1], np.float16)) == [1]
    assert row(np.array([1e38, -1e38, 1], BF), np.ones(3, BF)) == [1]
    assert row(np.array([40000, 40000], np.float16), np.ones(2, np.float16)) == [np.inf]


def test_complex_numbers_are_multiplied_not_conjugated() -> None:
    assert row([1 + 2j, 3j], [1j, 2]) == [(1 + 2j) * 1j + 6j]
    assert back([1 + 2j], [1j, 2]) == [(1 + 2j) * 1j, 2 * (1 + 2j)]


def test_either_byte_order() -> None:
    """Also where both operands share one dtype object, which is not that of the machine."""
    for letter in "hiqefdFD":
        swapped = np.dtype(letter).newbyteorder()
        x, w = np.array([[1], [2], [3]], swapped), np.array([[[1]], [[10]]], swapped)
        assert x.dtype is w.dtype
        y = cn.conv(x, w, bias=np.array([5], swapped))
        assert y.dtype.isnative
        assert y.tolist() == [[26], [37]]


def test_lists_are_arrays() -> None:
    assert cn.conv([[1], [2], [3]], [[[1]], [[10]]]).tolist() == [[21], [32]]


# ------------------------------------------------------------------------------------------------------- zeros


@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
@pytest.mark.parametrize(("batch", "c_in", "c_out"), [(0, 2, 3), (2, 0, 3), (2, 2, 0), (0, 0, 0)])
def test_axes_of_size_0(layout: Any, batch: int, c_in: int, c_out: int) -> None:
    first = layout == "channels_first"
    x = np.ones((batch, c_in, 5) if first else (batch, 5, c_in))
    w = np.ones((c_out, c_in, 3) if first else (3, c_in, c_out))
    y = cn.conv(x, w, bias=np.full(c_out, 7.0), layout=layout)
    assert y.shape == ((batch, c_out, 3) if first else (batch, 3, c_out))
    assert (y == (7 + 3 * c_in)).all()
    z = cn.conv_transpose(y, w, bias=np.full(c_in, 7.0), layout=layout)
    assert z.shape == x.shape
    for wanted in (0, 1):
        assert cn.grad(lambda *a: cn.conv(*a, layout=layout).sum(), wanted)(x, w).shape == (x, w)[wanted].shape
    assert (
        cn.grad(lambda b: cn.conv(x, w, bias=b, layout=layout).sum())(np.zeros(c_out)).tolist() == [3.0 * batch] * c_out
    )


def test_a_spatial_axis_of_size_0() -> None:
    empty = np.zeros((2, 0, 1))
    assert cn.conv(empty, W[:, None, None], padding="same").shape == (2, 0, 1)
    assert cn.conv(empty, W[:, None, None], padding=2, bias=[4]).tolist() == [[[4], [4]]] * 2
    assert cn.conv_transpose(empty, W[:, None, None], padding="same", stride=3).shape == (2, 0, 1)
    assert cn.conv_transpose(empty, W[:, None, None], bias=[4]).tolist() == [[[4], [4]]] * 2
    assert cn.grad(lambda x: cn.conv(x, W[:, None, None], padding=2).sum())(empty).shape == (2, 0, 1)


# ---------------------------------------------------------------------------------------------------------- NaN


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("groups", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", ["f", "d", "e"])
def test_what_is_not_finite_stays_where_it_is(value: float, groups: int, dtype: str) -> None:
    """In the windows that hold it, in the outputs of its group, and in no others."""
    frame = conv_geometry((2, 19, 8), (3, 8 // groups, 16), 2, 1, 2, groups, "channels_last")
    for at in range(19):
        x, w, y = (np.ones(shape, dtype) for shape in (frame.x, frame.w, frame.y))
        x[1, at, 5] = value
        touched = ~np.isfinite(convolve(frame, "y", {"x": x, "w": w}))
        expected = np.zeros(frame.y, bool)
        group = 5 // (8 // groups)
        size = 16 // groups
        for j in range(frame.y[1]):
            expected[1, j, group * size : (group + 1) * size] = at - (2 * j - 1) in (0, 2, 4)
        np.testing.assert_array_equal(touched, expected)
        taps = ~np.isfinite(convolve(frame, "w", {"x": x, "y": y}))
        expected = np.zeros(frame.w, bool)
        for t in range(3):
            hit = (at + 1 - 2 * t) % 2 == 0 and 0 <= (at + 1 - 2 * t) // 2 < frame.y[1]
            expected[t, 5 % (8 // groups), group * size : (group + 1) * size] = hit
        np.testing.assert_array_equal(taps, expected)


@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_stays_in_its_windows_of_a_large_filter_bank(value: float, layout: Any) -> None:
    """Of many channels, where a faster method might compute several windows together."""
    x, w = np.ones((1, 13, 14, 64), np.float32), np.ones((3, 3, 64, 64), np.float32)
    for at in itertools.product((0, 5, 6, 12), (0, 6, 7, 13)):
        held = x.copy()
        held[(0, *at, 9)] = value
        if layout == "channels_last":
            y = cn.conv(held, w, padding=1)
        else:
            y = cn.conv(np.moveaxis(held, -1, 1), w.transpose(3, 2, 0, 1), padding=1, layout=layout)
            y = np.moveaxis(y, 1, -1)
        rows, columns = np.ogrid[:13, :14]
        near = (abs(rows - at[0]) <= 1) & (abs(columns - at[1]) <= 1)
        assert (np.isfinite(y[0]) == ~near[..., None]).all()
