"""Plans of the compiled core: all of a pooling call but the arrays, made once and kept in the cache."""

from __future__ import annotations

from typing import NamedTuple

from .. import _core, cache
from .._core import DType as Code
from .._core import Epilogue, Prologue, Reduce
from ..arguments.arrays import Array
from ..dtypes import DType, code_of, is_complex, native, row
from ..geometry.axes import Geometry
from .buffers import as_storage, empty, from_order, is_plain, memory_order, to_order


class Plan(NamedTuple):
    """What the core does with arrays of one geometry and dtype."""

    pool: _core.PoolPlan
    out_shape: tuple[int, ...]
    result: DType
    direct: bool  # both buffers are passed as they are: neither complex nor bfloat16


def core_axes(geometry: Geometry) -> _core.Axes:
    """The geometry as the core has it."""
    axes: _core.Axes | None = cache.lookup(("axes", geometry))
    if axes is None:
        axes = _core.Axes(list(geometry.shape))
        for a in geometry.axes:
            # A single window may have a stride of any size, by which no buffer must be sized.
            stride = min(a.s, max(1, a.n + a.low + a.high)) if a.starts is None and a.o <= 1 else a.s
            axes.add(
                a.position, a.n, a.o, a.k, stride, a.d, a.low, a.high,
                list(a.starts or ()), list(a.lengths or ()), *(a.spread or (0, 0, 0)),
            )  # fmt: skip
        cache.insert(("axes", geometry), axes, geometry.bytes)
    return axes


def make_plan(
    geometry: Geometry,
    dtype: DType,
    result: DType,
    work: Code,
    reduce: Reduce,
    *,
    prologue: Prologue = Prologue.none,
    epilogue: Epilogue = Epilogue.none,
    omit: bool = False,
    include_pad: bool = True,
    pad_value: float | None = None,
    divisor: float | None = None,
    parameter: float = 0.0,
) -> Plan:
    """The plan of a reduction from ``dtype`` to ``result``, computed in ``work``."""
    key = (geometry, dtype, result, work, reduce, prologue, epilogue, omit, include_pad, pad_value, divisor, parameter)
    plan: Plan | None = cache.lookup(key)
    if plan is None:
        before, after = row(dtype), row(result)
        pool = _core.PoolPlan(
            core_axes(geometry),
            code_of(before.part), work, code_of(after.part),
            not dtype.isnative, reduce, prologue, epilogue, omit, include_pad, pad_value, divisor, parameter,
        )  # fmt: skip
        direct = all(r.part == r.dtype == r.storage for r in (before, after))
        plan = cache.insert(key, Plan(pool, geometry.out_shape, native(result), direct))
    return plan


def run(x: Array, plan: Plan, argmax: DType | None = None) -> tuple[Array, ...]:
    """The results of a plan, in the memory order of ``x``: the values, and with a dtype for it the argmax."""
    pool, out_shape, result, direct = plan
    order = memory_order(x)
    if order is None and direct:
        y = empty(out_shape, result)
        if argmax is None:
            pool.run(x, y, None, None)
            return (y,)
        where = empty(out_shape, argmax)
        pool.run(x, y, where, None)
        return y, where
    shape = to_order(out_shape, order)
    y = empty(shape, result)
    found = None if argmax is None else empty(shape, argmax)
    if is_complex(x.dtype):  # pairs of floats: an innermost axis that is not pooled
        source, target = x[..., None].view(x.real.dtype), y[..., None].view(y.real.dtype)
        places = None if order is None else (*order, x.ndim)
    else:
        source, target, places = as_storage(x), as_storage(y), order
    pool.run(source, target, found, places)
    return (from_order(y, order),) if found is None else (from_order(y, order), from_order(found, order))


def run_into(x: Array, plan: Plan, outputs: tuple[Array, ...]) -> bool:
    """The same into arrays of the caller's, if the core can write into them; otherwise False, and nothing is done."""
    if not plan.direct or memory_order(x) is not None or not all(map(is_plain, outputs)):
        return False
    plan.pool.run(x, outputs[0], outputs[1] if len(outputs) > 1 else None, None)
    return True
