"""`kinen import transcripts` as a person or a script uses it, beside `kinen import FILE`."""

from __future__ import annotations

import json
from pathlib import Path

LINES = (
    ("user", "why does the cart forget its coupon?"),
    ("assistant", "It was lost in merge()."),
)


def session(folder: Path, name: str, cwd: Path) -> Path:
    """A transcript of Claude Code."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    with path.open("w") as file:
        for n, (role, text) in enumerate(LINES):
            line = {"type": role, "uuid": f"{name}{n}", "sessionId": name, "cwd": str(cwd)}
            line |= {"timestamp": f"2026-03-01T10:00:0{n}Z", "isSidechain": False}
            file.write(json.dumps({**line, "message": {"role": role, "content": text}}) + "\n")
    return path


def test_a_path_takes_what_is_in_it_and_a_file_is_still_a_bundle(kinen, tmp_path) -> None:
    path = session(tmp_path / "there", "other", Path("/somewhere/else"))
    assert kinen("import", "transcripts", str(path)).out.startswith("added 2 events")
    bundle = tmp_path / "bundle.json"
    kinen("export", str(bundle))
    assert kinen("import", str(bundle), "--dry-run").out.startswith("would skip 2")
    assert kinen("import", "--dry-run", str(bundle)).code == 0
    missing = kinen("import", "transcripts", "nowhere")
    assert missing.code == 2
    assert missing.err == (
        "kinen: no file or folder nowhere · give one with transcripts, or none\n"
    )
    empty = kinen("import")
    assert empty.code == 2
    assert "<stdin>: no JSON object" in empty.err
