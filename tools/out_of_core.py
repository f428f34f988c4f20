"""Pool a zarr array that is larger than memory, under a memory limit that the system enforces.

The volume is generated, and sparse on disk: most of its chunks are absent and stand for the fill value, one of 32 holds
noise. It is pooled once by ``cenote pool`` and once through dask, each in a process that may not allocate more than the
limit (RLIMIT_DATA: heap and private memory). Parts of both results are compared with the same parts computed directly.

Run:    python tools/out_of_core.py --gigabytes 20 --limit 1
Needs:  pip install 'cenote[files,dask]', and a fiftieth of the volume's size on disk
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr

import cenote as cn

CHUNK = 128
WINDOW = (2, 2, 2)
EVERY = 32  # of so many chunks one is there

# Not the parent's measurement: that starts with the parent's own memory, of which this process is a fork.
PEAK = """
import atexit
atexit.register(lambda: print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))))
"""
COMMAND = "import sys; from cenote.cli import main; sys.exit(main(sys.argv[1:]))"
DASK = """
import sys, zarr, dask, dask.array as da, cenote as cn
source, target, threads = sys.argv[1:]
x = da.from_zarr(zarr.open_array(source, mode="r"))
y = cn.max_pool(x, (2, 2, 2)).rechunk(128)
out = zarr.create_array(target, shape=y.shape, chunks=(128,) * 3, dtype=y.dtype, fill_value=0)
with dask.config.set(scheduler="threads", num_workers=int(threads)):
    da.store(y, out, lock=False)
"""


@dataclass(frozen=True)
class Run:
    """What a process took. ``peak`` is its largest resident set in bytes; pages of the interpreter included."""

    code: int
    peak: int
    seconds: float
    error: str


def make_volume(place: Path, gigabytes: float, seed: int = 0) -> Any:
    """A volume of uint8 of about that size, chunks of 128³."""
    side = max(CHUNK, round((gigabytes * 1e9) ** (1 / 3) / CHUNK) * CHUNK)
    depth = max(CHUNK, round(gigabytes * 1e9 / side**2))
    volume = zarr.create_array(place, shape=(depth, side, side), chunks=(CHUNK,) * 3, dtype="u1", fill_value=7)
    rng = np.random.default_rng(seed)
    grid = [range(0, n, CHUNK) for n in volume.shape]
    places = [(z, y, x) for z in grid[0] for y in grid[1] for x in grid[2]]
    for i in range(0, len(places), EVERY):
        part = tuple(slice(p, min(p + CHUNK, n)) for p, n in zip(places[i], volume.shape, strict=True))
        volume[part] = rng.integers(0, 256, [s.stop - s.start for s in part], dtype=np.uint8)
    return volume


def run_limited(arguments: list[str], limit: int) -> Run:
    """A Python process whose heap and private memory may not exceed ``limit`` bytes."""
    code, *rest = arguments
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PEAK + code, *rest],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
    )
    peaks = [int(line.split()[1]) << 10 for line in done.stdout.splitlines() if line.startswith("VmHWM")]
    return Run(done.returncode, max(peaks, default=0), time.monotonic() - begun, done.stderr)


def pool_limited(folder: Path, how: str, limit: int, threads: int) -> Run:
    """``volume.zarr`` in the folder to ``command.zarr`` or ``dask.zarr``."""
    source, target = str(folder / "volume.zarr"), str(folder / f"{how}.zarr")
    if how == "dask":
        return run_limited([DASK, source, target, str(threads)], limit)
    window = ",".join(map(str, WINDOW))
    options = ["--op", "max", "--window", window, "--threads", str(threads), "--quiet"]
    return run_limited([COMMAND, "pool", source, target, *options], limit)


def agrees(volume: Any, pooled: Any, samples: int = 40) -> bool:
    """Whether parts of the result are what those parts of the volume give."""
    rng = np.random.default_rng(1)
    for _ in range(samples):
        start = [int(rng.integers(0, max(1, n - 16))) for n in pooled.shape]
        part = tuple(slice(s, min(s + 16, n)) for s, n in zip(start, pooled.shape, strict=True))
        seen = tuple(slice(2 * s.start, 2 * s.stop) for s in part)
        if not np.array_equal(pooled[part], cn.max_pool(volume[seen], WINDOW)):
            return False
    return bool(pooled.shape == cn.output_shape(volume.shape, WINDOW))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=20.0, help="of the volume (default: 20)")
    parser.add_argument("--limit", type=float, default=1.0, help="of memory, in gigabytes (default: 1)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", help="where the files go, for as long as it runs (default: the system's)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        volume = make_volume(Path(folder) / "volume.zarr", arguments.gigabytes)
        shape = "×".join(map(str, volume.shape))
        print(f"{shape} of uint8, {volume.nbytes / 1e9:.1f} GB, max 2×2×2, at most {arguments.limit:g} GB of memory")
        failed = 0
        for how in ("command", "dask"):
            run = pool_limited(Path(folder), how, int(arguments.limit * 1e9), arguments.threads)
            right = run.code == 0 and agrees(volume, zarr.open_array(Path(folder) / f"{how}.zarr", mode="r"))
            failed += not right
            rate = volume.nbytes / 1e6 / run.seconds
            verdict = "right" if right else f"exit code {run.code}: {run.error.strip()[-300:]}"
            print(f"{how:8} {run.seconds:6.1f} s, {rate:5.0f} MB/s, peak {run.peak / 1e6:4.0f} MB, {verdict}")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
