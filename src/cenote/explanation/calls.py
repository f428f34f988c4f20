"""The call that is explained: its function, its data, its arguments and its geometry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..api import adaptive, convolution, fold, norms, order, pooling, sums
from ..arguments.arrays import Array, as_array
from ..arguments.errors import (
    Argument,
    BadType,
    BadValue,
    describe_type,
    format_value,
    pluralize,
)
from ..arguments.values import addressable, as_int
from ..autodiff.tensor import Tensor, data_of
from ..dtypes import is_bool, is_integer
from ..geometry.axes import Axis, Geometry
from ..geometry.conv import ConvGeometry, conv_geometry, transpose_geometry
from ..geometry.window import (
    adaptive_geometry,
    global_geometry,
    parse_window,
)  # fmt: skip
from ..ops.fold import Reducer

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "max_pool": pooling.max_pool,
    "min_pool": pooling.min_pool,
    "avg_pool": sums.avg_pool,
    "sum_pool": sums.sum_pool,
    "lp_pool": norms.lp_pool,
    "smooth_max_pool": norms.smooth_max_pool,
    "median_pool": order.median_pool,
    "mode_pool": order.mode_pool,
    "pool": fold.pool,
    "adaptive_max_pool": adaptive.adaptive_max_pool,
    "adaptive_avg_pool": adaptive.adaptive_avg_pool,
    "global_max_pool": adaptive.global_max_pool,
    "global_avg_pool": adaptive.global_avg_pool,
    "conv": convolution.conv,
    "conv_transpose": convolution.conv_transpose,
}
WINDOW = ("window", "stride", "padding", "dilation", "ceil_mode", "axes")
CONV = ("stride", "padding", "dilation", "groups", "layout")
TRANSPOSE = ("stride", "padding", "dilation", "groups", "output_padding", "output_shape", "layout")
# What does not change which elements a window sees, and is not part of a picture.
NOT_EXPLAINED = ("out", "return_indices")
MOST_EXAMPLES = 2**20  # elements of example data
MOST_SEEN = 2**18  # elements of all windows that are listed


@dataclass(frozen=True)
class Fault:
    """What does not fit in a call that fails: its ``subject`` is that of :class:`..arguments.errors.Misfit`."""

    subject: str
    axes: tuple[Axis, ...]
    fitting: int = 0  # of channels: how many find a partner, or a whole group
    needed: int = 0  # of channels: how many the filters take
    whole: Array | None = None  # of a size: the result without padding, where there is one


@dataclass(frozen=True)
class Call:
    """A call with its data. ``problem`` says why it fails, where shapes do not fit; ``y`` is None then."""

    op: str
    x: Array
    w: Array | None
    arguments: Mapping[str, Any]  # all but x and w, defaults included
    given: Mapping[str, Any]  # those that the user wrote
    axes: tuple[Axis, ...]  # with o = 0 where the window does not fit
    geometry: Geometry | ConvGeometry | None
    y: Array | None
    problem: str | None
    fault: Fault | None = None  # of a call that fails

    @property
    def function(self) -> Callable[..., Any]:
        return FUNCTIONS[self.op]

    def compute(self, x: Any, **changes: Any) -> Any:
        """The call on other data of the same shape, or with other arguments."""
        first = () if self.w is None else (self.w,)
        return self.function(x, *first, **{**self.given, **changes})

    @property
    def text(self) -> str:
        """The call as it is written, with the shape in the place of the data."""
        parts = [str(self.x.shape)]
        if self.w is not None:
            parts.append(str(self.w.shape))
        parts += [f"{name}={written(value)}" for name, value in self.given.items()]
        return f"{self.op}({', '.join(parts)})"


def written(value: object) -> str:
    if callable(value):
        return function_name(value)
    return f"array{np.shape(value)}" if isinstance(value, np.ndarray) else format_value(value)


def function_name(value: object) -> str:
    """Of a function, or of that inside a ``reducer``; of another object that can be called, the name of its class."""
    function = value.fn if isinstance(value, Reducer) else value
    return str(getattr(function, "__name__", type(function).__name__))


def name_of(op: object) -> str:
    """The name of a function; ``max`` is short for ``max_pool``."""
    if any(function is op for function in FUNCTIONS.values()):
        raise BadType("op is a function, and its name is needed")
    if not isinstance(op, str):
        raise BadType(f"op={format_value(op)}: the name of a function is needed, not {describe_type(op)}")
    for name in (op, f"{op}_pool"):
        if name in FUNCTIONS:
            return name
    if op == "max_unpool":
        raise BadValue("op='max_unpool': it has no window; explain the max_pool that gave the indices")
    raise BadValue(f"op={format_value(op)}: one of {', '.join(FUNCTIONS)} is needed")


def example(shape: tuple[int, ...], low: int, high: int, integers: bool = False) -> Array:
    """Small whole numbers, the same for the same shape."""
    numbers = np.random.default_rng(7).integers(low, high, shape)
    return numbers if integers else numbers.astype(np.float64)


def data(name: str, value: object, low: int, high: int, integers: bool = False) -> tuple[Array, bool]:
    """The array that was given, or example data of the shape that was given; and whether that is too large for data.

    Then it is zeros that take no memory: enough to find that a window does not fit.
    """
    if isinstance(value, tuple) and all(isinstance(n, (int, np.integer)) for n in value):  # a list is data
        shape = tuple(as_int(name, value, n, 0) for n in value)
        addressable(lambda: (Argument(name),), shape)
        if math.prod(shape) > MOST_EXAMPLES:
            return np.broadcast_to(np.zeros((), int if integers else float), shape), True
        return example(shape, low, high, integers), False
    return as_array(data_of(value) if isinstance(value, Tensor) else value, name), False


def elements_of_window(call: Call) -> int:
    """How many elements a window has, padding and channels included."""
    channels = 1 if call.w is None else call.x.shape[channel_axis(call)] // call.arguments["groups"]
    return math.prod(axis.k for axis in call.axes) * channels


def check_seen(call: Call, windows: int) -> None:
    """Refuse to list more elements than a person can look at, or a machine keep."""
    of_one = elements_of_window(call)
    if windows * of_one > MOST_SEEN:
        raise BadValue(
            f"{pluralize(windows, 'window', 'windows')} of {pluralize(of_one, 'element', 'elements')} are too many, at "
            f"most {MOST_SEEN} elements are listed: give a smaller shape or window, or a part of the array"
        )


def geometry_of(call: Call) -> Geometry | ConvGeometry:
    given, shape = call.arguments, call.x.shape
    if call.op == "conv" and call.w is not None:
        return conv_geometry(shape, call.w.shape, *(given[name] for name in CONV))
    if call.op == "conv_transpose" and call.w is not None:
        return transpose_geometry(shape, call.w.shape, *(given[name] for name in TRANSPOSE))
    if call.op.startswith("adaptive"):
        return adaptive_geometry(shape, given["output_size"], given["axes"])
    if call.op.startswith("global"):
        return global_geometry(shape, given["axes"])
    return parse_window(*(given[name] for name in WINDOW)).on(shape)


def end_of(axis: Axis) -> int:
    """Where the last window ends."""
    if axis.lengths is not None:
        return axis.n
    return (max(axis.o, 1) - 1) * axis.s - axis.low + (axis.k - 1) * axis.d + 1


def channel_axis(call: Call) -> int:
    """Of a convolution: the axis of the channels, in ``x`` and in the result."""
    return call.x.ndim - 1 - (len(call.axes) if call.arguments["layout"] == "channels_first" else 0)


def with_derivative(x: Array) -> Array:
    """``x`` as data that can be differentiated: integers as floats of the same value."""
    return x.astype(np.float64) if is_integer(x.dtype) or is_bool(x.dtype) else x
