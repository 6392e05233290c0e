"""Finds data dictionaries among the tables themselves, and takes what they say as descriptions.

A dictionary is a table whose cells are names of tables or columns of the same root, with texts
beside them: SAP's DD02T, an AS/400 field reference, a codebook. Which tables may be one, the hashes
of their values tell; those are read once more from their source, in part if they are large.

Where a pile has no dictionary, `sap.toml` says what the tables of standard software hold: SAP's are
called `LFA1` and `EKKO`, and their columns `LIFNR` and `EBELN`, in every company that has it. A
table is taken for one of them by its name and by its columns, so that a table of another system
which happens to be called alike is not; of other tables with such columns, those that a company
made for itself, the columns are described alone.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.arrays import found_in
from dovetail.catalog.files import DAMAGE
from dovetail.catalog.generation import DATA_DICTIONARY, DICTIONARY_FILE, Part
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import Records
from dovetail.catalog.segment import Segment
from dovetail.catalog.values import StoredValues
from dovetail.domain import DICTIONARY, Description, Kind, TableId
from dovetail.errors import DamagedError, DovetailError
from dovetail.hashing import Hashes, hash_values
from dovetail.names.table_name import unqualified
from dovetail.offline.dictionary_rows import Names, Texts, folded, read_rows, with_elements
from dovetail.offline.plan import Plan
from dovetail.plugins import open_source
from dovetail.profile.batch import TableToRead, rescanned
from dovetail.text import sentence

# Raised whenever the same tables would give other texts.
_VERSION = 3
# Rows of a dictionary that are read, of those the rows that are kept, and its most columns.
_READ, _KEPT, _WIDEST = 2_000_000, 300_000, 120
# Names that cells must be: of tables and of columns at least, as a share of the distinct cells, or
# of the names that there are.
_TABLES, _COLUMNS, _SHARE = 3, 5, 0.5
# Tables up to which all are looked at, whatever changed; beyond, if so large a share did.
_SMALL, _MANY = 2_000, 0.1
# Names of a root that cells are compared with.
_NAMES = 20_000
_LONGEST, _LONGEST_GLOSS = 300, 120
# The columns that a table of a standard name must have to be the one, and the share of its columns
# that a table of any other name must have for these to be described.
_STANDARD, _STANDARD_SHARE = 2, 0.5


@dataclass(frozen=True, slots=True)
class Dictionary:
    """What dictionaries in the data say of tables, which tables these are (`read_from`), and a key
    of the tables that there were.

    `notices` say which tables were read as dictionaries.
    """

    descriptions: Mapping[TableId, Description] = field(default_factory=dict)
    read_from: frozenset[TableId] = frozenset()
    key: str = ""
    notices: tuple[str, ...] = ()

    @classmethod
    def read(cls, part: Part) -> Dictionary:
        """The dictionary of a generation."""
        try:
            stored = part.json(DICTIONARY_FILE)
            return cls(
                {
                    TableId(source, name): Description(str(text), DICTIONARY, dict(glosses))
                    for source, name, text, glosses in stored["tables"]
                },
                frozenset(TableId(source, name) for source, name in stored["read_from"]),
                part.key,
            )
        except DAMAGE as error:
            raise part.damaged(DICTIONARY_FILE, repr(error)) from None

    def write(self, folder: Path) -> None:
        """Write what dictionaries say into the folder of a part."""
        rows = [
            [table.source, table.name, each.text, dict(each.glosses)]
            for table, each in sorted(self.descriptions.items())
        ]
        read_from = [[table.source, table.name] for table in sorted(self.read_from)]
        document = {"read_from": read_from, "tables": rows}
        (folder / DICTIONARY_FILE).write_text(json.dumps(document, ensure_ascii=False), "utf-8")


def last_dictionary(current: CatalogReader | None) -> Dictionary:
    """What dictionaries said in the last generation; nothing where that is damaged."""
    part = current.parts.get(DATA_DICTIONARY) if current is not None else None
    with suppress(DamagedError):
        return Dictionary.read(part) if part is not None else Dictionary()
    return Dictionary()


def read_dictionary(
    records: Records,
    segments: Mapping[str, Segment],
    plan: Plan,
    before: Dictionary,
) -> Dictionary:
    """What dictionaries among some tables say of the others.

    Where the tables are those of `before`, or no table of a root can be read now, what was said of
    them before holds. Of a large catalog, only tables that changed since can become dictionaries.
    """
    listed = plan.listed
    key = hashlib.sha256(f"{_VERSION} {records.contents}".encode()).hexdigest()[:16]
    if key == before.key or not listed:
        return before
    changed = {table.id for table in plan.to_read}
    every = not before.key or len(records) <= max(_SMALL, len(changed) / _MANY)
    looked_at = None if every else changed | before.read_from
    descriptions: dict[TableId, Description] = {}
    read_from: set[TableId] = set()
    notices = []
    for root in _roots(records, segments):
        if not any(table in listed for table in root.ids):
            descriptions |= {t: each for t, each in before.descriptions.items() if t in root.ids}
            read_from |= before.read_from & root.ids.keys()
            continue
        for candidate in root.candidates(looked_at):
            texts = root.read(candidate, listed)
            if not texts:
                continue
            read_from.add(candidate.table)
            notices.append(_notice(candidate.table, texts))
            for table, description in _descriptions(texts, candidate.table):
                known = descriptions.get(table, Description("", DICTIONARY))
                descriptions[table] = Description(
                    known.text or description.text,
                    DICTIONARY,
                    {**description.glosses, **known.glosses},
                )
    return Dictionary(descriptions, frozenset(read_from), key, tuple(notices))


def _descriptions(texts: Texts, dictionary: TableId) -> Iterator[tuple[TableId, Description]]:
    for table in texts.tables.keys() | texts.columns.keys():
        if table != dictionary:
            glosses = {
                name: sentence(text, _LONGEST_GLOSS)
                for name, text in texts.columns.get(table, {}).items()
            }
            text = sentence(texts.tables.get(table, ""), _LONGEST)
            yield table, Description(text, DICTIONARY, glosses)


def _notice(table: TableId, texts: Texts) -> str:
    columns = sum(map(len, texts.columns.values()))
    parts = [
        f"{count:,} {noun}{'s' * (count != 1)}"
        for count, noun in ((len(texts.tables), "table"), (columns, "column"))
        if count
    ]
    return f"{table} was read as a dictionary: it describes {' and '.join(parts)}"


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A table that may be a dictionary, and its columns that hold names of tables and columns."""

    table: TableId
    table_column: str | None
    name_column: str | None


def _roots(records: Records, segments: Mapping[str, Segment]) -> Iterator[_Root]:
    by_root: dict[str, list[int]] = {}
    for row, root in enumerate(records.tables["root"].to_pylist()):
        by_root.setdefault(root, []).append(row)
    for rows in by_root.values():
        if len(rows) > 1:
            yield _Root(records if len(by_root) == 1 else records.take(rows), segments)


class _Root:
    """The tables of one root: what a user named as one source."""

    def __init__(self, records: Records, segments: Mapping[str, Segment]) -> None:
        self._records, self._values = records, StoredValues(records, segments)
        self.ids = {table: number for number, table in enumerate(records.ids)}
        self._columns: list[str] = records.columns["name"].to_pylist()
        self._kinds: list[str] = records.columns["kind"].to_pylist()
        self._distinct: list[int] = records.columns["distinct"].to_pylist()
        self._bounds: list[int] = records.bounds.tolist()

    @cached_property
    def _by_table(self) -> dict[TableId, list[str]]:
        return dict(zip(self._records.ids, self._records.by_table("name"), strict=True))

    @cached_property
    def _names(self) -> Names:
        return Names.of(self._by_table)

    @cached_property
    def _table_names(self) -> _Spelled:
        names = [table.name for table in self._records.ids]
        return _Spelled.of({*names, *map(unqualified, names)}, len(names))

    @cached_property
    def _column_names(self) -> _Spelled:
        names = set(self._columns)
        return _Spelled.of(names, len(names))

    def candidates(self, among: Collection[TableId] | None) -> Iterator[_Candidate]:
        """The tables that may be dictionaries, of all or some, by the hashes of their values."""
        rows = self._records.tables["rows"].to_pylist()
        for number, table in enumerate(self._records.ids):
            start, end = self._bounds[number], self._bounds[number + 1]
            if rows[number] < _TABLES or not 2 <= end - start <= _WIDEST:
                continue
            if among is not None and table not in among:
                continue
            texts = [at for at in range(start, end) if self._kinds[at] == Kind.TEXT.value]
            of_tables = self._most_named(texts, self._table_names, _TABLES)
            rest = [at for at in texts if at != of_tables]
            of_columns = self._most_named(rest, self._column_names, _COLUMNS)
            if of_tables is None and of_columns is not None:
                # Beside names of columns even one table's is no chance: a system may have few.
                rest = [at for at in texts if at != of_columns]
                of_tables = self._most_named(rest, self._table_names, 1)
            if of_tables is not None or of_columns is not None:
                yield _Candidate(
                    table,
                    None if of_tables is None else self._columns[of_tables],
                    None if of_columns is None else self._columns[of_columns],
                )

    def _most_named(self, columns: Sequence[int], names: _Spelled, fewest: int) -> int | None:
        """The column whose values are names most often; None where none has enough of them."""
        best = (0, 0)
        for at in columns:
            distinct = self._distinct[at]
            if distinct < fewest:
                continue
            values = self._values.hashes(at)
            hits = int(found_in(*sorted((values, names.hashes), key=len)).sum())
            if hits >= fewest and hits >= _SHARE * min(distinct, names.count):
                best = max(best, (hits, -at))
        return -best[1] if best[0] else None

    def read(self, candidate: _Candidate, listed: Mapping[TableId, TableToRead]) -> Texts:
        """What a table says of others, if it is a dictionary and can be read."""
        cells = self._cells(candidate, listed)
        if not cells:
            return Texts()
        roles = candidate.table_column, candidate.name_column
        texts = read_rows(cells, *roles, self._names, candidate.table.source)
        if texts.columns or candidate.name_column is None:
            return texts
        for column in sorted(cells.keys() - set(roles)):
            for partner in self._partners(candidate.table, column):
                wanted = frozenset(map(folded, cells[column]))
                elements = _scan(listed.get(partner), self._text_columns(partner), column, wanted)
                joined = with_elements(elements, cells, column)
                more = read_rows(joined, *roles, self._names, candidate.table.source)
                if more.columns:
                    return Texts(texts.tables, more.columns)
        return texts

    def _partners(self, table: TableId, column: str) -> list[TableId]:
        """Other tables of the source that have a column of the same name, and a few more."""
        return [
            other
            for other, columns in self._by_table.items()
            if other != table
            and other.source == table.source
            and column in columns
            and 2 <= len(self._text_columns(other)) <= _WIDEST
        ]

    def _text_columns(self, table: TableId) -> list[str]:
        number = self.ids[table]
        span = range(self._bounds[number], self._bounds[number + 1])
        return [self._columns[at] for at in span if self._kinds[at] == Kind.TEXT.value]

    def _cells(
        self, candidate: _Candidate, listed: Mapping[TableId, TableToRead]
    ) -> dict[str, list[str]]:
        """The text columns of a dictionary, of the rows that name a table or column there is."""
        if candidate.table_column is not None:
            by, known = candidate.table_column, frozenset(self._names.tables)
        else:
            by, known = str(candidate.name_column), frozenset(map(folded, self._columns))
        return _scan(listed.get(candidate.table), self._text_columns(candidate.table), by, known)


@dataclass(frozen=True, slots=True)
class _Spelled:
    """The hashes of names as cells may spell them, and of how many things they are the names."""

    hashes: Hashes
    count: int

    @classmethod
    def of(cls, names: set[str], count: int) -> _Spelled:
        """Names of so many things; of very many, some."""
        step = 1 + len(names) // _NAMES
        some = sorted(names)[::step]
        spelled = sorted({form for name in some for form in (name, name.upper(), name.lower())})
        return cls(np.unique(hash_values(pa.array(spelled, pa.string()))), -(-count // step))


def _scan(
    table: TableToRead | None, columns: Sequence[str], by: str, known: frozenset[str]
) -> dict[str, list[str]]:
    """Columns of a table as text, of the rows whose cell in `by` is known; empty where the table
    cannot be read, or has no row of use."""
    if table is None:
        return {}
    try:
        return rescanned(partial(_scanned, table, columns, by, known))
    except (DovetailError, OSError, pa.ArrowException):
        return {}


def _scanned(
    table: TableToRead, columns: Sequence[str], by: str, known: frozenset[str]
) -> dict[str, list[str]]:
    cells: dict[str, list[str]] = {name: [] for name in columns}
    with closing(open_source(table.spec)) as source:
        scan = source.scan(table.listing)
        index = {column.name: at for at, column in enumerate(scan.columns)}
        read = 0
        for batch in scan.batches:
            texts = {name: _as_text(batch.column(index[name])) for name in columns}
            rows = [at for at, cell in enumerate(texts[by]) if folded(cell) in known]
            for name, column in cells.items():
                column += [texts[name][at] for at in rows]
            read += batch.num_rows
            if read >= _READ or len(cells[by]) >= _KEPT:
                break
    return cells if cells[by] else {}


def _as_text(array: pa.Array) -> list[str]:
    return [cell or "" for cell in pc.cast(array, pa.large_string(), safe=False).to_pylist()]


@cache
def standard_names() -> dict[str, dict[str, str]]:
    """What the `tables` and the `fields` of standard software are called, and what they hold."""
    return tomllib.loads((files("dovetail.offline") / "sap.toml").read_text("utf-8"))


def standard_descriptions(records: Records) -> dict[TableId, Description]:
    """The tables and columns that standard software names, described."""
    described = {}
    for table, columns in zip(records.ids, records.by_table("name"), strict=True):
        if description := described_as(table.name, columns):
            described[table] = description
    return described


def described_as(name: str, columns: list[str]) -> Description:
    """What a table of this name with these columns holds, as far as it is standard software's.

    >>> described_as("sap.T001", ["BUKRS", "BUTXT"]).text
    'companies, company codes, legal entities'
    >>> bool(described_as("T001", ["id", "label"]))
    False
    """
    names = standard_names()["fields"]
    glosses = {column: names[column.upper()] for column in columns if column.upper() in names}
    text = standard_names()["tables"].get(unqualified(name).upper(), "")
    if len(glosses) < max(_STANDARD, 0 if text else _STANDARD_SHARE * len(columns)):
        return Description("", DICTIONARY)
    return Description(text, DICTIONARY, glosses)
