"""Which session wrote a commit: the answers of the ladder against trailers, by repository and step.

    python benchmarks/authorship.py GIT_DIR … [--journal] [--rewritten] [--wrong]

The repositories are git directories with Entire's checkpoints. A commit with a trailer whose
session has a transcript is a question; its trailers are taken away, and the sessions of the
repository are asked for. With `--journal` edits are cut as the journal keeps them. With
`--rewritten` each commit gets another id, and the time of its commit is a day later, as after a
rebase.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.agents.tool_use import DIFF, WINDOW
from kinen.recall.authorship import AROUND, STEPS, Ledger, Patch, Work, work
from kinen.sources.git.patches import patch as read_patch
from kinen.sources.traces import entire
from kinen.sources.traces.notes import CHECKPOINT
from kinen.sources.traces.objects import Objects
from kinen.space import gitcommand
from kinen.space.repository import Git
from record import save

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDINARY = ("--exclude=refs/heads/entire/*", "--exclude=refs/entire/*", "--all")
DAY = 86_400_000


class Answer(NamedTuple):
    """What was answered for a commit."""

    sha: str
    subject: str
    gold: tuple[str, ...]
    first: str
    step: str
    share: float
    certain: bool
    traced: bool
    """Whether the answer with trailers is right too."""
    there: bool
    """Whether the transcript of the session reaches to the commit."""

    @property
    def right(self) -> bool:
        return self.first in self.gold


def read_works(objects: Objects, found: entire.Checkpoints, kept: int) -> list[Work]:
    """What each session with a transcript did."""
    works = []
    for session in found.sessions.values():
        past = entire.past(objects, session)
        if past is not None:
            past.diff = kept
            works.append(work(session.id, past.agent, past.events()))
    return works


def answers(folder: Path, *, kept: int, rewritten: bool) -> tuple[list[Answer], dict[str, float]]:
    """The answers for a repository, and what they took."""
    git = Git(str(folder.parent), str(folder), str(folder), {})
    objects = Objects(git)
    start = time.perf_counter()
    found = entire.checkpoints(objects)
    works = read_works(objects, found, kept)
    objects.close()
    ledger = Ledger(works)
    read = time.perf_counter() - start
    known = {item.session: item for item in works}
    results = []
    start = time.perf_counter()
    for patch, message in traced_commits(git):
        gold = tuple(session for session in named_by(message, found) if session in known)
        if not gold or not patch.files:
            continue
        asked = patch
        if rewritten:
            later = patch.committed + DAY
            asked = patch._replace(sha=f"{int(patch.sha, 16) ^ 1 << 150:040x}", committed=later)
        first = next(iter(ledger.authors(asked)), None)
        traced = next(iter(ledger.authors(patch._replace(traced=gold))), None)
        results.append(
            Answer(
                patch.sha,
                patch.subject,
                gold,
                first.session if first else "",
                first.step if first else "",
                first.share if first else 0.0,
                bool(first and first.certain),
                bool(traced and traced.session in gold),
                any(reaches(known[session], patch) for session in gold),
            )
        )
    asked_s = time.perf_counter() - start
    return results, {"sessions": len(works), "read_s": read, "asked_s": asked_s}


def named_by(message: str, checkpoints_in: entire.Checkpoints) -> tuple[str, ...]:
    """The sessions that the trailers of a commit name."""
    ids = dict.fromkeys(CHECKPOINT.findall(message))
    return tuple(
        dict.fromkeys(name for id_ in ids for name in checkpoints_in.by_checkpoint.get(id_, ()))
    )


def traced_commits(git: Git, *revisions: str) -> Iterator[tuple[Patch, str]]:
    """The commits that name a checkpoint, with their messages."""
    options = ("--no-merges", "--grep=^Entire-Checkpoint: ", "--format=%H")
    listed = gitcommand.output(git, "log", *options, *(revisions or ORDINARY), "--")
    for sha in listed.decode().split():
        read = read_patch(git, sha)
        if read:
            yield read


def reaches(item: Work, patch: Patch) -> bool:
    """Whether a transcript shows work up to a commit.

    Checkpoints may hold an older state of a session, and name sessions that only answered.
    """
    worked = bool(item.edits or item.commits or item.paths)
    return worked and item.times[0] <= patch.authored <= item.times[-1] + AROUND


def figures(results: list[Answer]) -> dict[str, Any]:
    """Counts of right, certain and wrong answers, in all and by step."""
    steps = {}
    for step in (*STEPS, ""):
        chosen = [answer for answer in results if answer.step == step]
        if chosen:
            steps[step or "unknown"] = [sum(row.right for row in chosen), len(chosen)]
    certain = [row for row in results if row.certain]
    return {
        "commits": len(results),
        "right": sum(row.right for row in results),
        "wrong_and_certain": sum(not row.right for row in certain),
        "with_trailers": sum(row.traced for row in results),
        "steps": steps,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", type=Path, metavar="GIT_DIR")
    parser.add_argument("--journal", action="store_true", help="edits as the journal keeps them")
    parser.add_argument("--rewritten", action="store_true", help="commits as after a rebase")
    parser.add_argument("--wrong", action="store_true", help="show the wrong answers")
    chosen = parser.parse_args()
    everything: list[Answer] = []
    saved: dict[str, Any] = {}
    print("repository                      commits  right      wrong+certain  trailers  by step")
    for folder in chosen.repositories:
        kept = DIFF if chosen.journal else WINDOW
        results, cost = answers(folder, kept=kept, rewritten=chosen.rewritten)
        everything += results
        saved[folder.parent.name] = show(os.fspath(folder.parent.name), results)
        rounded = {name: round(value, 2) for name, value in cost.items()}
        print(f"  {json.dumps(rounded)}")
        for row in results if chosen.wrong else ():
            if not row.right:
                gold = " ".join(session[:8] for session in row.gold)
                there = "" if row.there else " (not there)"
                about = (
                    f"{row.step or 'unknown'} {row.share:.2f} {row.first[:8]}, not {gold}{there}"
                )
                print(f"    {row.sha[:9]}  {about}  {row.subject[:60]}")
    saved["all"] = show("all", everything)
    there = [row for row in everything if row.there]
    saved["whose session is there"] = show("whose session is there", there)
    variants = [name for name in ("journal", "rewritten") if getattr(chosen, name)]
    save("-".join(["authorship", *variants]), saved)


def show(name: str, results: list[Answer]) -> dict[str, Any]:
    sums = figures(results)
    total = max(1, len(results))
    steps = "  ".join(f"{step} {a}/{b}" for step, (a, b) in sums["steps"].items())
    right = f"{sums['right']} ({sums['right'] / total:.1%})"
    wrong = f"{sums['wrong_and_certain']} ({sums['wrong_and_certain'] / total:.1%})"
    trailers = f"{sums['with_trailers'] / total:.0%}"
    print(f"{name:30}  {len(results):7}  {right:11}  {wrong:13}  {trailers:8}  {steps}")
    return sums


if __name__ == "__main__":
    main()
