"""Every function on windows, with its options, and its derivatives: what a backend is tested on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

import cenote as cn
from cases import Case
from other_backends import outcome

Function = Callable[..., Any]

SQUARES = cn.reducer(lambda a, b: a + b * b, lambda a, b: (1.0, 2 * b))

# Every function on windows, with its options.
POOLS: dict[str, Function] = {
    "max": cn.max_pool,
    "max omit": lambda x, **w: cn.max_pool(x, nan="omit", **w),
    "min": cn.min_pool,
    "max split": lambda x, **w: cn.max_pool(x, ties="split", **w),
    "sum": cn.sum_pool,
    "sum omit": lambda x, **w: cn.sum_pool(x, nan="omit", **w),
    "avg": cn.avg_pool,
    "avg valid": lambda x, **w: cn.avg_pool(x, count_include_pad=False, **w),
    "avg divisor": lambda x, **w: cn.avg_pool(x, divisor=2.5, **w),
    "avg omit": lambda x, **w: cn.avg_pool(x, nan="omit", **w),
    "avg single": lambda x, **w: cn.avg_pool(x, dtype=np.float32, **w),
    "lp": lambda x, **w: cn.lp_pool(x, p=3.0, **w),
    "lp inf": lambda x, **w: cn.lp_pool(x, p=np.inf, **w),
    "smooth": lambda x, **w: cn.smooth_max_pool(x, beta=1.5, **w),
    "smooth, no pads": lambda x, **w: cn.smooth_max_pool(x, beta=-0.5, pad_value=None, **w),
    "median": cn.median_pool,
    "median omit": lambda x, **w: cn.median_pool(x, nan="omit", **w),
    "median single": lambda x, **w: cn.median_pool(x, dtype=np.float32, **w),
    "mode": lambda x, **w: cn.mode_pool(x, **w),
    "pool": lambda x, window, **w: cn.pool(x, window, 1, np.maximum, **w),
    "pool sum": lambda x, window, **w: cn.pool(x, window, 1, np.add, **w),
    "pool product": lambda x, window, **w: cn.pool(x, window, 1, np.multiply, **w),
    "pool reducer": lambda x, window, **w: cn.pool(x, window, 1, SQUARES, **w),
    "pool function": lambda x, window, **w: cn.pool(x, window, np.float64(1), lambda a, b: a + 2 * b, **w),
    "adaptive max": lambda x, axes, **w: cn.adaptive_max_pool(x, tuple(3 for _ in axes), axes=axes),
    "adaptive avg": lambda x, axes, **w: cn.adaptive_avg_pool(x, tuple(5 for _ in axes), axes=axes),
    "global max": lambda x, axes, **w: cn.global_max_pool(x, axes=axes),
    "global avg": lambda x, axes, **w: cn.global_avg_pool(x, axes=axes),
}
DIFFERENTIABLE = [name for name in POOLS if name not in ("pool function", "mode")]
WITH_INDICES: dict[str, Function] = {
    "max": lambda x, **w: cn.max_pool(x, return_indices=True, **w),
    "min omit": lambda x, **w: cn.min_pool(x, nan="omit", return_indices=True, **w),
    "adaptive max": lambda x, axes, **w: cn.adaptive_max_pool(
        x, tuple(4 for _ in axes), axes=axes, return_indices=True
    ),
}


def one_nan(x: Any) -> Any:
    """``x`` with every NaN the same: which of several is propagated is not promised."""
    return np.where(x == x, x, np.zeros((), x.dtype)) if x.dtype.kind in "fcV" else x


def of_mode(f: Function, mode: str, g: Any, t: Any) -> Function:
    if mode == "value":
        return f
    if mode == "vjp":
        return lambda x: cn.vjp(f, x)[1](g)[0]
    if mode == "jvp":
        return lambda x: cn.jvp(f, (x,), (t,))[1]
    return lambda x: cn.jvp(lambda x: cn.vjp(f, x)[1](g)[0], (x,), (t,))[1]


def derivative(case: Case, name: str, mode: str, lift: Function = lambda x: x) -> Function | None:
    """A function of x, or None where the call is an error; ``lift`` makes arrays of the library of x of the others."""

    def f(x: Any) -> Any:
        return POOLS[name](x, **case.arguments)

    if mode == "value":
        return f
    y = outcome(lambda: f(case.x))
    if isinstance(y, str):
        return None
    rng = np.random.default_rng(1)
    g = rng.integers(-9, 10, y.shape).astype(y.dtype)
    t = rng.integers(-9, 10, case.x.shape).astype(case.x.dtype.newbyteorder("="))
    return of_mode(f, mode, lift(g), lift(t))


MODES = ["value", "vjp", "jvp", "jvp of vjp"]


# Data, filters, bias, options, and whether it is transposed.
Convolution: TypeAlias = tuple[Any, Any, Any, dict[str, Any], bool]


@st.composite
def convolutions(draw: st.DrawFn) -> Convolution:
    rank = draw(st.integers(1, 3))
    first = draw(st.booleans())
    groups = draw(st.sampled_from([1, 2]))
    inner, outer = draw(st.integers(1, 3)), groups * draw(st.integers(1, 2))
    kernel = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    spatial = tuple(draw(st.integers(3, 7)) for _ in range(rank))
    batch = tuple(draw(st.integers(1, 3)) for _ in range(draw(st.integers(0, 2))))
    transposed = draw(st.booleans())
    channels = outer if transposed else groups * inner
    shape = (*batch, channels, *spatial) if first else (*batch, *spatial, channels)
    w = (outer, inner, *kernel) if first else (*kernel, inner, outer)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(["f", "d"]))
    bias = rng.standard_normal(groups * inner if transposed else outer).astype(dtype)
    how: dict[str, Any] = {
        "stride": draw(st.integers(1, 3)),
        "padding": draw(st.sampled_from(["same", "valid"] if transposed else ["same", "valid", 1])),
        "dilation": draw(st.integers(1, 2)),
        "groups": groups,
        "layout": "channels_first" if first else "channels_last",
    }
    x, filters = (rng.standard_normal(s).astype(dtype) for s in (shape, w))
    return x, filters, bias, how, transposed
