"""What every engine of an index promises: the same suite on SQLite and on PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import postgres_server
from contract.engines import Opened, change, document, letters, postgres_engine, sqlite_engine
from kinen.errors import QueryError
from kinen.model.documents import Change
from kinen.model.records import Query
from kinen.recall.search import Meaning, search

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENTRY: dict[str, Any] = {"repo": "github.com/acme/tea", "agent": "claude-code", "user": "mira"}
DOCUMENTS = (
    document(
        "note:docs/kettle.md",
        "# Kettle\n\nThe kettle whistles when the water is boiling.",
        "Descale it twice a year; café owners do so monthly.",
        title="Kettle",
        path="docs/kettle.md",
        at="2026-03-01T10:00:00.000Z",
        tags=("hardware/kettle", "water"),
        metadata={
            "status": "Complete",
            "list": ["a", "b"],
            "nested": {"deep": 3},
            "draft": True,
            "rating": 4.5,
            "year": 2024,
            "done": "2024-05-01T10:00:00",
            "author": None,
        },
    ),
    document(
        "note:docs/teapot.md",
        "The teapot is warmed first. def getUserName(): return user_name",
        title="Teapot",
        path="docs/teapot.md",
        at="2026-03-02T10:00:00.000Z",
        tags=("hardware",),
        metadata={"status": "draft", "files": ["src/pot.py"]},
    ),
    document(
        "resource:lib/100%_[x]?.txt",
        "Boiled water, boiled leaves; the kettle's handle isn't hot. 東京の水 naïve",
        title="100%",
        path="lib/100%_[x]?.txt",
        at="2026-03-03T10:00:00.000Z",
    ),
    document(
        "checkpoint:.memories/one.md",
        "Decided to boil less water.",
        title="Boil less",
        path=".memories/one.md",
        at="2026-03-04T10:00:00.000Z",
        session="session-7",
        metadata={"files": ["src/pot.py"], "symbols": ["Pot.boil"], "event": "decision", **ENTRY},
    ),
)
ENTRIES = tuple(
    document(
        f"observation:{n}",
        text,
        segment="capsule:A/1" if n < 3 else "",
        at=f"2026-03-05T10:00:0{n}.000Z",
        session="s1",
        metadata={"event": "message", "role": role, "parent": "capsule:A", **ENTRY},
    )
    for n, (text, role) in enumerate(
        (
            ("please boil the water for me", "user"),
            ("I boil the water in the kettle now", "assistant"),
            ("the water has boiled over", "assistant"),
            ("an unrelated remark on sugar", "assistant"),
        ),
        start=0,
    )
)


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Opened]:
    """An engine with the documents above."""
    if request.param == "sqlite":
        with sqlite_engine(tmp_path_factory.mktemp("sqlite")) as opened:
            yield filled(opened)
        return
    server = request.getfixturevalue("postgres_server_url")
    url = postgres_server.create_database(server)
    with postgres_engine(url) as opened:
        yield filled(opened)
    postgres_server.drop_database(server, url)


def filled(opened: Opened) -> Opened:
    opened.apply("files", [change(document) for document in DOCUMENTS])
    opened.apply("journal", [change(document) for document in ENTRIES])
    return opened


def refs(engine: Opened, text: str, **filters: Any) -> list[str]:
    """The refs of what full text finds, best first."""
    with engine.reader() as reader:
        from kinen.text import terms

        ids = [id_ for id_, _ in reader.match(terms(text), Query(text, **filters), 20)]
        loaded = reader.load(ids)
        return list(dict.fromkeys(loaded[id_][0].ref for id_ in ids))


KETTLE = "note:docs/kettle.md"
TEAPOT = "note:docs/teapot.md"
OTHER = "resource:lib/100%_[x]?.txt"
ONE = "checkpoint:.memories/one.md"


def test_words_are_split_and_stemmed_alike(engine: Opened) -> None:
    for text, best in (
        ("whistling", KETTLE),
        ("cafe", KETTLE),
        ("getUserName", TEAPOT),
        ("name of a user", TEAPOT),
        ("naive", OTHER),
        ("東京", OTHER),
        ("isn't", OTHER),
        ("less", ONE),
        ("sugar", "observation:3"),
    ):
        assert refs(engine, text)[:1] == [best], text
    assert refs(engine, "nowhere'); DROP TABLE kinen.chunk; --") == []
    assert refs(engine, "' | % \\ <-> & !") == []


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"kinds": ("note",)}, {KETTLE}),
        ({"omitted": ("note", "observation")}, {OTHER, ONE}),
        ({"tags": ("hardware",)}, {KETTLE}),
        ({"tags": ("hardware/kettle", "water")}, {KETTLE}),
        ({"paths": ("docs",)}, {KETTLE}),
        ({"paths": ("docs/kettle.md", "lib/")}, {KETTLE, OTHER}),
        ({"paths": ("**/*.md",)}, {KETTLE, ONE}),
        ({"paths": ("lib/100%_[[]x]?.txt",)}, {OTHER}),
        ({"required": ("boiling",)}, {KETTLE}),
        ({"required": ("water is boiling",)}, {KETTLE}),
        ({"required": ("water, boiled",)}, {OTHER}),
        ({"excluded": ("kettle",)}, {ONE, "observation:0", "observation:2"}),
        ({"events": ("decision",)}, {ONE}),
        ({"meta": ("status=complete",)}, {KETTLE}),
        ({"meta": ("list=b",)}, {KETTLE}),
        ({"meta": ("nested.deep=3",)}, {KETTLE}),
        ({"meta": ("nested.deep=4",)}, set()),
        ({"meta": ("draft=True", "rating=4.50", "year=2024", "done=2024-05-01")}, {KETTLE}),
        ({"meta": ("draft=false",)}, set()),
        ({"meta": ("draft=1",)}, set()),
        ({"meta": ("author=", "author=null")}, {KETTLE}),
        ({"meta": ("nowhere=",)}, set()),
        ({"files": ("pot.py",)}, {ONE}),
        ({"files": ("docs/kettle.md",)}, {KETTLE}),
        ({"symbols": ("boil",)}, {ONE}),
        ({"session": "7"}, {ONE}),
        ({"agent": "CLAUDE", "user": "mi", "repo": "tea", "session": "s1"}, {0, 1, 2}),
        ({"since": "2026-03-03T00:00:00.000Z", "until": "2026-03-04T23:00:00.000Z"}, {OTHER, ONE}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "refs",
)
def test_filters_mean_the_same(engine: Opened, filters: Any, expected: set[Any]) -> None:
    names = {f"observation:{ref}" if isinstance(ref, int) else ref for ref in expected}
    assert set(refs(engine, "boil water", **filters)) == names
    with engine.reader() as reader:
        engine.vectors(reader)  # stores what is missing: a snapshot does not see it
    with engine.reader() as reader:
        vectors = engine.vectors(reader)
        allowed = reader.allowed(Query("boil water", **filters))
        assert allowed is not None
        near = vectors.nearest(letters("boil water"), 20, allowed)
        cited = [allowed[unit] for unit, _ in near]
        semantic = {record.ref for record, _ in reader.load(cited).values()}
        # a segment is one unit, and its first chunk that passes is cited
        assert names - {"observation:1", "observation:2"} <= semantic


def test_records_chunks_and_places_are_read_back(engine: Opened) -> None:
    with engine.reader() as reader:
        record = reader.record(KETTLE)
        assert record == DOCUMENTS[0].record
        assert reader.at_path("docs/kettle.md") == record
        assert reader.record("note:none") is None
        assert KETTLE in reader.refs_from(KETTLE[:-3], 9)
        assert reader.refs_from("note:none", 9) == reader.refs_from("note:", 0) == []
        chunks = reader.between(KETTLE, 0, 5)
        assert [(chunk.n, chunk.text) for chunk in chunks] == [
            (chunk.n, chunk.text) for chunk in DOCUMENTS[0].chunks
        ]
        assert [chunk.n for chunk in reader.between(KETTLE, 1, 1)] == [1]
        assert reader.paths_named("kettle.md") == ["docs/kettle.md"]
        assert reader.paths_named("what is a kettle?") == []
        ids = reader.chunks_at(["docs/kettle.md"], Query(""))["docs/kettle.md"]
        first, second = (reader.places(ids)[id_] for id_ in ids)
        assert (first[0], first[1] + 1) == second
        assert reader.ages(ids) == dict.fromkeys(ids, record.at if record else "")
        newest = reader.load(reader.newest(Query(""), 2)).values()
        assert {record.ref for record, _ in newest} == {"observation:3", "observation:2"}
        assert reader.latest() == "2026-03-05T10:00:03.000Z"
        matching = reader.matching(Query("", kinds=("note",)))
        assert [record.ref for record in matching] == [KETTLE, TEAPOT]
        assert (reader.counts().documents, reader.counts().chunks) == (8, 9)
        assert reader.chunk_count() == 9
        assert reader.document_counts(["boils", "kettle", "nothing"]) == {
            "boils": 6,
            "kettle": 4,
            "nothing": 0,
        }
        assert dict(reader.vocabulary("k"))["kettl"] == 4
        assert not reader.vocabulary("z")
        assert reader.stems(["whistling"]) == {"whistling": "whistl"}
        assert reader.spelled("whistl", "whisles") == "whistles"


def test_observations_of_a_segment_are_one_unit(engine: Opened) -> None:
    with engine.reader() as reader:
        segment = reader.segment("observation:1")
        assert [chunk.ref for chunk in segment] == [f"observation:{n}" for n in range(3)]
        assert reader.segment("observation:3") == []
        every = Query("", kinds=("observation",))
        ids = [id_ for id_, _ in reader.match(["boil", "sugar"], every, 9)]
        anchors = reader.anchors(ids)
        assert len(anchors) == 2
        assert len({*anchors.values()}) == 1
        allowed = reader.allowed(every)
        assert allowed is not None
        assert len([*allowed]) == 2


def test_a_search_is_answered_and_explained(engine: Opened) -> None:
    with engine.reader() as reader:
        engine.vectors(reader)
    with engine.reader() as reader:
        half = Meaning(engine.vectors(reader), letters("boiling water"))
        for mode in ("fulltext", "semantic", "hybrid", "rrf", "keyword-first", "rerank"):
            hits = search(reader, Query("boiling water", mode=mode), lambda: (half, ""))
            assert hits, mode
            for hit in hits:
                assert hit.score == pytest.approx(sum(vote.share for vote in hit.votes)), mode
        corrected = search(reader, Query("wistles", mode="fulltext"), lambda: (None, ""))
        assert corrected[0].record.ref == KETTLE
        assert corrected.notes == ("corrected: wistles → whistles",)
        by_name = search(reader, Query("teapot.md"), lambda: (half, ""))
        assert by_name[0].record.ref == TEAPOT
        with pytest.raises(QueryError):
            search(reader, Query(" "), lambda: (half, ""))


def test_changed_and_removed_documents_leave_no_words_behind(engine: Opened) -> None:
    def states() -> tuple[list[str], dict[str, int], int]:
        with engine.reader() as reader:
            counts = reader.document_counts(["marmalade", "toast"])
            return refs(engine, "marmalade toast"), counts, reader.counts().chunks

    before = states()
    first = document("note:new.md", "marmalade", "on toast", title="t", path="new.md")
    engine.apply("files", [change(first)])
    assert states() == (["note:new.md"], {"marmalade": 1, "toast": 1}, 11)
    engine.apply("files", [change(document("note:new.md", "toast", title="t", path="new.md"))])
    assert states() == (["note:new.md"], {"marmalade": 0, "toast": 1}, 10)
    engine.apply("files", [Change("note:new.md", None, removed=True)])
    assert states() == before


def test_both_engines_score_alike(tmp_path: Path, postgres_url: str) -> None:
    texts = [f"{n % 7} kettle water " + "boil " * (n % 5) + "x " * n for n in range(60)]
    documents = [
        document(f"note:{n}.md", text, title=f"Note {n}", path=f"{n}.md")
        for n, text in enumerate(texts)
    ]
    answers = []
    with sqlite_engine(tmp_path) as local, postgres_engine(postgres_url) as shared:
        for engine in (local, shared):
            engine.apply("files", [change(document) for document in documents])
            with engine.reader() as reader:
                rows = reader.match(["boil", "3", "kettle", "note"], Query(""), 30)
                loaded = reader.load([id_ for id_, _ in rows])
                answers.append({loaded[id_][0].ref: round(score, 4) for id_, score in rows})
    assert sorted(answers[0].values()) == pytest.approx(sorted(answers[1].values()), abs=2e-4)
    shared_refs = answers[0].keys() & answers[1].keys()
    assert len(shared_refs) >= 28  # the last have equal scores: either may be cut off
    for ref in shared_refs:
        assert answers[0][ref] == pytest.approx(answers[1][ref], abs=2e-4)
