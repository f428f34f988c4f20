"""What the playground can be asked for: its numbers, dtypes and sizes. ``link.py`` writes no address beyond them."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ..geometry.axes import Axis
from .calls import Call, channel_axis, end_of

MOST_ELEMENTS = 1024  # of x, w and the result: all of them are drawn
MOST_CELLS = 4096  # of x with its padding
MOST_SEEN = 16384  # elements of all windows together
MOST_AXES = 6
MOST_EDITS = 4096  # elements that are changed
LARGEST = 9999  # as a size, stride, padding or dilation
LONGEST = 40  # characters of a number
DTYPES = ("float64", "float32", "int64", "uint8")
REDUCERS = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "logaddexp": np.logaddexp,
}


def too_large(call: Call, axes: tuple[Axis, ...], shape: tuple[int, ...]) -> str | None:
    """Why a call whose result has this shape is more than can be drawn; None if it is not."""
    outputs = math.prod(shape)
    if outputs > MOST_ELEMENTS:
        return (
            f"{call.op}: the result has shape {shape}, {outputs} elements, at most {MOST_ELEMENTS} are drawn: "
            "make the stride larger, or the shape smaller"
        )
    window = math.prod(axis.k for axis in axes)
    if call.w is not None:
        window = call.w.size // max(1, shape[channel_axis(call)])
    if outputs * window > MOST_SEEN:
        return (
            f"{call.op}: {outputs} windows of {window} elements are {outputs * window}, at most {MOST_SEEN} are "
            "drawn: make the window smaller, or the stride larger"
        )
    if call.op != "conv_transpose":
        cells = math.prod(cells_of(call.x.shape, axes))
        if cells > MOST_CELLS:
            return (
                f"{call.op}: x has {cells} elements with its padding, at most {MOST_CELLS} are drawn: make the "
                "padding smaller"
            )
    return None


def cells_of_input(call: Call) -> list[int]:
    """Sizes of x as the playground draws it: with its padding, and channels that filters take and it does not have."""
    out = list(call.x.shape) if call.op == "conv_transpose" else cells_of(call.x.shape, call.axes)
    if call.fault is not None and call.fault.subject == "channels":
        channel = channel_axis(call)
        out[channel] = max(out[channel], call.fault.needed)
    return out


def cells_of(shape: tuple[int, ...], axes: Iterable[Axis]) -> list[int]:
    """Sizes of x with its padding and with what windows that hang over the end see."""
    out = list(shape)
    for axis in axes:
        out[axis.position] = axis.low + max(axis.n + axis.high, end_of(axis))
    return out
