"""The key domains of a catalog, as its joins tell: columns that refer to one another, directly or
through others, hold the same identifiers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain

import numpy as np
import pyarrow as pa

from dovetail.arrays import found_in
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.values import StoredValues
from dovetail.components import Components
from dovetail.domain import DeclaredKeys, DomainColumn, JoinEdge, KeyDomain, TableId
from dovetail.domain.sql import CUT, PREFIX, PUNCTUATED, ZEROS, rung, transformed_text
from dovetail.hashing import Hashes, hash_values
from dovetail.joins.parts import find_parts, merged, whole_of
from dovetail.names.references import refers
from dovetail.names.table_name import entity
from dovetail.names.words import ID_WORDS, PREPOSITIONS, core, plural, words

# A column by its table and name.
_Column = tuple[TableId, str]


class KeyDomains:
    """The key domains that some joins make, each worked out when it is asked for.

    The keys of a table in parts are one key together.
    """

    def __init__(self, catalog: CatalogReader, edges: Iterable[JoinEdge]) -> None:
        sure = list(filter(makes_domain, edges))
        children = [(edge.left, edge.columns[0][0]) for edge in sure]
        keys = [(edge.right, edge.columns[0][1]) for edge in sure]
        self._catalog = catalog
        self._parts = _parts(catalog, dict.fromkeys(keys))
        together = ((part, parts[0]) for part, parts in self._parts.items())
        ends = chain(zip(keys, children, strict=True), together)
        groups = Components([*children, *keys], ends).groups()
        self._groups = [group for group in groups if len(group) > 1]
        # The numbers of the groups that each table is in.
        self._at: dict[TableId, list[int]] = defaultdict(list)
        for number, group in enumerate(self._groups):
            for own in dict.fromkeys(own for own, _ in group):
                self._at[own].append(number)
        referring = {
            (self._parts_of(key)[0], child) for key, child in zip(keys, children, strict=True)
        }
        self._into = Counter(key for key, _ in referring)
        self._best = self._best_edges(sure)
        self._made: dict[int, KeyDomain] = {}
        declared = zip(catalog.ids, catalog.records.tables["keys"].to_pylist(), strict=True)
        self._primary = {
            (table, *DeclaredKeys.from_text(text).primary) for table, text in declared if text
        }

    def _best_edges(self, sure: Sequence[JoinEdge]) -> Mapping[_Column, Sequence[JoinEdge]]:
        """What each column refers to: a key, or all its parts. Of two about as sure that is one of
        its own table, and not of a copy."""
        best: dict[_Column, list[JoinEdge]] = defaultdict(list)
        for edge in sorted(sure, key=lambda edge: (-round(edge.score, 1), edge.left != edge.right)):
            ((child, key),) = edge.columns
            edges = best[edge.left, child]
            if not edges or _key(edges[0]) in self._parts.get((edge.right, key), ()):
                edges.append(edge)
        return best

    def of(self, table: TableId | None = None) -> list[KeyDomain]:
        """Those of a table, or all, those of the most columns first."""
        numbers = range(len(self._groups)) if table is None else self._at.get(table, ())
        domains = map(self._domain, numbers)
        return sorted(domains, key=lambda domain: (-len(domain.columns), str(domain.master)))

    def _domain(self, number: int) -> KeyDomain:
        if number not in self._made:
            self._made[number] = self._of_group(self._groups[number])
        return self._made[number]

    def _of_group(self, group: Sequence[_Column]) -> KeyDomain:
        by_source: dict[str, list[_Column]] = defaultdict(list)
        for column in group:
            by_source[column[0].source].append(column)
        masters = {source: min(of, key=self._order) for source, of in sorted(by_source.items())}
        masters = {source: of for source, of in masters.items() if self._referred(of)}
        master = min(group, key=lambda column: self._order(column)[1:])
        columns = {column: self._member(column) for column in sorted(group)}
        tables = [table for table, _ in self._parts_of(master)]
        return KeyDomain(
            domain_name(whole_of(tables).name, master[1]),
            columns[master],
            {source: columns[column] for source, column in masters.items()},
            tuple(columns.values()),
        )

    def _order(self, column: _Column) -> tuple[bool, bool, bool, int, TableId, str]:
        """The master first: what refers to none of its own source, is declared to be its table's
        primary key, and most refer to."""
        edge = next(iter(self._best.get(column, ())), None)
        own = edge is not None and edge.right.source == edge.left.source
        undeclared = column not in self._primary
        return own, edge is not None, undeclared, -self._referred(column), *column

    def _parts_of(self, column: _Column) -> tuple[_Column, ...]:
        """The columns that hold the keys of one table together, or the column alone."""
        return self._parts.get(column, (column,))

    def _referred(self, column: _Column) -> int:
        """How many columns refer to a column, or to another part of the same key."""
        return self._into.get(self._parts_of(column)[0], 0)

    def _member(self, column: _Column) -> DomainColumn:
        """A column of a domain with what it lacks in what edges say it refers to."""
        catalog, edges = self._catalog, self._best.get(column, ())
        parts = self._parts.get(column, ())
        if not edges:
            return DomainColumn(*column, parts=parts)
        number, transform = catalog.values.number(*column), edges[0].transform
        lacking = [_lacking(catalog.values, number, edge) for edge in edges]
        missing = reduce(np.intersect1d, (each for each, _ in lacking))
        count = round(len(missing) * lacking[0][1])
        examples: list[str] = catalog.records.columns["examples"][number].as_py() or []
        told = tuple(text for text in examples if _hash(text, transform) in missing)
        rate = edges[0].match_rate
        if edges[1:]:  # each is rounded
            rate = min(round(sum(edge.match_rate for edge in edges), 5), 1.0)
        return DomainColumn(*column, _key(edges[0]), transform, rate, count, told, parts)


def makes_domain(edge: JoinEdge) -> bool:
    """Whether an edge makes its columns one domain: those by several columns, on a condition, by
    names alone and with calendars do not."""
    alone = len(edge.columns) == 1 and not edge.when
    return alone and "names_only" not in edge.evidence and not edge.by_days


def _key(edge: JoinEdge) -> _Column:
    """The column that an edge of one column leads to."""
    return edge.right, edge.columns[0][1]


def _parts(catalog: CatalogReader, keys: Iterable[_Column]) -> dict[_Column, tuple[_Column, ...]]:
    """Of some keys those of tables in parts, each with the keys of all parts, the first part's
    first."""
    values = catalog.values
    numbers = {values.number(*key): key for key in keys}
    together: dict[_Column, tuple[_Column, ...]] = {}
    for parts in find_parts(catalog.records):
        for every in parts.keys:
            sets = [number for number in every if number in numbers]
            if len(sets) > 1 and merged(
                [values.hashes(n) for n in sets], [values.counts(n) for n in sets]
            ):
                columns = tuple(numbers[number] for number in sets)
                together |= dict.fromkeys(columns, columns)
    return together


def _lacking(values: StoredValues, number: int, edge: JoinEdge) -> tuple[Hashes, float]:
    """The hashes of a column's values that a key lacks, and how many values each stands for."""
    child = _in_form(values, number, edge.transform)
    key = _in_form(values, values.number(*_key(edge)), edge.transform)
    own, keys = values.compared(child, key)
    return own[~found_in(own, keys)], values.size(child) / max(len(own), 1)


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
