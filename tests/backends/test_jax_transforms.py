"""Every transformation of JAX on every function that has a derivative, with x64 on and off, compiled and eager."""

from __future__ import annotations

import pytest

from jax_programs import FUNCTIONS, QUICK, check

EVERY = [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in FUNCTIONS]


@pytest.mark.parametrize("x64", [True, False])
@pytest.mark.parametrize("name", EVERY)
def test_every_transformation(name: str, x64: bool) -> None:
    check(name, x64)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*QUICK, "unpool"])
def test_every_transformation_eagerly(name: str) -> None:
    check(name, jit=False)
