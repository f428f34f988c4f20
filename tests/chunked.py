"""Arrays in random chunks, and what a graph of dask needs and does: shared by the tests of dask and xarray."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from hypothesis import strategies as st

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


def close(got: Any, real: Any) -> bool:
    rough = 1e-4 if got.dtype in (np.float32, np.complex64) else 1e-9
    return got.dtype == real.dtype and np.allclose(
        got, real, rtol=rough, atol=rough * max(1.0, abs(real).max(initial=0))
    )


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[Any, Any, Any, dict[str, Any], bool]:
    rank, first, transposed = draw(st.integers(1, 3)), draw(st.booleans()), draw(st.booleans())
    groups = draw(st.sampled_from([1, 2]))
    inner, outer = draw(st.integers(1, 3)), groups * draw(st.integers(1, 2))
    kernel = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    spatial = tuple(draw(st.integers(3, 9)) for _ in range(rank))
    batch = tuple(draw(st.integers(0, 3)) for _ in range(draw(st.integers(0, 2))))
    channels = outer if transposed else groups * inner
    shape = (*batch, channels, *spatial) if first else (*batch, *spatial, channels)
    w = (outer, inner, *kernel) if first else (*kernel, inner, outer)
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from(["f", "d", "D", "i"]))
    sizes = shape, w, (groups * inner if transposed else outer,)
    arrays = tuple((rng.standard_normal(size) * 9).astype(dtype) for size in sizes)
    how: dict[str, Any] = {
        "stride": draw(st.integers(1, 3)),
        "padding": draw(st.sampled_from(["same", "valid", 1])),
        "dilation": draw(st.integers(1, 2)),
        "groups": groups,
        "layout": "channels_first" if first else "channels_last",
    }
    return *arrays, how, transposed  # type: ignore[return-value]
