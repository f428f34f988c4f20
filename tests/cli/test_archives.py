"""``file.npz:name`` as OUT: one array of an archive is written, and the others stay as they are."""

from __future__ import annotations

import errno
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cenote import cli
from cenote.files import streaming
from failing_commands import check_fails

VOLUME = np.random.default_rng(0).integers(0, 60000, (6, 14, 15)).astype(np.uint16)
MAXIMA = cn.max_pool(VOLUME, (2, 2))
POOL = ("pool", "in.npy")
WINDOW = ("--window", "2,2", "--quiet")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", VOLUME)
    return tmp_path


def test_a_name_is_needed_after_the_colon(capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("m.npz", a=VOLUME, b=VOLUME)
    expected = "m.npz: names no array: write m.npz:name, or m.npz for the whole archive"
    check_fails(capsys, expected, *POOL, "m.npz:", *WINDOW, "--overwrite")
    check_fails(capsys, expected, "pool", "m.npz:", "out.npy", *WINDOW)
    assert cli.main([*POOL, "m.npz:name", *WINDOW, "--overwrite"]) == 0
    with np.load("m.npz") as archive:
        assert sorted(archive.files) == ["a", "b", "name"]


def test_the_message_says_that_the_others_stay(capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("m.npz", a=VOLUME)
    for name in ("a", "new"):
        expected = f"m.npz exists: --overwrite puts the array {name} into it, and keeps the others"
        check_fails(capsys, expected, *POOL, f"m.npz:{name}", *WINDOW)
    check_fails(capsys, "m.npz exists: --overwrite replaces it", *POOL, "m.npz", *WINDOW)


@pytest.mark.parametrize("broken", ["archive", "member"])
def test_a_broken_archive_is_found_before_anything_is_computed(
    broken: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez_compressed("m.npz", a=VOLUME, b=np.arange(3))
    torn = bytearray(Path("m.npz").read_bytes())
    if broken == "archive":
        del torn[-30:]
    else:
        torn[500:600] = bytes(100)
    Path("m.npz").write_bytes(torn)

    def never(*_: Any) -> Any:
        raise AssertionError("something was computed")

    monkeypatch.setattr(streaming, "compute", never)
    expected = "m.npz cannot be read, and its other arrays would be lost"
    check_fails(capsys, expected, *POOL, "m.npz:c", *WINDOW, "--overwrite")


def test_an_array_that_is_replaced_may_be_broken() -> None:
    np.savez_compressed("m.npz", a=VOLUME, b=np.arange(3))
    torn = bytearray(Path("m.npz").read_bytes())
    torn[500:600] = bytes(100)
    Path("m.npz").write_bytes(torn)
    assert cli.main([*POOL, "m.npz:a", *WINDOW, "--overwrite"]) == 0
    with np.load("m.npz") as archive:
        np.testing.assert_array_equal(archive["a"], MAXIMA)
        np.testing.assert_array_equal(archive["b"], np.arange(3))


def test_the_others_stay_compressed() -> None:
    np.savez_compressed("m.npz", a=np.zeros(100_000), b=VOLUME)
    assert cli.main([*POOL, "m.npz:c", *WINDOW, "--overwrite"]) == 0
    with zipfile.ZipFile("m.npz") as archive:
        members = {member.filename: member for member in archive.infolist()}
        assert archive.testzip() is None
    assert members["a.npy"].compress_type == members["b.npy"].compress_type == zipfile.ZIP_DEFLATED
    assert members["a.npy"].compress_size < 10_000


@pytest.mark.parametrize(
    ("error", "code", "expected"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 1, "m.npz:c cannot be written: No space left on device"),
    ],
)
def test_an_end_while_the_others_are_copied(
    error: BaseException, code: int, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez("m.npz", a=VOLUME, b=VOLUME)
    before = Path("m.npz").read_bytes()

    def ends(source: Any, target: Any) -> None:
        target.write(source.read(100))
        raise error

    monkeypatch.setattr(shutil, "copyfileobj", ends)
    assert cli.main([*POOL, "m.npz:c", *WINDOW, "--overwrite"]) == code
    assert capsys.readouterr().err == f"cenote pool: {expected}\n"
    assert sorted(p.name for p in Path().iterdir()) == ["in.npy", "m.npz"]
    assert Path("m.npz").read_bytes() == before


def test_a_link_is_replaced_and_its_archive_stays() -> None:
    np.savez("real.npz", a=np.arange(5))
    Path("link.npz").symlink_to("real.npz")
    before = Path("real.npz").read_bytes()
    assert cli.main([*POOL, "link.npz:b", *WINDOW, "--overwrite"]) == 0
    assert Path("real.npz").read_bytes() == before
    assert not Path("link.npz").is_symlink()
    with np.load("link.npz") as archive:
        assert sorted(archive.files) == ["a", "b"]
