"""The benchmarks compare like with like, judge what they measure, and README.md says what they found."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cenote as cn
import measure
import peers
import processes
import report
import run
from candidates import Candidate
from conv_work import Conv
from report import Result, Verdict
from rows import SECTIONS, Goal, Row, rows
from work import Case

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "benchmarks" / "results.json"
ROWS = rows()
COMPARED = [row for row in ROWS if row.peers]
CASES = [case for row in ROWS for case in (row.case, row.base) if case is not None]
# The other libraries are installed for the benchmarks only. The driver itself compares before it times.
INSTALLED = {"torch", "jax", "numpy", "scipy", "mygrad"}


def driver(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: JAX starts threads, after which this one must not fork any more."""
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


# ----------------------------------------------------------------------------------------------- like with like


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, str | None]]:
    done = driver("--check")
    assert done.stdout, done.stderr
    found: dict[str, dict[str, str | None]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("row", COMPARED, ids=lambda row: row.key)
def test_peers_do_the_same_work(row: Row, answers: dict[str, dict[str, str | None]]) -> None:
    assert list(answers[row.key]) == list(row.peers)
    for peer, why in answers[row.key].items():
        assert why is None or (peer not in INSTALLED and why.startswith("not installed: ")), f"{peer}: {why}"


def test_other_work_is_found_out() -> None:
    case = Case("avg", (1, 1, 4, 4), (2, 2))
    ours = [np.array([1.0, 2.0]), np.array([3.0])]
    assert peers.disagreement(case, ours, [ours[0] + 1e-6, ours[1]], False) is None
    assert peers.disagreement(case, ours, [ours[0], ours[1] + 0.25], False) == "other numbers: as far as 0.25 away"
    assert peers.disagreement(case, ours, [ours[0], ours[1] + 0.25], True) is None
    assert peers.disagreement(case, ours, [ours[0], ours[1] + 0.75], True) == "other numbers: as far as 0.75 away"
    assert peers.disagreement(case, ours, [ours[0][:1], ours[1]], False) == "shape (1,), not (2,)"
    assert peers.disagreement(case, ours, ours[:1], False) == "1 results, not 2"
    assert peers.disagreement(case, ours, [ours[0], np.array([math.nan])], False) is not None


def test_a_peer_that_does_other_work_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(case: Case, x: Any, g: Any = None) -> Candidate:
        return Candidate(lambda: cn.min_pool(x, case.window))

    def broken(case: Case, x: Any, g: Any = None) -> Candidate:
        raise RuntimeError("not for uint16\nand more")

    monkeypatch.setitem(peers.PEERS, "scipy", wrong)
    monkeypatch.setitem(peers.PEERS, "skimage", broken)
    row = Row("images", "a row", Case("max", (8, 8), (2, 2)), ("scipy", "numpy", "skimage"), (Goal("ahead", 1.0),))
    result = run.timed(row, 1, 0.0)
    assert set(result.others) == {"numpy"}
    assert set(result.refused) == {"scipy", "skimage"}
    assert result.refused["scipy"].startswith("other numbers: ")
    assert result.refused["skimage"] == "RuntimeError: not for uint16"
    assert "scipy not timed: other numbers" in report.line(result)


# ------------------------------------------------------------------------------------------------------ the rows


def test_rows_have_names_of_their_own() -> None:
    assert len({row.key for row in ROWS}) == len(ROWS)
    assert list(dict.fromkeys(row.section for row in ROWS)) == list(SECTIONS)


def test_every_goal_has_its_rows() -> None:
    goals: dict[str, set[str]] = {section: set() for section in SECTIONS}
    for row in ROWS:
        goals[row.section] |= {goal.kind for goal in row.goals}
    assert goals == {
        "forward": {"ahead", "copy"},
        "vjp": {"ahead", "copy"},
        "windows": {"ratio", "ahead"},
        "images": {"ahead", "copy"},
        "dtypes": {"ratio per byte"},
        "smooth": {"ahead"},
        "conv": {"ahead", "ahead of torch"},
        "conv vjp": {"ahead"},
        "conv other": {"ahead"},
        "conv long": {"ahead"},
        "options": {"ratio"},
        "calls": {"ahead"},
        "memory": {"memory"},
        "threads": {"speedup"},
        "package": {"size", "import"},
    }
    assert all(row.goals for row in ROWS)
    floats, integers = {"float64", "float16", "bfloat16"}, {f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)}
    assert {row.case.dtype for row in ROWS if row.section == "dtypes" and row.case} == floats | integers


@pytest.mark.parametrize("section", ["forward", "vjp", "smooth", "conv", "conv vjp"])
def test_every_row_is_there_in_both_layouts(section: str) -> None:
    cases = [row.case for row in ROWS if row.section == section and row.case]
    first, last = ({replace(c, layout="") for c in cases if c.layout == layout} for layout in ("first", "last"))
    assert first == last != set()


@pytest.mark.parametrize("row", [row for row in ROWS if row.section == "options"], ids=lambda row: row.name)
def test_the_plain_case_has_as_many_outputs(row: Row) -> None:
    assert row.case is not None
    assert isinstance(row.base, Case)
    assert math.prod(row.case.output_shape) == math.prod(row.base.output_shape)
    assert row.case != row.base
    plain = replace(row.base, shape=(), padding=0, stride=None)
    assert plain == Case(row.base.op, (), row.base.window)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.op}-{case.window}-{case.dtype}-{case.layout}")
def test_less_data_and_the_same_call(case: Case | Conv) -> None:
    small = case.small()
    whole = replace(small, shape=case.shape)
    assert (
        replace(whole, filters=case.filters) if isinstance(whole, Conv) and isinstance(case, Conv) else whole
    ) == case
    assert math.prod(small.shape) <= 3**2 * 65**2
    for axis, step in zip(case.spatial, case.steps, strict=True):
        assert (case.shape[axis] - small.shape[axis]) % step == 0
    x = small.data()
    assert x.shape == small.shape
    assert (np.moveaxis(x, 1, -1) if case.layout == "last" else x).flags.c_contiguous
    # Bytes are what arrays have.
    assert x.nbytes == small.input_bytes
    found = peers.cenote(small, x, small.cotangent())
    arrays = found.read(found.run())
    if case.mode != "backward":
        moved = x.nbytes + sum(array.nbytes for array in arrays) + (small.output_bytes if case.mode == "vjp" else 0)
        moved += small.weights().nbytes if isinstance(small, Conv) else 0
        assert moved == small.bytes_moved
        assert arrays[0].dtype == small.output_dtype
        assert arrays[0].shape == small.output_shape


def test_nan_are_as_many_as_asked_for() -> None:
    share = np.isnan(Case("max", (300, 300), (2, 2), nans=0.01).data()).mean()
    assert 0.008 < share < 0.012


# -------------------------------------------------------------------------------------------------- measurements


class Clock:
    """Time that passes only where it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[str] = []

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def work(self, name: str, durations: Iterator[float]) -> measure.Work:
        def call() -> None:
            self.now += next(durations)
            self.log.append(name)

        return call


def test_the_best_turn_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(measure, "time", clock)
    steady, noisy = iter([0.02] * 99), iter([0.001, 0.02, 0.09, 0.03, 0.09])
    times = measure.measure({"a": clock.work("a", steady), "b": clock.work("b", noisy)}, 3, 9.0)
    assert times == pytest.approx({"a": 20.0, "b": 30.0})  # the first calls, and those that only say how long, are out
    assert clock.log[4:] == ["a", "b", "b", "a", "a", "b"]


def test_a_slow_candidate_sits_out_and_a_short_one_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(measure, "time", clock)
    slow, short = iter([2.0] * 99), iter([0.0002] * 9999)
    times = measure.measure({"slow": clock.work("slow", slow), "short": clock.work("short", short)}, 4, 1.0)
    assert times == pytest.approx({"slow": 2000.0, "short": 0.2})
    assert clock.log.count("slow") == 2 + 1
    calls, samples = 3, measure.TURN / 0.0006
    assert clock.log.count("short") == pytest.approx(2 + 4 * calls * samples, abs=4 * calls)


def test_a_copy_moves_half_of_the_bytes_each_way(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(1) as helper:
        monkeypatch.setattr(measure, "HELPERS", helper)
        copied = measure.copy_of(8000)()
    assert copied.nbytes == 4000
    assert np.array_equal(copied, np.ones(1000, np.float32))


def test_peak_memory_is_what_lies_above_arguments_and_results(monkeypatch: pytest.MonkeyPatch) -> None:
    extra = 48 * 2**20

    def wasteful(case: Case, x: Any, g: Any = None) -> Candidate:
        def work() -> Any:
            np.ones(extra, np.uint8)
            return np.ones(2**24, np.uint8)

        return Candidate(work)

    monkeypatch.setattr(processes, "cenote", wasteful)
    before = cn.get_num_threads()
    np.ones(4 * extra, np.uint8)  # a peak of the past does not count
    row = Row("memory", "a row", Case("max", (64, 64), (2, 2)))
    if processes.FORGET.exists():
        # The one array is gone before the other is made.
        assert abs(processes.extra(row) - (extra - 2**24)) < 2**21
    else:
        with pytest.raises(OSError, match="clear_refs"):
            processes.extra(row)
    cn.set_num_threads(before)


def test_the_wheel_is_a_few_megabytes() -> None:
    assert 0.1 < processes.wheel_size() < 5


# ------------------------------------------------------------------------------------------------------- verdicts


def judged(goal: Goal, case: Case | None = None, base: Case | None = None, **figures: Any) -> Verdict:
    row = Row("forward", "a row", case, (), (goal,), base)
    (verdict,) = report.judge(row, Result("forward", "a row", None, **figures))
    return verdict


def test_goals_are_judged() -> None:
    ahead = judged(Goal("ahead", 1.0), cenote=2.0, others={"torch": 8.0, "jax": 3.0})
    assert (ahead.value, ahead.met) == (1.5, True)
    assert report.words(ahead) == "1.50× the best other: ahead"
    assert report.words(judged(Goal("ahead", 1.0), cenote=4.0, others={"jax": 3.0})) == "0.750× the best other: BEHIND"
    assert not judged(Goal("ahead", 5.0), cenote=1.0, others={"jax": 4.0}).met
    assert not judged(Goal("ahead", 1.0), cenote=1.0).met  # nobody to compare with
    assert report.words(judged(Goal("copy", 0.8), cenote=4.0, copy=3.0)) == "75% of copy, ≥ 80%: MISSED"
    assert judged(Goal("copy", 0.8), cenote=4.0, copy=3.2).met
    assert judged(Goal("ratio", 1.5), cenote=3.0, others={"base": 2.0}).met
    assert not judged(Goal("ratio", 1.5), cenote=3.1, others={"base": 2.0}).met
    assert judged(Goal("speedup", 1.8), cenote=1.0, others={"one thread": 1.9}).met
    assert not judged(Goal("speedup", 1.8), cenote=1.0, others={"one thread": 1.7}).met
    beside_one = judged(Goal("ahead of torch", 1.3), cenote=2.0, others={"torch": 3.0, "jax": 1.0})
    assert (beside_one.value, report.words(beside_one)) == (1.5, "1.50× torch, ≥ 1.3: met")
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
    assert "one, channels last: 0.500× the best other: BEHIND" in text


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


def test_tables_show_losses_as_losses() -> None:
    machine = {"threads": 2, "cpus": 2, "simd": "avx2", "python": "3", "versions": {"cenote": "0", "torch": "1"}}
    text = report.tables(machine, some_results())
    assert "| one, channels first | 1.00 ms | JAX 2.00×, torch 4.00× | 50% |" in text
    assert "| one, channels last | 1.00 ms | **torch 0.500×, behind** |  |" in text
    assert "| three | 4.00 µs | **torch 0.750×, behind** |" in text
    assert "over 2 rows: 1.00×; 3 is to be reached." in text
    assert "over 1 rows: 6.00×." in text
    assert "Other processes took up to 30% of the CPUs meanwhile." in text
    assert "four" not in text
    assert "| work | cenote | GFLOP/s | the others take |\n|---|---:|---:|---|" in text
    assert "| five, channels last | 2.00 ms | 190 | torch 1.50× |" in text
    assert "| six, channels last | 1.00 ms | 250 | **torch 0.500×, behind** |" in text


def test_the_readme_has_the_figures_of_record() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert page == report.with_tables(page, report.tables(*report.load(RECORD))), "run benchmarks/run.py with --readme"
    with pytest.raises(ValueError, match="has no <!-- benchmarks: begin"):
        report.with_tables("# A page", "")


def test_the_record_has_every_row_and_no_place() -> None:
    _, results = report.load(RECORD)
    assert [f"{r.section}: {r.name}" for r in results] == [row.key for row in ROWS]
    for row, result in zip(ROWS, results, strict=True):
        assert [v.kind for v in result.verdicts] == [goal.kind for goal in row.goals]
        assert set(result.others) | set(result.refused) >= set(row.peers)
    assert not re.search(r"[\"' ](/|[A-Z]:\\)\w", RECORD.read_text(encoding="utf-8"))


# ----------------------------------------------------------------------------------------------------- the driver


def test_the_driver_runs(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    done = driver("--section", "calls", "--only", "max", "--quick", "--json", str(path))
    assert done.returncode == 0, done.stderr
    _, results = report.load(path)
    assert [r.name for r in results] == [row.name for row in ROWS if row.section == "calls" and "max" in row.name]
    for result in results:
        assert result.refused == {}
        assert min(result.cenote, *result.others.values()) > 0
        line = rf"^{re.escape(result.name)} +[\d.]+ µs .*best other: (ahead|BEHIND)"
        assert re.search(line, done.stdout, re.MULTILINE), done.stdout


def test_the_driver_lists_its_rows() -> None:
    done = driver("--list", "--only", "^threads|uint64")
    chosen = [row.key for row in ROWS if row.section == "threads" or "uint64" in row.name]
    assert done.stdout.splitlines() == chosen != []
