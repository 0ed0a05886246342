"""Checkpoints, plans and hand-kept sessions: files of the space."""
