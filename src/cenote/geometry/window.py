"""Windows over arrays: the one place where window arguments are normalised, checked and turned into sizes.

A :class:`Window` is what the user asked for, checked and hashable. ``window.on(shape)`` lays it on an
array and gives its :class:`Geometry`: for each pooled axis how many outputs there are and which input
elements each of them sees. Everything else in the package reads those two and checks nothing again.

Notation per axis: ``n`` input size, ``o`` output size, ``k`` taps, ``s`` stride, ``d`` dilation,
``low``/``high`` padding; output ``j`` sees the elements ``j*s - low + t*d`` for ``t`` in ``0 … k-1``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from .. import cache
from ..arguments.errors import (
    MISFIT,
    WHICH_AXES,
    Argument,
    BadType,
    BadValue,
    Misfit,
    describe_type,
    format_value,
    pluralize,
)
from ..arguments.pictures import sides
from ..arguments.values import INT64_MAX, addressable, as_flag, as_index, as_int, as_sequence, per_axis
from .axes import Axis, Geometry, bins

T = TypeVar("T")
Pairs: TypeAlias = tuple[tuple[int, int], ...]
Parts: TypeAlias = tuple[str, ...]  # of a cause
Prefix: TypeAlias = Callable[[], Parts]  # called when something is wrong: formatting takes longer than checking
PADDINGS = "'valid', 'same', 'same_lower', an int, one int per axis or one (low, high) pair per axis"


# ---------------------------------------------------------------------------------------------- arguments


def parse_padding(value: object, rank: int) -> Pairs | Literal["same", "same_lower"]:
    """Every accepted form of padding as (low, high) pairs, or the name of a rule that needs the shape."""
    if isinstance(value, str):
        name = value.lower()
        if name == "valid":
            return ((0, 0),) * rank
        if name == "same":
            return "same"
        if name == "same_lower":
            return "same_lower"
        raise BadValue(Argument("padding"), f"={format_value(value)} is not known: {PADDINGS} is needed")
    entries = as_sequence(value)
    if entries is None:
        if isinstance(value, (bool, np.bool_)) or not hasattr(type(value), "__index__"):
            raise BadType(
                Argument("padding"), f"={format_value(value)}: {PADDINGS} is needed, not {describe_type(value)}"
            )
        elements = as_int("padding", value, value, 0)
        return ((elements, elements),) * rank
    if len(entries) != rank:
        raise BadValue(
            Argument("padding"),
            f"={format_value(value)} has {pluralize(len(entries), 'entry', 'entries')}, the window has "
            f"{pluralize(rank, 'axis', 'axes')}: give one int, one int per axis or one (low, high) pair per axis",
        )
    pairs = [as_sequence(entry) for entry in entries]
    if all(pair is None for pair in pairs):
        sizes = tuple(as_int("padding", value, entry, 0) for entry in entries)
        return tuple((elements, elements) for elements in sizes)
    out = []
    for entry, pair in zip(entries, pairs, strict=True):
        if pair is None or len(pair) != 2:
            raise BadValue(
                Argument("padding"),
                f"={format_value(value)}: {format_value(entry)} is not a (low, high) pair: give one int "
                "per axis "
                "or one pair per axis",
            )
        out.append((as_int("padding", value, pair[0], 0), as_int("padding", value, pair[1], 0)))
    return tuple(out)


def parse_axes(value: object) -> tuple[int, ...]:
    """``axes`` as given, negative numbers included: which array they index is not known yet."""
    entries = as_sequence(value)
    if entries is None:
        entries = (value,)
    return tuple(as_index("axes", value, entry) for entry in entries)


def agree(what: Prefix, rank: int, axes: tuple[int, ...] | None) -> None:
    """``what`` has one entry for each of ``axes``."""
    if axes is not None and len(axes) != rank:
        raise BadValue(
            *what(),
            f" has {pluralize(rank, 'entry', 'entries')}, axes={format_value(axes)} names "
            f"{pluralize(len(axes), 'axis', 'axes')}: give one entry for each axis",
        )


def resolve_axes(axes: tuple[int, ...] | None, rank: int, shape: tuple[int, ...], what: Prefix) -> tuple[int, ...]:
    """Which axes of an array of ``shape`` ``what``, which has ``rank`` entries, lies on."""
    ndim = len(shape)
    if axes is None:
        if rank > ndim:
            raise BadValue(
                *what(),
                f" has {pluralize(rank, 'axis', 'axes')}, shape {format_value(shape)} has {ndim}: "
                f"{rank - ndim} too many",
            )
        return tuple(range(ndim - rank, ndim))
    agree(what, rank, axes)
    out: list[int] = []
    for axis in axes:
        if not -ndim <= axis < ndim:
            allowed = f"{-ndim} to {ndim - 1}" if ndim else "none"
            raise BadValue(
                Argument("axes"),
                f"={format_value(axes)}: {format_value(axis)} is no axis of shape {format_value(shape)}, "
                f"which has {allowed}",
            )
        if axis % ndim in out:
            raise BadValue(
                Argument("axes"),
                f"={format_value(axes)} names axis {axis % ndim} of shape {format_value(shape)} more than once",
            )
        out.append(axis % ndim)
    return tuple(out)


def over_colours(axes: tuple[int, ...] | None, size: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether a window of two axes runs over the colours of a picture, because its axes were not named."""
    return axes is None and len(size) == 2 and size[1] > 1 and sides(shape) is not None


# ----------------------------------------------------------------------------------------------- geometry


def padded_axis(position: int, n: int, k: int, s: int, d: int, padding: tuple[int, int] | str) -> Axis:
    """The axis without its output size (``o`` is 0): the padding rules."""
    if isinstance(padding, str):
        o = -(-n // s)
        total = max(0, (o - 1) * s + d * (k - 1) + 1 - n) if o else 0
        small, large = total // 2, total - total // 2
        low, high = (small, large) if padding == "same" else (large, small)
        return Axis(position, n, o, k, s, d, low, high)
    return Axis(position, n, 0, k, s, d, *padding)


def output_size(axis: Axis, ceil_mode: bool, what: Prefix) -> int:
    """The number of windows on one axis: the floor rule, or the ceil rule with windows that start in the
    high padding left out."""
    n, s = axis.n, axis.s
    effective = axis.d * (axis.k - 1) + 1
    extent = n + axis.low + axis.high
    room = extent - effective
    if ceil_mode:
        o = (room + s - 1) // s + 1
        if (o - 1) * s >= n + axis.low:
            o -= 1
    else:
        o = room // s + 1
    if o <= 0:
        needed = f"({axis.k} - 1)*{axis.d} + 1 = {effective}" if axis.d > 1 else f"{effective}"
        there = f"{axis.low} + {n} + {axis.high} = {extent} with padding" if axis.low or axis.high else f"{n}"
        if effective > extent:
            short = f"{effective - extent} short"
            if ceil_mode and s > 1:
                short += f", of which ceil_mode with stride {s} allows {s - 1}"
        else:
            short = "ceil_mode leaves out a window that starts in the high padding"
        raise BadValue(
            *what(),
            Misfit(
                f"{MISFIT}{axis.position}: "
                f"it needs {needed} {'element' if effective == 1 else 'elements'}, there are {there}: {short}",
                alone(axis, ceil_mode),
            ),
        )
    return o


def alone(axis: Axis, ceil_mode: bool) -> str:
    """The call that draws the windows on one axis, whichever operation and other axes they are of."""
    options = {
        "stride": axis.s if axis.s != axis.k else None,
        "padding": (axis.low if axis.low == axis.high else ((axis.low, axis.high),)) or None,
        "dilation": axis.d if axis.d > 1 else None,
        "ceil_mode": ceil_mode or None,
    }
    written = "".join(f", {name}={value}" for name, value in options.items() if value is not None)
    return f'cn.explain("max_pool", ({axis.n},), ({axis.k},){written})'


def geometry_on(window: Window, shape: tuple[int, ...]) -> Geometry:
    def argument() -> Parts:
        return Argument("window"), f"={format_value(window.size)}"

    def what() -> Parts:
        return *argument(), f" on shape {format_value(shape)}"

    positions = resolve_axes(window.axes, window.rank, shape, argument)
    # The core counts the elements of a window, padded ones included, in 64 bits.
    if math.prod(window.size) > INT64_MAX:
        product = f"{'*'.join(map(str, window.size))} = {math.prod(window.size)}"
        raise BadValue(
            Argument("window"),
            f"={format_value(window.size)}: {product} elements do not fit 64 bits, at most {INT64_MAX} do",
        )
    axes = []
    for i, position in enumerate(positions):
        padding = window.padding if isinstance(window.padding, str) else window.padding[i]
        axis = padded_axis(position, shape[position], window.size[i], window.stride[i], window.dilation[i], padding)
        effective = axis.d * (axis.k - 1) + 1
        # The core computes j*s - low + t*d in 64 bits for every window, overhang of ceil_mode included.
        total = axis.n + axis.low + axis.high + axis.s + effective
        if total > INT64_MAX:
            raise BadValue(
                *what(),
                f": on axis {position} its effective size ({axis.k} - 1)*{axis.d} + 1, stride {axis.s}, padding "
                f"{axis.low} + {axis.high} and the {axis.n} elements add up to {total}, which does not fit 64 bits",
            )
        o = axis.o if isinstance(padding, str) else output_size(axis, window.ceil_mode, what)
        axes.append(replace(axis, o=o))
    geometry = Geometry(shape, tuple(axes), over_colours=over_colours(window.axes, window.size, shape))
    addressable(lambda: (*what(), ": the result"), geometry.out_shape)
    return geometry


@dataclass(frozen=True)
class Window:
    """What to pool over, checked: one entry per window axis in each field."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: Pairs | Literal["same", "same_lower"]
    ceil_mode: bool
    axes: tuple[int, ...] | None

    @property
    def rank(self) -> int:
        return len(self.size)

    def on(self, shape: tuple[int, ...]) -> Geometry:
        """The geometry of the window on an array of this shape."""
        key = (self, shape)
        geometry: Geometry | None = cache.lookup(key)
        if geometry is None:
            geometry = geometry_on(self, shape)
            cache.insert(key, geometry, geometry.bytes)
        return geometry


def parse_size(name: str, value: object, axes: tuple[int, ...] | None, least: int) -> tuple[object, ...]:
    """A tuple with one entry per pooled axis; an int is repeated on each of ``axes``."""
    if isinstance(value, dict):
        raise BadType(
            Argument(name),
            f"={format_value(value)}: the axes of a NumPy array have no names, give a tuple of ints, such as (2, 2)",
        )
    entries = as_sequence(value)
    if entries is not None:
        if not entries:
            raise BadValue(
                Argument(name), f"={format_value(value)} is empty: give one size for each axis to pool, such as (2, 2)"
            )
        return entries
    size = as_int(name, value, value, least)
    if axes is None:
        raise BadValue(
            Argument(name),
            f"={size} is one int, and does not say which axes to pool",
            WHICH_AXES,
        )
    if not axes:
        raise BadValue(Argument("axes"), "=() is empty: name at least one axis to pool")
    return (size,) * len(axes)


def build(window: object, stride: object, padding: object, dilation: object, ceil_mode: object, axes: object) -> Window:
    where = None if axes is None else parse_axes(axes)
    sizes = parse_size("window", window, where, 1)
    size = tuple(as_int("window", window, entry, 1) for entry in sizes)
    rank = len(size)
    agree(lambda: (Argument("window"), f"={format_value(size)}"), rank, where)
    return Window(
        size=size,
        stride=size if stride is None else per_axis("stride", stride, rank, 1),
        dilation=per_axis("dilation", dilation, rank, 1),
        padding=parse_padding(padding, rank),
        ceil_mode=as_flag("ceil_mode", ceil_mode),
        axes=where,
    )


def parse_window(
    window: object,
    stride: object = None,
    padding: object = 0,
    dilation: object = 1,
    ceil_mode: object = False,
    axes: object = None,
) -> Window:
    """The window arguments of every pooling function, normalised and checked."""
    given = (window, stride, padding, dilation, ceil_mode, axes)
    return by_arguments(build, (), given)


def no_size(_: object) -> int:
    return 0


def by_arguments(
    make: Callable[..., T], known: tuple[Hashable, ...], given: tuple[object, ...], size: Callable[[T], int] = no_size
) -> T:
    """``make(*known, *given)``, or what it made of the same arguments before. Those that users gave are compared type
    by type; if they cannot be hashed, the result is not kept."""
    key = make, known, given
    try:
        found: T | None = cache.lookup(key, given)
    except (TypeError, ValueError, RecursionError):  # a list, NumPy's timedelta without a unit, or tuples without end
        return make(*known, *given)
    if found is None:
        found = make(*known, *given)
        cache.insert(key, found, size(found), given)
    return found


# ------------------------------------------------------------------------------- windows made of a result's size


def adaptive_geometry(shape: tuple[int, ...], output: object, axes: object) -> Geometry:
    """The bins of adaptive pooling: output ``i`` sees elements floor(i·n/o) … ceil((i+1)·n/o)."""
    return by_arguments(build_adaptive, (shape,), (output, axes), lambda geometry: geometry.bytes)


def build_adaptive(shape: tuple[int, ...], output: object, axes: object) -> Geometry:
    where = None if axes is None else parse_axes(axes)
    entries = parse_size("output_size", output, where, 0)

    def what() -> Parts:
        return Argument("output_size"), f"={format_value(output)}"

    positions = resolve_axes(where, len(entries), shape, what)
    out_shape = list(shape)
    for entry, position in zip(entries, positions, strict=True):
        if shape[position] == 0:
            raise BadValue(
                *what(), f" on shape {format_value(shape)}: axis {position} has size 0, there is nothing to pool"
            )
        if entry is not None:
            out_shape[position] = as_int("output_size", output, entry, 0, "ints or None")
    addressable(lambda: (*what(), f" on shape {format_value(shape)}: the result"), tuple(out_shape))
    axes_of_bins = tuple(bins(position, shape[position], out_shape[position]) for position in positions)
    mixed = over_colours(where, tuple(1 + (axis.n != axis.o) for axis in axes_of_bins), shape)
    return Geometry(shape, axes_of_bins, over_colours=mixed)


def global_geometry(shape: tuple[int, ...], axes: object) -> Geometry:
    """One window over the whole of each axis."""
    where = parse_axes(axes)
    if not where:
        raise BadValue(Argument("axes"), "=() is empty: name at least one axis to pool")
    positions = resolve_axes(where, len(where), shape, lambda: (Argument("axes"), f"={format_value(where)}"))
    for position in positions:
        if shape[position] == 0:
            raise BadValue(
                Argument("axes"),
                f"={format_value(where)} on shape {format_value(shape)}: axis {position} has size 0, there is "
                "nothing to pool",
            )
    return Geometry(shape, tuple(Axis(p, shape[p], 1, shape[p], shape[p], 1, 0, 0) for p in positions))


def unpooled_sizes(window: Window, positions: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The least input sizes that pool to ``shape``: what max_unpool gives when no size is asked for."""
    out = []
    for i, position in enumerate(positions):
        n, s = shape[position], window.stride[i]
        span = window.dilation[i] * (window.size[i] - 1) + 1
        if isinstance(window.padding, str):
            out.append(n * s)
            continue
        low, high = window.padding[i]
        size = (n - 1) * s - low - high + span if n else 0
        if size < 0 or (size == 0 and n):
            raise BadValue(
                Argument("window"),
                f"={format_value(window.size)} on shape {format_value(shape)}: axis {position} would unpool to "
                f"({n} - 1)*{s} - {low} - {high} + {span} = {size} elements: use less padding or give output_shape",
            )
        out.append(size)
    return tuple(out)
