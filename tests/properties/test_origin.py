"""Every way to write a remote is one spelling, without credentials."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.space.repository import normalise_origin

word = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=8)
host = st.builds("{}.{}".format, word, st.sampled_from(["org", "com", "example.net"]))
path = st.lists(word, min_size=1, max_size=4).map("/".join)
secret = st.text("abcdefgh%0123456789:@", max_size=8).map(lambda text: f"SECRET{text}")


@given(host, path, secret)
def test_all_spellings_of_a_remote_are_one(host: str, path: str, secret: str) -> None:
    shout = host.upper()
    spellings = [
        f"git@{host}:{path}.git",
        f"{shout}:{path}",
        f"git@{host}:/{path}/",
        f"https://{host}/{path}",
        f"https://{secret}@{shout}/{path}.git/",
        f"https://user:{secret}@{host}:443/{path}.git",
        f"http://{host}:80//{path}",
        f"ssh://git@{host}:22/{path}.git",
        f"ssh://git@{host}/{path}",
        f"git://{host}:9418/{path}.git",
        f"git+ssh://git@{host}/{path}?token={secret}",
        f"  https://{host}/{path}#{secret}\n",
    ]
    assert {normalise_origin(url) for url in spellings} == {f"https://{host}/{path}"}


@given(host, path, host, path)
def test_different_remotes_stay_different(one: str, a: str, two: str, b: str) -> None:
    same = normalise_origin(f"https://{one}/{a}") == normalise_origin(f"git@{two}:{b}")
    assert same == ((one, a) == (two, b))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_normalising_twice_changes_nothing_and_nothing_crashes(text: str) -> None:
    once = normalise_origin(text)
    assert normalise_origin(once) == once


@given(st.text("ab:/@[].?#\\ git~", max_size=24))
def test_normalising_odd_addresses_twice_changes_nothing(text: str) -> None:
    once = normalise_origin(text)
    assert normalise_origin(once) == once


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("", ""),
        ("https://host:8443/u/r.git", "https://host:8443/u/r"),
        ("ssh://git@host:2222/u/r", "https://host:2222/u/r"),
        ("ssh://git@[::1]:22/u/r", "https://[::1]/u/r"),
        ("git@[::1]:u/r.git", "https://[::1]/u/r"),
        ("https://host/u/r/.git", "https://host/u/r"),
        ("host:r", "https://host/r"),
    ],
)
def test_ports_and_brackets(url: str, origin: str) -> None:
    assert normalise_origin(url) == origin


def test_a_path_is_resolved_from_the_repository(tmp_path: object) -> None:
    here = normalise_origin(str(tmp_path))
    assert here.startswith("file:///")
    assert normalise_origin(f"{tmp_path}/") == here
    assert normalise_origin(f"{tmp_path}/.git") == here
    assert normalise_origin("../x/..", f"{tmp_path}/repo") == here
    assert normalise_origin(here) == here
