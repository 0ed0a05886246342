"""The structure of a shell line: which programs it runs, and whose failure its exit code shows."""

from __future__ import annotations

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
_WITH_NUMBER = frozenset(("timeout", "nice"))
_ASSIGNMENT = re.compile(r"\w+=\S*$")
_HERE = re.compile(r"<<-?\s*(['\"]?)(\w{1,60})\1")
_SIGN = re.compile(r"\\.|['\"`]|\$\(|[()]|&&|\|\||\|&|[|;\n]|(?<![<>])&(?!>)", re.DOTALL)
_OPERATORS = {"&&": "&&", "||": "||", "|": "|", "|&": "|", ";": ";", "\n": ";", "&": ";"}
_STOPS = re.compile(r"set -\w*e|set -o errexit|bash -\w*e")


class Part(NamedTuple):
    """A simple command of a line, and what stands before and behind it."""

    text: str
    before: str
    """The operator before it: `&&`, `||`, `|`, `;` (also for a new line and `&`), or nothing."""
    after: str


@lru_cache(maxsize=256)
def parts(line: str) -> tuple[Part, ...]:
    """The simple commands of a line. What is quoted, substituted or in a here-document is text."""
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
    remaining = part.split()
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
    options = (word for word in command[1:3] if word[:1].isalpha())
    return f"{name} {next(options, '')}".strip()


def acts(command: list[str]) -> bool:
    """Whether a simple command does something that can go wrong, more than looking around."""
    name, _, verb = program(command).partition(" ")
    return bool(name) and name not in READING and not (name == "git" and verb in GIT_READING)


def hidden(line: str) -> list[list[str]]:
    """The words of each acting command whose failure an exit code of 0 does not rule out.

    A pipe gives the code of its last command, `a; b` that of b, and `a || b` is content with
    either of them.
    """
    every = parts(line)
    stops = bool(_STOPS.search(line[:LONGEST]))
    piped = "pipefail" not in line
    hiding = []
    for number, part in enumerate(every):
        command = words(part.text)
        if not acts(command):
            continue
        negated = part.text.split()[0] in ("!", "if", "while", "until", "elif")
        if negated or (part.after == "|" and piped) or _is_forgiven(every[number:], stops):
            hiding.append(command)
    return hiding


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
