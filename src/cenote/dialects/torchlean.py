"""Pooling as in TorchLean, of any spatial rank: channels first, (C, spatial…), or the spatial axes alone.

>>> import numpy as np
>>> from cenote.dialects import torchlean
>>> spec = torchlean.PoolSpec(kernel=(2, 2), stride=(1, 1), padding=(0, 0))
>>> x = np.array([[[0.0, 10.0, 8.0], [2.0, 7.0, 3.0], [5.0, 7.0, 20.0]]])
>>> torchlean.max_pool(spec, x)
array([[[10., 10.],
        [ 7., 20.]]])
>>> torchlean.max_pool_vjp(spec, x, np.ones((1, 2, 2)))
array([[[0., 2., 0.],
        [0., 1., 0.],
        [0., 0., 1.]]])
>>> torchlean.max_pool_jvp(spec, x, x / 10)
array([[[1. , 1. ],
        [0.7, 2. ]]])

Each of ``max_pool``, ``avg_pool`` and ``smooth_max_pool`` has a form on the spatial axes alone, named with
``_spatial``, and each of the six has its derivatives, named with ``_jvp`` (x and its tangent dx to the result's
tangent) and ``_vjp`` (x and the result's cotangent g to that of x). Derivatives at integers are those at the same
numbers in float64.

As there, padding is symmetric and of any size, the window of a maximum that has nothing but padding is 0, an average
counts padded cells, and a smooth maximum adds them up as zeros. Unlike there, a window that does not fit is an error,
not one window that looks past the end, and NaN is the result wherever it lies in its window.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import autodiff, pooling
from ..arguments import real_number
from ..arrays import has_nan
from ..errors import BadType, BadValue, counted, kind, public, shown
from ..rules import operand
from ..tensor import Tensor
from ._common import call, ints

__all__ = [
    "PoolSpec",
    "avg_pool",
    "avg_pool_jvp",
    "avg_pool_spatial",
    "avg_pool_spatial_jvp",
    "avg_pool_spatial_vjp",
    "avg_pool_vjp",
    "max_pool",
    "max_pool_jvp",
    "max_pool_spatial",
    "max_pool_spatial_jvp",
    "max_pool_spatial_vjp",
    "max_pool_vjp",
    "smooth_max_pool",
    "smooth_max_pool_jvp",
    "smooth_max_pool_spatial",
    "smooth_max_pool_spatial_jvp",
    "smooth_max_pool_spatial_vjp",
    "smooth_max_pool_vjp",
]

Function = Callable[[Any], Any]
NAMES = {"window": "spec.kernel", "stride": "spec.stride", "padding": "spec.padding"}


@dataclass(frozen=True)
class PoolSpec:
    """The size, the step and the padding of a window: one int for each spatial axis, the outermost first.

    >>> from cenote.dialects import torchlean
    >>> torchlean.PoolSpec((2, 3), (1, 1), (0, 1))
    PoolSpec(kernel=(2, 3), stride=(1, 1), padding=(0, 1))
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]

    def __post_init__(self) -> None:
        for name, entries in read_spec(self.kernel, self.stride, self.padding).items():
            object.__setattr__(self, name, entries)


def spec_fields(kernel: object, stride: object, padding: object) -> dict[str, tuple[int, ...]]:
    size = ints("kernel", kernel, 1)
    if not size:
        raise BadValue(f"kernel={shown(kernel)} is empty: one int for each spatial axis is needed")
    return {
        "kernel": size,
        "stride": ints("stride", stride, 1, count=len(size)),
        "padding": ints("padding", padding, 0, count=len(size)),
    }


spec_fields.__name__ = "PoolSpec"  # the call that the user wrote
read_spec = public(spec_fields)


# ---------------------------------------------------------------------------------------------------- maximum


@public
def max_pool(spec: PoolSpec, x: ArrayLike) -> Any:
    """The largest cell of each window, of each channel: (C, spatial…) → (C, spatial'…).

    >>> import numpy as np
    >>> from cenote.dialects import torchlean
    >>> torchlean.max_pool(torchlean.PoolSpec((2,), (1,), (2,)), np.array([[-3.0, -5.0]]))
    array([[ 0., -3., -3., -5.,  0.]])

    Padded cells are never chosen; a window of nothing else is 0, and has no derivative.
    """
    return hard(spec)(cells(spec, x, 1))


@public
def max_pool_jvp(spec: PoolSpec, x: ArrayLike, dx: ArrayLike) -> Any:
    """The tangent of :func:`max_pool` at ``x`` along ``dx``: that of each window's first largest cell."""
    return pushed(hard(spec), cells(spec, x, 1), dx)


@public
def max_pool_vjp(spec: PoolSpec, x: ArrayLike, g: ArrayLike) -> Any:
    """The cotangent of ``x`` for the cotangent ``g`` of :func:`max_pool`: to each window's first largest cell."""
    return pulled(hard(spec), cells(spec, x, 1), g)


@public
def max_pool_spatial(spec: PoolSpec, x: ArrayLike) -> Any:
    """:func:`max_pool` of one channel, without the channel axis.

    >>> import numpy as np
    >>> from cenote.dialects import torchlean
    >>> torchlean.max_pool_spatial(torchlean.PoolSpec((2,), (2,), (0,)), np.array([1.0, 3.0, 2.0, 0.0]))
    array([3., 2.])
    """
    return hard(spec)(cells(spec, x, 0))


@public
def max_pool_spatial_jvp(spec: PoolSpec, x: ArrayLike, dx: ArrayLike) -> Any:
    """:func:`max_pool_jvp` without the channel axis."""
    return pushed(hard(spec), cells(spec, x, 0), dx)


@public
def max_pool_spatial_vjp(spec: PoolSpec, x: ArrayLike, g: ArrayLike) -> Any:
    """:func:`max_pool_vjp` without the channel axis."""
    return pulled(hard(spec), cells(spec, x, 0), g)


# ---------------------------------------------------------------------------------------------------- average


@public
def avg_pool(spec: PoolSpec, x: ArrayLike) -> Any:
    """The average of each window, of each channel: (C, spatial…) → (C, spatial'…).

    >>> import numpy as np
    >>> from cenote.dialects import torchlean
    >>> spec = torchlean.PoolSpec((2,), (2,), (1,))
    >>> torchlean.avg_pool(spec, np.array([[1.0, 2.0, 4.0]]))
    array([[0.5, 3. ]])
    >>> torchlean.avg_pool_vjp(spec, np.zeros((1, 3)), np.array([[10.0, 20.0]]))
    array([[ 5., 10., 10.]])

    Padded cells are zeros, and are counted.
    """
    return average(spec)(cells(spec, x, 1))


@public
def avg_pool_jvp(spec: PoolSpec, x: ArrayLike, dx: ArrayLike) -> Any:
    """The tangent of :func:`avg_pool` at ``x`` along ``dx``: its average."""
    return pushed(average(spec), cells(spec, x, 1), dx)


@public
def avg_pool_vjp(spec: PoolSpec, x: ArrayLike, g: ArrayLike) -> Any:
    """The cotangent of ``x`` for the cotangent ``g`` of :func:`avg_pool`: spread evenly over each window."""
    return pulled(average(spec), cells(spec, x, 1), g)


@public
def avg_pool_spatial(spec: PoolSpec, x: ArrayLike) -> Any:
    """:func:`avg_pool` of one channel, without the channel axis."""
    return average(spec)(cells(spec, x, 0))


@public
def avg_pool_spatial_jvp(spec: PoolSpec, x: ArrayLike, dx: ArrayLike) -> Any:
    """:func:`avg_pool_jvp` without the channel axis."""
    return pushed(average(spec), cells(spec, x, 0), dx)


@public
def avg_pool_spatial_vjp(spec: PoolSpec, x: ArrayLike, g: ArrayLike) -> Any:
    """:func:`avg_pool_vjp` without the channel axis."""
    return pulled(average(spec), cells(spec, x, 0), g)


# --------------------------------------------------------------------------------------------- smooth maximum


@public
def smooth_max_pool(spec: PoolSpec, beta: float, x: ArrayLike) -> Any:
    """(1/β)·log Σ exp(β·x) over each window, of each channel: (C, spatial…) → (C, spatial'…).

    >>> import numpy as np
    >>> from cenote.dialects import torchlean
    >>> spec, x = torchlean.PoolSpec((2,), (2,), (0,)), np.array([[0.0, 0.0, 5.0, 1.0]])
    >>> torchlean.smooth_max_pool(spec, 1.0, x).round(4)
    array([[0.6931, 5.0181]])
    >>> torchlean.smooth_max_pool(spec, -1.0, x).round(4)  # a smooth minimum
    array([[-0.6931,  0.9819]])
    >>> torchlean.smooth_max_pool_vjp(spec, 1.0, x, np.ones((1, 2))).round(4)  # softmax of each window
    array([[0.5  , 0.5  , 0.982, 0.018]])

    Any finite ``beta`` but 0. Padded cells are zeros, which are part of the sum.
    """
    return smooth(spec, beta)(cells(spec, x, 1))


@public
def smooth_max_pool_jvp(spec: PoolSpec, beta: float, x: ArrayLike, dx: ArrayLike) -> Any:
    """The tangent of :func:`smooth_max_pool` at ``x`` along ``dx``: its mean by softmax(β·x) over each window."""
    return pushed(smooth(spec, beta), cells(spec, x, 1), dx)


@public
def smooth_max_pool_vjp(spec: PoolSpec, beta: float, x: ArrayLike, g: ArrayLike) -> Any:
    """The cotangent of ``x`` for the cotangent ``g`` of :func:`smooth_max_pool`: shared by softmax(β·x)."""
    return pulled(smooth(spec, beta), cells(spec, x, 1), g)


@public
def smooth_max_pool_spatial(spec: PoolSpec, beta: float, x: ArrayLike) -> Any:
    """:func:`smooth_max_pool` of one channel, without the channel axis."""
    return smooth(spec, beta)(cells(spec, x, 0))


@public
def smooth_max_pool_spatial_jvp(spec: PoolSpec, beta: float, x: ArrayLike, dx: ArrayLike) -> Any:
    """:func:`smooth_max_pool_jvp` without the channel axis."""
    return pushed(smooth(spec, beta), cells(spec, x, 0), dx)


@public
def smooth_max_pool_spatial_vjp(spec: PoolSpec, beta: float, x: ArrayLike, g: ArrayLike) -> Any:
    """:func:`smooth_max_pool_vjp` without the channel axis."""
    return pulled(smooth(spec, beta), cells(spec, x, 0), g)


# ------------------------------------------------------------------------------- what a spec says, as a function


def hard(spec: object) -> Function:
    spec = checked(spec)

    def pool(x: Any) -> Any:
        window = {"window": spec.kernel, "stride": spec.stride, "padding": spec.padding}
        spatial = x.shape[-len(spec.kernel) :]
        if 0 not in spatial and all(p < k for p, k in zip(spec.padding, spec.kernel, strict=True)):
            return call(pooling.max_pool, NAMES, x, **window)
        values, indices = call(pooling.max_pool, NAMES, x, **window, return_indices=True)
        return np.where(indices < 0, np.zeros((), values.dtype), values)

    return pool


def average(spec: object) -> Function:
    spec = checked(spec)
    # The divisor is the number of cells in the padded array, and without ceil_mode windows lie inside of that.
    return lambda x: call(pooling.avg_pool, NAMES, x, window=spec.kernel, stride=spec.stride, padding=spec.padding)


def smooth(spec: object, beta: object) -> Function:
    spec = checked(spec)
    sharpness = real_number("beta", beta)
    if sharpness == 0 or not math.isfinite(sharpness):
        raise BadValue(f"beta={shown(beta)}: a finite number other than 0 is needed")
    return lambda x: call(
        pooling.smooth_max_pool,
        NAMES, x, window=spec.kernel, stride=spec.stride, padding=spec.padding, beta=sharpness, pad_value=0.0,
    )  # fmt: skip


def checked(spec: object) -> PoolSpec:
    if not isinstance(spec, PoolSpec):
        raise BadType(f"spec={shown(spec)}: a PoolSpec is needed, not {kind(spec)}")
    return spec


def cells(spec: PoolSpec, x: object, channels: int) -> Any:
    data = operand(x)
    needed = len(spec.kernel) + channels
    if data.ndim != needed:
        layout = "(channels, spatial…)" if channels else "(spatial…)"
        raise BadValue(
            f"x has shape {shown(data.shape)}: spec.kernel={shown(spec.kernel)} needs "
            f"{counted(needed, 'axis', 'axes')}, {layout}"
        )
    return data


# ------------------------------------------------------------------------------------------------- derivatives


def pushed(f: Function, x: Any, dx: object) -> Any:
    _, push = call(autodiff.linearize, NAMES, f, differentiable(x))
    return like(push(direction("dx", dx, "x", x)), x, dx)


def pulled(f: Function, x: Any, g: object) -> Any:
    y, pull = call(autodiff.vjp, NAMES, f, differentiable(x))
    return like(pull(direction("g", g, "the result", y))[0], x, g)


def differentiable(x: Any) -> Any:
    """Integers are numbers here like any others, not constants."""
    return x if has_nan(x.dtype) else x.astype(np.float64)


def direction(name: str, given: object, of: str, point: Any) -> Any:
    """A tangent or cotangent, which has the shape of what it belongs to."""
    data = operand(given, name)
    if data.shape != point.shape:
        raise BadValue(f"{name} has shape {shown(data.shape)}, {of} has {shown(point.shape)}: they must agree")
    if data.dtype.kind == "c" and point.dtype.kind != "c":
        raise BadType(f"{name} has dtype {data.dtype}, {of} has {point.dtype}: real numbers are needed")
    return data


def like(out: Any, *given: object) -> Any:
    """Tensors give a Tensor, a constant one where the derivative does not depend on them."""
    if isinstance(out, Tensor) or not any(isinstance(value, Tensor) for value in given):
        return out
    return Tensor(out, constant=True)
