"""Builds the int8 ONNX file of an embedding model from its weights, and measures it.

python tools/build_model.py [WEIGHTS.safetensors…] [--model english|multilingual]
    [--texts FOLDER…] [--out FILE] [--check]

Weights may be split over several files and have BERT's usual names, or the short names of the
multilingual student (`layers.0.q.weight`), whose word table is int8 with a scale per row. Without
any, those of the shipped file are taken: it builds itself again.

What goes into a product of integers is rounded to steps. Where it hardly differs from token to
token, the steps are constants, measured once on the `--texts` (without them the shipped file's are
taken); gelu's are those of each token. None depend on the batch, so that a text's vector does not
depend on the texts beside it. The build is deterministic: `--check` compares its digest with the
shipped file's.
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
WORD_RANGE = 127
WEIGHT_RANGE = 64
"""Seven bits: two products of 255 and 64 still fit the 16 bits that CPUs without VNNI add in."""
INPUTS = {
    "heads": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "mixed": ("attention.output.dense",),
    "wide": ("intermediate.dense",),
}
"""What is rounded to steps that are measured beforehand, and the products it goes into."""
MIDDLE, ACTIVATION_RANGE = 128, 127
LEAST = 0.05
"""A channel that no text moves has the step of one that reaches this far."""
GELU_ZERO, GELU_LEAST = 32, 0.1701
"""Gelu never goes below -0.17: its zero point need not be in the middle."""
KINDS, MOST_TEXTS = ("md", "po", "py", "txt"), 600
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


def read_shipped(file: Path) -> tuple[dict[str, Array], dict[str, Array]]:
    """The weights (folded) and the steps that a file of ours was built from.

    They lack what int8 lost, and give the same int8 and the same scales again.
    """
    graph = onnx.load(str(file)).graph
    arrays = {entry.name: numpy_helper.to_array(entry) for entry in graph.initializer}
    steps, weights = {}, {}
    for name, array in arrays.items():
        if name.endswith(".step"):
            steps[name.removesuffix(".step")] = array
        elif f"{name}.scale" in arrays and name != "words":
            weights[f"{name}.weight"] = array.T * arrays[f"{name}.scale"][:, None].astype(float)
        elif name.endswith((".bias", ".weight")):
            weights[name] = array
    words = arrays["words"] * arrays["words.scale"].astype(float)
    weights["embeddings.word_embeddings.weight"] = words
    weights["embeddings.position_embeddings.weight"] = arrays["positions"]
    return weights, steps


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
    scale = np.maximum(np.abs(rows).max(axis=1).astype(np.float64) / largest, 1e-12)
    values = np.clip(np.rint(rows / scale[:, None]), -largest, largest)
    return values.astype(np.int8), scale.astype(np.float32)


def measured_steps(weights: dict[str, Array], texts: list[list[int]]) -> dict[str, Array]:
    """Steps of which 127 reach as far as any of the texts, one or one per channel for each input.

    A few channels of the normalised inputs reach ten times as far as the others. With steps as much
    larger, their weights would take the bits of the others': the square root of it is best.
    """
    reach: dict[str, Array] = {}
    for ids in texts:
        for name, x in reference(weights, ids)[1].items():
            reach[name] = np.maximum(reach.get(name, LEAST), np.abs(x).max(axis=0))
    return {
        name: np.float32(most.max() / ACTIVATION_RANGE)
        if name.endswith(".mixed")
        else (np.sqrt(most * most.max()) / ACTIVATION_RANGE).astype(np.float32)
        for name, most in reach.items()
    }


def folded(weights: dict[str, Array], steps: dict[str, Array]) -> dict[str, Array]:
    """The weights for inputs that are counted in steps of channels."""
    results = dict(weights)
    for name, step in steps.items():
        layer, _, kind = name.rpartition(".")
        for product in INPUTS[kind] if step.ndim else ():
            results[f"{layer}.{product}.weight"] = weights[f"{layer}.{product}.weight"] * step
    types = results.pop("embeddings.token_type_embeddings.weight")
    results["embeddings.position_embeddings.weight"] = (
        weights["embeddings.position_embeddings.weight"] + types[0]
    )
    return results


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
    """BERT's forward pass as a graph, for texts of one length: nothing is padded, so no mask."""

    def __init__(self, name: str, weights: dict[str, Array], steps: dict[str, Array]) -> None:
        """`weights` are folded for the `steps`."""
        self.name, self.weights, self.steps, self.graph = name, weights, steps, Graph()

    def build(self) -> bytes:
        g = self.graph
        self.one = g.constant("one", np.float32(1))
        self.first = g.constant("first", np.array([1]))
        self.shape = g("Shape", "input_ids")
        count = g("ReduceProd", self.shape, axes=[0], keepdims=1)
        zero = numpy_helper.from_array(np.array([GELU_ZERO], dtype=np.uint8))
        self.zeros = g("ConstantOfShape", count, value=zero)
        x = self.embeddings()
        for n in range(LAYERS):
            x = self.layer(x, f"encoder.layer.{n}")
        # The mean's direction is the sum's.
        total = g("ReduceSum", x, self.first, keepdims=0)
        g("LpNormalization", total, axis=-1, p=2, out="embedding")
        return g.model(self.name, {"": 17, MICROSOFT: 1})

    def embeddings(self) -> str:
        g, w = self.graph, self.weights
        table, scale = quantised(w["embeddings.word_embeddings.weight"], WORD_RANGE)
        words = g("Gather", g.constant("words", table), "input_ids")
        scales = g("Gather", g.constant("words.scale", scale[:, None]), "input_ids")
        words = g("Mul", g("Cast", words, to=TensorProto.FLOAT), scales)
        zero, second = g.constant("zero", np.array([0])), g.constant("second", np.array([2]))
        tokens = g("Slice", self.shape, self.first, second)
        table = w["embeddings.position_embeddings.weight"].astype(np.float32)
        positions = g("Slice", g.constant("positions", table), zero, tokens)
        return self.normalised(g("Add", words, positions), "embeddings.LayerNorm")

    def layer(self, x: str, name: str) -> str:
        g = self.graph
        y = self.counted(x, f"{name}.heads")
        parts = [self.product(y, f"{name}.{part}", self.one) for part in INPUTS["heads"]]
        y = g("MultiHeadAttention", *parts, domain=MICROSOFT, num_heads=HEADS)
        step = g.constant(f"{name}.mixed.step", self.steps[f"{name}.mixed"])
        y = self.product(self.rounded(y, step), f"{name}.attention.output.dense", step)
        x = self.normalised(g("Add", x, y), f"{name}.attention.output.LayerNorm")
        y = self.product(self.counted(x, f"{name}.wide"), f"{name}.intermediate.dense", self.one)
        y = self.product_by_token(g("FastGelu", y, domain=MICROSOFT), f"{name}.output.dense")
        return self.normalised(g("Add", x, y), f"{name}.output.LayerNorm")

    def counted(self, x: str, name: str) -> str:
        """An input counted in the steps of its channels."""
        g = self.graph
        per_step = g("Reciprocal", g.constant(f"{name}.step", self.steps[name]))
        return self.rounded(g("Mul", x, per_step), self.one)

    def rounded(self, x: str, step: str) -> str:
        """Steps as uint8 around 128."""
        return self.graph("QuantizeLinear", x, step, self.middle())

    def middle(self) -> str:
        return self.graph.constant("middle", np.uint8(MIDDLE))

    def product(self, x: str, name: str, step: str) -> str:
        """Counted steps times quantised weights, as float."""
        bias = self.graph.constant(f"{name}.bias", self.weights[f"{name}.bias"].astype(np.float32))
        return self.integers(x, name, step, self.middle(), "", bias)

    def integers(self, x: str, name: str, step: str, *more: str) -> str:
        g = self.graph
        weights, scales = quantised(self.weights[f"{name}.weight"], WEIGHT_RANGE)
        matrix, scale = g.constant(name, weights.T), g.constant(f"{name}.scale", scales)
        return g("MatMulIntegerToFloat", x, matrix, step, scale, *more, domain=MICROSOFT)

    def product_by_token(self, x: str, name: str) -> str:
        """The product of gelu's output, with a step of each token: their reach differs much."""
        g = self.graph
        rows = g("Reshape", x, g.constant("rows", np.array([-1, 4 * WIDTH])))
        most = g("ReduceMax", rows, axes=[1], keepdims=0)
        part = g.constant("gelu.part", np.float32(1 / (255 - GELU_ZERO)))
        least = g.constant("gelu.least", np.float32(GELU_LEAST / GELU_ZERO))
        step = g("Max", g("Mul", most, part), least)
        rows = g("QuantizeLinear", rows, step, self.zeros, axis=0)
        y = self.integers(rows, name, self.one, g.constant("gelu.zero", np.uint8(GELU_ZERO)))
        y = g("Mul", y, g("Unsqueeze", step, self.first))
        bias = self.weights[f"{name}.bias"].astype(np.float32)
        y = g("Add", y, g.constant(f"{name}.bias", bias))
        width = g.constant("width", np.array([WIDTH]))
        return g("Reshape", y, g("Concat", self.shape, width, axis=0))

    def normalised(self, x: str, name: str) -> str:
        names = (f"{name}.weight", f"{name}.bias")
        constants = [self.graph.constant(n, self.weights[n].astype(np.float32)) for n in names]
        return self.graph("LayerNormalization", x, *constants, axis=-1, epsilon=EPSILON)


def erf(x: Array) -> Array:
    """Abramowitz and Stegun 7.1.26, within 1.5e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    total = np.zeros_like(x)
    for a in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        total = t * (a + total)
    return np.asarray(np.sign(x) * (1 - total * np.exp(-x * x)), dtype=np.float32)


def reference(w: dict[str, Array], ids: list[int]) -> tuple[Array, dict[str, Array]]:
    """The unit vector of one text in float32, written without any of the code above.

    Also the inputs of the products, by their names.
    """
    inputs = {}

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
        inputs[f"{name}.heads"] = x
        q, k, v = (
            dense(x, f"{name}.attention.self.{part}").reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2])
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = (scores / scores.sum(axis=2, keepdims=True)) @ v
        mixed = mixed.swapaxes(0, 1).reshape(len(ids), WIDTH)
        inputs[f"{name}.mixed"] = mixed
        y = dense(mixed, f"{name}.attention.output.dense")
        x = norm(x + y, f"{name}.attention.output.LayerNorm")
        inputs[f"{name}.wide"] = x
        y = dense(x, f"{name}.intermediate.dense")
        y = dense(y * (1 + erf(y / np.sqrt(2))) / 2, f"{name}.output.dense")
        x = norm(x + y, f"{name}.output.LayerNorm")
    total = x.sum(axis=0)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32), inputs


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
        """Vectors of texts of one length."""
        feed = {"input_ids": np.array(rows, dtype=np.int64)}
        if len(self.session.get_inputs()) == 2:
            feed["attention_mask"] = np.ones_like(feed["input_ids"])
        return np.asarray(self.session.run(None, feed)[0])

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
        cosines = (np.vstack([self.run([text]) for text in texts]) * exact).sum(axis=1)
        return (
            f"| {cosines.mean():.4f} / {cosines.min():.4f} "
            f"| {self.rate(32):.1f} | {self.rate(128):.1f} | {self.rate(256):.1f} "
            f"| {self.size / 1e6:.1f} MB |"
        )


def slices(folders: list[Path]) -> list[str]:
    """Up to three pieces of each text file of the folders, of 30 to 1,500 characters."""
    random = np.random.default_rng(0)
    results = []
    files = {file for folder in folders for kind in KINDS for file in folder.rglob(f"*.{kind}")}
    for file in sorted(files):
        text = file.read_text(encoding="utf-8", errors="replace")
        for length in random.integers(30, 1_500, 3):
            start = int(random.integers(0, max(1, len(text) - length)))
            results.append(text[start : start + length])
    return [results[n] for n in random.permutation(len(results))[:MOST_TEXTS]]


def sample() -> list[str]:
    """A hundred texts that every machine has: the standard library's documented functions."""
    results: list[str] = []
    for module in ("argparse", "json/decoder", "logging/__init__", "shutil", "textwrap"):
        source = (Path(ast.__file__).parent / f"{module}.py").read_text(encoding="utf-8")
        results.extend(
            ast.get_source_segment(source, node) or ""
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)
        )
    return results[:100]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("weights", type=Path, nargs="*", help="safetensors files")
    parser.add_argument("--model", choices=NAMES, default="english")
    parser.add_argument("--texts", type=Path, nargs="+", help="folders of text to measure steps on")
    parser.add_argument("--out", type=Path, help="where the file goes; not written without it")
    parser.add_argument("--check", action="store_true", help="only compare with the shipped file")
    options = parser.parse_args()
    name = NAMES[options.model]
    file = SHIPPED / options.model / f"{name}-int8.onnx"
    tokenizer = Tokenizer.from_file(str(file.with_name("tokenizer.json")))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)

    def ids(texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch(texts)]

    exact = read_weights(options.weights) if options.weights else {}
    if exact and options.texts:
        steps = measured_steps(exact, ids(slices(options.texts)))
        weights = folded(exact, steps)
    else:
        weights, steps = read_shipped(file)
        weights = folded(exact, steps) if exact else weights
    data = Builder(name, weights, steps).build()
    digest = hashlib.sha256(data).hexdigest()
    shipped = file.read_bytes()
    same = shipped == data
    print(f"{digest}  {'the same as' if same else 'other than'} the shipped file")
    if options.out:
        options.out.write_bytes(data)
    if options.check or not exact:
        return 0 if same else 1
    texts = ids(sample())
    vectors = np.vstack([reference(exact, text)[0] for text in texts])
    print("| file | cosine to float32: mean / worst | 32/s | 128/s | 256/s | size |")
    print("|---|---|---|---|---|---|")
    for label, built in {"shipped": shipped, "built": data}.items():
        print(f"| {label} {Candidate(built).report(texts, vectors)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
