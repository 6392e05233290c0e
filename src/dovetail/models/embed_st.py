"""`st:<name>`: any model that sentence-transformers can load, by name or from a folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from dovetail.arrays import Vectors
from dovetail.errors import MissingExtraError, ModelError, UsageError
from dovetail.models.vectors import unit_vectors, well_formed

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_SAMPLE = 64


@dataclass(frozen=True, slots=True)
class StEmbedder:
    """A model of sentence-transformers, on the GPU where there is one."""

    model: SentenceTransformer
    model_id: str
    dimension: int

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text, with the model's own prompt for documents, if it has one."""
        return self._rows(texts, query=False)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One row per text, with the model's own prompt for queries, if it has one."""
        return self._rows(texts, query=True)

    def _rows(self, texts: Sequence[str], *, query: bool) -> Vectors:
        encode = self.model.encode_query if query else self.model.encode_document
        vectors = encode([well_formed(text) for text in texts], show_progress_bar=False)
        return unit_vectors(
            vectors, rows=len(texts), dimension=self.dimension, model_id=self.model_id
        )


@cache
def open_st(name: str) -> StEmbedder:
    """A model by its name or folder, loaded once per process."""
    if not name:
        raise UsageError("embedder 'st' needs a model: st:<name or folder>")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise MissingExtraError(f"embedder 'st:{name}'", "st") from None
    try:
        model = SentenceTransformer(name)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ModelError(
            f"sentence-transformers cannot load {name!r} ({reason}); "
            "is the name right, or the folder complete?"
        ) from None
    dimension = len(model.encode("how many numbers", show_progress_bar=False))
    return StEmbedder(model, f"st:{PurePath(name).name}@{_digest(model)}", dimension)


def _digest(model: SentenceTransformer) -> str:
    """What tells models of one name apart: some of every tensor, and how texts are prepared."""
    digest = hashlib.sha256()
    prepared = [model.get_max_seq_length(), dict(model.prompts), model.default_prompt_name]
    digest.update(json.dumps(prepared, sort_keys=True).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(tensor.flatten()[:_SAMPLE].cpu().float().numpy().tobytes())
    return digest.hexdigest()[:12]
