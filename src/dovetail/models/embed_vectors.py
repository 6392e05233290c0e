"""Prepares texts for every embedder, and checks that it answers with vectors of length one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Vectors
from dovetail.errors import ModelError


def well_formed(text: str) -> str:
    """The text, with halves of characters that stand alone (no file can hold them) replaced.

    >>> well_formed("caf\\u00e9 \\ud83d\\ude00 \\ud800") == "caf\\u00e9 \\U0001f600 \\ufffd"
    True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def unit_vectors(vectors: npt.ArrayLike, *, rows: int, dimension: int, model_id: str) -> Vectors:
    """A model's answer as so many float32 vectors of length one; an error if it is not that."""
    try:
        found = np.asarray(vectors, dtype=np.float32).reshape(-1, dimension) if rows else None
    except (TypeError, ValueError):
        raise ModelError(
            f"{model_id}: the vectors are not all of {dimension} numbers; is it the same model?"
        ) from None
    if found is None:
        return np.zeros((0, dimension), dtype=np.float32)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if len(found) != rows:
        raise ModelError(f"{model_id}: {len(found)} vectors of {dimension} for {rows} texts")
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise ModelError(f"{model_id}: a vector is not finite or zero, so it has no direction")
    return np.ascontiguousarray(found / lengths)
