"""What comments say of joins: a comment on a column that names another table is evidence for a join
with its key (`refers to crm.accounts`, `FK to orders.id`, `Kundennummer aus KNA1`).

A name counts that is written as such, with its schema, a digit, an underscore or in capitals, or
after a word that points at it: it makes an edge where there was none, of small keys too, if the
values bear it out. What a model wrote is not asked: it guessed by the same names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dovetail.catalog.descriptions import written_texts
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, Table, TableId
from dovetail.joins.edges import in_order, shifted
from dovetail.joins.queried import in_normal_form, stated_edge
from dovetail.names.words import counts

# Evidence: the comment on the column names the table.
COMMENT = "comment"
# Nats for a join with a table that a comment names: with 2 and with 8 the same joins of two piles
# are above 0.5.
_NAMED = 4.0
# The share of rows that must find a partner for a comment to make an edge.
_BORNE_OUT = 0.9
# Tables of one name beyond which it names none of them.
_MOST = 3
# Names with dots in them.
_TOKEN = re.compile(r"[^\W_][\w$#]*(?:\.[\w$#]+)*")
# Characters before a name in which words may point at it; these, with what may stand between.
_BACK = 40
_POINTS = re.compile(
    r"(?:\b(?:fk|foreign key|refers?|references?|see|from|key of|lookup|joins?"
    r"|aus|siehe|verweist auf|voir|véase|ver|zie)\b|->|→)"
    r"(?:\s+(?:to|in|of|on|the|table|tabelle|tabla))*[\s:]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Citation:
    """A table that a comment names, and its column where it says which."""

    table: TableId
    column: str


class _Tables:
    """The tables of a catalog by their names, with and without a schema."""

    def __init__(self, ids: Iterable[TableId]) -> None:
        self._by_name: dict[str, list[TableId]] = defaultdict(list)
        for table in ids:
            name = table.name.casefold()
            for known in {name, name.rpartition(".")[2]}:
                self._by_name[known].append(table)

    def cited(self, own: TableId, comment: str) -> list[_Citation]:
        """The other tables that a comment on a column of a table names."""
        return [
            _Citation(table, column)
            for at, name in ((each.start(), each[0]) for each in _TOKEN.finditer(comment))
            for known, column in ((name, ""), *([_split(name)] if "." in name else []))
            for table in self._near(own, self._by_name.get(known.casefold(), ()))
            if _is_name(name)
            or _POINTS.search(comment, max(at - _BACK, 0), at)
            or name == comment.strip()
        ]

    @staticmethod
    def _near(own: TableId, tables: Iterable[TableId]) -> list[TableId]:
        """Those of the same source, or else all; none where they are many, or the table itself."""
        found = list(tables)
        found = [table for table in found if table.source == own.source] or found
        return found if len(found) <= _MOST and own not in found else []


def _split(name: str) -> tuple[str, str]:
    """A table's name and a column's."""
    table, _, column = name.rpartition(".")
    return table, column


def _is_name(token: str) -> bool:
    """Whether a word is written as no word of a sentence is."""
    capitals = token.isupper() and len(token) > 2
    return capitals or any(not char.isalpha() for char in token)


def with_comments(catalog: CatalogReader, edges: Sequence[JoinEdge]) -> Sequence[JoinEdge]:
    """The edges, in order, with what comments on columns say of them."""
    citations = dict(_citations(catalog))
    if not citations:
        return edges
    found: set[tuple[TableId, str, TableId]] = set()
    said: list[JoinEdge] = []
    for edge in edges:
        citation = _citation_of(edge, citations)
        said.append(edge if citation is None else shifted(edge, _NAMED, {COMMENT: 1.0}))
        if citation is not None:
            found.add((edge.left, edge.columns[0][0], edge.right))
    for (table, column), named in citations.items():
        for citation in named:
            if (table, column, citation.table) not in found:
                said += _new(catalog, catalog[table], column, citation)
    return in_order(said)


def _citations(catalog: CatalogReader) -> Iterator[tuple[tuple[TableId, str], list[_Citation]]]:
    """The tables that the comments on columns name, by column."""
    names, (_, comments) = catalog.records.columns["name"].to_pylist(), written_texts(catalog)
    tables, bounds = _Tables(catalog.ids), catalog.records.bounds.tolist()
    for table, start, end in zip(catalog.ids, bounds, bounds[1:], strict=False):
        for name, comment in zip(names[start:end], comments[start:end], strict=True):
            if comment and not counts(name) and (cited := tables.cited(table, comment)):
                yield (table, name), cited


def _citation_of(
    edge: JoinEdge, citations: dict[tuple[TableId, str], list[_Citation]]
) -> _Citation | None:
    """What names the key that an edge of one column refers to."""
    if len(edge.columns) > 1 or edge.by_days:
        return None
    ((own, other),) = edge.columns
    for citation in citations.get((edge.left, own), ()):
        same = citation.column.casefold() in ("", other.casefold())
        if citation.table == edge.right and same:
            return citation
    return None


def _new(catalog: CatalogReader, table: Table, column: str, citation: _Citation) -> list[JoinEdge]:
    """The edge that a comment makes, if the values bear it out."""
    parent = catalog[citation.table]
    wanted = [citation.column] if citation.column else [column, *parent.keys.primary[:1]]
    folded = {name.casefold() for name in wanted}
    unique = [each for each in parent.columns if each.profile.unique]
    keys = [each.name for each in unique if each.name.casefold() in folded]
    if not citation.column:
        keys += [each.name for each in unique if each is parent.columns[0]]
    filled = table.rows - table.column(column).profile.nulls
    for key in dict.fromkeys(keys):
        edge = in_normal_form(catalog, stated_edge(catalog, table, parent, ((column, key),), {}))
        share = edge.match_rate * table.rows / max(filled, 1)
        if edge.left == table.id and share >= _BORNE_OUT:
            evidence = {"row_containment": round(share, 6), COMMENT: 1.0}
            return [shifted(replace(edge, score=0.5), _NAMED, evidence)]
    return []
