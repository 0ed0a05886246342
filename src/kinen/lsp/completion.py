"""What can be written at a place: the name of a note, a heading of it, a tag."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kinen.lsp.naming import shortest_name
from kinen.lsp.vault import Note, Vault, path_of
from kinen.markdown.links import folded
from kinen.model.documents import Link

MOST = 100
"""Suggestions in one answer; the editor asks again as the word grows."""

_LINK = re.compile(r"\[\[([^\[\]|\n]*)$")
_TAG = re.compile(r"(?:^|(?<=\s))#([\w/-]*)$")
_KEY = re.compile(r"^([A-Za-z_-]+)\s*:")
_WORD = re.compile(r"[^\s,\[\]\"'#:]*$")
_CLOSING = re.compile(r"\]{0,2}")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A text that may replace the characters from `start` to `end` of the line."""

    label: str
    text: str
    start: int
    end: int
    kind: str
    """`note`, `alias`, `heading` or `tag`."""
    detail: str = ""
    searched: str = ""
    """What an editor compares with the characters that are replaced."""


def suggestions(
    vault: Vault, note: Note, lines: Sequence[str], row: int, column: int
) -> list[Suggestion]:
    """What fits at a place of a note, the best first; row and column count from 0."""
    line = lines[row] if row < len(lines) else ""
    before = line[:column]
    if any(first <= row + 1 <= last for first, last in note.fences):
        return []
    link = _LINK.search(before)
    if link:
        closing = _CLOSING.match(line, column)
        end = closing.end() if closing else column
        return list(_in_link(vault, note, link[1], column - len(link[1]), end))
    if _in_frontmatter(lines, row):
        word = _WORD.search(before) if _key(lines, row, before) in ("tags", "tag") else None
        return list(_tags(vault, word[0], column)) if word else []
    tag = _TAG.search(before)
    return list(_tags(vault, tag[1], column)) if tag else []


def _in_link(vault: Vault, note: Note, written: str, start: int, end: int) -> Iterator[Suggestion]:
    name, hash_, heading = written.partition("#")
    if not hash_:
        yield from _names(vault, note, name, start, end)
        return
    target = vault.note(path_of(vault.resolve(Link(name.strip()), note.path)))
    if target is None:
        return
    for text in _best(heading, [title.text for title in target.headings]):
        yield Suggestion(
            text, f"{name}#{text}]]", start, end, "heading", target.path, f"{name}#{text}"
        )


def _names(vault: Vault, note: Note, word: str, start: int, end: int) -> Iterator[Suggestion]:
    """Names and aliases of notes; an alias is written behind the name of its note."""
    notes: dict[str, list[tuple[Note, str]]] = {}
    for other in vault.notes:
        notes.setdefault(shortest_name(other.path), []).append((other, "note"))
        for alias in other.aliases:
            notes.setdefault(alias, []).append((other, "alias"))
    count = 0
    for label in _best(word, sorted(notes, key=folded)):
        for other, kind in notes[label][: MOST - count]:
            count += 1
            name = shortest_name(other.path, lambda link: vault.resolve(link, note.path))
            text = f"{name}|{label}" if kind == "alias" else name
            yield Suggestion(label, f"{text}]]", start, end, kind, other.path, label)


def _tags(vault: Vault, word: str, column: int) -> Iterator[Suggestion]:
    """Tags, the most frequent first."""
    counts = vault.tags()
    start = column - len(word)
    written = {word.strip("/")} if counts.get(word.strip("/")) == 1 else set()
    tags = sorted(counts.keys() - written, key=lambda tag: (-counts[tag], tag))
    for tag in _best(word, tags):
        count = counts[tag]
        detail = f"{count} note{'s'[: count != 1]}"
        yield Suggestion(tag, tag, start, column, "tag", detail, tag)


def _best(word: str, labels: Iterable[str]) -> list[str]:
    """The labels that have all words, those that begin with them first; the order is kept."""
    text = folded(word.strip())
    parts = text.split()
    ranked: list[tuple[int, str]] = []
    for label in labels:
        key = folded(label)
        if all(part in key for part in parts):
            ranked.append((0 if key.startswith(text) else 1, label))
    ranked.sort(key=lambda pair: pair[0])
    return [label for _, label in ranked[:MOST]]


def _in_frontmatter(lines: Sequence[str], row: int) -> bool:
    """Whether a line is between the `---` at the top and the next one, written yet or not."""
    if row == 0 or not lines or lines[0].rstrip() != "---":
        return False
    return all(line.rstrip() != "---" for line in lines[1:row])


def _key(lines: Sequence[str], row: int, before: str) -> str:
    """The key that a value at a place of the frontmatter belongs to."""
    for line in (before, *reversed(lines[1:row])):
        match = _KEY.match(line)
        if match:
            return match[1].lower()
    return ""
