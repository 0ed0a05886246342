"""The vector of one question by a built-in model, without onnxruntime.

To import onnxruntime and open a session takes a command far longer than the question. These are the
operations of the graph that `tools/build_model.py` writes, one by one, on the weights in its file.
Products of integers are exact in float32, sums of fractions differ from onnxruntime's in their last
bits: four of five vectors have a cosine above .9999, and the worst of 240 had .9986
(docs/decisions/0002-cold-start.md).
"""

from __future__ import annotations

import mmap
import threading
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HEADS = 12
EPSILON = np.float32(1e-12)
ONE = np.float32(1)
MIDDLE = 128
"""What stands for zero in inputs that are counted in steps."""
GELU_ZERO = 32
"""The same in gelu's output."""
KINDS = {1: "<f4", 2: "u1", 3: "i1"}
"""Types of numbers by their codes in ONNX; others are not needed."""
# Fields of the messages of ONNX: of a model, of a graph, and of a tensor.
GRAPH = 7
CONSTANT = 5
DIMENSIONS = 1
KIND = 2
NAME = 8
BYTES = 9
# How the value of a field is written: as a number, as bytes after their count, as four bytes.
VARINT = 0
LENGTH = 2
WORD = 5


class QuestionModel:
    """The weights of a built-in model, in place in its file."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._weights = constants(data)
        self._layers = sum(name.endswith(".heads.step") for name in self._weights)
        largest = max(
            matrix.size for name, matrix in self._weights.items() if f"{name}.bias" in self._weights
        )
        self._floats = np.empty(largest, np.float32)
        self._lock = threading.Lock()
        """Held while `_floats` is in use."""

    def vector(self, ids: Sequence[int]) -> Any:
        """The unit vector of the tokens of one window."""
        weights = self._weights
        rows = np.asarray(ids)
        x = weights["words"][rows].astype(np.float32) * weights["words.scale"][rows]
        x = self._normalised(x + weights["positions"][: len(ids)], "embeddings.LayerNorm")
        with self._lock:
            for number in range(self._layers):
                x = self._layer(x, f"encoder.layer.{number}")
        total = x.sum(axis=0)
        return total / np.sqrt((total * total).sum())

    def _layer(self, x: Any, name: str) -> Any:
        weights = self._weights
        attention = f"{name}.attention"
        counted = steps(x * (ONE / weights[f"{name}.heads.step"]), MIDDLE)
        parts = (
            self._product(counted, f"{attention}.self.{part}") for part in ("query", "key", "value")
        )
        step = weights[f"{name}.mixed.step"]
        mixed = steps(attended(*parts) / step, MIDDLE)
        y = self._product(mixed, f"{attention}.output.dense", step)
        x = self._normalised(x + y, f"{attention}.output.LayerNorm")
        counted = steps(x * (ONE / weights[f"{name}.wide.step"]), MIDDLE)
        y = gelu(self._product(counted, f"{name}.intermediate.dense"))
        reach = y.max(axis=1, keepdims=True) * weights["gelu.part"]
        step = np.maximum(reach, weights["gelu.least"])
        y = self._product(steps(y / step, GELU_ZERO), f"{name}.output.dense", step)
        return self._normalised(x + y, f"{name}.output.LayerNorm")

    def _product(self, x: Any, name: str, step: Any = ONE) -> Any:
        """Inputs that are counted in steps times a matrix of integers, and the bias."""
        weights = self._weights
        matrix = weights[name]
        # One place for all matrices stays in the processor's cache.
        floats = self._floats[: matrix.size].reshape(matrix.shape)
        floats[...] = matrix
        # Of few rows the transposed product takes half the time.
        return (floats.T @ x.T).T * (weights[f"{name}.scale"] * step) + weights[f"{name}.bias"]

    def _normalised(self, x: Any, name: str) -> Any:
        x = x - x.mean(axis=1, keepdims=True)
        x *= ONE / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPSILON)
        return x * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def steps(x: Any, zero: int) -> Any:
    """Whole steps, within what eight bits around a zero hold."""
    return np.clip(np.rint(x), -zero, 255 - zero)


def attended(query: Any, key: Any, value: Any) -> Any:
    """The values that each token attends to, by all heads."""
    tokens, width = query.shape
    query, key, value = (
        part.reshape(tokens, HEADS, -1).swapaxes(0, 1) for part in (query, key, value)
    )
    scores = query @ key.swapaxes(1, 2) / np.float32((width // HEADS) ** 0.5)
    scores = np.exp(scores - scores.max(axis=2, keepdims=True))
    mixed = (scores / scores.sum(axis=2, keepdims=True)) @ value
    return mixed.swapaxes(0, 1).reshape(tokens, width)


def gelu(x: Any) -> Any:
    """Gelu as onnxruntime's FastGelu approximates it."""
    inner = np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)
    return np.float32(0.5) * x * (1 + np.tanh(inner))


def constants(data: mmap.mmap) -> dict[str, Any]:
    """The numbers that an ONNX file has, by their names, without copying them."""
    graph = next(place for number, place in fields(data, (0, len(data))) if number == GRAPH)
    places = (place for number, place in fields(data, graph) if number == CONSTANT)
    return dict(filter(None, (constant(data, place) for place in places)))


def constant(data: mmap.mmap, place: tuple[int, int]) -> tuple[str, Any] | None:
    """The name and the numbers of a constant; None of those that only the graph needs."""
    shape: list[int] = []
    values: dict[int, tuple[int, int]] = {}
    for number, at in fields(data, place):
        if number == DIMENSIONS:
            shape.append(at[0])
        else:
            values[number] = at
    kind = KINDS.get(values[KIND][0])
    if kind is None:
        return None
    start, end = values[NAME]
    numbers = np.frombuffer(data, kind, prod(shape), values[BYTES][0])
    return data[start:end].decode(), numbers.reshape(shape)


def fields(data: mmap.mmap, place: tuple[int, int]) -> Iterator[tuple[int, tuple[int, int]]]:
    """The fields of a message of protobuf: the number of each, and its place or its value twice."""
    at, end = place
    while at < end:
        key, at = varint(data, at)
        written = key & 7
        value = 4
        if written in (VARINT, LENGTH):
            value, at = varint(data, at)
        elif written != WORD:
            raise ValueError(f"no field of an ONNX file is written as {written}")
        if written == VARINT:
            yield key >> 3, (value, value)
            continue
        yield key >> 3, (at, at + value)
        at += value


def varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, and the place after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
