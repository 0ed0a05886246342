"""Which space a folder belongs to, and where its data is stored."""
