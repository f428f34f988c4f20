"""What ``torch.compile`` does with our functions: each becomes one node of the graph, and is traced from there as Ops.

Dynamo, torch's tracer of Python code, cannot look into the compiled core, and has to be told before it meets one of our
functions. It is imported by the first use of ``torch.compile``: that import is watched for, because nothing of torch is
imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from ...imports import when_imported

F = TypeVar("F", bound=Callable[..., Any])

DYNAMO = "torch._dynamo"
functions: list[Callable[..., Any]] = []
# Not layers and dialects, which Dynamo looks into until it meets one of the functions.
RUN_AS_THEY_ARE = (
    "api",
    "arguments",
    "autodiff",
    "backends",
    "cache",
    "core",
    "geometry",
    "ops",
    "reference",
    "runtime",
)


def one_node(function: F) -> F:
    """Let a function be one node of a compiled graph."""
    functions.append(function)
    dynamo = sys.modules.get(DYNAMO)
    if hasattr(dynamo, "allow_in_graph"):
        tell(dynamo, function)
    return function


def tell(dynamo: Any, function: Callable[..., Any]) -> None:
    if function.__name__ == "pool":
        import_module(".compiled_pool", __package__).substitute(function, dynamo)
    else:
        dynamo.allow_in_graph(function)


def tell_all(dynamo: Any) -> None:
    if hasattr(dynamo, "allow_in_graph"):  # else it is being imported just now
        # Dynamo would also compile what runs inside of a node, or besides, and fail where it ends in the core.
        for package in RUN_AS_THEY_ARE:
            import_module(".trace_rules", DYNAMO).add(f"cenote.{package}")
        for function in functions:
            tell(dynamo, function)


when_imported(DYNAMO, tell_all)
