"""`kinen demo`: build a small space and search it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

import click

from kinen.cli.run import bar, colours, screen
from kinen.errors import GitError
from kinen.memory import Memory
from kinen.model.records import Query
from kinen.model.tuples import NamedTuple
from kinen.render.graph import links_text
from kinen.render.history import companions_text, revisions_text
from kinen.render.journal import recall_text
from kinen.render.screen import Style
from kinen.render.text import hits_text, report_text
from kinen.space import gitcommand
from kinen.space.repository import Git


class Scene(NamedTuple):
    """A question of the demo, and what to look at in its answer."""

    question: str
    mode: str
    remark: str


SCENES = (
    Scene("rate-limiter", "fulltext", "Punctuation is text, never a syntax error."),
    Scene("why did we drop redis?", "hybrid", "By word and by meaning; the votes add up."),
    Scene(
        "stickers with nothing on them",
        "hybrid",
        "Found by meaning only: the note says that labels come out blank.",
    ),
)


@click.command()
@click.option("--keep", is_flag=True, help="do not delete the folder, print its path")
def demo(keep: bool) -> int:
    """Build a small space, search it, record and recall a session, and search a git history."""
    folder = tempfile.mkdtemp(prefix="kinen-demo-")
    root = os.path.join(folder, "parcelry")
    here = os.path.join(os.path.dirname(__file__), "demo_space")
    shutil.copytree(here, root)
    os.makedirs(os.path.join(root, ".kinen"))
    style = colours()
    try:
        with Memory.open(root, home=os.path.join(folder, "home")) as memory:
            with bar() as update:
                report = memory.sync(progress=update)
            counts = memory.index.counts()
            size = f"{counts.chunks} chunks, {counts.vectors} vectors"
            print(style("bold", "A space with the notes, sessions and documents of a small team"))
            print(f"  {report_text(report)}")
            print(f"  {size}, {counts.edges} links between notes")
            for scene in SCENES:
                flag = " --fulltext" if scene.mode == "fulltext" else ""
                print(f"\n{style('bold', f'$ kinen search --explain{flag} {scene.question!r}')}")
                print(style("dim", f"  {scene.remark}"))
                hits = memory.search(Query(scene.question, mode=scene.mode, limit=2))
                print(hits_text(hits, screen(), explain=True))
                sys.stdout.flush()
            record = memory.records.get("artifacts/adr-007-session-store.md")
            print(f"\n{style('bold', f'$ kinen graph show {record.path}')}")
            print(links_text(record.ref, memory.records.links(record.ref), style))
            _session(memory, style)
            _history(memory, root, style)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    if keep:
        print(f"to try it: cd {root} && KINEN_HOME={os.path.join(folder, 'home')} kinen search ...")
    else:
        print(style("dim", "\nNext: run `kinen init` in a folder of notes, then `kinen search`."))
    return 0


EVENTS: tuple[tuple[str, str], ...] = (
    ("user", "Labels of Monday's batch are blank again. Find out why and fix it."),
    ("command", "$ pytest -q tests/labels\n1 failed: template starts with a byte order mark"),
    ("error", "UnicodeDecodeError in labels/render.py: unexpected byte order mark"),
    ("file_diff", "Tool: Edit\nFile: labels/render.py\n- encoding='utf-8'\n+ encoding='utf-8-sig'"),
    ("command", "$ pytest -q tests/labels\n2 passed"),
    ("command", "$ DEPLOY_TOKEN=" + "d4Kq7Zt9Xw2Lm5Rb" + " ./deploy labels\ndone"),
    ("assistant", "Fixed: templates are read as utf-8-sig. Ask Mira to reprint Monday's batch."),
)
"""Who spoke, or the kind of what happened, and its text."""


def _session(memory: Memory, style: Style) -> None:
    """Record a session of an agent, with secrets masked, and recall it."""
    scope = {"session": "demo", "agent": "claude-code"}
    capsule = memory.journal.open_capsule("fix the blank labels", scope=scope)
    for word, text in EVENTS:
        spoken = word in ("user", "assistant")
        observation = memory.observe(
            text,
            kind="message" if spoken else word,
            scope=scope,
            files=["labels/render.py"] if word == "file_diff" else [],
            provenance={"role": word} if spoken else {},
        )
        if observation.masked:
            print(f"\n{style('bold', '$ kinen log - --kind command')}")
            print(style("dim", "  Secrets are masked before they reach the disk."))
            print(f"  {observation.content.splitlines()[0]}")
    memory.journal.close_capsule(capsule.ref)
    memory.journal.pin(observation.ref, "reprint before Friday")
    question = "why are the labels blank"
    print(f"\n{style('bold', f'$ kinen recall --budget 500 {question}')}")
    print(style("dim", "  Pins, the summary of the session, then the hits, within a token budget."))
    print(recall_text(memory.recall(Query(question, budget=500))))


COMMITS: tuple[tuple[str, dict[str, str]], ...] = (
    ("feat(labels): print a label", {"labels/render.py": "def render():\n    return 'utf-8'\n"}),
    (
        """fix(labels): read templates with a byte order mark

Monday's batch came out blank: the mark was taken for text.

tags: printing""",
        {"labels/render.py": "def render():\n    return 'utf-8-sig'\n", "labels/test.py": "1\n"},
    ),
    (
        "test(labels): a template that is empty",
        {
            "labels/render.py": "def render():\n    return 'utf-8-sig' or ''\n",
            "labels/test.py": "2\n",
        },
    ),
)


def _history(memory: Memory, root: str, style: Style) -> None:
    """Search the commits of a repository."""
    folder = os.path.join(root, ".git")
    repository = Git(root, folder, folder, {})

    def git(*words: str) -> None:
        gitcommand.output(repository, *words)

    try:
        git("init", "-q")
        git("config", "user.name", "Mira")
        git("config", "user.email", "mira@example.org")
        for message, files in COMMITS:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            git("add", "labels")
            git("commit", "-q", "-m", message)
    except (OSError, GitError):
        return  # git is not installed
    question = "why did Monday's labels come out blank"
    print(f"\n{style('bold', f'$ kinen search --type commits {question!r}')}")
    print(style("dim", "  The git history is searched like everything else."))
    hits = memory.search(Query(question, limit=1, kinds=("commit",)))
    print(hits_text(hits, screen()))
    print(f"\n{style('bold', '$ kinen history labels/render.py')}")
    print(revisions_text(memory.git.history("labels/render.py"), style))
    print(f"\n{style('bold', '$ kinen cochange labels/render.py')}")
    print(companions_text(memory.git.cochanged("labels/render.py"), style))
