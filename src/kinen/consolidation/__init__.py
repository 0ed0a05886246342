"""Draws memories from what was said and written, without a model or with one."""
