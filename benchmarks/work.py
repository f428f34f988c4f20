"""What is computed: one pooling call, the data that it is given, and the same call on less data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cenote as cn

Array = NDArray[Any]
Ints = tuple[int, ...]


def dtype_named(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        import ml_dtypes

        name = ml_dtypes.bfloat16
    dtype: np.dtype[Any] = np.dtype(name)
    return dtype


@dataclass(frozen=True)
class Case:
    """One call. ``shape`` is (batch, channels, *space), or that of an image, whatever the layout in memory is."""

    op: str  # max, min, sum, avg, lp, smooth_max, median, mode
    shape: Ints
    window: Ints
    stride: int | None = None
    padding: int = 0
    dilation: int = 1
    ceil_mode: bool = False
    axes: Ints | None = None
    nan: str = "propagate"
    indices: bool = False
    p: float = 2.0  # of lp
    beta: float = 1.0  # of smooth_max
    dtype: str = "float32"
    result: str = ""  # the dtype of the result, if it is asked for
    layout: str = "first"  # or "last": the channels lie innermost in memory
    nans: float = 0.0  # share of elements that are NaN
    labels: str = ""  # integers that are labels: "blocks" of one value, or these with "noise"
    mode: str = "forward"  # "vjp": the value, then one pull; "backward": through a Tensor, from a sum

    @property
    def steps(self) -> Ints:
        return self.window if self.stride is None else (self.stride,) * len(self.window)

    @property
    def spatial(self) -> Ints:
        """The axes that the window lies on, counted from the front."""
        rank = len(self.shape)
        return tuple(range(rank - len(self.window), rank)) if self.axes is None else self.axes

    @property
    def elements(self) -> int:
        return math.prod(self.window)

    def geometry(self) -> dict[str, Any]:
        """The window arguments that every function takes, the usual ones left out."""
        given: dict[str, Any] = {"stride": self.stride, "padding": self.padding, "dilation": self.dilation}
        given |= {"ceil_mode": self.ceil_mode, "axes": self.axes}
        usual = {"stride": None, "padding": 0, "dilation": 1, "ceil_mode": False, "axes": None}
        return {name: value for name, value in given.items() if value != usual[name]}

    def options(self) -> dict[str, Any]:
        """All keyword arguments of the call."""
        more: dict[str, Any] = {"lp": {"p": self.p}, "smooth_max": {"beta": self.beta}}.get(self.op, {})
        more |= {"nan": self.nan} if self.nan != "propagate" else {}
        more |= {"dtype": dtype_named(self.result)} if self.result else {}
        return self.geometry() | more | ({"return_indices": True} if self.indices else {})

    @property
    def output_shape(self) -> Ints:
        return cn.output_shape(self.shape, self.window, **self.geometry())

    @property
    def output_dtype(self) -> np.dtype[Any]:
        dtype = dtype_named(self.dtype)
        if self.result:
            return dtype_named(self.result)
        integers = dtype.kind in "iu"
        if self.op in ("max", "min", "mode") or not integers:
            return dtype
        return np.dtype("float64" if self.op != "sum" else {"i": "int64", "u": "uint64"}[dtype.kind])

    @property
    def input_bytes(self) -> int:
        return math.prod(self.shape) * dtype_named(self.dtype).itemsize

    @property
    def output_bytes(self) -> int:
        """Of the values; indices are counted where they are asked for."""
        return math.prod(self.output_shape) * (self.output_dtype.itemsize + 8 * self.indices)

    @property
    def bytes_moved(self) -> int:
        """What must be read and written: input and output, and for a derivative their cotangents too."""
        return (self.input_bytes + self.output_bytes) * (1 if self.mode == "forward" else 2)

    def small(self) -> Case:
        """The same call on an array of a few windows: every remainder by the stride stays what it is."""
        shape = [min(n, 3) for n in self.shape]
        for axis, k, step in zip(self.spatial, self.window, self.steps, strict=True):
            enough = 2 * (self.dilation * (k - 1) + 1) + 3
            shape[axis] = self.shape[axis] - step * max(0, (self.shape[axis] - enough) // step)
        return replace(self, shape=tuple(shape))

    def data(self, seed: int = 0) -> Array:
        if self.labels:
            return labelled(self.shape, self.window, dtype_named(self.dtype), self.labels == "noise", seed)
        return laid_out(self.shape, dtype_named(self.dtype), self.layout, self.nans, seed)

    def cotangent(self) -> Array:
        return laid_out(self.output_shape, self.output_dtype, self.layout, 0.0, 1)


def laid_out(shape: Ints, dtype: np.dtype[Any], layout: str, nans: float, seed: int) -> Array:
    """Random numbers: all integers of the dtype, or normal floats; with the channels innermost if asked for."""
    rng = np.random.default_rng(seed)
    memory = shape if layout == "first" else (shape[0], *shape[2:], shape[1])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        x: Array = rng.integers(limits.min, limits.max, memory, dtype=dtype, endpoint=True)
    elif dtype == np.float64:
        x = rng.standard_normal(memory)
    else:
        x = rng.standard_normal(memory, dtype=np.float32).astype(dtype, copy=False)
    if nans:
        x[rng.random(memory, dtype=np.float32) < nans] = np.nan
    return x if layout == "first" else np.moveaxis(x, -1, 1)


def labelled(shape: Ints, window: Ints, dtype: np.dtype[Any], noise: bool, seed: int) -> Array:
    """Labels of 1 to 200: blocks of seven windows along each axis. With noise each window has a label of its own, and
    almost half of its elements, at random, have others. No window has two labels that are equally frequent: libraries
    differ in which of them they take."""
    rng = np.random.default_rng(seed)
    tiles = tuple(-(-n // k) for n, k in zip(shape, window, strict=True))
    every = tuple(1 if noise else 7 for _ in shape)
    labels = rng.integers(1, 201, tuple(-(-n // e) for n, e in zip(tiles, every, strict=True))).astype(dtype)
    for axis, (k, e, n) in enumerate(zip(window, every, shape, strict=True)):
        labels = np.repeat(labels, k * e, axis=axis).take(range(n), axis=axis)
    if noise:
        elements = math.prod(window)
        others = np.zeros((math.prod(tiles), elements), bool)
        others[:, : (elements - 1) // 2] = True
        places = rng.permuted(others, axis=1).reshape(*tiles, *window)
        order = [axis + part * len(shape) for axis in range(len(shape)) for part in (0, 1)]
        mask = places.transpose(order).reshape(tuple(t * k for t, k in zip(tiles, window, strict=True)))
        mask = mask[tuple(map(slice, shape))]
        labels[mask] = rng.integers(1, 201, int(mask.sum())).astype(dtype)
    return labels
