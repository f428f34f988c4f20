"""The rounding error of float32 convolutions and of both derivatives vs. torch's, measured against float64.

Sums have the lengths of the rows of the benchmarks, and of two deep layers; planes and batches are those of the rows,
where one filter has thousands of elements smaller ones. The table in docs/semantics.md is printed by running this file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  what its users call it

import cenote as cn
from cases import LEVELS
from cenote import _core
from conv_work import Conv
from rows import rows

Array = np.ndarray[Any, np.dtype[Any]]

DIRECT, TRANSFORMED = 1.3, 2.0  # times torch's error: for sums of products, and where Winograd or an FFT serves
PARTS = {"y": "forward", "x": "VJP by x", "w": "VJP by w"}


def named_cases() -> dict[str, Conv]:
    """The rows of the benchmarks, whatever their layout and mode, and two deep layers."""
    found = {
        "3×3 512→512, 8×7×7": Conv((8, 512, 7, 7), 512, (3, 3), padding=1),
        "1×1 2048→512, 8×7×7": Conv((8, 2048, 7, 7), 512, (1, 1)),
    }
    for row in rows():
        if isinstance(row.case, Conv) and row.case.layout == "first" and row.case.mode == "forward":
            found[row.name.removesuffix(", channels first")] = row.case
    for name, plane in (("64×64 on one channel, 4×512×512", 128), ("127×127 on one channel, 2048²", 192)):
        case = found.pop(name)
        found[f"{name.split(',')[0]}, {plane}²"] = Conv((1, 1, plane, plane), 1, case.window)
    for name, case in found.items():
        if case.window == (16385,):  # torch's direct sums take half a minute for the whole signal
            found[name] = replace(case, shape=(1, 1, 4000 if case.padding else 20000))
    return found


CASES = named_cases()
# Where Winograd or an FFT makes the result and its derivative by x. The filter's derivative is always a direct sum.
BY_TRANSFORMS = (
    "3×3 512→512, 8×7×7",
    "3×3 256→256, 8×7×7",
    "3×3 64→64, 8×56×56",
    "3×3 256→256, 8×14×14",
    "3×3 dilation 2 64→64, 8×56×56",
    "5×5 16→32, 16×28×28",
    "transposed 4×4 s2 p1 64→32, 16×28×28",
    "1-D 9 64→64, 8×4096",
    "3-D 3×3×3 32→32, 8×16×16×16",
    "64×64 on one channel, 128²",
    "127×127 on one channel, 192²",
)


@dataclass(frozen=True)
class Work:
    case: Conv
    x: Array
    w: Array
    g: Array
    exact: list[Array]  # y and both cotangents
    theirs: list[Array]


def by_torch(case: Conv, dtype: torch.dtype, *arrays: Array) -> list[Array]:
    x, w, g = (torch.from_numpy(array).to(dtype) for array in arrays)
    leaves = [x.requires_grad_(), w.requires_grad_()]
    function = getattr(F, f"{case.op}{len(case.window)}d")
    options = {"stride": case.stride, "padding": case.padding, "dilation": case.dilation, "groups": case.groups}
    y = function(*leaves, **options)
    return [part.detach().numpy() for part in (y, *torch.autograd.grad(y, leaves, g))]


@cache
def work(name: str) -> Work:
    case, rng = CASES[name], np.random.default_rng(7)
    x, w, g = (
        rng.standard_normal(shape, dtype=np.float32) for shape in (case.shape, case.filter_shape, case.output_shape)
    )
    return Work(case, x, w, g, by_torch(case, torch.float64, x, w, g), by_torch(case, torch.float32, x, w, g))


def ours(held: Work, layout: str) -> list[Array]:
    """y and both cotangents, with their axes as torch has them."""
    case, x, w, g = held.case, held.x, held.w, held.g
    options = case.options() | {"layout": layout}
    last = layout == "channels_last"
    if last:
        x, g = (np.ascontiguousarray(np.moveaxis(array, 1, -1)) for array in (x, g))
        w = np.ascontiguousarray(np.moveaxis(w, (0, 1), (-1, -2)))
    function = getattr(cn, case.op)
    y, pull = cn.vjp(lambda x, w: function(x, w, **options), x, w)
    by_x, by_w = pull(g)
    if not last:
        return [y, by_x, by_w]
    return [np.moveaxis(y, -1, 1), np.moveaxis(by_x, -1, 1), np.moveaxis(by_w, (-1, -2), (0, 1))]


def error(got: Array, exact: Array) -> tuple[float, float]:
    """Root mean square and largest, relative to the root mean square of the result."""
    scale = np.sqrt(np.mean(exact**2))
    wrong = np.abs(got - exact) / scale
    return float(np.sqrt(np.mean(wrong**2))), float(wrong.max())


@pytest.mark.parametrize("layout", ["channels_first", "channels_last"])
@pytest.mark.parametrize("name", CASES)
def test_rounding_is_that_of_torch(name: str, layout: str) -> None:
    held = work(name)
    for part, got, theirs, exact in zip(PARTS, ours(held, layout), held.theirs, held.exact, strict=True):
        bound = TRANSFORMED if name in BY_TRANSFORMS and part != "w" else DIRECT
        (rms, largest), (their_rms, their_largest) = error(got, exact), error(theirs, exact)
        assert rms <= bound * their_rms, PARTS[part]
        assert largest <= 2 * bound * their_largest, PARTS[part]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["3×3 512→512, 8×7×7", "1×1 2048→512, 8×7×7", "3×3 256→256, 8×14×14"])
def test_rounding_is_that_of_torch_on_every_level(name: str, level: str) -> None:
    held, before = work(name), _core.level()
    _core.use_level(level)
    try:
        made = ours(held, "channels_first")
    finally:
        _core.use_level(before)
    for part, got, theirs, exact in zip(PARTS, made, held.theirs, held.exact, strict=True):
        bound = TRANSFORMED if name in BY_TRANSFORMS and part != "w" else DIRECT
        assert error(got, exact)[0] <= bound * error(theirs, exact)[0], PARTS[part]


@pytest.mark.parametrize("name", ["3×3 512→512, 8×7×7", "1×1 2048→512, 8×7×7", "7×7 s2 3→64, 8×224×224"])
def test_blocks_of_a_sum_do_not_depend_on_threads(name: str) -> None:
    held, before = work(name), cn.get_num_threads()
    made = []
    try:
        for threads in (1, 2, 3, 8):
            cn.set_num_threads(threads)
            made.append(ours(held, "channels_first"))
    finally:
        cn.set_num_threads(before)
    for other in made[1:]:
        for a, b in zip(made[0], other, strict=True):
            np.testing.assert_array_equal(a.view(np.uint32), b.view(np.uint32))


def print_table() -> None:
    print("| | forward | VJP by `x` | VJP by `w` |\n| --- | --- | --- | --- |")
    for name in CASES:
        held = work(name)
        elements = []
        for got, theirs, exact in zip(ours(held, "channels_first"), held.theirs, held.exact, strict=True):
            pairs = [tuple(1e7 * e for e in error(each, exact)) for each in (got, theirs)]
            elements.append(" / ".join(f"{rms:.1f}, {largest:.0f}" for rms, largest in pairs))
        print(f"| {name} | {' | '.join(elements)} |", flush=True)


if __name__ == "__main__":
    print_table()
