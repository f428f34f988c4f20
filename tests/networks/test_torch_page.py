"""docs/torch.md says what is true: each row of its table of what is supported is run, and its names exist."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  what its users call it
from torch import nn
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

import cenote.torch as ct

# What torch's own compiler and quantization call deprecated in torch.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
torch.set_num_threads(1)
PAGE = (Path(__file__).parents[2] / "docs" / "torch.md").read_text(encoding="utf-8")
Run = Callable[[Any], Any]  # of cenote.torch or torch.nn.functional, or of the layers of cenote.torch or torch.nn


def pictures(dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(2, 3, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).to(dtype)


def pooled(library: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    """A little of everything, smooth in parts, so that second derivatives are there."""

    def function(x: torch.Tensor) -> torch.Tensor:
        y = library.max_pool2d(x, 3, 2, 1) + library.avg_pool2d(x, 2)
        result: torch.Tensor = library.adaptive_avg_pool2d(library.lp_pool2d(y, 2.0, 2, 1), 2)
        return result

    return function


def loss(library: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: pooled(library)(x).sin().sum()


def backward(library: Any) -> Any:
    x = pictures().requires_grad_()
    loss(library)(x).backward()  # type: ignore[no-untyped-call]
    return x.grad


def twice(library: Any) -> Any:
    x = pictures().requires_grad_()
    (g,) = torch.autograd.grad(loss(library)(x), x, create_graph=True)
    return torch.autograd.grad(g.square().sum(), x)


def forward(library: Any) -> Any:
    x, t = pictures(), pictures().cos()
    with forward_ad.dual_level():
        given = forward_ad.make_dual(x, t)  # type: ignore[no-untyped-call]
        dual = forward_ad.unpack_dual(pooled(library)(given))  # type: ignore[no-untyped-call]
    return torch.func.jvp(pooled(library), (x,), (t,)), dual.primal, dual.tangent


def transforms(library: Any) -> Any:
    x = pictures()[:1, :1]
    f = loss(library)
    y, pull, *_ = torch.func.vjp(pooled(library), x)
    jacobians = torch.func.jacrev(pooled(library))(x), torch.func.jacfwd(pooled(library))(x)
    return torch.func.grad(f)(x), y, pull(y), *jacobians, torch.func.hessian(f)(x)


def compiled(library: Any) -> Any:
    torch._dynamo.reset()
    function = torch.compile(loss(library), fullgraph=True, backend="aot_eager")
    x = pictures().requires_grad_()
    y = function(x)
    y.backward()  # type: ignore[no-untyped-call]
    return y.detach(), x.grad


class Layer(nn.Module):
    def __init__(self, library: Any) -> None:
        super().__init__()
        self.function = pooled(library)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def exported(library: Any) -> Any:
    return torch.export.export(Layer(library), (pictures(),)).module()(pictures())


def traced(library: Any) -> Any:
    graph = torch.fx.symbolic_trace(Layer(library))
    assert library.lp_pool2d in [node.target for node in graph.graph.nodes]
    return graph(pictures())


def autocast(library: Any) -> Any:
    x = pictures(torch.float32)
    with torch.autocast("cpu"):
        return [y.dtype for y in (library.conv2d(x, x[:, :, :2, :2]), library.max_pool3d(x, 2), pooled(library)(x))]


def without_gradient(library: Any) -> Any:
    x = pictures().requires_grad_()
    with torch.no_grad():
        y = pooled(library)(x)
    with torch.inference_mode():
        z = pooled(library)(x)
    return y, y.requires_grad, z.is_inference()


def checkpointed(library: Any) -> Any:
    x = pictures().requires_grad_()
    checkpoint(loss(library), x, use_reentrant=False).backward()
    return x.grad


class Pictures(torch.utils.data.Dataset[torch.Tensor]):
    def __init__(self, library: Any) -> None:
        self.library = library

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> torch.Tensor:
        return pooled(self.library)(pictures() + i)


def workers(library: Any) -> Any:
    return torch.stack(list(torch.utils.data.DataLoader(Pictures(library), num_workers=1, batch_size=None)))


def channels_last(library: Any) -> Any:
    x = pictures().to(memory_format=torch.channels_last)
    y = library.max_pool2d(x, 2)
    return y, y.is_contiguous(memory_format=torch.channels_last)


def other_strides(library: Any) -> Any:
    y = library.max_pool2d(pictures().transpose(2, 3), 2)
    return y, y.stride()


def half(library: Any) -> Any:
    ones = torch.ones(1, 1, 64, 64)
    return [library.avg_pool2d(ones.to(dtype), 64) for dtype in (torch.float16, torch.bfloat16)]


def integers(library: Any) -> Any:
    x = (10 * pictures()).long()
    maxima = [library.max_pool2d(x.to(dtype), 2) for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32)]
    return *maxima, library.max_pool2d(x, 2), library.avg_pool2d(x, 2)


class Tagged(torch.Tensor):
    pass


def subclasses(library: Any) -> Any:
    y = pooled(library)(pictures().as_subclass(Tagged))
    return type(y), y.as_subclass(torch.Tensor)


def layers(library: Any) -> Any:
    kinds = nn if library is F else ct
    called: list[int] = []
    layer = nn.Sequential(kinds.MaxPool2d(2), kinds.AvgPool2d(2))
    layer[0].register_forward_hook(lambda *_: called.append(1))
    same = [layer, copy.deepcopy(layer)]
    layer[0]._forward_hooks.clear()
    same.append(pickle.loads(pickle.dumps(layer)))
    return [one(pictures()) for one in same], called, list(layer.state_dict())


def elsewhere(library: Any) -> Any:
    x = pictures().to("meta")
    if library is ct:
        for refused in (x, pictures().to_sparse(), torch.quantize_per_tensor(pictures().float(), 0.1, 0, torch.quint8)):
            with pytest.raises(TypeError, match=r"pass|meta"):
                ct.max_pool2d(refused, 2)
    return (nn if library is F else ct).MaxPool2d(2)(x).shape


def jit_traced(library: Any) -> Any:
    model = nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(2))
    if library is ct:
        ct.accelerate(model)
    program = torch.jit.trace(model, pictures())  # type: ignore[no-untyped-call]
    assert "aten::max_pool2d" in str(program.inlined_graph)
    assert "cenote::" not in str(program.inlined_graph)
    return program(pictures()), program(-pictures())


def scripted(library: Any) -> Any:
    model = nn.Sequential(torch.jit.script(nn.MaxPool2d(2)))
    if library is ct:
        assert ct.accelerate(model) == []
    return model(pictures())


ROWS: dict[str, Run] = {
    "`backward`, `torch.autograd.grad`": backward,
    "double backward, `create_graph=True`": twice,
    "`torch.func.jvp`, `torch.autograd.forward_ad`": forward,
    "`torch.func.grad`, `vjp`, `jacrev`, `jacfwd`, `hessian`": transforms,
    "`torch.vmap`": lambda library: torch.vmap(pooled(library))(torch.stack([pictures(), -pictures()])),
    "`torch.compile`": compiled,
    "`torch.export`": exported,
    "`torch.fx.symbolic_trace`": traced,
    "`torch.autocast`": autocast,
    "`torch.no_grad`, `torch.inference_mode`": without_gradient,
    "`torch.utils.checkpoint`": checkpointed,
    "workers of a `DataLoader`": workers,
    "`torch.channels_last`": channels_last,
    "any other strides": other_strides,
    "float16, bfloat16": half,
    "integers": integers,
    "subclasses of tensors": subclasses,
    "`state_dict`, `pickle`, `copy.deepcopy`, hooks": layers,
    "a GPU; sparse, quantized, nested and meta tensors": elsewhere,
    "`torch.jit.trace`": jit_traced,
    "`torch.jit.script`": scripted,
}


def elements_under(heading: str) -> list[list[str]]:
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[element.strip() for element in line.strip("|").split(" | ")] for line in lines[2:]]


def test_the_table_has_the_rows_that_are_run() -> None:
    assert [row[0] for row in elements_under("What is supported")] == list(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_table(row: str) -> None:
    ours, theirs = ROWS[row](ct), ROWS[row](F)
    check_equal(ours, theirs)


def check_equal(ours: Any, theirs: Any) -> None:
    """The same structure, the same tensors up to rounding."""
    if isinstance(ours, torch.Tensor):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    elif isinstance(ours, (tuple, list)) and not isinstance(ours, torch.Size):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            check_equal(a, b)
    else:
        assert ours == theirs


def test_the_table_of_names_is_complete() -> None:
    named = [name for row in elements_under("Functions and layers") for name in re.findall(r"`(\w+)`", " ".join(row))]
    assert sorted([*named, "accelerate"]) == sorted(ct.__all__)


def test_what_the_page_says_of_torch() -> None:
    """The differences are still there; where torch changes, the page has to."""
    several = torch.tensor([[1.0, torch.nan, 5.0, torch.nan]])
    assert F.max_pool1d(several, 4, return_indices=True)[1].item() == 3
    y = torch.ones(1, 1, 2, requires_grad=True)
    for library, gradient in ((ct, [0.0, 1.0]), (F, [1.0, 1.0])):
        values = library.max_unpool1d(y * torch.tensor([1.0, 2.0]), torch.zeros(1, 1, 2, dtype=torch.int64), 2)
        assert values.flatten().tolist() == [2.0, 0.0, 0.0, 0.0]
        (g,) = torch.autograd.grad(values.sum(), y)
        assert (g / torch.tensor([1.0, 2.0])).flatten().tolist() == gradient
    assert F.lp_pool1d(-torch.ones(1, 2), 3.0, 2).isnan().all()
    partial = torch.ones(1, 5)
    assert F.lp_pool1d(partial, 2.0, 2, ceil_mode=True)[0, 2].item() == pytest.approx(2**0.5)
    assert ct.lp_pool1d(partial, 2.0, 2, ceil_mode=True)[0, 2].item() == 1.0
    empty = torch.ones(1, 1, 2)
    at, there = (library.max_pool1d(empty, 2, 1, 1, dilation=3, return_indices=True) for library in (ct, F))
    assert torch.equal(at[0], there[0])
    assert at[1].min() == -1
    skipped = ct.max_unpool1d(torch.ones(1, 1, 2), torch.tensor([[[-1, 0]]]), 2)
    assert skipped.sum() == 1
