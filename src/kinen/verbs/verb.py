"""What a verb is: one declaration, from which the command, the tool, the endpoint and their
reference are made.

A verb is a function of a memory that answers with an `Output`: the value that is the JSON of every
surface, and its text. Its other arguments are its parameters (`kinen.verbs.params`), its docstring
is the help of its command. `kinen.verbs.catalogue` lists the verbs.

    @verb(result=Greeting, route="greet", tool="kinen_greet")
    def greet(memory: Memory, name: str = param("", "whom to greet")) -> Output:
        "Greet somebody."
        return Output(Greeting(name), f"hello {name}")

`result` is a dataclass: its annotations are the schema, and a docstring below a field describes it
in the API. A verb whose text, remarks and value need much of the same is a class with a method for
each.
"""

from __future__ import annotations

from kinen.model.tuples import NamedTuple
from kinen.verbs.params import Param

# A cold search imports this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, ClassVar

    from kinen.memory import Memory
    from kinen.memory.federation import Open
    from kinen.render.screen import Screen, Style

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


class Shape(NamedTuple):
    """The schema of a result that is made of entries of the journal."""

    name: str
    base: Any
    """A type of entry whose fields it has (`kinen.render.journal.entry_json`), or None."""
    fields: Mapping[str, Any]
    """Further fields: types, entries, or `[entry]` for a list of them."""


def page(plural: str, entry: Any) -> Shape:
    """A page of entries, with the position of the next."""
    title = plural.removesuffix("s").capitalize()
    return Shape(f"{title}Page", None, {plural: [entry], "next": str | None})


class View(NamedTuple):
    """Where a result is shown."""

    screen: Screen
    place: Callable[[str], str] = str
    """A path of the space as the reader can open it."""

    @property
    def style(self) -> Style:
        return self.screen.style


def plain_view() -> View:
    """For agents and pipes."""
    from kinen.render.screen import Screen

    return View(Screen())


class Output(NamedTuple):
    """The answer of a verb, for people and for programs."""

    value: Any
    """A result or the JSON values of one. A function is called for it only where it is needed."""
    text: str | Callable[[View], str] = ""
    found: bool = True
    """Whether there was a result; decides the exit code."""
    notes: Sequence[str] = ()
    """Remarks: what is missing, what to do. Options are written `--name`."""
    paths: Sequence[str] = ()
    """The files in the text, as the space has them."""
    raw: str | None = None
    """Printed byte for byte in place of the text."""
    agent_text: Callable[[], str] | None = None
    """Makes the text for agents that read no JSON, where it differs."""

    @property
    def data(self) -> Any:
        """The value as JSON values."""
        return plain(self.value() if callable(self.value) else self.value)

    def rendered(self, view: View | None = None) -> str:
        return self.text(view or plain_view()) if callable(self.text) else self.text


def listing(
    value: Any,
    text: str | Callable[[View], str],
    items: Sequence[Any],
    empty: str = "",
    total: int = 0,
) -> Output:
    """The output of a list, with a remark if it is empty, or if there are more in total."""
    notes = [empty] if empty and not items else []
    if items and total > len(items):
        notes.append(f"{len(items):,} of {total:,}; --limit shows more")
    return Output(value, text, found=bool(items), notes=notes)


class Verb:
    """One thing that kinen does; an object is one call of it.

    A class has `answer`, or the methods that it is made of: `run` may keep on the object what
    `text` and `notes` need beyond the result.
    """

    result: ClassVar[Any] = None
    """The type of the answer, a union of several, or `module:type` where its import would slow the
    command; None where no surface needs its schema."""
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
    tool_result: ClassVar[Any] = None
    """The type of the tool's answer, where it is another."""
    tool_fields: ClassVar[tuple[str, ...]] = ()
    """Fields of the result that the tool answers with, where it has others than all."""
    idempotent: ClassVar[bool] = True
    """Whether a second call with the same arguments changes nothing more."""
    writes: ClassVar[bool] = False
    journal_only: ClassVar[bool] = False
    """Whether it uses the journal alone: it does not wait for a search."""
    lists_files: ClassVar[bool] = False
    """Whether the command has -l, which prints `files_in` only."""
    slow: ClassVar[bool] = False
    """Whether it takes so long that other requests should not wait for it."""
    several: ClassVar[bool] = False
    """Whether the command can ask several spaces at once."""
    working: ClassVar[str] = ""
    """What the command says meanwhile, if it takes long."""
    embeds: ClassVar[bool] = False
    """Whether it asks by meaning: a daemon, which has the model loaded, is started for the next."""
    quick: ClassVar[bool] = False
    """Whether the command must start fast: without click, and answered by a daemon if one runs. Its
    endpoint then answers with text, too."""
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

    @classmethod
    def of_line(cls, words: Sequence[str], values: dict[str, Any]) -> Verb:
        """The call of a quick command: its words, and its options by their keys."""
        raise NotImplementedError

    @classmethod
    def is_group(cls) -> bool:
        """Whether it has parts only."""
        return cls.run is Verb.run and cls.answer is Verb.answer

    def answer(self, memory: Memory) -> Output:
        """The answer that every surface shows."""
        result = self.run(memory)
        return Output(
            result,
            lambda view: self.text(result, view),
            found=not self.empty(result),
            notes=[*self.notes(result)],
            paths=[*self.files_in(result)] if self.lists_files else (),
            raw=self.raw(result),
            agent_text=lambda: self.agent_text(result),
        )

    def answer_of(self, spaces: Sequence[str], opener: Open | None = None) -> Output:
        """The answer of several spaces as one, for verbs with a parameter `space`."""
        raise NotImplementedError

    def is_slow(self) -> bool:
        """Whether this call takes so long that other requests should not wait for it."""
        return self.slow

    def run(self, memory: Memory) -> Any:
        raise NotImplementedError

    def text(self, result: Any, view: View) -> str:
        """The result as people and agents read it."""
        raise NotImplementedError

    def agent_text(self, result: Any) -> str:
        """The result for agents that read no JSON, where it differs."""
        return self.text(result, plain_view())

    def raw(self, result: Any) -> str | None:  # noqa: ARG002
        """What the command prints byte for byte in place of the text, if anything."""
        return None

    def empty(self, result: Any) -> bool:
        """Whether there is no result, which decides the exit code: its first field is empty."""
        if self.writes:
            return False
        values = result if isinstance(result, dict) else plain(result)
        return not next(iter(values.values()))

    def notes(self, result: Any) -> Iterable[str]:  # noqa: ARG002
        """Remarks on the result: what is missing, what to do. Options are written `--name`."""
        return ()

    def files_in(self, result: Any) -> Iterable[str]:
        """The files in the result, as the space has them."""
        raise NotImplementedError


def verb(
    params: Mapping[str, Param] | None = None, **facts: Any
) -> Callable[[Callable[..., Output]], type[Any]]:
    """Declare a verb by a function; `facts` are the attributes of a `Verb`.

    An argument is a parameter of the same name, without the underscore that a name of Python gets;
    further ones are in `params`. An argument by keyword alone is an attribute of the call.
    """

    def declare(function: Callable[..., Output]) -> type[Any]:
        code: Any = function.__code__
        names = code.co_varnames[1 : code.co_argcount]
        rows = {**dict(zip(names, function.__defaults__ or (), strict=True)), **(params or {})}
        by_keyword = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
        rest = rows.keys() - {name.rstrip("_") for name in by_keyword}

        def answer(self: Verb, memory: Memory) -> Output:
            arguments = {name: getattr(self, name.rstrip("_")) for name in (*rest, *by_keyword)}
            return function(memory, **arguments)

        about = {
            "__doc__": function.__doc__,
            "__module__": function.__module__,
            "answer": answer,
            "params": {name.rstrip("_"): row for name, row in rows.items()},
        }
        return type(function.__name__.rstrip("_"), (Verb,), {**facts, **about})

    return declare


def group(about: str, **parts: type[Verb] | str) -> type[Verb]:
    """A command that has only parts."""
    named = {name.rstrip("_"): part for name, part in parts.items()}
    return type("Group", (Verb,), {"__doc__": about, "parts": named})


def plain(value: Any) -> Any:
    """A result as JSON values, named tuples in it as objects."""
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if hasattr(value, "_fields"):
        return plain(value._asdict())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def moment(phrase: str, *, end: bool = False) -> str:
    """A time such as `3d` or `yesterday` in ISO form; an empty phrase stays empty."""
    if not phrase:
        return ""
    from kinen.text import now, parse_time

    return parse_time(phrase, now(), end=end)


def next_offset(total: int, offset: int, size: int) -> int:
    """Where the next page of a list begins; 0 after the last."""
    end = offset + size
    return end if size and end < total else 0
