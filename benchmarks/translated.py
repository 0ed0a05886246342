"""Does a session tell as much in other languages as in English?

    python benchmarks/translated.py [--texts FILE] [--verbose] [--no-save]

`translated_sessions.json` has six sessions in six languages: a prompt, what was done (an edit, a
command that fails, the same one that passes, a commit), a closing message and a question. Another
file may have other sessions, each with `events` in place of those: commands and edits. The
messages have headings, labels in bold, plain labels, check lists or only prose; `[[next|…]]` marks
what is a fact in them, and of which kind. Each language is a space of its own. After each session,
`handoff` and the brief of the next one are asked for; at the end each question is recalled.

`handoff`, `brief`, `recall`: facts that are there, and their share of the English ones. `section`:
facts in the part of the summary that is theirs. `memories`: what was drawn from all six.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen import Memory

TEXTS = Path(__file__).parent / "translated_sessions.json"
FACT = re.compile(r"\[\[(\w+)\|([^\]]+)\]\]")
KINDS = ("outcome", "next", "decided", "learned")
HOUR = 3_600_000
BEGIN = round(time.time() * 1000) - 8 * HOUR
SURFACES = ("handoff", "brief", "recall", "section")


def played(memory: Memory, deeds: dict[str, Any], session: dict[str, str], number: int) -> str:
    """Record a session as hooks do; returns the id of its capsule."""
    journal = memory.journal
    at = BEGIN + number * HOUR
    scope = {"session": f"s{number}", "agent": "claude-code"}
    capsule = journal.open_capsule(session["prompt"], scope=scope).id

    def seen(text: str, kind: str, *files: str, **about: Any) -> None:
        journal.observe(
            text, kind=kind, files=files, capsule=capsule, scope=scope, provenance=about, at=at
        )

    def ran(command: str, code: int, output: str) -> None:
        seen(f"$ {command}\n{output}", "command", command=command, exitCode=code)

    seen(session["prompt"], "message", role="user")
    for event in deeds.get("events") or written(deeds, number):
        if path := event.get("edit"):
            seen(f"Tool: Edit\nFile: {path}\n@@", "file_diff", path, toolName="Edit", filePath=path)
        else:
            ran(event["command"], event["code"], event["output"])
    seen(FACT.sub(r"\2", session["final"]), "message", role="assistant")
    journal.close_capsule(capsule, at=at)
    return capsule


def written(deeds: dict[str, str], number: int) -> list[dict[str, Any]]:
    """The events of a session that was written for this."""
    message = deeds["commit"]
    return [
        {"command": deeds["run"], "code": 1, "output": deeds["fails"]},
        {"edit": deeds["edit"]},
        {"command": deeds["run"], "code": 0, "output": deeds["passes"]},
        {
            "command": f'git commit -am "{message}"',
            "code": 0,
            "output": f"[main {number:07x}] {message}",
        },
    ]


def measured(
    deeds: list[dict[str, Any]], sessions: list[dict[str, str]], verbose: bool = False
) -> dict[str, Any]:
    """The facts of one language that each surface has, by kind."""
    from kinen import Memory
    from kinen.journal.summary import parse_summary
    from kinen.memory.reports import handoff_text
    from kinen.recall.tiers import shown

    counts: dict[str, Counter[str]] = {name: Counter() for name in ("all", *SURFACES)}

    def count(surface: str, text: str, facts: Iterator[tuple[str, str]]) -> None:
        for kind, fact in facts:
            there = fact in " ".join(text.split())
            counts[surface][kind] += there
            if verbose and not there:
                print(f"  {surface} {kind}: {fact}")

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "space")
        Path(root, ".kinen").mkdir(parents=True)
        with Memory.open(root, home=Path(folder, "home")) as memory:
            for number, (deed, session) in enumerate(zip(deeds, sessions, strict=True), 1):
                facts = FACT.findall(session["final"])
                counts["all"].update(kind for kind, _ in facts)
                capsule = played(memory, deed, session, number)
                count("handoff", handoff_text(memory.reports.handoff_report()), iter(facts))
                count("brief", memory.journal.brief("next", "claude-code"), iter(facts))
                parts = parse_summary(memory.journal.capsule(capsule)[2][0].content)
                for kind, fact in facts:
                    count("section", parts.get(kind, ""), iter([(kind, fact)]))
            memory.sync()
            for session in sessions:
                facts = FACT.findall(session["final"])
                count("recall", shown(memory.recall(session["ask"])), iter(facts))
            memories = len(list(memory.consolidation.memories()))
    return {**{name: dict(found) for name, found in counts.items()}, "memories": memories}


def main() -> None:
    from record import save

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--texts", type=Path, default=TEXTS, help="another file of sessions")
    parser.add_argument("--verbose", action="store_true", help="facts that are missing")
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    texts = json.loads(chosen.texts.read_text())
    deeds = texts.pop("sessions")
    figures: dict[str, Any] = {}
    heads = "".join(f"{name:>15}" for name in SURFACES)
    print(f"{'':<10}{'facts':>6}{heads}{'memories':>10}")
    for language, sessions in texts.items():
        row = figures[language] = measured(deeds, sessions, chosen.verbose)
        cells = f"{language:<10}{sum(row['all'].values()):>6}"
        for name in SURFACES:
            found = sum(row[name].values())
            share = found / sum(figures["English"][name].values())
            cells += f"{found:>8}{share:>7.0%}"
        print(f"{cells}{row['memories']:>10}", flush=True)
    print(f"\n{'section':<10}" + "".join(f"{kind:>10}" for kind in KINDS))
    for language, row in figures.items():
        shares = (f"{row['section'].get(kind, 0)}/{row['all'].get(kind, 0)}" for kind in KINDS)
        print(f"{language:<10}" + "".join(f"{share:>10}" for share in shares))
    if not chosen.no_save:
        save("translated" if chosen.texts == TEXTS else "translated-real", figures)


if __name__ == "__main__":
    main()
