"""Nearest neighbours by the cosine of vectors: the paper's dense retrieval, DR (Section 4.1).

Exact up to a size; above it approximate, by FAISS's inverted lists (IVF), one in six probed. Of
very many vectors the lists hold codes of two bits a number (product quantisation); the vectors
themselves, in half precision, stay in a file, and decide among the thousand that codes put first.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import faiss
import numpy as np
import numpy.typing as npt

from dovetail.arrays import Flags, Ints, Vectors
from dovetail.catalog.files import mapped_array

# What its types do not tell: classes whose constructors it replaces for Python.
_FAISS: Any = faiss

# An exact search of 50,000 vectors of 384 numbers takes about 5 ms on one core; so many lists
# find the exact ten nearest of 100,000 in a third of that (`make bench-search`).
MOST_EXACT = 50_000
# Lists of whole vectors take 1.5 GB of memory at a million vectors, and about 16 ms by what 300,000
# take.
_MOST_WHOLE = 200_000
_LISTS_PER_ROOT = 1.6
_TRAINED_ON = 40  # vectors per list
_PROBED = 6  # one list in so many
_SEED = 42
_VECTORS_FILE, _LISTS_FILE = "dense.npy", "dense.faiss"
# Searched for beyond what is wanted, to see where a tie ends.
_SPARE = 8
# Numbers of a vector that share a code of four bits, and vectors that codes put forward.
_NUMBERS_PER_CODE, _CODE_BITS = 2, 4
_PUT_FORWARD = 1024
# Vectors that are given to FAISS together: those of a mapped file are not all in memory.
_ADDED_AT_ONCE = 1 << 17


class Dense:
    """Vectors of length one, numbered by their place, and the nearest of them to another.

    `whole` are the vectors themselves, in half precision, where the index has codes alone.
    """

    def __init__(self, index: faiss.Index, whole: npt.NDArray[np.float16] | None = None) -> None:
        self._index = index
        self._whole = whole

    @classmethod
    def build(
        cls, vectors: Vectors, most_exact: int = MOST_EXACT, most_whole: int = _MOST_WHOLE
    ) -> Dense:
        """An index over one vector per place."""
        count, dimension = vectors.shape
        index: faiss.Index = faiss.IndexFlatIP(dimension)
        coded = count > max(most_exact, most_whole) and dimension % _NUMBERS_PER_CODE == 0
        if count > most_exact:
            lists = int(_LISTS_PER_ROOT * math.sqrt(count))
            if coded:
                codes = dimension // _NUMBERS_PER_CODE
                index = faiss.IndexIVFPQFastScan(
                    index, dimension, lists, codes, _CODE_BITS, faiss.METRIC_INNER_PRODUCT
                )
                index.pq.cp.seed = _SEED
            else:
                index = faiss.IndexIVFFlat(index, dimension, lists, faiss.METRIC_INNER_PRODUCT)
            index.cp.seed, index.cp.niter = _SEED, 8
            drawn = np.random.default_rng(_SEED).permutation(count)[: _TRAINED_ON * lists]
            index.train(vectors[np.sort(drawn)])
            index.nprobe = max(1, lists // _PROBED)
            if not coded:
                index.make_direct_map()  # to find a vector by its place
        for start in range(0, count, _ADDED_AT_ONCE):
            index.add(np.ascontiguousarray(vectors[start : start + _ADDED_AT_ONCE]))
        return cls(index, _halved(vectors) if coded else None)

    @classmethod
    def load(cls, folder: Path) -> Dense:
        """The index in a folder; vectors that are only looked at by place are mapped."""
        listed = (folder / _LISTS_FILE).exists()
        if listed and not (folder / _VECTORS_FILE).exists():
            return cls(faiss.read_index(str(folder / _LISTS_FILE)))
        vectors = mapped_array(folder / _VECTORS_FILE)
        if vectors.ndim != 2 or vectors.dtype != (np.float16 if listed else np.float32):
            raise ValueError(folder)
        if not listed:
            exact = faiss.IndexFlatIP(vectors.shape[1])
            exact.add(vectors)
            return cls(exact)
        index = faiss.read_index(str(folder / _LISTS_FILE))
        if (index.ntotal, index.d) != vectors.shape:
            raise ValueError(folder)
        return cls(index, vectors)

    def save(self, folder: Path) -> None:
        """Write the index into a folder: plain vectors where it is exact, else FAISS's own form.

        FAISS itself raises no OSError when the disk is full, so its bytes are written from here.
        """
        exact = isinstance(self._index, faiss.IndexFlat)
        if not exact:
            (folder / _LISTS_FILE).write_bytes(faiss.serialize_index(self._index).data)
        if self._whole is not None:
            np.save(folder / _VECTORS_FILE, self._whole)
        elif exact:
            np.save(folder / _VECTORS_FILE, self.vectors(np.arange(self._index.ntotal)))

    def vectors(self, places: Ints) -> Vectors:
        """The vectors at some places; what is no number in a damaged file becomes 0."""
        if self._whole is None:
            found: Vectors = self._index.reconstruct_batch(places)
            return found
        return finite(self._whole[places])

    def nearest(
        self, vector: Vectors, count: int, allowed: Flags | None = None
    ) -> tuple[Ints, Vectors]:
        """The places of the nearest vectors and their cosines, the nearest first, ties by place.

        Of allowed places alone, if given; few of them are all looked at.
        """
        if allowed is not None:
            places = np.flatnonzero(allowed)
            if len(places) <= MOST_EXACT or isinstance(self._index, faiss.IndexFlat):
                return self._best(vector, places, count)
        if self._whole is not None:
            wanted = min(max(_PUT_FORWARD, 4 * count), self._index.ntotal)
            places = self._search(vector, wanted, allowed)[0]
            return self._best(vector, np.sort(places[places >= 0]), count)
        return self._nearest_whole(vector, count, allowed)

    def _best(self, vector: Vectors, places: Ints, count: int) -> tuple[Ints, Vectors]:
        """The nearest of some places, all of which are looked at."""
        cosines: Vectors = np.empty(0, np.float32)
        if len(places):
            cosines = self.vectors(places) @ vector
        best = np.lexsort((places, -cosines))[:count]
        return places[best], cosines[best]

    def _nearest_whole(
        self, vector: Vectors, count: int, allowed: Flags | None
    ) -> tuple[Ints, Vectors]:
        """The nearest as an index of whole vectors finds them."""
        total = self._index.ntotal
        wanted = min(count, total)
        if not wanted:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        asked = min(wanted + _SPARE, total)
        while True:
            places, cosines = self._search(vector, asked, allowed)
            # Equal vectors are common, and FAISS returns them in no particular order.
            if asked == total or cosines[-1] < cosines[wanted - 1]:
                break
            asked = min(2 * asked, total)
        there = places >= 0
        cosines, places = cosines[there], places[there]
        order = np.lexsort((places, -cosines))[:wanted]
        return places[order], cosines[order]

    def _search(self, vector: Vectors, count: int, allowed: Flags | None) -> tuple[Ints, Vectors]:
        """What FAISS finds among the allowed places, -1 for nothing more."""
        options = None
        if allowed is not None:
            chosen = _FAISS.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
            nprobe = cast("Any", self._index).nprobe
            options = _FAISS.SearchParametersIVF(sel=chosen, nprobe=nprobe)
        cosines, places = self._index.search(vector.reshape(1, -1), count, params=options)
        return places[0], cosines[0]


def finite(halves: npt.NDArray[np.float16]) -> Vectors:
    """Vectors in single precision; what is no number, as in a damaged file, becomes 0."""
    found: Vectors = halves.astype(np.float32)
    # The sum tells in a tenth of the time whether there is anything to put right.
    if not np.isfinite(found.sum()):
        np.nan_to_num(found, copy=False, posinf=0.0, neginf=0.0)
    return found


def _halved(vectors: Vectors) -> npt.NDArray[np.float16]:
    """Vectors in half precision, made a part at a time."""
    found = np.empty(vectors.shape, dtype=np.float16)
    for start in range(0, len(vectors), _ADDED_AT_ONCE):
        found[start : start + _ADDED_AT_ONCE] = vectors[start : start + _ADDED_AT_ONCE]
    return found
