"""Adaptive and global pooling: windows made of the size of the result."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from . import rules
from .arguments import Ints, as_flag
from .arrays import ordered
from .errors import public
from .rules import operand
from .window import adaptive_geometry, global_geometry


@public
def adaptive_max_pool(x: ArrayLike, output_size: Any, *, axes: Ints | None = None, return_indices: bool = False) -> Any:
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

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.adaptive_max_pool(np.array([1, 2, 3]), (5,))
    array([1, 2, 2, 3, 3])
    """
    wanted = as_flag("return_indices", return_indices)
    data = operand(x)
    ordered(data.dtype)
    geometry = adaptive_geometry(data.shape, output_size, axes)
    values, indices = rules.pick(data, geometry, True, False, wanted)
    return (values, indices) if wanted else values


@public
def adaptive_avg_pool(x: ArrayLike, output_size: Any, *, axes: Ints | None = None) -> Any:
    """The average of each of ``output_size`` bins; the bins are those of :func:`adaptive_max_pool`.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.adaptive_avg_pool(np.array([1.0, 2, 3, 4, 5]), (3,))
    array([1.5, 3. , 4.5])
    """
    data = operand(x)
    return rules.avg_pool(data, adaptive_geometry(data.shape, output_size, axes), False, None, True)


@public
def global_max_pool(x: ArrayLike, *, axes: Ints) -> Any:
    """The largest cell over the whole of ``axes``, which stay with length 1.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.global_max_pool(np.arange(12).reshape(2, 2, 3), axes=(1, 2))
    array([[[ 5]],
    <BLANKLINE>
           [[11]]])
    """
    data = operand(x)
    ordered(data.dtype)
    return rules.pick(data, global_geometry(data.shape, axes), True, False, False)[0]


@public
def global_avg_pool(x: ArrayLike, *, axes: Ints) -> Any:
    """The average over the whole of ``axes``, which stay with length 1.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.global_avg_pool(np.arange(6.0).reshape(2, 3), axes=-1)
    array([[1.],
           [4.]])
    """
    data = operand(x)
    return rules.avg_pool(data, global_geometry(data.shape, axes), False, None, True)
