"""The windows of a call: for every output the elements that it sees, and what becomes of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..api.adaptive import adaptive_max_pool
from ..arguments.arrays import Array
from ..dtypes import has_nan
from ..geometry.axes import Axis, Geometry
from ..geometry.conv import ConvGeometry
from .calls import Call, channel_axis
from .gradients import Gradients
from .rounding import Number, Rounding, number

Index = tuple[int, ...]
Range = tuple[int, int]
WITHOUT_VALUE = ("max_pool", "min_pool", "median_pool", "mode_pool", "pool")  # whose padding is left out
MOST_TAPS = 4096  # of a window that does not fit: more are not drawn
SELECTS = ("max_pool", "min_pool", "median_pool", "mode_pool", "adaptive_max_pool", "global_max_pool")


@dataclass(frozen=True)
class Element:
    """One element of a window.

    Attributes
    ----------
    index : tuple of int
        Its place in ``x``; outside of the array for padding.
    value : number or None
        Its value. Of padding, the value that it counts as; None if it is left out.
    weight : number or None
        Of a convolution: the element of ``w`` that it is multiplied with.
    gradient : number or None
        Derivative of the result with respect to it; None for padding, and where there is no derivative.
    tap : tuple of int or None
        Of a convolution: the place of that weight in ``w``.
    """

    index: Index
    value: Number | None
    weight: Number | None = None
    gradient: Number | None = None
    tap: Index | None = None


@dataclass(frozen=True)
class Window:
    """One window: all that one output is made of.

    Attributes
    ----------
    index : tuple of int
        Index of the output.
    elements : tuple of Element
        The elements of ``x`` that the window sees, in row-major order.
    padding : tuple of Element
        The elements of the window that lie in the padding.
    overhang : tuple of Element
        The elements of the window beyond the padded input, which ``ceil_mode`` allows. They count as nothing.
    omitted : tuple of tuple of int
        Indices of the elements that are NaN and left out.
    chosen : tuple of int or None
        Index of the element that a maximum or minimum selects: the argmax.
    selected : tuple of tuple of int
        Indices of all elements that the result is taken from: those that tie for a maximum, the middle of a median,
        all that have the value of a mode.
    divisor : number or None
        What an average is divided by.
    bias : number or None
        What a convolution adds.
    result : number
        The output.
    unrounded : number or None
        What the result was before it was rounded, clipped or wrapped to its dtype; None if that is the result itself,
        and of a float unless the digits of a picture show it.
    """

    index: Index
    elements: tuple[Element, ...]
    padding: tuple[Element, ...]
    overhang: tuple[Element, ...]
    omitted: tuple[Index, ...]
    chosen: Index | None
    selected: tuple[Index, ...]
    divisor: Number | None
    bias: Number | None
    result: Number
    unrounded: Number | None = None

    @property
    def weights(self) -> tuple[Number, ...] | None:
        """The weights of a convolution, in the order of ``elements``."""
        found = tuple(e.weight for e in self.elements if e.weight is not None)
        return found if len(found) == len(self.elements) and found else None

    @property
    def gradient(self) -> tuple[Number, ...] | None:
        """The derivatives of the result, in the order of ``elements``."""
        found = tuple(e.gradient for e in self.elements if e.gradient is not None)
        return found if len(found) == len(self.elements) else None


class Builder:
    """Makes the windows of one call; with ``most`` no more elements of each than that along an axis."""

    def __init__(self, call: Call, geometry: Geometry | ConvGeometry, y: Array, most: int | None = None) -> None:
        self.call, self.geometry, self.y, self.most = call, geometry, y, most
        self.first = call.arguments.get("layout") == "channels_first"
        self.bias = None if call.arguments.get("bias") is None else np.asarray(call.arguments["bias"])
        self.gradients = Gradients(call, geometry, y)
        self.rounding = Rounding(call, y, self.bias)
        self.omits = call.arguments.get("nan") == "omit" and has_nan(call.x.dtype)

    def build(self, indices: Sequence[Index]) -> list[Window]:
        """The windows of these outputs."""
        found = {}
        for group, flow in self.gradients.together(indices):
            found.update({index: self.window(index, flow) for index in group})
        return [found[index] for index in indices]

    def window(self, index: Index, flow: Array | None) -> Window:
        real, padding, overhang = [], [], []
        for place, tap, outside in self.seen(index):
            weight = None if tap is None or self.call.w is None else number(self.call.w[tap])
            if outside == "overhang":
                overhang.append(Element(place, None, weight, None, tap))
            elif outside:
                padding.append(Element(place, pad_value(self.call), weight, None, tap))
            else:
                to = None if flow is None else number(flow[place])
                real.append(Element(place, number(self.call.x[place]), weight, to, tap))
        result = number(self.y[index])
        omitted = tuple(e.index for e in real if self.omits and e.value != e.value)
        chosen, divisor = self.chosen_of(index), self.divisor_of(index, len(omitted))
        bias = None if self.bias is None else number(self.bias[index[channel_axis(self.call)]])
        terms = ((e.value, e.weight) for e in real if e.index not in omitted)
        return Window(
            index, tuple(real), tuple(padding), tuple(overhang), omitted, chosen,
            self.selected_of(real, result, chosen),
            divisor,
            bias,
            result,
            self.rounding.of(index, result, terms, bias, divisor),
        )  # fmt: skip

    # -------------------------------------------------------------------------------------------- what it sees

    def seen(self, index: Index) -> Iterator[tuple[Index, Index | None, str]]:
        """The elements of a window: place in x, place in w, and "padding", "overhang" or nothing."""
        if isinstance(self.geometry, ConvGeometry):
            yield from self.seen_by_filter(index, self.geometry)
            return
        axes = self.geometry.axes
        for places in itertools.product(*(places_of(axis, index[axis.position], self.most) for axis in axes)):
            place = list(index)
            for axis, (at, _) in zip(axes, places, strict=True):
                place[axis.position] = at
            yield tuple(place), None, outside_of(axes, [at for at, _ in places])

    def seen_by_filter(self, index: Index, geometry: ConvGeometry) -> Iterator[tuple[Index, Index | None, str]]:
        """Of a convolution. An output of a transposed one sees the elements whose filters reach it."""
        transposed = self.call.op == "conv_transpose"
        axes, channel = geometry.axes, channel_axis(self.call)
        where = reaching if transposed else places_of
        ins, outs = self.call.x.shape[channel], self.y.shape[channel]
        of_in, of_out = ins // geometry.groups, outs // geometry.groups
        group, inside = divmod(index[channel], of_out)
        channels = range(group * of_in, (group + 1) * of_in)[: self.most]
        for places in itertools.product(*(where(axis, index[axis.position], self.most) for axis in axes)):
            taps = tuple(tap for _, tap in places)
            outside = "" if transposed else outside_of(axes, [at for at, _ in places])
            for c in channels:
                place = list(index)
                place[channel] = c
                for axis, (at, _) in zip(axes, places, strict=True):
                    place[axis.position] = at
                # of conv (*k, C/groups, O), of its transpose (*k, O/groups, C)
                pair = (inside, c) if transposed else (c - group * of_in, index[channel])
                yield tuple(place), (pair[1], pair[0], *taps) if self.first else (*taps, *pair), outside

    # ------------------------------------------------------------------------------------ what becomes of them

    @cached_property
    def indices(self) -> Array | None:
        """The argmax of every window, flat over the pooled axes."""
        call, x = self.call, self.call.x
        if call.op in ("max_pool", "min_pool", "adaptive_max_pool"):
            return np.asarray(call.compute(x, return_indices=True)[1])
        if call.op == "global_max_pool":
            positions = tuple(axis.position for axis in self.geometry.axes)
            return np.asarray(adaptive_max_pool(x, (1,) * len(positions), axes=positions, return_indices=True)[1])
        return None

    def chosen_of(self, index: Index) -> Index | None:
        if self.indices is None or self.indices[index] < 0:
            return None
        place = list(index)
        axes = self.geometry.axes
        for axis, at in zip(axes, np.unravel_index(self.indices[index], [axis.n for axis in axes]), strict=True):
            place[axis.position] = int(at)
        return tuple(place)

    def selected_of(self, elements: list[Element], result: Number, chosen: Index | None) -> tuple[Index, ...]:
        if self.call.op == "median_pool":
            return tuple(e.index for e in elements if e.gradient)
        if self.call.op not in SELECTS or (self.call.op != "mode_pool" and chosen is None):
            return ()
        if result != result:
            return () if chosen is None else (chosen,)
        return tuple(e.index for e in elements if e.value == result)

    def divisor_of(self, index: Index, omitted: int) -> Number | None:
        """What an average is divided by."""
        if self.counts is None:
            return None
        divisor = self.call.arguments.get("divisor")
        return int(self.counts[index]) - omitted if divisor is None else number(divisor)

    @cached_property
    def counts(self) -> Array | None:
        """Of an average: how many elements of each window are counted, NaN among them."""
        if not self.call.op.endswith("avg_pool") or isinstance(self.geometry, ConvGeometry):
            return None
        include = bool(self.call.arguments.get("count_include_pad", True))
        return np.broadcast_to(self.geometry.counts(include), self.y.shape)


def misfit(call: Call) -> Window:
    """The first window of a call that it does not fit: what is beyond the padded input is its overhang."""
    parts: dict[str, list[Element]] = {"": [], "padding": [], "overhang": []}
    if call.fault is not None and call.fault.subject != "window":
        return Window((0,) * call.x.ndim, (), (), (), (), None, (), None, None, math.nan)
    most = max(1, min(32, int(MOST_TAPS ** (1 / len(call.axes)))))
    taps = (near_the_end(axis, most) for axis in call.axes)
    index = [0] * call.x.ndim
    for places in itertools.product(*taps):
        for axis, at in zip(call.axes, places, strict=True):
            index[axis.position] = at
        outside = outside_of(call.axes, list(places))
        value = None if outside or not call.x.size else number(call.x[tuple(index)])
        parts[outside].append(Element(tuple(index), value))
    here, padding, overhang = (tuple(part) for part in parts.values())
    return Window((0,) * call.x.ndim, here, padding, overhang, (), None, (), None, None, math.nan)


def near_the_end(axis: Axis, most: int) -> range:
    """The elements of the first window along one axis; of a long one those around the end of the padded input."""
    places = range(-axis.low, -axis.low + axis.k * axis.d, axis.d)
    beyond = -(-(axis.n + axis.high + axis.low) // axis.d)  # the first element of the window there
    begin = min(max(0, beyond - most // 2), max(0, axis.k - most))
    return places[begin : begin + most]


def pad_value(call: Call) -> Number | None:
    """What an element of the padding counts as; None if it is left out."""
    if call.op == "smooth_max_pool":
        value = call.arguments["pad_value"]
        return None if value is None else float(value)
    return None if call.op in WITHOUT_VALUE else 0


def places_of(axis: Axis, j: int, most: int | None = None) -> list[tuple[int, int]]:
    """The elements that window ``j`` sees on one axis, and which of its elements each is."""
    length = axis.k if axis.lengths is None else axis.lengths[j]
    first = j * axis.s - axis.low if axis.starts is None else axis.starts[j]
    return [(first + tap * axis.d, tap) for tap in range(length)[:most]]


def windows_that_see(axis: Axis, at: int) -> Iterator[int]:
    """The windows that see element ``at`` of one axis, one by one."""
    if axis.starts is not None and axis.lengths is not None:
        for j, (start, length) in enumerate(zip(axis.starts, axis.lengths, strict=True)):
            if at in range(start, start + length * axis.d, axis.d):
                yield j
        return
    for tap in axis.valid_taps:
        j, rest = divmod(at + axis.low - tap * axis.d, axis.s)
        if not rest and 0 <= j < axis.o:
            yield j


def reaching(axis: Axis, at: int, most: int | None = None) -> list[tuple[int, int]]:
    """The windows that see element ``at`` of one axis, and as which of their elements."""
    seen = ((at + axis.low - tap * axis.d, tap) for tap in range(axis.k))
    return sorted((j // axis.s, tap) for j, tap in seen if j % axis.s == 0 and 0 <= j // axis.s < axis.o)[:most]


def outside_of(axes: tuple[Axis, ...], places: list[int]) -> str:
    if all(0 <= at < axis.n for axis, at in zip(axes, places, strict=True)):
        return ""
    inside = all(-axis.low <= at < axis.n + axis.high for axis, at in zip(axes, places, strict=True))
    return "padding" if inside else "overhang"


def plain(value: Number | None) -> Any:
    """A number as JSON has it: NaN and infinities as text, complex numbers as pairs."""
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
