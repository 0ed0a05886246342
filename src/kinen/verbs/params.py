"""Parameters of verbs, those that several share, and the quick reader of a command line.

A cold search imports this: nothing here needs click, whose import takes longer than the search, or
dataclasses. CONTRIBUTING.md has a table of the shared options; `tests/cli/test_words.py` holds
every command to it.
"""

from __future__ import annotations

from kinen.characters import storable
from kinen.model.kinds import EVENTS, MODE_ALIASES, MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Rows = Mapping[str, "Param"]
    """Parameters by the key of their value."""

MOST = 1000
"""The largest limit of a request; a command may ask for all."""
TIMES = "2026-03-01, 2h, 3d, 1w, today, yesterday or epoch seconds"
SPACE_HELP = "space to use (default: that of the current folder)"
PREFIX = "a prefix is enough"


class Param:
    """A parameter of a verb, on every surface."""

    aliases: tuple[str, ...] = ()
    """Further options, which the help leaves out."""
    many: bool = False
    """A repeatable option, or an argument that takes all words that are left."""
    joined: bool = False
    """An argument of many words that are one text, which may begin with dashes."""
    required: bool = False
    choices: tuple[str, ...] = ()
    metavar: str = ""
    path: bool = False
    """The name of a file: its bytes stay as they are, and of a request it is inside the space."""
    ref: bool = False
    """With `path`: the name of any record."""
    end: bool = False
    """With `path`: the end of one is enough."""
    line: bool = False
    """With `ref`: a line or the number of a chunk may follow."""
    loose: bool = False
    """With `path`: a folder, a glob or the end of a path, which the verb itself looks for."""
    time: bool = False
    """A time in words; a request may send epoch milliseconds."""
    free: bool = False
    """With `ref`: or a text of its own."""
    seconds: bool = False
    """A duration in words; a request may send seconds."""
    only: str = ""
    """The surfaces that have it, if not all: `command`, `tool`, `endpoint`."""
    hidden: bool = False
    """The help leaves it out."""
    dashed: bool = False
    """Words that may begin with a dash: the command has no one-letter options."""
    separator: str = ","
    """What separates several values that are one text."""
    least: int | None = None
    most: int | None = None
    """Bounds of a number, of the characters of a text (the least), of the values of a list."""
    checked: bool = False
    """Whether the verb itself checks bounds and choices, in the same words everywhere."""
    longest: int | None = 4096
    """Characters of each text in a request."""
    pattern: str | None = None
    """Of a text in a request."""
    unbounded: bool = False
    """A limit of which 0 means all, which a request may not ask for."""
    guide: str = ""
    """Its description for agents, where its name does not say enough."""
    tool_default: Any = None
    request_default: Any = None
    """Of a request, where it is another: all would be too much."""
    unlisted: bool = False
    """Whether the tool accepts it without listing it, which saves tokens."""
    piped: str = ""
    """Standard input is taken where the argument is missing; the error if that is empty."""
    editor: tuple[str, str] = ()  # type: ignore[assignment]
    """A text that is written in the editor where it is missing: a remark, and what else to do."""
    rare: bool = False
    """Of a command with many options, help shows it with --all only."""
    example: Any = None
    """A value for the reference of the API."""

    def __init__(self, names: str, help: str, default: Any = "", **facts: Any) -> None:  # noqa: A002
        """A parameter by the names of its option, or for "" an argument."""
        unknown = facts.keys() - vars(Param).keys() - {"type"}
        if unknown:
            raise TypeError(f"a parameter has no {', '.join(unknown)}")
        self.names = tuple(names.split())
        self.help = help
        self.default = default
        self.type: type = str if facts.get("many") or default is None else type(default)
        vars(self).update(facts)

    def is_on(self, surface: str) -> bool:
        return not self.only or surface in self.only.split()


def param(names: str, help: str, default: Any = "", **facts: Any) -> Any:  # noqa: A002
    """A `Param`, for an attribute or an argument that has the type of its value."""
    return Param(names, help, default, **facts)


def words(help: str, **more: Any) -> Any:  # noqa: A002
    """The text of a verb: all words of the command line that are no options."""
    return param("", help, many=True, joined=True, **{"required": True, **more})


def offset(noun: str, **more: Any) -> Any:
    """`--offset`, which skips the first entries of a list."""
    about = {"least": 0, "most": 1 << 31, "metavar": "N", "unlisted": True}
    return param("--offset", f"skip the first N {noun}", 0, **about | more)


def since(default: str = "", **more: Any) -> Any:
    """`--since`, and with it `--days`."""
    about = f"only since this time: {TIMES}" + (f" (default: {default})" if default else "")
    aliases = ("--after", "--from")
    return param("--since", about, aliases=aliases, metavar="TIME", time=True, **more)


def limit(default: int, noun: str, *, tool: int = 0, least: int = 0, **more: Any) -> Any:
    """`--limit`, of which 0 means all on the command line, unless `least` is more."""
    description = f"maximum number of {noun}{'' if least else ' (0 = all)'}"
    bounds = {"least": least, "most": MOST, "unbounded": True, "metavar": "N", "unlisted": True}
    return param("--limit -n", description, default, tool_default=tool or None, **bounds | more)


def tags(description: str, *aliases: str, **more: Any) -> Any:
    """`--tag`, repeatable, or several tags with commas."""
    names = ("--tags", *aliases)
    return param("--tag", description, many=True, aliases=names, metavar="TAG", **more)


def flag(names: str, help: str, **more: Any) -> Any:  # noqa: A002
    return param(names, help, False, **more)


def option(names: str, metavar: str, help: str, **more: Any) -> Any:  # noqa: A002
    return param(names, help, metavar=metavar, **more)


SINCE = since(guide="3d or a date")
UNTIL = option(
    "--until",
    "TIME",
    "only until this time",
    aliases=("--before", "--to"),
    time=True,
    rare=True,
    unlisted=True,
)
DAYS = param("--days", "only the last N days", 0, metavar="N", hidden=True, only="command")
PERIOD = {"since": SINCE, "until": UNTIL, "days": DAYS}
AS_OF = option(
    "--as-of", "TIME", "what was known at a time, or in a commit", rare=True, unlisted=True
)
BEGIN = {"since": SINCE, "days": DAYS}
"""For commands whose period ends now."""
REPO = option("--repo", "NAME", f"only this repository ({PREFIX})", rare=True, unlisted=True)
AGENT = option("--agent", "NAME", f"only this agent ({PREFIX})", rare=True, unlisted=True)
USER = option("--user", "NAME", f"only this user ({PREFIX})", rare=True, unlisted=True)
SESSION = option("--session", "ID", f"only this session ({PREFIX})", rare=True, unlisted=True)
SCOPE = {"repo": REPO, "agent": AGENT, "user": USER, "session": SESSION}
TAG = tags("tag that records must have", unlisted=True)
SPACE = param("--space -s", SPACE_HELP, None, metavar="NAME", path=True)
SPACES = param(
    "--space -s",
    f"{SPACE_HELP}, or all",
    many=True,
    metavar="NAME",
    path=True,
    loose=True,
    separator="",
    unlisted=True,
)
JSON = flag("--json", "print JSON", only="command")
DRY_RUN = flag("--dry-run", "show what would be done, do nothing")
LOG = {
    "kind": param("--kind -k", "kind", "message", choices=EVENTS),
    "session": option("--session", "ID", "session it belongs to", unlisted=True),
    "agent": option("--agent", "NAME", "which agent did it", unlisted=True),
    "repo": option("--repo", "NAME", "repository it belongs to (default: this one)", unlisted=True),
    "user": option("--user", "NAME", "who did it", unlisted=True),
    "capsule": option(
        "--capsule", "ID", "recorded session that it is a part of, by its ref", unlisted=True
    ),
    "files": option(
        "--file -f",
        "PATH",
        "file it concerns",
        many=True,
        path=True,
        separator="",
        most=1000,
        guide="paths",
    ),
}
HOW = {
    "semantic": flag("--semantic", "search by meaning only", rare=True, only="command"),
    "fulltext": flag("--fulltext", "search by word only", rare=True, only="command"),
    "hybrid": flag(
        "--hybrid",
        "search by word and meaning, also if the model must load",
        rare=True,
        only="command",
    ),
    "mode": option(
        "--mode -m",
        "MODE",
        "how to search: hybrid, fulltext (by word), semantic (by meaning), or with another ranking:"
        " rrf, keyword-first, rerank (default: search.default_mode)",
        choices=(*MODES, *MODE_ALIASES),
        checked=True,
        rare=True,
        unlisted=True,
    ),
}


def mode_of(options: Mapping[str, Any]) -> str:
    """The mode from --mode, --semantic, --fulltext or --hybrid; empty if none is used."""
    modes = [name for name in ("semantic", "fulltext", "hybrid") if options[name]]
    modes += [options["mode"]] if options["mode"] else []
    if len(modes) > 1:
        from kinen.errors import QueryError

        raise QueryError(f"{' and '.join(modes)} cannot be combined", "use one mode")
    return modes[0] if modes else ""


def begin(options: Mapping[str, Any]) -> str:
    """The begin of a period, from --since or --days."""
    days = options["days"]
    if not days:
        return str(options["since"])
    from kinen.errors import QueryError

    if days < 0:
        raise QueryError("cannot be negative", "use 1 or more", parameter="days")
    if options["since"]:
        raise QueryError("cannot be combined with days", "use one of them", parameter="since")
    return f"{days}d"


def read(argv: list[str], rows: Rows) -> tuple[list[str], dict[str, Any]] | None:
    """Arguments and option values of a plain command line; None leaves it to click."""
    usable = {key: row for key, row in rows.items() if row.is_on("command")}
    by_name = {name: key for key, row in usable.items() for name in (*row.names, *row.aliases)}
    values: dict[str, Any] = {
        key: () if row.many else row.default for key, row in rows.items() if row.names
    }
    arguments: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word == "--":
            arguments.extend(map(storable, rest))
            break
        if not word.startswith("-") or word == "-":
            arguments.append(storable(word))
            continue
        name, equals, raw_value = word.partition("=")
        key = by_name.get(name, "")
        if not key or (rows[key].type is bool and equals):
            return None
        row = rows[key]
        if row.type is bool:
            values[key] = True
            continue
        if not equals:
            raw_value = next(rest, "")
        try:
            value = row.type(raw_value if row.path else storable(raw_value))
        except ValueError:
            return None
        if not raw_value or (row.choices and value not in row.choices):
            return None
        values[key] = (*values[key], *items((value,), row.separator)) if row.many else value
    return arguments, values


def items(texts: Iterable[str], separator: str = ",") -> tuple[str, ...]:
    """Values that may come one by one, or several in a text between separators."""
    if not separator:
        return tuple(texts)
    parts = [part.strip() for text in texts for part in text.split(separator)]
    return tuple(part for part in parts if part)
