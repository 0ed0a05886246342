"""What a team's OpenAPI schema says of its endpoints, held against them by a fuzzer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from kinen.http import team_gate
from kinen.http.team_schema import SCHEMA
from openapi_checks import CHECKS, MODES
from team_service import SPACE, token

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from kinen.postgres.connection import Database

STRESS = bool(os.environ.get("KINEN_STRESS"))
EXAMPLES = 200 if STRESS else 8
LABELS = [
    f"{method.upper()} {path}" for path, methods in SCHEMA["paths"].items() for method in methods
]


@pytest.fixture(scope="module")
def operations(application: TestClient) -> dict[str, Any]:
    api = schemathesis.openapi.from_asgi("/v1/openapi.json", application.app)
    return {operation.ok().label: operation.ok() for operation in api.get_all_operations()}


# A thread of the server may draw a random number while an example is made.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
@pytest.mark.parametrize("label", LABELS)
def test_whatever_is_sent_is_answered_as_declared(
    label: str, operations: dict[str, Any], database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team_gate.Buckets, "take", lambda *_: True)
    rights = ("read", "write", "metrics")
    secret = token(database, rights=rights)
    own = {"Authorization": f"Bearer {secret}", "X-Kinen-Space": SPACE}

    def send(case: Any) -> None:
        case.headers = {**(case.headers or {}), **own}
        answer = case.call()
        case.validate_response(answer, checks=CHECKS)

    raw = operations[label].definition.raw
    for mode in MODES:
        if mode is MODES[1] and not (raw["parameters"][1:] or raw.get("requestBody")):
            continue  # there is nothing in it that could be wrong

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=not STRESS,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operations[label].as_strategy(generation_mode=mode))
        def fuzzed(case: Any) -> None:
            send(case)

        fuzzed()
