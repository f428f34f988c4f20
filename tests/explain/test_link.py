"""The address of the playground that a call has: read again, it is the same call."""

from __future__ import annotations

import math
import random
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest

import cenote as cn
from cenote.explanation.limits import MOST_CELLS
from cenote.explanation.link import state_of
from cenote.playground.answer import answer
from cenote.playground.state import parse_state
from playground_states import CHOSEN, random_states


def read(call: Any) -> Any:
    text = state_of(call._call)
    assert text is not None
    return parse_state(dict(parse_qsl(text, strict_parsing=True))).explain()


def check(e: Any) -> None:
    again = read(e)
    for name in ("x", "w", "y"):
        ours, found = getattr(e, name), getattr(again, name)
        assert (ours is None) == (found is None)
        if ours is not None:
            assert ours.dtype == found.dtype
            np.testing.assert_array_equal(ours, found)
            assert ours.dtype.kind != "f" or np.array_equal(np.signbit(ours), np.signbit(found))
    assert (e.problem, e.text.partition("\n")[2]) == (again.problem, again.text.partition("\n")[2])


def test_every_state_of_the_playground() -> None:
    for state in [*CHOSEN, *random_states(120)]:
        check(parse_state(state).explain())


@pytest.mark.parametrize(
    ("op", "x", "second", "options"),
    [
        ("max", (7, 7), (3, 3), {"stride": [2, 1], "padding": [(0, 1), (np.int64(1), 0)]}),
        ("max", [[1, 2, -0.0], [np.nan, np.inf, 0.1]], (2, 2), {"stride": 1}),
        ("avg", np.ones((3, 4), np.float32), (2, 2), {"count_include_pad": np.False_, "divisor": np.float64(2)}),
        ("mode", (5,), (2,), {}),
        ("global_max", (2, 3, 4), None, {"axes": (1, 2)}),
        ("adaptive_avg", (5, 6), (2, None), {}),
        ("smooth_max", (4,), (2,), {"beta": 0.5, "pad_value": None, "padding": 1}),
        ("pool", np.zeros(4), (2,), {"init": -np.inf, "reduce_fn": np.maximum}),
        ("conv", (5, 5, 2), (3, 3, 2, 2), {"bias": [3, 4], "padding": "same"}),
        ("conv_transpose", (3, 3, 1), np.full((2, 2, 1, 1), 0.25), {}),
        ("conv_transpose", (4, 1), (3, 1, 1), {"stride": 2, "output_shape": (9,)}),
        ("max", (3, 4), (5, 3), {"padding": ((1, 0), (0, 0))}),
        ("sum", np.array([1e300, -2.5e16, 2.0**53, 1e-300]), (2,), {}),
        ("lp", (4,), (2,), {"p": 1e300}),
        ("max", np.array([2**53 + 1, -(2**63)]), (2,), {}),
        ("conv", np.ones((5, 1), np.float32), np.ones((2, 1, 2), np.float32), {"bias": np.array([1, 0.5], np.float32)}),
    ],
)
def test_calls_as_people_write_them(op: str, x: Any, second: Any, options: dict[str, Any]) -> None:
    check(cn.explain(op, x, second, **options))


@pytest.mark.parametrize(
    ("op", "x", "second", "options"),
    [
        ("max", (100, 100), (3, 3), {}),
        ("max", np.ones(4, bool), (2,), {}),
        ("sum", np.ones(4, complex), (2,), {}),
        ("sum", (4,), (2,), {"dtype": "float32"}),
        ("pool", (4,), (2,), {"init": 0.0, "reduce_fn": lambda a, b: a + b}),
        ("max", np.random.default_rng(0).normal(size=(20, 20)), (2, 2), {}),
        ("conv", np.ones((4, 1), np.float32), np.ones((2, 1, 1)), {}),
        ("conv", (5, 1), (2, 1, 1), {"bias": np.array([1 + 1j])}),
        ("conv", np.ones((5, 1), np.float32), np.ones((2, 1, 1), np.float32), {"bias": np.array([0.5])}),
        ("conv", (16, 16, 4), (3, 3, 4, 4), {}),
        ("max", (20, 20), (3, 3), {"stride": 3, "padding": 30}),
        ("max", (3, 4), (100, 3), {"padding": ((0, 0), (40, 1000))}),
        ("avg", (1000,), (900,), {"stride": 1}),
        ("max", (4,), (1,), {"stride": 20000}),
        ("max", (4,), (1,), {"dilation": 20000}),
        ("max", (0, 20000), (1,), {}),
        ("pool", (4,), (2,), {"init": 10**50, "reduce_fn": np.add}),
    ],
)
def test_what_the_playground_does_not_show(op: str, x: Any, second: Any, options: dict[str, Any]) -> None:
    assert state_of(cn.explain(op, x, second, **options)._call) is None


@pytest.mark.parametrize("shape", [(2, 2, 1), (60, 8, 1), (10, 10, 3)])
@pytest.mark.parametrize("taken", [2, 9, 100])
@pytest.mark.parametrize("op", ["conv", "conv_transpose"])
def test_an_address_of_channels_that_do_not_fit(op: str, shape: Any, taken: int) -> None:
    """There is one if the playground can draw the channels that are missing."""
    call = cn.explain(op, shape, (1, 1, taken, 1) if op == "conv" else (1, 1, 1, taken))._call
    text = state_of(call)
    assert (text is None) == (math.prod(shape[:2]) * taken > MOST_CELLS)
    if text is not None:
        shown = answer(dict(parse_qsl(text, strict_parsing=True)))["problem"]
        what, _, _ = str(call.problem).partition("; ")  # then comes a call, of arrays there and of shapes here
        assert shown.startswith(what)
        assert " channel" in what


def huge(rng: random.Random) -> tuple[str, Any, Any, dict[str, Any]]:
    """A call at the limits of what can be drawn."""
    n, k = rng.choice((1, 30, 1000, 1025, 20000)), rng.choice((1, 3, 16, 17, 900, 9999))
    options: dict[str, Any] = {
        "stride": rng.choice((1, 2, 60, 9999, 10000)), "dilation": rng.choice((1, 2, 9999, 10000)),
        "padding": rng.choice((0, 1, 2000, 4000, 10000)),
    }  # fmt: skip
    if rng.random() < 0.5:
        return "conv", (n, rng.choice((1, 4))), (k, 1, rng.choice((1, 4))), {**options, "groups": 1}
    op = rng.choice(("max", "avg", "lp", "smooth_max"))
    if op in ("lp", "smooth_max"):
        options["p" if op == "lp" else "beta"] = rng.choice((2, 1e300, 2.0**60, 0.1, 1e16))
    return op, (n,), (k,), options


def test_the_playground_accepts_every_address() -> None:
    rng = random.Random(11)
    accepted = refused = 0
    while accepted < 40:
        op, x, second, options = huge(rng)
        try:
            call = cn.explain(op, x, second, **options)._call
        except ValueError:
            continue
        text = state_of(call)
        if text is None:
            refused += 1
            continue
        found = answer(dict(parse_qsl(text, strict_parsing=True)))
        assert (found["problem"] is None) == (call.problem is None)
        assert call.y is None or math.prod(found["y"]["shape"]) == call.y.size
        accepted += 1
    assert refused > 40
