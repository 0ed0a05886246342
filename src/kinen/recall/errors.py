"""Errors that are the same although numbers, paths and times in them differ: which come back, and
what put them right. Pure functions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from kinen.journal import events, shell
from kinen.journal.ledger import bare_command
from kinen.model.journal import Observation
from kinen.model.tuples import NamedTuple
from kinen.recall.invocations import form
from kinen.text import excerpt

LONGEST_TEXT = 100_000
"""Characters of an error that are looked at: its beginning and its end."""
MOST_LINES = 6
"""Lines that an error is known by."""
LONGEST_LINE = 400
FLOOR = 0.6
"""Similarity below which two errors are different ones."""
SAME = 0.9
"""Similarity from which it is the same error that came back."""
BEST = 0.7
"""How much the closest two lines count, beside the mean over all lines."""
DISTINCT = 3
"""What a quoted name or a code weighs, where another word weighs 1."""
PART = 0.75
"""Similarity of a line to a longer one that contains it."""
LEAST_WORDS = 2
"""Words that a line has at least that tells one error from another."""
MOST_STEPS = 12
"""Edits and commands that are shown between an error and the success after it."""
STEP_LENGTH = 300

_ANSI = re.compile(
    r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[@-_])"
)
_MARGIN = re.compile(r"(?m)^E {3,}(?=\S)")
"""What pytest puts before the lines of an error."""
_RULES = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:z|[+-]\d\d:?\d\d)?"), " "),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), " "),
    (re.compile(r"\b0x[0-9a-f]+\b"), " "),
    (re.compile(r"\bhttps?://[^\s'\"<>)]+"), " url "),
    (re.compile(r"(?<![\w.@~+-])(?:[a-z]:)?(?>(?:[\w.@~+-]*+[/\\])+)([\w.@+-]*+)"), r" \1 "),
    (re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,64}\b"), " "),
    (re.compile(r"\b\d[\d_.,:]*(?:ms|s|kb|mb|gb|b|%)?\b"), " "),
)
"""What differs from run to run, in lower case, and what stands for it."""
_WORD = re.compile(r"[^\W\d_][\w']*(?:\.[^\W\d_]\w*)*|\w*[^\W\d_]\w*")
_NAMES_ERROR = re.compile(
    r"(?i)\b\w*(?:Error|Exception|Failure|Panic)\b|\b(?:error|fatal|panic(?:ked)?|denied|exception|ERR!"
    r"|not found|no such|cannot|can't|undefined|unresolved|unexpected|invalid|refused|timed out"
    r"|missing|assert)\b"
)
_GENERIC = re.compile(
    r"(?i)^(?:\$ |exit code|traceback \(most recent|make(?:\[\d+\])?: \*\*\*"
    r"|npm err! (?:a complete log|code|errno)"
    r"|error: (?:could not compile|aborting due to|process completed)"
    r"|error: script .{0,80} exited|command failed|=+|-+$|short test summary|caused by:?$"
    r"|(?:hint|note|help|warning|info|= note|= help)\b ?:|for more information about"
    r"|the above exception|during handling of|.{0,80}\bexited with (?:code|error)|error:?$"
    r"|\d+ (?:failed|errors?)\b|failed$|errors?:?$)"
)
_DISTINCT = re.compile(r"([`'\"])[^`'\"\s]{2,80}[`'\"]|\b[A-Z]{1,5}\d{3,5}\b")
_NOISE = frozenset("the a an at in on of to is was be for error failed line file".split())
WITHIN = 6
"""Actions after a failure in which another way has to succeed, so that it is one."""
LONGEST = 160
"""Characters of a command; a longer one is not run again as it is."""
ERROR = 120
CHECKS = frozenset(
    """--check --dry-run check lint fmt format clippy credo dialyzer vet build compile tsc eslint
    prettier ruff mypy pyright flake8 pylint black isort shellcheck pre-commit diff""".split()
)
"""Words of commands whose failure is about the code and not about how they are called."""


class Step(NamedTuple):
    """Something that was done between an error and the success after it."""

    kind: str
    """`edit` or `run`."""
    text: str
    """The file, or the command line."""
    ref: str
    named: bool = False
    """Whether the error names what it touches: the file, or something in the changed lines."""


class Outcome(NamedTuple):
    """What followed an error in its session."""

    steps: tuple[Step, ...] = ()
    success: Observation | None = None
    """The first later success of the same command or test; none if there was none."""
    later_steps: int = 0
    """Steps that are left out."""


class Fix(NamedTuple):
    """An error that happened before, and what was done about it."""

    error: str
    ref: str
    at: int
    """Epoch milliseconds."""
    session: str
    command: str
    """What failed with it: a command line, or a tool and its target."""
    likeness: float
    pasted: bool = False
    """Whether a user pasted it into a prompt."""
    answer: str = ""
    """Of a pasted error, what the agent said at the end of its turn."""
    fixed_at: int = 0
    """When the same command or tests succeeded; 0 if they did not in that session."""
    steps: tuple[Step, ...] = ()
    more_steps: int = 0
    success: str = ""
    """The command that succeeded."""
    commit: str = ""
    """Subject of the commit that was made next."""
    came_back: int = 0
    """When the same error was next seen after that; 0 if it was not."""
    by: str = ""
    """Whose session it was, if it was somebody else's."""

    @property
    def works(self) -> bool:
        """Whether it was gone afterwards and did not come back."""
        return bool(self.fixed_at) and not self.came_back

    @property
    def cure(self) -> tuple[Step, ...]:
        """The changes that made the difference, as far as that can be known.

        The same command or tests passed afterwards, and the error names what was changed.
        """
        return tuple(step for step in self.steps if step.named) if self.fixed_at else ()


class Fixes(NamedTuple):
    """Earlier cases of an error."""

    fixes: list[Fix]
    omitted: int = 0
    """Similar failures that were not followed, because the sessions after others were long."""


def plain_text(text: str) -> str:
    """An error without escape sequences and margins; of a very long one its beginning and end."""
    if len(text) > LONGEST_TEXT:
        text = f"{text[: LONGEST_TEXT // 2]}\n{text[-LONGEST_TEXT // 2 :]}"
    plain = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _MARGIN.sub("", plain)


def normalised(line: str) -> str:
    """A line in lower case without what differs from run to run: times, ids, numbers, folders."""
    text = _ANSI.sub("", line[:LONGEST_LINE]).lower()
    for rule, replacement in _RULES:
        text = rule.sub(replacement, text)
    return " ".join(_WORD.findall(text))


def identifying_lines(text: str) -> list[str]:
    """The lines that tell an error from others, as they are written, at most MOST_LINES.

    Lines that name an error come first; without one, the last lines that say anything.
    """
    telling = _telling_lines(text)
    chosen = dict.fromkeys([line for line in telling if _NAMES_ERROR.search(line)] or telling[-2:])
    return list(chosen)[:MOST_LINES]


def asked_lines(text: str) -> list[str]:
    """The lines of an error that somebody asks for: those that identify it, else what was typed.

    None if that is on every error: `exit code 1`.
    """
    typed = " ".join(plain_text(text).split())[:LONGEST_LINE]
    tells = any(len(word) > 2 for word in _telling_words(typed)) and not _GENERIC.match(typed)
    return identifying_lines(text) or ([typed] if tells else [])


def naming_line(text: str) -> str:
    """The first line that names an error; empty if none does."""
    return next(filter(_NAMES_ERROR.search, _telling_lines(text)), "")


def _telling_lines(text: str) -> list[str]:
    lines = (line.strip() for line in plain_text(text).splitlines())
    return [line[:LONGEST_LINE] for line in lines if _tells(line)]


def _tells(line: str) -> bool:
    return bool(line) and not _GENERIC.match(line) and len(_telling_words(line)) >= LEAST_WORDS


def _telling_words(line: str) -> Counter[str]:
    """The words of a line with their weights: what is quoted, and codes, tell errors apart."""
    weights = Counter(word for word in normalised(line).split() if word not in _NOISE)
    for match in _DISTINCT.finditer(line[:LONGEST_LINE]):
        for word in normalised(match[0]).split():
            if word in weights:
                weights[word] = max(weights[word], DISTINCT)
    return weights


def similarity(first: str, second: str) -> float:
    """How much of two lines is the same, from 0 to 1, whatever their numbers and folders."""
    own = _telling_words(first)
    others = _telling_words(second)
    total = sum(own.values()) + sum(others.values())
    return 2 * sum((own & others).values()) / total if total else 0.0


def likeness(error: Iterable[str], lines: Iterable[str]) -> float:
    """How alike two errors are, from 0 to 1: by the closest lines, and by how many have a match."""
    others = list(lines)
    closest = [max((similarity(line, other) for other in others), default=0.0) for line in error]
    if not closest:
        return 0.0
    return BEST * max(closest) + (1 - BEST) * sum(closest) / len(closest)


def compared(error: Sequence[str], text: str) -> tuple[float, str]:
    """How alike an error and a recorded one are, and the closest line of the recorded one.

    Of one line a part is enough, since people type the words that they remember. A line that is
    there as it was typed is the error itself. Less than LEAST_WORDS count as they were typed.
    """
    if len(error) == 1 and not _tells(error[0]):
        typed = error[0].casefold()
        written = (" ".join(line.split()) for line in plain_text(text).splitlines())
        line = next((line for line in written if typed in line.casefold()), "")
        return float(typed == line.casefold()) or (FLOOR if line else 0.0), line[:LONGEST_LINE]
    lines = identifying_lines(text)
    score = likeness(error, lines)
    if len(error) == 1 and score < 1:
        part = normalised(error[0])
        matching = {normalised(line): line.strip() for line in plain_text(text).splitlines()}
        if part in matching:
            return 1.0, matching[part][:LONGEST_LINE]
        longer = (line for words, line in matching.items() if f" {part} " in f" {words} ")
        if score < PART and (line := next(longer, "")):
            return PART, line[:LONGEST_LINE]
    closest = max(lines, key=lambda line: likeness(error, [line]), default="")
    return score, closest


def outcome(failure: Observation, later: Iterable[Observation]) -> Outcome:
    """What was done after a failure until the same command or tests succeeded (`shell.covers`).

    A later failure of the same thing begins anew: what was done before it did not help.
    """
    deed = events.deed(failure)
    steps: dict[tuple[str, str], Step] = {}
    for event in later:
        if event.kind not in (*events.ACTIONS, "error"):
            continue
        tried = events.deed(event)
        same = bool(deed) and (tried == deed or shell.covers(tried, deed))
        succeeded = events.succeeded(event)
        if succeeded is False:
            again = same or (bool(deed) and shell.covers(deed, tried))
            if again and likeness(error_lines(failure), error_lines(event)) >= SAME:
                steps.clear()
            continue
        if succeeded and same:
            latest = tuple(steps.values())[-MOST_STEPS:]
            return Outcome(latest, event, max(0, len(steps) - MOST_STEPS))
        step = _step(event, failure)
        if step:
            steps.setdefault((step.kind, step.text), step)
    return Outcome()


def _step(event: Observation, failure: Observation) -> Step | None:
    """An edit, or a command that does more than look around."""
    if event.kind == "file_diff":
        path = next(iter(events.files(event)), "")
        return Step("edit", path, event.ref, _is_named(event, path, failure)) if path else None
    line = events.command(event)
    if line and not events.looks_around(event):
        named = any(name in line for name in _quoted_names(failure))
        return Step("run", excerpt(line, STEP_LENGTH), event.ref, named)
    return None


def _is_named(edit: Observation, path: str, failure: Observation) -> bool:
    """Whether an error names the file of an edit, or a quoted name in the lines it changed."""
    text = plain_text(events.body(failure))
    if path.rpartition("/")[2] in text:
        return True
    changed = [line for line in edit.content.splitlines() if line.startswith(("+", "-"))]
    return any(name in line for name in _quoted_names(failure) for line in changed)


def _quoted_names(failure: Observation) -> set[str]:
    """What an error puts in quotes, and its codes."""
    text = "\n".join(error_lines(failure))
    names = (match[0].strip("`'\"") for match in _DISTINCT.finditer(text))
    return {name for name in names if len(name) > 2}


def error_lines(event: Observation) -> list[str]:
    """The lines that a recorded failure is known by."""
    return identifying_lines(events.body(event))


class Friction(NamedTuple):
    """An error that came back in several sessions."""

    error: str
    command: str
    sessions: int
    failures: int
    first: int
    last: int
    ref: str
    helped: list[Fix]


class Correction(NamedTuple):
    """A standing rule that users gave in several sessions."""

    rule: str
    sessions: int
    first: int
    last: int
    ref: str
    """The prompt that has it, the last."""
    memory: str
    """The memory that says it, the oldest; empty if none does."""
    again: int
    """Sessions in which it was given after that."""


def session_of(event: Observation) -> str:
    """What an observation is a part of: its capsule, or its session."""
    return event.capsule or str(event.provenance.get("parent") or event.scope.session)


def recurring(failures: Iterable[Observation], least: int) -> list[list[Observation]]:
    """Failures with the same error in at least some sessions, newest first in each group.

    The groups of the most sessions come first, then those seen last.
    """
    groups: dict[str, list[Observation]] = {}
    for failure in failures:
        line = naming_line(events.body(failure))
        if line:
            groups.setdefault(normalised(line), []).append(failure)
    for group in groups.values():
        group.sort(key=lambda event: (event.ts, event.id), reverse=True)
    chosen = [group for group in groups.values() if sessions(group) >= least]
    return sorted(chosen, key=lambda group: (sessions(group), group[0].ts), reverse=True)


def sessions(group: Iterable[Observation]) -> int:
    """How many sessions some events are from."""
    return len(set(map(session_of, group)))


class Remedy(NamedTuple):
    """A command line that fails here, and the one that worked in its place."""

    command: str
    error: str
    instead: str
    ref: str
    at: int


def remedies(observations: Iterable[Observation]) -> list[Remedy]:
    """The commands of a session that failed and for which another one worked at once.

    Left out: what was fixed by an edit, for then the code was wrong and not the command; tests;
    what only looks around; and commands that succeed elsewhere in the session.
    """
    actions = [event for event in observations if event.kind in (*events.ACTIONS, "error")]
    succeeded = {
        bare_command(events.command(event)) for event in actions if events.succeeded(event)
    }
    found: dict[str, Remedy] = {}
    for place, event in enumerate(actions):
        command = bare_command(events.command(event))
        if not _is_candidate(event, command) or command in succeeded:
            continue
        instead = _instead(event, actions[place + 1 : place + 1 + WITHIN])
        error = excerpt(events.named_error(event).strip("(+- "), ERROR)
        if instead and error:
            found[command] = Remedy(command, error, instead, event.ref, event.ts)
    return list(found.values())


def _is_candidate(event: Observation, command: str) -> bool:
    return (
        0 < len(command) <= LONGEST
        and "\n" not in command
        and events.failed(event)
        and not events.is_test(event)
        and not events.looks_around(event)
        # Compilers and linters fail because of the code they look at.
        and not any(CHECKS & set(words) for words in events.invoked(command))
    )


def _purpose(event: Observation) -> set[str]:
    """The words of a command that say what it is for: no options, values and numbers."""
    return {word for word in form(events.command(event)).split() if word[0].isalpha()}


def _instead(failure: Observation, later: list[Observation]) -> str:
    """Another command line for the same purpose that worked, before anything was edited.

    All that the first one names is there: `docker compose ps` is not run in place of `… up db`.
    """
    purpose = _purpose(failure)
    failed_command = bare_command(events.command(failure))
    for event in later:
        if event.kind == "file_diff":
            return ""
        command = bare_command(events.command(event))
        if not (events.succeeded(event) and purpose and purpose <= _purpose(event)):
            continue
        if command != failed_command and len(command) <= LONGEST and "\n" not in command:
            return command
        return ""
    return ""
