"""``cenote info``."""

from __future__ import annotations

import argparse
import math
from typing import Any

from .errors import CommandError
from .windows import add_window_arguments, ints_or_int, one_line_errors, sizes

HELP = "describe the array in a file, and what pooling it would give and cost"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="IN", help=".npy, .npz (or file.npz:name), .png, .jpg, .tif, .zarr or .nc")
    parser.add_argument(
        "--op",
        choices=("max", "min", "avg", "sum", "lp", "smooth_max", "median", "mode"),
        default="max",
        help="what to compute from each window (default: max)",
    )
    parser.add_argument("--window", metavar="N,N", type=sizes, help="also describe pooling with this window")
    add_window_arguments(parser)
    parser.add_argument(
        "--axes", metavar="I,I", type=ints_or_int, help="axes that the window applies to (default: the last ones)"
    )
    parser.add_argument("--ceil-mode", action="store_true", help="keep the partial windows at the end of each axis")
    parser.add_argument("--dtype", help="dtype of the result")
    parser.add_argument("--var", metavar="NAME", help="variable of a netCDF file (default: all)")


def run(arguments: argparse.Namespace) -> int:
    with one_line_errors():
        from ..files import formats

        if formats.is_netcdf(arguments.input):
            return run_netcdf(arguments)
        source = formats.open_source(arguments.input)
        try:
            print(f"{arguments.input}: {source.format}")
            print_array(source)
            if arguments.window is not None:
                print_call(arguments, source)
        finally:
            source.close()
        return 0


def run_netcdf(arguments: argparse.Namespace) -> int:
    from ..files import netcdf

    found = netcdf.variables(arguments.input, arguments.var)
    print(f"{arguments.input}: netCDF")
    for variable in found:
        print(f"variable  {variable.name}")
        print_array(variable)
        if arguments.window is not None:
            if not isinstance(arguments.window, dict):
                raise CommandError("a netCDF file is pooled by dimension name: give --window lat=2,lon=2")
            if arguments.var is None and not set(arguments.window) <= set(variable.dims):
                continue
            print_call(by_position(arguments, variable.dims), variable)
    return 0


def by_position(arguments: argparse.Namespace, dims: tuple[str, ...]) -> argparse.Namespace:
    """Arguments by dimension name as those by position."""
    wrong = [name for name in arguments.window if name not in dims]
    if wrong:
        raise CommandError(f"--window {wrong[0]}: the dimensions are {', '.join(dims)}")
    changed = argparse.Namespace(**vars(arguments))
    changed.axes = tuple(dims.index(name) for name in arguments.window)
    defaults = {"window": 1, "stride": None, "padding": 0, "dilation": 1}
    for name, default in defaults.items():
        value = getattr(arguments, name)
        if isinstance(value, dict):
            every = {dim: default if default is not None else size for dim, size in arguments.window.items()}
            setattr(changed, name, tuple((every | value)[dim] for dim in arguments.window))
    if isinstance(arguments.padding, dict) and any(isinstance(p, tuple) for p in changed.padding):
        changed.padding = tuple(p if isinstance(p, tuple) else (p, p) for p in changed.padding)
    return changed


def print_array(source: Any) -> None:
    print(f"shape     {source.shape}" + (f"  {', '.join(source.dims)}" if source.dims else ""))
    print(f"dtype     {source.dtype}, {size(math.prod(source.shape) * source.dtype.itemsize)}")


def print_call(arguments: argparse.Namespace, source: Any) -> None:
    from ..arguments.errors import pluralize
    from ..files.lazy import FileArray
    from ..files.streaming import largest_block, plan_blocks
    from .pool import call_of

    for name, value in (("nan", None), ("p", None), ("beta", None), ("count_exclude_pad", False)):
        setattr(arguments, name, value)
    function, options = call_of(arguments, source)
    pending = function(FileArray(source), **options)
    reads = math.prod(source.shape) * source.dtype.itemsize
    writes = math.prod(pending.shape) * pending.dtype.itemsize
    chunks = getattr(source, "chunks", None) or tuple(1 for _ in pending.shape)
    blocks = plan_blocks(pending, tuple(max(1, min(c, n)) for c, n in zip(chunks, pending.shape, strict=True)))
    print(f"{arguments.op}_pool  gives shape {pending.shape} of {pending.dtype}")
    number = pluralize(len(blocks), "block", "blocks")
    largest = size(largest_block(pending, blocks))
    print(f"cost      reads {size(reads)}, writes {size(writes)}, in {number} of up to {largest}")


def size(number: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024 or unit == "TiB":
            break
        number /= 1024
    return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
