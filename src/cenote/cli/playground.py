"""``cenote playground``."""

from __future__ import annotations

import argparse

from .errors import CommandError

HELP = "open a page in the browser that takes a call apart: windows, formulas, gradients, equivalents"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "link", nargs="?", default="", metavar="LINK", help="show the state of this link, or of what follows its #"
    )
    parser.add_argument("--port", type=port, default=0, metavar="N", help="port to listen on (default: any free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")


def port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 65536):
        raise argparse.ArgumentTypeError(f"{text!r}: a number from 0 to 65535 is needed")
    return int(text)


def state_of(link: str) -> str:
    """``#op=max_pool`` of a link to another server, whose port and token were others."""
    state = link.partition("#")[2] if "#" in link else link
    if not state:
        return ""
    if "=" not in state or "/" in state or not state.isascii() or not state.isprintable() or " " in state:
        raise CommandError(f"LINK={link!r} is no link of the playground: it has a # and then names with = and values")
    return f"#{state}"


def run(arguments: argparse.Namespace) -> int:
    import threading
    import webbrowser

    from ..playground.server import ADDRESS, Server

    state = state_of(arguments.link)
    try:
        server = Server(arguments.port)
    except OSError as error:
        raise CommandError(f"cannot listen on {ADDRESS}:{arguments.port}: {error.strerror}") from None
    with server:
        url = server.url + state
        print(f"{url}\nCtrl-C ends the playground.", flush=True)
        if not arguments.no_browser:
            # On a thread: a browser in the terminal would hold up the server that it asks.
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        server.serve_forever()
    return 0
