"""netCDF files through xarray: windows by dimension name, coordinates as ``coarsen`` makes them, lazily by dask."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from .. import runtime
from ..dtypes import DType
from .atomic import replacing
from .base import FileError, needs
from .formats import is_netcdf


@contextmanager
def opened(text: str, chunks: Any = None) -> Iterator[Any]:
    """The Dataset in a file."""
    xarray = needs("xarray", "xarray", "files")
    needs("h5netcdf", "h5netcdf", "files")
    if not Path(text).is_file():
        raise FileError(f"{text}: there is no such file")
    try:
        dataset = xarray.open_dataset(text, engine="h5netcdf", chunks=chunks)
    except Exception as error:
        raise FileError(f"{text} cannot be read: {' '.join(str(error).split())}") from None
    with dataset:
        yield dataset


def chosen(dataset: Any, text: str, variable: str | None) -> Any:
    """One variable of the file."""
    names = [str(name) for name in dataset.data_vars]
    if variable is None and len(names) != 1:
        listed = ", ".join(names) or "none"
        raise FileError(f"{text} has {len(names)} variables ({listed}): choose one with --var")
    name = names[0] if variable is None else variable
    if name not in names:
        raise FileError(f"{text} has no variable {name!r}, it has {', '.join(names)}")
    return dataset[name]


def describe(text: str, variable: str | None) -> list[str]:
    with opened(text) as dataset:
        lines = [f"{text}: netCDF"]
        for name, array in dataset.data_vars.items():
            if variable is None or name == variable:
                sizes = ", ".join(f"{dim} {n}" for dim, n in array.sizes.items())
                lines.append(f"{name}  {array.dtype}, {math.prod(array.shape) * array.dtype.itemsize} bytes: {sizes}")
        return lines


def pool(
    source: str,
    target: str,
    function: Any,
    options: dict[str, Any],
    *,
    variable: str | None,
    overwrite: bool,
    threads: int,
    scheduler: str | None,
    quiet: bool,
) -> tuple[tuple[int, ...], DType]:
    """Pool one variable; the result has the others' coordinates, names and attributes."""
    if not is_netcdf(source) or not is_netcdf(target):
        raise FileError("a netCDF file is pooled into a netCDF file: IN and OUT must both end with .nc")
    if not isinstance(options["window"], dict):
        raise FileError("a netCDF file is pooled by dimension name: give --window lat=2,lon=2")
    if "axes" in options:
        raise FileError("--axes is for files without names: --window says the dimensions")
    dask = needs("dask", "dask", "dask")
    options = dict(options)
    window = options.pop("window")
    with replacing(Path(target), overwrite) as beside, opened(source, {}) as dataset:
        array = chosen(dataset, source, variable)
        result = function(array, window, **options)
        with computing(dask, threads, scheduler, quiet):
            result.to_dataset(name=array.name).to_netcdf(beside, engine="h5netcdf")
        return tuple(result.shape), result.dtype


@contextmanager
def computing(dask: Any, threads: int, scheduler: str | None, quiet: bool) -> Iterator[None]:
    """Where dask computes, and a progress bar on a terminal."""
    if scheduler is not None:
        with needs("distributed", "dask.distributed", "dask").Client(scheduler, timeout="10s"):
            yield
        return
    bar = nullcontext() if quiet or not sys.stderr.isatty() else _bar()
    with (
        runtime.num_threads(1 if threads > 1 else threads),
        dask.config.set(scheduler="threads", num_workers=threads),
        bar,
    ):
        yield


def _bar() -> Any:
    return needs("dask.diagnostics", "dask", "dask").ProgressBar(out=sys.stderr)
