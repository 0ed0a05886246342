"""The repository's past, asked through Python: what it says, how it keeps up, what it forgets."""

from __future__ import annotations

import itertools
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory, Query
from kinen.errors import NotFound, QueryError, StoreError, Unreadable
from kinen.index.schema import SCHEMA
from kinen.render.json import hits_json, to_json
from properties.test_history import dump
from sources.repositories import (
    LINES,
    Repository,
    alive,
    found,
    opened,
    remembered,
    sync_source_files,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

COOKIES, OLD, TESTS = "src/auth/cookies.py", "src/auth/session.py", "tests/test_session.py"
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Three changes of a file and its test, a rename, and a note."""
    repository = Repository(tmp_path_factory.mktemp("built") / "repo", "--template=")
    repository.commit(
        "feat(auth): sign cookies", {OLD: LINES, TESTS: "1", "docs/auth.md": "# Auth\n"}
    )
    repository.commit("fix(auth): refresh\n\ntags: security, -auth", {OLD: LINES + "2", TESTS: "2"})
    repository.commit("cache keys", {OLD: LINES + "3", TESTS: "3"})
    repository.rename(OLD, COOKIES, "call it cookies")
    return repository


@pytest.fixture
def repo(built: Repository, tmp_path: Path) -> Repository:
    return built.copied(tmp_path / "repo")


@pytest.fixture
def memory(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(repo.root)
    with remembered(repo.root) as created:
        yield created


def index_content(memory: Memory) -> dict[str, list[Any]]:
    """Everything that an index says, by names and not by numbers."""
    db = memory.core.reader.db
    texts = db.execute(
        "SELECT r.ref, r.title, r.at, r.tags, c.n, c.heading, c.body, c.digest, c.start_line,"
        " c.segment FROM chunks c JOIN records r ON r.id = c.record ORDER BY r.ref, c.n"
    ).fetchall()
    return {**dump(db), "texts": texts}


def assert_same_as_rebuilt(memory: Memory) -> None:
    remaining = index_content(memory)
    memory.sync(rebuild=True)
    for part, rows in index_content(memory).items():
        assert remaining[part] == rows, part


def grow(repo: Repository, count: int, path: str = "src/more/a.py") -> None:
    for _ in range(count):
        number = next(_NUMBERS)
        repo.commit(f"feat(more): step {number}", {path: f"{number}\n", "b.txt": f"{number}"})


def generation(memory: Memory) -> int:
    return int(memory.core.reader.meta("generation"))


def files_with(folder: Path, text: str) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return [str(path) for path in files if text.encode() in path.read_bytes()]


def test_a_history_is_the_same_by_any_name_and_through_deletion(
    memory: Memory, repo: Repository
) -> None:
    steps = memory.git.history(COOKIES)
    assert [step.status for step in steps] == ["A", "M", "M", "R"]
    assert [item.tags for item in steps] == [("auth",), *[("security",)] * 3]
    assert memory.git.history(OLD) == memory.git.history(Path(repo.root) / COOKIES) == steps
    repo.commit("drop it", {COOKIES: None})
    assert memory.git.history(COOKIES)[-1].status == "D"
    assert memory.git.history(OLD)[:4] == steps
    assert COOKIES not in alive(memory)
    with pytest.raises(NotFound):
        memory.git.history("nowhere.py")


def test_tags_given_by_hand_survive_renames_and_rebuilds(memory: Memory, repo: Repository) -> None:
    assert memory.git.tags() == [("security", 2), ("auth", 1), ("docs", 1)]
    assert memory.git.tag(OLD, ["+Reviewed by Ada", "-security"]) == ("reviewed-by-ada",)
    repo.rename(COOKIES, "src/jar.py")
    assert memory.git.tagged_by_hand(COOKIES) == ["+reviewed-by-ada", "-security"]
    assert memory.records.get("file:src/jar.py").tags == ("reviewed-by-ada",)
    sync_source_files(memory)
    assert_same_as_rebuilt(memory)
    assert memory.records.get("file:src/jar.py").tags == ("reviewed-by-ada",)
    for wrong in ([], ["+"], ["+a,b"], ["+" + "x" * 61]):
        with pytest.raises(QueryError):
            memory.git.tag(COOKIES, wrong)


def test_contents_are_read_at_any_commit(memory: Memory, repo: Repository) -> None:
    repo.commit("an image", {"a.png": b"\x89PNG\0\0", "é c.txt": "ünï\n"})
    assert memory.git.read(OLD, "HEAD~4") == LINES
    assert memory.git.read("é c.txt") == "ünï\n"
    assert memory.git.read(repo.root / COOKIES, repo.head[:8]) == LINES + "3"
    with pytest.raises(Unreadable):
        memory.git.read("a.png")
    for path, ref in ((OLD, "HEAD"), (COOKIES, "nowhere"), (COOKIES, "HEAD\nx"), (COOKIES, "")):
        with pytest.raises(NotFound):
            memory.git.read(path, ref)


def test_a_commit_is_found_by_the_next_question(memory: Memory, repo: Repository) -> None:
    assert found(memory, "kettle") == []
    sha = repo.commit("feat: a kettle", {"kettle.py": "tea"})
    assert found(memory, "kettle") == [f"commit:{sha}"]
    assert "kettle.py" in alive(memory)
    repo.commit("feat: a samovar", {}, "--amend")
    assert found(memory, "kettle") == []
    assert len(found(memory, "samovar")) == 1


def test_a_question_gives_the_same_bytes_however_the_index_came_to_be(
    memory: Memory, repo: Repository
) -> None:
    for number in range(34):
        repo.commit("keep keys", {COOKIES: f"{number}", f"m/{number}.py": f"{number}\n"})
        if number % 11 == 0:
            memory.search("keys")

    def search_output() -> str:
        request = [Query("keep keys", kinds=(kind,), limit=99) for kind in ("commit", "file")]
        hits = [hits_json(memory.search(item)) for item in request]
        return to_json([hits, memory.git.cochanged(COOKIES), memory.git.history(OLD)])

    first = search_output()
    assert search_output() == first
    memory.sync(rebuild=True)
    assert search_output().splitlines() == first.splitlines()


def test_a_commit_of_everything_does_not_drown_what_belongs_together(
    memory: Memory, repo: Repository
) -> None:
    before = memory.git.cochanged(COOKIES)
    many = {f"gen/{n}.py": f"{n}\n" for n in range(150)}
    repo.commit("reformat all", {**many, COOKIES: "5", TESTS: "5"})
    after = memory.git.cochanged(COOKIES)
    assert [entry[:2] for entry in after] == [item[:2] for item in before]
    for step in range(3):
        some = {f"gen/{n}.py": f"{n} {step}\n" for n in range(60)}
        repo.commit("reformat some", {**some, COOKIES: f"6 {step}"})
    assert [pair.path for pair in memory.git.cochanged(COOKIES, 2)] == [TESTS, "docs/auth.md"]
    third = memory.git.cochanged(COOKIES, 3)[2]
    assert (third.support, third.weight) == (3, pytest.approx(3 / 60))


def test_the_votes_of_every_file_add_up(memory: Memory) -> None:
    for mode in ("hybrid", "fulltext", "rrf"):
        hits = memory.search(Query("sign cookies auth", kinds=("file",), mode=mode))
        assert hits[0].record.path in (COOKIES, "docs/auth.md")
        for hit in hits:
            assert sum(vote.share for vote in hit.votes) == pytest.approx(hit.score)
            assert 0 < hit.score <= 1


def test_files_are_found_with_quoted_and_excluded_words(memory: Memory, repo: Repository) -> None:
    repo.commit("brew green tea slowly", {"pots/kettle.py": "1"})
    repo.commit("brew black tea", {"pots/samovar.py": "1"})

    def paths(text: str, kinds: tuple[str, ...] = ("file",)) -> list[str]:
        hits = memory.search(Query(text, kinds=kinds, limit=99))
        return [hit.record.path for hit in hits if hit.record.kind == "file"]

    assert paths('brew "green tea"') == ["pots/kettle.py"]
    assert paths('"samovar.py"') == ["pots/samovar.py"]
    assert "pots/kettle.py" not in paths("brew tea -green")
    assert paths('brew "green tea"', ("file", "commit")) == ["pots/kettle.py"]


def test_a_recall_without_a_question_leaves_out_merges(memory: Memory, repo: Repository) -> None:
    repo.git("commit", "-q", "--allow-empty", "-m", "Merge branch 'kettles'")
    repo.git("commit", "-q", "--allow-empty", "-m", "Descale every kettle")
    texts = [item.text for item in memory.recall().items]
    assert any("Descale every kettle" in text for text in texts)
    assert not any("Merge branch" in text for text in texts)


def test_a_forgotten_commit_is_seen_nowhere_until_it_is_restored(
    memory: Memory, repo: Repository
) -> None:
    sha = repo.git("rev-parse", "HEAD~1")
    ref = f"commit:{sha}"

    def seen() -> list[bool]:
        return [
            ref in found(memory, "cache keys"),
            ref in [entry.ref for entry in memory.git.history(COOKIES)],
            ref in [cited for pair in memory.git.cochanged(COOKIES) for cited, _ in pair.commits],
            ref in [item.ref for item in memory.records.select(["commit"])],
            memory.records.knows(sha[:10]),
        ]

    before = index_content(memory)
    assert seen() == [True] * 5
    assert memory.journal.forget(sha[:10]).suppressed
    assert seen() == [False] * 5
    memory.sync(rebuild=True)
    assert seen() == [False] * 5
    assert memory.journal.restore(ref) == ref
    assert seen() == [True] * 5
    assert {**index_content(memory), "states": []} == {**before, "states": []}


def test_forgotten_commits_leave_the_others_as_evidence(memory: Memory, repo: Repository) -> None:
    grow(repo, 5, COOKIES)
    (pair,) = [item for item in memory.git.cochanged(COOKIES) if item.path == "b.txt"]
    assert len(pair.commits) == 3
    for ref, _ in pair.commits:
        memory.journal.forget(ref)
    (left,) = [entry for entry in memory.git.cochanged(COOKIES) if entry.path == "b.txt"]
    assert len(left.commits) == 2
    assert not {*left.commits} & {*pair.commits}


def test_no_edge_leads_to_a_forgotten_commit(memory: Memory, repo: Repository) -> None:
    repo.commit(f"undo\n\nThis reverts commit {repo.head}.", {"b.txt": "1"})
    before = f"commit:{repo.git('rev-parse', 'HEAD~1')}"
    memory.journal.forget(before)
    for ref in (f"file:{COOKIES}", f"commit:{repo.head}"):
        assert before not in {end for edge in memory.records.links(ref) for end in edge[:2]}, ref


def test_a_forgotten_file_is_listed_and_found_no_more(memory: Memory) -> None:
    memory.journal.forget(f"file:{TESTS}")
    assert TESTS not in alive(memory)
    assert TESTS not in [pair.path for pair in memory.git.cochanged(COOKIES)]
    assert TESTS not in [hit.record.path for hit in memory.search(Query("auth", kinds=("file",)))]
    assert memory.journal.restore(TESTS) == f"file:{TESTS}"
    assert TESTS in alive(memory)


def test_restoring_and_catching_up_equals_a_rebuild(memory: Memory, repo: Repository) -> None:
    memory.observe("the limiter counts per key", scope={"session": "s1"})
    capsule = memory.journal.open_capsule("find the flaky test", scope={"session": "s1"})
    memory.git.tag(COOKIES, ["+early"])
    # Before the copy: one that has what was forgotten is deleted.
    memory.journal.forget(f"commit:{repo.git('rev-parse', 'HEAD')}")
    first = memory.snapshots.create()
    assert first.head == repo.head
    repo.commit(
        "docs: more", {"docs/auth.md": "# Auth\n\nSee [[new]].\n", "docs/new.md": "# New\n"}
    )
    memory.sync()
    repo.rename(COOKIES, "src/jar.py")
    memory.git.tag("src/jar.py", ["+late", "-early"])
    memory.observe("it races with the cache", scope={"session": "s1"})
    memory.journal.close_capsule(capsule.ref, "the cache was to blame")
    repo.git("checkout", "-q", "-b", "side", "HEAD~3")
    grow(repo, 2)
    repo.git("checkout", "-q", "main")
    repo.merge("side")
    os.unlink(repo.root / "docs" / "new.md")
    assert memory.snapshots.restore(first.name) == first
    assert_same_as_rebuilt(memory)
    assert found(memory, "races")
    assert [edge.written for edge in memory.records.broken_links()] == ["new"]


def test_a_snapshot_of_a_history_that_was_rewritten_serves_too(
    memory: Memory, repo: Repository
) -> None:
    grow(repo, 2)
    first = memory.snapshots.create()
    repo.git("reset", "-q", "--hard", "HEAD~4")
    grow(repo, 1)
    memory.snapshots.restore(first.head[:8])
    assert_same_as_rebuilt(memory)
    assert found(memory, "cache keys") == []


def test_a_copy_is_made_every_so_many_commits_and_two_are_kept(repo: Repository) -> None:
    with opened(repo.root, git_snapshot_frequency=3) as memory:
        memory.sync()
        by_hand = memory.snapshots.create()
        created = []
        for _ in range(10):
            grow(repo, 1)
            memory.sync()
            created += [
                item
                for item in memory.snapshots.list_all()
                if item.automatic and item not in created
            ]
        shas = repo.git("log", "--format=%H", "--reverse").split()
        assert [shas.index(entry.head) for entry in created] == [3, 6, 9, 12]
        assert memory.snapshots.list_all() == [created[3], created[2], by_hand]
        assert memory.snapshots.restore() == created[3]
        memory.sync(rebuild=True)
        assert len(memory.snapshots.list_all()) == 3
    with opened(repo.root, git_snapshot_frequency=0) as memory:
        grow(repo, 9)
        memory.sync()
        assert len(memory.snapshots.list_all()) == 3
        assert memory.snapshots.prune(1) == [created[2], by_hand]


@pytest.mark.parametrize("harm", ["another schema", "no database", "cut short", "empty"])
def test_a_snapshot_that_cannot_serve_is_refused_and_changes_nothing(
    memory: Memory, harm: str
) -> None:
    created = memory.snapshots.create()
    path = Path(memory.space.data) / "snapshots" / f"{created.name}.db"
    if harm == "another schema":
        db = sqlite3.connect(path)
        db.execute(f"PRAGMA user_version = {SCHEMA + 1}")
        db.close()
    else:
        size = {"no database": 0, "cut short": 20_000, "empty": 0}[harm]
        path.write_bytes(path.read_bytes()[:size] or b"no" * 4000 * (harm != "empty"))
    before = index_content(memory)
    with pytest.raises(StoreError) as refused:
        memory.snapshots.restore()
    assert created.name in str(refused.value)
    if harm in ("another schema", "empty"):
        assert "another version of kinen" in str(refused.value)
    assert index_content(memory) == before
    assert found(memory, "cookies")


def test_what_was_redacted_is_in_no_snapshot_either(memory: Memory, home: Path) -> None:
    ref = memory.observe("call the heliotrope customer").ref
    assert found(memory, "heliotrope") == [ref]
    memory.snapshots.create()
    killed = (
        "import os\nfrom kinen import Memory\nos.replace = lambda *_: os._exit(9)\n"
        f"Memory.open({memory.space.root!r}).snapshots.create()\n"
    )
    assert subprocess.run([sys.executable, "-c", killed], check=False).returncode == 9
    assert len(files_with(home, "heliotrope")) > 2
    memory.journal.redact(ref)
    assert memory.snapshots.list_all() == []
    assert files_with(home, "heliotrope") == []


def test_nothing_derived_from_before_passes_for_derived_from_a_snapshot(
    memory: Memory, repo: Repository
) -> None:
    memory.snapshots.create()
    grow(repo, 3)
    memory.sync()
    before = generation(memory)
    with opened(repo.root) as other:
        assert len(found(other, "step")) == 3
        memory.snapshots.restore()
        assert generation(other) == generation(memory) > before
        assert len(found(other, "step")) == 3


def test_after_a_restore_meaning_is_searched_in_vectors_of_now(repo: Repository) -> None:
    with Memory.open(repo.root) as memory:
        memory.sync()
        memory.snapshots.create()
        repo.commit("brew tea in the kettle", {"kettle.py": "1"})
        memory.sync()
        ask = Query("a hot drink", mode="semantic", kinds=("commit",))
        assert memory.search(ask)[0].record.title == "brew tea in the kettle"
        repo.commit("feed the cat", {"cat.py": "1"}, "--amend")
        memory.snapshots.restore()
        hits = memory.search(ask._replace(text="an animal that eats"))
        assert hits[0].record.title == "feed the cat"
        memory.sync(rebuild=True)
        again = memory.search(ask._replace(text="an animal that eats"))
        assert [hit.record.ref for hit in again] == [hit.record.ref for hit in hits]
        assert [hit.score for hit in again] == pytest.approx([hit.score for hit in hits], rel=1e-4)
