"""dtype= of functions that have none: what to convert, so that sums do not overflow before."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from ...dtypes import is_exact
from .drafts import FILTERS, Draft, Note, literal

CHOSEN = ("max_pool", "min_pool", "adaptive_max_pool", "global_max_pool", "max_unpool")  # values of x


def result_dtype(draft: Draft, value: Any) -> Note | None:
    if "dtype" in draft.parameters or draft.name not in (*CHOSEN, "pool", *FILTERS):
        return None
    fn, given = draft.given.get("reduce_fn"), {k: v for k, v in draft.given.items() if k not in ("init", "reduce_fn")}
    if fn is np.add and np.isscalar(draft.given.get("init")) and draft.given["init"] == 0:
        draft.switch("sum_pool", given | {"dtype": value})
        return " is an argument of sum_pool", True
    written, target = literal(value, ""), as_dtype(value)
    if not written or target is None or draft.of_torch or draft.given.get("return_indices"):
        return f": {draft.name} has no dtype=, convert the result", False
    now = dtype_of_result(draft, draft.dtype)
    if draft.name in CHOSEN or fn in (np.maximum, np.minimum) or now is None or not is_wider(target, now):
        draft.suffix = f".astype({written})"
        return f": {draft.name} has no dtype=, convert the result", True
    x = draft.written.get("x", "x")
    draft.written["x"] = (
        f"{x}.astype({written})" if hasattr(draft.given["x"], "astype") else f"np.asarray({x}, {written})"
    )
    if dtype_of_result(draft, target) != target:
        draft.suffix = f".astype({written})"
    if isinstance(draft.given["x"], np.ndarray):
        draft.given["x"] = np.broadcast_to(np.empty((), target), draft.given["x"].shape)
    return f": {draft.name} has no dtype=, convert x, so that sums do not overflow", True


def output(draft: Draft, value: Any) -> Note | None:
    """A dtype of scipy.ndimage's, or an array."""
    if not isinstance(value, (str, type, np.dtype)) or as_dtype(value) is None:
        return None
    if "dtype" not in draft.parameters:
        return result_dtype(draft, value)
    draft.given["dtype"] = value
    return " is called dtype here", True


def as_dtype(value: Any) -> np.dtype[Any] | None:
    with contextlib.suppress(Exception):  # whatever this object is
        return None if value is None else np.dtype(value)
    return None


def dtype_of_result(draft: Draft, x: np.dtype[Any] | None) -> np.dtype[Any] | None:
    """The dtype of a filtered x, or of x itself."""
    with contextlib.suppress(Exception):  # of k, whatever it is
        return x if x is None or draft.name not in FILTERS else np.result_type(x, np.asarray(draft.given["k"]).dtype)
    return None


def is_wider(target: np.dtype[Any], now: np.dtype[Any]) -> bool:
    exact = is_whole(now)
    if exact and not is_whole(target):
        return True
    return target != now and (np.can_cast(now, target) or (exact and target.itemsize > now.itemsize))


def is_whole(dtype: np.dtype[Any] | None) -> bool:
    with contextlib.suppress(Exception):  # of a dtype that is not supported
        return dtype is not None and is_exact(dtype)
    return False
