"""Symbols of source code, by language."""

from __future__ import annotations

import pytest

from kinen.errors import Unreadable
from kinen.extract.child import Reader
from kinen.extract.code import symbols
from kinen.extract.languages import LANGUAGES, LARGEST, available

PYTHON = b'''"""A module."""
import sys
# Above it.
@decorated
def add(a: int,
        b=2) -> int:
    """Add two numbers."""
    return a + b

if sys.platform == "win32":
    def only_here(): pass

class Tree(Plant):
    """Grows."""
    height = 1

    async def grow(self, by: int) -> None:
        def inner(): pass
'''
EXAMPLES = {
    ".js": (
        "/** Adds. */|export function add(a, b) { }|const sub = (a) => { };|class A {|run() {}|}",
        "add:function sub:function A:class A.run:method",
    ),
    ".ts": (
        "export interface P { a: string }|export abstract class A<T> { run(x: number): void {} }",
        "P:interface A:class A.run:method",
    ),
    ".tsx": ("export const App: FC = () => <div/>;", "App:function"),
    ".go": (
        "package m|// Add adds.|func Add() {}|func (s *Server[T]) Run() { }|type Server struct {}",
        "Add:function Server.Run:method Server:type",
    ),
    ".rs": (
        "/// Adds.|pub fn add() { }|impl<T> Foo for Bar<T> { fn run(&self) {} }|pub struct Bar { }",
        "add:function Bar.run:function Bar:struct",
    ),
    ".java": (
        "public class A<T> {|/** m */|int run(int x) { }|}",
        "A:class A.run:method",
    ),
    ".c": (
        "static int *add(int a) { }|struct foo { int x; };",
        "add:function foo:struct",
    ),
    ".cpp": (
        "namespace ns { class A { int run(int) { return 1; } };|int A::other() { return 2; } }",
        "ns.A:class ns.A.run:function ns.A.other:function",
    ),
    ".cs": ("namespace N { class A { int Run() { return 1; } } }", "N.A:class N.A.Run:method"),
    ".rb": ("module M|class A|def run(x); end|end|end", "M:module M.A:class M.A.run:method"),
    ".php": (
        "<?php|class A { function run() {} }|function f() {}",
        "A:class A.run:method f:function",
    ),
    ".kt": ("class A {|fun run(): Int = 1|}|fun top() {}", "A:class A.run:function top:function"),
    ".swift": ("class A {|func run() -> Int { 1 }|}", "A:class A.run:function"),
    ".scala": ("object O {|def f = 2|}", "O:object O.f:function"),
    ".sh": ("# doc|foo() { echo 1; }", "foo:function"),
    ".lua": ("-- doc|function M.g(a) end", "M.g:function"),
}
"""Source text with | for the end of a line, and the symbols in it."""


def test_python_has_signatures_docstrings_and_lines() -> None:
    add, only_here, tree, grow = symbols(PYTHON, ".py")
    assert (add.name, add.kind, add.doc) == ("add", "function", "Add two numbers.")
    assert add.signature == "def add(a: int, b=2) -> int"
    assert (add.first, add.line, add.last) == (3, 5, 8)
    assert only_here.name == "only_here"
    assert (tree.name, tree.doc, tree.first, tree.last) == ("Tree", "Grows.", 13, 16)
    assert (grow.name, grow.kind) == ("Tree.grow", "method")


@pytest.mark.parametrize("suffix", list(EXAMPLES))
def test_other_languages_by_their_grammar(suffix: str) -> None:
    if suffix not in available():
        pytest.skip("kinen[code] is not installed")
    source, expected = EXAMPLES[suffix]
    assert (
        " ".join(f"{s.name}:{s.kind}" for s in symbols(source.replace("|", "\n").encode(), suffix))
        == expected
    )


def test_a_comment_above_is_documentation() -> None:
    if ".go" not in available():
        pytest.skip("kinen[code] is not installed")
    symbol = symbols(EXAMPLES[".go"][0].replace("|", "\n").encode(), ".go")[0]
    assert (symbol.doc, symbol.first, symbol.line) == ("Add adds.", 2, 3)


def test_every_example_of_a_language_is_there() -> None:
    modules = {LANGUAGES[suffix].module for suffix in EXAMPLES}
    assert modules == {language.module for language in LANGUAGES.values() if language.module}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (b"def f(:\n", "not valid Python"),
        (b"x" * (LARGEST + 1), "too large"),
        (b"x = '" + b"a" * 5000 + b"'", "minified"),
        (b"\0", "binary file"),
    ],
)
def test_what_is_no_source_says_why(source: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        symbols(source, ".py")


@pytest.mark.parametrize("suffix", [".py", ".js", ".cpp", ".kt"])
def test_hostile_source_costs_bounded_time_and_memory(suffix: str) -> None:
    if suffix not in available():
        pytest.skip("kinen[code] is not installed")
    reader = Reader(seconds=5, memory_mb=300)
    try:
        for source in (b"((" * 200_000, b"{[" * 200_000 + b"\n" * 400, b"a<" * 200_000):
            try:
                reader.symbols(source + b"\n" * 1000, suffix)
            except Unreadable as error:
                assert error.message
        assert reader.symbols(b"def f(): pass\n", ".py")[0].name == "f"
    finally:
        reader.close()
