"""A door on loopback: where it listens, and the token that opens it."""

from __future__ import annotations

import os
import stat

from kinen.errors import ConfigError, KinenError
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

HOST = "127.0.0.1"


def listening(port: int) -> socket.socket:
    """A socket on loopback; with 0, on any port that is free."""
    import socket

    door = socket.socket()
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(os.name != "nt"))
        door.bind((HOST, port))
    except (OSError, OverflowError) as error:
        door.close()
        said = getattr(error, "strerror", "") or str(error)
        raise KinenError(f"port {port}: {said}", "choose another by --port") from error
    return door


def token(path: str) -> str:
    """The secret that clients show, made if there is none; only its owner may read it."""
    import secrets

    private.folder(os.path.dirname(path))
    try:
        with open(path, "x", encoding="ascii", opener=private.opener) as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    except FileExistsError:
        pass
    info = os.lstat(path)
    if os.name != "nt" and stat.S_ISREG(info.st_mode) and info.st_mode & private.OTHERS:
        raise ConfigError(f"others may read {path}", "remove it: a new token is made")
    secret = private.read(path).decode("utf-8", "replace").strip()
    if len(secret) < 16 or not secret.isascii():
        raise ConfigError(f"no token in {path}", "remove it: a new one is made")
    return secret
