"""Brings the git part of an index up to date: by the new commits alone where that suffices."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable
from itertools import islice

from kinen.errors import GitError
from kinen.index.git import settle
from kinen.index.git.commits import BATCH, SOURCE, Hand, History, Settings
from kinen.index.git.lineage import SILENT, File, Lineage, Step, Tags, on_first_line, ordered
from kinen.index.git.settle import (
    Tree,
    alive_json,
    at_head,
    count_commits,
    existence,
    insert,
    set_apart,
    tags_json,
)
from kinen.index.schema import CUT
from kinen.index.writer import Writer, encode
from kinen.model.documents import Report, State
from kinen.model.tuples import NamedTuple
from kinen.ports import Past
from kinen.storage.database import translated, writing
from kinen.text import budget, digest

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


def grow(history: History, head: str, old: str, tree: Tree) -> bool:
    """Continue from the state before the new commits; False if that is not possible."""
    row = history.db.execute("SELECT id, place FROM commits WHERE sha = ?", (old,)).fetchone()
    if not row or head not in history.new:
        return False
    before, last = row
    ids = {sha: id_ for sha, (id_, _) in history.new.items()}
    ids[old] = before
    above = {id_: [ids.get(sha, 0) for sha in shas] for id_, shas in history.new.values()}
    if not on_first_line(before, ids[head], above):
        return False
    order = ordered(ids[head], above, {before, 0})
    by_commit = {step.commit: step for step in history.steps}
    steps = [by_commit[id_] for id_ in order]
    merged = any(len(shas) > 1 for _, shas in history.new.values())
    cut = any(len(step.touches) >= budget.COMMIT_FILES for step in steps)
    # In these cases the touches alone do not tell which files exist.
    needs_tree = merged or cut or history.tree_is_cut
    if _unsettles(history, steps, needs_tree):
        return False
    # The state after the last replay, as far as the touches need it.
    touches = {touch for step in steps for touch in step.touches}
    lineage = Lineage(history.derived, history.scalar("SELECT MAX(id) FROM files") + 1)
    for path in {t.path for t in touches} | {t.before for t in touches if t.before}:
        owner = history.db.execute("SELECT file FROM paths WHERE id = ?", (path,)).fetchone()
        if owner and owner[0]:
            lineage.owner[path] = owner[0]
            lineage.files[owner[0]] = _stored(history, "id", owner[0])[owner[0]].file
    owners = dict(lineage.owner)
    touched = [lineage.commit(*step) for step in steps]
    affected = _present(history, steps, tree() if needs_tree else None)
    placed = [(place, id_) for place, id_ in enumerate(order, last + 1)]
    history.db.executemany("UPDATE commits SET place = ? WHERE id = ?", placed)
    _own_more(history, lineage, owners, order)
    set_apart(history, lineage, steps, touched)
    _write(history, lineage, affected, count_commits(touched))
    return True


def _unsettles(history: History, steps: list[Step], needs_tree: bool) -> bool:
    """Whether the new commits may change the place of a tag that was set by hand, or its file."""
    touched = {
        path for step in steps for touch in step.touches for path in (touch.path, touch.before)
    }
    for hand in history.settings.hands:
        if hand.head in history.new:
            return True
        path = history.path(hand.path)
        placed = history.scalar("SELECT place FROM commits WHERE sha = ?", hand.head)
        file = history.scalar("SELECT id FROM files WHERE path = ? AND NOT extra", path)
        if (needs_tree or path in touched) and not (placed and file):
            return True
    return False


def _present(history: History, steps: list[Step], tree: list[str] | None) -> set[int]:
    """Update which paths exist at the head; returns those that were touched, came or went."""
    now = existence(steps)
    affected = set(now)
    if tree is not None:
        there = at_head(history, tree)
        history.keep_paths()
        rows = history.db.execute("SELECT id FROM paths WHERE present").fetchall()
        before = {id_ for (id_,) in rows}
        now = {**dict.fromkeys(before - there, False), **dict.fromkeys(there - before, True)}
        affected |= set(now)
    rows = [{"present": on, "path": path} for path, on in now.items()]
    sql = "UPDATE paths SET present = :present WHERE id = :path AND present != :present"
    history.db.executemany(sql, rows)
    return affected


def _own_more(history: History, lineage: Lineage, owners: dict[int, int], order: list[int]) -> None:
    """Write which file has which path now; earlier touches stay with the file of that time."""
    db = history.db
    first = min(order)
    for file in lineage.retired:
        db.execute("UPDATE touches SET file = -1 WHERE file = ?", (file,))
        db.execute(
            "UPDATE touches SET file = -1 WHERE file = 0 AND commit_id < ?"
            " AND path IN (SELECT id FROM paths WHERE file = ?)",
            (first, file),
        )
        db.execute("UPDATE paths SET file = 0 WHERE file = ?", (file,))
    for path, file in lineage.owner.items():
        before = owners.get(path, 0)
        if file in lineage.files and before != file:
            sql = "UPDATE touches SET file = ? WHERE path = ? AND file = 0 AND commit_id < ?"
            db.execute(sql, (before or -1, path, first))
            db.execute("UPDATE paths SET file = ? WHERE id = ?", (file, path))


class StoredFile(NamedTuple):
    """A row of `files`, with the tags of its record."""

    id: int
    record: int
    path: int
    extra: int
    commits: int
    last: int
    tag_changes: str
    tags: str | None
    """JSON."""

    @property
    def file(self) -> File:
        tags = Tags(*map(frozenset, json.loads(self.tag_changes))) if self.tag_changes else SILENT
        return File(self.path, self.last, tags)


def _stored(history: History, column: str, value: int) -> dict[int, StoredFile]:
    rows = history.db.execute(
        "SELECT f.*, r.tags FROM files f LEFT JOIN records r ON r.id = f.record"
        f" WHERE f.{column} = ?",
        (value,),
    )
    return {row[0]: StoredFile(*row) for row in rows}


def _write(history: History, lineage: Lineage, affected: set[int], counts: dict[int, int]) -> None:
    """Write the files of a state again, and those at paths that came or went."""
    db = history.db
    files = dict(lineage.files)
    stored: dict[int, StoredFile] = {}
    for path in affected:
        stored.update(_stored(history, "path", path))
    for id_ in [id_ for id_ in (*files, *lineage.retired) if id_ not in stored]:
        stored.update(_stored(history, "id", id_))
    hand_tags = {row.path: row.file.tags for row in stored.values() if row.extra}
    for id_, row in stored.items():
        if id_ not in lineage.retired and not row.extra:
            files.setdefault(id_, row.file)
    paths = {file.path for file in files.values()}
    sql = "SELECT 1 FROM paths WHERE id = ? AND present"
    present = {path for path in affected | paths if db.execute(sql, (path,)).fetchone()}
    totals = {id_: row.commits for id_, row in stored.items()}
    totals.update((id_, totals.get(id_, 0) + count) for id_, count in counts.items())
    at = {}
    for file in files.values():
        moment = db.execute("SELECT at FROM commits WHERE id = ?", (file.last,)).fetchone()
        at[file.last] = moment[0] if moment else ""
    same = set()
    for id_, file in [*files.items()]:
        before = stored.get(id_)
        # A file keeps its record if it has one, and its path is the same.
        if before is None or not before.record or before.extra or before.path != file.path:
            continue
        same.add(id_)
        del files[id_]
        tags = encode(file.tags.current(history.derived(file.path)))
        db.execute(
            "UPDATE files SET commits = ?, last = ?, said = ? WHERE id = ?",
            (totals[id_], file.last, tags_json(file), id_),
        )
        db.execute(
            "UPDATE records SET at = ?, tags = ?, metadata = ? WHERE id = ?",
            (at[file.last], tags, alive_json(file.path in present), before.record),
        )
        if tags != before.tags:
            db.execute("DELETE FROM tags WHERE record = ?", (before.record,))
            rows = [(tag, before.record) for tag in json.loads(tags)]
            db.executemany("INSERT INTO tags VALUES (?, ?)", rows)
    gone = [(id_, row.record) for id_, row in stored.items() if id_ not in same]
    history.drop(record for _, record in gone if record)
    for table, key in (("files", "id"), ("names", "rowid")):
        db.executemany(f"DELETE FROM {table} WHERE {key} = ?", [(id_,) for id_, _ in gone])
    extras = set()
    last = max([*stored, *files, *counts, history.scalar("SELECT MAX(id) FROM files")])
    for number, path in enumerate(sorted((affected & present) - paths), last + 1):
        files[number] = File(path, tags=hand_tags.get(path, SILENT))
        extras.add(number)
    if files:
        insert(history, files, extras, totals, present, at)


def retag(history: History, hands: Iterable[Hand]) -> bool:
    """Apply tags that were just set by hand; False if no commit has a file at such a path."""
    with writing(history.db):
        lineage = Lineage(history.derived)
        for hand in hands:
            path = history.path(hand.path)
            file = history.scalar("SELECT id FROM files WHERE path = ? AND NOT extra", path)
            if not file:
                return False
            lineage.owner[path] = file
            lineage.files.setdefault(file, _stored(history, "id", file)[file].file)
            lineage.by_hand(path, hand.op)
        _write(history, lineage, set(), {})
        history.writer.bump()
    return True
