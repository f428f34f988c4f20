"""The command when something goes wrong: full disks, signals, torn files, missing libraries, other data in the way."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from PIL import Image

import cenote as cn
from cenote import cli
from cenote.cli.signals import stoppable
from cenote.files import atomic, streaming
from cenote.files.formats import open_source
from cenote.files.interrupts import deferred
from cenote.files.lazy import FileArray
from failing_commands import check_fails

RNG = np.random.default_rng(0)
VOLUME = RNG.integers(0, 60000, (21, 34, 45)).astype(np.uint16)
WINDOW = ("--window", "2,2")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names() -> list[str]:
    return sorted(p.name for p in Path().iterdir())


# ---------------------------------------------------------------------------------------------------- full disks


@pytest.fixture
def full_disk(here: Path) -> Iterator[str]:
    """A folder ``small`` into which no more than a megabyte can be written, and what the system says then."""
    small = here / "small"
    small.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)]
    if subprocess.run(command, check=False, capture_output=True).returncode == 0:
        yield "No space left on device"
        subprocess.run(["umount", str(small)], check=True)
        return
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    yield "File too large"
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("out", ["out.npy", "out.npz", "out.tif", "out.png", "out.zarr", "out.zarr/inner/array"])
def test_a_full_disk(out: str, full_disk: str, capsys: pytest.CaptureFixture[str]) -> None:
    zarr.create_array("in.zarr", data=RNG.integers(0, 65536, (1500, 1500)).astype(np.uint16), chunks=(500, 500))
    if out.endswith("array"):
        zarr.create_group("small/out.zarr")
    options = ["--chunks", "1500,1500"] if ".zarr" in out else []
    check_fails(
        capsys, f"small/{out} cannot be written: {full_disk}", "pool", "in.zarr", f"small/{out}", "--window", "1,1",
        "--quiet", *options,
    )  # fmt: skip


@pytest.mark.parametrize("full", [False, True])
def test_a_netcdf_file_on_a_full_disk(full: bool, full_disk: str) -> None:
    """In a process of its own: HDF5 crashes if it cannot write what it closes."""
    noise = RNG.integers(0, 65536, (1500, 1500)).astype(np.uint16)
    xr.Dataset({"t": (("y", "x"), noise)}).to_netcdf("in.nc", engine="h5netcdf")
    if full:
        with contextlib.suppress(OSError):
            Path("small/full").write_bytes(bytes(1 << 21))
    before = sorted(Path().rglob("*"))
    command = [sys.executable, "-m", "cenote", "pool", "in.nc", "small/out.nc", "--window", "x=1", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    expected = f"cenote pool: small/out.nc cannot be written: {full_disk}\n"
    assert (done.returncode, done.stderr) == (1, expected)
    assert sorted(Path().rglob("*")) == before


def test_a_boolean_tiff_on_a_full_disk(full_disk: str, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", RNG.random((4000, 4000)) < 0.5)
    expected = f"small/out.tif cannot be written: {full_disk}"
    check_fails(capsys, expected, "pool", "in.npy", "small/out.tif", "--window", "1,1", "--quiet")


# ------------------------------------------------------------------------------------------------------ signals

SCRIPT = """
import signal, sys
from cenote.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which the tests ignore under nohup
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("signals", "codes"),
    [
        ([signal.SIGTERM], {143}),
        ([signal.SIGHUP], {129}),
        ([signal.SIGINT] * 3, {130}),
        ([signal.SIGTERM, signal.SIGINT], {143, 130}),  # Python handles the lower number first if both are pending
    ],
)
@pytest.mark.parametrize("command", ["pool", "pyramid"])
def test_a_signal_leaves_nothing_behind(command: str, signals: list[signal.Signals], codes: set[int]) -> None:
    zarr.create_array("in.zarr", shape=(2048, 512, 512), chunks=(64, 64, 64), dtype="f4", fill_value=1.0)
    more = ["--op", "smooth_max", "--window", "9,9,9", "--stride", "1"] if command == "pool" else ["--op", "median"]
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, command, "in.zarr", "out.zarr", "--quiet", *more],
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while names() == ["in.zarr"] and time.monotonic() < deadline:
        time.sleep(0.02)
    assert names() != ["in.zarr"]
    time.sleep(0.2)
    for number in signals:
        process.send_signal(number)
        time.sleep(0.05)
    _, error = process.communicate(timeout=60)
    assert process.returncode in codes
    word = "interrupted" if process.returncode == 130 else "terminated"
    assert error == f"cenote {command}: {word}\n"
    assert names() == ["in.zarr"]


def terminated() -> None:
    with stoppable():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)


def test_handlers_of_signals_are_restored() -> None:
    def handlers() -> list[Any]:
        return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]

    before = handlers()
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup
    try:
        with stoppable():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            terminated()
    finally:
        signal.signal(signal.SIGHUP, ignored)
    assert handlers() == before


def test_what_is_being_written_is_waited_for() -> None:
    done: list[str] = []

    def run() -> None:
        with stoppable(), deferred():
            os.kill(os.getpid(), signal.SIGTERM)
            with deferred():
                time.sleep(0.05)
            done.append("written")
        done.append("not reached")

    with pytest.raises(KeyboardInterrupt):
        run()
    assert done == ["written"]
    with stoppable(), deferred():  # it is not raised again
        time.sleep(0.01)


# ------------------------------------------------------------------------------------------------- files and folders


def test_torn_files(capsys: pytest.CaptureFixture[str]) -> None:
    zarr.create_array("chunk.zarr", data=VOLUME, chunks=(7, 8, 9))
    zarr.create_array("shard.zarr", data=VOLUME, chunks=(4, 4, 4), shards=(8, 16, 16))
    zarr.create_array("meta.zarr", data=VOLUME)
    np.save("short.npy", VOLUME)
    for name in ("chunk", "shard"):
        torn = next(p for p in Path(f"{name}.zarr/c").rglob("*") if p.is_file())
        torn.write_bytes(torn.read_bytes()[:50])
    Path("meta.zarr/zarr.json").write_text("{")
    Path("short.npy").write_bytes(Path("short.npy").read_bytes()[:500])
    for source in ("chunk.zarr", "shard.zarr", "meta.zarr", "short.npy"):
        check_fails(capsys, source, "pool", source, "out.zarr", *WINDOW)
        check_fails(capsys, source, "pyramid", source, "out.zarr")
    check_fails(capsys, "chunk.zarr: elements [", "pool", "chunk.zarr", "out.npy", *WINDOW)


def test_other_arrays_and_groups_are_safe(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", VOLUME)
    zarr.create_group("group.zarr").create_array("a/b", data=VOLUME)
    zarr.create_array("array.zarr", data=VOLUME)
    Path("folder.zarr").mkdir()
    for expected, out in [
        ("group.zarr/a is a group, which holds b", "group.zarr/a"),
        ("group.zarr is a group, which holds a", "group.zarr"),
        ("group.zarr/a/b is an array, not a group", "group.zarr/a/b/c"),
        ("array.zarr is an array, not a group", "array.zarr/a"),
        ("folder.zarr is no zarr store", "folder.zarr/a"),
    ]:
        check_fails(capsys, expected, "pool", "in.npy", out, *WINDOW, "--overwrite")
    check_fails(capsys, "group that is no image, and holds a", "pyramid", "in.npy", "group.zarr", "--overwrite")
    check_fails(capsys, "does not fit", "pool", "in.npy", "group.zarr/new/group/c", "--window", "99,2")
    np.testing.assert_array_equal(zarr.open_group("group.zarr", mode="r")["a/b"][...], VOLUME)  # type: ignore[index]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_is_replaced(can_exchange: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not can_exchange:
        monkeypatch.setattr(atomic, "exchange", lambda a, b: False)
    np.save("in.npy", VOLUME)
    zarr.create_array("out.zarr", data=VOLUME)
    assert cli.main(["pool", "in.npy", "out.zarr", *WINDOW, "--overwrite", "--quiet"]) == 0
    np.testing.assert_array_equal(zarr.open_array("out.zarr")[...], cn.max_pool(VOLUME, (2, 2)))
    assert names() == ["in.npy", "out.zarr"]


def test_two_folders_are_exchanged_in_one_step() -> None:
    for name in "ab":
        Path(name).mkdir()
        (Path(name) / name).touch()
    assert atomic.exchange(Path("a"), Path("b"))
    assert sorted(map(str, Path().rglob("*"))) == ["a", "a/b", "b", "b/a"]
    assert not atomic.exchange(Path("a"), Path("none"))


def test_values_of_flags(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", VOLUME)
    check_fails(
        capsys, "one size of at least 1 for each of the axes zyx", "pyramid", "in.npy", "o.zarr", "--chunks", "4,4"
    )
    check_fails(capsys, "one size of at least 1", "pool", "in.npy", "o.zarr", *WINDOW, "--chunks", "0,2,2")
    check_fails(capsys, "o.npy has no chunks", "pool", "in.npy", "o.npy", *WINDOW, "--chunks", "2,2,2")
    check_fails(capsys, "can be pooled, but not this", "pyramid", "in.nc", "o.zarr")
    check_fails(capsys, "write --window 3,3 for the last two", "pool", "in.npy", "o.zarr", "--window", "3")
    np.save("one.npy", VOLUME[0, 0])
    check_fails(capsys, "write --window 2 --axes 0 for the only one", "pool", "one.npy", "o.npy", "--window", "2")
    assert cli.main(["pool", "one.npy", "o.npy", *["--window", "2", "--axes", "0", "--quiet"]]) == 0
    np.testing.assert_array_equal(np.load("o.npy"), cn.max_pool(VOLUME[0, 0], (2,)))
    for flag, value in (("--threads", "0"), ("--threads", "x"), ("--threads", "5000"), ("--window", "2,x")):
        with pytest.raises(SystemExit) as ended:
            cli.main(["pool", "in.npy", "o.zarr", *WINDOW, flag, value])
        assert ended.value.code == 2
        assert f"argument {flag}: '{value}'" in capsys.readouterr().err


def test_dtypes_that_cannot_be_pooled(capsys: pytest.CaptureFixture[str]) -> None:
    dtypes: list[Any] = ["M8[s]", "U3", [("a", "i4")], "V2"]
    for i, dtype in enumerate(dtypes):
        np.save(f"{i}.npy", np.zeros((8, 8), dtype))
        check_fails(capsys, "x has dtype", "pool", f"{i}.npy", "out.npy", *WINDOW)
        check_fails(capsys, "has dtype", "pyramid", f"{i}.npy", "out.zarr")


def test_a_window_over_colours_warns(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", np.zeros((20, 20, 3), np.uint8))
    assert cli.main(["pool", "in.npy", "out.npy", *WINDOW, "--quiet"]) == 0
    assert capsys.readouterr().err == (
        "cenote pool: warning: --window 2,2 of 20×20×3 runs over colours, add --axes 0,1\n"
    )
    assert cli.main(["pool", "in.npy", "more.npy", *WINDOW, "--axes", "0,1", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_zarr_in_the_folder_above(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zarr.create_array("in.zarr", data=VOLUME)
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    assert cli.main(["pool", "../in.zarr", "../out.zarr", *WINDOW, "--quiet"]) == 0
    assert sorted(p.name for p in here.iterdir()) == ["below", "in.zarr", "out.zarr"]


def test_any_exception_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", VOLUME)

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("a bug of\n ours")

    monkeypatch.setattr(streaming, "compute", broken)
    check_fails(capsys, "ZeroDivisionError: a bug of ours", "pool", "in.npy", "out.npy", *WINDOW)


def test_large_pictures_are_not_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    Image.fromarray(VOLUME[0].astype(np.uint8)).save("in.png")
    assert cli.main(["pool", "in.png", "out.png", *WINDOW, "--quiet"]) == 0
    assert names() == ["in.png", "out.png"]


# ------------------------------------------------------------------------------------------------ missing libraries


@pytest.mark.parametrize(
    ("module", "package", "extra", "arguments"),
    [
        ("zarr", "zarr", "files", ("pool", "in.npy", "out.zarr", *WINDOW)),
        ("zarr", "zarr", "files", ("pool", "in.zarr", "out.npy", *WINDOW)),
        ("zarr", "zarr", "files", ("pyramid", "in.npy", "out.zarr")),
        ("zarr", "zarr", "files", ("info", "in.zarr")),
        ("PIL.Image", "Pillow", "files", ("pool", "in.png", "out.npy", *WINDOW)),
        ("PIL.Image", "Pillow", "files", ("pool", "in.npy", "out.png", *WINDOW)),
        ("tifffile", "tifffile", "files", ("pool", "in.npy", "out.tif", *WINDOW)),
        ("xarray", "xarray", "files", ("pool", "in.nc", "out.nc", "--window", "y=2")),
        ("h5netcdf", "h5netcdf", "files", ("info", "in.nc")),
        ("dask", "dask", "dask", ("pool", "in.nc", "out.nc", "--window", "y=2")),
        (
            "distributed",
            "dask.distributed",
            "dask",
            ("pool", "in.zarr", "out.zarr", *WINDOW, "--scheduler", "tcp://x:1"),
        ),
    ],
)
def test_a_missing_library_is_named(
    module: str, package: str, extra: str, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    np.save("in.npy", VOLUME[0])
    zarr.create_array("in.zarr", data=VOLUME)
    Image.fromarray(VOLUME[0].astype(np.uint8)).save("in.png")
    Path("in.nc").touch()
    monkeypatch.setitem(sys.modules, module, None)
    expected = f"{package} is needed for this and is not installed: pip install 'cenote[{extra}]'"
    check_fails(capsys, expected, *arguments)


# ---------------------------------------------------------------------------------------------------------- blocks


@pytest.mark.parametrize("unit", [(1, 1, 1), (3, 5, 7), (32, 32, 32)])
def test_chunks_are_read_once(unit: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for targets such as .npy, whose own pieces are single elements."""
    zarr.create_array("in.zarr", shape=(128, 256, 256), chunks=(32, 32, 32), dtype="u1")
    source = open_source("in.zarr")
    for window, stride in (((2, 2, 2), 2), ((3, 3, 3), 1)):
        pending = cn.max_pool(FileArray(source), window, stride=stride)
        read = 0
        for ranges in streaming.plan_blocks(pending, unit):
            _, (part,) = pending.op.block(ranges, (source.shape, source.dtype))
            read += np.prod([-(-s.stop // 32) - s.start // 32 for s in part])
        aligned = stride == 2 and unit != (3, 5, 7)  # windows that overlap reach into the next chunks
        assert read <= (1 if aligned else 2) * (4 * 8 * 8)


def test_large_blocks_are_computed_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    zarr.create_array("in.zarr", data=VOLUME, chunks=(5, 34, 45))
    monkeypatch.setattr(streaming, "BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr(streaming, "LEAST_BYTES", 1 << 14)
    running, most = [0], [0]
    original = streaming.compute

    def compute(*given: Any) -> Any:
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.02)
        running[0] -= 1
        return original(*given)

    monkeypatch.setattr(streaming, "compute", compute)
    for memory, expected in ((1 << 30, 4), (1 << 14, 1)):
        monkeypatch.setattr(streaming, "MEMORY", memory)
        most[0] = 0
        assert cli.main(["pool", "in.zarr", "out.zarr", *WINDOW, "--threads", "4", "--overwrite", "--quiet"]) == 0
        assert most[0] == expected
