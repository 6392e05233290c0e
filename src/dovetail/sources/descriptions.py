"""What people wrote of tables beside them: a `descriptions.json`, and the metadata of Parquet.

The file maps names of tables to what is said of them: a text, or an object with a `description` of
the table and those of its `columns`, by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.errors import SourceError
from dovetail.ports import Declaration, Listing
from dovetail.sources.declarations import trimmed

FILE = "descriptions.json"
# Bytes of such a file that are read; one that is larger describes something else.
_LARGEST = 1 << 28
# Keys that a description goes by, in the file and in the metadata of Parquet.
_WORDS = ("description", "comment")
_SPARK = b"org.apache.spark.sql.parquet.row.metadata"


def descriptions_file(location: str) -> Path | None:
    """The file of descriptions that belongs to a path: in the folder itself, or beside the path."""
    path = Path(location)
    folders = (path, path.parent) if path.is_dir() else (path.parent,)
    return next((file for folder in folders if (file := folder / FILE).is_file()), None)


def read_descriptions(file: Path) -> dict[str, Declaration]:
    """What a file says of tables, by the name it calls each; what is no description is left out."""
    try:
        if file.stat().st_size > _LARGEST:
            raise SourceError(f"{file} is larger than {_LARGEST >> 20} MB; split it up")
        found = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{file} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise SourceError(f"{file} is no object of tables by name")
    return {name: said for name, entry in found.items() if (said := _entry(entry)) is not None}


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
    tables: Sequence[Listing], label: str, said: Mapping[str, Declaration]
) -> Iterator[tuple[str, Declaration]]:
    """What is said of tables, by their own names: `source::name`, the name, or its last part."""
    folded = {name.casefold(): about for name, about in said.items()}
    for table in tables:
        last = table.name.replace("\\", "/").rpartition("/")[2]
        for name in (f"{label}::{table.name}", table.name, last):
            if about := said.get(name) or folded.get(name.casefold()):
                yield table.name, about
                break


def merged(own: Declaration, beside: Declaration) -> Declaration:
    """A declaration with what is written beside the source, which counts before its own word."""
    return Declaration(
        own.keys, beside.comment or own.comment, {**own.column_comments, **beside.column_comments}
    )


def parquet_comments(file: str) -> Declaration:
    """The descriptions in the metadata of a Parquet file: of Arrow's fields, or as Spark writes."""
    try:
        schema = pq.read_schema(file)
    except (OSError, UnicodeError, pa.ArrowException):
        return Declaration()  # whoever reads its rows says what is wrong with it
    about = schema.metadata or {}
    columns = _spark_comments(about.get(_SPARK, b""))
    for field in schema:
        columns[field.name] = _said(field.metadata or {}) or columns.get(field.name, "")
    return Declaration(
        comment=_said(about), column_comments={name: text for name, text in columns.items() if text}
    )


def _said(metadata: Mapping[bytes, bytes]) -> str:
    for word in _WORDS:
        if text := metadata.get(word.encode()):
            return trimmed(text.decode(errors="replace"))
    return ""


def _spark_comments(text: bytes) -> dict[str, str]:
    try:
        fields = json.loads(text)["fields"] if text else []
        said = {field["name"]: field.get("metadata", {}).get("comment") for field in fields}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return {}
    return {name: trimmed(text) for name, text in said.items() if _is_text(text)}
