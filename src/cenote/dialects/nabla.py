"""Pooling and convolution as in nabla: two-dimensional, on arrays of shape (batch, height, width, channels).

>>> import numpy as np
>>> from cenote.dialects import nabla
>>> x = np.arange(16.0).reshape(1, 4, 4, 1)
>>> nabla.max_pool2d(x, kernel_size=2)[0, :, :, 0]
array([[ 5.,  7.],
       [13., 15.]])

Unlike there, dilation, groups and output paddings work, and of tied cells the first one alone has the derivative.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from .. import convolution, pooling
from ..arguments import as_int, as_sequence, per_axis
from ..errors import BadType, BadValue, counted, kind, public, shown
from ..rules import operand
from ._common import call

__all__ = ["avg_pool2d", "conv2d", "conv2d_transpose", "max_pool2d"]

Pair: TypeAlias = int | tuple[int, int]
Padding: TypeAlias = int | tuple[int, int] | tuple[int, int, int, int]

NAMES = {"window": "kernel_size", "w": "filter", "output_padding": "output_paddings"}
PADDINGS = "an int, (height, width) or (top, bottom, left, right)"


@public
def max_pool2d(
    x: ArrayLike,
    *,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Padding = 0,
    dilation: Pair = (1, 1),
) -> Any:
    """The largest cell of each window: (N, H, W, C) → (N, H', W', C).

    >>> import numpy as np
    >>> from cenote.dialects import nabla
    >>> x = -np.arange(1.0, 10.0).reshape(1, 3, 3, 1)
    >>> nabla.max_pool2d(x, kernel_size=2, stride=1)[0, :, :, 0]
    array([[-1., -2.],
           [-4., -5.]])
    >>> nabla.max_pool2d(x, kernel_size=2, padding=(1, 0, 0, 1))[0, :, :, 0]  # one row above, one column on the right
    array([[-1., -3.],
           [-4., -6.]])
    >>> nabla.max_pool2d(x, kernel_size=2, dilation=2)[0, :, :, 0]
    array([[-1.]])

    ``kernel_size``, ``stride`` and ``dilation`` are an int or (height, width), ``padding`` an int, (height, width) or
    (top, bottom, left, right); the stride is the kernel's size by default. Padded cells are never chosen: a window of
    nothing else is −inf.
    """
    return pooled(pooling.max_pool, x, kernel_size, stride, padding, dilation)


@public
def avg_pool2d(
    x: ArrayLike,
    *,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Padding = 0,
    dilation: Pair = (1, 1),
) -> Any:
    """The average of each window: (N, H, W, C) → (N, H', W', C).

    >>> import numpy as np
    >>> from cenote.dialects import nabla
    >>> x = np.arange(1.0, 10.0).reshape(1, 3, 3, 1)
    >>> nabla.avg_pool2d(x, kernel_size=(1, 3))[0, :, :, 0]
    array([[2.],
           [5.],
           [8.]])
    >>> nabla.avg_pool2d(x, kernel_size=2, padding=(1, 0))[0, :, :, 0]
    array([[0.75],
           [6.  ]])

    The arguments are those of :func:`max_pool2d`. Padded cells are zeros, and are counted: the divisor is always the
    number of cells in a window.
    """
    return pooled(pooling.avg_pool, x, kernel_size, stride, padding, dilation)


@public
def conv2d(
    x: ArrayLike,
    filter: ArrayLike,
    *,
    stride: Pair = (1, 1),
    dilation: Pair = (1, 1),
    padding: Padding = (0, 0, 0, 0),
    groups: int = 1,
    bias: ArrayLike | None = None,
    input_layout: Any = None,
    filter_layout: Any = None,
) -> Any:
    """Each window times each filter, added up: (N, H, W, C) and (K_h, K_w, C/groups, O) → (N, H', W', O).

    >>> import numpy as np
    >>> from cenote.dialects import nabla
    >>> x = np.arange(1.0, 10.0).reshape(1, 3, 3, 1)
    >>> filter = np.array([[1.0, 10.0], [100.0, 1000.0]]).reshape(2, 2, 1, 1)
    >>> nabla.conv2d(x, filter)[0, :, :, 0]
    array([[5421., 6532.],
           [8754., 9865.]])
    >>> nabla.conv2d(x, filter, stride=2, padding=(1, 0, 0, 1), bias=np.array([0.5]))[0, :, :, 0]
    array([[2100.5,  300.5],
           [8754.5,  906.5]])

    ``stride`` and ``dilation`` are an int or (height, width), ``padding`` an int, (height, width) or (top, bottom,
    left, right). ``bias`` has one number per output channel. The layouts are "NHWC" and "HWIO": None stands for them.
    """
    check_layout("input_layout", input_layout, "NHWC")
    check_layout("filter_layout", filter_layout, "HWIO")
    data, filters, options = convolved(x, filter, stride, dilation, padding)
    return call(convolution.conv, NAMES, data, filters, bias=bias, groups=groups, **options)


@public
def conv2d_transpose(
    x: ArrayLike,
    filter: ArrayLike,
    *,
    stride: Pair = (1, 1),
    dilation: Pair = (1, 1),
    padding: Padding = (0, 0, 0, 0),
    output_paddings: Pair = (0, 0),
    bias: ArrayLike | None = None,
    input_layout: Any = None,
    filter_layout: Any = None,
) -> Any:
    """The adjoint of :func:`conv2d`: (N, H, W, C) and (K_h, K_w, O, C) → (N, H', W', O).

    >>> import numpy as np
    >>> from cenote.dialects import nabla
    >>> x = np.array([1.0, 2.0]).reshape(1, 1, 2, 1)
    >>> filter = np.array([1.0, 10.0, 100.0]).reshape(1, 3, 1, 1)
    >>> nabla.conv2d_transpose(x, filter, stride=2).ravel()
    array([  1.,  10., 102.,  20., 200.])
    >>> nabla.conv2d_transpose(x, filter, stride=2, padding=(0, 0, 1, 1), output_paddings=(0, 1)).ravel()
    array([ 10., 102.,  20., 200.])

    The arguments are those of :func:`conv2d`: ``padding`` is taken away from the result, and ``output_paddings``, an
    int or (height, width), adds rows and columns at the end. The layouts are "NHWC" and "HWOI": None stands for them.
    """
    check_layout("input_layout", input_layout, "NHWC")
    check_layout("filter_layout", filter_layout, "HWOI")
    data, filters, options = convolved(x, filter, stride, dilation, padding)
    more = per_axis("output_paddings", output_paddings, 2, 0)
    return call(convolution.conv_transpose, NAMES, data, filters, bias=bias, output_padding=more, **options)


def check_layout(name: str, value: object, known: str) -> None:
    if value is not None and not (isinstance(value, str) and value == known):
        raise BadValue(f"{name}={shown(value)}: {known!r} is needed, or None, which means the same")


def convolved(
    x: object, filter: object, stride: object, dilation: object, padding: object
) -> tuple[Any, Any, dict[str, Any]]:
    data, filters = operand(x), operand(filter, "filter")
    for name, given, axes in (
        ("x", data, "(batch, height, width, channels)"),
        ("filter", filters, "(height, width) of the kernel and two for channels"),
    ):
        if given.ndim != 4:
            raise BadValue(f"{name} has shape {shown(given.shape)}: 4 axes are needed, {axes}")
    options = {
        "stride": per_axis("stride", stride, 2, 1),
        "dilation": per_axis("dilation", dilation, 2, 1),
        "padding": read_padding(padding),
    }
    return data, filters, options


def pooled(function: Any, x: object, kernel_size: object, stride: object, padding: object, dilation: object) -> Any:
    data = operand(x)
    if data.ndim != 4:
        raise BadValue(f"x has shape {shown(data.shape)}: 4 axes are needed, (batch, height, width, channels)")
    size = per_axis("kernel_size", kernel_size, 2, 1)
    options = {
        "stride": size if stride is None else per_axis("stride", stride, 2, 1),
        "padding": read_padding(padding),
        "dilation": per_axis("dilation", dilation, 2, 1),
    }
    return call(function, NAMES, data, size, axes=(1, 2), **options)


def read_padding(value: object) -> tuple[tuple[int, int], tuple[int, int]]:
    """((top, bottom), (left, right))"""
    entries = as_sequence(value)
    if entries is None:
        if isinstance(value, str) or not hasattr(type(value), "__index__"):
            raise BadType(f"padding={shown(value)}: {PADDINGS} is needed, not {kind(value)}")
        entries = (as_int("padding", value, value, 0),) * 2
    cells = tuple(as_int("padding", value, entry, 0) for entry in entries)
    if len(cells) == 2:
        return (cells[0], cells[0]), (cells[1], cells[1])
    if len(cells) == 4:
        return (cells[0], cells[1]), (cells[2], cells[3])
    raise BadValue(f"padding={shown(value)} has {counted(len(cells), 'entry', 'entries')}: {PADDINGS} is needed")
