"""Asks the agents of others on their command lines: isolated, limited, and nothing stays behind."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from kinen.model.tuples import NamedTuple
from kinen.privacy.masking import mask
from kinen.text import estimate, excerpt

if TYPE_CHECKING:
    import subprocess

    Watch = Callable[[bytes], None]


GUARD = "KINEN_DISTILLING"
"""Set for all that is started here: kinen in there starts nothing."""
SYSTEM = "You distil what a search found for a software engineer. You have no tools and need none."
RETRIES = 2

# Measured: what hooks, shells and MCP servers find in their environment (Codex gives the last
# of them nothing that tells).
_INSIDE = (
    *(GUARD, "AI_AGENT", "CURSOR_AGENT", "OPENCODE"),
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR"),
    *("GEMINI_CLI", "GEMINI_PROJECT_DIR", "GEMINI_SESSION_ID"),
    *("CODEX_CI", "CODEX_SESSION_ID", "CODEX_THREAD_ID"),
)
_INSIDE_CODEX = ("CODEX_SANDBOX", "CODEX_MANAGED_")
# What a program needs to run and to reach the world, and where those that run node keep it.
_USUAL = frozenset(
    """ALL_PROXY APPDATA COMSPEC DBUS_SESSION_BUS_ADDRESS HOME HOMEDRIVE HOMEPATH HTTPS_PROXY
    HTTP_PROXY LANG LANGUAGE LOCALAPPDATA LOGNAME NODE_EXTRA_CA_CERTS NO_PROXY PATH PATHEXT
    PROGRAMDATA PROGRAMFILES SHELL SYSTEMDRIVE SYSTEMROOT TERM TZ USER USERNAME USERPROFILE
    WINDIR""".split()
)
_FAMILIES = ("ASDF_", "FNM_", "LC_", "MISE_", "NVM_", "SSL_CERT_", "VOLTA_", "XDG_")
# Not --bare: it knows no login but a key. Managed settings still hold, and may bring hooks.
_ISOLATED = (
    *("--safe-mode", "--strict-mcp-config", "--no-session-persistence"),
    *("--tools", "", "--system-prompt", SYSTEM),
)
_STREAMED = ("stream-json", "--verbose", "--include-partial-messages")
_QUIET = {
    "general": {"maxAttempts": RETRIES, "enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "hooksConfig": {"enabled": False},
    "skills": {"enabled": False},
    "tools": {"core": ["none"]},
    "context": {"includeDirectoryTree": False},
}
_LOGIN = ("oauth_creds.json", "google_accounts.json", "gemini-credentials.json", "installation_id")
_START = re.compile(r"(?m)^[\[{]")


class Cli(NamedTuple):
    """A command, what it logs in with, and what it is told besides."""

    name: str
    keys: tuple[str, ...]
    """How the names of variables begin that it may see."""
    told: Mapping[str, str]


class Answer(NamedTuple):
    """What a model said, and what that cost."""

    text: str
    tokens_in: int
    tokens_out: int


_CLAUDE = Cli(
    "claude",
    (
        *("ANTHROPIC_", "AWS_", "AZURE_", "CLOUD_ML_", "GOOGLE_", "VERTEX_", "CLAUDE_CONFIG_DIR"),
        *("CLAUDE_CODE_API_", "CLAUDE_CODE_CLIENT_", "CLAUDE_CODE_OAUTH_", "CLAUDE_CODE_SKIP_"),
        "CLAUDE_CODE_USE_",
    ),
    {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": str(RETRIES),
        "DISABLE_AUTOUPDATER": "1",
    },
)
_GEMINI = Cli(
    "gemini",
    (
        *("CLOUDSDK_", "GEMINI_API_KEY", "GEMINI_CLI_CUSTOM_HEADERS", "GEMINI_CLI_SYSTEM_"),
        *("GEMINI_CLI_USE_", "GEMINI_DEFAULT_AUTH_", "GEMINI_FORCE_", "GOOGLE_"),
    ),
    {"GEMINI_CLI_NO_RELAUNCH": "true"},  # else it starts itself once more
)


def claude(
    prompt: str,
    model: str,
    seconds: float,
    env: Mapping[str, str],
    on_text: Callable[[str], None] | None = None,
) -> Answer:
    """The answer of Claude Code, whose login and way to its model are the user's.

    `on_text` is given the pieces of the answer while they arrive.
    """
    chosen = ("--model", model) if model else ()
    form = _STREAMED if on_text else ("json",)
    command = (_command("claude", env), "-p", "--output-format", *form, *chosen, *_ISOLATED)
    watch = _Pieces(on_text) if on_text else None
    with _folder() as folder:
        variables = _environment(_CLAUDE, env, folder)
        code, out, err = run(command, _inert(prompt), variables, folder, seconds, watch)
    # Under `verbose` the result is the last of a list, and there may be two of them.
    last = _last(out, "is_error")
    if code or last.get("is_error"):
        raise Failed(_reason(code, last.get("result") or err or out))
    usage = last.get("usage")
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return _answer(prompt, last, "result", _sum(usage, *read), _sum(usage, "output_tokens"))


def gemini(prompt: str, model: str, seconds: float, env: Mapping[str, str]) -> Answer:
    """The answer of Gemini CLI, in a home of its own that has nothing but the user's login."""
    chosen = ("-m", model) if model else ()
    command = (_command("gemini", env), "--output-format", "json", *chosen)
    with _folder() as folder:
        variables = {**_environment(_GEMINI, env, folder), **_furnish(folder, env)}
        code, out, err = run(command, _inert(prompt), variables, folder, seconds)
    last = _last(out, "response")
    error = _last(f"{out}\n{err}", "error").get("error")
    if code or error:
        message = error.get("message") if isinstance(error, dict) else error
        raise Failed(_reason(code, message or err or out))
    stats = last.get("stats")
    models = stats.get("models") if isinstance(stats, dict) else None
    spent = [entry.get("tokens") for entry in _dicts(models)]
    read = sum(_sum(tokens, "prompt") for tokens in spent)
    return _answer(
        prompt,
        last,
        "response",
        read,
        sum(_sum(tokens, "candidates", "thoughts") for tokens in spent),
    )


def inside(env: Mapping[str, str]) -> str:
    """The variable that tells that kinen runs inside an agent, or nothing."""
    telling = (
        name
        for name in sorted(env)
        if env[name] and (name in _INSIDE or name.startswith(_INSIDE_CODEX))
    )
    return next(telling, "")


def _environment(cli: Cli, env: Mapping[str, str], folder: str) -> dict[str, str]:
    """What a command is to see of an environment: enough to run and to log in."""
    families = (*_FAMILIES, *cli.keys)
    passed = {
        name: value
        for name, value in env.items()
        if name.upper() in _USUAL or name.upper().startswith(families)
    }
    temporary = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), folder)
    return {**passed, **temporary, **cli.told, GUARD: "1", "NO_COLOR": "1"}


def _command(name: str, env: Mapping[str, str]) -> str:
    """Where a command is; never in the folder that kinen happens to be in, nor inside an agent."""
    import shutil

    telling = inside(env)
    if telling:
        raise Failed(f"not started inside an agent ({telling} is set)")
    folders = [entry for entry in env.get("PATH", "").split(os.pathsep) if os.path.isabs(entry)]
    path = shutil.which(name, path=os.pathsep.join(folders))
    if not path or not os.path.isabs(path):
        raise Failed("not installed")
    return path


def _inert(prompt: str) -> str:
    """An @ before a path makes either of them read that file and send it: none is left."""
    return prompt.replace("@", "＠")


def _folder() -> Any:
    import tempfile

    return tempfile.TemporaryDirectory(prefix="kinen-", ignore_cleanup_errors=True)


def _furnish(folder: str, env: Mapping[str, str]) -> dict[str, str]:
    """A home for Gemini CLI: settings of ours, the user's way to log in, and no more.

    It has no flag against hooks, servers, extensions and memory files, and none against
    keeping the session: all of that is of its home folder, and goes with it.
    """
    users = env.get("GEMINI_CLI_HOME") or env.get("HOME") or env.get("USERPROFILE") or ""
    theirs = os.path.join(users, ".gemini")
    ours = os.path.join(folder, ".gemini")
    os.mkdir(ours)
    security: dict[str, Any] = {"folderTrust": {"enabled": False}}
    try:
        with open(os.path.join(theirs, "settings.json"), encoding="utf-8") as file:
            # Not as JSON: it may have comments.
            login = re.search(r'"selected(?:Auth)?Type"\s*:\s*"([\w-]+)"', file.read())
    except (OSError, ValueError):
        login = None
    if login:
        security["auth"] = {"selectedType": login[1]}
    # It takes the first .env from its folder up to the root: an empty one keeps it from others'.
    made = {"settings.json": json.dumps({**_QUIET, "security": security}), "system.md": SYSTEM}
    for name, text in {**made, ".env": ""}.items():
        with open(os.path.join(ours, name), "w", encoding="utf-8") as file:
            file.write(text)
    for name in _LOGIN:
        _link(os.path.join(theirs, name), os.path.join(ours, name))
    for source in (os.path.join(users, ".env"), os.path.join(theirs, ".env")):
        _link(source, os.path.join(ours, ".env"))
    return {"GEMINI_CLI_HOME": folder, "GEMINI_SYSTEM_MD": os.path.join(ours, "system.md")}


def _link(source: str, place: str) -> None:
    """Put a file of the user in a place, over what is there."""
    if not os.path.isfile(source):
        return
    if os.path.lexists(place):
        os.remove(place)
    try:
        os.symlink(source, place)
    except OSError:  # Windows without the privilege
        import shutil

        shutil.copy(source, place)


class _Pieces:
    """Gives the pieces of an answer to a function, from the events that Claude Code streams."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._rest = b""

    def __call__(self, block: bytes) -> None:
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            for value in _objects(line.decode("utf-8", "replace")):
                event = value.get("event")
                delta = event.get("delta") if isinstance(event, dict) else None
                text = delta.get("text") if isinstance(delta, dict) else None
                if value.get("type") == "stream_event" and isinstance(text, str):
                    self._on_text(text.replace("＠", "@"))


def _last(text: str, key: str) -> dict[str, Any]:
    """The last object that has a key, or an empty one."""
    return next((value for value in reversed(_objects(text)) if key in value), {})


def _objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects that begin a line, and those in lists that do; the rest is talk."""
    objects: list[dict[str, Any]] = []
    decoder = json.JSONDecoder()
    end = 0
    for start in _START.finditer(text):
        if start.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            continue
        objects += [value] if isinstance(value, dict) else _dicts(value)
    return objects


def _dicts(value: Any) -> list[dict[str, Any]]:
    """The objects in a list, or among the values of an object."""
    values = value.values() if isinstance(value, dict) else value
    return (
        [entry for entry in values if isinstance(entry, dict)]
        if isinstance(value, dict | list)
        else []
    )


def _answer(prompt: str, last: dict[str, Any], key: str, read: int, written: int) -> Answer:
    text = last.get(key)
    if not isinstance(text, str):
        raise Failed("its answer cannot be read")
    if not text.strip():
        raise Failed("its answer is empty")
    text = text.replace("＠", "@")
    return Answer(text, read or estimate(prompt), written or estimate(text))


def _sum(counts: Any, *names: str) -> int:
    values = [counts.get(name) for name in names] if isinstance(counts, dict) else []
    return sum(count for count in values if isinstance(count, int))


def _reason(code: int, output: Any) -> str:
    line = excerpt(mask(str(output))[0], 120)
    how = f"ended with {code}" if code else "reported an error"
    return f"{how}: {line}" if line else how


MOST = 4_000_000
"""Bytes that may be answered."""
PATIENCE = 1.0
"""Seconds that a process has to end when it is asked to; then it is made to."""
PULSE = 0.02


class Failed(Exception):
    """One distiller gave nothing; the message says why in a few words."""


def run(
    command: Sequence[str],
    asked: str,
    env: Mapping[str, str],
    folder: str,
    seconds: float,
    watch: Watch | None = None,
) -> tuple[int, str, str]:
    """How a command ended and what it printed; `watch` is given its output while it runs.

    All three streams are files without a name: nothing of them can block, or stay on the disk.
    """
    import subprocess
    import tempfile

    alone: dict[str, Any] = {"start_new_session": True}
    if os.name == "nt":
        alone = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(asked.encode("utf-8", "replace"))
        given.seek(0)
        try:
            process = subprocess.Popen(
                command, stdin=given, stdout=out, stderr=err, env=env, cwd=folder, **alone
            )
        except (OSError, ValueError) as error:
            raise Failed(f"cannot be started: {getattr(error, 'strerror', error)}") from None
        try:
            _wait(process, seconds, out, err, watch)
        finally:
            _end(process)
        return process.returncode, _text(out), _text(err)


def _wait(
    process: subprocess.Popen[bytes],
    seconds: float,
    out: IO[bytes],
    err: IO[bytes],
    watch: Watch | None,
) -> None:
    end = time.monotonic() + seconds
    over = False
    read = 0
    while not over:
        over = process.poll() is not None
        if any(os.fstat(one.fileno()).st_size > MOST for one in (out, err)):
            raise Failed(f"printed more than {MOST // 1_000_000} MB")
        if watch and hasattr(os, "pread"):
            # Not by seek and read: the process writes where the file's position is.
            block = os.pread(out.fileno(), MOST, read)
            read += len(block)
            watch(block)
        if not over and time.monotonic() > end:
            raise Failed(f"no answer within {seconds:g} s")
        time.sleep(0 if over else PULSE)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started; ask first."""
    import subprocess

    if os.name == "nt":
        if process.poll() is None:
            kill = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
            subprocess.run(kill, capture_output=True, check=False)
            process.wait()
        return
    import signal

    for how in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)


def _text(printed: IO[bytes]) -> str:
    printed.seek(0)
    return printed.read(MOST).decode("utf-8", "replace")
