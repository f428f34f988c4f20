"""Derivatives of functions: vjp, jvp, linearize, grad, value_and_grad, check_grads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..arguments.errors import Argument, BadType, BadValue, describe_type, format_value, public
from ..backends.dispatch import operand
from ..dtypes import DType, is_complex, is_differentiable

# These fill the tables of what NumPy's functions do with Tensors.
from . import contraction as _contraction  # noqa: F401
from . import reductions as _reductions  # noqa: F401
from .elementwise import Form, form_of
from .graph import Node, Value, backward_pass, forward_pass, trace_level
from .linear import Cast
from .owning import Borrowed, borrowed, copied, is_shared
from .tensor import Tensor, current, data_of, make


class Trace:
    """One run of a function: its inputs' nodes and its outputs, taken apart into values and nodes."""

    def __init__(self, f: Callable[..., Any], primals: Sequence[Any], outlives: bool = False) -> None:
        """``outlives``: the derivative is used after the call, when the primals may have other values."""
        if not callable(f):
            raise BadType(Argument("f"), f"={format_value(f)} is {describe_type(f)}: a function is needed")
        arrays = [current(operand(p, f"primals[{i}]")) for i, p in enumerate(primals)]
        self.primals = [form_of(p) for p in arrays]
        self.nodes = [Node(()) if is_differentiable(form.dtype) else None for form in self.primals]
        with trace_level() as level:
            if outlives:
                borrowed[level] = Borrowed(arrays)
            try:
                y = f(
                    *(p if node is None else make(p, level, node) for p, node in zip(arrays, self.nodes, strict=True))
                )
            finally:
                borrowed.pop(level, None)
            self.many = isinstance(y, (tuple, list))
            self.values: list[Value] = []
            self.ends: list[Node | None] = []
            for i, out in enumerate(y if self.many else (y,)):
                value, end = output_of(out, level, f"output {i} of f" if self.many else "the output of f")
                self.values.append(value)
                self.ends.append(end)
        self.forms = [form_of(value) for value in self.values]

    def hand_over(self) -> Any:
        """The value of f, once: as arrays that may be written to, which are no part of what ``pull`` needs."""
        values, self.values = self.values, []
        for i in range(len(values)):
            if type(values[i]) is np.ndarray and is_shared(values, i):
                values[i] = copied(values[i])
        return tuple(values) if self.many else values[0]

    def transpose(self, g: Any) -> tuple[Any, ...]:
        parts = g if self.many else (g,)
        if self.many and (not isinstance(g, (tuple, list)) or len(g) != len(self.forms)):
            raise BadValue(f"g must be a tuple of {len(self.forms)}, one for each output of ", Argument("f"))
        seeds = []
        for i, (part, form, end) in enumerate(zip(parts, self.forms, self.ends, strict=True)):
            held = fitted(part, form, f"g[{i}]" if self.many else "g", "the output of f")
            if end is not None:
                seeds.append((end, held))
        cotangents = backward_pass(seeds)
        out = []
        for form, node in zip(self.primals, self.nodes, strict=True):
            found = cotangents.get(node) if node is not None else None
            if found is None:
                found = zeros(form)
            out.append(found)
        return owned(out, [held for _, held in seeds])

    def apply(self, tangents: Sequence[Any]) -> Any:
        if len(tangents) != len(self.primals):
            raise BadValue(f"{len(tangents)} tangents for {len(self.primals)} primals: give one for each")
        seeds = {}
        for i, (t, form, node) in enumerate(zip(tangents, self.primals, self.nodes, strict=True)):
            if node is not None:
                seeds[node] = fitted(t, form, f"tangents[{i}]", f"primals[{i}]")
            elif np.any(data_of(t)):
                raise BadValue(f"tangents[{i}] is not zero, but primals[{i}] is an array of {form.dtype}, a constant")
        found = forward_pass(seeds, [end for end in self.ends if end is not None])
        out = [
            found[end] if end is not None and end in found else zeros(form)
            for form, end in zip(self.forms, self.ends, strict=True)
        ]
        results = owned(out, list(seeds.values()))
        return results if self.many else results[0]


def output_of(out: Any, level: int, name: str) -> tuple[Value, Node | None]:
    """The value of an output of f, and its node if it depends on the inputs at ``level``."""
    out = current(out)
    if not isinstance(out, Tensor):
        return operand(out, name), None
    if out._node is None:
        return out._value, None
    if out._level > level:
        raise BadValue(
            f"{name} was recorded by a later derivative, which still runs on another thread: take that derivative "
            "inside of ",
            Argument("f"),
        )
    return (out._value, out._node) if out._level == level else (out, None)


def owned(values: Sequence[Value], given: Sequence[Value]) -> tuple[Value, ...]:
    """The same as arrays of their own, also where they are scalars, read-only views, or one array several times."""
    out: list[Value] = []
    for value in values:
        if isinstance(value, (np.ndarray, np.generic)):
            value = np.asarray(value)
            others = (data_of(other) for other in (*given, *out))
            shared = (isinstance(other, np.ndarray) and np.may_share_memory(value, other) for other in others)
            if not value.flags.writeable or any(shared):
                value = value.copy()
        out.append(value)
    return tuple(out)


def float_of(dtype: DType) -> DType:
    return dtype if is_differentiable(dtype) else np.dtype(np.float64)


def zeros(form: Form) -> Array:
    return np.zeros(form.shape, float_of(form.dtype))


def fitted(given: Any, like: Form, name: str, of: str) -> Value:
    """A tangent or cotangent with the shape and dtype of what it belongs to."""
    held = operand(given, name)
    shape, dtype = like.shape, float_of(like.dtype)
    found = data_of(held)
    if found.shape != shape:
        raise BadValue(f"{name} has shape {found.shape}, {of} has {shape}: they must agree")
    if is_complex(found.dtype) and not is_complex(dtype):
        raise BadType(f"{name} has dtype {found.dtype}, {of} is real: its imaginary part would be lost")
    return held if found.dtype == dtype else Cast(found.dtype, dtype)(held)


@public
def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Value of a function, and its vector-Jacobian product: reverse mode.

    Parameters
    ----------
    f : callable
        Function of arrays that returns an array, or a tuple of arrays. Inside, arrays are :class:`Tensor`.
    *primals : array_like or Tensor
        Arguments of ``f``.

    Returns
    -------
    y : ndarray or tuple of ndarray
        ``f(*primals)``.
    pull : callable
        ``pull(g)`` takes a cotangent of ``y``, with its shape, and returns a tuple with one cotangent per primal, each
        in the dtype of its primal. If ``f`` returns a tuple, ``g`` is a tuple. It may be called any number of times.

    See Also
    --------
    grad : Gradient of a scalar function.
    jvp : Forward mode.
    linearize : Forward mode, for several tangents.
    check_grads : Compare derivatives with finite differences.

    Notes
    -----
    An integer primal is constant: its cotangent is zeros of float64. Complex derivatives are transposes, not conjugate
    transposes.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> y, pull = cn.vjp(lambda x: cn.max_pool(x, (2,)), np.array([1.0, 3.0, 2.0, 0.0]))
    >>> y
    array([3., 2.])
    >>> pull(np.array([10.0, 20.0]))
    (array([ 0., 10., 20.,  0.]),)
    """
    run = Trace(f, primals, outlives=True)

    def pull(g: Any) -> tuple[Any, ...]:
        return run.transpose(g)

    return run.hand_over(), public(pull)


@public
def linearize(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Value of a function, and its derivative as a linear function of tangents.

    Parameters
    ----------
    f : callable
        Function of arrays that returns an array, or a tuple of arrays. Inside, arrays are :class:`Tensor`.
    *primals : array_like or Tensor
        Arguments of ``f``.

    Returns
    -------
    y : ndarray or tuple of ndarray
        ``f(*primals)``.
    push : callable
        ``push(*tangents)`` takes one tangent per primal and returns the tangent of ``y``, without evaluating ``f``
        again.

    See Also
    --------
    jvp : The same for one set of tangents.
    vjp : Reverse mode.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> y, push = cn.linearize(np.square, np.array([1.0, 2.0]))
    >>> push(np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
    run = Trace(f, primals, outlives=True)

    def push(*tangents: Any) -> Any:
        return run.apply(tangents)

    return run.hand_over(), public(push)


@public
def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Value of a function, and its Jacobian-vector product: forward mode.

    Parameters
    ----------
    f : callable
        Function of arrays that returns an array, or a tuple of arrays. Inside, arrays are :class:`Tensor`.
    primals : sequence
        Arguments of ``f``: a tuple with one array per argument.
    tangents : sequence
        Tangents of the primals: a tuple of arrays of the same shapes. The tangent of an integer primal must be zero.

    Returns
    -------
    y : ndarray or tuple of ndarray
        ``f(*primals)``.
    dy : ndarray or tuple of ndarray
        Derivative of ``f`` at ``primals`` along ``tangents``.

    See Also
    --------
    linearize : The same for several sets of tangents.
    vjp : Reverse mode.
    check_grads : Compare derivatives with finite differences.

    Notes
    -----
    Transforms nest: the ``jvp`` of a :func:`grad` is a Hessian-vector product.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.jvp(lambda x: cn.avg_pool(x, (2,)), (np.array([1.0, 3.0]),), (np.array([1.0, 0.0]),))
    (array([2.]), array([0.5]))
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise BadType(
                f"{name} is {describe_type(given)}: a tuple is needed, with one entry per argument of ", Argument("f")
            )
    run = Trace(f, primals)
    tangent = run.apply(tangents)
    run.ends.clear()  # and with it what the derivative needs
    return run.hand_over(), tangent


def checked_argnums(argnums: Any, count: int) -> tuple[int, ...]:
    numbers = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    for n in numbers:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise BadType(f"argnums={format_value(argnums)}: an int or a tuple of ints is needed")
        if not -count <= n < count:
            raise BadValue(
                f"argnums={format_value(argnums)}: ",
                Argument("f"),
                f" was called with {count} arguments, there is no number {n}",
            )
    return tuple(int(n) % count for n in numbers)


def value_and_gradient(
    f: Callable[..., Any], argnums: Any, args: Sequence[Any], options: dict[str, Any]
) -> tuple[Any, Any]:
    chosen = checked_argnums(argnums, len(args))

    def of_chosen(*values: Any) -> Any:
        full = list(args)
        for n, value in zip(chosen, values, strict=True):
            full[n] = value
        return f(*full, **options)

    for n in chosen:
        dtype = form_of(operand(args[n], f"argument {n}")).dtype
        if not is_differentiable(dtype):
            raise BadType(
                f"argument {n} has dtype {dtype}: integers have no derivative, give floats, such as 1.0 for 1"
            )
    run = Trace(of_chosen, [args[n] for n in chosen])
    if run.many or run.forms[0].shape != ():
        what = "a tuple" if run.many else f"shape {run.forms[0].shape}"
        raise BadValue(Argument("f"), f" must give a scalar, it gave {what}: sum it, or use vjp")
    gradients = run.transpose(np.ones((), float_of(run.forms[0].dtype)))
    return run.hand_over(), gradients if isinstance(argnums, (tuple, list)) else gradients[0]


@public
def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Gradient of a scalar function.

    Parameters
    ----------
    f : callable
        Function that returns a scalar. Inside, the arguments ``argnums`` are :class:`Tensor`.
    argnums : int or sequence of int, optional
        Which positional arguments to differentiate with respect to. They must be floating or complex.

    Returns
    -------
    callable
        Function with the arguments of ``f`` that returns the gradient with respect to ``argnums``: an array, or a tuple
        of arrays if ``argnums`` is a sequence.

    See Also
    --------
    value_and_grad : The value and the gradient.
    vjp : For functions that do not return a scalar.
    Tensor : Gradients by ``backward()``.

    Notes
    -----
    Gradients nest to any order, and mix with :func:`vjp` and :func:`jvp`.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.grad(lambda x: (x ** 3).sum())(np.array([1.0, 2.0]))
    array([ 3., 12.])
    >>> cn.grad(cn.grad(lambda x: x ** 3))(2.0)
    array(12.)
    """
    if not callable(f):
        raise BadType(Argument("f"), f"={format_value(f)} is {describe_type(f)}: a function is needed")

    def gradient(*args: Any, **options: Any) -> Any:
        return value_and_gradient(f, argnums, args, options)[1]

    gradient.__name__ = "grad"
    return public(gradient)


@public
def value_and_grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Value and gradient of a scalar function.

    Parameters
    ----------
    f : callable
        Function that returns a scalar. Inside, the arguments ``argnums`` are :class:`Tensor`.
    argnums : int or sequence of int, optional
        Which positional arguments to differentiate with respect to. They must be floating or complex.

    Returns
    -------
    callable
        Function with the arguments of ``f`` that returns the pair of its value and its gradient with respect to
        ``argnums``: an array, or a tuple of arrays if ``argnums`` is a sequence.

    See Also
    --------
    grad : The gradient only.
    vjp : For functions that do not return a scalar.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.value_and_grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    (array(11.), (array([3., 4.]), array([1., 2.])))
    """
    if not callable(f):
        raise BadType(Argument("f"), f"={format_value(f)} is {describe_type(f)}: a function is needed")

    def both(*args: Any, **options: Any) -> Any:
        return value_and_gradient(f, argnums, args, options)

    both.__name__ = "value_and_grad"
    return public(both)
