"""Pooling as in flax (``flax.nnx`` and ``flax.linen``), on arrays of shape (batch…, spatial…, features).

>>> import numpy as np
>>> from cenote.dialects import flax
>>> x = np.arange(16.0).reshape(1, 4, 4, 1)
>>> flax.max_pool(x, (2, 2), strides=(2, 2))[0, :, :, 0]
array([[ 5.,  7.],
       [13., 15.]])
>>> flax.avg_pool(x[0], (2, 2), padding="SAME", count_include_pad=False)[:, :, 0]  # no batch, or as many as there are
array([[ 2.5,  3.5,  4.5,  5. ],
       [ 6.5,  7.5,  8.5,  9. ],
       [10.5, 11.5, 12.5, 13. ],
       [12.5, 13.5, 14.5, 15. ]])

As there, the stride is 1 by default, negative padding crops, a window that does not fit leaves an empty axis, and
``window_shape=()`` pools nothing. Unlike there:

- explicit padding goes with any number of batch axes;
- floats keep their dtype, and averages of integers and bool are float64, from sums that do not overflow;
- both modes of derivatives follow the first of tied elements, −inf and NaN included, with negative padding too;
- sizes may be any sequence, such as a list.

``nnx`` and ``linen`` have the four functions too, as ``from flax import nnx`` has them. JAX arrays in, JAX arrays out:
inside ``jit``, ``grad`` and every other transformation they are drop-in replacements for those of flax.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...api import fold, pooling, sums
from ...arguments.errors import BadType, BadValue, describe_type, format_value, pluralize, public
from ...arguments.values import INT64_MAX, as_flag, as_int, as_sequence
from ...backends.dispatch import operand
from ...dtypes import is_complex
from .._common import call, dtype_of, ints
from .._missing import missing_names

__all__ = ["avg_pool", "max_pool", "min_pool", "pool"]

if not TYPE_CHECKING:  # type checkers would take any name for an attribute
    __getattr__ = missing_names(__name__, __all__)

Padding: TypeAlias = str | Sequence[tuple[int, int]]
Pairs: TypeAlias = tuple[tuple[int, int], ...]

NAMES = {"window": "window_shape", "stride": "strides", "x": "inputs"}
PADDINGS = "'SAME', 'VALID', 'SAME_LOWER' or one (low, high) pair per axis"


@public
def avg_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    count_include_pad: bool = True,
) -> Any:
    """The average of each window.

    >>> import numpy as np
    >>> from cenote.dialects import flax
    >>> x = np.arange(1.0, 6.0).reshape(1, 5, 1)
    >>> flax.avg_pool(x, (3,))[0, :, 0]
    array([2., 3., 4.])
    >>> flax.avg_pool(x, (3,), (2,), "SAME")[0, :, 0]
    array([1., 3., 3.])
    >>> flax.avg_pool(x, (3,), (2,), "SAME", count_include_pad=False)[0, :, 0]
    array([1.5, 3. , 4.5])
    >>> flax.avg_pool(x, (3,), padding=((-1, 1),))[0, :, 0]  # without the first element
    array([3., 4., 3.])

    Padding is zero.

    Parameters
    ----------
    inputs : array_like or Tensor
        Input of shape (batch…, spatial…, features).
    window_shape : sequence of int
        Size of the window along each spatial axis.
    strides : sequence of int, optional
        Step of the window along each spatial axis. Defaults to ones.
    padding : str or sequence of (int, int), optional
        "VALID", "SAME", "SAME_LOWER", or one (low, high) pair per spatial axis; negative numbers crop.
    count_include_pad : bool, optional
        Divide by the window size or, if False, by the number of elements that are not padding: a window that has none
        is then NaN.

    Returns
    -------
    ndarray or Tensor
        Average of each window. Floats keep their dtype, integers and bool give float64.
    """
    x = operand(inputs, "inputs")
    data, window = read_window(x, window_shape, strides, padding)
    include_pad = as_flag("count_include_pad", count_include_pad)
    return call(sums.avg_pool, NAMES, data, **window, count_include_pad=include_pad)


@public
def max_pool(
    inputs: ArrayLike, window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Padding = "VALID"
) -> Any:
    """The largest element of each window.

    >>> import numpy as np
    >>> from cenote.dialects import flax
    >>> x = np.array([3.0, 1.0, 4.0, 1.0, 5.0]).reshape(1, 5, 1)
    >>> flax.max_pool(x, (2,))[0, :, 0]
    array([3., 4., 4., 5.])
    >>> flax.max_pool(x, (2,), (2,), "SAME")[0, :, 0]
    array([3., 4., 5.])
    >>> flax.max_pool(x, (2,), (2,), [(3, 0)])[0, :, 0]
    array([-inf,   3.,   4.,   5.])
    >>> flax.max_pool(x, (6,)).shape
    (1, 0, 1)

    Padded elements are never chosen: a window of nothing else is −inf. Complex numbers are ordered by their real parts,
    then by their imaginary parts.

    Parameters
    ----------
    inputs : array_like or Tensor
        Input of shape (batch…, spatial…, features).
    window_shape : sequence of int
        Size of the window along each spatial axis.
    strides : sequence of int, optional
        Step of the window along each spatial axis. Defaults to ones.
    padding : str or sequence of (int, int), optional
        "VALID", "SAME", "SAME_LOWER", or one (low, high) pair per spatial axis; negative numbers crop.

    Returns
    -------
    ndarray or Tensor
        Largest element of each window, in the dtype of ``inputs``.
    """
    x = operand(inputs, "inputs")
    data, window = read_window(x, window_shape, strides, padding)
    return largest(data, window)


@public
def min_pool(
    inputs: ArrayLike, window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Padding = "VALID"
) -> Any:
    """The smallest element of each window: the mirror image of :func:`max_pool`.

    >>> import numpy as np
    >>> from cenote.dialects import flax
    >>> x = np.array([3.0, 1.0, 4.0, 1.0, 5.0]).reshape(1, 5, 1)
    >>> flax.min_pool(x, (2,), None, "same_lower")[0, :, 0]
    array([3., 1., 1., 1., 1.])

    Parameters
    ----------
    inputs : array_like or Tensor
        Input of shape (batch…, spatial…, features).
    window_shape : sequence of int
        Size of the window along each spatial axis.
    strides : sequence of int, optional
        Step of the window along each spatial axis. Defaults to ones.
    padding : str or sequence of (int, int), optional
        "VALID", "SAME", "SAME_LOWER", or one (low, high) pair per spatial axis; negative numbers crop.

    Returns
    -------
    ndarray or Tensor
        Smallest element of each window, in the dtype of ``inputs``.
    """
    x = operand(inputs, "inputs")
    data, window = read_window(x, window_shape, strides, padding)
    return smallest(data, window)


@public
def pool(
    inputs: ArrayLike,
    init: Any,
    reduce_fn: Callable[[Any, Any], Any],
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Padding,
) -> Any:
    """Any function of two arrays folded over each window, from ``init``, in row-major order.

    >>> import numpy as np
    >>> from cenote.dialects import flax
    >>> x = np.arange(1, 7).reshape(1, 6, 1)
    >>> flax.pool(x, 1, np.multiply, (3,), None, "VALID")[0, :, 0]
    array([  6,  24,  60, 120])
    >>> flax.pool(x, 0, lambda a, b: 10 * a + b, (3,), (3,), "SAME")[0, :, 0]
    array([123, 456])
    >>> flax.pool(x, -np.inf, np.maximum, (3,), (3,), "VALID")[0, :, 0]
    array([3, 6])

    ``np.add``, ``np.maximum`` and ``np.minimum`` with the ``init`` that changes nothing, 0, −inf or inf, keep the dtype
    of ``inputs``, integers included. :func:`cenote.pool` and :func:`cenote.reducer` describe which functions have a
    derivative, and how to give one to others.

    Parameters
    ----------
    inputs : array_like or Tensor
        Input of shape (batch…, spatial…, features).
    init : scalar
        First argument of the first call, used once per window.
    reduce_fn : callable
        Function of two arrays that returns one. It is not called on padding.
    window_shape : sequence of int
        Size of the window along each spatial axis.
    strides : sequence of int or None
        Step of the window along each spatial axis. None means ones.
    padding : str or sequence of (int, int)
        "VALID", "SAME", "SAME_LOWER", or one (low, high) pair per spatial axis; negative numbers crop.

    Returns
    -------
    ndarray or Tensor
        Reduction of each window.
    """
    x = operand(inputs, "inputs")
    known = monoid(init, as_ufunc(reduce_fn))
    if known is None:
        call(fold.initial, NAMES, init, x.dtype)
    if not callable(reduce_fn):
        raise BadType(
            f"reduce_fn={format_value(reduce_fn)}: a function of two arrays is needed, not {describe_type(reduce_fn)}"
        )
    data, window = read_window(x, window_shape, strides, padding)
    if known is not None:
        return known(data, window)
    return folded(data, window, init, reduce_fn)


# ------------------------------------------------------------------------------------------------- reductions


def folded(x: Any, window: dict[str, Any], init: Any, reduce_fn: Callable[[Any, Any], Any]) -> Any:
    return call(fold.pool, NAMES, x, init=init, reduce_fn=reduce_fn, **window)


def largest(x: Any, window: dict[str, Any]) -> Any:
    if is_complex(dtype_of(x)):  # the canonical max_pool knows no order of them, np.maximum has the one of flax
        return folded(x, window, -math.inf, np.maximum)
    return call(pooling.max_pool, NAMES, x, **window)


def smallest(x: Any, window: dict[str, Any]) -> Any:
    if is_complex(dtype_of(x)):
        return folded(x, window, math.inf, np.minimum)
    return call(pooling.min_pool, NAMES, x, **window)


def added(x: Any, window: dict[str, Any]) -> Any:
    return folded(x, window, 0, np.add)


MONOIDS = ((np.add, 0, added), (np.maximum, -math.inf, largest), (np.minimum, math.inf, smallest))


def as_ufunc(reduce_fn: object) -> object:
    """NumPy's ufunc for a function of jax.lax or jax.numpy with the same meaning; anything else as it is."""
    if isinstance(reduce_fn, np.ufunc) or "jax" not in sys.modules:
        return reduce_fn
    from ...backends.jax.fold import ufunc_of

    return ufunc_of(reduce_fn) or reduce_fn


def monoid(init: object, reduce_fn: object) -> Callable[[Any, dict[str, Any]], Any] | None:
    """The reduction in the dtype of the array that ``init`` and ``reduce_fn`` are, in any dtype of ``init``."""
    number = init[()] if isinstance(init, np.ndarray) and init.ndim == 0 else init
    if isinstance(number, (Real, np.bool_)) and not isinstance(number, np.timedelta64):
        for ufunc, identity, reduction in MONOIDS:
            if reduce_fn is ufunc and number == identity:
                return reduction
    return None


# -------------------------------------------------------------------------------------------------- arguments


def read_window(x: Any, window_shape: object, strides: object, padding: object) -> tuple[Any, dict[str, Any]]:
    """``x``, cropped where that is asked for, and the window as the canonical functions have it."""
    size = ints("window_shape", window_shape, 1)
    rank = len(size)
    if x.ndim < rank + 1:
        raise BadValue(
            f"inputs has shape {format_value(x.shape)}: window_shape={format_value(size)} needs at least "
            f"{pluralize(rank + 1, 'axis', 'axes')}, {rank} for the window and one for the features"
        )
    steps = () if strides is None else ints("strides", strides, 1)
    if steps and len(steps) != rank:
        raise BadValue(
            f"strides={format_value(strides)} has {pluralize(len(steps), 'entry', 'entries')}, "
            f"window_shape={format_value(size)} has "
            f"{rank}: give one int per axis, or None"
        )
    steps = steps or (1,) * rank
    pads = read_padding(padding, rank)
    first = x.ndim - 1 - rank
    if isinstance(pads, str):
        return x, {"window": size, "stride": steps, "padding": pads, "axes": tuple(range(first, x.ndim - 1))}
    chosen = [slice(None)] * x.ndim
    window: dict[str, Any] = {"window": (), "stride": (), "padding": (), "axes": ()}
    for axis, k, s, (low, high) in zip(range(first, x.ndim - 1), size, steps, pads, strict=True):
        chosen[axis], pair = crop(x.shape[axis], k, low, high)
        if pair is not None:
            for name, entry in (("window", k), ("stride", s), ("padding", pair), ("axes", axis)):
                window[name] += (entry,)
    if not window["window"]:  # nothing to pool: one element of the features, which is always there
        window = {"window": (1,), "stride": (1,), "padding": 0, "axes": (x.ndim - 1,)}
    return x if chosen == [slice(None)] * x.ndim else x[tuple(chosen)], window


def crop(n: int, k: int, low: int, high: int) -> tuple[slice, tuple[int, int] | None]:
    """Which of ``n`` elements stay, and the padding around them: None if no window of ``k`` elements fits."""
    extent = low + n + high
    if extent < k:
        return slice(0, 0), None
    begin, end = max(0, -low), min(n, n + high)
    if begin >= end:  # no element stays: of the padding what cropping has left
        return slice(0, 0), (0, extent)
    return slice(None) if (begin, end) == (0, n) else slice(begin, end), (max(low, 0), max(high, 0))


def read_padding(value: object, rank: int) -> str | Pairs:
    if isinstance(value, str):
        name = value.lower()
        if name == "valid":
            return ((0, 0),) * rank
        if name in ("same", "same_lower"):
            return name if rank else ()
        raise BadValue(f"padding={format_value(value)} is not known: {PADDINGS} is needed")
    entries = as_sequence(value)
    example = ((1, 1),) * max(rank, 1)
    if entries is None:
        raise BadType(
            f"padding={format_value(value)}: {PADDINGS} is needed, such as {example}, not {describe_type(value)}"
        )
    if len(entries) != rank:
        raise BadValue(
            f"padding={format_value(value)} has {pluralize(len(entries), 'entry', 'entries')}, the window has "
            f"{pluralize(rank, 'axis', 'axes')}: give one (low, high) pair per axis"
        )
    pairs = []
    for entry in entries:
        pair = as_sequence(entry)
        if pair is None:
            raise BadType(
                f"padding={format_value(value)}: one (low, high) pair per axis is needed, such as {example}, not "
                f"{describe_type(entry)}"
            )
        if len(pair) != 2:
            raise BadValue(f"padding={format_value(value)}: {format_value(entry)} is not a (low, high) pair")
        low, high = (as_int("padding", value, elements, -INT64_MAX) for elements in pair)
        pairs.append((low, high))
    return tuple(pairs)


from . import linen, nnx  # noqa: E402, F401  which have the functions above
