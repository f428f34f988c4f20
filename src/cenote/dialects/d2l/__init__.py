"""Pooling as in *Dive into Deep Learning*: one function, on one matrix.

>>> import numpy as np
>>> from cenote.dialects import d2l
>>> d2l.pool2d(np.arange(9).reshape(3, 3), (2, 2))
array([[4., 5.],
       [7., 8.]], dtype=float32)

The book fills a float32 array, so the result is float32 whatever the input. An unknown mode, for which the book
silently returns zeros, is an error here, and so is a window that does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...api import pooling, sums
from ...arguments.errors import BadValue, format_value, public
from ...arguments.values import choice
from ...autodiff.tensor import Tensor
from ...backends.dispatch import operand
from ...dtypes import select_dtype
from .._common import astype, call, dtype_of, ints
from .._missing import missing_names

__all__ = ["pool2d"]

if not TYPE_CHECKING:  # type checkers would take any name for an attribute
    __getattr__ = missing_names(__name__, __all__)

NAMES = {"window": "pool_size", "x": "X"}


@public
def pool2d(X: ArrayLike, pool_size: Sequence[int], mode: Literal["max", "avg"] = "max") -> Any:  # noqa: N803
    """The largest element or the average of every window of ``pool_size`` in the matrix ``X``.

    >>> import numpy as np
    >>> from cenote.dialects import d2l
    >>> X = np.arange(9.0).reshape(3, 3)
    >>> d2l.pool2d(X, (2, 2), "avg")
    array([[2., 3.],
           [5., 6.]], dtype=float32)
    >>> d2l.pool2d(X, (1, 3))
    array([[2.],
           [5.],
           [8.]], dtype=float32)

    Windows move by one element and lie inside the matrix.

    Parameters
    ----------
    X : array_like or Tensor
        Matrix of any real dtype.
    pool_size : sequence of int
        Height and width of the window.
    mode : {"max", "avg"}, optional
        Maximum or average.

    Returns
    -------
    ndarray or Tensor
        One float32 per window.
    """
    data = operand(X, "X")
    call(select_dtype, NAMES, dtype_of(data))
    if data.ndim != 2:
        raise BadValue(f"X has shape {format_value(data.shape)}: 2 axes are needed, (height, width)")
    size = ints("pool_size", pool_size, 1, count=2)
    wants_max = choice("mode", mode, ("max", "avg")) == "max"
    out = call(pooling.max_pool if wants_max else sums.avg_pool, NAMES, data, size, stride=1)
    if isinstance(out, Tensor):
        return out.astype(np.float32)
    with np.errstate(over="ignore"):  # what is too large for float32 is infinite there, as in the book
        return astype(out, np.float32)


from . import jax  # noqa: E402, F401  which has the function above
