"""Calls with objects of xarray's that were refused: what is wrong, and the same call by the names of dimensions."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import Cause, Hint, format_value
from .calls import wrong_call
from .dimensions import dims_of, name_dimensions
from .drafts import Draft, Function, literal


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
    options = {word: value for word, value in kwargs.items() if word != "coord_func"}
    more = wrong_call(function, args, options)
    text = "; ".join(notes)
    if more is not None:
        # The call in the other advice has all of it, but for the coordinates.
        return f"{text}; {more}" if "coord_func" not in kwargs else f"{text}; {more.partition(': write ')[0]}"
    draft = Draft(function, inspect.signature(function).bind(*args, **options).arguments)
    return f"{text}: write {with_coordinates(draft, kwargs)}" if name_dimensions(draft) else text
