"""What a session came to, read from its observations in one pass.

A session may hold a hundred thousand observations, so what is kept meanwhile has limits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from kinen.journal import events, shell
from kinen.model.journal import Observation
from kinen.text import digest, excerpt, terms
from kinen.text.closing import announces, ends_in_step, is_uncommitted, left_points, next_points
from kinen.text.statements import LABEL, Role, Statement, has_substance, statements

TRACKED = 4096
"""Distinct files and commands that are told apart."""
TURNS = 40
"""The latest requests that are remembered, each with the message that closed it."""
CLOSINGS = 6
"""Messages at the end of a turn that are remembered."""
TROUBLES = 50
"""The latest failures that are remembered."""
LONGEST = 300
"""Characters of a command or an error."""
LOOKED_BACK = 6
"""Requests in whose answers a list of what is left to do is looked for."""
HEADS = 200
"""The latest commits that are remembered as checked out."""
STATEMENTS = 200
"""The latest statements that are remembered."""
SUBJECT = 3
"""Words at the beginning of a sentence among which stands what it is about."""
History = Callable[[str, Sequence[str], int], "list[tuple[str, str]] | None"]
"""Gives the commits that git has: those that lead to some commits and not to the first, made since
a time in epoch milliseconds, each with its subject, oldest first. None if git cannot say it."""
_FILE = re.compile(r"\W*(?:[^\s`]*/)?([\w.-]+\w)(?::\d+)?")
_REDIRECTED = re.compile(r"\d?[<>|]|&>")
_SUBJECT = re.compile(r"(?m)^\[[^\]\n]{1,200} ([0-9a-f]{7,40})\] ([^\n]{1,300})")
_MESSAGE = re.compile(r"""-\w*m\s+(?:"\$\(cat <<'?EOF'?\n([^\n]+)|"([^"\n]+)|'([^'\n]+))""")


@dataclass(frozen=True, slots=True)
class Source:
    """An observation: its place in the session, its id and time."""

    number: int
    id: str
    ts: int


@dataclass(frozen=True, slots=True)
class Quote:
    """A text and the observation it is from."""

    text: str
    source: Source


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of a message, and where it was made."""

    statement: Statement
    role: str
    source: Source


@dataclass(slots=True)
class Turn:
    """A request of the user, and the last message that says what came of it."""

    prompt: Quote | None = None
    closings: list[Quote] = field(default_factory=list)
    """The last messages of the agent that say something, the latest first."""
    last_words: Quote | None = None
    """The last message of the agent, whatever it says."""
    changes: int = 0
    """Edits and commits that were made for it."""
    deeds: int = 0
    """Whatever was done for it: edits, commands and uses of tools."""
    edits: int = 0

    @property
    def reports(self) -> list[Quote]:
        """The messages that say what came of it and not what is done next, the latest first.

        Where the last of all only announces something, whatever was said with an announcement was
        said on the way to it.
        """
        on_the_way = announces if self.goes_on else ends_in_step
        return [quote for quote in self.closings if not on_the_way(quote.text)]

    @property
    def only_commits(self) -> bool:
        """Was something committed for it, and nothing edited? Its message is about the commit."""
        return bool(self.changes and not self.edits)

    @property
    def goes_on(self) -> bool:
        """Does the last message announce what is done next?"""
        return bool(self.last_words and ends_in_step(self.last_words.text))


@dataclass(slots=True)
class Trouble:
    """Something that failed, and what was done about it."""

    deed: str
    """The command, or the tool and what it was used on; else a name for the error."""
    name: str
    """The command or the tool, in short."""
    code: int | None
    error: str
    source: Source
    left: tuple[shell.Command, ...] = ()
    """Its commands, without those that succeeded since."""
    trivial: bool = False
    """Whether it only looked around, or a tool was refused."""
    resolved: bool = False


@dataclass(slots=True)
class Run:
    """A command, and how it ended the last time."""

    command: str
    code: int | None
    ok: bool | None
    """None where nobody knows."""
    source: Source
    result: str = ""
    """Of tests, the line that counts them."""


@dataclass(slots=True)
class Account:
    """Everything that a summary, a handoff or a memory is drawn from."""

    count: int = 0
    first: Source | None = None
    last: Source | None = None
    turns: list[Turn] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    forgotten_troubles: int = 0
    files: dict[str, tuple[int, Source]] = field(default_factory=dict)
    edited: dict[str, Source] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    unproven: str = ""
    """The last command line, unless it is known to have succeeded."""
    tests: Run | None = None
    whole_tests: Run | None = None
    """The run of all tests before it, if the last was a run of some of them."""
    commits: list[Quote] = field(default_factory=list)
    pushed: Source | None = None
    unanswered: Quote | None = None
    heads: list[tuple[str, Source]] = field(default_factory=list)
    """The commits that were checked out one after the other; empty before the first of all."""
    unplaced: list[Quote] = field(default_factory=list)
    """Commits by commands of which nobody recorded what was checked out after them."""

    @property
    def answered(self) -> list[Turn]:
        """The requests that something came of, the latest first."""
        return [turn for turn in reversed(self.turns) if turn.closings]

    @property
    def stopped(self) -> bool:
        """Was the session left in the middle of its last request, before anything was reported?"""
        return bool(self.turns and self.turns[-1].goes_on and not self.turns[-1].reports)

    @property
    def unresolved(self) -> list[Trouble]:
        """Failures that nothing afterwards put right, the latest first."""
        return [
            trouble
            for trouble in reversed(self.troubles)
            if not (trouble.resolved or trouble.trivial)
        ]

    @property
    def next(self) -> list[Quote]:
        """What the end of the session leaves to do, then what requests before the last left."""
        if self.unanswered:
            return [self.unanswered]
        points: list[Quote] = []
        for quote in self.turns[-1].closings[:2] if self.turns else ():
            points = [Quote(text, quote.source) for text in next_points(quote.text)]
            if points:
                break
        return [*points, *self._left_before()]

    def _left_before(self) -> list[Quote]:
        """What the answer to a request shortly before says is left, unless it came up again."""
        saved = [*(commit.source for commit in self.commits[-1:]), self.pushed]
        last_saved = max((source.number for source in saved if source), default=-1)
        since = [commit.text for commit in self.commits]
        for turn in self.answered[:LOOKED_BACK]:
            quote = turn.closings[0]
            left = left_points(quote.text) if turn is not self.turns[-1] else []
            later = {word for text in since for word in terms(text)} if left else set()
            points = [
                Quote(point, quote.source)
                for point in left
                if 2 * len(later.intersection(terms(point))) < len(set(terms(point)))
                and not (is_uncommitted(point) and last_saved > quote.source.number)
            ]
            if points:
                return points
            since += [quote.text, turn.prompt.text if turn.prompt else ""]
        return []

    def stated(self, *kinds: str) -> list[Claim]:
        """Statements of some kinds, the latest first, each once."""
        chosen: dict[frozenset[str], Claim] = {}
        names = {path.rpartition("/")[2] for path in self.edited}
        for claim in reversed(self.claims):
            statement = claim.statement
            if statement.kind not in kinds:
                continue
            # `Updated README.md:108 to say …` tells what was done to a file that was edited, unless
            # somebody labelled it as more.
            words = (_FILE.match(word) for word in statement.text.split()[:SUBJECT])
            if statement.by == LABEL or not any(word and word[1] in names for word in words):
                chosen.setdefault(frozenset(terms(statement.text)), claim)
        return list(chosen.values())


def read_account(observations: Iterable[Observation], history: History | None = None) -> Account:
    """Read a session; observations that were redacted or forgotten are left out.

    Where it was recorded what was checked out, its commits are those that `history` has.
    """
    account = Account()
    for event in observations:
        if not (event.redacted or event.forgotten_at):
            _take(account, event)
    if not (history and account.heads and account.first):
        return account
    # The commits are those that git has: none that was amended, reset or refused, and those that a
    # script made.
    (before, last), *later = account.heads
    made = history(before, [head for head, _ in later], account.first.ts) if later else []
    if made is None:
        return account
    sources = dict(account.heads)
    commits: list[Quote] = []
    for id_, subject in reversed(made):
        last = sources.get(id_, later[-1][1] if not commits else last)
        commits.insert(0, Quote(f"{subject} ({id_[:7]})", last))
    subjects = {subject for _, subject in made}
    rest = [quote for quote in account.unplaced if quote.text.rsplit(" (", 1)[0] not in subjects]
    account.commits = [*rest, *commits]
    return account


def unresolved(observations: Iterable[Observation]) -> list[Trouble]:
    """Failures that nothing afterwards put right, the latest first; of one session or several."""
    account = Account()
    for number, event in enumerate(observations):
        source = Source(number, event.id, event.ts)
        if event.redacted or event.forgotten_at:
            continue
        _take_action(account, event, source)
    return account.unresolved


def _take(account: Account, event: Observation) -> None:
    source = Source(account.count, event.id, event.ts)
    account.count += 1
    if account.first is None or source.ts < account.first.ts:
        account.first = source
    if account.last is None or source.ts >= account.last.ts:
        account.last = source
    speaker = events.role(event)
    if speaker:
        _take_message(account, event, speaker, source)
    for path in events.files(event):
        if path in account.files or len(account.files) < TRACKED:
            account.files[path] = (account.files.get(path, (0, source))[0] + 1, source)
            if event.kind == "file_diff":
                account.edited[path] = source
    if account.turns and not speaker:
        account.turns[-1].changes += event.kind == "file_diff"
        account.turns[-1].edits += event.kind == "file_diff"
        account.turns[-1].deeds += event.kind in events.ACTIONS
    succeeded = _take_action(account, event, source)
    _take_run(account, event, source, succeeded)
    if (event.head or event.branch) and event.head != _head(account):
        account.heads = [*account.heads[:1], *account.heads[1:][1 - HEADS :], (event.head, source)]


def _head(account: Account) -> str | None:
    """What was checked out when something was last recorded; None if nobody did."""
    return account.heads[-1][0] if account.heads else None


def _take_action(account: Account, event: Observation, source: Source) -> bool | None:
    succeeded = events.succeeded(event)
    if succeeded is False:
        # A failure that comes again is the same trouble; what seemed to fix it did not. An error
        # that names no command is that of the last one, unless that succeeded.
        deed = events.deed(event)
        key = deed[: shell.LONGEST] or account.unproven or events.same_error(event)
        rest = [
            trouble
            for trouble in account.troubles
            if trouble.resolved or not (trouble.deed == key or shell.repeats(key, trouble.deed))
        ]
        trouble = Trouble(
            deed=key,
            name=excerpt(deed, LONGEST),
            code=events.exit_code(event),
            error=excerpt(events.error_line(event), LONGEST),
            source=source,
            left=shell.commands(key) if deed or account.unproven else (),
            trivial=events.looks_around(event),
        )
        account.troubles = [*rest, trouble]
        if len(account.troubles) > TROUBLES:
            account.forgotten_troubles += 1
            del account.troubles[0]
    elif succeeded and (deed := events.deed(event)):
        # What the same command or tests left open is settled; another success says nothing of it.
        for trouble in account.troubles:
            if not trouble.resolved and trouble.left:
                trouble.left = shell.uncovered(deed, trouble.left)
                trouble.resolved = not trouble.left
            trouble.resolved = trouble.resolved or deed == trouble.deed
    return succeeded


def _take_message(account: Account, event: Observation, speaker: Role, source: Source) -> None:
    text = event.content.strip()
    if not text:
        return
    quote = Quote(text, source)
    if speaker == "user":
        account.turns = [*account.turns[1 - TURNS :], Turn(prompt=quote)]
        account.unanswered = quote
    else:
        account.unanswered = None
        if not account.turns:
            account.turns.append(Turn())
        turn = account.turns[-1]
        turn.last_words = quote
        if has_substance(text):
            turn.closings = [quote, *turn.closings[: CLOSINGS - 1]]
    author = "assistant" if events.teammate(event) else speaker
    # A standing rule is a memory, and no result of the session.
    claims = [Claim(each, author, source) for each in statements(author, text, rules=False)]
    account.claims = [*account.claims, *claims][-STATEMENTS:]


def _is_part(run: Run, whole: Run) -> bool:
    """Does a command run a part of the tests of another: the same words, and what to select?"""
    words = _selection(whole.command)
    narrower = _selection(run.command)
    return (
        words != narrower
        and len(words) <= len(narrower)
        and all(b.startswith(a) for a, b in zip(words, narrower, strict=False))
    )


def _selection(command: str) -> list[str]:
    """The words of a command that say which tests run: no options, no redirections."""
    words = takewhile(lambda word: not _REDIRECTED.match(word), command.split())
    return [word for word in words if not word.startswith("-")]


def _take_run(account: Account, event: Observation, source: Source, succeeded: bool | None) -> None:
    line = events.command(event)
    if not line:
        return
    account.unproven = "" if succeeded else line[: shell.LONGEST]
    key = digest(" ".join(line.split()))
    run = Run(excerpt(line, LONGEST), events.exit_code(event), succeeded, source)
    if key in account.runs or len(account.runs) < TRACKED:
        account.runs[key] = run
    if events.is_test(event):
        tests = replace(
            run,
            command=excerpt(events.test_command(event), LONGEST),
            result=events.test_result(event),
            ok=events.tests_passed(event),
        )
        whole = account.whole_tests or account.tests
        account.whole_tests = whole if whole and _is_part(tests, whole) else None
        account.tests = tests
    names = events.programs(line)
    if "git commit" in names and _committed(account, event, succeeded):
        quote = Quote(commit_subject(event, line), source)
        account.commits.append(quote)
        if not event.head:
            account.unplaced.append(quote)
        if account.turns:
            account.turns[-1].changes += 1
    if succeeded and "git push" in names:
        account.pushed = source


def _committed(account: Account, event: Observation, succeeded: bool | None) -> bool:
    """Whether git made a commit: it says so, or another commit is checked out than before.

    Where nobody recorded what was checked out, as in imported sessions, the exit code counts.
    """
    if _SUBJECT.search(events.body(event)[: events.LOOKED_AT]):
        return True
    if event.head and _head(account) is not None:
        return _head(account) != event.head
    return succeeded is True


def commit_subject(event: Observation, line: str) -> str:
    """The subject of a commit, as git printed it or as it was given."""
    printed = _SUBJECT.search(events.body(event)[: events.LOOKED_AT])
    if printed:
        return f"{printed[2]} ({printed[1][:7]})"
    message = _MESSAGE.search(line[:4000])
    return next(filter(None, message.groups()), "") if message else ""
