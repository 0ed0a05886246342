"""Adapters for Python frameworks, each in a module of its own that imports its framework."""
