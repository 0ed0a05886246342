"""One file costs a bounded time and memory: what is beyond that is left out, and said."""

from __future__ import annotations

import gc
import io
import json
import os
import random
import subprocess
import time
import zipfile
import zlib
from typing import TYPE_CHECKING

import pytest

from kinen import Memory
from kinen.sources.files.ignore import Patterns
from kinen.text import budget, terms
from kinen.text.parse import parse
from usage import measured

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

LONG = bool(os.environ.get("KINEN_STRESS"))
SECONDS, MEGABYTES = 10, 400
"""What the full sizes may take, on a machine that does nothing else."""
TEXT_MB = 6 if LONG else 1
"""The limit of text: the default, or a small one that is reached sooner."""
TEXT_LIMIT = f"characters (limit {TEXT_MB << 20:,})"


@pytest.fixture(autouse=True)
def full_text_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")


@pytest.fixture
def text_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINEN_INDEX_MAX_TEXT_MB", str(TEXT_MB))


def table(rows: int) -> str:
    head = "|" + "ab|" * 200 + "\n|" + "--|" * 200 + "\n"
    return "needle\n\n" + head + ("|" + "x|" * 200 + "\n") * rows


def epub(megabytes: int) -> bytes:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 9))) for _ in range(5000)]
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as out:
        names = [f"c{n}" for n in range(megabytes)]
        items = "".join(f'<item id="{name}" href="{name}.xhtml"/>' for name in names)
        spine = "".join(f'<itemref idref="{name}"/>' for name in names)
        out.writestr(
            "META-INF/container.xml",
            '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>',
        )
        out.writestr(
            "b.opf", f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>"
        )
        for name in names:
            paragraph = "<p>" + " ".join(rng.choices(words, k=80)) + "</p>"
            text = "<h1>needle</h1>" + paragraph * (1_000_000 // len(paragraph))
            out.writestr(f"{name}.xhtml", f"<html><body>{text}</body></html>")
    return book.getvalue()


def pdf(*pages: bytes) -> bytes:
    numbers = range(3, 3 + 2 * len(pages), 2)
    kids = b" ".join(b"%d 0 R" % number for number in numbers)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[" + kids + b"]/Count %d>>" % len(pages),
    ]
    font = 3 + 2 * len(pages)
    for number, page in zip(numbers, pages, strict=True):
        packed = zlib.compress(page, 9)
        about = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents %d 0 R" % (number + 1)
        objects.append(about + b"/Resources<</Font<</F1 %d 0 R>>>>>>" % font)
        head = b"<</Length %d/Filter/FlateDecode>>stream\n" % len(packed)
        objects.append(head + packed + b"\nendstream")
    objects.append(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    out = b"%PDF-1.4\n"
    places = []
    for number, item in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + item + b"\nendobj\n"
    count = len(objects) + 1
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    table = b"xref\n0 %d\n0000000000 65535 f \n" % count + rows
    trailer = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (count, len(out))
    return out + table + trailer


SHOWN = b"BT /F1 12 Tf 10 10 Td (needle) Tj ET\n"


def bomb() -> bytes:
    return SHOWN + b" " * 260_000_000


SHAPES: dict[str, tuple[str, Callable[[], str | bytes], str]] = {
    "table": ("t.md", lambda: table(5000 if LONG else 1100), "table cells (limit 200,000)"),
    "line": (
        "t.md",
        lambda: "needle " + "word " * ((20 << 20) // 5 if LONG else 220_000),
        TEXT_LIMIT,
    ),
    "headings": (
        "t.md",
        lambda: "needle\n\n" + "# h\n" * (200_000 if LONG else 21_000),
        "headings (limit 20,000)",
    ),
    "lists": (
        "t.md",
        lambda: "needle\n\n" + "- a\n" * (500_000 if LONG else 61_000),
        "blocks (limit 60,000)",
    ),
    "wiki links": (
        "t.md",
        lambda: "needle " + "[[a]] " * (500_000 if LONG else 51_000),
        "links and tags (limit 50,000)",
    ),
    "unclosed links": (
        "t.md",
        lambda: "needle " + "[[a|" * (500_000 if LONG else 51_000),
        "links and tags (limit 50,000)",
    ),
    "short lines": (
        "t.md",
        lambda: "needle\n" + "a\n" * (2_000_000 if LONG else 201_000),
        "lines (limit 200,000)",
    ),
    "text": (
        "t.txt",
        lambda: "needle\n" + "some words on a line\n" * (2_900_000 if LONG else 55_000),
        TEXT_LIMIT,
    ),
    "json": (
        "resources/t.json",
        lambda: "[" * (30_000_000 if LONG else 1_100_000),
        TEXT_LIMIT,
    ),
    "html": (
        "t.html",
        lambda: "<p>needle</p>" + "<p>some words</p>" * (3_000_000 if LONG else 101_000),
        "tags (limit 200,000)",
    ),
    "html table": (
        "t.html",
        lambda: "<p>needle</p><table>" + ("<tr>" + "<td>x" * 200) * (5000 if LONG else 1100),
        "tags (limit 200,000)",
    ),
    "epub": ("t.epub", lambda: epub(76 if LONG else 3), "chapters were read"),
}


class Measured:
    """A command that was run, with what it took."""

    def __init__(self, space: Path, *words: str) -> None:
        usage = measured(space, *words)
        self.code = usage.code
        self.out = usage.out
        self.seconds = usage.cpu
        self.megabytes = usage.megabytes


def put(space: Path, name: str, content: str | bytes) -> None:
    path = space / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.usefixtures("text_limit")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_huge_file_is_indexed_in_part_and_the_reason_is_said(
    space: Path, kinen: Callable[..., Ran], shape: str
) -> None:
    name, make, reason = SHAPES[shape]
    put(space, name, make())
    put(space, "zebra.md", "the stripes of a zebra")
    done = Measured(space, "index")
    print(f"{shape}: {done.seconds:.1f} s of CPU, {done.megabytes:.0f} MB")
    assert done.code == 0, done.out
    assert done.megabytes < MEGABYTES
    if LONG:
        assert done.seconds < SECONDS
    status = kinen("index", "status")
    assert status.code == 0
    assert f"cut {name}: only the first" in status.out
    assert reason in status.out
    data = json.loads(kinen("search", "zebra", "--json").out)
    assert data["results"]
    if shape != "json":
        assert name in kinen("search", "needle").out


def test_a_file_that_was_cut_is_read_in_full_once_it_is_small(
    space: Path, kinen: Callable[..., Ran]
) -> None:
    put(space, "t.md", "# h\n" * 21_000)
    kinen("index")
    assert "cut t.md" in kinen("index", "status").out
    put(space, "t.md", "# h\n\nsmall now\n")
    kinen("index")
    status = kinen("index", "status")
    assert "t.md" not in status.out
    assert "t.md" in kinen("search", "small").out


def test_the_same_part_is_indexed_whether_it_grew_or_was_there_at_once(
    space: Path, tmp_path: Path
) -> None:
    from properties.test_rebuild import contents

    put(space, "t.md", "start\n\n" + "# h\n" * 19_990)
    with Memory.open(space, home=tmp_path / "one") as memory:
        memory.sync(embed=False)
        put(space, "t.md", "start\n\n" + "# h\n" * 25_000)
        memory.sync(embed=False)
        grown = contents(memory)
    with Memory.open(space, home=tmp_path / "two") as memory:
        memory.sync(embed=False)
        assert contents(memory) == grown


def test_a_limit_of_text_is_a_setting(space: Path, kinen: Callable[..., Ran]) -> None:
    put(space, "t.txt", "some words on a line\n" * 100_000)
    kinen("index", KINEN_INDEX_MAX_TEXT_MB="1")
    assert "limit 1,048,576" in kinen("index", "status", KINEN_INDEX_MAX_TEXT_MB="1").out
    kinen("index")
    assert "t.txt" not in kinen("index", "status").out


def test_a_pdf_that_unpacks_to_a_quarter_of_a_gigabyte_ends_within_its_memory(
    space: Path, kinen: Callable[..., Ran]
) -> None:
    put(space, "bomb.pdf", pdf(bomb()))
    put(space, "second.pdf", pdf(SHOWN, bomb(), SHOWN))
    put(space, "whole.pdf", pdf(SHOWN, SHOWN))
    done = Measured(space, "index")
    print(f"pdf: {done.seconds:.1f} s of CPU, {done.megabytes:.0f} MB")
    assert done.code == 0, done.out
    assert done.megabytes < MEGABYTES
    status = kinen("index", "status").out
    assert "skipped bomb.pdf: it needs more than 400 MB (index.file_memory_mb)" in status
    assert "cut second.pdf: only the first 1 pages were read" in status
    assert "whole.pdf" not in status
    out = kinen("search", "needle").out
    assert "second.pdf" in out
    assert "whole.pdf" in out


@pytest.mark.quick
def test_a_message_that_was_cut_is_shown_until_its_commit_is_gone(
    space: Path, kinen: Callable[..., Ran]
) -> None:
    def git(*words: str, text: str = "") -> str:
        run = ["git", "-C", str(space), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(run, input=text, capture_output=True, text=True, check=True).stdout

    def cuts() -> dict[str, str]:
        assert kinen("index").code == 0
        rows = json.loads(kinen("index", "status", "--json").out)["skipped"]
        return {row["path"]: row["reason"] for row in rows if row["partly"]}

    git("init", "-q")
    (space / "a.md").write_text("1\n")
    git("add", "a.md")
    git("commit", "-q", "-F", "-", text="long\n\n" + "word " * 50_000)
    long = git("rev-parse", "HEAD").strip()
    git(
        "commit",
        "-q",
        "--allow-empty",
        "-F",
        "-",
        text="tags\n\nTags: " + ", ".join(f"t{n}" for n in range(1_500)),
    )
    tagged = git("rev-parse", "HEAD").strip()
    assert cuts() == {
        long: "only the first 200,000 of 250,005 characters of its message were read",
        tagged: "only the first 1,000 of 1,500 tags of its message were read",
    }
    assert f"cut {long}: only the first" in kinen("index", "status").out
    git("commit", "-q", "--allow-empty", "-m", "one more")
    assert set(cuts()) == {long, tagged}
    git("reset", "-q", "--hard", long)
    assert set(cuts()) == {long}


@pytest.mark.quick
def test_a_pdf_that_takes_too_long_is_given_up(space: Path, kinen: Callable[..., Ran]) -> None:
    slow = b"BT /F1 12 Tf 10 10 Td\n" + b"(needle) Tj 0 2 Td\n" * 3_000_000 + b"ET"
    put(space, "slow.pdf", pdf(SHOWN, slow))
    settings = {"KINEN_INDEX_FILE_SECONDS": "1", "KINEN_INDEX_FILE_MEMORY_MB": "4000"}
    assert kinen("index", **settings).code == 0
    assert "slow.pdf" in kinen("index", "status", **settings).out
    assert "more than 1 s (index.file_seconds)" in kinen("index", "status", **settings).out


def cpu(call: Callable[[], object]) -> float:
    """Seconds of CPU, without those for garbage of what ran before."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        call()
        return time.process_time() - start
    finally:
        gc.enable()


def assert_linear(small: Callable[[], object], large: Callable[[], object]) -> None:
    """The larger, of twice the size, may take three times as long; four times is quadratic.

    The least of up to 20 runs counts, taken in turns: other processes disturb some, not all.
    """
    least_small = least_large = float("inf")
    for _ in range(20):
        least_small = min(least_small, cpu(small))
        least_large = min(least_large, cpu(large))
        if least_large <= 3 * least_small + 0.05:
            return
    pytest.fail(f"{least_small:.3f} s for the smaller, {least_large:.3f} s for the larger")


@pytest.mark.parametrize(
    "piece", ["[[a|", "[a](b) ", "# h\n", "- a\n", "> a\n\n", "|a|b\n", "`", "<a ", "![", "*a_ "]
)
def test_the_time_for_markdown_grows_no_faster_than_its_size(piece: str) -> None:
    size = 80_000 // len(piece)
    assert_linear(
        lambda: parse("[x](y) " + piece * size),
        lambda: parse("[x](y) " + piece * size * 2),
    )


@pytest.mark.parametrize("rule", ["x{}*y?z", "a/**/x{}*y", "*{}?y", "n{}*.md"])
def test_a_hundred_thousand_ignore_rules_cost_little_for_each_file(rule: str) -> None:
    def judge(count: int) -> Callable[[], None]:
        rules = Patterns("\n".join(rule.format(n) for n in range(count)).encode())
        rules.verdict("d/first.md", "first.md", False)

        def run() -> None:
            for n in range(500):
                rules.verdict(f"d/n{n}.md", f"n{n}.md", False)

        return run

    assert_linear(judge(1_000), judge(100_000))


@pytest.mark.quick
def test_a_long_commit_message_is_cut(space: Path, kinen: Callable[..., Ran]) -> None:
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    words = "word " * (10_000_000 if LONG else 400_000)
    tags = ", ".join(f"t{n}" for n in range(140_000 if LONG else 3_000))
    subprocess.run([*git, "init", "-q"], cwd=space, check=True)
    for n, message in enumerate((f"needle\n\n{words}", f"tagged\n\ntags: {tags}")):
        (space / f"a{n}.py").write_text("x")
        subprocess.run([*git, "add", "-A"], cwd=space, check=True)
        command = [*git, "commit", "-q", "-F", "-"]
        subprocess.run(command, cwd=space, check=True, input=message.encode())
    done = Measured(space, "index")
    print(f"messages: {done.seconds:.1f} s of CPU, {done.megabytes:.0f} MB")
    assert done.code == 0, done.out
    assert done.megabytes < MEGABYTES
    assert "needle" in kinen("search", "needle", "--type", "commits").out
    chunks = int(kinen("index", "status").out.split(" documents, ")[1].split()[0])
    assert chunks < 1_000


@pytest.mark.quick
@pytest.mark.parametrize(
    "words",
    [
        ("search", "word " * 20_000),
        ("search", "x", "--limit", "1000000"),
        ("search", "x", "--context", "1000000"),
        ("recall", "word " * 20_000),
        ("search", "x", *(f"--tag=t{n}" for n in range(10_000))),
    ],
    ids=["words", "limit", "context", "recall", "tags"],
)
def test_a_question_that_is_too_large_is_refused(
    kinen: Callable[..., Ran], words: tuple[str, ...]
) -> None:
    done = kinen(*words)
    assert done.code == 2
    assert "at most" in done.err or "range" in done.err
    assert "bug" not in done.err


def test_the_first_words_of_a_megabyte_are_found_without_reading_all_of_it() -> None:
    text = " ".join(f"word{n}" for n in range(100_000))
    assert terms(text, 16) == terms(text[:1_000], 16)
    short = cpu(lambda: [terms(text[:1_000], 16) for _ in range(200)])
    long = cpu(lambda: [terms(text, 16) for _ in range(200)])
    assert long <= 2.5 * short + 0.05


def commit_of(space: Path, count: int) -> str:
    """Makes a repository whose only commit adds many files, without writing them."""
    files = "".join(f"M 100644 :1 src/{n % 997}/file{n}.py\n" for n in range(count))
    stream = (
        "blob\nmark :1\ndata 5\nneed\n\n"
        "commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 9\nall of it\n" + files
    )
    git = ["git", "-C", str(space)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "fast-import", "--quiet"], input=stream.encode(), check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return head.stdout.strip()


@pytest.mark.quick
def test_a_commit_of_too_many_files_is_cut(
    space: Path, kinen: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "COMMIT_FILES", 30)
    monkeypatch.setattr(budget, "HEAD_FILES", 20)
    head = commit_of(space, 100)
    with Memory.open(space) as memory:
        memory.sync()
        assert memory.git.files()[1] == 50
        reasons = dict(memory.index.skipped())
        assert memory.index.partly_read() == {head, "HEAD"}
    assert reasons == {
        head: "only the first 30 of the 100 files that it touches were read",
        "HEAD": "50 of its files were left out: no commit that was read touches them (limit 20)",
    }
    status = kinen("index", "status").out
    assert f"cut {head}: only the first 30 of the 100 files" in status
    assert "cut HEAD: 50 of its files were left out" in status


@pytest.mark.skipif(not LONG, reason="KINEN_STRESS=1 makes a commit of 500,000 files")
def test_a_commit_of_half_a_million_files_is_indexed_within_bounds(
    space: Path, kinen: Callable[..., Ran]
) -> None:
    head = commit_of(space, 500_000)
    usage = measured(space, "index", "--no-embed")
    assert usage.code == 0
    assert usage.cpu <= 2 * SECONDS  # git alone has to print a million paths
    assert usage.megabytes <= MEGABYTES
    status = kinen("index", "status").out
    assert f"cut {head}: only the first 50,000 of the 500,000 files" in status
    assert "cut HEAD: 400,000 of its files were left out" in status
