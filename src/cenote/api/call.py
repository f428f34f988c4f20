"""From a user's call to an Op and back: what every public function does with its data, ``dtype`` and ``out``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import core
from ..arguments.arrays import Array
from ..arguments.errors import BadType, BadValue, describe_type, format_value, hints, pluralize
from ..backends import libraries as _libraries  # noqa: F401  which registers them
from ..backends.dispatch import NUMPY, Backend, dispatch, numpy_dtype
from ..cache import LIMIT
from ..dtypes import DType, is_bool, is_complex, is_known, native
from ..geometry.window import by_arguments
from ..ops.base import Op, Spec, WindowOp

OpOf = Callable[[Spec], Op]


def call(
    parse: Callable[..., OpOf],
    x: Any,
    given: tuple[Any, ...],
    out: Any = None,
    calls: core.CallCache | None = None,
) -> tuple[Any, ...]:
    """The outputs of the Op that ``parse(*given)`` makes for the shape and dtype of ``x``.

    The Op is kept for equal arguments, and the call in ``calls``. Of several mistakes that of an argument is reported,
    not that of the data.
    """
    backend = dispatch(x)
    plain = None
    if out is None and calls is not None and backend is not NUMPY:
        other: Any = backend
        plain = other.plain(x) if hasattr(other, "plain") else None
        known = None if plain is None else calls.lookup(plain, given)
        if known is not None:
            return (other.from_plain(known),)
    try:
        data = backend.operand(x, "x")
    except (BadType, BadValue):
        parse(*given)
        data = backend.operand(x, "x")
    op = by_arguments(make_op, (parse, backend.spec(data)), given, size_in_cache)
    outputs = backend.bind(op, data) if out is None else finish(backend, op, (data,), out)
    if calls is not None:
        array = data if plain is None else plain
        if type(array) is np.ndarray:
            remember(calls, array, given, op)
    return outputs


def make_op(parse: Callable[..., OpOf], spec: Spec, *given: Any) -> Op:
    """The Op of a call, and a warning if it is hardly what was meant."""
    op = parse(*given)(spec)
    if isinstance(op, WindowOp) and is_doubtful(op):
        hints().warn_of_colours(op.geometry.shape)
    return op


def is_doubtful(op: Op) -> bool:
    return isinstance(op, WindowOp) and op.geometry.over_colours


def size_in_cache(op: Op) -> int:
    """What warns is not kept: an equal call on another line of the user's is to warn there."""
    return LIMIT if is_doubtful(op) else 0


def remember(calls: core.CallCache, x: Array, given: tuple[Any, ...], op: Any) -> None:
    """Let the next call with equal arguments, on an array of the same shape and dtype, go straight to the core."""
    if is_doubtful(op) or getattr(op, "argmax", None):
        return
    plan = op.plan_for(x.dtype)
    if plan is not None and plan.direct:
        calls.insert(x, given, plan.pool, plan.out_shape, plan.result)


def finish(backend: Backend, op: Op, operands: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
    """The outputs of an Op, in ``out`` if that is given."""
    if out is None:
        return backend.bind(op, *operands)
    targets = check_out(out, op.infer(*map(backend.spec, operands)), operands, backend)
    plan = op.plan_for(operands[0].dtype) if isinstance(op, WindowOp) else None
    if plan is not None and core.run_into(operands[0], plan, targets):
        return targets
    for target, output in zip(targets, backend.bind(op, *operands), strict=True):
        np.copyto(target, output)
    return targets


# -------------------------------------------------------------------------------------------------- dtype=


def parse_dtype(given: object) -> DType | None:
    """The argument ``dtype`` of a result."""
    if given is None:
        return None
    given = numpy_dtype(given)
    if not isinstance(given, (np.dtype, type, str)):
        raise BadType(f"dtype={format_value(given)}: a NumPy dtype is needed, not {describe_type(given)}")
    try:
        dtype = np.dtype(given)
    except Exception:  # whatever NumPy finds wrong with it
        raise BadType(f"dtype={format_value(given)} is no dtype of NumPy's") from None
    if is_bool(dtype) or not is_known(dtype):
        raise BadType(
            f"dtype={format_value(given)}: an integer type, float16, bfloat16, float32, float64, complex64 or "
            "complex128 "
            "is needed"
        )
    return native(dtype)


def result_dtype(natural: DType, wanted: DType | None) -> DType:
    """The dtype of a result that would be ``natural``, where a ``dtype`` may have been given."""
    if wanted is None:
        return natural
    if is_complex(natural) != is_complex(wanted):
        have, need = ("complex", "complex64 or complex128") if is_complex(natural) else ("real", "a real dtype")
        raise BadType(f"dtype={format_value(str(wanted))}: the result is {have}, {need} is needed")
    return wanted


# ---------------------------------------------------------------------------------------------------- out=


def check_out(out: object, specs: tuple[Spec, ...], operands: tuple[Any, ...], backend: Backend) -> tuple[Array, ...]:
    """The argument ``out`` as arrays that the outputs fit."""
    if backend is not NUMPY:
        raise BadType("out is for NumPy arrays only: leave it out")
    arrays = out if isinstance(out, tuple) else (out,)
    if len(arrays) != len(specs):
        have = pluralize(len(arrays), "array", "arrays")
        need = "the result is 1: give an array" if len(specs) == 1 else "return_indices=True gives 2: give a pair"
        raise BadValue(f"out has {have}, {need}")
    for array, spec in zip(arrays, specs, strict=True):
        if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
            raise BadType(f"out is {describe_type(array)}: a NumPy array is needed")
        if array.shape != spec.shape or array.dtype != spec.dtype:
            raise BadValue(
                f"out has shape {array.shape} and dtype {array.dtype}, the result has shape {spec.shape} and dtype "
                f"{spec.dtype}"
            )
        if not array.flags.writeable:
            raise BadValue("out is read-only")
        if any(isinstance(x, np.ndarray) and np.shares_memory(array, x) for x in operands):
            raise BadValue("out shares memory with an operand: give an array of its own")
    if len(arrays) == 2 and np.shares_memory(*arrays):
        raise BadValue("out is a pair of arrays that share memory: give two of their own")
    return arrays
