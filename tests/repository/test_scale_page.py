"""docs/scale.md is what its tools compute, and the simulation behind it keeps to what is physically possible."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import petabyte  # noqa: E402
import scale_page  # noqa: E402

import labelled  # noqa: E402
import scale  # noqa: E402

COSTS = petabyte.Costs(pool=4e-9, copy=14e-9, task=0.5e-3, graph=30e-6, compression=2.0)
TASK = (256e6, 32e6)  # bytes read and written


def test_the_page_is_up_to_date() -> None:
    assert scale_page.PAGE.read_text(encoding="utf-8") == scale_page.page(), "run python tools/scale_page.py"


def test_the_table_of_dataarrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is on the page as soon as there are figures."""
    rows = [
        {"backing": "NumPy", "name": "coarsen", "cenote": 2.0, "xarray": 7.0},
        {"backing": "NumPy", "name": "rolling", "cenote": 1.0, "xarray": 30.0},
        {"backing": "dask", "name": "rolling", "cenote": 4.0, "xarray": 2.0},
    ]
    (tmp_path / "labelled.json").write_text(json.dumps({"side": 64, "threads": 2, "busy": 0.125, "rows": rows}))
    monkeypatch.setattr(scale_page, "LABELLED", tmp_path / "labelled.json")
    table = """ 2 threads. Other processes took 12 % of the CPUs.

| speedup over xarray | of NumPy | of dask |
|---|---|---|
| coarsen | 3.5× |  |
| rolling | 30.0× | 0.5× |

"""
    assert table in scale_page.page()


def test_the_program_for_dataarrays_writes_what_the_page_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "labelled.json"
    monkeypatch.setattr(sys, "argv", ["labelled.py", "--rounds", "1", "--side", "32", "--json", str(out)])
    monkeypatch.setattr(labelled, "CASES", labelled.CASES[:1])
    labelled.main()
    text = scale_page.labelled_table(json.loads(out.read_text(encoding="utf-8")))
    assert text.startswith("DataArrays of 32³ float32")
    assert re.search(r"\| coarsen 2×2×2 mean \| [\d.]+× \| [\d.]+× \|", text)


def test_the_figures_of_record_have_what_the_page_needs() -> None:
    record = json.loads(petabyte.RECORD.read_text(encoding="utf-8"))
    assert all(
        times["dask.array.coarsen"] >= 5 * times["cenote"] for n, times in record["coarsen"].items() if n != "busy"
    )
    files = record["zarr"]
    assert all(files["cpu"]["copy"] >= 0.75 * files["cpu"][n] for n in files["cpu"])
    assert record["graph"]["graph"] <= 1
    assert petabyte.measured().copy > 8 / 7 * petabyte.measured().pool  # what the page says of level 0


@pytest.mark.parametrize(
    ("limit", "machine", "cpu", "hours"),
    [
        ("CPUs", petabyte.Machine(network=1e12, storage=1e12), 1.0, 4e6 / 64 / 3600),
        ("storage", petabyte.Machine(network=1e12, storage=1e9), 0.01, 4e6 * 144e6 / 1e9 / 3600),
        ("network", petabyte.Machine(network=1e8, storage=1e12), 0.01, 4e6 * 128e6 / 2e8 / 3600),
        ("scheduler", petabyte.Machine(network=1e12, storage=1e12), 1e-4, 4e6 * 0.5e-3 / 3600),
    ],
)
def test_one_resource_that_limits(limit: str, machine: petabyte.Machine, cpu: float, hours: float) -> None:
    found = petabyte.simulate(*TASK, cpu, 4e6, COSTS, machine, 2)
    assert found.limit == limit
    assert hours * 0.97 < found.hours < hours * 1.12
    assert found.storage <= machine.storage
    assert found.network <= machine.network


def test_more_machines_are_never_slower() -> None:
    layout, machine = petabyte.plan(256), petabyte.Machine()
    hours = [petabyte.pool(layout, COSTS, machine, n).hours for n in (1, 2, 4, 8)]
    assert hours == sorted(hours, reverse=True)
    assert layout.tasks * layout.written > 1.02e15 / 8


@pytest.mark.parametrize("section", ["coarsen", "zarr"])
def test_the_benchmark_runs(section: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "VOLUME", (16, 64, 64))
    found = scale.figures(1, [section])
    assert set(found) == {section}
    lines = list(scale.lines_of(section, found[section]))
    assert len(lines) == {"coarsen": 5, "zarr": 3}[section]
    assert "other processes took" in lines[-1]
