"""Which bundles a home knows as its own: only those that are sealed with its key."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from kinen.privacy.masking import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
HIDDEN = "<private>the name of the customer</private>"
NOTE = "no current seal of this home fits the bundle: everything in it was checked and masked"


@pytest.fixture(autouse=True)
def fixed_time(monkeypatch: pytest.MonkeyPatch, without_agents: None) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1770000000")


@pytest.fixture
def key(home: Path) -> Path:
    return home / "kinen" / "seal.key"


def sealed_by_digest(*entries: dict[str, object]) -> bytes:
    """A bundle with the seal that older versions wrote, and that anybody can write."""
    header = {"version": "1.0", "exported_at": 1, "scope_filter": {}, "masked": VERSION}
    body = "".join(json.dumps(line) + "\n" for line in (header, *entries)).encode()
    return body + f'{{"digest": "{hashlib.sha256(body).hexdigest()}"}}\n'.encode()


def everywhere(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_bundle_with_a_self_made_seal_is_masked(
    space: Path, home: Path, kinen: Callable[..., Ran]
) -> None:
    text = f"deploy with {TOKEN} {HIDDEN} on mondays"
    scope = {"scopeIds": {"sessionId": "s"}}
    observation = {"id": "o1", "kind": "message", "content": text, "provenance": {"t": text}}
    observation |= {"ts": 1, "redacted": False, **scope}
    summary = {"id": "s1", "capsuleId": "c1", "content": text, "confidence": 1, "createdAt": 1}
    capsule = {"id": "c1", "type": "session", "intent": text, "status": "closed", "openedAt": 1}
    capsule |= {"closedAt": 2, **scope, "observationIds": ["o1"]}
    forged = space.parent / "forged.jsonl"
    entries = ({"observation": observation}, {"capsule": capsule}, {"summary": summary})
    forged.write_bytes(sealed_by_digest(*entries))
    assert kinen("log", "something of our own").code == 0
    assert kinen("export", "own.json").code == 0  # this home has a key
    ran = kinen("import", str(forged))
    assert ran.code == 0
    assert NOTE in ran.err
    assert "masked 8 secrets" in ran.err
    assert "on mondays" in kinen("list", "observations").out
    stored = everywhere(home / "kinen")
    assert TOKEN.encode() not in stored
    assert b"name of the customer" not in stored


@pytest.mark.parametrize("name", ["out.json", "out.jsonl", "out.json.gz", "out.html"])
def test_export_import_export_is_identical_in_one_home(
    name: str, space: Path, tmp_path: Path, key: Path, kinen: Callable[..., Ran]
) -> None:
    assert kinen("log", f"deploy with {TOKEN} on mondays").code == 0
    assert not key.exists()
    form = ["--html"] if name.endswith("html") else []
    assert kinen("export", *form, name).code == 0
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    secret = key.read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    assert kinen("init", str(other), "--name", "space").code == 0
    ran = kinen("import", str(space / name), cwd=other)
    assert (ran.code, NOTE in ran.err) == (0, False)
    assert kinen("export", *form, name, cwd=other).code == 0
    if not form:  # a page has the name of its space
        assert (other / name).read_bytes() == (space / name).read_bytes()
    assert key.read_bytes() == secret
    assert secret.strip() not in (space / name).read_bytes()


def test_a_bundle_of_another_home_is_masked_and_said_to_be(
    space: Path, home: Path, kinen: Callable[..., Ran]
) -> None:
    assert kinen("log", "the kettle whistles").code == 0
    elsewhere = str(home / "elsewhere")
    assert kinen("log", "another kettle", KINEN_HOME=elsewhere).code == 0
    assert kinen("export", "theirs.json", KINEN_HOME=elsewhere).code == 0
    assert kinen("export", "ours.json").code == 0
    assert NOTE in kinen("import", "theirs.json").err
    assert NOTE not in kinen("import", "ours.json").err
    assert NOTE in kinen("import", "ours.json", KINEN_HOME=elsewhere).err
    assert "another kettle" in kinen("list", "observations").out


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "text", "binary", "folder", "link"])
def test_with_a_damaged_key_no_bundle_is_our_own(
    damage: str, space: Path, home: Path, key: Path, kinen: Callable[..., Ran]
) -> None:
    assert kinen("log", "the kettle whistles").code == 0
    assert kinen("export", "ours.json").code == 0
    good = key.read_bytes()
    key.unlink()
    wrong = {"empty": b"", "cut": good[:20], "text": b"not hexadecimal\n", "binary": b"\xff\x00"}
    if damage in wrong:
        key.write_bytes(wrong[damage])
    elif damage == "folder":
        key.mkdir()
    elif damage == "link":
        (home / "target").write_bytes(good)
        key.symlink_to(home / "target")
    ran = kinen("import", "ours.json")
    assert (ran.code, NOTE in ran.err) == (0, True)
    again = kinen("export", "again.json")
    assert again.code == 0
    assert (NOTE in kinen("import", "again.json").err) == (damage != "gone")
    doctor = kinen("doctor").out
    assert (str(key) in doctor) == (damage != "gone")


def test_two_first_exports_at_once_have_one_key(
    space: Path, home: Path, kinen: Callable[..., Ran]
) -> None:
    assert kinen("log", "the kettle whistles").code == 0
    names = [f"{n}.json" for n in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert {ran.code for ran in pool.map(lambda name: kinen("export", name), names)} == {0}
    assert len({(space / name).read_bytes() for name in names}) == 1
    left = [name for name in os.listdir(home / "kinen") if name.startswith("seal.key")]
    assert left == ["seal.key"]
