"""Is what agents are told used? Real sessions replayed one after the other, each told by hooks.

    python benchmarks/impact.py --data FILE.jsonl --repo GIT_FOLDER [--sessions N]

FILE and GIT_FOLDER are those of `summaries.py`. Each session is replayed event by event through
`kinen hook claude-code` in the order in which it happened, so that its start and its prompts are
told what kinen knows of the sessions before it; then `kinen ledger impact` is asked.

Nobody told these agents anything when they worked: what they used, they found without it. So this
measures whether the right things are told, not whether being told makes a difference; for that an
agent would have to run twice.
Aims: 60 % of told lines used or confirmed, no entry told twice to a session.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from days import Project, transcript
from kinen import Memory
from kinen.recall.usefulness import Common, told_lines
from record import save


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
        if arguments.show:
            show(project)
    found["sessions"] = len(rows)
    print(json.dumps(found, indent=2))
    if not arguments.no_save:
        save("impact", found)


def show(project: Project) -> None:
    with Memory.open(project.trees["main"], home=project.env["KINEN_HOME"]) as memory:
        injections = memory.ledger.injections()[0]
        common = Common(line for told in injections for line in told_lines(told.text))
        for injection in injections:
            moment = memory.ledger._moment(injection)
            print(f"\n{injection.event} {injection.session} {injection.tokens} tokens")
            for line in told_lines(injection.text) if moment else []:
                sign = {True: "+", False: "-", None: "="}[common.used(line, moment, confirmed=True)]
                print(sign, line[:160])


if __name__ == "__main__":
    main()
