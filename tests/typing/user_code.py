"""Code as users write it, for type checkers: what each call gives. It is checked, and run too."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import cenote as cn

image: NDArray[np.float32] = np.zeros((4, 4), np.float32)
tensor = cn.Tensor(image)

# The kind of array, and for a selection its dtype, is kept.
assert_type(cn.max_pool(image, (2, 2)), NDArray[np.float32])
assert_type(cn.min_pool(image, 2, axes=(0, 1), nan="omit"), NDArray[np.float32])
assert_type(cn.max_pool(tensor, (2, 2)), cn.Tensor)
assert_type(cn.avg_pool(image, (2, 2), dtype=np.uint8), NDArray[Any])
assert_type(cn.avg_pool(tensor, (2, 2), count_include_pad=False), cn.Tensor)
assert_type(cn.sum_pool([[1, 2], [3, 4]], (2, 2)), NDArray[Any])
assert_type(cn.lp_pool(tensor, (2, 2), p=3.0), cn.Tensor)
assert_type(cn.smooth_max_pool(image, (2, 2), beta=2.0, pad_value=None), NDArray[Any])
assert_type(cn.median_pool(tensor, (3, 3), nan="omit"), cn.Tensor)
assert_type(cn.mode_pool(image.astype(np.uint8), (2, 2)), NDArray[Any])
assert_type(cn.adaptive_avg_pool(image, (2, None)), NDArray[Any])
assert_type(cn.global_avg_pool(tensor, axes=-1), cn.Tensor)

# Indices come as a pair.
assert_type(cn.max_pool(image, (2, 2), return_indices=True), tuple[NDArray[np.float32], NDArray[np.int64]])
assert_type(cn.max_pool(tensor, (2, 2), return_indices=True), tuple[cn.Tensor, NDArray[np.int64]])
values, indices = cn.max_pool(image, (2, 2), return_indices=True)
assert_type(cn.max_unpool(values, indices, (2, 2)), NDArray[Any])
assert_type(cn.adaptive_max_pool(image, (2, 2)), NDArray[np.float32])

# Convolution: a Tensor on either side gives a Tensor.
w = np.zeros((2, 2, 1, 3), np.float32)
assert_type(cn.conv(image[..., None], w, stride=2), NDArray[Any])
assert_type(cn.conv(cn.Tensor(image[..., None]), w), cn.Tensor)
assert_type(cn.conv(image[..., None], cn.Tensor(w)), cn.Tensor)

# Where the checker cannot know, it does not pretend to.
flag = bool(image.size)
assert_type(cn.max_pool(image, (2, 2), return_indices=flag), Any)

# Objects of xarray's keep their kind, and take arguments by name.
field = xr.DataArray(image, dims=("y", "x"))
assert_type(cn.max_pool(field, {"y": 2, "x": 2}, stride={"y": 1}, coord_func="first"), xr.DataArray)
assert_type(cn.max_pool(field, {"y": 2}, return_indices=True), tuple[xr.DataArray, xr.DataArray])
assert_type(cn.avg_pool(field.to_dataset(name="v"), {"y": 2}), xr.Dataset)
assert_type(cn.adaptive_max_pool(field, {"y": 2}), xr.DataArray)
assert_type(cn.correlate(field, [1.0, 2.0], axes="y"), xr.DataArray)

# Sizes and settings.
assert_type(cn.output_shape((4, 4), (2, 2)), tuple[int, ...])
assert_type(cn.get_num_threads(), int)
assert_type(cn.__version__, str)
y, pull = cn.vjp(lambda x: cn.max_pool(x, (2, 2)), image)
gradients = pull(np.ones((2, 2), np.float32))
with cn.num_threads(1):
    cn.dialects.torch.max_pool2d(image[None, None], 2)
