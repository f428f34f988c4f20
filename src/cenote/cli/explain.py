"""``cenote explain``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .advice import in_the_shell
from .errors import CommandError
from .windows import add_window_arguments, ints, ints_or_int, one_line_errors, positive, sizes

HELP = "draw what the windows of a call see, choose and give, and say why the result has its size"


def floats(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r}: numbers with commas between them are needed, such as 1,0.5"
        ) from None


def float_or_none(text: str) -> float | None:
    try:
        return None if text == "none" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: a number or none is needed") from None


REDUCERS = ("add", "multiply", "maximum", "minimum", "logaddexp")
# Flags of single functions: the argument, and how its text is read.
OPTIONS: dict[str, dict[str, Any]] = {
    "nan": {"choices": ("propagate", "omit"), "help": "whether NaN propagates (default) or is left out"},
    "ties": {"choices": ("first", "split"), "help": "for max and min: which of equal elements get the gradient"},
    "dtype": {"help": "dtype of the result, to which it is rounded, for functions that take one"},
    "divisor": {"type": float, "help": "for avg: the divisor"},
    "p": {"type": float, "help": "for lp: order of the norm (default: 2)"},
    "beta": {"type": float, "help": "for smooth_max: sharpness (default: 1)"},
    "groups": {"type": positive, "help": "for conv and conv_transpose: number of groups of channels"},
    "layout": {"choices": ("channels_last", "channels_first"), "help": "for conv and conv_transpose"},
    "bias": {"metavar": "B,B", "type": floats, "help": "for conv and conv_transpose: one for each output channel"},
    "output-padding": {"metavar": "N,N", "type": ints_or_int, "help": "for conv_transpose: elements added at the end"},
    "output-shape": {"metavar": "N,N", "type": ints, "help": "for conv_transpose: spatial sizes of the result"},
    "init": {"type": float, "help": "for pool: what the fold starts from"},
    "reduce-fn": {"choices": REDUCERS, "help": "for pool: the NumPy function that is folded over a window"},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("op", metavar="OP", help="max, avg, adaptive_max, conv, … or the full name of a function")
    parser.add_argument("--shape", metavar="N,N", type=ints, help="shape of the input, which gets example data")
    parser.add_argument("--input", metavar="IN", help="a file with the input instead, as in cenote pool")
    parser.add_argument("--window", metavar="N,N", type=sizes, help="window size on each axis")
    parser.add_argument("--output-size", metavar="N,N", type=ints_or_int, help="for adaptive pooling: number of bins")
    parser.add_argument("--filter", metavar="N,N", type=ints, help="for conv and conv_transpose: the shape of w")
    add_window_arguments(parser)
    parser.set_defaults(padding=None, dilation=None)
    parser.add_argument(
        "--axes", metavar="I,I", type=ints_or_int, help="axes that the window applies to (default: the last ones)"
    )
    parser.add_argument("--ceil-mode", action="store_true", help="keep the partial windows at the end of each axis")
    parser.add_argument("--count-exclude-pad", action="store_true", help="for avg: do not count padding in the divisor")
    for name, options in OPTIONS.items():
        parser.add_argument(f"--{name}", **options)
    # None is a value of it: it leaves padding out.
    parser.add_argument(
        "--pad-value",
        metavar="V",
        type=float_or_none,
        default=argparse.SUPPRESS,
        help="for smooth_max: what padding counts as, or none (default: 0)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help=".svg, .png or .html (default: text on the terminal)")
    parser.add_argument("--html", action="store_true", help="a page with all windows, to FILE or to the terminal")
    parser.add_argument("--animate", action="store_true", help="an SVG that shows one window after the other")
    parser.add_argument("--at", metavar="I,I", type=ints, help="index of the output whose window is drawn")
    parser.add_argument("--gradient", action="store_true", help="draw where the gradient goes")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")


def run(arguments: argparse.Namespace) -> int:
    with one_line_errors(arguments.input):
        if arguments.html and arguments.animate:
            raise CommandError("one of --html and --animate is needed, not both")
        explanation = explained(arguments)
        view = "gradient" if arguments.gradient else "values"
        window = window_of(arguments, explanation)
        if arguments.output is None:
            if arguments.animate:
                raise CommandError("--animate needs -o FILE.svg")
            text = (explanation.html if arguments.html else explanation.draw)(window, view)
            print(text if arguments.html else described(text, arguments))
            return 0
        from ..files.atomic import replacing

        path = Path(arguments.output)
        for flag, ending in (("html", ".html"), ("animate", ".svg")):
            if getattr(arguments, flag) and path.suffix.lower() != ending:
                raise CommandError(f"--{flag} -o {path}: a name that ends in {ending} is needed")
        if path.suffix.lower() not in (".svg", ".png", ".html"):
            raise CommandError(f"-o {path}: a name that ends in .svg, .html or .png is needed")
        with replacing(path, arguments.overwrite) as temporary:
            if arguments.animate:
                explanation.animate(temporary, view=view)
            else:
                explanation.save(temporary, window, view)
        print(described(explanation.text, arguments))
        print(f"drawn in {path}")
        return 0


def described(text: str, arguments: argparse.Namespace) -> str:
    """The text of an explanation, with an advised call as a command."""
    return "\n".join(in_the_shell(line, arguments.input) for line in text.split("\n"))


def window_of(arguments: argparse.Namespace, explanation: Any) -> Any:
    """The output whose window is drawn: the first one, unless there is ``--at``."""
    at, y = arguments.at, explanation.y
    if at is None or y is None:
        return 0
    if len(at) != y.ndim or not all(-n <= i < n for i, n in zip(at, y.shape, strict=True)):
        given = ",".join(map(str, at))
        if not y.size:
            raise CommandError(f"--at {given}: the result has shape {y.shape}, without any output")
        last = ",".join(str(n - 1) for n in y.shape)
        raise CommandError(
            f"--at {given}: the result has shape {y.shape}, with outputs from {','.join(['0'] * y.ndim)} to {last}"
        )
    return at


def explained(arguments: argparse.Namespace) -> Any:
    """The explanation of the call that the flags describe."""
    import cenote

    given: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in ("stride", "padding", "dilation", "axes", *(option.replace("-", "_") for option in OPTIONS))
        if getattr(arguments, name) is not None
    }
    if "reduce_fn" in given:
        import numpy as np

        given["reduce_fn"] = getattr(np, given["reduce_fn"])
    if "pad_value" in arguments:
        given["pad_value"] = arguments.pad_value
    if arguments.op == "pool" and not {"init", "reduce_fn"} <= given.keys():
        raise CommandError("--init and --reduce-fn are needed")
    if arguments.ceil_mode:
        given["ceil_mode"] = True
    if arguments.count_exclude_pad:
        given["count_include_pad"] = False
    for name, value in {"window": arguments.window, **given}.items():
        if isinstance(value, dict):
            raise CommandError(f"--{name} by name is for netCDF files")
    x = data_of(arguments)
    seconds = [value for value in (arguments.window, arguments.output_size, arguments.filter) if value is not None]
    if len(seconds) > 1:
        raise CommandError("one of --window, --output-size and --filter is needed, not several")
    second = seconds[0] if seconds else None
    rank = len(x) if isinstance(x, tuple) else x.ndim
    if isinstance(second, int) and arguments.axes is None:
        if rank != 1:
            flag = "--window" if arguments.window is not None else "--output-size"
            example = ",".join([str(second)] * max(rank, 2))
            raise CommandError(f"{flag} {second}: give one size for each axis, such as {example}, or name the --axes")
        second = (second,)
    if second is None and not arguments.op.startswith("global"):
        need = "--filter" if arguments.op.startswith("conv") else "--window"
        raise CommandError(
            f"{need} is needed" if not arguments.op.startswith("adaptive") else "--output-size is needed"
        )
    if second is not None and arguments.op.startswith("global"):
        raise CommandError(f"{arguments.op} takes all of an axis: name the --axes instead of a window")
    return cenote.explain(arguments.op, x, second, **given)


def data_of(arguments: argparse.Namespace) -> Any:
    if (arguments.shape is None) == (arguments.input is None):
        raise CommandError("one of --shape and --input is needed")
    if arguments.input is None:
        return arguments.shape
    from .conv import whole_array

    return whole_array(arguments.input)
