"""The primitive of JAX that computes an Op, and its rules: shapes, derivatives, transposes, batching, lowering.

There is one primitive, and the Op is its parameter. Its derivatives are made of the same primitive, so every
transformation of JAX applies to them again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

from ...arguments.errors import BadValue
from ...dtypes import DType, is_differentiable
from ...geometry.axes import Geometry
from ...ops.base import Applied, Derivatives, LinearOperator, Op, Spec, Value
from ...ops.fold import Fold
from ...ops.gather import Unpool, UnpoolGather
from ...ops.record import replace
from ...ops.selection import Indices, SelectPool
from ...ops.serialize import dumps
from . import sharding, start
from .fold import fold_jvp
from .fused import ByResidual
from .sharding import typeof

primitive = Primitive("cenote")
primitive.multiple_results = True


def bind(op: Op, *operands: Value) -> tuple[Value, ...]:
    """The outputs of an Op on JAX arrays or tracers."""
    return tuple(primitive.bind(*sharding.vary_alike(operands), op=in_jax_dtypes(op)))


def in_jax_dtypes(op: Op) -> Op:
    """The Op with a result that JAX has: in 32 bits where x64 is off."""
    if isinstance(op, Indices) or (isinstance(op, SelectPool) and op.argmax == "indices"):
        check_indices(op.geometry)
    after: DType | None = getattr(op, "after", None)
    if after is None or after.itemsize < 8:
        return op
    narrow = jax.dtypes.canonicalize_dtype(after)
    return op if narrow == after else replace(op, after=narrow)


def check_indices(geometry: Geometry) -> None:
    """Indices fit into the integers of JAX."""
    last = math.prod(axis.n for axis in geometry.axes) - 1
    if last > np.iinfo(jax.dtypes.canonicalize_dtype(np.int64)).max:
        raise BadValue(
            f"indices up to {last} do not fit into int32: switch 64 bits on with "
            'jax.config.update("jax_enable_x64", True)'
        )


# ------------------------------------------------------------------------------------- values, without and with data


def spec_of(x: Any) -> Spec:
    return Spec(x.shape, x.dtype)


def abstract_eval(*operands: Any, op: Op) -> list[Any]:
    like = operands[0]
    return [result_aval(like, *spec) for spec in op.infer(*map(spec_of, operands))]


def result_aval(like: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """What JAX knows of a result, besides shape and dtype, is what it knows of the operands."""
    of = getattr(like, "sharding", None)
    placed = {} if of is None else {"sharding": NamedSharding(of.mesh, PartitionSpec(*[None] * len(shape)))}
    return like.update(shape=shape, dtype=jax.dtypes.canonicalize_dtype(dtype), weak_type=False, **placed)


@partial(jax.jit, static_argnames="op")
def compiled(*operands: Any, op: Op) -> list[Any]:
    outputs: list[Any] = primitive.bind(*operands, op=op)
    return outputs


def evaluate(*operands: Any, op: Op) -> list[Any]:
    # A literal of a program that is evaluated, as by jax.checkpoint, is no jax.Array, but always here.
    if isinstance(op, (Unpool, UnpoolGather)) and getattr(operands[1], "is_fully_addressable", True):
        # Outside of compiled programs the error of a wrong index is Python's own.
        (op if isinstance(op, Unpool) else op.T).check(np.asarray(operands[1]))
    config = jax.config
    nans, infs = config.jax_debug_nans, config.jax_debug_infs
    if not (nans or infs or config.jax_disable_jit):
        return list(compiled(*operands, op=op))
    # A compiled function would come back here: not to be compiled, or to find the primitive that gave a NaN.
    with jax.disable_jit(False), jax.debug_nans(False), jax.debug_infs(False):
        outputs = list(compiled(*operands, op=op))
        for what, wanted, found in (("nan", nans, jnp.isnan), ("inf", infs, jnp.isinf)):
            if wanted and any(bool(found(x).any()) for x in outputs if is_differentiable(x.dtype)):
                raise FloatingPointError(f"invalid value ({what}) encountered in {op.label}")
    return outputs


def lower(context: Any, *operands: Any, op: Op) -> Any:
    start.start()
    return start.ffi().ffi_lowering(start.TARGET)(context, *operands, op=dumps(op))


def refuse(context: Any, *operands: Any, op: Op) -> Any:
    platforms = " and ".join(getattr(context.module_context, "platforms", None) or ("another device",))
    raise TypeError(
        f"cenote computes on the CPU, and this program is compiled for {platforms}: move its arrays to the CPU with "
        'jax.device_put(x, jax.devices("cpu")[0])'
    )


# ------------------------------------------------------------------------------------------------- derivatives


def linearize(op: Op, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
    """As the Op's own rule, but for residuals that it needs in double precision."""
    if not op.linear or not any(wanted[1:]) or not is_wide(op, operands):
        return op.linearize(bind, wanted, *operands)
    derivatives: list[LinearOperator | None] = [Applied(bind, op, *operands[1:]) if wanted[0] else None]
    for i, want in enumerate(wanted[1:], 1):
        derivatives.append(Applied(bind, ByResidual(op, i, False), *operands) if want else None)
    return bind(op, *operands), derivatives


def is_wide(op: Op, operands: Sequence[Value]) -> bool:
    return op.wide and any(is_differentiable(x.dtype) and x.dtype != np.float64 for x in operands)


def jvp(primals: Sequence[Value], tangents: Sequence[Any], *, op: Op) -> tuple[list[Value], list[Any]]:
    if isinstance(op, Fold) and not op.derivable:
        return fold_jvp(bind, op, primals, tangents)
    wanted = [type(t) is not ad.Zero for t in tangents]
    outputs, derivatives = linearize(op, wanted, *primals)
    used = [(by, t) for by, t, want in zip(derivatives, tangents, wanted, strict=True) if want and by is not None]
    if used and not is_differentiable(outputs[0].dtype):
        raise TypeError(
            f"a result of dtype {outputs[0].dtype} has no derivative: give a float dtype, or jax.lax.stop_gradient(x)"
        )
    parts = [by(t) for by, t in used]
    total = parts[0] if parts else zero_of(outputs[0])
    for part in parts[1:]:
        total = total + part
    return list(outputs), [total, *map(zero_of, outputs[1:])]


def zero_of(x: Value) -> Any:
    """The tangent zero of an output."""
    return ad.Zero(typeof(x).to_tangent_aval())


def transpose(cotangents: Sequence[Any], *operands: Any, op: Op) -> list[Any]:
    """The cotangents of those operands that the Op is linear in, and that are unknown here."""
    (g, *_) = cotangents
    unknown = [ad.is_undefined_primal(x) for x in operands]
    if type(g) is ad.Zero:
        return [ad.Zero(x.aval) if u else None for x, u in zip(operands, unknown, strict=True)]
    if not op.linear or (sum(unknown[:2]) > 1):
        raise TypeError(f"{op.label} is not linear in all of these arguments: it has no transpose")

    def bind_known(op: Op, *operands: Value) -> tuple[Value, ...]:
        return (None,) if any(map(ad.is_undefined_primal, operands)) else bind(op, *operands)

    _, derivatives = op.linearize(bind_known, unknown, *operands)
    return [
        sharding.placed_as(by.transpose(g), x.aval) if u and by is not None else None
        for by, u, x in zip(derivatives, unknown, operands, strict=True)
    ]


def batch(operands: Sequence[Value], axes: Sequence[int | None], *, op: Op) -> tuple[tuple[Value, ...], list[int]]:
    size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
    batched, needed = op.batched(size, [axis is not None for axis in axes])
    held = []
    for x, axis, need in zip(operands, axes, needed, strict=True):
        if axis is not None:
            held.append(jnp.moveaxis(x, axis, 0))
        else:
            held.append(jnp.broadcast_to(x, (size, *x.shape)) if need else x)
    outputs = bind(batched, *held)
    return outputs, [0] * len(outputs)


primitive.def_impl(evaluate)
primitive.def_abstract_eval(abstract_eval)
mlir.register_lowering(primitive, refuse)
mlir.register_lowering(primitive, lower, platform="cpu")
ad.primitive_jvps[primitive] = jvp
ad.primitive_transposes[primitive] = transpose
batching.primitive_batchers[primitive] = batch
sharding.register(primitive)
