"""The command ``cenote``.

Each command imports what it needs when it runs, so that ``cenote --help`` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import metadata
from pathlib import Path

# What a shell reports for a process that SIGINT or SIGPIPE has ended: 128 + the signal's number.
INTERRUPTED = 130
BROKEN_PIPE = 141


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="cenote", description="Pooling windows over NumPy arrays.")
    top.add_argument("--version", action="store_true", help="print the version and exit")
    commands = top.add_subparsers(dest="command", metavar="command")
    demo = commands.add_parser(
        "demo", help="pool a picture and a volume, check the results, show them and time them against NumPy"
    )
    demo.add_argument(
        "--out", type=Path, default=Path("."), metavar="DIR", help="where cenote-demo.png goes (default: here)"
    )
    demo.add_argument("--quick", action="store_true", help="less data and fewer rounds: about two seconds")
    commands.add_parser("config", help="show how cenote was built and what it uses on this machine")
    return top


def version() -> int:
    try:
        number = metadata.version("cenote")
    except metadata.PackageNotFoundError:
        # Run from a source tree: the number is part of the installed package only.
        print("cenote: not installed, so that its version is not known", file=sys.stderr)
        return 1
    print(f"cenote {number}")
    return 0


def demo(directory: Path, quick: bool) -> int:
    from .demo import run

    try:
        return run(directory, quick=quick)
    except OSError as error:
        # Without a file name it is not about the directory, such as a pipe that was closed.
        if error.filename is None:
            raise
        print(f"cenote demo: cannot write to {directory}: {error.strerror}", file=sys.stderr)
        return 2


def config() -> int:
    from .runtime import show_config

    show_config()
    return 0


def dispatch(arguments: argparse.Namespace, top: argparse.ArgumentParser) -> int:
    if arguments.version:
        return version()
    if arguments.command == "demo":
        return demo(arguments.out, arguments.quick)
    if arguments.command == "config":
        return config()
    top.print_help()
    return 0


def main(argv: list[str] | None = None) -> int:
    """Run the command line ``argv``, that of the process by default, and give its exit code."""
    top = parser()
    arguments = top.parse_args(argv)
    try:
        code = dispatch(arguments, top)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("cenote: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader is gone, as in ``cenote demo | head``. The interpreter flushes once more at its exit, and
        # would report the same error there: it gets somewhere to write to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return code


if __name__ == "__main__":
    sys.exit(main())
