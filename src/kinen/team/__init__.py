"""One memory for several people and machines: what is shared, how it merges, how it travels.

Nothing here is imported while no team is configured.
"""
