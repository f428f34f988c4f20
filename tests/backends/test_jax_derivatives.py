"""Derivatives of functions on JAX arrays: JAX's own transformations give the bits of our engine on NumPy arrays."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cases import FLOATS, Case, cases, examples, same_bits
from other_backends import outcome
from vocabulary import DIFFERENTIABLE, POOLS, Convolution, Function, convolutions, one_nan


def of_mode(library: Any, f: Function, mode: str, g: Any, t: Any) -> Function:
    """A derivative of f, by the transformations of a library."""
    if mode == "vjp":
        return lambda x: library.vjp(f, x)[1](g)[0]
    if mode == "jvp":
        return lambda x: library.jvp(f, (x,), (t,))[1]
    if mode == "jvp of vjp":
        return lambda x: library.jvp(lambda x: library.vjp(f, x)[1](g)[0], (x,), (t,))[1]
    return lambda x: library.vjp(lambda x: library.jvp(f, (x,), (t,))[1], x)[1](g)[0]


MODES = ["vjp", "jvp", "jvp of vjp", "vjp of jvp"]


@examples(160)
@given(cases(FLOATS), st.sampled_from(DIFFERENTIABLE), st.sampled_from(MODES), st.booleans())
def test_derivatives_have_the_bits_of_numpy(case: Case, name: str, mode: str, jit: bool) -> None:
    x = np.ascontiguousarray(case.x, case.x.dtype.newbyteorder("=")).reshape(case.x.shape)

    def f(x: Any) -> Any:
        return POOLS[name](x, **case.arguments)

    y = outcome(lambda: f(x))
    if isinstance(y, str):
        return
    rng = np.random.default_rng(1)
    g = rng.integers(-9, 10, y.shape).astype(y.dtype)
    t = rng.integers(-9, 10, x.shape).astype(x.dtype)
    with np.errstate(all="ignore"):
        expected = of_mode(cn, f, mode, g, t)(x)
    with jax.enable_x64(True):
        derivative = of_mode(jax, f, mode, jnp.asarray(g), jnp.asarray(t))
        got = (jax.jit(derivative) if jit else derivative)(jnp.asarray(x))
    found = np.asarray(got)
    if name == "pool reducer":  # derived by JAX, which adds a share of -0.0 to nothing where there is one only
        found = found + np.zeros((), found.dtype)
    assert same_bits(one_nan(found), one_nan(expected))


@examples(60)
@given(convolutions(), st.sampled_from(["vjp", "jvp"]))
def test_derivatives_of_convolutions(case: Convolution, mode: str) -> None:
    x, w, bias, how, transposed = case
    function: Function = cn.conv_transpose if transposed else cn.conv

    def f(x: Any, w: Any, bias: Any) -> Any:
        return function(x, w, bias=bias, **how)

    y = outcome(lambda: f(x, w, bias))
    if isinstance(y, str):
        return
    arrays = (x, w, bias)
    tangents = tuple(np.ones_like(a) for a in arrays)

    def all_of(library: Any, *arrays: Any) -> Any:
        if mode == "vjp":
            return library.vjp(f, *arrays)[1](tangent_of_y if library is cn else jnp.asarray(tangent_of_y))
        return (library.jvp(f, arrays, tangents if library is cn else tuple(map(jnp.asarray, tangents)))[1],)

    tangent_of_y = np.ones_like(y)
    with jax.enable_x64(True):
        got = jax.jit(lambda *a: all_of(jax, *a))(*map(jnp.asarray, arrays))
    rough = 1e-9 if x.dtype == np.float64 else 1e-4
    for mine, real in zip(got, all_of(cn, *arrays), strict=True):
        assert mine.dtype == real.dtype
        np.testing.assert_allclose(mine, real, rtol=rough, atol=rough * max(1.0, np.abs(real).max(initial=0)))


# ---------------------------------------------------------------------------------------- without float64 arrays

# Data whose second derivatives single precision cannot compute: products overflow, or nearly equal numbers are
# subtracted.
HARD: dict[str, tuple[Function, Any, Any, Any]] = {
    "smooth, large tangents": (lambda x: cn.smooth_max_pool(x, (2, 2)), 1.0, 1e18, 1e18),
    "smooth, tangents of one sign": (lambda x: cn.smooth_max_pool(x, (2, 2), beta=0.01), 1.0, 1.0, 1.0),
    "lp, large data": (lambda x: cn.lp_pool(x, (2, 2), p=3.0), 1e25, 1e20, 1e20),
    "lp, small data": (lambda x: cn.lp_pool(x, (2, 2), p=2.0), 1e-25, 1e-20, 1e-20),
    "lp 1.5": (lambda x: cn.lp_pool(x, (2, 2), p=1.5), 1.0, 1.0, 1.0),
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_higher_orders_in_few_bits(name: str, x64: bool, dtype: str) -> None:
    """The error is that of rounding operands and result: nothing between them is computed in fewer than 64 bits."""
    f, size, of_t, of_u = HARD[name]
    rng = np.random.default_rng(0)
    narrow = jnp.dtype(dtype)
    x, t, u = (
        (scale * rng.uniform(*ends, (4, 6))).astype(narrow)
        for scale, ends in ((size, (0.5, 2.0)), (of_t, (1.0, 1.01)), (of_u, (1.0, 1.01)))
    )
    g = np.ones((2, 3), narrow)

    def second(library: Any, x: Any, g: Any, t: Any, u: Any) -> Any:
        def pull(x: Any) -> Any:
            return library.vjp(f, x)[1](g)[0]

        def hessian(x: Any) -> Any:
            return library.jvp(pull, (x,), (t,))[1]

        of_pull = library.vjp(pull, x)[1](t)[0]
        of_push = library.vjp(lambda x: library.jvp(f, (x,), (t,))[1], x)[1](g)[0]
        return hessian(x), of_pull, of_push, library.jvp(hessian, (x,), (u,))[1]

    expected = second(cn, *(a.astype(np.float64) for a in (x, g, t, u)))
    with jax.enable_x64(x64):
        got = jax.jit(lambda *a: second(jax, *a))(*map(jnp.asarray, (x, g, t, u)))
    step = float(jnp.finfo(narrow).eps)
    for mine, real in zip(got, expected, strict=True):
        assert mine.dtype == narrow
        mine = np.asarray(mine, np.float64)
        fits = np.abs(real) < float(jnp.finfo(narrow).max)
        assert fits.any()
        np.testing.assert_allclose(mine[fits], real[fits], rtol=2 * step, atol=1e-40)


def test_higher_orders_do_not_depend_on_x64() -> None:
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    results = []
    for x64 in (False, True):
        with jax.enable_x64(x64):
            h = jax.jit(jax.hessian(lambda x: cn.smooth_max_pool(x, (2, 2)).sum()))(jnp.asarray(x))
            results.append(np.asarray(h))
    assert same_bits(*results)


# ------------------------------------------------------------------------------------------------------ batches


def test_any_operand_may_have_the_batch_axis_anywhere() -> None:
    rng = np.random.default_rng(0)
    x, w, bias = (rng.standard_normal(s).astype(np.float32) for s in ((3, 5, 6, 2), (3, 2, 2, 2, 4), (3, 4)))

    def f(x: Any, w: Any, bias: Any) -> Any:
        return cn.conv(x, w, bias=bias)

    whole: tuple[Any, ...] = (x, w, bias)
    for mapped in np.ndindex(2, 2, 2):
        if not any(mapped):
            continue
        given = [a if m else a[0] for a, m in zip(whole, mapped, strict=True)]
        expected = np.stack(
            [f(*(a[i] if m else a for a, m in zip(given, mapped, strict=True))) for i in range(3)], axis=2
        )
        axes = [(len(a.shape) - 1) * m if m else None for a, m in zip(given, mapped, strict=True)]
        moved = [np.moveaxis(a, 0, -1) if m else a for a, m in zip(given, mapped, strict=True)]
        got = jax.jit(jax.vmap(f, in_axes=axes, out_axes=2))(*moved)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def test_batches_of_batches() -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5, 6))
    with jax.enable_x64(True):

        def f(x: Any) -> Any:
            return cn.max_pool(x, (2, 2), return_indices=True)

        got = jax.vmap(jax.vmap(jax.vmap(f), in_axes=1, out_axes=1))(x)
    for mine, real in zip(got, f(x), strict=True):
        np.testing.assert_array_equal(mine, real)


def test_as_many_axes_as_there_can_be() -> None:
    x = np.arange(4.0, dtype=np.float32).reshape(*[1] * 63, 4)
    got = jax.vmap(lambda x: cn.sum_pool(x, (2,)))(jnp.asarray(x))
    assert got.shape == (*[1] * 63, 2)
    assert got.ravel().tolist() == [1.0, 5.0]


# --------------------------------------------------------------------------------------- transposes, and refusals

LINEAR: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "sum": (lambda x: cn.sum_pool(x, (2, 3), stride=1, padding=1), (np.ones((3, 4)),)),
    "avg": (lambda x: cn.avg_pool(x, (2, 3), stride=1, padding=1, count_include_pad=False), (np.ones((3, 4)),)),
    "conv, data": (lambda x: cn.conv(x, jnp.ones((2, 1, 3))), (np.ones((5, 1)),)),
    "conv, filter": (lambda w: cn.conv(jnp.arange(5.0)[:, None], w), (np.ones((2, 1, 3)),)),
    "conv, data and bias": (lambda x, b: cn.conv(x, jnp.ones((2, 1, 3)), bias=b), (np.ones((5, 1)), np.ones(3))),
    "correlate, filter": (lambda k: cn.correlate(jnp.arange(5.0), k), (np.ones(2),)),
    "unpool": (lambda y: cn.max_unpool(y, jnp.array([3, 0]), (2,)), (np.ones(2),)),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_functions_have_a_transpose(name: str) -> None:
    f, primals = LINEAR[name]
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        xs = [jnp.asarray(rng.standard_normal(p.shape)) for p in primals]
        y = f(*xs)
        g = jnp.asarray(rng.standard_normal(y.shape))
        back = jax.linear_transpose(f, *xs)(g)
        zero = f(*map(jnp.zeros_like, xs))
    assert not np.any(zero)
    assert np.isclose(np.vdot(y, g), sum(np.vdot(a, b) for a, b in zip(xs, back, strict=True)))


@pytest.mark.parametrize(
    ("name", "f"),
    [("max_pool", lambda x: cn.max_pool(x, (2,))), ("conv", lambda x: cn.conv(x[:, None], x[:2, None, None]))],
)
def test_other_functions_have_none(name: str, f: Function) -> None:
    with pytest.raises(TypeError, match=f"^{name} is not linear in all of these arguments: it has no transpose"):
        jax.linear_transpose(f, jnp.ones(4))(f(jnp.ones(4)))


def test_an_integer_result_has_no_derivative() -> None:
    def f(x: Any) -> Any:
        return cn.avg_pool(x, (2,), dtype=np.uint8).astype(np.float32).sum()

    with pytest.raises(TypeError, match="a result of dtype uint8 has no derivative: give a float dtype"):
        jax.grad(f)(jnp.ones(4))
    assert jax.grad(lambda x: x.sum() + f(jax.lax.stop_gradient(x)))(jnp.ones(4)).tolist() == [1.0] * 4


def test_indices_are_constants() -> None:
    def f(x: Any) -> Any:
        return cn.max_pool(x, (2,), return_indices=True)

    (_, indices), (dy, of_indices) = jax.jvp(f, (jnp.array([1.0, 3.0]),), (jnp.array([5.0, 7.0]),))
    assert (indices.tolist(), dy.tolist()) == ([1], [7.0])
    assert of_indices.dtype == jax.dtypes.float0


def test_without_jit() -> None:
    with jax.disable_jit():
        assert jax.grad(lambda x: cn.max_pool(x, (2,)).sum())(jnp.array([1.0, 3.0])).tolist() == [0.0, 1.0]


def test_checkpoint_outside_of_jit() -> None:
    """JAX evaluates the saved program on what is no JAX array: its own literals, of indices that are constants."""
    x = jnp.array([[1.0, 2.0], [3.0, 4.0]])

    def loss(x: Any, start: int = 0) -> Any:
        indices = jnp.array([[start, 3], [8, 11]])
        return (cn.max_unpool(x, indices, (2, 2), output_shape=(4, 4)) ** 3).sum()

    assert jax.grad(jax.checkpoint(loss))(x).tolist() == jax.grad(loss)(x).tolist() == [[3.0, 12.0], [27.0, 48.0]]
    with pytest.raises(ValueError, match="indices has values from 3 to 16, "):
        jax.grad(jax.checkpoint(lambda x: loss(x, 16)))(x)
