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
tangent) and ``_vjp`` (x and the result's cotangent g to that of x). TorchLean's own names are there as well:
``max_pool_spec``, ``max_pool_jvp_spec``, ``max_pool_backward_spec``, ``max_pool_spatial_spec`` and so on, and the
adaptive and global poolings, which have no others. Each of TorchLean's names is also there in camel case,
``maxPoolSpatialSpec``. Derivatives at integers are those at the same numbers in float64.

As there, padding is symmetric and of any size, the window of a maximum that has nothing but padding is 0, an average
counts padding, and a smooth maximum adds it up as zeros. Unlike there, a window that does not fit is an error,
not one window that looks past the end, NaN is the result wherever it lies in its window, and a global maximum that
several elements have sends the gradient to the first of them, as every other maximum does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ..api import adaptive, norms, pooling, sums
from ..arguments.errors import BadType, BadValue, describe_type, format_value, pluralize, public
from ..arguments.values import Ints, per_axis, real_number
from ..backends.dispatch import operand
from ._classes import answered
from ._common import call, ints
from ._missing import missing_names
from ._sections import with_sections
from ._torchlean import NAMES, TEXTS, Function, camel_case, form, forms, pulled, pushed, spatial, zeroed

__all__ = [
    "AvgPoolSpec", "MaxPoolSpec", "PoolSpec", "adaptive_avg_pool_backward_spec", "adaptive_avg_pool_spec",
    "adaptive_max_pool_backward_spec", "adaptive_max_pool_spec", "avg_pool", "avg_pool_backward_spec", "avg_pool_jvp",
    "avg_pool_jvp_spec", "avg_pool_spatial", "avg_pool_spatial_backward_spec", "avg_pool_spatial_jvp",
    "avg_pool_spatial_jvp_spec", "avg_pool_spatial_spec", "avg_pool_spatial_vjp", "avg_pool_spec", "avg_pool_vjp",
    "global_avg_pool_backward_spec", "global_avg_pool_flat_backward_spec", "global_avg_pool_flat_spec",
    "global_avg_pool_spec", "global_max_pool_backward_spec", "global_max_pool_flat_backward_spec",
    "global_max_pool_flat_spec", "global_max_pool_spec", "max_pool", "max_pool_backward_spec", "max_pool_jvp",
    "max_pool_jvp_spec", "max_pool_spatial", "max_pool_spatial_backward_spec", "max_pool_spatial_jvp",
    "max_pool_spatial_jvp_spec", "max_pool_spatial_spec", "max_pool_spatial_vjp", "max_pool_spec", "max_pool_vjp",
    "smooth_max_pool", "smooth_max_pool_backward_spec", "smooth_max_pool_jvp", "smooth_max_pool_jvp_spec",
    "smooth_max_pool_spatial", "smooth_max_pool_spatial_backward_spec", "smooth_max_pool_spatial_jvp",
    "smooth_max_pool_spatial_jvp_spec", "smooth_max_pool_spatial_spec", "smooth_max_pool_spatial_vjp",
    "smooth_max_pool_spec", "smooth_max_pool_vjp",
]  # fmt: skip

if not TYPE_CHECKING:  # type checkers would take any name for an attribute
    __getattr__ = missing_names(__name__, __all__)


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
        for name, entries in reader(type(self).__name__)(self.kernel, self.stride, self.padding).items():
            object.__setattr__(self, name, entries)


class MaxPoolSpec(PoolSpec):
    """TorchLean's name of a :class:`PoolSpec` for maxima; every function takes it."""


class AvgPoolSpec(PoolSpec):
    """TorchLean's name of a :class:`PoolSpec` for averages; every function takes it."""


PoolSpec.__init__ = answered(PoolSpec.__init__)  # type: ignore[method-assign]
for _spec in (PoolSpec, MaxPoolSpec, AvgPoolSpec):
    with_sections(_spec, TEXTS, {})


def spec_fields(kernel: object, stride: object, padding: object) -> dict[str, tuple[int, ...]]:
    size = ints("kernel", kernel, 1)
    if not size:
        raise BadValue(f"kernel={format_value(kernel)} is empty: one int for each spatial axis is needed")
    return {
        "kernel": size,
        "stride": ints("stride", stride, 1, count=len(size)),
        "padding": ints("padding", padding, 0, count=len(size)),
    }


def reader(name: str) -> Callable[[object, object, object], dict[str, tuple[int, ...]]]:
    """:func:`spec_fields` under the name of the class that the user called."""

    def read(kernel: object, stride: object, padding: object) -> dict[str, tuple[int, ...]]:
        return spec_fields(kernel, stride, padding)

    read.__name__ = name
    return public(read)


# ---------------------------------------------------------------------------------------------------- maximum


def _max_pool(channels: int, spec: PoolSpec, x: ArrayLike) -> Any:
    """The largest element of each window, of each channel: (C, spatial…) → (C, spatial'…).

    >>> import numpy as np
    >>> from cenote.dialects import torchlean
    >>> torchlean.max_pool(torchlean.PoolSpec((2,), (1,), (2,)), np.array([[-3.0, -5.0]]))
    array([[ 0., -3., -3., -5.,  0.]])
    >>> torchlean.max_pool_spatial(torchlean.PoolSpec((2,), (2,), (0,)), np.array([1.0, 3.0, 2.0, 0.0]))
    array([3., 2.])

    Padded elements are never chosen; a window of nothing else is 0, and has no derivative.
    """
    return hard(spec)(elements(spec, x, channels))


def _max_pool_jvp(channels: int, spec: PoolSpec, x: ArrayLike, dx: ArrayLike) -> Any:
    """The tangent of :func:`max_pool` at ``x`` along ``dx``: that of each window's first largest element."""
    return pushed(hard(spec), elements(spec, x, channels), dx)


def _max_pool_vjp(channels: int, spec: PoolSpec, x: ArrayLike, g: ArrayLike) -> Any:
    """The cotangent of ``x`` for the cotangent ``g`` of :func:`max_pool`: to each window's first largest element."""
    return pulled(hard(spec), elements(spec, x, channels), g)


max_pool, max_pool_spatial, max_pool_spec, max_pool_spatial_spec = forms(_max_pool)
max_pool_jvp, max_pool_spatial_jvp, max_pool_jvp_spec, max_pool_spatial_jvp_spec = forms(_max_pool_jvp)
max_pool_vjp, max_pool_spatial_vjp, max_pool_backward_spec, max_pool_spatial_backward_spec = forms(_max_pool_vjp)


# ---------------------------------------------------------------------------------------------------- average


def _avg_pool(channels: int, spec: PoolSpec, x: ArrayLike) -> Any:
    """The average of each window, of each channel: (C, spatial…) → (C, spatial'…).

    >>> import numpy as np
    >>> from cenote.dialects import torchlean
    >>> spec = torchlean.PoolSpec((2,), (2,), (1,))
    >>> torchlean.avg_pool(spec, np.array([[1.0, 2.0, 4.0]]))
    array([[0.5, 3. ]])
    >>> torchlean.avg_pool_vjp(spec, np.zeros((1, 3)), np.array([[10.0, 20.0]]))
    array([[ 5., 10., 10.]])

    Padded elements are zeros, and count.
    """
    return average(spec)(elements(spec, x, channels))


def _avg_pool_jvp(channels: int, spec: PoolSpec, x: ArrayLike, dx: ArrayLike) -> Any:
    """The tangent of :func:`avg_pool` at ``x`` along ``dx``: its average."""
    return pushed(average(spec), elements(spec, x, channels), dx)


def _avg_pool_vjp(channels: int, spec: PoolSpec, x: ArrayLike, g: ArrayLike) -> Any:
    """The cotangent of ``x`` for the cotangent ``g`` of :func:`avg_pool`: spread evenly over each window."""
    return pulled(average(spec), elements(spec, x, channels), g)


avg_pool, avg_pool_spatial, avg_pool_spec, avg_pool_spatial_spec = forms(_avg_pool)
avg_pool_jvp, avg_pool_spatial_jvp, avg_pool_jvp_spec, avg_pool_spatial_jvp_spec = forms(_avg_pool_jvp)
avg_pool_vjp, avg_pool_spatial_vjp, avg_pool_backward_spec, avg_pool_spatial_backward_spec = forms(_avg_pool_vjp)


# --------------------------------------------------------------------------------------------- smooth maximum


def _smooth_max_pool(channels: int, spec: PoolSpec, beta: float, x: ArrayLike) -> Any:
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

    Any finite ``beta`` but 0. Padded elements are zeros, which are part of the sum.
    """
    return smooth(spec, beta)(elements(spec, x, channels))


def _smooth_max_pool_jvp(channels: int, spec: PoolSpec, beta: float, x: ArrayLike, dx: ArrayLike) -> Any:
    """The tangent of :func:`smooth_max_pool` at ``x`` along ``dx``: its mean by softmax(β·x) over each window."""
    return pushed(smooth(spec, beta), elements(spec, x, channels), dx)


def _smooth_max_pool_vjp(channels: int, spec: PoolSpec, beta: float, x: ArrayLike, g: ArrayLike) -> Any:
    """The cotangent of ``x`` for the cotangent ``g`` of :func:`smooth_max_pool`: shared by softmax(β·x)."""
    return pulled(smooth(spec, beta), elements(spec, x, channels), g)


smooth_max_pool, smooth_max_pool_spatial, smooth_max_pool_spec, smooth_max_pool_spatial_spec = forms(_smooth_max_pool)
(
    smooth_max_pool_jvp,
    smooth_max_pool_spatial_jvp,
    smooth_max_pool_jvp_spec,
    smooth_max_pool_spatial_jvp_spec,
) = forms(_smooth_max_pool_jvp)
(
    smooth_max_pool_vjp,
    smooth_max_pool_spatial_vjp,
    smooth_max_pool_backward_spec,
    smooth_max_pool_spatial_backward_spec,
) = forms(_smooth_max_pool_vjp)


# ------------------------------------------------------------------------------------------ adaptive and global


def _adaptive_pool(function: Function, output_size: Ints, x: ArrayLike) -> Any:
    """The {} of each of ``output_size`` bins, which cover the spatial axes: (C, spatial…) → (C, *output_size).

    >>> import numpy as np
    >>> from cenote.dialects import torchlean
    >>> torchlean.adaptive_avg_pool_spec((3,), np.array([[1.0, 2.0, 3.0, 4.0, 5.0]]))
    array([[1.5, 3. , 4.5]])
    >>> torchlean.adaptive_max_pool_spec(5, np.array([[1.0, 2.0, 3.0]]))
    array([[1., 2., 2., 3., 3.]])

    ``output_size`` is an int or one int per spatial axis. Bin i of o on n elements goes from floor(i·n/o) to
    ceil((i+1)·n/o).
    """
    return binned(function, output_size, data := spatial(x))(data)


def _adaptive_pool_backward(function: Function, output_size: Ints, x: ArrayLike, g: ArrayLike) -> Any:
    """The cotangent of ``x`` for the cotangent ``g`` of :func:`adaptive_{}_pool_spec`."""
    return pulled(binned(function, output_size, data := spatial(x)), data, g)


def _global_pool(function: Function, x: ArrayLike) -> Any:
    """The {} of each channel: (C, spatial…) → {}.

    >>> import numpy as np
    >>> from cenote.dialects import torchlean
    >>> x = np.arange(8.0).reshape(2, 2, 2)
    >>> torchlean.global_avg_pool_spec(x).shape, torchlean.global_avg_pool_flat_spec(x)
    ((2, 1, 1), array([1.5, 5.5]))
    >>> torchlean.global_max_pool_flat_backward_spec(x, np.array([1.0, 2.0]))[:, 1]
    array([[0., 1.],
           [0., 2.]])
    """
    return function(spatial(x))


def _global_pool_backward(function: Function, x: ArrayLike, g: ArrayLike) -> Any:
    """The cotangent of ``x`` for the cotangent ``g`` of :func:`global_{}_pool{}_spec`."""
    return pulled(function, spatial(x), g)


def binned(function: Function, output_size: object, x: Any) -> Function:
    sizes = per_axis("output_size", output_size, x.ndim - 1, 0)
    return lambda x: call(function, NAMES, x, sizes, axes=tuple(range(1, x.ndim)))


def whole(function: Function) -> Function:
    return lambda x: call(function, NAMES, x, axes=tuple(range(1, x.ndim)))


def flat(function: Function) -> Function:
    return lambda x: whole(function)(x).reshape(x.shape[:1])


AVG, MAX = adaptive.adaptive_avg_pool, adaptive.adaptive_max_pool
adaptive_avg_pool_spec = form(_adaptive_pool, AVG, "adaptive_avg_pool_spec", "average")
adaptive_max_pool_spec = form(_adaptive_pool, MAX, "adaptive_max_pool_spec", "largest element")
adaptive_avg_pool_backward_spec = form(_adaptive_pool_backward, AVG, "adaptive_avg_pool_backward_spec", "avg")
adaptive_max_pool_backward_spec = form(_adaptive_pool_backward, MAX, "adaptive_max_pool_backward_spec", "max")

MEAN, TOP = whole(adaptive.global_avg_pool), whole(adaptive.global_max_pool)
global_avg_pool_spec = form(_global_pool, MEAN, "global_avg_pool_spec", "average", "(C, 1, …)")
global_max_pool_spec = form(_global_pool, TOP, "global_max_pool_spec", "largest element", "(C, 1, …)")
global_avg_pool_backward_spec = form(_global_pool_backward, MEAN, "global_avg_pool_backward_spec", "avg", "")
global_max_pool_backward_spec = form(_global_pool_backward, TOP, "global_max_pool_backward_spec", "max", "")

FLAT_MEAN, FLAT_TOP = flat(adaptive.global_avg_pool), flat(adaptive.global_max_pool)
global_avg_pool_flat_spec = form(_global_pool, FLAT_MEAN, "global_avg_pool_flat_spec", "average", "(C,)")
global_max_pool_flat_spec = form(_global_pool, FLAT_TOP, "global_max_pool_flat_spec", "largest element", "(C,)")
global_avg_pool_flat_backward_spec = form(
    _global_pool_backward, FLAT_MEAN, "global_avg_pool_flat_backward_spec", "avg", "_flat"
)
global_max_pool_flat_backward_spec = form(
    _global_pool_backward, FLAT_TOP, "global_max_pool_flat_backward_spec", "max", "_flat"
)


# The same functions in the camel case of TorchLean's own code: maxPoolSpatialSpec and so on.
for _name in [name for name in __all__ if name.endswith("_spec")]:
    globals()[camel_case(_name)] = globals()[_name]


# ------------------------------------------------------------------------------- what a spec says, as a function


def hard(spec: object) -> Function:
    spec = checked(spec)

    def pool(x: Any) -> Any:
        window = {"window": spec.kernel, "stride": spec.stride, "padding": spec.padding}
        spatial = x.shape[-len(spec.kernel) :]
        if 0 not in spatial and all(p < k for p, k in zip(spec.padding, spec.kernel, strict=True)):
            return call(pooling.max_pool, NAMES, x, **window)
        values, indices = call(pooling.max_pool, NAMES, x, **window, return_indices=True)
        return zeroed(values, indices < 0)

    return pool


def average(spec: object) -> Function:
    spec = checked(spec)
    # The divisor is the number of elements in the padded array, and without ceil_mode windows lie inside of that.
    return lambda x: call(sums.avg_pool, NAMES, x, window=spec.kernel, stride=spec.stride, padding=spec.padding)


def smooth(spec: object, beta: object) -> Function:
    spec = checked(spec)
    sharpness = real_number("beta", beta)
    if sharpness == 0 or not math.isfinite(sharpness):
        raise BadValue(f"beta={format_value(beta)}: a finite number other than 0 is needed")
    return lambda x: call(
        norms.smooth_max_pool,
        NAMES, x, window=spec.kernel, stride=spec.stride, padding=spec.padding, beta=sharpness, pad_value=0.0,
    )  # fmt: skip


def checked(spec: object) -> PoolSpec:
    if not isinstance(spec, PoolSpec):
        raise BadType(
            f"spec={format_value(spec)}: a PoolSpec, MaxPoolSpec or AvgPoolSpec is needed, not {describe_type(spec)}"
        )
    return spec


def elements(spec: PoolSpec, x: object, channels: int) -> Any:
    data = operand(x)
    needed = len(spec.kernel) + channels
    if data.ndim != needed:
        layout = "(channels, spatial…)" if channels else "(spatial…)"
        raise BadValue(
            f"x has shape {format_value(data.shape)}: spec.kernel={format_value(spec.kernel)} needs "
            f"{pluralize(needed, 'axis', 'axes')}, {layout}"
        )
    return data
