"""What a commit says: its conventional head, its line of tags, its trailers. Pure functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kinen.extract import budget

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = re.compile(
    r"(?P<type>[A-Za-z][\w-]{0,30})(?:\((?P<scope>[^()\n]{1,80})\))?(?P<bang>!)?: +\S"
)
_TRAILER = re.compile(
    r"(?P<key>[A-Za-z][A-Za-z0-9-]{1,40}|BREAKING CHANGE)(?:: +| +#)(?P<value>.+)"
)
_TAGS = re.compile(r"(?im)^tags:[ \t]*(?P<tags>\S.*)$")
_BREAKING = re.compile(r"(?m)^BREAKING[ -]CHANGE: ")
_REVERTS = re.compile(r"(?i)\breverts? (?:commit )?(?P<sha>[0-9a-f]{7,64})\b")
_CITED = re.compile(r"(?P<sha>[0-9a-f]{7,64})\b")
_CITING = {"reverts": "reverts", "revert": "reverts", "fixes": "fixes", "refs": "refs"}
_SPACE = re.compile(r"\s+")
LONGEST = 60
"""Characters of a tag; whatever is longer was prose."""
MESSAGE = 200_000
"""Characters of a message that are read."""
SUBJECT = 1_000
"""Characters of a subject: every part of a long message is shown below it."""


class Message(NamedTuple):
    """A commit's message, taken apart."""

    subject: str
    body: str = ""
    type: str = ""
    scope: str = ""
    breaking: bool = False
    ops: tuple[str, ...] = ()
    """The line of tags as operations in order: `+auth`, `-session`."""
    trailers: tuple[tuple[str, str], ...] = ()
    cites: tuple[tuple[str, str], ...] = ()
    """Commits that it reverts, fixes or refers to, as (what, sha or its beginning)."""
    cut: str = ""
    """Why not all of it was read."""


def read_message(text: str) -> Message:
    """Take a message apart; whatever is in it is text, never syntax of ours."""
    text = (text.replace("\r\n", "\n") if "\r" in text else text).strip("\n")
    cut = ""
    if len(text) > MESSAGE:
        cut = f"only the first {MESSAGE:,} of {len(text):,} characters of its message were read"
        text = text[:MESSAGE]
    subject, _, body = text.partition("\n")
    subject, body = subject.strip(), body.strip("\n")
    if len(subject) > SUBJECT:
        subject, body = subject[:SUBJECT], f"{subject[SUBJECT:]}\n{body}"
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
    """The last paragraph, if every line of it is a trailer or goes on with one.

    The line of tags may stand among them or below.
    """
    last = body.rstrip().rpartition("\n\n")[2]
    if ":" not in last and " #" not in last:
        return
    if _TAGS.fullmatch(last.strip()):
        last = body.rstrip()[: -len(last)].rstrip().rpartition("\n\n")[2]
    found: list[tuple[str, str]] = []
    for line in last.split("\n"):
        match = _TRAILER.fullmatch(line.rstrip())
        if match:
            found.append((match["key"], match["value"].strip()))
        elif line[:1] in (" ", "\t") and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        else:
            return
    yield from (pair for pair in found if pair[0].lower() != "tags")


def without_trailers(text: str) -> str:
    """A message without the paragraph of trailers at its end; a subject alone has none."""
    head, gap, _ = text.rstrip().rpartition("\n\n")
    return head.rstrip() if gap and any(_trailers(text)) else text


def _cites(body: str, trailers: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    if "evert" in body:
        for found in _REVERTS.finditer(body):
            yield "reverts", found["sha"].lower()
    for key, value in trailers:
        what = _CITING.get(key.lower())
        sha = _CITED.match(value.lower()) if what else None
        if what and sha:
            yield what, sha["sha"]


def _operations(body: str) -> Iterator[str]:
    for line in _TAGS.finditer(body):
        for word in map(str.strip, line["tags"].split(",")):
            op = word[:1] if word[:1] in ("+", "-") else "+"
            tag = _tag(word)
            if tag:
                yield op + tag


def _tag(text: str) -> str:
    """A tag as it is compared: lower case, its spaces as hyphens; nothing if it is none."""
    tag = _SPACE.sub("-", text.strip().lstrip("#+- \t").rstrip("#.;- \t").lower())
    return tag if len(tag) <= LONGEST else ""


def with_tags(message: str, line: str, sign: str = "#") -> str:
    """A message that is being written, with a line of tags below its body, above git's remarks.

    One that has such a line keeps its own. Where nothing is written yet, the line is a remark: a
    message that is left empty must stay empty.
    """
    lines, remark = message.split("\n"), (f"{sign} ", f"{sign}\t", "diff --git ")
    found = (at for at, one in enumerate(lines) if one.startswith(remark) or one == sign)
    end = next(found, len(lines))
    body, rest = "\n".join(lines[:end]).rstrip(), "\n".join(lines[end:])
    if re.search(r"(?im)^tags:", body):
        return message
    if not body:
        return f"\n{sign} {line}\n{sign} (without the sign, it is part of the message)\n{rest}"
    between = "\n" if tuple(_trailers(body.partition("\n")[2].strip("\n"))) else "\n\n"
    return f"{body}{between}{line}\n" + (f"\n{rest}" if rest else "")
