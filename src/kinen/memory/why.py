"""Why a line is there: the commits behind it, and for each the session that wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kinen.errors import GitError, NotFound, QueryError, Unreadable, UnsafeFile
from kinen.index.git import queries as past
from kinen.journal.authors import Colleague
from kinen.memory.traces import Traces
from kinen.model.journal import Observation
from kinen.model.records import Query, Record
from kinen.model.tuples import NamedTuple
from kinen.privacy.masking import mask
from kinen.recall.authorship import (
    REMEMBERED,
    SLACK,
    TRACE,
    Author,
    Edit,
    FilePatch,
    Ledger,
    Patch,
    Work,
    normal,
    same_file,
    work,
)
from kinen.sources.git import blame, patches
from kinen.text import excerpt, iso

if TYPE_CHECKING:
    from kinen.memory.core import Core
    from kinen.memory.git import Git
    from kinen.memory.index import Index
    from kinen.memory.records import Records
    from kinen.recall.authorship import Happened
    from kinen.sources.traces.notes import Share
    from kinen.space.repository import Git as Repository

COMMITS = 8
"""Commits behind a line that are told."""
EARLIER = 60 * 86_400_000
"""How long before a commit its edits may have been made, in milliseconds."""
EDITS = 2_000
"""Edits of the files of a commit that are compared with it."""
PATHS = 50
"""Files of a commit whose edits are looked for."""
SESSIONS = 4
"""Sessions of a commit that are told."""
AROUND = 3
"""Lines before and after whose commits are told."""
NAMING = 5
"""Memories and companions that are told."""
LOOKED_AT = 3_000
"""Memories that are looked at for the name of a file."""
TEXT = 600
"""Characters of a request, and of what the agent said."""
TRACED = 20
"""The latest commits that traces are written for."""
TURNS = 20
"""The latest edits of a session whose turns such a trace has."""
NOTE = 100_000
"""Characters of a note that is written."""
LINES = 200_000
"""Lines of a file; of a longer one the ends are not told apart."""
_PLACE = re.compile(r"(.+?):(\d{1,9})(?:-(\d{1,9}))?")
_REVERTED = re.compile(r"This reverts commit ([0-9a-f]{7,40})")
_GENERATED = re.compile(r"@generated|DO NOT EDIT|Code generated ", re.IGNORECASE)


class SessionBehind(NamedTuple):
    """A session that wrote a commit, or may have."""

    ref: str
    session: str
    agent: str
    step: str
    certain: bool
    lines: int
    total: int
    request: str = ""
    reply: str = ""
    edit: str = ""
    """The ref of the edit that made the line; of a commit, of its last edit."""
    at: str = ""
    by: str = ""
    origin: str = ""
    changed_since: tuple[str, ...] = ()
    """Files that it edited and later commits changed."""
    edited: int = 0
    """Files that it edited."""


class CommitBehind(NamedTuple):
    """A commit behind a line, with its whole message."""

    ref: str
    at: str
    author: str
    subject: str
    message: str
    path: str = ""
    lines: tuple[int, ...] = ()
    """The lines that come from it, as they are numbered now."""
    text: str = ""
    """What the line was after it, where that differs from now."""
    sessions: tuple[SessionBehind, ...] = ()
    issues: tuple[str, ...] = ()
    reverted_by: str = ""
    moved: bool = False
    """Whether it only moved or copied the lines here from another file."""


class Because(NamedTuple):
    """All that is known about why something is there."""

    target: str
    path: str = ""
    text: str = ""
    commits: tuple[CommitBehind, ...] = ()
    uncommitted: tuple[int, ...] = ()
    edited: SessionBehind | None = None
    """The session that last edited lines which are not committed."""
    memories: tuple[tuple[str, str, str], ...] = ()
    """Ref, time and text of what names the file or symbol, or is the source of a memory."""
    reverted: tuple[tuple[str, str, str], ...] = ()
    """Ref and subject of a commit of the file that was taken back, and the ref of what did so."""
    together: tuple[tuple[str, int], ...] = ()
    beside: tuple[tuple[str, str, str], ...] = ()
    """Ref, time and subject of other commits of the lines around, else of the file."""
    notes: tuple[str, ...] = ()


class LineBehind(NamedTuple):
    """A line with where it comes from."""

    line: int
    text: str
    commit: str = ""
    at: str = ""
    author: str = ""
    agent: str = ""
    session: str = ""
    step: str = ""
    certain: bool = False


class Why:
    """Answers why a line, a symbol, a commit or a memory is there."""

    def __init__(self, core: Core, index: Index, git: Git, records: Records) -> None:
        self._core = core
        self._index = index
        self._git = git
        self._records = records
        self._traces = Traces(core)
        self._ignored: list[str] | None = None
        self._changed: dict[str, tuple[tuple[str, ...], int]] = {}

    def why(self, target: str) -> Because:
        """The reasons for PATH:LINE, PATH:A-B, PATH#symbol, a commit or a memory."""
        self._index.prepare()
        self._changed.clear()
        name = target.strip()
        kind, _, _ = name.partition(":")
        if kind in ("memory", "commit"):
            record = self._records.get(name)
            return self._memory(record) if kind == "memory" else self._commit(record.ref[7:])
        place = _PLACE.fullmatch(name)
        if place and kind != "symbol":
            first = int(place[2])
            last = int(place[3] or first)
            if not 0 < first <= last:
                raise QueryError(f"no lines {first}-{last}", "the first line is 1")
            return self._lines(place[1], first, last)
        if "#" in name:
            return self._symbol(name)
        sha = self._git.commit(name)
        if sha:
            return self._commit(sha)
        record = self._records.get(name)  # raises for what nobody knows
        if record.kind == "memory":
            return self._memory(record)
        if record.kind == "symbol":
            return self._symbol(record.ref.partition(":")[2])
        raise QueryError(
            f"{name} is not a line, a symbol, a commit or a memory",
            "give PATH:LINE, PATH:A-B or PATH#symbol; `kinen history` has the commits of a file",
        )

    def paragraph(
        self, because: Because, distiller: str = "configured"
    ) -> tuple[list[tuple[str, tuple[str, ...]]], tuple[str, ...]]:
        """What a distiller writes about the reasons: sentences with the refs they rest on; notes.

        A sentence without a source is left out. Nothing without a model.
        """
        order = self._core.config.distill.order if distiller == "configured" else (distiller,)
        if {*order} <= {"extract", "none"}:
            return [], ()
        from kinen.memory.recall import digest_of
        from kinen.model.journal import Digest, Passage
        from kinen.recall.answer import cited_sentences

        passages = []
        for commit in because.commits:
            passages.append(Passage(commit.ref, commit.message, commit.path, commit.at))
            for row in (row for row in commit.sessions if row.ref):
                text = f"Asked: {row.request}\nSaid: {row.reply}"
                passages.append(Passage(row.edit or row.ref, text, row.agent, row.at))
        rows = (*because.memories, *because.beside)
        passages += [Passage(ref, text, "", at) for ref, at, text in rows]
        if not passages:
            return [], ()
        digest = digest_of(
            self._core,
            f"Why is this there? {because.target}\n{excerpt(because.text, TEXT)}",
            passages,
            self._core.config.distill.budget,
            distiller,
            without_model=lambda: Digest("", "none"),
        )
        return cited_sentences(digest.text, {passage.ref for passage in passages}), digest.notes

    def _symbol(self, name: str) -> Because:
        path, _, symbol = name.removeprefix("symbol:").rpartition("#")
        record = self._records.get(f"symbol:{self._git.relative(path)}#{symbol}")
        about = record.metadata or {}
        chunk = next(iter(self._core.reader.between(record.ref, 0, 0)), None)
        first = chunk.start_line if chunk else int(about.get("line", 1))
        matches = self._lines(record.path, first, int(about.get("end_line", first)), symbol)
        return matches._replace(target=f"{record.path}#{symbol}")

    def _lines(self, path: str, first: int, last: int, symbol: str = "") -> Because:
        relative = self._git.relative(path)
        committed = _split(self._read(relative))
        now = self._on_disk(relative)
        current = committed if now is None else now
        if last > len(current):
            count = f"{len(current):,} lines" if len(current) != 1 else "1 line"
            raise QueryError(f"no line {last:,} in {relative}", f"it has {count}")
        texts = range(first, last + 1)
        places = (
            {line: line for line in texts}
            if now is None or now == committed
            else blame.committed_lines(current[:LINES], committed[:LINES])
        )
        there = {line: places[line] for line in texts if line in places}
        missing = tuple(line for line in texts if line not in places)
        edited = self._edited(relative, [current[line - 1] for line in missing])
        try:
            rows, moved, around = self._blamed(relative, there, len(committed))
        except GitError as error:
            if not self._git.place()[0].partial:
                raise
            rows = []
            moved = []
            notes: tuple[str, ...] = (f"{error.message}: {error.hint}",)
            edited = edited or self._edited(relative, current[first - 1 : last])
            revisions = self._git.history(relative, tags=False)[: -NAMING - 1 : -1]
            beside = tuple((row.ref, row.at, row.subject) for row in revisions)
        else:
            notes = self._notes(current, rows)
            beside = self._beside(rows, around)
        commits = self._behind(rows, moved)
        text = "\n".join(current[first - 1 : last])
        return Because(
            target=f"{relative}:{first}" if first == last else f"{relative}:{first}-{last}",
            path=relative,
            text=text,
            commits=commits,
            uncommitted=missing,
            edited=edited,
            memories=self._naming(relative, symbol),
            reverted=self._reverted(relative),
            together=self._together(relative),
            beside=beside,
            notes=notes,
        )

    def _read(self, path: str) -> str:
        """The file at HEAD; raises for one that is binary, a submodule or not committed."""
        try:
            return self._git.read(path)
        except NotFound:
            if self._on_disk(path) is None:
                raise
            return ""  # it is new

    def _on_disk(self, path: str) -> list[str] | None:
        """The lines of the file as it is now; None if it is not there."""
        from kinen.storage import inside

        limit = self._core.config.index.max_file_mb << 20
        root = self._core.worktree or self._core.space.root
        try:
            data = inside.read(root, path, limit)
        except (OSError, UnsafeFile):
            return None
        if b"\0" in data[:8000]:
            raise Unreadable(f"{path} is binary", "lines of text have reasons")
        return _split(data.decode("utf-8", "replace"))

    def _blamed(
        self, path: str, places: dict[int, int], total: int
    ) -> tuple[list[blame.Blamed], list[blame.Blamed], list[blame.Blamed]]:
        """The lines with their commits, numbered as they are now.

        Then those that another commit moved here from another file, and the lines around them.
        """
        if not places:
            return [], [], []
        git, prefix = self._git.place()
        now = {place: line for line, place in places.items()}
        first = min(now)
        last = max(now)
        span = (max(1, first - AROUND), min(total, last + AROUND))
        ignored = self._ignored_commits(git)
        rows = blame.blame(git, prefix + path, span, "HEAD", ignored)
        own = [row._replace(line=now[row.line]) for row in rows if row.line in now]
        shas = {row.sha for row in own}
        moved = []
        if any(row.path != prefix + path for row in own):
            here = blame.blame(git, prefix + path, (first, last), "HEAD", ignored, copies=False)
            moved = [row for row in here if row.line in now and row.sha not in shas]
        moved = [row._replace(line=now[row.line]) for row in moved]
        return own, moved, [row for row in rows if not first <= row.line <= last]

    def _beside(
        self, rows: Sequence[blame.Blamed], around: Sequence[blame.Blamed]
    ) -> tuple[tuple[str, str, str], ...]:
        """Other commits of the lines around, the latest first: what was done there since."""
        own = {row.sha for row in rows}
        others = {row.sha: row.at for row in around if row.sha not in own}
        matches = []
        for sha, at in sorted(others.items(), key=lambda pair: -pair[1])[:NAMING]:
            read = self._git.description(sha)
            matches.append((f"commit:{sha}", iso(at), read[0].subject if read else ""))
        return tuple(matches)

    def _ignored_commits(self, git: Repository) -> list[str]:
        if self._ignored is None:
            self._ignored = blame.ignored_commits(git)
        return self._ignored

    def _behind(
        self, rows: Sequence[blame.Blamed], moved: Sequence[blame.Blamed]
    ) -> tuple[CommitBehind, ...]:
        """The commits of some lines, the latest first, then those that moved lines here.

        Then what these lines were before.
        """
        git, prefix = self._git.place()
        groups: dict[str, list[blame.Blamed]] = {}
        for row in rows:
            groups.setdefault(row.sha, []).append(row)
        ordered = sorted(groups.values(), key=lambda group: -group[0].at)[:COMMITS]
        seen = set(groups)
        matches = [self._commit_behind(git, prefix, group) for group in ordered]
        movers: dict[str, list[blame.Blamed]] = {}
        for row in moved:
            movers.setdefault(row.sha, []).append(row)
        moving = (self._commit_behind(git, prefix, group) for group in [*movers.values()][:NAMING])
        matches += [commit._replace(moved=True) for commit in moving]
        for group in ordered:
            # Of several lines of one commit the longest says most about what was there before.
            line = max(group, key=lambda row: len(row.text.strip()))
            left = COMMITS - len(matches)
            for row in blame.evolution(git, line, left, self._ignored_commits(git)):
                if row.sha not in seen:
                    seen.add(row.sha)
                    numbered = row._replace(line=line.line)
                    matches.append(self._commit_behind(git, prefix, [numbered], earlier=True))
        return tuple(matches)

    def _commit_behind(
        self, git: Repository, prefix: str, rows: list[blame.Blamed], *, earlier: bool = False
    ) -> CommitBehind:
        row = rows[0]
        read = self._git.description(row.sha)
        if read is None:
            return CommitBehind(f"commit:{row.sha}", iso(row.at), row.author, "", "")
        patch, message = read
        whole = self._session_patch(git, patch, message)
        file = FilePatch(row.path, (), ())
        lines = [other.text for other in rows]
        return CommitBehind(
            ref=f"commit:{row.sha}",
            at=iso(row.at),
            author=row.author,
            subject=patch.subject,
            message=message,
            path=row.path.removeprefix(prefix),
            lines=tuple(other.line for other in rows),
            text=row.text if earlier else "",
            sessions=self.sessions_of(whole, message, file, lines) if whole else (),
            issues=self._issues(row.sha),
            reverted_by=self._reverter(row.sha),
        )

    def _session_patch(self, git: Repository, patch: Patch, message: str) -> Patch | None:
        """A commit with its changes; None if no session can have written it.

        A commit of everything takes longer to read than all the rest.
        """
        since = iso(max(0, patch.authored - EARLIER) / 1000)
        until = iso((max(patch.authored, patch.committed) + REMEMBERED) / 1000)
        traced = self._traced(patch.sha, message)
        if not traced and not self._core.reader.has_events(since, until):
            return None
        read = patches.patch(git, patch.sha)
        return read[0]._replace(traced=traced) if read else None

    def line_origins(self, path: str) -> tuple[str, list[LineBehind]]:
        """The lines of a file as it is now, each with its commit and its session."""
        self._index.prepare()
        relative = self._git.relative(path)
        committed = _split(self._read(relative))
        current = self._on_disk(relative) or committed
        places = blame.committed_lines(current, committed)
        git, prefix = self._git.place()
        ignored = self._ignored_commits(git)
        rows = blame.blame(git, prefix + relative, None, "HEAD", ignored) if places else []
        by_line = {row.line: row for row in rows}
        owners: dict[str, dict[str, tuple[Author, str]]] = {}
        lines = []
        for number, text in enumerate(current, 1):
            row = by_line.get(places.get(number, 0))
            if row is None:
                lines.append(LineBehind(number, text))
                continue
            if row.sha not in owners:
                owners[row.sha] = self._line_owners(git, prefix, row)
            author, agent = owners[row.sha].get(normal(text), (None, ""))
            lines.append(
                LineBehind(
                    line=number,
                    text=text,
                    commit=f"commit:{row.sha}",
                    at=iso(row.at),
                    author=row.author,
                    agent=agent,
                    session=author.session if author else "",
                    step=author.step if author else "",
                    certain=bool(author and author.certain),
                )
            )
        return relative, lines

    def _line_owners(
        self, git: Repository, prefix: str, row: blame.Blamed
    ) -> dict[str, tuple[Author, str]]:
        """The lines of a commit in a file that sessions wrote, each with the session and agent."""
        read = self._git.description(row.sha)
        patch = self._session_patch(git, *read) if read else None
        if read is None or patch is None:
            return {}
        local = self._local(patch, read[1])
        return self._owners(local, self._works(local), row.path.removeprefix(prefix))

    def _owners(
        self, local: Patch, works: dict[str, Work], path: str
    ) -> dict[str, tuple[Author, str]]:
        """The lines of a file that sessions wrote before a commit, with the session and agent."""
        file = FilePatch(path, (), ())
        owners: dict[str, tuple[Author, str]] = {}
        for author in Ledger(works.values()).authors(local):
            agent = self._capsule_behind(author.session).agent
            item = works.get(author.session)
            for edit in item.edits if item else ():
                if edit.ts <= local.committed + SLACK and same_file(edit.path, file):
                    for line in edit.added:
                        owners.setdefault(normal(line), (author, agent))
        return owners

    def _commit(self, sha: str) -> Because:
        from kinen.space import gitcommand

        git, _ = self._git.place()
        read = patches.patch(git, sha)
        if read is None:
            raise GitError(f"git cannot read {sha[:12]}", f"`git show {sha[:12]}` says why")
        patch, message = read
        files = tuple(file.path for file in patch.files)
        commit = CommitBehind(
            ref=f"commit:{sha}",
            at=iso(patch.authored / 1000),
            author=gitcommand.text(git, "log", "-1", "--format=%an", sha, "--").strip(),
            subject=patch.subject,
            message=message,
            sessions=self.sessions_of(patch, message),
            issues=self._issues(sha),
            reverted_by=self._reverter(sha),
        )
        absent = patches.missing(git, sha) if git.partial else []
        notes = () if files or absent else ("a merge, or a commit without changes",)
        if absent:
            fact = f"the clone is partial: contents of {len(absent)} of its files are missing"
            notes = (f"{fact}; `git show {sha[:12]}` gets them",)
        return Because(
            target=f"commit:{sha}", text="\n".join(files[:20]), commits=(commit,), notes=notes
        )

    def _memory(self, record: Record) -> Because:
        """A memory: the texts that it was drawn from, and their sessions."""
        sources = []
        for ref in (record.metadata or {}).get("derived_from", ()):
            text = self._records.whole_text(ref)
            source = self._core.reader.record(ref)
            if source:
                sources.append((ref, source.at, excerpt(text or source.title, TEXT)))
        edited = self._turn_of(next((ref for ref, _, _ in sources), ""))
        notes = () if sources else ("its sources are not known: somebody wrote it by hand",)
        text = self._records.whole_text(record.ref)
        return Because(
            target=record.ref, text=text, memories=tuple(sources), edited=edited, notes=notes
        )

    def sessions_of(
        self,
        patch: Patch,
        message: str = "",
        file: FilePatch | None = None,
        lines: Sequence[str] = (),
    ) -> tuple[SessionBehind, ...]:
        """The sessions that wrote a commit; with some of its lines, those that wrote them first.

        Without an edit that has these lines, no edit is named: of a session that is known to have
        made the commit the last turn before it.
        """
        local = self._local(patch, message)
        _, prefix = self._git.place()
        works = self._works(local)
        place = file._replace(path=file.path.removeprefix(prefix)) if file else None
        behind = self._sessions_behind(local, works, place, lines)
        if place and lines and not any(row.edit for row in behind):
            edits = (edit for item in works.values() for edit in item.edits)
            if any(edit.cut and same_file(edit.path, place) for edit in edits):
                works = self._works(local, whole=True)
                behind = self._sessions_behind(local, works, place, lines)
        return tuple(behind[:SESSIONS])

    def _sessions_behind(
        self, local: Patch, works: dict[str, Work], place: FilePatch | None, lines: Sequence[str]
    ) -> list[SessionBehind]:
        behind = []
        for author in Ledger(works.values()).authors(local):
            item = works.get(author.session)
            last = next(reversed(author.edits), "")
            if place and lines:
                edit = _edit_of(item, place, lines, local) if item else None
                if not edit and author.step in ("lines", "content", "fits"):
                    continue  # it wrote other lines of the commit
                last = edit.id if edit else ""
            # A session with the turn of the edit, else the last before the commit.
            turn = self._turn_of(f"observation:{last}" if last else "")
            turn = turn or self._turn(author.session, iso((local.committed + SLACK) / 1000))
            if author.session not in self._changed:
                changed, edited = self._git.changed_since(author.session)
                self._changed[author.session] = (tuple(changed), edited)
            changed_since, edited = self._changed[author.session]
            behind.append(
                turn._replace(
                    step=author.step,
                    certain=author.certain,
                    lines=author.lines,
                    total=author.total,
                    changed_since=changed_since,
                    edited=edited,
                )
            )
        behind.sort(key=lambda row: (row.step != TRACE, bool(lines) and not row.edit))
        return behind

    def _local(self, patch: Patch, message: str) -> Patch:
        """A commit with the paths of the space, and the sessions that traces name for it."""
        _, prefix = self._git.place()
        files = [
            row._replace(path=row.path.removeprefix(prefix), before=row.before.removeprefix(prefix))
            for row in patch.files
        ]
        traced = patch.traced or self._traced(patch.sha, message)
        return patch._replace(traced=traced, files=tuple(files))

    def _capsule_behind(self, ref: str) -> SessionBehind:
        record = self._core.reader.record(ref)
        about = (record.metadata or {}) if record else {}
        return SessionBehind(
            ref if record else "",
            record.session if record else ref.partition(":")[2],
            str(about.get("agent", "")),
            "",
            certain=False,
            lines=0,
            total=0,
            at=record.at if record else "",
            by=Colleague.on(
                about.get("author" if about.get("origin") else "by", ""), about.get("machine", "")
            ),
            origin=str(about.get("origin", "")),
        )

    def _works(self, patch: Patch, *, whole: bool = False) -> dict[str, Work]:
        """What the sessions did that can have written a commit, by the ref of their capsule.

        The index cuts long edits; with `whole`, transcripts in the repository are read again.
        """
        after = iso(max(0, patch.authored - EARLIER) / 1000)
        before = iso((patch.committed + SLACK) / 1000)
        paths = tuple(
            dict.fromkeys(
                path for file in patch.files[:PATHS] for path in (file.path, file.before) if path
            )
        )
        query = Query("", kinds=("observation",), since=after, until=before)
        edits = self._core.reader.matching(query._replace(events=("file_diff",), files=paths))
        around = query._replace(
            events=("command",),
            since=iso((patch.authored - REMEMBERED) / 1000),
            until=iso((patch.authored + REMEMBERED) / 1000),
        )
        matches: dict[str, list[Observation]] = {}
        for record in sorted(edits, key=lambda row: row.at)[-EDITS:] if paths else ():
            matches.setdefault(_owner(record), []).append(self._traces.observation(record))
        for record in self._core.reader.matching(around):
            matches.setdefault(_owner(record), []).append(self._traces.observation(record))
        matches.pop("", None)
        listed = [row for rows in matches.values() for row in rows] if whole else []
        traced = {row.scope.session for row in listed if row.provenance.get("origin")}
        events: dict[str, Happened] = {}
        if traced:
            source = self._index.sources.traces(self._index.sources.hidden())
            events = {event.id: event for event in source.events(traced)}
        return {
            owner: work(
                owner,
                "",
                (events.get(row.id, row) for row in sorted(rows, key=lambda row: (row.ts, row.id))),
            )
            for owner, rows in matches.items()
        }

    def _traced(self, sha: str, message: str) -> tuple[str, ...]:
        """The sessions that traces name for a commit: checkpoints, notes and plain trailers."""
        from kinen.sources.traces import notes
        from kinen.storage import inside

        checkpoints = set(notes.CHECKPOINT.findall(message))
        sessions = set(notes.trailer_sessions(message))
        # The conversations that records of Agent Trace name for the commit:
        data = self._git.note(notes.AGENT_TRACE, sha)
        root = self._core.worktree or self._core.space.root
        with suppress(OSError, UnsafeFile):
            records = inside.read(root, notes.RECORDS, notes.LARGEST)
            data += "\n" + records.decode("utf-8", "replace")
        rows = (note.sessions for note in notes.agent_trace_notes(data) if note.commit == sha)
        conversations = dict.fromkeys(url for urls in rows for url in urls)
        talks = [url.rstrip("/") for url in conversations]
        traced = []
        for record in self._core.reader.records(("capsule",)):
            about = record.metadata or {}
            own = checkpoints.intersection(about.get("checkpoints", ()))
            own_talks = {url for url in talks if url.rpartition("/")[2] == record.session}
            talks = [url for url in talks if url not in own_talks]
            if own or own_talks or sha in about.get("commits", ()) or record.session in sessions:
                traced.append(record.ref)
        return (*traced, *(f"session:{url}" for url in talks))

    def write_traces(self) -> list[str]:
        """Write notes for the latest commits that no remote has; the commits that got one."""
        from kinen.sources.traces.notes import AGENT_TRACE, GIT_AI, agent_trace_text, git_ai_text
        from kinen.space import gitcommand

        self._index.prepare()
        git, _ = self._git.place()
        listed = ("rev-list", f"--max-count={TRACED}", "HEAD", "--not", "--remotes")
        written = []
        for sha in gitcommand.text(git, *listed).split():
            missing = [ref for ref in (GIT_AI, AGENT_TRACE) if not self._git.note(ref, sha)]
            shares = self._shares(sha) if missing else []
            about = ("log", "-1", "--format=%an <%ae>%x00%ct", sha, "--")
            author, _, seconds = gitcommand.text(git, *about).strip().partition("\0")
            texts = {
                GIT_AI: git_ai_text(sha, author, shares),
                AGENT_TRACE: agent_trace_text(sha, iso(int(seconds)), shares),
            }
            for ref in missing if shares else ():
                if len(texts[ref]) <= NOTE:
                    gitcommand.output(git, "notes", f"--ref={ref}", "add", "-m", texts[ref], sha)
                    written.append(sha)
        return list(dict.fromkeys(written))

    def _shares(self, sha: str) -> list[Share]:
        """What sessions recorded here certainly have of a commit."""
        from kinen.sources.traces.notes import Share

        git, prefix = self._git.place()
        read = patches.patch(git, sha)
        if read is None:
            return []
        local = self._local(*read)
        works = self._works(local)
        own: dict[str, dict[str, list[int]]] = {}
        for file in [row for row in read[0].files if row.path.startswith(prefix)][:PATHS]:
            with suppress(GitError):  # the commit deletes it
                rows = blame.blame(git, file.path, None, f"{sha}^!")
                owners = self._owners(local, works, file.path.removeprefix(prefix))
                for row in rows:
                    author, _ = owners.get(normal(row.text), (None, ""))
                    if author and author.certain and row.sha == sha:
                        lines = own.setdefault(author.session, {})
                        lines.setdefault(file.path, []).append(row.line)
        shares = []
        for author in Ledger(works.values()).authors(local):
            about = self._capsule_behind(author.session)
            if author.session not in own or about.by or about.origin:
                continue  # a colleague's, or already in a trace
            edits = [edit for edit in works[author.session].edits if edit.id in author.edits]
            messages: dict[tuple[str, str, str], None] = {}
            for edit in edits[-TURNS:]:
                if turn := self._turn_of(f"observation:{edit.id}"):
                    for role, text in (("user", turn.request), ("assistant", turn.reply)):
                        messages.setdefault((role, mask(text)[0], turn.at))
            shares.append(
                Share(
                    about.session,
                    about.agent,
                    tuple(row for row in messages if row[1]),
                    own[author.session],
                    sum(len(edit.added) for edit in edits),
                    sum(len(edit.removed) for edit in edits),
                )
            )
        return shares

    def _turn_of(self, ref: str) -> SessionBehind | None:
        """The session of an observation, with the request before it and what the agent said."""
        record = self._core.reader.record(ref) if ref else None
        owner = _owner(record) if record else ""
        if record is None or not owner:
            return None
        return self._turn(owner, record.at)._replace(edit=ref, at=record.at)

    def _turn(self, owner: str, at: str) -> SessionBehind:
        """A session with its last request before a time, and what the agent said."""
        behind = self._capsule_behind(owner)
        request = reply = ""
        query = Query("", kinds=("observation",), events=("message",), parents=(owner,))
        for other in sorted(self._core.reader.matching(query), key=lambda row: (row.at, row.ref)):
            user = (other.metadata or {}).get("role") != "assistant"
            if other.at > at and (user or reply):
                break
            text = self._records.whole_text(other.ref)
            if user:
                request = text
                reply = ""
            else:
                reply = text
        return behind._replace(request=excerpt(request, TEXT), reply=excerpt(reply, TEXT))

    def _edited(self, path: str, lines: list[str]) -> SessionBehind | None:
        """The session that last edited lines which are not committed."""
        edits = self._records.edits(path) if lines else []
        texts = {normal(line) for line in lines if line.strip()}
        for record in reversed(edits[-50:]):
            text = self._records.whole_text(record.ref)
            written = {normal(row[1:]) for row in text.splitlines() if row.startswith("+")}
            if texts & written or not texts:
                return self._turn_of(record.ref)
        return None

    def _naming(self, path: str, symbol: str) -> tuple[tuple[str, str, str], ...]:
        """Decisions and other memories that name the file or the symbol, the latest first."""
        matches = []
        records = self._core.reader.records(("memory", "checkpoint"))
        for record in sorted(records, key=lambda row: row.at, reverse=True)[:LOOKED_AT]:
            about = record.metadata or {}
            files = about.get("files", ())
            symbols = about.get("symbols", ())
            text = self._records.whole_text(record.ref)
            is_named = path in files or path in text or symbol in symbols
            if is_named or (symbol and re.search(rf"\b{re.escape(symbol)}\b", text)):
                matches.append((record.ref, record.at, excerpt(text or record.title, TEXT)))
            if len(matches) == NAMING:
                break
        return tuple(matches)

    def _issues(self, sha: str) -> tuple[str, ...]:
        from kinen.index.issues import named_in

        record = self._core.reader.record(f"commit:{sha}")
        ids = [id_ for id_, _ in named_in(self._core.reader.db, record)] if record else []
        return tuple(f"#{id_}" if id_.isdecimal() else id_ for id_ in ids)

    def _reverter(self, sha: str) -> str:
        """The ref of the commit that took this one back."""
        for edge in past.edges(self._core.reader.db, f"commit:{sha}"):
            if edge.type == "reverts" and edge.target == f"commit:{sha}":
                return edge.source
        return ""

    def _reverted(self, path: str) -> tuple[tuple[str, str, str], ...]:
        """What was tried in a file and taken back."""
        try:
            revisions = self._git.history(path, tags=False)
        except NotFound:
            return ()
        by_sha = {row.ref.partition(":")[2]: row for row in revisions}
        matches = []
        for row in reversed(revisions):
            for short in _REVERTED.findall(row.message):
                for sha, other in by_sha.items():
                    if sha.startswith(short):
                        matches.append((other.ref, other.subject, row.ref))
        return tuple(matches[:NAMING])

    def _together(self, path: str) -> tuple[tuple[str, int], ...]:
        if not self._git.tracks(path):
            return ()
        return tuple((row.path, row.support) for row in self._git.cochanged(path, NAMING))

    def _notes(self, lines: list[str], rows: Iterable[blame.Blamed]) -> tuple[str, ...]:
        notes = []
        if any(_GENERATED.search(line) for line in lines[:5]):
            notes.append("the file says that it is generated: its reason is what generates it")
        if any(row.boundary and not row.previous for row in rows) and self._git.shallow:
            notes.append("the clone is shallow: `git fetch --unshallow` gets older commits")
        return tuple(notes)


def _owner(record: Record | None) -> str:
    """The ref of the capsule that an observation is part of, else of its session."""
    about: Any = (record.metadata or {}) if record else {}
    parent = str(about.get("parent", ""))
    return parent or (f"session:{record.session}" if record and record.session else "")


def _edit_of(item: Work, file: FilePatch, lines: Sequence[str], patch: Patch) -> Edit | None:
    """The last edit of a session before a commit that has some of its lines."""
    texts = {normal(line) for line in lines}
    matches = None
    for edit in item.edits:
        if edit.ts > patch.committed + SLACK or not same_file(edit.path, file):
            continue
        if texts & {normal(line) for line in edit.added}:
            matches = edit
    return matches


def _split(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1:] == [""] else lines
