"""Kinen sessions: a folder for each, with the rounds of a conversation and what came of it."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, NamedTuple

from kinen.errors import NotFound, QueryError, SpaceError, UnsafeFile
from kinen.markdown.frontmatter import read_frontmatter, text_of
from kinen.privacy import entrance
from kinen.storage import inside
from kinen.text import iso
from kinen.worklog.folder import slug_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = "sessions"
_NAME = re.compile(r"(\d{8})-(\d{2})-.+")
_ROUND = re.compile(r"(\d{2,})-.+\.md")
GOING, COMPLETE = "in-progress", "complete"
ENDED = (COMPLETE, "completed", "done", "closed", "archived")
LARGEST = 1 << 20
"""Bytes of the first file of a session."""
MOST = 99
"""Sessions of a day, rounds of a session."""


class Session(NamedTuple):
    """A session as its folder shows it."""

    name: str
    title: str
    status: str
    started: str
    rounds: tuple[str, ...]
    """Paths of its files, relative to the space."""
    artifacts: tuple[str, ...]
    summary: str = ""
    """The path of its summary, if there is one."""

    @property
    def path(self) -> str:
        return f"{FOLDER}/{self.name}"

    @property
    def ended(self) -> bool:
        return self.status in ENDED


def sessions(root: str) -> list[Session]:
    """The sessions of a space, newest first."""
    return [_session(root, name) for name in sorted(_names(root), reverse=True)]


def _names(root: str) -> list[str]:
    try:
        names = inside.folders(root, FOLDER)
    except OSError:
        return []
    return [name for name in names if _NAME.fullmatch(name)]


def session(root: str, name: str = "") -> Session:
    """The session of a name or a part of it; without one, the newest that goes on."""
    found = sessions(root)
    if not name:
        going = [one for one in found if not one.ended]
        if not going:
            raise NotFound("no session goes on", "begin one: `kinen session new TITLE`")
        return going[0]
    exact = [one for one in found if one.name == name]
    near = exact or [one for one in found if name.lower() in one.name.lower()]
    if not near:
        raise NotFound(f"no session {name!r}", "`kinen session list` shows them")
    if len(near) > 1:
        named = ", ".join(one.name for one in near[:5])
        raise QueryError(f"{name!r} is a part of several: {named}", "give more of the name")
    return near[0]


def _session(root: str, name: str) -> Session:
    values, title = _read(root, f"{FOLDER}/{name}/init.md")
    day = f"{name[:4]}-{name[4:6]}-{name[6:8]}"
    started = text_of(values.get("started_at")) or text_of(values.get("date")) or day
    status = text_of(values.get("status")) or text_of(values.get("kinen_status")) or GOING
    summary = f"{FOLDER}/{name}/session-summary.md"
    return Session(
        name,
        title or name[12:].replace("-", " "),
        status.replace("_", "-"),
        started,
        _files(root, name, "rounds"),
        _files(root, name, "artifacts"),
        summary if inside.is_file(root, summary) else "",
    )


def _files(root: str, name: str, part: str) -> tuple[str, ...]:
    try:
        paths = inside.files_below(root, f"{FOLDER}/{name}/{part}")
    except (OSError, UnsafeFile):
        return ()
    return tuple(sorted(path for path in paths if path.endswith(".md")))


def _read(root: str, path: str) -> tuple[dict[str, object], str]:
    """The frontmatter and the first heading of a file."""
    lines = inside.text(root, path, LARGEST).removeprefix("\ufeff").splitlines()
    front = read_frontmatter(lines)
    title = next((line[2:].strip() for line in lines[front.end :] if line.startswith("# ")), "")
    return front.values, text_of(front.values.get("title")) or title


def new_session(root: str, title: str, now: float) -> str:
    """Make the folder and the first file of a session; its path."""
    title, moment = _titled(title), iso(now)
    day = moment[:10].replace("-", "")
    inside.make_folder(root, FOLDER)

    def taken() -> list[int]:
        return [int(name[9:11]) for name in _names(root) if name.startswith(day)]

    with _numbered(root, f"{FOLDER}/.{day}", taken) as number:
        name = f"{day}-{number:02}-{slug_of(title)}"
        folder = f"{FOLDER}/{name}"
        inside.make_folder(root, folder, new=True)
    front = _front(moment, artifact_type="init", kinen_session=name)
    inside.create(root, f"{folder}/init.md", f"{front}\n# {title}\n".encode())
    for part in ("rounds", "artifacts", "resources"):
        inside.make_folder(root, f"{folder}/{part}")
    return folder


def new_round(root: str, title: str, now: float, name: str = "") -> str:
    """Write the next round of a session, ready to be filled in; its path."""
    title, its = _titled(title), session(root, name)
    if its.ended:
        raise QueryError(f"{its.name} is {its.status}", "begin another: `kinen session new TITLE`")
    folder = f"{its.path}/rounds"
    inside.make_folder(root, folder)

    def taken() -> list[int]:
        matches = map(_ROUND.fullmatch, inside.files(root, folder))
        return [int(match[1]) for match in matches if match]

    with _numbered(root, f"{folder}/.", taken) as number:
        about = {"artifact_type": "round", "kinen_session": its.name, "kinen_round": number}
        front, asked = _front(iso(now), **about), f"### Q{number}.1: \n\n> [!note] Answer\n> \n"
        path = f"{folder}/{number:02}-{slug_of(title)}.md"
        text = f"{front}\n# Round {number}: {title}\n\n{asked}"
        inside.replace(root, path, text.encode())
    return path


@contextlib.contextmanager
def _numbered(root: str, beginning: str, taken: Callable[[], list[int]]) -> Iterator[int]:
    """The next number, which nobody else gets meanwhile."""
    for number in range(max(taken(), default=0) + 1, MOST + 1):
        mark = f"{beginning}-{number:02}"
        try:
            inside.make_folder(root, mark, new=True)
        except FileExistsError:
            continue
        try:
            if number not in taken():
                yield number
                return
        finally:
            inside.remove_folder(root, mark)
    raise SpaceError(f"there are {MOST} of them already", "go on with one of them")


def close_session(root: str, its: Session, summary: str, now: float) -> None:
    """Say that a session is complete, and write its summary unless somebody wrote one."""
    init = f"{its.path}/init.md"
    text = ""
    with contextlib.suppress(FileNotFoundError):
        text = inside.read(root, init, LARGEST).decode("utf-8", "surrogateescape")
    ended = _ended(text or f"# {its.title}\n", iso(now))
    inside.replace(root, init, ended.encode("utf-8", "surrogateescape"))
    if summary and not its.summary:
        about = {"artifact_type": "session_summary", "kinen_session": its.name}
        front = _front(iso(now), status=COMPLETE, **about)
        text = f"{front}\n# {its.title}\n\n{entrance.name(summary).strip()}\n"
        inside.create(root, f"{its.path}/session-summary.md", text.encode())


def _ended(text: str, at: str) -> str:
    """A file's text with its status set to complete; nothing else of it is touched."""
    lines = text.splitlines(keepends=True)
    plain = [line.rstrip("\r\n").removeprefix("\ufeff") for line in lines]
    end = read_frontmatter(plain).end
    if not end:
        rest = text.removeprefix("\ufeff")
        return f"---\nstatus: {COMPLETE}\nended_at: {at}\n---\n\n{rest}"
    close = "\r\n" if lines[0].endswith("\r\n") else "\n"
    kept = [line for line in lines[: end - 1] if not re.match(r"(kinen_)?status:|ended_at:", line)]
    kept += [f"status: {COMPLETE}{close}", f"ended_at: {at}{close}"]
    return "".join([*kept, *lines[end - 1 :]])


def _front(moment: str, **values: object) -> str:
    values = {"date": moment[:10], "started_at": moment, "status": GOING, **values}
    return "\n".join(["---", *(f"{key}: {value}" for key, value in values.items()), "---", ""])


def _titled(title: str) -> str:
    title = entrance.name(" ".join(title.split()))
    if not title:
        raise QueryError("a title says nothing", "say what it is about")
    return title[:200]
