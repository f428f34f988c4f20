"""The fields of the form: what can be chosen for each operation. The page builds its form from this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..explanation.limits import DTYPES, REDUCERS

FILLS = ("example", "count", "ones", "zeros")


@dataclass(frozen=True)
class Field:
    """One field: the name is that of the argument and of the parameter in the address."""

    name: str
    label: str
    control: str  # "text", "choice" or "flag"
    default: str
    help: str = ""
    choices: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "label": self.label, "control": self.control, "default": self.default, "help": self.help,
            "choices": list(self.choices),
        }  # fmt: skip


def text(name: str, default: str, help: str) -> Field:
    return Field(name, name, "text", default, help)


def choice(name: str, choices: tuple[str, ...], help: str = "") -> Field:
    return Field(name, name, "choice", choices[0], help, choices)


def flag(name: str, default: bool, help: str = "") -> Field:
    return Field(name, name, "flag", "1" if default else "0", help)


PER_AXIS = "2, or one for each axis: 2,1"
PADDING = "1, or 1,2, or low:high 0:1,2:2, or same"
SHAPE = Field("shape", "shape of x", "text", "7,7", "sizes, such as 2,7,7")
DATA = (
    Field("dtype", "dtype of x", "choice", DTYPES[0], "", DTYPES),
    Field("fill", "values of x", "choice", FILLS[0], "", FILLS),
)
WINDOW = (
    text("window", "3,3", "one size for each axis: 3,3"),
    text("stride", "", "empty: the window"),
    text("padding", "0", PADDING),
    text("dilation", "1", ""),
    text("axes", "", "empty: the last ones"),
    flag("ceil_mode", False, "round the output size up"),
)
NAN = choice("nan", ("propagate", "omit"))
TIES = choice("ties", ("first", "split"), "which one a derivative follows")
AXES = text("axes", "", "axes that are pooled, such as 0,1")
CONV = (
    text("stride", "1", PER_AXIS),
    text("padding", "0", PADDING),
    text("dilation", "1", ""),
    text("groups", "1", "an int that divides the channels"),
    choice("layout", ("channels_last", "channels_first")),
    flag("bias", False, "add a number for each output channel"),
)


@dataclass(frozen=True)
class Operation:
    """A function and its fields. Going to one of another family, the page does not keep the shape of x."""

    family: str
    fields: tuple[Field, ...]
    defaults: dict[str, str]

    def default(self, field: Field) -> str:
        return self.defaults.get(field.name, field.default)

    @property
    def all_fields(self) -> tuple[Field, ...]:
        return (SHAPE, *self.fields, *DATA)


def windowed(*more: Field, **defaults: str) -> Operation:
    return Operation("pool", (*WINDOW, *more), {"stride": "", **defaults})


FILTER_HELP = "(*k, C/groups, O), channels first (O, C/groups, *k)"
TRANSPOSE_HELP = "(*k, O/groups, C), channels first (C, O/groups, *k)"
OPERATIONS: dict[str, Operation] = {
    "max_pool": windowed(NAN, TIES),
    "min_pool": windowed(NAN, TIES),
    "avg_pool": windowed(
        flag("count_include_pad", True, "padded elements count in the divisor"),
        text("divisor", "", "empty: the number of elements"),
        NAN,
    ),
    "sum_pool": windowed(NAN),
    "lp_pool": windowed(text("p", "2", "a number above 0, or inf")),
    "smooth_max_pool": windowed(
        text("beta", "1", "any number but 0; a negative one gives a smooth minimum"),
        text("pad_value", "0", "what padding counts as; none leaves it out"),
    ),
    "median_pool": windowed(NAN),
    "mode_pool": windowed(dtype="int64"),
    "pool": windowed(
        choice("reduce_fn", tuple(REDUCERS), "the NumPy function that is folded over a window"),
        text("init", "0", "what the fold begins with"),
    ),
    "adaptive_max_pool": Operation(
        "pool", (text("output_size", "3,3", "one size for each axis; none keeps an axis"), AXES), {}
    ),
    "adaptive_avg_pool": Operation(
        "pool", (text("output_size", "3,3", "one size for each axis; none keeps an axis"), AXES), {}
    ),
    "global_max_pool": Operation("pool", (AXES,), {"axes": "0,1"}),
    "global_avg_pool": Operation("pool", (AXES,), {"axes": "0,1"}),
    "conv": Operation(
        "conv",
        (Field("filter", "shape of w", "text", "3,3,1,1", FILTER_HELP), *CONV),
        {"shape": "6,6,1"},
    ),
    "conv_transpose": Operation(
        "conv",
        (
            Field("filter", "shape of w", "text", "3,3,1,1", TRANSPOSE_HELP),
            *CONV,
            text("output_padding", "0", "more elements at the end of each axis"),
            text("output_shape", "", "sizes of the result, in the place of output_padding"),
        ),
        {"shape": "3,3,1", "stride": "2"},
    ),
}  # fmt: skip
# Parameters of the address that are no fields of the form. The page alone has "pin" and "theme".
EDITS = ("x", "w", "b", "g")


def fields_as_json() -> dict[str, Any]:
    return {
        "operations": {
            name: {
                "family": operation.family,
                "fields": [{**f.as_json(), "default": operation.default(f)} for f in operation.all_fields],
            }
            for name, operation in OPERATIONS.items()
        },
        "edits": list(EDITS),
    }
