"""`restore`: versions of a file that edits in sessions replaced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kinen.characters import visible_line
from kinen.errors import QueryError
from kinen.ids import short_id
from kinen.journal.authors import signature
from kinen.verbs.params import limit, offset, param
from kinen.verbs.verb import Result, Verb, View, next_offset

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.memory.versions import FileVersion


@dataclass(frozen=True, slots=True)
class ReplacedVersion(Result):
    ref: str
    """of the edit that replaced it"""
    at: str
    session: str
    agent: str
    whole: bool
    """whether the whole file could be rebuilt; only then it can be written"""
    lines: int
    """of the file, or of the part that is known"""
    commit: str
    """ref of a commit that has the same file"""
    by: str = ""
    origin: str = ""
    """where the session was read from, if not recorded here"""


@dataclass(frozen=True, slots=True)
class FileVersions(Result):
    path: str
    versions: list[ReplacedVersion]
    """the latest first"""
    total: int
    diff: str = ""
    """of the chosen version: how the file would change; of a partial one the known lines"""
    written: bool = False
    backup: str = ""
    """where the text that was overwritten is kept, if no commit has it"""
    next_offset: int = 0
    """of the next page; 0 on the last"""


class Restore(Verb):
    """Show versions of a file that edits in sessions replaced, and write one back.

    The versions are rebuilt from the edits of sessions, recorded here or found in the repository,
    and from commits. Of a partial one only the lines that an edit replaced are known, and it cannot
    be written. --write refuses a file with changes that are not committed; with --force a copy of
    it is kept. N is a number of the list, or an id. Exit 1 if there is none.

    \b
    Examples:
      kinen restore src/auth.py
      kinen restore src/auth.py --show 2
      kinen restore src/auth.py --write 2
    """

    result = FileVersions
    route = "versions"

    path: str = param("", "the file", required=True, path=True, example="src/auth.py")
    show: str = param("--show", "compare version N with the file as it is", metavar="N")
    write: str = param("--write", "write version N", metavar="N", only="command")
    force: bool = param(
        "--force", "write over changes that are not committed", default=False, only="command"
    )
    limit: int = limit(20, "versions")
    offset: int = offset("versions")

    def run(self, memory: Memory) -> FileVersions:
        from kinen.memory.versions import chosen

        if self.show and self.write:
            raise QueryError("a version is shown or written", "look first, then write")
        if self.force and not self.write:
            raise QueryError("force is for writing", "name the version to write")
        path, versions = memory.versions.versions(self.path)
        end = self.offset + self.limit if self.limit else None
        rows = versions[self.offset : end]
        diff = backup = ""
        name = self.show or self.write
        if name:
            version = chosen(versions, name)
            rows = [version]
            diff = _diff(path, memory.versions.current(path), version)
        if self.write:
            backup = memory.versions.write(path, version, force=self.force)
        return FileVersions(
            path,
            list(map(_row, rows)),
            len(versions),
            diff,
            bool(self.write),
            backup,
            0 if name else next_offset(len(versions), self.offset, self.limit),
        )

    def empty(self, result: FileVersions) -> bool:
        return not result.versions

    def text(self, result: FileVersions, view: View) -> str:
        if result.written:
            return f"wrote {visible_line(view.place(result.path))}"
        if self.show:
            return "\n".join(map(visible_line, result.diff.splitlines()))
        rows = []
        for number, row in enumerate(result.versions, self.offset + 1):
            who = ", ".join(filter(None, (row.agent, signature(row.by).strip(), row.origin)))
            size = f"{row.lines:,} {'line' if row.lines == 1 else 'lines'}"
            extent = size if row.whole else f"partial: {size}"
            same = f", as in {short_id(row.commit)}" if row.commit else ""
            about = f"{row.at[:16]}  {short_id(row.ref)}  {visible_line(who)}"
            session = f"session {visible_line(row.session[:12])}" if row.session else ""
            rows.append(f"{number:3}  {about}  {view.style('dim', session)}  {extent}{same}")
        return "\n".join(rows)

    def notes(self, result: FileVersions) -> Iterable[str]:
        if not result.versions:
            yield f"no recorded edit replaced a version of {result.path}"
        if self.show and not result.versions[0].whole:
            yield "only these lines of the version are known: it cannot be written"
        if self.show and result.versions[0].whole and not result.diff:
            yield "the file is the same now"
        if result.backup:
            yield f"what it was is kept in {result.backup}"


def _row(version: FileVersion) -> ReplacedVersion:
    fields = version._asdict()
    text = fields.pop("text")
    return ReplacedVersion(**fields, lines=len(text.splitlines()))


def _diff(path: str, now: str | None, version: FileVersion) -> str:
    if not version.whole:
        return "\n".join(f"-{line}" for line in version.text.splitlines())
    return "\n".join(_unified(path, (now or "").splitlines(), version.text.splitlines()))


def _unified(path: str, now: list[str], then: list[str]) -> Iterator[str]:
    from difflib import unified_diff

    return unified_diff(now, then, f"a/{path}", f"b/{path}", lineterm="")
