"""What a team's tables need besides themselves: a schema, two roles, and rights to both.

An owner that may create roles gets all of it from kinen. For any other a database administrator
runs what `check` lists.
"""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg import errors, sql

from kinen.errors import Denied
from kinen.model.tuples import NamedTuple
from kinen.postgres.connection import Connection, Database, scalar, translated
from kinen.postgres.migrations import LOCK, Migration, dry_run
from kinen.postgres.schema import ATTEMPTS, CHANGED_MEANWHILE, GRANTS_SET, missing_words


class Check(NamedTuple):
    """What a user of a database lacks there."""

    user: str
    server: str
    schema: str
    needed: list[str]
    """SQL that an administrator has to run before kinen works."""
    optional: list[str]
    """SQL for `kinen team member add` alone."""
    words: list[str]
    """SQL for quick searches of an index in the same tables, if there is one."""


def provide(database: Database) -> None:
    """Make and grant what is missing. Raises Denied with the SQL that the user may not run."""
    with database.connect(autocommit=True) as connection, translated(database.place):
        for attempt in range(ATTEMPTS):
            try:
                for statement in missing(connection, database.schema):
                    connection.execute(sql.SQL(statement))
            except errors.InsufficientPrivilege as error:
                fact = error.diag.message_primary
                raise Denied(
                    f"{fact}: a database administrator has to run {statement}",
                    "`kinen team check` prints everything that is missing",
                ) from None
            except CHANGED_MEANWHILE:
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                return


def check(database: Database, migrations: Sequence[Migration]) -> Check:
    """Try everything that a server needs, and undo it."""
    schema = database.schema
    with database.connect() as connection, translated(database.place):
        user = scalar(connection, "SELECT current_user::text")
        server = scalar(connection, "SHOW server_version").split()[0]
        needed = [
            statement
            for statement in missing(connection, schema)
            if not _succeeds(connection, statement)
        ]
        if not needed:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            dry_run(connection, "team", migrations)
            connection.execute("SET LOCAL ROLE kinen_team")
            connection.execute("SELECT FROM kinen.team_space LIMIT 1")
            connection.execute("RESET ROLE")
        name = f"{schema}_member"
        admin = "SELECT pg_has_role(current_user, %s, 'MEMBER WITH ADMIN OPTION')"
        if connection.info.server_version < GRANTS_SET:  # whoever may create roles grants them all
            admin += " OR (SELECT rolcreaterole FROM pg_roles WHERE rolname = current_user)"
        grant = f"GRANT {name} TO {_quoted(connection, user)} WITH ADMIN OPTION"
        lacks = not _exists(connection, name) or not scalar(connection, admin, name)
        words = missing_words(connection, schema)
        connection.rollback()
    return Check(user, server, schema, needed, [grant] if lacks else [], words)


def missing(connection: Connection, schema: str) -> list[str]:
    """The SQL that makes and grants what is not there, in its order."""
    user = _quoted(connection, scalar(connection, "SELECT current_user::text"))
    roles = [f"{schema}_team", f"{schema}_member"]
    has_schema = bool(scalar(connection, "SELECT to_regnamespace(%s) IS NOT NULL", schema))
    statements = []
    if not has_schema:
        statements.append(f"CREATE SCHEMA {schema} AUTHORIZATION {user}")
    elif not all(
        scalar(connection, "SELECT has_schema_privilege(%s, %s)", schema, right)
        for right in ("CREATE", "USAGE")
    ):
        statements.append(f"GRANT CREATE, USAGE ON SCHEMA {schema} TO {user}")
    statements += [f"ALTER {thing} OWNER TO {user}" for thing in _of_others(connection, schema)]
    existing = {role: _exists(connection, role) for role in roles}
    statements += [f"CREATE ROLE {role} NOLOGIN" for role in roles if not existing[role]]
    separate = connection.info.server_version >= GRANTS_SET
    right = "SET" if separate else "MEMBER"
    become = f"SELECT pg_has_role(current_user, %s, '{right}')"
    if not existing[roles[0]] or not scalar(connection, become, roles[0]):
        statements.append(f"GRANT {roles[0]} TO {user}{' WITH SET TRUE' if separate else ''}")
    use = "SELECT has_schema_privilege(%s, %s, 'USAGE')"
    closed = [
        role
        for role in roles
        if not (has_schema and existing[role] and scalar(connection, use, role, schema))
    ]
    if closed:
        statements.append(f"GRANT USAGE ON SCHEMA {schema} TO {', '.join(closed)}")
    return statements


def _of_others(connection: Connection, schema: str) -> list[str]:
    """Tables and functions of the schema that belong to somebody else."""
    rows = connection.execute(
        """
        SELECT format('TABLE %%I.%%I', %(schema)s::text, relname) FROM pg_class
        WHERE relnamespace = to_regnamespace(%(schema)s) AND relkind IN ('r', 'p')
            AND NOT pg_has_role(relowner, 'USAGE')
        UNION ALL SELECT 'FUNCTION ' || oid::regprocedure FROM pg_proc
        WHERE pronamespace = to_regnamespace(%(schema)s) AND NOT pg_has_role(proowner, 'USAGE')
            AND proowner IS DISTINCT FROM to_regrole(%(words)s)
        ORDER BY 1
        """,
        {"schema": schema, "words": f"{schema}_words"},
    )
    return [name for (name,) in rows]


def _succeeds(connection: Connection, statement: str) -> bool:
    try:
        with connection.transaction():
            connection.execute(sql.SQL(statement))
    except psycopg.Error:
        return False
    return True


def _exists(connection: Connection, role: str) -> bool:
    return bool(scalar(connection, "SELECT to_regrole(%s) IS NOT NULL", role))


def _quoted(connection: Connection, name: str) -> str:
    return str(scalar(connection, "SELECT quote_ident(%s)", name))
