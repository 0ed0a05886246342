"""What the journal and the files of a space have to tell an agent that begins: one for all.

The hook, the HTTP service and the page call this. Hooks import this module: it is light.
"""

from __future__ import annotations

from kinen.index import glance
from kinen.journal import capsules, recent
from kinen.journal.brief import Entry, brief, known_line, ref_of
from kinen.journal.schema import ALIVE
from kinen.model.kinds import MEMORY_CLOSE, REDACTED
from kinen.privacy.entrance import name
from kinen.storage import inside
from kinen.text import day_number, epoch, estimate, iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping

    from kinen.journal.admission import Admission
    from kinen.journal.capsules import Learned

    Dated = tuple[str, str, int]
    """A ref, its text and when it was written."""
    Brief = tuple[str, list[str]]
    """A text, and the refs of everything that it could have told."""

GENTLE = "Save what is decided or learned: `kinen_remember`, or `kinen memories add`."
"""Asks the agent that is there to write memories."""
ROOMY = 300
"""Tokens of a brief that has room for that line."""
MEMORIES = 40
"""Memories that are considered."""
COMMITS = 5
"""Commits that a space without sessions tells of."""
RECENT = 400
"""The newest observations, whose files count as touched lately."""
ISSUE = 120
"""Characters of the issue in progress: its id and title."""
AUTHOR = 60
SOURCE = 120
"""Characters of the name of an author, and of the ref that a memory was drawn from."""
JOURNAL_TABLES = {"observation": "observations", "summary": "summaries", "memory": "memories"}
RULE = "pattern"
"""The type of memories that are rules, whatever is worked on."""
KEEP = "Keep in the summary, word for word, what is pinned and what the plan still has to do:"
HALF_LIFE = 90 * 86_400_000
"""Milliseconds in which a memory counts half as much."""
IN_PLAY = 6
"""Files touched last, which count more than others that were touched lately."""
FAR = 2
"""The distance of a memory that is about none of them."""
LONGEST = 1_000
"""Bytes of the file that names the active plan."""
CHECKPOINTS = 12
"""The latest checkpoints that are told."""
MOST_DAYS = 366
"""Days whose checkpoints are counted."""
STALE = 7
"""Days without a checkpoint after which a plan is asked about and no longer shown."""
MARKS = ((".active-plan", "plans"), (".active-brief", "briefs"))
SO_FAR = (
    *(("Decided", "Decided: "), ("Learned", "Learned: "), ("Unresolved", "Failed: ")),
    *(("Next", "Next: "), ("State", "State: "), ("Files", "Changed: ")),
    *(("Work", ""), ("Commands", "Ran: ")),
)
"""What a session decided, changed, ran and failed at: labels of its summary, and in a brief."""
SUBAGENT = 0.5
"""The share of the budget that a subagent gets: it begins with one task."""


class Start:
    """An agent that begins in a space: who it is, where it is, and what it has been told."""

    def __init__(
        self,
        db: sqlite3.Connection | None,
        admission: Admission,
        *,
        tree: str,
        index: str,
        session: str,
        agent: str,
        capsule: str,
        branch: str,
        now: int,
        budget: int,
        asks: bool = False,
        knows: Callable[[str, str], bool] = lambda _ref, _text: False,
    ) -> None:
        """`asks` says whether the agent is asked to save what is decided or learned, and `knows`
        whether a ref, or a text, is in the agent's context.
        """
        self.db = db
        self.admission = admission
        self.tree = tree
        self.index = index
        self.session = session
        self.agent = agent
        self.capsule = capsule
        self.branch = branch
        self.now = now
        self.budget = budget
        self.asks = asks and budget >= ROOMY
        self.knows = knows

    def brief(self, *, compacted: bool = False) -> Brief:
        """What a session is told when it begins, or after its client has compacted it."""
        plan, pins = self._plan_and_pins()
        entries = self.entries()
        if compacted and self.db:
            session = recent.own(self.db, self.capsule, self.now)
            so_far = [
                f"{label}{line}"
                for name, label in SO_FAR
                for line in recent.points(session.parts.get(name, ()))
            ]
            own = [
                Entry("own", text, "", "", 0, "own", near=True, order=place)
                for place, text in enumerate(so_far)
            ]
            entries = [*own, *entries]
        overview = issue = ""
        if self.db:
            overview = overview_of(self.db, self.capsule, self.tree, self.index, self.admission)
            issue = issue_in_progress(self.db, self.index, self.admission)
        room = self.budget - (estimate(GENTLE) if self.asks else 0)
        text, refs = self._brief(
            plan, pins, entries, room, overview=overview, issue=issue, hints=True
        )
        body, close, rest = text.rpartition(MEMORY_CLOSE)
        if close and self.asks:  # a brief of nothing stays empty
            text = f"{body}{GENTLE}\n{close}{rest}"
        return text, refs

    def to_preserve(self) -> Brief:
        """What has to survive a compaction: plan and pins."""
        return self._brief(*self._plan_and_pins(), [], self.budget)

    def subagent(self, files: Iterable[str]) -> Brief:
        """What a subagent is told: pins, rules, and what concerns the files of its task."""
        paths = {path.rstrip("/") for path in files}
        names = {path.rpartition("/")[2] for path in paths} - {""}
        entries = []
        for entry in self.entries(paths):
            own = (path for path in entry.files if path.rpartition("/")[2] in names)
            near = any(name in entry.text for name in names) or any(own)
            if near or entry.kind == "rule":
                # A rule about other files comes after those about these.
                entry.near = near
                entries.append(entry)
        return self._brief([], self._plan_and_pins()[1], entries, round(self.budget * SUBAGENT))

    def _brief(
        self,
        plan: list[str],
        pins: list[Dated],
        entries: list[Entry],
        budget: int,
        *,
        overview: str = "",
        issue: str = "",
        hints: bool = False,
    ) -> Brief:
        if plan and self.knows("", plan[0]):  # its first line changes with each completed step
            plan = []
        pins = [pin for pin in pins if not self.knows(pin[0], "\0")]
        entries = [entry for entry in entries if not self.knows(entry.ref, entry.text)]
        cited = [ref_of(plan), *(pin[0] for pin in pins), *(entry.ref for entry in entries)]
        cited = [*dict.fromkeys(filter(None, cited))]
        sources = sources_of(self.db, cited, self.index, self.admission)
        for entry in entries:
            source = sources.get(entry.ref, "")
            # a session's has its person; in the text of one at work
            if source not in (entry.text if entry.kind == "work" else entry.who):
                entry.who = f"{entry.who}{source}".strip()
        hint = self.admission.hint() if hints else ""
        text = brief(
            entries, plan, pins, budget, overview=overview, issue=issue, sources=sources, hint=hint
        )
        return text, cited

    def _plan_and_pins(self) -> tuple[list[str], list[Dated]]:
        plan = plan_of(self.tree, self.now / 1000, self.admission)
        if self.db is None:
            return plan, []
        return plan, pinned(self.db, self.session, self.agent, self.now, self.index)

    def order(self) -> list[str]:
        """The capsules of the latest sessions with work, as every surface orders them.

        One that is at work comes first: it has not ended.
        """
        latest = self._sessions()
        going = [session.capsule for session in latest if session.running and session.work]
        ended = [session.capsule for session in recent.in_order(latest, self.branch)]
        return [*going[:1], *ended]

    def _sessions(self) -> list[recent.Recent]:
        return recent.sessions(self.db, self.capsule, self.now) if self.db else []

    def entries(self, files: Iterable[str] = ()) -> list[Entry]:
        """What sessions left and came to, checkpoints and memories; commits if there is none.

        Memories about `files` come first, then those about files that were touched lately.
        """
        points = latest_points(self.tree, self.admission)
        if self.db is None:
            return points
        latest = self._sessions()
        memories, about = capsules.known_memories(self.db, self.admission)
        paths = {ref: each[1] for ref, each in about.items()}
        order = ranked(memories, "\n".join(files) or touched(self.db), paths)
        learned = []
        for place, ((ref, text, at, _), near) in enumerate(order[:MEMORIES]):
            type_, own, who = about[ref]
            kind = "rule" if near or type_ == RULE else "decided"
            learned.append(Entry(kind, text, ref, who, at, files=own, near=near, order=place))
        if not any(session.work for session in latest):
            commits = [
                Entry("commit", subject, ref, day, 0, order=place)
                for place, (ref, subject, day) in enumerate(
                    latest_commits(self.db, self.index, self.admission)
                )
            ]
            going = recent.entries(self.db, latest, self.branch, (), self.now)
            return [*points, *learned, *commits, *going]
        left = [session.at for session in latest if {"Next", "Unresolved"} & session.parts.keys()]
        since = min(left, default=0)
        since_then = glance.commits(self.index, iso(since / 1000)) if left else []
        done = [(epoch(at), subject) for _, subject, at, _ in since_then]
        left_by = recent.entries(self.db, latest, self.branch, done, self.now)
        return [*left_by, *points, *learned]


def pinned(
    db: sqlite3.Connection, session: str, agent: str, now: int, index: str = ""
) -> list[Dated]:
    """The pins of a session and an agent, each with its note and the text of its target.

    The text of a file is the one in the `index` folder.
    """
    from kinen.journal.authors import colleague, signature

    hidden = capsules.hidden(db)
    rows = db.execute(
        "SELECT target_type, target_id, reason, created_at, 'pin:' || id FROM pins"
        " WHERE (expires_at = 0 OR expires_at > ?) AND session IN ('', ?) AND agent IN ('', ?)"
        " ORDER BY created_at, id",
        (now, name(session), name(agent)),
    ).fetchall()
    entries = []
    for kind, id_, words, at, pin in rows:
        ref = f"{kind}:{id_}"
        note = words + signature(colleague(db, pin)) if words else ""
        text = ""
        if kind in JOURNAL_TABLES:
            sql = f"SELECT content FROM {JOURNAL_TABLES[kind]} WHERE id = ? AND {ALIVE}"
            row = db.execute(sql, (id_,)).fetchone()
            text = "" if row is None or row[0] == REDACTED else str(row[0])
        elif kind not in ("capsule", "pin"):
            text = glance.beginning(index, ref) or id_
        if ref not in hidden and (text or note):
            entries.append((ref, "\n".join(filter(None, (note, text))), at))
    return entries


def sources_of(
    db: sqlite3.Connection | None, refs: Iterable[str], index: str, admission: Admission
) -> dict[str, str]:
    """Who wrote something, as far as it is known: refs with words to put behind them.

    An entry of this machine has none. Of a file, the index in a folder may know who committed it.
    """
    from kinen.characters import visible_line
    from kinen.journal.admission import RECORDED
    from kinen.journal.authors import signature, team_author, team_person

    person = team_person(db) if db else ""
    open_questions = {}
    if db and person:
        from kinen.journal.edits import questions

        open_questions = questions(db)
    words = {}
    files: dict[str, str] = {}
    for ref in dict.fromkeys(refs):
        path = ref.partition(":")[2]
        if ref.startswith(RECORDED):
            author = team_author(db, ref, person) if db and person else ""
            words[ref] = visible_line(signature(author))[:AUTHOR] if author else ""
            if ref in open_questions:
                words[ref] += f" ({visible_line(str(open_questions[ref]))[:SOURCE]})"
            if ref in admission.drawn:
                words[ref] += f" (from {visible_line(admission.drawn[ref])[:SOURCE]})"
        elif not admission.is_own(path):
            files[path] = ref
    authors = glance.committers(index, [*files]) if files else {}
    for path, ref in files.items():
        author = visible_line(authors.get(path, ""))[:AUTHOR]
        words[ref] = f" (committed by {author})" if author else " (from this repository)"
    return {ref: text for ref, text in words.items() if text}


def touched(db: sqlite3.Connection) -> str:
    """The files that the latest observations name, as JSON arrays one after the other.

    What somebody saves with its files does not say that they are worked on.
    """
    rows = db.execute(
        "SELECT files FROM observations WHERE event IS NOT 'remember' ORDER BY ts DESC LIMIT ?",
        (RECENT,),
    )
    return "\n".join(dict.fromkeys(row[0] for row in rows if row[0] != "[]"))


def overview_of(
    db: sqlite3.Connection, but: str, root: str, data: str, admission: Admission
) -> str:
    """What can be recalled besides the capsule `but`, as one line; empty if there is nothing."""
    sessions, drawn = db.execute(
        "SELECT (SELECT COUNT(*) FROM capsules"
        " WHERE type = 'session' AND forgotten_at = 0 AND id != ?),"
        f" (SELECT COUNT(*) FROM memories WHERE {ALIVE} AND superseded_by = '')",
        (but,),
    ).fetchone()
    saved = checkpoint_paths(root)
    admission.count_checkpoints(saved)
    return known_line(sessions, drawn, len(saved), glance.note_count(data))


def issue_in_progress(db: sqlite3.Connection, data: str, admission: Admission) -> str:
    """The issue that is worked on, by its id and title; empty if there is none to tell."""
    hidden = capsules.hidden(db)
    issues = [row for row in glance.issues_in_progress(data) if row[0] not in hidden]
    if not issues:
        return ""
    if not admission.trusted:
        admission.withhold("issue")
        return ""
    _, key, title = issues[0]
    return f"{f'{key} {title}'[:ISSUE]} (from this repository)"


def latest_commits(
    db: sqlite3.Connection, data: str, admission: Admission
) -> list[tuple[str, str, str]]:
    """The latest commits of substance that the index in a folder has: ref, subject, day and author.

    None of a space that is not trusted. No merges, no updates of dependencies, and nothing of bots.
    """
    latest = glance.commits(data)
    if not latest:
        return []
    from kinen.model.updates import dependency_of

    hidden = capsules.hidden(db)
    commits = [
        (ref, subject, f"{at[:10]} by {author[:AUTHOR]}" if author else at[:10])
        for ref, subject, at, author in latest
        if ref not in hidden
        and not subject.startswith("Merge ")
        and not author.endswith("[bot]")
        and not dependency_of(subject)
    ][:COMMITS]
    if commits and not admission.trusted:
        admission.withhold("commit", len(commits))
        return []
    return commits


def ranked(
    memories: Iterable[Learned], touched: str, files: Mapping[str, Iterable[str]] | None = None
) -> list[tuple[Learned, bool]]:
    """Those about files touched lately first, then by how certain and how new they are.

    Each with whether it is: it names one, or has one among its own `files`, which are by ref.
    """
    candidates = list(memories)
    newest = max((memory[2] for memory in candidates), default=0)
    lines = touched.replace('"', "\n").splitlines()
    paths = [*dict.fromkeys(path for path in lines if path.strip("[], "))]
    everywhere = _names(paths)
    latest = _names(paths[:IN_PLAY])

    def rank(memory: Learned) -> tuple[int, float, str]:
        words = (word for word in memory[1].split() if "." in word or "/" in word)
        own = {word.strip("`'\"()[]{},.:;") for word in words}
        own.update((files or {}).get(memory[0], ()))
        distance = 0 if own & latest else 1 if own & everywhere else FAR
        return distance, -memory[3] * 0.5 ** ((newest - memory[2]) / HALF_LIFE), memory[0]

    keys = {memory: rank(memory) for memory in candidates}
    order = sorted(candidates, key=keys.__getitem__)
    return [(memory, keys[memory][0] < FAR) for memory in order]


def _names(paths: Iterable[str]) -> set[str]:
    """Paths, and the names of the files."""
    every = set(paths)
    return (every | {path.rpartition("/")[2] for path in every}) - {""}


# Checkpoints, by the lines of their files that are plain


def latest_points(root: str, admission: Admission) -> list[Entry]:
    """What the latest checkpoints decided or say, and what they leave to do; newest first."""
    points: list[Entry] = []
    paths: list[str] = []
    for day in _days(root):
        paths += reversed(_checkpoints(root, day))
        if len(paths) >= CHECKPOINTS:
            break
    for path in paths[:CHECKPOINTS]:
        about, body = _front(admission.read(path))
        if not admission.admits(path, "checkpoint"):
            continue
        ref = f"checkpoint:{path}"
        at = epoch(about.get("timestamp", "")) or epoch(path.split("/")[1])
        decision = _plain(about, "decision")
        text = decision or body.strip()
        decided = bool(decision) or about.get("type") == "decision"
        if text:
            points.append(Entry("rule", text, ref, "", at, near=decided))
        if _plain(about, "next"):
            points.append(Entry("next", about["next"], ref, "", at, ref))
    return points


def _plain(about: dict[str, str], name: str) -> str:
    """A value of a checkpoint that stands on one line."""
    value = about.get(name, "")
    return "" if value[:1] in ("|", ">", "[", "{") else value


def checkpoint_paths(root: str) -> list[str]:
    """The checkpoints of the latest days."""
    return [path for day in _days(root)[:MOST_DAYS] for path in _checkpoints(root, day)]


def _checkpoints(root: str, day: str) -> list[str]:
    from kinen.errors import UnsafeFile

    folder = f".memories/{day}"
    try:
        return [f"{folder}/{name}" for name in inside.files(root, folder) if name[-3:] == ".md"]
    except (OSError, UnsafeFile):
        return []


def _days(root: str) -> list[str]:
    """The days that have checkpoints, the latest first."""
    from kinen.errors import UnsafeFile

    try:
        names = inside.folders(root, ".memories")
    except (OSError, UnsafeFile):
        return []
    days = [name for name in names if len(name) == 10 and _is_day(name)]
    return sorted(days, reverse=True)


def _is_day(name: str) -> bool:
    try:
        return name[:2] == "20" and day_number(name) > 0
    except ValueError:
        return False


# The plan, read from its file as it is: a parser of YAML costs more than all else here


def plan_of(root: str, now: float, admission: Admission) -> list[str]:
    """The lines of the active plan: its title and what is to do; or that nobody touches it."""
    for mark, kind in MARKS:
        name = inside.text(root, f".memories/{mark}", LONGEST).strip("\ufeff \r\n")
        if name and not set(name) & set("/\\:\0") and name[0] != ".":
            path = f".memories/{kind}/{name}.md"
            plan = _plan(admission.read(path), name, f"plan:{path}", root, now)
            if plan and admission.admits(path, "plan"):
                return plan
    return []


def _plan(text: str, name: str, ref: str, root: str, now: float) -> list[str]:
    about, body = _front(text)
    if not about or about.get("status", "active") != "active":
        return []
    title = about.get("title") or name
    last = next(iter(_days(root)), "")  # the day of the last checkpoint
    try:
        touched_on = day_number(max(about.get("updated", ""), about.get("created", ""), last))
        idle = max(0, day_number(iso(now)) - touched_on)
    except (ValueError, OverflowError):  # no date
        idle = 0
    if idle >= STALE:
        return [f"- {title}: not touched for {idle} days; go on with it, or complete it [{ref}]"]
    lines = [line for line in body.splitlines() if line.strip()]
    open_ = [line for line in lines if line.lstrip()[:5] in ("- [ ]", "* [ ]")]
    done = sum(line.lstrip()[:5].lower() in ("- [x]", "* [x]") for line in lines)
    progress = f" ({done} of {done + len(open_)} done)" if open_ else ""
    rest = [line for line in (open_ or lines) if line.strip("# ") != title]
    return [f"- {title}{progress} [{ref}]", *(f"  {line}" for line in rest)]


def _front(text: str) -> tuple[dict[str, str], str]:
    """The plain values of a file's frontmatter, and what comes after it."""
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---":
        return {}, text
    about: dict[str, str] = {}
    for n, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return about, "\n".join(lines[n + 1 :])
        key, colon, value = line.partition(":")
        if colon and key == key.strip():
            about[key] = value.strip().strip("\"'")
    return {}, text
