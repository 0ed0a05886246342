"""The demo space as a project that was worked on: sessions of two agents, commits, a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kinen.cli.demo import COMMITS, EVENTS
from kinen.memory import Memory
from kinen.text import now

if TYPE_CHECKING:
    from daemon.served import Project

DAY = 86_400_000
AGES = (20 * 24 * 60, 45, 5)
"""Minutes since each commit of the demo: the second ends the session about labels."""
LABELS = "fix the blank labels"
EARLIER: tuple[tuple[int, str, str, tuple[tuple[str, str], ...]], ...] = (
    (
        12,
        "gemini",
        "webhook retries give up too early",
        (
            ("message", "Shops miss events. How long do we retry?"),
            ("command", "$ rg -n backoff retries/\nretries/queue.py:14: backoff = 60"),
            ("message", "Decision: retry webhooks for 24 hours with exponential backoff."),
        ),
    ),
    (
        4,
        "claude-code",
        "sessions to PostgreSQL",
        (
            ("message", "Move login sessions from Redis to PostgreSQL without logging people out."),
            ("file_diff", "Tool: Edit\nFile: sessions/store.py\n- redis.get(key)\n+ rows.get(key)"),
            ("error", "psycopg.OperationalError: connection pool exhausted"),
            ("command", "$ pytest -q\n12 passed"),
            ("message", "Decision: the pool of connections is 60 wide."),
        ),
    ),
)


def fill(project: Project) -> None:
    """Record sessions and commits in a project, and draw memories from them."""
    at = round(now() * 1000)
    for (message, files), minutes in zip(COMMITS, AGES, strict=True):
        for path, text in files.items():
            target = project.root / path
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
        project.git("add", "-A")
        created = f"@{at // 1000 - 60 * minutes} +0000"
        with pytest.MonkeyPatch.context() as patch:
            for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
                patch.setenv(name, created)
            project.git("commit", "-q", "-m", message)
    with Memory.open(project.root) as memory:
        for days, agent, intent, events in EARLIER:
            record_session(memory, agent, intent, events, at - days * DAY)
        record_session(memory, "claude-code", LABELS, EVENTS, at - DAY // 24)
        memory.consolidation.consolidate()
        memory.sync()
        recall = memory.recall("why are the labels blank")
        refs = [item.ref for item in recall.items]
        text = "\n\n".join(item.text for item in recall.items)
        memory.ledger.record_answer("kinen_recall", "claude-code", text, refs)


def record_session(
    memory: Memory, agent: str, intent: str, events: tuple[tuple[str, str], ...], at: int
) -> None:
    scope = {"session": f"{agent}-{intent.split(maxsplit=1)[0]}", "agent": agent}
    store = memory.core.store  # the journal of a memory knows no time but now
    capsule = store.open_capsule(intent, "session", memory.journal.scope(scope), at)
    for number, (word, text) in enumerate(events):
        kind = "message" if word in ("user", "assistant") else word
        files = [text.split("File: ")[1].split("\n")[0]] if "File: " in text else []
        role = {"role": "user" if number == 0 else "assistant"}
        moment = at + 60_000 * (number + 1)
        memory.observe(text, kind=kind, scope=scope, files=files, provenance=role, at=moment)
    store.close_capsule(capsule.ref, "", at + 60_000 * (len(events) + 1))
