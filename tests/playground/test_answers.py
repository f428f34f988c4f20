"""What the server computes for a state: checked against the functions themselves."""

from __future__ import annotations

import json
import math
import string
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cenote as cn
from cenote.explanation.limits import MOST_ELEMENTS
from cenote.playground.answer import answer, svg
from cenote.playground.fields import EDITS, OPERATIONS, fields_as_json
from cenote.playground.parsing import edited
from cenote.playground.state import parse_state
from playground_states import CHOSEN, State, random_states

STATES = [*CHOSEN, *random_states(40, seed=11)]


def values(array: dict[str, Any]) -> Any:
    """An array as the page gets it."""
    return np.array([float(v) for v in array["values"]]).reshape(array["shape"])


def joined(terms: list[list[Any]]) -> str:
    return "".join(term[0] for term in terms)


# ------------------------------------------------------------------------------------------------------- windows


@pytest.mark.parametrize("state", STATES, ids=lambda s: s["op"])
def test_windows_see_what_explain_says(state: State) -> None:
    request = parse_state(state)
    explanation = request.explain()
    found = json.loads(json.dumps(answer(state), allow_nan=False))
    elements = found["grids"]["x"]["elements"]
    real = [e for e in elements if e >= 0]
    assert sorted(real) == list(range(request.x.size))
    assert len(found["windows"]) == (0 if explanation.y is None else explanation.y.size)
    for window, shown in zip(explanation.windows, found["windows"], strict=True):
        seen = [elements[cell] for cell in shown["cells"]]
        expected = [int(np.ravel_multi_index(e.index, request.x.shape)) for e in window.elements]
        assert [e for e in seen if e >= 0] == expected
        assert seen.count(-1) == len(window.padding)
        assert seen.count(-2) == len(window.overhang)
        if window.chosen is not None:
            assert elements[shown["chosen"]] == np.ravel_multi_index(window.chosen, request.x.shape)
        assert len(shown["omitted"]) == len(window.omitted)
        if request.w is not None:
            seen_by_filter = [e.tap for e in (*window.elements, *window.padding) if e.tap is not None]
            taps = {int(np.ravel_multi_index(tap, request.w.shape)) for tap in seen_by_filter}
            assert set(shown["taps"]) == taps
    if explanation.y is not None:
        np.testing.assert_array_equal(values(found["y"]), explanation.y)


def test_panels_of_a_grid() -> None:
    grid = answer({"shape": "2,3,4", "window": "2,2", "padding": "1:0,0:2"})["grids"]["x"]
    assert grid["rows"] == {"number": 4, "step": 6, "first": -1, "axis": 1}
    assert grid["columns"] == {"number": 6, "step": 1, "first": 0, "axis": 2}
    assert grid["panels"] == [{"label": "x[0, :, :]", "first": 0}, {"label": "x[1, :, :]", "first": 24}]
    assert grid["elements"][:7] == [-1] * 6 + [0]
    deep = answer({"shape": "2,3,3", "window": "2,2,2", "padding": "1"})["grids"]["x"]["panels"]
    assert [panel["label"] for panel in deep] == [f"x[{i}, :, :]" for i in range(-1, 3)]
    line = answer({"shape": "2,5", "window": "2"})["grids"]["x"]
    assert (line["rows"], [p["label"] for p in line["panels"]]) == (None, ["x[0, :]", "x[1, :]"])
    channels = answer({"op": "conv", "shape": "5,5,2", "filter": "3,3,2,1"})["grids"]
    assert [p["label"] for p in channels["x"]["panels"]] == ["x[:, :, 0]", "x[:, :, 1]"]
    assert [p["label"] for p in channels["w"]["panels"]] == ["w[:, :, 0, 0]", "w[:, :, 1, 0]"]


FORMULAS = [
    ({"x": "1:5;2:5"}, "max(9, 5, 5) = 9"),
    ({"op": "min_pool", "nan": "omit", "x": "1:nan"}, "min(9, NaN, 6) = 6"),
    ({"op": "avg_pool", "padding": "1"}, "(9 + 6 + 0) / 3 = 5"),
    ({"op": "avg_pool", "padding": "1", "count_include_pad": "0"}, "(9 + 6) / 2 = 7.5"),
    ({"op": "avg_pool", "divisor": "4"}, "(9 + 6 + 6) / 4 = 5.25"),
    ({"op": "sum_pool", "x": "0:-1"}, "(-1) + 6 + 6 = 11"),
    ({"op": "lp_pool", "p": "1"}, "|9| + |6| + |6| = 21"),
    ({"op": "lp_pool", "p": "inf"}, "max(|9|, |6|, |6|) = 9"),
    ({"op": "lp_pool"}, "(|9|^2 + |6|^2 + |6|^2)^(1/2) = 12.4"),
    ({"op": "smooth_max_pool"}, "log(exp(9) + exp(6) + exp(6)) = 9.09"),
    ({"op": "smooth_max_pool", "beta": "-2"}, "1/(-2) · log(exp(-2·9) + exp(-2·6) + exp(-2·6)) = 5.65"),
    ({"op": "median_pool"}, "median(6, 6, 9) = 6"),
    ({"op": "mode_pool"}, "most frequent(6, 6, 9) = 6"),
    ({"op": "pool", "reduce_fn": "multiply", "init": "1"}, "multiply from 1 over 9, 6, 6 = 324"),
    ({"op": "conv", "shape": "7,1", "filter": "2,1,1", "bias": "1"}, "9·2 + 6·1 + 1 = 25"),
    ({"op": "pool", "dtype": "uint8", "x": "0:250"}, "add from 0 over 250, 6, 6 = 262, which wraps around to 6"),
    ({"op": "sum_pool", "dtype": "float32", "x": "0:1e8;1:1;2:0"},
     "1e8 + 1 + 0 = 100000001, rounded to 1e8 in float32"),
]  # fmt: skip


@pytest.mark.parametrize(("state", "formula"), FORMULAS, ids=lambda v: str(v)[:40])
def test_formulas(state: State, formula: str) -> None:
    shape = {} if "filter" in state else {"shape": "7", "window": "3"}
    assert joined(answer({**shape, **state})["windows"][0]["formula"]) == formula


def test_terms_say_what_they_are() -> None:
    found = answer({"shape": "5", "window": "5", "nan": "omit", "x": "0:nan;1:7;2:7;3:1;4:0"})
    terms = found["windows"][0]["formula"]
    assert [term[1:] for term in terms if len(term) == 3] == [
        ["omitted", 0],
        ["chosen", 1],
        ["selected", 2],
        ["", 3],
        ["", 4],
    ]
    many = answer({"op": "global_avg_pool", "shape": "9,9"})["windows"][0]["formula"]
    assert "… (21 more)" in joined(many)


def test_a_window_that_does_not_fit_is_shown() -> None:
    found = answer({"window": "9,3"})
    assert (
        found["problem"]
        == "max_pool: window=(9, 3) on shape (7, 7) does not fit on axis 0: it needs 9 elements, there are 7: 2 short"
    )
    assert (found["y"], found["windows"], len(found["misfit"])) == (None, [], 27)
    assert "9 elements" not in found["text"][0]
    with pytest.raises(ValueError, match="9000"):
        answer({"window": "9000,3"})


@pytest.mark.parametrize(
    ("state", "text", "marks"),
    [
        ({"op": "conv", "shape": "3,3,1", "filter": "2,2,2,1"}, "leaves weights for 1 without a channel", 16),
        ({"op": "conv", "shape": "3,3,3", "filter": "2,2,2,1", "padding": "1"}, "leaves 1 without weights", 20),
        ({"op": "conv_transpose", "shape": "2,2,1", "filter": "1,1,1,2"}, "weights for 1 without a channel", 4),
        ({"op": "conv", "shape": "2,2,2", "filter": "1,1,1,3", "groups": "2"}, "and 1 left over", 3),
        ({"op": "conv_transpose", "shape": "2,2,1", "padding": "4", "view": "gradient"}, "which leaves none", 0),
    ],
)  # fmt: skip
def test_channels_that_do_not_fit_are_shown(state: State, text: str, marks: int) -> None:
    found = answer(state)
    assert found["problem"].startswith(f"{state['op']}: ")
    assert "to see it" not in found["problem"]
    assert text in found["text"][0]
    assert len(found["misfit"]) == marks
    counts = [0 <= cell < len(found["grids"][name]["elements"]) for name, cell, _ in found["misfit"]]
    assert all(counts)
    missing = [cell for name, cell, mark in found["misfit"] if name == "x" and mark == "omitted"]
    assert all((found["grids"]["x"]["elements"][cell] < 0) == ("weights for" in text) for cell in missing)
    assert svg(dict(state)).startswith("<svg")


# ------------------------------------------------------------------------------------------------------- gradient


@pytest.mark.parametrize("state", STATES, ids=lambda s: s["op"])
def test_gradients(state: State) -> None:
    request = parse_state(state)
    y = request.explain().y
    if y is None:
        assert answer({**state, "view": "gradient"})["gradient"] is None
        return
    cotangent = ".".join("0" * y.ndim) + ":-2.5"
    found = answer({**state, "view": "gradient", "g": cotangent})["gradient"]
    if request.op == "mode_pool":
        assert found == {"problem": "mode_pool has no derivative"}
        return
    g = np.ones(y.shape)
    g.flat[0] = -2.5
    np.testing.assert_array_equal(values(found["g"]), g)
    call = request.explain()._call
    x = request.x.astype(np.float64) if request.x.dtype.kind in "iu" else request.x
    dx = cn.vjp(lambda t: call.compute(t), x)[1](g.astype(x.dtype))[0]
    np.testing.assert_allclose(values(found["dx"]), dx, rtol=1e-6)
    # what the outputs give adds up to it
    elements = answer(state)["grids"]["x"]["elements"]
    total = np.zeros(dx.size)
    for flow in found["flows"]:
        for cell, part in flow["parts"]:
            total[elements[cell]] += float(part)
    if np.isfinite(request.x).all():
        np.testing.assert_allclose(total.reshape(dx.shape), dx, rtol=1e-6, atol=1e-9)


def test_gradients_of_filters_and_bias() -> None:
    state = {"op": "conv", "bias": "1", "stride": "2", "view": "gradient", "g": "1.1.0:4"}
    request, found = parse_state(state), answer(state)["gradient"]
    g = np.ones((2, 2, 1))
    g[1, 1] = 4
    _, pull = cn.vjp(lambda x, w, b: cn.conv(x, w, bias=b, stride=2), request.x, request.w, request.bias)
    for name, expected in zip(("dx", "dw", "db"), pull(g), strict=True):
        np.testing.assert_allclose(values(found[name]), expected)


def test_formulas_of_the_gradient() -> None:
    state = {"shape": "5", "window": "3", "stride": "2", "x": "0:1;1:0;2:9;3:0;4:1", "view": "gradient", "g": "1:3"}
    found = answer(state)["gradient"]
    assert joined(found["flows"][1]["formula"]) == "dx[2] gets 1·3 = 3"
    assert joined(found["sums"][2]) == "1·1 + 1·3 = 4"
    assert joined(found["sums"][0]) == "no window takes its derivative there = 0"


# ------------------------------------------------------------------------------------------------------ bad states


BAD = [
    ({"shape": ""}, "shape of x='': ints with commas between them are needed, such as 2,3"),
    ({"shape": "7,x"}, "shape of x='7,x': ints"),
    ({"shape": "-1,7"}, "shape of x: (-1, 7) has a negative size"),
    ({"shape": "33,33"}, f"shape of x: (33, 33) has 1089 elements, at most {MOST_ELEMENTS} are drawn"),
    ({"shape": "1,1,1,1,1,7,7"}, "shape of x='1,1,1,1,1,7,7': at most 6 axes can be drawn, not 7"),
    ({"shape": "99999,1"}, "99999 is too large to be drawn"),
    ({"window": "0,3"}, "max_pool: window=(0, 3)"),
    ({"window": "3,3,3"}, "window=(3, 3, 3)"),
    ({"stride": "0"}, "max_pool: stride=0"),
    ({"stride": "1.5"}, "stride='1.5': ints"),
    ({"padding": "-1"}, "max_pool: padding=-1"),
    ({"padding": "reflect"}, "padding='reflect'"),
    ({"padding": "1:2:3"}, "padding='1:2:3': an int, one per axis, low:high pairs"),
    ({"padding": "9999", "stride": "9999"}, "elements with its padding, at most 4096 are drawn"),
    ({"padding": "99", "stride": "1"}, "at most 1024 are drawn: make the stride larger"),
    ({"padding": "9999,9999,9999", "shape": "2,2,2", "window": "9999,9999,9999", "stride": "9999"}, "are drawn"),
    ({"dilation": "9999", "padding": "same"}, "with its padding, at most 4096 are drawn"),
    ({"axes": "0,0"}, "axes=(0, 0)"),
    ({"axes": "5,6"}, "axes=(5, 6)"),
    ({"ceil_mode": "yes"}, "ceil_mode='yes': 0 or 1 is needed"),
    ({"nan": "skip"}, "nan='skip': one of propagate, omit is needed"),
    ({"view": "upside_down"}, "view='upside_down': one of values, gradient is needed"),
    ({"x": "0.0:tall"}, "x[0, 0]='tall': a number is needed: 3, 2.5, nan, inf or -inf"),
    ({"x": "0.0"}, "changed elements are written as 1.2:7"),
    ({"dtype": "int64", "x": "0.0:nan"}, "x[0, 0]='nan': int64 has no NaN, choose float64"),
    ({"dtype": "uint8", "x": "0.0:256"}, "x[0, 0]='256': uint8 has numbers from 0 to 255"),
    ({"dtype": "int64", "x": "0.0:1e30"}, "int64 has numbers from"),
    ({"dtype": "complex64"}, "dtype='complex64': one of"),
    ({"op": "mode_pool", "dtype": "float64"}, "mode_pool: "),
    ({"op": "lp_pool", "p": "0"}, "lp_pool: p=0"),
    ({"op": "lp_pool", "p": "two"}, "p='two': a number is needed"),
    ({"op": "smooth_max_pool", "beta": "0"}, "smooth_max_pool: beta=0"),
    ({"op": "avg_pool", "divisor": "0"}, "avg_pool: divisor=0"),
    ({"op": "adaptive_max_pool", "output_size": "-1,3"}, "output_size=(-1, 3)"),
    ({"op": "adaptive_max_pool", "output_size": "99,99"}, "9801 elements, at most 1024 are drawn"),
    ({"op": "global_max_pool", "axes": ""}, "global_max_pool"),
    ({"op": "conv", "filter": "3,3"}, "correlate"),
    ({"op": "conv", "filter": "1,1,900,1"}, "conv: x has 1 channel"),
    ({"op": "conv", "groups": "0"}, "groups=0"),
    ({"op": "conv", "filter": "9,9,9,9"}, "shape of w: (9, 9, 9, 9) has 6561 elements"),
    ({"op": "conv_transpose", "stride": "9999"}, "at most 1024 are drawn"),
    ({"op": "conv_transpose", "output_padding": "5"}, "output_padding=5"),
    ({"view": "gradient", "g": "0.0:x"}, "g[0, 0]='x'"),
]  # fmt: skip


@pytest.mark.parametrize(("state", "message"), BAD, ids=lambda v: str(v)[:50])
def test_bad_states_are_answered_at_once(state: State, message: str) -> None:
    begin = time.process_time()
    with pytest.raises((ValueError, TypeError)) as error:
        answer(state)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert time.process_time() - begin < 2


TEXT = st.one_of(
    st.text(string.printable, max_size=8),
    st.sampled_from(
        ["9999", "-1", "0", "1", "2,2", "9999,9999", "nan", "inf", "1e999", "same", "1:2", "0:9999", "none", ""]
    ),
    st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda n: ",".join(map(str, n))),
)


@settings(max_examples=100)
@given(st.data())
def test_no_text_is_too_strange(data: st.DataObject) -> None:
    """Whatever the fields say, there is an answer that JSON can carry, or a TypeError or ValueError."""
    op = data.draw(st.sampled_from(sorted(OPERATIONS)))
    names = [field.name for field in OPERATIONS[op].all_fields] + [*EDITS, "view"]
    state = {"op": op, **data.draw(st.dictionaries(st.sampled_from(names), TEXT, max_size=4))}
    begin = time.process_time()
    message = "fine"
    try:
        json.dumps(answer(state), allow_nan=False)
    except (ValueError, TypeError) as error:
        message = str(error)
    assert message
    assert "JSON" not in message
    assert time.process_time() - begin < 5


def test_the_largest_states_are_quick() -> None:
    largest = {"shape": "32,32", "window": "4,4", "stride": "1", "padding": "same", "view": "gradient"}
    begin = time.process_time()
    found = answer(largest)
    assert math.prod(found["y"]["shape"]) == MOST_ELEMENTS
    assert time.process_time() - begin < 5
    assert svg(largest).startswith("<")


def test_edits() -> None:
    base = np.zeros((2, 2))
    assert edited("x", base, "0.1:3;1.0:-inf;5.5:9;0:4").tolist() == [[0, 3], [-np.inf, 0]]
    assert edited("x", base, "0.1:−3;0.1:4").tolist() == [[0, 4], [0, 0]]
    assert not base.any()


def test_fields_name_every_argument_of_every_function() -> None:
    import inspect

    drawn = fields_as_json()["operations"]
    for op, operation in drawn.items():
        arguments = set(inspect.signature(getattr(cn, op)).parameters) - {"x", "w", "out", "dtype", "return_indices"}
        assert {field["name"] for field in operation["fields"]} - {"shape", "filter", "dtype", "fill"} == arguments, op
    assert set(drawn) == {
        name for name in cn.__all__ if name.endswith("pool") or name.startswith("conv_") or name == "conv"
    } - {"max_unpool"}


def test_every_parameter_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "playground.md").read_text(encoding="utf-8")
    table = text.partition("## The address")[2].partition("## Security")[0]
    names = {field.name for operation in OPERATIONS.values() for field in operation.all_fields}
    for name in {*names, *EDITS, "op", "view", "pin", "code", "theme"}:
        assert f"`{name}`" in table, name
