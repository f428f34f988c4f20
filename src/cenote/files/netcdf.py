"""netCDF files through xarray: windows by dimension name, coordinates as ``coarsen`` makes them, lazily by dask."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ..dtypes import DType
from .atomic import replacing
from .base import FileError, in_one_line, needs
from .cluster import connect
from .formats import is_netcdf
from .hdf5_file import SafeFile
from .interrupts import deferred
from .transform import check_chunks

COMPRESSION = ("zlib", "complevel", "shuffle", "fletcher32")
CHUNK = "32MiB"  # what is read at a time: whole chunks of the file


@contextmanager
def opened(text: str, chunks: Any = None) -> Iterator[Any]:
    """The Dataset in a file."""
    xarray = needs("xarray", "xarray", "files")
    needs("h5netcdf", "h5netcdf", "files")
    if not Path(text).is_file():
        raise FileError(f"{text}: there is no such file")
    dask = needs("dask", "dask", "dask") if chunks is not None else None
    small = nullcontext() if dask is None else dask.config.set({"array.chunk-size": CHUNK})
    try:
        with small:
            dataset = xarray.open_dataset(text, engine="h5netcdf", chunks=chunks)
    except Exception as error:
        raise FileError(f"{text} cannot be read: {in_one_line(error)}") from None
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


class Variable:
    """Shape, dtype and chunks of a variable, for what a call would give and cost. It is not read."""

    picture: tuple[int, int] | None = None
    format = "netCDF"

    def __init__(self, name: str, array: Any) -> None:
        self.name = name
        self.shape: tuple[int, ...] = tuple(map(int, array.shape))
        self.dtype: DType = array.dtype
        self.dims: tuple[str, ...] = tuple(map(str, array.dims))
        self.chunks: tuple[int, ...] | None = array.encoding.get("chunksizes")
        self.attributes: dict[str, Any] = {}

    def read(self, part: tuple[slice, ...]) -> Any:
        raise FileError(f"{self.name} is read by xarray")

    def close(self) -> None:
        """Nothing is open."""


def variables(text: str, variable: str | None) -> list[Variable]:
    """The variables of a file, or the one of this name."""
    with opened(text) as dataset:
        if variable is not None:
            return [Variable(variable, chosen(dataset, text, variable))]
        return [Variable(str(name), array) for name, array in dataset.data_vars.items()]


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
    chunks: tuple[int, ...] | None = None,
) -> tuple[tuple[int, ...], DType]:
    """Pool one variable; coordinates, names, attributes, chunks and compression are kept."""
    if not is_netcdf(source) or not is_netcdf(target):
        raise FileError("a netCDF file is pooled into a netCDF file: IN and OUT must both end with .nc")
    if "axes" in options:
        raise FileError("--axes is for files without names: --window says the dimensions")
    needs("dask", "dask", "dask")
    options = dict(options)
    window = options.pop("window")
    with replacing(Path(target), overwrite) as temporary, opened(source, "auto") as dataset:
        array = chosen(dataset, source, variable)
        result = function(array, window, **options)
        out = result.to_dataset(name=array.name).assign_attrs(dataset.attrs)
        encoding = {array.name: encoding_of(array, result.shape, chunks)}
        if scheduler is None:
            write(out, temporary, target, encoding, threads, quiet)
        else:
            write_on_cluster(out, temporary, target, encoding, scheduler)
        return tuple(result.shape), result.dtype


def encoding_of(array: Any, shape: tuple[int, ...], chunks: tuple[int, ...] | None) -> dict[str, Any]:
    """How the result is stored: as the input, in chunks that are no larger than it is."""
    checked = check_chunks(chunks, shape)
    before = array.encoding.get("chunksizes")
    sizes = checked if checked is not None else before if before and len(before) == len(shape) else None
    kept = {name: array.encoding[name] for name in COMPRESSION if array.encoding.get(name)}
    if sizes is not None and 0 not in shape:
        kept["chunksizes"] = tuple(min(c, n) for c, n in zip(sizes, shape, strict=True))
    return kept


def write(dataset: Any, temporary: Path, shown: str, encoding: dict[str, Any], threads: int, quiet: bool) -> None:
    """What ``to_netcdf`` does, into a file of ours."""
    backends = needs("xarray.backends", "xarray", "files")
    writer = needs("xarray.backends.common", "xarray", "files").ArrayWriter()
    h5netcdf = needs("h5netcdf", "h5netcdf", "files")
    with SafeFile(temporary) as file:
        try:
            # An interrupt within a write would be an error for HDF5. While dask computes, only its threads write.
            with deferred():
                root = h5netcdf.File(file, "w")
            try:
                with deferred():
                    dataset.dump_to_store(backends.H5NetCDFStore(root), writer=writer, encoding=encoding)
                with computing(threads, quiet, file.check):
                    writer.sync()
            finally:
                with deferred():
                    root.close()
            file.check()
        except OSError as error:
            if error is not file.error:
                raise
            raise FileError(f"{shown} cannot be written: {error.strerror}") from None


class Threads(ThreadPoolExecutor):
    def submit(self, *work: Any, **options: Any) -> Future[Any]:
        with deferred():  # an interrupted start of a thread would not be waited for
            return super().submit(*work, **options)


@contextmanager
def computing(threads: int, quiet: bool, check: Callable[[], None]) -> Iterator[None]:
    """dask on threads that end with the block, a check after each task, and a progress bar on a terminal."""
    dask, callbacks = needs("dask", "dask", "dask"), needs("dask.callbacks", "dask", "dask")
    pool = Threads(threads)
    try:
        with (
            dask.config.set(scheduler="threads", pool=pool),
            callbacks.Callback(posttask=lambda *_: check()),
            bar(quiet),
        ):
            yield
    finally:
        pool.shutdown(cancel_futures=True)  # those that run are waited for: they write


def write_on_cluster(dataset: Any, temporary: Path, shown: str, encoding: dict[str, Any], scheduler: str) -> None:
    dask, distributed = needs("dask", "dask", "dask"), needs("distributed", "dask.distributed", "dask")
    try:
        with connect(distributed, scheduler) as client, client.as_current(), dask.config.set(scheduler=client):
            dataset.to_netcdf(temporary, engine="h5netcdf", encoding=encoding)
    except (FileError, MemoryError):
        raise
    except (OSError, RuntimeError, ValueError) as error:  # what HDF5 makes of a full disk or an unwritable folder
        if isinstance(error, OSError) and str(temporary.absolute()) not in str(error):
            raise
        text = in_one_line(error).replace(str(temporary.absolute()), shown)
        raise FileError(f"{shown} cannot be written: {text}") from None


def bar(quiet: bool) -> Any:
    """The tasks that are done, with rate and time left; nothing in a pipe."""
    if quiet or not sys.stderr.isatty():
        return nullcontext()
    callbacks = needs("dask.callbacks", "dask", "dask")
    tqdm = needs("tqdm", "tqdm", "cli").tqdm

    class Bar(callbacks.Callback):  # type: ignore[misc,name-defined]
        def _start_state(self, graph: Any, state: Any) -> None:
            total = sum(len(state[k]) for k in ("ready", "waiting", "running"))
            columns, lines = shutil.get_terminal_size()  # for a terminal that does not tell tqdm draws nothing
            self.bar = tqdm(total=total, desc="pool", unit="task", leave=False, ncols=columns, nrows=lines)

        def _posttask(self, *_: Any) -> None:
            self.bar.update()

        def _finish(self, *_: Any) -> None:
            self.bar.close()

    return Bar()
