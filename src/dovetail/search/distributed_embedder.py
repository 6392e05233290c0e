"""An embedder whose documents are embedded by the workers of an engine, a part of them each."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dovetail.arrays import Vectors
from dovetail.engines.passes import UNABLE, Workers
from dovetail.errors import DovetailError
from dovetail.plugins import open_embedder
from dovetail.ports import Embedder, Json, QuantizableEmbedder, Tick

TASK = "dovetail.search.distributed_embedder:embed_part"
_VECTORS = "vectors.npy"


@dataclass(frozen=True, slots=True)
class DistributedEmbedder:
    """Embeds parts of many texts on workers, which open the embedder of the same name.

    A worker whose embedder cannot be opened there, or is another, leaves its part to this process.
    """

    embedder: Embedder
    name: str
    workers: Workers
    int8: bool = False

    @property
    def model_id(self) -> str:
        return self.embedder.model_id

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text, embedded here."""
        return self.embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One row per text, embedded here."""
        return self.embedder.embed_queries(texts)

    def quantized(self) -> DistributedEmbedder:
        """The same with quantized weights, where the embedder has some."""
        if not isinstance(self.embedder, QuantizableEmbedder):
            return self
        return replace(self, embedder=self.embedder.quantized(), int8=True)

    def embed_parts(self, parts: Sequence[Sequence[str]]) -> Iterator[tuple[int, Vectors]]:
        """The number of each part with the vectors of its texts, as they come."""
        about = {"embedder": self.name, "int8": self.int8, "model_id": self.model_id}
        jobs: list[Json] = [{**about, "texts": list(part)} for part in parts]
        with tempfile.TemporaryDirectory(prefix="dovetail-") as scratch:
            for done in self.workers.map(TASK, jobs, Path(scratch), self._embed_here):
                yield done.job, np.load(done.folder / _VECTORS, allow_pickle=False)

    def _embed_here(self, job: Json, folder: Path) -> Json:
        return _embed(self.embedder, job, folder)


def embed_part(job: Json, folder: Path, tick: Tick) -> Json:
    """The task: embed the texts of a job with the embedder that it names, into a file."""
    del tick
    try:
        embedder = open_embedder(job["embedder"])
    except DovetailError:
        return UNABLE
    if job["int8"] and isinstance(embedder, QuantizableEmbedder):
        embedder = embedder.quantized()
    if embedder is None or embedder.model_id != job["model_id"]:
        return UNABLE
    return _embed(embedder, job, folder)


def _embed(embedder: Embedder, job: Json, folder: Path) -> Json:
    np.save(folder / _VECTORS, embedder.embed_documents(job["texts"]))
    return {"texts": len(job["texts"])}
