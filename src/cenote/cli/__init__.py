"""The command ``cenote``: one file for each subcommand.

A file has ``HELP``, ``add_arguments`` and ``run``, which returns the exit code or raises :class:`CommandError`. It
imports what it needs when it runs, so that ``cenote --help`` answers at once.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator
from typing import Protocol

from . import config, conv, demo, explain, info, playground, pool, pyramid
from .errors import CommandError
from .signals import stoppable

SIGNALLED = 128  # what a shell reports for a process that a signal has ended: this and the signal's number
BROKEN_PIPE = SIGNALLED + 13  # SIGPIPE, which not every system has


class Command(Protocol):
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int: ...


COMMANDS: dict[str, Command] = {
    "pool": pool, "conv": conv, "pyramid": pyramid, "info": info, "config": config, "demo": demo,
    "explain": explain, "playground": playground,
}  # fmt: skip


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cenote", description="Pooling and convolution on arrays.")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    subparsers = parser.add_subparsers(dest="command", metavar="command")
    for name, command in COMMANDS.items():
        command.add_arguments(subparsers.add_parser(name, help=command.HELP, description=command.HELP))
    return parser


def print_version() -> int:
    import cenote

    # Not argparse's own action, which would read the package metadata for every command.
    number = getattr(cenote, "__version__", None)
    if number is None:
        raise CommandError("there is no package metadata, so the version is unknown")
    print(f"cenote {number}")
    return 0


def run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    if arguments.version:
        return print_version()
    if arguments.command is None:
        parser.print_help()
        return 0
    return COMMANDS[arguments.command].run(arguments)


@contextlib.contextmanager
def without_logs(until_exit: bool) -> Iterator[None]:
    """An error is one line, also if several chunks of a zarr are torn: they are read side by side, and what becomes of
    the other reads is logged or printed when asyncio ends. Not in Python's development mode."""
    logger = logging.getLogger("asyncio")
    before = logger.level
    if not sys.flags.dev_mode:
        logger.setLevel(logging.CRITICAL + 1)
        if until_exit:
            sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        if not until_exit:
            logger.setLevel(before)


def main(argv: list[str] | None = None) -> int:
    """Run the command line ``argv``, by default that of the process, and return its exit code.

    0: done; 1: an error, in one line; 2: wrong usage (argparse exits by itself); 130: interrupted. After SIGTERM and
    SIGHUP, 143 and 129.
    """
    parser = build_parser()
    arguments = parser.parse_args(argv)
    name = " ".join(filter(None, ("cenote", arguments.command)))
    try:
        with stoppable(until_exit=argv is None), without_logs(until_exit=argv is None):
            code = run(parser, arguments)
            sys.stdout.flush()
    except CommandError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:
        number = getattr(stopped, "number", signal.SIGINT)
        print(f"{name}: {'interrupted' if number == signal.SIGINT else 'terminated'}", file=sys.stderr)
        return SIGNALLED + number
    except BrokenPipeError:
        # The reader is gone, as in ``cenote demo | head``. The interpreter flushes once more at exit, which would
        # report the same error: give it somewhere to write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return code
