"""Files on disk: how kinen opens, creates and replaces them."""
