"""``cenote pyramid``."""

from __future__ import annotations

import argparse
from functools import partial

from .windows import ints, ints_or_int, one_line_errors, positive, progress, same_file_checks, thread_number, threads_of

HELP = "make an OME-Zarr image pyramid of the array in a file"


def numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r}: numbers with commas between them are needed, such as 1,0.5"
        ) from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="IN", help=".npy, .npz (or file.npz:name), .png, .jpg, .tif or .zarr")
    parser.add_argument("output", metavar="OUT.zarr")
    parser.add_argument("--levels", metavar="N", type=positive, help="number of levels, the full resolution included")
    parser.add_argument(
        "--op",
        choices=("avg", "max", "min", "mode", "median"),
        default="avg",
        help="how a level is made from the one before (default: avg); mode is for labels",
    )
    parser.add_argument(
        "--window",
        metavar="N,N",
        type=ints_or_int,
        help="from one level to the next, in IN's order (default: 2 on z, y and x)",
    )
    parser.add_argument("--format", choices=("0.4", "0.5"), default="0.5", help="version of OME-Zarr (default: 0.5)")
    parser.add_argument("--axes", help="names of IN's axes in order, from t, c, z, y, x (default: zyx for a volume)")
    parser.add_argument("--pixel-size", metavar="S,S", type=numbers, help="one per axis, in IN's order (default: 1)")
    parser.add_argument("--unit", help="unit of the pixel size, such as micrometer")
    parser.add_argument(
        "--chunks", metavar="N,N", type=ints, help="chunks of every level, in OUT's order (default: as in IN)"
    )
    parser.add_argument("--resume", action="store_true", help="continue an interrupted run")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    parser.add_argument("--threads", metavar="N", type=thread_number, help="number of threads (default: all CPUs)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="compute on a dask.distributed cluster (zarr to zarr)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no summary")


def run(arguments: argparse.Namespace) -> int:
    with one_line_errors():
        from ..files.pyramid import Options, build

        same_file_checks(arguments.input, arguments.output)
        options = Options(
            arguments.input, arguments.levels, arguments.op, arguments.window, arguments.format, arguments.axes,
            arguments.pixel_size, arguments.unit, arguments.chunks,
        )  # fmt: skip
        shapes = build(
            options,
            arguments.output,
            partial(progress, quiet=arguments.quiet),
            threads=threads_of(arguments),
            resume=arguments.resume,
            overwrite=arguments.overwrite,
            scheduler=arguments.scheduler,
        )
        if not arguments.quiet:
            for level, shape in enumerate(shapes):
                print(f"{arguments.output}/{level}: {'×'.join(map(str, shape))}")
        return 0
