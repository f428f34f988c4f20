"""The demonstration, and what it draws in a terminal and on a page."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

import cenote as cn
from cenote.demo import cases, picture, scene, terminal, timing
from cenote.demo import run as demo
from cenote.demo.panels import Panel
from cenote.demo.scene import Pixels

ESCAPE = "\x1b"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def some_image(rows: int, columns: int) -> Pixels:
    return np.random.default_rng(0).integers(0, 256, (rows, columns, 3), dtype=np.uint8)


def colours_in(image: Image.Image) -> list[tuple[int, ...]]:
    return [tuple(colour) for colour in np.unique(np.asarray(image).reshape(-1, 3), axis=0).tolist()]


# ------------------------------------------------------------------------------------------------------ the page


def test_text_is_as_wide_as_it_has_to_be() -> None:
    line = picture.text("max_pool")
    assert picture.INK in colours_in(line)
    assert picture.text("max_pool of a long title").width > line.width > picture.text("max").width
    assert picture.text("max").height == line.height, "with and without a letter below the line"
    assert picture.text("max", 40).height > 1.8 * line.height
    roomy = picture.blank(2 * line.width, 2 * line.height)
    ImageDraw.Draw(roomy).text((0, 0), "max_pool", picture.INK, ImageFont.load_default(20))
    drawn = [int((np.asarray(image) != picture.PAPER).any(axis=2).sum()) for image in (line, roomy)]
    assert drawn[0] == drawn[1], "nothing is cut off"


def test_parts_keep_their_pixels_and_their_order() -> None:
    one, two = (Image.new("RGB", size, colour) for size, colour in (((2, 3), "red"), ((4, 1), "blue")))
    below = np.asarray(picture.stack([one, two], 2))
    assert below.shape == (6, 4, 3)
    np.testing.assert_array_equal(below[:3, :2], np.asarray(one))
    np.testing.assert_array_equal(below[5:], np.asarray(two))
    assert (below[3:5] == picture.PAPER).all()
    np.testing.assert_array_equal(np.asarray(picture.beside([one, two], 1))[:1, 3:], np.asarray(two))


@pytest.mark.parametrize(("rows", "columns", "factor"), [(2, 3, 4), (8, 12, 1), (4, 4, 2)])
def test_pixels_are_enlarged_to_squares(rows: int, columns: int, factor: int) -> None:
    image = some_image(rows, columns)
    out = np.asarray(picture.draw(Panel(image, "", "title", "detail"), 12, 8))
    left = (12 - columns * factor) // 2
    wanted = image.repeat(factor, axis=0).repeat(factor, axis=1)
    np.testing.assert_array_equal(out[:8, left : left + columns * factor], wanted)
    assert (out[:8, :left] == picture.PAPER).all()


def test_what_is_too_large_is_averaged() -> None:
    image = some_image(8, 12)
    out = np.asarray(picture.draw(Panel(image, "", "title", "detail"), 6, 4))
    np.testing.assert_allclose(out[:4, :6], image.reshape(4, 2, 6, 2, 3).mean(axis=(1, 3)), atol=1)


def test_captions_are_below_and_never_cut() -> None:
    detail = "a caption that is wider than its image"
    out = picture.draw(Panel(some_image(10, 20), "", "max_pool", detail), 20, 10)
    assert out.width == picture.text(detail, 17).width
    below = colours_in(out.crop((0, 10, out.width, out.height)))
    assert picture.INK in below
    assert picture.FAINT in below


# ------------------------------------------------------------------------------------------------- the terminal


def test_resample_averages() -> None:
    image = some_image(4, 6)
    np.testing.assert_array_equal(terminal.resample(image, 2, 3), image.reshape(2, 2, 3, 2, 3).mean(axis=(1, 3)))


def test_plain_rendering_has_no_escape_characters() -> None:
    ramp = np.linspace(0, 255, 40).astype(np.uint8)[None, :, None].repeat(20, axis=0).repeat(3, axis=2)
    lines = terminal.render(ramp, 20, colour=False)
    assert ESCAPE not in "".join(lines)
    assert "".join(lines).isascii()
    assert {len(line) for line in lines} == {20}
    order = [terminal.SHADES.index(mark) for mark in lines[0]]
    assert order == sorted(order)
    assert (order[0], order[-1]) == (0, len(terminal.SHADES) - 1)


def test_coloured_rendering_holds_the_colours() -> None:
    image = np.array([[[1, 2, 3]], [[4, 5, 6]]], np.uint8)
    assert terminal.render(image, 1, colour=True) == ["\x1b[38;2;1;2;3;48;2;4;5;6m▀\x1b[0m"]


def test_colour_needs_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert terminal.wants_colour(Terminal())
    assert not terminal.wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal.wants_colour(Terminal())


# --------------------------------------------------------------------------------------------------------- scene


def test_the_scene_is_always_the_same() -> None:
    cave, volume = scene.draw_cenote(32, 48), scene.draw_volume(12)
    np.testing.assert_array_equal(scene.draw_cenote(32, 48), cave)
    np.testing.assert_array_equal(scene.draw_volume(12), volume)
    assert (cave.shape, str(cave.dtype)) == ((32, 48, 3), "uint8")
    assert (volume.shape, str(volume.dtype)) == ((12, 12, 12), "float32")
    assert 0 <= volume.min() < volume.max() <= 1


def test_noise_and_ramp_stay_in_their_range() -> None:
    out = scene.noise(np.random.default_rng(0), (20, 30), (3, 4), 4)
    assert out.shape == (20, 30)
    assert 0 <= out.min() < out.max() <= 1
    np.testing.assert_array_equal(scene.ramp(1, 3, np.array([0.0, 1, 2, 3, 9])), [0, 0, 0.5, 1, 1])
    np.testing.assert_array_equal(scene.ramp(3, 1, np.array([0.0, 1, 2, 3, 9])), [1, 1, 0.5, 0, 0])


def test_a_volume_is_seen_at_its_middle() -> None:
    volume = np.zeros((5, 2, 3), np.float32)
    volume[2] = 1
    np.testing.assert_array_equal(scene.slice_of(volume), np.full((2, 3, 3), (255, 255, 250)))


# ------------------------------------------------------------------------------------------------ demonstration


def spoil(monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[Any], Any]) -> None:
    """Make the public function ``name`` return ``change`` of its result."""
    right = getattr(cn, name)
    monkeypatch.setattr(cn, name, lambda *args, **options: change(right(*args, **options)))


def one_corner(out: Any) -> Any:
    """The least that must be noticed: the last element of an image's three channels."""
    out = out.copy()
    out[-1, -1] += 1
    return out


def test_the_demonstration_passes_and_shows_everything(tmp_path: Path) -> None:
    stream = io.StringIO()
    assert demo.run(tmp_path, quick=True, stream=stream) == 0
    printed = stream.getvalue()
    for name in ("max_pool", "min_pool", "avg_pool", "smooth_max_pool", "sliding_window_view", "reshape + max"):
        assert name in printed
    assert "WRONG" not in printed
    assert ESCAPE not in printed
    with Image.open(tmp_path / demo.FILE) as image:
        assert (image.format, image.mode) == ("PNG", "RGB")
        page = np.asarray(image)
    # Two columns of 768 and 384, the gap and the margins: no caption is wider than what it belongs to.
    assert page.shape[1] == 768 + 384 + 32 + 2 * 24
    # The image is on the page, in its place, twice as large; the maximum is next to it.
    cave = scene.draw_cenote(256, 384)
    np.testing.assert_array_equal(page[24 : 24 + 512, 24 : 24 + 768], cave.repeat(2, axis=0).repeat(2, axis=1))
    pooled = cn.max_pool(cave, (8, 8), axes=(0, 1))
    np.testing.assert_array_equal(page[24 : 24 + 256, 824 : 824 + 384], pooled.repeat(8, axis=0).repeat(8, axis=1))
    assert [path.name for path in tmp_path.iterdir()] == [demo.FILE]


@pytest.mark.parametrize("pillow", [None, "10.0.1"])
def test_without_pillow_all_but_the_png_is_there(
    pillow: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "cenote.demo.picture")
    monkeypatch.delattr("cenote.demo.picture")
    if pillow is None:
        monkeypatch.setitem(sys.modules, "PIL", None)
    else:
        monkeypatch.setattr("PIL.__version__", pillow)
    stream = io.StringIO()
    assert demo.run(tmp_path / "new", quick=True, stream=stream) == 0
    printed = stream.getvalue()
    (line,) = [line for line in printed.splitlines() if "Pillow" in line]
    assert line == "4. cenote-demo.png needs Pillow 10.1 or newer: python -m pip install 'cenote[demo]'"
    assert "smooth_max" in printed.partition("3. What they look like")[2].partition("4. ")[0]
    assert "comparisons" in printed.partition("5. Timing")[2]
    assert not (tmp_path / "new").exists()


def test_a_terminal_gets_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    assert demo.run(tmp_path, quick=True, stream=stream) == 0
    assert terminal.HALF_BLOCK in stream.getvalue()


@pytest.mark.parametrize("name", ["max_pool", "min_pool", "avg_pool", "smooth_max_pool"])
def test_a_wrong_result_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, name, one_corner)
    stream = io.StringIO()
    assert demo.run(tmp_path, quick=True, stream=stream) == 1
    wrong = f"{name} of the image, window 8 x 8, last corner, against the reference: 3 of 768 elements are wrong"
    assert wrong in stream.getvalue()
    assert not (tmp_path / demo.FILE).exists()


def test_a_wrong_shape_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, "min_pool", lambda out: out[1:])
    stream = io.StringIO()
    assert demo.run(tmp_path, quick=True, stream=stream) == 1
    assert "min_pool of the image, window 8 x 8: shape (31, 48, 3) instead of (32, 48, 3)" in stream.getvalue()


def test_a_race_has_a_round_even_when_there_is_no_time() -> None:
    case = cases.Case("max_pool", "image", some_image(8, 8), (8, 8), {})
    assert timing.race(case, cases.by_slices_per_axis, 9, 0.0)[0] == 1
    assert timing.race(case, cases.by_slices_per_axis, 9, 600.0)[0] == 9


@pytest.mark.parametrize(("ours", "theirs", "verdict"), [(2.0, 8.0, "4.0x faster"), (8.0, 2.0, "4.0x SLOWER")])
def test_wins_and_losses_are_both_named(
    ours: float, theirs: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "race", lambda case, idiom, most, budget: (1, ours, theirs))
    case = cases.Case("max_pool", "image", some_image(8, 8), (8, 8), {"reshape + max": cases.by_slices_per_axis})
    printed: list[str] = []
    timing.timings([case], True, printed.append)
    assert any(line.endswith(verdict) for line in printed)
    wins = int(theirs > ours)
    assert printed[-1] == f"cenote is faster in {wins} of 1 comparisons and slower in {1 - wins}."
