"""Import and export: bundles, Kindling databases, Goldfish folders."""
