"""A demonstration that checks itself: a picture and a volume are made, pooled, shown, verified and timed.

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
from numpy.typing import NDArray

import cenote as cn

from . import picture, reference
from .arrays import Array
from .picture import Floats, Image, blend, noise, ramp
from .runtime import get_num_threads
from .window import Geometry, parse_window

Idiom = Callable[[Array, tuple[int, ...]], Array]
FILE = "cenote-demo.png"


# ------------------------------------------------------------------------------------------- something to pool


def draw_cenote(rows: int, columns: int) -> Image:
    """A cave with a pool below an opening to the sky, (rows, columns, 3).

    Bright specks (dust in the light, glints) are what a maximum keeps and a minimum removes; thin dark lines
    (vines) are the opposite.
    """
    rng = np.random.default_rng(7)
    shape, wide = (rows, columns), columns / rows
    y, x = np.linspace(-1, 1, rows)[:, None], np.linspace(-wide, wide, columns)[None, :]
    rough, strata = noise(rng, shape, (6, 9), 6), noise(rng, shape, (14, 3), 4)
    ridge = 1 - np.abs(2 * noise(rng, shape, (9, 12), 5) - 1)
    leaf = noise(rng, shape, (34, 51), 3)

    near = np.exp(-(((x - 0.1) ** 2) + ((y + 0.55) / 0.75) ** 2))
    rock = (0.012 + 0.7 * near) * (0.06 + 2.6 * rough**3 * (0.1 + 1.6 * strata**2)) * (0.3 + 0.75 * ridge**2)
    out: Floats = rock[..., None] * np.array([1.0, 0.74, 0.50])

    rim = np.hypot((x - 0.1) / 0.85, (y + 0.98) / 0.42) + 0.35 * (rough - 0.5)
    blend(out, ramp(1.20, 1.05, rim + 0.5 * (leaf - 0.5)), np.array([0.5, 1.1, 0.16]) * leaf[..., None] ** 3)
    cloud = ramp(0.45, 0.75, rough)[..., None] * np.array([1.6, 1.4, 0.9])
    blend(out, ramp(0.98, 0.93, rim + 0.25 * (leaf - 0.5)), np.array([0.42, 0.85, 1.7]) + cloud)

    across = (x - 0.1 - 0.12 * (y + 1)) / (0.42 + 0.16 * (y + 1))
    rays = np.interp(across, np.linspace(-1.2, 1.2, 60), 0.35 + rng.random(60))
    beam = 0.42 * ramp(1.1, 0.3, np.abs(across)) * rays * ramp(-1.0, -0.5, y)
    out += beam[..., None] * np.array([0.80, 0.97, 1.0])

    depth = np.zeros_like(x)
    for place, length, half in rng.uniform((-1.6, 0.05, 0.02), (1.6, 0.5, 0.09), (46, 3)):
        if abs(place - 0.1) > 0.72:
            depth = np.maximum(depth, length * np.clip(1 - np.abs(x - place) / half, 0, 1) ** 0.7)
    depth = depth + 0.12 * ramp(0.7, 1.3, np.abs(x - 0.1))
    blend(out, ramp(0.01, -0.01, y + 1 - depth), np.array([0.02, 0.016, 0.014]) * (0.2 + 1.6 * ridge[..., None] ** 3))

    for place in (-0.42, -0.33, -0.05, 0.22, 0.47, 0.52, 0.66):
        vine = np.abs(x - place - 0.015 * np.sin(9 * y + 20 * place)) < max(0.005, 1 / rows)
        blend(out, (vine & (y < rng.uniform(-0.55, 0.0)) & (rim > 0.93)).astype(np.float64), (0.02, 0.05, 0.01))

    shore = int(0.55 * rows)
    out[shore:] = draw_water(rng, out[:shore], y[shore:] - 0.1, x)
    for count, top, bottom, light in ((100, 0.15, 0.85, 3.0), (110, -0.8, 0.1, 1.5)):
        speck = rng.uniform(top, bottom, count)
        at = 0.1 + 0.12 * (speck + 1) + rng.normal(0, 0.3, count)
        i = ((speck + 1) / 2 * (rows - 1)).astype(int)
        j = np.clip((at / wide + 1) / 2 * (columns - 1), 0, columns - 1).astype(int)
        out[i, j] += light * rng.random((count, 1)) * np.array([1.0, 1.0, 0.9])
    return np.rint(255 * (1 - np.exp(-1.35 * out)) ** (1 / 1.7)).astype(np.uint8)


def draw_water(rng: np.random.Generator, above: Floats, y: Floats, x: Floats) -> Floats:
    """The pool: rings around a drop, the cave ``above`` mirrored in them, and sparkling crests."""
    columns, size = x.shape[1], above.shape[0] / 0.55
    # Perspective: rows near the shore (y = 0) are far away.
    far = 1 / (y + 0.10)
    side = x * far
    drop = np.hypot(side - 0.3, far - 2.4)
    wave = np.sin(16 * drop) * np.exp(-0.3 * drop)
    for k, m, phase in rng.uniform(-1, 1, (9, 3)) * (7, 13.5, 6):
        wave += 0.22 * np.sin(k * side + m * far + phase)

    down = np.arange(y.shape[0])[:, None]
    i = np.clip(np.rint(above.shape[0] - down + wave * 0.018 * size * (0.3 + y)), 0, above.shape[0] - 1)
    j = np.clip(np.rint(np.arange(columns) + wave * 0.008 * size), 0, columns - 1)
    mirror = above[i.astype(int), j.astype(int)]

    lit = np.exp(-(((x - 0.28) / 0.75) ** 2 + ((y - 0.34) / 0.36) ** 2))
    body = (0.03 + 0.62 * lit)[..., None] * np.array([0.02, 0.66, 0.66]) + np.array([0.0, 0.022, 0.045])
    water = body * (1 + 0.22 * wave[..., None]) + 0.55 * np.clip(0.65 - 0.55 * y, 0.15, 1)[..., None] * mirror
    sparkle = rng.random((len(y), columns // 3 + 1)).repeat(3, axis=1)[:, :columns] ** 4
    crest = ramp(0.55, 1.5, wave) * sparkle * (0.02 + lit)
    out: Floats = water + 3.5 * crest[..., None] * np.array([0.9, 1.0, 0.95])
    return out


def draw_volume(size: int) -> NDArray[np.float32]:
    """A thin shell around a folded sheet (a gyroid) and a solid core, (size, size, size), 0 … 1."""
    z, y, x = np.meshgrid(*[np.linspace(-1, 1, size)] * 3, indexing="ij", sparse=True)
    radius = np.sqrt(x * x + y * y + z * z)
    a, b, c = 7.5 * x + 0.6, 7.5 * y, 7.5 * z + 0.9
    sheet = np.sin(a) * np.cos(b) + np.sin(b) * np.cos(c) + np.sin(c) * np.cos(a)
    shell = np.exp(-(((radius - 0.9) / 0.025) ** 2))
    inside = 0.75 * np.exp(-((sheet / 0.22) ** 2)) * ramp(0.84, 0.78, radius) * ramp(0.33, 0.40, radius)
    core = 0.95 * ramp(0.30, 0.24, radius)
    return np.asarray(shell + inside + core, np.float32)


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


def jobs(scene: Image, small: Image, volume: NDArray[np.float32]) -> list[Job]:
    out = []
    for what, x, window, beta in (("picture", scene, (8, 8), 0.06), ("volume", volume, (4, 4, 4), 12.0)):
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
    return [*out, Job("max_pool", "small picture", small, (15, 15), sliding, slides=True)]


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


def race(job: Job, most: int, budget: float) -> tuple[int, list[float]]:
    """The number of rounds, and the best time of Cenote and then of each idiom.

    All run in turn, so that a slow moment of the machine falls on all of them. There are at most ``most``
    rounds, and no further one that would end after ``budget`` seconds.
    """
    entries: list[Callable[[], object]] = [job.cenote]
    entries += [partial(function, job.x, job.window) for function in job.idioms.values()]
    best = [math.inf] * len(entries)
    began = perf_counter()
    rounds = 0
    while rounds < most and (perf_counter() - began) * (rounds + 1) <= budget * max(rounds, 1):
        for i, entry in enumerate(entries):
            start = perf_counter()
            entry()
            best[i] = min(best[i], perf_counter() - start)
        rounds += 1
    return rounds, best


def timings(work: Sequence[Job], quick: bool, say: Callable[[str], None]) -> None:
    say(f"{'':54}{'NumPy':>12}{'cenote':>12}   cenote is")
    ratios = []
    for job in work:
        rounds, (ours, *theirs) = race(job, 3 if quick else 15, 0.05 if quick else 0.3)
        say(f"{job.title}  (best of {rounds})")
        for idiom, other in zip(job.idioms, theirs, strict=True):
            ratio = other / ours
            ratios.append(ratio)
            verdict = f"{ratio:.3g}x faster" if ratio >= 1 else f"{1 / ratio:.3g}x SLOWER"
            say(f"    NumPy {idiom:44}{1e3 * other:9.2f} ms{1e3 * ours:9.2f} ms   {verdict}")
    wins = sum(ratio >= 1 for ratio in ratios)
    say(f"cenote is faster in {wins} of {len(ratios)} comparisons and slower in {len(ratios) - wins}.")


# -------------------------------------------------------------------------------------------------- the pictures


def as_picture(job: Job, result: Array) -> Image:
    if job.beta:
        # The smooth maximum of n equal cells is log(n)/beta above them: taken off, brightness can be compared.
        result = result - math.log(math.prod(job.window)) / job.beta
    return slice_of(result) if job.what == "volume" else np.clip(np.rint(result), 0, 255).astype(np.uint8)


def slice_of(volume: Array) -> Image:
    return picture.coloured(volume[len(volume) // 2])


def page(scene: Image, volume: Array, done: Sequence[tuple[Job, Array]]) -> Image:
    """All of it on one sheet: the picture large, and around it each result, enlarged to half of its size."""
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
        picture.text(f"input: a picture, {by(scene.shape)}, {scene.dtype}"),
        picture.text("max keeps glints and dust, min keeps vines, avg blurs both", colour=picture.FAINT),
    ]
    given = picture.stack([picture.fit(scene, 512, 768), picture.stack(about, 8)], 12)
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

    scene, volume = draw_cenote(*((256, 384) if quick else (512, 768))), draw_volume(56 if quick else 112)
    say(f"1. Made a picture, {by(scene.shape)} {scene.dtype}, and a volume, {by(volume.shape)} {volume.dtype}.")
    small = scene[::4, ::4] if quick else scene[::2, ::2]

    say("2. Pooling both, and checking each result: against the slow reference in three places, and against NumPy.")
    done, wrong = [], []
    for job in jobs(scene, small, volume):
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
    panels = {"picture": [("picture", scene)], "volume": [("volume", slice_of(volume))]}
    for job, result in done:
        label = job.name.removesuffix("_pool") + ", sliding" * job.slides
        panels["volume" if job.what == "volume" else "picture"].append((label, as_picture(job, result)))
    width, colour = min(shutil.get_terminal_size().columns, 132), picture.colour_wanted(out)
    for row in (panels["picture"][:3], panels["picture"][3:], panels["volume"]):
        say(picture.render_beside(row, width, colour))

    target = directory / FILE
    target.write_bytes(picture.encode_png(page(scene, volume, done)))
    say(f"4. Wrote all of them side by side to {target}.")

    threads = get_num_threads()
    say(f"5. Timing both in turn: cenote on up to {threads} thread{'s' * (threads != 1)}, NumPy on one.")
    timings([job for job, _ in done], quick, say)
    return 0
