"""Which algorithm serves a call: pinned for every row of the benchmarks, and on both sides of every threshold."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cenote as cn
import peers
import rows
from cases import LEVELS
from cenote import _core
from work import Case, dtype_named

NAMES = Path(__file__).with_name("kernel_names.txt")
POOLING = {
    "backward_avg", "backward_gather", "backward_scatter", "column_strips", "direct", "direct_mode", "direct_uint",
    "gather", "line_buffer", "scatter", "separable", "sliding_ranks", "sorting_network", "threshold_counts",
    "two_steps", "weighted_disjoint", "weighted_spread", "weighted_sum", "wide", "window_sort",
}  # fmt: skip
CONVOLUTION = {
    "overlap_save", "winograd", "direct_taps", "direct_depthwise", "direct_pixels", "direct_channels",
    "overlap_save_filter", "direct_filter",
}  # fmt: skip
BEST = [level for level in LEVELS if level in ("avx2", "avx512")]  # the thresholds below are those of 32 bytes
TIMED = [row for row in rows.rows() if row.case is not None and row.section not in ("memory", "package")]


def with_level(level: str, threads: int = 2) -> Any:
    class Setting:
        def __enter__(self) -> None:
            self.before = _core.level(), _core.num_threads()
            assert _core.use_level(level)
            _core.set_num_threads(threads)

        def __exit__(self, *_: object) -> None:
            _core.use_level(self.before[0])
            _core.set_num_threads(self.before[1])

    return Setting()


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any], layout: str) -> Any:
    """Data whose pages are never touched: nothing is computed while names are recorded."""
    if layout == "first":
        return np.zeros(shape, dtype)
    return np.moveaxis(np.zeros((shape[0], *shape[2:], shape[1]), dtype), -1, 1)


def names_of(row: rows.Row) -> str:
    """What a row of the benchmarks runs, in order."""
    case = row.case
    assert case is not None
    x = zeros(case.shape, dtype_named(case.dtype) if isinstance(case, Case) else case.output_dtype, case.layout)
    g = zeros(case.output_shape, case.output_dtype, case.layout) if case.mode == "vjp" else None
    run = peers.cenote(case, x, g).run
    return " + ".join(dict.fromkeys(_core.trace(run)))


def recorded(level: str) -> dict[str, str]:
    """Where AVX-512 takes another algorithm than AVX2, a line has both."""
    lines = (line.split(" → ") for line in NAMES.read_text().splitlines())
    return {key: names[-1 if level == "avx512" else 0] for key, *names in lines}


def test_every_row_of_the_benchmarks_has_its_algorithm() -> None:
    """Written anew by ``python tests/kernels/test_kernel_choice.py``."""
    assert list(recorded("avx2")) == [row.key for row in TIMED]
    for level in BEST:
        with with_level(level):
            found = {row.key: names_of(row) for row in TIMED}
        assert found == recorded(level), level
    for name in itertools.chain.from_iterable(names.split(" + ") for names in recorded("avx512").values()):
        assert name in POOLING | CONVOLUTION


PLANES = (8, 64, 112, 112)
# (the algorithm, the arguments of which_kernel, …): the last call before a threshold of pool/registry.cpp,
# pool/tiling.cpp or cpp/conv, and the first one after it.
SIDES: dict[str, list[tuple[str, tuple[Any, ...], dict[str, Any]]]] = {
    "taps of a line buffer": [
        ("line_buffer", ("max_pool", PLANES, (3, 3)), {"stride": 1}),
        ("separable", ("max_pool", PLANES, (4, 4)), {"stride": 1}),
    ],
    "dilation of its rows": [
        ("line_buffer", ("max_pool", PLANES, (3, 3)), {"stride": 1, "dilation": (8, 1)}),
        ("separable", ("max_pool", PLANES, (3, 3)), {"stride": 1, "dilation": (9, 1)}),
    ],
    "dilation along its rows, of a sum": [
        ("line_buffer", ("sum_pool", PLANES, (3, 3)), {"stride": 1, "dilation": (1, 32)}),
        ("separable", ("sum_pool", PLANES, (3, 3)), {"stride": 1, "dilation": (1, 33)}),
    ],
    "a vector of results": [
        ("line_buffer", ("max_pool", (9, 4096, 10), (3, 3)), {"stride": 1}),
        ("separable", ("max_pool", (9, 4096, 9), (3, 3)), {"stride": 1}),
    ],
    "stride along the row": [
        ("direct", ("max_pool", PLANES, (2, 2)), {}),
        ("separable", ("max_pool", PLANES, (3, 3)), {}),
    ],
    "windows that share most of their elements": [
        ("direct", ("max_pool", PLANES, (3, 3)), {"stride": 2}),
        ("separable", ("max_pool", PLANES, (4, 4)), {"stride": 2}),
    ],
    "a row of direct": [
        ("direct", ("max_pool", (64, 4096, 18), (2, 2)), {}),
        ("separable", ("max_pool", (64, 4096, 16), (2, 2)), {}),
    ],
    "lanes of direct": [
        ("direct", ("max_pool", (512, 512, 16), (2, 2)), {"axes": (0, 1)}),
        ("separable", ("max_pool", (512, 512, 15), (2, 2)), {"axes": (0, 1)}),
    ],
    "taps of direct": [
        ("direct", ("max_pool", (64, 64, 64), (16, 1)), {"axes": (0, 1)}),
        ("separable", ("max_pool", (64, 64, 64), (17, 1)), {"axes": (0, 1)}),
    ],
    "dtypes of direct with a dilation": [
        ("direct", ("max_pool", PLANES, (2, 2)), {"dilation": 2}),
        ("separable", ("max_pool", PLANES, (2, 2)), {"dilation": 2, "dtype": np.float64}),
    ],
    "large windows": [
        ("column_strips", ("max_pool", (2048, 2048), (9, 9)), {"stride": 1}),
        ("separable", ("max_pool", (2048, 2048), (9, 8)), {"stride": 1}),
    ],
    "bytes of lanes of a strip": [
        ("column_strips", ("sum_pool", (512, 512, 16), (9, 9)), {"stride": 1, "axes": (0, 1)}),
        ("separable", ("sum_pool", (512, 512, 17), (9, 9)), {"stride": 1, "axes": (0, 1)}),
    ],
    "windows as wide as a strip": [
        ("column_strips", ("max_pool", (4096, 4096), (202, 202)), {"stride": 1}),
        ("separable", ("max_pool", (4096, 4096), (203, 203)), {"stride": 1}),
    ],
    "few large windows": [
        ("two_steps", ("max_pool", (4096, 4096), (2049, 2049)), {}),  # one window, two threads
        ("separable", ("max_pool", (4096, 4096), (2048, 2048)), {}),
    ],
    "rows that the buffer of a norm has": [
        ("line_buffer", ("lp_pool", PLANES, (3, 3)), {"stride": 1, "dilation": (7, 1)}),
        ("direct", ("lp_pool", PLANES, (3, 3)), {"stride": 1, "dilation": (8, 1)}),
    ],
    "elements from a window's first tap to its last, for a norm": [
        ("line_buffer", ("lp_pool", PLANES, (3, 3)), {"stride": 1, "dilation": (1, 32)}),
        ("direct", ("lp_pool", PLANES, (3, 3)), {"stride": 1, "dilation": (1, 33)}),
    ],
    "orders of a norm": [
        ("direct", ("lp_pool", PLANES, (2, 2)), {"p": 3.0}),
        ("separable", ("lp_pool", PLANES, (2, 2)), {"p": 2.5}),
    ],
    "taps of an FFT": [
        ("overlap_save", ("conv", (1, 48000, 1), (130, 1, 1)), {}),
        ("direct_pixels", ("conv", (1, 48000, 1), (129, 1, 1)), {}),
    ],
    "Winograd's channels": [
        ("winograd", ("conv", (8, 56, 56, 32), (3, 3, 32, 64)), {}),
        ("direct_channels", ("conv", (8, 56, 56, 31), (3, 3, 31, 64)), {}),
    ],
    "Winograd's channels of the result": [
        ("winograd", ("conv", (8, 56, 56, 64), (3, 3, 64, 32)), {}),
        ("direct_channels", ("conv", (8, 56, 56, 64), (3, 3, 64, 31)), {}),
    ],
    "Winograd's channels, with several parts": [
        ("winograd", ("conv", (8, 64, 64, 16), (5, 5, 16, 64)), {"padding": 2}),
        ("direct_channels", ("conv", (8, 64, 64, 15), (5, 5, 15, 64)), {"padding": 2}),
    ],
    "Winograd's windows": [
        ("winograd", ("conv", (1, 12, 8, 64), (3, 3, 64, 64)), {"padding": 1}),  # 96 of them
        ("direct_channels", ("conv", (1, 19, 5, 64), (3, 3, 64, 64)), {"padding": 1}),  # 95
    ],
    "channels times taps of Winograd along a line": [
        ("winograd", ("conv", (8, 512, 75), (3, 75, 64)), {"padding": 1}),  # 225 of at least 224
        ("direct_channels", ("conv", (8, 512, 74), (3, 74, 64)), {"padding": 1}),
    ],
    "pixels of direct_taps": [
        ("direct_taps", ("conv", (1, 32, 64, 256), (3, 3, 256, 256)), {"stride": 2, "padding": 1}),  # 512
        ("direct_channels", ("conv", (1, 38, 54, 256), (3, 3, 256, 256)), {"stride": 2, "padding": 1}),  # 513
    ],
    "groups": [
        ("direct_depthwise", ("conv", (8, 56, 56, 64), (3, 3, 1, 64)), {"groups": 64}),
        ("direct_channels", ("conv", (8, 56, 56, 64), (3, 3, 32, 64)), {"groups": 2, "stride": 2}),
    ],
}


@pytest.mark.parametrize("what", SIDES)
def test_both_sides_of_a_threshold(what: str) -> None:
    for level in BEST:
        with with_level(level):
            found = [cn.which_kernel(*arguments, **options) for _, arguments, options in SIDES[what]]
        assert found == [name for name, _, _ in SIDES[what]], level


def test_backward() -> None:
    def name(function: Any, window: tuple[int, int], shape: tuple[int, ...] = PLANES, **options: Any) -> str:
        x = np.zeros(shape, np.float32)

        def run() -> None:
            y, pull = cn.vjp(lambda x: function(x, window, **options), x)
            pull(y)

        return _core.trace(run)[-1]

    last = {"axes": (1, 2)}  # of channels-last arrays
    for level in BEST:
        with with_level(level):
            assert name(cn.max_pool, (2, 2)) == "backward_gather"
            assert name(cn.max_pool, (3, 3)) == "backward_scatter"
            assert name(cn.max_pool, (2, 2), dilation=2) == "backward_scatter"
            # Rows of windows that overlap one row of elements.
            assert name(cn.max_pool, (8, 2), stride=(1, 2)) == "backward_gather"
            assert name(cn.max_pool, (9, 2), stride=(1, 2)) == "backward_scatter"
            # Windows that do not overlap, and bytes of lanes.
            assert name(cn.avg_pool, (3, 3), (8, 32, 32, 16), **last) == "backward_avg"
            assert name(cn.avg_pool, (3, 4), (8, 32, 32, 16), **last, stride=3) == "separable"
            assert name(cn.avg_pool, (3, 3), (8, 32, 32, 15), **last) == "separable"
            assert name(cn.avg_pool, (2, 2)) == "backward_avg"
            assert name(cn.avg_pool, (3, 3)) == "separable"


def test_every_level_has_a_kernel_for_every_dtype_and_operation() -> None:
    for level in LEVELS:
        with with_level(level):
            operations = ("max_pool", "min_pool", "sum_pool", "avg_pool", "lp_pool", "smooth_max_pool", "median_pool")
            for op, dtype in itertools.product(operations, "?bBhHiIqQefd"):
                assert cn.which_kernel(op, (4, 9, 11), (2, 3), dtype=dtype, stride=1) in POOLING
            for dtype in "bBhHiIqQefd":
                assert cn.which_kernel("conv", (2, 9, 3), (3, 3, 4), dtype=dtype) in CONVOLUTION


def test_nothing_is_computed_while_names_are_asked_for() -> None:
    x = np.arange(64.0).reshape(8, 8)
    assert cn.which_kernel("max_pool", x, (2, 2)) in POOLING
    assert cn.which_kernel("adaptive_max_pool", x, (3, 3)) in POOLING
    assert cn.which_kernel("global_avg_pool", (3, 8, 8), axes=(1, 2)) in POOLING
    for op in ("correlate", "convolve"):
        assert cn.which_kernel(op, (8, 9), (3, 3), mode="same", stride=2) in CONVOLUTION
        assert cn.which_kernel(op, x, np.ones(3), axes=0) in CONVOLUTION  # a filter of one axis, not a shape of three
    assert np.array_equal(cn.max_pool(x, (2, 2)), x[1::2, 1::2])
    with pytest.raises(ValueError, match="too_large"):
        _core.trace(lambda: (_ for _ in ()).throw(ValueError("too_large")))
    assert np.array_equal(cn.max_pool(x, (2, 2)), x[1::2, 1::2])


def test_the_dtype_is_that_of_the_result_for_an_array_and_of_the_input_for_a_shape() -> None:
    x = np.zeros((64, 64), np.uint8)
    assert cn.which_kernel("avg_pool", x, (2, 2), dtype=np.uint8) == "direct_uint"
    assert cn.which_kernel("avg_pool", x, (2, 2)) == cn.which_kernel("avg_pool", (64, 64), (2, 2), dtype=np.uint8)
    assert cn.which_kernel("avg_pool", x, (2, 2)) != "direct_uint"
    with pytest.raises(TypeError, match="max_pool has no dtype="):
        cn.which_kernel("max_pool", x, (2, 2), dtype=np.uint8)


def test_the_generic_pool_has_the_kernel_of_its_function_or_none() -> None:
    def never(a: Any, b: Any) -> Any:
        raise AssertionError("it was computed")

    large = (1 << 16, 1 << 14)
    for fn, op in ((np.maximum, "max_pool"), (np.minimum, "min_pool"), (np.add, "sum_pool")):
        expected = cn.which_kernel(op, large, (3, 3), stride=1)
        assert cn.which_kernel("pool", large, (3, 3), init=0, reduce_fn=fn, stride=1) == expected
    assert cn.which_kernel("pool", large, (3, 3), init=0, reduce_fn=np.multiply) == "none"
    assert cn.which_kernel("pool", large, (3, 3), init=0, reduce_fn=never) == "none"


def test_invalid_queries() -> None:
    with pytest.raises(ValueError, match=r"which_kernel: op='max_pool2d': one of max_pool, min_pool, .* is needed"):
        cn.which_kernel("max_pool2d", (4, 4), (2, 2))
    with pytest.raises(TypeError, match="op=3: the name of a function is needed, not an int"):
        cn.which_kernel(3, (4, 4), (2, 2))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="window=None: max_pool needs one"):
        cn.which_kernel("max_pool", (4, 4))
    with pytest.raises(ValueError, match="larger than 1 TiB"):
        cn.which_kernel("max_pool", (2**30, 2**30), (2, 2))
    with pytest.raises(ValueError, match="window"):
        cn.which_kernel("max_pool", (4, 4), (5, 5))


def test_verbose_names_every_call() -> None:
    code = "import numpy as np, cenote as cn; cn.max_pool(np.zeros((64, 64), np.float32), (2, 2))"
    for value, lines in (("1", 1), ("0", 0), ("", 0)):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env={"CENOTE_VERBOSE": value, "PATH": ""}
        )
        assert done.returncode == 0, done.stderr
        found = done.stderr.splitlines()
        assert len(found) == lines
        assert all(line.startswith("cenote: pool, ") and "64x64" in line and line.endswith(" ms") for line in found)


if __name__ == "__main__":
    found = {}
    for each in ("avx2", "avx512"):
        with with_level(each):
            found[each] = {row.key: names_of(row) for row in TIMED}
    both = {key: dict.fromkeys((found["avx2"][key], found["avx512"][key])) for key in found["avx2"]}
    NAMES.write_text("".join(f"{key} → {' → '.join(names)}\n" for key, names in both.items()))
