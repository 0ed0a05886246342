"""What a repository says about its own history: folder tags, components, what is left out."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.config.keys import GitSection
from kinen.sources.git.tagging import MOST_NOTES, Rules, Tagger, _matcher, folder_tags, read_rules

if TYPE_CHECKING:
    from pathlib import Path

DEFAULTS = Rules(*GitSection())


def rules(**values: Any) -> Rules:
    return DEFAULTS._replace(**values)


def read(root: Path, section: GitSection | None = None, *keys: str) -> Rules:
    """The rules of a folder, with keys that some layer of the configuration has set."""
    return read_rules(str(root), section or GitSection(), {f"git.{key}": "flag" for key in keys})


# .kiste.yaml


def test_without_any_file_the_rules_are_the_configuration(tmp_path: Path) -> None:
    assert read(tmp_path) == DEFAULTS
    section = GitSection(stop_tags=("x",), components=(("a/**", ("a",)),))
    assert read(tmp_path, section, "stop_tags", "components") == Rules(*section)


def test_kiste_sets_what_the_configuration_leaves_open(tmp_path: Path) -> None:
    (tmp_path / ".kiste.yaml").write_text(
        "strip_prefixes:\n  - packages\nstop_tags: [misc, 42]\nsnapshot_frequency: 50\n"
        "exclude: ['*.min.js']\ndb_path: /tmp/x\nfuture: {deep: [[1]]}\ncomponents: {a: b}\n"
    )
    data = read(tmp_path, GitSection(exclude=("mine",)), "exclude")
    unknown = (
        "db_path in .kiste.yaml:6; ignored (index.path says where an index is)",
        "future.deep in .kiste.yaml:7; ignored",
        "components.a in .kiste.yaml:8; ignored",
    )
    assert data.notes == tuple(f"unknown key {note}" for note in unknown)
    assert data._replace(notes=()) == rules(
        strip_prefixes=("packages",),
        stop_tags=("misc", "42"),
        snapshot_frequency=50,
        exclude=("mine",),
    )


def test_kiste_can_empty_a_list_and_switch_snapshots_off(tmp_path: Path) -> None:
    (tmp_path / ".kiste.yaml").write_text("stop_tags: []\nsnapshot_frequency: 0\nexclude:\n")
    assert read(tmp_path) == rules(stop_tags=(), snapshot_frequency=0)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("stop_tags: [a]\nsnapshot_frequency: often\n", 2),
        ("stop_tags: [a]\n\nsnapshot_frequency: -1\n", 3),
        ("stop_tags: [a]\nsnapshot_frequency: 1000001\n", 2),
        ("stop_tags: [a]\nsnapshot_frequency: [1]\n", 2),
        ("stop_tags: [a]\nstrip_prefixes: {a: b}\n", 2),
        ("stop_tags: [a]\nstrip_prefixes: [[a]]\n", 2),
        ('stop_tags: [a]\nexclude: ["a\\x07"]\n', 2),
    ],
)
def test_a_wrong_value_in_kiste_is_noted_and_the_rest_holds(
    text: str, line: int, tmp_path: Path
) -> None:
    (tmp_path / ".kiste.yaml").write_text(text)
    data = read(tmp_path)
    assert data._replace(notes=()) == rules(stop_tags=("a",))
    assert len(data.notes) == 1
    assert f".kiste.yaml:{line}" in data.notes[0]


@pytest.mark.parametrize("name", [".kiste.yaml", "varp.yaml"])
@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a: [\n", ":2"),
        (b"ok: 1\n\tb: 2\n", ":2"),
        (b"- a\n", ":1"),
        (b"just text", ":1"),
        (b"a: *nobody\n", ":1"),
        (b"a: 1\na: 2\n", ":2"),
        (b"a: \x00", ""),
        (b"\xff\xfe\xff", ""),
        (b"# " + b"x" * 300_000, ""),
        (b"a: " + b"[" * 50_000, ""),
        (b"a: &a [" + b"x, " * 9_000 + b"x]\nb: *a\nc: *a\n", ""),
    ],
)
def test_a_broken_file_is_ignored_with_one_note(
    name: str, content: bytes, line: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    data = read(tmp_path)
    assert data._replace(notes=()) == DEFAULTS
    assert len(data.notes) == 1
    assert f"{name}{line}" in data.notes[0]


@pytest.mark.parametrize("name", [".kiste.yaml", "varp.yaml"])
def test_a_folder_of_that_name_is_ignored_with_one_note(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    data = read(tmp_path)
    assert data._replace(notes=()) == DEFAULTS
    assert len(data.notes) == 1
    assert name in data.notes[0]


@pytest.mark.parametrize("name", [".kiste.yaml", "varp.yaml"])
@pytest.mark.parametrize("text", ["", "# nothing\n", "~\n", "{}\n", "\ufeff# nothing\n"])
def test_an_empty_file_says_nothing(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read(tmp_path) == DEFAULTS


def test_yaml_is_loaded_only_where_there_is_a_file(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from kinen.config.keys import GitSection\n"
        "from kinen.sources.git import tagging\n"
        "found = tagging.read_rules(sys.argv[1], GitSection(), {})\n"
        "assert tagging.Tagger(found).excluded('dist/a.js')\n"
        "print('yaml' in sys.modules, 'pathspec' in sys.modules)"
    )

    def loaded() -> str:
        command = [sys.executable, "-c", code, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert loaded() == "False False"
    (tmp_path / "varp.yaml").write_text("varp: 0.1.0\n")
    assert loaded() == "True False"


# varp.yaml


def test_each_component_of_varp_is_a_glob_with_its_name_and_tags(tmp_path: Path) -> None:
    (tmp_path / "varp.yaml").write_text(
        "varp: 0.1.0\n"
        "auth:\n  path: ./src/auth\n  tags: [login, security]\n  deps: [web]\n  docs: [{a: b}]\n"
        "web:\n  path: [src/web/, src/pages]\n"
        "core:\n  paths:\n    - packages/core\n"
        "api.v1:\n  path: src/../api\n  tags:\n"
        "all: {path: .}\n"
        "slug:\n  path: app/[slug]\n"
        "wild:\n  path: packages/*/src\n"
    )
    data = read(tmp_path)
    assert data.components == (
        ("src/auth/**", ("auth", "login", "security")),
        ("src/web/**", ("web",)),
        ("src/pages/**", ("web",)),
        ("packages/core/**", ("core",)),
        ("api/**", ("api.v1",)),
        ("**", ("all",)),
        (r"app/\[slug]/**", ("slug",)),
        ("packages/*/src/**", ("wild",)),
    )


def test_the_older_form_of_varp_has_everything_below_components(tmp_path: Path) -> None:
    (tmp_path / "varp.yaml").write_text(
        "varp: 0.1.0\ncomponents:\n"
        "  auth:\n    path: ./src/auth\n    tags: [login]\n"
        "  api.v1: {paths: [api/v1], deps: [auth]}\n"
        "  varp: {path: varp}\n"
    )
    assert read(tmp_path) == rules(
        components=(
            ("src/auth/**", ("auth", "login")),
            ("api/v1/**", ("api.v1",)),
            ("varp/**", ("varp",)),
        )
    )


def test_a_component_may_be_called_components(tmp_path: Path) -> None:
    (tmp_path / "varp.yaml").write_text("components:\n  path: src/components\n  tags: [ui]\n")
    assert read(tmp_path) == rules(components=(("src/components/**", ("components", "ui")),))


@pytest.mark.parametrize(
    "path",
    ["/etc", "../other", "..", "a/../../b", "~/x", r"C:\x", "C:/x", r"..\x", r"\\host\x", '""'],
)
def test_a_path_that_leaves_the_root_is_ignored_with_a_note(path: str, tmp_path: Path) -> None:
    (tmp_path / "varp.yaml").write_text(f"a:\n  path: [ok, {path}]\nb:\n  path: {path}\n")
    data = read(tmp_path)
    assert data.components == (("ok/**", ("a",)),)
    assert [note.partition(" ")[0] for note in data.notes] == ["varp.yaml:2:", "varp.yaml:4:"]


@pytest.mark.parametrize(
    "broken",
    [
        "b: src/b",
        "b: [src/b]",
        "b:",
        "b: {tags: [x]}",
        "b: {path: }",
        "b: {path: []}",
        "b: {path: {src: x}}",
        "b: {path: [[src]]}",
        'b: {path: "a\\nb"}',
    ],
)
def test_a_component_without_a_path_is_ignored_with_a_note(broken: str, tmp_path: Path) -> None:
    (tmp_path / "varp.yaml").write_text(f"a: {{path: ok}}\n{broken}\n")
    data = read(tmp_path)
    assert data.components == (("ok/**", ("a",)),)
    assert len(data.notes) == 1
    assert data.notes[0].startswith("varp.yaml:2: b ")


@pytest.mark.parametrize("tags", ["{x: y}", "[[x]]"])
def test_tags_that_are_no_list_are_ignored_with_a_note(tags: str, tmp_path: Path) -> None:
    (tmp_path / "varp.yaml").write_text(f"a: {{path: ok, tags: {tags}}}\n")
    data = read(tmp_path)
    assert data.components == (("ok/**", ("a",)),)
    assert len(data.notes) == 1


def test_components_of_the_configuration_hide_those_of_varp(tmp_path: Path) -> None:
    (tmp_path / "varp.yaml").write_text("a: {path: /etc}\n")
    assert read(tmp_path, GitSection(), "components") == DEFAULTS


def test_a_hostile_file_gives_few_notes(tmp_path: Path) -> None:
    (tmp_path / "varp.yaml").write_text("".join(f"c{n}: x\n" for n in range(5_000)))
    assert len(read(tmp_path).notes) == MOST_NOTES


# Folder tags


@pytest.mark.parametrize(
    ("path", "tags"),
    [
        ("src/auth/session/handler.ts", ("auth", "session")),
        ("Auth/Session/auth/x", ("auth", "session")),
        ("README.md", ()),
        ("auth", ()),
        ("SRC/Utils/x.ts", ()),
        ("packages/core/src/__tests__/manifest/a.ts", ("packages", "core", "manifest")),
        (".turbo/cache/build/coverage/x", ()),
        ("日本/ÜBER/x.md", ("日本", "über")),
        ("a//b/x", ("a", "b")),
        ("", ()),
    ],
)
def test_the_folders_of_a_path_are_its_tags(path: str, tags: tuple[str, ...]) -> None:
    assert folder_tags(path, DEFAULTS) == tags


WORDS = st.text(st.sampled_from("abAB."), min_size=1, max_size=3)
PATHS = st.lists(WORDS, min_size=1, max_size=6).map("/".join)


@given(PATHS, st.lists(WORDS), st.lists(WORDS))
def test_folder_tags_are_folders_and_never_stop_tags(
    path: str, prefixes: list[str], stop: list[str]
) -> None:
    built = rules(strip_prefixes=tuple(prefixes), stop_tags=tuple(stop))
    tags = folder_tags(path, built)
    assert not set(tags) & {word.lower() for word in prefixes + stop}
    segments = path.lower().split("/")[:-1]
    assert set(tags) <= set(segments)
    assert list(tags) == sorted(set(tags), key=segments.index)
    assert Tagger(built).derived(path) == tuple(sorted(tags))


# Tags of components


def test_derived_tags_are_those_of_folders_and_of_every_component_that_matches() -> None:
    tagger = Tagger(
        rules(
            stop_tags=("noise",),
            components=(
                ("packages/core/**", ("Core", "noise")),
                ("packages/**", ("monorepo",)),
                ("*.md", ("docs",)),
                ("**/api", ("http",)),
            ),
        )
    )
    assert tagger.derived("packages/core/src/a.ts") == ("core", "monorepo", "packages")
    assert tagger.derived("packages/web/readme.md") == ("docs", "monorepo", "packages", "web")
    assert tagger.derived("packages/web/a.ts") == ("monorepo", "packages", "web")
    assert tagger.derived("x/api/v1/a.ts") == ("api", "http", "v1", "x")
    assert tagger.derived("packages.md") == ("docs",)
    assert tagger.derived("noise/packages") == ()


def test_a_path_of_varp_covers_what_is_below_it_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "varp.yaml").write_text(
        "auth: {path: ./src/auth}\nslug: {path: 'app/[slug]'}\nbang: {path: '!x'}\nall: {path: .}\n"
    )
    tagger = Tagger(read(tmp_path))

    def tags_of(path: str) -> tuple[str, ...]:
        return tagger.component_tags([path])

    assert tags_of("src/auth/a.ts") == ("all", "auth")
    assert tags_of("src/auth/deep/er/a.ts") == ("all", "auth")
    assert tags_of("src/authority/a.ts") == tags_of("lib/src/auth/a.ts") == ("all",)
    assert tags_of("app/[slug]/page.tsx") == ("all", "slug")
    assert tags_of("app/s/page.tsx") == ("all",)
    assert tags_of("!x/a") == ("all", "bang")
    assert tags_of("top.md") == ("all",)


@given(PATHS, WORDS, WORDS)
def test_a_whole_folder_is_matched_as_gitignore_would(path: str, first: str, second: str) -> None:
    for glob in (f"{first}/**", f"{first}/{second}/**", f"/{first}/**"):
        with_another = _matcher((glob, "elsewhere"))
        assert _matcher((glob,))(path) == with_another(path)


def test_a_commit_is_tagged_by_its_components_else_by_its_folders() -> None:
    tagger = Tagger(rules(components=(("core/**", ("Core", "base")), ("*.md", ("docs",)))))
    assert tagger.component_tags(["core/a.ts", "core/b.md", "web/x.ts"]) == ("base", "core", "docs")
    assert tagger.component_tags(["web/x.ts", "web/ui/y.ts", "a/z.ts"]) == ("web", "a", "ui")
    assert tagger.component_tags(iter(["web/x.ts"])) == ("web",)
    assert tagger.component_tags([]) == ()


def test_a_commit_gets_at_most_eight_tags_the_most_frequent_first() -> None:
    tags = Tagger(DEFAULTS).component_tags(["z/a.py", "z/b.py", "a/b/c/d/e/f/g/h/i/j/x.py"])
    assert tags == ("z", "a", "b", "c", "d", "e", "f", "g")


# What is left out


def test_excluded_paths_are_those_that_gitignore_would_hide() -> None:
    tagger = Tagger(DEFAULTS)
    assert tagger.excluded("node_modules/a/b.js")
    assert tagger.excluded("dist/b.js")
    assert tagger.excluded("deep/down/yarn.lock")
    assert not tagger.excluded("web/dist/b.js")
    assert not tagger.excluded("src/a.ts")
    tagger = Tagger(rules(exclude=("gen", "*.snap", "!keep.snap", "only/", "/*.txt")))
    assert tagger.excluded("a/gen/b/c.ts")
    assert tagger.excluded("x.snap")
    assert not tagger.excluded("a/keep.snap")
    assert tagger.excluded("a/only/x")
    assert not tagger.excluded("only")
    assert tagger.excluded("a.txt")
    assert not tagger.excluded("a/a.txt")
    assert not Tagger(rules(exclude=())).excluded("a")
    assert not Tagger(rules(exclude=("*/",))).excluded("a")


def test_a_path_of_a_thousand_folders_is_no_error() -> None:
    path = "a/" * 2_000 + "b.lock"
    tagger = Tagger(rules(components=(("*.lock", ("locks",)),)))
    assert tagger.excluded(path)
    assert tagger.derived(path) == ("a", "locks")


def test_names_that_are_no_utf8_are_only_names() -> None:
    name = os.fsdecode(b"caf\xe9")
    tagger = Tagger(rules(exclude=(f"{name}/x",), components=((f"{name}/**", ("cafe",)),)))
    assert tagger.excluded(f"{name}/x")
    assert "cafe" in tagger.derived(f"{name}/y")
    assert len(tagger.digest) == 32


# Digests


def test_the_digest_changes_with_whatever_changes_tags() -> None:
    variants = [
        DEFAULTS,
        rules(strip_prefixes=()),
        rules(stop_tags=()),
        rules(strip_prefixes=DEFAULTS.stop_tags, stop_tags=DEFAULTS.strip_prefixes),
        rules(components=(("a/**", ("b",)),)),
        rules(components=(("a/**", ("c",)),)),
        rules(components=(("b/**", ("b",)),)),
    ]
    digests = {Tagger(variant).digest for variant in variants}
    assert len(digests) == len(variants)
    assert {len(digest) for digest in digests} == {32}


def test_the_digest_is_the_same_for_the_same_tags() -> None:
    same = rules(exclude=(), snapshot_frequency=1, notes=("x",), stop_tags=DEFAULTS.stop_tags[::-1])
    assert Tagger(same).digest == Tagger(DEFAULTS).digest
    assert Tagger(same).exclude_digest != Tagger(DEFAULTS).exclude_digest
    assert Tagger(rules(stop_tags=())).exclude_digest == Tagger(DEFAULTS).exclude_digest
    assert len(Tagger(DEFAULTS).exclude_digest) == 32
