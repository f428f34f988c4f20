"""The documents say what is true: their examples run, their tables and links agree with the code."""

from __future__ import annotations

import doctest
import io
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cenote as cn

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DTYPES = ROOT / "docs" / "dtypes.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
OTHERS = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "cpp/README.md", "cpp/conv/README.md", "cpp/experiments.md")
DOCUMENTS = [*PAGES, *(ROOT / name for name in OTHERS)]
TOOL = runpy.run_path(str(ROOT / "tools" / "dtype_table.py"))
EXPLAINED = runpy.run_path(str(ROOT / "tools" / "explain_pictures.py"))
PICTURE = runpy.run_path(str(ROOT / "tools" / "readme_picture.py"))

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def without_code(text: str) -> str:
    return FENCE.sub("", text)


# ------------------------------------------------------------------------------------------------- the examples


def session(text: str) -> str:
    """The code of all blocks, on the lines where it stands; everything else is left blank."""
    out = [""] * (text.count("\n") + 1)
    for block in FENCE.finditer(text):
        if block[1] != "python":
            continue
        first = text.count("\n", 0, block.start(2))
        for i, line in enumerate(block[2].splitlines()):
            out[first + i] = line
    return "\n".join(out)


def failures_in(text: str, name: str) -> tuple[int, int, str]:
    """How many examples there are in a document, how many of them fail, and how."""
    test = doctest.DocTestParser().get_doctest(session(text), {}, name, name, 0)
    report = io.StringIO()
    results = doctest.DocTestRunner(verbose=False).run(test, out=report.write)
    return results.attempted, results.failed, report.getvalue()


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_examples_run(path: Path) -> None:
    attempted, failed, report = failures_in(read(path), name_of(path))
    assert attempted > 0 or "```console" in read(path)  # those are run by test_command_page.py
    assert failed == 0, report


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_block_of_code_is_an_example(path: Path) -> None:
    text = read(path)
    assert len(FENCE.findall(text)) * 2 == len(re.findall(r"^```", text, re.MULTILINE)), "a fence is not closed"
    for language, code in FENCE.findall(text):
        if language == "sh":
            for line in code.splitlines():
                check_command(line)
        elif language == "console":
            assert code.startswith("$ cenote "), code  # run by test_command_page.py
        else:
            assert language == "python", code
            assert code.startswith(">>> "), code


def check_command(line: str) -> None:
    """A command of a document: an installation from a clone, with extras that exist, or a target of the Makefile."""
    extras = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    install = re.fullmatch(r"python -m pip install (?:\.|'\.\[([\w,]+)\]')", line)
    target = re.fullmatch(r"make (\w+)", line)
    assert install or target, line
    if install and install[1]:
        assert set(install[1].split(",")) <= set(extras), line
    if target:
        assert re.search(rf"^{target[1]}:", read(ROOT / "Makefile"), re.MULTILINE), line


@pytest.mark.parametrize("line", ["pip install cenote", "python -m pip install '.[nonsense]'", "make nonsense"])
def test_a_wrong_command_is_found(line: str) -> None:
    with pytest.raises(AssertionError):
        check_command(line)


def test_a_wrong_example_is_found() -> None:
    text = "# Title\n\n```python\n>>> 1 + 1\n2\n```\nText.\n```python\n>>> 1 + 1\n3\n```\n"
    attempted, failed, report = failures_in(text, "page")
    assert (attempted, failed) == (2, 1)
    assert "line 9" in report


# --------------------------------------------------------------------------------------------------- the tables


def table_under(text: str, heading: str) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of the first table under a heading."""
    section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    header, _, *rows = [[element.strip() for element in line.strip("|").split(" | ")] for line in lines]
    return header, rows


def call(operation: str, x: Any) -> Any:
    """``operation`` on a small array, every option as it is by default."""
    function = getattr(cn, operation)
    if operation == "max_unpool":
        return function(x, np.zeros(x.shape, int), (2,))
    if operation in ("correlate", "convolve"):
        return function(x, x[:2])
    if operation.startswith("conv"):
        return function(x[:, None], x[:2, None, None])
    if operation.startswith("adaptive"):
        return function(x, (2,))
    if operation.startswith("global"):
        return function(x, axes=0)
    if operation == "pool":
        results = [function(x, (2,), 0, fn) for fn in (np.add, np.maximum, np.minimum)]
        (dtype,) = {result.dtype for result in results}
        return results[0].astype(dtype)
    return function(x, (2,))


def test_the_page_of_dtypes_is_up_to_date() -> None:
    assert read(DTYPES) == TOOL["page"](), "run python tools/dtype_table.py"


def test_the_table_of_dtypes_covers_every_operation_and_dtype() -> None:
    header, rows = table_under(read(DTYPES), "Result dtypes")
    operations = set(re.findall(r"`(\w+)`", " ".join(header[1:])))
    assert operations == {name for name in cn.__all__ if name.endswith("pool") or name.startswith(("conv", "corr"))}
    listed = {row[0].strip("`") for row in rows}
    assert {np.dtype(code).name for code in "?bBhHiIqQefdFD"} | {"bfloat16", "longdouble", "object"} <= listed


def dtype_named(name: str) -> np.dtype[Any]:
    codes = {"datetime64": "M8[s]", "timedelta64": "m8[s]", "str": "U1", "bytes": "S1", "bfloat16": ml_dtypes.bfloat16}
    dtype: np.dtype[Any] = np.dtype(codes.get(name, name))
    return dtype


@pytest.mark.parametrize("row", table_under(read(DTYPES), "Result dtypes")[1], ids=lambda row: str(row[0]).strip("`"))
def test_operations_give_the_dtypes_that_the_table_says(row: list[str]) -> None:
    header, _ = table_under(read(DTYPES), "Result dtypes")
    dtype = dtype_named(row[0].strip("`"))
    for swapped in (False, True):
        x = np.array([1, 0, 1, 1]).astype(dtype.newbyteorder() if swapped else dtype)
        for title, promised in zip(header[1:], row[1:], strict=True):
            for operation in re.findall(r"`(\w+)`", title):
                if promised == "`TypeError`":
                    with pytest.raises(TypeError, match=f"^{operation}: "):
                        call(operation, x)
                else:
                    result = call(operation, x)
                    assert result.dtype == dtype_named(promised.strip("`")), operation
                    assert result.dtype.isnative


# Sums that come out differently in another dtype. The tree adds the first two elements, then the third: after a large
# number, a small one survives only where both fit.
HALF, SINGLE = 2.0**11, 2.0**24
WITNESSES: list[tuple[str, str, str, list[float], float]] = [
    ("sum_pool", "bool", "int64", [1, 1, 1], 3),
    ("sum_pool", "int8", "int64", [127, 127, 127], 381),
    ("sum_pool", "uint8", "uint64", [255, 255, 255], 765),
    ("sum_pool", "int32", "int64", [2**31 - 1, 2**31 - 1, 1], 2**32 - 1),
    ("sum_pool", "int64", "int64", [2**53, 1, -(2**53)], 1),
    ("sum_pool", "int64", "int64", [2**63 - 1, 1, 1], -(2**63) + 1),
    ("sum_pool", "uint64", "uint64", [2**64 - 1, 1, 1], 1),
    ("sum_pool", "float16", "float32", [HALF, 1, -HALF], 1),
    ("sum_pool", "float16", "float32", [2.0**15, 2.0**-9, -(2.0**15)], 0),
    ("sum_pool", "bfloat16", "float32", [HALF, 1, -HALF], 1),
    ("sum_pool", "bfloat16", "float32", [SINGLE, 1, -SINGLE], 0),
    ("sum_pool", "float32", "float32", [SINGLE, 1, -SINGLE], 0),
    ("sum_pool", "float64", "float64", [SINGLE, 1, -SINGLE], 1),
    ("sum_pool", "complex64", "complex64", [SINGLE, 1, -SINGLE], 0),
    ("sum_pool", "complex128", "complex128", [SINGLE, 1, -SINGLE], 1),
    ("avg_pool", "int8", "float64", [127, 127, 127], 127),
    ("avg_pool", "int64", "float64", [2**53, 1, -(2**53)], 0),
    ("avg_pool", "uint64", "float64", [3 * 2**62, 3 * 2**62, 3 * 2**62], 3 * 2**62),
    ("avg_pool", "float16", "float32", [40000, 40000, 40000], 40000),
    ("avg_pool", "float16", "float32", [2.0**15, 2.0**-9, -(2.0**15)], 0),
    ("avg_pool", "bfloat16", "float32", [SINGLE, 1, -SINGLE], 0),
    ("avg_pool", "float32", "float32", [SINGLE, 1, -SINGLE], 0),
    ("avg_pool", "float64", "float64", [SINGLE, 3, -SINGLE], 1),
    ("avg_pool", "complex128", "complex128", [SINGLE, 3, -SINGLE], 1),
    # In a convolution the order of a sum is not promised: these come out the same in any.
    ("conv", "int8", "int8", [127, 127, 127], 125),
    ("conv", "uint16", "uint16", [2**16 - 1, 2, 3], 4),
    ("conv", "int64", "int64", [2**53, 1, -(2**53)], 1),
    ("conv", "uint64", "uint64", [2**64 - 1, 1, 1], 1),
    ("conv", "float16", "float32", [HALF, 1, -HALF], 1),
    ("conv", "float16", "float32", [65504, 65504, -65504], 65504),
    ("conv", "bfloat16", "float32", [HALF, 1, -HALF], 1),
    ("conv", "float64", "float64", [SINGLE, 1, -SINGLE], 1),
    ("conv", "complex128", "complex128", [SINGLE, 1, -SINGLE], 1),
]


@pytest.mark.parametrize(("operation", "name", "held_in", "elements", "expected"), WITNESSES)
def test_sums_are_held_in_the_dtypes_that_the_table_says(
    operation: str, name: str, held_in: str, elements: list[float], expected: float
) -> None:
    header, rows = table_under(read(DTYPES), "Accumulator dtypes")
    (row,) = [row for row in rows if row[0] == f"`{name}`"]
    (column,) = [i for i, title in enumerate(header) if f"`{operation}`" in title]
    assert row[column] == f"`{held_in}`"
    x = np.array(elements, dtype_named(name))
    got = cn.conv(x[:, None], np.ones((3, 1, 1), x.dtype)) if operation == "conv" else getattr(cn, operation)(x, (3,))
    assert got.item() == expected


def test_norms_and_smooth_maxima_are_held_in_float64() -> None:
    header, rows = table_under(read(DTYPES), "Accumulator dtypes")
    assert header[-1] == "`lp_pool`, `smooth_max_pool`"
    assert {row[-1] for row in rows if "complex" not in row[0]} == {"`float64`"}
    x = np.random.default_rng(0).standard_normal((5000, 7)).astype(np.float32)
    wide = x.astype(np.float64)
    # Rounded once from float64, nearly every result is the nearest one; added in float32, many are not, but close.
    for p in (2.5, 1, 2, 3, 4):
        norms = (np.abs(wide) ** p).sum(1) ** (1 / p)
        got = cn.lp_pool(x, (7,), p=p)[:, 0]
        assert (np.mean(got == norms.astype(np.float32)) > 0.999) == (p == 2.5)
        assert (np.abs(got - norms) <= 2 * np.spacing(norms.astype(np.float32))).all()
    for beta in (0.2, 1.0):
        smooth = np.log(np.exp(beta * wide).sum(1)) / beta
        got = cn.smooth_max_pool(x, (7,), beta=beta)[:, 0]
        assert (np.mean(got == smooth.astype(np.float32)) > 0.999) == (beta == 0.2)
        assert (np.abs(got - smooth) <= 2 * np.spacing(np.maximum(np.abs(smooth), 1 / beta).astype(np.float32))).all()


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_rows_of_tables_have_as_many_elements_as_their_header(path: Path) -> None:
    width = 0
    for line in without_code(read(path)).splitlines():
        elements = len(re.findall(r"(?<!\\)\|", line)) - 1 if line.startswith("|") else 0
        assert not (width and elements) or elements == width, line
        width = elements


# ---------------------------------------------------------------------------------------------- names and links


def test_the_readme_names_every_public_function() -> None:
    named = set(re.findall(r"`(\w+)`", without_code(read(README))))
    assert set(cn.__all__) <= named


def test_the_readme_names_every_window_argument() -> None:
    header, rows = table_under(read(README), "Window arguments")
    assert header == ["argument", "meaning", "default"]
    arguments = ["window", "stride", "padding", "dilation", "ceil_mode", "axes"]
    assert [row[0].strip("`=") for row in rows] == arguments


def test_the_picture_is_what_the_code_computes() -> None:
    text = read(PICTURE["TARGET"])
    assert text == PICTURE["picture"](), "run python tools/readme_picture.py, and look at it"
    assert len(text) < 100_000
    assert f"]({PICTURE['TARGET'].relative_to(ROOT).as_posix()})" in read(README)


@pytest.mark.parametrize("name", EXPLAINED["PICTURES"])
def test_the_pictures_of_windows_are_what_explain_draws(name: str) -> None:
    text = read(EXPLAINED["FOLDER"] / f"{name}.svg")
    assert text == EXPLAINED["PICTURES"][name](), "run python tools/explain_pictures.py, and look at it"
    assert len(text) < 40_000
    assert f"](explain/{name}.svg)" in read(ROOT / "docs" / "explain.md") + read(ROOT / "docs" / "windows.md")


def test_the_package_is_described_alike_everywhere() -> None:
    sentence = read(README).split("\n\n")[1]
    assert cn.__doc__ == sentence
    assert tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["description"] == sentence.rstrip(".")


def test_the_readme_starts_with_what_it_is() -> None:
    """The first screen: one sentence, how to install, three lines of code, the picture, for whom, how fast."""
    parts = ["```sh\npython -m pip install .", "```python\n>>> import", "![", "**Who it is for.**", "**How fast.**"]
    text = read(README)
    places = [text.index(part) for part in [*parts, "<!-- benchmarks: begin", "## "]]
    assert places == sorted(places)
    assert text[: places[0]].count(". ") == 0, "one sentence"
    rows = text.partition("<!-- benchmarks: begin -->")[2].partition("<!--")[0].count("\n| ")
    assert rows <= 10


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", without_code(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", without_code(read(path))):
        if link.startswith("https://"):
            continue
        target, _, anchor = link.partition("#")
        there = path if not target else (path.parent / target).resolve()
        assert there.exists(), link
        assert there.is_relative_to(ROOT.resolve()), link
        assert not anchor or anchor in anchors(read(there)), link


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    fields = dict(re.findall(r"^([\w-]+): (.+)$", read(ROOT / "CITATION.cff"), re.MULTILINE))
    assert fields["title"] == project["name"]
    assert fields["version"] == project["version"]
    assert fields["license"] == project["license"]


def test_the_commands_of_the_documents_exist() -> None:
    makefile = read(ROOT / "Makefile")
    for path in DOCUMENTS:
        for target in re.findall(r"`make (\w+)`", read(path)):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{name_of(path)}: make {target}"


# ------------------------------------------------------------------------------------------ what is not there yet


def test_what_is_said_not_to_be_there_is_not_there() -> None:
    section = read(README).partition("## What is not there yet")[2].partition("\n## ")[0]
    assert "Arrays of other libraries" in section  # which are refused below
    for name in re.findall(r"`(\w+)`", section):
        assert not hasattr(cn, name)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("torch", "Tensor"),
        ("dask.array.core", "Array"),
        ("xarray.core.dataarray", "DataArray"),
    ],
)
def test_arrays_of_other_libraries_are_refused(module: str, name: str) -> None:
    class Array:
        def __array__(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("it was converted silently")

    Array.__module__, Array.__name__ = module, name
    with pytest.raises(TypeError, match=r"which (is not supported yet|cannot be used here): pass "):
        cn.max_pool(Array(), (2,))
