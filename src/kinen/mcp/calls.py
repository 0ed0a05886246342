"""Calls of tools: from arguments to results as agents read them, the same on every transport."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pydantic import ValidationError

from kinen import paths
from kinen.characters import visible, visible_line
from kinen.distill import clis
from kinen.distill.clis import MOST, Failed
from kinen.distill.services import sampler
from kinen.errors import KinenError
from kinen.journal.brief import HEAD
from kinen.mcp.protocol import InputRequired, Refused
from kinen.mcp.tools import (
    VERB_TOOLS,
    Answer,
    Fix,
    History,
    IndexRebuild,
    Remember,
    Status,
    Tool,
    report_progress,
)
from kinen.memory import Memory
from kinen.memory.pool import MemoryPool
from kinen.privacy.quote import marked, quoted, quoted_values
from kinen.render.screen import readable
from kinen.text import digest, estimate, excerpt
from kinen.verbs.requests import complaint, system_error

if TYPE_CHECKING:
    from threading import Event

    from kinen.ports import ToolClient

JOINED: dict[str, type[Tool]] = {
    "kinen_recall": VERB_TOOLS["kinen_recall"],
    "kinen_search": VERB_TOOLS["kinen_search"],
    "kinen_read": VERB_TOOLS["kinen_read"],
    "kinen_history": History,
    "kinen_fix": Fix,
    "kinen_remember": Remember,
    "kinen_plan": VERB_TOOLS["kinen_plan"],
    "kinen_status": Status,
}
"""The tools that are listed by default (`protocol.MAIN`)."""
TOOLS: dict[str, type[Tool]] = {
    **JOINED,
    **{name: tool for name, tool in VERB_TOOLS.items() if name not in JOINED},
    "kinen_get_artifact": VERB_TOOLS["kinen_read"],
    "kinen_index_rebuild": IndexRebuild,
}
"""Every tool by name."""
VALUE_READERS = frozenset(("claude-code", "visual studio code", "vscode"))
"""Clients that show their model the value of an answer and drop the text, if they get both."""
ROOTS = "roots"
ROOTS_SECONDS = 2.0
_TOOLS_FOR = {
    "`kinen files`": "kinen_status with view files",
    "`kinen index status`": "kinen_status",
    "`kinen memories list`": "kinen_status with view memories",
    "`kinen plan list`": "the action list",
    "`kinen search`": "kinen_search",
    "`kinen tags`": "kinen_status with view tags",
}
"""Complete commands that hints name, and the tools that do the same."""


class Calls:
    """The tools of a server, for one memory or for those that a function opens by folder.

    The function is called with each of the client's roots, and with an empty folder for the
    working folder; it raises SpaceError for a folder in no space. The memories that it opened are
    closed at the end.
    """

    def __init__(
        self, memory: Memory | Callable[[str], Memory], *, read_only: bool, listed: Sequence[str]
    ) -> None:
        self.pool = MemoryPool(memory)
        self._listed = listed
        self._tools = {
            name: tool for name, tool in TOOLS.items() if not (read_only and tool.writes)
        }

    async def call(
        self, client: ToolClient, name: str, arguments: dict[str, Any], ended: Event
    ) -> dict[str, Any]:
        """The result of a call; what is long ends early once `ended` is set."""
        tool = self._tools.get(name) or self._tools.get(f"kinen_{name}")
        if tool is None:
            return failure(self._unknown(name))
        try:
            part, fields = tool.part(arguments)
            request = part.model_validate(fields)
        except ValidationError as error:
            names = ", ".join(part.model_fields) or "nothing"
            message = complaint(error.errors(include_url=False))
            return failure(f"{tool.tool_name}: {message} · it takes {names}")
        except KinenError as error:
            return failure(error.line())
        request._client = client.name  # noqa: SLF001
        roots: Sequence[str] = ()
        try:
            if not self.pool.fixed:
                roots = await client_roots(client)
            sampler.set(ClientModel(client))
            result = await run_tool(client, self.pool, roots, request, ended)
        except InputRequired as required:
            requests = required.requests
            if roots:  # a repeated call has the responses of the last round alone
                requests = {**requests, ROOTS: {"method": "roots/list"}}
            return {"resultType": "input_required", "inputRequests": requests}
        if client.name.lower() in VALUE_READERS:  # the text says the same in fewer tokens
            result.pop("structuredContent", None)
        return result

    def _unknown(self, name: str) -> str:
        if {name, f"kinen_{name}"} & TOOLS.keys():
            fact = f"{name} writes, and this server only reads"
            return f"{fact} · have the user start it without read-only"
        return f"no tool {name!r} · use one of {', '.join(self._listed)}"


async def run_tool(
    client: ToolClient, pool: MemoryPool, roots: Sequence[str], tool: Tool, ended: Event
) -> dict[str, Any]:
    """Run a tool and return its result, or its error.

    A client that cancels need not wait: a rebuild ends at its next step, and of anything else only
    the result is dropped.
    """
    try:
        if isinstance(tool, IndexRebuild):
            answer = partial(tool.answer, progress=report_progress(client.report, ended))
            return await pool.call_apart(roots, partial(record_answer, tool, answer))
        return await pool.call(roots, partial(record_answer, tool, tool.answer), lane=tool.lane)
    except InputRequired:
        raise
    except asyncio.CancelledError:
        ended.set()
        raise
    except KinenError as error:
        return failure(in_tools(error.line()))
    except OSError as error:
        return failure(system_error(error))
    except Exception as error:
        if paths.debugging():
            traceback.print_exc()  # standard error: the client's log
        return failure(f"unexpected {type(error).__name__}: {error} · this is a bug in kinen")


def record_answer(tool: Tool, answer: Callable[[Memory], Answer], memory: Memory) -> dict[str, Any]:
    """The result of a call; results of tools that read are recorded in the ledger."""
    result = tool_result(answer(memory))
    if not tool.writes:
        refs = refs_in(result["structuredContent"])
        with suppress(Exception):  # an answer does not depend on its record
            text = result["content"][0]["text"]
            memory.ledger.record_answer(tool.tool_name, tool._client, text, refs)  # noqa: SLF001
    return result


def refs_in(value: Any) -> list[str]:
    """Every ref that structured content names, in order."""
    if isinstance(value, list):
        return [ref for item in value for ref in refs_in(item)]
    if not isinstance(value, dict):
        return []
    own = [value["ref"]] if isinstance(value.get("ref"), str) else []
    return [*own, *(ref for item in value.values() for ref in refs_in(item))]


def tool_result(answer: Answer) -> dict[str, Any]:
    """The text of an answer and its value, both with the line that a brief begins with.

    Every answer passes through here: nothing in it is taken for the client's own words.
    """
    text = visible(answer.text)
    value = answer.value
    if value.get("next_offset") and "with offset" not in text:
        text += f"\n… of {value.get('total', 'more')}: continue with offset {value['next_offset']}"
    values: Any = quoted_values(readable(value, lines=True))
    return {
        "content": [{"type": "text", "text": marked(f"{HEAD}\n\n{text}")}],
        "structuredContent": {"notice": HEAD, **values},
        "isError": False,
    }


def failure(text: str) -> dict[str, Any]:
    line = quoted(visible_line(" ".join(text.split())))
    return {"content": [{"type": "text", "text": line}], "isError": True}


async def client_roots(client: ToolClient) -> list[str]:
    """The folders that the client works in; InputRequired if it has to be asked for them."""
    if client.capabilities.get(ROOTS) is None:
        return []
    if client.modern:
        if ROOTS not in client.responses:
            raise InputRequired({ROOTS: {"method": "roots/list"}})
        return folders(client.responses[ROOTS])
    try:
        return folders(await client.request("roots/list", {}, ROOTS_SECONDS))
    except (Refused, TimeoutError):  # it declares roots, and does not list them
        return []


def folders(result: dict[str, Any]) -> list[str]:
    roots = result.get(ROOTS)
    rows = roots if isinstance(roots, list) else []
    uris = [row["uri"] for row in rows if isinstance(row, dict) and isinstance(row.get("uri"), str)]
    urls = []
    for uri in uris:
        with suppress(ValueError):
            urls.append(urlsplit(uri))
    return [url2pathname(url.path) for url in urls if url.scheme == "file"]


def definition(name: str, tool: type[Tool]) -> dict[str, Any]:
    """What a client shows its model of a tool.

    There is no output schema: it would be more than half of all tokens, and no model needs it.
    """
    schema = slim(tool.model_json_schema())
    schema.pop("description", None)
    properties = schema.setdefault("properties", {})
    for parameter in tool.unlisted:
        properties.pop(parameter, None)
    return {
        "name": name,
        "title": tool.tool_title,
        "description": " ".join((tool.__doc__ or "").split()),
        "inputSchema": schema,
        "annotations": {
            "title": tool.tool_title,
            "readOnlyHint": not tool.writes,
            "destructiveHint": False,
            "idempotentHint": tool.idempotent,
            "openWorldHint": False,
        },
    }


def definitions() -> list[dict[str, Any]]:
    """The content of `tools.json`."""
    return [definition(name, tool) for name, tool in TOOLS.items()]


def slim(schema: Any) -> Any:
    """A schema with what a model needs: no titles, examples, defaults, limits or null types.

    A value beyond a limit is answered with the limit, so that the model can correct it.
    """
    if isinstance(schema, list):
        return [slim(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "anyOf" in schema:
        kind = next(item for item in schema["anyOf"] if item.get("type") != "null")
        schema = {**kind, **schema}
    return {name: slim(value) for name, value in schema.items() if not _omitted(name, value)}


def _omitted(name: str, value: object) -> bool:
    if name == "title":
        return isinstance(value, str)
    return name in _CHECKED_HERE and not isinstance(value, dict)


_CHECKED_HERE = (
    *("anyOf", "examples", "additionalProperties", "default"),
    *("minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems"),
)
"""Keywords of a schema that are left out of definitions."""


def in_tools(line: str) -> str:
    """A line with tools in place of the commands that do the same."""
    for command, tool in _TOOLS_FOR.items():
        line = line.replace(command, tool)
    return line


KEY = "sample-"
"""How the keys of such requests begin, where a client repeats its call with the responses."""


class ClientModel:
    """The model of a client (`sampling/createMessage`), for one call.

    It is made on the event loop and called in a thread. Only a distiller asks it, and only where
    `distill.order` or `consolidation.order` names `client`.
    """

    def __init__(self, client: ToolClient) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()

    def __call__(self, prompt: str, most_tokens: int, seconds: float) -> clis.Answer:
        if self._client.capabilities.get("sampling") is None:
            raise Failed("it does not offer its model (sampling)")
        params: dict[str, Any] = {
            "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
            "systemPrompt": clis.SYSTEM,
            "includeContext": "none",
            "temperature": 0,
            "maxTokens": most_tokens,
        }
        # The text of a model's answer; raises Failed where there is none.
        content = self._result(params, prompt, seconds).get("content")
        blocks = content if isinstance(content, list) else [content]
        texts = [
            block["text"]
            for block in blocks
            if isinstance(block, dict)
            and block.get("type") == "text"
            and isinstance(block.get("text"), str)
        ]
        text = "\n".join(texts).strip()
        if not text or len(text) > MOST:
            raise Failed("its answer is empty, no text or too long")
        return clis.Answer(text, estimate(prompt), estimate(text))

    def _result(self, params: dict[str, Any], prompt: str, seconds: float) -> dict[str, Any]:
        method = "sampling/createMessage"
        if not self._client.modern:
            request = self._client.request(method, params, seconds)
            try:
                return asyncio.run_coroutine_threadsafe(request, self._loop).result()
            except TimeoutError:
                raise Failed(f"no answer within {seconds:g} s") from None
            except Refused as error:
                raise Failed(excerpt(f"refused: {error}", 120)) from None
        key = KEY + digest(prompt)[:16]
        responses = self._client.responses
        if key in responses:
            return responses[key]
        if any(name.startswith(KEY) for name in responses):
            raise Failed("what it was asked about has changed meanwhile")
        raise InputRequired({key: {"method": method, "params": params}})
