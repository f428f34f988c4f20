"""How JAX is served: what is compiled, what happens where it cannot be, errors, threads, memory, interrupts."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters import batching

import cenote as cn
import cenote.jax
from cases import same_bits
from cenote.backends import jax as backend
from cenote.backends.jax import handler, start
from cenote.runtime import config
from jax_programs import FUNCTIONS, Expected, expected_of

X = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)


def test_every_function_with_a_derivative_is_in_the_matrix() -> None:
    """Of test_jax_transforms.py: transformations × functions."""
    text = (Path(__file__).parents[1] / "jax_programs.py").read_text(encoding="utf-8")
    written = set(re.findall(r"lambda \w+: cn\.(\w+)\(", text))
    functions = {name for name in cn.__all__ if re.search(r"pool$|^conv|^correlate", name)}
    assert functions - written == {"mode_pool"}, "which has none"


def test_the_table_of_the_documentation_has_the_transformations_of_the_matrix() -> None:
    text = (Path(__file__).parents[2] / "docs" / "jax.md").read_text(encoding="utf-8")
    section = text.partition("## What is supported")[2].partition("\nAnd what is not")[0]
    named = set(re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))))
    tested = set(expected_of(Expected(*FUNCTIONS["avg"])))
    tested |= {"jit", "vjp", "disable_jit"}  # test_jax_derivatives.py
    tested |= {"shard_map", "export"}  # test_jax_devices.py
    assert named == tested | {"cn.vjp", "cn.grad"}  # test_jax_arguments.py


@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_hold_custom_calls_and_no_callbacks(name: str) -> None:
    f, x = FUNCTIONS[name]
    text = jax.jit(jax.value_and_grad(lambda x: f(x).sum())).lower(x.astype(np.float32)).as_text()
    assert "callback" not in text
    assert ("@cenote_op" in text) == (name != "pool reducer"), "a Python function is JAX's to compile"


def test_the_configuration_says_how_jax_is_served(capsys: pytest.CaptureFixture[str]) -> None:
    cn.max_pool(jnp.ones(2), (2,))
    cn.show_config()
    assert f"jaxlib {start.version()}, by a custom call of XLA's\n" in capsys.readouterr().out


# ------------------------------------------------------------------------------------------- an unsupported jaxlib


def works_without_cenote() -> bool:
    return float(jax.jit(jnp.sin)(jnp.float32(1.0))) == pytest.approx(0.841471) and cn.max_pool(X, (2, 2)).shape == (
        3,
        4,
    )


class Refusing:
    """What XLA does with a handler of a version that it does not know."""

    def register_ffi_target(self, *args: Any, **options: Any) -> None:
        raise RuntimeError("INVALID_ARGUMENT: FFI handler registration requires API version 9.9")


def test_a_jaxlib_that_refuses_the_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "started", False)
    monkeypatch.setattr(start, "refusal", None)
    monkeypatch.setattr(start, "ffi", Refusing)
    said = rf"^jaxlib {start.version()} cannot run cenote's operations: it refuses the handler \(RuntimeError: INVALID"
    x = jnp.ones((5, 7, 11))  # of a shape that nothing was compiled for
    for call in (lambda: cn.max_pool(x, (2, 2)), jax.jit(lambda: cn.max_pool(x, (2, 2)))):
        for _ in range(2):
            with pytest.raises(RuntimeError, match=said) as caught:
                call()
            assert str(caught.value).endswith("Outside of jit, np.asarray(x) makes a NumPy array of a JAX array x")
    assert config()["JAX"] == str(caught.value)
    assert works_without_cenote()
    with pytest.raises(ImportError, match=said):
        importlib.reload(cenote.jax)
    assert cn.max_pool(np.asarray(x), (2, 2)).shape == (5, 3, 5)


def test_a_jaxlib_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "version", lambda: "0.4.37")
    said = "jaxlib 0.4.37 cannot run cenote's operations: 0.4.38 or newer is needed. "
    for f in (cn.max_pool, jax.jit(cn.max_pool, static_argnums=1)):
        with pytest.raises(TypeError, match=f"^max_pool: {said}"):
            f(jnp.ones((4, 4)), (2, 2))
    assert config()["JAX"].startswith(said)
    assert works_without_cenote()


def test_a_jax_with_another_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "refusal", None)
    monkeypatch.delitem(sys.modules, "cenote.backends.jax.primitive")
    monkeypatch.delattr(backend, "primitive")
    monkeypatch.delattr(batching, "primitive_batchers")
    said = r"cannot run cenote's operations: its Python interface is another one \(AttributeError: .*primitive_batchers"
    with pytest.raises(RuntimeError, match=said):
        cn.max_pool(jnp.ones((4, 4)), (2, 2))
    assert "its Python interface is another one" in config()["JAX"]


@pytest.mark.parametrize(("version", "good"), [("0.4.38", True), ("0.10.2", True), ("1.0", True), ("0.4.9", False)])
def test_versions_are_numbers(version: str, good: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "version", lambda: version)
    assert start.describe().startswith(f"jaxlib {version}, by" if good else f"jaxlib {version} cannot")


# ------------------------------------------------------------------------------------------ errors in the handler


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError("Unable to allocate 3 TiB"), "cenote: not enough memory: Unable to allocate 3 TiB"),
        (ValueError("this is wrong"), "cenote: this is wrong"),
        (RecursionError("too deep"), "cenote: RecursionError: too deep"),
    ],
)
def test_errors_in_compiled_programs_carry_the_message(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise error

    f = jax.jit(lambda x: 2 * cn.correlate(x, jnp.ones(3), mode="valid"))  # through Python every time
    x = jnp.arange(4.0)
    with monkeypatch.context() as patch:
        patch.setattr(handler, "compute", fail)
        with pytest.raises(jax.errors.JaxRuntimeError, match=said):
            jax.block_until_ready(f(x))
    assert f(x).tolist() == [6.0, 12.0]


def test_a_wrong_index_is_a_value_error_outside_of_jit() -> None:
    with pytest.raises(ValueError, match=r"^max_unpool: indices has values from 0 to 99"):
        cn.max_unpool(jnp.ones(2), jnp.array([0, 99]), (2,))


def test_indices_that_need_64_bits() -> None:
    x = jax.ShapeDtypeStruct((2**16, 2**16), np.int8)

    def f(x: Any) -> Any:
        return cn.max_pool(x, (2, 2), return_indices=True)

    with pytest.raises(
        ValueError, match=r"^max_pool: indices up to 4294967295 do not fit into int32: switch 64 bits on"
    ):
        jax.eval_shape(f, x)
    with jax.enable_x64(True):
        assert jax.eval_shape(f, x)[1].dtype == np.int64
    rows = jax.eval_shape(lambda x: cn.max_pool(x, (2,), return_indices=True), x)
    assert rows[1].dtype == np.int32


INTERRUPT = """
import os, signal, threading, time
import jax, jax.numpy as jnp, numpy as np, cenote as cn
from cenote.backends.jax import handler
signal.signal(signal.SIGINT, signal.default_int_handler)
f = jax.jit(lambda x: cn.correlate(x, jnp.ones(3), mode="valid"))  # through Python every time
x = jnp.arange(4.0)
print(f(x))
compute, calls = handler.compute, []
def slow(*args):
    calls.append(threading.current_thread() is threading.main_thread())
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(20):
        time.sleep(0.01)
    compute(*args)
handler.compute = slow
for i in range(3):
    try:
        y = f(x)
        jax.block_until_ready(y)
        time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted", len(calls))
handler.compute = compute
print(f(x))
"""


def test_ctrl_c() -> None:
    """It ends the program after the call, and nothing else is lost."""
    done = subprocess.run([sys.executable, "-c", INTERRUPT], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "[3. 6.]\ninterrupted 1\ninterrupted 2\ninterrupted 3\n[3. 6.]\n", done.stderr


# --------------------------------------------------------------------------------------------- threads and memory


def test_several_threads_call_compiled_programs() -> None:
    """While another one computes on NumPy arrays: one of them has the threads, the others compute on their own."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((8, 128, 128)).astype(np.float32) for _ in range(4)]
    f = jax.jit(jax.value_and_grad(lambda x: (cn.max_pool(x, (3, 3), stride=2) ** 2).sum()))
    smooth = jax.jit(lambda x: cn.smooth_max_pool(x, (2, 2)))  # and its gradient, in Python
    expected = [(f(x), np.asarray(smooth(x))) for x in arrays]
    wrong: list[int] = []

    def run(i: int) -> None:
        for _ in range(15):
            value, gradient = f(arrays[i])
            same = same_bits(np.asarray(gradient), np.asarray(expected[i][0][1])) and value == expected[i][0][0]
            if not same or not same_bits(np.asarray(smooth(arrays[i])), expected[i][1]):
                wrong.append(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(15):
        assert same_bits(cn.smooth_max_pool(arrays[0], (2, 2)), expected[0][1])
    for thread in threads:
        thread.join()
    assert not wrong


def test_branches_of_one_program_compute_at_once() -> None:
    """XLA runs independent calls on threads of its own."""
    arrays = [np.random.default_rng(i).standard_normal((4, 256, 256)).astype(np.float32) for i in range(6)]
    got = jax.jit(lambda xs: [cn.max_pool(x, (5, 5), stride=1) for x in xs])(arrays)
    for mine, x in zip(got, arrays, strict=True):
        assert same_bits(np.asarray(mine), cn.max_pool(x, (5, 5), stride=1))


def test_donated_buffers() -> None:
    """The result has the size of the donated array, and is not written over it while it is read."""
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    f = jax.jit(lambda x: cn.avg_pool(x, (3, 3), stride=1, padding=1), donate_argnums=0)
    expected = cn.avg_pool(x, (3, 3), stride=1, padding=1)
    for _ in range(3):
        donated = jnp.array(x)
        assert same_bits(np.asarray(f(donated)), expected)
        assert donated.is_deleted()


def test_large_arrays() -> None:
    """Results of many pages: the values, and the derivatives, of NumPy arrays."""
    x = np.random.default_rng(0).standard_normal((3, 1024, 1027)).astype(np.float32)

    def f(x: Any) -> Any:
        return cn.max_pool(x, (2, 2), stride=1)

    y, pull = cn.vjp(f, x)
    got = jax.jit(lambda x, g: (lambda y, pull: (y, *pull(g)))(*jax.vjp(f, x)))(x, y)
    for mine, real in zip(got, (y, *pull(y)), strict=True):
        assert same_bits(np.asarray(mine), real)
