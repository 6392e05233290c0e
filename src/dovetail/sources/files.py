"""CSV, TSV, Parquet and JSON files: one file is one table, and so is a folder of parts.

CSV is read as text throughout: whether a column holds numbers is decided by all of its values,
so nothing is lost to a guess from the first rows (leading zeros, a late exception).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import duckdb

from dovetail.errors import RescanError, SourceError
from dovetail.ports import Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck
from dovetail.sources.stamp import fingerprint_files
from dovetail.sources.walk import parts, table_format, table_suffix, walk

_DELIMITERS = ",;\t|"
_FIRST_LOOK = 1 << 16


class FilesSource:
    """The table files of one path, folder or glob."""

    def __init__(self, spec: SourceSpec) -> None:
        self._spec = spec
        self._encodings: dict[str, str] = {}

    def tables(self) -> Sequence[Listing]:
        """Names are paths below the source without their suffix, where that is enough."""
        found = [file for file in walk(self._spec.location) if not file.is_database]
        brief = [file.below.removesuffix(table_suffix(file.below)) for file in found]
        times = Counter(brief)
        return [
            Listing(short if times[short] == 1 else file.below, file.path, _weight(file.path))
            for short, file in zip(brief, found, strict=True)
        ]

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        return fingerprint_files(parts(table.place), previous)

    def scan(self, table: Listing) -> Scan:
        kind = table_format(table.place)
        explain = partial(self._explained, table.name)
        if kind in ("csv", "tsv"):
            with explain():
                relation = _csv(table.place, self._encodings.get(table.name))
            return duck.scan(relation, explain, untyped=True)
        files = parts(table.place)
        options = ", sample_size = -1" if kind == "json" else ""
        options += ", union_by_name = true" if len(files) > 1 else ""
        return duck.scan(f"read_{kind}({_file_list(files)}{options})", explain)

    def close(self) -> None:
        """Nothing is held open between scans."""

    @contextmanager
    def _explained(self, table: str) -> Iterator[None]:
        try:
            yield
        except duckdb.InvalidInputException as error:
            reason = str(error)
            if "not utf-8 encoded" in reason and table not in self._encodings:
                self._encodings[table] = "latin-1"
                raise RescanError("not UTF-8: read as Latin-1") from None
            raise SourceError(_csv_complaint(reason)) from None
        except duck.ENGINE_ERRORS as error:
            raise SourceError(duck.one_line(str(error))) from None


def _weight(path: str) -> int:
    return sum(os.stat(part).st_size for part in parts(path))


def _file_list(files: list[str]) -> str:
    """The files as DuckDB wants them, the wildcards in their names taken literally."""
    exact = ["".join(f"[{c}]" if c in "*?[" else c for c in file) for file in files]
    return "[" + ", ".join(map(duck.literal, exact)) + "]"


def _csv(path: str, encoding: str | None) -> str:
    """A read_csv call for the file, its dialect looked at once."""
    found = parts(path)
    if not found:
        raise SourceError("holds no file of its format")
    with open(found[0], "rb") as file:
        head = file.read(_FIRST_LOOK)
    packed = path.lower().endswith((".gz", ".zst"))
    if encoding is None and head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    elif b"\0" in head and not packed:
        raise SourceError("holds NUL bytes, so it is no CSV text; export it again as UTF-8")
    files = _file_list(found)
    options = ["all_varchar = true"]
    if encoding:
        options.append(f"encoding = {duck.literal(encoding)}")
    tab = table_format(path) == "tsv"
    delimiter = "\t" if tab else _misread_delimiter(files, options)
    if delimiter is not None:
        options.append(f"delim = {duck.literal(delimiter)}")
    return f"read_csv({files}, {', '.join(options)})"


def _misread_delimiter(files: str, options: list[str]) -> str | None:
    """The delimiter to insist on when the sniffer made one column of a line that has several.

    It does so when rows differ in length; insisting gives an error that names the first of them.
    """
    relation = f"read_csv({files}, {', '.join(options)})"
    columns = duck.fetch(f"DESCRIBE SELECT * FROM {relation}")
    if len(columns) != 1:
        return None
    header = str(columns[0][0])
    best = max(_DELIMITERS, key=header.count)
    return best if header.count(best) else None


def _csv_complaint(message: str) -> str:
    """DuckDB says what is wrong with a CSV over several lines: the place and the cause."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    causes = [
        line for line in lines[1:] if line.startswith(("Expected", "Value", "Invalid", "Max"))
    ]
    place = duck.one_line(lines[0])
    return f"{place}: {causes[0]}" if causes else place
