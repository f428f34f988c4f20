"""A window that does not fit: on which axes it would, or the call that draws it."""

from __future__ import annotations

from ..errors import MISFIT, TO_SEE_IT, Cause
from ..pictures import CHANNELS, sides
from .drafts import CONVOLUTIONS, FILTERS, WINDOW_ARGUMENTS, Draft, literal, shape_of

# Arguments that say what a window sees.
DRAWN = (*WINDOW_ARGUMENTS, "groups", "layout", "output_padding", "output_shape")


def is_misfit(cause: Cause) -> bool:
    return any(part.startswith(MISFIT) for part in cause.args)


def before_channels(draft: Draft) -> str:
    """The axes in front of the last one, if that is as short as channels are, and the window fits there."""
    shape, window = draft.shape, draft.window
    if shape is None or not window or not shape[-1] <= max(CHANNELS) or len(window) >= len(shape):
        return ""
    if "axes" not in draft.parameters or draft.given.get("axes") is not None or draft.of_torch:
        return ""
    axes = tuple(range(len(shape) - 1 - len(window), len(shape) - 1))
    tried = draft.changed({"axes": axes if len(axes) > 1 else axes[0]})
    if tried.failure() is not None:
        return ""
    draft.given = tried.given
    if sides(shape) == axes:
        return f"; the last axis looks like the {shape[-1]} colours of a picture: write {draft} for height and width"
    return f"; the last axis looks like channels: write {draft} for the {'axes' if len(axes) > 1 else 'axis'} before it"


def to_draw(draft: Draft) -> str:
    """A window that does not fit: the call that draws it, if it can be written."""
    shape, given = draft.shape, draft.given
    if draft.name in CONVOLUTIONS:
        op, second = draft.name, shape_of(given["w"])
    elif "window" in draft.parameters:
        op, second = draft.name if draft.name.endswith("_pool") else "max_pool", given["window"]
    else:
        return ""
    named = {"window": second} | {name: given[name] for name in DRAWN if given.get(name) is not None}
    written = {name: literal(value, name) for name, value in named.items()}
    if shape is None or second is None or any(name == text for name, text in written.items()):
        return ""
    window = written.pop("window")
    options = "".join(f", {name}={text}" for name, text in written.items())
    return f'{TO_SEE_IT}cn.explain("{op}", {shape}, {window}{options})'


def exchanged(draft: Draft) -> str:
    """mode="valid" with a filter that is longer: NumPy and SciPy exchange it and the data then."""
    x, k = draft.shape, draft.window
    if draft.name not in FILTERS or x is None or k is None or len(x) != len(k):
        return ""
    if any(n > size for n, size in zip(x, k, strict=True)):
        return ""
    if not set(draft.given) <= {"x", "k", "mode"}:
        return ""
    draft.given.update(x=draft.given["k"], k=draft.given["x"])
    axes = tuple(range(len(k)))
    flipped = f"k.flip({axes})" if draft.of_torch else "np.flip(k)"
    draft.written.update(x="k" if draft.name == "convolve" else flipped, k="x")
    draft.switch("convolve", draft.given)
    return f"; to exchange the two, write {draft}" if draft.failure() is None else ""
