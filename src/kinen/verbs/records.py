"""`show`, `read`, `tags`, `tag` and `graph`: records, their texts, tags and links."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os.path import join, lexists
from typing import TYPE_CHECKING, Any

from kinen.characters import visible
from kinen.errors import KinenError, QueryError
from kinen.model.documents import Revision
from kinen.model.records import FILE_KINDS, GIT_KINDS, KINDS, Chunk, Edge, Record
from kinen.privacy.quote import quoted
from kinen.query import MOST, place
from kinen.recall.clip import cut
from kinen.recall.passages import is_metadata
from kinen.render.graph import (
    broken_text,
    graph_dot,
    graph_mermaid,
    links_text,
    related_text,
)
from kinen.render.history import revision_json, revisions_text
from kinen.render.json import record_json, to_json
from kinen.render.text import record_text, records_text
from kinen.text import QUARTERS, estimate, weight
from kinen.verbs.answers import Relation
from kinen.verbs.params import limit, offset, param
from kinen.verbs.verb import (
    Output,
    PartialResult,
    Result,
    Verb,
    View,
    group,
    next_offset,
    plain,
    verb,
)

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.model.records import TagCount

LATEST_COMMITS = 5
"""Commits that are shown with a file."""
SEAM = range(600, 19, -1)
"""Characters that the end of a chunk and the beginning of the next may share."""
LARGEST_LINE = 1 << 31


@dataclass(frozen=True, slots=True)
class RecordRow(Result):
    ref: str
    path: str
    type: str
    title: str
    at: str
    session: str
    tags: list[str]
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChunkOfRecord(Result):
    ref: str
    n: int
    text: str
    heading: str
    start_line: int
    end_line: int
    page: int


@dataclass(frozen=True, slots=True)
class Link(Result):
    # The fields of an `Edge`, in their order.
    source: str
    target: str
    """empty if the link is broken"""
    type: str
    written: str = ""
    text: str = ""
    line: int = 0
    sentence: str = ""
    """around the link"""


@dataclass(frozen=True, slots=True)
class RecordDetails(PartialResult):
    ref: str
    path: str
    type: str
    title: str
    at: str
    session: str
    tags: list[str]
    metadata: dict[str, Any]
    chunks: list[ChunkOfRecord]
    edges: list[Link] | None = None
    """of commits and files of the repository"""


@dataclass(frozen=True, slots=True)
class FileVersion(Result):
    path: str
    at: str
    """the commit"""
    content: str


def resolve(memory: Memory, text: str) -> tuple[str, int, int]:
    """A ref or an absolute path, with the line and the chunk number after it, -1 for none."""
    name, line, chunk = place(text)
    if ".." in re.split(r"[/\\:]", name) or "\0" in name:
        raise QueryError(f"{name!r} is not in this space", "use a ref, or a path from its root")
    is_ref = name.partition(":")[0] in KINDS or re.fullmatch(r"[0-9a-fA-F]{4,64}", name)
    if chunk >= 0 or is_ref:
        return name, line, chunk
    return memory.git.inside(name), line, chunk


class Show(Verb):
    """Show a record, the chunk at a line of it, or a file as of a commit.

    Control characters are escaped (\\x1b), so that no file can take over the terminal; --raw
    prints the text as it is stored.

    \b
    Examples:
      kinen show note:docs/auth.md
      kinen show docs/auth.md:42
      kinen show src/auth.py@v1.2
      kinen show a43f9c1
      kinen show 'round:sessions/20251203-01-auth/rounds/01-foundation.md#3'
    """

    result = RecordDetails | FileVersion
    route = "records/{ref:path}"
    methods = ("GET",)

    ref: str = param(
        "",
        "a ref or a path, with a line or a commit",
        required=True,
        metavar="REF|PATH[:LINE]|PATH@COMMIT",
        path=True,
        ref=True,
        line=True,
    )
    line: int = param(
        "--line", "the part at this line", -1, least=-1, most=LARGEST_LINE - 1, hidden=True
    )
    as_is: bool = param(
        "--raw", "print the text only, without escaping it", default=False, only="command"
    )
    record: Record
    chunks: list[Chunk]
    edges: Sequence[Edge] = ()
    revisions: Sequence[Revision] = ()

    def run(self, memory: Memory) -> Any:
        path, at, commit = self.ref.rpartition("@")
        if at and path and commit and not memory.records.knows(self.ref):
            return FileVersion(path, commit, memory.git.read(path, commit))
        name, line, number = place(self.ref)
        if max(line, number) >= LARGEST_LINE:
            raise QueryError(f"invalid line {max(line, number)}", "use a smaller number")
        line = self.line if self.line >= 0 else line
        self.record, self.chunks = memory.records.show(name, line, number)
        data = {**record_json(self.record), "chunks": self.chunks}
        if self.record.kind in GIT_KINDS:
            self.edges = memory.records.links(self.record.ref)
            data["edges"] = self.edges
        if self.record.kind == "file":
            self.revisions = memory.git.history(self.record.path)[-LATEST_COMMITS:]
        return data

    def text(self, result: Any, view: View) -> str:
        if isinstance(result, FileVersion):
            return ""
        is_file = self.record.kind in FILE_KINDS
        body = [chunk for chunk in self.chunks if not (is_file and is_metadata(chunk))]
        text = record_text(self.record, body or self.chunks, view.style)
        if self.revisions:
            return f"{text}\n{revisions_text(self.revisions, view.style)}"
        if self.edges:
            return f"{text}\n{links_text(self.record.ref, self.edges, view.style)}"
        return text

    def raw(self, result: Any) -> str | None:
        if isinstance(result, FileVersion):  # without adding a line break
            return result.content if self.as_is else quoted(visible(result.content))
        return "\n".join(chunk.text for chunk in self.chunks) + "\n" if self.as_is else None


@dataclass(frozen=True, slots=True)
class CommitOfRecord(Result):
    ref: str
    at: str
    author: str
    subject: str
    status: str
    path: str
    before: str | None = None
    tags: list[str] = field(default_factory=list)
    message: str = ""

    @classmethod
    def of(cls, revision: Revision) -> CommitOfRecord:
        fields = revision_json(revision)
        return cls(**{name: fields[name] for name in fields if name != "commit"})


@dataclass(frozen=True, slots=True)
class Artifact(Result):
    ref: str
    path: str = ""
    type: str = ""
    title: str = ""
    at: str = ""
    tags: list[str] = field(default_factory=list)
    content: str = ""
    tokens: int = 0
    """of content"""
    lines: int = 0
    """of the whole text"""
    next_offset: int = 0
    """the line to continue from; 0 at the end"""
    commits: list[CommitOfRecord] = field(default_factory=list)
    """the latest that touched it, oldest first"""
    edges: list[Link] = field(default_factory=list)
    """where links were asked for"""
    related: list[Relation] = field(default_factory=list)


class Read(Verb):
    """The text of a path or ref; of a file also as of a commit, with its tags and commits then."""

    result = Artifact
    route = "artifact"
    methods = ("GET",)
    tool = "kinen_read"
    title = "Read a file, note or record"
    guide = "Text of a path or of any ref; of a file with tags and commits."

    path: str = param("", "path or ref", required=True, guide="path or ref")
    ref: str = param(
        "--ref", "git commit, branch or tag", guide="git commit, branch or tag", longest=500
    )
    offset: int = param("--offset", "first line", 0, least=0, guide="first line")
    budget: int = param("--budget", "most tokens", 4000, least=50, most=100_000, unlisted=True)
    links: bool = param("--links", "with links, and what is related", default=False)

    @staticmethod
    def accept(values: dict[str, Any]) -> dict[str, Any]:
        """Accept the ref of a record as `ref`, which is its name everywhere else."""
        is_record = str(values.get("ref", "")).partition(":")[0] in KINDS
        if not is_record or {"path", "name", "file", "id"} & values.keys():
            return values
        return {**values, "path": values["ref"], "ref": ""}

    def run(self, memory: Memory) -> Artifact:
        record, text = self._record(memory)
        commits = self._commits(memory, record)
        if self.ref and commits:
            record = record._replace(tags=commits[-1].tags, at=commits[-1].at)
        lines = text.splitlines()
        content, end = within(lines, self.offset, self.budget)
        linked: dict[str, Any] = {}
        if self.links:
            both = BrowseLinks(path=record.ref)
            related = BrowseLinks(path=record.ref, direction="related")
            linked = {"edges": both.run(memory).edges, "related": related.run(memory).related}
            self.linked_text = f"{both.shown}\n{related.shown}"
        return Artifact(
            record.ref,
            record.path,
            record.kind,
            record.title,
            record.at,
            list(record.tags),
            content,
            estimate(content),
            len(lines),
            end if end < len(lines) else 0,
            list(map(CommitOfRecord.of, commits)),
            **linked,
        )

    linked_text = ""

    def text(self, result: Artifact, view: View) -> str:  # noqa: ARG002
        more = f"… continue with offset {result.next_offset}" if result.next_offset else ""
        texts = (f"[{result.ref}] {result.title}", result.content, more, self.linked_text)
        return "\n".join(filter(None, texts))

    def _commits(self, memory: Memory, record: Record) -> list[Revision]:
        """The latest commits of a file, with its first page only."""
        if not record.path or self.offset:
            return []
        with contextlib.suppress(KinenError):  # not committed, or no repository
            full = memory.git.inside(record.path)
            git = memory.git
            revisions = git.history_at(full, self.ref) if self.ref else git.history(full)
            return revisions[-LATEST_COMMITS:]
        return []

    def _record(self, memory: Memory) -> tuple[Record, str]:
        kind, _, key = self.path.partition(":")
        if self.ref:
            path = key if kind in FILE_KINDS else self.path.removeprefix("file:")
            full = memory.git.inside(path)
            path = memory.git.relative(full)
            return Record(f"file:{path}", "file", path, path), memory.git.read(full, self.ref)
        name, line, number = resolve(memory, self.path)
        record, chunks = memory.records.show(name, -1 if kind == "file" else line, number)
        if record.kind == "file":
            return record, memory.git.read(memory.git.inside(record.path))
        return record, join_chunks(chunks)


def within(lines: list[str], start: int, budget: int) -> tuple[str, int]:
    """The lines from `start` that fit a budget, and the next line; a long first line is cut."""
    end = start
    room = budget * QUARTERS
    while end < len(lines) and weight(lines[end]) <= room:
        room -= weight(lines[end])
        end += 1
    if end == start < len(lines):
        return cut(lines[start], budget), start + 1
    return "\n".join(lines[start:end]), end


def join_chunks(chunks: list[Chunk]) -> str:
    """The text that chunks were cut from, without what two of them share."""
    text = ""
    last_line = 0
    for chunk in chunks:
        gap = 2
        if chunk.start_line and last_line:
            gap = min(2, max(1, chunk.start_line - last_line))
        seam = next((size for size in SEAM if text[-size:] == chunk.text[:size]), 0)
        if text and not seam:
            text += "\n" * gap
        text += chunk.text[seam:]
        last_line = chunk.end_line
    return text


@dataclass(frozen=True, slots=True)
class TagRow(Result):
    tag: str
    count: int
    files: int = 0
    notes: int = 0


@dataclass(frozen=True, slots=True)
class TagList(Result):
    tags: list[TagRow]
    total: int
    next_offset: int = 0
    """of the next page; 0 on the last"""
    next: str | None = None
    """the same as `cursor` of the next request"""


@dataclass(frozen=True, slots=True)
class TaggedRecords(Result):
    records: list[RecordRow]


@dataclass(frozen=True, slots=True)
class TagsLine(Result):
    tags: list[str]
    paths: list[str]
    """the staged files"""
    line: str
    """`tags: …` for the message of the commit"""


class Tags(Verb):
    """List the tags of files, what has a tag, or the `tags:` line for a commit.

    With TAG, the files that have all of these tags are listed. With --staged, the line
    names the components of the staged files (git.components or varp.yaml), or else
    their folders. Exit 1 if there are no tags.

    \b
    Examples:
      kinen files tags
      kinen files tags --notes
      kinen files tags domain/auth                # the files with this tag
      git commit -m "fix(auth): refresh tokens" -m "$(kinen files tags --staged)"
      kinen index hooks install --tags      # do that for every commit
    """

    result = TagList | TaggedRecords | TagsLine
    route = "tags"
    methods = ("GET",)
    tool = "kinen_list_tags"
    title = "List tags"
    guide = "Tags of files and notes with how many have each."
    tool_fields = ("tags", "total", "next_offset", "records", "paths", "line")

    names: tuple[str, ...] = param(
        "", "only what has these tags", many=True, metavar="[TAG]...", unlisted=True
    )
    notes_only: bool = param(
        "--notes", "only tags written in markdown files", default=False, unlisted=True
    )
    files_only: bool = param(
        "--files", "only tags of the repository's files", default=False, unlisted=True
    )
    staged: bool = param(
        "--staged", "print the `tags:` line for the staged files", default=False, unlisted=True
    )
    into: str = param(
        "--into",
        "with --staged: add the line to this commit message file",
        metavar="FILE",
        path=True,
        only="command",
    )
    limit: int = limit(0, "tags", tool=100, hidden=True)
    offset: int = offset("tags", hidden=True)
    rows: list[TagCount]
    records: list[Record]

    def run(self, memory: Memory) -> TagList | TaggedRecords | TagsLine:
        if self.into and not self.staged:
            raise QueryError(
                "tags are written into a file for staged changes only",
                "see `kinen files tags --help`",
            )
        if self.staged:
            paths = memory.git.staged()
            plan = memory.worklog.plan()
            line = memory.git.tags_line(paths, plan.tags if plan and paths else ())
            if self.into and line:
                memory.git.write_tags(self.into, line)
            return TagsLine(line.removeprefix("tags: ").split(", ") if line else [], paths, line)
        if self.names:
            records = memory.records.tagged(self.names)
            if self.notes_only != self.files_only:
                records = [row for row in records if (row.kind == "file") == self.files_only]
            self.records = records
            return TaggedRecords([RecordRow(**record_json(record)) for record in records])
        rows = memory.records.tags()
        if self.notes_only != self.files_only:
            column = "notes" if self.notes_only else "files"
            rows = [row._replace(total=getattr(row, column)) for row in rows]
            rows = sorted((row for row in rows if row.total), key=lambda row: (-row.total, row.tag))
        self.rows = rows[self.offset :][: self.limit or None]
        following = next_offset(len(rows), self.offset, self.limit)
        tags = [TagRow(row.tag, row.total, row.files, row.notes) for row in self.rows]
        return TagList(tags, len(rows), following, str(following) if following else None)

    def text(self, result: Any, view: View) -> str:
        if self.staged:
            return "" if self.into else str(result.line)
        if self.names:
            return records_text(openable(self.records, view), view.style)
        return "\n".join(f"{row.total:>6,}  {row.tag}" for row in self.rows)

    def agent_text(self, result: Any) -> str:
        return super().agent_text(result) or "no tags"

    def notes(self, result: Any) -> Iterable[str]:
        if not self.empty(result) or self.into:
            return
        if self.staged:
            has_paths = bool(result.paths)
            staged = "the staged files give no tags", "nothing is staged: `git add` first"
            yield staged[not has_paths]
        elif self.names:
            yield f"nothing has the tag {' and '.join(self.names)}"
        else:
            yield (
                "no tags: write #tag in a markdown file, or `tags:` in its frontmatter or a commit"
            )


def openable(records: Iterable[Record], view: View) -> list[Record]:
    """Records for a reader: their paths can be opened."""
    return [row._replace(path=view.place(row.path)) if row.path else row for row in records]


@dataclass(frozen=True, slots=True)
class TagsOfFile(Result):
    ref: str
    path: str
    tags: list[str]


@verb(result=TagsOfFile, route="tag", writes=True)
def tag(
    memory: Memory,
    path: str = param("", "the file", required=True, path=True, example="src/auth.py"),
    ops: tuple[str, ...] = param(
        "",
        "tags to add (+TAG) and to remove (-TAG)",
        many=True,
        required=True,
        metavar="+TAG|-TAG...",
        dashed=True,
        example=["+security", "-wip"],
    ),
) -> Output:
    """Add or remove tags of a file. They survive commits, renames and rebuilds.

    \b
    Examples:
      kinen files tag src/auth/session.py +security -wip
    """
    tags = memory.git.tag(path, ops)
    name = memory.git.current_name(path)
    return Output(TagsOfFile(f"file:{name}", name, list(tags)), ", ".join(tags) or "no tags")


@dataclass(frozen=True, slots=True)
class Links(Result):
    ref: str
    edges: list[Link]


@verb(result=Links, route="links", lists_files=True)
def show_links(
    memory: Memory,
    ref: str = param(
        "",
        "a path or a ref",
        required=True,
        metavar="PATH",
        path=True,
        ref=True,
        example="note:docs/sessions.md",
    ),
    depth: int = param("--depth", "number of links to follow", 1, least=1, most=6, metavar="N"),
) -> Output:
    """Show what a file links to and what links to it. Exit 1 if there are no links.

    \b
    Examples:
      kinen files graph show docs/auth.md
      kinen files graph show -l docs/auth.md | xargs less
    """
    own = memory.records.get(ref).ref
    edges = memory.records.links(own, depth)
    ends = dict.fromkeys(end for edge in edges for end in edge[:2] if end)
    names = {end: end.partition(":")[2] for end in ends}
    files = {end: name for end, name in names.items() if lexists(join(memory.space.root, name))}

    def text(view: View) -> str:
        places = {end: view.place(name) for end, name in files.items()}
        return links_text(own, edges, view.style, places)

    nothing = f"no links from or to {ref}: [[{ref}]] in another file makes one"
    return Output(
        Links(own, [Link(*edge) for edge in edges]),
        text,
        bool(edges),
        [] if edges else [nothing],
        [name for end, name in files.items() if end != own],
    )


@dataclass(frozen=True, slots=True)
class LinkPage(Result):
    total: int
    next_offset: int = 0
    """of the next page; 0 on the last"""
    ref: str = ""
    edges: list[Link] = field(default_factory=list)
    related: list[Relation] = field(default_factory=list)
    orphans: list[RecordRow] = field(default_factory=list)


class BrowseLinks(Verb):
    """Links of a record, what is related to it, or orphans and broken links of all notes."""

    result = LinkPage
    tool = "kinen_links"
    title = "Links and backlinks"
    guide = """Links and backlinks of a note, file or commit; direction related: notes close by
    link, meaning or tag. Of all notes, without a path: orphans, broken links."""

    path: str = param("", "path or ref", guide="path or ref", path=True, ref=True)
    direction: str = param(
        "--direction",
        "which",
        "both",
        choices=("both", "incoming", "outgoing", "related", "orphans", "broken"),
    )
    depth: int = param("--depth", "number of links to follow", 1, least=1, most=6, unlisted=True)
    limit: int = limit(50, "links")
    offset: int = offset("links")
    shown: str
    """The page as text."""

    def run(self, memory: Memory) -> LinkPage:
        if self.direction == "orphans":
            orphans = self._page(memory.records.orphans())
            text = "\n".join(record.ref for record in orphans)
            self.shown = text or "no orphans: every note is linked"
            return self._answer(orphans=[RecordRow(**record_json(row)) for row in orphans])
        if self.direction == "broken":
            return self._edges("", memory.records.broken_links(), "no broken links")
        if not self.path:
            raise QueryError("path is required", "give path, or direction orphans or broken")
        record = memory.records.get(self.path)
        if self.direction == "related":
            most = min(self.offset + self.limit, MOST["limit"])
            related = self._page(memory.relations.related(record.ref, most)[1])
            self.shown = related_text(related) or f"nothing is related to {record.ref}"
            return self._answer(ref=record.ref, related=list(map(Relation.of, related)))
        edges = memory.records.links(record.ref, self.depth)
        if self.direction != "both":
            end = "target" if self.direction == "incoming" else "source"
            edges = [edge for edge in edges if getattr(edge, end) == record.ref]
        return self._edges(record.ref, edges, f"{record.ref} has no links")

    def _edges(self, ref: str, edges: Sequence[Edge], empty: str) -> LinkPage:
        """A page of edges around a record, or of all."""
        page = self._page(edges)
        self.shown = (links_text(ref, page) if ref else broken_text(page)) or empty
        return self._answer(ref=ref, edges=[Link(*edge) for edge in page])

    def _page(self, rows: Sequence[Any]) -> Sequence[Any]:
        self.total = len(rows)
        return rows[self.offset : self.offset + self.limit]

    def _answer(self, **fields: Any) -> LinkPage:
        return LinkPage(self.total, next_offset(self.total, self.offset, self.limit), **fields)

    def text(self, result: LinkPage, view: View) -> str:  # noqa: ARG002
        return self.shown


@dataclass(frozen=True, slots=True)
class LinkList(Result):
    edges: list[Link]


@verb(result=LinkList, route="broken-links")
def list_broken_links(memory: Memory) -> Output:
    """List broken links as `path:line: target`. Exit 0 if there are none, 1 if there are some."""
    edges = memory.records.broken_links()
    return Output(
        LinkList([Link(*edge) for edge in edges]),
        lambda view: broken_text(edges, view.place),
        not edges,
        [] if edges else ["no broken links: every link between files leads somewhere"],
    )


@dataclass(frozen=True, slots=True)
class Orphans(Result):
    orphans: list[RecordRow]


@verb(result=Orphans, route="orphans", lists_files=True)
def list_orphans(memory: Memory) -> Output:
    """List markdown files without a link to another one, in either direction. Exit 1 if none.

    \b
    Examples:
      kinen files graph orphans
      kinen files graph orphans --json | jq -r '.orphans[].path'
    """
    records = memory.records.orphans()
    return Output(
        Orphans([RecordRow(**record_json(record)) for record in records]),
        lambda view: records_text(openable(records, view), view.style),
        bool(records),
        [] if records else ["no orphans: every markdown file is linked"],
        [record.path for record in records],
    )


@verb(result=LinkList, route="graph")
def export_graph(
    memory: Memory,
    form: str = param(
        "--format",
        "output format",
        "dot",
        choices=("dot", "mermaid", "json"),
        only="command",
    ),
) -> Output:
    """Print all links as Graphviz, Mermaid or JSON.

    \b
    Examples:
      kinen files graph export | dot -Tsvg > graph.svg
    """
    edges = memory.records.graph()
    links = LinkList([Link(*edge) for edge in edges])

    def text(_: View) -> str:
        if form == "json":
            return to_json(plain(links))
        return graph_dot(edges) if form == "dot" else graph_mermaid(edges)

    return Output(links, text)


graph = group(
    "Links between the markdown files of a space.",
    show=show_links,
    broken=list_broken_links,
    orphans=list_orphans,
    export=export_graph,
)
