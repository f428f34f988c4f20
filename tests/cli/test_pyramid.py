"""``cenote pyramid``: valid OME-Zarr, the right values and places of pixels, and the same bytes after kills."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import ome_zarr_models
import pytest
import tifffile
import yaozarrs
import zarr
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from PIL import Image

import cenote as cn
from cenote import cli
from cenote.files import pyramid, run_folder, streaming

RNG = np.random.default_rng(0)
VOLUME = RNG.integers(0, 60000, (21, 50, 45)).astype(np.uint16)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(streaming, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(streaming, "LEAST_BYTES", 4096)
    return tmp_path


def run(*arguments: str) -> int:
    return cli.main(["pyramid", *arguments])


def files_in(folder: str) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*")) if p.is_file()}


def check_fails(capsys: pytest.CaptureFixture[str], expected: str, *arguments: str) -> None:
    before = sorted(p.name for p in Path().iterdir())
    assert run(*arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("cenote pyramid: ")
    assert error.count("\n") == 1
    assert expected in error, error
    assert sorted(p.name for p in Path().iterdir()) == before


def metadata(out: str) -> Any:
    attributes: Any = zarr.open_group(out, mode="r").attrs.asdict()
    return attributes["ome"]["multiscales"][0] if "ome" in attributes else attributes["multiscales"][0]


@pytest.mark.parametrize("op", ["avg", "max", "min", "median", "mode"])
@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_levels_metadata_and_readers(version: str, op: str) -> None:
    np.save("in.npy", VOLUME)
    arguments = ["--format", version, "--levels", "3", "--window", "1,2,2", "--pixel-size", "1,0.5,0.25", "--op", op]
    assert run("in.npy", "out.zarr", "--unit", "micrometer", "--chunks", "4,16,16", "--quiet", *arguments) == 0
    yaozarrs.validate_zarr_store("out.zarr")
    group: Any = zarr.open_group("out.zarr", mode="r")
    assert ome_zarr_models.open_ome_zarr(group).ome_zarr_version == version
    assert group.metadata.zarr_format == (2 if version == "0.4" else 3)
    expected = VOLUME
    for level in range(3):
        array: Any = group[str(level)]
        np.testing.assert_array_equal(array[...], expected)
        assert array.dtype == VOLUME.dtype
        keeps = {"dtype": np.uint16} if op in ("avg", "median") else {}
        expected = getattr(cn, f"{op}_pool")(expected, (1, 2, 2), ceil_mode=True, **keeps)
    scales = [d["coordinateTransformations"] for d in metadata("out.zarr")["datasets"]]
    assert [s[0]["scale"] for s in scales] == [[1, 0.5, 0.25], [1, 1, 0.5], [1, 2, 1]]
    assert [s[1]["translation"] for s in scales] == [[0, 0, 0], [0, 0.25, 0.125], [0, 0.75, 0.375]]
    assert [a["name"] for a in metadata("out.zarr")["axes"]] == ["z", "y", "x"]
    location = parse_url("out.zarr")
    assert location is not None
    (node, *_) = Reader(location)()
    assert [tuple(d.shape) for d in node.data] == [(21, 50, 45), (21, 25, 23), (21, 13, 12)]
    np.testing.assert_array_equal(np.asarray(node.data[0]), VOLUME)


@pytest.mark.parametrize("op", ["avg", "max", "min", "median", "mode"])
def test_a_constant_stays_constant(op: str) -> None:
    """The partial windows at the edges count the elements that are there."""
    np.save("in.npy", np.full((7, 9, 11), 1000, np.uint16))
    assert run("in.npy", "out.zarr", "--levels", "4", "--op", op, "--quiet") == 0
    group: Any = zarr.open_group("out.zarr", mode="r")
    assert [group[str(level)].shape for level in range(4)] == [(7, 9, 11), (4, 5, 6), (2, 3, 3), (1, 2, 2)]
    assert {int(v) for level in range(4) for v in np.unique(group[str(level)])} == {1000}


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_labels_are_never_mixed(version: str) -> None:
    """By mode, also labels above 2**53, which a float would change."""
    labels = RNG.choice(np.array([0, 3, 9, 2**63 + 1], np.uint64), (9, 20, 20))
    zarr.create_array("in.zarr", data=labels, chunks=(4, 8, 8), shards=(8, 16, 16))
    assert run("in.zarr", "out.zarr", "--levels", "3", "--op", "mode", "--format", version, "--quiet") == 0
    group: Any = zarr.open_group("out.zarr", mode="r")
    for level in range(1, 3):
        labels = cn.mode_pool(labels, (2, 2, 2), ceil_mode=True)
        np.testing.assert_array_equal(group[str(level)][...], labels)
        assert group[str(level)].dtype == np.uint64
    assert group["1"].shards == ((8, 16, 16) if version == "0.5" else None)


@pytest.mark.parametrize("name", ["in.png", "in.tif"])
def test_a_colour_picture_has_its_colours_in_front(name: str) -> None:
    picture = RNG.integers(0, 256, (40, 30, 3)).astype(np.uint8)
    if name == "in.png":
        Image.fromarray(picture).save(name)
    else:
        tifffile.imwrite(name, picture, photometric="rgb")
    assert run(name, "out.zarr", "--levels", "2", "--quiet") == 0
    group: Any = zarr.open_group("out.zarr", mode="r")
    first, second = (np.asarray(group[level]) for level in ("0", "1"))
    np.testing.assert_array_equal(first, np.moveaxis(picture, -1, 0))
    np.testing.assert_array_equal(second, cn.avg_pool(first, (2, 2), dtype=np.uint8))
    assert [a["name"] for a in metadata("out.zarr")["axes"]] == ["c", "y", "x"]


def test_of_a_zarr_with_its_own_names_chunks_and_a_default_number_of_levels() -> None:
    zarr.create_array("in.zarr", data=np.zeros((2, 600, 300), np.float32), chunks=(1, 64, 64),
                      dimension_names=("c", "y", "x"))  # fmt: skip
    assert run("in.zarr", "out.zarr", "--quiet") == 0
    group: Any = zarr.open_group("out.zarr", mode="r")
    shapes = [group[level].shape for level in ("0", "1", "2")]
    assert shapes == [(2, 600, 300), (2, 300, 150), (2, 150, 75)]  # until nothing is longer than 256
    assert "3" not in group
    assert group["0"].chunks == (1, 64, 64)


def test_faults(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", VOLUME)
    np.save("complex.npy", VOLUME.astype(complex))
    np.save("line.npy", VOLUME[0, 0])
    Path("there.zarr").mkdir()
    for expected, *arguments in [
        ("exists: --overwrite", "in.npy", "there.zarr"),
        ("ends with .zarr", "in.npy", "out.npy"),
        ("ends with .zarr", "in.npy", "there.zarr/inner"),
        ("names 2 axes", "in.npy", "out.zarr", "--axes", "yx"),
        ("letters of t, c, z, y and x", "in.npy", "out.zarr", "--axes", "abc"),
        ("one size for each", "in.npy", "out.zarr", "--window", "2,2"),
        ("one positive number", "in.npy", "out.zarr", "--pixel-size", "1,2"),
        ("one positive number", "in.npy", "out.zarr", "--pixel-size", "1,2,0"),
        ("level 7 would be as large as level 6", "in.npy", "out.zarr", "--levels", "9"),
        ("bool, integers or floats", "complex.npy", "out.zarr"),
        ("2 to 5 axes", "line.npy", "out.zarr"),
        ("there is no such file", "none.npy", "out.zarr"),
    ]:
        check_fails(capsys, expected, *arguments)


# ------------------------------------------------------------------------------------------------- kills


def process_of(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    # Small blocks, so that there are many moments to be killed at.
    script = (
        "import sys; from cenote.files import streaming; streaming.BLOCK_BYTES = streaming.LEAST_BYTES = 1 << 16\n"
        "from cenote import cli; sys.exit(cli.main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "pyramid", *arguments, "--quiet"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)


def finish(*arguments: str) -> int:
    process = process_of(*arguments)
    _, error = process.communicate(timeout=120)
    assert error == ""
    return process.returncode


def opens_as_image(path: str) -> bool:
    try:
        yaozarrs.validate_zarr_store(path)
    except Exception:
        return False
    return True


def soak(kills: int) -> None:
    x = np.arange(32 * 120 * 120, dtype=np.uint32).reshape(32, 120, 120) * 7919
    zarr.create_array("in.zarr", data=x.astype(np.uint16), chunks=(8, 32, 32))
    arguments = ["in.zarr", "out.zarr", "--levels", "4", "--chunks", "8,16,16"]
    begun = time.monotonic()
    Path("whole").mkdir()
    assert finish("in.zarr", "whole/out.zarr", *arguments[2:]) == 0  # of the same name, which is in the metadata
    usual = time.monotonic() - begun
    random.seed(1)
    done = 0
    while done < kills:
        process = process_of(*arguments, "--resume", "--overwrite")
        time.sleep(random.uniform(0.3, 1.0) * usual)
        if process.poll() is None:
            process.kill()
            done += 1
        else:  # it was faster: begin again
            assert process.wait() == 0, process.communicate()
            assert files_in("out.zarr") == files_in("whole/out.zarr")
        assert process.communicate()[1] == ""
        assert not opens_as_image("out.zarr.partial")
        assert not Path("out.zarr").exists() or files_in("out.zarr") == files_in("whole/out.zarr")
    assert finish(*arguments, "--resume", "--overwrite") == 0
    assert files_in("out.zarr") == files_in("whole/out.zarr")
    assert sorted(p.name for p in Path().iterdir()) == ["in.zarr", "out.zarr", "whole"]


def test_the_same_bytes_after_kills() -> None:
    soak(3)
    assert files_in("out.zarr")


@pytest.mark.slow
def test_the_same_bytes_after_twenty_kills() -> None:
    soak(20)
    assert files_in("out.zarr")


def interrupted(monkeypatch: pytest.MonkeyPatch, after: int, *arguments: str) -> int:
    """The exit code of a run that ends by Ctrl-C after so many blocks."""
    original, count = run_folder.Journal.record, [0]

    def record(self: Any, line: str) -> None:
        original(self, line)
        count[0] += 1
        if count[0] == after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run_folder.Journal, "record", record)
        return run(*arguments, "--quiet")


def test_resume(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", VOLUME)
    options = ["--levels", "3", "--chunks", "4,16,16"]
    Path("whole").mkdir()
    assert run("in.npy", "whole/out.zarr", *options, "--quiet") == 0
    # Without --resume, Ctrl-C leaves nothing behind.
    assert interrupted(monkeypatch, 9, "in.npy", "out.zarr", *options) == 130
    assert sorted(p.name for p in Path().iterdir()) == ["in.npy", "whole"]
    # With it, what is done stays for the next run.
    assert interrupted(monkeypatch, 9, "in.npy", "out.zarr", *options, "--resume") == 130
    assert sorted(p.name for p in Path().iterdir()) == ["in.npy", "out.zarr.partial", "whole"]
    capsys.readouterr()
    check_fails(capsys, "--resume with other options", "in.npy", "out.zarr", "--levels", "2", "--resume")
    check_fails(capsys, "--resume continues it, --overwrite begins anew", "in.npy", "out.zarr", *options)
    journal = Path("out.zarr.partial/journal").read_text().splitlines()
    computed: list[Any] = []
    original = streaming.compute

    def compute(*given: Any) -> Any:
        computed.append(given)
        return original(*given)

    monkeypatch.setattr(streaming, "compute", compute)
    assert run("in.npy", "out.zarr", *options, "--resume", "--quiet") == 0
    blocks = sum(not line.startswith("created") for line in journal)
    assert blocks > 0
    assert files_in("out.zarr") == files_in("whole/out.zarr")
    again = len(computed)
    computed.clear()
    assert run("in.npy", "other.zarr", *options, "--quiet") == 0
    assert len(computed) == again + blocks


def test_a_kill_between_the_rename_and_the_clean_up(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", VOLUME)
    assert run("in.npy", "out.zarr", "--levels", "2", "--quiet") == 0
    Path("out.zarr.partial").mkdir()
    Path("out.zarr.partial/journal").write_text("complete\n")
    assert run("in.npy", "out.zarr", "--levels", "2", "--resume") == 0
    assert "out.zarr/1: 11×25×23" in capsys.readouterr().out
    assert not Path("out.zarr.partial").exists()


@pytest.mark.parametrize("how", [[], ["--resume"], ["--overwrite"]])
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_has_the_name_of_the_folder_of_a_run_is_not_removed(
    kind: str, how: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("in.npy", VOLUME)
    users = Path("out.zarr.partial/notes.txt" if kind == "folder" else "out.zarr.partial")
    users.parent.mkdir(exist_ok=True)
    users.write_text("mine")
    assert run("in.npy", "out.zarr", "--levels", "2", "--quiet", *how) == 1
    assert "out.zarr.partial" in capsys.readouterr().err
    assert users.read_text() == "mine"


@pytest.mark.parametrize("left", [[], ["run.json.new"], ["run.json.new", "image.zarr"]])
def test_a_kill_before_the_options_are_written(left: list[str]) -> None:
    np.save("in.npy", VOLUME)
    Path("out.zarr.partial").mkdir()
    for name in left:
        (Path("out.zarr.partial") / name).write_text("{")
    assert run("in.npy", "out.zarr", "--levels", "2", "--resume", "--quiet") == 0
    assert not Path("out.zarr.partial").exists()


def test_a_kill_before_the_clean_up_and_another_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("in.npy", VOLUME)
    np.save("other.npy", VOLUME)
    original, calls = pyramid.clean_up, [0]

    def killed(partial: Path, path: Path) -> Any:
        calls[0] += 1
        if calls[0] == 2:  # after the last rename
            raise SystemExit(9)
        return original(partial, path)

    with monkeypatch.context() as patch:
        patch.setattr(pyramid, "clean_up", killed)
        patch.setattr(pyramid, "remove", lambda path: None)
        with pytest.raises(SystemExit):
            run("in.npy", "out.zarr", "--levels", "2", "--quiet")
    assert Path("out.zarr.partial").exists()
    assert run("other.npy", "out.zarr", "--levels", "3", "--resume") == 1
    assert "--resume with other options than the first run" in capsys.readouterr().err
    assert sorted(p.name for p in Path().iterdir()) == ["in.npy", "other.npy", "out.zarr"]


def test_an_image_that_was_to_be_replaced_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    np.save("in.npy", VOLUME)
    assert run("in.npy", "out.zarr", "--levels", "2", "--quiet") == 0
    before = files_in("out.zarr")
    original = Path.rename

    def rename(path: Path, target: Path) -> Path:
        result = original(path, target)
        if Path(target).name == "replaced.zarr":
            raise SystemExit(9)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", rename)
        patch.setattr(pyramid, "remove", lambda path: None)
        with pytest.raises(SystemExit):
            run("in.npy", "out.zarr", "--levels", "3", "--overwrite", "--quiet")
    assert not Path("out.zarr").exists()
    assert run("in.npy", "out.zarr", "--levels", "3", "--quiet") == 1  # it exists, and is not to be replaced
    assert files_in("out.zarr") == before


def test_a_folder_of_the_users_stays(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("in.npy", VOLUME)
    Path("out.zarr.finished").mkdir()
    Path("out.zarr.finished/precious").write_text("mine")
    assert run("in.npy", "out.zarr", "--levels", "2", "--quiet") == 0
    assert Path("out.zarr.finished/precious").read_text() == "mine"


def test_a_full_disk_is_one_line_and_leaves_nothing() -> None:
    zarr.create_array("in.zarr", data=RNG.integers(0, 65536, (32, 256, 256)).astype(np.uint16), chunks=(32, 256, 256))
    small = Path("small")
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "small"], check=False).returncode == 0
    limit = None if mounted else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    try:
        process = process_of("in.zarr", "small/out.zarr", preexec_fn=limit)
        _, error = process.communicate(timeout=60)
        assert process.returncode == 1
        assert error.count("\n") == 1
        assert ("No space left" if mounted else "File too large") in error
        assert list(small.iterdir()) == []
    finally:
        if mounted:
            subprocess.run(["umount", "small"], check=True)


def test_sigterm_is_no_success() -> None:
    zarr.create_array("in.zarr", shape=(64, 512, 512), chunks=(8, 64, 64), dtype="u2", fill_value=3)
    process = process_of("in.zarr", "out.zarr", env=dict(os.environ))
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not Path("out.zarr").exists()
