"""Asks the agent that is there to save what was decided or learned: `memories.ask`.

At the start of a session one line of the brief does (`journal/start.py`). With `stop` it is also
asked when a turn ends in which files were edited or something was committed, and nothing was saved;
and, once a session, when the user stopped the agent at its work or took it back.
Hooks load this module: it is light.
"""

from __future__ import annotations

import os

from kinen.model.kinds import MEMORY_CLOSE, MEMORY_OPEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.hooks.event import Session
    from kinen.hooks.injection import Context
    from kinen.journal import capsules

STOP = (
    "Before you end: if this work decided or taught something that the next session needs, save it"
    " with `kinen_remember` (or `kinen memories add`): one sentence, why, files. If not, just end."
)
COMPACT = "List what was decided under the heading Decisions, what was learned under Lessons."
CORRECTED = (
    f"{MEMORY_OPEN}If this prompt corrects what you did, save what the next session must know of it"
    f" with `kinen_remember` (or `kinen memories add`): one sentence, why, files.{MEMORY_CLOSE}"
)
CORRECTION = "correction"
"""The subject of that request in the ledger."""
LARGEST = 1 << 20
"""Bytes of a file that is read to see whether an edit was taken back."""
EDITED = 8
"""Files of a turn that are read for it: the last ones."""


def at_stop(session: Session, context: Context) -> str:
    """What to say at the end of a turn, or an empty string.

    A client that can be asked to go on says with `stop_hook_active` whether it was asked already.
    """
    if session.payload.get("stop_hook_active") is not False or context.database is None:
        return ""
    from kinen.journal import capsules, ledger

    db = session.journal()
    if db is None or not session.id:
        return ""
    scope = (session.agent, session.id)
    began = capsules.last_prompt(db, session.capsule)
    if ledger.last_told(context.database, "UserPromptSubmit", *scope, CORRECTION) >= began > 0:
        return ""  # asked at the prompt of this turn
    since = ledger.last_told(context.database, "Stop", *scope)
    return STOP if capsules.worked(db, session.capsule, max(began, since + 1)) else ""


def at_prompt(session: Session, context: Context, prompt: str) -> str:
    """What to say with a prompt that corrects the turn before, or an empty string.

    That the user corrects is read from what was done: work that was stopped or refused has no
    answer after it, and an edit that was taken back is no longer in its file. Words only spare a
    prompt that asks to go on.
    """
    if context.database is None or not session.id:
        return ""
    if "UserPromptSubmit" not in session.client.told_at:
        return ""
    from kinen.journal import capsules, ledger
    from kinen.journal.recent import goes_on

    scope = ("UserPromptSubmit", session.agent, session.id)
    if ledger.last_told(context.database, *scope, CORRECTION):
        return ""
    db = session.journal()
    turn = capsules.turn_before(db, session.capsule, session.now) if db else []
    work = [at for at, row in enumerate(turn) if row.kind != "message"]
    if not work or goes_on(prompt):
        return ""
    stopped = work[-1] == len(turn) - 1 or any(row.interrupted for row in turn)
    return CORRECTED if stopped or _taken_back(session.here.tree, turn) else ""


def _taken_back(tree: str, turn: list[capsules.Deed]) -> bool:
    """Was an edit undone after the turn: are its old lines in the file again, and no new one?"""
    last = {row.file: row for row in turn if row.kind == "file_diff" and row.file}
    return any(
        _is_undone(os.path.join(tree, path), row.text, turn[-1].at)
        for path, row in [*last.items()][-EDITED:]
        if not os.path.isabs(path) and ".." not in path.split("/")
    )


def _is_undone(path: str, diff: str, since: int) -> bool:
    from kinen.storage import regular

    lines = diff.splitlines()
    added = {line[1:].strip() for line in lines if line.startswith("+")} - {""}
    removed = {line[1:].strip() for line in lines if line.startswith("-")} - {""}
    try:
        changed_at = os.stat(path).st_mtime * 1000
    except OSError:
        return bool(added) and not removed  # a new file that is gone
    if changed_at <= since or not added - removed:
        return False
    now = {line.strip() for line in regular.text(path, LARGEST).splitlines()}
    return bool(now) and removed <= now and now.isdisjoint(added - removed)
