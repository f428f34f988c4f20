"""What wrong arguments of a convolution meet, to the letter: the table is conv_errors.txt."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cenote as cn
from advice import advised
from messages import check_message, check_names, failure_of, read_table, unreached

FUNCTIONS = ("conv", "conv_transpose")


def refuse(*_: object) -> None:
    raise AssertionError("an array of another library was converted behind the user's back")


def foreign(module: str, name: str) -> Any:
    """What a library's array looks like from here."""
    return type(name, (), {"__module__": module, "__array__": refuse})()


NAMES: dict[str, Any] = {
    **{name: getattr(cn, name) for name in FUNCTIONS},
    "np": np,
    "ml_dtypes": ml_dtypes,
    "foreign": foreign,
    "x": np.zeros((2, 8, 7, 4)),
    "w": np.zeros((3, 3, 4, 6)),
    "v": np.zeros((3, 3, 6, 4)),
}


TABLE = read_table("conv_errors.txt")


@pytest.mark.parametrize(("call", "expected"), TABLE.items(), ids=TABLE)
def test_the_message_to_the_letter(call: str, expected: str) -> None:
    check_message(failure_of(call, NAMES), expected)


IN_THE_OTHER_LAYOUT = {call: message for call, message in TABLE.items() if "they would agree: write " in message}


@pytest.mark.parametrize("call", IN_THE_OTHER_LAYOUT)
def test_the_other_layout_works(call: str) -> None:
    """The advised call, with the arrays of the one that failed."""
    text = advised(IN_THE_OTHER_LAYOUT[call])
    assert text is not None
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    x, w = (eval(ast.unparse(argument), NAMES) for argument in tree.args[:2])
    assert eval(text, {**NAMES, "x": x, "w": w}).size


def test_messages_name_the_call_and_an_argument() -> None:
    check_names(TABLE, "is|has|cannot")


@pytest.mark.parametrize("name", ["api.convolution", "geometry.conv"])
def test_every_raise_is_in_the_table(name: str) -> None:
    assert unreached(f"cenote.{name}", TABLE, NAMES) == []


@pytest.mark.parametrize("name", ["reference.conv", "ops.conv"])
def test_below_the_public_functions_nothing_is_refused(name: str) -> None:
    path = Path(str(importlib.import_module(f"cenote.{name}").__file__))
    assert not [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Raise)]


# ------------------------------------------------------------------------------------------- extreme, and no error

FINE: dict[str, Any] = {
    "conv(x, w, stride=2**61).shape": (2, 1, 1, 6),
    "conv(x, w, padding=50, stride=2**50).shape": (2, 1, 1, 6),
    "conv(x, w, padding=((0, 0), (0, 2**40)), stride=2**40).shape": (2, 1, 2, 6),
    "conv(x, w[:1, :1], dilation=2**61).shape": (2, 8, 7, 6),
    "conv(x, w, padding='SAME_LOWER', stride=[np.int8(3), np.array(2)]).shape": (2, 3, 4, 6),
    "conv(x, w, stride=range(1, 3)).shape": (2, 6, 3, 6),
    "conv(x, w[..., :1, :4], groups=np.uint8(4)).shape": (2, 6, 5, 4),
    "conv(np.zeros((2, 0, 7, 4)), w, padding='same').shape": (2, 0, 7, 6),
    "conv_transpose(x[:, :1, :1], v, stride=2**50).shape": (2, 3, 3, 6),
    "conv_transpose(x, v, padding=(4, 0)).shape": (2, 2, 9, 6),
    "conv_transpose(x, v, stride=3, output_shape=np.array([25, 23])).shape": (2, 25, 23, 6),
    "conv_transpose(x, v, dilation=3, output_padding=2).shape": (2, 16, 15, 6),
}


@pytest.mark.parametrize(("call", "expected"), FINE.items(), ids=FINE)
def test_extreme_arguments_that_are_right(call: str, expected: object) -> None:
    assert eval(call, dict(NAMES)) == expected


def test_equal_is_not_the_same() -> None:
    """2, 2.0 and True are equal, and what was found for one of them is not given for another."""
    x, w = NAMES["x"], NAMES["w"]
    for _ in range(2):
        assert cn.conv(x, w, stride=1).shape == (2, 6, 5, 6)
        for wrong in (1.0, True):
            with pytest.raises(TypeError, match="stride="):
                cn.conv(x, w, stride=wrong)  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="groups="):
                cn.conv(x, w, groups=wrong)  # type: ignore[arg-type]
