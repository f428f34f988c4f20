"""Traces of functions that are differentiated: nested, on several threads, and Tensors that outlive theirs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cenote as cn


def on_a_thread(f: Callable[[], Any]) -> Any:
    """The result of ``f`` on a new thread; its exception is raised here."""
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(f())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def on_this_thread(f: Callable[[], Any]) -> Any:
    return f()


@pytest.mark.parametrize("run", [on_this_thread, on_a_thread])
def test_a_derivative_inside_of_another_one(run: Callable[[Callable[[], Any]], Any]) -> None:
    """∂/∂x of ∂/∂y (x²y³) at y = x, of which only the x of the closure depends on x: 2x·3x²."""

    def slope(x: Any) -> Any:
        return run(lambda: cn.grad(lambda y: x * x * y**3)(2.0))

    assert float(cn.grad(slope)(2.0)) == 2 * 2.0 * 3 * 2.0**2
    y, dy = cn.jvp(slope, (2.0,), (1.0,))
    assert (float(y), float(dy)) == (48.0, 48.0)


@pytest.mark.parametrize("run", [on_this_thread, on_a_thread])
def test_pooling_inside_of_another_derivative(run: Callable[[Callable[[], Any]], Any]) -> None:
    x = np.arange(16.0).reshape(4, 4)

    def inner(t: Any) -> Any:
        return run(lambda: cn.grad(lambda s: (cn.max_pool(s * t, (2, 2)) ** 2).sum())(x)).sum()

    # Σ over chosen elements of ∂/∂s (s·t)² = 2·s·t², so ∂/∂t = 4·s·t
    expected = np.zeros((4, 4))
    expected[1::2, 1::2] = 4 * x[1::2, 1::2]
    np.testing.assert_array_equal(cn.grad(inner)(np.ones((4, 4))), expected)


def test_one_function_on_many_threads_at_once() -> None:
    """The Tensors of one trace in traces of four threads, all of them running at the same time."""
    together = threading.Barrier(4)

    def slopes(x: Any) -> Any:
        found: dict[int, Any] = {}

        def work(k: int) -> None:
            def f(y: Any) -> Any:
                together.wait(30)
                out = x**k * y**2
                together.wait(30)
                return out

            found[k] = cn.grad(f)(3.0)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found[1] + found[2] + found[3] + found[4]

    assert float(cn.grad(slopes)(2.0)) == sum(k * 2.0 ** (k - 1) * 2 * 3.0 for k in range(1, 5))


def test_a_tensor_that_outlives_its_trace_is_a_constant() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * x)
        return x.sum()

    cn.grad(f)(np.array([1.0, 2.0]))
    out = cn.grad(lambda y: (y * kept[0]).sum())(np.array([5.0, 6.0]))
    assert type(out) is np.ndarray
    assert out.tolist() == [1.0, 4.0]
    y, pull = cn.vjp(lambda y: cn.max_pool(kept[0], (2,)) * y, 3.0)
    assert type(y) is np.ndarray
    assert (y.tolist(), float(pull(np.ones(1))[0])) == ([12.0], 4.0)
    assert cn.grad(lambda y: (kept[0].reshape(2, 1) * y).sum())(2.0).tolist() == 5.0


def test_a_tensor_of_an_inner_trace_is_followed_by_the_outer_one() -> None:
    def f(x: Any) -> Any:
        kept: list[Any] = []

        def inner(y: Any) -> Any:
            kept.append(x * y * y)
            return (x * y * y).sum()

        cn.grad(inner)(3.0)
        return kept[0]

    assert float(cn.grad(f)(2.0)) == 9.0
    assert float(cn.jvp(f, (2.0,), (1.0,))[1]) == 9.0


def test_a_result_of_a_later_trace_on_another_thread_is_an_error() -> None:
    """It would have derivative zero with respect to x, silently."""
    tensors: list[Any] = []
    started, done = threading.Event(), threading.Event()

    def later(y: Any) -> Any:
        tensors.append(y)
        started.set()
        assert done.wait(30)
        return y

    thread = threading.Thread(target=lambda: cn.grad(later)(1.0))

    def f(x: Any) -> Any:
        thread.start()
        assert started.wait(30)
        return x * tensors[0]

    try:
        with pytest.raises(ValueError, match="grad: the output of f was recorded by a later derivative"):
            cn.grad(f)(2.0)
    finally:
        done.set()
        thread.join()
