"""The primitives over the compiled core: each takes a checked array and a Geometry, and trusts both.

They mean what the functions of the same name in ``reference`` say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core, cache
from .arguments.arrays import (
    Array,
    DType,
    averaged,
    has_nan,
    is_bfloat16,
    memory_order,
    native,
    ordered,
    real_valued,
    summed,
)
from .geometry.axes import Geometry

# The numbering of the core's enums (geometry.hpp).
CODES = {c: i for i, c in enumerate(["?", "b", "B", "h", "H", "i", "I", "q", "Q", "e", "bf", "f", "d", "F", "D"])}
BFLOAT16 = CODES["bf"]
FLOAT32, FLOAT64, INT64 = CODES["f"], CODES["d"], CODES["q"]
MAX, MIN, SUM = range(3)
PLAIN, ABSOLUTE, EXPONENTIAL, POWER = range(4)
AS_IS, TOTAL, AVERAGE, LOGARITHM, ROOT = range(5)


OFFSETS = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))
MOST_AXES = 64  # of an array, in NumPy and in the core
SAME_AS_INFINITE_P = 1e18  # cells^(1/p) is 1 in double precision


def number_of(dtype: DType) -> int:
    if is_bfloat16(dtype):
        return BFLOAT16
    if dtype.kind in "iu":  # by size: 'l' and 'q' name the same thing where both have 8 bytes
        letter = "bhiq"[dtype.itemsize.bit_length() - 1]
        return CODES[letter.upper() if dtype.kind == "u" else letter]
    return CODES[dtype.char]


KNOWN: dict[DType, int] = {}


def code_of(dtype: DType) -> int:
    """The core's number for a dtype, of either byte order."""
    code = KNOWN.get(dtype)
    if code is None:
        code = KNOWN[dtype] = number_of(dtype)
    return code


def core_axes(geometry: Geometry) -> _core.Axes:
    """The geometry as the core has it."""
    axes: _core.Axes | None = cache.lookup(("axes", geometry))
    if axes is None:
        axes = _core.Axes(list(geometry.shape))
        for a in geometry.axes:
            axes.add(
                a.position, a.n, a.o, a.k, a.s, a.d, a.low, a.high,
                list(a.starts or ()), list(a.lengths or ()), *(a.spread or (0, 0, 0)),
            )  # fmt: skip
        cache.insert(("axes", geometry), axes, geometry.bytes)
    return axes


def plan(
    geometry: Geometry,
    dtype: DType,
    result: DType,
    work: int,
    reduce: int,
    *,
    prologue: int = PLAIN,
    epilogue: int = AS_IS,
    omit: bool = False,
    include_pad: bool = True,
    pad_value: float | None = None,
    divisor: float | None = None,
    parameter: float = 0.0,
) -> _core.PoolPlan:
    """What the core is to do with an array of this geometry and dtype."""
    key = (geometry, dtype, result, work, reduce, prologue, epilogue, omit, include_pad, pad_value, divisor, parameter)
    made: _core.PoolPlan | None = cache.lookup(key)
    if made is None:
        before, after = (np.dtype(d.char.lower()) if d.kind == "c" else d for d in (native(dtype), native(result)))
        made = _core.PoolPlan(
            core_axes(geometry),
            code_of(before), work, code_of(after),
            not dtype.isnative, reduce, prologue, epilogue, omit, include_pad, pad_value, divisor, parameter,
        )  # fmt: skip
        cache.insert(key, made)
    return made


def run(
    x: Array, geometry: Geometry, result: DType, how: _core.PoolPlan, winners: DType | None = None
) -> tuple[Array, Array | None]:
    """One call of the core: allocate the results in ``x``'s memory order, hand over, give back in axis order."""
    order = memory_order(x)
    if order is None and x.dtype.kind not in "cV" and result.kind != "V":  # nothing to rearrange
        y = _core.empty(geometry.out_shape, result)
        chosen = None if winners is None else _core.empty(geometry.out_shape, winners)
        how.run(x, y, chosen, None)
        return y, chosen
    laid = in_order(geometry.out_shape, order)
    y = _core.empty(laid, result)
    chosen = None if winners is None else _core.empty(laid, winners)
    source, target, places = x, y, order
    if x.dtype.kind == "c":  # pairs of floats: an innermost axis that is not pooled
        source = x[..., None].view(x.real.dtype)
        target = y[..., None].view(y.real.dtype)
        places = None if order is None else (*order, x.ndim)
    elif is_bfloat16(x.dtype):  # the buffer protocol has no name for it
        source = x.view(np.uint16)
    if is_bfloat16(result):
        target = y.view(np.uint16)
    how.run(source, target, chosen, places)
    return from_order(y, order), None if chosen is None else from_order(chosen, order)


def run_into(x: Array, how: _core.PoolPlan, targets: tuple[Array, ...]) -> bool:
    """One call of the core into arrays of the caller's, if they lie in memory as it writes."""
    plain = all(y.flags.c_contiguous and y.flags.aligned and y.dtype.isnative for y in targets)
    if not plain or memory_order(x) is not None or x.dtype.kind in "cV" or targets[0].dtype.kind == "V":
        return False
    how.run(x, targets[0], targets[1] if len(targets) > 1 else None, None)
    return True


def in_order(shape: tuple[int, ...], order: tuple[int, ...] | None) -> tuple[int, ...]:
    return shape if order is None else tuple(shape[axis] for axis in order)


def from_order(laid: Array, order: tuple[int, ...] | None) -> Array:
    """An array whose axes lie in ``order``, with its axes in their own order."""
    return laid if order is None else laid.transpose(np.argsort(order))


def is_half(dtype: DType) -> bool:
    return dtype.kind != "c" and dtype.itemsize == 2 and has_nan(dtype)


def pick(
    x: Array, geometry: Geometry, largest: bool, omit: bool, indices: bool
) -> tuple[Array, NDArray[np.int64] | None]:
    """max_pool or min_pool, with the flat indices if they are asked for."""
    return select(x, geometry, largest, omit, np.dtype(np.int64) if indices else None)


def pick_plan(geometry: Geometry, dtype: DType, largest: bool, omit: bool) -> tuple[DType, _core.PoolPlan]:
    result = ordered(dtype)
    work = FLOAT32 if is_half(result) else code_of(result)
    omit = omit and has_nan(result)
    return result, plan(geometry, dtype, result, work, MAX if largest else MIN, omit=omit)


def select(
    x: Array, geometry: Geometry, largest: bool, omit: bool, winners: DType | None
) -> tuple[Array, Array | None]:
    return run(x, geometry, *pick_plan(geometry, x.dtype, largest, omit), winners)


def run_selection(
    x: Array, geometry: Geometry, result: DType, how: _core.PoolPlan, argmax: DType | None
) -> tuple[Array, ...]:
    """The values, and where they come from if a dtype for that is given."""
    values, where = run(x, geometry, result, how, argmax)
    return (values,) if where is None else (values, where)


def offset_dtype(geometry: Geometry) -> DType:
    """The least type for an offset in the window; its largest value says that there is no winner."""
    taps = geometry.live_taps
    return OFFSETS[0 if taps <= 255 else 1 if taps <= 65535 else 2]


def winners(x: Array, geometry: Geometry, largest: bool, omit: bool) -> tuple[Array, Array]:
    """max_pool or min_pool with the winners as offsets in their windows: what a derivative needs."""
    values, offsets = select(x, geometry, largest, omit, offset_dtype(geometry))
    return values, offsets  # type: ignore[return-value]


def gather(x: Array, offsets: Array, geometry: Geometry) -> Array:
    """The winners' cells of ``x``, 0 for a window without one."""
    x = np.asarray(x, native(x.dtype))
    held = x.astype(np.float32) if is_half(x.dtype) else x
    order = memory_order(offsets)
    y = _core.empty(in_order(geometry.out_shape, order), held.dtype)
    _core.move(core_axes(geometry), held, y, as_laid(offsets, order), order, False)
    return from_order(y, order).astype(x.dtype, copy=False)


def scatter(g: Array, offsets: Array, geometry: Geometry) -> Array:
    """Each value of ``g`` added to the cell of its window's winner: the adjoint of :func:`gather`."""
    order = memory_order(offsets)
    if order is None and g.dtype.char in "fd" and g.dtype.isnative and g.flags.c_contiguous:  # nothing to rearrange
        x = _core.empty(geometry.shape, g.dtype)
        _core.move(core_axes(geometry), x, g, offsets, None, True)
        return x
    held = np.asarray(g, np.float32 if is_half(g.dtype) else native(g.dtype))
    x = from_order(_core.empty(in_order(geometry.shape, order), held.dtype), order)
    _core.move(core_axes(geometry), x, as_laid(held, order), as_laid(offsets, order), order, True)
    return x.astype(g.dtype, copy=False)


def as_laid(x: Array, order: tuple[int, ...] | None) -> Array:
    """``x`` dense in memory, its axes in ``order``."""
    return np.ascontiguousarray(x if order is None else x.transpose(order))


def sum_work(dtype: DType, result: DType) -> int:
    """The dtype that floats are added in, at least as wide as elements and result, and integers for an average."""
    if dtype.kind in "biu" or double(dtype) or double(result):
        return FLOAT64
    return FLOAT32


def double(dtype: DType) -> bool:
    return dtype.char in "dD"


def by_parts(pool: Callable[..., Array], x: Array, *args: Any, result: DType) -> Array:
    """Real and imaginary part one after the other: for arrays with no room for an axis more."""
    out = _core.empty(args[0].out_shape, result)
    out.real, out.imag = (pool(part, *args, result=out.real.dtype) for part in (x.real, x.imag))
    return out


def sum_plan(geometry: Geometry, dtype: DType, omit: bool, result: DType | None = None) -> tuple[DType, _core.PoolPlan]:
    """See :func:`sum_pool`."""
    result = summed(dtype) if result is None else native(result)
    work = INT64 if dtype.kind in "biu" else sum_work(dtype, result)  # also for uint64: the same bits
    return result, plan(geometry, dtype, result, work, SUM, epilogue=TOTAL, omit=omit and has_nan(dtype))


def narrowed(x: Array, result: DType) -> Array:
    """``x`` in another dtype. An integer one gets the nearest integers, ties to even, clipped to its range, and 0 for
    NaN."""
    if x.dtype == result:
        return x
    if x.dtype.kind == "c" and result.kind != "c":
        x = x.real  # the imaginary part of a real operand's cotangent has nowhere to go
    if result.kind not in "iu":
        with np.errstate(over="ignore"):
            return x.astype(result)
    ends = np.iinfo(result)
    if x.dtype.kind in "iu":
        of_x = np.iinfo(x.dtype)
        return np.clip(x, max(ends.min, of_x.min), min(ends.max, of_x.max)).astype(result)
    nearest = np.rint(x.astype(np.float64))
    low, high = nearest < ends.min, nearest >= ends.max + 1
    out = np.where(low | high | np.isnan(nearest), 0, nearest).astype(result)
    out[low], out[high] = ends.min, ends.max
    return out


def sum_pool(x: Array, geometry: Geometry, omit: bool, *, result: DType | None = None) -> Array:
    """``result`` is the dtype of the result, if not the usual one. Integers are summed in 64 bits, as without it, then
    converted once; floats in double precision if either dtype is that wide. To an integer: rounded to nearest, ties to
    even, and clipped to its range; infinities are the ends of the range, NaN is 0."""
    if omit and x.dtype.kind == "c":
        return complex_omit(x, geometry, None, result)
    if x.dtype.kind == "c" and x.ndim == MOST_AXES:
        return by_parts(sum_pool, x, geometry, omit, result=native(result or x.dtype))
    return run(x, geometry, *sum_plan(geometry, x.dtype, omit, result))[0]


def avg_plan(
    geometry: Geometry,
    dtype: DType,
    omit: bool,
    divisor: float | None,
    include_pad: bool,
    result: DType | None = None,
) -> tuple[DType, _core.PoolPlan]:
    """See :func:`avg_pool`."""
    result = averaged(dtype) if result is None else native(result)
    return result, plan(
        geometry, dtype, result, sum_work(dtype, result), SUM,
        epilogue=AVERAGE, omit=omit and has_nan(dtype), include_pad=include_pad, divisor=divisor,
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
    if omit and x.dtype.kind == "c":
        return complex_omit(x, geometry, (divisor, include_pad), result)
    if x.dtype.kind == "c" and x.ndim == MOST_AXES:
        return by_parts(avg_pool, x, geometry, omit, divisor, include_pad, result=native(result or x.dtype))
    return run(x, geometry, *avg_plan(geometry, x.dtype, omit, divisor, include_pad, result))[0]


def complex_omit(
    x: Array, geometry: Geometry, average: tuple[float | None, bool] | None, result: DType | None = None
) -> Array:
    """A complex cell is NaN when either part is, which the core, seeing floats, cannot know."""
    gone = np.isnan(x)
    held = np.where(gone, np.zeros((), x.dtype), x)
    wide = native(x.dtype if result is None or double(x.dtype) else result)  # what it is computed in
    out = sum_pool(held, geometry, False, result=wide)
    dropped = sum_pool(gone, geometry, False)
    with np.errstate(all="ignore"):
        if average is not None:
            divisor, include_pad = average
            by = np.asarray(geometry.counts(include_pad) - dropped if divisor is None else divisor, np.float64)
            out.real, out.imag = out.real / by, out.imag / by
        out[geometry.counts(False) == dropped] = np.nan
        return out if result is None else out.astype(native(result), copy=False)


def lp_pool(x: Array, geometry: Geometry, p: float, *, result: DType | None = None) -> Array:
    """``result`` is the dtype of the result, if not the usual one; converted as :func:`sum_pool` does."""
    usual = real_valued(x.dtype)
    result = usual if result is None else native(result)
    if p >= SAME_AS_INFINITE_P:
        work = FLOAT64 if double(usual) or double(result) else FLOAT32
        out, _ = run(x, geometry, result, plan(geometry, x.dtype, result, work, MAX, prologue=ABSOLUTE))
        # A window without a real cell is 0, not the -inf of a maximum of nothing.
        return np.maximum(out, np.zeros((), result), out=out)
    how = plan(geometry, x.dtype, result, FLOAT64, SUM, prologue=POWER, epilogue=ROOT, parameter=p)
    return run(x, geometry, result, how)[0]


def smooth_max_pool(
    x: Array, geometry: Geometry, beta: float, pad_value: float | None, *, result: DType | None = None
) -> Array:
    """``result`` is the dtype of the result, if not the usual one; converted as :func:`sum_pool` does."""
    result = real_valued(x.dtype) if result is None else native(result)
    how = plan(
        geometry, x.dtype, result, FLOAT64, SUM,
        prologue=EXPONENTIAL, epilogue=LOGARITHM, pad_value=pad_value, parameter=beta,
    )  # fmt: skip
    return run(x, geometry, result, how)[0]


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
        _core.put(out.view(raw), values.view(raw), where, math.prod(batch))
    return np.moveaxis(out, last, positions)
