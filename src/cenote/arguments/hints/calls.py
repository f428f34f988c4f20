"""Arguments that do not fit a signature: other names for ours, arguments by position, arguments that are missing."""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import describe_type, format_value
from ..values import as_sequence
from . import conventions, keywords
from .dimensions import has_names, name_dimensions
from .drafts import (
    FILTERS,
    Draft,
    Function,
    Note,
    is_dialect,
    is_one_int,
    literal,
    picture_axes,
    public_functions,
    shape_of,
)
from .folds import arrange
from .names import enumerated
from .paddings import boundary
from .reductions import name_of, named_reduction, reduction
from .refusals import conclusion
from .sizes import one_per_axis
from .words import POSITIONS, SYNONYMS, WINDOWED

CENTRED = ("center", "centered", "closed")
ORDINALS = {0: "first", 1: "second", 2: "third", 3: "fourth", 4: "fifth"}


def wrong_call(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments of a call, or None if they fit."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        with contextlib.suppress(Exception):  # a hint must not hide what is wrong
            return explain(function, args, kwargs)
        return str(error)
    return wrong_reducer(function, args, kwargs)


def wrong_reducer(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """Of pool: whether Python's TypeError comes of a function that does not take two arrays."""
    if function.__name__ != "pool" or is_dialect(function):
        return None
    with contextlib.suppress(Exception):
        given = inspect.signature(function).bind(*args, **kwargs).arguments
        fn = given["reduce_fn"]
        if getattr(fn, "__module__", "") == "torch" and type(given["x"]).__module__ != "torch":
            text = f"reduce_fn={name_of(fn)} takes tensors of torch's, and x is {describe_type(given['x'])}"
            draft = Draft(function, given)
            if isinstance(same := getattr(np, fn.__name__, None), np.ufunc):
                draft.given["reduce_fn"] = same
                return f"{text}{conclusion(draft)}"
            note, known = reduction(draft, fn) if named_reduction(fn) else ("", False)
            return f"{text}; {name_of(fn)}{note}{conclusion(draft) if known else ''}" if note else text
        try:
            taken = inspect.signature(fn).bind(0, 0).arguments
        except TypeError:
            return f"reduce_fn={format_value(fn)} does not take two arrays, as it must"
        if {"axis", "axes", "dim"} & set(taken):
            return f"reduce_fn={format_value(fn)} reduces one array along an axis: a function of two arrays is needed"
    return None


def explain(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """What is wrong with arguments that do not fit the signature, and the call to write."""
    parameters = inspect.signature(function).parameters
    by_position = [name for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    draft = Draft(function, dict(zip(by_position, args, strict=False)))
    for word, value in kwargs.items():
        if word in draft.given:
            return f"{word} is given twice, as {shown(draft.given[word])} and as {word}={shown(value)}"
        if word in parameters:
            draft.given[word] = value
    notes: list[str] = []
    sure = True
    extra = args[len(by_position) :]
    implied: list[str] = []  # words of another library, by position
    if extra and conventions.is_filter2d(draft, extra[0]):
        notes.append(f"k comes after x, and {shown(draft.given['k'])} is not needed")
        draft.given["k"], extra, implied = extra[0], extra[1:], ["ddepth"]
    if extra and not any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
        note, sure = by_name(draft, by_position, extra)
        notes.append(note)
    if not draft.of_torch and any(
        value in ("SAME", "VALID") for value in extra if isinstance(value, str)
    ):  # of flax and TensorFlow
        implied.append("strides")
    filtered = without_channels(draft, extra, kwargs)
    if filtered is not None:
        return filtered
    # The window and its axes first: what other words mean depends on them. Where it begins depends on min_periods.
    unknown = sorted((word for word in kwargs if word not in parameters), key=order)
    for word in unknown:
        note, known = answer(draft, word, kwargs[word])
        notes.append(f"{labelled(word, kwargs[word])}{note}")
        sure = sure and known
    if not is_dialect(draft.function):
        followed, known = conventions.follow(draft, [*unknown, *implied])
        notes += followed
        sure = sure and known
    if draft.name == "pool" and not is_dialect(draft.function) and named_reduction(draft.given.get("reduce_fn")):
        value = draft.given["reduce_fn"]
        note, known = reduction(draft, value)
        notes.append(f"{name_of(value)}{note}")
        sure = sure and known
    for name in draft.missing:
        if name in draft.missing:  # still
            note, known = fill_in(draft, name)
            notes.append(note)
            sure = sure and known
    text = "; ".join(notes)
    if has_names(draft):
        return f"{text}: write {draft}" if sure and not draft.missing and name_dimensions(draft) else text
    if not sure or draft.missing:
        return text
    return f"{text}{conclusion(draft)}"


def labelled(word: str, value: Any) -> str:
    array = isinstance(getattr(value, "shape", None), tuple)  # too long to be shown
    return word if array else f"{word}={shown(value)}"


def shown(value: Any) -> str:
    """A value in a message: functions and types as they are written."""
    return literal(value, format_value(value))


def order(word: str) -> int:
    first = word == "step" or any(word in SYNONYMS[ours] for ours in ("window", "x", "axes"))
    return 2 if word in CENTRED else int(not first)


def without_channels(draft: Draft, extra: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """conv(x, k, "same") of MATLAB and NumPy: a filter without channels, and the size of the result as a word."""
    x, w = draft.shape, shape_of(draft.given.get("w"))
    words = [*extra, *(value for word, value in kwargs.items() if word == "mode")]
    others = [word for word in kwargs if word not in ("x", "w", "mode", "boundary")]
    ends = kwargs.get("boundary")
    if draft.name != "conv" or is_dialect(draft.function) or others or len(words) + (ends is not None) not in (1, 2):
        return None
    mode = words[0] if len(words) == 1 else "full" if not words else None
    if x is None or w is None or not 0 < len(w) <= min(2, len(x)) or mode not in ("full", "same", "valid"):
        return None
    draft.switch("convolve", {"x": draft.given["x"], "k": draft.given["w"], "mode": mode})
    draft.written["k"] = "w"
    draft.name_colours()
    note, sure = boundary(draft, ends) or ("", ends is None)
    what = f"{mode!r} is mode={mode!r} of convolve here, which filters without channel axes"
    return f"{what}{f'; boundary={ends!r}{note}' if note else ''}{conclusion(draft) if sure else ''}"


# ----------------------------------------------------------------------------------------------------- keywords


def answer(draft: Draft, word: str, value: Any) -> Note:
    """What a keyword is here, as the end of a sentence, and whether the call follows from it."""
    if not is_dialect(draft.function) or word == "requires_grad":  # of torch, as Tensors are made
        note = keywords.apply(draft, word, value)
        if note is not None:
            return note
    ours = own_name(draft, word)
    if ours is not None:
        if not is_dialect(draft.function):
            draft.given[ours] = keywords.own_value(draft, ours, word, value)
            return f" is called {ours} here", True
        draft.given[ours], more = one_per_axis(draft, ours, value)
        return f" is called {ours} here{more}", not more or draft.given[ours] is not value
    close = difflib.get_close_matches(word, [name for name in draft.parameters if name not in draft.given], 1, 0.7)
    if close and (word.count("_") == close[0].count("_") or "_" not in word):  # padding_mode is not padding
        draft.given[close[0]] = value
        return f" is not an argument, {close[0]} is", True
    near = difflib.get_close_matches(word, sorted(frozenset().union(*SYNONYMS.values())), 1, 0.88)  # kernal_size
    ours = own_name(draft, near[0]) if near else None
    if ours is not None and not is_dialect(draft.function):
        draft.given[ours] = keywords.own_value(draft, ours, near[0], value)
        return f" is called {ours} here", True
    if not is_dialect(draft.function):
        others = [name for name, function in public_functions().items() if takes(function, word)]
        if 0 < len(others) <= 4:
            return f" is an argument of {enumerated(others)}, not of {draft.name}", False
    return f" is not an argument of {draft.name}, which has {', '.join(draft.parameters)}", False


def takes(function: Any, word: str) -> bool:
    return inspect.isfunction(function) and word in inspect.signature(function).parameters


def own_name(draft: Draft, word: str) -> str | None:
    """The function's own argument for what another library calls ``word``, unless that is given already."""
    for ours, words in SYNONYMS.items():
        row = words | {ours}
        if word in row or word.lower() in row:
            for name in draft.parameters:
                if name in row and name not in draft.given:
                    return name
    return None


def wrong_option(function: Function, args: Sequence[Any], options: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments of a method of Tensors, or of a function of NumPy's on them: words of other
    libraries, arguments that only arrays take, and those that do not fit the signature. None if they fit."""
    draft = Draft(function, {})
    if not any(p.kind is p.VAR_KEYWORD for p in draft.parameters.values()):
        notes = []
        for word in options:
            if word in draft.parameters:
                continue
            ours = own_name(draft, word) or next(iter(difflib.get_close_matches(word, draft.parameters, 1, 0.7)), None)
            notes.append(f"{word}= is called {ours}= here" if ours else f"Tensors take no {word}=")
        if notes:
            return "; ".join(notes)
    try:
        inspect.signature(function).bind(*args, **options)
    except TypeError as problem:
        return str(problem)
    return None


# --------------------------------------------------------------------------------------------------- by position


def by_name(draft: Draft, by_position: list[str], extra: tuple[Any, ...]) -> Note:
    """Arguments that were given by position and are taken by name: which they are, if that is known."""
    count = len(by_position)
    listed = " and ".join(filter(None, (", ".join(by_position[:-1]), *by_position[-1:])))
    only = f"{listed} {'is' if count == 1 else 'are'}" if count else "none is"
    if is_dialect(draft.function) or draft.name not in public_functions():
        # What has no default and is taken by name comes next.
        missing = [name for name in draft.missing if name not in by_position]
        draft.given.update(zip(missing, extra, strict=False))
        note = f"{count + len(extra)} positional arguments are given, and only {only} positional"
        return note, 0 < len(extra) <= len(missing)
    if norm_before_window(draft, extra):
        return "p is given by name, and the window comes after x", True
    size = draft.given.get("output_size")
    if is_one_int(size) and all(map(is_one_int, extra)):
        draft.given["output_size"] = (size, *extra)
        return "the sizes of all axes are one tuple", True
    found = of_signal(draft, extra)
    if found is not None:
        return found
    if len(extra) == 1 and "window" in draft.given and named_reduction(extra[0]):  # skimage's block_reduce
        note, known = reduction(draft, extra[0])
        return f"{name_of(extra[0])}{note}", known
    array = isinstance(getattr(extra[0], "shape", None), tuple)  # too long to be shown
    first = describe_type(extra[0]) if array else shown(extra[0])
    note = f"{first} is a {ORDINALS[count]} positional argument, and only {only} positional"
    left = [name for name in POSITIONS.get(draft.name, WINDOWED) if name in draft.parameters]
    if draft.name == "smooth_max_pool" and isinstance(extra[0], float):
        left = ["beta", *left[:-1]]
    sizes = isinstance(extra[0], list) and all(map(is_one_int, extra[0]))
    if "bias" in left and (sizes or isinstance(extra[0], (int, str, tuple))):  # where JAX and TensorFlow have strides
        left.remove("bias")
    for value in extra:
        if isinstance(value, str) and "padding" in left:
            if left[0] != "padding" and value is not extra[-1]:  # what comes after it is not known
                return note, False
            left = left[left.index("padding") :]
        if not left or left[0] in draft.given:
            return note, False
        name = left.pop(0)
        draft.given[name] = keywords.own_value(draft, name, "output_size" if name == "output_shape" else name, value)
    return note, True


def of_signal(draft: Draft, extra: tuple[Any, ...]) -> Note | None:
    """The order of scipy.signal: mode and method, or mode, boundary and fillvalue."""
    words = [value for value in extra[:2] if isinstance(value, str)]
    if draft.name not in FILTERS or len(words) != 2 or len(extra) > 3:
        return None
    if len(extra) == 3 and not (is_one_int(extra[2]) or isinstance(extra[2], float)):
        return None
    draft.given["mode"] = words[0]
    if words[1] in ("auto", "direct", "fft"):
        note = f"mode is given by name; method={words[1]!r} is not needed: the fastest method is chosen"
        return note, len(extra) == 2
    found = boundary(draft, words[1])
    if found is None:
        return None
    note = f"mode is given by name; boundary={words[1]!r}{found[0]}"
    if len(extra) == 2 or words[1] != "fill":
        return note, found[1]
    zero = extra[2] == 0
    return f"{note}; fillvalue={extra[2]}{' is not needed' if zero else ''}: elements outside of x are zeros", zero


def norm_before_window(draft: Draft, extra: tuple[Any, ...]) -> bool:
    """torch's order of lp_pool, (input, norm_type, kernel_size, stride)."""
    p = draft.given.get("window")
    if draft.name != "lp_pool" or isinstance(p, bool) or not isinstance(p, (int, float)) or len(extra) > 2:
        return False
    draft.given.update(zip(("window", "stride"), extra, strict=False))
    draft.given["p"] = p
    return True


# ------------------------------------------------------------------------------------------------------- missing


def fill_in(draft: Draft, name: str) -> Note:
    """An argument that is missing: what could be given, if that is known."""
    shape = draft.shape
    if name == "axes" and shape:
        axes = picture_axes(shape) or tuple(range(max(len(shape) - 2, 0), len(shape)))
        draft.given["axes"] = axes[0] if len(axes) == 1 else axes
        return "axes is missing, the axes to pool", True
    if name == "window" and shape and not is_dialect(draft.function):
        draft.given["window"] = 2
        if draft.settle() is not None:
            return "window is missing, the size of the window on each axis", True
        del draft.given["window"]
    if draft.name == "max_unpool" and name == "window" and as_sequence(draft.given.get("indices")) is not None:
        return "indices are missing, which max_pool gives with return_indices=True", False
    found = arrange(draft) if draft.name == "pool" and not is_dialect(draft.function) else None
    if found is not None:
        return found
    what = ", a function of two arrays such as np.add" if name == "reduce_fn" else ""
    return f"{name} is missing{what}", False
