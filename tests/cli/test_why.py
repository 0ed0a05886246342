"""`kinen why`: the commits behind a line, and the session that wrote it."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from agents.test_hooks import until
from kinen.memory import Memory
from sources.repositories import EPOCH, LINES, Repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

SESSION = {"session": "s-tea", "agent": "claude-code"}


@pytest.fixture
def repository(space: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    repository = Repository(space, "existing")
    repository.git("init", "-q", "-b", "main")
    return repository


def record(
    root: Path, at: int, path: str, *lines: str, session: str = "s-tea", more: str = ""
) -> None:
    """A session in which a user asks, the agent says something and edits a file."""
    scope = {**SESSION, "session": session}
    with Memory.open(root) as memory:
        capsule = memory.journal.open_capsule(f"work of {session}", scope=scope)
        common: dict[str, Any] = {"scope": scope, "capsule": capsule.id}
        ms = at * 1000
        user, agent = {"role": "user"}, {"role": "assistant"}
        asked = f"please make {path} pour the tea{more}"
        memory.observe(asked, at=ms - 50_000, provenance=user, **common)
        said = "The kettle is too slow, so I cache the water."
        memory.observe(said, at=ms - 45_000, provenance=agent, **common)
        text = "\n".join([f"Tool: Edit\nFile: {path}", *(f"+{line}" for line in lines)])
        memory.observe(text, kind="file_diff", files=[path], at=ms - 40_000, **common)
        memory.observe("now the lid", at=ms - 10_000, provenance=user, **common)


def why(kinen: Callable[..., Ran], *words: str) -> dict[str, Any]:
    run = kinen("why", *words, "--json")
    assert run.code == 0, run.err
    answer: dict[str, Any] = json.loads(run.out)
    return answer


def at(repository: Repository) -> int:
    """When the next commit will be."""
    return EPOCH + 60 * (repository.minutes + 1)


def test_a_line_has_its_commit_its_session_and_the_turn_that_made_it(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    record(repository.root, at(repository), "tea.py", "water = cache(kettle)", "pour(water)")
    body = "feat: pour tea (#12)\n\nThe kettle is slow."
    sha = repository.commit(body, {"tea.py": "water = cache(kettle)\npour(water)\n"})
    answer = why(kinen, "tea.py:1")
    assert answer["reason"] == "please make tea.py pour the tea"
    (commit,) = answer["commits"]
    assert (commit["ref"], commit["message"], commit["lines"]) == (f"commit:{sha}", body, [1])
    assert commit["issues"] == ["#12"]
    (session,) = commit["sessions"]
    assert (session["step"], session["certain"], session["session"]) == ("content", True, "s-tea")
    assert session["reply"] == "The kettle is too slow, so I cache the water."
    assert session["edit"].startswith("observation:")
    text = kinen("why", "tea.py:1-2").out
    assert text.startswith("please make tea.py pour the tea\n")
    assert "its edits are the diff" in text
    assert "The kettle is slow." in text


def test_a_long_request_is_short_at_the_top_and_whole_below(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    more = ", slowly" * 50
    record(repository.root, at(repository), "tea.py", "water = cache(kettle)", more=more)
    repository.commit("tea", {"tea.py": "water = cache(kettle)\n"})
    first, *rest = kinen("why", "tea.py:1").out.splitlines()
    assert first.startswith("please make tea.py pour the tea, slowly")
    assert first.endswith("…")
    assert len(first) <= 160
    assert f"    asked: please make tea.py pour the tea{more}" in rest
    assert why(kinen, "tea.py:1")["reason"] == f"please make tea.py pour the tea{more}"


def test_without_a_session_it_says_what_the_commit_says_and_invents_none(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    record(repository.root, at(repository), "other.py", "something = else_entirely()")
    repository.commit("fix: pour\n\nBecause it spilled.", {"tea.py": "pour(water)\n"})
    answer = why(kinen, "tea.py:1")
    assert answer["reason"] == "fix: pour: Because it spilled."
    assert answer["commits"][0]["sessions"] == []


def test_a_line_is_followed_through_its_evolution_renames_and_formatting(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    first = repository.commit("first", {"tea.py": f"{LINES}pour(water, 1)\n"})
    second = repository.commit("second", {"tea.py": f"{LINES}pour(water, 2)\n"})
    repository.rename("tea.py", "pot/tea.py")
    repository.commit("format", {"pot/tea.py": f"{LINES}    pour(water,  2)\n"})
    answer = why(kinen, "pot/tea.py:13")
    assert [row["ref"] for row in answer["commits"]] == [f"commit:{second}", f"commit:{first}"]
    assert answer["commits"][1]["text"] == "pour(water, 1)"
    assert answer["commits"][1]["path"] == "tea.py"


def test_commits_of_the_lines_around_are_told_beside(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    first = repository.commit("first", {"tea.py": LINES})
    changed = LINES.replace("line 2 of it", "two").replace("line 9 of it", "nine")
    repository.commit("far and near", {"tea.py": changed})
    near = repository.commit("near", {"tea.py": changed.replace("line 6 of it", "six")})
    answer = why(kinen, "tea.py:5")
    assert [row["ref"] for row in answer["commits"]] == [f"commit:{first}"]
    assert [row["text"] for row in answer["beside"]] == ["near", "far and near"]
    assert answer["beside"][0]["ref"] == f"commit:{near}"
    assert [row["text"] for row in why(kinen, "tea.py:12")["beside"]] == ["far and near"]


def test_commits_of_an_ignore_list_are_passed_over(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    first = repository.commit("first", {"tea.py": "pour(water)\n"})
    noise = repository.commit("quotes", {"tea.py": "pour('water')\n"})
    assert why(kinen, "tea.py:1")["commits"][0]["ref"] == f"commit:{noise}"
    repository.commit("list", {".git-blame-ignore-revs": f"# style\n{noise}\n{'0' * 40}\n"})
    assert why(kinen, "tea.py:1")["commits"][0]["ref"] == f"commit:{first}"


def test_a_line_that_is_not_committed_names_the_session_that_edited_it(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    sha = repository.commit("first", {"tea.py": LINES})
    record(repository.root, at(repository), "tea.py", "milk = True")
    (repository.root / "tea.py").write_text(f"milk = True\n{LINES}")
    answer = why(kinen, "tea.py:1-2")
    assert answer["uncommitted"] == [1]
    assert answer["edited"]["session"] == "s-tea"
    assert [(row["ref"], row["lines"]) for row in answer["commits"]] == [(f"commit:{sha}", [2])]
    assert "not committed; last edited by session" in kinen("why", "tea.py:1").out
    (repository.root / "new.py").write_text("x = 1\n")
    assert "no session is known" in kinen("why", "new.py:1").out


def test_a_symbol_a_commit_and_a_memory_have_reasons(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    code = "def pour(water):\n    return water + 1\n"
    record(repository.root, at(repository), "tea.py", *code.splitlines())
    sha = repository.commit("feat: pour", {"tea.py": code})
    kinen("memories", "add", "pour in tea.py adds one, for the saucer")
    answer = why(kinen, "tea.py#pour")
    assert answer["commits"][0]["lines"] == [1, 2]
    (memory,) = answer["memories"]
    assert "for the saucer" in memory["text"]
    assert why(kinen, sha[:8])["commits"][0]["sessions"][0]["session"] == "s-tea"
    assert why(kinen, memory["ref"])["text"].startswith("pour in tea.py adds one")


def test_what_was_tried_and_taken_back_is_told(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    repository.commit("first", {"tea.py": LINES, "pot.py": "1\n"})
    tried = repository.commit("try: boil twice", {"tea.py": f"{LINES}boil()\n", "pot.py": "2\n"})
    back = f'Revert "try: boil twice"\n\nThis reverts commit {tried}.'
    revert = repository.commit(back, {"tea.py": LINES, "pot.py": "1\n"})
    answer = why(kinen, "tea.py:1")
    assert answer["reverted"] == [
        {"ref": f"commit:{tried}", "subject": "try: boil twice", "by": f"commit:{revert}"}
    ]
    assert answer["changes_with"][0]["path"] == "pot.py"
    assert why(kinen, tried)["commits"][0]["reverted_by"] == f"commit:{revert}"


def test_a_submodule_a_shallow_clone_and_a_generated_file_say_so(
    repository: Repository, kinen: Callable[..., Ran], tmp_path: Path
) -> None:
    repository.commit("first", {"tea.py": f"# @generated\n{LINES}"})
    assert "generated" in kinen("why", "tea.py:1").err
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{repository.head},module")
    repository.minutes += 1
    repository.git("commit", "-q", "-m", "module")
    assert "submodule" in kinen("why", "module:1").err
    repository.commit("second", {"tea.py": f"{LINES}more of it\n"})
    copy = tmp_path / "copy"
    repository.git("clone", "-q", "--depth=1", f"file://{repository.root}", str(copy))
    run = kinen("why", "tea.py:1", cwd=copy)
    assert run.code == 0, run.err
    assert "shallow" in run.err


def test_a_partial_clone_tells_what_it_has_and_what_gets_the_rest(
    repository: Repository, kinen: Callable[..., Ran], tmp_path: Path
) -> None:
    repository.commit("first", {"tea.py": LINES})
    gone = repository.commit("second", {"tea.py": f"{LINES}more\n"})
    repository.commit("third", {"tea.py": f"{LINES}less\n"})
    repository.git("config", "uploadpack.allowFilter", "true")
    copy = tmp_path / "copy"
    source = f"file://{repository.root}"
    repository.git("clone", "-q", "--filter=blob:none", source, str(copy))
    run = kinen("why", "tea.py:1", "--json", cwd=copy)
    assert run.code == 0, run.err
    answer = json.loads(run.out)
    assert answer["commits"] == []
    assert [row["text"] for row in answer["beside"]] == ["third", "second", "first"]
    assert "`git blame tea.py` gets what is missing" in answer["notes"][0]
    run = kinen("why", gone, cwd=copy)
    assert run.code == 0, run.err
    assert f"contents of 1 of its files are missing; `git show {gone[:12]}` gets them" in run.err
    run = kinen("blame", "tea.py", cwd=copy)
    assert (run.code, "the clone is partial" in run.err) == (2, True)


def test_a_commit_that_only_moved_a_line_is_told_after_the_one_that_wrote_it(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    code = "".join(f"value_of_the_{n}th_kettle = boil(water, {n})\n" for n in range(6))
    wrote = repository.commit("feat: kettles", {"a.py": code, "b.py": "import water\n"})
    moved = repository.commit("refactor: move", {"a.py": "\n", "b.py": f"import water\n{code}"})
    commits = why(kinen, "b.py:3")["commits"]
    assert [(row["ref"], row["moved"]) for row in commits] == [
        (f"commit:{wrote}", False),
        (f"commit:{moved}", True),
    ]
    assert "moved or copied the lines here" in kinen("why", "b.py:3").out


def test_a_session_that_only_committed_a_line_is_named_without_an_edit(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    record(repository.root, at(repository), "tea.py", "water = cache(kettle)")
    with Memory.open(repository.root) as memory:
        capsule = memory.journal.open_capsule("tea", scope=SESSION, resume=True)
        text = "$ git commit -m tea\n[main 1234567] tea\n 2 files changed"
        ms = at(repository) * 1000
        memory.observe(text, kind="command", at=ms, scope=SESSION, capsule=capsule.id)
    repository.commit("tea", {"tea.py": "water = cache(kettle)\n", "lid.py": "lid = shut()\n"})
    (other,) = why(kinen, "lid.py:1")["commits"][0]["sessions"]
    assert (other["step"], other["certain"], other["edit"]) == ("seen", True, "")
    (own,) = why(kinen, "tea.py:1")["commits"][0]["sessions"]
    assert own["edit"].startswith("observation:")


def test_a_session_says_which_of_its_files_later_commits_changed(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    record(repository.root, at(repository), "tea.py", "water = cache(kettle)")
    repository.commit("tea", {"tea.py": "water = cache(kettle)\n"})
    (session,) = why(kinen, "tea.py:1")["commits"][0]["sessions"]
    assert (session["changed_since"], session["edited"]) == ([], 1)
    repository.minutes += 90
    repository.git("mv", "tea.py", "pot.py")
    repository.commit("later", {"pot.py": "water = cache(kettle)\npour(water)\n"})
    line = "1 of 1 file of this session changed since: pot.py"
    assert line in kinen("why", "pot.py:1").out
    assert line in kinen("session", "show", "last").err
    assert line in kinen("search", "-v", "make tea.py pour the tea").out
    assert line not in kinen("search", "make tea.py pour the tea").out


def test_a_file_of_100_000_lines_has_reasons(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    lines = [f"line {n}" for n in range(100_000)]
    sha = repository.commit("first", {"big.txt": "\n".join(lines) + "\n"})
    (repository.root / "big.txt").write_text("\n".join(["new", *lines, "end"]) + "\n")
    answer = why(kinen, "big.txt:90000")
    assert answer["text"] == "line 89998"
    assert answer["commits"][0]["ref"] == f"commit:{sha}"
    assert why(kinen, "big.txt:1-2")["uncommitted"] == [1]


def test_blame_tells_agents_from_people_and_counts_their_lines(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    repository.commit("by hand", {"tea.py": "import kettle\n"})
    record(repository.root, at(repository), "tea.py", "water = cache(kettle)", "pour(water)")
    code = "import kettle\nwater = cache(kettle)\npour(water)\n"
    repository.commit("feat: pour", {"tea.py": code})
    (repository.root / "tea.py").write_text(f"{code}milk = True\n")
    answer = json.loads(kinen("files", "blame", "tea.py", "--json").out)
    assert [row["agent"] for row in answer["lines"]] == ["", "claude-code", "claude-code", ""]
    assert (answer["agent_lines"], answer["total"]) == (2, 4)
    assert answer["lines"][3]["commit"] == ""
    run = kinen("blame", "tea.py")
    assert "2 of 4 lines (50%) known to be by agents" in run.err
    assert "not commit" in run.out
    assert json.loads(kinen("blame", "tea.py", "-n", "1", "--json").out)["next_offset"] == 1
    assert kinen("blame", "nothing.py").code == 2


RECORD = {
    "version": r"\d+\.\d+",
    "id": r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z",
}
"""What the published schema of Agent Trace asks of the texts of a record."""


def test_the_hooks_write_traces_that_a_clone_reads_to_the_same_answer(
    repository: Repository,
    kinen: Callable[..., Ran],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repository.git("config", "user.name", "Ada")
    repository.git("config", "user.email", "ada@example.org")
    record(repository.root, at(repository), "a b.py", "water = cache(kettle)", "pour(water)")
    record(repository.root, at(repository), "other.py", "unrelated = True", session="s-other")
    assert kinen("hooks", "install", "--traces").code == 0
    code = "water = cache(kettle)\npour(water)\n"
    repository.minutes += 1
    repository.put({"a b.py": code})
    repository.git("commit", "-q", "-m", "feat: tea", CLAUDE_CODE_SESSION_ID="s-tea")
    sha = repository.head
    assert repository.git("log", "-1", "--format=%B") == "feat: tea\n\nClaude-Session: s-tea"
    until(lambda: repository.git("notes", "--ref=agent-trace", "list", check=False))
    head, _, tail = repository.git("notes", "--ref=ai", "show", sha).partition("\n---\n")
    key = hashlib.sha256(b"claude-code:s-tea").hexdigest()[:16]
    assert head == f'"a b.py"\n  {key} 1-2'
    about = json.loads(tail)
    assert (about["schema_version"], about["base_commit_sha"]) == ("authorship/3.0.0", sha)
    prompt = about["prompts"][key]
    assert (prompt["total_additions"], prompt["accepted_lines"]) == (2, 2)
    assert prompt["human_author"] == "Ada <ada@example.org>"
    trace = json.loads(repository.git("notes", "--ref=agent-trace", "show", sha))
    assert all(re.fullmatch(shape, trace[name]) for name, shape in RECORD.items())
    assert trace.keys() == {*RECORD, "vcs", "tool", "files"}
    (file,) = trace["files"]
    (talk,) = file["conversations"]
    assert (file["path"], talk["ranges"]) == ("a b.py", [{"start_line": 1, "end_line": 2}])
    before = repository.git("rev-parse", "refs/notes/ai", "refs/notes/agent-trace")
    assert kinen("hooks", "trace").out == ""
    assert repository.git("rev-parse", "refs/notes/ai", "refs/notes/agent-trace") == before

    assert kinen("hooks", "uninstall").code == 0
    assert not [*(repository.root / ".git/hooks").glob("p*[!e]")]
    (here,) = why(kinen, "a b.py:1")["commits"][0]["sessions"]
    monkeypatch.setenv("KINEN_HOME", str(tmp_path / "elsewhere"))
    clone = Repository(tmp_path / "clone")
    clone.git("fetch", "-q", str(repository.root), "main", "refs/notes/*:refs/notes/*")
    clone.git("reset", "-q", "--hard", sha)
    monkeypatch.chdir(clone.root)
    (there,) = why(kinen, "a b.py:1")["commits"][0]["sessions"]
    same = ("session", "agent", "step", "certain", "request", "reply")
    assert [there[name] for name in same] == [here[name] for name in same]
    assert (there["step"], there["origin"]) == ("trace", "Git AI")


def test_what_is_not_certain_or_secret_gets_into_no_trace_and_other_notes_stay(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    repository.git("config", "user.name", "Ada")
    repository.git("config", "user.email", "ada@example.org")
    record(repository.root, at(repository), "tea.py", "water = cache(kettle)", "pour(water)")
    record(
        repository.root, at(repository), "tea.py", "water = cache(kettle)", "pour(water)",
        session="s-twin",
    )  # fmt: skip
    repository.commit("tea", {"tea.py": "water = cache(kettle)\npour(water)\n"})
    assert json.loads(kinen("hooks", "trace", "--json").out) == {"commits": []}
    secret = "ghp_" + "a1B2" * 9
    record(repository.root, at(repository), "lid.py", "lid = closed(kettle)", more=f" {secret}")
    masked = repository.commit("lid", {"lid.py": "lid = closed(kettle)\n"})
    record(repository.root, at(repository), "cup.py", "cup = full(kettle)")
    noted = repository.commit("cup", {"cup.py": "cup = full(kettle)\n"})
    repository.git("notes", "--ref=ai", "add", "-m", "by another tool", noted)
    assert kinen("hooks", "trace").out.split() == [f"commit:{noted[:12]}", f"commit:{masked[:12]}"]
    assert repository.git("notes", "--ref=ai", "show", noted) == "by another tool"
    assert "s-tea" in repository.git("notes", "--ref=agent-trace", "show", noted)
    asked = repository.git("notes", "--ref=ai", "show", masked).partition("---")[2]
    assert "please make" in asked
    assert secret not in asked
