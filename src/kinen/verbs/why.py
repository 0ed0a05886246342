"""`why`: the reason for a line, a symbol, a commit or a memory.

Its command starts without click: the types of the result are in `kinen.verbs.answers`.
"""

from __future__ import annotations

from kinen.characters import visible, visible_line
from kinen.ids import short_id
from kinen.journal.authors import signature
from kinen.model.kinds import MODELS
from kinen.render.screen import when
from kinen.render.text import changed_line
from kinen.text import epoch, excerpt
from kinen.verbs.params import param
from kinen.verbs.verb import Output, Verb, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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

    result = "kinen.verbs.answers:Reasons"
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

    def answer(self, memory: Memory) -> Output:
        because = memory.reasons.why(self.target)
        paragraph, remarks = memory.reasons.paragraph(because, self.distiller or "configured")
        because = because._replace(notes=(*because.notes, *remarks))
        found = any((because.commits, because.memories, because.edited, because.beside))
        unknown = [] if found else [f"no commit and no session is known for {because.target}"]

        def objects(rows: Iterable[tuple[object, ...]], *names: str) -> list[dict[str, object]]:
            return [dict(zip(names, row, strict=True)) for row in rows]

        def data() -> object:
            return {
                "target": because.target,
                "reason": reason(because),
                "text": because.text,
                "commits": because.commits,
                "uncommitted": because.uncommitted,
                "edited": because.edited,
                "memories": objects(because.memories, "ref", "at", "text"),
                "reverted": objects(because.reverted, "ref", "subject", "by"),
                "changes_with": objects(because.together, "path", "commits"),
                "beside": objects(because.beside, "ref", "at", "text"),
                "paragraph": objects(paragraph, "text", "refs"),
                "notes": because.notes,
            }

        return Output(
            data,
            lambda view: "\n".join(_text(because, paragraph, view)),
            found,
            [*because.notes, *unknown],
        )


def _text(
    because: Because, paragraph: list[tuple[str, tuple[str, ...]]], view: View
) -> Iterator[str]:
    style = view.style
    first = reason(because)
    if first:
        yield style("bold", visible(excerpt(first, FIRST)))
    if paragraph:
        from textwrap import wrap

        sentences = (f"{text} [{', '.join(map(short_id, refs))}]" for text, refs in paragraph)
        yield from ("", *wrap(visible_line(" ".join(sentences)), WIDTH), "")
    for line in because.text.expandtabs(4).splitlines()[:10]:
        yield style("dim", f"  {visible_line(line)}")
    if because.uncommitted:
        yield from ("", *_uncommitted(because, view.screen))
    elif because.edited:
        yield from ("", *_session(because.edited, view))
    for commit in because.commits:
        yield from ("", *_commit(commit, view))
    groups = (
        ("names it" if because.commits else "drawn from", map(_mention, because.memories)),
        ("beside it", map(_mention, because.beside)),
        (
            "tried and taken back",
            (f"{short_id(ref)}  {name}  by {short_id(by)}" for ref, name, by in because.reverted),
        ),
        ("changes with it", (f"{path} ({count})" for path, count in because.together)),
    )
    for name, rows in groups:
        texts = [f"  {visible_line(row)}" for row in rows]
        if texts:
            yield from ("", style("dim", name), *texts)


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
        name, colon, _ = first.partition(": ")
        trailers = colon and "-" in name and " " not in name  # such as `Signed-off-by: …`
        return f"{commit.subject}: {first}" if first and not trailers else commit.subject
    if because.edited and because.edited.request:
        return because.edited.request.partition("\n")[0]
    return ""


def known(row: SessionBehind) -> str:
    """How a session is known to have written a commit, in words; what is not certain ends in ?."""
    share = row.lines / row.total if row.total else 0.0
    how = STEPS.get(row.step, "").format(share=share)
    return f"{how}?" if how and not row.certain else how


def _commit(row: CommitBehind, view: View) -> Iterator[str]:
    style = view.style
    about = f"{row.at[:10]}  {visible_line(row.author)}"
    yield f"{style('path', short_id(row.ref))}  {style('dim', about)}  {visible_line(row.subject)}"
    if row.text:
        yield style("dim", f"  was: {visible_line(row.text.strip())}")
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


def _session(row: SessionBehind, view: View) -> Iterator[str]:
    name = short_id(row.ref) if row.ref else row.session
    parts = (row.agent, signature(row.by).strip(), row.origin and f"from {row.origin}", known(row))
    about = ", ".join(filter(None, parts))
    yield f"  session {view.style('path', visible_line(name))}  {visible_line(about)}"
    for label, text in (("asked", row.request), ("said", row.reply)):
        if text:
            yield f"    {label}: {visible_line(text)}"
    if row.changed_since:
        yield f"    {view.style('dim', changed_line(row.changed_since, row.edited))}"


def _uncommitted(because: Because, screen: Screen) -> Iterator[str]:
    count = len(because.uncommitted)
    state = "not committed" if not because.commits else f"{count} of these lines not committed"
    edited = because.edited
    if edited is None:
        yield f"{state}; no session is known to have edited it"
        return
    name = short_id(edited.ref) if edited.ref else edited.session
    time = when(epoch(edited.at) / 1000, screen.now) if screen.terminal else f"at {edited.at[:16]}"
    yield f"{state}; last edited by session {visible_line(name)} {time}"
    if edited.reply:
        yield f"  said: {visible_line(edited.reply)}"


def _mention(row: tuple[str, str, str]) -> str:
    ref, at, text = row
    return f"{short_id(ref)}  {at[:10]}  {text}"
