"""Digests that are given again: for as long as nothing moved that they were made of."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kinen import Memory, answers, config
from sources.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Callable

ASKED, SAID = "('what of it', [])", "## Digest\n- end\nof it, with 日本語\n"
CITED = "docs/cited.md"


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a cited file, an observation, and an answer that rests on both."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    repo = Repository(tmp_path / "space", "--template=")
    repo.commit("begin", {CITED: "# Cited\n", "docs/other.md": "# Other\n"})
    monkeypatch.chdir(repo.root)
    observe()
    return repo.root


def observe() -> None:
    with Memory.open(os.getcwd()) as memory:
        memory.observe("something happened")
        memory.sync()


def keep(hours: float = 24, said: str = SAID, asked: str = ASKED) -> None:
    answers.keep(asked, 0, said, "a remark\nanother", [CITED, "01JD"], hours, time.time())


def commit(space: Path) -> None:
    Repository(space, "existing").commit("again", {"docs/new.md": "# New\n"})


def configure(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("distill:\n  budget: 99\n")


def home_config(_: Path) -> None:
    configure(Path(os.environ["HOME"], ".config/kinen/config.yml"))


def plan(_: Path) -> None:
    with Memory.open(os.getcwd()) as memory:
        memory.save_plan("Plan", "x", activate=True)


MOVED: dict[str, Callable[[Path], object]] = {
    "an observation": lambda _: observe(),
    "a commit": commit,
    "the cited file": lambda space: (space / CITED).write_text("# Cited otherwise\n"),
    "the cited file gone": lambda space: (space / CITED).unlink(),
    "a plan": plan,
    "the space's settings": lambda space: configure(space / ".kinen/config.yml"),
    "the user's settings": home_config,
    "another folder": lambda space: os.chdir(space / "docs"),
    "a variable": lambda _: os.environ.update(KINEN_DISTILL_BUDGET="99"),
}


def test_an_answer_is_given_again_as_it_was(space: Path) -> None:
    assert answers.look(ASKED) is None
    keep()
    assert answers.look(ASKED) == (0, SAID, "a remark\nanother")
    (space / "docs/other.md").write_text("# Nobody cited it\n")
    assert answers.look(ASKED) == (0, SAID, "a remark\nanother")
    assert answers.look("another question") is None


@pytest.mark.parametrize("moved", MOVED)
def test_an_answer_ends_with(space: Path, monkeypatch: pytest.MonkeyPatch, moved: str) -> None:
    monkeypatch.setenv("KINEN_DISTILL_BUDGET", "98")
    keep()
    assert answers.look(ASKED)
    MOVED[moved](space)
    assert answers.look(ASKED) is None


def test_settings_that_are_trusted_later_are_settings_that_changed(space: Path) -> None:
    configure(space / ".kinen/config.yml")
    keep()
    assert answers.look(ASKED)
    config.trust(Path(os.environ["KINEN_HOME"]), Path(config.space_file(space)))
    assert answers.look(ASKED) is None


def test_an_answer_has_its_time(space: Path) -> None:
    keep(hours=0)
    assert answers.look(ASKED) is None
    keep(hours=1e-7)
    time.sleep(0.01)
    assert answers.look(ASKED) is None


@pytest.mark.parametrize("moved", ["an observation", "the cited file", "a plan"])
def test_what_moves_while_an_answer_is_made_keeps_it_from_being_kept(
    space: Path, moved: str
) -> None:
    began = time.time()
    time.sleep(0.01)
    MOVED[moved](space)
    answers.keep(ASKED, 0, SAID, "", [CITED], 24, began)
    assert answers.look(ASKED) is None


@pytest.mark.parametrize("damage", ["", "\n", "answer 2\n", "\x00\xff", "half", "number"])
def test_a_damaged_answer_is_none(space: Path, damage: str) -> None:
    keep()
    (path,) = (Path(os.environ["KINEN_HOME"]) / "spaces").glob(f"*/{answers.FOLDER}/*")
    whole = path.read_bytes()
    lines = whole.split(b"\n")
    lines[3] = b"never"
    said = {"half": whole[: len(whole) // 4], "number": b"\n".join(lines)}
    path.write_bytes(said.get(damage, damage.encode("latin-1")))
    assert answers.look(ASKED) is None
    keep()
    assert answers.look(ASKED)


def test_the_oldest_answers_go_first(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST", 3)
    folder = Path(os.environ["KINEN_HOME"]) / "spaces"
    for n in range(6):
        keep(said=f"answer {n}", asked=f"question {n}")
        for path in folder.glob(f"*/{answers.FOLDER}/*"):
            stat = path.stat()
            os.utime(path, (stat.st_atime, stat.st_mtime - 10))
    assert [n for n in range(6) if answers.look(f"question {n}")] == [3, 4, 5]


def test_where_there_is_no_space_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    keep()
    assert answers.look(ASKED) is None
    assert not list(Path(os.environ["HOME"]).rglob(answers.FOLDER))
