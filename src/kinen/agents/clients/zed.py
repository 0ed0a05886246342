"""Zed: a context server in settings that may have comments."""

from kinen.agents.client import Client, Setting

CLIENT = Client(
    "zed",
    "Zed",
    program="zed",
    folder=".config/zed",
    scopes={
        "user": (Setting("server", "{config}/settings.json", ("context_servers",), "jsonc"),),
        "project": (
            Setting("server", "{top}/.zed/settings.json", ("context_servers",), "jsonc"),
            Setting("rules", "{top}/.rules", form="block"),
        ),
    },
    server={"source": "custom", "command": "{program}", "args": ["{args}"], "env": {}},
    imports=True,
    proved="settings only",
)
