"""What XLA calls: an Op, given as text, on NumPy views of XLA's buffers (cpp/bindings/xla_call.cpp)."""

from __future__ import annotations

import _thread

import numpy as np

from ... import core
from ...arguments.arrays import Array
from ...core import xla
from ...ops.base import Op, PlannedOp, Spec
from ...ops.selection import Scatter, Select, SelectPool
from ...ops.serialize import loads
from . import fused as _fused  # noqa: F401  whose Ops may be in the text

# Codes of XLA's errors.
CANCELLED, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, INTERNAL = 1, 3, 8, 13
# What users call the Ops that look at their operands, and may refuse them.
CALLED = {"unpool": "max_unpool", "unpool_gather": "max_unpool"}


def start() -> None:
    import ml_dtypes  # JAX needs it too

    xla.set_evaluate(evaluate, np.dtype(ml_dtypes.bfloat16))


def evaluate(text: str, operands: tuple[Array, ...], results: tuple[Array, ...]) -> tuple[int, str] | None:
    """Compute an Op into ``results``; the code and the message of an error, if there is one."""
    name = "cenote"
    try:
        op = loads(text)
        name = CALLED.get(op.name, name)
        compute(text, op, operands, results)
    except KeyboardInterrupt:
        _thread.interrupt_main()  # XLA ends with an error, then Python gets its interrupt again
        return CANCELLED, "cenote: interrupted"
    except MemoryError as error:
        return RESOURCE_EXHAUSTED, f"{name}: not enough memory: {error}"
    except (ValueError, TypeError) as error:
        return INVALID_ARGUMENT, f"{name}: {error}"
    except BaseException as error:
        return INTERNAL, f"{name}: {type(error).__name__}: {error}"
    return None


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
