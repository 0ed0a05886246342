"""The summary of a session in markdown, made of its observations when nobody wrote one.

What the next reader needs comes first: intent, outcome, what is next, what was decided and learnt,
what is broken; then the state of tests and commits, files, and commands last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Sized
from itertools import pairwise

from kinen.errors import QueryError
from kinen.journal.account import (
    TRACKED,
    Account,
    Claim,
    History,
    Quote,
    Run,
    Source,
    Trouble,
    Turn,
    read_account,
)
from kinen.journal.recent import (
    COMMITTED,
    STOPPED,
    UNANSWERED,
    UNFINISHED,
    edited_files,
    meaning,
)
from kinen.journal.shell import without_filters
from kinen.journal.timeline import headline
from kinen.model.journal import Capsule, Observation
from kinen.model.tuples import NamedTuple
from kinen.text import estimate, excerpt, iso, terms
from kinen.text.choices import accepted
from kinen.text.closing import (
    by_sentence,
    condensed,
    count_results,
    ends_in_step,
    lead_in,
    results_first,
    says_open,
    without_open,
)
from kinen.text.sentences import size, statement
from kinen.text.statements import choice_about, request_of

LIMIT = 1_000
"""Tokens of a summary, whatever happened."""
OUTCOME = 300
"""Tokens of what a session came to; twice as many where there are no results before the last."""
SHORT_OUTCOME = 60
"""A closing message of fewer tokens is told together with the one before it."""
EARLIER = 7
"""Results before the last that are told."""
RESULTS = 480
"""Tokens of these results together."""
MAIN = 4
"""The weight of the result of the request with the most changes, beside 1 without changes."""
CHANGED = 2
"""The weight of the result of any other request with changes."""
WORDS = 8
"""Words of a message below which it tells nothing, if nothing was changed for its request."""
REMARK = 6
"""Words below which a message after the work is a remark: `Committed as b01e5547.`"""
SENTENCE = 3
"""Words from which on a message is a sentence, and not only `Done.`"""
SEVERAL = 2
"""Lines with results by which a message within a request tells more than its last one."""
KNOWN = 0.6
"""The share of words from which on a result was told already."""
NEXT = 4
CLAIMS = 5
ERRORS = 4
FILES = 12
COMMANDS = 10
COMMITS = 3
SPAN = re.compile(r"\d[\d,]* (?:event|observation)s?(?:, \d{4}-|$)")
LABEL = re.compile(
    r"\*\*(Intent|Outcome|Next|State|Earlier|Decided|Learned|Unresolved|Files|Commands)\*\*:? ?"
)
_BULLET = re.compile(r"^\s*(?:(?:[-*+•]|\d{1,2}[.)])\s+)?")
_MORE = 9
"""Tokens of `and 100,000 more`."""

ASKED = 4
"""Words of a prompt below which it says nothing without the one before it: `yes, go on`."""


class Line(NamedTuple):
    """A line of a summary, and the observations it is drawn from."""

    text: str
    sources: tuple[Source, ...] = ()


class Section(NamedTuple):
    """Lines under a label, and how many more there are than may be shown."""

    label: str
    lines: Sequence[Line]
    tokens: int
    more: int = 0
    rest: str = "more"
    listed: bool = True


def summarize(
    capsule: Capsule, observations: Iterable[Observation], history: History | None = None
) -> tuple[str, tuple[str, ...]]:
    """The summary, and the ids of the observations that its lines are drawn from.

    `history` says which commits git has.
    """
    account = read_account(observations, history)
    intent = _short(capsule.intent, 200, 50)
    if not account.count:
        return "Nothing was recorded." + (f" Intent: {intent}" if intent else ""), ()
    head = [Line(f"**Intent**: {intent}")] if intent else []
    head.append(_span(account))
    room = LIMIT - sum(estimate(line.text) for line in head)
    parts: list[Line] = []
    for section in _sections(account):
        part = _fitted(section, min(room, section.tokens))
        if part.text:
            parts.append(part)
            room -= estimate(part.text)
    text = "\n\n".join(["\n".join(line.text for line in head), *(part.text for part in parts)])
    sources = {source for line in (*head, *parts) for source in line.sources}
    ordered = sorted(sources, key=lambda source: (source.number, source.id))
    return text, tuple(dict.fromkeys(source.id for source in ordered))


def parse_summary(text: str) -> dict[str, str]:
    """The parts of a summary by their labels in small letters; a text without any is `outcome`."""
    parts: dict[str, list[str]] = {}
    label = ""
    for line in text.splitlines():
        head = LABEL.match(line)
        label = head[1].lower() if head else label
        rest = line[head.end() :] if head else line
        if label and rest.strip() and not SPAN.match(rest):
            parts.setdefault(label, []).append(rest.rstrip())
    if not parts.keys() & {"outcome", "intent"}:
        return {"outcome": text.strip()}
    return {name: "\n".join(lines) for name, lines in parts.items()}


def _sections(account: Account) -> list[Section]:
    """The parts of a summary in the order in which they are needed."""
    unresolved = account.unresolved
    decided = [*_choices(account), *map(_claimed, account.stated("decision", "pattern"))]
    learned = account.stated("lesson", "insight")
    results = _results(account)
    spared = max(0, RESULTS - sum(estimate(line.text) for line in results.lines))
    room = OUTCOME + min(OUTCOME, spared)
    left = account.next
    # The files, those that were edited first, then by how often they came up.
    ranked = sorted(
        account.files.items(), key=lambda file: (file[0] not in account.edited, -file[1][0])
    )
    lines = [
        Line(_code(path, 80, 20) + (f" ×{count:,}" if count > 1 else ""), (source,))
        for path, (count, source) in ranked[:FILES]
    ]
    more = len(account.files) - len(lines)
    runs = list(account.runs.values())
    commands = [Line(_code(run.command, 100, 20) + _mark(run), (run.source,)) for run in runs]
    commands_left = len(commands[COMMANDS:])
    return [
        Section("**Outcome**:", _outcome(account, left, room), room + 20, listed=False),
        Section(
            "**Next**",
            [
                Line(_short(point.text, 240, 50), (point.source,))
                for point in _next(account, left)[:NEXT]
            ],
            200,
        ),
        Section("**State**:", _state(account), 130, listed=False),
        results,
        Section("**Decided**", decided[:CLAIMS], 110),
        Section("**Learned**", [_claimed(entry) for entry in learned[:CLAIMS]], 110),
        Section(
            "**Unresolved**",
            [_troubled(entry) for entry in unresolved[:ERRORS]],
            150,
            max(0, len(unresolved) - ERRORS) + account.forgotten_troubles,
            "earlier",
        ),
        Section("**Files**:", lines, 140, more, _rest(account.files), listed=False),
        Section("**Commands**", commands[:COMMANDS], LIMIT, commands_left, _rest(account.runs)),
    ]


def _next(account: Account, left: list[Quote]) -> list[Quote]:
    """What is left to do; a request without an answer by what it means."""
    if not account.unanswered:
        return left
    request = account.unanswered
    words = (turn.last_words for turn in reversed(account.turns[:-1]))
    text = meaning(next((quote.text for quote in words if quote), ""), request.text)
    return [Quote(text, request.source)] if text else []


def _choices(account: Account) -> list[Line]:
    """What the user chose among options that the agent had put, the latest first."""
    chosen: list[Line] = []
    prompts: list[str] = []
    for before, turn in pairwise(account.turns):
        prompts += [before.prompt.text] if before.prompt else []
        if before.last_words and turn.prompt:
            choice = accepted(before.last_words.text, turn.prompt.text)
            if choice and choice.option:
                sources = (before.last_words.source, turn.prompt.source)
                request = next(filter(None, map(request_of, reversed(prompts))), "")
                text = statement(choice_about(choice, request), choice.taken)
                chosen.append(Line(_short(text, 300, 60), sources))
    return chosen[::-1]


def _is_in_the_middle(account: Account) -> bool:
    """Was something done for the last request, and nothing answered?"""
    return bool(account.unanswered and account.turns[-1].deeds)


def _outcome(account: Account, left: list[Quote], tokens: int) -> list[Line]:
    """What came of the last request; `tokens` is the room for it."""
    if _is_in_the_middle(account):
        return [_in_the_middle(account)]
    if account.stopped:
        return _stopped(account)
    lines: list[Line] = []
    subject = _last_subject(account)
    room = tokens - estimate(subject)
    mentioned = {word for point in left for word in terms(point.text)}
    for quote in _ending(account):
        # Lines of which everything is mentioned already are left out, unless nothing else is there.
        new = (
            line
            for line in quote.text.splitlines()
            if not line.strip() or set(terms(line)) - mentioned
        )
        text = condensed("\n".join(new), room) or condensed(quote.text, room)
        text = text or lead_in(quote.text)
        if lines and not _is_new(set(terms(text)), mentioned):
            continue
        if text:
            lines.append(Line(text, (quote.source,)))
            mentioned |= set(terms(text))
            room -= estimate(text)
        if room <= tokens - estimate(subject) - SHORT_OUTCOME:
            break
    if not lines and account.unanswered:
        text = _short(account.unanswered.text, 300, 70)
        lines.append(Line(f"{UNANSWERED}{text}", (account.unanswered.source,)))
    outcome = "\n".join(line.text for line in lines)
    # Nothing, or only that tests pass or that something was committed.
    says_little = size(outcome) < REMARK and count_results(outcome) == len(outcome.splitlines())
    deed = _deed(account, outcome) if says_little else None
    if deed:
        return [deed]
    first = outcome.partition("\n")[0]
    if subject and _is_new({*terms(subject.rpartition(" (")[0])}, {*terms(first)}):
        outcome = f"{subject}\n{outcome}"
    return [Line(outcome, lines[0].sources)] if lines else []


def _last_subject(account: Account) -> str:
    """The subject of the commit that has the last edit: it says what the work was.

    `Committed as 11469d4. All hooks passed.` does not.
    """
    last = account.commits[-1] if account.commits else None
    edits = (source.number for source in account.edited.values())
    if not last or last.source.number < max(edits, default=0):
        return ""
    return _short(last.text, 200, 50)


def _deed(account: Account, remark: str) -> Line | None:
    """What a session did whose last message does not say it: its commit, else what it edited."""
    commits = [quote for quote in account.commits[-1:] if quote.text]
    if commits:
        return Line(f"{COMMITTED}{_short(commits[0].text, 200, 50)}", (commits[0].source,))
    words = account.turns[-1].last_words if account.turns else None
    if not account.edited or not words:
        return None
    files = edited_files(account.edited)
    return Line(f"{files}: {remark or _short(words.text, 100, 30)}", (words.source,))


def _ending(account: Account) -> list[Quote]:
    """The messages that say what a session came to, the one that says most first.

    That is the last request's, however short, if something was edited for it.
    """
    latest = account.turns[-1] if account.turns else Turn()
    words = latest.last_words
    last = account.answered[0] if account.answered else Turn()
    reports = last.reports or last.closings
    # What is done now beats what was not done before.
    settles = latest.edits or (reports and says_open(reports[0].text))
    if settles and words and not latest.closings and size(words.text) >= SENTENCE:
        return [words]
    work = _work_before_remark(account)
    # The message about a commit says how its tests ended, where there is room for that.
    after = [quote for quote in reports if last.only_commits or not work or "://" in quote.text]
    return [*work, *after]


def _work_before_remark(account: Account) -> list[Quote]:
    """The report on the last edits, where the last message is only a remark on them.

    As that of a request is for which nothing was edited: it is short, or about the commit.
    """
    last, *before = account.answered or [Turn()]
    remarks = last.only_commits or all(
        _is_remark(quote.text) for quote in last.reports or last.closings
    )
    if last.edits or not remarks:
        return []
    reports = ((turn.reports or turn.closings)[0] for turn in before if turn.edits)
    return [quote for quote in reports if not _is_remark(quote.text)][:1]


def _is_remark(text: str) -> bool:
    return size(text) < REMARK


def _stopped(account: Account) -> list[Line]:
    """What a session that was left on the way committed last, or else what it was asked for."""
    last = account.turns[-1].last_words
    commits = [quote for quote in account.commits[-1:] if quote.text]
    if last and commits and commits[0].source.number > last.source.number:
        return [Line(f"{COMMITTED}{_short(commits[0].text, 200, 50)}", (commits[0].source,))]
    prompts = (turn.prompt for turn in reversed(account.turns) if turn.prompt)
    for prompt in prompts:
        request = headline(prompt.text)
        # It says by itself what is wanted, and no client wrote it.
        if size(request) >= ASKED and not request.startswith(("<", "{", "[")):
            return [Line(f"{UNFINISHED}{_short(request, 300, 70)}", (prompt.source,))]
    return []


def _in_the_middle(account: Account) -> Line:
    """What a session did for a request that has no answer, and where it failed."""
    turn = account.turns[-1]
    request = turn.prompt or account.unanswered
    assert request
    edits = sorted(account.edited.items(), key=lambda edit: -edit[1].number)
    paths = [path for path, at in edits if at.number > request.source.number]
    failed = next(
        (
            trouble
            for trouble in account.unresolved
            if trouble.source.number > request.source.number
        ),
        None,
    )
    broken = ""
    if failed:
        name = _code(without_filters(failed.name), 100, 30)
        broken = f"{name} failed: {_short(failed.error, 160, 60)}"
    done = "; ".join(filter(None, (edited_files(paths), broken))) or f"{turn.deeds:,} steps"
    sources = (request.source, *([failed.source] if failed else []))
    return Line(f"{STOPPED}{done}", sources)


def _results(account: Account) -> Section:
    """What came of the requests before the last, as far as it is new; those with changes first.

    They have half the room where most was changed for the last request: its outcome gets the rest.
    A long request is reported on several times: the message with the most results counts. One that
    ends in an announcement was interrupted.
    """
    ended = not (account.stopped or _is_in_the_middle(account))
    latest = [turn.closings[0] for turn in account.answered[:1]] if ended else []
    told = [*latest, *_work_before_remark(account)] if ended else []
    mentioned = {word for quote in told for word in terms(quote.text)}
    reports: list[tuple[Quote, int]] = []
    for turn in sorted(account.answered, key=lambda turn: -turn.changes):
        quote = turn.closings[0]
        if len(turn.closings) > 1:
            counts = [count_results(closing.text) for closing in turn.closings]
            most = max(counts)
            quote = turn.closings[counts.index(most)] if most >= counts[0] + SEVERAL else quote
        worth = turn.changes or size(quote.text) >= WORDS
        if quote not in latest and worth and not ends_in_step(quote.text):
            reports.append((quote, turn.changes))
    weights = [CHANGED if changes else 1 for _, changes in reports]
    most = max((changes for _, changes in reports), default=0)
    if most:
        weights[0] = MAIN  # the request with the most changes comes first
    last_is_main = account.answered and account.answered[0].changes >= max(1, most)
    room = RESULTS // 2 if last_is_main else RESULTS
    lines: list[Line] = []
    for (quote, _), weight in zip(reports, weights, strict=True):
        share = room * weight // sum(weights[:EARLIER])
        report_text = condensed(without_open(quote.text), share)
        result = on_one_line(results_first(by_sentence(report_text)))
        words = set(terms(result))
        if _is_new(words, mentioned):
            lines.append(Line(result, (quote.source,)))
            mentioned |= words
    return Section("**Earlier**", lines[:EARLIER], RESULTS + 20, len(lines[EARLIER:]))


def on_one_line(text: str) -> str:
    """The lines of a message behind each other, without their bullets."""
    joined = ""
    for line in filter(str.strip, text.splitlines()):
        between = " " if joined.endswith((":", ".", "!")) else "; "
        joined += (between if joined else "") + _BULLET.sub("", line, count=1)
    return joined.rstrip(":")


def _is_new(words: set[str], mentioned: set[str]) -> bool:
    """Do most words of a text go beyond what was told already?"""
    return len(words - mentioned) > (1 - KNOWN) * len(words)


def _state(account: Account) -> list[Line]:
    """The last run of tests, and what was committed and pushed."""
    lines = [_tested(run) for run in (account.whole_tests, account.tests) if run]
    if account.commits:
        quotes = [quote for quote in account.commits if quote.text]
        # An amended commit counts once; its text ends with its id in brackets.
        last = list({quote.text.rsplit(" (", 1)[0]: quote for quote in quotes}.values())[-COMMITS:]
        subjects = "; ".join(_short(quote.text, 90, 18) for quote in reversed(last))
        count = len(account.commits)
        text = f"{count} commit{'s' if count > 1 else ''}" + (f" ({subjects})" if subjects else "")
        sources = tuple(quote.source for quote in last)
        pushed = "the last ones not pushed" if account.pushed else "not pushed"
        if account.pushed and account.pushed.number >= account.commits[-1].source.number:
            pushed = "pushed"
        lines.append(Line(f"{text}, {pushed}", sources))
    elif account.pushed:
        lines.append(Line("pushed", (account.pushed,)))
    return lines


def _tested(run: Run) -> Line:
    """A run of tests: what ran, and how it ended."""
    mark, word = {True: ("✓", "passed"), False: ("✗", "failed"), None: ("?", "outcome unknown")}[
        run.ok
    ]
    result = run.result or word
    name = _code(without_filters(run.command), 60, 16)
    return Line(f"tests {mark} {name}: {_short(result, 100, 20)}", (run.source,))


def _claimed(claim: Claim) -> Line:
    return Line(_short(claim.statement.text, 300, 60), (claim.source,))


def trouble_text(trouble: Trouble) -> str:
    """A failure on one line: the command, how it ended, and the message."""
    return _troubled(trouble).text


def _troubled(trouble: Trouble) -> Line:
    """What failed, and the line that says how."""
    error = _short(trouble.error, 160, 60)
    name = _code(without_filters(trouble.name), 100, 30)
    if not name:
        return Line(error or "an error", (trouble.source,))
    head = f"{name} (exit {trouble.code})" if trouble.code else name
    return Line(f"{head}: {error}" if error else head, (trouble.source,))


def _mark(run: Run) -> str:
    if run.ok is None:
        return " ?"
    if run.ok:
        return ""
    return f" ✗ exit {run.code}" if run.code else " ✗"


def _span(account: Account) -> Line:
    """How much there was and when, where the clock of whoever recorded it makes sense."""
    text = f"{account.count:,} event" + ("s" if account.count > 1 else "")
    assert account.first
    assert account.last
    sources = (account.first, account.last)
    try:
        first, last = (f"{iso(source.ts / 1000)[:16]}Z" for source in sources)
    except (QueryError, OverflowError):
        return Line(text, sources)
    return Line(f"{text}, {first}" + (f" to {last}" if last != first else ""), sources)


def _rest(tracked: Sized) -> str:
    return "more" if len(tracked) < TRACKED else "or more"


def _fitted(section: Section, room: int) -> Line:
    """The lines of a section that fit into the room, and how many do not."""
    chosen: list[Line] = []
    room -= estimate(section.label) + _MORE
    for line in section.lines:
        room -= estimate(line.text) + 1  # for its bullet or comma
        if room < 0:
            break
        chosen.append(line)
    if not chosen:
        return Line("")
    texts = [line.text for line in chosen]
    more = section.more + len(section.lines) - len(chosen)
    if more:
        texts.append(f"and {more:,} {section.rest}")
    joined = "\n- ".join(["", *texts]) if section.listed else " " + ", ".join(texts)
    return Line(section.label + joined, tuple(s for line in chosen for s in line.sources))


def _short(text: str, characters: int, tokens: int) -> str:
    """The text on one line, within both limits: some scripts have three tokens a character."""
    short = excerpt(text, characters)
    while estimate(short) > tokens:
        short = excerpt(short, len(short) * tokens // estimate(short))
    return short


def _code(text: str, characters: int, tokens: int) -> str:
    short = _short(text, characters, tokens)
    if "`" in short:
        return f"`` {short} ``"
    return f"`{short}`" if short else ""
