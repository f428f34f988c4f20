"""NumPy's functions on Tensors that move elements: shapes, indexing, joining, choosing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arguments.errors import format_value
from ..backends.dispatch import is_foreign
from ..dtypes import is_exact, is_known
from .elementwise import Form, broadcast_to_dtype, form_of, masked, unbroadcast
from .graph import LinearFunction, Primitive, Value
from .linear import Broadcast, Cast, Gather, Permute, Reshape, ScatterAdd
from .recording import bind
from .tensor import FUNCTIONS, Tensor, add_method, data_of, numpy_of

Axes = int | Sequence[int] | None
MISSING = object()


def implements(*functions: Any, method: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            FUNCTIONS[function] = rule
        if method is not None:
            add_method(method, rule)
        return rule

    return register


def normal_axes(axis: Axes, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = [operator.index(a) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    for a in axes:
        if not -ndim <= a < ndim:
            raise ValueError(f"axis {a} is not one of a Tensor with {ndim} axes")
    out = tuple(a % ndim for a in axes)
    if len(set(out)) < len(out):
        raise ValueError(f"axis {format_value(axis)} names an axis of a Tensor with {ndim} axes twice")
    return out


# -------------------------------------------------------------------------------------------------- shapes


@implements(np.reshape)
def reshape(x: Value, shape: Any, order: str = "C") -> Any:
    if order != "C":
        raise ValueError(f"reshape: order={format_value(order)}: Tensors have order 'C' only")
    after = data_of(x).reshape(shape).shape
    return Reshape(data_of(x).shape, after)(x)


add_method("reshape", lambda x, *shape: reshape(x, shape[0] if len(shape) == 1 else shape))


@implements(np.ravel, method="ravel")
def ravel(x: Value) -> Any:
    return reshape(x, (-1,))


add_method("flatten", ravel)


@implements(np.transpose)
def transpose(x: Value, axes: Any = None) -> Any:
    ndim = data_of(x).ndim
    order = tuple(reversed(range(ndim))) if axes is None else normal_axes(axes, ndim)
    return Permute(order)(x)


add_method(
    "transpose",
    lambda x, *axes: transpose(x, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None),
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
def atleast_1d(*many: Value) -> Any:
    out = tuple(reshape(x, np.atleast_1d(data_of(x)).shape) for x in many)
    return out if len(out) > 1 else out[0]


@implements(np.broadcast_to)
def broadcast_to(x: Value, shape: Any) -> Any:
    after = np.broadcast_to(data_of(x), shape).shape
    return Broadcast(data_of(x).shape, after)(x)


@implements("getitem")
def getitem(x: Value, key: Any) -> Any:
    held = tuple(data_of(k) for k in key) if isinstance(key, tuple) else data_of(key)
    return Gather(data_of(x).shape, held)(x)


@implements(np.take, method="take")
def take(x: Value, indices: Any, axis: int | None = None) -> Any:
    if axis is None:
        return getitem(ravel(x), numpy_of(indices))
    (axis,) = normal_axes(axis, data_of(x).ndim)
    return getitem(x, (*(slice(None),) * axis, numpy_of(indices)))


@implements(np.flip)
def flip(x: Value, axis: Axes = None) -> Any:
    chosen = normal_axes(axis, data_of(x).ndim)
    return getitem(x, tuple(slice(None, None, -1 if i in chosen else 1) for i in range(data_of(x).ndim)))


@implements(np.roll)
def roll(x: Value, shift: Any, axis: Axes = None) -> Any:
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), data_of(x).shape)
    for step, along in np.broadcast(shift, axis):
        n = data_of(x).shape[along]
        x = take(x, (np.arange(n) - step) % max(n, 1), along)
    return x


@implements(np.repeat, method="repeat")
def repeat(x: Value, repeats: Any, axis: int | None = None) -> Any:
    if axis is None:
        return repeat(ravel(x), repeats, 0)
    return take(x, np.repeat(np.arange(data_of(x).shape[axis]), repeats), axis)


@implements(*([np.astype] if hasattr(np, "astype") else []), method="astype")  # a function since NumPy 2.1
def astype(x: Value, dtype: Any) -> Any:
    after = np.dtype(dtype)
    if is_exact(after):
        return Tensor(data_of(x).astype(after))
    if not is_known(after):
        raise TypeError(f"astype: dtype={format_value(dtype)}: bool, integers, floats or complex numbers are needed")
    return Cast(data_of(x).dtype, after)(x)


add_method("copy", lambda x: astype(x, data_of(x).dtype))


@implements(np.pad)
def pad(x: Value, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    if mode != "constant":
        raise ValueError(f"np.pad: mode={format_value(mode)}: Tensors are padded in mode 'constant' only")
    held = data_of(x)
    full = np.pad(np.zeros(held.shape, held.dtype), pad_width, constant_values=constant_values)
    widths = np.broadcast_to(np.asarray(pad_width), (held.ndim, 2))
    inside = tuple(slice(int(low), int(low) + n) for (low, _), n in zip(widths, held.shape, strict=True))
    return np.add(ScatterAdd(full.shape, inside)(x), full)


# -------------------------------------------------------------------------------------------------- joining


def evaluate_join(*parts: Any, axis: int) -> Any:
    return np.concatenate(parts, axis)


def linearize_join(wanted: Sequence[bool], *parts: Value, axis: int) -> tuple[Value, Sequence[LinearFunction | None]]:
    out = concatenate(parts, axis)
    derivatives, start = [], 0
    for part in parts:
        form = form_of(part)
        key = (*(slice(None),) * axis, slice(start, start + form.shape[axis]))
        start += form.shape[axis]
        derivatives.append(slot(form, form_of(out), key))
    return out, derivatives


def slot(part: Form, whole: Form, key: Any) -> LinearFunction:
    return LinearFunction(
        lambda t: ScatterAdd(whole.shape, key)(broadcast_to_dtype(t, part.shape, whole.dtype)),
        lambda g: unbroadcast(Gather(whole.shape, key)(g), part.shape, part.dtype),
    )


JOIN = Primitive("concatenate", evaluate_join, linearize_join, keeps=False)


@implements(np.concatenate)
def concatenate(parts: Any, axis: int | None = 0) -> Any:
    if axis is None:
        return concatenate([ravel(part) if isinstance(part, Tensor) else np.ravel(part) for part in parts], 0)
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
) -> tuple[Value, Sequence[LinearFunction | None]]:
    out = where(condition, a, b)
    held = data_of(condition)
    mask = held.astype(bool) if is_foreign(held) else np.array(held, bool)
    return out, [None, masked(a, out, mask), masked(b, out, ~mask)]


WHERE = Primitive("where", evaluate_where, linearize_where, keeps=False)


@implements(np.where)
def where(condition: Value, a: Value = MISSING, b: Value = MISSING) -> Any:
    if a is MISSING:
        return np.where(data_of(condition))
    return bind(WHERE, data_of(condition), a, b)


@implements(np.clip, method="clip")
def clip(x: Value, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = min if a_min is None else a_min, max if a_max is None else a_max
    if low is not None:
        x = np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


@implements(np.round, np.around, method="round")
def round_(x: Value, decimals: int = 0) -> Tensor:
    return Tensor(np.round(data_of(x), decimals), constant=True)  # flat almost everywhere, like np.rint
