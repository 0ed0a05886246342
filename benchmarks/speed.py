"""How fast kinen is, as ratios within one run against the plain tool or the raw library call.

    python benchmarks/speed.py [--rows help cold warm reindex index] [--documents 5000]

Every row states its baseline and its limit. Times are the median of several runs on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from kinen import Memory, Query
from record import save

WORDS = Path(__file__).with_name("words.txt").read_text().split()
QUESTIONS = (
    "connection pool exhausted",
    "why did the scheduler drop jobs",
    "rate limiter token bucket",
)


class Row(NamedTuple):
    name: str
    ours: float
    baseline: float
    limit: float
    against: str

    @property
    def ratio(self) -> float:
        return self.ours / self.baseline


def prose(rng: random.Random, words: int) -> str:
    """Text with the word frequencies of language: a few words everywhere, most of them rare."""
    picked = rng.choices(WORDS, weights=FREQUENCIES, k=words)
    return " ".join(picked).capitalize() + "."


FREQUENCIES = [1 / (rank + 3) for rank in range(len(WORDS))]


def build_space(root: Path, documents: int, paragraphs: int, words: int) -> Path:
    """A space of markdown notes with headings, links and paragraphs."""
    rng = random.Random(7)
    space = root / "space"
    (space / ".kinen").mkdir(parents=True)
    for n in range(documents):
        page = [f"# {prose(rng, 4)[:-1]}", ""]
        for at in range(paragraphs):
            if at % 4 == 3:
                page += [f"## {prose(rng, 3)[:-1]}", ""]
            page += [prose(rng, rng.randint(words // 2, words * 3 // 2)), ""]
        page.append(f"See [[note-{rng.randrange(documents)}]].")
        folder = space / f"area-{n % 40}"
        folder.mkdir(exist_ok=True)
        (folder / f"note-{n}.md").write_text("\n".join(page))
    return space


def median(call: Any, times: int) -> float:
    used = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        used.append(time.perf_counter() - began)
    return statistics.median(used)


def process(words: list[str], **options: Any) -> None:
    subprocess.run(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, **options
    )


KINEN = str(Path(sys.executable).with_name("kinen"))
# Installed programs run from compiled files; a shell that forbids those measures something else.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def help_row(_: Path, __: int) -> list[Row]:
    ours = median(lambda: process([KINEN, "--help"]), 31)
    bare = median(lambda: process([sys.executable, "-c", "pass"]), 31)
    return [Row("kinen --help", ours, bare, 3.0, "a bare interpreter start")]


def chunked_space(root: Path) -> tuple[Path, Path]:
    """100k chunks with vectors: the text is indexed for real, the vectors are random."""
    space, home = build_space(root, 12_500, 8, 90), root / "home"
    with Memory.open(space, home=home) as memory:
        memory.sync(embed=False)
        random_vectors(memory)
    return space, home


def random_vectors(memory: Memory) -> None:
    """Random unit vectors for all chunks of an index."""
    import numpy as np

    embedder, cache = memory.core.embedder, memory.core.cache
    assert embedder is not None
    digests = sorted(set(memory.core.reader.digests()))
    rng = np.random.default_rng(7)
    for start in range(0, len(digests), 20_000):
        part = digests[start : start + 20_000]
        vectors = rng.standard_normal((len(part), embedder.dimensions), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        cache.put(embedder.fingerprint, part, vectors)


def search_rows(root: Path, _: int) -> list[Row]:
    space, home = chunked_space(root)
    env = {**os.environ, "KINEN_HOME": str(home), "KINEN_DAEMON_AUTO_START": "false"}
    rows = []
    with Memory.open(space, home=home) as memory:
        chunks = memory.index.status().counts.chunks
        rows.append(_warm(memory, chunks))
    cold = [
        median(
            lambda q=question: process([KINEN, "search", "--fulltext", q], cwd=space, env=env), 11
        )
        for question in QUESTIONS
    ]
    bare = median(lambda: process([sys.executable, "-c", "import sqlite3"]), 31)
    name = f"cold `kinen search --fulltext`, {chunks:,} chunks"
    return [Row(name, statistics.mean(cold), bare, 4.0, 'python -c "import sqlite3"'), *rows]


def _warm(memory: Memory, chunks: int) -> Row:
    """Hybrid with the query's vector given, against the raw FTS5 query and the raw scan."""
    import numpy as np

    from kinen.index.match import expression
    from kinen.text import terms

    embedder = memory.core.embedder
    assert embedder is not None
    vectors = [embedder.embed([question], query=True)[0] for question in QUESTIONS]
    memory.search(Query(QUESTIONS[0], vector=vectors[0]))
    scan = memory.core.scan(embedder)
    assert scan is not None
    db = sqlite3.connect(memory.core.file("index.db"))
    sql = "SELECT rowid, rank FROM search WHERE search MATCH ? ORDER BY rank LIMIT 50"

    def ours() -> None:
        for question, vector in zip(QUESTIONS, vectors, strict=True):
            memory.search(Query(question, vector=vector))

    def raw() -> None:
        for question, vector in zip(QUESTIONS, vectors, strict=True):
            db.execute(sql, (expression(terms(question)),)).fetchall()
            scores = scan.matrix @ vector
            best = np.argpartition(scores, -50)[-50:]
            best[np.argsort(-scores[best])]

    raw(), ours()
    pairs = [(median(ours, 1), median(raw, 1)) for _ in range(15)]
    mine, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Row(f"warm hybrid, {chunks:,} chunks", mine, theirs, 1.5, "raw FTS5 + raw numpy scan")


def index_rows(root: Path, documents: int) -> list[Row]:
    """Index with vectors, then bare tokenise-and-embed of the same chunks, each in a process."""
    space, home = build_space(root, documents, 3, 60), root / "home"
    whole = _child("index", space, home)
    bare = _child("embed", space, home)
    rows = [
        Row(
            f"index {documents:,} documents with vectors",
            whole["seconds"],
            bare["seconds"],
            1.25,
            "bare tokenise and embed",
        ),
        Row(
            "all full text searchable",
            whole["text"],
            whole["seconds"],
            0.1,
            "the whole of indexing",
        ),
        Row("peak memory while indexing, MB", whole["peak_mb"], 600, 1.0, "600 MB"),
    ]
    return [*rows, _unchanged(space, home, documents)]


def _unchanged(space: Path, home: Path, documents: int) -> Row:
    def walk() -> None:
        for folder, _, names in os.walk(space):
            for name in names:
                os.stat(os.path.join(folder, name))

    with Memory.open(space, home=home) as memory:
        memory.sync()
        pairs = [(median(memory.sync, 1), median(walk, 1)) for _ in range(15)]
    ours, bare = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Row(f"re-index {documents:,} unchanged files", ours, bare, 3.0, "os.walk + stat")


def _child(what: str, space: Path, home: Path) -> dict[str, float]:
    words = [sys.executable, __file__, "--child", what, str(space), str(home)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    data: dict[str, float] = json.loads(done.stdout)
    return data


def child(what: str, space: str, home: str) -> None:
    report = child_index(space, home) if what == "index" else child_embed(space, home)
    report["peak_mb"] = peak_mb()
    print(json.dumps(report))


def peak_mb() -> float:
    """This process's own peak; ru_maxrss of a child begins with what its parent had."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1024)


def child_index(space: str, home: str) -> dict[str, float]:
    searchable = 0.0
    began = time.perf_counter()

    def watch(phase: str, done: int, _: int) -> None:
        nonlocal searchable
        if phase == "embed" and not done:
            searchable = time.perf_counter() - began

    with Memory.open(space, home=home) as memory:
        memory.sync(progress=watch)
    return {"seconds": time.perf_counter() - began, "text": searchable}


def child_embed(space: str, home: str) -> dict[str, float]:
    """What any program would do with these chunks: sort by length, tokenise, run, in batches."""
    import numpy as np
    import onnxruntime as ort
    from tokenizers import Tokenizer

    import kinen.embed

    with Memory.open(space, home=home) as memory:
        db = memory.core.reader.db
        texts = [row[0] for row in db.execute("SELECT body FROM chunks GROUP BY digest")]
    texts.sort(key=len)
    model = Path(kinen.embed.__file__).parent / "model" / "english"
    began = time.perf_counter()
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    session = ort.InferenceSession(
        str(model / "kinen-minilm-l6-int8.onnx"), providers=["CPUExecutionProvider"]
    )
    for start in range(0, len(texts), 32):
        batch = tokenizer.encode_batch(texts[start : start + 32])
        inputs = {
            "input_ids": np.array([item.ids for item in batch], dtype=np.int64),
            "attention_mask": np.array([item.attention_mask for item in batch], dtype=np.int64),
        }
        session.run(None, inputs)
    return {"seconds": time.perf_counter() - began}


ROWS = {"help": help_row, "search": search_rows, "index": index_rows}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        child(*chosen.child)
        return
    rows: list[Row] = []
    for name in chosen.rows:
        root = Path(tempfile.mkdtemp(prefix="kinen-speed-"))
        try:
            rows += ROWS[name](root, chosen.documents)
        finally:
            shutil.rmtree(root)
    print(f"{'row':<48} {'ratio':>7} {'limit':>6}  {'ours':>9} {'baseline':>9}  against")
    for row in rows:
        mark = "" if row.ratio <= row.limit else "  ← over"
        print(
            f"{row.name:<48} {row.ratio:>7.2f} {row.limit:>6.2f}  {row.ours:>9.4f}"
            f" {row.baseline:>9.4f}  {row.against}{mark}"
        )
    if not chosen.no_save:
        save("speed", {row.name: {**row._asdict(), "ratio": round(row.ratio, 3)} for row in rows})


if __name__ == "__main__":
    main()
