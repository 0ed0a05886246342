"""How well issues are found in commits and sessions: precision and recall against labels by hand.

    python benchmarks/issue_links.py --clones DIR --transcripts DIR [--no-save]

`issues_gold.json` has 100 commits and sessions with the ids of the issues that they name, as a
reader would say; it has no text. The commits are a sample of three repositories that use beads,
two thirds of them with something like an id. DIR of the clones has them as `owner+name`; DIR of the
transcripts has the sessions as `NAME.jsonl`. Some of them work in folders with the id of an issue
in their path, list many issues in the output of commands, or read change logs with numbers of
another project: none of that is a link. An issue counts as known if any version of the repository's
`.beads` had it.

The rules were written after reading that sample. `unseen` has 41 commits of three other
repositories, drawn and labelled later, for which nothing was changed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

from kinen import Memory
from kinen.index.issues import named_in
from kinen.model.issues import Tracked, references, tracked_ids
from record import save

GOLD = Path(__file__).with_name("issues_gold.json")
FILES = (".beads/issues.jsonl", ".beads/beads.jsonl")


def git(clone: Path, *words: str) -> str:
    ran = subprocess.run(["git", "-C", str(clone), *words], capture_output=True, check=True)
    return ran.stdout.decode("utf-8", "replace")


def ids_of(clone: Path) -> Tracked:
    """Every id that the repository's file of issues ever had."""
    ids = set()
    for line in git(clone, "log", "-p", "--format=", "--all", "--", *FILES).splitlines():
        if line.startswith('+{"'):
            try:
                ids.add(str(json.loads(line[1:])["id"]).lower())
            except (ValueError, KeyError):
                continue
    return tracked_ids(ids)


def in_commits(clones: Path, gold: dict[str, dict[str, list[str]]]) -> dict[str, set[str]]:
    """The ids that are found in each commit, in lower case."""
    names: dict[str, set[str]] = {}
    for repository, commits in gold.items():
        clone = clones / repository.replace("/", "+")
        existing = ids_of(clone)
        for commit in commits:
            message = git(clone, "log", "-1", "--format=%B", commit)
            names[commit] = {name.id.lower() for name in references(message, existing)}
    return names


def in_sessions(transcripts: Path, sessions: list[str], ids: list[str]) -> dict[str, set[str]]:
    """The ids that are found in each session, which is imported with the issues of its tracker."""
    names: dict[str, set[str]] = {}
    for session in sessions:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "space")
            (root / ".kinen").mkdir(parents=True)
            (root / ".beads").mkdir()
            rows = [json.dumps({"id": id_, "title": id_, "status": "open"}) for id_ in ids]
            (root / FILES[0]).write_text("\n".join(rows) + "\n", encoding="utf-8")
            file = next(transcripts.rglob(f"{session}.jsonl"))
            with Memory.open(root, home=Path(folder, "home")) as memory:
                memory.transfer.import_transcripts(file)
                memory.sync(embed=False)
                db = memory.core.reader.db
                capsules = memory.records.select(["capsule"])
                names[session] = {
                    id_.lower() for capsule in capsules for id_, _ in named_in(db, capsule)
                }
    return names


def score(gold: dict[str, list[str]], names: dict[str, set[str]]) -> dict[str, float]:
    """Precision and recall over all ids, and what differs."""
    right = extra = missing = 0
    for key, expected in gold.items():
        ids = {id_.lower() for id_ in expected}
        right += len(ids & names[key])
        extra += len(names[key] - ids)
        missing += len(ids - names[key])
        if ids != names[key]:
            print(f"{key}: extra {sorted(names[key] - ids)}, missing {sorted(ids - names[key])}")
    return {
        "texts": len(gold),
        "issues": right + missing,
        "precision": round(right / max(1, right + extra), 3),
        "recall": round(right / max(1, right + missing), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--transcripts", type=Path, required=True)
    parser.add_argument("--no-save", action="store_true")
    options = parser.parse_args()
    gold = json.loads(GOLD.read_text(encoding="utf-8"))
    commits = {key: ids for rows in gold["commits"].values() for key, ids in rows.items()}
    names = in_commits(options.clones, gold["commits"])
    unseen = {key: ids for rows in gold["unseen"].values() for key, ids in rows.items()}
    spoken = in_sessions(options.transcripts, list(gold["sessions"]), gold["tracked"])
    results = {
        "commits": score(commits, names),
        "sessions": score(gold["sessions"], spoken),
        "all": score({**commits, **gold["sessions"]}, {**names, **spoken}),
        "unseen": score(unseen, in_commits(options.clones, gold["unseen"])),
    }
    print(json.dumps(results, indent=2))
    if not options.no_save:
        save("issue-links", results)


if __name__ == "__main__":
    main()
