"""Embeddings by onnxruntime, from the shipped model or from a folder of the user's."""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kinen.characters import storable
from kinen.embed.wordpiece import WordPiece
from kinen.errors import EmbedError
from kinen.ipc import extras
from kinen.model.kinds import BUILT_IN
from kinen.model.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kinen.embed.question import QuestionModel

SHIPPED = os.path.join(os.path.dirname(__file__), "model")
SHIPPED_DIMENSIONS = 384


class Shipped(NamedTuple):
    """A model of the package: its files are in a folder of its name."""

    file: str
    sums: Mapping[str, str]
    """The sha256 of each file."""
    pieces: float
    """The share of pieces that begin a word, in the languages that it knows."""
    fingerprint: str
    """Known beforehand: to import hashlib takes a cold recall longer than its search."""


MODELS = {
    "english": Shipped(
        "kinen-minilm-l6-int8.onnx",
        {
            "kinen-minilm-l6-int8.onnx": (
                "9bd740bf42b3b77dc3f6a1dca000ddb374bc2830222cadfb8ef5070a195306e4"
            ),
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
        1.0,
        BUILT_IN["english"],
    ),
    "multilingual": Shipped(
        "kinen-multilingual-l6-int8.onnx",
        {
            "kinen-multilingual-l6-int8.onnx": (
                "f80baf90401104069bf5c93ae40a58f32bc8949f76348deb82650be52d568156"
            ),
            "tokenizer.json": "b93288c16536d278ecf7a6fdb30aaf632965ee675ad4bfe8ea98d6618543e407",
        },
        0.54,
        BUILT_IN["multilingual"],
    ),
}
LIMIT = 256
OVERLAP = 32
LONGEST = 1024
"""Memory grows with the square of a window: models for longer texts get several windows."""
OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet")
"""Families whose first two positions are never used by a token."""
BATCH_TOKENS = 1024
"""Larger batches than about a thousand tokens are not faster and take more memory."""
UNKNOWN = ("[UNK]", "<UNK>")
CHARACTERS = 2_000
"""Chinese characters of a vocabulary from which on it was made for them."""


class Windows(NamedTuple):
    """Token windows of many texts, and for each the text that it belongs to."""

    ids: list[list[int]]
    owner: list[int]


class Library:
    """The tokenizer of a user's model, of any kind that the `tokenizers` library knows."""

    def __init__(self, path: str, limit: int, stride: int) -> None:
        if not extras.installed("tokenizers"):
            raise EmbedError(extras.missing("index.embedding_path", "tokenizers"))
        from tokenizers import Tokenizer

        self._whole = Tokenizer.from_file(path)
        self._whole.no_padding()
        self._whole.no_truncation()
        self._cut = Tokenizer.from_file(path)
        self._cut.no_padding()
        self._cut.enable_truncation(limit, stride=stride)

    @property
    def vocabulary(self) -> Mapping[str, int]:
        return self._whole.get_vocab()

    def words(self, text: str) -> Iterator[list[str]]:
        """The pieces of each word."""
        encoding = self._whole.encode(text, add_special_tokens=False)
        pieces = zip(encoding.word_ids, encoding.tokens, strict=True)
        for _, same in groupby(pieces, key=itemgetter(0)):
            yield [piece for _, piece in same]

    def windows(self, text: str) -> list[list[int]]:
        """The ids of a text, in windows that overlap."""
        encoding = self._cut.encode(text)
        return [part.ids or [0] for part in (encoding, *encoding.overflowing)]


if TYPE_CHECKING:
    Tokenizer = WordPiece | Library


class Loaded(NamedTuple):
    """The model in memory."""

    session: Any
    tokenizer: Tokenizer
    inputs: frozenset[str]
    dimensions: int


class OnnxEmbedder:
    """Unit vectors from a local model; a vector does not depend on the other texts of a batch."""

    def __init__(
        self,
        path: str = "",
        *,
        model: str = "english",
        threads: int = 0,
        batch_tokens: int = 0,
        light: bool = False,
    ) -> None:
        """`path` is a folder of the user's; without one, `model` is one of `MODELS`.

        With `light` a built-in model embeds one question without onnxruntime.
        """
        self._shipped = None if path else MODELS[model]
        self._folder = os.path.expanduser(path) if path else os.path.join(SHIPPED, model)
        self._light = light and not path
        self._threads = threads or default_threads()
        # One window at a time for graphs we did not build: dynamic quantisation scales its
        # activations over the whole batch, so that neighbours change one another's vectors.
        self._batch_tokens = batch_tokens or (BATCH_TOKENS if self._shipped else 1)
        self._hint = (
            "its files are damaged: reinstall kinen"
            if self._shipped
            else "index.embedding_path names a folder with model.onnx and tokenizer.json"
        )
        self._model = (
            os.path.join(self._folder, self._shipped.file)
            if self._shipped
            else model_file(self._folder)
        )
        self._tokenizer = os.path.join(self._folder, "tokenizer.json")
        for file in (self._model, self._tokenizer):
            if not os.path.isfile(file):
                raise EmbedError(f"the embedding model lacks {file}", self._hint)
        self._limit = LIMIT if self._shipped else token_limit(self._folder)
        self._lock = threading.Lock()
        self._loaded: Loaded | None = None
        self._spare: Tokenizer | None = None
        self._question: QuestionModel | None = None
        self._fingerprint = ""
        self._characters = -1

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self._model!r})"

    @property
    def loaded(self) -> bool:
        """Whether this process has loaded what the next question needs."""
        return bool(self._loaded or self._question)

    def drop(self) -> None:
        """Free the model; the next text loads it again."""
        with self._lock:
            self._loaded = self._question = None

    @property
    def name(self) -> str:
        return self._shipped.file.removesuffix(".onnx") if self._shipped else self._folder

    @property
    def fingerprint(self) -> str:
        if self._shipped:
            return self._shipped.fingerprint
        if not self._fingerprint:
            self._fingerprint = f"onnx:{self._digest()[:24]}"
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        return SHIPPED_DIMENSIONS if self._shipped else self._load().dimensions

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """One unit vector per text, in order; long texts are the mean of their windows."""
        import numpy as np

        if query and self._light and len(texts) == 1:
            vector = self._question_vector(texts[0])
            if vector is not None:
                return vector
        loaded = self._load()
        windows = self._windows(loaded.tokenizer, texts)
        total = np.zeros((len(texts), loaded.dimensions), dtype=np.float32)
        vectors = np.empty((len(windows.ids), loaded.dimensions), dtype=np.float32)
        for batch in batches([len(ids) for ids in windows.ids], self._batch_tokens):
            vectors[batch] = self._run(loaded, [windows.ids[n] for n in batch])
        for n, owner in enumerate(windows.owner):
            total[owner] += vectors[n] * np.float32(len(windows.ids[n]))
        return self._units(total)

    def _question_vector(self, text: str) -> Any:
        """The vector of a question without onnxruntime; None if it has more than one window."""
        windows = self._tokens().windows(storable(text))
        if len(windows) > 1:
            return None
        from kinen.embed.question import QuestionModel

        try:
            with self._lock:
                question = self._question = self._question or QuestionModel(self._model)
            return question.vector(windows[0])[None]
        except (OSError, ValueError, LookupError, StopIteration):
            return None  # the file is damaged: to load it says so

    def fluency(self, text: str) -> float:
        """How well the model knows the words of a text, from 0 to 1.

        A word of a language that it was trained on is one piece or two; others are cut into many,
        into single letters, or unknown. A character is a word where the model has thousands.
        """
        tokenizer = self._tokens()
        usual = self._shipped.pieces if self._shipped else 1.0
        pieces = known = 0
        for word in tokenizer.words(storable(text)):
            bare = (token.removeprefix("##").lstrip("▁Ġ") for token in word)
            letters = [piece for piece in bare if piece.isalpha() or piece.upper() in UNKNOWN]
            pieces += len(letters)
            known += bool(letters) and self._is_known(letters[0], tokenizer)
        return min(1.0, known / pieces / usual) if pieces else 1.0

    def _is_known(self, piece: str, tokenizer: Tokenizer) -> bool:
        """Is it more than a letter, or a character of a vocabulary for Chinese or Japanese?"""
        if len(piece) > 1 or piece.isascii():
            return piece.upper() not in UNKNOWN
        if self._characters < 0:
            self._characters = sum(
                len(token) == 1 and "\u4e00" <= token <= "\u9fff" for token in tokenizer.vocabulary
            )
        return self._characters >= CHARACTERS

    def _windows(self, tokenizer: Tokenizer, texts: Sequence[str]) -> Windows:
        windows = Windows([], [])
        for n, text in enumerate(texts):
            # A lone surrogate is a valid str but no valid UTF-8, which the library needs.
            for ids in tokenizer.windows(storable(text)):
                windows.ids.append(ids)
                windows.owner.append(n)
        return windows

    def _run(self, loaded: Loaded, rows: list[list[int]]) -> Any:
        """Unit vectors of windows that all have the same length."""
        import numpy as np

        ids = np.array(rows, dtype=np.int64)
        feed = {"input_ids": ids}
        if "attention_mask" in loaded.inputs:
            feed["attention_mask"] = np.ones_like(ids)
        if "token_type_ids" in loaded.inputs:
            feed["token_type_ids"] = np.zeros_like(ids)
        try:
            output = loaded.session.run(None, feed)[0]
        except Exception as error:
            raise EmbedError(f"{self._model} failed on a text: {error}", self._hint) from error
        # Rows are never padded, so that the mean over all tokens is the mean over the mask.
        return self._units(output.mean(axis=1) if output.ndim == 3 else output)

    def _units(self, vectors: Any) -> Any:
        import numpy as np

        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(length).all() and (length > 0).all()):
            raise EmbedError(f"{self._model} answered with no usable vector", self._hint)
        return (vectors / length).astype(np.float32)

    def _load(self) -> Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
            return self._loaded

    def _tokens(self) -> Tokenizer:
        """The tokenizer, opened once: of a question that the daemon embeds no more is needed."""
        loaded = self._loaded
        if loaded:
            return loaded.tokenizer
        if self._spare is None:
            kind = WordPiece if self._shipped else Library
            try:
                self._spare = kind(self._tokenizer, self._limit, overlap(self._limit))
            except EmbedError:
                raise
            except Exception as error:
                raise EmbedError(f"cannot read {self._tokenizer}: {error}", self._hint) from error
        return self._spare

    def _open(self) -> Loaded:
        tokenizer = self._tokens()
        self._spare = None
        session = self._open_session()
        inputs = frozenset(entry.name for entry in session.get_inputs())
        if "input_ids" not in inputs or inputs - {"input_ids", "attention_mask", "token_type_ids"}:
            raise EmbedError(
                f"{self._model} is not a text embedding model: its inputs are {sorted(inputs)}",
                "it takes input_ids, and at most attention_mask and token_type_ids",
            )
        shape = session.get_outputs()[0].shape
        dimensions = int(shape[-1]) if shape and isinstance(shape[-1], int) else 0
        loaded = Loaded(session, tokenizer, inputs, dimensions)
        if dimensions:
            return loaded
        return loaded._replace(dimensions=int(self._run(loaded, [[0]]).shape[1]))

    def _open_session(self) -> Any:
        # Its releases send telemetry unless this is set before they are loaded.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime

        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Waiting threads sleep: the cores belong to the user's editor and compiler.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            return onnxruntime.InferenceSession(
                self._model, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise EmbedError(f"cannot load {self._model}: {error}", self._hint) from error

    def _digest(self) -> str:
        sums = {os.path.basename(file): file_sha256(file) for file in self._fingerprinted()}
        return fingerprint_digest(sums, self._limit)

    def _fingerprinted(self) -> list[str]:
        """The files that decide the vectors; a large graph keeps its weights in files beside it."""
        folder, name = os.path.split(self._model)
        beside = [file for file in os.listdir(folder) if file.startswith((f"{name}.", f"{name}_"))]
        return [
            self._model,
            self._tokenizer,
            *(os.path.join(folder, file) for file in sorted(beside)),
        ]


class WarmEmbedder:
    """The vectors of another embedder, without loading its model for a query."""

    def __init__(self, own: OnnxEmbedder, home: str, space: str) -> None:
        self._own = own
        self._home = home
        self._space = space

    @property
    def name(self) -> str:
        return self._own.name

    @property
    def fingerprint(self) -> str:
        return self._own.fingerprint

    @property
    def dimensions(self) -> int:
        return self._own.dimensions

    @property
    def loaded(self) -> bool:
        """Whether this process has loaded what the next question needs."""
        return self._own.loaded

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """One unit vector per text, in order."""
        if query and not self.loaded:
            vectors = self._by_daemon([*texts])
            if vectors is not None:
                return vectors
        return self._own.embed(texts, query=query)

    def fluency(self, text: str) -> float:
        """How well the model knows the words of a text, from 0 to 1."""
        return self._own.fluency(text)

    def _by_daemon(self, texts: list[str]) -> Any:
        import numpy as np

        from kinen.ipc import client

        body = {"texts": texts, "model": self.fingerprint}
        line = "POST /v1/vectors"
        answer = client.ask(self._home, line, body, space=self._space, accept="*/*")
        if answer is None or answer.code != 200:
            return None
        rows = np.frombuffer(answer.body, dtype="<f4").astype(np.float32)
        return rows.reshape(len(texts), -1) if len(rows) == len(texts) * self.dimensions else None


def default_threads() -> int:
    """As many as the process may use, at most four: more hardly helps so small a model."""
    allowed = getattr(os, "sched_getaffinity", None)
    return min(4, len(allowed(0)) if allowed else os.cpu_count() or 1)


def overlap(limit: int) -> int:
    """How many tokens neighbouring windows share."""
    return min(OVERLAP, limit // 4)


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Positions grouped by equal length, each group within the budget of tokens.

    Only equal lengths go together: padding would change sums in their last bits, and with them
    a text's vector.
    """
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for n, length in enumerate(lengths):
        groups[length].append(n)
    for length in sorted(groups):
        size = max(1, budget // length)
        for start in range(0, len(groups[length]), size):
            yield groups[length][start : start + size]


def model_file(folder: str) -> str:
    """The graph in a user's folder: model.onnx, onnx/model.onnx, or the only *.onnx there."""
    for name in ("model.onnx", "onnx/model.onnx"):
        file = os.path.join(folder, name)
        if os.path.isfile(file):
            return file
    there = os.path.isdir(folder)
    files = [name for name in os.listdir(folder) if name.endswith(".onnx")] if there else []
    if len(files) == 1:
        return os.path.join(folder, files[0])
    fact = f"{folder} has {len(files)} *.onnx files" if there else f"no folder {folder}"
    raise EmbedError(
        f"no embedding model: {fact}",
        "index.embedding_path names a folder with model.onnx and tokenizer.json",
    )


def token_limit(folder: str) -> int:
    """The least limit that the model's own files state, else 256."""
    config = read_json(os.path.join(folder, "config.json"))
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in OFFSET_POSITIONS:
        positions -= 2
    stated = (
        read_json(os.path.join(folder, "tokenizer_config.json")).get("model_max_length"),
        positions,
    )
    # Tokenizers without a limit of their own state 10**30.
    usable = [n for n in stated if isinstance(n, int) and 8 <= n < 1 << 20]
    return min(LONGEST, *usable) if usable else LIMIT


def read_json(path: str) -> Mapping[str, Any]:
    """The object in a JSON file; empty when there is no such file."""
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EmbedError(f"cannot read {path}: {error}", "fix or remove the file") from error
    return value if isinstance(value, dict) else {}


def file_sha256(path: str) -> str:
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint_digest(sums: Mapping[str, str], limit: int) -> str:
    """A digest of everything that decides the vectors."""
    import hashlib

    facts = [*sorted(sums.values()), "mean", str(limit), str(overlap(limit))]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()
