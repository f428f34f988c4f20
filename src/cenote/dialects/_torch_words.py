"""What help says of the arguments of torch's functions: the same in one, two and three dimensions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ._sections import Texts, with_sections

SIZES = "int or tuple of int"
TEXTS: Texts = {
    "input": ("array_like or Tensor", "Input of shape (C, *spatial), or (N, C, *spatial) with a batch."),
    "kernel_size": (SIZES, "Size of the window: one int for all spatial axes, or one per axis."),
    "stride": (SIZES, "Step between windows: one int for all axes, or one per axis. Defaults to ``kernel_size``."),
    "padding": (SIZES, "Number of elements added at both ends of each axis, at most half of the size of the window."),
    "dilation": (SIZES, "Spacing between the elements of a window."),
    "ceil_mode": ("bool", "Round the output size up: keep a last window that extends past the end."),
    "return_indices": ("bool", "Also return the index of each selected element, flat over the spatial axes."),
    "count_include_pad": ("bool", "Whether padding counts in the divisor."),
    "divisor_override": ("int", "Divisor of every window, any int but 0."),
    "norm_type": ("float", "p of the norm: any number above 0, inf, or -inf for the smallest magnitude."),
    "output_size": ("int or tuple of (int or None)", "Number of bins: one int for all spatial axes, or one per axis."),
    "indices": ("array_like of int64", "Where each value goes, as returned with ``return_indices=True``."),
    "weight": ("array_like or Tensor", "Filters of shape (O, C/groups, *kernel), of the dtype of ``input``."),
    "bias": ("array_like or Tensor", "Added to the result: one number per output channel."),
    "groups": ("int", "Number of groups that the channels are divided into."),
    "output_padding": (SIZES, "Elements added at the high end, fewer than the stride or the dilation."),
}
STEP = (SIZES, "Step of the filter: one int for all spatial axes, or one per axis.")
# What differs from the texts above, by family.
FAMILIES: dict[str, Texts] = {
    "max_unpool": {
        "padding": (SIZES, "The padding of the pooling call."),
        "stride": (SIZES, "The stride of the pooling call. Defaults to ``kernel_size``."),
        "output_size": ("sequence of int", "Spatial sizes of the result, or its whole batched shape."),
    },
    "conv": {
        "stride": STEP,
        "padding": (f"{SIZES}, or str", 'Number of zeros at both ends, "valid", or "same" with a stride of 1.'),
        "dilation": (SIZES, "Spacing between the elements of a filter."),
    },
    "conv_transpose": {
        "weight": ("array_like or Tensor", "Filters of shape (C, O/groups, *kernel), of the dtype of ``input``."),
        "stride": STEP,
        "padding": (SIZES, "Number of elements removed at both ends of each axis of the result."),
        "dilation": (SIZES, "Spacing between the elements of a filter."),
    },
}


def document(name: str, function: Callable[..., Any]) -> None:
    """Append Parameters and Returns to the docstring of ``function``, called ``name`` by torch."""
    family = re.sub(r"\d+d$", "", name)
    texts = {**TEXTS, **FAMILIES.get(family, {})}
    per = "bin" if family.startswith("adaptive") else "window"
    if family.startswith(("conv", "max_unpool")):
        of = {"conv": "(O, *spatial')", "conv_transpose": "(O, *spatial')", "max_unpool": "(C, *spatial')"}[family]
        returns: Texts = {"output": ("ndarray or Tensor", f"Shape {of}, with a batch axis if ``input`` has one.")}
    elif "max_pool" in family:
        values = ("ndarray or Tensor", f"The largest element of each {per}, in the dtype of ``input``.")
        returns = {"values": values, "indices": ("ndarray of int64", "Only with ``return_indices=True``.")}
    else:
        returns = {"output": ("ndarray or Tensor", f"One value per {per}.")}
    with_sections(function, texts, returns)
