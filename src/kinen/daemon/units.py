"""Files that have a system start the daemon at login: a systemd user unit, a launchd agent."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from kinen.errors import KinenError
from kinen.storage import atomic

if TYPE_CHECKING:
    from collections.abc import Mapping

LABEL = "dev.kinen.daemon"


class Unit(NamedTuple):
    """Where it is written, what it says, and the commands that make it hold and end it."""

    path: str
    text: str
    enable: str
    disable: str


def unit(home: str, env: Mapping[str, str], system: str = sys.platform) -> Unit:
    """The file for this system; `home` is kinen's own folder."""
    line = [sys.executable, "-P", "-m", "kinen", "daemon", "run", "--stay"]
    user = env.get("HOME") or os.path.expanduser("~")
    kept = {"KINEN_HOME": home}
    if env.get("KINEN_CONFIG"):
        kept["KINEN_CONFIG"] = os.path.abspath(env["KINEN_CONFIG"])
    if system == "darwin":
        path = os.path.join(user, "Library", "LaunchAgents", f"{LABEL}.plist")
        return Unit(
            path, _plist(line, kept), f"launchctl load -w {path}", f"launchctl unload -w {path}"
        )
    if system.startswith("linux"):
        base = env.get("XDG_CONFIG_HOME") or os.path.join(user, ".config")
        path = os.path.join(base, "systemd", "user", "kinen.service")
        enable = "systemctl --user daemon-reload && systemctl --user enable --now kinen"
        return Unit(path, _service(line, kept), enable, "systemctl --user disable --now kinen")
    raise KinenError(
        f"no file for {system} is known", "have the system run `kinen daemon run --stay` at login"
    )


def install(one: Unit) -> bool:
    """Write it; whether that changed anything."""
    try:
        with open(one.path, encoding="utf-8") as file:
            if file.read() == one.text:
                return False
    except OSError:
        pass
    atomic.write(one.path, one.text)
    return True


def uninstall(one: Unit) -> bool:
    """Take it away; whether it was there."""
    try:
        os.unlink(one.path)
    except FileNotFoundError:
        return False
    return True


def _service(line: list[str], env: dict[str, str]) -> str:
    told = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in env.items())
    return f"""[Unit]
Description=kinen: memory for coding agents

[Service]
ExecStart={" ".join(map(_quoted, line))}
{told}Restart=on-failure
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


def _plist(line: list[str], env: dict[str, str]) -> str:
    words = "".join(f"    <string>{escape(word)}</string>\n" for word in line)
    pairs = "".join(
        f"    <key>{escape(name)}</key><string>{escape(value)}</string>\n"
        for name, value in env.items()
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
{words}  </array>
  <key>EnvironmentVariables</key>
  <dict>
{pairs}  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ProcessType</key><string>Background</string>
</dict>
</plist>
"""
