"""Tables of calls and the messages they meet, to the letter: how they are read, and what each call raises."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import cenote as cn


def read_table(name: str) -> dict[str, str]:
    """call → last line of the traceback"""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    calls, results = lines[::2], lines[1::2]
    assert all(call.startswith(">>> ") for call in calls)
    assert len(set(calls)) == len(calls), "a call is listed twice"
    return {call.removeprefix(">>> "): result for call, result in zip(calls, results, strict=True)}


def failure_of(call: str, names: Mapping[str, Any]) -> Exception:
    try:
        value = eval(call, dict(names))
    except Exception as failure:
        return failure
    raise AssertionError(f"{call} is no error: {value!r}")


def check_message(failure: Exception, expected: str) -> None:
    assert type(failure) in (TypeError, ValueError)  # the user never sees the internal kinds
    assert f"{type(failure).__name__}: {failure}" == expected
    assert failure.__suppress_context__, "the user reads one traceback, not two"


def places(failure: BaseException | None) -> Iterator[tuple[str, int]]:
    """Where it was raised, and where what it took the place of was."""
    while failure is not None:
        trace = failure.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        if trace is not None:
            yield trace.tb_frame.f_code.co_filename, trace.tb_lineno
        failure = failure.__context__


def check_names(table: Mapping[str, str], verbs: str) -> None:
    """Each message names its call and an argument of it."""
    for call, expected in table.items():
        function = call.partition("(")[0]
        _, named, cause = expected.split(": ", 2)
        assert named == function
        arguments = "|".join(cn.__dict__[function].__wrapped__.__code__.co_varnames)
        assert re.match(rf"({arguments})(=| ({verbs}) )", cause), expected


def unreached(module: str, table: Mapping[str, str], names: Mapping[str, Any]) -> list[int]:
    """The lines of a module that raise what no call of the table meets. None raises but the internal kinds."""
    reached = {place for call in table for place in places(failure_of(call, names))}
    path = Path(str(importlib.import_module(module).__file__))
    source = path.read_text(encoding="utf-8")
    raises = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Raise)]
    assert raises
    missing = []
    for found in raises:
        lines = range(found.lineno, (found.end_lineno or found.lineno) + 1)
        if not any((str(path), line) in reached for line in lines):
            missing.append(found.lineno)
        assert re.match(r" *raise (BadValue|BadType|cause\.renamed)\(", source.splitlines()[found.lineno - 1])
    return missing
