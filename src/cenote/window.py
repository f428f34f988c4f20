"""Windows over arrays: the one place where window arguments are normalised, checked and turned into sizes.

A :class:`Window` is what the user asked for, checked and hashable. ``window.on(shape)`` lays it on an
array and gives its :class:`Geometry`: for each pooled axis how many outputs there are and which input
cells each of them sees. Everything else in the package reads those two and checks nothing again.

Notation per axis: ``n`` input size, ``o`` output size, ``k`` taps, ``s`` stride, ``d`` dilation,
``low``/``high`` padding; output ``j`` sees the cells ``j*s - low + t*d`` for ``t`` in ``0 … k-1``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .arguments import INT64_MAX, as_flag, as_int, as_sequence, per_axis
from .errors import BadType, BadValue, kind, shown

Pairs: TypeAlias = tuple[tuple[int, int], ...]


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
        raise BadValue(f"padding={shown(value)} is not one of 'valid', 'same' and 'same_lower'")
    entries = as_sequence(value)
    if entries is None:
        if isinstance(value, (bool, np.bool_)) or not hasattr(type(value), "__index__"):
            raise BadType(
                f"padding={shown(value)} is {kind(value)}: give an int, one int per axis, one (low, high) "
                "pair per axis, 'valid', 'same' or 'same_lower'"
            )
        cells = as_int("padding", value, value, 0)
        return ((cells, cells),) * rank
    if len(entries) != rank:
        raise BadValue(
            f"padding={shown(value)} has {len(entries)} entries, the window has {rank} axes: "
            f"give one int, {rank} ints, or {rank} (low, high) pairs"
        )
    pairs = [as_sequence(entry) for entry in entries]
    if all(pair is None for pair in pairs):
        sizes = tuple(as_int("padding", value, entry, 0) for entry in entries)
        return tuple((cells, cells) for cells in sizes)
    out = []
    for entry, pair in zip(entries, pairs, strict=True):
        if pair is None or len(pair) != 2:
            raise BadValue(
                f"padding={shown(value)}: {shown(entry)} is not a (low, high) pair; give {rank} ints "
                f"or {rank} pairs, not a mixture"
            )
        out.append((as_int("padding", value, pair[0], 0), as_int("padding", value, pair[1], 0)))
    return tuple(out)


def parse_axes(value: object) -> tuple[int, ...]:
    """``axes`` as given, negative numbers included: which array they index is not known yet."""
    entries = as_sequence(value)
    if entries is None:
        entries = (value,)
    return tuple(as_int("axes", value, entry, -(2**31)) for entry in entries)


def resolve_axes(axes: tuple[int, ...] | None, rank: int, ndim: int, what: str) -> tuple[int, ...]:
    """Which axes of an array with ``ndim`` axes ``what``, which has ``rank`` entries, lies on."""
    if axes is None:
        if rank > ndim:
            raise BadValue(f"{what} has {rank} axes, x has {ndim}: {rank - ndim} too many")
        return tuple(range(ndim - rank, ndim))
    if len(axes) != rank:
        raise BadValue(f"{what} has {rank} axes, axes={axes} names {len(axes)}: they must agree")
    out = []
    for axis in axes:
        if not -ndim <= axis < ndim:
            allowed = f"{-ndim} … {ndim - 1}" if ndim else "none, it is a scalar"
            raise BadValue(f"axes={axes}: x has {ndim} axes, and {axis} is not one of them ({allowed})")
        out.append(axis % ndim)
    if len(set(out)) < rank:
        raise BadValue(f"axes={axes} names an axis of x (which has {ndim}) more than once")
    return tuple(out)


# ----------------------------------------------------------------------------------------------- geometry


@dataclass(frozen=True)
class Axis:
    """One pooled axis: ``o`` windows of ``k`` cells on ``n`` cells.

    The bins of adaptive pooling have no common stride: they are listed in ``starts`` and ``lengths``,
    and ``k`` is the longest.
    """

    position: int
    n: int
    o: int
    k: int
    s: int
    d: int
    low: int
    high: int
    starts: tuple[int, ...] | None = None
    lengths: tuple[int, ...] | None = None

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """(o, k): the coordinate of each window's cells, outside of 0 … n-1 where it is not a real one."""
        taps = np.arange(self.k, dtype=np.int64)
        if self.starts is None or self.lengths is None:
            first = np.arange(self.o, dtype=np.int64) * self.s - self.low
            return first[:, None] + taps * self.d
        cells = np.array(self.starts, dtype=np.int64)[:, None] + taps
        cells[taps >= np.array(self.lengths, dtype=np.int64)[:, None]] = self.n
        return cells

    @cached_property
    def real(self) -> NDArray[np.bool_]:
        """(o, k): the cells that are cells of the input."""
        cells = self.cells
        return (cells >= 0) & (cells < self.n)

    @cached_property
    def padded(self) -> NDArray[np.bool_]:
        """(o, k): the cells inside the padded input; the overhang of ``ceil_mode`` is not."""
        cells = self.cells
        return (cells >= -self.low) & (cells < self.n + self.high)


@dataclass(frozen=True)
class Geometry:
    """A window laid on an array of a given shape: its axes in the window's order, and the result's shape."""

    shape: tuple[int, ...]
    axes: tuple[Axis, ...]
    made: dict[str, object] = field(default_factory=dict, compare=False, repr=False)  # kept here by other layers

    @cached_property
    def out_shape(self) -> tuple[int, ...]:
        out = list(self.shape)
        for axis in self.axes:
            out[axis.position] = axis.o
        return tuple(out)

    @cached_property
    def positions(self) -> tuple[int, ...]:
        return tuple(axis.position for axis in self.axes)


def padded_axis(position: int, n: int, k: int, s: int, d: int, padding: tuple[int, int] | str) -> Axis:
    """The axis without its output size (``o`` is 0): the padding rules."""
    if isinstance(padding, str):
        o = -(-n // s)
        total = max(0, (o - 1) * s + d * (k - 1) + 1 - n) if o else 0
        small, large = total // 2, total - total // 2
        low, high = (small, large) if padding == "same" else (large, small)
        return Axis(position, n, o, k, s, d, low, high)
    return Axis(position, n, 0, k, s, d, *padding)


def output_size(axis: Axis, ceil_mode: bool, describe: str) -> int:
    """The number of windows on one axis: the floor rule, or the ceil rule with windows that start in the
    high padding left out."""
    n, s = axis.n, axis.s
    reach = axis.d * (axis.k - 1) + 1
    extent = n + axis.low + axis.high
    room = extent - reach
    if ceil_mode:
        o = (room + s - 1) // s + 1
        if (o - 1) * s >= n + axis.low:
            o -= 1
    else:
        o = room // s + 1
    if o <= 0:
        dilated = f" ({axis.k} cells, dilation {axis.d})" if axis.d > 1 else ""
        short = f"{reach - extent} short" if reach > extent else "and none of them is the input's"
        raise BadValue(
            f"{describe} does not fit on axis {axis.position}: it needs {reach} cells{dilated}, "
            f"there are {n} + padding {axis.low} + {axis.high} = {extent}, {short}"
        )
    return o


@lru_cache(maxsize=4096)
def lay(window: Window, shape: tuple[int, ...]) -> Geometry:
    positions = resolve_axes(window.axes, window.rank, len(shape), f"window={window.size}")
    axes = []
    for i, position in enumerate(positions):
        padding = window.padding if isinstance(window.padding, str) else window.padding[i]
        axis = padded_axis(position, shape[position], window.size[i], window.stride[i], window.dilation[i], padding)
        reach = axis.d * (axis.k - 1) + 1
        # The core computes j*s - low + t*d in 64 bits for every window, overhang of ceil_mode included.
        if axis.n + axis.low + axis.high + axis.s + reach > INT64_MAX:
            raise BadValue(
                f"window={window.size} with stride {window.stride}, dilation {window.dilation} and padding "
                f"{window.padding} on shape {shape}: sizes on axis {position} do not fit 64 bits"
            )
        if not isinstance(padding, str):
            o = output_size(axis, window.ceil_mode, f"window={window.size} on shape {shape}")
            axis = Axis(axis.position, axis.n, o, axis.k, axis.s, axis.d, axis.low, axis.high)
        axes.append(axis)
    return checked(Geometry(shape, tuple(axes)))


def checked(geometry: Geometry) -> Geometry:
    """``geometry``, whose result is small enough to be addressed."""
    if math.prod(geometry.out_shape) * 16 > INT64_MAX:
        raise BadValue(f"the result would have shape {geometry.out_shape}: more than can be addressed")
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
        return lay(self, shape)


def parse_size(name: str, value: object, axes: tuple[int, ...] | None, least: int) -> tuple[object, ...]:
    """A tuple with one entry per pooled axis; an int is repeated on each of ``axes``."""
    if isinstance(value, dict):
        raise BadType(f"{name}={shown(value)}: names of dimensions need an xarray DataArray, x has only numbered axes")
    entries = as_sequence(value)
    if entries is not None:
        if not entries:
            raise BadValue(f"{name}={shown(value)} is empty: give one size for each axis to pool, such as (2, 2)")
        return entries
    size = as_int(name, value, value, least)
    if axes is None:
        raise BadValue(
            f"{name}={size} is one int, and does not say which axes to pool: write {name}=({size}, {size}) for "
            f"the last two axes, or add axes=(-2, -1)"
        )
    if not axes:
        raise BadValue("axes=() is empty: name at least one axis to pool")
    return (size,) * len(axes)


def build(window: object, stride: object, padding: object, dilation: object, ceil_mode: object, axes: object) -> Window:
    where = None if axes is None else parse_axes(axes)
    sizes = parse_size("window", window, where, 1)
    size = tuple(as_int("window", window, entry, 1) for entry in sizes)
    rank = len(size)
    if where is not None and len(where) != rank:
        raise BadValue(f"window={size} has {rank} axes, axes={where} names {len(where)}: they must agree")
    return Window(
        size=size,
        stride=size if stride is None else per_axis("stride", stride, rank, 1),
        dilation=per_axis("dilation", dilation, rank, 1),
        padding=parse_padding(padding, rank),
        ceil_mode=as_flag("ceil_mode", ceil_mode),
        axes=where,
    )


build_cached = lru_cache(maxsize=4096)(build)


def plain(value: object) -> bool:
    """Whether ``value`` may be a cache key: 2 == 2.0 == True, so only exact types may stand for each other."""
    form = type(value)
    if form is int or form is str or form is bool or value is None:
        return True
    return form is tuple and all(type(e) is int or (type(e) is tuple and plain(e)) for e in value)  # type: ignore[attr-defined]


def parse_window(
    window: object,
    stride: object = None,
    padding: object = 0,
    dilation: object = 1,
    ceil_mode: object = False,
    axes: object = None,
) -> Window:
    """The window arguments of every pooling function, normalised and checked."""
    # bool is not plain where an int is meant: True == 1 would find the entry of 1.
    if (
        type(ceil_mode) is bool
        and plain(window)
        and plain(stride)
        and plain(padding)
        and plain(dilation)
        and plain(axes)
        and bool not in {type(window), type(stride), type(padding), type(dilation), type(axes)}
    ):
        return build_cached(window, stride, padding, dilation, ceil_mode, axes)
    return build(window, stride, padding, dilation, ceil_mode, axes)


# ------------------------------------------------------------------------------- windows made of a result's size


def adaptive_geometry(shape: tuple[int, ...], output: object, axes: object) -> Geometry:
    """The bins of adaptive pooling: output ``i`` sees cells floor(i·n/o) … ceil((i+1)·n/o)."""
    where = None if axes is None else parse_axes(axes)
    entries = parse_size("output_size", output, where, 0)
    what = f"output_size={shown(output)}"
    positions = resolve_axes(where, len(entries), len(shape), what)
    out = []
    for entry, position in zip(entries, positions, strict=True):
        n = shape[position]
        if n == 0:
            raise BadValue(f"{what} on shape {shape}: axis {position} has size 0, there is nothing to pool")
        o = n if entry is None else as_int("output_size", output, entry, 0)
        if o and n % o == 0:
            out.append(Axis(position, n, o, n // o, n // o, 1, 0, 0))
            continue
        starts = tuple(i * n // o for i in range(o))
        lengths = tuple(-(-(i + 1) * n // o) - start for i, start in enumerate(starts))
        out.append(Axis(position, n, o, max(lengths, default=1), 1, 1, 0, 0, starts, lengths))
    return checked(Geometry(shape, tuple(out)))


def global_geometry(shape: tuple[int, ...], axes: object) -> Geometry:
    """One window over the whole of each axis."""
    where = parse_axes(axes)
    if not where:
        raise BadValue("axes=() is empty: name at least one axis to pool")
    positions = resolve_axes(where, len(where), len(shape), f"axes={where}")
    for position in positions:
        if shape[position] == 0:
            raise BadValue(f"axis {position} of shape {shape} has size 0, there is nothing to pool")
    return Geometry(shape, tuple(Axis(p, shape[p], 1, shape[p], shape[p], 1, 0, 0) for p in positions))


def unpooled_sizes(window: Window, positions: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The least input sizes that pool to ``shape``: what max_unpool gives when no size is asked for."""
    out = []
    for i, position in enumerate(positions):
        n, s = shape[position], window.stride[i]
        reach = window.dilation[i] * (window.size[i] - 1) + 1
        if isinstance(window.padding, str):
            out.append(n * s)
            continue
        low, high = window.padding[i]
        size = (n - 1) * s - low - high + reach if n else 0
        if size < 0 or (size == 0 and n):
            raise BadValue(
                f"window={window.size} on shape {shape}: axis {position} would unpool to "
                f"({n} - 1)*{s} - {low} - {high} + {reach} = {size} cells; use less padding or give output_shape"
            )
        out.append(size)
    return tuple(out)
