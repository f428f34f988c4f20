"""Coordinates along pooled dimensions, made of those of the elements of each window: ``coord_func``.

Its words mean what they mean in ``DataArray.coarsen``: one word is for the coordinates of dimensions, all others get
their mean; a dict is by coordinate. Elements that are padding, or beyond the end, are not part of a window.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np

from ...arguments.arrays import Array
from ...arguments.errors import Argument, BadType, BadValue, describe_type, format_value
from ...dtypes import DType, average_dtype, has_nan, is_complex, is_known, is_time, native, select_dtype
from ...geometry.axes import Axis, Geometry
from ...ops.base import Op
from ...ops.selection import SelectPool
from ...ops.sums import AvgPool, NanAvgPool
from ..dispatch import dispatch
from .names import Axes, listed

NAT = np.iinfo(np.int64).min  # as an integer


def words_of(obj: Any, coord_func: object, axes: Axes) -> dict[Hashable, str]:
    """The word for each coordinate along a pooled dimension."""
    along = [name for name, c in obj.coords.variables.items() if not axes.keys().isdisjoint(c.dims)]
    if isinstance(coord_func, Mapping):
        for name in coord_func:
            if name not in obj.coords and name not in obj.dims:
                raise BadValue(
                    Argument("coord_func"), f"={format_value(coord_func)}: {format_value(name)} is no coordinate of ",
                    Argument("x"), f", which has {listed(obj.coords)}",
                )  # fmt: skip
        return {name: word(coord_func, coord_func.get(name, "mean")) for name in along}
    chosen = word(coord_func, coord_func)
    return {name: chosen if name in obj.dims else "mean" for name in along}


def word(given: object, value: object) -> str:
    needed = f"{listed(REDUCTIONS)} or a dict of them by coordinate is needed"
    if getattr(value, "__name__", None) in REDUCTIONS:  # np.max, or what coarsen puts into the dict of its caller
        return str(value.__name__)  # type: ignore[attr-defined]
    if not isinstance(value, str):
        raise BadType(Argument("coord_func"), f"={format_value(given)}: {needed}, not {describe_type(value)}")
    if value not in REDUCTIONS:
        raise BadValue(Argument("coord_func"), f"={format_value(given)}: {value!r} is not known, {needed}")
    return value


def pooled_coordinates(obj: Any, coord_func: object, axes: Axes) -> dict[Hashable, Any]:
    """The coordinates along pooled dimensions of the result, as variables."""
    words = words_of(obj, coord_func, axes)
    refuse_multi_index(obj, words)
    out = {}
    for name, chosen in words.items():
        variable = obj.coords.variables[name].to_base_variable()
        try:
            out[name] = reduced(variable, chosen, axes)
        except NotDefinedError:
            advice = {**{k: v for k, v in words.items() if v != "mean"}, name: "first"}
            raise BadType(
                f"coordinate {name!r} has dtype {variable.dtype}, of which there is no {chosen}: give "
                f"coord_func={advice!r}, or x.drop_vars({name!r})"
            ) from None
    return out


def refuse_multi_index(obj: Any, names: Iterable[Hashable]) -> None:
    """Its labels are tuples, and there is no new index of them."""
    from xarray.indexes import PandasMultiIndex

    multi = [name for name in names if isinstance(obj.xindexes.get(name), PandasMultiIndex)]
    if multi:
        name = next((name for name in multi if name in obj.dims), multi[0])
        raise BadType(
            f"coordinate {name!r} is a MultiIndex of {listed(n for n in multi if n != name)} along a pooled dimension: "
            f"pass x.reset_index({name!r})"
        )


def dtype_of(variable: Any) -> DType:
    """Its dtype; object for those of pandas, which have no mean."""
    return variable.dtype if isinstance(variable.dtype, np.dtype) else np.dtype(object)


class NotDefinedError(Exception):
    """Of a dtype that has no mean."""


# ---------------------------------------------------------------------------------------------- one coordinate


def reduced(variable: Any, word: str, axes: Axes) -> Any:
    """A coordinate of each window: the variable of the result."""
    own = {name: axes[name] for name in variable.dims if name in axes}
    real = {name: axis.number(padded=False) > 0 for name, axis in own.items()}
    if any(axis.n == 0 for axis in own.values()):
        shape = [own[name].o if name in own else n for name, n in variable.sizes.items()]
        return type(variable)(variable.dims, np.full(shape, np.nan), variable.attrs, variable.encoding)
    out = REDUCTIONS[word](variable, own)
    for name, has_elements in real.items():
        if not has_elements.all():
            out = out.where(type(out)(name, has_elements))
    out.attrs, out.encoding = variable.attrs, variable.encoding
    return out


def elements(axis: Axis) -> tuple[Array, Array]:
    """(o,) each: the first element of each window that is in the array, and how many there are."""
    first = axis.first
    if axis.starts is None:
        first = first + np.maximum(0, -(first // axis.d)) * axis.d
    return first, axis.number(padded=False)


def taken(variable: Any, own: Axes, place: Callable[[Array, Array], Array]) -> Any:
    """An element of each window: ``place`` gives its position from the number of elements."""
    index = {}
    for name, axis in own.items():
        first, count = elements(axis)
        index[name] = np.clip(first + place(first, count) * axis.d, 0, axis.n - 1)
    return variable.isel(index)


def first(variable: Any, own: Axes) -> Any:
    found = valid(variable, own, 1)
    return taken(variable, own, lambda first, count: np.zeros_like(first)) if found is None else found


def last(variable: Any, own: Axes) -> Any:
    found = valid(variable, own, -1)
    return taken(variable, own, lambda first, count: count - 1) if found is None else found


def valid(variable: Any, own: Axes, step: int) -> Any:
    """The first or last element of each window that is not missing, for a coordinate with missing values."""
    (axis,) = own.values() if len(own) == 1 else (None,)
    if axis is None or axis.d != 1 or variable.ndim > 1 or not isinstance(variable.data, np.ndarray):
        return None
    there = ~np.asarray(variable.isnull().values)
    if there.all():
        return None
    begin, count = elements(axis)
    i = np.arange(axis.n)
    if step > 0:
        nearest = np.minimum.accumulate(np.where(there, i, axis.n)[::-1])[::-1][np.clip(begin, 0, axis.n - 1)]
        found = nearest < begin + count
    else:
        nearest = np.maximum.accumulate(np.where(there, i, -1))[np.clip(begin + count - 1, 0, axis.n - 1)]
        found = nearest >= begin
    (name,) = own
    return variable.isel({name: np.clip(nearest, 0, axis.n - 1)}).where(type(variable)(name, found))


def center(variable: Any, own: Axes) -> Any:
    """The middle element of each window, or the mean of the two in the middle."""
    for name, axis in own.items():
        low, high = (taken(variable, {name: axis}, partial_middle(up)) for up in (0, 1))
        if not (elements(axis)[1] % 2 == 0).any():
            variable = low
        elif is_time(dtype_of(variable)):
            variable = low + (high - low) // 2
        elif is_known(dtype_of(variable)):
            variable = low / 2 + high / 2
        else:
            raise NotDefinedError
    return variable


def partial_middle(up: int) -> Callable[[Array, Array], Array]:
    return lambda first, count: np.maximum(count - 1 + up, 0) // 2


def smallest(variable: Any, own: Axes) -> Any:
    return selected(variable, own, largest=False)


def largest(variable: Any, own: Axes) -> Any:
    return selected(variable, own, largest=True)


def selected(variable: Any, own: Axes, largest: bool) -> Any:
    data = variable.data
    if is_time(dtype_of(variable)):  # as integers, in which a missing time is never selected
        worst = np.iinfo(np.int64).min if largest else np.iinfo(np.int64).max
        numbers = data.view(np.int64)
        found = selected(variable.copy(data=np.where(numbers == NAT, worst, numbers)), own, largest).data
        return type(variable)(variable.dims, np.where(found == worst, NAT, found).view(variable.dtype))
    if not is_known(dtype_of(variable)) or is_complex(variable.dtype):
        labels, codes = labelled(data)
        found = selected(variable.copy(data=codes), own, largest).data
        return type(variable)(variable.dims, labels[np.clip(found, 0, len(labels) - 1)])
    before, after = native(variable.dtype), select_dtype(variable.dtype)
    return pooled(variable, SelectPool(geometry(variable, own), before, after, largest, has_nan(after)))


def labelled(data: Any) -> tuple[Array, Array]:
    """Strings and other objects as their places in order."""
    if not isinstance(data, np.ndarray):
        raise NotDefinedError
    try:
        labels, codes = np.unique(data, return_inverse=True)
    except TypeError:  # of different kinds
        raise NotDefinedError from None
    return labels, codes.reshape(data.shape)


def mean(variable: Any, own: Axes) -> Any:
    if is_time(dtype_of(variable)):
        return mean_of_times(variable, own)
    if not is_known(dtype_of(variable)):
        return mean_of_dates(variable, own)
    before, after = native(variable.dtype), average_dtype(variable.dtype)
    kind = NanAvgPool if has_nan(before) else AvgPool
    return pooled(variable, kind(geometry(variable, own), before, after, None, False))


def mean_of_times(variable: Any, own: Axes) -> Any:
    """As xarray does it: relative to a year in the middle, in floats, cut to the unit of the times."""
    data = variable.data
    offset = np.zeros((), variable.dtype)
    if isinstance(data, np.ndarray) and data.size:
        years = data.astype("datetime64[Y]").astype(np.int64)[~np.isnat(data)]
        low, high = (int(years.min()), int(years.max())) if years.size else (0, 0)
        offset = np.array(low + (high - low) // 2).astype("datetime64[Y]").astype(variable.dtype)
    since = data - offset
    numbers = np.where(np.isnat(since), np.nan, since.astype(np.float64))
    found = mean(variable.copy(data=numbers), own).data
    return type(variable)(variable.dims, (found.astype(since.dtype) + offset).astype(variable.dtype))


def mean_of_dates(variable: Any, own: Axes) -> Any:
    """Of objects with differences, such as the dates of cftime."""
    dates = variable.data
    if not isinstance(dates, np.ndarray) or not dates.size:
        raise NotDefinedError
    try:
        offset = dates.min()
        since = dates - offset
        numbers = np.array([d / timedelta(microseconds=1) for d in since.ravel()]).reshape(dates.shape)
    except TypeError:  # text
        raise NotDefinedError from None
    found = mean(variable.copy(data=numbers), own).data
    out = np.full(found.shape, np.nan, object)
    for i in np.ndindex(found.shape):
        if not np.isnan(found[i]):
            out[i] = offset + timedelta(microseconds=int(found[i]))
    return type(variable)(variable.dims, out)


def geometry(variable: Any, own: Axes) -> Geometry:
    axes = tuple(replace(axis, position=variable.dims.index(name)) for name, axis in own.items())
    return Geometry(tuple(variable.shape), axes)


def pooled(variable: Any, op: Op) -> Any:
    backend = dispatch(variable.data)
    return type(variable)(variable.dims, backend.bind(op, backend.operand(variable.data, "x"))[0])


REDUCTIONS: dict[str, Callable[[Any, Axes], Any]] = {
    "mean": mean,
    "first": first,
    "last": last,
    "min": smallest,
    "max": largest,
    "center": center,
}
