"""Which note of which space a document of the editor is."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from pygls import uris

from kinen import config as configuration
from kinen import paths
from kinen.errors import KinenError
from kinen.lsp.vault import Vault
from kinen.space import find as spaces
from kinen.storage.inside import relative


@dataclass(slots=True)
class Place:
    """A document of the editor: the vault that it belongs to and its path in there."""

    vault: Vault
    path: str


@dataclass(slots=True)
class Spaces:
    """The vaults of the spaces that documents of the editor are in."""

    name: str = ""
    """The only space to serve; empty for that of each document."""
    folders: list[str] = field(default_factory=list)
    """The folders that the editor has open."""
    vaults: dict[str, Vault] = field(default_factory=dict)
    _roots: dict[str, str] = field(default_factory=dict)
    _bases: dict[str, str] = field(default_factory=dict)
    _uris: dict[tuple[str, str], str] = field(default_factory=dict)

    def place(self, uri: str) -> Place | None:
        """The note that a URI names; None for what is not in a space or leads out of it."""
        file = uris.to_fs_path(uri)
        if not file or "\0" in file:
            return None
        root = self._root(os.path.dirname(file))
        path = relative(root, file) if root else ""
        if path in ("", "."):
            return None
        vault = self.vaults.get(root) or self._open(root)
        if file.endswith(f"/{path}"):
            self._bases[root] = file.removesuffix(f"/{path}")
        return Place(vault, path)

    def uri(self, vault: Vault, path: str) -> str:
        """The URI of a note, below the root as the editor spells it."""
        base = self._bases.get(vault.root, vault.root)
        if (base, path) not in self._uris:
            self._uris[base, path] = uris.from_fs_path(os.path.join(base, path)) or ""
        return self._uris[base, path]

    def _root(self, folder: str) -> str:
        if folder not in self._roots:
            self._roots[folder] = self._find(folder)
        return self._roots[folder]

    def _find(self, folder: str) -> str:
        """The root of the space of a folder; empty if it is in none."""
        try:
            if self.name:
                return spaces.find(name=self.name).root
            while not os.path.isdir(folder):  # of a note that is not saved yet
                folder = os.path.dirname(folder)
            root = spaces.locate(folder)
            if root:
                return root
            above = next((open_ for open_ in self.folders if relative(open_, folder)), folder)
            return spaces.find(above).root
        except KinenError:
            return ""

    def _open(self, root: str) -> Vault:
        home = paths.default_home(os.environ)
        settings = configuration.load(home, root).index
        vault = Vault(
            root, max_bytes=settings.max_file_mb << 20, max_text=settings.max_text_mb << 20
        )
        self.vaults[root] = vault
        return vault
