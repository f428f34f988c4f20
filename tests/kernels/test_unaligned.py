"""Arrays that do not lie at a multiple of their elements' size, at every entry: inputs, tangents, cotangents, indices,
filters. The results are those of a plain copy, of pooling to the bit. On most CPUs such reads work even where C++ does
not allow them: `make sanitize` is what finds those."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cases import LEVELS, Array, same_bits
from cenote import _core

DTYPES = ["float16", "float32", "float64"]
# Scatters by element, by tap and by window; sums of windows that tile, overlap and leave gaps.
WINDOWS: list[dict[str, Any]] = [
    {"window": (2, 2)},
    {"window": (2, 2), "padding": ((0, 1), (1, 0))},
    {"window": (2, 2), "stride": 1},
    {"window": (3, 3), "stride": 2, "padding": 1},
    {"window": (3, 3), "stride": (1, 2), "padding": 1, "dilation": (2, 1)},
    {"window": (3, 3), "stride": 1, "padding": 1},
    {"window": (5, 4), "stride": 2},
    {"window": (4, 4)},
    {"window": (2, 3), "stride": 4},
    {"window": (7, 7), "stride": 1, "padding": 3},
    {"window": (9, 8), "stride": (3, 2)},
]
# Planes with rows that end within a vector; lanes of less and of more than a line of the cache.
PLACES: list[tuple[tuple[int, ...], tuple[int, int]]] = [
    ((2, 21, 37), (1, 2)),
    ((21, 18, 5), (0, 1)),
    ((19, 13, 35), (0, 1)),
]


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    before = _core.level()
    _core.use_level(request.param)
    yield request.param
    _core.use_level(before)


def shifted(x: Array) -> Array:
    """One byte on, as ``np.frombuffer`` makes arrays behind a header."""
    return np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape)


def packed(x: Array) -> Array:
    """The field of a packed record: rows are not a multiple of an element apart."""
    records = np.zeros(x.shape[:-1], [("tag", "u1"), ("elements", x.dtype, x.shape[-1:])])
    records["elements"] = x
    return np.asarray(records["elements"])


def crooked(x: Array) -> list[Array]:
    found = [shifted(x), packed(x)]
    assert not any(a.flags.aligned for a in found if a.itemsize > 1)
    return found


def random(shape: tuple[int, ...], dtype: str, seed: int = 0, scale: float = 50) -> Array:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def check_function(f: Callable[..., Any], *given: Array, same: Callable[[Array, Array], bool] = same_bits) -> None:
    """A function of arrays, there, along tangents and back."""
    y, pull = cn.vjp(f, *given)
    g = random(y.shape, y.dtype.name, 1)
    tangents = tuple(random(x.shape, x.dtype.name, 2) for x in given)
    back, (_, along) = pull(g), cn.jvp(f, given, tangents)
    for turned in range(2):
        arrays = tuple(crooked(x)[turned] for x in given)
        assert same(f(*arrays), y)
        found, pull_of = cn.vjp(f, *arrays)
        assert same(found, y)
        pushed = cn.jvp(f, arrays, tuple(crooked(t)[turned] for t in tangents))[1]
        assert same(pushed, along)
        for a, b, c in zip(pull(crooked(g)[turned]), pull_of(g), back, strict=True):
            assert same(a, c)
            assert same(b, c)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", WINDOWS, ids=str)
@pytest.mark.parametrize("name", ["max_pool", "avg_pool", "sum_pool", "lp_pool", "smooth_max_pool", "median_pool"])
def test_pooling(name: str, options: dict[str, Any], dtype: str) -> None:
    for shape, axes in PLACES:
        check_function(functools.partial(getattr(cn, name), axes=axes, **options), random(shape, dtype))


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["adaptive_max_pool", "adaptive_avg_pool"])
def test_bins(name: str, dtype: str) -> None:
    for shape, axes in PLACES:
        for output in ((3, 5), (4, 11)):
            check_function(functools.partial(getattr(cn, name), output_size=output, axes=axes), random(shape, dtype))


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "uint32", "int64", "float16", "float32", "complex64"])
def test_inputs(dtype: str) -> None:
    for shape, axes in PLACES:
        x = random(shape, dtype) if dtype != "bool" else random(shape, "f") > 0
        for options in WINDOWS:
            how = {"axes": axes, **options}
            for y in crooked(x):
                assert same_bits(cn.sum_pool(y, **how), cn.sum_pool(x, **how))
                assert same_bits(cn.avg_pool(y, **how), cn.avg_pool(x, **how))
                if dtype == "complex64":
                    continue
                found = cn.max_pool(y, return_indices=True, **how)
                expected = cn.max_pool(x, return_indices=True, **how)
                assert all(same_bits(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_unpooling(dtype: str) -> None:
    y = random((3, 9, 11), dtype)
    indices = np.random.default_rng(3).permutation(18 * 22)[: 9 * 11].reshape(9, 11) * np.ones((3, 1, 1), np.int64)
    indices[0, 2, 3] = -1
    expected = cn.max_unpool(y, indices, (2, 2), axes=(1, 2))
    for values, where in zip(crooked(y), crooked(indices), strict=True):
        assert same_bits(cn.max_unpool(values, where, (2, 2), axes=(1, 2)), expected)


def nearly_same(a: Array, b: Array) -> bool:
    """The order of a convolution's sums depends on the layout, and a copy has another one."""
    return bool(np.abs(a - b).max() <= (1e-2 if a.dtype == np.float16 else 1e-5) * np.abs(b).max())


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", [*DTYPES, "complex64"])
@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
def test_convolution(layout: str, dtype: str) -> None:
    last = layout == "channels_last"
    for channels, filters, groups, size in ((5, 7, 1, 3), (16, 16, 16, 3), (33, 40, 1, 3), (1, 1, 1, 20)):
        space, window = (24, 23), (size, size)
        x = random((2, *space, channels) if last else (2, channels, *space), dtype, 0, 1)
        part = channels // groups
        w = random((*window, part, filters) if last else (filters, part, *window), dtype, 1, 1)
        how: Any = functools.partial(cn.conv, groups=groups, layout=layout)
        if dtype == "complex64":
            for a, b, c in zip(crooked(x), crooked(w), crooked(random((filters,), dtype, 2)), strict=True):
                assert nearly_same(how(a, b, bias=c), how(x, w, bias=c.copy()))
        else:
            bias = random((filters,), dtype, 2)
            check_function(lambda a, b, c, how=how: how(a, b, bias=c), x, w, bias, same=nearly_same)
