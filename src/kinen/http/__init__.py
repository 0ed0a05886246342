"""The HTTP API of the daemon."""
