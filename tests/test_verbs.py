"""A verb is declared once, and every surface has it with the same answer."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from starlette.testclient import TestClient

from kinen.http.app import create_app
from kinen.http.guard import Access
from kinen.http.space import Hub
from kinen.mcp.server import create_server
from kinen.memory import Memory
from kinen.memory.pool import MemoryPool
from kinen.verbs.catalogue import verbs
from kinen.verbs.requests import schema
from kinen.verbs.verb import Verb
from mcp import Client
from sources.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Ran

VERBS = {name: verb for name, verb in verbs() if verb.route or verb.tool}
MEMORY = "the id of a memory"
CAPSULE = "the id of a capsule"
OBSERVATION = "the id of an observation"
PIN = "the id of a pin"
ASKED: dict[str, tuple[list[str], dict[str, Any]]] = {
    "context": (["--file", "a.py"], {"file": "a.py"}),
    "graph broken": ([], {}),
    "graph export": ([], {}),
    "graph orphans": ([], {}),
    "graph show": (["tea.md"], {"ref": "tea.md"}),
    "handoff": ([], {}),
    "index status": ([], {}),
    "show": (["tea.md:1"], {"ref": "tea.md:1"}),
    "standup": (["--since", "2000-01-01"], {"since": "2000-01-01"}),
    "tags": ([], {}),
    "memories list": ([], {}),
    "capsule show": ([CAPSULE], {"id": CAPSULE}),
    "memories show": ([MEMORY], {"name": MEMORY}),
    "ask": (["what does tea need"], {"question": "what does tea need"}),
    "blame": (["a.py"], {"path": "a.py"}),
    "cochange": (["a.py"], {"paths": ["a.py"]}),
    "files": (["--tag", "tea"], {"tags": ["tea"]}),
    "fix": (["KeyError: 'tea'"], {"error": "KeyError: 'tea'"}),
    "friction": (["--sessions", "2"], {"sessions": 2}),
    "history": (["a.py"], {"path": "a.py"}),
    "how": (["make", "tea"], {"command": "make tea"}),
    "recall": (["what does tea need"], {"query": "what does tea need"}),
    "related": (["tea.md"], {"ref": "tea.md"}),
    "restore": (["a.py"], {"path": "a.py"}),
    "search": (["what does tea need"], {"query": "what does tea need"}),
    "why": (["a.py:1"], {"target": "a.py:1"}),
}
"""The words of a command line for each verb that reads, and the same as a request."""
REQUESTED: dict[str, dict[str, Any]] = {
    "correct memory": {"action": "forget", "id": MEMORY},
    "capsule close": {"id": CAPSULE},
    "change plan": {"action": "save", "title": "Tea", "content": "- [ ] boil"},
    "forget observation": {"id": OBSERVATION},
    "links": {"path": "tea.md"},
    "list capsules": {"limit": 1},
    "list observations": {"kinds": ["error"], "scope": {"session": "s1"}},
    "list open capsules": {"session": "s1"},
    "list pins": {},
    "observe": {"content": "the kettle sings", "scope": {"session": "s1"}},
    "pre compact": {"session": "s1"},
    "prompt": {"prompt": "make tea"},
    "retrieve": {"query": "tea"},
    "session start": {"session": "s1"},
    "save": {"description": "Tea is made", "tags": ["tea"]},
    "read": {"path": "tea.md", "links": True},
    "remove pin": {"id": PIN},
}
"""Requests that no command makes."""
WRITTEN: dict[str, tuple[list[str], dict[str, Any]]] = {
    "memories add": (["Cups are blue"], {"text": "Cups are blue"}),
    "capsule open": (["--intent", "tea"], {"intent": "tea", "scopeIds": {"taskId": "t"}}),
    "pin": (["tea.md"], {"target": "tea.md", "ttl": "12h"}),
    "tag": (["a.py", "+hot"], {"path": "a.py", "ops": ["+hot"]}),
}
"""The same for each verb that writes."""


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home and a repository with three commits and two sessions with the same error."""
    folder = tmp_path_factory.mktemp("verbs")
    (folder / "all" / "space" / ".kinen").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINEN_HOME", str(folder / "all" / "kinen"))
        patch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
        fill(folder / "all" / "space")
    shutil.copytree(folder / "all", folder / "kept", symlinks=True)
    return folder


@pytest.fixture
def space(pristine: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository as it was."""
    shutil.rmtree(pristine / "all")
    shutil.copytree(pristine / "kept", pristine / "all", symlinks=True)
    monkeypatch.setenv("KINEN_HOME", str(pristine / "all" / "kinen"))
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    return pristine / "all" / "space"


def fill(space: Path) -> None:
    repository = Repository(space, "existing")
    repository.git("init", "-q", "-b", "main")
    repository.commit("feat: tea\n\ntags: tea", {"a.py": "1\n", "b.py": "1\n"})
    notes = {"tea.md": "# Tea\n\nTea needs a [[kettle]].\n", "kettle.md": "# Kettle\n\nIt boils.\n"}
    notes["cup.md"] = "# Cup\n\nIt is empty.\n"
    repository.commit("docs: tea", notes)
    repository.commit("fix: tea", {"a.py": "2\n", "b.py": "2\n"})
    with Memory.open(repository.root) as memory:
        for session in ("s1", "s2"):
            scope = {"session": session}
            memory.journal.open_capsule("make tea", scope=scope)
            about = {"command": "make tea", "exitCode": 1}
            text = "$ make tea\nKeyError: 'tea' is not in the kettle"
            memory.observe(text, kind="error", scope=scope, provenance=about)
            about = {"command": "make tea", "exitCode": 0}
            memory.observe("$ make tea\nok", kind="command", scope=scope, provenance=about)
        edit = "Tool: Edit\nFile: a.py\n-1\n+2"
        memory.observe(edit, kind="file_diff", files=["a.py"], scope={"session": "s2"})
        memory.consolidation.remember("Tea is green", type="decision")
        memory.journal.pin("tea.md", "")
        memory.sync(embed=False)


def asked(space: Path, value: Any) -> Any:
    """Words or a request, with the id of the memory that is there."""
    with Memory.open(space) as memory:
        known = {
            MEMORY: memory.consolidation.memories()[0].id,
            CAPSULE: memory.journal.entries("capsules")[0][0].id,
            OBSERVATION: memory.journal.entries("observations")[0][0].id,
            PIN: memory.journal.entries("pins")[0][0].id,
        }
    text = json.dumps(value)
    for word, name in known.items():
        text = text.replace(word, name)
    return json.loads(text)


@pytest.fixture
def client(space: Path) -> Iterator[TestClient]:
    pool = MemoryPool(lambda _: Memory.open(space))
    app = create_app(pool, hub=Hub(), state=dict, access=Access("t", 7), default=str(space))
    with TestClient(app, base_url="http://127.0.0.1:7") as client:
        client.headers["Authorization"] = "Bearer t"
        yield client
    anyio.run(pool.close)


def test_every_verb_is_asked_here() -> None:
    assert {*ASKED, *REQUESTED, *WRITTEN} == set(VERBS)
    writing = {name for name, verb in VERBS.items() if verb.writes}
    requests = {"capsule close", "change plan", "correct memory", "forget observation"}
    assert writing == {*WRITTEN, *requests, "observe", "remove pin", "save"}


def requested(client: TestClient, verb: type[Verb], request: dict[str, Any]) -> list[Any]:
    """The answers of the endpoint of a verb, one by each method."""
    in_path = re.findall(r"{(\w+)", verb.route)
    place = re.sub(r"{(\w+)[^}]*}", lambda match: str(request[match[1]]), verb.route)
    rest = {name: value for name, value in request.items() if name not in in_path}
    answers = []
    for method in verb.methods or (("POST",) if verb.writes else ("POST", "GET")):
        body: dict[str, Any] = {"params" if method in ("GET", "DELETE") else "json": rest}
        answer = client.request(method, f"/v1/{place}", **body)
        assert answer.status_code == 200, answer.text
        answers.append(answer.json())
    return answers


@pytest.mark.parametrize("name", ASKED)
def test_command_line_http_and_python_answer_the_same(
    space: Path, client: TestClient, kinen: Callable[..., Ran], name: str
) -> None:
    words, request = asked(space, ASKED[name])
    verb = VERBS[name]
    run = kinen(*name.split(), *words, "--json")
    assert run.code == 0, run.err
    answer = json.loads(run.out)
    assert all(value == answer for value in requested(client, verb, request))
    with Memory.open(space) as memory:
        called: Verb = verb(**request)
        assert called.answer(memory).data == answer


@pytest.mark.parametrize("name", WRITTEN)
def test_what_a_verb_writes_has_the_same_fields_on_every_surface(
    space: Path, client: TestClient, kinen: Callable[..., Ran], name: str
) -> None:
    words, request = asked(space, WRITTEN[name])
    run = kinen(*name.split(), *words, "--json")
    assert run.code == 0, run.err
    (answer,) = requested(client, VERBS[name], request)
    assert answer.keys() == json.loads(run.out).keys()


@pytest.mark.parametrize("name", REQUESTED)
def test_a_request_without_a_command_has_its_fields(
    space: Path, client: TestClient, name: str
) -> None:
    verb = VERBS[name]
    if not verb.route:
        return
    for answer in requested(client, verb, asked(space, REQUESTED[name])):
        model = schema(verb.result)
        fields = getattr(model, "model_fields", None) or model.__dataclass_fields__
        assert answer.keys() == fields.keys()


@pytest.mark.parametrize("name", [name for name, verb in VERBS.items() if verb.tool])
def test_the_tool_of_a_verb_answers_with_its_fields(space: Path, name: str) -> None:
    request = {**REQUESTED, **{key: row[1] for key, row in {**ASKED, **WRITTEN}.items()}}[name]
    request = asked(space, request)

    async def call() -> Any:
        with Memory.open(space) as memory:
            async with Client(create_server(memory)) as client:
                return await client.call_tool(VERBS[name].tool, request)

    result = anyio.run(call)
    assert not result.is_error, result.content
    shapes = getattr(VERBS[name].result, "__args__", (VERBS[name].result,))
    if all(hasattr(shape, "__dataclass_fields__") for shape in shapes):
        fields = {field for shape in shapes for field in shape.__dataclass_fields__}
        assert set(result.structured_content) - {"notice"} <= fields
    assert len(result.structured_content) > 1


def test_a_path_outside_the_space_is_refused_by_every_verb(client: TestClient) -> None:
    for path in ("../secret", "/etc/passwd", "a/../../b"):
        answer = client.get("/v1/history", params={"path": path})
        assert answer.status_code in (400, 404), answer.text


def test_unknown_fields_and_limits_without_bound_are_refused(client: TestClient) -> None:
    assert client.get("/v1/how", params={"command": "make", "nope": 1}).status_code == 400
    assert client.post("/v1/how", json={"command": "make", "limit": 0}).status_code == 400
    assert client.post("/v1/how", json={"command": ""}).status_code == 400
