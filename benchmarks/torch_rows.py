"""Pooling of torch tensors by cenote vs. torch's own functions: alone, inside a network, and on 4×4 data.

Both are timed in turns, allocation included, and the fastest call of several rounds counts; only ratios of one run are
meaningful. "inside" runs a convolution of torch's before each call, whose threads go on spinning for some milliseconds,
and measures the pooling alone. Results and gradients are compared before anything is timed.

    python benchmarks/torch_rows.py                        prints the figures
    python benchmarks/torch_rows.py --json benchmarks/torch_rows.json --page    updates record and page
"""

from __future__ import annotations

import argparse
import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

import cenote as cn
from cenote.arguments.errors import pluralize
from measure import Others, Work, measure
from report import BUSY, figure, machine, rounded
from rows import THREADS
from tables import ROOT
from torch_networks import Pair

PAGE = ROOT / "docs" / "torch.md"
RECORD = ROOT / "benchmarks" / "torch_rows.json"
BEGIN, END = "<!-- torch rows: begin -->", "<!-- torch rows: end -->"
FORWARD, GRADIENT = WAYS = ("forward", "with gradient")
FIRST, LAST = "channels first", "channels last"
LAST_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}  # by the number of axes: signals have none
CALLS = 200  # in one sample of a call on 4×4 data

Tensor = torch.Tensor
Pool = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Row:
    """What is computed, by cenote and by torch."""

    name: str
    shape: tuple[int, ...]
    mine: Callable[[Any], Any]
    theirs: Pool

    @property
    def work(self) -> str:
        return f"{self.name}, {'×'.join(map(str, self.shape))}"


@dataclass
class Result:
    """Times of one way to compute a row, in ms."""

    work: str
    layout: str
    way: str
    alone: Pair
    inside: Pair
    others_busy: float | None  # CPU share of other processes


@dataclass
class Call:
    """Times of a call on 4×4 data, in µs; ``array`` is the same call on a NumPy array, which has no gradient."""

    work: str
    way: str
    cenote: float
    torch: float
    array: float | None


def padded(name: str, function: str, window: int, stride: int, padding: int, shape: tuple[int, ...]) -> Row:
    """Two pooled axes; where averages see padding it counts, as in torch by default."""
    ours, theirs = getattr(cn, f"{function}_pool"), getattr(functional, f"{function}_pool2d")
    options = {"stride": stride, "padding": padding}
    return Row(
        name, shape, lambda x: ours(x, (window, window), **options), lambda x: theirs(x, window, stride, padding)
    )


NETWORK = (32, 64, 112, 112)
ROWS = [
    padded("max 2×2", "max", 2, 2, 0, NETWORK),
    padded("max 3×3, stride 2, padding 1", "max", 3, 2, 1, NETWORK),
    padded("avg 2×2", "avg", 2, 2, 0, NETWORK),
    padded("avg 3×3, stride 1, padding 1", "avg", 3, 1, 1, (8, 64, 112, 112)),
    padded("max 13×13, stride 1, padding 6", "max", 13, 1, 6, (8, 256, 20, 20)),
    padded("max 31×31, stride 1", "max", 31, 1, 0, (1, 8, 512, 512)),
    padded("avg 31×31, stride 1", "avg", 31, 1, 0, (1, 8, 512, 512)),
    Row(
        "max 2×2×2",
        (4, 32, 32, 64, 64),
        lambda x: cn.max_pool(x, (2, 2, 2)),
        lambda x: functional.max_pool3d(x, 2),
    ),
    Row(
        "max 3, stride 2",
        (32, 64, 16000),
        lambda x: cn.max_pool(x, (3,), stride=2),
        lambda x: functional.max_pool1d(x, 3, 2),
    ),
]
SMALL = [padded(f"{name} 2×2", name, 2, 2, 0, (1, 1, 4, 4)) for name in ("max", "avg")]


# -------------------------------------------------------------------------------------------------- measurement


def forward(f: Pool, x: Tensor) -> Work:
    return lambda: f(x)


def with_gradient(f: Pool, x: Tensor) -> Work:
    x = x.clone().requires_grad_()
    g = torch.ones_like(f(x))

    def run() -> Any:
        x.grad = None
        f(x).backward(g)  # type: ignore[no-untyped-call]
        return x.grad

    return run


def works(row: Row, x: Tensor, way: str) -> dict[str, Work]:
    """The same work by both libraries, which agree."""
    run = forward if way == FORWARD else with_gradient
    found = {"cenote": run(row.mine, x), "torch": run(row.theirs, x)}
    torch.testing.assert_close(found["cenote"](), found["torch"](), rtol=1e-4, atol=1e-5)
    return found


def measure_inside(found: dict[str, Work], before: Work, rounds: int, budget: float) -> Pair:
    """The fastest call of each, in ms, right after ``before``; whoever has spent the budget, in seconds, is done."""
    best, spent = dict.fromkeys(found, math.inf), dict.fromkeys(found, 0.0)
    for _ in range(rounds):
        for name, work in found.items():
            if spent[name] > budget:
                continue
            before()
            start = time.perf_counter()
            work()
            took = time.perf_counter() - start
            best[name], spent[name] = min(best[name], 1e3 * took), spent[name] + took
    return Pair(torch=best["torch"], cenote=best["cenote"])


def results_of(row: Row, quick: bool, rounds: int, budget: float, only: str) -> list[Result]:
    size = tuple(min(n, 2) if i < 2 else min(n, 40) for i, n in enumerate(row.shape)) if quick else row.shape
    signal, filters = torch.randn(8, 64, 56, 56), torch.randn(64, 64, 3, 3)
    out = []
    for layout in (FIRST, LAST) if len(size) in LAST_FORMATS else (FIRST,):
        x = torch.randn(size)
        if layout == LAST:
            x = x.to(memory_format=LAST_FORMATS[len(size)])
        for way in WAYS:
            if not re.search(only, f"{row.work}, {layout}, {way}"):
                continue
            others, start = Others(), time.perf_counter()
            found = works(row, x, way)
            alone = Pair(**measure(found, rounds, budget))
            before = forward(lambda x: functional.conv2d(x, filters, padding=1), signal)
            inside = measure_inside(found, before, 4 * rounds, budget)
            busy = others.share(time.perf_counter() - start)
            out.append(Result(row.work, layout, way, alone, inside, busy))
            print(line(out[-1]), flush=True)
    return out


def calls_of(row: Row, rounds: int, budget: float, only: str) -> list[Call]:
    x = torch.randn(row.shape)
    array = x.numpy()
    out = []
    for way in WAYS:
        if not re.search(only, f"{row.work}, {way}"):
            continue
        found = works(row, x, way)
        if way == FORWARD:
            found["array"] = lambda: row.mine(array)
        best = {
            name: 1e3 * ms / CALLS
            for name, ms in measure({n: many(w) for n, w in found.items()}, rounds, budget).items()
        }
        out.append(Call(row.work, way, best["cenote"], best["torch"], best.get("array")))
        print(call_line(out[-1]), flush=True)
    return out


def many(work: Work) -> Work:
    def run() -> None:
        for _ in range(CALLS):
            work()

    return run


# ------------------------------------------------------------------------------------------------------- output


def line(result: Result) -> str:
    text = f"{result.work}, {result.layout}, {result.way}: cenote {figure(result.alone.cenote)} ms "
    text += f"({figure(result.alone.speedup)}×), inside {figure(result.inside.cenote)} ms "
    text += f"({figure(result.inside.speedup)}×)"
    if result.others_busy is not None and result.others_busy > BUSY:
        text += f"; other processes took {result.others_busy:.0%} of the CPUs"
    return text


def call_line(call: Call) -> str:
    text = f"{call.work}, {call.way}: {figure(call.cenote)} µs, {figure(call.cenote - call.torch)} µs over torch"
    return text if call.array is None else f"{text}, {figure(call.cenote - call.array)} µs over a NumPy array"


def save(path: Path, results: list[Result], calls: list[Call], threads: int) -> None:
    """Write the figures; rows that were not run keep theirs."""
    _, old_results, old_calls = load(path) if path.exists() else ({}, [], [])
    rows = {(r.work, r.layout, r.way): r for r in (*old_results, *results)}
    small = {(c.work, c.way): c for c in (*old_calls, *calls)}
    about = json.dumps({**machine(), "threads": threads}, ensure_ascii=False)
    parts = [
        ",\n".join(json.dumps(rounded(asdict(one)), ensure_ascii=False) for one in group.values())
        for group in (rows, small)
    ]
    path.write_text(
        f'{{"machine": {about},\n"rows": [\n{parts[0]}\n],\n"calls": [\n{parts[1]}\n]}}\n', encoding="utf-8"
    )


def load(path: Path) -> tuple[dict[str, Any], list[Result], list[Call]]:
    stored = json.loads(path.read_text(encoding="utf-8"))
    pairs = ("alone", "inside")
    rows = [Result(**{**row, **{key: Pair(**row[key]) for key in pairs}}) for row in stored["rows"]]
    return stored["machine"], rows, [Call(**call) for call in stored["calls"]]


def table(about: dict[str, Any], results: list[Result], calls: list[Call]) -> str:
    """The tables of docs/torch.md."""
    found = {(r.work, r.layout, r.way): r for r in results}
    out = [
        f"{pluralize(about['threads'], 'thread', 'threads')} on {about['cpus']} CPUs, {about['simd']}, "
        f"torch {about['versions']['torch']}. Speedup over torch; losses in bold.",
        "",
        "| work | memory format | forward | with gradient | forward, inside | with gradient, inside |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for work, layout in dict.fromkeys((r.work, r.layout) for r in results):
        ways = [found.get((work, layout, way)) for way in WAYS]
        shown = [speedup(r.alone if r else None) for r in ways] + [speedup(r.inside if r else None) for r in ways]
        out.append(f"| {work} | {layout} | {' | '.join(shown)} |")
    out += ["", "| one call on 4×4 data | cenote | torch | cenote on a NumPy array |", "|---|---:|---:|---:|"]
    for call in calls:
        array = "" if call.array is None else f"{figure(call.array)} µs"
        name = f"{call.work.partition(',')[0]}, {call.way}"
        out.append(f"| {name} | {figure(call.cenote)} µs | {figure(call.torch)} µs | {array} |")
    busy = max((r.others_busy or 0 for r in results), default=0)
    if busy > BUSY:
        out += ["", f"Other processes used up to {busy:.0%} of the CPUs during the measurement."]
    return "\n".join(out)


def speedup(pair: Pair | None) -> str:
    if pair is None:
        return ""
    text = f"{figure(pair.speedup)}×"
    return text if pair.speedup >= 1 else f"**{text}**"


def with_rows(page: str, text: str) -> str:
    """A page with these tables between the markers."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression on the names that are printed")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--budget", type=float, default=4.0, help="seconds for each library and way to compute a row")
    parser.add_argument("--quick", action="store_true", help="small data: shows that it runs, not how fast")
    parser.add_argument("--json", type=Path, help="where to store the figures")
    parser.add_argument("--page", action="store_true", help=f"write the tables of {PAGE.name} from that file")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    cn.set_num_threads(options.threads)
    rounds, budget = (1, 0.01) if options.quick else (options.rounds, options.budget)
    results = [result for row in ROWS for result in results_of(row, options.quick, rounds, budget, options.only)]
    calls = [call for row in SMALL for call in calls_of(row, rounds, budget, options.only)]
    if options.json:
        save(options.json, results, calls, options.threads)
    if options.page:
        text = table(*load(options.json or RECORD))
        PAGE.write_text(with_rows(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
