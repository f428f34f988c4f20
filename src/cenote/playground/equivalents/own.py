"""The call itself."""

from __future__ import annotations

import numpy as np

from ..parsing import edited
from ..state import Request
from .common import Problem, array_text, call_text, program, value_text

FIRST = ("window", "output_size", "init", "reduce_fn")  # arguments that are written without their names


def write(problem: Problem) -> str:
    request = problem.request
    operands = {"x": problem.x, "w": problem.w, "bias": problem.bias}
    given = {name: array for name, array in operands.items() if array is not None}
    lines = ["import numpy as np", "import cenote as cn", ""]
    lines += [array_text(name, array) for name, array in given.items()]
    lines.append(f"y = {call(request)}")
    y = problem.explanation.y
    if request.gradient and y is not None and request.op != "mode_pool":
        g = edited("g", np.ones(y.shape), request.cotangent)
        names = ", ".join(given)
        lines += ["", array_text("g", g), f"y, pull = cn.vjp(lambda {names}: {call(request)}, {names})"]
        lines.append(f"({', '.join('d' + name for name in given)},) = pull(g)")
    return program(*lines)


def call(request: Request) -> str:
    """``cn.max_pool(x, (3, 3), stride=2)``"""
    given = request.given
    operands = ["x"] if request.w is None else ["x", "w"]
    plain = [value_text(given[name]) for name in FIRST if name in given]
    named = {name: value_text(value) for name, value in given.items() if name not in (*FIRST, "bias")}
    if request.bias is not None:
        named["bias"] = "bias"
    return call_text(f"cn.{request.op}", *operands, *plain, **named)
