"""Padding in other words: sizes of the result, ways to extend an array, ONNX's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..values import as_sequence
from .dimensions import has_names
from .drafts import FILTERS, PACKAGE, Draft, Note, Shape, ints, literal
from .reductions import named_reduction, reduction
from .sizes import of_every_axis
from .words import PAD_MODES, PADDINGS, SCIPY_MODES, ZEROS

CHOOSE = ("max_pool", "min_pool", "median_pool", "mode_pool")
PADDING_WORDS = ("valid", "same", "same_lower")


def mode(draft: Draft, value: Any) -> Note | None:
    """scipy's way to extend an array, NumPy's size of the result, or what to compute."""
    if "mode" in draft.parameters or not isinstance(value, str):
        return None
    if named_reduction(value) and "window" in draft.parameters:
        return reduction(draft, value)
    if "padding" not in draft.parameters:
        return None
    lower = value.lower()
    if lower in SCIPY_MODES or lower in ZEROS:  # a filter of scipy's has a result for every element
        draft.given.setdefault("stride", 1)
        if "window" in draft.given:
            draft.given["window"] = of_every_axis(draft, draft.given["window"])
    draft.settle()
    if lower in ZEROS and draft.name in CHOOSE:  # in scipy.ndimage, the zeros may be chosen
        return padded_as(draft, lower, dict.fromkeys(ZEROS, "constant"), scipy=True)
    if lower in ZEROS:
        draft.given["padding"] = same_as_scipy(draft)
        return ": padded elements are zeros", True
    return padded_as(draft, lower, SCIPY_MODES, scipy=True)


def same_as_scipy(draft: Draft) -> str:
    """The padding that keeps the size: the odd element of an even window lies at the low end in scipy.ndimage."""
    return "same_lower" if is_even(draft) else "same"


def is_even(draft: Draft) -> bool:
    """Whether a window has no element in the middle of an axis."""
    return any(k % 2 == 0 for k in draft.extents or ())


def padding_mode(draft: Draft, value: Any) -> Note | None:
    if "padding" not in draft.parameters or not isinstance(value, str):
        return None
    if value.lower() in ZEROS:
        return " is not needed: padded elements are zeros, or never chosen", True
    draft.settle()
    return padded_as(draft, value.lower(), PAD_MODES)


def boundary(draft: Draft, value: Any) -> Note | None:
    """xarray's, and that of scipy.signal."""
    if not isinstance(value, str):
        return None
    if draft.name in FILTERS:
        if value == "fill" and draft.name == "correlate" and draft.given.get("mode") == "same" and is_even(draft):
            return extended(draft, "constant")
        if value == "fill":
            return " is not needed: elements outside of x are zeros", True
        if draft.given.get("mode") == "valid":
            return " is not needed: mode='valid' takes no elements outside of x", True
        return extended(draft, PAD_MODES.get(value.lower()))
    if "ceil_mode" not in draft.parameters:
        return None
    if value == "trim":
        return " is not needed: elements that fill no window are left out", True
    if value == "pad":
        draft.given["ceil_mode"] = True
        return " is ceil_mode=True here", True
    if value == "exact":
        return exact(draft)
    return padding_mode(draft, value)


def exact(draft: Draft) -> Note:
    """boundary="exact" of coarsen, which refuses elements that fill no window."""
    draft.settle()
    shape, positions, window = draft.shape, draft.positions, draft.window
    if shape is None or positions is None or window is None:
        return ": elements that fill no window are left out, or use ceil_mode=True", False
    if any(k and shape[position] % k for position, k in zip(positions, window, strict=True)):
        return ": windows do not fill x, as it demands; the rest is left out without it", True
    return " is not needed: windows fill x", True


def extended(draft: Draft, mode: str | None) -> Note | None:
    """correlate and convolve of an array that is extended in another way, as scipy.signal.convolve2d: np.pad first."""
    extents, shape, positions = draft.extents, draft.shape, draft.positions
    if mode is None or extents is None or shape is None or positions is None:
        return None
    full = draft.given.get("mode", "full") == "full"
    widths = [(0, 0)] * len(shape)
    for position, extent in zip(positions, extents, strict=True):
        low, high = (extent - 1, extent - 1) if full else (extent // 2, (extent - 1) // 2)
        widths[position] = (low, high) if draft.name == "convolve" else (high, low)  # correlate2d has not flipped
    note, known = pad_first(draft, shape, widths, mode)
    if known:
        draft.given["mode"] = "valid"
    return note, known


def padded_as(draft: Draft, lower: str, modes: Mapping[str, str], scipy: bool = False) -> Note | None:
    """A word in the place of padding: one of ours, or a way to extend the array that np.pad has.

    The odd element of an even window lies at the high end, or at the low end as in scipy.ndimage.
    """
    ours = lower if lower in PADDING_WORDS else PADDINGS.get(lower)
    if ours is not None:
        draft.given["padding"] = ours
        return f" is padding={ours!r} here", True
    extents, shape, positions = draft.extents, draft.shape, draft.positions
    if extents is None or shape is None or positions is None or draft.name == "conv_transpose":
        return None
    if lower == "full":
        draft.given["padding"] = one_or_all(tuple(extent - 1 for extent in extents))
        return f" is padding={literal(draft.given['padding'], '')} here", True
    if lower == "causal" and len(extents) == 1:
        draft.given["padding"] = ((extents[0] - 1, 0),)
        return f" is padding={literal(draft.given['padding'], '')} here", True
    if lower not in modes:
        return None
    widths = [(0, 0)] * len(shape)
    for position, extent in zip(positions, extents, strict=True):
        ends = (extent - 1) // 2, extent // 2
        widths[position] = (ends[1], ends[0]) if scipy else ends
    if next(iter(draft.parameters)) == "shape":
        return None
    note, known = pad_first(draft, shape, widths, modes[lower])
    if known:
        draft.given.pop("padding", None)
    return note, known


OF_TORCH = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}


def pad_first(draft: Draft, shape: Shape, widths: Sequence[tuple[int, int]], mode: str | None = None) -> Note:
    """Write the data extended, by the function of the library that it is from; ``mode`` is np.pad's."""
    first = next(iter(draft.parameters))
    name = draft.written.get(first, first)
    if has_names(draft):
        return ": extend the array with its own pad first", False
    if draft.of_torch:
        front = next((i for i, width in enumerate(widths) if any(width)), len(shape))
        theirs = OF_TORCH.get(mode or "constant")
        if theirs is None or (theirs != "constant" and not (front in (1, 2) and len(shape) - front <= 3)):
            return ": extend the array first, in a way that torch.nn.functional.pad does not have", False
        flat = tuple(n for width in reversed(widths[front:]) for n in width)
        call, how = "torch.nn.functional.pad", f"{flat}" + (f", {theirs!r}" if theirs != "constant" else "")
    elif draft.library == PACKAGE and mode not in (None, "constant"):
        return ": np.pad extends Tensors by constants only", False
    else:
        call = "jnp.pad" if draft.library == "jax" else "np.pad"
        how = f"{tuple(widths)}" + (f", {mode!r}" if mode else "")
    draft.written[first] = f"{call}({name}, {how})"
    draft.shapes[first] = tuple(n + low + high for n, (low, high) in zip(shape, widths, strict=True))
    return f": extend the array with {call} first", True


def pad_with_zeros(draft: Draft, padding: Any) -> bool:
    """Write x padded by ints or pairs of them on the axes of the window; False if they are none."""
    shape, positions = draft.shape, draft.positions
    if shape is None or positions is None:
        return False
    entries = as_sequence(padding) or (padding,) * len(positions)
    pairs = [ints(as_sequence(entry) or (entry, entry)) for entry in entries]
    if len(pairs) != len(positions) or any(pair is None or len(pair) != 2 or min(pair) < 0 for pair in pairs):
        return False
    widths = [(0, 0)] * len(shape)
    for position, (low, high) in zip(positions, filter(None, pairs), strict=True):
        widths[position] = low, high
    if any(map(any, widths)):
        pad_first(draft, shape, widths)
    return True


def one_or_all(entries: Shape) -> int | Shape:
    return entries[0] if len(set(entries)) == 1 else entries


def padded_value(draft: Draft, value: Any) -> Note | None:
    if draft.name in FILTERS:
        zero = bool(np.isscalar(value) and value == 0)
        return f"{' is not needed' if zero else ''}: elements outside of x are zeros", zero
    if "pad_value" in draft.parameters or "padding" not in draft.parameters:
        return None
    number = bool(np.isscalar(value)) and not isinstance(value, (str, bytes))
    if draft.name not in CHOOSE:
        zero = number and bool(value == 0)
        return f"{' is not needed' if zero else ''}: padded elements are zeros", zero
    if number and value == (-np.inf if draft.name == "max_pool" else np.inf):
        if draft.written.pop("x", None):  # by mode="constant"
            del draft.shapes["x"]
            draft.given["padding"] = same_as_scipy(draft)
        return " is not needed: padded elements are never chosen", True
    if number and value == 0 and ("x" in draft.written or draft.given.get("padding", 0) in (0, "valid")):
        return " is not needed", True
    return ": padded elements are never chosen, pad x with np.pad first", False


def filter_padding(draft: Draft, value: Any) -> Note | None:
    """padding= of correlate and convolve."""
    if draft.name not in FILTERS:
        return None
    lower = value.lower() if isinstance(value, str) else ""
    if lower in ("full", "same", "valid"):
        draft.given["mode"] = lower
        return f" is mode={lower!r} here", True
    if not isinstance(value, str) and "mode" not in draft.given:
        draft.given["mode"] = "valid"
        if pad_with_zeros(draft, value):
            return ": pad x with zeros first", True
        del draft.given["mode"]
    return ": mode= says how far x is padded, and conv has padding=", False


def own_padding(draft: Draft, word: str, value: Any) -> Any:
    if isinstance(value, str):
        return PADDINGS.get(value.lower(), value)
    entries = as_sequence(value)
    window = draft.window
    if word == "pads" and entries is not None and window is not None and len(entries) == 2 * len(window):
        return tuple(zip(entries[: len(window)], entries[len(window) :], strict=True))  # ONNX: all low, then all high
    return value
