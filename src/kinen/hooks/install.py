"""Installs hooks, MCP servers, plugins, commands and rules in the settings of an agent.

What goes where is in the descriptions of `agents/clients/`. Settings are edited as text, so that
other entries and comments stay to the byte, and what comes out is parsed before it is written. The
text before the last install or uninstall is kept in kinen's home.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from kinen.agents.client import Client, Setting, clients
from kinen.errors import KinenError, QueryError, SpaceError
from kinen.hooks import entries as ours
from kinen.hooks.forms import (
    FORMS,
    Keys,
    has,
    put_block,
    value_at,
    with_values,
    without_block,
    without_value,
)
from kinen.model.tuples import NamedTuple
from kinen.paths import default_home
from kinen.storage import atomic, inside, private, regular
from kinen.text import digest, excerpt

LARGEST = 16 << 20
"""Bytes of a file of settings."""
AGENTS = clients()


class Place(NamedTuple):
    """A file of an agent's settings, and the parts of it that are ours."""

    file: str
    parts: tuple[Setting, ...]
    root: str = ""
    """The project that the file belongs to and may not lead out of; empty for the user's own."""

    @property
    def form(self) -> str:
        return self.parts[0].form


class Done(NamedTuple):
    """One file, and what was done to it."""

    path: str
    done: str
    """`installed`, `updated`, `unchanged`, `removed`, `not installed`; `kept` if it is not ours."""
    before: str
    """Its text; empty where there was no file."""
    after: str
    backup: str = ""
    root: str = ""
    """The project that it may not lead out of; empty for the user's own."""
    part: str = ""
    """What is in it, in words."""
    form: str = "json"


def install(name: str, scope: str, here: str, *, dry_run: bool = False) -> list[Done]:
    """Put our entries into all files of a scope; if one of them is broken, into none."""
    agent, places = _places(name, scope, here)
    before_tools = bool(agent.before_tools) and _asks_before_tools(here)
    line = ours.command(shared=scope == "project")
    plans = [
        _planned(place, agent, ours.written(agent, place.parts, line, before_tools=before_tools))
        for place in places
    ]
    for plan in plans if not dry_run else ():
        if plan.before != plan.after:
            _write(plan)
    return plans


def uninstall(name: str, scope: str, here: str, *, dry_run: bool = False) -> list[Done]:
    """Remove our entries; a file that did not exist before is deleted."""
    agent, places = _places(name, scope, here)
    if name == "codex" and scope == "user" and not dry_run:
        from kinen.hooks.trust import withdraw

        withdraw(folder_of(agent))
    plans = []
    for place in places:
        text = _read(place)
        bare = _without(place, agent, text)
        done = "removed" if bare != text else "not installed"
        words = ours.in_words(place.parts)
        backup = backup_path(place.file)
        plans.append(Done(place.file, done, text, bare, backup, place.root, words, place.form))
    for plan in plans if not dry_run else ():
        if plan.before != plan.after:
            _restore(plan)
    return plans


def plugin_folder(name: str) -> str:
    """The folder of the equivalent plugin."""
    return ours.shipped(_agent(name).plugin)


def folder_of(agent: Client) -> str:
    """The folder of an agent in the user's home, whether it is there or not."""
    return ours.locations(agent, os.getcwd())["config"]


def _agent(name: str) -> Client:
    if name not in AGENTS:
        raise QueryError(f"no agent {name!r}", "use one of " + ", ".join(AGENTS))
    return AGENTS[name]


def places_of(name: str, scope: str, here: str) -> list[Place]:
    """The files of a scope, each once, with what is ours in it."""
    return _places(name, scope, here)[1]


def _places(name: str, scope: str, here: str) -> tuple[Client, list[Place]]:
    """The files of a scope, each once."""
    agent = _agent(name)
    if scope not in agent.scopes:
        scopes = ", ".join(agent.scopes)
        raise QueryError(f"{agent.title} has no settings of the scope {scope!r}", f"use {scopes}")
    names = ours.locations(agent, here)
    places: dict[str, Place] = {}
    for setting in agent.scopes[scope]:
        keys = tuple(str(key).format(**names) for key in setting.keys)
        file = os.path.normpath(setting.file.format(**names))
        root = names["top"] if setting.file.startswith("{top}") else ""
        parts = places[file].parts if file in places else ()
        resolved = Setting(setting.part, file, keys, setting.form)
        places[file] = Place(file, (*parts, resolved), root)
    return agent, list(places.values())


def _asks_before_tools(here: str) -> bool:
    """Whether `hooks.before_tools` is set for the space of a folder, or for all of them."""
    from kinen import config
    from kinen.space import find

    home = default_home(os.environ)
    try:
        root = find.find(here, home=home).root
    except SpaceError:
        root = here
    return config.load(home, root).hooks.before_tools


def _planned(place: Place, agent: Client, written: Mapping[Keys, Any] | str) -> Done:
    text = _read(place)
    words = ours.in_words(place.parts)
    new: str | None
    if place.form == "block" and isinstance(written, str):
        new = put_block(text, written)
    elif isinstance(written, str):  # a file that is all ours, unless somebody else's is there
        new = None if text and ours.MARK not in text else written
    else:
        # Refuse settings with a value of another type where our entries go.
        settings = FORMS[place.form].parse(text, place.file)
        for path in written:
            for n, key in enumerate(path):
                there = value_at(settings, path[:n]) if n else settings
                if there is not None and not isinstance(there, list if key is None else dict):
                    where = ".".join(map(str, path[:n]))
                    fact = f"cannot add to {place.file}: {where} is {excerpt(repr(there), 40)}"
                    raise KinenError(fact, "fix it first")
        new = _with_entries(place, agent, text, written)
    if new is None:  # another has our name
        return Done(place.file, "kept", text, text, root=place.root, part=words)
    if new == text:
        return Done(place.file, "unchanged", text, text, part=words)
    done = "updated" if (_without(place, agent, text) != text) else "installed"
    backup = backup_path(place.file)
    return Done(place.file, done, text, new, backup, place.root, words, place.form)


def _with_entries(
    place: Place, agent: Client, text: str, written: Mapping[Keys, Any]
) -> str | None:
    form = FORMS[place.form]
    settings = form.parse(text, place.file)
    present = ours.present(place.parts, settings)
    foreign = [
        path for path in written if path not in present and value_at(settings, path) is not None
    ]
    additions = {path: value for path, value in written.items() if path not in foreign}
    if not additions:
        return None
    if ours.values(settings, present) == additions:
        return text
    return _added(place, agent, _without(place, agent, text), additions)


def _added(place: Place, agent: Client, text: str, additions: Mapping[Keys, Any]) -> str:
    """The text of a file with entries; that of a new one where there is none."""
    form = FORMS[place.form]
    defaults = dict(agent.defaults) if ours.has_hooks(place.parts) and not text else {}
    entries: dict[Keys, Any] = {(key,): value for key, value in defaults.items()}
    entries |= additions
    new = text = text or form.empty
    for path, value in entries.items():
        new = form.put(new, path, value)
    return form.check(new, place.file, with_values(form.parse(text, place.file), entries))


def _without(place: Place, agent: Client, text: str) -> str:
    """The text as it is now without our entries, and without containers that they were put into.

    If nothing else was written since the install, that is the text from before, to the byte.
    """
    if place.form == "block":
        return without_block(text)
    if place.form == "file":
        return "" if ours.MARK in text else text
    form = FORMS[place.form]
    settings = form.parse(text, place.file)
    paths = ours.present(place.parts, settings)
    if not paths:
        return text
    before = _before(place.file, place.form)
    if before is not None and _is_as_installed(place, agent, text, before):
        return before
    was = form.parse(before or "", "")
    bare = text
    for path in reversed(paths):
        bare = form.drop(bare, path)
        settings = without_value(settings, path)
        for n in range(len(path) - 1, 0, -1):
            outer = path[:n]
            left = value_at(settings, outer)
            if left and not (isinstance(left, dict) and left.keys() == {"matcher"}):
                break
            if has(was, outer) and not any(isinstance(key, int) for key in outer):
                if not value_at(was, outer):  # it was empty, or null
                    bare = form.restored(bare, outer, before or "")
                    settings = with_values(settings, {outer: value_at(was, outer)})
                break
            if value_at(form.parse(bare, place.file), outer) is not None:
                bare = form.drop(bare, outer)
            settings = without_value(settings, outer)
    if before == "" and form.is_bare(bare, _added(place, agent, "", {})):
        return ""
    return form.check(bare, place.file, settings)


def _is_as_installed(place: Place, agent: Client, text: str, before: str) -> bool:
    """Whether a text is what our entries make of the text from before."""
    settings = FORMS[place.form].parse(text, place.file)
    held = ours.values(settings, ours.present(place.parts, settings))
    try:
        return _added(place, agent, before, held) == text
    except (KinenError, AttributeError, TypeError):  # they do not fit into it
        return False


def _read(place: Place) -> str:
    """The text of a file of settings, empty if there is none; refused unless it can be parsed.

    With a root, the file may not lead out of it.
    """
    path = place.file
    try:
        if place.root:
            data = inside.read(place.root, os.path.relpath(path, place.root), LARGEST)
        else:
            data = regular.read(path, LARGEST)
        text = data.decode()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise KinenError(f"cannot read {path}: {error}", "nothing was written") from None
    if not text and FORMS.get(place.form, FORMS["toml"]).empty:
        raise KinenError(f"{path} is empty", "remove it; nothing was written")
    if place.form in FORMS:
        FORMS[place.form].parse(text, path)
    return text


def backup_path(path: str) -> str:
    """The file in kinen's home that belongs to a file of settings."""
    name = f"{digest(os.path.realpath(path))[:8]}-{os.path.basename(path).lstrip('.')}"
    return os.path.join(default_home(os.environ), "backups", name)


def _before(path: str, form: str) -> str | None:
    """The text of a file before the install, empty if there was none; None if unknown."""
    try:
        text = private.read(backup_path(path)).decode()
        return None if ours.any_present(form, text) else text
    except (OSError, UnicodeDecodeError, KinenError):
        return None


def _write(plan: Done) -> None:
    try:
        if not ours.any_present(plan.form, plan.before):
            private.write(plan.backup, plan.before)
        made = _made()
        path = os.path.realpath(plan.path)
        while path and not os.path.lexists(path):  # the file and the folders that it needs
            made.add(path)
            path = os.path.dirname(path)
        _note_made(made)
        _replace(plan)
        if not plan.before and plan.path.endswith(".claude.json"):
            os.chmod(plan.path, 0o600)  # the client keeps more in it later on
    except OSError as error:
        raise _unwritable(plan.path, error) from None


def _replace(plan: Done) -> None:
    if plan.root:
        inside.replace(plan.root, os.path.relpath(plan.path, plan.root), plan.after.encode())
    else:
        atomic.write(plan.path, plan.after)


def _restore(plan: Done) -> None:
    """Write the text without our entries; the one with them is kept until the next install."""
    try:
        if not ours.any_present(plan.form, plan.after):
            private.write(plan.backup, plan.before)
        target = os.path.realpath(plan.path)  # a link to it stays
        may_be_empty = plan.form == "block" or (plan.form in FORMS and not FORMS[plan.form].empty)
        if plan.after or (may_be_empty and target not in _made()):
            _replace(plan)
        else:
            os.unlink(target)
            # Remove the folders above a file that is gone, those that an install made and are
            # empty.
            paths = _made() - {target}
            folder = os.path.dirname(target)
            while folder in paths:
                try:
                    os.rmdir(folder)
                except OSError:
                    break
                paths.remove(folder)
                folder = os.path.dirname(folder)
            _note_made(paths)
    except OSError as error:
        raise _unwritable(plan.path, error) from None


def _note() -> str:
    return os.path.join(default_home(os.environ), "backups", "folders")


def _made() -> set[str]:
    """The files and folders that installs made, so that an uninstall removes them and no others."""
    try:
        return set(private.read(_note()).decode().splitlines())
    except OSError:
        return set()


def _note_made(paths: set[str]) -> None:
    if paths:
        private.write(_note(), "\n".join(sorted(paths)))
    elif os.path.exists(_note()):
        os.unlink(_note())


def _unwritable(path: str, error: OSError) -> KinenError:
    return KinenError(f"cannot write {path}: {error.strerror}", "check who may write there")
