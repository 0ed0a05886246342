"""Kinen sessions: a folder each, with the rounds of a conversation and its artifacts."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator

from kinen.errors import NotFound, QueryError, SpaceError, UnsafeFile
from kinen.model.tuples import NamedTuple
from kinen.privacy import entrance
from kinen.sources.files.layout import date_in
from kinen.storage import inside
from kinen.text import iso
from kinen.text.frontmatter import read_frontmatter, text_of
from kinen.worklog.plans import slug_of

FOLDER = "sessions"
_NAME = re.compile(r"(\d{8})-(\d{2})-.+")
_PREFIX = re.compile(r"\d{8}-\d{2}-|\d{4}-?\d{2}-?\d{2}[-_ ]?")
_ROUND = re.compile(r"(\d{2,})(?:-.+)?\.md")
NO_SESSION = "not a session: it has no rounds/, no init.md and no date before its name"
OPEN = "in-progress"
COMPLETE = "complete"
ENDED = (COMPLETE, "completed", "done", "closed", "archived")
LARGEST = 1 << 20
"""Bytes of a session's `init.md` that are read."""
MOST = 99
"""Sessions in a day, rounds in a session."""


class Session(NamedTuple):
    """A session, read from its folder."""

    name: str
    title: str
    status: str
    started: str
    rounds: tuple[str, ...]
    """Paths relative to the space; so are `artifacts`."""
    artifacts: tuple[str, ...]
    summary: str = ""
    """The path of its summary, or empty."""

    @property
    def path(self) -> str:
        return f"{FOLDER}/{self.name}"

    @property
    def ended(self) -> bool:
        return self.status in ENDED


def sessions(root: str) -> list[Session]:
    """The sessions of a space, newest first."""
    every = [_session(root, name) for name in _folders(root) if _is_session(root, name)]
    return sorted(every, key=lambda session: (session.started[:10], session.name), reverse=True)


def other_folders(root: str) -> list[tuple[str, str]]:
    """The folders of `sessions/` that are no sessions, each with the reason."""
    names = [name for name in _folders(root) if not _is_session(root, name)]
    return [(f"{FOLDER}/{name}", NO_SESSION) for name in names]


def _folders(root: str) -> list[str]:
    try:
        names = inside.folders(root, FOLDER)
    except OSError:
        return []
    return [name for name in names if not name.startswith(".")]


def _is_session(root: str, name: str) -> bool:
    path = f"{FOLDER}/{name}"
    return (
        bool(date_in(f"{path}/init.md"))
        or inside.is_file(root, f"{path}/init.md")
        or inside.is_folder(root, f"{path}/rounds")
    )


def session(root: str, name: str = "") -> Session:
    """The session whose name is or contains `name`; without a name, the newest open one."""
    candidates = sessions(root)
    if not name:
        newest = next((session for session in candidates if not session.ended), None)
        if newest is None:
            raise NotFound("no session is open", "start one: `kinen session new TITLE`")
        return newest
    matches = [session for session in candidates if session.name == name]
    if not matches:
        matches = [session for session in candidates if name.lower() in session.name.lower()]
    if not matches:
        raise NotFound(f"no session {name!r}", "`kinen session list` shows them")
    if len(matches) > 1:
        names = ", ".join(session.name for session in matches[:5])
        raise QueryError(f"{name!r} matches several sessions: {names}", "give more of the name")
    return matches[0]


def _session(root: str, name: str) -> Session:
    init = f"{FOLDER}/{name}/init.md"
    lines = inside.text(root, init, LARGEST).removeprefix("\ufeff").splitlines()
    front = read_frontmatter(lines)
    values = front.values
    heading = next((line[2:].strip() for line in lines[front.end :] if line.startswith("# ")), "")
    title = text_of(values.get("title")) or heading
    started = text_of(values.get("started_at")) or text_of(values.get("date"))
    status = text_of(values.get("status")) or text_of(values.get("kinen_status")) or OPEN
    summary = f"{FOLDER}/{name}/session-summary.md"
    rounds = _files(root, name, "rounds")
    return Session(
        name=name,
        title=title or _PREFIX.sub("", name).replace("-", " ").strip() or name,
        status=status.replace("_", "-"),
        started=started or date_in(init) or _first_day(root, (init, *rounds)),
        rounds=rounds,
        artifacts=_files(root, name, "artifacts"),
        summary=summary if inside.is_file(root, summary) else "",
    )


def _first_day(root: str, paths: Iterable[str]) -> str:
    """The day of the oldest of these files: what a session without a date began with."""
    times = []
    for path in paths:
        with contextlib.suppress(OSError):
            times.append(os.lstat(os.path.join(root, path)).st_mtime)
    return iso(min(times))[:10] if times else ""


def _files(root: str, name: str, part: str) -> tuple[str, ...]:
    try:
        paths = inside.files_below(root, f"{FOLDER}/{name}/{part}")
    except (OSError, UnsafeFile):
        return ()
    return tuple(sorted(path for path in paths if path.endswith(".md")))


def new_session(root: str, title: str, now: float) -> str:
    """Create the folder and the files of a session; returns its path."""
    title = _checked_title(title)
    moment = iso(now)
    day = moment[:10].replace("-", "")
    inside.make_folder(root, FOLDER)

    def numbers() -> list[int]:
        matches = filter(None, map(_NAME.fullmatch, _folders(root)))
        return [int(match[2]) for match in matches if match[1] == day]

    with _numbered(root, f"{FOLDER}/.{day}", numbers) as number:
        name = f"{day}-{number:02}-{slug_of(title)}"
        folder = f"{FOLDER}/{name}"
        inside.make_folder(root, folder, new=True)
    front = _front(moment, artifact_type="init", kinen_session=name)
    inside.create(root, f"{folder}/init.md", f"{front}\n# {title}\n".encode())
    for part in ("rounds", "artifacts", "resources"):
        inside.make_folder(root, f"{folder}/{part}")
    return folder


def new_round(root: str, title: str, now: float, name: str = "") -> str:
    """Write an empty next round of a session; returns its path."""
    title = _checked_title(title)
    parent = session(root, name)
    if parent.ended:
        hint = "start another: `kinen session new TITLE`"
        raise QueryError(f"{parent.name} is {parent.status}", hint)
    folder = f"{parent.path}/rounds"
    inside.make_folder(root, folder)

    def numbers() -> list[int]:
        matches = map(_ROUND.fullmatch, inside.files(root, folder))
        return [int(match[1]) for match in matches if match]

    with _numbered(root, f"{folder}/.", numbers) as number:
        fields = {"artifact_type": "round", "kinen_session": parent.name, "kinen_round": number}
        front = _front(iso(now), **fields)
        question = f"### Q{number}.1: \n\n> [!note] Answer\n> \n"
        path = f"{folder}/{number:02}-{slug_of(title)}.md"
        text = f"{front}\n# Round {number}: {title}\n\n{question}"
        inside.replace(root, path, text.encode())
    return path


@contextlib.contextmanager
def _numbered(root: str, beginning: str, numbers: Callable[[], list[int]]) -> Iterator[int]:
    """The next free number, reserved against other processes while the context is open."""
    for number in range(max(numbers(), default=0) + 1, MOST + 1):
        mark = f"{beginning}-{number:02}"
        try:
            inside.make_folder(root, mark, new=True)
        except FileExistsError:
            continue
        try:
            if number not in numbers():
                yield number
                return
        finally:
            inside.remove_folder(root, mark)
    raise SpaceError(f"all {MOST} numbers are in use", "continue an existing one")


def close_session(root: str, session: Session, summary: str, now: float) -> None:
    """Mark a session as complete, and write its summary unless there is one."""
    init = f"{session.path}/init.md"
    text = ""
    with contextlib.suppress(FileNotFoundError):
        text = inside.read(root, init, LARGEST).decode("utf-8", "surrogateescape")
    complete = _with_complete_status(text or f"# {session.title}\n", iso(now))
    inside.replace(root, init, complete.encode("utf-8", "surrogateescape"))
    if summary and not session.summary:
        fields = {"artifact_type": "session_summary", "kinen_session": session.name}
        front = _front(iso(now), status=COMPLETE, **fields)
        text = f"{front}\n# {session.title}\n\n{entrance.name(summary).strip()}\n"
        inside.create(root, f"{session.path}/session-summary.md", text.encode())


def _with_complete_status(text: str, at: str) -> str:
    """A file's text with its status set to complete and all other lines as they were."""
    lines = text.splitlines(keepends=True)
    plain = [line.rstrip("\r\n").removeprefix("\ufeff") for line in lines]
    end = read_frontmatter(plain).end
    if not end:
        rest = text.removeprefix("\ufeff")
        return f"---\nstatus: {COMPLETE}\nended_at: {at}\n---\n\n{rest}"
    close = "\r\n" if lines[0].endswith("\r\n") else "\n"
    old_status = re.compile(r"(kinen_)?status:|ended_at:")
    front = [line for line in lines[: end - 1] if not old_status.match(line)]
    status = [f"status: {COMPLETE}{close}", f"ended_at: {at}{close}"]
    return "".join([*front, *status, *lines[end - 1 :]])


def _front(moment: str, **values: object) -> str:
    values = {"date": moment[:10], "started_at": moment, "status": OPEN, **values}
    return "\n".join(["---", *(f"{key}: {value}" for key, value in values.items()), "---", ""])


def _checked_title(title: str) -> str:
    title = entrance.name(" ".join(title.split()))
    if not title:
        raise QueryError("the title is empty", "say what it is about")
    return title[:200]
