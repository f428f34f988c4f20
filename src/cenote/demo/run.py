"""The demonstration from start to end. Every result is checked before it is shown or timed."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import TextIO

from ..runtime import get_num_threads
from .cases import format_sizes, make_cases
from .checks import check
from .panels import make_panels
from .scene import draw_cenote, draw_volume
from .terminal import render_row, wants_colour
from .timing import timings

FILE = "cenote-demo.png"
NEEDS_PILLOW = f"{FILE} needs Pillow 10.1 or newer: python -m pip install 'cenote[demo]'"


def import_picture() -> ModuleType | None:
    """The module that draws the PNG, or None without Pillow or with one that is too old."""
    try:
        from . import picture
    except ImportError:
        return None
    return picture


def run(directory: Path, *, quick: bool = False, stream: TextIO | None = None) -> int:
    """Run the demonstration and write its PNG into ``directory``: 0 when every check passes, otherwise 1.

    It takes some seconds; ``quick`` does the same with less data and fewer rounds. ``stream`` is where it reports,
    by default the current standard output. Without Pillow everything but the PNG is there.
    """
    out = sys.stdout if stream is None else stream

    def say(line: str) -> None:
        print(line, file=out, flush=True)

    picture = import_picture()
    if picture:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass  # a directory that cannot be written to is an error now, not after the work

    image, volume = draw_cenote(*((256, 384) if quick else (512, 768))), draw_volume(56 if quick else 112)
    inputs = [f"{what}, {format_sizes(x.shape)} {x.dtype}" for what, x in (("image", image), ("volume", volume))]
    say(f"1. Made an {inputs[0]}, and a {inputs[1]}.")

    say("2. Pooling both, and checking each result: against the slow reference in three places, and against NumPy.")
    done, wrong = [], []
    for case in make_cases(image, volume, quick):
        result = case.run()
        done.append((case, result))
        causes = check(case, result)
        sizes = f"{format_sizes(case.x.shape)} -> {format_sizes(result.shape)}"
        say(f"   {case.title}: {sizes}, {'WRONG' if causes else 'right'}")
        wrong += causes
    if wrong:
        say("The demonstration stops here, because these results are wrong:")
        for cause in wrong:
            say(f"   {cause}")
        return 1

    say("3. What they look like (the volume as a slice; the smooth maximum minus log(window size)/beta):")
    flat, solid = make_panels(image, volume, done)
    width, colour = min(shutil.get_terminal_size().columns, 132), wants_colour(out)
    for row in (flat[:3], flat[3:], solid):
        say(render_row(row, width, colour))

    if picture:
        target = directory / FILE
        picture.page(flat, solid).save(target)
        say(f"4. Wrote all of them side by side to {target}.")
    else:
        say(f"4. {NEEDS_PILLOW}")

    threads = get_num_threads()
    ours = f"cenote on up to {threads} thread{'s' * (threads != 1)}"
    say(f"5. Timing both, interleaved, the best round of each: {ours}, NumPy on one.")
    timings([case for case, _ in done], quick, say)
    return 0
