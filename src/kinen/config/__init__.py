"""Defaults < user file < space file (if trusted) < KINEN_* < flags → one frozen Config."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from kinen.config import file as configfile
from kinen.config.keys import RESERVED, ROWS, SECTIONS, Config, Row, SpaceSection, clean_name
from kinen.config.trust import trusts
from kinen.errors import ConfigError
from kinen.paths import user_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Raw = str | list[str] | dict[str, Any]
    Path = str | os.PathLike[str]

TRUE = ("true", "yes", "on", "1")
FALSE = ("false", "no", "off", "0")


def space_file(root: Path) -> str:
    return os.path.join(root, ".kinen", "config.yml")


def load(
    home: Path,
    space_root: Path | None = None,
    env: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Config:
    """All layers merged and checked; an override that is None was not given."""
    env = os.environ if env is None else env
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    ignored: list[str] = []

    def put(dotted: str, raw: Raw, source: str, base: str = "") -> None:
        value = _parse(ROWS[dotted], raw, source, base)
        if ROWS[dotted].kind == "globs":
            # Each layer adds: a file that came by `git clone` must not open what was closed.
            value = tuple(dict.fromkeys((*values.get(dotted, ROWS[dotted].default), *value)))
        values[dotted] = value
        sources[dotted] = source

    user = user_file(env)
    for dotted, (raw, line) in settings(home, user)[0].items():
        if dotted in ("space.id", "space.name"):
            hint = "set it in .kinen/config.yml of that space"
            raise ConfigError(f"{dotted} is of one space, not for all: {user}:{line}", hint)
        put(dotted, raw, f"{user}:{line}", os.path.dirname(user))
    if space_root is not None:
        file = space_file(space_root)
        found, digest = settings(home, file)
        doubtful = [key for key, (raw, _) in found.items() if _dangerous(ROWS[key], raw)]
        if doubtful and not trusts(home, file, digest):
            ignored = doubtful
        for dotted, (raw, line) in found.items():
            if dotted not in ignored:
                put(dotted, raw, f"{file}:{line}", os.fspath(space_root))
    for dotted, raw, variable in _from_variables(env):
        put(dotted, raw, variable)
    for dotted, value in (overrides or {}).items():
        _row(dotted, "flags")
        if value is not None:
            put(dotted, _as_raw(value), "flag")
    return _build(values, tuple(ignored), sources)


def _build(values: dict[str, Any], ignored: tuple[str, ...], sources: dict[str, str]) -> Config:
    made: dict[str, Any] = {}
    for name in SECTIONS:
        own = {
            row.key: values[key]
            for key, row in ROWS.items()
            if row.section == name and key in values
        }
        made[name] = getattr(Config(), name)._replace(**own)
    config = Config(**made, ignored=ignored, sources=sources)
    overlap, size = config.index.chunk_overlap, config.index.chunk_size
    if overlap >= size:
        where = sources.get("index.chunk_overlap") or sources["index.chunk_size"]
        hint = "index.chunk_overlap must be below index.chunk_size"
        raise ConfigError(f"chunks cannot overlap by {overlap} in chunks of {size} ({where})", hint)
    return config


def _from_variables(env: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    known = {row.variable: dotted for dotted, row in ROWS.items()}
    reserved = {f"KINEN_{dotted}".replace(".", "_").upper() for dotted in RESERVED}
    sections = tuple(f"KINEN_{name.upper()}_" for name in SECTIONS)
    for variable in sorted(name for name in env if name.startswith("KINEN_")):
        if variable in known:
            if env[variable]:
                yield known[variable], env[variable], variable
        elif variable.startswith(sections) and variable not in reserved:
            hint = f"did you mean {_nearest(variable, known) or 'another one'}?"
            raise ConfigError(f"unknown variable {variable}", hint)


def _as_raw(value: Any) -> Raw:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return {str(key): _as_raw(item) for key, item in value.items()}
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


def get(config: Config, dotted: str) -> Any:
    """The value of one key; a mapping as a dictionary."""
    row = _row(dotted, "the configuration")
    value = getattr(getattr(config, row.section), row.key)
    return dict(value) if row.kind == "mapping" else value


def items(config: Config) -> list[tuple[str, Any]]:
    """Every key with its value, in the order of the table."""
    return [(dotted, get(config, dotted)) for dotted in ROWS]


def _row(dotted: str, where: str) -> Row:
    if dotted in ROWS:
        return ROWS[dotted]
    if dotted in RESERVED:
        raise ConfigError(f"nothing reads {dotted} yet ({where})", "leave it out")
    raise _unknown(dotted, where)


def _unknown(dotted: str, where: str) -> ConfigError:
    near = _nearest(dotted, (*ROWS, *RESERVED))
    hint = f"did you mean {near}?" if near else "see `kinen config show` for the keys there are"
    return ConfigError(f"unknown key {dotted} in {where}", hint)


def _nearest(word: str, words: Any) -> str:
    from difflib import get_close_matches

    twins = [other for other in words if other.partition(".")[2] == word.rpartition(".")[2]]
    return next(iter(twins or get_close_matches(word, list(words), 1, 0.5)), "")


def parse_value(dotted: str, raw: Raw, source: str) -> Any:
    """What a value stands for that a file of another tool gives for a key of ours."""
    return _parse(_row(dotted, source), raw, source)


def _parse(row: Row, raw: Raw, source: str, base: str = "") -> Any:
    """The value that a text stands for, whether it came from a file, a variable or a flag."""
    if row.kind == "mapping":
        return _mapping(row, raw, source)
    if row.kind in ("globs", "words"):
        return _list(row, raw, source)
    if not isinstance(raw, str):
        shape = "list" if isinstance(raw, list) else "group"
        raise ConfigError(f"{row.dotted} cannot be a {shape} ({source})", "give one value")
    text = raw.strip()
    if row.kind in ("int", "float"):
        try:
            number = int(text) if row.kind == "int" else float(text)
            if row.low <= number <= row.high:
                return number
        except ValueError:
            pass
        wanted = f"{'a whole' if row.kind == 'int' else 'a'} number from {row.low} to {row.high}"
    elif row.kind == "bool":
        if text.lower() in TRUE + FALSE:
            return text.lower() in TRUE
        wanted = "true or false"
    elif row.kind == "choice":
        if text in row.choices:
            return text
        wanted = "one of " + ", ".join(row.choices)
    else:
        wanted = _misfit(row.kind, text)
        if not wanted:
            path = row.kind == "path" and text
            return os.path.abspath(os.path.join(base, os.path.expanduser(text))) if path else text
    # What was pasted there may be the key itself: it is not repeated.
    shown = "that" if row.kind == "variable" else repr(text)
    raise ConfigError(f"{row.dotted} cannot be {shown} ({source})", f"it is {wanted}")


def _list(row: Row, raw: Raw, source: str) -> tuple[str, ...]:
    """The texts of a list, or of one text with commas; a variable empties it by `[]`."""
    if isinstance(raw, str):
        parts = raw.split(",") if row.kind == "globs" or raw.strip() != "[]" else []
        raw = [part.strip() for part in parts if part.strip()]
    if not isinstance(raw, list):
        raise ConfigError(f"{row.dotted} cannot be a group ({source})", "give a list")
    if row.kind == "words" and (wanted := _misfit("text", "".join(raw))):
        raise ConfigError(f"{row.dotted} cannot be {raw} ({source})", f"it is {wanted}")
    return tuple(raw)


def _mapping(row: Row, raw: Any, source: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Globs with their tags, in order, from a mapping or from `glob=tag tag, glob=tag`."""
    if isinstance(raw, str):
        parts = filter(None, map(str.strip, raw.split(","))) if raw.strip() != "{}" else ()
        raw = [(glob, tags) for glob, _, tags in (part.rpartition("=") for part in parts)]
    elif isinstance(raw, dict):
        raw = raw.items()
    else:
        hint = "give globs with their tags: {docs/**: [docs]}"
        raise ConfigError(f"{row.dotted} cannot be a list ({source})", hint)
    found: dict[str, tuple[str, ...]] = {}
    for glob, tags in raw:
        name, words = glob.strip(), tags.split() if isinstance(tags, str) else tags
        if not name or name in found or not _tags(words) or _misfit("text", name):
            hint = "give each glob once, with tags that are one word each: docs/**=docs"
            raise ConfigError(f"{row.dotted} cannot have {glob!r}: {tags!r} ({source})", hint)
        found[name] = tuple(dict.fromkeys(words))
    return tuple(found.items())


def _tags(words: Any) -> bool:
    """Whether these are tags that mean the same when they are written in one line."""
    if not words or not isinstance(words, list) or _misfit("text", "".join(words)):
        return False
    return all(word.split() == [word] and "," not in word for word in words)


def _misfit(kind: str, text: str) -> str:
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in text):
        return "text without control characters"
    if not text:
        return ""
    if kind == "url" and not text.startswith(("http://", "https://")):
        return "an address that starts with http:// or https://"
    if kind == "variable" and not (text.isidentifier() and text.isascii()):
        return "the name of an environment variable, never the key itself"
    if kind == "name" and (text[0] in ".-~" or text == "all" or set(text) & set('/\\,"')):
        return "a name without slashes, commas or quotes that starts with a letter or digit"
    return ""


def _dangerous(row: Row, raw: Raw) -> bool:
    return row.dangerous and raw not in row.safe


def space_section(home: Path, root: Path, env: Mapping[str, str]) -> SpaceSection:
    """What a folder says of its own id and name, without the rest of the configuration."""
    file, given = space_file(root), {}
    found = settings(home, file)[0]
    for key in ("id", "name"):
        row = ROWS[f"space.{key}"]
        raw = env.get(row.variable) or found.get(row.dotted, ("", 0))[0]
        given[key] = _parse(row, raw, row.variable if env.get(row.variable) else file)
    return SpaceSection(**given)


def settings(home: Path, file: Path) -> tuple[dict[str, tuple[Raw, int]], str]:
    """What one file sets, as written, with the lines, and the digest of its bytes."""
    values, digest = configfile.read_file(home, file)
    return _accepted(values, os.fspath(file)), digest


def _accepted(values: dict[str, Any], file: str) -> dict[str, tuple[Raw, int]]:
    sections = {dotted.partition(".")[0] for dotted in (*ROWS, *RESERVED)}
    found: dict[str, tuple[Raw, int]] = {}
    for dotted, (raw, line) in values.items():
        if dotted in sections:
            if raw is not None:
                raise ConfigError(f"{dotted} is a group of keys: {file}:{line}", "indent them")
        elif dotted not in ROWS and dotted not in RESERVED:
            raise _unknown(dotted, f"{file}:{line}")
        elif dotted in ROWS and raw is not None:
            found[dotted] = (raw, line)
    return found


def set_value(file: Path, dotted: str, text: str) -> Any:
    """Set one key in a file, comments kept; nothing is written unless it reads back right."""
    file = os.fspath(file)
    row, old = _row(dotted, file), configfile.source_text(file)
    before = _accepted(configfile.parse(old, file), file)
    value = _parse(row, text, file)
    setting = text.strip() if row.kind == "path" else value
    new = configfile.edit(old, file, dotted, dict(value) if row.kind == "mapping" else setting)
    try:
        after = _accepted(configfile.parse(new, file), file)
        took = _parse(row, after.pop(dotted)[0], file) == value
    except (ConfigError, KeyError):
        after, took = {}, False
    before.pop(dotted, None)
    others = {key: raw for key, (raw, _) in before.items()}
    if not took or others != {key: raw for key, (raw, _) in after.items()}:
        raise ConfigError(f"cannot set {dotted} in {file}", "that file needs an edit by hand")
    merged = {key: _parse(ROWS[key], raw, f"{file}:{at}") for key, (raw, at) in before.items()}
    _build({**merged, dotted: value}, (), {dotted: file, "index.chunk_size": file})
    configfile.write(file, new)
    return value


def template(name: str, identity: str = "") -> str:
    """The commented file that `kinen init` writes; a folder without git needs an identity."""
    named = configfile.written(clean_name(name))
    lines = ["# What kinen needs to know of this space; `kinen config show` has every key."]
    lines += ["space:", f"  name: {named}"]
    if identity:
        given = configfile.written(identity)
        lines.append(f"  id: {given}  # keep it: it ties the memory to this folder")
    for section in SECTIONS[1:]:
        lines += ["", f"# {section}:"]
        rows = (row for row in ROWS.values() if row.section == section and not row.dangerous)
        lines += [
            f"#   {row.key}: {configfile.written(get(Config(), row.dotted))}  # {row.help}"
            for row in rows
        ]
    return "\n".join(lines) + "\n"
