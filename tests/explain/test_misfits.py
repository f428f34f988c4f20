"""Calls whose shapes do not fit: each error ends with the call that draws why."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import xarray as xr

import cenote as cn
from advice import advised
from messages import read_table
from picture_reader import SVG, Picture

MISFITS = {
    call: message
    for table in ("errors.txt", "conv_errors.txt", "hints.txt")
    for call, message in read_table(table).items()
    if "to see it, write" in message and " does not fit on axis " in message
}


@pytest.mark.parametrize("message", MISFITS.values(), ids=MISFITS)
def test_the_advised_call_draws_the_problem(message: str) -> None:
    call = advised(message)
    assert call is not None
    e = eval(call, {"cn": cn})
    what, _, numbers = message.partition(" does not fit on axis ")
    assert numbers.partition("; to see it")[0] in e.problem
    assert what.startswith("ValueError: ")
    marks = Picture(e.svg()).marks()["x"]
    assert "hang" in marks.values() or "ceil_mode leaves out" in message
    assert "hang" not in cn.explain("max_pool", (4,), (4,)).svg().partition("</style>")[2]


OF_ONE_AXIS = {
    call: message
    for table in ("dialect_errors.txt", "xarray_errors.txt")
    for call, message in read_table(table).items()
    if " does not fit on " in message
}


@pytest.mark.parametrize("message", OF_ONE_AXIS.values(), ids=OF_ONE_AXIS)
def test_what_is_called_in_other_words_is_drawn_on_its_axis(message: str) -> None:
    """Of a dialect, and of dimensions with names: the axis alone, on which the numbers are the same."""
    e = eval(str(advised(message)), {"cn": cn})
    numbers = message.partition(" does not fit on ")[2].partition(": ")[2].partition("; to see it")[0]
    assert e.problem.endswith(f" does not fit on axis 0: {numbers}")
    assert "hang" in Picture(e.svg()).marks()["x"].values()


@pytest.mark.parametrize(
    ("window", "options"),
    [
        (5, {"stride": 2, "padding": (1, 0)}),
        (9, {"stride": 2, "padding": 1, "dilation": 4, "ceil_mode": True}),
        (9, {"stride": 1, "dilation": 2}),
    ],
)
def test_the_axis_alone_keeps_every_argument(window: int, options: dict[str, Any]) -> None:
    by_name: dict[str, Any] = {name: value if name == "ceil_mode" else {"t": value} for name, value in options.items()}
    pair = isinstance(options.get("padding"), tuple)
    by_axis = {**options, "padding": (options["padding"],)} if pair else options
    with pytest.raises(ValueError, match="does not fit on dimension 't'") as failure:
        cn.max_pool(xr.DataArray(np.zeros((2, 3)), dims=("s", "t")), {"t": window}, **by_name)
    e = eval(str(advised(str(failure.value))), {"cn": cn})
    expected = cn.explain("max_pool", (3,), (window,), **by_axis)
    assert (e.problem, e.text) == (expected.problem, expected.text)


OF_A_WINDOW = ("max_pool", "min_pool", "avg_pool", "sum_pool", "lp_pool", "smooth_max_pool", "median_pool", "mode_pool")


@pytest.mark.parametrize("op", OF_A_WINDOW)
def test_dimensions_with_names_are_drawn_by_the_operation_itself(op: str) -> None:
    with pytest.raises(ValueError, match="does not fit on dimension 't'") as failure:
        getattr(cn, op)(xr.DataArray(np.zeros((2, 3), int), dims=("s", "t")), {"t": 5})
    assert advised(str(failure.value)) == f'cn.explain("{op}", (3,), (5,))'
    assert eval(str(advised(str(failure.value))), {"cn": cn}).problem.startswith(f"{op}: ")


def test_a_problem_of_any_size_is_drawn() -> None:
    for shape, window in (((2**40,), (2**41,)), ((2**50, 3), (1, 4)), ((3,) * 12, (4,) * 12)):
        with pytest.raises(ValueError, match="to see it, write") as failure:
            cn.output_shape(shape, window)
        e = eval(str(advised(str(failure.value))), {"cn": cn})
        assert e.problem
        picture = Picture(e.svg())
        assert len(picture.text) < 200_000
        assert "hang" in picture.marks()["x"].values()
        assert e.gradient is None
        assert len(e.html()) < 200_000


# ----------------------------------------------------------------------------- channels, groups, results cut off

OTHERS = {
    call: message
    for table in ("conv_errors.txt", "hints.txt", "dialect_errors.txt", "xarray_errors.txt")
    for call, message in read_table(table).items()
    if re.search(
        r"^ValueError: .*channels?, axis .* takes |^ValueError: .*does not divide|elements: use less padding", message
    )
}


@pytest.mark.parametrize("message", OTHERS.values(), ids=OTHERS)
def test_channels_groups_and_sizes_are_drawn(message: str) -> None:
    call = message.partition("; to see it, write ")[2]
    e = eval(call, {"cn": cn})
    assert e.windows == []
    assert e.y is None
    numbers = r"takes .*?\d+(?=;|$)|groups=\d+ does not divide the \d+|would have .* elements"
    assert re.findall(numbers, e.problem)  # of a dialect's, what follows differs
    assert re.findall(numbers, e.problem)[0] == re.findall(numbers, message.partition("; to see it")[0])[0]
    picture = Picture(e.svg())
    marks = {kind for found in picture.marks().values() for kind in found.values()}
    assert marks & {"hang", "omitted"} or "1152921504606846976" in call or ", 0, 5)" in call
    for text in (e.html(), e.draw(), e._repr_html_()):
        assert len(text) < 300_000
        assert e.problem.partition(":")[0] in text


def marked(e: Any, array: str, kind: str) -> set[tuple[int, ...]]:
    return {index for index, found in Picture(e.svg()).marks()[array].items() if found == kind}


def test_a_channel_that_x_does_not_have() -> None:
    e = cn.explain("conv", (4, 4, 3), (2, 2, 4, 2))
    picture = Picture(e.svg())
    assert {index[2] for index in picture.cells["x"]} == {0, 1, 2, 3}
    assert {kind for (*_, c), (*_, kind) in picture.cells["x"].items() if c == 3} == {"overhang"}
    assert marked(e, "x", "seen") == {(i, j, c) for i in (0, 1) for j in (0, 1) for c in (0, 1, 2)}
    assert marked(e, "x", "hang") == {(i, j, 3) for i in (0, 1) for j in (0, 1)}
    assert marked(e, "w", "tap") == {(i, j, c, 0) for i in (0, 1) for j in (0, 1) for c in (0, 1, 2)}
    assert marked(e, "w", "hang") == {(i, j, 3, 0) for i in (0, 1) for j in (0, 1)}
    assert "axis 2: 3 channels; the filters take 4, which leaves weights for 1 without a channel." in picture.words
    assert "without a partner" in picture.words


def test_channels_without_weights() -> None:
    e = cn.explain("conv", (5, 3, 3), (1, 2, 2, 2), groups=2, layout="channels_first")
    assert {c for c, *_ in marked(e, "x", "seen")} == {0, 1, 2, 3}
    assert {c for c, *_ in marked(e, "x", "hang")} == {4}
    assert not marked(e, "w", "hang")
    assert "5 channels; the filters take 4, which leaves 1 without weights." in e.text


def test_the_group_that_has_too_few_channels() -> None:
    """Channels 4 and 5 are those of group 1 that are missing: inner channels 1 and 2 of its first filter."""
    e = cn.explain("conv", (3, 3, 4), (1, 2, 3, 4), groups=2)
    assert marked(e, "w", "tap") == {(0, j, 0, 2) for j in (0, 1)}
    assert marked(e, "w", "hang") == {(0, j, c, 2) for j in (0, 1) for c in (1, 2)}
    assert {c for *_, c in marked(e, "x", "hang")} == {4, 5}


@pytest.mark.parametrize("outputs", [1, 3, 6])
def test_groups_without_any_channel_stand_beside_one_that_has_its_own(outputs: int) -> None:
    """Channels 0 to 2 belong to group 0: its weights are marked as those that have them."""
    e = cn.explain("conv", (6, 6, 3), (3, 3, 3, outputs), groups=3)
    of_group_0, of_group_1 = max(0, outputs // 3 - 1), outputs // 3
    assert {c for *_, c in marked(e, "x", "seen")} == {0, 1, 2}
    assert {index[2:] for index in marked(e, "w", "tap")} == {(c, of_group_0) for c in range(3)}
    assert {index[2:] for index in marked(e, "w", "hang")} == {(c, of_group_1) for c in range(3) if outputs > 1}
    assert ("1 channel that w gives in 3 groups: 0 in each, and 1 left over." in e.text) == (outputs == 1)
    assert "not in x" in Picture(e.svg()).words


def test_channels_first_taken_for_channels_last() -> None:
    """The channels that are drawn begin with those that have weights, nothing is marked that is not there, and the text
    says that the window does not fit either."""
    e = cn.explain("conv", (2, 3, 16, 16), (8, 3, 3, 3))
    picture = Picture(e.svg())
    assert {index[3] for index in picture.cells["x"]} == set(range(6))
    assert {kind for *_, kind in picture.cells["x"].values()} == {"real"}
    assert {index[3] for index in marked(e, "x", "seen")} == {index[2] for index in marked(e, "w", "tap")} == {0, 1, 2}
    assert "axis 1: 3 elements. The window spans 8: 5 elements too many, it does not fit." in picture.words
    assert "Drawn of w: index 0 of 3 on axis 3." in picture.words
    assert float(picture.root.get("height", "nan")) < 1000


@pytest.mark.parametrize(
    ("op", "x", "w"),
    [
        ("conv", (3, 3, 8), (3, 3, 4, 8)),
        ("conv", (32, 32, 64), (3, 3, 128, 8)),
        ("conv", (9, 9, 128), (3, 3, 64, 8)),
        ("conv_transpose", (3, 3, 8), (3, 3, 4, 6)),
    ],
)
def test_one_filter_is_enough_for_channels(op: str, x: tuple[int, ...], w: tuple[int, ...]) -> None:
    """The same channels of x and of it are drawn, of them the last that has a partner and the first that has none."""
    e = cn.explain(op, x, w)
    picture = Picture(e.svg())
    along, across = (2, 3) if op == "conv" else (3, 2)
    assert {index[across] for index in picture.cells["w"]} == {0}
    fitting = min(x[-1], w[along])
    of_x, of_w = {index[2] for index in picture.cells["x"]}, {index[along] for index in picture.cells["w"]}
    assert {fitting - 1, fitting} <= of_x
    assert of_w == {c for c in of_x if c < w[along]}
    assert float(picture.root.get("height", "nan")) < 1000


@pytest.mark.parametrize(
    ("op", "x", "w", "options"),
    [
        (
            "conv",
            (3, 12, 12),
            (8, 1, 4, 1),
            {"groups": 2},
        ),  # fewer outputs than groups, and more channels than they take
        ("conv", (1, 12, 12, 12), (3, 8, 8, 1, 1), {}),
        ("conv", (9, 9, 9, 2), (3, 3, 3, 4, 8), {"padding": 3}),
        ("conv", (9, 9, 2), (30, 30, 4, 8), {"padding": 15}),
        ("conv_transpose", (3, 12, 2, 1), (8, 8, 1, 6, 4), {"groups": 2}),
    ],
)
def test_x_and_w_both_have_marks_in_a_picture_of_some_size(op: str, x: Any, w: Any, options: Any) -> None:
    picture = Picture(cn.explain(op, x, w, **options).svg())
    kinds = {array: set(found.values()) for array, found in picture.marks().items()}
    assert "seen" in kinds["x"]
    assert "tap" in kinds["w"]
    assert float(picture.root.get("height", "nan")) < 2000


def test_channels_of_a_transpose() -> None:
    e = cn.explain("conv_transpose", (3, 2), (2, 1, 4))
    assert marked(e, "x", "seen") == {(0, 0), (0, 1)}
    assert marked(e, "x", "hang") == {(0, 2), (0, 3)}
    assert marked(e, "w", "hang") == {(k, 0, c) for k in (0, 1) for c in (2, 3)}


def test_channels_that_are_left_over() -> None:
    e = cn.explain("conv", (3, 4), (1, 1, 6), groups=4)
    assert marked(e, "w", "tap") == {(0, 0, o) for o in range(4)}
    assert marked(e, "w", "hang") == {(0, 0, 4), (0, 0, 5)}
    assert "6 channels that w gives in 4 groups: 1 in each, and 2 left over." in e.text
    transposed = cn.explain("conv_transpose", (3, 4), (1, 1, 4), groups=3)
    assert marked(transposed, "x", "hang") == {(0, 3)}
    assert "4 channels of x in 3 groups: 1 in each, and 1 left over." in transposed.text


def test_a_result_that_padding_cuts_off() -> None:
    """All of it is shown with the numbers that it has without padding, and what cuts off what."""
    x, w = np.array([[2.0], [3]]), np.array([[[1.0]], [[10]], [[100]]])
    e = cn.explain("conv_transpose", x, w, padding=((3, 2),))
    picture = Picture(e.svg())
    whole = cn.conv_transpose(x, w).ravel()
    assert [(i[0], text, kind) for i, (*_, text, kind) in picture.cells["y"].items()] == [
        (at - 3, str(int(value)), "cropped") for at, value in enumerate(whole)
    ]
    assert marked(e, "y", "hang") == {(-1, 0)}
    assert marked(e, "y", "omitted") == {(-3, 0), (-2, 0), (0, 0)}
    assert "= -1. Padding cuts 3 + 2 off 4 elements, which leaves none." in e.text
    assert "Drawn of y" not in picture.words
    legend = [t.text for t in picture.root.iter(f"{SVG}text") if t.get("class") == "text"][-2:]
    assert legend == ["cut off by padding at one end", "cut off from both ends"]
    assert e.as_json()["y"] is None


def test_what_the_error_is_about_is_drawn() -> None:
    """Of a filter that is too large too, and has too many channels, the channels."""
    e = cn.explain("conv", (3, 2), (5, 4, 1))
    assert "x has 2 channels" in str(e.problem)
    assert "axis 1: 2 channels; the filters take 4, which leaves weights for 2 without a channel." in e.text
    assert {c for _, c in marked(e, "x", "hang")} == {2, 3}
    assert {c for _, c in marked(e, "x", "seen")} == {0, 1}


def test_as_plain_text() -> None:
    lines = cn.explain("conv", (2, 2), (1, 3, 1)).draw().splitlines()
    assert lines[-3].split() == ["/1/"]
    assert lines[-1] == "() channel with weights or weights with a channel, // without a partner, x not there"
    cut = cn.explain("conv_transpose", (2, 1), (3, 1, 1), padding=((3, 2),)).draw().splitlines()
    assert cut[-3].split() == ["/18/", "/21/", "{15}", "/6/"]
    assert cut[-1] == "// cut off by padding at one end, {} cut off from both ends"


@pytest.mark.parametrize(
    "call",
    [
        ("conv", (64, 224, 224, 3), (7, 7, 4, 64), {}),
        ("conv", (8, 8, 60), (3, 3, 8, 512), {"groups": 8}),
        ("conv_transpose", (4, 4, 500), (3, 3, 8, 512), {}),
        ("conv_transpose", (2**19, 1), (3, 1, 1), {"padding": 2**20}),
        ("conv_transpose", (2**40, 1), (3, 1, 1), {"padding": 2**41}),
        ("conv", (0, 0, 3), (3, 3, 4, 1), {}),
        ("conv_transpose", (0, 1), (1, 1, 1), {}),
        ("conv", (3, 3, 3), (5, 5, 2, 1), {"padding": "same", "stride": 2}),
    ],
)
def test_problems_of_channels_of_any_size(call: tuple[str, Any, Any, dict[str, Any]]) -> None:
    op, x, w, options = call
    e = cn.explain(op, x, w, **options)
    assert e.problem
    assert len(e.svg()) < 300_000
    assert len(e.html()) < 600_000
