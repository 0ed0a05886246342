"""Where kinen's own files are, and how the path of a file is written.

Hooks import this module, so it needs nothing but `os`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


DAEMON_LOCK = "daemon.lock"
"""The file below the home that a running daemon has locked."""


def debugging() -> bool:
    """Whether unexpected errors are shown whole: with KINEN_DEBUG, or at the log level `debug`."""
    level = os.environ.get("KINEN_LOG_LEVEL", "").lower()
    return bool(os.environ.get("KINEN_DEBUG")) or level == "debug"


def debug(text: str) -> None:
    """Print a line on standard error, at the log level `debug` only."""
    if os.environ.get("KINEN_LOG_LEVEL", "").lower() != "debug":
        return
    from kinen.characters import visible_line
    from kinen.privacy import entrance

    print(f"debug: {visible_line(entrance.name(text))}", file=sys.stderr)


def user_folder(env: Mapping[str, str]) -> str:
    """The user's home folder."""
    return env.get("USERPROFILE" if os.name == "nt" else "HOME") or os.path.expanduser("~")


def user_file(env: Mapping[str, str] | None = None) -> str:
    """The user's own config file, whether it exists or not."""
    env = os.environ if env is None else env
    if env.get("KINEN_CONFIG"):
        return os.path.abspath(env["KINEN_CONFIG"])
    if os.name == "nt":
        folder = _platform_folder(env, "APPDATA", "AppData", "Roaming")
    else:
        folder = _platform_folder(env, "XDG_CONFIG_HOME", ".config")
    return os.path.join(folder, "kinen", "config.yml")


def default_home(env: Mapping[str, str] | None = None) -> str:
    """The folder of kinen's data: KINEN_HOME, else below the platform's data folder."""
    env = os.environ if env is None else env
    if env.get("KINEN_HOME"):
        return os.path.abspath(env["KINEN_HOME"])
    if os.name == "nt":
        folder = _platform_folder(env, "LOCALAPPDATA", "AppData", "Local")
    elif sys.platform == "darwin":
        folder = os.path.join(user_folder(env), "Library", "Application Support")
    else:
        folder = _platform_folder(env, "XDG_DATA_HOME", ".local", "share")
    return os.path.join(folder, "kinen")


def _platform_folder(env: Mapping[str, str], variable: str, *default: str) -> str:
    """The folder that a variable names, if absolute; else the default below the user's home."""
    folder = env.get(variable, "")
    return folder if os.path.isabs(folder) else os.path.join(user_folder(env), *default)


def openable(root: str, path: str, folder: str) -> str:
    """A path of a space, as it can be opened from a folder: relative if the folder is in the space.

    Elsewhere it is absolute. Without a folder it stays relative to the space.
    """
    if not (root and folder):
        return path
    full = os.path.join(root, path)
    is_inside = folder == root or folder.startswith(root + os.sep)
    return os.path.relpath(full, folder) if is_inside else full


def inside(path: str, *roots: str) -> str:
    """A path relative to the first root that contains it, else absolute; always with slashes.

    Links on the way to the file and in the roots are resolved; a link in the last place is not.
    """
    full = os.path.abspath(path)
    folder, name = os.path.split(full)
    spellings = (full, os.path.join(os.path.realpath(folder), name))
    for root in roots:
        tops = (root, os.path.realpath(root))
        for spelling in spellings:
            for top in tops:
                if spelling.startswith(top + os.sep):
                    return spelling[len(top) + 1 :].replace(os.sep, "/")
    return full.replace(os.sep, "/")
