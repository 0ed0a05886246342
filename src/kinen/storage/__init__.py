"""How kinen reads and writes files that it did not make itself."""
