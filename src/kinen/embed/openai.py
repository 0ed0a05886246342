"""Embeddings by a service: Ollama, or any that has OpenAI's protocol."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kinen.characters import storable
from kinen.errors import ConfigError, EmbedError
from kinen.ipc.loopback import is_local, with_version

if TYPE_CHECKING:
    import httpx

OLLAMA_ENDPOINT = "http://127.0.0.1:11434"
OLLAMA_MODEL = "nomic-embed-text"
OPENAI_ENDPOINT = "https://api.openai.com/v1"
OPENAI_MODEL = "text-embedding-3-small"
BATCH_TEXTS = 64
BATCH_CHARACTERS = 64_000
ATTEMPTS = 4
QUERY_ATTEMPTS = 2
"""Fewer for a query: a person waits, and full text can answer."""
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0


class HttpEmbedder(ABC):
    """What both services share: batches, retries, and checks of the answers."""

    provider = ""
    path = ""

    def __init__(
        self,
        model: str,
        endpoint: str,
        *,
        timeout: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model = model
        self.endpoint = endpoint
        self._timeout = timeout
        self._sleep = sleep
        self._lock = threading.Lock()
        self._dimensions = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {self.endpoint!r})"

    @property
    def name(self) -> str:
        return self.model

    @property
    def fingerprint(self) -> str:
        return f"{self.provider}:{self.model}:{self.dimensions}"

    @property
    def dimensions(self) -> int:
        """Known after the first answer; asks the service once if there was none yet."""
        if not self._dimensions:
            self.embed(["dimensions"], query=True)
        return self._dimensions

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """One unit vector per text, in order."""
        import numpy as np

        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        import httpx

        prepared = [self._prepared(text, query=query) for text in texts]
        attempts = QUERY_ATTEMPTS if query else ATTEMPTS
        # A service on this machine is reached without the user's proxy.
        local = is_local(self.endpoint)
        with httpx.Client(
            timeout=self._timeout, headers=self._headers(), trust_env=not local
        ) as client:
            vectors = [
                self._vectors(self._post(client, batch, attempts), len(batch))
                for batch in batches(prepared)
            ]
        return np.concatenate(vectors)

    def _prepared(self, text: str, *, query: bool) -> str:  # noqa: ARG002
        # JSON carries no lone surrogates, and services refuse an empty input.
        return storable(text) or " "

    def _headers(self) -> dict[str, str]:
        return {}

    @abstractmethod
    def _unpacked(self, body: Any, count: int) -> list[Any]:
        """The vectors in an answer, in the order of the texts."""

    @abstractmethod
    def _refused(self, status: int, body: str) -> EmbedError:
        """The error for a refused request."""

    def _unreachable_hint(self) -> str:
        return f"is the service at {self.endpoint} running? see index.embedding_endpoint"

    def _post(self, client: httpx.Client, batch: Sequence[str], attempts: int) -> Any:
        """The decoded answer; a failure that may pass is retried."""
        import httpx

        payload = {"model": self.model, "input": list(batch)}
        attempt = 0
        while True:
            attempt += 1
            wait = None
            try:
                response = client.post(f"{self.endpoint}{self.path}", json=payload)
            except httpx.TimeoutException:
                failure = EmbedError(
                    f"{self.provider} at {self.endpoint} did not answer within {self._timeout:g} s",
                    "raise index.embedding_timeout, or choose a smaller model",
                )
                attempts = min(attempts, 2)
            except (httpx.TransportError, httpx.InvalidURL) as error:
                reason = self._excerpt(str(error)) or type(error).__name__
                failure = EmbedError(
                    f"{self.provider} at {self.endpoint} cannot be reached: {reason}",
                    self._unreachable_hint(),
                )
            else:
                if response.is_success:
                    return self._decoded(response)
                failure = self._refused(response.status_code, self._excerpt(response.text))
                if response.status_code != 429 and response.status_code < 500:
                    raise failure
                wait = retry_after(response.headers)
            if attempt >= attempts:
                raise failure
            self._sleep(FIRST_DELAY * 2 ** (attempt - 1) if wait is None else wait)

    def _excerpt(self, text: str) -> str:
        return " ".join(text.split())[:200]

    def _decoded(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError:
            raise self._nonsense(f"no JSON but {self._excerpt(response.text)[:60]!r}") from None

    def _vectors(self, body: Any, count: int) -> Any:
        """The answer as unit vectors, or an error that says what is wrong with it."""
        import numpy as np

        try:
            rows = self._unpacked(body, count)
        except (KeyError, TypeError, IndexError, AttributeError):
            raise self._nonsense("JSON without embeddings in it") from None
        if len(rows) != count:
            raise self._nonsense(f"{len(rows)} vectors for {count} texts")
        try:
            vectors = np.asarray(rows, dtype=np.float32)
        except (TypeError, ValueError):
            raise self._nonsense("vectors of different lengths, or no numbers") from None
        if vectors.ndim != 2 or not vectors.shape[1]:
            raise self._nonsense("vectors without numbers")
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(length).all() and (length > 0).all()):
            raise self._nonsense("a vector that is not finite or has no length")
        dimensions = int(vectors.shape[1])
        with self._lock:
            first = self._dimensions = self._dimensions or dimensions
        if dimensions != first:
            raise EmbedError(
                f"{self.provider} answered with {dimensions} dimensions after {first}",
                f"the model behind {self.model!r} changed: start kinen again",
            )
        return vectors / length

    def _nonsense(self, fact: str) -> EmbedError:
        return EmbedError(
            f"{self.provider} at {self.endpoint} answered with {fact}",
            f"check that {self.model!r} is an embedding model and that index.embedding_endpoint "
            f"is an address of {self.provider}",
        )


class OllamaEmbedder(HttpEmbedder):
    """Embeddings by an Ollama server, usually on this machine."""

    provider = "ollama"
    path = "/api/embed"

    def __init__(
        self,
        model: str = "",
        endpoint: str = "",
        *,
        timeout: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        base = checked_url(endpoint or OLLAMA_ENDPOINT).removesuffix("/api")
        super().__init__(model or OLLAMA_MODEL, base, timeout=timeout, sleep=sleep)

    def _prepared(self, text: str, *, query: bool) -> str:
        text = super()._prepared(text, query=query)
        # nomic's models were trained with a task in front of every text.
        if self.model.rpartition("/")[2].startswith("nomic-embed"):
            return f"search_query: {text}" if query else f"search_document: {text}"
        return text

    def _unpacked(self, body: Any, count: int) -> list[Any]:  # noqa: ARG002
        return list(body["embeddings"])

    def _unreachable_hint(self) -> str:
        return "is ollama running? start it with: ollama serve"

    def _refused(self, status: int, body: str) -> EmbedError:
        hint = "see the log of ollama serve"
        if status == 404 or "not found" in body:
            hint = f"ollama pull {self.model}"
        return EmbedError(f"ollama at {self.endpoint} refused with status {status}: {body}", hint)


class OpenAIEmbedder(HttpEmbedder):
    """Embeddings by OpenAI, or by a service that speaks its protocol."""

    provider = "openai"
    path = "/embeddings"

    def __init__(
        self,
        model: str = "",
        endpoint: str = "",
        api_key: str = "",
        *,
        timeout: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        base = openai_base(endpoint or OPENAI_ENDPOINT)
        super().__init__(model or OPENAI_MODEL, base, timeout=timeout, sleep=sleep)
        self._key = api_key.strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise ConfigError(
                "the API key has characters that no key has",
                "check the variable that index.embedding_key_env names",
            )

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def _excerpt(self, text: str) -> str:
        text = text.replace(self._key, "[key]") if self._key else text
        return super()._excerpt(text)

    def _unpacked(self, body: Any, count: int) -> list[Any]:
        items = {
            int(item.get("index", n)): item["embedding"] for n, item in enumerate(body["data"])
        }
        if len(items) != len(body["data"]) or set(items) != set(range(len(items))):
            raise self._nonsense(f"wrong indexes for {count} texts")
        return [items[n] for n in range(len(items))]

    def _refused(self, status: int, body: str) -> EmbedError:
        where = f"openai at {self.endpoint} refused with status {status}"
        if status in (401, 403):
            # The body is left out: services quote the key, or half of it, in this answer.
            return EmbedError(where, "check the variable that index.embedding_key_env names")
        hint = {
            404: "check index.embedding_model and index.embedding_endpoint",
            429: "the account's limit is reached: wait, or check its quota",
        }.get(status, "try again later" if status >= 500 else "check index.embedding_model")
        return EmbedError(f"{where}: {body}", hint)


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, in batches under a count and a size; one text is never split."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == BATCH_TEXTS or size + len(text) > BATCH_CHARACTERS):
            yield batch
            batch = []
            size = 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the service asks us to wait, within reason; None if it does not say."""
    value = headers.get("retry-after", "").strip()
    if value.isdecimal():
        return min(float(value), LONGEST_DELAY)
    from email.utils import parsedate_to_datetime

    try:
        # Measured against the service's clock, which may differ from ours.
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("date", ""))
    except (TypeError, ValueError):
        return None
    return min(max(wait.total_seconds(), 0.0), LONGEST_DELAY)


def checked_url(endpoint: str) -> str:
    """The endpoint with a scheme and without a slash at its end."""
    url = endpoint if "://" in endpoint else f"http://{endpoint}"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(
            f"{endpoint!r} is not the address of a service",
            "index.embedding_endpoint looks like http://127.0.0.1:11434",
        )
    return url.rstrip("/")


def openai_base(endpoint: str) -> str:
    """The address that /embeddings is added to; a version is added where there is none."""
    return with_version(checked_url(endpoint), "/embeddings")
