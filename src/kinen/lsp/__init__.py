"""The language server for the notes of a space."""
