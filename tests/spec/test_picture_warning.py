"""A window that runs over the colours of a picture warns: where, when, and where not."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cenote as cn
from advice import NAMES, advised
from cenote.arguments.pictures import has_colours, sides
from cenote.dialects import flax, torchlean
from cenote.dialects import torch as F  # noqa: N812

IMG = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
WARNS = "looks like the 3 colours of a picture"

CALLS: dict[str, Callable[[Any], Any]] = {
    "max_pool": lambda x: cn.max_pool(x, (2, 2)),
    "min_pool": lambda x: cn.min_pool(x, (3, 3), stride=1),
    "avg_pool": lambda x: cn.avg_pool(x, [2, 2], padding="same"),
    "sum_pool": lambda x: cn.sum_pool(x, (2, 3)),
    "lp_pool": lambda x: cn.lp_pool(x, (2, 2)),
    "smooth_max_pool": lambda x: cn.smooth_max_pool(x, (2, 2)),
    "median_pool": lambda x: cn.median_pool(x, (3, 3), stride=1),
    "mode_pool": lambda x: cn.mode_pool(np.asarray(x.data).astype(int), (2, 2)),
    "pool": lambda x: cn.pool(x, (2, 2), 0, np.add),
    "adaptive_max_pool": lambda x: cn.adaptive_max_pool(x, (4, 2), return_indices=True),
    "adaptive_avg_pool": lambda x: cn.adaptive_avg_pool(x, (4, 4)),
    "max_unpool": lambda x: cn.max_unpool(x, np.zeros(x.shape, int), (2, 2)),
    "correlate": lambda x: cn.correlate(x, np.ones((3, 3)), mode="same"),
    "convolve": lambda x: cn.convolve(x, np.ones((2, 2))),
    "output_shape": lambda x: cn.output_shape(x.shape, (2, 2)),
}


def test_every_function_with_a_window_is_here() -> None:
    functions = {name: getattr(cn, name) for name in cn.__all__ if inspect.isfunction(getattr(cn, name))}
    sizes = {"window", "output_size", "k"}
    windowed = {name for name, function in functions.items() if sizes & set(inspect.signature(function).parameters)}
    assert windowed - {"which_kernel"} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrap", [np.asarray, np.float32, cn.Tensor])
def test_it_warns_each_time_at_the_line_of_the_caller(name: str, wrap: Callable[[Any], Any]) -> None:
    x = wrap(IMG)
    if name == "max_unpool" and isinstance(x, cn.Tensor):
        x = x.data
    for _ in range(3):  # what is kept of a call does not silence the next
        with pytest.warns(UserWarning, match=WARNS) as caught:
            CALLS[name](x)
        (warning,) = caught
        code = CALLS[name].__code__
        assert (warning.filename, warning.lineno) == (code.co_filename, code.co_firstlineno)
        assert str(warning.message).startswith(f"{name}: ")


@pytest.mark.parametrize("name", CALLS)
def test_the_advice_works_and_does_not_warn(name: str) -> None:
    with pytest.warns(UserWarning, match=WARNS) as caught:
        CALLS[name](IMG)
    text = advised(str(caught[0].message))
    assert text is not None
    assert "axes=(0, 1)" in text
    arrays = {"x": IMG, "y": IMG, "indices": np.zeros(IMG.shape, int), "k": np.ones((2, 2))}
    result = eval(text, {**NAMES, **arrays})
    shape = result if name == "output_shape" else (result[0] if isinstance(result, tuple) else result).shape
    assert shape[2] == 3


def test_it_is_shown_once_for_each_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            cn.max_pool(IMG, (2, 2))
            cn.max_pool(IMG, (2, 2))
    assert len({warning.lineno for warning in caught}) == len(caught) == 2


def inside(x: Any) -> Any:
    return cn.avg_pool(x, (2, 2)).sum()


@pytest.mark.parametrize(
    "call",
    [
        lambda: cn.grad(inside)(IMG.astype(float)),
        lambda: cn.vjp(inside, IMG.astype(float)),
        lambda: cn.jvp(inside, (IMG * 1.0,), (IMG * 1.0,)),
    ],
)
def test_in_a_function_that_is_differentiated_it_is_the_functions_line(call: Callable[[], Any]) -> None:
    with pytest.warns(UserWarning, match=WARNS) as caught:
        call()
    assert {(w.filename, w.lineno) for w in caught} == {(__file__, inside.__code__.co_firstlineno + 1)}


def test_through_which_kernel_it_is_the_users_line() -> None:
    with pytest.warns(UserWarning, match=f"^max_pool: .*{WARNS}") as caught:
        cn.which_kernel("max_pool", IMG, (2, 2))
    assert caught[0].filename == __file__


def test_as_an_error_it_comes_before_the_work() -> None:
    out = np.zeros((48, 32, 1), np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=WARNS):
            cn.max_pool(IMG, (2, 2), out=out)
    assert not out.any()


def test_the_message_to_the_letter() -> None:
    with pytest.warns(UserWarning, match="looks like the 4 colours of a picture") as caught:
        cn.max_pool(np.zeros((100, 50, 4)), (2, 2))
    assert [str(warning.message) for warning in caught] == [
        "max_pool: the window lies on the last two axes of shape (100, 50, 4), and the last one looks like the 4 "
        "colours of a picture: write max_pool(x, (2, 2), axes=(0, 1)) for height and width, or axes=(1, 2) if these "
        "are meant"
    ]


@pytest.mark.parametrize(
    ("shape", "colours"), [((8, 48, 64, 3), 3), ((1, 48, 48, 3), 3), ((0, 64, 256, 4), 4)], ids=str
)
def test_a_batch_of_pictures(shape: tuple[int, ...], colours: int) -> None:
    x = np.zeros(shape, np.uint8)
    for call in (cn.max_pool, cn.avg_pool, cn.median_pool):
        with pytest.warns(UserWarning, match=f"looks like the {colours} colours of a picture") as caught:
            call(x, (2, 2))
        text = f"write {call.__name__}(x, (2, 2), axes=(1, 2)) for height and width, or axes=(2, 3) if these are meant"
        assert str(caught[0].message).endswith(text)
        assert eval(advised(str(caught[0].message)) or "", {**NAMES, "x": x}).shape[3] == colours


@pytest.mark.parametrize(
    ("op", "args", "kwargs"),
    [
        ("max_pool", ((3, 3),), {}),
        ("max_pool", (), {"window": (3, 3)}),
        ("pool", ((3, 3), 0, np.add), {}),
        ("pool", ((3, 3), 0), {"reduce_fn": np.add}),
    ],
)
@pytest.mark.parametrize("x", [(48, 64, 3), IMG, (1, 48, 64, 3)], ids=np.shape)
def test_explain(x: Any, op: str, args: Any, kwargs: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match=WARNS) as caught:
        assert cn.explain(op, x, *args, **kwargs, stride=2).windows
    assert {warning.filename for warning in caught} == {__file__}
    text = advised(str(caught[0].message)) or ""
    assert text.startswith(f'explain("{op}", ')
    assert eval(text, {**NAMES, "x": x})._call.y.shape[-1] == 3


SILENT: dict[str, Callable[[], Any]] = {
    "the axes are named": lambda: cn.max_pool(IMG, (2, 2), axes=(0, 1)),
    "the colours are named": lambda: cn.max_pool(IMG, (2, 2), axes=(1, 2)),
    "from the end": lambda: cn.max_pool(IMG, (2, 2), axes=(-2, -1)),
    "one int": lambda: cn.max_pool(IMG, 2, axes=(1, 2)),
    "the columns only": lambda: cn.max_pool(IMG, (2, 1)),
    "one axis": lambda: cn.max_pool(IMG, (3,)),
    "all axes": lambda: cn.max_pool(IMG, (2, 2, 3)),
    "colours are kept": lambda: cn.adaptive_avg_pool(IMG, (4, None)),
    "as many bins as colours": lambda: cn.adaptive_avg_pool(IMG, (4, 3)),
    "planes": lambda: cn.max_pool(np.zeros((3, 48, 64)), (2, 2)),
    "one plane": lambda: cn.max_pool(np.zeros((48, 64)), (2, 2)),
    "five channels": lambda: cn.max_pool(np.zeros((48, 64, 5)), (2, 2)),
    "two channels": lambda: cn.max_pool(np.zeros((48, 64, 2)), (2, 2)),
    "a batch of small planes": lambda: cn.max_pool(np.zeros((8, 64, 16, 4)), (2, 2)),
    "a batch, the axes named": lambda: cn.max_pool(np.zeros((8, 48, 64, 3)), (2, 2), axes=(1, 2)),
    "a batch of one, of planes": lambda: cn.max_pool(np.zeros((1, 3, 48, 64)), (2, 2)),
    "many channels, low planes": lambda: cn.max_pool(np.zeros((8, 256, 30, 4)), (2, 2)),
    "many channels, squares": lambda: cn.max_pool(np.zeros((32, 512, 4, 4)), (2, 2)),
    "videos": lambda: cn.max_pool(np.zeros((1, 2, 48, 64, 3)), (2, 2)),
    "small arrays": lambda: cn.max_pool(np.zeros((4, 5, 3)), (2, 2)),
    "small planes of many channels": lambda: cn.max_pool(np.zeros((512, 8, 4)), (2, 2)),
    "a table of records": lambda: cn.max_pool(np.zeros((10_000, 20, 3)), (2, 2)),
    "nothing": lambda: cn.max_pool(np.zeros((0, 64, 3)), (2, 2)),
    "a filter on named axes": lambda: cn.correlate(IMG, np.ones((3, 3)), axes=(0, 1)),
    "a filter along the columns": lambda: cn.correlate(IMG, np.ones((3, 1))),
    "torch, where channels come first": lambda: F.max_pool2d(IMG, 2),
    "torch, averages": lambda: F.avg_pool2d(IMG.astype(float), 2),
    "torch, adaptive": lambda: F.adaptive_avg_pool2d(IMG.astype(float), 2),
    "torch, norms": lambda: F.lp_pool2d(IMG.astype(float), 2, 2),
    "flax, where they come last": lambda: flax.max_pool(IMG, (2, 2)),
    "torchlean": lambda: torchlean.max_pool(torchlean.PoolSpec((2, 2), (2, 2), (0, 0)), IMG.astype(float)),
    "torchlean, averages": lambda: torchlean.avg_pool(torchlean.PoolSpec((2, 2), (2, 2), (0, 0)), IMG.astype(float)),
    "torchlean, smooth": lambda: torchlean.smooth_max_pool(
        torchlean.PoolSpec((2, 2), (2, 2), (0, 0)), 1.0, IMG.astype(float)
    ),
}


@pytest.mark.parametrize("call", SILENT.values(), ids=SILENT)
def test_no_false_alarms(call: Callable[[], Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught == []


def test_a_dialect_that_unpools() -> None:
    x = np.random.default_rng(0).standard_normal((48, 64, 4))
    values, indices = F.max_pool2d(x, 2, return_indices=True)
    assert F.max_unpool2d(values, indices, 2).shape == (48, 64, 4)


@pytest.mark.parametrize(
    ("shape", "picture"),
    [
        ((8, 8, 3), True),
        ((7, 8, 3), False),
        ((8, 64, 4), True),
        ((8, 65, 4), False),
        ((64, 8, 3), True),
        ((1080, 1920, 4), True),
        ((480, 640), False),
        ((1, 480, 640, 3), False),
        ((480, 640, 1), False),
        ((480, 640, 2), False),
    ],
)
def test_what_looks_like_a_picture(shape: tuple[int, ...], picture: bool) -> None:
    assert has_colours(shape) == picture
    assert sides(shape) == ((0, 1) if picture else (1, 2) if shape == (1, 480, 640, 3) else None)


@pytest.mark.parametrize(
    ("shape", "batch"),
    [
        ((8, 48, 48, 3), True),
        ((8, 47, 48, 3), False),
        ((8, 48, 47, 3), False),
        ((8, 64, 512, 4), True),
        ((8, 64, 513, 4), False),
        ((8, 63, 64, 4), False),
        ((2, 64, 32, 4), False),  # of torch: 64 channels, maps of 32 by 4
        ((8, 3, 64, 64), False),
        ((8, 64, 64, 1), False),
        ((2, 8, 64, 64, 3), False),
    ],
)
def test_what_looks_like_a_batch_of_pictures(shape: tuple[int, ...], batch: bool) -> None:
    assert sides(shape) == ((1, 2) if batch else None)
