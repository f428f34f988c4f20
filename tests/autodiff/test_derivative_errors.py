"""The messages for wrong uses of derivatives, to the letter; none is left out."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import torch

import cenote as cn
from cenote.autodiff.graph import Node, trace_level
from cenote.autodiff.tensor import make

MODULES = [
    "autodiff.graph", "autodiff.tensor", "autodiff.elementwise", "autodiff.functions", "autodiff.contraction",
    "autodiff.reductions", "autodiff.trace", "autodiff.transforms", "autodiff.checking", "autodiff.folds",
]  # fmt: skip

X = np.arange(4.0)
Z = np.array([1 + 1j, 2.0])


def T(data: Any = X) -> cn.Tensor:  # noqa: N802  short, for it stands in every case
    return cn.Tensor(data)


def total(x: Any) -> Any:
    return (x * x).sum()


def twice() -> None:
    y = total(T())
    y.backward()
    y.backward()


def stepped() -> None:
    w = T()
    for _ in range(3):
        total(w).backward()
        w = w - 0.1 * np.asarray(w.grad)


def written(x: Any) -> Any:
    x.data = np.zeros(4)
    return total(x)


def assigned() -> None:
    T()[0] = 1.0


def added() -> None:
    x = T()
    x += 1.0


wrong = cn.reducer(np.multiply, lambda a, b: (b, 2 * a))


def later(x: Any) -> Any:
    """What a trace that never ends has recorded."""
    return make(x, trace_level().__enter__(), Node(()))


CASES: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: cn.vjp(total, torch.ones(3)),
        "TypeError: vjp: primals[0] is a torch Tensor, and torch has derivatives of its own: use torch.func, or "
        "requires_grad and backward()",
    ),
    (
        lambda: cn.Tensor(X, requires_grad=True),  # type: ignore[arg-type]
        "TypeError: Tensor: requires_grad=True is constant=False here: write Tensor(data, constant=False)",
    ),
    (
        lambda: T().backward(retain_graph=True),  # type: ignore[arg-type]
        "TypeError: backward: retain_graph=True is not needed: compute again before the next backward(): "
        "write backward()",
    ),
    (lambda: cn.Tensor(X, constant="yes"), "TypeError: Tensor: constant='yes': True, False or None is needed"),  # type: ignore[arg-type]
    (
        lambda: cn.Tensor([1, 2], constant=False),
        "ValueError: Tensor: constant=False: data of dtype int64 has no derivatives, only floats and complex do",
    ),
    (
        lambda: T(["a"]),
        "TypeError: Tensor: data has dtype <U1: bool, an integer type, float16, bfloat16, float32, float64, complex64 "
        "or complex128 is needed",
    ),
    (
        lambda: T([[1], [2, 3]]),
        "ValueError: Tensor: data cannot be made an array: setting an array element with a sequence. The requested "
        "array has an inhomogeneous shape after 1 dimensions. The detected shape was (2,) + inhomogeneous part.",
    ),
    (
        lambda: cn.grad(total)(np.arange(3)),
        "TypeError: grad: argument 0 has dtype int64: integers have no derivative, give floats, such as 1.0 for 1",
    ),
    (
        lambda: cn.grad(written)(X),
        "TypeError: the data of a Tensor inside of vjp, jvp, linearize or grad cannot be changed",
    ),
    (
        lambda: cn.grad(lambda x: total(x).backward())(X),
        "TypeError: backward() works on Tensors, not inside of vjp, jvp, linearize or grad",
    ),
    (lambda: T([1, 2]).backward(), "ValueError: backward: this Tensor is constant, there is nothing to derive by"),
    (lambda: T().backward(np.ones(3)), "ValueError: backward: g has shape (3,), this Tensor has (4,)"),
    (lambda: T().backward(1j), "TypeError: backward: g has dtype complex128, this Tensor has float64"),
    (
        lambda: T().backward(torch.ones(4)),
        "TypeError: backward: g is a torch array, this Tensor is a NumPy array: write g.numpy(force=True)",
    ),
    (
        lambda: T().backward(jnp.ones(4)),
        "TypeError: backward: g is a jax array, this Tensor is a NumPy array: write np.asarray(g)",
    ),
    (
        lambda: cn.vjp(np.sin, X)[1](torch.ones(4)),
        "TypeError: pull: g is a torch array, the output of f is a NumPy array: write g.numpy(force=True)",
    ),
    (
        lambda: cn.vjp(lambda x: (x, x), X)[1]((X, jnp.ones(4))),
        "TypeError: pull: g[1] is a jax array, the output of f is a NumPy array: write np.asarray(g[1])",
    ),
    (
        lambda: cn.jvp(np.sin, (X,), (torch.ones(4),)),
        "TypeError: jvp: tangents[0] is a torch array, primals[0] is a NumPy array: write "
        "tangents[0].numpy(force=True)",
    ),
    (
        lambda: cn.linearize(np.sin, X)[1](jnp.ones(4)),
        "TypeError: push: tangents[0] is a jax array, primals[0] is a NumPy array: write np.asarray(tangents[0])",
    ),
    (lambda: np.frexp(T()), "TypeError: np.frexp is not defined for Tensors: use it on their .data"),
    (lambda: np.add.at(T(), 0, 1.0), "TypeError: np.add.at is not defined for Tensors: use it on their .data"),
    (added, "TypeError: np.add: Tensors take no out: write x = x + y for x += y, or change x.data"),
    (lambda: np.add(T(), 1, dtype="f"), "TypeError: np.add: Tensors take no dtype"),
    (lambda: np.kron(T(), T()), "TypeError: np.kron is not defined for Tensors: use it on their .data"),
    (assigned, "TypeError: a Tensor is not written into: assign to its .data, or build a new one"),
    (lambda: T().sort, "AttributeError: Tensor has no attribute 'sort'"),
    (
        twice,
        "ValueError: backward: a part of the graph was freed by an earlier backward(): compute it again. To step a "
        "parameter, change its data (w.data -= step), which is no part of a graph",
    ),
    (
        stepped,
        "ValueError: backward: a part of the graph was freed by an earlier backward(): compute it again. To step a "
        "parameter, change its data (w.data -= step), which is no part of a graph",
    ),
    (
        lambda: np.abs(T(Z)).backward(),  # type: ignore[attr-defined]
        "TypeError: the absolute value of a complex number has no complex derivative",
    ),
    (
        lambda: np.conjugate(T(Z)),
        "TypeError: np.conjugate: the conjugate of a complex number has no complex derivative",
    ),
    (lambda: T().sum(axis=2), "ValueError: axis 2 is not one of a Tensor with 1 axes"),
    (lambda: T().sum(axis=(0, -1)), "ValueError: axis (0, -1) names an axis of a Tensor with 1 axes twice"),
    (lambda: np.reshape(T(), (2, 2), order="F"), "ValueError: reshape: order='F': Tensors have order 'C' only"),
    (
        lambda: T().astype("U4"),
        "TypeError: astype: dtype='U4': bool, integers, floats or complex numbers are needed",
    ),
    (
        lambda: np.pad(T(), 1, mode="edge"),
        "ValueError: np.pad: mode='edge': Tensors are padded in mode 'constant' only",
    ),
    (
        lambda: cn.vjp(lambda x: np.argmax(x), da.ones(4)),
        "TypeError: inside of vjp, jvp, linearize and grad a dask array takes part in functions of cenote, arithmetic, "
        "elementwise functions, sums, matrix products, reshape and transpose only: do the rest outside, or with NumPy "
        "arrays",
    ),
    (lambda: T() @ T(1.0), "ValueError: matmul: scalars cannot be multiplied as matrices, use *"),
    (
        lambda: np.einsum("...i->...", T()),
        "ValueError: np.einsum: Tensors need subscripts as a string, without an ellipsis",
    ),
    (
        lambda: np.einsum("ii->i", T(np.eye(2))),
        "ValueError: np.einsum: 'ii->i' repeats a letter in one operand, which Tensors do not support",
    ),
    (
        lambda: T(Z).var(),
        "TypeError: the magnitude of a complex number has no complex derivative: use its real and imaginary part",
    ),
    (
        lambda: np.linalg.norm(T(), ord=1),
        "ValueError: np.linalg.norm: ord=1 over 1 axes: Tensors have the Euclidean norm only",
    ),
    (lambda: cn.vjp(3, X), "TypeError: vjp: f=3 is an int: a function is needed"),  # type: ignore[arg-type]
    (lambda: cn.grad(3), "TypeError: grad: f=3 is an int: a function is needed"),  # type: ignore[arg-type]
    (lambda: cn.value_and_grad(3), "TypeError: value_and_grad: f=3 is an int: a function is needed"),  # type: ignore[arg-type]
    (
        lambda: cn.vjp(lambda x: (x, x), X)[1](X),
        "ValueError: pull: g must be a tuple of 2, one for each output of f",
    ),
    (
        lambda: cn.vjp(total, X)[1](X),
        "ValueError: pull: g has shape (4,), the output of f has (): they must agree",
    ),
    (
        lambda: cn.vjp(total, X)[1](1j),
        "TypeError: pull: g has dtype complex128, the output of f is real: its imaginary part would be lost",
    ),
    (lambda: cn.linearize(total, X)[1](X, X), "ValueError: push: 2 tangents for 1 primals: give one for each"),
    (
        lambda: cn.jvp(total, (np.arange(4),), (X,)),
        "ValueError: jvp: tangents[0] is not zero, but primals[0] is an array of int64, a constant",
    ),
    (
        lambda: cn.jvp(total, X, (X,)),  # type: ignore[arg-type]
        "TypeError: jvp: primals is an ndarray: a tuple is needed, with one entry per argument of f",
    ),
    (
        lambda: cn.grad(total, argnums="x")(X),  # type: ignore[arg-type]
        "TypeError: grad: argnums='x': an int or a tuple of ints is needed",
    ),
    (
        lambda: cn.grad(total, argnums=1)(X),
        "ValueError: grad: argnums=1: f was called with 1 positional argument, there is no number 1",
    ),
    (lambda: cn.grad(total, argnums=(0, -1))(X), "ValueError: grad: argnums=(0, -1) names an argument twice"),
    (
        lambda: cn.grad(total, np.ones(2)),  # type: ignore[arg-type]
        "TypeError: grad: argnums=array([1., 1.]): an int or a tuple of ints is needed; the arguments of f are given "
        "to the gradient, as in grad(f)(x)",
    ),
    (
        lambda: cn.grad(total)(pd.Series([1.0])),
        "TypeError: grad: argument 0 is a pandas Series, which is not converted silently: pass x.to_numpy()",
    ),
    (lambda: cn.Tensor(), "TypeError: Tensor: data is missing"),
    (lambda: T().sum(dim=0), "TypeError: Tensor.sum: dim= is called axis= here"),
    (lambda: T().sum(where=X > 0), "TypeError: Tensor.sum: Tensors take no where="),
    (lambda: np.mean(T(), out=X), "TypeError: np.mean: Tensors take no out="),
    (lambda: T().sum(0, False, 1), "TypeError: Tensor.sum: too many positional arguments"),
    (lambda: np.sum(T(), "a"), "TypeError: 'str' object cannot be interpreted as an integer"),  # type: ignore[arg-type]
    *(
        (
            call,
            f"TypeError: np.{name}: a torch Tensor cannot be combined with a Tensor of cenote: convert it with "
            ".detach().cpu().numpy()",
        )
        for name, call in {
            "add": lambda: T() + torch.ones(4),
            "subtract": lambda: torch.ones(4) - T(),
            "concatenate": lambda: np.concatenate([T(), torch.ones(4)]),
        }.items()
    ),
    *(
        (
            lambda f=f: cn.grad(f)(X),
            f"TypeError: {conversion} would drop the derivative of a Tensor inside of vjp, jvp, linearize or grad: use "
            "NumPy functions and operators on the Tensor, such as np.stack for np.array, or its .data if it is a "
            "constant",
        )
        for conversion, f in {
            "float()": lambda x: float(total(x)),
            "item()": lambda x: total(x).item(),
            "tolist()": lambda x: sum(x.tolist()),
            "np.asarray": lambda x: np.array([x[0], x[1]]).sum(),
        }.items()
    ),
    (
        lambda: cn.grad(lambda x: x)(X),
        "ValueError: grad: f must give a scalar, it gave shape (4,): sum it, or use vjp",
    ),
    (
        lambda: cn.value_and_grad(lambda x: (x, x))(X),
        "ValueError: value_and_grad: f must give a scalar, it gave a tuple: return one of them, or use vjp",
    ),
    (lambda: cn.check_grads(3, (X,)), "TypeError: check_grads: f=3 is an int: a function is needed"),  # type: ignore[arg-type]
    (
        lambda: cn.check_grads(total, X),  # type: ignore[arg-type]
        "TypeError: check_grads: args is an ndarray: a tuple is needed, with one entry per argument of f",
    ),
    (
        lambda: cn.check_grads(total, (X,), modes=("sideways",)),
        "ValueError: check_grads: modes=('sideways',): 'fwd' and 'rev', or one of them, is needed",
    ),
    (
        lambda: cn.check_grads(total, (np.arange(4),)),
        "ValueError: check_grads: args holds no float array: there is nothing to vary",
    ),
    (
        lambda: cn.check_grads(lambda x: cn.pool(x, (2,), 1.0, wrong), (X + 1,)),
        "GradientError: check_grads: the jvp of f is off by",
    ),
    (
        lambda: cn.vjp(later, X),
        "ValueError: vjp: the output of f was recorded by a later derivative, which still runs on another thread: take "
        "that derivative inside of f",
    ),
    (
        lambda: cn.pool(T(), (2,), 0.0, lambda a, b: a + b).sum().backward(),
        "TypeError: pool: <lambda> has no known derivative. Give it one with cn.reducer(fn, partials), where "
        "partials(a, b) gives (∂fn/∂a, ∂fn/∂b)",
    ),
]


def failure_of(call: Callable[[], Any]) -> Exception:
    try:
        call()
    except Exception as failure:
        return failure
    raise AssertionError("there was no error")


@pytest.mark.parametrize(("call", "expected"), CASES, ids=[expected[:60] for _, expected in CASES])
def test_the_message_to_the_letter(call: Callable[[], Any], expected: str) -> None:
    failure = failure_of(call)
    got = f"{type(failure).__name__}: {failure}"
    if expected.startswith("GradientError"):  # the figures depend on the machine's exp
        assert got.startswith(expected)
        assert isinstance(failure, AssertionError)
        assert isinstance(failure, ValueError)
    else:
        assert got == expected


def origins(failure: BaseException) -> set[tuple[str, int]]:
    """All places of this package that the failure, and what it replaced, came through."""
    found = set()
    for cause in (failure, failure.__context__):
        trace = cause.__traceback__ if cause is not None else None
        while trace is not None:
            found.add((Path(trace.tb_frame.f_code.co_filename).stem, trace.tb_lineno))
            trace = trace.tb_next
    return found


def test_every_raise_is_reached() -> None:
    reached = set().union(*(origins(failure_of(call)) for call, _ in CASES))
    package = Path(cn.__file__).parent
    for module in MODULES:
        path = package / f"{module.replace('.', '/')}.py"
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and node.exc is not None and node.end_lineno is not None:
                lines = range(node.lineno, node.end_lineno + 1)
                assert any((path.stem, line) in reached for line in lines), f"{module}:{node.lineno}"
