"""The call that is explained: its function, its data, its arguments and its geometry."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..api import adaptive, convolution, fold, norms, order, pooling, sums
from ..arguments.arrays import Array, as_array
from ..arguments.errors import BadType, BadValue, Cause, describe_type, format_value, pluralize
from ..arguments.values import as_int, as_sequence, per_axis
from ..autodiff.tensor import Tensor, data_of
from ..dtypes import is_bool, is_integer
from ..geometry.axes import Axis, Geometry
from ..geometry.conv import ConvGeometry, conv_geometry, dims_of, transpose_geometry
from ..geometry.window import (
    adaptive_geometry,
    global_geometry,
    output_size,
    padded_axis,
    parse_padding,
    parse_window,
    resolve_axes,
)  # fmt: skip

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
# A picture with more is not readable, and every window is listed.
MOST_ELEMENTS = 4096
MOST_WINDOWS = 1024
MOST_SEEN = 65536


@dataclass(frozen=True)
class Call:
    """A call with its data. ``problem`` says why it fails, where the window does not fit; ``y`` is None then."""

    op: str
    x: Array
    w: Array | None
    arguments: Mapping[str, Any]  # all but x and w, defaults included
    given: Mapping[str, Any]  # those that the user wrote
    axes: tuple[Axis, ...]  # with o = 0 where the window does not fit
    geometry: Geometry | ConvGeometry | None
    y: Array | None
    problem: str | None

    @property
    def function(self) -> Callable[..., Any]:
        return FUNCTIONS[self.op]

    def compute(self, x: Any, **changes: Any) -> Any:
        """The call on other data of the same shape, or with other arguments."""
        first = () if self.w is None else (self.w,)
        return self.function(x, *first, **{**self.arguments, **changes})

    @property
    def text(self) -> str:
        """The call as it is written, with the shape in the place of the data."""
        parts = [str(self.x.shape)]
        if self.w is not None:
            parts.append(str(self.w.shape))
        parts += [f"{name}={written(value)}" for name, value in self.given.items()]
        return f"{self.op}({', '.join(parts)})"


def written(value: object) -> str:
    name = getattr(value, "__name__", "")
    return name if name else f"array{np.shape(value)}" if isinstance(value, np.ndarray) else format_value(value)


def name_of(op: object) -> str:
    """The name of a function; ``max`` is short for ``max_pool``."""
    if not isinstance(op, str):
        raise BadType(f"op={format_value(op)}: the name of a function is needed, not {describe_type(op)}")
    for name in (op, f"{op}_pool"):
        if name in FUNCTIONS:
            return name
    raise BadValue(f"op={format_value(op)}: one of {', '.join(FUNCTIONS)} is needed")


def example(shape: tuple[int, ...], low: int, high: int, integers: bool = False) -> Array:
    """Small whole numbers, the same for the same shape."""
    numbers = np.random.default_rng(7).integers(low, high, shape)
    return numbers if integers else numbers.astype(np.float64)


def data(name: str, value: object, low: int, high: int, integers: bool = False) -> Array:
    """The array that was given, or example data of the shape that was given."""
    entries = as_sequence(value) if isinstance(value, (tuple, list)) else None
    if entries is not None and all(isinstance(n, (int, np.integer)) for n in entries):
        shape = tuple(as_int(name, value, n, 0) for n in entries)
        check_size(name, shape)
        return example(shape, low, high, integers)
    array = as_array(data_of(value) if isinstance(value, Tensor) else value, name)
    check_size(name, array.shape)
    return array


def check_size(name: str, shape: tuple[int, ...]) -> None:
    number = math.prod(shape)
    if number > MOST_ELEMENTS:
        raise BadValue(
            f"{name} of shape {format_value(shape)} has {number} elements, at most {MOST_ELEMENTS} are explained: "
            "give a smaller shape, or a part of the array"
        )


def build_call(op: object, x_or_shape: object, window_or_w: object, options: Mapping[str, Any]) -> Call:
    name = name_of(op)
    for word in NOT_EXPLAINED:
        if word in options:
            raise BadType(f"{word} does not change what a window sees: leave it out")
    is_conv = name.startswith("conv")
    x = data("x_or_shape", x_or_shape, 0, 10, name == "mode_pool")
    w = None
    given = dict(options)
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    if is_conv:
        if window_or_w is None:
            raise BadType(f"window_or_w=None: {name} needs the filters, or their shape")
        w = data("window_or_w", window_or_w, -1, 3)
    elif window_or_w is not None:
        second = list(parameters)[1]
        if second == "axes":
            raise BadType(f"window_or_w={format_value(window_or_w)}: {name} has no window, name the axes with axes=")
        given = {second: window_or_w, **given}
    rest = list(parameters.items())[2 if is_conv else 1 :]
    defaults = {n: p.default for n, p in rest if p.default is not p.empty and n not in NOT_EXPLAINED}
    call = Call(name, x, w, {**defaults, **given}, given, (), None, None, None)
    try:
        y = np.asarray(call.compute(x))
    except ValueError as error:
        axes = axes_that_do_not_fit(call)
        if axes is None:
            raise
        return replace(call, axes=axes, problem=str(error))
    geometry = geometry_of(call)
    if y.size > MOST_WINDOWS:
        raise BadValue(
            f"the result of {name} has {y.size} windows, shape {y.shape}, at most {MOST_WINDOWS} are explained: give a "
            "smaller shape, or a part of the array"
        )
    seen = y.size * math.prod(axis.k for axis in geometry.axes)
    if seen > MOST_SEEN:
        raise BadValue(
            f"{pluralize(y.size, 'window', 'windows')} of {seen // y.size} elements are too many, at most {MOST_SEEN} "
            "elements are explained: give a smaller window, or a larger stride"
        )
    return replace(call, axes=geometry.axes, geometry=geometry, y=y)


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


def axes_that_do_not_fit(call: Call) -> tuple[Axis, ...] | None:
    """The axes of a call that has failed, if it is because the window is larger than the padded input."""
    given, shape = call.arguments, call.x.shape
    try:
        if call.op == "conv" and call.w is not None:
            dims = dims_of(shape, call.w.shape, given["layout"], "conv")
            size, first, rank = dims.kernel, dims.position, len(dims.kernel)
            strides, dilations = (per_axis(n, given[n], rank, 1) for n in ("stride", "dilation"))
            pads, ceil, positions = parse_padding(given["padding"], rank), False, tuple(range(first, first + rank))
        elif "window" in given:
            window = parse_window(*(given[name] for name in WINDOW))
            size, strides, dilations = window.size, window.stride, window.dilation
            pads, ceil = window.padding, window.ceil_mode
            positions = resolve_axes(window.axes, window.rank, shape, ("window",))
        else:
            return None
    except Cause:
        return None
    axes, fits = [], True
    for i, position in enumerate(positions):
        pad = pads if isinstance(pads, str) else pads[i]
        axis = padded_axis(position, shape[position], size[i], strides[i], dilations[i], pad)
        if not isinstance(pad, str):
            try:
                axis = replace(axis, o=output_size(axis, ceil, ("window",)))
            except BadValue:
                fits = False
        axes.append(axis)
    return None if fits or math.prod(n.k + n.low + n.high for n in axes) > MOST_ELEMENTS else tuple(axes)


def with_derivative(x: Array) -> Array:
    """``x`` as data that can be differentiated: integers as floats of the same value."""
    return x.astype(np.float64) if is_integer(x.dtype) or is_bool(x.dtype) else x
