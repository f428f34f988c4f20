"""cenote and NumPy timed on the same work, interleaved, whoever is faster."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import perf_counter

from .cases import Case, Idiom


def race(case: Case, idiom: Idiom, most: int, budget: float) -> tuple[int, float, float]:
    """The number of rounds, and the best times of cenote and of ``idiom``.

    Both run in every round, so that a slow moment of the machine affects both. There are between 1 and ``most`` rounds,
    and after the first none that would end later than ``budget`` seconds: one is enough for what takes NumPy seconds.
    """
    ours = theirs = math.inf
    began = perf_counter()
    rounds = 0
    while rounds < 1 or (rounds < most and (perf_counter() - began) * (rounds + 1) <= budget * rounds):
        start = perf_counter()
        case.run()
        between = perf_counter()
        idiom(case.x, case.window)
        ours, theirs = min(ours, between - start), min(theirs, perf_counter() - between)
        rounds += 1
    return rounds, ours, theirs


def timings(cases: Sequence[Case], quick: bool, say: Callable[[str], None]) -> None:
    say(f"{'':36}{'rounds':>8}{'NumPy':>14}{'cenote':>14}   cenote is")
    ratios = []
    for case in cases:
        say(case.title)
        for name, idiom in case.idioms.items():
            rounds, ours, theirs = race(case, idiom, 5 if quick else 25, 0.05 if quick else 0.3)
            ratio = theirs / ours
            ratios.append(ratio)
            verdict = f"{ratio:,.1f}x faster" if ratio >= 1 else f"{1 / ratio:,.1f}x SLOWER"
            say(f"    NumPy {name:26}{rounds:8}{1e3 * theirs:11.2f} ms{1e3 * ours:11.2f} ms   {verdict}")
    wins = sum(ratio >= 1 for ratio in ratios)
    say(f"cenote is faster in {wins} of {len(ratios)} comparisons and slower in {len(ratios) - wins}.")
