"""The programs that the page offers to copy."""

from __future__ import annotations

from typing import Any

from ...explanation.explanation import Explanation
from ..state import Request
from . import flax, mygrad, nabla, own, torch
from .common import Different, Problem

LIBRARIES = {"torch": torch.write, "flax": flax.write, "nabla": nabla.write, "mygrad": mygrad.write}


def equivalents(request: Request, explanation: Explanation) -> list[dict[str, Any]]:
    """``[{"library", "code", "note"}, …]``; without a program ``code`` is None, and ``note`` says why."""
    problem = Problem(request, explanation)
    out: list[dict[str, Any]] = [{"library": "cenote", "code": own.write(problem), "note": ""}]
    for name, write in LIBRARIES.items():
        try:
            if explanation.y is None:
                raise Different("the window does not fit")
            code, note = write(problem)
            out.append({"library": name, "code": code, "note": note})
        except Different as reason:
            out.append({"library": name, "code": None, "note": str(reason)})
    return out
