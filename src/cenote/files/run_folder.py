"""The folder of an unfinished pyramid: the options of the run, and a journal of what is done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self

from .atomic import remove
from .base import FileError
from .formats import split_npz, split_zarr


class Journal:
    """Which blocks are done: a line for each, appended when its chunks are in place."""

    def __init__(self, path: Path) -> None:
        text = path.read_text() if path.exists() else ""
        self.lines = set(text[: text.rfind("\n") + 1].splitlines())  # a torn last line does not count
        self.file = path.open("a")
        if text and not text.endswith("\n"):
            self.file.write("\n")

    def record(self, line: str) -> None:
        if self.file.closed:
            self.file = open(self.file.name, "a")  # noqa: SIM115
        self.file.write(line + "\n")
        self.file.flush()

    def close(self) -> None:
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


OF_A_RUN = ("journal", "run.json")  # what a folder is known by: removed last
NEW_MANIFEST = "run.json.new"
COMPLETE = "complete"  # the last line of a journal


def is_of_run(path: Path) -> bool:
    """Whether a run made this folder, or would have: it may have been killed before its first file."""
    if not path.is_dir():
        return False
    names = {entry.name for entry in path.iterdir()}
    return not names or not names.isdisjoint((*OF_A_RUN, NEW_MANIFEST))


def remove_run(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.name not in OF_A_RUN:
            remove(entry)
    remove(folder)


def is_complete(folder: Path) -> bool:
    """Whether this is the folder of a run that has made all of its image."""
    journal = folder / "journal"
    return journal.is_file() and COMPLETE in journal.read_text().splitlines()


def options_of(folder: Path) -> dict[str, Any]:
    manifest = folder / "run.json"
    found: dict[str, Any] = json.loads(manifest.read_text()) if manifest.exists() else {}
    return found


def manifest_of(options: dict[str, Any]) -> dict[str, Any]:
    """The options as a file has them, with what tells whether the input was changed."""
    found: dict[str, Any] = json.loads(json.dumps({**options, "stamp": stamp_of(options["input"])}))
    return found


def check_same(before: dict[str, Any], now: dict[str, Any]) -> None:
    """The options and the input are those of the first run."""
    different = [name for name in now if before.get(name) != now[name]]
    if different == ["stamp"]:
        raise FileError(
            f"--resume: {now['input']} has changed since the first run: --overwrite without --resume begins anew"
        )
    if different:
        listed = ", ".join(f"{name} was {before.get(name)}, is {now[name]}" for name in different)
        raise FileError(f"--resume with other options than the first run: {listed}")


def begin(partial: Path, options: dict[str, Any], resume: bool) -> Journal:
    """The folder to work in, new or as an earlier run left it. The options must be those of that run."""
    manifest = partial / "run.json"
    now = manifest_of(options)
    if partial.exists() and (not resume or not manifest.exists()):
        remove_run(partial)
    if manifest.exists():
        check_same(options_of(partial), now)
        for torn in (partial / "image.zarr").rglob("*.partial"):
            torn.unlink()
    else:
        partial.mkdir()
        temporary = partial / NEW_MANIFEST
        temporary.write_text(json.dumps(now))
        temporary.replace(manifest)
    return Journal(partial / "journal")


def stamp_of(text: str) -> list[int]:
    """Size and time of the last change: of a file, or of the metadata of a zarr array."""
    store = split_zarr(text)
    path = split_npz(text)[0] if store is None else store[0] / store[1]
    metadata = [path / name for name in ("zarr.json", ".zarray") if (path / name).exists()]
    status = (metadata or [path])[0].stat()
    return [status.st_size, status.st_mtime_ns]
