"""Sizes that are not known yet: the sizes of results as formulas of the sizes of operands.

A formula is found from the sizes that the operation itself gives for some sizes of its operands: a size of a result is
a constant, or that of an operand, or (p·n + c) // q of one of them. So an operation needs nothing of its own to be
compiled with dynamic shapes. Where no formula is found, the caller uses the sizes at hand instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...arguments.errors import BadType, BadValue

Size: TypeAlias = Any  # an int, or a SymInt of torch's
Shapes: TypeAlias = tuple[tuple[int, ...], ...]
STEPS = (31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)  # how far symbols are moved: all different
MOST = 4096  # sizes that are tried to find one formula


class NoFormula(Exception):
    """The size of a result is no function of the kind above."""


class Formula(NamedTuple):
    """(p·n + c) // q with n the size that ``symbol`` has; without a symbol just c."""

    symbol: int | None
    p: int
    c: int
    q: int

    def of(self, sizes: Sequence[Size]) -> Size:
        if self.symbol is None:
            return self.c
        n = sizes[self.symbol]
        n = n if self.p == 1 else n * self.p
        n = n + self.c if self.c else n
        return n if self.q == 1 else n // self.q


class Pattern(NamedTuple):
    """Shapes of which some sizes are symbols: a size is an int, or the index of a symbol in a list of one."""

    shapes: tuple[tuple[int | tuple[int], ...], ...]
    hints: tuple[int, ...]  # the sizes of the symbols at hand

    def at(self, sizes: Sequence[Size]) -> tuple[tuple[Size, ...], ...]:
        return tuple(tuple(sizes[n[0]] if isinstance(n, tuple) else n for n in shape) for shape in self.shapes)

    @property
    def probes(self) -> list[tuple[int, ...]]:
        """Sizes of the symbols at which results are looked at: the ones at hand, and two others, all different."""
        if len(self.hints) > len(STEPS):
            raise NoFormula
        return [tuple(n + j * step for n, step in zip(self.hints, STEPS, strict=False)) for j in range(3)]


def pattern_of(shapes: Sequence[Sequence[Size]]) -> tuple[Pattern, list[Size]]:
    """The pattern of shapes, and the sizes that its symbols stand for."""
    known: dict[str, int] = {}
    sizes: list[Size] = []
    out = []
    for shape in shapes:
        entries: list[int | tuple[int]] = []
        for n in shape:
            if isinstance(n, int):
                entries.append(n)
                continue
            name = str(n.node.expr)
            if name not in known:
                known[name] = len(sizes)
                sizes.append(n)
            entries.append((known[name],))
        out.append(tuple(entries))
    hints = tuple(64 if n.node.hint is None else int(n.node.hint) for n in sizes)
    return Pattern(tuple(out), hints), sizes


def formulas(pattern: Pattern, results: Callable[[Shapes], Shapes]) -> tuple[tuple[Formula, ...], ...]:
    """The sizes of results, whose shapes are ``results`` of shapes of the operands, as formulas of the symbols."""

    def at(sizes: tuple[int, ...]) -> Shapes:
        try:
            return results(pattern.at(sizes))
        except (BadType, BadValue, ValueError):
            raise NoFormula from None

    seen = [at(sizes) for sizes in pattern.probes]
    out = []
    for i, shape in enumerate(seen[0]):
        found = []
        for j in range(len(shape)):
            values = tuple(shapes[i][j] for shapes in seen)
            found.append(constant_or_symbol(pattern, values) or fit(pattern, lambda n, i=i, j=j: at(n)[i][j]))  # type: ignore[misc]
        out.append(tuple(found))
    return tuple(out)


def constant_or_symbol(pattern: Pattern, values: tuple[int, ...]) -> Formula | None:
    if len(set(values)) == 1:
        return Formula(None, 0, values[0], 1)
    for symbol in range(len(pattern.hints)):
        if values == tuple(sizes[symbol] for sizes in pattern.probes):
            return Formula(symbol, 1, 0, 1)
    return None


def fit(pattern: Pattern, size: Callable[[tuple[int, ...]], int]) -> Formula:
    """The formula of a size that depends on one symbol."""
    base = pattern.probes[1]

    def moved(symbol: int, by: int) -> tuple[int, ...]:
        return tuple(n + by if k == symbol else n for k, n in enumerate(base))

    here = size(base)
    far = [k for k in range(len(base)) if size(moved(k, MOST)) != here]
    if len(far) != 1:
        raise NoFormula
    (symbol,) = far
    if size(moved(symbol, 1)) - here == size(moved(symbol, 2)) - size(moved(symbol, 1)) != 0:
        p = size(moved(symbol, 1)) - here
        formula = Formula(symbol, p, here - p * base[symbol], 1)
    else:
        steps = []  # where it grows by one
        for by in range(1, MOST):
            if size(moved(symbol, by)) != size(moved(symbol, by - 1)):
                steps.append(by)
                if len(steps) == 2:
                    break
        else:
            raise NoFormula
        q = steps[1] - steps[0]
        first = moved(symbol, steps[0])
        formula = Formula(symbol, 1, q * size(first) - first[symbol], q)
    for sizes in (*pattern.probes, moved(symbol, MOST), moved(symbol, MOST + 1)):
        if formula.of(sizes) != size(sizes):
            raise NoFormula
    return formula
