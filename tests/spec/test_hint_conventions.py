"""What other libraries take for granted: an advised call has the values that they have."""

from __future__ import annotations

from typing import Any

import cv2
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import scipy.ndimage
import scipy.signal
import torch
import xarray as xr
from flax import nnx
from skimage import measure

import cenote as cn
from advice import NAMES, advised

rng = np.random.default_rng(7)
NCHW = rng.standard_normal((2, 3, 6, 8))
NHWC = np.ascontiguousarray(np.moveaxis(NCHW, 1, -1))
T = torch.tensor(NCHW)
pooled = torch.nn.functional
block_reduce: Any = measure.block_reduce


def refused(name: str, x: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(TypeError) as failure:
        getattr(cn, name)(x, *args, **options)
    return str(failure.value)


def followed(name: str, x: Any, *args: Any, **options: Any) -> Any:
    with pytest.raises(TypeError, match=": write ") as failure:
        getattr(cn, name)(x, *args, **options)
    return eval(
        advised(str(failure.value)) or "",
        NAMES | {"x": x, "torch": torch, "jnp": jnp} | {k: options[k] for k in ("w", "k") if k in options},
    )


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


SAME = np.moveaxis(pooled.avg_pool2d(T, 3, 1, 1, count_include_pad=False).numpy(), 1, -1)


@pytest.mark.parametrize("strides", [1, [1, 1], [1, 1, 1, 1]])
@pytest.mark.parametrize("ksize", [3, [3, 3], [1, 3, 3, 1]])
def test_sizes_and_strides_of_tensorflow_are_of_the_picture_or_of_every_axis(ksize: Any, strides: Any) -> None:
    for got in (
        followed("avg_pool", NHWC, ksize=ksize, strides=strides, padding="SAME"),
        followed("avg_pool", NHWC, ksize, strides, "SAME"),
    ):
        np.testing.assert_allclose(got, SAME, rtol=1e-12)
    halves = 2 if strides == 1 else [2 if n == 1 and i in (1, 2) else 1 for i, n in enumerate([1] * 4)]
    expected = np.moveaxis(pooled.max_pool2d(T, 3, 2).numpy(), 1, -1)
    np.testing.assert_array_equal(followed("max_pool", NHWC, ksize, halves, "VALID"), expected)


def test_sizes_of_tensorflow_with_channels_in_front() -> None:
    expected = pooled.max_pool2d(T, 3, 2).numpy()
    got = followed("max_pool", NCHW, ksize=[1, 1, 3, 3], strides=2, padding="VALID")
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shape", [(2, 8, 9, 5), (8, 9, 5), (2, 3, 8, 9, 5)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_windows_of_flax_lie_before_the_channels_with_any_batch(shape: tuple[int, ...], padding: str) -> None:
    x = rng.standard_normal(shape)
    for window, strides in (((3, 2), (1, 1)), ((2, 2), (2, 2))):
        expected = nnx.max_pool(x, window, strides, padding)
        got = followed("max_pool", x, window_shape=window, strides=strides, padding=padding)
        np.testing.assert_allclose(got, expected, rtol=1e-6)
        np.testing.assert_array_equal(followed("max_pool", x, window, strides, padding), got)


@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "mirror", "wrap"])
def test_filters_of_ndimage_lie_on_every_axis(mode: str) -> None:
    x = rng.standard_normal((4, 5, 6))
    for name, of in (("max_pool", "maximum_filter"), ("avg_pool", "uniform_filter")):
        expected = getattr(scipy.ndimage, of)(x, 3, mode=mode)
        np.testing.assert_allclose(followed(name, x, size=3, mode=mode), expected, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(followed(name, x, 3, mode=mode), expected, rtol=1e-12, atol=1e-15)
        expected = getattr(scipy.ndimage, f"{of}1d")(x, 3, axis=1, mode=mode)
        np.testing.assert_allclose(followed(name, x, size=3, mode=mode, axis=1), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(followed("min_pool", x, size=3), scipy.ndimage.minimum_filter(x, 3))


def test_a_picture_is_filtered_along_its_sides_only() -> None:
    got = followed("max_pool", NAMES["img"], size=3)
    np.testing.assert_array_equal(got, scipy.ndimage.maximum_filter(NAMES["img"], (3, 3, 1)))


@pytest.mark.parametrize("shape", [(6, 7), (4, 5, 6), (4, 6)])
@pytest.mark.parametrize("size", [2, 3])
def test_the_last_blocks_of_block_reduce(shape: tuple[int, ...], size: int) -> None:
    x = -np.abs(rng.standard_normal(shape))
    for func in (np.sum, np.mean, np.max, np.min, np.median):
        for block in (size, (size,) * len(shape)):
            got = followed("sum_pool", x, block_size=block, func=func)
            np.testing.assert_allclose(got, block_reduce(x, block, func), rtol=1e-12)


@pytest.mark.parametrize(
    "border", [cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT, cv2.BORDER_REFLECT101]
)
def test_averages_of_opencv_count_its_borders(border: int) -> None:
    x = rng.standard_normal((12, 14))
    got = followed("avg_pool", x, ksize=(3, 3), borderType=border)
    np.testing.assert_allclose(got, cv2.blur(x, (3, 3), borderType=border), rtol=1e-9)


def test_filters_of_opencv_move_by_one_element() -> None:
    picture = NAMES["img"]
    for x in (picture, np.ascontiguousarray(picture[..., 0])):
        floats = x.astype(np.float64)
        for k in ((3, 3), (4, 4)):
            np.testing.assert_allclose(followed("avg_pool", x, ksize=k), cv2.blur(floats, k), rtol=1e-9)
            np.testing.assert_array_equal(followed("max_pool", x, ksize=k), cv2.dilate(x, np.ones(k)))
            np.testing.assert_array_equal(followed("min_pool", x, ksize=k), cv2.erode(x, np.ones(k)))
        np.testing.assert_array_equal(followed("median_pool", x, ksize=(3, 3)), cv2.medianBlur(x, 3))
    gray = picture[..., 0].astype(np.float32)
    np.testing.assert_array_equal(followed("median_pool", gray, ksize=3), cv2.medianBlur(gray, 3))
    assert refused("avg_pool", gray, (3, 3), dsize=(4, 4)).endswith("and nothing here interpolates")


def test_arrays_are_extended_by_the_library_that_they_are_from() -> None:
    t, w = T.clone().requires_grad_(), torch.tensor(rng.standard_normal((5, 3, 3, 3)))
    for ours, mode in (("edge", "replicate"), ("reflect", "reflect"), ("wrap", "circular")):
        expected = pooled.avg_pool2d(pooled.pad(T, (1, 1, 1, 1), mode), 3)
        got = followed("avg_pool", t, (3, 3), padding_mode=ours)
        torch.testing.assert_close(got, expected)
        got.sum().backward()  # it is not lost
    got = followed("conv", t, w=w, layout="channels_first", padding_mode="circular")
    torch.testing.assert_close(got, pooled.conv2d(pooled.pad(T, (1, 1, 1, 1), "circular"), w))
    k = torch.ones(3, 3, dtype=torch.float64)
    got = followed("correlate", t, k=k, padding=1)
    torch.testing.assert_close(got, cn.correlate(T, k, mode="same"))
    # np.pad's "symmetric", which torch does not have, and a mode that takes no array of this rank.
    assert refused("avg_pool", T, (3, 3), mode="reflect").endswith("that torch.nn.functional.pad does not have")
    assert refused("avg_pool", T[0, 0], (3, 3), padding_mode="reflect").endswith("does not have")
    x = jnp.asarray(NCHW, jnp.float32)
    got = followed("avg_pool", x, (3, 3), mode="reflect")
    assert isinstance(got, jax.Array)
    np.testing.assert_allclose(got, scipy.ndimage.uniform_filter(x, (1, 1, 3, 3)), rtol=1e-5, atol=1e-6)


def test_the_flipped_filter_of_torch() -> None:
    small, large = torch.arange(3.0), torch.arange(5.0)
    with pytest.raises(ValueError, match=r"write convolve\(k\.flip\(\(0,\)\), x, mode='valid'\)$") as failure:
        cn.correlate(small, large, mode="valid")
    got = eval(advised(str(failure.value)) or "", NAMES | {"x": small, "k": large})
    np.testing.assert_allclose(got, scipy.signal.correlate(small.numpy(), large.numpy(), "valid"))


def test_named_dimensions_are_not_lost() -> None:
    x = xr.DataArray(NAMES["m"], dims=("y", "x"))
    assert "write" not in refused("avg_pool", x, size=3)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_the_order_of_scipy_signal(mode: str) -> None:
    m, k = NAMES["m"], NAMES["k"]
    for name in ("convolve", "correlate"):
        for method in ("auto", "direct", "fft"):
            got = followed(name, m, k, mode, method)
            np.testing.assert_allclose(got, getattr(scipy.signal, name)(m, k, mode, method), rtol=1e-9)
        for boundary in ("fill", "wrap", "symm"):
            expected = getattr(scipy.signal, f"{name}2d")(m, k, mode, boundary, 0)
            np.testing.assert_allclose(followed(name, m, k, mode, boundary, 0), expected, rtol=1e-9)


def test_an_even_median_of_ndimage_is_no_median_here() -> None:
    text = refused("median_pool", NAMES["m"], 4, mode="nearest")
    assert text.endswith("the upper one of the two middle elements, median_pool their mean")


def test_a_rolling_window_of_pandas_with_steps() -> None:
    x = rng.standard_normal(17)
    for step in (None, 1, 2, 3):
        for center in (False, True):
            expected = pd.Series(x).rolling(4, min_periods=1, center=center, step=step, closed="right").sum()
            for options in ({"min_periods": 1, "step": step}, {"step": step, "min_periods": 1}):
                got = followed("sum_pool", x, 4, center=center, closed="right", win_type=None, **options)
                np.testing.assert_allclose(got, expected, rtol=1e-9)
    words: list[dict[str, Any]] = [{"closed": "right"}, {"closed": None, "win_type": None}, {"win_type": None}]
    for given in words:
        np.testing.assert_allclose(followed("sum_pool", x, 4, **given), pd.Series(x).rolling(4).sum()[3:], rtol=1e-9)
    assert refused("sum_pool", x, (4,), closed="right", step=2).endswith("they end there")
    assert refused("sum_pool", x, (4,), center=True, step=2).endswith("x[0]; of pandas and xarray, they end there")


def test_a_mask_may_be_meant_either_way() -> None:
    m = NAMES["m"]
    text = refused("avg_pool", m, (2, 2), mask=m > 0)
    assert text.endswith(" if mask is True where elements count, with ~mask if where they do not")
