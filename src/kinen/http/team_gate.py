"""Who may use a team's server: tokens, browsers that signed in with one, limits and the audit."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from kinen.errors import Busy, Denied, InvalidEntry, KinenError
from kinen.http.app import STATUS
from kinen.http.guard import FAULTS, Refused, digest
from kinen.model.tuples import NamedTuple
from kinen.postgres.connection import Database
from kinen.team import audit, tokens
from kinen.team.tokens import EVERY, Token

STRANGERS = 5.0
"""Refused tokens a second of one address."""
MOST_BUCKETS = 10_000
BROWSER_HOURS = 12
"""How long a browser stays signed in."""
UNKNOWN = "the token is missing, wrong, expired or revoked"


class Limits(NamedTuple):
    """What one token may do, in each worker, and how much a space may hold."""

    rate: float = 20.0
    """Requests a second, on average."""
    burst: float = 200.0
    """Requests at once after a pause."""
    quota: int = 0
    """Entries of a space; 0 for any number."""


LIMITS = Limits()


class Buckets:
    """How many requests each token or address may still make now."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic):
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> bool:
        """Whether another request is within the limit."""
        now = self._clock()
        level, before = self._levels.pop(name, (self._burst, now))
        level = min(self._burst, level + (now - before) * self._rate)
        allowed = level >= 1
        self._levels[name] = (level - allowed, now)
        if len(self._levels) > MOST_BUCKETS:
            self._levels.pop(next(iter(self._levels)))
        return allowed


class Gate:
    """Everything that is decided before a request is answered."""

    def __init__(self, database: Database, limits: Limits = LIMITS) -> None:
        self._database = database
        self._people = Buckets(limits.rate, limits.burst)
        self._strangers = Buckets(STRANGERS, STRANGERS * 4)

    def enter(self, text: str, address: str) -> Token:
        """What a token allows; raises Refused. Whoever guesses is slowed down."""
        return self._counted(tokens.verify(self._database, text) if text else None, address)

    def enter_browser(self, cookie: str, address: str) -> Token | None:
        """What the token allows that a browser signed in with; None if it has to sign in."""
        token = tokens.of_browser(self._database, digest(cookie)) if cookie else None
        return self._counted(token, address) if token else None

    def meet(self, address: str) -> None:
        """Count a request that needs no token; raises Refused where an address sends many."""
        if not self._people.take(f"address {address}"):
            raise Refused(429, "too many requests", "wait")

    def _counted(self, token: Token | None, address: str) -> Token:
        if token is None:
            if not self._strangers.take(address):
                raise Refused(429, "too many refused requests", "wait")
            raise Refused(401, UNKNOWN)
        if not self._people.take(token.id):
            raise Refused(429, "too many requests", "wait")
        return token

    def sign_in(self, token: Token) -> str:
        """A cookie for a browser; only its digest is stored."""
        cookie = secrets.token_urlsafe(32)
        tokens.add_browser(self._database, digest(cookie), token.id, BROWSER_HOURS)
        return cookie

    def sign_out(self, cookie: str) -> None:
        tokens.remove_browser(self._database, digest(cookie))

    def spaces(self, token: Token) -> tuple[str, ...]:
        """The names of the spaces that a token opens."""
        return audit.spaces(self._database) if EVERY in token.spaces else token.spaces

    def write_down(
        self,
        token: Token,
        action: str,
        space: str,
        *,
        entries: int = 0,
        status: int = 200,
        refs: Sequence[str] = (),
        changed: Sequence[str] = (),
    ) -> None:
        """Add a request to the audit; the refs are of colleagues' entries, erased or changed."""
        with suppress(KinenError):
            audit.write_down(
                self._database,
                token,
                action,
                space,
                entries=entries,
                status=status,
                refs=refs,
                changed=changed,
            )


def form_token(cookie: str) -> str:
    """What the forms of a browser send, so that no other page can send them."""
    return hashlib.sha256(b"form " + cookie.encode("utf-8", "replace")).hexdigest()


def refusal(error: KinenError | Refused) -> Refused:
    """An error as it is answered; nothing of the database is in it."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, Busy):
        return Refused(503, error.fact(), error.hint)
    if isinstance(error, InvalidEntry):
        return Refused(400, error.fact(), error.hint)
    if isinstance(error, Denied):
        return Refused(
            500,
            "the team's server lacks a right in its database",
            "its operator runs `kinen team check`",
        )
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 503)
    if status == 503:
        return Refused(503, "the database does not answer", "try again later")
    return Refused(status, error.fact(), error.hint)


def failure(error: Refused) -> dict[str, Any]:
    code = "too_many" if error.status == 429 else FAULTS[error.status][0]
    return {"error": {"code": code, "message": error.message, "hint": error.hint}}
