"""Sizes that are not known yet: the sizes of results as formulas of those of operands, and of those in arguments.

A formula is found from the sizes that the operation itself gives for some sizes of its operands: a size of a result is
a constant, or one of them, or (Σ pᵢ·nᵢ + c) // q, where q may be one of them, too: that of a window which is its own
stride. So an operation needs nothing of its own to be compiled with dynamic shapes. Where no formula is found, the
caller uses the sizes at hand instead.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...arguments.errors import BadType, BadValue

Size: TypeAlias = Any  # an int, or a SymInt of torch's
SizeOf: TypeAlias = Callable[[tuple[int, ...]], int]  # of a result, by the sizes of the symbols
Shapes: TypeAlias = tuple[tuple[int, ...], ...]
STEPS = (31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)  # how far symbols are moved: all different
SMALL_STEPS = (1, 2, 3, 4, 5, 6)  # those of windows and so on, which still fit then
MOST = 4096  # sizes that are tried to find one formula
FEW = (1, 2, 3, 5, 8, 13)  # how far else a symbol is moved to see that a formula holds


class NoFormula(Exception):
    """The size of a result is no function of the kind above."""


class Formula(NamedTuple):
    """(Σ p·n + c) // q, where each n is the size of a symbol, and q may be that of the symbol ``by``."""

    terms: tuple[tuple[int, int], ...]  # symbol and p
    c: int
    q: int = 1
    by: int | None = None

    def of(self, sizes: Sequence[Size]) -> Size:
        parts = [sizes[symbol] if p == 1 else sizes[symbol] * p for symbol, p in self.terms]
        parts += [self.c] if self.c or not parts else []
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        q = self.q if self.by is None else sizes[self.by]
        return total if isinstance(q, int) and q == 1 else total // q


class Pattern(NamedTuple):
    """Shapes of which some sizes are symbols: a size is an int, or the index of a symbol in a list of one."""

    shapes: tuple[tuple[int | tuple[int], ...], ...]
    hints: tuple[int, ...]  # the sizes of the symbols at hand
    of_tensors: int  # how many symbols are sizes of tensors; those of arguments alone come after them

    def at(self, sizes: Sequence[Size]) -> tuple[tuple[Size, ...], ...]:
        return tuple(tuple(sizes[n[0]] if isinstance(n, tuple) else n for n in shape) for shape in self.shapes)

    @property
    def steps(self) -> tuple[int, ...]:
        """How far each symbol is moved."""
        steps = (*STEPS[: self.of_tensors], *SMALL_STEPS[: len(self.hints) - self.of_tensors])
        if len(steps) < len(self.hints):
            raise NoFormula
        return steps

    @property
    def probes(self) -> list[tuple[int, ...]]:
        """Sizes of the symbols at which results are looked at: the ones at hand, and two others, all different."""
        return [tuple(n + j * step for n, step in zip(self.hints, self.steps, strict=True)) for j in range(3)]

    def moved(self, sizes: tuple[int, ...], symbol: int, by: int) -> tuple[int, ...]:
        return (*sizes[:symbol], sizes[symbol] + by, *sizes[symbol + 1 :])

    @property
    def neighbours(self) -> Iterator[tuple[int, ...]]:
        """Sizes in which one symbol alone is another. There, unlike in the probes, no two of them make up for each
        other: (n + 31) // (k + 1) is n // k where both are 31."""
        for start in (self.hints, self.room):
            for symbol, n in enumerate(start):
                for other in (2, *(n + by for by in FEW), n + MOST):
                    yield self.moved(start, symbol, other - n)

    @property
    def room(self) -> tuple[int, ...]:
        """Sizes in which those of arguments are the ones at hand, and those of tensors are larger."""
        return (*self.probes[-1][: self.of_tensors], *self.hints[self.of_tensors :])


def pattern_of(shapes: Sequence[Sequence[Size]], tensors: int) -> tuple[Pattern, list[Size]]:
    """The pattern of shapes, the first of which are those of tensors, and the sizes that its symbols stand for."""
    known: dict[str, int] = {}
    sizes: list[Size] = []
    out = []
    of_tensors = 0
    for i, shape in enumerate(shapes):
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
        of_tensors = len(sizes) if i < tensors else of_tensors
    hints = tuple(64 if n.node.hint is None else int(n.node.hint) for n in sizes)
    return Pattern(tuple(out), hints, of_tensors), sizes


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

            def size(sizes: tuple[int, ...], i: int = i, j: int = j) -> int:
                return at(sizes)[i][j]

            simple = constant_or_symbol(pattern, tuple(shapes[i][j] for shapes in seen))
            found.append(fit(pattern, size) if simple is None or not holds(simple, pattern, size) else simple)
        out.append(tuple(found))
    return tuple(out)


def holds(formula: Formula, pattern: Pattern, size: SizeOf) -> bool:
    """Whether a formula that is right in the probes is so around them, wherever the operation takes the sizes."""
    for sizes in pattern.neighbours:
        with contextlib.suppress(NoFormula):
            if formula.of(sizes) != size(sizes):
                return False
    return True


def constant_or_symbol(pattern: Pattern, values: tuple[int, ...]) -> Formula | None:
    if len(set(values)) == 1:
        return Formula((), values[0])
    for symbol in range(len(pattern.hints)):
        if values == tuple(sizes[symbol] for sizes in pattern.probes):
            return Formula(((symbol, 1),), 0)
    return None


def fit(pattern: Pattern, size: SizeOf) -> Formula:
    """The formula of a size that depends on one size of the tensors, and on any number of those in arguments."""
    moved, (_, base, other) = pattern.moved, pattern.probes
    far = [k for k in range(pattern.of_tensors) if size(moved(base, k, MOST)) != size(base)]
    if len(far) != 1:
        raise NoFormula
    (n,) = far
    rest = range(pattern.of_tensors, len(base))

    def to_next(sizes: tuple[int, ...]) -> int:
        """How far ``n`` is from where the size grows."""
        steps = range(1, MOST + 1)
        found = bisect_left(steps, True, key=lambda by: size(moved(sizes, n, by)) != size(sizes))
        if found == MOST:
            raise NoFormula
        return steps[found]

    def divisor(sizes: tuple[int, ...]) -> int:
        return to_next(moved(sizes, n, to_next(sizes)))

    def numerator(sizes: tuple[int, ...]) -> int:
        """Exactly: where the size grows nothing is lost by the division."""
        if q == 1:
            return size(sizes)
        step = to_next(sizes)
        return (q if by is None else sizes[by]) * size(moved(sizes, n, step)) - step

    q = divisor(base)
    divisors = [divisor(moved(base, k, 1)) for k in rest]
    by = next((k for k, d in zip(rest, divisors, strict=True) if (base[k], d) == (q, q + 1)), None)
    p = size(moved(base, n, 1)) - size(base) if q == 1 else 1
    here = numerator(base)
    terms = ((n, p), *((k, a) for k in rest if (a := numerator(moved(base, k, 1)) - here)))
    found = Formula(terms, here - sum(a * base[k] for k, a in terms), q if by is None else 1, by)
    exact = Formula(found.terms, found.c)
    numerators = [other, *(moved(base, k, 2) for k in rest)]
    checks = [*pattern.probes, *numerators, moved(base, n, MOST), moved(base, n, MOST + 1)]
    if (
        any(d != (q + 1 if k == by else q) for k, d in zip(rest, divisors, strict=True))
        or any(exact.of(sizes) != numerator(sizes) for sizes in numerators)
        or any(found.of(sizes) != size(sizes) for sizes in checks)
        or not holds(found, pattern, size)
    ):
        raise NoFormula
    return found
