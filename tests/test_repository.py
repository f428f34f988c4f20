"""The rules of the repository, as tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "cenote"
CPP = [p for p in sorted((ROOT / "cpp").rglob("*")) if p.suffix in {".cpp", ".hpp", ".inl"}]
PYTHON = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").glob("*.py"))
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))

# What may be imported from what: each module only from those before it.
ORDER = [
    "errors",
    "arguments",
    "geometry",
    "window",
    "frame",
    "arrays",
    "reference",
    "convolution_reference",
    "_core",
    "owning",
    "primitives",
    "convolving",
    "runtime",
    "linear",
    "graph",
    "tensor",
    "elementwise",
    "functions",
    "reductions",
    "reductions",
    "contraction",
    "rules",
    "convolution_rules",
    "autodiff",
    "checking",
    "pooling",
    "adaptive",
    "unpooling",
    "fold",
    "convolution",
    "kernels",
    "__init__",
    "picture",
    "scene",
    "demo",
    "cli",
]


def imports_of(path: Path) -> set[str]:
    """Modules of this package that a module imports, at its top or inside a function."""
    found = set()
    outside = path.parent != PACKAGE  # a dialect: two dots lead to the package
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1 and outside:
            continue
        if isinstance(node, ast.ImportFrom) and node.level == 1 + outside:
            found |= {node.module.partition(".")[0]} if node.module else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "cenote":
            inner = (node.module or "").partition(".")[2]
            found |= {inner or "__init__"}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "cenote" and path.stem != "kernels":  # it names public functions
                    found.add(alias.name.partition(".")[2] or "__init__")
    return found


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_never_go_up(path: Path) -> None:
    if path.parent == PACKAGE:
        assert path.stem in ORDER, f"say in ORDER where {path.stem} stands"
        place = ORDER.index(path.stem)
    else:  # dialects stand on the package, and nothing stands on them
        place = ORDER.index("__init__")
    for name in imports_of(path):
        assert name in ORDER[:place], f"{path.stem} imports {name}, which stands above it"


@pytest.mark.parametrize("path", [*PYTHON, *CPP, *TESTS, *BENCHMARKS], ids=lambda p: p.name)
def test_no_file_is_too_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def test_the_package_only_exports() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    for node in tree.body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        exported = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        assert docstring or exported or isinstance(node, ast.ImportFrom), ast.unparse(node)


@pytest.mark.parametrize("path", TESTS, ids=lambda p: p.name)
def test_nothing_is_skipped_and_every_test_asserts(path: Path) -> None:
    text = path.read_text()
    if path != Path(__file__):
        assert not re.search(r"pytest\.(mark\.)?(skip|xfail)|importorskip|unittest\.skip", text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            body = ast.unparse(node)
            assert re.search(r"\bassert|pytest\.raises|check|close\(", body), f"{node.name} asserts nothing"


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: p.stem)
def test_no_assert_guards_the_user(path: Path) -> None:
    """An assert vanishes under python -O."""
    assert not [node.lineno for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Assert)]


# What units of several SIMD levels include.
SHARED = ("geometry.hpp", "levels.hpp", "separable.hpp", "tile.hpp", "kernels.hpp", "fft_kernels.hpp")
ROOMS = ["core", "simd", "targets", "runtime", "conv", "pool", "bindings"]  # each includes from those before it


@pytest.mark.parametrize("path", CPP, ids=lambda p: p.name)
def test_layers_of_the_core(path: Path) -> None:
    includes = re.findall(r"#include [<\"]([^>\"]+)[>\"]", path.read_text())
    if "bindings" not in path.parts:
        python = [i for i in includes if re.search(r"nanobind|Python|pythread|numpy|^bindings/", i)]
        assert not python, "only cpp/bindings knows Python"
    if path.suffix in {".cpp", ".hpp"}:
        below = ROOMS[: ROOMS.index(path.relative_to(ROOT / "cpp").parts[0]) + 1]
        rooms = {i.split("/")[0] for i in includes if "/" in i and i.split("/")[0] in ROOMS}
        allowed = {*below, *({"pool", "conv"} if path.stem in ("levels", "cpu") else set())}
        assert rooms <= allowed, f"{path.name} includes from {rooms - allowed}"
    if path.suffix == ".inl" or path.name in (
        "geometry.hpp",
        "levels.hpp",
        "separable.hpp",
        "tile.hpp",
        "kernels.hpp",
        "fft_kernels.hpp",
    ):
        standard = [i for i in includes if not i.endswith((".hpp", ".inl"))]
        # Code of the standard library compiled for one level could be the copy that another level runs.
        assert set(standard) <= {"cstddef", "cstdint", "immintrin.h"}, standard


def test_shared_headers_define_nothing_with_linkage() -> None:
    for name in ("core/geometry.hpp", "runtime/levels.hpp", "pool/tile.hpp", "pool/drivers/separable.hpp"):
        for line in (ROOT / "cpp" / name).read_text().splitlines():
            if re.match(r"(inline|template)\b", line):
                pytest.fail(f"{name}: {line}: a definition with external linkage, see the top of geometry.hpp")
    assert (ROOT / "cpp" / "core" / "geometry.hpp").exists()


def test_no_binaries_and_no_large_files() -> None:
    for path in ROOT.rglob("*"):
        hidden = any(part.startswith(".") or part in ("build", "__pycache__") for part in path.relative_to(ROOT).parts)
        if path.is_file() and not hidden:
            assert path.suffix not in {".so", ".o", ".a", ".pyd", ".whl"}, path
            assert path.stat().st_size < 300_000, path
