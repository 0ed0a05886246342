"""Defaults < user file < space file < KINEN_* < flags → one frozen Config.

A space's file that is not trusted counts only as far as the mark of each key allows.
"""

from __future__ import annotations

import os

from kinen.config import file as configfile
from kinen.config.file import settings
from kinen.config.keys import (
    PERSONAL,
    ROWS,
    SECTIONS,
    Config,
    Row,
    SpaceSection,
    clean_name,
)
from kinen.config.values import check_globs, misfit_glob, parse_value, to_raw, untrusted_value
from kinen.errors import ConfigError
from kinen.paths import user_file
from kinen.space.repository import main_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from kinen.config.file import Path, Raw, Settings


def space_file(root: Path) -> str:
    """The config file of a space; a linked worktree without one has that of the main tree."""
    file = os.path.join(root, ".kinen", "config.yml")
    if os.path.lexists(file):
        return file
    return os.path.join(main_folder(os.fspath(root)), ".kinen", "config.yml")


def load(
    home: Path,
    space_root: Path | None = None,
    env: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Config:
    """All layers merged and checked; an override that is None does not count."""
    env = os.environ if env is None else env
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    ignored: dict[str, object] = {}
    warnings: list[str] = []

    def before(dotted: str) -> Any:
        return values[dotted] if dotted in values else ROWS[dotted].default

    def layered(dotted: str, raw: Raw, source: str, base: str = "") -> Any:
        row = ROWS[dotted]
        value = parse_value(row, raw, source, base)
        if row.kind == "globs":
            warnings.extend(_unmatchable(dotted, value, source, space_root))
            # Each layer adds: a file that came by `git clone` must not open what was closed.
            value = tuple(dict.fromkeys((*before(dotted), *value)))
        return value

    def put(dotted: str, raw: Raw, source: str, base: str = "") -> None:
        values[dotted] = layered(dotted, raw, source, base)
        sources[dotted] = source

    user = user_file(env)
    for dotted, (raw, line) in settings(home, user, warnings)[0].items():
        if dotted in ("space.id", "space.name"):
            hint = "set it in .kinen/config.yml of that space"
            raise ConfigError(f"{dotted} belongs to a single space: {user}:{line}", hint)
        put(dotted, raw, f"{user}:{line}", os.path.dirname(user))
    if space_root is not None:
        file = space_file(space_root)
        own, digest = settings(home, file, warnings)
        own = _impersonal(own, file, user, warnings)
        base = os.fspath(space_root)
        trusted = {
            dotted: layered(dotted, raw, f"{file}:{line}", base)
            for dotted, (raw, line) in own.items()
        }
        allowed = {
            dotted: untrusted_value(ROWS[dotted], value, before(dotted))
            for dotted, value in trusted.items()
        }
        if allowed != trusted and not _trusted(home, file, digest):
            ignored = {key: value for key, value in trusted.items() if allowed[key] != value}
            trusted = {
                dotted: value
                for dotted, value in allowed.items()
                if dotted not in ignored or value != before(dotted)
            }
        values.update(trusted)
        sources.update((dotted, f"{file}:{own[dotted][1]}") for dotted in trusted)
    for dotted, raw, variable in _from_variables(env):
        put(dotted, raw, variable)
    for dotted, value in (overrides or {}).items():
        _row(dotted, "flags")
        if value is not None:
            put(dotted, to_raw(value), "flag")
    return _build(values, ignored, sources)._replace(warnings=tuple(warnings))


def _trusted(home: Path, file: Path, digest: str) -> bool:
    """Whether the user trusts a file with these bytes; few spaces have one that asks for it."""
    from kinen.config.trust import trusts

    return trusts(home, file, digest)


def _unmatchable(
    dotted: str, globs: Iterable[str], source: str, space_root: Path | None
) -> Iterator[str]:
    """What is wrong with globs that can match no path of a space."""
    for glob in globs:
        wrong = misfit_glob(glob, os.fspath(space_root or ""))
        if wrong:
            fact = f"{dotted} has {glob!r}, which matches nothing: {wrong[0]}"
            yield f"{fact} ({source}) · {wrong[1]}"


def _impersonal(own: Settings, file: str, user: str, warnings: list[str]) -> Settings:
    """What a space's own file sets, without the keys that only the user may set."""
    personal = {dotted for dotted in own if ROWS[dotted].mark == PERSONAL}
    for dotted, (_, line) in own.items():
        if dotted in personal:
            warnings.append(f"{dotted} is ignored in {file}:{line}: set it in {user}")
    return {key: setting for key, setting in own.items() if key not in personal}


def _build(values: dict[str, Any], ignored: dict[str, object], sources: dict[str, str]) -> Config:
    sections: dict[str, dict[str, Any]] = {}
    for dotted, value in values.items():
        section, _, key = dotted.partition(".")
        sections.setdefault(section, {})[key] = value
    config = Config(ignored=ignored, sources=sources)
    changed = {name: getattr(config, name)._replace(**own) for name, own in sections.items()}
    config = config._replace(**changed)
    overlap = config.index.chunk_overlap
    size = config.index.chunk_size
    if overlap >= size:
        where = sources.get("index.chunk_overlap") or sources["index.chunk_size"]
        fact = f"index.chunk_overlap ({overlap}) must be smaller than index.chunk_size ({size})"
        raise ConfigError(f"{fact} ({where})", "change one of them")
    return config


def _from_variables(env: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Dotted key, value and variable for each variable that is set; unknown ones are refused."""
    variables = sorted(name for name in env if name.startswith("KINEN_"))
    if not variables:
        return
    keys = ROWS.by_variable()
    sections = tuple(f"KINEN_{name.upper()}_" for name in SECTIONS)
    for variable in variables:
        if variable in keys:
            if env[variable]:
                yield keys[variable], env[variable], variable
        elif variable.startswith(sections):
            raise ConfigError(f"unknown variable {variable}", configfile.suggestion(variable, keys))


def get(config: Config, dotted: str) -> Any:
    """The value of a key; a mapping as a dictionary."""
    row = _row(dotted, "the configuration")
    value = getattr(getattr(config, row.section), row.key)
    return dict(value) if row.kind == "mapping" else value


def items(config: Config) -> list[tuple[str, Any]]:
    """Every key with its value, in the order of the table."""
    return [(dotted, get(config, dotted)) for dotted in ROWS]


def _row(dotted: str, where: str, raw: Any = None) -> Row:
    if dotted in ROWS:
        return ROWS[dotted]
    raise configfile.unknown_key(dotted, where, raw)


def value_of(dotted: str, raw: Raw, source: str) -> Any:
    """The value of a key from the file of another tool."""
    return parse_value(_row(dotted, source), raw, source)


def space_section(home: Path, root: Path) -> SpaceSection:
    """The id and name that a folder of a main working tree has for itself, and nothing else."""
    file = os.path.join(root, ".kinen", "config.yml")
    own = settings(home, file)[0]
    values = {}
    for key in ("id", "name"):
        row = ROWS[f"space.{key}"]
        variable = row.variable
        setting = os.environ.get(variable)
        raw = setting or own.get(row.dotted, ("", 0))[0]
        values[key] = parse_value(row, raw, variable if setting else file) if raw else ""
    return SpaceSection(**values)


def unset_value(file: Path, dotted: str) -> bool:
    """Remove a key from a file and keep the rest; False if it is not set there."""
    from kinen.config import edit

    file = os.fspath(file)
    _row(dotted, file)
    old = configfile.source_text(file)
    before = configfile.parse(old, file)
    if dotted not in before:
        return False
    new = edit.remove(old, file, dotted)
    after = {key: raw for key, (raw, _) in configfile.parse(new, file).items() if raw is not None}
    before.pop(dotted)
    if after != {key: raw for key, (raw, _) in before.items() if raw is not None}:
        raise ConfigError(f"cannot unset {dotted} in {file}", "edit the file by hand")
    configfile.write(file, new)
    return True


def set_value(file: Path, dotted: str, text: str, root: str = "") -> Any:
    """Set a key in a file and keep its comments; written only if it reads back as intended.

    `root` is the space that the paths of a key are in; empty if they are in any.
    """
    from kinen.config import edit

    file = os.fspath(file)
    row = _row(dotted, file, text)
    if row.mark == PERSONAL and file != user_file(os.environ):
        hint = f"run `kinen config set --user {dotted} …`"
        raise ConfigError(f"{dotted} is read from your own settings only", hint)
    old = configfile.source_text(file)
    before = configfile.accepted(configfile.parse(old, file), file)
    value = parse_value(row, text, file)
    if row.kind == "globs":
        check_globs(row, value, os.path.realpath(root) if root else "")
    setting = text.strip() if row.kind == "path" else value
    keys = dotted.split(".", 1)
    new = edit.put(old, file, keys, dict(value) if row.kind == "mapping" else setting)
    before.pop(dotted, None)
    if not _reads_as(new, file, row, value, before):
        raise ConfigError(f"cannot set {dotted} in {file}", "edit the file by hand")
    merged = {key: parse_value(ROWS[key], raw, f"{file}:{at}") for key, (raw, at) in before.items()}
    _build({**merged, dotted: value}, {}, {dotted: file, "index.chunk_size": file})
    configfile.write(file, new)
    return value


def _reads_as(text: str, file: str, row: Row, value: Any, others: Settings) -> bool:
    """Whether a text sets a key to this value, and all others as before."""
    try:
        after = configfile.accepted(configfile.parse(text, file), file)
        if parse_value(row, after.pop(row.dotted)[0], file) != value:
            return False
    except (ConfigError, KeyError):
        return False
    return {key: raw for key, (raw, _) in after.items()} == {
        key: raw for key, (raw, _) in others.items()
    }


def template(name: str, identity: str = "") -> str:
    """The file that `kinen init` writes; a folder without git needs an identity."""
    title = configfile.written(clean_name(name))
    lines = [
        "# Settings of this space. `kinen config show` lists all keys, `kinen config set` sets one."
    ]
    lines += ["space:", f"  name: {title}"]
    if identity:
        id_ = configfile.written(identity)
        lines.append(f"  id: {id_}  # do not change: it ties the memory to this folder")
    return "\n".join(lines) + "\n"
