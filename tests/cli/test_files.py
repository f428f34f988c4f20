"""``cenote pool``, ``conv`` and ``info``: every format with the bits of the call on one array, faults in one line."""

from __future__ import annotations

import os
import pickle
import pty
import select
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
import zarr
from PIL import Image

import cenote as cn
from cenote import cli
from cenote.files import streaming
from failing_commands import check_fails

RNG = np.random.default_rng(0)
VOLUME = RNG.integers(0, 60000, (21, 34, 45)).astype(np.uint16)
PICTURE = RNG.integers(0, 256, (31, 42, 3)).astype(np.uint8)
GRAY = RNG.integers(0, 256, (31, 42)).astype(np.uint8)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and blocks small enough that there are many."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(streaming, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(streaming, "LEAST_BYTES", 4096)
    return tmp_path


def save(name: str, array: Any, **options: Any) -> None:
    """``array`` in a file of the format that its ending says."""
    if name.endswith(".npy"):
        np.save(name, array)
    elif name.endswith(".npz"):
        np.savez(name, array)
    elif name.endswith(".tif"):
        tifffile.imwrite(name, array, **options)
    elif name.endswith(".zarr"):
        zarr.create_array(name, data=array, **({"chunks": tuple(max(1, n // 3) for n in array.shape)} | options))
    else:
        Image.fromarray(array).save(name)


def load(name: str) -> Any:
    if name.endswith(".npy"):
        return np.load(name)
    if name.endswith(".npz"):
        return np.load(name)["arr_0"]
    if name.endswith(".tif"):
        return tifffile.imread(name)
    return zarr.open_array(name, mode="r")[...] if ".zarr" in name else np.asarray(Image.open(name))


def run(*arguments: str) -> int:
    return cli.main([*arguments])


# ---------------------------------------------------------------------------------------------------- formats


@pytest.mark.parametrize("out", ["out.npy", "out.npz", "out.tif", "out.zarr"])
@pytest.mark.parametrize("source", ["in.npy", "in.npz", "in.tif", "in.zarr"])
def test_every_format_in_and_out(source: str, out: str) -> None:
    save(source, VOLUME)
    assert run("pool", source, out, "--window", "2,3", "--stride", "1,2", "--padding", "0:1,1:0", "--quiet") == 0
    expected = cn.max_pool(VOLUME, (2, 3), stride=(1, 2), padding=((0, 1), (1, 0)))
    np.testing.assert_array_equal(load(out), expected)
    assert sorted(p.name for p in Path().iterdir()) == sorted([source, out])


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("op", ["max", "min", "avg", "sum", "lp", "smooth_max", "median", "mode"])
def test_every_operation_in_blocks_has_the_bits_of_the_whole(op: str, threads: str) -> None:
    x: Any = RNG.standard_normal((23, 19, 17)).astype(np.float32)
    x[::5, ::3, ::4] = np.nan
    if op == "mode":
        x = RNG.integers(0, 4, x.shape)
    save("in.zarr", x, chunks=(4, 7, 5))
    extra = ["--nan", "omit"] if op in ("max", "min", "avg", "sum", "median") else []
    assert run("pool", "in.zarr", "out.zarr", "--op", op, "--window", "3,2,2", "--stride", "2", "--threads", threads,
               "--chunks", "3,3,3", "--ceil-mode", "--quiet", *extra) == 0  # fmt: skip
    options = {"nan": "omit"} if extra else {}
    expected = getattr(cn, f"{op}_pool")(x, (3, 2, 2), stride=2, ceil_mode=True, **options)
    np.testing.assert_array_equal(load("out.zarr"), expected)
    assert zarr.open_array("out.zarr", mode="r").chunks == (3, 3, 3)


def test_a_colour_picture_is_pooled_over_rows_and_columns_and_keeps_its_dtype() -> None:
    save("in.png", PICTURE)
    assert run("pool", "in.png", "out.png", "--op", "avg", "--window", "2,2", "--quiet") == 0
    np.testing.assert_array_equal(load("out.png"), cn.avg_pool(PICTURE, (2, 2), axes=(0, 1), dtype=np.uint8))
    assert run("pool", "in.png", "out.npy", "--op", "avg", "--window", "2,2", "--dtype", "float32", "--quiet") == 0
    np.testing.assert_array_equal(load("out.npy"), cn.avg_pool(PICTURE, (2, 2), axes=(0, 1), dtype=np.float32))


@pytest.mark.parametrize("picture", [GRAY, GRAY.astype(np.uint16) * 257, GRAY > 99, PICTURE])
def test_pictures_survive(picture: Any) -> None:
    save("in.png", picture)
    assert run("pool", "in.png", "out.png", "--window", "1,1", "--quiet") == 0
    np.testing.assert_array_equal(load("out.png"), picture)


def test_jpeg_can_be_read_and_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    save("in.jpg", PICTURE)
    assert run("pool", "in.jpg", "out.png", "--window", "2,2", "--quiet") == 0
    np.testing.assert_array_equal(load("out.png"), cn.max_pool(np.asarray(Image.open("in.jpg")), (2, 2), axes=(0, 1)))
    check_fails(capsys, "JPEG changes the values", "pool", "in.jpg", "out.jpg", "--window", "2,2")


def test_a_turned_photo_is_turned_upright() -> None:
    image = Image.fromarray(PICTURE)
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was on its side
    image.save("in.png", exif=exif)
    assert run("pool", "in.png", "out.png", "--window", "1,1", "--quiet") == 0
    np.testing.assert_array_equal(load("out.png"), np.rot90(PICTURE, -1))


def test_colour_tiffs_and_compressed_ones() -> None:
    save("in.tif", PICTURE, photometric="rgb")
    assert run("pool", "in.tif", "out.tif", "--window", "2,2", "--quiet") == 0
    np.testing.assert_array_equal(load("out.tif"), cn.max_pool(PICTURE, (2, 2), axes=(0, 1)))
    with tifffile.TiffFile("out.tif") as file:
        assert file.series[0].axes == "YXS"
    save("zip.tif", VOLUME, compression="zlib")
    assert run("pool", "zip.tif", "out.npy", "--window", "2,2", "--quiet") == 0
    np.testing.assert_array_equal(load("out.npy"), cn.max_pool(VOLUME, (2, 2)))


def test_an_array_of_an_npz_by_name() -> None:
    np.savez("in.npz", a=GRAY, b=VOLUME)
    assert run("pool", "in.npz:b", "out.npz:pooled", "--window", "2,2", "--quiet") == 0
    np.testing.assert_array_equal(np.load("out.npz")["pooled"], cn.max_pool(VOLUME, (2, 2)))


@pytest.mark.parametrize("number", [2, 3])
def test_a_zarr_keeps_its_format_attributes_names_chunks_and_compression(number: int) -> None:
    options: dict[str, Any] = {"zarr_format": number, "attributes": {"unit": "K", "_ARRAY_DIMENSIONS": ["z", "y", "x"]}}
    if number == 3:
        options |= {"dimension_names": ("z", "y", "x"), "shards": (6, 16, 16)}
    a = zarr.create_array("in.zarr", shape=VOLUME.shape, dtype="u2", chunks=(3, 8, 8), **options)
    a[...] = VOLUME
    assert run("pool", "in.zarr", "out.zarr", "--window", "2,2,2", "--quiet") == 0
    b: Any = zarr.open_array("out.zarr", mode="r")
    np.testing.assert_array_equal(b[...], cn.max_pool(VOLUME, (2, 2, 2)))
    assert (b.metadata.zarr_format, b.attrs.asdict()) == (number, a.attrs.asdict())
    assert (b.chunks, b.shards) == ((3, 8, 8), (6, 16, 16) if number == 3 else None)
    assert b.compressors == a.compressors
    if number == 3:
        assert b.metadata.dimension_names == ("z", "y", "x")


def test_an_array_of_a_group_into_a_group() -> None:
    group = zarr.create_group("in.zarr")
    group.create_array("a/b", data=VOLUME, chunks=(8, 8, 8))
    assert run("pool", "in.zarr/a/b", "out.zarr/x/y", "--window", "2,2", "--quiet") == 0
    assert run("pool", "in.zarr/a/b", "out.zarr/x/z", "--op", "min", "--window", "2,2", "--quiet") == 0
    out: Any = zarr.open_group("out.zarr", mode="r")
    np.testing.assert_array_equal(out["x/y"][...], cn.max_pool(VOLUME, (2, 2)))
    np.testing.assert_array_equal(out["x/z"][...], cn.min_pool(VOLUME, (2, 2)))


@pytest.mark.filterwarnings("ignore:Consolidated metadata")  # of zarr itself, for what the test makes
@pytest.mark.parametrize("number", [2, 3])
def test_consolidated_metadata_know_the_new_array(number: Any) -> None:
    zarr.create_group("in.zarr", zarr_format=number).create_array("a", data=VOLUME)
    zarr.consolidate_metadata("in.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run("pool", "in.zarr/a", "in.zarr/b/c", "--window", "2,2", "--quiet") == 0
    group: Any = zarr.open_consolidated("in.zarr")
    np.testing.assert_array_equal(group["b/c"][...], cn.max_pool(VOLUME, (2, 2)))


def test_conv() -> None:
    x = RNG.standard_normal((20, 21, 3)).astype(np.float32)
    w = RNG.standard_normal((3, 3, 3, 4)).astype(np.float32)
    bias = RNG.standard_normal(4).astype(np.float32)
    for name, array in (("x", x), ("w", w), ("b", bias)):
        np.save(f"{name}.npy", array)
    assert (
        run("conv", "x.npy", "w.npy", "y.zarr", "--padding", "same", "--stride", "2", "--bias", "b.npy", "--quiet") == 0
    )
    expected = cn.conv(x, w, padding="same", stride=2, bias=bias)
    np.testing.assert_allclose(load("y.zarr"), expected, rtol=1e-5, atol=1e-5)
    np.save("x.npy", np.moveaxis(x, -1, 0))
    np.save("w.npy", np.moveaxis(w, (2, 3), (1, 0)))
    assert run("conv", "x.npy", "w.npy", "z.npy", "--layout", "channels_first", "--dilation", "2", "--quiet") == 0
    np.testing.assert_allclose(load("z.npy"), np.moveaxis(cn.conv(x, w, dilation=2), -1, 0), rtol=1e-4, atol=1e-4)


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    save("in.zarr", VOLUME, chunks=(7, 8, 9), dimension_names=("z", "y", "x"))
    assert run("info", "in.zarr", "--window", "2,2,2", "--op", "avg") == 0
    printed = capsys.readouterr().out
    for words in (
        "zarr format 3, chunks (7, 8, 9)",
        "(21, 34, 45)",
        "z, y, x",
        "uint16, 62.8 KiB",
        "(10, 17, 22)",
        "float64",
    ):
        assert words in printed


def test_a_summary_line_and_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    save("in.npy", VOLUME)
    assert run("pool", "in.npy", "out.npy", "--window", "2,2") == 0
    assert capsys.readouterr() == ("out.npy: 21×17×22 of uint16\n", "")  # no bar in a pipe
    assert run("pool", "in.npy", "more.npy", "--window", "2,2", "--quiet") == 0
    assert capsys.readouterr() == ("", "")


# ----------------------------------------------------------------------------------------------------- faults

WINDOW = ("--window", "2,2")


def test_faults_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    save("in.npy", VOLUME)
    save("in.png", PICTURE)
    save("in.zarr", VOLUME)
    zarr.create_group("group.zarr").create_array("a", data=VOLUME)
    Path("text.npy").write_text("not an array")
    Path("cut.png").write_bytes(Path("in.png").read_bytes()[:100])
    np.savez("two.npz", a=VOLUME, b=VOLUME)
    Path("folder").mkdir()
    with open("object.npy", "wb") as file:
        np.save(file, np.array([{}], object), allow_pickle=True)
    Path("pickle.npy").write_bytes(pickle.dumps([1, 2]))
    for expected, *arguments in [
        ("there is no such file", "none.npy", "out.npy"),
        ("there is no such file", "none.zarr", "out.npy"),
        ("'.txt' is not known", "in.txt", "out.npy"),
        ("'.txt' cannot be written", "in.npy", "out.txt"),
        ("(none)", "in", "out.npy"),
        ("it is not a .npy file", "text.npy", "out.npy"),
        ("truncated", "cut.png", "out.npy"),
        ("pickled objects", "object.npy", "out.npy"),
        ("pickled objects", "pickle.npy", "out.npy"),
        ("choose one, such as two.npz:a", "two.npz", "out.npy"),
        ("has no array 'c'", "two.npz:c", "out.npy"),
        ("is a group: choose one of its arrays (group.zarr/a)", "group.zarr", "out.npy"),
        ("there is no zarr array", "group.zarr/b", "out.npy"),
        (".. is not possible", "group.zarr/../in.zarr", "out.npy"),
        (".. is not possible", "in.npy", "out.zarr/../x"),
        ("in.zarr exists: --overwrite replaces it", "in.npy", "in.zarr"),
        ("is the input itself", "in.npy", "./in.npy", "--overwrite"),
        ("lies inside the input", "in.zarr", "in.zarr/inside"),
        ("there is no folder", "in.npy", "nowhere/out.npy"),
        ("is a folder", "in.npy", "folder"),
        ("does not fit on axis 1: it needs 50", "in.npy", "out.npy", "--window", "50,2"),
        ("--p is for --op lp", "in.npy", "out.npy", "--p", "3"),
        ("--beta is for --op smooth_max", "in.npy", "out.npy", "--beta", "3"),
        ("--nan is for --op", "in.npy", "out.npy", "--op", "lp", "--nan", "omit"),
        ("dtype='abc'", "in.npy", "out.npy", "--op", "avg", "--dtype", "abc"),
        ("a PNG holds uint8", "in.png", "out.png", "--op", "avg", "--dtype", "float32"),
        ("a PNG has shape", "in.npy", "out.png"),
        ("--chunks 2,2: the result has 3 axes", "in.npy", "out.zarr", "--chunks", "2,2"),
        ("by name needs a netCDF file", "in.npy", "out.npy", "--window", "y=2"),
        ("--var is for netCDF", "in.npy", "out.npy", "--var", "t"),
        ("IN and OUT must both end with .nc", "in.npy", "out.nc", "--window", "y=2"),
        ("--scheduler needs zarr files", "in.npy", "out.npy", "--scheduler", "tcp://127.0.0.1:9"),
        ("--scheduler tcp://127.0.0.1:9", "in.zarr", "out.zarr", "--scheduler", "tcp://127.0.0.1:9"),
    ]:
        check_fails(capsys, expected, "pool", *arguments[:2], *WINDOW, *arguments[2:])


def test_deep_colour_pngs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    save("in.png", PICTURE)
    data = bytearray(Path("in.png").read_bytes())
    data[24] = 16
    Path("in.png").write_bytes(data)
    check_fails(capsys, "16 bits per colour", "pool", "in.png", "out.png", *WINDOW)


@pytest.mark.parametrize("out", ["out.npy", "out.zarr", "out.npz", "out.tif"])
def test_overwrite_replaces_only_when_it_is_done(out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    save("in.npy", VOLUME)
    save(out, VOLUME)
    original = streaming.compute

    def fails(*arguments: Any) -> Any:
        if fails.calls == (0 if out == "out.zarr" else 3):  # type: ignore[attr-defined]
            raise OSError(28, "No space left on device")
        fails.calls += 1  # type: ignore[attr-defined]
        return original(*arguments)

    fails.calls = 0  # type: ignore[attr-defined]
    monkeypatch.setattr(streaming, "compute", fails)
    assert run("pool", "in.npy", out, *WINDOW, "--overwrite", "--quiet") == 1
    np.testing.assert_array_equal(load(out), VOLUME)
    monkeypatch.setattr(streaming, "compute", original)
    assert run("pool", "in.npy", out, *WINDOW, "--overwrite", "--quiet") == 0
    np.testing.assert_array_equal(load(out), cn.max_pool(VOLUME, (2, 2)))
    assert sorted(p.name for p in Path().iterdir()) == sorted(["in.npy", out])


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    save("in.tif", VOLUME)
    monkeypatch.setitem(sys.modules, "tifffile", None)
    check_fails(capsys, "pip install 'cenote[files]'", "pool", "in.tif", "out.npy", *WINDOW)


def test_ctrl_c_leaves_nothing_behind() -> None:
    zarr.create_array("in.zarr", shape=(4096, 512, 512), chunks=(64, 64, 64), dtype="f4", fill_value=1.0)
    # A process that a shell starts in the background ignores SIGINT, and its children inherit that.
    start = """
import signal, sys
from cenote.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main())
"""
    command = [sys.executable, "-c", start, "pool", "in.zarr", "out.zarr", "--op", "smooth_max", "--window", "9,9,9",
               "--stride", "1", "--quiet"]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not any(p.name.startswith(".out") for p in Path().iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "cenote pool: interrupted\n")
    assert [p.name for p in Path().iterdir()] == ["in.zarr"]


def test_a_bar_on_a_terminal() -> None:
    save("in.zarr", np.zeros((64, 128, 128), np.float32), chunks=(8, 32, 32))
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "cenote", "pool", "in.zarr", "out.zarr", *WINDOW]
    done = subprocess.run(command, stderr=slave, stdout=subprocess.PIPE, text=True, check=False)
    printed = os.read(master, 1 << 16).decode() if select.select([master], [], [], 10)[0] else ""
    os.close(slave)
    os.close(master)
    assert done.returncode == 0
    assert "pool" in printed
    assert "B/s" in printed
