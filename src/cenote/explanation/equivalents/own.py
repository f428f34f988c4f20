"""The call itself."""

from __future__ import annotations

from ...arguments.arrays import Array
from ..calls import Call
from .common import Problem, array_text, call_text, is_function, program, value_text

FIRST = ("window", "output_size", "init", "reduce_fn")  # arguments that are written without their names


def write(problem: Problem, cotangent: Array | None) -> str:
    """With a cotangent, its vector-Jacobian product too."""
    operands = {"x": problem.x, "w": problem.w, "bias": problem.bias}
    given = {name: array for name, array in operands.items() if array is not None}
    lines = ["import numpy as np", "import cenote as cn", ""]
    lines += [array_text(name, array) for name, array in given.items()]
    lines += [f"# {name}: your function" for name, value in problem.call.given.items() if is_function(value)]
    text = call(problem.call)
    lines.append(f"y = {text}")
    if cotangent is not None:
        names = ", ".join(given)
        lines += ["", array_text("g", cotangent), f"y, pull = cn.vjp(lambda {names}: {text}, {names})"]
        lines.append(f"({', '.join('d' + name for name in given)},) = pull(g)")
    return program(*lines)


def call(of: Call) -> str:
    """``cn.max_pool(x, (3, 3), stride=2)``"""
    operands = ["x"] if of.w is None else ["x", "w"]
    given = {name: name if is_function(value) else value_text(value) for name, value in of.given.items()}
    if of.arguments.get("bias") is not None:
        given["bias"] = "bias"
    plain = [given.pop(name) for name in FIRST if name in given]
    return call_text(f"cn.{of.op}", *operands, *plain, **given)
