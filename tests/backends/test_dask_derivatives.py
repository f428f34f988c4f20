"""Derivatives of functions of dask arrays: lazy, with the bits of those of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cases import FLOATS, Case, cases, examples, same_bits
from cenote.autodiff.tensor import FUNCTIONS, UFUNCS
from chunked import as_tuple, chunked, close, computed, convolutions
from vocabulary import DIFFERENTIABLE, MODES, derivative, one_nan

SEEDS = st.integers(0, 2**32)
# dask's own expressions cannot yet add arrays of different chunks, which second derivatives of norms need.
ORDERS = MODES[1:3] if da.array_expr_enabled() else MODES[1:]


@examples(300)
@given(cases(FLOATS), st.sampled_from(DIFFERENTIABLE), st.sampled_from(ORDERS), SEEDS)
def test_derivatives_have_the_bits_of_numpy(case: Case, name: str, mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    plain = derivative(case, name, mode)
    lazy = derivative(case, name, mode, lift=lambda x: chunked(x, rng))
    if plain is None or lazy is None:
        return
    with np.errstate(all="ignore"):
        expected = plain(case.x)
    found = lazy(chunked(case.x, rng))
    assert isinstance(found, da.Array)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert same_bits(one_nan(computed(found)[0]), one_nan(expected))


@examples(100)
@given(convolutions(), st.sampled_from(["vjp", "jvp"]), SEEDS)
def test_convolution(case: Any, mode: str, seed: int) -> None:
    x, w, bias, how, transposed = case
    if x.dtype == np.int32:
        return
    function: Any = cn.conv_transpose if transposed else cn.conv

    def f(x: Any, w: Any, bias: Any) -> Any:
        return function(x, w, bias=bias, **how)

    def whole(*arrays: Any) -> Any:
        if mode == "vjp":
            y, pull = cn.vjp(f, *arrays)
            return pull(np.ones(y.shape, y.dtype))
        return cn.jvp(f, arrays, tuple(np.ones(a.shape, a.dtype) for a in arrays))[1]

    try:
        expected = as_tuple(whole(x, w, bias))
    except ValueError:
        return
    rng = np.random.default_rng(seed)
    found = as_tuple(whole(*(chunked(a, rng) for a in (x, w, bias))))
    assert all(isinstance(a, da.Array) for a in found)
    for got, real in zip(computed(*found), expected, strict=True):
        assert close(got, real)


@pytest.mark.parametrize("g", [complex(np.inf, -0.0), complex(-0.0, np.inf), complex(1, np.nan)])
def test_the_cotangent_of_a_sum_is_repeated(g: complex) -> None:
    """Not multiplied: an infinite part would make NaN of the other one."""
    x = np.ones((3, 4), complex)
    expected = cn.vjp(np.sum, x)[1](np.array(g))[0]
    found = cn.vjp(np.sum, da.from_array(x, chunks=2))[1](da.from_array(np.array(g)))[0]
    assert same_bits(computed(found)[0], expected)


@examples(60)
@given(SEEDS, st.sampled_from(["full", "same", "valid"]))
def test_filtering_and_unpooling(seed: int, mode: Any) -> None:
    rng = np.random.default_rng(seed)
    x, k = rng.standard_normal(tuple(rng.integers(4, 9, 3))), rng.standard_normal((2, 3))
    y, indices = rng.standard_normal((2, 3, 4)), rng.integers(-1, 30, (2, 3, 4))
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (lambda x, k: cn.correlate(x, k, mode=mode, stride=2, axes=(1, 2)), (x, k)),
        (lambda y: cn.max_unpool(y, indices, (2, 2), output_shape=(5, 6)), (y,)),
    ]
    for f, arrays in calls:
        value, pull = cn.vjp(f, *arrays)
        lazy, lazy_pull = cn.vjp(f, *(chunked(a, rng) for a in arrays))
        g = rng.standard_normal(value.shape)
        for got, real in zip(computed(lazy, *lazy_pull(g)), (value, *pull(g)), strict=True):
            np.testing.assert_allclose(got, real, rtol=1e-10, atol=1e-10)


# -------------------------------------------------------------------- lazily, with functions of dask's own between


def never(block: Any) -> Any:
    raise AssertionError("it was computed")


def untouchable(shape: tuple[int, ...]) -> Any:
    x = da.zeros(shape, chunks=3)
    return x.map_blocks(never, meta=x._meta)


def test_nothing_is_computed_and_plain_cotangents_become_lazy() -> None:
    x = untouchable((8, 8))

    def f(x: Any) -> Any:
        return cn.smooth_max_pool(np.tanh(cn.max_pool(x, (2, 2), stride=1)) * 2 - 1.5, (2, 2), padding=1)

    y, pull = cn.vjp(f, x)
    results = [y, *pull(np.ones((4, 4))), *pull(da.ones((4, 4), chunks=2)), *cn.jvp(f, (x,), (np.ones((8, 8)),))]
    results += [cn.linearize(f, x)[1](x), cn.grad(lambda x: (cn.lp_pool(x, (2, 2)) ** 2).mean())(x)]
    assert all(isinstance(result, da.Array) for result in results)
    with pytest.raises(AssertionError, match="it was computed"):
        computed(results[1])


def test_a_constant_has_lazy_zeros() -> None:
    x, i = untouchable((8, 8)), da.ones((4, 4), chunks=3, dtype=np.int64)
    _, pull = cn.vjp(lambda x, i: (cn.max_pool(i, (2, 2)) * 2.0, cn.max_pool(x, (4, 4))), x, i)
    by_x, by_i = pull((np.ones((2, 2)), np.ones((2, 2))))
    assert isinstance(by_x, da.Array)
    assert isinstance(by_i, da.Array)
    assert (by_i.dtype, by_i.chunks) == (np.dtype(np.float64), i.chunks)
    np.testing.assert_array_equal(computed(by_i)[0], np.zeros((4, 4)))


def test_the_value_and_gradient_of_a_scalar() -> None:
    x = np.random.default_rng(0).standard_normal((9, 9))

    def f(x: Any) -> Any:
        return np.exp(cn.avg_pool(x, (3, 3)) / 2).sum()

    value, gradient = cn.value_and_grad(f)(da.from_array(x, chunks=4))
    expected = cn.value_and_grad(f)(x)
    np.testing.assert_allclose(computed(value)[0], expected[0], rtol=1e-14)
    np.testing.assert_allclose(computed(gradient)[0], expected[1], rtol=1e-14)


def test_the_gradient_of_sums() -> None:
    """Also where dask's arrays are expressions, which have no broadcast_to and cannot be reshaped."""
    x = np.random.default_rng(0).standard_normal((9, 8))

    def f(x: Any) -> Any:
        columns = cn.max_pool(x, (3, 2)).sum(axis=0, keepdims=True)
        return (columns * 2).sum(axis=0).sum()

    gradient = cn.grad(f)(da.from_array(x, chunks=4))
    assert isinstance(gradient, da.Array)
    np.testing.assert_array_equal(computed(gradient)[0], cn.grad(f)(x))


@pytest.mark.parametrize("fn", [np.multiply, np.hypot, cn.reducer(np.multiply, lambda a, b: (b, a))])
def test_the_generic_pool(fn: Any) -> None:
    x = np.random.default_rng(1).standard_normal((9, 10)) + 3
    rng = np.random.default_rng(2)

    def f(x: Any) -> Any:
        return cn.pool(x, (2, 3), 1.0, fn, stride=2, padding=1)

    y, pull = cn.vjp(f, x)
    lazy, lazy_pull = cn.vjp(f, chunked(x, rng))
    g = rng.standard_normal(y.shape)
    assert same_bits(computed(lazy)[0], y)
    assert same_bits(computed(*lazy_pull(g))[0], pull(g)[0])
    t = rng.standard_normal(x.shape)
    assert same_bits(computed(cn.jvp(f, (chunked(x, rng),), (t,))[1])[0], cn.jvp(f, (x,), (t,))[1])


@pytest.mark.parametrize("fn", [np.multiply, np.hypot, cn.reducer(np.multiply, lambda a, b: (b, a))])
def test_the_generic_pool_to_every_order(fn: Any) -> None:
    x = np.random.default_rng(3).standard_normal((7, 8)) + 3
    rng = np.random.default_rng(4)
    g, t = rng.standard_normal((3, 4)), rng.standard_normal(x.shape)

    def f(x: Any) -> Any:
        return cn.pool(x, (2, 3), 1.0, fn, stride=2, padding=((0, 0), (1, 1)))

    def pulled(x: Any, g: Any) -> Any:
        return cn.vjp(f, x)[1](g)[0]

    def pushed(x: Any, t: Any) -> Any:
        return cn.jvp(f, (x,), (t,))[1]

    lazy_x, lazy_g, lazy_t = (chunked(a, rng) for a in (x, g, t))
    orders: list[Callable[..., Any]] = [
        lambda x, g, t: cn.vjp(pulled, x, g)[1](t),  # reverse over reverse, by both arguments
        lambda x, g, t: cn.jvp(pulled, (x, g), (t, g))[1],
        lambda x, g, t: cn.vjp(pushed, x, t)[1](g),
        lambda x, g, t: cn.jvp(pushed, (x, t), (t, t))[1],
        lambda x, g, t: cn.vjp(lambda x: cn.vjp(pulled, x, g)[1](t)[0], x)[1](t),
    ]
    for order in orders:
        expected, found = as_tuple(order(x, g, t)), as_tuple(order(lazy_x, lazy_g, lazy_t))
        assert all(isinstance(a, da.Array) for a in found)
        for got, real in zip(computed(*found), expected, strict=True):
            assert np.abs(real).max() > 0.1
            assert same_bits(got, real)


def test_a_function_without_a_derivative() -> None:
    y, pull = cn.vjp(lambda x: cn.pool(x, (2,), 0.0, lambda a, b: a + b), da.ones(8, chunks=3))
    np.testing.assert_array_equal(computed(y)[0], np.full(4, 2.0))
    with pytest.raises(TypeError, match="has no known derivative"):
        pull(np.ones(4))


# ------------------------------------------------------------------------------- NumPy's functions on Tensors

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "reshape": ((64,),), "broadcast_to": ((2, 8, 8),), "take": ([0, 1],), "repeat": (2,), "pad": (1,),
    "where": (True, 1.0), "split": (2,), "swapaxes": (0, 1), "moveaxis": (0, 1), "expand_dims": (0,), "roll": (1, 0),
    "clip": (0.0, 1.0), "matmul": (np.ones((8, 8)),), "dot": (np.ones((8, 8)),), "vdot": (np.ones((8, 8)),),
    "inner": (np.ones((8, 8)),), "outer": (np.ones(8),), "tensordot": (np.ones((8, 8)),), "kron": (np.ones((2, 2)),),
}  # fmt: skip


def test_numpy_functions_stay_lazy_or_refuse() -> None:
    """None of them computes a dask array behind the user's back."""
    outcomes: dict[str, str] = {}

    def attempt(name: str, f: Callable[..., Any], number: int = 1, *given: Any) -> None:
        try:
            y, pull = cn.vjp(lambda x: f(*(x,) * number, *given), untouchable((8, 8)))
            pull(y)
            outcomes[name] = "lazy"
        except (TypeError, ValueError, NotImplementedError, IndexError, AttributeError) as refusal:
            outcomes[name] = type(refusal).__name__

    for ufunc in UFUNCS:
        if isinstance(ufunc, np.ufunc):
            attempt(ufunc.__name__, ufunc, ufunc.nin)
    for function in FUNCTIONS:
        name = function if isinstance(function, str) else function.__name__
        given = (0,) if name == "getitem" else ARGUMENTS.get(name, ())
        attempt(name, FUNCTIONS[function], 1, *given)
    lazy = ("add", "multiply", "exp", "tanh", "maximum", "sum", "mean", "matmul", "transpose", "reshape")
    assert {outcomes[name] for name in lazy} == {"lazy"}, outcomes
    assert {outcomes[name] for name in ("getitem", "pad", "cumsum", "argmax")} == {"TypeError"}, outcomes
