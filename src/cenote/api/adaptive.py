"""Adaptive and global pooling: windows made of the size of the result."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, DTypeLike

from ..arguments.arrays import Array, averaged, native, ordered
from ..arguments.values import Ints, as_flag
from ..geometry.window import adaptive_geometry, global_geometry
from ..ops.base import Spec
from ..ops.selection import Argmax, SelectPool
from ..ops.sums import AvgPool
from .call import OpOf, call, parse_dtype, result_dtype
from .types import adaptive_selection, pooling


@adaptive_selection
def adaptive_max_pool(
    x: ArrayLike, output_size: Any, *, axes: Ints | None = None, return_indices: bool = False, out: Any = None
) -> Any:
    """The largest cell of each of ``output_size`` bins, which cover each axis as evenly as they can.

    Bin ``i`` of ``o`` on an axis of ``n`` cells is floor(i·n/o) … ceil((i+1)·n/o), so that bins overlap where
    ``o`` does not divide ``n``, and ``o`` may be larger than ``n``.

    Parameters
    ----------
    output_size : tuple of (int or None), or int
        The number of bins on each trailing axis, or on ``axes``; None keeps an axis as it is. An int needs
        ``axes``.
    return_indices : bool
        As for :func:`max_pool`.
    out : ndarray, or a pair of them with ``return_indices``
        As for :func:`max_pool`.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.adaptive_max_pool(np.array([1, 2, 3]), (5,))
    array([1, 2, 2, 3, 3])
    """
    outputs, op, _ = call("adaptive_max", x, (output_size, axes, return_indices), largest_of_bins, out)
    return outputs if op.argmax else outputs[0]


def largest_of_bins(output_size: Any, axes: Any, return_indices: Any) -> OpOf:
    argmax: Argmax = "indices" if as_flag("return_indices", return_indices) else ""

    def op(spec: Spec) -> SelectPool:
        dtype = ordered(spec.dtype)
        return SelectPool(
            adaptive_geometry(spec.shape, output_size, axes), native(spec.dtype), dtype, True, argmax=argmax
        )

    return op


@pooling
def adaptive_avg_pool(
    x: ArrayLike,
    output_size: Any,
    *,
    axes: Ints | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Any:
    """The average of each of ``output_size`` bins; the bins are those of :func:`adaptive_max_pool`.

    ``dtype`` and ``out`` are those of :func:`avg_pool`.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.adaptive_avg_pool(np.array([1.0, 2, 3, 4, 5]), (3,))
    array([1.5, 3. , 4.5])
    """
    return call("adaptive_avg", x, (output_size, axes, dtype), average_of_bins, out)[0][0]


def average_of_bins(output_size: Any, axes: Any, dtype: Any) -> OpOf:
    wanted = parse_dtype(dtype)

    def op(spec: Spec) -> AvgPool:
        after = result_dtype(averaged(spec.dtype), wanted)
        return AvgPool(adaptive_geometry(spec.shape, output_size, axes), native(spec.dtype), after, None, True)

    return op


@pooling
def global_max_pool(x: ArrayLike, *, axes: Ints, out: Array | None = None) -> Any:
    """The largest cell over the whole of ``axes``, which stay with length 1; ``out`` is that of :func:`max_pool`.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.global_max_pool(np.arange(12).reshape(2, 2, 3), axes=(1, 2))
    array([[[ 5]],
    <BLANKLINE>
           [[11]]])
    """
    return call("global_max", x, (axes,), largest_of_all, out)[0][0]


def largest_of_all(axes: Any) -> OpOf:
    def op(spec: Spec) -> SelectPool:
        dtype = ordered(spec.dtype)
        return SelectPool(global_geometry(spec.shape, axes), native(spec.dtype), dtype, True)

    return op


@pooling
def global_avg_pool(x: ArrayLike, *, axes: Ints, dtype: DTypeLike | None = None, out: Array | None = None) -> Any:
    """The average over the whole of ``axes``, which stay with length 1.

    ``dtype`` and ``out`` are those of :func:`avg_pool`.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.global_avg_pool(np.arange(6.0).reshape(2, 3), axes=-1)
    array([[1.],
           [4.]])
    """
    return call("global_avg", x, (axes, dtype), average_of_all, out)[0][0]


def average_of_all(axes: Any, dtype: Any) -> OpOf:
    wanted = parse_dtype(dtype)

    def op(spec: Spec) -> AvgPool:
        after = result_dtype(averaged(spec.dtype), wanted)
        return AvgPool(global_geometry(spec.shape, axes), native(spec.dtype), after, None, True)

    return op
