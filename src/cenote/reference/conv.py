"""The slow, exact definition of convolution and of its two adjoints, in NumPy.

Read this to know what they mean. One form, linear in each of its three arrays,

    T(x, w, y) = Σ x[b, j·s − low + t·d, g·C + c] · w[t, c, g·O + o] · y[b, j, g·O + o]

over batch entries b, windows j, taps t, groups g, channels c and o of one group: elements outside of x are zero. Left
without y it is a convolution, without x a transposed one, without w the derivative by a filter. Each is written tap by
tap: for one tap of the window all that is left is a product of matrices.

Arrays have the core's order of axes: x (B, \\*n, G·C), w (\\*k, C, G·O), y (B, \\*o, G·O).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..arguments.arrays import Array
from ..dtypes import DType, accumulator
from ..geometry.axes import Axis

Slices = tuple[slice, ...]


def taps(axes: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], Slices, Slices]]:
    """Each tap that meets an element: its index in w, the windows for which it does, and those elements."""
    for tap in np.ndindex(*(axis.k for axis in axes)):
        pairs = [axis.tap(t) for axis, t in zip(axes, tap, strict=True)]
        windows, elements = tuple(windows for windows, _ in pairs), tuple(elements for _, elements in pairs)
        if all(some.stop > some.start for some in windows):
            yield tap, (slice(None), *windows), (slice(None), *elements)


def parts(channels: int, groups: int) -> list[slice]:
    """The channels of each group."""
    size = channels // groups
    return [slice(g * size, (g + 1) * size) for g in range(groups)]


def conv(x: Array, w: Array, axes: Sequence[Axis], groups: int, bias: Array | None = None) -> Array:
    """y: every window of x times w, plus the bias of its channel."""
    dtype, work = x.dtype, accumulator(x.dtype)
    x, w = x.astype(work), w.astype(work)
    y = np.zeros((x.shape[0], *(axis.o for axis in axes), w.shape[-1]), work)
    if bias is not None:
        y += bias.astype(work)
    for tap, windows, elements in taps(axes):
        for c, o in zip(parts(x.shape[-1], groups), parts(w.shape[-1], groups), strict=True):
            y[(*windows, o)] += x[(*elements, c)] @ w[tap][:, o]
    return narrowed(y, dtype)


def conv_input(w: Array, y: Array, axes: Sequence[Axis], groups: int, bias: Array | None = None) -> Array:
    """x: every y, times w, to the elements of its window; plus the bias of a channel."""
    dtype, work = y.dtype, accumulator(y.dtype)
    w, y = w.astype(work), y.astype(work)
    x = np.zeros((y.shape[0], *(axis.n for axis in axes), w.shape[-2] * groups), work)
    if bias is not None:
        x += bias.astype(work)
    for tap, windows, elements in taps(axes):
        for c, o in zip(parts(x.shape[-1], groups), parts(w.shape[-1], groups), strict=True):
            x[(*elements, c)] += y[(*windows, o)] @ w[tap][:, o].T
    return narrowed(x, dtype)


def conv_filter(x: Array, y: Array, axes: Sequence[Axis], groups: int) -> Array:
    """w: for each tap, the elements that it meets times the y of their windows, added up."""
    dtype, work = x.dtype, accumulator(x.dtype)
    x, y = x.astype(work), y.astype(work)
    w = np.zeros((*(axis.k for axis in axes), x.shape[-1] // groups, y.shape[-1]), work)
    for tap, windows, elements in taps(axes):
        for c, o in zip(parts(x.shape[-1], groups), parts(y.shape[-1], groups), strict=True):
            all_but_channels = list(range(1 + len(axes)))
            w[tap][:, o] = np.tensordot(x[(*elements, c)], y[(*windows, o)], (all_but_channels, all_but_channels))
    return narrowed(w, dtype)


def narrowed(total: Array, dtype: DType) -> Array:
    with np.errstate(over="ignore"):
        return total.astype(dtype)
