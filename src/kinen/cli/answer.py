"""Answers of a command: of a running daemon, or else of this process."""

from __future__ import annotations

import os
import sys

from kinen.cli.output import (
    FOUND,
    NOTHING,
    coloured,
    file_name,
    note,
    print_rendered,
    terminal_width,
    write_raw,
)

# A process that prints an answer of the daemon imports little more than this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import ModuleType, TracebackType
    from typing import Any

    from kinen.memory import Memory
    from kinen.verbs.search import Recall, Search
    from kinen.verbs.verb import Output, Verb

    Answer = tuple[int, str, list[str]]
    """The exit code, the text to print, and remarks."""
else:
    ModuleType = type(sys)  # without `types`


def run(verb: type[Search | Recall], words: list[str], values: dict[str, Any]) -> int:
    """Run a quick verb by the words and options of its command, and print the answer."""
    call = verb.of_line(words, values)
    paths_only = values.get("files") is True
    by_line = bool(values.get("as_lines") or (values.get("null") and paths_only))
    as_json = by_line or bool(values["as_json"])
    if "colour" in verb.params:
        call.colour = coloured(sys.stdout)  # type: ignore[union-attr]
        call.width = terminal_width()  # type: ignore[union-attr]
    answer = None if call.local else _from_daemon(call, as_json=as_json)
    code, text, notes = answer or _from_here(call, as_json=as_json)
    if by_line:
        return _print_lines(text, code, files=paths_only)
    if as_json:
        notes = []
    elif code:
        notes = [*notes, *filter(None, [call.nothing(notes)])]
    if notes:
        for remark in notes:
            note(with_options(remark))
    if text and paths_only and not as_json:
        if sys.stdout.isatty():
            print(text)
        else:  # for xargs: each name as the file has it
            write_raw("\n".join(map(file_name, text.split("\n"))) + "\n")
    elif text:
        print_rendered(text)
    return code


def run_alone(verb: type[Verb], words: list[str], values: dict[str, Any]) -> int:
    """Run a verb of one argument that this process answers, without click."""
    space = values.pop("space")
    as_json = values.pop("as_json")
    argument = next(key for key, row in verb.params.items() if not row.names)
    with opened(space) as memory:
        output = rendered(verb(**values, **{argument: words[0]}).answer(memory), memory)
    return emit(output, as_json)


def opened(space: str | None) -> Memory:
    """The memory of a space, which says so if it has to be indexed first."""
    from kinen.memory.memory import Memory

    memory = Memory.open(space=space)
    show_work(memory)
    return memory


def opener(memory: Memory) -> Callable[[str], str]:
    """A function that turns a path of the space into one that opens from the working folder."""
    from kinen.paths import openable

    root = memory.space.root
    folder = os.getcwd()
    return lambda path: openable(root, path, folder)


def rendered(output: Output, memory: Memory) -> Output:
    """An output with its text, while the memory is open."""
    from kinen.cli.run import screen
    from kinen.verbs.verb import View

    view = View(screen(), opener(memory))
    paths = [view.place(path) for path in output.paths]
    output = output._replace(text=output.rendered(view), paths=paths)
    warn(memory)
    return output


def warn(memory: Memory) -> None:
    """Print what is wrong with the configuration of a space but stops nothing; once."""
    for warning in memory.core.untold("config", memory.config.warnings):
        note(warning)


def emit(output: Output, as_json: bool) -> int:
    """Print the result of a command and return the exit code."""
    from kinen.cli.run import screen

    if as_json:
        from kinen.render.json import to_json

        print(to_json(output.data))
    else:
        from kinen.verbs.verb import View

        text = output.rendered(View(screen()))
        if output.raw is not None:
            write_raw(output.raw)
        elif text:
            print(text)
        for remark in output.notes:
            note(remark)
    return FOUND if output.found else NOTHING


def with_options(remark: str) -> str:
    """A remark on hits with the option of the command line in place of its description."""
    remark = remark.replace("a minimum score of 0", "--min-score 0")
    return remark.replace("mode hybrid", "--hybrid")


def _print_lines(answer: str, code: int, *, files: bool) -> int:
    """Print an answer in JSON as a line for each hit, or with `files` as paths that end in NUL."""
    import json

    from kinen.characters import visible_json
    from kinen.paths import openable

    data = json.loads(answer)
    for remark in data["notes"]:
        note(with_options(remark))
    if not files:
        for hit in data["results"]:
            print(visible_json(json.dumps(hit, ensure_ascii=False)))
        return code
    sources = [hit["source"] for hit in data["results"]]
    present = [source for source in sources if source["metadata"].get("alive") is not False]
    folder = os.getcwd()
    names = dict.fromkeys(
        openable(source["root"], source["path"], folder) for source in present if source["path"]
    )
    write_raw("".join(f"{file_name(name)}\0" for name in names))
    return FOUND if names else NOTHING


def _from_daemon(call: Search | Recall, *, as_json: bool) -> Answer | None:
    """The daemon's answer, ready to print; None if this process has to do the work."""
    from kinen.paths import DAEMON_LOCK, debug, default_home

    home = default_home(os.environ)
    if not os.path.exists(os.path.join(home, DAEMON_LOCK)):
        return None
    from kinen.ipc import client
    from kinen.space import route

    if client.own_settings(os.environ):
        return None
    values = vars(call)
    fields = {name: values[name] for name, row in call.params.items() if row.is_on("endpoint")}
    spaces = fields.pop("space")
    space = spaces[0] if len(spaces) == 1 else ""
    if len(spaces) > 1 or space == "all":
        fields["space"] = spaces
        space = ""
    elif not space:
        here = route.here()
        if here is None or not os.path.exists(os.path.join(here.index, "index.db")):
            return None  # the first search builds the index and reports it
        space = here.root
    accept = "application/json" if as_json else "text/plain"
    endpoint = f"POST /v1/{call.route}"
    answer = client.ask(home, endpoint, fields, space=space, accept=accept)
    debug(f"{endpoint} of the daemon: {answer.code if answer else 'no answer'}")
    if answer is None or answer.code != 200:
        return None  # this process reports errors in terms of the command line
    notes = client.unquoted(answer.headers.get("x-kinen-notes", ""))
    code = int(answer.headers.get("x-kinen-code", "0"))
    text = answer.body.decode("utf-8", "surrogatepass")
    return code, text, notes.split("\n") if notes else []


BLAS_THREADS = "OPENBLAS_DEFAULT_NUM_THREADS"
"""How many threads numpy starts where nothing else says so; a daemon does not inherit it."""


class Absent(ModuleType):
    """Stands for a module that is imported by the first use of one of its names."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by the import itself
            raise AttributeError(name)
        from importlib import import_module

        sys.modules.pop(self.__name__, None)
        return getattr(import_module(self.__name__), name)


def _lighten_numpy() -> None:
    """Have numpy start no threads and leave out what nobody reads, before it is imported.

    One question keeps one processor busy; threads that wait for it do so in a loop. The modules
    with docstrings are a seventh of the import.
    """
    os.environ.setdefault(BLAS_THREADS, "1")
    for name in ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars"):
        sys.modules.setdefault(name, Absent(name))


def _from_here(call: Search | Recall, *, as_json: bool) -> Answer:
    """The answer of this process, ready to print."""
    from kinen.index.match import WIDE, begun, depth
    from kinen.space import route
    from kinen.text import terms

    here = route.here() if call.plain else None
    index = os.path.join(here.index, "index.db") if here else ""
    most = max(depth(vars(call)["limit"]), WIDE if call.route == "recall" else 0)
    with begun(index, terms(call.query), most):
        output = _output(call)
        if as_json:
            from kinen.render.json import to_json

            return FOUND if output.found else NOTHING, to_json(output.data), []
        text = output.rendered()
    return FOUND if output.found and text else NOTHING, text, [*output.notes]


def _output(call: Search | Recall) -> Output:
    values = vars(call)
    if values.get("engine"):
        from kinen.cli.engine import engine_output

        return engine_output(call)  # type: ignore[arg-type]
    spaces = values["space"]
    if len(spaces) > 1 or "all" in spaces:
        return call.answer_of(spaces)
    from kinen.memory.memory import Memory

    with Memory.open(space=spaces[0] if spaces else None) as memory, daemon_started(memory):
        show_work(memory)
        return call.answer(memory)


class daemon_started:  # noqa: N801
    """Starts the daemon at the end of the block, for the next command; words answer this one."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __enter__(self) -> None:
        self._memory.core.words_first = lambda: None  # the daemon loads the model
        self._memory.core.on_vectors = _lighten_numpy

    def __exit__(
        self, kind: type[BaseException] | None, _: object, __: TracebackType | None
    ) -> None:
        if kind is None and self._memory.config.daemon.auto_start:
            from kinen.ipc import client

            client.start(self._memory.space.home)


def show_work(memory: Memory) -> None:
    """Have a memory print on standard error what it indexes, if that takes long."""

    def progress() -> AbstractContextManager[Callable[[str, int, int], None]]:
        from kinen.cli.run import bar

        return bar()

    def on_wait(who: str) -> None:
        note(f"{who}; waiting for it")

    memory.core.progress = progress
    memory.core.on_wait = on_wait
