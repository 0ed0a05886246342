"""Past sessions of coding agents, read from where their clients store them."""
