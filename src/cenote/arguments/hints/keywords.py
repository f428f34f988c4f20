"""Words of other libraries whose value is written in another way here, or that are another function here.

A rule changes the draft of a call. It gives the end of a sentence that begins with ``word=value``, and whether the call
is then what was meant.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..values import as_sequence
from .drafts import CONVOLUTIONS, FILTERS, Draft, Note, is_one_int, literal, picture_axes, shape_of
from .dtypes import output, result_dtype
from .layouts import transpose
from .paddings import boundary, filter_padding, mode, own_padding, padded_as, padded_value, padding_mode, same_as_scipy
from .reductions import what_to_compute
from .rolling import centred, closed, count_of_blocks, least_count, window_type
from .sizes import of_every_axis
from .weights import counted, flat, weights
from .words import CHOICES, LAYOUTS, LEFT_OUT, NORMS, SYNONYMS

NO_LAYOUT = ": there are no layouts here, axes= names the axes to pool"
FLAGS = ("ceil_mode", "count_include_pad", "return_indices")


def apply(draft: Draft, word: str, value: Any) -> Note | None:
    """What a keyword is here, if it is more than another name."""
    rule = RULES.get(word.lower())
    found = rule(draft, value) if rule is not None else None
    if found is None and word in LEFT_OUT and word not in draft.parameters:
        found = f" is not needed: {LEFT_OUT[word]}", True
    return found


def own_value(draft: Draft, ours: str, word: str, value: Any) -> Any:
    """The value of an argument that has another name, where it is also written in another way."""
    if ours == "nan":
        return nan_policy(value)
    if ours == "window" and word == "block_size":
        return of_every_axis(draft, value)
    if ours == "stride" and word == "step" and value is None:  # of pandas' rolling
        return 1
    if ours == "padding":
        return own_padding(draft, word, value)
    if ours == "layout":
        return own_layout(value)
    if ours == "p" and isinstance(value, str):
        return NORMS.get(value.lower(), value)
    if ours in FLAGS and type(value) is int and value in (0, 1):  # ONNX
        return bool(value)
    if ours == "output_shape" and draft.name in ("max_unpool", "conv_transpose"):
        return spatial_sizes(draft, value)
    return value


def nan_policy(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return "omit" if value else "propagate"
    return CHOICES["nan"].get(value, value) if isinstance(value, str) else value


def own_layout(value: Any) -> Any:
    first = value[0] if isinstance(value, (tuple, list)) and value else value  # JAX names x, w and y
    return LAYOUTS.get(first.lower(), value) if isinstance(first, str) else value


def spatial_sizes(draft: Draft, value: Any) -> Any:
    """torch also takes the sizes of all axes."""
    entries, positions, shape = as_sequence(value), draft.positions, draft.shape
    if entries is None or positions is None or shape is None or not len(positions) < len(entries) == len(shape):
        return value
    return tuple(entries[position] for position in positions)


# ------------------------------------------------------------------------------------------------------ rules


def layout_of_pooling(draft: Draft, value: Any) -> Note | None:
    """A layout: the axes that it gives the window."""
    if "axes" not in draft.parameters or "layout" in draft.parameters:
        return None
    name = str(value).lower()
    layout = {**LAYOUTS, "channels_first": "channels_first", "channels_last": "channels_last"}.get(name)
    shape, size = draft.shape, as_sequence(draft.given.get(draft.size_name))
    if layout is None or shape is None or draft.given.get("axes") is not None:
        return NO_LAYOUT, False
    if size is not None and len(size) == len(shape):  # TensorFlow's ksize, strides and data_format
        return ": there are no layouts here, the window has an entry for each axis", True
    spatial = len(name.strip("nc")) if name.isalpha() else 2 if picture_axes(shape) == (0, 1) else len(shape) - 2
    rank = spatial if size is None else len(size)
    last = len(shape) - (layout == "channels_last")
    if not 0 < rank <= last:
        return NO_LAYOUT, False
    if last < len(shape) or size is None:
        draft.given["axes"] = tuple(range(last - rank, last))
    return NO_LAYOUT, True


def filters_of_keras(draft: Draft, value: Any) -> Note | None:
    """data_format of a convolution: the filters of TensorFlow and Keras have their channels last in either."""
    x, w = draft.shape, shape_of(draft.given.get("w"))
    layout = own_layout(value)
    first = isinstance(layout, str) and layout == "channels_first"
    if draft.name not in CONVOLUTIONS or not first or x is None or w is None:
        return layout_of_pooling(draft, value)
    if not 3 <= len(w) <= len(x) + 1:
        return None
    channels, groups = x[1 - len(w)], draft.given.get("groups", 1)
    forward = draft.name == "conv"
    theirs = (w[-2] * groups if forward else w[-1]) == channels
    ours = (w[1] * groups if forward else w[0]) == channels
    cubes = [len(set(kernel)) == 1 for kernel in (w[:-2], w[2:])]  # filters are, mostly
    if theirs and not ours and cubes == [False, True]:  # only the number of channels is wrong
        theirs = False
    if theirs and ours:
        theirs, ours = cubes
        if theirs == ours:
            axes = "(O, C/groups, *k)" if forward else "(C, O/groups, *k)"
            return f" is layout='channels_first' here, and w is {axes} in it", False
    draft.given["layout"] = "channels_first"
    if not theirs:
        return " is called layout here", True
    order = (len(w) - 1, len(w) - 2, *range(len(w) - 2))
    draft.written["w"] = transpose("w", draft.given["w"], order)
    draft.shapes["w"] = tuple(w[i] for i in order)
    return " is called layout here, and moves the channels of w, too", True


def output_size(draft: Draft, value: Any) -> Note | None:
    """In the place of a window: adaptive pooling."""
    adaptive = f"adaptive_{draft.name}"
    if draft.name not in ("max_pool", "avg_pool"):
        return None
    if draft.switch(adaptive, {**draft.given, "output_size": value}):
        return f" is an argument of {adaptive}", True
    return f" is an argument of {adaptive}, not of {draft.name}", False


def window_of_adaptive(draft: Draft, value: Any) -> Note | None:
    """In the place of the size of a result: pooling by a window."""
    target = draft.name.removeprefix("adaptive_")
    if target == draft.name:
        return None
    given = {name: v for name, v in draft.given.items() if name not in ("output_size", "window")}
    if draft.switch(target, {**given, "window": value}):
        return f" is an argument of {target}", True
    return f" is an argument of {target}, not of {draft.name}", False


def keepdims(draft: Draft, value: Any) -> Note | None:
    if "axes" not in draft.parameters:
        return None
    if value is False and draft.name.startswith("global"):
        if "axes" not in draft.given:
            return ": pooled axes always stay, with length 1", False
        draft.suffix = f".squeeze({literal(draft.given['axes'], 'axes')})"
        return ": pooled axes always stay, with length 1", True
    return " is not needed: pooled axes always stay", True


def not_counted(draft: Draft, value: Any) -> Note | None:
    if "count_include_pad" not in draft.parameters or not isinstance(value, (bool, np.bool_, int)):
        return None
    draft.given["count_include_pad"] = not value
    return f" is count_include_pad={not value} here", True


def constant(draft: Draft, value: Any) -> Note | None:
    if "x" not in draft.parameters:
        return None
    if value is True:
        draft.written["x"] = "cn.Tensor(x, constant=True)"
        return ": a Tensor is made constant", True
    return " is not needed: a Tensor says whether it is constant", True


def requires_grad(draft: Draft, value: Any) -> Note | None:
    if "constant" not in draft.parameters or not isinstance(value, bool):
        return None
    draft.given["constant"] = not value
    return f" is constant={not value} here", True


def tensor_dtype(draft: Draft, value: Any) -> Note | None:
    written = literal(value, "")
    if draft.name != "Tensor" or not written:
        return result_dtype(draft, value)
    draft.written["data"] = f"np.asarray(data, {written})"
    return ": convert the data first", True


def size_of_filters(draft: Draft, value: Any) -> Note | None:
    if draft.name in CONVOLUTIONS:
        return " is not needed: the shape of w says it", True
    return window_of_adaptive(draft, value)


def number_of_filters(draft: Draft, value: Any) -> Note | None:
    if draft.name not in CONVOLUTIONS or not is_one_int(value):
        return None
    return ": the shape of w says how many filters there are", True


def spread_input(draft: Draft, value: Any) -> Note | None:
    if draft.name != "conv":
        return None
    if all(entry == 1 for entry in as_sequence(value) or (value,)):
        return " is not needed: 1 changes nothing", True
    return ": conv_transpose spreads its input, by its stride", False


def opencv_size(draft: Draft, value: Any) -> Note | None:
    entries = as_sequence(value)
    if "window" not in draft.parameters or entries is None or len(entries) != 2 or entries[0] == entries[1]:
        return window_of_adaptive(draft, value)
    draft.given["window"] = tuple(entries)
    return " is called window here, and its entries follow the axes: OpenCV's is (width, height)", False


def size_of_result(draft: Draft, value: Any) -> Note | None:
    """dsize= of cv2.resize."""
    if "window" not in draft.parameters and "output_size" not in draft.parameters:
        return None
    return ": adaptive_avg_pool has output_size=(height, width), and nothing here interpolates", False


def temperature(draft: Draft, value: Any) -> Note | None:
    if "beta" not in draft.parameters or not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    if value == 0:
        return ": beta is its reciprocal, and finite", False
    draft.given["beta"] = 1 / value
    return " is called beta here, its reciprocal", True


def shifted(draft: Draft, value: Any) -> Note | None:
    """origin= of scipy.ndimage."""
    if "window" not in draft.parameters and draft.name not in FILTERS:
        return None
    if all(entry == 0 for entry in as_sequence(value) or (value,)):
        return " is not needed: 0 changes nothing", True
    how = "pad x on one side with np.pad" if draft.name in FILTERS else "give padding= a (low, high) pair per axis"
    return f": to shift windows, {how}", False


def use_bias(draft: Draft, value: Any) -> Note | None:
    if draft.name not in CONVOLUTIONS:
        return None
    return (" is not needed: bias=None is the default", True) if value is False else (": give it as bias=", False)


def activation(draft: Draft, value: Any) -> Note | None:
    if draft.name not in CONVOLUTIONS:
        return None
    return (" is not needed", True) if value is None else (": apply it to the result", False)


def auxiliary(draft: Draft, value: Any) -> Note | None:
    if "f" not in draft.parameters:
        return None
    return (" is not needed", True) if value is False else (": f returns its value alone", False)


def side(draft: Draft, value: Any) -> Note | None:
    """Of coarsen: where elements are left out that fill no window."""
    if "ceil_mode" not in draft.parameters:
        return None
    if isinstance(value, str) and value == "left":
        return " is not needed: elements that fill no window are left out at the end", True
    return ": to leave out elements at the start, slice x first", False


def iterations(draft: Draft, value: Any) -> Note | None:
    if "window" not in draft.parameters:
        return None
    once = is_one_int(value) and value == 1
    return (" is not needed", True) if once else (": call it as many times", False)


OF_OPENCV = {0: "constant", 1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}  # cv2.BORDER_CONSTANT and others


def on_picture(draft: Draft) -> None:
    """Keep a window off the last axis, which has colours in OpenCV."""
    if draft.shape and len(draft.shape) == 3 and len(draft.window or ()) == 2 and "axes" in draft.parameters:
        draft.given.setdefault("axes", (0, 1))


def border_type(draft: Draft, value: Any) -> Note | None:
    """OpenCV's, whose results are as many as the elements."""
    word = OF_OPENCV.get(int(value)) if is_one_int(value) else None  # an array of one int has no hash
    if word is None:
        return padding_mode(draft, value)
    if draft.name not in FILTERS:
        draft.given.setdefault("stride", 1)
    on_picture(draft)
    draft.settle()
    if word == "constant":
        if draft.name in FILTERS:
            draft.given["mode"] = "same"
        else:
            draft.given["padding"] = same_as_scipy(draft)
        return ": elements outside of x are zeros, or never chosen", True
    found = padded_as(draft, word, {word: word}, scipy=True)
    if found is not None and found[1] and draft.name in FILTERS:
        draft.given["mode"] = "valid"
    return found


def depth(draft: Draft, value: Any) -> Note | None:
    """ddepth= of OpenCV."""
    return (" is not needed: the dtypes of x and k say it", True) if draft.name in FILTERS else None


Rule = Callable[[Draft, Any], Note | None]
RULES: dict[str, Rule] = {
    **dict.fromkeys(
        SYNONYMS["layout"] | {"layout", "channels_last", "channels_first", "channel_axis"}, layout_of_pooling
    ),
    **dict.fromkeys((SYNONYMS["window"] | {"window"}) - SYNONYMS["output_size"], window_of_adaptive),
    **dict.fromkeys(("data_format", "image_data_format"), filters_of_keras),
    "mode": mode,
    "padding_mode": padding_mode,
    "border_type": border_type,
    "bordertype": border_type,
    "ddepth": depth,
    "iterations": iterations,
    "side": side,
    "boundary": boundary,
    **dict.fromkeys(
        SYNONYMS["reduce_fn"]
        | {"reduce_fn", "reduction", "reduce", "how", "agg", "statistic", "pool_type", "pooling_type", "type"},
        what_to_compute,
    ),
    "output_size": output_size,
    **dict.fromkeys(("keepdims", "keepdim", "keep_dims"), keepdims),
    **dict.fromkeys(("exclusive", "exclude_pad", "count_exclude_pad", "exclude_padding"), not_counted),
    **dict.fromkeys(SYNONYMS["pad_value"] | {"pad_value"}, padded_value),
    **dict.fromkeys(SYNONYMS["dtype"], result_dtype),
    "output": output,
    "dtype": tensor_dtype,
    "constant": constant,
    "requires_grad": requires_grad,
    **dict.fromkeys(("kernel_size", "kernel_shape", "in_channels", "out_channels", "features"), size_of_filters),
    "filters": number_of_filters,
    **dict.fromkeys(("lhs_dilation", "base_dilation"), spread_input),
    "ksize": opencv_size,
    "dsize": size_of_result,
    "footprint": flat,
    "structure": flat,
    "structuring_element": flat,
    "where": partial(counted, word="where"),
    "mask": partial(counted, word="mask"),
    "weights": weights,
    "closed": closed,
    "win_type": window_type,
    "center": centred,
    "centered": centred,
    **dict.fromkeys(SYNONYMS["padding"] | {"padding"}, filter_padding),
    "min_periods": least_count,
    "min_count": count_of_blocks,
    "has_aux": auxiliary,
    "temperature": temperature,
    "origin": shifted,
    "use_bias": use_bias,
    "activation": activation,
}
