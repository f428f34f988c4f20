"""Small planes of many channels, which are summed up tap by tap; and calls that are remembered."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cases import LEVELS, same_bits
from conv_checks import LAYOUTS, check, frame_of


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_small_planes_of_every_window(level: str, layout: str) -> None:
    """Strides, dilations, padding on one side, and a window of which no tap sees real elements everywhere."""
    for space, window, stride, dilation, padding in (
        ((7, 7), (3, 3), 1, 1, 1), ((14, 13), (3, 3), 2, 1, 1), ((4, 4), (3, 3), 1, 1, 1), ((7, 5), (1, 1), 1, 1, 0),
        ((9, 8), (3, 2), 1, 2, ((2, 0), (0, 1))), ((5, 5), (1, 3), (2, 1), 1, (0, 1)), ((3, 3), (3, 3), 1, 1, 3),
        ((60,), (3,), 1, 1, 1), ((3, 4, 5), (3, 3, 3), 1, 1, 1),
    ):  # fmt: skip
        for batch in (1, 3):
            given: Any = {"channels": 160, "filters": 170, "stride": stride, "dilation": dilation, "padding": padding}
            check(frame_of(layout, batch, space, window, **given), level)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_small_planes_up_to_as_many_pixels_as_there_may_be(layout: str) -> None:
    for pixels, channels in itertools.product((511, 512, 513), (64, 129, 300)):
        check(frame_of(layout, 1, (pixels,), (3,), channels=channels, filters=260, padding=1), LEVELS[-1], threads=2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_small_planes_for_every_dtype(layout: str) -> None:
    for dtype in "fdilqLeFD":
        given = {"channels": 140, "filters": 150, "padding": 1}
        check(frame_of(layout, 2, (5, 6), (3, 3), **given), LEVELS[-1], dtype=dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_planes_that_winograd_batches(layout: str) -> None:
    """So many points that they do not stay in a cache: 16 tiles a plane, of which 3 to 6 planes are one task."""
    for batch, space in ((7, (7, 7)), (9, (7, 6)), (16, (5, 5))):
        given = {"channels": 270, "filters": 290, "padding": 1}
        check(frame_of(layout, batch, space, (3, 3), **given), LEVELS[-1], threads=3, results=["y", "x"])


def test_what_is_not_finite_stays_in_its_plane() -> None:
    frame = frame_of("channels_last", 8, (7, 7), (3, 3), channels=300, filters=300, padding=1)
    x, w = np.ones(frame.x, "f"), np.ones(frame.w, "f")
    x[3, 2, 2, 5] = np.inf
    y = cn.conv(x, w, padding=1)
    assert np.isinf(y[3, 1:4, 1:4]).all()
    assert np.isinf(y).sum() == 9 * 300
    assert not np.isnan(y).any()


# ------------------------------------------------------------------------------------------ calls made again


def arrays(
    shape: tuple[int, ...] = (1, 4, 4, 1), window: tuple[int, ...] = (3, 3, 1, 1), dtype: str = "f"
) -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.integers(-9, 10, size).astype(dtype) for size in (shape, window)]


def test_a_repeated_call_gives_the_same() -> None:
    for layout, dtype, batch in itertools.product(LAYOUTS, "fdiHF", ((), (2,), (2, 3))):
        first = layout == "channels_first"
        x, w = arrays((*batch, 3, 5, 6) if first else (*batch, 5, 6, 3), (4, 3, 3, 2) if first else (3, 2, 3, 4), dtype)
        bias = np.arange(4).astype(dtype)
        for given in ({}, {"padding": 1}, {"padding": ((1, 0), (2, 1))}, {"stride": (2, 1), "dilation": 2}):
            options: Any = {**given, "layout": layout}
            for other in (None, bias):
                one, two = (cn.conv(x, w, bias=other, **options) for _ in range(2))
                assert one is not two
                assert same_bits(one, two)
                assert one.flags.c_contiguous == two.flags.c_contiguous
                # Other data, in another layout in memory.
                turned = np.asfortranarray(x + np.ones((), dtype))
                assert same_bits(
                    cn.conv(turned, w, bias=other, **options), cn.conv(turned.copy(), w, bias=other, **options)
                )
            again = [cn.conv_transpose(one, w, **options) for _ in range(2)]
            assert same_bits(*again)


def test_calls_are_cached_by_the_types_of_arguments_too() -> None:
    """2 == 2.0 == True, and only one of them is an int."""
    x, w = arrays()
    for _ in range(2):
        assert cn.conv(x, w, stride=1).shape == (1, 2, 2, 1)
    for wrong in (1.0, True):
        with pytest.raises(TypeError):
            cn.conv(x, w, stride=wrong)  # type: ignore[arg-type]
    steps = [1, 1]
    assert cn.conv(x, w, stride=steps).shape == (1, 2, 2, 1)
    steps[0] = 2  # a list may change
    assert cn.conv(x, w, stride=steps).shape == (1, 1, 2, 1)


def test_calls_are_cached_by_shapes_and_dtypes() -> None:
    x, w = arrays()
    for _ in range(2):
        cn.conv(x, w, bias=np.zeros(1, "f"))
    with pytest.raises(ValueError, match="bias has shape"):
        cn.conv(x, w, bias=np.zeros(2, "f"))
    assert cn.conv(x, w, bias=np.zeros(1)).dtype == np.float64
    assert cn.conv(x.astype("d"), w).dtype == np.float64
    assert cn.conv(x.astype(">f4"), w.astype(">f4")).dtype == np.float32
    assert cn.conv(x[:, :3], w).shape == (1, 1, 2, 1)
    with pytest.raises(ValueError, match="channel"):
        cn.conv(np.concatenate([x, x], -1), w)
    unaligned = np.frombuffer(b"\0" + x.tobytes(), "f", offset=1).reshape(x.shape)
    assert same_bits(cn.conv(unaligned, w), cn.conv(x, w))
    held = cn.Tensor(x)
    assert isinstance(cn.conv(held, w), cn.Tensor)


def test_the_cache_evicts_old_calls() -> None:
    """More calls than are remembered, in turns."""
    many = [arrays((1, n, n, 1)) for n in range(3, 40)]
    for _ in range(2):
        for x, w in many:
            n = x.shape[1]
            expected = sum(x[0, i : n - 2 + i, j : n - 2 + j, 0] * w[i, j, 0, 0] for i in range(3) for j in range(3))
            np.testing.assert_array_equal(cn.conv(x, w)[0, ..., 0], expected)
