"""Time grows with the text and not with its square, whatever the text is."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest

from kinen.consolidation import documents
from kinen.distill import relevance
from kinen.hooks import git
from kinen.privacy import names, shapes, words
from kinen.privacy.injected import asks_kinen, own_words, without_reminders
from kinen.privacy.masking import mask
from kinen.privacy.quote import marked
from kinen.text import choices, labels, statements
from kinen.transfer import goldfish
from worst_cases import GROWTH, growth, pumps, times_dearer

if TYPE_CHECKING:
    from collections.abc import Callable

EXPRESSIONS = {
    *(
        shapes.token_expression(prefix, body, how)
        for _, prefixes, body, how in words.TOKENS
        for prefix in prefixes
    ),
    *(row[2] for row in (*shapes.PLACED, *shapes.PHRASES)),
    *(expression for rows in shapes.COMMANDS.values() for expression in rows),
    *(shapes.call_of(command) for command in shapes.COMMANDS),
    *shapes.EXPRESSIONS.values(),
    *names.EXPRESSIONS,
}
SEARCHED = EXPRESSIONS - {
    # These are matched at one place each, or only see short values.
    shapes.EXPRESSIONS["key_text"],
    shapes.EXPRESSIONS["continued"],
    shapes.EXPRESSIONS["entry"],
    *names.WHOLE.values(),
    *(names.PLACEHOLDER, names.SAMPLE, names.CODE, names.NAMES_OF_CODE),
    *(names.LAST_HUMP, names.HUMPS, names.RANDOM, names.UUID, names.SETTER),
}
NAMES = ("password", "pass", "token", "api_key", "contraseña", "mot de passe", "密码", "x_key")
USES = (
    *("{}=", "{}==", "{}: ", "{} ", '{}="', "{}='", "{} is ", "{}=$1", "{}_id=1", "{}=a", "--{} "),
    *(
        "{} = x1y2z3w4 ",
        "--{} a1b2c3d4 ",
        "{}=abcdef1(",
        "{}_{}_{}_id=1a2b3c",
        '{}="x1\\"',
        "{}=!a1",
    ),
    *(
        "{}是",
        '{}("',
        "{}', '",
        '{}" value="',
        "{}>a1b2c3</",
        "--{}",
        "ENV {} a1b2c3 ",
        "{} for a ",
    ),
    *("{} for the server is ", "{}: str = ", "{} is a1b2c3d,", "{}=1{}=", "{}:1{}:", "{}:\n"),
)
TEXTS = (
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----!", "-----END PRIVATE KEY-----"),
    "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----!",
    *("<private>", "<private", "< private ", "<private>a</private>", "</private>", "`<private>`"),
    *("://", "://a:", "://a:b/", "://a:b@", "://a:b@h ", "://:/@", "@://a:/@", "a\\\n", "\\\n"),
    *(
        "a1\\\nb \\\n",
        "token=\\\n",
        "mysql -p",
        "mysql a",
        "curl -u a",
        "curl -u a:",
        "sshpass -p ",
    ),
    *("htpasswd -b ", "htpasswd -b a b ", 'variable "token" {', 'variable "key" { default ', "a="),
    *("cookie: a=$", "cookie: a=b", "Authorization: ", "machine a login b ", "a", "-", " ", "\n"),
    *("%3D", "token%3D", "%253Da1", "\\u0026", "&quot;", "\x1b[31m", "\\/", "a%20b\n", '\\\\"'),
    *(
        "kind: Secret\n",
        "kind: Secret\ndata:\n  a: b\n",
        "data:\n  a: |\n   b\n",
        "\n---\nkind: Secret",
    ),
    *('{"kind":"Secret","data":{"a":"bcde"}}', '"data":{', '"kty"', '"kty" "d"', "a:5432:b:c:d1\n"),
    *(
        "echo a1b2c3|sudo -S ",
        "recovery codes\na1b2-c3d4\n",
        "seed phrase: ",
        "abc ",
        "$6$a$",
        "$2y$10$",
    ),
    *(
        "discord ",
        "Private-Lines: 1\n",
        "auth=('a','b1",
        "cookies={'a':'",
        "://a1b2c3d4e5f6g7h8i9j0k1@",
    ),
    *(
        "curl -b a=",
        "gh secret -b ",
        "sqlplus a/b@",
        " login -p ",
        "zip -P ",
        "lftp -u a,",
        "creds a:",
    ),
    *('"', "<", "[masked:secret] ", "[masked:", "eyJabcdefgh.", "é", "İtoken=", "bearer ", "sig="),
)
BLOCKS = (
    *("<system-reminder>", "</system-reminder>", "<system-reminder>a</system-reminder>", "<skill "),
    *(
        "<kinen-memory>",
        "</kinen-memory>",
        "<kinen-memory></kinen-memory>",
        "<",
        "</",
        "kinen-memory",
    ),
    *("<system-reminder></system-reminder", "<command-name>", "</command-args>", "<skill><skill>"),
    "<kinen-memory><system-reminder></kinen-memory></system-reminder>",
    *("&lt;", "&#0000", "\\u003c", "\\n", "<|", "<|a", "< /", "<a b", "<system reminder", "Human:"),
    *("Human:\n", "[INST]", "[Request interrupted", "<a" + "b" * 80, "<" + " " * 39),
)
COMMANDS = (
    "a=b ",
    "a=b kinen ",
    "kinen;",
    "env ",
    "uv run ",
    "( ",
    "$(",
    "- kinen ",
    ";kinen",
    "&&",
)


OTHERS: tuple[tuple[re.Pattern[str] | re.Pattern[bytes], str], ...] = (
    (git._BLOCK, "# >>> kinen >>>\n"),
    (git._BLOCK, "# >>> kinen >>>\n# <<"),
    (git._HANDS_ITSELF_ON, "exec "),
    (git._HANDS_ITSELF_ON, "exec $"),
    (relevance._NAMED, "#"),
    (relevance._NAMED, "a/"),
    (relevance._NAMED, "~"),
    (labels._LABEL, "**a "),
    (labels._LABEL, "a "),
    (labels._TEMPLATE, "{a "),
    (labels._TEMPLATE, "<a "),
    (labels._ASIDE, "(a"),
    (documents._QUOTE, "> a\n"),
    (choices.FENCE, "```\n"),
    (documents._BREAKS, "BREAKING CHANGE: a\n"),
    (documents._DATE, "**date** "),
    (choices._ITEM, "- [ ] "),
    (choices._ITEM, "1. "),
    (choices.FENCE, "~~~\n"),
    (statements.STRUCTURED, "** "),
    (statements._RULE_CLAUSE, " - "),
    (goldfish._COMMENT, "<!--\n"),
    (goldfish._COMMENT, "<!--\na\n"),
)
"""Expressions that see long texts of others, each with what was or may be slow for it."""


DENSE = (
    *(
        "sshpass -p ",
        "mysql -pabc ",
        "mysql -p{} ",
        'pwd="',
        'pwd="{}" ',
        "password = {} ",
        "token=",
    ),
    *("://a:b@h ", "htpasswd -b a b;", "htpasswd -b a {};", "--pwd {} ", "password is a1b2c3d "),
    *("cookie: a=bcdefghij\n", "bearer a1b2c3d4e5f6a1b2c3 ", ";curl -u a:{}", "[masked:secret] "),
    "htpasswd -b TOKEN\\\n",
    "machine a login b password é\nhtpasswd -b {}",
    "<password>AKIAé\\\ndocker login/\n?sig=",
    "htpasswd -b {TOKEN\\\n",
    "\" = machine a login b password b'é\nhtpasswd -b {}",
    *("pwd:{} ", "pwd={}\\\n", "é://a:{}@h ", "mysql -p{};", "htpasswd -b é {};"),
)
"""Units of which a text is made that has as many matches as can be, `{}` different each time."""
MASKING = 30.0
"""Python's time for each character, in times, that masking may take for such a text."""


def dense(unit: str, size: int = 250_000) -> str:
    """A text made of a unit."""
    values = random.Random(3)
    pieces = []
    length = 0
    while length < size:
        pieces.append(unit.replace("{}", f"{values.randrange(16**7, 16**8):x}g"))
        length += len(pieces[-1])
    return "".join(pieces)[:size]


def repeated(text: str) -> Callable[[int], str]:
    return lambda size: (text * (size // len(text) + 1))[:size]


@pytest.mark.parametrize("expression", sorted(SEARCHED))
def test_an_expression_of_masking_is_linear_in_its_own_worst_cases(expression: str) -> None:
    pattern = re.compile(expression, re.ASCII)
    for pump in pumps(expression, re.ASCII):
        ratio = growth(lambda text: sum(1 for _ in pattern.finditer(text)), pump, 1 << 14)
        assert ratio <= GROWTH, repr(pump(80))


@pytest.mark.quick
@pytest.mark.parametrize(("pattern", "text"), OTHERS, ids=range(len(OTHERS)))
def test_an_expression_for_long_texts_is_linear(
    pattern: re.Pattern[str] | re.Pattern[bytes], text: str
) -> None:
    def search(whole: str) -> None:
        if isinstance(pattern.pattern, bytes):
            pattern.sub(b"", whole.encode())  # type: ignore[arg-type, call-overload]
        else:
            pattern.sub("", whole)  # type: ignore[arg-type, call-overload]

    assert growth(search, repeated(text), 1 << 15) <= GROWTH


@pytest.mark.quick
def test_every_expression_that_masking_compiles_is_in_a_table() -> None:
    for name in NAMES:
        for use in USES:
            mask(repeated(use.format(name, name, name))(2_000))
    for text in TEXTS:
        mask(repeated(text)(2_000))
    assert set(shapes._patterns) <= EXPRESSIONS


@pytest.mark.parametrize("use", USES)
def test_masking_is_linear_in_names_of_secrets(use: str) -> None:
    for name in (NAMES[0], NAMES[-1]):
        assert growth(mask, repeated(use.format(name, name, name))) <= GROWTH, name


@pytest.mark.parametrize("text", TEXTS, ids=repr)
def test_masking_is_linear_in_what_its_scanners_look_for(text: str) -> None:
    assert growth(mask, repeated(text)) <= GROWTH


@pytest.mark.parametrize("word", [row[1][0] for row in (*words.TOKENS, *shapes.PLACED)], ids=repr)
def test_masking_is_linear_in_the_words_of_tokens(word: str) -> None:
    for text in (word, f"{word} ", f"!{word}" + "a1B2c3D4" * 4):
        assert growth(mask, repeated(text)) <= GROWTH, text


def every_character(text: str) -> int:
    """Python's work for a text of this length: a yardstick that is the same on any machine."""
    total = 0
    for character in text:
        total += ord(character)
    return total


@pytest.mark.parametrize("unit", DENSE, ids=repr)
def test_a_text_that_is_full_of_matches_is_masked_quickly(unit: str) -> None:
    whole = dense(unit)
    assert times_dearer(mask, whole, every_character, MASKING) <= MASKING


@pytest.mark.quick
@pytest.mark.parametrize("text", BLOCKS)
def test_leaving_out_blocks_is_linear(text: str) -> None:
    for rule in (own_words, without_reminders, marked):
        assert growth(rule, repeated(text)) <= GROWTH, rule


@pytest.mark.quick
@pytest.mark.parametrize("text", COMMANDS)
def test_looking_for_kinen_in_a_command_is_linear(text: str) -> None:
    assert growth(lambda line: asks_kinen(f"{line} kinen"), repeated(text)) <= GROWTH
