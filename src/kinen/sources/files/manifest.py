"""`resources/.resources.yml`: tags and notes on resources."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from kinen.errors import ConfigError, UnsafeFile
from kinen.model.tuples import NamedTuple
from kinen.privacy import entrance
from kinen.sources.files.layout import MANIFEST
from kinen.storage import inside, regular
from kinen.text import digest
from kinen.text.frontmatter import load_yaml

Entry = tuple[tuple[str, ...], str]


LARGEST = 4 << 20
"""Bytes of a manifest that are read."""


class Manifest(NamedTuple):
    """The entries of a manifest by path in the space."""

    entries: Mapping[str, Entry] = {}
    digest: str = ""
    problem: str = ""

    @classmethod
    def read(cls, root: str) -> Manifest:
        """The manifest of a space; what is wrong with it is in `problem`, never raised."""
        try:
            data = inside.read(root, MANIFEST, LARGEST)
        except OSError:
            return cls()
        except UnsafeFile as error:
            return cls({}, digest(error.message), error.message)
        try:
            entries = parse(data.decode("utf-8-sig"))
        except (ValueError, UnicodeDecodeError) as error:
            return cls({}, digest(data), f"invalid manifest: {error}")
        return cls(entries, digest(data))

    def of(self, path: str) -> Entry:
        return self.entries.get(path, ((), ""))


def parse(text: str) -> dict[str, Entry]:
    """The entries of a manifest by path in the space; raises ValueError."""
    try:
        loaded = load_yaml(text)
    except Exception as error:
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"invalid YAML at line {mark.line + 1}" if mark else str(error)) from error
    rows = loaded.get("resources", []) if isinstance(loaded, dict) else loaded or []
    if not isinstance(rows, list):
        raise ValueError("`resources` is not a list")  # noqa: TRY004
    return dict(_entry(row) for row in rows if isinstance(row, dict) and row.get("path"))


def _entry(row: dict[str, Any]) -> tuple[str, Entry]:
    tags = row.get("tags") or []
    if isinstance(tags, str):
        tags = tags.replace(",", " ").split()
    note = row.get("notes") or row.get("note") or ""
    path = str(row["path"]).removeprefix("./").removeprefix("resources/")
    return f"resources/{path}", (tuple(str(tag).lstrip("#") for tag in tags), str(note))


def with_entry(text: str, path: str, tags: tuple[str, ...], note: str) -> str:
    """The text of the manifest with an entry appended; the rest stays as it is."""
    inside = path.removeprefix("resources/")
    lines = [f"  - path: {json.dumps(inside, ensure_ascii=False)}"]
    if tags:
        lines.append(f"    tags: {json.dumps(list(tags), ensure_ascii=False)}")
    if note:
        lines.append(f"    notes: {json.dumps(note, ensure_ascii=False)}")
    head = text if text.strip() else "resources:\n"
    added = head.rstrip("\n") + "\n" + "\n".join(lines) + "\n"
    try:
        entry = parse(added).get(f"resources/{inside}")
    except ValueError:
        entry = None
    if entry != (tags, note):
        raise ConfigError(
            f"cannot add to {MANIFEST}: its layout is unusual", "add the entry by hand"
        )
    return added


_FOLDERS = {
    **dict.fromkeys((".pdf", ".epub"), "papers"),
    **dict.fromkeys((".csv", ".tsv", ".json", ".jsonl", ".parquet", ".sqlite", ".db"), "data"),
    **dict.fromkeys((".py", ".js", ".ts", ".go", ".rs", ".java", ".c", ".sh", ".sql"), "examples"),
}


def add(root: str, file: str, to: str, tags: tuple[str, ...], note: str) -> Addition:
    """Copy a file into resources/ and record its tags."""
    entry = _new_entry(root, os.path.basename(file), to, tags, note)
    new = _copy(root, file, entry.path)
    entry.write(root)
    return Addition(entry.path, new)


def add_data(
    root: str, name: str, data: bytes, to: str, tags: tuple[str, ...], note: str
) -> Addition:
    """Write a file with this content into resources/."""
    entry = _new_entry(root, name, to, tags, note)
    new = inside.create(root, entry.path, data)
    if not new and inside.read(root, entry.path, len(data) + 1, cut=True) != data:
        raise ConfigError(
            f"{entry.path} exists with other content",
            f"`kinen resources remove {entry.path}` removes it",
        )
    entry.write(root)
    return Addition(entry.path, new)


class Addition(NamedTuple):
    """A resource that was added: its path in the space, and whether the file is new there."""

    path: str
    new: bool


class _NewEntry(NamedTuple):
    path: str
    manifest: str
    """The new text of the manifest; empty if it stays as it is."""

    def write(self, root: str) -> None:
        if self.manifest:
            inside.replace(root, MANIFEST, self.manifest.encode())


def _new_entry(root: str, name: str, to: str, tags: tuple[str, ...], note: str) -> _NewEntry:
    """Where a file goes, and what the manifest will say about it."""
    note = entrance.name(note)
    tags = tuple(tag.lstrip("#") for tag in entrance.names(tags))
    to = entrance.name(to)
    folder = to.strip("/") or _FOLDERS.get(os.path.splitext(name)[1].lower(), "docs")
    target = os.path.normpath(os.path.join("resources", folder, name)).replace(os.sep, "/")
    if not target.startswith("resources/"):
        raise ConfigError(f"{to} is outside resources/", "name a folder below it", parameter="to")
    text = _manifest_text(root) if tags or note else ""
    changed = ""
    if (tags or note) and _entries(text).get(target) != (tags, note):
        changed = with_entry(without_entry(text, target), target, tags, note)
    return _NewEntry(target, changed)


def remove(root: str, path: str) -> None:
    """Delete a file of resources/ and its entry in the manifest."""
    text = _manifest_text(root)
    changed = without_entry(text, path)
    inside.remove(root, path)
    if changed != text:
        inside.replace(root, MANIFEST, changed.encode())


def without_entry(text: str, path: str) -> str:
    """The text of the manifest without the entries of a file; the rest stays as it is."""
    entries = _entries(text)
    if path not in entries:
        return text
    lines = text.splitlines(keepends=True)
    for begin, end in reversed(list(_rows(text, path))):
        del lines[begin:end]
    changed = "".join(lines)
    expected = {name: entry for name, entry in entries.items() if name != path}
    if changed.strip() in ("resources:", ""):
        return ""
    if _entries(changed) != expected:
        raise ConfigError(
            f"cannot remove {path} from {MANIFEST}: its layout is unusual", "remove it by hand"
        )
    return changed


def _rows(text: str, path: str) -> Iterator[tuple[int, int]]:
    """The first line, and the line after the last, of each entry of a file."""
    import yaml

    root = yaml.compose(text, Loader=yaml.SafeLoader)
    nodes = [root]
    if isinstance(root, yaml.MappingNode):
        nodes = [value for key, value in root.value if key.value == "resources"]
    for node in nodes:
        for row in node.value if isinstance(node, yaml.SequenceNode) else ():
            values = yaml.SafeLoader("").construct_document(row)
            if isinstance(values, dict) and values.get("path") and _entry(values)[0] == path:
                last = row.end_mark
                yield row.start_mark.line, last.line + bool(last.column)


def _manifest_text(root: str) -> str:
    try:
        return inside.read(root, MANIFEST, LARGEST).decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise ConfigError(f"{MANIFEST} is not UTF-8 text", "save it as UTF-8") from None


def _copy(root: str, file: str, target: str) -> bool:
    """Copy a file from anywhere into the space; False if it is there with the same content."""
    source = regular.open_file(file)
    try:
        if inside.create(root, target, _pieces(source), os.fstat(source)):
            return True
        os.lseek(source, 0, os.SEEK_SET)
        other = inside.open_file(root, target)
        try:
            pairs = zip_longest(_pieces(source), _pieces(other))
            equal = all(ours == theirs for ours, theirs in pairs)
        finally:
            os.close(other)
    finally:
        os.close(source)
    if not equal:
        raise ConfigError(f"{target} exists with other content", "rename one of them")
    return False


def _pieces(file: int) -> Iterator[bytes]:
    while piece := os.read(file, regular.PIECE):
        yield piece


def _entries(text: str) -> dict[str, Entry]:
    try:
        return parse(text)
    except ValueError as error:
        raise ConfigError(f"{MANIFEST}: {error}", "fix it first") from error
