"""The extension in a real VS Code: the .vsix in code-server, driven in chromium.

`make editors` builds both and runs this. Without code-server, the .vsix, chromium or Playwright it
skips. Pictures of what was seen are in `build/editors`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from daemon.served import Project
from editors import code_server
from kinen.memory import Memory
from web.demo import DAY, fill, record_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = os.environ.get("KINEN_CHROMIUM") or shutil.which("chromium") or ""
TOP = Path(__file__).parents[2]
PACKAGE = TOP / "editors" / "vscode" / "kinen.vsix"
PICTURES = TOP / "build" / "editors"
SERVER = code_server.folder()
PATIENCE = 300
"""Seconds until something counts as missing; the machine may be busy."""
HOSTILE = (
    "Zanzibar <img src=x onerror=alert(1)> <script>alert(2)</script> [go](command:kinen.refresh)"
)
STORE = "src/store.js"
SETTINGS = {
    "files.autoSave": "off",
    "extensions.autoUpdate": False,
    "security.workspace.trust.startupPrompt": "never",
    "security.workspace.trust.banner": "never",
    "telemetry.telemetryLevel": "off",
    "window.menuBarVisibility": "compact",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}
REMARK = """() => [...document.querySelectorAll('.view-line span')].some(
  (part) => getComputedStyle(part, '::after').content.includes('changed after'))"""
pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt-get install chromium"),
    pytest.mark.skipif(not PACKAGE.exists(), reason="no .vsix: make editors builds it"),
    pytest.mark.skipif(
        not code_server.built(SERVER), reason="no code-server: make editors builds it"
    ),
]


def script(project: Project) -> None:
    """A file that was worked on in a session days ago, and changed by a commit since."""
    path = project.root / STORE
    path.parent.mkdir()
    path.write_text(
        "function load(key) {\n  return redis.get(key);\n}\n\nfunction ttl() {\n  return 14;\n}\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            patch.setenv(name, f"@{int(time.time()) - 9 * 86_400} +0000")
        project.commit("feat(store): sessions in Redis")
    path.write_text(path.read_text().replace("redis.get(key)", "rows.get(key)"))
    project.commit("feat(store): read PostgreSQL first\n\nRedis lost writes in two failovers.")


def note(project: Project) -> None:
    """A note with a broken link and markup, and settings that name a program of the workspace."""
    program = project.root / "kinen"
    program.write_text(f"#!/bin/sh\ntouch {project.root / 'chosen'}\n")
    program.chmod(0o755)
    (project.root / ".vscode").mkdir()
    (project.root / ".vscode" / "settings.json").write_text(
        json.dumps({"kinen.path": str(program)})
    )
    (project.root / "notes" / "loose.md").write_text(
        f"# Loose ends\n\n{HOSTILE}\n\nSee [[onboarding]] and [[no-such-note]].\n"
    )
    (project.root / "notes" / "first week.md").write_text(
        "---\ntags: [people/new]\n---\n# First week\n\n- [[onboarding|read this]]\n"
        "- [again](onboarding.md#laptop)\n"
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The demo space with its sessions, one of them about the file that changed since."""
    with pytest.MonkeyPatch.context() as patch:
        project = Project(tmp_path_factory.mktemp("demo"))
        patch.setenv("KINEN_HOME", str(project.home))
        (project.root / ".kinen").mkdir()
        fill(project)
        script(project)
        note(project)
        with Memory.open(project.root) as memory:
            edit = f"Tool: Edit\nFile: {STORE}\n- redis.get(key)\n+ rows.get(key)"
            events = (("message", "Sessions are read from Redis only."), ("file_diff", edit))
            at = round(time.time() * 1000) - 4 * DAY
            record_session(memory, "codex", "read sessions from Redis", events, at)
            memory.sync()
        yield project


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


class Editor:
    """VS Code in a tab of the browser, and what went wrong in it."""

    def __init__(
        self, browser: Any, port: int, folder: Path, data: Path, run: Callable[..., Any]
    ) -> None:
        self._settings = data / "Machine" / "settings.json"
        self._run = run
        self.context = browser.new_context(viewport={"width": 1360, "height": 860})
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.dialogs: list[str] = []
        self.page.on(
            "dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss())
        )
        self.page.goto(f"http://127.0.0.1:{port}/?folder={folder}")
        self.page.wait_for_selector(".monaco-workbench")
        self.page.wait_for_selector(".statusbar [id*='kinen.status'], #kinen\\.kinen\\.status")

    def kinen(self, *words: str) -> None:
        """Run kinen in the workspace, with the environment of the editor."""
        self._run(["kinen", *words], check=True)

    def configure(self, program: str) -> None:
        """Set the path of kinen in the settings of the machine."""
        self._settings.write_text(json.dumps({"kinen.path": program}))

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")

    def quick_pick(self, text: str, row: str | re.Pattern[str]) -> Any:
        """The row of the quick input after a text; keys that come too early for it are lost."""
        deadline = time.monotonic() + PATIENCE
        box = self.page.locator(".quick-input-widget input[type=text]").first
        place = self.page.locator(".quick-input-list .monaco-list-row", has_text=row).first
        while True:
            self.page.keyboard.press("F1")
            try:
                box.fill(text, timeout=20_000)
                place.wait_for(timeout=20_000)
                return place
            except playwright.TimeoutError:
                assert time.monotonic() < deadline, text
                self.page.keyboard.press("Escape")

    def palette(self, command: str) -> None:
        """Run a command by its title; again if a panel took the focus, which closes the input."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.quick_pick(f">{command}", command).click(timeout=20_000)
                return
            except playwright.TimeoutError:
                assert time.monotonic() < deadline, command

    def open(self, path: str, line: int = 1) -> None:
        """Open a file by its name, with the cursor in a line."""
        name = path.rsplit("/", 1)[-1]
        self.quick_pick(path, name).click()
        self.page.wait_for_selector(f".tab.active[aria-label*='{name}']")
        self.quick_pick(f":{line}", re.compile(rf"line {line}\b"))
        self.page.keyboard.press("Enter")
        self.page.locator(".statusbar-item", has_text=f"Ln {line},").first.wait_for()

    def put_cursor(self, word: str) -> None:
        """Put the cursor into a word of the open note."""
        self.page.locator(".view-line span", has_text=word).last.click()

    def notification(self, text: str) -> Any:
        toast = self.page.locator(".notification-toast", has_text=text).first
        toast.wait_for()
        return toast

    def frame(self, text: str) -> Any:
        """The webview that has a text."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            for frame in self.page.frames[1:]:
                # A panel that gets another page loses its frame meanwhile.
                with contextlib.suppress(playwright.Error):
                    if frame.get_by_text(text).count():
                        return frame
            self.page.wait_for_timeout(200)
        raise AssertionError(f"no panel with {text!r}")


@pytest.fixture(scope="module")
def editor(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    data = tmp_path_factory.mktemp("code")
    (data / "User").mkdir()
    (data / "User" / "settings.json").write_text(json.dumps(SETTINGS))
    program = {"kinen.path": str(TOP / ".venv" / "bin" / "kinen")}
    (data / "Machine").mkdir()
    (data / "Machine" / "settings.json").write_text(json.dumps(program))
    command = [*code_server.command(SERVER), "--user-data-dir", str(data)]
    command += ["--extensions-dir", str(data / "extensions")]
    env = {"PATH": f"{TOP / '.venv' / 'bin'}:{os.environ['PATH']}", "HOME": str(data)}
    env["KINEN_HOME"] = str(project.home)
    env["GIT_CONFIG_GLOBAL"] = os.devnull
    env["KINEN_DAEMON_AUTO_START"] = "false"
    run = partial(subprocess.run, env=env, cwd=project.root, timeout=PATIENCE)
    run([*command, "--install-extension", PACKAGE], check=True)
    port = free_port()
    command += ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry"]
    command += ["--disable-update-check"]
    # On a busy machine the daemon needs longer than the command waits for it.
    wait_until(lambda: run(["kinen", "daemon", "start"]).returncode == 0)
    with (data / "log").open("wb") as log:
        server = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    try:
        wait_for(port)
        with playwright.sync_playwright() as driver:
            options = {"executable_path": CHROMIUM, "headless": True, "args": ["--no-sandbox"]}
            browser = driver.chromium.launch(**options)
            editor = Editor(browser, port, project.root, data, run)
            yield editor
            browser.close()
    finally:
        server.terminate()
        server.wait(PATIENCE)
        run(["kinen", "daemon", "stop"], check=False)


def texts(root: Path) -> list[str]:
    return [path.read_text() for path in root.rglob("*.md") if ".memories" not in path.parts]


def wait_until(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def wait_for(port: int) -> None:
    """Until code-server answers."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
    raise AssertionError("code-server does not answer")


def test_a_workspace_that_is_not_trusted_is_only_read(editor: Editor, project: Project) -> None:
    page = editor.page
    page.wait_for_selector(".statusbar-item:has-text('Restricted Mode')")
    editor.open("notes/loose.md", 5)
    editor.palette("kinen: Search the Memory")
    editor.frame("Search notes, sessions").locator("#query").wait_for()
    page.locator(".monaco-list-row", has_text="fix the blank labels").first.wait_for()
    assert page.locator(".squiggly-warning").count() == 0
    editor.picture("restricted")
    editor.palette("Workspaces: Manage Workspace Trust")
    page.locator(".workspace-trust-editor .monaco-button", has_text="Trust").first.click()
    page.wait_for_selector(".statusbar-item:has-text('Restricted Mode')", state="detached")
    editor.open("notes/loose.md", 5)
    page.wait_for_selector(".squiggly-warning")
    assert not (project.root / "chosen").exists()


def test_search_shows_votes_and_opens_a_file(editor: Editor) -> None:
    editor.palette("kinen: Search the Memory")
    panel = editor.frame("Search notes, sessions")
    panel.locator("#query").fill("why did we drop redis")
    panel.locator("#query").press("Enter")
    panel.locator(".hit").first.wait_for()
    assert panel.locator(".hit .bar rect").count() >= 2
    editor.page.wait_for_timeout(500)
    editor.picture("search")
    panel.locator(".open[title*='adr-007']").first.click()
    editor.page.wait_for_selector(".tab[aria-label*='adr-007']")


def test_hostile_text_is_text(editor: Editor) -> None:
    panel = editor.frame("hit")
    panel.locator("#query").fill("Zanzibar")
    panel.locator("#query").press("Enter")
    panel.get_by_text("<script>alert(2)</script>").first.wait_for()
    assert panel.locator(".hit img, .hit a, .hit script").count() == 0
    editor.picture("hostile")
    assert editor.dialogs == []


def test_sessions_are_a_timeline(editor: Editor) -> None:
    row = editor.page.locator(".monaco-list-row", has_text="fix the blank labels")
    row.first.wait_for()
    editor.picture("sessions")
    row.first.click()
    panel = editor.frame("Timeline")
    panel.get_by_text("pytest -q tests/labels").first.wait_for()
    panel.get_by_text("claude --resume claude-code-fix").wait_for()
    editor.page.wait_for_timeout(500)
    editor.picture("timeline")


def test_a_line_has_a_reason(editor: Editor) -> None:
    editor.open(STORE, 2)
    lenses = editor.page.locator(".codelens-decoration")
    lenses.filter(has_text="2 commits · 1 session").first.wait_for()
    load = lenses.filter(has_text="read PostgreSQL first")
    load.first.wait_for()
    ttl = lenses.filter(has_text="sessions in Redis")
    ttl.first.wait_for()
    editor.page.wait_for_function(REMARK)
    editor.picture("drift")
    ttl.first.locator("a").last.click()
    editor.frame("function ttl() {").get_by_text("Written by").wait_for()
    editor.open(STORE, 2)
    editor.palette("kinen: Why Is This Line Here?")
    panel = editor.frame("Redis lost writes in two failovers.")
    panel.get_by_text("read sessions from Redis").first.wait_for()
    editor.page.wait_for_timeout(500)
    editor.picture("why")
    editor.page.locator(".view-line", has_text="rows.get").first.locator(
        "span", has_text="rows"
    ).last.hover()
    editor.page.wait_for_selector(".monaco-hover :text('read PostgreSQL first')")
    editor.picture("hover")


def test_a_checkpoint_and_a_plan_come_from_the_palette(editor: Editor, project: Project) -> None:
    page = editor.page
    editor.palette("kinen: Save a Checkpoint")
    page.locator(".quick-input-list .monaco-list-row", has_text="decision").click()
    page.wait_for_selector("text=What was done, and why?")
    page.keyboard.type("-- Rows are swept every ten minutes")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=checkpoint saved")
    saved = list((project.root / ".memories").rglob("*.md"))
    assert any("-- Rows are swept" in path.read_text() for path in saved)
    editor.palette("kinen: Plan: New")
    page.wait_for_selector(".quick-input-title:text('New Plan')")
    page.keyboard.type("Drop Redis")
    page.keyboard.press("Enter")
    page.wait_for_selector(".tab[aria-label*='drop-redis.md']")
    editor.palette("kinen: Plan: Show, Tick Off, Switch")
    page.locator(".quick-input-list .monaco-list-row", has_text="first step").wait_for()
    editor.picture("plan")
    page.locator(".quick-input-list .monaco-list-row", has_text="first step").click()
    page.wait_for_selector(".quick-input-list .codicon-pass-filled")
    page.keyboard.press("Escape")
    assert (
        "- [x] first step" in (project.root / ".memories" / "plans" / "drop-redis.md").read_text()
    )


def test_links_of_notes_are_checked_completed_and_followed(editor: Editor) -> None:
    page = editor.page
    editor.open("notes/loose.md", 5)
    page.wait_for_selector(".squiggly-warning")
    editor.palette("View: Toggle Problems")
    page.locator(".markers-panel .monaco-list-row", has_text="no-such-note").wait_for()
    editor.picture("diagnostics")
    editor.palette("View: Toggle Problems")
    page.locator(".view-line", has_text="onboarding").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("[[adr")
    page.locator(".suggest-widget .monaco-list-row", has_text="adr-007").first.wait_for()
    editor.picture("completion")
    page.keyboard.press("Escape")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("#peop")
    page.locator(".suggest-widget .monaco-list-row", has_text="people/new").first.wait_for()
    editor.picture("tags")
    page.keyboard.press("Escape")
    editor.palette("File: Revert File")
    page.locator(".view-line", has_text="[[adr").wait_for(state="detached")
    editor.put_cursor("onboarding")
    page.keyboard.press("F12")
    page.wait_for_selector(".tab.active[aria-label*='onboarding.md']")


def test_a_note_is_renamed_with_the_links_to_it(editor: Editor, project: Project) -> None:
    page = editor.page
    notes = project.root / "notes"
    links = len(re.findall(r"onboarding(?=[\]|.])", " ".join(texts(project.root))))
    assert links >= 3
    editor.open("notes/loose.md", 5)
    editor.put_cursor("onboarding")
    page.keyboard.press("Shift+F12")
    peek = page.locator(".reference-zone-widget")
    peek.locator(".ref-tree .monaco-list-row", has_text="first week.md").first.wait_for()
    title = peek.locator(".peekview-title").first.inner_text()
    # The extension of VS Code itself adds the references that it sees.
    assert int(re.findall(r"References \((\d+)\)", title)[0]) >= links
    for note in ("README.md", "loose.md"):
        peek.locator(".ref-tree .monaco-list-row", has_text=note).first.wait_for()
    editor.picture("references")
    page.keyboard.press("Escape")
    peek.wait_for(state="detached")
    page.keyboard.press("F2")
    box = page.locator(".rename-box input")
    box.wait_for()
    assert box.input_value() == "onboarding"
    box.fill("welcome")
    editor.picture("rename")
    box.press("Enter")
    wait_until(lambda: (notes / "welcome.md").exists())
    wait_until(lambda: "[[welcome]] and" in (notes / "loose.md").read_text())
    wait_until(lambda: "[again](welcome.md#laptop)" in (notes / "first week.md").read_text())
    assert "[[welcome|read this]]" in (notes / "first week.md").read_text()
    assert not (notes / "onboarding.md").exists()
    page.locator(".view-line", has_text="[[welcome]] and").first.wait_for()
    squiggles = page.locator(".squiggly-warning")
    wait_until(lambda: squiggles.count() == 1)  # [[no-such-note]], not [[welcome]]
    wait_until(lambda: page.locator(".tab.dirty").count() == 0)
    editor.picture("renamed")


def test_the_status_bar_is_fresh_and_the_daemon_answered(editor: Editor, project: Project) -> None:
    bar = editor.page.locator(".statusbar-item", has_text="kinen")
    bar.first.wait_for()
    assert "not installed" not in bar.first.inner_text()
    with httpx.Client(
        transport=httpx.HTTPTransport(uds=str(project.home / "daemon.sock"))
    ) as daemon:
        answer = daemon.get("http://kinen/v1/health").json()
    assert answer["daemon"]["answered"] > 0, "the panel asked the daemon"
    assert not (project.root / "chosen").exists(), "a program that the workspace chose was run"


def test_agents_of_the_editor_are_offered_the_mcp_server(editor: Editor) -> None:
    editor.palette("MCP: List Servers")
    editor.page.locator(".quick-input-list .monaco-list-row", has_text="kinen").wait_for()
    editor.picture("mcp")
    editor.page.keyboard.press("Escape")


def test_the_command_answers_where_no_daemon_runs(editor: Editor, project: Project) -> None:
    editor.kinen("daemon", "stop")
    assert not (project.home / "daemon.sock").exists()
    editor.palette("kinen: Show Status")
    editor.notification("no daemon")
    editor.palette("kinen: Search the Memory")
    panel = editor.frame("hit")
    panel.locator("#query").fill("postgres session rows")
    panel.locator("#query").press("Enter")
    panel.locator(".hit", has_text="PostgreSQL").first.wait_for()
    editor.picture("command")


def test_a_missing_kinen_is_named_with_what_to_install(editor: Editor) -> None:
    editor.configure("/nowhere/kinen")
    page = editor.page
    bar = page.locator(".statusbar-item", has_text="kinen is not installed")
    bar.first.wait_for()
    bar.first.click()
    toast = editor.notification("pipx install 'kinen[all]'")
    toast.locator(".monaco-button", has_text="Copy the Command").wait_for()
    editor.palette("kinen: Search the Memory")
    panel = editor.frame("hit")
    panel.locator("#query").fill("anything")
    panel.locator("#query").press("Enter")
    panel.get_by_text("kinen is not installed").wait_for()
    page.locator(".pane-body .message", has_text="kinen is not installed").first.wait_for()
    editor.picture("missing")
