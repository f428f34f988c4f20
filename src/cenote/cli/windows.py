"""What ``pool`` and ``conv`` have in common: window flags as the functions take them, and the run from file to file."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from .advice import in_the_shell
from .errors import CommandError

Dict = dict[str, Any]


def add_io_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    parser.add_argument("--chunks", metavar="N,N", type=ints, help="chunks of OUT, if it is a zarr (default: as in IN)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="compute on a dask.distributed cluster (zarr to zarr)")
    parser.add_argument("--threads", metavar="N", type=thread_number, help="number of threads (default: all CPUs)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no summary")


def add_window_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stride",
        metavar="N,N",
        type=sizes,
        help="step between windows: an int, one per axis, or dim=N,… for netCDF (default: the window; 1 for filters)",
    )
    parser.add_argument(
        "--padding",
        metavar="N,N",
        type=padding,
        default=0,
        help="elements added at the ends of an axis: an int, one per axis, low:high pairs, valid or same (default: 0)",
    )
    parser.add_argument(
        "--dilation", metavar="N,N", type=sizes, default=1, help="spacing between the elements of a window (default: 1)"
    )


# ------------------------------------------------------------------------------------------------- flags


def positive(text: str) -> int:
    value = ints(text)[0] if "," not in text else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: one int of at least 1 is needed")
    return value


def thread_number(text: str) -> int:
    value = positive(text)
    if value > 1024:
        raise argparse.ArgumentTypeError(f"{text!r}: at most 1024 threads are possible")
    return value


def ints(text: str) -> tuple[int, ...]:
    """``2,3`` → (2, 3)"""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: ints with commas between them are needed, such as 2,3") from None


def sizes(text: str) -> Any:
    """``2`` → 2, ``2,3`` → (2, 3), ``lat=2,lon=3`` → {"lat": 2, "lon": 3}"""
    if "=" in text:
        return by_name(text, ints_or_int)
    return ints_or_int(text)


def ints_or_int(text: str) -> Any:
    found = ints(text)
    return found[0] if len(found) == 1 else found


def by_name(text: str, value: Callable[[str], Any]) -> Dict:
    out: Dict = {}
    for part in text.split(","):
        name, sign, number = part.partition("=")
        if not sign or not name:
            raise argparse.ArgumentTypeError(f"{text!r}: name=size with commas between them is needed")
        if name in out:
            raise argparse.ArgumentTypeError(f"{text!r}: {name} is there twice")
        out[name] = value(number)
    return out


def pad(text: str) -> Any:
    if ":" not in text:
        return ints(text)[0]
    low, _, high = text.partition(":")
    return (ints(low)[0], ints(high)[0])


def padding(text: str) -> Any:
    """``1`` · ``1,2`` · ``0:1,2:2`` · ``same`` · ``lat=1,lon=0:1``"""
    if re.fullmatch(r"[A-Za-z_]+", text):
        return text
    if "=" in text:
        return by_name(text, pad)
    parts = [pad(part) for part in text.split(",")]
    if any(isinstance(part, tuple) for part in parts):
        return tuple(part if isinstance(part, tuple) else (part, part) for part in parts)
    return parts[0] if len(parts) == 1 else tuple(parts)


# --------------------------------------------------------------------------------------------------- the run


@contextlib.contextmanager
def one_line_errors(source: str | None = None) -> Iterator[None]:
    """Whatever goes wrong with files, arguments or memory is one line for the user. ``source`` is the input file."""
    from ..files.base import FileError

    try:
        yield
    except FileError as error:
        raise CommandError(str(error)) from None
    except MemoryError as error:
        raise CommandError(f"out of memory: {error}" if str(error) else "out of memory") from None
    except BrokenPipeError:
        raise
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise CommandError(f"{place}{error.strerror or error}") from None
    except (TypeError, ValueError) as error:
        raise CommandError(in_the_shell(" ".join(str(error).split()), source)) from None
    except CommandError:
        raise
    except Exception as error:  # never a traceback, but in Python's development mode: python -X dev -m cenote …
        if sys.flags.dev_mode:
            raise
        raise CommandError(f"{type(error).__name__}: {' '.join(str(error).split())}") from None


def threads_of(arguments: argparse.Namespace) -> int:
    from ..runtime import get_num_threads

    return int(arguments.threads or get_num_threads())


@contextlib.contextmanager
def progress(total: int, unit_bytes: float, quiet: bool, what: str) -> Iterator[Callable[[object], None]]:
    """A bar with rate and time left on a terminal, nothing in a pipe."""
    if quiet or total <= 1 or not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        print("a progress bar needs tqdm: pip install 'cenote[cli]'", file=sys.stderr)
        yield lambda _: None
        return
    columns, lines = shutil.get_terminal_size()  # 80×24 where the terminal does not tell, for which tqdm draws nothing
    size = {"ncols": columns, "nrows": lines}
    with tqdm(total=int(total * unit_bytes), desc=what, unit="B", unit_scale=True, leave=False, **size) as bar:
        yield lambda _: bar.update(int(unit_bytes)) and None


def transformed(arguments: argparse.Namespace, source: Any, function: Callable[[Any], Any], what: str) -> None:
    """Compute a function of an open file into OUT, and say what was written."""
    from ..files.transform import transform

    result = transform(
        source,
        arguments.output,
        function,
        partial(progress, quiet=arguments.quiet, what=what),
        overwrite=arguments.overwrite,
        chunks=arguments.chunks,
        threads=threads_of(arguments),
        scheduler=arguments.scheduler,
    )
    written(arguments.output, result.shape, result.dtype, arguments.quiet)


def written(path: str, shape: tuple[int, ...], dtype: Any, quiet: bool) -> None:
    if not quiet:
        print(f"{path}: {'×'.join(map(str, shape)) or 'a number'} of {dtype}")


def same_file_checks(source: str, target: str, **others: str | None) -> None:
    """OUT is none of the files that are read: IN, and others by what they are."""
    from ..files.formats import check_apart

    for what, file in {"input": source, **others}.items():
        if file is not None:
            check_apart(file, target, what)
    if os.path.isdir(target) and not target.rstrip("/").endswith(".zarr") and ".zarr/" not in target:
        raise CommandError(f"{target} is a folder")
