"""Frontmatter: YAML between two `---` at the very top of a file, as people really write it.

Reading accepts YAML 1.2. Writing quotes every text that a reader of YAML 1.1 or of YAML 1.2 would
take for something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import Any

from kinen.model.tuples import NamedTuple

MAX_SIZE = 256_000
MAX_VALUES = 20_000
SHALLOW = 1_000
"""A text of fewer characters cannot nest deeply enough to do harm."""
MAX_DEPTH = 64

_INT = r"^[-+]?(?:0|[1-9][0-9]{0,18})$"
_FLOAT = r"^[-+]?[0-9]+\.[0-9]+$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][-+0-9:.Zz ]+$"
_CORE_NUMBER = r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+)$"
"""Numbers of YAML 1.2, some of which YAML 1.1 reads as text."""


class Frontmatter(NamedTuple):
    """The values of a frontmatter and its last line."""

    end: int = 0
    """The line of the closing `---`, 0 when there is no frontmatter."""
    values: dict[str, Any] = {}  # noqa: RUF012 - a default that nothing changes
    problem: str = ""
    """Why the YAML is invalid; its lines then count as text."""


def read_frontmatter(lines: Sequence[str]) -> Frontmatter:
    """The frontmatter of a file's lines; never raises: see `problem`."""
    end = _end(lines)
    if not end:
        return Frontmatter()
    try:
        values = load_yaml("\n".join(lines[1 : end - 1]))
    except Exception as error:  # PyYAML's constructors raise exceptions of any type
        reason = " ".join(str(error).split()) or type(error).__name__
        return Frontmatter(end, {}, f"frontmatter: {reason}")
    if values is None:
        return Frontmatter(end)
    # Prose between two thematic breaks looks like frontmatter until it is parsed.
    return Frontmatter(end, values) if isinstance(values, dict) else Frontmatter()


def text_of(value: Any) -> str:
    """A scalar as text; an empty string for a list or mapping."""
    return "" if value is None or isinstance(value, (dict, list)) else str(value).strip()


def tags_of(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The tags of a frontmatter, given as a list or on one line, without their `#`."""
    items = _items(values, ("tags", "tag"), r"[,\s]+")
    return unique(item.lstrip("#") for item in items)


def aliases_of(values: Mapping[str, Any]) -> tuple[str, ...]:
    return unique(_items(values, ("aliases", "alias"), r"[,\n]"))


def summary_of(values: Mapping[str, Any]) -> str:
    return text_of(values.get("summary")) or text_of(values.get("description"))


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """The non-empty items in order, without duplicates."""
    return tuple(dict.fromkeys(item for item in items if item))


def _items(values: Mapping[str, Any], keys: Iterable[str], separator: str) -> list[str]:
    items: list[Any] = []
    for key in keys:
        value = values.get(key)
        if isinstance(value, list):
            items += value
        else:
            items += re.split(separator, text_of(value))
    return [text_of(item) for item in items]


def _end(lines: Sequence[str]) -> int:
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((n for n, line in enumerate(lines[1:], 2) if line.rstrip() == "---"), 0)


def load_yaml(raw: str) -> Any:
    """Untrusted YAML as plain values; raises ValueError, YAMLError and what else PyYAML raises."""
    if not raw.strip():
        return None
    if len(raw) > MAX_SIZE:
        raise ValueError("too large")
    import yaml

    check_depth(raw)
    return _plain(yaml.load(raw, _loader()), [MAX_VALUES])  # noqa: S506 - it is a safe loader


def check_depth(data: bytes | str) -> None:
    """Raise ValueError before libyaml's composer overflows the C stack and ends the process."""
    import yaml

    if len(data) < SHALLOW:
        return
    depth = 0
    for event in yaml.parse(data, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")


def dump_yaml(values: Mapping[str, Any]) -> str:
    """Strings, numbers, lists and mappings as block YAML, in the order of their keys."""
    import yaml

    options: dict[str, Any] = {"width": 80, "sort_keys": False, "allow_unicode": True}
    return str(yaml.dump(dict(values), Dumper=_dumper(), default_flow_style=False, **options))


@cache
def _dumper() -> Any:
    """PyYAML's safe dumper without aliases, with multi-line text as blocks."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
            return True

        def choose_scalar_style(self) -> Any:
            # The brief at a session's start reads these lines without a parser: no '' in them.
            style = super().choose_scalar_style()
            text = getattr(self.event, "value", "")
            return '"' if style == "'" and "'" in text else style

    def represent_text(dumper: Any, text: str) -> Any:
        return dumper.represent_scalar(
            "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
        )

    Dumper.add_representer(str, represent_text)
    Dumper.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(_CORE_NUMBER), list("-+.0123456789")
    )
    return Dumper


@cache
def _loader() -> Any:
    """A safe loader with YAML 1.2's scalars: `no`, `14:30` and `0123` are text, so are dates."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("Loader", (base,), {"yaml_implicit_resolvers": {}})
    for name, pattern, first in (
        ("bool", "^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
        ("null", "^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
        ("int", _INT, "-+0123456789"),
        ("float", _FLOAT, "-+0123456789"),
        ("timestamp", _MOMENT, "0123456789"),
    ):
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(pattern), first)
    loader.add_constructor("tag:yaml.org,2002:timestamp", _iso)
    return loader


def _iso(loader: Any, node: Any) -> str:
    if "T" in node.value:
        return str(node.value)
    try:
        return str(loader.construct_yaml_timestamp(node).isoformat())
    except (ValueError, AttributeError):  # an impossible date, such as 30 February, stays text
        return str(node.value)


def _plain(value: Any, left: list[int]) -> Any:
    """A value in JSON types, of bounded size: a few YAML aliases can expand to a billion items."""
    left[0] -= 1
    if left[0] < 0:
        raise ValueError("too many values")
    if isinstance(value, dict):
        return {str(key): _plain(item, left) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(item, left) for item in value]
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
