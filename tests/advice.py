"""Advice in messages: the call that one says to write, and arrays to follow it with."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

import cenote as cn
from cenote.arguments.errors import TO_SEE_IT
from cenote.arguments.hints import words

rng = np.random.default_rng(0)
NAMES: dict[str, Any] = {
    **{name: getattr(cn, name) for name in cn.__all__},
    "cn": cn,
    "np": np,
    "v": rng.standard_normal(20),
    "m": rng.standard_normal((6, 7)),
    "n": np.zeros((6, 7), int),
    "x": rng.standard_normal((2, 3, 8, 9)),
    "i": np.zeros((2, 3, 8, 9), int),
    "img": rng.integers(0, 256, (48, 64, 3), np.uint8),
    "b": rng.standard_normal((2, 16, 20, 3)),
    "c": rng.standard_normal((10, 10, 4)),
    "w": rng.standard_normal((3, 3, 4, 5)),
    "t": rng.standard_normal((3, 3, 5, 4)),
    "o": rng.standard_normal((5, 3, 3, 3)),
    "k": rng.standard_normal((3, 3)),
    "k1": rng.standard_normal(3),
    "f": lambda x: (x * x).sum(),
}


def advised(message: str) -> str | None:
    """The call that a message says to write: what draws a misfit only where there is no other."""
    before = message.partition(TO_SEE_IT)[0]
    message = before if "write " in before else message
    text = message.rpartition("write ")[2] if "write " in message else ""
    ends = [end for end in range(len(text), 0, -1) if text[end - 1] == ")"]
    for end in ends:
        try:
            ast.parse(text[:end], mode="eval")
        except SyntaxError:
            continue
        return text[:end]
    return None


def arguments_of(call: str) -> dict[str, Any]:
    """The arrays of a call by the names that an advised call has for them."""
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    positional = [node for node in tree.args if not isinstance(node, ast.UnaryOp)]  # -1, a depth
    given = [*positional, *(keyword.value for keyword in tree.keywords if keyword.arg in words.SYNONYMS["x"])]
    filters = [k.value for k in tree.keywords if k.arg in words.SYNONYMS["w"] | words.SYNONYMS["k"]]
    values = [eval(ast.unparse(node), dict(NAMES)) for node in given[:2] + filters]
    found = dict.fromkeys(("x", "y", "data"), values[0])
    if len(values) > 1:
        found |= dict.fromkeys(("w", "k"), values[-1]) | {"indices": values[1], "args": values[1]}
    return found


def follow(call: str, message: str) -> Any:
    text = advised(message)
    assert text is not None, message
    return eval(text, {**NAMES, **arguments_of(call)})
