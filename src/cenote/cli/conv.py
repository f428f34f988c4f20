"""``cenote conv``."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

from .errors import CommandError
from .windows import (
    add_io_arguments,
    add_window_arguments,
    one_line_errors,
    positive,
    same_file_checks,
    transformed,
)

HELP = "convolve the array in a file with the filters in another, part by part"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="IN", help=".npy, .npz (or file.npz:name), .png, .jpg, .tif or .zarr")
    parser.add_argument(
        "filter", metavar="FILTER", help="a .npy file: (*k, C/groups, O), or (O, C/groups, *k) channels first"
    )
    parser.add_argument("output", metavar="OUT", help=".npy, .npz, .png, .tif or .zarr")
    add_window_arguments(parser)
    parser.add_argument("--bias", metavar="FILE.npy", help="one number per output channel")
    parser.add_argument("--groups", type=positive, default=1, help="number of groups of channels (default: 1)")
    parser.add_argument(
        "--layout",
        choices=("channels_last", "channels_first"),
        default="channels_last",
        help="position of the channel axis (default: channels_last)",
    )
    parser.add_argument("--dtype", help="dtype of the result")
    add_io_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    with one_line_errors():
        import cenote

        from ..files import formats

        same_file_checks(arguments.input, arguments.output, filter=arguments.filter, bias=arguments.bias)
        if formats.is_netcdf(arguments.input) or formats.is_netcdf(arguments.output):
            raise CommandError("conv does not read or write netCDF: a filter's channel axes have no names there")
        options: dict[str, Any] = {
            name: getattr(arguments, name) for name in ("padding", "dilation", "groups", "layout", "dtype")
        }
        options["stride"] = 1 if arguments.stride is None else arguments.stride
        for name in ("stride", "padding", "dilation"):
            if isinstance(options[name], dict):
                raise CommandError(f"--{name} by name is for netCDF files")
        w = whole_array(arguments.filter)
        options["bias"] = None if arguments.bias is None else whole_array(arguments.bias)
        with closing(formats.open_source(arguments.input)) as source:
            transformed(arguments, source, lambda x: cenote.conv(x, w, **options), "conv")
        return 0


def whole_array(text: str) -> Any:
    from ..files.base import whole
    from ..files.formats import open_source

    with closing(open_source(text)) as source:
        return source.read(whole(source.shape)).copy()
