"""JAX arrays and tracers on the CPU: every Op is one primitive, compiled to a custom call of XLA's.

Nothing here imports JAX before one of its arrays comes in. ``primitive.py`` has the primitive and its rules,
``handler.py`` what XLA calls, ``start.py`` how the two come together, ``fold.py`` the generic pool, ``trace.py``
cenote's own transformations.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arguments.arrays import library_of
from ...arguments.errors import BadType, describe_type
from ...dtypes import is_known
from ...ops.base import Op, Spec
from ...ops.fold import Fold
from ..dispatch import register
from . import start

# What JAX has besides arrays that looks like one.
NOT_ARRAYS = {
    "ShapeDtypeStruct": "has no data: jax.eval_shape(f, {}) gives the shape and dtype of f's result",
    "Ref": "is mutable: pass {}[...]",
    **dict.fromkeys(("BCOO", "BCSR", "COO", "CSC", "CSR"), "is sparse: pass {}.todense()"),
}


class JaxBackend:
    name = "jax"

    def owns(self, kind: type) -> bool:
        jax = sys.modules.get("jax")
        if jax is None or not hasattr(jax, "Array"):  # or JAX is being imported just now
            return False
        if issubclass(kind, (jax.Array, jax.core.Tracer)) or hasattr(kind, "__jax_array__"):
            return True
        return kind.__name__ in NOT_ARRAYS and kind.__module__.partition(".")[0] == "jax"

    def operand(self, x: Any, name: str) -> Any:
        jax = sys.modules["jax"]
        convert = None if isinstance(x, jax.Array) else getattr(x, "__jax_array__", None)
        if convert is not None:  # a parameter of a network
            x = convert()
        if not isinstance(x, jax.Array):
            raise BadType(refusal(x, name))
        if not isinstance(x.dtype, np.dtype):  # the keys of random numbers
            raise BadType(f"{name} has dtype {x.dtype}, which is no dtype of numbers")
        if not is_known(x.dtype):  # those of fewer than 8 bits, and other formats of 8
            raise BadType(f"{name} has dtype {x.dtype}, which is not supported: pass {name}.astype(jnp.float32)")
        if any(not isinstance(n, int) for n in x.shape):
            raise BadType(f"{name} has shape {x.shape}: export with numbers instead of symbols, windows need sizes")
        elsewhere = sorted(platforms_of(x) - {"cpu"})
        if elsewhere:
            raise BadType(
                f"{name} is on {elsewhere[0]}: cenote computes on the CPU, pass jax.device_put({name}, "
                'jax.devices("cpu")[0])'
            )
        return x

    def check_alike(self, held: Sequence[Any]) -> None:
        """Of the arrays of one call, some of them in Tensors."""
        if any(type(x) is np.ndarray for x in held):
            raise BadType(
                "JAX arrays and NumPy arrays, in a Tensor or not, take part in one call: make all of them NumPy arrays "
                "with np.asarray, or use JAX arrays and jax.grad"
            )

    def spec(self, x: Any) -> Spec:
        return Spec(x.shape, x.dtype)

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        outputs: tuple[Any, ...] = primitives().bind(op, *operands)
        return outputs

    def fold(self, x: Any, op: Fold) -> Any:
        bind = primitives().bind
        from .fold import fold

        return fold(bind, x, op)

    def trace(self, f: Any, primals: Any, forward: bool) -> Any:
        primitives()
        from .trace import JaxTrace

        return JaxTrace(self.operand, f, primals, forward)


def primitives() -> Any:
    """The module with the primitive; an error if this JAX lacks what it is made of."""
    start.check_version()
    try:
        from . import primitive
    except (ImportError, AttributeError, TypeError) as error:
        start.refuse(f"its Python interface is another one ({type(error).__name__}: {error})")
    return primitive


def refusal(x: Any, name: str) -> str:
    """What to pass for something that is no array of JAX's."""
    kind = type(x).__name__
    if isinstance(x, sys.modules["jax"].core.Tracer):
        kind = type(x.aval).__name__.removeprefix("Abstract")
    if kind in NOT_ARRAYS and type(x).__module__.partition(".")[0] == "jax":
        return f"{name} is a {kind}, which {NOT_ARRAYS[kind].format(name)}"
    what, array = describe_type(x), name
    if type(x) is np.ndarray:
        what = "a NumPy array"
    elif library_of(type(x)) == "torch":
        what, array = "a torch Tensor", f"{name}.detach().cpu().numpy()"
    return f"{name} is {what}, and another argument is a JAX array: pass jnp.asarray({array})"


def platforms_of(x: Any) -> set[str]:
    """Where an array is; nowhere yet if it is a tracer."""
    if isinstance(x, sys.modules["jax"].core.Tracer):
        return set()
    return {device.platform for device in x.devices()}


register(JaxBackend())
