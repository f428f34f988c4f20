"""Pooling, convolution and derivatives as in nabla: on arrays of shape (batch, height, width, channels).

>>> import numpy as np
>>> import cenote.dialects.nabla as nb
>>> x = np.arange(16.0).reshape(1, 4, 4, 1)
>>> nb.max_pool2d(x, kernel_size=2)[0, :, :, 0]
array([[ 5.,  7.],
       [13., 15.]])
>>> y, pull = nb.vjp(lambda x: nb.max_pool2d(x, kernel_size=2), x)
>>> pull(y)[0][0, :, :, 0]
array([[ 0.,  0.,  0.,  0.],
       [ 0.,  5.,  0.,  7.],
       [ 0.,  0.,  0.,  0.],
       [ 0., 13.,  0., 15.]])

Unlike there, dilation, groups and output paddings work; of tied elements only the first gets the derivative; and the
derivative with respect to an integer array is zeros, not None. ``Tensor`` is cenote's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import ArrayLike

from ..api import convolution, pooling, sums
from ..arguments.errors import BadType, BadValue, describe_type, format_value, pluralize, public
from ..arguments.values import as_int, as_sequence, per_axis
from ..autodiff import transforms as autodiff
from ..autodiff.tensor import Tensor
from ..backends.dispatch import operand
from ._common import call
from ._missing import missing_names

__all__ = ["Tensor", "avg_pool2d", "conv2d", "conv2d_transpose", "grad", "jvp", "max_pool2d", "vjp"]

if not TYPE_CHECKING:  # type checkers would take any name for an attribute
    __getattr__ = missing_names(__name__, __all__)

Pair: TypeAlias = int | tuple[int, int]
Padding: TypeAlias = int | tuple[int, int] | tuple[int, int, int, int]

NAMES = {"window": "kernel_size", "w": "filter", "output_padding": "output_paddings", "f": "fn"}
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
    """The largest element of each window: (N, H, W, C) → (N, H', W', C).

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

    Padding is never chosen: a window of nothing else is −inf.

    Parameters
    ----------
    x : array_like or Tensor
        Input of shape (N, H, W, C).
    kernel_size : int or (int, int)
        Size of the window: one int for both axes, or (height, width).
    stride : int or (int, int), optional
        Step of the window. Defaults to ``kernel_size``.
    padding : int, (int, int), or (int, int, int, int), optional
        Number of elements added: an int, (height, width), or (top, bottom, left, right).
    dilation : int or (int, int), optional
        Spacing between the elements of a window.

    Returns
    -------
    ndarray or Tensor
        Array of shape (N, H', W', C), in the dtype of ``x``.
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

    Padded elements are zeros, and count: the divisor is always the number of elements in a window.

    Parameters
    ----------
    x, kernel_size : array_like or Tensor, and int or (int, int)
        As for :func:`max_pool2d`.
    stride, padding, dilation : int or tuple of int, optional
        As for :func:`max_pool2d`.

    Returns
    -------
    ndarray or Tensor
        Array of shape (N, H', W', C).
    """
    return pooled(sums.avg_pool, x, kernel_size, stride, padding, dilation)


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
    """Sum of the products of each window with each filter: (N, H, W, C) and (K_h, K_w, C/groups, O) → (N, H', W', O).

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

    Parameters
    ----------
    x : array_like or Tensor
        Input of shape (N, H, W, C).
    filter : array_like or Tensor
        Filters of shape (K_h, K_w, C/groups, O).
    stride, dilation : int or (int, int), optional
        Step of the filter, and spacing between its elements: one int for both axes, or (height, width).
    padding : int, (int, int), or (int, int, int, int), optional
        Number of zeros added: an int, (height, width), or (top, bottom, left, right).
    groups : int, optional
        Number of groups that the channels are divided into.
    bias : array_like or Tensor, optional
        Added to the result: one number per output channel.
    input_layout, filter_layout : str, optional
        "NHWC" or "NCHW", for ``x`` and the result; "HWIO" or "OIHW". The first of each is the default.

    Returns
    -------
    ndarray or Tensor
        Array of shape (N, H', W', O), in the layout of ``x``.
    """
    first, names, data, filters = laid_out(x, filter, input_layout, filter_layout, ("HWIO", "OIHW"))
    options = convolved(stride, dilation, padding, first)
    given = {"stride": stride, "dilation": dilation, "padding": padding}
    return call(convolution.conv, names, data, filters, bias=bias, groups=groups, given=given, **options)


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

    Parameters
    ----------
    x : array_like or Tensor
        Input of shape (N, H, W, C).
    filter : array_like or Tensor
        Filters of shape (K_h, K_w, O, C).
    stride, dilation : int or (int, int), optional
        Those of the :func:`conv2d` that it transposes.
    padding : int, (int, int), or (int, int, int, int), optional
        Number of elements removed from the result: an int, (height, width), or (top, bottom, left, right).
    output_paddings : int or (int, int), optional
        Number of rows and columns added at the end of the result.
    bias : array_like or Tensor, optional
        Added to the result: one number per output channel.
    input_layout, filter_layout : str, optional
        "NHWC" or "NCHW", for ``x`` and the result; "HWOI" or "IOHW". The first of each is the default.

    Returns
    -------
    ndarray or Tensor
        Array of shape (N, H', W', O), in the layout of ``x``.
    """
    first, names, data, filters = laid_out(x, filter, input_layout, filter_layout, ("HWOI", "IOHW"))
    options = convolved(stride, dilation, padding, first)
    more = per_axis("output_paddings", output_paddings, 2, 0)
    given = {"stride": stride, "dilation": dilation, "padding": padding, "output_padding": output_paddings}
    return call(
        convolution.conv_transpose, names, data, filters, bias=bias, output_padding=more, given=given, **options
    )


# ------------------------------------------------------------------------------------------------- derivatives


@public
def vjp(fn: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of ``fn`` at the primals, and a function from the cotangent of the value to a tuple of theirs.

    >>> import numpy as np
    >>> import cenote.dialects.nabla as nb
    >>> y, pull = nb.vjp(np.multiply, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> y, pull(np.array([1.0, 10.0]))
    (array([3., 8.]), (array([ 3., 40.]), array([ 1., 20.])))

    Parameters
    ----------
    fn : callable
        Function of arrays that returns an array or a tuple of arrays.
    *primals : array_like or Tensor
        Arguments of ``fn``.

    Returns
    -------
    value, pull : array or tuple of arrays, and callable
        ``fn(*primals)``, and the function.
    """
    value, pull = call(autodiff.vjp, NAMES, fn, *primals)
    return value, renamed(pull)


@public
def jvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of ``fn`` at the primals, and its derivative along the tangents.

    >>> import numpy as np
    >>> import cenote.dialects.nabla as nb
    >>> nb.jvp(np.square, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
    (array([1., 4.]), array([ 2., 40.]))

    Parameters
    ----------
    fn : callable
        Function of arrays that returns an array or a tuple of arrays.
    primals, tangents : sequence of array_like or Tensor
        Arguments of ``fn``, and one tangent for each.

    Returns
    -------
    value, tangent : array or tuple of arrays
        ``fn(*primals)``, and its tangent.
    """
    return call(autodiff.jvp, NAMES, fn, primals, tangents)  # type: ignore[no-any-return]


@public
def grad(fn: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that returns the gradient of a scalar function ``fn`` with respect to its arguments ``argnums``.

    >>> import numpy as np
    >>> import cenote.dialects.nabla as nb
    >>> nb.grad(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([ 3., 12.])

    Parameters
    ----------
    fn : callable
        Function of arrays that returns a scalar.
    argnums : int or sequence of int, optional
        Position of the argument to differentiate with respect to, or several.

    Returns
    -------
    callable
        Function of the same arguments. It returns an array, or a tuple of them for several ``argnums``.
    """
    return renamed(call(autodiff.grad, NAMES, fn, argnums))


def renamed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that a transform gave, with causes in the words of nabla."""

    def call_it(*args: Any, **options: Any) -> Any:
        return call(function, NAMES, *args, **options)

    call_it.__name__ = function.__name__
    return public(call_it)


# --------------------------------------------------------------------------------------------------- arguments


def laid_out(
    x: object, filter: object, input_layout: object, filter_layout: object, filters: tuple[str, str]
) -> tuple[bool, dict[str, str], Any, Any]:
    """Whether channels come first, the names of arguments, and the operands, with the filter in the layout of x.

    ``filters`` are the layouts of the filter, for channels last and first.
    """
    first = is_second("input_layout", input_layout, ("NHWC", "NCHW"))
    given_first = is_second("filter_layout", filter_layout, filters)
    data, kernel = operand(x), operand(filter, "filter")
    axes = "(batch, channels, height, width)" if first else "(batch, height, width, channels)"
    for name, given, needed in (
        ("x", data, axes),
        ("filter", kernel, "(height, width) of the kernel and two for channels"),
    ):
        if given.ndim != 4:
            raise BadValue(f"{name} has shape {format_value(given.shape)}: 4 axes are needed, {needed}")
    if first == given_first:
        return first, NAMES, data, kernel
    names = {**NAMES, "w": f"filter (as {filters[first]})"}
    return first, names, data, kernel.transpose((3, 2, 0, 1) if first else (2, 3, 1, 0))


def is_second(name: str, value: object, layouts: tuple[str, str]) -> bool:
    if value is None or (isinstance(value, str) and value in layouts):
        return value == layouts[1]
    raise BadValue(
        f"{name}={format_value(value)}: {layouts[0]!r} or {layouts[1]!r} is needed, or None, which means {layouts[0]!r}"
    )


def convolved(stride: object, dilation: object, padding: object, first: bool) -> dict[str, Any]:
    return {
        "stride": per_axis("stride", stride, 2, 1),
        "dilation": per_axis("dilation", dilation, 2, 1),
        "padding": read_padding(padding),
        "layout": "channels_first" if first else "channels_last",
    }


def pooled(function: Any, x: object, kernel_size: object, stride: object, padding: object, dilation: object) -> Any:
    data = operand(x)
    if data.ndim != 4:
        raise BadValue(f"x has shape {format_value(data.shape)}: 4 axes are needed, (batch, height, width, channels)")
    size = per_axis("kernel_size", kernel_size, 2, 1)
    options = {
        "stride": size if stride is None else per_axis("stride", stride, 2, 1),
        "padding": read_padding(padding),
        "dilation": per_axis("dilation", dilation, 2, 1),
    }
    given = {"window": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    return call(function, NAMES, data, size, axes=(1, 2), given=given, **options)


def read_padding(value: object) -> tuple[tuple[int, int], tuple[int, int]]:
    """((top, bottom), (left, right))"""
    entries = as_sequence(value)
    if entries is None:
        if isinstance(value, str) or not hasattr(type(value), "__index__"):
            raise BadType(f"padding={format_value(value)}: {PADDINGS} is needed, not {describe_type(value)}")
        entries = (as_int("padding", value, value, 0),) * 2
    elements = tuple(as_int("padding", value, entry, 0) for entry in entries)
    if len(elements) == 2:
        return (elements[0], elements[0]), (elements[1], elements[1])
    if len(elements) == 4:
        return (elements[0], elements[1]), (elements[2], elements[3])
    raise BadValue(
        f"padding={format_value(value)} has {pluralize(len(elements), 'entry', 'entries')}: {PADDINGS} is needed"
    )
