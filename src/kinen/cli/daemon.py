"""`kinen daemon` and `kinen serve`: the process that keeps the model loaded, watches and serves."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click

from kinen import paths
from kinen.cli.command import group, json_command, options
from kinen.cli.output import note
from kinen.cli.run import colours, working
from kinen.errors import Busy, KinenError
from kinen.ipc import client, extras
from kinen.ipc.loopback import USUAL_PORT
from kinen.render.daemon import daemon_text
from kinen.space import find as spaces
from kinen.storage import private
from kinen.verbs.params import option, param
from kinen.verbs.verb import Output

POLL_SECONDS = 0.5
"""How often `logs --follow` looks for new lines."""


def home() -> str:
    return paths.default_home(os.environ)


@group()
def daemon() -> None:
    """A background process that keeps the model loaded and indexes changes.

    It is optional. The first search starts it (daemon.auto_start), and it exits when idle
    (daemon.idle_shutdown_minutes).
    """


@daemon.command()
@json_command
def start() -> Output:
    """Start the daemon in the background, if it is not running."""
    extras.require("kinen daemon", "http")
    from kinen.daemon import control

    with working("starting the daemon"):
        state, fresh = control.start(home())
    text = f"started (pid {state['pid']})" if fresh else f"already running (pid {state['pid']})"
    return Output({"daemon": state, "started": fresh}, text)


@daemon.command()
def stop() -> int:
    """Stop the daemon. Work in progress is saved."""
    from kinen.daemon import control

    with working("stopping the daemon, which finishes what it is doing"):
        pid = control.stop(home())
    print(f"stopped (pid {pid})" if pid else "not running")
    return 0


@daemon.command()
def restart() -> int:
    """Restart the daemon, for example after an update or a change of its configuration."""
    extras.require("kinen daemon", "http")
    from kinen.daemon import control

    with working("restarting the daemon"):
        control.stop(home())
        state, _ = control.start(home())
    print(f"started (pid {state['pid']})")
    return 0


@daemon.command()
@json_command
def status() -> Output:
    """Show the state of the daemon, its spaces and recent events. Exit 1 if it is not running."""
    from kinen.daemon import control

    seen = control.look(home())
    text = daemon_text(
        seen.state, seen.last, held=seen.held, refusal=seen.refusal, style=colours(), whole=True
    )
    data = {"daemon": seen.state or None, "last": seen.last or None}
    return Output(data, text, found=bool(seen.state))


@daemon.command()
@click.option("--stay", is_flag=True, help="do not exit when idle")
@click.option("--auto", is_flag=True, hidden=True, help="started by a search")
def run(stay: bool, auto: bool) -> int:
    """Run the daemon in the foreground, for use under a supervisor."""
    extras.require("kinen daemon", "http")
    from kinen.daemon.process import Options
    from kinen.daemon.process import run as serve

    try:
        serve(Options(home(), stay=stay))
    except Busy:
        if not auto:  # another search has started one
            raise
    return 0


@daemon.command()
@options(lines=param("--lines -n", "number of lines to show", 50, least=0, metavar="N"))
@click.option("--follow", "-f", is_flag=True, help="keep printing new lines")
def logs(lines: int, follow: bool) -> int:
    """Show the log."""
    from kinen.daemon import control

    path = os.path.join(home(), client.LOG)
    if not os.path.exists(path) and not follow:
        raise KinenError("no log: the daemon has not run yet", "start it with `kinen daemon start`")
    sys.stdout.writelines(f"{line}\n" for line in control.tail(home(), lines))
    sys.stdout.flush()
    if follow:
        # Print what is added to a file, also after it was rotated.
        offset, inode = _size_and_inode(path)
        while True:
            time.sleep(POLL_SECONDS)
            size, current = _size_and_inode(path)
            if current != inode or size < offset:
                offset = 0
                inode = current
            if size > offset:
                with open(path, encoding="utf-8", errors="replace", opener=private.opener) as file:
                    file.seek(offset)
                    sys.stdout.write(file.read())
                    sys.stdout.flush()
                    offset = file.tell()
    return 0


def _size_and_inode(path: str) -> tuple[int, int]:
    try:
        stat = os.stat(path)
    except OSError:
        return 0, 0
    return stat.st_size, stat.st_ino


@daemon.command()
@click.option("--print", "show", is_flag=True, help="print the unit, write nothing")
@click.option("--remove", is_flag=True, help="remove the unit")
def install(show: bool, remove: bool) -> int:
    """Write a systemd user unit or a launchd agent that starts the daemon at login."""
    from kinen.daemon import units

    if not remove:
        extras.require("kinen daemon", "http")
    unit = units.unit(home(), os.environ)
    if show:
        sys.stdout.write(unit.text)
        return 0
    if remove:
        existed = units.uninstall(unit)
        print(f"removed {unit.path}" if existed else f"{unit.path} does not exist")
        note(f"to stop it now, run: {unit.disable}")
        return 0
    changed = units.install(unit)
    print(f"{'wrote' if changed else 'unchanged:'} {unit.path}")
    note(f"to enable it, run: {unit.enable}")
    return 0


@click.command()
@options(
    port=param(
        "--port",
        "port on loopback (0 = any free port)",
        USUAL_PORT,
        least=0,
        most=65535,
        metavar="N",
    ),
    space=option(
        "--space -s",
        "NAME",
        "space for requests that name none (default: that of the current folder)",
        path=True,
    ),
)
@click.option("--team", is_flag=True, help="serve a team from PostgreSQL, see docs/guides/team.md")
@click.option(
    "--database",
    metavar="URL",
    default="",
    envvar="DATABASE_URL",
    help="with --team: PostgreSQL of the team (or DATABASE_URL)",
)
@options(
    host=option("--host", "ADDRESS", "with --team: address to listen on (default: 127.0.0.1)"),
    workers=param("--workers", "with --team: number of processes", 2, least=1, metavar="N"),
    certificate=option("--certificate", "FILE", "with --team: certificate for TLS, PEM", path=True),
    key=option("--key", "FILE", "with --team: private key of the certificate, PEM", path=True),
    rate=param("--rate", "with --team: requests a second of one token", 20, least=1, metavar="N"),
    burst=param(
        "--burst", "with --team: requests at once after a pause", 200, least=1, metavar="N"
    ),
    quota=param("--quota", "with --team: entries of a space; 0 for any number", 0, metavar="N"),
    log=param(
        "--log",
        "with --team: text says what went wrong, json every request",
        "text",
        choices=("text", "json"),
    ),
    forwarded=option(
        "--forwarded",
        "ADDRESSES",
        "with --team: proxies whose X-Forwarded-For is believed, * for any",
    ),
    audit_days=param(
        "--audit-days", "with --team: days that the audit is kept; 0 for ever", 365, metavar="N"
    ),
    replica=option(
        "--replica", "URL", "with --team: a standby of the database, for searches and pages"
    ),
    sign_in=option(
        "--sign-in", "FILE", "with --team: people sign in at a company's provider", path=True
    ),
)
def serve(port: int, space: str, team: bool, **options: Any) -> int:
    """Serve the memory over HTTP on loopback, with a bearer token.

    Runs the daemon in the foreground with a port, replacing a running daemon, and prints the
    address. The token is in http.token in kinen's data folder, readable only by you. The header
    X-Kinen-Space selects another space per request. `kinen web` opens its pages in a browser.

    \b
    Examples:
      kinen serve --port 8800
      curl -H "Authorization: Bearer $(cat ~/.local/share/kinen/http.token)" \\
        'http://127.0.0.1:7335/v1/search?query=redis'
      kinen serve --team --database postgresql://kinen@db/kinen --host 0.0.0.0 --port 7336 \\
        --certificate team.pem --key team.key
    """
    extras.require("kinen serve", "http")
    if team:
        return _serve_team(port, **options)
    from kinen.daemon import control
    from kinen.daemon.process import Options
    from kinen.daemon.process import run as run_daemon

    folder = root_to_serve(space)
    if not folder:
        note("not in a space: each request has to name one (X-Kinen-Space)")
    control.stop(home())
    run_daemon(Options(home(), port=port, stay=True, folder=folder))
    return 0


def root_to_serve(space: str) -> str:
    """The folder of a space; empty if none was named and there is none here."""
    try:
        return spaces.find(name=space or None).root
    except KinenError:
        if space:
            raise
        return ""


def _serve_team(
    port: int,
    *,
    database: str,
    host: str,
    workers: int,
    certificate: str,
    key: str,
    rate: int,
    burst: int,
    quota: int,
    sign_in: str,
    **more: Any,
) -> int:
    extras.require("kinen serve --team", "postgres")
    from kinen.http.team_gate import Limits
    from kinen.http.team_server import Options, run

    if not database:
        raise KinenError("no database for the team", "name it with --database or DATABASE_URL")
    for file in filter(None, (certificate, key)):
        if not os.path.isfile(file):
            raise KinenError(f"no file {file}", "give the certificate and the key as PEM files")
    if bool(certificate) != bool(key):
        raise KinenError("TLS needs a certificate and its key", "use --certificate and --key")
    limits = Limits(rate, burst, quota)
    address = host or "127.0.0.1"
    if sign_in:
        extras.require("kinen serve --sign-in", "team")
        from kinen.http.team_sign_in import read_settings

        more["sign_in"] = read_settings(sign_in)
    run(Options(database, address, port, workers, certificate, key, limits, **more))
    return 0
