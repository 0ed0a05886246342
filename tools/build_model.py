"""Builds the int8 ONNX file of an embedding model from its weights, and measures it.

python tools/build_model.py WEIGHTS.safetensors… [--model english|multilingual]
    [--graph fused|plain] [--out FILE] [--check]

Weights may be split over several files and have BERT's usual names, or the short names of the
multilingual student (`layers.0.q.weight`), whose word table is int8 with a scale per row.

The graph quantises activations per token (one scale per row), never per batch, so that a text's
vector does not depend on the texts beside it. The build is deterministic: `--check` compares its
digest with the shipped file's.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import struct
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

SHIPPED = Path(__file__).parents[1] / "src/kinen/embed/model"
NAMES = {"english": "kinen-minilm-l6", "multilingual": "kinen-multilingual-l6"}
PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "o": "attention.output.dense",
    "i": "intermediate.dense",
    "d": "output.dense",
    "ln1": "attention.output.LayerNorm",
    "ln2": "output.LayerNorm",
}
TABLES = {
    "we": "word_embeddings",
    "pe": "position_embeddings",
    "te": "token_type_embeddings",
    "ln": "LayerNorm",
}
"""The student's short names and BERT's."""
MICROSOFT = "com.microsoft"
LAYERS, HEADS, WIDTH = 6, 12, 384
EPSILON = 1e-12
WEIGHT_RANGE = 64
"""Seven bits: two products of 255 and 64 still fit the 16 bits that CPUs without VNNI add in."""
MIDDLE = 128
GELU_ZERO, GELU_LEAST = 32, 0.1701
"""Gelu never goes below -0.17: its zero point need not be in the middle."""
Array = np.ndarray[Any, Any]


def read_weights(files: list[Path]) -> dict[str, Array]:
    """The tensors of safetensors files as float32, under BERT's usual names."""
    results: dict[str, Array] = {}
    words = []
    for file in files:
        tensors = read_tensors(file)
        if "we_q" in tensors:
            words.append(tensors["we_q"] * tensors["we_s"])
        else:
            results.update((bert_name(name), array) for name, array in tensors.items())
    if words:
        results["embeddings.word_embeddings.weight"] = np.concatenate(words)
    return results


def read_tensors(file: Path) -> dict[str, Array]:
    """The tensors of one safetensors file as float32."""
    data = file.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    results = {}
    for name, entry in header.items():
        start, end = (8 + size + offset for offset in entry["data_offsets"])
        kind = {"F16": np.float16, "F32": np.float32, "I8": np.int8}[entry["dtype"]]
        array = np.frombuffer(data[start:end], dtype=kind).reshape(entry["shape"])
        results[name] = array.astype(np.float32)
    return results


def bert_name(name: str) -> str:
    """BERT's name of a tensor."""
    part, *rest = name.split(".")
    if part == "layers":
        number, key, kind = rest
        return f"encoder.layer.{number}.{PARTS[key]}.{kind}"
    if part in TABLES:
        return f"embeddings.{TABLES[part]}.{rest[0]}"
    return name.removeprefix("bert.")


def quantised(rows: Array, largest: int) -> tuple[Array, Array]:
    """int8 values and one scale per row."""
    scale = (np.abs(rows).max(axis=1) / np.float32(largest)).astype(np.float32)
    scale = np.maximum(scale, np.float32(1e-12))
    values = np.clip(np.rint(rows / scale[:, None]), -largest, largest)
    return values.astype(np.int8), scale


class Graph:
    """Nodes and constants in the order in which they are asked for."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: Any) -> str:
        if name not in self.constants:
            array = np.ascontiguousarray(value).reshape(np.shape(value))
            self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def __call__(self, op: str, *inputs: str, domain: str = "", out: str = "", **attrs: Any) -> str:
        out = out or f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], out, domain=domain, **attrs))
        return out

    def model(self, name: str, domains: dict[str, int]) -> bytes:
        """The finished file."""
        ids = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
            for name in ("input_ids", "attention_mask")
        ]
        vector = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", WIDTH])
        graph = helper.make_graph(self.nodes, name, ids, [vector], [*self.constants.values()])
        opsets = [helper.make_opsetid(name, version) for name, version in domains.items()]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="kinen")
        model.ir_version = 8
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString(deterministic=True))


class Builder:
    """BERT's forward pass as a graph; `fused` uses onnxruntime's own operators where they help."""

    def __init__(self, name: str, weights: dict[str, Array], *, fused: bool) -> None:
        self.name, self.weights, self.fused, self.graph = name, weights, fused, Graph()

    def build(self) -> bytes:
        g = self.graph
        self.shape = g("Shape", "input_ids")
        self.count = g("ReduceProd", self.shape, axes=[0], keepdims=1)
        x = self.embeddings()
        self.mask = self.attention_mask()
        for n in range(LAYERS):
            x = self.layer(x, f"encoder.layer.{n}")
        self.pooled(x)
        return g.model(self.name, {"": 17, MICROSOFT: 1} if self.fused else {"": 17})

    def embeddings(self) -> str:
        g, w = self.graph, self.weights
        table, scale = quantised(w["embeddings.word_embeddings.weight"], 127)
        words = g("Gather", g.constant("words", table), "input_ids")
        scales = g("Gather", g.constant("words.scale", scale[:, None]), "input_ids")
        words = g("Mul", g("Cast", words, to=TensorProto.FLOAT), scales)
        types = w["embeddings.token_type_embeddings.weight"]
        table = w["embeddings.position_embeddings.weight"] + types[0]
        zero, first = g.constant("zero", np.array([0])), g.constant("first", np.array([1]))
        tokens = g("Slice", self.shape, first, g.constant("second", np.array([2])))
        positions = g("Slice", g.constant("positions", table), zero, tokens)
        return self.normalised(g("Add", words, positions), "embeddings.LayerNorm")

    def attention_mask(self) -> str:
        """As the attention wants it: 1 and 0, or 0 and a very negative number to add."""
        g = self.graph
        if self.fused:
            return g("Cast", "attention_mask", to=TensorProto.INT32)
        mask = g("Cast", "attention_mask", to=TensorProto.FLOAT)
        hidden = g("Sub", g.constant("one", np.float32(1)), mask)
        hidden = g("Mul", hidden, g.constant("hidden", np.float32(-1e9)))
        return g("Unsqueeze", hidden, g.constant("heads.axes", np.array([1, 2])))

    def layer(self, x: str, name: str) -> str:
        tokens = self.tokens_quantised(x, WIDTH)
        names = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        parts = [self.biased(self.product(tokens, part), f"{part}.bias") for part in names]
        y = self.attention(*parts)
        y = self.product(self.tokens_quantised(y, WIDTH), f"{name}.attention.output.dense")
        x = self.added(x, y, f"{name}.attention.output")
        y = self.product(self.tokens_quantised(x, WIDTH), f"{name}.intermediate.dense")
        y = self.gelu(y, f"{name}.intermediate.dense.bias")
        wide = self.weights[f"{name}.intermediate.dense.bias"].shape[0]
        y = self.product(self.gelu_quantised(y, wide), f"{name}.output.dense")
        return self.added(x, y, f"{name}.output")

    def tokens_quantised(self, x: str, width: int) -> tuple[str, str, str]:
        """uint8 around 128, with one scale per token."""
        g = self.graph
        rows = g("Reshape", x, g.constant(f"rows.{width}", np.array([-1, width])))
        most = g("ReduceMax", g("Abs", rows), axes=[1], keepdims=0)
        scale = g("Mul", most, g.constant("per_step", np.float32(1 / 127)))
        scale = g("Max", scale, g.constant("least", np.float32(1e-8)))
        return self.steps(rows, scale, MIDDLE)

    def gelu_quantised(self, x: str, width: int) -> tuple[str, str, str]:
        """uint8 with room for -0.17 below its zero, with one scale per token."""
        g = self.graph
        rows = g("Reshape", x, g.constant(f"rows.{width}", np.array([-1, width])))
        most = g("ReduceMax", rows, axes=[1], keepdims=0)
        scale = g("Mul", most, g.constant("gelu.per_step", np.float32(1 / (255 - GELU_ZERO))))
        scale = g("Max", scale, g.constant("gelu.least", np.float32(GELU_LEAST / GELU_ZERO)))
        return self.steps(rows, scale, GELU_ZERO)

    def steps(self, rows: str, scale: str, zero: int) -> tuple[str, str, str]:
        g = self.graph
        value = numpy_helper.from_array(np.array([zero], dtype=np.uint8))
        zeros = f"zeros.{zero}"
        if all(zeros not in node.output for node in g.nodes):
            g("ConstantOfShape", self.count, value=value, out=zeros)
        values = g("QuantizeLinear", rows, scale, zeros, axis=0)
        column = g("Unsqueeze", scale, g.constant("column", np.array([1])))
        return values, column, g.constant(f"zero.{zero}", np.uint8(zero))

    def product(self, tokens: tuple[str, str, str], name: str) -> str:
        """Quantised tokens times quantised weights, as float, without the bias."""
        g = self.graph
        values, scale, zero = tokens
        weights, scales = quantised(self.weights[f"{name}.weight"], WEIGHT_RANGE)
        b, b_scale = g.constant(name, weights.T), g.constant(f"{name}.scale", scales)
        if self.fused:
            item = g.constant("one", np.float32(1))
            y = g("MatMulIntegerToFloat", values, b, item, b_scale, zero, domain=MICROSOFT)
        else:
            whole = g("MatMulInteger", values, b, zero)
            y = g("Mul", g("Cast", whole, to=TensorProto.FLOAT), b_scale)
        width = g.constant(f"width.{len(scales)}", np.array([len(scales)]))
        shape = f"shape.{len(scales)}"
        if all(shape not in node.output for node in g.nodes):
            g("Concat", self.shape, width, axis=0, out=shape)
        return g("Reshape", g("Mul", y, scale), shape)

    def biased(self, x: str, bias: str) -> str:
        return self.graph("Add", x, self.graph.constant(bias, self.weights[bias]))

    def attention(self, query: str, key: str, value: str) -> str:
        g = self.graph
        if self.fused:
            return g(
                "MultiHeadAttention",
                *(query, key, value, "", self.mask),
                domain=MICROSOFT,
                num_heads=HEADS,
            )
        heads = g.constant("heads", np.array([0, 0, HEADS, WIDTH // HEADS]))
        query = g("Transpose", g("Reshape", query, heads), perm=[0, 2, 1, 3])
        key = g("Transpose", g("Reshape", key, heads), perm=[0, 2, 3, 1])
        value = g("Transpose", g("Reshape", value, heads), perm=[0, 2, 1, 3])
        root = g.constant("root", np.float32((WIDTH // HEADS) ** -0.5))
        scores = g("Add", g("Mul", g("MatMul", query, key), root), self.mask)
        mixed = g("MatMul", g("Softmax", scores, axis=-1), value)
        joined = g.constant("joined", np.array([0, 0, WIDTH]))
        return g("Reshape", g("Transpose", mixed, perm=[0, 2, 1, 3]), joined)

    def gelu(self, x: str, bias: str) -> str:
        g = self.graph
        if self.fused:
            return g("FastGelu", x, g.constant(bias, self.weights[bias]), domain=MICROSOFT)
        x = self.biased(x, bias)
        inner = g("Erf", g("Mul", x, g.constant("half.root", np.float32(0.5**0.5))))
        outer = g("Mul", x, g("Add", inner, g.constant("one", np.float32(1))))
        return g("Mul", outer, g.constant("half", np.float32(0.5)))

    def added(self, x: str, y: str, name: str) -> str:
        """The residual sum, normalised."""
        norm, bias = f"{name}.LayerNorm", f"{name}.dense.bias"
        if not self.fused:
            return self.normalised(self.graph("Add", x, self.biased(y, bias)), norm)
        names = (f"{norm}.weight", f"{norm}.bias", bias)
        constants = [self.graph.constant(n, self.weights[n]) for n in names]
        return self.graph(
            "SkipLayerNormalization", y, x, *constants, domain=MICROSOFT, epsilon=EPSILON
        )

    def normalised(self, x: str, name: str) -> str:
        names = (f"{name}.weight", f"{name}.bias")
        constants = [self.graph.constant(n, self.weights[n]) for n in names]
        return self.graph("LayerNormalization", x, *constants, axis=-1, epsilon=EPSILON)

    def pooled(self, x: str) -> str:
        """The sum over the mask, at length one: the mean's direction is the sum's."""
        g = self.graph
        mask = g("Cast", "attention_mask", to=TensorProto.FLOAT)
        mask = g("Unsqueeze", mask, g.constant("pool.axis", np.array([2])))
        total = g(
            "ReduceSum", g("Mul", x, mask), g.constant("tokens.axis", np.array([1])), keepdims=0
        )
        return g("LpNormalization", total, axis=-1, p=2, out="embedding")


def erf(x: Array) -> Array:
    """Abramowitz and Stegun 7.1.26, within 1.5e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
    total = sum(a * t ** (n + 1) for n, a in enumerate(series))
    return np.asarray(np.sign(x) * (1 - total * np.exp(-x * x)), dtype=np.float32)


def reference(w: dict[str, Array], ids: list[int]) -> Array:
    """The unit vector of one text in float32, written without any of the code above."""

    def dense(x: Array, name: str) -> Array:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x: Array, name: str) -> Array:
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPSILON)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for n in range(LAYERS):
        name = f"encoder.layer.{n}"
        q, k, v = (
            dense(x, f"{name}.attention.self.{part}").reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2])
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = (scores / scores.sum(axis=2, keepdims=True)) @ v
        y = dense(mixed.swapaxes(0, 1).reshape(len(ids), WIDTH), f"{name}.attention.output.dense")
        x = norm(x + y, f"{name}.attention.output.LayerNorm")
        y = dense(x, f"{name}.intermediate.dense")
        y = dense(y * (1 + erf(y / np.sqrt(2))) / 2, f"{name}.output.dense")
        x = norm(x + y, f"{name}.output.LayerNorm")
    total = x.sum(axis=0)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


class Candidate:
    """A file under measurement, on one thread so that CPU time means something."""

    def __init__(self, data: bytes) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.size = len(data)
        self.session = onnxruntime.InferenceSession(
            data, options, providers=["CPUExecutionProvider"]
        )

    def run(self, rows: list[list[int]]) -> Array:
        longest = max(map(len, rows))
        ids = np.array([row + [0] * (longest - len(row)) for row in rows], dtype=np.int64)
        mask = np.array([[1] * len(r) + [0] * (longest - len(r)) for r in rows], dtype=np.int64)
        return np.asarray(self.session.run(None, {"input_ids": ids, "attention_mask": mask})[0])

    def rate(self, length: int, repeats: int = 12) -> float:
        """Texts per second of CPU at a length, the best of some runs."""
        random = np.random.default_rng(0)
        rows = random.integers(1000, 30000, (1, length)).tolist()
        best = float("inf")
        for _ in range(repeats):
            start = time.process_time()
            self.run(rows)
            best = min(best, time.process_time() - start)
        return 1 / best

    def report(self, texts: list[list[int]], exact: Array) -> str:
        alone = np.vstack([self.run([text]) for text in texts])
        order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
        mixed = np.empty_like(alone)
        for start in range(0, len(order), 8):
            batch = order[start : start + 8]
            mixed[batch] = self.run([texts[n] for n in batch])
        to_exact, to_mixed = (alone * exact).sum(axis=1), (alone * mixed).sum(axis=1)
        return (
            f"| {to_exact.mean():.4f} / {to_exact.min():.4f} "
            f"| {to_mixed.mean():.4f} / {to_mixed.min():.4f} "
            f"| {self.rate(128):.1f} | {self.rate(256):.1f} | {self.size / 1e6:.1f} MB |"
        )


def sample(tokenizer: Path) -> list[list[int]]:
    """A hundred texts that every machine has: the standard library's documented functions."""
    tokens = Tokenizer.from_file(str(tokenizer))
    tokens.no_padding()
    tokens.enable_truncation(256)
    results: list[str] = []
    for module in ("argparse", "json/decoder", "logging/__init__", "shutil", "textwrap"):
        source = (Path(ast.__file__).parent / f"{module}.py").read_text(encoding="utf-8")
        results.extend(
            ast.get_source_segment(source, node) or ""
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)
        )
    return [encoding.ids for encoding in tokens.encode_batch(results[:100])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("weights", type=Path, nargs="+", help="safetensors files")
    parser.add_argument("--model", choices=NAMES, default="english")
    parser.add_argument("--tokenizer", type=Path, help="another than the shipped one")
    parser.add_argument("--out", type=Path, help="where the file goes; not written without it")
    parser.add_argument("--graph", choices=("fused", "plain"), default="fused")
    parser.add_argument("--check", action="store_true", help="only compare with the shipped file")
    options = parser.parse_args()
    name = NAMES[options.model]
    folder = SHIPPED / options.model
    weights = read_weights(options.weights)
    data = Builder(name, weights, fused=options.graph == "fused").build()
    digest = hashlib.sha256(data).hexdigest()
    file = folder / f"{name}-int8.onnx"
    shipped = file.read_bytes() if file.exists() else b""
    same = hashlib.sha256(shipped).hexdigest() == digest
    print(f"{digest}  {options.graph}, {'the same as' if same else 'other than'} the shipped file")
    if options.check:
        return 0 if same else 1
    if options.out:
        options.out.write_bytes(data)
    texts = sample(options.tokenizer or folder / "tokenizer.json")
    exact = np.vstack([reference(weights, ids) for ids in texts])
    print("| file | cosine to float32: mean / worst | alone to batched | 128/s | 256/s | size |")
    print("|---|---|---|---|---|---|")
    if shipped:
        print(f"| shipped {Candidate(shipped).report(texts, exact)}")
    print(f"| {options.graph} {Candidate(data).report(texts, exact)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
