"""The public functions that compute operations: their decorator makes them known, their signature says what they are.

All of them take the same arguments under the same names, so a name such as ``window`` or ``output_size`` tells the kind
of function. What serves every operation, such as arguments by the names of dimensions, finds them here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

OPERATIONS: dict[str, Callable[..., Any]] = {}  # by name, in the order in which they are defined


def operation(function: F) -> F:
    """Make a public function known as an operation."""
    OPERATIONS[function.__name__] = function
    return function


def is_operation(function: Callable[..., Any]) -> bool:
    """Whether this is one of them, with its decorators or without: functions of dialects may have the same names."""
    known = OPERATIONS.get(function.__name__)
    return known is not None and inspect.unwrap(known) is inspect.unwrap(function)


@cache
def signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def positional(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that need no name in a call: the data, then what the operation cannot do without."""
    parameters = signature(function).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
