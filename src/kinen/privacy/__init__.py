"""What kinen keeps out of its files: secrets, private blocks, injected text."""
