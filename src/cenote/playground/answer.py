"""What the page shows for a state: computed by the function itself, its geometry and its derivative."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..autodiff.transforms import vjp
from ..dtypes import has_nan
from ..explanation.calls import Call, with_derivative
from ..explanation.equivalents import equivalents, own_call
from ..explanation.explanation import Explanation, array_as_json
from ..explanation.faults import role
from ..explanation.formula import factor, place, remarks, short
from ..explanation.limits import MOST_CELLS
from ..explanation.rounding import number
from ..explanation.windows import Window, misfit, plain
from .formulas import Formulas, Term
from .grids import Grid, input_grid, plain_grid
from .parsing import edited, ints
from .state import Request, parse_state


@np.errstate(all="ignore")  # NaN and infinity are numbers to look at, no news for the terminal
def answer(state: object) -> dict[str, Any]:
    """Everything about the call that ``state`` describes, for ``json.dumps``."""
    request = parse_state(state)
    explanation = request.explain()
    call = explanation._call
    grid = input_grid(call)
    if explanation.problem is not None and math.prod(grid.extended) > MOST_CELLS:
        raise ValueError(explanation.problem)  # by too much to be drawn
    out: dict[str, Any] = {
        "op": request.op,
        "text": [line for line in explanation.text.splitlines()[1:] if line != f"does not work: {explanation.problem}"],
        "problem": explanation.problem,
        "call": own_call(call),
        "x": shown(request.x),
        "w": shown(request.w),
        "b": shown(request.bias),
        "y": shown(explanation.y),
        "grids": {"x": grid.as_json()},
        "code": equivalents(call, cotangent_of(request, explanation)),
        "windows": [],
        "misfit": [],
        "gradient": None,
    }
    if request.w is not None:
        out["grids"]["w"] = filter_grid(request).as_json()
    if request.bias is not None:
        out["grids"]["b"] = plain_grid("b", request.bias.shape, [0]).as_json()
    if explanation.y is not None:
        outputs = plain_grid("y", explanation.y.shape, [axis.position for axis in call.axes])
        out["grids"]["y"] = outputs.as_json()
        out["windows"] = windows(request, explanation, grid)
        out["gradient"] = gradient(request, explanation, grid, outputs) if request.gradient else None
    else:
        out["misfit"] = marks_of_misfit(request, call, grid)
    return out


def marks_of_misfit(request: Request, call: Call, grid: Grid) -> list[list[Any]]:
    """What does not fit: arrays, cells and marks."""
    if call.fault is None or call.fault.subject == "window":
        first = misfit(call)
        return [["x", grid.cell(e.index), "seen"] for e in (*first.elements, *first.padding, *first.overhang)]
    out = []
    for name, cells in (("x", grid), ("w", filter_grid(request))):
        for at in np.ndindex(cells.extended):
            index = tuple(i - first for i, first in zip(at, cells.origin, strict=True))
            found = role(call, name, index)
            if found is not None:
                out.append([name, cells.cell(index), "omitted" if found == "hang" else "seen"])
    return out


def shown(array: Array | None) -> dict[str, Any] | None:
    """An array for the page, whose numbers are doubles: integers that no double holds are texts."""
    out = array_as_json(array)
    if out is not None:
        out["values"] = [str(v) if isinstance(v, int) and abs(v) > 2**53 else v for v in out["values"]]
    return out


def cotangent_of(request: Request, explanation: Explanation) -> Array | None:
    """What is pulled back in the gradient view."""
    if not request.gradient or explanation.y is None or explanation.gradient is None:
        return None
    return edited("g", np.ones(explanation.y.shape), request.cotangent)


def filter_grid(request: Request) -> Grid:
    shape = () if request.w is None else request.w.shape
    first = request.given.get("layout") == "channels_first"
    return plain_grid("w", shape, range(2, len(shape)) if first else range(len(shape) - 2))


def windows(request: Request, explanation: Explanation, grid: Grid) -> list[dict[str, Any]]:
    call = explanation._call
    formulas = Formulas(call, grid.cell)
    filters = filter_grid(request)
    out = []
    for window in explanation.windows:
        seen = (*window.elements, *window.padding, *window.overhang)
        out.append({
            "index": list(window.index),
            "cells": [grid.cell(element.index) for element in seen],
            "taps": sorted({filters.cell(element.tap) for element in seen if element.tap is not None}),
            "chosen": None if window.chosen is None else grid.cell(window.chosen),
            "selected": [grid.cell(i) for i in window.selected],
            "omitted": [grid.cell(i) for i in window.omitted],
            "formula": formulas.of(window),
            "remarks": [text for text in remarks(call, window) if not text.startswith("percentages")],
        })  # fmt: skip
    return out


# ---------------------------------------------------------------------------------------------------- gradient


def gradient(request: Request, explanation: Explanation, grid: Grid, outputs: Grid) -> dict[str, Any]:
    """Where a cotangent lands: the VJP of the call, and what each output and each element has to do with it."""
    call = explanation._call
    if call.y is None:
        return {"problem": "the window does not fit"}
    if any(window.gradient is None for window in explanation.windows):
        return {"problem": f"{request.op} has no derivative"}
    g = edited("g", np.ones(call.y.shape), request.cotangent)
    pulled = pull(call, request, g)
    names = ("dx", "dw", "db")
    out: dict[str, Any] = {name: array_as_json(value) for name, value in zip(names, pulled, strict=False)}
    lands: dict[int, list[Term]] = {}
    flows = [flow(window, number(g[window.index]), grid, outputs, lands) for window in explanation.windows]
    dx = pulled[0]
    sums = {}
    for index in np.ndindex(dx.shape):
        cell = grid.cell(index)
        terms = lands.get(cell, [["no window takes its derivative there"]])
        sums[cell] = [*terms, [" = "], [short(number(dx[index])), "result"]]
    return {"problem": None, "g": array_as_json(g), **out, "flows": flows, "sums": sums}


def pull(call: Call, request: Request, g: Array) -> tuple[Array, ...]:
    primals = [with_derivative(request.x)]
    floats = {} if "dtype" not in call.arguments or (call.y is not None and has_nan(call.y.dtype)) else {"dtype": None}
    if request.w is None:
        y, back = vjp(lambda x: call.compute(x, **floats), *primals)
    else:
        rest = {name: value for name, value in call.arguments.items() if name != "bias"} | floats
        primals += [with_derivative(a) for a in (request.w, request.bias) if a is not None]
        y, back = vjp(lambda x, w, bias=None: call.function(x, w, bias=bias, **rest), *primals)
    return tuple(np.asarray(part) for part in back(g.astype(np.asarray(y).dtype)))


def flow(window: Window, g: Any, grid: Grid, outputs: Grid, lands: dict[int, list[Term]]) -> dict[str, Any]:
    """What one element of the cotangent gives to each element of x."""
    terms: list[Term] = []
    parts = []
    for element in window.elements:
        if not element.gradient:
            continue
        cell, given = grid.cell(element.index), element.gradient * g
        parts.append([cell, plain(number(given))])
        product = f"{factor(element.gradient)}·{factor(g)}"
        terms += [[", "]] if terms else []
        terms += [[f"{place('dx', element.index)} gets {product} = {short(number(given))}", "", cell]]
        seen = lands.setdefault(cell, [])
        seen += [[" + "]] if seen else []
        seen += [[product, "output", outputs.cell(window.index)]]
    return {"parts": parts, "formula": terms or [["no element has a derivative"]]}


def svg(state: object) -> str:
    """The picture of the call, as :func:`cenote.explain` draws it; of the window that is pinned, if one is."""
    pin = state.pop("pin", "") if isinstance(state, dict) else ""
    request = parse_state(state)
    window: Any = 0
    if isinstance(pin, str) and pin.startswith("y."):
        window = ints("pin", pin[2:].replace(".", ","))
    explanation = request.explain()
    return explanation.svg(window, "gradient" if request.gradient and explanation.gradient is not None else "values")
