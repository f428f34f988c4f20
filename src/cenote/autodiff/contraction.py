"""Products of matrices on Tensors, and the NumPy functions that only look at them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backends.dispatch import is_foreign
from .elementwise import broadcast_to_dtype, form_of, unbroadcast
from .functions import implements, normal_axes, reshape, swapaxes, transpose
from .graph import LinearFunction, Primitive, Value
from .recording import as_value, bind
from .tensor import FUNCTIONS, UFUNCS, add_method, data_of, numpy_of

# ------------------------------------------------------------------------------------------------- matmul


def linearize_matmul(wanted: Sequence[bool], a: Value, b: Value) -> tuple[Value, Sequence[LinearFunction | None]]:
    out = np.matmul(a, b)
    left, right, whole = form_of(a), form_of(b), form_of(out)
    return out, [
        LinearFunction(
            lambda t: broadcast_to_dtype(np.matmul(t, b), whole.shape, whole.dtype),
            lambda g: unbroadcast(np.matmul(g, turned(b)), left.shape, left.dtype),
        ),
        LinearFunction(
            lambda t: broadcast_to_dtype(np.matmul(a, t), whole.shape, whole.dtype),
            lambda g: unbroadcast(np.matmul(turned(a), g), right.shape, right.dtype),
        ),
    ]


def turned(x: Value) -> Value:
    return swapaxes(x, -1, -2)


MATMUL = Primitive("matmul", np.matmul, linearize_matmul)


def matmul(a: Value, b: Value) -> Any:
    """NumPy's rule: a vector on the left is a row, on the right a column, and that axis is dropped again."""
    a, b = operands(a, b)
    m, n = np.ndim(data_of(a)), np.ndim(data_of(b))
    if m == 0 or n == 0:
        raise ValueError("matmul: scalars cannot be multiplied as matrices, use *")
    if m > 1 and n > 1:
        return bind(MATMUL, a, b)
    row = a if m > 1 else reshape(a, (1, -1))
    column = b if n > 1 else reshape(b, (-1, 1))
    out = bind(MATMUL, row, column)
    shape = list(data_of(out).shape)
    if n == 1:
        shape.pop(-1)
    if m == 1:
        shape.pop(-1 if n == 1 else -2)
    return reshape(out, tuple(shape))


def operands(*many: Value) -> tuple[Value, ...]:
    """Lists and numbers as arrays."""
    return tuple(as_value(x) for x in many)


UFUNCS[np.matmul] = matmul


@implements(np.dot, method="dot")
def dot(a: Value, b: Value) -> Any:
    m, n = np.ndim(data_of(a)), np.ndim(data_of(b))
    if m == 0 or n == 0:
        return np.multiply(a, b)
    if n <= 2:
        return matmul(a, b)
    return tensordot(a, b, ((m - 1,), (n - 2,)))


@implements(np.tensordot)
def tensordot(a: Value, b: Value, axes: Any = 2) -> Any:
    a, b = operands(a, b)
    m, n = np.ndim(data_of(a)), np.ndim(data_of(b))
    if isinstance(axes, (int, np.integer)):
        axes = tuple(range(m - axes, m)), tuple(range(axes))
    left, right = normal_axes(axes[0], m), normal_axes(axes[1], n)
    kept_left = [i for i in range(m) if i not in left]
    kept_right = [i for i in range(n) if i not in right]
    x, y = np.shape(data_of(a)), np.shape(data_of(b))
    inner = math.prod(x[i] for i in left)
    before, after = tuple(x[i] for i in kept_left), tuple(y[i] for i in kept_right)
    rows = reshape(transpose(a, [*kept_left, *left]), (math.prod(before), inner))
    columns = reshape(transpose(b, [*right, *kept_right]), (inner, math.prod(after)))
    return reshape(matmul(rows, columns), before + after)


@implements(np.outer)
def outer(a: Value, b: Value) -> Any:
    a, b = operands(a, b)
    return np.multiply(reshape(a, (-1, 1)), reshape(b, (1, -1)))


@implements(np.inner)
def inner(a: Value, b: Value) -> Any:
    if np.ndim(data_of(a)) == 0 or np.ndim(data_of(b)) == 0:
        return np.multiply(a, b)
    return tensordot(a, b, ((-1,), (-1,)))


# ------------------------------------------------------------------------------------------------- einsum


def evaluate_einsum(*operands: Any, inputs: tuple[str, ...], output: str) -> Any:
    return np.einsum(f"{','.join(inputs)}->{output}", *operands, optimize=len(operands) > 2)


def linearize_einsum(
    wanted: Sequence[bool], *operands: Value, inputs: tuple[str, ...], output: str
) -> tuple[Value, Sequence[LinearFunction | None]]:
    out = bind(EINSUM, *operands, inputs=inputs, output=output)
    whole = data_of(out)
    return out, [einsum_by(i, operands, inputs, output, whole) if want else None for i, want in enumerate(wanted)]


def einsum_by(i: int, operands: Sequence[Value], inputs: tuple[str, ...], output: str, whole: Any) -> LinearFunction:
    """The derivative by operand i: the same sum with the tangent in its place, or with the output in its place."""
    held = numpy_of(operands[i])
    others = [operand for j, operand in enumerate(operands) if j != i]
    letters = [inputs[j] for j in range(len(inputs)) if j != i]
    # A letter that only operand i has was summed over: its cotangent is the same all along it.
    alone = "".join(c for c in inputs[i] if c not in output and not any(c in word for word in letters))
    ones = [np.ones([held.shape[inputs[i].index(c)] for c in alone], whole.dtype)] if alone else []

    def apply(t: Value) -> Value:
        placed = [*operands[:i], t, *operands[i + 1 :]]
        return broadcast_to_dtype(bind(EINSUM, *placed, inputs=inputs, output=output), whole.shape, whole.dtype)

    def transpose_(g: Value) -> Value:
        words = (output, *letters, *([alone] if alone else []))
        return unbroadcast(bind(EINSUM, g, *others, *ones, inputs=words, output=inputs[i]), held.shape, held.dtype)

    return LinearFunction(apply, transpose_)


EINSUM = Primitive("einsum", evaluate_einsum, linearize_einsum)


@implements(np.einsum)
def einsum(subscripts: str, *given: Value, optimize: Any = None) -> Any:
    if not isinstance(subscripts, str) or "." in subscripts:
        raise ValueError("np.einsum: Tensors need subscripts as a string, without an ellipsis")
    left, arrow, output = subscripts.replace(" ", "").partition("->")
    inputs = tuple(left.split(","))
    if not arrow:
        letters = "".join(inputs)
        output = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    if any(len(set(word)) < len(word) for word in inputs):
        raise ValueError(f"np.einsum: {subscripts!r} repeats a letter in one operand, which Tensors do not support")
    return bind(EINSUM, *operands(*given), inputs=inputs, output=output)


# ------------------------------------------------------------------- functions with nothing to differentiate


def looks(*functions: Any) -> None:
    """NumPy functions whose results are plain: they see the data."""
    for function in functions:
        FUNCTIONS[function] = plain(function)


def plain(function: Any) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        return function(*(bare(arg, function) for arg in args), **{k: bare(v, function) for k, v in options.items()})

    return call


def bare(arg: Any, function: Any) -> Any:
    if isinstance(arg, (list, tuple)):
        return type(arg)(bare(a, function) for a in arg)
    held = data_of(arg)
    if not is_foreign(held):
        return held
    if function not in OF_FORMS:
        return numpy_of(held)
    return np.broadcast_to(np.zeros((), held.dtype), held.shape)


OF_FORMS = {np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, np.result_type}  # they look at no numbers


looks(
    np.shape, np.ndim, np.size, np.argmax, np.argmin, np.argsort, np.any, np.all, np.allclose, np.isclose,
    np.array_equal, np.array_equiv, np.count_nonzero, np.nonzero, np.zeros_like, np.ones_like, np.full_like,
    np.empty_like, np.iscomplexobj, np.isrealobj, np.result_type, np.may_share_memory, np.shares_memory,
    np.array_repr, np.array_str, np.array2string, np.searchsorted, np.broadcast_shapes, np.histogram, np.save,
    np.copyto, np.can_cast, np.min_scalar_type,
)  # fmt: skip
for name in ("argmax", "argmin", "argsort", "any", "all", "nonzero"):
    add_method(name, FUNCTIONS[getattr(np, name)])
