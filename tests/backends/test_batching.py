"""One more leading axis on every operand, and Ops as text: what compilers of other libraries need of an Op.

A backend of the tests' own takes every Op that a call makes, derivatives included, writes it as text, reads it again,
and computes it with a batch axis: each slice must have the bits of the Op by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cases import FLOATS, REALS, Case, cases, examples, same_bits
from cenote.arguments.arrays import Array, as_array
from cenote.ops.base import Op, Spec
from cenote.ops.serialize import dumps, loads
from other_backends import outcome, registered
from vocabulary import DIFFERENTIABLE, MODES, POOLS, WITH_INDICES, derivative, of_mode, one_nan

SIZE = 3


class Slices:
    """An array with a batch axis in front that users do not see; the entries of a batch are multiples of one."""

    def __init__(self, data: Array) -> None:
        self.data = data

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape[1:]

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return self.data.ndim - 1

    def __add__(self, other: Slices) -> Slices:
        return Slices(self.data + other.data)


class Vectorized:
    """A backend: one call for all slices, by ``Op.batched``, checked against each slice."""

    name = "vectorized"

    def owns(self, kind: type) -> bool:
        return kind is Slices

    def operand(self, x: Any, name: str) -> Any:
        return x if isinstance(x, Slices) else as_array(x, name)

    def spec(self, x: Any) -> Spec:
        return Spec(x.shape, x.dtype)

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        mapped = [isinstance(x, Slices) for x in operands]
        batched, needed = op.batched(SIZE, mapped)
        if "<" not in repr(op):  # a function has no text
            assert loads(dumps(op)) == op
            assert loads(dumps(batched)) == batched
        given = []
        for x, has, needs in zip(operands, mapped, needed, strict=True):
            data = x.data if has else x
            assert needs or not has
            given.append(np.broadcast_to(data, (SIZE, *data.shape)) if needs and not has else data)
        results = batched.evaluate(*given)
        inferred = batched.infer(*(Spec(x.shape, x.dtype) for x in given))
        assert [Spec(r.shape, r.dtype) for r in results] == list(inferred), op
        for i in range(SIZE):
            alone = op.evaluate(*(x.data[i] if has else x for x, has in zip(operands, mapped, strict=True)))
            for part, whole in zip(alone, results, strict=True):
                if op.name in ("contract", "filter"):
                    np.testing.assert_allclose(whole[i], part, rtol=1e-4, atol=1e-4)
                else:
                    assert same_bits(one_nan(whole[i]), one_nan(part)), op
        return tuple(map(Slices, results))


def batch(x: Array) -> Slices:
    """Different data in each slice, ties and NaN at different places."""
    return Slices(np.stack([x, np.flip(x), np.roll(x, 1)]))


def check_batched(f: Any, *arrays: Any, lifted: Any = None) -> None:
    """f in batches: the backend asserts. ``lifted`` is f with the arrays that it holds in batches too."""
    if isinstance(outcome(lambda: f(*arrays)), str):
        return
    with registered(Vectorized()), np.errstate(all="ignore"):
        (lifted or f)(*map(batch, arrays))


@examples(200)
@given(cases(REALS), st.sampled_from(sorted(POOLS)))
def test_a_batch_axis_more(case: Case, name: str) -> None:
    check_batched(lambda x: POOLS[name](x, **case.arguments), case.x)


@examples(100)
@given(cases(REALS), st.sampled_from(sorted(WITH_INDICES)))
def test_indices_with_a_batch_axis_more(case: Case, name: str) -> None:
    check_batched(lambda x: WITH_INDICES[name](x, **case.arguments), case.x)


@examples(200)
@given(cases(FLOATS), st.sampled_from(DIFFERENTIABLE), st.sampled_from(MODES[1:]))
def test_derivatives_with_a_batch_axis_more(case: Case, name: str, mode: str) -> None:
    f = derivative(case, name, mode)
    if f is not None:
        check_batched(f, case.x, lifted=derivative(case, name, mode, batch))


X, W, BIAS = ((np.arange(n) % 7 - 3.0).reshape(s) for n, s in ((96, (2, 6, 4, 2)), (36, (3, 3, 2, 2)), (2, (2,))))


def of_x(**options: Any) -> Any:
    return lambda x: cn.conv(x, W, bias=BIAS, padding=1, **options)


CONVOLUTIONS: dict[str, tuple[Any, Array]] = {
    "data": (of_x(stride=2), X),
    "filter": (lambda w: cn.conv(X, w, padding="same", bias=BIAS), W),
    "bias": (lambda b: cn.conv(X, W, bias=b), BIAS),
    "transposed": (lambda y: cn.conv_transpose(y, W, stride=2, bias=BIAS), X),
    "correlate": (lambda x: cn.correlate(x, W[:, :, 0, 0], axes=(1, 2), mode="same"), X),
    "convolve, filter": (lambda k: cn.convolve(X[0, :, :, 0], k), W[:, :, 0, 0]),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_with_a_batch_axis_more(name: str, mode: str) -> None:
    f, x = CONVOLUTIONS[name]
    check_batched(f, x, lifted=of_mode(f, mode, batch(f(x)), batch(x)))


def test_unpooling_with_a_batch_axis_more() -> None:
    y, where = cn.max_pool(np.arange(24.0).reshape(2, 3, 4), (2, 2), return_indices=True)

    def f(y: Any) -> Any:
        return cn.max_unpool(y, where, (2, 2))

    for mode in MODES:
        check_batched(f, y, lifted=of_mode(f, mode, batch(f(y)), batch(y)))


def ops_of(f: Any) -> list[Op]:
    """The Ops that a call binds."""
    ops: list[Op] = []
    with registered(Vectorized()) as backend:
        original: Any = backend.bind

        def bind(op: Op, *operands: Any) -> tuple[Any, ...]:
            ops.append(op)
            outputs: tuple[Any, ...] = original(op, *operands)
            return outputs

        backend.bind = bind
        f()
    return ops


def test_shared_filters_are_not_repeated() -> None:
    """Data in batches and one filter: a convolution with one more batch axis."""
    (op,) = ops_of(lambda: cn.conv(batch(X), W, padding=1))
    batched, needed = op.batched(5, (True, False))
    assert batched.name == "contract"
    assert needed == (True, False)
    assert batched.infer()[0].shape == (5, *cn.conv(X, W, padding=1).shape)


@pytest.mark.parametrize(
    "text",
    [
        "", "1", "null", "[]", '["op"]', '["op","no such op"]', '["op","crop",1,2,3,4]', '["ufunc","load"]',
        '["axis",0,4,2,2,0,1,0,0,null,null,null]', '["axis",0,-4,2,2,2,1,0,0,null,null,null]',
        '["geometry",["tuple",4],["tuple",["axis",0,5,2,2,2,1,0,0,null,null,null]]]',
        '["geometry",["tuple",4],["tuple",["axis",0,4,1,2,1,1,0,0,["tuple",3],["tuple",2],null]]]',
    ],
)  # fmt: skip
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError), match=r"cenote wrote|not a possible|no ufunc"):
        loads(text)


@pytest.mark.parametrize("sizes", [(50, 2, 2**62, 1), (50, 4, 2, 2**62), (50, 2**62, 2, 1)])
def test_an_axis_whose_coordinates_overflow_is_refused(sizes: tuple[int, ...]) -> None:
    o, k, s, d = sizes
    with pytest.raises(ValueError, match="not a possible axis"):
        loads(f'["axis",0,100,{o},{k},{s},{d},0,0,null,null,null]')


def test_python_functions_have_no_text() -> None:
    (op,) = ops_of(lambda: cn.pool(batch(X), (2,), 0.0, lambda a, b: a + b))
    with pytest.raises(TypeError, match="NumPy ufunc"):
        dumps(op)
