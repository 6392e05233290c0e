"""All that a catalog holds, in a form that can be compared."""

from __future__ import annotations

from typing import Any

import dovetail


def contents(catalog: dovetail.Catalog) -> dict[str, Any]:
    """Every table with its profiles and vectors, by id."""
    return {
        str(table.id): (
            table,
            [
                (
                    catalog.hashes(table.id, column).tolist(),
                    catalog.counts(table.id, column).tolist(),
                )
                for column in range(len(table.columns))
            ],
        )
        for table in catalog
    }
