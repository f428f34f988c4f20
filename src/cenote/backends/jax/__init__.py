"""JAX arrays and tracers on the CPU: every Op is one primitive, compiled to a custom call of XLA's.

Nothing here imports JAX before one of its arrays comes in. ``primitive.py`` has the primitive and its rules,
``handler.py`` what XLA calls, ``start.py`` how the two come together, ``fold.py`` the generic pool.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...arguments.arrays import check_dtype
from ...arguments.errors import BadType, describe_type
from ...ops.base import Op, Spec
from ...ops.fold import Fold
from ..dispatch import register


class JaxBackend:
    name = "jax"

    def owns(self, kind: type) -> bool:
        jax = sys.modules.get("jax")
        if jax is None or not hasattr(jax, "Array"):  # or JAX is being imported just now
            return False
        return issubclass(kind, (jax.Array, jax.core.Tracer)) or hasattr(kind, "__jax_array__")

    def operand(self, x: Any, name: str) -> Any:
        jax = sys.modules["jax"]
        if hasattr(type(x), "__jax_array__") and not isinstance(x, jax.Array):  # a parameter of a network
            x = x.__jax_array__()
        if not isinstance(x, jax.Array):
            what = "a NumPy array" if type(x) is np.ndarray else describe_type(x)
            raise BadType(f"{name} is {what}, and another argument is a JAX array: pass jnp.asarray({name})")
        if not isinstance(x.dtype, np.dtype):  # the keys of random numbers
            raise BadType(f"{name} has dtype {x.dtype}, which is no dtype of numbers")
        check_dtype(x.dtype, name)
        if any(not isinstance(n, int) for n in x.shape):
            raise BadType(f"{name} has shape {x.shape}: export with numbers instead of symbols, windows need sizes")
        elsewhere = sorted(platforms_of(x) - {"cpu"})
        if elsewhere:
            raise BadType(
                f"{name} is on {elsewhere[0]}: cenote computes on the CPU, pass jax.device_put({name}, "
                'jax.devices("cpu")[0])'
            )
        return x

    def spec(self, x: Any) -> Spec:
        return Spec(x.shape, x.dtype)

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        from .primitive import bind

        return bind(op, *operands)

    def fold(self, x: Any, op: Fold) -> Any:
        from .fold import fold
        from .primitive import bind

        return fold(bind, x, op)


def platforms_of(x: Any) -> set[str]:
    """Where an array is; nowhere yet if it is a tracer."""
    if isinstance(x, sys.modules["jax"].core.Tracer):
        return set()
    return {device.platform for device in x.devices()}


register(JaxBackend())
