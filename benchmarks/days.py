"""What the next session is told after a day of real sessions, by budget.

    python benchmarks/days.py --data FILE.jsonl --repo GIT_FOLDER [--days N] [--show N]

FILE and GIT_FOLDER are those of `summaries.py`: one labelled session a line, and the clone that has
its transcript. A day is five of them, replayed event by event: a process for each client runs
`kinen hook AGENT` with the payload that this client sends, in one of the two worktrees of a git
repository, in which the edits and commits are made, too. Clients, branches and commands change from
session to session. One session of each day is killed (SIGKILL, after its last edit), three are only
a question, and one does a step that another left. What the replay adds, it knows: the listed steps
(the label's open items, in the last message), a test that fails behind a pipe and in some sessions
passes later, and a saved decision.

The start after that is compared with it. An outcome, which is told in other words than those of
its label, is there if half of its names and half of its other words are; all else by its first six
words. False is: a step that was done, a failure that passed, a statement below another session or
branch than its own, a trivial session, and `stopped` where that is not so. Aims at 600 tokens:
outcomes 90 %, next steps 95 %, decisions 70 %, failures 95 %, nothing false.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kinen
from kinen.ids import key_id
from kinen.text import estimate, words
from record import save
from summaries import held

BUDGETS = (600, 300, 1000)
"""The first is measured with the journal as the day left it."""
KINDS = ("outcome", "label", "earlier", "next", "decisions", "failures")
DAY = 5
EDITS = ("Edit", "Write", "MultiEdit")
FIRST = 6
"""Words of a statement that show that it is there."""
AGENTS = ("claude-code", "codex", "gemini", "opencode")
TRIVIAL = (
    ("how do I quit vim", "Type :q and press enter to leave vim."),
    ("thanks", "You are welcome."),
    ("what does main.py do?", "It starts the server, as vim would. Should I explain more?"),
)
LISTS = (("Next steps:", "- "), ("**Remaining**", "1. "), ("## To do", "- [ ] "))
TESTS = (
    ("pytest -q tests/{0}.py", " 2>&1 | tail -5", "FAILED tests/{0}.py::test_it\n1 failed in 0.3s"),
    ("go test ./{0}/...", " | tail -20", "--- FAIL: Test_{0} (0.00s)\nFAIL\t{0}\t0.01s\nFAIL"),
    ("npx jest {0}", " 2>&1 | tail -8", "✕ shows {0}\nTests:       1 failed, 4 passed, 5 total"),
)
PASSES = (
    "1 passed in 0.3s",
    "ok  \t{0}\t0.01s",
    "Test Suites: 1 passed, 1 total\nTests:       5 passed, 5 total",
)
_COMMITTED = re.compile(r"\[\S+ ([0-9a-f]{7,40})\] ")
_MESSAGE = re.compile(r"""git commit [^\n]*?-m ["']*(?:\$\(cat <<'?EOF'?\s+)?([^"'\n]+)""")


@dataclass
class Played:
    """What is true of a session."""

    agent: str
    branch: str
    label: dict[str, Any] = field(default_factory=dict)
    subject: str = ""
    """Of its last commit."""
    killed: bool = False
    edited: str = ""
    steps: list[str] = field(default_factory=list)
    failed: str = ""
    decision: str = ""
    done: list[str] = field(default_factory=list)
    """Steps and failures that were put right later."""


# A client


def serve() -> None:
    """Be a client: run the hook for each line that comes in, and send back what it prints."""
    for line in sys.stdin:
        agent, payload = json.loads(line)
        command = [sys.executable, "-m", "kinen", "hook", agent]
        told = subprocess.run(
            command, input=json.dumps(payload).encode(), capture_output=True, check=False
        )
        print(json.dumps([told.stdout.decode(), told.stderr.decode()]), flush=True)


class Client:
    """A running client in a worktree; its events have the form that this client gives them."""

    ids = itertools.count(1)

    def __init__(self, agent: str, tree: Path, env: dict[str, str]) -> None:
        self.agent = agent
        self.tree = tree
        self.id = f"session-{next(self.ids)}"
        self.moment = itertools.count(1)
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--client"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=tree,
            env=env,
            text=True,
        )

    def send(self, event: str, **fields: Any) -> str:
        assert self.process.stdin
        assert self.process.stdout
        if self.agent == "gemini":
            names = {"UserPromptSubmit": "BeforeAgent", "PostToolUse": "AfterTool"}
            event = {**names, "Stop": "AfterAgent"}.get(event, event)
            fields["timestamp"] = f"2026-11-15T00:34:27.{next(self.moment):06}Z"
            fields["prompt_response"] = fields.pop("last_assistant_message", "")
        base = {"session_id": self.id, "cwd": str(self.tree), "hook_event_name": event}
        self.process.stdin.write(json.dumps([self.agent, {**base, **fields}]) + "\n")
        self.process.stdin.flush()
        told, errors = json.loads(self.process.stdout.readline())
        assert not errors, errors
        return str(told)

    def prompt(self, text: str) -> None:
        self.turn = f"turn-{next(self.moment)}"
        self.send("UserPromptSubmit", prompt=text, **self._turn())

    def answer(self, text: str) -> None:
        self.send("Stop", last_assistant_message=text, stop_hook_active=False, **self._turn())

    def _turn(self) -> dict[str, str]:
        return {"turn_id" if self.agent == "codex" else "prompt_id": self.turn}

    def run(self, line: str, output: str) -> None:
        self.tool("Bash", {"command": line}, {"stdout": output, "stderr": ""}, "")

    def tool(self, name: str, given: dict[str, Any], response: Any, error: str) -> None:
        """A use of a tool of Claude Code, as this client would have made it."""
        about = {**self._turn(), "tool_use_id": f"call-{self.id}-{next(self.moment)}"}
        shell = name == "Bash"
        path = given.get("file_path", "")
        if self.agent == "claude-code":
            about |= {"tool_name": name, "tool_input": given}
            if error:
                self.send("PostToolUseFailure", **about, error=error, is_interrupt=False)
            else:
                self.send("PostToolUse", **about, tool_response=response)
            return
        edits = name in EDITS
        if not (shell or edits):
            return  # it has no such tool, or nothing comes of it
        response = response if isinstance(response, dict) else {}
        code = int((re.match(r"Exit code (\d+)", error) or "00")[1])
        output = error or "\n".join(filter(None, map(response.get, ("stdout", "stderr"))))
        if self.agent == "codex":
            patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n+x\n*** End Patch"
            tool, given = ("Bash", given) if shell else ("apply_patch", {"command": patch})
            told: Any = f"Exit code: {code}\nOutput:\n{output}" if shell and code else output
        elif self.agent == "gemini":
            tool = "run_shell_command" if shell else "write_file"
            ended = f"\nExit Code: {code}" if code else ""
            told = {"llmContent": f"Output: {output}{ended}", "returnDisplay": output}
            told = told if shell else {"llmContent": "ok", "returnDisplay": {"fileDiff": "+x"}}
        else:
            tool = "bash" if shell else "edit"
            given = given if shell else {"filePath": path}
            told = {"output": output, "metadata": {"exit": code} if shell else {"diff": "+x"}}
        self.send("PostToolUse", **about, tool_name=tool, tool_input=given, tool_response=told)

    def end(self, journal: Path) -> None:
        """Leave as a user does; OpenCode has no event for that."""
        if self.agent != "opencode":
            self.send("SessionEnd", reason="other")
            for _ in range(600):
                with sqlite3.connect(f"file:{journal}?mode=ro", uri=True) as db:
                    capsule = (key_id(self.agent, self.id),)
                    row = db.execute("SELECT status FROM capsules WHERE id = ?", capsule).fetchone()
                if not row or row[0] != "open":
                    break
                time.sleep(0.05)
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


# A day


def transcript(repo: Path, path: str, tree: Path) -> list[tuple[Any, ...]]:
    """The prompts, uses of tools and answers of a session of Claude Code, with our folder."""
    name = f"entire/checkpoints/v1:{path.rpartition('/')[0]}/full.jsonl"
    shown = subprocess.run(["git", "-C", repo, "show", name], capture_output=True, check=True)
    text = shown.stdout.decode("utf-8", "replace")
    folder = re.search(r'"cwd": ?"([^"]+)"', text)
    text = text.replace(folder[1], str(tree)) if folder else text
    events: list[tuple[Any, ...]] = []
    calls: dict[str, dict[str, Any]] = {}
    said = ""
    for line in map(json.loads, filter(str.strip, text.splitlines())):
        if line.get("type") not in ("user", "assistant") or any(
            map(line.get, ("isMeta", "isSidechain", "isCompactSummary"))
        ):
            continue
        content = line["message"]["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text" and line["type"] == "assistant":
                said = part["text"]
            elif part["type"] == "text":
                events += [("answer", said)] if said else []
                events.append(("prompt", part["text"]))
                said = ""
            elif part["type"] == "tool_use":
                calls[part["id"]] = part
            elif part["type"] == "tool_result" and part["tool_use_id"] in calls:
                call = calls[part["tool_use_id"]]
                error = str(part.get("content", "")) if part.get("is_error") else ""
                response = line.get("toolUseResult")
                events.append(("tool", call["name"], call["input"], response, error))
    return [*events, ("answer", said)]


class Project:
    """A repository with two worktrees, and a home of its own."""

    def __init__(self, folder: Path) -> None:
        root = folder / "project"
        self.swaps: dict[str, str] = {}
        self.trees = {"main": root, "feature": folder / "feature"}
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "KINEN_HOME": str(folder / "kinen"),
            "PYTHONPATH": str(Path(kinen.__file__).parents[1]),
            "KINEN_DAEMON_AUTO_START": "false",
            "KINEN_INDEX_EMBEDDING_PROVIDER": "none",
            **{f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER")
               for what in ("NAME", "EMAIL")},
        }  # fmt: skip
        self.run("git", "init", "-q", "-b", "main", str(root), cwd=folder)
        self.run("git", "commit", "-q", "--allow-empty", "-m", "Begin", cwd=root)
        self.run("git", "worktree", "add", "-q", "-b", "feature", "../feature", cwd=root)
        for word in ("init", "index"):
            self.run(sys.executable, "-m", "kinen", word, cwd=root)

    @property
    def journal(self) -> Path:
        return next(Path(self.env["KINEN_HOME"]).rglob("journal.db"))

    def run(self, *command: str, cwd: Path) -> str:
        done = subprocess.run(
            command, cwd=cwd, env=self.env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commit(self, tree: Path, subject: str) -> str:
        self.run("git", "add", "-A", cwd=tree)
        self.run("git", "commit", "-q", "--allow-empty", "-m", subject, cwd=tree)
        return self.run("git", "rev-parse", "--short", "HEAD", cwd=tree).strip()

    def swapped(self, text: str) -> str:
        """A text with the ids that its commits have here."""
        for old, new in self.swaps.items():
            text = text.replace(old[:7], new)
        return text

    def begin(self, agent: str, branch: str) -> Client:
        client = Client(agent, self.trees[branch], self.env)
        client.send("SessionStart", source="startup")
        return client

    def replay(self, client: Client, events: list[tuple[Any, ...]]) -> str:
        """Send events; the edits and commits in them are made. Returns the last subject."""
        subject = ""
        for event in events:
            kind, *parts = json.loads(self.swapped(json.dumps(event)))
            if kind != "tool":
                (client.prompt if kind == "prompt" else client.answer)(*parts)
                continue
            name, given, response, error = parts
            path = Path(given.get("file_path", "/"))
            if name in EDITS and client.tree in path.parents and not error:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a") as file:
                    file.write("x\n")
            given_subject = _MESSAGE.search(given.get("command", ""))
            if given_subject and not error:
                subject = given_subject[1]
                id_ = self.commit(client.tree, subject)
                printed = _COMMITTED.search(json.dumps(response))
                self.swaps |= {printed[1]: id_} if printed else {}
                response = json.loads(self.swapped(json.dumps(response)))
            client.tool(name, given, response, error)
        return subject


def play(project: Project, rows: list[dict[str, Any]], repo: Path, day: int) -> list[Played]:
    """Replay a day; returns what the next start should tell, in the order in which it ended."""
    played: list[Played] = []
    for number, row in enumerate(rows):
        agent = AGENTS[(day + number) % len(AGENTS)]
        branch = ("main", "feature")[number % 2]
        true = Played(agent, branch, row, killed=number == day % DAY)
        played.append(true)
        client = project.begin(agent, branch)
        test, pipe, output = TESTS[(day + number) % len(TESTS)]
        name = re.sub(r"\W", "", f"{Path((row['files'] or ['all'])[0]).stem}{day}{number}")
        true.failed = test.format(name)
        passed = PASSES[(day + number) % len(TESTS)].format(name)
        if number == 2:  # in the same worktree as the first, with its folder
            before = played[0]
            line, was = before.failed, TESTS[day % len(TESTS)]
            passed_before = PASSES[TESTS.index(was)].format("there")
        events = transcript(repo, row["path"], client.tree)
        edits = [n for n, event in enumerate(events) if event[1] in EDITS]
        last = len(events) - 1
        if true.killed:
            last = max(edits, default=last - 1)
            true.edited = Path(events[last][2].get("file_path", "")).name if edits else ""
        elif row["open_items"]:
            true.steps = row["open_items"][:2]
            head, bullet = LISTS[(day + number) % len(LISTS)]
            items = "\n".join(f"{bullet}{step}" for step in true.steps)
            events[last] = ("answer", f"{events[last][1]}\n\n{head}\n\n{items}")
        ending = [] if true.killed else events[last:]
        true.subject = project.replay(client, events[: last + true.killed])
        client.run(true.failed + pipe, output.format(name))
        if number == 2:
            client.run(f"cd {client.tree} && {line}", passed_before)
            before.done.append(line)
            before.failed = ""
        if number == 3:
            client.run(true.failed, passed)
            true.done.append(true.failed)
            true.failed = ""
        project.replay(client, ending)
        row["outcome"] = project.swapped(row["outcome"])
        if true.killed:
            client.kill()
        else:
            client.end(project.journal)
            if number % 2 == 0 and row["learnings"]["repo"]:
                true.decision = decide(project, client.tree, row, checkpoint=number == 2)
        if number == 3:
            follow_up(project, played, day)
    for (question, answer), agent in zip(TRIVIAL, AGENTS, strict=False):
        client = project.begin(agent, "main")
        client.prompt(question)
        client.answer(answer)
        client.end(project.journal)
    return played


def decide(project: Project, tree: Path, row: dict[str, Any], *, checkpoint: bool) -> str:
    """Save a decision as an agent does, in words that are accepted."""
    about = ["--type", "decision"] if checkpoint else ["--file", *(row["files"][:1] or ["a.py"])]
    for decision in row["learnings"]["repo"]:
        words = ["checkpoint"] if checkpoint else ["memories", "add"]
        command = [sys.executable, "-m", "kinen", *words, decision, *about]
        if not subprocess.run(
            command, cwd=tree, env=project.env, capture_output=True, check=False
        ).returncode:
            return str(decision)
    return ""


def follow_up(project: Project, played: list[Played], day: int) -> None:
    """A session does a step of another one: its request says so, its commit, or its outcome."""
    left = next((true for true in played if true.steps), None)
    if left is None:
        return
    step = left.steps.pop(0)
    left.done.append(step)
    way = ("request", "commit", "outcome")[day % 3]
    client = project.begin("claude-code", left.branch)
    client.prompt(step if way == "request" else "go on with what is left")
    path = str(client.tree / "follow_up.txt")
    client.tool("Write", {"file_path": path, "content": "x"}, {"type": "create"}, "")
    if way == "commit":
        id_ = project.commit(client.tree, step)
        client.run(f"git commit -qm '{step}'", f"[{left.branch} {id_}] {step}")
    done = f"What was left:\n\n- [x] {step}"
    client.answer(done if way == "outcome" else "I did that in follow_up.txt today.")
    client.end(project.journal)


# What was told


def told(text: str) -> list[tuple[str, str, str]]:
    """The lines of a brief, each with its section and with the line that says who it is from."""
    lines: list[tuple[str, str, str]] = []
    section = head = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section, head = line, ""
        elif line.startswith("- ["):
            head = line
        elif line.startswith("- "):
            lines.append((section, line, line))
        elif line.strip():
            lines.append((section, head, line))
    return lines


def present(statement: str, text: str) -> bool:
    return " ".join(words(statement)[:FIRST]) in " ".join(words(text))


def judge(text: str, played: list[Played]) -> tuple[Counter[str], Counter[str], list[str]]:
    """How much there was to tell, how much of it is told, and what is told that is false."""
    of: Counter[str] = Counter()
    found: Counter[str] = Counter()
    false = [line for _, _, line in told(text) if "vim" in line]
    lines = told(text)
    last = max(n for n, true in enumerate(played) if not true.killed)
    for number, true in enumerate(played):
        own = [line for line in lines if f"{true.agent} on {true.branch}" in line[1]]
        body = "\n".join(line for _, _, line in own)
        if true.killed:
            stopped = any("stopped in the middle" in head for _, head, _ in own)
            ok = stopped and true.edited in body
        else:
            by_label = held(true.label["outcome"], body)
            ok = by_label or bool(true.subject and present(true.subject, body))
            of["label"] += number == last
            found["label"] += number == last and by_label
        kind = "outcome" if true.killed or number == last else "earlier"
        of[kind] += 1
        found[kind] += ok
        statements = [("next", step) for step in true.steps]
        statements += [("failures", true.failed)] if true.failed else []
        for kind, statement in statements:
            of[kind] += 1
            where = [line for line in lines if present(statement, line[2])]
            found[kind] += any(line in own for line in where)
            false += [line for _, _, line in where if where and not set(where) & set(own)]
        if true.decision:
            of["decisions"] += 1
            found["decisions"] += present(true.decision, text)
        for statement in true.done:
            where = [line for line in lines if present(statement, line[2])]
            false += [line for section, _, line in where if re.match(r"\W*(Next|Failed): ", line)]
    killed = {f"{true.agent} on {true.branch}" for true in played if true.killed}
    heads = {head for _, head, _ in lines if "stopped in the middle" in head}
    false += [head for head in heads if not any(who in head for who in killed)]
    return of, found, false


def main() -> None:
    if sys.argv[1:] == ["--client"]:
        serve()
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--days", type=int, default=100)
    parser.add_argument("--show", type=int, default=0, help="print the briefs of so many days")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.data.read_text().splitlines()]
    counts: dict[int, Counter[str]] = {budget: Counter() for budget in BUDGETS}
    totals: Counter[str] = Counter()
    falsehoods: dict[int, list[str]] = {budget: [] for budget in BUDGETS}
    for day in range(min(options.days, len(rows) // DAY)):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            project = Project(Path(folder))
            played = play(project, rows[day * DAY : (day + 1) * DAY], options.repo, day)
            for budget in BUDGETS:
                env = {**project.env, "KINEN_HOOKS_BUDGET": str(budget)}
                client = Client("claude-code", project.trees[("main", "feature")[day % 2]], env)
                answer = client.send("SessionStart", source="startup")
                client.kill()
                text = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
                assert estimate(text) <= budget
                of, found, false = judge(text, played)
                counts[budget] += found
                falsehoods[budget] += false
                totals += of if budget == BUDGETS[0] else Counter()
                if budget == BUDGETS[0] and day < options.show:
                    print(text, "\n", dict(found), "of", dict(of), *false, sep="\n")
                    for true in played:
                        left = (true.steps, true.failed, true.decision, "DONE", true.done)
                        print(true.agent, true.branch, true.killed, *left, sep=" | ")
    results: dict[str, Any] = {"of": dict(totals)}
    print(f"{'tokens':8}" + "".join(f"{kind:>14}" for kind in KINDS) + f"{'false':>8}")
    for budget in sorted(BUDGETS):
        row = counts[budget]
        cells = "".join(f"{row[kind]:>8}/{totals[kind]:<5}" for kind in KINDS)
        print(f"{budget:<8}{cells}{len(falsehoods[budget]):>8}")
        results[str(budget)] = {**{kind: row[kind] for kind in KINDS}, "false": falsehoods[budget]}
    print(*falsehoods[BUDGETS[0]], sep="\n")
    save("days", results)


if __name__ == "__main__":
    main()
