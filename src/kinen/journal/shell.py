"""The structure of a shell line: which programs it runs, and whose failure its exit code shows."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from itertools import pairwise

from kinen.model.tuples import NamedTuple

LONGEST = 4_000
"""Characters of a line that are read."""
READING = frozenset(
    """ls cat grep egrep fgrep rg find fd which test [ [[ head tail sed awk diff stat file echo cd
    ps kill pkill sleep wc pwd type printf true false jq yq sort uniq cut xargs tree du df printenv
    env export source . set unset pushd popd less more tee tr column date basename dirname realpath
    readlink hash wait mkdir touch exit return local declare trap ulimit umask""".split()
)
"""Programs that look around or prepare: when they end with an error, nothing is broken."""
GIT_READING = frozenset("status log diff show branch rev-parse blame grep ls-files reflog".split())
_WRAPPERS = frozenset(
    "sudo time nice env uv poetry pipenv run npx bunx exec command timeout if then else elif while"
    " do until !".split()
)
_KEYWORDS = frozenset("for done fi case esac in function select ;;".split())
_WITH_NUMBER = frozenset(("timeout", "nice"))
_ASSIGNMENT = re.compile(r"\w+=\S*$")
_HERE = re.compile(r"<<-?\s*(['\"]?)(\w{1,60})\1")
_SIGN = re.compile(r"\\.|['\"`]|\$\(|[()]|&&|\|\||\|&|[|;\n]|(?<![<>])&(?!>)", re.DOTALL)
_OPERATORS = {"&&": "&&", "||": "||", "|": "|", "|&": "|", ";": ";", "\n": ";", "&": ";"}
_STOPS = re.compile(r"set -\w*e|set -o errexit|bash -\w*e")
_TOKEN = re.compile(
    r"""(?>(?:[^\s'"\\]++|\\.|'[^']*+'|"(?>(?:[^"\\]++|\\.)*)"|['"\\])+)""", re.DOTALL
)
_QUOTED = re.compile(r"""\\.|'[^']*+'|"(?>(?:[^"\\]++|\\.)*)\"""", re.DOTALL)
_ESCAPED = re.compile(r"""\\(["\\$`])""")
_SHELLS = frozenset("bash sh zsh dash ksh".split())
_RUNS_TEXT = re.compile(r"-[a-z]*c")
_PREFIX = 12
"""Words at the beginning of a command among which its program is looked for."""


class Part(NamedTuple):
    """A simple command of a line, and what stands before and behind it."""

    text: str
    before: str
    """The operator before it: `&&`, `||`, `|`, `;` (also for a new line and `&`), or nothing."""
    after: str


@lru_cache(maxsize=256)
def parts(line: str) -> tuple[Part, ...]:
    """The simple commands of a line. What is quoted, substituted or in a here-document is text.

    `bash -c '…'` is what it runs.
    """
    every: list[Part] = []
    for part in _split(line):
        nested = parts(script[1]) if (script := _script(part.text)) else ()
        if nested:
            nested = (nested[0]._replace(before=part.before), *nested[1:])
            nested = (*nested[:-1], nested[-1]._replace(after=part.after))
        every += nested or (part,)
    return tuple(every)


def _script(part: str) -> tuple[str, str] | None:
    """What stands before a shell that is given its commands as text, and these: `ssh h sh -c '…'`.

    None if a command is not of this kind.
    """
    if "sh" not in part or "c" not in part:
        return None
    every = tokens(part)[:_PREFIX]
    for place, (name, option) in enumerate(pairwise(every)):
        shell = name.rsplit("/", 1)[-1] in _SHELLS
        if shell and _RUNS_TEXT.fullmatch(option) and len(every) > place + 2:
            text = every[place + 2].removeprefix("$")
            if text[:1] in ("'", '"') and len(text) > 1:
                return " ".join(_bare(every[:place])), unquoted(text)
    return None


def tokens(text: str) -> list[str]:
    """The words of a command, those with quotes in one piece."""
    return _TOKEN.findall(text[:LONGEST])


def unquoted(word: str) -> str:
    """A word as a program gets it, without its quotes."""
    return _QUOTED.sub(_unescaped, word)


def _unescaped(match: re.Match[str]) -> str:
    text = match[0]
    if text[0] == "\\":
        return text[1:]
    return text[1:-1] if text[0] == "'" else _ESCAPED.sub(r"\1", text[1:-1])


@lru_cache(maxsize=256)
def _split(line: str) -> tuple[Part, ...]:
    """The simple commands of a line as they are written."""
    text = _without_documents(line[:LONGEST]) if "<<" in line else line[:LONGEST]
    pieces: list[tuple[str, str]] = []
    operator = ""
    start = 0
    quote = ""
    depth = 0
    for match in _SIGN.finditer(text):
        sign = match[0]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in ("'", '"', "`"):
            quote = sign
        elif sign == "$(":
            depth += 1
        elif depth:
            depth += (sign == "(") - (sign == ")")
        elif sign in _OPERATORS:
            pieces.append((operator, text[start : match.start()]))
            operator = _OPERATORS[sign]
            start = match.end()
    pieces.append((operator, text[start:]))
    stripped = [(before, piece.strip(" \t(){}")) for before, piece in pieces]
    stripped = [(before, piece) for before, piece in stripped if piece and piece[0] != "#"]
    following = [*(before for before, _ in stripped), ""][1:]
    return tuple(
        Part(piece, before, after)
        for (before, piece), after in zip(stripped, following, strict=True)
    )


def _without_documents(text: str) -> str:
    """A line without the text of its here-documents."""
    here = _HERE.search(text)
    head = text.find("\n", here.end()) if here else -1
    while here and head >= 0:
        end = head
        for row in text[head + 1 :].split("\n"):
            end += 1 + len(row)
            if row.strip() == here[2]:
                break
        text = text[:head] + text[end:]
        here = _HERE.search(text, here.end())
        head = text.find("\n", here.end()) if here else -1
    return text


def words(part: str) -> list[str]:
    """The words of a simple command without wrappers and assignments: `sudo A=1 make` is `make`."""
    return _bare(part.split())


def _bare(remaining: list[str]) -> list[str]:
    while remaining and (remaining[0] in _WRAPPERS or _ASSIGNMENT.match(remaining[0])):
        numbered = remaining[0] in _WITH_NUMBER
        remaining = remaining[1:]
        while (
            numbered and remaining and (remaining[0][:1].isdigit() or remaining[0].startswith("-"))
        ):
            remaining = remaining[1:]
    return remaining


def program(command: list[str]) -> str:
    """A program and its verb, without folders and options: `mix test`, `pytest`."""
    name = command[0].rstrip("/").rsplit("/", 1)[-1] if command else ""
    if name.startswith("python") and command[1:2] == ["-m"] and len(command) > 2:
        return program(command[2:])
    words = command[3:] if command[1:2] == ["-C"] else command[1:]  # git in another folder
    options = (word for word in words[:2] if word[:1].isalpha())
    return f"{name} {next(options, '')}".strip()


def acts(command: list[str]) -> bool:
    """Whether a simple command does something that can go wrong, more than looking around."""
    name, _, verb = program(command).partition(" ")
    if name in READING or name in _KEYWORDS:
        return False
    return bool(name) and not (name == "git" and verb in GIT_READING)


def prepares(command: list[str]) -> bool:
    """Whether a command only prepares those behind it, and is silent unless it fails."""
    return command[0] in _PREPARING or "\0".join(command[:2]) in _PREPARING


def carried(command: list[str]) -> list[str]:
    """The words of the program that another one runs elsewhere: `docker exec web pytest`."""
    name = command[0].rsplit("/", 1)[-1] if command else ""
    if name in _CARRIERS and (name not in _CONTAINERS or {"exec", "run"} & set(command[1:4])):
        for number in range(1, min(_PREFIX, len(command))):
            if _runner(_plain(command[number:])):
                return _plain(command[number:])
    return command


def hidden(line: str) -> list[list[str]]:
    """The words of each acting command whose failure an exit code of 0 does not rule out.

    A pipe gives the code of its last command, `a; b` that of b, and `a || b` is content with
    either of them.
    """
    every = _split(line)
    stops = bool(_STOPS.search(line[:LONGEST]))
    piped = "pipefail" not in line
    hiding = []
    loops = 0
    for number, part in enumerate(every):
        command = words(part.text)
        first = part.text.split()[0]
        loops += (first == "do") - (first == "done")
        script = _script(part.text)
        if not (script or acts(command)):
            continue
        negated = first in ("!", "if", "while", "until", "elif")
        again = loops > 0 and not stops and part.after != "||"
        piping = part.after == "|" and piped
        if negated or again or piping or _is_forgiven(every[number:], stops):
            hiding += acting(part.text)
        elif script:
            hiding += hidden(script[1])
    return hiding


def acting(line: str) -> list[list[str]]:
    """The words of each command of a line that does more than looking around."""
    return [command for part in parts(line) if acts(command := words(part.text))]


def without_filters(line: str) -> str:
    """A line without what only shortens its output: `pytest 2>&1 | tail -5` is `pytest`."""
    every = _split(line)
    last = len(every)
    while last > 1 and every[last - 1].before == "|" and not acts(words(every[last - 1].text)):
        last -= 1
    end = line.rfind(every[last - 1].text) if last < len(every) else -1
    return line[: end + len(every[last - 1].text)].removesuffix(" 2>&1") if end >= 0 else line


def _is_forgiven(rest: tuple[Part, ...], stops: bool) -> bool:
    """Whether a line goes on as if nothing was when its first command fails."""
    for part, following in pairwise(rest):
        if part.after == "||" and words(following.text)[:1] not in (
            ["exit"],
            ["return"],
            ["false"],
        ):
            return True
        if part.after == ";":
            return not stops and following.text.split()[0] not in ("then", "do", "fi", "done")
    return False


# Which success is one of the command that failed

_RUNNERS = frozenset(
    tuple(row.split())
    for row in (
        *("pytest", "py.test", "unittest", "jest", "vitest", "mocha", "ava", "rspec", "phpunit"),
        *("pest", "ctest", "bats", "gotestsum", "go test", "cargo test", "cargo nextest run"),
        *("mix test", "bun test", "deno test", "dotnet test", "swift test", "rails test"),
        *("manage.py test", "artisan test", "flutter test", "go vet", "go build"),
        *("ruff check", "ruff format", "black", "mypy", "pyright", "eslint", "flake8"),
        *("prettier", "golangci-lint run"),
    )
)
"""Programs that run tests or checks: their words say which, and none means all of them."""
_PACKAGE_MANAGERS = frozenset("npm pnpm yarn".split())
_BUILDERS = frozenset("make gmake ninja gradle gradlew mvn mvnw mvnd".split())
"""Programs whose words are what to do, one after the other."""
_CARRIERS = frozenset(
    "docker docker-compose podman kubectl ssh coverage xvfb-run dotenv nix direnv mise".split()
)
"""Programs that run another one somewhere else or in another way."""
_CONTAINERS = frozenset("docker docker-compose podman".split())
_EXECUTORS = frozenset(
    (name, verb)
    for verb, names in (("exec", "bundle npm pnpm yarn"), ("run", "hatch pdm pixi rye"))
    for name in names.split()
)
_PREPARING = frozenset("rm cp mv chmod ln git\0add".split())
"""Commands that only prepare what stands behind them in a line."""
_QUIET = re.compile(
    r"-(?:q+|v+|j\d*)|--(?:quiet|silent|verbose|no-?colou?r|colou?rs?(?:=.*)?|jobs(?:=.*)?)"
)
"""Options that change what is printed or how fast it is, and not what is done."""
_QUIET_TESTS = re.compile(
    r"-[qvsxl]+|-r[a-zA-Z]{1,8}|-n\d+|-count=\d+|--(?:exitfirst|no-header|no-summary|run|ci|bail"
    r"|nocapture|no-capture|show-output|no-fail-fast|no-?cov(?:erage)?|coverage|watch=false"
    r"|watchAll=false|runInBand|no-cache|fix|check|diff|write|cov(?:-\w+)?(?:=.*)?"
    r"|(?:tb|maxfail|reporters?|format|durations|numprocesses|color|log-level|verbosity)=.*)",
    re.DOTALL,
)
_QUIET_VALUED = frozenset(
    "-n -j --jobs --tb --maxfail --reporter --durations --numprocesses".split()
)
_NARROWING = frozenset(
    """-k -m -t -g -e -run -skip --grep --filter --tests --testNamePattern --test-name-pattern
    --testPathPattern --testPathPatterns --example --group --testsuite --only""".split()
)
"""Options whose value says which tests run."""
_NARROWED = frozenset("--lf --last-failed --failed --only-failures --onlyChanged --changed".split())
_MESSAGES = frozenset("-m -am -F -b -t --message --file --body --title".split())
_OUTPUT = re.compile(r"(?:\d|&)?>")
_OUTPUT_ALONE = re.compile(r"(?:\d|&)?>[>|]?")
_LIKE = 0.6
"""Share of words from which a script in a here-document is the same one, tried again."""


class Command(NamedTuple):
    """A command of a line, as it is compared with another."""

    place: str
    """The folder and the container or host in which it runs; empty where the line names none."""
    head: tuple[str, ...]
    """Its program and verb, or all of its words where nothing is known about them."""
    targets: tuple[str, ...] = ()
    """Tests, files, or what to build."""
    narrowing: frozenset[str] = frozenset()
    """Options that let it run a part of the tests."""
    options: frozenset[str] = frozenset()
    document: frozenset[str] = frozenset()
    """The words of a here-document that it reads."""


def covers(success: str, failed: str) -> bool:
    """Whether a command line that succeeded has run all that another one did when it failed.

    It is the same command, whatever is done with its output; or it runs the same tests and more:
    `pytest` covers `pytest tests/a.py`, and `npm test && npm run lint` covers `npm test`. The same
    command in another folder is another one.
    """
    failure = commands(failed)
    return bool(failure) and not uncovered(success, failure)


def repeats(line: str, earlier: str) -> bool:
    """Whether a line runs the same as an earlier one, or that without a wrapper."""
    again = commands(line)
    before = commands(earlier)
    if covers(line, earlier) and covers(earlier, line):
        return True
    return len(again) == len(before) and all(map(_is_wrapped, again, before))


def uncovered(success: str, failure: tuple[Command, ...]) -> tuple[Command, ...]:
    """Those of some commands that failed together which a line that succeeded has not run."""
    ran = commands(success)
    left = []
    for command in failure:  # called often: without generators
        for other in ran:
            if _includes(other, command) or _is_wrapped(other, command):
                break
        else:
            left.append(command)
    return tuple(left)


def _is_wrapped(ran: Command, failure: Command) -> bool:
    """Whether a command failed behind a program that did not know it, and ran in another way.

    `rtk bun run test` failed, then `bun run test` or `rtk test bun run test` did not.
    """
    inner = failure.head[1:]
    if len(inner) < 2 or ran.place != failure.place:
        return False
    words = (*ran.head, *ran.targets)
    if ran.head[0] == failure.head[0] and ran.head != failure.head:
        return words[-len(inner) :] == inner
    plain = commands(" ".join(inner))
    return len(plain) == 1 and _includes(ran, plain[0]._replace(place=ran.place))


@lru_cache(maxsize=512)
def commands(line: str) -> tuple[Command, ...]:
    """What a line is run for: no looking around, no preparation, nothing that stands in for it.

    All of it where nothing else is left.
    """
    text = line[:LONGEST]
    in_documents = frozenset(text.split()).difference(_without_documents(text).split())
    every = _commands(line, "", in_documents)
    certain = [command for command, before in every if before != "||"]
    doing = [command for command in certain if acts([*command.head, *command.targets])]
    main = [command for command in doing if not prepares([*command.head])]
    return tuple(main or doing or certain)


def _commands(line: str, place: str, document: frozenset[str]) -> list[tuple[Command, str]]:
    """The commands of a line and the operator before each."""
    folder = ""
    every: list[tuple[Command, str]] = []
    for part in _split(line):
        script = _script(part.text)
        if script:
            inside = " ".join(filter(None, (place, folder, script[0])))
            every += _commands(script[1], inside, document)
            continue
        # Words without redirections of the output and the marks of here-documents.
        chosen = []
        skip = False
        for word in tokens(part.text):
            if skip:
                skip = False
            elif _OUTPUT.match(word):
                skip = bool(_OUTPUT_ALONE.fullmatch(word))
            elif not (word.startswith("<<") and not word.startswith("<<<")):
                chosen.append(word)
        arguments = _bare(chosen)
        if not arguments:
            continue
        if arguments[0] in ("cd", "pushd"):
            target = unquoted(arguments[1]) if len(arguments) > 1 else "~"
            folder = posixpath.normpath(posixpath.join(folder, target))
            folder = "" if folder == "." else folder
            continue
        here = " ".join(filter(None, (place, folder)))
        command = _command(here, [unquoted(word) for word in arguments])
        if "<<" in part.text and "$(" not in part.text:
            command = command._replace(document=document)
        every.append((command, part.before))
    return every


_VERSIONING = frozenset("git gh glab hg jj".split())
"""Programs whose messages say nothing about what is run."""


def _command(place: str, arguments: list[str]) -> Command:
    arguments = _plain(arguments)
    if arguments[0] in _CARRIERS:
        for number in range(1, min(_PREFIX, len(arguments))):
            inner = _plain(arguments[number:])
            if _runner(inner):
                return _command(" ".join(filter(None, (place, *arguments[:number]))), inner)
    head = _runner(arguments)
    if head or arguments[0] in _BUILDERS:
        head = head or (arguments[0],)
        return _selection(place, head, arguments[len(head) :])
    if arguments[0] == "git" and arguments[1:2] in (["commit"], ["add"]):
        return Command(place, tuple(arguments[:2]))  # whatever it says, it commits what is there
    if arguments[0] in _VERSIONING:
        arguments = [
            word
            for before, word in zip(["", *arguments], arguments, strict=False)
            if before not in _MESSAGES
            and not word.startswith(("--message=", "--body=", "--title="))
        ]
    return Command(
        place, (arguments[0], *(word for word in arguments[1:] if not _QUIET.fullmatch(word)))
    )


def _plain(arguments: list[str]) -> list[str]:
    """Words with the name of the program alone, as it is known without what starts it."""
    arguments = [arguments[0].rstrip("/").rsplit("/", 1)[-1] or arguments[0], *arguments[1:]]
    if arguments[0].startswith("python") and len(arguments) > 1:
        if arguments[1] == "-m" and len(arguments) > 2:
            return arguments[2:]
        if arguments[1].endswith(".py"):
            return _plain(arguments[1:])
    if tuple(arguments[:2]) in _EXECUTORS and len(arguments) > 2:
        return _plain(
            arguments[3:] if arguments[2] == "--" and len(arguments) > 3 else arguments[2:]
        )
    if (
        arguments[0] in _PACKAGE_MANAGERS
        and len(arguments) > 2
        and arguments[1] in ("run", "run-script")
    ):
        arguments = [arguments[0], *arguments[2:]]
    # As with `--fix`: what is left after a repair is what the check finds.
    arguments = [word.removesuffix(":fix") for word in arguments]
    if arguments[:2] == ["npm", "t"]:
        arguments[1] = "test"
    if arguments[:2] == ["vitest", "run"]:
        arguments = ["vitest", *arguments[2:]]
    return arguments


def _runner(arguments: list[str]) -> tuple[str, ...]:
    """The words that name a program which runs tests or checks; none if it does not."""
    for length in (3, 2, 1):
        if tuple(arguments[:length]) in _RUNNERS:
            return tuple(arguments[:length])
    length = 3 if arguments[:2] == ["bun", "run"] else 2
    script = arguments[length - 1] if len(arguments) >= length else ""
    scripted = arguments[0] in _PACKAGE_MANAGERS or length == 3
    return tuple(arguments[:length]) if scripted and "test" in script else ()


def _selection(place: str, head: tuple[str, ...], rest: list[str]) -> Command:
    """A command that runs tests, checks or targets, its words by what they mean."""
    quiet = _QUIET if head[0] in _BUILDERS else _QUIET_TESTS
    targets = []
    narrowing = set()
    options = set()
    following = iter(rest)
    for word in following:
        name, equals, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            targets.append(word.removeprefix("./").rstrip("/") or ".")
        elif name in _NARROWING:
            narrowing.add(f"{name} {value if equals else next(following, '')}")
        elif word in _NARROWED or name in ("-Dtest", "-Dit.test"):
            narrowing.add(word)
        elif word in _QUIET_VALUED:
            next(following, "")
        elif word != "--" and not (quiet.fullmatch(word) or _QUIET.fullmatch(word)):
            options.add(word)
    if head[0] == "go" and not targets:
        targets = ["."]
    return Command(place, head, tuple(targets), frozenset(narrowing), frozenset(options))


def _includes(ran: Command, failure: Command) -> bool:
    """Whether a command that ran has done all that the failed command tried."""
    if ran.place != failure.place or ran.head != failure.head or ran.options != failure.options:
        return False
    shared = len(ran.document & failure.document)
    if shared < _LIKE * len(ran.document | failure.document):
        return False
    if not ran.narrowing <= failure.narrowing:
        return False
    if ran.head[0] in _BUILDERS:
        equal = ran.targets == failure.targets
        return equal or (bool(failure.targets) and set(failure.targets) <= set(ran.targets))
    if not ran.targets or ran.targets == failure.targets:
        return True
    return bool(failure.targets) and all(
        any(_is_within(path, folder, ran.head[0]) for folder in ran.targets)
        for path in failure.targets
    )


def _is_within(path: str, folder: str, program: str) -> bool:
    """Whether a test, a file or a folder is one of those that a word selects."""
    if path == folder:
        return True
    if program == "go":
        above = folder.removesuffix("...").rstrip("/") if folder.endswith("...") else None
        return above is not None and (above in ("", ".") or f"{path}/".startswith(f"{above}/"))
    if folder == ".":
        return not path.startswith(("/", ".."))
    marks = (".",) if program in ("unittest", "manage.py") else ("/", "::", ":")
    return path.startswith(tuple(folder + mark for mark in marks))
