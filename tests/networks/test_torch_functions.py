"""The functions of cenote.torch vs. those of torch.nn.functional: signatures, values, gradients, dtypes, formats."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  what its users call it

import cenote.torch as ct
from cenote.dialects import torch as dialect

# torch about its own padding, and about what torch.func loads.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Using padding='same':UserWarning", "ignore:.*torch.jit:DeprecationWarning"
)
torch.set_num_threads(1)  # small arrays: waking its threads costs a hundred times the work
FUNCTIONS = sorted(set(ct.__all__) & set(dir(F)))
INDEXED = [name for name in FUNCTIONS if name.endswith("_with_indices")]
SHAPES = {1: (2, 4, 13), 2: (2, 4, 9, 8), 3: (2, 4, 7, 6, 8)}


def draw(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> torch.Tensor:
    """A few values only: ties are the rule."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-4, 5, shape, generator=generator).to(dtype)


def calls(name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Arguments after the input for a function of torch's: those that matter, in combination."""
    rank = int(name.partition("d_")[0].rstrip("d")[-1])
    window = [{}, {"stride": 1}, {"stride": 3, "padding": 1}, {"stride": 2, "padding": 1, "ceil_mode": True}]
    if name.startswith("max_pool"):
        extra: list[dict[str, Any]] = [{"stride": 1, "dilation": 2}, {"stride": (2,) * rank, "ceil_mode": True}]
        return [((3,), options) for options in window + extra]
    if name.startswith("avg_pool"):
        uneven: list[dict[str, Any]] = [{"stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False}]
        overridden: list[dict[str, Any]] = [{"stride": 2, "divisor_override": -3}] if rank > 1 else []
        return [((3,), options) for options in window + uneven + overridden]
    if name.startswith("lp_pool"):
        return [((p, 3), {"stride": stride}) for p in (2, 4.0, float("inf"), -float("inf")) for stride in (None, 2)]
    if name.startswith("adaptive"):
        mixed: list[Any] = [(5,)] if rank == 1 else [(None, *range(2, rank + 1))]
        return [((size,), {}) for size in (1, 3, *mixed)]
    transposed = "transpose" in name
    filters = draw(4, 3, *(3, 2, 3)[:rank], seed=1) if transposed else draw(6, 2, *(3, 2, 3)[:rank], seed=1)
    options: list[dict[str, Any]] = [{"groups": 2}, {"groups": 2, "stride": 2, "padding": 1, "dilation": 2}]
    if transposed:
        options.append({"groups": 2, "stride": 3, "output_padding": 1})
    else:
        options.append({"groups": 2, "padding": "same"})
    return [((filters, draw(6, seed=2)), o) for o in options] + [((filters,), options[0])]


def as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def check_same(ours: Callable[..., Any], theirs: Callable[..., Any], *operands: torch.Tensor, exact: bool) -> None:
    """The results of two functions and their gradients with respect to all operands."""
    results = []
    for function in (ours, theirs):
        held = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in operands]
        y, *indices = as_tuple(function(*held))
        g = draw(*y.shape, seed=3)
        wanted = [x for x in held if x.requires_grad]
        results.append([y.detach(), *indices, *torch.autograd.grad(y, wanted, g.to(y.dtype))])
    tolerance = 0.0 if exact else 1e-12
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if "unpool" not in name])
@pytest.mark.parametrize("batched", [True, False])
def test_values_and_gradients(name: str, batched: bool) -> None:
    rank = int(name.partition("d_")[0].rstrip("d")[-1])
    x = draw(*SHAPES[rank]) if batched else draw(*SHAPES[rank])[1]
    for args, options in calls(name):
        tensors = [value for value in args if isinstance(value, torch.Tensor)]
        rest = args[len(tensors) :]

        def bound(function: Any, rest: Any = rest, options: Any = options) -> Callable[..., Any]:
            return lambda x, *operands: function(x, *operands, *rest, **options)

        check_same(bound(getattr(ct, name)), bound(getattr(F, name)), x, *tensors, exact="max" in name)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("sized", [False, True])
def test_unpooling(rank: int, sized: bool) -> None:
    x = draw(*SHAPES[rank])
    values, indices = getattr(ct, f"max_pool{rank}d")(x, 2, return_indices=True)
    options = {"output_size": SHAPES[rank][2:]} if sized else {}
    names = getattr(ct, f"max_unpool{rank}d"), getattr(F, f"max_unpool{rank}d")
    if not sized:  # an index is flat over the sizes that were pooled
        x = x[:, :, *(slice(n - n % 2) for n in SHAPES[rank][2:])]
        values, indices = getattr(ct, f"max_pool{rank}d")(x, 2, return_indices=True)
    ours, theirs = (lambda y, function=function: function(y, indices, 2, **options) for function in names)
    check_same(ours, theirs, values, exact=True)
    with pytest.raises(ValueError, match="indices has values from"):
        names[0](values, indices + x[0, 0].numel(), 2)


# ----------------------------------------------------------------------------------------- names and signatures


def test_every_function_of_the_dialect_is_there_and_the_names_with_indices() -> None:
    assert set(dialect.__all__) <= set(FUNCTIONS)
    assert set(FUNCTIONS) - set(dialect.__all__) == set(INDEXED) == {n for n in dir(F) if "_pool" in n and "_with_" in n
                                                                    and "fractional" not in n}  # fmt: skip


@pytest.mark.parametrize("name", dialect.__all__)
def test_signatures_are_those_of_the_dialect(name: str) -> None:
    assert inspect.signature(getattr(ct, name)) == inspect.signature(getattr(dialect, name))
    assert getattr(ct, name).__name__ == name


@pytest.mark.parametrize("name", INDEXED)
def test_indices_come_whatever_is_asked_for(name: str) -> None:
    function = getattr(ct, name)
    rank = int(name.partition("d_")[0][-1])
    x = draw(*SHAPES[rank])
    more = (3,) if name.startswith("adaptive") else (2, None, 0, 1, False)
    expected = getattr(F, name)(x, *more)
    for given in (function(x, *more), function(x, *more, False), function(input=x, **{next(iter(
        list(inspect.signature(function).parameters)[1:])): more[0]}, return_indices=False)):  # fmt: skip
        for a, b in zip(given, expected, strict=True):
            assert torch.equal(a, b)
    assert inspect.signature(function) == inspect.signature(getattr(F, name)).replace(
        parameters=list(inspect.signature(function).parameters.values()),
        return_annotation=inspect.signature(function).return_annotation,
    )
    assert list(inspect.signature(function).parameters) == list(inspect.signature(getattr(F, name)).parameters)


def test_torch_is_imported_by_cenote_torch_alone() -> None:
    code = "import sys, cenote; assert 'torch' not in sys.modules; import cenote.torch; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_what_is_not_imported_yet_is_named() -> None:
    code = """
import cenote as cn
for name in ("torch", "accelerate"):
    try:
        getattr(cn, name)
    except AttributeError as error:
        print(error)
import cenote.torch
assert cn.torch is cenote.torch
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=120, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "module 'cenote' has no attribute 'torch': write import cenote.torch",
        "module 'cenote' has no attribute 'accelerate': write cenote.torch.accelerate",
    ]


def test_a_mistake_is_reported_in_torch_s_words() -> None:
    x = torch.zeros(1, 2, 4, 4)
    with pytest.raises(ValueError, match=r"^max_pool2d: padding=2 is more than half of kernel_size=2"):
        ct.max_pool2d(x, 2, padding=2)
    with pytest.raises(TypeError, match=r"^avg_pool2d: input has dtype int32: torch averages floats"):
        ct.avg_pool2d(x.int(), 2)
    with pytest.raises(TypeError, match=r"^conv2d: weight has dtype torch.float64, input has torch.float32"):
        ct.conv2d(x, torch.zeros(1, 2, 3, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"^min_pool3d: input has shape \(1, 4\), with 2 axes: 4 are needed"):
        ct.min_pool3d(x[0, 0, :1], 2)
    with pytest.raises(ValueError, match=r"^smooth_max_pool2d: beta=0"):
        ct.smooth_max_pool2d(x, 2, beta=0.0)


# -------------------------------------------------------------------------------------------------------- dtypes


@pytest.mark.parametrize("divisor", [None, 3, -2])
def test_averages_of_int64_are_truncated(divisor: int | None) -> None:
    x = draw(2, 3, 7, 6, dtype=torch.int64)
    options: dict[str, Any] = {"stride": 2, "padding": 1, "ceil_mode": True, "divisor_override": divisor}
    got = ct.avg_pool2d(x, 3, **options)
    assert got.dtype == torch.int64
    assert torch.equal(got, F.avg_pool2d(x, 3, **options))
    excluding = {**options, "count_include_pad": False}
    assert torch.equal(ct.avg_pool2d(x, 3, **excluding), F.avg_pool2d(x, 3, **excluding))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.float16, torch.bfloat16, torch.float32])
def test_dtypes_are_kept(dtype: torch.dtype) -> None:
    x = draw(1, 2, 6, 6, dtype=dtype)
    assert torch.equal(ct.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 3, 2, 1))
    assert torch.equal(ct.min_pool2d(x, 2), -F.max_pool2d(-x.double(), 2).to(dtype))
    if x.is_floating_point():
        for ours, theirs in ((ct.avg_pool2d, F.avg_pool2d), (ct.adaptive_avg_pool2d, F.adaptive_avg_pool2d)):
            torch.testing.assert_close(ours(x, 2), theirs(x, 2))


def test_norms_of_integers_are_float64() -> None:
    x = draw(2, 6, dtype=torch.int32)
    for p in (2.0, 3.0, -float("inf")):
        got = ct.lp_pool1d(x, p, 2)
        assert got.dtype == torch.float64
        torch.testing.assert_close(got, ct.lp_pool1d(x.double(), p, 2))


POOLS = [name for name in ct.__all__ if name[-2:] in ("1d", "2d", "3d") and name.islower() and hasattr(F, name)]


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_autocast(name: str, dtype: torch.dtype) -> None:
    """Which functions torch computes in which dtype is measured, not known."""
    rank = int(name[-2])
    x = torch.randn(2, 4, *(6,) * rank, dtype=dtype)
    if name.startswith("conv"):
        args: tuple[Any, ...] = (torch.randn(4, 4, *(3,) * rank), torch.randn(4))
        args = tuple(value.to(torch.float64 if dtype == torch.float64 else torch.float32) for value in args)
    elif name.startswith("max_unpool"):
        args = (torch.arange(6**rank).reshape((6,) * rank).expand(x.shape).contiguous(), 1)
    else:
        args = (2.0, 2) if name.startswith("lp") else (2,)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got, expected = getattr(ct, name)(x, *args), getattr(F, name)(x, *args)
    assert got.dtype == expected.dtype
    torch.testing.assert_close(got, expected, atol=0.1, rtol=0.05)
    if name.startswith("conv"):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert getattr(ct, name)(input=x, weight=args[0], bias=args[1]).dtype == expected.dtype


# ------------------------------------------------------------------------------------------------ memory formats


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "lp_pool2d", "conv2d"])
def test_results_can_be_viewed_where_torch_s_can(name: str) -> None:
    args: tuple[Any, ...] = (2.0, 2) if name == "lp_pool2d" else (2,)
    if name == "conv2d":
        args = (torch.randn(3, 3, 2, 2),)
    for order in itertools.permutations(range(4)):
        x = torch.randn(*((2, 3, 6, 8)[i] for i in order)).permute(*(order.index(i) for i in range(4)))
        got, expected = getattr(ct, name)(x, *args), getattr(F, name)(x, *args)
        torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)
        assert got.is_contiguous() >= expected.is_contiguous()
        last = expected.is_contiguous(memory_format=torch.channels_last)
        assert got.is_contiguous(memory_format=torch.channels_last) >= last


def test_channels_last_stays() -> None:
    x = torch.randn(2, 3, 6, 8).to(memory_format=torch.channels_last)
    values, indices = ct.max_pool2d(x, 2, return_indices=True)
    assert values.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(indices, F.max_pool2d(x, 2, return_indices=True)[1])
    deep = torch.randn(2, 3, 6, 8, 4).to(memory_format=torch.channels_last_3d)
    assert ct.max_pool3d(deep, 2).is_contiguous(memory_format=torch.channels_last_3d)
    transposed = torch.randn(2, 5, 3).transpose(1, 2)  # (N, L, C), as text has it
    assert ct.max_pool1d(transposed, 2).view(2, -1).shape == (2, 6)


# --------------------------------------------------------------------------------------- what torch does around


class Logged(torch.Tensor):
    """A tensor that knows which functions it was given to."""

    seen: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]


def test_subclasses_of_tensors_are_asked() -> None:
    x = torch.randn(1, 1, 4, 4).as_subclass(Logged)
    y = ct.max_pool2d(x, 2)
    assert isinstance(y, Logged)
    assert "max_pool2d" in Logged.seen
    w = torch.randn(1, 1, 2, 2).as_subclass(Logged)
    assert isinstance(ct.conv2d(torch.randn(1, 1, 4, 4), w), Logged)
    assert "conv2d" in Logged.seen


def test_proxies_of_fx_record_the_call() -> None:
    class Network(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return ct.avg_pool2d(ct.max_pool2d(x, 2), kernel_size=2).relu()

    graph = torch.fx.symbolic_trace(Network())
    targets = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    assert targets == [ct.max_pool2d, ct.avg_pool2d]
    x = torch.randn(1, 2, 8, 8)
    assert torch.equal(graph(x), Network()(x))
    assert "cenote" in graph.code


# ---------------------------------------------------------------------------------------------- smooth maximum


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("beta", [0.7, -2.0])
def test_beta_as_a_tensor(rank: int, beta: float) -> None:
    function = getattr(ct, f"smooth_max_pool{rank}d")
    shape = {1: (2, 3, 5), 2: (1, 3, 4, 3), 3: (1, 3, 3, 2, 2)}[rank]
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    b = torch.tensor(beta, dtype=torch.float64, requires_grad=True)
    for window in ((2,), (2, 1, 1), (3, 2, 1)):
        torch.testing.assert_close(function(x, *window, beta=b), function(x, *window, beta=beta))
        assert torch.autograd.gradcheck(lambda x, b, w=window: function(x, *w, beta=b), (x, b), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(
        lambda x, b: function(x, 2, 1, 1, beta=b), (x[:1, :1].detach().requires_grad_(), b)
    )
    per_channel = torch.rand(3, *(1,) * rank, dtype=torch.float64) + 0.5
    each = [function(x[:, i : i + 1], 2, beta=float(per_channel[i])) for i in range(3)]
    torch.testing.assert_close(function(x, 2, beta=per_channel), torch.cat(each, dim=1))


def test_beta_far_from_zero() -> None:
    x = torch.tensor([[700.0, -900.0, 0.5, 0.25]], requires_grad=True)
    b = torch.tensor(40.0, requires_grad=True)
    y = ct.smooth_max_pool1d(x, 2, beta=b)
    torch.testing.assert_close(y, torch.tensor([[700.0, 0.5]]), atol=1e-5, rtol=1e-6)
    y.sum().backward()
    assert b.grad is not None
    assert b.grad.isfinite()
    torch.testing.assert_close(x.grad, torch.tensor([[1.0, 0.0, 1.0, 0.0]]), atol=1e-4, rtol=0)
