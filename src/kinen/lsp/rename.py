"""Rename notes: the edits that keep every link leading where it led."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import dirname, normpath, splitext
from urllib.parse import quote, unquote

from kinen.errors import KinenError
from kinen.lsp.naming import renamed_target
from kinen.lsp.vault import Note, Reference, Vault, path_of, ref_of
from kinen.markdown.links import ALIAS, WIKI, Names, folded
from kinen.markdown.parse import split_lines
from kinen.markdown.spans import Span
from kinen.model.documents import Link

_FORBIDDEN = re.compile(r'[\[\]|#^\\:*?"<>\x00-\x1f\x7f]')
_DESTINATION = re.compile(r"\]\([ \t]*(?:<([^<>\n]*)>|((?:[^\s()<>]|\([^\s()]*\))+))")
_DEFINITION = re.compile(r"^[ >]*\[[^\[\]]+\]:[ \t]*(?:<([^<>\n]*)>|(\S+))")
_SAFE = "/!$&'*+,;=:@~-._" + "".join(map(chr, range(0xA1, 0x250)))


@dataclass(frozen=True, slots=True)
class Edit:
    """A new text for a part of one line of a note."""

    path: str
    line: int
    start: int
    end: int
    text: str
    source: str
    """The line as it is."""


def new_path(vault: Vault, path: str, name: str) -> str:
    """The path of a note once it has another name; with a `/` the name is a path of the space.

    Refused: a name that no link can have, that leads out of the space, or that a file has.
    """
    name = name.strip().removesuffix(".md").strip()
    odd = _FORBIDDEN.search(name)
    if odd:
        raise KinenError(f"a note's name cannot contain {odd[0]!r}", "choose another name")
    if not name.strip("/. ") or name.endswith("/"):
        raise KinenError("the new name is empty", "type the name of the note")
    folder = "" if "/" in name else dirname(path)
    target = normpath(f"{folder}/{name}".lstrip("/")) + splitext(path)[1]
    if target.startswith("..") or not vault.owns(target):
        raise KinenError(f"{name} would not be a note of this space", "choose another name")
    if vault.exists(target) and folded(target) != folded(path):
        raise KinenError(f"{target} exists already", "choose another name")
    return target


def moved_files(vault: Vault, old: str, new: str) -> dict[str, str]:
    """The notes that move with a file or a folder."""
    below = f"{old}/"
    moves = {
        note.path: f"{new}/{note.path.removeprefix(below)}"
        for note in vault.notes
        if note.path.startswith(below)
    }
    return {old: new} if vault.note(old) else moves


def link_edits(vault: Vault, moves: dict[str, str]) -> list[Edit]:
    """The edits of links, in the files as they are before they move."""
    refs = {ref_of(old): ref_of(new) for old, new in moves.items()}
    references = [*vault.links_named(moves), *_links_of_moved(vault, moves)]
    before = [vault.resolve(reference.link, reference.note.path) for reference in references]
    edits: list[Edit] = []
    with vault.moved(moves) as names:
        after = _After(names)
        for reference, ref in zip(references, before, strict=True):
            path = reference.note.path
            target = after.target(reference.link, moves.get(path, path), refs.get(ref, ref))
            if target != reference.link.target:
                edits += _edits(vault, reference, target)
    # Several links may refer to one definition.
    return list({(edit.path, edit.line, edit.start): edit for edit in edits}.values())


def _links_of_moved(vault: Vault, moves: Mapping[str, str]) -> Iterator[Reference]:
    """The links of notes that move to another folder: those by a relative path may break."""
    for old, new in moves.items():
        note = vault.note(old)
        if note and dirname(old) != dirname(new):
            yield from (Reference(note, n) for n in range(len(note.links)))


class _After:
    """What links lead to once files have moved."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._targets: dict[tuple[str, bool, str, str], str] = {}

    def target(self, link: Link, here: str, ref: str) -> str:
        """What a link has to say to lead to a ref; what it says now if it does already."""
        if not path_of(ref) or not link.target:
            return link.target
        key = (link.target, link.wiki, dirname(here), ref)
        if key not in self._targets:
            right = self._names.resolve(link, here) == ref
            self._targets[key] = (
                link.target if right else renamed_target(link, here, path_of(ref), self._names)
            )
        return self._targets[key]


def _edits(vault: Vault, reference: Reference, target: str) -> Iterator[Edit]:
    if reference.link.wiki:
        yield from _wiki_edit(reference, target)
    else:
        yield from _path_edit(vault, reference, target)


def _wiki_edit(reference: Reference, target: str) -> Iterator[Edit]:
    """The name in a wiki link; heading and alias stay."""
    span = reference.span
    source = reference.note.line(span.line)
    match = WIKI.match(source, span.column)
    if not match:
        return
    whole = ALIAS.split(match[1], maxsplit=1)[0].partition("#")[0]
    name = whole.strip()
    start = match.start(1) + whole.index(name)
    yield Edit(reference.note.path, span.line, start, start + len(name), target, source)


def _path_edit(vault: Vault, reference: Reference, target: str) -> Iterator[Edit]:
    """The destination of a link, or of the definition that it refers to; the heading stays."""
    span = reference.span
    note = reference.note
    source = note.line(span.end_line)
    if source[: span.end_column].endswith(")"):
        first = span.column if span.line == span.end_line else 0
        matches = _DESTINATION.finditer(source, first, span.end_column)
        yield from _destinations(note, span.end_line, source, [*matches][-1:], reference, target)
        return
    for number, line in enumerate(split_lines(vault.text(note.path)), 1):
        match = _DEFINITION.match(line)
        if match:
            yield from _destinations(note, number, line, [match], reference, target)


def _destinations(
    note: Note,
    number: int,
    source: str,
    matches: list[re.Match[str]],
    reference: Reference,
    target: str,
) -> Iterator[Edit]:
    for match in matches:
        group = 1 if match[1] is not None else 2
        path = re.split(r"[#?]", match[group], maxsplit=1)[0]
        if unquote(path).strip() == reference.link.target:
            start = match.start(group)
            text = target if group == 1 else quote(target, safe=_SAFE)
            yield Edit(note.path, number, start, start + len(path), text, source)


def name_span(reference: Reference) -> Span:
    """The part of a link that is its target, as an editor marks it for a rename."""
    edit = next(_wiki_edit(reference, ""), None) if reference.link.wiki else None
    if edit is None:
        return reference.span
    return Span(edit.line, edit.start, edit.line, edit.end)
