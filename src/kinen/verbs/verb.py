"""What a verb is: one declaration, from which the command, the tool, the endpoint and their
reference are made.

A verb is a class. Its parameters are attributes made by `param`, `run` answers with a dataclass,
and the fields of that are the JSON of every surface; a docstring below a field describes it in the
API. The docstring of a verb is the help of its command. `kinen.verbs.catalogue` lists the verbs.

    class Greet(Verb):
        result = Greeting
        name: str = param("", "whom to greet")

        def run(self, memory: Memory) -> Greeting:
            return Greeting(f"hello {self.name}")

        def text(self, result: Greeting, view: View) -> str:
            return result.text
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kinen.memory.memory import ASK
from kinen.render.screen import Screen
from kinen.render.style import Style

if TYPE_CHECKING:
    from kinen.memory import Memory

MOST = 1000
"""The largest limit of a request; a command may ask for all."""
TIMES = "2026-03-01, 2h, 3d, 1w, today, yesterday or epoch seconds"
EXAMPLES: dict[str, Any] = {
    "at": "2026-03-01T09:30:00.000Z",
    "code": "not_found",
    "content": "Redis lost sessions on restart.",
    "hint": "`kinen space list`",
    "id": "01JD8X9Z3M4N5P6Q7R8S9T0VWX",
    "message": "no space called 'notes'",
    "path": "docs/sessions.md",
    "query": "why did we drop redis",
    "ref": "note:docs/sessions.md",
    "session": "s1",
    "text": "Redis lost sessions on restart.",
    "tokens": 214,
}
"""Examples of fields for the reference of the API, by name."""


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a verb, on every surface."""

    names: tuple[str, ...]
    """Its options on the command line; none for an argument."""
    help: str
    default: Any = ""
    aliases: tuple[str, ...] = ()
    """Further options, which the help leaves out."""
    type: type = str
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
    time: bool = False
    """A time in words; a request may send epoch milliseconds."""
    local: bool = False
    """Only the command line has it."""
    hidden: bool = False
    """The help leaves it out."""
    dashed: bool = False
    """Words that may begin with a dash: the command has no one-letter options."""
    separator: str = ","
    """What separates several values that a request sends as one text."""
    least: int | None = None
    most: int | None = None
    longest: int = 4096
    """Characters of each text in a request."""
    unbounded: bool = False
    """A limit of which 0 means all, which a request may not ask for."""
    guide: str = ""
    """Its description for agents, where its name does not say enough."""
    tool_default: Any = None
    request_default: Any = None
    """Of an endpoint, where all would be too much."""
    unlisted: bool = False
    """Whether the tool accepts it without listing it, which saves tokens."""
    piped: str = ""
    """Standard input is taken where the argument is missing; the error if that is empty."""
    rare: bool = False
    """Of a command with many options, help shows it with --all only."""
    example: Any = None
    """A value for the reference of the API."""


def param(names: str, help: str, default: Any = "", **more: Any) -> Any:  # noqa: A002
    """A parameter by the names of its option, or for "" an argument; see `Param`."""
    kind = str if more.get("many") or default is None else type(default)
    return Param(tuple(names.split()), help, default, **{"type": kind, **more})


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


def add_examples(schema: dict[str, Any]) -> None:
    """Give the fields of a schema their examples."""
    types = {"integer": int, "string": str}
    for name, about in schema.get("properties", {}).items():
        kind = types.get(about.get("type", ""))
        if kind and isinstance(EXAMPLES.get(name), kind):
            about["examples"] = [EXAMPLES[name]]


class Result:
    """The base of what verbs answer: frozen dataclasses with slots."""

    __slots__ = ()
    __pydantic_config__ = {  # noqa: RUF012
        "extra": "forbid",
        "json_schema_extra": add_examples,
        "json_schema_serialization_defaults_required": True,
        "use_attribute_docstrings": True,
    }


class PartialResult:
    """The base of results whose fields with a default may be missing."""

    __slots__ = ()
    __pydantic_config__ = {  # noqa: RUF012
        **Result.__pydantic_config__,
        "json_schema_serialization_defaults_required": False,
    }


@dataclass(frozen=True, slots=True)
class View:
    """Where a result is shown."""

    screen: Screen = field(default_factory=Screen)
    place: Callable[[str], str] = str
    """A path of the space as the reader can open it."""

    @property
    def style(self) -> Style:
        return self.screen.style


PLAIN_VIEW = View()


class Verb:
    """One thing that kinen does; an object is one call of it.

    `run` may keep on the object what `text` and `notes` need beyond the result. It answers with a
    `result`, or with the JSON values of one.
    """

    result: ClassVar[Any]
    """The type of the answer, or a union of several."""
    parts: ClassVar[Mapping[str, type[Verb] | str]] = {}
    """Its subcommands: verbs, or `module:function` of what only the command line has. A class with
    parts and without `run` is a group of them."""
    route: ClassVar[str] = ""
    """Its endpoint below /v1, in which `{name}` is a parameter; none if empty."""
    methods: ClassVar[tuple[str, ...]] = ()
    """Of the endpoint; by default GET and POST if it reads, POST if it writes."""
    event: ClassVar[str] = ""
    """What listeners get to know after it has written, if not its route."""
    tool: ClassVar[str] = ""
    title: ClassVar[str] = ""
    guide: ClassVar[str] = ""
    """What tells an agent when to use the tool."""
    tool_fields: ClassVar[tuple[str, ...]] = ()
    """Fields of the result that the tool answers with, where it has others than all."""
    idempotent: ClassVar[bool] = True
    """Whether a second call with the same arguments changes nothing more."""
    writes: ClassVar[bool] = False
    lane: ClassVar[str] = ASK
    lists_files: ClassVar[bool] = False
    """Whether the command has -l, which prints `files_in` only."""
    slow: ClassVar[bool] = False
    """Whether it takes so long that other requests should not wait for it."""
    several: ClassVar[bool] = False
    """Whether the command can ask several spaces at once."""
    embeds: ClassVar[bool] = False
    """Whether it asks by meaning: a daemon, which has the model loaded, is started for the next."""
    params: ClassVar[dict[str, Param]] = {}
    on_line: Callable[[str], None] | None = None
    """Gets the lines of an answer as they arrive, where a surface can show them."""

    on_wait: Callable[[str], None] | None = None
    """Gets what it waits for, where a surface can show it."""
    client: str = ""
    """The agent that asks, where a surface knows it."""

    def __init_subclass__(cls) -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Param)}
        cls.params = {**cls.params, **own}

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - self.params.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        for name, row in self.params.items():
            default = () if row.many and not row.joined else row.default
            value = values.get(name, default)
            setattr(self, name, default if value is None else value)

    @staticmethod
    def accept(values: dict[str, Any]) -> dict[str, Any]:
        """The fields of a request, where it may have another form."""
        return values

    def run(self, memory: Memory) -> Any:
        raise NotImplementedError

    def text(self, result: Any, view: View) -> str:
        """The result as people and agents read it."""
        raise NotImplementedError

    def agent_text(self, result: Any) -> str:
        """The result for agents that read no JSON, where it differs."""
        return self.text(result, PLAIN_VIEW)

    def raw(self, result: Any) -> str | None:  # noqa: ARG002
        """What the command prints byte for byte in place of the text, if anything."""
        return None

    def empty(self, result: Any) -> bool:
        """Whether there is no result, which decides the exit code: its first field is empty."""
        if self.writes:
            return False
        return not (
            next(iter(result.values()))
            if isinstance(result, dict)
            else getattr(result, fields(result)[0].name)
        )

    def notes(self, result: Any) -> Iterable[str]:  # noqa: ARG002
        """Remarks on the result: what is missing, what to do. Options are written `--name`."""
        return ()

    def files_in(self, result: Any) -> Iterable[str]:
        """The files in the result, as the space has them."""
        raise NotImplementedError


def plain(value: Any) -> Any:
    """A result as JSON values."""
    if is_dataclass(value):
        return {row.name: plain(getattr(value, row.name)) for row in fields(value)}
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def next_offset(total: int, offset: int, size: int) -> int:
    """Where the next page of a list begins; 0 after the last."""
    end = offset + size
    return end if size and end < total else 0
