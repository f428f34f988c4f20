"""What the benchmarks say of their figures: goals judged, figures kept, and the tables of the pages."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

import report
import tables
from report import Result, Verdict
from rows import Goal, Row, rows
from work import Case

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "benchmarks" / "results.json"
ROWS = rows()


def judged(goal: Goal, case: Case | None = None, base: Case | None = None, **figures: Any) -> Verdict:
    row = Row("forward", "a row", case, (), (goal,), base)
    (verdict,) = report.judge(row, Result("forward", "a row", None, **figures))
    return verdict


def test_goals_are_judged() -> None:
    ahead = judged(Goal("ahead", 1.0), cenote=2.0, others={"torch": 8.0, "jax": 3.0})
    assert (ahead.value, ahead.met) == (1.5, True)
    assert report.words(ahead) == "1.50× vs. the fastest competitor: ahead"
    assert (
        report.words(judged(Goal("ahead", 1.0), cenote=4.0, others={"jax": 3.0}))
        == "0.750× vs. the fastest competitor: BEHIND"
    )
    assert not judged(Goal("ahead", 5.0), cenote=1.0, others={"jax": 4.0}).met
    assert not judged(Goal("ahead", 1.0), cenote=1.0).met  # nobody to compare with
    assert report.words(judged(Goal("copy", 0.8), cenote=4.0, copy=3.0)) == "75% of copy, ≥ 80%: MISSED"
    assert judged(Goal("copy", 0.8), cenote=4.0, copy=3.2).met
    assert judged(Goal("ratio", 1.5), cenote=3.0, others={"base": 2.0}).met
    assert not judged(Goal("ratio", 1.5), cenote=3.1, others={"base": 2.0}).met
    assert judged(Goal("speedup", 1.8), cenote=1.0, others={"one thread": 1.9}).met
    assert not judged(Goal("speedup", 1.8), cenote=1.0, others={"one thread": 1.7}).met
    against_one = judged(Goal("ahead of torch", 1.3), cenote=2.0, others={"torch": 3.0, "jax": 1.0})
    assert (against_one.value, report.words(against_one)) == (1.5, "1.50× vs. torch, ≥ 1.3: met")
    assert not judged(Goal("ahead of torch", 1.3), cenote=2.0, others={"jax": 9.0}).met
    assert judged(Goal("memory", 2.0), cenote=1.9).met
    assert not judged(Goal("import", 50.0), cenote=51.0).met
    wide, single = (Case("max", (4, 4), (2, 2), dtype=dtype) for dtype in ("float64", "float32"))
    per_byte = judged(Goal("ratio per byte", 1.3), wide, single, cenote=3.0, others={"base": 1.0})
    assert (per_byte.value, per_byte.met) == (1.5, False)


def some_results() -> list[Result]:
    return [
        Result("forward", "one, channels first", "forward", 1.0, {"torch": 4.0, "jax": 2.0}, 0.5, {}, 0.3),
        Result("forward", "one, channels last", "forward", 1.0, {"torch": 0.5}),
        Result("vjp", "two, channels first", "vjp", 1.0, {"torch": 6.0}),
        Result("calls", "three", None, 0.004, {"torch": 0.003}),
        Result("windows", "four", None, 2.0, {"base": 1.0}),
        Result("conv", "five, channels last", "conv", 2.0, {"torch": 3.0}, flops=380_000_000),
        Result("conv vjp", "six, channels last", "conv vjp", 1.0, {"torch": 0.5}, flops=250_000_000),
    ]


def test_means() -> None:
    found = report.means(some_results())
    assert list(found) == list(report.MEANS)
    assert [value for value, _, _ in found.values()] == pytest.approx([1.0, 4.0, 6.0, 1.5, 0.5])
    assert [count for _, _, count in found.values()] == [2, 1, 1, 1, 1]


def test_the_summary_says_what_was_missed() -> None:
    results = some_results()
    results[0].verdicts = [Verdict("ahead", 2.0, 1.0, True), Verdict("copy", 0.5, 0.8, False)]
    results[1].verdicts = [Verdict("ahead", 0.5, 1.0, False)]
    text = "\n".join(report.summary(results))
    assert "ahead on 1 rows, BEHIND on 1" in text
    assert "goals: 1 of 3 met" in text
    assert "fastest competitor, 2 rows: 1.00×, ≥ 3: MISSED" in text
    assert "one, channels first: 50% of copy, ≥ 80%: MISSED" in text
    assert "one, channels last: 0.500× vs. the fastest competitor: BEHIND" in text


def test_figures() -> None:
    assert [report.near(x, 1.8) for x in (1.7996, 1.80004, 1.8, 2.0, math.nan)] == [
        *("1.7996", "1.80004", "1.80", "2.00", "?")
    ]
    assert [report.figure(x) for x in (0.01234, 0.5, 9.876, 99.94, 123.4, 0.0, math.nan)] == [
        *("0.0123", "0.500", "9.88", "99.9", "123", "0", "?")
    ]


# --------------------------------------------------------------------------------------------------- what is kept


def test_what_was_not_run_keeps_its_figures(tmp_path: Path) -> None:
    order = [Row("forward", "one, channels first"), Row("forward", "one, channels last"), Row("calls", "three")]
    old, new = some_results(), some_results()[:1]
    new[0].cenote, new[0].verdicts = 7.12345678, [Verdict("ahead", math.nan, 1.0, False)]
    path = tmp_path / "new" / "figures.json"
    report.save(path, old, order)
    report.save(path, new, order)
    machine, found = report.load(path)
    assert [(r.name, r.cenote) for r in found] == [
        ("one, channels first", 7.123),
        ("one, channels last", 1.0),
        ("three", 0.004),
    ]
    assert math.isnan(found[0].verdicts[0].value)
    assert machine == report.machine()


MACHINE = {"threads": 2, "cpus": 2, "simd": "avx2", "python": "3", "versions": {"cenote": "0", "torch": "1"}}


def test_tables_show_losses_as_losses() -> None:
    text = tables.full_tables(MACHINE, some_results())
    assert "| one, channels first | 1.00 ms | JAX 2.00×, torch 4.00× | 50% |" in text
    assert "| one, channels last | 1.00 ms | **torch 0.500× (faster)** |  |" in text
    assert "| three | 4.00 µs | **torch 0.750× (faster)** |" in text
    assert "over 2 rows: 1.00×; the goal is 3×." in text
    assert "over 1 rows: 6.00×." in text
    assert "Other processes used up to 30% of the CPUs during the measurement." in text
    assert "four" not in text
    assert "| work | cenote | GFLOP/s | slowdown relative to cenote |\n|---|---:|---:|---|" in text
    assert "| five, channels last | 2.00 ms | 190 | torch 1.50× |" in text
    assert "| six, channels last | 1.00 ms | 250 | **torch 0.500× (faster)** |" in text


def test_the_short_table_ends_with_the_largest_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "HIGHLIGHTS", {("vjp", "two, channels first"): "two in plain words"})
    results = some_results()
    results[3].others["torch"] = 0.001
    *_, first, last = tables.short_table(MACHINE, results).splitlines()
    assert first == "| two in plain words | 1.00 ms | torch 6.00× |"
    assert last == "| three (the largest loss) | 4.00 µs | **torch 0.250× (faster)** |"
    winning = [result for result in results if result.best >= result.cenote]
    assert "loss" not in tables.short_table(MACHINE, winning)
    assert tables.largest_loss([Result("windows", "four", None, 2.0, {"base": 1.0})]) is None


def test_every_highlight_is_a_row() -> None:
    assert tables.HIGHLIGHTS.keys() <= {(row.section, row.name) for row in ROWS}


@pytest.mark.parametrize("name", tables.PAGES)
def test_pages_have_the_figures_of_record(name: str) -> None:
    page, table = (ROOT / name).read_text(encoding="utf-8"), tables.PAGES[name](*report.load(RECORD))
    assert page == tables.with_table(page, table), "run benchmarks/run.py with --pages"
    with pytest.raises(ValueError, match="has no <!-- benchmarks: begin"):
        tables.with_table("# A page", "")


def test_the_record_has_every_row_and_no_place() -> None:
    _, results = report.load(RECORD)
    assert [f"{r.section}: {r.name}" for r in results] == [row.key for row in ROWS]
    for row, result in zip(ROWS, results, strict=True):
        assert [v.kind for v in result.verdicts] == [goal.kind for goal in row.goals]
        assert set(result.others) | set(result.refused) >= set(row.peers)
    assert not re.search(r"[\"' ](/|[A-Z]:\\)\w", RECORD.read_text(encoding="utf-8"))
