"""The handler through which XLA calls Ops (cpp/bindings/xla_call.cpp), and the calls that it makes without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .. import _core
from ..arguments.arrays import Array
from ..dtypes import DType, code_of, is_complex
from ..geometry.axes import Geometry
from .indexing import MOVED
from .plans import Plan, core_axes

# evaluate(text, operands, results): None, or the code and the message of an error.
Evaluate: TypeAlias = Callable[[str, tuple[Array, ...], tuple[Array, ...]], tuple[int, str] | None]

# NumPy's dtypes by XLA's numbers.
DTYPES = {
    1: "?", 2: "i1", 3: "i2", 4: "i4", 5: "i8", 6: "u1", 7: "u2", 8: "u4", 9: "u8",
    10: "f2", 11: "f4", 12: "f8", 15: "c8", 18: "c16",
}  # fmt: skip
BFLOAT16 = 16

handler = _core.xla_handler  # a capsule


def set_evaluate(evaluate: Evaluate, bfloat16: DType) -> None:
    """Which function the handler calls."""
    dtypes: dict[int, Any] = {number: np.dtype(name) for number, name in DTYPES.items()}
    _core.xla_start(evaluate, {**dtypes, BFLOAT16: bfloat16})


def register_plan(text: str, plan: Plan, dtype: DType, argmax: DType | None) -> None:
    """From now on the handler runs a plan where it sees this text, on arrays of this dtype."""
    if not is_complex(dtype):  # which the core sees as pairs, with one more axis
        _core.xla_insert_pool(text, plan.pool, None if argmax is None else code_of(argmax))


def register_move(text: str, geometry: Geometry, dtype: DType, offsets: DType, backwards: bool) -> None:
    """The same for a gather or, backwards, a scatter-add."""
    if dtype in MOVED:
        _core.xla_insert_move(text, core_axes(geometry), code_of(dtype), code_of(offsets), backwards)
