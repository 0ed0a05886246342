"""What runs inside hooks of agents and git. Standard library only."""
