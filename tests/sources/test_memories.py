"""`.memories/` as a folder that several agents write at once, and people edit."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.errors import NotFound, QueryError, SpaceError, StoreError, Unreadable
from kinen.model.journal import Checkpoint, Plan
from kinen.worklog import folder as module
from kinen.worklog.folder import Memories, git_state

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = 1_772_701_661.042
"""2026-03-05T09:07:41.042Z"""
DAY = 86_400
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def memories(space: Path) -> Memories:
    return Memories(str(space))


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    command = ["git", "-C", str(root), *who, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def files(root: Path) -> list[str]:
    below = root / ".memories"
    return sorted(str(path.relative_to(below)) for path in below.rglob("*") if path.is_file())


# Checkpoints


def test_a_checkpoint_is_a_file_that_reads_as_what_was_kept(memories: Memories) -> None:
    payload: dict[str, Any] = {
        "tags": ["tea", "1.10"],
        "type": "decision",
        "context": "a: b",
        "decision": "no",
        "alternatives": ('["one", "two"]'),
        "impact": "x\n---\ny",
        "evidence": ["it's"],
        "symbols": "boil, pour",
        "next": "# later",
        "confidence": "4",
        "unknowns": ["🐟"],
    }
    saved, path = memories.save("Boils.\n\n---\n\nTwice.  \r\n", now=NOW, **payload)
    assert saved.text == "Boils.\n\n---\n\nTwice."
    assert (saved.alternatives, saved.symbols) == (("one", "two"), ("boil", "pour"))
    assert saved.confidence == 4
    assert path == saved.path == f".memories/2026-03-05/090741_{saved.id[11:15]}.md"
    assert saved.ref == f"checkpoint:{path}"
    assert list(memories.checkpoints()) == [saved]
    assert files(Path(memories.root)) == [path.removeprefix(".memories/")]


FIELD = st.text(st.characters(exclude_categories=[]) | st.sampled_from("\n\r\t :#-'\"\\<"))


@settings(max_examples=60, deadline=None)
@given(FIELD, FIELD, st.lists(FIELD, max_size=3))
def test_whatever_is_kept_is_read_again(text: str, said: str, several: list[str]) -> None:
    with tempfile.TemporaryDirectory() as root:
        remaining = Memories(root)
        saved, _ = remaining.save(f"x{text}", now=NOW, context=f"c{said}", evidence=several)
        assert list(remaining.checkpoints()) == [saved]


@pytest.mark.parametrize(
    ("text", "said", "fact"),
    [
        (" \n", {}, "the text is empty"),
        ("x", {"confidence": 6}, "invalid confidence 6"),
        ("x", {"confidence": "high"}, "invalid confidence high"),
        ("x", {"confidence": True}, "invalid confidence True"),
        ("x", {"type": "bugfix"}, "unknown type 'bugfix'"),
        ("x", {"mood": "good"}, "unknown checkpoint field 'mood'"),
        ("x", {"context": "c " * 200_000}, "cannot save the checkpoint"),
        ("x" * (5 << 20), {}, "cannot save the checkpoint"),
    ],
)
def test_what_is_no_checkpoint_is_refused_and_leaves_nothing(
    memories: Memories, text: str, said: dict[str, Any], fact: str
) -> None:
    with pytest.raises(QueryError) as caught:
        memories.save(text, now=NOW, **said)
    assert fact in caught.value.message
    assert caught.value.hint
    assert not (Path(memories.root) / ".memories").exists()


def test_a_secret_never_reaches_the_disk(memories: Memories) -> None:
    text = f"the token is {SECRET}, and so it was for a long time " + "x" * 150
    saved, _ = memories.save(text, now=NOW, context=SECRET, evidence=[f"t={SECRET}"])
    memories.save_plan(f"Rotate {SECRET}", f"export T={SECRET}", now=NOW, tags=[SECRET])
    memories.update_plan(memories.plans()[0].id, text=f"T={SECRET}", now=NOW)
    memories.add(Checkpoint("checkpoint_1", "2025-01-01T00:00:00.000Z", f"said {SECRET}"))
    assert "[masked:" in saved.summary
    assert "[masked:" in saved.evidence[0]
    for path in Path(memories.root).rglob("*"):
        if path.is_file():
            assert SECRET not in path.read_text()


def test_nothing_is_kept_in_the_home_folder_or_a_whole_disk(home: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(home)
    for root in (str(home), str(link), "/"):
        left = Memories(root)
        for write in (
            lambda kept=left: kept.save("x", now=NOW),
            lambda rest=left: rest.save_plan("x", "y", now=NOW),
            lambda remaining=left: remaining.add(Checkpoint("c", "2026-01-01T00:00:00.000Z", "x")),
        ):
            with pytest.raises(SpaceError) as caught:
                write()
            assert caught.value.hint
    assert not (home / ".memories").exists()


def test_a_folder_that_cannot_be_written_is_told(memories: Memories) -> None:
    (Path(memories.root) / ".memories").write_text("a file\n")
    with pytest.raises(StoreError, match=r"cannot write \.memories/2026-03-05"):
        memories.save("x", now=NOW)
    assert not list(memories.checkpoints())
    assert not memories.plans()


def test_the_same_text_in_the_same_millisecond_is_kept_twice(memories: Memories) -> None:
    saved = [memories.save("x", now=NOW) for _ in range(3)]
    ids = [item.id for item, _ in saved]
    assert ids == [ids[0], f"{ids[0]}_1", f"{ids[0]}_2"]
    assert {checkpoint.id for checkpoint in memories.checkpoints()} == set(ids)
    assert [Path(path).stem[11:] for _, path in saved] == ["", "_1", "_2"]


def test_two_writers_in_the_same_second_both_stay(space: Path) -> None:
    program = (
        "import sys; from kinen.worklog.folder import Memories; m = Memories(sys.argv[1])\n"
        f"for n in range(10): m.save(f'text {{n % 2}}', now={NOW})"
    )
    command = [sys.executable, "-c", program, str(space)]
    running = [subprocess.Popen(command) for _ in range(4)]
    assert [entry.wait(60) for entry in running] == [0] * 4
    remaining = Memories(str(space))
    listed = list(remaining.checkpoints())
    assert not remaining.warnings
    assert len({item.id for item in listed}) == len({element.path for element in listed}) == 40
    assert len(files(space)) == 40


def test_a_disk_without_links_overwrites_nothing_either(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: str, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert len({memories.save("x", now=NOW)[1] for _ in range(3)}) == 3
    assert len(files(Path(memories.root))) == len(list(memories.checkpoints())) == 3


def test_checkpoints_come_newest_first_and_by_time(memories: Memories) -> None:
    for n in range(6):
        memories.save(f"{n}", now=NOW + n * DAY / 2)
    assert [checkpoint.text for checkpoint in memories.checkpoints()] == list("543210")
    day = [item.text for item in memories.checkpoints("2026-03-06", "2026-03-06")]
    assert day == ["3", "2"]
    after = memories.checkpoints("2026-03-06T12:00:00.000Z")
    assert [entry.text for entry in after] == ["5", "4", "3"]
    before = memories.checkpoints(until="2026-03-06T09:07:41.042Z")
    assert [element.text for element in before] == ["2", "1", "0"]


def test_what_cannot_be_read_is_a_warning_with_its_path(memories: Memories) -> None:
    saved, path = memories.save("good", now=NOW)
    day = Path(memories.root) / ".memories/2026-03-05"
    (day / "a.md").write_text("---\nid: x\ntimestamp: 2026-02-30T00:00:00Z\n---\n")
    (day / "b.md").write_bytes(b"\0\1\2")
    (day / "c.json").write_text('{"id": "c", "timestamp": 1772701660, "description": "old"}')
    (day / "d.txt").write_text("not ours")
    os.mkfifo(day / "e.md")
    (day / "f.md").symlink_to("/etc/passwd")
    (day / ".090741_draft.tmp").write_text("left behind")
    (day.parent / "2026-03-05-copy").mkdir()
    assert [checkpoint.text for checkpoint in memories.checkpoints()] == ["good", "old"]
    assert memories.warnings == [
        ".memories/2026-03-05/a.md: invalid timestamp: 2026-02-30T00:00:00Z",
        ".memories/2026-03-05/b.md: binary file",
    ]
    assert path == saved.path


def test_one_of_elsewhere_is_added_once_under_its_own_id(memories: Memories) -> None:
    old = Checkpoint("checkpoint_1234abcd", "2025-11-05T14:30:22.123Z", "old", tags=("a",))
    twin = old._replace(id="checkpoint_1234ffff")
    odd = old._replace(id="../../out", at="2025-11-05T14:30:22+00:00")
    paths = [memories.add(value) for value in (old, old, twin, odd, odd)]
    assert paths[:3] == [
        ".memories/2025-11-05/143022_1234.md",
        None,
        ".memories/2025-11-05/143022_1234_1.md",
    ]
    assert paths[4] is None
    assert [Memories(memories.root).add(item) for item in (old, twin, odd)] == [None] * 3
    assert {checkpoint.id for checkpoint in memories.checkpoints()} == {old.id, twin.id, odd.id}
    assert (
        next(entry for entry in memories.checkpoints() if entry.id == old.id)._replace(path="")
        == old
    )
    with pytest.raises(QueryError):
        memories.add(old._replace(at="../../../x"))


# What git says


def test_a_checkpoint_has_the_state_of_git(memories: Memories, space: Path) -> None:
    git(space, "init", "-q", "-b", "fix/boil")
    for name in ("kept.ts", "old name.ts", "staged.ts", "gone.ts"):
        (space / name).write_text(f"{name}\n" * 20)
    git(space, "add", "-A")
    git(space, "commit", "-q", "-m", "first")
    (space / "kept.ts").write_text("changed\n")
    (space / "staged.ts").write_text("changed\n")
    git(space, "add", "staged.ts")
    git(space, "mv", "old name.ts", "new name.ts")
    (space / "gone.ts").unlink()
    (space / "größe 日本.ts").write_text("new\n")
    (space / ".gitignore").write_text("ignored\n")
    (space / "ignored").write_text("x")
    memories.save("first", now=NOW)
    saved, _ = memories.save("second", now=NOW)
    assert (saved.branch, saved.commit) == ("fix/boil", git(space, "rev-parse", "--short", "HEAD"))
    names = (".gitignore", "gone.ts", "größe 日本.ts", "kept.ts", "new name.ts", "staged.ts")
    assert saved.files == names


def test_a_checkpoint_names_at_most_thirty_files_in_the_order_of_javascript(
    space: Path, memories: Memories
) -> None:
    git(space, "init", "-q", "-b", "main")
    for name in ("\uffee", "🐟", "Z", "a", *(f"b{n:02}" for n in range(40))):
        (space / name).write_text("x")
    branch, commit, names = git_state(str(space))
    assert (branch, commit) == ("main", "")
    assert names == ("Z", "a", *(f"b{n:02}" for n in range(40)), "🐟", "\uffee")
    assert memories.save("Boils.", now=NOW)[0].files == names[:30]
    for n in range(40):
        (space / f"b{n:02}").unlink()
    assert git_state(str(space))[2] == ("Z", "a", "🐟", "\uffee")


def test_a_space_inside_a_repository_names_its_own_files(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "part/.memories/plans").mkdir(parents=True)
    (tmp_path / "part/.memories/plans/x.md").write_text("x")
    (tmp_path / "part/in.ts").write_text("x")
    (tmp_path / "out.ts").write_text("x")
    assert git_state(str(tmp_path / "part")) == ("main", "", ("in.ts",))


def test_a_commit_that_is_checked_out_has_no_branch(space: Path) -> None:
    git(space, "init", "-q", "-b", "main")
    git(space, "commit", "-q", "--allow-empty", "-m", "first")
    git(space, "checkout", "-q", "--detach")
    assert git_state(str(space)) == ("", git(space, "rev-parse", "--short", "HEAD"), ())


def test_without_a_repository_or_without_git_a_checkpoint_is_kept_all_the_same(
    memories: Memories, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert git_state(str(space)) == ("", "", ())
    git(space, "init", "-q", "-b", "main")
    git(space, "commit", "-q", "--allow-empty", "-m", "first")
    commit = git(space, "rev-parse", "HEAD")
    monkeypatch.setenv("PATH", str(space / "nowhere"))
    saved, _ = memories.save("x", now=NOW)
    assert (saved.branch, saved.commit, saved.files) == ("main", commit[:7], ())


def test_git_is_not_waited_for_long(
    space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(space, "init", "-q", "-b", "main")
    slow = tmp_path / "bin/git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(module, "GIT_TIMEOUT", 0.3)
    begun = time.monotonic()
    assert git_state(str(space)) == ("main", "", ())
    assert time.monotonic() - begun < 300  # git would sleep for 600


# Plans


def test_a_plan_is_saved_under_a_slug_of_its_title(memories: Memories) -> None:
    plan = memories.save_plan("Wärme:  the\nkettle!", "# Do\n\n- [ ] it\n", now=NOW, tags=["a"])
    assert plan == Plan(
        id="warme-the-kettle",
        title="Wärme: the kettle!",
        text="# Do\n\n- [ ] it",
        created="2026-03-05T09:07:41.042Z",
        updated="2026-03-05T09:07:41.042Z",
        tags=("a",),
        path=".memories/plans/warme-the-kettle.md",
    )
    assert memories.plans() == [plan]
    assert memories.plan("warme-the-kettle") == plan
    assert memories.current() is None
    assert memories.save_plan("Wärme the kettle", "", now=NOW).id == "warme-the-kettle-2"


def test_an_id_is_bounded_and_unique_whatever_the_title(memories: Memories) -> None:
    plans = [memories.save_plan("long title " * 20, "", now=NOW).id for _ in range(11)]
    assert len(set(plans)) == 11
    assert all(len(plan) <= 50 for plan in plans)
    other = [memories.save_plan(title, "", now=NOW).id for title in ("日本語", "日本語", "???")]
    assert len(set(other)) == 3
    assert all(item.startswith("plan-") for item in other)


def test_a_plan_of_the_id_that_is_asked_for_is_there_once(memories: Memories) -> None:
    memories.save_plan("One", "first", now=NOW, id="tea")
    with pytest.raises(QueryError, match="plan 'tea' already exists"):
        memories.save_plan("Two", "second", now=NOW, id="tea")
    assert memories.plan("tea").text == "first"
    with pytest.raises(QueryError, match="needs a title"):
        memories.save_plan(" \n", "text", now=NOW)


@pytest.mark.parametrize(
    "id_", ["../x", "/etc/passwd", "", "..", ".x", "a/b", "a\\b", "C:x", "a\0"]
)
def test_an_id_outside_the_folder_is_refused(memories: Memories, id_: str) -> None:
    calls: list[Callable[[str], object]] = [memories.plan, memories.activate]
    calls += [lambda item: memories.update_plan(item, text="x")]
    calls += [lambda entry: memories.update_plan(entry, status="completed")]
    if id_:
        calls += [lambda element: memories.save_plan("x", "y", now=NOW, id=element)]
    for ask in calls:
        with pytest.raises(QueryError, match="invalid plan id"):
            ask(id_)
    with pytest.raises(NotFound):
        memories.plan("x")


def test_links_lead_out_of_the_space_for_nobody(memories: Memories, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("mine\n")
    memories.save_plan("A", "x", now=NOW)
    (Path(memories.root) / ".memories/plans/evil.md").symlink_to(outside)
    (Path(memories.root) / ".memories/.active-plan").symlink_to(outside)
    with pytest.raises(NotFound):
        memories.update_plan("evil", text="theirs")
    memories.activate("a")
    assert outside.read_text() == "mine\n"
    assert memories.plan("a").current


def test_one_plan_is_active_and_goldfish_sees_the_same(memories: Memories, space: Path) -> None:
    brief = space / ".memories/briefs/water.md"
    brief.parent.mkdir(parents=True)
    brief.write_text("---\nid: water\ntitle: Water\nstatus: active\n---\n\nsoon\n")
    (space / ".memories/.active-brief").write_text("water")
    assert memories.plan("water").current
    first = memories.save_plan("First", "x", now=NOW, activate=True)
    assert first.current
    assert [(plan.id, plan.current) for plan in memories.plans()] == [
        ("first", True),
        ("water", False),
    ]
    assert (space / ".memories/.active-plan").read_bytes() == b"first"
    assert not (space / ".memories/.active-brief").exists()
    memories.activate("water")
    assert (space / ".memories/.active-brief").read_bytes() == b"water"
    assert not (space / ".memories/.active-plan").exists()
    assert memories.current() == memories.plan("water")
    saved, _ = memories.save("x", now=NOW)
    assert saved.plan == "water"
    assert memories.save("x", now=NOW, plan="other")[0].plan == "other"


def test_a_plan_that_is_done_is_no_longer_the_active_one(memories: Memories, space: Path) -> None:
    for n, status in enumerate(("completed", "archived")):
        memories.save_plan(f"Plan {n}", "- [ ] open", now=NOW, activate=True)
        done = memories.update_plan(f"plan-{n}", status=status, now=NOW + DAY)
        assert (done.current, done.updated) == (False, "2026-03-06T09:07:41.042Z")
        assert memories.current() is None
        assert memories.plan(done.id) == done
        assert done.text == "- [ ] open"
        with pytest.raises(QueryError, match=f"is {done.status}"):
            memories.activate(done.id)
    assert not (space / ".memories/.active-plan").exists()
    memories.update_plan("plan-0", status="active", now=NOW)
    assert memories.activate("plan-0").current


def test_a_mark_that_leads_nowhere_gives_way_to_the_other(memories: Memories, space: Path) -> None:
    memories.save_plan("Here", "x", now=NOW)
    (space / ".memories/.active-plan").write_text("gone\n")
    (space / ".memories/.active-brief").write_text("\ufeffhere\r\n")
    assert memories.plan("here").current
    (space / ".memories/.active-plan").write_text("../../x")
    assert memories.plan("here").current


def test_an_update_changes_what_is_given_and_keeps_the_rest(
    memories: Memories, space: Path
) -> None:
    path = space / ".memories/briefs/water.md"
    path.parent.mkdir(parents=True)
    path.write_text(
        "---\nid: water\ntitle: Water\nstatus: active\nowner: ada # since May\n"
        "created: 2026-03-01T08:00:00.000Z\ntags: [a, b]\n---\n\n# Water\n\nsoon\n"
    )
    saved = memories.update_plan("water", status="archived", now=NOW)
    assert path.read_text() == (
        "---\nid: water\ntitle: Water\nstatus: archived\nowner: ada # since May\n"
        "created: 2026-03-01T08:00:00.000Z\ntags: [a, b]\n"
        "updated: '2026-03-05T09:07:41.042Z'\n---\n\n# Water\n\nsoon\n"
    )
    assert saved == memories.plan("water")
    saved = memories.update_plan("water", title="Hot: water", text="now", tags=(), now=NOW)
    assert (saved.title, saved.text, saved.tags) == ("Hot: water", "now", ())
    assert saved == memories.plan("water")
    assert "owner: ada # since May\n" in path.read_text()
    with pytest.raises(QueryError, match="unknown status 'done'"):
        memories.update_plan("water", status="done", now=NOW)
    with pytest.raises(QueryError, match="needs a title"):
        memories.update_plan("water", title="", now=NOW)
    assert not list((space / ".memories/plans").glob("*"))


def test_a_broken_plan_is_a_warning_and_an_error_when_it_is_asked_for(
    memories: Memories, space: Path
) -> None:
    memories.save_plan("Good", "x", now=NOW)
    (space / ".memories/plans/bad.md").write_text("---\nid: [bad\n---\n")
    (space / ".memories/.active-plan").write_text("bad")
    assert [plan.id for plan in memories.plans()] == ["good"]
    assert memories.warnings[0].startswith(".memories/plans/bad.md: frontmatter: ")
    with pytest.raises(Unreadable, match=r"plans/bad\.md"):
        memories.plan("bad")
    assert memories.current() is None
    assert memories.save("x", now=NOW)[0].plan == ""


def test_a_plan_is_stale_by_the_days_since_it_or_its_last_checkpoint(memories: Memories) -> None:
    plan = memories.save_plan("Tea", "x", now=NOW, activate=True)
    assert memories.stale(plan, NOW + 7 * DAY - 1) == 6
    assert memories.stale(plan, NOW + 7 * DAY) == 7
    memories.save("of this plan", now=NOW + 5 * DAY)
    memories.save("of another", now=NOW + 6 * DAY, plan="other")
    assert memories.stale(plan, NOW + 7 * DAY) == 2
    assert memories.stale(plan, NOW) == 0
    assert memories.stale(plan._replace(created="", updated=""), NOW + 7 * DAY) == 2
    assert Memories("/nowhere").stale(Plan("x", "x", ""), NOW) == 0
