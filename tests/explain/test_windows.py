"""The windows of ``explain``: recomputed from their elements they give the real result and the real derivative."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

import cenote as cn

RNG = np.random.default_rng(3)
X2 = RNG.integers(0, 5, (1, 6, 5)).astype(np.float64)
NANS = np.where(RNG.random((6, 5)) < 0.3, np.nan, X2[0])
WINDOWS: list[dict[str, Any]] = [
    {"window_or_w": (2, 2)},
    {"window_or_w": (3, 2), "stride": (2, 1), "padding": ((1, 2), (0, 1))},
    {"window_or_w": (2, 2), "dilation": 2, "stride": 1, "padding": "same"},
    {"window_or_w": (4, 3), "stride": 3, "ceil_mode": True, "padding": 1},
    {"window_or_w": (2, 3), "axes": (2, 1), "stride": 1},
    {"window_or_w": (2,), "padding": 3, "stride": 1},
]
POOLS: list[tuple[str, dict[str, Any]]] = [
    ("max_pool", {}), ("max_pool", {"ties": "split"}), ("min_pool", {}), ("sum_pool", {}), ("avg_pool", {}),
    ("avg_pool", {"count_include_pad": False}), ("avg_pool", {"divisor": 3}), ("lp_pool", {"p": 3.0}),
    ("smooth_max_pool", {"beta": 0.5}), ("smooth_max_pool", {"pad_value": None}), ("median_pool", {}),
    ("mode_pool", {}), ("pool", {"init": 1.0, "reduce_fn": np.multiply}),
    ("pool", {"init": 0.0, "reduce_fn": lambda a, b: a - b}),
]  # fmt: skip


def recomputed(e: Any, window: Any, arguments: dict[str, Any]) -> Any:
    """The result of a window, from nothing but its elements, in Python."""
    here = [x.value for x in window.elements if x.index not in window.omitted]
    pads = [x.value for x in window.padding if x.value is not None]
    name = e.op.removeprefix("adaptive_").removeprefix("global_")
    if name in ("conv", "conv_transpose"):
        return sum(x.value * x.weight for x in (*window.elements, *window.padding)) + (window.bias or 0)
    if window.omitted and not here:
        return math.nan
    if name in ("max_pool", "min_pool"):
        worst = -math.inf if name == "max_pool" else math.inf
        return float((np.max if name == "max_pool" else np.min)(here)) if here else worst
    if name == "sum_pool":
        return sum(here)
    if name == "avg_pool":
        return sum(here) / window.divisor if window.divisor else math.nan
    if name == "lp_pool":
        return sum(abs(v) ** arguments["p"] for v in here) ** (1 / arguments["p"])
    if name == "smooth_max_pool":
        beta = arguments.get("beta", 1.0)
        total = sum(math.exp(beta * v) for v in (*here, *pads))
        return math.log(total) / beta if total else -math.inf
    if name == "median_pool":
        return float(np.median(here)) if here else math.nan
    if name == "mode_pool":
        return min(set(here), key=lambda v: (-here.count(v), v)) if here else 0
    out = arguments["init"]
    for v in here:
        out = arguments["reduce_fn"](out, v)
    return out


def check(e: Any, arguments: dict[str, Any]) -> None:
    """Values, sizes and gradients of an explanation are those of the call."""
    positional = () if e.w is None else (e.w,)
    real = np.asarray(getattr(cn, e.op)(e.x, *positional, **arguments))
    assert len(e.windows) == real.size
    assert [w.index for w in e.windows] == list(np.ndindex(real.shape))
    np.testing.assert_array_equal([w.result for w in e.windows], real.ravel())
    for window in e.windows:
        assert all(e.x[x.index] == x.value or x.value != x.value for x in window.elements)
        np.testing.assert_allclose(recomputed(e, window, arguments), window.result, rtol=1e-12)
    if e.gradient is not None:
        y, pull = cn.vjp(lambda x: getattr(cn, e.op)(x, *positional, **arguments), e.x.astype(float))
        g = np.arange(1.0, y.size + 1).reshape(y.shape)
        got = np.zeros(e.x.shape)
        for window, cotangent in zip(e.windows, g.ravel(), strict=True):
            for x in window.elements:
                got[x.index] += x.gradient * cotangent
        np.testing.assert_allclose(got, pull(g)[0], rtol=1e-12, atol=1e-12)
    assert json.loads(json.dumps(e.as_json(), allow_nan=False))["version"] == 1


@pytest.mark.parametrize(("op", "options"), POOLS, ids=lambda v: v if isinstance(v, str) else "-".join(v))
@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: "-".join(w))
def test_pooling(op: str, options: dict[str, Any], window: dict[str, Any]) -> None:
    x = X2.astype(np.int64) if op == "mode_pool" else X2
    e = cn.explain(op, x, **window, **options)
    arguments = {("window" if name == "window_or_w" else name): value for name, value in window.items()} | options
    check(e, arguments)
    if op in ("max_pool", "min_pool"):
        indices = getattr(cn, op)(x, **arguments, return_indices=True)[1]
        assert [w.chosen is None for w in e.windows] == [i < 0 for i in indices.ravel()]
        assert all(w.chosen == w.selected[0] for w in e.windows if w.chosen is not None and "axes" not in window)
    else:
        assert all(w.chosen is None for w in e.windows)
    assert (e.gradient is None) == (op == "mode_pool" or options.get("init") == 0.0)


@pytest.mark.parametrize("op", ["max_pool", "min_pool", "sum_pool", "avg_pool", "median_pool"])
def test_nan_is_omitted(op: str) -> None:
    e = cn.explain(op, NANS, (2, 1), stride=1, nan="omit")
    assert any(w.omitted for w in e.windows)
    check(e, {"window": (2, 1), "stride": 1, "nan": "omit"})


def test_nan_is_chosen() -> None:
    (window,) = cn.explain("max_pool", np.array([1, np.nan, np.nan, 9]), (4,)).windows
    assert window.chosen == (1,)
    assert window.selected == ((1,),)
    assert window.result != window.result
    assert window.gradient == (0, 1, 0, 0)


@pytest.mark.parametrize("op", ["adaptive_max_pool", "adaptive_avg_pool"])
def test_adaptive(op: str) -> None:
    for size in ((4, 3), (None, 2), (7, 5)):
        check(cn.explain(op, X2, size), {"output_size": size})


@pytest.mark.parametrize("op", ["global_max_pool", "global_avg_pool"])
def test_global(op: str) -> None:
    for axes in (1, (2, 0), (0, 1, 2)):
        check(cn.explain(op, X2, axes=axes), {"axes": axes})


@pytest.mark.parametrize("op", ["conv", "conv_transpose"])
@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
@pytest.mark.parametrize(("rank", "groups"), list(itertools.product((1, 2, 3), (1, 2))))
def test_convolution(op: str, layout: str, rank: int, groups: int) -> None:
    spatial, kernel = (4, 5, 3)[:rank], (2, 3, 2)[:rank]
    ins, outs = 4, 2
    pair = (ins // groups, outs) if op == "conv" else (outs // groups, ins)
    first = layout == "channels_first"
    x = (ins, *spatial) if first else (*spatial, ins)
    w = (pair[1], pair[0], *kernel) if first else (*kernel, *pair)
    for options in ({}, {"stride": 2, "padding": 1, "dilation": 1}, {"padding": "same", "dilation": 2}):
        arguments = {"groups": groups, "layout": layout, "bias": np.array([1.0, -2.0]), **options}
        e = cn.explain(op, x, w, **arguments)
        check(e, arguments)
        assert e.windows[0].weights is None or len(e.windows[0].weights) == len(e.windows[0].elements)


def test_a_list_is_data_and_a_tuple_a_shape() -> None:
    assert cn.explain("max_pool", [3, 5, 1], (3,)).windows[0].result == 5
    assert cn.explain("max_pool", (3, 5, 1), (3, 5, 1)).x.shape == (3, 5, 1)


def test_three_axes_and_example_data() -> None:
    e = cn.explain("max", (3, 4, 4), (2, 2, 2), stride=1)
    assert e.op == "max_pool"
    assert e.x.shape == (3, 4, 4)
    assert len(e.windows) == 18
    assert all(len(w.elements) == 8 for w in e.windows)
    np.testing.assert_array_equal(e.x, cn.explain("avg", (3, 4, 4), (2, 2, 2)).x)


def test_overhang_is_no_padding() -> None:
    last = cn.explain("avg_pool", np.arange(1.0, 6), (2,), ceil_mode=True).windows[-1]
    assert [e.index for e in last.overhang] == [(5,)]
    assert not last.padding
    assert last.divisor == 1
    padded = cn.explain("avg_pool", np.arange(1.0, 6), (2,), padding=((0, 1),)).windows[-1]
    assert [e.index for e in padded.padding] == [(5,)]
    assert not padded.overhang
    assert padded.divisor == 2


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float16, np.complex64])
def test_dtypes(dtype: Any) -> None:
    x = np.array([1, 0, 1, 1], dtype)
    e = cn.explain("avg_pool", x, (2,))
    assert [w.result for w in e.windows] == [0.5, 1]
    assert (e.gradient is None) == (dtype is np.complex64)
    assert json.dumps(e.as_json(), allow_nan=False)


def test_sizes_in_words() -> None:
    assert cn.explain("max_pool", (7,), (3,), stride=2, padding=1).text.splitlines() == [
        "max_pool((7,), window=(3,), stride=2, padding=1)",
        "axis 0: 7 elements, with padding 1 + 7 + 1 = 9. The window spans 3, which leaves 9 - 3 = 6 for steps of 2: "
        "floor(6 / 2) + 1 = 4 outputs.",
        "Result: shape (4,), 4 outputs.",
    ]
    ceil = cn.explain("avg_pool", (5,), (2,), ceil_mode=True).text
    assert "ceil(3 / 2) + 1 = 3 outputs. The last window hangs over the end by 1." in ceil
    dropped = cn.explain("max_pool", (2,), (1,), stride=2, padding=((0, 1),), ceil_mode=True).text
    assert "2 outputs, less the last, which would start at 2 in the high padding: 1" in dropped
    assert "(3 - 1)*2 + 1 = 5" in cn.explain("max_pool", (5,), (3,), dilation=2).text
    assert (
        "= 7, and 1 more: 8 outputs" in cn.explain("conv_transpose", (3, 1), (3, 1, 1), stride=2, output_padding=1).text
    )


def test_one_window_over_an_axis_in_words() -> None:
    _, first, second, _ = cn.explain("global_avg", (1, 2), axes=(0, 1)).text.splitlines()
    assert first == "axis 0: one window over 1 element, 1 output."
    assert second == "axis 1: one window over all 2 elements, 1 output."


def test_a_window_that_does_not_fit() -> None:
    for e in (cn.explain("max_pool", (2, 7), (3, 3)), cn.explain("conv", (2, 7, 1), (3, 3, 1, 1))):
        assert e.windows == []
        assert e.y is None
        assert e.problem
        assert "does not fit on axis 0" in e.problem
        assert "axis 0: 2 elements. The window spans 3: 1 element too many" in e.text
        assert e.as_json()["y"] is None


ONES = np.ones((3, 3, 1, 1))


@pytest.mark.parametrize(
    ("op", "args", "kwargs"),
    [
        ("max_pool", (X2, (2, 2)), {"stride": 1}),
        ("max_pool", (X2,), {"window": (2, 2), "stride": 1}),
        ("max_pool", (), {"stride": 1, "window": (2, 2), "x": X2}),
        ("pool", (X2, (2, 2), 1.0, np.add), {"stride": 1}),
        ("pool", (X2, (2, 2), 1.0), {"reduce_fn": np.add}),
        ("pool", (), {"x": X2, "window": (2, 2), "init": 1.0, "reduce_fn": np.add}),
        ("adaptive_avg_pool", (), {"x": X2, "output_size": (2, 2)}),
        ("global_max_pool", (), {"x": X2, "axes": (1, 2)}),
        ("conv", (X2[..., None], ONES), {"padding": 1}),
        ("conv", (X2[..., None],), {"w": ONES, "padding": 1}),
        ("conv_transpose", (), {"w": ONES, "x": X2[..., None], "bias": np.ones(1)}),
    ],
)
def test_arguments_by_position_and_by_name(op: str, args: Any, kwargs: dict[str, Any]) -> None:
    """As the operation itself takes them."""
    e = cn.explain(op, *args, **kwargs)
    real = getattr(cn, op)(*args, **kwargs)
    np.testing.assert_array_equal(e.y, real)
    assert [w.result for w in e.windows] == real.ravel().tolist()


@pytest.mark.parametrize("op", ["correlate", "convolve"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("k", "options"), [((3,), {}), ((4,), {"stride": 2}), ((2, 3), {"dilation": (2, 1)})])
def test_filters_without_channels(op: str, mode: str, k: tuple[int, ...], options: dict[str, Any]) -> None:
    """The advised call draws the convolution with one channel that gives the same numbers."""
    x, weights = RNG.integers(0, 9, (2, 7, 6)).astype(float), RNG.integers(-2, 3, k).astype(float)
    with pytest.raises(ValueError, match="it is conv with one channel") as failure:
        cn.explain(op, x, weights, mode=mode, **options)
    e = eval(str(failure.value).partition("write ")[2], {"explain": cn.explain})
    assert (e.x.shape, e.w.shape) == ((2, 7, 6, 1), (*k, 1, 1))
    given = {name: value for name, value in e._call.given.items() if name != "bias"}
    w = weights if op == "correlate" else np.flip(weights)
    found = cn.conv(x[..., None], w[..., None, None], **given)[..., 0]
    np.testing.assert_allclose(found, getattr(cn, op)(x, weights, mode=mode, **options), atol=1e-12)


def test_shapes_by_name() -> None:
    e = cn.explain("conv", w=(3, 3, 1, 2), x=(5, 5, 1))
    assert repr(e) == "<cenote explanation of conv((5, 5, 1), (3, 3, 1, 2))>"
    assert repr(cn.explain(op="max", x=(4,), window=(2,))) == repr(cn.explain("max", x_or_shape=(4,), window_or_w=(2,)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cn.explain("max", (4,), (2,), x=(4,)), TypeError, "explain: x is given twice, by position and by na"),
        (lambda: cn.explain("max", (4,), (2,), window=2), TypeError, "explain: window is given twice"),
        (lambda: cn.explain("max", window=(2,)), TypeError, "explain: x is missing: max_pool needs its input"),
        (lambda: cn.explain("max", (4, 4)), TypeError, r"write explain\(.max_pool., \(4, 4\), \(2, 2\)\) for both ax"),
        (lambda: cn.explain("max", (4, 4), (2, 2), 1), TypeError, r"write explain\(.*, \(2, 2\), stride=1\)$"),
        (lambda: cn.explain("conv", (4, 1), (2, 1, 1), 2), TypeError, r"write explain\(.conv., .*, .*, stride=2\)$"),
        (lambda: cn.explain("pool", (4,), (2,), 0), TypeError, "pool: reduce_fn is missing"),
        (lambda: cn.explain("correlate", (4,), (2,), axes=0), ValueError, "it is conv with one channel$"),
        (lambda: cn.explain("correlate", (4,), (2, 2)), ValueError, "it is conv with one channel$"),
        (lambda: cn.explain("max", (4,), (2,), dtype="u1"), TypeError, r"write explain\(.max_pool., \(4,\), \(2,\)\)$"),
        (lambda: cn.explain("max", (4,), output_size=2), TypeError, r"write explain\(.adaptive_max_pool., .4,., .2,\)"),
        (lambda: cn.explain("max_unpool", (4,), (2,)), ValueError, "explain the max_pool that gave the indices"),
        (lambda: cn.explain("conv", x=(4, 1), w="text"), TypeError, "explain: w is a str"),
        (lambda: cn.explain(cn.max_pool, (4,), (2,)), TypeError, r"is a function, .* write explain\(.max_pool., .*\)$"),  # type: ignore[arg-type]
        (lambda: cn.explain("MaxPool2d", (4,), (2,)), ValueError, r"; write explain\(.max_pool., \(4,\), .2,.\)$"),
        (lambda: cn.explain("max_pool2d"), ValueError, "conv_transpose is needed; it is called 'max_pool'$"),
        (lambda: cn.explain("conv2d", (4,), (2,)), ValueError, r"is needed; write explain\(.conv., .*\)$"),
        (lambda: cn.explain("blur", (4,), (2,)), ValueError, "explain: op='blur': one of max_pool, min_pool"),
        (lambda: cn.explain(3, (4,), (2,)), TypeError, "explain: op=3: the name of a function"),  # type: ignore[arg-type]
        (lambda: cn.explain(np.zeros((8, 8)), (2, 2)), TypeError, "op=.*function is .*not an ndarray"),  # type: ignore[arg-type]
        (lambda: cn.explain(cn.Tensor([1.0]), (1,)), TypeError, "op=.*function is .*not a Tensor"),  # type: ignore[arg-type]
        (lambda: cn.explain("max", (1025, 1024), (2, 2)), ValueError, "example data has at most 1048576 elements"),
        (lambda: cn.explain("max", (600, 600), (512, 513)).windows, ValueError, "1 window of 262656 elements are too "),
        (lambda: cn.explain("max", (60, 60), (40, 40), stride=1).windows, ValueError, "windows: 441 windows of 1600"),
        (lambda: cn.explain("max", (100, 100), (2, 2)).as_json(), ValueError, "as_json: 10000 elements and 2500 windo"),
        (lambda: cn.explain("max", (4,), (2,), stride=0), ValueError, "max_pool: stride=0 is too small"),
        (lambda: cn.explain("max", (4,), (2,), kernel_size=2), TypeError, "kernel_size"),
        (lambda: cn.explain("max", (4, 4), 2), ValueError, "is one int.* write explain..max_pool., .4, 4., .2, 2"),
        (lambda: cn.explain("max", (4,), (2,), return_indices=True), TypeError, "return_indices does not change"),
        (lambda: cn.explain("conv", (4, 1)), TypeError, "conv needs the filters"),
        (lambda: cn.explain("global_max_pool", (4,), (2,)), TypeError, "name the axes with axes="),
        (lambda: cn.explain("max", "text", (2,)), TypeError, "explain: x is a str"),
        (lambda: cn.explain("max", (4, -1), (2,)), ValueError, r"explain: x=\(4, -1\): -1 is too small"),
        (lambda: cn.explain("conv", (4, 1), "text"), TypeError, "explain: w is a str"),
    ],
)  # fmt: skip
def test_mistakes(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
