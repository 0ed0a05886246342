"""What a memory recalls, asked through Python: filters, plans, budgets, digests, consolidation."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen import Memory, Query
from kinen.errors import NotFound, QueryError
from kinen.memory.federation import recall_spaces
from kinen.memory.reports import handoff_text
from kinen.recall.clip import compact, cut
from kinen.recall.tiers import shown
from kinen.text import estimate, iso, now
from sources.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen.model.journal import Recall

DAY = 86_400


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")


@pytest.fixture
def memory(space: Path) -> Iterator[Memory]:
    with Memory.open(space) as opened:
        yield opened


def refs(recall: Recall, tier: str = "hits") -> list[str]:
    return [item.ref for item in recall.items if item.tier == tier]


def recalled_refs(memory: Memory, text: str = "", **filters: Any) -> list[str]:
    return refs(memory.recall(Query(text, **filters)))


def aged(root: str | Path, path: str, days: float, *fields: str) -> None:
    """Have a file say that it is `days` older."""
    full = Path(root, path)
    lines = full.read_text().splitlines()
    for n, line in enumerate(lines):
        key = line.partition(":")[0]
        if key in fields:
            lines[n] = f"{key}: {iso(now() - days * DAY)}"
    full.write_text("\n".join(lines) + "\n")


# Filters


def test_a_checkpoint_is_found_by_what_it_says_and_by_whatever_was_said_of_it(
    memory: Memory,
) -> None:
    ref = memory.worklog.checkpoint(
        "Tokens rotate at every refresh", type="learning", tags=("auth", "area/login")
    ).ref
    two = memory.worklog.checkpoint(
        "Sessions move", type="decision", symbols=("Store.save", "open_store"), tags=("db",)
    ).ref
    three = memory.worklog.checkpoint(
        "The deploy broke", type="incident", evidence=("err 4711",)
    ).ref
    assert recalled_refs(memory) == [three, two, ref]
    assert recalled_refs(memory, "rotating tokens") == [ref]
    assert recalled_refs(memory, "4711") == [three]
    for symbol in ("Store.save", "save", "open_store"):
        assert recalled_refs(memory, symbols=(symbol,)) == [two], symbol
    assert recalled_refs(memory, symbols=("ave",)) == []
    assert recalled_refs(memory, tags=("auth",)) == [ref]
    assert recalled_refs(memory, tags=("area",)) == [ref]
    assert recalled_refs(memory, tags=("auth", "db")) == []
    assert recalled_refs(memory, events=("decision", "incident")) == [three, two]
    assert recalled_refs(memory, "tokens", events=("decision",)) == []
    assert len(recalled_refs(memory, limit=2)) == 2


def test_a_file_is_asked_for_by_its_path_or_the_end_of_it(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo", "--template=")
    first = repo.commit("feat: sign cookies", {"src/auth/né [1].py": "1", "src/x.py": "1"})
    repo.commit("feat: something else", {"src/x.py": "2", "docs/oauth.md": "# O\n"})
    (repo.root / "src/auth/né [1].py").write_text("2")
    with Memory.open(repo.root) as memory:
        ref = memory.worklog.checkpoint("Cookies are signed twice").ref
        message = memory.observe("edited it", kind="file_diff", files=("src/auth/né [1].py",)).ref
        memory.observe("edited another", kind="file_diff", files=("src/x.py",))
        for path in (
            "src/auth/né [1].py",
            "./src/auth/né [1].py",
            "auth/né [1].py",
            "né [1].py",
            str(repo.root / "src/auth/né [1].py"),
        ):
            assert recalled_refs(memory, files=(path,)) == [message, ref, f"commit:{first}"], path
        for path in ("é [1].py", "uth/né [1].py", "*.py", "né ?1?.py", "/elsewhere/né [1].py"):
            assert recalled_refs(memory, files=(path,)) == [], path
        # the file is as old as the commit that made it
        assert "note:docs/oauth.md:1" in recalled_refs(memory, files=("oauth.md",))[:2]
        assert recalled_refs(memory, "signed twice", files=("né [1].py",))[0] == ref


def test_times_bound_what_is_recalled(memory: Memory) -> None:
    old, new = (
        memory.worklog.checkpoint(f"the {n} thing of the limiter") for n in ("first", "second")
    )
    aged(memory.space.root, old.path, 10, "timestamp")
    memory.sync()
    week, yesterday = iso(now() - 7 * DAY), iso(now() - DAY)
    assert recalled_refs(memory, since=week) == [new.ref]
    assert recalled_refs(memory, "limiter", since=week) == [new.ref]
    assert recalled_refs(memory, until=yesterday) == [old.ref]
    assert recalled_refs(memory, since=iso(now() - 20 * DAY), until=week) == [old.ref]
    assert [checkpoint.id for checkpoint in memory.worklog.checkpoints(week)] == [new.id]


def test_what_was_changed_or_deleted_by_hand_is_not_recalled_as_it_was(memory: Memory) -> None:
    remaining, gone = (memory.worklog.checkpoint(f"The {n} thing") for n in ("first", "second"))
    path = Path(memory.space.root, remaining.path)
    path.write_text(path.read_text().replace("first", "third"))
    Path(memory.space.root, gone.path).unlink()
    recalled = memory.recall()
    assert refs(recalled) == [remaining.ref]
    assert "third" in recalled.items[0].text


def test_the_least_similarity_needs_vectors_and_says_so(
    space: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = memory.worklog.checkpoint("The cat sleeps on the warm sofa all day").ref
    far = memory.worklog.checkpoint(
        "Nightly database backups sleep five seconds between tables"
    ).ref
    query = Query("a cat that sleeps", min_similarity=0.5)
    recalled = memory.recall(query)
    assert set(refs(recalled)) == {near, far}
    assert any("no effect" in note for note in recalled.notes)
    monkeypatch.delenv("KINEN_INDEX_EMBEDDING_PROVIDER")
    with Memory.open(space) as other:
        assert set(recalled_refs(other, query.text)) == {near, far}
        recalled = other.recall(query)
        assert refs(recalled) == [near]
        assert not any("no effect" in note for note in recalled.notes)
        assert not other.recall(query._replace(min_similarity=0.99)).items


# Plans


def test_the_active_plan_comes_first_with_what_is_left_of_it(memory: Memory) -> None:
    memory.worklog.save_plan("Quiet", "nobody works on it")
    text = "- [x] sessions\n- [ ] queues\n- [ ] caches"
    plan = memory.worklog.save_plan("Drop Redis", text, activate=True)
    memory.worklog.checkpoint("Sessions are in Postgres")
    recalled = memory.recall("Redis")
    assert recalled.items[0].ref == plan.ref
    assert recalled.items[0].text == "Drop Redis (1 of 3 done)\n- [ ] queues\n- [ ] caches"
    assert plan.ref not in refs(recalled)
    assert shown(recalled).startswith("## Plan\n")
    assert next(iter(memory.worklog.checkpoints())).plan == plan.id
    memory.worklog.update_plan(plan.id, status="completed")
    assert refs(memory.recall("Redis"), "plan") == []
    assert memory.worklog.plan() is None
    memory.worklog.activate_plan("quiet")
    assert memory.recall("Redis").items[0].text == "Quiet\nnobody works on it"


def test_a_plan_that_nobody_touches_is_asked_about_until_there_is_a_checkpoint(
    memory: Memory,
) -> None:
    plan = memory.worklog.save_plan("Drop Redis", "- [ ] queues", activate=True)
    aged(memory.space.root, plan.path, 8.5, "created", "updated")
    for text in ("", "Redis"):
        recalled = memory.recall(text)
        assert refs(recalled, "plan") == []
        (note,) = [item for item in recalled.notes if "Drop Redis" in item]
        assert "8 days" in note
        assert "kinen plan complete drop-redis" in note
    aged(memory.space.root, plan.path, 6, "created", "updated")
    assert refs(memory.recall(), "plan") == [plan.ref]
    aged(memory.space.root, plan.path, 8.5, "created", "updated")
    memory.worklog.checkpoint("One queue moved")
    assert refs(memory.recall(), "plan") == [plan.ref]


# Budgets and digests


@given(
    st.lists(st.sampled_from(["word", "日本語", "a.b_c/d", "0x1f", "😀", "…", " ", "\n", "#"]))
    .map("".join)
    .map(lambda text: text * 9),
    st.integers(4, 60),
)
def test_what_is_cut_has_at_most_its_tokens(text: str, tokens: int) -> None:
    assert estimate(cut(text, tokens)) <= tokens
    assert estimate(compact(text, "word 日本語", tokens)) <= tokens


def test_a_recall_keeps_its_budget_compact_full_or_distilled(memory: Memory) -> None:
    for n in range(6):
        lines = "\n".join(f"- step {n}.{i}: the limiter was looked at again" for i in range(40))
        memory.worklog.checkpoint(
            f"Limiter, part {n}\n\n{lines}\n\nThe limiter of part {n} is key{n}."
        )
    for budget in (60, 150, 400, 1500):
        for how in ({}, {"full": True}, {"distiller": "extract"}):
            recalled = memory.recall(Query("limiter key3", budget=budget), **how)
            assert estimate(shown(recalled)) <= recalled.tokens <= budget, (budget, how)
    compact, full = (memory.recall("limiter key3", full=full) for full in (False, True))
    assert "step 3.20" in full.items[0].text
    assert "key3" in compact.items[0].text
    assert memory.recall("limiter", full=True) == memory.recall("limiter", full=True)
    long = memory.worklog.checkpoint(
        "\n".join(f"- quokka {n} was seen near the river" for n in range(400))
    )
    for budget in (300, 2000):
        recalled = memory.recall(Query("quokka", budget=budget), full=True)
        assert refs(recalled) == [long.ref]
        assert recalled.tokens <= budget


def test_a_digest_cites_what_it_was_made_of(memory: Memory) -> None:
    created = {
        memory.worklog.checkpoint(f"The limiter of part {n} allows {n}00 a minute").ref: n
        for n in (1, 2)
    }
    memory.worklog.checkpoint("Unrelated: the office moves in May")
    recalled = memory.recall("how much does the limiter allow", distiller="extract")
    digest = recalled.digest
    assert digest is not None
    assert set(digest.sources) == set(created)
    assert all(ref in digest.text and f"{n}00" in digest.text for ref, n in created.items())
    assert (digest.by, digest.cached, refs(recalled)) == ("extract", False, [])
    assert digest.tokens_in > 0
    assert digest.tokens_out == estimate(digest.text)
    assert memory.recall("how much does the limiter allow", distiller="extract") == recalled
    small = memory.recall(Query("limiter", budget=20), distiller="extract")
    assert small.digest is None
    assert "no room for a digest" in small.notes[-1]
    with pytest.raises(QueryError):
        memory.recall("limiter", distiller="gpt")


def test_two_spaces_with_the_same_ref_are_told_apart_and_fit_the_budget(tmp_path: Path) -> None:
    for name in ("alpha", "a-space-with-quite-a-long-name"):
        root = tmp_path / name
        (root / ".kinen").mkdir(parents=True)
        (root / "deploy.md").write_text(f"# Deploy\n\nThe deploy of {name} runs at night.\n")
        (root / "rules.md").write_text(f"# Rules\n\nAsk the owner of {name} first.\n")
        with Memory.open(root) as memory:
            memory.journal.pin("rules.md", f"read before a deploy of {name}")
    for budget in (200, 2000):
        query = Query("deploy", budget=budget, kinds=("note",))
        values = recall_spaces(("all",), query)
        assert estimate(shown(values)) <= values.tokens <= budget
    results = [(item.space, item.ref) for item in values.items if item.tier == "hits"]
    assert sorted(results) == [
        ("a-space-with-quite-a-long-name", "note:deploy.md:1"),
        ("alpha", "note:deploy.md:1"),
    ]
    assert len(refs(values, "pins")) == 2
    assert "[alpha: note:deploy.md:1]" in shown(values)


# Consolidation


def test_memories_are_recalled_by_their_type(memory: Memory) -> None:
    decided(memory, 0)
    (item,) = memory.consolidation.consolidate().learned
    assert recalled_refs(memory, kinds=("memory",), events=("decision",)) == [item.ref]
    assert recalled_refs(memory, kinds=("memory",), events=("insight",)) == []


def decided(memory: Memory, n: int) -> str:
    nouns = ("sessions", "queues", "backups", "invoices", "avatars", "metrics", "tickets")
    text = f"keep {nouns[n]} in Postgres, because Redis loses {nouns[n]} at a restart"
    return memory.worklog.checkpoint(f"About {nouns[n]}", type="decision", decision=text).ref


def test_decisions_make_the_clock_tick_until_memories_are_drawn(memory: Memory) -> None:
    before = memory.consolidation.clock()
    assert before == (0, 0.0)
    seen = []
    for n in range(7):
        decided(memory, n)
        seen.append(memory.consolidation.clock())
    assert seen[0].accumulated > 0
    assert max(clock.epoch for clock in seen) >= 1
    assert all(clock.accumulated < 3.0 for clock in seen)
    assert memory.consolidation.memories("decision")
    state = memory.index.status()
    assert (state.epoch, state.surprise) == seen[-1]


def test_to_consolidate_once_more_changes_nothing(memory: Memory) -> None:
    source = decided(memory, 0)
    would = memory.consolidation.consolidate(dry_run=True)
    assert (would.added, would.dry_run, memory.consolidation.memories()) == (1, True, [])
    done = memory.consolidation.consolidate()
    assert (done.added, done.changed) == (1, 0)
    remaining = memory.consolidation.memories()
    assert [item.derived_from for item in remaining] == [(source,)]
    for how in ({}, {"since": "2000-01-01T00:00:00.000Z"}):
        again = memory.consolidation.consolidate(**how)
        assert (again.added, again.changed, again.learned) == (0, 0, ())
    assert memory.consolidation.memories() == remaining
    assert source in recalled_refs(
        memory, "sessions Postgres"
    )  # beside the memory, not replaced by it


def test_what_was_told_late_of_days_long_gone_is_drawn_too(memory: Memory, tmp_path: Path) -> None:
    decided(memory, 0)
    path = Path(
        memory.space.root,
        memory.worklog.new_round("Stores", memory.worklog.new_session("Stores")[9:]),
    )
    capsule = memory.journal.open_capsule("stores", scope={"session": "s1"})
    assert memory.consolidation.consolidate().added == 1
    message = "> [!note] Decision\n> Avatars live in S3, because disks fill up.\n"
    path.write_text(f"---\ndate: 2025-12-03\n---\n### Q1.1: Where do avatars live?\n\n{message}")
    memory.sync()
    assert memory.consolidation.consolidate().added == 1
    memory.observe("We decided to build images with Nix.", scope={"session": "s1"})
    memory.journal.close_capsule(capsule.ref)
    assert len(memory.consolidation.memories()) == 3
    folder = tmp_path / "old/.memories/2026-01-02"
    folder.mkdir(parents=True)
    front = "id: checkpoint_0abc0000\ntimestamp: 2026-01-02T10:00:00.000Z\ntype: decision"
    text = f"---\n{front}\ndecision: send mail by SES, as Postfix was blocked\n---\n\nMail\n"
    (folder / "100000_0abc.md").write_text(text)
    memory.transfer.load(tmp_path / "old")
    assert memory.consolidation.consolidate().added == 1


def test_a_memory_that_was_hidden_stays_hidden_until_it_is_restored(memory: Memory) -> None:
    decided(memory, 0)
    (item,) = memory.consolidation.consolidate().learned
    assert item.ref in recalled_refs(memory, "sessions Postgres", kinds=("memory",))
    assert memory.consolidation.hide(item.ref).ref == item.ref
    for _ in range(2):
        assert item.ref not in recalled_refs(memory, "sessions Postgres", kinds=("memory",))
        assert (memory.consolidation.memories(), memory.consolidation.memories(hidden=True)) == (
            [],
            [item],
        )
        memory.consolidation.consolidate(since="2000-01-01T00:00:00.000Z")
        memory.sync(rebuild=True)
    memory.consolidation.restore(item.id)
    assert item.ref in recalled_refs(memory, "sessions Postgres", kinds=("memory",))
    assert memory.consolidation.memories() == [item]
    memory.journal.forget(item.ref)
    memory.consolidation.consolidate(since="2000-01-01T00:00:00.000Z")
    assert (memory.consolidation.memories(), memory.consolidation.memories(hidden=True)) == ([], [])
    for call in (memory.consolidation.get, memory.consolidation.hide, memory.consolidation.restore):
        with pytest.raises(NotFound, match="for good"):
            call(item.ref)


@pytest.mark.parametrize("forget", [False, True])
def test_memories_go_with_the_observation_that_they_were_drawn_from(
    memory: Memory, home: Path, forget: bool
) -> None:
    capsule = memory.journal.open_capsule("stores", scope={"session": "s1"})
    text = "We decided to keep heliotropes in Postgres because Redis loses them at a restart."
    entry = memory.observe(f"Hello there. {text}", scope={"session": "s1"})
    memory.journal.close_capsule(capsule.ref)
    (drawn,) = memory.consolidation.memories()
    assert drawn.derived_from == (entry.ref,)
    erased = (memory.journal.forget if forget else memory.journal.redact)(entry.ref)
    assert drawn.ref in erased.refs
    memory.consolidation.consolidate(since="2000-01-01T00:00:00.000Z")
    assert recalled_refs(memory, "heliotropes Postgres") == []
    memory.close()
    files = [path for path in home.rglob("*") if path.is_file()]
    assert not [path for path in files if b"heliotrope" in path.read_bytes().lower()]


def test_a_checkpoint_is_kept_though_the_journal_cannot_be(memory: Memory) -> None:
    memory.observe("something")
    memory.close()
    path = Path(memory.space.data, "journal.db")
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    checkpoint = memory.worklog.checkpoint(
        "Kept", type="decision", decision="keep it whatever happens"
    )
    plan = memory.worklog.save_plan("Plan", "x")
    assert all(Path(memory.space.root, value.path).exists() for value in (checkpoint, plan))


# Context


def test_a_context_looks_as_deep_as_there_is_something(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo", "--template=")
    repo.commit("feat: sign cookies", {"src/auth.py": "1", "tests/test_auth.py": "1"})
    repo.commit("fix: sign them once", {"src/auth.py": "2", "tests/test_auth.py": "2"})
    with Memory.open(repo.root) as memory:
        capsule = memory.journal.open_capsule("cookies", scope={"session": "s1"})
        memory.observe("edited", files=("src/auth.py",), scope={"session": "s1"})
        entry = memory.observe("We decided to sign cookies with Ed25519.", scope={"session": "s1"})
        memory.journal.close_capsule(capsule.ref, "cookies are signed")
        near = memory.context.around(file="auth.py")
        assert {element.tier for element in near.items} == {"sessions", "commits", "files"}
        assert refs(near, "sessions") == [capsule.ref]
        assert refs(near, "files") == ["file:tests/test_auth.py"]
        assert entry.ref in {
            item.ref for item in memory.context.around(file="auth.py", depth=2).items
        }
        deep = memory.context.around(file="auth.py", depth=4)
        assert refs(deep, "memories") == [memory.consolidation.memories()[0].ref]
        assert memory.context.around(file="auth.py", depth=10**9).items == deep.items
        for budget in (30, 100, 300):
            values = memory.context.around(file="src/auth.py", depth=3, budget=budget)
            assert estimate(shown(values)) <= values.tokens <= budget
        memory.journal.open_capsule("of another session", scope={"session": "s10"})
        own = memory.context.around(session="s1")
        assert refs(own, "sessions") == [capsule.ref]
        assert refs(own, "memories")
        with pytest.raises(NotFound):
            memory.context.around(file="nowhere.py")
        with pytest.raises(QueryError):
            memory.context.around(depth=0)


def test_the_work_at_hand_is_that_of_the_worktree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = Repository(tmp_path / "repo", "--template=")
    repo.commit("feat: sign cookies", {"auth.py": "1"})
    repo.git("worktree", "add", "-q", "-b", "feature", str(tmp_path / "tree"))
    (tmp_path / "tree/auth.py").write_text("2")
    monkeypatch.chdir(tmp_path / "tree")
    with Memory.open() as memory:
        assert memory.space.root == str(tmp_path / "tree")
        assert memory.context.around().query == "feature"
        assert len(refs(memory.context.around(), "commits")) == 1
        assert "on feature at" in handoff_text(memory.reports.handoff_report())


def test_a_limit_holds_for_notes_and_a_pinned_note_is_no_hit(memory: Memory) -> None:
    for n in range(6):
        text = f"# Limiter {n}\n\nThe limiter of part {n} counts requests.\n"
        (Path(memory.space.root) / f"part{n}.md").write_text(text)
    memory.sync()
    recall = memory.recall(Query("limiter", limit=3))
    assert len(recall.items) == 3
    assert "over the budget" not in shown(recall)
    memory.journal.pin("part0.md")
    everything = memory.recall(Query("limiter", limit=6))
    assert [item.tier for item in everything.items].count("pins") == 1
    assert shown(everything).count("The limiter of part 0") == 1


# Without a question


def test_updates_of_dependencies_are_one_line(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo", "--template=")
    repo.commit("feat: sign cookies", {"src/auth.py": "1"})
    for name in ("vite", "axios", "undici"):
        repo.commit(f"Bump {name} from 1.0 to 1.1", {"package.json": name})
    repo.commit("fix: sign them once", {"src/auth.py": "2"})
    with Memory.open(repo.root) as memory:
        memory.sync()
        text = shown(memory.recall())
        line = "Dependencies updated: undici, axios, vite ×3"
        assert text.startswith("## Latest")
        assert line in text
        assert "Bump" not in text
        assert "sign them once" in text
        commits = memory.reports.handoff_report().commits
        assert [(group.subject, group.count) for group in commits] == [
            ("fix: sign them once", 1),
            ("Dependencies updated: undici, axios, vite", 3),
            ("feat: sign cookies", 1),
        ]
        assert line in handoff_text(memory.reports.handoff_report())


def test_a_hit_in_a_file_has_nothing_of_the_section_before_it(space: Path) -> None:
    sentence = "Certificates are renewed by a job that runs on the first day of each month. "
    duty = "The engineer on call carries the phone and answers within fifteen minutes. "
    text = f"# Duty\n\n## Certificates\n\n{sentence * 6}\n\n## On call\n\n{duty * 6}\n"
    (space / "oncall.md").write_text(text)
    with Memory.open(space) as memory:
        memory.sync()
        recalled = shown(memory.recall("who carries the phone?"))
    assert "fifteen minutes" in recalled
    assert "Certificates are renewed" not in recalled


def test_part_of_an_edit_is_told_with_its_file_and_of_an_output_with_its_command(
    memory: Memory,
) -> None:
    diff = "\n".join(f"+    field_{n}: int" for n in range(60))
    memory.observe(
        f"Tool: Edit\nFile: src/kettle.py\n@@ -1 +1 @@\n{diff}\n+    boiling_point: float\n{diff}",
        kind="file_diff",
        provenance={"toolName": "Edit", "filePath": "src/kettle.py"},
    )
    noise = "\n".join(f"line {n} of a long log" for n in range(60))
    memory.observe(
        f"$ make kettle\n{noise}\nboiling_point is 373.2 here\n{noise}",
        kind="command",
        provenance={"command": "make kettle", "exitCode": 0},
    )
    recall = memory.recall(Query("boiling_point", budget=120))
    output, edit = (item.text for item in recall.items)
    assert edit.startswith("Edit src/kettle.py\n")
    assert edit.endswith("\nboiling_point: float")
    assert output.startswith("$ make kettle\n")
    assert output.endswith("\nboiling_point is 373.2 here")
