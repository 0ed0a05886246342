"""Sessions as folders: how they are made, found, gone on with and closed."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kinen.errors import NotFound, QueryError, SpaceError
from kinen.worklog.sessions import (
    NO_SESSION,
    close_session,
    new_round,
    new_session,
    other_folders,
    session,
    sessions,
)

NOON = 1_764_763_200.0  # 2025-12-03T12:00:00Z
DAY = 86_400


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path)


def put(root: str, path: str, text: str) -> Path:
    full = Path(root, path)
    full.parent.mkdir(parents=True, exist_ok=True)
    full.write_bytes(text.encode())
    return full


def test_a_session_has_the_folder_and_files_that_others_expect(root: str) -> None:
    path = new_session(root, "  Where sessions\n live? ", NOON)
    assert path == "sessions/20251203-01-where-sessions-live"
    assert Path(root, path, "init.md").read_text() == (
        "---\n"
        "date: 2025-12-03\n"
        "started_at: 2025-12-03T12:00:00.000Z\n"
        "status: in-progress\n"
        "artifact_type: init\n"
        "kinen_session: 20251203-01-where-sessions-live\n"
        "---\n\n"
        "# Where sessions live?\n"
    )
    names = {file.name for file in Path(root, path).iterdir()}
    assert names == {"init.md", "rounds", "artifacts", "resources"}
    assert [item.name for item in Path(root, "sessions").iterdir()] == [path[9:]]
    own = session(root)
    assert (own.title, own.status, own.path) == ("Where sessions live?", "in-progress", path)


def test_sessions_are_numbered_by_day_and_listed_newest_first(root: str) -> None:
    created = [new_session(root, "one", at) for at in (NOON, NOON, NOON + DAY)]
    assert [path[9:20] for path in created] == ["20251203-01", "20251203-02", "20251204-01"]
    assert [item.path for item in sessions(root)] == created[::-1]


def test_those_who_begin_at_once_get_numbers_of_their_own(root: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        created = list(pool.map(lambda n: new_session(root, f"title {n}", NOON), range(8)))
        assert len({path[9:20] for path in created}) == 8
        name = created[0][9:]
        rounds = list(pool.map(lambda n: new_round(root, f"title {n}", NOON, name), range(8)))
    assert sorted(Path(path).name[:2] for path in rounds) == [f"{n:02}" for n in range(1, 9)]
    left = [path for path in Path(root, "sessions").rglob("*") if path.name.startswith(".")]
    assert left == []


def test_rounds_go_on_after_the_last_one_whatever_is_missing(root: str) -> None:
    name = new_session(root, "x", NOON)[9:]
    put(root, f"sessions/{name}/rounds/07-old.md", "# Old\n")
    put(root, f"sessions/{name}/rounds/notes.md", "# No round\n")
    path = new_round(root, "Which store: Redis or Postgres?", NOON)
    assert path == f"sessions/{name}/rounds/08-which-store-redis-or-postgres.md"
    text = Path(root, path).read_text()
    assert f"kinen_session: {name}\nkinen_round: 8\n" in text
    assert "\n# Round 8: Which store: Redis or Postgres?\n\n### Q8.1: \n\n> [!note] Answer" in text
    assert new_round(root, "the same", NOON)[-14:] == "09-the-same.md"


def test_a_session_is_known_by_a_part_of_its_name(root: str) -> None:
    first, second = (new_session(root, title, NOON)[9:] for title in ("Auth", "Auth again"))
    assert session(root, first).name == first
    assert session(root, "AGAIN").name == second
    assert session(root, "-01-").name == first
    assert session(root).name == second
    with pytest.raises(QueryError, match="matches several sessions"):
        session(root, "auth")
    with pytest.raises(NotFound):
        session(root, "nothing")


def test_sessions_of_the_wild_are_read_as_they_are(root: str) -> None:
    put(
        root,
        "sessions/20251203-01-a-b/init.md",
        "\ufeff---\r\nkinen_status: in_progress\r\n---\r\n",
    )
    put(root, "sessions/20251203-02-c/rounds/01-x.md", "no frontmatter")
    put(root, "sessions/20251203-03-d/init.md", "---\nstatus: completed\n---\n# Done\n")
    put(root, "sessions/20251203-04-e/init.md", "---\nstatus: [broken\n---\n# Still here\n")
    put(root, "sessions/20251203-05-file.md", "# A file, no session\n")
    put(root, "sessions/notes/a.md", "# Another folder\n")
    results = {item.name[9:11]: item for item in sessions(root)}
    assert sorted(results) == ["01", "02", "03", "04"]
    assert (results["01"].title, results["01"].status) == ("a b", "in-progress")
    assert results["02"].rounds == ("sessions/20251203-02-c/rounds/01-x.md",)
    assert results["03"].ended
    assert not results["04"].ended
    assert session(root).name.endswith("04-e")
    assert sessions(f"{root}/nowhere") == []


def test_a_folder_with_rounds_an_init_or_a_date_is_a_session(root: str) -> None:
    put(root, "sessions/auth-design/rounds/01.md", "# Tokens\n")
    put(root, "sessions/billing/init.md", "---\ndate: 2025-11-30\n---\n# Bills\n")
    put(root, "sessions/2025-12-05-cache/notes/a.md", "# Cache\n")
    put(root, "sessions/misc/a.md", "# Anything\n")
    put(root, "sessions/.hidden/init.md", "# Hidden\n")
    os.utime(Path(root, "sessions/auth-design/rounds/01.md"), (NOON, NOON))
    found = [(item.name, item.title, item.started) for item in sessions(root)]
    assert found == [
        ("2025-12-05-cache", "cache", "2025-12-05"),
        ("auth-design", "auth design", "2025-12-03"),
        ("billing", "Bills", "2025-11-30"),
    ]
    assert other_folders(root) == [("sessions/misc", NO_SESSION)]
    assert new_round(root, "Keys", NOON, "auth").startswith("sessions/auth-design/rounds/02-")


def test_a_closed_session_keeps_all_else_of_its_file(root: str) -> None:
    front = "---\r\ndate: 2025-12-03\r\nstatus: in-progress\r\naliases: [x]\r\n---\r\n"
    body = "# Title\r\n\r\nstatus: of the text\r\n\udce9"
    name = "20251203-01-x"
    init = put(root, f"sessions/{name}/init.md", front)
    init.write_bytes((front + body).encode("utf-8", "surrogateescape"))
    close_session(root, session(root, name), "## Decided\n\n- x\n", NOON)
    text = init.read_bytes().decode("utf-8", "surrogateescape")
    assert text == (
        "---\r\ndate: 2025-12-03\r\naliases: [x]\r\nstatus: complete\r\n"
        "ended_at: 2025-12-03T12:00:00.000Z\r\n---\r\n" + body
    )
    own = session(root, name)
    assert (own.ended, own.summary) == (True, f"sessions/{name}/session-summary.md")
    assert Path(root, own.summary).read_text().endswith("# Title\n\n## Decided\n\n- x\n")
    with pytest.raises(NotFound, match="no session is open"):
        session(root)
    with pytest.raises(QueryError, match="complete"):
        new_round(root, "one more", NOON, name)


@pytest.mark.parametrize("text", ["", "# No frontmatter\n", "\ufeff# With a mark\n"])
def test_a_session_without_a_status_is_closed_too(root: str, text: str) -> None:
    name = "20251203-01-x"
    init = put(root, f"sessions/{name}/init.md", text)
    put(root, f"sessions/{name}/session-summary.md", "by hand\n")
    close_session(root, session(root, name), "made", NOON)
    assert session(root, name).status == "complete"
    assert init.read_text().endswith(text.lstrip("\ufeff") or "# x\n")
    assert "\ufeff" not in init.read_text()[1:]
    assert Path(root, session(root, name).summary).read_text() == "by hand\n"


def test_what_says_nothing_or_has_no_room_is_refused(root: str) -> None:
    for title in ("", " \n "):
        with pytest.raises(QueryError):
            new_session(root, title, NOON)
    with pytest.raises(NotFound):
        new_round(root, "no session yet", NOON)
    put(root, "sessions/20251203-99-last/init.md", "# Last\n")
    with pytest.raises(SpaceError, match="99"):
        new_session(root, "one more", NOON)
    put(root, "sessions/20251203-99-last/rounds/99-last.md", "# Last\n")
    with pytest.raises(SpaceError, match="99"):
        new_round(root, "one more", NOON)
