"""A model on loopback for Claude Code, Codex, Gemini CLI and OpenCode that says what it is told to.

What they are to do stands in the prompt itself, `@@[{"tool": "Bash", "input": {…}}, {"text":
"done"}]@@`: each answer is the next step, counted by the answers since that prompt.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from loopback import Loopback

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

TOLD = re.compile(r"(<|&lt;)kinen-memory.*?/kinen-memory(>|&gt;)", re.DOTALL)


class Request(NamedTuple):
    path: str
    body: dict[str, Any]
    at: float = 0.0

    @property
    def text(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)


def script(*steps: dict[str, Any]) -> str:
    """Steps as a prompt carries them."""
    return f"@@{json.dumps(steps)}@@"


def next_step(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What the last prompt with a script wants now; nothing if there is none, or no more.

    What kinen tells of another session may hold the script of that one.
    """
    steps, n = [], 0
    for message in messages:
        if message["role"] == "assistant":
            n += 1
        elif message["role"] == "user":
            text = TOLD.sub("", text_of(message["content"]))
            if script_steps := steps_in("[" + text.partition("@@[")[2]):
                steps, n = script_steps, 0
    return steps[n] if n < len(steps) else {}


def steps_in(text: str) -> list[dict[str, Any]]:
    """The steps at the beginning of a text, none if they are cut, as where kinen tells of them.

    OpenCode escapes the quotes of a prompt.
    """
    for form in (text, text.replace('\\"', '"').replace("\\\\", "\\")):
        try:
            return list(json.JSONDecoder().raw_decode(form)[0])
        except ValueError:
            continue
    return []


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    kinds = ("text", "input_text", "output_text")
    return "\n".join(item.get("text", "") for item in content if item["type"] in kinds)


class Stub(Loopback):
    """Every request is written down; those without a script in their prompt all get the same
    answer, or none while `silent`.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.silent = False
        self.requests: list[Request] = []

        super().__init__()

    def respond(self, handler: BaseHTTPRequestHandler, sent: bytes) -> None:
        body = json.loads(sent)
        self.requests.append(Request(handler.path, body, time.time()))
        if self.silent:
            self.released.wait(60)
            return
        if "/messages" in handler.path:
            spoken = self.anthropic(body)
        elif "/responses" in handler.path:
            spoken = self.responses(body)
        elif "/chat/completions" in handler.path:
            spoken = self.chat(body)
        else:
            spoken = self.gemini(body)
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        for event in spoken:
            name = f"event: {event['type']}\n" if "type" in event else ""
            handler.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        if "/chat/" in handler.path:
            handler.wfile.write(b"data: [DONE]\n\n")

    def anthropic(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        step = next_step(body["messages"]) if body.get("tools") else {}
        usage = {"input_tokens": 120, "output_tokens": 11}
        message = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant"}
        message |= {"model": "stub", "content": [], "stop_reason": None, "stop_sequence": None}
        message |= {"usage": usage}
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": step.get("text", self.text)}
        if "tool" in step:
            block = {"type": "tool_use", "name": step["tool"], "input": {}}
            block["id"] = f"toolu_{uuid.uuid4().hex[:20]}"
            delta = {"type": "input_json_delta", "partial_json": json.dumps(step["input"])}
        stop = {"stop_reason": "tool_use" if "tool" in step else "end_turn"}
        return [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": stop, "usage": usage},
            {"type": "message_stop"},
        ]

    def responses(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Events of OpenAI's Responses API; each call of a tool is a turn of the assistant."""
        turns = [
            {"role": "assistant" if item.get("type") == "function_call" else item["role"]}
            | {"content": item.get("content", "")}
            for item in body["input"]
            if item.get("type", "message") in ("message", "function_call")
        ]
        step = next_step(turns)
        number = uuid.uuid4().hex[:12]
        text = {"type": "output_text", "text": step.get("text", self.text), "annotations": []}
        item: dict[str, Any] = {"type": "message", "role": "assistant", "content": [text]}
        if "tool" in step:
            item = {"type": "function_call", "call_id": f"call_{number}", "name": step["tool"]}
            item |= {"arguments": json.dumps(step["input"])}
            item |= {"namespace": step["namespace"]} if "namespace" in step else {}
        item |= {"id": f"item_{number}", "status": "completed"}
        usage = {"input_tokens": 120, "output_tokens": 11, "total_tokens": 131}
        usage |= {"input_tokens_details": {"cached_tokens": 0}}
        usage |= {"output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": f"resp_{number}", "object": "response", "model": "stub", "output": []}
        return [
            {"type": "response.created", "response": response},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {
                "type": "response.completed",
                "response": {**response, "output": [item], "usage": usage},
            },
        ]

    def chat(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Chunks of OpenAI's chat completions."""
        step = next_step(body["messages"]) if body.get("tools") else {}
        number = uuid.uuid4().hex[:12]
        base = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": "stub"}
        delta: dict[str, Any] = {"role": "assistant", "content": step.get("text", self.text)}
        if "tool" in step:
            function = {"name": step["tool"], "arguments": json.dumps(step["input"])}
            call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
            delta = {"role": "assistant", "content": None, "tool_calls": [call]}
        usage = {"prompt_tokens": 120, "completion_tokens": 11, "total_tokens": 131}
        end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if "tool" in step else "stop"}
        first = {"index": 0, "delta": delta, "finish_reason": None}
        return [{**base, "choices": [first]}, {**base, "choices": [end], "usage": usage}]

    def gemini(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        turns = [
            {
                "role": "assistant" if content.get("role") == "model" else "user",
                "content": "\n".join(part.get("text") or "" for part in content["parts"]),
            }
            for content in body.get("contents", ())
        ]
        step = next_step(turns) if body.get("tools") else {}
        part: dict[str, Any] = {"text": step.get("text", self.text)}
        if "tool" in step:
            part = {"functionCall": {"name": step["tool"], "args": step["input"]}}
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 120, "candidatesTokenCount": 11, "totalTokenCount": 131}
        payload = {"content": content, "finishReason": "STOP", "index": 0}
        return [{"candidates": [payload], "usageMetadata": usage, "modelVersion": "stub"}]
