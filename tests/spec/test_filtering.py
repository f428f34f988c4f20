"""correlate and convolve: the values of scipy.signal and NumPy, every option against its definition, derivatives."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.signal
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cases import examples
from other_backends import Cut, Parts, check_traced, registered

MODES = ["full", "same", "valid"]


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("mode", MODES)
def test_scipy_and_numpy_have_the_same_values(mode: Any, dtype: str) -> None:
    rng = np.random.default_rng(1)
    for n, m in itertools.product(range(1, 9), range(1, 9)):
        x, k = (rng.integers(-9, 10, size).astype(dtype) for size in (n, m))
        if mode == "valid" and m > n:
            with pytest.raises(ValueError, match=r"correlate: k has shape .* does not fit on axis 0: it needs"):
                cn.correlate(x, k, mode=mode)
            continue
        convolved = cn.convolve(x, k, mode=mode)
        np.testing.assert_array_equal(convolved, scipy.signal.convolve(x, k, mode, method="direct"))
        assert convolved.dtype == x.dtype
        if m <= n:
            np.testing.assert_array_equal(convolved, np.convolve(x, k, mode))
        correlated = cn.correlate(x, np.conj(k), mode=mode)  # scipy conjugates the filter
        np.testing.assert_array_equal(correlated, scipy.signal.correlate(x, k, mode, method="direct"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(5, 6), (3, 4, 5)])
def test_several_axes(shape: tuple[int, ...], mode: Any) -> None:
    rng = np.random.default_rng(2)
    for size in itertools.product(range(1, 4), repeat=len(shape)):
        x, k = rng.standard_normal(shape), rng.standard_normal(size)
        expected = scipy.signal.convolve(x, k, mode, method="direct")
        np.testing.assert_allclose(cn.convolve(x, k, mode=mode), expected, atol=1e-12)
        expected = scipy.signal.correlate(x, k, mode, method="direct")
        np.testing.assert_allclose(cn.correlate(x, k, mode=mode), expected, atol=1e-12)


@st.composite
def filterings(draw: st.DrawFn) -> tuple[Any, Any, dict[str, Any], bool]:
    ndim = draw(st.integers(1, 4))
    rank = draw(st.integers(1, ndim))
    shape = tuple(draw(st.integers(1, 7)) for _ in range(ndim))
    axes = tuple(draw(st.permutations(range(ndim)))[:rank])
    size = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    how = {
        "mode": draw(st.sampled_from(MODES)),
        "axes": axes,
        "stride": tuple(draw(st.integers(1, 3)) for _ in range(rank)),
        "dilation": tuple(draw(st.integers(1, 3)) for _ in range(rank)),
    }
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x, k = rng.integers(-9, 10, shape).astype(float), rng.integers(-9, 10, size).astype(float)
    return x, k, how, draw(st.booleans())


def by_definition(x: Any, k: Any, how: dict[str, Any], flip: bool) -> Any:
    """Dilate the filter with zeros, filter by scipy along the axes, keep every so many results."""
    full = np.zeros([(n - 1) * d + 1 for n, d in zip(k.shape, how["dilation"], strict=True)])
    full[tuple(slice(None, None, d) for d in how["dilation"])] = k
    moved = np.moveaxis(x, how["axes"], range(-k.ndim, 0))
    wide = full.reshape((1,) * (x.ndim - k.ndim) + full.shape)
    # Axes of length 1 of the filter leave the others alone.
    function = scipy.signal.convolve if flip else scipy.signal.correlate
    if how["mode"] == "valid" and any(a < b for a, b in zip(moved.shape, wide.shape, strict=True)):
        return None
    out = function(moved, wide, how["mode"], method="direct")
    out = out[(..., *(slice(None, None, s) for s in how["stride"]))]
    return np.moveaxis(out, range(-k.ndim, 0), how["axes"])


@examples(300)
@given(filterings(), st.integers(0, 2**32))
def test_every_option_by_definition(case: tuple[Any, Any, dict[str, Any], bool], seed: int) -> None:
    x, k, how, flip = case
    expected = by_definition(x, k, how, flip)
    function: Any = cn.convolve if flip else cn.correlate
    if expected is None:
        with pytest.raises(ValueError, match="does not fit"):
            function(x, k, **how)
        return
    np.testing.assert_allclose(function(x, k, **how), expected, atol=1e-9)
    y, pull = cn.vjp(lambda x, k: function(x, k, **how), x, k)
    dy = cn.jvp(lambda x, k: function(x, k, **how), (x, k), (x, k))[1]
    np.testing.assert_allclose(dy, 2 * expected, atol=1e-8)
    dx, dk = pull(y)
    np.testing.assert_allclose([np.sum(dx * x), np.sum(dk * k)], 2 * [np.sum(y * y)], rtol=1e-9, atol=1e-6)
    check_traced(lambda x, k: cn.vjp(lambda x, k: function(x, k, **how), x, k)[1](y), x, k)
    with registered(Parts(np.random.default_rng(seed))):
        parts = cn.vjp(lambda x, k: function(x, k, **how), Cut(x), Cut(k))
        np.testing.assert_allclose(parts[0].data, y, atol=1e-9)
        for got, whole in zip(parts[1](y), (dx, dk), strict=True):
            np.testing.assert_allclose(got.data, whole, atol=1e-8)


def test_both_derivatives_of_second_order() -> None:
    rng = np.random.default_rng(3)
    x, k = rng.standard_normal((5, 6, 2)), rng.standard_normal((3, 2))
    cn.check_grads(lambda x, k: cn.convolve(x, k, mode="same", axes=(1, 0), stride=2), (x, k))
    cn.check_grads(lambda x, k: cn.correlate(x, k, axes=(0, 1), dilation=2), (x, k))


def test_long_filters_go_by_fourier_transform() -> None:
    x, k = np.random.default_rng(4).standard_normal((2, 30_000)), np.random.default_rng(5).standard_normal(2_001)
    expected = scipy.signal.fftconvolve(x, k[None], "same", axes=-1)
    np.testing.assert_allclose(cn.convolve(x, k, mode="same"), expected, atol=1e-9)


def test_data_and_filter_of_different_dtypes() -> None:
    x, k = np.arange(5, dtype=np.float32), np.array([1, 2])
    y, pull = cn.vjp(lambda x: cn.convolve(x, k), x)
    assert y.dtype == np.float64
    assert pull(np.ones(6))[0].dtype == np.float32
    y, pull = cn.vjp(lambda x: cn.convolve(x, k * 1j), x)
    np.testing.assert_array_equal(pull(np.ones(6, complex))[0], 0)  # the imaginary part has nowhere to go
