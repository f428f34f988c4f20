"""xarray's DataArrays and Datasets: the public functions by the names of dimensions.

xarray wraps arrays of other libraries, so there are no Ops to interpret here. A call with a DataArray or a Dataset
fails like any other with something that is no array, and is then taken over: its arguments are read by name
(``names.py``, ``families.py``), the same function runs on the arrays inside (``calls.py``), and the result gets its
dimensions, coordinates (``coordinates.py``), names and attributes. xarray is imported by its users only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ...arguments.errors import takeovers
from ...arguments.operations import is_operation

# Other objects of xarray's, and how they become one of the two.
RELATED = {"Variable": "xr.DataArray({})", "DataTree": "{}.to_dataset()"}


def is_a(x: object, *names: str) -> bool:
    """Whether this is an object of a class of xarray's, which need not be imported."""
    library = sys.modules.get("xarray")
    return any(isinstance(x, getattr(library, name, ())) for name in names)


def is_labelled(x: object) -> bool:
    return is_a(x, "DataArray", "Dataset")


def take_over(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Callable[[], Any] | None:
    """The call by names, if an argument is an object of xarray's and the function is one of ours."""
    if "xarray" not in sys.modules or not is_operation(function):
        return None
    if not any(is_a(value, "DataArray", "Dataset", *RELATED) for value in (*args, *kwargs.values())):
        return None
    from .calls import call_by_name

    return partial(call_by_name, function, args, kwargs)


takeovers.append(take_over)
