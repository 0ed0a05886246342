"""One module per agent, each with a `CLIENT`: see `agents/client.py` for what it says."""
