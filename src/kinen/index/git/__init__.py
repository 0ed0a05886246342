"""The git part of the index: commits, files through renames, tags."""
