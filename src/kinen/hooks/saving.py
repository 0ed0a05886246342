"""Asks the agent that is there to save what was decided or learned: `memories.ask`.

At the start of a session one line of the brief does (`journal/start.py`). With `stop` it is also
asked when a turn ends in which files were edited or something was committed, and nothing was saved.
Hooks load this module: it is light.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.hooks.event import Session
    from kinen.hooks.injection import Context

STOP = (
    "Before you end: if this work decided or taught something that the next session needs, save it"
    " with `kinen_remember` (or `kinen memories add`): one sentence, why, files. If not, just end."
)
COMPACT = "List what was decided under the heading Decisions, what was learned under Lessons."


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
    since = ledger.last_told(context.database, "Stop", session.agent, session.id)
    return STOP if capsules.worked(db, session.capsule, since) else ""
