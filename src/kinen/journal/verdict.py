"""Whether a command succeeded: known from its exit code, or read from what it printed.

An exit code counts where it is that of the command and not of the `tail` behind it
(`shell.hidden`). Otherwise the output decides, by the lines with which test runners, compilers,
linters and git end. Where neither says anything, the outcome is unknown, which is never success.
"""

from __future__ import annotations

import re

from kinen.journal import shell
from kinen.model.tuples import NamedTuple
from kinen.text import lazy_pattern

LOOKED_AT = 20_000
"""Characters at the end of an output that are read."""
_FILTERS = frozenset("grep egrep fgrep rg head awk sed cut uniq sort".split())
"""Programs that let a part of an output through, in which a failure may be missing."""


class Format(NamedTuple):
    """How the output of some programs tells success from failure."""

    programs: tuple[str, ...]
    """Names of programs, with a verb where only that prints it: `cargo test`."""
    failed: re.Pattern[str]
    passed: re.Pattern[str] | None = None
    summary: bool = False
    """Whether the line of success would also count failures, so that it proves there are none."""


def _lines(*patterns: str) -> re.Pattern[str]:
    return lazy_pattern("|".join(f"(?:{pattern})" for pattern in patterns), re.MULTILINE)


FORMATS = (
    Format(
        ("pytest", "tox", "nox", "py.test"),
        _lines(
            r"^(?:=+ )?(?:\d+ \w+, ){0,8}[1-9]\d* (?:failed|errors?)(?:, | in |$)",
            r"^(?:FAILED|ERROR) \S+(?:::| - )",
            r"^(?:=+ )?no tests ran in ",
            r"^ERROR: (?:file or directory not found|usage|not found)",
            r"^!+ Interrupted: ",
        ),
        _lines(r"^(?:=+ )?[1-9]\d* passed(?:, \d+ (?!failed|error)\w+){0,8}(?: in |$)"),
        summary=True,
    ),
    Format(
        ("unittest", "python", "python3", "manage.py"),
        _lines(r"^FAILED \((?:failures|errors|unexpected)", r"^NO TESTS RAN"),
        _lines(r"^Ran [1-9]\d* tests? in [^\n]{0,60}\n\s*OK\b"),
    ),
    Format(
        ("go test", "gotestsum"),
        _lines(
            r"^\s*--- FAIL: ",
            r"^FAIL\b",
            r"^panic: ",
            r"\[build failed\]",
            r"^#? ?\S+\.go:\d+:\d+: ",
        ),
        _lines(r"^ok\s+\S+\s+(?:[\d.]+s|\(cached\))", r"^PASS$", r"^DONE \d+ tests(?! [^\n]*fail)"),
    ),
    Format(
        ("go build", "go vet", "go run", "go install"),
        _lines(r"^\S+\.go:\d+:\d+: ", r"^panic: ", r"^go: (?!downloading|finding|upgraded|added)"),
    ),
    Format(
        ("cargo test", "cargo nextest"),
        _lines(
            r"^test result: FAILED",
            r"^error(?:\[E\d+\])?: ",
            r"^\s*Summary \[[^\n]{0,80}[1-9]\d* failed",
        ),
        _lines(
            r"^test result: ok\.",
            r"^\s*Summary \[[^\n]{0,40} tests? run: \d+ passed(?![^\n]*failed)",
        ),
    ),
    Format(
        ("cargo", "rustc"),
        _lines(r"^error(?:\[E\d+\])?: ", r"^thread '[^\n]{0,80} panicked at "),
        _lines(r"^\s+Finished "),
    ),
    Format(
        ("jest", "react-scripts test", "vitest", "vite"),
        _lines(
            r"^Test(?:s| Suites):\s+(?:[^\n]{0,80}, )?[1-9]\d* failed",
            r"^\s*Test(?: Files|s)\s{2,}[1-9]\d* failed",
            r"^\s*FAIL\s{1,2}\S+",
            r"^No test files? found",
        ),
        _lines(
            r"^Tests:\s++(?![^\n]*failed)[^\n]{0,80}\b\d+ passed",
            r"^\s*+Tests\s{2,}+(?![^\n]*failed)\d+ passed",
        ),
        summary=True,
    ),
    Format(
        ("mocha",),
        _lines(r"^\s+[1-9]\d* failing\b"),
        _lines(r"^\s+\d+ passing\b"),
    ),
    Format(
        ("node", "bun test", "deno test", "tap"),
        _lines(
            r"^(?:#|ℹ) fail [1-9]",
            r"^\s*[1-9]\d* fail$",
            r"^FAILED \| ",
            r"^\w*Error: [^\n]+\n(?:[^\n]*\n){0,3}?\s+at ",
        ),
        _lines(r"^(?:#|ℹ) fail 0$", r"^\s*0 fail$", r"^ok \| \d+ passed"),
        summary=True,
    ),
    Format(
        ("npm", "pnpm", "yarn", "npx"),
        _lines(
            r"^npm (?:ERR!|error) ",
            r"ERR_PNPM_",
            r"^\s?ELIFECYCLE\b",
            r"^error Command failed",
            r"YN0009:|YN0001: ",
        ),
        _lines(r"^(?:added|changed|removed) \d+ packages?", r"^up to date", r"^Done in [\d.]+"),
    ),
    Format(
        ("tsc", "vue-tsc"),
        _lines(r"\berror TS\d{4,5}:", r"^Found [1-9]\d* errors?"),
        _lines(r"Found 0 errors"),
        summary=True,
    ),
    Format(
        ("eslint", "biome", "oxlint"),
        _lines(
            r"^✖ \d+ problems? \((?!0 errors)",
            r"^\s+\d+:\d+\s+error\s+",
            r"^Oops! Something went wrong",
            r"^Found [1-9]\d* errors?",
        ),
        _lines(r"^✖ \d+ problems? \(0 errors", r"^Found \d+ warnings? and 0 errors"),
        summary=True,
    ),
    Format(
        ("ruff", "black", "isort", "flake8"),
        _lines(
            r"^Found [1-9]\d* errors?",
            r"^Would reformat",
            r"^\d+ files? would be reformatted",
            r"^\S+\.py:\d+:\d+: [A-Z]+\d+ ",
            r"^error: ",
        ),
        _lines(
            r"^All checks passed!",
            r"files? (?:already formatted|left unchanged|reformatted)",
        ),
    ),
    Format(
        ("mypy", "pyright", "ty"),
        _lines(
            r"^Found [1-9]\d* errors? in ",
            r"^[1-9]\d* errors?, ",
            r"^\S+\.pyi?:\d+(?::\d+)?: error: ",
        ),
        _lines(r"^Success: no issues found", r"^0 errors, "),
        summary=True,
    ),
    Format(
        ("golangci-lint",),
        _lines(
            r"^\S+\.go:\d+:\d+: [^\n]{1,400}\(\w[\w-]*\)$",
            r"^[1-9]\d* issues?[:.]",
            r"^level=error",
        ),
        _lines(r"^0 issues\b"),
    ),
    Format(
        ("make", "gmake", "ninja", "cmake", "just", "task"),
        _lines(r"^g?make(?:\[\d+\])?: \*\*\* ", r"^FAILED: ", r"^CMake Error", r"^error: Recipe "),
    ),
    Format(
        ("gradle", "gradlew"),
        _lines(
            r"^FAILURE: Build failed", r"^BUILD FAILED", r"^\d+ tests completed, [1-9]\d* failed"
        ),
        _lines(r"^BUILD SUCCESSFUL"),
        summary=True,
    ),
    Format(
        ("mvn", "mvnw", "mvnd"),
        _lines(
            r"^\[(?:INFO|ERROR)\] BUILD FAILURE",
            r"^\[ERROR\] (?:Tests run|Failed to execute|COMPILATION)",
        ),
        _lines(r"^\[INFO\] BUILD SUCCESS"),
        summary=True,
    ),
    Format(
        ("dotnet", "msbuild"),
        _lines(
            r"^Failed!\s+- Failed:",
            r"^Build FAILED\.",
            r"^Build failed with ",
            r": error [A-Z]{2,8}\d+: ",
            r"[Ff]ailed: [1-9]\d*",
        ),
        _lines(r"^Passed!\s+- Failed:\s+0", r"^Build succeeded", r"failed: 0, succeeded: \d+"),
    ),
    Format(
        ("rspec", "rake", "rails", "minitest", "mix", "bundle"),
        _lines(
            r"\b\d{1,7} examples?, [1-9]\d{0,6} failures?",
            r"errors? occurred outside of examples",
            r"\b\d{1,7} runs, \d{1,7} assertions, (?:[1-9]\d{0,6} failures|0 failures, [1-9])",
            r"\b\d{1,7} tests?, [1-9]\d{0,6} failures?",
            r"^\*\* \(\w+",
        ),
        _lines(
            r"\b\d{1,7} examples?, 0 failures(?!, \d{1,7} errors? occurred)",
            r"\b\d{1,7} runs, \d{1,7} assertions, 0 failures, 0 errors",
            r"\b\d{1,7} tests?, 0 failures",
        ),
        summary=True,
    ),
    Format(
        ("phpunit", "pest", "artisan", "composer"),
        _lines(
            r"^(?:FAILURES|ERRORS)!$",
            r"^Tests: \d+, Assertions: \d+, (?:Errors|Failures)",
            r"^\s*Tests:\s+[1-9]\d* failed",
            r"^PHP (?:Fatal|Parse) error",
        ),
        _lines(r"^OK \(\d+ tests?", r"^OK, but ", r"^\s*+Tests:\s++(?![^\n]*failed)\d+ passed"),
    ),
    Format(
        ("swift", "xcodebuild"),
        _lines(
            r"^Test Suite '[^\n']{1,200}' failed",
            r"Executed \d+ tests?, with [1-9]",
            r"^✘ Test run ",
            r"^\S+\.swift:\d+:\d+: error: ",
            r"^error: ",
            r"^\*\* (?:BUILD|TEST) FAILED \*\*",
        ),
        _lines(
            r"Executed \d+ tests?, with 0 failures",
            r"^✔ Test run with \d+ tests?[^\n]{0,80} passed",
            r"^Build complete!",
            r"^\*\* (?:BUILD|TEST) SUCCEEDED \*\*",
        ),
    ),
    Format(
        ("ctest", "bats"),
        _lines(
            r"% tests passed, [1-9]\d* tests? failed",
            r"^not ok \d+",
            r"^\d+ tests?, [1-9]\d* failures?",
        ),
        _lines(r"^100% tests passed, 0 tests failed", r"^\d+ tests?, 0 failures"),
        summary=True,
    ),
    Format(
        ("gh", "git"),
        _lines(
            r"^(?:fatal|error): ",
            r"^nothing (?:to commit|added to commit)",
            r"^no changes added to commit",
            r"^CONFLICT \(",
            r"^ ! \[(?:remote )?rejected\]",
            r"hook exited with code [1-9]",
            r"\.{3,}[^\n]{0,20}Failed$",
        ),
        _lines(
            r"^\[[^\]\n]{1,200} [0-9a-f]{7,40}\] ",
            r"^\s[ *+=-] ?[^\n]{1,200} -> ",
            r"^\s+[0-9a-f]{7,}\.\.[0-9a-f]{7,}  ",
            r"^Everything up-to-date",
            r"^Already up to date",
            r"^Fast-forward",
            r"^Switched to ",
        ),
    ),
    Format(
        ("pip", "pip3"),
        _lines(r"^ERROR: "),
        _lines(r"^Successfully (?:installed|uninstalled) ", r"^Requirement already satisfied"),
    ),
    Format(
        ("docker", "podman"),
        _lines(r"^ERROR: failed to ", r"^Error response from daemon", r"^Error: "),
        _lines(r"^Successfully (?:built|tagged) "),
    ),
)
"""What the programs of each row print, checked against real output in the tests."""
ANYTHING = _lines(
    r"^Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n|\n){1,400}?"
    r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b",
    r": command not found$",
    r"^(?:thread '[^\n]{0,80} panicked at |panic: |Segmentation fault)",
    r"^\S+:\d+(?::\d+)?: (?:fatal )?error: ",
)
"""What any program may print when it fails."""


_RUNNERS = frozenset(
    "npm pnpm yarn npx bun deno make gmake just task tox nox rake bundle composer node python"
    " python3".split()
)
"""Programs that run others, whose output they show."""


def verdict(line: str, output: str, code: int | None, *, tests: bool = False) -> bool | None:
    """Whether a command succeeded; None if nobody knows.

    `tests` says that the line runs tests: a script may swallow their exit code, but not what they
    print.
    """
    if code:
        return False
    parts = shell.parts(line)
    tail = output[-LOOKED_AT:]
    hidden = shell.hidden(line)
    if code is None:
        hidden = [words for part in parts if shell.acts(words := shell.words(part.text))]
    if (hidden or tests) and _failed(hidden or [shell.words(parts[-1].text)], tail):
        return False
    if code == 0 and not hidden:
        return True
    behind = [shell.words(part.text)[:1] for part in parts if part.before == "|"]
    filtered = any(words and words[0] in _FILTERS for words in behind)
    return True if hidden and all(_passed(words, tail, filtered) for words in hidden) else None


def _formats(program: str) -> tuple[Format, ...]:
    """The rows of a program and its verb; all of them for one that may run anything."""
    name = program.partition(" ")[0]
    for key in (program, name):
        own = tuple(row for row in FORMATS if key in row.programs)
        if own and key not in _RUNNERS:
            return own
    return FORMATS


def _failed(commands: list[list[str]], output: str) -> bool:
    rows = {row: None for words in commands for row in _formats(shell.program(words))}
    return any(row.failed.search(output) for row in rows) or bool(ANYTHING.search(output))


def _passed(words: list[str], output: str, filtered: bool) -> bool:
    """Whether the output says that a command succeeded."""
    rows = _formats(shell.program(words))
    return any(
        row.passed and (row.summary or not filtered) and row.passed.search(output) for row in rows
    )
