"""The page Health: the checks of `doctor`, agents and their last events, disk, what was masked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

from kinen.errors import KinenError
from kinen.memory import Memory
from kinen.memory.checks import REMOVE, Check, check_memory, missing_spaces
from kinen.render.html import kind_name
from kinen.web.page import Page, Visit

FIXES = {
    "kinen index": ("sync", "Update the index"),
    "kinen index --rebuild": ("rebuild", "Build the index again"),
    "kinen list observations": ("collect", "Import pending events"),
    "kinen daemon restart": ("restart", "Restart the daemon"),
}
"""What `kinen doctor` suggests, as actions of this page.

`kinen trust` and `kinen install` decide what may run on this machine: they are for the command line
alone, and are shown as commands.
"""
DONE = {
    "synced": "The index is up to date.",
    "rebuilt": "The index was built again.",
    "collected": "The spool is empty.",
    "hidden": "Hidden: searches, pages and agents show it no more.",
    "removed": "The space was removed from the list; its data is still there.",
    "restarted": "The daemon was restarted.",
    "busy": "It takes a while and goes on in the background.",
}
"""What the last form did."""
_MOMENT = re.compile(r"\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+Z")


def page(memory: Memory, visit: Visit) -> Page:
    state = memory.index.status()
    synced = f"last {state.synced[:16].replace('T', ' ')}" if state.synced else "never yet"
    repairs = [
        ("kinen index", f"reads what is new in files, git and the journal; {synced}"),
        ("kinen index --rebuild", "reads everything again; nothing is lost"),
        ("kinen list observations", "stores what hooks wrote while the journal was busy"),
    ]
    if visit.can_restart:
        repairs.append(
            ("kinen daemon restart", "after an update, or if it hangs; you stay signed in")
        )
    kinds = sorted(state.kinds.items(), key=lambda pair: -pair[1])
    spaces = visit.daemon.get("spaces", ())
    failed = [
        Check("daemon", False, f"{space['name']}: {space['error']}", "kinen daemon logs")
        for space in spaces
        if space.get("error")
    ]
    values = {
        "done": DONE,
        "fixes": FIXES,
        "remove": REMOVE,
        "checks": [
            replace(check, detail=_MOMENT.sub(r"\1 \2", check.detail))
            for check in (*check_memory(memory), *missing_spaces(memory.space.home), *failed)
        ],
        "repairs": repairs,
        "agents": memory.journal.agents(),
        "kinds": [(kind_name(kind), f"{count:,}") for kind, count in kinds],
        "state": state,
        "masked": [(name, f"{count:,}") for name, count in memory.journal.masked()],
        "spaces": [(space["name"], space["state"], space.get("error") or "") for space in spaces],
    }
    return Page("Health", "health.html", values, live=True)


def progress(_: Memory, visit: Visit) -> Callable[[], bytes]:
    """What goes on, for the dot of a page that is open."""
    level, text = visit.health
    return lambda: json.dumps({"level": level, "text": text}).encode()


def damage_page(memory: Memory, error: Exception) -> Page:
    """Stands in place of any page when a database is damaged: what it is, and how to repair it.

    The index is repaired by a button, the journal by hand.
    """
    try:
        journal = memory.journal.state()
        problem = journal.problem or journal.lost
        path = journal.path
    except KinenError as damage:
        problem = damage.message
        path = memory.core.file("journal.db")
    part = "journal" if problem else "index"
    values = {"error": error, "problem": problem, "path": path}
    return Page(f"The {part} is damaged", "damage.html", values, status=500)
