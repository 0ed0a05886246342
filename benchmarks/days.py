"""What the next session is told after a day of others, by budget.

    python benchmarks/days.py --data FILE.jsonl [--days 12] [--show N]

FILE has one session a line, as a model summed it up: `intent`, `outcome`, `open_items`, `files`,
`learnings`. A day is five of them in sequence, by two agents on two branches: a prompt, edits, for
each second one a test that fails, and a last message with the outcome and, as a list, what is open.
One of the five is killed before its last message. A decision is saved by `checkpoint` for each
second one, and three sessions of one question each come last. What is told at the next start is
compared with what was put in: a statement is there if its first words are, in their order. Aims at
600 tokens: outcomes 90 %, next steps 95 %, decisions 70 %, failures 95 %.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinen import Memory
from kinen.ids import milliseconds
from kinen.text import estimate, words
from record import save

if TYPE_CHECKING:
    from collections.abc import Iterator

    Gold = dict[str, list[str]]

BUDGETS = (300, 600, 1000)
DAY = 5
HOUR = 3_600_000
FIRST = 6
"""Words of a statement that show that it is there."""
TRIVIAL = (
    ("how do I quit vim", "Type :q and press enter."),
    ("thanks", "You are welcome."),
    ("what does main.py do?", "It starts the server. Should I explain more?"),
)


def present(statement: str, text: str) -> bool:
    wanted = " ".join(words(statement)[:FIRST])
    return wanted in " ".join(words(text))


def play(memory: Memory, sessions: list[dict[str, Any]], clock: Iterator[int]) -> Gold:
    """Record a day; returns what the next start should tell."""
    gold: Gold = {"outcome": [], "next": [], "decisions": [], "failures": []}
    for number, session in enumerate(sessions):
        scope = {"session": f"s{number}", "agent": ("claude-code", "codex")[number % 2]}
        capsule = memory.journal.open_capsule(session["intent"], scope=scope).id

        def keep(text: str, kind: str, where: str = capsule, **more: Any) -> None:
            memory.observe(text, kind=kind, capsule=where, at=next(clock), **more)

        keep(session["intent"], "message", provenance={"role": "user"})
        for path in session["files"][:3]:
            keep(f"Tool: Edit\nFile: {path}\n+x", "file_diff", files=[path])
        if number % 2:
            command = (
                f"pytest -q tests/{Path(session['files'][0]).stem if session['files'] else number}"
            )
            about = {"command": command, "exitCode": 1}
            keep(f"$ {command}\nAssertionError: case {number}", "error", provenance=about)
            gold["failures"].append(command)
        if number == DAY - 2:
            memory.journal.close_capsule(capsule)
            gold["outcome"].append("stopped in the middle")
            continue
        steps = session["open_items"][:2]
        answer = session["outcome"]
        answer += "\n\nNext steps:\n" + "\n".join(f"- {step}" for step in steps) if steps else ""
        keep(answer, "message", provenance={"role": "assistant"})
        memory.journal.close_capsule(capsule)
        gold["next"] += steps
        gold["outcome"] += [session["outcome"]] if number == DAY - 1 else []
        if number % 2 == 0 and session["learnings"]["repo"]:
            decision = session["learnings"]["repo"][0]
            memory.worklog.checkpoint(decision, type="decision")
            gold["decisions"].append(decision)
    for number, (question, answer) in enumerate(TRIVIAL):
        scope = {"session": f"t{number}", "agent": "claude-code"}
        capsule = memory.journal.open_capsule(question, scope=scope).id
        for role, text in (("user", question), ("assistant", answer)):
            memory.observe(
                text, kind="message", capsule=capsule, at=next(clock), provenance={"role": role}
            )
        memory.journal.close_capsule(capsule)
    return gold


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--days", type=int, default=12)
    parser.add_argument("--show", type=int, default=0, help="print the briefs of so many days")
    options = parser.parse_args()
    sessions = [json.loads(line) for line in options.data.read_text().splitlines()]
    counts = {
        budget: dict.fromkeys(("outcome", "next", "decisions", "failures"), 0) for budget in BUDGETS
    }
    totals = dict.fromkeys(("outcome", "next", "decisions", "failures"), 0)
    trivial = 0
    for number in range(min(options.days, len(sessions) // DAY)):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "project")
            subprocess.run(["git", "init", "-q", "-b", "main", root], check=True)
            with Memory.open(root, home=Path(folder, "home")) as memory:
                clock = itertools.count(milliseconds() - HOUR, 1000)
                gold = play(memory, sessions[number * DAY : (number + 1) * DAY], clock)
                for kind, statements in gold.items():
                    totals[kind] += len(statements)
                for budget in BUDGETS:
                    text = memory.journal.brief("next", "codex", budget)
                    assert estimate(text) <= budget
                    trivial += "vim" in text
                    for kind, statements in gold.items():
                        counts[budget][kind] += sum(present(line, text) for line in statements)
                    if budget == 600 and number < options.show:
                        print(text, "\n", json.dumps(gold, indent=1, ensure_ascii=False))
    results: dict[str, Any] = {"of": totals, "trivial told": trivial}
    print(f"{'tokens':8}" + "".join(f"{kind:>14}" for kind in totals))
    for budget, row in counts.items():
        print(f"{budget:<8}" + "".join(f"{row[k]:>8}/{totals[k]:<5}" for k in totals))
        results[str(budget)] = {k: round(row[k] / max(1, totals[k]), 3) for k in totals}
    print("briefs with a trivial session:", trivial)
    save("days", results)


if __name__ == "__main__":
    main()
