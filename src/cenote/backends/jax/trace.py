"""cenote's own vjp, jvp, linearize and grad on JAX arrays: JAX differentiates, of whatever f is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...arguments.errors import Argument, BadType, BadValue, describe_type, format_value
from ...dtypes import DType, is_complex, is_differentiable
from ...ops.base import Spec

Operand = Callable[[Any, str], Any]


class JaxTrace:
    """One run of a function, as :class:`cenote.autodiff.trace.Trace` is: its outputs, and the two ways back."""

    def __init__(self, operand: Operand, f: Callable[..., Any], primals: Sequence[Any], forward: bool) -> None:
        if not callable(f):
            raise BadType(Argument("f"), f"={format_value(f)} is {describe_type(f)}: a function is needed")
        self.operand = operand
        self.primals = [operand(p, f"primals[{i}]") for i, p in enumerate(primals)]
        self.variable = [i for i, x in enumerate(self.primals) if is_differentiable(x.dtype)]  # others are constants

        def of_variables(*values: Any) -> list[Any]:
            full = list(self.primals)
            for i, value in zip(self.variable, values, strict=True):
                full[i] = value
            y = f(*full)
            self.many = isinstance(y, (tuple, list))
            return [operand(jnp.asarray(out), "the output of f") for out in (y if self.many else (y,))]

        transform = jax.linearize if forward else jax.vjp
        try:
            self.values, self.derivative = transform(of_variables, *(self.primals[i] for i in self.variable))
        except jax.errors.TracerArrayConversionError:
            raise BadType(
                Argument("f"), " gives JAX arrays to functions of NumPy: write it with jax.numpy where it has NumPy"
            ) from None
        self.forms = [Spec(value.shape, value.dtype) for value in self.values]
        self.ends: list[Any] = []

    def hand_over(self) -> Any:
        return tuple(self.values) if self.many else self.values[0]

    def transpose(self, g: Any) -> tuple[Any, ...]:
        parts = g if self.many else (g,)
        if self.many and (not isinstance(g, (tuple, list)) or len(g) != len(self.forms)):
            raise BadValue(f"g must be a tuple of {len(self.forms)}, one for each output of ", Argument("f"))
        names = [f"g[{i}]" if self.many else "g" for i in range(len(self.forms))]
        held = [self.fitted(*given, "the output of f") for given in zip(parts, self.forms, names, strict=True)]
        cotangents = self.derivative(held)
        return self.spread(cotangents)

    def apply(self, tangents: Sequence[Any]) -> Any:
        if len(tangents) != len(self.primals):
            raise BadValue(f"{len(tangents)} tangents for {len(self.primals)} primals: give one for each")
        held = []
        for i, (t, x) in enumerate(zip(tangents, self.primals, strict=True)):
            if i in self.variable:
                held.append(self.fitted(t, Spec(x.shape, x.dtype), f"tangents[{i}]", f"primals[{i}]"))
            elif is_nonzero(t):
                raise BadValue(f"tangents[{i}] is not zero, but primals[{i}] is an array of {x.dtype}, a constant")
        found = self.derivative(*held)
        out = tuple(
            t if is_differentiable(form.dtype) else zeros(form) for t, form in zip(found, self.forms, strict=True)
        )
        return out if self.many else out[0]

    def spread(self, cotangents: Sequence[Any]) -> tuple[Any, ...]:
        """One cotangent for each primal."""
        out = [zeros(Spec(x.shape, x.dtype)) for x in self.primals]
        for i, cotangent in zip(self.variable, cotangents, strict=True):
            out[i] = cotangent
        return tuple(out)

    def fitted(self, given: Any, form: Spec, name: str, of: str) -> Any:
        """A tangent or cotangent with the shape and dtype of what it belongs to."""
        plain = isinstance(given, (np.ndarray, np.generic, Number))
        held = self.operand(jnp.asarray(given) if plain else given, name)
        if held.shape != form.shape:
            raise BadValue(f"{name} has shape {held.shape}, {of} has {form.shape}: they must agree")
        if not is_differentiable(form.dtype):
            return np.zeros(form.shape, jax.dtypes.float0)
        if is_complex(held.dtype) and not is_complex(form.dtype):
            raise BadType(f"{name} has dtype {held.dtype}, {of} is real: its imaginary part would be lost")
        return held.astype(form.dtype)


def is_nonzero(t: Any) -> bool:
    """Of the tangent of a constant; a tracer has no values to look at, and float0 stands for zeros."""
    if isinstance(t, jax.core.Tracer) or getattr(t, "dtype", None) == jax.dtypes.float0:
        return False
    return bool(np.any(t))


def zeros(form: Spec) -> Any:
    dtype: DType = form.dtype if is_differentiable(form.dtype) else np.dtype(np.float64)
    return jnp.zeros(form.shape, jax.dtypes.canonicalize_dtype(dtype))
