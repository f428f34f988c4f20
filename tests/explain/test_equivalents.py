"""The programs that the playground offers: run, they give what cenote gives; where there is none, it says why."""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cenote.dialects import nabla
from cenote.explanation.equivalents import equivalents
from cenote.playground.answer import answer
from cenote.playground.state import Request, parse_state
from flax_programs import run_all
from playground_states import CHOSEN, State, random_states

LIBRARIES = ("torch", "flax", "nabla", "mygrad")


def asked(state: State) -> tuple[Request, Any, dict[str, dict[str, Any]]]:
    request = parse_state(state)
    return request, request.explain().y, {p["library"]: p for p in answer(state)["code"]}


@functools.cache
def all_asked() -> list[tuple[State, Request, Any, dict[str, dict[str, Any]]]]:
    return [(state, *asked(state)) for state in [*CHOSEN, *random_states(120)]]


def programs_of(library: str) -> list[tuple[State, Request, Any, str]]:
    found = [(s, r, y, programs[library]["code"]) for s, r, y, programs in all_asked()]
    return [(s, r, y, code) for s, r, y, code in found if code is not None]


def check_same(state: State, y: Any, expected: Any) -> None:
    tolerance = 1e-5 if "float32" in state.values() else 1e-9
    assert np.shape(y) == np.shape(expected), state
    np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance, err_msg=str(state))


def run(code: str) -> Any:
    names: dict[str, Any] = {}
    exec(code, names)
    return names["y"]


def test_cenote_itself() -> None:
    for state, _, y, programs in all_asked():
        code = programs["cenote"]["code"]
        if y is None:
            with pytest.raises(ValueError, match="does not fit"):
                run(code)
        else:
            check_same(state, run(code), y)


def test_numbers_are_written_to_the_last_digit() -> None:
    state = {"x": "0.0:0.12345678901234567;1.1:-1e-300;2.2:-inf;3.3:nan", "shape": "5,5"}
    for dtype in ("float64", "float32"):
        request = parse_state({**state, "dtype": dtype})
        names: dict[str, Any] = {}
        with np.printoptions(precision=2, suppress=True, nanstr="none", formatter={"float": lambda v: "0"}):
            exec(asked({**state, "dtype": dtype})[2]["cenote"]["code"], names)
        assert names["x"].dtype == request.x.dtype
        assert names["x"].tobytes() == request.x.tobytes()


def code_of(call: Any, library: str = "cenote") -> Any:
    return {p["library"]: p for p in equivalents(call._call)}[library]


def test_calls_beyond_the_form() -> None:
    """What the playground cannot ask for, and ``explain`` can."""
    large = code_of(cn.explain("max_pool", (100, 100), [3, np.int64(3)], stride=np.array([2, 1])))["code"]
    assert "# x: your array of shape (100, 100), float64\n" in large
    assert large.endswith("y = cn.max_pool(x, (3, 3), stride=np.array([2, 1]))\n")
    own = code_of(cn.explain("pool", (4,), (2,), init=0.0, reduce_fn=lambda a, b: a + b))["code"]
    assert own.endswith("# reduce_fn: your function\ny = cn.pool(x, (2,), 0.0, reduce_fn)\n")
    narrow = cn.explain("sum_pool", np.arange(4, dtype=np.uint8), (2,), dtype=np.int16)
    assert narrow.y is not None
    assert np.array_equal(run(code_of(narrow)["code"]), narrow.y)
    assert code_of(narrow, "torch")["note"] == "torch has nothing like dtype="
    complex_call = cn.explain("sum_pool", np.array([1 + 2j, complex(np.inf, np.nan), 3]), (2,), stride=1)
    np.testing.assert_array_equal(run(code_of(complex_call)["code"]), complex_call.y)
    assert code_of(complex_call, "flax")["note"] == "flax has other rules for complex128"
    flags = cn.explain("max_pool", np.array([True, False, False, True]), (2,))
    assert flags.y is not None
    assert np.array_equal(run(code_of(flags)["code"]), flags.y)


@pytest.mark.parametrize(
    ("op", "arguments", "options"),
    [
        ("max_pool", [range(1, 3)], {}),
        ("max_pool", [2], {"axes": range(2)}),
        ("pool", [(2, 2), np.array(0.0), np.add], {}),
        ("max_pool", [np.array([2, 2])], {"stride": np.array([1, 1]), "padding": [[1, 0], [0, 1]]}),
        ("lp_pool", [(2, 2)], {"p": np.float32(3)}),
    ],
)
def test_arguments_in_every_form(op: str, arguments: list[Any], options: dict[str, Any]) -> None:
    x = np.arange(16.0).reshape(4, 4)
    e = cn.explain(op, x, *arguments, **options)
    assert "To change a number" in e.html()
    np.testing.assert_array_equal(run(code_of(e)["code"]), getattr(cn, op)(x, *arguments, **options))


def add(a: Any, b: Any) -> Any:
    return 2 * a + b


class Weighted:
    def __call__(self, a: Any, b: Any) -> Any:
        return 2 * a + b


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (add, "add"),
        (cn.reducer(add, lambda a, b: (2, 1)), "add"),
        (functools.partial(add), "partial"),
        (Weighted(), "Weighted"),
        (np.frompyfunc(add, 2, 1), "add (vectorized)"),
    ],
)
def test_functions_of_the_user(function: Any, name: str) -> None:
    """By their names, but not taken for NumPy's of that name; without an address in memory."""
    e = cn.explain("pool", np.array([1.0, 2, 3, 4]), (2,), 0, function)
    assert e.text.startswith(f"pool((4,), window=(2,), init=0, reduce_fn={name})\n")
    assert f"y[0] = {name} of 0, 1, 2, one after the other = 4" in e.svg()
    assert code_of(e)["code"].endswith("# reduce_fn: your function\ny = cn.pool(x, (2,), 0, reduce_fn)\n")
    assert code_of(e, "flax")["note"] == f"jax.lax has no function like {name} for windows"
    assert name in e.html()


def test_the_gradient_is_part_of_the_program() -> None:
    state = {"op": "conv", "bias": "1", "view": "gradient", "g": "1.1.0:-2", "stride": "2"}
    names: dict[str, Any] = {}
    exec(asked(state)[2]["cenote"]["code"], names)
    assert names["g"][1, 1, 0] == -2
    assert names["dbias"].tolist() == [1.0]
    assert names["dx"].shape == names["x"].shape
    exec(asked({"view": "gradient"})[2]["cenote"]["code"], names)
    assert names["dx"].sum() == 4


def test_torch() -> None:
    found = programs_of("torch")
    assert len(found) > 90
    for state, _, y, code in found:
        check_same(state, run(code), y)


def test_torch_derivatives() -> None:
    """The same also means the same derivative."""
    import torch

    checked = set()
    for state, request, y, code in programs_of("torch"):
        if not np.isfinite(request.x).all() or request.x.dtype != np.float64:
            continue
        if request.op == "lp_pool":  # at 0 a norm has none, and torch and cenote choose differently
            state = {**state, "fill": "ones"}
            request, y, programs = asked(state)
            code = programs["torch"]["code"]
        x = torch.tensor(request.x, requires_grad=True)
        names: dict[str, Any] = {"X": x}
        exec(code.replace("torch.from_numpy(x)", "X").replace(".numpy()\n", "\n"), names)
        g = np.random.default_rng(1).normal(size=y.shape)
        names["y"].backward(torch.tensor(g))
        call = request.explain()._call
        expected = cn.vjp(lambda t, call=call: call.compute(t), request.x)[1](g)[0]
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-9, atol=1e-9, err_msg=str(state))
        checked.add(request.op)
    assert len(checked) >= 10


def test_flax() -> None:
    found = programs_of("flax")
    assert len(found) > 60
    for (state, _, y, _), result in zip(found, run_all([code for *_, code in found]), strict=True):
        check_same(state, result, y)


def test_mygrad() -> None:
    found = programs_of("mygrad")
    assert len(found) > 15
    for state, _, y, code in found:
        check_same(state, run(code), y)


class Shim(np.ndarray[Any, Any]):
    """What nabla's Tensor has, as far as the programs use it: nabla itself cannot be installed here."""

    @staticmethod
    def from_dlpack(array: Any) -> Any:
        assert array.flags.c_contiguous or array.ndim < 2 or array.flags.owndata
        return array

    def to_numpy(self) -> Any:
        return np.asarray(self)


def test_nabla_by_its_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("nabla")
    module.Tensor = Shim
    for name in ("max_pool2d", "avg_pool2d", "conv2d", "conv2d_transpose"):
        function = getattr(nabla, name)
        setattr(module, name, lambda *a, _f=function, **k: np.asarray(_f(*a, **k)).view(Shim))
    monkeypatch.setitem(sys.modules, "nabla", module)
    found = programs_of("nabla")
    assert len(found) > 20
    for state, _, y, code in found:
        for word in ("dilation", "groups", "output_padding"):
            assert word not in code  # which the dialect has, and nabla has not
        check_same(state, run(code), y)


REASONS = [
    ("torch", {"nan": "omit"}, 'torch has nothing like nan="omit"'),
    ("torch", {"ties": "split"}, "the derivative is not"),
    ("torch", {"op": "avg_pool", "dilation": "2"}, "no dilation"),
    ("torch", {"op": "lp_pool", "ceil_mode": "1"}, "scales windows"),
    ("torch", {"op": "median_pool"}, "no median pooling"),
    ("torch", {"op": "conv_transpose", "padding": "0:1,1:0"}, "same padding at both ends"),
    ("torch", {"window": "1,1,2,2", "shape": "2,2,4,4"}, "1, 2 and 3 axes"),
    ("torch", {"dtype": "int64"}, "other rules for integers"),
    ("flax", {"dilation": "2"}, "no dilation"),
    ("flax", {"shape": "6,6", "stride": "2", "ceil_mode": "1"}, "rounds the output size down"),
    ("flax", {"op": "conv_transpose", "shape": "3,3,2", "filter": "2,2,1,2", "groups": "2"}, "no groups"),
    ("flax", {"op": "pool", "init": "3"}, "fills the padding with init"),
    ("nabla", {"op": "avg_pool", "padding": "1", "count_include_pad": "0"}, "always counts padding"),
    ("nabla", {"window": "3", "shape": "6"}, "over 2 axes, not 1"),
    ("mygrad", {"shape": "6,6", "stride": "2"}, "leave elements over: 1 at the end of axis 0"),
    ("mygrad", {"padding": "1"}, "no padding"),
    ("mygrad", {"op": "avg_pool"}, "no avg_pool"),
    ("torch", {"window": "9,9"}, "the shapes do not fit"),
]  # fmt: skip


@pytest.mark.parametrize(("library", "state", "reason"), REASONS, ids=lambda v: str(v)[:40])
def test_why_there_is_none(library: str, state: State, reason: str) -> None:
    programs = asked(state)[2]
    assert programs[library]["code"] is None
    assert reason in programs[library]["note"]


def test_every_answer_is_a_program_or_a_reason() -> None:
    for state, _, _, programs in all_asked():
        assert list(programs) == ["cenote", *LIBRARIES]
        for program in programs.values():
            assert program["code"] or program["note"], state
