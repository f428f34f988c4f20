"""``cenote pyramid``: which axis is which, what its arguments refer to, what it replaces and what it continues."""

from __future__ import annotations

import errno
import json
import os
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
import zarr
from PIL import Image

import cenote as cn
from cenote import cli
from cenote.files import pyramid, run_folder
from cenote.files.ngff import axes_of
from cenote.files.numpy_files import ArraySource

RNG = np.random.default_rng(0)
PICTURE = RNG.integers(0, 256, (32, 44, 3)).astype(np.uint8)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    return cli.main(["pyramid", *arguments, "--quiet"])


def check_fails(capsys: pytest.CaptureFixture[str], expected: str, *arguments: str) -> str:
    before = {p: p.is_file() and p.read_bytes() for p in Path().rglob("*")}
    assert run(*arguments) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert expected in error, error
    assert {p: p.is_file() and p.read_bytes() for p in Path().rglob("*")} == before
    return error


def metadata(out: str) -> Any:
    attributes: Any = zarr.open_group(out, mode="r").attrs.asdict()
    return attributes["ome"]["multiscales"][0]


# -------------------------------------------------------------------------------------------------------- axes


@pytest.mark.parametrize("axes", [[], ["--axes", "yxc"]])
@pytest.mark.parametrize("name", ["c.png", "c.tif", "c.npy", "c.zarr"])
def test_windows_and_pixel_sizes_are_in_the_order_of_the_input(name: str, axes: list[str]) -> None:
    """As ``cenote info`` prints its axes; chunks are those of OUT, which has the colours in front."""
    if name == "c.png":
        Image.fromarray(PICTURE).save(name)
    elif name == "c.tif":
        tifffile.imwrite(name, PICTURE, photometric="rgb")
    elif name == "c.npy":
        np.save(name, PICTURE)
        axes = ["--axes", "yxc"]  # it says nothing about its axes
    else:
        zarr.create_array(name, data=PICTURE, dimension_names=("y", "x", "c"))
    more = ["--levels", "2", "--window", "4,2,1", "--pixel-size", "0.5,0.25,1", "--chunks", "1,8,16"]
    assert run(name, "o.zarr", *more, *axes) == 0
    group: Any = zarr.open_group("o.zarr", mode="r")
    level0, level1 = np.asarray(group["0"]), np.asarray(group["1"])
    np.testing.assert_array_equal(level0, np.moveaxis(PICTURE, -1, 0))
    np.testing.assert_array_equal(level1, cn.avg_pool(level0, (4, 2), dtype=np.uint8))
    assert group["0"].chunks == (1, 8, 16)
    scales = [dataset["coordinateTransformations"][0]["scale"] for dataset in metadata("o.zarr")["datasets"]]
    assert scales == [[1, 0.5, 0.25], [1, 2, 0.5]]


def test_the_axes_in_messages_are_in_the_order_of_the_input(capsys: pytest.CaptureFixture[str]) -> None:
    Image.fromarray(PICTURE).save("c.png")
    check_fails(capsys, "for each of the axes yxc", "c.png", "o.zarr", "--pixel-size", "1,2")
    check_fails(capsys, "for each of the axes cyx", "c.png", "o.zarr", "--chunks", "4,4")


def test_channels_of_colour_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    """What the message advises works, and does not average colours."""
    x = RNG.integers(0, 256, (2, 20, 30, 3)).astype(np.uint8)
    tifffile.imwrite("in.tif", x, photometric="rgb", metadata={"axes": "CYXS"})
    error = check_fails(capsys, "the input has channels and colours, c, y, x, s", "in.tif", "o.zarr")
    advice = shlex.split(error.split("write ")[1])
    assert run("in.tif", "o.zarr", "--levels", "2", "--window", "1,2,2,1", *advice) == 0
    group: Any = zarr.open_group("o.zarr", mode="r")
    moved = np.moveaxis(x, -1, 0)
    np.testing.assert_array_equal(group["0"][...], moved)
    np.testing.assert_array_equal(group["1"][...], cn.avg_pool(moved, (2, 2), dtype=np.uint8))


@pytest.mark.parametrize("last", [None, "rgb"])
def test_a_last_axis_without_a_usable_name_is_colours(last: str | None) -> None:
    zarr.create_array("in.zarr", data=PICTURE, dimension_names=("y", "x", last))
    assert run("in.zarr", "o.zarr", "--levels", "2") == 0
    group: Any = zarr.open_group("o.zarr", mode="r")
    np.testing.assert_array_equal(group["0"][...], np.moveaxis(PICTURE, -1, 0))
    np.testing.assert_array_equal(group["1"][...], cn.avg_pool(np.moveaxis(PICTURE, -1, 0), (2, 2), dtype=np.uint8))


@pytest.mark.parametrize(
    ("dims", "advice"),
    [("cyxs", "zyxc"), ("tcyxs", "tzyxc"), ("cyx?", "zyxc"), ("csyx", "ztyx"), ("?cyxs", "ztyxc")],
)
def test_the_advice_for_two_axes_of_channels(dims: str, advice: str) -> None:
    source = ArraySource(np.empty((4,) * len(dims)), "in memory")
    source.dims = tuple(dims)
    with pytest.raises(Exception, match=f"write --axes {advice}$"):
        axes_of(source)
    assert set(advice) <= set("tczyx")
    assert len(set(advice)) == len(dims)


# ------------------------------------------------------------------------------------------- what is replaced


def test_what_lies_in_a_group_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", PICTURE[..., 0])
    zarr.create_group("group.zarr")
    Path("group.zarr/data").mkdir()
    Path("group.zarr/data/v.npy").write_bytes(b"precious")
    expected = "group.zarr is a group that is no image, and holds data: remove it yourself"
    check_fails(capsys, expected, "in.npy", "group.zarr", "--overwrite")


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_labels_of_an_image_are_not_lost(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", PICTURE[..., 0])
    options = ["--levels", "3", "--format", version]
    assert run("in.npy", "o.zarr", *options) == 0
    assert run("in.npy", "o.zarr", *options, "--overwrite") == 0
    zarr.open_group("o.zarr/labels", mode="w", zarr_format=2).create_array("cells", data=PICTURE[..., 0])
    expected = "o.zarr is an image, and also holds labels: remove it yourself"
    check_fails(capsys, expected, "in.npy", "o.zarr", *options, "--overwrite")


# -------------------------------------------------------------------------------------------- unfinished runs


@pytest.mark.parametrize("name", ["in.npy", "in.zarr"])
def test_another_input_is_not_resumed(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def save(x: Any) -> None:
        if name == "in.npy":
            np.save(name, x)
        else:
            zarr.create_array(name, data=x, overwrite=True)
            os.utime("in.zarr/zarr.json", ns=(0, int(x[0, 0]) * 10**9))

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    first = np.full((32, 44), 1, np.uint8)
    save(first)
    with monkeypatch.context() as patch:
        patch.setattr(pyramid, "finish", interrupt)
        assert run(name, "o.zarr", "--resume") == 130
    capsys.readouterr()
    save(first + 1)
    os.utime(name, ns=(0, 5 * 10**9))
    check_fails(capsys, f"--resume: {name} has changed since the first run", name, "o.zarr", "--resume")
    assert run(name, "o.zarr", "--overwrite") == 0  # as the message says
    group: Any = zarr.open_group("o.zarr", mode="r")
    np.testing.assert_array_equal(group["0"][...], first + 1)


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_a_disk_that_is_full_already(
    resume: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("in.npy", PICTURE[..., 0])

    def full(path: Path, text: str) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        assert run("in.npy", "o.zarr", *resume) == 1
    assert capsys.readouterr().err == "cenote pyramid: o.zarr cannot be written: No space left on device\n"
    if not resume:
        assert [p.name for p in Path().iterdir()] == ["in.npy"]
    assert run("in.npy", "o.zarr", *resume) == 0
    assert sorted(p.name for p in Path().iterdir()) == ["in.npy", "o.zarr"]


def test_the_stamp_of_an_array_in_an_archive_or_a_group() -> None:
    np.savez("m.npz", a=PICTURE)
    zarr.create_group("g.zarr", zarr_format=2).create_array("a", data=PICTURE)
    for name, file in (("m.npz:a", "m.npz"), ("g.zarr/a", "g.zarr/a/.zarray")):
        size, time = run_folder.stamp_of(name)
        assert (size, time) == (Path(file).stat().st_size, Path(file).stat().st_mtime_ns)
        assert json.loads(json.dumps([size, time])) == [size, time]
