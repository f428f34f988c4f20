"""torch.compile together with derivatives: of torch's forward mode, of torch.func, and of our own engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad
from torch.func import functionalize, grad, jvp, vmap

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


# What is computed eagerly is compiled, too: so are the tests of the other files.
BACKENDS = ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.slow)]
PICTURE = torch.arange(32.0).reshape(2, 4, 4).sin()
FORWARD: dict[str, Function] = {
    "max": lambda x: cn.max_pool(x, (2, 2)),
    "avg": lambda x: cn.avg_pool(x, (2, 2)),
    "avg of a layer": ct.AvgPool2d(2),
    "smooth": lambda x: cn.smooth_max_pool(x, (2, 2)),
    "conv": lambda x: cn.conv(x, torch.ones(2, 4, 3)),
    "filters": lambda x: cn.conv(torch.ones(4, 3, 4), x),
    "pool": lambda x: cn.pool(x, (2, 2), 1.0, np.multiply),
}


def tangent_of(f: Function) -> Function:
    """The derivative along cos x, by dual numbers that nobody outside of the function sees."""

    def run(x: Tensor) -> Any:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, x.cos())  # type: ignore[no-untyped-call]
            return forward_ad.unpack_dual(f(dual)).tangent  # type: ignore[no-untyped-call]

    return run


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FORWARD)
def test_forward_mode_inside_of_a_compiled_function(name: str, backend: str) -> None:
    f = FORWARD[name]
    expected = jvp(f, (PICTURE,), (PICTURE.cos(),))[1]
    found = torch.compile(tangent_of(f), backend=backend)(PICTURE)
    assert found is not None
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_forward_mode_around_a_compiled_function(backend: str) -> None:
    f = FORWARD["avg"]
    compiled = torch.compile(f, backend=backend)
    torch.testing.assert_close(tangent_of(compiled)(PICTURE), tangent_of(f)(PICTURE))


@pytest.mark.parametrize("backend", BACKENDS)
def test_forward_mode_after_a_graph_break(backend: str) -> None:
    f = torch._dynamo.disable(FORWARD["avg"])  # type: ignore[no-untyped-call]
    expected = tangent_of(f)(PICTURE)
    torch.testing.assert_close(torch.compile(tangent_of(f), backend=backend)(PICTURE), expected)


def squares(f: Function) -> Function:
    return lambda x: f(x).square().sum()


AROUND: dict[str, Any] = {
    "grad": lambda f, x: grad(squares(f))(x),
    "jvp": lambda f, x: jvp(f, (x,), (x.cos(),))[1],
    "vmap": lambda f, x: vmap(f)(x[None]),
    "vmap of grad": lambda f, x: vmap(grad(squares(f)))(x[None]),
}


@pytest.mark.parametrize("way", AROUND)
@pytest.mark.parametrize("name", ["max", "avg", "conv"])
def test_torch_func_around_a_compiled_function(name: str, way: str) -> None:
    f = FORWARD[name]
    expected = AROUND[way](f, PICTURE)
    torch.testing.assert_close(AROUND[way](torch.compile(f, backend="aot_eager"), PICTURE), expected)


class Transformed(torch.nn.Module):
    """A model that contains a transformation of torch.func."""

    def __init__(self, way: str, f: Function) -> None:
        super().__init__()
        self.way, self.f = AROUND[way], f

    def forward(self, x: Tensor) -> Any:
        return self.way(self.f, x)


@pytest.mark.parametrize("way", AROUND)
@pytest.mark.parametrize("name", ["avg", "conv"])
def test_torch_func_in_an_exported_model_is_refused(name: str, way: str) -> None:
    """torch has no rule for the autograd functions that it needs in there: the advice is to compile."""
    model = Transformed(way, FORWARD[name])
    with pytest.raises(TypeError, match=r"torch.export cannot record torch.func .*: write torch.compile\(model\)$"):
        torch.export.export(model, (PICTURE,))
    found = torch.compile(model, backend="aot_eager", fullgraph=True)(PICTURE)
    torch.testing.assert_close(found, model(PICTURE))


def test_functionalize_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^avg_pool: torch.func.functionalize .* changed in place: leave it out$"):
        functionalize(FORWARD["avg"])(PICTURE)


OF_NUMPY: dict[str, Function] = {
    "vjp": lambda x: cn.vjp(lambda a: cn.avg_pool(a, (2, 2)), x)[1](np.ones((2, 2, 2)))[0],
    "grad": cn.grad(lambda a: (cn.max_pool(a, (2, 2)) ** 2).sum()),
    "jvp": lambda x: cn.jvp(lambda a: cn.smooth_max_pool(a, (2, 2)), (x,), (np.cos(x),))[1],
}


@pytest.mark.parametrize("name", OF_NUMPY)
def test_our_own_derivatives_inside_of_a_compiled_function(name: str) -> None:
    f, x = OF_NUMPY[name], PICTURE.double().numpy()
    found = torch.compile(lambda x: f(x), backend="aot_eager")(x)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, f(x), rtol=1e-12)


class Branches(torch.nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: cn.max_pool(x, (2, 2)), lambda x: cn.avg_pool(x, (2, 2)), (x,))


def test_a_branch_holds_nothing_but_what_it_computes(caplog: pytest.LogCaptureFixture) -> None:
    """Not the question whether an operand has a tangent, which nobody could answer there."""
    x = torch.randn(1, 3, 4, 4).abs()
    program = torch.export.export(Branches(), (x,), strict=True)
    for name in ("true_graph_0", "false_graph_0"):
        called = [str(n.target) for n in getattr(program.graph_module, name).graph.nodes if n.op == "call_function"]
        assert called == ["cenote.op_1_1.default"]
    assert torch.equal(program.module()(x), cn.max_pool(x, (2, 2)))
    assert torch.equal(program.module()(-x), cn.avg_pool(-x, (2, 2)))
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
