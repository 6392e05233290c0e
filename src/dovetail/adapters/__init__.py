"""Retrievers for other frameworks: the set of tables that a question needs, in their own types.

What each returns is made of texts, one for each table of the set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dovetail.domain import TableSet
from dovetail.domain.schema import ddl
from dovetail.domain.sql import query_names


@dataclass(frozen=True, slots=True)
class TableDocument:
    """A table of the set: its schema and its joins within the set, as SQL has them."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


def table_documents(result: TableSet) -> list[TableDocument]:
    """One document for each table, in the set's order.

    A join stands with the table that refers to the other, so that all texts together are the whole
    slice of schema, each line once. A query calls the tables as the texts do.
    """
    names = result.names or query_names(result.ids)
    documents = []
    for chosen, table in zip(result.tables, result.details, strict=True):
        own = [edge for edge in result.joins if edge.left == table.id]
        slice_ = ddl([table], names=names) + ddl([], own, names=names)
        metadata = {
            "table": str(table.id),
            "source": table.id.source,
            "name": table.name,
            "called": names[table.id],
            "reason": chosen.reason,
            "stage": chosen.stage,
            "joins": [edge.condition(names) for edge in own],
            "confidence": result.confidence,
            "sureness": result.sureness,
        }
        documents.append(TableDocument(str(table.id), slice_, chosen.relevance, metadata))
    return documents
