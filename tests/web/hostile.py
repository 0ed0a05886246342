"""A project in which everything that people and agents write is a payload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from web.payloads import MARKDOWN, PAYLOADS

if TYPE_CHECKING:
    from daemon.served import Project
    from kinen.memory import Memory

SESSION = "<script>window.kinenxss=1</script>"
NAME = "<img src=x onerror=window.kinenxss=1>.md"
NOTE = "notes/hostile.md"


def write_hostile(project: Project, memory: Memory) -> None:
    """Fill notes, file names, frontmatter, commits, sessions, memories and pins with payloads."""
    body = "\n\n".join(PAYLOADS)
    front = "---\ntitle: \"<script>window.kinenxss=1</script>\"\ntags: ['<b onclick=1>x']\n---\n"
    (project.root / NOTE).write_text(front + f"# Hostile\n\nneedle\n\n{body}\n")
    (project.root / NAME).write_text(f"# {PAYLOADS[0]}\n\nneedle {PAYLOADS[3]}\n\n[x]({NOTE})\n")
    project.commit(f"docs: needle {PAYLOADS[3]}\n\n{body}\n\ntags: <svg onload=1>")
    scope = {"session": SESSION, "agent": "<b>agent</b>", "user": PAYLOADS[3]}
    capsule = memory.journal.open_capsule(f"needle {PAYLOADS[0]}", scope=scope)
    for payload in PAYLOADS:
        memory.observe(
            f"needle {payload}", kind="message", scope=scope, provenance={"role": "user"}
        )
    for payload in MARKDOWN:
        memory.observe(f"$ {payload}\n{payload}", kind="command", scope=scope)
    diff = "\n".join(f"+ {payload}" for payload in PAYLOADS)
    content = f"Tool: Edit\nFile: {NAME}\n{diff}"
    edit = memory.observe(content, kind="file_diff", scope=scope, files=[NAME])
    memory.observe(f"Error: {PAYLOADS[0]}", kind="error", scope=scope)
    memory.observe(f"We decided to use {PAYLOADS[0]} because {PAYLOADS[3]}", scope=scope)
    memory.journal.close_capsule(capsule.ref, f"**Outcome**: needle {body}")
    memory.journal.pin(edit.ref, PAYLOADS[0])
    memory.sync()
