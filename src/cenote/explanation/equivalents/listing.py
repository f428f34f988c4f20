"""The programs that a page offers to copy."""

from __future__ import annotations

from typing import Any

from ...arguments.arrays import Array
from ..calls import Call
from ..limits import DTYPES
from . import flax, mygrad, nabla, own, torch
from .common import Different, Problem

LIBRARIES = {"torch": torch.write, "flax": flax.write, "nabla": nabla.write, "mygrad": mygrad.write}


def equivalents(call: Call, cotangent: Array | None = None) -> list[dict[str, Any]]:
    """``[{"library", "code", "note"}, …]``; without a program ``code`` is None, and ``note`` says why."""
    problem = Problem(call)
    out: list[dict[str, Any]] = [{"library": "cenote", "code": own.write(problem, cotangent), "note": ""}]
    for name, write in LIBRARIES.items():
        try:
            check(problem, name)
            code, note = write(problem)
            out.append({"library": name, "code": code, "note": note})
        except Different as reason:
            out.append({"library": name, "code": None, "note": str(reason)})
    return out


def check(problem: Problem, library: str) -> None:
    """What no other library is asked for."""
    if problem.y is None:
        raise Different("the shapes do not fit")
    if problem.arguments.get("dtype") is not None:
        raise Different(f"{library} has nothing like dtype=")
    for array in (problem.x, problem.w):
        if array is not None and str(array.dtype) not in DTYPES:
            raise Different(f"{library} has other rules for {array.dtype}")
