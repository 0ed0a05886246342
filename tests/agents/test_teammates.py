"""Messages between the agents of a team: tasks of the lead, reports of the others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.agents.claude_code import event
from kinen.agents.teammates import messages
from kinen.agents.tool_use import Draft, Sieve

if TYPE_CHECKING:
    from pathlib import Path

IDLE = '{"type": "idle_notification", "from": "cache"}'
TASK = json.dumps(
    {
        "type": "task_assignment",
        "taskId": "7",
        "subject": "API-1: Cache the list of servers",
        "description": "Keep it for a minute.",
        "assignedBy": "team-lead",
    }
)


def sent(sender: str, text: str, **more: str) -> str:
    attributes = "".join(f' {name}="{value}"' for name, value in more.items())
    opened = f'<teammate-message teammate_id="{sender}"{attributes}>'
    return f"{opened}\n{text}\n</teammate-message>"


def recorded(prompt: str) -> Draft | None:
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": prompt}
    return event(payload, Sieve(str))


def test_a_task_of_the_lead_is_a_prompt() -> None:
    draft = recorded(sent("team-lead", "You are the cache agent.\nUse Redis.", summary="start"))
    assert draft is not None
    assert (draft.kind, draft.text) == ("message", "You are the cache agent.\nUse Redis.")
    assert draft.provenance == {"role": "user", "teammate": "team-lead"}


def test_an_assigned_task_is_its_subject_and_description() -> None:
    draft = recorded(sent("team-lead", TASK))
    assert draft is not None
    assert draft.text == "API-1: Cache the list of servers\n\nKeep it for a minute."


def test_what_another_agent_says_is_a_report() -> None:
    draft = recorded(sent("cache", "The cache works.", color="blue"))
    assert draft is not None
    assert (draft.kind, draft.text) == ("node_end", "Agent: cache\nThe cache works.")


def test_several_messages_name_their_senders() -> None:
    prompt = f"{sent('cache', 'Done.')}\n\n{sent('tests', IDLE)}\n\n{sent('proxy', 'Failed.')}"
    draft = recorded(prompt)
    assert draft is not None
    assert draft.text == "Agent: cache, proxy\ncache: Done.\n\nproxy: Failed."


def test_a_message_that_only_reports_a_state_is_not_kept() -> None:
    assert recorded(sent("cache", IDLE)) is None


def test_a_message_of_an_unknown_kind_stays_as_it_is() -> None:
    request = '{"type": "plan_approval_request", "plan": "Cache the list of servers."}'
    draft = recorded(sent("cache", request))
    assert draft is not None
    assert draft.text == f"Agent: cache\n{request}"


@pytest.mark.parametrize(
    "prompt",
    [
        f"{sent('cache', 'Done.')}\nand what now?",
        '<teammate-message teammate_id="cache">Done.',
        "<teammate-message color='red'>Done.</teammate-message>",
        "what is <teammate-message teammate_id=...> for?",
    ],
)
def test_a_prompt_with_anything_else_is_the_users(prompt: str) -> None:
    draft = recorded(prompt)
    assert draft is not None
    assert draft.provenance == {"role": "user"}
    assert draft.text == prompt


@given(st.lists(st.tuples(st.from_regex(r"[a-z-]{1,20}", fullmatch=True), st.text())))
def test_any_messages_come_back_in_order(said: list[tuple[str, str]]) -> None:
    found = messages("\n\n".join(sent(sender, f"say: {text}") for sender, text in said))
    assert found in ([], [(sender, f"say: {text}".strip()) for sender, text in said])
    assert found or not said or any("teammate-message" in text for _, text in said)


def test_a_secret_in_a_report_is_masked() -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    draft = recorded(sent("cache", f"The token is {token} and it works."))
    assert draft is not None
    assert token not in draft.text


def test_no_rule_is_drawn_from_a_task_and_the_session_is_told_by_it(
    space: Path, tmp_path: Path, kinen: Any
) -> None:
    """A lead's words are not those of the user, but they are what the session was about."""
    said = [
        ("user", sent("team-lead", "Cache the list of servers. Do not change the routes.")),
        ("assistant", "The list of servers is cached for a minute, all 12 tests pass."),
        ("user", sent("tests", "12 tests pass.")),
        ("assistant", "All my tasks are done. I'll wait for the team lead to assign more work."),
    ]
    lines = [
        {
            "type": role,
            "uuid": f"u{n}",
            "sessionId": "s-1",
            "timestamp": f"2026-03-01T10:00:0{n}Z",
            "cwd": str(space),
            "isSidechain": False,
            "message": {"role": role, "content": text},
        }
        for n, (role, text) in enumerate(said)
    ]
    path = tmp_path / "s-1.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert kinen("import", "transcripts", str(path), cwd=space).code == 0
    handoff = kinen("handoff", cwd=space).out
    assert "no new memories" in kinen("consolidate", cwd=space).out
    assert "Intent: Cache the list of servers." in handoff
    assert "Outcome: All my tasks are done." in handoff
    assert "Do not change the routes" not in handoff.partition("Intent:")[2].partition("\n")[2]
    assert "wait for the team lead" not in handoff
