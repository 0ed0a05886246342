"""`kinen hook AGENT`: stores one event of an agent from standard input, and prints context for it.

Each event starts a process, so nothing heavy is loaded. No error stops the agent: the exit code is
always 0, and standard output has only the response of the hook.
"""

from __future__ import annotations

import os
import sys
import time

from kinen import ids, paths
from kinen.agents import claude_code
from kinen.agents.client import BORROWERS, load
from kinen.agents.tool_use import Draft, intent, text_of
from kinen.hooks import payload
from kinen.hooks.event import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any

    from kinen.agents.claude_code import Payload
    from kinen.hooks.injection import Context
    from kinen.journal.ledger import Injection

PAUSE = 3600
"""Seconds of inactivity after which a resumed session gets the brief again."""
PATIENCE = 2.0
"""Seconds that the search for a prompt may take."""
START_MS = 1000
"""Milliseconds that the start of a session waits for a journal that is locked: it comes once."""
TRANSCRIPT = 1 << 18
"""Bytes at the end of a transcript in which the last answer is looked for."""
FLUSHED = 0.5
"""Seconds that the end of a turn waits until its answer is in the transcript: Copilot CLI writes it
in the background."""
MEMORIES = 40
"""Memories that are considered for the brief."""


def main(argv: list[str]) -> int:
    """Handle one event; the exit code is always 0."""
    if os.environ.get("KINEN_DISTILLING"):
        return 0  # the agent was started by kinen itself
    try:
        output = _run(argv)
        if output:
            sys.stdout.buffer.write(output.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()
    except Exception:
        if paths.debugging():
            import traceback

            traceback.print_exc()
    return 0


def _run(argv: list[str]) -> str:
    client = load(argv[0]) if argv else None
    if client is None or not client.events or (len(argv) == 1 and sys.stdin.isatty()):
        from kinen.agents.client import clients

        names = "|".join(name for name, client in clients().items() if client.events)
        print(f"usage: kinen hook {names} < the JSON of a hook", file=sys.stderr)
        return ""
    if argv[1:2] == ["--close"]:
        from kinen.hooks.background import close

        close(argv[0], argv[2])
        return ""
    if argv[1:2] == ["--notify"]:
        return _notified(payload.parsed(argv[2].encode()), argv[0])
    return handled(payload.read(sys.stdin.buffer), argv[0], *argv[1:2])


def handled(event: Payload, agent: str, client_event: str = "") -> str:
    """Handle an event; returns the text to print.

    `client_event` is the client's name of it, where the payload has none. If the handler fails, as
    much of the event as possible is stored before the error is raised.
    """
    client = load(_caller(event, agent))
    assert client is not None
    client_event = client_event or text_of(event, "hook_event_name")
    if client.fields or client.result:
        from kinen.agents.translate import shared

        event = shared(event, client, client_event, payload.parsed)
    handle = HANDLERS.get(text_of(event, "hook_event_name"))
    if handle is None:
        return ""
    session = Session(event, client, client_event)
    try:
        return handle(session)
    except Exception:
        session.rescue()
        raise


def _caller(event: Payload, agent: str) -> str:
    """The agent that runs the hooks of Claude Code, which is not always Claude Code."""
    if agent != "claude-code" or "/.claude/" in text_of(event, "transcript_path"):
        return agent
    for name, variable, field in BORROWERS:
        if os.environ.get(variable) or field in event:
            return name
    return agent


def _notified(event: Payload, agent: str) -> str:
    """Store a turn that Codex reports after it; with trusted hooks it is stored already."""
    if event.get("type") != "agent-turn-complete":
        return ""
    messages = event.get("input-messages")
    texts = [text for text in messages if isinstance(text, str)] if messages else []
    for prompt in texts:
        handled({**event, "prompt": prompt}, agent, "UserPromptSubmit")
    return handled(event, agent, "Stop")


# What is done with each event


def _record(session: Session) -> str:
    _add_answer(session)
    sieve = session.sieve()
    event = claude_code.event(session.payload, sieve)
    if event is not None:
        session.keep(event, sieve)
    return ""


def _prompt(session: Session) -> str:
    """Store the prompt, title the capsule if it is the first, and return related memories."""
    from kinen.journal import capsules

    sieve = session.sieve()
    event = claude_code.event(session.payload, sieve)
    if event is None:
        return ""
    prompt = intent(event.text)
    session.keep(event, sieve, lambda db: capsules.call(db, session.capsule, prompt))
    if not session.prompted:
        return ""
    from kinen.hooks.injection import Context

    context = Context(session)
    context.load()
    injection = context.injection("UserPromptSubmit")
    try:
        _relevant(event.text, session, sorted(context.refs), injection)
    except TimeoutError:
        _spawn(session.agent, "")  # the index is far behind: it is there for the next prompt
        return ""
    return _response(context, injection)


def _start(session: Session) -> str:
    """Open or resume the capsule, and return the brief."""
    from kinen.hooks.injection import CLEARED, Context
    from kinen.journal import capsules
    from kinen.journal.brief import brief, latest_points, ranked

    db = session.journal(START_MS)
    source = text_of(session.payload, "source")
    fresh = True
    if db and session.id:
        fresh = _tried(lambda: session.begin(db, again=True), default=True)
        if capsules.left_open(db, session.now, but=session.capsule):
            _spawn(session.agent, "")
    context = Context(session)
    if _has_brief(session, db, context, fresh=fresh):
        return ""
    plan, pins = _plan_and_pins(session, db)
    last = capsules.summary(db, session.capsule) if db else None
    decided = latest_points(session.here.tree)
    memories = ranked([*decided, *capsules.memories(db)], capsules.touched(db)) if db else decided
    here = session.here
    overview = capsules.overview(db, session.capsule, here.tree, here.index) if db else ""
    if source in CLEARED:
        context.forget()
    elif source != "startup":
        context.load()
    plan = _news(context, plan)
    pins = [pin for pin in pins if pin[0] not in context.refs]
    last = last if last and last[0] not in context.refs else None
    memories = [memory for memory in memories if not context.has(memory[0], memory[1])][:MEMORIES]
    issue = capsules.issue_in_progress(here.index) if db else ""
    summary = capsules.summary(db, session.capsule) if db else None
    beside = (
        capsules.others(db, session.capsule, session.now, summary[0] if summary else "")
        if db
        else []
    )
    beside = [entry for entry in beside if entry[0] not in context.refs]
    author = capsules.author(db, last[0]) if db and last else ""
    commits = capsules.latest_commits(db, here.index) if db and not summary else []
    commits = [commit for commit in commits if commit[0] not in context.refs]
    text = brief(
        plan, pins, last, memories, session.budget, overview, issue, beside, author, commits
    )
    entries = [*pins, *([last] if last else []), *beside, *memories, *commits]
    return _output(context, "SessionStart", text, [_ref(plan), *(entry[0] for entry in entries)])


def _has_brief(
    session: Session, db: sqlite3.Connection | None, context: Context, *, fresh: bool
) -> bool:
    """Whether the brief is still in the agent's context, or another kinen hook just returned it.

    `fresh` says that this event opened the capsule. The first prompt may have opened it too: pi
    sends it at the same moment.
    """
    from kinen.journal import capsules

    source = text_of(session.payload, "source")
    if source == "resume":
        idle = session.payload.get("seconds_since_last_response")
        return isinstance(idle, (int, float)) and idle < PAUSE
    if source != "startup" or fresh:
        return False
    prompt_was_first = db is not None and capsules.has_intent(db, session.capsule)
    return not prompt_was_first or context.has_started()


def _acting(session: Session) -> str:
    """Return, once, the tip about the file or command that a tool is about to use."""
    if not session.before_tools:
        return ""
    from kinen.hooks import action
    from kinen.hooks.injection import Context

    kind, name = action.subject(session.payload, session.sieve().place)
    db = session.journal() if kind else None
    if db is None or not session.id:
        return ""
    context = Context(session)
    if context.database is None:
        return ""  # without a ledger the tip would be repeated
    tip = action.tip(db, context.database, kind, name, action.changed_text(session.payload))
    if tip is None:
        return ""
    context.load()
    injection = context.injection("PreToolUse")
    action.tell(injection, context, tip, name)
    return _response(context, injection)


def _compacting(session: Session) -> str:
    """Return what a compaction must preserve; it becomes part of the instructions."""
    from kinen.hooks.injection import Context
    from kinen.journal.brief import KEEP, brief

    plan, pins = _plan_and_pins(session, session.journal())
    text = brief(plan, pins, None, (), session.budget)
    context = Context(session)
    context.forget()
    if not text:
        return ""
    instructions = f"{KEEP}\n{text}\n"
    injection = context.injection("PreCompact")
    injection.tell(instructions, [_ref(plan), *(pin[0] for pin in pins)])
    context.record(injection)
    return instructions


def _compacted(session: Session) -> str:
    """Store the summary of a compaction; as an observation if the journal is not writable now."""
    from kinen.journal import capsules

    sieve = session.sieve()
    text = claude_code.summary(session.payload, sieve)
    if not text or not session.id:
        return ""
    text += session.remark
    id_ = ids.key_id(session.agent, session.id, text_of(session.payload, "prompt_id"), text)
    db = session.journal()

    def write() -> bool:
        assert db is not None
        session.begin(db)
        capsules.sum_up(db, id_, session.capsule, text, session.now)
        return True

    if db is None or not _tried(write, default=False):
        about = {"event": "PostCompact"}
        draft = Draft("node_output", text, about)
        draft.key = (id_,)
        session.keep(draft, sieve)
    session.settled = True
    return ""


def _end(session: Session) -> str:
    """Close the capsule in the background, because a client that ends does not wait."""
    if session.id:
        _spawn(session.agent, session.id)
    return ""


HANDLERS = {
    "SessionStart": _start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _acting,
    "PostToolUse": _record,
    "PostToolUseFailure": _record,
    "SubagentStop": _record,
    "PreCompact": _compacting,
    "PostCompact": _compacted,
    "Stop": _record,
    "SessionEnd": _end,
}


# Parts


def _add_answer(session: Session) -> None:
    """Take the last answer from the transcript, where the client's event does not have it."""
    client = session.client
    if session.event != "Stop" or not client.transcript:
        return
    from kinen.agents.translate import at

    kind, path = client.transcript
    place = text_of(session.payload, "transcript_path")
    entry = _last_answer(place, kind, path)
    end = time.monotonic() + FLUSHED
    while entry is None and time.monotonic() < end:
        time.sleep(0.02)
        entry = _last_answer(place, kind, path)
    if entry:
        session.payload["last_assistant_message"] = at(entry, path)
        session.payload.setdefault("prompt_id", text_of(entry, "id"))


def _last_answer(transcript: str, kind: str, path: str) -> Payload | None:
    """The answer at the end of a transcript: None if it is not written yet, empty if unreadable."""
    from kinen.agents.translate import at
    from kinen.errors import UnsafeFile
    from kinen.storage import regular

    try:
        tail = regular.tail(transcript, TRANSCRIPT)
    except (OSError, UnsafeFile):
        return {}
    for line in reversed(tail.splitlines()):
        entry = payload.parsed(line)
        type_ = text_of(entry, "type")
        answer = at(entry, path) if type_ == kind else None
        if answer and isinstance(answer, str):
            return entry
        if type_.startswith(("user.", "tool.")):
            return None
    return None


def _tried(work: Callable[[], bool], *, default: bool) -> bool:
    try:
        return work()
    except Exception:  # a capsule that cannot be written now must not lose the event
        return default


def _plan_and_pins(session: Session, db: sqlite3.Connection | None) -> tuple[list[str], list[Any]]:
    """The plan and the pins."""
    from kinen.journal import capsules
    from kinen.journal.brief import plan_of

    plan = plan_of(session.here.tree, session.now / 1000)
    index = session.here.index
    return plan, capsules.pins(db, session.id, session.agent, session.now, index) if db else []


def _news(context: Context, plan: list[str]) -> list[str]:
    """The plan, unless it is in the context; its first line changes with each completed step."""
    return [] if plan and any(plan[0] in text for text in context.texts) else plan


def _ref(plan: list[str]) -> str:
    return plan[0].rpartition("[")[2].rstrip("]") if plan else ""


def _output(context: Context, event: str, text: str, candidates: list[str]) -> str:
    """Record an injection with its refs, and return the response for the client."""
    injection = context.injection(event)
    injection.tell(text, [ref for ref in candidates if ref])
    return _response(context, injection)


def _response(context: Context, injection: Injection) -> str:
    text = injection.text
    if not text:
        return ""
    context.record(injection)
    session = context.session
    return answer(text, session.client_event, session.client.answer)


def answer(text: str, event: str, form: str) -> str:
    """The response of a hook that puts a text before the model, in the form of its client."""
    from _json import encode_basestring_ascii

    if form == "text":
        return text
    encoded = encode_basestring_ascii(text)
    if form == "cursor":
        return f'{{"additional_context": {encoded}}}\n'
    name = encode_basestring_ascii(event)
    output = f'"hookSpecificOutput": {{"hookEventName": {name}, "additionalContext": {encoded}}}'
    if form == "copilot":
        output = f'"additionalContext": {encoded}, {output}'
    return f"{{{output}}}\n"


def _relevant(prompt: str, session: Session, refs: list[str], injection: Injection) -> None:
    """Fill an injection with entries for a prompt that are not in the context.

    The daemon is asked first; without it, full text is searched within the time limit.
    """
    from kinen.ipc import client

    if not os.path.exists(os.path.join(session.here.index, "index.db")):
        return  # building an index takes too long for a hook
    home = paths.default_home(os.environ)
    if not client.own_settings(os.environ):
        request = {"prompt": prompt, "session": session.id, "budget": session.budget, "known": refs}
        line = "POST /v1/context/prompt"
        space = session.here.root
        answer = client.ask(home, line, request, space=space, wait=PATIENCE)
        if answer is not None and answer.code == 200:
            related = payload.parsed(answer.body)
            injection.text = text_of(related, "text")
            injection.entries = related["entries"]
            injection.dropped = [(left["ref"], left["reason"]) for left in related["dropped"]]
            return
    from kinen.hooks.background import search_related

    search_related(prompt, session, refs, injection, PATIENCE)


def _spawn(agent: str, session: str) -> None:
    """Start a detached process that closes a session and those that a crash left open."""
    import subprocess

    apart: dict[str, Any] = {"start_new_session": True}
    if os.name == "nt":
        apart = {"creationflags": 0x00000208}  # detached, in a group of its own
    null = subprocess.DEVNULL
    # -P: it runs in the project's folder, whose files are not to be taken for modules.
    line = [sys.executable, "-P", "-m", "kinen", "hook", agent, "--close", session]
    subprocess.Popen(line, stdin=null, stdout=null, stderr=null, **apart)
