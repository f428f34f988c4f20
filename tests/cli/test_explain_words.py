"""``cenote explain`` speaks of its flags: no error has a call of Python's, and what it advises can be run."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from cenote import cli
from cenote.cli.advice import in_the_shell
from failing_commands import check_fails


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a b.npy", np.zeros((4, 5), np.float32))
    np.save("c.npy", np.zeros((5, 5, 3), np.float32))
    np.save("w.npy", np.zeros((3, 3, 4, 1), np.float32))


def test_dtype_shows_what_is_rounded(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "avg", "--shape", "4", "--window", "2", "--dtype", "int8"]) == 0
    assert "y[0] = (9 + 6) / 2 = 7.5, rounded to 8" in capsys.readouterr().out
    check_fails(capsys, "max_pool has no dtype", "explain", "max", "--shape", "4", "--window", "2", "--dtype", "int8")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("avg --shape 6 --window 3 --at 9", "--at 9: the result has shape (2,), with outputs from 0 to 1"),
        ("avg --shape 5,6 --window 2,2 --at 9", "--at 9: the result has shape (2, 3), with outputs from 0,0 to 1,2"),
        ("max --shape 4 --window 2 --at 2", "--at 2: the result has shape (2,), with outputs from 0 to 1"),
        ("max --shape 0,4 --window 2 --axes 1 --at 0,0", "--at 0,0: the result has shape (0, 2), without any output"),
        ("max --shape 4 --window 2 -o v.txt", "explain: -o v.txt: a name that ends in .svg, .html or .png is needed"),
        ("mode --shape 4 --window 2 --gradient", "explain: --gradient: mode_pool has no derivative here"),
        ("max --shape 9999,9999 --window 2,2", "explain: --shape (9999, 9999): example data has at most"),
        ("global_max --shape 4 --window 2", "explain: global_max takes all of an axis: name the --axes"),
        ("maxpool --input 'a b.npy' --window 2,2", "write cenote explain max_pool --input 'a b.npy' --window 2,2"),
        (
            "max --shape 4,4 --window 2,2 --layout channels_last",
            "write cenote explain max_pool --shape 4,4 --window 2,2",
        ),
    ],
)
def test_errors(capsys: pytest.CaptureFixture[str], words: str, text: str) -> None:
    check_fails(capsys, text, "explain", *shlex.split(words))


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("pool 'a b.npy' o.npy --window 9,2 --stride 1,2 --padding 1:0,0:2 --ceil-mode",
         "cenote explain max_pool --shape 4,5 --window 9,2 --stride 1,2 --padding 1:0,0:2 --ceil-mode"),
        ("pool 'a b.npy' o.npy --window 4,9 --dilation 1,2",
         "cenote explain max_pool --shape 4,5 --window 4,9 --dilation 1,2"),
        ("conv c.npy w.npy o.npy", "cenote explain conv --shape 5,5,3 --filter 3,3,4,1"),
    ],
)  # fmt: skip
def test_calls_that_draw_an_error_are_commands(capsys: pytest.CaptureFixture[str], words: str, command: str) -> None:
    check_fails(capsys, f"; to see it, write {command}\n", *shlex.split(words))
    assert cli.main(shlex.split(command)[1:]) == 0
    assert "does not work: " in capsys.readouterr().out


def test_what_is_drawn_advises_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "conv", "--shape", "2,3,16,16", "--filter", "8,3,3,3"]) == 0
    command = capsys.readouterr().out.splitlines()[1].partition("write ")[2]
    assert command == "cenote explain conv --shape 2,3,16,16 --filter 8,3,3,3 --layout channels_first"
    assert cli.main(shlex.split(command)[1:]) == 0
    assert "Result: shape (2, 8, 14, 14)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    ["lp --shape 7,3,1 --window 3,2", "conv_transpose --shape 5,3 --filter 2,3,4", "max --shape 9,9,3 --window 4,4"],
)
def test_commands_end_what_is_drawn(capsys: pytest.CaptureFixture[str], words: str) -> None:
    assert cli.main(["explain", *words.split()]) == 0
    command = capsys.readouterr().out.splitlines()[1].partition("write ")[2]
    assert cli.main(shlex.split(command)[1:]) == 0
    assert "does not work" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('e; write explain("max_pool", (4,), (2,), padding=(-1,))',
         "e; write cenote explain max_pool --shape 4 --window 2 --padding=-1"),
        ('e; write cn.explain("avg_pool", (4,), (2,), count_include_pad=False)',
         "e; write cenote explain avg_pool --shape 4 --window 2 --count-exclude-pad"),
        ('e; write explain("adaptive_max_pool", (4,), 2)', "e; write cenote explain adaptive_max_pool --shape 4 "
         "--output-size 2"),
        ('e; write explain("conv", (4, 1), (2, 1, 1), bias=bias)', "e"),
        ('e; write explain("max_pool", x, (2,))', "e"),
        ("e; write max_pool(x, (2,))", "e; write max_pool(x, (2,))"),
        ('e: write explain("lp_pool", (7, 3, 1), (3, 2), axes=(0, 1)) for the axes before it',
         "e; write cenote explain lp_pool --shape 7,3,1 --window 3,2 --axes 0,1"),
        ('e: write explain("conv_transpose", (5, 3), (2, 4, 3)) if its axes are (*k, C, O), with x if they are (O, C)',
         "e; if its axes are (*k, C, O), write cenote explain conv_transpose --shape 5,3 --filter 2,4,3"),
    ],
)  # fmt: skip
def test_calls_as_commands(text: str, said: str) -> None:
    assert in_the_shell(text) == said
