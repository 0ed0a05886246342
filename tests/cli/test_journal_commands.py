"""The journal's commands as a person or a script uses them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from pathlib import Path

import pytest

SECRET = "gh" + "p_" + "a1B2c3D4e5F6" * 3


def ref(ran) -> str:
    assert ran.code == 0, ran.err
    return ran.out.split()[0]


def files_with(folder: Path, text: str) -> list[str]:
    data = text.lower().encode()
    return [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and data in path.read_bytes().lower()
    ]


def test_what_is_logged_is_listed_shown_and_found_at_once(kinen) -> None:
    item = ref(kinen("log", "the limiter counts per key, not per user", "--session", "s1"))
    two = ref(kinen("log", "-", "--kind", "command", stdin="$ make\nok\n"))
    listed = kinen("list", "observations")
    assert [line.split()[0] for line in listed.out.splitlines()] == [two, item]
    assert "$ make ok" in listed.out
    result = kinen("search", "--fulltext", "limiter")
    assert result.out.startswith("the limiter counts per key, not per user\n")
    assert f"  {item} · session s1 · " in result.out
    assert "counts per key" in kinen("show", item).out
    result = kinen("search", "how are requests counted", "--type", "observations", "--json")
    assert json.loads(result.out)["results"][0]["source"]["ref"] == item


def test_observations_are_filtered_by_kind_session_agent_and_time(kinen) -> None:
    kinen(
        "log", "deploy failed on node one", "--kind", "error", "--session", "s1", "--agent", "codex"
    )
    kinen("log", "deploy went well on node two", "--kind", "command", "--session", "s2")
    ask = ("search", "--fulltext", "deploy")
    assert "node one" in kinen(*ask, "--kind", "error").out
    assert "node two" not in kinen(*ask, "--kind", "error").out
    assert "node two" in kinen(*ask, "--session", "s2").out
    assert "node one" not in kinen(*ask, "--session", "s2").out
    assert "node two" not in kinen(*ask, "--agent", "codex").out
    assert kinen(*ask, "--until", "1d").code == 1
    assert kinen(*ask, "--type", "notes").code == 1
    assert len(kinen("list", "observations", "--kind", "error").out.splitlines()) == 1
    assert kinen("list", "observations", "--after", "2099-01-01").code == 1
    assert kinen(*ask, "--kind", "nonsense").code == 2


def test_a_capsule_can_be_part_of_another(kinen) -> None:
    whole = ref(kinen("capsule", "open", "--intent", "release", "--session", "s1"))
    part = ref(kinen("capsule", "open", "--intent", "build", "--session", "s2", "--parent", whole))
    assert "build" in kinen("capsule", "show", whole).out
    assert f"part of {whole}" in kinen("capsule", "show", part).out
    data = json.loads(kinen("capsule", "show", whole, "--json").out)
    assert [capsule["ref"] for capsule in data["parts"]] == [part]
    bundle = json.loads(kinen("export").out)
    parents = [capsule.get("parentId", "") for capsule in bundle["capsules"]]
    assert parents == ["", whole.removeprefix("capsule:")]
    assert kinen("capsule", "open", "--intent", "x", "--parent", "capsule:nothing").code == 2


def test_pins_come_first_in_a_recall_and_go_when_they_are_taken_away(kinen) -> None:
    item = ref(kinen("log", "never deploy on Fridays"))
    kinen("log", "the deploy script needs a token")
    result = kinen("pin", item, "--note", "agreed with Ada", "--ttl", "7d")
    assert result.code == 0
    out = kinen("recall", "deploy script", "--budget", "300").out
    assert out.startswith("## Pinned\n")
    assert "agreed with Ada" in out
    assert out.index("never deploy") < out.index("## Related") < out.index("needs a token")
    assert kinen("list", "pins").out.startswith("pin:")
    assert kinen("unpin", item).out.strip() == item
    assert "## Pinned" not in kinen("recall", "deploy script").out
    assert kinen("unpin", item).code == 2
    assert kinen("pin", item, "--ttl", "soon").code == 2


def test_a_recall_keeps_its_budget_and_says_what_it_left_out(kinen) -> None:
    for n in range(12):
        kinen("log", f"the import of part {n} took a while: " + "row after row " * 20)
    data = json.loads(kinen("recall", "import", "--budget", "250", "--json").out)
    assert data["tokens"] <= data["budget"] == 250
    assert not data["over_budget"]
    assert data["dropped"]
    assert {item["reason"] for item in data["dropped"]} == {"over budget"}
    votes = data["items"][0]["votes"]
    assert "recency" in [vote["retriever"] for vote in votes]
    assert abs(sum(vote["share"] for vote in votes) - data["items"][0]["score"]) < 1e-4
    assert kinen("recall", "import").out == kinen("recall", "import").out
    assert kinen("recall", "import", "--budget", "-5").code == 2
    assert kinen("recall").out.startswith("## Latest")
    assert kinen("recall", "import").out.startswith("## Related")


def test_secrets_and_private_text_never_reach_the_disk(kinen, home: Path) -> None:
    ran = kinen("log", f"export TOKEN={SECRET} <private>the merger</private>", "--json")
    data = json.loads(ran.out)
    assert data["content"] == "export TOKEN=[masked:github_token] [private]"
    assert data["masked"] == {"count": 2, "classes": ["github_token", "private"]}
    kinen("capsule", "open", "--intent", f"rotate {SECRET}", "--session", "s1")
    kinen("log", "-", "--session", "s1", stdin=f"found {SECRET}")
    kinen("pin", data["ref"], "--note", f"was {SECRET}")
    kinen("recall", "rotate")
    assert not files_with(home, SECRET)
    assert not files_with(home, "the merger")


def test_excluded_paths_are_never_captured(kinen, write, home: Path) -> None:
    write(".kinen/config.yml", "privacy:\n  exclude: ['vault/**', '*.sql']\n")
    for path in (".env", "config/.env.local", "vault/a/b.txt", "dump.sql", "deploy/id_rsa"):
        for more in ((), ("--json",)):
            ran = kinen(
                "log", f"edited {path}: marigold", "--kind", "file_diff", "--file", path, *more
            )
            assert ran.code == 2
            assert "never captured" in ran.err
    assert not files_with(home, "marigold")
    assert kinen("log", "edited it", "--file", "src/env.py").code == 0


def test_redacted_and_forgotten_text_is_nowhere(kinen, home: Path) -> None:
    ref(kinen("capsule", "open", "--intent", "call the heliotrope customer", "--session", "s1"))
    first = ref(kinen("log", "call the heliotrope customer about xylophones", "--session", "s1"))
    second = ref(kinen("log", "the quokkanaut contract ends in May", "--session", "s1"))
    kinen("index")
    kinen(
        "capsule",
        "close",
        json.loads(kinen("list", "capsules", "--json").out)["capsules"][0]["ref"],
    )
    kinen("pin", second)
    assert kinen("recall", "heliotrope quokkanaut").code == 0
    assert kinen("redact", first).out.strip() == f"redacted {first}"
    assert kinen("forget", second).out.strip() == f"forgotten {second}"
    for word in ("heliotrope", "xylophone", "quokkanaut"):
        assert not files_with(home, word), word
    assert "[redacted]" in kinen("list", "observations").out
    assert second not in kinen("list", "observations").out
    assert "[forgotten]" in kinen("list", "observations", "--audit").out
    assert kinen("search", "--fulltext", "quokkanaut").code == 1
    assert kinen("show", first).out.startswith("[redacted]\n")
    assert kinen("show", second).code == 2


def test_a_file_is_hidden_and_shown_again_but_not_emptied(kinen, write, space: Path) -> None:
    write("plan.md", "# Plan\n\nBuy the wombatworks.\n")
    kinen("index")
    gone = kinen("forget", "plan.md")
    assert gone.code == 0
    assert gone.out == "hidden note:plan.md\n"
    assert "are only hidden" in gone.err
    assert kinen("search", "--fulltext", "wombatworks").code == 1
    assert (space / "plan.md").exists()
    kinen("index", "--rebuild")
    assert kinen("search", "--fulltext", "wombatworks").code == 1
    assert kinen("forget", "plan.md", "--undo").code == 0
    assert kinen("search", "--fulltext", "wombatworks").code == 0
    assert kinen("forget", "plan.md", "--undo").code == 2


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_an_export_imported_into_an_empty_home_exports_the_same_but_for_its_seal(
    kinen, tmp_path: Path, form: str
) -> None:
    ref(kinen("capsule", "open", "--intent", "ünïcode", "--session", "s1"))
    item = ref(kinen("log", "日本語 and \u2028 and \\n", "--session", "s1", "--file", "a b.md"))
    kinen("log", "second", "--kind", "error", "--session", "s1", "--agent", "x")
    kinen("pin", item, "--note", "n", "--ttl", "7d")
    kinen("capsule", "open", "--intent", "next", "--session", "s1")
    kinen("redact", item)
    fixed = {"SOURCE_DATE_EPOCH": "1700000000"}
    path, there = str(tmp_path / "a"), {"KINEN_HOME": str(tmp_path / "elsewhere")}
    assert kinen("export", path, "--format", form, **fixed).code == 0
    ran = kinen("import", path, **there)
    assert ran.code == 0, ran.err
    assert "2 events" in ran.out
    again = kinen("export", "--format", form, **fixed, **there)
    seal = re.compile('"digest": "[0-9a-f]{64}"')  # made with a key of the home
    assert seal.subn("", again.out) == seal.subn("", Path(path).read_text(encoding="utf-8"))
    piped = kinen("import", "-", stdin=again.out, **there)
    assert "skipped 2 events" in piped.out
    result = kinen("search", "--fulltext", "second", **there)
    assert result.code == 0


def test_an_import_is_whole_or_nothing_and_says_what_it_would_do(kinen, tmp_path: Path) -> None:
    ref(kinen("log", "kept before"))
    bundle = tmp_path / "b.json"
    kinen("export", str(bundle))
    other = {"KINEN_HOME": str(tmp_path / "other")}
    data = json.loads(kinen("import", str(bundle), "--dry-run", "--json", **other).out)
    assert data["added"]["observations"] == 1
    assert kinen("list", "observations", **other).code == 1
    ran = kinen("import", str(bundle), "--on-conflict", "error")
    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 1
    assert "replaced 1 event" in kinen("import", str(bundle), "--on-conflict", "overwrite").out
    text = bundle.read_text()
    bundle.write_text(text[: len(text) // 2])
    assert kinen("import", str(bundle), **other).code == 2
    bundle.write_text(
        text.replace('"kind": "message"', '"kind": 7').replace('"kind":"message"', '"kind":7')
    )
    wrong = kinen("import", str(bundle), **other)
    assert wrong.code == 2
    assert kinen("list", "observations", **other).code == 1
    assert kinen("import", str(tmp_path / "missing.json")).code == 2
    bundle.write_bytes(b"\x00\x01 no json")
    assert kinen("import", str(bundle)).code == 2


def test_a_journal_of_a_newer_kinen_is_refused_and_not_touched(kinen, home: Path) -> None:
    ref(kinen("log", "before"))
    (path,) = (home / "kinen").rglob("journal.db")
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    before = path.read_bytes()
    for words in (("list", "observations"), ("log", "x", "--json"), ("export",)):
        ran = kinen(*words)
        assert ran.code == 2, words
        assert "update kinen" in ran.err
    waits = kinen("log", "kept for later")
    assert waits.code == 0
    assert "spool" in waits.err
    assert path.read_bytes() == before
    assert len([name for name in os.listdir(home / "kinen" / "spool") if name != ".reserve"]) == 1


def test_doctor_tells_of_the_journal_and_of_what_waits(kinen, home: Path) -> None:
    ref(kinen("log", "one"))
    kinen("index")
    assert "1 event in" in kinen("doctor").out
    (data,) = (home / "kinen" / "spaces").iterdir()
    spool = home / "kinen" / "spool" / data.name
    spool.mkdir()
    (spool / ("0" * 26)).write_text("torn")
    ran = kinen("doctor")
    assert ran.code == 1
    assert "cannot be read" in ran.out
    assert (spool / ("0" * 26 + ".bad")).read_text() == "torn"
