"""Pooling inside of JAX programs, cenote vs. XLA: ``python benchmarks/jax_rows.py [--quick] [--page]``.

Each row is a compiled program on JAX arrays, written with flax's pooling functions and with cenote's under the same
names; their results are compared, then they are timed, interleaved. ``--page`` writes the table of docs/jax.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flax.nnx as flax_nnx
import jax
import jax.numpy as jnp
import numpy as np

import cenote as cn
from cenote.dialects.flax import nnx as cenote_nnx
from measure import Others, measure

PAGE = Path(__file__).parents[1] / "docs" / "jax.md"
BEGIN, END = "<!-- jax rows: begin -->", "<!-- jax rows: end -->"
Build = Callable[[Any], Callable[..., Any]]  # from a module with pooling functions to a function of arrays


@dataclass(frozen=True)
class Row:
    name: str
    build: Build
    arrays: tuple[Any, ...]
    goal: float | None = None  # XLA's time over cenote's, at least
    rough: float = 1e-4


@dataclass(frozen=True)
class Result:
    name: str
    mine: float  # ms
    theirs: float
    goal: float | None

    @property
    def ratio(self) -> float:
        return self.theirs / self.mine


def forward(function: str, window: int, stride: int) -> Build:
    return lambda m: lambda x: getattr(m, function)(x, (window,) * 2, (stride,) * 2)


def value_and_gradient(function: str, window: int, stride: int) -> Build:
    def build(m: Any) -> Callable[..., Any]:
        pool = forward(function, window, stride)(m)

        def run(x: Any, g: Any) -> Any:
            y, pull = jax.vjp(pool, x)
            return y, pull(g)[0]

        return run

    return build


def training_step(m: Any) -> Callable[..., Any]:
    """Two convolutions, each with ReLU and a maximum, a linear layer; the gradient of all parameters."""

    def loss(parameters: Any, x: Any) -> Any:
        first, second, last = parameters
        for w in (first, second):
            x = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = m.max_pool(jax.nn.relu(x), (3, 3), (2, 2), "SAME")
        return (jax.nn.logsumexp(x.mean(axis=(1, 2)) @ last, axis=1) ** 2).mean()

    return lambda x, *parameters: jax.value_and_grad(loss)(parameters, x)


def conv(m: Any) -> Callable[..., Any]:
    if m is cenote_nnx:
        return lambda x, w: cn.conv(x, w, padding="same")
    numbers = ("NHWC", "HWIO", "NHWC")
    return lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=numbers)


def rows(quick: bool) -> Iterator[Row]:
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return jnp.asarray(rng.standard_normal(shape), jnp.float32)

    batch, size, channels = (2, 16, 8) if quick else (32, 112, 64)
    x = normal(batch, size, size, channels)
    shape = f"{batch}×{size}×{size}×{channels}"
    for function, window, stride in (("max_pool", 2, 2), ("max_pool", 3, 2), ("avg_pool", 2, 2), ("avg_pool", 3, 2)):
        is_max = function == "max_pool"
        what = f"{function[:3]} {window}×{window}{'' if stride == window else f', stride {stride}'}, {shape}"
        build = forward(function, window, stride)
        g = normal(*jax.eval_shape(build(cenote_nnx), x).shape)
        yield Row(what, build, (x,), 2.0 if is_max else None)
        yield Row(
            f"{what}, with gradient", value_and_gradient(function, window, stride), (x, g), 10.0 if is_max else None
        )
    side = 16 if quick else 64
    images = normal(batch, side, side, 3)
    parameters = (0.2 * normal(3, 3, 3, 32), 0.06 * normal(3, 3, 32, 64), 0.1 * normal(64, 10))
    yield Row(
        f"training step, 2 convolutions with max 3×3, {batch}×{side}×{side}×3", training_step, (images, *parameters)
    )
    yield Row("conv 3×3, 64→64 channels, 8×56×56", conv, (normal(8, 56, 56, 64) / 8, normal(3, 3, 64, 64) / 8))


def compare(row: Row) -> tuple[Any, Any]:
    """The two programs, which compute the same."""
    programs = jax.jit(row.build(cenote_nnx)), jax.jit(row.build(flax_nnx))
    leaves = (jax.tree.leaves(program(*row.arrays)) for program in programs)
    for mine, theirs in zip(*leaves, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=row.rough, atol=row.rough, err_msg=row.name)
    return programs


def run(row: Row, rounds: int, budget: float) -> Result:
    mine, theirs = compare(row)
    best = measure(
        {
            "cenote": lambda: jax.block_until_ready(mine(*row.arrays)),
            "XLA": lambda: jax.block_until_ready(theirs(*row.arrays)),
        },
        rounds,
        budget,
    )
    return Result(row.name, best["cenote"], best["XLA"], row.goal)


def overhead(rounds: int) -> tuple[float, float]:
    """µs of a compiled call on 4×4 data: of pooling, and of an operation of XLA's own."""
    x = jnp.ones((1, 4, 4, 1))
    pool, plus = jax.jit(forward("max_pool", 2, 2)(cenote_nnx)), jax.jit(lambda x: x + 1)
    calls = {"pool": lambda: pool(x).block_until_ready(), "plus": lambda: plus(x).block_until_ready()}
    best = measure(calls, 4 * rounds, 2.0)
    return 1e3 * best["pool"], 1e3 * best["plus"]


def verdict(result: Result) -> str:
    if result.goal is None:
        return "ahead" if result.ratio > 1 else "BEHIND"
    return f"{'met' if result.ratio >= result.goal else 'MISSED'}: at least {result.goal:g}"


def table(results: list[Result], small: tuple[float, float]) -> str:
    lines = ["| work | cenote | XLA |", "|---|---:|---:|"]
    for r in results:
        ratio = f"{r.ratio:.3g}×" if r.ratio >= 1 else f"**{r.ratio:.3g}× (faster)**"
        lines.append(f"| {r.name} | {r.mine:.3g} ms | {ratio} |")
    lines.append(f"| max 2×2 on 4×4 (call overhead), vs. `x + 1` | {small[0]:.3g} µs | {small[1]:.3g} µs |")
    return "\n".join(lines)


def write_page(text: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small arrays: shows that the rows run, not how fast")
    parser.add_argument("--page", action="store_true", help=f"write the table of {PAGE.name}")
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    rounds = 1 if options.quick else options.rounds
    others, start = Others(), time.perf_counter()
    results = []
    for row in rows(options.quick):
        results.append(run(row, rounds, 0.1 if options.quick else 4.0))
        last = results[-1]
        print(f"{last.name:60} {last.mine:9.3f} ms   XLA {last.ratio:6.2f}×   [{verdict(last)}]", flush=True)
    small = overhead(rounds)
    goal = "met" if small[0] - small[1] <= 5 else "MISSED"
    print(f"max 2×2 on 4×4: {small[0]:.2f} µs, x + 1: {small[1]:.2f} µs   [{goal}: at most 5 µs more]")
    share = others.share(time.perf_counter() - start)
    if share is not None and share > 0.1:
        print(f"other processes took {share:.0%} of the CPUs: run it again")
    if options.page:
        write_page(table(results, small))


if __name__ == "__main__":
    main()
