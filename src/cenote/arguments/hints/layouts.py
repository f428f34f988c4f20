"""Channels that do not agree: the layout of the data and the order of the axes of the filters in which they would."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any

from ..errors import Cause
from .drafts import CONVOLUTIONS, Draft, Shape, is_one_int, shape_of

# The axes of filters of a convolution and of its transpose, by where channels are: last, first.
ORDERS = {
    False: ("(*k, C/groups, O)", "(O, C/groups, *k)"),
    True: ("(*k, O/groups, C)", "(C, O/groups, *k)"),
}
LAYOUTS = ("channels_last", "channels_first")
OF_NABLA = {False: ("HWIO", "OIHW"), True: ("HWOI", "IOHW")}


@dataclass(frozen=True)
class Reading:
    """Where the channels of the data are, and in which order the filters have their axes."""

    data_first: bool
    filters_first: bool

    def agrees(self, x: Shape, w: Shape, groups: int, transposed: bool) -> bool:
        rank = len(w) - 2
        channels = x[-1 - rank] if self.data_first else x[-1]
        outer, inner = w[:2] if self.filters_first else (w[-1], w[-2])
        spatial = x[len(x) - rank :] if self.data_first else x[-1 - rank : -1]
        if not transposed and any(k > n for k, n in zip(self.kernel(w), spatial, strict=True)):  # not so likely
            return False
        return channels == (outer if transposed else inner * groups)

    def kernel(self, w: Shape) -> Shape:
        return w[2:] if self.filters_first else w[:-2]


def is_about_channels(cause: Cause) -> bool:
    return len(cause.args) > 1 and re.match(r" has \d+ channels?, axis \d", cause.args[1]) is not None


def likely(x: Shape, w: Shape, groups: int, transposed: bool, given: Reading) -> list[Reading]:
    """How the arrays can be read so that channels agree, not as given: filters are cubes, mostly.

    Filters that are cubes as they are, and no cubes in the other order, are as they should be.
    """
    if len(w) < 3 or len(x) < len(w) - 1:
        return []
    readings = [Reading(*flags) for flags in itertools.product((given.data_first, not given.data_first), (False, True))]
    if not all(w) or given.agrees(x, w, 1, transposed):  # groups are what is wrong
        return []
    found = [r for r in readings if r != given and r.agrees(x, w, groups, transposed)]
    if is_cube(given.kernel(w)):
        found = [r for r in found if r.filters_first == given.filters_first or is_cube(r.kernel(w))]
    return [r for r in found if is_cube(r.kernel(w))] or found


def is_cube(kernel: Shape) -> bool:
    return len(set(kernel)) == 1


def to_first(rank: int) -> tuple[int, ...]:
    """How filters with channels last are transposed to those with channels first."""
    return (rank + 1, rank, *range(rank))


def to_last(rank: int) -> tuple[int, ...]:
    return (*range(2, rank + 2), 1, 0)


def transpose(name: str, value: Any, order: tuple[int, ...]) -> str:
    """An array with its axes in another order, as its library writes that."""
    if type(value).__module__.partition(".")[0] == "torch":
        return f"{name}.permute{order}"
    return f"{name}.transpose{order}" if hasattr(value, "transpose") else f"np.transpose({name}, {order})"


def elsewhere(draft: Draft) -> tuple[str, bool]:
    """Of conv and conv_transpose: the sentence about where channels would agree, and whether the draft is then right.

    Where filters can be read in two ways, the draft has the one without a transpose.
    """
    x, w, groups = draft.shape, draft.shapes.get("w") or shape_of(draft.given.get("w")), draft.given.get("groups", 1)
    transposed, first = draft.name == "conv_transpose", draft.given.get("layout") == "channels_first"
    if draft.name not in CONVOLUTIONS or x is None or w is None or not is_one_int(groups):
        return "", False
    readings = likely(x, w, groups, transposed, Reading(first, first))
    if not readings and transposed and "w" not in draft.written:
        return exchanged_channels(draft, x, w, groups, first)
    if not readings or "w" in draft.written or len({reading.data_first for reading in readings}) > 1:
        return "", False
    data_first = readings[0].data_first
    words = [f"layout={LAYOUTS[data_first]!r}"] if data_first != first else []
    order = (to_first if data_first else to_last)(len(w) - 2)
    moved = transpose("w", draft.given["w"], order)
    draft.given["layout"] = LAYOUTS[data_first]
    if not data_first and data_first == first:
        del draft.given["layout"]  # the default
    if len(readings) == 2:
        draft.ending = (
            f" if the axes of w are {ORDERS[transposed][data_first]}, with {moved} if they are "
            f"{ORDERS[transposed][not data_first]}"
        )
    elif readings[0].filters_first != data_first:
        words.append(f"w transposed to {ORDERS[transposed][data_first]}")
        draft.written["w"], draft.shapes["w"] = moved, tuple(w[i] for i in order)
    return f"; with {' and '.join(words)} they would agree", True


def exchanged_channels(draft: Draft, x: Shape, w: Shape, groups: int, first: bool) -> tuple[str, bool]:
    """Filters of conv_transpose that have their channels in the order of conv, as those of flax."""
    inner, outer = (0, 1) if first else (-2, -1)
    given = draft.given["w"]
    if groups != 1 or not 3 <= len(w) <= len(x) + 1 or x[1 - len(w) if first else -1] != w[outer if first else inner]:
        return "", False
    exchanged = list(w)
    exchanged[inner], exchanged[outer] = w[outer], w[inner]
    draft.shapes["w"] = tuple(exchanged)
    if first:
        draft.written["w"] = transpose("w", given, (1, 0, *range(2, len(w))))
        draft.ending = " if its axes are (O, C, *k)"
        return "; with the first two axes of w exchanged they would agree", True
    draft.written["w"] = "w.swapaxes(-1, -2)" if hasattr(given, "swapaxes") else "np.swapaxes(w, -1, -2)"
    draft.ending = " if its axes are (*k, C, O)"
    if not isinstance(given, (list, tuple)) and not draft.of_torch:
        flipped = f"w[{', '.join(['::-1'] * (len(w) - 2))}]"
        draft.ending += f", with {flipped} in the place of w for filters of flax and lax.conv_transpose"
    return "; with the last two axes of w exchanged they would agree", True


def channels_per_group(draft: Draft) -> tuple[str, bool]:
    """Filters with all channels, where groups= gives each of them a part; and those of Keras for each channel."""
    x, w, groups = draft.shape, shape_of(draft.given.get("w")), draft.given.get("groups", 1)
    first = draft.given.get("layout") == "channels_first"
    if draft.name != "conv" or x is None or w is None or "w" in draft.written or not is_one_int(groups):
        return "", False
    if len(w) < 3 or len(x) < len(w) - 1 or groups < 2 or not Reading(first, first).agrees(x, w, 1, False):
        return "", False
    axis, outer = (1, w[0]) if first else (len(w) - 2, w[-1])
    if w[axis] % groups:
        return f"; groups={groups} does not divide the {w[axis]} channels", False
    shape = (*w[:axis], w[axis] // groups, *w[axis + 1 :])
    count = f"{w[axis]}/{groups} = {shape[axis]}"
    each = f"; with {groups} groups each filter has {count} channel{'' if shape[axis] == 1 else 's'}"
    if outer % groups == 0:
        return f"{each}, and w has shape {shape}", False
    if first or groups != w[axis]:
        return f"{each}, and {outer} filters cannot be divided into {groups} groups", False
    draft.written["w"] = f"{'w' if hasattr(draft.given['w'], 'reshape') else 'np.asarray(w)'}{DEPTHWISE}"
    draft.shapes["w"] = depthwise(w)
    return "; with filters (*k, C, multiplier) of each channel, as those of Keras", True


DEPTHWISE = ".reshape(*w.shape[:-2], 1, -1)"


def depthwise(w: Shape) -> Shape:
    return (*w[:-2], 1, w[-2] * w[-1])


def in_shapes(text: str, w: Shape) -> str:
    """A message about filters of which only the shape is known, with shapes in the place of arrays."""
    text = re.sub(r", with w\[[^ ]*.* in the place of w.*?(?=;|$)", "", text)  # flipped, of the same shape
    for order in re.findall(r"\bw\.transpose\(([\d, ]+)\)", text):
        text = text.replace(f"w.transpose({order})", repr(tuple(w[int(i)] for i in order.split(","))))
    exchanged = repr((*w[:-2], w[-1], w[-2]))
    text = text.replace("w.swapaxes(-1, -2)", exchanged).replace(f"w{DEPTHWISE}", repr(depthwise(w)))
    return re.sub(r"(: write conv(?:_transpose)?\(x(?:\[[^]]*\])?, )w(?=[,)])", rf"\g<1>{w}", text)


def as_named(draft: Draft) -> str:
    """Filters for a layout in another library's word: transposed, if they are cubes in the other order only."""
    x, w, groups = draft.shape, shape_of(draft.given.get("w")), draft.given.get("groups", 1)
    transposed, first = draft.name == "conv_transpose", draft.given["layout"] == "channels_first"
    if x is None or w is None or len(x) < len(w) - 1 or not is_one_int(groups) or "w" in draft.written:
        return ""
    now, other = Reading(first, first), Reading(first, not first)
    if not other.agrees(x, w, groups, transposed) or not is_cube(other.kernel(w)) or is_cube(now.kernel(w)):
        return ""
    order = (to_first if first else to_last)(len(w) - 2)
    draft.written["w"], draft.shapes["w"] = (
        transpose("w", draft.given["w"], order),
        tuple(w[i] for i in order),
    )
    return f", with w transposed to {ORDERS[transposed][first]}"


def of_dialect(draft: Draft) -> str:
    """The same of a dialect's function: mygrad and torch have channels first, nabla has names for layouts."""
    names = list(draft.parameters)
    found = re.match(r"conv(_?transpose)?(\dd|_nd)?(_transpose)?$", draft.name)
    if found is None or not {"weight", "filter", "filter_bank"} & set(names[1:2]):
        return ""
    x, w = (shape_of(draft.given.get(name)) for name in names[:2])
    groups, transposed = draft.given.get("groups", 1), "transpose" in draft.name
    if x is None or w is None or not is_one_int(groups):
        return ""
    if "input_layout" in names:
        orders = OF_NABLA[transposed]
        given = Reading(draft.given.get("input_layout") == "NCHW", draft.given.get("filter_layout") == orders[1])
    else:
        orders, given = ORDERS[transposed], Reading(True, True)
    readings = likely(x, w, groups, transposed, given)
    if len(readings) != 1:
        return ""
    reading, words = readings[0], []
    for name, i in zip(names[:2], (0, 1), strict=True):
        now, then = (given.data_first, given.filters_first)[i], (reading.data_first, reading.filters_first)[i]
        if now == then:
            continue
        if "input_layout" in names:
            option = ("input_layout", "filter_layout")[i]
            draft.given[option] = (("NHWC", "NCHW"), orders)[i][then]
            words.append(f"{option}={draft.given[option]!r}")
        else:
            order = to_first(len(w) - 2) if i else data_to_first(len(x), len(w) - 2)
            draft.written[name] = transpose(name, draft.given[name], order)
            data = "(N, C, *spatial)" if len(x) == len(w) else "(C, *spatial)"
            words.append(f"{name} transposed to {orders[1] if i else data}")
    return f"; with {' and '.join(words)} they would agree: write {draft}"


def data_to_first(ndim: int, rank: int) -> tuple[int, ...]:
    """How data with channels last are transposed to those with channels first."""
    batch = ndim - rank - 1
    return (*range(batch), ndim - 1, *range(batch, ndim - 1))
