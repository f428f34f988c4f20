"""Compare two installs of cenote: the rows of the benchmarks, interleaved, and which of them became slower.

    python benchmarks/compare.py OLD NEW

OLD and NEW are each a Python interpreter with cenote installed, or a folder that holds the package (made by ``pip
install --target``), which is put in front of this interpreter's path. Each install runs in a process of its own, and
the two take turns, forwards and backwards alternately, so that whatever else the machine does meets both. A process
that waits for its turn waits for a pipe and uses no CPU. The best call of each counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
NOT_TIMED = ("memory", "package")


class Install:
    """A process that runs rows of the benchmarks with one install."""

    def __init__(self, where: str) -> None:
        path = Path(where)
        python = where if path.is_file() and os.access(path, os.X_OK) else sys.executable
        if path.is_dir() and not (path / "cenote").is_dir():
            raise SystemExit(f"compare: no package cenote in {where}")
        if not path.exists():
            raise SystemExit(f"compare: {where} does not exist")
        front = [str(HERE)] + ([str(path.resolve())] if path.is_dir() else [])
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(front)}
        command = [python, str(HERE / "compare.py"), "--serve", *([where] if path.is_dir() else [])]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )
        self.version = self.ask("version")

    def ask(self, *words: str) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"compare: the process of {self.process.args!r} ended")
        return json.loads(answer)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def only_from(folder: str) -> None:
    """Take cenote from this folder: the import hook of an editable install would come before it."""
    for finder in list(sys.meta_path):
        spec = finder.find_spec("cenote", None)
        if spec is not None and spec.origin is not None and not Path(spec.origin).is_relative_to(folder):
            sys.meta_path.remove(finder)


def serve(folder: str | None) -> None:
    """Answer requests until there are none: what a process of an install does."""
    if folder is not None:
        only_from(str(Path(folder).resolve()))
    import cenote as cn
    from measure import SAMPLE, TURN, seconds
    from peers import cenote
    from rows import THREADS, rows

    known = {row.key: row for row in rows()}
    cn.set_num_threads(THREADS)
    run, calls, samples = None, 1, 1
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    for line in sys.stdin:
        command, *words = json.loads(line)
        answer: Any = None
        if command == "version":
            answer = {"file": cn.__file__, "level": cn._core.level()}
        elif command == "rows":
            answer = [row.key for row in known.values() if row.section not in NOT_TIMED]
        elif command == "load":
            run = None
            case = known[words[0]].case
            assert case is not None
            try:
                run = cenote(case, case.data(), case.cotangent() if case.mode == "vjp" else None).run
                run()
                once = seconds(run, 1)
                calls = max(1, math.ceil(SAMPLE / once))
                samples = max(1, int(TURN / (calls * once)))
                answer = "ready"
            except Exception as error:  # an option that this install does not have, say
                answer = f"{type(error).__name__}: {error}"
        elif command == "turn":
            assert run is not None
            answer = min(1e3 * seconds(run, calls) for _ in range(samples))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def compare(old: Install, new: Install, keys: Sequence[str], rounds: int) -> dict[str, tuple[float, float]]:
    """The best time of each install in milliseconds, for each row that both can run."""
    out = {}
    for key in keys:
        ready = {name: install.ask("load", key) for name, install in (("old", old), ("new", new))}
        failed = {name: why for name, why in ready.items() if why != "ready"}
        if failed:
            print(f"{key}: not compared: {failed}", flush=True)
            continue
        best = {"old": math.inf, "new": math.inf}
        for turn in range(rounds):
            order = [("old", old), ("new", new)]
            for name, install in order if turn % 2 == 0 else order[::-1]:
                best[name] = min(best[name], install.ask("turn"))
        out[key] = (best["old"], best["new"])
        print(f"{key}: {best['old']:.4g} → {best['new']:.4g} ms, {best['new'] / best['old']:.3f}", flush=True)
    return out


def summary(times: dict[str, tuple[float, float]], bound: float) -> list[str]:
    ratios = {key: new / old for key, (old, new) in times.items()}
    if not ratios:
        return ["no row was compared"]
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    slower = sorted((key for key in ratios if ratios[key] > bound), key=lambda key: -ratios[key])
    lines = [f"{len(ratios)} rows, time new / old: geometric mean {mean:.3f}"]
    lines += [f"{len(slower)} rows above {bound:g}:", *(f"  {ratios[key]:.3f}  {key}" for key in slower)]
    worst = sorted(ratios, key=lambda key: -ratios[key])[:5]
    return [*lines, "worst:", *(f"  {ratios[key]:.3f}  {key}" for key in worst)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="an interpreter with cenote, or a folder that holds the package")
    parser.add_argument("new", help="likewise")
    parser.add_argument("--only", metavar="REGEX", default="", help="only rows whose section: name has this in it")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each install (7)")
    parser.add_argument("--bound", type=float, default=1.05, help="list rows above this ratio (1.05)")
    parser.add_argument("--json", metavar="PATH", type=Path, help="write the times there")
    given = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        old, new = Install(given.old), Install(given.new)
        stack.callback(old.close)
        stack.callback(new.close)
        print(f"old: {old.version['file']}, {old.version['level']}\nnew: {new.version['file']}, {new.version['level']}")
        keys = [key for key in new.ask("rows") if re.search(given.only, key)]
        times = compare(old, new, keys, given.rounds)
    print("\n".join(summary(times, given.bound)))
    if given.json:
        given.json.write_text(json.dumps(times, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2] if len(sys.argv) > 2 else None)
    else:
        sys.exit(main())
