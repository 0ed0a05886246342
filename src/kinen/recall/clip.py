"""Texts cut to a number of tokens."""

from __future__ import annotations

from kinen.model.journal import Plan
from kinen.text import estimate, excerpt, lazy_pattern, terms

ESCAPED = 3
"""Escaped line breaks from which on a line is text inside JSON."""
_ESCAPED = lazy_pattern(r"(?<!\\)\\n")

ONE_LINE = 80
"""Characters of output up to which it is shown behind its command."""
ARROW = " → "
"""Between a command and its short result."""
LEAST_COMMAND = 8
"""Tokens of a command that say which one it was."""
REPEATED = 25
"""Repeated lines of at least this many characters are omitted."""
HEAD = 3
"""Lines at the beginning of a text that may be its title and summary."""


def plan_text(plan: Plan, tokens: int) -> str:
    """A plan's title and its open tasks; without a task list, its beginning."""
    lines = [line for line in plan.text.splitlines() if line.strip()]
    open_ = [line for line in lines if line.lstrip()[:5] in ("- [ ]", "* [ ]")]
    done = sum(line.lstrip()[:5].lower() in ("- [x]", "* [x]") for line in lines)
    heading = f"{plan.title} ({done} of {done + len(open_)} done)" if open_ else plan.title
    rest = [line for line in (open_ or lines) if line.strip("# ") != plan.title]
    return cut("\n".join([heading, *rest]), tokens)


def compact(text: str, question: str, tokens: int) -> str:
    """At most `tokens` of a text, around the line that matches the question best."""
    if estimate(text) <= tokens:
        return text
    lines = text.splitlines()
    question_terms = set(terms(question))
    scores = [len(question_terms & set(terms(line))) for line in lines]
    best = scores.index(max(scores)) if lines else 0
    before = lines[best - 1 : best] if best and scores[best - 1] else []
    sign = ["…"] if best - len(before) > 0 else []
    return cut("\n".join([*sign, *before, *lines[best:]]), tokens)


def cut(text: str, tokens: int) -> str:
    """At most `tokens` of a text, in whole lines if possible; a cut is marked by an ellipsis."""
    if estimate(text) <= tokens:
        return text
    whole: list[str] = []
    for line in text.splitlines():
        if estimate("\n".join([*whole, line, "…"])) > tokens:
            break
        whole.append(line)
    if any(line.strip("… ") for line in whole):
        return "\n".join([*whole, "…"])
    size = 3 * tokens
    while size > 1 and estimate(excerpt(text, size)) > tokens:  # a sign may be a token or more
        size = size * 3 // 4
    return excerpt(text, size)


def said_once(text: str) -> str:
    """A text without what it repeats; short lines of code stay.

    Of the first lines, a title or a summary that begins a later line is left out.
    """
    lines = text.splitlines()
    seen: set[str] = set()
    kept = []
    for n, line in enumerate(lines):
        if len(line) < REPEATED or not (
            line in seen or (n < HEAD and _begins(line, lines[n + 1 :]))
        ):
            kept.append(line)
            seen.add(line)
    return "\n".join(kept)


def _begins(line: str, following: list[str]) -> bool:
    """Whether a longer line begins with this one, which may have been cut."""
    beginning = line.strip("#").strip().rstrip("….")
    return any(len(other) > len(beginning) and other.startswith(beginning) for other in following)


def readable_output(text: str) -> str:
    """A text as a reader wants it: escaped lines are lines, a short result follows its command."""
    text = _with_line_breaks(text)
    command, _, output = text.rstrip().partition("\n")
    if command.startswith("$ ") and output and "\n" not in output and len(output) <= ONE_LINE:
        return f"{command}{ARROW}{output}"
    return text


def cut_output(text: str, tokens: int) -> str:
    """At most `tokens` of an output; where a short result follows its command, the command is cut.

    A long result is cut like any other text.
    """
    text = readable_output(text)
    command, arrow, result = text.partition(ARROW)
    room = tokens - estimate(arrow + result)
    if not (arrow and command.startswith("$ ") and room >= LEAST_COMMAND):
        return cut(text, tokens)
    return cut(command, room) + arrow + result


def _with_line_breaks(text: str) -> str:
    """A text in which lines that were escaped, as a search in logs prints them, are lines again."""
    if "\\n" not in text:
        return text
    return "\n".join(
        _ESCAPED.sub("\n", line) if len(_ESCAPED.findall(line)) >= ESCAPED else line
        for line in text.splitlines()
    )
