"""The console sessions of the documents print what the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import zarr
from PIL import Image

from cenote import cli

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for page in sorted(DOCS.glob("*.md")) if "```console" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_console_sessions(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    volume = np.random.default_rng(0).integers(0, 999, (64, 100, 120)).astype(np.uint16)
    zarr.create_array("volume.zarr", data=volume, chunks=(16, 32, 32), dimension_names=("z", "y", "x"))
    Image.fromarray(np.zeros((120, 160, 3), np.uint8)).save("photo.png")
    sessions = re.findall(r"^```console\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    calls = [call.split("\n", 1) for session in sessions for call in session.split("$ cenote ")[1:]]
    assert len(calls) > (4 if page.stem == "command" else 0)
    for call, expected in calls:
        cli.main(shlex.split(call))
        printed = capsys.readouterr()
        assert printed.out + printed.err == expected, call
