"""The primitives over the compiled core: each takes a checked array and a Geometry, and trusts both.

They mean what the functions of the same name in ``reference`` say.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from . import _core
from .arrays import Array, DType, averaged, has_nan, is_bfloat16, memory_order, native, ordered, real_valued, summed
from .reference import counts
from .window import Geometry

# The numbering of the core's enums (geometry.hpp).
CODES = {c: i for i, c in enumerate(["?", "b", "B", "h", "H", "i", "I", "q", "Q", "e", "bf", "f", "d"])}
BFLOAT16 = CODES["bf"]
FLOAT32, FLOAT64, INT64 = CODES["f"], CODES["d"], CODES["q"]
MAX, MIN, SUM = range(3)
PLAIN, ABSOLUTE, DROP_NAN, EXPONENTIAL, POWER = range(5)
AS_IS, TOTAL, AVERAGE, LOGARITHM, ROOT = range(5)


def code_of(dtype: DType) -> int:
    if is_bfloat16(dtype):
        return BFLOAT16
    if dtype.kind in "iu":  # by size: 'l' and 'q' name the same thing where both have 8 bytes
        letter = "bhiq"[dtype.itemsize.bit_length() - 1]
        return CODES[letter.upper() if dtype.kind == "u" else letter]
    return CODES[dtype.char]


def core_axes(geometry: Geometry) -> _core.Axes:
    axes = geometry.made.get("core")
    if axes is None:
        axes = _core.Axes()
        for a in geometry.axes:
            axes.add(a.position, a.n, a.o, a.k, a.s, a.d, a.low, a.high, list(a.starts or ()), list(a.lengths or ()))
        geometry.made["core"] = axes
    return axes  # type: ignore[return-value]


def run(
    x: Array,
    geometry: Geometry,
    result: DType,
    work: int,
    reduce: int,
    *,
    prepare: int = PLAIN,
    finish: int = AS_IS,
    omit: bool = False,
    include_pad: bool = True,
    pad_value: float | None = None,
    divisor: float | None = None,
    parameter: float = 0.0,
    indices: bool = False,
) -> tuple[Array, NDArray[np.int64] | None]:
    """One call of the core: allocate the result in ``x``'s memory order, hand over, give back in axis order."""
    order = memory_order(x)
    shape = geometry.out_shape
    laid = shape if order is None else tuple(shape[axis] for axis in order)
    y = np.empty(laid, result)
    index = np.empty(laid, np.int64) if indices else None
    source, target, places = x, y, order
    if x.dtype.kind == "c":  # pairs of floats: an innermost axis that is not pooled
        source = x[..., None].view(x.real.dtype)
        target = y[..., None].view(y.real.dtype)
        places = None if order is None else (*order, x.ndim)
    elif is_bfloat16(x.dtype):  # the buffer protocol has no name for it
        source, target = x.view(np.uint16), y.view(np.uint16)
    kept = target if not is_bfloat16(result) or target is not y else y.view(np.uint16)
    _core.pool(
        core_axes(geometry), source, kept, index, places,
        BFLOAT16 if is_bfloat16(x.dtype) else code_of(source.dtype),
        work, BFLOAT16 if is_bfloat16(result) else code_of(target.dtype),
        not x.dtype.isnative, reduce, prepare, finish, omit, include_pad, pad_value, divisor, parameter,
    )  # fmt: skip
    if order is None:
        return y, index
    back = tuple(np.argsort(order))
    return y.transpose(back), None if index is None else index.transpose(back)


def is_half(dtype: DType) -> bool:
    return dtype.kind != "c" and dtype.itemsize == 2 and has_nan(dtype)


def pick(
    x: Array, geometry: Geometry, largest: bool, omit: bool, indices: bool
) -> tuple[Array, NDArray[np.int64] | None]:
    """max_pool or min_pool, with the flat indices if they are asked for."""
    result = ordered(x.dtype)
    work = FLOAT32 if is_half(result) else code_of(result)
    return run(x, geometry, result, work, MAX if largest else MIN, omit=omit and has_nan(result), indices=indices)


def sum_work(result: DType) -> int:
    if result.kind in "iu":
        return INT64  # also for uint64: the same bits
    return FLOAT32 if is_half(result) or result.char in "fF" else FLOAT64


def sum_pool(x: Array, geometry: Geometry, omit: bool) -> Array:
    result = summed(x.dtype)
    if omit and x.dtype.kind == "c":
        return complex_omit(x, geometry, None)
    return run(x, geometry, result, sum_work(result), SUM, finish=TOTAL, omit=omit and has_nan(result))[0]


def avg_pool(x: Array, geometry: Geometry, omit: bool, divisor: float | None, include_pad: bool) -> Array:
    result = averaged(x.dtype)
    if omit and x.dtype.kind == "c":
        return complex_omit(x, geometry, (divisor, include_pad))
    return run(
        x, geometry, result, sum_work(result), SUM,
        finish=AVERAGE, omit=omit and has_nan(x.dtype), include_pad=include_pad, divisor=divisor,
    )[0]  # fmt: skip


def complex_omit(x: Array, geometry: Geometry, average: tuple[float | None, bool] | None) -> Array:
    """A complex cell is NaN when either part is, which the core, seeing floats, cannot know."""
    gone = np.isnan(x)
    held = np.where(gone, np.zeros((), x.dtype), x)
    out = sum_pool(held, geometry, False)
    dropped = sum_pool(gone, geometry, False)
    with np.errstate(all="ignore"):
        if average is not None:
            divisor, include_pad = average
            by = np.asarray(counts(geometry, include_pad) - dropped if divisor is None else divisor, np.float64)
            out.real, out.imag = out.real / by, out.imag / by
    out[counts(geometry, False) == dropped] = np.nan
    return out


def lp_pool(x: Array, geometry: Geometry, p: float) -> Array:
    result = real_valued(x.dtype)
    if math.isinf(p):
        work = FLOAT32 if is_half(result) or result == np.float32 else FLOAT64
        out, _ = run(x, geometry, result, work, MAX, prepare=ABSOLUTE)
        # A window without a real cell is 0, not the -inf of a maximum of nothing.
        return np.maximum(out, np.zeros((), result), out=out)
    return run(x, geometry, result, FLOAT64, SUM, prepare=POWER, finish=ROOT, parameter=p)[0]


def smooth_max_pool(x: Array, geometry: Geometry, beta: float, pad_value: float | None) -> Array:
    result = real_valued(x.dtype)
    return run(
        x, geometry, result, FLOAT64, SUM,
        prepare=EXPONENTIAL, finish=LOGARITHM, pad_value=pad_value, parameter=beta,
    )[0]  # fmt: skip


def unpool(y: Array, indices: Array, positions: tuple[int, ...], sizes: tuple[int, ...]) -> Array:
    """Each value at its index in zeros, the pooled axes having ``sizes``."""
    rank = len(positions)
    last = tuple(range(-rank, 0))
    values = np.ascontiguousarray(np.moveaxis(y, positions, last), native(y.dtype))
    where = np.ascontiguousarray(np.moveaxis(indices, positions, last), np.int64)
    batch = values.shape[: y.ndim - rank]
    out = np.zeros((*batch, *sizes), values.dtype)
    if values.size and out.size:
        raw = np.dtype(np.uint16) if is_bfloat16(values.dtype) else values.dtype
        _core.scatter(out.view(raw), values.view(raw), where, math.prod(batch))
    return np.moveaxis(out, last, positions)
