"""Which format a path has, by its ending: what it is opened with and what writes it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from . import numpy_files, pictures, tiff
from .atomic import replacing
from .base import FileError, Layout, Source, Target, in_one_line

if TYPE_CHECKING:
    from types import ModuleType

ENDINGS: dict[str, ModuleType] = {
    ".npy": numpy_files, ".npz": numpy_files, ".png": pictures, ".jpg": pictures, ".jpeg": pictures,
    ".tif": tiff, ".tiff": tiff,
}  # fmt: skip
READABLE = ".npy, .npz, .png, .jpg, .tif, .zarr or .nc"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # a disk, a quota, the largest file
WRITABLE = ".npy, .npz, .png, .tif, .zarr or .nc"


def split_zarr(text: str) -> tuple[Path, str] | None:
    """``file.zarr/inner/path`` → the store and the path inside; None for another kind of file."""
    parts = Path(text).parts
    for i, part in enumerate(parts):
        if part.endswith(".zarr"):
            if ".." in parts[i:]:
                raise FileError(f"{text}: .. is not possible in the path of a zarr array")
            return Path(*parts[: i + 1]), "/".join(parts[i + 1 :])
    return None


def is_netcdf(text: str) -> bool:
    return Path(text).suffix.lower() in (".nc", ".nc4")


def open_source(text: str) -> Source:
    """The array in a file; a clear FileError if there is none."""
    store = split_zarr(text)
    if store is not None:
        from . import zarr_files

        return zarr_files.open_source(*store)
    path, name = split_npz(text)
    module = ENDINGS.get(path.suffix.lower())
    if is_netcdf(text):
        raise FileError(f"{text}: a netCDF file can be pooled, but not this: convert it to zarr first")
    if module is None:
        raise FileError(f"{text}: the ending {path.suffix or '(none)'!r} is not known, {READABLE} is needed")
    if not path.exists():
        raise FileError(f"{path}: there is no such file")
    if path.is_dir():
        raise FileError(f"{path} is a folder, not a file")
    try:
        source: Source = module.open_source(path, name)
    except (FileError, MemoryError):
        raise
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    except Exception as error:  # whatever a library finds wrong with a file
        raise FileError(f"{path} cannot be read: {in_one_line(error)}") from None
    return source


def split_npz(text: str) -> tuple[Path, str | None]:
    """``file.npz:name`` → the file and the name of one of its arrays."""
    before, colon, after = text.rpartition(":")
    if colon and before.lower().endswith(".npz"):
        if not after:
            raise FileError(f"{text} names no array: write {before}:name, or {before} for the whole archive")
        return Path(before), after
    return Path(text), None


@contextmanager
def create_target(text: str, layout: Layout, overwrite: bool) -> Iterator[Target]:
    """Something to write blocks to. The file is there, whole, after the end of the block, and not before."""
    try:
        with new_target(text, layout, overwrite) as target:
            yield target
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise FileError(f"{text} cannot be written: {error.strerror}") from None


@contextmanager
def new_target(text: str, layout: Layout, overwrite: bool) -> Iterator[Target]:
    store = split_zarr(text)
    if store is not None:
        from . import zarr_files

        with zarr_files.create_target(*store, layout, overwrite) as target:
            yield target
        return
    path, name = split_npz(text)
    module = ENDINGS.get(path.suffix.lower())
    if module is None or path.suffix.lower() in (".jpg", ".jpeg"):
        lossy = ": JPEG changes the values" if module is not None else ""
        raise FileError(f"{text}: the ending {path.suffix or '(none)'!r} cannot be written{lossy}, give {WRITABLE}")
    if name is not None and path.exists():  # file.npz:name replaces one array, not the file
        if not overwrite:
            raise FileError(f"{path} exists: --overwrite puts the array {name} into it, and keeps the others")
        numpy_files.check_others(path, name)
    with replacing(path, overwrite) as temporary:
        target = module.create_target(temporary, name, layout)
        try:
            yield target
        except BaseException:
            close = getattr(target, "close", None)
            if close is not None:
                close()
            raise
        target.finish()
        if name is not None and path.exists():
            numpy_files.keep_others(path, temporary, name)


def check_apart(source: str, target: str, what: str = "input") -> None:
    """IN and OUT are different files, and neither lies inside the other."""
    inside, outside = (Path(os.path.realpath(split_npz(text)[0])) for text in (source, target))
    if inside == outside:
        raise FileError(f"{target} is the {what} itself: give another name for the output")
    if split_zarr(source) is not None and inside in outside.parents:
        raise FileError(f"{target} lies inside the {what} {source}: give another place for the output")
    if split_zarr(target) is not None and outside in inside.parents:
        raise FileError(f"the {what} {source} lies inside {target}, which would be replaced")
