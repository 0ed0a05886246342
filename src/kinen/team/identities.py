"""People who signed in at a provider: whose name is whose, and the tokens that they got for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta

from kinen.errors import Conflict
from kinen.model.tuples import NamedTuple
from kinen.postgres.connection import Connection, Database
from kinen.team import tokens
from kinen.team.provider import Account
from kinen.team.tokens import Token

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
        person = _person(connection, account)
        spaces = list(grants)
        # an older server knows no rights by space: there it has those that hold everywhere
        rights = [each for each in tokens.RIGHTS if all(each in rest for rest in grants.values())]
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
        return tokens.add(connection, person, spaces, rights, timedelta(hours=hours), grants)


def dismiss(database: Database, account: Account) -> None:
    """End all tokens that somebody got by signing in."""
    with database.transaction() as connection:
        connection.execute(
            "UPDATE kinen.team_token SET revoked_at = now() WHERE grants IS NOT NULL"
            " AND revoked_at IS NULL AND person = (SELECT person FROM kinen.team_identity"
            " WHERE issuer = %s AND subject = %s)",
            (account.issuer, account.subject),
        )


def _person(connection: Connection, account: Account) -> str:
    """The name that somebody has here: the one that they first signed in with."""
    tokens.check_name(account.person)
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
    return str(row[0])


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
