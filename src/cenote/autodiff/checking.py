"""check_grads: derivatives of a user's function against differences of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arguments.arrays import as_array
from ..arguments.errors import BadType, BadValue, describe_type, format_value, public
from ..arguments.values import as_int
from ..dtypes import DType, is_complex, is_differentiable, row
from .tensor import data_of
from .transforms import jvp, vjp

MODES = ("fwd", "rev")


class GradientError(AssertionError, ValueError):
    """A derivative that is not what differences of values say."""


@public
def check_grads(f: Callable[..., Any], args: Sequence[Any], order: int = 2, modes: Sequence[str] = MODES) -> None:
    """Compare the derivatives of a function with finite differences, and raise if they disagree.

    Parameters
    ----------
    f : callable
        Function of arrays that returns an array, or a tuple of arrays.
    args : sequence
        Arguments to check at: a tuple. Floating and complex arrays are varied, integers are constant.
    order : int, optional
        Highest order of derivative to check.
    modes : sequence of {"fwd", "rev"}, optional
        Modes to check: forward, reverse or both.

    Raises
    ------
    GradientError
        Both an AssertionError and a ValueError. The message says which derivative is off, and by how much.

    See Also
    --------
    vjp : Reverse mode.
    jvp : Forward mode.
    reducer : Derivatives for a function of your own.

    Notes
    -----
    Along random directions, forward mode is compared with central differences and reverse mode with forward mode; then
    the same for the derivatives themselves, up to ``order``, with the modes mixed. Where ``f`` has a kink, such as a
    tie in a maximum, differences mean nothing: move ``args`` away from it.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.check_grads(lambda x: cn.smooth_max_pool(x, (2,)), (np.array([0.3, 0.1, 0.2, 0.7]),))
    """
    if not callable(f):
        raise BadType(f"f={format_value(f)} is {describe_type(f)}: a function is needed")
    if not isinstance(args, (tuple, list)):
        raise BadType(f"args is {describe_type(args)}: a tuple is needed, with one entry per argument of f")
    depth = as_int("order", order, order, 1)
    chosen = (modes,) if isinstance(modes, str) else tuple(modes)
    if not chosen or any(mode not in MODES for mode in chosen):
        raise BadValue(f"modes={format_value(modes)}: 'fwd' and 'rev', or one of them, is needed")
    arrays = [as_array(arg, f"args[{i}]") for i, arg in enumerate(args)]
    if not any(is_differentiable(a.dtype) for a in arrays):
        raise BadValue("args holds no float array: there is nothing to vary")
    check(f, arrays, depth, chosen, np.random.default_rng(0), "f")


def as_tuple(y: Any) -> tuple[Any, ...]:
    return tuple(y) if isinstance(y, (tuple, list)) else (y,)


def direction(rng: np.random.Generator, like: Any) -> Any:
    """A random array of the same kind; zero for integers, which do not vary."""
    dtype = like.dtype
    if not is_differentiable(dtype):
        return np.zeros(like.shape)
    out = rng.standard_normal(like.shape)
    if is_complex(dtype):
        out = out + 1j * rng.standard_normal(like.shape)
    return np.asarray(out).astype(dtype)


def inner(a: Sequence[Any], b: Sequence[Any]) -> Any:
    wide = [
        (np.asarray(x).astype(np.complex128), np.asarray(y).astype(np.complex128)) for x, y in zip(a, b, strict=True)
    ]
    return sum((complex(np.sum(x * y)) for x, y in wide), 0j)


def precision(arrays: Sequence[Any]) -> float:
    """The coarsest spacing of numbers among the float arrays."""
    return max(spacing(a.dtype) for a in arrays)


def spacing(dtype: DType) -> float:
    found = row(dtype)
    if found.storage != found.dtype:  # bfloat16, of which NumPy has no finfo
        return 2.0**-8
    return float(np.finfo(found.part).eps)


def wide(x: Any) -> Any:
    """In double precision, where differences are taken."""
    held = np.asarray(data_of(x))
    return held.astype(np.complex128 if is_complex(held.dtype) else np.float64)


def compare(what: str, got: Any, expected: Any, allowed: float) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    size = max(float(np.max(np.abs(expected), initial=0.0)), float(np.max(np.abs(got), initial=0.0)), 1.0)
    error = float(np.max(np.abs(got - expected), initial=0.0)) / size
    if not error <= allowed:  # NaN is an error too
        raise GradientError(
            f"check_grads: {what} is off by {error:.3g} of its size, {allowed:.3g} is allowed:\n"
            f"got      {format_value(got.tolist(), 200)}\nexpected {format_value(expected.tolist(), 200)}"
        )


def check(
    f: Callable[..., Any], args: list[Any], order: int, modes: Sequence[str], rng: np.random.Generator, name: str
) -> None:
    tangents = [direction(rng, a) for a in args]
    varied = [a for a in args if is_differentiable(a.dtype)]
    eps = precision(varied)
    step = eps ** (1 / 3) * max(1.0, *(float(np.max(np.abs(a), initial=0.0)) for a in varied))
    # Differences keep two thirds of the digits at best; half of those are left to strong curvature.
    allowed = 2 * eps ** (1 / 3)

    def moved(by: float) -> tuple[Any, ...]:
        pairs = zip(args, tangents, strict=True)
        places = [(a + by * t).astype(a.dtype) if is_differentiable(a.dtype) else a for a, t in pairs]
        return as_tuple(f(*places))

    ahead, behind = moved(step), moved(-step)
    numeric = [
        (np.asarray(data_of(p), np.result_type(data_of(p), "d")) - data_of(m)) / (2 * step)
        for p, m in zip(ahead, behind, strict=True)
    ]
    pushed = as_tuple(jvp(f, args, tangents)[1])
    if "fwd" in modes:
        for i, (got, expected) in enumerate(zip(pushed, numeric, strict=True)):
            compare(f"the jvp of {name}" + (f", output {i}" if len(pushed) > 1 else ""), got, expected, allowed)
    cotangents = [direction(rng, np.asarray(p)) for p in pushed]
    if "rev" in modes:
        y, pull = vjp(f, *args)
        pulled = pull(tuple(cotangents) if isinstance(y, tuple) else cotangents[0])
        compare(f"⟨vjp of {name}, t⟩", inner(pulled, tangents), inner(cotangents, numeric), allowed)
    if order == 1:
        return
    if "fwd" in modes:
        check(lambda *xs: jvp(f, xs, tangents)[1], args, order - 1, modes, rng, f"the jvp of {name}")
    if "rev" in modes:

        def pulled_back(*xs: Any) -> Any:
            y, pull = vjp(f, *xs)
            return pull(tuple(cotangents) if isinstance(y, tuple) else cotangents[0])

        check(pulled_back, args, order - 1, modes, rng, f"the vjp of {name}")
