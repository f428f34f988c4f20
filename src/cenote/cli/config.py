"""``cenote config``."""

from __future__ import annotations

import argparse

HELP = "show how cenote was built and what it uses on this machine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(arguments: argparse.Namespace) -> int:
    from ..runtime import show_config

    show_config()
    return 0
