"""The formulas of windows: numbers that are short, and read as what cenote computes."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cenote.explanation.formula import formula, precise, remarks, short
from cenote.explanation.limits import REDUCERS
from cenote.playground.state import parse_state
from playground_states import CHOSEN, random_states


@pytest.mark.parametrize(
    ("e", "number", "text"),
    [
        (cn.explain("max_pool", [3.0, 5, 5, 1], (4,)), 0, "y[0] = max(3, 5, 5, 1) = 5"),
        (cn.explain("avg_pool", [1.0, 2, 4], (2,), padding=1), 0, "y[0] = (1 + 1 padded zero) / 2 = 0.5"),
        (cn.explain("sum_pool", [1.0, -2], (2,)), 0, "y[0] = 1 + (-2) = -1"),
        (cn.explain("lp_pool", [3.0, -4], (2,)), 0, "y[0] = (|3|^2 + |-4|^2)^(1/2) = 5"),
        (cn.explain("smooth_max_pool", [0.0, 0], (2,)), 0, "y[0] = log(exp(1*0) + exp(1*0)) / 1 = 0.693"),
        (cn.explain("conv", np.array([[2.0], [3]]), np.array([[[1.0]], [[-1]]]), bias=np.array([4.0])), 0,
         "y[0, 0] = 2*1 + 3*(-1) + 4 (bias) = 3"),
        (cn.explain("mode_pool", [4, 7, 7], (3,)), 0, "y[0] = mode(4, 7, 7) = 7"),
        (cn.explain("pool", [4.0, 7], (2,), init=1.0, reduce_fn=np.multiply), 0,
         "y[0] = multiply of 1, 4, 7, one after the other = 28"),
        (cn.explain("sum_pool", np.ones(20), (20,)), 0,
         "y[0] = 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + ... (20 terms) = 20"),
    ],
)  # fmt: skip
def test_formulas(e: Any, number: int, text: str) -> None:
    assert formula(e._call, e.windows[number]) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, "3"), (-0.25, "-0.25"), (1 / 3, "0.333"), (123456, "123456"), (1234567, "1.23e6"), (252.5, "252.5"),
     (252.333, "252.3"), (6.00017, "6.00"), (-10.001, "-10.0"), (99.9712, "100.0"), (0.99999, "1.00"),
     (99.96, "99.96"), (-1234.5, "-1234.5"), (0.0625, "0.0625"), (123456.7, "1.23e5"),
     (math.nan, "NaN"), (-math.inf, "-inf"), (True, "True"), (1 + 2j, "1+2j"), (1.5e-9, "1.5e-9"), (None, "")],
)  # fmt: skip
def test_numbers(value: Any, text: str) -> None:
    assert short(value) == text


BYTES = np.array([250, 255, 251, 250, 10, 21], np.uint8)


@pytest.mark.parametrize(
    ("op", "x", "second", "options", "number", "text", "remark"),
    [
        ("avg_pool", BYTES, (2,), {"dtype": np.uint8}, 0, "(250 + 255) / 2 = 252.5, rounded to 252", "the even one"),
        ("avg_pool", BYTES, (2,), {"dtype": np.uint8}, 2, "(10 + 21) / 2 = 15.5, rounded to 16", "the even one"),
        ("avg_pool", BYTES, (3,), {"dtype": np.uint8}, 0, "(250 + 255 + 251) / 3 = 252", ""),
        ("avg_pool", BYTES, (3,), {"dtype": np.uint8}, 1, "(250 + 10 + 21) / 3 = 93.6667, rounded to 94", ""),
        ("avg_pool", BYTES, (2,), {}, 0, "(250 + 255) / 2 = 252.5", ""),
        ("global_avg_pool", -BYTES.astype(int), None, {"axes": 0, "dtype": "int8"}, 0,
         "... = -172.833, clipped to -128", "int8 holds -128 to 127"),
        ("sum_pool", BYTES, (2,), {"dtype": np.uint8}, 0, "250 + 255 = 505, clipped to 255", "uint8 holds 0 to 255"),
        ("median_pool", BYTES, (2,), {"dtype": np.uint8}, 0, "median(250, 255) = 252.5, rounded to 252", "even"),
        ("lp_pool", BYTES, (1,), {"dtype": np.int8}, 0, "(|250|^2)^(1/2) = 250, clipped to 127", "int8 holds"),
        ("conv", BYTES[:, None], np.full((1, 1, 1), 2, np.uint8), {}, 0,
         "250*2 = 500, which wraps around to 244", "uint8 holds 0 to 255"),
        ("conv", np.array([[math.nan]]), np.ones((1, 1, 1)), {"dtype": np.int8}, 0, "NaN*1 = NaN, stored as 0", ""),
        ("pool", np.array([100, 100], np.int8), (2,), {"init": 0, "reduce_fn": np.add}, 0,
         "add of 0, 100, 100, one after the other = 200, which wraps around to -56", "int8 holds -128 to 127"),
        ("pool", np.array([3, 5], np.uint8), (2,), {"init": 0, "reduce_fn": np.subtract}, 0,
         "subtract of 0, 3, 5, one after the other = -8, which wraps around to 248", "uint8 holds 0 to 255"),
        ("pool", np.array([1, 2], np.int8), (2,), {"init": 0, "reduce_fn": np.add}, 0, "one after the other = 3", ""),
        ("avg_pool", np.array([2**62, 2**62 - 1]), (2,), {"dtype": np.int64}, 0, f"/ 2 = {short(2**62)}", ""),
        ("sum_pool", np.array([2**63 - 1] * 2), (2,), {}, 0, "= 1.84e19, which wraps around to -2", "int64 holds -92"),
        ("sum_pool", np.array([2**63, 5], np.uint64), (2,), {}, 0, "9.22e18 + 5 = 9.22e18", ""),
        ("conv", np.full((2, 1), 2**62), np.full((2, 1, 1), 2), {"bias": [7]}, 0,
         "+ 7 (bias) = 1.84e19, which wraps around to 7", "int64 holds -9223372036854775808 to 9223372036854775807"),
    ],
)  # fmt: skip
def test_integer_results(
    op: str, x: Any, second: Any, options: dict[str, Any], number: int, text: str, remark: str
) -> None:
    """The exact number stands before the one that it is rounded, clipped or wrapped to, which is the function's."""
    e = cn.explain(op, x, second, **options)
    window = e.windows[number]
    found = formula(e._call, window)
    assert found.endswith(text.removeprefix("...")), found
    assert remark in "; ".join(remarks(e._call, window))
    real = getattr(cn, op)(x, *([] if second is None else [second]), **options)
    assert window.result == real.ravel()[number]
    assert (window.unrounded is None) == (", " not in text.rpartition("=")[2])
    if remark == "the even one":
        assert isinstance(window.unrounded, float)
        assert isinstance(window.result, int)
        assert window.unrounded % 1 == 0.5
        assert window.result % 2 == 0
    assert e.as_json()["windows"][number]["unrounded"] == (
        None
        if window.unrounded is None
        else pytest.approx(window.unrounded)
        if window.unrounded == window.unrounded
        else "NaN"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.5000000001, "2.5000000001"), (252.49999999, "252.49999999"), (1 / 3, "0.333333"), (505, "505"),
     (2.9999999, "2.9999999")],
)  # fmt: skip
def test_no_number_looks_halfway_that_is_not(value: Any, text: str) -> None:
    assert precise(value) == text


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "u1"])
@pytest.mark.parametrize("result", ["i1", "u1", "i2", "u4"])
def test_what_is_rounded_gives_the_result(dtype: str, result: str) -> None:
    """The total in the precision in which it was computed: of float32 it may be halfway where the exact one is not."""
    rng, limits, seen = np.random.default_rng(3), np.iinfo(result), 0
    for op in ("avg_pool", "sum_pool", "lp_pool", "median_pool", "smooth_max_pool"):
        x = (rng.standard_normal(100) * 150).astype(dtype)
        for window in cn.explain(op, x, (2,), dtype=np.dtype(result)).windows:
            found = window.unrounded
            if not isinstance(found, (int, float)) or not math.isfinite(found):
                continue
            seen += 1
            assert min(max(round(found), limits.min), limits.max) == window.result, (op, window)
    assert seen > 50


def test_the_total_of_float32_is_rounded_once_more() -> None:
    (window,) = cn.explain("avg_pool", np.array([328.3, -9.3], np.float32), (2,), dtype=np.int16).windows
    assert (window.unrounded, window.result) == (159.5, 160)  # exactly it is 159.499994


def nan_or(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: math.nan if any(v != v for v in values) else function(*values)


NAMES: dict[str, Any] = {
    "max": nan_or(lambda *v: max(v)), "min": nan_or(lambda *v: min(v)), "abs": abs,
    "median": nan_or(lambda *v: float(np.median(v))), "NaN": math.nan,
    "mode": lambda *v: min(set(v), key=lambda x: (-v.count(x), x)), "log": math.log, "exp": math.exp, "inf": math.inf,
    "fold": lambda fn, *v: functools.reduce(fn, v), **REDUCERS,
}  # fmt: skip


def evaluated(text: str) -> Any:
    """The right side of a formula as Python understands it."""
    text = re.sub(r"\d+ padded zeros?", "0", text).replace("^", "**").replace(" (bias)", "")
    text = re.sub(r"\|([^|]*)\|", r"abs(\1)", text)
    text = re.sub(r"^(\w+) of (.*), one after the other$", r"fold(\1, \2)", text)
    return eval(text, NAMES)


def test_formulas_say_what_the_function_computes() -> None:
    """Their right sides have the value of their left sides: of whole numbers, which formulas have in full."""
    number = 0
    for state in [*CHOSEN, *random_states(60, seed=9)]:
        e = parse_state(state).explain()
        for window in e.windows:
            plain = (v.value for v in window.elements if isinstance(v.value, float) and math.isfinite(v.value))
            if 0 < len(window.elements) < 12 and window.divisor != 0 and all(v.is_integer() for v in plain):
                left = formula(e._call, window).split(" = ", 1)[1].rsplit(" = ", 1)[0]
                np.testing.assert_allclose(evaluated(left), window.result, rtol=1e-6, err_msg=f"{state}: {left}")
                number += 1
    assert number > 1000


ONES = np.array([1e8, 1, 1, 1], np.float32)


@pytest.mark.parametrize(
    ("op", "x", "second", "options", "text"),
    [
        ("sum_pool", ONES, (4,), {}, "1e8 + 1 + 1 + 1 = 100000003, rounded to 1e8 in float32"),
        ("sum_pool", ONES.astype(float), (4,), {}, "1e8 + 1 + 1 + 1 = 1e8"),
        ("avg_pool", ONES, (4,), {}, "/ 4 = 25000000.75, rounded to 2.5e7 in float32"),
        ("conv", ONES[:, None], np.ones((4, 1, 1), np.float32), {}, "= 100000003, rounded to 1e8 in float32"),
        ("sum_pool", np.array([6e4, 6e4], np.float16), (2,), {}, "= 120000, which overflows to inf in float16"),
        ("sum_pool", np.array([np.inf, 1], np.float16), (2,), {}, "inf + 1 = inf"),
        ("sum_pool", np.array([np.nan, 2048, 1], np.float16), (3,), {"nan": "omit"},
         "2048 + 1 = 2049, rounded to 2048 in float16"),
        ("avg_pool", [1, 2, 2], (3,), {"dtype": np.float16}, "/ 3 = 1.66667, rounded to 1.66699 in float16"),
        ("avg_pool", [1, 2, 2], (3,), {}, "/ 3 = 1.67"),
        ("sum_pool", np.array([0.1, 0.2], np.float32), (2,), {}, "0.1 + 0.2 = 0.3"),
        ("sum_pool", np.array([3e38, 3e38], np.float32), (2,), {}, "= 6e38, which overflows to inf in float32"),
        ("conv", np.full((1, 1), -1e308), np.full((1, 1, 1), 1e308), {},
         "(-1e308)*1e308 = -1e616, which overflows to -inf in float64"),
        ("conv", np.full((6, 6, 3), 7, np.float32), np.full((3, 3, 3, 1), 3, np.float32), {}, "(27 terms) = 567"),
    ],
)  # fmt: skip
def test_float_results(op: str, x: Any, second: Any, options: dict[str, Any], text: str) -> None:
    """The exact number stands before a rounded one, where the digits of a picture would look wrong without it."""
    e = cn.explain(op, x, second, **options)
    found = formula(e._call, e.windows[0])
    assert found.endswith(text), found
    assert (e.windows[0].unrounded is None) == (", " not in text)
    assert e.windows[0].result == getattr(cn, op)(x, second, **options).ravel()[0]


@pytest.mark.parametrize("op", ["sum_pool", "avg_pool", "median_pool", "max_pool"])
def test_nothing_is_left_of_a_window(op: str) -> None:
    """No data in, no data out: a sum of no elements would be 0."""
    e = cn.explain(op, np.array([math.nan, math.nan, 1]), (3,), padding=((2, 0),), stride=2, nan="omit")
    assert formula(e._call, e.windows[0]) == f"y[0] = {op.removesuffix('_pool')}() = NaN"
    assert "1 NaN omitted, which leaves no element" in remarks(e._call, e.windows[0])
    assert "2 NaN omitted" in remarks(e._call, e.windows[1])


@pytest.mark.parametrize(
    ("x", "text"),
    [
        ([True, False], "False, True are equally frequent: the smallest is taken"),
        ([4, 7, 7, 4], "4, 7 are equally frequent: the smallest is taken"),
        ([3, 2, 1], "1, 2, 3 are equally frequent: the smallest is taken"),
        ([4, 7, 7, 1], ""),
        ([5], ""),
    ],
)
def test_ties_of_a_mode(x: list[Any], text: str) -> None:
    e = cn.explain("mode_pool", x, (len(x),))
    assert "; ".join(remarks(e._call, e.windows[0])) == text
    assert text.startswith(str(e.windows[0].result)) or not text
