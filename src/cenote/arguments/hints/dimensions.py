"""Arguments by position for an object of xarray's: the same call by the names of its dimensions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from ..values import as_sequence
from .drafts import FILTERS, Draft, public_functions

BY_NAME = ("stride", "padding", "dilation", "output_shape", "output_padding")
CHECKED = ("stride", "padding", "dilation", "ceil_mode")


def has_names(draft: Draft) -> bool:
    """Whether the data is a DataArray or a Dataset."""
    obj = draft.given.get(next(iter(draft.parameters), ""))
    return all(hasattr(obj, name) for name in ("dims", "coords", "sizes"))


def name_dimensions(draft: Draft) -> bool:
    """Write the arguments of a draft by name, and say whether the call is then right."""
    obj = next(iter(draft.given.values()))
    dims = dims_of(obj)
    size, axes = draft.given.get(draft.size_name), draft.given.get("axes")
    entries = as_sequence(size)
    if axes is not None:
        names = tuple(dims[a] if isinstance(a, int) and a not in dims else a for a in as_sequence(axes) or (axes,))
    elif isinstance(size, Mapping):
        names = tuple(size)
    else:
        rank = np.ndim(draft.given["k"]) if draft.name in FILTERS else 2 if entries is None else len(entries)
        names = dims[-rank:] if entries is None or rank <= len(dims) else ()
    if not names or not set(names) <= set(dims) or (entries is not None and len(entries) != len(names)):
        return False
    for name in BY_NAME:
        values = as_sequence(draft.given.get(name))
        if values is not None:
            if len(values) != len(names):
                return False
            draft.given[name] = dict(zip(names, values, strict=True))
    if draft.size_name not in draft.parameters:  # global pooling, filters
        draft.given["axes"] = names[0] if len(names) == 1 else names
        return True
    draft.given.pop("axes", None)
    if not isinstance(size, Mapping):
        each = (size,) * len(names) if entries is None else entries
        draft.given[draft.size_name] = dict(zip(names, each, strict=True))
    return fits(draft, obj)


def dims_of(obj: Any) -> tuple[Hashable, ...]:
    """In the order of the array, or of the largest one of a Dataset."""
    arrays = list(obj.data_vars.values()) if hasattr(type(obj), "data_vars") else [obj]
    dims: list[tuple[Hashable, ...]] = [array.dims for array in arrays]
    return max(dims, key=len, default=())


def fits(draft: Draft, obj: Any) -> bool:
    """Whether the window, by name, fits."""
    if draft.size_name != "window" or draft.name == "max_unpool":
        return True
    options = {name: draft.given[name] for name in CHECKED if name in draft.given}
    try:
        public_functions()["output_shape"](obj, draft.given["window"], **options)
    except (TypeError, ValueError):
        return False
    return True
