"""Refs and paths of requests, for pages."""

from kinen.verbs.refs import resolve

__all__ = ["resolve"]
