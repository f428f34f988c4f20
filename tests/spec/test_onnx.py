"""Pooling against the ONNX conformance suite: expected values that nobody here wrote.

Every case is listed by name, so that a release of onnx which drops, adds or renames one fails
the tests of completeness instead of changing silently what is tested. A graph is run node by node:
each ONNX operator is translated to one cenote call, and what the translation does not know is a failure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import cenote as cn
from onnx_cases import Array, Attributes, Case, Operator, listed, node_cases, run_graph, stored_cases

# module of onnx.backend.test.case.node -> its operator, and the names of its cases without "test_"
NODE_SUITE: dict[str, tuple[str, tuple[str, ...]]] = {
    "maxpool": (
        "MaxPool",
        (
            "maxpool_1d_default",
            "maxpool_2d_ceil",
            "maxpool_2d_ceil_output_size_reduce_by_one",
            "maxpool_2d_default",
            "maxpool_2d_dilations",
            "maxpool_2d_pads",
            "maxpool_2d_precomputed_pads",
            "maxpool_2d_precomputed_same_upper",
            "maxpool_2d_precomputed_strides",
            "maxpool_2d_same_lower",
            "maxpool_2d_same_upper",
            "maxpool_2d_strides",
            "maxpool_2d_uint8",
            "maxpool_3d_default",
            "maxpool_3d_dilations",
            "maxpool_3d_dilations_use_ref_impl",
            "maxpool_3d_dilations_use_ref_impl_large",
            "maxpool_with_argmax_2d_precomputed_pads",
            "maxpool_with_argmax_2d_precomputed_strides",
        ),
    ),
    "averagepool": (
        "AveragePool",
        (
            "averagepool_1d_default",
            "averagepool_2d_ceil",
            "averagepool_2d_ceil_last_window_starts_on_pad",
            "averagepool_2d_default",
            "averagepool_2d_dilations",
            "averagepool_2d_pads",
            "averagepool_2d_pads_count_include_pad",
            "averagepool_2d_precomputed_pads",
            "averagepool_2d_precomputed_pads_count_include_pad",
            "averagepool_2d_precomputed_same_upper",
            "averagepool_2d_precomputed_strides",
            "averagepool_2d_same_lower",
            "averagepool_2d_same_upper",
            "averagepool_2d_strides",
            "averagepool_3d_default",
            "averagepool_3d_dilations_large_count_include_pad_is_0_ceil_mode_is_False",
            "averagepool_3d_dilations_large_count_include_pad_is_0_ceil_mode_is_True",
            "averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_False",
            "averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
            "averagepool_3d_dilations_small",
        ),
    ),
    "lppool": (
        "LpPool",
        (
            "lppool_1d_default",
            "lppool_2d_default",
            "lppool_2d_dilations",
            "lppool_2d_pads",
            "lppool_2d_same_lower",
            "lppool_2d_same_upper",
            "lppool_2d_strides",
            "lppool_3d_default",
        ),
    ),
    "globalaveragepool": ("GlobalAveragePool", ("globalaveragepool", "globalaveragepool_precomputed")),
    "globalmaxpool": ("GlobalMaxPool", ("globalmaxpool", "globalmaxpool_precomputed")),
    "maxunpool": ("MaxUnpool", ("maxunpool_export_without_output_shape",)),
}

NODE_COUNTS = {
    "maxpool": 19,
    "averagepool": 20,
    "lppool": 8,
    "globalaveragepool": 2,
    "globalmaxpool": 2,
    "maxunpool": 1,
}

# What is in the package and left out here, each with its reason.
EXCLUDED: dict[str, dict[str, str]] = {
    "maxunpool": {
        "maxunpool_export_with_output_shape": (
            "its flat indices count in the inferred 4x4 result, which is then centred in the 5x5 asked for; "
            "torch and onnxruntime place them in the 5x5 itself, and so do we (onnx#2398, onnx#2726)"
        ),
    },
}

STORED_SUITE = (
    "AvgPool1d",
    "AvgPool1d_stride",
    "AvgPool2d",
    "AvgPool2d_stride",
    "AvgPool3d",
    "AvgPool3d_stride",
    "AvgPool3d_stride1_pad0_gpu_input",
    "MaxPool1d",
    "MaxPool1d_stride",
    "MaxPool1d_stride_padding_dilation",
    "MaxPool2d",
    "MaxPool2d_stride_padding_dilation",
    "MaxPool3d",
    "MaxPool3d_stride",
    "MaxPool3d_stride_padding",
    "operator_maxpool",
)

POOLING = frozenset(operator for operator, _ in NODE_SUITE.values())

# Operators that only move values: their results must be equal, not close.
EXACT = {"MaxPool", "GlobalMaxPool", "MaxUnpool", "Squeeze", "Unsqueeze"}


# ------------------------------------------------------------------------------------------- the translation

AUTO_PAD = {"VALID": "valid", "SAME_UPPER": "same", "SAME_LOWER": "same_lower"}


def window_arguments(attributes: Attributes, rank: int) -> dict[str, Any]:
    """The attributes that all pooling operators share, taken out of ``attributes``."""
    window = tuple(attributes.pop("kernel_shape"))
    assert len(window) == rank, f"kernel_shape={window} for {rank} spatial axes"
    auto_pad = attributes.pop("auto_pad", b"NOTSET").decode()
    pads = attributes.pop("pads", None)
    ceil_mode = bool(attributes.pop("ceil_mode", 0))
    padding: str | tuple[tuple[int, int], ...]
    if auto_pad == "NOTSET":
        pads = [0] * (2 * rank) if pads is None else pads
        padding = tuple(zip(pads[:rank], pads[rank:], strict=True))
    else:
        assert pads is None, f"both pads={pads} and auto_pad={auto_pad}"
        assert auto_pad in AUTO_PAD, f"auto_pad={auto_pad}"
        padding = AUTO_PAD[auto_pad]
        # With auto_pad the specification gives the same output size for both values of ceil_mode.
        ceil_mode = False
    return {
        "window": window,
        "stride": tuple(attributes.pop("strides", [1] * rank)),
        "padding": padding,
        "dilation": tuple(attributes.pop("dilations", [1] * rank)),
        "ceil_mode": ceil_mode,
    }


def plane_starts(batch: tuple[int, ...], elements: int, rank: int) -> Array:
    """Where the plane of each (n, c) begins in a flat index over the whole tensor."""
    return np.arange(math.prod(batch)).reshape(batch + (1,) * rank) * elements


def max_pool(inputs: Sequence[Array], attributes: Attributes, outputs: int) -> tuple[Array, ...]:
    (x,) = inputs
    spatial = x.shape[2:]
    arguments = window_arguments(attributes, len(spatial))
    storage_order = attributes.pop("storage_order", 0)
    assert storage_order in (0, 1), f"storage_order={storage_order}"
    if outputs == 1:
        return (cn.max_pool(x, **arguments),)
    values, indices = cn.max_pool(x, **arguments, return_indices=True)
    assert (indices >= 0).all(), "ONNX has no index for a window without an element"
    if storage_order == 1:
        indices = np.ravel_multi_index(np.unravel_index(indices, spatial), spatial, order="F")
    return values, indices + plane_starts(x.shape[:2], math.prod(spatial), len(spatial))


def max_unpool(inputs: Sequence[Array], attributes: Attributes, outputs: int) -> tuple[Array, ...]:
    y, flat, *sizes = inputs
    rank = y.ndim - 2
    arguments = window_arguments(attributes, rank)
    assert not arguments.pop("ceil_mode"), "MaxUnpool has no ceil_mode"
    if sizes:
        (whole,) = sizes
        assert tuple(whole[:2]) == y.shape[:2], f"output_shape={whole} changes the planes of {y.shape}"
        spatial = tuple(int(size) for size in whole[2:])
        arguments["output_shape"] = spatial
    else:
        # The size is needed here only to count planes. It is not passed on: cenote has to find it too.
        axes = zip(y.shape[2:], *(arguments[name] for name in ("window", "stride", "dilation", "padding")), strict=True)
        spatial = tuple((n - 1) * s + d * (k - 1) + 1 - low - high for n, k, s, d, (low, high) in axes)
    elements = math.prod(spatial)
    indices = flat - plane_starts(y.shape[:2], elements, rank)
    assert ((indices >= 0) & (indices < elements)).all(), "an index points into another plane"
    return (cn.max_unpool(y, indices, **arguments),)


def average_pool(inputs: Sequence[Array], attributes: Attributes, outputs: int) -> tuple[Array, ...]:
    (x,) = inputs
    include = bool(attributes.pop("count_include_pad", 0))
    return (cn.avg_pool(x, **window_arguments(attributes, x.ndim - 2), count_include_pad=include),)


def lp_pool(inputs: Sequence[Array], attributes: Attributes, outputs: int) -> tuple[Array, ...]:
    (x,) = inputs
    p = attributes.pop("p", 2)
    return (cn.lp_pool(x, **window_arguments(attributes, x.ndim - 2), p=p),)


def global_average_pool(inputs: Sequence[Array], attributes: Attributes, outputs: int) -> tuple[Array, ...]:
    (x,) = inputs
    return (cn.global_avg_pool(x, axes=tuple(range(2, x.ndim))),)


def global_max_pool(inputs: Sequence[Array], attributes: Attributes, outputs: int) -> tuple[Array, ...]:
    (x,) = inputs
    return (cn.global_max_pool(x, axes=tuple(range(2, x.ndim))),)


def squeeze(inputs: Sequence[Array], attributes: Attributes, outputs: int) -> tuple[Array, ...]:
    (x,) = inputs
    return (np.squeeze(x, tuple(attributes.pop("axes"))),)


def unsqueeze(inputs: Sequence[Array], attributes: Attributes, outputs: int) -> tuple[Array, ...]:
    (x,) = inputs
    return (np.expand_dims(x, tuple(attributes.pop("axes"))),)


OPERATORS: dict[str, Operator] = {
    "MaxPool": max_pool,
    "MaxUnpool": max_unpool,
    "AveragePool": average_pool,
    "LpPool": lp_pool,
    "GlobalAveragePool": global_average_pool,
    "GlobalMaxPool": global_max_pool,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
}


def run(model: onnx.ModelProto, inputs: Sequence[Array]) -> tuple[Array, ...]:
    return run_graph(model, inputs, OPERATORS)


def check(case: Case) -> None:
    results = run(case.model, case.inputs)
    assert len(results) == len(case.outputs)
    for result, expected in zip(results, case.outputs, strict=True):
        assert type(result) is np.ndarray
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        if case.operators <= EXACT or expected.dtype.kind in "iu":
            np.testing.assert_array_equal(result, expected)
        else:
            np.testing.assert_allclose(result, expected, rtol=case.rtol, atol=case.atol)


# ------------------------------------------------------------------------------------------------- the cases


@pytest.mark.parametrize(("module", "operator", "name"), listed(NODE_SUITE))
def test_node(module: str, operator: str, name: str) -> None:
    check(node_cases(module, operator)[name])


@pytest.mark.parametrize("name", [f"test_{name}" for name in STORED_SUITE])
def test_stored(name: str) -> None:
    check(stored_cases(POOLING)[name])


@pytest.mark.parametrize("module", NODE_SUITE)
def test_the_node_suite_is_complete(module: str) -> None:
    operator, names = NODE_SUITE[module]
    excluded = {f"test_{name}" for name in EXCLUDED.get(module, {})}
    found = set(node_cases(module, operator))
    assert excluded <= found, "an excluded case no longer exists"
    assert found - excluded == {f"test_{name}" for name in names}
    assert len(found - excluded) == len(names) == NODE_COUNTS[module]


def test_the_stored_suite_is_complete() -> None:
    assert set(stored_cases(POOLING)) == {f"test_{name}" for name in STORED_SUITE}
    assert len(STORED_SUITE) == 16


def test_the_excluded_case_contradicts_torch() -> None:
    # Where torch and onnxruntime put the four values. Should onnx mend its case, then this fails, and the
    # exclusion can go.
    case = node_cases("maxunpool", "MaxUnpool")["test_maxunpool_export_with_output_shape"]
    in_place = np.zeros((1, 1, 5, 5), np.float32)
    np.put(in_place, [5, 7, 13, 15], [5, 6, 7, 8])
    np.testing.assert_array_equal(run(case.model, case.inputs)[0], in_place)
    assert not np.array_equal(case.outputs[0], in_place)


# --------------------------------------------------------- what the suite itself does not make the translation do


def one_node(operator: str, inputs: Sequence[Array], outputs: int = 1, **attributes: Any) -> tuple[Array, ...]:
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(outputs)]
    described, promised = ([helper.make_empty_tensor_value_info(name) for name in ends] for ends in (names, results))
    node = helper.make_node(operator, names, results, **attributes)
    return run(helper.make_model(helper.make_graph([node], operator, described, promised)), inputs)


def test_indices_count_through_the_whole_tensor() -> None:
    # All argmax cases of the suite have a single plane; these four are what onnxruntime gives.
    x = np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2)
    values, indices = one_node("MaxPool", [x], outputs=2, kernel_shape=[2, 2])
    assert values.ravel().tolist() == indices.ravel().tolist() == [3, 7, 11, 15]
    (back,) = one_node("MaxUnpool", [values, indices], kernel_shape=[2, 2])
    np.testing.assert_array_equal(back, np.where(np.isin(x, [3, 7, 11, 15]), x, 0))


def test_column_major_indices() -> None:
    x = np.zeros((1, 2, 2, 3, 4), np.float32)
    x[0, 0, 1, 0, 2] = x[0, 1, 0, 2, 3] = 1
    indices = one_node("MaxPool", [x], outputs=2, kernel_shape=[2, 3, 4], storage_order=1)[1]
    assert indices.ravel().tolist() == [1 + 2 * (0 + 3 * 2), 24 + 0 + 2 * (2 + 3 * 3)]


def test_pads_are_all_low_ends_then_all_high_ends() -> None:
    x = np.ones((1, 1, 2, 2), np.float32)
    (y,) = one_node("AveragePool", [x], kernel_shape=[2, 2], pads=[1, 0, 0, 1], count_include_pad=1)
    assert y.tolist() == [[[[0.5, 0.25], [1.0, 0.5]]]]


@pytest.mark.parametrize(
    ("auto_pad", "expected"), [("VALID", [1, 3]), ("SAME_UPPER", [1, 3, 4]), ("SAME_LOWER", [0, 2, 4])]
)
@pytest.mark.parametrize("ceil_mode", [0, 1])
def test_auto_pad(auto_pad: str, expected: list[int], ceil_mode: int) -> None:
    x = np.arange(5, dtype=np.float32).reshape(1, 1, 5)
    (y,) = one_node("MaxPool", [x], kernel_shape=[2], strides=[2], auto_pad=auto_pad, ceil_mode=ceil_mode)
    assert y.ravel().tolist() == expected


def test_lp_pool_has_p_2_by_default() -> None:
    assert one_node("LpPool", [np.array([[[3.0, -4.0]]])], kernel_shape=[2])[0].tolist() == [[[5.0]]]


@pytest.mark.parametrize(
    ("operator", "attributes", "message"),
    [
        ("MaxRoiPool", {"pooled_shape": [1]}, "unknown operator"),
        ("MaxPool", {"kernel_shape": [2], "count_include_pad": 1}, "unknown attributes"),
        ("MaxPool", {"kernel_shape": [2], "auto_pad": "SAME"}, "auto_pad=SAME"),
        ("MaxPool", {"kernel_shape": [2], "auto_pad": "VALID", "pads": [0, 0]}, "both pads"),
        ("MaxPool", {"kernel_shape": [2, 2]}, "spatial axes"),
    ],
)
def test_what_the_translation_does_not_know_is_a_failure(
    operator: str, attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        one_node(operator, [np.zeros((1, 1, 4), np.float32)], **attributes)
