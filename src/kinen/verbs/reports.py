"""`standup`, `handoff` and `context`: where the work stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kinen.errors import QueryError
from kinen.memory.reports import Report, handoff_text, standup_text
from kinen.model.journal import Scope
from kinen.model.records import JOURNAL_KINDS
from kinen.query import MOST, recall_query
from kinen.render.journal import recall_json, recall_text
from kinen.text import estimate, now, parse_time
from kinen.verbs.answers import DroppedItem, Omission, Recalled, RecallItem
from kinen.verbs.params import SINCE, UNTIL, param, since
from kinen.verbs.verb import Output, Result, Shape, Verb, View, moment, verb

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.model.journal import Recall

BEGIN = "1d"
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

    since: str = since(BEGIN, guide="1d, 1w", example="1w")

    def run(self, memory: Memory) -> WorkReport:
        report = memory.reports.standup_report(self._begin())
        return WorkReport(**asdict(report), markdown=standup_text(report))

    def _begin(self) -> str:
        return parse_time(self.since or BEGIN, now())

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
    guide = """Memories, commits and files around the uncommitted changes, or around a
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


WHOSE = {name: param(f"--{name}", name, longest=500) for name in Scope._fields}
BUDGET = param(
    "--budget", "most tokens; 0: as configured", 0, least=0, most=MOST["budget"], example=600
)
BRIEF = Shape("Brief", None, {"text": str, "tokens": int})


@verb(
    params=WHOSE,
    result=Shape(
        "TieredRecall",
        None,
        {
            "query": str,
            "budget": int,
            "tokens": int,
            "dropped": [DroppedItem],
            "notes": list[str],
            "plan": RecallItem | None,
            "pins": [RecallItem],
            "summary": RecallItem | None,
            "hits": [RecallItem],
        },
    ),
    route="retrieve",
    methods=("POST",),
)
def retrieve(
    memory: Memory,
    query: str = param("--query", "what to look for", longest=20_000, example="flaky test"),
    since: str = SINCE,
    until: str = UNTIL,
    limit: int = param("--limit", "most hits", 10, least=1, most=1000),
    budget: int = BUDGET,
    *,
    session: str,
    repo: str,
    agent: str,
    user: str,
    task: str,  # noqa: ARG001 - a part of every scope
) -> Output:
    """A recall from the journal, tier by tier: Kindling's recall."""
    end = moment(until, end=True)
    fields: dict[str, Any] = {"since": moment(since), "until": end, "session": session}
    journal_query = recall_query(query, types=JOURNAL_KINDS, limit=limit, budget=budget, **fields)
    journal_query = journal_query._replace(repo=repo, agent=agent, user=user)
    answer = recall_json(memory.recall(journal_query, summary=True))
    tiers: dict[str, list[Any]] = {tier: [] for tier in ("plan", "pins", "summary", "hits")}
    for item in answer["items"]:
        tiers[item["tier"]].append(item)
    one = {name: next(iter(tiers[name]), None) for name in ("plan", "summary")}
    names = ("query", "budget", "tokens", "dropped", "notes")
    return Output({**{name: answer[name] for name in names}, **tiers, **one})


@verb(params=WHOSE, result=BRIEF, route="context/session-start", methods=("POST",))
def session_start(memory: Memory, budget: int = BUDGET, **scope: str) -> Output:
    """Context for an agent that begins: plan, pins, the last summary, memories."""
    return _brief(memory.journal.brief(scope["session"], scope["agent"], budget))


@verb(params=WHOSE, result=BRIEF, route="context/pre-compact", methods=("POST",))
def pre_compact(memory: Memory, budget: int = BUDGET, **scope: str) -> Output:
    """Context that must survive when an agent compacts its session: plan and pins."""
    journal = memory.journal
    return _brief(journal.brief(scope["session"], scope["agent"], budget, compacting=True))


@verb(
    params=WHOSE,
    result=Shape(
        "PromptContext", None, {**BRIEF.fields, "entries": list[str], "dropped": [Omission]}
    ),
    route="context/prompt",
    methods=("POST",),
)
def prompt_context(
    memory: Memory,
    budget: int = BUDGET,
    prompt: str = param(
        "--prompt", "the prompt", required=True, least=0, longest=None, example="make the test pass"
    ),
    known: list[str] = param(
        "--known",
        "refs that are in the agent's context already",
        many=True,
        most=10_000,
        separator="",
    ),
    **scope: str,
) -> Output:
    """Context for a prompt, from other sessions and files."""
    most = budget or memory.config.hooks.budget
    try:
        related = memory.searcher.related(prompt, scope["session"], most, known)
    except QueryError:  # the prompt has no words to search for
        return _brief("", entries=[], dropped=[])
    dropped = [Omission(ref, reason) for ref, reason in related.dropped]
    return _brief(related.text, entries=list(related.entries), dropped=dropped)


def _brief(text: str, **more: Any) -> Output:
    return Output({"text": text, "tokens": estimate(text), **more}, text)
