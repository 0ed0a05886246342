"""Whatever a colleague or a server sends: nobody's words change and all machines agree."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinen.errors import KinenError
from kinen.postgres.connection import Database
from kinen.team import rows
from kinen.team.accept import CONTINUED, FIXED, PART_OF, SUPERSEDED
from kinen.team.client import HttpTeam
from kinen.team.merge import DERIVED, TEXTS, from_json
from kinen.team.sync import synchronize
from team_forgery import ENTRIES, MESSAGES, SECRET, TEMPLATES, forged, hostile_server
from team_machines import Dictionary, Machine, state, template
from team_service import token

STRESS = bool(os.environ.get("KINEN_STRESS"))
EACH = 25
"""Messages of one example."""
EXAMPLES = (20_000 if STRESS else 500) // EACH
STEPS = st.lists(
    st.tuples(
        MESSAGES,
        st.integers(0, 60),
        st.sampled_from(["", "", "", "", "", "", "ada", "bob", "ada writes"]),
    ),
    min_size=EACH,
    max_size=EACH,
)
"""A message; the number of an earlier one that is sent again after it, if there is one of that
number; and what others do then."""
SETTINGS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
FORGED = "too many changes at once"
SPACES = itertools.count()
Stored = tuple[tuple[str, str], str, dict[str, Any]]
"""The key, the author and the fields of an entry."""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return template(tmp_path_factory.mktemp("template"))


@given(STEPS)
@SETTINGS
def test_no_message_of_a_colleague_rewrites_leaks_or_stops_anything(
    server: str, database: Database, empty: Path, steps: list[tuple[list[Any], int, str]]
) -> None:
    space = f"forged-{next(SPACES)}"
    people = {name: token(database, name, space) for name in ("ada", "bob", "mallory")}
    headers = {"Authorization": f"Bearer {people['mallory']}", "X-Kinen-Space": space}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        mallory = stack.enter_context(httpx.Client(base_url=server, headers=headers, verify=False))
        teams = {name: HttpTeam(server, space, people[name]) for name in ("ada", "bob")}
        machines = {name: Machine(folder / name, name, empty) for name in ("ada", "bob")}
        for name in ("ada", "bob"):
            stack.callback(teams[name].close)
            stack.callback(machines[name].db.close)
        rows.write(machines["ada"].db, ENTRIES)
        sync = lambda name: synchronize(machines[name].replica(), teams[name], space)  # noqa: E731
        sync("ada")
        before = {key: fields for key, _, fields in stored(mallory)}
        assert len(before) == len(TEMPLATES)
        sent: list[bytes] = []
        for message, again, act in steps:
            sent.append(json.dumps({"versions": forged(message)}).encode())
            for body in [sent[-1], *sent[again : again + 1]]:
                answer = mallory.post("/v1/team/push", content=body)
                assert answer.status_code == 200, answer.text
                assert answer.json().keys() == {"entries", "refused", "invalid"}
            if act == "ada writes":
                machines["ada"].observe("something new")
            elif act:
                sync(act)
        for name in ("ada", "bob", "ada", "bob", "ada"):
            sync(name)
        check_words(before, stored(mallory))
        check_database(database, space)
        expected = state(from_json(item) for item in pages(mallory))
        for machine in machines.values():
            assert state(machine.shared()) == expected
            assert machine.replica().waiting() == 0
            others = "SELECT id FROM observations WHERE capsule IN ('ada-c', 'ada-d')"
            assert {id_ for (id_,) in machine.db.execute(others)} <= {"ada-3"}
            assert SECRET not in machine.everything()


def check_words(before: dict[tuple[str, str], Any], team: list[Stored]) -> None:
    """Ada's entries are as she wrote them, or redacted, and nobody else is in her sessions.

    A memory is superseded by one of whoever did it, and anybody hides an entry.
    """
    authors = {key: author for key, author, _ in team}
    for (noun, id_), author, fields in team:
        session = fields.get(PART_OF.get(noun, ""))
        assert author == authors.get(("capsule", session), author), (id_, session)
        if (noun, id_) not in before:
            continue
        assert author == "ada"
        if noun not in FIXED:
            continue
        assert fields["id"] == id_  # neither forgotten nor taken back
        for name, value in before[noun, id_].items():
            left = [table.get(noun, {}).get(name, value) for table in (TEXTS, DERIVED)]
            if name == SUPERSEDED and fields[name]:
                assert authors["memory", fields[name]] == "mallory"
            else:
                assert fields[name] in (value, *left), (id_, name)


def pages(client: httpx.Client) -> Iterator[dict[str, Any]]:
    """Everything that the team sends; each of it is what a machine takes over as it is."""
    for erased in (1, 0):
        answer = client.get(f"/v1/team/pull?limit=1000&erased={erased}")
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert (page["more"], page["unread"]) == (False, {})
        for item in page["versions"]:
            version = from_json(item)
            assert rows.checked(version) == version
    yield from page["versions"]


def stored(client: httpx.Client) -> list[Stored]:
    return [((item["noun"], item["id"]), item["author"], item["fields"]) for item in pages(client)]


def check_database(database: Database, space: str) -> None:
    with database.transaction() as connection:
        texts = connection.execute(
            "SELECT string_agg(id || author || version, '') FROM kinen.team_entry WHERE space = %s"
            " UNION ALL SELECT string_agg(array_to_string(refs || changed, ' '), '')"
            " FROM kinen.team_audit WHERE space = %s",
            (space, space),
        ).fetchall()
    assert SECRET not in str(texts)


@given(st.lists(st.tuples(MESSAGES, st.booleans()), min_size=EACH, max_size=EACH))
@SETTINGS
def test_no_page_of_a_server_rewrites_what_was_written_here_or_stops_the_machine(
    empty: Path, messages: list[tuple[list[Any], bool]]
) -> None:
    sent = iter(messages)
    numbers = itertools.count(1)

    def answer(method: str, path: str) -> Any:
        if path.endswith("/me"):
            return {"person": "ada"}
        if method == "POST":
            return {"entries": 1}
        message, more = next(sent, ([], False))
        return {"versions": forged(message), "cursor": next(numbers), "more": more}

    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory())
        url = stack.enter_context(hostile_server(answer))
        ada = Machine(Path(folder) / "ada", "ada", empty)
        stack.callback(ada.db.close)
        rows.write(ada.db, ENTRIES)
        team = HttpTeam(url, "space", "kinen_x", sleep=lambda _: None)
        stack.callback(team.close)
        for _ in range(EACH):
            try:
                synchronize(ada.replica(), team, "space")
            except KinenError as error:
                assert "sent no page of entries" in error.line()
        for version in ENTRIES:
            noun = version.noun
            row = rows.read(ada.db, noun, version.id)
            if noun not in FIXED:
                continue
            assert row is not None or noun in ("pin", "tag")  # which leave no tombstone
            for name in version.fields.keys() - {*CONTINUED.get(noun, ())}:
                value = version.fields[name]
                left = [table.get(noun, {}).get(name, value) for table in (TEXTS, DERIVED)]
                if row and not row.forgotten:
                    assert row.fields[name] in (value, *left), (version.id, name)
        assert SECRET not in ada.everything()
        # another team gets what is left, but for numbers of changes that only a forger reaches
        ada.replica().rejoin()
        report = synchronize(ada.replica(), Dictionary().member("ada"), "other")
        assert ada.replica().waiting() == len(report.unsent)
        assert {reason.partition(" in ")[0] for reason in report.unsent.values()} <= {FORGED}
