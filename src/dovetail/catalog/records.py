"""Records: what the catalog stores of tables and columns, as rows of two Arrow tables."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.arrays import spans
from dovetail.catalog.generation import Part
from dovetail.domain import Column, ColumnProfile, DeclaredKeys, Estimate, Kind, Table, TableId
from dovetail.domain.tables import masked_kinds
from dovetail.hashing import as_numpy
from dovetail.ports import Json

TABLES = pa.schema(
    [
        ("source", pa.string()),
        ("name", pa.string()),
        ("root", pa.string()),
        ("rows", pa.int64()),
        ("digest", pa.string()),
        ("token", pa.string()),
        ("segment", pa.string()),
        ("columns", pa.int32()),
        ("sample", pa.list_(pa.list_(pa.string()))),
        ("keys", pa.string()),
        ("comment", pa.string()),
        ("source_keys", pa.string()),
        ("source_comment", pa.string()),
        ("estimated", pa.string()),
    ]
)
COLUMNS = pa.schema(
    [
        ("name", pa.string()),
        ("type", pa.string()),
        ("kind", pa.string()),
        ("nulls", pa.int64()),
        ("distinct", pa.int64()),
        ("unique", pa.bool_()),
        ("minimum", pa.string()),
        ("maximum", pa.string()),
        ("min_length", pa.int64()),
        ("max_length", pa.int64()),
        ("examples", pa.list_(pa.string())),
        ("kept", pa.int64()),
        ("hashes_at", pa.int64()),
        ("counts_at", pa.int64()),
        ("phrases_at", pa.int64()),
        ("phrases", pa.int64()),
        ("comment", pa.string()),
        ("source_comment", pa.string()),
        (
            "views",
            pa.list_(
                pa.struct(
                    [
                        ("name", pa.string()),
                        ("maximum", pa.int64()),
                        ("distinct", pa.int64()),
                        ("kept", pa.int64()),
                        ("hashes_at", pa.int64()),
                        ("counts_at", pa.int64()),
                    ]
                )
            ),
        ),
    ]
)
# What is stored of a column's values under a transform: the name of that, the largest number among
# them, how many there are and are kept, and where they begin.
FORM = tuple(field.name for field in COLUMNS.field("views").type.value_type)
TABLES_FILE, COLUMNS_FILE = "tables.arrow", "columns.arrow"
_ABOUT_NOTHING = ColumnProfile(Kind.TEXT, 0, 0, False, None, None, None, None, ())
_PROFILE = [name for name in COLUMNS.names if name in ColumnProfile.__dataclass_fields__]


def numbers(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """A column of whole numbers without nulls as a NumPy array."""
    # One chunk is taken as it is, so that what is mapped stays mapped.
    return as_numpy(column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())


@dataclass(frozen=True, slots=True)
class StoredForm:
    """A column, numbered through the tables in order, under a transform: where its values stand.

    `maximum` says how far its numbers go but for a few, where the transform makes numbers.
    `counts_at` is None where every value stands in one row.
    """

    column: int
    transform: str
    maximum: int
    distinct: int
    kept: int
    hashes_at: int
    counts_at: int | None


@dataclass(frozen=True, slots=True)
class TableRecord:
    """A table with what the catalog stores of it besides: its root, its token, and for each column
    where its arrays begin in the segment, by the names that `COLUMNS` has for that."""

    table: Table
    root: str
    token: str
    placed: Sequence[Json]


@dataclass(frozen=True)
class Records:
    """Records of tables, and of their columns in the order of the tables."""

    tables: pa.Table
    columns: pa.Table

    @classmethod
    def read(cls, part: Part) -> Records:
        """The records of a generation, mapped: nothing of them is in memory until it is read."""
        tables, columns = _mapped(part, TABLES_FILE, TABLES), _mapped(part, COLUMNS_FILE, COLUMNS)
        part.release()  # what was checked need not stay in memory
        return cls(tables, columns)

    def write(self, folder: Path) -> None:
        """Write the records into the folder of a part."""
        for file, table in ((TABLES_FILE, self.tables), (COLUMNS_FILE, self.columns)):
            rows = table.combine_chunks()
            with (folder / file).open("wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
                writer.write_table(rows, max_chunksize=max(len(rows), 1))

    def equals(self, other: Records) -> bool:
        """Whether other records are the same, to the last field."""
        return bool(self.tables.equals(other.tables) and self.columns.equals(other.columns))

    @classmethod
    def none(cls) -> Records:
        return cls(TABLES.empty_table(), COLUMNS.empty_table())

    @classmethod
    def concat(cls, parts: Sequence[Records]) -> Records:
        if not parts:
            return cls.none()
        tables = pa.concat_tables([part.tables for part in parts])
        return cls(tables, pa.concat_tables([part.columns for part in parts]))

    def __len__(self) -> int:
        return int(self.tables.num_rows)

    @cached_property
    def ids(self) -> Sequence[TableId]:
        """The ids of the tables."""
        return list(map(TableId, *(self.tables[name].to_pylist() for name in ("source", "name"))))

    @cached_property
    def contents(self) -> str:
        """A digest of which tables there are, and of what each holds."""
        return _digest(*(self.tables[name] for name in ("source", "name", "digest")))

    @cached_property
    def keys_digest(self) -> str:
        """A digest of the keys that are declared; empty if there are none."""
        return _digest(self.tables["keys"])

    @cached_property
    def comments_digest(self) -> str:
        """A digest of the comments on tables and columns; empty if there are none."""
        return _digest(self.tables["comment"], self.columns["comment"])

    @cached_property
    def bounds(self) -> npt.NDArray[np.int64]:
        """Where each table's columns begin, and at the end where the last one's end."""
        widths = numbers(self.tables["columns"])
        return np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])

    def by_table(self, field: str) -> list[list[Any]]:
        """What the columns have in a field, a list for each table."""
        values = self.columns[field].to_pylist()
        return [values[start:end] for start, end in pairwise(self.bounds.tolist())]

    def lie_in(self, lengths: Mapping[str, tuple[int, int, int]]) -> bool:
        """Whether each column is of a table, and what it places lies in the arrays of its segment:
        the lengths of those of hashes, counts and phrases are given by the segment's name."""
        widths, total = numbers(self.tables["columns"]), self.columns.num_rows
        listed = self.columns["views"].combine_chunks()
        sound = ((widths >= 0) & (widths <= total)).all() and not listed.null_count
        if not sound or self.bounds[-1] != total:
            return False
        names = self.tables["segment"].to_pylist()
        room = np.array([lengths[name] for name in names], dtype=np.int64).reshape(-1, 3)
        room = np.repeat(room, widths, axis=0).T
        ends = numbers(pa.chunked_array([listed.offsets]))
        every = listed.values.slice(ends[0], ends[-1] - ends[0])
        placed = ("kept", "hashes_at", "counts_at")
        forms = pa.Table.from_arrays([every.field(name) for name in placed], names=placed)
        of_form = np.repeat(np.arange(total), np.diff(ends))
        columns = self.columns
        return (
            not every.null_count
            and _values_lie_in(columns, room)
            and _values_lie_in(forms, room[:, of_form])
            and _lie_in(numbers(columns["phrases_at"]), numbers(columns["phrases"]), room[2])
        )

    def take(self, rows: Sequence[int]) -> Records:
        """Some of the tables, in the order asked for."""
        chosen = np.asarray(rows, dtype=np.int64)
        starts, ends = self.bounds[chosen], self.bounds[chosen + 1]
        columns = pa.array(spans(starts, ends))
        return Records(self.tables.take(pa.array(chosen)), self.columns.take(columns))

    def sorted(self) -> Records:
        """In the order of the ids."""
        ids = self.ids
        return self.take(sorted(range(len(ids)), key=ids.__getitem__))

    def with_column(self, name: str, values: Sequence[Any]) -> Records:
        """The same records with other values in one field of the tables."""
        return Records(_replaced(self.tables, TABLES, name, values), self.columns)

    def with_column_comments(self, field: str, comments: Sequence[str]) -> Records:
        """The same records with other comments on the columns."""
        return Records(self.tables, _replaced(self.columns, COLUMNS, field, comments))

    def stored_forms(self) -> list[StoredForm]:
        """The normal forms of columns: their values under the transforms that apply to them."""
        listed = self.columns["views"].combine_chunks()
        widths = np.diff(numbers(pa.chunked_array([listed.offsets])))
        every = listed.flatten()
        columns = np.repeat(np.arange(len(widths)), widths).tolist()
        return list(map(StoredForm, columns, *(every.field(name).to_pylist() for name in FORM)))

    def masked(self) -> Counter[str]:
        """How many columns have something masked in what is shown of them, by what it is."""
        kinds: list[set[str]] = [set() for _ in range(self.columns.num_rows)]
        shown = (self.columns[name].to_pylist() for name in ("minimum", "maximum", "examples"))
        for at, (low, high, examples) in enumerate(zip(*shown, strict=True)):
            kinds[at] |= masked_kinds((low, high, *(examples or ())))
        for first, sample in zip(
            self.bounds.tolist(), self.tables["sample"].to_pylist(), strict=False
        ):
            for at, cells in enumerate(zip(*(sample or ()), strict=True), start=first):
                kinds[at] |= masked_kinds(cells)
        return Counter(kind for each in kinds for kind in each)

    def named_tables(self) -> list[Table]:
        """All tables by their names, comments and rows alone: whole ones of very many columns take
        gigabytes."""
        names, comments = (_texts(self.columns[field]) for field in ("name", "comment"))
        columns = [
            Column(name, "", _ABOUT_NOTHING, comment)
            for name, comment in zip(names, comments, strict=True)
        ]
        about = (self.tables[field].to_pylist() for field in ("source", "name", "comment", "rows"))
        ends = self.bounds.tolist()
        return [
            Table(TableId(source, name), tuple(columns[start:end]), rows, (), "", comment=comment)
            for source, name, comment, rows, start, end in zip(
                *about, ends[:-1], ends[1:], strict=True
            )
        ]

    def domain_tables(self, start: int, stop: int) -> list[Table]:
        """Some of the records as tables of the domain."""
        columns = self.columns.slice(
            int(self.bounds[start]), int(self.bounds[stop] - self.bounds[start])
        ).to_pylist()
        tables = []
        at = 0
        for row in self.tables.slice(start, stop - start).to_pylist():
            tables.append(_table_from(row, columns[at : at + row["columns"]]))
            at += row["columns"]
        return tables


def _values_lie_in(placed: pa.Table, room: npt.NDArray[np.int64]) -> bool:
    """Whether the hashes and counts of columns, or of their forms, lie in arrays so long."""
    counts = placed["counts_at"].combine_chunks()
    counted = _is_valid(counts)
    # Where there are no counts, the hashes alone are read.
    length = np.where(counted, numbers(placed["kept"]), 0)
    first = np.where(counted, numbers(placed["counts_at"]), 0)
    return not (placed["hashes_at"].null_count or placed["kept"].null_count) and (
        _lie_in(numbers(placed["hashes_at"]), numbers(placed["kept"]), room[0])
        and _lie_in(first, length, room[1])
    )


def _is_valid(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Where an array has no null; Arrow's own answer loads its functions, which takes long."""
    bitmap = array.buffers()[0]
    if bitmap is None:
        return np.ones(len(array), dtype=np.bool_)
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(np.bool_)


def _lie_in(
    first: npt.NDArray[np.int64], size: npt.NDArray[np.int64], room: npt.NDArray[np.int64]
) -> bool:
    return bool(((first >= 0) & (size >= 0) & (size <= room) & (first <= room - size)).all())


def _replaced(table: pa.Table, schema: pa.Schema, name: str, values: Sequence[Any]) -> pa.Table:
    field = schema.field(name)
    given = values if isinstance(values, pa.ChunkedArray) else pa.array(values, field.type)
    return table.set_column(schema.get_field_index(name), field, given)


def _digest(*columns: pa.ChunkedArray) -> str:
    """A digest of columns of texts, in order; empty if all of the texts are."""
    listed = [column.to_pylist() for column in columns]
    if not any(any(texts) for texts in listed):
        return ""
    digest = hashlib.sha256()
    for texts in listed:
        digest.update("".join(f"{text}\0" for text in texts).encode())
    return digest.hexdigest()[:16]


def _texts(column: pa.ChunkedArray) -> list[str]:
    """The texts of a column; equal ones are one object."""
    seen: dict[str, str] = {}
    return [seen.setdefault(text, text) for chunk in column.chunks for text in chunk.to_pylist()]


def _mapped(part: Part, file: str, schema: pa.Schema) -> pa.Table:
    """The table in an Arrow file, every offset in it checked."""
    try:
        table = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(part.content(file)))).read_all()
        table.validate(full=True)
    except pa.ArrowException as error:
        raise part.damaged(file, " ".join(str(error).split())) from None
    if not table.schema.equals(schema):
        raise part.damaged(file, "it holds other columns than records have")
    return table


def to_records(records: Sequence[TableRecord]) -> Records:
    """The records of tables as Arrow rows; the name of their segment is still missing."""
    tables = [
        {
            **dict.fromkeys(TABLES.names, ""),
            "source": record.table.id.source,
            "name": record.table.id.name,
            "root": record.root,
            "rows": record.table.rows,
            "digest": record.table.digest,
            "token": record.token,
            "columns": len(record.table.columns),
            "sample": record.table.sample,
            "estimated": record.table.estimate.to_text() if record.table.estimate else "",
        }
        for record in records
    ]
    columns = [
        {
            **{name: getattr(column.profile, name) for name in _PROFILE},
            **placed,
            "name": column.name,
            "type": column.type,
            "comment": "",
            "source_comment": "",
        }
        for record in records
        for column, placed in zip(record.table.columns, record.placed, strict=True)
    ]
    return Records(pa.Table.from_pylist(tables, TABLES), pa.Table.from_pylist(columns, COLUMNS))


def _table_from(row: dict[str, Any], columns: Sequence[dict[str, Any]]) -> Table:
    return Table(
        id=TableId(row["source"], row["name"]),
        columns=tuple(_column_from(column) for column in columns),
        rows=row["rows"],
        sample=tuple(tuple(cells) for cells in row["sample"]),
        digest=row["digest"],
        keys=DeclaredKeys.from_text(row["keys"]),
        comment=row["comment"],
        estimate=Estimate.from_text(row["estimated"]) if row["estimated"] else None,
    )


def _column_from(row: dict[str, Any]) -> Column:
    values = {name: row[name] for name in _PROFILE}
    values["kind"] = Kind(values["kind"])
    values["examples"] = tuple(values["examples"])
    return Column(row["name"], row["type"], ColumnProfile(**values), row["comment"])
