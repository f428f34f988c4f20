"""Data and filters in different layouts: the advised call has the values that were meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import cenote as cn
from advice import NAMES, advised
from cenote.dialects import mygrad, nabla
from cenote.dialects import torch as F  # noqa: N812

rng = np.random.default_rng(5)
NCHW, OIHW = rng.standard_normal((2, 3, 9, 11)), rng.standard_normal((8, 3, 5, 5))
CUBES = rng.standard_normal((8, 3, 3, 3))  # which can be read as HWIO filters of 3 channels too
IOHW = rng.standard_normal((3, 8, 2, 2))
NCL, OIL = rng.standard_normal((2, 4, 30)), rng.standard_normal((8, 4, 5))
KINDS: dict[str, Callable[[Any], Any]] = {
    "numpy": np.asarray,
    "torch": torch.tensor,
    "jax": jnp.asarray,
    "Tensor": cn.Tensor,
    "list": np.ndarray.tolist,
}


def last(x: Any) -> Any:
    """Data, channels last."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def filters_last(w: Any) -> Any:
    """HWIO, or HWOI of a transposed convolution."""
    return np.ascontiguousarray(np.moveaxis(w, (1, 0), (-2, -1)))


def followed(call: Callable[..., Any], names: dict[str, Any]) -> Any:
    with pytest.raises((TypeError, ValueError), match="they would agree: write ") as failure:
        call()
    text = advised(str(failure.value))
    assert text is not None
    result = eval(text, NAMES | names)
    return np.asarray(result.data if isinstance(result, cn.Tensor) else result)


def meant(x: Any, w: Any, transposed: bool = False, **options: Any) -> Any:
    f = torch.nn.functional
    convolve = {3: f.conv1d, 4: f.conv_transpose2d if transposed else f.conv2d}[x.ndim]
    return convolve(torch.tensor(x), torch.tensor(w), **options).numpy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("w", [OIHW, CUBES], ids=["5 by 5", "3 by 3"])
def test_images_with_filters_of_the_other_layout(w: Any, kind: str) -> None:
    make = KINDS[kind]
    images, filters = make(NCHW), make(filters_last(w))
    got = followed(lambda: cn.conv(images, filters, stride=2, padding=1), {"x": images, "w": filters})
    np.testing.assert_allclose(got, meant(NCHW, w, stride=2, padding=1), rtol=1e-5, atol=1e-4)
    if w is OIHW:  # the 3 by 3 filters can be used as they are
        images, filters = make(last(NCHW)), make(w)
        got = followed(lambda: cn.conv(images, filters), {"x": images, "w": filters})
        np.testing.assert_allclose(got, last(meant(NCHW, w)), rtol=1e-5, atol=1e-4)
        got = followed(lambda: cn.conv(images, filters, layout="channels_first"), {"x": images, "w": filters})
        np.testing.assert_allclose(got, last(meant(NCHW, w)), rtol=1e-5, atol=1e-4)


def test_transposed_convolutions() -> None:
    filters, expected = filters_last(IOHW), meant(NCHW, IOHW, transposed=True, stride=2)
    got = followed(lambda: cn.conv_transpose(NCHW, filters, stride=2), {"x": NCHW, "w": filters})
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    images = last(NCHW)
    got = followed(lambda: cn.conv_transpose(images, IOHW, stride=2), {"x": images, "w": IOHW})
    np.testing.assert_allclose(got, last(expected), rtol=1e-12, atol=1e-12)


def test_filters_that_can_be_read_in_two_ways() -> None:
    filters = filters_last(OIL[:, :, :3])  # (3, 4, 8), where (O, C, k) of 3 filters would be right, too
    with pytest.raises(ValueError, match=r"if the axes of w are \(O, C/groups, \*k\), with w\.tr.* if") as failure:
        cn.conv(NCL, filters)
    first = advised(str(failure.value))
    other = str(failure.value).partition(", with ")[2].partition(" if they")[0]
    assert first is not None
    names = NAMES | {"x": NCL, "w": filters}
    np.testing.assert_allclose(eval(first, names), meant(NCL, filters), rtol=1e-12, atol=1e-12)
    got = eval(first.replace("w,", f"{other},"), names)
    np.testing.assert_allclose(got, meant(NCL, OIL[:, :, :3]), rtol=1e-12, atol=1e-12)


def test_a_layout_in_anothers_word_with_filters_of_that_other() -> None:
    free: Any = cn
    filters = filters_last(CUBES)
    with pytest.raises(ValueError, match=r"is layout='channels_first' here, with w transposed to") as failure:
        free.conv(NCHW, filters, layout="NCHW")
    got = eval(advised(str(failure.value)) or "", NAMES | {"x": NCHW, "w": filters})
    np.testing.assert_allclose(got, meant(NCHW, CUBES), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_the_dialect_of_torch(kind: str) -> None:
    make, expected = KINDS[kind], meant(NCHW, OIHW)
    other, filters_of_other = last(NCHW), filters_last(OIHW)
    for x, w in ((other, OIHW), (NCHW, filters_of_other), (other, filters_of_other), (other[0], OIHW)):
        images, filters = make(x), make(w)
        names = {"conv2d": F.conv2d, "input": images, "weight": filters}
        got = followed(lambda: F.conv2d(images, filters), names)  # noqa: B023
        np.testing.assert_allclose(got, expected if x.ndim == 4 else expected[0], rtol=1e-12, atol=1e-12)
    names = {"conv_transpose2d": F.conv_transpose2d, "input": NCHW, "weight": filters_last(IOHW)}
    got = followed(lambda: F.conv_transpose2d(NCHW, filters_last(IOHW)), names)
    np.testing.assert_allclose(got, meant(NCHW, IOHW, transposed=True), rtol=1e-12, atol=1e-12)


def test_the_dialects_of_mygrad_and_nabla() -> None:
    expected, images = meant(NCHW, OIHW), last(NCHW)
    names = {"conv_nd": mygrad.conv_nd, "x": images, "filter_bank": OIHW}
    got = followed(lambda: mygrad.conv_nd(images, OIHW, stride=1), names)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    for x, w in ((NCHW, OIHW), (NCHW, filters_last(OIHW)), (images, OIHW)):
        got = followed(lambda: nabla.conv2d(x, w), {"conv2d": nabla.conv2d, "x": x, "filter": w})  # noqa: B023
        np.testing.assert_allclose(got, expected if x is NCHW else last(expected), rtol=1e-12, atol=1e-12)
    transposed, w = meant(NCHW, IOHW, transposed=True), IOHW
    names = {"conv2d_transpose": nabla.conv2d_transpose, "x": images, "filter": w}
    got = followed(lambda: nabla.conv2d_transpose(images, w), names)
    np.testing.assert_allclose(got, last(transposed), rtol=1e-12, atol=1e-12)


def test_nothing_is_advised_where_it_would_not_agree() -> None:
    with pytest.raises(ValueError, match=r"takes 7\*1 = 7; to see it, write"):
        cn.conv(NCHW, np.ones((5, 5, 7, 8)))
    with pytest.raises(
        ValueError,
        match=r"= 9; with 3 groups each filter has 3/3 = 1 channel, and w has shape \(5, 5, 1, 6\); to see",
    ):
        cn.conv(last(NCHW), np.ones((5, 5, 3, 6)), groups=3)


@pytest.mark.parametrize("word", ["layout", "data_format"])
@pytest.mark.parametrize("shape", [(8, 4, 3, 3), (16, 1, 3, 3)])
def test_filters_that_are_right_but_for_the_number_of_channels_stay(shape: tuple[int, ...], word: str) -> None:
    """A transpose would make channels agree, with filters of 8 by 4."""
    free: Any = cn
    first, filters = np.zeros((2, 3, 16, 16)), np.zeros(shape)
    for call in (
        lambda: free.conv(first, filters, **{word: "channels_first"}),
        lambda: free.conv(last(first), filters_last(filters)),
        lambda: F.conv2d(first, filters),
        lambda: F.conv2d(torch.tensor(first), torch.tensor(filters)),
        lambda: nabla.conv2d(last(first), filters_last(filters)),
        lambda: mygrad.conv_nd(first, filters, stride=1),
    ):
        with pytest.raises((TypeError, ValueError), match=r"has 3 channels.* takes ") as failure:
            call()
        text = str(failure.value).partition("; to see it")[0]
        assert not re.search("write|agree|transpose|permute", text), text


@pytest.mark.parametrize("kind", KINDS)
def test_transposed_convolutions_with_the_filters_of_a_convolution(kind: str) -> None:
    make, w = KINDS[kind], rng.standard_normal((8, 3, 3, 3))  # (O, C, *k)
    expected = meant(NCHW, w.swapaxes(0, 1), transposed=True, stride=2)
    images, filters = make(NCHW), make(w)
    got = followed(
        lambda: cn.conv_transpose(images, filters, stride=2, layout="channels_first"), {"x": images, "w": filters}
    )
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
    images, filters = make(last(NCHW)), make(filters_last(w.swapaxes(0, 1)).swapaxes(-1, -2))
    got = followed(lambda: cn.conv_transpose(images, filters, stride=2), {"x": images, "w": filters})
    np.testing.assert_allclose(got, last(expected), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("k", "stride"), [((3, 3), (2, 2)), ((4, 4), (2, 2)), ((5, 3), (1, 2))])
def test_transposed_convolutions_of_flax(k: tuple[int, int], stride: tuple[int, int]) -> None:
    images, w = last(NCHW), rng.standard_normal((*k, 3, 8))
    with pytest.raises(ValueError, match=r"if its axes are \(\*k, C, O\), with w\[::-1, ::-1\] in the pl") as failure:
        cn.conv_transpose(images, w, stride=stride)
    text = (advised(str(failure.value)) or "").replace("w.swap", "w[::-1, ::-1].swap")
    expected = jax.lax.conv_transpose(images, w, stride, "VALID")
    np.testing.assert_allclose(eval(text, NAMES | {"x": images, "w": w}), expected, rtol=1e-4, atol=1e-4)


def test_filters_of_keras_for_each_channel() -> None:
    images, w = last(NCHW), rng.standard_normal((3, 3, 3, 1))
    with pytest.raises(ValueError, match=r"\(\*k, C, multiplier\) of each channel, as those of Ker") as failure:
        cn.conv(images, w, groups=3)
    got = eval(advised(str(failure.value)) or "", NAMES | {"x": images, "w": w})
    expected = meant(NCHW, np.moveaxis(w, (2, 3), (0, 1)), groups=3)
    np.testing.assert_allclose(got, last(expected), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("x", "w", "call"),
    [
        ((9, 9, 3), (64, 3, 7, 7), 'explain("conv", (9, 9, 3), (7, 7, 3, 64))'),
        ((3, 9, 9), (3, 3, 3, 64), "explain(\"conv\", (3, 9, 9), (64, 3, 3, 3), layout='channels_first')"),
        ((9, 9, 3), (3, 3, 3, 1), 'explain("conv", (9, 9, 3), (3, 3, 1, 3), groups=3)'),
        ((9, 9), (3, 3, 1, 5), 'explain("conv", (9, 9, 1), (3, 3, 1, 5))'),
        ((9, 9, 3), (3, 3, 3, 64), 'explain("conv_transpose", (9, 9, 3), (3, 3, 64, 3))'),
    ],
)
def test_shapes_are_answered_with_shapes(x: tuple[int, ...], w: tuple[int, ...], call: str) -> None:
    try:
        problem = cn.explain(call.split('"')[1], x, w, **({"groups": 3} if "groups" in call else {})).problem
    except ValueError as failure:
        problem = str(failure)
    assert problem is not None
    assert advised(problem) == call
    assert eval(call, dict(NAMES)).problem is None
