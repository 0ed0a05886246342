"""Writes the agent sessions that `entire` keeps in a git repository as files of a folder.

    python benchmarks/checkpoint_sessions.py GIT_DIR FOLDER [SESSION …]

`entire` commits the transcript of a session again at each checkpoint: on the branch
`entire/checkpoints/v1`, or below `refs/entire/checkpoints/`. The longest transcript of a session is
the last. It is written to `FOLDER/<session>.jsonl`, or `.json` where it is a single document. With
session ids only those are written; without, all of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import NamedTuple

REFS = ("refs/heads/entire/checkpoints/v1", "refs/remotes/origin/entire/checkpoints/v1")
PREFIX = "refs/entire/checkpoints/"
METADATA = "metadata.json"
TRANSCRIPT = "full.jsonl"


class Transcript(NamedTuple):
    """Where a transcript is: the commit's ref, the path in its tree, and its size in bytes."""

    ref: str
    path: str
    size: int


def git(repository: Path, *words: str) -> bytes:
    """The output of a git command in the repository."""
    return subprocess.run(
        ["git", "-C", str(repository), *words], capture_output=True, check=True
    ).stdout


def checkpoint_refs(repository: Path) -> list[str]:
    """The refs with checkpoints: those of the branch, and one for each checkpoint."""
    names = git(repository, "for-each-ref", "--format=%(refname)").decode().split()
    return [name for name in names if name in REFS or name.startswith(PREFIX)]


def longest_transcripts(repository: Path) -> dict[str, Transcript]:
    """The longest transcript of each session id."""
    longest: dict[str, Transcript] = {}
    for ref in checkpoint_refs(repository):
        sizes = tree_sizes(repository, ref)
        for path, size in sizes.items():
            folder, _, name = path.rpartition("/")
            about = f"{folder}/{METADATA}"
            if name != TRANSCRIPT or about not in sizes:
                continue
            session = json.loads(git(repository, "show", f"{ref}:{about}"))["session_id"]
            if session not in longest or size > longest[session].size:
                longest[session] = Transcript(ref, path, size)
    return longest


def tree_sizes(repository: Path, ref: str) -> dict[str, int]:
    """The size of each file in a ref's tree that the repository has."""
    sizes = {}
    for line in git(repository, "ls-tree", "-r", "-l", "-z", ref).decode().split("\0"):
        about, _, path = line.partition("\t")
        size = about.split()[-1] if path else ""
        if size.isdigit():  # a mirror may lack large files
            sizes[path] = int(size)
    return sizes


def write(repository: Path, folder: Path, session: str, transcript: Transcript) -> Path:
    """Writes a session's transcript into the folder."""
    content = git(repository, "show", f"{transcript.ref}:{transcript.path}")
    path = folder / f"{session}{suffix(content)}"
    path.write_bytes(content)
    return path


def suffix(content: bytes) -> str:
    """`.json` for one document over many lines, `.jsonl` for an object a line."""
    try:
        first = json.loads(content.split(b"\n", 1)[0])
    except ValueError:
        return ".json"
    return ".json" if "messages" in first and "info" in first else ".jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("repository", type=Path, metavar="GIT_DIR")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("sessions", nargs="*", metavar="SESSION", help="only these")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for session, transcript in sorted(longest_transcripts(chosen.repository).items()):
        if not chosen.sessions or session in chosen.sessions:
            path = write(chosen.repository, chosen.folder, session, transcript)
            print(f"{transcript.size:>10,}  {path}  {transcript.ref}:{transcript.path}")


if __name__ == "__main__":
    main()
