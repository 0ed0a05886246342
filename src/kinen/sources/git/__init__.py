"""A repository's history as documents."""
