"""Rules of meaning, as literals: sizes, divisors, ties, padding, NaN, dtypes and the values that pin them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cenote as cn

NINE = np.arange(1.0, 10.0).reshape(3, 3)


@pytest.mark.parametrize(
    ("n", "k", "s", "p", "expected"),
    [
        (2, 1, 2, 0, 1),
        (4, 1, 2, 0, 2),
        (6, 4, 4, 0, 2),
        (7, 3, 3, 0, 3),
        (5, 2, 3, 1, 2),
        (2, 3, 3, 1, 1),
        (2, 3, 3, 0, 1),
    ],
)
def test_ceil_mode_sizes(n: int, k: int, s: int, p: int, expected: int) -> None:
    assert cn.output_shape((n,), (k,), stride=s, padding=p, ceil_mode=True) == (expected,)
    assert cn.max_pool(np.zeros(n), (k,), stride=s, padding=p, ceil_mode=True).shape == (expected,)


@pytest.mark.parametrize(
    ("n", "k", "s", "pads"),
    [
        (5, 2, 2, (0, 1)),
        (5, 3, 2, (1, 1)),
        (4, 3, 2, (0, 1)),
        (5, 2, 1, (0, 1)),
        (6, 2, 3, (0, 0)),
        (7, 1, 3, (0, 0)),
        (4, 2, 3, (0, 1)),
        (6, 1, 3, (0, 0)),
    ],
)
def test_same_padding(n: int, k: int, s: int, pads: tuple[int, int]) -> None:
    x = np.arange(1.0, n + 1)
    for name, pair in (("SAME", pads), ("same_lower", pads[::-1])):
        assert cn.output_shape((n,), (k,), stride=s, padding=name) == (-(-n // s),)
        np.testing.assert_array_equal(
            cn.sum_pool(x, (k,), stride=s, padding=name), cn.sum_pool(x, (k,), stride=s, padding=[pair])
        )


def test_an_empty_axis_stays_empty_under_same() -> None:
    assert cn.max_pool(np.zeros((2, 0)), (3,), stride=2, padding="same").shape == (2, 0)


@pytest.mark.parametrize(
    ("n", "k", "s", "p", "include", "exclude"),
    [
        (6, 4, 4, 0, [2.5, 5.5], [2.5, 5.5]),
        (7, 4, 4, 1, [1.5, 5.5], [2, 5.5]),
        (6, 3, 2, 1, [1, 3, 5, 3], [1.5, 3, 5, 6]),
        (5, 2, 3, 1, [0.5, 3.5], [1, 3.5]),
    ],
)
def test_the_divisor_of_an_average(n: int, k: int, s: int, p: int, include: list[float], exclude: list[float]) -> None:
    """ceil_mode's overhang is never counted, explicit padding only on request."""
    x = np.arange(1.0, n + 1)
    for flag, expected in ((True, include), (False, exclude)):
        got = cn.avg_pool(x, (k,), stride=s, padding=p, ceil_mode=True, count_include_pad=flag)
        np.testing.assert_array_equal(got, expected)


def test_a_given_divisor_wins() -> None:
    x = np.arange(1.0, 8.0)
    got = cn.avg_pool(x, (4,), stride=4, padding=1, ceil_mode=True, divisor=3, count_include_pad=False)
    np.testing.assert_allclose(got, [2, 22 / 3], rtol=1e-15)
    np.testing.assert_array_equal(cn.avg_pool(np.array([0, 2], "f"), (2,), divisor=1e-300), np.array([np.inf], "f"))


def test_padding_is_never_chosen() -> None:
    assert cn.max_pool(np.full((1, 1), -3.0), (2, 2), stride=1, padding=1).tolist() == [[-3, -3], [-3, -3]]
    values, where = cn.max_pool(np.array([-np.inf]), (2,), stride=1, padding=1, return_indices=True)
    assert values.tolist() == [-np.inf, -np.inf]
    assert where.tolist() == [0, 0]
    values, where = cn.max_pool(np.zeros(3, np.uint8), (3,), stride=1, padding=2, return_indices=True)
    assert where.tolist() == [0, 0, 0, 1, 2]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("bool", False, True),
        ("int8", -128, 127),
        ("uint16", 0, 65535),
        ("int64", -(2**63), 2**63 - 1),
        ("float32", -np.inf, np.inf),
        ("float16", -np.inf, np.inf),
    ],
)
def test_a_window_without_a_element(dtype: str, low: Any, high: Any) -> None:
    x = np.ones(1, dtype)
    for pool, nothing in ((cn.max_pool, low), (cn.min_pool, high)):
        values, where = pool(x, (1,), stride=1, padding=1, return_indices=True)
        assert values.tolist() == [nothing, 1, nothing]
        assert values.dtype == x.dtype
        assert where.tolist() == [-1, 0, -1]
    assert cn.sum_pool(x, (1,), padding=1).tolist() == [0, 1, 0]
    assert cn.lp_pool(x, (1,), padding=1).tolist() == [0, 1, 0]
    assert cn.lp_pool(x, (1,), padding=1, p=np.inf).tolist() == [0, 1, 0]
    np.testing.assert_array_equal(cn.avg_pool(x, (1,), padding=1), [0, 1, 0])
    np.testing.assert_array_equal(cn.avg_pool(x, (1,), padding=1, count_include_pad=False), [np.nan, 1, np.nan])
    np.testing.assert_array_equal(cn.smooth_max_pool(x, (1,), padding=1, pad_value=None), [-np.inf, 1, -np.inf])
    np.testing.assert_array_equal(cn.smooth_max_pool(x, (1,), padding=1, pad_value=None, beta=-1), [np.inf, 1, np.inf])


def test_ties_go_to_the_first_element_in_row_major_order() -> None:
    x = np.array([[1, 3], [3, 3]])
    assert cn.max_pool(x, (2, 2), return_indices=True)[1].tolist() == [[1]]
    # Over axes (1, 0), row-major runs down the columns, and the flat index counts them.
    assert cn.max_pool(x, (2, 2), axes=(1, 0), return_indices=True)[1].tolist() == [[1]]
    zeros = np.array([[-1.0, 0.0], [-0.0, -1.0]])
    assert np.signbit(cn.max_pool(zeros, (2, 2))).tolist() == [[False]]
    assert np.signbit(cn.max_pool(zeros, (2, 2), axes=(1, 0))).tolist() == [[True]]
    assert np.signbit(cn.max_pool(zeros, (2, 2), ties="split")).tolist() == [[False]]


def test_nan() -> None:
    x = np.array([1, np.nan, 5, np.nan, 2])
    values, where = cn.max_pool(x, (5,), return_indices=True)
    assert np.isnan(values).all()
    assert where.tolist() == [1]
    assert cn.max_pool(x, (5,), nan="omit", return_indices=True)[1].tolist() == [2]
    only = np.array([np.nan, np.nan])
    for pool in (cn.max_pool, cn.min_pool, cn.sum_pool, cn.avg_pool):
        assert np.isnan(pool(only, (2,), nan="omit")).all()
        assert np.isnan(pool(only, (2,), padding=1, nan="omit")).all()
    assert cn.max_pool(only, (2,), nan="omit", return_indices=True)[1].tolist() == [-1]
    # A NaN is neither added nor counted; padding is counted by default.
    y = np.array([np.nan, 4.0, 6.0])
    assert cn.avg_pool(y, (3,), nan="omit").tolist() == [5]
    assert cn.avg_pool(y, (2,), stride=2, padding=1, nan="omit", ceil_mode=True).tolist()[1:] == [5]
    assert np.isnan(cn.avg_pool(y, (2,), padding=1, nan="omit")[0])
    assert cn.avg_pool(y, (4,), padding=1, nan="omit").tolist() == [10 / 3]
    assert cn.avg_pool(y, (4,), padding=1, nan="omit", count_include_pad=False).tolist() == [5]
    z = np.array([1 + 1j, complex(np.nan, 2)])
    assert cn.sum_pool(z, (2,), nan="omit").tolist() == [1 + 1j]
    assert cn.avg_pool(z, (2,), nan="omit").tolist() == [1 + 1j]


def test_sums_neither_drift_nor_wrap() -> None:
    for window in range(1, 40):
        assert (cn.avg_pool(np.ones(100, np.float32), (window,), stride=1) == 1).all()
    assert cn.avg_pool(np.ones((64, 64), np.float16), (64, 64)).item() == 1
    assert cn.avg_pool(np.full(4096, 40000, np.float16), (4096,)).item() == 40000
    assert cn.global_avg_pool(np.ones(2**25, np.float32), axes=0).item() == 1
    assert cn.sum_pool(np.full(4, 100, np.int8), (4,)).item() == 400
    assert cn.avg_pool(np.full(2, 100, np.int8), (2,)).item() == 100
    assert cn.sum_pool(np.full(3, 2**63, np.uint64), (3,)).item() == 2**63
    spike = np.zeros(50, np.float32)
    spike[3] = 1e30
    assert (cn.sum_pool(spike, (4,), stride=1)[4:] == 0).all()
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    np.testing.assert_array_equal(cn.avg_pool(x, (1,)), x)
    np.testing.assert_array_equal(cn.sum_pool(x, (37,), stride=5), cn.sum_pool(x, (37,), stride=1)[::5])


def test_smooth_max_golden_values() -> None:
    np.testing.assert_allclose(
        cn.smooth_max_pool(NINE, (2, 2), stride=1, beta=0.5),
        [[6.3509805243, 7.3509805243], [9.3509805243, 10.3509805243]],
        rtol=1e-10,
    )
    np.testing.assert_allclose(
        cn.smooth_max_pool(NINE, (2, 2), stride=1, beta=0.5, padding=1)[0],
        [3.0731843725, 3.7022577756, 4.4384006418, 4.0249171561],
        rtol=1e-10,
    )
    np.testing.assert_allclose(
        cn.smooth_max_pool(NINE, (2, 2), stride=1, beta=-0.5),
        [[-0.3509805243, 0.6490194757], [2.6490194757, 3.6490194757]],
        rtol=1e-9,
    )
    np.testing.assert_allclose(
        cn.smooth_max_pool(-NINE, (2, 2), stride=2, padding=1),
        [[1.2142833004, 0.7816718231], [0.7027150229, -4.6381509609]],
        rtol=1e-10,
    )
    far = np.array([1e20, -1e20])
    assert cn.smooth_max_pool(far, (2,), beta=1e20).item() == pytest.approx(1e20, rel=1e-15)
    assert cn.smooth_max_pool(far, (2,), beta=-1e20).item() == pytest.approx(-1e20, rel=1e-15)
    for huge in (1e300, -1e300, 1.5e308, -1.5e308):
        assert cn.smooth_max_pool(np.array([huge, huge]), (2,)).item() == pytest.approx(huge, rel=1e-15)
    assert cn.smooth_max_pool(np.array([1e300, 0.0]), (2,), beta=1e8).item() == pytest.approx(1e300, rel=1e-15)
    assert cn.smooth_max_pool(np.array([np.inf, 1.0]), (2,)).item() == np.inf
    assert cn.smooth_max_pool(np.array([-np.inf, -np.inf]), (2,)).item() == -np.inf
    assert np.isnan(cn.smooth_max_pool(np.array([np.inf, np.nan]), (2,)).item())


def test_smooth_max_leaves_the_overhang_out() -> None:
    # One element, one padded element, two elements of overhang.
    got = cn.smooth_max_pool(np.array([0.0, 0, 0, 0, 0]), (4,), stride=4, padding=[(0, 1)], ceil_mode=True)
    np.testing.assert_allclose(got, [np.log(4), np.log(2)], rtol=1e-15)


def test_lp_is_a_norm() -> None:
    x = np.array([3.0, -4.0])
    assert cn.lp_pool(x, (2,)).item() == 5
    assert cn.lp_pool(x, (2,), p=1).item() == 7
    assert cn.lp_pool(x, (2,), p=np.inf).item() == 4
    assert cn.lp_pool(x, (2,), p=3).item() == pytest.approx(91 ** (1 / 3), rel=1e-15)
    assert cn.lp_pool(np.full(2, 1e300), (2,)).item() == pytest.approx(2**0.5 * 1e300, rel=1e-15)
    assert cn.lp_pool(np.full(2, 1e-300), (2,)).item() == pytest.approx(2**0.5 * 1e-300, rel=1e-15)
    assert cn.lp_pool(np.full(4, 5e-324), (4,)).item() == 1e-323
    for p in (1e3, 1e15, 1e17, 1e18, 1e308):
        assert cn.lp_pool(x, (2,), p=p).item() == pytest.approx(4, rel=1e-14)
    assert cn.lp_pool(np.array([1e30, 1e30], "f"), (2,)).item() == pytest.approx(2**0.5 * 1e30, rel=1e-7)
    assert cn.lp_pool(np.array([-128, -128], "b"), (2,), p=np.inf).item() == 128
    assert cn.lp_pool(np.ones(5), (2,), ceil_mode=True).tolist() == [2**0.5, 2**0.5, 1]


def test_adaptive_bins() -> None:
    np.testing.assert_array_equal(cn.adaptive_avg_pool(np.arange(1.0, 6), (3,)), [1.5, 3, 4.5])
    assert cn.adaptive_max_pool([1, 2, 3], (5,)).tolist() == [1, 2, 2, 3, 3]
    values, where = cn.adaptive_max_pool(NINE, (2, None), return_indices=True)
    assert values.tolist() == [[4, 5, 6], [7, 8, 9]]
    assert where.tolist() == [[3, 4, 5], [6, 7, 8]]
    assert cn.adaptive_avg_pool(NINE, 2, axes=0).tolist() == [[2.5, 3.5, 4.5], [5.5, 6.5, 7.5]]
    assert cn.adaptive_max_pool(NINE, (0, 2)).shape == (0, 2)
    for n in range(1, 30):
        for o in range(1, 40):
            x = np.random.default_rng(n).standard_normal(n)
            bins = [x[i * n // o : -(-(i + 1) * n // o)] for i in range(o)]
            np.testing.assert_array_equal(cn.adaptive_max_pool(x, (o,)), [b.max() for b in bins])
            np.testing.assert_allclose(cn.adaptive_avg_pool(x, (o,)), [b.mean() for b in bins], rtol=1e-12, atol=1e-15)


def test_global_pooling_keeps_the_axes() -> None:
    x = np.random.default_rng(1).standard_normal((2, 5, 6, 3))
    assert cn.global_max_pool(x, axes=(1, 2)).shape == (2, 1, 1, 3)
    np.testing.assert_array_equal(cn.global_max_pool(x, axes=(1, 2)), x.max((1, 2), keepdims=True))
    np.testing.assert_allclose(cn.global_avg_pool(x, axes=-1), x.mean(-1, keepdims=True), rtol=1e-14)


def test_unpool() -> None:
    x = np.random.default_rng(2).standard_normal((2, 3, 6, 8))
    values, where = cn.max_pool(x, (2, 2), return_indices=True)
    back = cn.max_unpool(values, where, (2, 2))
    assert back.shape == x.shape
    np.testing.assert_array_equal(back[back != 0], x[back != 0])
    assert np.count_nonzero(back) == values.size
    # Axes in another order: the indices are flat in that order.
    values, where = cn.max_pool(x, (2, 3), axes=(3, 1), return_indices=True)
    np.testing.assert_array_equal(
        cn.max_pool(cn.max_unpool(values, where, (2, 3), axes=(3, 1)), (2, 3), axes=(3, 1)), np.maximum(values, 0)
    )
    twice = cn.max_unpool([1, 2, 3], [1, 1, -1], (1,), output_shape=(4,))
    assert twice.tolist() == [0, 2, 0, 0]
    assert cn.max_unpool(np.zeros((0, 2)), np.zeros((0, 2), int), (2,)).shape == (0, 4)
    half = np.array([1, 2], ml_dtypes.bfloat16)
    assert cn.max_unpool(half, [0, 3], (2,)).tolist() == [1, 0, 0, 2]
    assert cn.max_unpool(np.array([1 + 2j]), np.array([1], np.uint8), (2,)).tolist() == [0, 1 + 2j]


def test_padding_larger_than_anything() -> None:
    far = 10**12
    x = np.array([3.0, 1.0, 2.0])
    window: dict[str, Any] = {"window": (far,), "stride": far, "padding": [(far - 1, far)]}
    values, where = cn.max_pool(x, **window, return_indices=True)
    assert values.tolist() == [3, 2]
    assert where.tolist() == [0, 2]
    assert cn.sum_pool(x, **window).tolist() == [3, 3]
    assert cn.avg_pool(x, **window, count_include_pad=False).tolist() == [3, 1.5]
    assert cn.lp_pool(x, **window, p=1).tolist() == [3, 3]
    assert cn.smooth_max_pool(x, **window, pad_value=None)[0] == 3


def test_indices_beyond_float32_and_32_bits() -> None:
    n = 2**24 + 1
    x = np.zeros(n, np.float32)
    x[-1] = 1
    assert cn.max_pool(x, (n,), return_indices=True)[1].tolist() == [n - 1]
    wide = np.broadcast_to(np.uint8(1), (2**32 + 5,))
    where = cn.max_pool(wide, (2,), stride=2**31, return_indices=True)[1]
    assert where.tolist() == [0, 2**31, 2**32]


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 4, 4), (0, 0, 4, 4)])
def test_empty_batches(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape)
    expected = (*shape[:-2], 2, 2)
    assert cn.max_pool(x, (2, 2)).shape == expected
    assert [part.shape for part in cn.min_pool(x, (2, 2), return_indices=True)] == [expected, expected]
    for pool in (cn.sum_pool, cn.avg_pool, cn.lp_pool, cn.smooth_max_pool):
        assert pool(x, (2, 2)).shape == expected
    assert cn.pool(x, (2, 2), 1, np.multiply).shape == expected


def test_a_whole_axis_of_padding() -> None:
    x = np.zeros((2, 0))
    assert cn.max_pool(x, (2,), padding=1).tolist() == [[-np.inf], [-np.inf]]
    assert cn.sum_pool(x, (2,), padding=1).tolist() == [[0], [0]]


def test_kinds_of_array() -> None:
    assert type(cn.max_pool([[1, 2], [3, 4]], (2, 2))) is np.ndarray
    subclass = type("Image", (np.ndarray,), {})
    assert type(cn.max_pool(np.ones((2, 2)).view(subclass), (2, 2))) is np.ndarray
    assert cn.max_pool(np.array([1, 2], ">i4"), (2,)).dtype == np.dtype("i4")
    x = np.random.default_rng(0).standard_normal((4, 6, 8))
    assert cn.max_pool(x.T, (2, 2)).T.flags.c_contiguous  # the result lies in memory as the input does
    assert cn.max_pool(x, (2, 2)).flags.c_contiguous
    assert x.flags.writeable


def test_chunks_give_the_same_bits() -> None:
    """A window sees the same elements in a chunk as in the whole, and nothing else decides its value."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((40, 90)).astype(np.float32) * np.float32(10.0) ** rng.integers(-20, 20, (40, 90))
    k = 23
    for pool in (cn.max_pool, cn.min_pool, cn.sum_pool, cn.avg_pool, cn.lp_pool, cn.smooth_max_pool):
        whole = pool(x, (3, k), stride=1)
        for start in range(0, 90 - k + 1, 17):
            stop = min(start + 17, 90 - k + 1)
            part = pool(x[:, start : stop + k - 1], (3, k), stride=1)
            assert part.tobytes() == np.ascontiguousarray(whole[:, start:stop]).tobytes(), pool.__name__
