"""What an observation tells, whoever recorded it: its command, files, failure, error line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kinen.journal import shell
from kinen.journal.verdict import RUNS_TESTS, failure_line, runs_tests, verdict
from kinen.model.journal import Observation
from kinen.text import digest, excerpt

if TYPE_CHECKING:  # statements load a markdown parser
    from kinen.text.statements import Role

ACTIONS = ("command", "tool_call", "file_diff")
"""Kinds that tell of something done, which may have failed or not."""
TARGETS = ("filePath", "path", "pattern", "url", "query")
LONGEST_PATH = 300
LOOKED_AT = 20_000
"""Characters of an output in which the line that names an error is looked for."""
_ERROR_LINE = re.compile(
    r"(?im)^(?![ \t>]{0,8}\d{1,6} ?\|)[^\n]{0,300}?"
    r"(?:error|exception|fatal|panicked|denied|failed)(?:\[\w{1,20}\])?:[^\n]*"
)
"""A line that names an error; `186 | submitError: …` is a line of source that a tool quotes."""
_FAILED_COUNT = re.compile(r"(?i)\b([1-9]\d{0,6}) (?:tests? )?(?:failed|failures?|failing|fail)\b")
_COUNT = r"(?<![\d.])\d[\d,]{0,12}\s+(?:tests?|passed|passing|pass|examples|assertions|specs|ok)\b"
_TEST_COUNT = re.compile(_COUNT.replace(r"\d[\d,]{0,12}", r"(\d[\d,]{0,12})"), re.IGNORECASE)
_OF_MANY = re.compile(r"test result: ")
"""Begins the result of each of the test programs that `cargo test` runs."""
_CUT = "\n…\n"
"""Stands for the middle of a long output."""
_PICKED = re.compile(r"\|\s*(?:tail|head|grep|rg|sed|awk)\b")
"""Lets through a part of an output."""
_PASSED_OR_FAILED = re.compile(r"(\d{1,7}) (passed|failed)")
_ENDED = re.compile(r"(?i)\bpass|\bfail|\bok\b")
_COUNTED = re.compile(rf"(?im)^[^\n]{{0,200}}?{_COUNT}[^\n]*")


def role(event: Observation) -> Role | None:
    """Who speaks in a message; nobody in other kinds."""
    if event.kind != "message":
        return None
    return "assistant" if string(event, "role") == "assistant" else "user"


def teammate(event: Observation) -> str:
    """The agent that wrote a prompt; empty if a user did."""
    return string(event, "teammate")


def succeeded(event: Observation) -> bool | None:
    """Whether an action succeeded; None where nobody knows, which is never told as success."""
    if event.kind in ("error", "node_error"):
        return False
    if event.kind not in ACTIONS:
        return None
    if provenance(event).get("hasError") is True:
        return False
    line = command(event)
    if not line:
        return not exit_code(event)
    return verdict(line, body(event), exit_code(event))


def failed(event: Observation) -> bool:
    """Whether something is known to have failed."""
    return succeeded(event) is False


def command(event: Observation) -> str:
    """The command line that was run, if one was."""
    if event.kind not in ("command", "error"):
        return ""
    line = string(event, "command").strip()
    if line or not event.content.startswith("$ "):
        return line
    return event.content.partition("\n")[0][2:].strip()


def invoked(line: str) -> list[list[str]]:
    """The words of each program that a command line runs, without wrappers, pipes and `cd`."""
    found = [shell.words(part.text) for part in shell.parts(line) if part.before != "|"]
    return [words for words in found if words and words[0] != "cd"]


def programs(line: str) -> list[str]:
    """What a command line runs, without folders, options, pipes and redirections: `mix test`."""
    names = []
    for words in invoked(line):
        program = words[0].rstrip("/").rsplit("/", 1)[-1]
        verb = words[1] if len(words) > 1 and words[1][:1].isalpha() else ""
        if program:
            names.append(f"{program} {verb}".strip())
    return names


def is_test(event: Observation) -> bool:
    """Does it run tests?"""
    return runs_tests(command(event))


def tests_passed(event: Observation) -> bool | None:
    """Whether the tests of a run passed, whatever a command after them did; None if unknown.

    `test && lint` fails with the linter: its output counts tests that passed, and none that failed.
    """
    passed = succeeded(event)
    if passed is not False:
        return passed
    output = body(event)[-LOOKED_AT:]
    chained = len(invoked(command(event))) > 1
    return chained and bool(_TEST_COUNT.search(output)) and not _FAILED_COUNT.search(output)


def test_command(event: Observation) -> str:
    """The part of a command line that runs tests, without what prepares it."""
    line = command(event)
    found = ""
    for part in shell.parts(line):
        if found and part.before != "|":
            break
        if found or RUNS_TESTS.search(part.text):
            found = f"{found} | {part.text}" if found else part.text
    return found or line


def looks_around(event: Observation) -> bool:
    """Is it a command that only reads, or a use of a tool that was merely refused?"""
    line = command(event)
    if not line:
        return bool(_tool(event))
    return not shell.acting(line)


def deed(event: Observation) -> str:
    """What was tried: a command line, or a tool and what it was used on."""
    return command(event) or tool_use(event)


def named_error(event: Observation) -> str:
    """The line that names what went wrong, if one does."""
    match = _ERROR_LINE.search(body(event).strip()[:LOOKED_AT])
    return match[0].strip() if match else ""


def error_line(event: Observation) -> str:
    """The line that names what went wrong, else one by which the program failed, else the last."""
    text = body(event).strip()
    told = named_error(event) or failure_line(command(event), text)
    return told or text[:LOOKED_AT].rpartition("\n")[2].strip()


def test_result(event: Observation) -> str:
    """The line of a test run that counts its tests: failed ones, else the most, else the last.

    Empty where several programs ran and their results were cut out: a part is not the sum.
    """
    output = body(event)[-LOOKED_AT:]
    lines = [match[0].strip("= ") for match in _COUNTED.finditer(output)]
    programs_run = [line for line in lines if _OF_MANY.match(line)]
    if programs_run and (_CUT in output or _PICKED.search(command(event))):
        return ""
    if len(programs_run) > 1:
        # The results of several test programs of one run as one
        counts: dict[str, int] = {}
        for line in programs_run:
            for count, word in _PASSED_OR_FAILED.findall(line):
                counts[word] = counts.get(word, 0) + int(count)
        return ", ".join(f"{count} {word}" for word, count in counts.items())
    failed_lines = [line for line in lines if _FAILED_COUNT.search(line)]
    chosen = max(reversed(failed_lines or lines), key=_most_tests, default="")
    return excerpt(chosen, 120)


def _most_tests(line: str) -> tuple[bool, int]:
    """Whether a line says how tests ended, and how many there were."""
    counts = (int(count.replace(",", "")) for count in _TEST_COUNT.findall(line))
    return bool(_ENDED.search(line)), max(counts, default=0)


def _tool(event: Observation) -> str:
    return string(event, "toolName") or labelled(event, "Tool: ")


def tool_use(event: Observation) -> str:
    """A tool and what it was used on."""
    tool = _tool(event)
    if not tool:
        return ""
    targets = (*files(event), *(string(event, name) for name in TARGETS))
    target = next(filter(None, targets), "")
    return f"{tool} {target}" if target else ""


def files(event: Observation) -> list[str]:
    """The files it names."""
    names = [path for path in event.files if isinstance(path, str)] if event.files else []
    names = names or [string(event, "filePath") or labelled(event, "File: ")]
    paths = dict.fromkeys(path[:LONGEST_PATH] for path in names)
    return [path for path in paths if path.strip()]


def labelled(event: Observation, label: str) -> str:
    """What stands behind a label in the head of the content, as in `File: src/a.py`."""
    if event.kind not in ("tool_call", "file_diff", "error"):
        return ""
    head = event.content[:2000].split("\n", 3)[:3]
    return next((line[len(label) :].strip() for line in head if line.startswith(label)), "")


def body(event: Observation) -> str:
    """The content without the lines that only say what was done."""
    content = event.content
    line = string(event, "command")
    if line and content.startswith(f"$ {line}"):
        return content[2 + len(line) :]
    for label in ("Tool: ", "File: ", "$ "):
        if content.startswith(label):
            content = content.partition("\n")[2]
    return content


def exit_code(event: Observation) -> int | None:
    code = provenance(event).get("exitCode")
    if isinstance(code, str) and re.fullmatch(r"-?\d{1,10}", code):
        code = int(code)
    if isinstance(code, bool) or not isinstance(code, int):
        return None
    return code if abs(code) < 1 << 32 else 1


def string(event: Observation, name: str) -> str:
    value = provenance(event).get(name)
    return value if isinstance(value, str) else ""


def provenance(event: Observation) -> Mapping[str, Any]:
    return event.provenance if isinstance(event.provenance, Mapping) else {}


def same_error(event: Observation) -> str:
    """A name for an error that is the same when it comes again."""
    return digest(error_line(event))
