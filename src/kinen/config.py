"""Defaults < user file < space file (if trusted) < KINEN_* < flags → one frozen Config."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen import configfile, registry
from kinen.errors import ConfigError
from kinen.model import MODES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Raw = str | list[str]
    Path = str | os.PathLike[str]

trust, revoke, trusted = configfile.trust, configfile.revoke, configfile.trusted
write_atomic = registry.write_atomic
TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class SpaceSection(NamedTuple):
    id: str = ""
    name: str = ""
    default: str = ""


class IndexSection(NamedTuple):
    embedding_provider: str = "onnx"
    embedding_model: str = ""
    embedding_endpoint: str = ""
    embedding_key_env: str = "OPENAI_API_KEY"
    embedding_path: str = ""
    embedding_timeout: int = 30
    chunk_size: int = 512
    chunk_overlap: int = 50
    max_file_mb: int = 64


class SearchSection(NamedTuple):
    default_mode: str = "hybrid"
    default_limit: int = 10
    context_chunks: int = 0


class Config(NamedTuple):
    """Every setting, with where it came from and what was ignored for want of trust."""

    space: SpaceSection = SpaceSection()
    index: IndexSection = IndexSection()  # type: ignore[assignment]  # hides tuple.index
    search: SearchSection = SearchSection()
    ignored: tuple[str, ...] = ()
    sources: Mapping[str, str] = {}


class Row(NamedTuple):
    """What there is to know of one key; its default stands in the section's tuple."""

    section: str
    key: str
    kind: str
    help: str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()
    dangerous: bool = False
    """From a space file only when trusted: it chooses an endpoint or reads outside the space."""
    safe: tuple[str, ...] = ()
    """Values of a dangerous key that are harmless."""

    @property
    def dotted(self) -> str:
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        return f"KINEN_{self.section}_{self.key}".upper()

    @property
    def default(self) -> Any:
        return getattr(getattr(Config(), self.section), self.key)


ROWS = {
    row.dotted: row
    for row in (
        Row("space", "id", "name", "identity of the space, the same in every clone"),
        Row("space", "name", "name", "what --space calls it"),
        Row("space", "default", "name", "space to use where there is none", dangerous=True),
        Row(
            "index",
            "embedding_provider",
            "choice",
            "who embeds: the shipped model, a service, or nobody",
            choices=("onnx", "ollama", "openai", "none"),
            dangerous=True,
            safe=("onnx", "none"),
        ),
        Row("index", "embedding_model", "text", "model of the provider", dangerous=True),
        Row("index", "embedding_endpoint", "url", "address of the provider", dangerous=True),
        Row("index", "embedding_key_env", "variable", "variable with its key", dangerous=True),
        Row("index", "embedding_path", "path", "folder of another ONNX model", dangerous=True),
        Row("index", "embedding_timeout", "int", "seconds to wait for it", 1, 3600),
        Row("index", "chunk_size", "int", "most tokens in a chunk", 32, 8192),
        Row("index", "chunk_overlap", "int", "tokens shared by neighbours", 0, 4096),
        Row("index", "max_file_mb", "int", "larger files are skipped", 1, 4096),
        Row("search", "default_mode", "choice", "how hits are found", choices=MODES),
        Row("search", "default_limit", "int", "how many hits", 1, 1000),
        Row("search", "context_chunks", "int", "chunks shown around a hit", 0, 50),
    )
}
# Known names that nothing reads yet: files that have them load.
RESERVED = (
    *("index.path", "privacy.exclude"),
    *("consolidation.on_session_close", "consolidation.extract_decisions"),
    *("consolidation.confidence_threshold", "daemon.auto_start", "daemon.idle_shutdown_minutes"),
    *("daemon.watch_debounce_ms", "git.strip_prefixes", "git.stop_tags", "git.exclude"),
    *("git.snapshot_frequency", "distill.order", "distill.timeout", "distill.cache_hours"),
)


def user_folder(env: Mapping[str, str]) -> str:
    return env.get("USERPROFILE" if os.name == "nt" else "HOME") or os.path.expanduser("~")


def _platform_folder(env: Mapping[str, str], variable: str, *otherwise: str) -> str:
    chosen = env.get(variable, "")
    return chosen if os.path.isabs(chosen) else os.path.join(user_folder(env), *otherwise)


def user_file(env: Mapping[str, str] | None = None) -> str:
    """The user's own config file, whether it exists or not."""
    env = os.environ if env is None else env
    if env.get("KINEN_CONFIG"):
        return os.path.abspath(env["KINEN_CONFIG"])
    if os.name == "nt":
        folder = _platform_folder(env, "APPDATA", "AppData", "Roaming")
    else:
        folder = _platform_folder(env, "XDG_CONFIG_HOME", ".config")
    return os.path.join(folder, "kinen", "config.yml")


def space_file(root: Path) -> str:
    return os.path.join(root, ".kinen", "config.yml")


def default_home(env: Mapping[str, str] | None = None) -> str:
    """Where kinen keeps its data: KINEN_HOME, else the platform's data folder."""
    env = os.environ if env is None else env
    if env.get("KINEN_HOME"):
        return os.path.abspath(env["KINEN_HOME"])
    if os.name == "nt":
        folder = _platform_folder(env, "LOCALAPPDATA", "AppData", "Local")
    elif sys.platform == "darwin":
        folder = os.path.join(user_folder(env), "Library", "Application Support")
    else:
        folder = _platform_folder(env, "XDG_DATA_HOME", ".local", "share")
    return os.path.join(folder, "kinen")


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
        values[dotted] = _parse(ROWS[dotted], raw, source, base)
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
        if doubtful and not configfile.trusts(home, file, digest):
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
    def section(name: str) -> dict[str, Any]:
        keys = ((dotted.partition("."), value) for dotted, value in values.items())
        return {key: value for (first, _, key), value in keys if first == name}

    index = IndexSection(**section("index"))
    if index.chunk_overlap >= index.chunk_size:
        where = sources.get("index.chunk_overlap") or sources["index.chunk_size"]
        fact = f"{index.chunk_overlap} in chunks of {index.chunk_size}"
        hint = "index.chunk_overlap must be below index.chunk_size"
        raise ConfigError(f"chunks cannot overlap by {fact} ({where})", hint)
    space, search = SpaceSection(**section("space")), SearchSection(**section("search"))
    return Config(space, index, search, ignored, sources)


def _from_variables(env: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    known = {row.variable: dotted for dotted, row in ROWS.items()}
    reserved = {f"KINEN_{dotted}".replace(".", "_").upper() for dotted in RESERVED}
    sections = tuple(f"KINEN_{name.upper()}_" for name in ("space", "index", "search"))
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
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


def get(config: Config, dotted: str) -> Any:
    row = _row(dotted, "the configuration")
    return getattr(getattr(config, row.section), row.key)


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


def _parse(row: Row, raw: Raw, source: str, base: str = "") -> Any:
    """The value that a text stands for, whether it came from a file, a variable or a flag."""
    wanted = ""
    if row.kind == "list":
        return tuple(raw if isinstance(raw, list) else filter(None, map(str.strip, raw.split(","))))
    if isinstance(raw, list):
        raise ConfigError(f"{row.dotted} cannot be a list ({source})", "give one value")
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
            if raw not in (None, {}):
                raise ConfigError(f"{dotted} is a group of keys: {file}:{line}", "indent them")
        elif dotted not in ROWS and dotted not in RESERVED:
            raise _unknown(dotted, f"{file}:{line}")
        elif dotted in ROWS and raw == {}:
            raise ConfigError(f"{dotted} cannot be a group: {file}:{line}", "give one value")
        elif dotted in ROWS and raw is not None:
            found[dotted] = (raw, line)
    return found


def set_value(file: Path, dotted: str, text: str) -> Any:
    """Set one key in a file, comments kept; nothing is written unless it reads back right."""
    file = os.fspath(file)
    row, old = _row(dotted, file), configfile.source_text(file)
    before = _accepted(configfile.parse(old, file), file)
    value = _parse(row, text, file)
    new = configfile.edit(old, file, dotted, text.strip() if row.kind == "path" else value)
    try:
        after = _accepted(configfile.parse(new, file), file)
        took = _parse(row, after.pop(dotted)[0], file) == value
    except (ConfigError, KeyError):
        after, took = {}, False
    before.pop(dotted, None)
    others = {key: raw for key, (raw, _) in before.items()}
    if not took or others != {key: raw for key, (raw, _) in after.items()}:
        raise ConfigError(f"cannot set {dotted} in {file}", "that file needs an edit by hand")
    merged = {key: _parse(ROWS[key], raw, file) for key, raw in others.items()}
    _build({**merged, dotted: value}, (), {dotted: file, "index.chunk_size": file})
    write_atomic(file, new)
    return value


def template(name: str, identity: str = "") -> str:
    """The commented file that `kinen init` writes; a folder without git needs an identity."""
    named = configfile.written(registry.unique_name({}, name, ""))
    lines = ["# What kinen needs to know of this space; `kinen config show` has every key."]
    lines += ["space:", f"  name: {named}"]
    if identity:
        given = configfile.written(identity)
        lines.append(f"  id: {given}  # keep it: it ties the memory to this folder")
    for section in ("index", "search"):
        lines += ["", f"# {section}:"]
        rows = (row for row in ROWS.values() if row.section == section and not row.dangerous)
        lines += [f"#   {row.key}: {configfile.written(row.default)}  # {row.help}" for row in rows]
    return "\n".join(lines) + "\n"
