"""Formulas with numbers, as lists of terms: a text, what it is, and the cell it stands for.

They say what ``explanation/formula.py`` says in a line of text, in parts that the page can mark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ..explanation.calls import Call, function_name
from ..explanation.formula import factor, result, short
from ..explanation.windows import Element, Index, Window

MOST_TERMS = 60  # of one formula: more are counted

Term = list[Any]  # text, kind, cell: ["5", "chosen", 17], or [" + "]


class Formulas:
    """The formulas of one call."""

    def __init__(self, call: Call, cell: Callable[[Index], int]) -> None:
        self.call, self.op, self.arguments, self.cell = call, call.op, call.arguments, cell

    def of(self, window: Window) -> list[Term]:
        """``max(3, 5, 1) = 5``, or ``250 + 10 = 260, which wraps around to 4``"""
        op = self.op
        if op.startswith("conv"):
            terms = self.products(window)
        elif op.endswith(("avg_pool", "sum_pool")):
            terms = self.added(window)
        elif op == "lp_pool":
            terms = self.norm(window)
        elif op == "smooth_max_pool":
            terms = self.smooth(window)
        elif op == "pool":
            name = function_name(self.arguments["reduce_fn"])
            terms = [
                [f"{name} from {short(self.arguments['init'])} over "],
                *self.joined(window, window.elements, ", "),
            ]
        else:
            terms = self.selected(window)
        return [*terms, [" = "], [result(self.call, window), "result"]]

    def joined(self, window: Window, elements: Iterable[Element], sign: str, write: Any = short) -> list[Term]:
        """The elements of a window, with a sign between them."""
        shown = list(elements)
        out: list[Term] = []
        for i, element in enumerate(shown[:MOST_TERMS]):
            if i:
                out.append([sign])
            out.append([write(element.value), self.mark(window, element), self.cell(element.index)])
        if len(shown) > MOST_TERMS:
            out.append([f"{sign}… ({len(shown) - MOST_TERMS} more)"])
        return out or [["nothing"]]

    def mark(self, window: Window, element: Element) -> str:
        index = element.index
        if index in window.omitted:
            return "omitted"
        if index == window.chosen:
            return "chosen"
        if index in window.selected:
            return "selected"
        return "padding" if element in window.padding else ""

    def selected(self, window: Window) -> list[Term]:
        name = {"median_pool": "median", "mode_pool": "most frequent"}.get(self.op)
        if name is None:
            name = "min" if "min" in self.op else "max"
        elements = list(window.elements)
        if self.op != "mode_pool" and self.op != "median_pool":
            return [[f"{name}("], *self.joined(window, elements, ", "), [")"]]
        rest = [e for e in elements if e.index in window.omitted or e.value != e.value]
        values = sorted((e for e in elements if e not in rest), key=lambda e: float(e.value or 0))  # type: ignore[arg-type]
        return [[f"{name}("], *self.joined(window, [*values, *rest], ", "), [")"]]

    def added(self, window: Window) -> list[Term]:
        counted = self.arguments.get("count_include_pad", True) and self.arguments.get("divisor") is None
        padding = window.padding if counted and window.divisor is not None else ()
        terms = self.joined(window, [*window.elements, *padding], " + ", factor)
        if window.divisor is None:
            return terms
        return [["("], *terms, [") / "], [short(window.divisor), "divisor"]]

    def norm(self, window: Window) -> list[Term]:
        p = self.arguments["p"]
        if p == math.inf:
            return [["max("], *self.joined(window, window.elements, ", ", lambda v: f"|{short(v)}|"), [")"]]
        if p == 1:
            return self.joined(window, window.elements, " + ", lambda v: f"|{short(v)}|")
        terms = self.joined(window, window.elements, " + ", lambda v: f"|{short(v)}|^{short(p)}")
        return [["("], *terms, [f")^(1/{short(p)})"]]

    def smooth(self, window: Window) -> list[Term]:
        beta = self.arguments["beta"]
        padding = () if self.arguments["pad_value"] is None else window.padding
        write = short if beta == 1 else lambda v: f"{short(beta)}·{factor(v)}"
        terms = self.joined(window, [*window.elements, *padding], " + ", lambda v: f"exp({write(v)})")
        return [["log(" if beta == 1 else f"1/{factor(beta)} · log("], *terms, [")"]]

    def products(self, window: Window) -> list[Term]:
        terms: list[Term] = []
        shown = window.elements[:MOST_TERMS]
        for i, element in enumerate(shown):
            terms += [[" + "]] if i else []
            terms += [[f"{factor(element.value)}·{factor(element.weight)}", "", self.cell(element.index)]]
        if len(window.elements) > len(shown):
            terms.append([f" + … ({len(window.elements) - len(shown)} more)"])
        if not terms:
            terms.append(["0"])
        return terms if window.bias is None else [*terms, [" + "], [factor(window.bias), "bias"]]
