"""cenote.dialects.torch refuses what torch refuses and nothing else, with messages that name the argument."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  what its users call it

from cenote.dialects import torch as dialect

torch.set_num_threads(1)  # small arrays: waking its threads costs a hundred times the work


def outcome(function: Any, kinds: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except kinds as failure:
        return failure


def check_both(name: str, shape: tuple[int, ...], *args: Any) -> None:
    """Both refuse, or both give the same."""
    x = np.arange(float(np.prod(shape))).reshape(shape)
    theirs = outcome(getattr(F, name), Exception, torch.from_numpy(x), *args)
    ours = outcome(getattr(dialect, name), (ValueError, TypeError), x, *args)
    detail = f"{name}{(shape, *args)}: torch {theirs!r}, cenote {ours!r}"
    assert isinstance(theirs, Exception) == isinstance(ours, Exception), detail
    if isinstance(ours, Exception):
        assert str(ours).startswith(f"{name}: "), detail
    else:
        for a, b in zip(np.atleast_1d(ours), np.atleast_1d(theirs), strict=True):
            np.testing.assert_allclose(a, b, err_msg=detail)


def test_windows_are_legal_where_they_are_in_torch() -> None:
    ceil = (False, True)
    for n, k, s, p, d, c in itertools.product((0, 1, 4), (0, 1, 2, 3, 5), (None, 0, 1, 3), (0, 1, 2), (0, 1, 2), ceil):
        if k < 2 or d * (k - 1) + 1 <= n or p == 0:  # elsewhere windows may see padding only
            check_both("max_pool1d", (2, n), k, s, p, d, c)
    for n, k, s, p, c in itertools.product((0, 1, 3, 4), (0, 2, 3, 5), (None, 0, 2), (0, 1, 2), ceil):
        check_both("avg_pool1d", (1, 2, n), k, s, p, c)
        check_both("avg_pool2d", (2, n, 3), (k, 2), s, (p, 1), c)
        check_both("avg_pool3d", (2, n, 3, 4), (k, 2, 2), s, (p, 0, 1), c)


LEGAL_OR_NOT: list[tuple[str, tuple[int, ...], list[Any]]] = [
    ("max_pool1d", (2, 6), [((2,),), (2, ()), (2, []), ((2, 2),), (2, (1,)), (2, (1, 1)), (2.0,)]),
    ("max_pool2d", (2, 4, 6), [((2,),), (2, (1,)), (2, ()), ((2, 3, 1),), (2, 2, (1,)), ([2, 3],), (2, -1), (-2,)]),
    ("max_pool2d", (2, 4, 6), [(2, 2, ()), (2, 2, 0, (2,)), (True,), ("2",), (None,), (2, 2, "same"), (2, 2, -1)]),
    ("avg_pool2d", (2, 4, 6), [((2,),), (2, ()), (2, (1,), (1,)), (2, 2, 0, 1)]),
    ("avg_pool2d", (2, 4, 6), [(2, 2, 0, False, True, d) for d in (0, -3, 7, 2.0, True, "1", None)]),
    ("lp_pool2d", (2, 4, 6), [(2, 2, (1,)), (2, 2, ()), (2, (2, 3)), ("2", 2)]),
    ("adaptive_max_pool1d", (2, 6), [(o,) for o in (3, (3,), None, (None,), 0, -1, (2, 2), 2.0)]),
    ("adaptive_avg_pool2d", (2, 4, 6), [(o,) for o in (3, (3,), None, (None, 3), (0, 3), (-1, 3), (3, 3, 3), ())]),
    ("adaptive_max_pool3d", (1, 4, 4, 4), [(o,) for o in (3, (3,), (None, None, 2), (0, 3, 3), (2, 2))]),
]  # fmt: skip
FORMS = [(name, shape, args) for name, shape, many in LEGAL_OR_NOT for args in many]
for family in ("max_pool", "avg_pool", "adaptive_max_pool", "adaptive_avg_pool"):
    # Not size 1: torch's adaptive average is then a mean over any number of axes.
    FORMS += [(f"{family}{rank}d", (2,) * ndim, (2,)) for rank in (1, 2, 3) for ndim in range(7)]
for shape in [(0, 2, 4, 4), (2, 0, 4, 4), (2, 2, 0, 4), (2, 2, 4, 0), (0, 4, 4), (2, 0, 4)]:
    FORMS += [("max_pool2d", shape, (2,)), ("avg_pool2d", shape, (2,)), ("lp_pool2d", shape, (2, 2))]


@pytest.mark.parametrize(("name", "shape", "args"), FORMS)
def test_arguments_are_legal_where_they_are_in_torch(name: str, shape: tuple[int, ...], args: tuple[Any, ...]) -> None:
    check_both(name, shape, *args)


def test_output_sizes_of_max_unpool_are_those_of_torch() -> None:
    x, where = np.ones((1, 2, 3)), np.array([[[0, 2, 4], [1, 2, 3]]])
    for size in [5, (5,), (6,), (7,), (8,), (2, 6), (9, 9, 7), [4], (), (6.0,), (True,)]:
        args = 2, None, 0, size
        theirs = outcome(F.max_unpool1d, Exception, torch.from_numpy(x), torch.from_numpy(where), *args)
        ours = outcome(dialect.max_unpool1d, (ValueError, TypeError), x, where, *args)
        assert isinstance(theirs, Exception) == isinstance(ours, Exception), (size, theirs, ours)
    with pytest.raises(TypeError, match="indices has dtype int32: int64 is needed"):
        dialect.max_unpool1d(x, where.astype(np.int32), 2)
    with pytest.raises(ValueError, match=r"indices has values from -1 to 4, the result has 6 = 6 elements: 0 to 5 is"):
        dialect.max_unpool1d(x, where - (where == 0), 2)


MESSAGES = [
    ("max_pool2d(x, 3, padding=2)", "padding=2 is more than half of kernel_size=3: 2 > 3 // 2 = 1"),
    ("max_pool2d(x, (5, 2))", "kernel_size=(5, 2) on shape (2, 4, 6) does not fit on axis 1: it needs 5 elements, "
     'there are 4: 1 short; to see it, write cn.explain("max_pool", (4,), (5,))'),
    ("max_pool2d(x * 1j, 2)", "input has dtype complex128: complex numbers have no order, pool input.real, "
     "input.imag or abs(input)"),
    ("max_pool3d(x, 2)", "input has shape (2, 4, 6), with 3 axes: 4 are needed, (C, D, H, W), or 5 with a batch, "
     "(N, C, D, H, W)"),
    ("avg_pool2d(x, 2, divisor_override=0)", "divisor_override=0: an int other than 0 is needed"),
    ("avg_pool2d(x.astype(np.int8), 2)", "input has dtype int8: torch averages floats, and int64 truncated "
     "towards zero, and nothing else: convert it to say which"),
    ("avg_pool3d(x[None], 5, padding=2)", "kernel_size=5 on shape (1, 2, 4, 6): avg_pool3d needs a kernel no larger "
     "than the input without padding, and on axis 1 5 is 3 more than 2"),
    ("lp_pool2d(x, 0, 2)", "norm_type=0: a number above 0 is needed, or inf or -inf"),
    ("adaptive_avg_pool2d(x.astype(int), 2)", "input has dtype int64: torch averages only floats here, convert it"),
    ("max_unpool2d(x, x.astype(int), 2, output_size=(8, 99))", "output_size=(8, 99): 99 is not from 11 to 13, which is "
     "less than a stride of 2 from 12"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "cause"), MESSAGES)
def test_messages_name_the_call_and_its_argument(call: str, cause: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        eval(f"dialect.{call}", {"dialect": dialect, "np": np, "x": np.zeros((2, 4, 6))})
    assert type(caught.value) in (ValueError, TypeError)
    assert str(caught.value) == f"{call.partition('(')[0]}: {cause}"
