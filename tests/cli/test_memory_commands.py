"""Checkpoints, plans, recall, sessions, memories and context, as a person or a script uses them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kinen.ids import SHORT_ID
from sources.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Ask = Callable[..., Any]

SECRET = "gh" + "p_" + "a1B2c3D4e5F6" * 3
DECISION = ("--type", "decision", "--decision")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Full text only, and no agent around."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    for name in [item for item in os.environ if item.startswith(("CLAUDE", "AI_AGENT", "CODEX_"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def repo(space: Path) -> Repository:
    """The space as a repository with two commits and one change that is not committed."""
    repository = Repository(space, "existing")
    repository.git("init", "-q", "-b", "main", "--template=")
    repository.commit("feat(auth): sign cookies", {"src/auth.py": "1", "tests/test_auth.py": "1"})
    repository.commit("fix(auth): sign them once", {"src/auth.py": "2", "tests/test_auth.py": "2"})
    (space / "src/auth.py").write_text("3")
    return repository


def ref(ran: Any) -> str:
    assert ran.code == 0, ran.err
    return str(ran.out.split()[0])


def parsed(ran: Any) -> Any:
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def refused(ran: Any) -> bool:
    """Whether it is an error as errors should be: one line that says what to do."""
    lines = ran.err.splitlines()
    return (ran.code, ran.out, len(lines)) == (2, "", 1) and " · " in lines[0]


def files_with(folder: Path, text: str) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return [str(path) for path in files if text.encode() in path.read_bytes()]


def cited(out: str) -> list[str]:
    """The refs of a recall's hits; entries of the journal by the beginning of their id."""
    return re.findall(rf"\[(\w+:[^\]]+|[0-9A-Za-z]{{{SHORT_ID}}})\]", out)


def short(ref: str) -> str:
    """A ref of the journal as a recall cites it."""
    return ref.partition(":")[2][:SHORT_ID]


# Checkpoints


def test_a_checkpoint_says_all_that_was_said_and_where_the_work_stood(
    kinen: Ask, repo: Repository
) -> None:
    words = ["checkpoint", "- the refresh race is gone\n- and so is the lock"]
    words += [
        "--type",
        "learning",
        "--tag",
        "auth",
        "--tag",
        "area/login",
        "--context",
        "- logouts",
    ]
    words += ["--decision", "lock per user", "--alternative", "a queue", "--alternative", "-x y"]
    words += ["--impact", "no logouts", "--evidence", "test_refresh", "--symbol", "Auth.refresh"]
    words += ["--next", "--deploy it now", "--confidence", "4", "--unknown", "mobile?", "--json"]
    created = parsed(kinen(*words))
    expected = {
        "text": "- the refresh race is gone\n- and so is the lock",
        "type": "learning",
        "tags": ["auth", "area/login"],
        "context": "- logouts",
        "decision": "lock per user",
        "alternatives": ["a queue", "-x y"],
        "impact": "no logouts",
        "evidence": ["test_refresh"],
        "symbols": ["Auth.refresh"],
        "next": "--deploy it now",
        "confidence": 4,
        "unknowns": ["mobile?"],
        "branch": "main",
        "commit": repo.git("rev-parse", "--short", "HEAD"),
        "files": ["src/auth.py"],
    }
    assert {name: created[name] for name in expected} == expected
    assert created["ref"] == f"checkpoint:{created['path']}"
    text = (repo.root / created["path"]).read_text()
    assert text.endswith("---\n\n- the refresh race is gone\n- and so is the lock\n")
    for question in ("race", "logouts", "refresh", "queue", "mobile"):
        assert cited(kinen("recall", question).out) == [created["ref"]], question
    data = json.loads(kinen("search", "--fulltext", "race", "--json").out)
    assert data["results"][0]["source"]["ref"] == created["ref"]
    out = kinen("show", created["ref"]).out
    assert "the refresh race is gone" in out


def test_a_checkpoint_comes_from_standard_input_and_without_secrets(
    kinen: Ask, space: Path, home: Path
) -> None:
    message = f"- found {SECRET}\n- <private>the merger</private>\n"
    created = ref(kinen("checkpoint", "-", "--decision", f"rotate {SECRET}", stdin=message))
    text = (space / created.partition(":")[2]).read_text()
    assert "- found [masked:github_token]\n- [private]\n" in text
    assert "decision: rotate [masked:github_token]\n" in text
    kinen("recall", "--distill", "rotate found")
    for folder in (space, home):
        assert not files_with(folder, SECRET)
        assert not files_with(folder, "the merger")


def test_a_goldfish_folder_is_taken_over_once(ask: Ask, tmp_path: Path, space: Path) -> None:
    old = tmp_path / "old"
    (old / ".memories/2026-01-02").mkdir(parents=True)
    for n, text in enumerate(("the quokka cache", "the second thing")):
        front = f"id: checkpoint_abc{n}0000\ntimestamp: 2026-01-02T10:00:0{n}.000Z"
        path = old / f".memories/2026-01-02/10000{n}_abc{n}.md"
        path.write_text(f"---\n{front}\n---\n\n{text}\n")
    (old / ".memories/2026-01-02/100009_bad0.md").write_text("---\ntimestamp: never\n---\n")
    dry = ask("import", str(old), "--dry-run")
    assert dry.out == "would add 2 checkpoints\n"
    assert not (space / ".memories").exists()
    assert ask("import", str(old)).out == "added 2 checkpoints\n"
    again = ask("import", str(old))
    assert again.out == "skipped 2 checkpoints\n"
    assert "100009_bad0.md" in again.err
    assert len(list((space / ".memories").rglob("*.md"))) == 2
    assert cited(ask("recall", "quokka").out) == ["checkpoint:.memories/2026-01-02/100000_abc0.md"]


# Recall


def test_a_recall_is_narrowed_down_by_options(ask: Ask, repo: Repository) -> None:
    item = ref(ask("checkpoint", "Cookies hold the token", *DECISION, "sign it", "--tag", "crypto"))
    repo.commit("docs: cookies and tokens", {"docs/cookies.md": "# Cookies\n\nTokens, signed.\n"})
    two = ref(ask("checkpoint", "Cookies broke", "--type", "incident", "--symbol", "sign_all"))
    message = ref(ask("log", "looked at cookies", "--file", "src/auth.py"))

    def recall(*words: str) -> list[str]:
        return cited(ask("recall", *words).out)

    assert set(recall("cookies", "--type", "checkpoints")) == {item, two}
    assert recall("--type", "decision") == [item]
    assert recall("--type", "decisions,incident") == [two, item]
    assert recall("--tag", "#crypto") == [item]
    assert recall("--symbol", "sign_all") == [two]
    about = recall("--file", "auth.py")
    assert about[:2] == [short(message), item]
    assert ask("show", about[0]).out == ask("show", message).out
    assert [name[:7] for name in about[2:]] == ["commit:"] * 3
    assert len(recall("--file", "src/auth.py", "-n", "2")) == 2
    assert recall("--since", "1h", "cookies", "--type", "commits") == []
    assert len(recall("--from", "2023-01-01", "--to", "2023-12-31", "--type", "commits")) == 3
    assert short(message) in recall("--days", "1")
    assert ask("recall", "--to", "2020-01-01").code == 1
    for clash in (("--since", "1d", "--days", "1"), ("--days", "1", "--from", "1d")):
        ran = ask("recall", *clash)
        assert refused(ran)
        assert "use one of them" in ran.err


# Digests


def test_a_digest_is_given_again_until_something_changes(
    kinen: Ask, repo: Repository, home: Path
) -> None:
    (repo.root / "limits.md").write_text("# Limits\n\nThe limiter allows 300 a minute.\n")
    kinen("index")
    ask = ("recall", "--distill", "limiter minute")

    first = kinen(*ask)
    again = kinen(*ask)
    assert (again.code, again.out, again.err) == (first.code, first.out, first.err)
    (repo.root / "limits.md").write_text("# Limits\n\nThe limiter allows 400 a minute.\n")
    assert "400" in kinen(*ask).out
    message = ref(kinen("log", "the limiter allows a quokkanaut 500 a minute"))
    assert "500" in kinen(*ask).out
    assert "500" in kinen(*ask).out
    repo.commit("fix: the limiter now allows 600 a minute")
    kinen(*ask)
    assert "600" in kinen(*ask).out
    assert kinen(*ask, KINEN_DISTILL_BUDGET="50").out != kinen(*ask).out
    assert files_with(home, "quokkanaut")
    kinen("redact", message)
    assert not files_with(home, "quokkanaut")
    assert "500" not in kinen(*ask).out
    other = ref(kinen("log", "the limiter of the wombatworks has no minute"))
    kinen(*ask)
    kinen("forget", other)
    assert not files_with(home, "wombatworks")


def test_a_distiller_that_is_missing_is_named(kinen: Ask) -> None:
    kinen("checkpoint", "The limiter allows 300 a minute")
    path = os.pathsep.join(["/usr/bin", "/bin"])
    ran = kinen("recall", "limiter", "--distiller", "claude", PATH=path)
    assert "claude: not installed" in ran.err
    assert "300" in ran.out


@pytest.mark.skipif(os.name == "nt", reason="the script is for sh")
def test_inside_an_agent_no_other_is_started(kinen: Ask, tmp_path: Path) -> None:
    started, folder = tmp_path / "started", tmp_path / "bin"
    folder.mkdir()
    for name in ("claude", "gemini"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {started}\nexit 1\n")
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"
    kinen("checkpoint", "The limiter allows 300 a minute")
    ask = ("recall", "limiter", "--distiller", "auto")
    for inside in ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "KINEN_DISTILLING"):
        ran = kinen(*ask, PATH=path, **{inside: "1"})
        assert "300" in ran.out
        assert f"({inside} is set)" in ran.err
        assert not started.exists()
    assert "300" in kinen(*ask, PATH=path).out
    assert started.exists()


# Sessions and memories


def test_a_session_is_begun_gone_on_with_and_closed(kinen: Ask, space: Path) -> None:
    created = [
        subprocess.Popen(
            [sys.executable, "-m", "kinen", "session", "new", f"Stores {n}"],
            cwd=space,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(2)
    ]
    paths = sorted(element.communicate(timeout=300)[0].strip() for element in created)
    assert [path[18:20] for path in paths] == ["01", "02"]
    name = paths[0][9:]
    path = kinen("round", "new", "Which store", "--session", name).out.strip()
    assert path == f"{paths[0]}/rounds/01-which-store.md"
    (space / path).write_text(
        "# Which store\n\n### Q1.1: Where do sessions live?\n\n"
        "> [!note] Decision\n> Sessions live in Postgres, because Redis loses them.\n"
    )
    assert "## Related" in kinen("context", "--session", name).out
    listed = kinen("session", "list").out.splitlines()[1:]
    assert ["by hand" in line and "(open)" in line for line in listed] == [True, True]
    closed = kinen("session", "close", name)
    assert closed.out.startswith(f"{paths[0]}  complete\nmemory:")
    out = kinen("session", "show", name).out
    assert f"{paths[0]}/session-summary.md\n" in out
    assert "decision: " in out
    own = parsed(kinen("session", "show", name, "--json"))
    assert (own["status"], own["rounds"], len(own["memories"])) == ("complete", [path], 1)
    assert refused(kinen("session", "close", name))
    assert refused(kinen("round", "new", "more", "--session", name))
    summary = (space / own["summary"]).read_text()
    assert "Sessions live in Postgres" in summary
    listed = parsed(kinen("session", "list", "--json"))["sessions"]
    # two that began at once may have taken their numbers in either order
    assert sorted(item["status"] for item in listed) == ["complete", "in-progress"]
    drawn = parsed(kinen("memories", "list", "--json"))["memories"]
    assert [entry["derived_from"] for entry in drawn] == [[f"round:{path}"]]
    assert cited(kinen("recall", "where do sessions live").out)


def test_what_was_hidden_or_edited_is_shown_again_when_it_is_saved_again(ask: Ask) -> None:
    def saved(text: str) -> str:
        return str(json.loads(ask("memories", "add", text, "--json").out)["id"])

    def shown() -> list[str]:
        return [
            memory["content"]
            for memory in json.loads(ask("memories", "list", "--json").out)["memories"]
        ]

    first = saved("Tea is at four.")
    ask("memories", "forget", first)
    assert shown() == []
    assert saved("Tea is at four.") == first
    assert shown() == ["Tea is at four."]
    ask("memories", "edit", first, "Tea is at five.")
    assert shown() == ["Tea is at five."]
    saved("Tea is at four.")
    assert shown() == ["Tea is at four."]
    ask("forget", f"memory:{first}")
    answer = ask("memories", "add", "Tea is at four.")
    assert (answer.code, answer.out) == (2, "")
    assert "these words were forgotten for good" in answer.err
    assert shown() == []


def test_a_closed_capsule_is_drawn_from_unless_that_is_turned_off(ask: Ask) -> None:
    for n, on in enumerate(("false", "true")):
        capsule = ref(ask("capsule", "open", "--intent", "stores", "--session", "s1"))
        ask("log", f"We decided to keep part {n} in Postgres from now on.", "--session", "s1")
        assert ask("memories", "list").code == 1
        ask("capsule", "close", capsule, KINEN_CONSOLIDATION_ON_SESSION_CLOSE=on)
    assert len(ask("memories", "list").out.splitlines()) == 1


# Context


def test_a_context_is_of_a_file_a_session_or_the_work_at_hand(ask: Ask, repo: Repository) -> None:
    capsule = ref(ask("capsule", "open", "--intent", "sign cookies", "--session", "s1"))
    message = ("log", "edited it", "--kind", "file_diff", "--session", "s1")
    ask(*message, "--file", "src/auth.py")
    ask("log", "We decided to sign cookies with Ed25519.", "--session", "s1")
    ask("capsule", "close", capsule)
    remaining = ref(ask("checkpoint", "Signing is half done", "--next", "the other half"))
    ask("plan", "save", "Sign all", "- [ ] headers", "--activate")
    by_path = ask("context", "--file", "src/auth.py").out
    for heading in ("## Plan", "## Sessions", "## Checkpoints", "## Commits", "## Changes with it"):
        assert heading in by_path, heading
    assert remaining in by_path
    assert ask("context", "--file", "auth.py").out == by_path
    assert ask("context", "--file", "auth.py", cwd=repo.root / "src").out == by_path
    assert ask("context").out == by_path  # it is what is changed
    deep = ask("context", "--file", "auth.py", "--depth", "2").out
    assert set(cited(by_path)) < set(cited(deep))
    assert "## Decided and learned" in ask("context", "--session", "s1").out
    values = parsed(ask("context", "--budget", "150", "--depth", "3", "--json"))
    assert values["tokens"] <= values["budget"] == 150
    handoff = ask("handoff").out
    for line in ("on main at", "1 changed: src/auth.py", "- [ ] headers", "- the other half"):
        assert line in handoff, line
    assert refused(ask("context", "--file", "auth.py", "--session", "s1"))
    (repo.root / "other").mkdir()
    repo.commit("test: another", {"other/auth.py": "1"})
    assert "several files end in auth.py" in ask("context", "--file", "auth.py").err


def test_a_standup_knows_what_nobody_indexed(ask: Ask, repo: Repository) -> None:
    out = ask("standup", "--since", "2023-01-01").out
    assert out.startswith("## Commits\n- fix(auth): sign them once (")
    assert ask("standup").code == 1
    long = ("checkpoint", "Cookies are signed", *DECISION, "sign with Ed25519")
    ask(*long, "--next", "headers too", "--unknown", "who else signs?")
    assert re.sub(r"\(\w+\)", "()", ask("standup").out) == (
        "## Done\n- Cookies are signed ()\n\n## Changed files\n- 1 changed: src/auth.py\n\n"
        "## Decided\n- sign with Ed25519\n\n"
        "## Next\n- headers too\n\n## Open questions\n- who else signs?\n"
    )
    assert parsed(ask("standup", "--json"))["markdown"].startswith("## Done\n")


def test_a_space_without_git_has_a_context_too(ask: Ask, space: Path) -> None:
    (space / "auth.md").write_text("# Auth\n")
    ask("log", "looked at it", "--file", "auth.md")
    ask("checkpoint", "Wrote it down")
    assert "looked at it" in ask("context", "--file", "auth.md").out
    assert "Wrote it down" in ask("handoff").out
    assert ask("context").code == 1


def test_a_question_about_something_else_is_not_answered(space: Path, ask: Ask) -> None:
    for n in range(120):
        text = (
            f"# Note {n}\n\nThe parcel service number {n} prints labels and sorts them by weight.\n"
        )
        (space / f"note{n}.md").write_text(text)
    assert "by weight" in ask("recall", "how are parcel labels sorted").out
    other = ask("recall", "which opera number did Mozart compose")
    assert "## Related" not in other.out
    assert "nothing is known about this: no entry has" in other.out + other.err


@pytest.mark.parametrize("names", [("Acme", "Bolt"), ("staging", "production"), ("v1", "v2")])
def test_memories_about_two_names_are_both_told_and_both_hold(
    kinen: Ask, space: Path, names: tuple[str, str]
) -> None:
    said = "The nightly import of the {} feed keeps its raw files for audits by the finance team"
    for name in names:
        assert kinen("memories", "add", said.format(name)).code == 0
    told = kinen("recall", "nightly import raw files audits").out
    assert all(said.format(name) in " ".join(told.split()) for name in names)
    assert "superseded" not in kinen("memories", "list").out
