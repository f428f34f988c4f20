"""flax itself, asked from a process of its own.

JAX starts threads, after which this process must not fork any more, as other tests do; and XLA aborts the process for
some of what flax accepts (a window of one element with negative padding).
"""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jax_oracle import ask_script

FUNCTIONS = ("avg_pool", "max_pool", "min_pool", "pool")
# What a reducer is called here and there.
REDUCERS = {"add": "add", "subtract": "sub", "multiply": "mul", "maximum": "max", "minimum": "min"}
IDENTITY = {"max_pool": -np.inf, "min_pool": np.inf}


@dataclass(frozen=True)
class Question:
    """One call, and the directions in which to take its derivatives: none where flax has none, or a wrong one."""

    function: str
    x: Any
    window: tuple[int, ...]
    strides: tuple[int, ...] | None
    padding: Any
    count_include_pad: bool | None = None  # avg_pool only
    reducer: tuple[Any, str] | None = None  # pool only: init and the name of the ufunc
    seed: int | None = None  # of the cotangent; None: no vjp
    dx: Any = None  # the tangent; None: no jvp

    def __str__(self) -> str:
        name = f"{self.function}{'' if self.reducer is None else self.reducer}"
        flag = "" if self.count_include_pad is None else f" {'in' if self.count_include_pad else 'ex'}clude"
        return f"{name} {self.x.dtype}{self.x.shape} {self.window} {self.strides} {self.padding}{flag}"

    def arguments(self, reducers: Any, named: Callable[[str], str]) -> tuple[Any, ...]:
        """All but the array, in the order of the signature."""
        window = (self.window, self.strides, self.padding)
        if self.reducer is not None:
            return (self.reducer[0], getattr(reducers, named(self.reducer[1])), *window)
        return window if self.count_include_pad is None else (*window, self.count_include_pad)


@dataclass(frozen=True)
class Answer:
    y: Any
    vjp: Any = None
    jvp: Any = None


def cotangent(seed: int, shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def ask(questions: Sequence[Question]) -> tuple[list[Answer], dict[str, str]]:
    """The answers, and the signatures of the functions."""
    answers, signatures = ask_script(__file__, questions)
    return answers, signatures


def answer(question: Question) -> Answer:
    jax: Any = importlib.import_module("jax")  # without its types, which take mypy a minute
    nnx: Any = importlib.import_module("flax.nnx")
    lax = jax.lax
    function, x = question.function, question.x
    arguments = question.arguments(lax, REDUCERS.__getitem__)
    batch = x.shape[: x.ndim - len(question.window) - 1]
    rest = x.shape[len(batch) :]
    explicit = not isinstance(question.padding, str)

    def call(x: Any) -> Any:
        if explicit and len(batch) > 1:  # flax fails there: one batch axis for all of them
            y = getattr(nnx, function)(x.reshape(-1, *rest), *arguments)
            return y.reshape(*batch, *y.shape[1:])
        return getattr(nnx, function)(x, *arguments)

    def differentiable(x: Any) -> Any:
        if explicit and function in IDENTITY and any(elements < 0 for pair in question.padding for elements in pair):
            # max and min have no derivative with negative padding there, padding has.
            pads = [(0, 0, 0)] * len(batch) + [(low, high, 0) for low, high in question.padding] + [(0, 0, 0)]
            padded = lax.pad(x, IDENTITY[function], pads)
            return getattr(nnx, function)(padded, question.window, question.strides)
        return call(x)

    def run(x: Any) -> tuple[Any, Any, Any]:
        y = call(x)
        vjp = jvp = None
        if question.seed is not None:
            (vjp,) = jax.vjp(differentiable, x)[1](cotangent(question.seed, y.shape).astype(y.dtype))
        if question.dx is not None:
            jvp = jax.jvp(differentiable, (x,), (question.dx,))[1]
        return y, vjp, jvp

    return Answer(*(None if out is None else np.asarray(out) for out in jax.jit(run)(x)))


def main() -> None:
    questions = pickle.load(sys.stdin.buffer)
    nnx: Any = importlib.import_module("flax.nnx")
    signatures = {name: str(inspect.signature(getattr(nnx, name))) for name in FUNCTIONS}
    pickle.dump(([answer(question) for question in questions], signatures), sys.stdout.buffer)


if __name__ == "__main__":
    # Pickled by the name that the other side knows.
    from flax_oracle import main as known_main

    known_main()
