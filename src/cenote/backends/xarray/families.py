"""What the arguments of each kind of function mean by the names of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arguments.errors import Argument, BadType, BadValue, describe_type, format_value
from ...arguments.operations import positional, signature
from ...arguments.values import as_sequence, choice
from ...geometry.conv import conv_geometry
from . import is_a, is_labelled
from .names import (
    BY_DIMENSION,
    Axes,
    Names,
    axes_of_bins,
    listed,
    named_axes,
    per_dimension,
    sizes_by_name,
    whole_axes,
    window_axes,
)

Given = dict[str, Any]


@dataclass(frozen=True)
class NamedCall:
    """What a call by name is: its windows, and the arguments of the function for a variable with these dimensions."""

    names: Names  # of the dimensions that change, in the window's order
    arguments: Callable[[Names], Given]
    axes: Axes = field(default_factory=dict)  # of those whose windows have coordinates
    by_axes: bool = True  # whether the function takes axes=
    whole: bool = False  # whether a variable needs all of the dimensions
    center: Callable[[int], int] | None = None  # of filters: the element that a result belongs to, by their span
    indices: Any = None


# ------------------------------------------------------------------------------------------- kinds of functions


def windowed(obj: Any, given: Given) -> NamedCall:
    padding = given.pop("padding", 0)
    window = sizes_by_name("window", given.pop("window"), given.pop("axes", None), tuple(obj.dims))
    stride, dilation = given.pop("stride", None), given.pop("dilation", 1)
    axes = window_axes(window, stride, padding, dilation, given.get("ceil_mode", False), obj.sizes)
    return NamedCall(tuple(axes), lambda names: {**given, **window_arguments([axes[n] for n in names], padding)}, axes)


def window_arguments(axes: list[Any], padding: Any) -> Given:
    pairs = tuple((axis.low, axis.high) for axis in axes)
    return {
        "window": tuple(axis.k for axis in axes),
        "stride": tuple(axis.s for axis in axes),
        "padding": padding if isinstance(padding, str) else pairs,
        "dilation": tuple(axis.d for axis in axes),
    }


def adaptive(obj: Any, given: Given) -> NamedCall:
    size = sizes_by_name("output_size", given.pop("output_size"), given.pop("axes", None), tuple(obj.dims))
    axes = axes_of_bins(size, obj.sizes)
    return NamedCall(tuple(axes), lambda names: {**given, "output_size": tuple(size[n] for n in names)}, axes)


def over_whole(obj: Any, given: Given) -> NamedCall:
    axes = whole_axes(named_axes(given.pop("axes"), tuple(obj.dims)), obj.sizes)
    return NamedCall(tuple(axes), lambda names: given, axes)


def unpooled(obj: Any, given: Given) -> NamedCall:
    """The coordinates of the elements that were pooled are not known: those dimensions have none."""
    indices = given.pop("indices")
    if type(indices) is not type(obj):
        raise BadType(f"indices is {describe_type(indices)}, y is {describe_type(obj)}: they must be of one kind")
    window = sizes_by_name("window", given.pop("window"), given.pop("axes", None), tuple(obj.dims))
    stride = per_dimension("stride", given.pop("stride", None), window)
    padding = given.pop("padding", 0)
    pads = per_dimension("padding", padding, dict.fromkeys(window, 0))
    dilation = per_dimension("dilation", given.pop("dilation", 1), dict.fromkeys(window, 1))
    shape = given.pop("output_shape", None)
    sizes = None if shape is None else all_of("output_shape", shape, window)

    def arguments(names: Names) -> Given:
        return {
            **given,
            "window": tuple(window[n] for n in names),
            "stride": tuple(stride[n] for n in names),
            "padding": padding if isinstance(padding, str) else in_pairs(pads[n] for n in names),
            "dilation": tuple(dilation[n] for n in names),
            "output_shape": None if sizes is None else tuple(sizes[n] for n in names),
        }

    return NamedCall(tuple(window), arguments, indices=indices)


def in_pairs(values: Iterable[Any]) -> tuple[Any, ...]:
    """Padding of one dimension each, an int or a (low, high) pair, as pairs."""
    return tuple(value if as_sequence(value) is not None else (value, value) for value in values)


def all_of(argument: str, value: Any, window: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    """A size for each dimension of the window."""
    if isinstance(value, Mapping):
        missing = [name for name in window if name not in value]
        if missing:
            raise BadValue(Argument(argument), f"={format_value(value)}: the size of {listed(missing)} is missing")
    return per_dimension(argument, value, window)


def filtered(obj: Any, given: Given) -> NamedCall:
    k, axes = given.pop("k"), given.pop("axes", None)
    if is_labelled(k):  # whose dimensions say where it lies
        if not is_a(k, "DataArray"):
            raise BadType("k is a Dataset: one array is needed")
        if axes is not None:
            raise BadValue(f"axes={format_value(axes)}: the dimensions of k name the axes already, leave axes out")
        names, k = named_axes(k.dims, tuple(obj.dims)), k.data
    elif axes is None:
        raise BadType("axes is missing, the dimensions to filter along", BY_DIMENSION)
    else:
        names = named_axes(axes, tuple(obj.dims))
    shape = np.shape(k)
    if len(shape) != len(names):
        raise BadValue(f"k has shape {shape}, axes={format_value(axes)}: name one dimension for each axis of k")
    window = dict(zip(names, shape, strict=True))
    mode = choice("mode", given.get("mode", "full"), ("full", "same", "valid"))
    stride = per_dimension("stride", given.pop("stride", 1), dict.fromkeys(names, 1))
    dilation = per_dimension("dilation", given.pop("dilation", 1), dict.fromkeys(names, 1))
    pads: dict[Hashable, Any] = {}
    for name, taps in window.items():
        span = (taps - 1) * dilation[name] if isinstance(dilation[name], int) else 0
        pads[name] = (span, span) if mode == "full" else ((span + 1) // 2, span // 2) if mode == "same" else 0
    axes = window_axes(window, stride, pads, dilation, False, obj.sizes)

    def arguments(names: Names) -> Given:
        strides, dilations = tuple(stride[n] for n in names), tuple(dilation[n] for n in names)
        return {**given, "k": k, "stride": strides, "dilation": dilations}

    return NamedCall(names, arguments, axes, whole=True, center=lambda span: (span + 1) // 2)


def convolved(obj: Any, given: Given) -> NamedCall:
    """Convolution with channels goes by position, as ``layout`` says; the dimensions keep their names."""
    spatial, channel = positions(obj, given)
    options: Given = {name: given.get(name, default) for name, default in CONV_DEFAULTS.items()}
    geometry = conv_geometry(obj.shape, np.shape(given["w"]), **options)
    axes = dict(zip(spatial, geometry.axes, strict=True))
    return NamedCall((*spatial, *channel), lambda names: given, axes, by_axes=False, center=lambda span: span // 2)


def transposed(obj: Any, given: Given) -> NamedCall:
    """The results lie between the elements: the spatial dimensions have no coordinates."""
    spatial, channel = positions(obj, given)
    return NamedCall((*spatial, *channel), lambda names: given, by_axes=False)


CONV_DEFAULTS = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "layout": "channels_last"}


def positions(obj: Any, given: Given) -> tuple[Names, Names]:
    """The spatial dimensions and that of the channels, after which arguments by name are in order."""
    for name in ("w", "bias"):
        if is_labelled(given.get(name)):
            raise BadType(f"{name} is {describe_type(given[name])}, and filters go by position: pass {name}.data")
    if not is_a(obj, "DataArray"):
        raise BadType("x is a Dataset, and a convolution takes one array: pass one of its variables, such as x[name]")
    layouts = ("channels_last", "channels_first")
    first = choice("layout", given.get("layout", layouts[0]), layouts) == layouts[1]
    rank = max(np.ndim(given["w"]) - 2, 0)
    last = max(obj.ndim - 1 + first, 0)
    begin = max(last - rank, 0)
    spatial = tuple(obj.dims[begin:last])
    for name in ("stride", "padding", "dilation", "output_padding", "output_shape"):
        value = given.get(name)
        if isinstance(value, Mapping):
            default = CONV_DEFAULTS.get(name, 0)
            named = per_dimension(name, value, dict.fromkeys(spatial, default))
            given[name] = tuple(in_pairs(named.values()) if name == "padding" else named.values())
    return spatial, tuple(obj.dims[max(begin - 1, 0) : begin] if first else obj.dims[last:])


# By an argument of theirs: the first that a function has says of which kind it is.
FAMILIES: dict[str, Callable[[Any, Given], NamedCall]] = {
    "indices": unpooled,
    "output_size": adaptive,
    "output_padding": transposed,
    "w": convolved,
    "k": filtered,
    "window": windowed,
    "axes": over_whole,
}


def family_of(function: Callable[..., Any]) -> Callable[[Any, Given], NamedCall]:
    """How the arguments of an operation are read."""
    parameters = signature(function).parameters
    return next(family for name, family in FAMILIES.items() if name in parameters)


def gives_shape(function: Callable[..., Any]) -> bool:
    """Whether the result is a shape, and no array."""
    return positional(function)[0] == "shape"


def has_coordinates(function: Callable[..., Any]) -> bool:
    """Whether the result has windows to make coordinates of."""
    return not gives_shape(function) and family_of(function) not in (unpooled, transposed)
