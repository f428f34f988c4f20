"""What a file format has to provide: a source that reads parts of an array, and a target that takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from ..arguments.arrays import Array
from ..dtypes import DType


class FileError(Exception):
    """A file that cannot be read or written, or that does not fit the call: one line for the user."""


class Source(Protocol):
    """An array in a file. ``picture`` are the axes of a picture's rows and columns, if it is one."""

    shape: tuple[int, ...]
    dtype: DType
    chunks: tuple[int, ...] | None  # what is read at a time, if it is stored in pieces
    dims: tuple[str, ...] | None
    picture: tuple[int, int] | None
    attributes: Mapping[str, Any]
    format: str  # in words, for ``cenote info``

    def read(self, part: tuple[slice, ...]) -> Array: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Layout:
    """What is to be stored: shape, dtype and, where the format knows them, chunks, names and attributes."""

    shape: tuple[int, ...]
    dtype: DType
    dims: tuple[str, ...] | None = None
    chunks: tuple[int, ...] | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    like: Any = None  # a source of the same format, whose compression is kept


class Target(Protocol):
    """An array that is being written. ``unit`` is what one write has to cover whole: chunks and shards."""

    unit: tuple[int, ...]

    def write(self, part: tuple[slice, ...], data: Array) -> None: ...

    def finish(self) -> None:
        """All is written: make it ready to be moved to its place."""


def needs(module: str, package: str, extra: str) -> Any:
    """An optional dependency; a message with the command that installs it if it is missing."""
    try:
        return import_module(module)
    except ImportError:
        raise FileError(f"{package} is needed for this and is not installed: pip install 'cenote[{extra}]'") from None


def in_one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def whole(shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(0, n) for n in shape)
