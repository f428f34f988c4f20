"""Write docs/dtypes.md: what each operation does to each dtype, as the operations themselves say.

``python tools/dtype_table.py`` writes the page; with ``--check`` it only says whether the page is up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from cenote.arguments.operations import OPERATIONS, signature
from cenote.dtypes import TABLE, DType, accumulator, average_dtype, conv_dtype, norm_dtype, sum_dtype

PAGE = Path(__file__).resolve().parent.parent / "docs" / "dtypes.md"
ERROR = "TypeError"
Rule = Callable[[DType], DType]

# The arguments that calls on two elements cannot do without. The generic pool has no rule of its own: with a ufunc that
# keeps a dtype, it keeps the dtype.
ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "window": lambda x: x.shape,
    "output_size": lambda x: x.shape,
    "axes": lambda x: 0,
    "indices": lambda x: np.zeros(x.shape, np.int64),
    "k": lambda x: x,
    "w": lambda x: x[..., None],
    "init": lambda x: 0,
    "reduce_fn": lambda x: np.add,
}

REFUSED: dict[str, Any] = {
    "longdouble": "g",
    "clongdouble": "G",
    "datetime64": "M8[s]",
    "timedelta64": "m8[s]",
    "object": "O",
    "str": "U1",
    "bytes": "S1",
}


def accepted() -> dict[str, DType]:
    """Every dtype that windows know, by name, in the order of the table."""
    return {name: np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name) for name in TABLE}


def dtypes() -> dict[str, DType]:
    return accepted() | {name: np.dtype(code) for name, code in REFUSED.items()}


def result(function: Callable[..., Any], dtype: DType) -> str:
    """The name of the dtype that a function gives of one, or TypeError."""
    x = np.zeros((2, 1), dtype)
    _, *others = signature(function).parameters.values()
    try:
        y = function(x, **{p.name: ARGUMENTS[p.name](x) for p in others if p.default is p.empty})
    except TypeError:
        return ERROR
    return str(y.dtype.name)


def columns() -> list[tuple[list[str], list[str]]]:
    """The operations that treat every dtype alike, together, and what they make of each dtype."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for operation, function in OPERATIONS.items():
        if operation != "output_shape":  # which has no array
            alike.setdefault(tuple(result(function, dtype) for dtype in dtypes().values()), []).append(operation)
    return [(operations, list(results)) for results, operations in alike.items()]


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(name: str) -> str:
    return f"`{name}`"


def results_table() -> str:
    together = columns()
    header = ["dtype", *(", ".join(map(code, operations)) for operations, _ in together)]
    rows = [[code(name), *(code(results[i]) for _, results in together)] for i, name in enumerate(dtypes())]
    return table(header, rows)


def named(rule: Rule, dtype: DType) -> str:
    """The name of what a rule of the dtype table makes of a dtype, or TypeError."""
    try:
        return str(rule(dtype).name)
    except TypeError:
        return ERROR


def accumulators_table() -> str:
    header = ["dtype", "`sum_pool`", "`avg_pool`", "`conv`, `conv_transpose`", "`lp_pool`, `smooth_max_pool`"]
    rules: list[Rule] = [
        lambda dtype: accumulator(sum_dtype(dtype)),
        lambda dtype: accumulator(average_dtype(dtype)),
        lambda dtype: accumulator(conv_dtype(dtype)),
        lambda dtype: np.dtype(np.float64) if norm_dtype(dtype) else dtype,
    ]
    rows = [[code(name), *(code(named(rule, dtype)) for rule in rules)] for name, dtype in accepted().items()]
    return table(header, rows)


TEXT = """\
# Dtypes

<!-- Written by tools/dtype_table.py from the operations and src/cenote/dtypes.py. Do not edit it by hand. -->

## Result dtypes

The dtype of the result for each dtype of the input.

{results}

- The column of `pool` is for `np.add`, `np.maximum` and `np.minimum` with a Python number as `init`. For other
  functions NumPy's promotion rules apply.
- Operands of `conv` and `conv_transpose` that have different dtypes are converted to their `np.result_type`. bfloat16
  has none with float16 or with an integer of more than 8 bits: that is a `TypeError`.
- Indices are always `int64`.
- `bfloat16` comes from the package `ml_dtypes`, which cenote needs for that dtype only.
- Inputs may have either byte order. The result has native byte order.
- Lists and other array-likes have the dtype that `np.asarray` gives them.

```python
>>> import numpy as np, cenote as cn
>>> x = np.array([100, 100, 50, 6], np.int8)
>>> cn.max_pool(x, (2,)), cn.sum_pool(x, (2,)), cn.avg_pool(x, (2,))
(array([100,  50], dtype=int8), array([200,  56]), array([100.,  28.]))
>>> cn.max_pool(x.astype(">i4"), (2,)).dtype
dtype('int32')
>>> filters = np.ones((2, 1, 1), np.float32)
>>> cn.conv(x[:, None], filters).dtype, cn.conv(x[:, None].astype(np.int64), filters).dtype
(dtype('float32'), dtype('float64'))
>>> cn.max_pool(x * 1j, (2,))
Traceback (most recent call last):
TypeError: max_pool: x has dtype complex128: complex numbers have no order, pool x.real, x.imag or abs(x)
```

## Accumulator dtypes

Maxima and minima are elements of the input, so nothing is rounded. Sums are accumulated in the dtype below, and
converted to the dtype of the result once, at the end.

{accumulators}

- The adaptive and global averages follow `avg_pool`.
- Integer sums wrap around in 64 bits, as in NumPy.
- Averages of integers are accumulated and divided in `float64`. The sum is exact as long as no partial sum exceeds 2⁵³.
- The division of an average is done in `float64` and rounded to the accumulator dtype.
- Convolutions of integers wrap around in the dtype of the result, products and sums alike.
- `lp_pool` with `p=inf` is a maximum, without a sum.
- The last column has an exception for speed. For `float32` and smaller dtypes, norms with p = 1, 2, 3 or 4 and smooth
  maxima with |β| ≥ 1/4 are accumulated in `float32` if every element of the window satisfies x = 0 or 10⁻⁷ ≤ |x| ≤ 10⁷
  (norms), or |βx| ≤ 40 (smooth maxima). The error is one or two units in the last place of the larger of the result and
  1/β. Each window is decided by its own elements.
- `pool` with `np.add` accumulates like `sum_pool`, then converts to the dtype of `x`: integers wrap around in that
  dtype, and the sum of bools is a logical or, as for `np.add` of two arrays of that dtype.

```python
>>> ones = np.ones(4096, np.float16)
>>> cn.avg_pool(40000 * ones, (4096,)).item(), cn.sum_pool(ones, (4096,)).item()     # 65504 is the largest float16
(40000.0, 4096.0)
>>> cn.lp_pool(np.array([300, 400], np.float16), (2,))
array([500.], dtype=float16)
>>> cn.sum_pool(np.array([2**63 - 1, 1]), (2,))
array([-9223372036854775808])
>>> cn.pool(np.array([100, 100], np.int8), (2,), 0, np.add)
array([-56], dtype=int8)
>>> cn.pool(np.array([True, True]), (2,), False, np.add)
array([ True])
>>> cn.conv(np.array([[100], [100]], np.int8), np.ones((2, 1, 1), np.int8))
array([[-56]], dtype=int8)
>>> cn.conv(np.array([[300], [300]], np.float16), np.array([[[300]], [[-300]]], np.float16))  # 90000 - 90000
array([[0.]], dtype=float16)
```
"""


def page() -> str:
    return TEXT.format(results=results_table(), accumulators=accumulators_table())


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
        print(f"{PAGE.name} is {'up to date' if current else 'out of date: run python tools/dtype_table.py'}")
        return 0 if current else 1
    if arguments:
        print(__doc__)
        return 2
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
