"""How much faster torch networks become with ``cenote.torch.accelerate``: a forward pass, and a step of training.

Each network is timed as it is and accelerated, interleaved in one process, on 2 threads. Besides, its pooling layers
are timed within the forward pass, right after torch's own layers, and by themselves: what is lost there is due to
torch's threads, which keep spinning for a while after each of its operations. On a busy machine wall times mean little:
``--cpu-time`` measures the CPU time of one thread instead.

    python benchmarks/torch_networks.py                        prints the figures
    python benchmarks/torch_networks.py --json benchmarks/torch_networks.json --pages    updates record and page
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import cenote as cn
import cenote.torch
from cenote.arguments.errors import pluralize
from measure import Others, Work, measure
from networks import NETWORKS
from report import BUSY, figure, machine, rounded
from rows import THREADS
from tables import ROOT, with_table

PAGE = ROOT / "docs" / "torch.md"
RECORD = ROOT / "benchmarks" / "torch_networks.json"
FORMATS = {"channels first": torch.contiguous_format, "channels last": torch.channels_last}
WORKS = ("forward", "training step")
TIME = time.perf_counter


@dataclass
class Pair:
    """Times in ms."""

    torch: float
    cenote: float

    @property
    def speedup(self) -> float:
        return self.torch / self.cenote


@dataclass
class Row:
    network: str
    layout: str
    work: str
    whole: Pair
    inside: Pair | None  # the pooling layers, within the network
    alone: Pair | None  # and by themselves
    others_busy: float | None  # CPU share of other processes


# -------------------------------------------------------------------------------------------------- measurement


def step(model: nn.Module, x: Tensor) -> Work:
    """One step of training."""
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def run() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()

    return run


def forward(model: nn.Module, x: Tensor) -> Work:
    model.eval()

    def run() -> Any:
        with torch.inference_mode():
            return model(x)

    return run


@contextmanager
def clock(layers: list[nn.Module]) -> Iterator[Callable[[Work], float]]:
    """The least time, in ms, that these layers take together in several runs of something."""
    spent, started = [0.0], [0.0]

    def begin(*_: Any) -> None:
        started[0] = TIME()

    def end(*_: Any) -> None:
        spent[0] += TIME() - started[0]

    handles = [layer.register_forward_pre_hook(begin) for layer in layers]
    handles += [layer.register_forward_hook(end) for layer in layers]
    least: dict[int, float] = {}

    def timed(work: Work) -> float:
        spent[0] = 0.0
        work()
        least[id(work)] = min(least.get(id(work), spent[0]), spent[0])
        return 1e3 * least[id(work)]

    try:
        yield timed
    finally:
        for handle in handles:
            handle.remove()


def recorded(layers: list[nn.Module], work: Work) -> list[tuple[nn.Module, tuple[Any, ...], dict[str, Any]]]:
    """The calls of these layers."""
    calls: list[tuple[nn.Module, tuple[Any, ...], dict[str, Any]]] = []

    def record(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        calls.append((layer, args, kwargs))

    handles = [layer.register_forward_pre_hook(record, with_kwargs=True) for layer in layers]
    work()
    for handle in handles:
        handle.remove()
    return calls


def pooling_times(pairs: dict[str, tuple[list[nn.Module], Work]], rounds: int, budget: float) -> tuple[Pair, Pair]:
    """The pooling layers of two forward passes: within the network, and by themselves."""
    inside: dict[str, float] = {}
    with clock([layer for layers, _ in pairs.values() for layer in layers]) as timed:
        for _ in range(max(2, rounds)):
            for name, (_, work) in pairs.items():
                inside[name] = timed(work)

    def again(calls: list[tuple[nn.Module, tuple[Any, ...], dict[str, Any]]]) -> Work:
        def run() -> None:
            with torch.inference_mode():
                for layer, args, kwargs in calls:
                    layer(*args, **kwargs)

        return run

    alone = measure({name: again(recorded(*pair)) for name, pair in pairs.items()}, rounds, budget, TIME)
    return Pair(**inside), Pair(**alone)


def rows_of(name: str, layout: str, batch: int, small: bool, rounds: int, budget: float) -> Iterator[Row]:
    torch.manual_seed(0)
    make, (full, tiny) = NETWORKS[name]
    plain = make(small).to(memory_format=FORMATS[layout])  # type: ignore[call-overload]
    fast = copy.deepcopy(plain)
    replaced = cenote.torch.accelerate(fast)
    x = torch.randn(batch, 3, *(tiny if small else full)).to(memory_format=FORMATS[layout])
    layers = {
        "torch": [plain.get_submodule(place) for place, _, _ in replaced],
        "cenote": [new for _, _, new in replaced],
    }
    for work, run in zip(WORKS, (forward, step), strict=True):
        others, start = Others(), time.perf_counter()
        works = {"torch": run(plain, x), "cenote": run(fast, x)}
        whole = Pair(**measure(works, rounds, budget, TIME))
        inside = alone = None
        if work == "forward":
            inside, alone = pooling_times({key: (layers[key], works[key]) for key in works}, rounds, budget)
        yield Row(name, layout, work, whole, inside, alone, others.share(time.perf_counter() - start))


# ------------------------------------------------------------------------------------------------------- output


def line(row: Row) -> str:
    text = f"{row.network}, {row.layout}, {row.work}: torch {row.whole.torch:.1f} ms, accelerated "
    text += f"{row.whole.cenote:.1f} ms ({figure(row.whole.speedup)}×)"
    if row.inside is not None and row.alone is not None:
        text += f"; its pooling {figure(row.inside.speedup)}× inside, {figure(row.alone.speedup)}× alone"
    if row.others_busy is not None and row.others_busy > BUSY:
        text += f"; other processes took {row.others_busy:.0%} of the CPUs"
    return text


def save(path: Path, rows: list[Row], options: argparse.Namespace) -> None:
    """Write the figures; rows that were not run keep theirs."""
    found = {(row.network, row.layout, row.work): row for row in (load(path)[1] if path.exists() else [])}
    found |= {(row.network, row.layout, row.work): row for row in rows}
    how = {"threads": options.threads, "batch": options.batch, "time": "CPU" if options.cpu_time else "wall"}
    about = json.dumps({**machine(), **how}, ensure_ascii=False)
    lines = ",\n".join(json.dumps(rounded(asdict(row)), ensure_ascii=False) for row in found.values())
    path.write_text(f'{{"machine": {about},\n"rows": [\n{lines}\n]}}\n', encoding="utf-8")


def load(path: Path) -> tuple[dict[str, Any], list[Row]]:
    stored = json.loads(path.read_text(encoding="utf-8"))
    pairs = ("whole", "inside", "alone")
    rows = [Row(**{**row, **{key: Pair(**row[key]) if row[key] else None for key in pairs}}) for row in stored["rows"]]
    return stored["machine"], rows


def table(about: dict[str, Any], rows: list[Row]) -> str:
    """The table of docs/torch.md."""
    found = {(row.network, row.layout, row.work): row for row in rows}
    out = [
        f"{pluralize(about['threads'], 'thread', 'threads')} on {about['cpus']} CPUs, {about['simd']}, "
        f"torch {about['versions']['torch']}, "
        f"batches of {about['batch']} pictures. Speedup over torch in {about['time']} time; losses in bold.",
        "",
        "| network | memory format | forward | training step | pooling inside | pooling alone | its share in torch |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]

    def shown(pair: Pair | None) -> str:
        if pair is None:
            return ""
        text = f"{figure(pair.speedup)}×"
        return text if pair.speedup >= 1 else f"**{text}**"

    for network, layout in dict.fromkeys((row.network, row.layout) for row in rows):
        parts = [found.get((network, layout, work)) for work in WORKS]
        first = parts[0]
        elements = [shown(part.whole if part else None) for part in parts]
        elements += [shown(first.inside if first else None), shown(first.alone if first else None)]
        elements.append(f"{first.inside.torch / first.whole.torch:.0%}" if first and first.inside else "")
        out.append(f"| {network} | {layout} | {' | '.join(elements)} |")
    busy = max((row.others_busy or 0 for row in rows), default=0)
    if busy > BUSY:
        out += ["", f"Other processes used up to {busy:.0%} of the CPUs during the measurement."]
    return "\n".join(out)


def write_page(record: Path) -> None:
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), table(*load(record))), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression on the names of networks and formats")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--threads", type=int, default=THREADS, help="1 for a busy machine: torch's threads wait for each other"
    )
    parser.add_argument("--budget", type=float, default=10.0, help="seconds for each network, format and kind of work")
    parser.add_argument("--cpu-time", action="store_true", help="CPU time of one thread instead of wall time")
    parser.add_argument("--small", action="store_true", help="small networks: shows that it runs, not how fast")
    parser.add_argument("--json", type=Path, help="where to store the figures")
    parser.add_argument("--pages", action="store_true", help="write the table of docs/torch.md from that file")
    options = parser.parse_args()
    if options.cpu_time:
        global TIME
        options.threads, TIME = 1, time.process_time
    torch.set_num_threads(options.threads)
    cn.set_num_threads(options.threads)
    rows = []
    for name in NETWORKS:
        for layout in FORMATS:
            if not re.search(options.only, f"{name}, {layout}"):
                continue
            for row in rows_of(name, layout, options.batch, options.small, options.rounds, options.budget):
                rows.append(row)
                print(line(row), flush=True)
    if options.json:
        save(options.json, rows, options)
    if options.pages:
        write_page(options.json or RECORD)


if __name__ == "__main__":
    main()
