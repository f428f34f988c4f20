"""Mistakes that a type checker must find: each line with a comment is one."""

from __future__ import annotations

import numpy as np

import cenote as cn

image = np.zeros((4, 4), np.float32)

cn.max_pool(image, (2, 2), strides=2)  # error: a word of another library
cn.avg_pool(image, (2, 2), nan="skip")  # error: no such choice
cn.max_pool(image, (2, 2), 2)  # error: a positional stride
cn.sum_pool(image)  # error: no window
values, indices, more = cn.max_pool(image, (2, 2), return_indices=True)  # error: a pair
cn.conv(image, image, layout="NCHW")  # error: a layout of another library
cn.smooth_max_pool(image, (2, 2), beta="sharp")  # error: a number is needed
cn.max_pool2d(image, 2)  # error: a name of another library
