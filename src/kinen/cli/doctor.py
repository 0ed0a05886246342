"""`kinen doctor`: check the installation and suggest fixes."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator

import click

from kinen import config, paths
from kinen.cli.agent_checks import check_activity, check_agents, prove
from kinen.cli.command import json_command
from kinen.cli.run import colours
from kinen.config import former
from kinen.errors import KinenError
from kinen.ipc import extras
from kinen.memory import Memory
from kinen.memory.checks import Check, check_memory
from kinen.render.style import Style
from kinen.render.text import counted
from kinen.space import early, registry
from kinen.space import find as spaces
from kinen.storage import private, tables
from kinen.storage.database import has_full_text
from kinen.transfer import seal
from kinen.verbs.verb import Output


def _check_text(check: Check, style: Style) -> str:
    mark = "ok  " if check.ok else style("warn", "bad ")
    line = f"{mark} {check.subject:<14} {check.detail}"
    if check.ok or not check.fix:
        return line
    return f"{line}\n     {'':<14} {style('bold', check.fix)}"


@click.command()
@click.option(
    "--prove", "agent", metavar="AGENT", help="send an event through the hooks of an agent"
)
@json_command
def doctor(agent: str | None) -> Output:
    """Check everything kinen needs and suggest fixes. Exit 1 if a check fails.

    `--prove` runs the command that stands in the agent's settings, with an event as the agent sends
    it, and looks for it in the memory; then it removes it.

    \b
    Examples:
      kinen doctor
      kinen doctor --prove codex
    """
    checks = [prove(agent)] if agent else list(run_checks())
    style = colours()
    findings = [
        {"what": check.subject, "fine": check.ok, "said": check.detail, "mend": check.fix}
        for check in checks
    ]
    return Output(
        {"findings": findings},
        "\n".join(_check_text(check, style) for check in checks),
        found=all(check.ok for check in checks),
    )


def run_checks() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")
    yield _check_sqlite()
    home = paths.default_home()
    yield _check_data_folder(home)
    try:
        config.load(home, None)
        yield Check("your config", True, paths.user_file())
    except KinenError as error:
        yield Check("your config", False, error.message, error.hint)
    for path in tables.set_aside(home):
        fix = "it was replaced; remove it when you need nothing of it"
        yield Check("damaged", True, f"{path}: {fix}")
    for folder, place in early.folders(home):
        events = counted(len(early.events(place)), "events")
        choice = (
            "`kinen init` there takes them in, `kinen space remove` with that path deletes them"
        )
        yield Check("no space yet", True, f"{folder}: {events} from before; {choice}")
    for note in former.variables(os.environ):
        yield Check("variables", True, note)
    yield _check_daemon(home)
    yield from check_agents()
    yield _check_distillers()
    try:
        for space in registry.registered(home):
            if space.missing:
                detail = f"{space.name}: {space.root} does not exist"
                yield Check("space", False, detail, f"kinen space remove {space.name}")
        here = spaces.find()
    except KinenError as error:
        yield Check("space", False, error.message, error.hint)
        return
    yield Check("space", True, f"{here.name} in {here.root}")
    yield from _check_space(here.root)


def _check_distillers() -> Check:
    """The programs that can write digests; `extract` is always there."""
    programs = [name for name in ("claude", "gemini", "ollama") if shutil.which(name)]
    return Check("distillers", True, ", ".join(["extract (built in)", *programs]))


def _check_sqlite() -> Check:
    if not has_full_text():
        detail = f"SQLite {sqlite3.sqlite_version} without FTS5"
        return Check("sqlite", False, detail, "use a Python whose SQLite has FTS5")
    return Check("sqlite", True, f"{sqlite3.sqlite_version} with full text")


def _check_data_folder(home: str) -> Check:
    try:
        private.write(os.path.join(home, ".doctor"), "")
        os.unlink(os.path.join(home, ".doctor"))
        tightened, links = private.audit(home)
    except (OSError, KinenError) as error:
        fix = "set KINEN_HOME to a folder that you can write to"
        return Check("data folder", False, f"{home}: {error}", fix)
    if links:
        return Check("data folder", False, f"{links[0]} is a link", f"rm {links[0]}")
    key = os.path.join(home, seal.FILE)
    if os.path.exists(key) and not seal.own_key(home):
        detail = f"{key} is damaged: no bundle counts as exported here"
        return Check("data folder", False, detail, f"rm {key}; the next export makes a new one")
    closed = f"; made {tightened} files and folders private" if tightened else ""
    return Check("data folder", True, f"{home}{closed}")


def _check_daemon(home: str) -> Check:
    """A daemon that crashed or hangs is cleaned up: the next search starts another."""
    from kinen.daemon import control

    repair = control.clean_up(home)
    if repair:
        return Check("daemon", True, f"{repair}; the next search starts a new one")
    seen = control.look(home)
    if seen.refusal:
        detail = f"does not serve this version of kinen: {seen.refusal}"
        return Check("daemon", False, detail, "kinen daemon restart")
    failed = [space for space in seen.state.get("spaces", ()) if space["error"]]
    if failed:
        detail = f"{failed[0]['name']}: {failed[0]['error']}"
        return Check("daemon", False, detail, "kinen daemon status")
    if seen.state:
        return Check("daemon", True, f"running (pid {seen.state['pid']})")
    if not extras.installed("http"):
        return Check("daemon", True, "optional: " + extras.missing("kinen daemon", "http"))
    return Check("daemon", True, "not running (optional)")


def _check_space(root: str) -> Iterator[Check]:
    try:
        with Memory.open(root) as memory:
            yield from check_memory(memory)
            yield from check_activity(memory)
    except KinenError as error:
        yield Check("index", False, error.message, error.hint)
