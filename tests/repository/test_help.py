"""What ``help`` shows of each public function stands alone: every section is there, and agrees with the signature."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import cenote as cn

PUBLIC: dict[str, Callable[..., Any]] = {name: getattr(cn, name) for name in cn.__all__ if callable(getattr(cn, name))}
ORDER = ["Parameters", "Returns", "Raises", "See Also", "Notes", "Examples"]  # numpydoc's
# What a signature may show. Names of our own that say nothing to a reader of ``help`` are left out.
READABLE = {
    "ArrayLike", "DTypeLike", "NDArray", "Padding", "Any", "Callable", "Literal", "Sequence", "contextlib",
    "AbstractContextManager", "bool", "float", "int", "str", "tuple", "None", "Explanation",
}  # fmt: skip
SHARED = ("window", "stride", "dilation", "ceil_mode", "axes", "out")


def sections(function: Callable[..., Any]) -> dict[str, str]:
    """The text under each heading of a docstring in numpydoc's style; the summary is under no name."""
    text = inspect.getdoc(function) or ""
    parts = re.split(r"^(\w[\w ]*)\n(-+)$", text, flags=re.MULTILINE)
    titles, rules, bodies = parts[1::3], parts[2::3], parts[3::3]
    assert all(len(title) == len(rule) for title, rule in zip(titles, rules, strict=True)), titles
    return {"": parts[0].strip()} | dict(zip(titles, (body.strip("\n") for body in bodies), strict=True))


def entries(section: str) -> dict[str, tuple[str, str]]:
    """name → type and description of each entry of a section."""
    parts = re.split(r"^(\S.*)$", section, flags=re.MULTILINE)
    out = {}
    for head, body in zip(parts[1::2], parts[2::2], strict=True):
        name, _, kind = head.partition(" : ")
        out[name] = (kind, inspect.cleandoc(body).strip())
    return out


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = inspect.signature(function).parameters
    return {stars.get(p.kind, "") + name: p for name, p in found.items() if name != "self"}


def problems(function: Callable[..., Any]) -> list[str]:
    """What is wrong with a docstring."""
    out = []
    found = sections(function)
    summary = found.pop("").partition("\n")[0]
    if not summary.endswith(".") or len(summary) > 110:
        out.append("the summary is one short sentence")
    if list(found) != [title for title in ORDER if title in found]:
        out.append(f"sections are {list(found)}")
    wanted = parameters(function)
    documented = entries(found.get("Parameters", ""))
    if list(documented) != list(wanted):
        out.append(f"parameters are {list(wanted)}, documented are {list(documented)}")
    for name, parameter in wanted.items():
        kind, text = documented.get(name, ("", ""))
        has_default = parameter.default is not inspect.Parameter.empty
        if ("optional" in kind) != has_default or not text:
            out.append(f"{name} : {kind}")
    gives_nothing = inspect.isclass(function) or inspect.signature(function).return_annotation == "None"
    if ("Returns" in found) == gives_nothing:
        out.append("Returns does not agree with the signature")
    for name, (description, _) in entries(found.get("See Also", "")).items():
        if not callable(getattr(cn, name, None)) or name == function.__name__ or not description.endswith("."):
            out.append(f"See Also {name}")
    if not found.get("See Also"):
        out.append("no See Also")
    if ">>> import" not in found.get("Examples", ""):
        out.append("no Examples that run by themselves")
    return out


@pytest.mark.parametrize("name", PUBLIC)
def test_help_stands_alone(name: str) -> None:
    assert problems(PUBLIC[name]) == []


@pytest.mark.parametrize("name", PUBLIC)
def test_signatures_show_readable_types(name: str) -> None:
    signature = inspect.signature(PUBLIC[name])
    shown = [str(p.annotation) for p in signature.parameters.values()] + [str(signature.return_annotation)]
    names = set(re.findall(r"[A-Za-z_]\w*", re.sub(r"'[^']*'|\"[^\"]*\"", "", " ".join(shown))))
    assert names <= READABLE


def without_what_is_of_one(text: str) -> str:
    """Axes are those of ``x``, of ``y`` or of the input, and what is pooled may be a window or spatial axes."""
    return re.sub(r"``[xy]``|the input", "x", text)


@pytest.mark.parametrize("argument", SHARED)
def test_window_arguments_are_described_alike(argument: str) -> None:
    texts: dict[str, list[str]] = {}
    for name, function in PUBLIC.items():
        found = entries(sections(function).get("Parameters", ""))
        if "window" in found and argument in found and name != "which_kernel":
            texts.setdefault(without_what_is_of_one(": ".join(found[argument])), []).append(name)
    allowed = 2 if argument == "out" else 1  # one array, or a pair with return_indices
    assert len(texts) == allowed, texts
    assert sum(map(len, texts.values())) >= 8


ON_ARRAYS = [name for name, f in PUBLIC.items() if {"x", "y"} & set(parameters(f)) and "window" in parameters(f)] + [
    "adaptive_max_pool", "adaptive_avg_pool", "global_max_pool", "global_avg_pool",
    "conv", "conv_transpose", "correlate", "convolve",
]  # fmt: skip


@pytest.mark.parametrize("name", ON_ARRAYS)
def test_other_array_libraries_are_named(name: str) -> None:
    found = sections(PUBLIC[name])
    documented = entries(found["Parameters"])
    _, text = documented.get("x") or documented["y"]
    assert {"torch", "JAX", "dask", "xarray"} <= set(re.findall(r"\w+", text))
    if name in ("conv", "conv_transpose"):  # whose axes have no names: the layout says which they are
        return
    arguments = [argument for argument in ("window", "output_size", "axes") if argument in documented]
    kind, text = documented[arguments[0]]
    assert "xarray object" in " ".join(text.split())
    assert ("dict" in kind) == (arguments[0] != "axes")
    pools = name != "max_unpool" and name not in ("correlate", "convolve")
    assert ("``coord_func``" in found["Returns"]) == pools


def test_what_is_missing_is_found() -> None:
    def whole(x: int, *, y: int = 2) -> int:
        """Add.

        Parameters
        ----------
        x : int
            One.
        y : int, optional
            Other.

        Returns
        -------
        int
            Sum.

        See Also
        --------
        max_pool : Maximum.

        Examples
        --------
        >>> import cenote
        """
        return x + y

    assert problems(whole) == []
    text = whole.__doc__ or ""
    for part, broken in [
        ("Add.", "Add"),
        ("int, optional", "int"),
        ("        x : int\n            One.\n", ""),
        ("Other.", ""),
        ("Returns\n        -------", "Raises\n        ------"),
        ("See Also\n        --------", "Notes\n        -----"),
        ("max_pool", "max_spool"),
        ("max_pool", "whole"),
        (">>> import", "..."),
    ]:
        assert part in text
        whole.__doc__ = text.replace(part, broken)
        assert problems(whole) != [], broken


def test_methods_of_tensors_are_documented() -> None:
    for name in dir(cn.Tensor):
        attribute = inspect.getattr_static(cn.Tensor, name)
        if not name.startswith("_") and name != "grad":  # a slot: the class says what it is
            assert inspect.getdoc(attribute), name
    assert "``grad``" in (cn.Tensor.__doc__ or "")
