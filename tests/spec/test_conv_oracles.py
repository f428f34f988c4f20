"""Convolution vs. torch and JAX: values and derivatives, over a grid of everything that they can do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  what its users call it

import cenote as cn
import jax_oracle

torch.set_num_threads(1)  # small arrays: waking its threads costs a hundred times the work
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel:UserWarning")


def whole(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Whole numbers in doubles: everything is exact."""
    return rng.integers(-4, 5, shape).astype(float)


# ------------------------------------------------------------------------------------------------------ torch


def legal(rng: np.random.Generator, rank: int) -> dict[str, Any]:
    """Sizes and arguments that torch takes."""
    groups = int(rng.choice([1, 1, 2, 3]))
    inner, outer = (int(v) for v in rng.integers(1, 4, 2))
    return {
        "groups": groups, "inner": inner, "outer": outer,
        "kernel": tuple(map(int, rng.integers(1, 4, rank))),
        "stride": tuple(map(int, rng.integers(1, 4, rank))),
        "padding": tuple(map(int, rng.integers(0, 3, rank))),
        "dilation": tuple(map(int, rng.integers(1, 4, rank))),
        "batch": () if rng.integers(4) == 0 else (2,),
        "side": {1: 14, 2: 9, 3: 7}[rank],
    }  # fmt: skip


def check_torch(ours: Any, theirs: Any, operands: list[Any], rng: np.random.Generator) -> None:
    held = [torch.from_numpy(a).requires_grad_() for a in operands]
    expected = theirs(*held)
    y, pull = cn.vjp(ours, *operands)
    np.testing.assert_array_equal(y, expected.detach().numpy())
    g = whole(rng, y.shape)
    grads = torch.autograd.grad(expected, held, torch.from_numpy(g))
    for got, want in zip(pull(g), grads, strict=True):
        np.testing.assert_array_equal(got, want.numpy())


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_conv_of_torch(rank: int) -> None:
    rng = np.random.default_rng(rank)
    done = 0
    while done < 120:
        c = legal(rng, rank)
        spatial = tuple(map(int, rng.integers(1, c["side"] + 1, rank)))
        axes = zip(spatial, c["padding"], c["dilation"], c["kernel"], strict=True)
        if any(n + 2 * p < d * (k - 1) + 1 for n, p, d, k in axes):
            continue
        done += 1
        options = {name: c[name] for name in ("stride", "padding", "dilation", "groups")}
        if done % 5 == 0:
            options |= {"stride": (1,) * rank, "padding": "same"}
        x = whole(rng, (*c["batch"], c["groups"] * c["inner"], *spatial))
        w = whole(rng, (c["groups"] * c["outer"], c["inner"], *c["kernel"]))
        b = whole(rng, (w.shape[0],))
        check_torch(
            lambda x, w, b, o=options: cn.conv(x, w, bias=b, **o, layout="channels_first"),
            lambda x, w, b, o=options: getattr(F, f"conv{rank}d")(x, w, b, **o),
            [x, w, b],
            rng,
        )


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_conv_transpose_of_torch(rank: int) -> None:
    rng = np.random.default_rng(10 + rank)
    done = 0
    while done < 120:
        c = legal(rng, rank)
        spatial = tuple(map(int, rng.integers(1, c["side"] // 2 + 1, rank)))
        extra = tuple(int(rng.integers(0, max(s, d))) for s, d in zip(c["stride"], c["dilation"], strict=True))
        axes = zip(spatial, c["stride"], c["padding"], c["dilation"], c["kernel"], extra, strict=True)
        if any((n - 1) * s - 2 * p + d * (k - 1) + 1 + e < 1 for n, s, p, d, k, e in axes):
            continue
        done += 1
        options = {name: c[name] for name in ("stride", "padding", "dilation", "groups")} | {"output_padding": extra}
        x = whole(rng, (*c["batch"], c["groups"] * c["outer"], *spatial))
        w = whole(rng, (x.shape[len(c["batch"])], c["inner"], *c["kernel"]))
        b = whole(rng, (c["groups"] * c["inner"],))
        check_torch(
            lambda x, w, b, o=options: cn.conv_transpose(x, w, bias=b, **o, layout="channels_first"),
            lambda x, w, b, o=options: getattr(F, f"conv_transpose{rank}d")(x, w, b, **o),
            [x, w, b],
            rng,
        )


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int16", "int64"])
def test_dtypes_of_torch(dtype: str) -> None:
    rng = np.random.default_rng(20)
    x, w = (rng.integers(-4, 5, s).astype(dtype) for s in ((2, 3, 9, 8), (4, 3, 3, 2)))
    expected = F.conv2d(torch.from_numpy(x), torch.from_numpy(w), stride=2, padding=1)
    got = cn.conv(x, w, stride=2, padding=1, layout="channels_first")
    np.testing.assert_array_equal(got, expected.numpy())
    assert got.dtype == np.dtype(dtype)


# -------------------------------------------------------------------------------------------------------- JAX


def jax_questions() -> list[jax_oracle.Question]:
    rng = np.random.default_rng(30)
    out: list[jax_oracle.Question] = []
    while len(out) < 60:
        rank = int(rng.integers(1, 4))
        groups = int(rng.choice([1, 1, 2, 3]))
        inner, outer = (int(v) for v in rng.integers(1, 4, 2))
        first = bool(rng.integers(2))

        def ints(low: int, high: int, rank: int = rank) -> tuple[int, ...]:
            return tuple(map(int, rng.integers(low, high, rank)))

        kernel, stride, dilation = ints(1, 4), ints(1, 4), ints(1, 3)
        spatial = ints(1, {1: 14, 2: 9, 3: 6}[rank])
        pairs = tuple(zip(ints(0, 4), ints(0, 4), strict=True))
        padding: Any = [pairs, "SAME", "SAME_LOWER", "VALID"][int(rng.integers(4))]
        x_shape = (2, groups * inner, *spatial) if first else (2, *spatial, groups * inner)
        w_shape = (groups * outer, inner, *kernel) if first else (*kernel, inner, groups * outer)
        x, w, dx, dw = (whole(rng, shape) for shape in (x_shape, w_shape, x_shape, w_shape))
        try:
            y = cn.conv(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups, layout=LAYOUT[first])
        except ValueError:
            continue  # JAX gives an empty result where the filter does not fit
        g = whole(rng, y.shape)
        out.append(jax_oracle.Question(x, w, g, dx, dw, stride, padding, dilation, groups, first))
    return out


LAYOUT: Any = {False: "channels_last", True: "channels_first"}


def test_conv_of_jax() -> None:
    questions = jax_questions()
    assert {q.padding if isinstance(q.padding, str) else "pairs" for q in questions} == {
        "pairs", "SAME", "SAME_LOWER", "VALID",
    }  # fmt: skip
    for q, (value, by_x, by_w, pushed) in zip(questions, jax_oracle.ask(questions), strict=True):

        def f(x: Any, w: Any, q: jax_oracle.Question = q) -> Any:
            options: Any = {"stride": q.stride, "padding": q.padding, "dilation": q.dilation, "groups": q.groups}
            return cn.conv(x, w, **options, layout=LAYOUT[q.first])

        y, pull = cn.vjp(f, q.x, q.w)
        np.testing.assert_array_equal(y, value, err_msg=str(q))
        for got, expected in zip(pull(q.g), (by_x, by_w), strict=True):
            np.testing.assert_array_equal(got, expected, err_msg=str(q))
        np.testing.assert_array_equal(cn.jvp(f, (q.x, q.w), (q.dx, q.dw))[1], pushed, err_msg=str(q))
