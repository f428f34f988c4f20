"""dask arrays and the command on a cluster of processes: the bits of NumPy, also if a worker is killed meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr
from distributed import Client, LocalCluster

import cenote as cn
from cenote import cli
from cenote.files import cluster, netcdf, streaming

X = np.random.default_rng(0).standard_normal((48, 60, 70)).astype(np.float32)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    settings = {"distributed.worker.daemon": True, "distributed.scheduler.allowed-failures": 30}
    with (
        dask.config.set(settings),
        LocalCluster(n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def pids(client: Client) -> list[int]:
    return sorted(client.run(os.getpid).values())


def slowly(block: Any, seconds: float = 0.05) -> Any:
    time.sleep(seconds)
    return block


def kill_when(ready: Callable[[], bool], pid: int) -> threading.Thread:
    """SIGKILL to a worker, from another thread, as soon as ``ready``."""

    def run() -> None:
        deadline = time.monotonic() + 30
        while not ready() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def results(x: Any, w: Any) -> list[Any]:
    values, indices = cn.max_pool(x, (3, 3, 3), stride=2, padding=1, return_indices=True)
    _, pull = cn.vjp(lambda x: cn.avg_pool(x, (2, 3)), x)
    return [
        values, indices, cn.median_pool(x, (3, 3)), cn.adaptive_avg_pool(x, (7, 9)), cn.smooth_max_pool(x, (2, 2, 2)),
        cn.max_unpool(values, indices, (3, 3, 3), stride=2, padding=1, output_shape=X.shape), cn.correlate(x, w),
        *pull(np.ones((48, 30, 23), np.float32)),
    ]  # fmt: skip


def test_every_family_on_a_cluster(client: Client) -> None:
    w = np.ones((2, 3), np.float32)
    found = client.compute(results(da.from_array(X, chunks=(20, (7, 53), 16)), w), sync=True)
    for got, expected in zip(found, results(X, w), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_worker_that_is_killed(client: Client, tmp_path: Path) -> None:
    x = da.from_array(X, chunks=(12, 20, 20)).map_blocks(slowly, meta=X[:0, :0, :0])
    y = cn.max_pool(x, (5, 5, 5), stride=1, padding=2)
    before = pids(client)
    future = client.compute(y)
    thread = kill_when(lambda: any(client.processing().values()), before[0])
    got = future.result()
    thread.join()
    np.testing.assert_array_equal(got, cn.max_pool(X, (5, 5, 5), stride=1, padding=2))
    client.wait_for_workers(2, timeout=60)
    assert before[0] not in pids(client), "it was killed, and another one started"


def count_threads() -> int:
    """Those that are not Python's: the core's, and what other libraries have."""
    return len(os.listdir("/proc/self/task")) - threading.active_count()


def use_two_threads() -> int:
    with cn.num_threads(2):
        cn.max_pool(np.ones((4096, 4096), np.float32), (2, 2))
    return count_threads()


def test_a_task_starts_no_threads() -> None:
    """The core's threads are started when a call first needs them: not by a task, but by the same call outside. So the
    worker is a new one: to restart those of the other tests takes minutes on a busy machine."""
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        LocalCluster(n_workers=1, threads_per_worker=2, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        x = da.ones((4096, 8192), chunks=(4096, 4096), dtype=np.float32)
        client.compute(x.sum(), sync=True)  # imports, BLAS
        client.run(cn.set_num_threads, 2)  # a worker starts with OMP_NUM_THREADS=1
        before = client.run(count_threads)
        client.compute(cn.max_pool(x, (2, 2)), sync=True)
        assert client.run(count_threads) == before
        assert all(after > before[worker] for worker, after in client.run(use_two_threads).items())


# ------------------------------------------------------------------------------------------------- the command


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # where the workers are not
    monkeypatch.setattr(streaming, "BLOCK_BYTES", 1 << 15)
    monkeypatch.setattr(streaming, "LEAST_BYTES", 1 << 15)
    zarr.create_array("in.zarr", data=X, chunks=(8, 16, 16), shards=(16, 32, 32))
    return tmp_path


def names() -> list[str]:
    return sorted(p.name for p in Path().iterdir())


@pytest.mark.usefixtures("here")
def test_the_command_on_a_cluster_while_a_worker_is_killed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "QUEUED", 8)
    pool = ["--op", "smooth_max", "--window", "5,5,5", "--stride", "1", "--quiet"]
    assert cli.main(["pool", "in.zarr", "local.zarr", *pool]) == 0
    thread = kill_when(lambda: any(Path().glob(".out.*/c/*")), pids(client)[0])
    assert cli.main(["pool", "in.zarr", "out.zarr", *pool, "--scheduler", client.scheduler.address]) == 0
    thread.join()
    assert names() == ["in.zarr", "local.zarr", "out.zarr"]
    local, out = ({p.relative_to(n): p.read_bytes() for p in Path(n).rglob("*") if p.is_file()} for n in names()[1:])
    assert local == out


@pytest.mark.usefixtures("here")
def test_a_pyramid_on_a_cluster(client: Client) -> None:
    assert cli.main(["pyramid", "in.zarr", "a/out.zarr", "--quiet"]) == 1
    for folder, more in (("a", []), ("b", ["--scheduler", client.scheduler.address])):
        Path(folder).mkdir()
        assert cli.main(["pyramid", "in.zarr", f"{folder}/out.zarr", "--levels", "3", "--quiet", *more]) == 0
    a, b = ({p.relative_to(n): p.read_bytes() for p in Path(n).rglob("*") if p.is_file()} for n in "ab")
    assert a == b


@pytest.mark.usefixtures("here")
def test_an_error_on_a_cluster_leaves_nothing_behind(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    chunk = sorted(p for p in Path("in.zarr/c").rglob("*") if p.is_file())[-1]
    chunk.write_bytes(b"torn" * 100)
    options = ["--op", "smooth_max", "--window", "5,5,5", "--stride", "1", "--scheduler", client.scheduler.address]
    assert cli.main(["pool", "in.zarr", "out.zarr", *options]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "in.zarr: elements [" in error
    time.sleep(0.3)
    assert names() == ["in.zarr"]


@pytest.mark.usefixtures("here")
def test_a_netcdf_file_on_a_cluster(client: Client) -> None:
    xr.Dataset({"t": (("z", "y", "x"), X)}).to_netcdf(
        "in.nc", engine="h5netcdf", encoding={"t": {"chunksizes": (8, 9, 10)}}
    )
    netcdf.pool(
        "in.nc", "out.nc", lambda array, window: array.coarsen(window).max(), {"window": {"y": 2, "x": 2}},
        variable=None, overwrite=False, threads=1, scheduler=client.scheduler.address, quiet=True,
    )  # fmt: skip
    with xr.open_dataset("out.nc", engine="h5netcdf") as out:
        np.testing.assert_array_equal(out["t"], cn.max_pool(X, (2, 2)))
    assert names() == ["in.nc", "in.zarr", "out.nc"]
