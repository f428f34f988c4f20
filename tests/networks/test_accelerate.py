"""accelerate: which layers it replaces, what they keep, what it leaves alone, and that it says so."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

import cenote.torch as ct
from cenote.torch.acceleration import NAMES

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
torch.set_num_threads(1)


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def make(name: str) -> nn.Module:
    given: tuple[Any, ...] = (2, 2) if name.startswith("LP") else (2,)
    layer: nn.Module = getattr(nn, name)(*given)
    return layer


@pytest.mark.parametrize("name", NAMES)
def test_every_layer_is_replaced(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    old = make(name)
    model = nn.Sequential(nn.Identity(), old)
    assert ct.accelerate(model, verbose=True) == [("1", old, model[1])]
    more = ", without overflow where torch gives inf" if name.startswith("LP") else ""
    assert said(capsys) == [f"1: {name} is computed by cenote{more}"]
    assert type(model[1]) is getattr(ct, name)
    assert type(old) is getattr(nn, name)
    assert model[1] is not old
    assert ct.accelerate(model, verbose=True) == []
    assert said(capsys) == [f"1: {name} is already computed by cenote"]


@pytest.mark.parametrize(("value", "theirs"), [(1e20, torch.inf), (1e-30, 0.0)])
def test_a_norm_beyond_the_range_of_its_powers(value: float, theirs: float) -> None:
    """What verbose and the documentation say of LPPool."""
    x = torch.full((1, 2, 2), value, requires_grad=True)
    model = nn.Sequential(nn.LPPool2d(2, 2))
    assert model(x).item() == theirs
    ct.accelerate(model)
    y = model(x)
    (g,) = torch.autograd.grad(y.sum(), x)
    assert y.item() == pytest.approx(2 * value, rel=1e-6)
    torch.testing.assert_close(g, torch.full((1, 2, 2), 0.5))


def test_names_and_order_and_places() -> None:
    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.MaxPool2d(2)
            self.stages = nn.ModuleList([nn.Sequential(nn.ReLU(), nn.AvgPool2d(2)), nn.MaxPool2d(3)])
            self.heads = nn.ModuleDict({"a": nn.AdaptiveAvgPool2d(1), "b": nn.AdaptiveMaxPool2d(1)})
            self.hidden = [nn.MaxPool2d(2)]
            self.nothing = None
            self.register_module("none", None)

    model = Network()
    before = [name for name, _ in model.named_modules()]
    hidden = model.hidden[0]
    replaced = ct.accelerate(model)
    assert [name for name, _, _ in replaced] == ["first", "stages.0.1", "stages.1", "heads.a", "heads.b"]
    assert [name for name, _ in model.named_modules()] == before
    for name, old, new in replaced:
        assert model.get_submodule(name) is new
        assert type(new).__name__ == type(old).__name__
    assert model.hidden == [hidden]  # which nobody can see
    assert model.first is replaced[0][2]


def test_a_layer_in_two_places_stays_one_layer() -> None:
    pool = nn.MaxPool2d(2)
    inner = nn.Sequential(pool)
    model = nn.Sequential(pool, nn.ReLU(), pool, inner, inner)
    replaced = ct.accelerate(model)
    assert [name for name, _, _ in replaced] == ["0", "2", "3.0"]
    assert model[0] is model[2] is inner[0]
    assert {id(new) for _, _, new in replaced} == {id(model[0])}


def test_a_model_that_contains_itself_is_walked_once() -> None:
    model = nn.Sequential(nn.MaxPool2d(2))
    model._modules["self"] = model
    assert len(ct.accelerate(model)) == 1


def test_the_model_itself_has_no_place(capsys: pytest.CaptureFixture[str]) -> None:
    model = nn.MaxPool2d(2)
    assert ct.accelerate(model, verbose=True) == []
    (line,) = said(capsys)
    assert line.startswith("the model: MaxPool2d is left alone: it is the model itself, write cenote.torch.MaxPool2d")
    assert type(model) is nn.MaxPool2d


def test_silent_unless_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    ct.accelerate(nn.Sequential(nn.MaxPool2d(2), nn.LPPool2d(3, 2)))
    assert said(capsys) == []


@pytest.mark.parametrize("wrong", [None, torch.zeros(2), [nn.MaxPool2d(2)]])
def test_anything_else_is_a_type_error(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^accelerate: model is .*: a torch.nn.Module is needed"):
        ct.accelerate(wrong)


# ------------------------------------------------------------------------------------------------- what is kept


def test_attributes_training_and_state_are_kept() -> None:
    pool = nn.MaxPool2d(3, 2, 1)
    pool.note = "mine"  # type: ignore[assignment]
    pool.register_buffer("counter", torch.tensor(3))
    pool.scale = nn.Parameter(torch.tensor(2.0))
    model = nn.Sequential(nn.Conv2d(1, 1, 1), pool, nn.AvgPool2d(2))
    model[1].eval()
    keys, parameters = list(model.state_dict()), list(model.parameters())
    ct.accelerate(model)
    assert list(model.state_dict()) == keys == ["0.weight", "0.bias", "1.scale", "1.counter"]
    assert all(a is b for a, b in zip(model.parameters(), parameters, strict=True))
    assert model[1].note == "mine"
    assert (model[1].training, model[2].training) == (False, True)
    model.eval()
    assert not model[2].training
    for attribute, value in (("kernel_size", 2), ("padding", 0)):  # attributes like any others
        setattr(model[1], attribute, value)
    assert model[1](torch.zeros(1, 1, 4, 4)).shape == (1, 1, 2, 2)


def test_hooks_are_kept_and_their_handles_work() -> None:
    events: list[str] = []

    def backward(module: nn.Module, given: Any, out: Any) -> None:
        events.append(f"backward {given[0].sum():g}")

    pool = nn.MaxPool2d(2)
    model = nn.Sequential(nn.Conv2d(1, 1, 1), pool)
    handles = [
        pool.register_forward_pre_hook(lambda module, args: events.append("pre")),
        pool.register_forward_hook(lambda module, args, kwargs, out: events.append("forward"), with_kwargs=True),
        pool.register_full_backward_pre_hook(lambda module, g: events.append("backward pre")),
        pool.register_full_backward_hook(backward),
        pool.register_forward_hook(lambda module, args, out: out * 2),
        pool.register_state_dict_pre_hook(  # type: ignore[no-untyped-call]
            lambda module, prefix, keep: events.append(f"state {prefix}")
        ),
    ]
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    expected = model(x)
    expected.sum().backward()
    model.state_dict()
    before, events[:] = list(events), []
    ct.accelerate(model)
    got = model(x)
    got.sum().backward()
    model.state_dict()
    assert events == before
    assert before == ["pre", "forward", "backward pre", "backward 8", "state 1."]
    assert torch.equal(got, expected)
    for handle in handles:
        handle.remove()
    events.clear()
    assert torch.equal(model(x) * 2, expected)
    model.state_dict()
    assert events == []
    model[1].register_forward_hook(lambda module, args, out: events.append("new"))
    model(x)
    assert events == ["new"]


def test_what_is_replaced_can_be_put_back() -> None:
    model = nn.Sequential(nn.Sequential(nn.MaxPool2d(2)), nn.AvgPool2d(2))
    text = repr(model)
    for name, old, _ in ct.accelerate(model):
        model.set_submodule(name, old)
    assert [type(module) for module in model.modules() if not list(module.children())] == [nn.MaxPool2d, nn.AvgPool2d]
    assert repr(model) == text


# --------------------------------------------------------------------------------------------- what is left alone


class Loud(nn.MaxPool2d):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = super().forward(input) * 2
        return result


class Subclass(Loud):
    pass


class Helpful(nn.MaxPool2d):
    @property
    def area(self) -> int:
        return 4


class Fixed(nn.MaxPool2d):
    """It has a constructor, and nothing that computes."""

    def __init__(self) -> None:
        super().__init__(2)


def patched() -> nn.Module:
    pool = nn.MaxPool2d(2)
    pool.forward = lambda x: x  # type: ignore[method-assign,assignment]
    return pool


def compiled() -> nn.Module:
    pool = nn.MaxPool2d(2)
    pool.compile(backend="eager")
    return pool


def parametrized() -> nn.Module:
    pool = nn.MaxPool2d(2)
    pool.scale = nn.Parameter(torch.ones(1))
    nn.utils.parametrize.register_parametrization(pool, "scale", nn.Softplus())
    return pool


LEFT = [
    (lambda: Loud(2), "Loud is left alone: its class Loud defines forward"),
    (lambda: Subclass(2), "Subclass is left alone: its class Loud defines forward"),
    (lambda: Helpful(2), "Helpful is left alone: its class Helpful defines area"),
    (patched, "MaxPool2d is left alone: it has a forward of its own"),
    (compiled, "MaxPool2d is left alone: it was compiled, call accelerate before compile"),
    (parametrized, "ParametrizedMaxPool2d is left alone: its class ParametrizedMaxPool2d defines "),
    (lambda: nn.LPPool2d(3, 2), "LPPool2d is left alone: with norm_type=3 torch computes no norm of negative numbers"),
    (lambda: nn.LPPool1d(1.5, 2), "LPPool1d is left alone: with norm_type=1.5 torch computes no norm"),
    (lambda: nn.LPPool1d(-2, 2), "LPPool1d is left alone: with norm_type=-2 torch computes no norm"),
    (lambda: nn.LPPool3d(2, 2, ceil_mode=True), "LPPool3d is left alone: with ceil_mode torch scales the last windows"),
    (lambda: nn.MaxUnpool2d(3, 2), "MaxUnpool2d is left alone: its windows overlap"),
    (lambda: nn.FractionalMaxPool2d(2, 3), "FractionalMaxPool2d is left alone: cenote has no such pooling"),
    (lambda: nn.MaxPool2d(2, padding=2), "MaxPool2d is left alone: padding=2 is more than half of kernel_size=2"),
    (lambda: nn.AdaptiveAvgPool2d((1, 2, 3)), "AdaptiveAvgPool2d is left alone: output_size=(1, 2, 3) has 3 entries"),
]  # fmt: skip


@pytest.mark.parametrize(("factory", "line"), LEFT, ids=lambda case: case[:30] if isinstance(case, str) else "")
def test_what_is_left_alone(factory: Any, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    layer = factory()
    model = nn.Sequential(layer)
    assert ct.accelerate(model, verbose=True) == []
    assert model[0] is layer
    (printed,) = said(capsys)
    assert printed.startswith(f"0: {line}")


def test_a_subclass_that_only_constructs_is_replaced() -> None:
    model = nn.Sequential(Fixed())
    ((name, old, new),) = ct.accelerate(model)
    assert (name, type(old), type(new)) == ("0", Fixed, ct.MaxPool2d)
    x = torch.randn(1, 1, 4, 4)
    assert torch.equal(new(x), old(x))


def test_what_torch_jit_has_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    scripted = torch.jit.script(nn.Sequential(nn.ReLU(), nn.MaxPool2d(2)))
    model = nn.ModuleDict({"scripted": scripted, "pool": torch.jit.script(nn.AvgPool2d(2)), "plain": nn.MaxPool2d(2)})
    assert [name for name, _, _ in ct.accelerate(model, verbose=True)] == ["plain"]
    lines = said(capsys)
    assert lines[0] == "scripted.1: MaxPool2d is left alone: it is compiled by torch.jit"
    assert lines[1] == "pool: AvgPool2d is left alone: it is compiled by torch.jit"
    assert model["scripted"](torch.zeros(1, 1, 4, 4)).shape == (1, 1, 2, 2)


# ----------------------------------------------------------------------------------- models that others have made


def test_a_graph_of_fx() -> None:
    graph = torch.fx.symbolic_trace(nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.Flatten()))
    x = torch.randn(1, 1, 8, 8)
    expected = graph(x)
    (replaced,) = ct.accelerate(graph)
    assert replaced[0] == "1"
    assert torch.equal(graph(x), expected)
    assert type(graph.get_submodule("1")) is ct.MaxPool2d


def test_fx_traces_an_accelerated_model() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2))
    ct.accelerate(model)
    graph = torch.fx.symbolic_trace(model)
    assert [node.target for node in graph.graph.nodes if node.op == "call_function"] == [ct.max_pool2d]
    x = torch.randn(1, 1, 8, 8)
    assert torch.equal(graph(x), model(x))


def test_in_place_operations_around_pooling() -> None:
    """As in many a network: what pooling keeps for the gradient must not be what they change."""
    for pool in (nn.MaxPool2d(2), nn.AvgPool2d(2), nn.MaxPool2d(3, 2, 1), nn.AdaptiveAvgPool2d(2)):
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(inplace=True), pool, nn.ReLU(inplace=True), nn.Hardtanh())
        other = copy.deepcopy(model)
        ct.accelerate(other)
        x = torch.randn(2, 1, 9, 9)
        for network in (model, other):
            network(x).square().sum().backward()
        torch.testing.assert_close(other[0].weight.grad, model[0].weight.grad)


def test_nan_has_torch_s_values() -> None:
    x = torch.randn(2, 3, 9, 9)
    x[x > 1] = torch.nan
    x[x < -1] = -torch.inf
    model = nn.Sequential(nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2))
    other = copy.deepcopy(model)
    ct.accelerate(other)
    torch.testing.assert_close(other(x), model(x), equal_nan=True)
    assert torch.equal(other[0](x).isnan(), model[0](x).isnan())


def test_zeros_of_either_sign() -> None:
    x = torch.tensor([[[-0.0, 0.0, 0.0, -0.0, -1.0, -0.0]]])
    (y, at), (expected, there) = (kind(2, return_indices=True)(x) for kind in (ct.MaxPool1d, nn.MaxPool1d))
    assert torch.equal(at, there)
    assert torch.equal(y, expected)
    assert torch.equal(y.signbit(), expected.signbit())


def test_autocast_and_inference_mode() -> None:
    model = nn.Sequential(nn.Conv3d(1, 2, 3), nn.MaxPool3d(2), nn.Conv3d(2, 2, 1), nn.AdaptiveAvgPool3d(1))
    other = copy.deepcopy(model)
    ct.accelerate(other)
    x = torch.randn(1, 1, 8, 8, 8)
    with torch.autocast("cpu"), torch.inference_mode():
        got, expected = other(x), model(x)
    assert got.dtype == expected.dtype == torch.float32
    torch.testing.assert_close(got, expected)
    assert got.is_inference()
