"""What ``explain`` writes: files, animations, pages; and that people can read them."""

from __future__ import annotations

import io
import json
import math
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import cenote as cn
from cenote import cli, explanation
from cenote.cli.explain import REDUCERS
from cenote.explanation import limits, png, style, svg
from cenote.explanation.formula import short
from cenote.explanation.layout import CELL
from picture_reader import SVG, Picture

X = np.array([[3, 5, 5, 1, 0], [2, np.nan, 4, 4, 7], [1, 6, 2, 8, 8], [0, 1, 9, 2, 3], [4, 4, 1, 0, 2.5]])


def test_files_by_their_ending(tmp_path: Path) -> None:
    e = cn.explain("max_pool", X, (2, 2), stride=2, nan="omit", ceil_mode=True)
    for name in ("a.svg", "b.HTML", "c.png"):
        e.save(tmp_path / name, window=(1, 0))
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == e.svg(3)
    assert (tmp_path / "b.HTML").read_text(encoding="utf-8") == e.html(3)
    with Image.open(tmp_path / "c.png") as image:
        assert image.size[0] > 1000
    for path in ("x.gif", "x"):
        with pytest.raises(ValueError, match=r"ends in \.svg, \.html or \.png"):
            e.save(path)


def test_a_png_has_the_marks_where_the_svg_has_them(tmp_path: Path) -> None:
    e = cn.explain("max_pool", [3.0, 5, 4, 1], (3,), stride=1)
    e.save(tmp_path / "x.png", 1)
    image = Image.open(io.BytesIO((tmp_path / "x.png").read_bytes())).convert("RGB")
    picture = Picture(e.svg(1))
    width = float(picture.root.get("width", "nan"))
    scale = image.size[0] / width
    for index, (x, y, *_) in picture.cells["x"].items():
        pixel = image.getpixel((round((x + CELL - 8) * scale), round((y + 8) * scale)))
        assert isinstance(pixel, tuple)
        red, _, blue = pixel[:3]
        kind = picture.marks()["x"].get(index)
        assert (red > blue + 20, blue > red + 20) == (kind == "chosen", kind == "seen"), index


def test_animation(tmp_path: Path) -> None:
    e = cn.explain("avg_pool", X, (2, 2), stride=2, ceil_mode=True)
    e.animate(tmp_path / "x.svg", seconds=0.5)
    text = (tmp_path / "x.svg").read_text(encoding="utf-8")
    picture = Picture(text)
    steps = [g for g in picture.root.iter(f"{SVG}g") if g.get("class", "").startswith("overlay")]
    assert len(steps) == len(e.windows) == 9
    for i, (step, window) in enumerate(zip(steps, e.windows, strict=True)):
        assert step.get("style") == f"animation-delay:{0.5 * i:g}s"
        marks = picture.marks(step)["x"]
        assert set(marks) == {x.index for x in (*window.elements, *window.overhang)}
    assert "4.5s step-end infinite" in text
    assert "prefers-reduced-motion" in text
    for path, seconds in (("x.gif", 1), ("x.svg", 0), ("x.svg", math.nan)):
        with pytest.raises(ValueError, match="animate: "):
            e.animate(path, seconds=seconds)


def test_a_page_needs_nothing_else() -> None:
    def add(a: Any, b: Any) -> Any:
        return a + b

    add.__name__ = "</script><b>"
    assert "</script><b>" not in cn.explain("pool", (3,), (2,), init=0.0, reduce_fn=add).html()
    page = cn.explain("max_pool", X, (2, 2)).html()
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|src=|@import|<link", page)
    assert page.count("</script>") == 2
    for part in (
        'role="status"',
        "prefers-color-scheme",
        'type="range"',
        'id="play"',
        'value="gradient"',
        "<title>",
        "lang=",
    ):
        assert part in page
    assert 'value="gradient"' not in cn.explain("mode_pool", (3,), (2,)).html()


def test_a_page_has_the_marks_of_every_window() -> None:
    e = cn.explain("conv", (2, 3, 3, 2), (2, 2, 2, 1, 2), groups=2)
    page = e.html()
    steps = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])["steps"]
    assert [tuple(step["index"]) for step in steps["values"]] == [w.index for w in e.windows]
    places = set(re.findall(r'data-marks="(\w+)"', page))
    for view in ("values", "gradient"):
        for number, step in enumerate(steps[view]):
            picture = Picture(e.svg(number, view))
            texts = step["marks"].values()
            for array, marks in picture.marks().items():
                found = "".join(text for name, text in step["marks"].items() if name.startswith(array))
                assert found.count('class="mark ') == len(marks)
            assert {tuple(map(int, index.split(","))) for index in step["sees"]} == set(picture.marks()["x"])
            assert step["marks"].keys() <= places
            assert sum(text.count('class="box"') for text in texts) == picture.text.count('<rect class="box"') == 2
    assert len(re.findall(r'class="cell x[ "]', page)) == 2 * e.x.size


def test_a_notebook_shows_every_window_on_hover() -> None:
    e = cn.explain("max_pool", X, (2, 2), stride=1, nan="omit")
    picture = Picture(e._repr_html_())
    assert picture.marks() == Picture(e.svg()).marks()
    spots = [g for g in picture.root.iter(f"{SVG}g") if g.get("class") == "spot"]
    assert len(spots) == len(e.windows)
    for spot, window in zip(spots, e.windows, strict=True):
        marks = picture.marks(spot)
        assert set(marks["x"]) == {x.index for x in window.elements}
        assert set(marks["y"]) == {window.index}
        x, y, _, _ = picture.cells["y"][window.index]
        rect = spot[0]
        assert (float(rect.get("x", "")), float(rect.get("y", ""))) == (x, y)
    assert ".spot:hover .shown{visibility:visible}" in picture.text
    large = cn.explain("max_pool", (20, 20), (5, 5), stride=1)
    assert large._repr_html_() == large.svg()


def test_people_who_do_not_see_it() -> None:
    root = ET.fromstring(cn.explain("max_pool", X, (2, 2)).svg())
    assert root.get("role") == "img"
    assert "max_pool((5, 5), window=(2, 2))" in root.get("aria-label", "")
    assert root.findtext(f"{SVG}title") == "cenote: max_pool((5, 5), window=(2, 2))"
    assert "y[0, 0] = max(3, 5, 2, NaN) = NaN" in (root.findtext(f"{SVG}desc") or "")


def contrast(a: str, b: str) -> float:
    """As WCAG defines it."""

    def light(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    dark, bright = sorted((light(a), light(b)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [style.LIGHT, style.DARK], ids=["light", "dark"])
def test_colours_can_be_read(colours: dict[str, str]) -> None:
    for name in ("ink", "muted", "chosen"):  # texts
        for ground in ("paper", "fill", "pad"):
            assert contrast(colours[name], colours[ground]) >= 4.5 or (name, ground) == ("chosen", "pad")
    for name in ("window", "chosen", "tied", "out"):  # strokes
        assert contrast(colours[name], colours["paper"]) >= 3


def test_no_mark_is_told_by_its_colour_alone() -> None:
    """Marks of elements differ in dashes, width, a corner or a line through them."""
    shapes = {
        kind: (width, dashes, kind in svg.CORNERS, svg.CROSSED.get(kind))
        for kind, (_, _, width, dashes) in style.STROKES.items()
        if kind not in ("middle", "flow", "tap", "out")  # stand in other arrays or pictures
    }
    assert len(set(shapes.values())) == len(shapes)


@pytest.mark.parametrize(
    ("window", "view", "error", "message"),
    [
        (9, "values", ValueError, "window=9: there are 9 windows"),
        ((0, 3), "values", ValueError, "is no index of an output"),
        ("first", "values", TypeError, "a number or the index"),
        (0, "colour", ValueError, "'values' or 'gradient' is needed"),
    ],
)
def test_mistakes(window: Any, view: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        cn.explain("max_pool", X, (2, 2), ceil_mode=True).svg(window, view)


@pytest.mark.parametrize(
    ("write", "error", "message"),
    [
        (lambda e: e.save(3), TypeError, "save: path=3: the name of a file is needed"),
        (lambda e: e.save(None), TypeError, "save: path=None: the name of a file is needed"),
        (
            lambda e: e.save("x.jpg"),
            ValueError,
            "save: path='x.jpg': a name that ends in .svg, .html or .png is needed",
        ),
        (lambda e: e.animate("x.png"), ValueError, "animate: path='x.png': a name that ends in .svg is needed"),
        (lambda e: e.animate("x.svg", "2"), TypeError, "animate: seconds='2': a positive number is needed"),
        (lambda e: e.animate("x.svg", 0), ValueError, "animate: seconds=0: a positive number is needed"),
        (lambda e: e.animate("x.svg", math.nan), ValueError, "animate: seconds=nan: a positive number is needed"),
    ],
)
def test_files_that_are_not_written(
    write: Any, error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as caught:
        write(cn.explain("max_pool", X, (2, 2)))
    assert str(caught.value) == message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", [("max", (3, 4), (5, 3)), ("max", (0, 3, 3), (2, 2))])
def test_a_page_without_windows_names_no_keys(call: tuple[Any, ...]) -> None:
    assert "click an output to pin it" not in cn.explain(*call).html()
    assert "click an output to pin it" in cn.explain("max", (3, 4), (2, 2)).html()


# ------------------------------------------------------------------------------------------------------ the command


def test_the_command_prints_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "max", "--shape", "4,4", "--window", "2,2", "--at", "1,0"]) == 0
    e = cn.explain("max_pool", (4, 4), (2, 2))
    printed = capsys.readouterr().out
    assert printed == e.draw((1, 0)) + "\n"
    assert printed.startswith(e.text)
    assert f"[{short(e.windows[2].result)}]" in printed


COMMANDS: list[tuple[list[str], Any]] = [
    (["avg_pool", "--shape", "7", "--window", "3", "--stride", "2", "--padding", "1", "--count-exclude-pad"],
     lambda: cn.explain("avg_pool", (7,), (3,), stride=2, padding=1, count_include_pad=False)),
    (["conv", "--shape", "5,5,2", "--filter", "3,3,1,2", "--groups", "2", "--dilation", "2"],
     lambda: cn.explain("conv", (5, 5, 2), (3, 3, 1, 2), groups=2, dilation=2)),
    (["conv_transpose", "--shape", "4,1", "--filter", "3,1,1", "--stride", "2", "--output-padding", "1"],
     lambda: cn.explain("conv_transpose", (4, 1), (3, 1, 1), stride=2, output_padding=1)),
    (["adaptive_max", "--shape", "5,7", "--output-size", "2,3"], lambda: cn.explain("adaptive_max", (5, 7), (2, 3))),
    (["global_avg", "--shape", "2,3,3", "--axes", "1,2"], lambda: cn.explain("global_avg", (2, 3, 3), axes=(1, 2))),
    (["max", "--shape", "3,3", "--window", "5,5"], lambda: cn.explain("max_pool", (3, 3), (5, 5))),
    (["min", "--shape", "5,5", "--window", "2,2", "--ceil-mode", "--nan", "omit", "--ties", "split"],
     lambda: cn.explain("min_pool", (5, 5), (2, 2), ceil_mode=True, nan="omit", ties="split")),
]  # fmt: skip


@pytest.mark.parametrize(("flags", "same"), COMMANDS, ids=lambda v: v[0] if isinstance(v, list) else "")
def test_the_command_writes_files(
    flags: list[str], same: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    e = same()
    path = tmp_path / "x.svg"
    assert cli.main(["explain", *flags, "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == e.svg()
    assert capsys.readouterr().out == f"{e.text}\ndrawn in {path}\n"
    assert cli.main(["explain", *flags, "-o", str(path)]) == 1
    assert "x.svg exists: --overwrite replaces it" in capsys.readouterr().err
    page = tmp_path / "x.html"
    for more in ([], ["--html", "--overwrite"]):
        assert cli.main(["explain", *flags, *more, "-o", str(page)]) == 0
        assert page.read_text(encoding="utf-8") == e.html()


def test_a_page_begins_where_it_is_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    e = cn.explain("max_pool", (100, 100), (3, 3), stride=2)
    page = e.html((20, 30), "gradient")
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
    start = data["start"]
    assert (start["view"], data["steps"]["values"][start["window"]]["index"]) == ("gradient", [20, 30])
    indices = [step["index"] for step in data["steps"]["values"]]
    assert indices == sorted(indices)
    flags = ["explain", "max", "--shape", "100,100", "--window", "3,3", "--stride", "2"]
    assert cli.main([*flags, "--at", "20,30", "--gradient", "--html"]) == 0
    assert capsys.readouterr().out == f"{page}\n"


def test_the_command_takes_data_and_animates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.array([3.0, 5, 4]))
    flags = ["explain", "max", "--input", str(tmp_path / "x.npy"), "--window", "2", "--stride", "1"]
    assert cli.main([*flags, "--gradient"]) == 0
    assert "x[1] gets 1" in capsys.readouterr().out
    assert cli.main([*flags, "--html"]) == 0
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")
    assert cli.main([*flags, "--animate", "-o", str(tmp_path / "x.svg")]) == 0
    assert "step-end infinite" in (tmp_path / "x.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["pool", "--shape", "6", "--window", "2", "--init", "1", "--reduce-fn", "multiply"], "multiply of 1, 9, 6"),
        (["conv", "--shape", "4,1", "--filter", "2,1,2", "--bias", "0.5,2"], "+ 0.5 (bias)"),
        (["conv_transpose", "--shape", "3,1", "--filter", "2,1,1", "--stride", "2", "--output-shape", "7"], "7 out"),
        (["smooth_max", "--shape", "4", "--window", "2", "--padding", "1", "--pad-value", "none"], "log(exp(1*9)) /"),
        (["smooth_max", "--shape", "4", "--window", "2", "--padding", "1", "--pad-value", "3"], "exp(1*3)"),
        (["smooth_max", "--shape", "4", "--window", "2", "--padding", "1"], "exp(1*0)"),
    ],
)  # fmt: skip
def test_flags_of_single_functions(flags: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tuple(limits.REDUCERS) == REDUCERS
    assert cli.main(["explain", *flags]) == 0
    assert text in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["blur", "--shape", "4", "--window", "2"], "op='blur': one of max_pool"),
        (["max", "--window", "2"], "one of --shape and --input is needed"),
        (["max", "--shape", "4"], "--window is needed"),
        (
            ["max", "--shape", "4,4", "--window", "2"],
            "--window 2: give one size for each axis, such as 2,2, or name the",
        ),
        (["conv", "--shape", "4,1"], "--filter is needed"),
        (["adaptive_avg", "--shape", "4"], "--output-size is needed"),
        (["max", "--shape", "4", "--window", "2", "--filter", "2"], "not several"),
        (["max", "--shape", "4", "--window", "lat=2"], "--window by name is for netCDF files"),
        (["max", "--shape", "4", "--window", "2", "--animate"], "--animate needs -o FILE.svg"),
        (["max", "--shape", "4", "--window", "2", "-o", "x.gif"], "ends in .svg, .html or .png"),
        (
            ["max", "--shape", "4", "--window", "2", "--html", "-o", "x.svg"],
            "--html -o x.svg: a name that ends in .html",
        ),
        (
            ["max", "--shape", "4", "--window", "2", "--animate", "-o", "b.html"],
            "--animate -o b.html: a name that ends in .svg is needed",
        ),
        (["pool", "--shape", "4", "--window", "2", "--init", "0"], "--init and --reduce-fn are needed"),
        (["max", "--shape", "4", "--window", "2", "--html", "--animate"], "one of --html and --animate"),
        (["max", "--shape", "4", "--window", "2", "--at", "7"], "the result has shape (2,), with outputs from 0 to 1"),
        (["max", "--shape", "4", "--window", "2", "--p", "2"], "p"),
    ],
)
def test_mistakes_of_the_command(flags: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", *flags]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("cenote explain: ")
    assert message in printed
    assert printed.count("\n") == 1


def test_a_png_without_pillow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "cenote.explanation.png", raising=False)
    monkeypatch.delattr(explanation, "png", raising=False)
    with pytest.raises(ImportError, match=r"drawn with Pillow: pip install 'cenote\[demo\]'"):
        cn.explain("max", (4,), (2,)).save(tmp_path / "x.png")
    assert not (tmp_path / "x.png").exists()


def test_lines_that_cross_out_leave_the_value_free() -> None:
    """No line of a crossed-out element comes nearer to its middle than its number reaches; in the legend they do."""
    e = cn.explain("conv_transpose", (3, 4, 2), (2, 2, 1, 2), padding=3)
    paths = [p.get("d", "") for p in ET.fromstring(e.svg()).iter(f"{SVG}path") if p.get("class") == "strike"]
    cells = [c for c in e._scene(None, "values", False).cells if c.array == "y"]
    assert len(paths) == len(cells) + 2
    for cell, path in zip(cells, paths, strict=False):
        ends = [float(part) for part in re.split("[ML ]", path) if part]
        assert len(ends) in (8, 16)
        assert all(abs(y - cell.y - CELL / 2) > svg.VALUE / 2 for y in ends[1::2]), path
        assert all(abs(x - cell.x - CELL / 2) <= CELL / 2 for x in ends[::2])
    assert {path.count("M") for path in paths[-2:]} == {1, 2}


def test_colons_and_commas_of_a_name_stand_apart() -> None:
    """In the PNG there are at least three columns of pixels without ink between any two characters of x[:, :, 0]; the
    SVG says so to the font that it gets."""
    scene = cn.explain("conv", (4, 4, 2), (2, 2, 2, 1))._scene((0, 0, 0), "values", False)
    (name,) = (label for label in scene.labels if label.text == "x[:, :, 0]")
    image = Image.open(io.BytesIO(png.picture(scene))).convert("L")
    left, top = round(name.x * png.SCALE), round((name.y - 9) * png.SCALE)
    pixels = np.asarray(image.crop((left, top, left + 10 * 9 * png.SCALE, top + 9 * png.SCALE)))
    edges = np.diff((pixels < 240).any(axis=0).astype(int), prepend=0)
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    assert len(begins) == len("x[:,:,0]")
    assert (begins[1:] - ends[:-1]).min() >= 3
    assert re.search(r"\.cenote \.slice\{[^}]*letter-spacing:1\.5px", svg.picture(scene))
