"""Convolution against the ONNX conformance suite: expected values that nobody here wrote.

As in test_onnx.py every case is listed by name, and a graph is run node by node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper

import cenote as cn
from onnx_cases import Array, Attributes, Case, Operator, listed, node_cases, run_graph, stored_cases

NODE_SUITE: dict[str, tuple[str, tuple[str, ...]]] = {
    "conv": (
        "Conv",
        (
            "basic_conv_with_padding",
            "basic_conv_without_padding",
            "conv_with_autopad_same",
            "conv_with_strides_and_asymmetric_padding",
            "conv_with_strides_no_padding",
            "conv_with_strides_padding",
        ),
    ),
    "convtranspose": (
        "ConvTranspose",
        (
            "convtranspose",
            "convtranspose_1d",
            "convtranspose_3d",
            "convtranspose_autopad_same",
            "convtranspose_dilations",
            "convtranspose_group_2",
            "convtranspose_group_2_image_3",
            "convtranspose_kernel_shape",
            "convtranspose_output_shape",
            "convtranspose_pad",
            "convtranspose_pads",
        ),
    ),
}

STORED_SUITE = (
    "Conv1d",
    "Conv1d_dilated",
    "Conv1d_groups",
    "Conv1d_pad1",
    "Conv1d_pad1size1",
    "Conv1d_pad2",
    "Conv1d_pad2size1",
    "Conv1d_stride",
    "Conv2d",
    "Conv2d_depthwise",
    "Conv2d_depthwise_padded",
    "Conv2d_depthwise_strided",
    "Conv2d_depthwise_with_multiplier",
    "Conv2d_dilated",
    "Conv2d_groups",
    "Conv2d_groups_thnn",
    "Conv2d_no_bias",
    "Conv2d_padding",
    "Conv2d_strided",
    "Conv3d",
    "Conv3d_dilated",
    "Conv3d_dilated_strided",
    "Conv3d_groups",
    "Conv3d_no_bias",
    "Conv3d_stride",
    "Conv3d_stride_padding",
    "ConvTranspose2d",
    "ConvTranspose2d_no_bias",
    "operator_conv",
    "operator_convtranspose",
)

CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})

# ------------------------------------------------------------------------------------------- the translation

AUTO_PAD = {"VALID": "valid", "SAME_UPPER": "same", "SAME_LOWER": "same_lower"}


def shared_arguments(attributes: Attributes, w: Array) -> tuple[dict[str, Any], str]:
    """What both operators have, taken out of ``attributes``, and the name of the padding."""
    kernel = w.shape[2:]
    rank = len(kernel)
    assert tuple(attributes.pop("kernel_shape", kernel)) == kernel, f"kernel_shape is not that of {w.shape}"
    auto_pad = attributes.pop("auto_pad", b"NOTSET").decode()
    pads = attributes.pop("pads", None)
    padding: Any
    if auto_pad == "NOTSET":
        pads = [0] * (2 * rank) if pads is None else pads
        padding = tuple(zip(pads[:rank], pads[rank:], strict=True))
    else:
        assert pads is None, f"both pads={pads} and auto_pad={auto_pad}"
        assert auto_pad in AUTO_PAD, f"auto_pad={auto_pad}"
        padding = AUTO_PAD[auto_pad]
    return {
        "stride": tuple(attributes.pop("strides", [1] * rank)),
        "padding": padding,
        "dilation": tuple(attributes.pop("dilations", [1] * rank)),
        "groups": attributes.pop("group", 1),
        "layout": "channels_first",
    }, auto_pad


def conv(inputs: Sequence[Array], attributes: Attributes, outputs: int) -> tuple[Array, ...]:
    x, w, *bias = inputs
    arguments, _ = shared_arguments(attributes, w)
    return (cn.conv(x, w, bias=bias[0] if bias else None, **arguments),)


def conv_transpose(inputs: Sequence[Array], attributes: Attributes, outputs: int) -> tuple[Array, ...]:
    x, w, *bias = inputs
    arguments, auto_pad = shared_arguments(attributes, w)
    extra = attributes.pop("output_padding", None)
    sizes = attributes.pop("output_shape", None)
    if sizes is None:
        if extra is not None:
            arguments["output_padding"] = tuple(extra)
    else:
        # The sizes decide: padding is what they leave over, the odd element at the low end unless it is SAME_UPPER.
        pads = []
        shapes = zip(x.shape[2:], w.shape[2:], arguments["stride"], arguments["dilation"], sizes, strict=True)
        for n, k, s, d, size in shapes:
            total = max(0, (n - 1) * s + d * (k - 1) + 1 - size)
            small, large = total // 2, total - total // 2
            pads.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
        arguments |= {"padding": tuple(pads), "output_shape": tuple(sizes)}
    return (cn.conv_transpose(x, w, bias=bias[0] if bias else None, **arguments),)


OPERATORS: dict[str, Operator] = {"Conv": conv, "ConvTranspose": conv_transpose}


def check(case: Case) -> None:
    results = run_graph(case.model, case.inputs, OPERATORS)
    assert len(results) == len(case.outputs)
    for result, expected in zip(results, case.outputs, strict=True):
        assert type(result) is np.ndarray
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(result, expected, rtol=case.rtol, atol=case.atol)


# ------------------------------------------------------------------------------------------------- the cases


@pytest.mark.parametrize(("module", "operator", "name"), listed(NODE_SUITE))
def test_node(module: str, operator: str, name: str) -> None:
    check(node_cases(module, operator)[name])


@pytest.mark.parametrize("name", [f"test_{name}" for name in STORED_SUITE])
def test_stored(name: str) -> None:
    check(stored_cases(CONVOLUTIONS)[name])


@pytest.mark.parametrize("module", NODE_SUITE)
def test_the_node_suite_is_complete(module: str) -> None:
    operator, names = NODE_SUITE[module]
    # Whoever imported other modules before has registered their cases too.
    found = {name for name, case in node_cases(module, operator).items() if case.operators == {operator}}
    assert found == {f"test_{name}" for name in names}
    assert len(names) == {"conv": 6, "convtranspose": 11}[module]


def test_the_stored_suite_is_complete() -> None:
    assert set(stored_cases(CONVOLUTIONS)) == {f"test_{name}" for name in STORED_SUITE}
    assert len(STORED_SUITE) == 30


# --------------------------------------------------------- what the suite itself does not make the translation do


def one_node(operator: str, inputs: Sequence[Array], weights: int = 0, **attributes: Any) -> Array:
    """A graph of one node, whose last ``weights`` inputs are held by it."""
    names = [f"x{i}" for i in range(len(inputs))]
    fed = len(inputs) - weights
    node = helper.make_node(operator, names, ["y"], **attributes)
    held = [
        helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape, a.ravel())
        for name, a in zip(names[fed:], inputs[fed:], strict=True)
    ]
    described = [helper.make_empty_tensor_value_info(name) for name in names]  # weights too, as older models do
    promised = [helper.make_empty_tensor_value_info("y")]
    model = helper.make_model(helper.make_graph([node], operator, described, promised, held))
    (result,) = run_graph(model, inputs[:fed], OPERATORS)
    return result


ROW, TAPS = np.arange(1.0, 4.0, dtype=np.float32).reshape(1, 1, 3), np.array([[[1, 10, 100]]], np.float32)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"auto_pad": "SAME_UPPER"}, [1, 10, 102, 20, 203, 30]),
        ({"auto_pad": "SAME_LOWER"}, [10, 102, 20, 203, 30, 300]),
        ({"auto_pad": "VALID"}, [1, 10, 102, 20, 203, 30, 300]),
        ({"output_shape": [6]}, [10, 102, 20, 203, 30, 300]),
        ({"output_shape": [6], "auto_pad": "SAME_UPPER"}, [1, 10, 102, 20, 203, 30]),
        ({"output_shape": [8]}, [1, 10, 102, 20, 203, 30, 300, 0]),
    ],
)
def test_sizes_of_transposes_that_onnxruntime_gives(attributes: dict[str, Any], expected: list[int]) -> None:
    result = one_node("ConvTranspose", [ROW, TAPS], strides=[2], **attributes)
    assert result.ravel().tolist() == expected


def test_pads_are_all_low_ends_then_all_high_ends() -> None:
    x = np.arange(1, 5, dtype=np.float32).reshape(1, 1, 2, 2)
    y = one_node("Conv", [x, np.ones((1, 1, 2, 2), np.float32)], pads=[1, 0, 0, 1])
    assert y.tolist() == [[[[3, 2], [10, 6]]]]


@pytest.mark.parametrize("weights", [0, 1, 2])
def test_weights_may_be_held_by_the_graph(weights: int) -> None:
    rng = np.random.default_rng(0)
    x, w, b = (rng.integers(-4, 5, s).astype(np.float32) for s in ((2, 4, 5), (6, 2, 3), (6,)))
    y = one_node("Conv", [x, w, b], weights, group=2)
    np.testing.assert_array_equal(y, cn.conv(x, w, bias=b, groups=2, layout="channels_first"))


@pytest.mark.parametrize(
    ("operator", "attributes", "message"),
    [
        ("ConvInteger", {}, "unknown operator"),
        ("Conv", {"output_padding": [1]}, "unknown attributes"),
        ("Conv", {"auto_pad": "SAME"}, "auto_pad=SAME"),
        ("Conv", {"auto_pad": "VALID", "pads": [0, 0]}, "both pads"),
        ("Conv", {"kernel_shape": [2]}, "kernel_shape"),
    ],
)
def test_what_the_translation_does_not_know_is_a_failure(
    operator: str, attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        one_node(operator, [ROW, TAPS], **attributes)
