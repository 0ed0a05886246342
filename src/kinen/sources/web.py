"""Downloads one file that the user names, within limits of size, time and redirects.

A request goes only to an address that was checked: the name is resolved once, and the connection
is made to that address. A name that resolves to an address of this machine or of a private network
is refused, and so is a redirect to another host there: a web page must not make kinen read an
internal service.
Addresses that the user writes out (`http://localhost:8000/…`, `http://192.168.1.7/…`) are fetched.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from kinen.errors import QueryError, Unreadable
from kinen.extract.decode import suffix_of
from kinen.model.tuples import NamedTuple
from kinen.text import excerpt

SECONDS = 60.0
"""Seconds for the whole download."""
REDIRECTS = 5
LONGEST_NAME = 120
"""Characters of a file name that is taken from an address."""
_SUFFIXES = {
    "text/html": (".html", ".htm", ".xhtml"),
    "application/xhtml+xml": (".xhtml", ".html"),
    "text/plain": (),
    "text/markdown": (".md", ".markdown"),
    "application/pdf": (".pdf",),
    "application/epub+zip": (".epub",),
    "text/csv": (".csv",),
    "application/json": (".json",),
}
"""The suffixes of each type of content; the first is added to a name that has none of them."""


class Download(NamedTuple):
    """A file as it was received."""

    url: str
    """The address that answered, after redirects."""
    name: str
    data: bytes


def is_url(name: str) -> bool:
    """Whether a name is an address of the web and not a file."""
    return re.match(r"(?i)https?://", name) is not None


def download(url: str, most: int, seconds: float = SECONDS) -> Download:
    """Fetch a file of at most `most` bytes; raises Unreadable with the reason otherwise."""
    end = time.monotonic() + seconds
    named = _netloc(url)
    for _ in range(REDIRECTS + 1):
        address = _checked_address(url, _netloc(url) == named)
        try:
            answer = _get(url, address, most, end)
        except Unreadable:
            if time.monotonic() < end:
                raise
            fact = f"no complete answer of {_netloc(url)} in {seconds:g} s"
            raise Unreadable(fact, "try again later, or download it yourself") from None
        if isinstance(answer, Download):
            return answer
        url = urljoin(url, answer)
    raise Unreadable(f"more than {REDIRECTS} redirects", "give the address that they lead to")


def _checked_address(url: str, explicit: bool) -> str:
    """The IP address to connect to; raises if it must not be asked.

    `explicit` means that the user wrote this host, and no redirect did.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise QueryError(f"invalid address {url!r}", "use https://…") from None
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host:
        raise QueryError(f"cannot fetch {url!r}", "use an address with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise QueryError("the address has a user name or password", "remove it from the address")
    try:
        rows = socket.getaddrinfo(host, port or 443, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Unreadable(f"{host}: {error.strerror or error}", "check the address") from None
    addresses = [str(row[4][0]) for row in rows]
    if explicit and (host.lower() == "localhost" or _is_address(host)):
        return addresses[0]
    for address in addresses:
        if not ipaddress.ip_address(address.partition("%")[0]).is_global:
            raise Unreadable(
                f"{host} is at {address}, a private address",
                "download it yourself, then add the file",
            )
    return addresses[0]


def _netloc(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:  # an invalid address of IPv6, which is reported when it is checked
        return ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _get(url: str, address: str, most: int, end: float) -> Download | str:
    """The file at an address, or the target of a redirect; the connection is cut at the end."""
    import httpx

    target = httpx.URL(url).copy_with(host=address, fragment=None)
    host = httpx.URL(url).netloc.decode("ascii")
    seconds = max(0.1, end - time.monotonic())
    timer = threading.Timer(seconds, lambda: None)

    def trace(event: str, info: Mapping[str, Any]) -> None:
        """Cut the new connection in time: a timeout of httpx begins anew with every byte."""
        nonlocal timer
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            timer.cancel()
            connection = info["return_value"].get_extra_info("socket")
            timer = threading.Timer(max(0.0, end - time.monotonic()), _cut, (connection,))
            timer.daemon = True
            timer.start()

    try:
        with (
            httpx.Client(timeout=seconds, trust_env=False, follow_redirects=False) as client,
            client.stream(
                "GET",
                target,
                headers={"Host": host, "User-Agent": "kinen", "Accept-Encoding": "identity"},
                extensions={"sni_hostname": httpx.URL(url).host, "trace": trace},
            ) as response,
        ):
            if response.has_redirect_location:
                return response.headers["location"]
            if response.status_code != httpx.codes.OK:
                raise Unreadable(
                    f"{url} answers {response.status_code} {response.reason_phrase}".rstrip(),
                    "check the address",
                )
            data = bytearray()
            for piece in response.iter_raw():
                data += piece
                if len(data) > most:
                    raise Unreadable(
                        f"larger than {most >> 20} MB (index.max_file_mb)", "set a larger limit"
                    )
            if time.monotonic() > end:  # a body without a length ends where it is cut
                raise Unreadable("cut", "")
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
        raise Unreadable(f"{host}: {excerpt(str(error), 80)}", "check the address") from None
    finally:
        timer.cancel()
    return Download(url, file_name(url, kind), bytes(data))


def _cut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is closed already
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def file_name(url: str, kind: str) -> str:
    """The name for a file: the end of its address, with a suffix that fits its type."""
    parts = urlsplit(url)
    last = unquote(parts.path).rstrip("/").rpartition("/")[2] or (parts.hostname or "page")
    name = re.sub(r"[^\w.\- ]+", "-", last).strip(". -")[-LONGEST_NAME:] or "page"
    suffixes = _SUFFIXES.get(kind)
    if suffixes and suffix_of(name) not in suffixes:
        name += suffixes[0]
    if kind == "text/plain" and not suffix_of(name):
        name += ".txt"
    return name
