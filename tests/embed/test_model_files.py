"""What is shipped is what was built, measured and licensed."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kinen.embed.onnx import MODELS, SHIPPED, OnnxEmbedder

ROOT = Path(__file__).parents[2]
models = pytest.mark.parametrize("model", MODELS)


def text_of(*parts: str) -> str:
    return Path(SHIPPED, *parts).read_text(encoding="utf-8")


@models
def test_shipped_files_have_the_recorded_digest(model: str) -> None:
    for name, digest in MODELS[model].sums.items():
        assert hashlib.sha256(Path(SHIPPED, model, name).read_bytes()).hexdigest() == digest


@models
def test_the_fingerprint_is_that_of_the_earlier_graph_whose_vectors_are_the_same(
    model: str,
) -> None:
    earlier = json.loads(Path(__file__).with_name("earlier_vectors.json").read_text())
    embedder = OnnxEmbedder(model=model)
    vectors = embedder.embed(earlier["texts"])
    for ours, theirs in zip(vectors, earlier["vectors"][embedder.fingerprint], strict=True):
        assert ours @ np.frombuffer(base64.b64decode(theirs), dtype=np.float16) > 0.99


@pytest.mark.slow
@models
def test_a_shipped_file_builds_itself_again(model: str) -> None:
    command = [sys.executable, str(ROOT / "tools/build_model.py"), "--model", model, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert MODELS[model].sums[MODELS[model].file] in done.stdout


@models
def test_the_sums_file_names_exactly_the_shipped_files(model: str) -> None:
    lines = text_of(model, "SHA256SUMS").splitlines()
    sums = {name: digest for digest, name in (line.split() for line in lines)}
    assert sums == MODELS[model].sums


@models
def test_the_notice_gives_origin_changes_and_digest(model: str) -> None:
    notice = text_of("NOTICE")
    assert "sentence-transformers/all-MiniLM-L6-v2" in notice
    assert "Apache License, Version 2.0" in notice
    assert "modified: fine-tuned, exported to ONNX and quantised" in notice
    assert MODELS[model].sums[MODELS[model].file] in notice


def test_the_models_carry_the_licence_of_their_base() -> None:
    licence = text_of("LICENSE")
    assert licence == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in licence


@models
def test_the_card_states_the_digest_and_dimensions_in_use(model: str) -> None:
    card = text_of(model, "README.md")
    assert MODELS[model].sums[MODELS[model].file] in card
    assert f"{OnnxEmbedder(model=model).dimensions} dimensions" in card


@models
def test_no_weight_can_overflow_on_a_cpu_without_vnni(model: str) -> None:
    import onnx

    graph = onnx.load(str(Path(SHIPPED, model, MODELS[model].file))).graph
    products = [node for node in graph.node if node.op_type == "MatMulIntegerToFloat"]
    arrays = {tensor.name: tensor for tensor in graph.initializer}
    assert len(products) == 36
    for node in products:
        weights = onnx.numpy_helper.to_array(arrays[node.input[1]]).astype(int)
        # Such CPUs add two products of a uint8 and an int8 in 16 bits.
        assert 2 * 255 * abs(weights).max() < 1 << 15
