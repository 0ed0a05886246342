"""Questions to several spaces: which are asked, what they find, and that none is indexed for it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from starlette.testclient import TestClient

from kinen import Memory
from kinen.cli import main
from kinen.http.app import create_app
from kinen.http.guard import Access
from kinen.http.space import Hub
from kinen.mcp.server import create_server
from kinen.memory.federation import recall_spaces, search_spaces
from kinen.memory.pool import MemoryPool
from kinen.model.records import Query
from kinen.space import find as spaces
from mcp import Client

if TYPE_CHECKING:
    from collections.abc import Callable

FRUIT = {"one": "apricot", "two": "banana", "three": "cherry"}


@pytest.fixture
def roots(tmp_path: Path) -> dict[str, Path]:
    """Three indexed spaces, and a registered one that was never indexed."""
    results = {}
    for name in (*FRUIT, "fresh"):
        root = tmp_path / name
        (root / ".kinen").mkdir(parents=True)
        word = FRUIT.get(name, "mango")
        (root / "fruit.md").write_text(f"# Fruit\n\nThe basket has one {word}.\n")
        results[name] = root
        if name in FRUIT:
            with Memory.open(root) as memory:
                memory.sync()
                memory.observe(f"bought the {word}")
        else:
            spaces.register(spaces.at(root))
    return results


def index_files(roots: dict[str, Path]) -> dict[str, tuple[int, int]]:
    """The size and time of each index; nothing for a space without one."""
    files = {}
    for name, root in roots.items():
        file = Path(spaces.find(root).index_folder()) / "index.db"
        if file.exists():
            stat = file.stat()
            files[name] = (stat.st_size, stat.st_mtime_ns)
    return files


def fulltext(text: str) -> Callable[[Memory], Query]:
    return lambda memory: Query(text, mode="fulltext")


def test_all_spaces_are_searched_and_none_is_indexed(roots: dict[str, Path]) -> None:
    (roots["one"] / "later.md").write_text("# Later\n\nA basket of plums.\n")
    (roots["two"] / "fruit.md").write_text("# Fruit\n\nThe basket is empty.\n")
    assert set(index_files(roots)) == set(FRUIT)
    hits = search_spaces(["all"], fulltext("basket"))
    assert {hit.space for hit in hits} == set(FRUIT)
    assert not any("later" in hit.record.path for hit in hits)
    assert any(note.startswith("fresh: not indexed yet") for note in hits.notes)
    assert set(index_files(roots)) == set(FRUIT)


def test_the_best_of_all_spaces_are_those_of_each(roots: dict[str, Path]) -> None:
    for n, root in enumerate(roots.values()):
        text = "".join(
            f"## {i}\n\n{'basket ' * (1 + i * (n + 1) % 7)}of {i}\n\n" for i in range(30)
        )
        (root / "many.md").write_text(text)
    each = []
    for name in FRUIT:
        with Memory.open(roots[name]) as memory:
            memory.sync()
            found = memory.search(Query("basket", mode="fulltext", limit=5))
            each += [(-hit.score, name, hit.record.ref, hit.chunk.n) for hit in found]
    hits = search_spaces(["all"], lambda _: Query("basket", mode="fulltext", limit=5))
    merged = [(-hit.score, hit.space, hit.record.ref, hit.chunk.n) for hit in hits]
    assert merged == sorted(each)[:5]


def test_a_server_keeps_memories_open_and_sees_what_is_new(roots: dict[str, Path]) -> None:
    opened = []

    def opener(folder: str) -> Memory:
        opened.append(Memory.open(folder))
        return opened[-1]

    pool = MemoryPool(opener)
    first = search_spaces(["all"], fulltext("basket"), opener=pool.open_space)
    with Memory.open(roots["two"]) as memory:
        (roots["two"] / "new.md").write_text("# New\n\nAnother basket.\n")
        memory.sync()
    second = search_spaces(["all"], fulltext("basket"), opener=pool.open_space)
    assert {hit.record.path for hit in second} - {hit.record.path for hit in first} == {"new.md"}
    assert sum("opened_reader" in vars(memory.core) for memory in opened) == len(FRUIT)
    anyio.run(pool.close)
    assert not any("opened_reader" in vars(memory.core) for memory in opened)


def test_by_meaning_the_question_is_embedded_once(
    roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kinen.embed.onnx import OnnxEmbedder

    embedded: list[list[str]] = []
    plain = OnnxEmbedder.embed

    def counted(self: OnnxEmbedder, texts: list[str], *, query: bool = False) -> object:
        embedded.append(list(texts))
        return plain(self, texts, query=query)

    monkeypatch.setattr(OnnxEmbedder, "embed", counted)
    hits = search_spaces(["all"], lambda memory: Query("what is in the basket"))
    assert {hit.space for hit in hits} == set(FRUIT)
    assert embedded == [["what is in the basket"]]
    alone = []
    for name in FRUIT:
        with Memory.open(roots[name]) as memory:
            results = memory.search(Query("what is in the basket"))
            alone += [(name, hit.record.ref, round(hit.score, 6)) for hit in results]
    assert {(hit.space, hit.record.ref, round(hit.score, 6)) for hit in hits} <= set(alone)


def test_recall_of_all_spaces_indexes_none(roots: dict[str, Path]) -> None:
    answer = recall_spaces(["all"], Query("basket", budget=2000))
    assert {item.space for item in answer.items} == set(FRUIT)
    assert set(index_files(roots)) == set(FRUIT)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    output = capsys.readouterr()
    return int(ended.value.code or 0), output.out, output.err


@pytest.mark.parametrize(
    "words",
    [
        ["list", "observations"],
        ["status"],
        ["index", "status"],
        ["index"],
        ["search", "basket"],
        ["recall", "basket"],
    ],
    ids=" ".join,
)
def test_commands_take_all_or_several_spaces(
    roots: dict[str, Path], capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    code, out, _ = run(capsys, *words, "--space", "all")
    assert code == 0
    for name in FRUIT:
        assert name in out
    code, out, _ = run(capsys, *words, "--space", "one", "--space", "two")
    assert code == 0
    assert "three" not in out
    assert "one" in out
    assert "two" in out
    code, out, _ = run(capsys, *words, "--space", "all", "--json")
    assert json.loads(out)


@pytest.mark.parametrize("tool", ["search", "recall"])
def test_mcp_and_http_take_all_or_several_spaces(roots: dict[str, Path], tool: str) -> None:
    async def by_mcp(space: object) -> str:
        with Memory.open(roots["one"]) as memory:
            async with Client(create_server(memory)) as client:
                arguments = {"query": "basket", "mode": "fulltext", "space": space}
                answer = await client.call_tool(f"kinen_{tool}", arguments)
        assert not answer.is_error, answer.content
        return answer.content[0].text

    def by_http(space: object) -> str:
        pool = MemoryPool(lambda folder: Memory.open(folder or roots["one"]))
        app = create_app(pool, hub=Hub(), state=dict, access=Access("t", 7))
        client = TestClient(app, base_url="http://127.0.0.1:7")
        headers = {"Authorization": "Bearer t", "X-Kinen-Space": str(roots["one"])}
        body = {"query": "basket", "mode": "fulltext", "space": space}
        answer = client.post(f"/v1/{tool}", json=body, headers=headers)
        anyio.run(pool.close)
        assert answer.status_code == 200, answer.text
        return answer.text

    before = index_files(roots)
    for ask in (lambda space: anyio.run(by_mcp, space), by_http):
        everywhere = ask("all")
        assert all(word in everywhere for word in FRUIT.values())
        some = ask(["one", "three"])
        assert "apricot" in some
        assert "cherry" in some
        assert "banana" not in some
        assert "banana" in ask("two")
    assert index_files(roots) == before


@pytest.mark.parametrize("words", [["plan", "list"], ["memories", "list"], ["context"]])
def test_commands_over_spaces_without_results_say_so(
    roots: dict[str, Path], capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    code, out, err = run(capsys, *words, "--space", "all")
    assert (code, out) == (1, "")
    assert "Traceback" not in err
    with Memory.open(roots["two"]) as memory:
        memory.worklog.save_plan("Ripen", "- [ ] wait")
    code, out, _ = run(capsys, "plan", "list", "--space", "all")
    assert code == 0
    assert out.startswith("# two\n")


def test_reading_does_not_register_a_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "plain"
    (root / ".kinen").mkdir(parents=True)
    monkeypatch.chdir(root)
    for words in (["status"], ["list", "observations"], ["plan", "list"], ["config", "show"]):
        run(capsys, *words)
    assert run(capsys, "space", "list")[0] == 1
    run(capsys, "log", "something happened")
    assert run(capsys, "space", "list")[1].split()[0] == "plain"


def test_spaces_are_listed_with_figures_purged_and_collected(
    roots: dict[str, Path], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = json.loads(run(capsys, "space", "list", "--json")[1])["spaces"]
    by_name = {space["name"]: space for space in listed}
    assert by_name["one"]["notes"] == 1
    assert by_name["one"]["bytes"] > 0
    assert by_name["one"]["used"]
    assert by_name["fresh"]["notes"] == 0
    data = {name: Path(space["data"]) for name, space in by_name.items()}

    assert run(capsys, "gc")[0] == 1
    (roots["three"] / "fruit.md").write_text("# Fruit\n\nOnly a lemon is left.\n")
    with Memory.open(roots["three"]) as memory:
        memory.sync()
    assert "unused vectors: 1)" in run(capsys, "gc", "--dry-run")[1]
    assert "unused vectors: 1)" in run(capsys, "gc")[1]
    assert run(capsys, "gc")[0] == 1
    with Memory.open(roots["three"]) as memory:
        assert memory.index.status().pending == 0
    assert run(capsys, "space", "remove", "one")[0] == 0
    code, out, _ = run(capsys, "gc", "--dry-run")
    assert code == 0
    assert "would be freed" in out
    assert (data["one"] / "index.db").exists()
    assert run(capsys, "gc")[0] == 0
    assert sorted(path.name for path in data["one"].iterdir() if path.suffix == ".db") == [
        "journal.db"
    ]
    assert (data["two"] / "index.db").exists()

    code, out, _ = run(capsys, "space", "remove", "two", "--purge")
    assert code == 0
    assert "deleted its journal, memories and index" in out
    assert not data["two"].exists()
    assert (roots["two"] / "fruit.md").exists()


def test_no_embed_is_remembered(
    roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(roots["fresh"])
    assert run(capsys, "index", "--no-embed")[0] == 0
    with Memory.open() as memory:
        assert memory.index.embed_new(bool) == (0, 0)
        memory.search("basket")
        assert memory.index.status().counts.vectors == 0
    assert run(capsys, "index", "--quiet")[0] == 0
    with Memory.open() as memory:
        assert memory.index.vectors_off, "a git hook undid it"
    assert run(capsys, "index")[0] == 0
    with Memory.open() as memory:
        assert memory.index.status().pending == 0
        assert not memory.index.vectors_off


def test_gc_forgets_clones_that_are_gone(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    from sources.repositories import Repository, clone, opened

    origin = Repository(tmp_path / "origin")
    origin.commit("feat: tea", {"tea.md": "# Tea\n"})
    for name in ("one", "two"):
        clone(origin.root, tmp_path / name)
        with opened(tmp_path / name) as memory:
            memory.sync()
            folder, listed = memory.core.folder, memory.space.roots
    assert len(listed) == 2
    shutil.rmtree(tmp_path / "two")
    assert os.path.isdir(folder)
    code, out, _ = run(capsys, "gc")
    assert code == 0
    assert "the clone or worktree is gone" in out
    assert not os.path.exists(folder)
    assert spaces.find(tmp_path / "one").roots == (str(tmp_path / "one"),)
