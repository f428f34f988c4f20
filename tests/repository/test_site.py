"""The documentation builds as a site without a warning, has every page, and its reference has every public function."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import cenote as cn
from cenote.explanation.explanation import Explanation

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", str(DOCS), str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_is_in_the_contents(site: Path) -> None:
    contents = (site / "index.html").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert page.stem == "index" or f'href="{page.stem}.html"' in contents, page.name


def test_the_reference_has_every_function(site: Path) -> None:
    text = (site / "reference.html").read_text(encoding="utf-8")
    for name in set(cn.__all__) - {"dialects"}:
        assert f'id="cenote.{name}"' in text, name


def test_the_reference_has_what_explain_gives(site: Path) -> None:
    text = (site / "reference.html").read_text(encoding="utf-8")
    for name in vars(Explanation):
        if not name.startswith("_"):
            assert f'id="cenote.explanation.explanation.Explanation.{name}"' in text, name


def test_promises_name_tests_that_exist() -> None:
    text = (DOCS / "promises.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| **")]
    assert len(rows) > 15
    for row in rows:
        files = re.findall(r"`(tests/[^`]*)`", row)
        assert files, row
        for name in files:
            path = ROOT / name
            assert path.is_file(), name
            assert "\ndef test_" in path.read_text(encoding="utf-8"), name
