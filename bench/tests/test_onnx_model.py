"""baselines/onnx_model.py: embedders and cross-encoders in ONNX, by a runtime that counts."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dovetail_bench.baselines import onnx_model
from dovetail_bench.baselines.onnx_model import OnnxEmbedder, OnnxModel


class Session:
    """Says of a token its number and one; of a batch, that of every token."""

    def __init__(self, file: str) -> None:
        self.file = file

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name=name) for name in ("input_ids", "attention_mask")]

    def run(self, _: None, arrays: dict[str, Any]) -> list[Any]:
        ids = arrays["input_ids"]
        return [np.stack([ids, np.ones_like(ids)], axis=-1)]


class Tokenizer:
    """A token for each word: its length; padded with tokens that do not count."""

    @staticmethod
    def from_file(_: str) -> Tokenizer:
        return Tokenizer()

    def enable_truncation(self, max_length: int) -> None:
        assert max_length == 256

    def enable_padding(self) -> None:
        pass

    def encode_batch(self, texts: list[Any]) -> list[Any]:
        read = [" ".join(text) if isinstance(text, tuple) else text for text in texts]
        longest = max(len(text.split()) for text in read)
        rows = [[len(word) for word in text.split()] for text in read]
        return [
            SimpleNamespace(
                ids=row + [99] * (longest - len(row)),
                attention_mask=[1] * len(row) + [0] * (longest - len(row)),
                type_ids=[0] * longest,
            )
            for row in rows
        ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    parts = {
        "onnxruntime": SimpleNamespace(InferenceSession=Session),
        "tokenizers": SimpleNamespace(Tokenizer=Tokenizer),
    }
    monkeypatch.setattr(onnx_model, "import_module", parts.__getitem__)
    return tmp_path


@pytest.mark.parametrize(
    ("pooling", "first", "second"), [("cls", [3, 1], [1, 1]), ("mean", [2, 1], [1, 1])]
)
def test_a_text_is_its_first_token_or_the_mean_of_those_that_count(
    folder: Path, pooling: str, first: list[float], second: list[float]
) -> None:
    (folder / "embedder.json").write_text(json.dumps({"pooling": pooling}))
    rows = OnnxEmbedder(folder).embed_documents(["abc a", "b"])
    assert rows == pytest.approx(
        np.array([first, second]) / np.linalg.norm([first, second], axis=1, keepdims=True)
    )


def test_a_question_may_have_words_before_it(folder: Path) -> None:
    about = {"pooling": "cls", "query": "query: "}
    (folder / "embedder.json").write_text(json.dumps(about))
    embedder = OnnxEmbedder(folder)
    assert embedder.dimension == 2
    assert embedder.embed_queries(["b"])[0] == pytest.approx(np.array([6, 1]) / np.sqrt(37))
    assert embedder.embed_documents(["b"])[0] == pytest.approx(np.array([1, 1]) / np.sqrt(2))


def test_more_texts_than_a_batch_come_out_in_order(folder: Path) -> None:
    pairs = [("a" * length, "b") for length in range(1, 12)]
    said = np.concatenate([logits[:, 0, 0] for logits, _ in OnnxModel(folder).outputs(pairs)])
    assert said.tolist() == list(range(1, 12))
