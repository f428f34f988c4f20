"""Places that cannot be written and files that cannot be read, in a process of their own: always one line."""

from __future__ import annotations

import ctypes
import errno
import io
import logging
import os
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
import xarray as xr
import zarr

from cenote import cli
from cenote.files import atomic
from cenote.files.base import FileError
from cenote.files.hdf5_file import SafeFile

RNG = np.random.default_rng(0)
PICTURE = RNG.integers(0, 256, (40, 50)).astype(np.uint8)
WINDOW = ("--window", "2,2")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, before: Callable[[], object] | None = None) -> tuple[int, str]:
    """Exit code and standard error of the command in a process of its own."""
    command = [sys.executable, "-m", "cenote", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, preexec_fn=before)
    return done.returncode, done.stderr


def files() -> list[Path]:
    return sorted(Path().rglob("*"))


# ----------------------------------------------------------------------------------------------------- folders

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
LIBC = ctypes.CDLL(None)


def obey_permissions() -> None:
    """As other users have to, also for root."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.fixture
def read_only(here: Path) -> Iterator[Path]:
    folder = here / "ro"
    folder.mkdir()
    zarr.create_group(str(folder / "group.zarr"))
    for path in (folder / "group.zarr", folder):
        path.chmod(0o555)
    yield folder
    for path in (folder, folder / "group.zarr"):
        path.chmod(0o755)


@pytest.mark.usefixtures("read_only")
@pytest.mark.parametrize(
    "out", ["o.npy", "o.npz", "o.npz:a", "o.png", "o.tif", "o.zarr", "o.zarr/inner", "group.zarr/a", "o.nc", "pyramid"]
)
def test_a_folder_that_cannot_be_written(out: str) -> None:
    np.save("in.npy", PICTURE)
    arguments = ["pool", "in.npy", f"ro/{out}", *WINDOW]
    if out == "o.nc":
        xr.Dataset({"t": (("y", "x"), PICTURE)}).to_netcdf("in.nc", engine="h5netcdf")
        arguments = ["pool", "in.nc", "ro/o.nc", "--window", "y=2,x=2"]
    if out == "pyramid":
        arguments = ["pyramid", "in.npy", "ro/o.zarr"]
    before = files()
    code, error = run(*arguments, before=obey_permissions)
    shown = {"o.npz:a": "o.npz", "o.zarr/inner": "o.zarr", "pyramid": "o.zarr"}.get(out, out)
    assert (code, error) == (1, f"cenote {arguments[0]}: ro/{shown} cannot be written: Permission denied\n")
    assert files() == before


@pytest.mark.parametrize("name", [3, None, "/elsewhere", b"/elsewhere"])
def test_an_error_of_another_file_is_passed_on(name: Any) -> None:
    error = OSError(errno.EIO, "broken")
    error.filename = name
    with pytest.raises(OSError, match="broken"), atomic.names_of_users("out.npy", Path(".out.1.npy")):
        raise error


def test_an_error_inside_of_a_file_of_ours_names_that_of_the_user(here: Path) -> None:
    for name in (str(here / ".out.1.zarr/c/0"), ".out.1.zarr", os.fsencode(here / ".out.1.zarr")):
        with pytest.raises(FileError, match=r"^out\.zarr cannot be written: broken$"), \
             atomic.names_of_users("out.zarr", Path(".out.1.zarr")):  # fmt: skip
            raise OSError(errno.EIO, "broken", name)


@pytest.mark.parametrize("ending", [".tif", ".zarr", ".npz"])
def test_long_names(ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", PICTURE)
    name = "x" * (255 - len(ending)) + ending
    assert cli.main(["pool", "in.npy", name, *WINDOW, "--quiet"]) == 0
    assert cli.main(["pool", "in.npy", "y" + name, *WINDOW]) == 1
    assert capsys.readouterr().err == f"cenote pool: y{name} cannot be written: File name too long\n"


def test_a_long_name_of_a_pyramid(capsys: pytest.CaptureFixture[str]) -> None:
    """Its folder of unfinished work has a longer one."""
    np.save("in.npy", PICTURE)
    name = "x" * 245 + ".zarr"
    assert cli.main(["pyramid", "in.npy", name]) == 1
    assert capsys.readouterr().err == f"cenote pyramid: {name} cannot be written: File name too long\n"


# ------------------------------------------------------------------------------------------------------- disks


@pytest.mark.parametrize("out", ["out.npy", "out.tif"])
def test_what_does_not_fit_is_not_begun(
    out: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A disk that is full for a moment is full for everybody."""
    np.save("in.npy", PICTURE)

    def never(*_: Any) -> None:
        raise AssertionError("posix_fallocate was called")

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(1000, 500, 500))
    monkeypatch.setattr(os, "posix_fallocate", never)
    assert cli.main(["pool", "in.npy", out, *WINDOW]) == 1
    assert capsys.readouterr().err == f"cenote pool: {out} cannot be written: No space left on device\n"
    assert files() == [Path("in.npy")]


class Disk:
    """A file on a disk that has room for so many bytes."""

    def __init__(self, file: Any, room: int) -> None:
        self.file, self.room = file, room

    def write(self, data: Any) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "full")
        written: int = self.file.write(data[: self.room])
        self.room -= written
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@pytest.mark.parametrize("room", [0, 1, 50, 400, 10_000])
def test_what_was_written_to_a_full_disk_can_be_read_until_the_file_is_closed(room: int) -> None:
    """HDF5 reads what it has written."""
    expected = io.BytesIO()
    with SafeFile(Path("file")) as file:
        file.file = Disk(file.file, room)  # type: ignore[assignment]
        for _ in range(60):
            begin, data = int(RNG.integers(0, 500)), RNG.bytes(int(RNG.integers(1, 80)))
            for each in (file, expected):
                each.seek(begin)
                assert each.write(data) == len(data)
                assert each.tell() == begin + len(data)
            begin = int(RNG.integers(0, 500))
            file.seek(begin)
            expected.seek(begin)
            assert file.read(100) == expected.read(100)
            assert file.seek(0, os.SEEK_END) == expected.seek(0, os.SEEK_END)
        if room < 10_000:
            with pytest.raises(OSError, match="full"):
                file.check()
        else:
            file.check()
            assert Path("file").read_bytes() == expected.getvalue()


# -------------------------------------------------------------------------------------------------- torn files


@pytest.mark.parametrize("command", [("pool", "in.zarr", "out.npy", *WINDOW), ("pyramid", "in.zarr", "out.zarr")])
def test_several_torn_chunks_are_one_line(command: tuple[str, ...]) -> None:
    """Chunks are read side by side: asyncio would log each of the others."""
    zarr.create_array("in.zarr", data=PICTURE, chunks=(10, 13))
    for chunk in (p for p in Path("in.zarr/c").rglob("*") if p.is_file()):
        chunk.write_bytes(b"junk")
    before = files()
    for _ in range(3):  # it depends on which one is read first
        code, error = run(*command)
        assert code == 1
        assert error.count("\n") == 1, error
        assert error.startswith(f"cenote {command[0]}: in.zarr: elements [")
    assert files() == before


@pytest.mark.parametrize("size", [300, 3000, 7000])
def test_a_truncated_tiff_is_one_line(size: int) -> None:
    """Also where tifffile leaves out the pages that are missing."""
    tifffile.imwrite("in.tif", np.stack([PICTURE] * 4), compression="zlib", photometric="minisblack")
    Path("in.tif").write_bytes(Path("in.tif").read_bytes()[:size])
    code, error = run("pool", "in.tif", "out.npy", *WINDOW)
    assert code == 1
    assert error.count("\n") == 1, error
    assert error.startswith("cenote pool: in.tif cannot be read: ")
    assert files() == [Path("in.tif")]


def test_logs_of_libraries_are_as_before_after_a_call() -> None:
    logger = logging.getLogger("asyncio")
    before = logger.level
    assert cli.main(["pool", "none.npy", "out.npy", *WINDOW]) == 1
    assert logger.level == before


@pytest.mark.parametrize("address", ["tls://localhost:1", "ucx://localhost:1"])
def test_a_scheduler_that_cannot_be_reached_is_one_line(address: str) -> None:
    """At once, until the process has ended: a client that could not connect waits for 20 s and prints a traceback."""
    zarr.create_array("in.zarr", data=PICTURE)
    begun = time.monotonic()
    code, error = run("pool", "in.zarr", "out.zarr", *WINDOW, "--scheduler", address)
    assert time.monotonic() - begun < 18
    assert (code, error.count("\n")) == (1, 1), error
    assert error.startswith(f"cenote pool: --scheduler {address}: ")
