"""How the generic ``pool`` is derived: the function is recorded element by element of the windows, and derived by this
engine as often as asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..ops.base import LinearOperator
from ..ops.fold import Binary, Fold, Reducer, Steps
from .elementwise import DIFFERENTIABLE, broadcast_to_dtype, form_of, multiplied, unbroadcast
from .graph import LinearFunction, Primitive, Value
from .linear import Gather, Mask, ScatterAdd
from .recording import bind
from .transforms import jvp, vjp


class FoldEngine:
    def knows(self, fn: Binary) -> bool:
        return isinstance(fn, Reducer) or (isinstance(fn, np.ufunc) and fn in DIFFERENTIABLE)

    def derivative(self, fold: Fold, steps: Steps, *operands: Array) -> Array:
        found: Array = derived(partial(recorded, fold), steps)(*operands)
        return found + np.zeros((), found.dtype)  # not -0.0, which depends on how many taps other windows have

    def refusal(self, fn: Binary) -> LinearOperator:
        def fail(_: Value) -> Value:
            raise TypeError(
                f"pool: {getattr(fn, '__name__', 'reduce_fn')} has no known derivative. Give it one with "
                "cn.reducer(fn, partials), where partials(a, b) gives (∂fn/∂a, ∂fn/∂b)"
            )

        return LinearFunction(fail, fail)


Fold.engine = FoldEngine()


def derived(f: Callable[..., Any], steps: Steps) -> Callable[..., Any]:
    """The function of :class:`~cenote.ops.fold.FoldDerivative`, of arrays or Tensors."""
    if not steps:
        return f
    *before, (mode, i) = steps
    inner = derived(f, tuple(before))

    def function(first: Value, *operands: Value) -> Value:
        def of_one(operand: Value) -> Value:
            return inner(*operands[:i], operand, *operands[i + 1 :])

        if mode == "jvp":
            return jvp(of_one, (operands[i],), (first,))[1]
        return vjp(of_one, operands[i])[1](first)[0]

    return function


def recorded(fold: Fold, x: Value) -> Value:
    """A :class:`Fold` of an array or a Tensor, by functions that are recorded on Tensors."""
    geometry = fold.geometry
    fn = partial(bind, primitive_of(fold.fn)) if isinstance(fold.fn, Reducer) else fold.fn
    out: Value = np.full(geometry.out_shape, fold.init)
    begun = np.zeros(geometry.out_shape, bool)  # the windows that have an element already
    for to, of in geometry.taps():
        before, elements = Gather(geometry.out_shape, to)(out), Gather(geometry.shape, of)(x)
        new = fn(before, elements)
        first = ~begun[to]
        if first.any() and begun.any():
            # Of other windows this is the first element. They start from a constant, whose derivative is 0: the tangent
            # of ``out`` is 0 there, too, but times an infinite element it would be NaN.
            part = box_of(first)
            initial = np.full(first[part].shape, fold.init, form_of(before).dtype)
            new = bind(OVERWRITE, new, fn(initial, Gather(first.shape, part)(elements)), to=part)
        begun[to] = True
        out = new if new.shape == geometry.out_shape else bind(OVERWRITE, out, new, to=to)
    return out


def box_of(mask: Array) -> tuple[slice, ...]:
    """Where a mask holds that holds in a box. The first elements of windows do: each axis has a range of its own."""
    return tuple(slice(int(where.min()), int(where.max()) + 1) for where in np.nonzero(mask))


def overwrite(a: Array, b: Array, to: Any) -> Array:
    out = a.astype(np.result_type(a, b))
    out[to] = b
    return out


def linearize_overwrite(wanted: Sequence[bool], a: Value, b: Value, to: Any) -> tuple[Value, list[LinearOperator]]:
    out = bind(OVERWRITE, a, b, to=to)
    of_a, of_b, (shape, dtype) = form_of(a), form_of(b), form_of(out)
    outside = np.ones(shape, bool)
    outside[to] = False
    kept, put = Mask(outside), ScatterAdd(shape, to)
    return out, [
        LinearFunction(lambda t: kept(broadcast_to_dtype(t, shape, dtype)), lambda g: unbroadcast(kept(g), *of_a)),
        LinearFunction(lambda t: put(broadcast_to_dtype(t, of_b.shape, dtype)), lambda g: unbroadcast(put.T(g), *of_b)),
    ]


# a with b in the part ``to`` of it.
OVERWRITE = Primitive("overwrite", overwrite, linearize_overwrite, keeps=False)


def lent(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``fn`` on copies of its arguments: a function may write into them, and then into arrays of others. A ufunc
    does not."""
    if isinstance(fn, np.ufunc):
        return fn
    return lambda a, b: fn(own(a), own(b))


def own(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def primitive_of(reducer: Reducer) -> Primitive:
    """The function as something that can be recorded."""

    def linearize(wanted: Sequence[bool], a: Any, b: Any) -> tuple[Any, Sequence[LinearFunction]]:
        out = bind(primitive_of(reducer), a, b)
        return out, [
            multiplied(a, out, lambda: partials(a, b)[0]),
            multiplied(b, out, lambda: partials(a, b)[1]),
        ]

    partials = lent(reducer.partials)
    return Primitive("reducer", lent(reducer.fn), linearize)
