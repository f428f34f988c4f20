"""The call that is explained: its function, its data, its arguments and its geometry."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..api import adaptive, convolution, fold, norms, order, pooling, sums
from ..arguments.arrays import Array, as_array
from ..arguments.errors import (
    TO_SEE_IT,
    Argument,
    BadType,
    BadValue,
    Cause,
    describe_type,
    format_value,
    hints,
    pluralize,
)
from ..arguments.values import addressable, as_int, per_axis
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
MOST_EXAMPLES = 2**20  # elements of example data
MOST_SEEN = 2**18  # elements of all windows that are listed


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


def by_parameter(name: str, args: Sequence[object], options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by the names that the function has for them."""
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    by_position = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    if args[1] is not None and len(by_position) == 1:
        raise BadType(f"window_or_w={format_value(args[1])}: {name} has no window, name the axes with axes=")
    given = {n: value for n, value in zip(by_position, args, strict=False) if value is not None}
    for twice in given.keys() & options.keys():
        raise BadType(f"{twice} is given twice, by position and by name")
    return {**given, **options}


def build_call(op: object, args: Sequence[object], options: Mapping[str, Any]) -> Call:
    """The call of the function ``op`` with these arguments, by position and by name as it takes them itself."""
    name = name_of(op)
    for word in NOT_EXPLAINED:
        if word in options:
            raise BadType(f"{word} does not change what a window sees: leave it out")
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    given = by_parameter(name, args, options)
    if "x" not in given:
        raise BadType(f"x_or_shape is missing: {name} needs its input, or the shape of it")
    x_or_shape = given.pop("x")
    x, is_too_large = data("x" if "x" in options else "x_or_shape", x_or_shape, 0, 10, name == "mode_pool")
    w = window_or_w = None
    is_conv = name.startswith("conv")
    if is_conv:
        window_or_w = given.pop("w", None)
        if window_or_w is None:
            raise BadType(f"window_or_w=None: {name} needs the filters, or their shape")
        w, w_is_too_large = data("w" if "w" in options else "window_or_w", window_or_w, -1, 3)
        is_too_large |= w_is_too_large
    rest = list(parameters.items())[2 if is_conv else 1 :]
    defaults = {n: p.default for n, p in rest if p.default is not p.empty and n not in NOT_EXPLAINED}
    written = {n: given[n] for n in (*parameters, *given) if n in given}  # in the order of the signature
    call = Call(name, x, w, {**defaults, **given}, written, (), None, None, None)
    if is_too_large and axes_that_do_not_fit(call) is None:
        raise BadValue(
            f"x_or_shape={format_value(x.shape)}: example data has at most {MOST_EXAMPLES} elements: give a smaller "
            "shape, or an array"
        )
    try:
        if len(args) > max(2, sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters.values())):
            call.function(x, args[1] if w is None else w, *args[2:], **options)  # which refuses more by position
        y = np.asarray(call.compute(x))
    except (TypeError, ValueError) as error:
        axes = axes_that_do_not_fit(call) if isinstance(error, ValueError) else None
        if axes is None:
            text = hints().as_explained(str(error), name, x_or_shape, window_or_w)
            if text == str(error):
                raise
            raise type(error)(text) from None
        return replace(call, axes=axes, problem=str(error).partition(TO_SEE_IT)[0])
    geometry = geometry_of(call)
    return replace(call, axes=geometry.axes, geometry=geometry, y=y)


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
            positions = resolve_axes(window.axes, window.rank, shape, lambda: ("window",))
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
                axis = replace(axis, o=output_size(axis, ceil, lambda: ("window",)))
            except BadValue:
                fits = False
        axes.append(axis)
    return None if fits else tuple(axes)


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
