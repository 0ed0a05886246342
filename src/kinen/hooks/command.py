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
from kinen.agents.tool_use import SUBAGENTS, Draft, intent, text_of
from kinen.hooks import payload
from kinen.hooks.event import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from kinen.agents.claude_code import Payload
    from kinen.hooks.injection import Context
    from kinen.journal.ledger import Injection
    from kinen.journal.start import Start

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
CLOSING = 2.0
"""Seconds that the first start in a new space waits for the sessions before it to be closed."""


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
    if argv[1:2] in (["--close"], ["--sum-up"], ["--turn"], ["--share"]):
        from kinen.hooks import background

        background.run(argv[0], *argv[1:])
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
    if not session.here.data:
        handle = WITHOUT_SPACE.get(session.event)
    elif session.here.early and _tried(session.adopt, default=False):
        _spawn(session, "", wait=session.event == "SessionStart")  # its brief is about them
    try:
        return handle(session) if handle else ""
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
    """Store a turn that Codex reports after it, unless a hook has stored it.

    The report repeats all earlier prompts of the thread: only the last is of this turn.
    """
    if event.get("type") != "agent-turn-complete":
        return ""
    messages = event.get("input-messages")
    texts = [text for text in messages if isinstance(text, str)] if messages else []
    turn = [({**event, "prompt": text}, "UserPromptSubmit") for text in texts[-1:]]
    turn.append((event, "Stop"))
    if not any(_is_stored(part, agent, name) for part, name in turn):
        for part, name in turn:
            handled(part, agent, name)
    return ""


def _is_stored(event: Payload, agent: str, name: str) -> bool:
    """Whether the journal has an event."""
    client = load(agent)
    assert client is not None
    from kinen.agents.translate import shared
    from kinen.journal.schema import has

    session = Session(shared(event, client, name, payload.parsed), client)
    draft = claude_code.event(session.payload, session.sieve())
    db = session.journal() if session.here.data else None
    if db is None or draft is None:
        return False
    id_ = ids.key_id(session.agent, *draft.key)
    return has(db, id_)


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
    asks = session.asks == "stop"
    if not (session.prompted or asks):
        return ""
    from kinen.hooks.injection import Context

    context = Context(session)
    request = ""
    if asks:
        from kinen.hooks import saving

        correction = context.injection("UserPromptSubmit")
        correction.subject = saving.CORRECTION
        correction.tell(saving.at_prompt(session, context, event.text), [])
        if context.record(correction):  # what cannot be noted would be asked again
            request = correction.text
    injection = context.injection("UserPromptSubmit")
    try:
        if session.prompted:
            context.load()
            _relevant(event.text, session, sorted(context.refs), injection)
    except TimeoutError:
        _spawn(session)  # the index is far behind: it is there for the next prompt
    return _response(context, injection, request)


def _start(session: Session) -> str:
    """Open or resume the capsule, and return the brief."""
    from kinen.hooks.injection import CLEARED, Context
    from kinen.journal import recent

    db = session.journal(START_MS)
    source = text_of(session.payload, "source")
    fresh = True
    if db and session.id:
        client = recent.client_process()
        fresh = _tried(lambda: session.begin(db, again=True, client=client), default=True)
        if recent.gone(db, session.now, but=session.capsule):
            _spawn(session)
        if session.here.team:
            _spawn(session, "--share")
    context = Context(session)
    if _has_brief(session, db, context, fresh=fresh):
        return ""
    if source in CLEARED or (source == "resume" and session.client.forgets):
        context.forget()
    elif source != "startup":
        context.load()
    text, refs = _begun(session, db, context).brief(compacted=source == "compact")
    injection = context.injection("SessionStart")
    injection.tell(text, [ref for ref in refs if ref])
    return _response(context, injection)


def _begun(session: Session, db: sqlite3.Connection | None, context: Context) -> Start:
    """An agent that begins, with what is in its context already."""
    from kinen.journal.admission import Admission
    from kinen.journal.start import Start
    from kinen.space import read_head

    here = session.here
    return Start(
        db,
        Admission(here.tree, db, trusted=here.trusted == "1", excluded=here.excluded),
        tree=here.tree,
        index=here.index,
        session=session.id,
        agent=session.agent,
        capsule=session.capsule,
        branch=read_head(here.git, here.common)[0],
        now=session.now,
        budget=session.budget,
        asks=session.asks != "off",
        knows=context.has,
    )


def _has_brief(
    session: Session, db: sqlite3.Connection | None, context: Context, *, fresh: bool
) -> bool:
    """Whether the brief is still in the agent's context, or another kinen hook just returned it.

    `fresh` says that this event opened the capsule. The first prompt may have opened it too: pi
    sends it at the same moment.
    """
    from kinen.journal import capsules

    source = text_of(session.payload, "source")
    if source == "resume" and session.client.forgets:
        return False
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
    from kinen.journal.admission import Admission

    here = session.here
    admission = Admission(here.tree, db, trusted=here.trusted == "1", excluded=here.excluded)
    changed = action.changed_text(session.payload)
    tip = action.tip(db, context.database, kind, name, changed, admission)
    if tip is None:
        return ""
    context.load()
    injection = context.injection("PreToolUse")
    action.tell(injection, context, tip, name)
    return _response(context, injection)


def _compacting(session: Session) -> str:
    """Return what a compaction must preserve; it becomes part of the instructions."""
    from kinen.hooks.injection import Context
    from kinen.journal.start import KEEP

    db = session.journal()
    context = Context(session)
    text, cited = _begun(session, db, context).to_preserve()
    context.forget()
    if session.id:
        _spawn(session, "--sum-up")
    instructions = f"{KEEP}\n{text}\n" if text else ""
    if session.asks == "stop":
        from kinen.hooks.saving import COMPACT

        instructions = f"{instructions}{COMPACT}\n"
    if not instructions:
        return ""
    injection = context.injection("PreCompact")
    injection.tell(instructions, cited)
    context.record(injection)
    return instructions


def _subagent(session: Session) -> str:
    """Return what a subagent needs: pins, rules, and what concerns the files of its task."""
    from kinen.hooks.injection import Context

    if session.payload.get("agent_type") == "":
        return ""  # agents without a type are the client's own
    context = Context(session)
    task = _task(text_of(session.payload, "transcript_path"))
    words = (word.strip("`'\"()[]{},.:;") for word in task.split())
    files = [word for word in words if "." in word.strip(".") or "/" in word]
    text, refs = _begun(session, session.journal(), context).subagent(files)
    # It is not in the context of the session itself, which may need it later.
    injection = context.injection("SubagentStart")
    injection.session = text_of(session.payload, "agent_id") or session.id
    injection.tell(text, refs)
    return _response(context, injection)


def _task(transcript: str) -> str:
    """The task that the last subagent of a transcript was given; empty if it is not written yet."""
    for line in _lines(transcript):
        message = payload.parsed(line).get("message")
        parts = message.get("content") if isinstance(message, dict) else None
        for part in reversed(parts) if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("name") in SUBAGENTS:
                inputs = part.get("input")
                return text_of(inputs, "prompt") if isinstance(inputs, dict) else ""
    return ""


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


def _stop(session: Session) -> str:
    """Store the answer, and in the background what only the transcript has of the turn.

    With `memories.ask` at `stop`, ask once for what the turn's work taught.
    """
    _record(session)
    if session.client.late and session.id:
        _spawn(session, "--turn")
    if session.asks != "stop":
        return ""
    from _json import encode_basestring_ascii

    from kinen.hooks import saving
    from kinen.hooks.injection import Context

    context = Context(session)
    injection = context.injection("Stop")
    injection.tell(saving.at_stop(session, context), [])
    if not injection.text or not context.record(injection):
        return ""  # what cannot be noted would be asked again
    return f'{{"decision": "block", "reason": {encode_basestring_ascii(injection.text)}}}\n'


def _end(session: Session) -> str:
    """Close the capsule in the background, because a client that ends does not wait."""
    if session.id:
        _spawn(session, "--close")
    return ""


HANDLERS = {
    "SessionStart": _start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _acting,
    "PostToolUse": _record,
    "PostToolUseFailure": _record,
    "SubagentStop": _record,
    "SubagentStart": _subagent,
    "PreCompact": _compacting,
    "PostCompact": _compacted,
    "Stop": _stop,
    "SessionEnd": _end,
}


def _start_without_space(session: Session) -> str:
    """Say, once, that nothing is remembered here and how to change that."""
    from kinen.errors import KinenError, SpaceError
    from kinen.privacy.quote import marked
    from kinen.space import early

    early.expire(paths.default_home(os.environ))
    if not session.budget or text_of(session.payload, "source") in ("resume", "compact"):
        return ""
    fault = session.here.fault
    if isinstance(fault, SpaceError):
        text = (
            "No memory here yet: this folder is not a kinen space. `git init` or `kinen init` makes"
            " it one and takes in what happened before; without that, it is deleted after"
            f" {early.DAYS} days."
        )
    else:
        reason = fault.line() if isinstance(fault, KinenError) else type(fault).__name__
        text = f"kinen cannot open its memory now; what happens is kept. {reason}"
    return answer(marked(text), session.client_event, session.client.answer)


def _end_without_space(session: Session) -> str:
    session.end_early()
    return ""


WITHOUT_SPACE = {
    "SessionStart": _start_without_space,
    "UserPromptSubmit": _record,
    "PostToolUse": _record,
    "PostToolUseFailure": _record,
    "SubagentStop": _record,
    "PostCompact": _compacted,
    "Stop": _record,
    "SessionEnd": _end_without_space,
}
"""Events of a folder in which there is no space: they wait for one."""


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

    lines = _lines(transcript)
    if not lines:
        return {}
    for line in lines:
        entry = payload.parsed(line)
        type_ = text_of(entry, "type")
        answer = at(entry, path) if type_ == kind else None
        if answer and isinstance(answer, str):
            return entry
        if type_.startswith(("user.", "tool.")):
            return None
    return None


def _lines(transcript: str) -> list[bytes]:
    """The lines at the end of a transcript, the last first; none if it cannot be read."""
    from kinen.errors import UnsafeFile
    from kinen.storage import regular

    try:
        return regular.tail(transcript, TRANSCRIPT).splitlines()[::-1]
    except (OSError, UnsafeFile):
        return []


def _tried(work: Callable[[], bool], *, default: bool) -> bool:
    try:
        return work()
    except Exception:  # a capsule that cannot be written now must not lose the event
        return default


def _response(context: Context, injection: Injection, request: str = "") -> str:
    """The response with an injection, and before it a request that is in the ledger already."""
    context.record(injection)
    text = "\n".join(filter(None, (request, injection.text)))
    session = context.session
    return answer(text, session.client_event, session.client.answer) if text else ""


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


def _spawn(session: Session, task: str = "", *, wait: bool = False) -> None:
    """Start a detached process that closes sessions which a crash left open.

    With `--close` it closes this one too, with `--turn` it only completes the turn, with `--sum-up`
    it only writes down what the session came to so far, and with `--share` it syncs with the team.
    """
    from kinen.hooks.detached import start

    # -P: it runs in the project's folder, whose files are not to be taken for modules.
    line = [sys.executable, "-P", "-m", "kinen", "hook", session.agent, task or "--close"]
    line += [session.id, text_of(session.payload, "transcript_path")] if task else [""]
    start(line, CLOSING if wait else 0)
