"""Messages that no kinen would send: versions of entries with parts replaced, removed and mixed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hypothesis import strategies as st

from kinen.model.kinds import REDACTED
from kinen.model.team import ERASED, Version
from kinen.team.accept import FREE, STEP
from kinen.team.merge import TEXTS, change, to_json
from team_service import observation

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CAPSULE = {
    "id": "ada-c",
    "type": "session",
    "intent": "cap the retries",
    "status": "open",
    "openedAt": 1,
}
SUMMARY = {"id": "ada-s", "capsuleId": "ada-c", "content": "Ada capped them", "createdAt": 2}
MEMORY = {"id": "memory-1", "type": "decision", "content": "cap at three", "createdAt": 1}
PIN = {"id": "pin-1", "targetType": "observation", "targetId": "ada-1", "createdAt": 1}
TAG = {"id": "tag-1", "path": "a.py", "op": "+", "tag": "retry", "createdAt": 1}
HIDDEN = {"ref": "observation:ada-2", "at": 1, "hidden": True}
SESSION = {**CAPSULE, "id": "ada-d", "intent": "", "scopeIds": {"sessionId": "s1"}}
PROMPT = {
    "id": "ada-3",
    "kind": "message",
    "content": "what Ada asked for",
    "ts": 5,
    "capsuleId": "ada-d",
    "scopeIds": {"sessionId": "s1"},
    "provenance": {"role": "user"},
}
ENTRIES: tuple[Version, ...] = (
    observation("ada-1", "deploy needs approval"),
    observation("ada-2", "retries burn the element"),
    *(
        change(Version(noun, fields[key], "ada", "m1"), fields, "m1")
        for noun, key, fields in (
            ("capsule", "id", CAPSULE),
            ("summary", "id", SUMMARY),
            ("summary", "id", {**SUMMARY, "id": "ada-g", "written": False}),
            ("memory", "id", MEMORY),
            ("pin", "id", PIN),
            ("tag", "id", TAG),
            ("suppressed", "ref", HIDDEN),
            ("capsule", "id", SESSION),
            ("observation", "id", PROMPT),
        )
    ),
)
"""What Ada wrote."""
TEMPLATES = [to_json(version) for version in ENTRIES]
MORE = {"withdrawn", "junk", "supersededBy", "derivedFrom", "parentId", "reason", "confidence"}
KEYS = sorted({name for item in TEMPLATES for name in item["fields"]} | MORE)

deep: Any = []
for _ in range(200):
    deep = [deep]
VALUES = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 1 << 70, 1.5, float("nan"), float("inf")),
        *("", "evil", REDACTED, SECRET, f"token {SECRET}", "\ud800", "a\0b", "\x1b]0;x\x07"),
        *("x" * 300, "y" * 70_000, "observation", "memory", "ada-1", "ada-2", "ada-c", "ada-g"),
        *("ada-d", "memory-1", "new-1", "new-2", ["observation:new-1"], {"sessionId": "s1"}),
        *("note:a.md", "observation:ada-1", "+", "open", "closed", "message"),
        *(
            {},
            [],
            {"a": SECRET},
            {SECRET: 1},
            {"a": float("nan")},
            {"count": 1, "classes": [SECRET]},
        ),
        *({"sessionId": SECRET, "x": "\ud800"}, ["\ud800", SECRET], [[]], deep, {"a": deep}),
    ]
)
NUMBERS = st.sampled_from(
    [0, 1, 2, 3, 900, FREE, FREE + 1, FREE + STEP, ERASED - 1, ERASED, ERASED + 1, -1, True, 1.5]
)
MACHINES = st.sampled_from(["", "m1", "zz", "\ud800", SECRET, "x" * 300, 7])
STAMPS = st.tuples(NUMBERS, MACHINES).map(list)
FRESH = st.sampled_from(["new-1", "new-2", "new-3"])
MUTATIONS = st.one_of(
    st.tuples(st.just("id"), FRESH),
    st.tuples(st.just("field"), st.sampled_from(KEYS), VALUES),
    st.tuples(st.just("stamp"), st.sampled_from(KEYS), STAMPS),
    st.tuples(st.just("stamps"), STAMPS),
    st.tuples(st.just("changed"), st.sampled_from(KEYS), VALUES, STAMPS),
    st.tuples(st.just("erased"), st.sampled_from(KEYS), VALUES, MACHINES),
    st.tuples(st.just("redacted")),
    st.tuples(st.just("withdrawn"), st.booleans(), STAMPS),
    st.tuples(st.just("forgotten"), st.booleans(), st.sampled_from([0, 1, 5, -1, 1 << 60, "1"])),
    st.tuples(
        st.just("part"),
        st.sampled_from(["noun", "id", "author", "machine", "fields", "stamps", "cleaned"]),
        VALUES,
    ),
    st.tuples(st.just("cleaned"), st.lists(st.sampled_from(["ada-1", "ada-2", "bogus", SECRET]))),
    st.tuples(st.just("drop"), st.sampled_from([*KEYS, "id", "noun", "fields", "stamps"])),
)
ITEMS = st.tuples(st.integers(0, len(TEMPLATES) - 1), st.lists(MUTATIONS, max_size=4))
MESSAGES = st.lists(st.one_of(ITEMS, VALUES), min_size=1, max_size=3)
"""A message as what `forged` makes it of."""


def forged(message: list[Any]) -> list[Any]:
    """The versions of a message."""
    items = []
    for part in message:
        if type(part) is not tuple:
            items.append(part)
            continue
        number, mutations = part
        item = deepcopy(TEMPLATES[number])
        for name, *values in mutations:
            if type(item.get("fields")) is dict and type(item.get("stamps")) is dict:
                _MUTATE[name](item, *values)
        items.append(item)
    return items


def _rename(item: dict[str, Any], id_: str) -> None:
    ref = item.get("noun") == "suppressed"
    item["id"] = f"observation:{id_}" if ref else id_
    item["fields"]["ref" if ref else "id"] = item["id"]


def _change(item: dict[str, Any], name: str, value: Any, stamp: Any) -> None:
    item["fields"][name] = value
    item["stamps"][name] = stamp


def _stamp(item: dict[str, Any], stamp: Any) -> None:
    item["stamps"] = dict.fromkeys(item["stamps"], stamp)


def _redact(item: dict[str, Any]) -> None:
    for name, value in TEXTS.get(str(item.get("noun")), {"content": REDACTED}).items():
        _change(item, name, value, [ERASED, ""])


def _withdraw(item: dict[str, Any], whole: bool, stamp: Any) -> None:
    if whole:
        item["fields"] = dict.fromkeys(item["fields"])
        _stamp(item, stamp)
    _change(item, "withdrawn", True, stamp)


def _forget(item: dict[str, Any], whole: bool, moment: Any) -> None:
    if whole:
        item["fields"] = {}
        item["stamps"] = {}
    item["forgotten"] = moment


def _drop(item: dict[str, Any], name: str) -> None:
    item.pop(name, None)
    for part in ("fields", "stamps"):
        item.get(part, {}).pop(name, None)


_MUTATE: dict[str, Callable[..., None]] = {
    "id": _rename,
    "field": lambda item, name, value: item["fields"].update({name: value}),
    "stamp": lambda item, name, stamp: item["stamps"].update({name: stamp}),
    "stamps": _stamp,
    "changed": _change,
    "erased": lambda item, name, value, machine: _change(item, name, value, [ERASED, machine]),
    "redacted": _redact,
    "withdrawn": _withdraw,
    "forgotten": _forget,
    "part": lambda item, name, value: item.update({name: value}),
    "cleaned": lambda item, ids: item.update({"cleaned": ids}),
    "drop": _drop,
}


@contextmanager
def hostile_server(answer: Callable[[str, str], Any]) -> Iterator[str]:
    """A server on loopback that sends what `answer` gives for a method and a path."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            content = answer(self.command, self.path)
            data = content if type(content) is bytes else json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
