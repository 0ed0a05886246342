"""`why`: the reason for a line, a symbol, a commit or a memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING

from kinen.characters import visible, visible_line
from kinen.ids import short_id
from kinen.journal.authors import signature
from kinen.model.kinds import MODELS
from kinen.render.screen import when
from kinen.render.sessions import changed_line
from kinen.text import epoch, excerpt
from kinen.verbs.params import param
from kinen.verbs.verb import Result, Verb, View

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.memory.why import Because, CommitBehind, SessionBehind
    from kinen.render.screen import Screen

WIDTH = 100
"""Columns of the paragraph."""
FIRST = 160
"""Characters of the reason that the text begins with; all of it is below."""
STEPS = {
    "trace": "named by a trace",
    "seen": "made the commit",
    "content": "its edits are the diff",
    "lines": "wrote {share:.0%} of its lines",
    "fits": "was at work on these files then",
}
"""How a session is known to have written a commit, in words."""


@dataclass(frozen=True, slots=True)
class SessionOfCommit(Result):
    ref: str
    session: str
    agent: str
    step: str
    """how it is known: trace, seen, content, lines or fits"""
    certain: bool
    lines: int
    """lines of the commit that it wrote"""
    total: int
    request: str
    """what the user asked for before the edit"""
    reply: str
    """what the agent said about it"""
    edit: str
    """ref of the edit"""
    at: str
    by: str = ""
    origin: str = ""
    """where the session was read from, if not recorded here"""
    changed_since: list[str] = field(default_factory=list)
    """files that it edited and later commits changed"""
    edited: int = 0
    """how many files it edited"""

    @classmethod
    def of(cls, row: SessionBehind) -> SessionOfCommit:
        return cls(**{**row._asdict(), "changed_since": list(row.changed_since)})


@dataclass(frozen=True, slots=True)
class CommitOfLine(Result):
    ref: str
    at: str
    author: str
    subject: str
    message: str
    path: str
    """the file's path then"""
    lines: list[int]
    """lines that come from it, as they are numbered now"""
    text: str
    """the line after it, where it changed since"""
    sessions: list[SessionOfCommit] = field(default_factory=list)
    issues: list[str] = field(default_factory=list)
    reverted_by: str = ""
    moved: bool = False
    """whether it only moved or copied the lines here from another file"""

    @classmethod
    def of(cls, row: CommitBehind) -> CommitOfLine:
        fields = row._asdict()
        sessions = [SessionOfCommit.of(session) for session in row.sessions]
        lists = {"lines": list(row.lines), "issues": list(row.issues), "sessions": sessions}
        return cls(**{**fields, **lists})


@dataclass(frozen=True, slots=True)
class Mentioned(Result):
    ref: str
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Undone(Result):
    ref: str
    subject: str
    by: str
    """ref of the commit that took it back"""


@dataclass(frozen=True, slots=True)
class ChangesWith(Result):
    path: str
    commits: int


@dataclass(frozen=True, slots=True)
class Sentence(Result):
    text: str
    refs: list[str]
    """what it rests on"""


@dataclass(frozen=True, slots=True)
class Reasons(Result):
    target: str
    reason: str
    """the shortest answer: what was asked for, else what the commit says; empty if unknown"""
    text: str
    """the lines, or the memory"""
    commits: list[CommitOfLine]
    """those that the lines come from, the latest first, then what these lines were before"""
    uncommitted: list[int]
    """lines that no commit has"""
    edited: SessionOfCommit | None
    """the session that last edited them, or that a memory was drawn from"""
    memories: list[Mentioned]
    """what names the file or symbol; of a memory its sources"""
    reverted: list[Undone]
    """commits of the file that were taken back"""
    changes_with: list[ChangesWith]
    beside: list[Mentioned] = field(default_factory=list)
    """other commits of the three lines before and after; of the file, if git cannot follow these"""
    paragraph: list[Sentence] = field(default_factory=list)
    """what a model wrote about it; empty without one"""
    notes: list[str] = field(default_factory=list)


class Why(Verb):
    """Show why a line, a symbol, a commit or a memory is there. Exit 1 if nothing is known.

    TARGET is PATH:LINE, PATH:A-B, PATH#symbol, a commit or a memory. The reason comes first: what
    a session was asked for, else what the commit says. Below it are the commits behind the lines,
    through renames, moves and reformatting, with what the lines were before, the sessions that
    wrote them and how that is known, decisions that name the file, and what changes with it.

    A model (claude, gemini, ollama, openai) writes a paragraph on top only if you name it here or
    in distill.order. It is sent what is listed, and each sentence names what it rests on.

    \b
    Examples:
      kinen why src/auth.py:42
      kinen why 'src/auth.py#Session.renew'
      kinen why 3f2a91c --json | jq -r '.commits[].sessions[].request'
    """

    result = Reasons
    route = "why"
    tool = "kinen_why"
    title = "Why a line is there"
    guide = """Why a line, symbol, commit or memory is there: commits, the session's request and
    what it said, decisions. Look here before you change code that seems odd."""

    target: str = param(
        "",
        "PATH:LINE, PATH:A-B, PATH#symbol, a commit or a memory",
        required=True,
        metavar="TARGET",
        example="src/auth.py:42",
    )

    distiller: str = param(
        "--distiller",
        "which model writes a paragraph on top (default: distill.order)",
        choices=("auto", "none", *MODELS),
        tool_default="none",
        request_default="none",
        unlisted=True,
    )

    def run(self, memory: Memory) -> Reasons:
        because = memory.reasons.why(self.target)
        paragraph, remarks = memory.reasons.paragraph(because, self.distiller or "configured")
        return Reasons(
            target=because.target,
            reason=reason(because),
            text=because.text,
            commits=[CommitOfLine.of(row) for row in because.commits],
            uncommitted=list(because.uncommitted),
            edited=SessionOfCommit.of(because.edited) if because.edited else None,
            memories=[Mentioned(*row) for row in because.memories],
            reverted=[Undone(*row) for row in because.reverted],
            changes_with=[ChangesWith(*row) for row in because.together],
            beside=[Mentioned(*row) for row in because.beside],
            paragraph=[Sentence(text, list(refs)) for text, refs in paragraph],
            notes=[*because.notes, *remarks],
        )

    def empty(self, result: Reasons) -> bool:
        return not any((result.commits, result.memories, result.edited, result.beside))

    def text(self, result: Reasons, view: View) -> str:
        style = view.style
        lines = [style("bold", visible(excerpt(result.reason, FIRST)))] if result.reason else []
        if result.paragraph:
            sentences = (
                f"{row.text} [{', '.join(map(short_id, row.refs))}]" for row in result.paragraph
            )
            lines += ["", *wrap(visible_line(" ".join(sentences)), WIDTH), ""]
        current = result.text.expandtabs(4).splitlines()[:10]
        lines += [style("dim", f"  {visible_line(row)}") for row in current]
        if result.uncommitted:
            lines += ["", *_uncommitted(result, view.screen)]
        elif result.edited:
            lines += ["", *_session(result.edited, view)]
        for commit in result.commits:
            lines += ["", *_commit(commit, view)]
        groups = (
            ("names it" if result.commits else "drawn from", map(_mention, result.memories)),
            ("beside it", map(_mention, result.beside)),
            ("tried and taken back", map(_undone, result.reverted)),
            ("changes with it", (f"{row.path} ({row.commits})" for row in result.changes_with)),
        )
        for name, rows in groups:
            texts = [f"  {visible_line(row)}" for row in rows]
            lines += ["", style("dim", name), *texts] if texts else []
        return "\n".join(lines)

    def notes(self, result: Reasons) -> Iterable[str]:
        yield from result.notes
        if self.empty(result):
            yield f"no commit and no session is known for {result.target}"


def reason(because: Because) -> str:
    """What was asked for in the surest session of the latest commit, else what that says."""
    if because.uncommitted and because.edited:
        return because.edited.request.partition("\n")[0]
    for commit in because.commits[:1]:
        for session in commit.sessions[:1]:
            if session.certain and session.request:
                return session.request.partition("\n")[0]
        body = commit.message.partition("\n")[2].strip()
        first = body.partition("\n\n")[0].replace("\n", " ")
        return f"{commit.subject}: {first}" if first and not _trailers(first) else commit.subject
    if because.edited and because.edited.request:
        return because.edited.request.partition("\n")[0]
    return ""


def _trailers(paragraph: str) -> bool:
    """Whether a paragraph only has lines such as `Signed-off-by: …`."""
    name, colon, _ = paragraph.partition(": ")
    return bool(colon) and "-" in name and " " not in name


def _commit(row: CommitOfLine, view: View) -> Iterator[str]:
    style = view.style
    was = style("dim", f"  was: {visible_line(row.text.strip())}") if row.text else ""
    about = f"{row.at[:10]}  {visible_line(row.author)}"
    yield f"{style('path', short_id(row.ref))}  {style('dim', about)}  {visible_line(row.subject)}"
    if was:
        yield was
    if row.moved:
        yield style("dim", "  moved or copied the lines here")
    if row.reverted_by:
        yield style("warn", f"  taken back by {short_id(row.reverted_by)}")
    body = visible(row.message.partition("\n")[2].strip())
    yield from (f"  {line}" for line in body.splitlines())
    for session in row.sessions:
        yield from _session(session, view)
    if row.issues:
        yield f"  issues: {visible_line(', '.join(row.issues))}"


def _session(row: SessionOfCommit, view: View) -> Iterator[str]:
    share = row.lines / row.total if row.total else 0.0
    how = STEPS.get(row.step, "").format(share=share) + (
        "?" if row.step and not row.certain else ""
    )
    name = short_id(row.ref) if row.ref else row.session
    parts = (row.agent, signature(row.by).strip(), row.origin and f"from {row.origin}", how)
    about = ", ".join(filter(None, parts))
    yield f"  session {view.style('path', visible_line(name))}  {visible_line(about)}"
    for label, text in (("asked", row.request), ("said", row.reply)):
        if text:
            yield f"    {label}: {visible_line(text)}"
    if row.changed_since:
        yield f"    {view.style('dim', changed_line(row.changed_since, row.edited))}"


def _uncommitted(result: Reasons, screen: Screen) -> Iterator[str]:
    count = len(result.uncommitted)
    state = "not committed" if not result.commits else f"{count} of these lines not committed"
    edited = result.edited
    if edited is None:
        yield f"{state}; no session is known to have edited it"
        return
    name = short_id(edited.ref) if edited.ref else edited.session
    time = when(epoch(edited.at) / 1000, screen.now) if screen.terminal else f"at {edited.at[:16]}"
    yield f"{state}; last edited by session {visible_line(name)} {time}"
    if edited.reply:
        yield f"  said: {visible_line(edited.reply)}"


def _mention(row: Mentioned) -> str:
    return f"{short_id(row.ref)}  {row.at[:10]}  {row.text}"


def _undone(row: Undone) -> str:
    return f"{short_id(row.ref)}  {row.subject}  by {short_id(row.by)}"
