"""Join evidence: which columns of a catalog's tables join, how sure that is, and why.

candidates at every rung of the ladder of normal forms → scores in view of each other
→ composite keys, self-references, names alone, conditional keys, code tables → what people wrote
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.usage import Usage
from dovetail.domain import JoinEdge
from dovetail.joins.code_tables import with_code_tables
from dovetail.joins.columns import (
    DEFAULT_THRESHOLDS,
    CatalogPasses,
    ColumnArrays,
    TableColumns,
    Thresholds,
    catalog_passes,
)
from dovetail.joins.commented import with_comments
from dovetail.joins.composite import CompositeKeys
from dovetail.joins.conditional import with_conditional_keys
from dovetail.joins.declared import with_declared
from dovetail.joins.edges import in_order
from dovetail.joins.names_only import name_only_edges
from dovetail.joins.parted import by_part, with_parts
from dovetail.joins.queried import with_queries
from dovetail.joins.rows import RowQuestions
from dovetail.joins.scoring import edges_of, foreign_key
from dovetail.joins.self_references import with_self_references


def join_evidence(
    catalog: CatalogReader,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    passes: CatalogPasses | None = None,
) -> tuple[list[JoinEdge], bool]:
    """The join evidence of a catalog.

    With it comes whether every source could be read for it. `passes` run over the values of the
    catalog; without any, this process does.
    """
    with ExitStack() as stack:
        passes = passes or stack.enter_context(catalog_passes(catalog))
        arrays = ColumnArrays.of(catalog, thresholds, passes)
        every = with_parts(arrays, passes.values)
        scored = by_part(every, foreign_key(every, passes.values.forms), passes.values)
        columns, rows = TableColumns(arrays), RowQuestions(passes)
        # Beyond one column and two tables, weighed in the same nats, after what needs no rows.
        composite = list(CompositeKeys(arrays, columns, rows).edges())
        single = edges_of(arrays, scored)
        edges = [*with_self_references(arrays, columns, single), *composite]
        edges += name_only_edges(arrays, columns, edges)
        edges = with_conditional_keys(arrays, columns, edges, rows)
        edges = with_code_tables(arrays, columns, edges, rows)
        return in_order(edges), rows.complete


def with_what_people_wrote(
    catalog: CatalogReader, evidence: Sequence[JoinEdge], usage: Usage
) -> Sequence[JoinEdge]:
    """Evidence with what declared keys, comments and past queries say of it."""
    return with_queries(catalog, with_comments(catalog, with_declared(catalog, evidence)), usage)
