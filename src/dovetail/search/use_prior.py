"""What the use of tables says before any question is asked: a small, bounded part of the score."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dovetail.catalog.reader import CatalogReader

# Scores of two tables that a question says equally much of: this decides, and hardly more.
_QUERIED, _LOOKED_AT, _FEEDS, _DEPRECATED = 0.08, 0.03, -0.02, -0.08


def use_prior(catalog: CatalogReader) -> npt.NDArray[np.float32] | None:
    """What is added to the score of each table for its use; None where nothing is known of it.

    Tables that stand in past queries gain by how often they do, those that people look at (an
    exposure of dbt reads them) a little; tables that only feed others and deprecated ones lose.
    """
    if not catalog.usage.tables and not catalog.dbt.tables:
        return None
    found = np.zeros(len(catalog), dtype=np.float32)
    for place, table in enumerate(catalog.ids):
        told = catalog.dbt.tables.get(table)
        if told is not None:
            found[place] += _LOOKED_AT * bool(told.exposures) + _FEEDS * told.only_feeds
            found[place] += _DEPRECATED * told.deprecated
        found[place] += _QUERIED * catalog.usage.share(table)
    return found
