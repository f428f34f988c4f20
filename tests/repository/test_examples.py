"""Every example runs and does what it says."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import cenote as cn

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


PACKAGES = {"numpy": "NumPy", "cenote": "cenote", "sklearn": "scikit-learn", "PIL": "Pillow"}


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
        [sys.executable, str(path), "--steps", "3"], capture_output=True, text=True, timeout=120, check=False
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
