"""Tables that are alike stand in for joins where a catalog holds samples of tables alone.

Five rows prove no foreign key: they join by chance, and with hundreds of tables there is always one
that a long question finds by chance. There a table is also judged by the tables that are most like
it, since a question is mostly about one system, and the tables of a system resemble each other.
"""

from __future__ import annotations

import numpy as np

from dovetail.arrays import Float32s, Vectors
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.search.fusion import DEFAULT, Weights

# A table of so many rows is a sample; a catalog is one of samples if it has so many tables, and
# most of them are. In smaller ones there is little to find by chance.
_SAMPLE_ROWS = 5
_LEAST_TABLES = 100
# How the signals count over samples: docs/search.md has what each is worth.
SAMPLES = Weights(gain=0.7, dense=0.8, column=0.8, alike=0.3, one_partner=True)
# Of so many nearest tables that are as near as this, the best ones count.
_NEAREST, _NEAR, _BEST = 8, 0.5, 3


def weights_for(catalog: CatalogReader) -> Weights:
    """How the signals of search count over a catalog: as usual, or as over samples of tables."""
    rows = numbers(catalog.records.tables.column("rows"))
    samples = int(np.count_nonzero(rows <= _SAMPLE_ROWS))
    return SAMPLES if len(rows) >= _LEAST_TABLES and 2 * samples > len(rows) else DEFAULT


def alike(vectors: Vectors, scores: Float32s) -> Float32s:
    """The mean score of each table and the best of those most like it, less the highest such mean.

    So it is 0 for the tables of the likeliest system, and below 0 for all others.
    """
    if not len(scores):
        return np.zeros(0, dtype=np.float32)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    count = min(_NEAREST, len(scores))
    nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
    near = np.take_along_axis(cosines, nearest, axis=1) > _NEAR
    theirs = -np.sort(-np.where(near, scores[nearest], -np.inf), axis=1)[:, :_BEST]
    counted = np.isfinite(theirs)
    total = scores + np.where(counted, theirs, 0).sum(axis=1)
    mean: Float32s = (total / (1 + counted.sum(axis=1))).astype(np.float32)
    below: Float32s = mean - mean.max()
    return below
