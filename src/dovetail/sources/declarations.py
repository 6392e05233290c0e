"""Tables of servers and database files: how they are called, and what people declared of them.

Each source asks its own system tables; the answer always has the columns of `Row`. Beside tables
there may be a `descriptions.json`, which maps names of tables to what is said of them: a text, or
an object with a `description` of the table and those of its `columns`, by name. Files of Parquet
describe their columns in their metadata.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.atomic import open_regular
from dovetail.domain import DeclaredForeignKey, DeclaredKeys
from dovetail.domain.sql import identifier
from dovetail.errors import SourceError
from dovetail.ports import Declaration, Listing
from dovetail.text import cut

PRIMARY, UNIQUE, FOREIGN, COMMENT = "p", "u", "f", "c"
# Characters of a comment that are kept; a manual pasted into one is not what a table is.
LONGEST_COMMENT = 1000

# A schema, and the name of a table in it.
TableName = tuple[str, str]

# What DuckDB is asked for the keys and comments of a database, as `Row` has them; a foreign key
# stays within its schema.
DUCKDB_DECLARED = f"""
SELECT schema_name, table_name, kind, text, part, columns[part], NULL, to_table,
       to_columns[part], NULL
FROM (
  SELECT schema_name, table_name, constraint_text AS text, constraint_column_names AS columns,
         referenced_table AS to_table, referenced_column_names AS to_columns,
         CASE constraint_type WHEN 'PRIMARY KEY' THEN 'p' WHEN 'UNIQUE' THEN 'u'
                              ELSE 'f' END AS kind,
         unnest(range(1, len(constraint_column_names) + 1)) AS part
  FROM duckdb_constraints() WHERE database_name = {{database}}
    AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
)
UNION ALL
SELECT schema_name, name, 'c', NULL, NULL, col, NULL, NULL, NULL,
       left(comment, {4 * LONGEST_COMMENT})
FROM (
  SELECT database_name, schema_name, table_name AS name, NULL AS col, comment FROM duckdb_tables()
  UNION ALL
  SELECT database_name, schema_name, view_name, NULL, comment FROM duckdb_views()
  UNION ALL
  SELECT database_name, schema_name, table_name, column_name, comment FROM duckdb_columns()
) WHERE database_name = {{database}} AND comment <> ''
"""
FILE = "descriptions.json"
# Bytes of such a file that are read; one that is larger describes something else.
_LARGEST = 1 << 28
# Keys that a description goes by, in the file and in the metadata of Parquet.
_WORDS = ("description", "comment")
_SPARK = b"org.apache.spark.sql.parquet.row.metadata"


@dataclass(frozen=True, slots=True)
class Row:
    """A column of a declared key, or a comment (`text`) on a table or on its `column`.

    `constraint` tells the keys of a table apart, `position` orders the columns of one. A column
    that a foreign key refers to may be left out, which means the primary key of that table.
    """

    table: TableName
    kind: str
    constraint: str = ""
    position: int = 0
    column: str = ""
    key_table: TableName | None = None
    key_column: str = ""
    text: str = ""

    @classmethod
    def of(cls, answer: Sequence[Any]) -> Row:
        """A row of: schema, table, kind, constraint, position, column, the schema, the table and
        the column referred to, text; with NULL for what does not apply."""
        schema, table, kind, constraint, position, column, to_schema, to, to_column, text = answer
        return cls(
            (schema, table),
            kind,
            str(constraint or ""),
            int(position or 0),
            column or "",
            None if to is None else (to_schema or schema, to),
            to_column or "",
            text or "",
        )


@dataclass(slots=True)
class _Declared:
    """What the rows of one table say, as it comes in."""

    keys: dict[tuple[str, str], list[Row]] = field(default_factory=dict)
    comment: str = ""
    column_comments: dict[str, str] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        if row.kind != COMMENT:
            self.keys.setdefault((row.kind, row.constraint), []).append(row)
        elif row.column:
            self.column_comments[row.column] = trimmed(row.text)
        else:
            self.comment = trimmed(row.text)

    def columns(self, kind: str) -> Iterator[tuple[list[Row], tuple[str, ...]]]:
        """The keys of a kind, each with its columns, in the order of their columns' names."""
        keys = [
            (rows, tuple(row.column for row in rows))
            for (each, _), listed in self.keys.items()
            if each == kind and (rows := sorted(listed, key=lambda row: row.position))
        ]
        # An index over an expression has a part that is no column, and says nothing of columns.
        yield from sorted((key for key in keys if all(key[1])), key=lambda key: key[1])


def declarations(tables: Iterable[Listing], rows: Iterable[Row]) -> dict[str, Declaration]:
    """The declarations of some tables; what is said of others is left out."""
    names = {qualified_name(table): table.name for table in tables}
    by_table: dict[TableName, _Declared] = {}
    for row in rows:
        if row.table in names:
            by_table.setdefault(row.table, _Declared()).add(row)
    primary = {table: _primary(of_table) for table, of_table in by_table.items()}
    return {
        names[table]: Declaration(
            DeclaredKeys(
                primary[table],
                tuple(dict.fromkeys(columns for _, columns in of_table.columns(UNIQUE))),
                tuple(dict.fromkeys(_foreign(of_table, names, primary))),
            ),
            of_table.comment,
            of_table.column_comments,
        )
        for table, of_table in by_table.items()
    }


def _primary(of_table: _Declared) -> tuple[str, ...]:
    return next((columns for _, columns in of_table.columns(PRIMARY)), ())


def _foreign(
    own: _Declared, names: Mapping[TableName, str], primary: Mapping[TableName, tuple[str, ...]]
) -> Iterator[DeclaredForeignKey]:
    for rows, columns in own.columns(FOREIGN):
        table = rows[0].key_table
        if table is None:
            continue
        key = tuple(row.key_column for row in rows)
        key = key if all(key) else primary.get(table, ())
        if len(key) == len(columns):
            yield DeclaredForeignKey(columns, names.get(table, ".".join(filter(None, table))), key)


def trimmed(comment: str) -> str:
    """A comment on one line, cut where it goes on for too long.

    >>> trimmed("  one\\n  two "), len(trimmed("x" * 5_000))
    ('one two', 1000)
    """
    text = " ".join(comment[: 4 * LONGEST_COMMENT].split())
    return cut(text, LONGEST_COMMENT)


def listings(
    tables: Sequence[tuple[TableName, int]], default_schema: str, *, apart: bool = False
) -> list[Listing]:
    """Tables of a database, each with its weight: the place of one is its schema and name there."""
    named = zip(names([key for key, _ in tables], default_schema), tables, strict=True)
    return [Listing(name, json.dumps(key), weight, apart) for name, (key, weight) in named]


def names(tables: Sequence[TableName], default_schema: str) -> list[str]:
    """What to call tables, given their schemas and names; the schema `default_schema` goes unsaid.

    A dot can make two of them sound alike: then both are quoted in full.

    >>> names([("public", "a"), ("b", "c"), ("public", "b.c")], "public")
    ['a', '"b"."c"', '"public"."b.c"']
    """
    brief = [table if schema == default_schema else f"{schema}.{table}" for schema, table in tables]
    times = Counter(brief)
    return [
        name if times[name] == 1 else ".".join(map(identifier, table))
        for name, table in zip(brief, tables, strict=True)
    ]


def qualified_name(table: Listing) -> TableName:
    """The schema and name that a table has in its database."""
    schema, name = json.loads(table.place)
    return schema, name


def descriptions_file(location: str) -> Path | None:
    """The file of descriptions that belongs to a path: in the folder itself, or beside the path."""
    path = Path(location)
    folders = (path, path.parent) if path.is_dir() else (path.parent,)
    return next((file for folder in folders if (file := folder / FILE).is_file()), None)


def read_descriptions(file: Path) -> dict[str, Declaration]:
    """What a file says of tables, by the name it calls each; what is no description is left out."""
    try:
        with open_regular(file) as stream:
            content = stream.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise SourceError(f"{file} is larger than {_LARGEST >> 20} MB; split it up")
        entries = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{file} is no JSON: {error}") from None
    if not isinstance(entries, dict):
        raise SourceError(f"{file} is no object of tables by name")
    return {
        name: declaration
        for name, entry in entries.items()
        if (declaration := _entry(entry)) is not None
    }


def is_descriptions(path: str) -> bool:
    """Whether a file holds descriptions of tables, so that it is none itself."""
    if Path(path).name != FILE:
        return False
    try:
        return bool(read_descriptions(Path(path)))
    except (OSError, SourceError):
        return False


def _entry(entry: Any) -> Declaration | None:
    if isinstance(entry, str):
        return Declaration(comment=trimmed(entry))
    if not isinstance(entry, dict):
        return None
    columns = entry.get("columns")
    named = columns.items() if isinstance(columns, dict) else ()
    return Declaration(
        comment=next((trimmed(entry[word]) for word in _WORDS if _is_text(entry.get(word))), ""),
        column_comments={name: trimmed(text) for name, text in named if _is_text(text)},
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def described(
    tables: Sequence[Listing], label: str, descriptions: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    """The tables that are described, each with what it is called there: `source::name`, the name,
    or its last part."""
    folded = {name.casefold(): name for name in descriptions}
    for table in tables:
        last = table.name.replace("\\", "/").rpartition("/")[2]
        for name in (f"{label}::{table.name}", table.name, last):
            called = name if name in descriptions else folded.get(name.casefold())
            if called is not None:
                yield table.name, called
                break


def merged(own: Declaration, described: Declaration) -> Declaration:
    """A declaration with what is written beside the source, which counts before its own word."""
    return Declaration(
        own.keys,
        described.comment or own.comment,
        {**own.column_comments, **described.column_comments},
    )


def parquet_comments(file: str) -> Declaration:
    """The descriptions in the metadata of a Parquet file: of Arrow's fields, or as Spark writes."""
    try:
        open_regular(file).close()
        schema = pq.read_schema(file)
    except (OSError, UnicodeError, pa.ArrowException):
        return Declaration()  # whoever reads its rows says what is wrong with it
    about = schema.metadata or {}
    columns = _spark_comments(about.get(_SPARK, b""))
    for column in schema:
        columns[column.name] = _description(column.metadata or {}) or columns.get(column.name, "")
    return Declaration(
        comment=_description(about),
        column_comments={name: text for name, text in columns.items() if text},
    )


def _description(metadata: Mapping[bytes, bytes]) -> str:
    for word in _WORDS:
        if text := metadata.get(word.encode()):
            return trimmed(text.decode(errors="replace"))
    return ""


def _spark_comments(text: bytes) -> dict[str, str]:
    try:
        fields = json.loads(text)["fields"] if text else []
        comments = {field["name"]: field.get("metadata", {}).get("comment") for field in fields}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return {}
    return {name: trimmed(text) for name, text in comments.items() if _is_text(text)}
