"""A file or folder that appears whole or not at all: written under another name in the same folder, then renamed."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .base import FileError
from .interrupts import deferred

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of Linux's renameat2


@contextmanager
def replacing(path: Path, overwrite: bool) -> Iterator[Path]:
    """A name to write to, in the same folder. It becomes ``path`` at the end, and is removed after an exception."""
    check_place(path, overwrite)
    # The ending stays the last one: libraries choose the format by it. A long name would become too long.
    temporary = path.with_name(f".{path.stem[:32]}.{secrets.token_hex(6)}{path.suffix}")
    try:
        with names_of_users(path, temporary):
            yield temporary
            with deferred():
                move(temporary, path, overwrite)
    finally:
        remove(temporary)


@contextmanager
def names_of_users(shown: object, *ours: Path) -> Iterator[None]:
    """In a message is the file that the user has named, not one of ours or what is in it."""
    try:
        yield
    except OSError as error:
        name = error.filename
        if not isinstance(name, (str, bytes)):
            raise
        place = Path(os.path.abspath(os.fsdecode(name)))
        if not any(place.is_relative_to(os.path.abspath(path)) for path in ours):
            raise
        raise FileError(f"{shown} cannot be written: {error.strerror}") from None


def check_place(path: Path, overwrite: bool) -> None:
    if not path.parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}")
    try:
        path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:  # a name that is too long
        raise FileError(f"{path} cannot be written: {error.strerror}") from None
    if not overwrite:
        raise FileError(f"{path} exists: --overwrite replaces it")


def move(temporary: Path, path: Path, overwrite: bool) -> None:
    """Rename; what was there goes only when the new one is in its place."""
    check_place(path, overwrite)  # it may have appeared meanwhile
    if path.is_dir() and not path.is_symlink():
        if exchange(temporary, path):
            remove(temporary)
            return
        old = path.with_name(f".{path.stem}.{secrets.token_hex(6)}.old")
        path.rename(old)
        try:
            temporary.rename(path)
        except BaseException:
            old.rename(path)
            raise
        remove(old)
        return
    if temporary.is_dir() and os.path.lexists(path):
        path.unlink()
    temporary.replace(path)


def exchange(a: Path, b: Path) -> bool:
    """Swap two names in one step, so that there is no moment without ``b``; False where the system cannot."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    return rename is not None and rename(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), RENAME_EXCHANGE) == 0


def remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        if not path.is_dir() or path.is_symlink():
            path.unlink()
            return
        for wait in (0.0, 0.1, 0.5):  # a worker of a cluster may still have written into it
            time.sleep(wait)
            shutil.rmtree(path, ignore_errors=True)
            if not path.exists():
                return
        shutil.rmtree(path)
