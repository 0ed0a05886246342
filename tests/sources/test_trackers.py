"""Issues of beads and other trackers: read by line, linked with commits and sessions."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory
from kinen.config.trust import trust_memory
from kinen.errors import NotFound, StoreError
from kinen.query import recall_query
from sources.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECRET = "gh" + "p_" + "a1B2c3D4e5F6" * 3
LOGIN = {
    "id": "shop-a1b2",
    "title": "Login fails after midnight",
    "description": "The token's \x1b[1mexpiry\x1b[0m is read in local time.",
    "design": "Store UTC.",
    "status": "in_progress",
    "priority": 1,
    "issue_type": "bug",
    "labels": ["auth"],
    "created_at": "2026-03-01T10:00:00+01:00",
    "updated_at": "2026-03-02T10:00:00Z",
    "dependencies": [
        {"issue_id": "shop-a1b2", "depends_on_id": "shop-epic", "type": "parent-child"}
    ],
    "comments": [{"author": "ada", "text": "seen on staging too"}],
}
EPIC = {"id": "shop-epic", "title": "Sessions", "status": "open", "issue_type": "epic"}
NEXT = {
    "id": "shop-c3d4",
    "title": "Rotate tokens",
    "status": "open",
    "dependencies": [{"issue_id": "shop-c3d4", "depends_on_id": "shop-a1b2", "type": "blocks"}],
}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "shop")
    export(repository, LOGIN, EPIC, NEXT)
    repository.commit("feat: tokens\n\nFixes shop-a1b2, see #7")
    return repository


@pytest.fixture
def memory(repository: Repository) -> Iterator[Memory]:
    with Memory.open(repository.root) as memory:
        yield memory


def export(repository: Repository, *issues: Any, more: str = "") -> None:
    lines = "".join(f"{json.dumps(issue)}\n" for issue in issues)
    repository.put({".beads/issues.jsonl": lines + more})


def ids(issues: list[Any]) -> list[str]:
    return [issue.id for issue in issues]


def test_issues_are_records_with_text_labels_and_times(memory: Memory) -> None:
    memory.sync()
    record, chunks = memory.records.show("issue:shop-a1b2")
    assert record.kind == "issue"
    assert record.tags == ("auth",)
    assert record.at == "2026-03-02T10:00:00.000Z"
    text = "\n".join(chunk.text for chunk in chunks)
    assert "The token's expiry is read in local time." in text
    assert "ada: seen on staging too" in text
    hits = memory.search("seen on staging")
    assert hits[0].record.ref == "issue:shop-a1b2"


def test_an_issue_is_found_by_its_id_alone(memory: Memory) -> None:
    assert memory.records.get("shop-a1b2").ref == "issue:shop-a1b2"
    assert memory.issues.get("SHOP-A1B2").title == "Login fails after midnight"
    with pytest.raises(NotFound, match=r"no issue 'shop-a1b3'"):
        memory.issues.get("shop-a1b3")


def test_ready_ones_have_no_open_blocker(memory: Memory, repository: Repository) -> None:
    assert ids(memory.issues.ready()) == ["shop-epic"]
    export(repository, {**LOGIN, "status": "closed"}, EPIC, NEXT)
    assert ids(memory.issues.ready()) == ["shop-c3d4", "shop-epic"]


def test_only_changed_lines_are_indexed_again(memory: Memory, repository: Repository) -> None:
    memory.sync()
    export(repository, LOGIN, {**EPIC, "title": "All sessions"}, NEXT)
    report = memory.sync()
    assert (report.added, report.changed, report.removed) == (0, 1, 0)
    export(repository, {**EPIC, "title": "All sessions"})
    report = memory.sync()
    assert (report.added, report.changed, report.removed) == (0, 0, 2)
    assert memory.sync()[:3] == (0, 0, 0)


def test_of_two_lines_with_one_id_the_later_counts(memory: Memory, repository: Repository) -> None:
    export(repository, EPIC, {**EPIC, "title": "Later"})
    assert [issue.title for issue in memory.issues.all()] == ["Later"]
    os.utime(repository.root / ".beads/issues.jsonl", (1, 1))
    report = memory.sync()
    assert report.changed == 0


def test_damaged_lines_are_named_and_the_others_are_read(
    memory: Memory, repository: Repository
) -> None:
    export(repository, EPIC, more='<<<<<<< HEAD\n{"id": 7}\n[]\n{"id": "shop-x", "title": "X"\n')
    memory.sync()
    assert ids(memory.issues.all()) == ["shop-epic"]
    reasons = dict(memory.index.skipped())
    assert reasons[".beads/issues.jsonl:2"] == "the line is not JSON: is it half of a merge?"
    assert reasons[".beads/issues.jsonl:3"] == "the line has no valid id"
    assert reasons[".beads/issues.jsonl:4"] == "the line is not a JSON object"
    export(repository, EPIC)
    memory.sync()
    assert dict(memory.index.skipped()) == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"title": None, "labels": "x", "dependencies": 3, "comments": [1], "priority": True},
        {"title": "\ud83d", "created_at": "soon", "updated_at": 5, "priority": -4},
        {"title": "t", "description": ["no"], "dependencies": [{"depends_on_id": "../x"}]},
    ],
)
def test_fields_of_the_wrong_type_cost_only_themselves(
    memory: Memory, repository: Repository, fields: dict[str, Any]
) -> None:
    export(repository, {"id": "shop-odd", **fields})
    assert ids(memory.issues.all()) == ["shop-odd"]
    memory.issues.show("shop-odd")


def test_a_link_out_of_the_space_is_not_read(memory: Memory, repository: Repository) -> None:
    outside = repository.root.parent / "other.jsonl"
    outside.write_text(json.dumps({"id": "other-1", "title": "not ours"}), encoding="utf-8")
    file = repository.root / ".beads/issues.jsonl"
    file.unlink()
    file.symlink_to(outside)
    assert memory.issues.all() == []


def test_commits_and_sessions_that_name_an_issue(memory: Memory) -> None:
    capsule = memory.journal.open_capsule("fix the login", scope={"session": "s1"})
    memory.observe("work on shop-a1b2 now", capsule=capsule.id, provenance={"role": "user"})
    memory.observe(
        "$ bd list\nshop-c3d4 Rotate tokens",
        kind="command",
        capsule=capsule.id,
        provenance={"command": "bd list"},
    )
    details = memory.issues.show("shop-a1b2")
    assert {(item.record.kind, item.type) for item in details.mentions} == {
        ("commit", "closes"),
        ("capsule", "mentions"),
    }
    assert memory.issues.show("shop-c3d4").mentions == ()
    edges = {(edge.target, edge.type) for edge in memory.records.links(capsule.ref)}
    assert ("issue:shop-a1b2", "mentions") in edges


def test_a_recall_of_an_issue_begins_with_it_and_has_only_what_concerns_it(
    memory: Memory, repository: Repository
) -> None:
    commit = repository.commit("docs: the tea kettle")
    capsule = memory.journal.open_capsule("fix the login", scope={"session": "s1"})
    memory.observe("work on shop-a1b2 now", capsule=capsule.id, provenance={"role": "user"})
    memory.observe("the clock of the kettle is wrong", capsule=capsule.id)
    other = memory.journal.open_capsule("boil water", scope={"session": "s2"})
    memory.observe("the clock of the stove is wrong, too", capsule=other.id)
    memory.issues.link("shop-a1b2", f"commit:{commit}")
    memory.sync()

    recalled = memory.recall(recall_query("", issue="SHOP-A1B2"))
    issue = recalled.items[0]
    assert (issue.tier, issue.ref) == ("issue", "issue:shop-a1b2")
    for line in (
        "shop-a1b2 Login fails after midnight",
        "in progress · bug · P1 · #auth",
        "part of shop-epic Sessions (open)",
        "blocks shop-c3d4 Rotate tokens (open)",
        "Store UTC.",
    ):
        assert line in issue.text.splitlines()
    assert {(item.tier, item.ref) for item in recalled.items[1:]} == {
        ("sessions", capsule.ref),
        ("commits", f"commit:{repository.head}"),
        ("commits", memory.issues.show("#7").mentions[0].record.ref),
    }

    question = memory.recall(recall_query("which clock is wrong", issue="shop-a1b2"))
    assert question.items[0].ref == "issue:shop-a1b2"
    assert "the clock of the kettle is wrong" in [item.text for item in question.items]
    assert "stove" not in str(question.items)

    small = memory.recall(recall_query("", issue="shop-a1b2", budget=90))
    assert small.tokens <= 90
    assert small.items[0].ref == "issue:shop-a1b2"
    only = memory.recall(recall_query("", issue="shop-a1b2", types=["commits"]))
    assert {item.tier for item in only.items} == {"issue", "commits"}
    with pytest.raises(NotFound, match="no issue 'shop-a1b3'"):
        memory.recall(recall_query("", issue="shop-a1b3"))


def test_a_recall_of_a_number_without_text_has_what_names_it(memory: Memory) -> None:
    recalled = memory.recall(recall_query("", issue="#7"))
    assert [item.tier for item in recalled.items] == ["commits"]


def test_every_issue_of_a_range_shows_what_names_the_range(
    memory: Memory, repository: Repository
) -> None:
    repository.commit("fix: rounding, see #29-35 and #41-#43")
    memory.sync()
    head = f"commit:{repository.head}"
    edges = {edge.target for edge in memory.records.links(head)}
    numbers = (*range(29, 36), *range(41, 44))
    assert edges >= {f"issue:{number}" for number in numbers}
    for number in numbers:
        mentions = memory.issues.show(f"#{number}").mentions
        assert [mention.record.ref for mention in mentions] == [head]
    for number in (28, 36, 40, 44):
        with pytest.raises(NotFound):
            memory.issues.show(f"#{number}")


def test_the_session_that_closed_an_issue(memory: Memory, repository: Repository) -> None:
    capsule = memory.journal.open_capsule("tidy up", scope={"session": "s-42"})
    export(repository, {**EPIC, "status": "closed", "closed_by_session": "s-42"})
    mention = memory.issues.show("shop-epic").mentions[0]
    assert (mention.record.ref, mention.type) == (capsule.ref, "closes")


def test_dependencies_are_edges_in_both_directions(memory: Memory) -> None:
    memory.sync()
    edges = {
        (edge.source, edge.target, edge.type) for edge in memory.records.links("issue:shop-a1b2")
    }
    assert ("issue:shop-a1b2", "issue:shop-c3d4", "blocks") in edges
    assert ("issue:shop-a1b2", "issue:shop-epic", "part_of") in edges


def test_a_number_without_text_shows_what_names_it(memory: Memory) -> None:
    details = memory.issues.show("#7")
    assert details.issue.status == "unknown"
    assert [item.record.title for item in details.mentions] == ["feat: tokens"]


def test_a_link_by_hand_is_kept_in_the_journal(memory: Memory, repository: Repository) -> None:
    memory.issues.link("shop-epic", f"commit:{repository.head[:10]}")
    edges = memory.issues.show("shop-epic").edges
    assert (f"commit:{repository.head}", "refs") in {(edge.source, edge.type) for edge in edges}
    with pytest.raises(NotFound):
        memory.issues.link("shop-epic", "commit:ffffffffff")


def test_an_export_of_github_is_imported_and_replaced(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "issues.json"
    rows = [
        {
            "number": 7,
            "title": "Charge twice",
            "body": f"token {SECRET}",
            "state": "OPEN",
            "labels": [{"name": "billing"}],
            "createdAt": "2026-01-01T00:00:00Z",
            "comments": [{"author": {"login": "bo"}, "body": "same here"}],
        },
        {"number": 8, "title": "Old", "state": "CLOSED"},
    ]
    file.write_text(json.dumps(rows), encoding="utf-8")
    assert memory.issues.import_export(str(file)) == 2
    details = memory.issues.show("#7")
    assert details.issue.labels == ("billing",)
    assert "bo: same here" in details.text
    assert SECRET not in details.text
    assert [item.record.kind for item in details.mentions] == ["commit"]
    stored = os.path.join(memory.space.data, "issues", "issues.jsonl")
    with open(stored, encoding="utf-8") as text:
        assert SECRET not in text.read()
    file.write_text(json.dumps(rows[:1]), encoding="utf-8")
    memory.issues.import_export(str(file))
    assert "8" not in ids(memory.issues.all())


@pytest.mark.parametrize("data", [b"\xff\xfe", b"{", b"[1]", b'[{"title": "no number"}]', b"a\nb"])
def test_a_file_that_is_no_export_is_refused(memory: Memory, tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(data)
    with pytest.raises(StoreError):
        memory.issues.import_export(str(file))


def test_a_forgotten_issue_is_hidden_until_it_is_restored(memory: Memory) -> None:
    memory.sync()
    memory.journal.forget("issue:shop-epic")
    memory.sync()
    assert "shop-epic" not in ids(memory.issues.all())


def test_a_session_start_names_the_issue_in_progress(memory: Memory) -> None:
    memory.sync()
    memory.observe("hello")
    assert "shop-a1b2" not in memory.journal.brief("s", "a")
    space = memory.space
    trust_memory(space.home, space.root, space.id)
    assert "## Issue in progress\nshop-a1b2 Login fails after midnight" in memory.journal.brief(
        "s", "a"
    )


def test_the_commands(repository: Repository, kinen: Callable[..., Any]) -> None:
    listed = kinen("issues", cwd=repository.root)
    assert listed.code == 0
    assert "shop-a1b2  P1  in progress  bug  Login fails after midnight" in listed.out
    assert "shop-c3d4" not in kinen("issues", "ready", cwd=repository.root).out
    result = kinen("issues", "show", "shop-a1b2", cwd=repository.root)
    assert "closes it, feat: tokens" in result.out
    assert (
        "issues     shop-a1b2 Login fails after midnight · 1 ready"
        in kinen("status", cwd=repository.root).out
    )
    recalled = kinen("recall", "--issue", "shop-a1b2", cwd=repository.root)
    assert recalled.out.startswith("## Issue\n- [issue:shop-a1b2] 2026-03-02\n  shop-a1b2 Login")
    assert "\n\n## Commits\n- [commit:" in recalled.out
    everywhere = kinen("recall", "--issue", "shop-a1b2", "--space", "all", cwd=repository.root)
    assert everywhere.out.startswith("## Issue\n- [shop: issue:shop-a1b2]")
    unknown = kinen("recall", "--issue", "shop-a1b3", cwd=repository.root)
    assert (unknown.code, unknown.out) == (2, "")
    assert "no issue 'shop-a1b3'" in unknown.err
    closed = kinen("issues", "list", "--status", "closed", cwd=repository.root)
    assert (closed.code, closed.out) == (1, "")
    assert "none of the 3 issues" in closed.err


def test_bd_is_asked_only_by_name(
    repository: Repository, kinen: Callable[..., Any], tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    bd = tools / "bd"
    fresh = json.dumps({**EPIC, "title": "Fresh"})
    bd.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho '{fresh}'\n", encoding="utf-8")
    bd.chmod(0o755)
    os.utime(repository.root / ".beads/issues.jsonl", (1, 1))
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    old = kinen("issues", cwd=repository.root, PATH=path)
    assert "`kinen issues refresh`" in old.err
    assert not (tmp_path / "ran").exists()
    assert kinen("issues", "refresh", cwd=repository.root, PATH=path).code == 0
    assert "Fresh" in kinen("issues", cwd=repository.root).out
    bd.write_text("#!/bin/sh\necho broken >&2; exit 3\n", encoding="utf-8")
    failed = kinen("issues", "refresh", cwd=repository.root, PATH=path)
    assert failed.code == 2
    assert "`bd export` failed: broken" in failed.err


def test_deleted_issues_are_listed_only_on_request(
    repository: Repository, kinen: Callable[..., Any]
) -> None:
    deleted = {"id": "shop-gone", "title": "A mistake", "status": "tombstone"}
    export(repository, EPIC, deleted)

    def listed(status: str) -> str:
        return str(kinen("issues", "list", "--status", status, cwd=repository.root).out)

    assert "shop-epic" in listed("all")
    assert "shop-gone" not in listed("all")
    assert "shop-gone" in listed("tombstone")
    assert "A mistake" in kinen("issues", "show", "shop-gone", cwd=repository.root).out
