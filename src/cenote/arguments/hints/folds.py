"""Window, initial value and function of the generic pool: in another order, or without one of them."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np

from ..values import as_sequence
from .drafts import Draft, Note, is_one_int, literal
from .reductions import name_of, named_reduction, reduction

ORDER = ("window", "init", "reduce_fn")


def arrange(draft: Draft) -> Note | None:
    """What is wrong with these three arguments, which the draft then has in order; None if that is not known."""
    for name in ("reduce_fn", "init", "window"):
        if named_reduction(draft.given.get(name)) is not None:
            return of_one_array(draft, name)
    arguments = sorted_out(draft)
    if arguments is None:
        return None
    notes = []
    if arguments["window"] is not draft.given.get("window"):
        notes.append("the window comes before the initial value and the function")
    elif "reduce_fn" in draft.given and arguments["reduce_fn"] is not draft.given["reduce_fn"]:
        notes.append("the initial value comes before the function")
    of_flax = callable(draft.given.get("init")) and as_sequence(draft.given.get("reduce_fn")) is not None
    draft.given.update(arguments)
    if of_flax and "axes" not in draft.given and draft.shape and len(draft.shape) == len(arguments["window"]) + 2:
        draft.given["axes"] = tuple(range(1, len(draft.shape) - 1))
        if draft.failure() is None:
            notes.append("windows of flax lie between batch and channels")
        else:
            del draft.given["axes"]
    fn, known = arguments["reduce_fn"], True
    if "init" not in arguments or arguments["init"] is None:
        missing = "init is missing, which" if "init" not in arguments else "it"
        draft.given.pop("init", None)
        note, known = initial_value(draft, fn, missing)
        notes.append(note)
    return ("; ".join(notes), known) if notes else None


def of_one_array(draft: Draft, name: str) -> Note:
    """A reduction of one array: the function that it is here."""
    value = draft.given[name]
    if name != "reduce_fn" and as_sequence(draft.given.get("init")) is not None:  # where the window belongs
        draft.given["window"] = draft.given["init"]
    note, known = reduction(draft, value)
    return f"{name_of(value)}{note}", known


def sorted_out(draft: Draft) -> dict[str, Any] | None:
    """The three by what they are: a function, a size, a number."""
    given = [draft.given[name] for name in ORDER if name in draft.given]
    functions = [value for value in given if callable(value)]
    sizes = [value for value in given if as_sequence(value) is not None or isinstance(value, Mapping)]
    numbers = [value for value in given if isinstance(value, (Number, np.ndarray)) or value is None]
    if len(functions) != 1 or len(sizes) > 1 or len(given) != len(functions) + len(sizes) + len(numbers):
        return None
    if not sizes:  # the window is one int
        window: Any = draft.given.get("window")
        at = 0 if is_one_int(window) and (window > 0 or len(numbers) < 2) else len(numbers) - 1
        if not numbers or not is_one_int(numbers[at]):
            return None
        sizes = [numbers.pop(at)]
    if len(numbers) > 1:
        return None
    return {"window": sizes[0], **({"init": numbers[0]} if numbers else {}), "reduce_fn": functions[0]}


def initial_value(draft: Draft, fn: Any, missing: str) -> Note:
    """A fold needs one: that of NumPy's function, if it has any."""
    if isinstance(fn, np.ufunc) and fn.__name__ in ("maximum", "minimum", "fmax", "fmin"):
        note, known = reduction(draft, fn)
        return f"{name_of(fn)}{note}", known
    identity = getattr(fn, "identity", None)
    if identity is None:
        return f"{missing} is the value that a fold starts from, such as 0 for a sum", False
    draft.given["init"] = identity
    return f"{missing} is {literal(identity, 'init')} for {name_of(fn)}", True
