"""``cenote info``."""

from __future__ import annotations

import argparse
import math

from .windows import add_window_arguments, ints_or_int, one_line_errors, sizes

HELP = "say what an array in a file is, and what a call would give and cost"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="IN", help=".npy, .npz (or file.npz:name), .png, .jpg, .tif, .zarr or .nc")
    parser.add_argument(
        "--op", choices=("max", "min", "avg", "sum", "lp", "smooth_max", "median", "mode"), default="max"
    )
    parser.add_argument("--window", metavar="N,N", type=sizes, help="say also what pooling with it gives")
    add_window_arguments(parser)
    parser.add_argument("--axes", metavar="I,I", type=ints_or_int)
    parser.add_argument("--ceil-mode", action="store_true")
    parser.add_argument("--dtype")
    parser.add_argument("--var", metavar="NAME", help="of a netCDF file: the variable")


def run(arguments: argparse.Namespace) -> int:
    with one_line_errors():
        from ..files import formats

        if formats.is_netcdf(arguments.input):
            from ..files import netcdf

            for line in netcdf.describe(arguments.input, arguments.var):
                print(line)
            return 0
        source = formats.open_source(arguments.input)
        try:
            print(f"{arguments.input}: {source.format}")
            print(f"shape     {source.shape}" + (f"  {', '.join(source.dims)}" if source.dims else ""))
            print(f"dtype     {source.dtype}, {size(math.prod(source.shape) * source.dtype.itemsize)}")
            if arguments.window is not None:
                print_call(arguments, source)
        finally:
            source.close()
        return 0


def print_call(arguments: argparse.Namespace, source: object) -> None:
    from ..files.lazy import FileArray
    from ..files.streaming import BLOCK_BYTES, plan_blocks
    from .pool import call_of

    for name, value in (("nan", None), ("p", None), ("beta", None), ("count_exclude_pad", False)):
        setattr(arguments, name, value)
    function, options = call_of(arguments, source)
    pending = function(FileArray(source), **options)  # type: ignore[arg-type]
    reads = math.prod(source.shape) * source.dtype.itemsize  # type: ignore[attr-defined]
    writes = math.prod(pending.shape) * pending.dtype.itemsize
    chunks = getattr(source, "chunks", None) or tuple(1 for _ in pending.shape)
    blocks = plan_blocks(pending, tuple(max(1, min(c, n)) for c, n in zip(chunks, pending.shape, strict=True)))
    print(f"{arguments.op}_pool  gives shape {pending.shape} of {pending.dtype}")
    print(
        f"cost      reads {size(reads)}, writes {size(writes)}, in {len(blocks)} blocks of at most {size(BLOCK_BYTES)}"
    )


def size(number: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024 or unit == "TiB":
            break
        number /= 1024
    return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
