"""max_unpool: pooled values back where they came from."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ..arguments.arrays import Array, native
from ..arguments.errors import Argument, BadType, BadValue, format_value, pluralize
from ..arguments.values import Ints, Padding, addressable, as_int, as_sequence
from ..backends.dispatch import dispatch
from ..geometry.window import parse_window, resolve_axes, unpooled_sizes
from ..ops.gather import Unpool
from .call import finish
from .types import convolution


@convolution
def max_unpool(
    y: ArrayLike,
    indices: ArrayLike,
    window: Ints,
    *,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    axes: Ints | None = None,
    output_shape: Ints | None = None,
    out: Array | None = None,
) -> Any:
    """Put pooled values back where :func:`max_pool` found them, and zero everywhere else.

    Parameters
    ----------
    y : array_like
        The values.
    indices : array_like of int
        Where each goes, as ``return_indices=True`` gave them: flat and row-major over the pooled axes of the
        result. −1 is skipped. Of two values for one cell the last in row-major order stays.
    window, stride, padding, dilation, axes
        As they were given to :func:`max_pool`.
    output_shape : sequence of int, optional
        The sizes of the pooled axes of the result: any that hold the indices. By default the least that
        pools to ``y``.
    out : ndarray, optional
        Where the result goes, as for :func:`max_pool`.

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
    shape = parse_window(window, stride, padding, dilation, False, axes)
    backend = dispatch(y, indices)
    data, where = backend.operand(y, "y"), backend.operand(indices, "indices")
    values, places = backend.spec(data), backend.spec(where)
    if places.dtype.kind not in "iu":
        raise BadType(f"indices has dtype {places.dtype}: integers are needed, as return_indices=True gives them")
    if places.shape != values.shape:
        raise BadValue(
            f"indices has shape {places.shape}, ", Argument("y"), f" has shape {values.shape}: they must agree"
        )
    positions = resolve_axes(shape.axes, shape.rank, values.shape, (Argument("window"), f"={format_value(shape.size)}"))
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
    op = Unpool(values.shape, positions, sizes, native(values.dtype))
    what = (Argument("window"), f"={format_value(shape.size)} on shape {format_value(values.shape)}: the result")
    addressable(what, op.out_shape)
    return finish(backend, op, (data, where), out)[0]
