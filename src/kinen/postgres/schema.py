"""The tables of the index in PostgreSQL: each in some partitions, by a hash of the space.

A transaction names the spaces that it is about (`spaces.name_spaces`); row security knows no rows
of others, whatever a statement says or forgets. Texts are compared byte by byte (collation C), as
in SQLite.
"""

from __future__ import annotations

import psycopg
from psycopg import errors, sql

from kinen.errors import StoreError
from kinen.postgres.connection import Connection, Database, scalar
from kinen.postgres.migrations import LOCK, Migration, migrate, version
from kinen.postgres.spaces import PART, PARTITIONED, move_spaces

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
_SECURITY = """
ALTER TABLE kinen.space ADD part int NOT NULL DEFAULT 0;
-- the owner of the tables searches every space that a transaction names
CREATE FUNCTION kinen.owned() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT pg_has_role(session_user, relowner, 'USAGE') FROM pg_catalog.pg_class
    WHERE oid = 'kinen.space'::regclass
$$;
-- another login those of them that `kinen team member add` gave it
CREATE FUNCTION kinen.may_search(wanted text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    IF kinen.owned() THEN RETURN true; END IF;
    IF to_regclass('kinen.team_member') IS NULL THEN RETURN false; END IF;
    RETURN EXISTS (
        SELECT FROM kinen.team_member m WHERE m.role = session_user AND m.space = wanted
    );
END $$;
CREATE FUNCTION kinen.seen() RETURNS int[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    named int[] := nullif(current_setting('kinen.spaces', true), '')::int[];
BEGIN
    IF kinen.owned() THEN RETURN named; END IF;
    RETURN ARRAY(
        SELECT s.id FROM kinen.space s WHERE s.id = ANY (named) AND kinen.may_search(s.identity)
    );
END $$;
-- the server may not ask the index of words before a policy (`@@` is not leakproof), so that
-- this function becomes one of a role that no policy holds back: `provide_rights`
CREATE FUNCTION kinen.matching(wanted tsquery, most bigint)
RETURNS TABLE (space int, id bigint, words tsvector, length int)
LANGUAGE plpgsql STABLE ROWS 5000 SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
    named int[] := kinen.seen();
BEGIN
    RETURN QUERY SELECT c.space, c.id, CASE WHEN most IS NOT NULL THEN c.words END, c.length
        FROM kinen.chunk c WHERE c.space = ANY (named) AND c.words @@ wanted LIMIT most;
END $$;
ALTER TABLE kinen.space ENABLE ROW LEVEL SECURITY;
ALTER TABLE kinen.space FORCE ROW LEVEL SECURITY;
CREATE POLICY seen ON kinen.space USING ((SELECT kinen.owned()) OR kinen.may_search(identity));
"""


def _guarded(table: str) -> str:
    return f"""
ALTER TABLE kinen.{table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE kinen.{table} FORCE ROW LEVEL SECURITY;
CREATE POLICY seen ON kinen.{table} USING (space IN (SELECT unnest(kinen.seen())));
"""


PARTITIONS = 16
_KEYS = """
ALTER TABLE kinen.next_record ADD PRIMARY KEY (id, space);
CREATE UNIQUE INDEX ON kinen.next_record (space, ref);
CREATE INDEX ON kinen.next_record (space, source, key) WHERE key <> '';
CREATE INDEX ON kinen.next_record (space, path) WHERE path <> '';
CREATE INDEX ON kinen.next_record (space, at);
CREATE INDEX ON kinen.next_record (space, parent) WHERE parent <> '';
ALTER TABLE kinen.next_chunk ADD PRIMARY KEY (id, space);
CREATE UNIQUE INDEX ON kinen.next_chunk (space, record, n);
CREATE INDEX ON kinen.next_chunk (space, digest);
CREATE INDEX ON kinen.next_chunk (space, segment) WHERE segment <> '';
CREATE INDEX ON kinen.next_chunk USING gin (words);
ALTER TABLE kinen.next_word ADD PRIMARY KEY (term, space);
CREATE INDEX ON kinen.next_word (space);
ALTER TABLE kinen.next_vector ADD PRIMARY KEY (chunk, space);
CREATE INDEX ON kinen.next_vector (space);
ALTER TABLE kinen.next_link ADD PRIMARY KEY (space, record, n);
CREATE INDEX ON kinen.next_link (space, target);
ALTER TABLE kinen.next_touch ADD PRIMARY KEY (space, record, path);
CREATE INDEX ON kinen.next_touch (space, path);
ALTER TABLE kinen.next_state ADD PRIMARY KEY (space, source, key);
"""


def partition(table: str, part: int) -> str:
    """The partition of a table, without its schema."""
    return f"{table}_h{part:02}"


def _hashed(table: str) -> str:
    parts = "".join(
        f"CREATE TABLE kinen.{partition(table, part)} PARTITION OF kinen.next_{table}"
        f" FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part});\n"
        for part in range(PARTITIONS)
    )
    return f"""
CREATE TABLE kinen.next_{table} (LIKE kinen.{table} INCLUDING DEFAULTS INCLUDING STORAGE)
    PARTITION BY HASH (space);
{parts}{_guarded(f"next_{table}")}"""


_HASHED = (
    "ALTER TABLE kinen.space ADD copied bigint NOT NULL DEFAULT -1;\n"
    + "".join(map(_hashed, PARTITIONED))
    + _KEYS
)
_SWITCH = (
    "".join(
        f"ALTER TABLE kinen.{table} RENAME TO old_{table};\n"
        f"ALTER TABLE kinen.next_{table} RENAME TO {table};\n"
        for table in PARTITIONED
    )
    + f"""
ALTER TABLE kinen.space DROP copied;
CREATE FUNCTION kinen.part_of(space int) RETURNS int LANGUAGE sql STABLE AS $$
    SELECT n FROM generate_series(0, {PARTITIONS - 1}) n
    WHERE satisfies_hash_partition('kinen.chunk'::regclass, {PARTITIONS}, n, space)
$$;
UPDATE kinen.space SET part = kinen.part_of(id);
"""
)
MIGRATIONS = (
    Migration(1, "tables of the index", _TABLES),
    Migration(2, "row security", _SECURITY + "".join(map(_guarded, PARTITIONED))),
    Migration(3, "tables by hash of the space", _HASHED),
    Migration(4, "searches read the tables by hash", _SWITCH),
)
"""Never edit one that was released: add the next."""
READABLE = 2
"""From this migration on searches work, also while the spaces move into the tables by hash."""
GRANTS_SET = 160000
"""Since this version of the server the right to become a role is a grant of its own."""
ATTEMPTS = 5
CHANGED_MEANWHILE = (errors.DuplicateObject, errors.UniqueViolation, errors.InternalError)
"""Roles belong to the whole server: other databases may change them at the same time."""
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
    if reached < READABLE:
        old = f"an older kinen wrote the database at {place}"
        fact = old if reached else f"nothing is indexed at {place}"
        raise StoreError(fact, "run `kinen index --engine …`")


def prepare(database: Database) -> None:
    """Create what is missing: the extension, tried, the tables and who may read them."""
    require_vectors(database)
    migrate(database, PART, MIGRATIONS, until=MIGRATIONS[-2].number)
    move_spaces(database, MIGRATIONS[-1])
    provide_rights(database)


def provide_rights(database: Database) -> None:
    """Let people with a login read, and give the search of words its role where that is allowed.

    `kinen_words` owns the function `kinen.matching` and no policy holds it back; the function
    returns chunks of the spaces that the transaction may see. Without it words are found as well,
    but slower: the server then reads every chunk of those spaces.
    """
    schema = database.schema
    with database.transaction() as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        if scalar(connection, _CLOSED_TO_MEMBERS):
            tables = ", ".join(f"kinen.{table}" for table in (*PARTITIONED, "space", "migration"))
            connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO kinen_member")
            connection.execute(f"GRANT SELECT ON {tables} TO kinen_member")
        for attempt in range(ATTEMPTS):
            statements = missing_words(connection, schema)
            if not statements:
                return
            # whoever becomes the role only here is no member of it: its policy is not the owner's
            only = " WITH INHERIT FALSE, SET TRUE" * (connection.info.server_version >= GRANTS_SET)
            at = 1 if statements[0].startswith("CREATE ROLE") else 0
            statements[at:at] = [
                f"GRANT {schema}_words TO CURRENT_USER{only}",
                f"GRANT CREATE ON SCHEMA {schema} TO {schema}_words",
            ]
            statements += [
                f"REVOKE CREATE ON SCHEMA {schema} FROM {schema}_words",
                f"REVOKE {schema}_words FROM CURRENT_USER",
            ]
            try:
                with connection.transaction():
                    for statement in statements:
                        connection.execute(sql.SQL(statement))
            except errors.InsufficientPrivilege:
                return  # `kinen team check` prints what an administrator has to run
            except CHANGED_MEANWHILE:
                if attempt == ATTEMPTS - 1:
                    raise


def missing_words(connection: Connection, schema: str) -> list[str]:
    """The SQL with which an administrator gives the search of words its role, if it has none."""
    if not scalar(connection, _INVOKED, schema):
        return []
    role = f"{schema}_words"
    function = f"{schema}.matching(tsquery, bigint)"
    exists = scalar(connection, "SELECT to_regrole(%s) IS NOT NULL", role)
    return [
        *([] if exists else [f"CREATE ROLE {role} NOLOGIN"]),
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT ON {schema}.chunk TO {role}",
        f"CREATE POLICY words ON {schema}.chunk FOR SELECT TO {role} USING (true)",
        f"ALTER FUNCTION {function} SECURITY DEFINER",
        f"ALTER FUNCTION {function} OWNER TO {role}",
    ]


_CLOSED_TO_MEMBERS = """
SELECT to_regrole('kinen_member') IS NOT NULL
    AND NOT has_table_privilege(to_regrole('kinen_member'), 'kinen.chunk', 'SELECT')
"""
_INVOKED = """
SELECT NOT prosecdef FROM pg_proc
WHERE proname = 'matching' AND pronamespace = to_regnamespace(%s)
"""


def require_vectors(database: Database) -> str:
    """Create the extension where it is missing and try it; the version of pgvector.

    The trial has a connection of its own: a `vector.so` with instructions that the CPU does not
    have kills the server process behind it.
    """
    with database.connect(autocommit=True) as connection:
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except (errors.UndefinedFile, errors.FeatureNotSupported):
            raise StoreError(
                f"the server at {database.place} has no pgvector",
                "install its package (postgresql-NN-pgvector) on the server",
            ) from None
        except errors.InsufficientPrivilege:
            raise StoreError(
                f"the user may not create the extension vector at {database.place}",
                "let an administrator run CREATE EXTENSION vector in that database",
            ) from None
        except errors.UniqueViolation:
            pass  # another process created it at the same moment
        installed = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        version = str(scalar(connection, installed) or "0")
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise StoreError(
            f"pgvector {version} at {database.place} is too old",
            "install 0.8 or newer, then run ALTER EXTENSION vector UPDATE",
        )
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
