"""The command line. Each command is imported when it runs, and a few run without click."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

FAST = {"log": 1, "mcp": 0}
"""Commands that must start fast, with the words that they take."""
QUICK = {"search": "search:Search", "recall": "search:Recall", "why": "why:Why"}
"""Verbs that must start fast: their classes in `kinen.verbs`."""
ALIASES = {"query": "search"}
"""Other names of commands."""

GARBAGE = 50_000
"""New objects after which garbage is collected, by default 700."""


def main(argv: list[str] | None = None) -> None:
    """The entry point. Exit codes: 0 success or results, 1 no results, 2 error."""
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["hook"]:  # escapes the little that it prints itself
        _leave(_exit_code(words), argv is None)
    # Threads of numpy's OpenBLAS that wait are busy for 2**26 cycles first, unless told otherwise.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    from time import process_time

    from kinen.cli.output import visible_output
    from kinen.paths import debug

    with visible_output():
        code = _exit_code(words)
        debug(f"kinen {' '.join(words[:1])}: exit code {code}, {process_time():.3f} s of CPU")
        _leave(code, argv is None)


def _leave(code: int, immediately: bool) -> NoReturn:
    """End the process; `immediately` skips the interpreter's shutdown, which takes 8 ms."""
    if immediately:
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _exit_code(words: list[str]) -> int:
    """Run a command line and return its exit code."""
    try:
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does: not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _run(words: list[str]) -> int:
    completing = "_KINEN_COMPLETE" in os.environ
    if not completing:
        words = _plain(words)
    if not completing and words in ([], ["--help"], ["--help", "all"]):
        from kinen.cli.run import overview

        print(overview(everything=len(words) > 1))
        return 0
    if words == ["--version"]:
        from kinen import __version__

        print(f"kinen {__version__}")
        return 0
    if words[:1] == ["hook"]:  # called by agents, not by people
        _without_garbage_collection()
        from kinen.hooks.command import main as hook

        return hook(words[1:])
    if not completing and (words[0] in FAST or words[0] in QUICK):
        code = _run_fast(words)
        if code is not None:
            return code
    # For all other commands: what they import stays, and is looked through again and again.
    import gc

    gc.set_threshold(GARBAGE)
    from kinen.cli.groups import run

    return run(words)


def _plain(words: list[str]) -> list[str]:
    """A command line in its plain form.

    `kinen help COMMAND` is `kinen COMMAND --help`, `kinen --space X COMMAND` is `kinen COMMAND
    --space X`, and a command by another name is that command.
    """
    if words[:1] in (["help"], ["-h"], ["--help"]):
        topic = words[1:]
        return [*topic, "--help"] if topic and topic != ["all"] else ["--help", *topic]
    if words == ["version"]:
        return ["--version"]
    size = 2 if words[:1] in (["--space"], ["-s"]) else 1
    if size == 2 or (words[0:1] and words[0].startswith("--space=")):
        rest = words[size:]
        end = rest.index("--") if "--" in rest else len(rest)
        words = [*rest[:end], *words[:size], *rest[end:]]
    if len(words) == 3 and words[0] == "query" and words[1] in ("--tag", "--tags"):
        return ["files", *words[1:]]  # nothing to search for: the files with these tags
    return [*(ALIASES.get(word, word) for word in words[:1]), *words[1:]]


def _run_fast(words: list[str]) -> int | None:
    """Run a plain command line of a fast command; None leaves it to click."""
    _without_garbage_collection()
    from kinen.verbs.params import JSON, SPACE, read

    name = words[0]
    file, _, attribute = QUICK.get(name, name).partition(":")
    folder = "verbs" if name in QUICK else "cli"
    module: Any = __import__(f"kinen.{folder}.{file}", fromlist=["OPTIONS"])
    verb = getattr(module, attribute) if attribute else None
    rows = verb.params if verb else module.OPTIONS
    if verb and not verb.quick:
        rows = {**rows, "space": SPACE, "as_json": JSON}
    parsed = read(words[1:], rows)
    if parsed is None:
        return None
    arguments, values = parsed
    try:
        if verb and not verb.quick:
            if len(arguments) != 1:
                return None
            from kinen.cli.answer import run_alone

            return run_alone(verb, arguments, values)
        if verb:
            if verb.params["query"].required and not arguments:
                return None
            from kinen.cli.answer import run

            return run(verb, arguments, values)
        if len(arguments) != FAST[name]:
            return None
        code: int = getattr(module, name)(" ".join(arguments), **values)
        return code
    except BrokenPipeError:
        raise
    except Exception as error:
        from kinen.cli.run import report

        return report(error)


def _without_garbage_collection() -> None:
    """For a process that ends before garbage matters: collecting takes a tenth of its time."""
    import gc

    gc.disable()
