"""What medians and modes mean, in numbers that can be checked by hand."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest

import cenote as cn

NAN = np.nan


def median(values: Any, window: Any = None, **options: Any) -> Any:
    x = np.asarray(values)
    return cn.median_pool(x, x.shape if window is None else window, **options).tolist()


def mode(values: Any, window: Any = None, **options: Any) -> Any:
    x = np.asarray(values)
    return cn.mode_pool(x, x.shape if window is None else window, **options).tolist()


# -------------------------------------------------------------------------------------------------------- median


def test_the_middle_element_or_the_mean_of_two() -> None:
    assert median([5, 1, 3]) == [3.0]
    assert median([5, 1, 3, 4]) == [3.5]
    assert median([[9, 9], [1, 1]]) == [[5.0]]
    assert median([5.0]) == [5.0]
    assert median([True, True, False, False, True, False], (2,)) == [1.0, 0.0, 0.5]


def test_padding_is_no_element() -> None:
    assert median([7, 1, 2], (3,), stride=1, padding=1) == [4.0, 2.0, 1.5]
    assert median([[1, 2], [3, 4]], (3, 3), padding=1) == [[2.5]]
    assert median([1, 2, 9], (2,), ceil_mode=True) == [1.5, 9.0]


def test_dtypes() -> None:
    for dtype in "?bBhHiIqQ":
        assert cn.median_pool(np.ones(3, dtype), (3,)).dtype == np.float64
    for dtype in "efd":
        assert cn.median_pool(np.ones(3, dtype), (3,)).dtype == np.dtype(dtype)
    with pytest.raises(TypeError, match="complex numbers have no order"):
        cn.median_pool(np.ones(3, complex), (3,))


def test_nan() -> None:
    x = [1.0, NAN, 3.0, 4.0, 5.0, 7.0, NAN, NAN]
    assert median(x[2:6], (2,)) == [3.5, 6.0]
    assert np.isnan(median(x, (4,))).all()
    assert median(x, (4,), nan="omit") == [3.0, 6.0]
    assert np.isnan(median([NAN, NAN], nan="omit")).all()
    assert median([NAN, 3.0, NAN], nan="omit") == [3.0]
    assert median([NAN, -NAN, 1.0], nan="omit", dtype=np.int8) == [1]


def test_windows_without_an_element() -> None:
    assert np.isnan(median([1.0, 2.0], (2,), padding=2)[0])
    assert np.isnan(median([1, 2], (2,), padding=2)[0])
    assert median([1, 2], (2,), padding=2, dtype=np.uint8) == [0, 2, 0]
    assert cn.median_pool(np.empty((0, 3)), (2, 2), padding=(1, 0)).shape == (1, 1)
    assert np.isnan(cn.median_pool(np.empty((0, 3)), (2, 2), padding=(1, 0))).all()
    assert cn.mode_pool(np.empty((0, 3), int), (2, 2), padding=(1, 0)).tolist() == [[0]]


def test_infinities_and_large_numbers() -> None:
    inf, large = np.inf, np.finfo(np.float64).max
    assert median([-inf, 1.0, inf]) == [1.0]
    assert median([inf, 1.0]) == [inf]
    assert median([inf, inf]) == [inf]
    assert np.isnan(median([inf, -inf]))
    assert median([large, large]) == [large]
    assert median([-large, large]) == [0.0]
    single = np.finfo(np.float32).max
    assert cn.median_pool(np.array([single, single]), (2,)).tolist() == [single]
    assert cn.median_pool(np.array([65504, 65504], np.float16), (2,)).tolist() == [65504.0]


def test_zeros_of_both_signs() -> None:
    """−0.0 sorts before +0.0, whatever the order of the elements."""
    for x in ([-0.0, 0.0, 0.0], [0.0, -0.0, 0.0], [0.0, 0.0, -0.0]):
        assert np.signbit(median(x)).tolist() == [False]
        assert np.signbit(median(np.negative(x))).tolist() == [True]
    assert np.signbit(median([-0.0, -0.0])).tolist() == [True]
    assert np.signbit(median([-0.0, 0.0])).tolist() == [False]
    assert np.signbit(median([-0.0])).tolist() == [True]


def test_large_integers_are_rounded_once() -> None:
    top = 2**64 - 1
    assert cn.median_pool(np.array([top, top], np.uint64), (2,)).tolist() == [float(top)]
    assert median([2**63 - 1, 2**63 - 2], dtype=np.int64) == [2**63 - 2]
    assert median([2**63 - 1, 2**63 - 3], dtype=np.int64) == [2**63 - 2]
    assert median([-(2**63), 2**63 - 1], dtype=np.int64) == [0]
    assert median([2**53 + 1, 2**53 + 3]) == [2**53 + 2]
    assert median([2**53 + 1]) == [2**53]  # ties to even
    # Halfway between two floats but for the last bit.
    assert median([2**60 + 2**36, 2**60 + 2**36 + 2], dtype=np.float32) == [float(2**60 + 2**37)]


def test_integer_results_are_rounded_to_even_and_clipped() -> None:
    assert median([1, 2, 2, 3, 4, 5], (2,), dtype=np.uint8) == [2, 2, 4]
    assert median([-1, -2, -3, -4], (2,), dtype=np.int8) == [-2, -4]
    assert median([300, 300, -5, -5], (2,), dtype=np.uint8) == [255, 0]
    assert median([0.5, 1.5, 2.5, NAN, np.inf], (1,), dtype=np.int16) == [0, 2, 2, 0, 2**15 - 1]


def test_against_the_standard_library() -> None:
    rng = np.random.default_rng(0)
    for dtype in (np.int32, np.float64):
        x = rng.integers(-50, 50, (9, 40)).astype(dtype)
        got = cn.median_pool(x, (3, 4), stride=2)
        for i, j in np.ndindex(got.shape):
            window = x[2 * i : 2 * i + 3, 2 * j : 2 * j + 4].ravel().tolist()
            assert got[i, j] == statistics.median(window)


# ---------------------------------------------------------------------------------------------------------- mode


def test_the_most_frequent_value_or_the_smallest_of_several() -> None:
    assert mode([5, 1, 5, 3]) == [5]
    assert mode([3, 1, 3, 1]) == [1]
    assert mode([4, 3, 2, 1]) == [1]
    assert mode([-1, -1, 7, 7]) == [-1]
    assert mode([[2, 2], [9, 9]]) == [[2]]
    assert mode([True, False]) == [False]
    assert mode([True, True, False]) == [True]
    big = np.array([2**64 - 1, 2**64 - 1, 0, 5], np.uint64)
    assert mode(big) == [2**64 - 1]


def test_padding_has_no_vote() -> None:
    assert mode([7, 7, 0], (3,), stride=1, padding=1) == [7, 7, 0]
    assert mode([7, 8], (2,), padding=2) == [0, 7, 0]
    assert mode([True, True], (2,), padding=2) == [False, True, False]
    assert mode([3, 3, 5], (2,), ceil_mode=True) == [3, 5]


def test_a_mode_keeps_its_dtype() -> None:
    for dtype in "?bBhHiIqQ":
        for other in (np.dtype(dtype), np.dtype(dtype).newbyteorder()):
            x = np.array([1, 0, 1]).astype(other)
            got = cn.mode_pool(x, (3,))
            assert got.dtype == np.dtype(dtype)
            assert got.tolist() == [1]


def test_floats_have_no_mode_and_no_derivative_of_one() -> None:
    message = r"mode_pool: x has dtype float64: bool or an integer type is needed, .* use median_pool"
    with pytest.raises(TypeError, match=message):
        cn.mode_pool(np.ones(3), (3,))
    with pytest.raises(TypeError, match=message):
        cn.grad(lambda x: cn.mode_pool(x, (3,)).sum())(np.ones(3))
    with pytest.raises(TypeError, match=message):
        cn.mode_pool(cn.Tensor(np.ones(3)), (3,))
    assert cn.mode_pool(cn.Tensor([1, 2, 2]), (3,)).constant
    (zero,) = cn.vjp(lambda x: cn.mode_pool(x, (3,)), np.array([1, 2, 2]))[1](np.array([1]))
    assert zero.tolist() == [0.0, 0.0, 0.0]


# --------------------------------------------------------------------------------------------------- derivatives


def slope(x: Any, **options: Any) -> Any:
    return cn.grad(lambda x: cn.median_pool(x, (len(x),), **options).sum())(np.asarray(x, float)).tolist()


def test_the_derivative_goes_to_the_middle() -> None:
    assert slope([5, 1, 3]) == [0, 0, 1]
    assert slope([5, 1, 3, 4]) == [0, 0, 0.5, 0.5]
    assert slope([2]) == [1]
    assert slope([2, 7]) == [0.5, 0.5]


def test_among_equals_to_the_first() -> None:
    assert slope([9, 3, 1, 3, 3]) == [0, 1, 0, 0, 0]
    assert slope([3, 3]) == [0.5, 0.5]  # a mean of two, which has this derivative everywhere
    assert slope([3, 3, 3, 3]) == [0.5, 0.5, 0, 0]
    assert slope([9, 3, 3, 1]) == [0, 0.5, 0.5, 0]
    assert slope([7, 3, 7, 3]) == [0.5, 0.5, 0, 0]
    assert slope([0.0, -0.0, -0.0]) == [1, 0, 0]
    assert slope([1, 0.0, -0.0, -1]) == [0, 0.5, 0.5, 0]


def test_with_nan_as_for_a_maximum() -> None:
    assert slope([1, NAN, 3, NAN]) == [0, 1, 0, 0]
    assert slope([1, NAN, 3, NAN], nan="omit") == [0.5, 0, 0.5, 0]
    assert slope([1, NAN, 3, 2], nan="omit") == [0, 0, 0, 1]
    assert slope([NAN, NAN], nan="omit") == [0, 0]


def test_windows_of_another_axis_order_have_their_own_first_element() -> None:
    x = np.array([[1.0, 5.0], [5.0, 5.0]])
    for axes, expected in (((0, 1), [[0, 0.5], [0.5, 0]]), ((1, 0), [[0, 0.5], [0.5, 0]])):
        assert cn.grad(lambda x, a=axes: cn.median_pool(x, (2, 2), axes=a).sum())(x).tolist() == expected
    x = np.array([[1.0, 5.0, 5.0], [5.0, 0.0, 9.0]])
    first: Any = {(0, 1): (0, 1), (1, 0): (1, 0)}
    for axes, where in first.items():
        shape = tuple(x.shape[a] for a in axes)
        got = cn.grad(lambda x, a=axes, s=shape: cn.median_pool(x[:, :], s, axes=a).sum())(x)
        assert got[where] == 0.5


def test_both_modes_and_a_dtype() -> None:
    x = np.array([4.0, 1.0, 3.0, 8.0], np.float32)
    y, dy = cn.jvp(lambda x: cn.median_pool(x, (2,), dtype=np.float64), (x,), (np.arange(4, dtype=np.float32),))
    assert y.tolist() == [2.5, 5.5]
    assert dy.tolist() == [0.5, 2.5]
    assert dy.dtype == np.float64
    with pytest.raises(TypeError, match="an integer result has no derivative"):
        cn.median_pool(cn.Tensor(x), (2,), dtype=np.int8)
    cn.check_grads(lambda x: cn.median_pool(x**3, (3,), stride=1, padding=1), (x.astype(float),), order=3)


def test_a_subnormal_derivative_keeps_its_last_bit() -> None:
    tiny = np.full(3, 5e-324)
    assert cn.jvp(lambda x: cn.median_pool(x, (3,)), (np.arange(3.0),), (tiny,))[1].tolist() == [5e-324]
    assert cn.vjp(lambda x: cn.median_pool(x, (3,)), np.arange(3.0))[1](tiny[:1])[0].tolist() == [0, 5e-324, 0]
