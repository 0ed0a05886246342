"""What comes back of real agent sessions: recall, handoff, standup, session start, memories.

    python benchmarks/sessions.py --data DIR [--extra DIR] [--only ID] [--verbose]

DIR holds transcripts as `sessions_gold.json` names them; `--extra` further ones of other public
repositories, one folder a project (`checkpoint_sessions.py` writes them). The gold file has, for
each session, facts (outcome, decisions, lessons, next), statements that were true for a while
only, errors that were fixed, and questions with the strings that show that an answer is there. It
was written from the transcripts before anything was tuned. A session whose file is not there is
left out; so is a question whose strings are not in the message that it cites.

Each project is a space of its own. Its transcripts are imported in the order in which they
happened. After each, memories are drawn, and `handoff`, `standup` and the start hook of a new
session are asked for: they should tell what that session came to. At the end all questions are
asked of `recall`, as an agent would, with budgets of 300, 600 and 1,500 tokens.

Beside it stand, cut to the same budget in the same estimate of tokens:

- BM25 over the same files, read without kinen: SQLite's FTS5, porter stems, an OR of the words of
  the question; equal texts once, in order of rank, the last cut at a word. `messages`: each message
  and each tool output is a document. `talk`: without tool outputs. `passages`: whole lines of both,
  gathered to 100 tokens.
- the last message of the assistant in the session that the question is about.

A statement counts as shown where one line has all of its strings, unless the line says that it is
out of date: such lines are counted apart, as marked. An error counts as shown below a heading that
speaks of errors or failures.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.text import estimate
from record import save
from transcript_reader import Document, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Keys = list[list[str]]
    Session = dict[str, Any]
    Ask = Callable[[str, int], str]

GOLD = Path(__file__).parent / "sessions_gold.json"
BUDGETS = (300, 600, 1500)
MIDDLE = 600
FACTS = ("outcome", "decisions", "lessons", "next")
MARKS = ("superseded", "outdated", "out of date", "no longer")
"""Words by which a line says itself that it does not hold any more."""
PASSAGE = 100
"""Tokens of a passage of the BM25 baseline."""
DEPTH = 60
LONG = 60
"""Characters from which on a repeated line is a duplicate."""


class Project(NamedTuple):
    """A space to be: its sessions with their files, in the order in which they happened."""

    name: str
    sessions: list[tuple[Session, Path]]

    @property
    def files(self) -> list[Path]:
        return list(dict.fromkeys(path for _, path in self.sessions))

    def documents(self) -> list[Document]:
        return [document for path in self.files for document in documents_of(path)]


class Answer(NamedTuple):
    """What a method gave for a question."""

    method: str
    budget: int
    project: str
    question: str
    text: str
    right: bool
    stale: bool
    marked: bool


@cache
def documents_of(path: Path) -> list[Document]:
    return read(path)


def matches(text: str, keys: Keys) -> bool:
    """Whether a text has one alternative of every group."""
    flat = " ".join(text.casefold().split())
    return all(any(_pattern(key).search(flat) for key in group) for group in keys)


@cache
def _pattern(key: str) -> re.Pattern[str]:
    """A key as a word of its own; a final * lets the word go on."""
    words = " ".join(key.casefold().split())
    open_ended = words.endswith("*")
    words = words.removesuffix("*")
    before = r"(?<!\w)" if words[0].isalnum() and words.isascii() else ""
    after = r"(?!\w)" if words[-1].isalnum() and words.isascii() and not open_ended else ""
    return re.compile(before + re.escape(words) + after)


def shown_lines(text: str, keys: Keys, *, marked: bool = False) -> list[str]:
    """The lines that state something and do not say that it is over; or those that do."""
    lines = (line for line in text.splitlines() if matches(line, keys))
    return [line for line in lines if any(mark in line.casefold() for mark in MARKS) is marked]


# The gold file


def projects_of(gold: list[Session], data: Path, extra: Path | None) -> list[Project]:
    """The sessions that are at hand, by project, oldest first."""
    results: dict[str, list[tuple[Session, Path]]] = defaultdict(list)
    for session in gold:
        root = data if session["source"]["set"] == "data" else extra
        path = root / session["source"]["file"] if root else None
        if path and path.is_file():
            results[session["project"]].append((session, path))
        else:
            print(f"not at hand: {session['project']} {session['id']}", file=sys.stderr)
    return [Project(name, sorted(some, key=_began)) for name, some in results.items()]


def _began(entry: tuple[Session, Path]) -> str:
    session, path = entry
    return next(item.at for item in documents_of(path) if item.session == session["id"])


def usable(session: Session, path: Path) -> list[dict[str, Any]]:
    """The questions of a session whose answer is where the gold file says."""
    questions = []
    for question in session["questions"]:
        cited = "\n".join(
            document.text for document in documents_of(path) if document.line == question["line"]
        )
        if not matches(cited, question["keys"]):
            print(f"{question['id']}: not in line {question['line']}", file=sys.stderr)
        elif matches(question["question"], question["keys"]):
            print(f"{question['id']}: the question has its answer", file=sys.stderr)
        else:
            questions.append(question)
    return questions


# The baselines


class Bm25:
    """FTS5 with porter stems over texts; a question is an OR of its words."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize='porter unicode61')")
        rows = ((text,) for text in dict.fromkeys(texts))
        self._db.executemany("INSERT INTO t VALUES (?)", rows)

    def __call__(self, question: str, budget: int) -> str:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        rows = self._db.execute(
            "SELECT text FROM t WHERE t MATCH ? ORDER BY bm25(t), rowid LIMIT ?", (words, DEPTH)
        )
        return fitted((text for (text,) in rows), budget)


def fitted(texts: Iterable[str], budget: int) -> str:
    """Texts in order, as many as the budget holds, the last cut at a word."""
    remaining: list[str] = []
    room = budget
    for text in texts:
        cost = estimate(text)
        if cost > room:
            remaining.append(_beginning(text, room))
            break
        remaining.append(text)
        room -= cost
    return "\n\n".join(remaining)


def _beginning(text: str, budget: int) -> str:
    """As much of a text as the budget holds, whole words."""
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    low = 0
    high = len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate(text[: ends[middle - 1]]) <= budget:
            low = middle
        else:
            high = middle - 1
    return text[: ends[low - 1]] if low else ""


def passages(texts: Iterable[str]) -> Iterator[str]:
    """Texts in pieces of whole lines; a long line is a piece of its own."""
    for text in texts:
        lines: list[str] = []
        size = 0
        for line in filter(str.strip, text.splitlines()):
            cost = estimate(line)
            if lines and size + cost > PASSAGE:
                yield "\n".join(lines)
                lines = []
                size = 0
            lines.append(line)
            size += cost
        if lines:
            yield "\n".join(lines)


def last_message(path: Path, session: str) -> str:
    """The last words of the assistant in a session."""
    texts = [
        document.text
        for document in documents_of(path)
        if document.session == session and document.role == "assistant"
    ]
    return texts[-1] if texts else ""


def baselines(project: Project) -> dict[str, Ask]:
    documents = project.documents()
    everything = [document.text for document in documents]
    talk = [document.text for document in documents if document.role != "tool"]
    return {
        "BM25, messages": Bm25(everything),
        "BM25, talk": Bm25(talk),
        "BM25, passages": Bm25(passages(everything)),
    }


# kinen


class Space:
    """A space with a home of its own in a temporary folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.root = folder / name
        self.root.mkdir(parents=True)
        self.home = folder / f"{name}-home"
        self("init")

    def __call__(self, *words: str, stdin: str = "", home: Path | None = None) -> str:
        """The output of a command; an error ends the benchmark, finding nothing does not."""
        run = subprocess.run(
            [sys.executable, "-m", "kinen", *words],
            cwd=self.root,
            env={**os.environ, "KINEN_HOME": str(home or self.home)},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode not in (0, 1):
            raise SystemExit(f"kinen {' '.join(words)}: {run.stderr}")
        return run.stdout.strip()

    def recall(self, question: str, budget: int) -> str:
        """The same as the command prints, without a process for each of hundreds of questions."""
        from kinen.cli import main

        output = io.StringIO()
        words = ["recall", "--budget", str(budget), question]
        with contextlib.chdir(self.root), contextlib.redirect_stdout(output):
            os.environ["KINEN_HOME"] = str(self.home)
            with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
                main(words)
        gc.collect()  # a command switches the collector off, since its process ends soon
        return output.getvalue().strip()

    def session_start(self) -> str:
        """What a client adds to a new session; in a copy, so that no session is left behind."""
        payload = {
            "session_id": "the-next-session",
            "hook_event_name": "SessionStart",
            "source": "startup",
            "cwd": str(self.root),
        }
        copy = self.home.with_name(f"{self.home.name}-copy")
        shutil.copytree(self.home, copy)
        output = self("hook", "claude-code", stdin=json.dumps(payload), home=copy)
        shutil.rmtree(copy)
        try:
            return str(json.loads(output)["hookSpecificOutput"]["additionalContext"])
        except (ValueError, KeyError):
            return output

    def memories(self) -> list[dict[str, Any]]:
        return list(json.loads(self("memories", "list", "--json") or "{}").get("memories", []))

    def take_vectors(self, remaining: Path | None) -> None:
        """Vectors of an earlier run: they are kept by content, so that only new texts cost time."""
        if remaining and remaining.is_file() and self._cache.parent.is_dir():
            shutil.copy(remaining, self._cache)

    def keep_vectors(self, remaining: Path | None) -> None:
        if remaining and self._cache.is_file():
            remaining.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self._cache, remaining)

    @property
    def _cache(self) -> Path:
        """In the folder of the only space, which is made when something is kept in it."""
        folder = next(self.home.glob("spaces/*"), self.home / "spaces" / "none")
        return folder / "cache.db"


# Measuring


def surfaces_of(space: Space, project: Project, vectors: Path | None) -> dict[str, dict[str, Any]]:
    """What handoff, standup and session start say right after each session."""
    payload: dict[str, dict[str, Any]] = {}
    for path in project.files:
        space("import", "transcripts", str(path))
        if not payload:
            space.take_vectors(vectors)
        space("consolidate")
        own = [session for session, file in project.sessions if file == path]
        since = min(_began((session, path)) for session in own)[:10]
        texts = {
            "handoff": space("handoff"),
            "standup": space("standup", "--since", since),
            "session start": space.session_start(),
        }
        for session in own:
            last = last_message(path, session["id"])
            payload[session["id"]] = {**texts, "last message": last}
    return payload


def facts_in(session: Session, text: str) -> Counter[str]:
    """How many facts of each kind a text has, how many stale statements, and its tokens."""
    counts = Counter(dict.fromkeys((*FACTS, "stale"), 0))
    for kind in FACTS:
        counts[kind] = sum(matches(text, fact["keys"]) for fact in session[kind])
    counts["stale"] = sum(bool(shown_lines(text, fact["keys"])) for fact in session["stale"])
    counts["tokens"] = estimate(text)
    return counts


def remembered(session: Session, memories: list[dict[str, Any]]) -> Counter[str]:
    """How many facts are in one memory each."""
    texts = [str(memory.get("content", "")) for memory in memories]
    return Counter(
        {
            kind: sum(any(matches(text, fact["keys"]) for text in texts) for fact in session[kind])
            for kind in FACTS
        }
    )


def errors_in(session: Session, text: str) -> list[str]:
    """The fixed errors that a text lists among its errors."""
    listed: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("#") or line.endswith(":"):
            inside = bool(re.search(r"error|fail", line, re.IGNORECASE))
        elif inside:
            listed.append(line)
    block = "\n".join(listed)
    return [error["text"] for error in session["errors_fixed"] if matches(block, error["keys"])]


def answers_of(project: Project, ask: dict[str, Ask], only: str) -> Iterator[Answer]:
    """The answers of every method to every question at every budget."""
    stale = [fact["keys"] for session, _ in project.sessions for fact in session["stale"]]
    for session, path in project.sessions:
        last = last_message(path, session["id"])
        for question in usable(session, path):
            if only and only not in (question["id"], project.name) and only not in session["id"]:
                continue
            for budget in BUDGETS:
                texts = {name: method(question["question"], budget) for name, method in ask.items()}
                texts["last message"] = fitted([last], budget)
                for name, text in texts.items():
                    right = matches(text, question["keys"])
                    old = any(shown_lines(text, keys) for keys in stale)
                    over = any(shown_lines(text, keys, marked=True) for keys in stale)
                    yield Answer(name, budget, project.name, question["id"], text, right, old, over)


def measured(projects: list[Project], only: str, vectors: Path | None) -> dict[str, Any]:
    answers: list[Answer] = []
    facts: dict[str, Counter[str]] = defaultdict(Counter)
    counts: dict[str, int] = Counter()
    fixed: list[str] = []
    memories: list[dict[str, Any]] = []
    texts: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as created:
        for project in projects:
            print(f"{project.name} …", file=sys.stderr, flush=True)
            space = Space(Path(created), project.name)
            remaining = vectors / f"{project.name}.db" if vectors else None
            message = surfaces_of(space, project, remaining)
            drawn = space.memories()
            memories += [{"project": project.name, **memory} for memory in drawn]
            space("index")
            space.keep_vectors(remaining)
            for session, _ in project.sessions:
                texts[session["id"]] = message[session["id"]]
                for name, text in message[session["id"]].items():
                    facts[name] += facts_in(session, text)
                    counts[name] += bool(text)
                facts["memories"] += remembered(session, drawn)
                fixed += errors_in(session, message[session["id"]]["handoff"])
            ask = {"recall": space.recall, **baselines(project)}
            answers += answers_of(project, ask, only)
    return {
        "answers": answers,
        "facts": facts,
        "shown": counts,
        "fixed": fixed,
        "memories": memories,
        "texts": texts,
    }


# The table


def summary(projects: list[Project], results: dict[str, Any]) -> dict[str, Any]:
    """The figures, without a word of the transcripts: this is what is saved."""
    sessions = [session for project in projects for session, _ in project.sessions]
    totals = {kind: sum(len(session[kind]) for session in sessions) for kind in FACTS}
    totals["stale"] = sum(len(session["stale"]) for session in sessions)
    totals["errors fixed"] = sum(len(session["errors_fixed"]) for session in sessions)
    answers: list[Answer] = results["answers"]
    recalls = [answer for answer in answers if answer.method == "recall"]
    return {
        "sessions": len(sessions),
        "questions": len({answer.question for answer in answers}),
        "totals": totals,
        "answered": _table(answers, lambda answer: answer.right),
        "stale shown": _table(answers, lambda answer: answer.stale),
        "stale, marked": _table(answers, lambda answer: answer.marked),
        "over budget": _table(answers, lambda answer: estimate(answer.text) > answer.budget),
        "with duplicates": _table(answers, lambda answer: has_duplicates(answer.text)),
        "tokens": {
            budget: round(
                statistics.fmean(
                    [estimate(answer.text) for answer in recalls if answer.budget == budget] or [0]
                )
            )
            for budget in BUDGETS
        },
        "same text as another, at 600": same_texts(recalls),
        "facts": {name: dict(counts) for name, counts in results["facts"].items()},
        "sessions with a text": dict(results["shown"]),
        "fixed errors in handoff": len(results["fixed"]),
        "memories": len(results["memories"]),
        "by project, at 600": by_project(answers),
        "not answered by recall, at 600": sorted(
            answer.question for answer in recalls if answer.budget == MIDDLE and not answer.right
        ),
    }


def _table(answers: list[Answer], test: Callable[[Answer], bool]) -> dict[str, dict[int, int]]:
    """How many answers of each method pass a test, by budget."""
    rows: dict[str, dict[int, int]] = defaultdict(lambda: dict.fromkeys(BUDGETS, 0))
    for answer in answers:
        rows[answer.method][answer.budget] += test(answer)
    return dict(rows)


def has_duplicates(text: str) -> bool:
    """Whether a long line comes twice."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    counts = Counter(line for line in lines if len(line) >= LONG)
    return any(count > 1 for count in counts.values())


def same_texts(recalls: list[Answer]) -> int:
    """How many questions get, at 600 tokens, what another question of the project gets."""
    counts = Counter((answer.project, answer.text) for answer in recalls if answer.budget == MIDDLE)
    return sum(count for count in counts.values() if count > 1)


def by_project(answers: list[Answer]) -> dict[str, dict[str, str]]:
    rows: dict[str, dict[str, str]] = defaultdict(dict)
    for project in dict.fromkeys(answer.project for answer in answers):
        for method in dict.fromkeys(answer.method for answer in answers):
            some = [
                answer.right
                for answer in answers
                if (answer.project, answer.method, answer.budget) == (project, method, MIDDLE)
            ]
            rows[project][method] = f"{sum(some)}/{len(some)}"
    return dict(rows)


def show(results: dict[str, Any]) -> None:
    print(f"{results['sessions']} sessions, {results['questions']} questions\n")
    for title in ("answered", "stale shown", "stale, marked", "over budget", "with duplicates"):
        print(f"{title:<24}" + "".join(f"{budget:>8,}" for budget in BUDGETS))
        for method, row in results[title].items():
            print(f"  {method:<22}" + "".join(f"{row[budget]:>8}" for budget in BUDGETS))
    tokens = "".join(f"{results['tokens'][budget]:>8,}" for budget in BUDGETS)
    print(f"{'tokens of a recall':<24}{tokens}")
    print(f"same text as for another question, at 600: {results['same text as another, at 600']}")
    print("\nby project, at 600")
    for project, row in results["by project, at 600"].items():
        print(f"  {project:<14}" + "  ".join(f"{name} {share}" for name, share in row.items()))
    show_facts(results)


def show_facts(results: dict[str, Any]) -> None:
    totals = results["totals"]
    columns = (*FACTS, "stale")
    print(f"\n{'facts':<16}" + "".join(f"{kind:>11}" for kind in columns) + "  tokens  not empty")
    print(f"  {'in all':<14}" + "".join(f"{totals[kind]:>11}" for kind in columns))
    for name, row in results["facts"].items():
        cells = "".join(f"{row.get(kind, 0):>11}" for kind in columns)
        tokens = round(row.get("tokens", 0) / results["sessions"])
        filled = results["sessions with a text"].get(name, "")
        print(f"  {name:<14}{cells}{tokens:>8}{filled:>11}")
    fixed = results["fixed errors in handoff"]
    print(f"fixed errors in handoff: {fixed} of {totals['errors fixed']}")
    print(f"memories: {results['memories']}")


def show_texts(results: dict[str, Any]) -> None:
    """The failures with what came back, and what the surfaces say."""
    for answer in results["answers"]:
        if answer.method == "recall" and answer.budget == MIDDLE and not answer.right:
            print(f"\n=== {answer.question}: not answered at {MIDDLE}\n{answer.text}")
    for session, texts in results["texts"].items():
        for name, text in texts.items():
            print(f"\n=== {session} {name}\n{text}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the transcripts")
    parser.add_argument("--extra", type=Path, help="folder with those of other repositories")
    parser.add_argument("--only", default="", help="a question, a session or a project")
    parser.add_argument("--verbose", action="store_true", help="failures and all texts")
    parser.add_argument("--vectors", type=Path, help="keep vectors here between runs")
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    gold = json.loads(GOLD.read_text())["sessions"]
    projects = [
        project
        for project in projects_of(gold, chosen.data, chosen.extra)
        if not chosen.only or concerns(project, chosen.only)
    ]
    result = measured(projects, chosen.only, chosen.vectors)
    results = summary(projects, result)
    if chosen.verbose:
        show_texts(result)
    show(results)
    for memory in result["memories"]:
        print(f"  {memory['project']}  {memory.get('type')}: {memory.get('content')}")
    if not chosen.no_save and not chosen.only:
        save("sessions", results)


def concerns(project: Project, only: str) -> bool:
    """Whether a project is, or has, what was asked for."""
    sessions = (session for session, _ in project.sessions)
    return only == project.name or any(
        only in session["id"] or any(only == question["id"] for question in session["questions"])
        for session in sessions
    )


if __name__ == "__main__":
    main()
