"""Derivatives of derivatives where they are easily lost: constants of one level that vary at another, all-zero and
infinite windows, windows of very different scale, dtypes with a small range."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import cenote as cn


def second(f: Callable[[Any], Any], x: Any, t: Any) -> Any:
    """The derivative of the gradient of f(x).sum() along t."""
    return cn.jvp(lambda x: cn.grad(lambda x: f(x).sum())(x), (x,), (t,))[1]


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (partial(cn.sum_pool, nan="omit"), [3, 7]),
        (partial(cn.avg_pool, nan="omit"), [1.5, 3.5]),
        (partial(cn.max_pool, ties="split"), [2, 3.5]),
    ],
)
def test_a_constant_of_one_level_may_vary_at_another(f: Callable[..., Any], expected: list[float]) -> None:
    w = np.array([1.0, 2, 3, 4])

    def outer(a: Any) -> Any:
        inner = cn.value_and_grad(lambda x: (cn.vjp(lambda z: f(z, (2,)), x)[1](a)[0] * w).sum())
        return inner(np.array([1.0, 2, 3, 3]))[0]

    np.testing.assert_array_equal(cn.grad(outer)(np.array([1.0, 2.0])), expected)


def test_a_norm_of_zeros_has_no_second_derivative() -> None:
    for p in (1.5, 2.0, 3.0):
        got = second(partial(cn.lp_pool, window=(2,), p=p), np.zeros(2), np.array([1.0, 2.0]))
        np.testing.assert_array_equal(got, 0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_norms_of_very_different_size(dtype: str) -> None:
    small, large = {"float16": (0.01, 3e4), "float32": (1e-18, 1e18), "float64": (1e-80, 1e80)}[dtype]
    x = np.array([small, 2 * small, large, large], dtype)
    t = np.array([small, 0, 0, 0], dtype)
    got = second(lambda x: cn.lp_pool(x, (2,)), x, t)
    # With x = (a, 2a) and t = (a, 0): the Hessian (I − xxᵀ/y²)/y along t is (4/5, −2/5)/√5.
    np.testing.assert_allclose(got, np.array([0.8, -0.4, 0, 0]) / np.sqrt(5), rtol=1e-2 if dtype == "float16" else 1e-6)


def hessian(x: Any, v: Any, p: float) -> Any:
    """That of the p-norm of one window along v, in a wider range."""
    x, v = x.astype(np.longdouble), v.astype(np.longdouble)
    y = np.max(np.abs(x))
    y = y * np.sum(np.abs(x / y) ** p) ** (1 / np.longdouble(p))
    slope = np.sign(x) * np.abs(x / y) ** (p - 1)
    with np.errstate(divide="ignore"):
        curve = np.where(x == 0, 0 if p != 2 else 1, np.abs(x / y) ** (p - 2))
    return (p - 1) / y * (curve * v - slope * np.sum(slope * v))


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0, 4.5])
@pytest.mark.parametrize("stride", [1, 3])
def test_norms_of_extreme_windows_next_to_each_other(p: float, stride: int) -> None:
    """Windows of 10²⁰⁰, 1 and 10⁻²⁰⁰ in one array, or in one window; tangents of the size of their elements."""
    rng = np.random.default_rng(3)
    size = np.repeat([1e200, 1e-200, 1.0, 1e-308, 1e150, 1e307], 3)
    x, t = rng.standard_normal((2, size.size)) * size
    x[4] = 0  # among elements of 10⁻²⁰⁰
    expected = np.zeros(x.size, np.longdouble)
    for j in range(0, x.size - 2, stride):
        expected[j : j + 3] += hessian(x[j : j + 3], t[j : j + 3], p)

    def f(x: Any) -> Any:
        return cn.lp_pool(x, (3,), stride=stride, p=p)

    reverse = cn.grad(lambda x: (cn.grad(lambda x: f(x).sum())(x) * t).sum())(x)
    largest = np.maximum.reduce([np.abs(np.roll(expected, k)) for k in range(-2, 3)])
    for got in (second(f, x, t), reverse):
        assert np.max(np.abs(got - expected) / largest) < 1e-12


@pytest.mark.parametrize("scale", [1e-100, 1e150])
def test_third_derivatives_of_norms_scale_with_the_data(scale: float) -> None:
    """The norm is homogeneous: its third derivative along t and u of the size of x does not depend on that size."""
    rng = np.random.default_rng(4)
    x, t, u = rng.standard_normal((3, 8))
    sizes = np.repeat([1.0, scale], 4)

    def third(x: Any, t: Any, u: Any) -> Any:
        f = cn.grad(lambda x: cn.lp_pool(x, (4,), p=3).sum())
        return cn.jvp(lambda x: cn.jvp(f, (x,), (t,))[1], (x,), (u,))[1]

    np.testing.assert_allclose(third(x * sizes, t * sizes, u * sizes), third(x, t, u), rtol=1e-10)


def test_infinities_share_their_weights_whatever_their_neighbours_do() -> None:
    for x in ([np.inf, np.inf], [-np.inf, -np.inf]):
        got = second(lambda x: cn.smooth_max_pool(x, (2,), pad_value=None), np.array(x), np.array([1.0, 0.0]))
        np.testing.assert_array_equal(got, 0)


def test_averages_of_half_precision_do_not_overflow() -> None:
    x, t = np.ones(100, np.float16), np.full(100, 1000, np.float16)
    assert cn.jvp(lambda x: cn.avg_pool(x, (100,), nan="omit"), (x,), (t,))[1] == 1000
    how: dict[str, Any] = {"padding": ((100, 0),), "count_include_pad": False}
    np.testing.assert_array_equal(cn.jvp(lambda x: cn.avg_pool(x, (100,), **how), (x,), (t,))[1], [0, 1000])


def test_the_largest_magnitude_in_another_dtype() -> None:
    x = np.array([1, 1.0001, -3e5, 5e5])
    for dtype in (np.float16, np.float32, np.float64):
        with np.errstate(over="ignore"):
            y, pull = cn.vjp(lambda x, dtype=dtype: cn.lp_pool(x, (2,), p=np.inf, dtype=dtype), x)
        assert y.dtype == dtype
        (dx,) = pull(np.ones(2, dtype))
        assert dx.dtype == np.float64
        np.testing.assert_array_equal(dx, [0, 1, 0, 1])


def test_tangents_of_a_convolution_keep_their_own_range() -> None:
    w = np.full((1, 1, 1), 1e5, np.float32)
    y, pull = cn.vjp(lambda x: cn.conv(x * 1e-5, w, dtype=np.float16), np.ones((3, 1), np.float32))
    np.testing.assert_allclose(pull(np.ones(y.shape, np.float16))[0], 1, rtol=1e-6)
    assert pull(np.ones(y.shape, np.float16))[0].dtype == np.float32


def test_a_bias_of_the_other_byte_order() -> None:
    x, w = np.ones((3, 1)), np.ones((1, 1, 1))
    dy = cn.jvp(lambda b: cn.conv(x, w, bias=b), (np.ones(1, ">f8"),), (np.ones(1),))[1]
    assert dy.dtype.isnative
    np.testing.assert_array_equal(dy, 1)


def test_integers_have_no_gradient() -> None:
    for x in (np.array([1, 2]), 3, [1, 2], np.array([True])):
        with pytest.raises(TypeError, match=r"grad: argument 0 has dtype \w+: integers have no derivative"):
            cn.grad(lambda x: (x * 1.0).sum())(x)


def test_integers_wrap_in_a_fold_on_a_tensor_too() -> None:
    x = np.full(4, 100, np.int8)
    assert cn.pool(x, (4,), 0, np.add) == cn.pool(cn.Tensor(x), (4,), 0, np.add).data == -112


def test_sums_of_small_integers_in_a_wider_dtype() -> None:
    x, w = np.full((3, 1), 100, np.int8), np.full((3, 1, 1), 100, np.int8)
    assert cn.conv(x, w, dtype=np.int32) == 30000
    assert cn.conv(x, w, dtype=np.uint8) == 255
    half = np.full((3, 1), 300, np.float16), np.full((3, 1, 1), 300, np.float16)
    assert cn.conv(*half, dtype=np.float32) == 270000
