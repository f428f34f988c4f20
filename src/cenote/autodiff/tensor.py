"""The engine of derivatives: record what was computed, then push tangents or pull cotangents through it.

A :class:`Tensor` is an array together with the node that recorded how it was computed. A primitive defines its
linearization: its output, and for each argument a :class:`LinearOperator`, the derivative as a function of a tangent
and, transposed, of a cotangent. Both consist of primitives again, so that this one rule gives derivatives of any order
in either mode. Operations of this package are Ops (``ops/``), NumPy's functions are Primitives;
``recording.py`` computes them.

Trace levels keep the orders apart. The value of a Tensor of one level may be a Tensor of a lower one; a primitive is
recorded at the highest level among its arguments and computed with their values, which records it at the next
lower one. Level 0 holds the Tensors that users make.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Never, TypeVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..arguments.arrays import FOREIGN, LABELLED, Array, as_array, conversion, library_of
from ..arguments.errors import BadType, BadValue, format_value, hints
from ..backends.dispatch import is_foreign
from ..dtypes import DType, is_complex, is_differentiable, is_exact
from .graph import Node, Value, active_levels, backward_pass
from .mixtures import mixture, refusal
from .owning import copied, is_shared, own

# What NumPy's ufuncs and functions do with Tensors: filled by the modules that define them.
UFUNCS: dict[Any, Callable[..., Any]] = {}
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
MISSING: Any = inspect.Parameter.empty
F = TypeVar("F", bound=Callable[..., Any])
new = object.__new__


def without_foreign(function: F) -> F:
    """Leave arguments that are only refused out of the signature that is shown."""
    signature = inspect.signature(function)
    shown = [p for p in signature.parameters.values() if p.name not in ("extra", "foreign")]
    function.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return function


class Tensor(NDArrayOperatorsMixin):
    """Array that records how it was computed, for ``backward()``.

    Parameters
    ----------
    data : array_like or Tensor
        Values, which are copied.
    constant : bool, optional
        Whether derivatives ignore this Tensor. By default integers and bool are constant, floats and complex numbers
        are not.

    See Also
    --------
    grad : Gradients of functions, without Tensors.
    vjp : Reverse mode.

    Notes
    -----
    NumPy functions, ufuncs, operators and indexing work on Tensors and return Tensors; comparisons return plain arrays.
    ``grad`` is None until ``backward()`` sets it, and again once the Tensor takes part in a new computation. To update
    a parameter, assign to ``data``.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> x = cn.Tensor([[0.0, 10.0, 8.0], [2.0, 7.0, 3.0], [5.0, 7.0, 20.0]])
    >>> out = cn.max_pool(x, (2, 2), stride=1)
    >>> out.sum().backward()
    >>> x.grad
    array([[0., 2., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """

    __slots__ = ("__weakref__", "_apart", "_level", "_node", "_value", "grad")
    __array_priority__ = 1000

    @without_foreign
    def __init__(self, data: Any = MISSING, *extra: Never, constant: bool | None = None, **foreign: Never) -> None:
        if extra or foreign or data is MISSING:  # a decorator, as functions have it, would cost a tenth of the call
            options = {"constant": constant, **foreign}
            given = () if data is MISSING else (data, *extra)
            raise TypeError(f"Tensor: {hints().explain(Tensor, given, options)}") from None
        value = np.array(data_of(data) if isinstance(data, Tensor) else checked(data))
        differentiable = is_differentiable(value.dtype)
        if constant is None:
            constant = not differentiable
        elif not isinstance(constant, (bool, np.bool_)):
            raise TypeError(f"Tensor: constant={format_value(constant)}: True, False or None is needed")
        if not constant and not differentiable:
            raise ValueError(
                f"Tensor: constant=False: data of dtype {value.dtype} has no derivatives, only floats and complex do"
            )
        self._value: Value = value
        self._level = 0
        self._node = None if constant else Node((), self)
        self.grad: Array | None = None

    # ------------------------------------------------------------------------------------------ what it holds

    @property
    def data(self) -> Array:
        """The array. Assign to it, or into it, to change the values in place.

        Values written into the result of a computation have no effect on ``backward()``.
        """
        node = self._node
        if node is not None and node.parents and self._level == 0 and not getattr(self, "_apart", False):
            # Its derivative may need the numbers as they are now.
            if is_shared([self._value], 0, 2):
                self._value = copied(self._value)
            self._apart = True
        array: Array = data_of(self)
        return array

    @data.setter
    def data(self, new: Any) -> None:
        if self._level:
            raise TypeError("the data of a Tensor inside of vjp, jvp, linearize or grad cannot be changed")
        array = self.data
        if array is not new:
            array[...] = new

    @property
    def constant(self) -> bool:
        """Whether derivatives ignore this Tensor."""
        return self._node is None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        shape: tuple[int, ...] = data_of(self).shape
        return shape

    @property
    def dtype(self) -> DType:
        """Dtype of the array."""
        dtype: DType = data_of(self).dtype
        return dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return int(data_of(self).ndim)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(data_of(self).size)

    def item(self) -> Any:
        """The only element, as a Python number."""
        return self._constant("item()").item()

    def tolist(self) -> Any:
        """The elements, as nested lists of Python numbers."""
        return self._constant("tolist()").tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        self._constant("np.asarray")
        return np.array(self.data, dtype=dtype, copy=copy)

    def _constant(self, conversion: str) -> Any:
        """The data for a conversion that drops the derivative: refused where one is being taken."""
        value = current(self)
        if isinstance(value, Tensor) and value._level and value._node is not None:
            raise TypeError(
                f"{conversion} would drop the derivative of a Tensor inside of vjp, jvp, linearize or grad: use NumPy "
                "functions and operators on the Tensor, such as np.stack for np.array, or its .data if it is a constant"
            )
        return data_of(value)

    def __len__(self) -> int:
        return len(data_of(self))

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(data_of(self))

    def __float__(self) -> float:
        return float(self._constant("float()"))

    def __int__(self) -> int:
        return int(data_of(self))

    def __index__(self) -> int:
        return int(data_of(self).__index__())

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return repr(data_of(self)).replace("array(", "Tensor(", 1).replace("\n", "\n ")

    def __format__(self, form: str) -> str:
        return format(data_of(self), form) if form else repr(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self.data, self.constant, self.grad)  # a copy has its own history, which is empty

    # ------------------------------------------------------------------------------------------ what it can do

    @without_foreign
    def backward(self, g: Any = None, **foreign: Never) -> None:
        """Set ``grad`` of every Tensor that this one was computed from.

        Parameters
        ----------
        g : array_like, optional
            Cotangent of this Tensor, with its shape. Defaults to ones: the gradient of the sum of its elements.

        Notes
        -----
        The graph is freed: compute the Tensor again before calling this again.
        """
        if foreign:
            raise TypeError(f"backward: {hints().explain(self.backward, (g,), foreign)}") from None
        if self._level:
            raise TypeError("backward() works on Tensors, not inside of vjp, jvp, linearize or grad")
        if self._node is None:
            raise ValueError("backward: this Tensor is constant, there is nothing to derive by")
        cotangents = backward_pass([(self._node, self._seed(g))])
        nodes, found = list(cotangents), list(cotangents.values())
        del cotangents
        for i, node in enumerate(nodes):
            owner = node.owner() if node.owner else None
            if owner is not None:
                owner.grad = own(found, i, owner._value.dtype)
            if node.parents:
                node.parents = None

    def _seed(self, g: Any) -> Array:
        """What ``backward(g)`` starts from: an array of this Tensor's shape and dtype."""
        if g is None:
            value = self._value  # most often a sum, a number; np.ones takes microseconds
            ones: Array = np.empty_like(value) if value.ndim else np.empty((), value.dtype)
            ones.fill(1)
            return ones
        if reason := mixture(data_of(g), None, "g", "this Tensor"):
            raise TypeError(f"backward: {reason}")
        seed = np.asarray(data_of(g))
        if seed.shape != self.shape:
            try:
                seed = np.broadcast_to(seed, self.shape)
            except ValueError:
                raise ValueError(f"backward: g has shape {seed.shape}, this Tensor has {self.shape}") from None
        if not (is_differentiable(seed.dtype) or is_exact(seed.dtype)) or (
            is_complex(seed.dtype) and not is_complex(self.dtype)
        ):
            raise TypeError(f"backward: g has dtype {seed.dtype}, this Tensor has {self.dtype}")
        return seed.astype(self.dtype)

    def null_grad(self) -> Tensor:
        """Set ``grad`` to None, and return the Tensor."""
        self.grad = None
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        rule = UFUNCS.get(ufunc if method == "__call__" else (ufunc, method))
        if rule is None:
            name = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
            raise TypeError(f"{name} is not defined for Tensors: use it on their .data")
        if options and method == "__call__":
            hint = ": write x = x + y for x += y, or change x.data" if "out" in options else ""
            raise TypeError(f"np.{ufunc.__name__}: Tensors take no {', '.join(options)}{hint}")
        refuse_others(f"np.{ufunc.__name__}", inputs)
        return rule(*inputs, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        rule = FUNCTIONS.get(function)
        if rule is None:
            raise TypeError(f"np.{function.__name__} is not defined for Tensors: use it on their .data")
        refuse_others(f"np.{function.__name__}", args)
        try:
            return rule(*args, **options)
        except TypeError:
            answer(f"np.{function.__name__}", rule, args, options)
            raise

    def __getitem__(self, key: Any) -> Tensor:
        return FUNCTIONS["getitem"](self, key)  # type: ignore[no-any-return]

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("a Tensor is not written into: assign to its .data, or build a new one")

    def __getattr__(self, name: str) -> Any:
        # sum, mean, reshape, … are added below, as they are defined.
        hint = "" if name.startswith("_") else hints().missing_tensor_attribute(name)
        raise AttributeError(f"Tensor has no attribute {name!r}{hint}")

    @property
    def T(self) -> Tensor:  # noqa: N802
        """Transpose: the axes reversed."""
        return FUNCTIONS[np.transpose](self)  # type: ignore[no-any-return]


METHODS: dict[str, Callable[..., Any]] = {}


def add_method(name: str, function: Callable[..., Any]) -> None:
    """Make a function of Tensors one of their methods."""

    @functools.wraps(function)
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        try:
            return function(self, *args, **options)
        except TypeError:
            answer(f"Tensor.{name}", function, (self, *args), options)
            raise

    if method.__doc__ is None:
        method.__doc__ = f"As ``numpy.ndarray.{name}``."
    METHODS[name] = method
    setattr(Tensor, name, method)


def answer(name: str, rule: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Refuse words of other libraries and arguments that only arrays take, if that is why a rule failed."""
    if (wrong := hints().wrong_option(rule, args, options)) is not None:
        raise TypeError(f"{name}: {wrong}") from None


KNOWN = (np.ndarray, np.generic, int, float, complex, Tensor)
# Their arrays are part of a computation on Tensors while cenote differentiates a function of them.
DIFFERENTIATED = ("dask", "jax", "jaxlib")


def refuse_others(name: str, args: Sequence[Any]) -> None:
    """Arrays of other libraries and labelled data, which NumPy would convert, or which would take the result over."""
    for arg in args:
        for x in arg if type(arg) in (list, tuple) else (arg,):
            if isinstance(x, KNOWN):
                continue
            library = library_of(type(x))
            if (library in FOREIGN or library in LABELLED) and library not in DIFFERENTIATED:
                what = f"{'an' if library == 'xarray' else 'a'} {library} {type(x).__name__}"
                how = conversion(library, type(x)).format("")
                raise TypeError(f"{name}: {what} cannot be combined with a Tensor of cenote: convert it with {how}")


def checked(data: Any) -> Array:
    try:
        return as_array(data, "data")
    except BadType as cause:
        raise TypeError(f"Tensor: {cause}") from None
    except BadValue as cause:
        raise ValueError(f"Tensor: {cause}") from None


def make(value: Value, level: int, node: Node | None) -> Tensor:
    """A Tensor around ``value``, which is not copied."""
    out: Tensor = new(Tensor)
    out._value, out._level, out._node, out.grad = value, level, node, None
    if node is not None and level == 0:
        node.owner = weakref.ref(out)
    return out


def restored(data: Array, constant: bool, grad: Array | None) -> Tensor:
    out = make(data, 0, None if constant else Node(()))
    out.grad = grad
    return out


def data_of(value: Value) -> Any:
    """The array inside of any number of levels."""
    while isinstance(value, Tensor):
        value = value._value
    return value


def current(value: Value) -> Value:
    """A Tensor of a trace that has ended as the constant that it is now, at least as far as that trace goes."""
    while isinstance(value, Tensor) and value._level and value._level not in active_levels:
        value = value._value
        if not isinstance(value, Tensor):
            return make(value, 0, None)
    return value


def numpy_of(x: Value) -> Array:
    """The data of an argument as a NumPy array, for a rule that knows no others."""
    array = data_of(x)
    if is_foreign(array):
        raise TypeError(refusal(array))
    return np.asarray(array)
