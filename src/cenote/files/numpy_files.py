"""``.npy``, which is read and written through a memory map, and ``.npz``, in memory. Pickled arrays are refused."""

from __future__ import annotations

import errno
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..dtypes import DType
from .base import FileError, Layout, in_one_line


class ArraySource:
    """An array in memory, or mapped into it."""

    picture: tuple[int, int] | None = None
    chunks: tuple[int, ...] | None = None
    dims: tuple[str, ...] | None = None

    def __init__(self, array: Array, format: str) -> None:
        self.array, self.format = array, format
        self.shape: tuple[int, ...] = array.shape
        self.dtype: DType = array.dtype
        self.attributes: Mapping[str, Any] = {}

    def read(self, part: tuple[slice, ...]) -> Array:
        return np.asarray(self.array[part])

    def close(self) -> None:
        """A memory map is closed when the array is freed."""
        del self.array


def open_source(path: Path, name: str | None) -> ArraySource:
    if path.suffix.lower() == ".npz":
        return open_npz(path, name)
    with path.open("rb") as file:
        start = file.read(1)
    if start not in (b"\x93", b"\x80", b"P", b""):  # of NumPy, pickle, zip; else np.load says pickle
        raise FileError(f"{path} cannot be read: it is not a .npy file")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise FileError(f"{path} cannot be read: {refusal(error)}") from None
    return ArraySource(array, "NumPy .npy, memory-mapped")


def refusal(error: ValueError) -> str:
    text = " ".join(str(error).split())
    if "pickle" in text or "Python objects" in text or "allow_pickle" in text:
        return "it holds pickled objects, which can run code: save it again as plain numbers"
    return text


def open_npz(path: Path, name: str | None) -> ArraySource:
    try:
        archive = np.load(path, allow_pickle=False)
    except (ValueError, zipfile.BadZipFile) as error:
        raise FileError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    with archive:
        names = list(archive.files)
        if name is None and len(names) != 1:
            raise FileError(f"{path} has {len(names)} arrays, {', '.join(names)}: choose one, such as {path}:{names[0]}"
                            if names else f"{path} has no array")  # fmt: skip
        chosen = names[0] if name is None else name
        if chosen not in names:
            raise FileError(f"{path} has no array {chosen!r}, it has {', '.join(names)}")
        try:
            array = archive[chosen]
        except ValueError as error:
            raise FileError(f"{path}:{chosen} cannot be read: {refusal(error)}") from None
    return ArraySource(array, f"NumPy .npz, array {chosen!r}")


class ArrayTarget:
    """An array of the right shape in memory, or mapped to a file, that is saved at the end."""

    def __init__(self, array: Array, save: Any, unit: tuple[int, ...] | None = None) -> None:
        self.array, self.save = array, save
        self.unit = unit or tuple(1 for _ in array.shape)

    def write(self, part: tuple[slice, ...], data: Array) -> None:
        self.array[part] = data

    def finish(self) -> None:
        self.save(self.array)

    def close(self) -> None:
        del self.array


def create_target(path: Path, name: str | None, layout: Layout) -> ArrayTarget:
    if path.suffix.lower() == ".npz":
        array: Array = np.empty(layout.shape, layout.dtype)
        return ArrayTarget(array, lambda a: save_npz(path, name or "arr_0", a))
    if 0 in layout.shape or not layout.shape:  # nothing to map
        return ArrayTarget(np.empty(layout.shape, layout.dtype), lambda a: np.save(path, a, allow_pickle=False))
    mapped = np.lib.format.open_memmap(path, "w+", layout.dtype, layout.shape)
    reserve(path)
    return ArrayTarget(mapped, lambda a: a.flush())


def save_npz(path: Path, name: str, array: Array) -> None:
    """An archive of one array. Not by np.savez, in which some names are those of its own arguments."""
    with zipfile.ZipFile(path, "w") as archive, archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def keep_others(before: Path, path: Path, name: str) -> None:
    """Copy the arrays of an archive into the one that takes its place, but for the array of this name."""
    with others_in(before, name) as (old, members), zipfile.ZipFile(path, "a") as new:
        for member in members:
            with old.open(member) as source, new.open(member, "w", force_zip64=True) as copy:
                shutil.copyfileobj(source, copy)


def check_others(before: Path, name: str) -> None:
    """Before anything is computed: can the other arrays of an archive be read?"""
    with others_in(before, name) as (old, members):
        for member in members:
            with old.open(member) as source:
                while source.read(1 << 20):
                    pass


@contextmanager
def others_in(path: Path, name: str) -> Iterator[tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive, [member for member in archive.infolist() if member.filename != f"{name}.npy"]
    except (OSError, MemoryError):
        raise
    except Exception as error:  # whatever a decompressor finds wrong
        raise FileError(f"{path} cannot be read, and its other arrays would be lost: {in_one_line(error)}") from None


def reserve(path: Path) -> None:
    """Allocate what a new file is long: on a full disk this is an error, a write through a memory map a crash."""
    size, disk = path.stat().st_size, shutil.disk_usage(path.parent)
    if disk.total and size > disk.free:  # to try would fill the disk for a while, also for others
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with path.open("r+b") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
