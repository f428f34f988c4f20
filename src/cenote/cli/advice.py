"""Errors in the words of the command: calls of ``explain`` that they advise are commands."""

from __future__ import annotations

import ast
import contextlib
import re
import shlex

ADVICE = re.compile(r"[;:] (?P<lead>(?:to see it, )?)write (?:cn\.)?(?P<call>explain\(.*)$")
# What is not written; of a convolution the stride 1, too.
DEFAULTS = {
    "stride": None, "padding": 0, "dilation": 1, "ceil_mode": False, "count_include_pad": True, "groups": 1,
    "layout": "channels_last", "axes": None, "dtype": None,
}  # fmt: skip
SECOND = {"conv": "filter", "conv_transpose": "filter"}  # what the second argument is called; else the window
# How the arguments of explain itself are called, or its methods and theirs.
WORDS = {"x=(": "--shape (", "view='gradient'": "--gradient"}


def in_the_shell(text: str, source: str | None = None) -> str:
    """The text of an error, whose data are in the file ``source``, if they are in one."""
    text = text.removeprefix("explain: ")
    for word, flag in WORDS.items():
        text = text.replace(word, flag) if text.startswith(word) else text
    found = ADVICE.search(text)
    if found is None:
        return text
    node, rest = first_call(found["call"])
    command = as_command(node, source)
    # What follows a call would be taken for arguments of the command, which names the axes anyway.
    condition = re.match(r" (if [^()]*\([^)]*\))", rest)
    lead = f"{condition[1]}, " if condition else found["lead"]
    return text[: found.start()] + (f"; {lead}write {command}" if command else "")


def first_call(text: str) -> tuple[ast.expr | None, str]:
    """The call that a text begins with, and what follows it."""
    for end in (i + 1 for i, character in enumerate(text) if character == ")"):
        with contextlib.suppress(SyntaxError):
            return ast.parse(text[:end], mode="eval").body, text[end:]
    return None, text


def as_command(node: ast.expr | None, source: str | None) -> str | None:
    """``cenote explain max --shape 4 --window 3``; None if there is no such command."""
    if not isinstance(node, ast.Call) or len(node.args) not in (2, 3):
        return None
    op, data, *second = node.args
    try:
        name = ast.literal_eval(op)
        named = isinstance(data, ast.Name)
        if named and source is None:
            return None
        parts = ["--input", shlex.quote(str(source))] if named else ["--shape", written(ast.literal_eval(data))]
        given = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
        if second:
            kind = "output_size" if name.startswith("adaptive") else SECOND.get(name, "window")
            given = {kind: ast.literal_eval(second[0]), **given}
        defaults = DEFAULTS | ({"stride": 1} if name in SECOND else {})
        for key, value in given.items():
            if key not in defaults or value != defaults[key]:
                parts += flag(key, value)
    except (ValueError, TypeError):
        return None
    return " ".join(["cenote", "explain", name, *parts])


def flag(name: str, value: object) -> list[str]:
    if name == "ceil_mode":
        return ["--ceil-mode"]
    if name == "count_include_pad":
        return ["--count-exclude-pad"]
    text, name = written(value), name.replace("_", "-")
    return [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]


def written(value: object) -> str:
    """``2,3``, and ``0:1,2:2`` for pairs."""
    if isinstance(value, (tuple, list)):
        return ",".join(":".join(map(str, v)) if isinstance(v, (tuple, list)) else str(v) for v in value)
    return "none" if value is None else str(value)
