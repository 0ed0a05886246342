"""Who turns text into vectors: the shipped ONNX model, a service, or nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen.errors import ConfigError

if TYPE_CHECKING:
    from kinen.ports import Embedder

PROVIDERS = ("onnx", "ollama", "openai", "none")
__all__ = ["PROVIDERS", "load"]


def load(
    provider: str,
    *,
    model: str = "",
    endpoint: str = "",
    api_key: str = "",
    path: str = "",
    timeout: float = 30.0,
    daemon: tuple[str, str] | None = None,
) -> Embedder | None:
    """The embedder of that name, or None for `none`; nothing is loaded before its first use.

    A model of our own has questions embedded by the daemon of a home, asked for a space, while
    there is one.
    """
    if provider == "none":
        return None
    if provider == "onnx":
        from kinen.embed.onnx import OnnxEmbedder

        own = OnnxEmbedder(path)
        if daemon is None:
            return own
        from kinen.embed.daemon import WarmEmbedder

        return WarmEmbedder(own, *daemon)
    if provider == "ollama":
        from kinen.embed.openai import OllamaEmbedder

        return OllamaEmbedder(model, endpoint, timeout=timeout)
    if provider == "openai":
        from kinen.embed.openai import OpenAIEmbedder

        return OpenAIEmbedder(model, endpoint, api_key, timeout=timeout)
    raise ConfigError(
        f"no embedding provider named {provider!r}",
        f"set index.embedding_provider to one of {', '.join(PROVIDERS)}",
    )
