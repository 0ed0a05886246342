"""Makes files of commits: which is which through renames, what it is tagged, whether it is there.

A history that only grew is settled from where it was left; any other from the beginning.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from kinen.database import translated, writing
from kinen.index.history import FILE_RECORD
from kinen.index.writer import encode
from kinen.lineage import SILENT, File, Lineage, Step, Tags, Touch, on_first_line, ordered
from kinen.text import identifier_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kinen.index.history import Hand, History

    Tree = Callable[[], list[str] | None]


def settle(history: History, head: str, old: str, tree: Tree, *, anew: bool) -> None:
    """Make files of the commits: of the new ones if the history only grew, else of all."""
    # What was just read needs no database to be replayed, which is busy with full text.
    plan = _plan(history, head, tree) if history.fresh and not history.settings.hands else None
    history.loading.wait()
    with translated(history.writer.path), writing(history.db):
        if plan is not None or anew or not _grow(history, head, old, tree):
            _build(history, plan or _plan(history, head, tree))
        history.writer.bump()


# From the beginning


class Plan(NamedTuple):
    """A replay of all commits."""

    gone: list[int]
    """Commits that the head no longer leads to."""
    steps: list[Step]
    found: list[list[int]]
    """The files behind the touches of each step."""
    lineage: Lineage
    waiting: dict[int, list[str]]
    """Tags given by hand to paths that no commit has touched."""
    there: list[str] | None


def _plan(history: History, head: str, tree: Tree) -> Plan:
    ids, above, told = _told(history)
    graph = {id_: [ids[sha] for sha in shas if sha in ids] for id_, shas in above.items()}
    order = ordered(ids[head], graph, set()) if head in ids else []
    gone = sorted(set(ids.values()) - set(order)) if len(order) < len(ids) else []
    steps = [told[id_] for id_ in order]
    lineage, found, waiting = _replayed(history, steps, ids)
    return Plan(gone, steps, found, lineage, waiting, tree())


def _build(history: History, plan: Plan) -> None:
    _, steps, found, lineage, waiting, there = plan
    history.remove(plan.gone)
    present = _after(steps) if there is None else {history.path(path) for path in there}
    _rewrite(history, [step.commit for step in steps], present)
    _own_all(history, lineage, steps, found)
    files = dict(lineage.files)
    taken = {file.path for file in files.values()}
    extras = set()
    for number, path in enumerate(sorted(present - taken), max(files, default=0) + 1):
        tags = SILENT
        for op in waiting.get(path, ()):
            tags = tags.by_hand(op)
        files[number] = File(path, tags=tags)
        extras.add(number)
    at = dict(history.db.execute("SELECT id, at FROM commits"))
    _insert(history, files, extras, _counted(found), present, at)


def _told(
    history: History,
) -> tuple[dict[str, int], dict[int, Sequence[str]], dict[int, Step]]:
    """All commits: their ids by sha, their parents and what they did."""
    if history.fresh:
        ids = {sha: id_ for sha, (id_, _) in history.new.items()}
        steps = {step.commit: step for step in history.steps}
        return ids, dict(history.new.values()), steps
    ids, above, steps = {}, {}, {}
    for id_, sha, parents, ops in history.db.execute("SELECT id, sha, parents, ops FROM commits"):
        ids[sha], above[id_], steps[id_] = id_, parents.split(), Step(id_, [], ops.split())
    rows = history.db.execute("SELECT commit_id, path, status, before FROM touches")
    for commit, path, status, before in rows:
        steps[commit].touches.append(Touch(path, status, before))
    return ids, above, steps


def _replayed(
    history: History, steps: list[Step], ids: dict[str, int]
) -> tuple[Lineage, list[list[int]], dict[int, list[str]]]:
    """The state after all steps, the files behind each step's touches, and the tags given by hand
    to paths that no commit has touched.
    """
    lineage = Lineage(history.derived)
    after = _placed(history, steps, ids)
    waiting: dict[int, list[str]] = {}
    found = []
    for step in steps:
        found.append(lineage.commit(*step))
        for touch in step.touches if waiting else ():
            for path in (touch.before, touch.path):
                _tag(lineage, waiting, [(touch.path, op) for op in waiting.pop(path, ())])
        _tag(lineage, waiting, after.get(step.commit, ()))
    _tag(lineage, waiting, after.get(0, ()))
    return lineage, found, waiting


def _placed(
    history: History, steps: list[Step], ids: dict[str, int]
) -> dict[int, list[tuple[int, str]]]:
    """Tags given by hand, by the commit they come after, in the order they were given.

    One whose commit is gone comes with the next one; what is left comes last, after commit 0.
    """
    place = {step.commit: n for n, step in enumerate(steps)}
    here, last, found = 0, len(steps), dict[int, list[tuple[int, str]]]()
    for hand in reversed(history.settings.hands):
        commit = ids.get(hand.head, 0)
        if place.get(commit, last) < last:
            here, last = commit, place[commit]
        found.setdefault(here, []).append((history.path(hand.path), hand.op))
    return {commit: those[::-1] for commit, those in found.items()}


def _tag(lineage: Lineage, waiting: dict[int, list[str]], told: Iterable[tuple[int, str]]) -> None:
    for path, op in told:
        if not lineage.by_hand(path, op):
            waiting.setdefault(path, []).append(op)


def _after(steps: list[Step]) -> set[int]:
    """The paths that are there after all steps, where git cannot tell."""
    return {path for path, there in _moved(steps).items() if there}


def _moved(steps: list[Step]) -> dict[int, bool]:
    """The paths that steps touched, and whether each is there after them."""
    now: dict[int, bool] = {}
    for step in steps:
        now.update((touch.before, False) for touch in step.touches if touch.before)
        now.update((touch.path, touch.status != "D") for touch in step.touches)
    return now


def _rewrite(history: History, order: list[int], present: set[int]) -> None:
    """Clear what was settled before, and write the order of the commits."""
    db = history.db
    history.drop(row[0] for row in db.execute("SELECT record FROM files").fetchall() if row[0])
    db.execute("DELETE FROM files")
    db.execute("DELETE FROM names")
    db.execute("UPDATE touches SET file = 0 WHERE file != 0")
    db.execute("UPDATE paths SET file = 0, present = 0 WHERE file != 0 OR present != 0")
    db.executemany("UPDATE paths SET present = 1 WHERE id = ?", [(path,) for path in present])
    placed = [(place, id_) for place, id_ in enumerate(order, 1)]
    db.executemany("UPDATE commits SET place = ? WHERE id = ?", placed)


def _own_all(history: History, lineage: Lineage, steps: list[Step], found: list[list[int]]) -> None:
    owner = {path: file for path, file in lineage.owner.items() if file in lineage.files}
    rows = [(file, path) for path, file in owner.items()]
    history.db.executemany("UPDATE paths SET file = ? WHERE id = ?", rows)
    _set_apart(history, lineage, steps, found)
    # A path that nobody has was never anywhere but in what was taken out.
    history.db.execute(
        "DELETE FROM paths WHERE file = 0 AND NOT present"
        " AND NOT EXISTS (SELECT 1 FROM touches t WHERE t.path = paths.id)"
        " AND id NOT IN (SELECT before FROM touches WHERE before != 0)"
    )


def _set_apart(
    history: History, lineage: Lineage, steps: list[Step], found: Sequence[Sequence[int]]
) -> None:
    """Write whose a touch is where that is not who has the path."""
    contested = {path for path, file in lineage.owner.items() if file not in lineage.files}
    contested |= lineage.contested
    apart = []
    for step, files in zip(steps if contested else (), found, strict=bool(contested)):
        for (path, _, _), file in zip(step.touches, files, strict=True):
            if path in contested:
                its = file if file in lineage.files else -1
                if lineage.owner.get(path) != its:
                    apart.append((its, step.commit, path))
    sql = "UPDATE touches SET file = ? WHERE commit_id = ? AND path = ?"
    history.db.executemany(sql, apart)


def _counted(found: Iterable[list[int]]) -> dict[int, int]:
    """How many commits touched each file."""
    counts: dict[int, int] = {}
    for files in found:
        for file in set(files) if len(files) > 1 else files:
            counts[file] = counts.get(file, 0) + 1
    return counts


# From where it was left


def _grow(history: History, head: str, old: str, tree: Tree) -> bool:
    """Go on from the state before the new commits; False if that cannot be."""
    before = history.one("SELECT id FROM commits WHERE sha = ?", old) if old else 0
    if not before or head not in history.new:
        return False
    ids = {sha: id_ for sha, (id_, _) in history.new.items()}
    ids[old] = before
    above = {id_: [ids.get(sha, 0) for sha in shas] for id_, shas in history.new.values()}
    if not on_first_line(before, ids[head], above):
        return False
    order = ordered(ids[head], above, {before, 0})
    told = {step.commit: step for step in history.steps}
    steps = [told[id_] for id_ in order]
    merged = any(len(shas) > 1 for _, shas in history.new.values())
    if _unsettles(history, steps, merged):
        return False
    lineage = _state(history, {touch for step in steps for touch in step.touches})
    owners = dict(lineage.owner)
    found = [lineage.commit(*step) for step in steps]
    affected = _present(history, steps, tree() if merged else None)
    last = history.one("SELECT place FROM commits WHERE id = ?", before)
    placed = [(place, id_) for place, id_ in enumerate(order, last + 1)]
    history.db.executemany("UPDATE commits SET place = ? WHERE id = ?", placed)
    _own_more(history, lineage, owners, order)
    _set_apart(history, lineage, steps, found)
    _write(history, lineage, affected, _counted(found))
    return True


def _unsettles(history: History, steps: list[Step], merged: bool) -> bool:
    """Whether the place of a tag given by hand moves, or the file it is for: both were settled by
    the commits there were.
    """
    touched = {
        path for step in steps for touch in step.touches for path in (touch.path, touch.before)
    }
    for hand in history.settings.hands:
        if hand.head in history.new:
            return True
        path = history.path(hand.path)
        placed = history.one("SELECT place FROM commits WHERE sha = ?", hand.head)
        given = history.one("SELECT id FROM files WHERE path = ? AND NOT extra", path)
        if (merged or path in touched) and not (placed and given):
            return True
    return False


def _state(history: History, touches: set[Touch]) -> Lineage:
    """A replay's state as it was left, as far as these touches need it."""
    lineage = Lineage(history.derived, history.one("SELECT MAX(id) FROM files") + 1)
    for path in {t.path for t in touches} | {t.before for t in touches if t.before}:
        file = history.one("SELECT file FROM paths WHERE id = ?", path)
        if file:
            lineage.owner[path] = file
            lineage.files[file] = _file(history, file)
    return lineage


def _file(history: History, file: int) -> File:
    sql = "SELECT path, last, said FROM files WHERE id = ?"
    path, last, said = history.db.execute(sql, (file,)).fetchone()
    tags = Tags(*map(frozenset, json.loads(said))) if said else SILENT
    return File(path, last, tags)


def _present(history: History, steps: list[Step], tree: list[str] | None) -> set[int]:
    """Bring the paths at the head up to date; those that were touched, came or went."""
    now = _moved(steps)
    affected = set(now)
    if tree is not None:
        there = {history.path(path) for path in tree}
        rows = history.db.execute("SELECT id FROM paths WHERE present").fetchall()
        before = {id_ for (id_,) in rows}
        now = {**dict.fromkeys(before - there, False), **dict.fromkeys(there - before, True)}
        affected |= set(now)
    rows = [(int(on), path) for path, on in now.items()]
    history.db.executemany("UPDATE paths SET present = ? WHERE id = ?", rows)
    return affected


def _own_more(history: History, lineage: Lineage, owners: dict[int, int], order: list[int]) -> None:
    """Write who has which path now; what came before stays with who had it then."""
    db, first = history.db, min(order)
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


def _write(history: History, lineage: Lineage, affected: set[int], counts: dict[int, int]) -> None:
    """Write the files of a state again, and those at paths that came or went."""
    db, files = history.db, dict(lineage.files)
    given: dict[int, Tags] = {}
    for path in affected:
        rows = db.execute("SELECT id, extra FROM files WHERE path = ?", (path,)).fetchall()
        for id_, extra in rows:
            if extra:
                given[path] = _file(history, id_).tags
            if id_ not in files and id_ not in lineage.retired:
                files[id_] = _file(history, id_)
    totals = {}
    for id_ in [*files, *lineage.retired]:
        row = db.execute("SELECT record, commits, extra FROM files WHERE id = ?", (id_,))
        record, commits, extra = row.fetchone() or (0, 0, 0)
        totals[id_] = commits + counts.get(id_, 0)
        history.drop([record] if record else [])
        db.execute("DELETE FROM files WHERE id = ?", (id_,))
        db.execute("DELETE FROM names WHERE rowid = ?", (id_,))
        if extra:
            del files[id_]
    taken = {file.path for file in files.values()}
    sql = "SELECT present FROM paths WHERE id = ?"
    present = {path for path in affected | taken if history.one(sql, path)}
    extras, last = set(), max([*totals, history.one("SELECT MAX(id) FROM files")])
    for number, path in enumerate(sorted((affected & present) - taken), last + 1):
        files[number] = File(path, tags=given.get(path, SILENT))
        extras.add(number)
    at = {}
    for file in files.values():
        row = db.execute("SELECT at FROM commits WHERE id = ?", (file.last,)).fetchone()
        at[file.last] = row[0] if row else ""
    _insert(history, files, extras, totals, present, at)


def retag(history: History, hands: Iterable[Hand]) -> bool:
    """Tags given by hand just now; False if one is of a path that no commit has made."""
    with translated(history.writer.path), writing(history.db):
        lineage = Lineage(history.derived)
        for hand in hands:
            path = history.path(hand.path)
            file = history.one("SELECT id FROM files WHERE path = ? AND NOT extra", path)
            if not file:
                return False
            lineage.owner[path] = file
            lineage.files.setdefault(file, _file(history, file))
            lineage.by_hand(path, hand.op)
        _write(history, lineage, set(), {})
        history.writer.bump()
    return True


# Both


def _insert(
    history: History,
    files: dict[int, File],
    extras: set[int],
    counts: dict[int, int],
    present: set[int],
    at: dict[int, str],
) -> None:
    record = history.one("SELECT MAX(id) FROM records") + 1
    hidden = history.settings.hidden
    rows, records, tags, names = [], [], [], []
    for id_, file in files.items():
        path = history.name(file.path)
        names.append((id_, f"{path} {identifier_parts(path)}"))
        its, shown = file.tags.current(history.derived(file.path)), 0
        if f"file:{path}" not in hidden:
            shown = record
            about = '{"alive": true}' if file.path in present else '{"alive": false}'
            title, moment = path.rpartition("/")[2], at.get(file.last, "")
            records.append((shown, f"file:{path}", title, path, moment, encode(its), about))
            tags += [(tag, shown) for tag in its]
            record += 1
        said = "" if file.tags == SILENT else encode([sorted(part) for part in file.tags])
        extra = int(id_ in extras)
        rows.append((id_, shown, file.path, extra, counts.get(id_, 0), file.last, said))
    history.db.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    history.db.executemany(FILE_RECORD, records)
    history.db.executemany("INSERT INTO names(rowid, words) VALUES (?, ?)", names)
    history.db.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", sorted(tags))
