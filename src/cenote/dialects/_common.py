"""What the dialects share: reading arguments, and calling canonical functions under other argument names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..arguments.errors import Argument, BadType, BadValue, Deferred, describe_type, format_value, pluralize
from ..arguments.values import as_int, as_sequence
from ..dtypes import DType


def ints(name: str, value: object, least: int, count: int | None = None) -> tuple[int, ...]:
    """One int per axis; one int for all of them is not enough."""
    entries = as_sequence(value)
    if entries is None:
        raise BadType(
            f"{name}={format_value(value)}: a tuple with one int per axis is needed, such as (2, 2), not "
            f"{describe_type(value)}"
        )
    if count is not None and len(entries) != count:
        found = pluralize(len(entries), "entry", "entries")
        raise BadValue(f"{name}={format_value(value)} has {found} and needs {count}: one int per axis")
    return tuple(as_int(name, value, entry, least) for entry in entries)


# torch's tensors have dtypes of torch's, and no astype.


def dtype_of(data: Any) -> DType:
    """The NumPy dtype of an array of any library; the shape of a tensor may not be known yet."""
    if isinstance(data.dtype, np.dtype):
        return data.dtype
    from ..backends.torch.arrays import numpy_dtype

    return numpy_dtype(data.dtype)  # type: ignore[return-value]


def astype(data: Any, dtype: type[np.generic]) -> Any:
    if hasattr(data, "astype"):
        return data.astype(dtype)
    from ..backends.torch.arrays import torch_dtype

    return data.to(torch_dtype(np.dtype(dtype)))


unwrapped = functools.cache(inspect.unwrap)


def call(
    function: Callable[..., Any],
    names: Mapping[str, str],
    *args: Any,
    given: Any = None,
    **options: Any,
) -> Any:
    """``function`` of cenote, whose causes speak of arguments by the ``names`` that the dialect has for them, with the
    values that the user has ``given``.

    The dialect's own public function puts its name in front, as the canonical one would have put its own.
    """
    plain = unwrapped(function)
    try:
        try:
            return plain(*args, **options)
        except Deferred as deferred:
            return deferred.run(plain, *args, **options)
    except (BadValue, BadType) as cause:
        if given:
            read = inspect.signature(plain).bind(*args, **options).arguments
            cause.args = tuple(as_given(cause.args, read, given))
        raise cause.renamed(names) from None


def as_given(parts: Sequence[str], read: Mapping[str, object], given: Mapping[str, object]) -> Iterator[str]:
    """The parts of a cause with arguments as the user wrote them, not as they were read."""
    name: str | None = None
    for part in parts:
        text = part
        if name is not None and name in read and part.startswith(shown := f"={format_value(read[name])}"):
            text = f"={format_value(given[name])}{part.removeprefix(shown)}"
        name = str(part) if isinstance(part, Argument) and part in given else None
        yield part if text == part else text
