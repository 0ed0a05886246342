"""What every engine of a journal promises: the same suite on SQLite and on PostgreSQL."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import postgres_server
from kinen.errors import Ambiguous, NotFound, StoreError
from kinen.journal.queries import EntryFilter
from kinen.journal.store import Journal as LocalJournal
from kinen.journal.write import row
from kinen.model.journal import Learned, Scope
from kinen.model.kinds import REDACTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kinen.team.journal import TeamJournal

    Journal = LocalJournal | TeamJournal

NOW = 1_800_000_000_000
MIRA = Scope("s1", "github.com/acme/tea", "claude-code", "mira")
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture(scope="module")
def team_url(request: pytest.FixtureRequest) -> Iterator[str]:
    from kinen.postgres.connection import Database
    from kinen.team.schema import prepare

    server = request.getfixturevalue("postgres_server_url")
    url = postgres_server.create_database(server)
    with Database(url) as database:
        prepare(database)
    yield url
    postgres_server.drop_database(server, url)


@pytest.fixture(params=["sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    """An empty journal."""
    if request.param == "sqlite":
        local = LocalJournal(str(tmp_path), [str(tmp_path / "spool")])
        yield local
        local.close()
        return
    from kinen.postgres.connection import Database
    from kinen.team.journal import TeamJournal

    url = request.getfixturevalue("team_url")
    shared = TeamJournal(Database(url), os.urandom(8).hex(), "mira", "laptop")
    yield shared
    shared.close()


def event(text: str, at: int, id_: str = "", kind: str = "message", **about: Any) -> Any:
    return row(text, kind, at, id=id_, **{**MIRA._asdict(), **about})


def ids(journal: Journal, plural: str, **chosen: Any) -> list[str]:
    entries, count = journal.entries(plural, EntryFilter(now=NOW, **chosen))
    assert count >= len(entries)
    return [entry.id for entry in entries]


def test_what_was_observed_is_read_back(journal: Journal) -> None:
    about = {"provenance": {"role": "user", "n": 1}, "files": ["src/pot.py"], "branch": "main"}
    first = journal.observe(event(f"café's “kettle” \\ % 東京 {SECRET}", NOW, "01A", **about))
    assert journal.entry("observation", "01A") == first
    assert SECRET not in first.content
    assert (first.scope, first.files, first.ts) == (MIRA, ("src/pot.py",), NOW)
    assert (first.provenance, first.masked["count"]) == ({"role": "user", "n": 1}, 1)
    again = journal.observe(event("something else", NOW + 1, "01A"))
    assert again == first
    assert journal.entry("observation", "01B") is None


def test_entries_are_filtered_and_paged(journal: Journal) -> None:
    for n in range(6):
        kind = "command" if n % 2 else "message"
        session = "s2" if n == 5 else "s1"
        journal.observe(event(f"text {n}", NOW + n, f"01{n}", kind, session=session))
    assert ids(journal, "observations") == ["015", "014", "013", "012", "011", "010"]
    for chosen, expected in (
        ({"limit": 2}, ["015", "014"]),
        ({"kind": "command", "session": "s1"}, ["013", "011"]),
        ({"repo": "TEA", "agent": "claude", "user": "mi", "after": NOW + 4}, ["015", "014"]),
        ({"before": NOW + 1}, ["011", "010"]),
        ({"past": (NOW + 2, "012"), "limit": 1}, ["011"]),
        ({"scope": Scope("s2")}, ["015"]),
        ({"repo": "' OR true --"}, []),
        ({"user": "%"}, []),
    ):
        assert ids(journal, "observations", **chosen) == expected, chosen
    assert journal.entries("observations", EntryFilter(limit=1))[1] == 6


def test_names_are_resolved(journal: Journal) -> None:
    for id_ in ("01HZZZZZZZZA", "01HZZZZZZZZB"):
        journal.observe(event(f"text of {id_}", NOW, id_))
    assert journal.resolve("observation:01HZZZZZZZZA") == ("observation", "01HZZZZZZZZA")
    assert journal.resolve("01hzzzzzzzzb") == ("observation", "01HZZZZZZZZB")
    with pytest.raises(Ambiguous):
        journal.resolve("01HZZZZZZZ")
    for name in ("01HX", "capsule:01HZZZZZZZZA", "'; --", "%"):
        with pytest.raises(NotFound):
            journal.resolve(name)


def test_capsules_hold_the_events_of_their_session(journal: Journal) -> None:
    capsule = journal.open_capsule("boil water", "session", MIRA, NOW, id_="01CAPSULE")
    assert (capsule.status, capsule.scope, capsule.intent) == ("open", MIRA, "boil water")
    assert journal.open_capsule("x", "session", MIRA, NOW, id_="01CAPSULE") == capsule
    assert journal.open_capsule("x", "session", MIRA, NOW, resume=True) == capsule
    journal.observe(event("first", NOW + 2, "01B"))
    journal.observe(event("zeroth", NOW + 1, "01A"))
    journal.observe(event("elsewhere", NOW + 3, "01C", session="other"))
    assert [step.id for step in journal.stream("01CAPSULE")] == ["01A", "01B"]
    assert [step.id for step in journal.stream("01CAPSULE", (NOW + 2, ""))] == ["01B"]
    part = journal.open_capsule("a node", "pocketflow_node", Scope(), NOW + 4, parent="01CAPSULE")
    assert part.parent == "01CAPSULE"
    closed, summary = journal.close_capsule("01CAPSULE", "Water boils.", NOW + 9, 0.8)
    assert (closed.status, closed.closed_at, closed.reason) == ("closed", NOW + 9, "")
    assert summary is not None
    assert (summary.content, summary.confidence, summary.written) == ("Water boils.", 0.8, True)
    assert ids(journal, "summaries", capsule="01CAPSULE") == [summary.id]
    assert ids(journal, "summaries", session="s1") == [summary.id]
    assert ids(journal, "summaries", session="s9") == []
    with pytest.raises(NotFound, match="closed already"):
        journal.close_capsule("01CAPSULE", "", NOW)
    assert ids(journal, "capsules", status="open") == [part.id]


def test_a_session_that_was_left_open_is_closed(journal: Journal) -> None:
    first = journal.open_capsule("one", "session", MIRA, NOW, id_="01ONE")
    journal.observe(event("please boil the water in the kettle", NOW + 5, "01A"))
    journal.open_capsule("two", "session", MIRA, NOW + 100, id_="01TWO")
    left = journal.entry("capsule", first.id)
    assert (left.status, left.reason, left.closed_at) == ("closed", "abandoned", NOW + 5)
    (created,) = journal.entries("summaries", EntryFilter(capsule=first.id))[0]
    assert (created.written, created.confidence) == (False, 0.5)


def test_pins_are_changed_and_removed(journal: Journal) -> None:
    pin = journal.pin("note:docs/kettle.md", "read this", 0, MIRA, NOW)
    assert (pin.target, pin.note, pin.scope) == ("note:docs/kettle.md", "read this", MIRA)
    again = journal.pin("note:docs/kettle.md", "and this", 1000, MIRA, NOW + 1)
    assert (again.id, again.note, again.expires_at) == (pin.id, "and this", NOW + 1001)
    other = journal.pin("note:docs/kettle.md", "mine", 0, Scope(), NOW + 2)
    assert ids(journal, "pins") == [other.id, pin.id]
    assert [p.id for p in journal.entries("pins", EntryFilter(now=NOW + 5000))[0]] == [other.id]
    assert journal.unpin("docs/kettle.md") == ["note:docs/kettle.md"] * 2
    assert (ids(journal, "pins"), journal.entry("pin", pin.id)) == ([], None)
    with pytest.raises(NotFound, match="nothing pinned"):
        journal.unpin(pin.id)


def test_memories_gather_sources(journal: Journal) -> None:
    memory = Learned("01M", "decision", f"Boil less {SECRET}", 0.6, NOW, ("note:a",), scope=MIRA)
    assert journal.learn([memory]) == (1, 0)
    assert journal.learn([memory]) == (0, 0)
    more = memory._replace(confidence=0.9, derived_from=("note:b",), created_at=NOW - 5)
    assert journal.learn([more._replace(superseded_by="01N")]) == (0, 1)
    stored = journal.entry("memory", "01M")
    assert (stored.derived_from, stored.confidence) == (("note:a", "note:b"), 0.9)
    assert (stored.created_at, stored.superseded_by, stored.scope) == (NOW - 5, "01N", MIRA)
    assert SECRET not in stored.content
    assert journal.erase("01M", forget=False, now=NOW).refs == ("memory:01M",)
    assert journal.learn([memory]) == (0, 0)
    assert journal.entry("memory", "01M").content == REDACTED
    assert ids(journal, "memories", redacted=False) == []


@pytest.mark.parametrize("forget", [False, True], ids=["redact", "forget"])
def test_erased_text_is_nowhere(
    journal: Journal, forget: bool, everything: Callable[[Journal], str]
) -> None:
    text = "the launch code of the kettle is seven"
    journal.open_capsule(text, "session", MIRA, NOW, id_="01CAPSULE")
    journal.observe(event(text, NOW + 1, "01A", provenance={"role": "user", "say": text}))
    journal.observe(event("please boil the water", NOW + 2, "01B", provenance={"role": "user"}))
    _, created = journal.close_capsule("01CAPSULE", "", NOW + 3)
    journal.pin("observation:01A", "look", 0, Scope(), NOW)
    assert created is not None
    assert text in everything(journal)
    erased = journal.erase("observation:01A", forget=forget, now=NOW + 9)
    assert erased.refs == ("observation:01A",)
    left = journal.entry("observation", "01A")
    assert (left.content, left.provenance) == ("" if forget else REDACTED, {})
    assert (left.redacted, left.forgotten_at) == (not forget, NOW + 9 if forget else 0)
    assert "seven" not in everything(journal)
    assert "01A" not in journal.entry("summary", created.id).evidence or not forget
    assert len(ids(journal, "pins")) == (0 if forget else 1)
    journal.observe(event(text, NOW + 20, "01A"))
    assert "seven" not in everything(journal)
    every = journal.erase("capsule:01CAPSULE", forget=forget, now=NOW + 30)
    assert set(every.refs) >= {"capsule:01CAPSULE", "observation:01B", f"summary:{created.id}"}
    assert "water" not in everything(journal)
    assert (ids(journal, "capsules") == []) is forget


@pytest.fixture
def everything(journal: Journal) -> Callable[[Journal], str]:
    """All that the tables of a journal hold."""

    def read(journal: Any) -> str:
        if isinstance(journal, LocalJournal):
            return "\n".join(journal.db.iterdump())
        with journal._transaction() as connection:
            query = "SELECT version FROM kinen.team_entry WHERE space = %s"
            rows = connection.execute(query, (journal._space,)).fetchall()
        return "\n".join(version for (version,) in rows)

    return read


def test_machines_get_what_the_server_wrote(team_url: str, tmp_path: Path) -> None:
    from kinen.model.team import Version
    from kinen.postgres.connection import Database
    from kinen.team.journal import TeamJournal
    from kinen.team.rows import write

    shared = TeamJournal(Database(team_url), "both", "mira", "server")
    local = LocalJournal(str(tmp_path), [str(tmp_path / "spool")])
    shared.open_capsule("boil water", "session", MIRA, NOW, id_="01CAPSULE")
    shared.observe(event("the kettle whistles", NOW, "01A", files=["a.py"]))
    shared.observe(event("forget me", NOW, "01B"))
    shared.pin("note:a.md", "read", 0, MIRA, NOW)
    shared.learn([Learned("01M", "decision", "Boil less", 0.6, NOW, ("note:a",))])
    shared.close_capsule("01CAPSULE", "Done.", NOW + 1)
    shared.erase("01B", forget=True, now=NOW + 2)
    # a machine pushes what no text of PostgreSQL can hold
    fields = {"id": "01C", "kind": "message", "content": "a\0b\ud800c", "ts": NOW}
    stamps = dict.fromkeys(fields, (1, "laptop"))
    shared.push([Version("observation", "01C", "mira", "laptop", fields, stamps)])
    with local.writing() as db:
        write(db, shared.pull(0, 1000, erased=False).versions)
    for plural in ("observations", "capsules", "summaries", "pins", "memories"):
        entries, _ = shared.entries(plural, EntryFilter(now=NOW))
        assert entries, plural
        assert local.entries(plural, EntryFilter(now=NOW))[0] == entries
    assert local.entry("observation", "01B").forgotten_at == NOW + 2
    jonas = TeamJournal(Database(team_url), "both", "jonas", "server")
    with pytest.raises(StoreError, match="of a colleague"):
        jonas.erase("capsule:01CAPSULE", forget=True, now=NOW)
    jonas.erase("01A", forget=False, now=NOW)
    assert shared.entry("observation", "01A").content == REDACTED
    for journal in (jonas, shared, local):
        journal.close()
