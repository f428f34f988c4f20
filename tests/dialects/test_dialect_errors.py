"""The error messages of the dialects, to the letter: the table is dialect_errors.txt."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from cenote.dialects import d2l, flax, mygrad, nabla, torchlean
from messages import check_message, failure_of, read_table, unreached

NAMES: dict[str, Any] = {
    "np": np,
    "d2l": d2l,
    "flax": flax,
    "nabla": nabla,
    "torchlean": torchlean,
    "PoolSpec": torchlean.PoolSpec,
    "s": torchlean.PoolSpec((2, 2), (1, 1), (0, 0)),
    "m": np.arange(12.0).reshape(3, 4),
    "c": np.arange(12.0).reshape(1, 3, 4),
    "x": np.arange(12.0).reshape(1, 3, 4, 1),
    "i": np.arange(12).reshape(1, 3, 4, 1),
    "f": np.ones((2, 3, 1, 5)),
    "t": np.ones((2, 3, 5, 1)),
}


TABLE = read_table("dialect_errors.txt")


@pytest.mark.parametrize(("call", "expected"), TABLE.items(), ids=TABLE)
def test_the_message_to_the_letter(call: str, expected: str) -> None:
    check_message(failure_of(call, NAMES), expected)


@pytest.mark.parametrize("name", ["_common", "_torchlean", "d2l", "flax", "nabla", "torchlean"])
def test_every_raise_is_in_the_table(name: str) -> None:
    assert unreached(f"cenote.dialects.{name}", TABLE, NAMES) == []


# ------------------------------------------------------------------------------------------------- any nonsense

JUNK: list[Any] = [
    None, True, 0, -1, 3, 2**70, 0.5, np.nan, 1j, "", "same", b"2", (), (2, 2), (2, -2), (2.0, 2), ((1, 1), (1, 1)),
    ((-9, 9), (9, -9)), ((1,), (1,)), [[[1]]], {2}, {"a": 1}, object(), np.add, np.zeros((3, 0)), np.array(2),
    np.array(["a"]), np.ma.masked_array([1.0], [True]), range(3), NAMES["s"],
]  # fmt: skip
RIGHT = {
    "d2l.pool2d": {"X": NAMES["m"], "pool_size": (2, 2), "mode": "max"},
    "flax.avg_pool": {
        "inputs": NAMES["x"], "window_shape": (2, 2), "strides": None, "padding": "SAME", "count_include_pad": True,
    },
    "flax.max_pool": {"inputs": NAMES["x"], "window_shape": (2, 2), "strides": (1, 2), "padding": ((1, 1), (0, 0))},
    "flax.pool": {
        "inputs": NAMES["x"], "init": 0.0, "reduce_fn": np.add, "window_shape": (2, 2), "strides": None,
        "padding": "VALID",
    },
    "nabla.max_pool2d": {"x": NAMES["x"], "kernel_size": 2, "stride": None, "padding": 0, "dilation": 1},
    "nabla.conv2d": {
        "x": NAMES["x"], "filter": NAMES["f"], "stride": 1, "dilation": 1, "padding": 0, "groups": 1,
    },
    "nabla.conv2d_transpose": {
        "x": NAMES["x"], "filter": NAMES["t"], "stride": 2, "dilation": 1, "padding": 0, "output_paddings": 0,
    },
    "torchlean.PoolSpec": {"kernel": (2, 2), "stride": (1, 1), "padding": (0, 0)},
    "torchlean.max_pool_jvp": {"spec": NAMES["s"], "x": NAMES["c"], "dx": NAMES["c"]},
    "torchlean.smooth_max_pool_vjp": {"spec": NAMES["s"], "beta": 1.0, "x": NAMES["c"], "g": np.ones((1, 2, 3))},
}  # fmt: skip


@pytest.mark.parametrize(("path", "argument"), [(path, name) for path, right in RIGHT.items() for name in right])
def test_nonsense_is_a_clear_error_or_makes_sense(path: str, argument: str) -> None:
    module, name = path.split(".")
    function = getattr(NAMES[module], name)
    failures: list[Exception] = []
    for junk in JUNK:
        try:
            function(**{**RIGHT[path], argument: junk})
        except Exception as failure:
            failures.append(failure)
    assert len(failures) > 15
    for found in failures:
        assert type(found) in (TypeError, ValueError)
        assert re.match(rf"{name}: \w", str(found)), found
        assert len(str(found)) < 400


# ------------------------------------------------------------------------------------------------- advice


@pytest.mark.parametrize(
    ("call", "advice"),
    {
        "flax.max_pool(x, kernel_size=2, stride=1)": "flax.max_pool(x, (2, 2), strides=(1, 1))",
        "flax.max_pool(x, (2, 3), stride=1)": "flax.max_pool(x, (2, 3), strides=(1, 1))",
        "flax.max_pool(x[0][0], kernel_size=2)": "flax.max_pool(x[0][0], (2,))",
        "mygrad.max_pool(m, kernel_size=2, stride=1)": "mygrad.max_pool(m, (2, 2), 1)",
        "mygrad.max_pool(m[0], kernel_size=2, stride=2)": "mygrad.max_pool(m[0], (2,), 2)",
        "d2l.pool2d(m, kernel_size=2)": "d2l.pool2d(m, (2, 2))",
        "d2l.pool2d(m, window=(2, 1))": "d2l.pool2d(m, (2, 1))",
    }.items(),
)
def test_one_int_is_advised_as_the_tuple_that_is_demanded(call: str, advice: str) -> None:
    names = NAMES | {"mygrad": mygrad}
    text = str(failure_of(call, names))
    data = re.search(r"\((\S+?),", call)
    assert data is not None
    written = re.sub(r"\((inputs|X|x), ", f"({data[1]}, ", text.partition(": write ")[2])
    assert f"{call.partition('.')[0]}.{written}" == advice
    assert eval(advice, names).size > 0
