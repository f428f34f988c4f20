"""``cenote pool``."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from typing import Any

from ..arguments.operations import OPERATIONS, positional, signature
from ..arguments.pictures import sides
from .errors import CommandError
from .windows import (
    add_io_arguments,
    add_window_arguments,
    ints_or_int,
    one_line_errors,
    same_file_checks,
    sizes,
    threads_of,
    transformed,
    written,
)

HELP = "pool the array in a file, part by part, and write the result to another"
POOLS = {
    name.removesuffix("_pool"): function
    for name, function in OPERATIONS.items()
    if name.endswith("_pool") and positional(function) == ("x", "window")
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="IN", help=".npy, .npz (or file.npz:name), .png, .jpg, .tif, .zarr or .nc")
    parser.add_argument("output", metavar="OUT", help=".npy, .npz, .png, .tif, .zarr or .nc")
    parser.add_argument(
        "--op", choices=tuple(POOLS), default="max", help="what to compute from each window (default: max)"
    )
    parser.add_argument(
        "--window", metavar="N,N", type=sizes, required=True, help="window size on each axis, or dim=N,… for netCDF"
    )
    add_window_arguments(parser)
    parser.add_argument(
        "--axes", metavar="I,I", type=ints_or_int, help="axes that the window applies to (default: the last ones)"
    )
    parser.add_argument("--ceil-mode", action="store_true", help="keep the partial windows at the end of each axis")
    parser.add_argument(
        "--nan", choices=("propagate", "omit"), help="whether a NaN in a window propagates (default) or is left out"
    )
    parser.add_argument("--dtype", help="dtype of the result; a picture keeps its own by default")
    parser.add_argument("--count-exclude-pad", action="store_true", help="for avg: do not count padding in the divisor")
    parser.add_argument("--p", type=float, help="for lp: order of the norm (default: 2)")
    parser.add_argument("--beta", type=float, help="for smooth_max: sharpness (default: 1)")
    parser.add_argument("--var", metavar="NAME", help="variable of a netCDF file to pool")
    add_io_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    with one_line_errors():
        from ..files import formats

        same_file_checks(arguments.input, arguments.output)
        if formats.is_netcdf(arguments.input) or formats.is_netcdf(arguments.output):
            return run_netcdf(arguments)
        if arguments.var is not None:
            raise CommandError("--var is for netCDF files")
        with closing(formats.open_source(arguments.input)) as source:
            function, options = call_of(arguments, source)
            transformed(arguments, source, lambda x: warned(arguments.window, function(x, **options)), "pool")
        return 0


def warned(window: Any, pending: Any) -> Any:
    """A window over the colours of a picture is hardly meant, in a file that does not say that it is one."""
    if pending.op.geometry.over_colours:
        geometry = pending.op.geometry
        sizes, shape = ",".join(map(str, window)), "×".join(map(str, geometry.shape))
        axes = ",".join(map(str, sides(geometry.shape) or ()))
        print(
            f"cenote pool: warning: --window {sizes} of {shape} runs over colours, add --axes {axes}", file=sys.stderr
        )
    return pending


def function_of(arguments: argparse.Namespace) -> Any:
    return POOLS[arguments.op]


def takers(argument: str) -> list[str]:
    """The values of --op whose function has this argument."""
    return [op for op, function in POOLS.items() if argument in signature(function).parameters]


def call_of(arguments: argparse.Namespace, source: Any) -> tuple[Any, dict[str, Any]]:
    """The public function and its arguments."""
    for name in ("window", "stride", "dilation", "padding"):
        if isinstance(getattr(arguments, name), dict):
            raise CommandError(f"--{name} by name needs a netCDF file: {arguments.input} has no named dimensions here")
    n = arguments.window
    if isinstance(n, int) and arguments.axes is None and source.picture is None and len(source.shape) == 1:
        raise CommandError(f"--window {n} does not say which axes: write --window {n} --axes 0 for the only one")
    return function_of(arguments), options_of(arguments, source.picture, source.dtype)


def options_of(arguments: argparse.Namespace, picture: Any, dtype: Any) -> dict[str, Any]:
    op = arguments.op
    options: dict[str, Any] = {
        name: getattr(arguments, name) for name in ("window", "stride", "padding", "dilation", "ceil_mode")
    }
    sides = 1 if isinstance(arguments.window, int) else len(arguments.window)
    if arguments.axes is not None:
        options["axes"] = arguments.axes
    elif picture is not None and (sides == 2 or isinstance(arguments.window, int)):
        options["axes"] = picture
    elif isinstance(arguments.window, int):
        n = arguments.window
        raise CommandError(
            f"--window {n} does not say which axes: write --window {n},{n} for the last two, or name them with --axes"
        )
    own = {
        "nan": arguments.nan,
        "p": arguments.p,
        "beta": arguments.beta,
        "count_include_pad": False if arguments.count_exclude_pad else None,
        "dtype": arguments.dtype,
    }
    for name, value in own.items():
        if value is None:
            continue
        if op not in takers(name):
            flag = "count-exclude-pad" if name == "count_include_pad" else name
            raise CommandError(f"--{flag} is for --op {' or '.join(takers(name))}, not for {op}")
        options[name] = value
    if picture is not None and op in takers("dtype") and arguments.dtype is None and keeps(dtype):
        options["dtype"] = dtype
    return options


def keeps(dtype: Any) -> bool:
    """Whether a picture's dtype can hold any result."""
    from ..dtypes import is_float, is_integer

    return is_integer(dtype) or is_float(dtype)


def run_netcdf(arguments: argparse.Namespace) -> int:
    from ..files import netcdf

    if not isinstance(arguments.window, dict):
        raise CommandError("a netCDF file is pooled by dimension name: give --window lat=2,lon=2")
    shape, dtype = netcdf.pool(
        arguments.input,
        arguments.output,
        function_of(arguments),
        {name: value for name, value in options_of(arguments, None, None).items() if value is not None},
        variable=arguments.var,
        overwrite=arguments.overwrite,
        threads=threads_of(arguments),
        scheduler=arguments.scheduler,
        quiet=arguments.quiet,
        chunks=arguments.chunks,
    )
    written(arguments.output, shape, dtype, arguments.quiet)
    return 0
