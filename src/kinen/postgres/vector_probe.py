"""Whether pgvector works on a server: builds for another CPU end the connection at first use."""

from __future__ import annotations

import psycopg
from psycopg import errors

from kinen.errors import StoreError
from kinen.postgres.connection import Connection, Database

OLDEST = (0, 8)
"""pgvector 0.8 has `halfvec` and scans that go on until a filter is satisfied."""
PROBE = """
SELECT (array_fill(0.5, ARRAY[384])::halfvec(384) <#> array_fill(0.25, ARRAY[384])::halfvec(384)),
       (array_fill(0.5, ARRAY[384])::halfvec(384) <=> array_fill(0.25, ARRAY[384])::halfvec(384)),
       (binary_quantize(array_fill(0.5, ARRAY[384])::halfvec(384))
        <~> binary_quantize(array_fill(-0.5, ARRAY[384])::halfvec(384)))
"""


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
