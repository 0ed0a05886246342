"""A client of the daemon for processes that have to start fast: one request over its socket.

If no daemon answers soon, the caller does the work itself, with the same result. HTTP is written by
hand because `socket` and `http.client` take longer to import than the request itself.
"""

from __future__ import annotations

import os
import sys

from kinen.paths import DAEMON_LOCK
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

SOCKET = "daemon.sock"
PORT = "daemon.port"
STARTED = "daemon.started"
LOG = "daemon.log"
HOST = "127.0.0.1"
LONGEST = 100
"""Bytes of a socket's path: systems allow little more. With a longer one, loopback is used."""
SIGN = 0.15
"""Seconds to wait for the daemon's first byte; it usually takes less than a millisecond.

`KINEN_SIGN_MS` raises it for slow machines."""
ANSWER = 10.0
"""Seconds to wait for the rest of the answer."""
PAUSE = 10.0
"""Seconds between two attempts to start one."""
SECTIONS = ("INDEX", "SEARCH", "RECALL", "PRIVACY", "GIT", "DISTILL", "CONSOLIDATION", "SPACE")
"""Sections of the configuration that answers depend on, and a process may have its own of."""


class Answer:
    """A response of the daemon."""

    __slots__ = ("body", "code", "headers")

    def __init__(self, code: int, headers: dict[str, str], body: bytes) -> None:
        self.code = code
        self.headers = headers
        self.body = body


def own_settings(env: Mapping[str, str]) -> list[str]:
    """Variables that give this process other settings than the daemon has."""
    heads = tuple(f"KINEN_{section}_" for section in SECTIONS)
    return [name for name in env if name.startswith(heads)]


def ask(
    home: str,
    line: str,
    body: Any = None,
    *,
    space: str = "",
    accept: str = "application/json",
    sign: float = 0.0,
    wait: float = ANSWER,
) -> Answer | None:
    """The daemon's answer to a request (`GET /v1/health`); None if it does not answer in time."""
    if not sign:
        sign = usual_sign()
        wait = max(wait, sign)
    try:
        connection, host, token = _connect(home, sign)
    except (OSError, ValueError):
        return None
    from kinen import __version__
    from kinen.paths import user_file

    content = b"" if body is None else to_json(body).encode()
    lines = [f"{line} HTTP/1.1", f"Host: {host}", "Connection: close", f"Accept: {accept}"]
    lines += [f"X-Kinen-Version: {__version__}", f"X-Kinen-Config: {quoted(user_file())}"]
    if space:
        lines.append(f"X-Kinen-Space: {quoted(space)}")
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if body is not None:
        # The daemon answers `100 Continue` at once, which shows that it listens.
        lines += ["Content-Type: application/json", "Expect: 100-continue"]
    lines += [f"Content-Length: {len(content)}", "", ""]
    try:
        connection.sendall("\r\n".join(lines).encode() + content)
        return _read_answer(connection, wait)
    except (OSError, ValueError):
        return None
    finally:
        connection.close()


def usual_sign() -> float:
    """Seconds to wait for the first byte: `SIGN`, or `KINEN_SIGN_MS` if that is more."""
    digits = os.environ.get("KINEN_SIGN_MS", "")
    milliseconds = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 8 else 0
    return max(SIGN, milliseconds / 1000)


def _connect(home: str, sign: float) -> tuple[Any, str, str]:
    """A connection, its address, and the token that is needed on loopback."""
    import _socket

    path = socket_path(home)
    family = _socket.AF_UNIX if path else _socket.AF_INET
    connection = _socket.socket(family, _socket.SOCK_STREAM, 0)
    try:
        connection.settimeout(sign)
        if path:
            if os.path.islink(path):
                raise ValueError(path)  # it may lead to a socket of another user
            connection.connect(path)
            return connection, "localhost", ""
        port, token = private.read(os.path.join(home, PORT)).decode("ascii").split()
        connection.connect((HOST, int(port)))
    except BaseException:
        connection.close()
        raise
    return connection, f"{HOST}:{port}", token


def socket_path(home: str) -> str:
    """The path of the socket; empty on Windows, and if the path would be too long."""
    path = os.path.join(home, SOCKET)
    return path if os.name != "nt" and len(os.fsencode(path)) <= LONGEST else ""


def _read_answer(connection: Any, wait: float) -> Answer | None:
    data = connection.recv(65_536)
    connection.settimeout(wait)
    while True:
        head, end, rest = data.partition(b"\r\n\r\n")
        if end and head[9:10] == b"1":  # 100 Continue; the answer may have arrived with it
            data = rest
            continue
        if end:
            break
        more = connection.recv(65_536)
        if not more:
            return None
        data += more
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    parts = [rest]
    while more := connection.recv(1 << 20):
        parts.append(more)
    body = b"".join(parts)
    if str(len(body)) != headers.get(
        "content-length", ""
    ):  # the daemon was stopped while it answered
        return None
    return Answer(int(first.split(" ")[1]), headers, body)


def to_json(value: Any) -> str:
    """Texts, numbers, lists and mappings as JSON; `json` takes too long to import."""
    from _json import encode_basestring_ascii

    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        pairs = (f"{encode_basestring_ascii(key)}: {to_json(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    return f"[{', '.join(map(to_json, value))}]"


_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def quoted(text: str) -> str:
    """A text for a header: UTF-8, percent-encoded."""
    raw = text.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in raw)


def unquoted(text: str) -> str:
    """The text that `quoted` has encoded."""
    head, *rest = text.encode("ascii", "replace").split(b"%")
    raw = head + b"".join(bytes([int(part[:2], 16)]) + part[2:] for part in rest)
    return raw.decode("utf-8", "surrogateescape")


def start(home: str) -> int:
    """Start a daemon in the background, unless one runs or was started just now; its pid, or 0.

    Its socket is served by the same HTTP application as its port: without the http extra nothing
    is started, and every command does its work itself.
    """
    from kinen.ids import milliseconds
    from kinen.ipc import extras

    stamp = os.path.join(home, STARTED)
    try:
        if abs(milliseconds() / 1000 - os.stat(stamp).st_mtime) < PAUSE or running(home):
            return 0
    except OSError:
        pass
    if not extras.installed("http"):
        return 0
    try:
        private.folder(home)
        with open(stamp, "w", encoding="ascii", opener=private.opener):
            pass
        return spawn(home, ["--auto"])
    except OSError:
        return 0


def running(home: str) -> bool:
    """Whether a daemon holds the lock; it may not listen yet."""
    lock = hold(home)
    if lock is None:
        return True
    os.close(lock)
    return False


def hold(home: str, name: str = DAEMON_LOCK) -> int | None:
    """Take the daemon's lock or another, as an open file that ends with the process.

    None if it is held.
    """
    file = private.opener(os.path.join(home, name), os.O_RDWR | os.O_CREAT)
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


def spawn(home: str, options: Iterable[str] = ()) -> int:
    """Start a daemon process with standard error in the log; returns its pid."""
    # -P: files in the working folder must not be imported as modules.
    line = [sys.executable, "-P", "-m", "kinen", "daemon", "run", *options]
    # A command that asks one question has numpy start no threads (`kinen.cli.answer`).
    own = [*own_settings(os.environ), "OPENBLAS_DEFAULT_NUM_THREADS"]
    env = {name: value for name, value in os.environ.items() if name not in own}
    env["KINEN_HOME"] = home
    log = os.path.join(home, LOG)
    append = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    os.close(private.opener(log, append))  # raises an error with the name if it is a link
    append |= getattr(os, "O_NOFOLLOW", 0)
    if os.name != "nt":
        actions: list[Any] = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        actions += [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        actions += [(os.POSIX_SPAWN_OPEN, 2, log, append, 0o600)]
        try:
            return os.posix_spawn(line[0], line, env, file_actions=actions, setsid=True)
        except NotImplementedError:
            pass
    import subprocess

    apart: dict[str, Any] = {"start_new_session": True}
    if os.name == "nt":
        apart = {"creationflags": 0x00000208}  # detached, in a group of its own
    null = subprocess.DEVNULL
    with open(log, "ab", opener=private.opener) as file:
        process = subprocess.Popen(line, stdin=null, stdout=null, stderr=file, env=env, **apart)
    return process.pid
