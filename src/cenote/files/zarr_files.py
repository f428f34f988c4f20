"""Zarr arrays, format 2 and 3, in folders. Chunks, shards and compression of the input are kept."""

from __future__ import annotations

import itertools
import math
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..arguments.arrays import Array
from ..dtypes import DType
from .atomic import remove, replacing
from .base import FileError, Layout, in_one_line, needs
from .interrupts import deferred

UNTOUCHED = "_ARRAY_DIMENSIONS"  # how xarray names the axes in format 2: an attribute like any other
DEFAULT_CHUNK = 1 << 20  # bytes
LISTED = 6  # arrays of a group, in a message


class ZarrSource:
    picture: tuple[int, int] | None = None

    def __init__(self, array: Any, where: str) -> None:
        self.array, self.where = array, where
        self.shape: tuple[int, ...] = array.shape
        self.dtype: DType = array.dtype
        self.chunks: tuple[int, ...] | None = array.shards or array.chunks
        self.attributes: Mapping[str, Any] = array.attrs.asdict()
        number = array.metadata.zarr_format
        self.format = f"zarr format {number}, chunks {array.chunks}" + (
            f", shards {array.shards}" if array.shards else ""
        )
        names = array.metadata.dimension_names if number == 3 else self.attributes.get(UNTOUCHED)
        self.names: tuple[str | None, ...] = tuple(names or ())  # also where some axes have none
        self.dims: tuple[str, ...] | None = tuple(names) if names and all(names) else None

    def read(self, part: tuple[slice, ...]) -> Array:
        try:
            out: Array = self.array[part]
        except (OSError, MemoryError):
            raise
        except Exception as error:  # whatever a codec finds wrong with a chunk
            place = ", ".join(f"{s.start}:{s.stop}" for s in part)
            shown = self.where.replace("|", "/").rstrip("/")
            raise FileError(f"{shown}: elements [{place}] cannot be read: {in_one_line(error)}") from None
        return out

    def close(self) -> None:
        """Nothing is held open."""

    def __reduce__(self) -> tuple[Any, ...]:  # for a scheduler: opened again where it is read
        store, _, inner = self.where.partition("|")
        return open_source, (Path(store).absolute(), inner)


def open_source(store: Path, inner: str) -> ZarrSource:
    zarr = needs("zarr", "zarr", "files")
    shown = f"{store}/{inner}" if inner else str(store)
    if not store.exists():
        raise FileError(f"{store}: there is no such file")
    try:
        node = zarr.open(str(store), path=inner or None, mode="r")
    except FileNotFoundError:
        raise FileError(f"{shown}: there is no zarr array") from None
    except Exception as error:
        raise FileError(f"{shown} cannot be read: {in_one_line(error)}") from None
    if isinstance(node, zarr.Group):
        arrays = [f"{shown}/{name}" for name in itertools.islice(arrays_in(node), LISTED + 1)]
        if not arrays:
            raise FileError(f"{shown} is a group without arrays")
        more = ", …" if len(arrays) > LISTED else ""
        raise FileError(f"{shown} is a group: choose one of its arrays ({', '.join(arrays[:LISTED])}{more})")
    return ZarrSource(node, f"{store}|{inner}")


def arrays_in(group: Any, before: str = "") -> Iterator[str]:
    """The paths of the arrays in a group, then of those in its groups."""
    yield from (before + name for name, _ in group.arrays())
    for name, inner in group.groups():
        yield from arrays_in(inner, f"{before}{name}/")


# ----------------------------------------------------------------------------------------------------- writing


class ZarrTarget:
    def __init__(self, array: Any) -> None:
        self.array = array
        self.unit: tuple[int, ...] = array.shards or array.chunks

    def write(self, part: tuple[slice, ...], data: Array) -> None:
        if data.size:
            self.array[part] = data

    def finish(self) -> None:
        """Every chunk was a file of its own, and is there."""


def default_chunks(shape: tuple[int, ...], dtype: DType) -> tuple[int, ...]:
    """About a megabyte, as near to a cube as the array allows."""
    left = max(1, DEFAULT_CHUNK // dtype.itemsize)
    chunks = [1] * len(shape)
    for rank, axis in enumerate(sorted(range(len(shape)), key=lambda i: shape[i])):
        side = max(1, round(left ** (1 / (len(shape) - rank))))
        chunks[axis] = max(1, min(shape[axis], side))
        left = max(1, left // chunks[axis])
    return tuple(chunks)


def clipped(chunks: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(max(1, min(c, n)) for c, n in zip(chunks, shape, strict=True))


def shards_of(like: Any, chunks: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """As many chunks in a shard as the input has, no more than are there."""
    if like is None or not like.shards or len(like.shards) != len(chunks):
        return None
    each = [s // c for s, c in zip(like.shards, like.chunks, strict=True)]
    return tuple(c * max(1, min(e, math.ceil(n / c))) for c, e, n in zip(chunks, each, shape, strict=True))


def create_array(place: str, layout: Layout, zarr_format: int | None = None, separator: str | None = None) -> Any:
    """An empty array at ``place``, a folder that is not there yet."""
    zarr = needs("zarr", "zarr", "files")
    like: Any = layout.like.array if isinstance(layout.like, ZarrSource) else None
    number = zarr_format or (3 if like is None else like.metadata.zarr_format)
    base = layout.chunks or (like.chunks if like is not None else default_chunks(layout.shape, layout.dtype))
    chunks = clipped(base, layout.shape)
    same = like is not None and like.metadata.zarr_format == number
    options: dict[str, Any] = {}
    if same and compresses_alike(like, layout.dtype):
        options |= {"compressors": like.compressors, "filters": like.filters}
    if number == 3:
        options["shards"] = shards_of(like, chunks, layout.shape) if layout.chunks is None else None
        options["dimension_names"] = layout.dims or names_of(like, len(layout.shape))
    if separator is None and same:
        separator = separator_of(like)
    if separator is not None:
        options["chunk_key_encoding"] = {"name": "v2" if number == 2 else "default", "separator": separator}
    return zarr.create_array(
        os.path.abspath(place), shape=layout.shape, chunks=chunks, dtype=layout.dtype, zarr_format=number, fill_value=0,
        attributes=dict(layout.attributes), **options,
    )  # fmt: skip


def compresses_alike(like: Any, dtype: DType) -> bool:
    """Whether the codecs of the input mean the same for the result: a filter may be made for one dtype alone."""
    return like.dtype == dtype or not like.filters


def names_of(like: Any, rank: int) -> Any:
    """Names that only some axes have: :class:`Layout` knows names of all of them or none."""
    names = getattr(getattr(like, "metadata", None), "dimension_names", None)
    return names if names and len(names) == rank else None


def separator_of(array: Any) -> str | None:
    if array.metadata.zarr_format == 2:
        return str(array.metadata.dimension_separator)
    return getattr(array.metadata.chunk_key_encoding, "separator", None)


@contextmanager
def create_target(store: Path, inner: str, layout: Layout, overwrite: bool) -> Iterator[ZarrTarget]:
    """A new store, or a new array in a group that is there."""
    zarr = needs("zarr", "zarr", "files")
    check_replaced(zarr, store, inner)
    if not inner or not os.path.exists(store):
        with replacing(store, overwrite) as temporary:
            place = temporary
            if inner:
                with deferred():
                    create_groups(zarr, temporary, Path(inner).parent, 3 if layout.like is None else format_of(layout))
                place = temporary / inner
            with deferred():
                array = create_array(str(place), layout)
            yield ZarrTarget(array)
        return
    try:
        root = zarr.open(str(store), mode="r")
    except Exception as error:
        raise FileError(f"{store} is no zarr store that can be written to: {in_one_line(error)}") from None
    number = root.metadata.zarr_format
    with deferred():
        made = create_groups(zarr, store, Path(inner).parent, number)
    try:
        with replacing(store / inner, overwrite) as temporary:
            with deferred():
                array = create_array(str(temporary), layout, number)
            yield ZarrTarget(array)
    except BaseException:
        if made is not None:
            remove(made)
        raise
    if (store / ".zmetadata").exists() or root.metadata.consolidated_metadata is not None:
        with deferred(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that format 3 has no standard for it: the group had it before
            zarr.consolidate_metadata(str(store))


def node_at(zarr: Any, path: Path) -> Any:
    """The array or group in a folder, None if there is neither."""
    # os.path.exists, to which a name that is too long is just not there
    if not any(os.path.exists(path / name) for name in ("zarr.json", ".zgroup", ".zarray")):
        return None
    try:
        return zarr.open(str(path), mode="r")
    except Exception as error:
        raise FileError(f"{path} cannot be read: {in_one_line(error)}") from None


def check_folder(path: Path, node: Any) -> None:
    """A folder that is neither an array nor a group may hold anything, also arrays whose group has no metadata."""
    if node is None and os.path.isdir(path):
        names = sorted(entry.name for entry in path.iterdir())
        if names:
            raise FileError(f"{path} is a folder that is no zarr array, and holds {brief(names)}: remove it yourself")


def brief(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def check_replaced(zarr: Any, store: Path, inner: str) -> None:
    """An array replaces an array. A group, with all that is in it, is the user's to remove."""
    path = store / inner
    node = node_at(zarr, path)
    if not any(isinstance(node_at(zarr, store / outer), zarr.Array) for outer in Path(inner).parents):
        check_folder(path, node)  # not one of an array's own folders
    if isinstance(node, zarr.Group):
        names = brief(sorted(node.keys())) or "nothing"
        raise FileError(f"{path} is a group, which holds {names}: give the name of a new array, such as {path}/pooled")


def format_of(layout: Layout) -> int:
    array = getattr(layout.like, "array", None)
    metadata = getattr(array, "metadata", None)
    return int(getattr(metadata, "zarr_format", 3))


def create_groups(zarr: Any, store: Path, inner: Path, number: int) -> Path | None:
    """The groups on the way to an array. Returns the outermost one that was not there."""
    made: Path | None = None
    for part in (store, *(store / p for p in reversed(inner.parents) if str(p) != "."), store / inner):
        node = node_at(zarr, part)
        if node is None:
            made = made or part
            zarr.create_group(str(part), zarr_format=number)
        elif not isinstance(node, zarr.Group):
            raise FileError(f"{part} is an array, not a group: nothing can be written into it")
    return made
