"""Several devices: inside of shard_map, operands of one call must vary over the same axes of the mesh; and where
shardings are part of types, a cotangent has that of what it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

typeof = getattr(jax, "typeof", None) or jax.core.get_aval  # before 0.6


def varying_axes(x: Any) -> frozenset[Any]:
    """The axes of the mesh over which an array differs between devices."""
    aval = typeof(x)
    if hasattr(aval, "mat"):
        return frozenset(aval.mat.varying)
    return frozenset(getattr(aval, "vma", ()))


def vary_alike(operands: Sequence[Any]) -> Sequence[Any]:
    """Replicated operands as ones that vary as the others do."""
    if len(operands) < 2:
        return operands
    axes = [varying_axes(x) for x in operands]
    every = frozenset().union(*axes)
    return [x if of == every else varied(x, tuple(every - of)) for x, of in zip(operands, axes, strict=True)]


def varied(x: Any, axes: tuple[Any, ...]) -> Any:
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(x, axes, to="varying")
    return jax.lax.pvary(x, axes)


def placed_as(x: Any, aval: Any) -> Any:
    """A cotangent with the sharding that its type must have, on a mesh of explicit axes."""
    wanted = getattr(aval, "sharding", None)
    if wanted is None or x is None or typeof(x).sharding.spec == wanted.spec:
        return x
    return jax.sharding.reshard(x, wanted)


def register(primitive: Any) -> None:
    """Let shard_map know a primitive whose results vary as its operands do. Before 0.6 it asks for such rules."""
    if hasattr(jax.lax, "pvary") or hasattr(jax.lax, "pcast"):
        return
    from jax.experimental import shard_map

    shard_map.register_standard_check(primitive)
    shard_map.register_standard_rewrite(primitive)
