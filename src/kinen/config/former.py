"""Settings of Goldfish and Kindling, and what kinen has for them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ORDERS = {"auto": "claude,gemini,extract", "none": "extract"}
FALSE = ("false", "no", "off", "0")
JOURNAL = "index.path, and KINEN_HOME for the journal"
OWN_MODEL = "a model of its own, and index.embedding_path"
KEYS = {
    "provider": "distill.order",
    "distill.model": "distill.claude_model, distill.gemini_model and distill.ollama_model",
    "cache": "distill.cache_hours",
    "maxTokens": "distill.budget",
    "max_tokens": "distill.budget",
    "embeddings.model": OWN_MODEL,
    "embeddings.dimensions": OWN_MODEL,
    "embeddings.batchSize": OWN_MODEL,
    "embeddings.cachePath": OWN_MODEL,
    "tokenBudget": "recall.budget",
    "token_budget": "recall.budget",
    "autoStart": "daemon.auto_start",
    "idleTimeout": "daemon.idle_shutdown_minutes",
    "db_path": JOURNAL,
    "dbPath": JOURNAL,
    "database": JOURNAL,
}
"""Old keys, whole or without their section, and what kinen has for them."""
VARIABLES = {
    "KINDLING_DB_PATH": "KINEN_HOME; `kinen import` takes the database in",
    "KINDLING_LOG_LEVEL": "KINEN_LOG_LEVEL",
}


def hint(dotted: str, raw: Any = None) -> str:
    """What to set in place of an old key, with its value if that is known; empty for other keys."""
    setting = translated(dotted, raw)
    if setting:
        return f"kinen has {setting[0]} for it: `kinen config set {setting[0]} {setting[1]}`"
    now = KEYS.get(dotted) or KEYS.get(dotted.rpartition(".")[2])
    return f"kinen has {now} for it" if now else ""


def translated(dotted: str, raw: Any) -> tuple[str, str] | None:
    """The key and value that mean the same to kinen; None if there are none."""
    convert = _CONVERSIONS.get(dotted.rpartition(".")[2] if dotted != "distill.model" else dotted)
    if convert is None or not isinstance(raw, str) or not raw.strip():
        return None
    return convert(raw.strip())


def _order(provider: str) -> tuple[str, str] | None:
    if provider in ORDERS:
        return "distill.order", ORDERS[provider]
    return ("distill.order", f"{provider},extract") if provider in ("claude", "gemini") else None


def _model(name: str) -> tuple[str, str] | None:
    if not set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-"):
        return None  # it is printed as part of a command
    return f"distill.{'gemini' if name.startswith('gemini') else 'claude'}_model", name


def _cache(flag: str) -> tuple[str, str] | None:
    return "distill.cache_hours", "0" if flag.lower() in FALSE else "24"


def _budget(tokens: str) -> tuple[str, str] | None:
    return ("distill.budget", tokens) if tokens.isdecimal() else None


_CONVERSIONS: dict[str, Callable[[str], tuple[str, str] | None]] = {
    "provider": _order,
    "distill.model": _model,
    "cache": _cache,
    "maxTokens": _budget,
    "max_tokens": _budget,
}


def seconds(dotted: str, raw: str) -> str:
    """The hint for a timeout that is written in milliseconds; empty if it is none."""
    if not dotted.endswith("timeout") or not raw.isdecimal() or int(raw) < 1000:
        return ""
    return f"it is in seconds here: {math.ceil(int(raw) / 1000)}"


def commands(document: bytes) -> list[str]:
    """The `kinen config set` commands for a config.json of Goldfish; none if it is unreadable."""
    try:
        sections = json.loads(document)
    except (ValueError, RecursionError):
        return []
    settings = []
    distill = sections.get("distill") if isinstance(sections, dict) else None
    for name, value in distill.items() if isinstance(distill, dict) else ():
        raw = json.dumps(value) if isinstance(value, (bool, int)) else value
        if name == "timeout" and isinstance(raw, str) and raw.isdecimal():
            timeout = min(600, max(1, math.ceil(int(raw) / 1000)))
            settings.append(("distill.timeout", str(timeout)))
        setting = translated(f"distill.{name}", raw)
        if setting:
            settings.append(setting)
    return [f"kinen config set {key} {value}" for key, value in settings]


def variables(env: Mapping[str, str]) -> list[str]:
    """A note for each variable of Kindling that is set: kinen does not read it."""
    return [
        f"{name} is a variable of Kindling: kinen reads {now}"
        for name, now in VARIABLES.items()
        if env.get(name)
    ]
