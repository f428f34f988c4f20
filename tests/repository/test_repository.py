"""The rules of the repository, as tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "cenote"
CPP = [p for p in sorted((ROOT / "cpp").rglob("*")) if p.suffix in {".cpp", ".hpp", ".inl"}]
PYTHON = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if "typing" not in path.parts)
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))

# What may be imported from what: each from its own layer and from those before it.
LAYERS = [
    "_core", "imports", "arguments.errors", "dtypes", "arguments", "cache", "geometry", "core", "reference", "ops",
    "backends.dispatch", "autodiff",
    "backends", "threadpool", "runtime", "api", "explanation", "__init__", "jax", "xarray", "dialects", "torch", "demo",
    "files", "playground", "cli", "__main__",
]  # fmt: skip


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def layer_of(module: str) -> int:
    """The place of the longest name in LAYERS that the module is or lies in."""
    found = [layer for layer in LAYERS if module == layer or module.startswith(f"{layer}.")]
    assert found, f"say in LAYERS where {module} stands"
    return LAYERS.index(max(found, key=len))


def imports_of(path: Path) -> set[str]:
    """Modules of this package that a module imports, at its top or inside a function."""
    package = path.relative_to(PACKAGE).parent.parts
    modules = {name_of(p) for p in PYTHON} | {"_core"}
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            module = ".".join(part for part in base if part)
            for alias in node.names:
                inner = f"{module}.{alias.name}" if module else alias.name
                found.add(inner if inner in modules else module or "__init__")
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for name in names:
                if name.partition(".")[0] == "cenote":
                    found.add(name.partition(".")[2] or "__init__")
    return found


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_never_go_up(path: Path) -> None:
    place = layer_of(name_of(path))
    for name in imports_of(path):
        if path == PACKAGE / "__init__.py" and name.partition(".")[0] in ("dialects", "explanation"):  # on first use
            continue
        assert layer_of(name) <= place, f"{path.stem} imports {name}, which stands above it"


def test_the_map_has_the_order_of_the_layers() -> None:
    """A module may import what stands above it in the map."""
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("| `_core.pyi`")
    first_cells = re.findall(r"^\| ([^|]+) \|", "".join(table[1:]).partition("\n\n")[0], re.MULTILINE)
    names = [re.sub(r"\.pyi?$|/$", "", name) for cell in first_cells for name in re.findall(r"`([^`]+)`", cell)]
    assert [name.replace("/", ".") for name in names] == LAYERS


def test_imports_go_round_in_no_circle() -> None:
    left = {name_of(path): imports_of(path) for path in PYTHON if path.stem not in ("__init__", "__main__")}
    while left:
        free = [name for name, needed in left.items() if not needed & left.keys()]
        assert free, f"these import each other: {sorted(left)}"
        for name in free:
            del left[name]


# Besides core/: the codes of dtypes, the comparison of cached arguments, and what of the core is set from outside.
USERS_OF_THE_CORE = {"dtypes", "cache", "threadpool", "runtime"}


def test_only_core_calls_the_compiled_core() -> None:
    for path in PYTHON:
        name = name_of(path)
        if name not in USERS_OF_THE_CORE and name.partition(".")[0] != "core":
            assert "_core" not in imports_of(path), f"{name} imports _core: import what it needs from core"


def test_only_the_table_asks_what_kind_a_dtype_is() -> None:
    """``dtype.kind`` and ``dtype.char`` decide nothing elsewhere: not even bfloat16 is a float by its kind."""
    for path in PYTHON:
        if name_of(path) != "dtypes":
            found = {
                ast.unparse(node)
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Attribute) and node.attr in ("kind", "char")
            } - {"p.kind", "parameter.kind"}  # of a parameter in a signature
            assert not found, f"{path.stem}: {found}: ask dtypes.py"


def test_production_code_does_not_import_the_reference() -> None:
    for path in PYTHON:
        if not {"reference", "demo"} & set(path.relative_to(PACKAGE).parts):
            assert not any(name.startswith("reference") for name in imports_of(path)), path


@pytest.mark.parametrize("path", [*PYTHON, *CPP, *TESTS, *BENCHMARKS], ids=lambda p: p.name)
def test_no_file_is_too_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def test_the_package_only_exports() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    for node in tree.body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        exported = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        lazy = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        listed = isinstance(node, ast.FunctionDef) and node.name == "__dir__"
        assert docstring or exported or lazy or listed or isinstance(node, ast.ImportFrom), ast.unparse(node)


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


def included(path: Path) -> list[str]:
    return re.findall(r"#include [<\"]([^>\"]+)[>\"]", path.read_text())


def headers_of_units() -> list[Path]:
    """Headers that are compiled once per SIMD level, because a unit includes them."""
    left = [path for path in CPP if path.suffix == ".inl"]
    found: set[Path] = set()
    while left:
        new = {ROOT / "cpp" / name for name in included(left.pop()) if name.endswith(".hpp")} - found
        found |= new
        left.extend(new)
    return sorted(found)


SHARED = headers_of_units()
ROOMS = ["core", "simd", "targets", "runtime", "conv", "pool", "bindings"]  # each includes from those before it


@pytest.mark.parametrize("path", CPP, ids=lambda p: p.name)
def test_layers_of_the_core(path: Path) -> None:
    includes = included(path)
    if "bindings" not in path.parts:
        python = [i for i in includes if re.search(r"nanobind|Python|pythread|numpy|^bindings/", i)]
        assert not python, "only cpp/bindings knows Python"
    if path.suffix in {".cpp", ".hpp"}:
        below = ROOMS[: ROOMS.index(path.relative_to(ROOT / "cpp").parts[0]) + 1]
        rooms = {i.split("/")[0] for i in includes if "/" in i and i.split("/")[0] in ROOMS}
        allowed = {*below, *({"pool", "conv"} if path.stem in ("levels", "cpu") else set())}
        assert rooms <= allowed, f"{path.name} includes from {rooms - allowed}"
    if path.suffix == ".inl" or path in SHARED:
        standard = [i for i in includes if not i.endswith((".hpp", ".inl"))]
        # Code of the standard library compiled for one level could be the copy that another level runs.
        assert set(standard) <= {"cstddef", "cstdint", "immintrin.h"}, standard


@pytest.mark.parametrize("path", SHARED, ids=lambda p: p.name)
def test_shared_headers_define_nothing_with_linkage(path: Path) -> None:
    text = path.read_text()
    found = re.findall(r"^(?:inline\b|template\b.*\n(?!struct |using |constexpr |static )).*", text, re.MULTILINE)
    assert not found, "a definition with external linkage, see the top of geometry.hpp"


def test_no_binaries_and_no_large_files() -> None:
    for path in ROOT.rglob("*"):
        hidden = any(part.startswith(".") or part in ("build", "__pycache__") for part in path.relative_to(ROOT).parts)
        if path.is_file() and not hidden:
            assert path.suffix not in {".so", ".o", ".a", ".pyd", ".whl"}, path
            assert path.stat().st_size < 300_000, path
