"""Every transformation of JAX on every function that has a derivative, against our own engine on NumPy arrays.

As a program, ``python jax_programs.py NAME...``, it runs where pytest is not, with whichever JAX is first on the path.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import cenote as cn

Function = Callable[[Any], Any]
RNG = np.random.default_rng(0)
W: dict[str, Any] = {"window": (2, 3), "stride": (1, 2), "padding": 1}  # windows that overlap, padding included
IMAGE = RNG.standard_normal((3, 4))
POSITIVE = RNG.uniform(0.5, 2.0, (3, 4))
HOLES = np.where(RNG.random((3, 4)) < 0.2, np.nan, IMAGE)
TIED = RNG.integers(0, 3, (3, 4)).astype(float)
FILTER, BIAS, DATA = RNG.standard_normal((2, 2, 1, 2)), RNG.standard_normal(2), RNG.standard_normal((3, 4, 1))
INDICES = RNG.permutation(np.arange(12))[:4].reshape(2, 2)


def root(a: Any, b: Any) -> Any:
    return (a * a + b * b) ** 0.5


HYPOT = cn.reducer(root, lambda a, b: (a / root(a, b), b / root(a, b)))


def like(x: Any, array: Any) -> Any:
    """A constant as an array of the library that ``x`` is of."""
    return jnp.asarray(array) if isinstance(x, jax.Array) else array


FUNCTIONS: dict[str, tuple[Function, Any]] = {
    "max": (lambda x: cn.max_pool(x, **W), IMAGE),
    "max split": (lambda x: cn.max_pool(x, ties="split", **W), TIED),
    "max, indices": (lambda x: cn.max_pool(x, return_indices=True, **W)[0], IMAGE),
    "min omit": (lambda x: cn.min_pool(x, nan="omit", **W), HOLES),
    "sum": (lambda x: cn.sum_pool(x, **W), IMAGE),
    "sum omit": (lambda x: cn.sum_pool(x, nan="omit", **W), HOLES),
    "avg": (lambda x: cn.avg_pool(x, count_include_pad=False, **W), IMAGE),
    "avg omit": (lambda x: cn.avg_pool(x, nan="omit", **W), HOLES),
    "avg divisor": (lambda x: cn.avg_pool(x, divisor=2.5, dilation=2, window=(2, 2)), IMAGE),
    "lp": (lambda x: cn.lp_pool(x, p=3.5, **W), POSITIVE),
    "lp 1": (lambda x: cn.lp_pool(x, p=1.0, **W), POSITIVE),
    "lp inf": (lambda x: cn.lp_pool(x, p=np.inf, **W), IMAGE),
    "smooth": (lambda x: cn.smooth_max_pool(x, beta=1.5, **W), IMAGE),
    "smooth, no pads": (lambda x: cn.smooth_max_pool(x, beta=-2.0, pad_value=None, **W), IMAGE),
    "median": (lambda x: cn.median_pool(x, **W), IMAGE),
    "pool add": (lambda x: cn.pool(x, (2, 2), 1.0, np.add), IMAGE),
    "pool multiply": (lambda x: cn.pool(x, (2, 2), 1.0, np.multiply, stride=1), IMAGE),
    "pool reducer": (lambda x: cn.pool(x, (2, 2), 1.0, HYPOT, stride=1), IMAGE),
    "adaptive max": (lambda x: cn.adaptive_max_pool(x, (2, 3)), IMAGE),
    "adaptive avg": (lambda x: cn.adaptive_avg_pool(x, (2, 3)), IMAGE),
    "global max": (lambda x: cn.global_max_pool(x, axes=(0, 1)), IMAGE),
    "global avg": (lambda x: cn.global_avg_pool(x, axes=1), IMAGE),
    "unpool": (lambda y: cn.max_unpool(y, like(y, INDICES), (2, 2), output_shape=(3, 4)), RNG.standard_normal((2, 2))),
    "conv": (lambda x: cn.conv(x, like(x, FILTER), bias=like(x, BIAS), padding=1, stride=2), DATA),
    "conv filter": (lambda w: cn.conv(like(w, DATA), w, padding="same", dilation=2), FILTER),
    "conv bias": (lambda b: cn.conv(like(b, DATA), like(b, FILTER), bias=b), BIAS),
    "conv data and filter": (lambda x: cn.conv(x[..., None], x[:2, :2, None, None]), IMAGE),
    "conv_transpose": (lambda x: cn.conv_transpose(x, like(x, FILTER[:, :, :, :1]), stride=2), DATA),
    "conv_transpose filter": (lambda w: cn.conv_transpose(like(w, DATA), w[:, :, :, :1], padding=1), FILTER),
    "correlate": (lambda x: cn.correlate(x, like(x, IMAGE[:2, :2]), mode="same"), IMAGE),
    "convolve": (lambda k: cn.convolve(like(k, IMAGE), k, axes=(1, 0)), FILTER[..., 0, 0]),
}
QUICK = ["max", "avg omit", "smooth", "lp", "conv data and filter", "pool reducer"]


class Expected:
    """Of s(x) = Σ c·f(x), where c is not the same everywhere: gradient, Hessian, third derivative along t and u."""

    def __init__(self, f: Function, x: Any) -> None:
        self.f, self.x = f, x
        self.y = f(x)
        self.c = np.linspace(0.5, 1.5, self.y.size).reshape(self.y.shape)
        self.t, self.u = (np.cos(np.arange(k, k + x.size)).reshape(x.shape) for k in (1, 5))
        self.basis = np.eye(x.size).reshape(x.size, *x.shape)
        self.dy = cn.jvp(f, (x,), (self.t,))[1]
        self.gradient = self.pull(x)
        columns = [cn.jvp(self.pull, (x,), (e,))[1] for e in self.basis]
        self.hessian = np.stack(columns, -1).reshape(x.shape * 2)
        self.third = cn.jvp(lambda x: cn.jvp(self.pull, (x,), (self.t,))[1], (x,), (self.u,))[1]

    def pull(self, x: Any) -> Any:
        return cn.vjp(self.f, x)[1](self.c)[0]


def run(f: Function, x: Any, c: Any, t: Any, u: Any) -> dict[str, Any]:
    """What each of the transformations gives."""

    def s(x: Any) -> Any:
        return (f(x) * c).sum()

    def along(h: Function, v: Any) -> Function:
        return lambda x: jax.jvp(h, (x,), (v,))[1]

    def scanned(x: Any) -> Any:
        return lax.scan(lambda total, k: (total + k * s(x), None), jnp.zeros(()), jnp.array([0.25, 0.75]))[0]

    def looped(x: Any) -> Any:
        return lax.fori_loop(0, 2, lambda _, total: total + s(x) / 2, jnp.zeros(()))

    def chosen(x: Any) -> Any:
        return lax.cond(x.ravel()[0] > 100, lambda x: 2 * s(x), s, x)

    pushed = jax.linearize(f, x)[1]
    both = jnp.stack([x, x])
    return {
        "jvp": along(f, t)(x),
        "linearize": pushed(t),
        "grad": jax.grad(s)(x),
        "jit of grad": jax.jit(jax.grad(s))(x),
        "linear_transpose": jax.linear_transpose(pushed, x)(c)[0],
        "vmap": jax.vmap(f)(both)[1],
        "vmap of grad": jax.vmap(jax.grad(s))(both)[1],
        "scan": jax.grad(scanned)(x),
        "checkpoint": jax.grad(jax.checkpoint(s))(x),
        "while": along(looped, t)(x),
        "cond": jax.grad(chosen)(x),
        "hessian": jax.hessian(s)(x),
        "reverse of reverse": jax.jacrev(jax.jacrev(s))(x),
        "forward of forward": jax.jacfwd(jax.jacfwd(s))(x),
        "reverse of forward": jax.jacrev(jax.jacfwd(s))(x),
        "jit of vmap of hessian": jax.jit(jax.vmap(jax.hessian(s)))(both)[1],
        "third order": jax.grad(lambda x: along(along(s, t), u)(x))(x),
        "third order, reverse": along(jax.grad(lambda x: (jax.grad(s)(x) * t).sum()), u)(x),
    }


def expected_of(e: Expected) -> dict[str, Any]:
    directional = (e.gradient * e.t).sum()
    out = dict.fromkeys(
        ["grad", "jit of grad", "linear_transpose", "vmap of grad", "scan", "checkpoint", "cond"], e.gradient
    )
    out |= dict.fromkeys(["jvp", "linearize"], e.dy)
    out |= dict.fromkeys(["hessian", "reverse of reverse", "forward of forward", "reverse of forward"], e.hessian)
    out |= dict.fromkeys(["third order", "third order, reverse"], e.third)
    return out | {"vmap": e.y, "while": directional, "jit of vmap of hessian": e.hessian}


def with_x64(on: bool) -> Any:
    return (
        jax.enable_x64(on) if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental").enable_x64(on)
    )


def check(name: str, x64: bool = True, jit: bool = True) -> None:
    """Every transformation of one function."""
    f, x = FUNCTIONS[name]
    e = Expected(f, x)
    expected = expected_of(e)
    dtype = np.float64 if x64 else np.float32
    with with_x64(x64):
        arrays = [jnp.asarray(a, dtype) for a in (x, e.c, e.t, e.u)]
        got = (jax.jit(partial(run, f)) if jit else partial(run, f))(*arrays)
    assert len(got) == 18
    assert got.keys() == expected.keys()
    rough = 1e-9 if x64 else 2e-4
    for what, value in got.items():
        assert value.dtype == dtype, (name, what)
        scale = max(1.0, np.nanmax(np.abs(expected[what])))
        np.testing.assert_allclose(value, expected[what], rtol=rough, atol=rough * scale, err_msg=f"{name}: {what}")


if __name__ == "__main__":
    names = sys.argv[1:] or list(FUNCTIONS)
    for name in names:
        check(name)
    print(f"{jax.__version__}: {len(names)}")
