"""Nearest neighbours by the cosine of vectors: the paper's dense retrieval, DR (Section 4.1).

Exact up to a size; above it approximate, by FAISS's inverted lists (IVF), one in six probed.
"""

from __future__ import annotations

import math
from pathlib import Path

import faiss
import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

# An exact search of 50,000 vectors of 384 numbers takes about 5 ms on one core; so many lists
# find the exact ten nearest of 100,000 in a third of that (`make bench-search`).
_MOST_EXACT = 50_000
_LISTS_PER_ROOT = 1.6
_TRAINED_ON = 40  # vectors per list
_PROBED = 6  # one list in so many
_SEED = 42
_VECTORS_FILE, _LISTS_FILE = "dense.npy", "dense.faiss"
# Searched for beyond what is wanted, to see where a tie ends.
_SPARE = 8


class Dense:
    """Vectors of length one, numbered by their place, and the nearest of them to another."""

    def __init__(self, index: faiss.Index) -> None:
        self._index = index

    @classmethod
    def build(cls, vectors: Vectors, most_exact: int = _MOST_EXACT) -> Dense:
        """An index over one vector per place."""
        count, dimension = vectors.shape
        index: faiss.Index = faiss.IndexFlatIP(dimension)
        if count > most_exact:
            lists = int(_LISTS_PER_ROOT * math.sqrt(count))
            index = faiss.IndexIVFFlat(index, dimension, lists, faiss.METRIC_INNER_PRODUCT)
            index.cp.seed, index.cp.niter = _SEED, 8
            drawn = np.random.default_rng(_SEED).permutation(count)[: _TRAINED_ON * lists]
            index.train(vectors[np.sort(drawn)])
            index.nprobe = max(1, lists // _PROBED)
            index.make_direct_map()  # to find a vector by its place
        index.add(vectors)
        return cls(index)

    @classmethod
    def load(cls, folder: Path) -> Dense:
        """The index in a folder."""
        if (folder / _LISTS_FILE).exists():
            return cls(faiss.read_index(str(folder / _LISTS_FILE)))
        vectors = np.load(folder / _VECTORS_FILE, mmap_mode="r", allow_pickle=False)
        if vectors.ndim != 2 or vectors.dtype != np.float32:
            raise ValueError(folder)
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(np.asarray(vectors))
        return cls(index)

    def save(self, folder: Path) -> None:
        """Write the index into a folder: plain vectors where it is exact, else FAISS's own form.

        FAISS itself raises no OSError when the disk is full, so its bytes are written from here.
        """
        if isinstance(self._index, faiss.IndexFlat):
            np.save(folder / _VECTORS_FILE, self.vectors(np.arange(self._index.ntotal)))
        else:
            (folder / _LISTS_FILE).write_bytes(faiss.serialize_index(self._index).data)

    def vectors(self, places: Places) -> Vectors:
        """The vectors at some places."""
        found: Vectors = self._index.reconstruct_batch(places)
        return found

    def nearest(self, vector: Vectors, count: int) -> tuple[Places, Vectors]:
        """The places of the nearest vectors and their cosines, the nearest first, ties by place."""
        total = self._index.ntotal
        wanted = min(count, total)
        if not wanted:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        asked = min(wanted + _SPARE, total)
        while True:
            found = self._index.search(vector.reshape(1, -1), asked)
            cosines, places = (array[0] for array in found)
            # Equal vectors are common, and FAISS returns them in no particular order.
            if asked == total or cosines[-1] < cosines[wanted - 1]:
                break
            asked = min(2 * asked, total)
        there = places >= 0
        cosines, places = cosines[there], places[there]
        order = np.lexsort((places, -cosines))[:wanted]
        return places[order], cosines[order]
