"""The generic pool on JAX arrays.

A NumPy ufunc, or JAX's function of the same name, is folded by NumPy inside of the handler. Any other function is JAX's
to trace: it is called once for each element of the window, on whole arrays, and JAX differentiates it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad

from ...arguments.errors import BadType, BadValue
from ...ops.base import Value
from ...ops.fold import Fold, Reducer
from ...ops.record import replace

NAMES_IN_LAX = {"add": "add", "max": "maximum", "min": "minimum", "mul": "multiply"}


def ufunc_of(fn: Any) -> np.ufunc | None:
    """The ufunc of NumPy's that a function is, or that it has the name and the meaning of."""
    if isinstance(fn, np.ufunc):
        return fn
    for name, known in NAMES_IN_LAX.items():
        if fn is getattr(jax.lax, name):
            return getattr(np, known)  # type: ignore[no-any-return]
    name = getattr(fn, "__name__", "")
    found = getattr(np, name, None) if fn is getattr(jnp, name or "-", None) else None
    return found if isinstance(found, np.ufunc) and (found.nin, found.nout) == (2, 1) else None


def fold(bind: Callable[..., Any], x: Value, op: Fold) -> Value:
    """``op`` on a JAX array."""
    known = ufunc_of(op.fn)
    return unrolled(op, x) if known is None else bind(replace(op, fn=known), x)[0]


def fold_jvp(
    bind: Callable[..., Any], op: Fold, primals: Sequence[Value], tangents: Sequence[Any]
) -> tuple[list[Value], list[Any]]:
    """Of a fold by a ufunc that the Op has no rule for: the tangent is that of JAX's function of the same name."""
    out = bind(op, *primals)
    (tangent,) = tangents
    function = getattr(jnp, op.fn.__name__, None)
    if type(tangent) is ad.Zero:
        return list(out), [ad.Zero(jax.core.get_aval(out[0]).to_tangent_aval())]
    try:
        if function is None:
            raise NotImplementedError
        _, dy = jax.jvp(lambda x: unrolled(replace(op, fn=function), x), (primals[0],), (tangent,))
    except NotImplementedError:
        raise TypeError(f"np.{op.fn.__name__} has no derivative in JAX: give cn.reducer(fn, partials)") from None
    return list(out), [dy.astype(out[0].dtype)]


def unrolled(op: Fold, x: Value) -> Value:
    fn = with_partials(op.fn) if isinstance(op.fn, Reducer) else op.fn
    out = jnp.full(op.geometry.out_shape, op.init)
    for to, of in op.geometry.taps():
        held = out[to]
        try:
            new = called(fn, held, x[of])
        except jax.errors.UnexpectedTracerError:
            if fn is op.fn:
                raise
            raise BadType(
                "reduce_fn depends on another array that JAX derives by, and cn.reducer has derivatives by its two "
                "arguments only: give the function itself, which JAX derives"
            ) from None
        if new.shape != held.shape:
            raise BadValue(
                f"reduce_fn gave shape {new.shape} for two arrays of shape {held.shape}: it must work element by "
                "element"
            )
        whole = new.shape == out.shape
        out = new if whole else out.astype(jnp.result_type(new.dtype, out.dtype)).at[to].set(new)
    return out


def called(fn: Callable[..., Any], a: Value, b: Value) -> Value:
    try:
        out = fn(a, b)
    except jax.errors.TracerArrayConversionError:
        out = None
    if not isinstance(out, jax.Array):
        raise BadType("reduce_fn gives no JAX array for two JAX arrays: write it with jax.numpy instead of NumPy")
    return out


def with_partials(reducer: Reducer) -> Callable[..., Any]:
    """The reducer as a function that JAX differentiates by the partial derivatives that it has."""

    def function(a: Any, b: Any) -> Any:
        return called(reducer.fn, a, b)

    def rule(primals: Any, tangents: Any) -> Any:
        by_a, by_b = reducer.partials(*primals)
        return function(*primals), by_a * tangents[0] + by_b * tangents[1]

    differentiable: Callable[..., Any] = jax.custom_jvp(function)
    differentiable.defjvp(rule)  # type: ignore[attr-defined]
    return differentiable
