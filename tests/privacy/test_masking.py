"""Secrets go, whatever they stand in; what only looks like one stays as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import secrets_corpus as corpus
from kinen.privacy import entrance
from kinen.privacy.masking import evidence, mask, mask_values
from kinen.privacy.words import OPTIONS, SIGNS_OF_OPTIONS, lower
from secret_shapes import (
    LOOK_ALIKES,
    SECRETS,
    SEEDS,
    look_alike_stays,
    shape_is_masked,
    shapes,
)
from secret_shapes import made as filled
from secrets_corpus import BASE64, HEX, SETTINGS, UPPER, Secret
from secrets_corpus import token as made

MISSES = {
    "poetry config pypi-token.pypi «{alnum:60}»",
    "AUTH «{pwa}» SET a 1",
    'resource "random_password" "x" {   result = "«{pw}»" }',
    "credentials: ada:«{pw}»",
    "login ada / «{pw}»",
}
"""Shapes that docs/security.md names as missed."""
OLDER_MISSES = {
    *("english, credentials", "user and password", "english, pin", "python call", "mnemonic"),
    *("seafile token", "gcp service account"),
}


def is_masked(row: Secret) -> bool:
    output, results = mask(row.whole)
    return bool(results) and row.secret not in output and row.secret[-12:] not in output


def test_every_option_of_a_command_has_a_sign() -> None:
    for option, _ in OPTIONS:
        assert any(sign in option for sign in SIGNS_OF_OPTIONS), option


@pytest.mark.parametrize("row", corpus.TOKENS, ids=lambda row: row[1][:12])
def test_a_token_goes_and_the_text_around_it_stays(row: corpus.Token) -> None:
    name, head, letters, length, tail = row
    secret = head + made(head, length, letters) + tail
    for setting in SETTINGS:
        before, after = setting.split("{}")
        output, results = mask(before + secret + after)
        assert secret[-12:] not in output, output
        assert {name, "secret", "password"} & set(results), (results, output)
        assert output.startswith(before)
        assert output.endswith(after)


@pytest.mark.parametrize(
    "before",
    ["-", "+", "\n-", "\n+", "\n--", "\n -", "\r\n-", "'-", '{"diff": "a\\n-', "a\\n+", "a\\r\\n"],
    ids=repr,
)
def test_a_bare_token_on_a_line_of_a_diff_goes(before: str) -> None:
    for _, head, letters, length, tail in corpus.TOKENS:
        secret = head + made(head, length, letters) + tail
        output, results = mask(f"{before}{secret}\n")
        assert secret[-12:] not in output, output
        assert output.startswith(before), head
        assert sum(results.values()) == 1, head


@pytest.mark.parametrize("before", ["my-", "a--", "\n---", "x_", "-a-", "\n-my-"], ids=repr)
def test_a_common_beginning_within_a_longer_word_is_no_token(before: str) -> None:
    for head, length in (("key-", 32), ("hf_", 34), ("sk-", 48), ("dapi", 32)):
        text = f"{before}{head}{made(head, length, HEX)}\n"
        assert mask(text) == (text, {})


@pytest.mark.parametrize("before", ["my-", "x_", "token", "%3D", "%253d", "\x1b[31m"], ids=repr)
def test_a_token_that_is_unmistakable_goes_wherever_it_stands(before: str) -> None:
    for head, length in (("ghp_", 36), ("glpat-", 20), ("sk_live_", 24), ("github_pat_", 82)):
        secret = head + made(head, length)
        output, _ = mask(f"a {before}{secret} b")
        assert output.startswith(f"a {before}[masked:")
        assert output.endswith("] b")


@pytest.mark.parametrize(
    "before", ["%3D", "%253d", "%22", "\x1b[31m", "\\u0026", "&quot;"], ids=repr
)
def test_what_an_escape_ends_with_is_not_part_of_a_word(before: str) -> None:
    for _, head, letters, length, tail in corpus.TOKENS:
        secret = head + made(head, length, letters) + tail
        output, _ = mask(f"a {before}{secret}{before} b")
        assert secret[-12:] not in output, head
        assert output.startswith(f"a {before}"), head
        assert output.endswith(f"{before} b"), head


@pytest.mark.parametrize(("name", "text", "secret"), corpus.ASSIGNED)
def test_what_a_name_is_given_goes_and_the_name_stays(name: str, text: str, secret: str) -> None:
    before, after = text.split("{}")
    output, results = mask(before + secret + after)
    assert set(results) == {name}, (results, output)
    if name == "cookie":
        assert secret not in output
    else:
        assert output == f"{before}[masked:{name}]{after}"


@pytest.mark.parametrize("row", corpus.SECRETS, ids=lambda row: row.kind)
def test_a_known_shape_of_a_secret_is_masked(row: Secret) -> None:
    assert is_masked(row), mask(row.whole)


@pytest.mark.parametrize("text", corpus.LOOK_ALIKES)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert mask(text) == (text, {})


def test_no_secret_of_the_older_corpus_is_missed_that_was_masked() -> None:
    """These were held back from older rules, which masked 46 of the 105 secrets."""
    secrets = (*corpus.HELD_BACK_SECRETS, *corpus.NEWER_SECRETS)
    look_alikes = (*corpus.HELD_BACK_LOOK_ALIKES, *corpus.NEWER_LOOK_ALIKES)
    missed = [row.kind for row in secrets if not is_masked(row)]
    assert set(missed) <= OLDER_MISSES
    assert all(mask(text) == (text, {}) for text in look_alikes)


@pytest.mark.parametrize("half", ["tuned", "held"])
def test_98_of_100_shapes_of_secrets_are_masked(half: str) -> None:
    every = [shape for shape in shapes(SECRETS) if shape.half == half]
    missed = [shape.kind for shape in every if not shape_is_masked(shape)]
    assert len(missed) <= 0.02 * len(every), missed
    assert set(missed) <= MISSES


@pytest.mark.parametrize("half", ["tuned", "held"])
def test_98_of_100_look_alikes_stay(half: str) -> None:
    every = [shape for shape in shapes(LOOK_ALIKES) if shape.half == half]
    wrong = [shape.kind for shape in every if not look_alike_stays(shape)]
    assert len(wrong) <= 0.02 * len(every), wrong


def test_the_shapes_are_as_many_as_promised() -> None:
    assert len({shape.text for shape in shapes(SECRETS)}) >= 500
    assert len({shape.text for shape in shapes(LOOK_ALIKES)}) >= 500


def test_the_corpus_is_as_large_as_promised() -> None:
    held_back = (*corpus.HELD_BACK_SECRETS, *corpus.NEWER_SECRETS)
    held_back_look_alikes = {*corpus.HELD_BACK_LOOK_ALIKES, *corpus.NEWER_LOOK_ALIKES}
    secrets = (*corpus.SECRETS, *held_back)
    look_alikes = {*corpus.LOOK_ALIKES, *held_back_look_alikes}
    assert len(secrets) >= 150
    assert len({row.kind for row in secrets}) >= 60
    assert len(look_alikes) >= 150
    assert len(held_back) >= len(secrets) / 3
    assert len(held_back_look_alikes) >= len(look_alikes) / 3


def test_lower_case_keeps_every_place() -> None:
    every = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    assert len(lower(every)) == len(every)


def test_a_mention_of_a_key_does_not_hide_what_follows_it() -> None:
    end = PEM.format("").replace("BEGIN", "END")
    text = f"{PEM.format('')} begins a key! {'prose. ' * 10_000}{end}"
    assert "prose. prose." in mask(text)[0]


PEM = "-----BEGIN {}PRIVATE KEY-----"


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n"])
def test_private_keys_go_whole(kind: str, newline: str) -> None:
    body = newline.join(made(f"pem{n}", 64, BASE64) for n in range(4))
    block = newline.join([PEM.format(kind), body, PEM.format(kind).replace("BEGIN", "END")])
    output, results = mask(f"before {block} after")
    assert output == "before [masked:private_key] after"
    assert results == {"private_key": 1}


def test_a_key_that_was_cut_off_goes_as_far_as_it_runs() -> None:
    body = "\n".join(made(f"cut{n}", 64, BASE64) for n in range(3))
    output, results = mask(f"x = '{PEM.format('RSA ')}\n{body}'; y = 2")
    assert output == "x = '[masked:private_key]'; y = 2"
    assert results == {"private_key": 1}


@pytest.mark.parametrize(
    ("text", "shown", "count"),
    [
        ("a <private>b</private> c", "a [private] c", 1),
        ("a <PRIVATE>b\n\nc</Private> d", "a [private] d", 1),
        ("a <private>b <private>c</private> d</private> e", "a [private] e", 1),
        ("<private>a</private> b <private>c</private>", "[private] b [private]", 2),
        ("a <private>b, and no end", "a [private]", 1),
        ("a </private> b", "a </private> b", 0),
    ],
)
def test_private_text_is_never_kept(text: str, shown: str, count: int) -> None:
    assert mask(text) == (shown, {"private": count} if count else {})


def test_nested_values_are_masked_by_their_text_and_by_their_name() -> None:
    secret = made("nested", 30)
    value, results = mask_values(
        {"env": {"API_KEY": secret, "token_count": "12"}, "args": ["--password", f"token={secret}"]}
    )
    assert secret not in str(value)
    assert value["env"]["token_count"] == "12"
    assert evidence(results) == {"count": 2, "classes": ["secret"]}
    deep: object = secret
    for _ in range(200):
        deep = [deep]
    assert "[too deep]" in str(mask_values(deep)[0])


PIECES = st.sampled_from(
    [
        *("password", "=", ": ", '"', "'", "\\", " ", "\n", "token", "Bearer ", "ghp_", "://", "@"),
        *("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "<private>", "is "),
        *("</private>", "[masked:", "]", "secret", "_", "a1B2c3D4", made("x", 40), "eyJhbGciOiJI"),
        *("Cookie: ", ";", "AKIA", made("y", 16, UPPER), "\ud800", "\0", "é", "--", ":"),
    ]
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(PIECES | st.text(max_size=20), max_size=20).map("".join))
def test_masking_twice_is_masking_once_and_never_fails(text: str) -> None:
    output, _ = mask(text)
    assert mask(output) == (output, {})


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.sampled_from([row[:5] for row in corpus.TOKENS]),
    st.text(max_size=30),
    st.text(max_size=30),
    st.sampled_from(
        ["{}", " {} ", '"{}"', "={}&", "%3D{}%26", "\x1b[31m{}\x1b[0m", "\n-{}\n", "({})"]
    ),
)
def test_a_token_is_found_at_any_place_of_any_text(
    row: corpus.Token, before: str, after: str, setting: str
) -> None:
    _, head, letters, length, tail = row
    secret = head + made(head, length, letters) + tail
    assert secret[-12:] not in mask(f"{before} {setting.replace('{}', secret)} {after}")[0]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.sampled_from([shape.text for shape in shapes(LOOK_ALIKES)]), max_size=6))
def test_text_without_secrets_is_never_changed(texts: list[str]) -> None:
    whole = "\n\n".join(filled(text, 1)[0] for text in texts)
    if "-----BEGIN" in whole or "kind:" in whole:
        return  # what follows the beginning of a block belongs to it
    assert mask(whole) == (whole, {})


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(
        st.sampled_from([shape.text for shape in (*shapes(SECRETS), *shapes(LOOK_ALIKES))]),
        max_size=4,
    ),
    st.sampled_from(["\n", " ", "", ";", "%26", "\\n"]),
)
def test_masking_any_shapes_twice_is_masking_them_once(texts: list[str], between: str) -> None:
    output, _ = mask(between.join(filled(text, 2)[0] for text in texts))
    assert mask(output) == (output, {})


def test_rules_are_loaded_for_every_text_in_which_they_find_a_secret() -> None:
    tokens = [
        head + made(head, length, letters) + tail
        for _, head, letters, length, tail in corpus.TOKENS
    ]
    texts = [setting.replace("{}", secret) for setting in SETTINGS for secret in tokens]
    texts += [text.replace("{}", secret) for _, text, secret in corpus.ASSIGNED]
    texts += [row.whole for row in corpus.SECRETS]
    texts += [
        filled(shape.text, seed)[0]
        for shape in (*shapes(SECRETS), *shapes(LOOK_ALIKES))
        for seed in range(SEEDS)
    ]
    for text in (*texts, *corpus.LOOK_ALIKES):
        assert entrance.masked(text) == mask(entrance.plain(text)), text


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(PIECES | st.text(max_size=20), max_size=20).map("".join))
def test_what_is_stored_is_what_the_rules_make_of_it(text: str) -> None:
    assert entrance.masked(text) == mask(entrance.plain(text))
    about = {"inputKeys": [text], "command": text, text: "a1B2c3D4e5F6", "exitCode": 2}
    values, counts = entrance.masked_values(about)
    nested, nested_counts = entrance.masked_values({**about, "nested": {"a": 1}})
    assert nested == {**values, "nested": {"a": 1}}
    assert nested_counts == counts


def test_text_without_a_secret_loads_nothing() -> None:
    source = Path(__file__).parents[2] / "src"
    program = (
        f"import sys; sys.path.insert(0, {str(source)!r})\n"
        "from kinen.privacy.entrance import masked\n"
        "masked('$ pytest -q\\n12 passed in 0.3 s: see docs/api.md and src/app.py')\n"
        "heavy = ('re', 'typing', 'kinen.privacy.masking')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    run = [sys.executable, "-I", "-S", "-c", program]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[]\n"
