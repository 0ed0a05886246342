"""Commands of the journal: which failures were put right later. Hooks import this module.

It is light: a line is parsed, and an output read, only where it may have put right an open failure.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

MOST = 300
"""The latest commands that are read."""
AFTERWARDS = 50
"""Commands after a failure that is older than these, of the same program."""
OUTPUT = 20_000
"""Characters at the end of an output that are read."""
OPERATORS = frozenset("|;&\n!")
"""What may hide an exit code."""
TROUBLE = ("fail", "error", "traceback", "panic", "fatal", "not ok", "no test")
"""What an output has in it that tells of a failure; only then it is read closely."""
LEADERS = frozenset("cd && || ; | sudo env time".split())
_ALIVE = "redacted = 0 AND forgotten_at = 0"
_READ = (
    "SELECT id, ts, capsule, branch, kind, IFNULL(json_extract(provenance, '$.command'),"
    " substr(content, 3, 500)), json_extract(provenance, '$.exitCode'),"
    " json_extract(provenance, '$.hasError')"
    " FROM (SELECT id, ts, capsule, branch, kind, content, provenance FROM observations"
    f" WHERE ts >= ? AND ts < ? AND kind IN ('command', 'error') AND {_ALIVE}"
    " AND json_valid(provenance) AND (? = '' OR instr(provenance, ?)) ORDER BY ts {} LIMIT ?)"
)


class Ran:
    """A command that was run: where, when, and how it ended."""

    __slots__ = ("at", "branch", "capsule", "code", "failed", "id", "line", "text")

    def __init__(
        self,
        line: str,
        at: int,
        *,
        branch: str = "",
        capsule: str = "",
        id_: str = "",
        code: object = None,
        failed: bool = False,
        text: str = "",
    ) -> None:
        """`failed` is what its client said of it; an exit code may be that of something else.

        `text` is the entry with its output, if it was read.
        """
        self.line = line.strip()
        self.at = at
        self.branch = branch
        self.capsule = capsule
        self.id = id_
        self.code = 0 if code == "0" else code
        self.failed = failed or self.code not in (None, 0)
        self.text = text

    @property
    def names(self) -> set[str]:
        """Its words without folders: two lines without one in common run different things."""
        words = {word.rpartition("/")[2] for word in self.line.split()} - LEADERS
        return {word for word in words if word[:1] != "-"}

    def succeeded(self) -> bool | None:
        """Whether it did, by its exit code and what it printed; None if nobody knows."""
        if self.failed:
            return False
        plain = not OPERATORS.intersection(self.line)
        if plain and self.code == 0 and not self._tells_of_trouble():
            return True
        from kinen.journal.verdict import verdict

        code = 0 if self.code == 0 else None
        return verdict(self.line, self._output(), code)

    def may_have_failed(self) -> bool:
        """Whether it failed, or its exit code may hide a failure that its output tells of."""
        hidden = self.code is None or OPERATORS.intersection(self.line)
        return self.failed or bool(hidden and self._tells_of_trouble())

    def _output(self) -> str:
        head = f"$ {self.line}"
        if self.text.startswith(head):
            return self.text[len(head) :]
        return self.text.partition("\n")[2]

    def _tells_of_trouble(self) -> bool:
        low = self._output()[-OUTPUT:].casefold()
        return any(word in low for word in TROUBLE)


def open_failures(commands: Iterable[Ran]) -> list[Ran]:
    """Of the commands of a session, the latest first, those that failed and nothing put right."""
    later: list[Ran] = []
    failed: list[Ran] = []
    for run in commands:
        bad = run.may_have_failed() and run.succeeded() is False and acts(run.line)
        repeated = any(run.line == other.line for other in failed)
        if bad and not repeated and not _puts_right(run, later):
            failed.append(run)
        elif not bad:
            later.append(run)
    return failed


def acts(line: str) -> bool:
    """Whether a line does more than looking around: a `grep` that finds nothing broke nothing."""
    from kinen.journal.shell import acting

    return bool(acting(line))


def shown(line: str) -> str:
    """A line as it is told: see `shell.without_filters`."""
    from kinen.journal.shell import without_filters

    return without_filters(line)


def latest(db: sqlite3.Connection, since: int, failures: Iterable[Ran]) -> list[Ran]:
    """The latest commands since a time; and where these are too many, those that followed older
    failures and have a word of theirs.
    """
    rows = db.execute(_READ.format("DESC"), (since, 1 << 62, "", "", MOST)).fetchall()
    if len(rows) == MOST:
        oldest = min(row[1] for row in rows)
        for failure in failures:
            name = max(failure.names, key=len, default="")
            if name and failure.at < oldest:
                bounds = (failure.at, oldest, name, name, AFTERWARDS)
                rows += db.execute(_READ.format("ASC"), bounds)
    return [
        Ran(
            line,
            at,
            branch=branch,
            capsule=capsule,
            id_=id_,
            code=code,
            failed=kind == "error" or bool(error),
        )
        for id_, at, capsule, branch, kind, line, code, error in rows
    ]


def is_cured(db: sqlite3.Connection, failure: Ran, later: Iterable[Ran]) -> bool:
    """Whether commands that cover a failed one are known to have succeeded after it.

    Only on the same branch: on another one it is another thing.
    """
    after = [run for run in later if run.at > failure.at and not run.failed]
    for run in after:
        if not run.text and _may_cover(run, failure):
            sql = "SELECT content FROM observations WHERE id = ?"
            run.text = db.execute(sql, (run.id,)).fetchone()[0]
    return _puts_right(failure, after)


def _puts_right(failure: Ran, later: Iterable[Ran]) -> bool:
    """Whether the same line succeeded, or others that ran all of its commands."""
    left = None
    for run in later:
        if not _may_cover(run, failure):
            continue
        if failure.line == run.line:
            if run.succeeded():
                return True
            continue
        from kinen.journal.shell import commands, uncovered

        left = commands(failure.line) if left is None else left
        rest = uncovered(run.line, left)
        if rest != left and run.succeeded():
            left = rest
            if not left:
                return True
    return False


def _may_cover(run: Ran, failure: Ran) -> bool:
    """Whether a run may have a command of a failed one in it: reading a shell line takes more."""
    if failure.branch and run.branch and failure.branch != run.branch:
        return False
    return failure.line == run.line or bool(
        failure.names & run.names and _may_include(run, failure)
    )


def _may_include(run: Ran, failure: Ran) -> bool:
    """Whether a run has no paths, or one that has a path of the failure in it.

    Reading a shell line takes more than that.
    """
    names = failure.names
    targets = [word.removeprefix("./") for word in failure.line.split()]
    paths = [word for word in run.line.split() if ("/" in word or "." in word) and word[0] != "-"]
    others = (word for word in paths if word.rpartition("/")[2] not in names)
    bounds = [word.removeprefix("./").removesuffix("...").rstrip("/.") for word in others]
    return not bounds or any(word.startswith(bound) for bound in bounds for word in targets)
