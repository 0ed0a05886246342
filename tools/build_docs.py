"""Writes docs/reference and the table of MCP tools from the code; `--check` only compares."""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ForwardRef

import click

import kinen
from kinen.agents.client import clients
from kinen.cli.command import EVERY_OPTION
from kinen.cli.groups import root
from kinen.cli.run import overview
from kinen.config import keys
from kinen.memory.memory import Part
from kinen.verbs.catalogue import COMMANDS, OTHER_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
NOTE = "<!-- written by `make docs`; change the code instead -->\n"


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from commands(below, f"{path} {name}")


def cli_page() -> str:
    lines = ["# Commands", "", NOTE, "```", overview(everything=True), "```"]
    lines += ["", "Each of these names is also a command, the same one:", ""]
    lines += ["| name | also |", "|---|---|"]
    lines += [f"| `kinen {name}` | `kinen {home}` |" for name, home, _ in OTHER_NAMES]
    for _, name, _, _ in COMMANDS:
        top = root.get_command(click.Context(root), name)
        assert top is not None
        for path, command in commands(top, f"kinen {name}"):
            settings = {**root.context_settings, **command.context_settings}
            context = click.Context(
                command,
                info_name=path,
                terminal_width=90,
                max_content_width=90,
                obj=EVERY_OPTION,
                **settings,
            )
            lines += ["", f"{'#' * min(len(path.split()), 4)} {path}", ""]
            lines += ["```", command.get_help(context).rstrip(), "```"]
    return "\n".join(lines) + "\n"


def config_page() -> str:
    lines = ["# Configuration", "", NOTE]
    lines += [
        "Every key has a variable. A space's own file may have come with a `git clone`. The column",
        "*untrusted* says what counts of it until `kinen trust`, compared with the default or with",
        "your own file: any value, only a lower or higher one, only additions to the list, or",
        "nothing (needs trust). `never`: it is read from your own file and variables only.",
        "",
    ]
    lines += ["| key | default | variable | untrusted | what it is |", "|---|---|---|---|---|"]
    for key, row in keys.ROWS.items():
        mark = row.mark
        if row.kind == "bool":
            mark = {keys.LOWER: "only `false`", keys.HIGHER: "only `true`"}.get(mark, mark)
        elif row.choices and mark == keys.LOWER:
            mark = "only an earlier one"
        default = f"`{row.default}`" if row.default not in ("", ()) else ""
        choices = f" ({', '.join(row.choices)})" if row.choices else ""
        variable = f"`{row.variable}`"
        lines.append(f"| `{key}` | {default} | {variable} | {mark} | {row.help}{choices} |")
    return "\n".join(lines) + "\n"


REPORT_EXAMPLE = """{
  "space": "parcelry", "branch": "main", "commit": "4f1c2ab", "since": "", "plan": "",
  "sessions": [
    {"ref": "capsule:01KX8JJZFP0005ZR9M1SFEHGKQ", "id": "01KX8JJZFP0005",
     "at": "2026-07-11T13:13:02.000Z", "agent": "codex", "open": false,
     "intent": "…", "outcome": "…", "next": ["…"], "state": "tests ✓ …",
     "earlier": ["…"], "decided": ["…"], "learned": ["…"]}
  ],
  "checkpoints": [{"text": "…", "ref": "checkpoint:…", "at": "…"}],
  "commits": [{"sha": "…", "subject": "chore: update the lock file", "at": "…", "count": 18}],
  "not_pushed": [{"sha": "…", "subject": "…", "at": "…", "count": 1}],
  "changed": ["src/auth.py"], "changed_count": 1,
  "decisions": [{"text": "…", "ref": "memory:…", "at": "…"}],
  "lessons": [{"text": "…", "ref": "memory:…", "at": "…"}],
  "next": ["…"], "unknowns": ["…"],
  "errors": [{"text": "`git push` (exit 128): fatal: …", "ref": "observation:…", "at": "…"}],
  "markdown": "## State\\n…"
}"""
SESSION_EXAMPLE = """{
  "ref": "capsule:01KX8JJZFP0005ZR9M1SFEHGKQ", "id": "01KX8JJZ", "kind": "agent",
  "session": "019f5129-58cd", "agent": "codex", "status": "closed",
  "started": "2026-07-11T12:31:41.558Z", "ended": "2026-07-11T13:13:02.000Z", "seconds": 2481,
  "title": "…", "outcome": "…",
  "prompts": 7, "edits": 18, "commands": 4, "errors": 1, "rounds": 0,
  "steps": [
    {"kind": "command", "at": "2026-07-11T12:32:07.000Z", "text": "pytest -q", "ok": false,
     "code": 1, "error": "AssertionError: …", "result": "1 failed", "files": [], "count": 2,
     "look": false, "ref": "observation:…"}
  ]
}"""


def json_page() -> str:
    example = """{
  "query": "why did we drop redis?",
  "mode": "hybrid",
  "results": [
    {
      "chunk": {"ref": "artifact:artifacts/adr-007.md", "n": 2, "content": "…",
                "start_line": 12, "end_line": 16, "line": 14, "page": null,
                "heading": "ADR 7 > Context"},
      "source": {"ref": "artifact:artifacts/adr-007.md", "path": "artifacts/adr-007.md",
                 "type": "artifact", "title": "ADR 7", "at": "2025-12-08T00:00:00.000Z",
                 "session": "", "tags": ["type/adr"], "metadata": {"date": "2025-12-08"},
                 "root": "/home/mira/api", "file": "/home/mira/api/artifacts/adr-007.md"},
      "context": {"before": [], "after": []},
      "score": 0.61,
      "strength": 81,
      "match_type": "hybrid",
      "votes": [
        {"retriever": "fulltext", "rank": 1, "score": 9.3, "share": 0.27},
        {"retriever": "semantic", "rank": 2, "score": 0.52, "share": 0.34}
      ]
    }
  ],
  "notes": []
}"""
    return "\n".join(
        [
            "# JSON",
            "",
            NOTE,
            "`kinen search --json`. `chunk` is the passage around a match, `line` the line of it",
            "that says most of what was asked. The shares of a hit's votes add up to its score.",
            "`match_type` is `fulltext`, `semantic`, or `hybrid` when both found it; other votes",
            "do not count.",
            "`strength` is from 0 to 100 in every mode. `source.file` is the absolute path below",
            "`source.root`; `chunk.ref` and `chunk.n` name the chunk that matched. `source.space`",
            "is there",
            "when several spaces were searched.",
            "",
            "```json",
            example,
            "```",
            "",
            "`kinen standup --json` and `kinen handoff --json`. With several spaces, or `all`,",
            'it is `{"spaces": [...]}` with one such object for each.',
            "",
            "```json",
            REPORT_EXAMPLE,
            "```",
            "",
            "`kinen session list --json`; `kinen session show ID --json` has the `steps` too.",
            "",
            "```json",
            SESSION_EXAMPLE,
            "```",
            "",
            'Lists come as `{"<plural noun>": [...]}`: `resources`, `spaces`, `edges`, `findings`.',
            "",
        ]
    )


PYTHON_EXAMPLE = """from kinen import Memory, Query

with Memory.open("path/to/space") as memory:
    memory.sync()
    for hit in memory.search(Query("why did we drop redis?", limit=10)):
        print(hit.record.ref, hit.score, hit.chunk.text)"""


class Plain(str):
    """An annotation that is printed without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def python_page() -> str:
    lines = ["# Python", "", NOTE, "```python", PYTHON_EXAMPLE, "```", ""]
    lines += ["Every error that a user can cause is a `KinenError`.", "", "## Memory", ""]
    lines += [sentence(kinen.Memory), "", *members(kinen.Memory, "memory")]
    for name, part in parts(kinen.Memory):
        lines += [f"## memory.{name}", "", sentence(part), "", *members(part, f"memory.{name}")]
    lines += ["## Types", ""]
    for name in sorted(set(kinen.__all__) - {"Memory", "__version__"}):
        lines += type_entry(name, getattr(kinen, name))
    return "\n".join(lines).rstrip() + "\n"


def sentence(documented: object) -> str:
    """The first sentence of a docstring."""
    paragraph = " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())
    end = re.search(r"\.(?=\s[A-Z`])", paragraph)
    return paragraph[: end.end()] if end else paragraph


def members(owner: type, variable: str) -> list[str]:
    """The public methods and values of a class, each with its signature and first sentence."""
    lines = []
    names = {name for name, _ in parts(owner)}
    for name in sorted(set(dir(owner)) - names):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(owner, name)
        if isinstance(member, property):
            text = f"{name}: {member.fget.__annotations__.get('return', 'Any')}"
        elif callable(getattr(owner, name)):
            text = name + signature(member)
        else:
            continue
        lines += [f"### {variable}.{name}", "", "```python", text, "```", ""]
        lines += [sentence(getattr(member, "__func__", member)), ""]
    return lines


def signature(method: object) -> str:
    """How a method is called: no `self`, annotations without quotes."""
    function = getattr(method, "__func__", method)
    assert callable(function)
    whole = inspect.signature(function)
    bound = [] if isinstance(method, staticmethod) else [next(iter(whole.parameters))]
    parameters = [
        row.replace(annotation=plain(row.annotation), default=stable(row.default))
        for row in whole.parameters.values()
        if row.name not in bound
    ]
    return str(inspect.Signature(parameters, return_annotation=plain(whole.return_annotation)))


def plain(annotation: object) -> object:
    return Plain(annotation) if isinstance(annotation, str) else annotation


def stable(default: object) -> object:
    """A default whose text is the same in every process."""
    return Plain("…") if " at 0x" in repr(default) else default


def parts(owner: type) -> list[tuple[str, type]]:
    """The parts of a class, and its properties that return objects of kinen."""
    rows = []
    for name in sorted(dir(owner)):
        member = inspect.getattr_static(owner, name)
        if name.startswith("_"):
            continue
        if isinstance(member, Part):
            rows.append((name, member.kind()))
        elif isinstance(member, property):
            part = class_of(member.fget)
            if part is not None and part.__module__.startswith("kinen.memory"):
                rows.append((name, part))
    return rows


def class_of(function: Any) -> type | None:
    """The class that a getter says it returns, also where only a type checker imports it."""
    name = str(function.__annotations__.get("return", ""))
    scope = dict(function.__globals__)
    for node in ast.walk(ast.parse(inspect.getsource(sys.modules[function.__module__]))):
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            scope[name] = getattr(import_module(node.module or ""), name)
    returned = scope.get(name)
    return returned if isinstance(returned, type) else None


def type_entry(name: str, kind: type) -> list[str]:
    """A public type: its first sentence and its fields."""
    lines = [f"### {name}", "", sentence(kind), ""]
    fields = getattr(kind, "_fields", ()) or getattr(kind, "__dataclass_fields__", ())
    if fields:
        defaults = getattr(kind, "_field_defaults", {})
        lines += ["| field | type | default |", "|---|---|---|"]
        for field in fields:
            written = annotation_text(kind.__annotations__[field]).replace("|", "\\|")
            default = f"`{stable(defaults[field])!r}`" if field in defaults else ""
            lines.append(f"| `{field}` | {written} | {default} |")
        lines.append("")
    return lines


def annotation_text(annotation: Any) -> str:
    """An annotation as it is written in the source."""
    if isinstance(annotation, ForwardRef):
        return annotation.__forward_arg__
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def agents_page() -> str:
    """A row for each description in `kinen.agents.clients`."""
    lines = ["# Agents", "", NOTE]
    lines += ["What `kinen install AGENT` connects, and what shows that it works.", ""]
    heads = ("agent", "record", "tell at start", "tell at prompt", "before compaction", "commands")
    heads += ("MCP", "import", "proved by")
    lines += [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for client in clients().values():
        settings = [setting for scope in client.scopes.values() for setting in scope]
        cells = (
            bool(client.events),
            "SessionStart" in client.told_at,
            "UserPromptSubmit" in client.told_at,
            "PreCompact" in client.told_at,
            bool(client.commands) or client.command_form == "plugin",
            any(setting.part == "server" for setting in settings),
            client.imports,
        )
        marks = " | ".join("✓" if cell else "–" for cell in cells)
        lines.append(f"| {client.title} (`{client.name}`) | {marks} | {client.proved} |")
    lines += [
        "",
        "A version is that of the real client that `make e2e` runs against a model on loopback; a",
        "replay runs hooks on payloads of that version; of the others the settings are tested.",
    ]
    return "\n".join(lines) + "\n"


def tools_table() -> str:
    """The definitions of the tools, which `kinen mcp` lists without importing them."""
    from kinen.mcp.calls import definitions

    return json.dumps(definitions(), indent=1, ensure_ascii=False) + "\n"


def pages() -> dict[str, str]:
    return {
        "agents.md": agents_page(),
        "cli.md": cli_page(),
        "config.md": config_page(),
        "json.md": json_page(),
        "python.md": python_page(),
        "../../src/kinen/mcp/tools.json": tools_table(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a page is not up to date")
    check = parser.parse_args().check
    stale = []
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        path = REFERENCE / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.write_text(text)
    print(f"{'stale' if check else 'wrote'}: {', '.join(stale) or 'nothing'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
