"""What comes in, and in which dtype it comes out.

:func:`as_array` is the only way into the package for data; :data:`RESULT` is the only place that knows
what an operation does to a dtype. The table in the documentation is written from it and tested against
the operations themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import Argument, BadType, BadValue, X, cut, describe_type

Array: TypeAlias = NDArray[Any]
DType: TypeAlias = np.dtype[Any]

# Libraries whose arrays must never be turned into NumPy arrays behind the user's back, and how users do it.
FOREIGN = {
    "torch": "{}.detach().cpu().numpy()",
    "jax": "np.asarray({})",
    "jaxlib": "np.asarray({})",
    "dask": "{}.compute()",
    "xarray": "{}.values",
}

NATIVE = frozenset("?bBhHiIlLqQefdFD")


def is_bfloat16(dtype: DType) -> bool:
    """Whether this is ml_dtypes' bfloat16, without importing ml_dtypes."""
    return dtype.kind == "V" and dtype.type.__name__ == "bfloat16"  # dtype.name takes microseconds


def is_float(dtype: DType) -> bool:
    return dtype.kind == "f" or is_bfloat16(dtype)


def has_nan(dtype: DType) -> bool:
    return dtype.kind == "c" or is_float(dtype)


def as_array(x: object, name: str = "x", needed: str = "an array or a nested list of numbers") -> Array:
    """``x`` as a plain NumPy array of a dtype that windows know, without a copy where there is one."""
    if type(x) is not np.ndarray:
        x = convert(x, name, needed)
    dtype = x.dtype
    if dtype.char not in NATIVE and not is_bfloat16(dtype):
        # The name of a longdouble tells its size, which on some systems is that of float64.
        known = dtype.type.__name__ if dtype.char in "gG" else cut(str(dtype))
        raise BadType(
            f"{name} has dtype {known}: bool, an integer type, float16, bfloat16, float32, float64, "
            f"complex64 or complex128 is needed{hint(dtype, name)}"
        )
    return x


def convert(x: object, name: str, needed: str) -> Array:
    if isinstance(x, np.ma.MaskedArray):
        raise BadType(
            f"{name} is a masked array, and its mask would be lost: pass {name}.filled(value), or "
            f"{name}.astype(float).filled(np.nan) where nan='omit' is possible"
        )
    for base in type(x).__mro__:
        library = str(base.__module__).partition(".")[0]
        if library in FOREIGN:
            article = "an" if library == "xarray" else "a"
            raise BadType(
                f"{name} is {article} {library} {type(x).__name__}, which is not supported yet: "
                f"pass {FOREIGN[library].format(name)}"
            )
    if isinstance(x, (str, bytes, dict, set)) or x is None or callable(x):
        raise BadType(f"{name} is {describe_type(x)}: {needed} is needed")
    try:
        array = np.asarray(x)
    except ValueError as cause:  # a ragged list
        raise BadValue(f"{name} cannot be made an array: {cause}") from None
    except TypeError as cause:
        raise BadType(f"{name} cannot be made an array: {cause}") from None
    if array.dtype.kind == "O" and array.ndim == 0 and not isinstance(x, (np.ndarray, Number)):
        # NumPy wraps what it knows nothing about: a generator, say.
        raise BadType(f"{name} is {describe_type(x)}: {needed} is needed")
    return array


def hint(dtype: DType, name: str) -> str:
    if dtype.kind in "mM":
        return f"; pool {name}.view(np.int64) instead"
    if dtype.names:
        return f"; pool one field, such as {name}[{dtype.names[0]!r}]"
    if dtype.type is np.void:
        return ""
    return f"; convert it with np.asarray({name}, {'complex' if dtype.kind == 'c' else 'float'})"


# ------------------------------------------------------------------------------------------- result dtypes


def native(dtype: DType) -> DType:
    return dtype.newbyteorder("=") if not dtype.isnative else dtype


def ordered(dtype: DType) -> DType:
    """max and min keep the dtype; complex numbers have no order."""
    if dtype.kind == "c":
        raise BadType(
            X, f" has dtype {dtype}: complex numbers have no order, pool ", X, ".real, ", X, ".imag or abs(", X, ")"
        )
    return native(dtype)


def summed(dtype: DType) -> DType:
    """NumPy's rule for sums: small integers grow to 64 bits, the rest stays."""
    if dtype.kind in "bi":
        return np.dtype(np.int64)
    if dtype.kind == "u":
        return np.dtype(np.uint64)
    return native(dtype)


def averaged(dtype: DType) -> DType:
    return np.dtype(np.float64) if dtype.kind in "biu" else native(dtype)


def real_valued(dtype: DType) -> DType:
    if dtype.kind == "c":
        raise BadType(X, f" has dtype {dtype}: a real dtype is needed, pool abs(", X, ") instead")
    return averaged(dtype)


def convolved(dtype: DType, name: str = "x") -> DType:
    """A convolution keeps what NumPy's promotion makes of its operands; what a bool times a bool is, is not obvious."""
    if dtype.kind == "b":
        raise BadType(
            Argument(name), " has dtype bool: numbers are needed, convert it to the dtype that you want sums in"
        )
    return native(dtype)


RESULT: dict[str, Callable[[DType], DType]] = {
    "max_pool": ordered,
    "min_pool": ordered,
    "avg_pool": averaged,
    "sum_pool": summed,
    "lp_pool": real_valued,
    "smooth_max_pool": real_valued,
    "adaptive_max_pool": ordered,
    "adaptive_avg_pool": averaged,
    "global_max_pool": ordered,
    "global_avg_pool": averaged,
    "max_unpool": native,
    "conv": convolved,
    "conv_transpose": convolved,
    "correlate": convolved,
    "convolve": convolved,
}


def memory_order(x: Array) -> tuple[int, ...] | None:
    """The axes of ``x`` from the outermost in memory to the innermost; None for C order.

    A result laid out like its input lets windows over a transposed view run along memory as well as those over
    the array itself.
    """
    if x.flags.c_contiguous or 0 in x.strides:
        return None
    return tuple(sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis])))
