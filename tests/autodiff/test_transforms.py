"""vjp, jvp, linearize, grad and value_and_grad: nested, mixed, on several results and arguments; what they refuse."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import cenote as cn


def cube(x: Any) -> Any:
    return (x**3).sum()


def test_orders_and_modes_mix() -> None:
    x = np.array([0.3, -0.7])
    one, two = np.array([1.0, 0.0]), np.array([0.5, 2.0])

    def f(a: Any) -> Any:
        return (np.sin(a) * np.exp(2 * a)).sum()

    hessian = np.exp(2 * x) * (3 * np.sin(x) + 4 * np.cos(x))
    third = np.exp(2 * x) * (2 * np.sin(x) + 11 * np.cos(x))
    gradient = cn.grad(f)
    results = [
        cn.jvp(gradient, (x,), (two,))[1],
        cn.linearize(gradient, x)[1](two),
        cn.vjp(gradient, x)[1](two)[0],
        cn.grad(lambda a: cn.jvp(f, (a,), (two,))[1])(x),
        cn.grad(lambda a: (gradient(a) * two).sum())(x),
        cn.grad(lambda a: (cn.vjp(f, a)[1](np.ones(()))[0] * two).sum())(x),
        cn.grad(lambda a: cn.linearize(f, a)[1](two))(x),
    ]
    for found in results:
        np.testing.assert_allclose(found, hessian * two, rtol=1e-13)
    both = cn.grad(lambda a: cn.jvp(lambda b: (gradient(b) * one).sum(), (a,), (two,))[1])(x)
    np.testing.assert_allclose(both, third * one * two, rtol=1e-12)
    value: Any = lambda a: a**6  # noqa: E731
    for order in range(1, 7):
        value = cn.grad(value)
        np.testing.assert_allclose(value(1.5), np.prod(np.arange(7 - order, 7.0)) * 1.5 ** (6 - order))


def test_perturbations_are_not_confused() -> None:
    assert cn.grad(lambda x: x * cn.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert cn.jvp(lambda x: x * cn.jvp(lambda y: x * y, (2.0,), (1.0,))[1], (3.0,), (1.0,))[1] == 6.0
    assert cn.grad(lambda b: cn.grad(lambda a: a**b)(4.0))(0.0) == 0.25


def test_several_results() -> None:
    x = np.array([1.0, 2.0])
    y, pull = cn.vjp(lambda a: (a * 2, [1.0, 3.0], np.argmax(a), a.sum()), x)
    assert isinstance(y, tuple)
    assert [part.tolist() for part in y] == [[2.0, 4.0], [1.0, 3.0], 1, 3.0]
    assert pull((x, x, 0.0, 10.0))[0].tolist() == [12.0, 14.0]
    _, tangents = cn.jvp(lambda a: [a * 2, 5.0, np.argmax(a)], (x,), (np.ones(2),))
    assert [(t.tolist(), t.dtype) for t in tangents] == [([2.0, 2.0], np.float64), (0.0, np.float64), (0.0, np.float64)]
    with pytest.raises(ValueError, match="pull: g must be a tuple of 4, one for each output of f"):
        pull(x)


def test_cotangents_have_the_dtypes_of_their_primals() -> None:
    primals = np.ones(2, np.float32), np.ones(2, np.float16), np.ones(2, np.int32), np.ones(2, np.complex64), 1.0
    y, pull = cn.vjp(lambda *a: a[0] * a[1] * a[2] * a[3] * a[4], *primals)
    assert y.dtype == np.complex128
    cotangents = pull(np.array([1.0, 1j]))
    assert [c.dtype for c in cotangents] == [np.float32, np.float16, np.float64, np.complex64, np.float64]
    assert cotangents[2].tolist() == [0.0, 0.0]
    assert cotangents[3].tolist() == [1.0, 1j]


def test_complex_derivatives_are_transposes() -> None:
    z, g = np.array([1 + 2j, 3 - 1j]), np.array([1j, 2.0])
    _, pull = cn.vjp(lambda a: a * a, z)
    np.testing.assert_allclose(pull(g)[0], 2 * z * g)
    np.testing.assert_allclose(cn.jvp(lambda a: a * a, (z,), (g,))[1], 2 * z * g)


def test_derivatives_are_arrays_of_their_own() -> None:
    x, g = np.arange(4.0), np.ones(4)
    pulled = cn.vjp(lambda a, b: a + b, x, x + 1)[1](g)
    _, pushed = cn.jvp(lambda a: (a, a, np.broadcast_to(a, (2, 4))), (x,), (g,))
    results = [g, *pulled, *pushed, cn.grad(lambda a: a.sum())(x)]
    for i, result in enumerate(results):
        result *= i + 2.0
    assert [result.ravel()[0] for result in results] == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def test_functions_close_over_tensors() -> None:
    w = cn.Tensor([2.0, 3.0])
    out = cn.grad(lambda x: (x * x * w).sum())(np.array([1.0, 1.0]))
    assert isinstance(out, cn.Tensor)
    out.backward()
    assert np.asarray(w.grad).tolist() == [2.0, 2.0]


def test_threads_do_not_meet() -> None:
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        for _ in range(50):
            found[k] = cn.grad(cn.grad(lambda a: a**k))(2.0)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {k: float(v) for k, v in found.items()} == {k: k * (k - 1) * 2.0 ** (k - 2) for k in range(2, 6)}


@pytest.mark.parametrize(("kind", "call", "message"), [
    (TypeError, "vjp(3, x)", "vjp: f=3 is an int: a function is needed"),
    (TypeError, "vjp(cube, 'x')", r"vjp: primals\[0\] is a str"),
    (TypeError, "vjp(lambda a: None, x)", "vjp: the output of f is None"),
    (TypeError, "vjp(lambda a: (a, 'b'), x)", "vjp: output 1 of f is a str"),
    (ValueError, "vjp(np.sin, x)[1](np.ones(3))", r"pull: g has shape \(3,\), the output of f has \(2,\)"),
    (TypeError, "vjp(np.sin, x)[1](x * 1j)", "pull: g has dtype complex128, the output of f is real"),
    (TypeError, "jvp(np.sin, x, (x,))", "jvp: primals is an ndarray: a tuple is needed"),
    (TypeError, "jvp(np.sin, (x,), x)", "jvp: tangents is an ndarray: a tuple is needed"),
    (ValueError, "jvp(np.sin, (x,), (x, x))", "jvp: 2 tangents for 1 primals: give one for each"),
    (ValueError, "jvp(np.sin, (x,), (x[:1],))", r"jvp: tangents\[0\] has shape \(1,\), primals\[0\] has \(2,\)"),
    (ValueError, "jvp(np.sin, (np.arange(2),), (x,))", r"jvp: tangents\[0\] is not zero, but primals\[0\]"),
    (ValueError, "linearize(np.sin, x)[1]()", "push: 0 tangents for 1 primals"),
    (TypeError, "grad(3)", "grad: f=3 is an int: a function is needed"),
    (ValueError, "grad(np.sin)(x)", r"grad: f must give a scalar, it gave shape \(2,\): sum it, or use vjp"),
    (ValueError, "grad(lambda a: (a, a))(1.0)", "grad: f must give a scalar, it gave a tuple"),
    (ValueError, "grad(cube, 1)(x)", "grad: argnums=1: f was called with 1 positional argument, there is no number 1"),
    (TypeError, "grad(cube, 0.5)(x)", "grad: argnums=0.5: an int or a tuple of ints is needed"),
    (TypeError, "value_and_grad(cube, (True,))(x)", r"value_and_grad: argnums=\(True,\): an int or a tuple"),
    (TypeError, "grad(lambda a: np.absolute(a).sum())(x * 1j)", "the absolute value of a complex number"),
])  # fmt: skip
def test_errors(kind: type[Exception], call: str, message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        eval(f"cn.{call}", {"cn": cn, "np": np, "cube": cube, "x": np.array([1.0, 2.0])})
    assert type(caught.value) is kind


def test_argnums() -> None:
    def f(a: Any, b: Any, *, scale: float = 1.0) -> Any:
        return (scale * a * b * b).sum()

    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert cn.grad(f)(a, b).tolist() == [9.0, 16.0]
    assert cn.grad(f, -1)(a, b, scale=10.0).tolist() == [60.0, 160.0]
    value, (db, da) = cn.value_and_grad(f, (1, 0))(a, b)
    assert (float(value), db.tolist(), da.tolist()) == (41.0, [6.0, 16.0], [9.0, 16.0])
    with pytest.raises(TypeError, match="argument 1 has dtype int64: integers have no derivative"):
        cn.grad(f, 1)(a, np.array([1, 2]))
    assert cn.grad(f, 0)(a, np.array([1, 2])).tolist() == [1.0, 4.0]
