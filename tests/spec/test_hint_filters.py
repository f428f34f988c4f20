"""The call for a name of another library has the values of that function, edges included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import jax
import numpy as np
import pandas as pd
import pytest
import scipy.ndimage as nd
import scipy.signal
import skimage.measure
import skimage.morphology
import skimage.transform
import torch

import cenote as cn
from advice import NAMES, advised
from cenote.arguments.hints import filters, functions, names

rng = np.random.default_rng(3)
V, X, PICTURE = rng.standard_normal(15), rng.standard_normal((7, 9)), rng.standard_normal((7, 9, 3))
BYTES, COLOURS = (rng.integers(0, 256, shape, np.uint8) for shape in ((7, 9), (7, 9, 3)))
BOOL = X > -1
GAUSS = np.exp(-0.5 * np.arange(-4, 5) ** 2)
GAUSS /= GAUSS.sum()
EVEN, ODD = rng.standard_normal((2, 4)), rng.standard_normal((5, 3))
OF_OPENCV = cv2.getGaussianKernel(5, 1.0)
BINOMIAL = np.array([1, 4, 6, 4, 1]) / 16
CROSSLESS = np.ones((3, 3))
NHWC, DEPTHWISE = rng.standard_normal((2, 5, 6, 3)), rng.standard_normal((3, 3, 3, 2))


def depthwise_of_jax(x: Any, w: Any) -> Any:
    """As TensorFlow's: channel c has the filters w[:, :, c]."""
    return jax.lax.conv_general_dilated(
        x, w.reshape(3, 3, 1, 6), (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=3
    )


def filtered_by_matlab(x: Any, k: Any) -> Any:
    """As imfilter and filter2: the element at floor((size + 1) / 2), counted from 1, is the centre of a filter."""
    widths = [((n - 1) // 2, n - 1 - (n - 1) // 2) for n in k.shape]
    padded = np.pad(x, widths + [(0, 0)] * (x.ndim - 2))
    return sum(
        k[i, j] * padded[i : i + x.shape[0], j : j + x.shape[1]] for i in range(k.shape[0]) for j in range(k.shape[1])
    )


local_mean: Any = skimage.transform.downscale_local_mean  # which has no annotations
Case = tuple[str, dict[str, Any], Callable[..., Any]]
CASES: list[Case] = [
    *(("correlate1d", {"x": x, "k": np.arange(1.0, n)}, nd.correlate1d) for x in (V, X, PICTURE) for n in range(2, 7)),
    *(("convolve1d", {"x": x, "k": np.arange(1.0, n)}, nd.convolve1d) for x in (V, X, PICTURE) for n in range(2, 7)),
    ("gaussian_filter", {"x": X, "k": np.outer(GAUSS, GAUSS)}, lambda x, k: nd.gaussian_filter(x, 1)),
    ("gaussian_filter1d", {"x": X, "k": GAUSS}, lambda x, k: nd.gaussian_filter1d(x, 1)),
    ("generic_filter", {"x": X}, lambda x: nd.generic_filter(x, np.sum, 3)),
    ("uniform_filter", {"x": X}, lambda x: nd.uniform_filter(x, 3)),
    ("uniform_filter1d", {"x": V}, lambda x: nd.uniform_filter1d(x, 3)),
    ("median_filter", {"x": X}, lambda x: nd.median_filter(x, 3)),
    ("maximum_filter", {"x": X}, lambda x: nd.maximum_filter(x, 3)),
    ("minimum_filter", {"x": X}, lambda x: nd.minimum_filter(x, 3)),
    ("maximum_filter1d", {"x": V}, lambda x: nd.maximum_filter1d(x, 3)),
    ("grey_dilation", {"x": X}, lambda x: nd.grey_dilation(x, 3)),
    ("grey_erosion", {"x": X}, lambda x: nd.grey_erosion(x, 3)),
    ("grey_opening", {"x": X}, lambda x: nd.grey_opening(x, 3)),
    ("grey_closing", {"x": X}, lambda x: nd.grey_closing(x, 3)),
    ("binary_dilation", {"x": ~BOOL}, lambda x: nd.binary_dilation(x, CROSSLESS)),
    ("binary_erosion", {"x": BOOL}, lambda x: nd.binary_erosion(x, CROSSLESS)),
    *(("imfilter", {"x": x, "k": k}, filtered_by_matlab) for x in (X, PICTURE) for k in (EVEN, ODD)),
    *(("filter2", {"x": X, "k": k}, filtered_by_matlab) for k in (EVEN, ODD)),
    # The example of conv(u, v, 'same') in MATLAB's documentation, whose filter has an even size.
    (
        "filter2",
        {"x": np.array([[-1.0, 2, 3, -2, 0, 1, 2]]), "k": np.array([[1.0, -1, 4, 2]])},
        lambda x, k: np.array([[15.0, 5, -9, 7, 6, 7, -1]]),
    ),
    ("medfilt", {"x": V}, lambda x: scipy.signal.medfilt(x, 3)),
    ("medfilt2d", {"x": X}, lambda x: scipy.signal.medfilt2d(x, 3)),
    ("lfilter", {"x": V, "k": np.arange(1.0, 5)}, lambda x, k: scipy.signal.lfilter(k, 1, x)),
    *(
        (name, {"x": X, "k": k}, getattr(scipy.signal, name))
        for name in ("convolve2d", "correlate2d", "fftconvolve", "oaconvolve")
        for k in (EVEN, ODD)
    ),
    *(
        (name, {"x": X}, lambda x, name=name: getattr(skimage.morphology, name)(x, CROSSLESS))
        for name in ("dilation", "erosion", "opening", "closing")
    ),
    *(("block_reduce", {"x": x}, lambda x: skimage.measure.block_reduce(x, 2)) for x in (X, X[:6, :8])),  # type: ignore[no-untyped-call]
    *(
        ("downscale_local_mean", {"x": x}, lambda x: local_mean(x, (2, 2)))
        for x in (X, X[:6, :8])
    ),
    *(("filter2D", {"x": x, "k": k}, lambda x, k: cv2.filter2D(x, -1, k)) for x in (X, PICTURE) for k in (EVEN, ODD)),
    *(
        ("sepFilter2D", {"x": x, "k": np.outer(b, a)}, lambda x, k, a=a, b=b: cv2.sepFilter2D(x, -1, a, b))
        for x in (X, PICTURE)
        for a, b in ((GAUSS[1:5], GAUSS[2:5]), (GAUSS[1:6], GAUSS[2:4]))
    ),
    *(
        ("GaussianBlur", {"x": x, "k": np.outer(OF_OPENCV, OF_OPENCV)}, lambda x, k: cv2.GaussianBlur(x, (5, 5), 1.0))
        for x in (X, PICTURE)
    ),
    *(("pyrDown", {"x": x, "k": BINOMIAL}, lambda x, k: cv2.pyrDown(x)) for x in (X, PICTURE)),
    *(
        case
        for x in (X, PICTURE, BYTES, COLOURS)
        for case in (
            ("blur", {"x": x}, lambda x: cv2.blur(x, (3, 3))),
            ("boxFilter", {"x": x}, lambda x: cv2.boxFilter(x, -1, (3, 3))),
            ("dilate", {"x": x}, lambda x: cv2.dilate(x, CROSSLESS)),
            ("erode", {"x": x}, lambda x: cv2.erode(x, CROSSLESS)),
            ("medianBlur", {"x": x.astype(np.float32)}, lambda x: cv2.medianBlur(x, 3)),
        )
    ),
    ("rolling", {"x": V}, lambda x: pd.Series(x).rolling(3).mean().dropna()),
    ("rolling_max", {"x": V}, lambda x: pd.Series(x).rolling(3).max().dropna()),
    ("depthwise_conv2d", {"x": NHWC, "w": DEPTHWISE}, depthwise_of_jax),
    (
        "conv_general_dilated",
        {"x": NHWC.transpose(0, 3, 1, 2), "w": DEPTHWISE.transpose(3, 2, 0, 1)},
        lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "VALID"),
    ),
    (
        "conv_transpose2d",
        {"x": NHWC.transpose(0, 3, 1, 2), "w": DEPTHWISE.transpose(2, 3, 0, 1)},
        lambda x, w: torch.nn.functional.conv_transpose2d(torch.tensor(x), torch.tensor(w)),
    ),
    ("MaxPooling2D", {"x": NHWC}, lambda x: torch.max_pool2d(torch.tensor(x).movedim(3, 1), 2).movedim(1, 3)),
    ("GlobalAveragePooling2D", {"x": NHWC}, lambda x: x.mean((1, 2))),
    ("any_pool", {"x": BOOL[:6, :8]}, lambda x: skimage.measure.block_reduce(x, 2, np.any)),  # type: ignore[no-untyped-call]
    ("all_pool", {"x": BOOL[:6, :8]}, lambda x: skimage.measure.block_reduce(x, 2, np.all)),  # type: ignore[no-untyped-call]
    ("logsumexp", {"x": X}, lambda x: np.log(cn.sum_pool(np.exp(x), (2, 2)))),
    ("SoftPool", {"x": X}, lambda x: cn.avg_pool(x * np.exp(x), (2, 2)) / cn.avg_pool(np.exp(x), (2, 2))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arrays", "theirs"), CASES, ids=[name for name, _, _ in CASES])
def test_the_call_has_the_values_of_the_other_library(
    name: str, arrays: dict[str, Any], theirs: Callable[..., Any]
) -> None:
    with pytest.raises(AttributeError, match=": write ") as failure:
        getattr(cn, name)
    text = advised(str(failure.value))
    assert text is not None
    got, expected = eval(text, {**NAMES, **arrays}), np.asarray(theirs(*arrays.values()))
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.astype(float), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", sorted(names.NO_CALL))
def test_where_one_call_cannot_be_equal_none_is_advised(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}': [a-z]") as failure:
        getattr(cn, name)
    assert "write" not in str(failure.value)


def test_names_of_functions_are_in_one_table_each() -> None:
    assert not functions.CALLS.keys() & filters.CALLS.keys()
    assert not names.CALLS.keys() & names.NO_CALL.keys()
    assert names.NOTES.keys() <= names.CALLS.keys()


def test_windows_that_numpy_returns() -> None:
    for name, x, shape in (("sliding_window_view", X, (5, 7, 3, 3)), ("view_as_blocks", X[:6], (2, 3, 3, 3))):
        with pytest.raises(AttributeError, match="nothing here returns the windows") as failure:
            getattr(cn, name)
        text = str(failure.value).partition("themselves, ")[2].removesuffix(" does")
        windows = eval(text, {**NAMES, "x": x})
        assert windows.shape == shape
    assert windows.tolist() == skimage.util.view_as_blocks(X[:6], (3, 3)).tolist()  # type: ignore[no-untyped-call]


def filtered(x: Any, w: Any, **options: Any) -> Any:
    with pytest.raises(ValueError, match="filter without channel axes; write correlate") as failure:
        cn.conv(x, w, **options)
    return eval(advised(str(failure.value)) or "", {**NAMES, "x": x, "w": w})


@pytest.mark.parametrize("k", [ODD, EVEN, np.ones((3, 3))], ids=["odd", "even", "square"])
def test_a_filter_without_channels_keeps_off_batches_and_colours(k: Any) -> None:
    batch = rng.standard_normal((2, 16, 18, 3))
    expected = np.stack([[scipy.signal.correlate2d(x[:, :, c], k, "valid") for c in range(3)] for x in batch])
    np.testing.assert_allclose(filtered(batch, k), np.moveaxis(expected, 1, -1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(filtered(batch[0], k), np.moveaxis(expected[0], 0, -1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(filtered(np.moveaxis(batch, -1, 1), k), expected, rtol=1e-12, atol=1e-12)
    same = filtered(batch, k, padding="same", stride=2)
    assert same.shape == (2, 8, 9, 3)
    with pytest.raises(ValueError, match=r"channel axes; w has shape \(20, 20\), which with mode='valid' on x"):
        cn.conv(batch, np.ones((20, 20)))


@pytest.mark.parametrize("mode", ["same", "full", "valid"])
@pytest.mark.parametrize("boundary", ["fill", "symm", "wrap"])
@pytest.mark.parametrize("k", [ODD, EVEN, np.ones((4, 3))], ids=["odd", "even", "4 by 3"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_boundaries_of_scipy(name: str, k: Any, boundary: str, mode: str) -> None:
    with pytest.raises(TypeError, match=f"boundary='{boundary}'.*: write ") as failure:
        getattr(cn, name)(X, k, mode=mode, boundary=boundary)
    got = eval(advised(str(failure.value)) or "", {**NAMES, "x": X, "k": k})
    expected = getattr(scipy.signal, f"{name}2d")(X, k, mode=mode, boundary=boundary)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_medians_of_an_even_count_are_others() -> None:
    free: Any = cn
    with pytest.raises(TypeError, match=r"scipy takes the upper one .*, median_pool their mean$"):
        free.median_pool(X, size=4)
    with pytest.raises(TypeError, match=r"are not extended: write median_pool"):
        free.median_pool(X, size=3)


@pytest.mark.parametrize("x", [X, PICTURE, BYTES], ids=["floats", "colours", "bytes"])
@pytest.mark.parametrize("k", [ODD, EVEN, np.ones((3, 3), np.uint8)], ids=["odd", "even", "bytes"])
def test_the_arguments_of_filter2d(x: Any, k: Any) -> None:
    free: Any = cn
    for call, border in (
        (lambda: free.correlate(x, -1, k), cv2.BORDER_DEFAULT),
        (lambda: free.correlate(x, ddepth=-1, kernel=k), cv2.BORDER_DEFAULT),
        (lambda: free.correlate(src=x, kernel=k, ddepth=int(cv2.CV_64F)), cv2.BORDER_DEFAULT),
        (lambda: free.correlate(x, -1, k, borderType=cv2.BORDER_REPLICATE), cv2.BORDER_REPLICATE),
    ):
        with pytest.raises(TypeError, match=r"is not needed.*: write ") as failure:
            call()  # type: ignore[no-untyped-call]
        got = eval(advised(str(failure.value)) or "", {**NAMES, "x": x, "k": k})
        assert got.dtype == float
        expected = cv2.filter2D(x, cv2.CV_64F, k, borderType=border)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["filter2", "imfilter"])
def test_correlations_of_matlab(name: str) -> None:
    """Those of even size have their centre at the lower one of the two middle elements, as MATLAB documents."""
    with pytest.raises(AttributeError, match=r"for filters of odd size$") as failure:
        getattr(cn, name)
    got = eval(advised(str(failure.value)) or "", {**NAMES, "x": X, "k": ODD})
    full = scipy.signal.convolve2d(X, ODD[::-1, ::-1])
    low = [-(-(n - 1) // 2) for n in ODD.shape]
    np.testing.assert_allclose(got, full[low[0] :, low[1] :][: X.shape[0], : X.shape[1]], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [(3, 3), (2, 2), (4, 3)])
@pytest.mark.parametrize("border", [cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT, cv2.BORDER_DEFAULT])
def test_borders_of_blur(border: int, size: tuple[int, int]) -> None:
    with pytest.raises(TypeError, match=r"borderType=.*: write ") as failure:
        cn.avg_pool(X, size, borderType=int(border))  # type: ignore[call-overload]
    got = eval(advised(str(failure.value)) or "", {**NAMES, "x": X})
    np.testing.assert_allclose(got, cv2.blur(X, size[::-1], borderType=border), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "x"), [("find_peaks", V), ("peak_local_max", X)])
def test_local_maxima(name: str, x: Any) -> None:
    with pytest.raises(AttributeError, match="nothing here finds peaks; x == ") as failure:
        getattr(cn, name)
    text = str(failure.value).partition("peaks; ")[2].removesuffix(" is True at each local maximum")
    found = eval(text, {**NAMES, "x": x})
    np.testing.assert_array_equal(found, x == nd.maximum_filter(x, 3))
