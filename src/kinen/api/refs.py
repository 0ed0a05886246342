"""Refs and paths of requests, for pages."""

from kinen.verbs.refs import pin_target, resolve

__all__ = ["pin_target", "resolve"]
