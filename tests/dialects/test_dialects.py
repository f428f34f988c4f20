"""The dialects of d2l and nabla, and what holds in all of them."""

from __future__ import annotations

import importlib
import inspect
import itertools
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cenote as cn
from cenote.dialects import d2l, nabla, torchlean

MODULES = ("d2l", "flax", "nabla", "torchlean")
TORCHLEAN = [
    f"{stem}{spatial}{end}"
    for stem in ("max_pool", "avg_pool", "smooth_max_pool")
    for spatial in ("", "_spatial")
    for end in ("", "_jvp", "_vjp", "_spec", "_jvp_spec", "_backward_spec")
]
TORCHLEAN += [
    f"{stem}_{end}"
    for stem in ("adaptive_X_pool", "global_X_pool", "global_X_pool_flat")
    for end in ("spec", "backward_spec")
]
# The signatures are in documents/, but for those of TorchLean's functions under our names.
EXPORTED = {
    "d2l": {"pool2d"},
    "flax": {"avg_pool", "max_pool", "min_pool", "pool"},
    "nabla": {"Tensor", "avg_pool2d", "conv2d", "conv2d_transpose", "grad", "jvp", "max_pool2d", "vjp"},
    "torchlean": {"AvgPoolSpec", "MaxPoolSpec", "PoolSpec"}
    | {name.replace("X", word) for name in TORCHLEAN for word in ("avg", "max")},
}


@pytest.mark.parametrize("name", [name for name in TORCHLEAN if not name.endswith("_spec")])
def test_signatures(name: str) -> None:
    last = {"_jvp": ["dx"], "_vjp": ["g"]}.get(name[-4:], [])
    beta = ["beta"] if name.startswith("smooth") else []
    parameters = inspect.signature(getattr(torchlean, name)).parameters.values()
    assert [p.name for p in parameters] == ["spec", *beta, "x", *last]
    assert all(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)


@pytest.mark.parametrize("name", MODULES)
def test_a_dialect_has_the_names_of_its_system(name: str) -> None:
    module = importlib.import_module(f"cenote.dialects.{name}")
    assert set(module.__all__) == EXPORTED[name]
    assert module.__all__ == sorted(module.__all__)
    for attribute in set(module.__all__) - {"Tensor"}:
        found = getattr(module, attribute)
        assert found.__module__ == module.__name__
        assert found.__name__ == attribute
        assert found.__doc__


def test_no_dialect_is_loaded_before_it_is_asked_for() -> None:
    code = "import sys, cenote; print([name for name in sys.modules if 'dialects' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    code = "import sys, cenote.dialects; print([name for name in sys.modules if 'dialects.' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_import_lines_of_the_systems() -> None:
    from cenote.dialects import flax, mygrad
    from cenote.dialects.d2l import jax as book
    from cenote.dialects.flax import linen, nnx
    from cenote.dialects.mygrad.nnet import conv_nd, max_pool
    from cenote.dialects.mygrad.nnet import layers as layers

    assert (nnx, linen, book) == (flax.nnx, flax.linen, d2l.jax)
    for module in (nnx, linen):
        assert [getattr(module, name) for name in module.__all__] == [getattr(flax, name) for name in flax.__all__]
    assert book.pool2d is d2l.pool2d
    assert (max_pool, conv_nd) == (mygrad.max_pool, mygrad.conv_nd) == (layers.max_pool, layers.conv_nd)
    assert mygrad.nnet.layers is layers
    assert cn.dialects.flax is flax


# ------------------------------------------------------------------------------------------------------------ d2l


def test_the_book_s_numbers() -> None:
    x = np.arange(9.0).reshape(3, 3)
    assert d2l.pool2d(x, (2, 2)).tolist() == [[4, 5], [7, 8]]
    assert d2l.pool2d(x, (2, 2), "avg").tolist() == [[2, 3], [5, 6]]
    assert d2l.pool2d(x, pool_size=(2, 2), mode="avg").dtype == np.float32


@pytest.mark.parametrize("mode", ["max", "avg"])
@pytest.mark.parametrize("dtype", [bool, "i1", "u8", "f2", ml_dtypes.bfloat16, "f4", ">f8"])
def test_every_window_of_a_matrix_in_float32(mode: Any, dtype: Any) -> None:
    x = (np.random.default_rng(0).normal(size=(5, 7)) * 20).astype(int).astype(dtype)
    y = d2l.pool2d(x, (2, 3), mode)
    assert (type(y), y.dtype, y.shape) == (np.ndarray, np.float32, (4, 5))
    wide = x.astype(float)
    for i, j in np.ndindex(4, 5):
        elements = wide[i : i + 2, j : j + 3]
        assert y[i, j] == pytest.approx(
            elements.max() if mode == "max" else elements.mean(), rel=1e-2 if x.itemsize == 2 else 1e-6
        )


def test_the_integers_of_a_maximum_are_compared_before_they_are_rounded() -> None:
    assert d2l.pool2d(np.array([[2**60, 2**60 + 1]]), (1, 2)).item() == 2.0**60
    assert d2l.pool2d(np.array([[1e300, 1.0]]), (1, 1)).tolist() == [[np.inf, 1.0]]


@pytest.mark.parametrize(("mode", "grad"), [("max", [[0, 0, 0], [0, 1, 1], [0, 1, 1]]), ("avg", None)])
def test_pool2d_of_a_tensor(mode: Any, grad: Any) -> None:
    x = cn.Tensor(np.arange(9.0).reshape(3, 3))
    y = d2l.pool2d(x, (2, 2), mode)
    assert (type(y), y.dtype) == (cn.Tensor, np.float32)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == np.float64
    assert x.grad.tolist() == (grad or [[0.25, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 0.25]])
    constant = d2l.pool2d(cn.Tensor(np.arange(9).reshape(3, 3)), (2, 2), mode)
    assert (type(constant), constant.dtype, constant.constant) == (cn.Tensor, np.float32, True)


# ---------------------------------------------------------------------------------------------------------- nabla


def slow(x: Any, k: Any, s: Any, pads: Any, d: Any, mean: bool) -> Any:
    """(N, H, W, C), one window after the other."""
    (top, bottom), (left, right) = pads
    filled = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=0.0 if mean else -np.inf)
    sizes = [(n - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i, n in enumerate(filled.shape[1:3])]
    out = np.empty((x.shape[0], *sizes, x.shape[3]))
    for i, j in np.ndindex(*sizes):
        rows = slice(i * s[0], i * s[0] + d[0] * (k[0] - 1) + 1, d[0])
        columns = slice(j * s[1], j * s[1] + d[1] * (k[1] - 1) + 1, d[1])
        elements = filled[:, rows, columns]
        out[:, i, j] = elements.sum((1, 2)) / (k[0] * k[1]) if mean else elements.max((1, 2))
    return out


def pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


PADS: dict[Any, Any] = {
    0: ((0, 0), (0, 0)),
    1: ((1, 1), (1, 1)),
    (2, 0): ((2, 2), (0, 0)),
    (1, 0, 3, 2): ((1, 0), (3, 2)),
    (0, 5, 4, 0): ((0, 5), (4, 0)),  # more than a window: some have no real element
}


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("kernel_size", [2, (3, 1), (2, 3)])
def test_every_form_of_every_argument(kernel_size: Any, mean: bool) -> None:
    x = np.random.default_rng(1).normal(size=(2, 7, 6, 3))
    function = nabla.avg_pool2d if mean else nabla.max_pool2d
    strides: tuple[Any, ...] = (None, 1, (3, 2))
    dilations: tuple[Any, ...] = (1, (1, 1), (2, 1))
    for stride, padding, dilation in itertools.product(strides, PADS, dilations):
        y = function(x, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation)
        step = pair(kernel_size) if stride is None else pair(stride)
        expected = slow(x, pair(kernel_size), step, PADS[padding], pair(dilation), mean)
        np.testing.assert_allclose(y, expected, rtol=1e-14, atol=1e-15)
    assert function(x, kernel_size=2).shape == (2, 3, 3, 3)


def test_a_window_without_a_real_element() -> None:
    x = np.ones((1, 1, 1, 1))
    assert nabla.max_pool2d(x, kernel_size=1, padding=(1, 0)).ravel().tolist() == [-np.inf, 1, -np.inf]
    assert nabla.avg_pool2d(x, kernel_size=1, padding=(1, 0)).ravel().tolist() == [0, 1, 0]


def test_a_tie_counts_once() -> None:
    """nabla gives each of the tied elements all of it."""
    x = cn.Tensor(np.zeros((1, 2, 2, 1)))
    y = nabla.max_pool2d(x, kernel_size=2)
    assert isinstance(y, cn.Tensor)
    y.backward()
    assert x.grad is not None
    assert x.grad.ravel().tolist() == [1, 0, 0, 0]
    ones = np.ones((1, 2, 2, 1))
    assert cn.jvp(lambda x: nabla.max_pool2d(x, kernel_size=2), (x.data,), (ones,))[1].item() == 1


@pytest.mark.parametrize("function", [nabla.max_pool2d, nabla.avg_pool2d])
@pytest.mark.parametrize("shape", [(0, 4, 4, 2), (2, 4, 4, 0)])
def test_no_batch_and_no_channels(function: Any, shape: tuple[int, ...]) -> None:
    y, pull = cn.vjp(lambda x: function(x, kernel_size=2), np.zeros(shape))
    assert y.shape == (shape[0], 2, 2, shape[3])
    assert pull(y)[0].shape == shape


@pytest.mark.parametrize("dilation", [1, (2, 3)])
@pytest.mark.parametrize("function", [nabla.max_pool2d, nabla.avg_pool2d])
def test_both_modes_of_nabla_are_adjoint(function: Any, dilation: Any) -> None:
    rng = np.random.default_rng(2)
    x, dx = rng.normal(size=(2, 2, 6, 7, 2))

    def f(x: Any) -> Any:
        return function(x, kernel_size=2, stride=(2, 1), padding=(1, 0, 1, 1), dilation=dilation)

    y, pull = cn.vjp(f, x)
    g = rng.normal(size=y.shape)
    dy = cn.jvp(f, (x,), (dx,))[1]
    assert np.vdot(g, dy) == pytest.approx(np.vdot(pull(g)[0], dx))
    assert dy == pytest.approx((f(x + 1e-6 * dx) - f(x - 1e-6 * dx)) / 2e-6, abs=1e-6)


def test_the_transforms_of_nabla() -> None:
    x = np.random.default_rng(3).normal(size=(1, 4, 4, 2))
    assert nabla.Tensor is cn.Tensor

    def f(x: Any) -> Any:
        return nabla.max_pool2d(x, kernel_size=2)

    y, pull = nabla.vjp(f, x)
    assert np.array_equal(pull(y)[0], cn.vjp(f, x)[1](y)[0])
    assert isinstance(pull(y), tuple)
    assert np.array_equal(nabla.jvp(f, (x,), (x,))[1], y)
    assert np.array_equal(nabla.grad(lambda x: (f(x) ** 2).sum())(x), 2 * pull(y)[0])
    assert nabla.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, x)[1].shape == x.shape
    with pytest.raises(ValueError, match="pull: g must be a tuple of 2, one for each output of fn"):
        nabla.vjp(lambda x: (x, x), x)[1](x)
