"""What is shipped is what was built, measured and licensed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kinen.embed.onnx import MODELS, SHIPPED, OnnxEmbedder, fingerprint_digest

ROOT = Path(__file__).parents[2]
models = pytest.mark.parametrize("model", MODELS)


def text_of(*parts: str) -> str:
    return Path(SHIPPED, *parts).read_text(encoding="utf-8")


@models
def test_shipped_files_have_the_recorded_digest(model: str) -> None:
    for name, digest in MODELS[model].sums.items():
        assert hashlib.sha256(Path(SHIPPED, model, name).read_bytes()).hexdigest() == digest


@models
def test_the_fingerprint_is_that_of_the_files(model: str) -> None:
    digest = fingerprint_digest(MODELS[model].sums, 256)
    assert OnnxEmbedder(model=model).fingerprint == f"onnx:{digest[:24]}"


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
