"""NumPy's other functions on Tensors: shapes, indexing, joining, reductions, products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .elementwise import fit, masked, unfit
from .errors import shown
from .linear import Broadcast, Cast, CumulativeSum, Permute, Put, Reshape, SumTo, Take
from .tensor import FUNCTIONS, METHODS, UFUNCS, Linear, Primitive, Tensor, Value, bind, data_of, linear

Axes = int | Sequence[int] | None
MISSING = object()


def implements(*functions: Any, method: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            FUNCTIONS[function] = rule
        if method is not None:
            METHODS[method] = rule
        return rule

    return register


def normal_axes(axis: Axes, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = (axis,) if isinstance(axis, (int, np.integer)) else axis
    return tuple(a % ndim if -ndim <= a < ndim else bad_axis(a, ndim) for a in axes)


def bad_axis(axis: int, ndim: int) -> int:
    raise ValueError(f"axis {axis} is not one of a Tensor with {ndim} axes")


# -------------------------------------------------------------------------------------------------- shapes


@implements(np.reshape)
def reshape(x: Value, shape: Any, order: str = "C") -> Any:
    if order != "C":
        raise ValueError(f"reshape: order={shown(order)}: Tensors have order 'C' only")
    after = data_of(x).reshape(shape).shape
    return linear(x, Reshape(data_of(x).shape, after))


METHODS["reshape"] = lambda x, *shape: reshape(x, shape[0] if len(shape) == 1 else shape)


@implements(np.ravel, method="ravel")
def ravel(x: Value) -> Any:
    return reshape(x, (-1,))


METHODS["flatten"] = ravel


@implements(np.transpose)
def transpose(x: Value, axes: Any = None) -> Any:
    ndim = data_of(x).ndim
    order = tuple(reversed(range(ndim))) if axes is None else normal_axes(axes, ndim)
    return linear(x, Permute(order))


METHODS["transpose"] = lambda x, *axes: transpose(
    x, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
)


@implements(np.swapaxes, method="swapaxes")
def swapaxes(x: Value, axis1: int, axis2: int) -> Any:
    order = list(range(data_of(x).ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(x, order)


@implements(np.moveaxis)
def moveaxis(x: Value, source: Any, destination: Any) -> Any:
    ndim = data_of(x).ndim
    from_, to = normal_axes(source, ndim), normal_axes(destination, ndim)
    order = [axis for axis in range(ndim) if axis not in from_]
    for place, axis in sorted(zip(to, from_, strict=True)):
        order.insert(place, axis)
    return transpose(x, order)


@implements(np.expand_dims)
def expand_dims(x: Value, axis: Any) -> Any:
    return reshape(x, np.expand_dims(data_of(x), axis).shape)


@implements(np.squeeze, method="squeeze")
def squeeze(x: Value, axis: Any = None) -> Any:
    return reshape(x, np.squeeze(data_of(x), axis).shape)


@implements(np.atleast_1d)
def atleast_1d(x: Value) -> Any:
    return reshape(x, np.atleast_1d(data_of(x)).shape)


@implements(np.broadcast_to)
def broadcast_to(x: Value, shape: Any) -> Any:
    after = np.broadcast_to(data_of(x), shape).shape
    return linear(x, Broadcast(data_of(x).shape, after))


@implements("getitem", method="take_at")
def getitem(x: Value, key: Any) -> Any:
    held = tuple(data_of(k) for k in key) if isinstance(key, tuple) else data_of(key)
    if isinstance(held, list):
        held = np.asarray(held)
    return linear(x, Take(data_of(x).shape, held))


@implements(np.take, method="take")
def take(x: Value, indices: Any, axis: int | None = None) -> Any:
    if axis is None:
        return getitem(ravel(x), np.asarray(data_of(indices)))
    (axis,) = normal_axes(axis, data_of(x).ndim)
    return getitem(x, (*(slice(None),) * axis, np.asarray(data_of(indices))))


@implements(np.flip)
def flip(x: Value, axis: Axes = None) -> Any:
    chosen = normal_axes(axis, data_of(x).ndim)
    return getitem(x, tuple(slice(None, None, -1 if i in chosen else 1) for i in range(data_of(x).ndim)))


@implements(np.roll)
def roll(x: Value, shift: int, axis: int | None = None) -> Any:
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), data_of(x).shape)
    n = data_of(x).shape[axis]
    return take(x, (np.arange(n) - shift) % max(n, 1), axis)


@implements(np.repeat, method="repeat")
def repeat(x: Value, repeats: Any, axis: int | None = None) -> Any:
    if axis is None:
        return repeat(ravel(x), repeats, 0)
    return take(x, np.repeat(np.arange(data_of(x).shape[axis]), repeats), axis)


@implements(np.astype, method="astype")
def astype(x: Value, dtype: Any) -> Any:
    after = np.dtype(dtype)
    if after.kind in "biu":
        return Tensor(data_of(x).astype(after))
    return linear(x, Cast(data_of(x).dtype, after))


METHODS["copy"] = lambda x: astype(x, data_of(x).dtype)


@implements(np.pad)
def pad(x: Value, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    if mode != "constant":
        raise ValueError(f"np.pad: mode={shown(mode)}: Tensors are padded in mode 'constant' only")
    held = data_of(x)
    full = np.pad(np.zeros(held.shape, held.dtype), pad_width, constant_values=constant_values)
    widths = np.broadcast_to(np.asarray(pad_width), (held.ndim, 2))
    inside = tuple(slice(int(low), int(low) + n) for (low, _), n in zip(widths, held.shape, strict=True))
    return np.add(linear(x, Put(full.shape, inside)), full)


# -------------------------------------------------------------------------------------------------- joining


def evaluate_join(*parts: Any, axis: int) -> Any:
    return np.concatenate(parts, axis)


def linearize_join(wanted: Sequence[bool], *parts: Value, axis: int) -> tuple[Value, Sequence[Linear | None]]:
    out = concatenate(parts, axis)
    whole = data_of(out)
    derivatives, start = [], 0
    for part in parts:
        held = np.asarray(data_of(part))
        key = (*(slice(None),) * axis, slice(start, start + held.shape[axis]))
        start += held.shape[axis]
        derivatives.append(slot(held, whole, key))
    return out, derivatives


def slot(part: Any, whole: Any, key: Any) -> Linear:
    return Linear(
        lambda t: linear(fit(t, part.shape, whole.dtype), Put(whole.shape, key)),
        lambda g: unfit(linear(g, Take(whole.shape, key)), part.shape, part.dtype),
    )


JOIN = Primitive("concatenate", evaluate_join, linearize_join)


@implements(np.concatenate)
def concatenate(parts: Any, axis: int | None = 0) -> Any:
    if axis is None:
        return concatenate([ravel(part) for part in parts], 0)
    (axis,) = normal_axes(axis, np.ndim(data_of(parts[0])))
    return bind(JOIN, *parts, axis=axis)


@implements(np.stack)
def stack(parts: Any, axis: int = 0) -> Any:
    return concatenate(
        [expand_dims(part, axis) if isinstance(part, Tensor) else np.expand_dims(part, axis) for part in parts], axis
    )


@implements(np.split)
def split(x: Value, sections: Any, axis: int = 0) -> list[Any]:
    (axis,) = normal_axes(axis, data_of(x).ndim)
    parts = np.split(np.arange(data_of(x).shape[axis]), sections)
    bounds = [(int(part[0]), int(part[-1]) + 1) if len(part) else (0, 0) for part in parts]
    return [getitem(x, (*(slice(None),) * axis, slice(*bound))) for bound in bounds]


def evaluate_where(condition: Any, a: Any, b: Any) -> Any:
    return np.where(condition, a, b)


def linearize_where(
    wanted: Sequence[bool], condition: Value, a: Value, b: Value
) -> tuple[Value, Sequence[Linear | None]]:
    out = where(condition, a, b)
    mask = np.asarray(data_of(condition), bool)
    return out, [None, masked(a, out, mask), masked(b, out, ~mask)]


WHERE = Primitive("where", evaluate_where, linearize_where)


@implements(np.where)
def where(condition: Value, a: Value = MISSING, b: Value = MISSING) -> Any:
    if a is MISSING:
        return np.where(data_of(condition))
    return bind(WHERE, data_of(condition), a, b)


@implements(np.clip, method="clip")
def clip(x: Value, a_min: Any = None, a_max: Any = None) -> Any:
    if a_min is not None:
        x = np.maximum(x, a_min)
    return x if a_max is None else np.minimum(x, a_max)


# ----------------------------------------------------------------------------------------------- reductions


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def without(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for i, n in enumerate(shape) if i not in axes)


@implements(np.sum, method="sum")
def sum_(x: Value, axis: Axes = None, dtype: Any = None, keepdims: bool = False, **_: Any) -> Any:
    if dtype is not None:
        x = astype(x, dtype)
    held = data_of(x)
    if held.dtype.kind in "biu":
        return Tensor(held.sum(axis=axis, keepdims=keepdims))
    axes = normal_axes(axis, held.ndim)
    total = linear(x, SumTo(held.shape, kept_shape(held.shape, axes)))
    return total if keepdims else reshape(total, without(held.shape, axes))


@implements(np.mean, method="mean")
def mean(x: Value, axis: Axes = None, keepdims: bool = False) -> Any:
    held = data_of(x)
    count = math.prod(held.shape[a] for a in normal_axes(axis, held.ndim))
    return np.true_divide(sum_(x, axis, keepdims=keepdims), count)


@implements(np.var, method="var")
def var(x: Value, axis: Axes = None, ddof: float = 0, keepdims: bool = False) -> Any:
    held = data_of(x)
    count = math.prod(held.shape[a] for a in normal_axes(axis, held.ndim))
    spread = np.square(np.subtract(x, mean(x, axis, keepdims=True)))
    return np.true_divide(sum_(spread, axis, keepdims=keepdims), count - ddof)


@implements(np.std, method="std")
def std(x: Value, axis: Axes = None, ddof: float = 0, keepdims: bool = False) -> Any:
    return np.sqrt(var(x, axis, ddof, keepdims))


@implements(np.prod, method="prod")
def prod(x: Value, axis: Axes = None, keepdims: bool = False) -> Any:
    """By halves: no division, so that zeros are like any other number."""
    held = data_of(x)
    axes = normal_axes(axis, held.ndim)
    rest = [a for a in range(held.ndim) if a not in axes]
    line = reshape(transpose(x, [*axes, *rest]), (-1, *(held.shape[a] for a in rest)))
    while (n := data_of(line).shape[0]) > 1:
        half = n // 2
        product = np.multiply(getitem(line, slice(0, half)), getitem(line, slice(half, 2 * half)))
        line = concatenate([product, getitem(line, slice(2 * half, n))]) if n % 2 else product
    if n == 0:
        return Tensor(held.prod(axis=axis, keepdims=keepdims))
    return reshape(getitem(line, 0), kept_shape(held.shape, axes) if keepdims else without(held.shape, axes))


def extreme(x: Value, axis: Axes, keepdims: bool, find: Any) -> Any:
    """The first of the largest or smallest elements."""
    held = data_of(x)
    axes = normal_axes(axis, held.ndim)
    rest = [a for a in range(held.ndim) if a not in axes]
    line = reshape(transpose(x, [*axes, *rest]), (-1, *(held.shape[a] for a in rest)))
    at = find(data_of(line), axis=0)
    picked = getitem(line, (at, *np.indices(at.shape, sparse=True)))
    return reshape(picked, kept_shape(held.shape, axes) if keepdims else without(held.shape, axes))


@implements(np.max, np.amax, method="max")
def max_(x: Value, axis: Axes = None, keepdims: bool = False) -> Any:
    return extreme(x, axis, keepdims, np.argmax)


@implements(np.min, np.amin, method="min")
def min_(x: Value, axis: Axes = None, keepdims: bool = False) -> Any:
    return extreme(x, axis, keepdims, np.argmin)


@implements(np.cumsum, method="cumsum")
def cumsum(x: Value, axis: int | None = None) -> Any:
    if axis is None:
        return cumsum(ravel(x), 0)
    return linear(x, CumulativeSum(axis))


@implements(np.linalg.norm)
def norm(x: Value, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Any:
    if ord not in (None, 2, "fro") or (ord == 2 and axis is None and data_of(x).ndim > 1):
        raise ValueError(f"np.linalg.norm: ord={shown(ord)}: Tensors have the Euclidean norm only")
    return np.sqrt(sum_(np.square(x), axis, keepdims=keepdims))


UFUNCS[(np.add, "reduce")] = lambda x, axis=0, keepdims=False: sum_(x, axis, keepdims=keepdims)
UFUNCS[(np.multiply, "reduce")] = lambda x, axis=0, keepdims=False: prod(x, axis, keepdims)
UFUNCS[(np.maximum, "reduce")] = lambda x, axis=0, keepdims=False: max_(x, axis, keepdims)
UFUNCS[(np.minimum, "reduce")] = lambda x, axis=0, keepdims=False: min_(x, axis, keepdims)
