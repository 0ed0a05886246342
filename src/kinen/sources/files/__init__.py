"""Files of a space as documents."""
