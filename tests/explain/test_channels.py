"""Pictures of filters and channels: all that fits is drawn, and every output shows what it is made of."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest

import cenote as cn
from cenote.explanation.layout import CELL
from picture_reader import SVG, Picture


@pytest.mark.parametrize("w", [(3, 3, 3, 4), (3, 3, 2, 16), (1, 1, 16, 8)])
def test_filters_that_fit_are_drawn_whole(w: tuple[int, ...]) -> None:
    e = cn.explain("conv", (5, 5, w[2]), w)
    picture = Picture(e.svg(-1))
    assert len(picture.cells["w"]) == math.prod(w)
    assert "Drawn of w" not in picture.words
    assert float(picture.root.get("width", "nan")) < 1200


def test_pointwise_filters_are_a_matrix() -> None:
    picture = Picture(cn.explain("conv", (2, 2, 3), (1, 1, 3, 5)).svg(4))
    left, top = picture.cells["w"][0, 0, 0, 0][:2]
    assert picture.cells["w"][0, 0, 2, 4][:2] == (left + 4 * CELL, top + 2 * CELL)
    assert set(picture.marks()["w"]) == {(0, 0, c, 4) for c in range(3)}


@pytest.mark.parametrize(
    ("op", "x", "w", "options"),
    [
        ("conv", (5, 5, 8), (3, 3, 8, 12), {}),
        ("conv", (3, 3, 48), (2, 2, 3, 16), {"groups": 16}),
        ("conv_transpose", (3, 3, 40), (2, 2, 3, 40), {"groups": 8}),
    ],
)
def test_every_output_that_can_be_pinned_marks_elements_and_weights(
    op: str, x: Any, w: Any, options: dict[str, Any]
) -> None:
    e = cn.explain(op, x, w, **options)
    data = json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', e.html())[0])
    steps = data["steps"]["values"]
    assert len(steps) > 1
    for step in steps:
        assert {name[0] for name in step["marks"]} == {"x", "w", "y"}, step["index"]


@pytest.mark.parametrize(
    ("op", "x", "w", "options", "captions"),
    [
        ("conv", (2, 1), (2, 1, 3), {},
         ["input x, shape (2, 1); rows are channels", "filters w, shape (2, 1, 3); rows are input channels",
          "output y, shape (1, 3); rows are channels"]),
        ("conv", (1, 2), (3, 1, 2), {"layout": "channels_first"},
         ["input x, shape (1, 2); rows are channels", "filters w, shape (3, 1, 2); rows are input channels",
          "output y, shape (3, 1); rows are channels"]),
        ("conv_transpose", (2, 1), (3, 1, 1), {"padding": 2},
         ["input x, shape (2, 1); rows are channels", "filters w, shape (3, 1, 1); rows are output channels",
          "output y, shape (4, 1), before padding cuts it off; rows are channels"]),
        ("conv", (2, 2, 3), (1, 1, 3, 5), {},
         ["input x, shape (2, 2, 3)", "filters w, shape (1, 1, 3, 5); rows are input channels, columns output channels",
          "output y, shape (2, 2, 5)"]),
        ("conv", (3, 3, 1), (2, 2, 1, 1), {},
         ["input x, shape (3, 3, 1)", "filters w, shape (2, 2, 1, 1)", "output y, shape (2, 2, 1)"]),
    ],
)  # fmt: skip
def test_what_rows_are_is_said_where_they_are_channels(
    op: str, x: Any, w: Any, options: dict[str, Any], captions: list[str]
) -> None:
    e = cn.explain(op, x, w, **options)
    picture = Picture(e.svg())
    assert [t.text for t in picture.root.iter(f"{SVG}text") if t.get("class") == "heading"] == captions
    if len(x) == 2:
        left, top = picture.cells["x"][0, 0][:2]
        assert picture.cells["x"][(0, 1) if options.get("layout") else (1, 0)][:2] == (left + CELL, top)
