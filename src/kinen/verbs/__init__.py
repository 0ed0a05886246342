"""What kinen does, each thing declared once."""
