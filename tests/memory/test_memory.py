from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kinen
from kinen import KinenError, Memory, Query
from kinen.errors import NotFound, QueryError

Write = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def demo_memory(demo_space: Path, tmp_path_factory: pytest.TempPathFactory):
    """The demo's space, indexed with vectors, for questions."""
    with Memory.open(demo_space, home=tmp_path_factory.mktemp("asked")) as memory:
        memory.sync()
        yield memory


def test_the_public_names_are_these() -> None:
    names = (
        "Capsule Chunk Companion Edge Hit Hits KinenError Memory Observation Pin Query Recall"
        " Record Report Revision Scope Summary Vote __version__"
    )
    assert kinen.__all__ == names.split()
    assert all(getattr(kinen, name) for name in kinen.__all__)


PARAPHRASES = [
    ("nobody could get in after the cluster switched over", "sign in again"),
    ("stickers with nothing on them", "byte order mark"),
    ("whom to ask about money", "Aiko billing"),
    ("proof that a message really came from us", "X-Parcelry-Signature"),
]


@pytest.mark.parametrize(("question", "answer"), PARAPHRASES)
def test_meaning_finds_paraphrases_that_full_text_misses(
    demo_memory: Memory, question: str, answer: str
) -> None:
    by_word = demo_memory.search(Query(question, mode="fulltext", limit=1))
    by_meaning = demo_memory.search(Query(question, mode="semantic", limit=3))
    hybrid = demo_memory.search(Query(question, limit=3))
    assert not any(answer in " ".join(hit.chunk.text.split()) for hit in by_word)
    assert any(answer in " ".join(hit.chunk.text.split()) for hit in by_meaning)
    assert any(answer in " ".join(hit.chunk.text.split()) for hit in hybrid)


@pytest.mark.parametrize(
    "mode", ["hybrid", "fulltext", "semantic", "rrf", "keyword-first", "rerank"]
)
def test_every_mode_answers_explains_and_repeats_itself(demo_memory: Memory, mode: str) -> None:
    ask = Query("session lookup in postgres", mode=mode, limit=5)
    hits = demo_memory.search(ask)
    assert len(hits) == 5
    for hit in hits:
        assert hit.votes
        assert sum(vote.share for vote in hit.votes) == pytest.approx(hit.score)
    again = demo_memory.search(ask)
    assert list(hits) == list(again)


STRANGE = [
    "rate-limiter",
    'user\'s "token"',
    "C++ (std::move)",
    "foo AND",
    "NEAR(a b)",
    "日本語",
    "title:x OR *",
    "🙂 redis",
    "a" * 10_000,
    "%_^~`'; DROP TABLE records; --",
]


@pytest.mark.parametrize("text", STRANGE, ids=lambda text: text[:20])
@pytest.mark.parametrize("mode", ["fulltext", "hybrid"])
def test_whatever_is_typed_is_just_text(demo_memory: Memory, text: str, mode: str) -> None:
    for hit in demo_memory.search(Query(text, mode=mode)):
        assert hit.chunk.text


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_question_is_a_clear_error(demo_memory: Memory, text: str) -> None:
    with pytest.raises(QueryError, match="nothing to search for"):
        demo_memory.search(Query(text))


def test_a_question_that_is_too_long_is_refused(demo_memory: Memory) -> None:
    with pytest.raises(QueryError, match="characters"):
        demo_memory.search(Query("word " * 3000))


def test_filters_narrow_before_ranking(demo_memory: Memory) -> None:
    def paths(**filters: object) -> set[str]:
        return {
            hit.record.path for hit in demo_memory.search(Query("session", limit=50, **filters))
        }

    assert all("/rounds/" in path for path in paths(kinds=("round",)))
    assert all("webhook" in path for path in paths(session="webhook-retries"))
    assert all(path.startswith("notes/") for path in paths(paths=("notes",)))
    assert paths(paths=("*.csv",)) == {"resources/data/incidents.csv"}
    assert paths(tags=("tech/redis",)) == {
        "sessions/20251203-01-session-store/rounds/01-foundation.md"
    }
    assert len(paths(tags=("tech",))) == 3
    assert paths(since="2026-01-10T00:00:00.000Z").isdisjoint(
        {"artifacts/adr-007-session-store.md"}
    )
    assert "notes/oncall.md" not in paths(until="2026-01-10T00:00:00.000Z")


def test_parts_of_identifiers_are_found(demo_memory: Memory) -> None:
    hits = demo_memory.search(Query("sweep expired", mode="fulltext"))
    assert "sweepExpiredSessions" in hits[0].chunk.text


def test_context_gives_the_neighbours_in_order(demo_memory: Memory) -> None:
    hit = demo_memory.search(Query("rate-limiter token bucket", context=2))[0]
    numbers = [chunk.n for chunk in (*hit.before, hit.chunk, *hit.after)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert hit.before


def test_links_resolve_as_in_obsidian(demo_memory: Memory) -> None:
    ref = demo_memory.records.get("artifacts/adr-007-session-store.md").ref
    targets = {edge.target for edge in demo_memory.records.links(ref) if edge.source == ref}
    assert targets == {
        "note:sessions/20251203-01-session-store/init.md",
        "round:sessions/20251203-01-session-store/rounds/01-foundation.md",
        "round:sessions/20251203-01-session-store/rounds/02-migration.md",
    }
    assert demo_memory.records.broken_links() == []


def test_an_unknown_name_or_a_path_outside_is_a_clear_error(demo_memory: Memory) -> None:
    with pytest.raises(NotFound, match="nothing remembered"):
        demo_memory.records.get("no/such.md")
    with pytest.raises(NotFound, match="outside the space"):
        demo_memory.records.get("../../etc/passwd")


def test_the_first_search_indexes_and_says_so(space: Path, write: Write) -> None:
    write("a.md", "# Tea\n\nThe kettle is on.\n")
    with Memory.open(space) as memory:
        hits = memory.search("kettle")
        assert hits[0].record.title == "Tea"
        assert hits.notes == ("first search here: indexed 1 document",)
        assert memory.search("kettle").notes == ()


def test_a_search_after_an_interrupted_sync_calls_nothing_empty(
    space: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.md", "# Tea\n\nThe kettle is on.\n")
    with Memory.open(space) as memory:
        monkeypatch.setattr("kinen.index.sync.relink", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            memory.sync()
        monkeypatch.undo()
        hits = memory.search("kettle")
        assert hits[0].record.title == "Tea"
        assert not any("nothing to search" in note for note in hits.notes)


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_found_file_that_changed_is_read_again(space: Path, write: Write) -> None:
    path = write("a.md", "# Tea\n\nThe kettle is on.\n")
    with Memory.open(space) as memory:
        memory.search("kettle")
        path.write_text("# Coffee\n\nThe grinder is on, the kettle is off.\n")
        os.utime(path, (1, 1))
        hits = memory.search("kettle")
        assert hits[0].record.title == "Coffee"
        path.unlink()
        assert len(memory.search(Query("kettle", mode="fulltext"))) == 0


def test_without_a_model_full_text_answers_and_says_so(space: Path, write: Write) -> None:
    write("a.md", "# Tea\n\nThe kettle is on.\n")
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        hits = memory.search("kettle")
        assert len(hits) == 1
        assert "full text only: index.embedding_provider is none" in hits.notes
        with pytest.raises(QueryError, match="no search by meaning"):
            memory.search(Query("kettle", mode="semantic"))
        assert memory.index.status().pending == 0


def test_a_script_that_the_model_does_not_know_is_not_searched_by_meaning(
    space: Path, write: Write
) -> None:
    write("a.md", "# Tea\n\nThe kettle is on.\n")
    with Memory.open(space) as memory:
        memory.sync()
        with pytest.raises(QueryError, match="the model does not know this script") as refused:
            memory.search(Query("上海地铁几点关门", mode="semantic"))
        assert refused.value.hint == "search in mode fulltext"
        hits = memory.search(Query("上海地铁几点关门"))
        assert len(hits) == 0
        assert "full text only: the model does not know this script" in hits.notes


def test_a_moved_file_keeps_its_vectors(space: Path, write: Write) -> None:
    path = write("a.md", "# Tea\n\nThe kettle is on.\n")
    with Memory.open(space) as memory:
        assert memory.sync().embedded == 1
        (space / "deep").mkdir()
        path.rename(space / "deep" / "b.md")
        report = memory.sync()
        assert (report.added, report.removed, report.embedded) == (1, 1, 0)
        assert memory.index.status().counts.vectors == 1


def test_a_deleted_cache_costs_time_and_nothing_else(space: Path, write: Write) -> None:
    write("a.md", "# Tea\n\nThe kettle is on.\n")
    with Memory.open(space) as memory:
        memory.sync()
        before = memory.search("hot drinks")[0]
    for name in ("cache.db", "vectors.bin"):
        (Path(memory.space.data) / name).unlink()
    with Memory.open(space) as memory:
        assert memory.sync(rebuild=True).embedded == 1
        assert memory.search("hot drinks")[0] == before


def test_unreadable_files_are_named_with_the_reason_and_tried_again(
    space: Path, write: Write
) -> None:
    (space / "x.pdf").write_bytes(b"%PDF-1.4 nonsense")
    (space / "b.md").write_bytes(b"\x00\x01\x02" * 100)
    write("empty.txt", "")
    write("fine.md", "text")
    with Memory.open(space, settings={"index.max_file_mb": 1}) as memory:
        (space / "big.md").write_text("word " * 300_000)
        memory.sync(embed=False)
        reasons = dict(memory.index.skipped())
        assert set(reasons) == {"x.pdf", "b.md", "empty.txt", "big.md"}
        assert "too large" in reasons["big.md"]
        assert memory.index.status().counts.documents == 1
        assert memory.sync(embed=False).skipped == 0
        write("b.md", "now it is text")
        memory.sync(embed=False)
        assert "b.md" not in dict(memory.index.skipped())


def test_what_lies_outside_is_never_followed(space: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("outside")
    (space / "link.md").symlink_to(tmp_path / "secret.md")
    (space / "folder").symlink_to(tmp_path)
    (space / "loop").symlink_to(space)
    with Memory.open(space) as memory:
        memory.sync(embed=False)
        assert memory.index.status().counts.documents == 0


def test_an_empty_space_is_no_error(space: Path) -> None:
    with Memory.open(space) as memory:
        assert memory.sync().added == 0
        assert len(memory.search("anything")) == 0
        assert memory.index.status().counts.chunks == 0


def test_meta_json_tells_what_is_there(space: Path, write: Write) -> None:
    write("a.md", "# Tea\n\nSee [[b]].\n")
    write("b.md", "# Pot\n")
    with Memory.open(space) as memory:
        memory.sync()
        about = json.loads((Path(memory.space.data) / "meta.json").read_text())
    assert (about["documents_count"], about["edges_count"]) == (2, 1)
    assert about["model_dimensions"] == 384
    assert about["last_updated"].endswith("Z")


def test_a_session_can_be_rebuilt_alone(space: Path, write: Write) -> None:
    write("sessions/20260101-01-auth/rounds/01-a.md", "# A\n\ntokens\n")
    write("b.md", "# B\n")
    with Memory.open(space) as memory:
        memory.sync(embed=False)
        report = memory.sync(embed=False, rebuild=True, session="auth")
        assert (report.changed, report.added, report.removed) == (1, 0, 0)
        assert memory.index.status().counts.documents == 2
        with pytest.raises(NotFound, match="no session 'nope'"):
            memory.sync(rebuild=True, session="nope")


def test_every_error_a_user_can_cause_is_a_kinen_error(tmp_path: Path) -> None:
    with pytest.raises(KinenError):
        Memory.open(tmp_path / "nowhere")
    with pytest.raises(KinenError):
        Memory.open("/")


def test_a_file_of_two_gigabytes_is_skipped_unread_and_data_is_described(space: Path) -> None:
    for path in ("huge.md", "resources/data/huge.csv"):
        full = space / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text("name,size\nkettle,3\n")
        os.truncate(full, 2 << 30)
    with Memory.open(space) as memory:
        memory.sync(embed=False)
        assert "too large" in dict(memory.index.skipped())["huge.md"]
        assert memory.search(Query("kettle", mode="fulltext"))[0].record.path.endswith("huge.csv")


def test_an_empty_note_and_an_unreadable_file_are_still_there_to_be_linked_to(
    space: Path, write: Write
) -> None:
    write("a.md", "See [[Empty]], [[paper.pdf]] and [[nowhere]].")
    write("Empty.md", "")
    (space / "paper.pdf").write_bytes(b"%PDF- no")
    with Memory.open(space) as memory:
        memory.sync(embed=False)
        assert [edge.written for edge in memory.records.broken_links()] == ["nowhere"]
        assert memory.search(Query("empty", mode="fulltext"))[0].record.path == "Empty.md"


def test_more_hits_than_fifty_stay_in_the_order_of_their_score(space: Path, write: Write) -> None:
    for n in range(80):
        write(f"{n}.md", "kettle " + "tea " * n)
    with Memory.open(space) as memory:
        memory.sync(embed=False)
        hits = memory.search(Query("kettle", mode="fulltext", limit=80))
        assert [hit.record.path for hit in hits] == [f"{n}.md" for n in range(80)]
        assert len({hit.score for hit in hits}) == 80


def test_a_plain_folder_named_by_its_path_is_a_space(tmp_path: Path) -> None:
    (tmp_path / "plain" / "deep").mkdir(parents=True)
    (tmp_path / "plain" / "deep" / "tea.md").write_text("The kettle is on.")
    with Memory.open(tmp_path / "plain") as memory:
        assert memory.sync(embed=False).added == 1
        assert memory.search("kettle")[0].record.path == "deep/tea.md"


@pytest.mark.parametrize("put", ["folder", "fifo"])
@pytest.mark.parametrize(
    "name", ["index.db", "cache.db", "journal.db", "vectors.bin", "sync.lock", "meta.json"]
)
def test_something_else_in_the_place_of_a_file_is_named_with_the_remedy(
    name: str, put: str, write: Write, kinen: Callable[..., Any]
) -> None:
    write("a.md", "# Tea\n\nThe kettle is on.\n")
    provider = {"KINEN_INDEX_EMBEDDING_PROVIDER": "none"}
    kinen("log", "the kettle is on", **provider)
    kinen("index", **provider)
    (data,) = (Path(os.environ["KINEN_HOME"]) / "spaces").iterdir()
    for suffix in ("", "-wal", "-shm"):
        (data / f"{name}{suffix}").unlink(missing_ok=True)
    if put == "folder":
        (data / name).mkdir()
    else:
        os.mkfifo(data / name)
    doctor = kinen("doctor", **provider)
    assert doctor.code == 1
    assert "move it away" in doctor.out
    ran = [kinen(*words, **provider) for words in (("index",), ("search", "kettle"))]
    result = kinen("log", "the cups are out", **provider)
    assert result.code == 0
    for value in (*ran, doctor, result):
        assert "this is a bug" not in value.err
        assert value.code in (0, 1) or (name in value.err and "move it away" in value.err)


def test_what_has_no_vector_is_counted_again_when_the_index_changes(
    space: Path, write: Write
) -> None:
    write("one.md", "# One\n\nThe kettle whistles.\n")
    with Memory.open(space) as memory:
        memory.sync(embed=False)
        first = memory.core.unit_count()
        assert first == memory.core.unit_count() == memory.core.reader.unit_count() > 0
        write("two.md", "# Two\n\nThe pot is green.\n")
        memory.sync(embed=False)
        assert memory.core.unit_count() == memory.core.reader.unit_count() > first


def test_a_session_counts_by_how_many_of_its_messages_have_the_words(tmp_path: Path) -> None:
    (tmp_path / "space" / ".kinen").mkdir(parents=True)
    settings = {"index.embedding_provider": "none"}
    with Memory.open(tmp_path / "space", home=tmp_path / "home", settings=settings) as memory:
        refs = []
        for number, said in enumerate((["kettle", "garage", "garage"], ["kettle"] * 3)):
            scope = {"session": f"s{number}"}
            capsule = memory.journal.open_capsule(f"errand {number}", scope=scope)
            for place, word in enumerate(said):
                text = f"the {word} was looked at on day {place}"
                provenance = {"role": "assistant"}
                memory.journal.observe(
                    text, kind="message", capsule=capsule.id, scope=scope, provenance=provenance
                )
            refs.append(capsule.ref)
        memory.sync()
        assert memory.core.reader.session_counts() == dict.fromkeys(refs, 3)
        assert memory.core.reader.session_counts("kettle") == dict(zip(refs, (1, 3), strict=True))
        assert memory.sessions.matching("kettle") == refs[::-1]


def test_the_last_process_leaves_no_log_for_each_hook_to_read(space: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Memory.open(space, home=home) as memory:
        memory.observe("pytest passed")
        memory.sync(embed=False)
        assert memory.search(Query("pytest", mode="fulltext"))
        assert [*home.glob("spaces/*/journal.db-wal")]
    assert not [*home.glob("spaces/*/*-wal")]
