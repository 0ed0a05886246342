"""Markdown as the rest of kinen reads it: blocks, sentences."""
