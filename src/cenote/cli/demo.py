"""``cenote demo``."""

from __future__ import annotations

import argparse
from pathlib import Path

from .errors import CommandError

HELP = "pool an image and a volume, check the results, show them and time them against NumPy"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=Path("."), metavar="DIR", help="where cenote-demo.png goes (default: here)"
    )
    parser.add_argument("--quick", action="store_true", help="less data and fewer rounds: about two seconds")


def run(arguments: argparse.Namespace) -> int:
    from ..demo import run as demo

    try:
        return demo.run(arguments.out, quick=arguments.quick)
    except OSError as error:
        # Without a file name it is not about the directory: a closed pipe, for example.
        if error.filename is None:
            raise
        raise CommandError(f"cannot write to {arguments.out}: {error.strerror}") from error
