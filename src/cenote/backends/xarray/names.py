"""Arguments by the names of dimensions: what users wrote, as one value for each dimension of the window."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from ...arguments.errors import Argument, BadType, BadValue, Cause, Hint, Misfit, format_value
from ...arguments.values import as_sequence
from ...geometry.axes import Axis
from ...geometry.window import adaptive_geometry, global_geometry, parse_window

Names: TypeAlias = tuple[Hashable, ...]
Axes: TypeAlias = dict[Hashable, Axis]  # by dimension, in the window's order

# In the place of the call to write, which the hints know: see labelled.py there.
BY_DIMENSION = Hint(": give a dict by name")


def listed(names: Iterable[object]) -> str:
    return ", ".join(map(repr, names)) or "none"


def dimension(argument: str, given: object, name: Any, dims: Sequence[Hashable]) -> Hashable:
    """``name`` in the argument, which is to be one of these dimensions."""
    if is_one_of(name, dims):
        return name  # type: ignore[no-any-return]
    text = f"={format_value(given)}: "
    if isinstance(name, int) and not isinstance(name, bool):
        raise BadType(Argument(argument), f"{text}dimensions have names here", BY_DIMENSION)
    raise BadValue(
        Argument(argument),
        f"{text}{format_value(name)} is no dimension of ",
        Argument("x"),
        f", which has {listed(dims)}",
    )


def is_one_of(name: object, dims: Sequence[Hashable]) -> bool:
    try:
        return name in dims
    except Exception:  # an array, say
        return False


def named_axes(axes: object, dims: Sequence[Hashable]) -> Names:
    """The argument ``axes``: one name or several."""
    entries = None if is_one_of(axes, dims) else as_sequence(axes)
    if entries is None:
        return (dimension("axes", axes, axes, dims),)
    if not entries:
        raise BadValue(Argument("axes"), "=() is empty: name at least one dimension")
    found = tuple(dimension("axes", axes, entry, dims) for entry in entries)
    if len(set(found)) < len(found):
        raise BadValue(Argument("axes"), f"={format_value(axes)} names a dimension more than once")
    return found


def sizes_by_name(argument: str, value: object, axes: object, dims: Sequence[Hashable]) -> dict[Hashable, Any]:
    """``window`` or ``output_size``: a dict, or one int for each dimension in ``axes``."""
    text = f"={format_value(value)}"
    if isinstance(value, Mapping):
        if axes is not None:
            raise BadValue(
                Argument("axes"), f"={format_value(axes)}: {argument} names the dimensions already, leave axes out"
            )
        if not value:
            raise BadValue(Argument(argument), f"{text} is empty: name at least one dimension of {listed(dims)}")
        return {dimension(argument, value, name, dims): size for name, size in value.items()}
    if as_sequence(value) is not None:
        raise BadType(Argument(argument), f"{text}: the dimensions of ", Argument("x"), " have names", BY_DIMENSION)
    if axes is None:
        raise BadType(Argument(argument), f"{text} does not say which dimensions to pool", BY_DIMENSION)
    return dict.fromkeys(named_axes(axes, dims), value)


def per_dimension(argument: str, value: Any, default: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    """``stride``, ``padding`` and the like: a dict, in which a dimension that is left out has its default, or one
    value for all."""
    if value is None:
        return dict(default)
    text = f"={format_value(value)}"
    if isinstance(value, Mapping):
        for name in value:
            if not is_one_of(name, tuple(default)):
                raise BadValue(
                    Argument(argument), f"{text}: {format_value(name)} is not among the dimensions of the window, "
                    f"{listed(default)}",
                )  # fmt: skip
        return {name: value.get(name, default[name]) for name in default}
    if as_sequence(value) is not None:
        raise BadType(Argument(argument), f"{text}: the dimensions of ", Argument("x"), " have names", BY_DIMENSION)
    return dict.fromkeys(default, value)


def window_axes(
    window: Mapping[Hashable, Any], stride: Any, padding: Any, dilation: Any, ceil_mode: Any, sizes: Mapping[Any, int]
) -> Axes:
    """The window on each of its dimensions."""
    strides = per_dimension("stride", stride, window)
    paddings = per_dimension("padding", padding, dict.fromkeys(window, 0))
    dilations = per_dimension("dilation", dilation, dict.fromkeys(window, 1))
    out = {}
    for name, size in window.items():
        pad = paddings[name]
        pad = (pad,) if as_sequence(pad) is not None else pad
        with along(name):
            geometry = parse_window((size,), strides[name], pad, dilations[name], ceil_mode).on((sizes[name],))
        out[name] = geometry.axes[0]
    return out


def axes_of_bins(output_size: Mapping[Hashable, Any], sizes: Mapping[Any, int]) -> Axes:
    out = {}
    for name, size in output_size.items():
        with along(name):
            out[name] = adaptive_geometry((sizes[name],), (size,), 0).axes[0]
    return out


def whole_axes(names: Names, sizes: Mapping[Any, int]) -> Axes:
    out = {}
    for name in names:
        with along(name):
            out[name] = global_geometry((sizes[name],), 0).axes[0]
    return out


@contextmanager
def along(name: Hashable) -> Iterator[None]:
    """Put a dimension in front of the causes that are raised inside."""
    try:
        yield
    except Cause as cause:
        called = f"dimension {name!r}"
        texts = [part.replace("axis 0", called) for part in cause.args]
        parts = [
            Misfit(text, part.call, part.subject) if isinstance(part, Misfit) else type(part)(text)
            for part, text in zip(cause.args, texts, strict=True)
        ]
        raise type(cause)(*parts if called in "".join(parts) else (f"{called}: ", *parts)) from None
