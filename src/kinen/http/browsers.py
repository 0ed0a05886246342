"""Browsers that may see the pages: a one-time key in a link becomes a session with a cookie."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

KEY_SECONDS = 600.0
"""How long a link can be opened."""
SESSION_SECONDS = 12 * 3600.0
"""How long a session lasts without a request."""
MOST_KEYS = 32
MOST_SESSIONS = 64
"""The oldest are dropped beyond these."""


@dataclass(slots=True)
class Session:
    """A browser that has opened a link."""

    token: str
    """What its forms send, so that no other page can send them."""
    last_use: float


class Browsers:
    """Keys and sessions, in the memory of this process: nothing of them is on disk."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._keys: dict[bytes, tuple[str, float]] = {}
        self._sessions: dict[bytes, Session] = {}
        self._lock = Lock()

    def issue(self, place: str) -> str:
        """A key that can be redeemed once; the page that it leads to is remembered."""
        key = secrets.token_urlsafe(32)
        with self._lock:
            while len(self._keys) >= MOST_KEYS:
                del self._keys[next(iter(self._keys))]
            self._keys[digest(key)] = (place, self._clock() + KEY_SECONDS)
        return key

    def redeem(self, key: str) -> tuple[str, str]:
        """A new cookie and the page of a key; empty if the key is unknown, used or too old."""
        with self._lock:
            place, end = self._keys.pop(digest(key), ("", 0.0))
            if self._clock() > end:
                return "", ""
            while len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            cookie = secrets.token_urlsafe(32)
            self._sessions[digest(cookie)] = Session(secrets.token_urlsafe(32), self._clock())
        return cookie, place

    def session(self, cookie: str) -> Session | None:
        """The session of a cookie, used now; None if there is none."""
        if not cookie:
            return None
        name = digest(cookie)
        with self._lock:
            session = self._sessions.get(name)
            if session and self._clock() - session.last_use > SESSION_SECONDS:
                del self._sessions[name]
                return None
            if session:
                session.last_use = self._clock()
            return session

    def pass_on(self, cookie: str) -> str:
        """What another process needs to know a session; the cookie cannot be made from it."""
        return digest(cookie).hex() if self.session(cookie) else ""

    def admit(self, digest: str) -> None:
        """Know a session that another process has passed on; an empty digest is none."""
        if not digest:
            return
        with self._lock:
            session = Session(secrets.token_urlsafe(32), self._clock())
            self._sessions[bytes.fromhex(digest)] = session

    @property
    def end(self) -> float:
        """The time, by the clock, until which a key or a session is valid; 0 if there is none."""
        with self._lock:
            keys = [end for _, end in self._keys.values()]
            sessions = [session.last_use + SESSION_SECONDS for session in self._sessions.values()]
        return max([*keys, *sessions], default=0.0)

    def close(self, cookie: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(digest(cookie), None)


def same(token: str, expected: str) -> bool:
    """Whether two secrets are equal, without telling by its time how much of them is."""
    return hmac.compare_digest(token.encode("utf-8", "replace"), expected.encode())


def digest(secret: str) -> bytes:
    """What is looked up instead of the secret itself: a lookup takes no time that tells of it."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def cookie_name(port: int) -> str:
    """Cookies are shared by all ports of a host, so each port has a name of its own."""
    return f"kinen-{port}"


def cookie_value(header: bytes, name: str) -> str:
    """The value of a cookie in a `Cookie` header; empty if it is missing or there are two."""
    pairs = (part.strip().partition("=") for part in header.decode("latin-1").split(";"))
    values = [value for key, _, value in pairs if key == name]
    return values[0] if len(values) == 1 else ""
