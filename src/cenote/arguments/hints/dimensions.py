"""Arguments by position for an object of xarray's: the same call by the names of its dimensions."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from ..errors import Cause, Hint, format_value
from ..values import as_sequence
from .drafts import FILTERS, Draft, Function, literal, public_functions

BY_NAME = ("stride", "padding", "dilation", "output_shape", "output_padding")
CHECKED = ("stride", "padding", "dilation", "ceil_mode")


def by_dimension(function: Function, cause: Cause, given: Mapping[str, Any], kwargs: Mapping[str, Any]) -> str:
    """The message of a cause, and the call to write."""
    what = "".join(part for part in cause.args if not isinstance(part, Hint))
    with contextlib.suppress(Exception):  # a hint must not hide what is wrong
        draft = Draft(function, given)
        if not name_dimensions(draft):
            names = ", ".join(map(repr, next(iter(given.values())).dims)) or "none"
            return f"{what}: give a dict by name, of {names}"
        return f"{what}: write {with_coordinates(draft, kwargs)}"
    return str(cause)


def with_coordinates(draft: Draft, kwargs: Mapping[str, Any]) -> str:
    """The call, with ``coord_func``, which is no parameter of the function itself."""
    call = str(draft)
    if "coord_func" in kwargs:
        call = f"{call[:-1]}, coord_func={literal(kwargs['coord_func'], 'coord_func')})"
    return call


def by_keyword(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """What to write for keywords that are dimensions, as in ``coarsen(y=2)``, and for ``center`` of ``rolling``; None
    if there are neither."""
    with contextlib.suppress(Exception):  # a hint must not hide what is wrong
        parameters = list(inspect.signature(function).parameters)
        first, *others = args or (kwargs[parameters[0]],)
        dims, size_name = dims_of(first), Draft(function, {}).size_name
        taken = {*parameters, "coord_func"} - ({parameters[0]} if args else set())
        named = {word: value for word, value in kwargs.items() if word in dims and word not in taken}
        rest = {word: value for word, value in kwargs.items() if word not in named}
        notes = []
        if isinstance(rest.get("dim"), Mapping) and "dim" not in dims and size_name not in rest and not others:
            rest[size_name] = rest.pop("dim")
            notes.append(f"dim={format_value(rest[size_name])} is called {size_name} here")
        if named and size_name == parameters[1]:
            before = others[0] if others else rest.get(size_name, {})
            if not isinstance(before, Mapping) or not before.keys().isdisjoint(named):
                return None
            listed = ", ".join(f"{word}={format_value(value)}" for word, value in named.items())
            notes.append(f"{listed}: {size_name} takes dimensions as a dict")
            args, rest[size_name] = (*args[:1], *args[2:]), {**before, **named}
        elif named:
            return None
        if isinstance(rest.get("center"), (bool, np.bool_)) and size_name == "window" and "center" not in dims:
            centered = rest.pop("center")
            word = "center" if centered else "last"
            rest.setdefault("coord_func", word)
            notes.append(f"center={centered} is coord_func={word!r} here")
            if "stride" in parameters and "stride" not in rest:
                rest["stride"] = 1
                notes.append("the default stride is the window, not 1")
        return completed(function, args, rest, notes) if notes else None
    return None


def completed(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any], notes: list[str]) -> str:
    """These notes, what else is wrong with a call, and the call to write if nothing is."""
    from .calls import wrong_call  # which needs this module

    options = {word: value for word, value in kwargs.items() if word != "coord_func"}
    more = wrong_call(function, args, options)
    text = "; ".join(notes)
    if more is not None:
        # The call in the other advice has all of it, but for the coordinates.
        return f"{text}; {more}" if "coord_func" not in kwargs else f"{text}; {more.partition(': write ')[0]}"
    draft = Draft(function, inspect.signature(function).bind(*args, **options).arguments)
    return f"{text}: write {with_coordinates(draft, kwargs)}" if name_dimensions(draft) else text


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
