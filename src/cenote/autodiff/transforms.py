"""Derivatives of functions: vjp, jvp, linearize, grad, value_and_grad, check_grads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arguments.errors import Argument, BadType, BadValue, describe_type, format_value, pluralize, public
from ..backends.dispatch import operand
from ..dtypes import is_differentiable

# These fill the tables of what NumPy's functions do with Tensors.
from . import contraction as _contraction  # noqa: F401
from . import reductions as _reductions  # noqa: F401
from .elementwise import form_of
from .trace import float_of, refuse_own_derivatives, traced


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
    run = traced(f, primals, outlives=True)

    def pull(g: Any) -> tuple[Any, ...]:
        return tuple(run.transpose(g))

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

    Notes
    -----
    ``push`` keeps the values inside ``f`` that the derivative needs. It can be differentiated like any function.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> y, push = cn.linearize(np.square, np.array([1.0, 2.0]))
    >>> push(np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
    run = traced(f, primals, outlives=True, forward=True)

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
    run = traced(f, primals, forward=True)
    tangent = run.apply(tangents)
    run.ends.clear()  # and with it what the derivative needs
    return run.hand_over(), tangent


def check_transform(f: Any, argnums: Any) -> None:
    """What can be checked of the arguments of grad before the function is called."""
    if not callable(f):
        raise BadType(Argument("f"), f"={format_value(f)} is {describe_type(f)}: a function is needed")
    for n in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            data = "; the arguments of f are given to the gradient, as in grad(f)(x)" if hasattr(n, "shape") else ""
            raise BadType(f"argnums={format_value(argnums)}: an int or a tuple of ints is needed{data}")


def checked_argnums(argnums: Any, count: int) -> tuple[int, ...]:
    numbers = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    for n in numbers:
        if not -count <= n < count:
            raise BadValue(
                f"argnums={format_value(argnums)}: ",
                Argument("f"),
                f" was called with {pluralize(count, 'positional argument', 'positional arguments')}, there is no "
                f"number {n}",
            )
    chosen = tuple(int(n) % count for n in numbers)
    if len(set(chosen)) < len(chosen):
        raise BadValue(f"argnums={format_value(argnums)} names an argument twice")
    return chosen


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
        refuse_own_derivatives(args[n], f"argument {n}")
        dtype = form_of(operand(args[n], f"argument {n}")).dtype
        if not is_differentiable(dtype):
            raise BadType(
                f"argument {n} has dtype {dtype}: integers have no derivative, give floats, such as 1.0 for 1"
            )
    run = traced(of_chosen, [args[n] for n in chosen])
    if run.many or run.forms[0].shape != ():
        what = "a tuple: return one of them" if run.many else f"shape {run.forms[0].shape}: sum it"
        raise BadValue(Argument("f"), f" must give a scalar, it gave {what}, or use vjp")
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
    check_transform(f, argnums)

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
    check_transform(f, argnums)

    def both(*args: Any, **options: Any) -> Any:
        return value_and_gradient(f, argnums, args, options)

    both.__name__ = "value_and_grad"
    return public(both)
