"""What is drawn from records, and what is not: a wrong memory costs more than a missing one."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from kinen.consolidation.conversations import from_events, from_session
from kinen.consolidation.documents import from_checkpoint, from_commit
from kinen.consolidation.documents import from_document as from_round
from kinen.model.journal import Checkpoint, Finding, Observation
from kinen.model.kinds import MEMORY_CLOSE, MEMORY_OPEN
from kinen.privacy.injected import without_injected

REF = "round:sessions/20251203-01-session-store/rounds/02-migration.md"
AT = "2026-03-01T10:00:00.000Z"


def contents(text: str) -> list[str]:
    return [item.content for item in from_round(REF, text)]


def sure(text: str) -> list[tuple[str, float]]:
    return [(item.content, item.confidence) for item in from_round(REF, text)]


# Rounds


def test_a_decision_callout_is_certain_and_carries_question_and_rationale() -> None:
    text = (
        "### D3.2: LanceDB for indexing\n\n> [!note] Decision\n> Use LanceDB for hybrid search\n"
        "> in one database.\n\n**Rationale**: Simpler than SQLite with extensions.\n"
    )
    assert from_round(REF, text) == [
        Finding(
            "decision",
            "LanceDB for indexing: Use LanceDB for hybrid search in one database, because"
            " Simpler than SQLite with extensions",
            0.9,
            (REF,),
            "2025-12-03T00:00:00.000Z",
            "LanceDB for indexing",
        )
    ]


@pytest.mark.parametrize(
    "head",
    [
        "[!note] Decision",
        "[!NOTE] decision",
        "[!success]+ Decision",
        "[!decision]",
        "[!note] Decision:",
        "[!note]- **Decision**",
    ],
)
def test_a_decision_is_known_by_any_spelling_of_its_callout(head: str) -> None:
    assert sure(f"### Q1.1: Queue\n\n> {head}\n> Jobs live in PostgreSQL.\n") == [
        ("Queue: Jobs live in PostgreSQL.", 0.9)
    ]


def test_what_stands_behind_the_title_of_a_callout_counts() -> None:
    text = "## Frontend\n\n> [!note] Decision: **backend and CLI** first\n> A page comes later.\n"
    assert contents(text) == ["backend and CLI first. A page comes later."]


@pytest.mark.parametrize("head", ["[!note] Decision Rule", "[!note] Decision updated in May"])
def test_other_callouts_that_begin_with_the_word_decide_nothing(head: str) -> None:
    assert contents(f"## Statistics\n\n> {head}\n> If variances differ, use another test.\n") == []


def test_an_answer_is_less_certain_and_says_what_was_asked() -> None:
    text = (
        "### Q1.2: What went wrong with it?\n\n> [!note] Answer\n> Failovers lost writes twice.\n"
    )
    assert sure(text) == [("What went wrong with it? Failovers lost writes twice.", 0.8)]


@pytest.mark.parametrize(
    "body", ["", "> \n", "> _Your answer here_\n", "> TODO\n", "> {{cursor}}\n", "> ...\n"]
)
def test_an_empty_answer_is_skipped(body: str) -> None:
    for question in ("Which database?", "Should old endpoints redirect to new ones?"):
        text = f"### Q1.1: {question}\n\n> [!note] Answer\n{body}\n\nMore text.\n"
        assert contents(text) == []


def test_a_nested_quotation_is_an_answer_and_a_plain_one_is_not() -> None:
    assert contents("### Q1: Which cache?\n\n>> The cache stays in memory.\n") == [
        "Which cache? The cache stays in memory."
    ]
    assert contents("### Q1: Which cache?\n\n> The cache stays in memory.\n") == []


@pytest.mark.parametrize(
    "answer",
    [
        "Do you mean the plugin or the daemon?",
        "I am not sure, maybe both.",
        "yes that's perfect",
        "Please research this for the next round.",
        "All of those.",
        "Option C",
        "sounds right",
    ],
)
def test_an_answer_that_leaves_it_open_stays_below_what_is_kept(answer: str) -> None:
    results = sure(f"### Q1.1: Which storage for the index?\n\n> [!note] Answer\n> {answer}\n")
    assert [confidence for _, confidence in results] == [0.5]


def test_a_plain_yes_answers_a_question_of_yes_or_no() -> None:
    text = "### Q1: Should old endpoints redirect?\n\n> [!note] Answer\n> Yes, permanently.\n"
    assert sure(text) == [("Should old endpoints redirect? Yes, permanently.", 0.8)]


def test_doubts_and_requests_are_left_out_of_an_answer() -> None:
    text = (
        "### Q1.3: Formats\n\n> [!note] Answer\n> PDF is a necessity.\n> Maybe EPUB later?\n"
        "> please check which library is best\n"
    )
    assert sure(text) == [("Formats: PDF is a necessity.", 0.8)]


def test_an_answer_names_the_option_that_it_picks_by_letter() -> None:
    text = (
        "### Q1.4: Full text or semantic?\n\n**Option A: Full text only**\n- fast\n\n"
        "**Option C: Hybrid (both)**\n- best\n\n> [!note] Answer\n> Option C. We need both.\n"
    )
    assert sure(text) == [("Full text or semantic? Hybrid (both). We need both.", 0.8)]


def test_a_ticked_option_is_the_choice_and_its_date_is_not() -> None:
    text = (
        "### Q1.2: How does the client start the server?\n\n"
        "- [ ] **Option A: by hand**\n  - **Pros**: none\n"
        "- [x] **Option B: `kinen mcp`** ✅ 2025-12-13\n  - **Pros**: one way\n"
    )
    assert sure(text) == [("How does the client start the server? `kinen mcp`", 0.9)]


def test_a_choice_and_its_answer_are_one_finding() -> None:
    text = (
        "### Q1.1: What is Redis for?\n\n- [ ] **Option A: cache**\n"
        "- [x] **Option B: sessions only**\n\n"
        "> [!note] Answer\n> The page cache moved to the CDN.\n"
    )
    assert sure(text) == [
        ("What is Redis for? sessions only. The page cache moved to the CDN.", 0.9)
    ]


def test_a_list_of_things_done_is_no_choice() -> None:
    done = "- [x] Start the server over stdio\n- [x] Sessions are listed\n"
    assert contents(f"### Q2.8: What's the checklist of phase A?\n\n{done}") == []
    assert contents(f"## Tasks\n\n{done}- [ ] Write the docs\n") == []


def test_one_box_of_several_under_a_question_is_a_choice_without_letters() -> None:
    text = "### Which engine?\n\n- [ ] LanceDB\n- [x] SQLite with FTS5\n"
    assert sure(text) == [("Which engine? SQLite with FTS5", 0.9)]


def test_a_decision_heading_needs_a_rationale_or_a_decision() -> None:
    head = "### D3.1: Files are the truth"
    assert contents(f"{head}\n\n**Rationale**: Clone, rebuild, done.\n") == [
        "Files are the truth, because Clone, rebuild, done"
    ]
    assert contents(f"{head}\n\n**Decision**: No blobs in git.\n**Rationale**: they grow\n") == [
        "Files are the truth: No blobs in git, because they grow"
    ]
    assert contents(f"{head}\n\nWe need to implement the repository.\n") == []


def test_a_question_in_bold_is_a_question() -> None:
    text = "## 6. Structure\n\n**Q1.6: Where do docs live?**\n\n> [!note] Answer\n> In the wiki.\n"
    assert contents(text) == ["Where do docs live? In the wiki."]


TABLE = """## Decisions

| Decision | Round | Rationale |
|----------|-------|-----------|
| Sessions move to [[postgres\\|PostgreSQL]] | [[rounds/02#Q2.1\\|R2]] | one system *fewer* |
| Use `a \\| b` unions | R1 | read as sums |
| TBD | R3 | |
| ~~Keep the old cluster~~ | R1 | cheap |
| D3.1 | R1 | see there |
"""


def test_a_table_of_decisions_gives_one_for_each_row_that_decides() -> None:
    assert sure(TABLE) == [
        ("Sessions move to PostgreSQL, because one system fewer", 0.9),
        ("Use `a | b` unions, because read as sums", 0.9),
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["Why | **Decision**", "less to run | One database"], "One database, because less to run"),
        (["Date | Decisions | Reasoning:", "1 May | Drop IE | unused"], "Drop IE, because unused"),
        (["Decision | Choice | Source", "Ids | **u32 slots** | R1"], "Ids: u32 slots"),
        (["Topic | Decision", "Language | Go"], "Language: Go"),
        (["Component | Decision", "Auth | short JWTs"], "Auth: short JWTs"),
        (["# | Decision", "1 | Open the protocol"], "Open the protocol"),
        (["Decision | Status", "Go on with C | rejected", "Try Rust | accepted"], "Try Rust"),
    ],
)
def test_tables_have_their_columns_in_any_order_and_spelling(
    rows: list[str], expected: str
) -> None:
    rule = "|".join("-" * (rows[0].count("|") + 1))
    lines = "\n".join(f"| {row} |" for row in [rows[0], rule, *rows[1:]])
    assert contents(f"## Log\n\n{lines}\n") == [expected]


@pytest.mark.parametrize(
    "table",
    [
        "| Decision Type | Who | Escalate |\n|-|-|-|\n| Scope change | lead | always |\n",
        "| Session | Decision | Confidence |\n|-|-|-|\n| 20251206 | D3.1 | 0.9 |\n",
        "| Tier | Formats |\n|-|-|\n| easy | markdown and plain text |\n",
    ],
)
def test_a_table_of_something_else_decides_nothing(table: str) -> None:
    assert contents(f"## Notes\n\n{table}") == []


def test_items_under_a_heading_of_decisions_are_decisions() -> None:
    text = (
        "### Decisions Made\n\n1. ✅ **Diagrams**: Mermaid for technical ones\n"
        "2. ⏳ **Terminology**: turns or rounds (to be decided)\n"
    )
    assert sure(text) == [("Diagrams: Mermaid for technical ones", 0.9)]


def test_what_stands_in_code_is_an_example() -> None:
    assert (
        contents(f"## How to\n\n```markdown\n> [!note] Decision\n> Use tea.\n\n{TABLE}```\n") == []
    )


def test_the_time_of_a_round_is_that_given_else_that_of_its_path() -> None:
    text = "## Tea\n\n> [!note] Decision\n> Green tea only.\n"
    assert from_round(REF, text, AT)[0].at == AT
    assert from_round("note:tea.md", text)[0].at == ""


@pytest.mark.parametrize("text", ["", "---\n", "> [!note] Decision", "| Decision |", "- [x]", "#"])
def test_scraps_of_markdown_are_nothing(text: str) -> None:
    assert contents(text) == []


def test_hostile_markdown_costs_little() -> None:
    for text in (
        ">" * 3000 + " a",
        "[" * 50_000,
        "| a " * 20_000,
        "**Q1" * 20_000,
        "- [x] " * 5000,
    ):
        assert contents(f"## Decisions\n\n{text}\n") is not None


# Checkpoints


def checkpoint(text: str = "", **more: Any) -> list[Finding]:
    return from_checkpoint(Checkpoint("checkpoint_1", AT, text, **more), "checkpoint:a.md")


def test_a_decision_of_a_checkpoint_comes_with_its_reason() -> None:
    body = "## Hooks tier\n\n- **WHAT:** a design\n- **WHY:** Tool descriptions are hidden.\n"
    assert checkpoint(body, type="decision", decision="Hooks come back, static ones only") == [
        Finding(
            "decision",
            "Hooks come back, static ones only, because Tool descriptions are hidden",
            0.9,
            ("checkpoint:a.md",),
            AT,
        )
    ]


@pytest.mark.parametrize("kind", ["learning", "incident"])
def test_a_learning_tells_its_lesson(kind: str) -> None:
    body = "- **Root cause:** bun's shell rejects two redirects\n- **Learning:** Use `&>`.\n"
    results = checkpoint(body, type=kind, summary="bun install failed")
    assert [(result.type, result.content, result.confidence) for result in results] == [
        (
            "lesson",
            "bun install failed: bun's shell rejects two redirects. Use `&>`.",
            0.9,
        )
    ]


def test_a_learning_without_a_lesson_is_less_certain() -> None:
    results = checkpoint(
        "- **WHY:** tests wrote to the home.", type="incident", summary="Junk found"
    )
    assert [(result.content, result.confidence) for result in results] == [
        ("Junk found, because tests wrote to the home", 0.7)
    ]


@pytest.mark.parametrize(("given", "expected"), [(1, 0.2), (4, 0.8), (5, 1.0), (0, 0.9)])
def test_the_confidence_of_a_checkpoint_is_a_fifth_of_its_own(given: int, expected: float) -> None:
    results = checkpoint(type="decision", decision="Ship the lifecycle fix alone", confidence=given)
    assert [result.confidence for result in results] == [expected]


def test_a_short_checkpoint_is_its_own_decision() -> None:
    results = checkpoint("# Ship the fix alone\n\nRest.", type="decision")
    assert [(result.content, result.confidence) for result in results] == [
        ("Ship the fix alone", 0.7)
    ]


def test_a_checkpoint_of_work_done_states_nothing() -> None:
    assert checkpoint("We decided nothing; fixed the build.", type="checkpoint") == []
    assert checkpoint("Merged.", type="decision", decision="Yes") == []


# Commits


def commit(text: str) -> list[tuple[str, float]]:
    return [(item.content, item.confidence) for item in from_commit("commit:abc", text, AT)]


def test_a_breaking_change_is_what_its_note_says() -> None:
    text = (
        "feat(api)!: one endpoint for search\n\nLong story.\n\n"
        "BREAKING CHANGE: `/find` is gone;\nuse `/search`.\nReviewed-by: A. B\n"
    )
    assert commit(text) == [("one endpoint for search: `/find` is gone; use `/search`.", 0.9)]


def test_a_breaking_change_without_a_note_is_its_headline() -> None:
    assert commit("feat!: drop Python 3.8") == [("Breaking change: drop Python 3.8", 0.75)]


@pytest.mark.parametrize(
    "text",
    [
        "feat: add a button",
        "docs: say why\n\nThis page exists because nobody knew.",
        "fix: the build\n\nIt failed because of a typo in the manifest.",
        "feat: x\n\n538 pass, down from 597 because the deleted files had 59 tests.",
        "feat: x\n\nMaybe we should use tea instead of coffee for the filters?",
    ],
)
def test_most_commits_decide_nothing(text: str) -> None:
    assert commit(text) == []


# Sessions

_ids = count(1)


def observed(text: str, kind: str = "message", **more: Any) -> Observation:
    fields = {key: more.pop(key) for key in list(more) if key in Observation._fields}
    n = next(_ids)
    return Observation(f"o{n}", kind, text, 1_767_261_600_000 + n, provenance=more, **fields)


def drawn(*texts: str, role: str = "user", strategy: str = "hybrid") -> list[tuple[str, str]]:
    session = from_session([observed(text, role=role) for text in texts], (), strategy)
    return [(item.type, item.content) for item in session if item.confidence >= 0.7]


def test_a_message_without_a_role_is_the_users() -> None:
    assert [item.type for item in from_session([observed("Never use tea for the queue")])] == [
        "pattern"
    ]


def test_nothing_that_kinen_told_the_agent_comes_back_as_new() -> None:
    text = "Never use PostgreSQL for the job queue"
    assert drawn(f"{MEMORY_OPEN}\n{text}\n{MEMORY_CLOSE}\nthanks") == []
    assert drawn(f"{MEMORY_OPEN}\n{text}") == []
    ours = [
        observed(text, "node_output", toolName="mcp__kinen__kinen_recall"),
        observed(text, "node_output", toolName="kinen_search"),
        observed(f"$ kinen recall queue\n{text}", "command", command="kinen recall queue"),
    ]
    assert from_session(ours) == []


@pytest.mark.parametrize("change", [{"redacted": True}, {"forgotten_at": 1}])
def test_what_was_taken_out_is_no_source(change: dict[str, Any]) -> None:
    assert from_session([observed("Never use PostgreSQL for jobs", **change)]) == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a", "a"),
        (f"a {MEMORY_OPEN}b{MEMORY_CLOSE} c", "a  c"),
        (f"a {MEMORY_OPEN}b", f"a {MEMORY_OPEN}b"),
        (f"{MEMORY_OPEN}a{MEMORY_OPEN}b{MEMORY_CLOSE}c{MEMORY_CLOSE}d", "d"),
        (f"{MEMORY_OPEN}a{MEMORY_CLOSE}b{MEMORY_OPEN}c{MEMORY_CLOSE}d", "bd"),
        (f"a{MEMORY_CLOSE}b", f"a{MEMORY_CLOSE}b"),
    ],
)
def test_what_was_injected_is_taken_out_of_a_text(text: str, left: str) -> None:
    assert without_injected(text) == left


def test_a_hostile_message_costs_little() -> None:
    for text in ("<a>" * 3300, "> " * 4900, "[" * 9900, "never " * 3000, MEMORY_OPEN * 100_000):
        assert drawn(text, role="assistant") == []


# Commands


def ran(command: str, error: str = "", capsule: str = "c1") -> Observation:
    code = 1 if error else 0
    text = f"$ {command}\n{error}"
    return observed(text, "command", command=command, exitCode=code, capsule=capsule)


REFUSED = "Error: connect ECONNREFUSED 127.0.0.1:5432"


def test_a_command_that_another_one_made_work_is_a_lesson() -> None:
    failed = [ran("npm test", f"at line {n}\n{REFUSED}") for n in range(3)]
    events = [*failed, ran("docker compose up -d"), ran("npm test")]
    (results,) = from_session(events)
    assert results.content == (
        f"`npm test` failed with `{REFUSED}` until `docker compose up -d` was run"
    )
    assert results.sources == tuple(value.ref for value in (*failed, events[-1]))
    assert (results.type, results.confidence) == ("lesson", 0.75)


@pytest.mark.parametrize(
    "between",
    [
        [],
        [ran("docker compose up -d"), ran("make build")],
        [observed("File: a.py", "file_diff"), ran("docker compose up -d")],
    ],
)
def test_what_made_a_command_work_is_told_only_where_it_is_plain(
    between: list[Observation],
) -> None:
    assert (
        from_session([*(ran("npm test", REFUSED) for _ in range(3)), *between, ran("npm test")])
        == []
    )


def test_two_failures_or_other_ones_each_time_are_bad_luck() -> None:
    up = [ran("docker compose up -d"), ran("npm test")]
    assert from_session([ran("npm test", REFUSED), ran("npm test", REFUSED), *up]) == []
    others = [ran("npm test", f"Error: {word} is not defined") for word in ("a", "b", "c")]
    assert from_session([*others, *up]) == []


def test_trouble_that_comes_back_in_another_session_is_a_pattern() -> None:
    events = [ran("make test", REFUSED.replace("5432", port), of) for port, of in
              (("1", "c1"), ("2", "c1"), ("3", "c2"))]  # fmt: skip
    (results,) = from_events(events)
    assert results.type == "pattern"
    assert results.content.startswith("`make test` keeps failing: `Error: connect ECONNREFUSED")
    assert results.sources == tuple(event.ref for event in events)
    assert from_events(events[:2]) == []
    assert from_events([item._replace(capsule="c1") for item in events]) == []
    assert from_events([*events, ran("make test 2>&1 | tail -5")]) == [results]  # nobody knows
    assert from_events([*events, ran("make test")]) == []  # it passed since
    assert from_events([ran("make test"), *events]) == [results]


def test_an_error_that_only_says_that_there_was_one_is_no_pattern() -> None:
    said = 'error: script "lint" exited with code 1'
    assert from_events([ran("bun run lint", said, of) for of in ("c1", "c1", "c2")]) == []
