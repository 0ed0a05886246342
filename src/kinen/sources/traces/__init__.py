"""Sessions that travel with a repository."""
