"""Calls that fail because shapes do not fit: what does not, and what is drawn of it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..arguments.arrays import Array
from ..arguments.errors import BadValue, Cause, Misfit
from ..arguments.values import per_axis
from ..geometry.axes import Axis
from ..geometry.conv import ConvDims, dims_of
from ..geometry.window import output_size, padded_axis, parse_padding, parse_window, resolve_axes
from .calls import MOST_EXAMPLES, WINDOW, Call, Fault, geometry_of
from .windows import Index, Range

MOST_CUT = 2**20  # elements of a result on one axis: a picture shows some of them
MOST_CHANNELS = 6  # that are drawn; 3 of a volume
MOST_SLICES = 2  # of a volume, for each channel
MOST_OF_AXIS = (6, 9)  # elements of x along an axis where channels do not fit: more than 6 of a window that spans more

# What the marks mean in the pictures of each subject.
MEANINGS = {
    "window": {"hang": "beyond the input: does not fit"},
    "channels": {"seen": "channel with weights", "tap": "weights with a channel", "hang": "without a partner"},
    "groups": {"seen": "channel in a group", "tap": "weights of a group", "hang": "left over"},
    "size": {"omitted": "cut off by padding at one end", "hang": "cut off from both ends"},
}
SUMMARIES = {
    "window": "the window does not fit",
    "channels": "the filters take another number of channels",
    "groups": "the channels do not divide into these groups",
    "size": "padding cuts off the whole result",
}


def find_fault(call: Call) -> Fault | None:
    """Which shapes do not fit, if it is that; of several what the error is about, which is checked first."""
    try:
        geometry_of(call)
    except Cause as cause:
        subjects = [part.subject for part in cause.args if isinstance(part, Misfit)]
        if subjects and subjects[0] in FINDERS:
            return FINDERS[subjects[0]](call)
        axes = axes_that_do_not_fit(call) if subjects else None
        return None if axes is None else Fault("window", axes)
    return None


def dims(call: Call) -> ConvDims:
    return dims_of(call.x.shape, () if call.w is None else call.w.shape, call.arguments["layout"], call.op)


def spatial_axes(call: Call) -> list[Axis]:
    """Of a convolution: its axes, without the size of the result."""
    given, found = call.arguments, dims(call)
    rank = len(found.kernel)
    strides, dilations = (per_axis(name, given[name], rank, 1) for name in ("stride", "dilation"))
    pads = parse_padding(given["padding"], rank)
    return [
        padded_axis(found.position + i, n, k, s, d, pads if isinstance(pads, str) else pads[i])
        for i, (n, k, s, d) in enumerate(zip(found.spatial, found.kernel, strides, dilations, strict=True))
    ]


def channels(call: Call) -> Fault:
    """Filters that take another number of channels than there are."""
    found = dims(call)
    needed = found.inner * call.arguments["groups"] if call.op == "conv" else found.outer
    return Fault("channels", tuple(spatial_axes(call)), min(found.channels, needed), needed)


def groups(call: Call) -> Fault:
    """Channels that cannot be divided into so many groups: those of the filters, of a transpose those of x too."""
    found = dims(call)
    fitting = found.outer - found.outer % call.arguments["groups"]
    return Fault("groups", tuple(spatial_axes(call)), fitting, found.outer)


def size(call: Call) -> Fault:
    """A transposed convolution of which padding cuts everything off."""
    given, found = call.arguments, dims(call)
    extra = per_axis("output_padding", given["output_padding"], len(found.kernel), 0)
    axes = [
        replace(a, o=a.n, n=(a.n - 1) * a.s - a.low - a.high + a.d * (a.k - 1) + 1 + more)
        for a, more in zip(spatial_axes(call), extra, strict=True)
    ]
    spatial = tuple(a.n + a.low + a.high for a in axes)
    whole: Array | None = None
    if all(0 < n <= MOST_CUT for n in spatial):
        shape = found.shape(spatial, found.inner * given["groups"])
        whole = np.broadcast_to(np.zeros(()), shape)
        if math.prod(shape) <= MOST_EXAMPLES:
            whole = np.asarray(call.compute(call.x, padding=0))
    return Fault("size", tuple(axes), whole=whole)


FINDERS = {"channels": channels, "groups": groups, "size": size}


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


def role(call: Call, array: str, index: Index) -> str | None:
    """The mark on an element in the picture of what does not fit; for a window on an axis see ``windows.misfit``."""
    fault = call.fault
    if fault is None or call.w is None:
        return None
    if fault.subject == "size":
        return cut(fault.axes, index) if array == "y" else None
    found = dims(call)
    if array == "x":
        place = found.channel_axis
        if fault.subject == "groups" and call.op == "conv":
            return None
        inside = all(index[a.position] in first_window(call, a) for a in fault.axes)
        return ("seen" if index[place] < fault.fitting else "hang") if inside else None
    outer, inner = index[:2] if found.channels_first else (index[-1], index[-2])
    if fault.subject == "groups":
        return "tap" if outer < fault.fitting else "hang"
    if call.op == "conv_transpose":
        return ("tap" if outer < found.channels else "hang") if inner == 0 else None
    if outer not in marked_outputs(call):
        return None
    return "tap" if group_of(call, outer) * found.inner + inner < found.channels else "hang"


def group_of(call: Call, output: int) -> int:
    """Of an output channel of a convolution; all are of the first one where there are fewer than groups."""
    each = dims(call).outer // call.arguments["groups"]
    return output // each if each else 0


def marked_outputs(call: Call) -> range:
    """Of a convolution: the output channel whose filter is drawn, of the first group that has too few channels, or of
    the last one. If such a group has no channel at all, there is one of the group before it, too."""
    found, groups = dims(call), call.arguments["groups"]
    each = found.outer // groups
    if not each:
        return range(min(1, found.outer))
    group = min(found.channels // found.inner, groups - 1) if found.inner else 0
    return range(max(0, group * each - (group * found.inner == found.channels)), group * each + 1)


def focus_of_channels(call: Call, fault: Fault) -> tuple[int, Index]:
    """The last channel of x that has a partner, and an element of w that is multiplied with it."""
    found, channel = dims(call), max(0, fault.fitting - 1)
    outer, inner = channel, 0
    if call.op == "conv":
        outer = max(0, marked_outputs(call).start)
        inner = max(0, min(channel - group_of(call, outer) * found.inner, found.inner - 1))
    kernel = (0,) * len(found.kernel)
    return channel, (outer, inner, *kernel) if found.channels_first else (*kernel, inner, outer)


def drawn_parts(call: Call) -> tuple[dict[int, Range], dict[int, Range]]:
    """Where channels do not fit: what is drawn of x and of w at most, by axis. These are the channels around the last
    one with a partner, and filters that take them."""
    fault = call.fault
    if fault is None or call.w is None or fault.subject not in ("channels", "groups"):
        return {}, {}
    found, transposed = dims(call), call.op == "conv_transpose"
    rank = len(found.kernel)
    outer_axis, inner_axis = (0, 1) if found.channels_first else (rank + 1, rank)
    most = MOST_CHANNELS if rank < 3 else MOST_CHANNELS // 2
    first = 0
    if not transposed and fault.subject == "channels":
        outputs = marked_outputs(call)
        first = group_of(call, outputs.start) * found.inner
    begin = first if fault.fitting - first < most else fault.fitting - most // 2
    begin = max(0, min(begin, max(found.channels, fault.needed) - most))
    along = begin, begin + most  # the channels, or outputs, that do not fit
    of_x, of_w = {}, {outer_axis: along, inner_axis: (0, 1)}
    for axis in fault.axes:
        least, largest = MOST_OF_AXIS
        first_of_x = max(-axis.low, -1)
        of_x[axis.position] = first_of_x, first_of_x + min(max(least, 1 + axis.k * axis.d), largest)
    if transposed or fault.subject == "channels":
        of_x[found.channel_axis] = along
    if not transposed and fault.subject == "channels":
        of_w = {outer_axis: (outputs.start, outputs.stop), inner_axis: (0, most)}
        if len(outputs) == 1:
            lowest = begin - first if begin - first < found.inner else max(0, found.inner - most)
            of_w[inner_axis] = lowest, lowest + most
    for i, axis in enumerate(fault.axes[:-2]):  # slices, too
        of_x[axis.position] = 0, MOST_SLICES
        of_w[2 + i if found.channels_first else i] = 0, MOST_SLICES
    return of_x, of_w


def first_window(call: Call, axis: Axis) -> range:
    """The elements along one axis on which the channels are marked: a window, of a transpose one element."""
    return range(1) if call.op == "conv_transpose" else range(0, axis.k * axis.d, axis.d)


def cut(axes: tuple[Axis, ...], index: Index) -> str | None:
    """How often padding cuts off an element of the result."""
    ends = [(index[a.position] < 0) + (index[a.position] >= a.n) for a in axes]
    return {0: None, 1: "omitted"}.get(max(ends), "hang")
