"""Finds functions and classes of real packages by questions in other words, and takes the time.

The code is that of click and httpx as they are installed beside kinen, copied into a scratch
repository. Each question was written for this benchmark from what a symbol does, without the words
of its name where that was possible. Baselines of the same run: files alone (by name and commit),
full text alone, vectors alone. Figures: the share of questions whose symbol is first, and among the
first ten; seconds of indexing with and without symbols.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import record
from kinen.memory import Memory
from kinen.model.records import Query

PACKAGES = ("click", "httpx")
QUESTIONS = (
    ("show a percentage while a loop is running", "click/_termui_impl.py#ProgressBar"),
    (
        "move the loading indicator forward by some amount",
        "click/_termui_impl.py#ProgressBar.update",
    ),
    ("scroll long output through an external viewer", "click/_termui_impl.py#_pipepager"),
    ("view text by writing it to a scratch file first", "click/_termui_impl.py#_tempfilepager"),
    ("cut a string without counting colour codes", "click/_textwrap.py#_truncate_visible"),
    ("suggest nested commands for tab completion", "click/core.py#_complete_visible_commands"),
    ("run something when the command is finished", "click/core.py#Context.call_on_close"),
    ("release what was opened at the end of an invocation", "click/core.py#Context.close"),
    ("stop the program with an error text", "click/core.py#Context.fail"),
    ("call another command with the same arguments", "click/core.py#Context.forward"),
    (
        "did the value come from the environment or the command line",
        "click/core.py#Context.get_parameter_source",
    ),
    ("several groups of commands merged into one", "click/core.py#CommandCollection"),
    ("attach a subcommand under a name", "click/core.py#Group.add_command"),
    ("which subcommands exist and in what order", "click/core.py#Group.list_commands"),
    ("read an option from an environment variable", "click/core.py#Parameter.resolve_envvar_value"),
    (
        "ask the user interactively when an option is missing",
        "click/core.py#Option.prompt_for_value",
    ),
    ("one line summary of a command for the overview", "click/core.py#Command.get_short_help_str"),
    ("ask yes or no", "click/termui.py#confirm"),
    ("ask the user to type something and validate it", "click/termui.py#prompt"),
    ("open the text in an editor like vim", "click/termui.py#edit"),
    ("open a web page in the default browser", "click/termui.py#launch"),
    ("wait until any key was pressed", "click/termui.py#pause"),
    ("colour text with bold and underline", "click/termui.py#style"),
    ("remove escape codes from text", "click/termui.py#unstyle"),
    ("where should an application keep its settings", "click/utils.py#get_app_dir"),
    ("open a file only when it is first used", "click/utils.py#LazyFile"),
    ("shorten a long help text to fit a width", "click/utils.py#make_default_short_help"),
    ("only allow numbers between a minimum and maximum", "click/types.py#IntRange"),
    ("restrict a value to a fixed list", "click/types.py#Choice"),
    (
        "run a command line program inside a test and capture its output",
        "click/testing.py#CliRunner.invoke",
    ),
    (
        "a scratch folder for tests that is deleted afterwards",
        "click/testing.py#CliRunner.isolated_filesystem",
    ),
    ("decompress a gzipped body", "httpx/_decoders.py#GZipDecoder"),
    ("split incoming text at newlines while it streams", "httpx/_decoders.py#LineDecoder"),
    ("no free connection was available in time", "httpx/_exceptions.py#PoolTimeout"),
    ("the server sent malformed data", "httpx/_exceptions.py#RemoteProtocolError"),
    ("how long did the request take", "httpx/_models.py#Response.elapsed"),
    ("throw an exception for a 404 answer", "httpx/_models.py#Response.raise_for_status"),
    (
        "is the answer forwarding to another address",
        "httpx/_models.py#Response.has_redirect_location",
    ),
    ("parse the body as JSON", "httpx/_models.py#Response.json"),
    ("forget all stored cookies", "httpx/_models.py#Cookies.clear"),
    ("remember what Set-Cookie sent", "httpx/_models.py#Cookies.extract_cookies"),
    (
        "figure out the mime type from the name of an upload",
        "httpx/_multipart.py#_guess_content_type",
    ),
    ("remove dots from a path of an address", "httpx/_urlparse.py#normalize_path"),
    ("escape special characters in an address", "httpx/_urlparse.py#quote"),
    ("resolve a relative address against a base", "httpx/_urls.py#URL.join"),
    ("size of a file object without loading it", "httpx/_utils.py#peek_filelike_length"),
    ("user name and password in the Authorization header", "httpx/_auth.py#BasicAuth"),
    ("challenge response login with nonce", "httpx/_auth.py#DigestAuth"),
    ("credentials from a netrc file", "httpx/_auth.py#NetRCAuth"),
    ("keep connections open between several requests", "httpx/_client.py#Client"),
    (
        "answer requests from a function instead of the network",
        "httpx/_transports/mock.py#MockTransport",
    ),
    (
        "call a Python web application directly without a socket",
        "httpx/_transports/wsgi.py#WSGITransport",
    ),
)
NAMES = (
    "get_app_dir",
    "LineDecoder",
    "CliRunner.isolated_filesystem",
    "peek_filelike_length",
    "normalize_path",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--misses", action="store_true", help="list the questions without an answer"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KINEN_HOME"] = f"{folder}/home"
        root = Path(folder, "code")
        for package in PACKAGES:
            shutil.copytree(
                _source(package), root / package, ignore=shutil.ignore_patterns("__pycache__")
            )
        _commit(root)
        results = measure(root, options.misses)
    for name, value in results.items():
        print(f"{name:<20} {value}")
    record.save("symbols", results)


def measure(root: Path, misses: bool) -> dict[str, object]:
    lines = sum(len(path.read_text().splitlines()) for path in root.rglob("*.py"))
    results: dict[str, object] = {
        "files": len(list(root.rglob("*.py"))),
        "lines": lines,
        "questions": len(QUESTIONS),
    }
    for name, enabled in (("without", False), ("with", True)):
        with Memory.open(
            root, home=f"{root.parent}/{name}", settings={"index.symbols": enabled}
        ) as memory:
            start = time.perf_counter()
            memory.sync(embed=False)
            results[f"text_s_{name}"] = round(time.perf_counter() - start, 2)
            start = time.perf_counter()
            report = memory.sync()
            results[f"vectors_s_{name}"] = round(time.perf_counter() - start, 2)
            results[f"embedded_{name}"] = report.embedded
            start = time.perf_counter()
            memory.sync()
            results[f"again_s_{name}"] = round(time.perf_counter() - start, 3)
            if enabled:
                results["symbols"] = memory.index.status().kinds.get("symbol", 0)
                for mode in ("hybrid", "fulltext", "semantic"):
                    results[mode] = quality(memory, mode, misses and mode == "hybrid")
                results["by_name_first"] = sum(by_name(memory, word) for word in NAMES) / len(NAMES)
            else:
                results["files_by_name"] = file_quality(memory)
    return results


def quality(memory: Memory, mode: str, misses: bool) -> dict[str, float]:
    ranks = []
    for question, ref in QUESTIONS:
        hits = memory.search(Query(question, mode=mode, limit=10))
        refs = [hit.record.ref for hit in hits]
        rank = refs.index(f"symbol:{ref}") + 1 if f"symbol:{ref}" in refs else 0
        ranks.append(rank)
        if misses and rank != 1:
            print(f"{rank or '-':>3}  {question}  ->  {ref}   first: {refs[0] if refs else ''}")
    return _scores(ranks)


def file_quality(memory: Memory) -> dict[str, float]:
    """Without symbols: the file of the symbol among the files that are found."""
    ranks = []
    for question, ref in QUESTIONS:
        hits = memory.search(Query(question, kinds=("file",), limit=10))
        paths = [hit.record.path for hit in hits]
        path = ref.partition("#")[0]
        ranks.append(paths.index(path) + 1 if path in paths else 0)
    return _scores(ranks)


def by_name(memory: Memory, name: str) -> bool:
    hits = memory.search(Query(name, limit=1))
    return bool(hits) and hits[0].record.title.endswith(name)


def _scores(ranks: list[int]) -> dict[str, float]:
    return {
        "first": round(sum(rank == 1 for rank in ranks) / len(ranks), 3),
        "in_10": round(sum(rank > 0 for rank in ranks) / len(ranks), 3),
        "mrr": round(statistics.mean(1 / rank if rank else 0.0 for rank in ranks), 3),
    }


def _source(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _commit(root: Path) -> None:
    git = [
        "git",
        "-C",
        str(root),
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
    ]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "feat: the code"]):
        subprocess.run([*git, *command], check=True)


if __name__ == "__main__":
    sys.exit(main())
