"""Every error message, to the letter, as the user meets it: the table is errors.txt.

A message is part of the interface: it names the call, the argument, the value given and what would be right.
"""

from __future__ import annotations

import ast
import re
import sys
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import ml_dtypes
import numpy as np
import pandas as pd
import pytest

import cenote as cn
from cenote import _core, core, runtime
from cenote.arguments import arrays, errors
from cenote.arguments.errors import BadValue
from cenote.arguments.operations import OPERATIONS
from cenote.geometry.window import parse_window
from messages import check_message, check_names, failure_of, read_table

PACKAGE = Path(cn.__file__).parent
# The command and the demonstration talk to a terminal; errors.py only passes on what was raised elsewhere; base.py has
# what backends get wrong, not callers. Derivatives: test_derivative_errors.py. Convolution: test_conv_errors.py.
# dask: test_dask.py, test_dask_derivatives.py. xarray: test_xarray_errors.py.
NOT_SEARCHED = {
    "blocks",
    "dask",
    "xarray",
    "serialize",
    "__init__",
    "autodiff",
    "base",
    "cli",
    "conv",
    "jax",  # test_jax_errors.py
    "torch",  # test_torch_values.py
    "convolution",
    "demo",
    "dialects",
    "errors",
    "explanation",  # tests/explain/
    "files",
    "playground",  # tests/playground/
    "record",
    "threadpool",  # test_threadpoolctl.py
}


def nested(depth: int) -> tuple[Any, ...]:
    value: tuple[Any, ...] = ()
    for _ in range(depth):
        value = (value,)
    return value


def refuse(*_: object) -> None:
    raise AssertionError("an array of another library was converted behind the user's back")


def foreign(module: str, name: str, base: object = None) -> Any:
    """What a library's array looks like from here: its type says where it is from, and NumPy could convert it."""
    bases = () if base is None else (type(base),)
    parts = {"__module__": module, "__array__": refuse, "__repr__": lambda _: f"{name}(...)", "to_numpy": refuse}
    return type(name, bases, parts)()


class Broken:
    def __array__(self, *_: object, **__: object) -> None:
        raise TypeError("no data yet")


NAMES = {name: getattr(cn, name) for name in cn.__all__} | {
    "np": np,
    "pd": pd,
    "ml_dtypes": ml_dtypes,
    "Fraction": Fraction,
    "Broken": Broken,
    "foreign": foreign,
    "nested": nested,
    "x": np.arange(20.0).reshape(4, 5),
    "i": np.arange(20).reshape(4, 5),
}


TABLE = read_table("errors.txt")


@pytest.mark.parametrize(("call", "expected"), TABLE.items(), ids=TABLE)
def test_the_message_to_the_letter(call: str, expected: str) -> None:
    check_message(failure_of(call, NAMES), expected)


def test_messages_name_the_call_and_an_argument() -> None:
    check_names(TABLE, "is|has|on|gave|cannot|shares")


# ------------------------------------------------------------------------------------- no message is left out


def origin(failure: BaseException) -> tuple[str, int]:
    """Where it was raised first: the public call replaces what was raised below it, and keeps it as its context."""
    cause = failure.__context__ if isinstance(failure.__context__, (errors.BadValue, errors.BadType)) else failure
    trace: TracebackType | None = cause.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    path = Path(trace.tb_frame.f_code.co_filename)
    return str(path.relative_to(PACKAGE)) if path.is_relative_to(PACKAGE) else path.name, trace.tb_lineno


def all_raises() -> dict[tuple[str, int], range]:
    """Every ``raise`` of the package that can reach a caller: its module, its line, and all lines it spans."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if set(path.relative_to(PACKAGE).with_suffix("").parts) & NOT_SEARCHED:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.end_lineno is not None:
                found[str(path.relative_to(PACKAGE)), node.lineno] = range(node.lineno, node.end_lineno + 1)
    return found


def fail_to_start(monkeypatch: pytest.MonkeyPatch) -> ImportError:
    monkeypatch.setenv("CENOTE_SIMD", "Abacus")
    with cn.num_threads(1), pytest.raises(ImportError) as caught:  # a start sets the number of threads
        runtime.start()
    return caught.value


GEOMETRY = parse_window((2,)).on((4,))
# Offsets are checked in programs that were stored, which no call of a public function is.
OFFSETS = {
    "offsets of shape (3,) and dtype uint8: shape (2,) and dtype uint8 are needed, as a maximum gives them": [0, 1, 0],
    "an offset leads out of its window or to a padded element: a maximum gives none of these": [0, 2],
}


def fail_to_gather(offsets: list[int]) -> BadValue:
    with core.checked_offsets(), pytest.raises(BadValue) as caught:
        core.gather(np.arange(4.0), np.array(offsets, np.uint8), GEOMETRY)
    return caught.value


@pytest.mark.parametrize(("message", "offsets"), OFFSETS.items(), ids=OFFSETS)
def test_offsets_that_no_maximum_gives(message: str, offsets: list[int]) -> None:
    assert str(fail_to_gather(offsets)) == message


def test_every_raise_is_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    reached = {origin(failure_of(call, NAMES)) for call in TABLE} | {origin(fail_to_start(monkeypatch))}
    reached |= {origin(fail_to_gather(offsets)) for offsets in OFFSETS.values()}
    raises = all_raises()
    assert len(raises) > 30  # the search itself works
    missing = [
        f"{module}:{line}"
        for (module, line), lines in raises.items()
        if not any(where == module and at in lines for where, at in reached)
    ]
    assert missing == []


def test_nothing_but_the_internal_kinds_is_raised() -> None:
    """Another kind would reach the user without the name of the call."""
    for module, line in all_raises():
        source = (PACKAGE / module).read_text(encoding="utf-8").splitlines()[line - 1]
        allowed = "BadValue|BadType|ImportError" if module == "runtime.py" else "BadValue|BadType"
        assert re.match(rf" *raise ({allowed})\(", source), source


def test_a_call_that_is_right_formats_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(value: object, *_: object) -> str:
        raise AssertionError(f"{value} was formatted")

    real = errors.format_value
    for name, module in list(sys.modules.items()):
        if name.startswith("cenote.") and getattr(module, "format_value", None) is real:
            monkeypatch.setattr(module, "format_value", unexpected)
    x, w = np.ones((7, 9, 5)), np.ones((2, 2, 5, 5))
    cn.clear_cache()
    for call in (
        lambda: cn.max_pool(x, (2, 3), axes=(0, 1)),
        lambda: cn.smooth_max_pool(x, (2, 2), padding=1),
        lambda: cn.adaptive_max_pool(x, (2, 3)),
        lambda: cn.global_max_pool(x, axes=(1, 2)),
        lambda: cn.max_unpool(x, np.zeros(x.shape, np.int64), (2, 2)),
        lambda: cn.conv(x, w),
        lambda: cn.conv_transpose(x, w),
        lambda: cn.correlate(x, np.ones((2, 2))),
    ):
        assert call().size > 0


# ------------------------------------------------------------------------------------------- the environment


def test_an_unsupported_level(monkeypatch: pytest.MonkeyPatch) -> None:
    have = ", ".join(_core.levels())
    assert str(fail_to_start(monkeypatch)) == f"CENOTE_SIMD='abacus': this build on this CPU has {have}"


@pytest.mark.parametrize("text", ["many", "0", "1025", "-1", "2.0", "٣", pytest.param("9" * 5000, id="digits")])
def test_a_number_of_threads_that_is_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CENOTE_NUM_THREADS", text)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with pytest.warns(RuntimeWarning) as caught:
        assert runtime.threads_from_environment() == 3
    message = f"CENOTE_NUM_THREADS='{text}' is not a number of threads from 1 to 1024: ignored"
    assert [str(warning.message) for warning in caught] == [message]


@pytest.mark.parametrize("text", ["all", "-1", "1048577", "1e3", "64,64"])
def test_a_number_of_mebibytes_that_is_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CENOTE_KEPT_MIB", text)
    with pytest.warns(RuntimeWarning) as caught:
        assert runtime.kept_from_environment() == 256
    message = f"CENOTE_KEPT_MIB='{text}' is not a number of MiB from 0 to 1048576: ignored"
    assert [str(warning.message) for warning in caught] == [message]


# ------------------------------------------------------------------------------------- extreme, and no error

FINE: dict[str, object] = {
    # A stride past the end, a window mostly of padding: nothing is as large as the numbers are.
    "max_pool(x, (2, 2), stride=2**61).tolist()": [[6.0]],
    "max_pool(x, (4, 5), stride=2**61, return_indices=True)[1].tolist()": [[19]],
    "max_pool(x, (10**15, 1), padding='same').tolist()": [[15.0, 16.0, 17.0, 18.0, 19.0]],
    "avg_pool(x, (2**40, 1), padding='same', count_include_pad=False).tolist()": [[7.5, 8.5, 9.5, 10.5, 11.5]],
    "pool(x, (2**40, 1), 0, lambda a, b: a + b, padding='same').tolist()": [[30.0, 34.0, 38.0, 42.0, 46.0]],
    # Integers that no float holds.
    "pool(i, (4, 5), 2**63 - 1, np.minimum).tolist()": [[0]],
    "pool(i, (4, 5), 2**53 + 1, np.subtract).tolist()": [[2**53 + 1 - 190]],
    # A float is rounded to the dtype of x, to zero if need be.
    "pool(x.astype('f2'), (4, 5), 1e-10, np.add).tolist()": [[190.0]],
    # Windows without a real element keep init, although reduce_fn gives another dtype.
    "pool([[1.0]], (1,), 5, np.greater, padding=1).tolist()": [[5.0, 1.0, 5.0]],
    "max_pool(x, 2, axes=range(2)).tolist()": [[6.0, 8.0], [16.0, 18.0]],
    "max_pool(x, np.array([4, 5])).tolist()": [[19.0]],
    "max_pool(x, (np.int8(4), np.array(5))).tolist()": [[19.0]],
    "lp_pool(x, (4, 5), p=np.longdouble('inf')).tolist()": [[19.0]],
    "avg_pool(x, (4, 5), divisor=Fraction(1, 2)).tolist()": [[380.0]],
    "max_pool(x, (4, 5), padding='VALID').tolist()": [[19.0]],
}


@pytest.mark.parametrize(("call", "expected"), FINE.items(), ids=FINE)
def test_extreme_arguments_that_are_right(call: str, expected: object) -> None:
    assert eval(call, dict(NAMES)) == expected


# --------------------------------------------------------------------------------------------- other libraries


@pytest.mark.parametrize("library", sorted(arrays.FOREIGN))
@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - {"pool", "output_shape"}))
def test_arrays_of_other_libraries_are_never_converted(library: str, name: str) -> None:
    array = foreign(f"{library}.some.where", "Array")
    where = {"axes": 0} if name.startswith("global") else {}
    given = {"max_unpool": (array, NAMES["i"], (2, 2))}.get(name, (array,) if where else (array, (2, 2)))
    with pytest.raises(
        TypeError, match=f"an? {library} Array, which (is not supported yet|cannot be used here): pass "
    ):
        getattr(cn, name)(*given, **where)


def test_a_name_that_only_begins_like_a_library_is_an_array_like() -> None:
    class Mine:
        def __array__(self, *_: object, **__: object) -> Any:
            return np.arange(4)

    Mine.__module__ = "torchlight.daskboard"
    assert cn.max_pool(Mine(), (2,)).tolist() == [1, 3]


# ---------------------------------------------------------------------------------------------- showing values


class Silent:
    def __repr__(self) -> str:
        raise OSError("no repr")


SHOWN: dict[str, tuple[object, str]] = {
    "a string": ("same", "'same'"),
    "a line break": ("a\nb", r"'a\nb'"),
    "several lines": (np.eye(2), "array([[1., 0.], [0., 1.]])"),
    "as long as can be": ("y" * 78, "'" + "y" * 78 + "'"),
    "too long": ("y" * 79, "'" + "y" * 76 + "..."),
    "many digits": (10**4299, "1" + "0" * 76 + "..."),
    "too many digits": (-(10**5000), "<an int of 16610 bits>"),
    "nested too deep": (nested(100_000), "<a tuple>"),
    "no repr": (Silent(), "<a Silent>"),
}


@pytest.mark.parametrize(("value", "text"), SHOWN.values(), ids=SHOWN)
def test_values_are_shown_on_one_short_line(value: object, text: str) -> None:
    assert errors.format_value(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "an int"), (1.0, "a float"), (None, "None"), (np.zeros(1), "an ndarray"), (np.uint8(1), "a uint8")],
)
def test_kinds_have_their_article(value: object, text: str) -> None:
    assert errors.describe_type(value) == text
