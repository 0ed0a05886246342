"""The values that travel between all parts."""
