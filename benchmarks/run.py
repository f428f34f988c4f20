"""Time cenote vs. other libraries, a memory copy and itself, and compare every figure with its goal.

Read the ratios: the machine may be busy. A row on which cenote is slower is printed as BEHIND. With --json, the rows
that were run replace those in the file. --check times nothing: it says whether each competitor computes the same, on
small data.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import cenote as cn
from conv_work import Conv
from measure import Others, Work, copy_of, measure
from peers import cenote, checked, disagreement, peer
from processes import import_time, peak_memory, wheel_size
from report import Result, judge, line, save, summary
from rows import SECTIONS, THREADS, Row, rows
from tables import write_pages


def threaded(work: Work, threads: int) -> Work:
    def run() -> object:
        cn.set_num_threads(threads)
        try:
            return work()
        finally:
            cn.set_num_threads(THREADS)

    return run


def failure(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:120]}"


def timed(row: Row, rounds: int, budget: float) -> Result:
    """Time a row, its candidates interleaved."""
    case = row.case
    assert case is not None
    x, g = case.data(), case.cotangent() if case.mode == "vjp" else None
    ours = cenote(case, x, g)
    candidates: dict[str, Work] = {"cenote": ours.run}
    refused: dict[str, str] = {}
    expected = ours.read(ours.run())
    for name in row.peers:
        why: str | None
        try:
            other = peer(name, case, x, g)
            found = other.read(other.run())
            why = disagreement(case, expected, found, other.rounds)
            del found
        except Exception as error:  # a competitor that fails does not stop the others
            why = failure(error)
        if why is None:
            candidates[name] = other.run
        else:
            refused[name] = why
    del expected
    if row.base is not None:
        candidates["base"] = cenote(row.base, row.base.data()).run
    if row.section == "threads":
        candidates["cenote"], candidates["one thread"] = threaded(ours.run, THREADS), threaded(ours.run, 1)
    if any(goal.kind == "copy" for goal in row.goals):
        candidates["copy"] = copy_of(case.bytes_moved)
    times = measure(candidates, rounds, budget)
    mine, copy = times.pop("cenote"), times.pop("copy", None)
    flops = case.flops if isinstance(case, Conv) else None
    return Result(row.section, row.name, row.mean, mine, times, copy, refused, flops=flops)


def result_of(row: Row, rounds: int, budget: float) -> Result:
    other: dict[str, Callable[[], float]] = {
        "memory": lambda: peak_memory(row),
        "size": wheel_size,
        "import": lambda: import_time(max(3, rounds)),
    }
    kind = row.goals[0].kind
    others, start = Others(), time.perf_counter()
    result = Result(row.section, row.name, None, other[kind]()) if kind in other else timed(row, rounds, budget)
    result.others_busy = others.share(time.perf_counter() - start)
    result.verdicts = judge(row, result)
    gc.collect()
    return result


def check(chosen: Sequence[Row]) -> dict[str, dict[str, str | None]]:
    """For every row and competitor: None if it computes the same on small data, else the difference."""
    out: dict[str, dict[str, str | None]] = {}
    for row in chosen:
        for name in row.peers:
            assert row.case is not None
            try:
                found = checked(row.case, name)
            except ImportError as error:
                found = f"not installed: {error}"
            except Exception as error:
                found = failure(error)
            out.setdefault(row.key, {})[name] = found
    return out


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--section", choices=SECTIONS, action="append", help="only this section; repeatable")
    parser.add_argument("--only", metavar="REGEX", default="", help="only rows whose 'section: name' matches")
    parser.add_argument("--rounds", type=int, default=7, help="rounds per candidate (7)")
    parser.add_argument("--quick", action="store_true", help="two rounds, half a second at most: to see that it runs")
    parser.add_argument("--list", action="store_true", help="print the rows and stop")
    parser.add_argument("--check", action="store_true", help="compare results on small data, print JSON and stop")
    parser.add_argument("--json", metavar="PATH", type=Path, default=Path("build/benchmarks.json"))
    parser.add_argument("--pages", action="store_true", help="write the tables of README.md and docs/ from the JSON")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    everything = rows()
    chosen = [row for row in everything if not options.section or row.section in options.section]
    chosen = [row for row in chosen if re.search(options.only, row.key)]
    if options.list:
        print("\n".join(row.key for row in chosen))
        return 0
    if options.check:
        found = check(chosen)
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return int(any(why for peers in found.values() for why in peers.values()))
    cn.set_num_threads(THREADS)
    cn.show_config()
    rounds, budget = (2, 0.5) if options.quick else (options.rounds, 1.5)
    results: list[Result] = []
    for row in chosen:
        if not results or results[-1].section != row.section:
            print(f"\n{row.section}: {SECTIONS[row.section]}", flush=True)
        results.append(result_of(row, rounds, budget))
        print(line(results[-1]), flush=True)
        save(options.json, results, everything)  # an interrupt loses no finished row
    print("\n" + "\n".join(summary(results)))
    print(f"\nwritten to {options.json}")
    if options.pages:
        print(f"written to {', '.join(write_pages(options.json))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
