"""Weighted sums over windows and their transposes, over the compiled core: the derivatives of smooth max and lp.

Each takes checked arrays and a Geometry, and trusts both. They mean what the functions of the same name in
``reference.weighted`` say. Arrays are of float16, bfloat16, float32 or float64; the result has the dtype of the first
argument and the memory order of ``x``.
"""

from __future__ import annotations

import numpy as np

from . import _core
from .arguments.arrays import Array, is_bfloat16, memory_order, native
from .core import code_of, core_axes, from_order, in_order
from .geometry.axes import Geometry


def softmax_sum(t: Array, x: Array, geometry: Geometry, beta: float, pad_value: float | None) -> Array:
    """Σ exp(βx)/D · t over each window, where D is the window's Σ exp(βx)."""
    return weigh(t, x, geometry, False, exponential=True, parameter=beta, pad_value=pad_value)


def softmax_spread(g: Array, x: Array, geometry: Geometry, beta: float, pad_value: float | None) -> Array:
    """The transpose of :func:`softmax_sum` in its first argument."""
    return weigh(g, x, geometry, True, exponential=True, parameter=beta, pad_value=pad_value)


def power_sum(t: Array, x: Array, geometry: Geometry, p: float, q: float, odd: bool) -> Array:
    """Σ s(x)·|x/y|^q · t over each window, where y is the window's p-norm and s the sign if ``odd``, otherwise 1."""
    return weigh(t, x, geometry, False, exponential=False, parameter=p, q=q, odd=odd)


def power_spread(g: Array, x: Array, geometry: Geometry, p: float, q: float, odd: bool) -> Array:
    """The transpose of :func:`power_sum` in its first argument."""
    return weigh(g, x, geometry, True, exponential=False, parameter=p, q=q, odd=odd)


def weigh(
    t: Array,
    x: Array,
    geometry: Geometry,
    spread: bool,
    *,
    exponential: bool,
    parameter: float,
    q: float = 0.0,
    odd: bool = False,
    pad_value: float | None = None,
) -> Array:
    shape = geometry.shape if spread else geometry.out_shape
    dtype = native(t.dtype)
    order = memory_order(x)
    out = _core.empty(in_order(shape, order), dtype)
    if x.size == 0 or t.size == 0:  # windows of nothing, or nothing to spread
        out[...] = 0
        return from_order(out, order)
    _core.weighted(
        core_axes(geometry), core_axes(geometry.transposed) if spread else None,
        exponential, parameter, q, odd, pad_value,
        from_order(dense(x, order), order), dense(t, order), buffer(out),
        code_of(native(x.dtype)), code_of(dtype), order,
    )  # fmt: skip
    return from_order(out, order)


def dense(x: Array, order: tuple[int, ...] | None) -> Array:
    """``x`` in one piece of memory and the machine's byte order, its axes in ``order``."""
    return buffer(np.ascontiguousarray(x if order is None else x.transpose(order), native(x.dtype)))


def buffer(x: Array) -> Array:
    return x.view(np.uint16) if is_bfloat16(x.dtype) else x  # the buffer protocol has no name for bfloat16
