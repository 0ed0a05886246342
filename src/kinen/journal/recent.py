"""The latest sessions of a space, as entries for a brief: what they left open, and what came of
them. Hooks import this module: it is light.

A session that was closed has a summary, which is read by its labels. One that was not is read from
its latest events: what it edited, what failed, what it said last.
"""

from __future__ import annotations

import os

from kinen.journal import runs
from kinen.journal.brief import Entry
from kinen.journal.capsules import CLIENT
from kinen.journal.schema import ALIVE, OF_CAPSULE, strings
from kinen.model.kinds import REDACTED
from kinen.text import QUESTION, excerpt
from kinen.text.shorten import LABELS, is_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    Statements = tuple[runs.Words, list[runs.Words], list[runs.Words]]
    """What a session was asked for and did, the sentences of its outcome, and its steps."""

SESSIONS = 30
"""The newest sessions that are looked at."""
EVENTS = 300
"""The latest events of a session without a summary that are read."""
OPEN_MS = 30 * 24 * 3_600_000
"""How long something that a session left open is told."""
SILENT_MS = 3_600_000
"""How long a session is at work without an event, where nobody knows whether its process runs."""
STALE_MS = 24 * 3_600_000
"""How long it is where the process runs: one that waits for its user is not at work for ever."""
WRAPPERS = frozenset("sh bash dash zsh ksh fish env timeout nice setsid uv uvx".split())
"""Programs that stand between a client and its hook, and end with it."""
DEPTH = 8
"""Ancestors of a hook among which its client is looked for."""
FILES = 3
"""Files that are named of an earlier session, or of one that stopped."""
LONGEST = 300
"""Characters of a command, an error or a request."""
WORDS = 2
"""Words beside a command up to which a step is to run it, and nothing more."""
REPLY = 8
"""Words of a request that may be a mere reply to what was said before it."""
ASKED = 4
"""Words from which on a reply to a question says by itself what is wanted."""
HASH = 8
"""Characters of the id of a commit in a summary, with its bracket."""
GO_ON = frozenset(
    "on continue proceed next more weiter continuez continue sigue continúa продолжай дальше 继续"
    " 続けて".split()
)
"""Words that ask to go on, besides those that agree."""
SIGNS = ".,;!:"
"""What may stand at the end of such a word."""
UNANSWERED = "not answered: "
"""Begins the outcome of a session whose last request has no answer."""
UNFINISHED = "not finished: "
"""Begins the outcome of a session that was left in the middle of its last request."""
STOPPED = "stopped in the middle: "
"""Begins the outcome of a session that did something for its last request and did not answer."""
LEFT = (UNANSWERED, UNFINISHED, STOPPED)
COMMITTED = "committed "
"""Begins the outcome of a session whose last message does not say what it did: its commit."""
WORKING = "at work: "
"""Begins the outcome of a session that is at work on its last request."""


class Recent:
    """A session: who it was, whether it is at work, and the lines of its summary by their labels.

    `foreign` is True of a colleague's. `work` is False of a session that changed nothing, failed at
    nothing and left nothing to do.
    """

    def __init__(self, capsule: str, agent: str, intent: str, at: int) -> None:
        self.capsule = capsule
        self.agent = agent
        self.intent = intent
        self.at = at
        self.begun = at
        self.ref = f"capsule:{capsule}"
        self.branch = ""
        self.who = ""
        self.running = False
        self.foreign = False
        self.work = False
        self.parts: dict[str, list[str]] = {}

    @property
    def outcome(self) -> str:
        return "\n".join(self.parts.get("Outcome", ()))


def sessions(db: sqlite3.Connection, but: str, now: int) -> list[Recent]:
    """The latest sessions but one that worked or are at work; `in_order` orders them.

    In a team as many of one's own as of colleagues.
    """
    from kinen.journal.authors import arrival, signature, team_author, team_person

    person = team_person(db)
    foreign = "EXISTS (SELECT 1 FROM team_entries t WHERE t.noun = 'capsule' AND t.id = c.id"
    foreign += " AND t.author != ?)"
    groups = [f"NOT {foreign}", foreign] if person else ["? = ''"]
    query = (
        "SELECT c.id, c.agent, c.intent, c.status, c.opened_at, c.closed_at, s.id, s.content"
        " FROM capsules c LEFT JOIN summaries s ON s.id = (SELECT id FROM summaries"
        f" WHERE capsule = c.id AND {ALIVE} ORDER BY created_at DESC, id DESC LIMIT 1)"
        " WHERE c.type = 'session' AND c.forgotten_at = 0 AND c.id != ? AND c.parent = ''"
        " AND (c.intent != '' OR c.status != 'open' AND EXISTS (SELECT 1 FROM observations o"
        " WHERE o.capsule = c.id AND o.capsule != '')) AND "
    )
    end = " ORDER BY c.opened_at DESC, c.id DESC LIMIT ?"
    rows = [
        row
        for group in groups
        for row in db.execute(query + group + end, (but, person, SESSIONS)).fetchall()
    ]
    hidden = {row[0] for row in db.execute("SELECT ref FROM suppressed")}
    latest = []
    for id_, agent, intent, status, opened, closed, summary, content in rows:
        if f"capsule:{id_}" in hidden or f"summary:{summary}" in hidden or intent == REDACTED:
            continue
        session = Recent(id_, agent, intent, closed or opened)
        session.begun = opened
        if status == "open" or not summary:
            _read_events(db, session, status, now)
        else:
            session.ref = f"summary:{summary}"
            session.parts = labelled(content)
            session.work = _worked(db, session)
        if not (session.work or (session.running and session.intent)):
            continue
        latest_branch = db.execute(
            f"SELECT branch FROM observations WHERE {OF_CAPSULE} AND branch != ''"
            " ORDER BY ts DESC, id DESC LIMIT 1",
            (id_,),
        ).fetchone()
        session.branch = latest_branch[0] if latest_branch else ""
        colleague = team_author(db, f"capsule:{id_}", person) if person else ""
        if colleague:
            session.foreign = True
            session.at = arrival(db, f"capsule:{id_}", session.at)
        place = f"{agent or 'a session'} on {session.branch}" if session.branch else agent
        session.who = f"{place}{signature(colleague)}" if colleague else place
        if session.outcome.startswith(STOPPED) and not session.running:
            session.who += f", {STOPPED[:-2]}"
        latest.append(session)
    return latest


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
    steps = [line for line in parts.get("Next", ()) if not line.endswith(QUESTION)]
    if steps and not session.outcome.startswith(LEFT):
        return True
    edit = f"SELECT 1 FROM observations WHERE {OF_CAPSULE} AND kind = 'file_diff' LIMIT 1"
    return db.execute(edit, (session.capsule,)).fetchone() is not None


# Which sessions are at work


def client_process() -> str:
    """The process of the client that runs this hook; empty where that cannot be known.

    It is its number, when it began and the namespace of its number: numbers come again.
    """
    pid = os.getppid()
    for _ in range(DEPTH):
        name, parent, began = _stat(pid)
        if not began:
            break
        if name not in WRAPPERS:
            return f"{pid} {began} {_namespace()}"
        pid = parent
    # Without /proc only a client that says which process it is can be known.
    own = os.environ.get("CLAUDE_PID", "")
    return f"{own} - -" if own.isdecimal() and not os.path.exists("/proc/self/stat") else ""


def _runs(process: str) -> bool | None:
    """Whether the process of a client still runs; None where nobody knows."""
    pid, _, rest = process.partition(" ")
    began, _, namespace = rest.partition(" ")
    if not pid.isdecimal():
        return None
    if began == "-":
        return process_exists(int(pid)) if hasattr(os, "fork") else None
    if namespace != _namespace():
        return None  # in another container: its numbers mean nothing here
    return _stat(int(pid))[2] == began


def process_exists(pid: int) -> bool:
    """Whether a process of this machine runs, whoever started it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's
    return True


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _stat(pid: int) -> tuple[str, int, str]:
    """The name of a process, its parent and when it began; empty if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read(1024).decode("utf-8", "replace")
    except OSError:
        return "", 0, ""
    # The name is in brackets and may have any character; state, parent and the rest follow.
    name = line[line.find("(") + 1 : line.rfind(")")]
    fields = line[line.rfind(")") + 2 :].split()
    if len(fields) < 20 or fields[0] in "ZX":
        return "", 0, ""
    return name, int(fields[1]), fields[19]


def at_work(db: sqlite3.Connection, capsule: str, last: int, now: int) -> bool:
    """Whether an open session is at work: its process runs, or it was heard of a short while ago.

    `last` is when something happened in it.
    """
    row = db.execute("SELECT value FROM meta WHERE key = ?", (CLIENT + capsule,)).fetchone()
    alive = _runs(row[0]) if row else None
    if alive is None:
        return now - last < SILENT_MS
    return alive and now - last < STALE_MS


def outcome_now(db: sqlite3.Connection, capsule: str, outcome: str, now: int) -> str:
    """The outcome of an open session: one that is at work has not left its last request."""
    left = next((label for label in LEFT if outcome.startswith(label)), "")
    if not left:
        return outcome
    sql = f"SELECT max(ts) FROM observations WHERE {OF_CAPSULE}"
    last = db.execute(sql, (capsule,)).fetchone()[0] or 0
    return WORKING + outcome[len(left) :] if at_work(db, capsule, last, now) else outcome


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
        if now - last > STALE_MS or (client and _runs(client) is False)
    ]


# Sessions without a summary


class _Events:
    """What happened in a session, read from its latest event to earlier ones."""

    def __init__(self) -> None:
        self.answer = ""
        """The last message, if it is one of the agent's."""
        self.before = ""
        """The last message of the agent."""
        self.request: str | None = None
        self.deeds = 0
        """Whatever was done for the last request."""
        self.edited: dict[str, None] = {}
        self.edited_before: dict[str, None] = {}
        self.commands: list[runs.Ran] = []

    def take(self, kind: str, content: str, role: str, files: str) -> None:
        if kind == "message" and role == "assistant":
            self.before = self.before or content.strip()
            self.answer = self.before if self.request is None else self.answer
        elif kind == "message" and self.request is None:
            self.request = excerpt(content, LONGEST)
        elif kind != "message":
            self.deeds += self.request is None
        if kind == "file_diff":
            edited = self.edited if self.request is None else self.edited_before
            edited.update(dict.fromkeys(strings(files)))


def _read_events(db: sqlite3.Connection, session: Recent, status: str, now: int) -> None:
    """Read what happened in a session that has no summary, the latest first."""
    rows = db.execute(
        "SELECT kind, content, files, ts, branch, role, command, exit_code, has_error"
        f" FROM observations WHERE {OF_CAPSULE} AND {ALIVE} ORDER BY ts DESC, id DESC LIMIT ?",
        (session.capsule, EVENTS),
    ).fetchall()
    last = rows[0][3] if rows else session.at
    session.at = max(session.at, last)
    session.running = status == "open" and at_work(db, session.capsule, last, now)
    events = _Events()
    for kind, content, files, ts, branch, role, command, code, error in rows:
        events.take(kind, content, role, files)
        line = command or (content[2:].partition("\n")[0] if content[:2] == "$ " else "")
        if line and kind in ("command", "error"):
            bad = kind == "error" or bool(error)
            run = runs.Ran(line, ts, branch=branch, code=code, failed=bad, text=content)
            events.commands.append(run)
    request = events.request or ""
    # Of one at work only that is told which files it edited.
    failed = [] if session.running else runs.open_failures(events.commands)
    session.work = bool(events.edited or events.edited_before or failed)
    parts = session.parts
    if session.intent or request:
        parts["Intent"] = [session.intent or request]
    errors = [excerpt(run.text.strip().rpartition("\n")[2], LONGEST) for run in failed]
    lines = [code_span(runs.shown(run.line)) for run in failed]
    failures = [f"{line}: {error}" for line, error in zip(lines, errors, strict=True)]
    if failures:
        parts["Unresolved"] = failures
    before = [line for line in events.before.splitlines() if line.strip()]
    if events.answer or (before and not events.deeds):
        parts["Outcome"] = before
    elif session.work:
        broken = failures[0].replace("`: ", "` failed: ", 1) if failures else ""
        parts["Outcome"] = [
            STOPPED + "; ".join(filter(None, (edited_files(events.edited), broken)))
        ]
        parts["Earlier"] = before[:1]
    if request and session.work and not events.answer:
        parts["Next"] = [*filter(None, [meaning(events.before, request)])]
    if session.running:
        whole = edited_files({**events.edited, **events.edited_before})
        parts["Work"] = [whole] if whole else []


def edited_files(paths: Iterable[str]) -> str:
    """What a session edited, in words; empty for nothing."""
    names = [*paths]
    more = len(names) - FILES
    shown = ", ".join(names[:FILES]) + (f" and {more} more" if more > 0 else "")
    return f"edited {shown}" if names else ""


def meaning(before: str, request: str) -> str:
    """What an unanswered request asks for: of `the second one` the option, of `go on` nothing.

    `before` is the message that it replies to; empty for the first request.
    """
    words = request.split()
    if not before or len(words) > REPLY:
        return request
    from kinen.text.choices import YES, accepted

    choice = accepted(before, request)
    if choice:
        return choice.what
    agrees = words[0].strip(SIGNS).casefold() in YES or goes_on(request)
    is_reply = before.rstrip("*_` \n").endswith(QUESTION)
    return "" if agrees or (is_reply and len(words) < ASKED) else request


def goes_on(request: str) -> bool:
    """Is a request nothing but words that agree or ask to go on?"""
    from kinen.text.choices import YES

    words = request.split()
    bare = {word.strip(SIGNS).casefold() for word in words} if len(words) <= REPLY else {""}
    return bare <= YES | GO_ON


def code_span(text: str) -> str:
    short = excerpt(text, 100)
    return f"`` {short} ``" if "`" in short else f"`{short}`"


# What is still open


def entries(
    db: sqlite3.Connection,
    latest: Sequence[Recent],
    branch: str,
    commits: Iterable[tuple[int, str]],
    now: int,
) -> list[Entry]:
    """What sessions left open and came to, the last first.

    `commits` are subjects with their times: what they did is not open any more.
    """
    ordered = in_order(latest, branch)
    left = _Left(db, latest, commits, now)
    chosen: list[Entry] = []
    failing: set[tuple[str, str]] = set()
    for place, session in enumerate(ordered):
        near = session.branch == branch
        common = (session.ref, session.who, session.at, session.capsule)
        chosen += [Entry("next", point, *common, near=near) for point in left.steps(session)]
        failures = left.failures(session)
        if not place:  # the outcome of one that stopped says where it failed
            outcome = session.outcome.replace("` failed: ", "`: ")
            failures = [point for point in failures if point not in outcome]
        # A command that failed again later is told by what it said last.
        commands = {point: (session.branch, *_commands(point)[:1]) for point in failures}
        failures = [point for point in failures if commands[point] not in failing]
        failing.update(names for names in commands.values() if len(names) == 2)
        chosen += [Entry("failed", point, *common, near=near) for point in failures]
        if place and session.outcome.startswith(STOPPED):
            # Who it was says that it stopped, and what failed is told by itself.
            edited, more, _ = session.outcome[len(STOPPED) :].partition("; ")[0].partition(", ")
            edited += " and others" if more else ""
            chosen.append(Entry("stopped", edited, *common, near=near))
            continue
        chosen += _results(session, place, common, near=near)
    for session in latest:
        if session.running:
            state = "; ".join(filter(None, [session.intent, *session.parts.get("Work", ())]))
            text = f"{session.who}, at work: {state}"
            chosen.append(Entry("work", text, session.ref, "", session.at))
    return chosen


def in_order(latest: Iterable[Recent], branch: str) -> list[Recent]:
    """The sessions with work that ended, the last first; of two at once that of the branch.

    One's own come before those of colleagues.
    """
    worked = [session for session in latest if session.work and not session.running]
    return sorted(worked, key=lambda each: (each.foreign, -each.at, each.branch != branch))


class _Left:
    """What is still open of what sessions left: nothing that came later has done it."""

    def __init__(
        self,
        db: sqlite3.Connection,
        latest: Sequence[Recent],
        commits: Iterable[tuple[int, str]],
        now: int,
    ) -> None:
        self.db = db
        self.latest = latest
        self._statements: dict[str, Statements] = {}
        self.now = now
        self.commits = [*commits]
        for session in latest:
            state = "; ".join(session.parts.get("State", ()))
            made = [line.removeprefix(COMMITTED) for line in session.outcome.splitlines()[:1]]
            subjects = [*_subjects(state), *filter(_is_subject, made)]
            self.commits += [(session.at, subject) for subject in subjects]
        open_ = [session for session in latest if self._is_open(session)]
        since = min((session.begun for session in open_), default=0)
        self.runs: list[runs.Ran] = []
        if open_:
            failures = [
                runs.Ran(command, session.at)
                for session in open_
                for point in points(session.parts.get("Unresolved", ()))
                for command in _commands(point)[:1]
            ]
            self.runs = runs.latest(db, since, failures)

    def _is_open(self, session: Recent) -> bool:
        recent = self.now - session.at < OPEN_MS
        return recent and bool({"Next", "Unresolved"} & session.parts.keys())

    def steps(self, session: Recent) -> list[str]:
        if not self._is_open(session):
            return []
        return [
            # A request that announces a plan is known by the title of the plan.
            session.intent if session.intent and session.intent in point else point
            for point in points(session.parts.get("Next", ()))
            if not self._is_done(point, session)
        ]

    def failures(self, session: Recent) -> list[str]:
        if not self._is_open(session):
            return []
        return [
            point
            for point in points(session.parts.get("Unresolved", ()))
            if not any(self._is_cured(line, session) for line in _commands(point)[:1])
        ]

    def _is_done(self, step: str, session: Recent) -> bool:
        """Did a commit, a request or an outcome after a session do a step, or its command run?"""
        commands = _commands(step)
        outside = " ".join(step.split("`")[::2]).split()
        if len(commands) == 1 and len(outside) <= WORDS:
            step_run = runs.Ran(commands[0], session.at)
            if runs.is_cured(self.db, step_run, self.runs):
                return True
        words = runs.Words(step)
        # Git counts in seconds.
        since = session.at - 1000
        if any(at > since and runs.by_commit(words, subject) for at, subject in self.commits):
            return True
        later = (other for other in self.latest if other.at > session.at and other.work)
        return any(self._did(other, words) for other in later)

    def _did(self, session: Recent, step: runs.Words) -> bool:
        """Was a session asked for a step and finished it, or does its outcome say so?"""
        if session.capsule not in self._statements:
            self._statements[session.capsule] = _statements(session)
        request, outcome, left = self._statements[session.capsule]
        return runs.by_request(step, request) or runs.by_outcome(step, outcome, left)

    def _is_cured(self, name: str, session: Recent) -> bool:
        """Did a command succeed after it failed in a session, or after the session?"""
        begin = name.removesuffix("…")
        tried = [
            run
            for run in self.runs
            if run.capsule == session.capsule and " ".join(run.line.split()).startswith(begin)
        ]
        failure = max(tried, key=lambda run: run.at, default=None)
        if failure is None:
            failure = runs.Ran(name, session.at, branch=session.branch)
        return runs.is_cured(self.db, failure, self.runs)


def _statements(session: Recent) -> Statements:
    """What a session was asked for if it did it, the sentences of its outcome, and its steps."""
    parts = session.parts
    finished = session.outcome and not session.outcome.startswith(LEFT)
    outcome = [session.outcome] if finished else []
    request = session.intent if finished and "Unresolved" not in parts else ""
    text = "\n".join([*outcome, *points(parts.get("Earlier", ()))])
    left = [runs.Words(point) for point in points(parts.get("Next", ()))]
    return runs.Words(request), runs.sentences(text), left


def _results(
    session: Recent, place: int, common: tuple[str, str, int, str], *, near: bool
) -> list[Entry]:
    """What came of a session: of the last one all, of others the beginning."""
    outcome = session.outcome
    if place:
        first = next((line for line in outcome.splitlines() if line.strip("#*- ")), "")
        # The files that were edited most say where its work was.
        paths = _commands(" ".join(session.parts.get("Files", ())))
        names = [*dict.fromkeys(path.rpartition("/")[2] for path in paths)][:FILES]
        where = ", ".join(name for name in names if name not in first)
        request = "" if _is_subject(first) else excerpt(session.intent, 80)
        text = ": ".join(filter(None, (where, " → ".join(filter(None, (request, first))))))
        return [Entry("recent", text, *common, near=near)] if first else []
    parts = session.parts
    chosen = [Entry("outcome", outcome, *common, near=near)] if outcome else []
    # Tests that failed are told apart, and the subject of the only commit where the outcome begins
    # with it.
    pieces: list[str] = []
    keep = True
    for piece in " ".join(parts.get("State", ())).split(", "):
        if piece.startswith("tests ") or piece.split()[1:2] in (["commit"], ["commits"]):
            keep = not piece.startswith("tests ✗")
        pieces += [piece] if keep else []
    state = ", ".join(pieces)
    subjects = _subjects(state)
    if len(subjects) == 1 and outcome.startswith(subjects[0].rstrip("…")):
        state = state.replace(f" ({subjects[0]})", "", 1)
    chosen += [Entry("state", state, *common, near=near)] if state else []
    if session.intent and not _is_subject(outcome.partition("\n")[0]):
        chosen.append(Entry("intent", session.intent, *common, near=near))
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
    inside = state.partition(" commit")[2].partition("(")[2].rpartition(")")[0]
    return [part for part in inside.split("; ") if part]


def _is_subject(line: str) -> bool:
    """Does a line end as the subject of a commit in a summary: `Add a cache (1f3a9c0)`?"""
    id_ = line.rpartition(" (")[2]
    return len(id_) == HASH and id_[-1] == ")" and set(id_[:-1]) <= set("0123456789abcdef")


def _commands(point: str) -> list[str]:
    """What stands in backquotes."""
    return [" ".join(piece.split()) for piece in point.split("`")[1::2] if piece.strip()]


def own(db: sqlite3.Connection, capsule: str, now: int) -> Recent:
    """A session itself, for when its client has lost what happened in it."""
    row = db.execute(
        "SELECT c.agent, c.intent, c.opened_at, s.id, s.content FROM capsules c LEFT JOIN summaries"
        f" s ON s.id = (SELECT id FROM summaries WHERE capsule = c.id AND {ALIVE} AND written = 0"
        " ORDER BY created_at DESC LIMIT 1) WHERE c.id = ?",
        (capsule,),
    ).fetchone()
    session = Recent(capsule, *(row[:3] if row else ("", "", now)))
    _read_events(db, session, "", now)
    if row and row[3]:
        session.parts = {**session.parts, **labelled(row[4])}
    return session
