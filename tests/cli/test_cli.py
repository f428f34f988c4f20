"""The command ``cenote``: what it prints, and its exit codes."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import cenote as cn
from cenote import cli, runtime
from cenote.demo import run as demo


def run_module(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "cenote", *arguments], capture_output=True, text=True, check=False)


def missing(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


# --------------------------------------------------------------------------------------------------- the command


def test_python_m_cenote_is_the_command() -> None:
    done = run_module("config")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].split() == ["cenote", cn.__version__]
    assert run_module("--help").stdout.startswith("usage: cenote [-h] [--version] command")


@pytest.mark.parametrize("arguments", [("nonsense",), ("demo", "--nonsense"), ("config", "more")])
def test_wrong_usage_is_code_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: cenote")


def test_no_command_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    printed = capsys.readouterr().out
    assert "usage: cenote" in printed
    for name, command in cli.COMMANDS.items():
        assert f"    {name} " in printed or f"    {name}\n" in printed
        assert command.HELP[:40] in printed


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in cli.COMMANDS:
        with pytest.raises(SystemExit) as ended:
            cli.main([name, "--help"])
        assert ended.value.code == 0
        assert f"usage: cenote {name}" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"cenote {metadata.version('cenote')}\n"


def test_version_without_metadata(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delitem(vars(cn), "__version__", raising=False)
    monkeypatch.setattr(metadata, "version", missing)
    assert cli.main(["--version"]) == 1
    assert capsys.readouterr().err == "cenote: there is no package metadata, so the version is unknown\n"


def test_config_shows_the_configuration(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(runtime, "show_config", lambda: print("threads 2"))
    assert cli.main(["config"]) == 0
    assert capsys.readouterr().out == "threads 2\n"


def test_an_interrupt_is_code_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*args: Any, **options: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", interrupted)
    assert cli.main(["demo"]) == 130
    assert capsys.readouterr().err == "cenote demo: interrupted\n"


def test_a_reader_that_is_gone_is_no_traceback() -> None:
    command = [sys.executable, "-m", "cenote", "config"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == cli.BROKEN_PIPE


# ---------------------------------------------------------------------------------------------------- cenote demo


def test_demo_makes_its_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "directory"
    assert cli.main(["demo", "--quick", "--out", str(out)]) == 0
    assert (out / demo.FILE).exists()
    assert str(out / demo.FILE) in capsys.readouterr().out


def test_a_bad_directory_is_one_line_and_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    bad = tmp_path / "file" / "directory"
    assert cli.main(["demo", "--quick", "--out", str(bad)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"cenote demo: cannot write to {bad}: ")
    assert err.count("\n") == 1


def test_a_failed_check_is_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = cn.avg_pool
    monkeypatch.setattr(cn, "avg_pool", lambda *args, **options: 2 * right(*args, **options))
    assert cli.main(["demo", "--quick", "--out", str(tmp_path)]) == 1
    assert "avg_pool of the volume" in capsys.readouterr().out
