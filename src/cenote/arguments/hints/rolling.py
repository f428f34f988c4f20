"""Arguments of rolling windows, as those of pandas and xarray."""

from __future__ import annotations

from typing import Any

from .dimensions import has_names
from .drafts import Draft, Note, is_one_int
from .paddings import same_as_scipy

COUNT = ": nan='omit' leaves NaN out, and sum_pool of ~np.isnan(x) counts the rest"

BEGINS = ": windows begin at x[0]; of pandas and xarray, they end there"


def least_count(draft: Draft, value: Any) -> Note | None:
    """min_periods=1: windows may begin before x, and NaN is left out."""
    if "nan" not in draft.parameters:
        return None
    draft.settle()
    extents = draft.extents
    if not is_one_int(value) or value != 1 or extents is None or has_names(draft):
        return COUNT, False
    draft.given |= {"nan": "omit", "stride": draft.given.get("stride", 1)}
    draft.given.setdefault("padding", tuple((extent - 1, 0) for extent in extents))
    if draft.name == "avg_pool":
        draft.given["count_include_pad"] = False
    return ": windows may begin before x, and NaN is left out", True


def count_of_blocks(draft: Draft, value: Any) -> Note | None:
    return (COUNT, False) if "nan" in draft.parameters else None


def centred(draft: Draft, value: Any) -> Note | None:
    """center= of rolling windows."""
    if "window" not in draft.parameters:
        return None
    draft.settle()
    if begins_elsewhere(draft):
        return BEGINS, False
    if value is False:
        return " is not needed: windows that would begin before x are left out, not NaN", True
    if "padding" not in draft.given:  # by min_periods
        return " is not needed: windows that would begin before x or end behind it are left out, not NaN", True
    if draft.given.get("stride") in (None, 1):
        draft.given["padding"] = same_as_scipy(draft)
    else:  # with steps, "same" begins elsewhere
        draft.given["padding"] = tuple((extent // 2, (extent - 1) // 2) for extent in draft.extents or ())
    return ": windows may end behind x", True


def begins_elsewhere(draft: Draft) -> bool:
    return "padding" not in draft.given and draft.given.get("stride") not in (None, 1)


def closed(draft: Draft, value: Any) -> Note | None:
    """Which of its two ends a rolling window of pandas has."""
    if "window" not in draft.parameters:
        return None
    if begins_elsewhere(draft):
        return BEGINS, False
    if value is None or (isinstance(value, str) and value == "right"):
        return " is not needed: windows end with an element of x", True
    return ": a window has as many elements as its size says", False


def window_type(draft: Draft, value: Any) -> Note | None:
    if "window" not in draft.parameters:
        return None
    return (" is not needed", True) if value is None else (": correlate is the sum of weighted elements", False)
