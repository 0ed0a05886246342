"""Asking the daemon: one request over its socket, written by hand, for processes that start fast.

Whoever asks does the work itself where no daemon answers soon; the answer is the same. Light on
purpose, as `route` is: `socket` and `http.client` cost more than the question.
"""

from __future__ import annotations

import os
import sys

from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

SOCKET, PORT, LOCK, STARTED, LOG = (
    *("daemon.sock", "daemon.port", "daemon.lock"),
    *("daemon.started", "daemon.log"),
)
LONGEST = 100
"""Bytes of the path of a socket: systems allow little more. A longer one is served on loopback."""
SIGN = 0.15
"""Seconds within which a daemon must show that it listens; it takes less than one thousandth.

`KINEN_SIGN_MS` raises it where the machine is slow."""
ANSWER = 10.0
"""Seconds that it then has to answer."""
PAUSE = 10.0
"""Seconds between two attempts to start one."""
SECTIONS = ("INDEX", "SEARCH", "RECALL", "PRIVACY", "GIT", "DISTILL", "CONSOLIDATION", "SPACE")
"""Sections of the configuration that answers depend on; a process may have its own of them."""


class Answer:
    """What came back."""

    __slots__ = ("body", "code", "headers")

    def __init__(self, code: int, headers: dict[str, str], body: bytes) -> None:
        self.code, self.headers, self.body = code, headers, body


def own_settings(env: Mapping[str, str]) -> list[str]:
    """Variables that make this process answer by other settings than a daemon would."""
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
    """The daemon's answer to a request (`GET /v1/health`); None if there is none, or not soon."""
    if not sign:
        sign = usual_sign()
        wait = max(wait, sign)
    try:
        door, host, token = _connected(home, sign)
    except (OSError, ValueError):
        return None
    from kinen import __version__
    from kinen.paths import user_file

    sent = b"" if body is None else to_json(body).encode()
    lines = [f"{line} HTTP/1.1", f"Host: {host}", "Connection: close", f"Accept: {accept}"]
    lines += [f"X-Kinen-Version: {__version__}", f"X-Kinen-Config: {quoted(user_file())}"]
    lines += [f"X-Kinen-Space: {quoted(space)}"] if space else []
    lines += [f"Authorization: Bearer {token}"] if token else []
    if body is not None:
        # The daemon says that it goes on to read: that is the sign.
        lines += ["Content-Type: application/json", "Expect: 100-continue"]
    lines += [f"Content-Length: {len(sent)}", "", ""]
    try:
        door.sendall("\r\n".join(lines).encode() + sent)
        return _answer(door, wait)
    except (OSError, ValueError):
        return None
    finally:
        door.close()


def usual_sign() -> float:
    """Seconds to wait for a sign: at least `SIGN`, more if `KINEN_SIGN_MS` says so."""
    digits = os.environ.get("KINEN_SIGN_MS", "")
    milliseconds = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 8 else 0
    return max(SIGN, milliseconds / 1000)


def _connected(home: str, sign: float) -> tuple[Any, str, str]:
    """A connection, its address, and the token to show where anybody might ask."""
    import _socket

    path = socket_path(home)
    door = _socket.socket(_socket.AF_UNIX if path else _socket.AF_INET, _socket.SOCK_STREAM, 0)
    try:
        door.settimeout(sign)
        if path:
            if os.path.islink(path):
                raise ValueError(path)  # it leads to a socket of somebody else
            door.connect(path)
            return door, "localhost", ""
        port, token = private.read(os.path.join(home, PORT)).decode("ascii").split()
        door.connect(("127.0.0.1", int(port)))
    except BaseException:
        door.close()
        raise
    return door, f"127.0.0.1:{port}", token


def socket_path(home: str) -> str:
    """Where the socket is; nowhere on systems without, and where its path would be too long."""
    path = os.path.join(home, SOCKET)
    return path if os.name != "nt" and len(os.fsencode(path)) <= LONGEST else ""


def _answer(door: Any, wait: float) -> Answer | None:
    got = door.recv(65_536)
    door.settimeout(wait)
    while True:
        head, end, rest = got.partition(b"\r\n\r\n")
        if end and head[9:10] == b"1":  # 100: there is more to come
            got = rest
            continue  # which may have arrived with it
        if end:
            break
        more = door.recv(65_536)
        if not more:
            return None
        got += more
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (one.partition(":") for one in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    parts = [rest]
    while more := door.recv(1 << 20):
        parts.append(more)
    body = b"".join(parts)
    if str(len(body)) != headers.get("content-length", ""):  # it was ended while it answered
        return None
    return Answer(int(first.split(" ")[1]), headers, body)


def to_json(value: Any) -> str:
    """Texts, numbers, lists and mappings as JSON; `json` would cost more than all of this."""
    from _json import encode_basestring_ascii

    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        pairs = (f"{encode_basestring_ascii(key)}: {to_json(one)}" for key, one in value.items())
        return f"{{{', '.join(pairs)}}}"
    return f"[{', '.join(map(to_json, value))}]"


_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def quoted(text: str) -> str:
    """A text that fits a header: UTF-8, percent-encoded."""
    raw = text.encode("utf-8", "surrogateescape")
    return "".join(chr(one) if one in _PLAIN else f"%{one:02X}" for one in raw)


def unquoted(text: str) -> str:
    head, *rest = text.encode("ascii", "replace").split(b"%")
    raw = head + b"".join(bytes([int(one[:2], 16)]) + one[2:] for one in rest)
    return raw.decode("utf-8", "surrogateescape")


# Starting one


def start(home: str) -> int:
    """Start a daemon in the background, unless one runs or was started just now; its pid, or 0."""
    import time

    stamp = os.path.join(home, STARTED)
    try:
        if abs(time.time() - os.stat(stamp).st_mtime) < PAUSE or running(home):
            return 0
    except OSError:
        pass
    try:
        private.folder(home)
        with open(stamp, "w", encoding="ascii", opener=private.opener):
            pass
        return spawn(home, ["--auto"])
    except OSError:
        return 0


def running(home: str) -> bool:
    """Whether some daemon holds the lock, be it that it is only about to listen."""
    lock = hold(home)
    if lock is None:
        return True
    os.close(lock)
    return False


def hold(home: str) -> int | None:
    """The lock of the one daemon as an open file, gone with its process; None if another has it."""
    file = private.opener(os.path.join(home, LOCK), os.O_RDWR | os.O_CREAT)
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
    """Run a daemon apart from this process, its last words in the log; its pid."""
    # -P: the folder that this runs in has files that are not to be taken for modules.
    line = [sys.executable, "-P", "-m", "kinen", "daemon", "run", *options]
    own = own_settings(os.environ)
    env = {name: value for name, value in os.environ.items() if name not in own}
    env["KINEN_HOME"] = home
    log = os.path.join(home, LOG)
    append = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    os.close(private.opener(log, append))  # refused here if it is a link, with its name
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
        made = subprocess.Popen(line, stdin=null, stdout=null, stderr=file, env=env, **apart)
    return made.pid
