"""What XLA hands over to cenote and back: buffers of every dtype and rank, two results, error texts, subnormals.

A program for any version of JAX, because the structs of XLA's interface are declared by hand.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

import cenote as cn
from cenote.backends.jax import start
from jax_programs import with_x64

INTEGERS = ["?", "b", "B", "h", "H", "i", "I", "q", "Q"]
FLOATS: list[Any] = ["e", ml_dtypes.bfloat16, "f", "d"]


def check_dtypes() -> None:
    """Each dtype, each rank from 1 to 5, in Python (the first call) and without it (the next ones)."""
    rng = np.random.default_rng(0)
    for dtype in [*INTEGERS, *FLOATS, "F", "D"]:
        for rank in range(1, 6):
            x = rng.integers(0, 100, (2,) * (rank - 1) + (6,)).astype(dtype)
            function = cn.sum_pool if np.dtype(dtype).kind == "c" else cn.max_pool
            compiled = jax.jit(lambda x, f=function: f(x, (3,)))
            for _ in range(3):
                got = np.asarray(compiled(x))
                expected = function(x, (3,))
                assert (got.dtype, got.tobytes()) == (expected.dtype, expected.tobytes()), dtype


def check_indices() -> None:
    x = np.random.default_rng(0).standard_normal((3, 8, 8)).astype(np.float32)
    expected = cn.max_pool(x, (2, 3), padding=1, return_indices=True)
    for x64, dtype in ((True, np.int64), (False, np.int32)):
        with with_x64(x64):
            got = jax.jit(lambda x: cn.max_pool(x, (2, 3), padding=1, return_indices=True))(x)
        assert got[1].dtype == dtype
        for mine, real in zip(got, expected, strict=True):
            np.testing.assert_array_equal(mine, real)


def check_errors() -> None:
    """An error in a compiled program has our text, and the next call works."""
    unpool = jax.jit(lambda y, i: cn.max_unpool(y, i, (2,)))
    for _ in range(2):
        message = ""
        try:
            jax.block_until_ready(unpool(jnp.ones(2), jnp.array([0, 99])))
        except Exception as error:
            message = str(error)
        assert "max_unpool: indices has values from 0 to 99" in message
        assert "-1 (skipped) to 3 is possible" in message
        assert unpool(jnp.ones(2), jnp.array([0, 3])).tolist() == [1.0, 0.0, 0.0, 1.0]


def check_subnormals() -> None:
    """XLA's threads flush them to zero: cenote keeps them, in values and derivatives, and leaves XLA's mode alone."""
    x = np.random.default_rng(0).integers(1, 1000, (64, 512)).astype(np.int32).view(np.float32)
    half = jax.jit(lambda x: x * 0.5)
    before = np.asarray(half(x))
    for name in ("max_pool", "min_pool", "sum_pool", "avg_pool", "lp_pool", "smooth_max_pool", "median_pool"):
        f = getattr(cn, name)
        y, pull = cn.vjp(lambda x, f=f: f(x, (2, 2)), x)
        expected = y, pull(x[::2, ::2])[0]

        def both(x: Any, g: Any, f: Any = f) -> Any:
            y, pull = jax.vjp(lambda x: f(x, (2, 2)), x)
            return y, pull(g)[0]

        compiled = jax.jit(both)
        for _ in range(2):
            for got, real in zip(compiled(x, x[::2, ::2]), expected, strict=True):
                assert np.asarray(got).tobytes() == real.tobytes(), name
                assert np.any(real), name
    np.testing.assert_array_equal(np.asarray(half(x)), before)


def check_debugging() -> None:
    """A NaN or an infinity that JAX shall find: its own error, with the name of our function."""
    modes = (
        (jax.debug_nans, "nan", lambda x: cn.avg_pool(x, (1,), padding=1, count_include_pad=False), "avg_pool"),
        (jax.debug_infs, "inf", lambda x: cn.max_pool(x, (1,), padding=1), "max_pool"),
    )
    for mode, value, f, name in modes:
        for way in (f, jax.jit(f), jax.vmap(f), jax.jit(jax.vmap(f))):
            message = ""
            with mode(True):
                assert cn.max_pool(jnp.arange(4), (2,)).tolist() == [1, 3]
                try:
                    way(jnp.ones((2, 2)))
                except FloatingPointError as error:
                    message = str(error)
            assert message.startswith(f"invalid value ({value}) encountered in "), message
            assert way is not f or message.endswith(name), message
            assert np.any(~np.isfinite(way(jnp.ones((2, 2)))))


def main() -> None:
    check_indices()
    check_errors()
    check_debugging()
    check_subnormals()
    with with_x64(True):
        check_dtypes()
    assert start.describe() == f"jaxlib {start.version()}, by a custom call of XLA's", start.describe()
    print(f"calls of {jax.__version__}: good")


if __name__ == "__main__":
    main()
