"""Makes files of commits: which is which through renames, its tags, whether it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kinen.extract import budget
from kinen.index.git.commits import FILE_RECORD
from kinen.index.git.lineage import SILENT, File, Lineage, Step, Touch, ordered
from kinen.index.writer import encode
from kinen.text import identifier_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kinen.index.git.commits import History

    Tree = Callable[[], list[str] | None]


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


def plan(history: History, head: str, tree: Tree) -> Plan:
    """Replay all commits; nothing is written."""
    ids, above, told = _told(history)
    graph = {id_: [ids[sha] for sha in shas if sha in ids] for id_, shas in above.items()}
    order = ordered(ids[head], graph, set()) if head in ids else []
    gone = sorted(set(ids.values()) - set(order)) if len(order) < len(ids) else []
    steps = [told[id_] for id_ in order]
    lineage, found, waiting = _replayed(history, steps, ids)
    return Plan(gone, steps, found, lineage, waiting, tree())


def build(history: History, plan: Plan) -> None:
    """Write the files anew."""
    _, steps, found, lineage, waiting, there = plan
    history.remove(plan.gone)
    present = _after(steps) if there is None else at_head(history, there)
    history.keep_paths()
    _rewrite(history, [step.commit for step in steps], present)
    _own_all(history, lineage, steps, found)
    files = dict(lineage.files)
    taken = {file.path for file in files.values()}
    extras = set()
    counts = counted(found)
    # A file that was retired has a number too, by which its commits are counted.
    last = max((*files, *counts), default=0)
    for number, path in enumerate(sorted(present - taken), last + 1):
        tags = SILENT
        for op in waiting.get(path, ()):
            tags = tags.by_hand(op)
        files[number] = File(path, tags=tags)
        extras.add(number)
    at = dict(history.db.execute("SELECT id, at FROM commits"))
    insert(history, files, extras, counts, present, at)


def at_head(history: History, tree: list[str]) -> set[int]:
    """The paths of the tree: all that a commit touched, and the first so many of the others.

    The touches of all commits must have been written.
    """
    history.left_out = 0
    if len(tree) > budget.HEAD_FILES:
        rows = history.db.execute(
            "SELECT path FROM paths WHERE id IN"
            " (SELECT path FROM touches UNION SELECT before FROM touches)"
        )
        touched = {path for (path,) in rows}
        others = [path for path in tree if path not in touched]
        history.left_out = max(0, len(others) - budget.HEAD_FILES)
        hidden = set(others[budget.HEAD_FILES :])
        tree = [path for path in tree if path not in hidden]
    return {history.path(path) for path in tree}


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
    return {path for path, there in moved(steps).items() if there}


def moved(steps: list[Step]) -> dict[int, bool]:
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
    set_apart(history, lineage, steps, found)
    # A path that nobody has was never anywhere but in what was taken out.
    history.db.execute(
        "DELETE FROM paths WHERE file = 0 AND NOT present"
        " AND NOT EXISTS (SELECT 1 FROM touches t WHERE t.path = paths.id)"
        " AND id NOT IN (SELECT before FROM touches WHERE before != 0)"
    )


def set_apart(
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


def counted(found: Iterable[list[int]]) -> dict[int, int]:
    """How many commits touched each file."""
    counts: dict[int, int] = {}
    for files in found:
        for file in set(files) if len(files) > 1 else files:
            counts[file] = counts.get(file, 0) + 1
    return counts


def insert(
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
            about = alive_json(file.path in present)
            title, moment = path.rpartition("/")[2], at.get(file.last, "")
            records.append((shown, f"file:{path}", title, path, moment, encode(its), about))
            tags += [(tag, shown) for tag in its]
            record += 1
        extra, count = int(id_ in extras), counts.get(id_, 0)
        rows.append((id_, shown, file.path, extra, count, file.last, said(file)))
    history.db.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    history.db.executemany(FILE_RECORD, records)
    history.db.executemany("INSERT INTO names(rowid, words) VALUES (?, ?)", names)
    history.db.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", sorted(tags))


def alive_json(alive: bool) -> str:
    return '{"alive": true}' if alive else '{"alive": false}'


def said(file: File) -> str:
    return "" if file.tags == SILENT else encode([sorted(part) for part in file.tags])
