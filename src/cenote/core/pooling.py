"""Pooling by the compiled core: each function takes a checked array and a Geometry, and trusts both.

They mean what the functions of the same name in ``reference.pooling`` say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._core import DType as Code
from .._core import Epilogue, Prologue, Reduce
from ..arguments.arrays import Array
from ..dtypes import (
    DType,
    accumulator,
    average_dtype,
    code_of,
    has_nan,
    is_complex,
    is_double,
    is_exact,
    native,
    norm_dtype,
    select_dtype,
    sum_dtype,
)
from ..geometry.axes import Geometry
from .buffers import empty
from .plans import Plan, make_plan, run

INDEX = np.dtype(np.int64)
OFFSETS = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))
SAME_AS_INFINITE_P = 1e18  # (number of elements)^(1/p) is 1 in double precision

# ---------------------------------------------------------------------------------------------- max and min


def select_plan(geometry: Geometry, dtype: DType, largest: bool, omit: bool) -> Plan:
    result = select_dtype(dtype)
    reduce = Reduce.max if largest else Reduce.min
    return make_plan(geometry, dtype, result, code_of(accumulator(result)), reduce, omit=omit and has_nan(result))


def select(x: Array, geometry: Geometry, largest: bool, omit: bool) -> Array:
    """max_pool or min_pool."""
    return run(x, select_plan(geometry, x.dtype, largest, omit))[0]


def select_with_indices(x: Array, geometry: Geometry, largest: bool, omit: bool) -> tuple[Array, NDArray[np.int64]]:
    """The same with the argmax as flat indices over the pooled axes, −1 for a window without an element."""
    values, indices = run(x, select_plan(geometry, x.dtype, largest, omit), INDEX)
    return values, indices


def select_with_offsets(x: Array, geometry: Geometry, largest: bool, omit: bool) -> tuple[Array, Array]:
    """The same with the argmax as offsets in their windows: what a derivative needs."""
    values, offsets = run(x, select_plan(geometry, x.dtype, largest, omit), offset_dtype(geometry))
    return values, offsets


def offset_dtype(geometry: Geometry) -> DType:
    """The least type for an offset in the window; its largest value stands for a window without an element."""
    return offset_dtype_of(geometry.valid_tap_count)


def offset_dtype_of(taps: int) -> DType:
    """The same for a window of so many elements."""
    return OFFSETS[0 if taps <= 255 else 1 if taps <= 65535 else 2]


# ------------------------------------------------------------------------------------------ sums and averages


def float_work(dtype: DType, result: DType) -> Code:
    """What floats are added in: at least as wide as elements and result."""
    return Code.f64 if is_double(dtype) or is_double(result) else Code.f32


def sums_by_parts(geometry: Geometry, dtype: DType, omit: bool) -> bool:
    """Whether a sum takes more than one call of the core: the core sees the parts of complex numbers along one axis
    more, and does not know that an element is NaN when either part is."""
    return is_complex(dtype) and (omit or len(geometry.shape) == _core.MAX_NDIM)


def sum_plan(geometry: Geometry, dtype: DType, omit: bool, result: DType | None = None) -> Plan | None:
    """See :func:`sum_pool`; None if it takes more than one call of the core."""
    if sums_by_parts(geometry, dtype, omit):
        return None
    result = sum_dtype(dtype) if result is None else native(result)
    work = Code.i64 if is_exact(dtype) else float_work(dtype, result)  # also for uint64: the same bits
    return make_plan(
        geometry, dtype, result, work, Reduce.sum, epilogue=Epilogue.sum, omit=omit and has_nan(dtype)
    )  # fmt: skip


def sum_pool(x: Array, geometry: Geometry, omit: bool, *, result: DType | None = None) -> Array:
    """``result`` is the dtype of the result, if not the usual one. Integers are summed in 64 bits, as without it, then
    converted once; floats in double precision if either dtype is that wide. To an integer: rounded to nearest, ties to
    even, and clipped to its range; infinities are the ends of the range, NaN is 0."""
    plan = sum_plan(geometry, x.dtype, omit, result)
    if plan is not None:
        return run(x, plan)[0]
    if omit:
        return complex_omit(x, geometry, None, result)
    return by_parts(sum_pool, x, geometry, omit, result=native(result or x.dtype))


def avg_plan(
    geometry: Geometry,
    dtype: DType,
    omit: bool,
    divisor: float | None,
    include_pad: bool,
    result: DType | None = None,
) -> Plan | None:
    """See :func:`avg_pool`; None if it takes more than one call of the core."""
    if sums_by_parts(geometry, dtype, omit):
        return None
    result = average_dtype(dtype) if result is None else native(result)
    work = Code.f64 if is_exact(dtype) else float_work(dtype, result)
    return make_plan(
        geometry, dtype, result, work, Reduce.sum,
        epilogue=Epilogue.average, omit=omit and has_nan(dtype), include_pad=include_pad, divisor=divisor,
    )  # fmt: skip


def avg_pool(
    x: Array,
    geometry: Geometry,
    omit: bool,
    divisor: float | None,
    include_pad: bool,
    *,
    result: DType | None = None,
) -> Array:
    """``result`` is the dtype of the result, if not the usual one. Averages of integers are then exact quotients,
    rounded once; those of floats are converted once, as :func:`sum_pool` does."""
    plan = avg_plan(geometry, x.dtype, omit, divisor, include_pad, result)
    if plan is not None:
        return run(x, plan)[0]
    if omit:
        return complex_omit(x, geometry, (divisor, include_pad), result)
    return by_parts(avg_pool, x, geometry, omit, divisor, include_pad, result=native(result or x.dtype))


def by_parts(pool: Callable[..., Array], x: Array, *args: Any, result: DType) -> Array:
    """Real and imaginary part one after the other: for arrays with no room for an axis more."""
    out = empty(args[0].out_shape, result)
    out.real, out.imag = (pool(part, *args, result=out.real.dtype) for part in (x.real, x.imag))
    return out


def complex_omit(
    x: Array, geometry: Geometry, average: tuple[float | None, bool] | None, result: DType | None = None
) -> Array:
    """The sum or average of complex numbers of which neither part is NaN."""
    nan = np.isnan(x)
    rest = np.where(nan, np.zeros((), x.dtype), x)
    work = native(x.dtype if result is None or is_double(x.dtype) else result)
    out = sum_pool(rest, geometry, False, result=work)
    omitted = sum_pool(nan, geometry, False)
    with np.errstate(all="ignore"):
        if average is not None:
            divisor, include_pad = average
            by = np.asarray(geometry.counts(include_pad) - omitted if divisor is None else divisor, np.float64)
            out.real, out.imag = out.real / by, out.imag / by
        out[geometry.counts(False) == omitted] = np.nan
        return out if result is None else out.astype(native(result), copy=False)


# --------------------------------------------------------------------------------------------- lp, smooth max


def lp_plan(geometry: Geometry, dtype: DType, p: float, result: DType | None = None) -> Plan:
    """Of a finite p. See :func:`lp_pool`."""
    return make_plan(
        geometry, dtype, norm_dtype(dtype) if result is None else native(result), Code.f64, Reduce.sum,
        prologue=Prologue.power, epilogue=Epilogue.root, parameter=p,
    )  # fmt: skip


def lp_pool(x: Array, geometry: Geometry, p: float, *, result: DType | None = None) -> Array:
    """``result`` is the dtype of the result, if not the usual one; converted as :func:`sum_pool` does."""
    if p < SAME_AS_INFINITE_P:
        return run(x, lp_plan(geometry, x.dtype, p, result))[0]
    usual = norm_dtype(x.dtype)
    result = usual if result is None else native(result)
    work = float_work(usual, result)
    (out,) = run(x, make_plan(geometry, x.dtype, result, work, Reduce.max, prologue=Prologue.absolute))
    # A window without an element is 0, not the -inf of a maximum of nothing.
    return np.maximum(out, np.zeros((), result), out=out)


def smooth_max_plan(
    geometry: Geometry, dtype: DType, beta: float, pad_value: float | None, result: DType | None = None
) -> Plan:
    """See :func:`smooth_max_pool`."""
    return make_plan(
        geometry, dtype, norm_dtype(dtype) if result is None else native(result), Code.f64, Reduce.sum,
        prologue=Prologue.exponential, epilogue=Epilogue.logarithm, pad_value=pad_value, parameter=beta,
    )  # fmt: skip


def smooth_max_pool(
    x: Array, geometry: Geometry, beta: float, pad_value: float | None, *, result: DType | None = None
) -> Array:
    """``result`` is the dtype of the result, if not the usual one; converted as :func:`sum_pool` does."""
    return run(x, smooth_max_plan(geometry, x.dtype, beta, pad_value, result))[0]
