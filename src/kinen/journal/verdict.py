"""Whether a command succeeded: known from its exit code, or read from what it printed.

An exit code counts where it is that of the command and not of the `tail` behind it
(`shell.hidden`). Otherwise the output decides, by the lines with which test runners, compilers,
linters and git end. Where neither says anything, the outcome is unknown, which is never success.
"""

from __future__ import annotations

import re
from itertools import islice

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
    each: bool = False
    """Whether there is such a line for each of several parts, some of which may be cut off."""
    tests: bool = False
    """Whether it runs tests, so that a failure it prints counts whatever a script says of it."""
    final: bool = False
    """Whether its line of success is proof: what else is printed is of the hooks that git runs."""
    own: bool = False
    """Whether its success says nothing about a script that runs it among others."""


def _lines(*patterns: str) -> re.Pattern[str]:
    return lazy_pattern("|".join(f"(?:{pattern})" for pattern in patterns), re.MULTILINE)


_FOUND = r"^Found [1-9]\d* errors?+(?! \(\d+ fixed, 0 remaining\))"
_INSTALLERS = tuple(
    f"{name} {verb}"
    for name in ("npm", "pnpm", "yarn")
    for verb in ("install", "ci", "i", "add", "update", "uninstall", "remove")
)
FORMATS = (
    Format(
        ("pytest", "tox", "nox", "py.test"),
        _lines(
            r"^(?:=+ )?(?:\d+ \w+, ){0,8}[1-9]\d* (?:failed|errors?)(?:, | in |$)",
            r"^(?:FAILED|ERROR) \S+(?:::|\.(?:py|md|rst|txt)(?: - |$))",
            r"^(?:=+ )?no tests ran in ",
            r"^ERROR: (?:file or directory not found|usage|not found)",
            r"^!+ Interrupted: ",
        ),
        _lines(r"^(?:=+ )?[1-9]\d* passed(?:, \d+ (?!failed|error)\w+){0,8}(?: in |$)"),
        summary=True,
        tests=True,
    ),
    Format(
        ("unittest", "python", "python3", "manage.py"),
        _lines(r"^FAILED \((?:failures|errors|unexpected)", r"^NO TESTS RAN"),
        _lines(r"^Ran [1-9]\d* tests? in [^\n]{0,60}\n\s*OK\b"),
        summary=True,
        tests=True,
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
        tests=True,
    ),
    Format(
        ("go build", "go vet", "go run", "go install"),
        _lines(
            r"^(?:vet: )?\S+\.go:\d+:\d+: ",
            r"^panic: ",
            r"^go: (?!downloading|finding|upgraded|added)",
        ),
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
        tests=True,
    ),
    Format(
        ("cargo", "rustc"),
        _lines(
            r"^error(?:\[E\d+\])?: ",
            r"^thread '[^\n]{0,80} panicked at ",
            r"^Diff in /[^\n]+:\d+:$",
        ),
        _lines(r"^\s+Finished "),
        own=True,
    ),
    Format(
        ("jest", "react-scripts test"),
        _lines(
            r"^Test(?:s| Suites):\s+(?:[^\n]{0,80}, )?[1-9]\d* failed",
            r"^\s*FAIL\s{1,2}\S+",
            r"^Jest: [^\n]{0,200} threshold ",
        ),
        # A suite that cannot be loaded is counted in the line of suites alone.
        _lines(
            r"^Test Suites:\s++(?![^\n]*failed)[^\n]{0,80}\b\d+ passed[^\n]*\n"
            r"Tests:\s++(?![^\n]*failed)[^\n]{0,80}\b[1-9]\d* passed"
        ),
        summary=True,
        tests=True,
    ),
    Format(
        ("vitest", "vite"),
        _lines(
            r"^\s*Test(?: Files|s)\s{2,}[1-9]\d* failed",
            r"^\s*FAIL\s{1,2}\S+",
            r"^\s*Errors\s{2,}[1-9]\d* errors?",
            r"^No test files? found",
        ),
        # Errors outside of tests have a line of their own, behind these.
        _lines(
            r"^\s*+Test Files\s{2,}+(?![^\n]*failed)[^\n]{0,80}\b\d+ passed[^\n]*\n"
            r"\s*+Tests\s{2,}+(?![^\n]*failed)[1-9]\d* passed"
        ),
        tests=True,
    ),
    Format(
        ("mocha",),
        _lines(r"^\s+[1-9]\d* failing\b"),
        _lines(r"^\s+[1-9]\d* passing\b"),
        tests=True,
    ),
    Format(("node", "bun"), _lines(r"^\w*Error: [^\n]+\n(?:[^\n]*\n){0,3}?\s+at ")),
    Format(
        ("node", "bun test", "deno test", "tap"),
        _lines(r"^(?:#|ℹ) fail [1-9]", r"^\s*[1-9]\d* fail$", r"^FAILED \| "),
        _lines(r"^(?:#|ℹ) fail 0$", r"^\s*0 fail$", r"^ok \| \d+ passed"),
        summary=True,
        tests=True,
    ),
    Format(
        ("npm", "pnpm", "yarn", "npx", *_INSTALLERS),
        _lines(
            r"^npm (?:ERR!|error) ",
            r"ERR_PNPM_",
            r"^\s?ELIFECYCLE\b",
            r"^error Command failed",
            r"YN0009:|YN0001: ",
        ),
        _lines(r"^Done in [\d.]+"),
    ),
    Format(
        _INSTALLERS,
        _lines(r"^npm (?:ERR!|error) "),
        _lines(r"^(?:added|changed|removed) \d+ packages?", r"^up to date"),
        own=True,
    ),
    Format(
        ("tsc", "vue-tsc"),
        _lines(r"\berror TS\d{4,5}:", _FOUND),
        _lines(r"Found 0 errors"),
        summary=True,
    ),
    Format(
        ("eslint", "biome", "oxlint"),
        _lines(
            r"^✖ \d+ problems? \((?!0 errors)",
            r"^\s+\d+:\d+\s+error\s+",
            r"^Oops! Something went wrong",
            _FOUND,
        ),
        _lines(r"^✖ \d+ problems? \(0 errors", r"^Found \d+ warnings? and 0 errors"),
        summary=True,
    ),
    Format(
        ("ruff", "black", "isort", "flake8"),
        _lines(
            _FOUND,
            r"^Would reformat",
            r"^\d+ files? would be reformatted",
            r"^\S+\.py:\d+:\d+: [A-Z]+\d+ ",
            r"^error: ",
        ),
        _lines(
            r"^All checks passed!",
            r"files? (?:already formatted|left unchanged|reformatted)",
            r"^Found \d+ errors? \(\d+ fixed, 0 remaining\)",
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
        ("dotnet test", "dotnet vstest"),
        _lines(r"^Failed!\s+- Failed:"),
        _lines(r"^Passed!\s+- Failed:\s+0"),
        each=True,
        tests=True,
    ),
    Format(
        ("dotnet", "msbuild", "dotnet test", "dotnet vstest"),
        _lines(
            r"^Build FAILED\.",
            r"^Build failed with ",
            r": error [A-Z]{2,8}\d+: ",
            r"[Ff]ailed: [1-9]\d*",
        ),
        _lines(r"failed: 0, succeeded: [1-9]\d*"),
    ),
    Format(
        ("dotnet", "msbuild"),
        _lines(r"^Build FAILED\."),
        _lines(r"^Build succeeded"),
        own=True,
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
            r"\b[1-9]\d{0,6} examples?, 0 failures(?!, \d{1,7} errors? occurred)",
            r"\b[1-9]\d{0,6} runs, \d{1,7} assertions, 0 failures, 0 errors",
            r"\b[1-9]\d{0,6} tests?, 0 failures",
        ),
        summary=True,
        tests=True,
    ),
    Format(
        ("phpunit", "pest", "artisan", "composer"),
        _lines(
            r"^(?:FAILURES|ERRORS)!$",
            r"^Tests: \d+, Assertions: \d+, (?:Errors|Failures)",
            r"^\s*Tests:\s+[1-9]\d* failed",
            r"^PHP (?:Fatal|Parse) error",
        ),
        _lines(
            r"^OK \([1-9]\d* tests?",
            r"^OK, but ",
            # Jest has a line with this beginning, in which suites that did not load are missing.
            r"^\s*+Tests:\s++(?![^\n]*failed)[^\n]{0,80}\d+ passed [^\n]{0,40}\(\d+ assertions?\)",
        ),
        tests=True,
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
            r"Executed [1-9]\d* tests?, with 0 failures",
            r"^✔ Test run with [1-9]\d* tests?[^\n]{0,80} passed",
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
        _lines(r"^100% tests passed, 0 tests failed", r"^[1-9]\d* tests?, 0 failures"),
        summary=True,
        tests=True,
    ),
    Format(
        ("git commit",),
        _lines(
            r"^(?:fatal|error): ",
            r"^nothing (?:to commit|added to commit)",
            r"^no changes added to commit",
            r"hook exited with code [1-9]",
            r"\.{3,}[^\n]{0,20}Failed$",
        ),
        _lines(r"^\[[^\]\n]{1,200} [0-9a-f]{7,40}\] "),
        summary=True,
        final=True,
        own=True,
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
            r"^Successfully rebased ",
        ),
        own=True,
    ),
    Format(
        ("pip", "pip3"),
        _lines(r"^ERROR: "),
        _lines(r"^Successfully (?:installed|uninstalled) ", r"^Requirement already satisfied"),
        own=True,
    ),
    Format(
        ("docker", "podman"),
        _lines(r"^ERROR: failed to ", r"^Error response from daemon", r"^Error: "),
        _lines(r"^Successfully (?:built|tagged) "),
        own=True,
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


_TELLING = frozenset(("bun run", "pnpm run", "yarn run"))
"""Programs that end their output with a line of their own if what they ran failed."""
_LOOPS = ("for", "while", "until")
_MOST = 20
"""Lines of success that are told apart."""
_ELSEWHERE = re.compile(r"[1&]?>(?!&)")
"""Sends the output of a command where nobody sees it."""
_LAST = re.compile(r"-n?(\d{1,6})")
RUNS_TESTS = re.compile(
    r"\b(?:pytest|tox|nox|unittest|mix test|cargo (?:test|nextest)|go test|gotestsum|jest|vitest"
    r"|mocha|rspec|minitest|phpunit|ctest|bats|(?:npm|pnpm|yarn|bun|deno|make|gradlew?|mvn|dotnet"
    r"|swift|zig|just|rake|rails)(?: run)?(?: \S+){0,2} ?:?tests?\b)"
)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def runs_tests(line: str) -> bool:
    """Does a line run tests? What stands in quotes or a here-document is text and not run."""
    return any(
        RUNS_TESTS.search(_QUOTED.sub("''", part.text))
        for part in shell.parts(line[:2000])
        if shell.acts(shell.words(part.text))
    )


def verdict(line: str, output: str, code: int | None) -> bool | None:
    """Whether a command succeeded; None if nobody knows.

    A script may swallow the exit code of its tests, but not what they print.
    """
    if code:
        return False
    tail = output[-LOOKED_AT:]
    acting = shell.acting(line)
    hidden = shell.hidden(line) if code == 0 else acting
    rows = _formats(acting[-1]) if acting else FORMATS
    is_proof = rows is not FORMATS and any(row.final and _last(row, output) for row in rows)
    if is_proof and all(part.before in ("", "&&") for part in shell.parts(line)):
        return True  # the last command runs only after the others succeeded
    if (hidden or runs_tests(line)) and _failed(hidden or acting[-1:] or [[]], tail):
        return False
    if code == 0 and not hidden:
        # A script that goes on after its tests failed says that it succeeded.
        script = bool(acting) and _formats(acting[-1]) is FORMATS
        return None if script and _failed_rows([r for r in FORMATS if r.tests], tail) else True
    return True if _proven(line, hidden, acting, tail) else None


def failure_line(line: str, output: str) -> str:
    """The first line of an output by which its program is known to have failed; else empty."""
    tail = output[-LOOKED_AT:]
    rows = {row: None for words in shell.acting(line) for row in _formats(words)}
    places = [match.start() for row in rows if (match := row.failed.search(tail))]
    if not places:
        return ""
    start = tail.rfind("\n", 0, min(places)) + 1
    return tail[start:].partition("\n")[0].strip()


def _proven(line: str, hidden: list[list[str]], acting: list[list[str]], output: str) -> bool:
    """Whether the output has a line of success of its own for each command that hides its code."""
    parts = shell.parts(line)
    words = [shell.words(part.text) for part in parts]
    if any(part.text.split()[0] in _LOOPS for part in parts):
        return False  # how often is unknown
    judged = [command for command in hidden if not shell.prepares(command)]
    if not judged or any(_ELSEWHERE.match(word) for command in judged for word in command):
        return False
    behind = [command for command, part in zip(words, parts, strict=True) if part.before == "|"]
    filtered = any(command and command[0] in _FILTERS for command in behind)
    cut = filtered or any(_cuts(command, output) for command in behind)
    if not filtered and all(map(_tells_failure, judged)):
        return True  # the end of the output is there, and no failure was found in it
    # Commands whose code is known print their lines, too: these prove nothing about others.
    visible = [c for c in acting if c not in hidden and _formats(c) is not FORMATS]
    lines = [_successes(command, output, filtered, cut) for command in visible]
    known_lines = [places for places in lines if places]
    return _assigned(
        [*known_lines, *(_successes(command, output, filtered, cut) for command in judged)]
    )


def _tells_failure(command: list[str]) -> bool:
    """Whether the output would end with a line of the program's own if what it ran had failed."""
    quiet = {"-s", "--silent", "--quiet"} & set(command)
    return shell.program(command) in _TELLING and "2>&1" in command and not quiet


def _cuts(command: list[str], output: str) -> bool:
    """Whether `tail` may have left out the beginning of an output."""
    if command[:1] != ["tail"]:
        return False
    counts = [int(match[1]) for word in command[1:] if (match := _LAST.fullmatch(word))]
    counts += [int(word) for word in command[1:] if word.isdecimal() and len(word) < 7]
    return len(output.strip("\n").splitlines()) >= min(counts, default=10)


def _assigned(choices: list[set[int]]) -> bool:
    """Whether each command can have a line of its own among those that may be its."""
    owners: dict[int, int] = {}

    def assign(command: int, tried: set[int]) -> bool:
        for place in choices[command] - tried:
            tried.add(place)
            if place not in owners or assign(owners[place], tried):
                owners[place] = command
                return True
        return False

    return all(assign(command, set()) for command in range(len(choices)))


def _formats(words: list[str]) -> tuple[Format, ...]:
    """The rows of a program and its verb; all of them for one that may run anything."""
    program = shell.program(shell.carried(words))
    name = program.partition(" ")[0]
    for key in (program, name):
        own = tuple(row for row in FORMATS if key in row.programs)
        if own and key not in _RUNNERS:
            return own
    return FORMATS


def _failed(commands: list[list[str]], output: str) -> bool:
    rows = [*{row: None for words in commands for row in _formats(words)}]
    if len(commands) > 1:
        return any(row.failed.search(output) for row in rows) or bool(ANYTHING.search(output))
    return _failed_rows(rows, output, others=True)


def _failed_rows(rows: list[Format], output: str, *, others: bool = False) -> bool:
    """Whether one command failed by its output.

    Where a program has counted that nothing failed, what stands before may be the log of a test
    that provokes an error: only its own lines count there. `others` asks for what any program
    prints, too.
    """
    counted = {row: match for row in rows if row.summary and (match := _last(row, output))}
    rest = output[max((match.end() for match in counted.values()), default=0) :]
    own = {row for row in counted if not row.final}
    if any(row.failed.search(output if row in own else rest) for row in rows):
        return True
    return others and bool(ANYTHING.search(rest))


def _last(row: Format, output: str) -> re.Match[str] | None:
    """The last line in which a program counts that nothing failed."""
    matches = [*row.passed.finditer(output)] if row.passed else []
    return matches[-1] if matches else None


def _successes(words: list[str], output: str, filtered: bool, cut: bool) -> set[int]:
    """Where the output says that a command succeeded."""
    rows = _formats(words)
    return {
        match.start()
        for row in rows
        if row.passed
        and (row.summary or not filtered)
        and not (row.each and cut)
        and not (row.own and rows is FORMATS)
        for match in islice(row.passed.finditer(output), _MOST)
    }
