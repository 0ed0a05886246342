"""Follows files through a history, and their tags: pure functions over numbers.

A history is replayed commit by commit, each after its parents. Paths come and go; a file stays
the same through renames. Whether a file exists is not decided here but by git's tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kinen.model.tuples import NamedTuple

Derived = Callable[[int], Iterable[str]]
Ops = Sequence[str]
Place = tuple[int, int]  # a commit by its place in the order, and its id


WIDE = 100
"""Commits of more files than this are ignored, for tags by scope and for co-changes."""


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
    """The changes to a file's tags: by commits, and by hand, which override the commits."""

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    added_by_hand: frozenset[str] = frozenset()
    removed_by_hand: frozenset[str] = frozenset()

    def apply(self, ops: Ops, derived: Iterable[str]) -> Tags:
        """After operations such as `+auth` and `-session`; removing a missing tag has no effect.

        `derived` are the tags that follow from the path.
        """
        added = set(self.added)
        removed = set(self.removed)
        own = frozenset(derived)
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
            added = self.added_by_hand | tag
            removed = self.removed_by_hand - tag
        else:
            added = self.added_by_hand - tag
            removed = self.removed_by_hand | tag
        return self._replace(added_by_hand=added, removed_by_hand=removed)

    def current(self, derived: Iterable[str], *, hand: bool = True) -> list[str]:
        """All of a file's tags, sorted; without `hand`, as the commits alone have them."""
        tags = (set(derived) - self.removed) | self.added
        if hand:
            tags = (tags - self.removed_by_hand) | self.added_by_hand
        return sorted(tags)


SILENT = Tags()


class File:
    """A file in a replay: its path, its last commit and its tags."""

    __slots__ = ("last", "path", "tags")

    def __init__(self, path: int, last: int = 0, tags: Tags = SILENT) -> None:
        self.path = path
        self.last = last
        self.tags = tags


class Lineage:
    """The state of a replay: which file has a path now, or had it last."""

    def __init__(self, derived: Derived, first: int = 1) -> None:
        self.owner: dict[int, int] = {}
        self.contested: set[int] = set()
        """Paths that more than one file had."""
        self.files: dict[int, File] = {}
        self.retired: list[int] = []
        """Deleted files whose path another file got."""
        self._derived = derived
        self._next = first

    def commit(self, commit: int, touches: Sequence[Touch], ops: Ops) -> list[int]:
        """Replay one commit; the file behind each touch."""
        owner = self.owner
        files = self.files
        touched: list[int] = []
        if "R" in [touch[1] for touch in touches]:
            # All renames of a commit happen at once: two files may swap their paths.
            moving = {t.path: self._at(t.before) for t in touches if t.status == "R"}
            leaving = {file for file in moving.values() if file}
            touched = [
                self._moved(moving[t.path], t.path, leaving)
                if t.status == "R"
                else self._touched(t.path, t.status)
                for t in touches
            ]
            for file in touched:
                files[file].last = commit
        else:  # the common case, inlined: a call for each touch is slow
            for path, status, _ in touches:
                file = owner.get(path, 0)
                state = files.get(file)
                if state is None or (state.path != path and status == "A"):
                    file = self._new(path)
                    state = files[file]
                state.last = commit
                touched.append(file)
        for file in dict.fromkeys(touched) if ops else ():
            state = files[file]
            state.tags = state.tags.apply(ops, self._derived(state.path))
        return touched

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
        file = self._next
        self._next += 1
        self.files[file] = File(path)
        self._own(path, file)
        return file

    def _own(self, path: int, file: int) -> None:
        if self.owner.get(path, file) != file:
            self.contested.add(path)
        self.owner[path] = file

    def by_hand(self, path: int, op: str) -> bool:
        """Tag the file that has a path now; False if there is none."""
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
    order: list[int] = []
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
            order.append(here)
            stack.pop()
    return order


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
    """What a commit does to the tags of its files: its scopes are added, then its `tags:` line."""
    scopes = [name.strip(" -") for name in scope.split(",")] if width <= WIDE else []
    return [*(f"+{name}" for name in scopes if name), *ops]


class Pair(NamedTuple):
    """How often a file changed together with the chosen files."""

    file: int
    support: int
    """The number of commits that they share."""
    jaccard: float
    """The shared commits as a part of all commits that touched either."""
    weight: float
    """The sum of 1/(n−1) over shared commits of n files: a large commit proves little."""
    score: float
    """How likely the file is to change when the others do; pairs are ordered by it."""
    commits: tuple[Place, ...]
    """The shared commits, those of the fewest files first, newer before older."""


def together(
    histories: Sequence[Mapping[Place, Sequence[int]]],
    limit: int,
    counts: Callable[[int], int],
) -> list[Pair]:
    """The files that are likeliest to change with others, at least `limit` of them, best first.

    A history has the commits of one chosen file by their place in the order, each with the other
    files in it, deleted ones too. `counts` returns how many commits touched a file, 0 for a file
    that is not to be listed. The commits of a chosen file have weights; the share of the weight
    that another file is in is its probability to change too (docs/decisions/0008-git.md).
    """
    doubt: dict[int, float] = {}
    for commits in histories:
        whole = 1.0
        own: dict[int, float] = {}
        for files in commits.values():
            weight = 1 / max(1, len(files))
            whole += weight
            for file in files:
                own[file] = own.get(file, 0.0) + weight
        for file, weight in own.items():
            doubt[file] = doubt.get(file, 1.0) * (1 - weight / whole)
    all_commits = {commit: files for commits in histories for commit, files in commits.items()}
    pairs: list[Pair] = []
    for file in sorted(doubt, key=lambda file: doubt[file]):
        score = 1 - doubt[file]
        if len(pairs) >= limit > 0 and score < pairs[limit - 1].score:
            break
        if count := counts(file):
            weights = {
                commit: 1 / len(files) for commit, files in all_commits.items() if file in files
            }
            support = len(weights)
            either = max(len(all_commits) + count - support, support)
            best = sorted(weights, key=lambda commit: (weights[commit], commit), reverse=True)
            pairs.append(
                Pair(
                    file=file,
                    support=support,
                    jaccard=support / either,
                    weight=sum(weights.values()),
                    score=score,
                    commits=tuple(best),
                )
            )
    return pairs
