"""Every example runs and does what it says."""

from __future__ import annotations

import ast
import copy
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaozarrs
import zarr
from PIL import Image

import cenote as cn
import cenote.torch

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


PACKAGES = {
    "numpy": "NumPy", "cenote": "cenote", "sklearn": "scikit-learn", "PIL": "Pillow", "zarr": "zarr",
    "torch": "torch", "jax": "JAX", "flax": "flax", "optax": "optax", "xarray": "xarray",
}  # fmt: skip
ARGUMENTS: dict[str, list[str]] = {"microscopy_pyramid": []}  # those that learn take a number of steps


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.stem))
def test_examples_say_what_they_need(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = [node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name for node in nodes]
    imported = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names)
    needs = (ast.get_docstring(tree) or "").partition("Needs:")[2].partition("Run:")
    for package in imported:
        assert PACKAGES[package] in needs[0], package
    assert f"python examples/{path.name}" in needs[2]


def load(name: str) -> Any:
    path = next(p for p in EXAMPLES if p.stem == name)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_runs_as_a_program(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(path), *ARGUMENTS.get(path.stem, ["--steps", "3"])],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_beta_is_learned() -> None:
    assert load("learn_beta").learn(true_beta=3.0, steps=150) == pytest.approx(3.0, rel=0.02)


def test_hessian_vector_products() -> None:
    example = load("hessian_vector")
    f, w = example.make_loss()
    hessian = np.array([example.hessian_vector(f, w, unit) for unit in np.eye(w.size)])
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)
    numeric = [(cn.grad(f)(w + 1e-6 * e) - cn.grad(f)(w - 1e-6 * e)) / 2e-6 for e in np.eye(w.size)]
    np.testing.assert_allclose(hessian, numeric, atol=1e-7)
    curvature, _ = example.largest_curvature(f, w, steps=200)
    assert abs(curvature) == pytest.approx(np.abs(np.linalg.eigvalsh(hessian)).max(), rel=1e-6)


def test_the_flax_network_learns_to_read(capsys: pytest.CaptureFixture[str]) -> None:
    network = load("flax_network")
    learned_from, kept_away = network.load()
    model, losses = network.train(learned_from, steps=150)
    assert network.accuracy(model, *kept_away) >= 0.85
    assert np.mean(losses[-20:]) < 0.2 * losses[0]
    assert capsys.readouterr().out.count("step ") == 11


def test_resnet_is_trained_alike_with_and_without_accelerate() -> None:
    example = load("resnet_step")
    torch.manual_seed(0)
    plain = example.resnet(8)
    fast = copy.deepcopy(plain)
    replaced = [name for name, _, _ in cenote.torch.accelerate(fast)]
    assert replaced == ["3", "5.shortcut.0", "6.shortcut.0", "7"]
    data = example.batches(12, 32)
    theirs, ours = example.train(plain, data)[0], example.train(fast, data)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-2)  # rounding grows from step to step
    np.testing.assert_allclose(ours[:2], theirs[:2], rtol=1e-5)
    assert np.mean(ours[-3:]) < np.mean(ours[:3])


def test_a_climate_field_keeps_its_mean_by_area() -> None:
    example = load("climate")
    field = example.sea_surface(months=5)
    coarse = example.coarsened_by_area(field, {"lat": 30, "lon": 45})
    assert dict(coarse.sizes) == {"time": 5, "lat": 6, "lon": 8}
    assert coarse.lat.values.tolist() == [-75, -45, -15, 15, 45, 75]
    assert (coarse.name, coarse.attrs) == (field.name, field.attrs)
    area = np.cos(np.radians(field.lat))
    for i, j in np.ndindex(6, 8):
        cells = field[:, 30 * i : 30 * i + 30, 45 * j : 45 * j + 45]
        np.testing.assert_allclose(coarse[:, i, j], cells.weighted(area).mean(("lat", "lon")))


def test_lenet_learns_to_read(capsys: pytest.CaptureFixture[str]) -> None:
    lenet = load("lenet")
    learned_from, kept_away = lenet.load()
    assert [len(part[0]) for part in (learned_from, kept_away)] == [1437, 360]
    p, losses = lenet.train(learned_from, steps=800)
    assert lenet.accuracy(p, *kept_away) >= 0.97
    assert np.mean(losses[-50:]) < 0.1 * losses[0]
    assert capsys.readouterr().out.count("step ") == 10
    drawn = lenet.plot(losses, "LeNet")
    line = (np.asarray(drawn)[50:300, 70:660] == (0, 0, 128)).all(axis=2)
    assert line.any(axis=0).all(), "the average goes from one side to the other"
    assert line[:, :20].argmax(axis=0).mean() < 60 < line[:, -20:].argmax(axis=0).mean()


def test_the_plot_of_lenet_is_written(tmp_path: Path) -> None:
    path = next(p for p in EXAMPLES if p.stem == "lenet")
    command = [sys.executable, str(path), "--steps", "2", "--out", str(tmp_path / "new")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "accuracy on 360 pictures" in done.stdout
    with Image.open(tmp_path / "new" / "lenet-loss.png") as image:
        assert (image.format, image.size) == ("PNG", (680, 320))


def test_a_microscopy_volume_becomes_pyramids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = load("microscopy_pyramid")
    example.run(tmp_path / "new", shape=(24, 96, 96), cells=9)
    printed = capsys.readouterr().out
    assert "level 3:      3×12×12, voxels of [16.0, 5.2, 5.2] µm, the first at [7.0, 2.275, 2.275]" in printed
    assert printed.endswith("none that was not there before: True\n")
    volume, labels = example.make_cells((24, 96, 96), 9)
    for name, expected in (
        ("cells", cn.avg_pool(volume, (2, 2, 2), dtype=np.uint16)),
        ("labels", cn.mode_pool(labels, (2, 2, 2))),
    ):
        yaozarrs.validate_zarr_store(str(tmp_path / "new" / f"{name}.zarr"))
        found: Any = zarr.open_array(tmp_path / "new" / f"{name}.zarr" / "1", mode="r")
        np.testing.assert_array_equal(found[...], expected)
    assert labels.max() == 9
    assert volume[labels > 0].mean() > 2 * volume[labels == 0].mean()
