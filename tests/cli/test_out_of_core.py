"""Volumes that do not fit: pooled under a memory limit that the system enforces, as tools/out_of_core.py does it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import cenote as cn
from cenote import cli
from cenote.files import streaming
from cenote.files.lazy import FileArray
from cenote.files.zarr_files import ZarrSource


def load() -> Any:
    path = Path(__file__).parents[2] / "tools" / "out_of_core.py"
    spec = importlib.util.spec_from_file_location("out_of_core", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["out_of_core"] = module
    spec.loader.exec_module(module)
    return module


TOOL = load()
LIMIT = 400_000_000  # bytes, of which Python and its libraries take about 100 million


@pytest.mark.parametrize("how", ["command", "dask"])
def test_more_than_the_memory_that_there_is(how: str, tmp_path: Path) -> None:
    volume = TOOL.make_volume(tmp_path / "volume.zarr", 0.8)
    assert volume.nbytes > 1.8 * LIMIT
    run = TOOL.pool_limited(tmp_path, how, LIMIT, 2)
    assert (run.code, run.error) == (0, "")
    pooled = zarr.open_array(tmp_path / f"{how}.zarr", mode="r")
    assert TOOL.agrees(volume, pooled)
    assert 50_000_000 < run.peak < LIMIT
    wrong: Any = np.asarray(pooled)
    wrong[wrong.shape[0] // 2 :] += 1
    assert not TOOL.agrees(volume, wrong)


def test_the_limit_holds() -> None:
    """What does not keep to it fails."""
    run = TOOL.run_limited(["import numpy; numpy.ones(800_000_000, 'u1')"], LIMIT)
    assert run.code == 1
    assert "MemoryError" in run.error


def test_no_memory_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", np.ones((8, 8)))

    def compute(*_: Any) -> Any:
        raise MemoryError("Unable to allocate 9. EiB")

    monkeypatch.setattr(streaming, "compute", compute)
    assert cli.main(["pool", "in.npy", "out.npy", "--window", "2,2"]) == 1
    assert capsys.readouterr().err == "cenote pool: out of memory: Unable to allocate 9. EiB\n"
    assert [p.name for p in Path().iterdir()] == ["in.npy"]


def test_blocks_of_a_petabyte_are_not_listed() -> None:
    volume = zarr.create_array({}, shape=(40_000, 160_000, 160_000), chunks=(128,) * 3, dtype="u1")
    pending: Any = cn.max_pool(FileArray(ZarrSource(volume, "")), (2, 2, 2))
    grid = streaming.plan_blocks(pending, (128, 128, 128))
    assert len(grid) > 30_000
    assert next(iter(grid)) == tuple(of_axis[0] for of_axis in grid.cuts)
    assert grid.largest * 9 <= 32 << 20
