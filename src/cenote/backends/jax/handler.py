"""What XLA calls: an Op, given as text, on NumPy views of XLA's buffers (cpp/bindings/xla_call.cpp)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ... import core
from ...arguments.arrays import Array
from ...core import xla
from ...ops.base import Op, PlannedOp, Spec
from ...ops.selection import Scatter, Select, SelectPool
from ...ops.serialize import loads
from . import fused as _fused  # noqa: F401  whose Ops may be in the text

# Codes of XLA's errors.
INVALID_ARGUMENT, RESOURCE_EXHAUSTED, INTERNAL = 3, 8, 13
INTERRUPTED = 0  # no error: the results are there, and the user has pressed Ctrl-C meanwhile
# What users call the Ops that look at their operands, and may refuse them.
CALLED = {"unpool": "max_unpool", "unpool_gather": "max_unpool"}


def start() -> None:
    import ml_dtypes  # JAX needs it too

    xla.set_evaluate(evaluate, np.dtype(ml_dtypes.bfloat16))


def evaluate(text: str, operands: tuple[Array, ...], results: tuple[Array, ...]) -> tuple[int, str] | None:
    """Compute an Op into ``results``; the code and the message of an error, if there is one."""
    with interrupts_deferred() as interrupts:
        error = error_of(text, operands, results)
    return error or ((INTERRUPTED, "") if interrupts else None)


def error_of(text: str, operands: tuple[Array, ...], results: tuple[Array, ...]) -> tuple[int, str] | None:
    name = "cenote"
    try:
        op = loads(text)
        name = CALLED.get(op.name, name)
        compute(text, op, operands, results)
    except MemoryError as error:
        return RESOURCE_EXHAUSTED, f"{name}: not enough memory: {error}"
    except (ValueError, TypeError) as error:
        return INVALID_ARGUMENT, f"{name}: {error}"
    except Exception as error:
        return INTERNAL, f"{name}: {type(error).__name__}: {error}"
    return None


@contextmanager
def interrupts_deferred() -> Iterator[list[int]]:
    """On Python's main thread, collect interrupts instead of raising KeyboardInterrupt.

    XLA would make an error of its own of that. The caller interrupts Python again when XLA's frames are left.
    """
    came: list[int] = []
    before: Any = None
    if threading.get_ident() == threading.main_thread().ident:
        before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # another thread, or interrupts have no effect, or not one of Python's
        yield came
        return
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def compute(text: str, op: Op, operands: tuple[Array, ...], results: tuple[Array, ...]) -> None:
    specs = op.infer(*(Spec(x.shape, x.dtype) for x in operands))
    if [spec.shape for spec in specs] != [result.shape for result in results]:
        raise ValueError(f"results of shapes {[result.shape for result in results]} for {op}")
    if [spec.dtype for spec in specs] == [result.dtype for result in results]:
        register(text, op, operands)
    with np.errstate(all="ignore"):
        outputs = op.evaluate(*operands)
    for result, output in zip(results, outputs, strict=True):
        np.copyto(result, core.convert(output, result.dtype))  # to 32 bits where x64 is off


def register(text: str, op: Op, operands: tuple[Array, ...]) -> None:
    """If a single call of the core computes the Op, the next calls run without Python."""
    dtype = operands[0].dtype
    if isinstance(op, (Select, Scatter)) and dtype == op.after:
        xla.register_move(text, op.geometry, dtype, operands[1].dtype, isinstance(op, Scatter))
    elif isinstance(op, PlannedOp):
        plan = op.plan_for(dtype)
        if plan is not None:
            xla.register_plan(text, plan, dtype, op.argmax_dtype if isinstance(op, SelectPool) else None)
