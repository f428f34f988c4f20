"""Which algorithm of the core serves a call: for maintainers, bug reports and tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..arguments.arrays import Array, as_array
from ..arguments.errors import BadType, BadValue, describe_type, format_value, hints, public
from ..arguments.operations import OPERATIONS, positional
from ..arguments.values import as_int, as_sequence
from ..core import trace
from ..dtypes import DType
from .fold import kernel_of_pool

FILTERS = ("w", "k")  # as second argument
MOST = 2**40  # bytes that are reserved, and never touched


def dtype_of(given: DTypeLike | None) -> DType:
    try:
        return np.dtype(np.float32 if given is None else given)
    except TypeError as error:
        raise BadType(f"dtype={format_value(given)}: {error}") from None


def is_shape(given: object) -> bool:
    entries = as_sequence(given) if isinstance(given, (tuple, list)) else None
    return entries is not None and all(isinstance(n, (int, np.integer)) for n in entries)


def stand_in(name: str, given: Any, dtype: DTypeLike | None) -> Array:
    """The array that was given, or one of the shape that was given, whose memory nobody reads."""
    if not is_shape(given):
        x = as_array(given, name)
        return x if dtype is None else x.astype(dtype_of(dtype), copy=False)
    shape = tuple(as_int(name, given, n, 0) for n in given)
    wanted = dtype_of(dtype)
    if math.prod(shape) * wanted.itemsize > MOST:
        raise BadValue(f"{name}={format_value(given)}: an array of {wanted} of this shape is larger than 1 TiB")
    return np.zeros(shape, wanted)


@public
def which_kernel(
    op: str,
    x_or_shape: ArrayLike | tuple[int, ...],
    window: Any = None,
    *,
    dtype: DTypeLike | None = None,
    **options: Any,
) -> str:
    """Name of the algorithm that would serve a call.

    For bug reports and maintainers: nothing is computed.

    Parameters
    ----------
    op : str
        Name of a pooling, convolution or filtering function, such as "max_pool", "conv" or "correlate".
    x_or_shape : array_like or tuple of int
        Input, or its shape, which stands for an array in C order.
    window : int, tuple of int or array_like, optional
        Second argument of the function: the window, the ``output_size`` of adaptive pooling, or a filter or its shape.
        Global pooling takes none.
    dtype : dtype, optional
        With a shape the dtype of the input, float32 by default. With an array it is the argument of the function: the
        dtype of the result.
    **options
        Other arguments of the function: ``init`` and ``reduce_fn`` of :func:`pool`.

    Returns
    -------
    str
        Name of the algorithm; several are joined with " + ".

    See Also
    --------
    show_config : SIMD level and number of threads.

    Notes
    -----
    The name depends on shapes, strides, dtype and options, on the SIMD level and on the number of threads. With
    ``CENOTE_VERBOSE=1`` in the environment it is printed for every call.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.which_kernel("max_pool", (2048, 2048), (31, 31), stride=1) in ("column_strips", "separable")
    True
    >>> cn.which_kernel("correlate", (48_000,), (1025,), mode="same")
    'overlap_save'
    >>> cn.which_kernel("avg_pool", np.zeros((64, 64), np.uint8), (2, 2), dtype=np.uint8)
    'direct_uint'
    """
    if not isinstance(op, str):
        raise BadType(f"op={format_value(op)}: the name of a function is needed, not {describe_type(op)}")
    served = {name: function for name, function in OPERATIONS.items() if positional(function)[0] == "x"}
    if op not in served:
        raise BadValue(f"op={format_value(op)}: one of {', '.join(served)} is needed")
    function = served[op]
    _, *second = positional(function)
    if not is_shape(x_or_shape) and dtype is not None:
        options, dtype = {**options, "dtype": dtype}, None
    x = stand_in("x_or_shape", x_or_shape, dtype)
    if not second:
        arguments: tuple[Any, ...] = ()
    elif window is None:
        raise BadType(f"window=None: {op} needs one")
    elif second[0] in FILTERS:
        arguments = (stand_in("window", window, x.dtype),)
    else:
        arguments = (window,)
    if op == "pool":
        wrong = hints().wrong_call(function, (x, *arguments), options)
        if wrong is not None:
            raise BadType(f"op={format_value(op)}: {wrong}")
        function = kernel_of_pool
    with np.errstate(all="ignore"):
        names = trace(lambda: function(x, *arguments, **options))
    return " + ".join(dict.fromkeys(names)) or "none"
