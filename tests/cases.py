"""Arrays and windows to test with: every dtype, layout, option and awkward value, in every combination."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import assume, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cenote import _core
from cenote.arguments.errors import BadValue
from cenote.geometry.axes import Geometry
from cenote.geometry.window import parse_window

Array = NDArray[Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = [np.dtype(t) for t in "bBhHiIqQ"]
FLOATS = [np.dtype("e"), BFLOAT16, np.dtype("f"), np.dtype("d")]
REALS = [np.dtype("?"), *INTEGERS, *FLOATS]
COMPLEX: list[np.dtype[Any]] = [np.dtype("F"), np.dtype("D")]
LEVELS = [_core.level()] if os.environ.get("CENOTE_SIMD") else _core.levels()

# Ties, signed zeros, infinities and NaN are the rule here, not the exception.
AWKWARD = np.array([-2.0, -1.0, -0.0, 0.0, 1.0, 2.0, np.inf, -np.inf, np.nan])
ODDS = np.array([0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.04, 0.06, 0.06])

SHARE = int(os.environ.get("CENOTE_TEST_SHARE", "1"))  # where each case takes long, one of so many


def examples(count: int) -> settings:
    return settings(max_examples=count // SHARE)


def make_data(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], awkward: bool) -> Array:
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if awkward:
            return rng.integers(max(limits.min, -3), 4, shape).astype(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)

    def floats() -> Array:
        return rng.choice(AWKWARD, shape, p=ODDS) if awkward else rng.standard_normal(shape)

    if dtype.kind == "c":
        out = np.empty(shape, dtype)
        out.real, out.imag = floats(), floats()
        return out
    return floats().astype(dtype)


def lay_out(x: Array, layout: str, rng: np.random.Generator) -> Array:
    """The same values in another memory layout."""
    match layout:
        case "fortran":
            return np.asfortranarray(x)
        case "permuted":
            order = rng.permutation(x.ndim)
            return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
        case "reversed":
            axis = int(rng.integers(x.ndim))
            return np.flip(np.flip(x, axis).copy(), axis)
        case "every other":
            return np.repeat(x, 2, axis=-1)[..., ::2]
        case "big endian":
            return x if x.dtype == BFLOAT16 else x.astype(x.dtype.newbyteorder(">"))
        case "unaligned":
            raw = np.empty(x.nbytes + 1, np.uint8)
            out = raw[1:].view(x.dtype).reshape(x.shape)
            out[...] = x
            return out
        case "read only":
            x.flags.writeable = False
            return x
        case "broadcast":
            return np.broadcast_to(x[:1], x.shape)
        case _:
            return x


LAYOUTS = ["c", "fortran", "permuted", "reversed", "every other", "big endian", "unaligned", "read only", "broadcast"]


@dataclass(frozen=True)
class Case:
    """An array with a window that fits on it, and how to run it."""

    x: Array
    arguments: dict[str, Any]
    geometry: Geometry
    level: str
    threads: int
    limits: tuple[int, int]

    @contextmanager
    def setting(self) -> Iterator[None]:
        """The SIMD level, the threads, and limits so small that tiles and threads have borders everywhere, and all
        results are streamed that can be."""
        level, threads = _core.level(), _core.num_threads()
        _core.use_level(self.level)
        _core.set_num_threads(self.threads)
        _core.set_limits(*self.limits, STREAMED if self.limits == DEFAULT_LIMITS else 0)
        try:
            yield
        finally:
            _core.use_level(level)
            _core.set_num_threads(threads)
            _core.set_limits(*DEFAULT_LIMITS, STREAMED)


DEFAULT_LIMITS = (192 * 1024, 32 * 1024)
STREAMED = 16 * 2**20  # bytes of results from which on they are streamed


@st.composite
def cases(draw: st.DrawFn, dtypes: list[np.dtype[Any]]) -> Case:
    ndim = draw(st.integers(1, 5))
    rank = draw(st.integers(1, ndim))
    largest = {1: 150, 2: 40, 3: 14}.get(ndim, 8)
    sizes = st.integers(1, largest) if draw(st.integers(0, 9)) else st.integers(0, 3)
    shape = tuple(draw(st.lists(sizes, min_size=ndim, max_size=ndim)))

    def per_axis(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))

    window = per_axis(1, {1: 70, 2: 20}.get(rank, 4))
    arguments: dict[str, Any] = {
        "window": window,
        "stride": draw(st.sampled_from([None, per_axis(1, 5)])),
        "padding": draw(
            st.sampled_from(
                ["valid", "same", "same_lower", per_axis(0, 4), tuple(zip(per_axis(0, 6), per_axis(0, 6), strict=True))]
            )
        ),
        "dilation": draw(st.sampled_from([1, per_axis(1, 3)])),
        "ceil_mode": draw(st.booleans()),
        "axes": tuple(draw(st.permutations(range(ndim)))[:rank]),
    }
    try:
        geometry = parse_window(**arguments).on(shape)
    except BadValue:
        assume(False)
        raise
    # The reference holds all elements of all windows at once.
    assume(math.prod(geometry.out_shape) * math.prod(window) <= 300_000)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = make_data(rng, shape, draw(st.sampled_from(dtypes)), draw(st.booleans()))
    x = lay_out(x, draw(st.sampled_from(LAYOUTS)), rng)
    return Case(
        x,
        arguments,
        geometry,
        draw(st.sampled_from(LEVELS)),
        draw(st.integers(1, 3)),
        draw(st.sampled_from([DEFAULT_LIMITS, (1, 1), (256, 16), (2048, 64)])),
    )


def bits(x: Array) -> bytes:
    return np.ascontiguousarray(x).view(np.uint8).tobytes() if x.size else b""


def same_bits(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and bits(a) == bits(b)
