"""`blame`: each line of a file with its commit, person, agent and session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kinen.characters import visible_line
from kinen.ids import short_id
from kinen.verbs.params import limit, offset, param
from kinen.verbs.verb import Result, Verb, View, next_offset

if TYPE_CHECKING:
    from kinen.memory import Memory


@dataclass(frozen=True, slots=True)
class LineOrigin(Result):
    line: int
    text: str
    commit: str
    """ref; empty if the line is not committed"""
    at: str
    author: str
    agent: str
    """the agent that wrote it; empty if no session is known to have"""
    session: str
    """ref of that session"""
    step: str
    """how that is known: trace, seen, content, lines or fits"""
    certain: bool


@dataclass(frozen=True, slots=True)
class FileBlame(Result):
    path: str
    lines: list[LineOrigin]
    agent_lines: int
    """lines of the whole file that a session is known to have written"""
    total: int
    next_offset: int = 0
    """of the next page; 0 on the last"""


class Blame(Verb):
    """Show each line of a file with its commit, person, agent and session.

    A line has a session where one is known to have written it; `kinen why PATH:LINE` says how.
    With a question mark it may be another. Exit 1 for an empty file.

    \b
    Examples:
      kinen files blame src/auth.py
      kinen files blame src/auth.py --json | jq '.agent_lines / .total'
    """

    result = FileBlame
    route = "blame"

    path: str = param("", "the file", required=True, path=True, example="src/auth.py")
    limit: int = limit(0, "lines")
    offset: int = offset("lines")

    def run(self, memory: Memory) -> FileBlame:
        path, rows = memory.reasons.line_origins(self.path)
        lines = [LineOrigin(**row._asdict()) for row in rows]
        end = self.offset + self.limit if self.limit else None
        return FileBlame(
            path,
            lines[self.offset : end],
            sum(bool(row.session) for row in lines),
            len(lines),
            next_offset(len(lines), self.offset, self.limit),
        )

    def text(self, result: FileBlame, view: View) -> str:
        rows = []
        width = len(str(result.total))
        for row in result.lines:
            commit = short_id(row.commit).partition(":")[2] if row.commit else "not committed"
            doubt = "" if row.certain or not row.session else "?"
            who = row.agent + doubt if row.session else row.author
            about = f"{commit[:10]:10} {row.at[:10]:10} {visible_line(who)[:16]:16}"
            text = visible_line(row.text.expandtabs(4))
            rows.append(f"{view.style('dim', about)} {row.line:{width}}  {text}")
        return "\n".join(rows)

    def empty(self, result: FileBlame) -> bool:
        return not result.lines

    def notes(self, result: FileBlame) -> Iterable[str]:
        if result.total:
            lines = f"{result.agent_lines:,} of {result.total:,} lines"
            yield f"{lines} ({result.agent_lines / result.total:.0%}) known to be by agents"
