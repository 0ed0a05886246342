"""Commits as documents of the index in PostgreSQL, with the files that they touched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from kinen.errors import GitError
from kinen.index.git.commits import SOURCE, Settings
from kinen.index.git.lineage import tag_operations
from kinen.model.documents import Commit, Document, Report, State
from kinen.model.records import Chunk, Record
from kinen.ports import Past
from kinen.postgres.writer import Entry, PostgresWriter

HEAD = ""
"""The key under which the index remembers the last commit."""
BATCH = 1000


def follow(
    writer: PostgresWriter,
    past: Past,
    settings: Settings,
    done: Callable[[int], None] = lambda _: None,
) -> Report:
    """Index the commits since the last indexed one; all again if the history was rewritten.

    A killed process continues: commits of finished batches are there, and the mark is set last.
    """
    states = writer.states(SOURCE)
    mark = states.get(HEAD, State("", ""))
    head = past.head()
    rules = f"{past.rules}:{settings.rules}"
    if mark == State(head, rules):
        return Report()
    old = mark.stamp
    if not head or (old and (mark.digest != rules or _is_rewritten(past, head, old))):
        writer.void(SOURCE)
        old = ""
        states = {}
    added = 0
    if head:
        commits = (commit for commit in past.since(head, old) if commit.sha not in states)
        for batch in _batches(commits):
            entries = [_entry(commit) for commit in batch if _is_shown(commit, past, settings)]
            writer.add(SOURCE, entries, {commit.sha: State("", "") for commit in batch})
            added += len(entries)
            done(added)
    writer.add(SOURCE, (), {HEAD: State(head, rules)})
    return Report(added=added, notes=tuple(past.remarks))


def _is_rewritten(past: Past, head: str, old: str) -> bool:
    """Whether commits that were indexed are no longer reachable from the head."""
    try:
        return next(iter(past.since(old, head)), None) is not None
    except GitError:  # the old commit was removed
        return True


def _is_shown(commit: Commit, past: Past, settings: Settings) -> bool:
    outside = past.inside and not commit.touches
    return not outside and f"commit:{commit.sha}" not in settings.hidden


def _entry(commit: Commit) -> Entry:
    ref = f"commit:{commit.sha}"
    ops = tag_operations(commit.ops, commit.scope, len(commit.touches))
    tags = tuple(sorted({op[1:] for op in ops if op[0] == "+"}))
    record = Record(
        ref, "commit", commit.subject, at=commit.at, tags=tags, metadata=json.loads(commit.about)
    )
    silent = len(commit.parents) > 1 and commit.texts == (commit.subject,)
    texts = () if silent else commit.texts  # a merge without a message of its own says nothing
    chunks = tuple(Chunk(ref, n, text) for n, text in enumerate(texts))
    return Entry(commit.sha, Document(record, chunks), commit.author, commit.touches)


def _batches(commits: Iterable[Commit]) -> Iterator[list[Commit]]:
    iterator = iter(commits)
    while batch := list(islice(iterator, BATCH)):
        yield batch
