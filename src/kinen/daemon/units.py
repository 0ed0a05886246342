"""Files that start the daemon at login: a systemd user unit, or a launchd agent."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from kinen.errors import KinenError
from kinen.model.tuples import NamedTuple
from kinen.storage import atomic

LABEL = "dev.kinen.daemon"


class Unit(NamedTuple):
    """Its path and text, and the commands that enable and disable it."""

    path: str
    text: str
    enable: str
    disable: str


def unit(home: str, env: Mapping[str, str], system: str = sys.platform) -> Unit:
    """The unit for this system; `home` is kinen's own folder."""
    command = [sys.executable, "-P", "-m", "kinen", "daemon", "run", "--stay"]
    user = env.get("HOME") or os.path.expanduser("~")
    settings = {"KINEN_HOME": home}
    if env.get("KINEN_CONFIG"):
        settings["KINEN_CONFIG"] = os.path.abspath(env["KINEN_CONFIG"])
    if system == "darwin":
        path = os.path.join(user, "Library", "LaunchAgents", f"{LABEL}.plist")
        import plistlib

        agent = {
            "Label": LABEL,
            "ProgramArguments": command,
            "EnvironmentVariables": settings,
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Background",
        }
        return Unit(
            path=path,
            text=plistlib.dumps(agent, sort_keys=False).decode(),
            enable=f"launchctl load -w {path}",
            disable=f"launchctl unload -w {path}",
        )
    if system.startswith("linux"):
        base = env.get("XDG_CONFIG_HOME") or os.path.join(user, ".config")
        path = os.path.join(base, "systemd", "user", "kinen.service")
        return Unit(
            path=path,
            text=_service(command, settings),
            enable="systemctl --user daemon-reload && systemctl --user enable --now kinen",
            disable="systemctl --user disable --now kinen",
        )
    hint = "configure the system to run `kinen daemon run --stay` at login"
    raise KinenError(f"kinen cannot install a service on {system}", hint)


def install(unit: Unit) -> bool:
    """Write the file; whether that changed anything."""
    try:
        with open(unit.path, encoding="utf-8") as file:
            if file.read() == unit.text:
                return False
    except OSError:
        pass
    atomic.write(unit.path, unit.text)
    return True


def uninstall(unit: Unit) -> bool:
    """Remove the file; whether it was there."""
    try:
        os.unlink(unit.path)
    except FileNotFoundError:
        return False
    return True


def _service(command: list[str], env: dict[str, str]) -> str:
    settings = [_quoted(f"{name}={value}") for name, value in env.items()]
    environment = "".join(f"Environment={setting}\n" for setting in settings)
    return f"""[Unit]
Description=kinen: memory for coding agents

[Service]
ExecStart={" ".join(map(_quoted, command))}
{environment}Restart=on-failure
RestartSec=5
Nice=5
NoNewPrivileges=true

[Install]
WantedBy=default.target
"""


def _quoted(word: str) -> str:
    """A word of a unit file: quotes and backslashes escaped, `%` and `$` without a meaning."""
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{word}"'
