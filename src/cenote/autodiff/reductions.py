"""NumPy's functions on Tensors that make few numbers of many: sums, averages, products, extremes, norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arguments.errors import format_value
from ..dtypes import accumulator, is_complex, is_exact, is_half, native
from .functions import Axes, astype, concatenate, getitem, implements, normal_axes, ravel, reshape, transpose
from .graph import Value
from .linear import CumulativeSum, SumTo
from .tensor import UFUNCS, Tensor, data_of


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def without(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def in_a_line(x: Value, axes: tuple[int, ...]) -> Value:
    """All of ``axes`` as one, in front."""
    shape = data_of(x).shape
    rest = [a for a in range(len(shape)) if a not in axes]
    return reshape(transpose(x, [*axes, *rest]), (math.prod(shape[a] for a in axes), *(shape[a] for a in rest)))


def exact(x: Value) -> bool:
    """Whether these are integers or bool: NumPy then has rules of its own, and there is nothing to derive."""
    return is_exact(data_of(x).dtype)


def wide(x: Value) -> Value:
    """What NumPy averages in: integers as float64, half precision as single."""
    dtype = data_of(x).dtype
    if is_complex(dtype):
        raise TypeError("the magnitude of a complex number has no complex derivative: use its real and imaginary part")
    return astype(x, np.float64) if exact(x) else astype(x, accumulator(dtype)) if is_half(dtype) else x


def narrow(y: Value, like: Value) -> Value:
    """An average of half precision, which was taken in single, as half again."""
    dtype = native(data_of(like).dtype)
    return y if exact(like) or data_of(y).dtype == dtype else astype(y, dtype)


def root(total: Value) -> Value:
    """The square root of a sum of squares, which is 0 only where all of them are: its derivative there is 0."""
    zero = data_of(total) == 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, total)))


@implements(np.sum, method="sum")
def sum_(x: Value, axis: Axes = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    if dtype is not None:
        x = astype(x, dtype)
    held = data_of(x)
    if is_exact(held.dtype):
        return Tensor(held.sum(axis=axis, keepdims=keepdims))
    if axis is None and not keepdims:
        return SumTo(held.shape, ())(x)
    axes = normal_axes(axis, held.ndim)
    if not keepdims and sorted(axes) == list(range(len(axes))):  # leading axes: one map
        return SumTo(held.shape, without(held.shape, axes))(x)
    total = SumTo(held.shape, kept_shape(held.shape, axes))(x)
    return total if keepdims else reshape(total, without(held.shape, axes))


@implements(np.mean, method="mean")
def mean(x: Value, axis: Axes = None, *, keepdims: bool = False) -> Any:
    shape = data_of(x).shape
    count = math.prod(shape[a] for a in normal_axes(axis, len(shape)))
    if is_complex(data_of(x).dtype):
        return np.true_divide(sum_(x, axis, keepdims=keepdims), count)
    return narrow(np.true_divide(sum_(wide(x), axis, keepdims=keepdims), count), x)


@implements(np.var, method="var")
def var(x: Value, axis: Axes = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    return narrow(variance(wide(x), axis, ddof, keepdims), x)


@implements(np.std, method="std")
def std(x: Value, axis: Axes = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    return narrow(root(variance(wide(x), axis, ddof, keepdims)), x)


def variance(x: Value, axis: Axes, ddof: float, keepdims: bool) -> Value:
    shape = data_of(x).shape
    count = math.prod(shape[a] for a in normal_axes(axis, len(shape)))
    spread = np.square(np.subtract(x, mean(x, axis, keepdims=True)))
    return np.true_divide(sum_(spread, axis, keepdims=keepdims), count - ddof)


@implements(np.prod, method="prod")
def prod(x: Value, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """By halves: no division, so that zeros are like any other number."""
    held = data_of(x)
    axes = normal_axes(axis, held.ndim)
    line = in_a_line(x, axes)
    if exact(x) or not data_of(line).shape[0]:
        return Tensor(held.prod(axis=axis, keepdims=keepdims), constant=True)
    while (n := data_of(line).shape[0]) > 1:
        half = n // 2
        product = np.multiply(getitem(line, slice(0, half)), getitem(line, slice(half, 2 * half)))
        line = concatenate([product, getitem(line, slice(2 * half, n))]) if n % 2 else product
    return reshape(getitem(line, 0), kept_shape(held.shape, axes) if keepdims else without(held.shape, axes))


def extreme(x: Value, axis: Axes, keepdims: bool, find: Any) -> Any:
    """The first of the largest or smallest elements."""
    shape = data_of(x).shape
    axes = normal_axes(axis, len(shape))
    line = in_a_line(x, axes)
    at = find(data_of(line), axis=0)
    picked = getitem(line, (at, *np.indices(at.shape, sparse=True)))
    return reshape(picked, kept_shape(shape, axes) if keepdims else without(shape, axes))


@implements(np.max, np.amax, method="max")
def max_(x: Value, axis: Axes = None, *, keepdims: bool = False) -> Any:
    return extreme(x, axis, keepdims, np.argmax)


@implements(np.min, np.amin, method="min")
def min_(x: Value, axis: Axes = None, *, keepdims: bool = False) -> Any:
    return extreme(x, axis, keepdims, np.argmin)


@implements(np.cumsum, method="cumsum")
def cumsum(x: Value, axis: int | None = None) -> Any:
    if exact(x):
        return Tensor(np.cumsum(data_of(x), axis))
    return cumsum(ravel(x), 0) if axis is None else CumulativeSum(axis)(x)


@implements(np.linalg.norm)
def norm(x: Value, ord: Any = None, axis: Axes = None, *, keepdims: bool = False) -> Any:
    axes = len(normal_axes(axis, data_of(x).ndim))
    if not (ord is None or (ord == "fro" and axes == 2) or (ord == 2 and axes == 1)):
        raise ValueError(
            f"np.linalg.norm: ord={format_value(ord)} over {axes} axes: Tensors have the Euclidean norm only"
        )
    return narrow(root(sum_(np.square(wide(x)), axis, keepdims=keepdims)), x)


UFUNCS[(np.add, "reduce")] = lambda x, axis=0, keepdims=False: sum_(x, axis, keepdims=keepdims)
UFUNCS[(np.multiply, "reduce")] = lambda x, axis=0, keepdims=False: prod(x, axis, keepdims=keepdims)
UFUNCS[(np.maximum, "reduce")] = lambda x, axis=0, keepdims=False: max_(x, axis, keepdims=keepdims)
UFUNCS[(np.minimum, "reduce")] = lambda x, axis=0, keepdims=False: min_(x, axis, keepdims=keepdims)
