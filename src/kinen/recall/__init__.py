"""From a question to what is known about it."""
