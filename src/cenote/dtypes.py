"""The dtype table: everything that the package knows about a dtype, and the only file that asks NumPy what kind it is.

:data:`TABLE` has one line for each dtype that windows know, :func:`row` finds it for either byte order. Rules such as
:func:`sum_dtype` say which dtype an operation gives. docs/dtypes.md is generated from the table and the operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ._core import DType as Code
from .arguments.errors import Argument, BadType, X

DType: TypeAlias = np.dtype[Any]
Kind: TypeAlias = Literal["bool", "signed", "unsigned", "float", "complex", "time", "other"]


class Row(NamedTuple):
    """One dtype, in the machine's byte order. A result of None means that the operation refuses the dtype."""

    dtype: DType
    kind: Kind
    ordered: bool  # has a maximum and a minimum
    has_nan: bool
    differentiable: bool
    code: Code | None  # in the core; None for a dtype that is not in the table
    storage: DType  # what its buffer is passed to the core as
    part: DType  # complex numbers are pooled as pairs of these
    accumulator: DType  # of sums and products whose result has this dtype
    sum: DType
    average: DType
    norm: DType | None  # lp_pool and smooth_max_pool
    conv: DType | None


# Of each kind: ordered, has NaN, has a derivative.
KINDS: dict[Kind, tuple[bool, bool, bool]] = {
    "bool": (True, False, False),
    "signed": (True, False, False),
    "unsigned": (True, False, False),
    "float": (True, True, True),
    "complex": (False, True, True),
    "time": (True, False, False),
    "other": (False, False, False),
}
LETTERS: dict[str, Kind] = {
    "b": "bool", "i": "signed", "u": "unsigned", "f": "float", "c": "complex", "m": "time", "M": "time",
}  # fmt: skip

# The buffer protocol has no name for bfloat16: it is passed as uint16. "=" is the dtype itself, "" is refused.
TABLE: dict[str, tuple[Kind, Code, str, str, str, str, str, str, str]] = {
    # name: kind, code, storage, part, accumulator, sum, average, norm, conv
    "bool": ("bool", Code.boolean, "=", "=", "=", "int64", "float64", "float64", ""),
    "int8": ("signed", Code.i8, "=", "=", "=", "int64", "float64", "float64", "="),
    "int16": ("signed", Code.i16, "=", "=", "=", "int64", "float64", "float64", "="),
    "int32": ("signed", Code.i32, "=", "=", "=", "int64", "float64", "float64", "="),
    "int64": ("signed", Code.i64, "=", "=", "=", "int64", "float64", "float64", "="),
    "uint8": ("unsigned", Code.u8, "=", "=", "=", "uint64", "float64", "float64", "="),
    "uint16": ("unsigned", Code.u16, "=", "=", "=", "uint64", "float64", "float64", "="),
    "uint32": ("unsigned", Code.u32, "=", "=", "=", "uint64", "float64", "float64", "="),
    "uint64": ("unsigned", Code.u64, "=", "=", "=", "uint64", "float64", "float64", "="),
    "float16": ("float", Code.f16, "=", "=", "float32", "=", "=", "=", "="),
    "bfloat16": ("float", Code.bf16, "uint16", "=", "float32", "=", "=", "=", "="),
    "float32": ("float", Code.f32, "=", "=", "=", "=", "=", "=", "="),
    "float64": ("float", Code.f64, "=", "=", "=", "=", "=", "=", "="),
    "complex64": ("complex", Code.c64, "=", "float32", "=", "=", "=", "", "="),
    "complex128": ("complex", Code.c128, "=", "float64", "=", "=", "=", "", "="),
}

rows: dict[DType, Row] = {}


def row(dtype: DType) -> Row:
    """The line of a dtype, of either byte order."""
    found = rows.get(dtype)
    return found if found is not None else new_row(dtype)


def new_row(dtype: DType) -> Row:
    itself = native(dtype)
    line = TABLE.get(itself.name)  # that of bfloat16 is ml_dtypes', which is never imported here
    if line is None or itself.type is np.longdouble or itself.type is np.clongdouble:  # float64, on some systems
        # What NumPy's functions may give of a Tensor's data, or what users pass and will be refused.
        kind = LETTERS.get(itself.kind, "other")
        return Row(itself, kind, *KINDS[kind], None, *(itself,) * 7)
    kind, code, *columns = line
    dtypes = [itself if entry == "=" else np.dtype(entry) if entry else None for entry in columns]
    rows[dtype] = found = Row(itself, kind, *KINDS[kind], code, *dtypes)  # type: ignore[arg-type]
    return found


def native(dtype: DType) -> DType:
    """The dtype in the machine's byte order."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def is_known(dtype: DType) -> bool:
    """Whether windows know it: whether the table has it."""
    return row(dtype).code is not None


def code_of(dtype: DType) -> Code:
    """The core's code of a dtype that is in the table."""
    return row(dtype).code  # type: ignore[return-value]


def is_bool(dtype: DType) -> bool:
    return row(dtype).kind == "bool"


def is_signed(dtype: DType) -> bool:
    return row(dtype).kind == "signed"


def is_integer(dtype: DType) -> bool:
    """Signed or unsigned; bool is none."""
    return row(dtype).kind in ("signed", "unsigned")


def is_exact(dtype: DType) -> bool:
    """bool or an integer type."""
    return row(dtype).kind in ("bool", "signed", "unsigned")


def is_float(dtype: DType) -> bool:
    return row(dtype).kind == "float"


def is_half(dtype: DType) -> bool:
    """float16 or bfloat16, which are accumulated in float32."""
    found = row(dtype)
    return found.accumulator is not found.dtype


def is_double(dtype: DType) -> bool:
    """float64, or complex numbers of it."""
    return row(dtype).part == np.float64


def is_complex(dtype: DType) -> bool:
    return row(dtype).kind == "complex"


def is_time(dtype: DType) -> bool:
    """datetime64 or timedelta64, which windows do not know."""
    return row(dtype).kind == "time"


def may_hold_words(dtype: DType) -> bool:
    """Strings and Python objects, of which only the elements say whether they are numbers."""
    return dtype.kind in "OSUT"


def has_nan(dtype: DType) -> bool:
    return row(dtype).has_nan


def is_differentiable(dtype: DType) -> bool:
    """Whether results of this dtype have derivatives."""
    return row(dtype).differentiable


def accumulator(dtype: DType) -> DType:
    """The accumulator of a sum whose result has this dtype."""
    return row(dtype).accumulator


# ------------------------------------------------------------------------------------------- result dtypes


def select_dtype(dtype: DType) -> DType:
    """max and min keep the dtype; complex numbers have no order."""
    found = row(dtype)
    if not found.ordered:
        raise BadType(
            X, f" has dtype {dtype}: complex numbers have no order, pool ", X, ".real, ", X, ".imag or abs(", X, ")"
        )
    return found.dtype


def sum_dtype(dtype: DType) -> DType:
    """NumPy's rule for sums: small integers grow to 64 bits, the rest stays."""
    return row(dtype).sum


def average_dtype(dtype: DType) -> DType:
    return row(dtype).average


def median_dtype(dtype: DType) -> DType:
    """A median of integers may lie halfway between two of them; complex numbers have no order."""
    return average_dtype(select_dtype(dtype))


def mode_dtype(dtype: DType) -> DType:
    """A mode keeps the dtype. It counts equal elements, which floats are by chance only."""
    if not is_exact(dtype):
        raise BadType(
            X, f" has dtype {dtype}: bool or an integer type is needed, because equal elements are counted; ",
            "convert ", X, " to integers, or use median_pool"
        )  # fmt: skip
    return native(dtype)


def norm_dtype(dtype: DType) -> DType:
    """Of lp_pool and smooth_max_pool."""
    found = row(dtype).norm
    if found is None:
        raise BadType(X, f" has dtype {dtype}: a real dtype is needed, pool abs(", X, ") instead")
    return found


def conv_dtype(dtype: DType, name: str = "x") -> DType:
    """A convolution keeps what NumPy's promotion makes of its operands; what a bool times a bool is, is not obvious."""
    found = row(dtype).conv
    if found is None:
        raise BadType(
            Argument(name), " has dtype bool: numbers are needed, convert it to the dtype that you want sums in"
        )
    return found


def promote(operands: Mapping[str, DType]) -> DType:
    """The dtype of a convolution of these: NumPy's rule."""
    for name, dtype in operands.items():
        conv_dtype(dtype, name)
    try:
        found: DType = np.result_type(*operands.values())
    except TypeError:
        named = [part for name, dtype in operands.items() for part in (", ", Argument(name), f" has dtype {dtype}")][1:]
        raise BadType(*named, ": NumPy knows no dtype that holds them all, convert them to one") from None
    return native(found)
