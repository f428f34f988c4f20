"""The convolutions of nabla, mygrad and torch, called as in those libraries: values, derivatives and refusals."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  what its users call it
from mygrad import tensor as real_tensor  # type: ignore[attr-defined]  # it does not list what it exports
from mygrad.nnet import conv_nd as real_conv_nd

import cenote as cn
from cenote.dialects import mygrad as mg
from cenote.dialects import nabla
from cenote.dialects import torch as dialect

torch.set_num_threads(1)  # small arrays: waking its threads costs a hundred times the work
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel:UserWarning")


def whole(shape: tuple[int, ...], seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(float)


def outcome(function: Any, *args: Any, **options: Any) -> Any:
    try:
        return function(*args, **options)
    except Exception as failure:
        return failure


# -------------------------------------------------------------------------------------------------------- torch


def check_both(name: str, shapes: Any, **options: Any) -> None:
    """Both refuse, or both give the same."""
    arrays = [whole(shape, i) for i, shape in enumerate(shapes)]
    theirs = outcome(getattr(F, name), *map(torch.from_numpy, arrays), **options)
    ours = outcome(getattr(dialect, name), *arrays, **options)
    detail = f"{name}{shapes} {options}: torch {theirs!r}, cenote {ours!r}"
    assert isinstance(theirs, Exception) == isinstance(ours, Exception), detail
    if isinstance(ours, Exception):
        assert type(ours) in (ValueError, TypeError), detail
        assert re.match(rf"{name}: (input|weight|bias|\w+=)", str(ours)), detail
        assert not re.search(r"\bx\b|\bw\b|layout", str(ours).partition("; to see it, write cn.explain(")[0]), detail
    else:
        np.testing.assert_array_equal(ours, theirs.numpy(), err_msg=detail)


VALUES: dict[str, list[Any]] = {
    "stride": [1, 2, 0, -1, (2,), (1, 2), (2, 2, 2), (), True, 2.0, "2", None],
    "padding": [0, 1, 3, -1, (1,), (1, 0), ((1, 1), (1, 1)), (1, 1, 1, 1), (), True, 1.5, "same", "valid", "SAME"],
    "dilation": [1, 2, 9, 0, (2,), (1, 2), (1, 1, 1), False, 1.0],
    "groups": [1, 2, 3, 4, 0, -1, True, 2.0, "2", (2,)],
}


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
@pytest.mark.parametrize("argument", VALUES)
def test_arguments_are_legal_where_they_are_in_torch(name: str, argument: str) -> None:
    shapes = ((2, 4, 6, 5), (6, 4, 3, 2)) if name == "conv2d" else ((2, 4, 6, 5), (4, 3, 3, 2))
    for value in VALUES[argument]:
        check_both(name, shapes, **{argument: value})
    if name == "conv_transpose2d":
        for value in [0, 1, 2, -1, (1,), (1, 2), (0, 0, 0), True, 1.0]:
            check_both(name, shapes, output_padding=value, stride=(2, 3))
    else:
        check_both(name, shapes, padding="same", stride=(1, 2))
        check_both(name, shapes, padding="same", dilation=(2, 3))
        check_both(name, shapes, padding="valid", stride=2)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("conv1d", ((2, 4, 9), (6, 4, 3))),
        ("conv1d", ((4, 9), (6, 4, 3))),
        ("conv1d", ((9,), (6, 4, 3))),
        ("conv1d", ((1, 2, 4, 9), (6, 4, 3))),
        ("conv1d", ((2, 4, 9), (6, 4))),
        ("conv1d", ((2, 4, 9), (6, 4, 3, 3))),
        ("conv1d", ((2, 4, 9), (6, 5, 3))),
        ("conv1d", ((2, 4, 9), (6, 4, 10))),
        ("conv1d", ((2, 4, 9), (6, 4, 0))),
        ("conv1d", ((2, 4, 9), (0, 4, 3))),
        ("conv1d", ((0, 4, 9), (6, 4, 3))),
        ("conv1d", ((2, 4, 0), (6, 4, 3))),
        ("conv1d", ((2, 4, 9), (6, 4, 3), (6,))),
        ("conv1d", ((2, 4, 9), (6, 4, 3), (4,))),
        ("conv1d", ((2, 4, 9), (6, 4, 3), (6, 1))),
        ("conv1d", ((2, 4, 9), (6, 4, 3), ())),
        ("conv3d", ((2, 5, 5, 5), (3, 2, 2, 2, 2))),
        ("conv3d", ((2, 5, 5), (3, 2, 2, 2, 2))),
        ("conv_transpose1d", ((2, 4, 9), (4, 6, 3))),
        ("conv_transpose1d", ((4, 9), (4, 6, 3), (6,))),
        ("conv_transpose1d", ((2, 4, 9), (6, 4, 3))),
        ("conv_transpose1d", ((2, 4, 9), (4, 6))),
        ("conv_transpose1d", ((0, 4, 9), (4, 6, 3))),
        ("conv_transpose1d", ((2, 4, 0), (4, 6, 3))),
        ("conv_transpose1d", ((2, 4, 9), (4, 6, 3), (4,))),
        ("conv_transpose3d", ((1, 2, 3, 3, 3), (2, 1, 2, 2, 2))),
    ],
)
def test_shapes_are_legal_where_they_are_in_torch(name: str, shapes: Any) -> None:
    check_both(name, shapes)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_derivatives_of_torch_and_tensors(rank: int) -> None:
    spatial, kernel = (7, 6, 5)[:rank], (3, 2, 2)[:rank]
    x, w, b = whole((2, 4, *spatial)), whole((6, 2, *kernel), 1), whole((6,), 2)
    ours, theirs = getattr(dialect, f"conv{rank}d"), getattr(F, f"conv{rank}d")
    theirs_in = [torch.from_numpy(a).requires_grad_() for a in (x, w, b)]
    mine = [cn.Tensor(a) for a in (x, w, b)]
    there, here = theirs(*theirs_in, 2, 1, 1, 2), ours(*mine, 2, 1, 1, 2)
    assert isinstance(here, cn.Tensor)
    g = whole(here.shape, 3)
    there.backward(torch.from_numpy(g))
    here.backward(g)
    for a, b in zip(mine, theirs_in, strict=True):
        np.testing.assert_array_equal(a.grad, np.asarray(b.grad))
    ours, theirs = getattr(dialect, f"conv_transpose{rank}d"), getattr(F, f"conv_transpose{rank}d")
    y, w, b = whole((2, 4, *(3,) * rank)), whole((4, 3, *kernel), 1), whole((6,), 2)
    args: Any = (3, 1, 1, 2, 2)
    expected = theirs(*map(torch.from_numpy, (y, w, b)), *args)
    np.testing.assert_array_equal(ours(y, w, b, *args), expected.numpy())


def test_dtypes_of_torch() -> None:
    x, w = whole((1, 2, 5)), whole((3, 2, 3))
    for a, b, bias in [("f4", "f8", "f8"), ("f4", "f4", "f8"), ("i4", "f4", "f4"), ("?", "?", None)]:
        with pytest.raises(TypeError, match=r"conv1d: (weight|bias|input) has dtype"):
            dialect.conv1d(x.astype(a), w.astype(b), None if bias is None else np.zeros(3, bias))
    assert dialect.conv1d(x.astype("i2"), w.astype("i2")).dtype == np.int16
    assert dialect.conv_transpose1d(x.astype("i1"), w[:2].astype("i1")).dtype == np.int8  # torch has int64 only
    # Where torch is wrong: no channels in is a sum of nothing, not nothing.
    assert dialect.conv1d(np.ones((2, 0, 5)), np.ones((3, 0, 2)), np.arange(3.0))[0, :, 0].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"^conv_transpose1d: padding=\(5,\): on axis 2 of input"):
        dialect.conv_transpose1d(np.ones((2, 4, 8)), np.ones((4, 6, 3)), padding=5)  # empty in torch


MESSAGES = [
    ("conv1d(x, np.ones((6, 4, 3, 3)))", "weight has shape (6, 4, 3, 3), with 4 axes: 3 are needed, two for channels "
     "and 1 for the kernel"),
    ("conv1d(x, w[:0])", "weight has shape (0, 4, 3): axis 0 is empty, and must have at least 1 entry"),
    ("conv1d(x, w.astype('f'))", "weight has dtype float32, input has float64: torch needs them to be the same, "
     "convert one"),
    ("conv1d(x, w, padding='same', stride=2)", "padding='same' is not possible in torch with a stride other than 1, "
     "and stride=(2,)"),
    ("conv1d(x, w, padding='full')", "padding='full' is not known: 'valid', 'same', an int or one int per axis is "
     "needed"),
    ("conv1d(x, w, groups=2)", "input has 4 channels, axis 1 of shape (2, 4, 9): weight of shape (6, 4, 3) with "
     "groups=2 takes 4*2 = 8; to see it, write cn.explain(\"conv\", (2, 4, 9), (6, 4, 3), groups=2, "
     "layout='channels_first')"),
    ("conv1d(x, w, dilation=5)", "weight has shape (6, 4, 3), which on input of shape (2, 4, 9) does not fit on axis "
     "2: it needs (3 - 1)*5 + 1 = 11 elements, there are 9: 2 short; to see it, write "
     'cn.explain("max_pool", (9,), (3,), stride=1, dilation=5)'),
    ("conv1d(x[0, 0], w)", "input has shape (9,), with 1 axis: 2 are needed, (C, L), or 3 with a batch, (N, C, L)"),
    ("conv_transpose1d(x, w)", "input has 4 channels, axis 1 of shape (2, 4, 9): weight of shape (6, 4, 3), which is "
     "(C, O/groups, *k), takes 6; to see it, write cn.explain(\"conv_transpose\", (2, 4, 9), (6, 4, 3), "
     "layout='channels_first')"),
    ("conv_transpose1d(x, w[:4], padding='same')", "padding='same': an int or one int per axis is needed, not a str"),
    ("conv_transpose1d(x, w[:4], output_padding=1)", "output_padding=(1,): 1 is too large, it must be less than "
     "max(stride, dilation) = max(1, 1) = 1"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "cause"), MESSAGES, ids=[call for call, _ in MESSAGES])
def test_messages_of_torch(call: str, cause: str) -> None:
    names = {"dialect": dialect, "np": np, "x": np.ones((2, 4, 9)), "w": np.ones((6, 4, 3))}
    failure = outcome(eval, f"dialect.{call}", names)
    assert type(failure) in (ValueError, TypeError)
    assert str(failure) == f"{call.partition('(')[0]}: {cause}"


# -------------------------------------------------------------------------------------------------------- mygrad

GRID = list(itertools.product([(1, 2, 7), (2, 1, 5, 6), (2, 2, 4, 3, 5)], [1, 2, 3], [0, 1, 2], [1, 2], [1, 2, 3]))


@pytest.mark.parametrize(("shape", "stride", "padding", "dilation", "k"), GRID)
def test_conv_nd_of_mygrad(shape: tuple[int, ...], stride: int, padding: int, dilation: int, k: int) -> None:
    """Refused by both, or the same in both, the gradients of both operands included."""
    x, w = whole(shape), whole((3, shape[1], *(k,) * (len(shape) - 2)), 1)
    options: Any = {"stride": stride, "padding": padding, "dilation": dilation}
    mine, real = (mg.tensor(x), mg.tensor(w)), (real_tensor(x), real_tensor(w))
    ours, theirs = outcome(mg.conv_nd, *mine, **options), outcome(real_conv_nd, *real, **options)
    if "The dilated window" in str(theirs):  # it counts d·k elements, not d·(k − 1) + 1
        assert any(n + 2 * padding < dilation * k for n in shape[2:])
        np.testing.assert_array_equal(ours.data, cn.conv(x, w, **options, layout="channels_first"))
        return
    if isinstance(theirs, Exception):
        assert isinstance(ours, ValueError)
        assert re.match(r"conv_nd: (stride=|filter_bank has)", str(ours))
        return
    np.testing.assert_array_equal(ours.data, theirs.data)
    g = whole(ours.shape, 2)
    ours.backward(g)
    theirs.backward(g)
    for a, b in zip(mine, real, strict=True):
        np.testing.assert_array_equal(a.grad, np.asarray(b.grad))


def test_the_square_wave_of_mygrads_documentation() -> None:
    x, k = mg.tensor(np.zeros((1, 1, 16))), mg.tensor(np.ones((1, 1, 5)))
    x.data[..., 5:11] = 1
    out = mg.conv_nd(x, k, stride=1)
    assert repr(out) == "Tensor([[[0., 1., 2., 3., 4., 5., 5., 4., 3., 2., 1., 0.]]])"
    out.sum().backward()
    assert x.grad is not None
    assert k.grad is not None
    assert x.grad.ravel().tolist() == [1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 5, 5, 4, 3, 2, 1]
    assert k.grad.ravel().tolist() == [6, 6, 6, 6, 6]
    assert mg.conv_nd(np.zeros((10, 3, 32, 32)), np.zeros((5, 3, 2, 2)), stride=2).shape == (10, 5, 16, 16)


def test_constants_of_conv_nd() -> None:
    x, w = whole((1, 2, 5)), whole((3, 2, 2), 1)
    assert mg.conv_nd(x, w, stride=1).constant
    assert not mg.conv_nd(mg.tensor(x), w, stride=1).constant
    assert mg.conv_nd(mg.tensor(x), w, stride=1, constant=True).constant
    assert not mg.conv_nd(x, w, stride=1, constant=False).constant
    empty = mg.tensor(np.zeros((0, 2, 5)))
    mg.conv_nd(empty, w, stride=1).sum().backward()  # mygrad's own fails here
    assert empty.grad is not None
    assert empty.grad.shape == (0, 2, 5)


@pytest.mark.parametrize(
    ("shape", "filters", "options", "message"),
    [
        ((2, 5), (3, 2), {"stride": 1}, "x has shape (2, 5): at least 3 axes are needed, (N, C, X0, ...)"),
        ((2, 2, 5), (3, 2, 2, 2), {"stride": 1}, "filter_bank has shape (3, 2, 2, 2), with 4 axes: as many as x of "
         "shape (2, 2, 5) are needed, 3"),
        ((2, 2, 5), (3, 1, 2), {"stride": 1}, "x has 2 channels, axis 1 of shape (2, 2, 5): filter_bank of shape "
         "(3, 1, 2) with groups=1 takes 1*1 = 1; to see it, write cn.explain(\"conv\", (2, 2, 5), (3, 1, 2), "
         "layout='channels_first')"),
        ((2, 2, 5), (3, 2, 2), {"stride": 2}, "stride=2 does not bring filter_bank of shape (3, 2, 2) to the end of "
         "x of shape (2, 2, 5): 1 element of axis 2 is left over"),
        ((2, 2, 5), (3, 2, 6), {"stride": 1}, "filter_bank has shape (3, 2, 6), which on x of shape (2, 2, 5) does not "
         "fit on axis 2: it needs 6 elements, there are 5: 1 short; to see it, write "
         'cn.explain("max_pool", (5,), (6,), stride=1)'),
        ((2, 2, 5), (3, 2, 2), {"stride": 0}, "stride=0 is too small, at least 1 is needed"),
        ((2, 2, 5), (3, 2, 2), {"stride": 1, "padding": -1}, "padding=-1 is too small, at least 0 is needed"),
        ((2, 2, 5), (3, 2, 2), {"stride": 1, "dilation": (1, 1)}, "dilation=(1, 1) has 2 entries, the window has 1 "
         "axis: give one int, or one int per axis"),
    ],
)  # fmt: skip
def test_messages_of_conv_nd(shape: Any, filters: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(f'conv_nd: {message}')}$"):
        mg.conv_nd(np.zeros(shape), np.zeros(filters), **options)


# --------------------------------------------------------------------------------------------------------- nabla


@pytest.mark.parametrize("padding", [0, 1, (2, 0), (1, 0, 3, 2)])
@pytest.mark.parametrize(("stride", "dilation"), list(itertools.product([1, (2, 3)], [1, (2, 1)])))
def test_conv2d_of_nabla(padding: Any, stride: Any, dilation: Any) -> None:
    """(N, H, W, C) with (height, width, C, O), and its transpose with the channels of the filter exchanged."""
    top, bottom, left, right = {0: (0, 0, 0, 0), 1: (1, 1, 1, 1), (2, 0): (2, 2, 0, 0)}.get(padding, padding)
    x, filter, bias = whole((2, 8, 7, 3)), whole((3, 2, 3, 4), 1), whole((4,), 2)
    y = nabla.conv2d(x, filter, stride=stride, dilation=dilation, padding=padding, bias=bias)
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    expected = F.conv2d(
        torch.from_numpy(padded).permute(0, 3, 1, 2),
        torch.from_numpy(filter).permute(3, 2, 0, 1),
        torch.from_numpy(bias),
        stride,
        0,
        dilation,
    )
    np.testing.assert_array_equal(y, expected.permute(0, 2, 3, 1).numpy())
    back = nabla.conv2d_transpose(y, filter, stride=stride, dilation=dilation, padding=padding, bias=bias[:3])
    uncropped = F.conv_transpose2d(
        torch.from_numpy(y).permute(0, 3, 1, 2),
        torch.from_numpy(filter).permute(3, 2, 0, 1),
        torch.from_numpy(bias[:3]),
        stride,
        0,
        dilation=dilation,
    ).permute(0, 2, 3, 1)
    rows, columns = uncropped.shape[1:3]
    np.testing.assert_array_equal(back, uncropped[:, top : rows - bottom, left : columns - right].numpy())


def test_what_nabla_itself_does_not_do() -> None:
    x = whole((2, 6, 6, 4))
    depthwise = whole((3, 3, 1, 4), 1)
    y = nabla.conv2d(x, depthwise, groups=4, dilation=2, input_layout="NHWC", filter_layout="HWIO")
    for c in range(4):
        one = nabla.conv2d(x[..., c : c + 1], depthwise[..., c : c + 1], dilation=(2, 2))
        np.testing.assert_array_equal(y[..., c : c + 1], one)
    t = whole((3, 3, 5, 4), 2)
    more = nabla.conv2d_transpose(x, t, stride=2, output_paddings=(1, 0), filter_layout="HWOI")
    plain = nabla.conv2d_transpose(x, t, stride=2)
    assert (more.shape, plain.shape) == ((2, 14, 13, 5), (2, 13, 13, 5))
    np.testing.assert_array_equal(more[:, :13], plain)
    cn.check_grads(lambda x, f, b: nabla.conv2d_transpose(x, f, stride=2, bias=b), (x[:1, :2, :2], t, np.ones(5)))


# ------------------------------------------------------------------------------------------------ layouts of nabla


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("input_layout", [None, "NHWC", "NCHW"])
@pytest.mark.parametrize("second", [False, True, None])
def test_layouts_of_nabla(transposed: bool, input_layout: str | None, second: bool | None) -> None:
    x, w, bias = whole((2, 5, 6, 3)), whole((3, 2, 4, 3) if transposed else (3, 2, 3, 4), 1), whole((4,), 2)
    function = nabla.conv2d_transpose if transposed else nabla.conv2d
    options: dict[str, Any] = {"stride": (2, 1), "padding": (1, 0, 1, 1), "bias": bias}
    expected = function(x, w, **options)
    data = x.transpose(0, 3, 1, 2) if input_layout == "NCHW" else x
    filters = w.transpose(3, 2, 0, 1) if second else w
    names = ("HWOI", "IOHW") if transposed else ("HWIO", "OIHW")
    filter_layout = None if second is None else names[second]
    out = function(data, filters, **options, input_layout=input_layout, filter_layout=filter_layout)
    np.testing.assert_array_equal(out.transpose(0, 2, 3, 1) if input_layout == "NCHW" else out, expected)
    tensor = cn.Tensor(data)
    function(tensor, cn.Tensor(filters), **options, input_layout=input_layout, filter_layout=filter_layout).backward()
    assert tensor.grad is not None
    assert tensor.grad.shape == data.shape


# --------------------------------------------------------------------------------------- words of an error's own


@pytest.mark.parametrize("value", ["x", "w", "window=3", "{x}", "; with layout=", "x w"])
def test_a_value_is_never_taken_for_the_name_of_an_argument(value: str) -> None:
    x, w = np.zeros((1, 1, 4, 4)), np.zeros((1, 1, 2, 2))
    with pytest.raises(TypeError) as caught:
        dialect.conv2d(x, w, groups=value)  # type: ignore[arg-type]
    assert str(caught.value) == f"conv2d: groups={value!r}: an int is needed, not a str"
    with pytest.raises(TypeError, match="groups="):
        nabla.conv2d(x, w, groups=value)  # type: ignore[arg-type]
