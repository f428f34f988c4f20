"""``mygrad.nnet.layers``: ``max_pool`` and ``conv_nd``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ....api import convolution, pooling
from ....arguments.arrays import as_array
from ....arguments.errors import BadValue, format_value, pluralize, public
from ....arguments.values import Ints, as_flag, per_axis
from ....autodiff import tensor as autodiff
from ..._common import call, ints
from ..._missing import missing_names
from ..tensors import Tensor, adopted, variable

__all__ = ["conv_nd", "max_pool"]

if not TYPE_CHECKING:  # type checkers would take any name for an attribute
    __getattr__ = missing_names(__name__, __all__)

NAMES = {"window": "pool", "w": "filter_bank"}


@public
def max_pool(x: ArrayLike, pool: Ints, stride: Ints, *, constant: bool | None = None) -> Tensor:
    """The largest element of each window over the trailing axes, as a Tensor.

    >>> import numpy as np
    >>> from cenote.dialects import mygrad as mg
    >>> mg.max_pool([[0.0, 10.0, 8.0], [9.0, 7.0, 3.0]], pool=(2,), stride=1)
    Tensor([[10., 10.],
            [ 9.,  7.]])
    >>> mg.max_pool(np.zeros((10, 3, 12, 12)), (2, 2), (2, 1)).shape
    (10, 3, 6, 11)
    >>> mg.max_pool([1.0, 2.0, 3.0], (2,), 2)
    Traceback (most recent call last):
        ...
    ValueError: max_pool: stride=2 does not bring pool=(2,) to the end of shape (3,): 1 element of axis 0 is left over

    Parameters
    ----------
    x : array_like or Tensor
        Anything but a Tensor is a constant.
    pool : tuple of int
        The size of the window on each of the last ``len(pool)`` axes.
    stride : int or tuple of int
        The step of the window, which must reach the end of each axis exactly: nothing is left over.
    constant : bool, optional
        True gives a constant Tensor. False gives one that is not: where ``x`` is a constant, a new variable.

    Returns
    -------
    Tensor
        Largest element of each window, in the dtype of ``x``.
    """
    data = differentiable(x, "x")
    sizes = ints("pool", pool, 1)
    if not sizes:
        raise BadValue(f"pool={format_value(pool)} is empty: give one size for each axis to pool, such as (2, 2)")
    steps = per_axis("stride", stride, len(sizes), 1)
    number = call(pooling.output_shape, NAMES, data.shape, sizes, stride=steps)
    for axis, (k, s) in enumerate(zip(sizes, steps, strict=True), data.ndim - len(sizes)):
        left = data.shape[axis] - k - (number[axis] - 1) * s
        if left:
            raise BadValue(
                f"stride={format_value(stride)} does not bring pool={format_value(pool)} to the end of shape "
                f"{format_value(data.shape)}: "
                f"{pluralize(left, 'element', 'elements')} of axis {axis} {'is' if left == 1 else 'are'} left over"
            )
    known = None if constant is None else as_flag("constant", constant)
    return as_tensor(call(pooling.max_pool, NAMES, data, sizes, stride=steps), known)


def differentiable(x: Any, name: str) -> Any:
    """A Tensor, or an array that one can hold: those of other libraries have derivatives of their own."""
    return x if isinstance(x, autodiff.Tensor) else as_array(x, name)


def as_tensor(out: Any, constant: bool | None) -> Tensor:
    if not isinstance(out, autodiff.Tensor):
        return variable(out, constant is None or constant)
    return adopted(out, ()) if constant in (None, out.constant) else variable(out.data, constant is True)


@public
def conv_nd(
    x: ArrayLike,
    filter_bank: ArrayLike,
    *,
    stride: Ints,
    padding: Ints = 0,
    dilation: Ints = 1,
    constant: bool | None = None,
) -> Tensor:
    """Products of each window with each filter, summed, as a Tensor: (N, C, X0, …), (F, C, W0, …) → (N, F, G0, …).

    >>> import numpy as np
    >>> from cenote.dialects import mygrad as mg
    >>> x = mg.tensor(np.repeat([0.0, 1.0, 0.0], [5, 6, 5]).reshape(1, 1, 16))
    >>> k = mg.tensor(np.ones((1, 1, 5)))
    >>> mg.conv_nd(x, k, stride=1)
    Tensor([[[0., 1., 2., 3., 4., 5., 5., 4., 3., 2., 1., 0.]]])
    >>> mg.conv_nd(x, k, stride=1).sum().backward()
    >>> x.grad
    array([[[1., 2., 3., 4., 5., 5., 5., 5., 5., 5., 5., 5., 4., 3., 2., 1.]]])
    >>> k.grad
    array([[[6., 6., 6., 6., 6.]]])

    Parameters
    ----------
    x, filter_bank : array_like or Tensor
        Anything but a Tensor is a constant.
    stride : int or tuple of int
        Step of the filters: one int for all convolved axes, or one per axis.
    padding, dilation : int or tuple of int, optional
        Zeros at both ends of each axis, and spacing between the elements of a filter. Filters must reach the end of
        each padded axis exactly: nothing is left over. A dilated filter that just fits, which mygrad rejects, is
        accepted.
    constant : bool, optional
        True gives a constant Tensor. False gives one that is not: where both operands are constants, a new variable.

    Returns
    -------
    Tensor
        Array of shape (N, F, G0, …).
    """
    data, filters = differentiable(x, "x"), differentiable(filter_bank, "filter_bank")
    if data.ndim < 3:
        raise BadValue(f"x has shape {format_value(data.shape)}: at least 3 axes are needed, (N, C, X0, ...)")
    if filters.ndim != data.ndim:
        raise BadValue(
            f"filter_bank has shape {format_value(filters.shape)}, with "
            f"{pluralize(filters.ndim, 'axis', 'axes')}: as many as x "
            f"of shape {format_value(data.shape)} are needed, {data.ndim}"
        )
    rank = data.ndim - 2
    steps, pads = per_axis("stride", stride, rank, 1), per_axis("padding", padding, rank, 0)
    apart = per_axis("dilation", dilation, rank, 1)
    known = None if constant is None else as_flag("constant", constant)
    sizes = zip(data.shape[2:], filters.shape[2:], steps, pads, apart, strict=True)
    for axis, (n, k, s, p, d) in enumerate(sizes, 2):
        room = n + 2 * p - d * (k - 1) - 1
        if room > 0 and room % s:
            raise BadValue(
                f"stride={format_value(stride)} does not bring filter_bank of shape {format_value(filters.shape)} "
                "to the end of x of "
                f"shape {format_value(data.shape)}: {pluralize(room % s, 'element', 'elements')} of axis {axis} "
                f"{'is' if room % s == 1 else 'are'} left over"
            )
    options: dict[str, Any] = {"stride": steps, "padding": pads, "dilation": apart, "layout": "channels_first"}
    return as_tensor(call(convolution.conv, NAMES, data, filters, **options), known)
