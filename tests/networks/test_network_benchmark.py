"""benchmarks/torch_networks.py runs, keeps its figures, and writes the table of docs/torch.md."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tables import with_table
from torch_networks import PAGE, RECORD, WORKS, Pair, Row, line, load, save, table

ROOT = Path(__file__).parents[2]


def test_it_runs_on_small_networks(tmp_path: Path) -> None:
    record = tmp_path / "figures.json"
    options = ["--small", "--cpu-time", "--rounds", "1", "--budget", "0.01", "--batch", "1", "--json", str(record)]
    command = [sys.executable, str(ROOT / "benchmarks" / "torch_networks.py"), *options, "--only", "SPPF"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("accelerated") == 4
    about, rows = load(record)
    assert [(row.layout, row.work) for row in rows] == [(f"channels {n}", w) for n in ("first", "last") for w in WORKS]
    assert (about["threads"], about["time"], about["batch"]) == (1, "CPU", 1)
    assert all(row.whole.torch > 0 and row.whole.cenote > 0 for row in rows)
    assert [row.inside is None for row in rows] == [False, True, False, True]


def test_rows_that_were_not_run_keep_their_figures(tmp_path: Path) -> None:
    record, how = tmp_path / "figures.json", argparse.Namespace(threads=2, batch=8, cpu_time=False)
    first = [Row("A", "channels first", work, Pair(2.0, 1.0), None, None, None) for work in WORKS]
    again = Row("A", "channels first", "forward", Pair(3.0, 1.0), Pair(1.0, 1.0), Pair(1.0, 1.0), 0.25)
    save(record, first, how)
    save(record, [again], how)
    assert load(record)[1] == [again, first[1]]


def test_the_table_shows_losses() -> None:
    about = {"threads": 2, "cpus": 2, "simd": "avx2", "versions": {"torch": "2.13.0"}, "batch": 8, "time": "wall"}
    rows = [
        Row("A", "channels first", "forward", Pair(2.0, 1.0), Pair(0.5, 0.0625), Pair(9.0, 1.0), 0.5),
        Row("A", "channels first", "training step", Pair(1.0, 2.0), None, None, 0.0),
    ]
    text = table(about, rows)
    assert "| A | channels first | 2.00× | **0.500×** | 8.00× | 9.00× | 25% |" in text
    assert text.startswith("2 threads on 2 CPUs, avx2, torch 2.13.0, batches of 8 pictures.")
    assert text.endswith("Other processes used up to 50% of the CPUs during the measurement.")
    assert line(rows[0]).startswith("A, channels first, forward: torch 2.0 ms, accelerated 1.0 ms (2.00×); its pooling")


def test_the_page_has_the_table_of_the_record() -> None:
    assert with_table(PAGE.read_text(encoding="utf-8"), table(*load(RECORD))) == PAGE.read_text(encoding="utf-8"), (
        "run python benchmarks/torch_networks.py --pages"
    )
