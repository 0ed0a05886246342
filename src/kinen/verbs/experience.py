"""`fix`, `how` and `friction`: what was learned from errors and commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kinen.characters import visible_line
from kinen.journal.shell import without_filters
from kinen.memory.experience import nearest
from kinen.render.json import hits_json
from kinen.render.text import counted, hits_text
from kinen.text import excerpt, iso
from kinen.verbs.params import limit, param, words
from kinen.verbs.verb import Output, Result, Verb, View, verb

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.model.records import Hits
    from kinen.recall import errors, invocations
    from kinen.recall.errors import Friction as Recurrence

WIDTH = 300
ANSWER = 600
"""Characters of what an agent answered to a pasted error."""
SHORT_SESSION = 8
WAYS = 3
STEPS = 3
"""Ways in which a recurring error ended, and steps of each, that are shown."""
NOT_KNOWN = "not among the recorded failures"
NOT_RECORDED = "no commands recorded yet: `kinen install` records what agents run"


@dataclass(frozen=True, slots=True)
class Step(Result):
    kind: str
    """edit or run"""
    text: str
    ref: str
    named: bool = False
    """whether the error names what it touches"""


@dataclass(frozen=True, slots=True)
class Fix(Result):
    error: str
    ref: str
    at: str
    session: str = ""
    command: str = ""
    """what failed"""
    likeness: float = 0.0
    pasted: bool = False
    """a user pasted it into a prompt"""
    answer: str = ""
    """what the agent said about it at the end of its turn"""
    fixed_at: str | None = None
    """when the same command succeeded"""
    steps: tuple[Step, ...] = ()
    cured: bool = False
    """whether the error names something that was changed"""
    more_steps: int = 0
    success: str = ""
    commit: str = ""
    came_back: str | None = None
    """when the same error was seen again"""
    by: str = ""
    """whose session it was, if it was somebody else's"""

    @classmethod
    def of(cls, fix: errors.Fix) -> Fix:
        times = {"at": fix.at, "fixed_at": fix.fixed_at, "came_back": fix.came_back}
        moments = {name: iso(at / 1000) if at else None for name, at in times.items()}
        steps = tuple(Step(*step) for step in fix.steps)
        fields: dict[str, Any] = {**fix._asdict(), **moments, "steps": steps}
        return cls(**fields, cured=bool(fix.cure))


@dataclass(frozen=True, slots=True)
class Fixes(Result):
    fixes: list[Fix]
    omitted: int = 0
    """similar failures that were not followed"""
    search: list[dict[str, Any]] = field(default_factory=list)
    """what search finds, where no recorded failure is similar"""


class FixError(Verb):
    """Show how an error was fixed before: what was changed or run until it was gone.

    ERROR is the text of the error or a part of one of its lines, as an argument or on standard
    input. Numbers, folders, times and addresses in it are ignored. Errors that users pasted count,
    too. A change is called the fix only if the same command passed afterwards and the error names
    what was changed. An unknown error is searched for everywhere, and the exit code is 1.

    \b
    Examples:
      kinen fix "ModuleNotFoundError: No module named 'yaml'"
      kinen fix no upstream branch
      pytest -q 2>&1 | kinen fix
      kinen fix --json 'error[E0382]: borrow of moved value'
    """

    result = Fixes
    route = "fix"
    tool = "kinen_fix"
    title = "How an error was fixed before"
    guide = """How an error was fixed before: what was changed or run until the same command
    succeeded. Look here before you debug."""

    error: str = words(
        "the text of the error, or a part of one of its lines",
        guide="the lines that name it",
        longest=100_000,
        example="KeyError: 'tea'",
        piped="no error text · pass it, or pipe it: make 2>&1 | kinen fix",
    )
    limit: int = limit(5, "fixes", tool=3)
    hits: Hits | None = None

    def run(self, memory: Memory) -> Fixes:
        fixes, omitted = memory.experience.fix(self.error, self.limit)
        if fixes:
            return Fixes([Fix.of(fix) for fix in fixes], omitted)
        self.hits = nearest(memory.search, self.error)
        return Fixes([], omitted, hits_json(self.hits)["results"])

    def text(self, result: Fixes, view: View) -> str:
        if self.hits:
            return hits_text(self.hits, view.screen)
        return "\n\n".join(fix_text(fix, view) for fix in result.fixes)

    def notes(self, result: Fixes) -> Iterable[str]:
        if not result.fixes:
            yield f"{NOT_KNOWN}; above is what search finds" if result.search else NOT_KNOWN
        if result.fixes and result.omitted:
            yield f"stopped early: {counted(result.omitted, 'similar failures')} not followed"


def fix_text(fix: Fix, view: View) -> str:
    """An occurrence of an error: what failed, what was done, what succeeded afterwards."""
    session = f" in session {fix.session[:SHORT_SESSION]}{_by(fix)}" if fix.session else ""
    where = visible_line(f"{fix.likeness:.0%} similar, {fix.at[:10]}{session} [{fix.ref}]")
    lines = [_line(fix.error), view.style("dim", f"  {where}")]
    if fix.command:
        lines.append(f"  failed: {_line(fix.command)}")
    if fix.pasted:
        answer = visible_line(excerpt(" ".join(fix.answer.split()), ANSWER))
        lines.append(f"  pasted by the user; the answer: {answer or 'none recorded'}")
        return "\n".join(lines)
    if not fix.fixed_at:
        lines += [f"  {_done(step)}" for step in fix.steps]
        return "\n".join([*lines, "  not seen to pass again in that session"])
    passed = f"{_line(fix.success)} ({fix.fixed_at[:10]})"
    cure = [step for step in fix.steps if step.named]
    if cure:
        lines += [f"  {_done(step)}" for step in cure]
        lines.append(f"  then succeeded: {passed}")
    else:
        lines.append(f"  afterwards it passed: {passed}")
    others = [step for step in fix.steps if not step.named]
    if others:
        lines.append("  done in between:" if cure else "  changed or run in between:")
        lines += [f"    {_done(step)}" for step in others]
    if fix.more_steps:
        lines.append(f"    and {fix.more_steps} earlier steps")
    if fix.commit:
        lines.append(f"  commit: {_line(fix.commit)}")
    if fix.came_back:
        lines.append(f"  it came back on {fix.came_back[:10]}")
    return "\n".join(lines)


def _by(use: Fix | Invocation) -> str:
    return f" by {use.by}" if use.by else ""


def _done(step: Step) -> str:
    return f"{'changed' if step.kind == 'edit' else 'ran'}: {_line(step.text)}"


def _line(text: str) -> str:
    return visible_line(excerpt(" ".join(text.split()), WIDTH))


@dataclass(frozen=True, slots=True)
class Invocation(Result):
    invocation: str
    succeeded: int
    failed: int
    unknown: int
    """runs of which nobody knows how they ended"""
    at: str
    session: str
    ref: str
    by: str = ""
    """whose session it was, if it was somebody else's"""

    @classmethod
    def of(cls, use: invocations.Invocation) -> Invocation:
        counts = (use.succeeded, use.failed, use.unknown)
        return cls(use.text, *counts, iso(use.at / 1000), use.session, use.ref, use.by)


@dataclass(frozen=True, slots=True)
class Invocations(Result):
    invocations: list[Invocation]
    latest: int = 0
    """how many were looked at, the latest; 0: all"""


class HowTo(Verb):
    """Show how a command was called here when it worked, newest first.

    COMMAND is words of a command line, wherever they stand in it, or the name of an agent's tool.
    Runs that differ in values only are shown once, by the latest. Exit 1 if there are none.

    \b
    Examples:
      kinen how pytest
      kinen how go test e2e
      kinen how Edit
      kinen how --failed cargo test
    """

    result = Invocations
    route = "how"
    tool = "kinen_how"
    title = "How a command is called here"
    guide = "Invocations of a command that worked in this repository, newest first."

    command: str = words(
        "words of a command line, or the name of an agent's tool",
        guide="pytest, docker compose",
        longest=500,
        example="pytest",
    )
    failed: bool = param(
        "--failed",
        "show invocations that never worked instead",
        default=False,
        guide="those that never worked",
    )
    limit: int = limit(20, "invocations", tool=10)
    recorded = True

    def run(self, memory: Memory) -> Invocations:
        self.recorded = memory.core.store.exists or bool(memory.sessions.overviews())
        uses, latest = memory.experience.how(self.command, self.limit, failed=self.failed)
        return Invocations([Invocation.of(use) for use in uses], latest)

    def text(self, result: Invocations, view: View) -> str:
        lines = []
        for use in result.invocations:
            count = use.succeeded or use.failed or use.unknown
            times = f"  ×{count}" if count > 1 else ""
            if not (use.succeeded or use.failed):
                times += "  ? outcome unknown"
            session = f"  ({use.session[:SHORT_SESSION]}{_by(use)})" if use.session else ""
            about = visible_line(f"{times}  {use.at[:10]}{session}  [{use.ref}]")
            lines.append(f"{_line(use.invocation)}{view.style('dim', about)}")
        return "\n".join(lines)

    def notes(self, result: Invocations) -> Iterable[str]:
        if not result.invocations:
            others = "omit --failed for those that worked"
            hint = others if self.failed else "--failed shows those that failed"
            yield f"no recorded command matches: {hint}" if self.recorded else NOT_RECORDED
        if result.latest:
            yield f"only the latest {result.latest:,} events that name it were looked at"


@dataclass(frozen=True, slots=True)
class Recurring(Result):
    error: str
    """its line, as it was last seen"""
    command: str
    """what failed with it then"""
    sessions: int
    count: int
    first: str
    last: str
    ref: str
    """the last occurrence"""
    helped: list[Fix]
    """the occurrences after which the same command passed, newest first"""

    @classmethod
    def of(cls, entry: Recurrence) -> Recurring:
        return cls(
            entry.error,
            entry.command,
            entry.sessions,
            entry.failures,
            iso(entry.first / 1000),
            iso(entry.last / 1000),
            entry.ref,
            [Fix.of(fix) for fix in entry.helped],
        )


@dataclass(frozen=True, slots=True)
class Correction(Result):
    rule: str
    """as it was last given"""
    sessions: int
    first: str
    last: str
    ref: str
    """the prompt that has it, the last"""
    memory: str
    """the memory that says it; empty if none does"""
    again: int
    """sessions in which it was given after that"""


@dataclass(frozen=True, slots=True)
class Recurrences(Result):
    errors: list[Recurring]
    corrections: list[Correction]
    read: int
    """failures that were looked at, the newest"""


@verb(result=Recurrences, route="friction")
def friction(
    memory: Memory,
    sessions: int = param(
        "--sessions",
        "fewest sessions that had it",
        3,
        least=2,
        most=1000,
        metavar="N",
        example=3,
    ),
    limit: int = limit(10, "errors, and of corrections"),
) -> Output:
    """List errors and corrections that came back in several sessions, with what helped.

    Errors that differ in numbers, folders, times and addresses only are one. A correction is a
    rule that a user gives in a prompt, such as `Never …` or `From now on …`; with it stands the
    memory that says it, and how often it was given since. Those of the most sessions come first.
    Sessions that came with a clone count, too. Exit 1 if there are none.

    \b
    Examples:
      kinen friction
      kinen friction --sessions 2 --json | jq -r '.errors[].error'
    """
    recurrences, read = memory.experience.friction(sessions, limit)
    errors = [Recurring.of(entry) for entry in recurrences]
    corrections = [
        Correction(
            **{**row._asdict(), "first": iso(row.first / 1000), "last": iso(row.last / 1000)}
        )
        for row in memory.experience.corrections(sessions, limit)
    ]

    def text(view: View) -> str:
        texts = [_recurring_text(entry, view) for entry in errors]
        for row in corrections:
            period = f"{row.first[:10]} to {row.last[:10]}"
            about = f"  given in {row.sessions} sessions, {period} [{row.ref}]"
            kept = "no memory says it"
            if row.memory:
                again = f"given in {counted(row.again, 'sessions')} since"
                kept = f"kept as {row.memory}, {again if row.again else 'not since'}"
            texts.append("\n".join([_line(row.rule), view.style("dim", about), f"  {kept}"]))
        return "\n\n".join(texts)

    hint = ": --sessions 2 shows errors of two" if sessions > 2 else ""
    nothing = f"no error of {counted(read, 'failures')} is in {sessions} or more sessions{hint}"
    rows = [*errors, *corrections]
    notes = [] if rows else [nothing if read else NOT_RECORDED]
    return Output(Recurrences(errors, corrections, read), text, bool(rows), notes)


def _recurring_text(entry: Recurring, view: View) -> str:
    """An error with the ways in which it ended, the most frequent first."""
    period = f"{entry.first[:10]} to {entry.last[:10]}"
    about = f"{counted(entry.count, 'times')} in {entry.sessions} sessions, {period} [{entry.ref}]"
    lines = [_line(entry.error), view.style("dim", f"  {about}")]
    if entry.command:
        lines.append(f"  failed: {_line(without_filters(entry.command))}")
    ways = Counter(map(_way, entry.helped))
    for way, times in ways.most_common(WAYS):
        lines.append(f"  {way}{f'  ×{times}' if times > 1 else ''}")
    if len(ways) > WAYS:
        lines.append(f"  and {counted(len(ways) - WAYS, 'other ways')}")
    return "\n".join(lines if ways else [*lines, "  never seen to pass again afterwards"])


def _way(fix: Fix) -> str:
    """What was done until the same thing passed, in one line."""
    steps = [step for step in fix.steps if step.named] or fix.steps
    done = "; ".join(_done(step) for step in steps[:STEPS]) + ("; …" if len(steps) > STEPS else "")
    if done:
        return f"passed after: {done}{_by(fix)}"
    if fix.success != fix.command:
        return f"passed as: {_line(without_filters(fix.success))}{_by(fix)}"
    return f"passed when it was run again{_by(fix)}"
