"""For JAX: ``import cenote.jax`` registers cenote's operations with XLA.

Functions of cenote do it themselves, the first time that one is compiled. A program that was exported or compiled in
another process does not call them:

>>> import jax, jax.numpy as jnp, numpy as np
>>> import cenote as cn, cenote.jax
>>> f = jax.jit(lambda x: cn.max_pool(x, (2,)))
>>> custom_calls = [jax.export.DisabledSafetyCheck.custom_call(cenote.jax.TARGET)]
>>> shape = jax.ShapeDtypeStruct((6,), np.float32)
>>> data = jax.export.export(f, disabled_checks=custom_calls)(shape).serialize()
>>> jax.export.deserialize(data).call(jnp.arange(6.0))
Array([1., 3., 5.], dtype=float32)

``TARGET`` is the name of the custom call. What it computes is part of the program, as text, and is checked when it is
read: a program of another version of cenote runs, or ends with an error.
"""

from __future__ import annotations

from .backends.jax.start import TARGET, start

__all__ = ["TARGET"]

try:
    start()
except (RuntimeError, TypeError) as refusal:
    raise ImportError(str(refusal)) from None
