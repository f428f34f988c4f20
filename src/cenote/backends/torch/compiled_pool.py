"""The generic pool inside of ``torch.compile``: a function cannot be an argument of a node, its name can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

NAMES = [name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)]
# Ufuncs, and the functions of torch that mean the same.
KNOWN: tuple[tuple[Any, str], ...] = (
    *((getattr(np, name), name) for name in NAMES if getattr(np, name).nin == 2 and getattr(np, name).nout == 1),
    *((getattr(torch, name), name) for name in NAMES if hasattr(torch, name)),
    (torch.mul, "multiply"),
)


def substitute(pool: Callable[..., Any], dynamo: Any) -> None:
    """Let Dynamo trace another function in the place of ``pool``, which finds the name, and is a node from there."""

    def pool_by_name(x: Any, window: Any, init: Any, name: str, **options: Any) -> Any:
        return pool(x, window, init, getattr(np, name), **options)

    def traced(x: Any, window: Any, init: Any, reduce_fn: Any, **options: Any) -> Any:
        for function, name in KNOWN:
            if reduce_fn is function:
                return pool_by_name(x, window, init, name, **options)
        raise TypeError(
            "pool: reduce_fn is a Python function, which a compiled program cannot hold: use a NumPy ufunc, or a "
            "function of torch that NumPy has too"
        )

    # Dynamo skips our files: it tells by their names.
    traced.__code__ = traced.__code__.replace(co_filename="<cenote.pool>")
    dynamo.allow_in_graph(pool_by_name)
    keep.append(pool_by_name)
    dynamo.decorators.substitute_in_graph(pool, skip_signature_check=True)(traced)


keep: list[Callable[..., Any]] = []  # Dynamo knows functions by their address
