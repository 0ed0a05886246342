"""What was wrong at the time: findings of reviews, and problems that requests name.

They hold until somebody puts them right. A question that does not ask for problems does not get
them once the work went on; one that does gets them marked where a later report of the same session
says that something was done about the same files, or in the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kinen.distill.blocks import sentences, stems, unwrapped
from kinen.journal.statements import is_step
from kinen.model.tuples import NamedTuple
from kinen.recall.states import Source, names_in
from kinen.text import excerpt, lazy_pattern

MARK = "May be outdated:"
"""A label, so that whatever is quoted of the line is quoted with it."""
QUOTED = 120
"""Characters of the report that are quoted after a problem."""
FEWEST = 4
SHARE = 0.4
"""Words, and the share of a problem's words, that a report on the same thing repeats."""

_PROBLEM = lazy_pattern(
    r"\W*(?:problems?|issues?|bugs?|symptoms?|currently|current (?:behaviou?r|state))\b[*_]*:",
    re.IGNORECASE,
)
_FINDING = lazy_pattern(
    r"[\s>]*(?:[-*+•]|\d{1,2}[.)])\s+\W{0,3}(?:critical|high|medium|low|blocker|major|minor|p[0-4])\b"
    r"(?: \([^)]{1,30}\)| severity| priority)?\W{0,3}(?:[:–—-]|\s`|$)",
    re.IGNORECASE,
)
"""An item of a review, by its severity."""
_BULLET = lazy_pattern(r"[\s>]*(?:(?:[-*+•]|\d{1,2}[.)])\s+)?")
_ASKS_PROBLEM = lazy_pattern(
    r"\b(?:why|wrong|problems?|issues?|bugs?|fail\w*|errors?|broke\w*|break\w*|causes?d?|crash\w*"
    r"|findings?|flag(?:ged)?|risks?|severity|reject\w*|not work\w*)\b",
    re.IGNORECASE,
)
_REPORTED = lazy_pattern(
    r"(?i)\b(?:fixed|changed|updated|replaced|removed|resolved|reworked|corrected|implemented"
    r"|switched|rewrote|rewritten|addressed|repaired)\b"
)
_DENIED = lazy_pattern(
    r"(?i)\b(?:not|never|isn't|wasn't|didn't|cannot|can't|to be (?=\w+ed)|should|must)\b"
)


class Report(NamedTuple):
    """A message that says what was done: its sentences on that, their files, all its words."""

    at: str
    session: str
    done: tuple[str, ...]
    files: frozenset[str]
    words: frozenset[str]
    shown: bool
    """May it be shown itself? Then it need not be quoted."""


class Repairs:
    """What the messages of sessions report as done; it marks the problems that this concerns."""

    def __init__(self, sources: Iterable[Source]) -> None:
        reports = (_report(source) for source in sources)
        self._reports = sorted(report for report in reports if report)

    def marked(self, source: Source, *, request: bool) -> str:
        """A text, its problems with a label and the first report that is not shown itself."""
        lines = []
        for line in unwrapped(source.text).splitlines():
            report = self._report_on(line, source) if is_problem(line, request=request) else None
            lines.append(_with_report(line, report) if report else line)
        return "\n".join(lines)

    def _report_on(self, line: str, source: Source) -> Report | None:
        files = _files(line)
        words = frozenset(stems(line))
        least = max(FEWEST, SHARE * len(words))
        later = (
            report
            for report in self._reports
            if report.at > source.at and report.session == source.session
        )
        concerned = (
            report
            for report in later
            if files & report.files or (not files and len(words & report.words) >= least)
        )
        return next(concerned, None)


def is_problem(line: str, *, request: bool) -> bool:
    """Is a line a finding of a review, or does a request say in it what is wrong?"""
    return bool(_FINDING.match(line) or (request and _PROBLEM.match(line)))


def without_problems(text: str, *, request: bool) -> str:
    """A text without what a review found or a request says is wrong, before it was put right."""
    lines = text.splitlines()
    return "\n".join(line for line in lines if not is_problem(line, request=request))


def asks_problem(question: str) -> bool:
    """Does a question ask what went wrong, or what a review found?"""
    return bool(_ASKS_PROBLEM.search(question))


def _report(source: Source) -> Report | None:
    """What a message reports as done; None if it reports nothing."""
    text = unwrapped(source.text)
    done = tuple(
        sentence
        for line in text.splitlines()
        if not _FINDING.match(line)
        for sentence in _sentences(line)
        if _REPORTED.search(sentence) and not _DENIED.search(sentence) and not is_step(sentence)
    )
    if not done:
        return None
    files = frozenset().union(*map(_files, done))
    return Report(source.at, source.session, done, files, frozenset(stems(text)), source.shown)


def _files(text: str) -> frozenset[str]:
    return frozenset(name for name in names_in(text) if "." in name)


def _sentences(line: str) -> Iterable[str]:
    bare = _BULLET.sub("", line, count=1)
    return (bare[begin:end] for begin, end in sentences(bare))


def _with_report(line: str, report: Report) -> str:
    """A line with its label, and of the report the sentence with most of the line's words."""
    head = _BULLET.match(line)
    start = head.end() if head else 0
    marked = f"{line[:start]}{MARK} {line[start:]}"
    if report.shown:
        return marked
    words = frozenset(stems(line))
    best = max(report.done, key=lambda sentence: len(words.intersection(stems(sentence))))
    return f"{marked} Later: {excerpt(best.rstrip(':'), QUOTED)}"
