"""`kinen doctor`: check the installation and suggest fixes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click

from kinen import config, ids, paths
from kinen.agents.client import Client
from kinen.cli.command import json_command
from kinen.cli.install import by_hand, is_connected, is_here
from kinen.cli.run import colours, screen
from kinen.config import former
from kinen.errors import KinenError, NotFound, QueryError
from kinen.hooks import trust
from kinen.hooks.entries import calls_kinen
from kinen.hooks.forms import FORMS, value_at
from kinen.hooks.install import AGENTS, folder_of, places_of
from kinen.ipc import extras
from kinen.memory import Memory
from kinen.memory.checks import Check, check_memory, missing_spaces
from kinen.render.text import counted
from kinen.space import early
from kinen.space import find as spaces
from kinen.storage import private, regular, tables
from kinen.storage.database import has_full_text
from kinen.transfer import bundle
from kinen.verbs.verb import Output

VERSION_SECONDS = 5
"""How long a program may take to print its version."""
HOOK_SECONDS = 30
"""How long the hook of a proof may take; clients wait 3 to 10 s."""
LARGEST = 1 << 20
COLUMNS = 80
NUMBER = re.compile(r"\d{1,9}\.\d{1,9}[\w.+-]{0,60}")


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
    lines = []
    for check in checks:
        mark = "ok  " if check.ok else style("warn", "bad ")
        lines.append(f"{mark} {check.subject:<14} {check.detail}")
        if check.fix and not check.ok:
            lines.append(f"     {'':<14} {style('bold', check.fix)}")
    healthy = all(check.ok for check in checks)
    return Output({"findings": findings}, "\n".join(lines), found=healthy)


def run_checks() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")
    if has_full_text():
        yield Check("sqlite", True, f"{sqlite3.sqlite_version} with full text")
    else:
        detail = f"SQLite {sqlite3.sqlite_version} without FTS5"
        yield Check("sqlite", False, detail, "use a Python whose SQLite has FTS5")
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
    # The programs that can write digests; `extract` is always there.
    programs = [name for name in ("claude", "gemini", "ollama") if shutil.which(name)]
    yield Check("distillers", True, ", ".join(["extract (built in)", *programs]))
    try:
        yield from missing_spaces(home)
        here = spaces.find()
    except KinenError as error:
        yield Check("space", False, error.message, error.hint)
        return
    yield Check("space", True, f"{here.name} in {here.root}")
    try:
        with Memory.open(here.root) as memory:
            yield from check_memory(memory)
            yield from check_activity(memory)
    except KinenError as error:
        yield Check("index", False, error.message, error.hint)


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
    key = os.path.join(home, bundle.FILE)
    if os.path.exists(key) and not bundle.own_key(home):
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


def check_agents() -> Iterator[Check]:
    """The agents on this machine: connected, in which version, and what is left to do by hand."""
    here = [agent for agent in AGENTS.values() if is_here(agent)]
    with ThreadPoolExecutor(4) as pool:
        versions = list(pool.map(version, here))
    for agent, number in zip(here, versions, strict=True):
        try:
            yield _check(agent, f" {number}" if number else "")
        except KinenError as error:
            yield Check(agent.name, False, error.message, error.hint)


def _check(agent: Client, number: str) -> Check:
    name = agent.name
    scopes = [scope for scope in agent.scopes if is_connected(agent, scope)]
    if not scopes:
        return Check(name, True, f"found{number}, not connected: run `kinen install {name}`")
    waiting = trust.unreviewed(folder_of(agent)) if name == "codex" else []
    if waiting:
        fix = f"{by_hand(agent, 'user')}, or run `kinen install {name} --trust`"
        return Check(name, False, f"connected{number}, {len(waiting)} hooks not approved", fix)
    switch, file = _switch_off(agent)
    if switch:
        return Check(
            name, False, f"connected{number}, hooks are off: {switch} in {file}", "remove it"
        )
    connected = f"connected{number} ({', '.join(scopes)})"
    if trust.waits(agent, scopes, os.getcwd()):
        return Check(name, False, f"{connected}, folder not trusted", by_hand(agent, "project"))
    return Check(name, True, connected)


def _switch_off(agent: Client) -> tuple[str, str]:
    """A setting that turns off all hooks of an agent, and its file; empty if there is none.

    The settings of a project count, too, wherever our hooks are.
    """
    places = (
        place
        for scope in agent.scopes
        for place in places_of(agent.name, scope, os.getcwd())
        if any(part.part == "hooks" for part in place.parts)
    )
    for place in places:
        stem, dot, suffix = place.file.rpartition(".")
        for file in (place.file, f"{stem}.local{dot}{suffix}"):  # Claude Code reads both
            try:
                settings = FORMS[place.form].parse(regular.read(file, LARGEST).decode(), file)
            except (OSError, ValueError, KinenError):
                continue
            for keys, off in agent.switches.items():
                if value_at(settings, keys) is off:
                    return f"{'.'.join(keys)} is {str(off).lower()}", file
    return "", ""


def version(agent: Client) -> str:
    """The version that an agent's program prints; empty if there is none, or not in time."""
    program = shutil.which(agent.program) if agent.program else None
    if not program:
        return ""
    try:
        printed = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    number = NUMBER.search(printed.stdout)
    return number[0] if number else ""


def check_activity(memory: Memory) -> Iterator[Check]:
    """The last event of each agent in this space, and what it was told last."""
    view = screen()._replace(width=COLUMNS)
    for agent in memory.journal.recent_activity().agents:
        detail = f"last event here {view.time(agent.at / 1000)}"
        injections, _ = memory.ledger.injections(agent=agent.agent, limit=1)
        if injections:
            last = injections[0]
            detail += f"; told last {view.time(last.at / 1000)}, {last.tokens:,} tokens"
        yield Check(agent.agent, True, detail)


def prove(name: str) -> Check:
    """Send a prompt through the hook that stands in an agent's settings; it has to arrive.

    The command is run with a payload in the client's own shape; the client itself is not started,
    so whatever is known to keep it from running hooks counts too. What was recorded is removed
    again.
    """
    agent = AGENTS.get(name)
    if agent is None or not agent.events:
        able = ", ".join(client.name for client in AGENTS.values() if client.events)
        raise QueryError(f"{name!r} has no hooks", f"use one of {able}")
    event = next(own for own, shared in agent.events.items() if shared == "UserPromptSubmit")
    line, file = _installed_line(agent, event)
    if not line:
        raise NotFound(f"{agent.title} is not connected", f"run `kinen install {name}`")
    known = _check(agent, "")
    if not known.ok:
        return known
    session = f"kinen-proof-{ids.ulid()}"
    payload = _payload(agent, event, session)
    started = time.monotonic()
    try:
        ran = subprocess.run(
            shlex.split(line),
            input=json.dumps(payload).encode(),
            capture_output=True,
            timeout=HOOK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Check(name, False, f"the hook in {file} did not end in {HOOK_SECONDS} s", line)
    except OSError as error:
        detail = f"the hook in {file} cannot run: {error.strerror}"
        return Check(name, False, detail, f"run `kinen install {name}` to repair it")
    seconds = time.monotonic() - started
    if ran.returncode:
        reason = ran.stderr.decode(errors="replace").strip().splitlines()[-1:]
        detail = f"the hook in {file} failed: {' '.join(reason) or ran.returncode}"
        return Check(name, False, detail, f"run `kinen install {name}` to repair it")
    if not _arrived(session):
        detail = f"the hook in {file} ran, and no event arrived in this space"
        return Check(name, False, detail, f"run `kinen hook {name}` with KINEN_DEBUG=1")
    detail = f"the command in {file} works: an event arrived in {seconds:.2f} s"
    return Check(name, True, f"{detail} ({agent.title} itself was not started)")


def _installed_line(agent: Client, event: str) -> tuple[str, str]:
    """The command that stands in an agent's settings for an event, and the file."""
    for scope in agent.scopes:
        for place in places_of(agent.name, scope, os.getcwd()):
            try:
                text = regular.read(place.file, LARGEST).decode()
            except (OSError, ValueError):
                continue
            for part in place.parts:
                line = ""
                if part.part == "hooks":
                    settings = FORMS[place.form].parse(text, place.file)
                    line = _hook_line(value_at(settings, (*part.keys, event)))
                elif part.part == "plugin":
                    written = text.partition("KINEN: string[] = ")[2].partition("\n")[0]
                    try:
                        line = shlex.join([*json.loads(written), "hook", agent.name])
                    except (ValueError, TypeError):
                        hint = f"run `kinen install {agent.name}` to repair it"
                        raise KinenError(f"{place.file} is damaged", hint) from None
                # A file that came with a repository runs nothing but the kinen in the PATH.
                if line and (not place.root or line.startswith("kinen hook ")):
                    return line, place.file
    return "", ""


def _hook_line(entry: Any) -> str:
    """Our command among the hooks of an event."""
    if calls_kinen(entry) and isinstance(entry, dict):
        return str(entry.get("command") or entry.get("bash"))
    inner = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
    return next(filter(None, map(_hook_line, inner)), "")


def _payload(agent: Client, event: str, session: str) -> dict[str, Any]:
    """A prompt in the shape of a client."""
    fields = {"session_id": session, "cwd": os.getcwd(), "prompt_id": session, "prompt": session}
    payload: dict[str, Any] = {"hook_event_name": event, "timestamp": ids.milliseconds()}
    for name, value in fields.items():
        path = agent.fields.get(name, (name,))[0]
        key, _, number = path.partition(".")
        if key != "timestamp":
            payload[key] = [value] if number else value
    return payload


def _arrived(session: str) -> bool:
    """Whether a session was recorded; it is removed again."""
    with Memory.open() as memory:
        entries, _ = memory.journal.entries("observations", session=session)
        opened, _ = memory.journal.entries("capsules", session=session)
        for entry in (*entries, *opened):
            memory.journal.forget(entry.ref)
        return bool(entries)
