"""States of the playground for tests: every operation with every argument, and random ones."""

from __future__ import annotations

import math
import random

from cenote.playground.fields import OPERATIONS
from cenote.playground.state import parse_state

State = dict[str, str]

CHOSEN: list[State] = [
    {"op": "max_pool"},
    {"op": "max_pool", "padding": "1", "stride": "2", "dilation": "2"},
    {"op": "max_pool", "padding": "same", "stride": "2", "window": "2,3", "shape": "2,3,5,6"},
    {"op": "max_pool", "ceil_mode": "1", "stride": "2", "shape": "3,6,6"},
    {"op": "max_pool", "axes": "0,2", "shape": "6,2,6", "x": "1.0.1:nan;0.1.0:inf"},
    {"op": "max_pool", "window": "3", "shape": "6", "ties": "split"},
    {"op": "max_pool", "window": "3", "shape": "2,2,2,6", "nan": "omit", "x": "0.0.0.0:nan"},
    {"op": "max_pool", "window": "2,2,2", "shape": "4,4,4", "padding": "1:0,0:1,0:0"},
    {"op": "max_pool", "window": "1,1,2,2", "shape": "2,2,4,4"},
    {"op": "max_pool", "dtype": "int64", "window": "2,2", "shape": "4,4"},
    {"op": "max_pool", "dtype": "uint8", "x": "0.0:255"},
    {"op": "max_pool", "window": "9,3"},
    {"op": "max_pool", "window": "2", "axes": "0", "shape": "6,3"},
    {"op": "min_pool", "padding": "1"},
    {"op": "min_pool", "padding": "0:2,1:0", "stride": "2"},
    {"op": "avg_pool", "padding": "1", "count_include_pad": "0", "ceil_mode": "1"},
    {"op": "avg_pool", "padding": "0:1,1:0"},
    {"op": "avg_pool", "divisor": "5", "shape": "7", "window": "3", "padding": "1"},
    {"op": "avg_pool", "divisor": "2.5"},
    {"op": "avg_pool", "nan": "omit", "x": "2.2:nan"},
    {"op": "avg_pool", "dilation": "2"},
    {"op": "sum_pool", "stride": "2", "padding": "1"},
    {"op": "sum_pool", "shape": "7", "window": "3", "padding": "2:0", "stride": "1"},
    {"op": "lp_pool", "p": "3", "x": "0.0:-4", "padding": "1"},
    {"op": "lp_pool", "p": "inf", "x": "0.0:-12", "padding": "1", "dilation": "2"},
    {"op": "lp_pool", "p": "2", "dtype": "float32"},
    {"op": "lp_pool", "p": "1.5", "ceil_mode": "1"},
    {"op": "smooth_max_pool", "beta": "-2", "padding": "1"},
    {"op": "smooth_max_pool", "pad_value": "none", "padding": "1"},
    {"op": "median_pool", "window": "2,2"},
    {"op": "mode_pool"},
    {"op": "pool", "reduce_fn": "multiply", "init": "1", "padding": "1"},
    {"op": "pool", "reduce_fn": "maximum", "init": "-inf"},
    {"op": "pool", "reduce_fn": "logaddexp", "init": "0"},
    {"op": "pool", "reduce_fn": "add", "init": "3"},
    {"op": "adaptive_max_pool", "output_size": "3,none"},
    {"op": "adaptive_avg_pool", "output_size": "2", "axes": "1", "shape": "5,7"},
    {"op": "adaptive_max_pool", "output_size": "3,9"},
    {"op": "global_max_pool", "axes": "0"},
    {"op": "global_avg_pool", "axes": "1,2", "shape": "2,4,5,3"},
    {"op": "conv"},
    {"op": "conv", "shape": "2,6,7,4", "filter": "3,2,2,6", "groups": "2", "bias": "1", "stride": "2", "padding": "1"},
    {"op": "conv", "shape": "4,6,7", "filter": "6,4,3,2", "layout": "channels_first", "padding": "0:1,2:0"},
    {"op": "conv", "shape": "7,2", "filter": "3,2,3", "dilation": "2", "padding": "same"},
    {"op": "conv", "shape": "2,2,5,5,2", "filter": "2,2,2,3", "bias": "1", "b": "1:-3", "w": "0.0.0.0:0.5"},
    {"op": "conv", "shape": "4,4,4,1", "filter": "2,2,2,1,2", "stride": "2"},
    {"op": "conv", "dtype": "float32", "stride": "2"},
    {"op": "conv", "dtype": "int64"},
    {"op": "conv", "filter": "7,3,1,1"},
    {"op": "conv_transpose"},
    {"op": "conv_transpose", "padding": "1", "output_padding": "1", "bias": "1"},
    {"op": "conv_transpose", "shape": "2,4,4,4", "filter": "4,3,2,2", "groups": "2", "layout": "channels_first"},
    {"op": "conv_transpose", "shape": "4,2", "filter": "3,1,2", "dilation": "2", "stride": "3", "output_shape": "14"},
    {"op": "conv_transpose", "padding": "0:1,1:0"},
    {"op": "conv_transpose", "padding": "same", "stride": "2"},
]  # fmt: skip


def random_state(rng: random.Random) -> State:
    """A call that may well be wrong."""
    op = rng.choice(list(OPERATIONS))
    rank = rng.choice((1, 1, 2, 2, 2, 3))
    state = {"op": op}

    def sizes(low: int, high: int, number: int = rank) -> str:
        return ",".join(str(rng.randint(low, high)) for _ in range(number))

    def one_of(name: str, *texts: str) -> None:
        state[name] = rng.choice(texts)

    one_of(
        "padding",
        "0",
        "0",
        "1",
        sizes(0, 2),
        ",".join(f"{rng.randint(0, 2)}:{rng.randint(0, 2)}" for _ in range(rank)),
        "same",
    )
    one_of("dilation", "1", "1", "2", sizes(1, 2))
    if op.startswith("conv"):
        groups = rng.choice((1, 1, 2))
        inputs, outputs = rng.randint(1, 2), rng.randint(1, 2)
        first = rng.random() < 0.4
        pair = (inputs, outputs * groups) if op == "conv" else (outputs, inputs * groups)
        kernel, space = sizes(1, 3), sizes(1, 5)
        channels, batch = inputs * groups, sizes(1, 2, rng.randint(0, 2))
        state["shape"] = f"{channels},{space}" if first else f"{space},{channels}"
        state["shape"] = f"{batch},{state['shape']}" if batch else state["shape"]
        state["filter"] = f"{pair[1]},{pair[0]},{kernel}" if first else f"{kernel},{pair[0]},{pair[1]}"
        state |= {"groups": str(groups), "layout": "channels_first" if first else "channels_last"}
        state |= {"stride": rng.choice(("1", "2", sizes(1, 3))), "bias": rng.choice("01")}
        if op == "conv_transpose":
            one_of("output_padding", "0", "0", "1")
        return state
    lead = rng.randint(0, 3)
    state["shape"] = ",".join(filter(None, (sizes(1, 2, lead), sizes(1, 6))))
    known = {field.name for field in OPERATIONS[op].fields}
    ndim = rank + lead
    if rng.random() < 0.3 or op.startswith("global"):
        state["axes"] = ",".join(map(str, rng.sample(range(ndim), rank)))
        state["shape"] = sizes(1, 5, ndim) if ndim < 4 else sizes(1, 3, ndim)
    state |= {"window": sizes(1, 3), "stride": rng.choice(("", "1", "2", sizes(1, 3)))}
    state |= {"ceil_mode": rng.choice("001"), "count_include_pad": rng.choice("011"), "output_size": sizes(1, 4)}
    one_of("divisor", "", "", "3")
    one_of("p", "2", "1", "3", "2.5", "inf")
    one_of("reduce_fn", "add", "multiply", "maximum")
    state["init"] = {"add": "0", "multiply": "1", "maximum": "-inf"}[state["reduce_fn"]]
    if rng.random() < 0.2:
        state["x"] = ".".join("0" * ndim) + ":" + rng.choice(("nan", "inf", "-inf", "-3"))
    return {name: text for name, text in state.items() if name in known or name in ("op", "shape", "x")}


def random_states(number: int, seed: int = 5) -> list[State]:
    """Random calls that are right."""
    rng = random.Random(seed)
    out: list[State] = []
    while len(out) < number:
        state = random_state(rng)
        try:
            explanation = parse_state(state).explain()
        except (ValueError, TypeError):
            continue
        if explanation.y is not None and math.prod(explanation.y.shape):
            out.append(state)
    return out
