"""Write docs/scale.md: what was measured (benchmarks/scale.json, and benchmarks/labelled.json if it is there), and what
follows for a petabyte (tools/petabyte.py).

Run:  python benchmarks/scale.py --json benchmarks/scale.json, python benchmarks/labelled.py --json
benchmarks/labelled.json, then python tools/scale_page.py
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from petabyte import MONTH, RECORD, SHAPE, Machine, measured, plan, pool, pyramid

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
SIDES = (None, 256, 512, 1024)
MACHINES = (1, 4, 16, 64, 256)
LABELLED = RECORD.with_name("labelled.json")
FASTER = 10  # times the storage, for what comes after it
CHOSEN = 256

TEXT = """# Scale

Arrays larger than memory are computed in blocks: through [dask](#dask), or from file to file by
[the command](command.md). The result has the bits of one call on one array; convolutions agree to rounding.

<!-- Written by tools/scale_page.py from benchmarks/scale.json: change those, not this page. -->

## dask

```sh
python -m pip install '.[dask]'
```

```python
>>> import numpy as np
>>> import dask.array as da
>>> import cenote as cn
>>> x = da.zeros((20_000, 160_000, 160_000), chunks=512, dtype=np.uint16)
>>> y = cn.avg_pool(x, (2, 2, 2), dtype=np.uint16)
>>> f"{{x.nbytes / 1e15:.2f}} PB in {{y.npartitions:,}} blocks"
'1.02 PB in 3,918,760 blocks'
>>> x = da.arange(1_000_000, chunks=1_000)
>>> cn.max_pool(x, (3,), stride=2, return_indices=True)[1][250_000:250_003].compute()
array([500002, 500004, 500006])
```

- Nothing is computed while a graph is built, and its tasks are created when dask asks for them.
- There is one task for each block of the result, from just the blocks of the input that it sees. Part of a result
  costs only what that part needs.
- Chunks may have any sizes: smaller than the window, irregular, unrelated to the stride. Nothing is rechunked. Blocks
  of the result follow those of the input.
- Inside a task cenote uses one thread, because dask runs as many tasks as there are CPUs.
- If a worker is killed, others repeat its tasks; the result is the same.
- `array.query-planning` may be on, but dask then lacks some of NumPy's functions: if a function that you differentiate
  uses one of them, such as `np.exp`, dask raises a `NotImplementedError`.

A graph of 10,000 blocks takes {graph:.1f} s of CPU time, including its tasks.

## Measured

{threads} threads. Other processes took up to {busy:.0f} % of the CPUs meanwhile: only ratios are meaningful.

| chunked in memory, 256×512×512, end to end | speedup over dask.array.coarsen |
|---|---|
{coarsen}

{labelled}| zarr to zarr, uint16, zstd | speed relative to a plain copy | by CPU time | MB of input per second and CPU |
|---|---|---|---|
{files}

A volume of 20 GB, 2768×2688×2688 of uint8 in zarr, is pooled by processes that may not allocate more than 1 GB
(`RLIMIT_DATA`): `python tools/out_of_core.py` demonstrates it, and the tests do the same with less data.

## A petabyte

{shape} of uint16 in zarr, average 2×2×2. The tasks are those of the command's own
planner. A write covers whole shards, so the size of a shard decides:

| shards | files | tasks | memory of a task | memory of 32 at a time | scheduler, hours of CPU time |
|---|---|---|---|---|---|
{layouts}

The simulation (`tools/petabyte.py`) adds what tasks share: the scheduler, the network of a machine and the storage.
Each machine has {cores} cores, {network:.0f} Gbit/s and {memory:.0f} GB, and all share a storage of {storage:.0f} GB/s;
stored data are {compression:.1f} times smaller than uncompressed ones. Hours for shards of {chosen}³, and what limits
them:

| machines | `cenote pool` | `cenote pyramid` | pool, storage of {fast:.0f} GB/s | pyramid, the same |
|---|---|---|---|---|
{hours}

On the faster storage each of {many} machines reads {moved:.1f} Gbit/s. If a machine fails once a month, {lost:.1f} are
lost during a pyramid on {many}; each loss repeats at most {cores} tasks of {repeated} million.

## What breaks first

1. **Files.** {files_none} million chunks in as many files are more than most file systems handle well. Use shards.
2. **Memory**, if shards are large: a task holds a shard of the result and the eight that it is made of. Shards of 1024³
   need {heavy:.0f} GB for each task, which leaves most cores of a machine idle.
3. **The network** of the machines while they are few, then **the storage**: more than {enough} machines gain nothing on
   {storage:.0f} GB/s.
4. **The scheduler**, if blocks are small: {single:.0f} µs for each task. The command keeps 20,000 tasks in the
   scheduler at a time. A dask graph is built as a whole: at {each:.0f} µs for each task, {millions:.0f} million take
   {minutes:.0f} minutes to build, so compute a larger array in parts.
5. **Level 0.** A pyramid copies the input, which takes more time than all other levels together.

`cenote pyramid … --resume` continues after the command or the cluster was killed, and ends with the same bytes.
"""


def million(number: float) -> str:
    return f"{number / 1e6:.1f} million" if number >= 1e6 else f"{number:,.0f}"


def gigabytes(number: float) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"


def coarsen_rows(record: dict[str, Any]) -> str:
    rows = ((name, times) for name, times in record["coarsen"].items() if name != "busy")
    return "\n".join(f"| {name} | {t['dask.array.coarsen'] / t['cenote']:.0f}× |" for name, t in rows)


def labelled_table(record: dict[str, Any]) -> str:
    """DataArrays vs. xarray itself: a row for each call, a column for each kind of array inside."""
    backings = list(dict.fromkeys(row["backing"] for row in record["rows"]))
    speedups = {(row["name"], row["backing"]): f"{row['xarray'] / row['cenote']:.1f}×" for row in record["rows"]}
    names = dict.fromkeys(row["name"] for row in record["rows"])
    side = record["side"]
    busy = f"Other processes took {100 * (record['busy'] or 0):.0f} % of the CPUs."
    lines = [
        f"DataArrays of {side}³ float32 vs. xarray's own coarsen and rolling, {record['threads']} threads. {busy}",
        "",
        f"| speedup over xarray | {' | '.join(f'of {backing}' for backing in backings)} |",
        "|---" * (1 + len(backings)) + "|",
        *(f"| {name} | {' | '.join(speedups.get((name, b), '') for b in backings)} |" for name in names),
    ]
    return "\n".join(lines) + "\n\n"


def file_rows(record: dict[str, Any]) -> str:
    files, lines = record["zarr"], []
    for name in ("avg 2×2×2 to uint16", "max 3×3×3 s1"):
        rate = files["bytes"] / files["cpu"][name] / 1e6
        shares = files["copy"] / files[name], files["cpu"]["copy"] / files["cpu"][name]
        lines.append(f"| {name} | {shares[0]:.2f}× | {shares[1]:.2f}× | {rate:.0f} |")
    return "\n".join(lines)


def page() -> str:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    costs, machine = measured(), Machine()
    faster = replace(machine, storage=FASTER * machine.storage)
    layouts = {side: plan(side) for side in SIDES}
    chosen = layouts[CHOSEN]
    layout_lines = [
        f"| {'none, chunks of 128³' if side is None else f'{side}³'} | {million(p.files)} | {million(p.tasks)} | "
        f"{gigabytes(p.memory)} | {gigabytes(32 * p.memory)} | {p.tasks * costs.task / 3600:.2f} |"
        for side, p in layouts.items()
    ]
    found = {n: [job(chosen, costs, m, n) for m in (machine, faster) for job in (pool, pyramid)] for n in MACHINES}
    hour_lines = [
        f"| {n} | " + " | ".join(f"{o.hours:.1f}, {o.limit}" for o in outcomes) + " |" for n, outcomes in found.items()
    ]
    least = min(outcomes[0].hours for outcomes in found.values())
    enough = next(n for n, outcomes in found.items() if outcomes[0].hours < 1.1 * least)
    many = MACHINES[-1]
    busy = max((record[name].get("busy") or 0.0 for name in ("coarsen", "zarr", "graph")), default=0.0)
    labelled = labelled_table(json.loads(LABELLED.read_text(encoding="utf-8"))) if LABELLED.exists() else ""
    return TEXT.format(
        graph=record["graph"]["graph"], threads=record["threads"], busy=100 * busy, labelled=labelled,
        coarsen=coarsen_rows(record), files=file_rows(record), shape="×".join(f"{n:,}" for n in SHAPE),
        layouts="\n".join(layout_lines), cores=machine.cores, network=machine.network * 8e-9,
        memory=machine.memory / 1e9,
        storage=machine.storage / 1e9, fast=faster.storage / 1e9, compression=costs.compression, chosen=CHOSEN,
        hours="\n".join(hour_lines), many=many, moved=found[many][2].network * 8e-9,
        lost=many * found[many][1].hours / MONTH, repeated=f"{chosen.tasks * 15 / 7 / 1e6:.1f}",
        files_none=f"{layouts[None].files / 1e6:.0f}", heavy=layouts[1024].memory / 1e9, enough=enough,
        single=costs.task * 1e6, each=costs.graph * 1e6, millions=layouts[None].tasks / 1e6,
        minutes=layouts[None].tasks * costs.graph / 60,
    )  # fmt: skip


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} is written")
