"""netCDF files: what is read and written around a function of a DataArray, and what ``cenote info`` says of them."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
import xarray as xr

from cenote import cli
from cenote.files import netcdf
from cenote.files.base import FileError

FIELD = np.random.default_rng(0).standard_normal((4, 12, 16)).astype(np.float32)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    times = np.arange("2020-01-01", "2020-01-05", dtype="M8[D]").astype("M8[ns]")
    dataset = xr.Dataset(
        {"t": (("time", "lat", "lon"), FIELD, {"units": "K"}), "p": (("lat",), np.arange(12.0))},
        {"time": times, "lat": np.linspace(-90, 90, 12), "lon": np.linspace(0, 350, 16)},
        {"title": "a field"},
    )
    dataset.to_netcdf("in.nc", engine="h5netcdf", encoding={"t": {"chunksizes": (1, 6, 8), "zlib": True}})
    return tmp_path


def coarsen(array: Any, window: dict[str, int]) -> Any:
    """What cn.max_pool of a DataArray gives, by xarray alone."""
    return array.coarsen(window).max()


def pool(out: str = "out.nc", function: Any = coarsen, **options: Any) -> Any:
    how: dict[str, Any] = {"variable": "t", "overwrite": False, "threads": 2, "scheduler": None, "quiet": True}
    return netcdf.pool("in.nc", out, function, {"window": {"lat": 2, "lon": 2}}, **(how | options))


def test_everything_but_the_values_is_kept() -> None:
    assert pool() == ((4, 6, 8), np.float32)
    with xr.open_dataset("in.nc", engine="h5netcdf") as before, xr.open_dataset("out.nc", engine="h5netcdf") as after:
        xr.testing.assert_identical(after["t"], before["t"].coarsen(lat=2, lon=2).max())
        assert after.attrs == {"title": "a field"}
        assert (after["t"].encoding["chunksizes"], after["t"].encoding["zlib"]) == ((1, 6, 8), True)
    pool("other.nc", chunks=(2, 3, 99))
    with xr.open_dataset("other.nc", engine="h5netcdf") as other:
        assert other["t"].encoding["chunksizes"] == (2, 3, 8)


def test_it_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a variable that is stored in one piece."""
    monkeypatch.setattr(netcdf, "CHUNK", "1KiB")
    xr.Dataset({"t": (("lat", "lon"), np.ones((64, 64), np.float32))}).to_netcdf("in.nc", engine="h5netcdf")
    seen: list[Any] = []

    def look(array: Any, window: Any) -> Any:
        seen.append(array.chunks)
        return coarsen(array, window)

    pool(function=look)
    assert len(seen[0][0]) > 1
    assert dask.config.get("array.chunk-size") != "1KiB"


def test_after_an_error_nothing_is_left() -> None:
    def fails(array: Any, window: Any) -> Any:
        return array.map_blocks(lambda block: 1 / 0, template=array)

    for error, options in (
        (ZeroDivisionError, {"function": fails}),
        (FileError, {"variable": "none"}),
        (FileError, {"variable": None}),
        (ValueError, {"chunks": (2, 2)}),
        (FileError, {"scheduler": "nowhere"}),
    ):
        with pytest.raises(error):
            pool(**options)
        assert [p.name for p in Path().iterdir()] == ["in.nc"]


def test_a_bar_on_a_terminal() -> None:
    code = """
import sys
from cenote.files import netcdf
how = {"variable": "t", "overwrite": False, "threads": 2, "scheduler": None, "quiet": False}
netcdf.pool("in.nc", "out.nc", lambda x, window: x.coarsen(window).max(), {"window": {"lat": 2, "lon": 2}}, **how)
"""
    master, slave = pty.openpty()
    done = subprocess.run([sys.executable, "-c", code], stderr=slave, check=False)
    printed = os.read(master, 1 << 16).decode() if select.select([master], [], [], 10)[0] else ""
    os.close(slave)
    os.close(master)
    assert done.returncode == 0, printed
    assert "pool" in printed
    assert "task/s" in printed


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", "in.nc"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "in.nc: netCDF", "variable  t", "shape     (4, 12, 16)  time, lat, lon", "dtype     float32, 3.0 KiB",
        "variable  p", "shape     (12,)  lat", "dtype     float64, 96 bytes",
    ]  # fmt: skip
    assert cli.main(["info", "in.nc", "--window", "lat=3,lon=2", "--stride", "lat=1", "--padding", "lon=0:2"]) == 0
    printed = capsys.readouterr().out
    assert "max_pool  gives shape (4, 10, 9) of float32" in printed
    assert printed.count("gives shape") == 1  # p has no lon
    for expected, *more in [
        ("give --window lat=2,lon=2", "--window", "2,2"),
        ("the dimensions are time, lat, lon", "--window", "x=2", "--var", "t"),
        ("has no variable 'q', it has t, p", "--var", "q"),
        ("does not fit", "--window", "lat=99"),
    ]:
        assert cli.main(["info", "in.nc", *more]) == 1
        assert expected in capsys.readouterr().err


# ------------------------------------------------------------------------------------- in a process of its own

SLOWLY = """
import os, signal, sys, time
from cenote.cli import main, pool
from cenote.files import netcdf

netcdf.CHUNK = "500B"

def slowly(block):
    os.write(1, b"a block\\n")
    time.sleep(0.5)
    return block

pool.function_of = lambda arguments: lambda x, window, **_: x.map_blocks(slowly, template=x)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which the tests ignore under nohup
sys.exit(main())
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_leaves_nothing_behind(number: signal.Signals, code: int) -> None:
    """Blocks that are being computed are waited for: they would write into a file that was removed."""
    command = [sys.executable, "-c", SLOWLY, "pool", "in.nc", "out.nc", "--var", "t", "--window", "lat=2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "a block\n"
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    word = "interrupted" if code == 130 else "terminated"
    assert (process.returncode, error) == (code, f"cenote pool: {word}\n")
    assert [p.name for p in Path().iterdir()] == ["in.nc"]
