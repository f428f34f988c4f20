"""Derivatives of single outputs: where the cotangent of one window goes.

One pull-back serves many windows at once: windows that share no element get a cotangent of 1 together. Their number is
then that of the windows that overlap, not that of all windows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from ..arguments.arrays import Array
from ..autodiff.transforms import vjp
from ..dtypes import has_nan, is_complex
from ..geometry.axes import Axis, Geometry
from ..geometry.conv import ConvGeometry
from .calls import Call, channel_axis, with_derivative

Index = tuple[int, ...]


class Gradients:
    """The derivatives of the outputs of one call."""

    def __init__(self, call: Call, geometry: Geometry | ConvGeometry, y: Array) -> None:
        self.call, self.y = call, y
        transposed = call.op == "conv_transpose"
        self.steps = {axis.position: apart(axis, transposed) for axis in geometry.axes}
        if isinstance(geometry, ConvGeometry):  # every output channel sees the same elements
            channel = channel_axis(call)
            self.steps[channel] = max(1, y.shape[channel])

    @cached_property
    def exist(self) -> bool:
        """Whether there is a derivative: not of a mode, not of complex numbers, not of any function."""
        call = self.call
        if call.op == "mode_pool" or is_complex(call.x.dtype) or is_complex(self.y.dtype):
            return False
        try:
            self.pull(np.zeros(self.y.shape))
        except TypeError:  # pool with a function whose derivative is not known
            return False
        return True

    @cached_property
    def reverse(self) -> tuple[Array, object]:
        call = self.call
        floats = {} if "dtype" not in call.arguments or has_nan(self.y.dtype) else {"dtype": None}
        with np.errstate(all="ignore"):
            y, pull = vjp(lambda t: call.compute(t, **floats), with_derivative(call.x))
        return np.asarray(y), pull

    def pull(self, cotangent: Array) -> Array:
        y, pull = self.reverse
        with np.errstate(all="ignore"):  # who asks for values has not asked for the derivative at infinity
            out: Array = pull(cotangent.astype(y.dtype))[0]  # type: ignore[operator]
        return out.astype(np.float64)

    def together(self, indices: Iterable[Index]) -> Iterator[tuple[list[Index], Array | None]]:
        """The outputs in groups, each with a gradient that holds for all elements which one of the group sees."""
        groups: dict[Index, list[Index]] = {}
        for index in indices:
            groups.setdefault(tuple(index[axis] % step for axis, step in self.steps.items()), []).append(index)
        for group in groups.values():
            if not self.exist:
                yield group, None
                continue
            cotangent = np.zeros(self.y.shape)
            cotangent[tuple(np.transpose(group))] = 1
            yield group, self.pull(cotangent)


def apart(axis: Axis, transposed: bool) -> int:
    """How far apart two outputs are that share no element."""
    reach = axis.d * (axis.k - 1) + 1
    if transposed:
        return reach
    if axis.lengths is None or axis.starts is None:
        return math.ceil(reach / axis.s)
    starts, ends = axis.starts, [s + n * axis.d for s, n in zip(axis.starts, axis.lengths, strict=True)]
    step = 1
    while any(end > start for end, start in zip(ends, starts[step:], strict=False)):
        step += 1
    return step
