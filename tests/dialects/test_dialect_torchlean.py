"""The TorchLean dialect: the numbers of its own tests, and its derivatives."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cenote.dialects import torchlean
from cenote.dialects.torchlean import PoolSpec

NINE = np.arange(1.0, 10.0).reshape(3, 3)


def spec(kernel: int, stride: int, padding: int, rank: int = 2) -> PoolSpec:
    return PoolSpec((kernel,) * rank, (stride,) * rank, (padding,) * rank)


def forms(name: str, spatial: bool) -> tuple[Any, Any, Any]:
    """The function, its jvp and its vjp."""
    stem = f"{name}_spatial" if spatial else name
    function, jvp, vjp = (getattr(torchlean, f"{stem}{end}") for end in ("", "_jvp", "_vjp"))
    return function, jvp, vjp


# ------------------------------------------------------------------------------------------- its own tests' numbers


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_padding_is_never_the_maximum(rank: int) -> None:
    x = np.full((1,) * (rank + 1), -3.0)
    y = torchlean.max_pool(spec(2, 1, 1, rank), x)
    assert y.shape == (1,) + (2,) * rank
    assert (y == -3).all()
    assert torchlean.max_pool_vjp(spec(2, 1, 1, rank), x, np.ones_like(y)).item() == 2**rank
    assert (torchlean.max_pool_jvp(spec(2, 1, 1, rank), x, np.full_like(x, 5)) == 5).all()


def test_the_first_of_infinite_elements() -> None:
    x = np.array([[-np.inf, -np.inf]])
    for padding in (0, 1):
        s = PoolSpec((2,), (2 + padding,), (padding,))
        assert torchlean.max_pool(s, x).ravel().tolist() == [-np.inf]
        assert torchlean.max_pool_vjp(s, x, [[1.0]]).tolist() == [[1, 0]]
        assert torchlean.max_pool_jvp(s, x, [[3.0, 4.0]]).tolist() == [[3]]


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize(("beta", "sign", "share"), [(1e20, 1, [1, 0]), (-1e20, -1, [0, 1])])
def test_smooth_max_is_stable(beta: float, sign: float, share: list[float], rank: int) -> None:
    s = PoolSpec((1, 2)[-rank:], (1, 1)[-rank:], (0, 0)[-rank:])
    x = np.array([1e20, -1e20]).reshape((1, 1, 2)[-rank - 1 :])
    y = torchlean.smooth_max_pool(s, beta, x)
    assert y.item() / 1e20 == pytest.approx(sign, rel=1e-15)
    assert torchlean.smooth_max_pool_vjp(s, beta, x, np.ones_like(y)).ravel().tolist() == share


GOLDEN = {
    (0.5, 1, 0, 1): [[6.3509805243, 7.3509805243], [9.3509805243, 10.3509805243]],
    (-0.5, 1, 0, 1): [[-0.3509805243, 0.6490194757], [2.6490194757, 3.6490194757]],
    (1.0, 2, 1, -1): [[1.2142833004, 0.7816718231], [0.7027150229, -4.6381509609]],
}


@pytest.mark.parametrize(("beta", "stride", "padding", "sign"), GOLDEN)
def test_smooth_max_by_the_numbers(beta: float, stride: int, padding: int, sign: int) -> None:
    expected = np.array(GOLDEN[beta, stride, padding, sign])
    y = torchlean.smooth_max_pool_spatial(spec(2, stride, padding), beta, sign * NINE)
    np.testing.assert_allclose(y, expected, rtol=0, atol=5e-11)
    channels = torchlean.smooth_max_pool(spec(2, stride, padding), beta, sign * np.stack([NINE, NINE]))
    np.testing.assert_array_equal(channels, np.stack([y, y]))


def test_smooth_max_with_padding_and_its_derivative() -> None:
    first = torchlean.smooth_max_pool_spatial(spec(2, 1, 1), 0.5, NINE)[0]
    expected = [3.0731843725, 3.7022577756, 4.4384006418, 4.0249171561]
    np.testing.assert_allclose(first, expected, rtol=0, atol=5e-11)
    dx = torchlean.smooth_max_pool_spatial_vjp(spec(2, 1, 0), 0.5, NINE, np.ones((2, 2)))
    shares = [
        [0.0688730543, 0.1824255238, 0.1135524695],
        [0.3775406688, 1.0000000000, 0.6224593312],
        [0.3086676145, 0.8175744762, 0.5089068617],
    ]
    np.testing.assert_allclose(dx, shares, rtol=0, atol=5e-11)


def test_padding_takes_its_share_of_a_smooth_maximum() -> None:
    s = PoolSpec((2,), (3,), (1,))
    assert torchlean.smooth_max_pool_spatial(s, 1.0, [0.0]).tolist() == pytest.approx([np.log(2)])
    assert torchlean.smooth_max_pool_spatial_vjp(s, 1.0, [0.0], [1.0]).tolist() == pytest.approx([0.5])


# --------------------------------------------------------------------------------------------------- its rules


def test_a_window_of_nothing_but_padding_is_zero() -> None:
    s, x = PoolSpec((1,), (1,), (2,)), np.array([[-7.0]])
    assert torchlean.max_pool(s, x).tolist() == [[0, 0, -7, 0, 0]]
    assert torchlean.avg_pool(s, x).tolist() == [[0, 0, -7, 0, 0]]
    assert torchlean.max_pool_jvp(s, x, [[5.0]]).tolist() == [[0, 0, 5, 0, 0]]
    assert torchlean.max_pool_vjp(s, x, [[1.0, 2.0, 4.0, 8.0, 16.0]]).tolist() == [[4]]
    assert torchlean.max_pool(PoolSpec((2,), (1,), (2,)), x).tolist() == [[0, -7, -7, 0]]  # as much padding as window
    y = torchlean.max_pool(s, np.array([[-7]], np.int8))
    assert (y.tolist(), y.dtype) == ([[0, 0, -7, 0, 0]], np.int8)
    assert torchlean.max_pool_spatial(PoolSpec((2,), (1,), (1,)), np.zeros(0)).tolist() == [0]


def test_nan_is_the_result_wherever_it_lies() -> None:
    for elements in ([np.nan, 1.0], [1.0, np.nan]):
        assert np.isnan(torchlean.max_pool_spatial(PoolSpec((2,), (1,), (0,)), elements)).all()


def test_of_ties_the_first() -> None:
    s, x = PoolSpec((3,), (3,), (0,)), np.array([1.0, 5.0, 5.0, 2.0, 2.0, 2.0])
    assert torchlean.max_pool_spatial_vjp(s, x, [10.0, 20.0]).tolist() == [0, 10, 0, 20, 0, 0]
    assert torchlean.max_pool_spatial_jvp(s, x, np.arange(6.0)).tolist() == [1, 3]
    # A row in which an earlier version of TorchLean chose the 3.
    assert torchlean.max_pool_spatial_vjp(PoolSpec((1, 3), (1, 1), (0, 0)), [[1.0, 5.0, 3.0]], [[1.0]]).tolist() == [
        [0, 1, 0]
    ]


def test_an_average_counts_padding() -> None:
    assert torchlean.avg_pool_spatial(spec(2, 2, 1), NINE).tolist() == [[0.25, 1.25], [2.75, 7.0]]
    dx = torchlean.avg_pool_spatial_vjp(spec(2, 2, 1), NINE, 4 * np.ones((2, 2)))
    assert dx.tolist() == np.ones((3, 3)).tolist()


def test_channels_do_not_mix() -> None:
    x = np.random.default_rng(0).normal(size=(3, 5, 4))
    for name, extra in (("max_pool", ()), ("avg_pool", ()), ("smooth_max_pool", (0.7,))):
        whole, one = getattr(torchlean, name), getattr(torchlean, f"{name}_spatial")
        each = np.stack([one(spec(3, 2, 1), *extra, channel) for channel in x])
        np.testing.assert_array_equal(whole(spec(3, 2, 1), *extra, x), each)


def test_a_spec_is_a_value() -> None:
    s = PoolSpec([2, 3], np.array([1, 2]), range(2))  # type: ignore[arg-type]
    assert s == PoolSpec(kernel=(2, 3), stride=(1, 2), padding=(0, 1))
    assert hash(s) == hash(PoolSpec((2, 3), (1, 2), (0, 1)))
    assert (type(s.kernel), type(s.stride[0])) == (tuple, int)
    with pytest.raises(AttributeError):
        s.kernel = (1, 1)  # type: ignore[misc]


# ------------------------------------------------------------------------------------------------- derivatives

CASES = list(itertools.product(("max_pool", "avg_pool", "smooth_max_pool"), (False, True), (1, 2, 3)))


@pytest.mark.parametrize(("name", "spatial", "rank"), CASES)
def test_derivatives(name: str, spatial: bool, rank: int) -> None:
    forward, jvp, vjp = forms(name, spatial)
    rng = np.random.default_rng(rank)
    x, dx = rng.normal(size=(2, *(() if spatial else (2,)), *(5, 4, 3)[:rank]))
    extra = (-1.3,) if name == "smooth_max_pool" else ()
    for kernel, stride, padding in ((2, 1, 0), (3, 2, 1), (1, 2, 2), (2, 3, 3)):
        s = spec(kernel, stride, padding, rank)
        y, dy = forward(s, *extra, x), jvp(s, *extra, x, dx)
        g = rng.normal(size=y.shape)
        assert dy.shape == y.shape
        assert np.vdot(g, dy) == pytest.approx(np.vdot(vjp(s, *extra, x, g), dx))
        step = 1e-6 * dx
        slope = (forward(s, *extra, x + step) - forward(s, *extra, x - step)) / 2e-6
        np.testing.assert_allclose(dy, slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "spatial", "rank"), CASES)
def test_kinds_and_dtypes(name: str, spatial: bool, rank: int) -> None:
    forward, jvp, vjp = forms(name, spatial)
    extra, s = (2.0,) if name == "smooth_max_pool" else (), spec(2, 2, 0, rank)
    x = np.random.default_rng(0).normal(size=(*(() if spatial else (2,)), *(4,) * rank)).astype(np.float32)
    y = forward(s, *extra, x)
    for out in (y, jvp(s, *extra, x, x), vjp(s, *extra, x, y)):
        assert (type(out), out.dtype) == (np.ndarray, np.float32)
    for a, b in ((cn.Tensor(x), x), (x, cn.Tensor(x)), (cn.Tensor(x), cn.Tensor(x))):
        pushed = jvp(s, *extra, a, b)
        assert isinstance(pushed, cn.Tensor)
        np.testing.assert_array_equal(pushed.data, jvp(s, *extra, x, x))
    assert isinstance(vjp(s, *extra, cn.Tensor(x), y), cn.Tensor)
    assert isinstance(vjp(s, *extra, x, cn.Tensor(y)), cn.Tensor)
    recorded = cn.Tensor(x)
    out = forward(s, *extra, recorded)
    assert isinstance(out, cn.Tensor)
    out.sum().backward()
    np.testing.assert_array_equal(recorded.grad, vjp(s, *extra, x, np.ones_like(y)))


@pytest.mark.parametrize("name", ["max_pool", "avg_pool", "smooth_max_pool"])
def test_derivatives_at_integers_are_those_at_numbers(name: str) -> None:
    _, jvp, vjp = forms(name, True)
    extra, whole = (1.0,) if name == "smooth_max_pool" else (), np.array([1, 4, 3, 2])
    s, g = PoolSpec((2,), (2,), (0,)), np.array([1, 10])
    for x in (whole, cn.Tensor(whole)):
        np.testing.assert_array_equal(np.asarray(vjp(s, *extra, x, g)), vjp(s, *extra, whole.astype(float), g))
        np.testing.assert_array_equal(np.asarray(jvp(s, *extra, x, whole)), jvp(s, *extra, whole.astype(float), whole))


def test_derivatives_of_derivatives() -> None:
    """The vjp is a function like any other: its derivative by x is what cn.grad says."""
    s, x = spec(2, 1, 1), NINE / 4

    def total(x: Any) -> Any:
        return (torchlean.smooth_max_pool_spatial_vjp(s, 1.5, x, np.ones((4, 4))) ** 2).sum()

    def same(x: Any) -> Any:
        return (cn.grad(lambda x: cn.smooth_max_pool(x, (2, 2), beta=1.5, stride=1, padding=1).sum())(x) ** 2).sum()

    expected = cn.grad(same)(x)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(cn.grad(total)(x), expected, rtol=1e-12)
    recorded = cn.Tensor(x)
    total(recorded).backward()
    assert recorded.grad is not None
    np.testing.assert_allclose(recorded.grad, expected, rtol=1e-12)


def test_derivatives_by_the_directions() -> None:
    s, x, w = spec(2, 2, 0, 1), np.array([1.0, 2.0, 4.0, 3.0]), np.array([5.0, 7.0])
    dx, g = cn.Tensor(np.ones(4)), cn.Tensor(np.ones(2))
    (w * torchlean.max_pool_spatial_jvp(s, x, dx)).sum().backward()
    assert dx.grad is not None
    assert dx.grad.tolist() == torchlean.max_pool_spatial_vjp(s, x, w).tolist()
    (x * torchlean.max_pool_spatial_vjp(s, x, g)).sum().backward()
    assert g.grad is not None
    assert g.grad.tolist() == [2, 4]


@pytest.mark.parametrize("shape", [(0, 4), (3, 4)])
def test_no_channels_and_no_slope(shape: tuple[int, int]) -> None:
    s, x = PoolSpec((2,), (2,), (0,)), np.ones(shape)
    assert torchlean.max_pool_vjp(s, x, np.ones((shape[0], 2))).shape == shape
    zero = cn.grad(lambda x: torchlean.max_pool_jvp(s, x, np.ones(shape)).sum())(x)  # it does not depend on x
    np.testing.assert_array_equal(zero, np.zeros(shape))


# --------------------------------------------------------------------------------------- TorchLean's own names


@pytest.mark.parametrize("stem", ["max_pool", "avg_pool", "smooth_max_pool"])
@pytest.mark.parametrize("spatial", ["", "_spatial"])
def test_its_own_names_mean_the_same(stem: str, spatial: str) -> None:
    rng = np.random.default_rng(0)
    x, dx = rng.normal(size=(2, 3, 4, 5))[:, slice(None) if not spatial else 0]
    beta = (0.7,) if stem == "smooth_max_pool" else ()
    for kind in (torchlean.PoolSpec, torchlean.MaxPoolSpec, torchlean.AvgPoolSpec):
        spec = kind((2, 3), (1, 2), (1, 0))
        assert repr(spec) == f"{kind.__name__}(kernel=(2, 3), stride=(1, 2), padding=(1, 0))"
        y = getattr(torchlean, f"{stem}{spatial}")(spec, *beta, x)
        for ours, theirs, args in (("", "", ()), ("_jvp", "_jvp", (dx,)), ("_vjp", "_backward", (y,))):
            short = getattr(torchlean, f"{stem}{spatial}{ours}")(spec, *beta, x, *args)
            assert np.array_equal(short, getattr(torchlean, f"{stem}{spatial}{theirs}_spec")(spec, *beta, x, *args))


@pytest.mark.parametrize("word", ["avg", "max"])
@pytest.mark.parametrize("shape", [(3, 7), (2, 5, 4), (0, 3, 3), (2, 2, 3, 4)])
def test_adaptive_and_global(word: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    axes = tuple(range(1, x.ndim))
    for size in (2, (3,) * len(axes)):
        expected, pull = cn.vjp(lambda x, size=size: getattr(cn, f"adaptive_{word}_pool")(x, size, axes=axes), x)
        assert np.array_equal(getattr(torchlean, f"adaptive_{word}_pool_spec")(size, x), expected)
        back = getattr(torchlean, f"adaptive_{word}_pool_backward_spec")(size, x, expected)
        assert np.array_equal(back, pull(expected)[0])
    expected, pull = cn.vjp(lambda x: getattr(cn, f"global_{word}_pool")(x, axes=axes), x)
    assert expected.shape == (shape[0], *(1 for _ in axes))
    assert np.array_equal(getattr(torchlean, f"global_{word}_pool_spec")(x), expected)
    back = getattr(torchlean, f"global_{word}_pool_backward_spec")(x, expected)
    assert np.array_equal(back, pull(expected)[0])
    assert np.array_equal(getattr(torchlean, f"global_{word}_pool_flat_spec")(x), expected.reshape(shape[0]))
    flat = getattr(torchlean, f"global_{word}_pool_flat_backward_spec")(x, expected.reshape(shape[0]))
    assert np.array_equal(flat, back)


def test_a_global_maximum_that_two_elements_have() -> None:
    assert torchlean.global_max_pool_flat_backward_spec([[1.0, 2.0, 2.0]], [6.0]).tolist() == [[0.0, 6.0, 0.0]]


def test_adaptive_and_global_of_tensors() -> None:
    x = cn.Tensor([[1.0, 4.0, 2.0, 3.0]])
    (torchlean.adaptive_max_pool_spec(2, x) * np.array([[1.0, 2.0]])).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.0, 1.0, 0.0, 2.0]]
    assert isinstance(torchlean.global_avg_pool_flat_spec(x), cn.Tensor)
    assert isinstance(torchlean.global_avg_pool_backward_spec(x, [[4.0]]), cn.Tensor)
