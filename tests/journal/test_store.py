"""What is written to a journal, and in which order of life."""

from __future__ import annotations

import itertools
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinen import Memory, ids
from kinen.errors import NotFound, QueryError
from kinen.ids import short_ref
from kinen.journal import capsules, queries, spool, write
from kinen.journal.queries import EntryFilter
from kinen.journal.recent import STALE_MS
from kinen.journal.store import Journal
from kinen.model.journal import Capsule, Observation, Pin, Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

T = 1_767_261_600_000
"""2026-01-01T10:00Z"""
S = Scope(session="s")
SECRET = "gh" + "p_" + "Zq7Rk2Vx9Lm4Tn8Wb3Yc6Hd1Jf5Gs0Pa4Ke7"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(str(tmp_path / "data"), [str(tmp_path / "spool" / "a")])) as opened:
        yield opened


def say(journal: Journal, text: str, at: int = T, kind: str = "message", **more: str) -> Any:
    return journal.observe(write.row(text, kind, at, **more))


def capsule(journal: Journal, item: Capsule) -> Capsule:
    """A capsule as it is now."""
    results = queries.entry(journal.db, "capsule", item.id)
    assert isinstance(results, Capsule)
    return results


def summaries(journal: Journal, item: Capsule) -> list[Any]:
    return queries.entries(journal.db, "summaries", EntryFilter(capsule=item.id))[0]


def contents(journal: Journal, item: Capsule) -> list[str]:
    return [observation.content for observation in queries.stream(journal.db, item.id)]


# Observations


def test_an_observation_is_kept_as_it_was_told(journal: Journal) -> None:
    output = write.row(
        *("Wasser kocht 🫖", "command", T),
        id="01KDWMA8G0BBBBBBBBBBBBBBBB",
        provenance={"exitCode": 0},
        branch="main",
        head="9fceb02",
        files=['a "quoted".md', "ü.md"],
        **Scope("s", "r", "a", "u", "t")._asdict(),
    )
    expected = Observation(
        *("01KDWMA8G0BBBBBBBBBBBBBBBB", "command", "Wasser kocht 🫖", T),
        scope=Scope("s", "r", "a", "u", "t"),
        provenance={"exitCode": 0},
        branch="main",
        head="9fceb02",
        files=('a "quoted".md', "ü.md"),
    )
    assert journal.observe(output) == expected
    journal.close()
    assert queries.entry(journal.db, "observation", expected.id) == expected


def test_the_same_id_is_stored_once_and_the_first_stays(journal: Journal) -> None:
    first = say(journal, "first", id="01KDWMA8G0BBBBBBBBBBBBBBBB")
    again = say(journal, "second", T + 5, id="01KDWMA8G0BBBBBBBBBBBBBBBB")
    assert again == first
    assert queries.entries(journal.db, "observations", EntryFilter()) == ([first], 1)


def test_a_secret_never_reaches_the_disk(journal: Journal) -> None:
    message = say(journal, f"export TOKEN={SECRET}")
    opened = journal.open_capsule(f"use {SECRET}", "session", S, T)
    pin = journal.pin(message.ref, f"see {SECRET}", 0, Scope(), T)
    closed, summary = journal.close_capsule(opened.ref, f"used {SECRET}", T)
    assert summary is not None
    for text in (message.content, opened.intent, pin.note, closed.intent, summary.content):
        assert text
        assert SECRET not in text
    assert message.masked["count"] == 1
    journal.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert SECRET.encode() not in Path(journal.path).read_bytes()


@pytest.mark.parametrize("column", ["session", "repo", "branch", "files", "provenance"])
def test_text_that_is_no_unicode_is_kept_all_the_same(journal: Journal, column: str) -> None:
    """Names of files and branches are bytes."""
    odd: dict[str, Any] = {"files": ["caf\udce9.md"], "provenance": {"x": "\udce9"}}
    half = odd.get(column, "caf\udce9")
    message = say(journal, "half a \ud83e pair", **{column: half})
    assert message.content == "half a \ufffd pair"
    assert "\ufffd" in str(getattr(message, column, message.scope))


@pytest.mark.parametrize("at", [-1, 253_402_300_800_000, 10**30])
def test_a_time_that_no_calendar_has_is_refused(space: Path, at: int) -> None:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        memory.observe("the kettle is on")
        with pytest.raises(QueryError, match="invalid time"):
            memory.observe("the kettle of another time", at=at)
        assert len(memory.search("kettle")) == 1


# Capsules


def test_a_capsule_is_opened_observed_and_closed(journal: Journal) -> None:
    scope = Scope("s", "repo", "agent", "user", "task")
    opened = journal.open_capsule("boil water", "session", scope, T)
    assert opened == Capsule(opened.id, "session", "boil water", "open", T, scope=scope)
    message = say(journal, "the kettle is on", T + 1000, session="s")
    assert message.capsule == opened.id
    closed, summary = journal.close_capsule(opened.ref, "It boiled.", T + 2000, 0.7)
    assert closed == opened._replace(status="closed", closed_at=T + 2000)
    assert summary is not None
    assert summary[1:5] == (opened.id, "It boiled.", T + 2000, 0.7)
    assert summary.written
    assert summaries(journal, opened) == [summary]
    assert capsule(journal, opened) == closed


def test_there_is_one_open_capsule_for_each_type_and_session(journal: Journal) -> None:
    first = journal.open_capsule("a", "session", S, T)
    node = journal.open_capsule("b", "pocketflow_node", S, T)
    other = journal.open_capsule("c", "session", Scope("other"), T)
    second = journal.open_capsule("d", "session", S, T + 1)
    results = {
        item.intent: item.status for item in (capsule(journal, value) for value in (first, second))
    }
    assert results == {"a": "closed", "d": "open"}
    assert capsule(journal, node).status == "open"
    assert capsule(journal, other).status == "open"


def test_opening_anew_closes_what_a_crash_left_when_it_last_spoke(journal: Journal) -> None:
    left = journal.open_capsule("boil water", "session", S, T)
    message = say(journal, "the kettle is on", T + 5000, session="s")
    journal.open_capsule("next", "session", S, T + 90_000)
    now = capsule(journal, left)
    assert (now.status, now.reason, now.closed_at) == ("closed", "abandoned", T + 5000)
    (summary,) = summaries(journal, left)
    assert not summary.written
    assert summary.evidence == (message.id,)
    assert summary.created_at == T + 5000
    assert "the kettle is on" in summary.content


def test_an_abandoned_capsule_in_which_nothing_happened_has_no_summary(journal: Journal) -> None:
    left = journal.open_capsule("boil water", "session", S, T)
    journal.open_capsule("next", "session", S, T + 90_000)
    assert capsule(journal, left).closed_at == T
    assert summaries(journal, left) == []


def test_resume_goes_on_with_what_is_open_and_else_begins(journal: Journal) -> None:
    first = journal.open_capsule("a", "session", S, T, resume=True)
    say(journal, "one", T, session="s")
    assert journal.open_capsule("ignored", "session", S, T + 9, resume=True) == first
    assert journal.open_capsule("b", "session", Scope("t"), T, resume=True).id != first.id
    assert journal.open_capsule("b", "pocketflow_node", S, T, resume=True).id != first.id
    say(journal, "two", T + 10, session="s")
    assert contents(journal, first) == ["one", "two"]
    journal.close_capsule(first.ref, "", T + 11)
    assert journal.open_capsule("c", "session", S, T + 12, resume=True).id != first.id


@pytest.mark.parametrize(
    ("spoke", "status"), [(None, "closed"), (-1, "closed"), (0, "open"), (1, "open")]
)
def test_a_capsule_without_a_word_for_a_day_is_abandoned_by_the_next(
    journal: Journal, spoke: int | None, status: str
) -> None:
    """`spoke`: the last observation, in milliseconds from a day before the next one opens."""
    old = journal.open_capsule("old", "session", Scope("old"), T)
    now = T + 3 * STALE_MS
    if spoke is not None:
        say(journal, "hm", now - STALE_MS + spoke, session="old")
    journal.open_capsule("new", "session", Scope("new"), now)
    results = capsule(journal, old)
    assert results.status == status
    assert results.reason == ("abandoned" if status == "closed" else "")


def test_a_session_whose_first_prompt_had_to_wait_gets_its_intent_when_it_ends(
    journal: Journal,
) -> None:
    id_ = ids.ulid(T)
    capsules.begin(journal.db, id_, T, ("s", "", "codex"))
    late = write.row(
        "Weigh parcels twice\nand print labels",
        *("message", T + 1),
        capsule=id_,
        provenance={"role": "user"},
        session="s",
    )
    spool.put(journal.spools[0], late)
    journal.observe(write.row("done", "message", T + 2, capsule=id_, session="s"))
    closed, _ = journal.close_capsule(id_, "", T + 3)
    assert closed.intent == "Weigh parcels twice"


def test_a_capsule_that_was_opened_today_stays_open(journal: Journal) -> None:
    other = journal.open_capsule("other", "session", Scope("other"), T)
    journal.open_capsule("new", "session", S, T + STALE_MS)
    assert capsule(journal, other).status == "open"


def test_an_observation_joins_the_open_capsule_of_its_session_only(journal: Journal) -> None:
    mine = journal.open_capsule("mine", "session", S, T)
    node = journal.open_capsule("node", "pocketflow_node", S, T)
    assert say(journal, "a", session="s").capsule == mine.id
    assert say(journal, "b", session="other").capsule == ""
    assert say(journal, "c").capsule == ""
    assert say(journal, "d", session="s", capsule=node.id).capsule == node.id
    journal.close_capsule(mine.ref, "", T + 1)
    assert say(journal, "e", session="s").capsule == ""
    assert contents(journal, mine) == ["a"]


def test_closing_twice_is_a_clear_error(journal: Journal) -> None:
    opened = journal.open_capsule("a", "session", S, T)
    journal.close_capsule(opened.ref, "first", T)
    with pytest.raises(NotFound, match="closed already"):
        journal.close_capsule(opened.ref, "second", T + 1)
    assert [summary.content for summary in summaries(journal, opened)] == ["first"]
    with pytest.raises(NotFound, match="no capsule"):
        journal.close_capsule("capsule:01KDWMA8G0AAAAAAAAAAAAAAAA", "", T)
    with pytest.raises(NotFound, match="no capsule"):
        journal.close_capsule(say(journal, "x").ref, "", T)


def test_a_summary_is_made_only_of_something(journal: Journal) -> None:
    for nothing in ("", " \n"):
        silent = journal.open_capsule("silent", "session", S, T)
        assert journal.close_capsule(silent.id, nothing, T)[1] is None
    output = journal.open_capsule("told", "session", S, T)
    ids = {say(journal, f"step {n}", T + n, session="s").id for n in range(3)}
    say(journal, "elsewhere", T + 9, session="other")
    _, summary = journal.close_capsule(output.id, "", T + 10)
    assert summary is not None
    assert not summary.written
    assert summary.confidence == 0.5
    assert summary.evidence
    assert set(summary.evidence) <= ids
    assert "step 2" in summary.content
    assert "elsewhere" not in summary.content


def test_a_summary_that_somebody_wrote_is_not_doubled_unless_more_happened(
    journal: Journal,
) -> None:
    for later, created in ((-5, False), (5, True)):
        opened = journal.open_capsule("a", "session", S, T)
        say(journal, "x", T + 10, session="s")
        journal.db.execute(
            "INSERT INTO summaries(id, capsule, content, created_at) VALUES (?, ?, 'so far', ?)",
            (f"written{later}", opened.id, T + 10 - later),
        )
        assert (journal.close_capsule(opened.ref, "", T + 20)[1] is not None) is created


def test_a_capsule_is_never_closed_before_it_was_opened(journal: Journal) -> None:
    """The clock of a machine may be set back."""
    opened = journal.open_capsule("a", "session", S, T)
    assert journal.close_capsule(opened.ref, "", T - 5000)[0].closed_at == T


steps = st.tuples(
    st.sampled_from(["open", "resume", "close", "say"]),
    st.sampled_from(["session", "pocketflow_node"]),
    st.sampled_from(["a", "b"]),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(steps, max_size=14))
def test_whatever_happens_capsules_live_as_in_a_naive_model(story: list[Any]) -> None:
    running: dict[tuple[str, str], int] = {}
    reasons: list[str] = []
    held: list[list[str]] = []
    ids: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Journal(folder, [f"{folder}/spool/a"])) as journal,
    ):
        for n, (step, type_, session) in enumerate(story):
            key, now = (type_, session), T + n
            if step == "say":
                say(journal, str(n), now, session=session)
                if ("session", session) in running:
                    held[running["session", session]].append(str(n))
            elif step == "close" and key in running:
                journal.close_capsule(ids[running[key]], "", now)
                reasons[running.pop(key)] = ""
            elif step == "open" or (step == "resume" and key not in running):
                if key in running:
                    reasons[running[key]] = "abandoned"
                running[key] = len(ids)
                reasons.append("open")
                held.append([])
                ids.append(journal.open_capsule(str(n), type_, Scope(session), now).id)
            elif step == "resume":
                again = journal.open_capsule(str(n), type_, Scope(session), now, resume=True)
                assert again.id == ids[running[key]]
        results = [queries.entry(journal.db, "capsule", id_) for id_ in ids]
        assert [
            "open" if result.status == "open" else result.reason for result in results
        ] == reasons
        assert [contents(journal, match) for match in results] == held
        for item, heard in zip(results, held, strict=True):
            created = summaries(journal, item)
            assert len(created) == (item.status == "closed" and bool(heard))
            names = {o.id for o in queries.stream(journal.db, item.id)}
            assert all(set(summary.evidence) <= names for summary in created)


# Pins


def held(journal: Journal, scope: Scope = Scope(), now: int = T) -> list[str]:  # noqa: B008
    return [pin.note for pin in queries.pins_in(journal.db, scope, now)]


def test_a_pin_holds_until_it_expires(journal: Journal) -> None:
    journal.pin("observation:A", "brief", 1000, Scope(), T)
    journal.pin("observation:B", "for good", 0, Scope(), T + 1)
    assert held(journal, now=T + 999) == ["brief", "for good"]
    assert held(journal, now=T + 1000) == ["for good"]
    listed = queries.entries(journal.db, "pins", EntryFilter(now=T + 1000))
    assert ([item.note for item in listed[0]], listed[1]) == (["for good"], 1)
    assert queries.entries(journal.db, "pins", EntryFilter(now=T + 1000, audit=True))[1] == 2


@pytest.mark.parametrize("ttl", [-1, float("inf"), float("nan")])
def test_a_pin_for_a_time_that_cannot_be_is_refused(space: Path, ttl: float) -> None:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        entry = memory.observe("the kettle is on")
        with pytest.raises(QueryError, match="no such time"):
            memory.journal.pin(entry.ref, ttl=ttl)
        assert memory.journal.entries("pins", audit=True) == ([], 0)


def test_the_same_target_pinned_again_gets_the_new_note_and_time(journal: Journal) -> None:
    first = journal.pin("note:tea.md", "old", 1000, S, T)
    again = journal.pin("note:tea.md", "new", 0, S, T + 500)
    assert again == Pin(first.id, "note:tea.md", "new", T, 0, S)
    assert queries.entries(journal.db, "pins", EntryFilter(audit=True)) == ([again], 1)
    revived = journal.pin("note:tea.md", "newer", 2000, S, T + 9000)
    assert (revived.id, revived.expires_at) == (first.id, T + 11_000)


@pytest.mark.parametrize("field", Scope._fields)
def test_the_same_target_may_be_pinned_in_each_scope(journal: Journal, field: str) -> None:
    first, two = (Scope(**{field: name}) for name in ("one", "two"))
    journal.pin("note:tea.md", "in one", 0, first, T)
    journal.pin("note:tea.md", "in two", 0, two, T + 1)
    assert held(journal) == ["in one", "in two"]
    if field != "task":
        assert held(journal, first) == ["in one"]
        assert held(journal, two) == ["in two"]


@pytest.mark.parametrize("name", ["{pin.ref}", "{pin.id}", "{pin.target}", "01TARGET"])
def test_a_pin_is_taken_away_by_any_of_its_names(journal: Journal, name: str) -> None:
    pin = journal.pin("observation:01TARGET", "x", 0, Scope(), T)
    journal.pin("observation:01OTHER", "stays", 0, Scope(), T)
    assert journal.unpin(name.format(pin=pin)) == ["observation:01TARGET"]
    assert held(journal) == ["stays"]
    with pytest.raises(NotFound, match="nothing pinned"):
        journal.unpin(name.format(pin=pin))


def test_the_name_of_a_target_takes_all_its_pins(journal: Journal) -> None:
    journal.pin("note:tea.md", "a", 0, Scope("s"), T)
    journal.pin("note:tea.md", "b", 0, Scope("t"), T)
    assert journal.unpin("note:tea.md") == ["note:tea.md"] * 2
    assert held(journal) == []


def test_a_pin_holds_where_no_field_of_its_scope_says_otherwise(journal: Journal) -> None:
    words = ("", "x", "y")
    scopes = [Scope(session=a, repo=b) for a, b in itertools.product(words, words)]
    for n, scope in enumerate(scopes):
        journal.pin(f"observation:{n}", str(n), 0, scope, T + n)
    for request in scopes:
        expected = [
            str(n)
            for n, scope in enumerate(scopes)
            if all("" in pair or pair[0] == pair[1] for pair in zip(scope, request, strict=True))
        ]
        assert held(journal, request) == expected


# The latest summary


def test_the_latest_summary_is_of_the_open_capsule_else_of_the_last_closed(
    journal: Journal,
) -> None:
    def latest(scope: Scope = Scope()) -> str:  # noqa: B008
        summary = queries.latest_summary(journal.db, scope)
        return summary.content if summary else ""

    assert latest() == ""
    running = journal.open_capsule("r", "session", Scope("r", repo="one"), T)
    closings = (("a", "one", 50), ("b", "two", 100), ("c", "two", 99))
    for n, (session, repo, closed) in enumerate(closings):
        item = journal.open_capsule(session, "session", Scope(session, repo=repo), T + n)
        journal.close_capsule(item.ref, f"of {session}", T + closed)
    assert latest() == "of b"  # c was opened after b, and closed before
    assert latest(Scope("a")) == "of a"
    assert latest(Scope(repo="one")) == "of a"
    assert latest(Scope("r")) == ""
    journal.db.execute(
        "INSERT INTO summaries(id, capsule, content, created_at) VALUES ('x', ?, 'so far', ?)",
        (running.id, T),
    )
    assert latest() == "so far"
    assert latest(Scope(repo="one")) == "so far"
    assert latest(Scope(repo="two")) == "of b"
    journal.db.execute("UPDATE summaries SET redacted = 1 WHERE content = 'so far'")
    assert latest() == "of b"
    journal.db.execute("UPDATE summaries SET forgotten_at = 1 WHERE content = 'of b'")
    assert latest() == "of c"


def test_of_several_summaries_the_newest_counts(journal: Journal) -> None:
    opened = journal.open_capsule("a", "session", S, T)
    for n in (1, 3, 2):
        journal.db.execute(
            "INSERT INTO summaries(id, capsule, content, created_at) VALUES (?, ?, ?, ?)",
            (f"id{9 - n}", opened.id, f"version {n}", T + n),
        )
    summary = queries.latest_summary(journal.db, S)
    assert summary is not None
    assert summary.content == "version 3"


# Names

A, B = "01KDWMA8G0AAAAAAAAAAAAAAAA", "01KDWMA8G0AAAABBBBBBBBBBBB"


def test_an_entry_is_known_by_its_ref_its_id_and_the_beginning_of_it(journal: Journal) -> None:
    say(journal, "a", id=A)
    say(journal, "b", id=B)
    opened = journal.open_capsule("c", "session", S, T + 10**9)
    for name in (A, f"observation:{A}", A[:15], f"observation:{A[:15]}", A[:15].lower()):
        assert queries.resolve(journal.db, name) == ("observation", A)
    for name in (opened.id, opened.ref, opened.id[:8], f"capsule:{opened.id[:8]}"):
        assert queries.resolve(journal.db, name) == ("capsule", opened.id)


@pytest.mark.parametrize(
    ("name", "kinds", "error"),
    [
        (A[:14], (), f"is ambiguous: observation:{A}, observation:{B}"),
        (A[:5], (), "no entry of the journal"),
        (f"observation:{A[:5]}", (), f"is ambiguous: observation:{A}, observation:{B}"),
        ("01KDWMA8G0ZZZZ", (), "no entry of the journal"),
        (f"capsule:{A}", (), "no entry of the journal"),
        (f"observation:{A}", ("capsule",), "no capsule"),
        (A, ("capsule", "summary"), "no capsule or summary"),
        ("", (), "no entry of the journal"),
        ("%", (), "no entry of the journal"),
        ("______", (), "no entry of the journal"),
        ("'; -- OR", (), "no entry of the journal"),
    ],
)
def test_a_name_that_fits_none_or_several_is_a_clear_error(
    journal: Journal, name: str, kinds: tuple[str, ...], error: str
) -> None:
    say(journal, "a", id=A)
    say(journal, "b", id=B)
    with pytest.raises(NotFound, match=error):
        queries.resolve(journal.db, name, kinds)


def test_an_id_without_a_time_is_known_without_its_zeros(journal: Journal) -> None:
    say(journal, "a", id="00000000000004HAQP1WYE9SE6")
    assert short_ref("observation:00000000000004HAQP1WYE9SE6") == "observation:4HAQP1WYE9SE6"
    for name in ("4HAQP1WYE9SE6", "observation:4haqp1wye9se6"):
        assert queries.resolve(journal.db, name)[1] == "00000000000004HAQP1WYE9SE6"


def test_a_whole_id_wins_over_longer_ones_that_begin_with_it(journal: Journal) -> None:
    say(journal, "a", id="evt-1000")
    say(journal, "b", id="evt-10001")
    assert queries.resolve(journal.db, "evt-1000") == ("observation", "evt-1000")
    assert queries.resolve(journal.db, "evt-10001") == ("observation", "evt-10001")
    with pytest.raises(NotFound, match="is ambiguous"):
        queries.resolve(journal.db, "evt-10")


# Lists


@pytest.fixture
def listed(journal: Journal) -> Journal:
    for n in range(6):
        scope = Scope(f"s{n % 2}", repo=f"r{n % 3}", agent="x" if n < 3 else "y")
        kind = "error" if n == 5 else "message"
        say(journal, str(n), T + n, kind, id=f"obs{n}", **scope._asdict())
    return journal


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (EntryFilter(), "543210"),
        (EntryFilter(session="s1"), "531"),
        (EntryFilter(session="s"), "543210"),
        (EntryFilter(repo="r0"), "30"),
        (EntryFilter(agent="y"), "543"),
        (EntryFilter(session="s1", agent="y"), "53"),
        (EntryFilter(kind="error"), "5"),
        (EntryFilter(after=T + 4), "54"),
        (EntryFilter(before=T + 1), "10"),
        (EntryFilter(after=T + 2, before=T + 3), "32"),
        (EntryFilter(session="nobody"), ""),
        (EntryFilter(session="%"), ""),
        (EntryFilter(repo="' OR true --"), ""),
        (EntryFilter(scope=Scope("s1")), "531"),
        (EntryFilter(past=(T + 2, "obs2")), "10"),
    ],
    ids=str,
)
def test_observations_are_listed_newest_first_by_any_filter(
    listed: Journal, wanted: EntryFilter, found: str
) -> None:
    some, count = queries.entries(listed.db, "observations", wanted)
    assert "".join(item.content for item in some) == found
    assert count == len(found)


def test_a_limit_shortens_the_list_and_not_the_count(listed: Journal) -> None:
    some, count = queries.entries(listed.db, "observations", EntryFilter(session="s0", limit=2))
    assert ([item.content for item in some], count) == (["4", "2"], 3)


def test_what_happened_at_the_same_moment_is_listed_by_id(journal: Journal) -> None:
    for name in ("b", "c", "a"):
        say(journal, name, T, id=name)
    some, _ = queries.entries(journal.db, "observations", EntryFilter())
    assert [item.id for item in some] == ["c", "b", "a"]


def test_what_was_forgotten_is_listed_with_audit_only(listed: Journal) -> None:
    listed.db.execute("UPDATE observations SET forgotten_at = ? WHERE id = 'obs3'", (T,))
    some, count = queries.entries(listed.db, "observations", EntryFilter())
    assert ("".join(item.content for item in some), count) == ("54210", 5)
    some, count = queries.entries(listed.db, "observations", EntryFilter(audit=True))
    assert ("".join(entry.content for entry in some), count) == ("543210", 6)
    assert [element.forgotten_at for element in some if element.id == "obs3"] == [T]


def test_the_other_lists_know_the_same_filters(journal: Journal) -> None:
    for n, session in enumerate(("s", "t")):
        scope = Scope(session, agent="x")
        item = journal.open_capsule(f"intent {session}", "session", scope, T + n)
        journal.close_capsule(item.ref, f"sum {session}", T + 10 + n)
        journal.pin(f"note:{session}", session, 0, scope, T + n)
        journal.db.execute(
            "INSERT INTO memories(id, type, content, created_at, session, agent)"
            " VALUES (?, ?, ?, ?, ?, 'x')",
            (f"m{session}", "decision" if n else "insight", f"learned {session}", T + n, session),
        )

    def texts(plural: str, **expected: Any) -> list[str]:
        results, count = queries.entries(journal.db, plural, EntryFilter(**expected))
        assert count == len(results)
        return [
            getattr(result, "content", "") or getattr(result, "intent", result[2])
            for result in results
        ]

    assert texts("capsules") == ["intent t", "intent s"]
    assert texts("capsules", session="s", kind="session", before=T) == ["intent s"]
    assert texts("capsules", kind="pocketflow_node") == []
    assert texts("summaries", agent="x") == ["sum t", "sum s"]
    assert texts("summaries", session="s", after=T + 10) == ["sum s"]
    assert texts("pins", session="t") == ["t"]
    assert texts("pins", after=T + 2) == []
    assert texts("memories", kind="decision") == ["learned t"]
    assert texts("memories", session="s") == ["learned s"]


@pytest.mark.parametrize("plural", ["summaries", "pins"])
def test_a_kind_where_there_is_none_is_a_clear_error(journal: Journal, plural: str) -> None:
    with pytest.raises(QueryError, match=f"{plural} have no kind"):
        queries.entries(journal.db, plural, EntryFilter(kind="message"))


@pytest.mark.parametrize("plural", ["capsules", "pins", "memories"])
def test_a_capsule_where_there_is_none_is_a_clear_error(journal: Journal, plural: str) -> None:
    with pytest.raises(QueryError, match=f"{plural} are not in capsules"):
        queries.entries(journal.db, plural, EntryFilter(capsule="x"))


# Ids

moments = st.integers(1, 253_402_300_799_999)


@given(moments)
def test_an_id_has_26_characters_and_tells_its_time(ms: int) -> None:
    created = ids.ulid(ms)
    assert len(created) == 26
    assert set(created) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    number = 0
    for sign in created:
        number = number * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(sign)
    assert number >> 80 == ms


@given(st.lists(moments, min_size=2, max_size=50))
def test_ids_sort_by_time(times: list[int]) -> None:
    created = [(ids.ulid(ms), ms) for ms in times]
    assert [ms for _, ms in sorted(created)] == sorted(times)


@given(st.lists(st.integers(0, 2), max_size=200), moments)
def test_ids_sort_by_the_order_of_making(gaps: list[int], start: int) -> None:
    created = [ids.ulid(ms) for ms in itertools.accumulate(gaps, initial=start)]
    assert created == sorted(set(created))


def test_ids_made_now_sort_by_the_order_of_making() -> None:
    created = [ids.ulid() for _ in range(5000)]
    assert created == sorted(set(created))
