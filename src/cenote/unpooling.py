"""max_unpool: pooled values back where they came from."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import ArrayLike

from . import rules
from .arguments import Ints, Padding, addressable, as_int, as_sequence
from .arrays import as_array
from .errors import BadType, BadValue, counted, public, shown
from .rules import operand
from .window import parse_window, resolve_axes, unpooled_sizes


@public
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
    data, where = operand(y, "y"), as_array(indices, "indices")
    if where.dtype.kind not in "iu":
        raise BadType(f"indices has dtype {where.dtype}: integers are needed, as return_indices=True gives them")
    if where.shape != data.shape:
        raise BadValue(f"indices has shape {where.shape}, y has shape {data.shape}: they must agree")
    positions = resolve_axes(shape.axes, shape.rank, data.shape, f"window={shown(shape.size)}")
    if output_shape is None:
        sizes = unpooled_sizes(shape, positions, data.shape)
    else:
        entries = as_sequence(output_shape)
        if entries is None:
            entries = (output_shape,)
        if len(entries) != shape.rank:
            raise BadValue(
                f"output_shape={shown(output_shape)} has {counted(len(entries), 'entry', 'entries')}, the window has "
                f"{counted(shape.rank, 'axis', 'axes')}: give the size of each pooled axis, and of no other"
            )
        sizes = tuple(as_int("output_shape", output_shape, entry, 0) for entry in entries)
    result = list(data.shape)
    for position, size in zip(positions, sizes, strict=True):
        result[position] = size
    addressable(f"window={shown(shape.size)} on shape {shown(data.shape)}: the result", tuple(result))
    cells = math.prod(sizes)
    if where.size:
        low, high = int(where.min()), int(where.max())
        if low < -1 or high >= cells:
            raise BadValue(
                f"indices has values from {low} to {high}, the pooled axes of the result have "
                f"{'*'.join(map(str, sizes))} = {cells} cells: -1 (skipped) to {cells - 1} is possible"
            )
    return rules.unpool(data, where, positions, sizes)
