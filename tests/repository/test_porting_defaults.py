"""The table of defaults in docs/porting.md: every cell has a check, which runs the library that it is about."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cenote as cn

PAGE = (Path(__file__).parents[2] / "docs" / "porting.md").read_text(encoding="utf-8")
NOT_MEANT = "–"  # a cell of a library that has no such argument
LIBRARIES = ("cenote", "torch", "flax", "scipy.ndimage filters", "skimage `block_reduce`", "xarray")


def table() -> dict[tuple[str, str], str]:
    """The cells of the table, by row and library."""
    section = PAGE.partition("\n## Defaults\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert tuple(header[1:]) == LIBRARIES
    return {(row[0], library): cell for row in rows for library, cell in zip(header[1:], row[1:], strict=True)}


def names_of(library: str) -> dict[str, Any]:
    """What the checks of a library are evaluated with: ``line`` makes one axis of what it pools."""
    if library == "cenote":
        return {"cn": cn, "line": lambda *values: np.array(values, float)}
    if library == "torch":
        import torch
        import torch.nn.functional as F  # noqa: N812

        return {"F": F, "ones": torch.ones, "line": lambda *values: torch.tensor([values], dtype=torch.float64)}
    if library == "flax":
        from flax import nnx

        return {"nnx": nnx, "line": lambda *values: np.array(values, "f")[None, :, None]}
    if library.startswith("scipy"):
        from scipy import ndimage

        return {"ndimage": ndimage, "line": lambda *values: np.array(values, float)}
    if library.startswith("skimage"):
        from skimage.measure import block_reduce

        return {"block_reduce": block_reduce, "line": lambda *values: np.array(values, float)}
    import xarray as xr

    return {"xr": xr, "line": lambda *values: xr.DataArray(np.array(values, float), dims="t")}


def raises(error: type[Exception], call: Callable[[], Any]) -> bool:
    with pytest.raises(error):
        call()
    return True


def same(got: Any, *expected: float) -> bool:
    np.testing.assert_array_equal(np.ravel(got), expected)
    return True


def takes(name: str, *functions: Any) -> list[bool]:
    return [name in inspect.signature(function).parameters for function in functions]


HELPERS: dict[str, Any] = {"np": np, "inf": np.inf, "raises": raises, "same": same, "takes": takes}
POOLS = (
    "cn.max_pool, cn.min_pool, cn.avg_pool, cn.sum_pool, cn.lp_pool, cn.smooth_max_pool, cn.median_pool, cn.mode_pool"
)

# Of each row what the table says and a check, in the order of the libraries; no check where there is nothing to say.
CHECKS: dict[str, list[tuple[str, str]]] = {
    "stride": [
        ("the window", "same(cn.max_pool(line(1, 2, 3, 4), (2,)), 2, 4)"),
        ("the window", "same(F.max_pool1d(line(1, 2, 3, 4), 2), 2, 4)"),
        ("**1**", "same(nnx.max_pool(line(1, 2, 3, 4), (2,)), 2, 3, 4)"),
        ("1", "same(ndimage.maximum_filter(line(1, 2, 3, 4), 2), 1, 2, 3, 4)"),
        ("the block", "same(block_reduce(line(1, 2, 3, 4), 2, np.max), 2, 4)"),
        (
            "`coarsen`: the window; `rolling`: 1",
            "same(line(1, 2, 3, 4).coarsen(t=2).max(), 2, 4)"
            " and same(line(1, 2, 3, 4).rolling(t=2).max()[1:], 2, 3, 4)",
        ),
    ],
    "pooled axes": [
        (
            "trailing, or `axes=`",
            "cn.max_pool(np.ones((3, 4, 6)), (2, 2)).shape == (3, 2, 3)"
            " and cn.max_pool(np.ones((3, 4, 6)), (3, 2), axes=(0, 1)).shape == (1, 2, 6)",
        ),
        (
            "trailing, after (N)C",
            "F.max_pool2d(ones(5, 3, 4, 6), 2).shape == (5, 3, 2, 3)"
            " and F.max_pool2d(ones(3, 4, 6), 2).shape == (3, 2, 3)",
        ),
        ("all but the first and the last", "nnx.max_pool(np.ones((3, 4, 6, 5)), (2, 2)).shape == (3, 3, 5, 5)"),
        (
            "all, or `axes`",
            "same(ndimage.maximum_filter(np.eye(2), 3), 1, 1, 1, 1)"
            " and same(ndimage.maximum_filter(np.diag([1, 2]), (3,), axes=(0,)), 1, 2, 1, 2)",
        ),
        ("all", "block_reduce(np.ones((4, 6)), 2, np.max).shape == (2, 3)"),
        ("by name", "xr.DataArray(np.ones((4, 6)), dims=('y', 'x')).coarsen(y=2).max().shape == (2, 6)"),
    ],
    "window as one int": [
        (
            "requires `axes=`",
            "raises(ValueError, lambda: cn.max_pool(np.ones((4, 6)), 2))"
            " and cn.max_pool(np.ones((4, 6)), 2, axes=(0, 1)).shape == (2, 3)",
        ),
        ("every spatial axis", "F.max_pool2d(ones(3, 4, 6), 2).shape == (3, 2, 3)"),
        ("an error", "raises(TypeError, lambda: nnx.max_pool(np.ones((1, 4, 6, 1)), 2))"),
        ("every axis", "same(ndimage.maximum_filter(np.diag([1, 2]), 3), 2, 2, 2, 2)"),
        ("every axis", "block_reduce(np.ones((4, 6)), 2, np.max).shape == (2, 3)"),
        (NOT_MEANT, ""),
    ],
    "padding": [
        ("none", "cn.max_pool(line(1, 2, 3), (3,), stride=1).shape == (1,)"),
        ("none", "F.max_pool1d(line(1, 2, 3), 3, 1).shape == (1, 1)"),
        ("none", "nnx.max_pool(line(1, 2, 3), (3,)).shape == (1, 1, 1)"),
        (
            "input size is kept, edges reflected",
            "same(ndimage.uniform_filter(line(3, 6, 12), 3), 4, 7, 10)",  # (3 + 3 + 6) / 3, and so on
        ),
        ("zeros at the end, to whole blocks", "same(block_reduce(line(1, 2, 3), 2, np.mean), 1.5, 1.5)"),
        (
            "`coarsen`: an error unless the window divides the axis",
            "raises(ValueError, lambda: line(1, 2, 3).coarsen(t=2).max()) and same(line(1, 2).coarsen(t=2).max(), 2)",
        ),
    ],
    "padding, at most": [
        ("any size", "same(cn.max_pool(line(1), (2,), padding=4), -inf, -inf, 1, -inf)"),
        (
            "half of the window",
            "raises(RuntimeError, lambda: F.max_pool1d(line(1, 2), 2, padding=2))"
            " and same(F.max_pool1d(line(1, 2), 2, padding=1), 1, 2)",
        ),
        ("any size", "same(nnx.max_pool(line(1), (2,), (2,), ((4, 4),)), -inf, -inf, 1, -inf)"),
        *[(NOT_MEANT, "")] * 3,
    ],
    "negative padding": [
        ("ValueError", "raises(ValueError, lambda: cn.max_pool(line(1, 2, 3), (2,), padding=-1))"),
        ("error", "raises(RuntimeError, lambda: F.max_pool1d(line(1, 2, 3), 2, padding=-1))"),
        ("crops", "same(nnx.max_pool(line(9, 2, 3), (2,), padding=((-1, 0),)), 3)"),
        *[(NOT_MEANT, "")] * 3,
    ],
    "window larger than the input": [
        ("ValueError", "raises(ValueError, lambda: cn.max_pool(line(1, 2), (3,)))"),
        ("error", "raises(RuntimeError, lambda: F.max_pool1d(line(1, 2), 3))"),
        ("an empty axis", "nnx.max_pool(line(1, 2), (3,)).shape == (1, 0, 1)"),
        *[(NOT_MEANT, "")] * 3,
    ],
    "padding in a maximum": [
        ("never selected", "same(cn.max_pool(line(-inf, -5), (2,), padding=1, return_indices=True)[1], 0, 1)"),
        ("−inf", "same(F.max_pool1d(line(-3, -5), 2, padding=1), -3, -5)"),
        ("−inf", "same(nnx.max_pool(line(-3), (1,), padding=((1, 0),)), -inf, -3)"),
        ("copies of elements", "same(ndimage.maximum_filter(line(-3, -5, -7), 3), -3, -3, -5)"),
        (
            "`cval`, 0",
            "same(block_reduce(line(-1, -2, -3), 2, np.max), -1, 0)"
            " and same(block_reduce(line(-1, -2, -3), 2, np.max, cval=-9), -1, -3)",
        ),
        ("missing", "same(line(-1, -2, -3).coarsen(t=2, boundary='pad').max(), -1, -3)"),
    ],
    "an average divides by": [
        (
            "positions in the padded input",
            "same(cn.avg_pool(line(6, 6), (2,), padding=1), 3, 3)"
            " and same(cn.avg_pool(line(6, 6, 6), (2,), ceil_mode=True), 6, 6)",
        ),
        (
            "the same",
            "same(F.avg_pool1d(line(6, 6), 2, padding=1), 3, 3)"
            " and same(F.avg_pool1d(line(6, 6, 6), 2, ceil_mode=True), 6, 6)",
        ),
        ("the window size", "same(nnx.avg_pool(line(6, 6), (2,), (2,), ((1, 1),)), 3, 3)"),
        ("the window size", "same(ndimage.uniform_filter1d(line(6, 6), 3, mode='constant'), 4, 4)"),
        ("the window size, zeros included", "same(block_reduce(line(6, 6, 6), 2, np.mean), 6, 3)"),
        ("elements that are not missing", "same(line(6, np.nan, 6).coarsen(t=3).mean(), 6)"),
    ],
    "rounding the size up": [
        ("`ceil_mode`", "same(cn.max_pool(line(1, 2, 3), (2,), ceil_mode=True), 2, 3)"),
        ("`ceil_mode`", "same(F.max_pool1d(line(1, 2, 3), 2, ceil_mode=True), 2, 3)"),
        ("no", "not any(takes('ceil_mode', nnx.max_pool, nnx.avg_pool))"),
        (NOT_MEANT, ""),
        ("always", "same(block_reduce(line(1, 2, 3), 2, np.max), 2, 3)"),
        ('`boundary="pad"`', "same(line(1, 2, 3).coarsen(t=2, boundary='pad').max(), 2, 3)"),
    ],
    "dilation": [
        ("every operation", f"all(takes('dilation', {POOLS}, cn.pool))"),
        (
            "max only",
            "same(F.max_pool1d(line(1, 9, 2), 2, dilation=2), 2)"
            " and raises(TypeError, lambda: F.avg_pool1d(line(1, 9, 2), 2, dilation=2))"
            " and raises(TypeError, lambda: F.lp_pool1d(line(1, 9, 2), 2, 2, dilation=2))",
        ),
        ("no", "not any(takes('window_dilation', nnx.max_pool, nnx.avg_pool, nnx.pool))"),
        ("no", "not any(takes('dilation', ndimage.maximum_filter, ndimage.uniform_filter, ndimage.median_filter))"),
        ("no", "not any(takes('dilation', block_reduce))"),
        ("no", "not any(takes('dilation', line(1).coarsen, line(1).rolling))"),
    ],
    "index of the maximum": [
        ("`return_indices`", "same(cn.max_pool(line(1, 3, 2), (3,), return_indices=True)[1], 1)"),
        ("`return_indices`", "same(F.max_pool1d(line(1, 3, 2), 3, return_indices=True)[1], 1)"),
        ("no", "not any(takes('return_indices', nnx.max_pool))"),
        ("no", "not any(takes('return_indices', ndimage.maximum_filter))"),
        ("no", "not any(takes('return_indices', block_reduce))"),
        (
            "`coarsen`: no; `rolling`: `argmax`",
            "not hasattr(line(1).coarsen(t=1), 'argmax') and same(line(1, 3, 2).rolling(t=3).argmax()[2:], 1)",
        ),
    ],
}


def test_every_cell_has_a_check() -> None:
    cells = {
        (row, library): cell
        for row, of_row in CHECKS.items()
        for library, (cell, _) in zip(LIBRARIES, of_row, strict=True)
    }
    assert table() == cells
    assert all(bool(code) == (cell != NOT_MEANT) for of_row in CHECKS.values() for cell, code in of_row)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("row", CHECKS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_default_is_what_the_table_says(row: str, library: str) -> None:
    cell, code = CHECKS[row][LIBRARIES.index(library)]
    if cell != NOT_MEANT:
        assert eval(code, {**HELPERS, **names_of(library)}), f"{library}: {row}: {cell}"
