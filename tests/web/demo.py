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
EARLIER: tuple[tuple[float, str, str, tuple[tuple[str, str], ...]], ...] = (
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
    (
        2.2,
        "gemini",
        "tariffs of three carriers",
        (
            ("message", "Put the tariffs of our carriers into one table."),
            (
                "file_diff",
                "Tool: Edit\nFile: carriers/tariffs.py\n- PRICES = {}\n+ PRICES = read()",
            ),
            ("file_diff", "Tool: Edit\nFile: carriers/tariffs.csv\n+ north,2kg,4.90"),
            ("command", "$ pytest -q tests/carriers\n8 passed"),
            (
                "message",
                (
                    "Decision: tariffs are a CSV file, because the sales team edits them."
                    "\n\nNext: ask Mira for the tariffs of the third carrier."
                ),
            ),
        ),
    ),
    (
        1.3,
        "claude-code",
        "parcels without a weight",
        (
            ("message", "Orders without a weight stop the whole batch. Skip and report them."),
            (
                "file_diff",
                "Tool: Edit\nFile: orders/batch.py\n- raise NoWeight\n+ skipped.append(order)",
            ),
            ("command", "$ pytest -q tests/orders\n1 failed: test_report_lists_skipped"),
            ("file_diff", "Tool: Edit\nFile: orders/report.py\n- orders\n+ orders + skipped"),
            ("command", "$ pytest -q tests/orders\n5 passed"),
            ("message", "Decision: a batch goes on without an order that has no weight."),
        ),
    ),
    (
        0.35,
        "gemini",
        "addresses in Iceland",
        (
            ("message", "Addresses without a postcode are refused. Iceland has some."),
            ("file_diff", "Tool: Edit\nFile: orders/address.py\n- required\n+ optional"),
            ("file_diff", "Tool: Edit\nFile: labels/render.py\n- line(code)\n+ line(code or city)"),
            (
                "message",
                (
                    "Addresses may lack a postcode; the label then shows the city."
                    "\n\nNext: print an Icelandic label on the real printer."
                ),
            ),
        ),
    ),
    (
        0.2,
        "claude-code",
        "speed of the nightly batch",
        (
            ("message", "The nightly batch takes 40 minutes. Find out where."),
            ("command", "$ python -m cProfile orders/batch.py\n31 min in carriers/quote.py"),
            (
                "file_diff",
                "Tool: Edit\nFile: carriers/quote.py\n- for order in orders\n+ quote_all",
            ),
            ("command", "$ pytest -q tests/carriers\n8 passed"),
            ("message", "Decision: quotes are asked for 50 orders at a time, the carrier's limit."),
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
            record_session(memory, agent, intent, events, at - round(days * DAY))
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
