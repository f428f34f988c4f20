"""Which array library a call belongs to, and what its backend has to provide.

A backend interprets Ops on the arrays of one library. It is recognised by the type of an array, and a library is
imported only when one of its arrays comes in.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..arguments.arrays import Array, as_array
from ..ops.base import Op, Spec


class Backend(Protocol):
    """One array library.

    It may have ``fold(x, op)`` for the generic pool, whose functions of arrays may be the library's own, and
    ``trace(f, primals, forward)`` if the library itself differentiates functions of its arrays,
    ``check_alike(arrays)`` if they cannot take part in a call of Tensors, and ``numpy_dtype(given)`` if it has dtypes
    of its own: None for anything else.
    """

    name: str

    def owns(self, kind: type) -> bool:
        """Whether arrays of this type are the library's."""

    def operand(self, x: Any, name: str) -> Any:
        """What a user passed for the argument ``name``, as an array that Ops can be computed on."""

    def spec(self, x: Any) -> Spec:
        """The shape and NumPy dtype of an operand."""

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        """The outputs of an Op."""


class NumPyBackend:
    """NumPy arrays, and whatever can be made one: lists, numbers, buffers."""

    name = "numpy"

    def owns(self, kind: type) -> bool:
        return kind is np.ndarray

    def operand(self, x: Any, name: str) -> Array:
        return as_array(x, name)

    def spec(self, x: Any) -> Spec:
        return Spec(x.shape, x.dtype)

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        return op.evaluate(*operands)


NUMPY = NumPyBackend()
# Those of other libraries, the outermost first: an array that records what is done with another library's arrays comes
# before that library.
BACKENDS: list[Backend] = []
OF_TYPE: dict[type, Backend] = {np.ndarray: NUMPY}
MOST_TYPES = 1024


def register(backend: Backend, first: bool = False) -> None:
    """Add the backend of a library."""
    BACKENDS.insert(0 if first else len(BACKENDS), backend)
    forget_types()


def unregister(backend: Backend) -> None:
    BACKENDS.remove(backend)
    forget_types()


def forget_types() -> None:
    OF_TYPE.clear()
    OF_TYPE[np.ndarray] = NUMPY


def backend_of_type(kind: type) -> Backend:
    found = next((backend for backend in BACKENDS if backend.owns(kind)), NUMPY)
    if len(OF_TYPE) >= MOST_TYPES:  # types that a program makes without end
        forget_types()
    OF_TYPE[kind] = found
    return found


def dispatch(*arrays: Any) -> Backend:
    """The backend of a call with these arrays; None stands for an array that was left out."""
    if len(arrays) == 1:
        kind = type(arrays[0])
        return OF_TYPE.get(kind) or backend_of_type(kind)
    chosen: Backend = NUMPY
    for x in arrays:
        kind = type(x)
        found = OF_TYPE.get(kind) or backend_of_type(kind)
        if found is not NUMPY and (chosen is NUMPY or BACKENDS.index(found) < BACKENDS.index(chosen)):
            chosen = found
    return chosen


def is_foreign(x: object) -> bool:
    """Whether this is an array of another library, neither NumPy's nor a Tensor."""
    kind = type(x)
    return kind is not np.ndarray and (OF_TYPE.get(kind) or backend_of_type(kind)).name not in ("numpy", "tensor")


def numpy_dtype(given: object) -> object:
    """The NumPy dtype of a dtype of another library; anything else as it is."""
    for backend in BACKENDS:
        convert = getattr(backend, "numpy_dtype", None)
        found = None if convert is None else convert(given)
        if found is not None:
            return found
    return given


def operand(x: Any, name: str = "x") -> Any:
    """What a user passed, as an array of the library that it is of."""
    return dispatch(x).operand(x, name)


def bind(op: Op, *operands: Any) -> tuple[Any, ...]:
    """The outputs of an Op on arrays of any library."""
    for x in operands:
        if type(x) is not np.ndarray:
            return dispatch(*operands).bind(op, *operands)
    return op.evaluate(*operands)
