"""The names of the package: which there are, and which of them are loaded only when they are asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from types import ModuleType
from typing import Any

import pytest

import cenote as cn


def run_code(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_the_version_is_that_of_the_installed_package() -> None:
    assert cn.__version__ == metadata.version("cenote")


def test_without_metadata_there_is_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.delitem(vars(cn), "__version__", raising=False)
    monkeypatch.setattr(metadata, "version", missing)
    assert not hasattr(cn, "__version__")


def test_dir_shows_public_names_only() -> None:
    assert dir(cn) == sorted([*cn.__all__, "__version__"])
    for name in cn.__all__:
        assert not name.startswith("_")
        assert name == "dialects" or not isinstance(getattr(cn, name), ModuleType), name


def test_a_star_import_brings_the_public_names() -> None:
    code = "before = {*dir(), 'before'}; from cenote import *; print(*sorted(set(dir()) - before))"
    assert run_code(code).split() == sorted(cn.__all__)


def test_a_name_that_is_not_there() -> None:
    for module in (cn, cn.dialects):
        unknown: Any = module
        with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'nonsense'"):
            unknown.nonsense  # noqa: B018


def test_dialects_need_no_import_of_their_own() -> None:
    assert run_code("import cenote as cn; print(cn.dialects.flax.max_pool.__module__)") == "cenote.dialects.flax"
    assert run_code("from cenote import dialects; print(*dir(dialects))").split() == cn.dialects.__all__
    for name in cn.dialects.__all__:
        assert getattr(cn.dialects, name).__name__ == f"cenote.dialects.{name}"


def test_the_import_leaves_out_what_is_seldom_needed() -> None:
    code = "import sys, numpy; before = set(sys.modules); import cenote; print(*set(sys.modules) - before)"
    loaded = run_code(code).split()
    assert "cenote.runtime" in loaded
    late = (
        "cenote.cli",
        "cenote.demo",
        "cenote.dialects",
        "cenote.explanation",
        "PIL",
        "argparse",
        "importlib.metadata",
        "email",
    )
    assert not [name for name in loaded if name.startswith(late)]
