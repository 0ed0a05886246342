"""What OpenAPI says of the endpoints, held against them: every example, and what a fuzzer makes."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
from schemathesis.specs.openapi.checks import negative_data_rejection

from daemon.served import Project, application
from kinen.http.guard import FAULTS
from openapi_checks import CHECKS, MODES

if TYPE_CHECKING:
    from pathlib import Path

STRESS = bool(os.environ.get("KINEN_STRESS"))
EXAMPLES = 200 if STRESS else 10


def over_the_socket(app: Any) -> Any:
    """The same application, asked as if over its socket."""

    async def call(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "server": ("socket", None)}, receive, send)

    return call


@functools.cache
def described() -> Any:
    """The description of the application: seconds, for the processes that need it only."""
    return schemathesis.openapi.from_asgi("/v1/openapi.json", over_the_socket(application()))


@functools.cache
def operations() -> dict[str, Any]:
    return {item.ok().label: item.ok() for item in described().get_all_operations()}


PARTS = 12


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("schema"))


@pytest.fixture(autouse=True)
def inside(project: Project, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project.enter(monkeypatch)


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_is_asked_is_answered_as_declared(part: int, project: Project) -> None:
    endless = "GET /v1/events"
    for label in [label for label in operations() if label != endless][part::PARTS]:
        check_operation(label, project)


def check_operation(label: str, project: Project) -> None:
    for mode in MODES:
        raw = operations()[label].definition.raw
        fields = [part for part in raw.get("parameters", ()) if part["in"] != "header"]
        if mode is MODES[1] and not (fields or raw.get("requestBody")):
            continue  # there is nothing in it that could be wrong

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=not STRESS,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operations()[label].as_strategy(generation_mode=mode))
        def check_case(case: schemathesis.Case) -> None:
            case.headers = {**(case.headers or {}), "X-Kinen-Space": str(project.root)}
            answer = case.call()
            # NULs are dropped before lengths are checked, so a text may fit after all.
            shortened = "\\x00" in repr((case.query, case.body))
            lenient = shortened or answer.status_code == 413
            wrong = [] if lenient else [negative_data_rejection]
            case.validate_response(answer, checks=[*CHECKS, *wrong])

        check_case()


def test_every_endpoint_says_what_it_is_for_and_how_it_fails() -> None:
    for label, operation in operations().items():
        raw: Any = operation.definition.raw
        assert raw["summary"], label
        assert raw["description"], label
        assert raw["tags"], label
        assert set(raw["responses"]) == {"200", *map(str, FAULTS)}, label
    spec = described().raw_schema
    assert spec["info"]["title"] == "kinen"
    assert "HTTPValidationError" not in spec["components"]["schemas"]


def bodies() -> list[tuple[str, Any]]:
    """Every body in JSON that is declared, asked or answered."""
    results = []
    for label, operation in operations().items():
        raw: Any = operation.definition.raw
        for part in (raw.get("requestBody", {}), raw["responses"]["200"]):
            results += [(label, value) for value in part.get("content", {}).values()]
    results += [
        (status, item["content"]["application/json"])
        for status, item in described().raw_schema["components"]["responses"].items()
    ]
    return results


def test_every_body_has_an_example_that_fits_it() -> None:
    for label, body in bodies():
        if body.get("schema"):
            form = {**body["schema"], "components": described().raw_schema["components"]}
            Draft202012Validator(form).validate(body["example"])
        assert body.get("example") or not body.get("schema"), label


def test_an_answer_has_no_field_that_is_not_declared() -> None:
    for label, operation in operations().items():
        raw: Any = operation.definition.raw["responses"]["200"]["content"]
        schema = raw.get("application/json", {}).get("schema", {})
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            assert (
                described().raw_schema["components"]["schemas"][name]["additionalProperties"]
                is False
            ), label
