"""What a capsule came to, told from its observations alone: written at close when nobody did.

One pass, and what is kept meanwhile has a limit: a session may hold a hundred thousand of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.errors import QueryError
from kinen.text import digest, estimate, excerpt, iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Sized

    from kinen.entries import Capsule, Observation

LIMIT = 600
"""Tokens of a summary, whatever happened."""
FILES, COMMANDS, ERRORS = 12, 10, 5
TRACKED = 4096
"""How many distinct files, and commands, are told apart."""
_ROOM = {"message": 110, "errors": 160, "files": 180, "commands": LIMIT}
"""Tokens that each part may take of what is left, in the order in which they take it."""
_MORE = 9
"""Tokens of `and 100,000 earlier`."""
_EDITS = 2
"""How many edits are named as the way to a fix."""
_LONGEST_PATH = 300
_DONE = ("command", "tool_call", "file_diff")
"""Kinds that tell of something done, which may have failed or not."""
_TARGETS = ("filePath", "path", "pattern", "url", "query")
_TELLING = r"^.*?(?:error|exception|fatal|panicked)(?:\[\w+\])?:.*$"
"""The line of an output that names what went wrong."""


def summarize(capsule: Capsule, observations: Iterable[Observation]) -> tuple[str, tuple[str, ...]]:
    """The summary in markdown, and the ids of the observations that its lines are drawn from."""
    seen = _Seen()
    for one in observations:
        if not (one.redacted or one.forgotten_at):
            seen.take(one)
    intent = _short(capsule.intent, 200, 50)
    if not seen.count:
        return "Nothing was recorded." + (f" Intent: {intent}" if intent else ""), ()
    head = [f"**Intent**: {intent}"] if intent else []
    span = seen.span()
    head.append(span.text)
    room = LIMIT - sum(map(estimate, head))
    told: dict[str, _Told] = {}
    for name, section in seen.sections().items():
        told[name] = _fitted(section, min(room, _ROOM[name]))
        room -= estimate(told[name].text)
    shown = [told[name] for name in ("files", "commands", "errors", "message")]
    text = "\n\n".join(["\n".join(head), *(one.text for one in shown if one.text)])
    sources = sorted({source for one in (span, *shown) for source in one.sources})
    return text, tuple(dict.fromkeys(source.id for source in sources))


class _Source(NamedTuple):
    """An observation: its place among all, and its id."""

    n: int
    id: str


class _Told(NamedTuple):
    """Text, and what it is drawn from."""

    text: str
    sources: tuple[_Source, ...]


class _Section(NamedTuple):
    """Lines under a label, and how many more there are than may be shown."""

    label: str
    lines: Sequence[_Told]
    more: int = 0
    rest: str = "more"
    listed: bool = True


class _Run(NamedTuple):
    """A command, and how its last run ended."""

    name: str
    mark: str
    source: _Source


class _Story(NamedTuple):
    """An error, and what came of it."""

    key: str
    text: str
    error: _Source
    edits: tuple[_Told, ...] = ()
    """The first files that were edited after it."""
    fix: _Told | None = None
    same: bool = False
    """Whether what succeeded is what had failed; until then a success after an edit has to do."""

    @property
    def told(self) -> _Told:
        causes = (*self.edits, self.fix) if self.fix else ()
        sources = (self.error, *(source for one in causes for source in one.sources))
        return _Told(f"{self.text} → {self._outcome()}", sources)

    def _outcome(self) -> str:
        edited = ", ".join(edit.text for edit in self.edits)
        if not self.fix:
            return "unresolved"
        if not self.same:
            return f"edited {edited}, then {self.fix.text} succeeded"
        return f"succeeded after editing {edited}" if edited else "succeeded when tried again"


class _Seen:
    """What is kept of the observations while they pass."""

    def __init__(self) -> None:
        self.count = 0
        self.ends: list[tuple[int, _Source]] = []
        self.files: dict[str, tuple[int, _Source]] = {}
        self.runs: dict[str, _Run] = {}
        self.stories: list[_Story] = []
        self.earlier = 0
        self.message: tuple[Observation, _Source] | None = None

    def take(self, one: Observation) -> None:
        source = _Source(self.count, one.id)
        self.count += 1
        ends = [*self.ends, (one.ts, source)]
        self.ends = [min(ends), max(ends)]
        if one.kind == "message" and one.content.strip():
            self.message = one, source
        for path in _files(one):
            self._touch(path, source)
        deed, command = _deed(one), _command(one)
        if command:
            self._run(deed, command, one, source)
        if _failed(one):
            self._fail(deed, one, source)
        elif one.kind in _DONE:
            self._succeed(deed, one, source)

    def _touch(self, path: str, source: _Source) -> None:
        if path in self.files or len(self.files) < TRACKED:
            self.files[path] = self.files.get(path, (0, source))[0] + 1, source

    def _run(self, deed: str, command: str, one: Observation, source: _Source) -> None:
        known = self.runs.get(deed)
        if known or len(self.runs) < TRACKED:
            name = known.name if known else _code(command, 100, 20)
            self.runs[deed] = _Run(name, _mark(one) if _failed(one) else "", source)

    def _fail(self, deed: str, one: Observation, source: _Source) -> None:
        """An error that comes again is the same story; what seemed to mend it did not."""
        text = _error(one)
        key = deed or digest(text)
        kept = [story for story in self.stories if story.same or story.key != key]
        self.stories = [*kept, _Story(key, text, source)]
        if len(self.stories) > ERRORS:
            self.earlier += 1
            del self.stories[0]

    def _succeed(self, deed: str, one: Observation, source: _Source) -> None:
        for n, story in enumerate(self.stories):
            if story.same:
                continue
            if deed and deed == story.key:
                self.stories[n] = story._replace(fix=_Told("", (source,)), same=True)
            elif one.kind == "file_diff" and not story.fix:
                self.stories[n] = story._replace(edits=_edited(story.edits, one, source))
            elif one.kind == "command" and story.edits and not story.fix:
                fix = _Told(_code(_command(one), 60, 12) or "a command", (source,))
                self.stories[n] = story._replace(fix=fix)

    def span(self) -> _Told:
        """How much there was and when, where the clock of whoever recorded it makes sense."""
        text = f"{self.count:,} observation" + ("s" if self.count > 1 else "")
        sources = tuple(source for _, source in self.ends)
        try:
            first, last = (f"{iso(ts / 1000)[:16]}Z" for ts, _ in self.ends)
        except (QueryError, OverflowError):
            return _Told(text, sources)
        return _Told(f"{text}, {first}" + (f" to {last}" if last != first else ""), sources)

    def sections(self) -> dict[str, _Section]:
        """The parts of the summary, first what must not be missing."""
        errors = [one.told for one in reversed(self.stories)]
        return {
            "message": self._said(),
            "errors": _Section("**Errors, latest first**", errors, self.earlier, "earlier"),
            "files": self._touched(),
            "commands": self._ran(),
        }

    def _said(self) -> _Section:
        if not self.message:
            return _Section("", ())
        one, source = self.message
        role = _string(one, "role")
        by = f" ({role})" if role in ("user", "assistant") else ""
        told = _Told(_short(one.content, 400, 88), (source,))
        return _Section(f"**Last message**{by}:", (told,), listed=False)

    def _touched(self) -> _Section:
        ranked = sorted(self.files.items(), key=lambda file: -file[1][0])[:FILES]
        lines = [
            _Told(_code(path, 80, 20) + (f" ×{count:,}" if count > 1 else ""), (source,))
            for path, (count, source) in ranked
        ]
        more = len(self.files) - len(lines)
        return _Section("**Files**:", lines, more, _rest(self.files), listed=False)

    def _ran(self) -> _Section:
        lines = [_Told(run.name + run.mark, (run.source,)) for run in self.runs.values()]
        more = len(lines[COMMANDS:])
        return _Section("**Commands**", lines[:COMMANDS], more, _rest(self.runs))


# Telling


def _rest(tracked: Sized) -> str:
    return "more" if len(tracked) < TRACKED else "or more"


def _fitted(section: _Section, room: int) -> _Told:
    """The lines of a section that fit into the room, and how many do not."""
    chosen: list[_Told] = []
    room -= estimate(section.label) + _MORE
    for line in section.lines:
        room -= estimate(line.text) + 1  # for its bullet or comma
        if room < 0:
            break
        chosen.append(line)
    if not chosen:
        return _Told("", ())
    texts = [line.text for line in chosen]
    more = section.more + len(section.lines) - len(chosen)
    if more:
        texts.append(f"and {more:,} {section.rest}")
    joined = "\n- ".join(["", *texts]) if section.listed else " " + ", ".join(texts)
    return _Told(section.label + joined, tuple(s for line in chosen for s in line.sources))


def _short(text: str, characters: int, tokens: int) -> str:
    """The text on one line, within both limits: there are scripts of three tokens a character."""
    shown = excerpt(text, characters)
    while estimate(shown) > tokens:
        shown = excerpt(shown, len(shown) * tokens // estimate(shown))
    return shown


def _code(text: str, characters: int, tokens: int) -> str:
    shown = _short(text, characters, tokens)
    if "`" in shown:
        return f"`` {shown} ``"
    return f"`{shown}`" if shown else ""


def _error(one: Observation) -> str:
    """What failed, and the line that says how."""
    said = _short(_telling(one), 160, 22)
    name = _code(_command(one) or _tool_use(one), 80, 14)
    if not name:
        return said or "an error"
    code = _exit_code(one)
    failed = f"{name} (exit {code})" if code else name
    return f"{failed}: {said}" if said else failed


def _mark(one: Observation) -> str:
    code = _exit_code(one)
    return f" ✗ exit {code}" if code else " ✗"


def _telling(one: Observation) -> str:
    """The line that names what went wrong, else the last."""
    body = _body(one).strip()
    found = re.search(_TELLING, body, re.IGNORECASE | re.MULTILINE)
    return found[0] if found else body.rpartition("\n")[2]


def _edited(edits: tuple[_Told, ...], one: Observation, source: _Source) -> tuple[_Told, ...]:
    text = _code(next(iter(_files(one)), ""), 80, 14) or "a file"
    if len(edits) == _EDITS or text in [edit.text for edit in edits]:
        return edits
    return (*edits, _Told(text, (source,)))


# Reading an observation, whoever wrote it


def _failed(one: Observation) -> bool:
    if one.kind not in _DONE:
        return one.kind in ("error", "node_error")
    return bool(_exit_code(one)) or _provenance(one).get("hasError") is True


def _deed(one: Observation) -> str:
    """What names the thing that was tried, so that a second try is known as such."""
    command = " ".join(_command(one).split())
    tried = f"$ {command}" if command else _tool_use(one)
    return digest(tried) if tried else ""


def _command(one: Observation) -> str:
    if one.kind not in ("command", "error"):
        return ""
    given = _string(one, "command").strip()
    if given or not one.content.startswith("$ "):
        return given
    return one.content.partition("\n")[0][2:].strip()


def _tool_use(one: Observation) -> str:
    """A tool and what it was used on."""
    tool = _string(one, "toolName") or _labelled(one, "Tool: ")
    if not tool:
        return ""
    targets = (*_files(one), *(_string(one, name) for name in _TARGETS))
    target = next(filter(None, targets), "")
    return f"{tool} {target}" if target else ""


def _files(one: Observation) -> list[str]:
    named = [path for path in one.files if isinstance(path, str)] if one.files else []
    named = named or [_string(one, "filePath") or _labelled(one, "File: ")]
    return [path for path in dict.fromkeys(path[:_LONGEST_PATH] for path in named) if path.strip()]


def _labelled(one: Observation, label: str) -> str:
    """What stands behind a label in the head of the content, as in `File: src/a.py`."""
    if one.kind not in ("tool_call", "file_diff", "error"):
        return ""
    head = one.content[:2000].split("\n", 3)[:3]
    return next((line[len(label) :].strip() for line in head if line.startswith(label)), "")


def _body(one: Observation) -> str:
    """The content without what only says what was done."""
    content, command = one.content, _string(one, "command")
    if command and content.startswith(f"$ {command}"):
        return content[2 + len(command) :]
    for label in ("Tool: ", "File: ", "$ "):
        if content.startswith(label):
            content = content.partition("\n")[2]
    return content


def _exit_code(one: Observation) -> int | None:
    code = _provenance(one).get("exitCode")
    if isinstance(code, str) and re.fullmatch(r"-?\d{1,10}", code):
        code = int(code)
    if isinstance(code, bool) or not isinstance(code, int):
        return None
    return code if abs(code) < 1 << 32 else 1


def _string(one: Observation, name: str) -> str:
    value = _provenance(one).get(name)
    return value if isinstance(value, str) else ""


def _provenance(one: Observation) -> Mapping[str, Any]:
    return one.provenance if isinstance(one.provenance, Mapping) else {}
