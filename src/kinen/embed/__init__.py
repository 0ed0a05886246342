"""Text → vectors, by the shipped ONNX model, a service, or nothing."""

from __future__ import annotations

import os

from kinen.errors import ConfigError
from kinen.model.kinds import BUILT_IN, PROVIDERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.config.keys import IndexSection
    from kinen.ports import Embedder


def load_configured(
    settings: IndexSection, daemon: tuple[str, str] | None = None, *, light: bool = False
) -> Embedder | None:
    """The embedder that the settings name; `daemon` and `light` as in `load`.

    Of the built-in models that is the English one, unless `embedding_model` names another.
    """
    return load(
        settings.embedding_provider,
        model=settings.embedding_model,
        endpoint=settings.embedding_endpoint,
        api_key=os.environ.get(settings.embedding_key_env, ""),
        path=settings.embedding_path,
        timeout=settings.embedding_timeout,
        daemon=daemon,
        light=light,
    )


def load(
    provider: str,
    *,
    model: str = "",
    endpoint: str = "",
    api_key: str = "",
    path: str = "",
    timeout: float = 30.0,
    daemon: tuple[str, str] | None = None,
    light: bool = False,
) -> Embedder | None:
    """The embedder of a provider, or None for `none`; a model is loaded when it is first used.

    `daemon` is kinen's home and the root of a space: if the daemon runs, it embeds queries. With
    `light` a built-in model embeds a question without onnxruntime.
    """
    if provider == "none":
        return None
    if provider == "onnx":
        from kinen.embed.onnx import OnnxEmbedder, WarmEmbedder

        if model and not path and model not in BUILT_IN:
            raise ConfigError(
                f"no built-in model {model!r}",
                f"index.embedding_model is {' or '.join(BUILT_IN)}; if empty, the text decides",
            )
        own = OnnxEmbedder(path, model=model or "english", light=light)
        return WarmEmbedder(own, *daemon) if daemon else own
    if provider == "ollama":
        from kinen.embed.openai import OllamaEmbedder

        return OllamaEmbedder(model, endpoint, timeout=timeout)
    if provider == "openai":
        from kinen.embed.openai import OpenAIEmbedder

        return OpenAIEmbedder(model, endpoint, api_key, timeout=timeout)
    raise ConfigError(
        f"unknown embedding provider {provider!r}",
        f"set index.embedding_provider to one of {', '.join(PROVIDERS)}",
    )
