"""`standup`, `handoff` and `context`: where the work stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

from kinen.memory.report_text import Report, handoff_text, standup_text
from kinen.render.journal import recall_json, recall_text
from kinen.text import now, parse_time
from kinen.verbs.search import Recalled
from kinen.verbs.verb import Result, Verb, View, param, since

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.model.journal import Recall

SINCE = "1d"
"""Where a standup begins by default."""


@dataclass(frozen=True, slots=True)
class WorkReport(Report, Result):
    markdown: str


class MarkdownReport:
    """A report of the work: as text its markdown, which is all that an agent gets."""

    result = WorkReport
    tool_fields: ClassVar[tuple[str, ...]] = ("space", "markdown")
    several = True

    def text(self, result: WorkReport, view: View) -> str:  # noqa: ARG002
        return result.markdown

    def empty(self, result: WorkReport) -> bool:
        return not result.markdown


class Standup(MarkdownReport, Verb):
    """Report what was done, what was decided, what comes next and what is open.

    Shows sessions with intent, outcome and next steps; commits, and which of them are not pushed;
    decisions; unresolved errors. Exit 1 if there is nothing.

    \b
    Examples:
      kinen standup
      kinen standup --since 3d | pbcopy
      kinen standup --since 1w --space all
      kinen standup --json | jq '.not_pushed[].subject'
    """

    route = "standup"
    tool = "kinen_standup"
    title = "Standup"
    guide = "What was done, decided, comes next and is open since a time."

    since: str = since(SINCE, guide="1d, 1w", example="1w")

    def run(self, memory: Memory) -> WorkReport:
        report = memory.reports.standup_report(self._begin())
        return WorkReport(**asdict(report), markdown=standup_text(report))

    def _begin(self) -> str:
        return parse_time(self.since or SINCE, now())

    def notes(self, result: WorkReport) -> Iterable[str]:
        if not result.markdown:
            begin = self._begin()
            longer = "`kinen standup --since 1w` looks further back"
            if begin <= parse_time("1w", now()):
                longer = "`kinen handoff` shows the latest sessions"
            yield f"nothing since {begin[:10]}: {longer}"


class Handoff(MarkdownReport, Verb):
    """Report what the next person or agent needs to know: state, plan, sessions, open points.

    Exit 1 if there is nothing.

    \b
    Examples:
      kinen handoff > HANDOFF.md
      kinen handoff --space all
      kinen handoff --json | jq '.sessions[0].next'
    """

    route = "handoff"
    tool = "kinen_handoff"
    title = "Handoff"
    guide = "What the next agent needs: state, plan, sessions and open points."

    def run(self, memory: Memory) -> WorkReport:
        report = memory.reports.handoff_report()
        return WorkReport(**asdict(report), markdown=handoff_text(report))

    def notes(self, result: WorkReport) -> Iterable[str]:
        if not result.markdown:
            yield "nothing to hand off: `kinen import transcripts` imports past sessions"


class Context(Verb):
    """Show what is related to a file, session, issue or plan: sessions, memories, commits, files.

    Without --file, --session, --issue or --plan, the uncommitted changes are used. Exit 1 if
    there is nothing.

    \b
    Examples:
      kinen recall --around
      kinen recall --around --plan
      kinen recall --around --file src/auth.py --budget 800
      kinen recall --around --session s1 --depth 2
      kinen recall --around --issue bd-a1b2
    """

    result = Recalled
    route = "context"
    tool = "kinen_context"
    title = "Context of the current work"
    guide = """Memories, checkpoints, commits and files around the uncommitted changes, or around a
    file, a session or the active plan."""
    several = True

    session: str = param("--session", "session, by its id", metavar="ID", example="s1")
    file: str = param(
        "--file -f",
        "file: its path, or the end of it",
        metavar="PATH",
        path=True,
        end=True,
        guide="path, or its end",
    )
    issue: str = param(
        "--issue", "issue: what names it, and the files of its commits", metavar="ID", unlisted=True
    )
    plan: bool = param(
        "--plan", "the active plan: files that it names, and companions", default=False
    )
    depth: int = param(
        "--depth",
        "steps to follow from what was found",
        1,
        least=1,
        most=4,
        metavar="N",
        unlisted=True,
    )
    budget: int = param(
        "--budget",
        "token limit (default: recall.budget)",
        0,
        least=0,
        most=1_000_000,
        metavar="N",
        guide="most tokens; 0: as configured",
    )
    recall: Recall

    def run(self, memory: Memory) -> Recalled:
        fields = {name: getattr(self, name) for name in self.params}
        self.recall = memory.context.around(**fields)
        return Recalled(**recall_json(self.recall))

    def text(self, result: Recalled, view: View) -> str:  # noqa: ARG002
        return recall_text(self.recall) if result.items else ""

    def agent_text(self, result: Recalled) -> str:  # noqa: ARG002
        return recall_text(self.recall) or "nothing yet"

    def empty(self, result: Recalled) -> bool:
        return not result.items

    def notes(self, result: Recalled) -> Iterable[str]:
        yield from result.notes
        if not result.items and not result.notes:
            plan = "the plan" if self.plan else "the uncommitted changes"
            subject = self.file or self.session or self.issue or plan
            yield (
                f"nothing recorded about {subject} yet: `kinen install` records sessions of agents,"
                " `kinen save` saves what was done"
            )
