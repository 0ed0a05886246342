"""The model of an MCP client distils, where the user's configuration names it and nowhere else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest

from kinen.memory import Memory
from mcp import Client

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Serve = Callable[..., Any]

MODES = ("auto", "legacy")
QUESTION = "where do sessions live"
NOTE = "# Sessions\n\nSessions live in Postgres since `store.py` was rewritten in 2024.\n"
SAID = "We moved the session table to Postgres because Redis lost 3 sessions."
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def configure(space: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes a note, and sets keys as a user does."""
    (space / "sessions.md").write_text(NOTE)
    with Memory.open(space) as memory:
        memory.sync()

    def set_(**keys: str) -> None:
        for key, value in keys.items():
            monkeypatch.setenv(f"KINEN_{key}".upper(), value)

    return set_


class Model:
    """The model of a client: what it is asked, and what it answers."""

    def __init__(self, answer: str | types.ErrorData | None) -> None:
        self.answer = answer
        self.asked: list[types.CreateMessageRequestParams] = []

    async def __call__(
        self, _context: object, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        self.asked.append(params)
        if self.answer is None:
            await anyio.sleep_forever()
        if isinstance(self.answer, types.ErrorData):
            return self.answer
        content = types.TextContent(type="text", text=str(self.answer))
        return types.CreateMessageResult(role="assistant", content=content, model="stub")

    @property
    def prompt(self) -> str:
        (message,) = self.asked[-1].messages
        assert isinstance(message.content, types.TextContent)
        return message.content.text


async def call(
    serve: Serve,
    space: Path,
    model: Model | None,
    mode: str,
    tool: str = "kinen_recall",
    **arguments: Any,
) -> tuple[dict[str, Any], str]:
    """The value and the text of an answer."""
    with Memory.open(space) as memory:
        info = types.Implementation(name="codex-mcp-client", version="1")
        server = serve(memory)
        async with Client(server, mode=mode, sampling_callback=model, client_info=info) as client:
            result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return result.structured_content or {}, block.text


@pytest.mark.parametrize("mode", MODES)
async def test_a_digest_is_written_by_the_clients_model_and_names_its_sources(
    serve: Serve, space: Path, configure: Callable[..., None], mode: str
) -> None:
    configure(distill_order="client,extract")
    model = Model("- Sessions live in Postgres since 2024. [1]")
    value, text = await call(serve, space, model, mode, query=QUESTION, distill=True)
    assert value["digest"]["by"] == "client", value
    assert "Sessions live in Postgres since 2024. [note:sessions.md]" in text
    assert len(model.asked) == 1
    assert "`store.py`" in model.prompt
    assert model.asked[0].include_context == "none"
    assert model.asked[0].max_tokens <= 4 * 500


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("order", "distill"), [("extract", True), ("client,extract", False)], ids=["off", "not asked"]
)
async def test_nothing_is_sampled_that_was_not_configured_and_asked_for(
    serve: Serve, space: Path, configure: Callable[..., None], mode: str, order: str, distill: bool
) -> None:
    configure(distill_order=order)
    model = Model("- anything [1]")
    await call(serve, space, model, mode, query=QUESTION, distill=distill)
    await call(serve, space, model, mode, "kinen_checkpoint", description="Moved the sessions")
    assert model.asked == []


async def test_a_clone_cannot_have_the_clients_model_asked(serve: Serve, space: Path) -> None:
    (space / "sessions.md").write_text(NOTE)
    (space / ".kinen" / "config.yaml").write_text("distill:\n  order: [client, extract]\n")
    model = Model("- anything [1]")
    await call(serve, space, model, "legacy", query=QUESTION, distill=True)
    assert model.asked == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (types.ErrorData(code=-1, message="the user said no"), "refused: the user said no"),
        (None, "no answer within 1 s"),
        ("", "its answer is empty"),
        ("- Sessions live in `mongo.py` since 1987. [1]", "names or numbers that no passage has"),
    ],
    ids=["refused", "hung", "empty", "invented"],
)
async def test_a_model_that_gives_nothing_usable_leaves_the_extract_and_a_note(
    serve: Serve,
    space: Path,
    configure: Callable[..., None],
    answer: str | types.ErrorData | None,
    reason: str,
) -> None:
    configure(distill_order="client,extract", distill_timeout="1")
    value, text = await call(serve, space, Model(answer), "legacy", query=QUESTION, distill=True)
    assert value["digest"]["by"] == "extract"
    assert "Sessions live in Postgres" in text
    assert reason in json.dumps(value)


async def test_a_client_without_a_model_is_said_to_have_none(
    serve: Serve, space: Path, configure: Callable[..., None]
) -> None:
    configure(distill_order="client,extract")
    value, _ = await call(serve, space, None, "legacy", query=QUESTION, distill=True)
    assert "does not offer its model" in json.dumps(value)


@pytest.mark.parametrize("mode", MODES)
async def test_lines_with_invented_names_are_left_out_and_the_rest_stays(
    serve: Serve, space: Path, configure: Callable[..., None], mode: str
) -> None:
    configure(distill_order="client,extract")
    model = Model("- Sessions live in Postgres. [1]\n- `cache.py` holds 77 of them. [1] [9]")
    value, text = await call(serve, space, model, mode, query=QUESTION, distill=True)
    assert "Sessions live in Postgres." in text
    assert "cache.py" not in text
    assert "1 of 2 lines left out" in json.dumps(value)


@pytest.mark.parametrize("mode", MODES)
async def test_a_checkpoint_draws_what_the_session_supports_and_nothing_else(
    serve: Serve, space: Path, configure: Callable[..., None], mode: str
) -> None:
    configure(consolidation_order="client,extract")
    with Memory.open(space) as memory:
        scope = {"session": "s1", "agent": "codex"}
        capsule = memory.journal.open_capsule("move the sessions", scope=scope)
        told = {"role": "assistant"}
        memory.observe(SAID, capsule=capsule.id, scope=scope, provenance=told)
    lines = [
        {"type": "decision", "text": SAID, "refs": [1]},
        {
            "type": "lesson",
            "text": "The session table must never be stored in MongoDB.",
            "refs": [1],
        },
    ]
    model = Model("\n".join(map(json.dumps, lines)))
    _, text = await call(
        serve, space, model, mode, "kinen_checkpoint", description="Moved the sessions"
    )
    assert len(model.asked) == 1
    assert SAID in text
    with Memory.open(space) as memory:
        assert [entry.content for entry in memory.consolidation.memories()] == [SAID]
        assert len([*memory.worklog.checkpoints()]) == 1, "a repeated call saves one checkpoint"
