"""What is shipped is what was built, measured and licensed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kinen.embed.onnx import SHIPPED, SHIPPED_NAME, SHIPPED_SHA256, OnnxEmbedder

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", SHIPPED_SHA256)
def test_shipped_files_have_the_recorded_digest(name: str) -> None:
    assert hashlib.sha256((Path(SHIPPED) / name).read_bytes()).hexdigest() == SHIPPED_SHA256[name]


def test_the_sums_file_names_exactly_the_shipped_files() -> None:
    lines = (Path(SHIPPED) / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    assert {name: digest for digest, name in (line.split() for line in lines)} == SHIPPED_SHA256


def test_the_notice_gives_origin_changes_and_digest() -> None:
    notice = (Path(SHIPPED) / "NOTICE").read_text(encoding="utf-8")
    assert "sentence-transformers/all-MiniLM-L6-v2" in notice
    assert "Apache License, Version 2.0" in notice
    assert "modified: fine-tuned, exported to ONNX and quantised" in notice
    assert SHIPPED_SHA256[SHIPPED_NAME] in notice


def test_the_model_carries_the_licence_of_its_base() -> None:
    licence = (Path(SHIPPED) / "LICENSE").read_text(encoding="utf-8")
    assert licence == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in licence


def test_the_card_states_the_digest_and_dimensions_in_use() -> None:
    card = (Path(SHIPPED) / "README.md").read_text(encoding="utf-8")
    assert SHIPPED_SHA256[SHIPPED_NAME] in card
    assert f"{OnnxEmbedder().dimensions} dimensions" in card


def test_no_weight_can_overflow_on_a_cpu_without_vnni() -> None:
    import onnx

    graph = onnx.load(str(Path(SHIPPED) / SHIPPED_NAME)).graph
    products = [node for node in graph.node if node.op_type == "MatMulIntegerToFloat"]
    arrays = {tensor.name: tensor for tensor in graph.initializer}
    assert len(products) == 36
    for node in products:
        weights = onnx.numpy_helper.to_array(arrays[node.input[1]]).astype(int)
        # Such CPUs add two products of a uint8 and an int8 in 16 bits.
        assert 2 * 255 * abs(weights).max() < 1 << 15
