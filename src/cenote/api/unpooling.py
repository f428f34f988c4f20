"""max_unpool: pooled values back where they came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike, NDArray

from ..arguments.errors import Argument, BadType, BadValue, format_value, hints, pluralize
from ..arguments.values import Padding, addressable, as_int, as_sequence
from ..backends.dispatch import dispatch
from ..dtypes import is_integer, native
from ..geometry.window import over_colours, parse_window, resolve_axes, unpooled_sizes
from ..ops.gather import Unpool
from .call import finish
from .types import convolution


@convolution
def max_unpool(
    y: ArrayLike,
    indices: ArrayLike,
    window: int | Sequence[int],
    *,
    stride: int | Sequence[int] | None = None,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    axes: int | Sequence[int] | None = None,
    output_shape: int | Sequence[int] | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Partial inverse of :func:`max_pool`: put values back at their indices, and zero everywhere else.

    Parameters
    ----------
    y : array_like or Tensor
        Pooled values. A torch tensor or a JAX, dask or xarray array gives a result of the same kind.
    indices : array_like of int
        Where each value goes, as returned by ``max_pool(..., return_indices=True)``: flat row-major index over the
        pooled axes of the result. Values with index −1 are skipped; any other index out of range is a ValueError.
    window : int, tuple of int, or dict
        Window size along each pooled axis. A tuple applies to the trailing ``len(window)`` axes, or to ``axes``. An int
        applies to every axis in ``axes``, which is then required. For an xarray object: a dict of sizes by dimension
        name.
    stride : int or tuple of int, optional
        Step between windows: one int for all window axes, or one per axis. Defaults to ``window``, so that windows do
        not overlap.
    padding : int, tuple of int, tuple of (int, int) pairs, or str, optional
        Number of elements added at both ends of every window axis: one int for all, one int per axis, or one
        ``(low, high)`` pair per axis. "valid" adds none. "same" pads for ``ceil(n / stride)`` outputs; if the total is
        odd, the extra element goes to the high end ("same_lower": to the low end). Use the padding
        of the pooling call.
    dilation : int or tuple of int, optional
        Spacing between the elements of a window: one int for all window axes, or one per axis.
    axes : int or sequence of int, optional
        Axes of ``y`` that the window applies to, in the order of ``window``. Defaults to the trailing axes.
    output_shape : sequence of int, optional
        Sizes of the pooled axes of the result: any that contain all indices. Defaults to the smallest input that pools
        to the shape of ``y``; with "same", to the output size times the stride.
    out : ndarray, optional
        Array to write the result to, which is then returned. It must have the shape and dtype of the result, may have
        any strides, and must not share memory with an input. NumPy inputs only.

    Returns
    -------
    ndarray or Tensor
        Values at their indices, zero elsewhere, in the dtype of ``y``.

    See Also
    --------
    max_pool : Gives the indices.
    conv_transpose : Transpose of a convolution.

    Notes
    -----
    If an index occurs more than once, the last value in row-major order is kept, and only it has a derivative.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> x = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    >>> values, indices = cn.max_pool(x, (2, 2), return_indices=True)
    >>> cn.max_unpool(values, indices, (2, 2), output_shape=(3, 3))
    array([[0, 0, 0],
           [0, 5, 0],
           [0, 0, 0]])
    """
    backend = dispatch(y, indices)
    data, where = backend.operand(y, "y"), backend.operand(indices, "indices")
    values, places = backend.spec(data), backend.spec(where)
    shape = parse_window(window, stride, padding, dilation, False, axes)
    if not is_integer(places.dtype):
        raise BadType(f"indices has dtype {places.dtype}: integers are needed, as return_indices=True gives them")
    if places.shape != values.shape:
        raise BadValue(
            f"indices has shape {places.shape}, ", Argument("y"), f" has shape {values.shape}: they must agree"
        )

    def argument() -> tuple[str, ...]:
        return Argument("window"), f"={format_value(shape.size)}"

    positions = resolve_axes(shape.axes, shape.rank, values.shape, argument)
    if output_shape is None:
        sizes = unpooled_sizes(shape, positions, values.shape)
    else:
        entries = as_sequence(output_shape)
        if entries is None:
            entries = (output_shape,)
        if len(entries) != shape.rank:
            raise BadValue(
                f"output_shape={format_value(output_shape)} has {pluralize(len(entries), 'entry', 'entries')}, "
                "the window has "
                f"{pluralize(shape.rank, 'axis', 'axes')}: give the size of each pooled axis, and of no other"
            )
        sizes = tuple(as_int("output_shape", output_shape, entry, 0) for entry in entries)
    if over_colours(shape.axes, shape.size, values.shape):
        hints().warn_of_colours(values.shape)
    op = Unpool(values.shape, positions, sizes, native(values.dtype))
    addressable(lambda: (*argument(), f" on shape {format_value(values.shape)}: the result"), op.out_shape)
    return finish(backend, op, (data, where), out)[0]
