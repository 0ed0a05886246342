"""Times that questions name by a milestone, which the records of a space date, or do not."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen import Memory, Query
from kinen.recall import milestones
from kinen.recall.dates import WEEK
from kinen.recall.milestones import Line, dated
from kinen.recall.tiers import shown
from kinen.text import now
from sources.repositories import EPOCH, Repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SETTINGS = {"index.embedding_provider": "none"}
COMMITS = {
    10: "build: migrate to uv",
    20: "Umstellung auf PostgreSQL",
    30: "feat(deploy): passage à Kubernetes",
    40: "Lanzamiento de la tienda en línea",
    50: "Reescrita do importador",
    60: "Переход на Redis",
    70: "迁移到新服务器",
    80: "認証基盤を刷新",
    90: "결제 모듈 교체",
    100: "إطلاق التطبيق الجديد",
    110: "Release 2.0",
    111: "fix: the release notes of 2.0",
    150: "Release 2.1",
    160: "Fix the loop in the parser",
    170: "Add batch submission for up to 50 repositories",
    200: "Show the batch submission in the sidebar",
}
"""Subjects by the day of their commits."""


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    root = tmp_path_factory.mktemp("milestones")
    repo = Repository(root / "space")
    for day, subject in COMMITS.items():
        repo.minutes = 1440 * day
        repo.commit(subject, {"a.txt": f"{day}\n"})
    (repo.root / ".kinen").mkdir()
    with Memory.open(repo.root, home=root / "home", settings=SETTINGS) as memory:
        for week in range(4):
            at = (EPOCH + (120 + 7 * week) * 86_400) * 1000
            memory.observe("We did the weekly backup run, as always", at=at)
        for n in (1, 2):
            at = (EPOCH + 130 * 86_400) * 1000 + n
            memory.observe(f"The gateway outage: clients saw errors, part {n}", at=at)
        at = (EPOCH + 180 * 86_400) * 1000
        memory.observe("What did we decide before the migration to uv?", at=at)
        memory.observe("Before the gateway outage all was well", at=at)
        yield memory


def day_of(day: int) -> str:
    return str(datetime.fromtimestamp(EPOCH + 86_400 * day).astimezone().date())


def remarks(memory: Memory, question: str) -> list[str]:
    """What a recall says about the time that a question names."""
    notes = memory.recall(Query(question)).notes
    return [note for note in notes if note.startswith(("before ", "since ", "during "))]


@pytest.mark.parametrize(
    ("side", "day", "questions"),
    [
        ("before", 10, "what did we decide before the migration to uv?"),
        ("since", 10, "what changed since we migrated to uv | since moving on: after uv migration"),
        ("before", 20, "was wurde vor der Umstellung auf PostgreSQL entschieden"),
        ("since", 20, "was haben wir seit der Umstellung auf PostgreSQL gemacht?"),
        ("before", 30, "que faisait-on avant le passage à Kubernetes ?"),
        ("since", 40, "¿qué cambió después del lanzamiento de la tienda en línea?"),
        ("before", 50, "o que decidimos antes da reescrita do importador?"),
        ("before", 60, "что решили до перехода на Redis?"),
        ("before", 70, "迁移到新服务器之前我们决定了什么？ | 我们在迁移到新服务器以前用什么"),
        ("since", 80, "認証基盤の刷新の後に何が変わりましたか"),
        ("before", 90, "결제 모듈 교체 전에 무엇을 결정했나요?"),
        ("before", 100, "ماذا قررنا قبل إطلاق التطبيق الجديد؟"),
        ("since", 110, "what broke after the release of 2.0? | after release v2.0, what broke"),
        ("during", 130, "who was on call during the gateway outage?"),
        ("before", 170, "how did users send URLs before batch submission was added"),
    ],
)
def test_records_say_when_a_milestone_was(
    memory: Memory, side: str, day: int, questions: str
) -> None:
    for question in questions.split(" | "):
        (note,) = remarks(memory, question)
        assert note.startswith(f"{side} {day_of(day)}"), (question, note)


@pytest.mark.parametrize(
    "question",
    [
        "what did we decide before the migration to MySQL?",
        "what broke after the release?",
        "what is set before the loop?",
        "what stands before the parser?",
        "who checks it after the weekly backup run?",
        "what did we do before batch mode",
        "前端的发布",
        "since when is it so?",
        "before",
        "what did we decide before 2020-05-01, before the migration to uv",
        "migration to uv",
    ],
)
def test_what_records_do_not_date_is_no_time(memory: Memory, question: str) -> None:
    assert remarks(memory, question) == []


def test_a_question_without_a_marker_asks_no_record(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(milestones, "milestones", lambda question: asked.append(question) or [])
    memory.recall(Query("the gateway outage"))
    memory.recall(Query("the gateway outage on 2026-05-03"))
    assert not asked
    memory.recall(Query("before the gateway outage"))
    assert asked


def test_what_was_known_later_dates_nothing(memory: Memory) -> None:
    question = "what did we decide before the migration to uv?"
    notes = memory.recall(Query(question, until=f"{day_of(5)}T00:00:00.000Z")).notes
    assert not any("migrate to uv" in note for note in notes)


def test_a_recall_shows_what_was_before_a_milestone_first(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "space")
    (repo.root / ".kinen").mkdir()
    begin = round(now()) - 200 * 86_400
    repo.minutes = (begin - EPOCH) // 60
    repo.commit("Migrate the gateway to Envoy")
    with Memory.open(repo.root, home=tmp_path / "home", settings=SETTINGS) as memory:
        for days in (-150, -3, 60, 199):
            text = f"The gateway timeout is now {days + 300} seconds, as the vendor asked"
            memory.observe(text, at=(begin + days * 86_400) * 1000)
        before = shown(memory.recall(Query("gateway timeout before the migration to Envoy")))
        plain = shown(memory.recall(Query("gateway timeout")))
        answer = memory.recall(Query("gateway timeout before the migration to Envoy"))
    assert before.index("297 seconds") < before.index("499 seconds")
    assert plain.index("499 seconds") < plain.index("297 seconds")
    votes = {vote.retriever for item in answer.items for vote in item.votes}
    assert "date" in votes


@given(st.text())
def test_no_question_breaks_it(question: str) -> None:
    for milestone in milestones.milestones(question):
        assert milestone.words
        assert all(milestone.words)


DAYS = st.integers(0, 60).map(lambda day: date(2026, 3, 1) + timedelta(days=day))
TEXTS = st.sampled_from(
    ["Migrate to uv", "fix: the migration to uv", "uv is slow", "after the migration to uv", "x"]
)
LINES = st.builds(Line, TEXTS, DAYS, st.booleans(), st.sampled_from(["commit:a", "summary:b", "c"]))
STEMS = {"migration": "migrat", "migrate": "migrat"}


@given(st.lists(LINES), st.randoms())
def test_lines_of_one_mind_lie_within_a_week_and_have_all_words(
    lines: list[Line], random: object
) -> None:
    (milestone,) = milestones.milestones("before the migration to uv")
    chosen = dated(milestone, lines, STEMS)
    days = [line.day for line in chosen]
    assert not days or max(days) - min(days) <= WEEK
    assert all("igrat" in line.text and "after" not in line.text for line in chosen)
    random.shuffle(lines)  # type: ignore[attr-defined]
    assert sorted(dated(milestone, lines, STEMS)) == sorted(chosen)
