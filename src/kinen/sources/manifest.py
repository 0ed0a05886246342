"""`resources/.resources.yml`: tags and notes on resources, read and added to."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.config import write_atomic
from kinen.errors import ConfigError
from kinen.sources.frontmatter import load_yaml
from kinen.sources.layout import MANIFEST
from kinen.text import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    Entry = tuple[tuple[str, ...], str]


class Manifest(NamedTuple):
    """What the manifest says, by path in the space."""

    entries: Mapping[str, Entry] = {}
    digest: str = ""
    problem: str = ""

    @classmethod
    def read(cls, root: str) -> Manifest:
        """The manifest of a space; one that cannot be read is a problem to show, never an error."""
        try:
            with open(os.path.join(root, MANIFEST), "rb") as file:
                data = file.read(4 << 20)
        except OSError:
            return cls()
        try:
            entries = parse(data.decode("utf-8-sig"))
        except (ValueError, UnicodeDecodeError) as error:
            return cls({}, digest(data), f"broken manifest: {error}")
        return cls(entries, digest(data))

    def of(self, path: str) -> Entry:
        return self.entries.get(path, ((), ""))


def parse(text: str) -> dict[str, Entry]:
    """The manifest's entries by path in the space; ValueError says what is wrong."""
    try:
        loaded = load_yaml(text)
    except Exception as error:
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"no YAML at line {mark.line + 1}" if mark else str(error)) from error
    rows = loaded.get("resources", []) if isinstance(loaded, dict) else loaded or []
    if not isinstance(rows, list):
        raise ValueError("`resources` is no list")  # noqa: TRY004
    return dict(_entry(row) for row in rows if isinstance(row, dict) and row.get("path"))


def _entry(row: dict[str, Any]) -> tuple[str, Entry]:
    tags = row.get("tags") or []
    if isinstance(tags, str):
        tags = tags.replace(",", " ").split()
    note = row.get("notes") or row.get("note") or ""
    path = str(row["path"]).removeprefix("./").removeprefix("resources/")
    return f"resources/{path}", (tuple(str(tag).lstrip("#") for tag in tags), str(note))


def with_entry(text: str, path: str, tags: tuple[str, ...], note: str) -> str:
    """The manifest with one more entry, everything that was there left as it is."""
    inside = path.removeprefix("resources/")
    lines = [f"  - path: {json.dumps(inside, ensure_ascii=False)}"]
    if tags:
        lines.append(f"    tags: {json.dumps(list(tags), ensure_ascii=False)}")
    if note:
        lines.append(f"    notes: {json.dumps(note, ensure_ascii=False)}")
    head = text if text.strip() else "resources:\n"
    added = head.rstrip("\n") + "\n" + "\n".join(lines) + "\n"
    try:
        took = parse(added).get(f"resources/{inside}")
    except ValueError:
        took = None
    if took != (tags, note):
        raise ConfigError(
            f"cannot add to {MANIFEST}", "its layout is unusual: add the entry by hand"
        )
    return added


_FOLDERS = {
    **dict.fromkeys((".pdf", ".epub"), "papers"),
    **dict.fromkeys((".csv", ".tsv", ".json", ".jsonl", ".parquet", ".sqlite", ".db"), "data"),
    **dict.fromkeys((".py", ".js", ".ts", ".go", ".rs", ".java", ".c", ".sh", ".sql"), "examples"),
}


def add(root: str, file: str, to: str, tags: tuple[str, ...], note: str) -> str:
    """Copy a file into resources/ and note its tags; gives its path in the space."""
    name = os.path.basename(file)
    folder = to.strip("/") or _FOLDERS.get(os.path.splitext(name)[1].lower(), "docs")
    target = os.path.normpath(os.path.join("resources", folder, name)).replace(os.sep, "/")
    if not target.startswith("resources/"):
        raise ConfigError(f"--to {to} leads out of resources/", "name a folder below it")
    full = os.path.join(root, target)
    if not (os.path.exists(full) and os.path.samefile(full, file)):
        _copy(file, full, target)
    if tags or note:
        manifest = os.path.join(root, MANIFEST)
        text = ""
        if os.path.exists(manifest):
            with open(manifest, encoding="utf-8-sig") as opened:
                text = opened.read()
        tags = tuple(tag.lstrip("#") for tag in tags)
        if _entries(text).get(target) != (tags, note):
            write_atomic(manifest, with_entry(text, target, tags, note))
    return target


def _copy(file: str, full: str, target: str) -> None:
    import shutil

    if os.path.exists(full):
        import filecmp

        if filecmp.cmp(file, full, shallow=False):
            return
        raise ConfigError(f"{target} is there already, with other content", "rename one of them")
    os.makedirs(os.path.dirname(full), exist_ok=True)
    temporary = f"{full}.{os.getpid()}.tmp"
    try:
        shutil.copy2(file, temporary)
        os.replace(temporary, full)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _entries(text: str) -> dict[str, Entry]:
    try:
        return parse(text)
    except ValueError as error:
        raise ConfigError(f"{MANIFEST}: {error}", "mend it first") from error
