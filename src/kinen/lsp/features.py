"""What an editor asks for, each question with its answer: completion, passages, renaming."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from posixpath import basename, dirname, normpath, relpath, splitext
from urllib.parse import quote, unquote

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException

from kinen.characters import visible, visible_line
from kinen.errors import KinenError
from kinen.lsp import server
from kinen.lsp.server import REQUEST_FAILED, Cursor, Server, refusal
from kinen.lsp.vault import Note, Reference, Vault, path_of, ref_of
from kinen.model.documents import Link
from kinen.text import excerpt
from kinen.text.links import ALIAS, WIKI, Names, folded
from kinen.text.parse import Span, parse, split_lines
from kinen.text.reading import reading

_KINDS = {
    "note": types.CompletionItemKind.File,
    "alias": types.CompletionItemKind.Reference,
    "heading": types.CompletionItemKind.Module,
    "tag": types.CompletionItemKind.Keyword,
}
_GLOB = "**/*.{md,markdown,mdx}"
NO_NOTE = KinenError("no note here", "put the cursor on a link or on the note's first heading")
CANNOT_RENAME = KinenError(
    "this editor cannot rename files for a language server", "rename the file in it, or by hand"
)
Resolve = Callable[[Link], str]

_SUFFIX = re.compile(r"\.(?:md|markdown)$")
LINES = 10
"""Lines of a passage."""
LONGEST = 500
"""Characters of a line of it."""
READ = 65_536
"""Characters of a note that are read for it."""
MOST = 100
"""Suggestions in one answer; the editor asks again as the word grows."""

_LINK = re.compile(r"\[\[([^\[\]|\n]*)$")
_TAG = re.compile(r"(?:^|(?<=\s))#([\w/-]*)$")
_KEY = re.compile(r"^([A-Za-z_-]+)\s*:")
_WORD = re.compile(r"[^\s,\[\]\"'#:]*$")
_CLOSING = re.compile(r"\]{0,2}")
_FORBIDDEN = re.compile(r'[\[\]|#^\\:*?"<>\x00-\x1f\x7f]')
_DESTINATION = re.compile(r"\]\([ \t]*(?:<([^<>\n]*)>|((?:[^\s()<>]|\([^\s()]*\))+))")
_DEFINITION = re.compile(r"^[ >]*\[[^\[\]]+\]:[ \t]*(?:<([^<>\n]*)>|(\S+))")
_SAFE = "/!$&'*+,;=:@~-._" + "".join(map(chr, range(0xA1, 0x250)))


async def complete(ls: Server, params: types.CompletionParams) -> types.CompletionList | None:
    """Names and aliases of notes after `[[`, headings after `#` in a link, tags."""
    cursor = await ls.cursor(params.text_document.uri, params.position)
    if cursor is None:
        return None
    line = cursor.lines[cursor.row] if cursor.row < len(cursor.lines) else ""
    options = suggestions(cursor.vault, cursor.note, cursor.lines, cursor.row, cursor.column)
    items = []
    for n, suggestion in enumerate(options):
        start = ls.position(cursor.row + 1, line, suggestion.start)
        end = ls.position(cursor.row + 1, line, suggestion.end)
        items.append(
            types.CompletionItem(
                label=visible_line(suggestion.label),
                kind=_KINDS[suggestion.kind],
                detail=visible_line(suggestion.detail),
                filter_text=suggestion.searched,
                sort_text=f"{n:03}",
                text_edit=types.TextEdit(types.Range(start, end), suggestion.text),
            )
        )
    return types.CompletionList(is_incomplete=len(items) >= MOST, items=items)


async def define(ls: Server, params: types.DefinitionParams) -> types.Location | None:
    """The note, heading or file that a link leads to."""
    cursor = await ls.cursor(params.text_document.uri, params.position)
    if cursor is None or cursor.link < 0:
        return None
    link = cursor.note.links[cursor.link]
    path = cursor.vault.file(link, cursor.note.path)
    if not path:
        return None
    note = cursor.vault.note(path)
    start = types.Position(heading_line(note, link.heading) - 1 if note else 0, 0)
    return types.Location(ls.spaces.uri(cursor.vault, path), types.Range(start, start))


async def refer(ls: Server, params: types.ReferenceParams) -> server.Answer | None:
    """The links to the note at the cursor, or to the heading at it."""
    cursor = await ls.cursor(params.text_document.uri, params.position)
    if cursor is None:
        return None
    vault = cursor.vault
    note = _note_at(cursor) or cursor.note
    references = list(vault.linking_to(note.ref))
    heading = cursor.heading if cursor.link < 0 else None
    line = 1
    if heading and heading.level > 1:
        line = heading.line
        references = [
            reference
            for reference in references
            if reference.link.heading and heading_line(note, reference.link.heading) == line
        ]
    locations = [
        server.location(
            ls.spaces.uri(vault, reference.note.path), ls.place(reference.span, reference.note)
        )
        for reference in references
    ]
    if params.context.include_declaration:
        declaration = server.place(line, 0, line, 0)
        locations.insert(0, server.location(ls.spaces.uri(vault, note.path), declaration))
    return server.Answer(locations)


def _note_at(cursor: Cursor) -> Note | None:
    """The note that the link at the cursor leads to."""
    if cursor.link < 0:
        return None
    return cursor.vault.note(path_of(cursor.vault.targets(cursor.note)[cursor.link]))


async def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    """The first passage of the note that a link leads to."""
    cursor = await ls.cursor(params.text_document.uri, params.position)
    note = _note_at(cursor) if cursor else None
    if cursor is None or note is None:
        return None
    reference = Reference(cursor.note, cursor.link)
    text = first_passage(cursor.vault, note, reference.link.heading)
    return types.Hover(
        types.MarkupContent(types.MarkupKind.PlainText, text), ls.range(reference.span, cursor.note)
    )


async def prepare_rename(
    ls: Server, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder:
    """The note that would be renamed: that of a link, or the open one on its first heading."""
    cursor = await ls.cursor(params.text_document.uri, params.position)
    path, span = _renamed(cursor)
    assert cursor is not None
    return types.PrepareRenamePlaceholder(
        ls.range(span, cursor.note), visible_line(shortest_name(path))
    )


def _renamed(cursor: Cursor | None) -> tuple[str, Span]:
    """The path of the note to rename, and the words at the cursor that name it."""
    note = _note_at(cursor) if cursor else None
    if cursor and note:
        return note.path, name_span(Reference(cursor.note, cursor.link))
    heading = cursor.heading if cursor else None
    if cursor and heading and heading == cursor.note.headings[0]:
        end = len(cursor.note.line(heading.line))
        return cursor.note.path, Span(heading.line, 0, heading.line, end)
    raise refusal(NO_NOTE)


async def rename_note(ls: Server, params: types.RenameParams) -> server.Answer:
    """Rename the file of a note, and every link to it."""
    cursor = await ls.cursor(params.text_document.uri, params.position)
    path, _ = _renamed(cursor)
    assert cursor is not None
    vault = cursor.vault
    vault.refresh(now=True)
    workspace = ls.client_capabilities.workspace
    able = workspace.workspace_edit if workspace else None
    operations = able.resource_operations if able else None
    if types.ResourceOperationKind.Rename not in (operations or ()):
        raise refusal(CANNOT_RENAME)
    try:
        target = new_path(vault, path, params.new_name)
    except KinenError as error:
        raise refusal(error) from None
    if target == path:
        return server.workspace_edit([])
    changes = _text_edits(ls, vault, link_edits(vault, {path: target}))
    uris_ = {"oldUri": ls.spaces.uri(vault, path), "newUri": ls.spaces.uri(vault, target)}
    changes.append({"kind": "rename", **uris_})
    return server.workspace_edit(changes)


def _text_edits(ls: Server, vault: Vault, edits: list[Edit]) -> list[server.Plain]:
    """The edits by document; an editor refuses them if it has a newer version of one."""
    by_path: dict[str, list[server.Plain]] = {}
    for edit in edits:
        start = ls.units(edit.source, edit.start)
        end = ls.units(edit.source, edit.end)
        place = server.place(edit.line, start, edit.line, end)
        by_path.setdefault(edit.path, []).append({"range": place, "newText": edit.text})
    versions = {path: document.version for path, document in ls.open_notes(vault).items()}
    return [
        {
            "textDocument": {"uri": ls.spaces.uri(vault, path), "version": versions.get(path)},
            "edits": text_edits,
        }
        for path, text_edits in by_path.items()
    ]


async def will_rename(ls: Server, params: types.RenameFilesParams) -> server.Answer | None:
    """The edits of links for files and folders that the editor is about to rename.

    VS Code asks this also while it applies the edits of `rename_note`: no link needs one then.
    """
    changes: list[server.Plain] = []
    for file in params.files:
        old = ls.spaces.place(file.old_uri)
        new = ls.spaces.place(file.new_uri)
        if old is None or new is None or old.vault is not new.vault:
            continue
        await ls.loaded(old.vault)
        ls.take_edits(old.vault)
        old.vault.refresh(now=True)
        moves = moved_files(old.vault, old.path, new.path)
        changes += _text_edits(ls, old.vault, link_edits(old.vault, moves))
    return server.workspace_edit(changes) if changes else None


def on_edit(
    ls: Server, params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams
) -> None:
    ls.check_soon(params.text_document.uri)


def on_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    """The note on disk counts again, and what was said about the document is withdrawn."""
    place = ls.spaces.place(params.text_document.uri)
    if place:
        place.vault.release(place.path)
        ls.refresh()
    ls.text_document_publish_diagnostics(
        types.PublishDiagnosticsParams(params.text_document.uri, [])
    )


def on_files_change(ls: Server, _params: object) -> None:
    ls.refresh()


async def on_start(ls: Server, _params: types.InitializedParams) -> None:
    """Read the notes of the open folders, and ask to hear of changes on disk."""
    folders = [uris.to_fs_path(folder.uri) for folder in ls.workspace.folders.values()]
    ls.spaces.folders = [folder for folder in (*folders, ls.workspace.root_path) if folder]
    for folder in ls.spaces.folders:
        place = ls.spaces.place(uris.from_fs_path(f"{folder}/note.md") or "")
        if place:
            await ls.loaded(place.vault)
    workspace = ls.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if watched and watched.dynamic_registration:
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*")])
        registration = types.Registration(
            "kinen-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options
        )
        await ls.client_register_capability_async(types.RegistrationParams([registration]))


_RENAMES = types.FileOperationRegistrationOptions(
    [
        types.FileOperationFilter(
            types.FileOperationPattern(_GLOB, types.FileOperationPatternKind.File)
        ),
        types.FileOperationFilter(
            types.FileOperationPattern("**", types.FileOperationPatternKind.Folder)
        ),
    ]
)
FEATURES = (
    (types.INITIALIZED, on_start, None),
    (types.TEXT_DOCUMENT_DID_OPEN, on_edit, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, on_edit, None),
    (types.TEXT_DOCUMENT_DID_SAVE, on_files_change, None),
    (types.TEXT_DOCUMENT_DID_CLOSE, on_close, None),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, on_files_change, None),
    (types.WORKSPACE_DID_RENAME_FILES, on_files_change, _RENAMES),
    (types.WORKSPACE_WILL_RENAME_FILES, will_rename, _RENAMES),
    (
        types.TEXT_DOCUMENT_COMPLETION,
        complete,
        types.CompletionOptions(trigger_characters=["[", "#"]),
    ),
    (types.TEXT_DOCUMENT_DEFINITION, define, None),
    (types.TEXT_DOCUMENT_REFERENCES, refer, None),
    (types.TEXT_DOCUMENT_HOVER, hover, None),
    (types.TEXT_DOCUMENT_PREPARE_RENAME, prepare_rename, None),
    (types.TEXT_DOCUMENT_RENAME, rename_note, types.RenameOptions(prepare_provider=True)),
)


def serve(name: str = "") -> None:
    """Serve an editor on standard input and output until it closes them."""
    server = Server(name)
    for feature, handler, options in FEATURES:
        server.feature(feature, options)(handler)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_defect)
    # Only messages of the protocol may be on standard output: anything else goes to the log.
    with os.fdopen(os.dup(1), "wb") as output:
        os.dup2(2, 1)
        server.start_io(stdout=output)


def _is_defect(record: logging.LogRecord) -> bool:
    """Whether a failure is worth a line in the editor's log: a refusal is an answer."""
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, JsonRpcException) and error.code == REQUEST_FAILED)


def shortest_name(path: str, resolve: Resolve | None = None) -> str:
    """The file's name without suffix; if a link with it leads elsewhere, the whole path."""
    forms = (without_suffix(basename(path)), without_suffix(path), path)
    if resolve is None:
        return forms[0]
    ref = ref_of(path)
    return next((form for form in forms if resolve(Link(form)) == ref), path)


def without_suffix(path: str) -> str:
    """A path as a wiki link has it: `.mdx` stays."""
    return _SUFFIX.sub("", path)


def renamed_target(link: Link, from_path: str, path: str, names: Names) -> str:
    """What a link has to say to lead to a path, as near as possible to how it was written."""
    ref = ref_of(path)
    forms = list(_forms(link, from_path, path))
    links = ((form, link._replace(target=form)) for form in forms)
    return next((form for form, new in links if names.resolve(new, from_path) == ref), forms[-1])


def _forms(link: Link, from_path: str, path: str) -> Iterator[str]:
    """The ways to name a path, the most like the link first."""
    written = link.target
    named = path if _SUFFIX.search(written) or not link.wiki else without_suffix(path)
    beside = relpath(named, dirname(from_path) or ".")
    if written.startswith("/"):
        yield f"/{named}"
    elif written.startswith("./"):
        yield beside if beside.startswith("../") else f"./{beside}"
    elif written.startswith("../") or not link.wiki:
        yield beside
    else:
        depth = written.strip("/").count("/") + 1
        yield "/".join(named.split("/")[-depth:])
    yield from (named, path) if link.wiki else (beside, f"/{path}")


def heading_line(note: Note, heading: str) -> int:
    """The line of a heading, by its words or as an anchor; 1 if the note has no such heading."""
    last = folded(heading.rpartition("#")[2].strip())
    for spell in (folded, _anchor):
        for other in note.headings:
            if last and spell(other.text) == last:
                return other.line
    return 1


def first_passage(vault: Vault, note: Note, heading: str = "") -> str:
    """The title, the path and the first words of a note or section.

    Plain text: markdown of a note could have an editor load images from the network.
    """
    start = heading_line(note, heading) if heading else 1
    parsed = parse(vault.text(note.path)[:READ])
    blocks = (
        block
        for block in parsed.blocks
        if block.start_line >= start and block.kind not in ("heading", "rule", "html")
    )
    texts = (reading(block.text) for block in blocks)
    text = next((text for text in texts if text.strip()), "")
    lines = [excerpt(line, LONGEST) for line in text.split("\n")[:LINES]]
    title = f"{note.title} › {heading}" if start > 1 and heading else note.title
    parts = [visible_line(title), visible_line(note.path), "", visible("\n".join(lines))]
    return "\n".join(parts).rstrip()


def _anchor(text: str) -> str:
    """A heading as web pages and editors name it in a link."""
    return re.sub(r"[^\w\- ]", "", folded(text)).replace(" ", "-")


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
    # Between the `---` at the top and the next one, written yet or not.
    begun = row > 0 and bool(lines) and lines[0].rstrip() == "---"
    if begun and all(line.rstrip() != "---" for line in lines[1:row]):
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


def _key(lines: Sequence[str], row: int, before: str) -> str:
    """The key that a value at a place of the frontmatter belongs to."""
    for line in (before, *reversed(lines[1:row])):
        match = _KEY.match(line)
        if match:
            return match[1].lower()
    return ""


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
    references = [*vault.links_named(moves)]
    for old, new in moves.items():
        note = vault.note(old)
        if note and dirname(old) != dirname(new):  # its links by a relative path may break
            references += [Reference(note, n) for n in range(len(note.links))]
    before = [vault.resolve(reference.link, reference.note.path) for reference in references]
    edits: list[Edit] = []
    targets: dict[tuple[str, bool, str, str], str] = {}
    """What a link has to say to lead to a ref; what it says now if it does already."""
    with vault.moved(moves) as names:
        for reference, old_ref in zip(references, before, strict=True):
            link = reference.link
            here = moves.get(reference.note.path, reference.note.path)
            ref = refs.get(old_ref, old_ref)
            if not path_of(ref) or not link.target:
                continue
            key = (link.target, link.wiki, dirname(here), ref)
            if key not in targets:
                right = names.resolve(link, here) == ref
                targets[key] = (
                    link.target if right else renamed_target(link, here, path_of(ref), names)
                )
            target = targets[key]
            if target != link.target and link.wiki:
                edits += _wiki_edit(reference, target)
            elif target != link.target:
                edits += _path_edit(vault, reference, target)
    # Several links may refer to one definition.
    return list({(edit.path, edit.line, edit.start): edit for edit in edits}.values())


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
        matches = [*_DESTINATION.finditer(source, first, span.end_column)][-1:]
        places = [(span.end_line, match) for match in matches]
    else:
        lines = enumerate(split_lines(vault.text(note.path)), 1)
        places = [(n, match) for n, line in lines if (match := _DEFINITION.match(line))]
    for number, match in places:
        group = 1 if match[1] is not None else 2
        path = re.split(r"[#?]", match[group], maxsplit=1)[0]
        if unquote(path).strip() == reference.link.target:
            start = match.start(group)
            text = target if group == 1 else quote(target, safe=_SAFE)
            yield Edit(note.path, number, start, start + len(path), text, match.string)


def name_span(reference: Reference) -> Span:
    """The part of a link that is its target, as an editor marks it for a rename."""
    edit = next(_wiki_edit(reference, ""), None) if reference.link.wiki else None
    if edit is None:
        return reference.span
    return Span(edit.line, edit.start, edit.line, edit.end)
