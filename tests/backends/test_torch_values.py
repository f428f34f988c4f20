"""Functions on torch tensors: the bits of NumPy (convolution to rounding), memory formats, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
import cenote.torch as ct
from cases import COMPLEX, REALS, Case, cases, examples, same_bits
from other_backends import outcome
from torch_arrays import to_numpy, to_torch
from vocabulary import POOLS, WITH_INDICES, Convolution, Function, convolutions, one_nan


def grad_of_floats(x: torch.Tensor) -> torch.Tensor:
    """What a call with a derivative gives: by another way."""
    return x.clone().requires_grad_() if x.is_floating_point() or x.is_complex() else x


class Dispatched(torch.utils._python_dispatch.TorchDispatchMode):
    """With a mode of torch's, calls go through its dispatcher."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def in_a_mode(f: Function) -> Function:
    def run(*tensors: torch.Tensor) -> Any:
        with Dispatched():
            return f(*tensors)

    return run


WAYS: dict[str, Function] = {
    "plain": lambda f: f,
    "again": lambda f: lambda *tensors: (f(*tensors), f(*tensors))[1],
    "with a derivative": lambda f: lambda *tensors: f(*map(grad_of_floats, tensors)),
    "dispatched": in_a_mode,
    "vmap": lambda f: lambda *tensors: pick(torch.func.vmap(f)(*(t[None].expand(2, *t.shape) for t in tensors))),
}


def pick(out: Any) -> Any:
    return tuple(part[1] for part in out) if isinstance(out, tuple) else out[1]


def check(f: Function, way: str, *arrays: Any) -> None:
    """f of tensors is f of NumPy arrays: values, dtypes, and messages."""
    expected = outcome(lambda: f(*arrays))
    got = outcome(lambda: WAYS[way](f)(*map(to_torch, arrays)))
    if isinstance(expected, str):
        assert got == expected
        return
    if isinstance(got, str):  # with a derivative
        assert "has no derivative: give a float dtype" in got
        return
    for mine, real in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, expected)), strict=True):
        assert type(mine) is torch.Tensor
        assert same_bits(one_nan(to_numpy(mine)), one_nan(real))


NAMES = sorted(set(POOLS) - {"pool function", "pool reducer"})  # of Python functions torch has its own promotion


@examples(250)
@given(cases(REALS), st.sampled_from(NAMES), st.sampled_from(sorted(WAYS)))
def test_values_have_the_bits_of_numpy(case: Case, name: str, way: str) -> None:
    check(lambda x: POOLS[name](x, **case.arguments), way, case.x)


@examples(60)
@given(cases(REALS), st.sampled_from(sorted(WITH_INDICES)), st.sampled_from(sorted(WAYS)))
def test_indices(case: Case, name: str, way: str) -> None:
    check(lambda x: WITH_INDICES[name](x, **case.arguments), way, case.x)


@examples(30)
@given(cases(COMPLEX), st.sampled_from(["sum", "avg", "avg omit", "avg valid"]), st.sampled_from(sorted(WAYS)))
def test_complex_numbers(case: Case, name: str, way: str) -> None:
    check(lambda x: POOLS[name](x, **case.arguments), way, case.x)


@examples(60)
@given(convolutions(), st.sampled_from(sorted(WAYS)))
def test_convolution(case: Convolution, way: str) -> None:
    x, w, bias, how, transposed = case
    function: Function = cn.conv_transpose if transposed else cn.conv
    expected = outcome(lambda: function(x, w, bias=bias, **how))
    got = outcome(lambda: WAYS[way](lambda x, w, b: function(x, w, bias=b, **how))(*map(to_torch, (x, w, bias))))
    if isinstance(expected, str):
        assert got == expected
        return
    rough = 1e-4 if x.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(to_numpy(got), expected, rtol=rough, atol=rough * np.abs(expected).max(initial=1))


@pytest.mark.parametrize("way", WAYS)
def test_filters_without_channels(way: str) -> None:
    rng = np.random.default_rng(0)
    x, k = rng.integers(-9, 9, (2, 5, 6)), rng.integers(-9, 9, (2, 3))
    for function in (cn.correlate, cn.convolve):
        for mode in ("full", "same", "valid"):
            check(lambda x, k, f=function, m=mode: f(x, k, mode=m), way, x, k)


@pytest.mark.parametrize("way", WAYS)
def test_unpool(way: str) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 5, 7)).astype(np.float32)
    values, indices = cn.max_pool(x, (2, 2), return_indices=True)
    check(lambda y, i: cn.max_unpool(y, i, (2, 2), output_shape=(5, 7)), way, values, indices)
    check(lambda y, i: cn.max_unpool(y, i, (2, 2), output_shape=(1, 2)), way, values, indices)  # an index outside


# ---------------------------------------------------------------------------------- the generic pool, torch's way


def test_pool_takes_functions_of_torch_and_of_the_user() -> None:
    x = torch.arange(6.0)
    assert cn.pool(x, (2,), 0.0, torch.maximum).tolist() == [1.0, 3.0, 5.0]
    assert cn.pool(x, (2,), 1.0, torch.mul).tolist() == [0.0, 6.0, 20.0]
    assert cn.pool(x, (2,), 0.0, lambda a, b: a + 2 * b).tolist() == [2.0, 10.0, 18.0]
    assert cn.pool(x, (2,), 7.0, lambda a, b: 10 * a + b, padding=1).tolist() == [70.0, 712.0, 734.0, 75.0]
    assert cn.pool(x, (3,), np.float64(0), lambda a, b: a + b, padding=1, stride=3).dtype == torch.float64
    with pytest.raises(ValueError, match="pool: reduce_fn gave shape"):
        cn.pool(x, (2,), 0.0, lambda a, b: a[:1])
    with pytest.raises(TypeError, match="pool: reduce_fn gives no torch tensor"):
        cn.pool(x, (2,), 0.0, lambda a, b: 1)


def unpooled(y: Any, indices: Any) -> Any:
    return cn.max_unpool(y, indices, (2,) * (y.ndim - 2))


# ------------------------------------------------------------------------------------------------ memory and dtypes

EVERY: dict[str, Function] = {
    "max": lambda x: cn.max_pool(x, (2,) * (x.ndim - 2)),
    "min with indices": lambda x: cn.min_pool(x, (2,) * (x.ndim - 2), return_indices=True)[1],
    "avg": lambda x: cn.avg_pool(x, (2,) * (x.ndim - 2), padding=1, count_include_pad=False),
    "lp": lambda x: cn.lp_pool(x, (2,) * (x.ndim - 2)),
    "lp inf": lambda x: cn.lp_pool(x, (2,) * (x.ndim - 2), p=np.inf),
    "smooth": lambda x: cn.smooth_max_pool(x, (2,) * (x.ndim - 2)),
    "median": lambda x: cn.median_pool(x, (2,) * (x.ndim - 2)),
    "adaptive": lambda x: cn.adaptive_avg_pool(x, (2,) * (x.ndim - 2)),
    "conv": lambda x: cn.conv(x, torch.ones(6, 4, *(2,) * (x.ndim - 2), dtype=x.dtype), layout="channels_first"),
    "conv_transpose": lambda x: cn.conv_transpose(
        x, torch.ones(4, 6, *(2,) * (x.ndim - 2), dtype=x.dtype), layout="channels_first", stride=2
    ),
    "unpool": lambda x: unpooled(*cn.max_pool(x, (2,) * (x.ndim - 2), return_indices=True)),
}
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("ndim", FORMATS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_channels_last_stays_channels_last(name: str, ndim: int, dtype: torch.dtype) -> None:
    x = torch.randn(2, 4, *(6,) * (ndim - 2)).to(dtype).to(memory_format=FORMATS[ndim])
    for way in (x, x.clone().requires_grad_()):
        y = EVERY[name](way)
        assert y.is_contiguous(memory_format=FORMATS[ndim])
        assert not y.is_contiguous()
        if y.requires_grad:
            (g,) = torch.autograd.grad(y, way, torch.ones_like(y))
            assert g.is_contiguous(memory_format=FORMATS[ndim])
    plain = EVERY[name](x.contiguous())
    assert plain.is_contiguous()
    torch.testing.assert_close(y.detach(), plain)


@pytest.mark.parametrize("name", EVERY)
def test_other_strides_give_a_contiguous_result(name: str) -> None:
    x = torch.randn(2, 6, 6, 4).permute(0, 3, 2, 1)
    again = [EVERY[name](given) for given in (x, x, x, x.clone(memory_format=torch.preserve_format).requires_grad_())]
    assert [y.is_contiguous() for y in again] == [True] * 4


def test_nothing_is_copied() -> None:
    seen: list[Any] = []

    def fold(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        seen.append(b.data_ptr())
        return b

    for dtype in (torch.float32, torch.bfloat16, torch.complex64):
        x = torch.ones(4, dtype=dtype)
        cn.pool(x, (1,), 0, fold)
        assert seen.pop() == x.data_ptr()
    from cenote.backends.torch import arrays

    for dtype in (torch.float32, torch.bfloat16):
        x = torch.ones(4, 6, dtype=dtype).T
        array = arrays.to_numpy(x)
        assert array.__array_interface__["data"][0] == x.data_ptr()
        assert arrays.from_numpy(array).data_ptr() == x.data_ptr()


def test_conjugates_and_negatives_are_resolved() -> None:
    z = torch.randn(4, 4, dtype=torch.complex64)
    assert torch.equal(cn.sum_pool(z.conj(), (2, 2)), cn.sum_pool(z.conj().resolve_conj(), (2, 2)))
    negative = z.conj().imag
    assert negative.is_neg()
    assert torch.equal(cn.max_pool(negative, (2, 2)), cn.max_pool(negative.clone().resolve_neg(), (2, 2)))


def test_dtype_of_either_library() -> None:
    x = torch.arange(6, dtype=torch.uint8)
    for dtype in (torch.float32, np.float32, "float32"):
        assert cn.avg_pool(x, (2,), dtype=dtype).dtype == torch.float32
    assert cn.avg_pool(x, (2,), dtype=torch.bfloat16).dtype == torch.bfloat16
    assert cn.sum_pool(x, (2,), dtype=torch.uint8).tolist() == [1, 5, 9]
    assert cn.conv(x[:, None].float(), torch.ones(2, 1, 1), dtype=torch.float64).dtype == torch.float64
    with pytest.raises(TypeError, match=r"dtype=torch\.complex32"):
        cn.avg_pool(x, (2,), dtype=torch.complex32)


@pytest.mark.parametrize("function", [cn.max_pool, cn.adaptive_max_pool])
def test_a_cached_call_of_long_long(function: Function) -> None:
    """NumPy has two integers of 64 bits, which are equal, and torch knows one of them."""
    for signed, unsigned in ((np.longlong, np.ulonglong), (np.int64, np.uint64)):
        for dtype in (signed, unsigned):
            cn.clear_cache()
            function(np.arange(4, dtype=dtype), (2,))
            assert function(torch.from_numpy(np.arange(4, dtype=np.dtype(dtype).name)), (2,)).tolist() == [1, 3]
    from cenote.backends.torch import arrays

    assert arrays.from_numpy(np.arange(3, dtype=np.ulonglong)).tolist() == [0, 1, 2]


def test_parameters_and_subclasses() -> None:
    class Named(torch.Tensor):
        pass

    y = cn.max_pool(torch.arange(4.0).as_subclass(Named), (2,))
    assert isinstance(y, torch.Tensor)
    assert y.tolist() == [1.0, 3.0]
    weight = torch.nn.Parameter(torch.arange(4.0))
    assert type(cn.max_pool(weight, (2,))) is torch.Tensor
    cn.max_pool(weight, (2,)).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [0.0, 1.0, 0.0, 1.0]


# -------------------------------------------------------------------------------------------------- what is refused

REFUSED: dict[str, tuple[Function, str]] = {
    "meta": (lambda: cn.max_pool(torch.ones(4, device="meta"), (2,)), "x is a meta tensor, which has no data: cn.out"),
    "sparse": (lambda: cn.max_pool(torch.eye(4).to_sparse(), (2,)), r"layout sparse_coo: pass x.to_dense\(\)"),
    "csr": (lambda: cn.max_pool(torch.eye(4).to_sparse_csr(), (2,)), r"layout sparse_csr: pass x.to_dense\(\)"),
    "nested": (
        lambda: cn.max_pool(torch.nested.nested_tensor([torch.ones(3), torch.ones(2)]), (2,)),
        r"x is a nested tensor: pool each of x.unbind\(\)",
    ),
    "jagged": (
        lambda: cn.max_pool(torch.nested.nested_tensor([torch.ones(3), torch.ones(2)], layout=torch.jagged), (2,)),
        "x is a nested tensor",
    ),
    "quantized": (
        lambda: cn.max_pool(torch.quantize_per_tensor(torch.ones(4), 1.0, 0, torch.quint8), (2,)),
        r"x is a quantized tensor: pass x.dequantize\(\)",
    ),
    "dtype": (lambda: cn.max_pool(torch.ones(4, dtype=torch.complex32), (2,)), "x has dtype torch.complex32: bool, an"),
    "float8": (lambda: cn.max_pool(torch.ones(4).to(torch.float8_e5m2), (2,)), "x has dtype torch.float8_e5m2"),
    "out": (lambda: cn.max_pool(torch.ones(4), (2,), out=np.ones(2)), "out is for NumPy arrays only: leave it out"),
    "NumPy filter": (
        lambda: cn.conv(torch.ones(4, 1), np.ones((2, 1, 1))),
        r"w is a NumPy array, and another argument is a torch tensor: pass torch.as_tensor\(w\)",
    ),
    "NumPy data": (lambda: cn.conv(np.ones((4, 1)), torch.ones(2, 1, 1)), r"x is a NumPy array.*torch.as_tensor\(x\)"),
    "list": (lambda: cn.conv(torch.ones(4, 1), torch.ones(2, 1, 1), bias=[1.0]), r"bias is a list.*torch.as_tensor"),
    "list of tensors": (lambda: cn.max_pool([torch.ones(4)], (2,)), r"x is a list of torch .* pass torch.stack\(x\)"),
    "cn.Tensor": (
        lambda: cn.conv(cn.Tensor(np.ones((4, 1))), torch.ones(2, 1, 1)),
        "w is a torch tensor, and another argument is a cenote Tensor: pass arrays of one library",
    ),
    "Tensor of it": (lambda: cn.Tensor(torch.ones(4)), r"data is a torch Tensor.*data.detach\(\).cpu\(\).numpy\(\)"),
    "vjp": (lambda: cn.vjp(lambda x: x, torch.ones(4)), "use torch.func, or requires_grad and backward"),
    "jvp": (lambda: cn.jvp(lambda x: x, (torch.ones(4),), (torch.ones(4),)), "use torch.func, or requires_grad"),
    "grad": (lambda: cn.grad(lambda x: x.sum())(torch.ones(4)), "use torch.func, or requires_grad and backward"),
    "linearize": (lambda: cn.linearize(lambda x: x, torch.ones(4)), "use torch.func, or requires_grad"),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, of what is experimental
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_do(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.filterwarnings("ignore")  # torch calls torch.jit deprecated
@pytest.mark.parametrize("called_before", [False, True])
def test_torch_jit_trace_is_refused(called_before: bool) -> None:
    """A result of NumPy's would be a constant of the program: also that of a call that is known from before."""
    x = torch.arange(8.0).reshape(1, 1, 2, 4)
    layers: dict[str, Function] = {"max_pool": lambda x: cn.max_pool(x, (1, 2)), "min_pool": ct.MinPool2d((1, 2))}
    for name, f in layers.items():
        if called_before:
            f(x), f(x)
        with pytest.raises(TypeError, match=rf"^{name}.*: torch.jit.trace cannot record .*: write torch.export.export"):
            torch.jit.trace(f, x)
        model = f if isinstance(f, torch.nn.Module) else ct.MaxPool2d((1, 2))
        program = torch.export.export(model, (x,)).module()
        assert torch.equal(program(-x), model(-x))


SETTINGS: dict[str, tuple[Function, str]] = {
    "p": (lambda p: cn.lp_pool(torch.ones(4), (2,), p=p), r"write p.item\(\), .* has no derivative by it$"),
    "divisor": (lambda d: cn.avg_pool(torch.ones(4), (2,), divisor=d), r"write divisor.item\(\)"),
    "pad_value": (lambda v: cn.smooth_max_pool(torch.ones(4), (2,), pad_value=v, padding=1), r"write pad_value.item"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_number_that_torch_derives_by(name: str) -> None:
    f, message = SETTINGS[name]
    value = torch.tensor(2.0, requires_grad=True)
    with pytest.raises(TypeError, match=message):
        f(value)
    assert f(value.item()).shape == f(2.0).shape
    with pytest.raises(TypeError, match=rf"pass float\({name}\)$"):
        f(value.detach())


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch calls what it deprecates
def test_a_number_that_torch_derives_by_forwards() -> None:
    """float(beta) would be a constant without a word."""
    value = torch.tensor(2.0)

    def f(beta: torch.Tensor) -> Any:
        return cn.smooth_max_pool(torch.ones(4), (2,), beta=beta)  # type: ignore[call-overload]

    with pytest.raises(TypeError, match=r"pool beta \* x with beta=1.0, and divide the result by beta$"):
        torch.func.jvp(f, (value,), (value,))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(value, value)
        with pytest.raises(TypeError, match=r"pool beta \* x with beta=1.0, and divide the result by beta$"):
            f(dual)


def test_the_derivative_by_beta() -> None:
    x = torch.arange(4.0, dtype=torch.float64)
    beta = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    with pytest.raises(TypeError, match=r"; pool beta \* x with beta=1.0, and divide the result by beta$"):
        cn.smooth_max_pool(x, (4,), beta=beta)  # type: ignore[call-overload]
    (g,) = torch.autograd.grad(cn.smooth_max_pool(beta * x, (4,), beta=1.0) / beta, beta)
    above, below = (cn.smooth_max_pool(x, (4,), beta=b).item() for b in (2.001, 1.999))
    assert g.item() == pytest.approx((above - below) / 0.002, rel=1e-5)


def test_torch_is_not_imported_before_its_tensor_comes_in() -> None:
    code = (
        "import sys, numpy as np, cenote as cn; cn.max_pool(np.ones(4), (2,)); cn.show_config();"
        "assert 'torch' not in sys.modules; import torch; assert 'cenote.backends.torch.functions' not in sys.modules;"
        "cn.max_pool(torch.ones(4), (2,)); assert 'torch._dynamo' not in sys.modules; cn.show_config()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    before, after = (line for line in done.stdout.splitlines() if line.startswith("torch"))
    assert "not imported" in before
    assert torch.__version__ in after
