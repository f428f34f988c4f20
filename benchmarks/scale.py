"""What arrays in chunks and files cost: vs. dask's coarsen, other downsamplers and a plain copy of a zarr array.

Everything is interleaved in one process, the fastest round counts, and the ratios are what to read. With --json the
figures of record are written, from which tools/scale_page.py makes the tables of docs/scale.md.

Run:  python benchmarks/scale.py [--rounds 5] [--json benchmarks/scale.json]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import zarr

import cenote as cn
from cenote import cli
from measure import Others, Work, measure
from rows import THREADS

VOLUME = (256, 512, 512)
GRAPH = (10_000, 10_000), (100, 100)  # 10,000 blocks
TASKS = 2_000  # that do nothing, for what a scheduler costs


def microscopy(shape: tuple[int, ...]) -> Any:
    """Blobs and shot noise: uint16 that compresses about as pictures of elements do."""
    rng = np.random.default_rng(0)
    axes = [np.sin(np.linspace(0, 40, n)) for n in shape]
    light = 200 + 150 * np.multiply.outer(np.multiply.outer(axes[0], axes[1]), axes[2]).clip(0)
    return rng.poisson(light).astype(np.uint16)


# ---------------------------------------------------------------------------------------------------- in memory


def lazily(build: Callable[[], Any]) -> Work:
    def run() -> Any:
        with dask.config.set(scheduler="threads", num_workers=THREADS):
            return build().compute()

    return run


def coarsen(rounds: int) -> dict[str, Any]:
    """End to end on chunked volumes in memory: the graph, the computation, the result in one array."""
    out: dict[str, Any] = {}
    window = {0: 2, 1: 2, 2: 2}
    for dtype, (name, function, theirs) in product(
        ("uint8", "float32"), (("avg", cn.avg_pool, np.mean), ("max", cn.max_pool, np.max))
    ):
        x = da.from_array(microscopy(VOLUME).astype(dtype), chunks=(64, 256, 256)).persist()
        ours = lazily(lambda x=x, function=function: function(x, (2, 2, 2)))  # type: ignore[misc]
        other = lazily(lambda x=x, theirs=theirs: da.coarsen(theirs, x, window))  # type: ignore[misc]
        np.testing.assert_allclose(ours(), other(), rtol=1e-6)
        out[f"{name} 2×2×2 of {dtype}"] = measure({"cenote": ours, "dask.array.coarsen": other}, rounds, 20.0)
    return out


def integers(rounds: int) -> dict[str, Any]:
    """Averages of integers as integers, and modes, on one array."""
    import tensorstore
    import tinybrain

    out: dict[str, Any] = {}
    noise = np.random.default_rng(0)
    volumes = {dtype: noise.integers(0, 255, VOLUME).astype(dtype) for dtype in ("uint8", "uint16", "uint64")}
    labels = np.repeat(np.repeat(noise.integers(0, 99, (256, 32, 32)), 16, axis=1), 16, axis=2).astype(np.uint64)

    def rows() -> Any:
        for dtype in ("uint8", "uint16"):
            x = volumes[dtype]
            yield f"avg 2×2×2 of {dtype}", x, "mean", lambda x=x: cn.avg_pool(x, (2, 2, 2), dtype=x.dtype)
        for what, x in (("noise", volumes["uint64"]), ("blocks", labels)):
            yield f"mode 2×2×2 of uint64, {what}", x, "mode", lambda x=x: cn.mode_pool(x, (2, 2, 2))

    for name, x, method, ours in rows():
        stored = tensorstore.downsample(tensorstore.array(x), [2, 2, 2], method)
        fortran = np.asfortranarray(x)[..., None]  # the order that tinybrain is made for
        down = tinybrain.downsample_with_averaging if method == "mean" else tinybrain.downsample_segmentation
        candidates: dict[str, Work] = {
            "cenote": ours,
            "tensorstore": lambda stored=stored: stored.read().result(),  # type: ignore[misc]
            "tinybrain": lambda fortran=fortran, down=down: down(fortran, factor=(2, 2, 2)),  # type: ignore[misc]
        }
        out[name] = measure(candidates, rounds, 20.0)
    return out


# ------------------------------------------------------------------------------------------------------- files


def copy_zarr(source: Path, target: Path) -> None:
    """A plain copy, chunk by chunk on as many threads, with the same compression."""
    a = zarr.open_array(source, mode="r")
    b = zarr.create_array(
        target, shape=a.shape, chunks=a.chunks, dtype=a.dtype, compressors=a.compressors, overwrite=True
    )
    step = [2 * c for c in a.chunks]
    corners = product(*(range(0, n, s) for n, s in zip(a.shape, step, strict=True)))
    parts = [tuple(slice(c, c + s) for c, s in zip(corner, step, strict=True)) for corner in corners]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda part: b.__setitem__(part, a[part]), parts))


def zarr_to_zarr(rounds: int) -> dict[str, Any]:
    """Milliseconds from file to file, and how much was read."""
    with tempfile.TemporaryDirectory() as folder:
        return of_files(rounds, Path(folder))


def of_files(rounds: int, folder: Path) -> dict[str, Any]:
    source = folder / "in.zarr"
    x = microscopy(VOLUME)
    a = zarr.create_array(source, data=x, chunks=(64, 64, 64))
    stored = sum(p.stat().st_size for p in source.rglob("*") if p.is_file())

    def command(name: str, *options: str) -> Work:
        arguments = ["pool", str(source), str(folder / name), "--threads", str(THREADS), "--overwrite", "--quiet"]

        def run() -> None:
            assert cli.main([*arguments, *options]) == 0

        return run

    candidates = {
        "copy": lambda: copy_zarr(source, folder / "copy.zarr"),
        "avg 2×2×2 to uint16": command("a.zarr", "--op", "avg", "--window", "2,2,2", "--dtype", "uint16"),
        "max 3×3×3 s1": command("b.zarr", "--window", "3,3,3", "--stride", "1", "--padding", "same"),
    }
    cpu = {name: min(cpu_seconds(work) for _ in range(rounds)) for name, work in candidates.items()}
    times = measure(candidates, rounds, 60.0)
    return times | {"bytes": float(x.nbytes), "compression": a.nbytes / stored, "cpu": cpu}


def cpu_seconds(work: Work) -> float:
    """Of all threads. Other processes hardly change it."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


# ------------------------------------------------------------------------------------------------------ graphs


def graphs(rounds: int) -> dict[str, Any]:
    """Seconds of CPU time: of the graph of 10,000 blocks, with all tasks made, and of one task in a process that has
    dask.distributed's scheduler and client."""
    import distributed

    def build() -> None:
        x = da.zeros(GRAPH[0], chunks=GRAPH[1])
        assert len(dict(cn.max_pool(x, (3, 3), stride=1, padding=1).dask)) == 20_000

    times = []
    for _ in range(rounds):
        cn.clear_cache()
        times.append(cpu_seconds(build))
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        client.gather(client.map(abs, range(100)))
        each = []
        for turn in range(rounds):
            numbers = range(turn * TASKS + 100, (turn + 1) * TASKS + 100)
            each.append(cpu_seconds(lambda numbers=numbers: client.gather(client.map(abs, numbers))) / TASKS)  # type: ignore[misc]
    return {"graph": min(times), "task": min(each)}


# ------------------------------------------------------------------------------------------------------ figures


SECTIONS: dict[str, Callable[[int], dict[str, Any]]] = {
    "coarsen": coarsen, "integers": integers, "zarr": zarr_to_zarr, "graph": graphs,
}  # fmt: skip


def figures(rounds: int, sections: Iterable[str]) -> dict[str, Any]:
    """The figures of each section, and which share of the CPUs other processes took meanwhile."""
    cn.set_num_threads(THREADS)
    found: dict[str, Any] = {}
    for name in sections:
        others, begun = Others(), time.perf_counter()
        found[name] = SECTIONS[name](rounds)
        found[name]["busy"] = others.share(time.perf_counter() - begun)
    return found


def lines_of(name: str, found: dict[str, Any]) -> Iterator[str]:
    """A section in words."""
    if name in ("coarsen", "integers"):
        for row, times in found.items():
            if row != "busy":
                others = (f"{other} {t / times['cenote']:.2f}×" for other, t in times.items() if other != "cenote")
                yield f"{row}: cenote {times['cenote']:.1f} ms, {', '.join(others)}"
    elif name == "zarr":
        for row in ("avg 2×2×2 to uint16", "max 3×3×3 s1"):
            rate, share = found["bytes"] / found[row] / 1e3, found["copy"] / found[row]
            cpu = found["cpu"]["copy"] / found["cpu"][row]
            yield f"zarr to zarr, {row}: {rate:.0f} MB/s, {share:.2f} of a copy's speed, {cpu:.2f} by CPU time"
    else:
        yield f"graph of 10,000 blocks: {found['graph']:.2f} s; a task in the scheduler: {found['task'] * 1e6:.0f} µs"
    yield f"  other processes took {100 * (found['busy'] or 0):.0f} % of the CPUs"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--section", choices=SECTIONS, action="append", help="only this one; may be repeated")
    parser.add_argument("--json", type=Path, help="where the figures go; those of other sections stay")
    arguments = parser.parse_args()
    found = figures(arguments.rounds, arguments.section or SECTIONS)
    for name, section in found.items():
        print(*lines_of(name, section), sep="\n")
    if arguments.json:
        before = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        merged = {"threads": THREADS, **before, **found}
        arguments.json.write_text(json.dumps(merged, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
