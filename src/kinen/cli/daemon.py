"""`kinen daemon` and `kinen serve`: the process that keeps the model warm, watches and serves."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click

from kinen import paths, render
from kinen.cli.flags import FILE_NAME, for_scripts
from kinen.cli.run import NOTHING, colours, note
from kinen.errors import KinenError
from kinen.ipc import client, extras
from kinen.render.daemon import daemon_text
from kinen.storage import private

PORT = 7335
LINES = 50
FOLLOWING = 0.5
"""Seconds between two looks at a log that is followed."""


def home() -> str:
    return paths.default_home(os.environ)


@click.group()
def daemon() -> None:
    """One quiet process per user that keeps the model warm and notices changes.

    Nothing needs it: it starts with the first search (daemon.auto_start) and ends when nobody has
    asked for a while (daemon.idle_shutdown_minutes).
    """


@daemon.command()
@for_scripts
def start(as_json: bool) -> int:
    """Start it in the background, if it does not run."""
    extras.require("kinen daemon", "http")
    from kinen.daemon import control

    state, fresh = control.start(home())
    if as_json:
        print(render.to_json({"daemon": state, "started": fresh}))
    else:
        print(f"{'started' if fresh else 'runs already'}: pid {state['pid']}")
    return 0


@daemon.command()
def stop() -> int:
    """Stop it; what it is doing is left in good order."""
    from kinen.daemon import control

    pid = control.stop(home())
    print(f"stopped: pid {pid}" if pid else "no daemon runs")
    return 0


@daemon.command()
def restart() -> int:
    """Stop it and start it, after an update or a change of the configuration."""
    extras.require("kinen daemon", "http")
    from kinen.daemon import control

    control.stop(home())
    state, _ = control.start(home())
    print(f"started: pid {state['pid']}")
    return 0


@daemon.command()
@for_scripts
def status(as_json: bool) -> int:
    """How it is, what it watches, what happened; exit 1 if none runs."""
    from kinen.daemon import control

    seen = control.look(home())
    if as_json:
        print(render.to_json({"daemon": seen.state or None, "last": seen.last or None}))
    else:
        print(
            daemon_text(
                seen.state,
                seen.last,
                held=seen.held,
                refusal=seen.refusal,
                style=colours(),
                whole=True,
            )
        )
    return 0 if seen.state else NOTHING


@daemon.command()
@click.option("--stay", is_flag=True, help="do not end when nobody asks")
@click.option("--auto", is_flag=True, hidden=True, help="started by a search")
def run(stay: bool, auto: bool) -> int:
    """Run it in the foreground, for a system that looks after processes by itself."""
    extras.require("kinen daemon", "http")
    from kinen.daemon.process import Options
    from kinen.daemon.process import run as serve
    from kinen.errors import Busy

    try:
        serve(Options(home(), stay=stay))
    except Busy:
        if not auto:  # another search was first
            raise
    return 0


@daemon.command()
@click.option("--lines", "-n", type=click.IntRange(0), default=LINES, show_default=True)
@click.option("--follow", "-f", is_flag=True, help="go on with what comes")
def logs(lines: int, follow: bool) -> int:
    """What it wrote down."""
    from kinen.daemon import control

    path = os.path.join(home(), client.LOG)
    if not os.path.exists(path) and not follow:
        raise KinenError("no daemon has run here", "`kinen daemon start` starts one")
    sys.stdout.writelines(f"{line}\n" for line in control.tail(home(), lines))
    sys.stdout.flush()
    if follow:
        _follow(path)
    return 0


def _follow(path: str) -> None:
    """Print what is added to a file, also when it is put aside for a new one."""
    at, inode = _place(path)
    while True:
        time.sleep(FOLLOWING)
        size, now = _place(path)
        if now != inode or size < at:
            at, inode = 0, now
        if size > at:
            with open(path, encoding="utf-8", errors="replace", opener=private.opener) as file:
                file.seek(at)
                sys.stdout.write(file.read())
                sys.stdout.flush()
                at = file.tell()


def _place(path: str) -> tuple[int, int]:
    try:
        stat = os.stat(path)
    except OSError:
        return 0, 0
    return stat.st_size, stat.st_ino


@daemon.command()
@click.option("--print", "show", is_flag=True, help="only show what would be written")
@click.option("--remove", is_flag=True, help="take it away again")
def install(show: bool, remove: bool) -> int:
    """Write a systemd user unit, or a launchd agent, that starts it at login."""
    from kinen.daemon import units

    if not remove:
        extras.require("kinen daemon", "http")
    one = units.unit(home(), os.environ)
    if show:
        sys.stdout.write(one.text)
        return 0
    if remove:
        there = units.uninstall(one)
        print(f"removed {one.path}" if there else f"there is no {one.path}")
        note(f"if it runs: {one.disable}")
        return 0
    changed = units.install(one)
    print(f"{'wrote' if changed else 'unchanged:'} {one.path}")
    note(f"now: {one.enable}")
    return 0


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="on loopback; 0 for any that is free",
)
@click.option(
    "--space", "-s", type=FILE_NAME, default="", help="for requests that name no space: this one"
)
def serve(port: int, space: str) -> int:
    """Serve the memory over HTTP on loopback, to whoever shows the bearer token.

    It is the daemon in the foreground, with a port: one that runs makes room. It prints its
    address; the token is in http.token in kinen's folder, readable only by you. Requests are for
    the space of this folder, unless they name another (X-Kinen-Space).

    \b
    Examples:
      kinen serve --port 8800
      curl -H "Authorization: Bearer $(cat ~/.local/share/kinen/http.token)" \\
        'http://127.0.0.1:7335/v1/search?query=redis'
    """
    extras.require("kinen serve", "http")
    from kinen.daemon import control
    from kinen.daemon.process import Options
    from kinen.daemon.process import run as serving
    from kinen.space import find as spaces

    folder: Any = ""
    try:
        folder = spaces.find(name=space or None).root
    except KinenError:
        if space:
            raise
        note("this folder is in no space: requests have to name one (X-Kinen-Space)")
    control.stop(home())
    serving(Options(home(), port=port, stay=True, folder=folder))
    return 0
