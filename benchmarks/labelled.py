"""cenote on DataArrays vs. xarray's own coarsen and rolling, end to end: the volume in memory, NumPy or in chunks.

Run: python benchmarks/labelled.py [--rounds 5] [--side 256] [--only "dask coarsen"]. Each result is compared first.
With --json benchmarks/labelled.json all rows become the figures of record, of which tools/scale_page.py makes a table.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import cenote as cn
from measure import Others, measure

GOAL = 5.0
Case = tuple[str, Callable[[Any], Any], Callable[[Any], Any]]
CASES: list[Case] = [
    (
        "coarsen 2×2×2 mean",
        lambda x: cn.avg_pool(x, {"z": 2, "y": 2, "x": 2}, nan="omit"),
        lambda x: x.coarsen(z=2, y=2, x=2).mean(),
    ),
    (
        "coarsen 2×2×2 max",
        lambda x: cn.max_pool(x, {"z": 2, "y": 2, "x": 2}, nan="omit"),
        lambda x: x.coarsen(z=2, y=2, x=2).max(),
    ),
    (
        "coarsen 4×4 mean",
        lambda x: cn.avg_pool(x, {"y": 4, "x": 4}, nan="omit"),
        lambda x: x.coarsen(y=4, x=4).mean(),
    ),
    (
        "rolling 5 mean",
        lambda x: cn.avg_pool(x, {"z": 5}, stride=1, coord_func="last"),
        lambda x: x.rolling(z=5).mean().isel(z=slice(4, None)),
    ),
    (
        "rolling 5×5 mean",
        lambda x: cn.avg_pool(x, {"y": 5, "x": 5}, stride=1, coord_func="last"),
        lambda x: x.rolling(y=5, x=5).mean().isel(y=slice(4, None), x=slice(4, None)),
    ),
    (
        "rolling 5 max",
        lambda x: cn.max_pool(x, {"z": 5}, stride=1, coord_func="last"),
        lambda x: x.rolling(z=5).max().isel(z=slice(4, None)),
    ),
]


def volume(side: int) -> xr.DataArray:
    values = np.random.default_rng(0).standard_normal((side, side, side), np.float32)
    return xr.DataArray(values, dims=("z", "y", "x"), coords={d: np.arange(side) for d in "zyx"}, name="v")


def computed(function: Callable[[Any], Any], x: Any) -> Any:
    return function(x).compute()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--only", default="", help="a regular expression on the rows")
    parser.add_argument("--json", type=Path, help="where the figures of all rows go")
    options = parser.parse_args()
    if options.json and options.only:
        parser.error("--json is for all rows: leave out --only")
    whole = volume(options.side)
    others, begun = Others(), time.perf_counter()
    found: list[dict[str, Any]] = []
    # Chunks that the windows of rolling cross, and those of coarsen do not.
    for backing, x in (("NumPy", whole), ("dask", whole.chunk(options.side // 4))):
        for name, ours, theirs in CASES:
            if not re.search(options.only, f"{backing} {name}"):
                continue
            small = x.isel(z=slice(8), y=slice(32), x=slice(32))
            xr.testing.assert_allclose(ours(small).compute(), theirs(small).compute(), rtol=1e-5, atol=1e-6)
            best = measure(
                {"cenote": partial(computed, ours, x), "xarray": partial(computed, theirs, x)},
                options.rounds,
                budget=10.0,
            )
            ratio = best["xarray"] / best["cenote"]
            found.append({"backing": backing, "name": name, **best})
            verdict = "met" if ratio >= GOAL else "MISSED"
            times = f"{best['cenote']:8.2f} ms, xarray {best['xarray']:9.2f} ms"
            print(f"{backing:6} {name:20} {times} ({ratio:.1f}×, {verdict})")
    busy = others.share(time.perf_counter() - begun)
    print(f"other processes took {100 * (busy or 0):.0f} % of the CPUs")
    if options.json:
        record = {"side": options.side, "threads": cn.get_num_threads(), "busy": busy, "rows": found}
        options.json.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
