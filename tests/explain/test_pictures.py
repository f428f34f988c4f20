"""The pictures of ``explain``: what is drawn is what the windows are, for every call that works."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cases import examples
from cenote.explanation.formula import formula, short
from cenote.explanation.layout import CELL, drawn_axes
from picture_reader import SVG, Picture

X = np.array([[3, 5, 5, 1, 0], [2, np.nan, 4, 4, 7], [1, 6, 2, 8, 8], [0, 1, 9, 2, 3], [4, 4, 1, 0, 2.5]])


def check(e: Any, number: int) -> Picture:
    """The picture of a window shows the elements with their values, and marks those that the window has."""
    picture = Picture(e.svg(number))
    window = e.windows[number]
    for name, array in (("x", e.x), ("w", e.w), ("y", e.y)):
        for index, (_, _, text, kind) in picture.cells[name].items():
            inside = all(0 <= i < n for i, n in zip(index, array.shape, strict=True))
            assert inside == (kind in ("real", "unseen"))
            if inside:
                assert text == short(array[index].item())
    marks = picture.marks()
    drawn = picture.cells["x"]
    assert set(marks["x"]) == {
        x.index for x in (*window.elements, *window.padding, *window.overhang) if x.index in drawn
    }
    chosen = {i for i, kind in marks["x"].items() if kind == "chosen"}
    assert chosen == ({window.chosen} & set(drawn) if window.chosen is not None else set())
    for part, kinds in ((window.padding, {"pad"}), (window.overhang, {"hang"})):
        assert {marks["x"][x.index] for x in part if x.index in drawn} <= kinds
    assert {i for i, kind in marks["x"].items() if kind == "omitted"} == set(window.omitted) & set(drawn)
    assert set(marks["y"]) == {window.index}
    if e.w is not None:
        assert set(marks["w"]) == {x.tap for x in (*window.elements, *window.padding)} & set(picture.cells["w"])
    assert formula(e._call, window)[:40] in picture.words
    return picture


# --------------------------------------------------------------------------------------------------- literal cases


def test_one_square_for_each_element() -> None:
    e = cn.explain("max_pool", X, (3, 3), stride=2, padding=1, nan="omit")
    for number in range(len(e.windows)):
        picture = check(e, number)
        assert len(picture.cells["x"]) == 7 * 7
        assert len(picture.cells["y"]) == 3 * 3
        assert sum(kind == "padding" for *_, kind in picture.cells["x"].values()) == 49 - 25
    left = {index: x for index, (x, *_) in picture.cells["x"].items()}
    top = {index: y for index, (_, y, *_) in picture.cells["x"].items()}
    assert left[0, 3] - left[0, 2] == top[3, 0] - top[2, 0] == CELL
    assert left[0, 1] == left[4, 1]


def test_indices_stand_beside_the_elements() -> None:
    picture = Picture(cn.explain("max_pool", (4, 30), (2, 3), padding=((1, 0), (0, 2))).svg((1, 7)))
    labels = [t for t in picture.root.iter(f"{SVG}text") if t.get("class") == "index"]
    found = {(t.get("text-anchor"), float(t.get("x", "")), float(t.get("y", ""))): t.text for t in labels}
    left = min(x for x, *_ in picture.cells["x"].values())
    top = min(y for _, y, *_ in picture.cells["x"].values())
    for (row, column), (x, y, *_) in picture.cells["x"].items():
        assert found["middle", x + CELL / 2, top - 5] == str(column)
        assert found["end", left - 5, y + CELL / 2 + 4] == str(row)


def test_padding_shows_what_it_counts_as() -> None:
    def texts(e: Any) -> set[str]:
        return {text for *_, text, kind in Picture(e.svg()).cells["x"].values() if kind == "padding"}

    assert texts(cn.explain("avg_pool", (3,), (2,), padding=1)) == {"0"}
    assert texts(cn.explain("max_pool", (3,), (2,), padding=1)) == {""}
    assert texts(cn.explain("smooth_max_pool", (3,), (2,), padding=1, pad_value=-2.5)) == {"-2.5"}
    assert texts(cn.explain("conv", (3, 1), (2, 1, 1), padding=1)) == {"0"}


def test_ties_and_omitted_elements() -> None:
    marks = check(cn.explain("max_pool", X, (2, 2), stride=1, nan="omit"), 1).marks()["x"]
    assert marks == {(0, 1): "chosen", (0, 2): "tied", (1, 1): "omitted", (1, 2): "seen"}
    assert "2 elements tie, x[0, 1] is the first" in cn.explain("max_pool", X, (2, 2), stride=1, nan="omit").svg(1)
    middle = check(cn.explain("median_pool", [4.0, 1, 3, 9], (4,)), 0)
    assert middle.marks()["x"] == {(0,): "middle", (1,): "seen", (2,): "middle", (3,): "seen"}


@pytest.mark.parametrize(
    ("ties", "words", "gradient"),
    [("first", "ties, is not chosen", [1, 0, 0, 0]), ("split", "ties, shares the gradient equally", [0.5, 0, 0, 0.5])],
)
def test_what_becomes_of_ties(ties: str, words: str, gradient: list[float]) -> None:
    """The legend and the remark say what the derivative does."""
    e = cn.explain("max_pool", [5.0, 1, 2, 5], (4,), ties=ties)
    assert e.windows[0].gradient == tuple(gradient)
    remark = "each gets 1/2 of the gradient" if ties == "split" else "it gets the gradient"
    for text in (Picture(e.svg()).words, e.html(), e.draw()):
        assert words in text
        assert remark in text
        assert ("is not chosen" in text) == (ties == "first")


def test_shares_of_a_smooth_maximum_fit_their_squares() -> None:
    e = cn.explain("smooth_max_pool", [0.0, 6, 2, -9], (4,), beta=2.0)
    notes = [t.text for t in Picture(e.svg()).root.iter(f"{SVG}text") if t.get("class") == "note"]
    assert notes == ["<.01%", "100%", "0.034%", "<.01%"]


def test_slices_stand_side_by_side() -> None:
    picture = check(cn.explain("max_pool", (3, 4, 4), (2, 2, 2), stride=1), 5)
    cells = picture.cells["x"]
    assert len(cells) == 48
    assert cells[0, 1, 1][1] == cells[1, 1, 1][1] == cells[2, 1, 1][1]
    assert cells[0, 0, 3][0] < cells[1, 0, 0][0]
    assert "x[1, :, :]" in picture.words


def test_the_batch_of_the_window_is_drawn() -> None:
    e = cn.explain("max_pool", (2, 3, 4, 4), (2, 2))
    assert set(check(e, 0).cells["x"]) == {(0, 0, i, j) for i in range(4) for j in range(4)}
    last = check(e, len(e.windows) - 1)
    assert set(last.cells["x"]) == {(1, 2, i, j) for i in range(4) for j in range(4)}
    assert "index 1 of 2 on axis 0" in last.words


def test_groups_mark_their_channels_and_filters() -> None:
    picture = check(cn.explain("conv", (4, 4, 4), (3, 3, 2, 2), groups=2), 1)
    assert {index[2] for index in picture.marks()["x"]} == {2, 3}
    assert {index[3] for index in picture.marks()["w"]} == {1}


def test_a_large_array_is_drawn_in_part_and_says_so() -> None:
    e = cn.explain("max_pool", (1000, 1000), (3, 3), stride=2)
    picture = Picture(e.svg((400, 250)))
    assert (800, 500) in picture.cells["x"]
    assert len(picture.cells["x"]) == 144
    assert "of 1000 on axis 0" in picture.words
    assert len(picture.text) < 200_000
    page = e.html()
    assert len(page) < 2_000_000
    assert "Windows that can be shown: 25 of 249001" in page


@pytest.mark.parametrize(
    ("op", "x", "second", "options"),
    [
        ("global_avg_pool", (700, 700), None, {"axes": (0, 1)}),
        ("max_pool", (3, 3), (10**9, 2), {"padding": ((10**9, 0), (0, 0)), "stride": 10**9}),
        ("conv", (40, 40, 300), (16, 16, 300, 2), {}),
    ],
)
def test_a_large_window_is_drawn_in_part(op: str, x: Any, second: Any, options: dict[str, Any]) -> None:
    e = cn.explain(op, x, second, **options)
    picture = Picture(e.svg())
    assert picture.marks()["x"]
    assert re.search(r"= \w+ of \d+ elements = ", picture.words)
    assert len(e.html()) < 500_000
    with pytest.raises(ValueError, match="elements are too many"):
        e.windows.clear()


def test_elements_that_no_window_sees() -> None:
    cells = check(cn.explain("max_pool", (5,), (2,), stride=3), 0).cells["x"]
    assert [kind for *_, kind in cells.values()] == ["real", "real", "unseen", "real", "real"]


def test_cropped_outputs() -> None:
    cells = check(cn.explain("conv_transpose", (3, 1), (3, 1, 1), stride=2, padding=1), 2).cells["y"]
    assert [(i[0], kind) for i, (*_, kind) in cells.items()] == [
        (-1, "cropped"), (0, "real"), (1, "real"), (2, "real"), (3, "real"), (4, "real"), (5, "cropped"),
    ]  # fmt: skip


def test_the_gradient() -> None:
    e = cn.explain("avg_pool", (4,), (2,), stride=1)
    picture = Picture(e.svg(1, "gradient"))
    assert [text for *_, text, _ in picture.cells["x"].values()] == ["0.5", "1", "1", "0.5"]
    assert picture.marks()["x"] == {(1,): "flow", (2,): "flow"}
    assert "+0.5" in picture.words
    with pytest.raises(ValueError, match="mode_pool has no derivative"):
        cn.explain("mode_pool", (4,), (2,)).svg(view="gradient")


@pytest.mark.parametrize(
    ("op", "x", "second"), [("max_pool", (3, 3), (5, 4)), ("conv", (2, 3, 1), (4, 3, 1, 1)), ("avg_pool", (0,), (2,))]
)
def test_a_window_that_does_not_fit_is_drawn(op: str, x: Any, second: Any) -> None:
    e = cn.explain(op, x, second)
    picture = Picture(e.svg())
    assert "short" in picture.words
    marks = picture.marks()["x"]
    assert len(marks) == math.prod(second[:2])
    outside = {i for i in marks if any(at >= n for at, n in zip(i, x, strict=True))}
    assert outside
    assert {i for i, kind in marks.items() if kind == "hang"} == outside
    assert "short" in e.html()
    assert e._repr_html_() == e.svg()  # one window: nothing to point at


# ----------------------------------------------------------------------------------------------------- every call


@st.composite
def pool_calls(draw: st.DrawFn) -> tuple[str, Any, Any, dict[str, Any]]:
    rank = draw(st.integers(1, 3))
    batch = draw(st.integers(0, 2 if rank < 3 else 1))
    shape = tuple(draw(st.integers(1, 5)) for _ in range(rank + batch))
    op = draw(st.sampled_from(["max", "min", "avg", "sum", "lp", "smooth_max", "median", "mode"]))
    values = st.sampled_from([0.0, 1.0, 2.0, -3.5, math.nan, math.inf] if op != "mode" else [0, 1, 2])
    flat = draw(st.lists(values, min_size=math.prod(shape), max_size=math.prod(shape)))
    options: dict[str, Any] = {
        "padding": draw(st.sampled_from([0, 1, 3, "same", "same_lower", ((2, 0),) * rank])),
        "stride": draw(st.integers(1, 3)),
        "dilation": draw(st.integers(1, 2)),
        "ceil_mode": draw(st.booleans()),
    }
    if op in ("max", "min", "avg", "sum", "median"):
        options["nan"] = draw(st.sampled_from(["propagate", "omit"]))
    if op in ("max", "min"):
        options["ties"] = draw(st.sampled_from(["first", "split"]))
    if op == "avg":
        options["count_include_pad"] = draw(st.booleans())
    if batch:
        options["axes"] = draw(st.permutations(range(rank + batch)))[:rank]
    return op, np.array(flat).reshape(shape), tuple(draw(st.integers(1, 3)) for _ in range(rank)), options


@st.composite
def other_calls(draw: st.DrawFn) -> tuple[str, Any, Any, dict[str, Any]]:
    rank = draw(st.integers(1, 3))
    spatial = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    kind = draw(st.sampled_from(["conv", "conv_transpose", "adaptive_max", "adaptive_avg", "global_max", "global_avg"]))
    if kind.startswith("adaptive"):
        return kind, spatial, tuple(draw(st.integers(0, 5)) for _ in spatial), {}
    if kind.startswith("global"):
        return kind, spatial, None, {"axes": draw(st.permutations(range(rank)))[: draw(st.integers(1, rank))]}
    groups = draw(st.integers(1, 2))
    ins, outs = groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    kernel = tuple(draw(st.integers(1, 3)) for _ in spatial)
    pair = (ins // groups, outs) if kind == "conv" else (outs // groups, ins)
    batch = draw(st.sampled_from([(), (2,)]))
    options: dict[str, Any] = {
        "groups": groups, "stride": draw(st.integers(1, 3)), "dilation": draw(st.integers(1, 2)),
        "padding": draw(st.sampled_from([0, 1, "same"])),
    }  # fmt: skip
    if draw(st.booleans()):
        return kind, (*batch, ins, *spatial), (pair[1], pair[0], *kernel), {**options, "layout": "channels_first"}
    return kind, (*batch, *spatial, ins), (*kernel, *pair), options


def explained(call: tuple[str, Any, Any, dict[str, Any]]) -> Any:
    """The explanation of a call; None if the call itself is an error."""
    op, x, second, options = call
    try:
        return cn.explain(op, x, second, **options)
    except ValueError:
        e = cn.explain("max", (2,), (2,))
        name = op if op in cn.__all__ else f"{op}_pool"
        real = np.zeros(x) if isinstance(x, tuple) else x
        w = np.zeros(second) if op.startswith("conv") else second
        with pytest.raises(ValueError, match=name):
            getattr(cn, name)(real, *([] if w is None else [w]), **options)
        return e


@examples(60)
@given(call=st.one_of(pool_calls(), other_calls()), pick=st.integers(0, 10**6))
def test_every_call_is_drawn(call: tuple[str, Any, Any, dict[str, Any]], pick: int) -> None:
    e = explained(call)
    assert ET.fromstring(e.svg()).get("class") == "cenote"
    assert e.text in e.draw()
    if e.windows:
        check(e, pick % len(e.windows))
    if e.gradient is not None and e.y is not None:
        assert Picture(e.svg(view="gradient")).cells["x"] or not e.x.size
    page = e.html()
    data = json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)[0])
    if e.windows and e.y.size < 50:
        lines = [formula(e._call, w) for w in e.windows if not any(w.index[i] for i in batch_axes(e))]
        assert {step["lines"][0] for step in data["steps"]["values"]} <= set(lines)
        if len(data["steps"]["values"]) < len(lines):
            assert "Drawn of" in e.svg()
            assert f"Windows that can be shown: {len(data['steps']['values'])} of {e.y.size}" in page


def batch_axes(e: Any) -> list[int]:
    return [i for i in range(e.x.ndim) if i not in drawn_axes(e._call)]


def test_padding_that_is_not_drawn_is_named() -> None:
    e = cn.explain("max", (1, 2, 3), (1, 1, 1), stride=3, padding=3)
    assert "Drawn of x: 5 of 6 positions beyond it on axis 0." in " ".join(Picture(e.svg()).words.split())
    assert "Drawn of" not in cn.explain("max", (1, 2, 3), (1, 1, 1), stride=3, padding=1).svg()


@pytest.mark.parametrize(
    ("shape", "shown"),
    [
        ((28,), (28,)),
        ((22, 22), (22, 22)),
        ((12, 28), (12, 28)),
        ((40,), (28,)),
        ((40, 3), (12, 3)),
        ((23, 23), (12, 12)),
    ],
)
def test_what_has_room_is_drawn_whole(shape: tuple[int, ...], shown: tuple[int, ...]) -> None:
    """A page cannot show windows that see more than is drawn."""
    e = cn.explain("max", shape, (2,) * len(shape))
    assert len(Picture(e.svg()).cells["x"]) == math.prod(shown)
    assert ("Windows that can be shown" in e.html()) == (shape != shown)


@pytest.mark.parametrize(
    ("call", "drawn"),
    [(("max", (0, 3, 3), (2, 2)), 0), (("avg", (2, 0, 4, 4), (2, 2)), 0), (("conv", (0, 4, 1), (2, 1, 1)), 2)],
)
def test_an_array_without_elements_is_no_padding(call: tuple[Any, ...], drawn: int) -> None:
    e = cn.explain(*call)
    picture = Picture(e.svg())
    assert sum(len(cells) for cells in picture.cells.values()) == drawn
    assert "x has no elements. y has no elements." in " ".join(picture.words.split())
    assert "padding" not in picture.words


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((5,), (2,), 2, 1), "1 position of padding at the end is not seen."),
        (((6,), (2,), 4, 1), "1 element and 1 position of padding at the end are not seen."),
        (((5,), (2,), 3, ((0, 2),)), "2 positions of padding at the end are not seen."),
        (((5,), (2,), 4, ((0, 2),)), "1 position of padding at the end is not seen."),
        (((5,), (2,), 6, ((0, 2),)), "3 elements and 2 positions of padding at the end are not seen."),
        (((2,), (1,), 100, ((5, 1),)), "2 elements and 5 positions of padding at the end are not seen."),
        (((7,), (3,), 3, 0), "1 element at the end is not seen."),
    ],
)
def test_what_no_window_sees_in_words(arguments: tuple[Any, ...], words: str) -> None:
    x, window, stride, padding = arguments
    e = cn.explain("max", x, window, stride=stride, padding=padding)
    assert e.text.splitlines()[1].endswith(f". {words}")
    (axis,) = e._call.axes
    end = axis.n + axis.high
    reached = (axis.o - 1) * axis.s - axis.low + axis.d * (axis.k - 1) + 1
    unseen = range(reached, end)
    elements, padded = sum(0 <= at < axis.n for at in unseen), sum(not 0 <= at < axis.n for at in unseen)
    assert [int(part) for part in re.findall(r"\d+", words)] == [n for n in (elements, padded) if n]


@pytest.mark.parametrize(
    ("bins", "words"),
    [(0, "axis 0: 4 elements in 0 bins."), (4, "up to ceil((i + 1)*4/4), 1 element."), (3, ", 2 elements.")],
)
def test_bins_in_words(bins: int, words: str) -> None:
    assert cn.explain("adaptive_max", (4,), (bins,)).text.splitlines()[1].endswith(words)


@pytest.mark.parametrize(
    "call",
    [
        ("avg", (5, 6), (3, 3), {"stride": 2, "padding": 1, "ceil_mode": True}),
        ("max", (9,), (3,), {"stride": 2, "padding": 1}),
        ("max", (3, 4, 4), (1, 2, 2), {"stride": 1}),
        ("max", (40, 3), (2, 2), {}),
        ("adaptive_avg", (4, 20), (4, 18), {}),
    ],
)
def test_no_line_runs_over_a_value(call: tuple[str, Any, Any, dict[str, Any]]) -> None:
    op, shape, window, options = call
    e = cn.explain(op, shape, window, **options)
    scene = e._scene((0,) * len(shape), "values", True)
    squares = [(cell.x, cell.y) for cell in scene.cells]
    lines = [line for overlay in scene.overlays for line in overlay.links]
    assert len(lines) >= 2
    for a, b, c, d in lines:
        for share in np.linspace(0, 1, 101)[1:-1]:
            x, y = a + (c - a) * share, b + (d - b) * share
            assert not any(left < x < left + 40 and top < y < top + 40 for left, top in squares)
            for label in scene.labels:  # nor over a heading
                right = label.x + 8 * len(label.text)
                assert label.role != "heading" or not (label.x < x < right and label.y - 12 < y < label.y + 2)


def test_the_gradient_of_a_call_that_fails() -> None:
    with pytest.raises(ValueError, match=r"^view='gradient': there is none, because the call fails: max_pool: window="):
        cn.explain("max", (3, 4), (5, 3)).html(0, "gradient")
