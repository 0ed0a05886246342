"""What kiste got wrong, each reproduced there: none of it happens here."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sources.repositories import (
    LINES,
    Repository,
    alive,
    assert_as_built_anew,
    commits,
    found,
    opened,
    remembered,
    says,
    sync_source_files,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen import Memory


def tags(memory: Memory, path: str) -> set[str]:
    return set(memory.records.get(f"file:{path}").tags)


# Searching


def test_the_body_of_a_commit_is_searchable(repo: Repository) -> None:
    sha = repo.commit("fix: a thing\n\nThe wombat overflowed its burrow.", {"a.py": "1"})
    repo.commit("fix: another", {"a.py": "2"})
    with remembered(repo.root) as memory:
        assert found(memory, "wombat") == [f"commit:{sha}"]


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("limited")
    Repository(folder / "repo").commit("feat: add the rate-limiter", {"a.py": "1"})
    with remembered(folder / "repo", folder / "home") as memory:
        yield memory


@pytest.mark.parametrize(
    "question",
    [
        "rate-limiter",
        "rate-limiter: retries!",
        "'rate-limiter'",
        '"rate-limiter',
        "rate-limiter*",
        "(rate-limiter",
        "NOT rate-limiter",
        "rate-limiter AND",
        "rate-limiter; DROP TABLE commits; --",
        "title:rate-limiter",
        "rate-limiter^2 {a b}",
        "rate-limiter\x00 NEAR(",
        "-rate -limiter",
    ],
)
def test_a_hyphen_or_any_other_sign_in_a_query_is_only_text(limited: Memory, question: str) -> None:
    assert found(limited, question) == [record.ref for record in limited.records.select(["commit"])]


def test_a_question_of_many_words_needs_neither_all_of_them_nor_their_form(
    repo: Repository,
) -> None:
    sha = repo.commit("feat: retry failed deliveries\n\nWebhooks are queued.", {"a.py": "1"})
    repo.commit("docs: spelling", {"b.md": "1"})
    with remembered(repo.root) as memory:
        question = "why does the webhook sometimes retries a failing delivery twice?"
        assert found(memory, question)[0] == f"commit:{sha}"
        for word in ("retries", "failing", "webhook", "queueing delivery"):
            hits = memory.search(word)
            assert [hit.record.ref for hit in hits] == [f"commit:{sha}"]
            assert not any("corrected" in note for note in hits.notes)


# Renames and tags


def test_a_rename_keeps_history_and_tags(repo: Repository) -> None:
    repo.commit("feat(auth): begin\n\ntags: login, +security", {"src/auth/old.py": LINES})
    repo.commit("fix: more", {"src/auth/old.py": LINES + "more\n"})
    with remembered(repo.root) as memory:
        memory.git.tag("src/auth/old.py", ["+mine", "-login"])
        repo.rename("src/auth/old.py", "src/session/new.py", "refactor: move")
        repo.commit("fix: after", {"src/session/new.py": LINES + "more\nafter\n"})
        steps = memory.git.history("src/session/new.py")
        assert [step.status for step in steps] == ["A", "M", "R", "M"]
        assert [item.path for item in steps] == ["src/auth/old.py"] * 2 + ["src/session/new.py"] * 2
        assert steps[2].before == "src/auth/old.py"
        assert memory.git.history("src/auth/old.py") == steps
        assert tags(memory, "src/session/new.py") == {"auth", "security", "mine", "session"}
        assert_tags_survive_a_rebuild(memory)


def assert_tags_survive_a_rebuild(memory: Memory) -> None:
    sync_source_files(memory)
    before = says(memory)
    memory.sync(rebuild=True)
    assert says(memory) == before


def test_a_manual_tag_survives_the_next_commit_a_rename_and_a_rebuild(repo: Repository) -> None:
    repo.commit("feat: begin", {"src/core/a.py": LINES})
    with remembered(repo.root) as memory:
        assert set(memory.git.tag("src/core/a.py", ["+keep", "-core"])) == {"keep"}
        repo.commit("fix(core): next\n\ntags: -keep, core", {"src/core/a.py": LINES + "x\n"})
        assert tags(memory, "src/core/a.py") == {"keep"}
        repo.rename("src/core/a.py", "src/core/b.py")
        assert tags(memory, "src/core/b.py") == {"keep"}
        repo.commit("fix: last", {"src/core/b.py": LINES + "x\ny\n"})
        assert tags(memory, "src/core/b.py") == {"keep"}
        assert_tags_survive_a_rebuild(memory)
        assert tags(memory, "src/core/b.py") == {"keep"}
        assert memory.git.tagged_by_hand("src/core/b.py") == ["+keep", "-core"]


def test_the_last_word_by_hand_stays_the_last_when_a_commit_before_it_is_amended(
    repo: Repository,
) -> None:
    repo.commit("one", {"a.py": LINES})
    repo.commit("two", {"b.py": "b"})
    with remembered(repo.root) as memory:
        memory.git.tag("a.py", ["+draft"])
        repo.commit("two, amended", {"b.py": "c"}, "--amend")
        assert memory.git.tag("a.py", ["-draft"]) == ()
        assert_tags_survive_a_rebuild(memory)
        assert tags(memory, "a.py") == set()


def test_a_tag_filter_shows_all_other_tags_of_what_it_lets_through(repo: Repository) -> None:
    repo.commit("feat(auth): one\n\ntags: login, urgent", {"src/api/a.py": "1"})
    repo.commit("feat: two\n\ntags: urgent", {"src/web/b.py": "2"})
    with remembered(repo.root) as memory:
        output, total = memory.git.files(tags=["login"])
        assert [(entry.path, set(entry.tags)) for entry in output] == [
            ("src/api/a.py", {"api", "auth", "login", "urgent"})
        ]
        assert total == 1
        output, total = memory.git.files(tags=["urgent"])
        assert [set(item.tags) for item in output] == [
            {"api", "auth", "login", "urgent"},
            {"web", "urgent"},
        ]
        hits = memory.search("one")
        assert set(hits[0].record.tags) == {"auth", "login", "urgent"}


def test_a_rebuild_doubles_nothing(repo: Repository) -> None:
    repo.commit("feat(auth): one\n\ntags: x, -auth, +auth", {"src/auth/a.py": LINES})
    repo.rename("src/auth/a.py", "src/auth/b.py", "refactor: move\n\ntags: -x")
    with remembered(repo.root) as memory:
        memory.git.tag("src/auth/b.py", ["+hand"])
        before, operations = says(memory), memory.core.reader.db.execute("SELECT ops FROM commits")
        rows = operations.fetchall()
        for _ in range(3):
            memory.sync(rebuild=True)
            assert says(memory) == before
        assert memory.core.reader.db.execute("SELECT ops FROM commits").fetchall() == rows
        assert len(commits(memory)) == 2
        assert memory.git.tags() == [("auth", 1), ("hand", 1)]
        assert len(memory.git.history("src/auth/b.py")) == 2


# Paths


NAMES = {
    "non-ascii": "src/größe/日本語 é.py",
    "decomposed": "src/e\u0301.py",
    "spaces": " two  words .txt ",
    "quotes": 'say "it\'s" \\ twice\\n.py',
    "newline": "first\nsecond.py",
    "tab": "a\tb.py",
    "start of a commit": "\x02abc.py",
    "status": ":100644 100644 M",
    "dashes": "-- -n.py",
    "emoji": "🙂/🙃.py",
    "glob": "[a]*?.py",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_path_is_stored_as_it_is(repo: Repository, name: str) -> None:
    repo.commit("one", {name: LINES, "plain.py": "1"})
    repo.commit("two", {name: LINES + "x\n"})
    with remembered(repo.root) as memory:
        assert alive(memory) == sorted([name, "plain.py"])
        assert [item.path for item in memory.git.history(name)] == [name, name]
        assert memory.records.get(f"file:{name}").path == name
        assert [pair.path for pair in memory.git.cochanged("plain.py")] == [name]
        repo.git("mv", "--", name, "renamed.py")
        repo.commit("three")
        assert [entry.before for entry in memory.git.history("renamed.py")] == ["", "", name]
        assert_as_built_anew(memory)


def test_a_path_that_is_no_utf8_is_spelled_out_and_can_be_asked_for(repo: Repository) -> None:
    repo.commit("one", {b"caf\xe9/\xff.py": LINES, "plain.py": "1"})
    repo.commit("two", {b"caf\xe9/\xff.py": LINES + "x\n"})
    with remembered(repo.root) as memory:
        assert alive(memory) == ["caf\\xe9/\\xff.py", "plain.py"]
        assert len(memory.git.history("caf\\xe9/\\xff.py")) == 2
        assert_as_built_anew(memory)


def test_a_path_that_is_no_utf8_is_found_by_the_name_that_the_system_gives(
    repo: Repository,
) -> None:
    repo.commit("one", {b"caf\xe9.py": LINES})
    with remembered(repo.root) as memory:
        name = os.fsdecode(b"caf\xe9.py")
        assert len(memory.git.history(name)) == 1
        assert memory.git.read(name) == LINES


def test_a_note_whose_name_is_no_utf8_does_not_stop_the_indexing(repo: Repository) -> None:
    repo.commit("one", {b"caf\xe9.md": "# Menu", "fine.md": "# Kettle"})
    with opened(repo.root) as memory:
        memory.sync()
        assert "note:fine.md" in found(memory, "kettle")
        assert alive(memory) == ["caf\\xe9.md", "fine.md"]


# Rewritten histories, snapshots


def test_amending_and_collecting_garbage_breaks_nothing(repo: Repository) -> None:
    repo.commit("one", {"a.py": LINES})
    lost = repo.commit("two, wrong", {"a.py": LINES + "x\n", "b.py": "b"})
    with remembered(repo.root) as memory:
        repo.commit("two, right", {"b.py": "c"}, "--amend")
        repo.git("reflog", "expire", "--expire=now", "--all")
        repo.git("gc", "-q", "--prune=now")
        assert not repo.git("cat-file", "-t", lost, check=False)
        assert set(commits(memory).values()) == {"one", "two, right"}
        assert found(memory, "wrong") == []
        repo.commit("three", {"a.py": "new"})
        assert set(commits(memory).values()) == {"one", "two, right", "three"}
        assert_as_built_anew(memory)


def test_a_snapshot_taken_while_data_is_in_the_log_is_complete(repo: Repository) -> None:
    repo.commit("number 0", {"src/part/0.py": LINES})
    with remembered(repo.root) as memory, contextlib.closing(reading(memory)):
        for n in range(1, 5):
            repo.commit(f"number {n}", {f"src/part/{n}.py": f"{n}\n{LINES}"})
        memory.sync()
        main = Path(memory.space.data) / "index.db"
        assert count(f"{main.as_uri()}?immutable=1") < 5 == count(main.as_uri())
        before, snapshot = says(memory), memory.snapshots.create()
        assert snapshot.head == repo.head
        file = Path(memory.space.data) / "snapshots" / f"{snapshot.name}.db"
        assert sorted(file.parent.iterdir()) == [file]
        assert count(f"{file.as_uri()}?immutable=1") == 5
        for n in range(5, 8):
            repo.commit(f"number {n}", {f"src/part/{n - 5}.py": None})
        memory.sync()
        after = says(memory)
        memory.snapshots.restore(snapshot.name)
        assert says(memory) == after != before
        assert_as_built_anew(memory)


def reading(memory: Memory) -> sqlite3.Connection:
    """Another process that reads on: nothing moves from the log into the database meanwhile."""
    db = sqlite3.connect(Path(memory.space.data) / "index.db")
    db.execute("BEGIN")
    db.execute("SELECT COUNT(*) FROM commits").fetchone()
    return db


def count(uri: str) -> int:
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return db.execute("SELECT COUNT(*) FROM commits").fetchone()[0]


# Messages


MESSAGES = {
    "start of a commit": "\x02" + "a" * 40 + "\n\n\x02" + "b" * 40 + "\x02",
    "raw lines": f":100644 100644 {'a' * 40} {'b' * 40} M\n\n:100644 000000 {'a' * 40} D\tx.py",
    "an empty line and a colon": "subject\n\n:\n\n:100644\n\n::\n",
    "tabs": "a\tb\tc\n\n\tM\ta.py\nR100\ta.py\tb.py",
    "dashes": "--\n\n-- a.py\n---\n--format=%H",
    "headers": f"commit {'a' * 40}\nAuthor: Eve <eve@example.org>\n\ntree {'b' * 40}\nparent x",
    "format": "%H%x00%P%n%B",
    "separators": "|||\x1e\x1f\n\n\x1f---COMMIT---\x1e|",
    "returns": "one\r\n\r\ntwo\r\n",
    "controls": "\x01\x03\x1b[31m\x7f\n\n\x08",
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_delimiters_in_a_message_are_only_text(repo: Repository, message: str) -> None:
    first = repo.commit("begin", {"a.py": LINES})
    text = repo.commit(message, {"a.py": LINES + "x\n", "b.py": "1"})
    last = repo.commit("end", {"b.py": "2"})
    empty = repo.commit(message)
    with remembered(repo.root) as memory:
        assert set(commits(memory)) == {first, text, last, empty}
        assert [item.ref for item in memory.git.history("a.py")] == [
            f"commit:{first}",
            f"commit:{text}",
        ]
        assert [entry.ref for entry in memory.git.history("b.py")] == [
            f"commit:{text}",
            f"commit:{last}",
        ]
        assert alive(memory) == ["a.py", "b.py"]
        record, chunks = memory.records.show(text)
        assert record.metadata is not None
        assert record.metadata["author"] == "Ada"
        output = "".join("".join(chunk.text for chunk in chunks).split())
        assert output == "".join(message.split())


# Merges and what changes together


def test_a_merge_is_known_as_one_and_doubles_no_touch(repo: Repository) -> None:
    repo.commit("one", {"a.py": LINES, "b.py": LINES})
    repo.git("checkout", "-q", "-b", "side")
    side = repo.commit("on the side", {"a.py": LINES + "side\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("on the main line", {"b.py": LINES + "main\n"})
    merge = repo.merge("side", message="Merge branch 'side'")
    with remembered(repo.root) as memory:
        about = memory.records.get(merge).metadata
        assert about is not None
        assert about["merge"] is True
        assert "merge" not in (memory.records.get(side).metadata or {})
        assert [entry.subject for entry in memory.git.history("a.py")] == ["one", "on the side"]
        assert [file.metadata["commits"] for file in memory.git.files()[0] if file.metadata] == [
            2,
            2,
        ]
        assert memory.git.cochanged("a.py")[0].support == 1
        assert_as_built_anew(memory)


def test_one_mega_commit_does_not_drown_what_changes_together(repo: Repository) -> None:
    repo.commit("import all", {f"lib/{n:03}.py": f"{n}\n" for n in range(300)})
    repo.commit("format some", {f"lib/{n:03}.py": f"{n}\n\n" for n in range(90)})
    for n in range(2):
        repo.commit(f"pair {n}", {"lib/007.py": f"a{n}", "lib/123.py": f"b{n}"})
    with remembered(repo.root) as memory:
        first, *rest = memory.git.cochanged("lib/007.py", limit=300)
        assert first.path == "lib/123.py"
        assert all(item.score < first.score / 20 for item in rest)
        assert {subject for _, subject in first.commits[:2]} == {"pair 1", "pair 0"}


def test_the_reasons_why_files_belong_together_do_not_depend_on_when_they_were_read(
    repo: Repository,
) -> None:
    repo.commit("begin", {"a.py": "0", "b.py": "0"})
    with remembered(repo.root) as memory:
        for n in range(1, 6):
            others = {f"x{m}.py": f"{n}" for m in range(n * n % 7)}
            repo.commit(f"wide {n}", {"a.py": f"w{n}", "b.py": f"w{n}", **others})
            repo.commit(f"pair {n}", {"a.py": f"a{n}", "b.py": f"b{n}"})
            memory.sync()
        grown = memory.git.cochanged("a.py")
        memory.sync(rebuild=True)
        assert memory.git.cochanged("a.py") == grown
        assert [subject for _, subject in grown[0].commits] == ["pair 5", "pair 4", "pair 3"]


def test_a_scope_of_a_mega_commit_tags_nothing(repo: Repository) -> None:
    repo.commit("style(format): everything", {f"lib/{n:03}.py": f"{n}\n" for n in range(300)})
    with opened(repo.root) as memory:
        assert memory.git.files(tags=["format"]) == ([], 0)
