"""What the likeliest mistakes are answered with, to the letter, and that the advice works: the table is hints.txt."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy
import numpy as np
import pandas as pd
import pytest
import scipy.ndimage
import scipy.signal
import torch

import cenote as cn
from advice import NAMES, advised, follow, rng
from cenote.dialects import flax
from messages import check_message, failure_of, read_table

F = torch.nn.functional
TABLE = read_table("hints.txt")
PYTHONS_OWN = re.compile(r"unexpected keyword|\(\) takes |required positional|multiple values|\(\) missing|<function")


# --------------------------------------------------------------------------------------------------- to the letter


@pytest.mark.parametrize(("call", "expected"), TABLE.items(), ids=TABLE)
def test_the_message_to_the_letter(call: str, expected: str) -> None:
    check_message(failure_of(call, NAMES), expected)


@pytest.mark.parametrize("call", [call for call, message in TABLE.items() if "write " in message])
def test_the_advice_works(call: str) -> None:
    result = follow(call, TABLE[call])
    assert result is not None
    assert advised(TABLE[call]) != call


def test_most_messages_have_advice() -> None:
    assert sum(advised(message) is not None for message in TABLE.values()) > 0.75 * len(TABLE)


def test_no_message_is_pythons_own() -> None:
    for message in TABLE.values():
        assert not PYTHONS_OWN.search(message), message


# ---------------------------------------------------------------------- the same values as the library that it is from

x4, m2 = NAMES["x"], NAMES["m"]
t4 = torch.tensor(x4)

SAME_VALUES: list[tuple[str, dict[str, Any], Any, Callable[[], Any]]] = [
    ("max_pool", {"kernel_size": 2}, x4, lambda: F.max_pool2d(t4, kernel_size=2)),
    ("max_pool", {"kernel_size": 3, "stride": 2, "padding": 1}, x4, lambda: F.max_pool2d(t4, 3, 2, 1)),
    ("avg_pool", {"kernel_size": 3, "divisor_override": 2}, x4, lambda: F.avg_pool2d(t4, 3, divisor_override=2)),
    ("max_pool", {"output_size": (3, 2)}, x4, lambda: F.adaptive_max_pool2d(t4, (3, 2))),
    ("avg_pool", {"output_size": 3}, x4, lambda: F.adaptive_avg_pool2d(t4, 3)),
    ("lp_pool", {"norm_type": 2, "kernel_size": 2}, x4, lambda: F.lp_pool2d(t4, 2, 2)),
    ("max_pool", {"window_shape": (2, 2)}, x4, lambda: flax.max_pool(x4, (2, 2))),
    (
        "avg_pool",
        {"window_shape": (3, 3), "strides": (2, 2), "padding": "SAME"},
        x4,
        lambda: flax.avg_pool(x4, (3, 3), (2, 2), "SAME"),
    ),
    *(
        (name, {"size": size, "mode": mode}, m2, partial(f, m2, size=size, mode=mode))
        for name, f in {
            "max_pool": scipy.ndimage.maximum_filter,
            "min_pool": scipy.ndimage.minimum_filter,
            "avg_pool": scipy.ndimage.uniform_filter,
        }.items()
        for size in (3, (3, 5), (4, 2))
        for mode in ("reflect", "nearest", "mirror", "wrap")
    ),
    *(
        (name, {"size": size}, m2, partial(f, m2, size=size))  # which extends the array
        for name, f in {
            "max_pool": scipy.ndimage.maximum_filter,
            "min_pool": scipy.ndimage.minimum_filter,
            "avg_pool": scipy.ndimage.uniform_filter,
            "median_pool": scipy.ndimage.median_filter,
        }.items()
        for size in (3, (3, 5), (4, 2))
        if name != "median_pool" or size != (4, 2)  # of an even count, scipy takes the upper one
    ),
    *(
        (name, {"size": k, "mode": "constant"} | options, x, partial(f, x, k, mode="constant", **options))
        for k in (3, (3, 5), 4)
        for x in (m2, -abs(m2))  # of which the zeros around are the largest
        for name, f, options in (
            ("avg_pool", scipy.ndimage.uniform_filter, {}),
            ("max_pool", scipy.ndimage.maximum_filter, {}),
            ("min_pool", scipy.ndimage.minimum_filter, {"cval": 0}),
            ("max_pool", scipy.ndimage.maximum_filter, {"cval": -np.inf}),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "x", "theirs"), SAME_VALUES)
def test_the_advice_gives_what_the_other_library_gives(
    name: str, options: dict[str, Any], x: Any, theirs: Callable[[], Any]
) -> None:
    with pytest.raises(TypeError) as failure:
        getattr(cn, name)(x, **options)
    text = advised(str(failure.value))
    assert text is not None, failure.value
    np.testing.assert_allclose(eval(text, {**NAMES, "x": x}), np.asarray(theirs()), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("shape", [(3,), (20,), (6, 7), (2, 3)])
def test_a_longer_filter_gives_what_numpy_and_scipy_give(name: str, shape: tuple[int, ...]) -> None:
    x, k = rng.standard_normal((2,) * len(shape)), rng.standard_normal(shape)
    with pytest.raises(ValueError, match="to exchange the two, write") as failure:
        getattr(cn, name)(x, k, mode="valid")
    got = eval(advised(str(failure.value)) or "", {**NAMES, "x": x, "k": k})
    np.testing.assert_allclose(got, getattr(scipy.signal, name)(x, k, mode="valid"), rtol=1e-9, atol=1e-12)
    if len(shape) == 1:
        np.testing.assert_allclose(got, getattr(np, name)(x, k, mode="valid"), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("word", ["where", "mask"])
@pytest.mark.parametrize("name", ["max_pool", "avg_pool", "median_pool"])
def test_elements_that_do_not_count(name: str, word: str) -> None:
    for x in (m2, NAMES["n"], m2.astype(np.float32)):
        with pytest.raises(TypeError, match=f"{word}: make the elements that do not count NaN") as failure:
            getattr(cn, name)(x, (2, 2), **{word: m2 > 0})
        got = eval(advised(str(failure.value)) or "", {**NAMES, "x": x, word: m2 > 0})
        np.testing.assert_array_equal(got, getattr(cn, name)(np.where(m2 > 0, x, np.nan), (2, 2), nan="omit"))


@pytest.mark.parametrize("mode", ["reflect", "nearest", "mirror", "wrap", "constant"])
@pytest.mark.parametrize("shape", [(3, 3), (1, 5), (1, 2), (4, 3), (4, 4)])
@pytest.mark.parametrize("name", ["correlate", "convolve"])
def test_modes_of_filters_give_what_scipy_gives(name: str, shape: tuple[int, int], mode: str) -> None:
    k = rng.standard_normal(shape)
    with pytest.raises(ValueError, match="is not known") as failure:
        getattr(cn, name)(m2, k, mode=mode)
    got = eval(advised(str(failure.value)) or "", {**NAMES, "x": m2, "k": k})
    np.testing.assert_allclose(got, getattr(scipy.ndimage, name)(m2, k, mode=mode), rtol=1e-12, atol=1e-12)


# ------------------------------------------------------------------------------------- advice for data of all kinds

# By name: data, of which some is refused whatever the call.
DATA: dict[str, Any] = {
    "floats": x4[0, 0],
    "pandas": pd.DataFrame(m2),
    "masked": np.ma.masked_less(m2, 0),
    "complex": m2 + 1j,
    "objects": np.array([[None] * 4] * 4, object),
    "bool": m2 > 0,
    "datetimes": np.arange(36).reshape(6, 6).astype("M8[s]"),
    "list of torch": [torch.ones(4)] * 4,
    "list of two libraries": [torch.ones(4), np.ones(4)],
    "list of two sizes": [torch.ones(4), torch.ones(3)],
    "empty": m2[:0],
    "picture": NAMES["img"],
    "channels first": x4,
    "channels last": NAMES["b"],
}
REFUSED = ("pandas", "objects", "datetimes", "list of torch", "list of two libraries", "list of two sizes")
free: Any = cn  # of its signatures
WRONG: list[Callable[[Any], Any]] = [
    *(
        partial(lambda name, x: getattr(cn, name)(x, 2), name)
        for name in ("max_pool", "avg_pool", "lp_pool", "median_pool", "mode_pool", "smooth_max_pool")
    ),
    lambda x: free.max_pool(x, (2, 2), nan="ignore"),
    lambda x: free.max_pool(x, kernel_size=2),
    lambda x: free.max_pool(x, kernel_size=20),
    lambda x: free.mode_pool(x, (2, 2), 1),
    lambda x: free.lp_pool(x, 2, 2),
    lambda x: free.max_pool(x, size=3),
    lambda x: free.avg_pool(x, size=3),
    lambda x: free.adaptive_avg_pool(x, 2),
    lambda x: free.global_avg_pool(x, dim=-1),
    lambda x: free.pool(x, (2, 2), 0, np.max),
    lambda x: free.convolve(x, NAMES["k"], axis=0),
    lambda x: free.convolve(x, NAMES["k"], -1),
    lambda x: free.correlate(x, NAMES["k"], mode="constant", cval=0),
    lambda x: free.correlate(x, NAMES["k"], padding=1),
    lambda x: free.conv(x, NAMES["k"]),
    lambda x: free.conv(x, NAMES["k"], stride=2, padding=1),
    lambda x: free.conv(x, NAMES["o"], None, 1, 1),
    lambda x: free.conv(x, NAMES["o"], data_format="NCHW"),
]


@pytest.mark.parametrize("kind", DATA)
def test_a_call_is_advised_only_if_it_works(kind: str) -> None:
    x, count = DATA[kind], 0
    for call in WRONG:
        with pytest.raises((TypeError, ValueError)) as failure:
            call(x)
        text = advised(str(failure.value))
        if text is not None:
            names = {"w": NAMES["o"] if text.startswith("conv(") else NAMES["k"]}
            assert eval(text, {**NAMES, **names, "x": x}) is not None, failure.value
            count += 1
    assert (count > 0) == (kind not in REFUSED)


# ---------------------------------------------------------------------------------------------- one int as a window

SHAPES = [
    (), (1,), (5,), (20,), (6, 7), (1, 9), (3, 3), (2, 3, 4), (9, 10, 3), (9, 10, 4), (48, 64, 3), (2, 3, 8, 9),
    (2, 16, 16, 3), (0, 5), (2, 2, 6, 6, 6),
]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {},
    {"stride": 1},
    {"stride": (1, 2)},
    {"stride": (2,)},
    {"stride": (1, 1, 1)},
    {"padding": 1},
    {"padding": "same"},
    {"padding": ((1, 0), (0, 1))},
    {"dilation": (1, 2)},
    {"ceil_mode": True},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_one_int_is_answered_with_axes_of_this_array(shape: tuple[int, ...], size: int) -> None:
    x = np.zeros(shape)
    for options, name in itertools.product(OPTIONS, ("max_pool", "sum_pool", "smooth_max_pool", "output_shape")):
        with pytest.raises(ValueError, match=f"{name}: window={size} is one int") as failure:
            getattr(cn, name)(shape if name == "output_shape" else x, size, **options)
        message = str(failure.value)
        text = advised(message)
        if text is not None:
            eval(text, {**NAMES, "x": x})  # works, and warns of nothing
            assert all(f"{key}=" in text for key in options)
        else:
            assert "does not fit" in message or "has no axis" in message or "entries" in message
            assert not any(fits(shape, rank, size, options) for rank in range(1, len(shape) + 1))


def fits(shape: tuple[int, ...], rank: int, size: int, options: dict[str, Any]) -> bool:
    try:
        cn.output_shape(shape, (size,) * rank, axes=tuple(range(len(shape) - rank, len(shape))), **options)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", ["adaptive_max_pool", "adaptive_avg_pool"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_int_as_a_size_of_the_result(shape: tuple[int, ...], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: output_size=2 is one int") as failure:
        getattr(cn, name)(np.zeros(shape), 2)
    text = advised(str(failure.value))
    assert (text is None) == (shape == ())
    if text is not None:
        assert 2 in eval(text, {**NAMES, "x": np.zeros(shape)}).shape


@pytest.mark.parametrize(
    ("shape", "call"),
    [
        ((20,), "max_pool(x, (5,))"),
        ((480, 640), "max_pool(x, (5, 5))"),
        ((480, 640, 3), "max_pool(x, 5, axes=(0, 1))"),
        ((32, 32, 4), "max_pool(x, 5, axes=(0, 1))"),
        ((8, 32, 32, 3), "max_pool(x, 5, axes=(1, 2))"),
        ((8, 3, 32, 32), "max_pool(x, (5, 5))"),
        ((64, 32, 32), "max_pool(x, (5, 5))"),
        ((4, 20), "max_pool(x, (5,))"),
    ],
)
def test_the_axes_that_are_named(shape: tuple[int, ...], call: str) -> None:
    with pytest.raises(ValueError, match="is one int") as failure:
        cn.max_pool(np.zeros(shape, np.uint8), 5)
    assert advised(str(failure.value)) == call


# ------------------------------------------------------------------------------------------------------- dialects


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            "cn.dialects.torch.max_pool2d(x, window=2)",
            "window=2 is called kernel_size here: write max_pool2d(input, 2)",
        ),
        ("cn.dialects.torch.conv2d(x, filters=o)", "filters is called weight here: write conv2d(input, weight)"),
        (
            "cn.dialects.flax.max_pool(x, (2, 2), stride=(1, 1))",
            "stride=(1, 1) is called strides here: write max_pool(inputs, (2, 2), strides=(1, 1))",
        ),
        (
            "cn.dialects.flax.max_pool(x, (2, 2), (1, 1), 'SAME', 5)",
            "5 positional arguments are given, and only inputs, window_shape, strides and padding are positional",
        ),
        ("cn.dialects.d2l.pool2d(m, 2, foo=3)", "foo=3 is not an argument of pool2d, which has X, pool_size, mode"),
        ("cn.dialects.nabla.max_pool2d(b)", "kernel_size is missing"),
    ],
)  # fmt: skip
def test_dialects_answer_in_their_own_words(call: str, expected: str) -> None:
    failure = failure_of(call, NAMES)
    assert type(failure) is TypeError
    assert str(failure).partition(": ")[2] == expected


# ------------------------------------------------------------------------------------------------------- in passing


def test_a_function_that_does_not_take_two_arrays() -> None:
    with pytest.raises(TypeError, match=r"^pool: reduce_fn=<function .* does not take two arrays, as it must$"):
        cn.pool(m2, (2, 2), 0, lambda a: a)  # type: ignore[arg-type,misc]


def test_a_reducer_along_an_axis_is_no_function_of_two_arrays() -> None:
    for reducer in (lambda a, axis: a.max(axis), lambda a, axes=None: a.mean(axes)):  # as those of scikit-image
        with pytest.raises(TypeError, match=r"reduces one array along an axis: a function of two arrays is needed$"):
            cn.pool(NAMES["m"], (2, 2), 0, reducer)


def test_errors_of_the_users_own_pass_as_they_are() -> None:
    def broken(a: Any, b: Any) -> Any:
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        cn.pool(m2, (2, 2), 0, broken)
    with pytest.raises(TypeError, match=r"^mine$"):
        cn.grad(lambda x: broken(x, x))(1.0)
    with pytest.raises(TypeError, match=r"^max_pool: kernel_size=2 is called window here: write max_pool\(x, \(2,\)\)"):
        cn.grad(lambda x: cn.max_pool(x, kernel_size=2).sum())(NAMES["v"])  # type: ignore[call-overload]


def test_reductions_of_jax() -> None:
    with pytest.raises(TypeError, match=r"^pool: reduce_fn=jnp\.max reduces one array.*: write max_pool\(x, \(2,\)\)$"):
        cn.pool(NAMES["v"], (2,), 0, jax.numpy.max)
    assert cn.pool(jax.numpy.arange(4.0), (2,), 0, jax.numpy.maximum).tolist() == [1, 3]


def test_functions_that_are_named_like_reductions_are_taken() -> None:
    def max(a: Any, b: Any) -> Any:
        return np.maximum(a, b)

    lowest = np.vectorize(min, otypes=[float])
    assert cn.pool([1.0, 3.0, 2.0, 0.0], (2,), 0, max).tolist() == [3, 2]
    assert cn.pool([1.0, 3.0, 2.0, 0.0], (2,), 9, lowest).tolist() == [1, 0]
    assert cn.pool([1.0, 3.0, 2.0, 0.0], (2,), 1, pow).tolist() == [1, 1]


def test_the_advice_for_masked_arrays_keeps_float32() -> None:
    for dtype, kept in (
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.float16, np.float16),
        (int, np.float64),
    ):
        x = np.ma.masked_array(np.array([1, 2, 3, 4], dtype), [False, True, False, False])
        with pytest.raises(TypeError, match="masked array") as failure:
            cn.max_pool(x, (2,))
        result = eval(advised(str(failure.value)) or "", {**NAMES, "x": x})
        assert result.dtype == kept
        assert result.tolist() == [1, 4]


def test_hints_are_not_imported_before_something_is_wrong() -> None:
    code = (
        "import sys, cenote as cn; cn.max_pool([1, 2], (2,)); before = 'cenote.arguments.hints' in sys.modules\n"
        "try: cn.max_pool([1, 2], kernel_size=2)\n"
        "except TypeError: print(before, 'cenote.arguments.hints' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]


def test_a_border_type_that_is_an_array_of_one_int() -> None:
    with pytest.raises(TypeError, match="write max_pool"):
        cn.max_pool(np.ones((4, 4)), (2, 2), border_type=np.array(2))  # type: ignore[call-overload]
