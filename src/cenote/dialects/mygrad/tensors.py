"""mygrad's Tensor, which can be changed in place, and ``mygrad.tensor``.

An in-place operation is recorded like any other: the Tensor object takes the place of the result, and what was computed
from its earlier values keeps them. A Tensor that shares memory with another, such as ``x[:2]`` or ``x.T``, is a view of
it: a change of one is seen in the other, in values and in gradients.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ...arguments.arrays import Array, as_array
from ...arguments.errors import Argument, BadType, BadValue, format_value, public
from ...arguments.values import MOST_AXES, as_flag, as_int
from ...autodiff import tensor as autodiff
from ...autodiff.graph import Node, backward_pass
from ...backends import dispatch
from ...backends.tensor import TensorBackend
from ...dtypes import has_nan, is_complex, is_known
from ...ops.base import Op
from .._classes import answered
from .in_place import replace, write

View = Callable[[autodiff.Tensor], autodiff.Tensor]


class Tensor(autodiff.Tensor):
    """An array that remembers how it was computed, changes in place included.

    >>> from cenote.dialects import mygrad as mg
    >>> x, y = mg.Tensor([1, 2, 3], dtype="float64"), mg.Tensor(10.0)
    >>> x[0] = y
    >>> x *= 2
    >>> x
    Tensor([20.,  4.,  6.])
    >>> x.sum().backward()
    >>> x.grad, y.grad
    (array([1., 1., 1.]), array(2.))

    Parameters
    ----------
    x : array_like or Tensor
        Real numbers.
    dtype : dtype, optional
        That of the data by default.
    constant : bool, optional
        By default integers and bool are constants, which they must be, and floats are not.
    copy : bool, optional
        If False, memory is shared where it can be.
    ndmin : int, optional
        The least number of axes; axes of length 1 are put in front.
    """

    __slots__ = ("_base", "_view", "_views")
    _base: Tensor | None
    _view: Any  # the function that makes it of its base
    _views: weakref.WeakValueDictionary[int, Tensor] | None

    @answered
    def __init__(
        self,
        x: ArrayLike,
        *,
        dtype: DTypeLike | None = None,
        constant: bool | None = None,
        copy: bool = True,
        ndmin: int = 0,
    ) -> None:
        data, known = read_tensor(x, dtype, constant, copy, ndmin)
        set_up(self, data, None if known else Node(()))

    @property
    def base(self) -> Tensor | None:
        """The Tensor that this one is a view of."""
        return self._base

    def views(self) -> list[Tensor]:
        """The Tensors that are views of this one."""
        return list(self._views.values()) if self._views else []

    def backward(self, grad: Any = None) -> None:  # type: ignore[override]
        """Set ``grad`` of every Tensor that this one was computed from; those are variables without a history then.

        ``grad`` is the gradient of something by this Tensor, ones by default. The gradient of a view is that part of
        its base's gradient.
        """
        if self._node is None:
            return
        cotangents = backward_pass([(self._node, self._seed(grad))])
        found = []
        for node, cotangent in cotangents.items():
            owner = node.owner() if node.owner else None
            if owner is not None:
                owner.grad = np.array(cotangent, owner._value.dtype)
                found.append(owner)
            node.parents = ()
        for owner in found:
            if isinstance(owner, Tensor):
                for view in owner.views():
                    view.grad = autodiff.data_of(view._view(autodiff.make(owner.grad, 0, None)))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.get("out", (None,))[0]
        if isinstance(out, Tensor) and method == "__call__" and len(options) == 1:
            replace(out, super().__array_ufunc__(ufunc, method, *inputs), ufunc.__name__)
            return out
        return adopted(super().__array_ufunc__(ufunc, method, *inputs, **options), inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        out = adopted(super().__array_function__(function, types, args, options), args)
        if args and gives_view(function.__name__, args[0]):
            as_view(out, args[0], lambda x: function(x, *args[1:], **options))
        return out

    def __getitem__(self, key: Any) -> Tensor:
        out: Tensor = adopted(super().__getitem__(key), ())
        as_view(out, self, lambda x: x[key])
        return out

    def __setitem__(self, key: Any, value: Any) -> None:
        given = value if isinstance(value, autodiff.Tensor) else np.asarray(value)
        write(self, tuple(map(plain, key)) if isinstance(key, tuple) else plain(key), given)

    def astype(
        self, dtype: DTypeLike, casting: Any = "unsafe", copy: bool = True, *, constant: bool | None = None
    ) -> Tensor:
        """A Tensor of another dtype, without a history, as in mygrad."""
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(f"astype: {self.dtype} cannot be made {np.dtype(dtype)} with casting={casting!r}")
        return tensor(self, dtype, constant=constant, copy=copy)

    def copy(self, *, constant: bool | None = None) -> Tensor:
        """A Tensor of the same numbers, without a history, as in mygrad."""
        return Tensor(self, constant=self.constant if constant is None else constant)

    @property
    def T(self) -> Tensor:  # noqa: N802
        return self.transpose()  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self.data, self.constant, self.grad)


def plain(key: Any) -> Any:
    return autodiff.data_of(key)


def add_methods() -> None:
    """Those of every Tensor, with results that are mygrad's."""
    for name, function in autodiff.METHODS.items():
        if name not in vars(Tensor):
            setattr(Tensor, name, method(name, function))


def method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(self: Tensor, *args: Any, **options: Any) -> Any:
        out = adopted(function(self, *args, **options), (self, *args))
        if gives_view(name, self):
            as_view(out, self, lambda x: function(x, *args, **options))
        return out

    return call


# --------------------------------------------------------------------------------------- results, and views of others


def set_up(out: Tensor, value: Array, node: Node | None) -> Tensor:
    out._value, out._level, out._node, out.grad = value, 0, node, None
    out._base = out._view = out._views = None
    if node is not None:
        node.owner = weakref.ref(out)
    return out


def adopted(out: Any, given: Any) -> Any:
    """A new result as a Tensor of mygrad's; what was given, and Tensors inside of vjp or jvp, stay what they are."""
    if isinstance(out, (tuple, list)):
        return type(out)(adopted(part, given) for part in out)
    if type(out) is not autodiff.Tensor or out._level or any(out is x for x in given):
        return out
    return set_up(Tensor.__new__(Tensor), out._value, out._node)


def gives_view(name: str, source: Any) -> bool:
    """Whether NumPy's function of this name may give a view; flatten never does, ravel does of contiguous arrays."""
    return name != "flatten" and (name != "ravel" or autodiff.data_of(source).flags.c_contiguous)


def as_view(out: Any, source: Any, view: View) -> None:
    """Remember that ``out`` is ``view(source)``, if they share memory."""
    if not (isinstance(out, Tensor) and isinstance(source, Tensor)) or out is source or out._base is not None:
        return
    if np.may_share_memory(out._value, source._value):  # compares addresses, which suffices for two arrays or a view
        inner = source._view
        out._base = source if source._base is None else source._base
        out._view = view if inner is None else lambda x: view(inner(x))
        views = out._base._views = out._base._views or weakref.WeakValueDictionary()
        views[id(out)] = out


# ------------------------------------------------------------------------------------------------- making Tensors


def variable(data: Array, constant: bool) -> Tensor:
    """A Tensor around ``data``, which is not copied."""
    if not constant and not has_nan(data.dtype):
        raise BadValue(f"constant=False: data of dtype {data.dtype} is constant, only floats have derivatives")
    return set_up(Tensor.__new__(Tensor), data, None if constant else Node(()))


def restored(data: Array, constant: bool, grad: Array | None) -> Tensor:
    out = variable(data, constant)
    out.grad = grad
    return out


@public
def tensor(
    arr_like: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    constant: bool | None = None,
    copy: bool = True,
    ndmin: int = 0,
) -> Tensor:
    """A Tensor of anything that can be made an array.

    >>> from cenote.dialects import mygrad as mg
    >>> mg.tensor([1, 2, 3], dtype="float32")
    Tensor([1., 2., 3.], dtype=float32)
    >>> mg.tensor([1, 2, 3], ndmin=2)
    Tensor([[1, 2, 3]])
    >>> x = mg.tensor([1.0, 2.0])
    >>> mg.tensor(x, copy=False) is x, mg.tensor(x) is x
    (True, False)

    Parameters
    ----------
    arr_like : array_like or Tensor
        Real numbers.
    dtype : dtype, optional
        That of the data by default.
    constant : bool, optional
        By default integers and bool are constants, which they must be, and floats are not.
    copy : bool, optional
        If False, memory is shared where it can be, and a Tensor with the wanted properties is returned itself; with
        more axes, as ``ndmin`` asks, the result is a function of it. Any other Tensor is new, with a history of its
        own.
    ndmin : int, optional
        The least number of axes; axes of length 1 are put in front.

    Returns
    -------
    Tensor
        A Tensor of mygrad.
    """
    data, fixed = read(arr_like, "arr_like", dtype, constant, copy, ndmin)
    if (
        isinstance(arr_like, autodiff.Tensor)
        and not copy
        and fixed == arr_like.constant
        and data.dtype == arr_like.dtype
    ):
        more = data.ndim - arr_like.ndim
        return arr_like[(None,) * more] if more else arr_like  # type: ignore[return-value]
    return variable(data, fixed)


def read(given: Any, name: str, dtype: object, constant: object, copy: object, ndmin: object) -> tuple[Array, bool]:
    """The data of a new Tensor, and whether it is constant."""
    wanted = None if dtype is None else known_dtype(dtype)
    known = None if constant is None else as_flag("constant", constant)
    copied = as_flag("copy", copy)
    rank = read_ndmin(ndmin)
    array = given.data if isinstance(given, autodiff.Tensor) else as_array(given, name)
    if is_complex(array.dtype):
        raise BadType(Argument(name), f" has dtype {array.dtype}: mygrad knows real numbers only, use cenote.Tensor")
    data = np.array(array, wanted, copy=True if copied else None, ndmin=rank)
    fixed = not has_nan(data.dtype) if known is None else known
    return variable(data, fixed)._value, fixed


def read_ndmin(given: object) -> int:
    rank = max(0, as_int("ndmin", given, given, -MOST_AXES))
    if rank > MOST_AXES:
        raise BadValue(f"ndmin={format_value(given)} is too large, an array has at most {MOST_AXES} axes")
    return rank


def constructed(x: Any, dtype: object, constant: object, copy: object, ndmin: object) -> tuple[Array, bool]:
    return read(x, "x", dtype, constant, copy, ndmin)


constructed.__name__ = "Tensor"  # the call that the user wrote
read_tensor = public(constructed)


def known_dtype(given: Any) -> np.dtype[Any]:
    try:
        dtype: np.dtype[Any] = np.dtype(given)
    except TypeError as cause:
        raise BadType(f"dtype={format_value(given)} is no dtype: {cause}") from None
    if is_complex(dtype) or not is_known(dtype):
        raise BadType(
            f"dtype={format_value(given)}: bool, an integer type, float16, bfloat16, float32 or float64 is needed"
        )
    return dtype


class MyGradBackend(TensorBackend):
    """The canonical functions give mygrad's Tensors for mygrad's Tensors."""

    name = "mygrad"

    def owns(self, kind: type) -> bool:
        return issubclass(kind, Tensor)

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        return tuple(adopted(output, operands) for output in super().bind(op, *operands))


add_methods()
dispatch.register(MyGradBackend(), first=True)
