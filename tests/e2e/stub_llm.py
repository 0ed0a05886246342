"""A model on loopback that speaks to Claude Code and Gemini CLI, and says what it is told to."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Request(NamedTuple):
    path: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)


class Stub:
    """Every request is written down; all of them get the same answer, or none while `silent`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.silent = False
        self.requests: list[Request] = []
        self.released = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.send_response(200)
                self.end_headers()

            def do_POST(self) -> None:
                stub.answer(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.requests.append(Request(handler.path, body))
        if self.silent:
            self.released.wait(60)
            return
        spoken = self.anthropic() if "/messages" in handler.path else self.gemini()
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        for event in spoken:
            name = f"event: {event['type']}\n" if "type" in event else ""
            handler.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())

    def anthropic(self) -> list[dict[str, Any]]:
        usage = {"input_tokens": 120, "output_tokens": 11}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "stub"}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        said = {"type": "text_delta", "text": self.text}
        return [
            {"type": "message_start", "message": message},
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
            {"type": "content_block_delta", "index": 0, "delta": said},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
            {"type": "message_stop"},
        ]

    def gemini(self) -> list[dict[str, Any]]:
        content = {"role": "model", "parts": [{"text": self.text}]}
        usage = {"promptTokenCount": 120, "candidatesTokenCount": 11, "totalTokenCount": 131}
        said = {"content": content, "finishReason": "STOP", "index": 0}
        return [{"candidates": [said], "usageMetadata": usage, "modelVersion": "stub"}]
