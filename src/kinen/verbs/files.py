"""`files`, `history`, `cochange`, `blame` and `restore`: files, their commits and versions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kinen.characters import visible_line
from kinen.errors import QueryError
from kinen.ids import short_id
from kinen.journal.authors import signature
from kinen.render import history as render
from kinen.verbs.params import limit, offset, param
from kinen.verbs.verb import Output, Result, Verb, View, next_offset, verb

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.memory.versions import FileVersion
    from kinen.model.documents import Companion, Revision
    from kinen.model.records import Record


@dataclass(frozen=True, slots=True)
class File(Result):
    ref: str
    path: str
    tags: list[str] = field(default_factory=list)
    last_modified: str | None = None
    alive: bool = True
    commits: int = 0

    @classmethod
    def of(cls, record: Record) -> File:
        about = record.metadata or {}
        return cls(
            record.ref,
            record.path,
            list(record.tags),
            record.at or None,
            about.get("alive", True),
            about.get("commits", 0),
        )


@dataclass(frozen=True, slots=True)
class FileList(Result):
    files: list[File]
    total: int
    offset: int = 0
    next_offset: int = 0
    """of the next page; 0 on the last"""


class Files(Verb):
    """List the files of the repository at HEAD with their tags. Exit 1 if there are none.

    \b
    Examples:
      kinen files --tag auth --tag session
      kinen files -l0 --tag auth | xargs -0 wc -l
      kinen files --deleted --json | jq -r '.files[] | select(.alive | not).path'
    """

    result = FileList
    route = "files"
    tool = "kinen_list_artifacts"
    title = "List files by tag"
    guide = "List the repository's files by tag, with tags and last change."
    lists_files = True

    tags: tuple[str, ...] = param(
        "--tag",
        "tag that files must have",
        many=True,
        aliases=("--tags", "-t"),
        metavar="TAG",
        guide="all of these",
        example=["auth"],
    )
    deleted: bool = param("--deleted", "include deleted files", default=False)
    ignored: bool = param(
        "--ignored", "include tracked files that match .gitignore", default=False, unlisted=True
    )
    source_only: bool = param(
        "--source-only",
        "only files below a folder named src",
        default=False,
        guide="only below src",
        unlisted=True,
    )
    limit: int = limit(0, "files", tool=50)
    offset: int = param(
        "--offset", "skip the first N files", 0, least=0, metavar="N", unlisted=True
    )

    def run(self, memory: Memory) -> FileList:
        records, total = memory.git.files(
            tags=self.tags,
            deleted=self.deleted,
            ignored=self.ignored,
            source_only=self.source_only,
            limit=self.limit,
            offset=self.offset,
        )
        following = next_offset(total, self.offset, self.limit)
        return FileList([File.of(record) for record in records], total, self.offset, following)

    def text(self, result: FileList, view: View) -> str:
        lines = []
        for file in result.files:
            deleted = "" if file.alive else view.style("warn", "  (deleted)")
            tags = view.style("dim", "  " + ", ".join(file.tags)) if file.tags else ""
            lines.append(f"{view.style('path', view.place(file.path))}{deleted}{tags}")
        return "\n".join(lines)

    def notes(self, result: FileList) -> Iterable[str]:
        if not result.files:
            yield "no file matches"
        elif len(result.files) < result.total:
            count = f"{len(result.files):,} of {result.total:,}"
            yield f"{count}; use --limit and --offset to see the others"

    def files_in(self, result: FileList) -> Iterable[str]:
        return [file.path for file in result.files]


@dataclass(frozen=True, slots=True)
class CommitOfFile(Result):
    ref: str
    at: str
    author: str
    subject: str
    status: str
    path: str
    before: str | None
    tags: list[str]
    message: str
    commit: str
    patch: str = ""
    """what it changed in the file, where that was asked for"""

    @classmethod
    def of(cls, revision: Revision, patch: str = "") -> CommitOfFile:
        return cls(**render.revision_json(revision), patch=patch)


@dataclass(frozen=True, slots=True)
class FileHistory(Result):
    path: str
    revisions: list[CommitOfFile]
    """oldest first"""
    by_hand: list[str] = field(default_factory=list)
    """tags that people added and removed"""
    total: int = 0
    next_offset: int = 0
    """of the next page; 0 on the last"""


class History(Verb):
    """Show the commits of a file, newest first, across renames, with its tags.

    PATH may be an earlier name of the file. In JSON the commits are oldest first.

    \b
    Examples:
      kinen history src/auth/session.py
      kinen history -n 3 -p src/auth/session.py
      kinen history src/auth/session.py --json | jq -r '.revisions[].commit'
    """

    result = FileHistory
    route = "history"
    tool = "kinen_get_provenance"
    title = "History of a file"
    guide = """Commits of a file through renames, oldest first: who, when and why (the whole
    message), and its tags after each."""

    path: str = param(
        "", "the file, by any name it had", required=True, path=True, example="src/auth.py"
    )
    limit: int = limit(0, "commits", tool=50)
    offset: int = offset("commits, the newest")
    patch: bool = param(
        "--patch -p", "show what each commit changed in the file", default=False, unlisted=True
    )
    revisions: list[Revision]
    """All commits of the file."""

    def run(self, memory: Memory) -> FileHistory:
        self.revisions = memory.git.history(self.path)
        page = self.revisions[self._page]
        patches = [memory.git.patch(item) if self.patch else "" for item in page]
        return FileHistory(
            memory.git.current_name(self.path),
            [CommitOfFile.of(*pair) for pair in zip(page, patches, strict=True)],
            memory.git.tagged_by_hand(self.path),
            len(self.revisions),
            next_offset(len(self.revisions), self.offset, self.limit),
        )

    @property
    def _page(self) -> slice:
        """The newest commits, after those that are skipped."""
        end = max(0, len(self.revisions) - self.offset)
        return slice(max(0, end - self.limit) if self.limit else 0, end)

    def text(self, result: FileHistory, view: View) -> str:
        by_hand = [f"by hand: {' '.join(result.by_hand)}"] if result.by_hand else []
        if view.screen.terminal and not self.patch:
            table = render.revisions_table(self.revisions, self._page, view.screen)
            return "\n".join([table, *by_hand])
        lines = render.revision_lines(self.revisions, view.style)[self._page]
        rows = zip(lines, result.revisions, strict=True)
        texts = [f"{line}\n{row.patch}" if self.patch else line for line, row in rows]
        return "\n".join([*reversed(texts), *by_hand])

    def agent_text(self, result: FileHistory) -> str:  # noqa: ARG002
        return "\n".join(render.message_texts(self.revisions)[self._page])

    def empty(self, result: FileHistory) -> bool:  # noqa: ARG002
        return False

    def notes(self, result: FileHistory) -> Iterable[str]:
        if not result.total:
            yield "no commit of this file: it was added by a merge"


@dataclass(frozen=True, slots=True)
class CommitSubject(Result):
    ref: str
    subject: str


@dataclass(frozen=True, slots=True)
class CompanionFile(Result):
    ref: str
    path: str
    count: int
    """commits that they share"""
    jaccard: float
    weight: float
    score: float
    commits: list[CommitSubject]
    """those that show it best"""

    @classmethod
    def of(cls, item: Companion) -> CompanionFile:
        return cls(
            f"file:{item.path}",
            item.path,
            item.support,
            round(item.jaccard, 6),
            round(item.weight, 6),
            round(item.score, 6),
            [CommitSubject(*commit) for commit in item.commits],
        )


@dataclass(frozen=True, slots=True)
class Companions(Result):
    paths: list[str]
    files: list[CompanionFile]


class Cochange(Verb):
    """List the files that usually change together with PATHS. Exit 1 if there are none.

    A commit of n files counts 1/(n-1) for each pair in it, so large commits count little.

    \b
    Examples:
      kinen cochange src/auth/session.py
      kinen cochange --staged
      kinen cochange -l src/auth/session.py | xargs less
    """

    result = Companions
    route = "cochange"
    tool = "kinen_get_cochange"
    title = "What changes together"
    guide = """Files that usually change together with a file, and the commits that show it: look
    here before and after an edit."""
    lists_files = True

    paths: tuple[str, ...] = param(
        "", "files", many=True, path=True, separator="", example=["src/auth.py"]
    )
    staged: bool = param("--staged", "use the staged files", default=False, unlisted=True)
    limit: int = limit(10, "files", least=1)
    companions: list[Companion]
    tracked: list[str]

    def run(self, memory: Memory) -> Companions:
        if bool(self.paths) == self.staged:
            fact = "paths and the staged files" if self.staged else "no paths"
            raise QueryError(fact, "give paths; `kinen cochange --staged` takes the staged files")
        paths = memory.git.staged() if self.staged else list(self.paths)
        self.tracked = [path for path in paths if not self.staged or memory.git.tracks(path)]
        self.companions = memory.git.cochanged(self.tracked, self.limit) if self.tracked else []
        names = paths if self.staged else [memory.git.relative(path) for path in paths]
        return Companions(names, [CompanionFile.of(item) for item in self.companions])

    def text(self, result: Companions, view: View) -> str:  # noqa: ARG002
        rows = [item._replace(path=view.place(item.path)) for item in self.companions]
        return render.companions_text(rows, view.style, view.screen.width)

    def empty(self, result: Companions) -> bool:
        return not result.files

    def notes(self, result: Companions) -> Iterable[str]:
        if not result.paths:
            yield "nothing is staged: run `git add` first"
        elif not self.tracked:
            yield "the staged files are new: no commit contains them yet"
        elif not result.files:
            yield "no file changes with it"

    def files_in(self, result: Companions) -> Iterable[str]:
        return [file.path for file in result.files]


@dataclass(frozen=True, slots=True)
class LineOrigin(Result):
    line: int
    text: str
    commit: str
    """ref; empty if the line is not committed"""
    at: str
    author: str
    agent: str
    """the agent that wrote it; empty if no session is known to have"""
    session: str
    """ref of that session"""
    step: str
    """how that is known: trace, seen, content, lines or fits"""
    certain: bool


@dataclass(frozen=True, slots=True)
class FileBlame(Result):
    path: str
    lines: list[LineOrigin]
    agent_lines: int
    """lines of the whole file that a session is known to have written"""
    total: int
    next_offset: int = 0
    """of the next page; 0 on the last"""


@verb(result=FileBlame, route="blame")
def blame(
    memory: Memory,
    path: str = param("", "the file", required=True, path=True, example="src/auth.py"),
    limit: int = limit(0, "lines"),
    offset: int = offset("lines"),
) -> Output:
    """Show each line of a file with its commit, person, agent and session.

    A line has a session where one is known to have written it; `kinen why PATH:LINE` says how.
    With a question mark it may be another. Exit 1 for an empty file.

    \b
    Examples:
      kinen files blame src/auth.py
      kinen files blame src/auth.py --json | jq '.agent_lines / .total'
    """
    name, rows = memory.reasons.line_origins(path)
    total = len(rows)
    by_agents = sum(bool(row.session) for row in rows)
    lines = [LineOrigin(**row._asdict()) for row in rows[offset:][: limit or None]]
    count = f"{by_agents:,} of {total:,} lines ({by_agents / max(1, total):.0%})"

    def text(view: View) -> str:
        texts = []
        width = len(str(total))
        for row in lines:
            commit = short_id(row.commit).partition(":")[2] if row.commit else "not committed"
            doubt = "" if row.certain or not row.session else "?"
            who = row.agent + doubt if row.session else row.author
            about = f"{commit[:10]:10} {row.at[:10]:10} {visible_line(who)[:16]:16}"
            code = visible_line(row.text.expandtabs(4))
            texts.append(f"{view.style('dim', about)} {row.line:{width}}  {code}")
        return "\n".join(texts)

    return Output(
        FileBlame(name, lines, by_agents, total, next_offset(total, offset, limit)),
        text,
        bool(lines),
        [f"{count} known to be by agents"] if total else [],
    )


@dataclass(frozen=True, slots=True)
class ReplacedVersion(Result):
    ref: str
    """of the edit that replaced it"""
    at: str
    session: str
    agent: str
    whole: bool
    """whether the whole file could be rebuilt; only then it can be written"""
    lines: int
    """of the file, or of the part that is known"""
    commit: str
    """ref of a commit that has the same file"""
    by: str = ""
    origin: str = ""
    """where the session was read from, if not recorded here"""

    @classmethod
    def of(cls, version: FileVersion) -> ReplacedVersion:
        fields = version._asdict()
        text = fields.pop("text")
        return cls(**fields, lines=len(text.splitlines()))


@dataclass(frozen=True, slots=True)
class FileVersions(Result):
    path: str
    versions: list[ReplacedVersion]
    """the latest first"""
    total: int
    diff: str = ""
    """of the chosen version: how the file would change; of a partial one the known lines"""
    written: bool = False
    backup: str = ""
    """where the text that was overwritten is kept, if no commit has it"""
    next_offset: int = 0
    """of the next page; 0 on the last"""


@verb(result=FileVersions, route="versions")
def restore(
    memory: Memory,
    path: str = param("", "the file", required=True, path=True, example="src/auth.py"),
    show: str = param("--show", "compare version N with the file as it is", metavar="N"),
    write: str = param("--write", "write version N", metavar="N", only="command"),
    force: bool = param(
        "--force", "write over changes that are not committed", default=False, only="command"
    ),
    limit: int = limit(20, "versions"),
    offset: int = offset("versions"),
) -> Output:
    """Show versions of a file that edits in sessions replaced, and write one back.

    The versions are rebuilt from the edits of sessions, recorded here or found in the repository,
    and from commits. Of a partial one only the lines that an edit replaced are known, and it cannot
    be written. --write refuses a file with changes that are not committed; with --force a copy of
    it is kept. N is a number of the list, or an id. Exit 1 if there is none.

    \b
    Examples:
      kinen restore src/auth.py
      kinen restore src/auth.py --show 2
      kinen restore src/auth.py --write 2
    """
    from kinen.memory.versions import chosen

    if show and write:
        raise QueryError("a version is shown or written", "look first, then write")
    if force and not write:
        raise QueryError("force is for writing", "name the version to write")
    name, versions = memory.versions.versions(path)
    total = len(versions)
    following = next_offset(total, offset, limit)
    rows = versions[offset:][: limit or None]
    diff = backup = ""
    notes = [] if rows else [f"no recorded edit replaced a version of {name}"]
    if show or write:
        version = chosen(versions, show or write)
        rows = [version]
        notes = []
        following = 0
        diff = _diff(name, memory.versions.current(name), version)
    if write:
        backup = memory.versions.write(name, version, force=force)
    if backup:
        notes.append(f"what it was is kept in {backup}")
    if show and not version.whole:
        notes.append("only these lines of the version are known: it cannot be written")
    elif show and not diff:
        notes.append("the file is the same now")
    replaced = [ReplacedVersion.of(row) for row in rows]

    def text(view: View) -> str:
        if write:
            return f"wrote {visible_line(view.place(name))}"
        if show:
            return "\n".join(map(visible_line, diff.splitlines()))
        lines = []
        for number, row in enumerate(replaced, offset + 1):
            who = ", ".join(filter(None, (row.agent, signature(row.by).strip(), row.origin)))
            size = f"{row.lines:,} {'line' if row.lines == 1 else 'lines'}"
            extent = size if row.whole else f"partial: {size}"
            same = f", as in {short_id(row.commit)}" if row.commit else ""
            about = f"{row.at[:16]}  {short_id(row.ref)}  {visible_line(who)}"
            session = f"session {visible_line(row.session[:12])}" if row.session else ""
            lines.append(f"{number:3}  {about}  {view.style('dim', session)}  {extent}{same}")
        return "\n".join(lines)

    result = FileVersions(name, replaced, total, diff, bool(write), backup, following)
    return Output(result, text, bool(rows), notes)


def _diff(path: str, now: str | None, version: FileVersion) -> str:
    """How the file would change; of a partial version the lines that are known."""
    from difflib import unified_diff

    then = version.text.splitlines()
    if not version.whole:
        return "\n".join(f"-{line}" for line in then)
    lines = unified_diff((now or "").splitlines(), then, f"a/{path}", f"b/{path}", lineterm="")
    return "\n".join(lines)
