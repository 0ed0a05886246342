"""`kinen doctor`: what is wrong on this machine, and the command that mends it."""

from __future__ import annotations

import os
import sqlite3
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from kinen import config, paths, render
from kinen.cli.flags import for_scripts
from kinen.cli.run import colours
from kinen.errors import KinenError
from kinen.ipc import extras
from kinen.space import find as spaces
from kinen.space import registry
from kinen.storage import private

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen.memory import Memory


class Finding(NamedTuple):
    """One thing that was looked at."""

    what: str
    fine: bool
    said: str
    mend: str = ""


def command() -> click.Command:
    return doctor


@click.command()
@for_scripts
def doctor(as_json: bool) -> int:
    """Look at everything kinen needs; exit 1 if something is wrong."""
    found = list(examine())
    if as_json:
        print(render.to_json({"findings": [one._asdict() for one in found]}))
    else:
        style = colours()
        for one in found:
            mark = "ok  " if one.fine else style("warn", "bad ")
            print(f"{mark} {one.what:<14} {one.said}")
            if one.mend and not one.fine:
                print(f"     {'':<14} {style('bold', one.mend)}")
    return 0 if all(one.fine for one in found) else 1


def examine() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")
    yield _full_text()
    home = paths.default_home()
    yield _writable(home)
    try:
        config.load(home, None)
        yield Finding("your config", True, paths.user_file())
    except KinenError as error:
        yield Finding("your config", False, error.message, error.hint)
    yield _daemon(home)
    try:
        for one in registry.registered(home):
            if one.missing:
                mend = f"kinen space remove {one.name}"
                yield Finding("space", False, f"{one.name}: {one.root} is gone", mend)
        here = spaces.find()
    except KinenError as error:
        yield Finding("space", False, error.message, error.hint)
        return
    yield Finding("space", True, f"{here.name} in {here.root}")
    yield from _memory(here.root)


def _full_text() -> Finding:
    try:
        with sqlite3.connect(":memory:") as db:
            db.execute("CREATE VIRTUAL TABLE f USING fts5(t)")
    except sqlite3.OperationalError:
        said = f"SQLite {sqlite3.sqlite_version} without FTS5"
        return Finding("sqlite", False, said, "use a Python whose SQLite has FTS5")
    return Finding("sqlite", True, f"{sqlite3.sqlite_version} with full text")


def _writable(home: str) -> Finding:
    try:
        private.write(os.path.join(home, ".doctor"), "")
        os.unlink(os.path.join(home, ".doctor"))
        tightened, links = private.audit(home)
    except (OSError, KinenError) as error:
        return Finding(
            "data folder", False, f"{home}: {error}", "set KINEN_HOME to a folder of yours"
        )
    if links:
        return Finding("data folder", False, f"{links[0]} is a link", f"rm {links[0]}")
    closed = f"; closed to others: {tightened} files and folders" if tightened else ""
    return Finding("data folder", True, f"{home}{closed}")


def _daemon(home: str) -> Finding:
    """One that died or hangs is put away here: the next search starts another."""
    from kinen.daemon import control

    mended = control.clean_up(home)
    if mended:
        return Finding("daemon", True, f"{mended}; the next search starts another")
    seen = control.look(home)
    if seen.refusal:
        said = f"does not serve this kinen: {seen.refusal}"
        return Finding("daemon", False, said, "kinen daemon restart")
    bad = [one for one in seen.state.get("spaces", ()) if one["error"]]
    if bad:
        said = f"{bad[0]['name']}: {bad[0]['error']}"
        return Finding("daemon", False, said, "kinen daemon status")
    if seen.state:
        return Finding("daemon", True, f"runs, pid {seen.state['pid']}")
    if not extras.installed("http"):
        return Finding("daemon", True, "optional: " + extras.missing("kinen daemon", "http"))
    return Finding("daemon", True, "does not run; none is needed")


def _memory(root: str) -> Iterator[Finding]:
    from kinen.memory import Memory

    try:
        with Memory.open(root) as memory:
            problem = memory.index.check()
            state = memory.index.status()
            yield from _journal(memory)
    except KinenError as error:
        yield Finding("index", False, error.message, error.hint)
        return
    if problem:
        yield Finding("index", False, problem, "kinen index --rebuild")
    elif not state.synced:
        yield Finding("index", False, "never built", "kinen index")
    else:
        yield Finding("index", True, f"{state.counts.documents:,} documents, {state.synced}")
    if state.counts.skipped:
        said = f"{state.counts.skipped:,} files could not be read"
        yield Finding("files", False, said, "kinen index status")
    yield _model(memory, state.pending, state.provider)
    if state.untrusted:
        yield Finding("trust", False, f"ignored keys: {', '.join(state.untrusted)}", "kinen trust")


def _journal(memory: Memory) -> Iterator[Finding]:
    """The journal is the one thing that cannot be built again."""
    state = memory.journal.state()
    if not state.exists:
        return
    if state.problem:
        mend = f"copy {state.path} away, then `kinen export` what can still be read"
        yield Finding("journal", False, state.problem, mend)
        return
    if state.lost:
        mend = (
            "restore journal.db together with journal.db-wal from a backup;"
            f" to go on without, remove {os.path.dirname(state.path)}/journal.seen"
        )
        yield Finding("journal", False, state.lost, mend)
    else:
        yield Finding("journal", True, f"{state.observations:,} observations in {state.path}")
    if state.waiting:
        said = f"{state.waiting:,} observations wait in the spool"
        yield Finding("spool", False, said, "kinen list observations")
    if state.unreadable:
        said = f"{len(state.unreadable):,} spooled files cannot be read: {state.unreadable[0]}"
        yield Finding("spool", False, said, "look at them, then remove them")


def _model(memory: object, pending: int, provider: str) -> Finding:
    from kinen.memory import Memory

    assert isinstance(memory, Memory)
    if provider == "none":
        return Finding("model", True, "none: full text only")
    try:
        name = memory.index.try_model()
    except KinenError as error:
        return Finding("model", False, error.message, error.hint)
    if pending:
        return Finding("model", False, f"{name}; {pending:,} chunks have no vector", "kinen index")
    return Finding("model", True, name)
