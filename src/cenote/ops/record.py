"""Frozen records: what ``@dataclass(frozen=True)`` makes, without generating code for each of some forty classes.

Importing the package would take twice as long with dataclasses.
"""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import Any, ClassVar, NoReturn, TypeVar, dataclass_transform

R = TypeVar("R", bound="Record")


@dataclass_transform(frozen_default=True)
class Record:
    """A class whose annotated attributes are its fields: set once, compared and hashed by value."""

    fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        new = [name for name, of in inspect.get_annotations(cls).items() if not of.startswith("ClassVar")]
        cls.fields = (*cls.fields, *new)

    def __init__(self, *args: Any, **named: Any) -> None:
        values = self.__dict__
        if len(args) > len(self.fields):
            raise TypeError(f"{type(self).__name__} has {len(self.fields)} fields, {len(args)} were given")
        values.update(zip(self.fields, args, strict=False))
        for name in self.fields[len(args) :]:
            values[name] = named.pop(name) if name in named else getattr(type(self), name)
        if named:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(named)}, or it was given twice")

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")

    @cached_property
    def values(self) -> tuple[Any, ...]:
        return tuple(self.__dict__[name] for name in self.fields)

    @cached_property
    def key(self) -> int:
        return hash((type(self), self.values))

    def __hash__(self) -> int:
        return self.key

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self.values == other.values)

    def __repr__(self) -> str:
        pairs = ", ".join(f"{name}={value!r}" for name, value in zip(self.fields, self.values, strict=True))
        return f"{type(self).__name__}({pairs})"

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return f"{type(self).__module__}.{type(self).__qualname__}", self.values

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.values


def replace(record: R, **changes: Any) -> R:
    """A record with other values in some of its fields."""
    values = dict(zip(record.fields, record.values, strict=True))
    values.update(changes)
    return type(record)(**values)
