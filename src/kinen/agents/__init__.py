"""What ties kinen to other tools: git hooks and coding agents."""
