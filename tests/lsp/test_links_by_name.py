"""The look-ups of the language server against reading every link of every note."""

from __future__ import annotations

import tempfile
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("pygls")

from kinen.lsp import features
from kinen.lsp.vault import Vault, path_of, ref_of
from kinen.text.links import Names

PATHS = ("tea.md", "a/tea.md", "a/index.md", "a/b/Grün.md", "b/README.md", "b/x.md.md", "pot.mdx")
NEW = ("tee.md", "a/pot.md", "b/tea.md", "c/index.md", "a/b/x.md", "Tea.md", "c/d/tea.md")
LINKS = (
    *("[[tea]]", "[[TEA|x]]", "[[a/tea]]", "[[../tea]]", "[[/a/tea.md]]", "[[Grün#A]]", "[[chai]]"),
    *("[x](tea.md)", "[x](../tea.md#b)", "[x](./index.md)", "[x](..)", "[x](.)", "[x](../)"),
    *("[[a]]", "[[a/]]", "[x](a/)", "[[b]]", "[x](b/)", "[[x]]", "[[x.md]]", "[[b/x.md.md]]"),
    *("[[#A]]", "[x](#a)", "[[pot.mdx]]", "[[pot]]", "[x](gr%C3%BCn.md)", "[[c/d]]", "[[tee]]"),
    *("[[ tea ]]", "[[tea/]]", "[[gone]]", "[x](c/index.md)", "[[index]]", "[[readme]]"),
)
NOTES = st.dictionaries(
    st.sampled_from(PATHS),
    st.tuples(
        st.lists(st.sampled_from(LINKS), max_size=6),
        st.sampled_from(("", "aliases: [chai]\n", "aliases: [tea, a/tee]\ntags: [hot, leaf]\n")),
    ),
    min_size=2,
)


def text_of(links: list[str], head: str) -> str:
    return f"---\n{head}---\n# A\n\n{' '.join(links)}\n"


def vault_of(texts: dict[str, str], root: str) -> Vault:
    vault = Vault(root, max_bytes=1 << 20, max_text=1 << 20)
    for path, text in texts.items():
        vault.edit(path, text)
    return vault


def leads(vault: Vault, names: Names | None = None) -> dict[str, list[str]]:
    """Where each link leads, by names that are built anew if none are passed."""
    entries = [(ref_of(note.path), note.path, note.aliases) for note in vault.notes]
    names = names or Names(entries)
    return {
        note.path: [names.resolve(link, note.path) for link in note.links] for note in vault.notes
    }


@settings(max_examples=50, deadline=None)
@given(st.lists(NOTES, min_size=1, max_size=2))
def test_links_and_tags_are_those_of_all_notes_after_any_edit(edits: list) -> None:
    with tempfile.TemporaryDirectory() as root:
        vault = Vault(root, max_bytes=1 << 20, max_text=1 << 20)
        for notes in edits:
            for path, (links, head) in notes.items():
                vault.edit(path, text_of(links, head))
            refs = leads(vault)
            for note in vault.notes:
                expected = [
                    (path, n)
                    for path in sorted(refs)
                    for n, ref in enumerate(refs[path])
                    if ref == note.ref
                ]
                assert [(r.note.path, r.n) for r in vault.linking_to(note.ref)] == expected
            assert vault.tags() == Counter(tag for note in vault.notes for tag in note.tags)


@settings(max_examples=50, deadline=None)
@given(NOTES, st.sampled_from(NEW), st.data())
def test_every_link_leads_where_it_led_after_a_rename(
    notes: dict, target: str, data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(sorted(notes)))
    assume(target.lower() not in {other.lower() for other in notes})
    texts = {name: text_of(links, head) for name, (links, head) in notes.items()}
    with tempfile.TemporaryDirectory() as root:
        vault = vault_of(texts, root)
        before = leads(vault)
        edits = features.link_edits(vault, {path: target})
        for edit in sorted(edits, key=lambda edit: (edit.path, edit.line, -edit.start)):
            lines = texts[edit.path].split("\n")
            line = lines[edit.line - 1]
            lines[edit.line - 1] = line[: edit.start] + edit.text + line[edit.end :]
            texts[edit.path] = "\n".join(lines)
        assert leads(vault, vault.names) == before, "the vault has the old names again"
        moved = {target if name == path else name: text for name, text in texts.items()}
        after = leads(vault_of(moved, root))
    new = {ref_of(path): ref_of(target)}
    for name, refs in before.items():
        here = target if name == path else name
        for old, ref in zip(refs, after[here], strict=True):
            if path_of(old):
                assert ref == new.get(old, old), (name, texts[name])
