"""How a filter lies on an array: the one place where arguments of convolutions are checked and turned into sizes.

A :class:`ConvGeometry` holds the three shapes that belong together, x, w and y of y = conv(x, w), and the axes between
them.
A transposed convolution has the same geometry, read from y to x: its data are the y, its result is the x.

Shapes are in the layout of the user: ``(*batch, *spatial, C)`` and ``(*k, C/groups, O)``, channels last, or
``(*batch, C, *spatial)`` and ``(O, C/groups, *k)``, channels first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ..arguments.errors import (
    Argument,
    BadType,
    BadValue,
    Hint,
    Misfit,
    W,
    X,
    describe_type,
    format_value,
    pluralize,
)
from ..arguments.values import addressable, as_int, as_sequence, choice, per_axis
from .axes import Axis
from .window import by_arguments, output_size, padded_axis, parse_padding

Shape: TypeAlias = tuple[int, ...]

MOST_ELEMENTS = 2**46  # on one axis, padding and the effective size of a filter included
LAYOUTS = ("channels_last", "channels_first")
WITHOUT_CHANNELS = "; correlate and convolve filter without channel axes"
NEEDS_CHANNELS = "; give x and w channel axes, of size 1 if there is one channel"
# The axes of w by layout, for a convolution and for a transposed one.
FILTERS = {
    ("conv", False): "(*k, C/groups, O)",
    ("conv", True): "(O, C/groups, *k)",
    ("conv_transpose", False): "(*k, O/groups, C)",
    ("conv_transpose", True): "(C, O/groups, *k)",
}


@dataclass(frozen=True)
class ConvGeometry:
    """x, w and y of a convolution: their shapes, and how they lie on each other."""

    axes: tuple[Axis, ...]  # at the same positions in x and in y
    groups: int
    channels_first: bool
    x: Shape
    w: Shape
    y: Shape

    @cached_property
    def core_axes(self) -> list[tuple[int, int, int, int, int, int]]:
        # A stride between less than two windows, and a distance between less than two elements, may be of any size.
        return [(a.n, a.o, a.k, a.s if a.o > 1 else 1, a.d if a.k > 1 else 1, a.low) for a in self.axes]

    def batched(self, size: int) -> ConvGeometry:
        """The same with one more leading batch axis."""
        axes = tuple(replace(axis, position=axis.position + 1) for axis in self.axes)
        return replace(self, axes=axes, x=(size, *self.x), y=(size, *self.y))

    @property
    def channel_axis(self) -> int:
        """Of x and of y."""
        return len(self.x) - 1 - (len(self.axes) if self.channels_first else 0)


@dataclass(frozen=True)
class ConvDims:
    """The sizes of the data and of w, before it is known what they give together."""

    batch: Shape
    spatial: Shape
    channels: int
    kernel: Shape
    inner: int  # the channels of one group
    outer: int  # all channels on the other side
    channels_first: bool

    def shape(self, spatial: Shape, channels: int) -> Shape:
        return (*self.batch, channels, *spatial) if self.channels_first else (*self.batch, *spatial, channels)

    @property
    def position(self) -> int:
        """The first spatial axis of the data."""
        return len(self.batch) + self.channels_first

    @property
    def channel_axis(self) -> int:
        return len(self.batch) + (0 if self.channels_first else len(self.spatial))


def dims_of(x: Shape, w: Shape, layout: object, operation: str) -> ConvDims:
    """Which axis is which."""
    first = choice("layout", layout, LAYOUTS) == "channels_first"
    if len(w) < 3:
        raise BadValue(
            W,
            f" has shape {format_value(w)}: at least 3 axes are needed, {FILTERS[operation, first]}",
            Hint(WITHOUT_CHANNELS if operation == "conv" else NEEDS_CHANNELS),
        )
    rank = len(w) - 2
    if len(x) < rank + 1:
        axes = "(*batch, C, *spatial)" if first else "(*batch, *spatial, C)"
        raise BadValue(
            X,
            f" has shape {format_value(x)}, with {pluralize(len(x), 'axis', 'axes')}: ",
            W,
            f" of shape {format_value(w)} needs at least {rank + 1}, {axes} with "
            f"{pluralize(rank, 'spatial axis', 'spatial axes')}",
        )
    kernel = w[2:] if first else w[:rank]
    if 0 in kernel:
        axis = w.index(0, 2 if first else 0)
        raise BadValue(W, f" has shape {format_value(w)}: axis {axis} is empty, and a filter has at least 1 element")
    outer, inner = w[:2] if first else (w[-1], w[-2])
    batch = x[: len(x) - rank - 1]
    spatial = x[len(x) - rank :] if first else x[len(batch) : -1]
    return ConvDims(batch, spatial, x[len(batch)] if first else x[-1], kernel, inner, outer, first)


def parse_groups(value: object) -> int:
    if isinstance(value, (bool, np.bool_)) or as_sequence(value) is not None or not hasattr(type(value), "__index__"):
        raise BadType(Argument("groups"), f"={format_value(value)}: an int is needed, not {describe_type(value)}")
    return as_int("groups", value, value, 1)


def check_extent(axis: Axis, w: Shape) -> None:
    """The core counts elements in 64 bits, and needs room for products of what it counts."""
    effective = axis.d * (axis.k - 1) + 1
    total = axis.n + axis.low + axis.high + effective
    if total > MOST_ELEMENTS:
        raise BadValue(
            W,
            f" has shape {format_value(w)}: on axis {axis.position} of ",
            X,
            f" its effective size ({axis.k} - 1)*{axis.d} + 1, "
            f"padding {axis.low} + {axis.high} and {axis.n} elements add up to {total}, the limit is {MOST_ELEMENTS}",
        )


# ----------------------------------------------------------------------------------------------- conv


def build_conv(
    x: Shape, w: Shape, stride: object, padding: object, dilation: object, groups: object, layout: object
) -> ConvGeometry:
    dims = dims_of(x, w, layout, "conv")
    rank = len(dims.kernel)
    strides, dilations = per_axis("stride", stride, rank, 1), per_axis("dilation", dilation, rank, 1)
    pads = parse_padding(padding, rank)
    number = parse_groups(groups)
    if dims.channels != dims.inner * number:
        raise BadValue(
            X,
            f" has {pluralize(dims.channels, 'channel', 'channels')}, axis {dims.channel_axis} of shape "
            f"{format_value(x)}: ",
            W,
            Misfit(
                f" of shape {format_value(w)} with groups={number} takes {dims.inner}*{number} = {dims.inner * number}",
                drawing("conv", x, w, groups=number, layout=layout),
                "channels",
            ),
        )
    if dims.outer % number:
        raise BadValue(
            Argument("groups"),
            Misfit(
                f"={number} does not divide the {dims.outer} output channels of ",
                drawing("conv", x, w, groups=number, layout=layout),
                "groups",
            ),
            W,
            f", axis {0 if dims.channels_first else rank + 1} of shape {format_value(w)}",
        )

    def what() -> tuple[str, ...]:
        return W, f" has shape {format_value(w)}, which on ", X, f" of shape {format_value(x)}"

    axes = []
    for i, (n, k, s, d) in enumerate(zip(dims.spatial, dims.kernel, strides, dilations, strict=True)):
        pad = pads if isinstance(pads, str) else pads[i]
        axis = padded_axis(dims.position + i, n, k, s, d, pad)
        check_extent(axis, w)
        if not isinstance(pad, str):
            axis = replace(axis, o=output_size(axis, False, what))
        axes.append(axis)
    y = dims.shape(tuple(axis.o for axis in axes), dims.outer)
    addressable(lambda: (W, f" has shape {format_value(w)}, ", X, f" has {format_value(x)}: the result"), y)
    return ConvGeometry(tuple(axes), number, dims.channels_first, x, w, y)


# ----------------------------------------------------------------------------------------- conv_transpose


def build_transpose(
    y: Shape,
    w: Shape,
    stride: object,
    padding: object,
    dilation: object,
    groups: object,
    output_padding: object,
    output_shape: object,
    layout: object,
) -> ConvGeometry:
    """The geometry whose y has the shape of what the user calls x."""
    dims = dims_of(y, w, layout, "conv_transpose")
    rank = len(dims.kernel)
    strides, dilations = per_axis("stride", stride, rank, 1), per_axis("dilation", dilation, rank, 1)
    pads = parse_padding(padding, rank)
    number = parse_groups(groups)
    if dims.channels != dims.outer:
        raise BadValue(
            X,
            f" has {pluralize(dims.channels, 'channel', 'channels')}, axis {dims.channel_axis} of shape "
            f"{format_value(y)}: ",
            W,
            Misfit(
                f" of shape {format_value(w)}, which is {FILTERS['conv_transpose', dims.channels_first]}, "
                f"takes {dims.outer}",
                drawing("conv_transpose", y, w, groups=number, layout=layout),
                "channels",
            ),
        )
    if dims.channels % number:
        raise BadValue(
            Argument("groups"),
            Misfit(
                f"={number} does not divide the {dims.channels} channels of ",
                drawing("conv_transpose", y, w, groups=number, layout=layout),
                "groups",
            ),
            X,
            f", axis {dims.channel_axis} of shape {format_value(y)}",
        )
    extra = parse_output_padding(output_padding, strides, dilations)
    sizes = parse_output_shape(output_shape, output_padding, extra, rank)
    axes = []
    for i, (o, k, s, d) in enumerate(zip(dims.spatial, dims.kernel, strides, dilations, strict=True)):
        position, pad = dims.position + i, pads if isinstance(pads, str) else pads[i]
        least = o * s if isinstance(pad, str) else (o - 1) * s - sum(pad) + d * (k - 1) + 1
        if sizes is None:
            n = least + extra[i]
            if n < 1 and not isinstance(pad, str):
                raise BadValue(
                    Argument("padding"),
                    f"={format_value(padding)}: on axis {position} of ",
                    X,
                    Misfit(
                        f" of shape {format_value(y)} the result would have "
                        f"{written(o, k, s, d, pad)}{f' + {extra[i]}' if extra[i] else ''} = {n} elements: "
                        "use less padding",
                        drawing(
                            "conv_transpose",
                            y,
                            w,
                            stride=strides,
                            padding=pads,
                            dilation=dilations,
                            groups=number,
                            output_padding=extra,
                            layout=layout,
                        ),
                        "size",
                    ),
                )
        else:
            n = sizes[i]
            # What "same" makes o windows of: any size that it divides into o steps, up to o whole ones.
            low = max((o - 1) * s + 1 if isinstance(pad, str) else least, 1)
            high = least + max(s, d) - 1
            if not low <= n <= high:
                rule = f"{o}*{s} = {least}" if isinstance(pad, str) else f"{written(o, k, s, d, pad)} = {least}"
                possible = f"from {low} to {high} is possible" if low <= high else "none is possible"
                raise BadValue(
                    Argument("output_shape"),
                    f"={format_value(output_shape)}: {pluralize(n, 'element', 'elements')} on axis {position} of ",
                    X,
                    f" of shape {format_value(y)}: {possible}, up to max(stride, dilation) - 1 = {max(s, d) - 1} more "
                    f"than {rule}",
                )
        if isinstance(pad, str):
            # Elements beyond o whole steps are added at the end; the padding does not know of them.
            axis = replace(padded_axis(position, min(n, least), k, s, d, pad), n=n)
        else:
            axis = padded_axis(position, n, k, s, d, pad)
        check_extent(axis, w)
        axes.append(replace(axis, o=o))
    x = dims.shape(tuple(axis.n for axis in axes), dims.inner * number)
    addressable(lambda: (W, f" has shape {format_value(w)}, ", X, f" has {format_value(y)}: the result"), x)
    return ConvGeometry(tuple(axes), number, dims.channels_first, x, w, y)


DEFAULTS = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "output_padding": 0, "layout": "channels_last"}


def drawing(op: str, x: Shape, w: Shape, **given: object) -> str:
    """The call that draws why shapes do not fit, with the arguments that are not the defaults."""
    options = (f", {name}={value!r}" for name, value in given.items() if not is_all(value, DEFAULTS[name]))
    return f'cn.explain("{op}", {x}, {w}{"".join(options)})'


def is_all(value: object, default: object) -> bool:
    """Whether a value is the default on every axis and at both ends."""
    return value == default or (isinstance(value, tuple) and all(is_all(entry, default) for entry in value))


def written(o: int, k: int, s: int, d: int, pad: tuple[int, int]) -> str:
    """The arithmetic of a size."""
    return f"({o} - 1)*{s} - {pad[0]} - {pad[1]} + ({k} - 1)*{d} + 1"


def parse_output_padding(value: object, strides: Shape, dilations: Shape) -> Shape:
    out = per_axis("output_padding", value, len(strides), 0)
    for extra, s, d in zip(out, strides, dilations, strict=True):
        if extra >= max(s, d):
            raise BadValue(
                Argument("output_padding"),
                f"={format_value(value)}: {extra} is too large, it must be less than max(stride, "
                "dilation) = "
                f"max({s}, {d}) = {max(s, d)}",
            )
    return out


def parse_output_shape(value: object, output_padding: object, extra: Shape, rank: int) -> Shape | None:
    if value is None:
        return None
    if any(extra):
        raise BadValue(
            Argument("output_shape"),
            f"={format_value(value)} and output_padding={format_value(output_padding)} are given: give one of them",
        )
    entries = as_sequence(value)
    if entries is None:
        entries = (as_int("output_shape", value, value, 0),)
    if len(entries) != rank:
        raise BadValue(
            Argument("output_shape"),
            f"={format_value(value)} has {pluralize(len(entries), 'entry', 'entries')}, ",
            W,
            f" has {pluralize(rank, 'spatial axis', 'spatial axes')}: give the size of each, and of no other axis",
        )
    return tuple(as_int("output_shape", value, entry, 0) for entry in entries)


# ------------------------------------------------------------------------------------- made once, used often


def conv_geometry(
    x: Shape, w: Shape, stride: object, padding: object, dilation: object, groups: object, layout: object
) -> ConvGeometry:
    return by_arguments(build_conv, (x, w), (stride, padding, dilation, groups, layout))


def transpose_geometry(
    y: Shape,
    w: Shape,
    stride: object,
    padding: object,
    dilation: object,
    groups: object,
    output_padding: object,
    output_shape: object,
    layout: object,
) -> ConvGeometry:
    given = (stride, padding, dilation, groups, output_padding, output_shape, layout)
    return by_arguments(build_transpose, (y, w), given)
