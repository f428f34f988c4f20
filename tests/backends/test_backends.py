"""The seam between operations and array libraries, on two small libraries of the tests' own (other_backends.py).

Whatever records Ops without data gets the shapes and dtypes that the real call gives, and whatever computes an output
in parts gets the bits of the whole: for every function, and for its derivatives in both modes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cases import FLOATS, REALS, Case, cases, examples, same_bits
from cenote.backends import dispatch
from other_backends import Cut, Parts, Trace, Traced, check_traced, outcome, registered
from vocabulary import (
    DIFFERENTIABLE,
    MODES,
    POOLS,
    WITH_INDICES,
    Convolution,
    Function,
    convolutions,
    derivative,
    one_nan,
)


def check_parts(f: Function, seed: int, *arrays: Any, cut: Function | None = None) -> None:
    """f computed in parts: the bits of the whole. ``cut`` is f with the arrays that it holds cut too."""
    expected = outcome(lambda: f(*arrays))
    if isinstance(expected, str):
        return
    with registered(Parts(np.random.default_rng(seed))), np.errstate(all="ignore"):
        got = (cut or f)(*map(Cut, arrays))
    for part, whole in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, expected)), strict=True):
        data = part.data if isinstance(part, Cut) else part
        assert data.dtype == whole.dtype
        assert same_bits(one_nan(data), one_nan(whole))


@examples(300)
@given(cases(REALS), st.sampled_from(sorted(POOLS)))
def test_shapes_and_dtypes_need_no_data(case: Case, name: str) -> None:
    check_traced(lambda x: POOLS[name](x, **case.arguments), case.x)


@examples(100)
@given(cases(REALS), st.sampled_from(sorted(WITH_INDICES)))
def test_indices_need_no_data(case: Case, name: str) -> None:
    check_traced(lambda x: WITH_INDICES[name](x, **case.arguments), case.x)


@examples(300)
@given(cases(FLOATS), st.sampled_from(DIFFERENTIABLE), st.sampled_from(MODES[1:]))
def test_derivatives_need_no_data(case: Case, name: str, mode: str) -> None:
    f = derivative(case, name, mode)
    if f is not None:
        check_traced(f, case.x)


@examples(300)
@given(cases(REALS), st.sampled_from(sorted(POOLS)), st.integers(0, 2**32))
def test_parts_are_the_whole(case: Case, name: str, seed: int) -> None:
    check_parts(lambda x: POOLS[name](x, **case.arguments), seed, case.x)


@examples(200)
@given(cases(REALS), st.sampled_from(sorted(WITH_INDICES)), st.integers(0, 2**32))
def test_indices_of_parts_are_those_of_the_whole(case: Case, name: str, seed: int) -> None:
    check_parts(lambda x: WITH_INDICES[name](x, **case.arguments), seed, case.x)


@examples(300)
@given(cases(FLOATS), st.sampled_from(DIFFERENTIABLE), st.sampled_from(MODES[1:3]), st.integers(0, 2**32))
def test_derivatives_of_parts_are_those_of_the_whole(case: Case, name: str, mode: str, seed: int) -> None:
    f = derivative(case, name, mode)
    if f is not None:
        # A tangent in another byte order is cast, which only arrays of NumPy's can be.
        cut = derivative(case, name, mode, Cut) if case.x.dtype.isnative else f
        check_parts(f, seed, case.x, cut=cut)


# ------------------------------------------------------------------------------------------------ unpool, conv


def unpool_case(seed: int) -> tuple[Any, Any, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    y = rng.standard_normal((2, 3, 4)).astype(np.float32)
    indices = rng.integers(-1, 30, y.shape)
    return y, indices, {"window": (2, 2), "output_shape": (5, 6)}


@examples(60)
@given(st.integers(0, 2**32))
def test_unpool(seed: int) -> None:
    y, indices, how = unpool_case(seed)
    for f in (
        lambda y, i: cn.max_unpool(y, i, **how),
        lambda y, i: cn.vjp(lambda y: cn.max_unpool(y, i, **how), y)[1](np.ones((2, 5, 6), np.float32))[0],
    ):
        check_traced(f, y, indices)
        check_parts(f, seed, y, indices)


@examples(200)
@given(convolutions(), st.sampled_from(["value", "vjp", "jvp"]), st.integers(0, 2**32))
def test_convolution(case: Convolution, mode: str, seed: int) -> None:
    x, w, bias, how, transposed = case
    function: Function = cn.conv_transpose if transposed else cn.conv

    def f(x: Any, w: Any, bias: Any) -> Any:
        return function(x, w, bias=bias, **how)

    y = outcome(lambda: f(x, w, bias))
    if isinstance(y, str):
        return
    g = np.ones_like(y)
    if mode == "value":
        whole: Function = f
    elif mode == "vjp":
        whole = lambda *args: cn.vjp(f, *args)[1](g)  # noqa: E731
    else:
        whole = lambda *args: cn.jvp(f, args, (np.ones_like(x), np.ones_like(w), np.ones_like(bias)))[1]  # noqa: E731
    check_traced(whole, x, w, bias)
    rough = [np.float32(1e-4), 1e-9][x.dtype == np.float64]
    expected = whole(x, w, bias)
    with registered(Parts(np.random.default_rng(seed))):
        got = whole(*map(Cut, (x, w, bias)))
    for part, real in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, expected)), strict=True):
        np.testing.assert_allclose(part.data, real, rtol=rough, atol=rough * max(1.0, np.abs(real).max(initial=0)))


def test_a_library_is_found_by_the_type_of_its_array() -> None:
    trace = Trace()
    with registered(trace):
        x = trace.array((4, 4), np.float32)
        assert dispatch.dispatch(np.zeros(1), x) is trace
        assert isinstance(cn.max_pool(x, (2, 2)), Traced)
        assert cn.conv(np.zeros((4, 4, 1)), trace.array((2, 2, 1, 1), "d")).shape == (3, 3, 1)
    with pytest.raises(TypeError, match="max_pool: "):
        cn.max_pool(x, (2, 2))
