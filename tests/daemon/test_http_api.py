"""The endpoints, asked over a real socket about a real space."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from daemon.served import NOTE, Project, application, client, opened, serving, unix_door
from kinen import embed
from kinen.errors import Busy, DiskFull, StoreError
from kinen.http.app import create_app
from kinen.http.space import Hub
from kinen.memory import Memory
from kinen.memory.pool import MemoryPool
from kinen.model.records import Query
from kinen.render.journal import recall_json, recall_text
from kinen.render.json import to_json
from kinen.render.screen import Screen, Style
from kinen.render.text import search_text
from kinen.text import now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROMPT = "why did sessions move from redis to postgres?"
TOKEN = "ghp_" + "Zq7Rk2Vx9Lm4Tn8Wb3Yc6Hd1Jf5Gs0Pa4Ke7"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("http"))


@pytest.fixture(autouse=True)
def inside(project: Project, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project.enter(monkeypatch)
    monkeypatch.setenv("KINEN_DAEMON_AUTO_START", "0")


class Asked:
    """A client that knows the form of every answer, and which endpoints it has asked."""

    def __init__(self, over: httpx.Client) -> None:
        self.over, self.seen = over, set[tuple[str, str]]()
        self.schema = over.get("/v1/openapi.json").json()

    def __call__(self, method: str, path: str, code: int = 200, **more: Any) -> Any:
        got = self.over.request(method, f"/v1{path}", **more)
        assert got.status_code == code, got.text
        kind = got.headers["content-type"]
        place = self.place(got.request.url.path, method.lower())
        self.seen.add((method, place))
        schema = self.schema["paths"][place][method.lower()]["responses"][str(code)]
        for step in schema.get("$ref", "").split("/")[1:]:
            schema = self.schema if step == "components" else schema
            schema = schema[step]
        form = {**schema["content"][kind]["schema"], "components": self.schema["components"]}
        if kind == "application/json":
            Draft202012Validator(form).validate(got.json())
            return got.json()
        return got.text

    def place(self, path: str, method: str) -> str:
        """The path of OpenAPI that one belongs to, the most exact first."""
        for file in sorted(self.schema["paths"], key=lambda item: item.count("{")):
            pattern = re.sub(r"\\{\w+\\}", "[^/]+" if "ref" not in file else ".+", re.escape(file))
            if re.fullmatch(pattern, path) and method in self.schema["paths"][file]:
                return file
        raise LookupError(path)


@pytest.fixture(scope="module")
def ask(project: Project) -> Iterator[Asked]:
    app = application()
    door, path = unix_door()
    with serving(app, door), client(path, **{"X-Kinen-Space": str(project.root)}) as over:
        yield Asked(over)


def observed(ask: Asked, content: str, session: str, **more: Any) -> Any:
    return ask(
        "POST", "/observations", json={"content": content, "scope": {"session": session}, **more}
    )


def listed(ask: Asked, **request: Any) -> list[str]:
    answer = ask("POST", "/observations/list", json=request)["observations"]
    return [item["content"] for item in answer]


# All of it


def test_every_endpoint_answers_in_the_form_that_it_declares(ask: Asked) -> None:
    ask("GET", "/health")
    ask("GET", "/status")
    scope = {"session": "whole", "agent": "tester"}
    capsule = ask("POST", "/capsules", json={"intent": "try all", "scope": scope})["id"]
    observation = observed(
        ask, "the kettle boiled over", "whole", files=[NOTE], provenance={"a": [1]}
    )
    assert observation["capsule"] == capsule
    pin = ask("POST", "/pins", json={"target": NOTE, "note": "read it first", "ttl": 600})
    for method in ("POST", "GET"):
        more = {"json" if method == "POST" else "params": {"query": "why drop redis", "limit": 3}}
        assert ask(method, "/search", **more)["results"]
        assert ask(method, "/recall", **more)["items"]
    digest = ask("POST", "/recall", json={"query": "why drop redis", "distiller": "extract"})
    assert (digest["digest"]["by"], digest["items"][-1]["tier"]) == ("extract", "pins")
    answer = ask("POST", "/retrieve", json={"query": "kettle", "scope": {"session": "whole"}})
    assert [item["ref"] for item in answer["pins"]] == [f"note:{NOTE}"]
    assert any("kettle" in hit["text"] for hit in answer["hits"])
    for name in ("session-start", "pre-compact"):
        assert "read it first" in ask("POST", f"/context/{name}", json={"session": "s"})["text"]
    assert "Redis" in ask("POST", "/context/prompt", json={"prompt": PROMPT})["text"]
    assert ask("POST", "/observations/list", json={"scope": scope | {"agent": ""}})["observations"]
    assert ask("GET", "/capsules", params={"session": "whole"})["capsules"]
    assert ask("GET", "/capsules/open", params={"session": "whole"})["capsules"][0]["id"] == capsule
    assert ask("GET", f"/capsules/{capsule}")["observations"][0]["id"] == observation["id"]
    closed = ask("PATCH", f"/capsules/{capsule}/close", json={"summary": "it did"})
    assert (closed["status"], closed["summary"]["content"]) == ("closed", "it did")
    assert ask("GET", "/pins")["pins"][0]["target"] == f"note:{NOTE}"
    assert ask("DELETE", f"/pins/{pin['id']}") == {"unpinned": [f"note:{NOTE}"]}
    assert ask("GET", f"/records/note:{NOTE}")["chunks"]
    assert ask("GET", f"/records/file:{NOTE}")["edges"]
    assert ask("GET", f"/records/{NOTE}:1") == ask("GET", f"/records/{NOTE}?line=1")
    assert ask("GET", "/links", params={"ref": NOTE, "depth": 2})["edges"]
    assert "orphans" in ask("GET", "/orphans")
    assert "edges" in ask("GET", "/broken-links")
    requests = {
        "ask": {"question": "why drop redis"},
        "blame": {"path": NOTE},
        "versions": {"path": NOTE},
        "broken-links": {},
        "cochange": {"path": NOTE},
        "context": {"file": NOTE},
        "files": {},
        "fix": {"error": "KeyError: 'tea'"},
        "friction": {},
        "graph": {"refs": [NOTE]},
        "handoff": {},
        "history": {"path": NOTE},
        "how": {"command": "make tea"},
        "index/status": {},
        "links": {"ref": NOTE},
        "orphans": {},
        "related": {"ref": NOTE},
        "standup": {"since": "2026-09-01"},
        "why": {"target": f"{NOTE}:1"},
    }
    by_post = {name: ask("POST", f"/{name}", json=fields) for name, fields in requests.items()}
    by_get = {name: ask("GET", f"/{name}", params=fields) for name, fields in requests.items()}
    assert by_get == by_post
    assert by_get["related"]["ref"] == f"note:{NOTE}"
    assert len(by_get["history"]["revisions"]) == 2
    assert by_get["cochange"]["files"][0]["count"] == 2
    first = ask("GET", "/artifact", params={"path": NOTE, "ref": "HEAD~1"})
    latest = ask("GET", "/artifact", params={"path": NOTE})
    assert (len(first["commits"]), len(latest["commits"])) == (1, 2)
    assert first["content"] != latest["content"]
    assert ask("GET", "/context", params={"file": NOTE})["items"]
    assert ask("GET", "/tags")["tags"]
    assert "## " in ask("GET", "/standup", params={"since": "10w"})["markdown"]
    assert ask("GET", "/handoff")["space"]
    assert ask("GET", "/memories", params={"type": "decision"})["memories"] == []
    ask("POST", "/memories", 404, json={"action": "undo"})
    added = ask("POST", "/memories/add", json={"content": "Tea is made with boiling water"})
    assert ask("GET", f"/memories/{added['id']}")["content"] == "Tea is made with boiling water"
    assert ask("POST", "/tag", json={"path": NOTE, "ops": ["+tea"]})
    bundle = ask("GET", "/export")
    ask("POST", "/import", json=bundle, params={"dry_run": True})
    ask("POST", "/vectors", 409, json={"texts": ["a"], "model": "another"})
    ask("POST", f"/observations/{observation['id']}/forget")
    assert ask("POST", "/web", 409)["error"]["code"] == "conflict"  # no port is open here
    paths = ask.schema["paths"].items()
    every = {(method.upper(), path) for path, methods in paths for method in methods}
    assert every - ask.seen == {("GET", "/v1/events")}


def test_an_exact_search_is_for_the_words_as_one_phrase(ask: Asked) -> None:
    request = {"query": "the dns provider has most likely", "exact": True}
    answer = ask("POST", "/search", json=request)["results"]
    assert [hit["source"]["path"] for hit in answer] == [NOTE]
    assert "the DNS provider has most likely" in answer[0]["chunk"]["content"]
    scrambled = {"query": "most likely the provider has dns", "exact": True}
    assert ask("POST", "/search", json=scrambled)["results"] == []


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, ["--json"]),
        ({"context": 1, "types": ["rounds"], "limit": 2}, ["--json", "-C1", "-trounds", "-n2"]),
    ],
)
def test_a_search_is_answered_with_the_bytes_that_the_command_prints(
    ask: Asked, kinen: Callable[..., Any], project: Project, how: Any, words: list[str]
) -> None:
    ask.over.post("/v1/search", json={"query": "redis"})  # the first one also indexes
    response = ask.over.post("/v1/search", json={"query": "why drop redis", **how})
    ran = kinen("search", *words, "why drop redis", cwd=project.root)
    assert (response.text + "\n", response.headers["x-kinen-code"]) == (ran.out, "0")
    plain = {"accept": "text/plain"}
    response = ask.over.post("/v1/search", json={"query": "why drop redis", **how}, headers=plain)
    ran = kinen("search", *words[1:], "why drop redis", cwd=project.root)
    assert response.text + "\n" == ran.out
    assert response.headers["content-type"].startswith("text/plain")


def test_a_search_as_text_has_files_votes_and_colours_if_asked(
    ask: Asked, project: Project
) -> None:
    with Memory.open(project.root) as memory:
        hits = memory.search(Query("drop redis", limit=10, once=True))
    for name in ("files", "explain", "verbose"):
        payload = {"query": "drop redis", "limit": 10, name: True}
        response = ask.over.post("/v1/search", json=payload, headers={"accept": "text/plain"})
        assert response.text == search_text(hits, **{name: True})
    payload = {"query": "drop redis", "limit": 10, "colour": True, "width": 60}
    response = ask.over.post("/v1/search", json=payload, headers={"accept": "text/plain"})
    assert response.text == search_text(hits, screen=Screen(Style(colour=True), 60, now()))


def test_a_recall_is_answered_with_what_the_command_prints(ask: Asked, project: Project) -> None:
    with Memory.open(project.root) as memory:
        recalled = memory.recall(Query("drop redis", limit=20))
    payload = {"query": "drop redis"}
    assert ask.over.post("/v1/recall", json=payload).text == to_json(recall_json(recalled))
    plain = ask.over.post("/v1/recall", json=payload, headers={"accept": "text/plain"})
    assert plain.text == recall_text(recalled)


def test_a_search_that_finds_nothing_says_so_by_its_code(ask: Asked) -> None:
    payload = {"query": "zzyzx", "mode": "fulltext", "types": ["commits"]}
    response = ask.over.post("/v1/search", json=payload)
    assert (response.status_code, response.headers["x-kinen-code"]) == (200, "1")
    assert response.json()["results"] == []


def test_remarks_come_in_a_header_percent_encoded(ask: Asked) -> None:
    response = ask.over.post("/v1/search", json={"query": "redis", "mode": "hybrid"})
    notes = httpx.URL("?" + "n=" + response.headers["x-kinen-notes"]).params["n"]
    assert notes.split("\n") == response.json()["notes"]
    assert "embedding_provider" in notes


# The journal


def test_kindlings_words_are_understood(ask: Asked) -> None:
    scope = {"sessionId": "kindled", "agentId": "old", "taskId": "t"}
    opened_ = {"kind": "session", "intent": "as before", "scopeIds": scope}
    capsule = ask("POST", "/capsules", json={**opened_, "id": "kindled-1"})
    assert ask("POST", "/capsules", json={**opened_, "id": "kindled-1"}) == capsule  # begun once
    assert capsule["id"] == "kindled-1"
    assert (capsule["session"], capsule["agent"], capsule["task"]) == ("kindled", "old", "t")
    payload = {"id": "k-1", "kind": "command", "content": "$ make", "ts": 1_700_000_000_000}
    more = {"scopeIds": scope, "capsuleId": capsule["id"], "provenance": {"toolName": "Bash"}}
    remaining = ask("POST", "/observations", json={**payload, **more})
    assert (remaining["at"], remaining["capsule"]) == ("2023-11-14T22:13:20.000Z", capsule["id"])
    request = {"scopeIds": scope, "kinds": ["command"], "includeRedacted": True}
    assert listed(ask, **request, since=1_700_000_000_000, until=1_700_000_000_001) == ["$ make"]
    pin = {"targetType": "observation", "targetId": "k-1", "reason": "so", "ttlMs": 60_000}
    created = ask("POST", "/pins", json=pin)
    assert (created["target"], created["note"]) == ("observation:k-1", "so")
    assert created["expires_at"] > created["created_at"]
    close = {"generateSummary": False, "summaryContent": "done", "confidence": 0.5}
    closed = ask("PATCH", f"/capsules/{capsule['id']}/close", json=close)
    assert closed["summary"]["confidence"] == 0.5
    assert ask("GET", "/capsules/open?sessionId=kindled")["capsules"] == []
    answer = ask("POST", "/retrieve", json={"query": "make", "scopeIds": scope, "tokenBudget": 500})
    assert (answer["budget"], answer["pins"][0]["ref"]) == (500, "observation:k-1")
    ask("DELETE", f"/pins/{created['id']}")


def test_a_scope_may_be_said_at_once_or_field_by_field(ask: Asked) -> None:
    message = [
        {"scope": {"session": "ways", "task": "t"}},
        {"scopeIds": {"sessionId": "ways", "taskId": "t"}},
        {"session": "ways", "taskId": "t"},
        {"sessionId": "ways", "scope": {"task": "t"}},
    ]
    for n, scope in enumerate(message):
        answer = ask("POST", "/observations", json={"content": f"way {n}", **scope})
        assert (answer["session"], answer["task"]) == ("ways", "t")
    for scope in message[:3]:
        assert ask("POST", "/context/session-start", json=scope)["tokens"] >= 0


def test_vectors_are_those_of_the_spaces_own_model(
    ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "onnx")
    model = embed.load("onnx", model="")
    assert model is not None
    texts = ["why did we drop redis", "ä🚲"]
    got = ask.over.post("/v1/vectors", json={"texts": texts, "model": model.fingerprint})
    assert got.headers["content-type"] == "application/octet-stream"
    assert got.content == model.embed(texts, query=True).astype("<f4").tobytes()
    assert len(got.content) == 2 * 4 * model.dimensions


def test_a_field_is_not_said_in_two_words_at_once(ask: Asked) -> None:
    fault = ask("POST", "/recall", 400, json={"query": "a", "q": "b"})["error"]
    assert "query is given twice" in fault["message"]


def test_an_observation_is_kept_once_and_its_secret_never(ask: Asked) -> None:
    first = observed(ask, f"pushed with {TOKEN}", "once", id="once-1")
    assert (first["deduplicated"], first["masked"]["classes"]) == (False, ["github_token"])
    again = observed(ask, "something else", "once", id="once-1")
    assert (again["deduplicated"], again["content"]) == (True, first["content"])
    assert listed(ask, scope={"session": "once"}) == [first["content"]]
    assert TOKEN not in first["content"]


def test_what_kinen_told_an_agent_is_not_kept_as_something_new(ask: Asked) -> None:
    answer = ask("POST", "/context/prompt", json={"prompt": PROMPT})["text"]
    observation = observed(ask, f"Well. {answer}", "loop")
    assert observation["content"].strip() == "Well."
    fault = ask("POST", "/observations", 400, json={"content": answer})["error"]
    assert fault["message"].startswith("the text is empty")


def test_pages_show_each_observation_once_while_more_are_written(ask: Asked) -> None:
    for n in range(7):
        observed(ask, f"step {n}", "paged", at=1_700_000_000_000 + n // 3)
    output, cursor = [], ""
    while cursor is not None:
        request = {
            "scope": {"session": "paged"},
            "limit": 2,
            "cursor": cursor,
            "until": "2024-01-01",
        }
        page = ask("POST", "/observations/list", json=request)
        output += [observation["content"] for observation in page["observations"]]
        cursor = page["next"]
        observed(ask, "newer", "paged")
    assert sorted(output) == [f"step {n}" for n in range(7)]
    assert output[0] == "step 6"


def test_since_is_inclusive_and_until_is_not(ask: Asked) -> None:
    for n in (1, 2, 3):
        observed(ask, f"at {n}", "times", at=1_600_000_000_000 + n)
    scope = {"session": "times"}
    at = {"since": 1_600_000_000_002, "until": 1_600_000_000_003}
    assert listed(ask, scope=scope, **at) == ["at 2"]
    as_text = {"since": "2020-09-13T12:26:40.002Z", "until": "2020-09-13T12:26:40.003Z"}
    assert listed(ask, scope=scope, **as_text) == ["at 2"]
    assert listed(ask, scope=scope, since="2h") == []
    assert listed(ask, scope=scope, until=0) == []


def test_a_scope_is_of_exactly_this_session(ask: Asked) -> None:
    observed(ask, "of one", "scope-1")
    observed(ask, "of eleven", "scope-11")
    assert listed(ask, scope={"session": "scope-1"}) == ["of one"]
    assert listed(ask, scope={"session": "scope-1", "agent": "nobody"}) == []


def test_what_was_emptied_is_listed_only_if_asked_and_what_was_forgotten_never(
    ask: Asked, project: Project
) -> None:
    emptied, forgotten, _ = (observed(ask, f"saying {n}", "gone") for n in ("a", "b", "c"))
    with Memory.open(project.root) as memory:
        memory.journal.redact(emptied["ref"])
    assert ask("POST", f"/observations/{forgotten['id']}/forget")["forgotten"]
    assert listed(ask, scope={"session": "gone"}) == ["saying c"]
    both = listed(ask, scope={"session": "gone"}, include_redacted=True)
    assert both == ["saying c", "[redacted]"]


def test_pages_of_capsules_pins_and_tags_come_to_the_whole_list(ask: Asked) -> None:
    for n in range(3):
        ask("POST", "/capsules", json={"intent": f"n {n}", "scope": {"session": f"list-{n}"}})
        observation = observed(ask, f"pinned {n}", f"list-{n}")
        ask("POST", "/pins", json={"target": observation["ref"], "scope": {"task": "list"}})
    for path, plural in (("/capsules", "capsules"), ("/pins?task=list", "pins"), ("/tags", "tags")):
        whole = ask("GET", path, params={"limit": 1000, "task": "list"} if plural == "pins" else {})
        results, cursor = [], ""
        while cursor is not None:
            values = {"limit": 1, "cursor": cursor} | ({"task": "list"} if plural == "pins" else {})
            page = ask("GET", path.partition("?")[0], params=values)
            results += page[plural]
            cursor = page["next"]
        assert results == whole[plural]
        assert len(results) > 2


@pytest.mark.parametrize(
    "cursor",
    ["x", "not base64!", "é", *(base64.urlsafe_b64encode(item).decode() for item in (
        b"[1]", b"{}", b'["a", 1]', b'[1, "a", 2]', b'[1e400, "a"]',
        b'[123456789012345678901234567890, "a"]', b'[1, "\\ud800"]', b"\xff\xfe", b"[" * 700,
    ))],
)  # fmt: skip
def test_a_broken_cursor_is_refused(ask: Asked, cursor: str) -> None:
    assert ask("POST", "/observations/list", 400, json={"cursor": cursor})["error"]["hint"]
    ask("GET", "/tags", 400, params={"cursor": cursor})


def test_an_agent_is_told_what_the_hook_tells_it(
    ask: Asked, kinen: Callable[..., Any], project: Project
) -> None:
    assert kinen("index", "--no-embed").code == 0  # its commits are told, too
    pin = ask("POST", "/pins", json={"target": NOTE, "note": "for the hook"})
    payload = {"session_id": "new", "cwd": str(project.root), "hook_event_name": "SessionStart"}
    ran = kinen("hook", "claude-code", stdin=json.dumps(payload | {"source": "startup"}))
    hooked = json.loads(ran.out)["hookSpecificOutput"]["additionalContext"]
    message = {"session": "new", "agent": "claude-code"}
    answer = ask("POST", "/context/session-start", json=message)
    assert (answer["text"], answer["tokens"] > 0) == (hooked, True)
    ran = kinen(
        "hook", "claude-code", stdin=json.dumps(payload | {"hook_event_name": "PreCompact"})
    )
    assert ask("POST", "/context/pre-compact", json=message)["text"] == ran.out
    ask("DELETE", f"/pins/{pin['id']}")


# The whole journal


def test_an_export_that_is_imported_elsewhere_is_exported_the_same(
    ask: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    observed(ask, "it travels: ä🚲", "travel")
    other = {"X-Kinen-Space": str(tmp_path / "other")}
    (tmp_path / "other" / ".kinen").mkdir(parents=True)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    for form in ("json", "jsonl"):
        bundle = ask.over.get("/v1/export", params={"form": form}).content
        assert "it travels: ä🚲".encode() in bundle
        loaded = ask.over.post("/v1/import", content=bundle, headers=other).json()
        assert loaded["added"]["observations"] > 0 or form == "jsonl"
        again = ask.over.get("/v1/export", params={"form": form}, headers=other).content
        assert again == bundle


def test_a_page_is_exported_as_a_file_and_imported_elsewhere(ask: Asked, tmp_path: Path) -> None:
    observed(ask, "it travels: ä🚲", "travel")
    answer = ask.over.get("/v1/export", params={"form": "html"})
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-disposition"] == "attachment"
    (tmp_path / "other" / ".kinen").mkdir(parents=True)
    other = {"X-Kinen-Space": str(tmp_path / "other")}
    loaded = ask.over.post("/v1/import", content=answer.content, headers=other).json()
    assert loaded["added"]["observations"] > 0
    cut = answer.content.partition(b"</script>")[0][:-50]
    fault = ask("POST", "/import", 400, content=cut)["error"]
    assert "the bundle: " in fault["message"]


def test_an_import_that_does_not_fit_is_refused_and_changes_nothing(ask: Asked) -> None:
    observed(ask, "here already", "conflict")
    before = ask("POST", "/observations/list", json={"limit": 1000})
    bundle = ask.over.get("/v1/export").content
    fault = ask("POST", "/import", 409, content=bundle, params={"on_conflict": "error"})["error"]
    assert fault["message"].startswith("on_conflict: ")
    for broken in (b"", b"{", b"null", bundle[:-40], b'{"version": "99.0", "observations": []}'):
        assert "the bundle" in ask("POST", "/import", 400, content=broken)["error"]["message"]
    assert ask("POST", "/observations/list", json={"limit": 1000}) == before


# Which space


def test_a_space_is_found_by_name_id_path_or_folder(ask: Asked, project: Project) -> None:
    ask("POST", "/observations", json={"content": "x"})  # makes it known by its name
    about = ask("GET", "/status")["space"]["space"]
    for name in ("parcelry", about["id"], about["id"][:12], f"{project.root}/notes"):
        answer = ask("GET", "/status", headers={"X-Kinen-Space": name})
        assert answer["space"]["space"] == about


def test_the_name_of_a_space_may_be_percent_encoded(ask: Asked, tmp_path: Path) -> None:
    (tmp_path / "Küche 100%" / ".kinen").mkdir(parents=True)
    name = f"{tmp_path}/K%C3%BCche%20100%25"
    answer = ask("GET", "/status", headers={"X-Kinen-Space": name})
    assert answer["space"]["space"]["root"] == f"{tmp_path}/Küche 100%"


@pytest.mark.parametrize("name", ["nowhere", "/", "/nowhere", "notes", "..", "~", "%FF", "all"])
def test_an_unknown_space_is_not_found(ask: Asked, name: str) -> None:
    assert ask("GET", "/tags", 404, headers={"X-Kinen-Space": name})["error"]["hint"]


def test_a_request_that_names_no_space_is_told_to(ask: Asked) -> None:
    for name in ("", "%00"):
        fault = ask("GET", "/tags", 400, headers={"X-Kinen-Space": name})["error"]
        assert fault["code"] == "invalid"
    assert ask("GET", "/status", headers={"X-Kinen-Space": ""})["space"] is None


def test_a_server_of_one_folder_has_its_space_by_default(project: Project) -> None:
    door, path = unix_door()
    with serving(application(default=str(project.root)), door), client(path) as over:
        assert over.get("/v1/status").json()["space"]["space"]["name"] == "parcelry"


# What is refused


OUTSIDE = ["../elsewhere.md", "notes/../../elsewhere.md", "/etc/passwd", "..\\elsewhere.md"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_that_leads_outside_is_refused(ask: Asked, path: str) -> None:
    for get in ("/history", "/cochange", "/artifact", "/artifact?ref=HEAD"):
        assert ask.over.get(f"/v1{get}", params={"path": path}).status_code in (400, 404)
    for value in (path, f"note:{path}", f"file:{path}"):
        quoted = value.replace("/", "%2F")
        assert ask.over.get(f"/v1/records/{quoted}").status_code in (400, 404)
        assert ask.over.get("/v1/links", params={"ref": value}).status_code in (400, 404)
        assert ask.over.post("/v1/pins", json={"target": value}).status_code in (400, 404)
    payload = {"content": "a", "files": [path]}
    assert ask.over.post("/v1/observations", json=payload).status_code in (400, 404)
    assert ask.over.post("/v1/search", json={"query": "a", "near": [path]}).status_code in (
        400,
        404,
    )


def test_a_path_that_is_never_captured_is_forbidden(
    ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINEN_PRIVACY_EXCLUDE", "notes/**")
    payload = {"content": "edited", "files": [NOTE]}
    assert ask("POST", "/observations", 403, json=payload)["error"]["code"] == "forbidden"


HUGE = 10**40
WRONG: list[Any] = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"query"',
    b"\xff\xfe",
    b'{"query": NaN}',
    b'{"limit": 1e999, "query": "a"}',
    b"[" * 100_000,
    b'{"query": ' + b"[" * 900 + b"]" * 900 + b"}",
    b'{"query": ' + b"9" * 5000 + b"}",
    *({"query": "a", "content": "a", "intent": "a", "prompt": "a", "target": NOTE, name: value}
      for name, value in (
        ("limit", HUGE), ("limit", -1), ("limit", "many"), ("limit", 2.5), ("limit", True),
        ("since", False), ("since", "0" * 70), ("budget", -HUGE),
        ("since", HUGE), ("until", "whenever"), ("at", -1), ("ts", HUGE), ("ttl", HUGE),
        ("ttlMs", -1), ("scope", []), ("scope", {"session": 1}), ("scopeIds", {"mood": "x"}),
        ("kinds", {"a": 1}), ("id", "a/b"), ("confidence", 2), ("nonsense", 1), ("\ud800", 1),
    )),
]  # fmt: skip
POSTS = (
    *("/search", "/recall", "/retrieve", "/observations", "/observations/list", "/capsules"),
    *("/pins", "/context/session-start", "/context/prompt", "/vectors"),
)


@pytest.mark.parametrize("path", POSTS)
def test_a_body_that_cannot_be_is_refused_and_nothing_breaks(ask: Asked, path: str) -> None:
    for body in WRONG:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        got = ask.over.post(
            f"/v1{path}", content=sent, headers={"content-type": "application/json"}
        )
        assert got.status_code == 400, (sent[:80], got.text)
        assert got.json()["error"]["code"] == "invalid"


def test_provenance_that_cannot_be_kept_is_refused(ask: Asked) -> None:
    deep: Any = "a"
    for _ in range(200):
        deep = {"a": deep}
    for value in (b'{"a": NaN}', json.dumps(deep).encode()):
        sent = b'{"content": "a", "provenance": ' + value + b"}"
        ask(
            "POST", "/observations", 400, content=sent, headers={"content-type": "application/json"}
        )
    assert observed(ask, "ok", "deep", provenance={"n": 2**70})["provenance"] == {"n": 2**70}


@pytest.mark.parametrize(
    "url",
    [
        *("/records/%00", f"/records/{NOTE}:99999999999999999999", f"/records/{NOTE}?line=-7"),
        *(f"/records/{NOTE}?line=9223372036854775808", "/links?ref=%ED%A0%80", "/links?ref="),
        *(
            "/links?ref=a&depth=99",
            "/history",
            "/cochange",
            "/cochange?path=",
            "/artifact",
            "/tags?limit=0",
        ),
        *("/search", "/search?query=", "/search?query=a&query=b&x=1", "/recall?since=never"),
        *("/recall?until=99999999999999999999", "/capsules?status=ajar", "/capsules/%00"),
        *("/export?form=xml", "/capsules/a%2Fb", "/recall?min_similarity=nan"),
        "/search?query=a&until=9999-12-31",
    ],
)
def test_a_url_that_cannot_be_is_refused(ask: Asked, url: str) -> None:
    got = ask.over.get(f"/v1{url}")
    assert got.status_code in (400, 404), got.text
    assert got.json()["error"]["message"]


def test_json_that_is_not_called_so_is_refused_with_a_hint(ask: Asked) -> None:
    sent = {"content-type": "text/plain"}
    fault = ask("POST", "/search", 400, content=b'{"query": "a"}', headers=sent)["error"]
    assert "application/json" in fault["hint"]


def test_unknown_endpoints_and_methods_are_told_apart(ask: Asked) -> None:
    assert ask.over.get("/v1/nothing").json()["error"]["code"] == "not_found"
    got = ask.over.delete("/v1/search")
    assert (got.status_code, got.json()["error"]["code"]) == (405, "method_not_allowed")
    assert got.headers["allow"] in ("GET", "POST", "GET, POST")
    for path in ("/docs", "/redoc", "/"):
        assert ask.over.get(path).status_code == 404


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Busy("it is in use", "wait"), 503),
        (DiskFull("it"), 507),
        (OSError(28, "No space left on device"), 507),
        (StoreError("it is corrupt", "run `kinen doctor`"), 500),
        (RuntimeError("never thought of"), 500),
    ],
)
def test_what_the_machine_lacks_has_its_own_code(
    project: Project, error: Exception, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_folder: str) -> Memory:
        raise error

    door, path = unix_door()
    app = create_app(MemoryPool(fail), hub=Hub(), state=dict, default=str(project.root))
    with serving(app, door), client(path) as over:
        got = over.get("/v1/tags")
        assert got.status_code == code
        assert set(got.json()["error"]) == {"code", "message", "hint"}
        assert ("retry-after" in got.headers) == (code == 503)
        assert "never thought of" not in got.text
    assert bool(caplog.records) == (code == 500)


def test_a_space_with_much_to_do_holds_up_no_other(tmp_path: Path) -> None:
    pool = MemoryPool(opened)
    app = create_app(pool, hub=Hub(), state=dict)
    for name in ("slow", "quick"):
        (tmp_path / name / ".kinen").mkdir(parents=True)
    door, path = unix_door()
    hold, held = threading.Event(), threading.Event()

    def busy(_memory: Memory) -> None:
        held.set()
        hold.wait(20)

    with serving(app, door) as server, client(path) as over:
        slow, quick = ({"X-Kinen-Space": str(tmp_path / name)} for name in ("slow", "quick"))
        call = pool.call([str(tmp_path / "slow")], busy)
        holding = asyncio.run_coroutine_threadsafe(call, server.loop)
        held.wait(10)
        codes: list[int] = []

        def wait() -> None:
            codes.append(over.post("/v1/observations/list", json={}, headers=slow).status_code)

        waiting = [threading.Thread(target=wait) for _ in range(40)]
        for item in waiting:
            item.start()
        assert over.post("/v1/observations/list", json={}, headers=quick).status_code == 200
        assert codes == []
        hold.set()
        holding.result(20)
        for item in waiting:
            item.join(20)
    assert codes == [200] * 40
