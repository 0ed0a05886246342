"""The page of `kinen export --html`: the parts of the pages in one file, which opens from disk.

Each session and each list is a section with an id, and links lead to ids; a script shows one of
them at a time and searches the text of all. Without scripts everything can be read in its order.
The policy allows that script and the style, by their hashes, and no request.
Decision: docs/decisions/0020-page-export.md.
"""

from __future__ import annotations

import base64
import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from itertools import chain, groupby, islice
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from kinen.journal import events
from kinen.journal.selection import BY_SESSION, Selection
from kinen.journal.summary import parse_summary
from kinen.journal.timeline import SessionOverview, Step, first_sentence, steps, title_of
from kinen.model.journal import Capsule, Learned, Observation, Pin, Scope, Summary
from kinen.model.kinds import REDACTED
from kinen.model.records import Edge
from kinen.render.heat import EPOCH, Counts, Heat, Period, heat_map
from kinen.render.html import stream
from kinen.render.text import counted
from kinen.text import iso, now, plural
from kinen.text.frontmatter import read_frontmatter
from kinen.times import milliseconds
from kinen.transfer.bundle import PAGE_VERSION

SPANS = (30, 90, 365)
"""Days of a heat map, besides one of all days."""
TITLED = 40
"""Observations at the beginning of a session that its title is looked for in."""
LISTED = 200
"""Sessions that the search suggests."""
KINDS = ("session", "observation", "summary", "memory", "checkpoint", "plan", "pin")
HIDDEN_FACTS = ("role", "command")
"""What a step says of itself anyway."""


class Anchors:
    """Addresses within the page, as templates ask for them."""

    reader = "export"
    """Nothing can be changed here."""
    relative = False
    """Times are told as they are: the page will be read later."""

    def __init__(self) -> None:
        self.refs: set[str] = set()
        """Records that are in the page, of those that links name."""

    def anchor(self, ref: str) -> str:
        return quote(ref, safe=":/")

    def record(self, ref: str) -> str:
        """The address of a record; empty if it is not in the page."""
        return f"#{self.anchor(ref)}" if ref in self.refs else ""

    def session(self, session: SessionOverview, _: str = "") -> str:
        return f"#{self.anchor(session.ref)}"

    def here(self, **_: object) -> str:
        return ""


class ExportPage:
    """A page of what a selection has, written session by session."""

    def __init__(
        self,
        selection: Selection,
        documents: Sequence[tuple[str, str, Mapping[str, Any]]],
        edges: Iterable[Edge],
        tags: Mapping[str, set[str]],
    ) -> None:
        self._selection = selection
        self._tags = tags
        self._visit = Anchors()
        self._capsules: dict[str, Capsule] = {
            capsule.id: capsule for capsule in selection.entries("capsules")
        }
        self._summaries: dict[str, Summary] = {
            summary.capsule: summary for summary in selection.entries("summaries")
        }
        self._memories: list[Learned] = list(selection.entries("memories"))
        self._pins: list[Pin] = list(selection.entries("pins"))
        self._documents = documents
        self._links = [
            (edge.source, edge.target, edge.text) for edge in edges if edge.source and edge.target
        ]
        self._drawn: dict[str, list[Learned]] = {}
        for memory in self._memories:
            for ref in memory.derived_from:
                self._drawn.setdefault(ref, []).append(memory)
        self._pinned = {pin.target for pin in self._pins}
        self._named = {*self._drawn, *self._pinned}
        known = (capsule.ref for capsule in self._capsules.values())
        self._visit.refs.update(known, (memory.ref for memory in self._memories))
        self._visit.refs.update(ref for _, ref, _ in documents)
        self._visit.refs.update(summary.ref for summary in self._summaries.values())
        self._sessions: list[SessionOverview] = []
        self._counts: Counts = {}
        self._kinds: Counter[str] = Counter()
        self._observations = 0
        self._tag_names: set[str] = set()

    def write(
        self, out: Callable[[str], object], about: Mapping[str, Any], bundle: Callable[[], object]
    ) -> None:
        """Write the page; `bundle` writes the bundle to the same place.

        Lists of sessions stand before the sessions and are known after them, so these wait in a
        temporary file.
        """
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as body:
            for piece in self._session_pieces():
                body.write(piece.encode(errors="replace").decode())
            for piece in stream("export.html", **self._values(about)):
                out(piece)
            body.seek(0)
            while part := body.read(1 << 20):
                out(part)
        out("\n")  # each line of the bundle is a line of the file
        bundle()
        out('<span id="end"></span>\n</main>\n</body>\n</html>\n')

    def _session_pieces(self) -> Iterator[str]:
        rest = dict.fromkeys(self._capsules)
        observations = self._selection.entries("observations", BY_SESSION)
        for key, group in groupby(observations, lambda event: event.capsule or event.scope.session):
            rest.pop(key, None)
            yield from self._session(key, group)
        for key in rest:
            yield from self._session(key, iter(()))

    def _session(self, key: str, group: Iterator[Observation]) -> Iterator[str]:
        """The section of a session, which is read as it is written; notes what it holds."""
        head = list(islice(group, TITLED))
        first = head[0] if head else None
        scope = first.scope if first else Scope()
        capsule = self._capsules.get(key)
        if capsule is None:
            began = first.ts if first else 0
            capsule = Capsule(key, "session", "", "closed", began, scope=scope)
        elif capsule.intent == REDACTED:
            capsule = capsule._replace(intent="")
        summary = self._summaries.get(key)
        parts = parse_summary(summary.content) if summary else {}
        session = SessionOverview(
            ref=capsule.ref,
            id=key,
            kind="agent",
            session=capsule.scope.session,
            agent=capsule.scope.agent or scope.agent,
            status=capsule.reason or capsule.status,
            started=iso(capsule.opened_at / 1000),
            ended=iso(capsule.closed_at / 1000) if capsule.closed_at else "",
            title=title_of(capsule, head) if key else "Without a session",
            outcome=first_sentence(parts.get("outcome", "")),
        )
        drawn: dict[str, Learned] = {}
        tally: Counter[str] = Counter()
        for ref in (capsule.ref, summary.ref if summary else ""):
            drawn.update((memory.ref, memory) for memory in self._drawn.get(ref, ()))
        yield from stream(
            "export_session.html",
            visit=self._visit,
            session=session,
            capsule=capsule,
            summary=summary,
            parts=parts,
            steps=self._steps(chain(head, group), tally, drawn),
            drawn=drawn,
            pinned=self._pinned,
        )
        ended = session.ended or (iso(tally["last"] / 1000) if tally["last"] else "")
        counts: dict[str, Any] = {
            noun: tally[noun] for noun in ("prompts", "edits", "commands", "errors")
        }
        self._sessions.append(replace(session, ended=ended, **counts))

    def _steps(
        self, observations: Iterable[Observation], tally: Counter[str], drawn: dict[str, Learned]
    ) -> Iterator[tuple[Step, str, dict[str, str], str]]:
        """What happened: each step with its content, its files and tags, and other facts."""
        for event in observations:
            hours = self._counts.setdefault(event.scope.agent or "by hand", {})
            hour = event.ts // 3_600_000
            hours[hour] = hours.get(hour, 0) + 1
            self._observations += 1
            tally["last"] = max(tally["last"], event.ts)
            if event.ref in self._named:
                self._visit.refs.add(event.ref)
                drawn.update((memory.ref, memory) for memory in self._drawn.get(event.ref, ()))
            for step in steps([event]):
                tally[f"{step.kind}s"] += 1
                tally["errors"] += step.broken and step.kind != "error"
                self._kinds[step.kind] += 1
                tags = sorted(set().union(*(self._tags.get(path, ()) for path in event.files)))
                self._tag_names.update(tags)
                found = {"files": "\n".join(event.files), "tags": "\n".join(tags)}
                facts = [
                    f"{name}: {value}"
                    for name, value in events.provenance(event).items()
                    if name not in HIDDEN_FACTS
                ]
                facts += [f"branch: {event.branch}"] if event.branch else []
                yield step, events.body(event).strip(), found, " · ".join(facts)

    def _values(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """What the lists before the sessions show."""
        self._sessions.sort(key=lambda session: session.started, reverse=True)
        by_noun: dict[str, list[tuple[str, Mapping[str, Any]]]] = {"checkpoint": [], "plan": []}
        for noun, ref, fields in self._documents:
            by_noun[noun].append((ref, _document(fields)))
            self._tag_names.update(fields.get("tags", ()))
        around: dict[str, list[tuple[str, str, str]]] = {}
        for source, target, text in self._links:
            around.setdefault(source, []).append(("links to", target, text))
            around.setdefault(target, []).append(("linked from", source, text))
        plans = {fields.get("id"): ref for ref, fields in by_noun["plan"]}
        counts = {
            "session": len(self._sessions),
            "observation": self._observations,
            "summary": len(self._summaries),
            "memory": len(self._memories),
            "pin": len(self._pins),
            **{noun: len(some) for noun, some in by_noun.items()},
        }
        names = {
            "search": True,
            "timeline": True,
            "sessions": True,
            "memories": self._memories,
            "checkpoints": by_noun["checkpoint"],
            "plans": by_noun["plan"],
            "pins": self._pins,
            "about": True,
        }
        entries = [
            (
                session.started,
                session.title or "(no prompt)",
                self._visit.session(session),
                session.agent,
            )
            for session in self._sessions
        ]
        entries += [
            (fields["at"], fields["title"], self._visit.record(ref), "checkpoint")
            for ref, fields in by_noun["checkpoint"]
        ]
        style = _static("pages.css")
        script = f'"use strict";\n{_static("export.js")}'
        held = [counted(counts[kind], plural(kind)) for kind in KINDS if counts[kind]]
        return {
            "version": PAGE_VERSION,
            "policy": (
                f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)};"
                " base-uri 'none'; form-action 'none';"
                " require-trusted-types-for 'script'; trusted-types 'none'"
            ),
            "style": Markup(style),  # noqa: S704
            "script": Markup(script),  # noqa: S704
            "visit": self._visit,
            "about": {**about, "Entries": ", ".join(held) or "none"},
            "pages": [name for name, some in names.items() if some],
            "types": [kind for kind in KINDS if counts[kind]],
            "kinds": sorted(self._kinds),
            "agents": sorted({session.agent for session in self._sessions if session.agent}),
            "tags": sorted(self._tag_names),
            "entries": sorted(entries, reverse=True),
            "suggested": self._sessions[:LISTED],
            "sessions": self._sessions,
            "heats": list(self._heats()),
            "memories": sorted(self._memories, key=lambda memory: -memory.created_at),
            "pinned": self._pinned,
            "checkpoints": by_noun["checkpoint"][::-1],
            "plans": by_noun["plan"],
            "pins": self._pins[::-1],
            "around": around,
            "plan_refs": plans,
        }

    def _heats(self) -> Iterator[tuple[str, Heat]]:
        """Heat maps of the last days and of all of them."""
        hours = [hour for by_hour in self._counts.values() for hour in by_hour if hour > 0]
        if not hours:
            return
        first, last = (EPOCH + timedelta(hours=hour) for hour in (min(hours), max(hours)))
        today = datetime.fromtimestamp(now(), UTC).date()
        whole = (last - first).days + 1
        for days in (*(span for span in SPANS if span < whole), max(whole, 7)):
            period = Period(last - timedelta(days=days - 1), last, today)
            shown = {
                agent: {hour: count for hour, count in by_hour.items() if hour in period.hours}
                for agent, by_hour in self._counts.items()
            }
            shown = {agent: by_hour for agent, by_hour in shown.items() if by_hour}
            url = "#search?since={}&until={}".format
            title = f"{period.first} to {period.last}"
            yield title, heat_map(shown, period, url, f"days-{days}")


def _document(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A checkpoint or plan with its text, title and time."""
    lines = str(fields["source"]).splitlines()
    body = str(fields.get("text") or "\n".join(lines[read_frontmatter(lines).end :]).strip())
    at = str(fields.get("at") or fields.get("updated") or fields.get("created") or "")
    title = fields.get("summary") or fields.get("title") or first_sentence(body)
    epoch = milliseconds(at) if at else 0
    return {**fields, "body": body, "at": at, "epoch": epoch, "title": title or fields["path"]}


@cache
def _static(name: str) -> str:
    return resources.files("kinen.render").joinpath("static", name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
