"""The benchmarks compare like with like, judge what they measure, and the pages say what they found."""

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
        "conv small": {"ahead"},
        "conv other": {"ahead"},
        "conv long": {"ahead"},
        "options": {"ratio"},
        "order": {"ahead"},
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
    """A clock that advances only when asked to."""

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


WASTEFUL = """
import numpy as np
import processes
from candidates import Candidate
from rows import Row
from work import Case

def wasteful(case, x, g=None):
    def work():
        np.ones({extra}, np.uint8)  # gone before the result is made
        return np.ones({given}, np.uint8)

    return Candidate(work)

processes.cenote = wasteful
np.ones(4 * {extra}, np.uint8)  # a peak of the past does not count
print(processes.extra(Row("memory", "a row", Case("max", (64, 64), (2, 2)))))
"""


def test_peak_memory_is_what_lies_above_arguments_and_results() -> None:
    extra, given = 48 * 2**20, 2**24
    # In a process of its own, as in the benchmarks: one that has run other tests may hold free memory that it reuses.
    done = subprocess.run(
        [sys.executable, "-c", WASTEFUL.format(extra=extra, given=given)],
        cwd=Path(str(processes.__file__)).parent,
        capture_output=True,
        text=True,
    )
    if processes.FORGET.exists():
        assert done.returncode == 0, done.stderr
        assert abs(int(done.stdout) - (extra - given)) < 2**21
    else:
        assert "clear_refs" in done.stderr


def test_the_wheel_is_a_few_megabytes() -> None:
    assert 0.1 < processes.wheel_size() < 3


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
        line = rf"^{re.escape(result.name)} +[\d.]+ µs .*fastest competitor: (ahead|BEHIND)"
        assert re.search(line, done.stdout, re.MULTILINE), done.stdout


def test_the_driver_lists_its_rows() -> None:
    done = driver("--list", "--only", "^threads|uint64")
    chosen = [row.key for row in ROWS if row.section == "threads" or "uint64" in row.name]
    assert done.stdout.splitlines() == chosen != []
