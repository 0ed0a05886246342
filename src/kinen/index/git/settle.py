"""Derives files from all commits: through renames, with tags, and whether they exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kinen.index.git.commits import FILE_RECORD, History
from kinen.index.git.lineage import SILENT, File, Lineage, Step, Touch, ordered
from kinen.index.writer import encode
from kinen.model.tuples import NamedTuple
from kinen.text import budget, identifier_parts

Tree = Callable[[], list[str] | None]


class Plan(NamedTuple):
    """A replay of all commits."""

    gone: list[int]
    """Commits that cannot be reached from the head."""
    steps: list[Step]
    touched: list[list[int]]
    """The files behind the touches of each step."""
    lineage: Lineage
    waiting: dict[int, list[str]]
    """Tags set by hand on paths that no commit has touched."""
    tree: list[str] | None
    """The paths at the head; None if git cannot list them."""


def plan(history: History, head: str, tree: Tree) -> Plan:
    """Replay all commits; nothing is written."""
    ids, parents, all_steps = _commits(history)
    graph = {id_: [ids[sha] for sha in shas if sha in ids] for id_, shas in parents.items()}
    order = ordered(ids[head], graph, set()) if head in ids else []
    gone = sorted(set(ids.values()) - set(order)) if len(order) < len(ids) else []
    steps = [all_steps[id_] for id_ in order]
    lineage = Lineage(history.derived)
    # Tags set by hand, by the commit they come after, in the order in which they were set. If that
    # commit is gone, a tag comes with the next tag; the last ones come under commit 0.
    place = {step.commit: n for n, step in enumerate(steps)}
    here = 0
    last = len(steps)
    by_commit: dict[int, list[tuple[int, str]]] = {}
    for hand in reversed(history.settings.hands):
        commit = ids.get(hand.head, 0)
        if place.get(commit, last) < last:
            here = commit
            last = place[commit]
        by_commit.setdefault(here, []).append((history.path(hand.path), hand.op))
    after = {commit: hands[::-1] for commit, hands in by_commit.items()}
    waiting: dict[int, list[str]] = {}
    touched = []
    for step in steps:
        touched.append(lineage.commit(*step))
        for touch in step.touches if waiting else ():
            for path in (touch.before, touch.path):
                _tag(lineage, waiting, [(touch.path, op) for op in waiting.pop(path, ())])
        _tag(lineage, waiting, after.get(step.commit, ()))
    _tag(lineage, waiting, after.get(0, ()))
    return Plan(gone, steps, touched, lineage, waiting, tree())


def build(history: History, plan: Plan) -> None:
    """Write the files anew."""
    steps = plan.steps
    history.remove(plan.gone)
    if plan.tree is None:  # git cannot list the tree
        present = {path for path, there in existence(steps).items() if there}
    else:
        present = at_head(history, plan.tree)
    history.keep_paths()
    db = history.db
    history.drop(row[0] for row in db.execute("SELECT record FROM files").fetchall() if row[0])
    db.execute("DELETE FROM files")
    db.execute("DELETE FROM names")
    db.execute("UPDATE touches SET file = 0 WHERE file != 0")
    db.execute("UPDATE paths SET file = 0, present = 0 WHERE file != 0 OR present != 0")
    db.executemany("UPDATE paths SET present = 1 WHERE id = ?", [(path,) for path in present])
    placed = [(place, id_) for place, id_ in enumerate([step.commit for step in steps], 1)]
    db.executemany("UPDATE commits SET place = ? WHERE id = ?", placed)
    owner = {path: file for path, file in plan.lineage.owner.items() if file in plan.lineage.files}
    rows = [(file, path) for path, file in owner.items()]
    db.executemany("UPDATE paths SET file = ? WHERE id = ?", rows)
    set_apart(history, plan.lineage, steps, plan.touched)
    # A path that no file has was only in commits that were removed.
    db.execute(
        "DELETE FROM paths WHERE file = 0 AND NOT present"
        " AND NOT EXISTS (SELECT 1 FROM touches t WHERE t.path = paths.id)"
        " AND id NOT IN (SELECT before FROM touches WHERE before != 0)"
    )
    files = dict(plan.lineage.files)
    paths = {file.path for file in files.values()}
    extras = set()
    counts = count_commits(plan.touched)
    # A file that was retired has a number too, by which its commits are counted.
    last = max((*files, *counts), default=0)
    for number, path in enumerate(sorted(present - paths), last + 1):
        tags = SILENT
        for op in plan.waiting.get(path, ()):
            tags = tags.by_hand(op)
        files[number] = File(path, tags=tags)
        extras.add(number)
    at = dict(history.db.execute("SELECT id, at FROM commits"))
    insert(history, files, extras, counts, present, at)


def at_head(history: History, tree: list[str]) -> set[int]:
    """The paths of the tree: all that a commit touched, and `HEAD_FILES` of the others.

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


def _commits(
    history: History,
) -> tuple[dict[str, int], dict[int, Sequence[str]], dict[int, Step]]:
    """All commits: their ids by sha, their parents and what they did."""
    if history.fresh:
        ids = {sha: id_ for sha, (id_, _) in history.new.items()}
        steps = {step.commit: step for step in history.steps}
        return ids, dict(history.new.values()), steps
    ids = {}
    above: dict[int, Sequence[str]] = {}
    steps = {}
    for id_, sha, parents, ops in history.db.execute("SELECT id, sha, parents, ops FROM commits"):
        ids[sha] = id_
        above[id_] = parents.split()
        steps[id_] = Step(id_, [], ops.split())
    rows = history.db.execute("SELECT commit_id, path, status, before FROM touches")
    for commit, path, status, before in rows:
        steps[commit].touches.append(Touch(path, status, before))
    return ids, above, steps


def _tag(lineage: Lineage, waiting: dict[int, list[str]], hands: Iterable[tuple[int, str]]) -> None:
    for path, op in hands:
        if not lineage.by_hand(path, op):
            waiting.setdefault(path, []).append(op)


def existence(steps: list[Step]) -> dict[int, bool]:
    """The paths that steps touched, and whether each exists after them."""
    now: dict[int, bool] = {}
    for step in steps:
        now.update((touch.before, False) for touch in step.touches if touch.before)
        now.update((touch.path, touch.status != "D") for touch in step.touches)
    return now


def set_apart(
    history: History, lineage: Lineage, steps: list[Step], touched: Sequence[Sequence[int]]
) -> None:
    """Write the file of a touch where another file has the path now."""
    contested = {path for path, file in lineage.owner.items() if file not in lineage.files}
    contested |= lineage.contested
    apart = []
    for step, files in zip(steps if contested else (), touched, strict=bool(contested)):
        for (path, _, _), file in zip(step.touches, files, strict=True):
            if path in contested:
                owner = file if file in lineage.files else -1
                if lineage.owner.get(path) != owner:
                    apart.append((owner, step.commit, path))
    sql = "UPDATE touches SET file = ? WHERE commit_id = ? AND path = ?"
    history.db.executemany(sql, apart)


def count_commits(touched: Iterable[list[int]]) -> dict[int, int]:
    """How many commits touched each file."""
    counts: dict[int, int] = {}
    for files in touched:
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
    record = history.scalar("SELECT MAX(id) FROM records") + 1
    is_hidden = history.hidden()
    rows = []
    records = []
    tags = []
    names = []
    for id_, file in files.items():
        path = history.name(file.path)
        names.append((id_, f"{path} {identifier_parts(path)}"))
        visible = 0
        if not is_hidden(f"file:{path}"):
            visible = record
            current = file.tags.current(history.derived(file.path))
            metadata = alive_json(file.path in present)
            title = path.rpartition("/")[2]
            moment = at.get(file.last, "")
            row = (record, f"file:{path}", title, path, moment, encode(current), metadata)
            records.append(row)
            tags += [(tag, record) for tag in current]
            record += 1
        extra = int(id_ in extras)
        count = counts.get(id_, 0)
        rows.append((id_, visible, file.path, extra, count, file.last, tags_json(file)))
    history.db.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    history.db.executemany(FILE_RECORD, records)
    history.db.executemany("INSERT INTO names(rowid, words) VALUES (?, ?)", names)
    history.db.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", sorted(tags))


def alive_json(alive: bool) -> str:
    return '{"alive": true}' if alive else '{"alive": false}'


def tags_json(file: File) -> str:
    """The changes to a file's tags as they are stored; empty if there are none."""
    return "" if file.tags == SILENT else encode([sorted(part) for part in file.tags])
