"""Values that a check refused: what to write instead, where that is known."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import re
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...dtypes import is_differentiable
from ..arrays import MASKED, NUMBERS, POOLED
from ..errors import TO_SEE_IT, WHICH_AXES, Argument, Cause, Hint, Misfit
from .drafts import (
    CONVOLUTIONS,
    FILTERS,
    Draft,
    Function,
    Note,
    explained,
    ints,
    is_dialect,
    is_one_int,
    literal,
    picture_axes,
    public_functions,
    shape_of,
    ways_to_lie,
)
from .folds import arrange
from .keywords import FLAGS, spatial_sizes
from .layouts import as_named, channels_per_group, elsewhere, in_shapes, is_about_channels, of_dialect
from .misfits import before_channels, exchanged, is_misfit, to_draw
from .names import CALLS, taken_apart
from .paddings import PADDING_WORDS, is_even, pad_with_zeros, padded_as
from .reductions import named_reduction
from .sizes import in_our_form
from .weights import structuring_element
from .words import CHOICES, LAYOUTS, NORMS, PAD_MODES, REDUCTIONS, SCIPY_MODES, ZEROS

OPTIONS = {
    "padding": PADDING_WORDS,
    "layout": ("channels_last", "channels_first"),
    "mode": ("full", "same", "valid"),
    "nan": ("propagate", "omit"),
    "ties": ("first", "split"),
}

TWO_ARRAYS = {"max": np.maximum, "min": np.minimum, "sum": np.add}


def advise(function: Function, cause: Cause, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """The message of a cause, and what to write instead."""
    if is_dialect(function):  # its users write in other words
        with contextlib.suppress(Exception):
            draft = Draft(function, inspect.signature(function).bind(*args, **kwargs).arguments)
            other = of_dialect(draft) if is_about_channels(cause) else reduction_of_dialect(draft, cause)
            return f"{cause}{other}{picture(cause)}"
        return drawn(cause)
    with contextlib.suppress(Exception):  # a hint must not hide what is wrong
        draft = Draft(function, inspect.signature(function).bind(*args, **kwargs).arguments)
        if is_misfit(cause):
            instead = before_channels(draft) or exchanged(draft) or to_draw(draft)
            return f"{cause}{instead}" if instead else drawn(cause, function)
        if WHICH_AXES in cause.args:
            return which_axes(draft, cause)
        # Before the draft is mended.
        see = to_draw(draft) if any(isinstance(part, Misfit) for part in cause.args) else ""
        return f"{of_function(draft, cause)}{hint(draft, cause)}{see}"
    return drawn(cause)


def reduction_of_dialect(draft: Draft, cause: Cause) -> str:
    """A word or a function that reduces one array, in the place of the dialect's own mode or of a function of two."""
    if type(draft.given.get("x")).__name__.endswith("PoolSpec") and str(cause).startswith("spec="):
        return f"; the spec comes first: write {draft.name}(spec, x)"
    for name in {"mode", "reduce_fn"} & set(draft.given):
        target = REDUCTIONS.get(named_reduction(draft.given[name]) or "", ("", {}))[0].removesuffix("_pool")
        if not str(cause).startswith(f"{name}="):
            continue
        if name == "mode" and target in ("max", "avg"):
            return f"; {draft.given[name]!r} is mode={target!r} here"
        if name == "reduce_fn" and target in TWO_ARRAYS:
            return f"; np.{TWO_ARRAYS[target].__name__} is one"
    return ""


def drawn(cause: Cause, function: Function | None = None) -> str:
    """The message of a cause, and the call that draws it: of ``function``, if that needs a window only."""
    text = picture(cause)
    if function is not None and function.__name__.endswith("_pool"):
        needed = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        if needed == ["x", "window"]:
            text = text.replace('cn.explain("max_pool"', f'cn.explain("{function.__name__}"')
    return f"{cause}{text}"


def picture(cause: Cause) -> str:
    """What a cause that draws itself says of that: of a window that does not fit, the axis where it does not."""
    calls = [part.call for part in cause.args if isinstance(part, Misfit) and part.call]
    return f"{TO_SEE_IT}{calls[0]}" if calls else ""


def as_explained(message: str, op: str, x: Any, w: Any) -> str:
    """A message about a call that was explained, with a call of explain in the place of one of the function itself."""
    data = repr(x) if isinstance(x, tuple) and shape_of(x, is_shape=True) == x else "x"
    text = in_shapes(message, w) if isinstance(w, tuple) and shape_of(w, is_shape=True) == w else message
    if data != "x":
        for one, shape in {"x[None]": (1, *x), "x[..., None]": (*x, 1)}.items():
            text = text.replace(f"write {op}({one}, ", f'write explain("{op}", {shape}, ')
    found = re.search(r"; write correlate\(.*?, w, mode='(valid|same)'(.*)\)$", text)
    if found is not None:  # a filter without channels is drawn with one
        sizes = [data if data == "x" else repr((*x, 1)), repr((*w, 1, 1)) if isinstance(w, tuple) else "w"]
        sizes = [{"x": "np.asarray(x)[..., None]", "w": "np.asarray(w)[..., None, None]"}.get(n, n) for n in sizes]
        padding = ", padding='same'" if found[1] == "same" else ""
        one = f'; with one channel, write explain("{op}", {sizes[0]}, {sizes[1]}{padding}{found[2]})'
        text = text[: found.start()] + ("" if "np.pad" in found[0] or "axes=" in found[0] else one)
    text = re.sub(rf"write ({op}|\w+_pool)\(x, ", lambda found: f'write explain("{found[1]}", {data}, ', text)
    return re.sub(r"(write explain\(.*?\))\.astype\([^()]*\)", r"\1", text)


def of_function(draft: Draft, cause: Cause) -> Cause:
    """The cause without what holds for pooling alone."""
    if draft.name not in (*CONVOLUTIONS, *FILTERS):
        return cause
    return type(cause)(*(NUMBERS if part == POOLED else part for part in cause.args))


def which_axes(draft: Draft, cause: Cause) -> str:
    """A window of one int: named with the axes of this array."""
    what = without_hints(cause)
    shape = draft.shape
    if shape is None:
        found = on_axes(draft)
        return f"{what}{found}" if found else str(cause)
    if not shape:
        return f"{what}; shape () has no axis"
    if draft.name == "pool":
        order = arrange(draft)
        if order is not None:
            return f"{what}; {written(draft, order[0]) if order[1] else order[0]}"
    meaning = draft.settle()
    if meaning is None:
        return f"{what}{conclusion(draft)}"
    others = ", or name others with axes=" if len(shape) > 1 else ""
    return f"{what}: write {draft} for {meaning}{others}"


def why_not(draft: Draft, shape: tuple[int, ...]) -> str:
    """Why a window of one int fits in no way: the reason of the likeliest."""
    name = "window" if "window" in draft.parameters else "output_size"
    for changes, _ in ways_to_lie(int(draft.given[name]), name, shape, draft.rank):
        reason = Draft(draft.function, {**draft.given, **changes}).failure()
        if reason is not None:
            return without_hints(reason)
    return f"shape {shape} has {len(shape)} axes, and other arguments have {draft.rank} entries"


def hint(draft: Draft, cause: Cause) -> str:
    first = cause.args[0]
    topic = str(first) if isinstance(first, Argument) else str(cause).partition("=")[0].partition(" ")[0]
    value: Any = draft.given.get(topic)
    note: str | None = None
    if is_misfit(cause):
        return before_channels(draft)
    if draft.name in CONVOLUTIONS and is_about_channels(cause):
        where, known = elsewhere(draft)
        if not where:
            where, known = channels_per_group(draft)
        return written(draft, where) if known else where
    if draft.name == "pool" and topic in ("window", "init", "reduce_fn"):
        found = arrange(draft)
        note = written(draft, found[0]) if found and found[1] else found and found[0]
    elif topic == "window" and isinstance(value, np.ndarray) and as_shape(draft.given.get("x")):
        draft.given.update(x=value, window=draft.given["x"])
        draft.written["x"] = "x"
        note = written(draft, "the array comes first")
    elif topic == "window" and isinstance(value, np.ndarray) and draft.name in ("avg_pool", "sum_pool"):
        note = "correlate filters with weights"
    elif topic == "window" and isinstance(value, np.ndarray):
        text = structuring_element(draft, value)
        note = written(draft, text) if text and shape_of(draft.given["window"]) == (len(np.shape(value)),) else text
    elif topic in OPTIONS and isinstance(value, str):
        note = word_for(draft, topic, value)
    elif topic in FLAGS and type(value) is int and value in (0, 1):
        draft.given[topic] = bool(value)
        note = written(draft, f"{value} is {topic}={bool(value)}")
    elif (form := in_our_form(draft, topic, value)) is not None:
        note = written(draft, form)
    elif topic == "op":
        note = named_operation(draft, value)
    elif topic == "axes" and value is None and draft.name.startswith("global"):
        draft.given["axes"] = tuple(range(len(draft.shape or ())))
        note = written(draft, "for all of them")
    elif topic == "output_shape" and spatial_sizes(draft, value) is not value:
        draft.given[topic] = spatial_sizes(draft, value)
        note = f"write {draft}"
    elif topic == "shape" and is_one_int(value):
        draft.given[topic] = (int(value),)
        note = written(draft, "a shape is a tuple")
    elif topic == "shape" and shape_of(getattr(value, "shape", None), is_shape=True) is not None:
        draft.given[topic] = shape_of(value)
        note = written(draft, "its shape is needed")
    elif topic == "p" and isinstance(value, str) and value.lower() in NORMS:
        draft.given["p"] = NORMS[value.lower()]
        note = written(draft, f"{value!r} is p={literal(draft.given['p'], '')}")
    elif "a real number is needed" in str(cause) and getattr(value, "shape", None) == ():
        note = array_as_number(topic, value)
    elif MASKED in str(cause):
        note = unmasked(draft, topic)
    elif draft.name in CONVOLUTIONS and topic == "w" and (is_one_int(value) or as_shape(value)):
        note = "w is the array of all filters, not their number or their size"
    elif draft.name == "conv" and topic == "w" and "3 axes are needed" in str(cause):
        note = without_channels(draft)
    elif draft.name in CONVOLUTIONS and topic == "x" and "needs at least" in str(cause):
        note = one_channel(draft)
    return "" if note is None else f"; {note}"


def as_shape(value: Any) -> bool:
    """Whether this is a tuple of a few ints, as sizes are written."""
    return isinstance(value, tuple) and 0 < len(value) <= 3 and ints(value) is not None


def named_operation(draft: Draft, value: Any) -> str | None:
    """Of explain and which_kernel: the name of the operation, in the place of its function or of another name."""
    name = getattr(value, "__name__", value)
    if not isinstance(name, str):
        return None
    functions = public_functions()
    ours = CALLS.get(taken_apart(name)[1], "").partition("(")[0]
    close = ours or next(iter(difflib.get_close_matches(name.lower(), functions, 1, 0.7)), None)
    if not close or close not in functions or (isinstance(value, str) and value in functions):
        return None
    window = draft.given.get("window_or_w")
    if draft.name != "explain" or window is None or is_one_int(window):
        return f"it is called {close!r}"
    return f"write {explained({**draft.given, 'op': close})}"


def unmasked(draft: Draft, name: str) -> str | None:
    """A masked array, where NaN can be left out."""
    x = draft.given[name]
    if "nan" not in draft.parameters:
        return None
    floats = is_differentiable(x.dtype)  # which keep their dtype
    draft.written[name] = f"{name}{'' if floats else '.astype(float)'}.filled(np.nan)"
    draft.given[name] = np.broadcast_to(np.empty((), x.dtype if floats else float), x.shape)
    draft.given["nan"] = "omit"
    draft.settle()
    return f"to leave out masked elements, write {draft}" if draft.failure() is None else None


def derived_by_torch(value: Any) -> bool:
    """Whether torch may derive by a tensor: backwards, forwards, or inside of torch.func."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return False
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor(value)
    return wrapped or value.requires_grad or torch.autograd.forward_ad.unpack_dual(value).tangent is not None


def array_as_number(topic: str, value: Any) -> str:
    """An array without axes in the place of a number."""
    scaled = "pool beta * x with beta=1.0, and divide the result by beta"  # which has the derivative by beta
    if derived_by_torch(value):
        return scaled if topic == "beta" else f"write {topic}.item(), the result has no derivative by it"
    if not type(value).__name__.endswith("Tracer"):
        return f"pass float({topic})"
    if topic == "beta":
        return f"it has no value while JAX traces: {scaled}"
    return f"it has no value while JAX traces: close over a float, or give it to jax.jit as static_argnames={topic!r}"


def word_for(draft: Draft, topic: str, value: str) -> str | None:
    """A word in the place of one of ours."""
    lower = value.lower()
    draft.settle()
    if topic == "padding":
        found = padded_as(draft, lower, PAD_MODES)
        if found is not None:
            return written_if(draft, value, found)
        if lower in ZEROS:
            return "padded elements are zeros, or never chosen: say how many"
    if topic == "mode" and lower in SCIPY_MODES:
        found = extended(draft, SCIPY_MODES[lower])
        if found is not None:
            return written_if(draft, value, found)
    if topic == "mode" and lower in ZEROS and draft.name == "convolve" and is_even(draft):
        found = extended(draft, "constant")  # the odd element lies at the other end in scipy.ndimage
        if found is not None:
            return written_if(draft, value, found)
    ours = LAYOUTS.get(lower) if topic == "layout" else CHOICES.get(topic, {}).get(lower)
    if ours is None:
        close = difflib.get_close_matches(lower, OPTIONS[topic], 1, 0.6)
        if not close:
            return None
        draft.given[topic] = close[0]
        return written(draft, f"{close[0]!r} is close to it")
    draft.given[topic] = ours
    more = as_named(draft) if topic == "layout" else ""
    return written(draft, f"{value!r} is {topic}={ours!r} here{more}")


def written(draft: Draft, note: str) -> str:
    return f"{note}{conclusion(draft)}"


def written_if(draft: Draft, value: Any, note: Note) -> str:
    text = f"{value!r}{note[0]}"
    return written(draft, text) if note[1] else text


def conclusion(draft: Draft) -> str:
    """What follows from a draft: the call, if it works, or else what is still wrong with it."""
    draft.settle()
    if draft.missing:
        return ""
    if draft.unsettled:
        return on_axes(draft)
    cause = draft.failure()
    if cause is None:
        return f": write {draft}{draft.ending}" + (f" for {draft.meaning}" if draft.meaning else "")
    cause = of_function(draft, cause)
    if str(cause) in draft.answered:  # each mistake is answered once
        return ""
    draft.answered.add(str(cause))
    return f"; {cause}{hint(draft, cause)}"


def on_axes(draft: Draft) -> str:
    """What follows from a draft whose window is one int: on the likeliest axes where the rest can be put right."""
    if not draft.shape:
        given: Any = draft.given.get("shape")
        shape = (int(given),) if is_one_int(given) else shape_of(getattr(given, "shape", None), is_shape=True)
        if not shape:
            return ""
        draft.given["shape"] = shape
        return f"; a shape is needed{conclusion(draft)}"
    ways = ways_to_lie(int(draft.given[draft.size_name]), draft.size_name, draft.shape, draft.rank, not draft.of_torch)
    texts = []
    for changes, meaning in ways:
        tried = draft.changed(changes)
        tried.meaning = meaning
        texts.append(conclusion(tried))
        if ": write " in texts[-1]:
            return texts[-1]
    return next(filter(None, texts), f"; {why_not(draft, draft.shape)}")


def without_hints(cause: Cause) -> str:
    return "".join(part for part in cause.args if not isinstance(part, Hint))


def extended(draft: Draft, mode: str) -> Note | None:
    """correlate and convolve with another way to extend x: np.pad, then mode="valid"."""
    found = padded_as(draft, mode, {mode: mode}, scipy=draft.name == "correlate")
    if found is not None and found[1]:
        draft.given["mode"] = "valid"
    return found


def without_channels(draft: Draft) -> str | None:
    """conv with a filter that has no channel axes: correlate."""
    x, w, padding = draft.shape, np.shape(draft.given["w"]), draft.given.get("padding", 0)
    if isinstance(padding, str) and padding.lower() not in ("valid", "same"):
        return None
    if not set(draft.given) <= {"x", "w", "padding", "stride", "dilation"} or x is None or not 0 < len(w) <= len(x):
        return None
    given = {name: value for name, value in draft.given.items() if name not in ("w", "padding")}
    mode = padding.lower() if isinstance(padding, str) else "valid"
    draft.switch("correlate", {**given, "k": draft.given["w"], "mode": mode})
    draft.written["k"] = "w"
    sides = None if draft.of_torch else picture_axes(x)
    if sides is not None and len(w) == 2:
        draft.given["axes"] = sides
    if not isinstance(padding, str) and not pad_with_zeros(draft, padding):
        return None
    reason = draft.failure()
    return f"write {draft}" if reason is None else without_hints(reason.renamed({"k": "w"}))


def one_channel(draft: Draft) -> str | None:
    """conv of data without a channel axis."""
    x, w = draft.shape, np.shape(draft.given["w"])
    first = draft.given.get("layout") == "channels_first"
    channels = w[1] if first else w[-2]
    if draft.name != "conv" or x is None or len(x) != len(w) - 2 or channels != 1:
        return None
    draft.written["x"] = "x[None]" if first else "x[..., None]"
    draft.shapes["x"] = (1, *x) if first else (*x, 1)
    return written(draft, "x without a channel axis")
