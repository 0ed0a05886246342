"""`--engine`: index and search in PostgreSQL instead of a local index."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from kinen import config as configuration
from kinen import paths
from kinen.characters import visible_line
from kinen.errors import ConfigError, KinenError, SpaceError
from kinen.ipc.extras import require
from kinen.render.json import to_json
from kinen.render.text import report_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kinen.memory import Memory
    from kinen.memory.engine import Engine
    from kinen.verbs.search import Search
    from kinen.verbs.verb import Output

CONFIGURED = "config"
"""The word for the address of the user's own settings."""
DEEPEST = 3
"""Folders below a folder in which repositories are looked for."""


def open_engine(address: str) -> Engine:
    """The database at an address, or at that of the user's own settings."""
    require("--engine", "postgres")
    settings = configuration.load(paths.default_home())
    url = settings.engine.url if address == CONFIGURED else address
    if not url:
        raise ConfigError(
            "engine.url is not set", "run `kinen config set --user engine.url postgresql://…`"
        )
    from kinen.memory.engine import Engine

    return Engine(url, settings)


def engine_output(call: Search) -> Output:
    """The answer of a search in the database that it names."""
    from kinen.query import search_query
    from kinen.verbs.search import fields_of

    with open_engine(call.engine) as engine:
        settings = configuration.load(paths.default_home()).search
        query = search_query(call.query, settings, **fields_of(call, search_query))
        return call.output(engine.search(query, vars(call)["space"]))


def index_engine(
    address: str,
    spaces: Sequence[str],
    folders: Sequence[str],
    *,
    embed: bool,
    rebuild: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Index repositories one after the other; other workers with the same list take the rest."""
    from kinen.cli.output import ERROR, note
    from kinen.cli.run import bar, colours, fail
    from kinen.postgres.work import Worker

    results: list[dict[str, Any]] = []
    code = 0
    with ExitStack() as stack:
        engine = stack.enter_context(open_engine(address))
        memories = {
            memory.space.id: stack.enter_context(memory) for memory in _memories(spaces, folders)
        }
        engine.prepare()
        worker = Worker(engine.database, list(memories))
        stack.callback(worker.close)
        while identity := worker.take():
            memory = memories[identity]
            name = memory.space.name
            try:
                with bar(quiet=quiet) as update:
                    report = engine.index(memory, embed=embed, rebuild=rebuild, progress=update)
                failure = report.failure
                results.append({"name": name, **report._asdict()})
                if not as_json and not quiet:
                    line = visible_line(name)
                    print(f"{colours()('bold', line)}: {report_text(report)}", flush=True)
            except KinenError as error:
                failure = error.line()
                results.append({"name": name, "failure": failure})
            worker.finish(identity, failure)
            if failure:
                code = ERROR
                fail(f"{name}: {failure}")
        graphs = engine.build_graphs() if embed else 0
        others = [memories[identity].space.name for identity in worker.elsewhere]
    if others and not as_json and not quiet:
        note(f"{len(others)} of {len(memories)} are indexed by other workers")
    if as_json:
        print(to_json({"spaces": results, "elsewhere": others, "graphs": graphs}))
    return code


def _memories(spaces: Sequence[str], folders: Sequence[str]) -> Iterator[Memory]:
    """The spaces that were named, and the repositories in some folders; the current one else."""
    from kinen.memory import Memory
    from kinen.memory.engine import SHARED_SETTINGS
    from kinen.space.find import resolve_names

    for folder in folders:
        repositories = sorted(_repositories(folder))
        if not repositories:
            raise SpaceError(f"no repository in {folder}", "give a folder with repositories in it")
        for root in repositories:
            yield Memory.open(root, settings=SHARED_SETTINGS)
    if spaces:
        for space in resolve_names(paths.default_home(), spaces):
            yield Memory.open(space=space.id, settings=SHARED_SETTINGS)
    elif not folders:
        yield Memory.open(settings=SHARED_SETTINGS)


def _repositories(folder: str, depth: int = 0) -> Iterator[str]:
    """The folders with a repository at or below a folder; none inside of another one."""
    if os.path.exists(os.path.join(folder, ".git")):
        yield folder
        return
    if depth == DEEPEST:
        return
    try:
        with os.scandir(folder) as listed:
            entries = [entry.path for entry in listed if entry.is_dir(follow_symlinks=False)]
    except OSError as error:
        if depth:
            return  # a folder that may not be read has none for us
        fact = f"cannot read {folder}: {error.strerror}"
        raise SpaceError(fact, "give another folder") from error
    for path in entries:
        yield from _repositories(path, depth + 1)
