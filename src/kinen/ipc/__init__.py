"""How processes of kinen on one machine talk to each other."""
