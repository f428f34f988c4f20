"""Which kernel serves an average in a dtype of the caller's, on both sides of every threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from cenote import _core, core
from cenote.geometry.axes import Geometry
from cenote.geometry.window import parse_window


def geometry_of(shape: tuple[int, ...], window: tuple[int, ...], **options: Any) -> Geometry:
    usual: dict[str, Any] = {"stride": None, "padding": 0, "dilation": 1, "ceil_mode": False, "axes": None}
    return parse_window(window, **(usual | options)).on(shape)


def kernel(dtype: str, shape: tuple[int, ...], window: tuple[int, ...], result: str = "", **options: Any) -> str:
    x, geometry = np.zeros(shape, dtype), geometry_of(shape, window, **options)
    (name,) = _core.trace(lambda: core.avg_pool(x, geometry, False, None, True, result=np.dtype(result or dtype)))
    return str(name)


def test_both_sides_of_every_threshold() -> None:
    level = _core.level()
    try:
        for each in (name for name in _core.levels() if name in ("avx2", "avx512")):
            assert _core.use_level(each)
            fast = "direct_uint"
            assert kernel("uint8", (64, 64), (2, 2)) == fast
            assert kernel("uint8", (64, 62), (2, 2)) == "separable"  # a vector of results
            assert kernel("uint16", (64, 32), (2, 2)) == fast
            assert kernel("uint16", (64, 30), (2, 2)) == "separable"
            assert kernel("uint8", (512, 512), (16, 8)) == fast
            assert kernel("uint8", (510, 512), (17, 8)) == "separable"  # rows
            assert kernel("uint8", (512, 512), (8, 16)) == "separable"
            assert kernel("uint16", (512, 512), (16, 8)) == fast
            assert kernel("uint16", (8, 512, 512), (2, 16, 8)) == "separable"  # elements
            assert kernel("uint8", (512, 512), (2, 3)) == "separable"
            assert kernel("uint8", (512, 512), (2, 2), stride=(1, 2)) == "separable"
            assert kernel("uint8", (512, 512), (2, 2), stride=(2, 3)) == "separable"
            assert kernel("int8", (512, 512), (2, 2)) == fast
            assert kernel("int8", (512, 512), (2, 2), padding=1) == "separable"
            assert kernel("uint8", (512, 512), (2, 2), padding=1) == fast
            assert kernel("uint8", (512, 512), (2, 2), "float32") == fast
            assert kernel("uint8", (512, 512), (2, 2), "uint16") == "separable"
            assert kernel("uint8", (64, 64, 3), (2, 2), axes=(0, 1)) == fast
            assert kernel("uint8", (64, 64, 5), (2, 2), axes=(0, 1)) == "separable"
            assert kernel("uint8", (64, 64, 32), (2, 2), axes=(0, 1)) == fast
            assert kernel("uint8", (64, 64, 3), (2, 4), axes=(0, 1)) == "separable"
            assert kernel("uint8", (64, 64, 3), (4, 2), axes=(0, 1)) == "separable"
            assert kernel("uint8", (64, 64), (2, 2), "float64") == "direct"
        assert kernel("int64", (64, 64), (2, 2)) == "wide"
        assert kernel("int32", (64, 64), (2, 2)) == "separable"
    finally:
        _core.use_level(level)
