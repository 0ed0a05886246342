"""Brings the git part of an index up to date: by the new commits alone where that suffices."""

from __future__ import annotations

import gc
from collections.abc import Callable
from itertools import islice

from kinen.errors import GitError
from kinen.extract import budget
from kinen.index.git import settle
from kinen.index.git.commits import BATCH, SOURCE, History, Settings
from kinen.index.git.grow import grow, retag
from kinen.index.schema import CUT
from kinen.index.writer import Writer
from kinen.model.documents import Report, State
from kinen.model.tuples import NamedTuple
from kinen.ports import Past
from kinen.storage.database import translated, writing
from kinen.text import digest

HEAD = ""
"""The key under which an index remembers the last commit, as its source's mark."""
TREE = "HEAD"
"""The key of the note that files at the head were left out."""
_FACTS = ("tags", "hands", "hidden")


class Mark(NamedTuple):
    """The commit up to which a history is indexed, and the rules that it was indexed by."""

    head: str = ""
    rules: str = ""
    tags: str = ""
    hands: str = "0"
    hidden: str = ""


def follow(writer: Writer, past: Past, settings: Settings, done: Callable[[int], None]) -> Report:
    """Index what is new at the head; if git fails, the index stays as it was, with a note."""
    collecting = gc.isenabled()
    # There is no garbage before the end, and looking for it takes a tenth of the time.
    gc.disable()
    try:
        with translated(writer.path):
            return _follow(writer, past, settings, done)
    except GitError as error:
        with translated(writer.path), writing(writer.db):
            row = (SOURCE, "history", "", "", str(error))
            writer.db.execute("INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?, ?)", row)
        return Report(skipped=1, notes=(f"the history could not be read: {error}",))
    finally:
        if collecting:
            gc.enable()


def _follow(writer: Writer, past: Past, settings: Settings, done: Callable[[int], None]) -> Report:
    """Index what is new at the head, whatever happened to the history before it."""
    states = writer.states(SOURCE)
    history = History(writer, settings)
    before = _mark(states)
    if before.head and before.rules != past.rules:
        history.void()
        before = Mark()
        states = {}
    head = past.head()
    refs = sorted(ref for ref in settings.hidden if ref.startswith(("commit:", "file:")))
    hidden = digest(str(refs) + settings.excluded)
    mark = Mark(head, past.rules, settings.rules, str(len(settings.hands)), hidden)
    broken = [key for key, state in states.items() if state.reason and state.stamp != CUT]
    cuts = {key: state.reason for key, state in states.items() if state.stamp == CUT}
    history.tree_is_cut = TREE in cuts
    if mark == before and not broken:
        return Report()
    if not head:
        with writing(writer.db):
            history.void()
            _remember(writer, Mark(), {}, {})
        return Report()
    gaps = bool(broken)
    if before.hidden and mark.hidden != before.hidden:
        gaps = history.hide() or gaps
    if broken:
        history.drop_commits(broken)
    tagged = settings.hands[int(before.hands) :]
    now = all(hand.head == head for hand in tagged) and before == mark._replace(hands=before.hands)
    now = now and not gaps
    grew = bool(before.head) and before == mark._replace(head=before.head) and not gaps
    added = _step(history, past, before, mark, cuts, done) if grew else -1
    if added < 0 and now and retag(history, tagged):
        added = 0
        with writing(writer.db):
            _remember(writer, mark, {}, cuts)
    elif added < 0:
        added = _read(history, past, "" if gaps else before.head, done) if not now else 0
        plan = None
        if history.fresh and not settings.hands:  # while full text is built
            plan = settle.plan(history, head, lambda: past.tree(head))
        history.loading.wait()
        with writing(writer.db):
            _settle(history, past, before, mark, cuts, plan, anew=not grew)
    notes = (*past.remarks, *(f"{what}: {why}" for what, why in past.notes.items()))
    return Report(added=added, skipped=len(past.notes), notes=notes)


def _step(
    history: History,
    past: Past,
    before: Mark,
    mark: Mark,
    cuts: dict[str, str],
    done: Callable[[int], None],
) -> int:
    """Index a few new commits in one transaction; returns how many.

    -1 if there are many, or if git no longer has the commit that was indexed last.
    """
    try:
        commits = list(islice(past.since(mark.head, before.head), BATCH))
    except GitError:
        return -1
    if len(commits) == BATCH:
        return -1
    with writing(history.db):
        history.loading.begin()
        commits = list(history.missing(commits))
        added = history.write(commits, past.inside)
        done(len(commits))
        _settle(history, past, before, mark, cuts, anew=False)
    return added


def _read(history: History, past: Past, old: str, done: Callable[[int], None]) -> int:
    """Read the commits that are new; git may have lost the commit that was read last."""
    head = past.head()
    fresh = history.fresh
    history.loading.begin()
    try:
        try:
            if not old and not fresh:
                raise GitError("cut short the last time")
            added = history.add(past.since(head, old), inside=past.inside, done=done)
        except GitError:
            history.loading.wait()
            missing = past.among(head, history.shas())
            added = history.add(missing, inside=past.inside, done=done)
    except BaseException:
        history.loading.text(last=True)
        history.loading.wait()
        raise
    history.loading.text(last=True)
    return added


def _settle(
    history: History,
    past: Past,
    before: Mark,
    mark: Mark,
    cuts: dict[str, str],
    plan: settle.Plan | None = None,
    *,
    anew: bool,
) -> None:
    """Derive files from the commits, and store the mark: to be called in a transaction.

    If the history only grew, the new commits are enough, unless a `plan` was made or `anew` asks
    for all of them.
    """

    def tree() -> list[str] | None:
        return past.tree(mark.head)

    if plan is not None or anew or not grow(history, mark.head, before.head, tree):
        settle.build(history, plan or settle.plan(history, mark.head, tree))
    history.writer.bump()
    _remember(history.writer, mark, past.notes, cuts | past.cuts | _cut_tree(history))


def _cut_tree(history: History) -> dict[str, str]:
    """The reason why files at the head are missing, empty if none are; {} if it is unknown."""
    if history.left_out is None:
        return {}
    if not history.left_out:
        return {TREE: ""}
    reason = (
        f"{history.left_out:,} of its files were left out: no commit that was read touches them"
        f" (limit {budget.HEAD_FILES:,})"
    )
    return {TREE: reason}


def _mark(states: dict[str, State]) -> Mark:
    if HEAD not in states:
        return Mark()
    facts = (states[key].stamp if key in states else "" for key in _FACTS)
    return Mark(states[HEAD].stamp, states[HEAD].digest, *facts)


def _remember(writer: Writer, mark: Mark, notes: dict[str, str], cuts: dict[str, str]) -> None:
    """Store the last commit, what could not be read, and which commits were read in part."""
    exists = "SELECT 1 FROM commits WHERE sha = ?"
    rows = [(HEAD, mark.head, mark.rules, "")] if mark.head else []
    rows += [(key, getattr(mark, key), "", "") for key in _FACTS]
    rows += [(what, "", "", why) for what, why in notes.items()]
    rows += [
        (sha, CUT, "", why)
        for sha, why in cuts.items()
        if why and sha not in notes
        if sha == TREE or writer.db.execute(exists, (sha,)).fetchone()
    ]
    writer.count_chunks()
    writer.db.execute("DELETE FROM states WHERE source = ?", (SOURCE,))
    writer.db.executemany(f"INSERT INTO states VALUES ('{SOURCE}', ?, ?, ?, ?)", rows)
