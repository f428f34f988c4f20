"""The accessor: ``import cenote.xarray``, then ``da.cenote.max_pool({"y": 2, "x": 2})`` on DataArrays and Datasets.

The functions of the package take them without it: ``cn.max_pool(da, {"y": 2, "x": 2})`` is the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

try:
    import xarray as xr
except ImportError:
    raise ImportError("cenote.xarray needs xarray, which is not installed: pip install 'cenote[xarray]'") from None

from .arguments.operations import OPERATIONS
from .backends.xarray.families import has_coordinates

__all__ = ["Accessor"]


class Accessor:
    """The pooling and convolution functions of cenote as methods, by the names of dimensions."""

    def __init__(self, obj: xr.DataArray | xr.Dataset) -> None:
        self._obj = obj

    def __repr__(self) -> str:
        return f"<cenote on a {type(self._obj).__name__}: {', '.join(OPERATIONS)}>"


def method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the package as a method."""

    def call(self: Accessor, *args: Any, **kwargs: Any) -> Any:
        return function(self._obj, *args, **kwargs)

    signature = inspect.signature(function)
    _, *others = signature.parameters.values()
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *others]
    if has_coordinates(function):
        parameters.append(inspect.Parameter("coord_func", inspect.Parameter.KEYWORD_ONLY, default=None))
    shown = signature.replace(parameters=[p for p in parameters if p.name != "out"])
    call.__signature__ = shown  # type: ignore[attr-defined]
    call.__name__, call.__qualname__ = name, f"Accessor.{name}"
    call.__doc__ = f"{str(function.__doc__).partition(chr(10))[0]}\n\nSee ``help(cenote.{name})``, and docs/xarray.md."
    return call


for _name, _function in OPERATIONS.items():
    setattr(Accessor, _name, method(_name, _function))
for _kind, _register in (
    (xr.DataArray, xr.register_dataarray_accessor),
    (xr.Dataset, xr.register_dataset_accessor),
):
    if not hasattr(_kind, "cenote"):  # a module that is loaded again
        _register("cenote")(Accessor)  # type: ignore[no-untyped-call]
