"""Tokens of people and agents: made once, stored as digests, checked at every request."""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from kinen.errors import Conflict, NotFound, QueryError
from kinen.model.tuples import NamedTuple
from kinen.postgres.connection import Connection, Database

if TYPE_CHECKING:
    from kinen.team.provider import Account

RIGHTS = ("read", "write", "admin", "metrics")
PREFIX = "kinen"
EVERY = "*"
"""In the spaces of a token: all of them."""
LONGEST_DAYS = 3650
NAME = 100
"""Characters of a person's name."""
_COLUMNS = "id, person, spaces, rights, created_at, expires_at, revoked_at, grants"


@dataclass(frozen=True, slots=True)
class Token:
    """What a token allows."""

    id: str
    person: str
    spaces: tuple[str, ...]
    rights: tuple[str, ...]
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    grants: Mapping[str, Sequence[str]] | None = None
    """Rights by space, of somebody who signed in; `rights` are those in all of them."""

    def allows(self, right: str, space: str) -> bool:
        if self.grants is not None:
            return any(right in self.grants.get(name, ()) for name in (space, EVERY))
        return right in self.rights and (space in self.spaces or EVERY in self.spaces)


def create(
    database: Database, person: str, spaces: Sequence[str], rights: Sequence[str], days: int
) -> tuple[str, Token]:
    """A new token and what it allows; the token itself is not stored and shown only once."""
    check_name(person)
    if not spaces:
        raise QueryError("a token needs a space", "name one, or * for all")
    unknown = [right for right in rights if right not in RIGHTS]
    if unknown or not rights:
        raise QueryError(f"invalid rights {', '.join(unknown)!r}", f"use {', '.join(RIGHTS)}")
    if not 1 <= days <= LONGEST_DAYS:
        raise QueryError(f"invalid number of days {days}", f"use 1 to {LONGEST_DAYS:,}")
    with database.transaction() as connection:
        return add(connection, person, spaces, rights, timedelta(days=days))


def check_name(person: str) -> None:
    """Raise QueryError for what cannot be the name of a person."""
    if not person.strip() or len(person) > NAME or not person.isprintable():
        raise QueryError(f"invalid name {person[:NAME]!r}", f"use 1 to {NAME} printable characters")


def add(
    connection: Connection,
    person: str,
    spaces: Sequence[str],
    rights: Sequence[str],
    lifetime: timedelta,
    grants: Mapping[str, Sequence[str]] | None = None,
) -> tuple[str, Token]:
    """Store a new token, as part of a transaction."""
    id_ = secrets.token_hex(6)
    secret = secrets.token_urlsafe(32)
    row = connection.execute(
        "INSERT INTO kinen.team_token (id, digest, person, spaces, rights, expires_at, grants)"
        f" VALUES (%s, %s, %s, %s, %s, now() + %s, %s) RETURNING {_COLUMNS}",
        (
            id_,
            _digest(secret),
            person,
            list(spaces),
            list(rights),
            lifetime,
            None if grants is None else json.dumps(grants),
        ),
    ).fetchone()
    assert row is not None
    return f"{PREFIX}_{id_}_{secret}", _token(row)


def _token(row: Sequence[Any]) -> Token:
    """A row of `_COLUMNS`."""
    return Token(row[0], row[1], tuple(row[2]), tuple(row[3]), *row[4:])


def tokens(database: Database) -> list[Token]:
    """All tokens, the newest first."""
    with database.transaction() as connection:
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM kinen.team_token ORDER BY created_at DESC, id"
        ).fetchall()
    return [_token(row) for row in rows]


def revoke(database: Database, id_: str) -> None:
    """End a token at once."""
    with database.transaction() as connection:
        changed = connection.execute(
            "UPDATE kinen.team_token SET revoked_at = now() WHERE id = %s AND revoked_at IS NULL",
            (id_,),
        ).rowcount
    if not changed:
        raise NotFound(f"no valid token {id_!r}", "`kinen team token list` shows them")


def rotate(database: Database, id_: str, days: int, keep_hours: int) -> tuple[str, Token]:
    """A new token with the rights of another one, which ends after some hours, or at once."""
    old = next((token for token in tokens(database) if token.id == id_), None)
    if old is None or old.revoked_at:
        raise NotFound(f"no valid token {id_!r}", "`kinen team token list` shows them")
    new = create(database, old.person, old.spaces, old.rights, days)
    if not keep_hours:
        revoke(database, id_)
    with database.transaction() as connection:
        connection.execute(
            "UPDATE kinen.team_token SET expires_at = least(expires_at, now() + %s) WHERE id = %s",
            (timedelta(hours=keep_hours), id_),
        )
    return new


def verify(database: Database, text: str) -> Token | None:
    """What a token allows; None for one that is wrong, expired or revoked."""
    prefix, _, rest = text.partition("_")
    id_, _, secret = rest.partition("_")
    if prefix != PREFIX or not secret or len(text) > NAME or not text.isascii():
        return None
    with database.statement() as connection:
        row = connection.execute(
            f"SELECT digest, {_COLUMNS} FROM kinen.team_token"
            " WHERE id = %s AND revoked_at IS NULL AND expires_at > now()",
            (id_,),
        ).fetchone()
    digest = row[0] if row else b"\0" * 32
    if not hmac.compare_digest(bytes(digest), _digest(secret)) or row is None:
        return None
    return _token(row[1:])


def of_browser(database: Database, digest: bytes) -> Token | None:
    """The token that a browser signed in with; None if it did not, or no longer may."""
    with database.statement() as connection:
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM kinen.team_token"
            " WHERE revoked_at IS NULL AND expires_at > now() AND id ="
            " (SELECT token FROM kinen.team_browser WHERE digest = %s AND expires_at > now())",
            (digest,),
        ).fetchone()
    return _token(row) if row else None


def add_browser(database: Database, digest: bytes, token: str, hours: int) -> None:
    """Let a browser in for some hours; those whose time is over are removed."""
    with database.transaction() as connection:
        connection.execute("DELETE FROM kinen.team_browser WHERE expires_at <= now()")
        connection.execute(
            "INSERT INTO kinen.team_browser (digest, token, expires_at)"
            " VALUES (%s, %s, now() + %s)",
            (digest, token, timedelta(hours=hours)),
        )


def remove_browser(database: Database, digest: bytes) -> None:
    with database.transaction() as connection:
        connection.execute("DELETE FROM kinen.team_browser WHERE digest = %s", (digest,))


def _digest(secret: str) -> bytes:
    # The secret has 256 random bits: a slow digest would add nothing.
    return sha256(secret.encode()).digest()


MINUTES = 10
"""How long a person may take to sign in."""

Grants = Mapping[str, Sequence[str]]
"""Rights by space."""


class Attempt(NamedTuple):
    """A browser on its way to the provider and back."""

    nonce: str
    verifier: str
    target: str
    """The page that was asked for."""


def admit(database: Database, account: Account, grants: Grants, hours: int) -> tuple[str, Token]:
    """A new token for somebody. All others that they have by signing in get the same rights.

    Raises Conflict where the name belongs to another account.
    """
    with database.transaction() as connection:
        # They have the name here that they first signed in with.
        check_name(account.person)
        key = (account.issuer, account.subject)
        connection.execute(
            "INSERT INTO kinen.team_identity (issuer, subject, person) VALUES (%s, %s, %s)"
            " ON CONFLICT DO NOTHING",
            (*key, account.person),
        )
        row = connection.execute(
            "SELECT person FROM kinen.team_identity WHERE issuer = %s AND subject = %s", key
        ).fetchone()
        if row is None:
            raise Conflict(
                f"the name {account.person!r} belongs to another account",
                "who runs this server frees it with `kinen team person erase`",
            )
        person = str(row[0])
        spaces = list(grants)
        # an older server knows no rights by space: there it has those that hold everywhere
        rights = [each for each in RIGHTS if all(each in rest for rest in grants.values())]
        connection.execute(
            "DELETE FROM kinen.team_token"
            " WHERE person = %s AND grants IS NOT NULL AND expires_at <= now()",
            (person,),
        )
        connection.execute(
            "UPDATE kinen.team_token SET spaces = %s, rights = %s, grants = %s"
            " WHERE person = %s AND grants IS NOT NULL",
            (spaces, rights, json.dumps(grants), person),
        )
        return add(connection, person, spaces, rights, timedelta(hours=hours), grants)


def dismiss(database: Database, account: Account) -> None:
    """End all tokens that somebody got by signing in."""
    with database.transaction() as connection:
        connection.execute(
            "UPDATE kinen.team_token SET revoked_at = now() WHERE grants IS NOT NULL"
            " AND revoked_at IS NULL AND person = (SELECT person FROM kinen.team_identity"
            " WHERE issuer = %s AND subject = %s)",
            (account.issuer, account.subject),
        )


def begin(database: Database, digest: bytes, attempt: Attempt) -> None:
    """Remember a browser that goes to the provider; those that took too long are removed."""
    with database.transaction() as connection:
        connection.execute("DELETE FROM kinen.team_sign_in WHERE expires_at <= now()")
        connection.execute(
            "INSERT INTO kinen.team_sign_in (digest, nonce, verifier, target, expires_at)"
            " VALUES (%s, %s, %s, %s, now() + %s)",
            (digest, *attempt, timedelta(minutes=MINUTES)),
        )


def take(database: Database, digest: bytes) -> Attempt | None:
    """The browser that comes back; None for one that never left, took too long, or came twice."""
    with database.transaction() as connection:
        row = connection.execute(
            "DELETE FROM kinen.team_sign_in WHERE digest = %s AND expires_at > now()"
            " RETURNING nonce, verifier, target",
            (digest,),
        ).fetchone()
    return Attempt(*row) if row else None
