"""Random histories: following them step by step gives the index that a rebuild gives, and the tags
that a plain replay gives.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kinen.config.keys import GitSection
from kinen.index.git.commits import Hand, Settings
from kinen.index.git.sync import follow
from kinen.index.writer import Writer
from kinen.sources.git.log import Log
from kinen.sources.git.tagging import Tagger, read_rules
from kinen.space.repository import git_above
from kinen.text import budget

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

LONG = bool(os.environ.get("KINEN_STRESS"))
PATHS = ["src/auth/a.py", "src/auth/b.py", "lib/net/é c.py", "docs/tests/d.md", "top.txt"]
SUBJECTS = ["feat(auth): one", "fix(net,io)!: two", "plain words", "chore(auth): tidy"]
LINES = ["", "tags: x, +y", "tags: -auth", "tags: -x, net", "tags: +auth\n\nRefs: #1", "-- tags:"]
TAGGER = Tagger(read_rules("/nowhere", GitSection(), {}))

Change = tuple[str, int, int]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "edit", "delete", "rename", "rename", "swap"]),
        st.integers(0, len(PATHS) - 1),
        st.integers(0, len(PATHS) - 1),
    ),
    min_size=1,
    max_size=3,
)
MESSAGE = st.builds(
    lambda subject, line: f"{subject}\n\n{line}".strip(),
    st.sampled_from(SUBJECTS),
    st.sampled_from(LINES),
)
PLACES = st.integers(0, len(PATHS) - 1)
HANDS = st.tuples(st.just("tag"), PLACES, st.sampled_from(["+x", "-x", "+z", "-auth"]))
OTHERS = {
    "amend": st.tuples(st.just("amend"), CHANGES, MESSAGE),
    "switch": st.tuples(st.just("switch"), st.integers(0, 2), st.none()),
    "merge": st.tuples(st.just("merge"), st.integers(0, 2), CHANGES | st.just([])),
    "reset": st.tuples(st.just("reset"), st.integers(1, 3), st.none()),
    "tag": HANDS,
    "gc": st.tuples(st.just("gc"), st.none(), st.none()),
}
COMMIT = st.tuples(st.just("commit"), CHANGES, MESSAGE)
ACTION = st.sampled_from(["commit"] * 8 + ["switch", "merge"] * 2 + list(OTHERS)).flatmap(
    lambda kind: OTHERS.get(kind, COMMIT)
)
AMENDED_BELOW_A_MERGE: list[tuple[Any, Any, Any]] = [
    ("switch", 0, None),
    ("commit", [("delete", 1, 0), ("write", 0, 0), ("rename", 4, 0)], "feat(auth): one"),
    ("switch", 0, None),
    ("switch", 1, None),
    ("switch", 2, None),
    ("amend", [("rename", 4, 0), ("write", 0, 0)], "feat(auth): one"),
    ("switch", 0, None),
    (
        "commit",
        [("write", 1, 0), ("delete", 4, 0), ("rename", 0, 1)],
        "feat(auth): one\n\ntags: -auth",
    ),
    ("merge", 2, []),
]
"""A history in which following once gave other counts of commits than building."""
FIRST: tuple[str, list[Change], str] = ("commit", [("write", n, n) for n in range(4)], "first")


class Repository:
    """A repository whose commits are made by fast-import, one process each."""

    def __init__(self, root: Path) -> None:
        self.root, self.count = root, 0
        root.mkdir()
        self.git("init", "-q", "-b", "b0")
        self.trees: dict[str, dict[str, str]] = {"": {}}
        self.parents: dict[str, list[str]] = {}
        self.heads = {"b0": ""}
        self.branch = "b0"
        self.hands: list[Hand] = []

    def git(self, *arguments: str, data: bytes = b"") -> None:
        env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", "-C", str(self.root), *arguments]
        subprocess.run(command, input=data, env=env, check=True, capture_output=True)

    @property
    def head(self) -> str:
        return self.heads[self.branch]

    def act(self, kind: str, item: Any, two: Any) -> None:
        if kind == "commit":
            self.commit([self.head] if self.head else [], item, two)
        elif kind == "amend" and self.head:
            self.commit(self.parents[self.head], item, two)
        elif kind == "switch":
            self.branch, head = f"b{item}", self.head
            self.heads.setdefault(self.branch, head)
            self.point()
        elif kind == "merge":
            other = self.heads.get(f"b{item}", "")
            if other and self.head and other not in self.behind(self.head):
                self.commit([self.head, other], two, "Merge")
        elif kind == "reset":
            for _ in range(item):
                above = self.parents.get(self.head)
                if above:
                    self.heads[self.branch] = above[0]
            self.point()
        elif kind == "tag":
            self.hands.append(Hand(PATHS[item], two, self.head))
        elif kind == "gc":
            self.git("-c", "gc.reflogExpire=now", "prune", "--expire=now")

    def behind(self, sha: str) -> set[str]:
        results, rest = set(), [sha]
        while rest:
            here = rest.pop()
            if here not in results:
                results.add(here)
                rest += self.parents[here]
        return results

    def point(self) -> None:
        """Write branches and HEAD as git would have them."""
        heads = self.root / ".git" / "refs" / "heads"
        for name, sha in self.heads.items():
            if sha:
                (heads / name).write_text(sha + "\n")
        (self.root / ".git" / "HEAD").write_text(f"ref: refs/heads/{self.branch}\n")

    def commit(self, parents: list[str], changes: list[Change], message: str) -> None:
        base = dict(self.trees[parents[0]] if parents else {})
        for other in parents[1:]:
            base = {**self.trees[other], **base}
        tree = self.changed(base, changes)
        self.count += 1
        words = message.encode()
        lines = [b"commit refs/kinen/new", b"mark :1"]
        lines.append(f"committer A U <a@u> {1_700_000_000 + self.count} +0000".encode())
        lines += [b"data %d" % len(words), words]
        for at, parent in enumerate(parents):
            lines.append(f"{'merge' if at else 'from'} {parent}".encode())
        lines.append(b"deleteall")
        for path, text in sorted(tree.items()):
            data = text.encode()
            lines += [f'M 100644 inline "{path}"'.encode(), b"data %d" % len(data), data]
        marks = self.root / ".git" / "marks"
        stream = b"\n".join([*lines, b""])
        if not parents:
            stream = b"reset refs/kinen/new\n" + stream
        self.git("fast-import", "--quiet", "--force", f"--export-marks={marks}", data=stream)
        sha = marks.read_text().split()[1]
        self.trees[sha], self.parents[sha] = tree, list(parents)
        self.heads[self.branch] = sha
        self.point()

    def changed(self, tree: dict[str, str], changes: list[Change]) -> dict[str, str]:
        for kind, item, two in changes:
            here, there = PATHS[item], PATHS[two]
            if kind == "write":
                self.count += 1
                lines = (f"line {n} of {here} {self.count}" for n in range(12))
                tree[here] = "\n".join(lines) + "\n"
            elif kind == "edit" and here in tree:
                tree[here] += f"more {self.count}\n"
            elif kind == "delete":
                tree.pop(here, None)
            elif kind == "rename" and here in tree and here != there:
                tree[there] = tree.pop(here)
            elif kind == "swap" and here in tree and there in tree:
                tree[here], tree[there] = tree[there], tree[here]
        return tree


def dump(db: sqlite3.Connection) -> dict[str, list[Any]]:
    """What an index says, by names and not by numbers."""
    files = dict(db.execute("SELECT f.id, p.path FROM files f JOIN paths p ON p.id = f.path"))

    def owner(file: int) -> str:
        return files.get(file, "")

    return {
        "commits": db.execute(
            "SELECT c.place, c.sha, c.parents, c.at, c.width, c.ops, r.title, r.tags, r.metadata,"
            " r.user, k.body, k.digest, k.extra FROM commits c JOIN records r ON r.id = c.record"
            " JOIN chunks k ON k.record = r.id ORDER BY c.place"
        ).fetchall(),
        "touches": sorted(
            (sha, path, status, before or "", owner(output or own))
            for sha, path, status, before, output, own in db.execute(
                "SELECT c.sha, p.path, t.status, b.path, t.file, p.file FROM touches t"
                " JOIN commits c ON c.id = t.commit_id JOIN paths p ON p.id = t.path"
                " LEFT JOIN paths b ON b.id = t.before"
            )
        ),
        "files": db.execute(
            "SELECT p.path, p.present, f.extra, f.commits, f.said, c.sha, r.ref, r.at, r.tags,"
            " r.metadata, (SELECT group_concat(tag) FROM tags t WHERE t.record = r.id)"
            " FROM files f JOIN paths p ON p.id = f.path JOIN records r ON r.id = f.record"
            " LEFT JOIN commits c ON c.id = f.last ORDER BY p.path, f.extra"
        ).fetchall(),
        "paths": sorted(
            (path, owner(file), present)
            for path, file, present in db.execute(
                "SELECT path, file, present FROM paths WHERE file OR present"
                " OR EXISTS (SELECT 1 FROM touches t WHERE t.path = paths.id)"
            )
        ),
        "counts": db.execute(
            "SELECT (SELECT COUNT(*) FROM records), (SELECT COUNT(*) FROM chunks),"
            " (SELECT COUNT(*) FROM tags), (SELECT COUNT(*) FROM files),"
            ' (SELECT COUNT(*) FROM search WHERE search MATCH \'"one" OR "two" OR "plain"\')'
        ).fetchall(),
        "states": db.execute("SELECT * FROM states ORDER BY source, key").fetchall(),
    }


def followed(repository: Repository, writer: Writer) -> None:
    git = git_above(str(repository.root))
    assert git is not None
    log = Log(git, str(repository.root))
    log.exclude(TAGGER.excluded, TAGGER.exclude_digest)
    follow(writer, log, Settings(TAGGER.derived, "", repository.hands), lambda _: None)
    assert not log.notes
    assert not log.remarks


def grown_as_built(
    folder: Path, actions: list[tuple[Any, Any, Any]]
) -> Iterator[tuple[Repository, Writer]]:
    """After each action, the index that follows the history, which equals one built anew."""
    repository = Repository(folder / "repo")
    writer = Writer(str(folder / "grown.db"))
    for number, action in enumerate([FIRST, *actions]):
        repository.act(*action)
        followed(repository, writer)
        anew = Writer(str(folder / f"{number}.db"))
        followed(repository, anew)
        grown, built = dump(writer.db), dump(anew.db)
        for part, rows in built.items():
            assert grown[part] == rows, part
        anew.close()
        yield repository, writer
    writer.close()


# The same once more, as simply as it can be said


def lines_of(repository: Repository, sha: str, done: set[str]) -> Iterator[str]:
    """Parents first, the first parent's line first."""
    if sha in done:
        return
    done.add(sha)
    for parent in repository.parents[sha]:
        yield from lines_of(repository, parent, done)
    yield sha


def replayed(  # noqa: C901
    repository: Repository, db: sqlite3.Connection
) -> dict[str, list[str]]:
    """The tags of each path at the head, from what the index says that commits did."""
    files: list[dict[str, Any]] = []
    order = list(lines_of(repository, repository.head, set()))
    output = {sha: ops.split() for sha, ops in db.execute("SELECT sha, ops FROM commits")}
    waiting: list[tuple[str, str]] = []

    def having(path: str) -> dict[str, Any] | None:
        return next((one for one in files if one["path"] == path), None)

    def last(path: str) -> dict[str, Any] | None:
        owners = [entry for entry in files if path in entry["names"]]
        return max(owners, key=lambda owner: owner["names"][path], default=None)

    def hand(path: str, op: str) -> None:
        file = having(path)
        if file is None:
            waiting.append((path, op))
        else:
            file["hand"].append(op)

    # A tag comes after the commit there was, never before one that was given earlier; where that
    # commit is gone, with the next.
    places = [
        order.index(item.head) if item.head in order else len(order) for item in repository.hands
    ]
    places = [min(places[n:]) for n in range(len(places))]
    for at, sha in enumerate(order):
        rows = db.execute(
            "SELECT p.path, t.status, b.path FROM touches t JOIN commits c ON c.id = t.commit_id"
            " JOIN paths p ON p.id = t.path LEFT JOIN paths b ON b.id = t.before WHERE c.sha = ?",
            (sha,),
        ).fetchall()
        moving = {path: last(before) for path, status, before in rows if status == "R"}
        touched = []
        for path, status, _ in rows:
            file = moving.get(path) if status == "R" else last(path)
            if status == "R" and file is not None:
                there = having(path)
                if there is not None and there is not file and there not in moving.values():
                    files.remove(there)
                file["path"] = path
            elif file is None or (file["path"] != path and status in "AR"):
                file = {"path": path, "names": {}, "ops": [], "hand": []}
                files.append(file)
            file["names"][path] = at
            touched.append(file)
        for file in touched:
            for op in output[sha]:
                tags = tags_in(file)
                if op[0] == "+" or op[1:] in tags:
                    file["ops"].append(op)
        for path, _, before in rows:
            for value in (before, path):
                late = [one for one in waiting if one[0] == value]
                waiting[:] = [one for one in waiting if one[0] != value]
                for _, op in late:
                    hand(path, op)
        for element in (
            one for one, place in zip(repository.hands, places, strict=True) if place == at
        ):
            hand(element.path, element.op)
    for element, place in zip(repository.hands, places, strict=True):
        if place == len(order):
            hand(element.path, element.op)
    tree = repository.trees[repository.head]
    results = {}
    for path in tree:
        file = having(path) or {"path": path, "ops": [], "hand": []}
        if not file.get("names"):
            file["hand"] = [op for own, op in waiting if own == path]
        tags = tags_in(file)
        for op in file["hand"]:
            tags = tags | {op[1:]} if op[0] == "+" else tags - {op[1:]}
        results[path] = sorted(tags)
    return results


def tags_in(file: dict[str, Any]) -> set[str]:
    tags, removed = set(), set[str]()
    for op in file["ops"]:
        (tags if op[0] == "+" else removed).add(op[1:])
        (removed if op[0] == "+" else tags).discard(op[1:])
    return (set(TAGGER.derived(file["path"])) - removed) | tags


@settings(
    max_examples=800 if LONG else 15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(actions=st.lists(ACTION, min_size=5, max_size=16))
@example(actions=AMENDED_BELOW_A_MERGE)
def test_following_equals_building_and_a_plain_replay(
    tmp_path_factory: Any, actions: list[tuple[Any, Any, Any]]
) -> None:
    for repository, writer in grown_as_built(tmp_path_factory.mktemp("history"), actions):
        if repository.head:
            tags = dict(writer.db.execute("SELECT path, tags FROM records WHERE kind = 'file'"))
            alive = {path: json.loads(tags[path]) for path in repository.trees[repository.head]}
            assert alive == replayed(repository, writer.db)
            there = writer.db.execute("SELECT path FROM paths WHERE present ORDER BY path")
            assert [path for (path,) in there] == sorted(repository.trees[repository.head])


@settings(
    max_examples=300 if LONG else 12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    actions=st.lists(ACTION, min_size=5, max_size=12),
    files_of_a_commit=st.integers(1, 3),
    files_at_head=st.integers(0, 2),
)
def test_following_equals_building_where_commits_and_the_head_have_too_many_files(
    tmp_path_factory: Any,
    actions: list[tuple[Any, Any, Any]],
    files_of_a_commit: int,
    files_at_head: int,
) -> None:
    folder = tmp_path_factory.mktemp("history")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "COMMIT_FILES", files_of_a_commit)
        patch.setattr(budget, "HEAD_FILES", files_at_head)
        for repository, writer in grown_as_built(folder, actions):
            counts = writer.db.execute("SELECT COUNT(*) FROM touches GROUP BY commit_id")
            assert all(count <= files_of_a_commit for (count,) in counts)
            tree = set(repository.trees.get(repository.head, {}))
            there = {path for (path,) in writer.db.execute("SELECT path FROM paths WHERE present")}
            hidden = tree - there
            assert there <= tree
            reasons = dict(writer.db.execute("SELECT key, reason FROM states WHERE reason != ''"))
            assert bool(hidden) == ("HEAD" in reasons)
            if hidden:
                assert reasons["HEAD"].startswith(f"{len(hidden)} of its files were left out")
