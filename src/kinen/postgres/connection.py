"""Connections to PostgreSQL: a pool, a statement timeout, and errors that name no password."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, LiteralString

import psycopg
from psycopg import conninfo, errors, sql
from psycopg_pool import ConnectionPool, PoolTimeout

from kinen.errors import Busy, Denied, DiskFull, KinenError, StoreError

Connection = psycopg.Connection[tuple[Any, ...]]

SCHEMES = ("postgresql://", "postgres://")
OLDEST_SERVER = 150000
"""The oldest server version that is supported, as `server_version` counts: 15.0."""
STATEMENT_SECONDS = 30
MOST_CONNECTIONS = 8
WAIT_SECONDS = 10
"""How long a request waits for a connection of the pool."""
RECONNECT_SECONDS = 3
_TIMEOUT = "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'"
SCHEMA = "kinen"
"""The schema of kinen's tables, unless the address names another with `?schema=`."""
_REFUSAL = re.compile(r": \w+:  (.+)")
"""What a server that is reached says to a connection: the driver has no code for it, but writes two
spaces after its severity. No password is in it."""
_OURS = re.compile(rf'\b{SCHEMA}(?="?\.|_team\b|_member\b)')
"""Where a statement names the schema, or a role that belongs to it."""


def is_address(text: str) -> bool:
    """Whether a text is the address of a PostgreSQL database."""
    return text.startswith(SCHEMES)


def parameters(url: str) -> dict[str, Any]:
    """The parts of a database address; raises StoreError without repeating the address."""
    if not is_address(url):
        raise StoreError(
            "not the address of a PostgreSQL database",
            "write it as postgresql://user@host:5432/database",
        )
    try:
        return conninfo.conninfo_to_dict(split_schema(url)[0])
    except psycopg.ProgrammingError:
        # The driver's message repeats parts of the address, and a password may be in them.
        raise StoreError(
            "the address of the database cannot be read",
            "write it as postgresql://user@host:5432/database; quote special characters as %40",
        ) from None


def split_schema(url: str) -> tuple[str, str]:
    """An address as the driver takes it, and the schema that it names."""
    head, _, query = url.partition("?")
    pairs = query.split("&") if query else []
    named = [pair.partition("=")[2] for pair in pairs if pair.startswith("schema=")]
    rest = "&".join(pair for pair in pairs if not pair.startswith("schema="))
    name = named[-1] if named else SCHEMA
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,49}", name) or name.startswith("pg_"):
        raise StoreError(
            "invalid schema in the address of the database",
            "use up to 50 small letters, digits and _",
        )
    return f"{head}?{rest}" if rest else head, name


def place(url: str) -> str:
    """A database address for messages: server and database, no user and no password."""
    parts = parameters(url)
    host = parts.get("host") or parts.get("hostaddr") or "the local socket"
    host = host.rpartition("@")[2]  # of a password with an @ that is not written as %40
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{host}{port}/{parts.get('dbname') or ''}"


def cursor_for(schema: str) -> type[psycopg.Cursor[tuple[Any, ...]]]:
    """A cursor whose statements mean another schema where kinen's own is written.

    Values are bound and never part of a statement, so only the text of kinen is changed.
    """

    class Cursor(psycopg.Cursor[tuple[Any, ...]]):
        def _renamed(self, query: Any) -> Any:
            text = query.as_string(self) if isinstance(query, sql.Composable) else query
            return _OURS.sub(schema, text)

        def execute(self, query: Any, *values: Any, **options: Any) -> Any:
            return super().execute(self._renamed(query), *values, **options)

        def executemany(self, query: Any, *values: Any, **options: Any) -> None:
            super().executemany(self._renamed(query), *values, **options)

        def copy(self, statement: Any, *values: Any, **options: Any) -> Any:
            return super().copy(self._renamed(statement), *values, **options)

    return Cursor


class Database:
    """A PostgreSQL database. It is connected at the first use; `close` ends all connections.

    Every statement is cancelled after `seconds`. Safe to share between threads.
    """

    def __init__(
        self,
        url: str,
        *,
        application: str = "kinen",
        most: int = MOST_CONNECTIONS,
        seconds: float = STATEMENT_SECONDS,
        patience: int = WAIT_SECONDS,
    ) -> None:
        """`patience` are the seconds that a new or free connection may take."""
        self.place = place(url)
        self._url, self.schema = split_schema(url)
        self._settings = {
            "statement_timeout": int(seconds * 1000),
            "idle_in_transaction_session_timeout": 600_000,
            "client_min_messages": "warning",
            # plans are made for the spaces that a statement names: most partitions are left out
            "plan_cache_mode": "force_custom_plan",
            # statements are short: compiling one takes longer than it runs
            "jit": "off",
        }
        self._options: dict[str, Any] = {
            "application_name": application,
            "connect_timeout": patience,
            "options": " ".join(f"-c {name}={value}" for name, value in self._settings.items()),
        }
        self._local_settings = "; ".join(
            f"SET LOCAL {name} = {value}" for name, value in self._settings.items()
        )
        self._through_bouncer = False
        if self.schema != SCHEMA:
            self._options["cursor_factory"] = cursor_for(self.schema)
        self._most = most
        self._patience = patience
        self._pool: ConnectionPool[Connection] | None = None
        self._opening = Lock()

    def __repr__(self) -> str:
        return f"Database({self.place})"

    def connect(self, *, autocommit: bool = False) -> Connection:
        """A connection outside the pool, for work that outlives a transaction: LISTEN, locks."""
        with translated(self.place):
            try:
                connection = psycopg.connect(self._url, autocommit=autocommit, **self._options)
            except psycopg.OperationalError as error:
                if "startup parameter" not in str(error):
                    raise
                connection = self._connect_bouncer(autocommit)
            else:
                row = connection.execute(_TIMEOUT).fetchone()
                if row != (str(self._settings["statement_timeout"]),):  # it ignores parameters
                    connection.close()
                    connection = self._connect_bouncer(autocommit)
                elif not autocommit:
                    connection.rollback()
        version = connection.info.server_version
        if version < OLDEST_SERVER:
            connection.close()
            raise StoreError(
                f"PostgreSQL at {self.place} is version {version // 10000}",
                "version 15 or newer is needed",
            )
        return connection

    def _connect_bouncer(self, autocommit: bool) -> Connection:
        """Connect to PgBouncer: another server process may answer each transaction.

        So nothing is kept beyond one, neither settings nor prepared statements.
        """
        self._options.pop("options", None)
        self._options["prepare_threshold"] = None
        self._through_bouncer = True
        return psycopg.connect(self._url, autocommit=autocommit, **self._options)

    @contextmanager
    def transaction(self, spaces: Sequence[int] = ()) -> Iterator[Connection]:
        """A connection of the pool in a transaction: committed at the end, undone by an error.

        Rows of an index are those of the named spaces alone.
        """
        with self._opening:  # threads that come at the same time share one pool
            if self._pool is None:
                # A first connection by hand: the pool would only say that it waited in vain.
                self.connect().close()
                self._pool = ConnectionPool(
                    self._url,
                    kwargs=self._options,
                    min_size=0,
                    max_size=self._most,
                    timeout=self._patience,
                    # who asks next tries again: to wait would only delay the server's return
                    reconnect_timeout=RECONNECT_SECONDS,
                    open=True,
                )
        pool = self._pool
        connection: Connection | None = None
        with translated(self.place):
            try:
                with pool.connection() as connection:
                    if self._through_bouncer:
                        connection.execute(sql.SQL(self._local_settings))
                    if spaces:
                        name_spaces(connection, spaces)
                    yield connection
            except psycopg.OperationalError:
                if connection and connection.closed:  # so are the others: the server went away
                    pool.check()
                raise

    @contextmanager
    def statement(self) -> Iterator[Connection]:
        """A connection of the pool for single statements: each is a transaction of its own."""
        with self.transaction() as connection:
            if self._through_bouncer:
                yield connection
                return
            connection.autocommit = True
            try:
                yield connection
            finally:
                connection.autocommit = False

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A transaction that only reads, and sees the database as it is now until the end."""
        with self.transaction() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield connection

    def pool_stats(self) -> dict[str, int]:
        """How many connections the pool has, how many are free, and how many requests wait."""
        return self._pool.get_stats() if self._pool else {}

    def close(self) -> None:
        """End the connections of the pool."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def name_spaces(connection: Connection, spaces: Sequence[int]) -> None:
    """Let this transaction see the rows of some spaces of an index: it sees no others."""
    connection.execute(
        "SELECT set_config('kinen.spaces', %s, true)", (f"{{{','.join(map(str, spaces))}}}",)
    )


def scalar(connection: Connection, query: LiteralString, *values: Any) -> Any:
    """The first value of the first row; None without a row."""
    row = connection.execute(query, values or None).fetchone()
    return row[0] if row else None


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Errors of the driver as KinenErrors: what the server says, never the address."""
    try:
        yield
    except KinenError:
        raise
    except PoolTimeout:
        raise Busy(
            f"no connection to PostgreSQL at {where} became free", "try again later"
        ) from None
    except errors.QueryCanceled:
        raise Busy(f"PostgreSQL at {where} took too long", "try again, or ask for less") from None
    except errors.DiskFull:
        raise DiskFull(f"PostgreSQL at {where}", "the disk of the database is full") from None
    except errors.InsufficientPrivilege as error:
        hint = f"grant it to the user at {where}; `kinen team check` prints the SQL for a team"
        raise Denied(_primary(error), hint) from None
    except psycopg.OperationalError as error:
        if error.sqlstate is None:
            refusal = _REFUSAL.search(str(error))
            raise StoreError(
                f"PostgreSQL at {where} refuses: {refusal[1]}"
                if refusal
                else f"cannot reach PostgreSQL at {where}",
                "check that it runs, and its address, user and password",
            ) from None
        raise StoreError(f"PostgreSQL at {where}: {_primary(error)}") from None
    except psycopg.Error as error:
        raise StoreError(f"PostgreSQL at {where}: {_primary(error)}") from None


def _primary(error: psycopg.Error) -> str:
    """The server's sentence, without the detail: that one repeats values of rows."""
    return error.diag.message_primary or type(error).__name__
