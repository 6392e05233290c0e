"""The key domains of a catalog, as its joins tell: columns that refer to one another, directly or
through others, hold the same identifiers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from dovetail.arrays import found_in
from dovetail.catalog.reader import CatalogReader
from dovetail.components import Components
from dovetail.domain import DomainColumn, JoinEdge, KeyDomain, TableId
from dovetail.domain.sql import CASE, DAY, PUNCTUATED, PUNCTUATION
from dovetail.hashing import Hashes, hash_values
from dovetail.joins.columns import CatalogValues
from dovetail.names.table_name import entity
from dovetail.names.words import core

# A column by its table and name.
_Column = tuple[TableId, str]
_GONE = str.maketrans("", "", PUNCTUATION)


def key_domains(catalog: CatalogReader, edges: Iterable[JoinEdge]) -> list[KeyDomain]:
    """The key domains that some joins make, those of the most columns first.

    Joins by several columns, by names alone and with calendars make none.
    """
    sure = [edge for edge in edges if len(edge.columns) == 1 and _by_values(edge)]
    parts = [(edge.left, edge.columns[0][0]) for edge in sure]
    keys = [(edge.right, edge.columns[0][1]) for edge in sure]
    groups = Components([*parts, *keys], zip(keys, parts, strict=True)).groups()
    into = Counter(keys)
    best: dict[_Column, JoinEdge] = {}
    for column, edge in zip(parts, sure, strict=True):
        if edge.left != edge.right:
            best.setdefault(column, edge)
    values = _Values(catalog)
    domains = [_domain(values, group, best, into) for group in groups if len(group) > 1]
    return sorted(domains, key=lambda domain: (-len(domain.columns), str(domain.master)))


def _by_values(edge: JoinEdge) -> bool:
    evidence = edge.evidence
    return "names_only" not in evidence and not evidence.get("calendar")


def _domain(
    values: _Values,
    group: Sequence[_Column],
    best: Mapping[_Column, JoinEdge],
    into: Mapping[_Column, int],
) -> KeyDomain:
    def order(column: _Column) -> tuple[bool, bool, int, TableId, str]:
        """The master first: what refers to none of its own source, and most refer to."""
        edge = best.get(column)
        own = edge is not None and edge.right.source == edge.left.source
        return own, edge is not None, -into.get(column, 0), *column

    by_source: dict[str, list[_Column]] = defaultdict(list)
    for column in group:
        by_source[column[0].source].append(column)
    masters = {source: min(columns, key=order) for source, columns in sorted(by_source.items())}
    masters = {source: column for source, column in masters.items() if into.get(column)}
    master = min(group, key=lambda column: order(column)[1:])
    columns = {column: values.column(column, best.get(column)) for column in sorted(group)}
    table, name = master
    return KeyDomain(
        name if core(name) else " ".join((*entity(table.name), name)),
        columns[master],
        {source: columns[column] for source, column in masters.items()},
        tuple(columns.values()),
    )


class _Values:
    """What the columns of a catalog lack in those that they refer to."""

    def __init__(self, catalog: CatalogReader) -> None:
        self._catalog = catalog
        self._values = CatalogValues(catalog)
        bounds = catalog.records.bounds.tolist()
        names = catalog.records.columns["name"].to_pylist()
        self._numbers = {
            (table, names[column]): column
            for table, start, end in zip(catalog.ids, bounds, bounds[1:], strict=False)
            for column in range(start, end)
        }
        self._forms = {
            (view.column, view.transform): len(names) + number
            for number, view in enumerate(self._values.normalized)
        }
        self._examples = catalog.records.columns["examples"]

    def column(self, column: _Column, edge: JoinEdge | None) -> DomainColumn:
        """A column of a domain with what it lacks in the one that an edge says it refers to."""
        if edge is None:
            return DomainColumn(*column)
        parent = (edge.right, edge.columns[0][1])
        own = self._hashes(self._numbers[column], edge.transform)
        missing = own[~found_in(own, self._hashes(self._numbers[parent], edge.transform))]
        examples: list[str] = self._examples[self._numbers[column]].as_py() or []
        lacking = [text for text in examples if _hash(text, edge.transform) in missing]
        return DomainColumn(
            *column, parent, edge.transform, edge.match_rate, len(missing), tuple(lacking)
        )

    def _hashes(self, column: int, transform: str) -> Hashes:
        """The values of a column at the rung that a transform names, or as they are."""
        names = [transform, *(name for name in _SAME_RUNG.get(transform, ()))]
        numbers = (self._forms.get((column, name)) for name in names)
        return self._values.hashes(next((n for n in numbers if n is not None), column))


# Transforms that are one rung: a column may need less of it than the other.
_SAME_RUNG = {"prefix": ("zeros",), "zeros": ("prefix",)}


def _hash(text: str, transform: str) -> np.uint64:
    """The hash of a value, written out, after a transform."""
    value: str | int = text.strip()
    if transform in (CASE, PUNCTUATED):
        value = text.strip().lower().translate(_GONE if transform == PUNCTUATED else {})
    elif transform == DAY:
        value = text[:10]
    elif transform:
        digits = text.translate(_GONE).lstrip(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        )
        value = int(digits) if digits.isdecimal() else text
    hashed: np.uint64 = hash_values(pa.array([value]))[0]
    return hashed


def of_table(domains: Iterable[KeyDomain], table: TableId) -> Iterator[KeyDomain]:
    """The domains that a table has a column of."""
    return (each for each in domains if any(column.table == table for column in each.columns))
