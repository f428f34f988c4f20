"""JAX on several devices, exported programs, and the oldest jaxlib: in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from jax_process import run
from jax_programs import FUNCTIONS, QUICK


def test_shard_map() -> None:
    assert run("jax_devices.py", "sharded") == f"sharded: {len(FUNCTIONS)}\n"


def test_sharding_in_types() -> None:
    assert run("jax_devices.py", "explicit", *QUICK) == f"explicit: {len(QUICK)}\n"


def test_exported_programs() -> None:
    assert run("jax_devices.py", "exported") == f"exported: {len(FUNCTIONS)}\n"


def test_calls_of_xla() -> None:
    assert run("jax_calls.py").endswith(": good\n")


# ------------------------------------------------------------------------------------------------- the oldest jaxlib


def test_the_oldest_jaxlib_calls_cenote() -> None:
    assert run("jax_calls.py", oldest=True) == "calls of 0.4.38: good\n"


def test_every_transformation_with_the_oldest_jaxlib() -> None:
    assert run("jax_programs.py", oldest=True) == f"0.4.38: {len(FUNCTIONS)}\n"


def test_several_devices_and_export_with_the_oldest_jaxlib() -> None:
    number = len(QUICK)
    assert run("jax_devices.py", "sharded,exported", *QUICK, oldest=True) == f"sharded: {number}\nexported: {number}\n"


# -------------------------------------------------------------------------------------------- in another process

WRITE = """
import sys, jax, jax.numpy as jnp, numpy as np, cenote as cn, cenote.jax
f = jax.jit(jax.value_and_grad(lambda x: cn.max_pool(x, (2,)).sum()))
allowed = [jax.export.DisabledSafetyCheck.custom_call(cenote.jax.TARGET)]
data = jax.export.export(f, disabled_checks=allowed)(jax.ShapeDtypeStruct((6,), np.float32)).serialize()
open(sys.argv[1], "wb").write(data)
"""
READ = """
import sys, jax, jax.numpy as jnp
import cenote.jax
program = jax.export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
value, gradient = program.call(jnp.array([1.0, 0.0, 2.0, 3.0, 5.0, 4.0]))
print(value, gradient)
"""


def python(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)


def test_an_exported_program_runs_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "program"
    assert python(WRITE, path).stderr == ""
    read = python(READ, path)
    assert read.stdout == "9.0 [1. 0. 0. 1. 1. 0.]\n", read.stderr
    without = python(READ.replace("import cenote.jax", ""), path)
    assert without.returncode != 0
    assert "cenote_op" in without.stderr
