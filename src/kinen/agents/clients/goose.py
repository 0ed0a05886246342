"""goose: an extension in YAML and a block in its hints."""

from kinen.agents.client import Client, Setting

CLIENT = Client(
    "goose",
    "goose",
    program="goose",
    folder=".config/goose",
    scopes={
        "user": (
            Setting("server", "{config}/config.yaml", ("extensions",), "yaml"),
            Setting("rules", "{config}/.goosehints", form="block"),
        ),
        "project": (Setting("rules", "{top}/.goosehints", form="block"),),
    },
    server={
        "enabled": True,
        "type": "stdio",
        "name": "kinen",
        "cmd": "{program}",
        "args": ["{args}"],
        "timeout": 300,
    },
    proved="settings only",
)
