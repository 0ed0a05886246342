"""A live hook and a transcript import keep the same of the same tool use."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kinen.memory import Memory

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "gh" + "p_" + "a1B2c3D4e5F6" * 3
PATCH = [{"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": ["-abc", "+abd"]}]
LONG = "\n".join(f"line {n} of the output" for n in range(900)) + "\n3 failed"
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected"
AGENT_DONE = {"status": "completed", "agentId": "a1", "content": [{"type": "text", "text": "x"}]}
MEMORY_BLOCK = "<kinen-memory>told before</kinen-memory>"


class Case(NamedTuple):
    """One event: as the client hands it to a hook, and as it writes it to a transcript."""

    name: str
    payload: dict[str, Any]
    lines: list[dict[str, Any]]
    dropped: bool = False
    folder: str = ""
    """The working folder of the session, below the root of the space."""


def ran(stdout: str, **more: Any) -> dict[str, Any]:
    return {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False, **more}


def line(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": content}, **more}


def used(
    name: str,
    tool: str,
    inputs: dict[str, Any],
    response: Any = "",
    content: Any = None,
    **more: Any,
) -> Case:
    """A tool use that succeeded: `content` is what the model reads, `response` what hooks get."""
    payload = {"tool_name": tool, "tool_input": inputs, "tool_use_id": "toolu_1"}
    payload |= {"hook_event_name": "PostToolUse", "tool_response": response}
    call = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": inputs}
    result = {"type": "tool_result", "tool_use_id": "toolu_1"}
    result["content"] = response if content is None else content
    lines = [line("assistant", [call]), line("user", [result], toolUseResult=response)]
    return Case(name, payload, lines, **more)


def bash(name: str, command: str, stdout: str = "known already", **more: Any) -> Case:
    return used(name, "Bash", {"command": command}, ran(stdout), stdout, **more)


def failed(
    name: str, tool: str, inputs: dict[str, Any], error: str, content: str = "", **more: Any
) -> Case:
    payload = {"tool_name": tool, "tool_input": inputs, "tool_use_id": "toolu_1"}
    payload |= {"hook_event_name": "PostToolUseFailure", "error": error}
    call = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": inputs}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True}
    result["content"] = content or error
    lines = [line("assistant", [call]), line("user", [result], toolUseResult=f"Error: {error}")]
    return Case(name, payload, lines, **more)


def prompt(name: str, text: str, **more: Any) -> Case:
    payload = {"hook_event_name": "UserPromptSubmit", "prompt": text}
    return Case(name, payload, [line("user", text)], **more)


def answer(name: str, text: str) -> Case:
    payload = {"hook_event_name": "Stop", "last_assistant_message": text}
    return Case(name, payload, [line("assistant", [{"type": "text", "text": text}])])


def edited(name: str, tool: str, inputs: dict[str, Any], response: Any, **more: Any) -> Case:
    inputs = {"file_path": "ROOT/src/cart.py", **inputs}
    return used(name, tool, inputs, response, "The file has been updated.", **more)


CASES = [
    bash("a command", "pytest -q", "2 passed"),
    bash("a command without output", "true", ""),
    bash("a long output", "make test", LONG),
    bash("a long command", "echo " + "word " * 900, "done"),
    bash("a command with a secret", f"curl -H 'Authorization: token {SECRET}' x", "ok"),
    bash("an output with a secret", "env", f"TOKEN={SECRET}\n" + "x\n" * 3000),
    bash("an output in colour", "ls --color", "\x1b[34msrc\x1b[0m\ntests"),
    bash("an output with a reminder", "ls", "src<system-reminder>be nice</system-reminder>"),
    bash("an output with what kinen told", "cat log", f"before {MEMORY_BLOCK} after"),
    used(
        "an output on both streams",
        "Bash",
        {"command": "make"},
        ran("built", stderr="a warning"),
        "built\na warning",
    ),
    used(
        "a command in the background",
        "Bash",
        {"command": "make serve", "run_in_background": True},
        ran("", backgroundTaskId="b1"),
        "Command running in background with ID: b1",
    ),
    used(
        "a picture as output",
        "Bash",
        {"command": "cat a.png"},
        ran("data:image/png;base64,iVBORw0KGgo", isImage=True),
        [{"type": "image", "source": {}}],
    ),
    used(
        "a command that the user interrupted",
        "Bash",
        {"command": "sleep 99"},
        ran("partly", interrupted=True),
        "partly",
    ),
    bash("kinen alone", "kinen recall x", dropped=True),
    bash("kinen by uv", "uv run kinen recall x", dropped=True),
    bash("kinen as a module", "python -m kinen recall x", dropped=True),
    bash("kinen with a setting", "KINEN_SPACE=a kinen search y", dropped=True),
    bash("kinen with its time taken", "time kinen search y", dropped=True),
    bash("kinen in another folder", "cd /x && .venv/bin/kinen search y", dropped=True),
    bash("kinen among others", "echo hi && kinen search y"),
    bash("kinen in a substitution", 'echo "$(kinen recall x)"'),
    bash("a command that names kinen", "grep kinen README.md"),
    bash("a command that reads a private file", "cat secrets/key.txt", dropped=True),
    failed("a command that failed", "Bash", {"command": "make"}, "Exit code 2\nno rule"),
    failed("a long failure", "Bash", {"command": "make"}, f"Exit code 2\n{LONG}"),
    failed(
        "kinen among others that failed",
        "Bash",
        {"command": "make && kinen recall x"},
        "Exit code 1\nknown already",
    ),
    failed(
        "a command that the user refused",
        "Bash",
        {"command": "rm -rf x"},
        REFUSED,
        dropped=True,
    ),
    failed(
        "a command that the user refused with a word",
        "Bash",
        {"command": "rm -rf x"},
        f"{REFUSED}. To tell you how to proceed, the user said:\nkeep x",
    ),
    edited(
        "an edit",
        "Edit",
        {"old_string": "abc", "new_string": "abd"},
        {"filePath": "ROOT/src/cart.py", "structuredPatch": PATCH},
    ),
    edited("an edit without a patch", "Edit", {"old_string": "a", "new_string": "b"}, {}),
    edited(
        "several edits",
        "MultiEdit",
        {"edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}]},
        {"structuredPatch": []},
    ),
    edited("a new file", "Write", {"content": "x = 1\ny = 2\n"}, {"type": "create"}),
    edited(
        "a file written as it was",
        "Write",
        {"content": "x = 1\n"},
        {"type": "update", "structuredPatch": []},
    ),
    edited("a long new file", "Write", {"content": LONG}, {"type": "create"}),
    used(
        "a cell of a notebook",
        "NotebookEdit",
        {"notebook_path": "ROOT/a.ipynb", "new_source": "1 + 1"},
        {"new_source": "1 + 1"},
        "Updated cell",
    ),
    edited(
        "an edit below the folder of the session",
        "Edit",
        {"old_string": "a", "new_string": "b"},
        {},
        folder="src",
    ),
    failed(
        "an edit that failed",
        "Edit",
        {"file_path": "ROOT/src/cart.py", "old_string": "x", "new_string": "y"},
        "String to replace not found",
        "<tool_use_error>String to replace not found</tool_use_error>",
    ),
    edited(
        "an edit of a private file",
        "Edit",
        {"file_path": "ROOT/secrets/key.txt", "old_string": "a"},
        {},
        dropped=True,
    ),
    used(
        "a file that was read",
        "Read",
        {"file_path": "ROOT/src/cart.py", "offset": 3},
        {"type": "text", "file": {"filePath": "ROOT/src/cart.py", "content": "all"}},
        "1\tall",
    ),
    used("a file outside", "Read", {"file_path": "/etc/hosts"}, {}, "127.0.0.1"),
    used("a search for text", "Grep", {"pattern": "x", "path": "ROOT/src"}, {}, "cart.py"),
    used("a search without a folder", "Grep", {"pattern": "x"}, {}, "cart.py"),
    used("a search for files", "Glob", {"pattern": "**/*.py"}, {"filenames": []}, "cart.py"),
    used("a list of a folder", "LS", {"path": "ROOT/src"}, "- cart.py"),
    used("a list of things to do", "TodoWrite", {"todos": []}, {}, "updated", dropped=True),
    used("tasks", "TaskList", {}, {"tasks": []}, "none", dropped=True),
    used("a task", "TaskUpdate", {"taskId": "1"}, {"success": True}, "done", dropped=True),
    used("a search for tools", "ToolSearch", {"query": "x"}, {}, "none", dropped=True),
    used(
        "a subagent",
        "Task",
        {"description": "look around", "prompt": "find it", "subagent_type": "Explore"},
        {**AGENT_DONE, "content": [{"type": "text", "text": "it is in cart.py"}]},
        [{"type": "text", "text": "it is in cart.py"}],
    ),
    used(
        "a subagent with a long report",
        "Agent",
        {"description": "look around", "prompt": "find it", "subagent_type": "Explore"},
        {**AGENT_DONE, "content": [{"type": "text", "text": LONG}]},
        [{"type": "text", "text": LONG}],
    ),
    used(
        "a subagent in the background",
        "Agent",
        {"description": "look around", "subagent_type": "Explore"},
        {"status": "async_launched", "agentId": "a1"},
        "Async agent launched",
        dropped=True,
    ),
    failed("a subagent that failed", "Task", {"description": "look"}, "no such agent"),
    used(
        "a page of the web",
        "WebFetch",
        {"url": "https://x.org/a", "prompt": "what is it?"},
        {"bytes": 9, "code": 200, "result": "It is so.", "url": "https://x.org/a"},
        "It is so.",
    ),
    used(
        "a search of the web",
        "WebSearch",
        {"query": "coupons"},
        {
            "query": "coupons",
            "results": [
                {"tool_use_id": "s", "content": [{"title": "All", "url": "https://x.org"}]},
                "They are old.",
            ],
        },
        "Web search results for query: coupons",
    ),
    used(
        "a tool of a server",
        "mcp__tracker__get",
        {"id": "T-7", "fields": ["a"], "deep": True},
        [{"type": "text", "text": "Open since May"}],
    ),
    used("a tool with a long input", "mcp__x__y", {"q": "word " * 500}, "w " * 3000),
    used("a tool without an input", "mcp__x__y", {}, "done"),
    used("a tool with a query", "mcp__docs__find", {"query": "carts", "n": 3}, "three"),
    used("a tool with a secret", "mcp__x__y", {"token": SECRET}, f"token {SECRET}"),
    failed("a tool that failed", "mcp__tracker__get", {"id": "T-8"}, "no such issue"),
    used("kinen's tool", "mcp__kinen__kinen_recall", {"query": "q"}, "known", dropped=True),
    used(
        "kinen's tool of the plugin",
        "mcp__plugin_kinen_kinen__kinen_search",
        {"query": "q"},
        [{"type": "text", "text": "known"}],
        dropped=True,
    ),
    failed("kinen's tool that failed", "mcp__kinen__kinen_pin", {}, "no ref", dropped=True),
    used("a skill", "Skill", {"skill": "commit"}, {"success": True}, "Launching skill: commit"),
    prompt("a prompt", "the cart forgets its coupon"),
    prompt("a long prompt", "word " * 4000),
    prompt("a prompt with an opened file", "<ide_opened_file>a.py</ide_opened_file>fix"),
    prompt("a prompt with a reminder", "fix it <system-reminder>x</system-reminder>please"),
    prompt("a notification", "fix it<system_notification>name it</system_notification>"),
    prompt("a prompt with what kinen told", f"as said: {MEMORY_BLOCK} but for tabs"),
    prompt("a prompt with a secret", f"the token is {SECRET}"),
    prompt(
        "a command of the client",
        "<command-name>/review</command-name><command-args>src/a.py</command-args>",
    ),
    prompt("a command without arguments", "<command-name>/clear</command-name>", dropped=True),
    prompt("an output of the client", "<bash-stdout>ok</bash-stdout>", dropped=True),
    prompt("an interruption", "[Request interrupted by user]", dropped=True),
    prompt("a command of kinen's plugin", "/kinen:recall redis", dropped=True),
    prompt("only what kinen told", f"{MEMORY_BLOCK}\n", dropped=True),
    answer("an answer", "The coupon was lost in `merge()`."),
    answer("a long answer", "word " * 4000),
    answer("an answer with a reminder", "Done.<system-reminder>x</system-reminder>"),
]


class Kept(NamedTuple):
    kind: str
    text: str
    files: tuple[str, ...]
    tool: str
    role: str
    exit_code: int | None
    failed: bool
    masked: int


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A space with a private file."""
    root = tmp_path_factory.mktemp("parity") / "space"
    (root / ".kinen").mkdir(parents=True)
    (root / ".kinen" / "config.yml").write_text('privacy:\n  exclude: ["secrets/**"]\n')
    for name in ("secrets/key.txt", "src/cart.py"):
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x\n")
    return root


@pytest.fixture(scope="module")
def live(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Kept]]:
    """What hooks keep of each case."""
    payloads = [located(case, folder, {**case.payload, **here(case, folder)}) for case in CASES]
    code = (
        "import json, sys\n"
        "from kinen.hooks.command import handled\n"
        "for payload in json.load(sys.stdin):\n"
        "    handled(payload, 'claude-code')"
    )
    with home(tmp_path_factory):
        command = [sys.executable, "-c", code]
        subprocess.run(command, input=json.dumps(payloads), text=True, check=True, cwd=folder)
        return journal(folder)


@pytest.fixture(scope="module")
def imported(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Kept]]:
    """What an import keeps of each case."""
    transcripts = tmp_path_factory.mktemp("transcripts")
    for number, case in enumerate(CASES):
        about = {"sessionId": session(case), "cwd": here(case, folder)["cwd"], "isSidechain": False}
        text = ""
        for second, entry in enumerate(located(case, folder, case.lines)):
            moment = f"2026-03-01T10:00:{second:02}.000Z"
            about |= {"timestamp": moment, "uuid": f"{number}-{second}"}
            text += json.dumps({**about, **entry}) + "\n"
        (transcripts / f"{number}.jsonl").write_text(text)
    with home(tmp_path_factory):
        with Memory.open(folder) as memory:
            memory.transfer.import_transcripts(transcripts)
        return journal(folder)


def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A context in which kinen has a home of its own."""
    patch = pytest.MonkeyPatch.context()
    folder = tmp_path_factory.mktemp("home")

    class Home:
        def __enter__(self) -> None:
            monkeypatch = patch.__enter__()
            monkeypatch.setenv("HOME", str(folder))
            monkeypatch.setenv("KINEN_HOME", str(folder / "kinen"))

        def __exit__(self, *error: Any) -> None:
            patch.__exit__(*error)

    return Home()


def session(case: Case) -> str:
    return f"session-{CASES.index(case):03}"


def here(case: Case, folder: Path) -> dict[str, str]:
    cwd = str(folder / case.folder).rstrip("/")
    return {"session_id": session(case), "cwd": cwd, "prompt_id": session(case)}


def located(case: Case, folder: Path, value: Any) -> Any:
    """The value of a case with an id of its own, and the folder of the space in its paths."""
    text = json.dumps(value).replace("ROOT", str(folder))
    return json.loads(text.replace("toolu_1", f"toolu_{session(case)}"))


def journal(folder: Path) -> dict[str, list[Kept]]:
    """The observations of the journal by session."""
    with Memory.open(folder) as memory:
        return {
            case.name: [
                Kept(
                    kind=entry.kind,
                    text=entry.content,
                    files=tuple(entry.files),
                    tool=entry.provenance.get("toolName", ""),
                    role=entry.provenance.get("role", ""),
                    exit_code=entry.provenance.get("exitCode"),
                    failed=entry.provenance.get("hasError", False),
                    masked=entry.masked.get("count", 0),
                )
                for capsule in memory.journal.entries("capsules", session=session(case))[0]
                for entry in memory.journal.capsule(capsule.id)[1]
            ]
            for case in CASES
        }


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_hook_keeps_what_an_import_keeps(
    case: Case, live: dict[str, list[Kept]], imported: dict[str, list[Kept]]
) -> None:
    assert live[case.name] == imported[case.name]
    assert bool(live[case.name]) == (not case.dropped)


def test_nothing_that_kinen_answered_is_kept(live: dict[str, list[Kept]]) -> None:
    text = "\n".join(entry.text for entries in live.values() for entry in entries)
    assert "told before" not in text
    assert SECRET not in text
    for name in ("kinen among others", "kinen in a substitution", "kinen among others that failed"):
        assert "known already" not in live[name][0].text


def test_a_subagent_is_kept_once_whichever_event_comes_first(folder: Path, home: Path) -> None:
    case = next(case for case in CASES if case.name == "a subagent")
    stop = {"hook_event_name": "SubagentStop", "agent_id": "a1", "agent_type": "Explore"}
    stop["last_assistant_message"] = "it is in cart.py"
    from kinen.hooks.command import handled

    about = {"cwd": str(folder), "prompt_id": "p"}
    for id_, events in (("one", (stop, case.payload)), ("two", (case.payload, stop))):
        for event in events:
            handled({**event, **about, "session_id": id_}, "claude-code")
    with Memory.open(folder) as memory:
        entries = memory.journal.entries("observations")[0]
    assert [(entry.kind, entry.content) for entry in entries] == [
        ("node_end", "Agent: Explore\nit is in cart.py"),
        ("node_end", "Agent: Explore\nit is in cart.py"),
    ]
