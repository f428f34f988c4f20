"""What the figures say: goals judged, a line per row, a summary, and the JSON."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cenote import _core
from rows import THREADS, Row

LIBRARIES = {
    "cenote": "cenote",
    "numpy": "NumPy",
    "torch": "torch",
    "jax": "JAX",
    "onnxruntime": "onnxruntime",
    "opencv-python-headless": "OpenCV",
    "tinybrain": "tinybrain",
    "scipy": "SciPy",
    "scikit-image": "scikit-image",
    "mygrad": "MyGrad",
}
SHOWN = {"jax": "JAX", "opencv": "OpenCV", "scipy": "SciPy", "numpy": "NumPy", "mygrad": "MyGrad"}
UNITS = {"memory": "MiB", "package": "", "calls": "µs"}

BUSY = 0.05  # report the CPU share of other processes from here on

# Goals for geometric means: over which rows, against which library, and the speedup to reach.
MEANS = {
    "forward speedup over the fastest competitor": ("forward", None, 3.0),
    "forward speedup over torch, channels first": ("forward", "torch", 15.0),
    "value and VJP speedup over the fastest competitor": ("vjp", None, 5.0),
    "convolution, forward speedup over the fastest competitor": ("conv", None, 1.3),
    "convolution, value and VJP speedup over torch": ("conv vjp", None, 1.5),
}


@dataclass
class Verdict:
    kind: str
    value: float
    bound: float
    met: bool


@dataclass
class Result:
    """The figures of a row. Times are in ms, peak memory is in MiB."""

    section: str
    name: str
    mean: str | None
    cenote: float
    others: dict[str, float] = field(default_factory=dict)  # competitors, or the base case
    copy: float | None = None
    refused: dict[str, str] = field(default_factory=dict)  # competitors that were not timed, and why
    others_busy: float | None = None  # CPU share of other processes during the measurement
    verdicts: list[Verdict] = field(default_factory=list)
    flops: int | None = None  # of convolutions: multiplications and additions of the direct sum

    @property
    def best(self) -> float:
        return min(self.others.values(), default=math.nan)

    @property
    def gigaflops(self) -> float | None:
        """Per second."""
        return None if self.flops is None else self.flops / self.cenote / 1e6


def judge(row: Row, result: Result) -> list[Verdict]:
    """Every goal of a row. A goal that could not be measured is not met."""
    mine, out = result.cenote, []
    for goal in row.goals:
        most = False
        match goal.kind:
            case "ahead":
                value = result.best / mine
            case "ahead of torch":
                value = result.others.get("torch", math.nan) / mine
            case "copy":
                value = math.nan if result.copy is None else result.copy / mine
            case "speedup":
                value = result.others["one thread"] / mine
            case "ratio":
                value, most = mine / result.others["base"], True
            case "ratio per byte":
                value, most = mine / result.others["base"] / row.times_the_bytes, True
            case _:
                value, most = mine, True
        met = value <= goal.bound if most else value >= goal.bound
        out.append(Verdict(goal.kind, value, goal.bound, met))
    return out


# ------------------------------------------------------------------------------------------------------ in print


def figure(value: float, digits: int = 3) -> str:
    """``value`` with that many significant digits, and at least all digits before the point."""
    if not math.isfinite(value):
        return "?"
    places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:.{max(0, places)}f}"


def near(value: float, bound: float, digits: int = 3) -> str:
    """As many digits as it takes to see on which side of its bound a value is."""
    text = figure(value, digits)
    if not math.isfinite(value) or digits > 8:
        return text
    shown = float(text)
    seen = (shown > bound, shown < bound) == (value > bound, value < bound)
    return text if seen else near(value, bound, digits + 1)


def amount(result: Result, value: float) -> str:
    unit = UNITS.get(result.section, "ms")
    return f"{figure(1e3 * value if unit == 'µs' else value)} {unit}".strip()


def words(verdict: Verdict) -> str:
    value, bound = verdict.value, verdict.bound
    met = "met" if verdict.met else "MISSED"
    match verdict.kind:
        case "ahead" if bound == 1:
            return f"{near(value, bound)}× vs. the fastest competitor: {'ahead' if verdict.met else 'BEHIND'}"
        case "ahead":
            return f"{near(value, bound)}× vs. the fastest competitor, ≥ {bound:g}: {met}"
        case "ahead of torch":
            return f"{near(value, bound)}× vs. torch, ≥ {bound:g}: {met}"
        case "copy":
            return f"{near(100 * value, 100 * bound, 2)}% of copy, ≥ {bound:.0%}: {met}"
        case "speedup":
            return f"{near(value, bound)}× vs. one thread, ≥ {bound:g}: {met}"
        case "ratio" | "ratio per byte":
            per_byte = " per byte" if verdict.kind == "ratio per byte" else ""
            return f"{near(value, bound)}× vs. the base case{per_byte}, ≤ {bound:g}: {met}"
        case _:
            return f"≤ {figure(bound)}: {met}"


def line(result: Result) -> str:
    others = [
        f"{SHOWN.get(name, name)} {amount(result, ms)} ({figure(ms / result.cenote)}×)"
        for name, ms in result.others.items()
    ]
    others += [] if result.copy is None else [f"copy {amount(result, result.copy)}"]
    others += [f"{name} not timed: {why}" for name, why in result.refused.items()]
    judged = "; ".join(map(words, result.verdicts))
    compared = f"   {', '.join(others)}" if others else ""
    if (busy := result.others_busy or 0) > BUSY:
        judged += f"; other processes took {busy:.0%} of the CPUs"
    rate = "" if result.gigaflops is None else f"{figure(result.gigaflops):>6} GFLOP/s"
    return f"{result.name:<58}{amount(result, result.cenote):>10}{rate}{compared}   [{judged}]"


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def means(results: Iterable[Result]) -> dict[str, tuple[float, float, int]]:
    """For each goal in MEANS: the mean, its bound, and the number of rows."""
    out = {}
    chosen = list(results)
    for title, (group, peer, bound) in MEANS.items():
        ratios = [
            (result.best if peer is None else result.others[peer]) / result.cenote
            for result in chosen
            if result.mean == group and result.others
            if peer is None or (peer in result.others and "channels last" not in result.name)
        ]
        if ratios:
            out[title] = (geometric_mean(ratios), bound, len(ratios))
    return out


def summary(results: Sequence[Result]) -> list[str]:
    compared = [v for result in results for v in result.verdicts if v.kind == "ahead"]
    verdicts = [v for result in results for v in result.verdicts]
    wins = sum(verdict.value >= 1 for verdict in compared)
    lines = [f"vs. competitors: ahead on {wins} rows, BEHIND on {len(compared) - wins}"] if compared else []
    lines.append(f"goals: {sum(v.met for v in verdicts)} of {len(verdicts)} met")
    for title, (value, bound, count) in means(results).items():
        met = "met" if value >= bound else "MISSED"
        lines.append(f"geometric mean, {title}, {count} rows: {figure(value)}×, ≥ {bound:g}: {met}")
    missed = [(result, v) for result in results for v in result.verdicts if not v.met]
    lines += ["", "goals missed:"] if missed else []
    return lines + [f"  {result.section}: {result.name}: {words(verdict)}" for result, verdict in missed]


# ------------------------------------------------------------------------------------------------------- as JSON


def machine() -> dict[str, Any]:
    versions = {}
    for package, name in LIBRARIES.items():
        try:
            versions[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "cpus": os.cpu_count(),
        "threads": THREADS,
        "simd": _core.level(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
    }


def load(path: Path) -> tuple[dict[str, Any], list[Result]]:
    """The machine and the rows of a file that :func:`save` wrote."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    results = [
        Result(**(row | {"verdicts": [Verdict(*v.values()) for v in row["verdicts"]]})) for row in stored["rows"]
    ]
    for verdict in (verdict for result in results for verdict in result.verdicts):
        verdict.value = math.nan if verdict.value is None else verdict.value
    return stored["machine"], results


def rounded(value: Any) -> Any:
    """Four digits: the rest is noise."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else None
    return value


def save(path: Path, results: Sequence[Result], order: Sequence[Row]) -> None:
    """Rows that were not run keep their figures in the file; rows that no longer exist are dropped."""
    found = {(result.section, result.name): result for result in (load(path)[1] if path.exists() else [])}
    found |= {(result.section, result.name): result for result in results}
    kept = [found[row.section, row.name] for row in order if (row.section, row.name) in found]
    path.parent.mkdir(parents=True, exist_ok=True)
    about = json.dumps(machine(), ensure_ascii=False)
    lines = ",\n".join(json.dumps(rounded(asdict(result)), ensure_ascii=False) for result in kept)
    path.write_text(f'{{"machine": {about},\n"rows": [\n{lines}\n]}}\n', encoding="utf-8")
