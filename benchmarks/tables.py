"""The tables of README.md and docs/performance.md, written from the figures of record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from report import BUSY, SHOWN, Result, amount, figure, load, means
from rows import SECTIONS

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
IN_DOCS = (
    "forward", "vjp", "windows", "images", "conv", "conv vjp", "conv other", "conv long", "calls", "smooth", "order",
)  # fmt: skip

# The rows of README.md, by section and name, in words for newcomers. The largest loss of all rows is added to them.
HIGHLIGHTS = {
    ("forward", "max 2×2, 32×64×112×112, channels first"): "max 2×2, 32×64×112×112",
    ("vjp", "max 3×3 s2 p1, 32×64×112×112, channels first"): "max 3×3, stride 2, 32×64×112×112, with gradient",
    ("windows", "max 31×31 s1 of float32, 4096²"): "moving max 31×31, 4096×4096",
    ("images", "avg 4×4 of uint8 to uint8, 4096²"): "avg 4×4, uint8 image to uint8, 4096×4096",
    ("conv", "3×3 64→64, 8×56×56, channels last"): "conv 3×3, 64→64 channels, 8×56×56",
    ("conv long", "1,025 taps, full"): "filter of 1,025 taps, 48,000 samples",
    ("calls", "max 2×2 on 4×4"): "max 2×2, 4×4 (call overhead)",
}
HEADER = "slowdown relative to cenote"


def competitors(result: Result) -> str:
    """The time of each competitor relative to cenote's, fastest first; those that are faster in bold."""
    parts = []
    for name, ms in sorted(result.others.items(), key=lambda item: item[1]):
        ratio = ms / result.cenote
        text = f"{SHOWN.get(name, name)} {figure(ratio)}×"
        parts.append(text if ratio >= 1 else f"**{text} (faster)**")
    return ", ".join(parts)


def comparable(results: Sequence[Result]) -> list[Result]:
    """Rows against other libraries, not against a base case."""
    return [result for result in results if result.section in IN_DOCS and "base" not in result.others]


def largest_loss(results: Sequence[Result]) -> Result | None:
    behind = [result for result in comparable(results) if result.best < result.cenote]
    return min(behind, key=lambda result: result.best / result.cenote, default=None)


def machine_line(stored: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in stored["versions"].items() if name != "cenote")
    cpus = f"{stored['threads']} threads on {stored['cpus']} CPUs, {stored['simd']}"
    return f"{cpus}, Python {stored['python']}; {versions}."


def short_table(stored: dict[str, Any], results: Sequence[Result]) -> str:
    """The table of README.md: a few typical rows, and the largest loss."""
    found = {(result.section, result.name): result for result in results}
    rows = [(words, found[key]) for key, words in HIGHLIGHTS.items() if key in found]
    worst = largest_loss(results)
    if worst is not None:
        rows.append((f"{worst.name} (the largest loss)", worst))
    out = [f"| work | cenote | {HEADER} |", "|---|---:|---|"]
    return "\n".join(
        out + [f"| {words} | {amount(result, result.cenote)} | {competitors(result)} |" for words, result in rows]
    )


def rates(result: Result) -> tuple[str | None, str | None]:
    """The speed as a share of a copy's, and GFLOP/s."""
    copied = None if result.copy is None else f"{result.copy / result.cenote:.0%}"
    return copied, None if result.gigaflops is None else figure(result.gigaflops)


def full_tables(stored: dict[str, Any], results: Sequence[Result]) -> str:
    """The tables of docs/performance.md."""
    out = [machine_line(stored), ""]
    for title, (value, bound, count) in means(results).items():
        goal = "" if value >= bound else f"; the goal is {bound:g}×"
        out.append(f"- Geometric mean, {title}, over {count} rows: {figure(value)}×{goal}.")
    busy = max((result.others_busy or 0 for result in results), default=0)
    if busy > BUSY:
        out.append(f"- Other processes used up to {busy:.0%} of the CPUs during the measurement.")
    for section in IN_DOCS:
        rows = [result for result in comparable(results) if result.section == section]
        if not rows:
            continue
        share, rate = (any(part is not None for part in parts) for parts in zip(*map(rates, rows), strict=True))
        out += ["", f"**{SECTIONS[section][:1].upper()}{SECTIONS[section][1:]}**", ""]
        out += [f"| work | cenote |{' GFLOP/s |' if rate else ''} {HEADER} |{' of copy |' if share else ''}"]
        out += ["|---|---:|" + ("---:|" if rate else "") + "---|" + ("---:|" if share else "")]
        for result in rows:
            copied, speed = (part or "" for part in rates(result))
            middle, tail = f" {speed} |" if rate else "", f" {copied} |" if share else ""
            out.append(f"| {result.name} | {amount(result, result.cenote)} |{middle} {competitors(result)} |{tail}")
    return "\n".join(out)


def with_table(page: str, text: str) -> str:
    """``page`` with ``text`` between its markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} … {END}")
    return f"{before}{begin}\n{text}\n{end}{after}"


PAGES = {"README.md": short_table, "docs/performance.md": full_tables}


def write_pages(record: Path) -> list[str]:
    """Write the tables of all pages, and name the pages."""
    for name, table in PAGES.items():
        page = ROOT / name
        page.write_text(with_table(page.read_text(encoding="utf-8"), table(*load(record))), encoding="utf-8")
    return list(PAGES)
