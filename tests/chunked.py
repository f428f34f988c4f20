"""Arrays in random chunks, and what a graph of dask needs and does: shared by the tests of dask and xarray."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np

from cases import same_bits
from other_backends import outcome
from vocabulary import one_nan

Function = Callable[..., Any]


def sizes_of(rng: np.random.Generator, n: int) -> tuple[int, ...]:
    """``n`` as a sum: of one, of equal parts, of single ones, or of any, some of them 0."""
    match int(rng.integers(4)):
        case 0:
            return (n,)
        case 1 if n:
            each = int(rng.integers(1, n + 1))
            return (*(each,) * (n // each), *((n % each,) if n % each else ()))
        case 2 if 0 < n <= 12:
            return (1,) * n
    places = sorted(int(p) for p in rng.integers(0, n + 1, rng.integers(0, 5)))
    return tuple(b - a for a, b in zip([0, *places], [*places, n], strict=True))


def chunked(x: Any, rng: np.random.Generator) -> Any:
    """``x`` as a dask array in random chunks."""
    chunks = tuple(sizes_of(rng, n) for n in x.shape)
    return da.from_array(x, chunks=chunks)


def computed(*arrays: Any) -> tuple[Any, ...]:
    with np.errstate(all="ignore"):
        return dask.compute(*arrays, scheduler="synchronous")  # type: ignore[no-any-return]


def as_tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def check_chunked(f: Function, seed: int, *arrays: Any, same: Callable[[Any, Any], bool] = same_bits) -> None:
    """f on chunked arrays: lazy, with the shapes and dtypes of the results on NumPy arrays, and with their bits."""
    expected = outcome(lambda: f(*arrays))
    rng = np.random.default_rng(seed)
    lazy = outcome(lambda: f(*(chunked(x, rng) for x in arrays)))
    if isinstance(expected, str):
        assert lazy == expected
        return
    for array, real in zip(as_tuple(lazy), as_tuple(expected), strict=True):
        assert isinstance(array, da.Array)
        assert (array.shape, array.dtype) == (real.shape, real.dtype)
    for array, got, real in zip(as_tuple(lazy), computed(*as_tuple(lazy)), as_tuple(expected), strict=True):
        got = np.asarray(got)
        assert got.shape == real.shape
        assert same(one_nan(got), one_nan(real)), array.chunks
