"""A public function on a DataArray or a Dataset: arguments by name in, dimensions and coordinates out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NoReturn

import numpy as np

from ...arguments.errors import Argument, BadType, BadValue, Cause, describe_type, hints
from ...arguments.operations import signature
from ...dtypes import is_known, is_time
from . import RELATED, is_a, is_labelled
from .coordinates import pooled_coordinates, refuse_multi_index
from .families import NamedCall, family_of, gives_shape, has_coordinates
from .names import BY_DIMENSION, listed


def call_by_name(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The function on objects of xarray's."""
    name = function.__name__
    options = {key: value for key, value in kwargs.items() if key != "coord_func"}
    try:
        given = signature(function).bind(*args, **options).arguments
    except TypeError:
        wrong = hints().by_keyword(function, args, kwargs) or hints().wrong_call(function, args, options)
        raise TypeError(f"{name}: {wrong}") from None
    try:
        return run(function, dict(given), kwargs.get("coord_func"))
    except Cause as cause:
        advice = hints()
        named = BY_DIMENSION in cause.args
        text = advice.by_dimension(function, cause, given, kwargs) if named else advice.drawn(cause, function)
        kind = ValueError if isinstance(cause, BadValue) else TypeError
        raise kind(f"{name}: {text}") from None
    except TypeError:  # of pool, maybe: a function that does not take two arrays
        wrong = hints().wrong_call(function, args, options)
        if wrong is None:
            raise
        raise TypeError(f"{name}: {wrong}") from None


def run(function: Callable[..., Any], given: dict[str, Any], coord_func: Any) -> Any:
    first = next(iter(given))
    obj = given.pop(first)
    if not is_labelled(obj):
        refuse(first, obj, given)
    if given.pop("out", None) is not None:
        raise BadType("out is for NumPy arrays only: leave it out")
    if coord_func is not None and not has_coordinates(function):
        raise BadType(Argument("coord_func"), f"={coord_func!r}: the result has no windows to make coordinates of")
    pairs = isinstance(given.get("return_indices"), (bool, np.bool_)) and given["return_indices"]
    plan = family_of(function)(obj, given)
    if gives_shape(function):
        sizes = {name: plan.axes[name].o if name in plan.axes else n for name, n in obj.sizes.items()}
        return tuple(sizes.values()) if is_a(obj, "DataArray") else sizes
    made = new_coordinates(obj, plan, coord_func)
    if is_a(obj, "DataArray"):
        results = compute(function, plan, obj.variable, first, plan.indices)
        if obj.dims == (obj.name,) and obj.name in made:  # an array that is its own coordinate
            made[obj.name] = results[0].to_base_variable()
        coords = all_coordinates(obj, plan, made)
        return only_or_all(tuple(array_like(obj, result, coords) for result in results))
    return only_or_all(on_dataset(function, plan, obj, made, 2 if pairs else 1))


def refuse(first: str, obj: Any, given: Mapping[str, Any]) -> NoReturn:
    """The data is no DataArray or Dataset, although something is of xarray's."""
    for kind, way in RELATED.items():
        if is_a(obj, kind):
            raise BadType(f"{first} is an xarray {kind}, which cannot be used here: pass {way.format(first)}")
    name, other = next((name, value) for name, value in given.items() if is_a(value, "DataArray", "Dataset", *RELATED))
    raise BadType(f"{name} is {describe_type(other)} of xarray, and {first} is not: pass {name}.data")


def only_or_all(results: tuple[Any, ...]) -> Any:
    return results[0] if len(results) == 1 else results


def keeps_attributes() -> bool:
    """As coarsen: unless xarray's options say otherwise."""
    import xarray

    options: dict[str, object] = xarray.get_options()  # type: ignore[no-untyped-call]
    return options["keep_attrs"] is not False


# -------------------------------------------------------------------------------------------------------- data


def compute(
    function: Callable[..., Any], plan: NamedCall, variable: Any, what: str, indices: Any = None
) -> tuple[Any, ...]:
    """The results for one variable, as variables."""
    names = tuple(name for name in plan.names if name in variable.dims)
    check_dtype(variable, what)
    arguments = dict(plan.arguments(names))
    if plan.by_axes:
        arguments["axes"] = tuple(variable.dims.index(name) for name in names)
    if indices is not None:
        arguments["indices"] = in_order(indices, variable)
    made = function(variable.data, **arguments)
    attrs = variable.attrs if keeps_attributes() else None
    results = made if isinstance(made, tuple) else (made,)
    return tuple(type(variable)(variable.dims, r, None if i else attrs) for i, r in enumerate(results))


def check_dtype(variable: Any, what: str) -> None:
    dtype = variable.dtype
    if not isinstance(dtype, np.dtype) or not is_known(dtype):  # pandas has dtypes of its own
        time = isinstance(dtype, np.dtype) and is_time(dtype)
        raise BadType(
            f"{what} has dtype {dtype}: " + (f"pool {what}.astype('int64') instead" if time else "numbers are needed")
        )


def in_order(indices: Any, variable: Any) -> Any:
    """The indices of max_unpool with the dimensions in the order of the values'."""
    if set(indices.dims) != set(variable.dims):
        raise BadValue(
            f"indices has the dimensions {listed(indices.dims)}, y has {listed(variable.dims)}: they must agree"
        )
    return indices.transpose(*variable.dims).data


# ---------------------------------------------------------------------------------------------------- coordinates


def new_coordinates(obj: Any, plan: NamedCall, coord_func: Any) -> dict[Hashable, Any]:
    """The coordinates along dimensions that change, where they are known."""
    if plan.center is None or coord_func is not None:
        return pooled_coordinates(obj, "mean" if coord_func is None else coord_func, plan.axes)
    index = {}
    for name, axis in plan.axes.items():
        at = axis.first + plan.center((axis.k - 1) * axis.d)
        if at.size and at[0] >= 0 and at[-1] < axis.n:
            index[name] = at
    refuse_multi_index(obj, changed(obj, plan))
    return {
        c: v.to_base_variable().isel({name: index[name] for name in v.dims if name in index})
        for c, v in changed(obj, plan).items()
        if set(v.dims) & set(plan.names) <= set(index)
    }


def changed(obj: Any, plan: NamedCall) -> dict[Hashable, Any]:
    """The coordinates along dimensions that change, as they are."""
    return {c: v for c, v in obj.coords.variables.items() if not set(plan.names).isdisjoint(v.dims)}


def all_coordinates(obj: Any, plan: NamedCall, made: Mapping[Hashable, Any]) -> Any:
    """Those that stay, with their indexes, and the new ones: put together without xarray's alignment, which takes
    longer than everything else."""
    import xarray

    old = changed(obj, plan)
    gone = {id(index) for name, index in obj.xindexes.items() if name in old}
    variables: dict[Hashable, Any] = {}
    indexes = {name: index for name, index in obj.xindexes.items() if id(index) not in gone}
    for name, variable in obj.coords.variables.items():
        if name not in old:
            variables[name] = variable
        elif name in made and made[name].dims == (name,):
            indexes[name] = xarray.indexes.PandasIndex.from_variables({name: made[name]}, options={})
            variables |= indexes[name].create_variables({name: made[name]})
        elif name in made:
            variables[name] = made[name]
    return xarray.Coordinates(variables, indexes)


def array_like(x: Any, result: Any, coords: Any) -> Any:
    import xarray

    return xarray.DataArray(result.to_base_variable(), coords=coords, name=x.name)


def on_dataset(
    function: Callable[..., Any], plan: NamedCall, ds: Any, new: dict[Hashable, Any], outputs: int
) -> tuple[Any, ...]:
    """Each variable that has one of the dimensions; the others stay, but are not part of a Dataset of indices."""
    import xarray

    made: list[dict[Hashable, Any]] = [{} for _ in range(outputs)]
    same: dict[Hashable, Any] = {}
    for name, array in ds.data_vars.items():
        if set(plan.names).isdisjoint(array.dims):
            same[name] = array.variable
            continue
        try:
            results = on_variable(function, plan, array.variable, name)
        except Cause as cause:
            advice = f"; x.drop_vars({name!r}) is the Dataset without it"
            raise type(cause)(f"variable {name!r}: ", *cause.args, advice) from None
        for results_of, result in zip(made, results, strict=True):
            results_of[name] = result
    attrs = ds.attrs if keeps_attributes() else {}
    coords = all_coordinates(ds, plan, new)
    out = []
    for i, variables in enumerate(made):
        ordered = {n: variables.get(n, same.get(n)) for n in ds.data_vars if n in variables or (n in same and not i)}
        out.append(xarray.Dataset(ordered, coords, {} if i else attrs))
    return tuple(out)


def on_variable(function: Callable[..., Any], plan: NamedCall, variable: Any, name: Hashable) -> Any:
    own = [d for d in plan.names if d in variable.dims]
    if plan.whole and len(own) < len(plan.names):
        raise BadValue(f"it has only {listed(own)} of the dimensions {listed(plan.names)}")
    indices = None
    if plan.indices is not None:
        if name not in plan.indices:
            raise BadValue("indices has no such variable")
        indices = plan.indices[name]
    return compute(function, plan, variable, "x", indices)
