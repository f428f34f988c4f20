"""Weighted sums over windows and their transposes by the compiled core: the derivatives of smooth max and lp.

Each takes checked arrays and a Geometry, and trusts both. They mean what the functions of the same name in
``reference.weighted`` say. Arrays are of float16, bfloat16, float32 or float64; the result has the dtype of the first
argument and the memory order of ``x``.
"""

from __future__ import annotations

from .. import _core
from ..arguments.arrays import Array
from ..dtypes import code_of, native
from ..geometry.axes import Geometry
from .buffers import as_storage, dense, empty, from_order, memory_order, to_order
from .plans import core_axes


def softmax_sum(t: Array, x: Array, geometry: Geometry, beta: float, pad_value: float | None) -> Array:
    """Σ exp(βx)/D · t over each window, where D is the window's Σ exp(βx)."""
    return weighted(t, x, geometry, False, exponential=True, parameter=beta, pad_value=pad_value)


def softmax_spread(g: Array, x: Array, geometry: Geometry, beta: float, pad_value: float | None) -> Array:
    """The transpose of :func:`softmax_sum` in its first argument."""
    return weighted(g, x, geometry, True, exponential=True, parameter=beta, pad_value=pad_value)


def power_sum(t: Array, x: Array, geometry: Geometry, p: float, q: float, odd: bool) -> Array:
    """Σ s(x)·|x/y|^q · t over each window, where y is the window's p-norm and s the sign if ``odd``, otherwise 1."""
    return weighted(t, x, geometry, False, exponential=False, parameter=p, q=q, odd=odd)


def power_spread(g: Array, x: Array, geometry: Geometry, p: float, q: float, odd: bool) -> Array:
    """The transpose of :func:`power_sum` in its first argument."""
    return weighted(g, x, geometry, True, exponential=False, parameter=p, q=q, odd=odd)


def weighted(
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
    out = empty(to_order(shape, order), dtype)
    if x.size == 0 or t.size == 0:  # windows of nothing, or nothing to spread
        out[...] = 0
        return from_order(out, order)
    _core.weighted(
        core_axes(geometry), core_axes(geometry.transposed) if spread else None,
        exponential, parameter, q, odd, pad_value,
        from_order(as_storage(dense(x, order)), order), as_storage(dense(t, order)), as_storage(out),
        code_of(x.dtype), code_of(dtype), order,
    )  # fmt: skip
    return from_order(out, order)
