"""What git's history knows, as a person or a script asks for it: output, JSON and exit codes."""

from __future__ import annotations

import gc
import json
import shlex
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kinen.cli import main
from kinen.verbs.catalogue import also
from sources.repositories import LINES, Repository
from terminal import COLUMNS, on_terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Ask = Callable[..., "Ran"]

COOKIES, OLD = "src/auth/cookies.py", "src/auth/session.py"
TESTS, GONE = "tests/test_session.py", "lib/net/old.py"
SIGNED = "The server signs each cookie with a rotating key."


class Ran(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def refused(self) -> bool:
        """Whether it is an error as errors should be: one line that says what to do."""
        lines = self.err.splitlines()
        return (self.code, self.out, len(lines)) == (2, "", 1) and lines[0].startswith("kinen: ")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small history: changes, a rename, tags that come and go, a file that was deleted."""
    repo = Repository(tmp_path_factory.mktemp("built") / "repo", "--template=")
    first = {OLD: LINES, "docs/auth.md": "# Auth\n\nKeys rotate.\n", TESTS: "1"}
    repo.commit(f"feat(auth): sign cookies\n\n{SIGNED}\nAll else is as it was.", first)
    repo.commit(
        "fix(auth): refresh tokens\n\ntags: security, -auth", {OLD: LINES + "2", TESTS: "2"}
    )
    repo.commit("perf(auth): cache keys", {OLD: LINES + "3", TESTS: "3"})
    repo.rename(OLD, COOKIES, "refactor: call it cookies")
    repo.put({GONE: LINES * 2, "build/out.txt": "made", ".gitignore": "build/\n"})
    repo.git("add", "-f", "build/out.txt")
    repo.commit("chore: vendor the old client")
    repo.commit("drop the old client", {GONE: None}, GIT_AUTHOR_NAME="Bob")
    return repo.root


@pytest.fixture
def repo(built: Path, tmp_path: Path) -> Repository:
    shutil.copytree(built, tmp_path / "repo")
    return Repository(tmp_path / "repo", "existing")


@pytest.fixture
def ask(repo: Repository, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Ask:
    """Runs a command in the repository, or in another folder, without a model."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")

    def run(line: str, cwd: Path | None = None) -> Ran:
        monkeypatch.chdir(cwd or repo.root)
        with pytest.raises(SystemExit) as end:
            main(shlex.split(line))
        gc.enable()  # a process of its own does without
        return Ran(int(end.value.code or 0), *capsys.readouterr())

    return run


def paths(ran: Ran) -> list[str]:
    return [line.split("  ")[0] for line in ran.lines if not line.startswith(" ")]


def test_files_are_listed_with_their_tags_and_narrowed(ask: Ask) -> None:
    tagged = [f"{COOKIES}  auth, security", f"{TESTS}  auth, security"]
    assert ask("files").lines == [".gitignore", "docs/auth.md  auth, docs", *tagged]
    assert paths(ask("files --tag auth -t '#Security'")) == [COOKIES, TESTS]
    assert f"{GONE}  (deleted)  net" in ask("files --deleted").lines
    assert "build/out.txt" in ask("files --ignored").lines
    assert paths(ask("files --source-only")) == [COOKIES]
    assert ask("files --tag auth --tag net") == (1, "", "note: no file matches\n")


def test_files_come_in_pages_with_how_many_there_are(ask: Ask) -> None:
    page = ask("files --limit 2 --offset 1")
    assert paths(page) == ["docs/auth.md", COOKIES]
    assert "2 of 4" in page.err
    output = ask("files --limit 1 --offset 2 --json").json
    assert (output["total"], output["offset"]) == (4, 2)
    (file,) = output["files"]
    assert (file["ref"], file["path"], file["alive"]) == (f"file:{COOKIES}", COOKIES, True)
    assert (file["last_modified"], file["commits"]) == ("2023-11-14T22:17:20.000Z", 4)
    beyond = ask("files --offset 9 --json")
    empty = {"files": [], "total": 4, "offset": 9, "next_offset": 0}
    assert (beyond.code, beyond.json) == (1, empty)


def test_a_history_goes_through_renames_by_any_name(ask: Ask) -> None:
    answer = ask(f"history {COOKIES}")
    assert [line.split(" ", 2)[2] for line in answer.lines] == [
        f"Ada, renamed {OLD} → {COOKIES}: refactor: call it cookies",
        "Ada, changed: perf(auth): cache keys  [+auth]",
        "Ada, changed: fix(auth): refresh tokens  [+security -auth]",
        "Ada, added: feat(auth): sign cookies  [+auth]",
    ]
    assert ask(f"history {COOKIES} -n 2").lines == answer.lines[:2]
    patched = ask(f"history {COOKIES} -n 1 -p").out
    assert patched.startswith(answer.lines[0])
    assert f"rename from {OLD}" in patched
    newest = ask(f"history {COOKIES} -n 1 -p --json").json["revisions"][0]
    assert f"rename from {OLD}" in newest["patch"]
    assert ask(f"history {OLD}") == answer
    revisions = ask(f"history {OLD} --json").json["revisions"]
    assert [revision["tags"] for revision in revisions][:3] == [
        ["auth"],
        ["security"],
        ["auth", "security"],
    ]
    assert (revisions[3]["status"], revisions[3]["before"]) == ("R", OLD)
    assert all(item["ref"] == f"commit:{item['commit']}" for item in revisions)


@pytest.mark.parametrize("command", ["history", "cochange"])
def test_a_folder_is_no_file_and_one_of_its_files_is_named(ask: Ask, command: str) -> None:
    for folder in ("src/auth", "src/auth/"):
        answer = ask(f"{command} {folder}")
        assert answer.refused
        assert f"{folder!r} is a folder · give one of its files: src/auth/" in answer.err


def test_a_deleted_file_has_a_history_and_what_was_said_by_hand_is_told(ask: Ask) -> None:
    assert [line.split(" ", 2)[2] for line in ask(f"history {GONE}").lines] == [
        "Bob, deleted: drop the old client",
        "Ada, added: chore: vendor the old client  [+net]",
    ]
    ask(f"tag {COOKIES} +reviewed -wip")
    assert ask(f"history {OLD}").lines[-1] == "by hand: +reviewed -wip"
    assert ask(f"history {OLD} --json").json["by_hand"] == ["+reviewed", "-wip"]


def test_cochange_says_what_and_why(ask: Ask) -> None:
    answer = ask(f"cochange {OLD}")
    assert answer.lines[0].startswith(f"{TESTS}  in 3 of the 4 commits that touch either")
    assert paths(answer) == [TESTS, "docs/auth.md"]
    assert "perf(auth): cache keys" in answer.out
    output = ask(f"cochange {COOKIES} {TESTS} --json").json
    assert output["paths"] == [COOKIES, TESTS]
    (file,) = output["files"]
    assert (file["ref"], file["count"], file["weight"]) == ("file:docs/auth.md", 1, 0.5)
    assert [commit["subject"] for commit in file["commits"]] == ["feat(auth): sign cookies"]
    assert ask(f"cochange {COOKIES} --limit 1").out.startswith(TESTS)
    assert ask(f"cochange {GONE} --json").json["files"][0]["path"] == ".gitignore"


def test_lines_fit_the_terminal(ask: Ask, repo: Repository) -> None:
    repo.commit("fix: " + "a long subject " * 9, {COOKIES: LINES + "9", TESTS: "9"})
    for line in (f"history {COOKIES}", f"cochange {COOKIES}"):
        code, text = on_terminal(*line.split(), cwd=repo.root, NO_COLOR="1")
        assert code == 0
        long = [line for line in text.splitlines() if "a long subject" in line]
        assert long
        assert max(map(len, long)) <= COLUMNS


def test_paths_of_files_open_from_the_working_folder(ask: Ask, repo: Repository) -> None:
    docs = repo.root / "docs"
    assert paths(ask("files --tag docs", docs)) == ["auth.md"]
    assert paths(ask(f"cochange ../{COOKIES}", docs)) == [f"../{TESTS}", "auth.md"]
    for line in (f"cochange -l ../{COOKIES}", "files -l --tag auth"):
        names = ask(line, docs).lines
        assert names
        assert all((docs / name).is_file() for name in names)
    assert f"../{GONE}" in ask("files --deleted", docs).out
    assert GONE not in ask("files -l --deleted", docs).out
    elsewhere = ask(f"files -l --tag docs --space {repo.root}", repo.root.parent)
    assert elsewhere.out == f"{docs / 'auth.md'}\n"


def test_what_is_missing_from_a_commit_is_found(ask: Ask, repo: Repository) -> None:
    assert ask("cochange --staged").code == 1
    assert "nothing is staged" in ask("cochange --staged").err
    repo.put({"src/auth/new.py": "new"})
    only_new = ask("cochange --staged --json")
    assert (only_new.code, only_new.json) == (1, {"paths": ["src/auth/new.py"], "files": []})
    assert "no commit contains them yet" in ask("cochange --staged").err
    repo.put({COOKIES: LINES + "4"})
    missing = ask("cochange --staged")
    assert (missing.code, paths(missing)) == (0, [TESTS, "docs/auth.md"])
    assert "fix(auth): refresh tokens" in missing.out
    repo.put({TESTS: "4"})
    assert paths(ask("cochange --staged")) == ["docs/auth.md"]


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("notes.txt", "", "tags: auth, docs"),
        (".kinen/config.yml", 'git:\n  components: {"docs/**": [guide]}\n', "tags: guide"),
        ("varp.yaml", "core:\n  path: ./src/auth\n  tags: [safety]\n", "tags: core, safety"),
    ],
    ids=["folders", "git.components", "varp.yaml"],
)
def test_the_line_of_tags_for_what_is_staged(
    ask: Ask, repo: Repository, file: str, text: str, line: str
) -> None:
    (repo.root / file).parent.mkdir(exist_ok=True)
    (repo.root / file).write_text(text)
    assert ask("tags --staged").code == 1
    (repo.root / COOKIES).write_text("4")
    (repo.root / "docs" / "auth.md").write_text("# Auth\n")
    repo.git("add", COOKIES, "docs/auth.md")
    assert ask("tags --staged") == (0, f"{line}\n", "")
    output = ask("tags --staged --json").json
    assert output["paths"] == ["docs/auth.md", COOKIES]
    assert f"tags: {', '.join(output['tags'])}" == output["line"] == line
    (repo.root / ".memories").mkdir()
    (repo.root / ".memories" / "tea.md").write_text("tea\n")
    repo.git("add", ".memories")
    assert ask("tags --staged").out == f"{line}\n"


def test_the_line_of_tags_is_put_into_a_message_once(ask: Ask, repo: Repository) -> None:
    message = repo.root / ".git" / "COMMIT_EDITMSG"
    message.write_text("fix it\n\n# Please enter the message\n")
    repo.put({COOKIES: "4"})
    for _ in range(2):
        assert ask(f"tags --staged --into {message}") == (0, "", "")
        assert message.read_text() == "fix it\n\ntags: auth\n\n# Please enter the message\n"


def test_a_file_is_tagged_by_hand(ask: Ask) -> None:
    assert ask(f"tag {COOKIES} +reviewed wip") == (0, "auth, reviewed, security, wip\n", "")
    assert ask(f"tag {OLD} -wip") == (0, "auth, reviewed, security\n", "")
    ask("index --rebuild")
    assert paths(ask("files --tag reviewed")) == [COOKIES]
    assert ask(f"tag {GONE} -net") == (0, "no tags\n", "")


@pytest.mark.parametrize("tag", ["security", "auth", "json"])
def test_any_tag_can_be_taken_away(ask: Ask, tag: str) -> None:
    ask(f"tag {COOKIES} +{tag}")
    rest = sorted({"security", "auth"} - {tag})
    assert ask(f"tag {COOKIES} -{tag}") == (0, f"{', '.join(rest)}\n", "")


def test_a_file_is_shown_as_it_was_at_any_commit(ask: Ask, repo: Repository) -> None:
    repo.git("tag", "v1", "HEAD~5")
    assert ask(f"show {OLD}@v1") == (0, LINES, "")
    assert ask(f"show {COOKIES}@main") == (0, LINES + "3", "")
    output = ask(f"show {OLD}@{repo.head[:9]}~3 --json").json
    assert (output["path"], output["content"]) == (OLD, LINES + "3")


def test_a_commit_is_found_with_what_it_says(ask: Ask, repo: Repository) -> None:
    sha = repo.git("rev-parse", "HEAD~5")
    answer = ask("search --type commits --fulltext 'rotating key'")
    assert (answer.code, answer.lines[0]) == (0, "feat(auth): sign cookies")
    assert answer.lines[1].startswith(f"  commit:{sha[:12]} · Ada · 2023-11-14 · ")
    assert answer.lines[2].startswith(f"  {SIGNED}")
    whole = ask("search --type commits --fulltext 'rotating key' -v")
    assert whole.lines[2] == f"    {SIGNED}"
    assert "All else" not in whole.out
    source = ask("search -t commits rotating --json").json["results"][0]["source"]
    assert (source["ref"], source["at"]) == (f"commit:{sha}", "2023-11-14T22:14:20.000Z")
    assert source["metadata"]["author"] == "Ada"
    nothing = ask("search -t commits --fulltext zebra")
    assert (nothing.code, nothing.out) == (1, "")
    assert "nothing has the words of 'zebra' among commits" in nothing.err
    by_bob = ask("search -t commits --fulltext client --author bob")
    assert [line.startswith("  commit:") for line in by_bob.lines].count(True) == 1
    assert ask("search -t commits --fulltext client -l").code == 1
    assert ask("search -t commits --fulltext client --author carol").code == 1


def test_commits_that_touched_what_is_near_gain(ask: Ask) -> None:
    line = "search -t commits --fulltext 'cookies client' --json --near"
    votes = {
        hit["source"]["title"]: [vote["retriever"] for vote in hit["votes"]]
        for hit in ask(f"{line} {GONE}").json["results"]
    }
    assert [title for title, cast in votes.items() if "files" in cast] == list(votes)[:2]
    assert all("client" in title for title in list(votes)[:2])
    assert ask(f"{line} {COOKIES}").json["results"][0]["source"]["title"].endswith("cookies")


def test_files_are_found_and_their_shares_add_up(ask: Ask) -> None:
    answer = ask("search --type files 'sign cookies' --explain")
    assert answer.lines[1].startswith(f"  {COOKIES} · auth, security · ")
    assert "feat(auth): sign cookies" in answer.out
    results = ask("search -t files 'sign cookies' --json").json["results"]
    places = [line.split(" · ")[0].strip() for line in answer.lines if line.endswith("strong")]
    places += [line.split(" · ")[0].strip() for line in answer.lines if line.endswith("fair")]
    assert [hit["source"]["path"] for hit in results] == places
    for hit, line in zip(
        results, [item for item in answer.lines if " gives " in item], strict=True
    ):
        assert sum(vote["share"] for vote in hit["votes"]) == pytest.approx(hit["score"], abs=5e-6)
        assert f" = {hit['score']:.3f} · {hit['source']['ref']}#0" in line
    assert GONE not in answer.out
    assert ask("search -t files zebra").code == 1
    assert ask("search -t files cookies --tag docs -l").lines == ["docs/auth.md"]


def test_several_repositories_are_searched_together(ask: Ask, tmp_path: Path) -> None:
    sha = Repository(tmp_path / "other").commit("feat: cookies of another kind", {"jar.py": "1"})
    assert ask("index").code == ask("index", cwd=tmp_path / "other").code == 0
    results = ask("search -t commits cookies --space all --json").json["results"]
    assert {hit["source"]["space"] for hit in results} == {"repo", "other"}
    assert str(tmp_path / "other/jar.py") in ask("search -t files cookies --space all").out
    assert f"other:commit:{sha[:12]} · " in ask("search -t commits cookies --space all").out


def test_a_subfolder_names_files_from_there(ask: Ask, repo: Repository) -> None:
    inside = repo.root / "src" / "auth"
    assert ask("history cookies.py", cwd=inside).out == ask(f"history {COOKIES}").out
    assert ask(f"history {COOKIES}", cwd=inside).code == 0
    assert ask("show cookies.py@HEAD", cwd=inside).out == LINES + "3"
    assert ask("tag cookies.py +here", cwd=inside).code == 0
    together = [f"../../{TESTS}", "../../docs/auth.md"]
    assert paths(ask("cochange cookies.py", cwd=inside)) == together
    assert paths(ask("files --source-only", cwd=inside)) == ["cookies.py"]
    (inside / "cookies.py").write_text("4")
    repo.git("add", "-A")
    assert ask("tags --staged", cwd=inside).out == "tags: auth\n"
    assert ask("cochange --staged --json", cwd=inside).json["paths"] == [COOKIES]
    assert ask("search cookies --near cookies.py", cwd=inside).code == 0


def test_a_subfolder_names_files_that_are_gone_from_there(ask: Ask, repo: Repository) -> None:
    inside = repo.root / "src" / "auth"
    assert ask("history session.py", cwd=inside).out == ask(f"history {COOKIES}").out
    assert ask("show session.py@HEAD~5", cwd=inside).out == LINES


def test_a_worktree_has_its_own_stage_and_the_same_memory(ask: Ask, repo: Repository) -> None:
    ask(f"tag {COOKIES} +reviewed")
    tree = repo.root.parent / "tree"
    repo.git("worktree", "add", "-q", str(tree), "-b", "side")
    (tree / TESTS).write_text("4")
    Repository(tree, "existing").git("add", "-A")
    assert ask("cochange --staged").code == 1
    assert paths(ask("cochange --staged", cwd=tree))[0] == COOKIES
    assert ask("tags --staged --json", cwd=tree / "docs").json["paths"] == [TESTS]
    assert ask("files --tag reviewed", cwd=tree).out.startswith(COOKIES)
    assert ask("history cookies.py", cwd=tree / "src" / "auth").out == ask(f"history {OLD}").out
    assert ask(f"show {tree / COOKIES}@side", cwd=tree).out == LINES + "3"
    listed = [ask("space list --json", cwd=cwd).json["spaces"] for cwd in (repo.root, tree)]
    assert [space["id"] for space in listed[0]] == [space["id"] for space in listed[1]]


def test_help_has_an_example(ask: Ask) -> None:
    for name in "files history cochange tags tag show search snapshot hooks".split():
        ran = ask(f"{name} --help")
        assert (ran.code, ran.err) == (0, "")
        examples = ran.out.partition("Examples:")[2].partition("Options:")[0]
        assert any(f"kinen {words}" in examples for words in (name, *also(name)))
