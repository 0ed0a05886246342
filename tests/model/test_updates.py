from __future__ import annotations

import pytest

from kinen.model.updates import dependency_of, updates_line


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("Bump vite from 5.0.1 to 5.0.2", "vite"),
        ("build(deps): bump golang.org/x/net from 0.17 to 0.23 (#12)", "golang.org/x/net"),
        ("chore(deps-dev): Bump the eslint group with 3 updates", "eslint group"),
        ("Bump the npm_and_yarn group across 2 directories with 1 update", "npm_and_yarn group"),
        ("chore(deps): update dependency axios to v1.6", "axios"),
        ("Update dependency axios to v1.6", "axios"),
        ("Update actions/checkout action to v4", "actions/checkout"),
        ("chore(deps): lock file maintenance", "lock files"),
        ("Bump version from 1.0 to 1.1", ""),
        ("Bump to 0.4.2", ""),
        ("Update changelog", ""),
        ("Update the group page", ""),
        ("chore(deps): remove left-pad", ""),
        ("fix: update dependency handling", ""),
        ("", ""),
    ],
)
def test_updates_of_dependencies_are_told_by_their_subject(subject: str, name: str) -> None:
    assert dependency_of(subject) == name


def test_a_line_names_each_dependency_once_and_not_all() -> None:
    assert updates_line(["a", "b", "a"]) == "Dependencies updated: a, b"
    assert updates_line("abcdefg") == "Dependencies updated: a, b, c, d, e and 2 more"
