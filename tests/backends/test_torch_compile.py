"""torch.compile with fixed and dynamic shapes, torch.export, opcheck, and the places where networks run."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.utils import make_boxed_func
from torch.func import grad, hessian, jvp, vmap
from torch.utils.checkpoint import checkpoint

import cenote as cn
import cenote.torch as ct
from vocabulary import Function

Tensor = torch.Tensor
pytestmark = pytest.mark.filterwarnings("ignore")  # torch calls what it deprecates


@pytest.fixture(autouse=True)
def compile_anew() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def unpooled_to(x: Tensor, y: Tensor, indices: Tensor) -> Any:
    return ct.max_unpool2d(y, indices, 2, output_size=x.shape)


w, b, k = torch.randn(4, 3, 3, 3), torch.randn(4), torch.randn(2, 3)
FUNCTIONS: dict[str, Function] = {
    "max": lambda x: cn.max_pool(x, (2, 2)),
    "max, all options": lambda x: cn.max_pool(
        x=x,
        window=[2, 3],
        stride=(1, 2),
        padding=((1, 0), (2, 1)),
        dilation=2,
        ceil_mode=True,
        axes=(3, 2),
        ties="split",
    ),
    "large window": lambda x: cn.max_pool(x, (17, 17), padding=8, stride=1),  # whose offsets have more bytes
    "indices": lambda x: cn.max_pool(x, (2, 2), return_indices=True)[0],
    "unpool": lambda x: cn.max_unpool(*cn.max_pool(x, (2, 2), return_indices=True), (2, 2), output_shape=(13, 13)),
    "unpool to a shape": lambda x: cn.max_unpool(
        *cn.max_pool(x, (2, 2), return_indices=True), (2, 2), output_shape=x.shape[-2:]
    ),
    "torch's unpool": lambda x: unpooled_to(x, *ct.max_pool2d(x, 2, return_indices=True)),
    "min omit": lambda x: cn.min_pool(x, (2, 2), nan="omit"),
    "sum": lambda x: cn.sum_pool(x, (3, 3), padding="same", stride=2),
    "avg": lambda x: cn.avg_pool(x, (3, 3), padding=1, stride=2, count_include_pad=False),
    "avg of a dtype": lambda x: cn.avg_pool(x, (2, 2), dtype=torch.float64, nan="omit"),
    "avg of NumPy's dtype": lambda x: cn.avg_pool(x, (2, 2), dtype=np.float64),
    "lp": lambda x: cn.lp_pool(x, (2, 2), p=3.0),
    "lp inf": lambda x: cn.lp_pool(x, (2, 2), p=np.inf),
    "smooth": lambda x: cn.smooth_max_pool(x, (2, 2), beta=0.5, pad_value=None),
    "median": lambda x: cn.median_pool(x, (3, 3), stride=1),
    "adaptive max": lambda x: cn.adaptive_max_pool(x, (3, 2)),
    "adaptive avg": lambda x: cn.adaptive_avg_pool(x, (3, None)),
    "global": lambda x: cn.global_max_pool(x, axes=(2, 3)) + cn.global_avg_pool(x, axes=(-1, -2)),
    "conv": lambda x: cn.conv(x, w, bias=b, layout="channels_first", padding="same", stride=2),
    "conv_transpose": lambda x: cn.conv_transpose(
        x, w[:3].movedim(0, 1)[:, :2], layout="channels_first", stride=2, output_padding=1
    ),
    "correlate": lambda x: cn.correlate(x, k, mode="full", stride=2),
    "convolve": lambda x: cn.convolve(x, k, mode="same"),
    "pool": lambda x: cn.pool(x, (2, 2), 0.5, np.maximum, stride=1, padding=1),
    "pool of all options": lambda x: cn.pool(x, (3, 2), 1.0, np.add, stride=1, padding=1, dilation=2, ceil_mode=True),
    "pool product": lambda x: cn.pool(x, (2, 2), 0.5, torch.mul),
    "in a network": lambda x: cn.avg_pool(torch.relu(cn.max_pool(x.sin(), (2, 2)) * 2), (2, 2)).exp(),
}
SHAPES = [(2, 3, 8, 8), (2, 3, 12, 9), (3, 3, 6, 10), (2, 3, 11, 11)]


def value_and_gradient(f: Function, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1), requires_grad=True)
    y = f(x)
    g = torch.randn(y.shape, generator=torch.Generator().manual_seed(2), dtype=y.dtype)
    y.backward(g)
    assert x.grad is not None
    return y.detach(), x.grad


def check(f: Function, compiled: Function, shapes: Sequence[tuple[int, ...]] = SHAPES) -> None:
    for shape in shapes:
        for mine, real in zip(value_and_gradient(compiled, shape), value_and_gradient(f, shape), strict=True):
            torch.testing.assert_close(mine, real, rtol=1e-5, atol=1e-5)
            assert mine.stride() == real.stride()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_compilation_serves_all_shapes(name: str) -> None:
    graphs = 0

    def backend(module: Any, inputs: Any) -> Any:
        nonlocal graphs
        graphs += 1
        return torch._dynamo.backends.registry.lookup_backend("aot_eager")(module, inputs)

    f = FUNCTIONS[name]
    check(f, torch.compile(f, fullgraph=True, dynamic=True, backend=backend))
    # The first of them has equal sizes, which torch takes for the same.
    assert graphs <= 3


@pytest.mark.parametrize("name", ["max", "avg of NumPy's dtype", "smooth", "median", "conv", "in a network"])
def test_fixed_shapes(name: str) -> None:
    f = FUNCTIONS[name]
    check(f, torch.compile(f, fullgraph=True, dynamic=False, backend="aot_eager"), SHAPES[:2])


def test_inductor() -> None:
    def f(x: Tensor) -> Tensor:
        return FUNCTIONS["in a network"](x.to(memory_format=torch.channels_last))  # type: ignore[no-any-return]

    check(f, torch.compile(f, fullgraph=True, dynamic=True), SHAPES[1:3])


def test_dimensions_that_are_marked_dynamic_are_not_specialized() -> None:
    f = FUNCTIONS["in a network"]
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    x = torch.randn(5, 3, 8, 12)
    for axis in (0, 2, 3):
        torch._dynamo.mark_dynamic(x, axis)
    torch.testing.assert_close(compiled(x), f(x))


IN_A_PROGRAM: dict[str, Function] = {
    "jvp": lambda x: jvp(lambda x: cn.smooth_max_pool(x, (2, 2)), (x,), (x.cos(),))[1],
    "jvp of max": lambda x: jvp(lambda x: cn.max_pool(x, (2, 2)), (x,), (x.cos(),))[1],
    "jvp of conv": lambda x: jvp(lambda x: cn.conv(x, w, layout="channels_first"), (x,), (x.cos(),))[1],
    "grad": lambda x: grad(lambda x: cn.max_pool(x, (2, 2)).pow(2).sum())(x),
    "grad of avg": lambda x: grad(lambda x: cn.avg_pool(x, (2, 2)).pow(2).sum())(x),
    "hessian": lambda x: hessian(lambda x: cn.smooth_max_pool(x, (2, 2)).pow(2).sum())(x[0, 0, :2, :4]),
    "vmap": lambda x: vmap(lambda x: cn.max_pool(x, (2, 2)))(x),
    "vmap of grad": lambda x: vmap(grad(lambda x: cn.lp_pool(x, (2, 2)).sum()))(x),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", IN_A_PROGRAM)
def test_transformations_inside_of_a_compiled_function(name: str, dynamic: bool) -> None:
    """torch gives silent zeros for jvp of an operator without a rule: never of ours."""
    f = IN_A_PROGRAM[name]
    x = torch.randn(2, 3, 8, 8)
    expected = f(x)
    assert expected.abs().max() > 0
    if name == "hessian" and dynamic:
        return  # torch has no dual numbers of symbolic sizes
    torch.testing.assert_close(torch.compile(f, fullgraph=True, backend="aot_eager", dynamic=dynamic)(x), expected)


def test_a_function_of_the_user_is_refused_in_a_graph() -> None:
    with pytest.raises(Exception, match="reduce_fn is a Python function, which a compiled program cannot hold"):
        torch.compile(lambda x: cn.pool(x, (2,), 0.0, lambda a, b: a + b), fullgraph=True)(torch.ones(4))


def test_errors_in_compiled_functions_are_ours() -> None:
    with pytest.raises(
        Exception, match=r"max_pool: window=.* does not fit on axis 2: it needs 20 elements, there are 8"
    ):
        torch.compile(lambda x: cn.max_pool(x, (20, 20)), fullgraph=True, backend="aot_eager")(torch.ones(2, 3, 8, 8))
    f = torch.compile(lambda x: cn.max_pool(x, (6, 6)), fullgraph=True, backend="aot_eager", dynamic=True)
    f(torch.ones(2, 3, 8, 9))
    with pytest.raises(Exception, match="does not fit on axis 2"):
        f(torch.ones(2, 3, 4, 9))


# ------------------------------------------------------------------------------------------------------------ export


class Net(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return FUNCTIONS["in a network"](x)  # type: ignore[no-any-return]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
def test_export(strict: bool, dynamic: bool) -> None:
    dims = {"x": {0: torch.export.Dim.DYNAMIC, 2: torch.export.Dim.DYNAMIC, 3: torch.export.Dim.DYNAMIC}}
    x = torch.randn(2, 3, 8, 9)
    program = torch.export.export(Net(), (x,), strict=strict, dynamic_shapes=dims if dynamic else None)
    file = io.BytesIO()
    torch.export.save(program.run_decompositions(), file)
    file.seek(0)
    module = torch.export.load(file).module()
    shapes = [(2, 3, 8, 9), (3, 3, 13, 8)] if dynamic else [(2, 3, 8, 9)]
    check(Net(), module, shapes)  # the program has derivatives, too
    torch.testing.assert_close(jvp(module, (x,), (x,))[1], jvp(Net(), (x,), (x,))[1])
    torch.testing.assert_close(grad(lambda x: module(x).sum())(x), grad(lambda x: Net()(x).sum())(x))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_exported(name: str) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return FUNCTIONS[name](x)  # type: ignore[no-any-return]

    dims = {"x": {2: torch.export.Dim.DYNAMIC, 3: torch.export.Dim.DYNAMIC}}
    fixed = name.startswith("pool")  # the generic one is for the shape at hand
    program = torch.export.export(Module(), (torch.randn(2, 3, 8, 9),), dynamic_shapes=None if fixed else dims)
    for shape in ((2, 3, 8, 9),) if fixed else ((2, 3, 8, 9), (2, 3, 11, 8)):
        x = torch.randn(shape)
        torch.testing.assert_close(program.module()(x), FUNCTIONS[name](x), rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------------------------------------------------- opcheck


class Seen(torch.utils._python_dispatch.TorchDispatchMode):
    """Which of our operators were called, with which arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "cenote":
            self.calls.append((func, args))
        return func(*args, **(kwargs or {}))


CHECKED = ["max", "indices", "unpool", "avg", "lp", "smooth", "median", "conv", "convolve"]


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("last", [False, True])
def test_opcheck(name: str, last: bool) -> None:
    x = torch.randn(1, 3, 6, 6)
    x = (x.to(memory_format=torch.channels_last) if last else x).requires_grad_()
    with Seen() as seen:
        FUNCTIONS[name](x).sum().backward()
    assert seen.calls
    for operator, args in seen.calls:
        given = [
            a.detach().requires_grad_(i == 2 and a.is_floating_point()) if isinstance(a, Tensor) else a
            for i, a in enumerate(args)
        ]
        result = torch.library.opcheck(operator, tuple(given))
        assert set(result.values()) == {"SUCCESS"}


class Recorder(torch.fx.Interpreter):
    """Runs a compiled graph, and keeps the calls of our operators."""

    def __init__(self, module: Any, calls: list[Any]) -> None:
        super().__init__(module)
        self.calls = calls

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if getattr(target, "namespace", "") == "cenote":
            self.calls.append((target, args))
        return super().call_function(target, args, kwargs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_opcheck_of_operators_of_open_sizes(name: str) -> None:
    calls: list[Any] = []

    def compiler(module: Any, inputs: Any) -> Any:
        return make_boxed_func(Recorder(module, calls).run)

    backend = aot_autograd(fw_compiler=compiler, bw_compiler=compiler)
    f = torch.compile(FUNCTIONS[name], fullgraph=True, dynamic=True, backend=backend)
    f(torch.randn(2, 3, 8, 9, requires_grad=True)).sum().backward()
    assert len(calls) > 1
    for operator, args in calls:
        assert "symbolic" in operator.name()
        assert args[1]
        masks = '["bool"]' in args[0]  # which have no derivative, and say so
        given = [
            a.detach().requires_grad_(i == 2 and a.is_floating_point() and not masks) if isinstance(a, Tensor) else a
            for i, a in enumerate(args)
        ]
        assert set(torch.library.opcheck(operator, tuple(given)).values()) == {"SUCCESS"}


# ------------------------------------------------------------------------------------------- where networks run


class Data(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, i: int) -> Any:
        return cn.max_pool(torch.full((64, 64), float(i)), (2, 2)), cn.avg_pool(np.full((64, 64), float(i)), (2, 2))


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_of_a_data_loader(start: str) -> None:
    cn.max_pool(torch.zeros(512, 512), (2, 2))  # threads are there before the fork
    loader = torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2, multiprocessing_context=start)
    for i, (largest, mean) in enumerate(loader):
        assert largest.shape == mean.shape == (2, 32, 32)
        assert largest[:, 0, 0].tolist() == mean[:, 0, 0].tolist() == [2.0 * i, 2.0 * i + 1]


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_checkpoint(name: str, reentrant: bool) -> None:
    f = FUNCTIONS[name]
    check(f, lambda x: checkpoint(f, x, use_reentrant=reentrant), SHAPES[:1])


def test_autocast() -> None:
    """Dtypes are what they are without: pooling has nothing to gain from fewer bits."""
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    with torch.autocast("cpu"):
        hidden = torch.nn.functional.conv2d(x, w)
        assert hidden.dtype == torch.bfloat16
        y = cn.max_pool(hidden, (2, 2))
        assert y.dtype == torch.bfloat16
        assert cn.max_pool(x, (2, 2)).dtype == torch.float32
    y.float().sum().backward()
    assert x.grad is not None
    assert x.grad.abs().max() > 0


def test_inference_mode() -> None:
    x = torch.nn.Parameter(torch.arange(4.0))
    with torch.inference_mode():
        y = cn.max_pool(x, (2,))
        assert cn.max_pool(y, (2,)).tolist() == [3.0]
    assert not y.requires_grad
    assert cn.sum_pool(y, (2,)).tolist() == [4.0]


def test_hooks_and_retained_graphs() -> None:
    x = torch.arange(4.0, requires_grad=True)
    y = cn.max_pool(x, (2,))
    seen: list[Tensor] = []
    y.register_hook(seen.append)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 2.0, 0.0, 2.0]
    assert len(seen) == 2
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


def test_a_changed_operand_is_noticed() -> None:
    x = torch.arange(4.0, requires_grad=True)
    h = x * 1
    y = cn.lp_pool(h, (2,))
    h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_saved_program_runs_in_another_process(tmp_path: Path) -> None:
    class Pool(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = cn.max_pool(x, (2, 2))
            return y

    path = tmp_path / "program.pt2"
    torch.export.save(torch.export.export(Pool(), (torch.arange(16.0).reshape(4, 4),)), path)
    program = f"""
import torch, cenote.torch
y = torch.export.load({str(path)!r}).module()(torch.arange(16.0).reshape(4, 4))
assert y.tolist() == [[5.0, 7.0], [13.0, 15.0]]
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)
