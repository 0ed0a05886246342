"""Commands of the journal: which failures were put right later. Hooks import this module.

It is light: a line is parsed, and an output read, only where it may have put right an open failure.
"""

from __future__ import annotations

from itertools import dropwhile

from kinen.journal.schema import ALIVE
from kinen.text import QUESTION, STOP_WORDS, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

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
_READ = (
    "SELECT id, ts, capsule, branch, kind, IFNULL(command, substr(content, 3, 500)), exit_code,"
    f" has_error FROM observations WHERE ts >= ? AND ts < ? AND kind IN ('command', 'error')"
    f" AND {ALIVE} AND (? = '' OR instr(command, ?)) ORDER BY ts {{}} LIMIT ?"
)
SHARE = 0.8
"""The share of a step's words that has to come again."""
STEM = 4
"""Letters that two forms of a word have in common."""
ENDING = 3
"""Letters in which they may differ after that."""
HEAD = 3
"""Letters that all forms of a word begin with, but for those of some verbs."""
CUT = 30
"""Characters of a subject that was cut with which a step has to begin."""
LONGEST = 4_000
"""Characters of an outcome that are read."""
VOWELS = frozenset("aeiouyäöüáéíóúàèâêîôûãõ")
WORK = frozenset("feat fix refactor perf build".split())
"""Types of commits that say what kind of work was done, and not on what."""
OPEN = frozenset(
    """not no never cannot without still yet later pending unless failed fails failing blocked
    nicht kein keine noch nie ohne später pas jamais encore sans todavía aún sin nunca falta ainda
    não sem depois не нет ещё еще без пока""".split()
)
"""Words of a sentence that says that something is not done."""
OPEN_SIGNS = ("n't", "n’t", "未", "没", "不", "まだ", "ない", "ません")
SPACES = dict.fromkeys(map(ord, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), " ")
LATER = frozenset("please now then also next bitte jetzt dann ahora luego agora".split())
"""Words before the verb of a request, besides those that agree."""


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
    if failure.line == run.line:
        return True
    names = failure.names
    if not names & run.names:
        return False
    # The run has no paths, or one that has a path of the failure in it.
    targets = [word.removeprefix("./") for word in failure.line.split()]
    paths = [word for word in run.line.split() if ("/" in word or "." in word) and word[0] != "-"]
    others = (word for word in paths if word.rpartition("/")[2] not in names)
    bounds = [word.removeprefix("./").removesuffix("...").rstrip("/.") for word in others]
    return not bounds or any(word.startswith(bound) for bound in bounds for word in targets)


class Words:
    """The words of a step or of a sentence; a step begins with its verb."""

    __slots__ = ("heads", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = _words(text)
        self.heads = {word[:HEAD] for word in self.words}

    def may_be_in(self, others: Words) -> bool:
        """Whether so many words begin alike that a closer look is worth it; a verb may not."""
        missing = len(self.heads) - len(self.heads & others.heads)
        return missing <= 1 + (1 - SHARE) * len(self.words)


def by_commit(step: Words, subject: str) -> bool:
    """Whether a commit did a step, by its subject, of which a summary may have the beginning."""
    begin = subject.removesuffix("…").rstrip()
    if begin != subject and len(begin) >= CUT:
        return step.text.startswith(begin)
    every = Words(subject)
    needed = step.words
    if not needed or not step.may_be_in(every):
        return False
    head, colon, rest = subject.partition(": ")
    kind, _, scope = head.rstrip("!)").partition("(")
    kind = kind.casefold()
    conventional = bool(colon) and kind.isalpha()
    words = _words(rest) if conventional else every.words
    # `feat: rate limiting of the API` has no verb: it begins with what is to be added.
    bare = kind in WORK and _has(words[0], needed[1:]) if words else False
    if conventional:
        words = (*words, *_words(scope), *(() if kind in WORK else (kind,)))
    if _has_most(needed, words):
        return True
    nouns = needed[1:]
    return bare and sum(_has(noun, words) for noun in nouns) >= SHARE * len(nouns)


def by_request(step: Words, request: Words) -> bool:
    """Whether a request, which was fulfilled, is the step: it begins with the same verb."""
    words = request.words
    needed = step.words
    if not (words and needed and step.may_be_in(request)) or _is_question(request.text):
        return False
    if not _has_verb(needed[0], words[:1]):
        from kinen.text.choices import YES

        fillers = YES | LATER
        words = tuple(dropwhile(fillers.__contains__, words))
    return _has_verb(needed[0], words[:1]) and _has_most(needed, words)


def by_outcome(step: Words, outcome: Iterable[Words], left: Iterable[Words] = ()) -> bool:
    """Whether a sentence of an outcome says that a step was done; see `sentences`.

    `left` are the points that the same session left open: they stand in its outcome, too.
    """
    for sentence in outcome:
        if not (step.words and step.may_be_in(sentence) and _has_most(step.words, sentence.words)):
            continue
        own = set(sentence.words)
        repeats = any(point.words and own.issuperset(point.words) for point in left)
        if not repeats and not _is_open(sentence.text):
            return True
    return False


def sentences(text: str) -> list[Words]:
    """The sentences of an outcome; an item that is ticked off is one, whatever it says."""
    parts: list[str] = []
    for line in text[:LONGEST].splitlines():
        for end in () if _is_ticked(line) else (". ", "; ", "! ", "。", "！"):
            line = line.replace(end, f"{end}\n")  # noqa: PLW2901
        parts += line.splitlines()
    return [Words(part.strip()) for part in parts if part.strip()]


def _is_ticked(line: str) -> bool:
    return line.lstrip("-*+•0123456789. ")[:4].casefold() == "[x] "


def _words(text: str) -> tuple[str, ...]:
    """The words of a text in small letters, without those that say nothing."""
    if not text.isascii():
        return terms(text.casefold())
    words = text.lower().translate(SPACES).split()
    return tuple(dict.fromkeys(word for word in words if word not in STOP_WORDS))


def _is_question(text: str) -> bool:
    return text.rstrip("*_ ").endswith(QUESTION)


def _is_open(sentence: str) -> bool:
    """Does a sentence ask, or say that something is not done?"""
    if _is_ticked(sentence):
        return False
    if _is_question(sentence) or sentence.endswith((":", "：")) or "[ ]" in sentence:
        return True
    low = sentence.casefold()
    spoken = {word.strip(".,;:!()`*\"'") for word in low.split()}
    return bool(spoken & OPEN) or any(sign in low for sign in OPEN_SIGNS)


def _has_most(needed: Sequence[str], words: Sequence[str]) -> bool:
    """Are most words of a step there, and its verb, which is the first?"""
    shared = 1 + sum(_has(word, words) for word in needed[1:])
    return _has_verb(needed[0], words) and shared >= SHARE * len(needed)


def _has(word: str, words: Iterable[str]) -> bool:
    return any(_alike(word, other) for other in words)


def _alike(word: str, other: str) -> bool:
    """Are two words forms of one: `refund` and `refunds`, `map` and `mapped`?"""
    if word == other:
        return True
    short, long = sorted((word, other), key=len)
    shared = 0
    while shared < len(short) and short[shared] == long[shared]:
        shared += 1
    whole = shared == len(short) and shared >= ENDING
    return (whole or shared >= STEM) and len(long) - shared <= ENDING


def _has_verb(verb: str, words: Iterable[str]) -> bool:
    """Is a verb among some words, in any of its forms: `run` and `ran`, `write` and `wrote`?"""
    bones = _consonants(verb)
    return any(
        _alike(verb, word) or (len(bones) > 1 and bones == _consonants(word)) for word in words
    )


def _consonants(word: str) -> str:
    return "".join(letter for letter in word if letter not in VOWELS)
