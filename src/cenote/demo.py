"""A demonstration that checks itself: a picture and a volume are pooled, checked, shown and timed.

Nothing is taken on trust. Each result is compared with the slow reference in three places before it is shown,
and with NumPy's own way of doing the same job everywhere; the timings put both side by side, whoever wins.
"""

from __future__ import annotations

import itertools
import math
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TextIO

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import cenote as cn

from . import picture, reference
from .arrays import Array
from .geometry import Geometry
from .picture import Image
from .runtime import get_num_threads
from .scene import draw_cenote, draw_volume, slice_of
from .window import parse_window

Idiom = Callable[[Array, tuple[int, ...]], Array]
FILE = "cenote-demo.png"


# ------------------------------------------------------------------------------------------- NumPy's own idioms


def tiled(x: Array, window: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
    """Windows that tile the leading axes, as a view (o₁, k₁, o₂, k₂, …), and the axes of the k."""
    shape = [n for size, k in zip(x.shape, window, strict=False) for n in (size // k, k)]
    return x.reshape(*shape, *x.shape[len(window) :]), tuple(range(1, 2 * len(window), 2))


def by_reshape(fold: Callable[..., Any], x: Array, window: tuple[int, ...]) -> Array:
    cells, axes = tiled(x, window)
    return np.asarray(fold(cells, axis=axes))


def by_log_sum_exp(beta: float, x: Array, window: tuple[int, ...]) -> Array:
    cells, axes = tiled(x if x.dtype.kind == "f" else x.astype(np.float64), window)
    top = cells.max(axis=axes, keepdims=True)
    return np.asarray(top.squeeze(axes) + np.log(np.exp(beta * (cells - top)).sum(axis=axes)) / beta)


def by_sliding_view(x: Array, window: tuple[int, ...]) -> Array:
    axes = tuple(range(len(window)))
    return np.asarray(sliding_window_view(x, window, axes).max(axis=tuple(-1 - axis for axis in axes)))


def by_slices(x: Array, window: tuple[int, ...], slides: bool) -> Array:
    """np.maximum over one strided slice for each cell of the window."""
    stride = (1,) * len(window) if slides else window
    sizes = [(n - k) // s + 1 for n, k, s in zip(x.shape, window, stride, strict=False)]
    out: Array | None = None
    for taps in itertools.product(*map(range, window)):
        part = x[tuple(slice(t, t + (o - 1) * s + 1, s) for t, o, s in zip(taps, sizes, stride, strict=True))]
        out = part.copy() if out is None else np.maximum(out, part, out=out)
    return np.asarray(out)


def by_slices_per_axis(x: Array, window: tuple[int, ...]) -> Array:
    """The quick way for a maximum, which can be taken along one axis after the other."""
    for axis, k in enumerate(window):
        x = by_slices(x, tuple(k if i == axis else 1 for i in range(len(window))), slides=True)
    return x


# ----------------------------------------------------------------------------------------------- what is pooled


@dataclass(frozen=True)
class Job:
    """One call of a pooling function on the leading axes of ``x``, and NumPy's ways to do the same."""

    name: str
    what: str
    x: Array
    window: tuple[int, ...]
    idioms: Mapping[str, Idiom]
    beta: float = 0.0
    slides: bool = False

    def cenote(self) -> Array:
        # Looked up at each call, so that what is checked and timed is the public function as it is now.
        function = getattr(cn, self.name)
        sharpness = {"beta": self.beta} if self.beta else {}
        return np.asarray(function(self.x, self.window, stride=self.stride, axes=self.axes, **sharpness))

    def by_reference(self, x: Array) -> Array:
        geometry = self.on(x.shape)
        if self.name == "avg_pool":
            return reference.avg_pool(x, geometry, False, None, True)
        if self.name == "smooth_max_pool":
            return reference.smooth_max_pool(x, geometry, self.beta, 0.0)
        return reference.pick(x, geometry, self.name == "max_pool", False)[0]

    def on(self, shape: tuple[int, ...]) -> Geometry:
        return parse_window(self.window, self.stride, axes=self.axes).on(shape)

    @property
    def axes(self) -> tuple[int, ...]:
        return tuple(range(len(self.window)))

    @property
    def stride(self) -> tuple[int, ...]:
        return (1,) * len(self.window) if self.slides else self.window

    @property
    def title(self) -> str:
        return f"{self.name} of the {self.what}, window {by(self.window)}{', stride 1' * self.slides}"


def by(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def jobs(cave: Image, volume: Array, quick: bool) -> list[Job]:
    out = []
    for what, x, window, beta in (("picture", cave, (8, 8), 0.06), ("volume", volume, (4, 4, 4), 12.0)):
        tiles = {"reshape + max": partial(by_reshape, np.max), "slicing fold": partial(by_slices, slides=False)}
        out += [
            Job("max_pool", what, x, window, tiles),
            Job("min_pool", what, x, window, {"reshape + min": partial(by_reshape, np.min)}),
            Job("avg_pool", what, x, window, {"reshape + mean": partial(by_reshape, np.mean)}),
            Job("smooth_max_pool", what, x, window, {"reshape + log sum exp": partial(by_log_sum_exp, beta)}, beta),
        ]
    sliding: Mapping[str, Idiom] = {
        "sliding_window_view + max": by_sliding_view,
        "slicing fold": partial(by_slices, slides=True),
        "slicing fold, axis by axis": by_slices_per_axis,
    }
    # NumPy's time for a sliding view grows with the cells of the window: 15 x 15 takes it seconds.
    side = 7 if quick else 15
    return [*out, Job("max_pool", "picture", cave, (side, side), sliding, slides=True)]


# --------------------------------------------------------------------------------------------------- the checks


def difference(got: Array, wanted: Array, tolerance: float) -> str | None:
    """How ``got`` differs from ``wanted`` by more than the relative ``tolerance``, or None."""
    if (got.shape, got.dtype) != (wanted.shape, wanted.dtype):
        return f"shape {got.shape} and dtype {got.dtype} instead of {wanted.shape} and {wanted.dtype}"
    wrong = ~np.isclose(got, wanted, rtol=tolerance, atol=0) if tolerance else got != wanted
    if not wrong.any():
        return None
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size} cells are wrong; the first, {first}, is {got[first]} and not {wanted[first]}"


def check(job: Job, result: Array) -> list[str]:
    """What is wrong with ``result``: against the reference in three places, against NumPy everywhere."""
    shape = job.on(job.x.shape).out_shape
    if result.shape != shape:
        return [f"{job.title}: shape {result.shape} instead of {shape}"]
    found = []
    for place, along in (("first corner", 0.0), ("middle", 0.5), ("last corner", 1.0)):
        part, crop = [], []
        for o, k, s in zip(shape, job.window, job.stride, strict=False):
            size = min(o, 16)
            start = int(along * (o - size))
            part.append(slice(start, start + size))
            crop.append(slice(start * s, (start + size - 1) * s + k))
        cause = difference(result[tuple(part)], job.by_reference(job.x[tuple(crop)]), 1e-6 if job.beta else 0)
        if cause:
            found.append(f"{job.title}, {place}, against the reference: {cause}")
    for idiom, function in job.idioms.items():
        # NumPy adds in another order, so that only a maximum or a minimum is the same to the bit.
        cause = difference(result, function(job.x, job.window), 0 if job.name in ("max_pool", "min_pool") else 1e-5)
        if cause:
            found.append(f"{job.title}, against NumPy ({idiom}): {cause}")
    return found


# --------------------------------------------------------------------------------------------------- the timing


def race(job: Job, idiom: Idiom, most: int, budget: float) -> tuple[int, float, float]:
    """The number of rounds, and the best times of Cenote and of ``idiom``.

    Both run in turn, so that a slow moment of the machine falls on both. There is at least one round, there are
    at most ``most``, and after the first none that would end later than ``budget`` seconds: what takes NumPy
    seconds is measured well enough by one.
    """
    ours = theirs = math.inf
    began = perf_counter()
    rounds = 0
    while rounds < 1 or (rounds < most and (perf_counter() - began) * (rounds + 1) <= budget * rounds):
        start = perf_counter()
        job.cenote()
        between = perf_counter()
        idiom(job.x, job.window)
        ours, theirs = min(ours, between - start), min(theirs, perf_counter() - between)
        rounds += 1
    return rounds, ours, theirs


def timings(work: Sequence[Job], quick: bool, say: Callable[[str], None]) -> None:
    say(f"{'':36}{'rounds':>8}{'NumPy':>14}{'cenote':>14}   cenote is")
    ratios = []
    for job in work:
        say(job.title)
        for name, idiom in job.idioms.items():
            rounds, ours, theirs = race(job, idiom, 5 if quick else 25, 0.05 if quick else 0.3)
            ratio = theirs / ours
            ratios.append(ratio)
            verdict = f"{ratio:,.1f}x faster" if ratio >= 1 else f"{1 / ratio:,.1f}x SLOWER"
            say(f"    NumPy {name:26}{rounds:8}{1e3 * theirs:11.2f} ms{1e3 * ours:11.2f} ms   {verdict}")
    wins = sum(ratio >= 1 for ratio in ratios)
    say(f"cenote is faster in {wins} of {len(ratios)} comparisons and slower in {len(ratios) - wins}.")


# -------------------------------------------------------------------------------------------------- the pictures


def as_picture(job: Job, result: Array) -> Image:
    if job.beta:
        # The smooth maximum of n equal cells is log(n)/beta above them: taken off, brightness can be compared.
        result = result - math.log(math.prod(job.window)) / job.beta
    return slice_of(result) if job.what == "volume" else np.clip(np.rint(result), 0, 255).astype(np.uint8)


def page(cave: Image, volume: Array, done: Sequence[tuple[Job, Array]]) -> Image:
    """All of it on one sheet: the picture large, and around it each result, at half of its size."""
    flat: list[Image] = []
    solid: list[Image] = []
    for job, result in done:
        where, rows, columns = (solid, 224, 224) if job.what == "volume" else (flat, 256, 384)
        size = by(result.shape) if job.what == "volume" else f"{by(job.window)} -> {by(result.shape[:2])}"
        if job.beta:  # what as_picture took off; there is room for both on the wide panels only
            size = "-log(64)/beta" if job.what == "volume" else f"{size}, -log(64)/beta"
        large = picture.fit(as_picture(job, result), rows, columns)
        where.append(picture.captioned(large, job.name + " stride 1" * job.slides, size))
    about = [
        picture.text("cenote", 4),
        picture.text(f"input: a picture, {by(cave.shape)}, {cave.dtype}"),
        picture.text("max keeps glints and dust, min keeps vines, avg blurs both", colour=picture.FAINT),
    ]
    given = picture.stack([picture.fit(cave, 512, 768), picture.stack(about, 8)], 12)
    solid.insert(0, picture.captioned(picture.fit(slice_of(volume), 224, 224), "input: a volume", by(volume.shape)))
    upper = picture.beside([given, picture.stack(flat[:2], 16)], 32)
    return picture.framed(picture.stack([upper, picture.beside(flat[2:], 16), picture.beside(solid, 16)], 28), 24)


# ------------------------------------------------------------------------------------------------------- the run


def run(directory: Path, *, quick: bool = False, stream: TextIO | None = None) -> int:
    """Run the demonstration and leave its picture in ``directory``: 0 when every check passes, otherwise 1.

    It takes some seconds; ``quick`` does the same with less data and fewer rounds. ``stream`` is where it
    reports, standard output as it is at the time of the call by default.
    """
    out = sys.stdout if stream is None else stream

    def say(line: str) -> None:
        print(line, file=out, flush=True)

    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=directory):
        pass  # a directory that cannot be written to is an error now, not after the work

    cave, volume = draw_cenote(*((256, 384) if quick else (512, 768))), draw_volume(56 if quick else 112)
    say(f"1. Made a picture, {by(cave.shape)} {cave.dtype}, and a volume, {by(volume.shape)} {volume.dtype}.")

    say("2. Pooling both, and checking each result: against the slow reference in three places, and against NumPy.")
    done, wrong = [], []
    for job in jobs(cave, volume, quick):
        result = job.cenote()
        done.append((job, result))
        causes = check(job, result)
        say(f"   {job.title}: {by(job.x.shape)} -> {by(result.shape)}, {'WRONG' if causes else 'right'}")
        wrong += causes
    if wrong:
        say("The demonstration stops here, because these results are wrong:")
        for cause in wrong:
            say(f"   {cause}")
        return 1

    say("3. What they look like (of the volume, a slice; of the smooth maximum, what is above log(cells)/beta):")
    panels = {"picture": [("picture", cave)], "volume": [("volume", slice_of(volume))]}
    for job, result in done:
        label = job.name.removesuffix("_pool") + ", sliding" * job.slides
        panels[job.what].append((label, as_picture(job, result)))
    width, colour = min(shutil.get_terminal_size().columns, 132), picture.colour_wanted(out)
    for row in (panels["picture"][:3], panels["picture"][3:], panels["volume"]):
        say(picture.render_beside(row, width, colour))

    target = directory / FILE
    target.write_bytes(picture.encode_png(page(cave, volume, done)))
    say(f"4. Wrote all of them side by side to {target}.")

    threads = get_num_threads()
    ours = f"cenote on up to {threads} thread{'s' * (threads != 1)}"
    say(f"5. Timing both in turn, the best round of each: {ours}, NumPy on one.")
    timings([job for job, _ in done], quick, say)
    return 0
