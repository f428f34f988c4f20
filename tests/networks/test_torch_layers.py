"""The layers of cenote.torch vs. those of torch.nn: constructors, results, representation, state, pickles."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest
import torch
from torch import nn

import cenote.torch as ct
from cenote.torch.acceleration import NAMES

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
torch.set_num_threads(1)
EVERY_NAME = [name for name in ct.__all__ if not name.islower()]
SHAPES = {1: (2, 3, 13), 2: (2, 3, 9, 8), 3: (2, 3, 7, 6, 8)}
# Of each family: the arguments of a few layers.
ARGUMENTS: dict[str, list[dict[str, Any]]] = {
    "MaxPool": [
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1, "dilation": 2, "ceil_mode": True},
        {"kernel_size": 3, "stride": 1, "padding": 1, "return_indices": True},
    ],
    "AvgPool": [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
                {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False}],
    "LPPool": [{"norm_type": 2, "kernel_size": 3}, {"norm_type": 4.0, "kernel_size": 2, "stride": 1},
               {"norm_type": float("inf"), "kernel_size": 2}, {"norm_type": -float("inf"), "kernel_size": 2}],
    "AdaptiveMaxPool": [{"output_size": 3}, {"output_size": 2, "return_indices": True}],
    "AdaptiveAvgPool": [{"output_size": 3}, {"output_size": 1}],
    "MaxUnpool": [{"kernel_size": 2}, {"kernel_size": 2, "stride": 3}],
}  # fmt: skip


def rank_of(name: str) -> int:
    return int(name[-2])


def layers(name: str) -> list[tuple[nn.Module, nn.Module]]:
    """Pairs of layers, ours and torch's, made by the same arguments."""
    given = ARGUMENTS[name[:-2]]
    if name in ("AvgPool2d", "AvgPool3d"):
        given = [*given, {"kernel_size": 2, "divisor_override": 3}]
    return [(getattr(ct, name)(**arguments), getattr(nn, name)(**arguments)) for arguments in given]


def inputs(layer: Any, name: str, seed: int = 0) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(SHAPES[rank_of(name)], dtype=torch.float64, generator=generator)
    if not name.startswith("MaxUnpool"):
        return (x.requires_grad_(),)
    pool: nn.Module = getattr(nn, name.replace("Unp", "P"))(layer.kernel_size, layer.stride, return_indices=True)
    k, s = (int(value[0] if isinstance(value, tuple) else value) for value in (layer.kernel_size, layer.stride))
    sizes = [(n - k) // s * s + k for n in x.shape[2:]]  # what unpooling gives
    values, indices = pool(x[:, :, *map(slice, sizes)])
    return values.detach().requires_grad_(), indices


def run(layer: nn.Module, name: str) -> list[torch.Tensor]:
    """The outputs of a layer and its gradient."""
    given = inputs(layer, name)
    out = layer(*given)
    y, *indices = out if isinstance(out, tuple) else (out,)
    (gradient,) = torch.autograd.grad((y * torch.linspace(1, 2, y.numel()).reshape(y.shape)).sum(), given[0])
    return [y.detach(), *indices, gradient]


@pytest.mark.parametrize("name", NAMES)
def test_layers_are_those_of_torch(name: str) -> None:
    for ours, theirs in layers(name):
        tolerance = 0.0 if "Max" in name else 1e-12
        for a, b in zip(run(ours, name), run(theirs, name), strict=True):
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
        assert repr(ours) == repr(theirs)
        assert isinstance(ours, getattr(nn, name))
        assert list(ours.state_dict()) == []


@pytest.mark.parametrize("name", NAMES)
def test_constructors_are_those_of_torch(name: str) -> None:
    assert inspect.signature(getattr(ct, name)) == inspect.signature(getattr(nn, name))
    assert getattr(ct, name).__doc__.startswith(f"``torch.nn.{name}``, computed by cenote")


def test_every_pooling_layer_of_torch_is_there() -> None:
    assert {n for n in dir(nn) if ("Pool" in n or "Unpool" in n) and "Fractional" not in n} == set(NAMES)
    assert set(EVERY_NAME) - set(NAMES) == {
        f"{family}Pool{rank}d" for family in ("Min", "SmoothMax") for rank in (1, 2, 3)
    }


def sample(name: str) -> Any:
    if name in NAMES:
        return layers(name)[-1][0]
    if name.startswith("Smooth"):
        return getattr(ct, name)(3, 2, 1, beta=2.5, learn=True)
    return getattr(ct, name)(3, stride=2, padding=1)


@pytest.mark.parametrize("name", EVERY_NAME)
@pytest.mark.parametrize("copied", [lambda layer: pickle.loads(pickle.dumps(layer)), copy.deepcopy, copy.copy])
def test_copies_and_pickles(name: str, copied: Any) -> None:
    layer = sample(name).eval()
    again = copied(layer)
    assert type(again) is type(layer)
    assert repr(again) == repr(layer)
    assert not again.training
    for a, b in zip(run(again, name), run(layer, name), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", EVERY_NAME)
def test_layers_work_in_a_model_that_is_saved(name: str, tmp_path: Any) -> None:
    model = nn.Sequential(nn.Identity(), sample(name))
    torch.save(model.state_dict(), tmp_path / "state.pt")
    other = nn.Sequential(nn.Identity(), sample(name))
    other.load_state_dict(torch.load(tmp_path / "state.pt"))
    assert list(model.state_dict()) == (["1.beta"] if name.startswith("Smooth") else [])


# -------------------------------------------------------------------------------------------- tensors elsewhere


@pytest.mark.parametrize("name", NAMES)
def test_torch_pools_what_cenote_does_not(name: str) -> None:
    for ours, theirs in layers(name):
        given = [x.detach().to("meta") for x in inputs(ours, name)]
        got, expected = ours(*given), theirs(*given)
        for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, expected)), strict=True):
            assert a.is_meta
            assert (a.shape, a.dtype) == (b.shape, b.dtype)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")  # of quantized tensors, by torch
def test_quantized_tensors_are_pooled_by_torch() -> None:
    x = torch.quantize_per_tensor(torch.randn(1, 2, 6, 6), 0.1, 0, torch.quint8)
    got = ct.MaxPool2d(2)(x)
    assert got.is_quantized
    assert torch.equal(got.int_repr(), nn.MaxPool2d(2)(x).int_repr())
    with pytest.raises(TypeError, match="quantized"):
        ct.max_pool2d(x, 2)


def test_what_torch_does_not_have_says_that_it_is_for_the_cpu() -> None:
    for layer in (ct.MinPool2d(2), ct.SmoothMaxPool2d(2)):
        with pytest.raises(TypeError, match="meta"):
            layer(torch.zeros(1, 1, 4, 4, device="meta"))


@pytest.mark.parametrize("layer", [ct.MaxPool2d(2), ct.MinPool2d(2), ct.MaxUnpool2d(2)], ids=lambda x: type(x).__name__)
def test_torch_jit_script_is_refused(layer: nn.Module) -> None:
    name = type(layer).__name__
    for model in (layer, nn.Sequential(nn.ReLU(), layer)):
        with pytest.raises(TypeError, match=rf"^{name}: torch\.jit\.script cannot compile .* torch\.export\.export"):
            torch.jit.script(model)


# -------------------------------------------------------------------------------------- what torch does not have


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_min_pool_is_the_mirror_of_max_pool(rank: int) -> None:
    x = torch.randn(SHAPES[rank], requires_grad=True)
    for arguments in ARGUMENTS["MaxPool"]:
        ours, theirs = getattr(ct, f"MinPool{rank}d")(**arguments), getattr(nn, f"MaxPool{rank}d")(**arguments)
        got, expected = ours(x), theirs(-x)
        if arguments.get("return_indices"):
            assert torch.equal(got[1], expected[1])
            got, expected = got[0], expected[0]
        assert torch.equal(got, -expected)
        assert torch.equal(*(torch.autograd.grad(y.sin().sum(), x)[0] for y in (got, -expected)))
        assert repr(ours) == repr(theirs).replace("Max", "Min")
        assert not isinstance(ours, (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_smooth_max_pool(rank: int) -> None:
    x = torch.randn(SHAPES[rank], dtype=torch.float64)
    kind = getattr(ct, f"SmoothMaxPool{rank}d")
    fixed, learned = kind(3, 2, 1, beta=2.5), kind(3, 2, 1, beta=2.5, learn=True).double()
    assert list(fixed.parameters()) == []
    assert [name for name, _ in learned.named_parameters()] == ["beta"]
    torch.testing.assert_close(fixed(x), learned(x))
    padded = nn.functional.pad(x, (1, 1) * rank)  # with zeros, which count
    windows = padded
    for axis in range(2, 2 + rank):
        windows = windows.unfold(axis, 3, 2)
    expected = torch.logsumexp(2.5 * windows.flatten(2 + rank), -1) / 2.5
    torch.testing.assert_close(fixed(x), expected)
    default = kind(2)
    assert (default.stride, default.padding, default.beta, default.learn) == (2, 0, 1.0, False)


def test_beta_is_learned() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, 2, 12, 12, generator=generator)
    target = ct.SmoothMaxPool2d(2, beta=4.0)(x)
    layer = ct.SmoothMaxPool2d(2, learn=True)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.3)
    for _ in range(300):
        optimizer.zero_grad()
        ((layer(x) - target) ** 2).mean().backward()
        optimizer.step()
    assert isinstance(layer.beta, nn.Parameter)
    assert layer.beta.item() == pytest.approx(4.0, rel=0.01)
    assert repr(layer).startswith("SmoothMaxPool2d(kernel_size=2, stride=2, padding=0, beta=")
    assert "beta=Parameter" in repr(copy.deepcopy(layer).to("meta"))


@pytest.mark.parametrize("beta", [0, 0.0, float("nan"), float("inf")])
def test_beta_must_be_a_number_other_than_zero(beta: float) -> None:
    with pytest.raises(ValueError, match=r"^SmoothMaxPool2d: beta=\S+: a finite number other than 0 is needed"):
        ct.SmoothMaxPool2d(2, beta=beta)


def test_beta_must_be_a_number() -> None:
    with pytest.raises(TypeError, match=r"^SmoothMaxPool1d: beta='1': a real number is needed, not a str"):
        ct.SmoothMaxPool1d(2, beta="1")  # type: ignore[arg-type]
