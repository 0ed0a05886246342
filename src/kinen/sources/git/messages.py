"""Parses commit messages: conventional subject, line of tags, trailers. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kinen.model.tuples import NamedTuple
from kinen.text import budget, lazy_pattern

_HEAD = lazy_pattern(
    r"(?P<type>[A-Za-z][\w-]{0,30})(?:\((?P<scope>[^()\n]{1,80})\))?(?P<bang>!)?: +\S"
)
_TRAILER = lazy_pattern(
    r"(?P<key>[A-Za-z][A-Za-z0-9-]{1,40}|BREAKING CHANGE)(?:: +| +#)(?P<value>.+)"
)
_HYPHENATED = lazy_pattern(r"[A-Z][A-Za-z]{0,40}(?:-[A-Za-z]{1,40}){1,4}: +\S")
_TAGS = lazy_pattern(r"(?im)^tags:[ \t]*(?P<tags>\S.*)$")
_BREAKING = lazy_pattern(r"(?m)^BREAKING[ -]CHANGE: ")
_REVERTS = lazy_pattern(r"(?i)\breverts? (?:commit )?(?P<sha>[0-9a-f]{7,64})\b")
_CITED = lazy_pattern(r"(?P<sha>[0-9a-f]{7,64})\b")
_CITING = {"reverts": "reverts", "revert": "reverts", "fixes": "fixes", "refs": "refs"}
_SPACE = lazy_pattern(r"\s+")
LONGEST = 60
"""Characters of a tag; anything longer is prose."""
MESSAGE = 200_000
"""Characters of a message that are read."""
SUBJECT = 1_000
"""Characters of a subject; the rest of a long first line counts as body."""


class Message(NamedTuple):
    """A commit message in parts."""

    subject: str
    body: str = ""
    type: str = ""
    scope: str = ""
    breaking: bool = False
    ops: tuple[str, ...] = ()
    """The line of tags as operations in order: `+auth`, `-session`."""
    trailers: tuple[tuple[str, str], ...] = ()
    cites: tuple[tuple[str, str], ...] = ()
    """Commits that it reverts, fixes or refers to, as (relation, sha or its prefix)."""
    cut: str = ""
    """Why only a part of the message was read, or empty."""


def read_message(text: str) -> Message:
    """Parse a message; never raises."""
    text = (text.replace("\r\n", "\n") if "\r" in text else text).strip("\n")
    cut = ""
    if len(text) > MESSAGE:
        cut = f"only the first {MESSAGE:,} of {len(text):,} characters of its message were read"
        text = text[:MESSAGE]
    if "\\n\\n" in text.partition("\n")[0]:  # a message whose line breaks a shell did not read
        text = text.replace("\\n", "\n")
    subject, _, body = text.partition("\n")
    subject = subject.strip()
    body = body.strip("\n")
    if len(subject) > SUBJECT:
        body = f"{subject[SUBJECT:]}\n{body}"
        subject = subject[:SUBJECT]
    head = _HEAD.match(subject) if ": " in subject else None
    kind = head["type"].lower() if head else ""
    scope = _tag(head["scope"] or "") if head else ""
    breaking = bool(head and head["bang"])
    if not body:
        return Message(subject, "", kind, scope, breaking, cut=cut)
    trailers = tuple(_trailers(body))
    ops = tuple(_operations(body)) if "ags:" in body or "AGS:" in body else ()
    if len(ops) > budget.TAGS:
        cut = cut or f"only the first {budget.TAGS:,} of {len(ops):,} tags of its message were read"
        ops = ops[: budget.TAGS]
    breaking = breaking or ("BREAKING" in body and bool(_BREAKING.search(body)))
    cites = tuple(dict.fromkeys(_cites(body, trailers)))
    return Message(subject, body, kind, scope, breaking, ops, trailers, cites, cut)


def _trailers(body: str) -> Iterator[tuple[str, str]]:
    """The last paragraph, if every line of it is a trailer or continues one.

    The line of tags may stand among the trailers or below them.
    """
    last = body.rstrip().rpartition("\n\n")[2]
    if ":" not in last and " #" not in last:
        return
    if _TAGS.fullmatch(last.strip()):
        last = body.rstrip()[: -len(last)].rstrip().rpartition("\n\n")[2]
    trailers: list[tuple[str, str]] = []
    for line in last.split("\n"):
        match = _TRAILER.fullmatch(line.rstrip())
        if match:
            trailers.append((match["key"], match["value"].strip()))
        elif line[:1] in (" ", "\t") and trailers:
            key, value = trailers[-1]
            trailers[-1] = (key, f"{value} {line.strip()}")
        else:
            return
    yield from (pair for pair in trailers if pair[0].lower() != "tags")


def without_trailers(text: str) -> str:
    """A message without the paragraph of trailers at its end; a subject alone has none.

    The commits of a squash have their own: in between, only names like `Co-Authored-By` are such.
    """
    head, gap, _ = text.rstrip().rpartition("\n\n")
    text = head.rstrip() if gap and any(_trailers(text)) else text
    subject, *paragraphs = text.split("\n\n")
    return "\n\n".join([subject, *(part for part in paragraphs if not _is_signed(part))])


def readable_message(text: str) -> str:
    """A message without trailers, and without the subject where a squash repeats it."""
    subject, *paragraphs = without_trailers(text).split("\n\n")
    others = [part for part in paragraphs if not subject.startswith(part.strip("*- \n") or "\n")]
    return "\n\n".join([subject, *others])


def _is_signed(paragraph: str) -> bool:
    lines = paragraph.split("\n")
    return any(map(str.strip, lines)) and all(
        not line.strip() or _HYPHENATED.match(line) for line in lines
    )


def _cites(body: str, trailers: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    if "evert" in body:
        for match in _REVERTS.finditer(body):
            yield "reverts", match["sha"].lower()
    for key, value in trailers:
        relation = _CITING.get(key.lower())
        cited = _CITED.match(value.lower()) if relation else None
        if relation and cited:
            yield relation, cited["sha"]


def _operations(body: str) -> Iterator[str]:
    for line in _TAGS.finditer(body):
        for word in map(str.strip, line["tags"].split(",")):
            op = word[:1] if word[:1] in ("+", "-") else "+"
            tag = _tag(word)
            if tag:
                yield op + tag


def _tag(text: str) -> str:
    """A tag in lower case, with hyphens for spaces; empty if the text is not a tag."""
    tag = _SPACE.sub("-", text.strip().lstrip("#+- \t").rstrip("#.;- \t").lower())
    return tag if len(tag) <= LONGEST else ""


def with_tags(message: str, line: str, comment: str = "#") -> str:
    """A message in the editor with a line of tags below its body, above git's comments.

    A message that has such a line keeps its own. In an empty message the line is a comment, because
    git takes an empty message as a request to abort.
    """
    lines = message.split("\n")
    starts = (f"{comment} ", f"{comment}\t", "diff --git ")
    comments = (n for n, text in enumerate(lines) if text.startswith(starts) or text == comment)
    end = next(comments, len(lines))
    body = "\n".join(lines[:end]).rstrip()
    rest = "\n".join(lines[end:])
    if re.search(r"(?im)^tags:", body):
        return message
    if not body:
        remark = f"(remove the {comment} to make this line part of the message)"
        return f"\n{comment} {line}\n{comment} {remark}\n{rest}"
    between = "\n" if tuple(_trailers(body.partition("\n")[2].strip("\n"))) else "\n\n"
    return f"{body}{between}{line}\n" + (f"\n{rest}" if rest else "")
