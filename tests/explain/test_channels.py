"""Pictures of filters and channels: all that fits is drawn, and every output shows what it is made of."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest

import cenote as cn
from cenote.explanation.layout import CELL
from picture_reader import Picture


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
