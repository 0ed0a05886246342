"""`kinen export --html`: one page with the journal in it, which `kinen import` reads."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from selectolax.lexbor import LexborHTMLParser

import kinen.render
from kinen.errors import Conflict, StoreError
from kinen.memory import Memory
from kinen.transfer import bundle
from kinen.transfer.bundle import bundle_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCOPE = {"session": "s1", "agent": "claude"}
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
PLAN = "---\nid: labels\ntitle: Labels\nowner: ada\n---\n\n- [x] print\n- [ ] see [[tea]]\n"


@pytest.fixture
def memory(space: Path) -> Iterator[Memory]:
    with Memory.open(space) as memory:
        yield memory


def fill(memory: Memory) -> None:
    """Something of everything that a page shows."""
    capsule = memory.journal.open_capsule("fix the labels", scope=SCOPE)
    first = memory.observe("The labels print upside down.", kind="message", scope=SCOPE)
    memory.observe("$ make labels\nok", kind="command", scope=SCOPE, files=["src/labels.py"])
    memory.journal.close_capsule(capsule.ref, "**Outcome**: labels are upright")
    memory.journal.pin(first.ref, "the report")
    memory.worklog.checkpoint("We decided to rotate in the driver, because paper varies.")
    root = Path(memory.core.space.root)
    (root / "tea.md").write_text("# Tea\n")
    (root / ".memories" / "plans").mkdir(parents=True, exist_ok=True)
    (root / ".memories" / "plans" / "labels.md").write_text(PLAN)
    memory.sync()


def packed(path: Path) -> list[bytes]:
    """The lines of base64 of a page."""
    blocks = re.findall(
        rb'<script type="application/x-kinen-bundle">(.*?)</script>', path.read_bytes(), re.DOTALL
    )
    return [line for block in blocks for line in block.split()]


def unpacked(path: Path) -> bytes:
    return gzip.decompress(b"".join(base64.b64decode(line) for line in packed(path)))


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in unpacked(path).splitlines()]


def other_space(tmp_path: Path, name: str = "other") -> Path:
    root = tmp_path / name
    (root / ".kinen").mkdir(parents=True)
    return root


def test_a_page_comes_back_as_it_was_exported(tmp_path: Path, memory: Memory) -> None:
    fill(memory)
    file = tmp_path / "memory.html"
    counts = memory.transfer.export(file, form="html")
    assert (counts["checkpoints"], counts["plans"], counts["links"]) == (1, 1, 1)
    with Memory.open(other_space(tmp_path)) as other:
        loaded = other.transfer.load(file)
        expected = {name: count for name, count in counts.items() if count and name != "links"}
        assert {name: count for name, count in loaded.added.items() if count} == expected
        assert (loaded.masked, loaded.ignored, loaded.notes) == (0, {}, ())
        again = tmp_path / "again.html"
        other.transfer.export(again, form="html")
        assert (Path(other.core.space.root) / ".memories/plans/labels.md").read_text() == PLAN
        repeated = other.transfer.load(file)
        assert not any(repeated.added.values())
        assert repeated.skipped["plans"] == repeated.skipped["checkpoints"] == 1
    derived = ("version", "link", "digest")  # the name of the space differs; tea.md is not there
    before = [entry for entry in entries(file) if next(iter(entry)) not in derived]
    after = [entry for entry in entries(again) if next(iter(entry)) not in derived]
    assert after == before


def test_a_page_holds_the_lines_of_a_bundle(tmp_path: Path, memory: Memory) -> None:
    fill(memory)
    memory.transfer.export(tmp_path / "a.html", form="html")
    memory.transfer.export(tmp_path / "a.jsonl", form="jsonl")
    ours = ("version", "digest", "checkpoint", "plan", "link")
    lines = [entry for entry in entries(tmp_path / "a.html") if next(iter(entry)) not in ours]
    bundle = [json.loads(line) for line in (tmp_path / "a.jsonl").read_bytes().splitlines()]
    assert lines == [entry for entry in bundle if next(iter(entry)) not in ours]


def test_what_was_erased_is_in_no_byte_of_a_page(tmp_path: Path, memory: Memory) -> None:
    fill(memory)
    words = [
        "redacted-quince",
        "forgotten-quince",
        "hidden-quince",
        "pinned-quince",
        "whole-quince",
    ]
    gone = [memory.observe(f"the {word}", kind="message", scope=SCOPE) for word in words[:2]]
    entry = memory.observe("a plum", kind="message", scope=SCOPE)
    pin = memory.journal.pin(entry.ref, f"because of {words[3]}")
    whole = memory.journal.open_capsule(f"about {words[4]}", scope={"session": "s2"})
    part = memory.observe(words[4], kind="message", scope={"session": "s2"})
    checkpoint = memory.worklog.checkpoint(f"The {words[2]} and nothing else.")
    memory.journal.redact(gone[0].ref)
    memory.journal.forget(gone[1].ref)
    memory.journal.redact(pin.ref)
    memory.journal.redact(whole.ref)
    memory.journal.forget(checkpoint.ref)
    file = tmp_path / "a.html"
    memory.transfer.export(file, form="html")
    inner = unpacked(file)
    ids = [gone[0].id, gone[1].id, pin.id, part.id]
    names = [*words, *ids, checkpoint.path]
    for name in names:
        assert name.encode() not in file.read_bytes(), name
        assert name.encode() not in inner, name
    assert b"a plum" in inner


def test_secrets_of_plans_are_masked(tmp_path: Path, memory: Memory) -> None:
    fill(memory)
    plan = Path(memory.core.space.root) / ".memories/plans/labels.md"
    plan.write_text(PLAN + f"\nexport TOKEN={SECRET}\n")
    memory.transfer.export(tmp_path / "a.html", form="html")
    assert SECRET.encode() not in unpacked(tmp_path / "a.html")
    assert b"[masked:" in unpacked(tmp_path / "a.html")


def test_a_part_has_no_documents_of_others(tmp_path: Path, memory: Memory) -> None:
    fill(memory)
    memory.observe("elsewhere", kind="message", scope={"session": "s2"})
    counts = memory.transfer.export(tmp_path / "a.html", form="html", session="s2")
    assert {name: count for name, count in counts.items() if count} == {"observations": 1}
    counts = memory.transfer.export(tmp_path / "b.html", form="html", after=4_000_000_000_000)
    assert not any(counts.values())


def test_files_that_exist_stay(tmp_path: Path, memory: Memory) -> None:
    fill(memory)
    file = tmp_path / "a.html"
    memory.transfer.export(file, form="html")
    plan = Path(memory.core.space.root) / ".memories/plans/labels.md"
    plan.write_text(PLAN + "mine\n")
    loaded = memory.transfer.load(file, on_conflict="overwrite")
    assert loaded.skipped["plans"] == 1
    assert plan.read_text() == PLAN + "mine\n"
    with pytest.raises(Conflict):
        memory.transfer.load(file, on_conflict="error")


def test_a_dry_run_writes_no_file(tmp_path: Path, memory: Memory) -> None:
    fill(memory)
    memory.transfer.export(tmp_path / "a.html", form="html")
    root = other_space(tmp_path)
    with Memory.open(root) as other:
        loaded = other.transfer.load(tmp_path / "a.html", dry_run=True)
    assert (loaded.added["checkpoints"], loaded.added["plans"]) == (1, 1)
    assert not (root / ".memories").exists()


@pytest.mark.parametrize(
    "path",
    [
        "../plan.md",
        ".memories/plans/../../x.md",
        "/etc/passwd",
        ".memories/plans/x.sh",
        ".git/config",
        ".memories/plans/a/b.md",
        "",
        7,
    ],
)
def test_a_document_cannot_be_written_elsewhere(tmp_path: Path, memory: Memory, path: Any) -> None:
    header = {"version": "1.0", "exported_at": 1}
    lines = [header, {"plan": {"path": path, "source": PLAN}}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    with pytest.raises(StoreError, match="without a path"):
        memory.transfer.load(tmp_path / "a.jsonl")
    assert not (Path(memory.core.space.root) / ".memories").exists()


def cut(data: bytes) -> bytes:
    end = data.index(b"</script>", data.index(bundle.START))
    return data[: end - 40]


def changed(data: bytes) -> bytes:
    at = data.index(bundle.START) + len(bundle.START) + 200
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def emptied(data: bytes) -> bytes:
    return re.sub(rb"(?s)<script type.*?</script>\n", b"", data, count=1)


def invalid(data: bytes) -> bytes:
    at = data.index(bundle.START) + len(bundle.START) + 200
    return data[:at] + b"<b>" + data[at:]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut, "cut short|damaged"),
        (changed, "damaged"),
        (emptied, "cut short|no JSON object"),
        (invalid, "damaged"),
        (lambda data: b"<!doctype html><title>x</title>" + b"y" * 9000, "kinen did not export"),
        (lambda data: data.replace(b"kinen export 1", b"kinen export 9"), "newer kinen"),
        (lambda data: gzip.compress(data)[:-20], "cut short"),
    ],
)
def test_a_damaged_page_changes_nothing(
    tmp_path: Path, memory: Memory, damage: Callable[[bytes], bytes], message: str
) -> None:
    fill(memory)
    memory.transfer.export(tmp_path / "a.html", form="html")
    (tmp_path / "b.html").write_bytes(damage((tmp_path / "a.html").read_bytes()))
    with Memory.open(other_space(tmp_path)) as other:
        with pytest.raises(StoreError, match=message):
            other.transfer.load(tmp_path / "b.html")
        assert other.journal.entries("observations")[0] == []


def test_a_page_is_read_from_a_pipe_and_from_an_archive(
    tmp_path: Path, space: Path, kinen: Any
) -> None:
    kinen("log", "message", stdin="the kettle boils")
    assert kinen("export", "--html", str(tmp_path / "a.html")).code == 0
    assert kinen("export", "--html", str(tmp_path / "a.html.gz")).code == 0
    assert kinen("export", "--html").out.startswith("<!doctype html>")
    text = (tmp_path / "a.html").read_text()
    for number, words in enumerate([["-"], [str(tmp_path / "a.html.gz")]]):
        other = other_space(tmp_path, f"other{number}")
        run = kinen("import", *words, cwd=other, stdin=text)
        assert (run.code, run.out) == (0, "added 1 event\n"), run.err
    windows = tmp_path / "b.html"
    windows.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert kinen("import", str(windows), cwd=other_space(tmp_path, "windows")).code == 0
    wrong = tmp_path / "c.html"
    wrong.write_text("<!doctype html><p>Hello")
    run = kinen("import", str(wrong))
    assert run.code == 2
    assert run.err.count("\n") == 1
    assert "a page that kinen did not export" in run.err


def test_the_same_journal_gives_the_same_page(tmp_path: Path, space: Path, kinen: Any) -> None:
    kinen("log", "message", stdin="the kettle boils")
    for name in ("a", "b"):
        kinen("export", "--html", str(tmp_path / name), SOURCE_DATE_EPOCH="1")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_large_bundles_are_written_in_blocks(tmp_path: Path) -> None:
    import random

    out: list[str] = ['<!doctype html>\n<meta name="generator" content="kinen export 1">\n']
    writer = bundle.BundleWriter(out.append)
    text = random.Random(7).randbytes(2_000_000).hex()
    for start in range(0, len(text), 10_000):
        writer.write(text[start : start + 10_000])
    writer.close()
    file = tmp_path / "a.html"
    file.write_text("".join(out))
    assert unpacked(file).decode() == text
    assert max(map(len, file.read_bytes().splitlines())) < 100_000
    with file.open("rb") as opened, bundle_in(opened) as data:
        assert data.read().decode() == text
        data.seek(0)
        assert data.read(10).decode() == text[:10]


def test_the_policy_names_the_one_script_and_style(tmp_path: Path, memory: Memory) -> None:
    memory.transfer.export(tmp_path / "a.html", form="html")
    text = (tmp_path / "a.html").read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    assert policy
    rules = html.unescape(policy[1])
    assert "default-src 'none'" in rules
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in rules
    assert "unsafe" not in rules
    for tag in ("script", "style"):
        contents = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert len(contents) == 1
        digest = base64.b64encode(hashlib.sha256(contents[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in rules
    assert not re.search(r"<(?:link|img|iframe|base|object)\b|\bsrc=|@import|url\((?!#)", text)


def test_everything_can_be_read_without_scripts(tmp_path: Path, memory: Memory) -> None:
    fill(memory)
    memory.observe("a note by hand", kind="message")
    memory.transfer.export(tmp_path / "a.html", form="html")
    shown = LexborHTMLParser((tmp_path / "a.html").read_text())
    text = shown.css_first("main").text()
    for words in (
        "The labels print upside down.",
        "make labels",
        "labels are upright",
        "the report",
        "We decided to rotate in the driver, because paper varies.",
        "☐ see",
        "a note by hand",
        "kinen import",
    ):
        assert words in text, words
    titles = [node.text() for node in shown.css("#sessions .cards h2")]
    assert titles == ["Without a session", "fix the labels"]


def test_links_of_a_page_lead_to_something_in_it(tmp_path: Path, memory: Memory) -> None:
    fill(memory)
    memory.consolidation.consolidate()
    memory.transfer.export(tmp_path / "a.html", form="html")
    shown = LexborHTMLParser((tmp_path / "a.html").read_text())
    ids = [node.attributes["id"] for node in shown.css("[id]")]
    assert len(ids) == len(set(ids))
    links = [node.attributes["href"] or "" for node in shown.css("a")]
    assert len(links) > 10
    assert {link.partition("?")[0] for link in links} <= {f"#{name}" for name in ids}
    pinned = shown.css_first("#pins .cards p a").attributes["href"] or ""
    assert "upside down" in shown.css_first(f'[id="{pinned[1:]}"]').text()


def test_the_script_of_a_page_cannot_end_its_element() -> None:
    script = (Path(kinen.render.__file__).parent / "static" / "export.js").read_text()
    assert "</script" not in script
    assert "<!--" not in script
