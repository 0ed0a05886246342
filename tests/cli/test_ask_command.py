"""`kinen ask`: an answer that cites its sources, by extract or by a model that is asked."""

from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from sources.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Ask = Callable[..., Any]

CLAUDE = """#!{python}
import json, os, sys, time
sys.stdin.read()
lines = {lines!r}
if "stream-json" in sys.argv:
    for n, line in enumerate(lines):
        while n and not os.path.exists({gate!r}):
            time.sleep(0.01)
        delta = {{"type": "text_delta", "text": line + "\\n"}}
        event = {{"type": "content_block_delta", "delta": delta}}
        print(json.dumps({{"type": "stream_event", "event": event}}), flush=True)
print(json.dumps({{"type": "result", "is_error": False, "result": "\\n".join(lines)}}))
"""


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Full text only, and no agent around."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("KINEN_DAEMON_AUTO_START", "false")
    for name in [name for name in os.environ if name.startswith(("CLAUDE", "AI_AGENT", "CODEX_"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Puts a program on the path that answers as Claude Code does; the file that lets it go on."""

    def install(*lines: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        gate = tmp_path / "gate"
        program = CLAUDE.format(python=sys.executable, lines=list(lines), gate=str(gate))
        (folder / "claude").write_text(program)
        (folder / "claude").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
        return gate

    return install


def test_what_nothing_supports_is_not_known(kinen: Ask) -> None:
    kinen("checkpoint", "The limiter allows 300 requests a minute")
    for question in ("quantum zebra banana", "which requests did the quantum zebra banana make"):
        ran = kinen("ask", question)
        assert (ran.code, ran.out) == (1, "")
        assert "nothing is known about this" in ran.err
    result = kinen("ask", "--json", "quantum zebra banana")
    assert result.code == 1
    assert json.loads(result.out)["answer"] == ""
    assert kinen("ask", " ").code == 2
    assert kinen("ask", "limiter", "--budget", "-1").code == 2
    assert kinen("ask", "limiter", "--distiller", "odd").code == 2


@pytest.mark.skipif(os.name == "nt", reason="the program is a script")
def test_citations_of_a_model_are_checked(kinen: Ask, claude: Callable[..., Path]) -> None:
    kinen("checkpoint", "The limiter allows 300 requests a minute")
    claude("- It allows 300 a minute [1] [9] [observation:01NOWHERE].")
    data = json.loads(kinen("ask", "limiter requests", "--distiller", "claude", "--json").out)
    assert data["answer"] == "- It allows 300 a minute [1]."
    assert [citation["number"] for citation in data["citations"]] == [1]
    assert {"ref": "observation:01NOWHERE", "reason": "not among the sources"} in data["dropped"]
    assert data["distiller"] == "claude"


@pytest.mark.skipif(os.name == "nt", reason="the program is a script")
def test_a_model_that_is_named_writes_cited_sentences_above_the_reasons_for_a_line(
    kinen: Ask, claude: Callable[..., Path], space: Path
) -> None:
    repository = Repository(space, "existing")
    repository.git("init", "-q", "-b", "main")
    body = "The tea got cold, as the pot took the warmth of the water. " * 3
    sha = repository.commit(f"fix: warm the pot\n\n{body}", {"tea.py": "warm(pot)\n"})
    claude("- The tea got cold. So the pot is warmed first. [1] It helps [1].", "- I do [7].")
    run = kinen("why", "tea.py:1", "--distiller", "claude")
    assert run.code == 0, run.err
    ref = f"[commit:{sha[:10]}]"
    paragraph = " ".join(run.out.split("\n\n")[1].split())
    assert paragraph == f"So the pot is warmed first. {ref} It helps. {ref}"
    data = json.loads(kinen("why", "tea.py:1", "--distiller", "claude", "--json").out)
    assert {ref for row in data["paragraph"] for ref in row["refs"]} == {f"commit:{sha}"}
    assert json.loads(kinen("why", "tea.py:1", "--json").out)["paragraph"] == []


@pytest.mark.skipif(os.name == "nt", reason="the program is a script")
def test_an_answer_of_a_model_without_a_source_is_none(
    kinen: Ask, claude: Callable[..., Path]
) -> None:
    kinen("checkpoint", "The limiter allows 300 requests a minute")
    claude("- The passages do not say that [7].")
    ran = kinen("ask", "limiter requests", "--distiller", "claude")
    assert (ran.code, ran.out) == (1, "")
    assert "nothing is known about this" in ran.err


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo terminals")
def test_an_answer_is_streamed_to_a_terminal(
    kinen: Ask, claude: Callable[..., Path], space: Path
) -> None:
    import pty
    import subprocess

    rule = "The limiter allows 300 requests a minute, a rule that it sets for itself and for every"
    kinen("checkpoint", f"{rule} client of the service, whatever plan the client has paid for.")
    gate = claude("- It allows 300 a minute [1].", "- It is the limiter's own rule [1].")
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "kinen", "ask", "limiter requests", "--distiller", "claude"]
    process = subprocess.Popen(command, cwd=space, stdout=slave, stderr=subprocess.DEVNULL)
    os.close(slave)
    seen = b""
    while b"300 a minute [1]." not in seen:  # the model waits for the gate meanwhile
        seen += os.read(master, 1000)
    assert b"own rule" not in seen
    gate.touch()
    while True:
        try:
            block = os.read(master, 1000)
        except OSError:
            break
        if not block:
            break
        seen += block
    os.close(master)
    assert process.wait(timeout=300) == 0
    assert seen.count(b"300 a minute [1].") == 1
    assert seen.count(b"own rule [1].") == 1
    assert b"\n[1] " in seen.replace(b"\x1b", b"")


@pytest.fixture
def ollama() -> Iterator[str]:
    """A server that streams an answer in pieces, as Ollama does."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            pieces = ["<think>[1]?", "</think>- It allows ", "300 [1].\n- A rule", " [1]."]
            whole = "".join(pieces)
            texts = pieces if data["stream"] else [whole]
            self.send_response(200)
            self.end_headers()
            for n, text in enumerate(texts, 1):
                value = {"message": {"content": text}, "done": n == len(texts)}
                value |= {"prompt_eval_count": 70, "eval_count": 9} if n == len(texts) else {}
                self.wfile.write(json.dumps(value).encode() + b"\n")

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_model_of_ollama_streams_the_same_answer_without_its_thoughts(ollama: str) -> None:
    from kinen.distill.services import ollama as asked

    pieces: list[str] = []
    streamed = asked("question", "m", 30, ollama, 100, pieces.append)
    assert "".join(pieces) == streamed.text == "- It allows 300 [1].\n- A rule [1]."
    assert asked("question", "m", 30, ollama, 100) == streamed
    assert (streamed.tokens_in, streamed.tokens_out) == (70, 9)
