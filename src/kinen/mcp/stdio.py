"""The server on standard input and output: JSON-RPC by lines, with the standard library alone.

The thread that reads answers everything but calls of tools. With the first of these, `Calls` and
all that it needs are imported, and an event loop in a second thread runs the calls.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading

from kinen.mcp import protocol
from kinen.mcp.protocol import Catalogue, ProtocolError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from typing import Any, BinaryIO

    from kinen.mcp.calls import Calls
    from kinen.memory import Memory

LONGEST = 64 << 20
"""Bytes of a message; the rest of a longer line is read and dropped."""
END_SECONDS = 30.0
"""Seconds that calls get to be answered after the end of the input."""
ENVELOPE = "io.modelcontextprotocol/"
VERSION = f"{ENVELOPE}protocolVersion"
CLIENT = f"{ENVELOPE}clientInfo"
OFFERED = f"{ENVELOPE}clientCapabilities"
NOT_VALID = "Invalid request parameters"


def serve(
    memory: Callable[[], Memory | Callable[[str], Memory]], catalogue: Catalogue, *, read_only: bool
) -> None:
    """Serve until the input ends; `memory` opens what `Calls` takes, for the first call.

    Meanwhile standard input is empty and what is printed goes to standard error, so that nothing
    but messages reaches the client.
    """
    source = os.fdopen(os.dup(0), "rb")
    target = os.fdopen(os.dup(1), "wb")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    sys.stdout.flush()
    os.dup2(2, 1)
    with source, target:
        Connection(target, memory, catalogue, read_only=read_only).run(source)


def lines(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream; one that is too long is cut after `LONGEST` + 1 bytes."""
    while line := source.readline(LONGEST + 1):
        yield line
        while len(line) > LONGEST and not line.endswith(b"\n"):
            line = source.readline(LONGEST + 1)
            if not line:
                return


class Connection:
    """A client, from its first message to the end of its input."""

    def __init__(
        self,
        target: BinaryIO,
        memory: Callable[[], Memory | Callable[[str], Memory]],
        catalogue: Catalogue,
        *,
        read_only: bool,
    ) -> None:
        self._target = target
        self._memory = memory
        self._catalogue = catalogue
        self._read_only = read_only
        self._lock = threading.Lock()
        self._modern: bool | None = None
        """Decided by the first request."""
        self._about: dict[str, Any] | None = None
        """The parameters of `initialize`."""
        self._calls: Calls | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running: dict[str | int, tuple[Future[None], threading.Event]] = {}
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._count = 0

    def run(self, source: BinaryIO) -> None:
        for line in lines(source):
            if line.strip():
                id_ = None
                try:
                    message = _parsed(line)
                    if isinstance(message, list):
                        raise ProtocolError(protocol.INVALID_REQUEST, "batches are not supported")
                    message = message if isinstance(message, dict) else {}
                    id_ = _id(message)
                    if fault := _fault(message):
                        raise ProtocolError(protocol.INVALID_REQUEST, fault)
                    if "method" not in message:
                        self._answered(message)
                    elif id_ is None:
                        self._notified(message["method"], message.get("params", {}))
                    else:
                        self._requested(id_, message["method"], message.get("params", {}))
                except ProtocolError as error:
                    self._fail(id_, error)
        self._end()

    def send(self, message: dict[str, Any]) -> None:
        """Write a message; from any thread. A client that is gone is not told anything."""
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._target.write(text.encode("utf-8", "replace") + b"\n")
            self._target.flush()

    def _fail(self, id_: str | int | None, error: ProtocolError) -> None:
        about = {"code": error.code, "message": error.message}
        if error.data is not None:
            about["data"] = error.data
        self.send({"id": id_, "error": about})

    def _answered(self, message: dict[str, Any]) -> None:
        """The client answers a request of the server."""
        number = message.get("id")
        reply = self._waiting.pop(number, None) if isinstance(number, int) else None
        if reply is None or not reply.set_running_or_notify_cancel():
            return
        result = message.get("result")
        if isinstance(result, dict):
            reply.set_result(result)
        else:
            error = message.get("error")
            text = error.get("message") if isinstance(error, dict) else None
            reply.set_exception(Refused(text or "its answer cannot be read"))

    def _notified(self, method: str, params: dict[str, Any]) -> None:
        if method != "notifications/cancelled":
            return
        id_ = params.get("requestId")
        call = self._running.get(id_) if isinstance(id_, (str, int)) else None
        if call:
            call[1].set()
            call[0].cancel()

    def _requested(self, id_: str | int, method: str, params: dict[str, Any]) -> None:
        meta = params.get("_meta")
        is_enveloped = isinstance(meta, dict) and VERSION in meta
        if self._modern is None:
            self._modern = is_enveloped and method != "initialize"
        about = self._modern_client(method, params) if self._modern else self._about
        if not self._modern and is_enveloped and method != "initialize":
            fact = "this connection began with the handshake of an earlier protocol"
            raise ProtocolError(protocol.INVALID_REQUEST, f"{fact}; {VERSION} is not accepted")
        answer = self._methods().get(method)
        if answer is None:
            raise ProtocolError(protocol.METHOD_NOT_FOUND, "Method not found", method)
        if about is None and method not in ("initialize", "ping"):
            raise ProtocolError(protocol.INVALID_PARAMS, NOT_VALID, "initialize comes first")
        if method == "tools/call":
            import asyncio

            arguments = _object(params, "arguments")
            responses = _object(params, "inputResponses")
            is_named = isinstance(params.get("name"), str)
            if not is_named or not all(isinstance(row, dict) for row in responses.values()):
                raise ProtocolError(protocol.INVALID_PARAMS, NOT_VALID, "")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
                self._thread.start()
            ended = threading.Event()
            client = StdioClient(self, params, about or {}, modern=bool(self._modern))
            work = self._answer(id_, client, params["name"], arguments, ended)
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._running[id_] = (future, ended)
            future.add_done_callback(lambda _: self._running.pop(id_, None))
        else:
            self.send({"id": id_, "result": self._stamped(answer(params))})

    def _methods(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        shared: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "tools/list": lambda _: self._cached(
                self._catalogue.list_tools(), protocol.TOOLS_CACHE_MS
            ),
            "tools/call": lambda _: {},
            "prompts/list": lambda _: self._cached(self._catalogue.list_prompts()),
            "prompts/get": self._prompt,
        }
        if self._modern:
            return {**shared, "server/discover": self._discover}
        return {**shared, "initialize": self._initialize, "ping": lambda _: {}}

    def _modern_client(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Who asks, by the envelope of a request."""
        served = {"supported": [protocol.MODERN]}
        if method == "initialize":
            fact = f"this connection began with {protocol.MODERN}, which has no handshake"
            data = {**served, "requested": params.get("protocolVersion")}
            raise ProtocolError(protocol.UNSUPPORTED_VERSION, fact, data)
        meta = params.get("_meta")
        absent = [
            key for key in (VERSION, OFFERED) if not isinstance(meta, dict) or key not in meta
        ]
        if not isinstance(meta, dict) or absent:
            raise ProtocolError(protocol.INVALID_PARAMS, f"params._meta lacks {', '.join(absent)}")
        version = meta[VERSION]
        offered = meta[OFFERED]
        info = meta.get(CLIENT)
        if not isinstance(version, str) or not isinstance(offered, dict):
            raise ProtocolError(protocol.INVALID_PARAMS, NOT_VALID, "")
        if version != protocol.MODERN:
            data = {**served, "requested": version}
            raise ProtocolError(protocol.UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        return {"clientInfo": info if isinstance(info, dict) else {}, "capabilities": offered}

    def _cached(self, result: dict[str, Any], milliseconds: int = 0) -> dict[str, Any]:
        """A result that a modern client may keep for a time."""
        if not self._modern:
            return result
        scope = "public" if milliseconds else "private"
        return {**result, "ttlMs": milliseconds, "cacheScope": scope}

    def _stamped(self, result: dict[str, Any]) -> dict[str, Any]:
        if not self._modern:
            return result
        meta = {f"{ENVELOPE}serverInfo": protocol.INFO}
        return {"resultType": "complete", **result, "_meta": meta}

    def _discover(self, _: dict[str, Any]) -> dict[str, Any]:
        return self._cached({"supportedVersions": [protocol.MODERN], **self._offer()})

    def _offer(self) -> dict[str, Any]:
        instructions = self._catalogue.instructions
        return {"capabilities": protocol.CAPABILITIES, "instructions": instructions}

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        version = params.get("protocolVersion")
        info = _object(params, "clientInfo")
        texts = (version, info.get("name"), info.get("version"))
        is_complete = isinstance(params.get("capabilities"), dict)
        if not is_complete or not all(isinstance(text, str) for text in texts):
            raise ProtocolError(protocol.INVALID_PARAMS, NOT_VALID, "")
        self._about = params
        agreed = version if version in protocol.HANDSHAKES else protocol.HANDSHAKES[-1]
        return {"protocolVersion": agreed, "serverInfo": protocol.INFO, **self._offer()}

    def _prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        arguments = _object(params, "arguments")
        if not all(isinstance(text, str) for text in (params.get("name"), *arguments.values())):
            raise ProtocolError(protocol.INVALID_PARAMS, NOT_VALID, "")
        return self._catalogue.get_prompt(params["name"], arguments)

    # Calls of tools

    async def _answer(
        self,
        id_: str | int,
        client: StdioClient,
        name: str,
        arguments: dict[str, Any],
        ended: threading.Event,
    ) -> None:
        try:
            if self._calls is None:
                from kinen.mcp.calls import Calls

                listed = [tool["name"] for tool in self._catalogue.tools]
                self._calls = Calls(self._memory(), read_only=self._read_only, listed=listed)
            result = await self._calls.call(client, name, arguments, ended)
            self.send({"id": id_, "result": self._stamped(result)})
        except Exception as error:
            text = f"unexpected {type(error).__name__}: {error} · this is a bug in kinen"
            self._fail(id_, ProtocolError(protocol.INTERNAL_ERROR, text))

    async def ask(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """What the client answers to a request of the server."""
        import asyncio
        from concurrent.futures import Future

        self._count += 1
        number = self._count
        reply: Future[dict[str, Any]] = Future()
        self._waiting[number] = reply
        self.send({"id": number, "method": method, **({"params": params} if params else {})})
        try:
            return await asyncio.wait_for(asyncio.wrap_future(reply), seconds)
        except TimeoutError:
            about = {"requestId": number, "reason": "no answer in time"}
            self.send({"method": "notifications/cancelled", "params": about})
            raise
        finally:
            self._waiting.pop(number, None)

    def _end(self) -> None:
        """Let the running calls end and answer, and close the memories."""
        if self._loop is None:
            return
        from asyncio import run_coroutine_threadsafe
        from concurrent.futures import wait

        calls = list(self._running.values())
        for _, ended in calls:
            ended.set()
        for reply in list(self._waiting.values()):
            if reply.set_running_or_notify_cancel():
                reply.set_exception(Refused("the client is gone"))
        wait([future for future, _ in calls], END_SECONDS)
        if self._calls:
            run_coroutine_threadsafe(self._calls.pool.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class StdioClient:
    """The client of one call."""

    def __init__(
        self,
        connection: Connection,
        params: dict[str, Any],
        about: dict[str, Any],
        *,
        modern: bool,
    ) -> None:
        self.name = str(about["clientInfo"].get("name", ""))
        self.capabilities: dict[str, Any] = about["capabilities"]
        self.modern = modern
        self.responses: dict[str, dict[str, Any]] = params.get("inputResponses") or {}
        meta = params.get("_meta")
        self._token = meta.get("progressToken") if isinstance(meta, dict) else None
        self._connection = connection

    async def request(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        return await self._connection.ask(method, params, seconds)

    def report(self, progress: float, total: float, message: str) -> None:
        if isinstance(self._token, (str, int)):
            about = {"progress": progress, "total": total, "message": message}
            params = {"progressToken": self._token, **about}
            self._connection.send({"method": "notifications/progress", "params": params})


def _object(params: dict[str, Any], name: str) -> dict[str, Any]:
    """A parameter that is an object, or absent."""
    value = params.get(name)
    if value is not None and not isinstance(value, dict):
        raise ProtocolError(protocol.INVALID_PARAMS, NOT_VALID, "")
    return value or {}


def _parsed(line: bytes) -> Any:
    if len(line) > LONGEST:
        fact = f"a message is longer than {LONGEST >> 20} MiB"
        raise ProtocolError(protocol.INVALID_REQUEST, fact)
    try:
        return json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise ProtocolError(protocol.PARSE_ERROR, "a line is not JSON") from None


def _fault(message: dict[str, Any]) -> str:
    """What keeps an object from being a message of JSON-RPC."""
    if message.get("jsonrpc") != "2.0":
        return "not a message of JSON-RPC 2.0"
    if "method" not in message:
        return "" if "result" in message or "error" in message else "neither a method nor a result"
    if not isinstance(message["method"], str):
        return "a method is a text"
    if not isinstance(message.get("params", {}), dict):
        return "params is an object"
    if "id" in message and _id(message) is None:
        return "an id is a text or a whole number"
    return ""


def _id(message: dict[str, Any]) -> str | int | None:
    id_ = message.get("id")
    return id_ if type(id_) in (str, int) else None
