"""benchmarks/torch_rows.py runs, keeps its figures, and writes the tables of docs/torch.md."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from torch_networks import Pair
from torch_rows import (
    BEGIN,
    END,
    FORWARD,
    PAGE,
    RECORD,
    ROWS,
    SMALL,
    WAYS,
    Call,
    Result,
    load,
    save,
    table,
    with_rows,
    works,
)

ROOT = Path(__file__).parents[2]
RESULTS = [
    Result("max 2×2, 1×1×4×4", "channels first", "forward", Pair(2.0, 1.0), Pair(1.0, 2.0), 0.5),
    Result("max 2×2, 1×1×4×4", "channels first", "with gradient", Pair(9.0, 1.0), Pair(4.0, 1.0), None),
]
CALLS = [
    Call("max 2×2, 1×1×4×4", "forward", 5.0, 3.0, 2.5),
    Call("max 2×2, 1×1×4×4", "with gradient", 50.0, 20.0, None),
]


def test_it_runs_on_small_data(tmp_path: Path) -> None:
    record = tmp_path / "figures.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "torch_rows.py"), "--quick", "--json", str(record)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    about, results, calls = load(record)
    assert about["threads"] == 2
    formats = [(row.work, 1 + (len(row.shape) > 3)) for row in ROWS]
    assert [r.work for r in results] == [work for work, count in formats for _ in range(2 * count)]
    assert [(c.work, c.way) for c in calls] == [(row.work, way) for row in SMALL for way in WAYS]
    assert all(pair.torch > 0 and pair.cenote > 0 for r in results for pair in (r.alone, r.inside))
    assert [c.array is None for c in calls] == [False, True] * 2
    assert len(done.stdout.splitlines()) == len(results) + len(calls)


def test_rows_that_were_not_run_keep_their_figures(tmp_path: Path) -> None:
    record, again = tmp_path / "figures.json", replace(RESULTS[0], alone=Pair(3.0, 1.0))
    save(record, RESULTS, CALLS, 2)
    save(record, [again], [replace(CALLS[1], cenote=40.0)], 1)
    about, results, calls = load(record)
    assert results == [again, RESULTS[1]]
    assert calls == [CALLS[0], replace(CALLS[1], cenote=40.0)]
    assert about["threads"] == 1


def test_a_row_is_not_timed_where_the_libraries_differ() -> None:
    wrong = replace(SMALL[0], theirs=lambda x: SMALL[1].theirs(x))
    with pytest.raises(AssertionError, match="not close"):
        works(wrong, torch.arange(16.0).reshape(1, 1, 4, 4), FORWARD)


def test_the_tables_show_losses() -> None:
    about = {"threads": 2, "cpus": 2, "simd": "avx2", "versions": {"torch": "2.13.0"}}
    text = table(about, RESULTS, CALLS)
    assert text.startswith("2 threads on 2 CPUs, avx2, torch 2.13.0. Speedup over torch; losses in bold.")
    assert "| max 2×2, 1×1×4×4 | channels first | 2.00× | 9.00× | **0.500×** | 4.00× |" in text
    assert "| max 2×2, forward | 5.00 µs | 3.00 µs | 2.50 µs |" in text
    assert "| max 2×2, with gradient | 50.0 µs | 20.0 µs |  |" in text
    assert text.endswith("Other processes used up to 50% of the CPUs during the measurement.")


def test_the_page_has_the_tables_of_the_record() -> None:
    """Until there is a record, nothing is between the markers."""
    page = PAGE.read_text(encoding="utf-8")
    assert page.count(BEGIN) == page.count(END) == 1
    text = table(*load(RECORD)) if RECORD.exists() else ""
    assert with_rows(page, text) == page, "run python benchmarks/torch_rows.py --json benchmarks/torch_rows.json --page"
