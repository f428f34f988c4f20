"""Functions and words that say what to compute of a window: a function of its own here."""

from __future__ import annotations

from typing import Any

import numpy as np

from .drafts import Draft, Note
from .words import FOLDS, OTHER_REDUCTIONS, REDUCTIONS

MODULES = {
    "jax.numpy": "jnp",
    "jax.numpy.linalg": "jnp.linalg",
    "numpy.linalg": "np.linalg",
    "torch": "torch",
}  # as they are written


def named_reduction(value: Any) -> str | None:
    """The name of what reduces an array to a number, if ``value`` is or names such a function."""
    if isinstance(value, np.ufunc):
        return None
    owner = getattr(value, "__self__", None)
    if isinstance(owner, np.ufunc):  # np.add.reduce
        return str(owner.__name__) if owner.__name__ in REDUCTIONS and value.__name__ == "reduce" else None
    name = value.lower() if isinstance(value, str) else getattr(value, "__name__", None)
    if name in ("maximum", "minimum", "add") and not isinstance(value, str):  # of two arrays, whichever library's
        return None
    return name if name in REDUCTIONS or name in FOLDS or name in OTHER_REDUCTIONS else None


def name_of(value: Any) -> str:
    """A function as it is written in Python."""
    name = str(getattr(value, "__name__", value))
    owner = getattr(value, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"np.{owner.__name__}.{name}"
    module = getattr(value, "__module__", "")
    if module in MODULES:
        return f"{MODULES[module]}.{name}"
    return f"np.{name}" if getattr(np, name, None) is value else name


def reduction_name(fn: Any) -> str | None:
    """A function of Python's or NumPy's that reduces one array, as it is written."""
    whole = isinstance(getattr(fn, "__self__", None), np.ufunc)  # np.add.reduce
    named = named_reduction(fn) is not None and not isinstance(fn, np.vectorize)
    return name_of(fn) if whole or named else None


def reduction(draft: Draft, value: Any) -> Note:
    """A word or a function that says what to compute: another function here."""
    name = str(value.__name__ if isinstance(value, np.ufunc) else named_reduction(value))
    more: dict[str, Any]
    what = ""
    if name in FOLDS:
        start, ufunc = FOLDS[name]
        target, more = "pool", {"init": start, "reduce_fn": getattr(np, ufunc)}
        what = f" with np.{ufunc}"
    elif name in REDUCTIONS:
        target, more = REDUCTIONS[name][0], dict(REDUCTIONS[name][1])
    else:
        return ": there is no such function here", False
    if target == draft.name and not more:
        return f" is not needed: {target} does that", True
    kept = {key: given for key, given in draft.given.items() if key not in ("init", "reduce_fn")}
    if draft.switch(target, {**kept, **more}):
        return f" is {target}{what} here", True
    return ": there is no such function here", False


def what_to_compute(draft: Draft, value: Any) -> Note | None:
    if "window" not in draft.parameters or ("reduce_fn" in draft.parameters and not named_reduction(value)):
        return None
    known = isinstance(value, np.ufunc) and value.__name__ in REDUCTIONS
    return reduction(draft, value) if known or named_reduction(value) else None
