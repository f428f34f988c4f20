"""The decorators of the public functions, and what type checkers know of these: a Tensor in gives a Tensor, an array an
array, indices a pair.

A DataArray gives a DataArray, a Dataset a Dataset; next to a dict or names of dimensions, which tell such a call, other
arguments are not checked. Arrays of other libraries give arrays of theirs, which are Any here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from ..arguments.arrays import Array
from ..arguments.errors import public
from ..arguments.operations import operation
from ..arguments.values import Ints, Padding
from ..autodiff.tensor import Tensor
from ..backends.torch.dynamo import one_node

P = ParamSpec("P")
S = TypeVar("S", bound=np.generic)

NaN: TypeAlias = Literal["propagate", "omit"]
Ties: TypeAlias = Literal["first", "split"]
Plain: TypeAlias = Sequence[Any] | float  # lists and numbers, which become NumPy arrays
Indices: TypeAlias = NDArray[np.int64]


class Labelled(Protocol):
    """What DataArrays and Datasets have, and arrays have not: xarray is not imported for their sake."""

    @property
    def coords(self) -> Any: ...
    @property
    def sizes(self) -> Any: ...


L = TypeVar("L", bound=Labelled)
ByName: TypeAlias = Mapping[Any, Any]  # dimension → size


class Pooling(Protocol[P]):
    """A function of one array."""

    __name__: str
    __module__: str
    __wrapped__: Callable[..., Any]

    @overload
    def __call__(self, x: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...
    @overload
    def __call__(self, x: Array | Plain, /, *args: P.args, **kwargs: P.kwargs) -> Array: ...
    @overload
    def __call__(self, x: L, sizes: ByName, /, *args: Any, **kwargs: Any) -> L: ...
    @overload
    def __call__(self, x: L, /, *args: Any, axes: Sequence[str], **kwargs: Any) -> L: ...
    @overload
    def __call__(self, x: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any: ...


def pooling(function: Callable[Concatenate[Any, P], Any]) -> Pooling[P]:
    """A public function of one array."""
    return cast("Pooling[P]", one_node(operation(public(function))))


class Sizes(Protocol[P]):
    """output_shape: of a DataArray a tuple, too, of a Dataset a dict."""

    __name__: str
    __module__: str
    __wrapped__: Callable[..., Any]

    @overload
    def __call__(self, shape: Labelled, window: ByName, /, **options: Any) -> Any: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> tuple[int, ...]: ...


def sizes(function: Callable[P, tuple[int, ...]]) -> Sizes[P]:
    """A public function of a shape."""
    return cast("Sizes[P]", operation(public(function)))


class Convolution(Protocol[P]):
    """A function of data and filters."""

    __name__: str
    __module__: str
    __wrapped__: Callable[..., Any]

    @overload
    def __call__(self, x: Tensor, w: Any, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...
    @overload
    def __call__(self, x: Array | Plain, w: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...
    @overload
    def __call__(self, x: Array | Plain, w: Array | Plain, /, *args: P.args, **kwargs: P.kwargs) -> Array: ...
    @overload
    def __call__(self, x: L, w: L, sizes: ByName, /, **kwargs: Any) -> L: ...
    @overload
    def __call__(self, x: L, w: Labelled, /, *, mode: Literal["full", "same", "valid"] = "full") -> L: ...
    @overload
    def __call__(self, x: L, w: Any, /, *, axes: Sequence[str], **kwargs: Any) -> L: ...
    @overload
    def __call__(self, x: L, w: Array, /, *args: P.args, **kwargs: P.kwargs) -> L: ...
    @overload
    def __call__(self, x: Any, w: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any: ...


def convolution(function: Callable[Concatenate[Any, Any, P], Any]) -> Convolution[P]:
    """A public function of data and filters."""
    return cast("Convolution[P]", one_node(operation(public(function))))


class AdaptiveSelection(Protocol):
    """adaptive_max_pool: with ``return_indices`` a pair."""

    __name__: str
    __module__: str
    __wrapped__: Callable[..., Any]

    @overload
    def __call__(
        self, x: Tensor, output_size: Any, *, axes: Ints | None = None, return_indices: Literal[False] = False
    ) -> Tensor: ...
    @overload
    def __call__(
        self, x: Tensor, output_size: Any, *, axes: Ints | None = None, return_indices: Literal[True]
    ) -> tuple[Tensor, Indices]: ...
    @overload
    def __call__(
        self,
        x: NDArray[S],
        output_size: Any,
        *,
        axes: Ints | None = None,
        return_indices: Literal[False] = False,
        out: NDArray[S] | None = None,
    ) -> NDArray[S]: ...
    @overload
    def __call__(
        self,
        x: NDArray[S],
        output_size: Any,
        *,
        axes: Ints | None = None,
        return_indices: Literal[True],
        out: tuple[NDArray[S], Indices] | None = None,
    ) -> tuple[NDArray[S], Indices]: ...
    @overload
    def __call__(self, x: L, output_size: ByName, *, return_indices: Literal[False] = False, **options: Any) -> L: ...
    @overload
    def __call__(self, x: L, output_size: ByName, *, return_indices: Literal[True], **options: Any) -> tuple[L, L]: ...
    @overload
    def __call__(self, x: Any, output_size: Any, **options: Any) -> Any: ...


def adaptive_selection(function: Callable[..., Any]) -> AdaptiveSelection:
    """A public function that selects an element of each bin."""
    return cast("AdaptiveSelection", one_node(operation(public(function))))


class Selection(Protocol):
    """max_pool and min_pool: with ``return_indices`` a pair, and the dtype of the array is kept."""

    __name__: str
    __module__: str
    __wrapped__: Callable[..., Any]

    @overload
    def __call__(
        self,
        x: Tensor,
        window: Ints,
        *,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        axes: Ints | None = None,
        nan: NaN = "propagate",
        ties: Ties = "first",
        return_indices: Literal[False] = False,
        out: None = None,
    ) -> Tensor: ...
    @overload
    def __call__(
        self,
        x: Tensor,
        window: Ints,
        *,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        axes: Ints | None = None,
        nan: NaN = "propagate",
        ties: Ties = "first",
        return_indices: Literal[True],
        out: None = None,
    ) -> tuple[Tensor, Indices]: ...
    @overload
    def __call__(
        self,
        x: NDArray[S],
        window: Ints,
        *,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        axes: Ints | None = None,
        nan: NaN = "propagate",
        ties: Ties = "first",
        return_indices: Literal[False] = False,
        out: NDArray[S] | None = None,
    ) -> NDArray[S]: ...
    @overload
    def __call__(
        self,
        x: NDArray[S],
        window: Ints,
        *,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        axes: Ints | None = None,
        nan: NaN = "propagate",
        ties: Ties = "first",
        return_indices: Literal[True],
        out: tuple[NDArray[S], Indices] | None = None,
    ) -> tuple[NDArray[S], Indices]: ...
    @overload
    def __call__(
        self,
        x: Plain,
        window: Ints,
        *,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        axes: Ints | None = None,
        nan: NaN = "propagate",
        ties: Ties = "first",
        return_indices: Literal[False] = False,
        out: Array | None = None,
    ) -> Array: ...
    @overload
    def __call__(
        self,
        x: Plain,
        window: Ints,
        *,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        axes: Ints | None = None,
        nan: NaN = "propagate",
        ties: Ties = "first",
        return_indices: Literal[True],
        out: tuple[Array, Indices] | None = None,
    ) -> tuple[Array, Indices]: ...
    @overload
    def __call__(self, x: L, window: ByName, *, return_indices: Literal[False] = False, **options: Any) -> L: ...
    @overload
    def __call__(self, x: L, window: ByName, *, return_indices: Literal[True], **options: Any) -> tuple[L, L]: ...
    @overload
    def __call__(self, x: Labelled, window: int, *, axes: Sequence[str], **options: Any) -> Any: ...
    @overload
    def __call__(
        self, x: Any, window: Ints, *, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
        ceil_mode: bool = False, axes: Ints | None = None, nan: NaN = "propagate", ties: Ties = "first",
        return_indices: bool = False, out: Any = None,
    ) -> Any: ...  # fmt: skip


def selection(function: Callable[..., Any]) -> Selection:
    """A public function that selects an element of each window."""
    return cast("Selection", one_node(operation(public(function))))
