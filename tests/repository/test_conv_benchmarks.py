"""The benchmarks of convolution: how its work is counted, and when two results of it agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import peers
from conv_work import Conv
from rows import rows


def test_long_sums_are_as_exact_as_they_are_large() -> None:
    case = Conv((1, 1, 4, 4), 1, (2, 2))
    ours = [np.array([1000.0, 0.0, -1000.0])]
    assert peers.disagreement(case, ours, [ours[0] + 0.05], False) is None
    assert peers.disagreement(case, ours, [ours[0] + 0.25], False) == "other numbers: as far as 0.25 away"
    assert peers.disagreement(case, [ours[0] / 1e6], [np.zeros(3)], False) == "other numbers: as far as 0.001 away"


def test_work_is_counted_by_the_direct_sum() -> None:
    case = Conv((8, 64, 56, 56), 64, (3, 3), padding=1)
    assert case.flops == 2 * 8 * 56 * 56 * 64 * 64 * 9
    assert replace(case, mode="vjp").flops == 3 * case.flops
    assert replace(case, depthwise=True).flops == case.flops // 64
    # A transpose has as many products as what it is the transpose of.
    back = Conv((16, 64, 28, 28), 32, (4, 4), stride=2, padding=1, op="conv_transpose")
    forth = replace(back, shape=back.output_shape, filters=64, op="conv")
    assert (forth.output_shape, forth.filter_shape, forth.flops) == (back.shape, back.filter_shape, back.flops)


def test_the_rows_have_the_peers_and_goals_that_are_listed() -> None:
    every = [row for row in rows() if isinstance(row.case, Conv)]
    assert {row.section for row in every} == {"conv", "conv vjp", "conv small", "conv other", "conv long", "calls"}
    found = [row for row in every if row.section in ("conv", "conv vjp", "conv other")]
    for row in found:
        case = row.case
        assert isinstance(case, Conv)
        assert "torch" in row.peers or case.window == (127, 127)
        one_channel = case.shape[1] == case.filters == 1
        assert ("onnxruntime" in row.peers) == (
            case.layout == "first" and case.mode == "forward" and "torch" in row.peers
        )
        assert ("scipy" in row.peers) == ("opencv" in row.peers) == one_channel
        bounds = {goal.kind: goal.bound for goal in row.goals}
        assert bounds["ahead"] == (5.0 if case.mode == "vjp" and case.depthwise else 1.0)
        dense = case.window == (3, 3) and case.stride == case.dilation == 1 and not case.depthwise
        judged = dense and case.layout == "last" and case.mode == "forward"
        assert bounds.get("ahead of torch") == (1.3 if judged else None)


def test_long_filters_are_compared_with_transforms() -> None:
    found = [row for row in rows() if row.section == "conv long"]
    taps = {row.case.window[0] for row in found if isinstance(row.case, Conv)}
    assert taps == {257, 1025, 16385}
    assert len(found) == 12
    for row in found:
        assert row.peers == ("scipy", "fftconvolve")
        assert [goal.kind for goal in row.goals] == ["ahead"]


def test_small_planes_are_compared_with_everybody() -> None:
    found = [row for row in rows() if row.section == "conv small"]
    assert len(found) == 12
    for row in found:
        case = row.case
        assert isinstance(case, Conv)
        assert np.prod(case.output_shape[2:]) <= 7 * 7
        assert case.weights().size > np.prod(case.shape)  # the filters are the larger part
        first = ("torch", "jax", "onnxruntime")
        assert row.peers == (("torch",) if case.mode == "vjp" else first if case.layout == "first" else first[:2])
        assert [(goal.kind, goal.bound) for goal in row.goals] == [("ahead", 1.0)]


def test_the_cost_of_one_call() -> None:
    (row,) = (row for row in rows() if row.section == "calls" and isinstance(row.case, Conv))
    assert row.case is not None
    assert row.case.shape == (1, 1, 4, 4)
    assert "torch" in row.peers
