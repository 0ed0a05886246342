"""config.yml as a file: parsed, cached as JSON, and changed in place.

`yaml` takes 20 ms to import, so it is loaded only if a file is new or changed.
"""

from __future__ import annotations

import os

from kinen.config.keys import ROWS, SECTIONS
from kinen.errors import ConfigError, UnsafeFile
from kinen.ids import milliseconds
from kinen.model.late import json
from kinen.paths import user_file
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Path = str | os.PathLike[str]
    Raw = str | list[str] | dict[str, Any]
    """A value as a file has it."""
    Settings = dict[str, tuple[Raw, int]]
    """Dotted key → the value as written, and its line."""

LARGEST = 256 * 1024
MAX_VALUES = 20_000
"""More than people write. A few aliases can expand to a billion values."""
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./")
ALL_KEYS = "see `kinen config show` for all keys"
WORDS = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")


def settings(home: Path, file: Path, warnings: list[str] | None = None) -> tuple[Settings, str]:
    """What a file sets, and the digest of its bytes; unknown keys are added to `warnings`."""
    values, digest = read_file(home, file)
    return accepted(values, os.fspath(file), warnings), digest


def accepted(values: dict[str, Any], file: str, warnings: list[str] | None = None) -> Settings:
    """The keys of a file that are set. Unknown ones are left out: another version may read them."""
    accepted: Settings = {}
    foreign: dict[str, int] = {}
    for dotted, (raw, line) in values.items():
        if dotted in SECTIONS:
            if raw is not None:
                hint = "write its keys below it, indented"
                raise ConfigError(f"{dotted} is a section: {file}:{line}", hint)
        elif dotted not in ROWS:
            if warnings is None:
                continue
            section, _, key = dotted.partition(".")
            unknown = unknown_key(dotted, f"{file}:{line}", raw)
            if key and section not in SECTIONS and unknown.hint == ALL_KEYS:
                foreign.setdefault(section, line)
            else:
                warnings.append(f"{unknown.message} is ignored · {unknown.hint}")
        elif raw is not None:
            accepted[dotted] = (raw, line)
    if foreign and warnings is not None:  # of Kinen's own config.yml, or of another tool
        where = f"{file}:{min(foreign.values())}"
        warnings.append(
            f"unknown sections in {where} are ignored: {', '.join(foreign)} · {ALL_KEYS}"
        )
    return accepted


def unknown_key(dotted: str, where: str, raw: Any = None) -> ConfigError:
    from kinen.config import former  # most keys are known

    hint = former.hint(dotted, raw) or suggestion(dotted, ROWS)
    return ConfigError(f"unknown key {dotted} in {where}", hint)


def suggestion(word: str, words: Iterable[str]) -> str:
    """A hint with the name that was probably meant."""
    from difflib import get_close_matches

    candidates = list(words)
    twins = [other for other in candidates if other.partition(".")[2] == word.rpartition(".")[2]]
    near = twins or get_close_matches(word, candidates, 1, 0.7)
    return f"did you mean {near[0]}?" if near else ALL_KEYS


def read_file(home: Path, file: Path) -> tuple[dict[str, Any], str]:
    """The result of `parse` for a file and the SHA-256 of its bytes, from the cache if possible."""
    file = os.fspath(file)
    try:
        seen = os.stat(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}, ""
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}", "check who owns it") from None
    stamp = [seen.st_mtime_ns, seen.st_size, seen.st_ino]
    path = os.path.join(home, "cache", "config.json")
    try:
        cache = json.loads(private.read(path))
    except (OSError, ValueError, RecursionError):
        cache = None
    if not isinstance(cache, dict):
        cache = {}
    try:
        entry = cache[file]
        if entry["stamp"] == stamp:
            values = {key: (raw, int(line)) for key, (raw, line) in entry["values"].items()}
            return values, str(entry["digest"])
    except (KeyError, TypeError, ValueError, AttributeError):
        pass
    data = content(file)
    values = parse(data, file)
    digest = digest_of(data)
    # Whether another write would change the time: some disks store only whole seconds.
    grain = 2 * 10**9 if seen.st_mtime_ns % 10**9 == 0 else 5 * 10**7
    if milliseconds() * 1_000_000 - seen.st_mtime_ns > grain:
        cache.pop(file, None)
        recent = dict(list(cache.items())[-63:])
        recent[file] = {"stamp": stamp, "digest": digest, "values": values}
        from contextlib import suppress

        with suppress(OSError, ValueError):  # the next process parses the file again
            private.write(path, json.dumps(recent))
    return values, digest


def content(file: Path, root: str = "") -> bytes:
    from kinen.storage import inside, regular  # most files are in the cache

    file = os.fspath(file)
    root = root or _root(file)
    try:
        if root:
            return inside.read(root, os.path.relpath(file, root), LARGEST)
        if os.path.realpath(file) == os.devnull:
            return b""  # KINEN_CONFIG=/dev/null is a common way to have no file
        return regular.read(file, LARGEST)
    except UnsafeFile as error:
        raise ConfigError(f"cannot read {file}: {error.message}", error.hint) from None
    except OSError as error:
        fact = f"cannot read {file}: {error.strerror}"
        raise ConfigError(fact, "check that it is a file, and who owns it") from None


def _root(file: str) -> str:
    """The root of the space whose config file this is; empty for the user's own file."""
    folder, name = os.path.split(file)
    of_space = (os.path.basename(folder), name) == (".kinen", "config.yml")
    return os.path.dirname(folder) if of_space and file != user_file() else ""


def write(file: Path, text: str) -> None:
    """Replace a config file as a whole; the file of a space is never written outside of it."""
    from kinen.storage import atomic, inside

    file = os.fspath(file)
    root = _root(file)
    if root:
        inside.replace(root, os.path.relpath(file, root), text.encode())
    else:
        private.folder(os.path.dirname(os.path.realpath(file)), tighten=False)
        atomic.write(file, text, private.FILE_MODE)


def digest_of(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()


def source_text(file: Path, root: str = "") -> str:
    """The file as text, empty if there is none; with a root, a file outside of it is refused."""
    if not os.path.lexists(file):
        return ""
    try:
        return content(file, root).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{os.fspath(file)} is not UTF-8 text", "save it as UTF-8") from None


def parse(data: bytes | str, file: str) -> dict[str, tuple[Any, int]]:
    """Dotted key → (value, line). A value is a text, a list of texts, a mapping to these, or None.

    False stands for anything nested deeper, which no key accepts.
    """
    values: dict[str, tuple[Any, int]] = {}
    left = [MAX_VALUES]
    for section, node, line in _pairs(compose(data, file), file):
        if _is(node, "mapping"):
            pairs = [(f"{section}.{key}", value, at) for key, value, at in _pairs(node, file)]
        else:
            pairs = [(section, node, line)]
        for dotted, value, at in pairs:
            if dotted in values:
                raise ConfigError(f"{dotted} is set twice: {file}:{at}", "remove one of them")
            values[dotted] = (_plain(value, file, left), at)
    return values


def inline(text: str) -> Any:
    """A list or mapping that is written on one line; None if it is neither."""
    import yaml

    from kinen.text.frontmatter import check_depth

    try:
        check_depth(text)
        node = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        value = _plain(node, "the text", [MAX_VALUES])
    except (yaml.YAMLError, ValueError, RecursionError, ConfigError):
        return None
    return value if isinstance(value, (list, dict)) else None


def compose(data: bytes | str, file: str) -> Any:
    import yaml

    from kinen.text.frontmatter import check_depth

    try:
        check_depth(data)
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        node = yaml.compose(data, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        problem = error.problem or error.context
        raise ConfigError(f"{file}{line} is not valid YAML: {problem}", "fix that line") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"{file} is not valid YAML: {reason}", "save it as UTF-8 text") from None
    if node is None or _is(node, "mapping") or is_null(node):
        return None if is_null(node) else node
    line = node.start_mark.line + 1
    raise ConfigError(f"{file}:{line} is not a mapping", "write `section:`, then `  key: value`")


def _pairs(node: Any, file: str) -> list[tuple[str, Any, int]]:
    pairs: dict[str, tuple[str, Any, int]] = {}
    for key, value in node.value if node is not None else ():
        line = key.start_mark.line + 1
        if not _is(key, "scalar"):
            raise ConfigError(
                f"{file}:{line} has a key that is not text", "use plain words as keys"
            )
        if key.value in pairs:
            raise ConfigError(f"{key.value} is set twice: {file}:{line}", "remove one of them")
        pairs[key.value] = (key.value, value, line)
    return list(pairs.values())


def _plain(node: Any, file: str, left: list[int], inner: bool = False) -> Any:
    left[0] -= 1 if _is(node, "scalar") else len(node.value) + 1
    if left[0] < 0:
        raise ConfigError(f"{file} has too many values", "shorten it, and do not use aliases")
    if _is(node, "scalar"):
        return None if is_null(node) else node.value
    if _is(node, "sequence") and all(_is(item, "scalar") for item in node.value):
        return [item.value for item in node.value]
    if _is(node, "mapping") and not inner:
        pairs = _pairs(node, file)
        return {key: _plain(value, file, left, inner=True) for key, value, _ in pairs}
    return False


def _is(node: Any, kind: str) -> bool:
    return node is not None and node.id == kind


def is_null(node: Any) -> bool:
    return node is None or (
        _is(node, "scalar") and not node.style and node.value in ("", "~", "null", "Null", "NULL")
    )


def written(value: Any) -> str:
    """A value as YAML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(written(item) for item in value)}]"
    if isinstance(value, dict):
        pairs = (f"{written(key)}: {written(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if value and set(value) <= PLAIN and value[0].isalpha() and value.lower() not in WORDS:
        return str(value)
    return json.dumps(value, ensure_ascii=False)
