"""The benchmarks of JAX programs run, compare what they time, and write their table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import jax_rows
from cenote.dialects.flax import nnx
from jax_rows import Result, Row, compare, overhead, rows, run, table, verdict, write_page


def test_rows_compute_the_same_and_are_timed() -> None:
    every = list(rows(quick=True))
    assert [row.goal for row in every].count(10.0) == [row.goal for row in every].count(2.0) == 2
    for row in (every[3], every[-2]):
        result = run(row, 1, 0.01)
        assert result.mine > 0
        assert result.ratio == result.theirs / result.mine
    pool, plus = overhead(1)
    assert 0 < plus < 1e5 > pool > 0


def test_other_work_is_found_out() -> None:
    row = next(rows(quick=True))

    def wrong(m: Any) -> Any:
        return lambda x: row.build(m)(x) + (m is nnx)

    with pytest.raises(AssertionError, match="another"):
        compare(Row("another", wrong, row.arrays))


def test_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = [Result("a", 2.0, 50.0, 10.0), Result("b", 2.0, 3.0, 2.0), Result("c", 2.0, 1.0, None)]
    assert list(map(verdict, results)) == ["met: at least 10", "MISSED: at least 2", "BEHIND"]
    text = table(results, (6.0, 5.0))
    assert "| a | 2 ms | 25× |\n| b | 2 ms | 1.5× |\n| c | 2 ms | **0.5× (faster)** |\n" in text
    page = tmp_path / "page.md"
    page.write_text(f"before\n{jax_rows.BEGIN}\nold\n{jax_rows.END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(jax_rows, "PAGE", page)
    for _ in range(2):
        write_page(text)
    assert page.read_text(encoding="utf-8") == f"before\n{jax_rows.BEGIN}\n{text}\n{jax_rows.END}\nafter\n"
