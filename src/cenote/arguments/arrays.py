"""Data that users pass: :func:`as_array` is the only way into the package for NumPy arrays and array-likes."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..dtypes import DType, is_complex, is_known, is_time, may_hold_words
from .errors import BadType, BadValue, cut, describe_type

Array: TypeAlias = NDArray[Any]

# Libraries whose arrays must never be turned into NumPy arrays behind the user's back, and how users do it. Those
# with a backend come here where NumPy arrays are needed, or next to arrays of another library.
FOREIGN = {
    "torch": "{}.detach().cpu().numpy()",
    "jax": "np.asarray({})",
    "jaxlib": "np.asarray({})",
    "dask": "{}.compute()",
    "xarray": "{}.data",
}

WITH_BACKEND = frozenset({"dask", "jax", "jaxlib", "torch", "xarray"})
# Objects that hold more than numbers in memory, labels, gaps or a derivative: what becomes of that, users decide.
LABELLED = {
    "pandas": "{}.to_numpy()",
    "polars": "{}.to_numpy()",
    "polars.LazyFrame": "{}.collect().to_numpy()",
    "pyarrow": "{}.to_numpy()",
    "pyarrow.Table": "{}.to_pandas().to_numpy()",
    "pyarrow.RecordBatch": "{}.to_pandas().to_numpy()",
    "scipy.sparse": "{}.toarray()",
    "sparse": "{}.todense()",
    "tensorflow": "{}.numpy()",
    "paddle": "{}.numpy()",
    "mxnet": "{}.asnumpy()",
    "cupy": "{}.get()",
    "mygrad": "{}.data",
}
# How arrays that are supported are joined: a list of them would lose what they are.
STACK = {
    "torch": "torch.stack({})",
    "jax": "jnp.stack({})",
    "jaxlib": "jnp.stack({})",
    "dask": "da.stack({})",
    "xarray": "xr.concat({}, 'new')",
    "cenote.autodiff": "np.stack({})",
    "cenote.dialects": "np.stack({})",
}
NUMBERS = "an integer type, float16, bfloat16, float32, float64, complex64 or complex128"
POOLED = f"bool, {NUMBERS}"
MASKED = " is a masked array"
MOST_NESTED = 64  # lists, as many as an array has axes


def as_array(x: object, name: str = "x", needed: str = "an array or a nested list of numbers") -> Array:
    """``x`` as a plain NumPy array of a dtype that windows know, without a copy where there is one."""
    if type(x) is not np.ndarray:
        x = convert(x, name, needed)
    check_dtype(x.dtype, name, x)
    return x


def check_dtype(dtype: DType, name: str, x: object = None) -> None:
    """``name`` has a dtype that windows know. ``x`` is the array, if there is one."""
    if not is_known(dtype):
        # The name of a longdouble tells its size, which on some systems is that of float64.
        known = dtype.type.__name__ if issubclass(dtype.type, np.inexact) else cut(str(dtype))
        raise BadType(f"{name} has dtype {known}: ", POOLED, f" is needed{hint(dtype, expression(name), x)}")


def convert(x: object, name: str, needed: str) -> Array:
    if isinstance(x, np.ma.MaskedArray):
        how = f"{expression(name)}.filled(value)"
        raise BadType(f"{name}{MASKED}, and its mask would be lost: pass {how}")
    library = library_of(type(x))
    if library in FOREIGN:
        article = "an" if library == "xarray" else "a"
        why = "cannot be used here" if library in WITH_BACKEND else "is not supported yet"
        how = FOREIGN[library].format(expression(name))
        raise BadType(f"{name} is {article} {kind_of(library, type(x))}, which {why}: pass {how}")
    if library in LABELLED:
        refuse_labelled(x, library, name, needed)
    if isinstance(x, (list, tuple)):
        refuse_list_of_arrays(x, name)
    if isinstance(x, (str, bytes, dict, set)) or x is None or callable(x):
        raise BadType(f"{name} is {describe_type(x)}: {needed} is needed")
    try:
        array = np.asarray(x)
    except ValueError as cause:  # a ragged list
        raise BadValue(f"{name} cannot be made an array: {cause}") from None
    except TypeError as cause:
        raise BadType(f"{name} cannot be made an array: {cause}") from None
    if array.dtype == object and array.ndim == 0 and not isinstance(x, (np.ndarray, Number)):
        # NumPy wraps what it knows nothing about: a generator, say.
        raise BadType(f"{name} is {describe_type(x)}: {needed} is needed")
    return array


def expression(name: str) -> str:
    """What stands for an argument in advised code: its name, unless that is a phrase such as ``argument 0``."""
    return "x" if " " in name else name


def refuse_labelled(x: Any, library: str, name: str, needed: str) -> None:
    what = f"{name} is a {library} {type(x).__name__}"
    if library == "pandas" and not hasattr(x, "to_numpy"):  # a Rolling, a GroupBy
        raise BadType(f"{what}: {needed} is needed")
    how = conversion(library, type(x)).format(expression(name))
    raise BadType(f"{what}, which is not converted silently: pass {how}")


def library_of(kind: type) -> str:
    """The library that a type or one of its bases is from, if its arrays are not converted silently."""
    for base in kind.__mro__:
        parts = str(base.__module__).split(".")
        for library in (parts[0], ".".join(parts[:2])):
            if library in FOREIGN or library in LABELLED or library in STACK:
                return library
    return ""


def conversion(library: str, kind: type) -> str:
    """How an object becomes a NumPy array."""
    return LABELLED.get(f"{library}.{kind.__name__}", LABELLED.get(library, "")) or FOREIGN[library]


def refuse_list_of_arrays(x: Sequence[object], name: str) -> None:
    """NumPy would convert each of them, and what they are more than numbers would be lost."""
    first: Any = x
    depth = 0
    while isinstance(first, (list, tuple)) and first and depth < MOST_NESTED:
        first, depth = first[0], depth + 1
    library = library_of(type(first))
    if not library or (library.startswith("cenote") and not hasattr(type(first), "backward")):
        return
    shapes = {getattr(t, "shape", None) if library_of(type(t)) == library else None for t in x}
    if depth > 1 or len(shapes) > 1:
        advice = "give one array"
    elif library in STACK and (library in WITH_BACKEND or library not in FOREIGN):
        advice = f"pass {STACK[library].format(expression(name))}"
    else:
        advice = f"pass np.stack([{conversion(library, type(first)).format('t')} for t in {expression(name)}])"
    raise BadType(f"{name} is {describe_type(x)} of {kind_of(library, type(first))} objects: {advice}")


def kind_of(library: str, kind: type) -> str:
    """A type of a library's, as its users know it."""
    if library == "jaxlib" and kind.__name__ == "ArrayImpl":
        return "jax Array"
    return f"{library.partition('.')[0]} {kind.__name__}"


def hint(dtype: DType, name: str, x: object) -> str:
    if is_time(dtype):
        return f"; use {name}.view(np.int64) instead"
    if dtype.names:
        return f"; use one field, such as {name}[{dtype.names[0]!r}]"
    if dtype.type is np.void:
        return ""
    target = complex if is_complex(dtype) else float
    try:
        np.asarray(x if may_hold_words(dtype) else (), target)
    except Exception:  # words, ragged lists, objects of all kinds
        return ""
    return f"; convert it with np.asarray({name}, {target.__name__})"
