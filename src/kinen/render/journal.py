"""Text and JSON of journal entries, recalls, memories and imports."""

from __future__ import annotations

from kinen.characters import visible, visible_line
from kinen.journal.authors import signature
from kinen.model.journal import (
    Capsule,
    Checkpoint,
    Digest,
    Learned,
    Observation,
    Pin,
    Plan,
    Recall,
    Scope,
    Summary,
)
from kinen.model.late import Any
from kinen.recall.passages import event_title, first_words
from kinen.recall.tiers import shown
from kinen.render.json import vote_json
from kinen.render.screen import PLAIN, Screen, Style, distinct, readable
from kinen.render.text import counted, counts_text
from kinen.text import epoch, excerpt, iso, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kinen.journal.memories import Origin
    from kinen.transfer.bundle import Loaded

_TIMES = ("ts", "opened_at", "closed_at", "created_at", "expires_at", "forgotten_at")
_NAMES = ("by", "successor_by", "question", "edits")
"""Fields that only entries of a team and edited memories have."""
WIDTH = 100
CHECKPOINT_DETAILS = (
    "type tags context decision alternatives impact evidence symbols next confidence unknowns plan"
    " files".split()
)
"""Fields of a checkpoint that are shown below its text."""


def entry_json(entry: Any) -> dict[str, Any]:
    """The fields of an entry and of its scope, its ref first, with times in ISO form.

    Names of colleagues are there only where they have a part in it.
    """
    values = entry._asdict()
    also = values.pop("also", ())
    fields: dict[str, Any] = {"ref": entry.ref}
    fields |= {name: value for name in _NAMES if (value := values.pop(name, ""))}
    if also:
        fields["also"] = [
            {"ref": each.ref, "by": each.by, "content": each.content} for each in also
        ]
    for name, value in values.items():
        if name in _TIMES:
            fields["at" if name == "ts" else name] = iso(value / 1000) if value else None
        elif isinstance(value, Scope):
            fields.update(value._asdict())
        elif isinstance(value, tuple):
            fields[name] = list(value)
        else:
            fields[name] = dict(value) if hasattr(value, "items") else value
    return fields


def entries_text(entries: Sequence[Any], style: Style = PLAIN) -> str:
    return "\n".join(entry_text(entry, style) for entry in entries)


def entries_table(entries: Sequence[Any], screen: Screen, names: Mapping[str, str]) -> str:
    """Entries for a terminal, by day; `names` has the short id of each ref.

    Without a terminal, a line per entry with its whole ref and time.
    """
    if not screen.terminal:
        return entries_text(entries, screen.style)
    kinds = distinct(_summary(entry)[1] for entry in entries)

    def cells(entry: Any) -> tuple[str, ...]:
        _, kind, text = _summary(entry)
        if isinstance(entry, Observation):
            about = {"event": kind, "agent": entry.scope.agent, "files": entry.files}
            text = event_title({**entry.provenance, **about, "by": entry.by}, text)
            kind = ""
        if isinstance(entry, Summary):
            from kinen.journal.summary import parse_summary  # slow to import
            from kinen.journal.timeline import first_sentence

            text = first_sentence(parse_summary(text).get("outcome", "")) or text
            kind = ""
        if isinstance(entry, Pin):
            kind = f"until {screen.time(entry.expires_at / 1000)}" if entry.expires_at else ""
            own_text = entry.note and entry.target.startswith("observation:")
            text = entry.note if own_text else text
        words = "[forgotten]" if getattr(entry, "forgotten_at", 0) else first_words(text)
        name = names.get(entry.ref, entry.ref)
        return name, kind if kinds else "", words + signature(entry.by)

    return screen.by_day(entries, lambda entry: _summary(entry)[0] / 1000, cells)


def entry_text(entry: Any, style: Style = PLAIN) -> str:
    """One line: ref, time, kind, session and the beginning of the text."""
    entry = readable(entry)
    at, kind, text = _summary(entry)
    parts = [style("path", entry.ref), style("dim", iso(at / 1000)), kind]
    session = getattr(entry, "scope", Scope()).session
    if session:
        parts.append(style("dim", f"({session})"))
    forgotten = getattr(entry, "forgotten_at", 0)
    words = "[forgotten]" if forgotten else excerpt(text, WIDTH)
    parts.append(words + signature(entry.by))
    return "  ".join(parts).rstrip()


def _summary(entry: Any) -> tuple[int, str, str]:
    """Time in milliseconds, kind and text of an entry."""
    if isinstance(entry, Observation):
        return entry.ts, entry.kind, entry.content
    if isinstance(entry, Capsule):
        state = f"{entry.status} ({entry.reason})" if entry.reason else entry.status
        return entry.opened_at, f"{entry.type} {state}", entry.intent
    if isinstance(entry, Summary):
        return entry.created_at, "written" if entry.written else "made at close", entry.content
    if isinstance(entry, Pin):
        end = f"until {iso(entry.expires_at / 1000)}" if entry.expires_at else "forever"
        return entry.created_at, end, f"{entry.target}  {entry.note}"
    return entry.created_at, entry.type, entry.content


def capsule_text(
    capsule: Capsule,
    parts: Sequence[Capsule],
    observations: Sequence[Observation],
    summaries: Sequence[Summary],
    style: Style,
) -> str:
    """A capsule, a line for each of its parts and observations, and its summaries in full."""
    lines = [entry_text(capsule, style), counted(len(observations), "observations")]
    if capsule.parent:
        lines.append(f"part of capsule:{capsule.parent}")
    lines += [f"  {entry_text(part, style)}" for part in parts]
    lines += [
        f"\n{style('bold', summary.ref)}{signature(summary.by)}\n{summary.content}"
        for summary in map(readable, summaries)
    ]
    if observations:
        lines += ["", entries_text(observations, style)]
    return "\n".join(lines)


def recall_text(recall: Recall) -> str:
    return visible(shown(recall))


def recall_json(recall: Recall) -> dict[str, Any]:
    return {
        "query": recall.query,
        "budget": recall.budget,
        "tokens": recall.tokens,
        "over_budget": recall.over,
        "search_method": recall.search_method,
        "items": [
            {
                **item._asdict(),
                "score": round(item.score, 6),
                "votes": [vote_json(vote) for vote in item.votes],
            }
            for item in recall.items
        ],
        "dropped": [item._asdict() for item in recall.dropped],
        "digest": digest_json(recall.digest) if recall.digest else None,
        "notes": list(recall.notes),
    }


def checkpoints_text(checkpoints: Sequence[Checkpoint], screen: Screen) -> str:
    """A line per checkpoint: id, time, type and first words."""
    rows = []
    for checkpoint in checkpoints:
        name = checkpoint.id.removeprefix("checkpoint_") if screen.terminal else checkpoint.ref
        text = checkpoint.summary or excerpt(checkpoint.text, 4 * WIDTH)
        tags = " ".join(f"#{tag}" for tag in checkpoint.tags)
        rows.append(
            (name, screen.time(timestamp(checkpoint.at)), checkpoint.type, f"{text}  {tags}")
        )
    return screen.rows(rows)


def checkpoint_text(checkpoint: Checkpoint, style: Style = PLAIN) -> str:
    """A checkpoint in full: where it was saved, its text, and its details by name."""
    saved = readable(checkpoint)
    place = ", ".join(filter(None, (saved.at, saved.branch, saved.commit[:10])))
    lines = [style("bold", saved.ref), style("dim", place), "", visible(checkpoint.text)]
    for name in CHECKPOINT_DETAILS:
        value = getattr(saved, name)
        if value:
            text = ", ".join(value) if isinstance(value, tuple) else str(value)
            lines.append(f"{style('dim', f'{name:<12}')} {text}")
    return "\n".join(lines)


def checkpoint_json(checkpoint: Checkpoint) -> dict[str, Any]:
    return {"ref": f"checkpoint:{checkpoint.path}", **_fields(checkpoint)}


def plan_json(plan: Plan) -> dict[str, Any]:
    return {"ref": plan.ref, **_fields(plan)}


def plans_text(plans: Sequence[Plan], screen: Screen) -> str:
    """A line per plan, for a terminal by day; `*` marks the active one."""

    def cells(plan: Plan) -> tuple[str, ...]:
        status = "" if alike else plan.status
        return f"{'*' if plan.current else ' '} {plan.id}", status, plan.title

    alike = screen.terminal and not distinct(plan.status for plan in plans)
    if screen.terminal:
        return screen.by_day(plans, lambda plan: epoch(plan.updated) / 1000, cells)
    return screen.rows(map(cells, plans))


def progress_text(plan: Plan) -> str:
    """How many steps of a plan are done, such as `, 2 of 5 steps done`; empty if it has none."""
    from kinen.worklog.plans import steps

    boxes = steps(plan.text)
    done = sum(step.done for step in boxes)
    return f", {done} of {counted(len(boxes), 'steps')} done" if boxes else ""


def digest_json(digest: Digest) -> dict[str, Any]:
    """A digest as plain values; `reduction` is the share of tokens that it saves."""
    saved = 1 - digest.tokens_out / digest.tokens_in if digest.tokens_in else 0.0
    return {**_fields(digest), "reduction": round(max(0.0, saved), 4)}


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a named tuple, with lists for tuples."""
    return {
        name: list(field) if isinstance(field, tuple) else field
        for name, field in value._asdict().items()
    }


def learned_text(memory: Learned, style: Style = PLAIN, *, sources: bool = False) -> str:
    """A memory on one line, with `sources` followed by a line for each source."""
    memory = readable(memory)
    kind = style("dim", f"{memory.type} {memory.confidence:.2f}")
    newer = f"memory:{memory.superseded_by}" if memory.superseded_by else ""
    text = memory.content + signature(memory.by) + _superseded(memory, newer)
    lines = [f"{style('path', memory.ref)}  {kind}  {text}"]
    lines += [f"    {line}" for line in _open_questions(memory)]
    if sources:
        lines += [f"    {ref}" for ref in memory.derived_from]
    return "\n".join(lines)


def memories_table(
    pairs: Sequence[tuple[Learned, Origin]], screen: Screen, names: Mapping[str, str]
) -> str:
    """Memories with their origins for a terminal, by day; `names` as above.

    Without a terminal, a line per memory with its whole ref.
    """
    if not screen.terminal:
        return "\n".join(learned_text(memory, screen.style) for memory, _ in pairs)

    def cells(pair: tuple[Learned, Origin]) -> tuple[str, ...]:
        memory = pair[0]
        newer = names.get(f"memory:{memory.superseded_by}", memory.superseded_by)
        text = first_words(memory.content) + signature(memory.by)
        text = f"{_superseded(memory, newer)} {text}".lstrip()
        if memory.also or memory.question:
            others = "also edited by " + ", ".join(dict.fromkeys(each.by for each in memory.also))
            text = f"({memory.question or others}: `memories show`) {text}"
        return names.get(memory.ref, memory.ref), memory.type, text

    return screen.by_day(pairs, lambda pair: pair[0].created_at / 1000, cells)


def _open_questions(memory: Learned) -> list[str]:
    """What a person has to decide of a memory: edits at the same time, forgotten while edited."""
    ref = memory.ref
    lines = [f"also edited by {other.by}: {other.content}  {other.ref}" for other in memory.also]
    if lines:
        lines.append(
            f"`kinen memories merge {ref}` keeps these words,"
            f" `kinen memories restore {memory.also[0].ref}` the others"
        )
    if memory.question:
        lines.append(
            f"{memory.question}: `kinen memories restore {ref}` keeps it,"
            f" `kinen memories forget {ref}` forgets it"
        )
    return [visible_line(line) for line in lines]


def _superseded(memory: Learned, newer: str) -> str:
    """What superseded a memory, and whose it is; empty if nothing did."""
    return f" (superseded by {newer}{signature(memory.successor_by)})" if newer else ""


def memory_json(memory: Learned, origin: Origin) -> dict[str, Any]:
    """A memory with the session it was extracted from, and the files and symbols it concerns."""
    about = {
        "session": origin.session,
        "capsule": origin.capsule,
        "files": list(origin.files),
        "symbols": list(origin.symbols),
    }
    return {**entry_json(memory), **{name: value for name, value in about.items() if value}}


def origin_text(origin: Origin) -> str:
    """A line each for the session, the files and the symbols of a memory."""
    parts = {
        "session": origin.session,
        "files": ", ".join(origin.files),
        "symbols": ", ".join(origin.symbols),
    }
    return "\n".join(f"    {name}: {visible_line(text)}" for name, text in parts.items() if text)


def consolidated_json(result: Any) -> dict[str, Any]:
    fields = {name: value for name, value in result._asdict().items() if name != "learned"}
    memories = [entry_json(memory) for memory in result.learned]
    return {**fields, "notes": list(result.notes), "memories": memories}


def consolidated_text(result: Any, style: Style = PLAIN) -> str:
    """The extracted memories with their sources, and a line of counts."""
    lines = [learned_text(memory, style, sources=True) for memory in result.learned]
    candidates = counted(result.findings, "candidates")
    detail = f"({candidates}, {result.below:,} below the confidence threshold)"
    changes = []
    if result.added:
        verb = "would add" if result.dry_run else "added"
        changes.append(f"{verb} {counted(result.added, 'memories')}")
    if result.changed:
        verb = "would change" if result.dry_run else "changed"
        changes.append(f"{verb} {result.changed:,}")
    if not result.findings:
        detail = "(no decision, lesson or pattern was recorded yet)"
    return "\n".join([*lines, *result.notes, f"{', '.join(changes) or 'no new memories'} {detail}"])


def loaded_json(loaded: Loaded, dry_run: bool) -> dict[str, Any]:
    return {"dry_run": dry_run, **loaded._asdict(), "notes": list(loaded.notes)}


def loaded_text(loaded: Loaded, dry_run: bool) -> str:
    """What an import did or would do, on one line."""
    verbs = {"added": "add", "replaced": "replace", "skipped": "skip"}
    parts = []
    for name, verb in verbs.items():
        counts = counts_text(getattr(loaded, name))
        if counts:
            parts.append(f"would {verb} {counts}" if dry_run else f"{name} {counts}")
    if loaded.forgotten:
        parts.append(f"{loaded.forgotten:,} stay forgotten")
    return "; ".join(parts) or "nothing to import"


def loaded_notes(loaded: Loaded) -> list[str]:
    """Remarks on an import: masked secrets, and entries of unknown types."""
    notes = list(loaded.notes)
    if loaded.masked:
        notes.append(f"masked {counted(loaded.masked, 'secrets')}")
    if loaded.ignored:
        names = ", ".join(f"{name} ({count:,})" for name, count in loaded.ignored.items())
        notes.append(f"skipped unknown entry types: {names}")
    return notes
