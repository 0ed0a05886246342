"""Is what agents are told used? Real sessions replayed one after the other, each told by hooks.

    python benchmarks/impact.py --data FILE.jsonl --repo GIT_FOLDER [--sessions N]

FILE and GIT_FOLDER are those of `summaries.py`. Each session is replayed event by event through
`kinen hook claude-code` in the order in which it happened, so that its start and its prompts are
told what kinen knows of the sessions before it; then `kinen ledger impact` is asked.

Nobody told these agents anything when they worked: what they used, they found without it. So this
measures whether the right things are told (and how late they were found without being told), not
whether being told makes a difference; for that an agent would have to run twice.
Aims: 60 % of told lines used or confirmed, no entry told twice to a session.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from days import Project, transcript
from kinen import Memory
from kinen.memory import ledger
from kinen.recall.usefulness import Heard, Moment, is_used, told_lines
from record import save

NOTHING = Heard("")


def steps_until_used(project: Project) -> list[int]:
    """For each told line that was used: the events of the session before it came up."""
    steps: list[int] = []
    with Memory.open(project.trees["main"], home=project.env["KINEN_HOME"]) as memory:
        for injection in memory.ledger.injections(event="SessionStart")[0]:
            capsule = ledger.ids.key_id(injection.agent, injection.session)
            db = memory.ledger._journal.db
            events = list(ledger.actions(db, capsule, injection.at, ledger.AFTER, later=True))
            heard = [Moment(NOTHING, Heard(ledger._used_in([event])), NOTHING) for event in events]
            for line in told_lines(injection.text):
                first = next((n for n, then in enumerate(heard) if is_used(line, then)), None)
                steps += [] if first is None else [first]
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--sessions", type=int, default=40)
    parser.add_argument("--show", action="store_true", help="print each told line with its use")
    parser.add_argument("--no-save", action="store_true")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.data.read_text().splitlines()]
    rows = sorted(rows, key=lambda row: str(row["created_at"]))[: arguments.sessions]
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder))
        for number, row in enumerate(rows):
            client = project.begin("claude-code", "main")
            project.replay(client, transcript(arguments.repo, row["path"], client.tree))
            client.end(project.journal)
            print(f"\r{number + 1} of {len(rows)} sessions", end="", file=sys.stderr)
        print(file=sys.stderr)
        words = ("-m", "kinen", "ledger", "impact", "--json")
        found: dict[str, Any] = json.loads(
            project.run(sys.executable, *words, cwd=project.trees["main"])
        )
        steps = steps_until_used(project)
        if arguments.show:
            show(project)
    found["sessions"] = len(rows)
    found["events_until_used"] = median(steps) if steps else None
    print(json.dumps(found, indent=2))
    if not arguments.no_save:
        save("impact", found)


def show(project: Project) -> None:
    with Memory.open(project.trees["main"], home=project.env["KINEN_HOME"]) as memory:
        for injection in memory.ledger.injections()[0]:
            moment = memory.ledger._moment(injection)
            print(f"\n{injection.event} {injection.session} {injection.tokens} tokens")
            for line in told_lines(injection.text) if moment else ():
                sign = {True: "+", False: "-", None: "="}[is_used(line, moment, confirmed=True)]
                print(sign, line[:160])


if __name__ == "__main__":
    main()
