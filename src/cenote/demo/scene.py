"""What the demonstration pools: an image of a cave, and a volume that is shown as a slice.

They are drawn, not loaded, so that no data has to be shipped; the same size gives the same pixels. Both have
what pooling is about: single pixels that a maximum or a minimum keeps, and smooth parts that an average keeps.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Pixels: TypeAlias = NDArray[np.uint8]  # (rows, columns, 3)

# -------------------------------------------------------------------------------------------------------------- brushes


def noise(rng: np.random.Generator, shape: tuple[int, int], cells: tuple[int, int], octaves: int) -> Floats:
    """Smooth randomness in 0 … 1: ever finer random grids, interpolated, each half as strong as the one before."""
    out = np.zeros(shape)
    for octave in range(octaves):
        rows, columns = cells[0] << octave, cells[1] << octave
        grid = rng.random((rows + 2, columns + 2))
        y, x = np.linspace(0, rows, shape[0]), np.linspace(0, columns, shape[1])
        i, j = y.astype(int), x.astype(int)
        v, u = ramp(0, 1, y - i)[:, None], ramp(0, 1, x - j)
        lines = grid[i] * (1 - v) + grid[i + 1] * v
        out += (lines[:, j] * (1 - u) + lines[:, j + 1] * u) / 2**octave
    return out / (2 - 2.0 ** (1 - octaves))


def ramp(start: float, end: float, value: Floats) -> Floats:
    """0 before ``start``, 1 after ``end``, smooth in between; the other way round when ``end`` is less."""
    t = np.clip((value - start) / (end - start), 0, 1)
    return t * t * (3 - 2 * t)


def blend(canvas: Floats, cover: Floats, colour: Any) -> None:
    """Paint ``colour`` on ``canvas`` with the opacity ``cover``."""
    canvas += cover[..., None] * (np.asarray(colour) - canvas)


# ------------------------------------------------------------------------------------------------------------- the cave


def draw_cenote(rows: int, columns: int) -> Pixels:
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
    depth = depth - 0.01 + 0.12 * ramp(0.7, 1.3, np.abs(x - 0.1))
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


# ----------------------------------------------------------------------------------------------------------- the volume


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


def slice_of(volume: NDArray[Any]) -> Pixels:
    """The middle slice of a volume, pooled or not, in colour."""
    return coloured(volume[len(volume) // 2])


def coloured(values: NDArray[Any]) -> Pixels:
    """Numbers, (rows, columns), from 0 to 1 as colours from night through water and sand to white."""
    stops = np.array([[8, 12, 30], [10, 70, 110], [32, 160, 160], [238, 214, 150], [255, 255, 250]])
    channels = [np.interp(values, [0, 0.2, 0.45, 0.75, 1.0], stops[:, i]) for i in range(3)]
    return np.asarray(np.rint(np.stack(channels, axis=-1)), np.uint8)
