"""Findings become memories: what is said twice is one, a newer decision supersedes an older."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.consolidation.claims import claim, opposed, revised, share
from kinen.consolidation.fold import fold, memory_id, nearness, tick
from kinen.embed import load
from kinen.model.journal import Clock, Finding, Learned
from kinen.transfer.sections import ID

if TYPE_CHECKING:
    from random import Random

ROUNDS = "round:sessions/20260101-01-a/rounds"


def finding(content: str, source: str = "note:a.md", day: int = 1, **more: Any) -> Finding:
    at = f"2026-01-{day:02}T00:00:00.000Z"
    type_, sure = more.pop("type", "decision"), more.pop("sure", 0.9)
    return Finding(type_, content, sure, (source,), at, **more)


def folded_by_content(
    *findings: Finding, learned_before: tuple[Learned, ...] = (), **more: Any
) -> dict[str, Learned]:
    """All memories after folding, by content."""
    learned = fold(findings, learned_before, **more).learned
    return {
        item.content: item
        for item in {value.id: value for value in (*learned_before, *learned)}.values()
    }


# The same


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Use PostgreSQL for sessions", "Sessions are stored in PostgreSQL"),
        ("Hooks are removed in v7.0.0", "v7.0.0 removes the hooks"),
        ("Always run the linter before committing", "Run the linter before every commit, always"),
        ("Timeouts are 30 seconds for HTTP calls", "All HTTP calls have timeouts of 30 seconds"),
        ("Retire the plan tool without an alias", "The plan tool is retired, no alias"),
    ],
)
def test_what_is_said_in_other_words_folds_into_one(a: str, b: str) -> None:
    memories = fold([finding(a, "note:a.md", 2, sure=0.8), finding(b, "note:b.md", 1)]).learned
    (memory,) = memories
    assert memory.content == b, "the words of the earlier one are kept"
    assert memory.created_at == 1_767_225_600_000
    assert memory.confidence == 0.9
    assert set(memory.derived_from) == {"note:a.md", "note:b.md"}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Retry webhooks eight times", "Retry webhooks three times"),
        ("Timeouts are 30 seconds", "Timeouts are 60 seconds"),
        ("Use PostgreSQL for sessions", "Use PostgreSQL for the job queue"),
        ("Encrypt backups with age", "Encrypt backups with gpg"),
        ("The cause was a missing index on user_id", "The cause was a missing index on order_id"),
        ("Tests must not touch the network", "Tests must not touch the disk"),
        ("Use jq", "Use jq for the release notes of every package"),
    ],
)
def test_what_differs_in_one_word_stays_apart_whatever_vectors_say(a: str, b: str) -> None:
    for embed in (None, load("onnx").embed):  # type: ignore[union-attr]
        memories = fold([finding(a), finding(b, "note:b.md")], embed=embed).learned
        assert [memory.superseded_by for memory in memories] == ["", ""]


def test_vectors_decide_where_half_of_the_words_are_the_same() -> None:
    pair = [
        finding("Per-space indices"),
        finding("Index scope: per-space indices only, indices are per space", "note:b.md"),
    ]
    assert len(fold(pair).learned) == 2
    embedder = load("onnx")
    assert embedder is not None
    assert len(fold(pair, embed=embedder.embed).learned) == 1


def test_less_certain_findings_stay_out() -> None:
    folded = fold([finding("Use tea", sure=0.69), finding("Use coffee mugs", sure=0.7)])
    assert [item.content for item in folded.learned] == ["Use coffee mugs"]
    assert folded.below == 1


def test_a_finding_adds_its_source_to_what_is_known() -> None:
    first = fold([finding("Use PostgreSQL for sessions")]).learned
    (again,) = fold([finding("Sessions use PostgreSQL", "commit:abc", 9)], first).learned
    assert again.id == first[0].id
    assert again.derived_from == ("note:a.md", "commit:abc")
    assert again.created_at == first[0].created_at


# Superseded


def test_a_newer_decision_on_the_same_question_supersedes() -> None:
    request = {"topic": "Session store for logins"}
    old = finding("Session store for logins: Redis", f"{ROUNDS}/01.md", 1, **request)
    new = finding("Session store for logins: PostgreSQL", "note:adr.md", 5, **request)
    memories = folded_by_content(new, old)
    assert memories[old.content].superseded_by == memories[new.content].id
    assert memories[new.content].superseded_by == ""
    assert memories[old.content].derived_from == old.sources, "they are never merged"


def test_of_two_rounds_of_one_day_the_later_counts() -> None:
    request = {"topic": "Session store"}
    old = finding("Session store: Redis", f"{ROUNDS}/01-a.md", **request)
    new = finding("Session store: PostgreSQL", f"{ROUNDS}/02-b.md", **request)
    for batches in ([old, new], [new, old]):
        values: tuple[Learned, ...] = ()
        for batch in batches:
            values = tuple(folded_by_content(batch, learned_before=values).values())
        by_content = {value.content: value for value in values}
        assert by_content[old.content].superseded_by == by_content[new.content].id


def test_a_question_that_is_asked_everywhere_supersedes_only_within_its_session() -> None:
    request = {"topic": "Testing strategy"}
    here = finding("Testing strategy: unit tests", f"{ROUNDS}/01.md", 1, **request)
    there = finding(
        "Testing strategy: by hand", "round:sessions/20260105-01-b/rounds/01.md", 5, **request
    )
    assert not any(value.superseded_by for value in folded_by_content(here, there).values())
    request = {"topic": "Retry policy"}
    here = finding("Retry policy: eight times", f"{ROUNDS}/01.md", 1, **request)
    then = finding("Retry policy: until it works", f"{ROUNDS}/02.md", 2, **request)
    assert folded_by_content(here, then)[here.content].superseded_by


def test_what_one_record_says_side_by_side_is_no_contradiction() -> None:
    request = {"topic": "Session store for logins"}
    both = [
        finding("Session store for logins: Redis as a cache", **request),
        finding("Session store for logins: PostgreSQL as the truth", **request),
    ]
    assert not any(value.superseded_by for value in folded_by_content(*both).values())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use Redis for sessions", "Use PostgreSQL instead of Redis for sessions"),
        ("We use fuse.js for search", "Replace fuse.js with Orama for search"),
        ("LanceDB for index storage", "Switch from LanceDB to SQLite for index storage"),
        ("Support Python 3.8", "We no longer support Python 3.8"),
        ("Always use tabs for indentation", "Never use tabs for indentation"),
        ("Use tabs instead of spaces", "Use spaces instead of tabs"),
    ],
)
def test_what_is_taken_back_in_so_many_words_is_superseded(old: str, new: str) -> None:
    memories = folded_by_content(finding(new, "note:b.md", 5), finding(old, day=1))
    assert memories[old].superseded_by == memories[new].id
    late = folded_by_content(
        finding(old, day=1),
        learned_before=tuple(folded_by_content(finding(new, "note:b.md", 5)).values()),
    )
    assert late[old].superseded_by == late[new].id, "in whichever order they are met"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use Redis for caching", "Use PostgreSQL instead of Redis for sessions"),
        ("The rate limiter uses Redis", "Use PostgreSQL instead of Redis for sessions"),
        ("Use Redis", "Use PostgreSQL instead of Redis for sessions"),
        ("Support Python 3.9", "We no longer support Python 3.8"),
    ],
)
def test_what_is_taken_back_elsewhere_stands(old: str, new: str) -> None:
    assert not opposed(claim(old), claim(new))
    assert folded_by_content(finding(old), finding(new, "note:b.md", 5))[old].superseded_by == ""


@pytest.mark.parametrize("type_", ["decision", "insight"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Retry webhooks eight times", "Webhooks are retried 3 times"),
        ("Timeouts are 30 seconds for HTTP calls", "HTTP calls have timeouts of 60 seconds"),
        ("The minimum Go version in go.mod is 1.23", "The minimum Go version in go.mod is 1.24"),
        ("Request bodies have a cap of 5MB", "Request bodies have a cap of 100MB"),
        ("The default distiller is `extract`", "The default distiller is `claude`"),
        ("Uploads retry 3 times within 30 s", "Uploads retry 5 times within 30 s"),
    ],
)
def test_a_later_value_of_the_same_thing_supersedes(old: str, new: str, type_: str) -> None:
    memories = folded_by_content(
        finding(new, "note:b.md", 5, type=type_), finding(old, day=1, type=type_)
    )
    assert memories[old].superseded_by == memories[new].id
    assert memories[new].superseded_by == ""
    restated = folded_by_content(
        finding(new, "note:b.md", 5), finding(old, day=1), finding(old, "note:c.md", 9)
    )
    assert restated[new].superseded_by == restated[old].id, "the one that was said last holds"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Timeouts are 30 seconds for HTTP calls", "Timeouts are 60 seconds for database locks"),
        ("Issue 12 needs the new parser", "Issue 13 needs the new parser"),
        ("Port 80 of the proxy maps to port 8080", "Port 443 of the proxy maps to port 8443"),
        ("Uploads retry 3 times within 30 s", "Uploads retry 5 times within 60 s"),
        ("Support Python 3.8", "Support Python 3.9"),
        ("Encrypt backups with age", "Encrypt backups with gpg"),
        ("webhook 1 is idempotent by event id", "webhook 2 is idempotent by event id"),
        ("API v1 stays supported until March", "API v2 stays supported until March"),
        ("Worker 1 keeps jobs for three days", "Worker 2 keeps jobs for three days"),
        ("Shard two holds the mails", "Shard three holds the mails"),
        ("Retry on 429 with a backoff", "Retry on 503 with a backoff"),
        ("404 is cached by the proxy", "503 is cached by the proxy"),
        ("Kunde 12 bekommt die neue Seite", "Kunde 13 bekommt die neue Seite"),
        (
            "The pool of the staging database for nightly reports in Europe has a timeout of 30 s",
            "The pool of the live database for nightly reports in Europe has a timeout of 60 s",
        ),
    ],
)
def test_another_value_of_something_else_supersedes_nothing(old: str, new: str) -> None:
    memories = folded_by_content(finding(old), finding(new, "note:b.md", 5))
    assert [memory.superseded_by for memory in memories.values()] == ["", ""]


_SUBJECTS = st.sampled_from(["Retry webhooks {} times", "Request bodies are capped at {}MB"])


@given(_SUBJECTS, st.lists(st.integers(2, 999), max_size=5, unique=True), st.randoms())
@settings(max_examples=30)
def test_of_values_in_any_order_the_last_one_holds(
    subject: str, values: list[int], seed: Random
) -> None:
    findings = [
        finding(subject.format(value), f"note:{day}.md", day) for day, value in enumerate(values, 1)
    ]
    seed.shuffle(findings)
    memories = folded_by_content(*findings)
    current = [memory.content for memory in memories.values() if not memory.superseded_by]
    assert current == [subject.format(value) for value in values[-1:]]
    assert not fold(findings, tuple(memories.values())).learned, "folding again changes nothing"


@given(st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=50)
def test_no_claim_revises_itself_and_order_does_not_matter(one: str, other: str) -> None:
    assert not revised(claim(one), claim(one))
    assert revised(claim(one), claim(other)) == revised(claim(other), claim(one))


@pytest.mark.parametrize("type_", ["insight", "lesson"])
def test_a_fact_is_taken_back_only_by_one_that_denies_it(type_: str) -> None:
    old = finding("The pool holds stale sockets", type=type_)
    new = finding("The pool holds no stale sockets", "note:b.md", 5, type=type_)
    beside = finding("The pool holds fresh sockets instead of pipes", "note:c.md", 6, type=type_)
    memories = folded_by_content(old, new, beside)
    assert memories[old.content].superseded_by == memories[new.content].id
    assert memories[new.content].superseded_by == ""


def test_what_is_held_again_after_it_was_given_up_is_another_memory() -> None:
    request = {"topic": "Session store for logins"}
    redis = "Session store for logins: Redis"
    findings = [
        finding(redis, "note:1.md", 1, **request),
        finding("Session store for logins: PostgreSQL", "note:2.md", 2, **request),
        finding(redis, "note:3.md", 3, **request),
    ]
    first, second, third = fold(findings).learned
    assert (first.content, third.content) == (redis, redis)
    assert first.superseded_by == second.id
    assert second.superseded_by == third.id
    assert third.superseded_by == ""
    assert fold(findings, (first, second, third)).learned == ()


def test_a_round_that_was_edited_supersedes_what_it_said_and_back() -> None:
    request = {"topic": "Session store"}
    redis = finding("Session store: Redis", f"{ROUNDS}/01.md", **request)
    postgres = finding("Session store: PostgreSQL", f"{ROUNDS}/01.md", **request)
    first = tuple(folded_by_content(redis).values())
    edited = folded_by_content(postgres, learned_before=first)
    assert edited[redis.content].superseded_by == edited[postgres.content].id
    back = folded_by_content(redis, learned_before=tuple(edited.values()))
    assert back[redis.content].superseded_by == ""
    assert back[postgres.content].superseded_by == back[redis.content].id
    assert fold([redis], tuple(back.values())).learned == ()


# Ids


def test_an_id_says_what_a_memory_says_and_is_one_that_a_bundle_takes() -> None:
    id_ = memory_id("decision", "Session store: Redis", "Session store")
    assert id_ == memory_id("decision", " session STORE:  redis!", "Session store?")
    assert id_ != memory_id("insight", "Session store: Redis", "Session store")
    other = memory_id("decision", "Session store: PostgreSQL", "Session store")
    assert id_ != other
    assert id_[:12] == other[:12], "memories on one topic begin alike"
    assert ID.fits(id_)


@pytest.mark.parametrize("change", [{"forgotten_at": 5, "content": ""}, {"redacted": True}])
def test_what_was_forgotten_does_not_come_back(change: dict[str, Any]) -> None:
    (item,) = fold([finding("Use PostgreSQL for sessions")]).learned
    gone = item._replace(**change)
    assert fold([finding("Use PostgreSQL for sessions", "note:b.md", 7)], [gone]).learned == ()


# The clock


def test_what_is_new_moves_the_clock_and_what_is_known_does_not() -> None:
    clock, due = tick(Clock(), 1.0, 1.0, 3.0)
    assert (clock, due) == (Clock(), False)
    clock, due = tick(clock, 0.5, 0.8, 3.0)
    assert clock.accumulated == pytest.approx(0.2)
    assert not due


def test_past_its_threshold_the_clock_strikes_and_begins_anew() -> None:
    clock = Clock(4, 2.5)
    assert tick(clock, 0.0, 0.5, 3.0) == (Clock(4, 3.0), False), "it must be passed"
    assert tick(clock, 0.0, 0.6, 3.0) == (Clock(5, 0.0), True)


def test_nearness_is_that_to_the_nearest() -> None:
    existing = ["Use PostgreSQL for sessions", "Encrypt backups with age"]
    texts = ["Sessions use PostgreSQL", "The kettle is on"]
    embedder = load("onnx")
    assert embedder is not None
    for embed in (None, embedder.embed):
        same, new = nearness(texts, existing, embed)
        assert same > 0.8
        assert new < 0.4
    assert nearness(texts, []) == [0.0, 0.0]
    assert nearness([], existing) == []


def test_a_claim_is_most_like_itself() -> None:
    for text in ("Use jq instead of grep", "Never deploy on Fridays", "Retry eight times"):
        assert share(claim(text), claim(text)) == 1.0
        assert not opposed(claim(text), claim(text))
