"""Tables of calls and the messages they meet, to the letter: how they are read, and what each call raises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


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
