"""The server of the playground: what it answers, and whom it does not answer."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest

from cenote import cli
from cenote.playground import server as module
from cenote.playground.server import LONGEST_BODY, Server, load_assets

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


class Reply:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def error(self) -> str:
        assert self.headers["Content-Type"] == "application/json"
        found: str = json.loads(self.body)["error"]
        return found


def ask(server: Server, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path.replace("TOKEN", server.token), body, named)
        return Reply(connection.getresponse())


def explain(server: Server, state: Any, **headers: str) -> Reply:
    return ask(server, "POST", "/TOKEN/explain", json.dumps(state).encode(), **{**JSON, **headers})


# ---------------------------------------------------------------------------------------------------- the page


def test_the_page_and_all_that_it_loads(server: Server) -> None:
    page = ask(server, "GET", "/TOKEN/")
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    text = page.body.decode()
    found = set(re.findall(r'(?:src|href)="([^"]+)"', text))
    for name in list(found):
        if name.endswith(".js"):
            found |= {
                part[2:] for part in re.findall(r'from "([^"]+)"', ask(server, "GET", f"/TOKEN/{name}").body.decode())
            }
    assert {"main.js", "grid.js", "style.css", "icon.svg"} <= found
    for name in found:
        assert ask(server, "GET", f"/TOKEN/{name}").status == 200, name
    assert ask(server, "GET", "/TOKEN/?from=mail").status == 200


def test_nothing_on_the_page_comes_from_elsewhere() -> None:
    for name, (_, body) in load_assets().items():
        addresses = re.findall(r"https?://[^\s\"'<)]+", body.decode())
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}, name


def test_the_files_are_small_and_one_idea_each() -> None:
    assets = load_assets()
    assert sum(len(body) for _, body in assets.values()) < 100_000
    for name, (_, body) in assets.items():
        assert len(body.decode().splitlines()) <= 400, name


def test_headers_forbid_what_the_page_does_not_need(server: Server) -> None:
    headers = ask(server, "GET", "/TOKEN/").headers
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "Python" not in headers["Server"]
    assert "Access-Control-Allow-Origin" not in headers


def test_an_answer(server: Server) -> None:
    reply = explain(server, {"op": "max_pool", "shape": "4", "window": "2", "x": "1:nan"})
    assert reply.status == 200
    found = json.loads(reply.body)
    assert found["y"]["values"][0] == "NaN"
    assert found["call"] == "cn.max_pool(x, (2,))"


def test_a_picture(server: Server) -> None:
    state = {"op": "avg_pool", "pin": "y.1.0", "view": "gradient"}
    reply = ask(server, "POST", "/TOKEN/svg", json.dumps(state).encode(), **JSON)
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "image/svg+xml"
    assert reply.body.startswith(b"<svg") or b"<svg" in reply.body[:200]
    wrong = ask(server, "POST", "/TOKEN/svg", json.dumps({**state, "pin": "y.9.9"}).encode(), **JSON)
    assert (wrong.status, "no index of an output" in wrong.error) == (400, True)


# --------------------------------------------------------------------------------------------------- who is let in


def test_it_listens_on_this_machine_only(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_tokens_are_long_and_new_every_time() -> None:
    with Server() as one, Server() as other:
        assert one.token != other.token
        assert len(one.token) >= 32


@pytest.mark.parametrize("path", ["/", "/TOKENx/", "/x/", "/favicon.ico", "/x/TOKEN/", "/static/main.js", "TOKENx"])
def test_without_the_token_there_is_nothing(server: Server, path: str) -> None:
    for method in ("GET", "POST"):
        reply = ask(server, method, path, b"{}", **JSON)
        assert reply.status == 404
        assert reply.error == "open the whole address that `cenote playground` has printed"
        assert server.token.encode() not in reply.body


def test_the_last_slash_is_added(server: Server) -> None:
    reply = ask(server, "GET", "/TOKEN")
    assert (reply.status, reply.headers["Location"]) == (308, f"/{server.token}/")


@pytest.mark.parametrize(
    "name",
    ["..", "../server.py", "%2e%2e/server.py", "static/main.js", "/etc/passwd", "answer.py", "explain", "main.js/"],
)
def test_there_are_no_files_but_those_of_the_page(server: Server, name: str) -> None:
    reply = ask(server, "GET", f"/TOKEN/{name}")
    assert (reply.status, reply.error) == (404, "there is no such page")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "localhost"])
def test_another_host_name_is_refused(server: Server, host: str) -> None:
    """DNS rebinding: a name of theirs that resolves to this machine."""
    for method, path in (("GET", "/TOKEN/"), ("POST", "/TOKEN/explain")):
        reply = ask(server, method, path, b"{}", Host=host.format(port=server.server_port), **JSON)
        assert (reply.status, reply.error) == (403, "the playground answers under its own address only")


def test_localhost_is_a_name_of_this_machine(server: Server) -> None:
    assert ask(server, "GET", "/TOKEN/", Host=f"localhost:{server.server_port}").status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_other_pages_are_refused(server: Server, origin: str) -> None:
    reply = explain(server, {}, Origin=origin.format(port=server.server_port))
    assert (reply.status, reply.error) == (403, "the playground does not answer other pages")
    assert explain(server, {}, Origin=f"http://127.0.0.1:{server.server_port}").status == 200
    assert explain(server, {}, Sec_Fetch_Site="cross-site").status == 403


# ---------------------------------------------------------------------------------------------------- bad requests


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the state is not JSON"),
        (b"{", "the state is not JSON"),
        (b"[" * 100_000, "the state is not JSON"),
        (b"\xff\xfe", "the state is not JSON"),
        (b"[]", "the state is a JSON object of texts"),
        (b'{"shape": [4, 4]}', "the state is a JSON object of texts"),
        (b'{"op": "tidy_pool"}', "op='tidy_pool': one of max_pool, min_pool,"),
        (b'{"colour": "red"}', "'colour': max_pool has no such parameter"),
    ],
    ids=range(8),
)
def test_bad_bodies(server: Server, body: bytes, message: str) -> None:
    reply = ask(server, "POST", "/TOKEN/explain", body, **JSON)
    assert reply.status == 400
    assert reply.error.startswith(message)


def test_other_methods_types_and_sizes(server: Server) -> None:
    assert ask(server, "PUT", "/TOKEN/explain", b"{}", **JSON).status == 501
    assert ask(server, "POST", "/TOKEN/explain", b"{}", Content_Type="text/plain").status == 415
    assert ask(server, "POST", "/TOKEN/other", b"{}", **JSON).status == 404
    assert ask(server, "POST", "/TOKEN/explain", b"{}", Content_Length="many", **JSON).status == 411
    assert ask(server, "POST", "/TOKEN/explain", b"{}", Content_Length=str(LONGEST_BODY + 1), **JSON).status == 413
    assert ask(server, "POST", "/TOKEN/explain", b"{}", Content_Length="9" * 5000, **JSON).status == 413
    assert explain(server, {}).status == 200


def test_no_http_is_answered_and_forgotten(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(b"hello\r\n\r\n")
        assert b"error" in connection.recv(4096)
    assert explain(server, {}).status == 200
    assert capfd.readouterr().err == ""


def test_a_bug_is_reported(server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(state: object) -> None:
        raise KeyError("window")

    monkeypatch.setattr("cenote.playground.answer.answer", broken)
    reply = explain(server, {})
    assert (reply.status, reply.error) == (500, "a bug in cenote, KeyError: 'window'. The terminal has the traceback")
    assert "in broken" in capsys.readouterr().err


def test_many_at_once(server: Server) -> None:
    """Two tabs, each with its own state: the server keeps none."""
    replies: dict[int, Any] = {}

    def tab(n: int) -> None:
        for _ in range(4):
            replies[n] = json.loads(explain(server, {"shape": f"{n},{n}", "window": "1,1"}).body)["y"]["shape"]

    threads = [threading.Thread(target=tab, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == {n: [n, n] for n in range(1, 9)}


# ----------------------------------------------------------------------------------------------------- the command


def test_a_taken_port_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert cli.main(["playground", "--no-browser", "--port", str(port)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"cenote playground: cannot listen on 127.0.0.1:{port}: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize("port", ["65536", "-1", "many", "8.5"])
def test_a_port_that_is_none(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["playground", "--port", port])
    assert ended.value.code == 2
    assert "a number from 0 to 65535 is needed" in capsys.readouterr().err or port == "-1"


@pytest.mark.parametrize("options", [[], ["--no-browser"]])
def test_the_browser_is_opened_unless_told_otherwise(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import webbrowser

    opened: list[str] = []
    done = threading.Event()

    def open_page(url: str) -> None:
        opened.append(url)
        done.set()

    monkeypatch.setattr(webbrowser, "open", open_page)
    monkeypatch.setattr(module.Server, "serve_forever", lambda self: done.wait(0 if options else 10))
    assert cli.main(["playground", *options]) == 0
    url = capsys.readouterr().out.splitlines()[0]
    assert opened == ([] if options else [url])
    parts = urllib.parse.urlsplit(url)
    assert (parts.scheme, parts.hostname, parts.query) == ("http", "127.0.0.1", "")


@pytest.mark.parametrize(
    ("link", "state"),
    [
        ("http://127.0.0.1:1234/other/#op=avg_pool&padding=0:1,2:2", "#op=avg_pool&padding=0:1,2:2"),
        ("#op=conv", "#op=conv"),
        ("op=conv&x=0.0:%2B1", "#op=conv&x=0.0:%2B1"),
        ("http://127.0.0.1:1234/other/#", ""),
    ],
)
def test_a_link_of_another_session(
    link: str, state: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module.Server, "serve_forever", lambda self: None)
    assert cli.main(["playground", "--no-browser", link]) == 0
    url = capsys.readouterr().out.splitlines()[0]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/" + re.escape(state), url)


@pytest.mark.parametrize(
    "link", ["http://127.0.0.1:1234/other/", "max_pool", "#op=a b", "#op=\x1b[31m", "#op=/etc", "#ö=1"]
)
def test_a_link_that_is_none(link: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["playground", "--no-browser", link]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"cenote playground: LINK={link!r} is no link of the playground")
    assert error.count("\n") == 1


def test_ctrl_c_ends_it() -> None:
    start = """
import signal, sys
from cenote.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main())
"""
    command = [sys.executable, "-c", start, "playground", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        parts = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=30)
        connection.request("GET", parts.path)
        assert connection.getresponse().status == 200  # and the connection stays open
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
        connection.close()
    assert (process.returncode, error) == (130, "cenote playground: interrupted\n")
