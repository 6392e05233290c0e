"""Join evidence: which columns of a catalog's tables join, how sure that is, and why.

candidates at every rung of the ladder of normal forms → scores in view of each other
→ composite keys, self-references, conditional keys → what people wrote
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.usage import Usage
from dovetail.domain import JoinEdge
from dovetail.joins.columns import (
    DEFAULT_THRESHOLDS,
    CatalogPasses,
    ColumnArrays,
    Thresholds,
    catalog_passes,
)
from dovetail.joins.commented import with_comments
from dovetail.joins.declared import with_declared
from dovetail.joins.edges import in_order
from dovetail.joins.parted import by_part, with_parts
from dovetail.joins.queried import with_queries
from dovetail.joins.rows import RowQuestions
from dovetail.joins.scoring import edges_of, foreign_key
from dovetail.joins.structure import structural_edges


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
        scored = by_part(every, foreign_key(every, passes.values.views), passes.values)
        rows = RowQuestions(passes)
        edges = structural_edges(arrays, edges_of(arrays, scored), rows)
        return in_order(edges), rows.complete


def work_out(catalog: CatalogReader, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> list[JoinEdge]:
    """The edges of the join evidence of a catalog, made from nothing but its values."""
    return join_evidence(catalog, thresholds)[0]


def with_what_people_wrote(
    catalog: CatalogReader, evidence: Sequence[JoinEdge], usage: Usage
) -> Sequence[JoinEdge]:
    """Evidence with what declared keys, comments and past queries say of it."""
    return with_queries(catalog, with_comments(catalog, with_declared(catalog, evidence)), usage)
