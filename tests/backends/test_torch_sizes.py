"""Compiled programs in which windows, strides, padding and bins are made of sizes, or sizes grow without end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import cenote as cn
import cenote.torch as ct
from cenote.backends.torch.symbols import Formula, NoFormula, Pattern, fit, formulas
from vocabulary import Function

Tensor = torch.Tensor
pytestmark = pytest.mark.filterwarnings("ignore")  # torch calls what it deprecates


@pytest.fixture(autouse=True)
def compile_anew() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def unpooled(x: Tensor, **options: Any) -> Any:
    window = (x.shape[-2] // 2, 2)
    y, indices = cn.max_pool(x, window, return_indices=True)
    return cn.max_unpool(y, indices, window, **options)


# One program serves them for all sizes.
OPEN: dict[str, Function] = {
    "window": lambda x: cn.max_pool(x, (x.shape[-2] // 2, 3), stride=2),
    "window and stride": lambda x: cn.avg_pool(x, (x.shape[-2] // 2, x.shape[-1] // 3)),
    "whole axes": lambda x: cn.smooth_max_pool(x, (x.shape[-2], x.shape[-1])),
    "stride": lambda x: cn.max_pool(x, (2, 2), stride=x.shape[-1] // 4),
    "padding": lambda x: cn.sum_pool(x, (2, 2), padding=((x.shape[-2] // 4, 0), (1, x.shape[-1] // 3))),
    "dilation": lambda x: cn.min_pool(x, (2, 3), dilation=x.shape[-2] // 6),
    "same": lambda x: cn.median_pool(x, (3, 2), stride=x.shape[-1] // 4, padding="same"),
    "same window": lambda x: cn.lp_pool(x, (x.shape[-2] // 2, 3), stride=2, padding="same_lower", p=3.0),
    "divisor": lambda x: cn.avg_pool(x, (2, 2), divisor=x.shape[-1]),
    "bins": lambda x: cn.adaptive_avg_pool(x, (x.shape[-1] // 2, 3)),
    "largest of bins": lambda x: cn.adaptive_max_pool(x, (3, x.shape[-1] // 2)),
    "unpool": lambda x: unpooled(x, output_shape=x.shape[-2:]),
    "pool": lambda x: cn.pool(x, (x.shape[-2] // 2, 2), 0.0, torch.maximum),
    "conv": lambda x: cn.conv(x, torch.ones(3, 3, 2, 2), layout="channels_first", padding=x.shape[-1] // 4),
    "torch's window": lambda x: ct.avg_pool2d(x, x.shape[-2:]),
    "torch's stride": lambda x: ct.max_pool2d(x, (x.size(2) // 2, 3), stride=x.size(3) // 4),
    "torch's bins": lambda x: ct.adaptive_max_pool2d(x, (x.size(2) // 2, 1)),
}
# These are compiled for the sizes at hand, as docs/torch.md says.
CLOSED: dict[str, Function] = {
    "ceil_mode": lambda x: cn.max_pool(x, (x.shape[-2] // 3, 2), ceil_mode=True),
    "two factors": lambda x: cn.max_pool(x, (x.shape[-2] // 4, 2), dilation=(x.shape[-1] // 6, 1)),
    "stride of the transpose": lambda x: cn.conv_transpose(
        x, torch.ones(3, 3, 2, 2), layout="channels_first", stride=x.shape[-1] // 4
    ),
    "unpool without a shape": lambda x: unpooled(x[..., :8]),
    "float": lambda x: cn.smooth_max_pool(x, (2, 2), beta=x.shape[-1] * 0.1),
    "divisor that is a float": lambda x: cn.avg_pool(x, (2, 2), divisor=x.shape[-1] * 0.5),
}
SHAPES = [(2, 3, 8, 9), (2, 3, 12, 13), (3, 3, 17, 10), (2, 3, 21, 24), (4, 3, 40, 44), (2, 3, 33, 19)]


class Counted:
    """A backend of torch.compile that counts its programs."""

    def __init__(self) -> None:
        self.programs = 0

    def __call__(self, module: Any, inputs: Any) -> Any:
        self.programs += 1
        return torch._dynamo.backends.registry.lookup_backend("aot_eager")(module, inputs)


def check(f: Function, compiled: Function, shape: tuple[int, ...]) -> None:
    """Values and gradients."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1), requires_grad=True)
    found, expected = compiled(x), f(x)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    g = torch.randn(expected.shape, generator=torch.Generator().manual_seed(2))
    (by_found,), (by_expected,) = (torch.autograd.grad(y, x, g) for y in (found, expected))
    torch.testing.assert_close(by_found, by_expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", OPEN)
def test_one_program_serves_all_sizes(name: str) -> None:
    backend = Counted()
    compiled = torch.compile(OPEN[name], fullgraph=True, dynamic=True, backend=backend)
    for shape in SHAPES:
        check(OPEN[name], compiled, shape)
    assert backend.programs == 1


@pytest.mark.parametrize("name", CLOSED)
def test_what_is_compiled_again_is_right(name: str) -> None:
    compiled = torch.compile(CLOSED[name], fullgraph=True, dynamic=True, backend="aot_eager")
    for shape in SHAPES[:4]:
        check(CLOSED[name], compiled, shape)


@pytest.mark.parametrize("name", ["window and stride", "bins", "torch's window"])
def test_marked_dimensions_stay_open(name: str) -> None:
    """torch raises where a marked dimension is compiled for one size."""
    x = torch.randn(2, 3, 12, 13)
    torch._dynamo.mark_dynamic(x, 2)
    torch._dynamo.mark_dynamic(x, 3)
    compiled = torch.compile(OPEN[name], fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), OPEN[name](x))
    check(OPEN[name], compiled, (2, 3, 17, 10))


@pytest.mark.parametrize("name", ["window and stride", "largest of bins", "unpool", "conv"])
def test_export(name: str) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: Tensor) -> Any:
            return OPEN[name](x)

    dims = {"x": {2: torch.export.Dim.DYNAMIC, 3: torch.export.Dim.DYNAMIC}}
    program = torch.export.export(Module(), (torch.randn(2, 3, 12, 13),), dynamic_shapes=dims).module()
    for shape in SHAPES[:2] + SHAPES[3:4]:
        check(OPEN[name], program, (2, *shape[1:]))


def test_inductor() -> None:
    compiled = torch.compile(OPEN["window and stride"], fullgraph=True, dynamic=True)
    check(OPEN["window and stride"], compiled, SHAPES[0])
    check(OPEN["window and stride"], compiled, SHAPES[3])


def test_a_window_that_does_not_fit_other_sizes() -> None:
    compiled = torch.compile(
        lambda x, y: cn.max_pool(x, (y.shape[0], 1)), fullgraph=True, dynamic=True, backend="aot_eager"
    )
    assert compiled(torch.ones(7, 5), torch.ones(3)).shape == (2, 5)
    with pytest.raises(Exception, match="does not fit on axis 0"):
        compiled(torch.ones(7, 5), torch.ones(8))


def test_a_static_input_with_a_window_of_other_sizes() -> None:
    compiled = torch.compile(
        lambda x, y: cn.max_pool(x, (y.shape[0], 1)), fullgraph=True, dynamic=None, backend="aot_eager"
    )
    x = torch.randn(8, 5)
    for n in (3, 4, 5):
        y = torch.ones(n)
        torch._dynamo.maybe_mark_dynamic(y, 0)
        torch.testing.assert_close(compiled(x, y), cn.max_pool(x, (n, 1)))


GROWING: dict[str, Function] = {
    "global": lambda x: cn.global_max_pool(x, axes=(1, 2)),
    "bins": lambda x: cn.adaptive_max_pool(x, (2, 1)),
    "whole axes": lambda x: cn.max_pool(x, (x.shape[1], x.shape[2])),
    "median": lambda x: cn.median_pool(x, (x.shape[1], x.shape[2])),
}


@pytest.mark.parametrize("name", GROWING)
def test_offsets_of_small_windows_that_become_large(name: str) -> None:
    """A program compiled where an offset fits a byte runs where it does not."""
    compiled = torch.compile(GROWING[name], fullgraph=True, dynamic=True, backend="aot_eager")
    for shape in ((2, 3, 4), (2, 30, 31), (2, 300, 301)):
        check(GROWING[name], compiled, shape)


# -------------------------------------------------------------------------------------------------- formulas

SIZES: dict[str, Callable[[int, int], int]] = {
    "n": lambda n, k: n,
    "window": lambda n, k: n - k + 1,
    "window, stride": lambda n, k: (n - k) // 3 + 1,
    "window as stride": lambda n, k: n // k,
    "same": lambda n, k: -(-n // k),
    "padding": lambda n, k: (n + 2 * k - 5) // 4 + 1,
    "dilation": lambda n, k: (n - 4 * k - 1) // 3 + 1,
    "transpose": lambda n, k: 3 * n - 2 * k,
}


@pytest.mark.parametrize("name", SIZES)
def test_formulas_hold_everywhere(name: str) -> None:
    """For whichever sizes one is found."""
    size = SIZES[name]
    for n in range(2, 40, 3):
        pattern = Pattern((((0,),), ((1,),)), (n, n // 2), 1)
        found = fit(pattern, lambda sizes: size(*sizes))
        for sizes in ((a, b) for a in range(1, 120) for b in range(1, a + 1)):
            assert found.of(sizes) == size(*sizes)


@pytest.mark.parametrize(("n", "k"), [(62, 2), (63, 2), (93, 3), (127, 4)])
def test_sizes_that_are_equal_by_chance(n: int, k: int) -> None:
    """A formula is looked for at sizes that are 31 and 1 larger, and 62 and 2, which all give 31 here."""
    ((found,),) = formulas(Pattern((((0,),), ((1,),)), (n, k), 1), lambda shapes: ((shapes[0][0] // shapes[1][0],),))
    for sizes in ((a, b) for a in range(1, 120) for b in range(1, a + 1)):
        assert found.of(sizes) == sizes[0] // sizes[1]


def test_a_size_that_depends_on_an_argument_alone() -> None:
    with pytest.raises(NoFormula):  # 3 for 10, 11 and 12
        formulas(Pattern(((30,), ((0,),)), (10,), 0), lambda shapes: ((29 // shapes[1][0] + 1,),))


@pytest.mark.parametrize("size", [lambda n, k: n * k, lambda n, k: n // (k + 1), lambda n, k: max(n - k, 30)])
def test_no_formula(size: Callable[[int, int], int]) -> None:
    with pytest.raises(NoFormula):
        fit(Pattern((((0,),), ((1,),)), (20, 5), 1), lambda sizes: size(*sizes))


def test_a_formula_of_a_constant() -> None:
    assert Formula((), 3).of((1, 2)) == 3
