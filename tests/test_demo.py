"""The demonstration, the pictures it draws and the command that runs it."""

from __future__ import annotations

import io
import struct
import sys
import types
import zlib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cenote import cli, demo, picture, scene
from cenote.picture import Image

ESCAPE = "\x1b"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def decode_png(data: bytes) -> Image:
    """The pixels of an 8-bit grey or RGB file: every chunk's checksum is compared, filters 0 to 2 are undone."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, kinds, body, header = 8, [], b"", b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(kind + content),)
        kinds.append(kind)
        header = content if kind == b"IHDR" else header
        body += content if kind == b"IDAT" else b""
        at += 12 + length
    assert kinds[0] == b"IHDR"
    assert kinds[-1] == b"IEND"
    columns, rows, depth, colour, *methods = struct.unpack(">IIBBBBB", header)
    assert (depth, methods) == (8, [0, 0, 0])
    channels = {0: 1, 2: 3}[colour]
    lines = np.frombuffer(zlib.decompress(body), np.uint8).reshape(rows, 1 + columns * channels)
    out = np.zeros((rows, columns * channels), np.uint8)
    for i, (method, *_) in enumerate(lines):
        line = lines[i, 1:]
        if method == 1:
            line = np.cumsum(line.reshape(columns, channels), axis=0, dtype=np.uint8).ravel()
        elif method == 2:
            line = line + (out[i - 1] if i else np.uint8(0))
        else:
            assert method == 0
        out[i] = line
    return out.reshape((rows, columns) if channels == 1 else (rows, columns, 3))


def some_image(shape: tuple[int, ...]) -> Image:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


# ------------------------------------------------------------------------------------------------------ pictures


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (1, 9, 3), (33, 20, 3)])
def test_png_holds_the_pixels(shape: tuple[int, ...]) -> None:
    image = some_image(shape)
    np.testing.assert_array_equal(decode_png(picture.encode_png(image)), image)


def test_png_of_a_view() -> None:
    image = some_image((8, 12, 3))[::2, ::-3]
    np.testing.assert_array_equal(decode_png(picture.encode_png(image)), image)


@pytest.mark.parametrize("image", [np.zeros((2, 2)), np.zeros((2, 2, 4), np.uint8), np.zeros((0, 2), np.uint8)])
def test_what_is_not_an_image_is_refused(image: Any) -> None:
    with pytest.raises(ValueError, match="an image has dtype uint8"):
        picture.encode_png(image)


def test_the_font_has_every_glyph_once() -> None:
    drawn = {character: cells.tobytes() for character, cells in picture.FONT.items()}
    assert len(drawn) == len(picture.GLYPHS) + 1
    assert len(set(drawn.values())) == len(drawn)


def test_captions_are_drawn_below_and_never_cut() -> None:
    image = some_image((10, 20))
    out = picture.captioned(image, "max_pool", "a caption that is wider than its image")
    np.testing.assert_array_equal(out[:10, :20], picture.rgb(image))
    assert out.shape[1] >= 38 * 12
    below = out[10:].reshape(-1, 3).tolist()
    assert list(picture.INK) in below
    assert list(picture.FAINT) in below


def test_fit_enlarges_by_a_whole_factor_in_the_middle() -> None:
    image = some_image((2, 3, 3))
    out = picture.fit(image, 10, 13)
    np.testing.assert_array_equal(out[1:9, 0:12], picture.enlarge(image, 4))
    assert (out[0] == picture.PAPER).all()


@pytest.mark.parametrize(
    ("shape", "within"), [((20, 24), slice(0, 5)), ((17, 26, 3), slice(0, 4)), ((4, 60), slice(2, 3))]
)
def test_fit_divides_what_is_too_large(shape: tuple[int, ...], within: slice) -> None:
    image = np.full(shape, 200, np.uint8)
    out = picture.fit(image, 5, 7)
    assert out.shape == (5, 7, 3)
    assert (out[within] == 200).any(axis=(1, 2)).all()
    assert (np.delete(out, within, axis=0) == picture.PAPER).all()


def test_shrink_averages() -> None:
    image = np.arange(24, dtype=np.uint8).reshape(4, 6)
    np.testing.assert_array_equal(picture.shrink(image, 2, 3), image.reshape(2, 2, 3, 2).mean(axis=(1, 3)))


def test_plain_rendering_has_no_escape_characters() -> None:
    ramp = np.repeat(np.linspace(0, 255, 40).astype(np.uint8)[None], 20, axis=0)
    lines = picture.render(ramp, 20, colour=False)
    assert ESCAPE not in "".join(lines)
    assert "".join(lines).isascii()
    assert {len(line) for line in lines} == {20}
    order = [picture.SHADES.index(mark) for mark in lines[0]]
    assert order == sorted(order)
    assert (order[0], order[-1]) == (0, len(picture.SHADES) - 1)


def test_coloured_rendering_holds_the_colours() -> None:
    image = np.array([[[1, 2, 3]], [[4, 5, 6]]], np.uint8)
    assert picture.render(image, 1, colour=True) == ["\x1b[38;2;1;2;3;48;2;4;5;6m▀\x1b[0m"]


def test_colour_needs_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert picture.colour_wanted(Terminal())
    assert not picture.colour_wanted(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not picture.colour_wanted(Terminal())


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
    """Make the public function ``name`` give ``change`` of its result."""
    right = getattr(cn, name)
    monkeypatch.setattr(cn, name, lambda *args, **options: change(right(*args, **options)))


def one_corner(out: Any) -> Any:
    """The least that must be noticed: the last cell of an image's three channels."""
    out = out.copy()
    out[-1, -1] += 1
    return out


def test_the_demonstration_passes_and_shows_everything(tmp_path: Path) -> None:
    stream = io.StringIO()
    assert demo.run(tmp_path, quick=True, stream=stream) == 0
    said = stream.getvalue()
    for name in ("max_pool", "min_pool", "avg_pool", "smooth_max_pool", "sliding_window_view", "reshape + max"):
        assert name in said
    assert "WRONG" not in said
    assert ESCAPE not in said
    page = decode_png((tmp_path / demo.FILE).read_bytes())
    assert page.shape[2] == 3
    # The picture is on the page, in its place, twice as large.
    np.testing.assert_array_equal(page[24 : 24 + 512, 24 : 24 + 768], picture.enlarge(scene.draw_cenote(256, 384), 2))
    assert [path.name for path in tmp_path.iterdir()] == [demo.FILE]


def test_a_terminal_gets_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    assert demo.run(tmp_path, quick=True, stream=stream) == 0
    assert picture.HALF_BLOCK in stream.getvalue()


@pytest.mark.parametrize("name", ["max_pool", "min_pool", "avg_pool", "smooth_max_pool"])
def test_a_wrong_result_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, name, one_corner)
    stream = io.StringIO()
    assert demo.run(tmp_path, quick=True, stream=stream) == 1
    said = stream.getvalue()
    assert f"{name} of the picture, window 8 x 8, last corner, against the reference: 3 of 768 cells are wrong" in said
    assert not (tmp_path / demo.FILE).exists()


def test_a_wrong_shape_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, "min_pool", lambda out: out[1:])
    stream = io.StringIO()
    assert demo.run(tmp_path, quick=True, stream=stream) == 1
    assert "min_pool of the picture, window 8 x 8: shape (31, 48, 3) instead of (32, 48, 3)" in stream.getvalue()


def test_a_race_has_a_round_even_when_there_is_no_time() -> None:
    job = demo.Job("max_pool", "picture", some_image((8, 8, 3)), (8, 8), {})
    assert demo.race(job, demo.by_slices_per_axis, 9, 0.0)[0] == 1
    assert demo.race(job, demo.by_slices_per_axis, 9, 600.0)[0] == 9


@pytest.mark.parametrize(("ours", "theirs", "verdict"), [(2.0, 8.0, "4.0x faster"), (8.0, 2.0, "4.0x SLOWER")])
def test_wins_and_losses_are_both_named(
    ours: float, theirs: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "race", lambda job, idiom, most, budget: (1, ours, theirs))
    job = demo.Job("max_pool", "picture", some_image((8, 8, 3)), (8, 8), {"reshape + max": demo.by_slices_per_axis})
    said: list[str] = []
    demo.timings([job], True, said.append)
    assert any(line.endswith(verdict) for line in said)
    wins = int(theirs > ours)
    assert said[-1] == f"cenote is faster in {wins} of 1 comparisons and slower in {1 - wins}."


# ------------------------------------------------------------------------------------------------- command line


def test_demo_command_makes_its_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "directory"
    assert cli.main(["demo", "--quick", "--out", str(out)]) == 0
    assert (out / demo.FILE).exists()
    assert str(out / demo.FILE) in capsys.readouterr().out


def test_a_bad_directory_is_one_line_and_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    bad = tmp_path / "file" / "directory"
    assert cli.main(["demo", "--quick", "--out", str(bad)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"cenote demo: cannot write to {bad}: ")
    assert err.count("\n") == 1


def test_a_failed_check_is_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(monkeypatch, "avg_pool", lambda out: 2 * out)
    assert cli.main(["demo", "--quick", "--out", str(tmp_path)]) == 1
    assert "avg_pool of the volume" in capsys.readouterr().out


def test_no_command_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert "usage: cenote" in capsys.readouterr().out


def test_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "1.2.3" if name == "cenote" else "")
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == "cenote 1.2.3\n"


def test_version_without_an_installation(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert cli.main(["--version"]) == 1
    assert "not installed" in capsys.readouterr().err


def test_config_shows_the_configuration(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    runtime = types.ModuleType("cenote.runtime")
    runtime.show_config = lambda: print("threads 2")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cenote.runtime", runtime)
    assert cli.main(["config"]) == 0
    assert capsys.readouterr().out == "threads 2\n"


def test_an_interrupt_is_code_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*args: Any, **options: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", interrupted)
    assert cli.main(["demo"]) == 130
    assert "Traceback" not in capsys.readouterr().err
