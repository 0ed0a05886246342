"""A secret that a request carries, in any field, is in no file afterwards, nor in an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from daemon.served import NOTE, Project, application, client, serving, unix_door

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "gh" + "p_" + "Zq7Rk2Vx9Lm4Tn8Wb3Yc6Hd1Jf5Gs0Pa4Ke7"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    created = Project(tmp_path)
    created.enter(monkeypatch)
    return created


def body_of(schema: dict[str, Any], whole: dict[str, Any]) -> Any:
    """A value of a schema with the secret wherever a text may stand."""
    if "$ref" in schema:
        return body_of(whole["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]], whole)
    if "anyOf" in schema:
        return body_of(schema["anyOf"][0], whole)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        return {name: body_of(item, whole) for name, item in schema["properties"].items()}
    if kind == "object":
        return {TOKEN: TOKEN}
    if kind == "array":
        return [body_of(schema["items"], whole)]
    if kind in ("integer", "number"):
        return schema.get("default", 1)
    return {"boolean": False, "string": TOKEN}.get(str(kind))


LESS: tuple[dict[str, Any], ...] = (
    {},
    {"capsule": "", "parent": "", "at": "", "since": "", "until": "", "cursor": "", "kinds": []},
    {"ref": NOTE, "ttl": "", "types": [], "near": []},
)


@pytest.mark.quick
def test_no_field_of_a_request_leaks_a_secret(project: Project) -> None:
    door, path = unix_door()
    accepted = set()
    space = {"X-Kinen-Space": str(project.root)}
    with serving(application(), door), client(path, **space) as ask:
        spec = ask.get("/v1/openapi.json").json()
        for place, methods in spec["paths"].items():
            for method, about in methods.items():
                if place.endswith(("/events", "/import")):
                    continue
                content = about.get("requestBody", {}).get("content", {}).get("application/json")
                url = place.replace("{id}", TOKEN)
                names = [
                    parameter["name"]
                    for parameter in about.get("parameters", ())
                    if parameter["in"] == "query"
                ]
                for less in LESS:
                    values = body_of(content["schema"], spec) if content else {}
                    values |= {key: value for key, value in less.items() if key in values}
                    query = {name: less.get(name, TOKEN) for name in names}
                    got = ask.request(method, url, json=values or None, params=query)
                    assert got.status_code < 500
                    if got.is_success:
                        accepted.add((method.upper(), place))
                    else:
                        assert TOKEN not in got.text
    assert {
        ("POST", "/v1/observations"),
        ("POST", "/v1/capsules"),
        ("POST", "/v1/pins"),
    } <= accepted
    files = [path for path in project.home.rglob("*") if path.is_file()]
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]


def test_odd_characters_are_kept_as_elsewhere(project: Project) -> None:
    door, path = unix_door()
    space = {"X-Kinen-Space": str(project.root)}
    with serving(application(), door), client(path, **space) as ask:
        for text in ('"half \\ud83d"', '"nul\\u0000 nul"'):
            body = f'{{"content": {text}, "session": {text}, "provenance": {{{text}: {text}}}}}'
            got = ask.post(
                "/v1/observations", content=body, headers={"content-type": "application/json"}
            )
            assert got.status_code == 200, got.text
        data = ask.post("/v1/observations/list", json={}).json()["observations"]
        assert {item["content"] for item in data} == {"half \ufffd", "nul nul"}
