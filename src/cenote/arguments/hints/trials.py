"""An advised call, tried without computing anything: what it would be refused for is known before it is given.

Arrays take part by their shapes and dtypes only: a backend gives what each Op says of its result.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from ..arrays import as_array, check_dtype
from ..errors import Cause

PACKAGE = __name__.partition(".")[0]
OPERANDS = ("x", "y", "w", "k", "bias", "indices")


class Promised:
    """An array of which only this is known."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)


class TrialBackend:
    name = "trial"

    def __init__(self, spec: Callable[..., Any]) -> None:
        self._spec = spec

    def owns(self, kind: type) -> bool:
        return kind is Promised

    def operand(self, x: Any, name: str) -> Any:
        if not isinstance(x, Promised):
            return as_array(x, name)
        check_dtype(x.dtype, name)
        return x

    def spec(self, x: Any) -> Any:
        return self._spec(x.shape, x.dtype)

    def bind(self, op: Any, *operands: Any) -> tuple[Any, ...]:
        return tuple(Promised(*spec) for spec in op.infer(*map(self.spec, operands)))


def refused(
    function: Callable[..., Any], given: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> Cause | None:
    """What is wrong with a call of a public function, or None if it works, or if that is unknown.

    ``shapes`` are those of operands that are written in another way than they were given.
    """
    parameters = inspect.signature(function).parameters
    if not {"x", "y", "shape"} & set(parameters) or not function.__module__.startswith(f"{PACKAGE}.api"):
        return None
    try:
        tried = {name: promised(name, value, shapes) for name, value in given.items() if name != "out"}
        fn = tried.get("reduce_fn")
        if callable(fn) and not isinstance(fn, np.ufunc):  # the user's own is not called
            tried["reduce_fn"] = np.add
        inspect.unwrap(function)(**tried)
    except Cause as cause:
        return cause
    except Exception:  # sizes that are not known yet, arrays that cannot be asked
        return None
    return None


def promised(name: str, value: Any, shapes: Mapping[str, tuple[int, ...]]) -> Any:
    """The same argument, without data."""
    if name not in OPERANDS or value is None or isinstance(value, Promised):
        return value
    backend = import_module(f"{PACKAGE}.backends.dispatch").dispatch(value)
    spec = backend.spec(backend.operand(value, name))
    return Promised(shapes.get(name, spec.shape), spec.dtype)


def register() -> None:
    # The backends stand above this layer, and look at arrays long after it was imported.
    dispatch = import_module(f"{PACKAGE}.backends.dispatch")
    dispatch.register(TrialBackend(import_module(f"{PACKAGE}.ops.base").Spec))


register()
