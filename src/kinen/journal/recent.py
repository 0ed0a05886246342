"""The latest sessions of a space, as entries for a brief: what they left open, and what came of
them. Hooks import this module: it is light.

A session that was closed has a summary, which is read by its labels. One that was not is read from
its latest events: what it edited, what failed, what it said last.
"""

from __future__ import annotations

from kinen.journal import process
from kinen.journal.capsules import CLIENT
from kinen.journal.shorten import LABELS, is_count
from kinen.journal.worth import Entry
from kinen.model.kinds import REDACTED
from kinen.text import excerpt, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

SESSIONS = 30
"""The newest sessions that are looked at."""
EVENTS = 300
"""The latest events of a session without a summary that are read."""
RUNS = 300
"""The latest commands among which those are looked for that failed before."""
OPEN_MS = 30 * 24 * 3_600_000
"""How long something that a session left open is told."""
SILENT_MS = 3_600_000
"""How long a session is at work without an event, where nobody knows whether its process runs."""
STALE_MS = 24 * 3_600_000
"""How long it is where the process runs: one that waits for its user is not at work for ever."""
FILES = 3
"""Files that are named of a session that stopped."""
LONGEST = 300
"""Characters of a command, an error or a request."""
SHARED = 0.6
MANY = 3
"""The share of the words, and how many, by which a commit or a request is about an open point."""
UNANSWERED = "not answered: "
"""Begins the outcome of a session whose last request has no answer."""
UNFINISHED = "not finished: "
"""Begins the outcome of a session that was left in the middle of its last request."""
STOPPED = "stopped in the middle: "
"""Begins the outcome of a session that did something for its last request and did not answer."""
LEFT = (UNANSWERED, UNFINISHED, STOPPED)
_ALIVE = "redacted = 0 AND forgotten_at = 0"


class Recent:
    """A session: who it was, whether it is at work, and the lines of its summary by their labels.

    `work` is False of a session that changed nothing, failed at nothing and left nothing to do.
    """

    def __init__(self, capsule: str, agent: str, intent: str, at: int) -> None:
        self.capsule = capsule
        self.agent = agent
        self.intent = intent
        self.at = at
        self.ref = f"capsule:{capsule}"
        self.branch = ""
        self.who = ""
        self.running = False
        self.work = False
        self.parts: dict[str, list[str]] = {}

    @property
    def outcome(self) -> str:
        return "\n".join(self.parts.get("Outcome", ()))


def sessions(db: sqlite3.Connection, but: str, now: int) -> list[Recent]:
    """The latest sessions but one, newest first, those without work among them."""
    from kinen.journal.authors import team_author, team_person

    rows = db.execute(
        "SELECT c.id, c.agent, c.intent, c.status, c.opened_at, c.closed_at, s.id, s.content"
        " FROM capsules c LEFT JOIN summaries s ON s.id = (SELECT id FROM summaries"
        f" WHERE capsule = c.id AND {_ALIVE} ORDER BY created_at DESC, id DESC LIMIT 1)"
        " WHERE c.type = 'session' AND c.forgotten_at = 0 AND c.id != ? AND c.parent = ''"
        " AND (c.intent != '' OR c.status != 'open')"
        " ORDER BY c.opened_at DESC, c.id DESC LIMIT ?",
        (but, SESSIONS),
    ).fetchall()
    hidden = {row[0] for row in db.execute("SELECT ref FROM suppressed")}
    person = team_person(db)
    latest = []
    for id_, agent, intent, status, opened, closed, summary, content in rows:
        if f"capsule:{id_}" in hidden or f"summary:{summary}" in hidden or intent == REDACTED:
            continue
        session = Recent(id_, agent, intent, closed or opened)
        if status == "open" or not summary:
            _read_events(db, session, status, now)
        else:
            session.ref = f"summary:{summary}"
            session.parts = labelled(content)
            session.work = _worked(db, session)
        if not (session.work or (session.running and session.intent)):
            continue
        session.branch = _branch(db, id_)
        colleague = team_author(db, f"capsule:{id_}", person) if person else ""
        place = f"{agent or 'a session'} on {session.branch}" if session.branch else agent
        session.who = f"{place} by {colleague}" if colleague else place
        if session.outcome.startswith(STOPPED) and not session.running:
            session.who += f", {STOPPED[:-2]}"
        latest.append(session)
    return sorted(latest, key=lambda session: -session.at)


def labelled(summary: str) -> dict[str, list[str]]:
    """The lines of a summary by their labels; one without labels is all outcome."""
    parts: dict[str, list[str]] = {}
    label = ""
    for line in summary.splitlines():
        name, end, rest = line[2:].partition("**") if line.startswith("**") else ("", "", "")
        begins = end and name in LABELS
        label = name if begins else label
        text = rest.lstrip(": ") if begins else line
        if text.strip() and not is_count(text):
            parts.setdefault(label, []).append(text.rstrip())
    if not parts.keys() & {"Outcome", "Intent"}:
        return {"Outcome": [line for line in summary.splitlines() if line.strip()]}
    return parts


def points(lines: Iterable[str]) -> list[str]:
    """The items of a list, without their bullets."""
    return [line.strip().removeprefix("- ") for line in lines]


def _worked(db: sqlite3.Connection, session: Recent) -> bool:
    """Has a session an edit, a commit, a failure or next steps; or did somebody sum it up?"""
    parts = session.parts
    if "Unresolved" in parts or "Intent" not in parts:
        return True
    if any("commit" in line for line in parts.get("State", ())):
        return True
    # What is asked of the user is not a step, and a request without an answer is no work.
    steps = [line for line in parts.get("Next", ()) if not line.endswith(("?", "？"))]
    if steps and not session.outcome.startswith(LEFT):
        return True
    edit = "SELECT 1 FROM observations WHERE capsule = ? AND kind = 'file_diff' LIMIT 1"
    return db.execute(edit, (session.capsule,)).fetchone() is not None


def _branch(db: sqlite3.Connection, capsule: str) -> str:
    row = db.execute(
        "SELECT branch FROM observations WHERE capsule = ? AND branch != ''"
        " ORDER BY ts DESC, id DESC LIMIT 1",
        (capsule,),
    ).fetchone()
    return row[0] if row else ""


# Sessions without a summary


def at_work(db: sqlite3.Connection, capsule: str, last: int, now: int) -> bool:
    """Whether an open session is at work: its process runs, or it was heard of a short while ago.

    `last` is when something happened in it.
    """
    row = db.execute("SELECT value FROM meta WHERE key = ?", (CLIENT + capsule,)).fetchone()
    alive = process.runs(row[0]) if row else None
    if alive is None:
        return now - last < SILENT_MS
    return alive and now - last < STALE_MS


def gone(db: sqlite3.Connection, now: int, but: str = "") -> list[str]:
    """Sessions that are open and whose process is known to have ended, or that are long silent."""
    rows = db.execute(
        "SELECT c.id, m.value, max(c.opened_at, IFNULL((SELECT max(ts) FROM observations o"
        " WHERE o.capsule = c.id AND o.capsule != ''), 0)) FROM capsules c LEFT JOIN meta m"
        " ON m.key = ? || c.id WHERE c.status = 'open' AND c.id != ? ORDER BY c.id",
        (CLIENT, but),
    ).fetchall()
    return [
        id_
        for id_, client, last in rows
        if now - last > STALE_MS or (client and process.runs(client) is False)
    ]


def _read_events(db: sqlite3.Connection, session: Recent, status: str, now: int) -> None:
    """Read what happened in a session that has no summary, the latest first."""
    rows = db.execute(
        "SELECT kind, content, files, ts, json_extract(about, '$.role'),"
        " json_extract(about, '$.command'), json_extract(about, '$.exitCode'),"
        " json_extract(about, '$.hasError') FROM (SELECT kind, content, files, ts, id,"
        " CASE WHEN json_valid(provenance) THEN provenance ELSE '{}' END AS about"
        f" FROM observations WHERE capsule = ? AND {_ALIVE} ORDER BY ts DESC, id DESC LIMIT ?)"
        " ORDER BY ts DESC, id DESC",
        (session.capsule, EVENTS),
    ).fetchall()
    last = rows[0][3] if rows else session.at
    session.at = max(session.at, last)
    session.running = status == "open" and at_work(db, session.capsule, last, now)
    answer = request = ""
    edited: dict[str, None] = {}
    failed: dict[str, str] = {}
    settled: set[str] = set()
    for kind, content, files, _, role, command, code, error in rows:
        if kind == "message" and role == "assistant":
            answer = answer or ("" if request else content.strip())
        elif kind == "message":
            request = request or excerpt(content, LONGEST)
        elif kind == "file_diff":
            edited.update(dict.fromkeys(paths_in(files)))
        elif kind in ("command", "error"):
            line = command or (content[2:].partition("\n")[0] if content[:2] == "$ " else "")
            bad = kind == "error" or error or code not in (None, 0, "0")
            if line and bad and line not in settled:
                failed.setdefault(line, content.strip().rpartition("\n")[2])
            settled.add(line)
    session.work = bool(edited or failed)
    parts = session.parts
    if session.intent or request:
        parts["Intent"] = [session.intent or request]
    failures = [f"{code_span(line)}: {excerpt(text, LONGEST)}" for line, text in failed.items()]
    if failures:
        parts["Unresolved"] = failures
    changed = f"edited {', '.join([*edited][:FILES])}" if edited else ""
    more = len(edited) - FILES
    changed += f" and {more} more" if more > 0 else ""
    if answer:
        parts["Outcome"] = [line for line in answer.splitlines() if line.strip()]
    elif session.work:
        broken = failures[0].replace("`: ", "` failed: ", 1) if failures else ""
        parts["Outcome"] = [STOPPED + "; ".join(filter(None, (changed, broken)))]
        parts["Next"] = [request] if request else []
    if session.running:
        parts["Work"] = [changed] if changed else []


def paths_in(files: str) -> list[str]:
    """The paths of a JSON array of them; each second piece is one."""
    return files.split('"')[1::2]


def code_span(text: str) -> str:
    short = excerpt(text, 100)
    return f"`` {short} ``" if "`" in short else f"`{short}`"


# What is still open


def entries(
    latest: Sequence[Recent],
    branch: str,
    commits: Iterable[tuple[int, str]],
    runs: Iterable[tuple[int, str]],
    now: int,
) -> list[Entry]:
    """What sessions left open and came to; those of the branch first.

    `commits` and `runs` are the subjects and the commands that went well, with their times: what
    they did is not open any more.
    """
    done = [*commits]
    succeeded = [*runs]
    worked = [session for session in latest if session.work and not session.running]
    for session in latest:
        subjects = "; ".join(session.parts.get("State", ()))
        done += [(session.at, part) for part in _subjects(subjects)]
        if session.work and session.parts and not session.outcome.startswith(LEFT):
            done.append((session.at, session.intent))
    ordered = sorted(worked, key=lambda session: (session.branch != branch, -session.at))
    chosen: list[Entry] = []
    for place, session in enumerate(ordered):
        near = session.branch == branch
        common = (session.ref, session.who, session.at, session.capsule)
        parts = session.parts
        if now - session.at < OPEN_MS:
            later = [text for at, text in done if at > session.at]
            ran = [line for at, line in succeeded if at > session.at]
            chosen += [
                Entry("next", point, *common, near=near)
                for point in points(parts.get("Next", ()))
                if not _is_done(point, later, ran)
            ]
            chosen += [
                Entry("failed", point, *common, near=near)
                for point in points(parts.get("Unresolved", ()))
                if not _has_run(point, ran)
            ]
        chosen += _results(session, place, common, near=near)
    for session in latest:
        if session.running:
            state = "; ".join(filter(None, [session.intent, *session.parts.get("Work", ())]))
            text = f"{session.who}, at work: {state}"
            chosen.append(Entry("work", text, session.ref, "", session.at))
    return chosen


def _results(
    session: Recent, place: int, common: tuple[str, str, int, str], *, near: bool
) -> list[Entry]:
    """What came of a session: of the last one all, of others the beginning."""
    outcome = session.outcome
    if place:
        kind = "recent" if place < MANY else "older"
        first = next((line for line in outcome.splitlines() if line.strip("#*- ")), "")
        request = excerpt(session.intent, 80)
        first = first.removeprefix(STOPPED)  # who it was says that it stopped
        text = f"{request} → {first}" if request else first
        return [Entry(kind, text, *common, near=near)] if first else []
    parts = session.parts
    chosen = [Entry("outcome", outcome, *common, near=near)] if outcome else []
    state = " ".join(parts.get("State", ()))
    chosen += [Entry("state", state, *common, near=near)] if state else []
    chosen += [Entry("intent", session.intent, *common, near=near)] if session.intent else []
    files = " ".join(parts.get("Files", ()))
    chosen += [Entry("files", files, *common, near=near)] if files else []
    chosen += [
        Entry("earlier", line, *common, near=near) for line in points(parts.get("Earlier", ()))
    ]
    chosen += [
        Entry("rule" if near else "decided", line, *common[:3], near=near)
        for name in ("Decided", "Learned")
        for line in points(parts.get(name, ()))
    ]
    return chosen


def _subjects(state: str) -> list[str]:
    """The subjects of the commits that a summary names: `2 commits (a (1f3); b (2e4)), pushed`."""
    inside = state.partition(" commit")[2].partition("(")[2]
    return [part for part in inside.split("; ") if part]


def _is_done(point: str, later: Iterable[str], ran: Sequence[str]) -> bool:
    """Was something committed or asked for later that is about a point, or its command run?"""
    return _has_run(point, ran) or any(_about(point, text) for text in later)


def _about(point: str, text: str) -> bool:
    words = set(terms(point))
    others = set(terms(text))
    shared = len(words & others)
    return shared >= MANY and shared >= SHARED * min(len(words), len(others))


def _has_run(point: str, ran: Sequence[str]) -> bool:
    """Did the command that a point names in backquotes go well later?"""
    pieces = point.split("`")
    names = [plain_command(piece) for piece in pieces[1::2] if piece.strip()]
    return any(
        line == name or (name.endswith("…") and line.startswith(name[:-1]))
        for name in names
        for line in ran
    )


def plain_command(line: str) -> str:
    """A command without the folder that it is run in and without what becomes of its output."""
    bare = " ".join(line.split())
    while bare.startswith("cd ") and " && " in bare:
        bare = bare.partition(" && ")[2]
    return bare.partition(" | ")[0].partition(" 2>")[0].strip()


def succeeded(db: sqlite3.Connection, since: int) -> list[tuple[int, str]]:
    """The latest commands that are known to have gone well, with their times."""
    rows = db.execute(
        "SELECT ts, IFNULL(json_extract(provenance, '$.command'), substr(content, 3, 500))"
        " FROM (SELECT ts, content, provenance, kind FROM observations WHERE ts > ?"
        f" AND kind = 'command' AND {_ALIVE} AND json_valid(provenance) ORDER BY ts DESC LIMIT ?)"
        " WHERE json_extract(provenance, '$.exitCode') = 0"
        " AND NOT IFNULL(json_extract(provenance, '$.hasError'), 0)",
        (since, RUNS),
    ).fetchall()
    lines = ((at, line.partition("\n")[0]) for at, line in rows)
    # The exit code of these is that of something else.
    return [(at, plain_command(line)) for at, line in lines if not set("|;") & set(line)]


def own(db: sqlite3.Connection, capsule: str, now: int) -> Recent:
    """A session itself, for when its client has lost what happened in it."""
    row = db.execute(
        "SELECT c.agent, c.intent, c.opened_at, s.id, s.content FROM capsules c LEFT JOIN summaries"
        f" s ON s.id = (SELECT id FROM summaries WHERE capsule = c.id AND {_ALIVE} AND written = 0"
        " ORDER BY created_at DESC LIMIT 1) WHERE c.id = ?",
        (capsule,),
    ).fetchone()
    session = Recent(capsule, *(row[:3] if row else ("", "", now)))
    _read_events(db, session, "", now)
    if row and row[3]:
        session.parts = {**session.parts, **labelled(row[4])}
    return session
