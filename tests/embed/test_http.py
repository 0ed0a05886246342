"""Both services, played by a real server on loopback that can also misbehave."""

from __future__ import annotations

import hashlib
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from kinen.embed import load
from kinen.embed.openai import (
    BATCH_CHARACTERS,
    BATCH_TEXTS,
    LONGEST_DELAY,
    HttpEmbedder,
    OllamaEmbedder,
    OpenAIEmbedder,
)
from kinen.errors import ConfigError, EmbedError
from loopback import Loopback

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

KEY = "sk-very-secret-0123456789"
DIMENSIONS = 5


class Reply(NamedTuple):
    """One way to misbehave; the next request is answered with it."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0
    cut: bool = False


class Request(NamedTuple):
    path: str
    texts: list[str]
    model: str
    key: str


class Service(Loopback):
    """An embedding service that speaks both protocols."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.requests: list[Request] = []
        self.dimensions = DIMENSIONS
        self.reversed = False
        super().__init__()

    def vector(self, text: str) -> list[float]:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
        return [float(x) for x in np.random.default_rng(seed).normal(size=self.dimensions) * 3]

    def respond(self, handler: BaseHTTPRequestHandler, sent: bytes) -> None:
        data = json.loads(sent)
        key = handler.headers.get("Authorization", "")
        self.requests.append(Request(handler.path, data["input"], data["model"], key))
        reply = self.replies.pop(0) if self.replies else Reply(body=self.body(handler.path, data))
        if reply.delay:
            self.released.wait(reply.delay)
        body = reply.body
        handler.send_response(reply.status)
        for name, value in reply.headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body) + (1000 if reply.cut else 0)))
        handler.end_headers()
        try:
            handler.wfile.write(body)
            handler.wfile.flush()
        except OSError:
            return

    def body(self, path: str, request: dict[str, Any]) -> bytes:
        vectors = [self.vector(text) for text in request["input"]]
        if path.endswith("/api/embed"):
            return json.dumps({"model": request["model"], "embeddings": vectors}).encode()
        items = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        return json.dumps({"data": items[::-1] if self.reversed else items}).encode()


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.close()


@pytest.fixture
def naps() -> list[float]:
    return []


Open = Callable[..., HttpEmbedder]


@pytest.fixture(params=["ollama", "openai"])
def connect(request: pytest.FixtureRequest, service: Service, naps: list[float]) -> Open:
    """Either embedder, connected to the service; its naps are written down, not taken."""

    def make(endpoint: str = "", timeout: float = 10.0) -> HttpEmbedder:
        url = endpoint or service.url
        if request.param == "ollama":
            return OllamaEmbedder("plain", url, timeout=timeout, sleep=naps.append)
        return OpenAIEmbedder("plain", url, KEY, timeout=timeout, sleep=naps.append)

    return make


def unit(vector: list[float]) -> Any:
    return np.array(vector) / np.linalg.norm(vector)


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_vectors_are_float32_unit_rows_in_order(connect: Open, service: Service) -> None:
    texts = [f"text {n}" for n in range(3 * BATCH_TEXTS + 1)]
    vectors = connect().embed(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(texts), DIMENSIONS)
    expected = np.array([unit(service.vector(text)) for text in texts])
    assert np.allclose(vectors, expected, atol=1e-6)
    assert [len(request.texts) for request in service.requests] == [BATCH_TEXTS] * 3 + [1]


def test_batches_stay_under_the_size(connect: Open, service: Service) -> None:
    texts = ["x" * (BATCH_CHARACTERS // 3) for _ in range(5)] + ["y" * (2 * BATCH_CHARACTERS)]
    assert connect().embed(texts).shape == (6, DIMENSIONS)
    assert [len(request.texts) for request in service.requests] == [3, 2, 1]


def test_no_texts_give_no_vectors(connect: Open) -> None:
    assert connect().embed([]).shape == (0, DIMENSIONS)


def test_empty_text_and_lone_surrogates_are_sent_as_valid_text(
    connect: Open, service: Service
) -> None:
    assert np.isfinite(connect().embed(["", "broken \ud800"])).all()
    assert all(service.requests[0].texts)


def test_answers_out_of_order_are_put_in_order(service: Service) -> None:
    service.reversed = True
    vectors = OpenAIEmbedder("plain", service.url, KEY).embed(["a", "b", "c"])
    assert np.allclose(vectors, [unit(service.vector(t)) for t in "abc"], atol=1e-6)


def test_the_fingerprint_asks_once_and_names_provider_model_and_dimensions(
    connect: Open, service: Service
) -> None:
    embedder = connect()
    assert embedder.fingerprint == f"{embedder.provider}:plain:{DIMENSIONS}"
    assert embedder.dimensions == DIMENSIONS
    assert embedder.name == "plain"
    assert len(service.requests) == 1


def test_the_fingerprint_does_not_depend_on_the_endpoint(connect: Open, service: Service) -> None:
    other = service.url.replace("127.0.0.1", "localhost")
    assert connect().fingerprint == connect(other).fingerprint


def test_nomic_models_get_their_task_in_front(service: Service) -> None:
    embedder = load("ollama", endpoint=service.url)
    assert embedder is not None
    embedder.embed(["a note"])
    embedder.embed(["a question"], query=True)
    assert [request.texts for request in service.requests] == [
        ["search_document: a note"],
        ["search_query: a question"],
    ]
    assert {request.model for request in service.requests} == {"nomic-embed-text"}
    assert {request.path for request in service.requests} == {"/api/embed"}


def test_other_models_get_the_text_as_it_is(service: Service) -> None:
    OllamaEmbedder("mxbai-embed-large", service.url).embed(["a note"])
    assert service.requests[0].texts == ["a note"]


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
def test_openai_endpoints_work_with_and_without_a_version(service: Service, tail: str) -> None:
    OpenAIEmbedder("plain", service.url + tail, KEY).embed(["x"])
    assert service.requests[0].path == "/v1/embeddings"
    assert service.requests[0].key == f"Bearer {KEY}"


def test_an_openai_endpoint_with_its_own_version_is_kept(service: Service) -> None:
    OpenAIEmbedder("plain", f"{service.url}/v1beta/openai", KEY).embed(["x"])
    assert service.requests[0].path == "/v1beta/openai/embeddings"


@pytest.mark.parametrize("tail", ["/", "/api", "/api/"])
def test_ollama_endpoints_work_with_a_tail(service: Service, tail: str) -> None:
    OllamaEmbedder("plain", service.url + tail).embed(["x"])
    assert service.requests[0].path == "/api/embed"


def test_an_endpoint_needs_no_scheme(service: Service) -> None:
    OllamaEmbedder("plain", service.url.removeprefix("http://")).embed(["x"])
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    "endpoint", ["ftp://somewhere", "http://", "unix:///run/x.sock", "http://host:port"]
)
def test_an_impossible_endpoint_is_a_config_error(endpoint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        OllamaEmbedder("plain", endpoint)
    assert "index.embedding_endpoint" in caught.value.hint


def test_a_local_service_is_not_asked_through_the_proxy(
    connect: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    assert connect().embed(["x"]).shape == (1, DIMENSIONS)


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_server_that_recovers_is_asked_again(
    connect: Open, service: Service, naps: list[float], status: int
) -> None:
    service.replies = [Reply(status, b"loading"), Reply(status, b"loading")]
    assert connect().embed(["x"]).shape == (1, DIMENSIONS)
    assert naps == [0.5, 1.0]


def test_a_server_that_does_not_recover_is_given_up(
    connect: Open, service: Service, naps: list[float]
) -> None:
    service.replies = [Reply(503, b"out of memory")] * 9
    with pytest.raises(EmbedError, match=r"503.*out of memory"):
        connect().embed(["x"])
    assert naps == [0.5, 1.0, 2.0]


def test_a_query_gives_up_sooner(connect: Open, service: Service, naps: list[float]) -> None:
    service.replies = [Reply(503)] * 9
    with pytest.raises(EmbedError):
        connect().embed(["x"], query=True)
    assert naps == [0.5]


@pytest.mark.parametrize(
    ("headers", "nap"),
    [
        ((("Retry-After", "7"),), 7.0),
        ((("Retry-After", "86400"),), LONGEST_DELAY),
        ((("Retry-After", "soon"),), 0.5),
        ((), 0.5),
    ],
)
def test_too_many_requests_waits_as_told_within_reason(
    connect: Open,
    service: Service,
    naps: list[float],
    headers: tuple[tuple[str, str], ...],
    nap: float,
) -> None:
    service.replies = [Reply(429, b"slow down", headers)]
    assert connect().embed(["x"]).shape == (1, DIMENSIONS)
    assert naps == [nap]


def test_a_date_to_retry_at_is_understood(
    connect: Open, service: Service, naps: list[float]
) -> None:
    later = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 12))
    service.replies = [Reply(429, b"", (("Retry-After", later),))]
    connect().embed(["x"])
    assert 9 <= naps[0] <= 13


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_refusal_is_final(
    connect: Open, service: Service, naps: list[float], status: int
) -> None:
    service.replies = [Reply(status, b'{"error": "no"}')] * 2
    with pytest.raises(EmbedError, match=str(status)) as caught:
        connect().embed(["x"])
    assert naps == []
    assert len(service.requests) == 1
    assert caught.value.hint


def test_a_missing_ollama_model_says_how_to_get_it(service: Service) -> None:
    service.replies = [Reply(404, b'{"error": "model not found, try pulling it first"}')]
    with pytest.raises(EmbedError) as caught:
        OllamaEmbedder("", service.url).embed(["x"])
    assert caught.value.hint == "ollama pull nomic-embed-text"


def test_ollama_that_is_not_there_says_so(naps: list[float]) -> None:
    embedder = OllamaEmbedder("", f"http://127.0.0.1:{closed_port()}", sleep=naps.append)
    with pytest.raises(EmbedError, match="cannot be reached") as caught:
        embedder.embed(["x"])
    assert "is ollama running?" in caught.value.hint
    assert len(naps) == 3


def test_a_redirect_is_not_followed(connect: Open, service: Service) -> None:
    service.replies = [Reply(307, b"", (("Location", "http://example.invalid/"),))]
    with pytest.raises(EmbedError, match="307"):
        connect().embed(["x"])
    assert len(service.requests) == 1


def test_a_server_that_does_not_answer_in_time_is_an_error(
    connect: Open, service: Service, naps: list[float]
) -> None:
    service.replies = [Reply(delay=30.0)] * 4
    with pytest.raises(EmbedError, match="did not answer") as caught:
        connect(timeout=0.2).embed(["x"])
    assert "index.embedding_timeout" in caught.value.hint
    assert len(naps) == 1


def test_a_server_that_dies_midway_is_asked_again(
    connect: Open, service: Service, naps: list[float]
) -> None:
    service.replies = [Reply(body=b'{"embeddings": [[0.1, ', cut=True)]
    assert connect().embed(["x"]).shape == (1, DIMENSIONS)
    assert len(naps) == 1


def test_a_server_that_always_dies_midway_is_an_error(connect: Open, service: Service) -> None:
    service.replies = [Reply(body=b'{"embeddings": [[0.1, ', cut=True)] * 9
    with pytest.raises(EmbedError, match="cannot be reached"):
        connect().embed(["x"])


@pytest.mark.parametrize(
    "body",
    [
        b"<html>welcome</html>",
        b"\xff\xfe\x00garbage",
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"embeddings": 7, "data": 7}',
        b'{"embeddings": null, "data": [{"index": 0}, {"index": 1}]}',
        b'{"embeddings": [], "data": [{"index": 0, "embedding": [1]}, {"index": 0}]}',
    ],
)
def test_nonsense_is_an_error_with_a_hint(
    connect: Open, service: Service, naps: list[float], body: bytes
) -> None:
    service.replies = [Reply(body=body)]
    with pytest.raises(EmbedError, match="answered with") as caught:
        connect().embed(["x", "y"])
    assert "index.embedding_endpoint" in caught.value.hint
    assert naps == []


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [[1, 2]],
        [[1, 2], [3, 4], [5, 6]],
        [[1], [2, 3]],
        [["a"], ["b"]],
        [[], []],
        [1, 2],
        [None, None],
        [[float("nan"), 1], [1, 1]],
        [[float("inf"), 1], [1, 1]],
        [[0, 0], [1, 1]],
    ],
    ids=str,
)
def test_unusable_vectors_are_an_error(connect: Open, service: Service, rows: list[Any]) -> None:
    items = [{"index": n, "embedding": row} for n, row in enumerate(rows)]
    service.replies = [Reply(body=json.dumps({"embeddings": rows, "data": items}).encode())]
    with pytest.raises(EmbedError, match="answered with"):
        connect().embed(["x", "y"])


def test_dimensions_that_change_are_an_error(connect: Open, service: Service) -> None:
    embedder = connect()
    embedder.embed(["x"])
    service.dimensions = DIMENSIONS + 1
    with pytest.raises(EmbedError, match=f"{DIMENSIONS + 1} dimensions after {DIMENSIONS}"):
        embedder.embed(["y"])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_the_key_is_in_no_error_and_no_repr(service: Service, status: int) -> None:
    echo = json.dumps({"error": f"Incorrect API key provided: {KEY}"}).encode()
    service.replies = [Reply(status, echo)] * 9
    embedder = OpenAIEmbedder("plain", service.url, KEY, sleep=lambda _: None)
    with pytest.raises(EmbedError) as caught:
        embedder.embed(["x"])
    assert KEY not in f"{caught.value} {caught.value!r} {caught.value.hint} {embedder!r}"


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAIEmbedder("plain", "http://127.0.0.1:1", "sk-secret\nX-Other: 1")
    assert "sk-secret" not in str(caught.value)


def test_a_key_with_a_stray_newline_at_its_end_works(service: Service) -> None:
    OpenAIEmbedder("plain", service.url, f"{KEY}\n").embed(["x"])
    assert service.requests[0].key == f"Bearer {KEY}"


def test_openai_is_only_the_default_of_its_own_provider() -> None:
    openai, ollama = load("openai", api_key=KEY), load("ollama")
    assert "api.openai.com/v1" in repr(openai)
    assert "127.0.0.1:11434" in repr(ollama)
