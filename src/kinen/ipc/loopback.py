"""A server socket on loopback, the token that its clients need, and addresses of services."""

from __future__ import annotations

import os
import stat
from urllib.parse import urlsplit

from kinen.errors import ConfigError, KinenError
from kinen.ipc.client import HOST
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

LOOPBACK = (HOST, "::1", "localhost")
USUAL_PORT = 7335
"""The port of `kinen serve` and `kinen web`, unless another is chosen or it is in use."""


def listen(port: int) -> socket.socket:
    """A socket bound on loopback; port 0 means any free port."""
    import socket

    server = socket.socket()
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(os.name != "nt"))
        # Or the body of an answer waits 40 ms until its head is acknowledged.
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.bind((HOST, port))
    except (OSError, OverflowError) as error:
        server.close()
        reason = getattr(error, "strerror", "") or str(error)
        raise KinenError(f"{port}: {reason}", "choose another", parameter="port") from error
    return server


def token(path: str) -> str:
    """The secret that clients send, created if there is none; only its owner may read it."""
    import secrets

    private.folder(os.path.dirname(path))
    try:
        with open(path, "x", encoding="ascii", opener=private.opener) as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    except FileExistsError:
        pass
    info = os.lstat(path)
    if os.name != "nt" and stat.S_ISREG(info.st_mode) and info.st_mode & private.OTHERS:
        raise ConfigError(f"other users can read {path}", "delete it: a new token is created")
    secret = private.read(path).decode("utf-8", "replace").strip()
    if len(secret) < 16 or not secret.isascii():
        raise ConfigError(f"no token in {path}", "delete it: a new one is created")
    return secret


def is_local(url: str) -> bool:
    """Whether a service is on this machine, and is reached without a proxy."""
    return urlsplit(url).hostname in LOOPBACK


def with_version(url: str, resource: str) -> str:
    """The base address of a service that speaks OpenAI's protocol.

    `resource` is removed from its end, and `/v1` is added if there is no version.
    """
    base = url.rstrip("/").removesuffix(resource)
    segments = urlsplit(base).path.split("/")
    versioned = any(part[:1] == "v" and part[1:2].isdigit() for part in segments)
    return base if versioned else f"{base}/v1"
