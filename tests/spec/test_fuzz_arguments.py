"""Any object in the place of any argument: a result, a TypeError or a ValueError that names the call, nothing else.

Ints are small or at least 2**62: those in between are sizes that a machine may have to allocate.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import cenote as cn
from cases import Array

# NumPy's own word on a list that holds np.ma.masked.
pytestmark = pytest.mark.filterwarnings("ignore:Warning. converting a masked element to nan")

X = np.arange(24.0).reshape(2, 3, 4)
WHERE = np.arange(24).reshape(2, 3, 4) % 4
FILTERS = np.ones((2, 4, 4))

# Of each function: arguments that work.
CALLS: dict[str, dict[str, Any]] = {
    "max_pool": {"x": X, "window": (2, 2)},
    "min_pool": {"x": X, "window": (2, 2)},
    "sum_pool": {"x": X, "window": (2, 2)},
    "avg_pool": {"x": X, "window": (2, 2)},
    "lp_pool": {"x": X, "window": (2, 2)},
    "smooth_max_pool": {"x": X, "window": (2, 2)},
    "median_pool": {"x": X, "window": (2, 2)},
    "mode_pool": {"x": X.astype(int), "window": (2, 2)},
    "pool": {"x": X, "window": (2, 2), "init": 0, "reduce_fn": np.multiply},
    "output_shape": {"shape": (2, 3, 4), "window": (2, 2)},
    "adaptive_max_pool": {"x": X, "output_size": (2, 2)},
    "adaptive_avg_pool": {"x": X, "output_size": (2, 2)},
    "global_max_pool": {"x": X, "axes": (1, 2)},
    "global_avg_pool": {"x": X, "axes": (1, 2)},
    "max_unpool": {"y": X, "indices": WHERE, "window": (2, 2)},
    "conv": {"x": X, "w": FILTERS},
    "conv_transpose": {"x": X, "w": FILTERS},
    "correlate": {"x": X, "k": [[1.0, 2.0]]},
    "convolve": {"x": X, "k": [1.0, 2.0]},
    "reducer": {"fn": np.add, "partials": np.add},
    "set_num_threads": {"n": 2},
    "num_threads": {"n": 2},
}


def arguments_of(name: str) -> list[str]:
    return list(inspect.signature(getattr(cn, name)).parameters)


def cyclic() -> list[Any]:
    out: list[Any] = [1]
    out.append(out)
    return out


def deep(kind: Callable[[list[Any]], Any]) -> Any:
    out = kind([])
    for _ in range(20_000):
        out = kind([out])
    return out


class Five:
    def __index__(self) -> int:
        return 5


class Odd:
    """Numbers and sequences in name only."""

    __index__ = __len__ = __iter__ = __array__ = __float__ = None


class Subclass(np.ndarray[Any, Any]):
    pass


class Silent:
    def __repr__(self) -> str:
        raise OSError("no repr")


ODD_DTYPES = ["O", "S3", "U3", "M8[s]", "m8", "V3", "g", "G", "T", ">f8", ">i2", "e", "F", "?", "Q", "b"]
NUMBERS = [0, 1, 2, 3, -1, -2, 7, 2**62, 2**63 - 1, 2**63, 2**64, 10**30, 10**400, 10**5000]
WORDS = ["valid", "same", "same_lower", "propagate", "omit", "first", "split", "channels_first"]
SCALARS: list[Any] = [
    *NUMBERS, *(-number for number in NUMBERS), 0.0, -0.0, 0.5, 2.0, 1e308, 5e-324, 1e400, -1e400, float("nan"), 1j,
    complex("nan"), True, False, None, *WORDS, "", "SAME", "2", "\ud800", "x" * 10_000, b"", b"same", Ellipsis,
    NotImplemented, object(), object, int, len, slice(2), lambda *_: None, lambda a, b: b, Odd(), Silent(), Five(),
    Fraction(1, 3), Fraction(10**5000), Fraction(1, 10**5000), decimal.Decimal("2"), decimal.Decimal("sNaN"),
    datetime.date(2000, 1, 1), np, np.add, np.dtype("f4"), np.float64, np.nan, np.newaxis, np.ma.masked, np.s_[1:2],
    *(np.dtype(kind).type(1) for kind in "?bBhHiIqQefdgFDG"), np.float32("inf"), np.float16("nan"),
    np.longdouble("1e4000"), np.str_("same"), np.bytes_(b"a"), np.void(b"abc"), np.datetime64("NaT"),
    np.timedelta64(2, "s"), ml_dtypes.bfloat16(2),
]  # fmt: skip
COLLECTIONS: list[Any] = [
    (), [], {}, set(), frozenset(), range(0), range(1, 3), range(2**70), (2,), [2, 2], (2, 2, 2),
    (2, 2.0), (2, True), (2, None), (0, 1), (-1, -1), ((1, 1), (1, 1)), [[1, 0], (0, 1)], ((1, 1), 1), ((), ()),
    ((1, 1, 1), (1, 1)), ((2**62, 2**62), (0, 0)), (2**63, 1), (10**5000, 1), ("2", "2"), {2, 3}, frozenset({2}),
    {"x": 2}, {0: 2}.keys(), {0: 2}.values(), (v for v in (2, 2)), iter([2, 2]), map(abs, [2]), bytearray(b"\2\2"),
    collections.deque([2, 2]), collections.UserList([2, 2]), memoryview(b"\2\2"), memoryview(b"ab").cast("c"),
    [2] * 70, [[]], [[1, 2], [3]], [X, X], [X, 1], [None], [object()], ["a", 1], [b"a"], [1, 2**70], [np.ma.masked],
    cyclic(), deep(tuple), deep(list), np.ma.masked_equal([1, 2], 1), np.array(2), np.array(2.0), np.array(True),
    np.array([2, 2]), np.array([[1, 1], [0, 0]]), np.array([2.0, 2.0]), np.array([]), np.zeros((0, 3)), np.array(None),
    np.array([2, 2], object), np.ones((1,) * 64), np.arange(4).view(Subclass),
    np.rec.array([(1, 2)], dtype="i4,i4"), X[::-1, ::2], X.T, X > 3, X.astype(ml_dtypes.bfloat16),
    X.astype(ml_dtypes.float8_e5m2), WHERE, WHERE - 1, WHERE + 2**62, -WHERE,
    *(np.ones((2, 3, 4)).astype(dtype) for dtype in ODD_DTYPES),
]  # fmt: skip
# As data these are what they say, and too large; as another argument they are wrong at first sight.
VAST = [range(2**62), np.broadcast_to(1, (2**40, 0)), np.broadcast_to(1, 2**40)]
DATA = {"x", "y", "w", "k", "bias", "indices", "init"}


def check(name: str, given: dict[str, Any]) -> None:
    """The call gives something, or an error of the package's own making: it names the call, on one short line."""
    # What reduce_fn makes of the arrays is between the user and that function.
    free = name == "pool" and not {"x", "init", "reduce_fn"}.isdisjoint(given)
    before = cn.get_num_threads()
    try:
        with np.errstate(all="ignore"):
            out = getattr(cn, name)(**CALLS[name] | given)
    except (TypeError, ValueError) as failure:
        text = str(failure)
        assert free or text.startswith(f"{name}: "), text
        assert free or (len(text) < 1000 and "\n" not in text), text
    else:
        assert isinstance(out, np.ndarray) or name in ("output_shape", "reducer") or name.endswith("threads") or out
    finally:
        cn.set_num_threads(before)


def test_all_functions_are_here() -> None:
    """None is forgotten, and the calls work as they stand."""
    # Derivatives take functions.
    elsewhere = {f"cenote.autodiff.{name}" for name in ("checking", "tensor", "transforms")}
    functions = {name for name in set(cn.__all__) - {"dialects"} if getattr(cn, name).__module__ not in elsewhere}
    assert set(CALLS) == functions - {"clear_cache", "explain", "get_num_threads", "show_config", "which_kernel"}
    for name, known in CALLS.items():
        if not name.endswith("threads"):
            assert getattr(cn, name)(**known) is not None


@pytest.mark.parametrize(("name", "argument"), [(name, argument) for name in CALLS for argument in arguments_of(name)])
def test_every_odd_object_in_every_place(name: str, argument: str) -> None:
    for value in SCALARS + COLLECTIONS + ([] if argument in DATA else VAST):
        check(name, {argument: value})
        for wrapped in ((value,), [value, 2], (1, value)):
            check(name, {argument: wrapped})


# ------------------------------------------------------------------------------------------------ combinations


def has_repr(value: object) -> bool:
    """Hypothesis shows what it draws."""
    try:
        return bool(repr(value))
    except Exception:
        return False


SHOWABLE = [value for value in SCALARS + COLLECTIONS if has_repr(value)]
ints = st.one_of(st.integers(-2, 6), st.integers(2**62, 2**70), st.integers(-(2**70), -(2**62)))
leaves = st.one_of(
    ints,
    st.sampled_from(SHOWABLE),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.sampled_from(WORDS),
)


def small_or_absurd(array: Array) -> Array:
    """Of whole numbers, as ``ints`` are: a padding in between is right, and its result takes gigabytes."""
    if array.dtype.kind not in "iu":
        return array
    with np.errstate(all="ignore"):
        return np.where(np.abs(array.astype(float)) >= 2.0**62, array, np.fmod(array, 7)).astype(array.dtype)


arrays = hnp.arrays(
    st.one_of(hnp.scalar_dtypes(), hnp.array_dtypes()),
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
).map(small_or_absurd)
hashable = st.one_of(ints, st.text(max_size=2), st.none(), st.tuples(ints, ints))
anything = st.recursive(
    st.one_of(leaves, arrays),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(hashable, inner, max_size=2),
        st.sets(hashable, max_size=2),
    ),
    max_leaves=5,
)
# What an argument may look like, so that checks further in are reached too.
plausible = st.one_of(
    ints,
    st.integers(1, 3),
    st.lists(st.integers(-1, 3), max_size=3).map(tuple),
    st.lists(st.tuples(st.integers(0, 2), ints), max_size=3),
    st.booleans(),
    st.sampled_from(WORDS),
    st.floats(-3, 3),
    arrays,
)


@pytest.mark.parametrize("name", [name for name in CALLS if len(arguments_of(name)) > 1])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_any_objects_together(name: str, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(arguments_of(name)), min_size=1, max_size=4, unique=True))
    check(name, {argument: data.draw(st.one_of(anything, plausible), label=argument) for argument in chosen})
