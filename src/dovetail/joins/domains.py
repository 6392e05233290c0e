"""The key domains of a catalog, as its joins tell: columns that refer to one another, directly or
through others, hold the same identifiers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from dovetail.arrays import found_in
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.values import StoredValues
from dovetail.components import Components
from dovetail.domain import DeclaredKeys, DomainColumn, JoinEdge, KeyDomain, TableId
from dovetail.domain.sql import CUT, PREFIX, PUNCTUATED, ZEROS, rung, transformed_text
from dovetail.hashing import hash_values
from dovetail.names.references import refers
from dovetail.names.table_name import entity
from dovetail.names.words import ID_WORDS, PREPOSITIONS, core, plural, words

# A column by its table and name.
_Column = tuple[TableId, str]


class KeyDomains:
    """The key domains that some joins make, each worked out when it is asked for.

    Joins by several columns, on a condition, by names alone and with calendars make none.
    """

    def __init__(self, catalog: CatalogReader, edges: Iterable[JoinEdge]) -> None:
        sure = [edge for edge in edges if len(edge.columns) == 1 and _by_values(edge)]
        children = [(edge.left, edge.columns[0][0]) for edge in sure]
        keys = [(edge.right, edge.columns[0][1]) for edge in sure]
        groups = Components([*children, *keys], zip(keys, children, strict=True)).groups()
        self._groups = [group for group in groups if len(group) > 1]
        self._into = Counter(keys)
        self._best: dict[_Column, JoinEdge] = {}
        for column, edge in zip(children, sure, strict=True):
            if edge.left != edge.right:
                self._best.setdefault(column, edge)
        self._catalog = catalog
        self._made: dict[int, KeyDomain] = {}
        declared = zip(catalog.ids, catalog.records.tables["keys"].to_pylist(), strict=True)
        self._primary = {
            (table, *DeclaredKeys.from_text(text).primary) for table, text in declared if text
        }

    def of(self, table: TableId | None = None) -> list[KeyDomain]:
        """Those of a table, or all, those of the most columns first."""
        domains = [
            self._domain(number)
            for number, group in enumerate(self._groups)
            if table is None or any(table == own for own, _ in group)
        ]
        return sorted(domains, key=lambda domain: (-len(domain.columns), str(domain.master)))

    def _domain(self, number: int) -> KeyDomain:
        if number not in self._made:
            group = self._groups[number]
            self._made[number] = _domain(
                self._catalog, group, self._best, self._into, self._primary
            )
        return self._made[number]


def _by_values(edge: JoinEdge) -> bool:
    evidence = edge.evidence
    return not edge.when and "names_only" not in evidence and not evidence.get("calendar")


def _domain(
    catalog: CatalogReader,
    group: Sequence[_Column],
    best: Mapping[_Column, JoinEdge],
    into: Mapping[_Column, int],
    primary: Collection[tuple[object, ...]],
) -> KeyDomain:
    def order(column: _Column) -> tuple[bool, bool, bool, int, TableId, str]:
        """The master first: what refers to none of its own source, is declared to be its table's
        primary key, and most refer to."""
        edge = best.get(column)
        own = edge is not None and edge.right.source == edge.left.source
        undeclared = column not in primary
        return own, edge is not None, undeclared, -into.get(column, 0), *column

    by_source: dict[str, list[_Column]] = defaultdict(list)
    for column in group:
        by_source[column[0].source].append(column)
    masters = {source: min(columns, key=order) for source, columns in sorted(by_source.items())}
    masters = {source: column for source, column in masters.items() if into.get(column)}
    master = min(group, key=lambda column: order(column)[1:])
    columns = {column: _member(catalog, column, best.get(column)) for column in sorted(group)}
    table, name = master
    return KeyDomain(
        domain_name(table.name, name),
        columns[master],
        {source: columns[column] for source, column in masters.items()},
        tuple(columns.values()),
    )


# What words that identify are said as, where there are many; others are numbers.
_SAID = {
    "ids": ("id", "ids", "identifier", "pk", "fk", "sk", "nk", "uuid", "guid", "ref"),
    "codes": ("code", "cd", "cde", "kode", "kod", "codigo", "cod"),
    "keys": ("key", "cle", "clave"),
}
_MAIL = frozenset(("mail", "email"))


def domain_name(table: str, column: str) -> str:
    """What people would call the identifiers that a column of a table holds.

    >>> domain_name("orders", "order_no"), domain_name("T_CUST", "id"), domain_name("x", "iban")
    ('order numbers', 'cust ids', 'ibans')
    >>> domain_name("customers", "cust_code"), domain_name("partner", "email")
    ('customer codes', 'partner e-mail addresses')
    """
    about, called = entity(table), core(column)
    ends = [word for word in words(column) if word in ID_WORDS]
    if _MAIL & set(words(column)):
        return " ".join((*about, "e-mail addresses"))
    plain = not PREPOSITIONS & set(about)  # else its words are not in the order they are said in
    if not called or (plain and float(refers([called], [about])[0]) > 0.5):
        called = about if ends else called
    if not ends:
        *front, last = called or (column,)
        return " ".join((*front, plural(last)))
    said = next((many for many, ones in _SAID.items() if ends[-1] in ones), "numbers")
    return " ".join((*called, said))


def _member(catalog: CatalogReader, column: _Column, edge: JoinEdge | None) -> DomainColumn:
    """A column of a domain with what it lacks in the one that an edge says it refers to."""
    if edge is None:
        return DomainColumn(*column)
    values, parent = catalog.values, (edge.right, edge.columns[0][1])
    number = values.number(*column)
    child = _in_form(values, number, edge.transform)
    own, keys = values.compared(child, _in_form(values, values.number(*parent), edge.transform))
    missing = own[~found_in(own, keys)]
    count = round(len(missing) * values.size(child) / max(len(own), 1))
    examples: list[str] = catalog.records.columns["examples"][number].as_py() or []
    lacking = [text for text in examples if _hash(text, edge.transform) in missing]
    return DomainColumn(*column, parent, edge.transform, edge.match_rate, count, tuple(lacking))


def _in_form(values: StoredValues, column: int, transform: str) -> int:
    """The values of a column at the rung that a transform names, or as they are."""
    forms = values.forms_of(column)
    names = (transform, *_SAME_RUNG.get(rung(transform), ()))
    return next((forms[name] for name in names if name in forms), column)


# Transforms that are one rung: a column may need less of it than the other.
_SAME_RUNG = {PREFIX: (ZEROS,), ZEROS: (PREFIX,), CUT: (PUNCTUATED, ZEROS)}


def _hash(text: str, transform: str) -> np.uint64:
    """The hash of a value, written out, after a transform."""
    hashed: np.uint64 = hash_values(pa.array([transformed_text(transform, text)]))[0]
    return hashed
