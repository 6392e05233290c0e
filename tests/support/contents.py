"""All that a catalog holds, in a form that can be compared."""

from __future__ import annotations

from typing import Any

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId


def contents(catalog: dovetail.Catalog) -> dict[str, Any]:
    """Every table with its profiles and vectors, by id."""
    return {
        str(table.id): (
            table,
            [
                (
                    catalog.reader.hashes(table.id, column).tolist(),
                    catalog.reader.counts(table.id, column).tolist(),
                )
                for column in range(len(table.columns))
            ],
        )
        for table in catalog
    }


def phrases(catalog: CatalogReader, table: TableId, column: int) -> list[int]:
    """What a column is searched by."""
    row = list(catalog.ids).index(table)
    record = catalog.records.columns.slice(int(catalog.records.bounds[row]) + column, 1).to_pylist()
    segment = catalog.segment(catalog.records.tables["segment"][row].as_py())
    found: list[int] = segment.phrases(record[0]["phrases_at"], record[0]["phrases"]).tolist()
    return found
