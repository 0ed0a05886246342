"""Files of the web, fetched from a real server on loopback."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from kinen.errors import KinenError
from kinen.memory import Memory
from kinen.sources.web import download, file_name, is_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = b"<html><title>Kettles</title><body><h1>Kettles</h1><p>Descale it monthly.</p></body></html>"


class Site(BaseHTTPRequestHandler):
    """Pages by path."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/loop":
            self.redirect("/loop")
        elif path == "/moved":
            self.redirect("/kettles")
        elif path == "/inside":
            self.redirect(f"http://localhost:{self.server.server_address[1]}/kettles")
        elif path == "/elsewhere":
            self.redirect("file:///etc/hostname")
        elif path == "/nowhere":
            self.redirect("")
        elif path.startswith("/drip"):
            self.drip(body=path == "/drip-body")
        elif path == "/endless":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                return
        elif path == "/kettles":
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(PAGE)
        else:
            self.send_error(404)

    def redirect(self, target: str) -> None:
        self.send_response(302)
        if target:
            self.send_header("Location", target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def drip(self, *, body: bool) -> None:
        """Headers or a body without end, until the client hangs up."""
        self.send_response(200)
        if body:
            self.end_headers()
        self.flush_headers()
        with contextlib.suppress(OSError):
            while not time.sleep(0.05):
                self.wfile.write(b"X-More: x\r\n")

    def log_message(self, *_: Any) -> None:
        """Nothing on standard error."""


@pytest.fixture
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_page_becomes_a_file_that_is_found(space: Path, kinen, site: str) -> None:
    added = kinen("resources", "add", f"{site}/kettles", "--tag", "tea", "--note", "on scale")
    assert added.code == 0, added.err
    assert added.out == "added resources/docs/kettles.html\n"
    assert (space / "resources/docs/kettles.html").read_bytes() == PAGE
    assert f"on scale (from {site}/kettles)" in (space / "resources/.resources.yml").read_text()
    assert "kettles.html" in kinen("search", "--fulltext", "descale").out
    again = kinen("resources", "add", f"{site}/kettles", "--tag", "tea", "--note", "on scale")
    assert again.code == 0, again.err


def test_a_resource_is_removed_with_its_entry(space: Path, kinen, site: str) -> None:
    (space / "other.txt").write_text("Tea is hot.\n")
    assert kinen("resources", "add", "other.txt", "--note", "stays").code == 0
    assert kinen("resources", "add", f"{site}/kettles").code == 0
    removed = kinen("resources", "remove", "kettles.html")
    assert (removed.code, removed.out) == (0, "removed resources/docs/kettles.html\n")
    assert not (space / "resources/docs/kettles.html").exists()
    manifest = (space / "resources/.resources.yml").read_text()
    assert "kettles" not in manifest
    assert "stays" in manifest
    assert kinen("search", "--fulltext", "descale").code == 1
    assert kinen("resources", "remove", "kettles.html").code == 2
    assert kinen("resources", "remove", "../other.txt").code == 2
    assert (space / "other.txt").exists()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/missing", "404"),
        ("/loop", "redirects"),
        ("/inside", "private address"),
        ("/elsewhere", "http:// or https://"),
    ],
)
def test_what_cannot_be_fetched_says_why(site: str, path: str, message: str) -> None:
    with pytest.raises(KinenError, match=message):
        download(site + path, 1 << 20)


def test_a_redirect_on_the_host_that_the_user_named_is_followed(site: str) -> None:
    page = download(f"{site}/moved", 1 << 20)
    assert (page.url, page.name, page.data) == (f"{site}/kettles", "kettles.html", PAGE)


def test_size_and_time_are_limited(site: str) -> None:
    with pytest.raises(KinenError, match="larger than 1 MB"):
        download(f"{site}/endless", 1 << 20)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(KinenError, match="no complete answer"):
            download(f"http://127.0.0.1:{port}/", 1 << 20, seconds=0.3)


@pytest.mark.parametrize("path", ["/drip-headers", "/drip-body"])
def test_an_answer_that_drips_is_cut_at_the_end_of_the_time(site: str, path: str) -> None:
    with pytest.raises(KinenError, match=r"no complete answer of 127\.0\.0\.1:\d+ in 0\.5 s"):
        download(site + path, 1 << 20, seconds=0.5)


def test_a_redirect_to_nowhere_is_an_answer_that_says_so(space: Path, kinen, site: str) -> None:
    added = kinen("resources", "add", f"{site}/nowhere")
    assert added.code == 2
    assert "answers 302" in added.err
    assert "bug" not in added.err


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://me:secret@127.0.0.1/x", "user name or password"),
        ("http://", "cannot fetch"),
        ("http://[::1/x", "invalid address"),
        ("http://127.0.0.1:99999/", "invalid address"),
        ("ftp://example.com/x", "cannot fetch"),
    ],
)
def test_addresses_that_are_not_asked(url: str, message: str) -> None:
    with pytest.raises(KinenError, match=message):
        download(url, 1 << 20)


def test_a_name_of_a_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    row = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.7", 443))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [row])
    with pytest.raises(KinenError, match=r"10\.0\.0\.7, a private address"):
        download("https://docs.example.com/", 1 << 20)


def test_names_fit_the_type() -> None:
    assert file_name("https://arxiv.org/pdf/1706.03762", "application/pdf") == "1706.03762.pdf"
    assert file_name("https://example.com/", "text/html") == "example.com.html"
    assert file_name("https://example.com/a/guide.html", "text/html") == "guide.html"
    assert file_name("https://example.com/..%2f..%2fetc%2fpasswd", "text/plain") == "passwd.txt"
    assert is_url("HTTPS://example.com/") and not is_url("notes/https.md")


def test_python_adds_and_removes(space: Path, site: str) -> None:
    with Memory.open(space) as memory:
        record = memory.worklog.add_resource(f"{site}/kettles")
        assert record.title == "Kettles"
        assert memory.worklog.remove_resource("docs/kettles.html") == record.path
