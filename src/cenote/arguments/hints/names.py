"""Names of functions that other libraries have, and what to write here."""

from __future__ import annotations

import contextlib
import difflib
import dis
import importlib
import importlib.util
import re
import sys

import numpy as np

from . import filters, functions
from .drafts import PACKAGE
from .words import TENSOR_ATTRIBUTES

CALLS = functions.CALLS | filters.CALLS
NOTES = functions.NOTES | filters.NOTES
NO_CALL = functions.NO_CALL | filters.NO_CALL
RANK = re.compile(r"([1-9n])d(?=$|transpose)")
MOST = 8  # names that a message has room for
DEFAULT_RANKS = {"medfilt": 1, "findpeaks": 1}  # 2, if a name does not say how many dimensions
MODULES = re.compile(r"((Max|Min|Avg|LP|AdaptiveMax|AdaptiveAvg|SmoothMax)Pool|MaxUnpool)[123]d")
# Names that come with a module of the package, which `import cenote` does not import.
IMPORTS = {"torch": "torch", "accelerate": "torch", "jax": "jax", "xarray": "xarray"}
# Modules of other libraries.
IN_OTHERS = {
    **dict.fromkeys(("F", "functional"), f"write import {PACKAGE}.torch as F, or cn.dialects.torch for NumPy arrays"),
    **{name: f"write cn.dialects.flax.{name}" for name in ("nnx", "linen")},
    **dict.fromkeys(
        ("keras", "layers", "ndimage", "signal", "lax", "image", "filters", "morphology", "measure"),
        "all functions are in cenote itself, such as cn.max_pool",
    ),
}
DIALECTS = ("torch", "mygrad", "d2l", "nabla", "flax", "torchlean")


def no_such_name(name: str, public: list[str], module: str = PACKAGE) -> Exception:
    """The error for a name that the package or one of its modules does not have, raised by its ``__getattr__``.

    Python replaces an AttributeError in ``from cenote import name`` by an ImportError of its own, without the hint.
    """
    hint = missing_name(name, public) if module == PACKAGE else missing_in_module(name, public, module)
    line = sys._getframe(2)  # of the user's
    if hint and line.f_lasti >= 0 and line.f_code.co_code[line.f_lasti] == dis.opmap["IMPORT_FROM"]:
        return ImportError(f"cannot import name {name!r} from {module!r}{hint}", name=module)
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}")


def missing_name(name: str, public: list[str]) -> str:
    """What follows ``module 'cenote' has no attribute 'name'``."""
    if name in IMPORTS:
        module = f"{PACKAGE}.{IMPORTS[name]}"
        return f": write import {module}" if name == IMPORTS[name] else f": write {module}.{name}"
    if name in DIALECTS:
        return f": write cn.dialects.{name}"
    if name in IN_OTHERS:
        return f": {IN_OTHERS[name]}"
    if name == "nn":
        return f": write import {PACKAGE}.torch as nn, or from {PACKAGE}.dialects.flax import linen as nn"
    answer = of_other_library(name)
    if answer is not None:
        return answer
    close = misspelt(name, public)
    return f": write cn.{close}" if close else ""


def missing_in_module(name: str, public: list[str], module: str) -> str:
    """The same for a dialect, or for what people of torch import: its own name, or where else a name is found."""
    path = module.replace(PACKAGE, "cn", 1) if "dialects" in module else module
    rank, stem = taken_apart(name)
    classes = name[:1].isupper()
    alike = [other for other in public if taken_apart(other)[1] == stem and other[:1].isupper() == classes]
    if len(alike) > 1 and RANK.search(name.lower()):
        same = [other for other in alike if taken_apart(other)[0] == rank]
        alike = same or alike
    if len(alike) == 1 and (not RANK.search(name.lower()) or rank in (2, taken_apart(alike[0])[0])):
        return f": write {path}.{alike[0]}"
    close = None if alike else misspelt(name, public)
    if close and classes and close[:1].islower() and module.endswith(".torch"):
        return f": there is no such layer here, only the function: write {path}.{close}"
    if close:
        return f": write {path}.{close}"
    package = importlib.import_module(PACKAGE)
    here = f": write cn.{name}" if name in package.__all__ else missing_name(name, package.__all__)
    listed = alike or ([] if here else public)
    there = f": there {'is' if len(listed) == 1 else 'are'} {enumerated(listed)}" if 0 < len(listed) <= MOST else ""
    return f"{there}; {here.removeprefix(': ')}" if there and here else there or here


def misspelt(name: str, public: list[str]) -> str | None:
    """The public name that is most likely meant: one that begins so, or else one that is close to it."""
    if "_" in name and len(begins := [other for other in public if other.startswith(name)]) == 1:
        return begins[0]
    by_lower: dict[str, str] = {}
    for other in sorted(public, key=lambda other: other[:1].isupper() == name[:1].isupper()):
        by_lower[other.lower()] = other  # the last of two is the class, if a class was asked for
    close = difflib.get_close_matches(name.lower(), by_lower, 3, 0.82)
    return next((by_lower[other] for other in close if is_misspelt(name, other)), None)


def enumerated(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def of_other_library(name: str) -> str | None:
    """What follows the name of a function of another library; None if nothing is known of it."""
    rank, stem = taken_apart(name)
    words = NO_CALL.get(name.lower().replace("_", ""), NO_CALL.get(stem))
    sizes = {
        "window": entries(2, rank),
        "odd": entries(3, rank),
        "count": 2**rank,
        "rank": rank,
        "axes": "-1" if rank == 1 else tuple(range(-rank, 0)),
        "middle": tuple(range(1, rank + 1)),
    }
    if words is not None:
        return f": {words.format(**sizes)}"
    call = CALLS.get(stem)
    if call is None:
        return None
    text, which = with_layout(name, rank, call.format(**sizes))
    if stem in NOTES:
        which = NOTES[stem].format(**sizes)
    elif not which and "{odd}" in call and "axes=" not in call:  # np.pad extends batch axes, too
        which = f" for a {rank}-D x"
    sign = "-" if text.startswith("-") else ""
    return f": write {sign}cn.{text.lstrip('-')}{which}{elsewhere(name)}"


def with_layout(name: str, rank: int, call: str) -> tuple[str, str]:
    """The call for arrays as those have them whose name it is, and where channels are in them."""
    of_keras = re.search(r"[a-z][123]D", name) is not None
    if "conv_transpose(" in call or "conv(x, w)" in call:
        if re.search(r"Conv(Transpose)?[123]d$|conv_transpose[123]d$", name):  # torch
            return call.replace("w)", "w, layout='channels_first')"), ""
        return call, " where channels are last" if RANK.search(name.lower()) else ""
    if not of_keras or "pool" not in call:
        return call, ""
    middle = tuple(range(1, rank + 1))
    if "global_" in call:
        return f"{call.partition(', axes')[0]}, axes={middle}).squeeze({middle})", " where channels are last"
    return f"{call[:-1]}, axes={middle})", " where channels are last"


def is_misspelt(name: str, other: str) -> bool:
    """Whether each word of a name is close to that of another: std_pool is not a misspelt sum_pool."""
    words, others = name.lower().split("_"), other.split("_")
    if ("unpool" in name.lower()) != ("unpool" in other):  # the opposite
        return False
    pairs = zip(words, others, strict=False)
    return len(words) != len(others) or all(difflib.SequenceMatcher(None, a, b).ratio() >= 0.6 for a, b in pairs)


def taken_apart(name: str) -> tuple[int, str]:
    """The number of dimensions in a name, 2 if there is none, and the name without it."""
    stem = name.lower().replace("_", "")
    if stem in CALLS:  # filter2D is of arrays with any number of axes
        return DEFAULT_RANKS.get(stem, 2), stem
    found = RANK.search(stem)
    rank = int(found[1]) if found and found[1] != "n" else DEFAULT_RANKS.get(stem, 2)
    if found:
        stem = stem[: found.start()] + stem[found.end() :]
    for word, ours in (("pooling", "pool"), ("average", "avg"), ("meanpool", "avgpool")):
        if word != "average" or "pool" in stem:
            stem = stem.replace(word, ours)
    return rank, stem


def entries(size: int, rank: int) -> str:
    return repr((size,) * rank)


def elsewhere(name: str) -> str:
    """Where that name is to be had as it is."""
    if MODULES.fullmatch(name) and importlib.util.find_spec(f"{PACKAGE}.torch") is not None:
        return f", or cenote.torch.{name}, a module of torch's"
    for dialect in DIALECTS:
        with contextlib.suppress(ImportError):
            module = importlib.import_module(f"{PACKAGE}.dialects.{dialect}")
            if name in getattr(module, "__all__", ()):
                return f", or cn.dialects.{dialect}.{name} with the arguments of {dialect}"
    return ""


def missing_tensor_attribute(name: str) -> str:
    """What follows ``Tensor has no attribute 'name'``."""
    ours = TENSOR_ATTRIBUTES.get(name)
    if ours:
        return f": write .{ours}"
    if name == "relu":
        return ": write np.maximum(x, 0)"
    engine = importlib.import_module(f"{PACKAGE}.autodiff.tensor")
    function = vars(np).get(name)
    if callable(function) and (function in engine.UFUNCS or function in engine.FUNCTIONS):
        return f": write np.{name}(x)"
    package = importlib.import_module(PACKAGE)
    if name in package.__all__ and name.endswith("_pool"):
        return f": write cn.{name}(x, …)"
    return ""
