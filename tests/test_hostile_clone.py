"""A fresh clone with settings of its own: what nobody trusted only makes kinen do less."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sources.repositories import Repository
from test_budgets import SHOWN, bomb, pdf
from usage import measured

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

LIMITS = (
    "index: {file_seconds: 3600, file_memory_mb: 65536, max_text_mb: 4096, max_file_mb: 4096}\n"
)
TALK = "hooks: {budget: 100000, inject_on_prompt: true, before_tools: true}\n"
PLAN = "---\nid: p\ntitle: P\nstatus: active\n---\n" + "".join(
    f"- [ ] step {n}: turn the handle of kettle {n} until it whistles\n" for n in range(900)
)


@pytest.fixture
def clone(tmp_path: Path, without_agents: None) -> Callable[[dict[str, str | bytes]], Path]:
    """Makes a repository with some files, and a clone of it."""

    def make(files: dict[str, str | bytes]) -> Path:
        origin = Repository(tmp_path / f"origin{len(list(tmp_path.iterdir()))}")
        origin.commit("all", files)
        root = tmp_path / f"{origin.root.name}-clone"
        origin.git("clone", "-q", str(origin.root), str(root))
        return root

    return make


def test_the_limits_of_a_clone_do_not_let_one_pdf_take_more_memory(
    clone: Callable[..., Path], kinen: Callable[..., Ran]
) -> None:
    root = clone({"bomb.pdf": pdf(bomb()), "whole.pdf": pdf(SHOWN), ".kinen/config.yml": LIMITS})
    done = measured(root, "index")
    assert done.code == 0, done.out
    assert done.megabytes < 400
    status = kinen("index", "status", cwd=root).out
    assert "skipped bomb.pdf: it needs more than 400 MB (index.file_memory_mb)" in status


def test_an_agent_is_told_no_more_because_a_clone_says_so(
    clone: Callable[..., Path], kinen: Callable[..., Ran]
) -> None:
    plan = {".memories/plans/p.md": PLAN, ".memories/.active-plan": "p"}
    told = []
    for config in ({}, {".kinen/config.yml": TALK}):
        root = clone(plan | config)
        kinen("trust", "--memory", cwd=root)
        event = {"session_id": "s", "cwd": str(root), "hook_event_name": "SessionStart"}
        ran = kinen("hook", "claude-code", stdin=json.dumps({**event, "source": "startup"}))
        told.append(json.loads(ran.out)["hookSpecificOutput"]["additionalContext"])
        event |= {"hook_event_name": "UserPromptSubmit", "prompt": "turn the handle of kettle 7"}
        assert kinen("index", cwd=root).code == 0
        assert kinen("hook", "claude-code", stdin=json.dumps(event)).out == ""
    plain, talkative = told
    assert "kettle" in plain
    assert len(talkative) <= len(plain)


def test_what_a_clone_may_not_set_is_shown_and_trust_takes_it(
    clone: Callable[..., Path], kinen: Callable[..., Ran]
) -> None:
    own = (
        "hooks: {budget: 100000}\nrecall: {budget: 300}\n"
        "git: {exclude: [vendor/**, '!node_modules/**']}\n"
    )
    root = clone({"a.md": "tea", ".kinen/config.yml": own})
    shown = kinen("config", "show", cwd=root).out.splitlines()
    assert "hooks.budget: 600" in shown
    assert f"recall.budget: 300  # {root}/.kinen/config.yml:2" in shown
    excluded = "vendor/**, !node_modules/**, node_modules/**, dist/**, *.lock"
    assert f"git.exclude: {excluded}  # {root}/.kinen/config.yml:3" in shown
    ignored, added = shown[-2:]
    assert ignored == "hooks.budget: 100000 in the space's file is ignored: `kinen trust` takes it"
    assert added.startswith("git.exclude: vendor/**, !node_modules/** in the space's file is only")
    assert added.endswith("`kinen trust` makes it the whole list")
    keys = "hooks.budget, git.exclude"
    status = kinen("status", cwd=root)
    assert f"ignored or limited until you run `kinen trust`: {keys}" in status.out
    assert f"ignored or limited: {keys}" in kinen("doctor", cwd=root).out
    assert kinen("config", "get", "hooks.budget", cwd=root, KINEN_HOOKS_BUDGET="700").out == "700\n"

    assert "hooks.budget is now 100000" in kinen("trust", cwd=root).out
    assert kinen("config", "get", "hooks.budget", cwd=root).out == "100000\n"
    assert kinen("config", "get", "git.exclude", cwd=root).out == "vendor/**, !node_modules/**\n"
    assert "kinen trust" not in kinen("status", cwd=root).out


def test_a_clone_is_compared_with_what_the_user_set(
    clone: Callable[..., Path], kinen: Callable[..., Ran]
) -> None:
    root = clone(
        {
            ".kinen/config.yml": "privacy: {mask_index: false}\nhooks: {budget: 900}\n"
            "index: {embedding_provider: onnx}\nconsolidation: {confidence_threshold: 0.8}\n"
        }
    )
    for key, value in (
        ("privacy.mask_index", "true"),
        ("hooks.budget", "1000"),
        ("consolidation.confidence_threshold", "0.9"),
    ):
        assert kinen("config", "set", "--user", key, value).code == 0
    assert kinen("config", "get", "privacy.mask_index", cwd=root).out == "true\n"
    assert kinen("config", "get", "hooks.budget", cwd=root).out == "900\n"
    assert kinen("config", "get", "consolidation.confidence_threshold", cwd=root).out == "0.9\n"


def test_kiste_and_the_settings_of_a_clone_leave_out_no_less_of_its_history(
    clone: Callable[..., Path], kinen: Callable[..., Ran]
) -> None:
    files = {"src/a.py": "1", "dist/b.js": "1", ".kiste.yaml": "exclude: ['!dist/**', x/**]\n"}
    root = clone(files)
    assert kinen("index", cwd=root).code == 0
    listed = kinen("files", "--json", cwd=root).out
    assert "src/a.py" in listed
    assert "dist/b.js" not in listed
    note = kinen("config", "show", cwd=root).err
    assert "exclude in .kiste.yaml:1 is only added to the default" in note
