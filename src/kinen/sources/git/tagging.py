"""How the history of a repository is tagged: tags from paths, and the paths left out."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from operator import methodcaller
from typing import Any

from kinen import config
from kinen.config import file as configfile
from kinen.config.keys import ROWS, GitSection
from kinen.config.values import untrusted_value
from kinen.errors import ConfigError
from kinen.model.tuples import NamedTuple
from kinen.sources.files.ignore import Patterns
from kinen.text import digest
from kinen.text.frontmatter import unique

Words = tuple[str, ...]


KISTE = ".kiste.yaml"
VARP = "varp.yaml"
MOST_TAGS = 8
MOST_NOTES = 10
DEEPEST = 200
"""Folders of a path whose parents are checked too: the check is recursive."""
_FOLDER = re.compile(r"/?([^!#*?\[\\/][^*?\[\\]*/)\*\*")


class Rules(NamedTuple):
    """How paths become tags, which paths are left out, and notes on what could not be read."""

    strip_prefixes: Words
    stop_tags: Words
    exclude: Words
    snapshot_frequency: int
    components: tuple[tuple[str, Words], ...]
    notes: Words = ()


def read_rules(root: str, section: GitSection, sources: Mapping[str, str]) -> Rules:
    """The rules of the configuration; for keys it does not set, those of the repository's files."""
    notes: list[str] = []
    values: dict[str, Any] = section._asdict()
    for key, value, line in _settings(_read(root, KISTE, notes), notes):
        if f"git.{key}" not in sources:
            values[key] = untrusted_value(ROWS[f"git.{key}"], value, values[key])
            if values[key] != value:
                hint = f"`kinen config set git.{key}` replaces it"
                notes.append(f"{key} in {KISTE}:{line} is only added to the default: {hint}")
    if "git.components" not in sources:
        values["components"] = tuple(_components(_read(root, VARP, notes), notes))
    return Rules(**values, notes=tuple(notes[:MOST_NOTES]))


def _read(root: str, name: str, notes: list[str]) -> dict[str, Any]:
    """The keys of a file with their lines; what is wrong in a repository's file is only noted."""
    file = os.path.join(root, name)
    try:
        text = configfile.source_text(file, root)
        return configfile.parse(text, name) if text else {}  # importing YAML is slow
    except ConfigError as error:
        notes.append(f"{error.message}; ignored")
    return {}


def _settings(values: dict[str, Any], notes: list[str]) -> Iterator[tuple[str, Any, int]]:
    for dotted, (raw, line) in values.items():
        try:
            if dotted.partition(".")[0] not in Rules._fields[:4]:
                hint = " (index.path says where an index is)" if dotted == "db_path" else ""
                notes.append(f"unknown key {dotted} in {KISTE}:{line}; ignored{hint}")
            elif raw is not None:
                value = config.value_of(f"git.{dotted}", raw, f"{KISTE}:{line}")
                yield dotted, value, line
        except ConfigError as error:
            notes.append(f"{error.message}; ignored")


def _components(values: dict[str, Any], notes: list[str]) -> Iterator[tuple[str, Words]]:
    parts: dict[str, tuple[dict[str, Any], int]] = {}
    for dotted, (raw, line) in values.items():
        name, _, key = dotted.rpartition(".")
        if dotted.startswith("components.") and isinstance(raw, dict):  # the older form
            parts[dotted.removeprefix("components.")] = (raw, line)
        elif "varp" not in (name, dotted):  # the version of the file
            parts.setdefault(name or key, ({}, line))[0][key] = raw
    for name, (component, line) in parts.items():
        paths = _texts(component.get("path") or component.get("paths"))
        tags = _texts(component.get("tags", []))
        globs = [_below(path) for path in paths or [""]]
        if tags is None or not all(globs):
            notes.append(f"{VARP}:{line}: {name} needs paths in the repository and a list of tags")
        yield from ((glob, unique((name, *(tags or ())))) for glob in globs if glob)


def _texts(raw: Any) -> list[str] | None:
    """A text or a list of texts as a list, None for anything else."""
    if isinstance(raw, str):
        return [raw]
    return raw if isinstance(raw, list) else None


def _below(path: str) -> str:
    """The glob for everything below a path; empty if the path leads out of the root."""
    clean = posixpath.normpath(path.replace("\\", "/"))
    if not path or "\n" in path or re.match(r"[/~]|.:|\.\.(/|$)", clean):
        return ""
    # A folder may be called `[slug]`, but `*` always means a glob.
    return "**" if clean == "." else re.sub(r"^[!#]|\[", r"\\\g<0>", clean) + "/**"


def folder_tags(path: str, rules: Rules) -> Words:
    """The folders of a path as tags: `src/auth/session/a.ts` → auth, session."""
    dropped = set(map(str.lower, rules.strip_prefixes + rules.stop_tags))
    folders = (folder for folder in path.lower().split("/")[:-1] if folder not in dropped)
    return unique("-".join(folder.replace(",", " ").split()) for folder in folders)


class Tagger:
    """Applies the rules to the paths of a history."""

    def __init__(self, rules: Rules) -> None:
        stop = set(map(str.lower, rules.stop_tags))
        parts = [(glob, sorted({*map(str.lower, tags)} - stop)) for glob, tags in rules.components]
        self._folder = cache(lambda folder: tuple(sorted(folder_tags(f"{folder}/", rules))))
        self._components = [(_matcher((glob,)), tags) for glob, tags in parts]
        self.excluded = _matcher(rules.exclude)
        self.digest = digest(repr((sorted(rules.strip_prefixes), sorted(stop), sorted(parts))))
        self.exclude_digest = digest(repr(rules.exclude))

    def derived(self, path: str) -> Words:
        """The tags of a path by its folders and components, sorted."""
        by_folder = self._folder(path.rpartition("/")[0])
        by_component = self._tags_of_components(path) if self._components else None
        return tuple(sorted(by_component.union(by_folder))) if by_component else by_folder

    def component_tags(self, paths: Iterable[str]) -> Words:
        """Tags to suggest for a commit to these paths, the most frequent first."""
        paths = tuple(paths)
        count = Counter(tag for path in paths for tag in self._tags_of_components(path))
        if not count:
            count = Counter(tag for path in paths for tag in self._folder(posixpath.dirname(path)))
        return tuple(sorted(count, key=lambda tag: (-count[tag], tag))[:MOST_TAGS])

    def _tags_of_components(self, path: str) -> set[str]:
        return {tag for covers, tags in self._components if covers(path) for tag in tags}


def _matcher(globs: Words) -> Callable[[str], bool]:
    """A function: do globs as in .gitignore match a path, or a folder above it?"""
    if len(globs) == 1 and (whole := _FOLDER.fullmatch(globs[0])):
        return methodcaller("startswith", whole[1])
    patterns = Patterns("\n".join(globs).encode("utf-8", "surrogateescape"))

    @cache
    def match(path: str, folder: bool = False) -> bool:
        above, _, name = path.rpartition("/")
        inside = above and path.count("/") < DEEPEST and match(above, True)
        return bool(inside or patterns.verdict(path, name, folder))

    return match
