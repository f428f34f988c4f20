"""Messages of mistakes with DataArrays and Datasets, to the letter, and that the advice works: xarray_errors.txt."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import pytest
import xarray as xr

import cenote as cn
from advice import advised
from cenote.arguments.operations import OPERATIONS
from messages import check_message, failure_of, places, read_table
from xarray_names import NAMES

TABLE = read_table("xarray_errors.txt")
MODULES = ("names", "families", "calls", "coordinates")


@pytest.mark.parametrize(("call", "expected"), TABLE.items(), ids=TABLE)
def test_the_message_to_the_letter(call: str, expected: str) -> None:
    check_message(failure_of(call, NAMES), expected)


def arguments_of(call: str) -> dict[str, Any]:
    """The arrays of a call by the names that advice has for them."""
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    first, *others = (eval(ast.unparse(node), dict(NAMES)) for node in tree.args[:2])
    found = dict.fromkeys(("x", "y", "shape", "data"), first)
    return found | dict.fromkeys(("indices", "k", "w"), others[0] if others else None)


@pytest.mark.parametrize("call", [call for call, message in TABLE.items() if "write " in message])
def test_the_advice_works(call: str) -> None:
    text = advised(TABLE[call])
    assert text is not None
    assert text != call
    assert eval(text, {**NAMES, **arguments_of(call), "cn": cn}) is not None


@pytest.mark.parametrize(
    "call", [call for call, message in TABLE.items() if re.search(r"(give|pass|pool) (\w+=|x[\.r])", message)]
)
def test_what_is_to_be_passed_works(call: str) -> None:
    arguments = arguments_of(call)
    for how, value in re.findall(r"(give coord_func=|pass |pool |or |; )(\{.*?\}|xr?\.\w+(?:\(.*?\))?)", TABLE[call]):
        given = ast.parse(call, mode="eval").body
        assert isinstance(given, ast.Call)
        if how == "give coord_func=":
            given.keywords = [k for k in given.keywords if k.arg != "coord_func"]
            given.keywords.append(ast.keyword("coord_func", ast.parse(value, mode="eval").body))
        else:
            given.args[0] = ast.parse(value, mode="eval").body
            if value == "x.data" and "(2, 2)" not in call:
                continue
        text = ast.unparse(given)
        if how == "or " and "center" in text:  # which is of a coordinate that is dropped
            continue
        assert eval(text, {**NAMES, **(arguments if how != "give coord_func=" else {})}) is not None


def test_every_check_is_met() -> None:
    reached = {place for call in TABLE for place in places(failure_of(call, NAMES))}
    for module in MODULES:
        path = Path(str(importlib.import_module(f"cenote.backends.xarray.{module}").__file__))
        checks = [node for node in ast.walk(ast.parse(path.read_text())) if is_check(node)]
        assert checks
        for node in checks:
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            assert any((str(path), line) in reached for line in lines), f"{path}:{node.lineno}"


def is_check(node: ast.AST) -> TypeGuard[ast.Raise]:
    return isinstance(node, ast.Raise) and ast.unparse(node).startswith(("raise BadType(", "raise BadValue("))


def test_a_function_that_is_no_word() -> None:
    with pytest.raises(TypeError, match=r"^max_pool: coord_func=<function ptp .*: 'mean', .* is needed, not a"):
        cn.max_pool(NAMES["x"], {"y": 2}, coord_func=np.ptp)


def test_a_function_that_does_not_take_two_arrays() -> None:
    with pytest.raises(TypeError, match=r"^pool: reduce_fn=<function .* does not take two arrays, as it must$"):
        cn.pool(NAMES["x"], {"y": 2}, 0.0, lambda a: a)


JUNK: list[Any] = [
    None, 0, 2, -1, True, 2.5, "2", "same", "y", ("y", "x"), (2, 2), ((1, 0), (0, 1)), {}, {"y": 2}, {"y": None},
    {"y": "same"}, {"y": (1, 0)}, {"y": (1,)}, {"q": 1}, {1: 2}, np.ones(2), [], object(), {"y": {"z": 1}}, range(3),
    10**30, {"y": 10**30}, xr.DataArray(2), {"y": xr.DataArray(2)}, np.int64(2), float("nan"), b"y", slice(1), ...,
]  # fmt: skip
OBJECTS = [
    *(NAMES[name] for name in ("x", "ds", "text", "days", "s", "multi", "zones", "i", "dk")),
    *(xr.DataArray(3.0), xr.Dataset(), NAMES["x"].isel(y=[]), NAMES["x"].variable),
]


def message_of(function: Any, x: Any, given: dict[str, Any]) -> str | None:
    try:
        function(x, **given)
    except (TypeError, ValueError) as failure:
        return str(failure)
    return None


@pytest.mark.parametrize("name", OPERATIONS)
def test_whatever_is_given_an_error_names_the_call(name: str) -> None:
    rng = np.random.default_rng(0)
    function = getattr(cn, name)
    _, *parameters = inspect.signature(function).parameters

    def one_of(values: list[Any]) -> Any:
        return values[rng.integers(len(values))]

    for _ in range(60):
        given = {p: one_of(JUNK) for p in parameters if p in ("window", "output_size", "init") or rng.random() < 0.3}
        given |= {p: one_of([np.ones((2, 2)), np.ones((2, 6, 1)), NAMES["dk"], *JUNK]) for p in parameters if p in "kw"}
        given |= {"indices": NAMES["i"]} if "indices" in parameters else {}
        given |= {"reduce_fn": np.maximum} if "reduce_fn" in parameters else {}
        given |= {"coord_func": one_of(["last", "bad", {"y": "max"}, *JUNK])} if rng.random() < 0.3 else {}
        message = message_of(function, one_of(OBJECTS), given)
        assert message is None or message.startswith(f"{name}: "), message


def test_errors_of_the_users_own_pass_as_they_are() -> None:
    def broken(a: Any, b: Any) -> Any:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match=r"^mine$") as failure:
        cn.pool(xr.DataArray(np.zeros(4), dims="x"), {"x": 2}, 0.0, broken)
    assert failure.value.__context__ is None, "the user reads one traceback"
