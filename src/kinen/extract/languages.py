"""Languages whose symbols can be read, by the suffix of a source file."""

from __future__ import annotations

from functools import cache

from kinen.extract.decode import suffix_of
from kinen.ipc.extras import importable
from kinen.model.tuples import NamedTuple

LARGEST = 1 << 20
"""Bytes of a source file; larger ones are generated."""


class Language(NamedTuple):
    """How symbols are found in the syntax tree of a language."""

    module: str
    """The package of its grammar; empty for Python."""
    factory: str
    functions: dict[str, str]
    """Types of nodes without symbols inside, and what they are called."""
    containers: dict[str, str]
    """Types of nodes whose symbols belong to them; an empty word is for a mere scope."""
    comments: tuple[str, ...] = ("//", "/*", "*", "@", "#[", "[")
    """How lines begin that document the symbol below."""


def _kinds(text: str) -> dict[str, str]:
    """`type=kind` pairs as a dictionary; `type` alone is a scope."""
    return {name: kind for name, _, kind in (pair.partition("=") for pair in text.split())}


_JS_FUNCTIONS = (
    "function_declaration=function generator_function_declaration=function"
    " method_definition=method variable_declarator=function"
)
_TS_FUNCTIONS = (
    f"{_JS_FUNCTIONS} abstract_method_signature=method function_signature=function"
    " interface_declaration=interface type_alias_declaration=type enum_declaration=enum"
)
_TS_CLASSES = "class_declaration=class abstract_class_declaration=class internal_module"
PYTHON = Language("", "", {}, {}, ("#", "@"))
_JAVASCRIPT = Language(
    "tree_sitter_javascript", "language", _kinds(_JS_FUNCTIONS), _kinds("class_declaration=class")
)
_TYPESCRIPT = Language(
    "tree_sitter_typescript", "language_typescript", _kinds(_TS_FUNCTIONS), _kinds(_TS_CLASSES)
)
_C = _kinds("function_definition=function")
_CPP = Language(
    "tree_sitter_cpp",
    "language",
    _C,
    _kinds("class_specifier=class struct_specifier=struct namespace_definition"),
)
LANGUAGES: dict[str, Language] = {
    **dict.fromkeys((".py", ".pyi"), PYTHON),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), _JAVASCRIPT),
    **dict.fromkeys((".ts", ".mts", ".cts"), _TYPESCRIPT),
    ".tsx": _TYPESCRIPT._replace(factory="language_tsx"),
    ".go": Language(
        "tree_sitter_go",
        "language",
        _kinds("function_declaration=function method_declaration=method type_spec=type"),
        {},
    ),
    ".rs": Language(
        "tree_sitter_rust",
        "language",
        _kinds(
            "function_item=function function_signature_item=function struct_item=struct"
            " enum_item=enum type_item=type macro_definition=macro"
        ),
        _kinds("trait_item=trait impl_item mod_item"),
    ),
    ".java": Language(
        "tree_sitter_java",
        "language",
        _kinds("method_declaration=method constructor_declaration=constructor"),
        _kinds(
            "class_declaration=class interface_declaration=interface enum_declaration=enum"
            " record_declaration=record"
        ),
    ),
    **dict.fromkeys(
        (".c", ".h"), Language("tree_sitter_c", "language", _C, _kinds("struct_specifier=struct"))
    ),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx"), _CPP),
    ".cs": Language(
        "tree_sitter_c_sharp",
        "language",
        _kinds("method_declaration=method constructor_declaration=constructor"),
        _kinds(
            "class_declaration=class interface_declaration=interface struct_declaration=struct"
            " enum_declaration=enum record_declaration=record namespace_declaration"
        ),
    ),
    ".rb": Language(
        "tree_sitter_ruby",
        "language",
        _kinds("method=method singleton_method=method"),
        _kinds("class=class module=module"),
        ("#",),
    ),
    ".php": Language(
        "tree_sitter_php",
        "language_php",
        _kinds("function_definition=function method_declaration=method"),
        _kinds(
            "class_declaration=class interface_declaration=interface trait_declaration=trait"
            " enum_declaration=enum"
        ),
        ("//", "/*", "*", "#"),
    ),
    **dict.fromkeys(
        (".kt", ".kts"),
        Language(
            "tree_sitter_kotlin",
            "language",
            _kinds("function_declaration=function"),
            _kinds("class_declaration=class object_declaration=object"),
        ),
    ),
    ".swift": Language(
        "tree_sitter_swift",
        "language",
        _kinds("function_declaration=function init_declaration=constructor"),
        _kinds("class_declaration=class protocol_declaration=protocol"),
    ),
    ".scala": Language(
        "tree_sitter_scala",
        "language",
        _kinds("function_definition=function function_declaration=function"),
        _kinds("class_definition=class object_definition=object trait_definition=trait"),
    ),
    **dict.fromkeys((".sh", ".bash"), Language("tree_sitter_bash", "language", _C, {}, ("#",))),
    ".lua": Language(
        "tree_sitter_lua", "language", _kinds("function_declaration=function"), {}, ("--",)
    ),
}
"""By the suffix of a file."""


def is_code(path: str) -> bool:
    """Whether a path is of a source file whose symbols can be read."""
    return suffix_of(path) in available() and not path.rpartition("/")[2].startswith(".")


@cache
def available() -> frozenset[str]:
    """The suffixes whose language can be read with what is installed."""
    modules = {language.module for language in LANGUAGES.values()} - {""}
    readable = {name for name in modules if importable("tree_sitter") and importable(name)}
    return frozenset(
        suffix for suffix, language in LANGUAGES.items() if language.module in {"", *readable}
    )
