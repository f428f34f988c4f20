"""The server of the playground: this machine only, this session's address only, no files.

Whoever can open the address can make this process compute on small arrays, and nothing else. Three things keep other
people and other pages out: it listens on the loopback interface; every path begins with a random token; and the Host
and Origin of a request must be this server's own, so that a page of another site, whose name may resolve to this
machine (DNS rebinding), gets nothing.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import sys
import traceback
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from socketserver import TCPServer
from typing import Any

from .fields import fields_as_json

ADDRESS = "127.0.0.1"
NAMES = ("127.0.0.1", "localhost")
LONGEST_BODY = 256 * 1024
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address has the token
    "X-Content-Type-Options": "nosniff",
}
START_PAGE = "index.html"


def load_assets() -> dict[str, tuple[str, bytes]]:
    """The files of the page, read once: a request never reaches the file system."""
    out = {}
    for file in (resources.files(__package__) / "static").iterdir():
        suffix = "." + file.name.rpartition(".")[2]
        if suffix in TYPES:
            out[file.name] = (TYPES[suffix], file.read_bytes())
    out["fields.json"] = ("application/json", json.dumps(fields_as_json()).encode())
    return out


class Server(ThreadingHTTPServer):
    """Listens at once; ``serve_forever`` answers. Port 0 is any that is free."""

    daemon_threads = True  # a request that is being answered does not hold up the end
    allow_reuse_address = sys.platform != "win32"  # there it would share a port that another process has

    def __init__(self, port: int = 0) -> None:
        super().__init__((ADDRESS, port), Handler)
        self.token = secrets.token_urlsafe(24)
        self.assets = load_assets()
        self.hosts = {f"{name}:{self.server_port}" for name in NAMES}

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def server_bind(self) -> None:
        # HTTPServer's own asks the name server for the name of this machine.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that has ended, or said nothing for long, is no news."""


class Refused(Exception):
    """A request that is not answered with what it asks for."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 30  # of a connection on which nothing comes
    server_version = "cenote"
    sys_version = ""

    def do_GET(self) -> None:
        self.respond(self.asset)

    def do_POST(self) -> None:
        self.respond(self.computed)

    def respond(self, find: Any) -> None:
        try:
            self.check_sender()
            name = self.path_after_token()
            if name is None:  # the address without its last slash: what the page loads would not be found
                self.close_connection = True
                self.send(HTTPStatus.PERMANENT_REDIRECT, "text/plain", b"", Location=f"/{self.server.token}/")
                return
            kind, body = find(name)
            self.send(HTTPStatus.OK, kind, body)
        except Refused as refused:
            self.close_connection = True  # the body may be unread
            self.send_json(refused.status, {"error": str(refused)})
        except (ValueError, TypeError) as error:
            self.send_json(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        except (MemoryError, RecursionError) as error:
            self.send_json(HTTPStatus.BAD_REQUEST, {"error": f"too large to be computed: {type(error).__name__}"})
        except OSError:
            raise  # the browser is gone, or says nothing
        except Exception as error:  # a bug: the page says so, and the terminal where
            traceback.print_exc()
            message = f"a bug in cenote, {type(error).__name__}: {error}. The terminal has the traceback"
            self.send_json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": message})

    def check_sender(self) -> None:
        if self.headers.get("Host", "") not in self.server.hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "the playground answers under its own address only")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.server.hosts}:
            raise Refused(HTTPStatus.FORBIDDEN, "the playground does not answer other pages")
        if self.command == "POST" and self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            raise Refused(HTTPStatus.FORBIDDEN, "the playground does not answer other pages")

    def path_after_token(self) -> str | None:
        token, slash, name = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise Refused(HTTPStatus.NOT_FOUND, "open the whole address that `cenote playground` has printed")
        return name if slash else None

    def asset(self, name: str) -> tuple[str, bytes]:
        found = self.server.assets.get(name or START_PAGE)
        if found is None:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
        return found

    def computed(self, name: str) -> tuple[str, bytes]:
        if name not in ("explain", "svg"):
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
        if self.headers.get_content_type() != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the state is sent as application/json")
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "Content-Length is needed")
        if len(length) > 9 or int(length) > LONGEST_BODY:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {LONGEST_BODY} bytes are read")
        try:
            state = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise ValueError("the state is not JSON") from None
        from .answer import answer, svg  # when it is needed: the page is there before NumPy is

        if name == "svg":
            return TYPES[".svg"], svg(state).encode()
        return "application/json", json.dumps(answer(state), allow_nan=False).encode()

    def send_json(self, status: HTTPStatus, value: dict[str, Any]) -> None:
        self.send(status, "application/json", json.dumps(value).encode())

    def send(self, status: HTTPStatus, kind: str, body: bytes, **more: str) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, **more}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """For what the base class refuses itself: other methods, requests that are no HTTP."""
        self.close_connection = True
        self.send_json(HTTPStatus(code), {"error": message or HTTPStatus(code).phrase})

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is the user's, and the address has the token."""
