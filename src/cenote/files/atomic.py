"""A file or folder that appears whole or not at all: written under another name beside its place, then renamed."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .base import FileError


@contextmanager
def replacing(path: Path, overwrite: bool) -> Iterator[Path]:
    """A name to write to, in the same folder. It becomes ``path`` at the end, and is removed after an exception."""
    check_place(path, overwrite)
    # The ending stays the last one: libraries choose the format by it.
    beside = path.with_name(f".{path.stem}.{secrets.token_hex(6)}{path.suffix}")
    try:
        yield beside
        move(beside, path, overwrite)
    finally:
        remove(beside)


def check_place(path: Path, overwrite: bool) -> None:
    if not path.parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}")
    if os.path.lexists(path) and not overwrite:
        raise FileError(f"{path} exists: --overwrite replaces it")


def move(beside: Path, path: Path, overwrite: bool) -> None:
    """Rename; what was there goes only when the new one is in its place."""
    if path.is_dir() and not path.is_symlink():
        check_place(path, overwrite)
        old = path.with_name(f".{path.stem}.{secrets.token_hex(6)}.old")
        path.rename(old)
        try:
            beside.rename(path)
        except BaseException:
            old.rename(path)
            raise
        remove(old)
        return
    check_place(path, overwrite)  # it may have appeared meanwhile
    if beside.is_dir() and os.path.lexists(path):
        path.unlink()
    beside.replace(path)


def remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
