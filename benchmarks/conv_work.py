"""What is computed: one convolution, its data and its filters, and the same call on less data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from work import Array, Ints, dtype_named, laid_out


@dataclass(frozen=True)
class Conv:
    """One call. Shapes are (batch, channels, *space) and (outputs, inputs of a group, *window), whatever the layout
    in memory is: channels last that is (batch, *space, channels) and (*window, inputs, outputs). The filters of a
    transpose are (channels, outputs, *window)."""

    shape: Ints
    filters: int  # how many: the channels of the result
    window: Ints
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    depthwise: bool = False  # as many groups as there are channels
    op: str = "conv"  # or "conv_transpose"
    dtype: str = "float32"
    layout: str = "first"  # or "last": the channels lie innermost in memory
    mode: str = "forward"  # "vjp": the value, then one pull, to the data and to the filters

    @property
    def steps(self) -> Ints:
        return (self.stride,) * len(self.window)

    @property
    def spatial(self) -> Ints:
        return tuple(range(2, len(self.shape)))

    @property
    def groups(self) -> int:
        return self.shape[1] if self.depthwise else 1

    def options(self) -> dict[str, Any]:
        """All keyword arguments of the call, the usual ones left out."""
        given = {"stride": self.stride, "padding": self.padding, "dilation": self.dilation, "groups": self.groups}
        usual = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
        plain = {name: value for name, value in given.items() if value != usual[name]}
        return plain | {"layout": f"channels_{self.layout}"}

    @property
    def filter_shape(self) -> Ints:
        inputs = self.shape[1] // self.groups
        lead = (self.filters, inputs) if self.op == "conv" else (inputs, self.filters)
        return (*lead, *self.window)

    @property
    def output_shape(self) -> Ints:
        effective = [self.dilation * (k - 1) + 1 - 2 * self.padding for k in self.window]
        if self.op == "conv":
            space = [(n - r) // self.stride + 1 for n, r in zip(self.shape[2:], effective, strict=True)]
        else:
            space = [(n - 1) * self.stride + r for n, r in zip(self.shape[2:], effective, strict=True)]
        return (self.shape[0], self.filters, *space)

    @property
    def output_dtype(self) -> np.dtype[Any]:
        return dtype_named(self.dtype)

    @property
    def input_bytes(self) -> int:
        return math.prod(self.shape) * self.output_dtype.itemsize

    @property
    def filter_bytes(self) -> int:
        return math.prod(self.filter_shape) * self.output_dtype.itemsize

    @property
    def output_bytes(self) -> int:
        return math.prod(self.output_shape) * self.output_dtype.itemsize

    @property
    def bytes_moved(self) -> int:
        """What must be read and written: data, filters and output, and for a derivative their cotangents too."""
        return (self.input_bytes + self.filter_bytes + self.output_bytes) * (1 if self.mode == "forward" else 2)

    @property
    def flops(self) -> int:
        """Multiplications and additions of the direct sum, padding included: the same whichever way it is computed.

        A derivative is two more of them.
        """
        places = self.output_shape if self.op == "conv" else self.shape
        sums = places[0] * math.prod(places[2:])
        return 2 * sums * math.prod(self.filter_shape) * (1 if self.mode == "forward" else 3)

    def small(self) -> Conv:
        """The same call on few channels and a few windows: every remainder by the stride stays what it is."""
        channels = min(self.shape[1], 4)
        shape = [min(self.shape[0], 2), channels, *self.shape[2:]]
        for axis, k in zip(self.spatial, self.window, strict=True):
            enough = self.dilation * (k - 1) + 5
            shape[axis] -= self.stride * max(0, (shape[axis] - enough) // self.stride)
        filters = channels if self.depthwise else min(self.filters, 5)
        return replace(self, shape=tuple(shape), filters=filters)

    def data(self, seed: int = 0) -> Array:
        return laid_out(self.shape, self.output_dtype, self.layout, 0.0, seed)

    def weights(self) -> Array:
        """Normal numbers; channels last those of one place in the window lie together."""
        lead, inner, *window = self.filter_shape
        memory = self.filter_shape if self.layout == "first" else (*window, inner, lead)
        w: Array = np.random.default_rng(2).standard_normal(memory, dtype=np.float32).astype(self.output_dtype)
        return w if self.layout == "first" else np.moveaxis(w, (-1, -2), (0, 1))

    def cotangent(self) -> Array:
        return laid_out(self.output_shape, self.output_dtype, self.layout, 0.0, 1)
