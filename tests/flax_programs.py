"""Programs that import JAX, run in a process of its own: it starts threads, after which a process must not fork."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax_oracle import ask_script


def run_all(programs: Sequence[str]) -> list[Any]:
    """What each program leaves in ``y``."""
    results: list[Any] = ask_script(__file__, programs)
    return results


def main() -> None:
    out = []
    for program in pickle.load(sys.stdin.buffer):
        names: dict[str, Any] = {}
        exec(program, names)
        out.append(np.asarray(names["y"]))
    sys.stdout.buffer.write(pickle.dumps(out))


if __name__ == "__main__":
    main()
