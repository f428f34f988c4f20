"""Where output goes, and what lies there already: other arrays of an archive, folders, names that cannot be."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
import zarr
from PIL import Image

import cenote as cn
from cenote import cli
from cenote.files import cluster
from cenote.files.ngff import axes_of
from cenote.files.numpy_files import ArraySource
from failing_commands import check_fails

RNG = np.random.default_rng(0)
VOLUME = RNG.integers(0, 60000, (6, 14, 15)).astype(np.uint16)
MAXIMA = cn.max_pool(VOLUME, (2, 2))
WINDOW = ("--window", "2,2")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", VOLUME)
    return tmp_path


# --------------------------------------------------------------------------------------------------- archives


@pytest.mark.parametrize("name", ["b", "new", "file", "arr_0"])
def test_a_named_array_of_an_archive_is_replaced_and_the_others_stay(name: str) -> None:
    """``file`` and ``arr_0`` are names that np.savez takes for arguments of its own."""
    np.savez_compressed("out.npz", a=np.arange(5), b=np.arange(3))
    assert cli.main(["pool", "in.npy", f"out.npz:{name}", *WINDOW, "--overwrite", "--quiet"]) == 0
    with np.load("out.npz") as archive:
        assert sorted(archive.files) == sorted({"a", "b", name})
        np.testing.assert_array_equal(archive[name], MAXIMA)
        np.testing.assert_array_equal(archive["a"], np.arange(5))
        if name != "b":
            np.testing.assert_array_equal(archive["b"], np.arange(3))
    assert sorted(p.name for p in Path().iterdir()) == ["in.npy", "out.npz"]


def test_an_archive_without_a_name_is_replaced_whole() -> None:
    np.savez("out.npz", a=np.arange(5))
    assert cli.main(["pool", "in.npy", "out.npz", *WINDOW, "--overwrite", "--quiet"]) == 0
    with np.load("out.npz") as archive:
        assert archive.files == ["arr_0"]


def test_an_archive_that_cannot_be_read_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.npz").write_bytes(b"PK not an archive")
    check_fails(capsys, "its other arrays would be lost", "pool", "in.npy", "out.npz:a", *WINDOW, "--overwrite")
    assert Path("out.npz").read_bytes() == b"PK not an archive"


def test_an_archive_of_the_command_can_be_read_by_zipfile_too() -> None:
    assert cli.main(["pool", "in.npy", "out.npz:x", *WINDOW, "--quiet"]) == 0
    with zipfile.ZipFile("out.npz") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["x.npy"]


# ------------------------------------------------------------------------------------------------------ folders


@pytest.mark.parametrize("command", [("pool", "in.npy", "out.zarr", *WINDOW), ("pyramid", "in.npy", "out.zarr")])
def test_a_folder_that_is_no_zarr_array_is_not_replaced(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out.zarr").mkdir()
    for name in "abcdef":
        Path("out.zarr", name).write_text("precious")
    check_fails(capsys, "is a folder that is no zarr array, and holds a, b, c, d and 2 more", *command, "--overwrite")
    for name in "abcdef":
        Path("out.zarr", name).unlink()
    assert cli.main([*command, "--overwrite", "--quiet"]) == 0  # an empty one holds nothing


def test_a_group_with_many_arrays_is_described_in_short(capsys: pytest.CaptureFixture[str]) -> None:
    group = zarr.create_group("many.zarr")
    for i in range(9):
        group.create_array(f"a{i}", data=VOLUME)
    check_fails(capsys, "holds a0, a1, a2, a3 and 5 more", "pool", "in.npy", "many.zarr", *WINDOW, "--overwrite")
    assert cli.main(["pool", "many.zarr", "out.npy", *WINDOW]) == 1
    error = capsys.readouterr().err
    assert error.count("many.zarr/a") == 6
    assert error.endswith(", …)\n")


def test_arrays_are_found_in_groups_of_groups(capsys: pytest.CaptureFixture[str]) -> None:
    group = zarr.create_group("in.zarr")
    check_fails(capsys, "in.zarr is a group without arrays", "pool", "in.zarr", "out.npy", *WINDOW)
    group.create_array("deep/er/a", data=VOLUME)
    check_fails(capsys, "choose one of its arrays (in.zarr/deep/er/a)", "pool", "in.zarr", "out.npy", *WINDOW)


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_arrays_are_found_in_both_formats(number: Any, consolidated: bool, capsys: pytest.CaptureFixture[str]) -> None:
    group = zarr.create_group("in.zarr", zarr_format=number)
    group.create_array("b", data=VOLUME)
    group.create_array("deep/a", data=VOLUME)
    if consolidated:
        zarr.consolidate_metadata("in.zarr")
    check_fails(capsys, "choose one of its arrays (in.zarr/b, in.zarr/deep/a)", "pool", "in.zarr", "out.npy", *WINDOW)
    assert cli.main(["pool", "in.zarr/deep/a", "out.npy", *WINDOW, "--quiet"]) == 0
    np.testing.assert_array_equal(np.load("out.npy"), MAXIMA)


# -------------------------------------------------------------------------------------------------------- names


def test_long_names(capsys: pytest.CaptureFixture[str]) -> None:
    name = "x" * 251 + ".npy"  # the longest of most file systems, and not too long for the file that is written first
    assert cli.main(["pool", "in.npy", name, *WINDOW, "--quiet"]) == 0
    assert Path(name).exists()
    name = "y" + name
    check_fails(capsys, f"{name} cannot be written: File name too long", "pool", "in.npy", name, *WINDOW)


@pytest.mark.parametrize(
    "address",
    ["nonsense://x", "localhost", "", "tcp://", "tcp://localhost:1", "ws://localhost:1", "wss://localhost:1",
     "tls://localhost:1", "inproc://1/2/3", "inproc://x", "ucx://localhost:1"],
)  # fmt: skip
def test_an_address_without_a_scheduler_is_refused_at_once(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "CONNECTING", 1)
    zarr.create_array("in.zarr", data=VOLUME)
    start = time.monotonic()
    check_fails(capsys, f"--scheduler {address}: ", "pool", "in.zarr", "out.zarr", *WINDOW, "--scheduler", address)
    assert time.monotonic() - start < 15  # a client that cannot connect waits for 20 s before it is closed


@pytest.mark.parametrize("out", ["w.npy", "b.npy", "in.npy"])
def test_out_is_none_of_the_files_that_are_read(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", RNG.random((8, 8, 2)))
    np.save("w.npy", RNG.random((3, 3, 2, 4)))
    np.save("b.npy", RNG.random(4))
    what = {"w.npy": "filter", "b.npy": "bias", "in.npy": "input"}[out]
    before = Path(out).read_bytes()
    expected = f"{out} is the {what} itself: give another name for the output"
    check_fails(capsys, expected, "conv", "in.npy", "w.npy", out, "--bias", "b.npy", "--overwrite")
    assert Path(out).read_bytes() == before


# --------------------------------------------------------------------------------------------- empty and boolean


@pytest.mark.parametrize("out", ["out.npy", "out.npz", "out.zarr"])
@pytest.mark.parametrize("shape", [(0, 4, 6), (0, 0, 4, 4)])
def test_an_empty_batch(shape: tuple[int, ...], out: str) -> None:
    zarr.create_array("in.zarr", data=np.zeros(shape, np.float32))
    assert cli.main(["pool", "in.zarr", out, *WINDOW, "--quiet"]) == 0
    y: Any = zarr.open_array(out, mode="r") if out.endswith("zarr") else np.load(out)
    assert (y["arr_0"] if out.endswith("npz") else y).shape == (*shape[:-2], shape[-2] // 2, shape[-1] // 2)


@pytest.mark.parametrize("shape", [(0, 8, 9, 3), (4, 8, 9, 3)])
def test_an_empty_batch_is_convolved(shape: tuple[int, ...]) -> None:
    zarr.create_array("in.zarr", data=RNG.random(shape, np.float32), chunks=(1, 4, 4, 3))
    w = RNG.random((3, 3, 3, 5), np.float32)
    np.save("w.npy", w)
    for out in ("out.npy", "out.zarr"):
        assert cli.main(["conv", "in.zarr", "w.npy", out, "--padding", "same", "--quiet"]) == 0
    x = zarr.open_array("in.zarr", mode="r")[...]
    np.testing.assert_allclose(np.load("out.npy"), cn.conv(x, w, padding="same"), rtol=1e-5)
    assert zarr.open_array("out.zarr", mode="r").shape == (*shape[:-1], 5)


@pytest.mark.parametrize("source", ["in.npy", "in.tif"])
@pytest.mark.parametrize("shape", [(9, 12), (4, 9, 12), (9, 12, 4, 7)])
def test_a_boolean_tiff(shape: tuple[int, ...], source: str) -> None:
    mask = RNG.random(shape) < 0.2
    if source == "in.npy":
        np.save(source, mask)
    else:
        tifffile.imwrite(source, mask)
    assert cli.main(["pool", source, "out.tif", "--window", "3,3", "--axes=-2,-1", "--quiet"]) == 0
    y = tifffile.imread("out.tif")
    assert y.dtype == bool
    np.testing.assert_array_equal(y, cn.max_pool(mask, (3, 3), axes=(len(shape) - 2, len(shape) - 1)))


def test_a_boolean_tiff_with_colours() -> None:
    mask = RNG.random((9, 12, 3)) < 0.2
    zarr.create_array("in.zarr", data=mask, dimension_names=("y", "x", "s"))
    assert cli.main(["pool", "in.zarr", "out.tif", "--window", "3,3", "--axes", "0,1", "--quiet"]) == 0
    y = tifffile.imread("out.tif")
    assert y.dtype == bool
    np.testing.assert_array_equal(y, cn.max_pool(mask, (3, 3), axes=(0, 1)))


@pytest.mark.parametrize("name", ["in.png", "in.jpg", "alpha.png"])
def test_a_colour_picture_becomes_a_colour_tiff(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    picture = RNG.integers(0, 256, (32, 44, 4 if name == "alpha.png" else 3)).astype(np.uint8)
    Image.fromarray(picture).save(name)
    read = np.asarray(Image.open(name))
    assert cli.main(["pool", name, "half.tif", *WINDOW, "--quiet"]) == 0
    with tifffile.TiffFile("half.tif") as file:
        (page,) = file.pages
        assert (page.photometric.name, file.series[0].axes) == ("RGB", "YXS")  # type: ignore[union-attr]
    half = cn.max_pool(read, (2, 2), axes=(0, 1))
    np.testing.assert_array_equal(tifffile.imread("half.tif"), half)
    assert cli.main(["pool", "half.tif", "quarter.tif", *WINDOW, "--quiet"]) == 0
    np.testing.assert_array_equal(tifffile.imread("quarter.tif"), cn.max_pool(half, (2, 2), axes=(0, 1)))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("shape", [(1, 9, 12), (9, 1, 12), (2, 1, 9, 12), (12,), (5, 3, 9, 4)])
def test_a_tiff_has_the_shape_of_the_result(shape: tuple[int, ...]) -> None:
    x = RNG.integers(0, 256, shape).astype(np.uint8)
    np.save("in.npy", x)
    assert cli.main(["pool", "in.npy", "out.tif", "--window", "1", "--axes", "0", "--quiet"]) == 0
    np.testing.assert_array_equal(tifffile.imread("out.tif").reshape(shape), x)
    assert cli.main(["pool", "out.tif", "back.npy", "--window", "1", "--axes", "0", "--quiet"]) == 0
    assert np.load("back.npy").shape == shape


# ----------------------------------------------------------------------------------------------------- pyramids


def test_what_no_pyramid_can_be_made_of(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("empty.npy", np.zeros((0, 4, 4)))
    np.save("flat.npy", np.zeros(4))
    for expected, *arguments in [
        ("a pyramid needs at least one element", "empty.npy", "out.zarr"),
        ("a pyramid has 2 to 5 axes, the input has 1", "flat.npy", "out.zarr"),
        ("--window 0: 0 is too small, at least 1 is needed", "in.npy", "out.zarr", "--window", "0"),
        ("--window 1,2,0: 0 is too small", "in.npy", "out.zarr", "--window", "1,2,0"),
        ("--window 2,2: one size for each of the 3 axes", "in.npy", "out.zarr", "--window", "2,2"),
    ]:
        check_fails(capsys, expected, "pyramid", *arguments)


@pytest.mark.parametrize(
    ("rank", "dims", "picture", "axes"),
    [
        (2, None, None, "yx"),
        (3, None, None, "zyx"),
        (5, None, None, "tczyx"),
        (3, ("y", "x", "s"), (0, 1), "yxc"),
        (3, None, (0, 1), "yxc"),
        (4, None, (1, 2), "zyxc"),
        (4, ("q", "y", "x", "s"), (1, 2), "zyxc"),
        (4, ("i", "j", "y", "x"), None, "czyx"),
        (3, ("a", "b", "c"), None, "zyx"),
        (3, ("x", "y", "z"), None, "xyz"),
        (4, ("y", "y", "x", "c"), None, "czyx"),
    ],
)
def test_names_of_axes(rank: int, dims: tuple[str, ...] | None, picture: tuple[int, int] | None, axes: str) -> None:
    source = ArraySource(np.empty((4,) * rank), "in memory")
    source.dims, source.picture = dims, picture
    assert axes_of(source) == axes


def test_a_stack_of_colour_pictures() -> None:
    stack = RNG.integers(0, 256, (5, 20, 30, 3)).astype(np.uint8)
    tifffile.imwrite("in.tif", stack, photometric="rgb")
    assert cli.main(["pyramid", "in.tif", "out.zarr", "--levels", "2", "--window", "2", "--quiet"]) == 0
    group: Any = zarr.open_group("out.zarr", mode="r")
    moved = np.moveaxis(stack, -1, 0)  # c before the space axes, as the format says
    np.testing.assert_array_equal(group["0"][...], moved)
    np.testing.assert_array_equal(group["1"][...], cn.avg_pool(moved, (2, 2, 2), ceil_mode=True, dtype=np.uint8))
