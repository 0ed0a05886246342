"""The real model, and small graphs of our own that stand for a user's."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from kinen.embed import load
from kinen.embed.onnx import (
    LIMIT,
    MODELS,
    OVERLAP,
    SHIPPED,
    OnnxEmbedder,
    batches,
    token_limit,
)
from kinen.errors import ConfigError, EmbedError

ENGLISH = Path(SHIPPED) / "english"
TEXTS = [
    "we dropped redis because the queue lost jobs on restart",
    "def parse(line): return line.split(',')",
    "the cat sat on the mat",
    "",
    "fix: rate limiter counted a retried request twice",
    "Überraschung: 日本語のテキスト 🎉",
    "a" * 5000,
    "pool.acquire() hangs when all connections are in a transaction " * 30,
]


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


def long_text(words: int) -> str:
    return " ".join(f"step {n} checks the ledger of account {n * 7}" for n in range(words // 8))


def user_folder(folder: Path, name: str = "model.onnx") -> Path:
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ENGLISH / MODELS["english"].file, target)
    shutil.copy(ENGLISH / "tokenizer.json", folder)
    return folder


def test_vectors_are_float32_unit_rows_in_order(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), embedder.dimensions) == (len(TEXTS), 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for n, text in enumerate(TEXTS):
        assert np.array_equal(vectors[n], embedder.embed([text])[0])


def test_no_texts_give_no_vectors(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


def test_empty_text_gives_a_unit_vector(embedder: OnnxEmbedder) -> None:
    assert np.isclose(np.linalg.norm(embedder.embed([""])[0]), 1)
    assert np.isclose(np.linalg.norm(embedder.embed(["\n \t"])[0]), 1)


def test_a_lone_surrogate_is_just_text(embedder: OnnxEmbedder) -> None:
    assert np.isfinite(embedder.embed(["broken \ud800 name"])).all()


def test_meaning_beats_wording(embedder: OnnxEmbedder) -> None:
    question, near, far = embedder.embed(
        [
            "why did we stop using redis?",
            "the queue moved to postgres after the cache lost jobs",
            "the logo is blue with a white border",
        ]
    )
    assert question @ near > question @ far


def test_a_vector_does_not_depend_on_its_company(embedder: OnnxEmbedder) -> None:
    texts = [f"commit {n}: {word}" for n in range(20) for word in ("add", "remove the cache of x")]
    together = embedder.embed([*texts, *TEXTS])
    alone = np.vstack([embedder.embed([text]) for text in texts])
    # Some processors sum a batch in another order: the last bit may differ.
    assert np.allclose(together[: len(texts)], alone, rtol=0, atol=1e-6)


def test_order_of_texts_does_not_change_bytes(embedder: OnnxEmbedder) -> None:
    forth, back = embedder.embed(TEXTS), embedder.embed(TEXTS[::-1])
    assert forth.tobytes() == back[::-1].tobytes()


def test_batch_budget_does_not_change_vectors() -> None:
    texts = [f"line {n % 5} of the log" for n in range(40)]
    small, large = OnnxEmbedder(batch_tokens=1), OnnxEmbedder(batch_tokens=4096)
    assert np.allclose(small.embed(texts), large.embed(texts), rtol=0, atol=1e-6)


def test_the_end_of_a_long_text_counts(embedder: OnnxEmbedder) -> None:
    start = long_text(800)
    first, other = embedder.embed([start + " redis was dropped", start + " the cat sat on the mat"])
    assert not np.array_equal(first, other)


def test_a_long_text_is_the_weighted_mean_of_overlapping_windows(embedder: OnnxEmbedder) -> None:
    text = long_text(600)
    tokenizer = Tokenizer.from_file(str(ENGLISH / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    encoding = tokenizer.encode(text, add_special_tokens=False)
    room = LIMIT - 2
    starts = range(0, len(encoding.ids) - OVERLAP, room - OVERLAP)
    spans = [(start, min(start + room, len(encoding.ids))) for start in starts]
    assert len(spans) > 2
    parts = [text[encoding.offsets[a][0] : encoding.offsets[b - 1][1]] for a, b in spans]
    weights = np.array([[b - a + 2] for a, b in spans], dtype=np.float32)
    mean = (embedder.embed(parts) * weights).sum(axis=0)
    expected = mean / np.linalg.norm(mean)
    assert embedder.embed([text])[0] @ expected > 0.99999


def test_text_of_exactly_the_limit_is_one_window(embedder: OnnxEmbedder) -> None:
    just = " ".join(["ledger"] * (LIMIT - 2))
    over = just + " ledger"
    vectors = embedder.embed([just, over])
    assert not np.array_equal(vectors[0], vectors[1])
    assert vectors[0] @ vectors[1] > 0.9


def test_queries_and_documents_share_one_space(embedder: OnnxEmbedder) -> None:
    assert np.array_equal(embedder.embed(["same"], query=True), embedder.embed(["same"]))


def test_threads_may_share_an_embedder() -> None:
    embedder, results = OnnxEmbedder(), {}
    threads = [
        threading.Thread(target=lambda n=n: results.update({n: embedder.embed(TEXTS[:3])}))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({vectors.tobytes() for vectors in results.values()}) == 1
    assert len(results) == 4


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 2048))
def test_batches_hold_every_position_once_and_equal_lengths_within_budget(
    lengths: list[int], budget: int
) -> None:
    results = list(batches(lengths, budget))
    assert sorted(n for batch in results for n in batch) == list(range(len(lengths)))
    for batch in results:
        assert len({lengths[n] for n in batch}) == 1
        assert len(batch) == 1 or sum(lengths[n] for n in batch) <= budget


def test_the_fingerprint_needs_no_model_in_memory() -> None:
    code = (
        "import sys; from kinen.embed import load; e = load('onnx'); e.fingerprint; e.dimensions;"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'onnxruntime', 'tokenizers', 'httpx')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, kinen.embed;"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'onnxruntime', 'tokenizers', 'httpx')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_fingerprint_is_the_same_every_time(embedder: OnnxEmbedder) -> None:
    assert embedder.fingerprint == OnnxEmbedder().fingerprint
    assert embedder.fingerprint.startswith("onnx:")


def test_the_same_files_elsewhere_have_the_same_fingerprint(tmp_path: Path) -> None:
    here, there = (OnnxEmbedder(str(user_folder(tmp_path / name))) for name in ("here", "there"))
    assert here.fingerprint == there.fingerprint


@pytest.mark.parametrize("changed", ["tokenizer.json", "config.json", "model.onnx_data"])
def test_another_file_is_another_fingerprint(tmp_path: Path, changed: str) -> None:
    folder = user_folder(tmp_path)
    before = OnnxEmbedder(str(folder)).fingerprint
    if changed == "tokenizer.json":
        (folder / changed).write_text((folder / changed).read_text() + "\n")
    elif changed == "config.json":
        (folder / changed).write_text(json.dumps({"max_position_embeddings": 128}))
    else:
        (folder / changed).write_bytes(b"weights")
    assert OnnxEmbedder(str(folder)).fingerprint != before


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx", "anything.onnx"])
def test_a_users_folder_is_understood(tmp_path: Path, name: str, embedder: OnnxEmbedder) -> None:
    own = load("onnx", path=str(user_folder(tmp_path, name)))
    assert own is not None
    assert own.dimensions == 384
    assert np.array_equal(own.embed(TEXTS[:3]), embedder.embed(TEXTS[:3]))


def test_the_limit_comes_from_the_models_own_files(tmp_path: Path) -> None:
    assert token_limit(str(tmp_path)) == 256
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 512}')
    assert token_limit(str(tmp_path)) == 512
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 128}')
    assert token_limit(str(tmp_path)) == 128
    (tmp_path / "tokenizer_config.json").write_text(f'{{"model_max_length": {10**30}}}')
    assert token_limit(str(tmp_path)) == 512
    (tmp_path / "config.json").write_text(
        '{"max_position_embeddings": 514, "model_type": "roberta"}'
    )
    assert token_limit(str(tmp_path)) == 512
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 8192}')
    assert token_limit(str(tmp_path)) == 1024


def test_damaged_settings_of_a_users_model_are_named(tmp_path: Path) -> None:
    folder = user_folder(tmp_path)
    (folder / "config.json").write_text("{")
    with pytest.raises(EmbedError, match=r"config\.json"):
        OnnxEmbedder(str(folder))


def token_states_model(folder: Path, *, inputs: tuple[str, ...], dimensions: int | str) -> Path:
    """A graph whose output is one state per token: the token's row of a small table."""
    import onnx

    helper, kind = onnx.helper, onnx.TensorProto
    table = np.random.default_rng(1).normal(size=(30522, 8)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
    last = "states"
    for name in inputs[1:]:
        nodes += [
            helper.make_node("Cast", [name], [f"{name}.float"], to=kind.FLOAT),
            helper.make_node("Unsqueeze", [f"{name}.float", "axis"], [f"{name}.column"]),
            helper.make_node(
                "Mul" if name == "attention_mask" else "Add",
                [last, f"{name}.column"],
                [f"{name}.applied"],
            ),
        ]
        last = f"{name}.applied"
    graph = helper.make_graph(
        [*nodes, helper.make_node("Identity", [last], ["out"])],
        "states",
        [helper.make_tensor_value_info(name, kind.INT64, ["b", "t"]) for name in inputs],
        [helper.make_tensor_value_info("out", kind.FLOAT, ["b", "t", dimensions])],
        [
            onnx.numpy_helper.from_array(table, "table"),
            onnx.numpy_helper.from_array(np.array([2]), "axis"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, str(folder / "model.onnx"))
    shutil.copy(ENGLISH / "tokenizer.json", folder)
    np.save(folder / "table.npy", table)
    return folder


@pytest.mark.parametrize("dimensions", [8, "d"])
@pytest.mark.parametrize(
    "inputs",
    [
        ("input_ids",),
        ("input_ids", "attention_mask"),
        ("input_ids", "attention_mask", "token_type_ids"),
    ],
)
def test_token_states_are_averaged_and_normalised(
    tmp_path: Path, inputs: tuple[str, ...], dimensions: Any
) -> None:
    own = OnnxEmbedder(str(token_states_model(tmp_path, inputs=inputs, dimensions=dimensions)))
    assert own.dimensions == 8
    tokenizer = Tokenizer.from_file(str(ENGLISH / "tokenizer.json"))
    tokenizer.no_padding()
    mean = np.load(tmp_path / "table.npy")[tokenizer.encode(TEXTS[0]).ids].mean(axis=0)
    vectors = own.embed([TEXTS[2], TEXTS[0]])
    assert np.allclose(vectors[1], mean / np.linalg.norm(mean), atol=1e-5)


def test_a_graph_with_foreign_inputs_is_refused(tmp_path: Path) -> None:
    folder = token_states_model(tmp_path, inputs=("input_ids", "pixels"), dimensions=8)
    with pytest.raises(EmbedError, match="pixels"):
        OnnxEmbedder(str(folder)).embed(["x"])


def test_a_missing_folder_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(EmbedError, match="nowhere") as caught:
        OnnxEmbedder(str(tmp_path / "nowhere"))
    assert "index.embedding_path" in caught.value.hint


def test_two_graphs_are_one_too_many(tmp_path: Path) -> None:
    for name in ("a.onnx", "b.onnx"):
        user_folder(tmp_path, name)
    with pytest.raises(EmbedError, match=r"2 \*\.onnx"):
        OnnxEmbedder(str(tmp_path))


def test_a_missing_tokenizer_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (user_folder(tmp_path) / "tokenizer.json").unlink()
    with pytest.raises(EmbedError, match=r"tokenizer\.json") as caught:
        OnnxEmbedder(str(tmp_path))
    assert caught.value.hint


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"not what it says", b"\x00" * 64])
def test_a_corrupt_file_is_an_error_that_names_it(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (user_folder(tmp_path) / name).write_bytes(content)
    with pytest.raises(EmbedError, match=name.replace(".", r"\.")) as caught:
        OnnxEmbedder(str(tmp_path)).embed(["x"])
    assert caught.value.hint


def test_a_truncated_model_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    file = user_folder(tmp_path) / "model.onnx"
    file.write_bytes(file.read_bytes()[:1_000_000])
    with pytest.raises(EmbedError, match=r"model\.onnx"):
        OnnxEmbedder(str(tmp_path)).embed(["x"])


def test_none_is_nobody() -> None:
    assert load("none") is None


def test_an_unknown_provider_names_the_choices() -> None:
    with pytest.raises(ConfigError, match="cohere") as caught:
        load("cohere")
    assert all(name in caught.value.hint for name in ("onnx", "ollama", "openai", "none"))


QUIET = """
import os, time
from kinen.embed.onnx import OnnxEmbedder

def woken():
    found = 0
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/status") as status:
            found += sum(int(line.split()[1]) for line in status if line[:9] == "voluntary")
    return found

OnnxEmbedder(threads=1).embed(["a text"])
time.sleep(1)
before = woken()
time.sleep(17)
print(woken() - before, os.environ["ORT_DISABLE_TELEMETRY"])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts as Linux does")
def test_the_runtime_reports_to_nobody(home: Path) -> None:
    """Its uploader wakes every fifteen seconds, and keeps a name for the device."""
    run = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=True)
    wakes, output = run.stdout.split()
    assert output == "1"
    assert int(wakes) <= 2  # our own sleep
    assert not [*home.rglob("*")]
