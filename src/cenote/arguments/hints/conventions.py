"""What other libraries take for granted: how far windows move, which axes they lie on, whether padding is counted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..values import as_sequence
from .dimensions import has_names
from .drafts import Draft, is_one_int, picture_axes, public_functions, shape_of
from .dtypes import is_whole, result_dtype
from .keywords import FLAGS, on_picture
from .paddings import is_even, pad_first, padded_as, same_as_scipy
from .sizes import is_neutral, of_every_axis
from .words import SCIPY_MODES, SYNONYMS

OF_NDIMAGE = frozenset(("size", "footprint", "structure", "origin"))
OF_ONNX = frozenset(("kernel_shape", "auto_pad", "pads"))
MOVED_BY_ONE = OF_NDIMAGE | OF_ONNX | {"window_shape"}  # flax
MOVED_BY_ONE |= {"center", "centered", "closed", "min_periods", "win_type"}  # pandas
CHANNELS_LAST = frozenset(("strides", "window_shape", "pool_size"))
OF_OPENCV = frozenset(("borderType", "bordertype", "border_type"))
CHANNELS_FIRST = OF_ONNX | {"kernel_size"}  # torch
LAYOUT = SYNONYMS["layout"] | {"layout"}


def follow(draft: Draft, words: Iterable[str]) -> tuple[list[str], bool]:
    """Give a draft what follows from words of another library, say so, and whether the call is then what was meant."""
    foreign = frozenset(words)
    rules = (defaults, moved_by_opencv, channels_last, padding_left_out, edges_of_opencv, whole_blocks)
    by_form = of_tensorflow(draft)
    notes = [entry_per_axis(draft)]
    if by_form or notes[0]:
        foreign |= {"ksize"}
    notes += [rule(draft, foreign) for rule in rules]
    upper = None
    if draft.name == "median_pool" and foreign & (OF_NDIMAGE | {"mode"}) and math.prod(draft.window or (1,)) % 2 == 0:
        upper = "of an even count scipy takes the upper one of the two middle elements, median_pool their mean"
    return [note for note in (*notes, upper) if note], upper is None and not draft.unsure


def defaults(draft: Draft, words: frozenset[str]) -> str | None:
    """What follows from arguments that were not given: windows move by one element in some libraries."""
    for name in FLAGS:
        if type(draft.given.get(name)) is int and draft.given[name] in (0, 1):
            draft.given[name] = bool(draft.given[name])
    stride = draft.parameters.get("stride")
    if stride is None or stride.default is not None or "stride" in draft.given:
        return None  # convolutions move by one here, too
    if not words & MOVED_BY_ONE and not {"pool_size", "mode"} <= words:  # the latter is d2l
        return None
    draft.given["stride"] = 1
    if "size" in words and "window" in draft.given:
        draft.given["window"] = of_every_axis(draft, draft.given["window"])
    note = "the default stride is the window, not 1"
    if not words & OF_NDIMAGE or "mode" in words or "padding" in draft.given:
        return note
    # Its results are as many as the elements, which are reflected at the edges: a maximum does not see that.
    draft.settle()
    if draft.name in ("max_pool", "min_pool"):
        draft.given["padding"] = same_as_scipy(draft)
        return f"{note}, and the default padding is 0"
    extended = padded_as(draft, "reflect", SCIPY_MODES, scipy=True)
    draft.unsure |= extended is None or not extended[1]
    return f"{note}, and arrays are not extended"


def moved_by_opencv(draft: Draft, words: frozenset[str]) -> str | None:
    """A ksize without strides, which TensorFlow demands: results of OpenCV are as many as the elements."""
    shape = draft.shape
    if "ksize" not in words or shape is None or {"stride", "padding"} & draft.given.keys() or has_names(draft):
        return None
    if len(shape) != 2 and not (len(shape) == 3 and picture_axes(shape)):
        return None
    draft.settle()
    on_picture(draft)
    window = draft.window or ()
    if len(window) != 2 or window[0] != window[1] or (draft.name == "median_pool" and is_even(draft)):
        return None
    note = "OpenCV moves windows by one element"
    if draft.name in ("max_pool", "min_pool"):
        draft.given |= {"stride": 1, "padding": same_as_scipy(draft)}
        return note
    mode = {"avg_pool": "reflect", "sum_pool": "reflect", "median_pool": "edge"}.get(draft.name)
    extended = mode and padded_as(draft, mode, {mode: mode}, scipy=True)
    if not extended:
        return None
    draft.given["stride"] = 1
    draft.unsure |= not extended[1]
    rounds = ", and rounds to the dtype of x" if is_whole(draft.dtype) else ""
    return f"{note}, extends x at the edges{rounds}"


def entry_per_axis(draft: Draft) -> str | None:
    """TensorFlow's ksize and strides, of which one may have an entry for each axis of x: the axes of the window."""
    shape = draft.shape
    if shape is None or len(shape) < 4 or draft.name == "pool":  # whose arguments are put in order later
        return None
    if "window" not in draft.parameters or draft.given.get("axes") is not None:
        return None
    given = {name: draft.given[name] for name in ("window", "stride", "dilation") if draft.given.get(name) is not None}
    whole = {name: e for name, v in given.items() if (e := as_sequence(v)) is not None and len(e) == len(shape)}
    if not whole or whole.keys() == given.keys():
        return None
    rank = len(shape) - 2
    for start in (1, 2):  # the channels are last, or first
        inside = range(start, start + rank)
        if all(e[i] == 1 for e in whole.values() for i in range(len(shape)) if i not in inside):
            draft.given |= {name: tuple(e[i] for i in inside) for name, e in whole.items()} | {"axes": tuple(inside)}
            return "there is one entry for each axis of the window, not of x"
    return None


def of_tensorflow(draft: Draft) -> bool:
    """Whether windows are those of TensorFlow by their form: padding in words, and an entry for each axis of x."""
    padding, entries = draft.given.get("padding"), as_sequence(draft.given.get("window"))
    if not isinstance(padding, str) or not padding.isupper() or draft.shape is None or entries is None:
        return False
    return 3 <= len(draft.shape) == len(entries) and entries[0] == 1


def channels_last(draft: Draft, words: frozenset[str]) -> str | None:
    """The words of flax and Keras, whose windows lie between the batch and the channels: the axes."""
    shape = draft.shape
    if not words & CHANNELS_LAST or words & CHANNELS_FIRST or {word.lower() for word in words} & LAYOUT:
        return None
    if draft.of_torch or has_names(draft) or "window" not in draft.parameters:
        return None
    if shape is None or draft.given.get("axes") is not None:
        return None
    batch, padding = 1, draft.given.get("padding")
    of_flax = "window_shape" in words or (isinstance(padding, str) and padding.isupper())
    if of_flax and draft.window:  # flax also takes data without a batch, and with several batch axes
        batch = len(shape) - 1 - len(draft.window)
    rank = len(shape) - 1 - batch
    if batch < 0 or rank < 1 or (not draft.unsettled and len(draft.window or ()) != rank):
        return None
    sizes = {name: draft.given[name] for name in ("x", "window", "stride", "dilation") if name in draft.given}
    axes = {"axes": tuple(range(batch, batch + rank))}
    if Draft(public_functions()["max_pool"], sizes | axes).failure() is not None:  # it has channels in front
        return None
    draft.given |= axes
    return None if batch == 0 else "windows of flax and Keras lie between batch and channels"


def padding_left_out(draft: Draft, words: frozenset[str]) -> str | None:
    """Averages of ONNX, Keras and TensorFlow are of the elements of x alone; flax counts padding."""
    padding = draft.given.get("padding", 0)
    if draft.name != "avg_pool" or "count_include_pad" in draft.given or "window_shape" in words:
        return None
    of_keras = isinstance(padding, str) and words & {"pool_size", "ksize", "strides"} and not words & OF_OPENCV
    if not words & OF_ONNX and not of_keras:
        return None
    if (
        padding.lower() == "valid"
        if isinstance(padding, str)
        else is_neutral("padding", as_sequence(padding) or (padding,))
    ):
        return None
    draft.given["count_include_pad"] = False
    if words & OF_ONNX:
        return "averages of ONNX leave padding out"
    if not words & {"pool_size", "ksize"}:
        draft.ending = ", without count_include_pad as in flax, which counts padding"
    return "averages of Keras and TensorFlow leave padding out"


def whole_blocks(draft: Draft, words: frozenset[str]) -> str | None:
    """skimage.measure.block_reduce fills the last blocks up with zeros."""
    if "block_size" not in words or "ceil_mode" not in draft.parameters or "padding" in draft.given:
        return None
    draft.settle()
    shape, window, positions = draft.shape, draft.window, draft.positions
    if shape is None or window is None or positions is None or not all(window):
        return None
    rest = {position: -shape[position] % k for position, k in zip(positions, window, strict=True)}
    if not any(rest.values()):
        return None
    if draft.name in ("sum_pool", "avg_pool"):
        draft.given["ceil_mode"] = True
    if draft.name == "avg_pool":
        draft.given["divisor"] = math.prod(window)
    if "ceil_mode" not in draft.given:
        pad_first(draft, shape, [(0, rest.get(axis, 0)) for axis in range(len(shape))])
    return "block_reduce fills the last blocks up with zeros"


def is_filter2d(draft: Draft, third: Any) -> bool:
    """Whether arguments are in the order of cv2.filter2D, with a depth before the filter."""
    return draft.name == "correlate" and is_one_int(draft.given.get("k")) and bool(shape_of(third))


def edges_of_opencv(draft: Draft, words: frozenset[str]) -> str | None:
    """cv2.filter2D reflects arrays at the edges."""
    if "ddepth" not in words or draft.name != "correlate":
        return None
    on_picture(draft)
    rounds = ""
    if is_whole(draft.dtype):
        rounds = "OpenCV rounds to the dtype of x"
        result_dtype(draft, float)  # integers overflow
    if "mode" in draft.given:
        return rounds or None
    extended = padded_as(draft, "reflect", {"reflect": "reflect"}, scipy=True)
    if extended is None:
        return rounds or None
    draft.unsure |= not extended[1]
    draft.given["mode"] = "valid"
    return "; ".join(filter(None, (rounds, "OpenCV reflects x at the edges")))
