"""Which file is which through a history, and what it is tagged: pure functions over numbers.

A history is replayed commit by commit, each after its parents. Paths come and go; a file is what
goes on through renames. Whether a file exists is not decided here: git's tree says it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Derived = Callable[[int], Iterable[str]]
    Ops = Sequence[str]
    Place = tuple[int, int]  # a commit by its place in the order, and its id

WIDE = 100
"""A commit of more files says nothing about any of them, by its scope or as a pair."""


class Touch(NamedTuple):
    """What a commit did to a path: A, M, D, T, or R from `before`."""

    path: int
    status: str
    before: int = 0


class Step(NamedTuple):
    """One commit of a replay: what it touched, and its tag operations."""

    commit: int
    touches: list[Touch]
    ops: list[str]


class Tags(NamedTuple):
    """What was said of a file: by commits, and by hand, which has the last word."""

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()

    def told(self, ops: Ops, derived: Iterable[str]) -> Tags:
        """After operations such as `+auth` and `-session`; taking away what is not there is none.

        `derived` are the tags that the path itself gives.
        """
        added, removed, own = set(self.added), set(self.removed), frozenset(derived)
        for op in ops:
            tag = op[1:]
            if op[0] == "+":
                added.add(tag)
                removed.discard(tag)
            elif tag in added or (tag in own and tag not in removed):
                added.discard(tag)
                removed.add(tag)
        return self._replace(added=frozenset(added), removed=frozenset(removed))

    def by_hand(self, op: str) -> Tags:
        tag = frozenset((op[1:],))
        if op[0] == "+":
            return self._replace(given=self.given | tag, taken=self.taken - tag)
        return self._replace(given=self.given - tag, taken=self.taken | tag)

    def current(self, derived: Iterable[str], *, hand: bool = True) -> list[str]:
        """All of a file's tags, sorted; without `hand`, as the commits alone have them."""
        said = (set(derived) - self.removed) | self.added
        return sorted((said - self.taken) | self.given if hand else said)


SILENT = Tags()


class File:
    """A file on its way through the history."""

    __slots__ = ("last", "path", "tags")

    def __init__(self, path: int, last: int = 0, tags: Tags = SILENT) -> None:
        self.path, self.last, self.tags = path, last, tags


class Lineage:
    """The state of a replay: who has which path now, or had it last."""

    def __init__(self, derived: Derived, first: int = 1) -> None:
        self.owner: dict[int, int] = {}
        self.contested: set[int] = set()
        """Paths that more than one file had."""
        self.files: dict[int, File] = {}
        self.retired: list[int] = []
        """Files whose name another one took when they were gone."""
        self._derived, self._next = derived, first

    def commit(self, commit: int, touches: Sequence[Touch], ops: Ops) -> list[int]:
        """Replay one commit; the file behind each touch."""
        owner, files, found = self.owner, self.files, list[int]()
        if "R" in [touch[1] for touch in touches]:
            found = self._with_renames(touches)
            for file in found:
                files[file].last = commit
        else:  # as nearly all are, and so without a call for each touch
            for path, status, _ in touches:
                file = owner.get(path, 0)
                state = files.get(file)
                if state is None or (state.path != path and status == "A"):
                    file = self._new(path)
                    state = files[file]
                state.last = commit
                found.append(file)
        for file in dict.fromkeys(found) if ops else ():
            state = files[file]
            state.tags = state.tags.told(ops, self._derived(state.path))
        return found

    def _with_renames(self, touches: Sequence[Touch]) -> list[int]:
        """Renames happen at once: names may swap."""
        moving = {t.path: self._at(t.before) for t in touches if t.status == "R"}
        leaving = {file for file in moving.values() if file}
        return [
            self._moved(moving[t.path], t.path, leaving)
            if t.status == "R"
            else self._touched(t.path, t.status)
            for t in touches
        ]

    def _at(self, path: int) -> int:
        file = self.owner.get(path, 0)
        return file if file in self.files else 0

    def _touched(self, path: int, status: str) -> int:
        file = self.owner.get(path, 0)
        state = self.files.get(file)
        # A path that was renamed away and goes on being changed does so on another branch; one
        # that is added once more is another file.
        if state is not None and (state.path == path or status != "A"):
            return file
        return self._new(path)

    def _moved(self, file: int, path: int, leaving: set[int]) -> int:
        if not file:
            return self._touched(path, "A")
        there = self._at(path)
        leaves = there == file or there in leaving
        if there and not leaves and self.files[there].path == path:
            self.retired.append(there)
            del self.files[there]
        self._own(path, file)
        self.files[file].path = path
        return file

    def _new(self, path: int) -> int:
        file, self._next = self._next, self._next + 1
        self.files[file] = File(path)
        self._own(path, file)
        return file

    def _own(self, path: int, file: int) -> None:
        if self.owner.get(path, file) != file:
            self.contested.add(path)
        self.owner[path] = file

    def by_hand(self, path: int, op: str) -> bool:
        """Tag the file that has a path now; False if none has."""
        file = self.files.get(self.owner.get(path, 0))
        if file is None or file.path != path:
            return False
        file.tags = file.tags.by_hand(op)
        return True


def ordered(head: int, parents: Mapping[int, Sequence[int]], done: set[int]) -> list[int]:
    """A commit and all before it that are not done, parents first, the first parent's line first.

    What hangs on top of a first parent never changes the order below it: a history that grew is
    the old order and more.
    """
    found: list[int] = []
    stack: list[tuple[int, Iterator[int]]] = []
    if head not in done:
        done.add(head)
        stack.append((head, iter(parents.get(head, ()))))
    while stack:
        here, rest = stack[-1]
        for parent in rest:
            if parent not in done:
                done.add(parent)
                stack.append((parent, iter(parents.get(parent, ()))))
                break
        else:
            found.append(here)
            stack.pop()
    return found


def on_first_line(old: int, head: int, parents: Mapping[int, Sequence[int]]) -> bool:
    """Whether a history only grew: first parents lead from the new commit to the old one."""
    here = head
    while here != old:
        above = parents.get(here, ())
        if not above:
            return False
        here = above[0]
    return True


def tag_operations(ops: Ops, scope: str, width: int) -> list[str]:
    """What a commit says of each of its files: its scopes, then its own line of tags."""
    scopes = [one.strip(" -") for one in scope.split(",")] if width <= WIDE else []
    return [*(f"+{one}" for one in scopes if one), *ops]


class Pair(NamedTuple):
    """How often a file changed together with what was asked about."""

    file: int
    support: int
    """Commits that they share."""
    jaccard: float
    """These, of all commits that touched either."""
    weight: float
    """1/(n−1) for each of them that touched n files: a large commit says little."""
    score: float
    """How likely it is to change when they do: what pairs are ordered by."""
    commits: tuple[Place, ...]
    """The commits, those that say most first, newer ones before older ones."""


def together(
    asked: Sequence[Mapping[Place, Sequence[int]]],
    limit: int,
    counts: Callable[[int], int],
) -> list[Pair]:
    """The files that are likeliest to change with others, at least `limit` of them, best first.

    Each asked file comes as its commits, by their place in the order, with the other files in each,
    deleted ones too. `counts`
    tells how many commits touched a file, 0 where it is not to be named. Of what a file's commits
    weigh, the share that another one is in tells how likely it is to change with it
    (docs/decisions/0008-git.md); several asked files are as many witnesses.
    """
    doubt: dict[int, float] = {}
    for commits in asked:
        whole, own = 1.0, dict[int, float]()
        for files in commits.values():
            weight = 1 / max(1, len(files))
            whole += weight
            for file in files:
                own[file] = own.get(file, 0.0) + weight
        for file, weight in own.items():
            doubt[file] = doubt.get(file, 1.0) * (1 - weight / whole)
    all_commits = {commit: files for commits in asked for commit, files in commits.items()}
    pairs: list[Pair] = []
    for file in sorted(doubt, key=lambda one: doubt[one]):
        score = 1 - doubt[file]
        if len(pairs) >= limit > 0 and score < pairs[limit - 1].score:
            break
        if count := counts(file):
            pairs.append(_pair(file, score, count, all_commits))
    return pairs


def _pair(file: int, score: float, count: int, commits: Mapping[Place, Sequence[int]]) -> Pair:
    those = {one: 1 / len(files) for one, files in commits.items() if file in files}
    support, weight = len(those), sum(those.values())
    either = max(len(commits) + count - support, support)
    best = tuple(sorted(those, key=lambda commit: (those[commit], commit), reverse=True))
    return Pair(file, support, support / either, weight, score, best)
