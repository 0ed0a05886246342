"""The tables of the index in PostgreSQL: one partition of each per space.

A search names its spaces, so the server reads only their partitions, and each has full-text and
vector indexes of its own size. Texts are compared byte by byte (collation C), as in SQLite.
"""

from __future__ import annotations

import psycopg
from psycopg import errors, sql

from kinen.errors import StoreError
from kinen.postgres.connection import Connection, Database
from kinen.postgres.migrations import Migration, migrate, version

PART = "index"
PARTITIONED = ("record", "chunk", "word", "vector", "link", "touch", "state")
_TABLES = """
CREATE SEQUENCE kinen.record_id;
CREATE SEQUENCE kinen.chunk_id;
CREATE TABLE kinen.space (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    identity text NOT NULL UNIQUE,
    name text NOT NULL,
    model text NOT NULL DEFAULT '',
    dimensions int NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0,
    generation bigint NOT NULL DEFAULT 0,
    linked text NOT NULL DEFAULT '',
    synced timestamptz
);
CREATE TABLE kinen.record (
    space int NOT NULL,
    id bigint NOT NULL,
    ref text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    title text NOT NULL,
    path text COLLATE "C" NOT NULL,
    at text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    tags text[] NOT NULL,
    metadata jsonb NOT NULL,
    aliases text[] NOT NULL,
    dated boolean NOT NULL,
    source text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    repo text NOT NULL,
    agent text NOT NULL,
    "user" text NOT NULL,
    event text NOT NULL,
    parent text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, id)
) PARTITION BY LIST (space);
CREATE UNIQUE INDEX ON kinen.record (space, ref);
CREATE INDEX ON kinen.record (space, source, key) WHERE key <> '';
CREATE INDEX ON kinen.record (space, path) WHERE path <> '';
CREATE INDEX ON kinen.record (space, at);
CREATE INDEX ON kinen.record (space, parent) WHERE parent <> '';
CREATE TABLE kinen.chunk (
    space int NOT NULL,
    id bigint NOT NULL,
    record bigint NOT NULL,
    n int NOT NULL,
    title text NOT NULL,
    heading text NOT NULL,
    body text NOT NULL,
    start_line int NOT NULL,
    end_line int NOT NULL,
    page int NOT NULL,
    digest text COLLATE "C" NOT NULL,
    segment text COLLATE "C" NOT NULL,
    anchor bigint NOT NULL DEFAULT 0,
    length int NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (space, id)
) PARTITION BY LIST (space);
ALTER TABLE kinen.chunk ALTER words SET STORAGE MAIN;
CREATE UNIQUE INDEX ON kinen.chunk (space, record, n);
CREATE INDEX ON kinen.chunk (space, digest);
CREATE INDEX ON kinen.chunk (space, segment) WHERE segment <> '';
CREATE INDEX ON kinen.chunk USING gin (words);
CREATE TABLE kinen.word (
    space int NOT NULL,
    term text COLLATE "C" NOT NULL,
    chunks int NOT NULL,
    PRIMARY KEY (space, term)
) PARTITION BY LIST (space);
CREATE TABLE kinen.vector (
    space int NOT NULL,
    chunk bigint NOT NULL,
    embedding halfvec NOT NULL,
    PRIMARY KEY (space, chunk)
) PARTITION BY LIST (space);
ALTER TABLE kinen.vector ALTER embedding SET STORAGE PLAIN;
CREATE TABLE kinen.link (
    space int NOT NULL,
    record bigint NOT NULL,
    n int NOT NULL,
    written text NOT NULL,
    text text NOT NULL,
    heading text NOT NULL,
    line int NOT NULL,
    embedded boolean NOT NULL,
    wiki boolean NOT NULL,
    target text COLLATE "C",
    PRIMARY KEY (space, record, n)
) PARTITION BY LIST (space);
CREATE INDEX ON kinen.link (space, target);
CREATE TABLE kinen.touch (
    space int NOT NULL,
    record bigint NOT NULL,
    path text COLLATE "C" NOT NULL,
    status text NOT NULL,
    former text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, record, path)
) PARTITION BY LIST (space);
CREATE INDEX ON kinen.touch (space, path);
CREATE TABLE kinen.state (
    space int NOT NULL,
    source text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    stamp text NOT NULL,
    digest text NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (space, source, key)
) PARTITION BY LIST (space);
CREATE TABLE kinen.work (
    repository text COLLATE "C" PRIMARY KEY,
    started timestamptz,
    finished timestamptz,
    worker text NOT NULL DEFAULT '',
    failure text NOT NULL DEFAULT ''
);
CREATE FUNCTION kinen.contains(content text, phrase text, plain boolean) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT strpos(lower(regexp_replace(content, '\\s+', ' ', 'g')), phrase) > 0
        OR plain AND strpos(
            ' ' || regexp_replace(lower(content), '[\\W_]+', ' ', 'g') || ' ', ' ' || phrase || ' '
        ) > 0
$$;
"""
MIGRATIONS = (Migration(1, "tables of the index", _TABLES),)
"""Never edit one that was released: add the next."""
OLDEST = (0, 8)
"""pgvector 0.8 has `halfvec` and scans that go on until a filter is satisfied."""
PROBE = """
SELECT (array_fill(0.5, ARRAY[384])::halfvec(384) <#> array_fill(0.25, ARRAY[384])::halfvec(384)),
       (array_fill(0.5, ARRAY[384])::halfvec(384) <=> array_fill(0.25, ARRAY[384])::halfvec(384)),
       (binary_quantize(array_fill(0.5, ARRAY[384])::halfvec(384))
        <~> binary_quantize(array_fill(-0.5, ARRAY[384])::halfvec(384)))
"""


def require_tables(connection: Connection, place: str) -> None:
    """Raise unless the tables are as this kinen has them; nothing is changed."""
    reached = version(connection, PART)
    newest = MIGRATIONS[-1].number
    if reached > newest:
        raise StoreError(f"a newer kinen wrote the database at {place}", "upgrade kinen")
    if reached < newest:
        old = f"an older kinen wrote the database at {place}"
        fact = old if reached else f"nothing is indexed at {place}"
        raise StoreError(fact, "run `kinen index --engine …`")


def prepare(database: Database) -> None:
    """Create what is missing: the extension, tried, and the tables."""
    require_vectors(database)
    migrate(database, PART, MIGRATIONS)


def add_partitions(connection: Connection, space: int) -> None:
    """The partitions of a new space.

    Attached, not created in place: that would wait for every search that runs.
    """
    for table in PARTITIONED:
        parent = sql.Identifier("kinen", table)
        child = sql.Identifier("kinen", f"{table}_{space}")
        connection.execute(
            sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING DEFAULTS INCLUDING STORAGE)").format(
                child, parent
            )
        )
        connection.execute(
            sql.SQL("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES IN ({})").format(
                parent, child, sql.Literal(space)
            )
        )


def require_vectors(database: Database) -> str:
    """Create the extension where it is missing and try it; the version of pgvector.

    The trial has a connection of its own: a `vector.so` with instructions that the CPU does not
    have kills the server process behind it.
    """
    with database.connect(autocommit=True) as connection:
        version = _create(connection, database.place)
    trial = database.connect(autocommit=True)
    try:
        trial.execute(PROBE).fetchone()
    except psycopg.OperationalError:
        raise StoreError(
            f"pgvector {version} crashes the server at {database.place}",
            "its build uses instructions that the CPU lacks: install one built for this machine",
        ) from None
    finally:
        trial.close()
    return version


def _create(connection: Connection, where: str) -> str:
    """The version of pgvector, after CREATE EXTENSION where that is needed."""
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (errors.UndefinedFile, errors.FeatureNotSupported):
        raise StoreError(
            f"the server at {where} has no pgvector",
            "install its package (postgresql-NN-pgvector) on the server",
        ) from None
    except errors.InsufficientPrivilege:
        raise StoreError(
            f"the user may not create the extension vector at {where}",
            "let an administrator run CREATE EXTENSION vector in that database",
        ) from None
    except errors.UniqueViolation:
        pass  # another process created it at the same moment
    row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    version = str((row.fetchone() or ("0",))[0])
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise StoreError(
            f"pgvector {version} at {where} is too old",
            "install 0.8 or newer, then run ALTER EXTENSION vector UPDATE",
        )
    return version
