"""Functions on JAX arrays: the bits of NumPy, eagerly and compiled, with x64 on and off; convolution to rounding."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cases import COMPLEX, REALS, Case, cases, examples, same_bits
from other_backends import outcome
from vocabulary import POOLS, WITH_INDICES, Convolution, Function, convolutions, one_nan

WAYS: dict[str, Any] = {"eager": lambda f: f, "jit": jax.jit, "twice": lambda f: lambda *a: (f(*a), jax.jit(f)(*a))[1]}


def plain(x: Any) -> Any:
    """``x`` as JAX can hold it: in C order and in the machine's byte order."""
    return np.ascontiguousarray(x, x.dtype.newbyteorder("=")).reshape(x.shape)


def is_fused(name: str, way: str) -> bool:
    return name == "pool reducer" and way != "eager"  # a + b * b


def check_same(got: Any, expected: Any, fuses: bool = False) -> None:
    """To the bit, unless ``fuses``: XLA computes a product and a sum of a Python function in one instruction."""
    got, expected = one_nan(np.asarray(got)), one_nan(expected)
    if not fuses or expected.dtype.kind in "biu":
        assert same_bits(got, expected)
        return
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    unit = 4 * float(ml_dtypes.finfo(expected.dtype).eps)  # type: ignore[no-untyped-call]
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(got.astype(wide), expected.astype(wide), rtol=unit)


def check(f: Function, way: str, *arrays: Any, fuses: bool = False) -> None:
    """f of JAX arrays is f of NumPy arrays: values, dtypes, and messages."""
    expected = outcome(lambda: f(*arrays))
    got = outcome(lambda: WAYS[way](f)(*map(jnp.asarray, arrays)))
    if isinstance(expected, str):
        assert got == expected
        return
    for mine, real in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, expected)), strict=True):
        assert isinstance(mine, jax.Array)
        check_same(mine, real, fuses)


@examples(200)
@given(cases(REALS), st.sampled_from(sorted(POOLS)), st.sampled_from(sorted(WAYS)))
def test_values_have_the_bits_of_numpy(case: Case, name: str, way: str) -> None:
    with jax.enable_x64(True):
        check(lambda x: POOLS[name](x, **case.arguments), way, plain(case.x), fuses=is_fused(name, way))


@examples(60)
@given(cases(REALS), st.sampled_from(sorted(WITH_INDICES)), st.sampled_from(sorted(WAYS)))
def test_indices(case: Case, name: str, way: str) -> None:
    with jax.enable_x64(True):
        check(lambda x: WITH_INDICES[name](x, **case.arguments), way, plain(case.x))


@examples(30)
@given(cases(COMPLEX), st.sampled_from(["sum", "avg", "avg omit", "avg valid"]), st.sampled_from(sorted(WAYS)))
def test_complex_numbers(case: Case, name: str, way: str) -> None:
    with jax.enable_x64(True):
        check(lambda x: POOLS[name](x, **case.arguments), way, plain(case.x))


# What a result of 64 bits is where x64 is off: as if that dtype had been asked for.
NARROW = {"i": np.int32, "u": np.uint32, "f": np.float32}
IN_32_BITS: list[np.dtype[Any]] = [dtype for dtype in REALS if dtype.itemsize < 8]
WITH_DTYPE: dict[str, Any] = {
    **POOLS,
    "adaptive avg": lambda x, axes, dtype, **w: cn.adaptive_avg_pool(x, (5,) * len(axes), axes=axes, dtype=dtype),
    "global avg": lambda x, axes, dtype, **w: cn.global_avg_pool(x, axes=axes, dtype=dtype),
}


@examples(100)
@given(cases(IN_32_BITS), st.sampled_from(sorted(set(POOLS) - {"pool function"})), st.sampled_from(sorted(WAYS)))
def test_values_without_x64(case: Case, name: str, way: str) -> None:
    x = plain(case.x)

    def f(x: Any, **options: Any) -> Any:
        return POOLS[name](x, **case.arguments, **options)

    expected = outcome(lambda: f(x))
    got = outcome(lambda: WAYS[way](f)(jnp.asarray(x)))
    if isinstance(expected, str):
        assert got == expected
        return
    if expected.dtype.itemsize == 8:
        expected = outcome(lambda: WITH_DTYPE[name](x, dtype=NARROW[expected.dtype.kind], **case.arguments))
    check_same(got, expected, is_fused(name, way))


@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_fold_to_64_bits_without_x64(way: str) -> None:
    """The accumulator has 64 bits, the result as many as JAX has."""
    x = np.arange(1, 5, dtype=np.int32)
    for fn, init in ((np.true_divide, 1), (np.hypot, 1), (np.add, np.float64(0.5))):
        got = WAYS[way](lambda x, fn=fn, init=init: cn.pool(x, (2,), init, fn))(jnp.asarray(x))
        assert same_bits(np.asarray(got), cn.pool(x, (2,), init, fn).astype(np.float32))


@examples(40)
@given(cases(IN_32_BITS), st.sampled_from(sorted(WITH_INDICES)), st.sampled_from(sorted(WAYS)))
def test_indices_without_x64(case: Case, name: str, way: str) -> None:
    x = plain(case.x)
    expected = outcome(lambda: WITH_INDICES[name](x, **case.arguments))
    got = outcome(lambda: WAYS[way](lambda x: WITH_INDICES[name](x, **case.arguments))(jnp.asarray(x)))
    if isinstance(expected, str):
        assert got == expected
        return
    assert got[1].dtype == np.int32
    np.testing.assert_array_equal(np.asarray(got[1]), expected[1])


@pytest.mark.parametrize("x64", [False, True])
def test_integers_are_not_rounded_on_the_way(x64: bool) -> None:
    x = np.array([2**31 - 1, 2**31 - 1, -(2**31), -(2**31)], np.int32)
    with jax.enable_x64(x64):
        y = cn.sum_pool(jnp.asarray(x), (2,))
        mean = cn.avg_pool(jnp.asarray(x), (3,), stride=1)
    assert y.tolist() == ([2**32 - 2, -(2**32)] if x64 else [2**31 - 1, -(2**31)])
    assert mean.dtype == (np.float64 if x64 else np.float32)
    np.testing.assert_array_equal(mean, cn.avg_pool(x, (3,), stride=1).astype(mean.dtype))


@examples(60)
@given(convolutions(), st.sampled_from(sorted(WAYS)))
def test_convolutions(case: Convolution, way: str) -> None:
    x, w, bias, how, transposed = case
    function: Function = cn.conv_transpose if transposed else cn.conv
    for arrays, options in (((x, w), how), ((x, w, bias), how), ((x, w, bias), {**how, "dtype": np.float32})):

        def f(x: Any, w: Any, *bias: Any, options: Any = options) -> Any:
            return function(x, w, bias=bias[0] if bias else None, **options)

        with jax.enable_x64(True):
            check_close(f, way, *arrays)


@examples(40)
@given(st.integers(0, 2**32), st.sampled_from(["full", "same", "valid"]), st.sampled_from(sorted(WAYS)))
def test_filters(seed: int, mode: Any, way: str) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(tuple(rng.integers(3, 7, 3))).astype(rng.choice(["f", "d", "F"]))
    k = rng.standard_normal(tuple(rng.integers(1, 4, 2))).astype(rng.choice(["f", "d"]))
    axes = tuple(map(int, rng.permutation(3)[:2]))
    for function in (cn.correlate, cn.convolve):
        with jax.enable_x64(True):
            check_close(lambda x, k, f=function: f(x, k, mode=mode, axes=axes, stride=2), way, x, k)


def check_close(f: Function, way: str, *arrays: Any) -> None:
    """As check, to rounding."""
    expected = outcome(lambda: f(*arrays))
    got = outcome(lambda: WAYS[way](f)(*map(jnp.asarray, arrays)))
    if isinstance(expected, str):
        assert got == expected
        return
    assert got.dtype == expected.dtype
    rough = 1e-9 if expected.dtype in (np.float64, np.complex128) else 1e-4
    np.testing.assert_allclose(got, expected, rtol=rough, atol=rough * max(1.0, np.abs(expected).max(initial=0)))


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_unpooling(x64: bool, way: str) -> None:
    x = np.random.default_rng(0).standard_normal((2, 5, 6)).astype(np.float32)
    values, indices = cn.max_pool(x, (2, 2), stride=1, padding=1, return_indices=True)
    how: dict[str, Any] = {"window": (2, 2), "output_shape": (5, 6)}
    expected = cn.max_unpool(values, indices, **how)
    with jax.enable_x64(x64):

        def f(x: Any) -> Any:
            values, indices = cn.max_pool(x, (2, 2), stride=1, padding=1, return_indices=True)
            return cn.max_unpool(values, indices, **how)

        assert same_bits(np.asarray(WAYS[way](f)(jnp.asarray(x))), expected)


@pytest.mark.parametrize("function", ["max_pool", "avg_pool", "lp_pool"])
def test_subnormal_numbers_are_not_zero(function: str) -> None:
    """XLA's threads compute with subnormals flushed to zero. More than one task, and one that NumPy takes part in."""
    x = np.random.default_rng(0).integers(1, 1000, (64, 512)).astype(np.int32).view(np.float32)
    f = getattr(cn, function)
    expected = f(x, (2, 2)), cn.vjp(lambda x: f(x, (2, 2)), x)[1](x[::2, ::2])[0]

    def both(x: Any, g: Any) -> Any:
        y, pull = jax.vjp(lambda x: f(x, (2, 2)), x)
        return y, pull(g)[0]

    for _ in range(3):
        for got, real in zip(jax.jit(both)(x, x[::2, ::2]), expected, strict=True):
            assert same_bits(np.asarray(got), real)
            assert np.any(real)
