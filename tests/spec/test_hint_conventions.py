"""What other libraries take for granted: an advised call has the values that they have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import cenote as cn
from advice import NAMES, advised

rng = np.random.default_rng(7)
NCHW = rng.standard_normal((2, 3, 6, 8))
NHWC = np.ascontiguousarray(np.moveaxis(NCHW, 1, -1))
T = torch.tensor(NCHW)
pooled = torch.nn.functional


def followed(name: str, x: Any, *args: Any, **options: Any) -> Any:
    with pytest.raises(TypeError, match=": write ") as failure:
        getattr(cn, name)(x, *args, **options)
    return eval(advised(str(failure.value)) or "", NAMES | {"x": x})


@pytest.mark.parametrize("word", ["channels_first", "NCHW"])
@pytest.mark.parametrize("options", [{"pool_size": (2, 2)}, {"pool_size": 2, "strides": 2}, {"ksize": 2, "strides": 2}])
def test_a_layout_that_is_named_says_where_windows_lie(options: dict[str, Any], word: str) -> None:
    expected = pooled.max_pool2d(T, 2).numpy()
    np.testing.assert_array_equal(followed("max_pool", NCHW, **options, data_format=word), expected)
    last = word.replace("first", "last").replace("NCHW", "NHWC")
    got = followed("max_pool", NHWC, **options, data_format=last)
    np.testing.assert_array_equal(got, np.moveaxis(expected, 1, -1))


def test_windows_of_onnx_lie_behind_the_channels() -> None:
    expected = pooled.max_pool2d(T, 2).numpy()
    got = followed("max_pool", NCHW, (2, 2), auto_pad="SAME_UPPER", strides=(2, 2))
    np.testing.assert_array_equal(got, expected)
    got = followed("max_pool", NCHW, (2, 2), pads=[0, 0, 0, 0], strides=[2, 2])
    np.testing.assert_array_equal(got, expected)
    got = followed("max_pool", NCHW, (3, 3), auto_pad="SAME_UPPER")
    np.testing.assert_array_equal(got, pooled.max_pool2d(T, 3, 1, 1))


def test_averages_of_onnx_leave_padding_out() -> None:
    expected = pooled.avg_pool2d(T, 3, 1, 1, count_include_pad=False)
    for options in ({"pads": [1, 1, 1, 1], "strides": [1, 1]}, {"auto_pad": "SAME_UPPER"}):
        np.testing.assert_allclose(followed("avg_pool", NCHW, kernel_shape=[3, 3], **options), expected, rtol=1e-12)
    counted = followed("avg_pool", NCHW, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    np.testing.assert_allclose(counted, pooled.avg_pool2d(T, 3, 1, 1), rtol=1e-12)


def test_averages_of_keras_and_tensorflow_leave_padding_out() -> None:
    expected = np.moveaxis(pooled.avg_pool2d(T, 3, 1, 1, count_include_pad=False).numpy(), 1, -1)
    for options in ({"pool_size": 3, "strides": 1}, {"window": (3, 3), "strides": (1, 1)}, {"ksize": 3, "strides": 1}):
        got = followed("avg_pool", NHWC, **options, padding="same")
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    counted = followed("avg_pool", NHWC, window_shape=(3, 3), padding="SAME")  # flax
    np.testing.assert_allclose(counted, np.moveaxis(pooled.avg_pool2d(T, 3, 1, 1).numpy(), 1, -1), rtol=1e-12)
