"""cenote.dialects.torch vs. the installed torch: signatures, values, indices, both derivatives, dtypes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  what its users call it
from numpy.typing import NDArray

import cenote as cn
from cenote.dialects import torch as dialect
from cenote.geometry.window import parse_window

Array = NDArray[Any]
NAMES = dialect.__all__
torch.set_num_threads(1)  # small arrays: waking its threads costs a hundred times the work
# torch.func loads what torch itself calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def to_torch(x: Array) -> torch.Tensor:
    if x.dtype == BFLOAT16:
        return torch.from_numpy(x.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(x.copy())


def to_numpy(t: torch.Tensor) -> Array:
    if t.dtype == torch.bfloat16:
        return t.view(torch.int16).numpy().view(BFLOAT16)
    return t.detach().numpy()


def close(ours: Any, theirs: torch.Tensor) -> None:
    expected = to_numpy(theirs)
    assert isinstance(ours, np.ndarray)
    assert (ours.shape, ours.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(ours, expected, rtol=1e-13, atol=1e-13)


# ------------------------------------------------------------------------------------------------- signatures


def real_signature(name: str) -> inspect.Signature:
    """What torch says of itself: in Python, behind its dispatch on return_indices, or in the text of a builtin."""
    function = getattr(F, f"{name}_with_indices", None) or getattr(F, name)
    try:
        return inspect.signature(function)
    except ValueError:
        found = re.search(rf"^{name}\((.*)\) -> Tensor", function.__doc__ or "", re.MULTILINE)
        assert found
        written: inspect.Signature = inspect.signature(eval(f"lambda {found[1]}: None"))
        return written


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_those_of_torch(name: str) -> None:
    ours, theirs = inspect.signature(getattr(dialect, name)), real_signature(name)
    assert [(p.name, p.default, p.kind) for p in ours.parameters.values()] == [
        (p.name, p.default, p.kind) for p in theirs.parameters.values()
    ]
    assert getattr(dialect, name).__name__ == name


def test_all_of_the_poolings_and_convolutions_are_there_and_nothing_else() -> None:
    families = ["max_pool", "avg_pool", "lp_pool", "adaptive_max_pool", "adaptive_avg_pool", "max_unpool"]
    families += ["conv", "conv_transpose"]
    assert sorted(NAMES) == sorted(f"{family}{rank}d" for family in families for rank in (1, 2, 3))
    assert all(hasattr(F, name) for name in NAMES)


# ------------------------------------------------------------------------------------- values and derivatives

SIDES = {1: 9, 2: 6, 3: 5}


def draws(rank: int, dilated: bool, seed: int, number: int) -> Iterator[tuple[Array, dict[str, Any]]]:
    """Legal windows on small inputs, batched or not, without a window that sees nothing but padding."""
    rng = np.random.default_rng(seed)
    while number:
        kernel = rng.integers(1, 4, rank)
        window = {
            "window": tuple(map(int, kernel)),
            "stride": [None, tuple(map(int, rng.integers(1, 4, rank)))][int(rng.integers(2))],
            "padding": tuple(int(rng.integers(k // 2 + 1)) for k in kernel),
            "dilation": tuple(map(int, rng.integers(1, 3, rank))) if dilated else 1,
            "ceil_mode": bool(rng.integers(2)),
        }
        lead = (2,) if rng.integers(2) else (2, 2)
        shape = (*lead, *map(int, rng.integers(1, SIDES[rank] + 1, rank)))
        # Ties are the rule: a few values only.
        x = rng.integers(-3, 4, shape).astype(np.float64)
        try:
            geometry = parse_window(**window).on(shape)
        except ValueError:
            continue
        # torch's backward writes out of bounds there, and takes the process with it.
        if all(axis.real.any(axis=1).all() for axis in geometry.axes):
            number -= 1
            yield x, {("kernel_size" if k == "window" else k): v for k, v in window.items()}


def check_derivatives(ours: Callable[[Any], Any], theirs: Callable[[Any], Any], x: Array, seed: int = 0) -> None:
    """Value, VJP and JVP of two functions of one array."""
    rng = np.random.default_rng(seed)
    y, pull = cn.vjp(ours, x)
    there = torch.from_numpy(x.copy()).requires_grad_()
    expected = theirs(there)
    close(y, expected)
    g, t = rng.standard_normal(y.shape), rng.standard_normal(x.shape)
    (gradient,) = torch.autograd.grad(expected, there, torch.from_numpy(g), allow_unused=True)
    close(pull(g)[0], torch.zeros_like(there) if gradient is None else gradient)
    close(cn.jvp(ours, (x,), (t,))[1], torch.func.jvp(theirs, (torch.from_numpy(x),), (torch.from_numpy(t),))[1])
    # A Tensor in is a Tensor out, with the same values.
    held = cn.Tensor(x)
    out = ours(held)
    assert isinstance(out, cn.Tensor)
    np.testing.assert_array_equal(out.data, y)
    out.backward(g)
    np.testing.assert_array_equal(held.grad, pull(g)[0])


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_max_pool(rank: int) -> None:
    ours, theirs = getattr(dialect, f"max_pool{rank}d"), getattr(F, f"max_pool{rank}d")
    for x, window in draws(rank, True, rank, 300):
        values, indices = ours(x, **window, return_indices=True)
        expected, where = theirs(torch.from_numpy(x), **window, return_indices=True)
        close(values, expected)
        close(indices, where)
        check_derivatives(partial(ours, **window), partial(theirs, **window), x)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_avg_pool(rank: int) -> None:
    ours, theirs = getattr(dialect, f"avg_pool{rank}d"), getattr(F, f"avg_pool{rank}d")
    rng = np.random.default_rng(rank)
    for x, window in draws(rank, False, 10 + rank, 300):
        del window["dilation"]
        if rank == 3 and any(n < k for n, k in zip(x.shape[-3:], window["kernel_size"], strict=True)):
            continue
        window["count_include_pad"] = bool(rng.integers(2))
        if rank > 1:
            window["divisor_override"] = [None, 3, -2][rng.integers(3)]
        check_derivatives(partial(ours, **window), partial(theirs, **window), x)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("norm_type", [1, 2, 3.5, float("inf"), float("-inf")])
def test_lp_pool_where_torch_is_right(rank: int, norm_type: float) -> None:
    """Positive numbers, and no window that ceil_mode adds."""
    ours, theirs = getattr(dialect, f"lp_pool{rank}d"), getattr(F, f"lp_pool{rank}d")
    rng = np.random.default_rng(rank)
    for x, window in draws(rank, False, 20 + rank, 60):
        x = rng.permutation(x.size).reshape(x.shape) / 4 + 0.5
        kernel, stride = window["kernel_size"], window["stride"]
        if any(n < k for n, k in zip(x.shape[-rank:], kernel, strict=True)):
            continue
        size = kernel[0] if rank == 1 else kernel  # what torch's 1-D function takes
        options = {"norm_type": norm_type, "kernel_size": size, "stride": stride}
        check_derivatives(partial(ours, **options), partial(theirs, **options), x)


def test_second_derivatives() -> None:
    rng = np.random.default_rng(0)
    x, v = rng.permutation(36).reshape(1, 6, 6) / 9 + 0.5, rng.standard_normal((1, 6, 6))
    losses: list[Callable[[Any, Any], Any]] = [
        lambda f, a: f.lp_pool2d(a, 3, (2, 3), 2).sum(),
        lambda f, a: (f.max_pool2d(a, 3, 1, 1) ** 3).sum(),
        lambda f, a: (f.avg_pool2d(a, 2) ** 2 * f.adaptive_max_pool2d(a, 3)).sum(),
    ]
    hvp: Any = torch.autograd.functional.hvp
    for loss in losses:
        ours = cn.jvp(cn.grad(partial(loss, dialect)), (x,), (v,))[1]
        theirs = hvp(partial(loss, F), torch.from_numpy(x), torch.from_numpy(v))[1]
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_adaptive_pool(rank: int, kind: str) -> None:
    ours, theirs = getattr(dialect, f"adaptive_{kind}_pool{rank}d"), getattr(F, f"adaptive_{kind}_pool{rank}d")
    rng = np.random.default_rng(rank)
    for _ in range(150):
        shape = (*((2,) if rng.integers(2) else (2, 2)), *map(int, rng.integers(1, 8, rank)))
        x = rng.integers(-3, 4, shape).astype(np.float64)
        # torch has no gradient of an empty result.
        size: Any = [None if rank > 1 and rng.integers(4) == 0 else int(rng.integers(1, 8)) for _ in range(rank)]
        if rng.integers(4) == 0:
            size = int(rng.integers(1, 8))
        if kind == "max":
            close(ours(x, size, True)[1], theirs(torch.from_numpy(x), size, True)[1])
        check_derivatives(partial(ours, output_size=size), partial(theirs, output_size=size), x)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_max_unpool(rank: int) -> None:
    ours, theirs = getattr(dialect, f"max_unpool{rank}d"), getattr(F, f"max_unpool{rank}d")
    pool = getattr(dialect, f"max_pool{rank}d")
    rng = np.random.default_rng(rank)
    done = 0
    for x, window in draws(rank, False, 30 + rank, 150):
        x = rng.permutation(x.size).reshape(x.shape).astype(np.float64)
        kernel, stride, padding = window["kernel_size"], window["stride"], window["padding"]
        values, indices = pool(x, kernel, stride, padding, 1, window["ceil_mode"], return_indices=True)
        steps = kernel if stride is None else stride
        usual = [
            (n - 1) * s + k - 2 * p for n, s, k, p in zip(values.shape[-rank:], steps, kernel, padding, strict=True)
        ]
        # An element that is chosen twice has one value here, but torch gives its gradient to both: see below.
        planes = indices.reshape(-1, np.prod(indices.shape[-rank:]))
        once = all(len(set(row)) == len(row) for row in planes)
        for size in (None, x.shape[-rank:], (1, 1, *x.shape[-rank:]), [u + 1 for u in usual]):
            try:
                expected = theirs(torch.from_numpy(values), torch.from_numpy(indices), kernel, stride, padding, size)
            except (ValueError, RuntimeError):
                expected = None
            if expected is None or expected.numel() == 0:  # torch drops all values for a result without an element
                with pytest.raises(ValueError, match=f"^max_unpool{rank}d: (output_size|indices|padding)"):
                    ours(values, indices, kernel, stride, padding, size)
                continue
            close(ours(values, indices, kernel, stride, padding, size), expected)
            if once:
                options = {"kernel_size": kernel, "stride": stride, "padding": padding, "output_size": size}
                there = partial(theirs, indices=torch.from_numpy(indices), **options)
                check_derivatives(partial(ours, indices=indices, **options), there, values)
                done += 1
    assert done > 20


# ------------------------------------------------------------------------------------------------------ dtypes


@pytest.mark.parametrize("dtype", [np.dtype(t) for t in "eBbhiqfd"] + [BFLOAT16], ids=str)
def test_dtypes(dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(0)
    for rank, sides in ((1, (9,)), (2, (6, 7)), (3, (4, 5, 6))):
        x = rng.integers(0 if dtype.kind == "u" else -50, 50, (2, 3, *sides)).astype(dtype)
        # torch has no 1-D maximum of integers; that of a plane of one row is the same.
        widen = rank == 1 and dtype.kind in "iu"
        there = to_torch(x[..., None, :] if widen else x)
        expected = (
            F.max_pool2d(there, (1, 3), (1, 2), (0, 1)) if widen else getattr(F, f"max_pool{rank}d")(there, 3, 2, 1)
        )
        ours = getattr(dialect, f"max_pool{rank}d")(x, 3, 2, 1)
        assert ours.dtype == dtype
        np.testing.assert_array_equal(ours, to_numpy(expected[..., 0, :] if widen else expected))
        average, other = getattr(dialect, f"avg_pool{rank}d"), getattr(F, f"avg_pool{rank}d")
        if dtype.kind in "iu" and dtype != np.int64:
            with pytest.raises(TypeError, match="torch averages floats"):
                average(x, 2)
            continue
        half = dtype.itemsize == 2
        wide = to_torch(x).double() if half and rank == 3 else to_torch(x)  # torch has no 3-D average of halves
        theirs = to_numpy(other(wide, 3, 2, 1, count_include_pad=False)).astype(dtype)
        held = average(x, 3, 2, 1, count_include_pad=False)
        assert held.dtype == dtype
        np.testing.assert_allclose(held.astype(float), theirs.astype(float), rtol=1e-2 if half else 1e-6)


def test_averages_of_int64_are_truncated_towards_zero_and_wrap() -> None:
    x = np.array([[[-1, -2], [0, 0]], [[1, 2], [3, 5]], [[-7, 0], [0, 0]], [[2**62, 2**62], [2**62, 2**62 - 9]]])
    for divisor in (None, 3, -2):
        ours = dialect.avg_pool2d(x, 2, divisor_override=divisor)
        np.testing.assert_array_equal(ours, F.avg_pool2d(torch.from_numpy(x), 2, divisor_override=divisor).numpy())
    assert dialect.avg_pool2d(x, 2).ravel().tolist() == [0, 2, -1, -2]
    held = dialect.avg_pool2d(cn.Tensor(x), 2)
    assert isinstance(held, cn.Tensor)
    assert held.constant


# ----------------------------------------------------------------------------------- where torch is not followed


def test_the_first_of_several_nan_is_chosen() -> None:
    x = np.array([[1.0, np.nan, 5.0, np.nan, 2.0]])
    values, indices = dialect.max_pool1d(x, 5, return_indices=True)
    assert np.isnan(values).all()
    assert indices.tolist() == [[1]]
    assert cn.vjp(lambda a: dialect.max_pool1d(a, 5), x)[1](np.ones((1, 1)))[0].tolist() == [[0, 1, 0, 0, 0]]


def test_a_window_of_padding_only() -> None:
    x = np.array([[[1.0, 2.0], [3.0, 4.0]]])
    values, indices = dialect.max_pool2d(x, 2, padding=1, dilation=3, return_indices=True)
    assert values.tolist() == [[[-np.inf]]]
    assert indices.tolist() == [[[-1]]]
    _, pull = cn.vjp(lambda a: dialect.max_pool2d(a, 2, padding=1, dilation=3), x)
    assert not pull(np.ones((1, 1, 1)))[0].any()


def test_lp_pool_is_the_norm() -> None:
    x = np.array([[-3.0, 4.0, -1.0, -2.0, 1.0]])
    np.testing.assert_allclose(dialect.lp_pool1d(x, 3, 2, ceil_mode=True), [[91 ** (1 / 3), 9 ** (1 / 3), 1.0]])
    np.testing.assert_allclose(dialect.lp_pool1d(x, 1, 2), [[7.0, 3.0]])
    np.testing.assert_allclose(dialect.lp_pool1d(np.array([[-128, 0]], np.int8), float("-inf"), 1), [[128.0, 0.0]])


def test_of_values_for_one_element_the_last_stays_and_has_the_gradient() -> None:
    """torch's threads decide which stays, and it gives the gradient to each."""
    y, where = np.array([[1.0, 2.0, 3.0]]), np.array([[1, 4, 1]])
    out, pull = cn.vjp(lambda a: dialect.max_unpool1d(a, where, 2), y)
    assert out.tolist() == [[0, 3, 0, 0, 2, 0]]
    assert pull(np.ones((1, 6)))[0].tolist() == [[0, 1, 1]]


def test_an_empty_batch_passes() -> None:
    x = np.zeros((0, 2, 4, 4))
    for f in (
        lambda a: dialect.max_pool2d(a, 2),
        lambda a: dialect.avg_pool2d(a, 2),
        lambda a: dialect.lp_pool2d(a, 2, 2),
    ):
        y, pull = cn.vjp(f, x)
        assert y.shape == (0, 2, 2, 2)
        assert pull(y)[0].shape == x.shape
